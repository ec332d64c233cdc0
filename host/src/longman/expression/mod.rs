//! Integrands typed as text: parsed here, compiled to a [`Program`], run on the CPU and by the kernels alike.
//!
//! ```text
//! sum      = product { ("+" | "-") product }
//! product  = sign { ("*" | "/") sign }
//! sign     = ("-" | "+") sign | power
//! power    = atom [ ("^" | "**") sign ]          -x^2 is -(x^2), 2^-x and x^y^z = x^(y^z) are allowed
//! atom     = number | name | function "(" sum { "," sum } ")" | "(" sum ")"
//! ```
//!
//! `x` is the variable of integration, `pi` and `e` are constants, every other name is a parameter. [`FUNCTIONS`] lists the functions.

mod breaks;
mod compile;
mod evaluate;
mod growth;
mod near;
mod products;
mod quadratic;
mod rewrite;
mod rise;
mod scaled;
mod transform;

use std::collections::{HashMap, HashSet};

use rarefy_kernels::longman::program::{Bounded, Operation, no_special, no_special_error};

pub(in crate::longman) use breaks::{Location, PLACE};
pub use compile::Program;
pub use evaluate::Evaluator;
pub(in crate::longman) use products::{Harmonic, Kind, Waves};
pub(in crate::longman) use transform::Factor;

use super::special;
use crate::error::{Error, Result};

/// Depth to which parentheses, powers and signs may be nested.
const MAX_DEPTH: u32 = 200;

/// A function of the expression language.
#[derive(Clone, Copy, Debug)]
#[non_exhaustive]
pub struct Function {
    /// Its name.
    pub name: &'static str,
    /// Its arguments.
    pub arguments: &'static [&'static str],
    /// Its meaning, where the name does not show it.
    pub meaning: &'static str,
    operation: Operation,
    /// The constant that is the second argument of its operation; none of most functions.
    second: &'static [f64],
}

/// Second argument of [`Operation::Erfc`] that makes it erfcx: both are zero at that argument, so that no pair of numbers has two meanings.
const SCALED: f64 = f64::INFINITY;

macro_rules! functions {
    ($($name:literal ($($argument:literal),*) $operation:ident $(and $second:ident)? $meaning:literal;)*) => {
        /// The functions of the expression language, in the order in which help lists them.
        pub const FUNCTIONS: &[Function] = &[$(Function {
            name: $name,
            arguments: &[$($argument),*],
            meaning: $meaning,
            operation: Operation::$operation,
            second: &[$($second)?],
        },)*];
    };
}
functions! {
    "sqrt"("x") SquareRoot "";
    "exp"("x") Exp "";
    "expm1"("x") Expm1 "exp(x) - 1";
    "ln"("x") Ln "natural logarithm";
    "log"("x") Ln "natural logarithm";
    "log1p"("x") Ln1p "ln(1 + x)";
    "sin"("x") Sin "";
    "cos"("x") Cos "";
    "tan"("x") Tan "";
    "asin"("x") Arcsin "";
    "acos"("x") Arccos "";
    "atan"("x") Arctan "";
    "sinh"("x") Sinh "";
    "cosh"("x") Cosh "";
    "tanh"("x") Tanh "";
    "abs"("x") Magnitude "";
    "sign"("x") Sign "-1, 0 or 1";
    "floor"("x") Floor "";
    "min"("x", "y") Minimum "";
    "max"("x", "y") Maximum "";
    "pow"("x", "y") Power "x^y";
    "besselj"("nu", "x") BesselJ "of real order, on the CPU";
    "bessely"("nu", "x") BesselY "of real order, on the CPU";
    "besseli"("nu", "x") BesselI "of real order, on the CPU";
    "besselk"("nu", "x") BesselK "of real order, on the CPU";
    "airy"("x") AiryAi "Ai(x), on the CPU";
    "erf"("x") Erf "on the CPU";
    "erfc"("x") Erfc "on the CPU";
    "erfcx"("x") Erfc and SCALED "exp(x^2) erfc(x), on the CPU";
    "gamma"("x") Gamma "on the CPU";
}

/// Other names of functions.
const ALIASES: &[(&str, &str, Option<f64>)] = &[
    ("J", "besselj", None),
    ("j", "besselj", None),
    ("Ai", "airy", None),
    ("arcsin", "asin", None),
    ("arccos", "acos", None),
    ("arctan", "atan", None),
    ("j0", "besselj", Some(0.0)),
    ("J0", "besselj", Some(0.0)),
    ("j1", "besselj", Some(1.0)),
    ("J1", "besselj", Some(1.0)),
];

/// A node of an expression; equal nodes are one.
#[derive(Clone, Copy, Debug, PartialEq)]
enum Node {
    Number(f64),
    X,
    Parameter(u32),
    /// Operation on one or two nodes; the second is the first again where there is one.
    Apply(Operation, u32, u32),
}

#[derive(PartialEq, Eq, Hash)]
enum Key {
    Number(u64),
    X,
    Parameter(u32),
    Apply(Operation, u32, u32),
}

/// A parsed expression: nodes in an order in which each follows its operands.
#[derive(Clone, Debug, PartialEq)]
pub struct Expression {
    nodes: Vec<Node>,
    root: u32,
    parameters: Vec<String>,
}

impl Expression {
    /// Parses a text. Names other than `x`, `pi`, `e` and functions are parameters, in the order of appearance.
    ///
    /// # Errors
    /// A text that is no expression: the line says where and what.
    pub fn parse(text: &str) -> Result<Self> {
        Self::parse_with(text, &[])
    }

    /// The same; these names are parameters even if they are `e` or `pi`.
    ///
    /// # Errors
    /// As [`parse`](Self::parse).
    pub fn parse_with(text: &str, names: &[&str]) -> Result<Self> {
        let mut parser = Parser {
            text,
            at: 0,
            depth: 0,
            names: names.iter().copied().collect(),
            graph: Graph::default(),
        };
        let root = parser.sum()?;
        match parser.peek() {
            None => Ok(Self {
                nodes: parser.graph.nodes,
                root,
                parameters: parser.graph.parameters,
            }),
            Some(_) => Err(parser.refuse("an operator or the end")),
        }
    }

    /// The parameters, in the order of appearance.
    pub fn parameters(&self) -> &[String] {
        &self.parameters
    }

    /// Whether the value depends on x.
    pub fn depends_on_x(&self) -> bool {
        self.nodes.contains(&Node::X)
    }
}

/// Nodes while they are collected: folded where all is known, and shared where equal.
#[derive(Default)]
struct Graph {
    nodes: Vec<Node>,
    known: HashMap<Key, u32>,
    parameters: Vec<String>,
    places: HashMap<String, u32>,
}

impl Graph {
    fn add(&mut self, node: Node) -> u32 {
        let key = match node {
            Node::Number(value) => Key::Number(value.to_bits()),
            Node::X => Key::X,
            Node::Parameter(p) => Key::Parameter(p),
            Node::Apply(operation, a, b) => Key::Apply(operation, a, b),
        };
        *self.known.entry(key).or_insert_with(|| {
            self.nodes.push(node);
            self.nodes.len() as u32 - 1
        })
    }

    fn number(&self, node: u32) -> Option<f64> {
        match self.nodes.get(node as usize) {
            Some(&Node::Number(value)) => Some(value),
            _ => None,
        }
    }

    fn parameter(&mut self, name: &str) -> u32 {
        let place = match self.places.get(name) {
            Some(place) => *place,
            None => {
                let place = self.parameters.len() as u32;
                self.parameters.push(name.to_owned());
                self.places.insert(name.to_owned(), place);
                place
            }
        };
        self.add(Node::Parameter(place))
    }

    fn unary(&mut self, operation: Operation, a: u32) -> u32 {
        self.binary(operation, a, a)
    }

    fn binary(&mut self, operation: Operation, a: u32, b: u32) -> u32 {
        if let (Some(x), Some(y)) = (self.number(a), self.number(b)) {
            return self.add(Node::Number(apply(operation, x, y)));
        }
        if operation == Operation::Power
            && let Some(power) = self.number(b).and_then(|exponent| self.power(a, exponent))
        {
            return power;
        }
        self.add(Node::Apply(operation, a, b))
    }

    /// Powers that are products and roots.
    fn power(&mut self, base: u32, exponent: f64) -> Option<u32> {
        if exponent < 0.0 {
            let positive = self.power(base, -exponent)?;
            let one = self.add(Node::Number(1.0));
            return Some(self.binary(Operation::Divide, one, positive));
        }
        if exponent > 8.0 || 2.0 * exponent != (2.0 * exponent).floor() {
            return None;
        }
        let whole = exponent.floor() as u32;
        let root = (exponent != exponent.floor()).then(|| self.unary(Operation::SquareRoot, base));
        let mut result = None;
        let mut factor = base;
        let mut rest = whole;
        while rest > 0 {
            if rest % 2 == 1 {
                result = Some(match result {
                    None => factor,
                    Some(product) => self.binary(Operation::Multiply, product, factor),
                });
            }
            rest /= 2;
            if rest > 0 {
                factor = self.binary(Operation::Multiply, factor, factor);
            }
        }
        Some(match (result, root) {
            (Some(product), Some(root)) => self.binary(Operation::Multiply, product, root),
            (Some(one), None) | (None, Some(one)) => one,
            (None, None) => self.add(Node::Number(1.0)),
        })
    }
}

/// The numbers of the operations of the host, as patterns.
mod codes {
    use super::Operation;

    pub(super) const J: u32 = Operation::BesselJ as u32;
    pub(super) const Y: u32 = Operation::BesselY as u32;
    pub(super) const I: u32 = Operation::BesselI as u32;
    pub(super) const K: u32 = Operation::BesselK as u32;
    pub(super) const AI: u32 = Operation::AiryAi as u32;
    pub(super) const ERF: u32 = Operation::Erf as u32;
    pub(super) const ERFC: u32 = Operation::Erfc as u32;
    pub(super) const GAMMA: u32 = Operation::Gamma as u32;
}

/// The operations of the host, special functions among them.
fn special_operation(operation: u32, a: f64, b: f64) -> f64 {
    use codes::*;
    match operation {
        J => special::bessel_j(a, b),
        Y => special::bessel_y(a, b),
        I => special::bessel_i(a, b),
        K => special::bessel_k(a, b),
        AI => special::airy_ai(a),
        ERF => libm::erf(a),
        ERFC if b == SCALED => special::erfcx(a),
        ERFC => libm::erfc(a),
        GAMMA => libm::tgamma(a),
        _ => no_special(operation, a, b),
    }
}

/// Error of a special function: those of its arguments by a bound on the derivative, and its own, without the rounding of the result.
fn special_error(operation: u32, first: Bounded<f64>, second: Bounded<f64>, f: f64) -> f64 {
    use codes::*;
    let (a, da) = (first.value, first.error);
    let (b, db) = (second.value, second.error);
    let (unit, amos) = (
        special::BESSEL_EPSILONS * f64::EPSILON,
        special::AMOS_EPSILONS * f64::EPSILON,
    );
    let size = f.abs();
    // An order that is rounded is a parameter; by what it changes the function is bounded by the logarithm of the argument.
    let order = if da > 0.0 {
        da * (1.0 + b.abs().ln().abs()) * (1.0 + size)
    } else {
        0.0
    };
    // f'(x) = nu/x f(x) -+ f_(nu+1)(x)
    let by_order = |next: f64| {
        let steep = if db > 0.0 {
            db * a.abs() / (b.abs() - db).max(0.0) * size
        } else {
            0.0
        };
        order + steep + db * next.abs()
    };
    // Where a function oscillates its error is that of its amplitude.
    let amplitude = |b: f64| size.max((std::f64::consts::FRAC_2_PI / b.abs()).sqrt().min(1.0));
    let slope = std::f64::consts::FRAC_2_SQRT_PI * (-(a.abs() - da).max(0.0).powi(2)).exp();
    match operation {
        J if b.abs() < a => by_order(1.0) + unit * size,
        J => by_order(1.0) + unit * amplitude(b),
        Y => by_order(special::bessel_y(a + 1.0, b)) + amos * amplitude(b),
        I => by_order(f) + amos * size,
        K => by_order(special::bessel_k(a + 1.0, b)) + amos * size,
        AI if a > 0.0 => (da * (1.0 + a.sqrt()) + (unit + f64::EPSILON * a * a.sqrt())) * size,
        AI => {
            let root = (1.0 + a.abs()).sqrt().sqrt();
            da * root + (unit + f64::EPSILON * a.abs() * a.abs().sqrt()) / root
        }
        ERF => da * slope + 2.0 * f64::EPSILON * size,
        ERFC if b == SCALED => {
            // The second argument is exact; the distance from it to itself is not a number.
            let steep = special::erfcx_slope(a - da);
            da * steep + 4.0 * f64::EPSILON * size
        }
        ERFC => da * slope + (unit + 2.0 * f64::EPSILON * a * a) * size,
        GAMMA => {
            let pole = if a < 0.5 { (a - a.round()).abs() } else { a };
            da * (2.0 + (2.0 + a.abs()).ln() + 1.0 / (pole - da).max(0.0)) * size + unit * size
        }
        _ => no_special_error(operation, first, second, f),
    }
}

fn apply(operation: Operation, a: f64, b: f64) -> f64 {
    rarefy_kernels::longman::program::apply(operation.code(), a, b, &special_operation)
}

/// The value of an operation, by its number in an instruction.
pub(in crate::longman) fn value_of(operation: u32, a: f64, b: f64) -> f64 {
    rarefy_kernels::longman::program::apply(operation, a, b, &special_operation)
}

struct Parser<'a> {
    text: &'a str,
    at: usize,
    depth: u32,
    names: HashSet<&'a str>,
    graph: Graph,
}

impl Parser<'_> {
    fn rest(&self) -> &str {
        self.text.get(self.at..).unwrap_or_default()
    }

    fn peek(&mut self) -> Option<char> {
        let skip = self.rest().len() - self.rest().trim_start().len();
        self.at += skip;
        self.rest().chars().next()
    }

    fn take(&mut self, token: &str) -> bool {
        let found = self.peek().is_some() && self.rest().starts_with(token);
        if found {
            self.at += token.len();
        }
        found
    }

    fn refuse(&mut self, wanted: &str) -> Error {
        let found = match self.peek() {
            None => "the end".to_owned(),
            Some(c) => format!("'{c}'"),
        };
        let place = self.text.get(..self.at).map_or(0, |t| t.chars().count()) + 1;
        Error::invalid(
            "expression",
            format!("'{}', character {place}: {found}", self.text),
            wanted,
        )
    }

    fn sum(&mut self) -> Result<u32> {
        let mut left = self.product()?;
        loop {
            let operation = if self.take("+") {
                Operation::Add
            } else if self.take("-") {
                Operation::Subtract
            } else {
                return Ok(left);
            };
            let right = self.product()?;
            left = self.graph.binary(operation, left, right);
        }
    }

    fn product(&mut self) -> Result<u32> {
        let mut left = self.sign()?;
        loop {
            let operation = if self.take("*") {
                Operation::Multiply
            } else if self.take("/") {
                Operation::Divide
            } else {
                return Ok(left);
            };
            let right = self.sign()?;
            left = self.graph.binary(operation, left, right);
        }
    }

    fn sign(&mut self) -> Result<u32> {
        self.depth += 1;
        if self.depth > MAX_DEPTH {
            return Err(Error::invalid(
                "expression",
                "too deep",
                format!("at most {MAX_DEPTH} levels of brackets"),
            ));
        }
        let node = if self.take("-") {
            let operand = self.sign()?;
            self.graph.unary(Operation::Negate, operand)
        } else if self.take("+") {
            self.sign()?
        } else {
            self.power()?
        };
        self.depth -= 1;
        Ok(node)
    }

    fn power(&mut self) -> Result<u32> {
        let base = self.atom()?;
        if self.take("^") || self.take("**") {
            let exponent = self.sign()?;
            return Ok(self.graph.binary(Operation::Power, base, exponent));
        }
        Ok(base)
    }

    fn atom(&mut self) -> Result<u32> {
        match self.peek() {
            Some('(') => {
                self.take("(");
                let node = self.sum()?;
                self.close()?;
                Ok(node)
            }
            Some(c) if c.is_ascii_digit() || c == '.' => self.number(),
            Some(c) if c.is_alphabetic() || c == '_' => self.name(),
            _ => Err(self.refuse("a number, a name or '('")),
        }
    }

    fn close(&mut self) -> Result<()> {
        if self.take(")") {
            Ok(())
        } else {
            Err(self.refuse("an operator or ')'"))
        }
    }

    fn number(&mut self) -> Result<u32> {
        let bytes = self.rest().as_bytes();
        let digits = |from: usize| {
            let more = bytes.get(from..).unwrap_or_default();
            from + more.iter().take_while(|b| b.is_ascii_digit()).count()
        };
        let mut end = digits(0);
        if bytes.get(end) == Some(&b'.') {
            end = digits(end + 1);
        }
        if matches!(bytes.get(end), Some(b'e' | b'E')) {
            let sign = usize::from(matches!(bytes.get(end + 1), Some(b'+' | b'-')));
            let exponent = digits(end + 1 + sign);
            // Without digits it is the name `e`, and the next token is refused.
            if exponent > end + 1 + sign {
                end = exponent;
            }
        }
        let value = self.rest().get(..end).and_then(|text| text.parse().ok());
        match value {
            Some(value) => {
                self.at += end;
                Ok(self.graph.add(Node::Number(value)))
            }
            None => Err(self.refuse("a number")),
        }
    }

    fn name(&mut self) -> Result<u32> {
        let length = self
            .rest()
            .find(|c: char| !(c.is_alphanumeric() || c == '_'))
            .unwrap_or(self.rest().len());
        let name = self.rest().get(..length).unwrap_or_default().to_owned();
        let start = self.at;
        self.at += length;
        if self.peek() == Some('(') && !self.names.contains(name.as_str()) {
            return self.call(&name, start);
        }
        if name == "x" {
            return Ok(self.graph.add(Node::X));
        }
        let constant = match name.as_str() {
            _ if self.names.contains(name.as_str()) => None,
            "pi" => Some(std::f64::consts::PI),
            "e" => Some(std::f64::consts::E),
            _ => None,
        };
        if let Some(value) = constant {
            return Ok(self.graph.add(Node::Number(value)));
        }
        if !self.names.contains(name.as_str()) && FUNCTIONS.iter().any(|f| f.name == name) {
            return Err(self.refuse(&format!("'(' after the function {name}")));
        }
        Ok(self.graph.parameter(&name))
    }

    fn call(&mut self, name: &str, start: usize) -> Result<u32> {
        let alias = ALIASES.iter().find(|(alias, ..)| *alias == name);
        let (real, first) = alias.map_or((name, None), |(_, real, first)| (real, *first));
        let Some(function) = FUNCTIONS.iter().find(|f| f.name == real) else {
            self.at = start;
            let names: Vec<_> = FUNCTIONS.iter().map(|f| f.name).collect();
            return Err(Error::invalid(
                "expression",
                format!("'{}', where {name} is no function", self.text),
                format!("one of the functions {}", names.join(", ")),
            ));
        };
        self.take("(");
        let mut arguments = Vec::new();
        arguments.extend(first.map(|value| self.graph.add(Node::Number(value))));
        arguments.push(self.sum()?);
        while self.take(",") {
            arguments.push(self.sum()?);
        }
        self.close()?;
        let given = arguments.len();
        let fits = given == function.arguments.len();
        let second = function.second.iter();
        arguments.extend(second.map(|value| self.graph.add(Node::Number(*value))));
        match (arguments.as_slice(), fits) {
            (&[a], true) => Ok(self.graph.unary(function.operation, a)),
            (&[a, b], true) => Ok(self.graph.binary(function.operation, a, b)),
            _ => Err(Error::invalid(
                "expression",
                format!("'{}', where {name} has {given} arguments", self.text),
                format!("{}({})", function.name, function.arguments.join(", ")),
            )),
        }
    }
}
