//! Expressions without the cancellation and the overflow of their own, by identities.
//!
//! | difference or quotient | becomes |
//! |---|---|
//! | 1 - tanh u, 1/tanh u - 1 | 2/(1 + exp 2u), 2/expm1(2u) |
//! | 1 - erf u, 1 - cos u | erfc u, 2 sin(u/2)^2 |
//! | exp u - 1, exp u - exp v | expm1 u, exp v expm1(u - v) |
//! | ln(1 + u), ln u - ln v | log1p u, log1p((u - v)/v) |
//! | sqrt u - sqrt v, sqrt u - v | (u - v)/(sqrt u + sqrt v), (u - v^2)/(sqrt u + v) |
//! | tanh u - tanh v, u - v a number | sinh(u - v)/(cosh u cosh v) |
//! | 1/u - 1/v, 1 - u/v | (v - u)/(u v), (v - u)/v |
//! | exp(u^2) erfc u | erfcx u |
//! | exp(v) erfcx u, v + u^2 with a shared term | exp(v + u^2) erfc u |
//! | ln(exp u + v), (exp u + v)^c, also of the magnitude | u + ln(1 + v exp -u), exp(c u) (1 + v exp -u)^c |
//! | cosh u exp v, sinh u/cosh v, exp u/exp v, ..., u and v linear in x | exponentials of u + v and u - v |
//!
//! Terms that u and v share are left out of u - v. The result is no better everywhere: it serves where the expression as it is leads to no value.

use rarefy_kernels::longman::program::Operation;

use super::{Expression, Graph, Node};

impl Expression {
    /// The expression by the identities; none if none of them fits.
    pub(in crate::longman) fn stable(&self) -> Option<Self> {
        let mut graph = Graph::default();
        let mut place = Vec::with_capacity(self.nodes.len());
        let mut fits = false;
        for node in &self.nodes {
            let new = match *node {
                Node::Apply(operation, a, b) => {
                    let (a, b) = (place[a as usize], place[b as usize]);
                    let better = graph.stable(operation, a, b);
                    fits |= better.is_some();
                    better.unwrap_or_else(|| graph.binary(operation, a, b))
                }
                node => graph.copied(node, &self.parameters),
            };
            place.push(new);
        }
        let root = place[self.root as usize];
        fits.then(|| super::transform::complete(&graph, root))
    }
}

/// exp, cosh or sinh of what is linear in x.
#[derive(Clone, Copy)]
struct Hyperbolic {
    operation: Operation,
    argument: u32,
}

impl Graph {
    pub(super) fn one(&mut self) -> u32 {
        self.add(Node::Number(1.0))
    }

    pub(super) fn applied(&self, node: u32) -> Option<(Operation, u32, u32)> {
        match self.nodes.get(node as usize) {
            Some(&Node::Apply(operation, a, b)) => Some((operation, a, b)),
            _ => None,
        }
    }

    fn stable(&mut self, operation: Operation, a: u32, b: u32) -> Option<u32> {
        use Operation::*;
        match operation {
            Subtract => self.stable_difference(a, b),
            Add => match (self.negated(a), self.negated(b)) {
                (None, Some(b)) => self.stable_difference(a, b),
                (Some(a), None) => self.stable_difference(b, a),
                _ => None,
            },
            Ln => self
                .stable_logarithm(a)
                .or_else(|| self.beside_exponential(operation, a, b)),
            SquareRoot => self.beside_exponential(operation, a, b),
            Power if !self.depends_on_x(b) => self.beside_exponential(operation, a, b),
            Multiply | Divide => self
                .stable_exponentials(operation, a, b)
                .or_else(|| self.scaled_error_function(operation, a, b))
                .or_else(|| self.plain_error_function(operation, a, b)),
            _ => None,
        }
    }

    fn stable_difference(&mut self, a: u32, b: u32) -> Option<u32> {
        use Operation::*;
        let is_one = |graph: &Self, node: u32| graph.number(node) == Some(1.0);
        let root = matches!(self.applied(a), Some((SquareRoot, ..)));
        if is_one(self, b) && !root {
            // f - 1
            let (operation, u, v) = self.applied(a)?;
            return match operation {
                Exp => Some(self.unary(Expm1, u)),
                Divide if is_one(self, u) => {
                    let (Tanh, w, _) = self.applied(v)? else {
                        return None;
                    };
                    let twice = self.scaled(w, 2.0);
                    let below = self.unary(Expm1, twice);
                    Some(self.quotient(2.0, below))
                }
                _ => {
                    let opposite = self.stable_difference(b, a)?;
                    Some(self.minus(opposite))
                }
            };
        }
        if is_one(self, a) {
            // 1 - f
            let (operation, u, v) = self.applied(b)?;
            match operation {
                Tanh => {
                    let twice = self.scaled(u, 2.0);
                    let exp = self.unary(Exp, twice);
                    let below = self.binary(Add, a, exp);
                    return Some(self.quotient(2.0, below));
                }
                Erf => return Some(self.unary(Erfc, u)),
                Cos => {
                    let half = self.scaled(u, 0.5);
                    let sine = self.unary(Sin, half);
                    let square = self.binary(Multiply, sine, sine);
                    return Some(self.scaled(square, 2.0));
                }
                Exp => {
                    let opposite = self.unary(Expm1, u);
                    return Some(self.minus(opposite));
                }
                Divide => {
                    let (shared, less) = self.difference_of(v, u)?;
                    let above = self.stable_difference(v, u).or(shared.then_some(less))?;
                    return Some(self.binary(Divide, above, v));
                }
                _ => {}
            }
        }
        if let (Some(u), Some(v)) = (self.logarithm(a), self.logarithm(b)) {
            let (_, less) = self.difference_of(u, v)?;
            let relative = self.binary(Divide, less, v);
            return Some(self.unary(Ln1p, relative));
        }
        let (first, second) = (self.applied(a), self.applied(b));
        if let (Some((f, u, p)), Some((g, v, q))) = (first, second)
            && f == g
        {
            let (shared, less) = self.difference_of(u, v)?;
            match f {
                Exp => {
                    let (factor, rest) = (self.unary(Exp, v), self.unary(Expm1, less));
                    return Some(self.product(factor, rest));
                }
                Tanh if !self.depends_on_x(less) => {
                    let [cu, cv] = [u, v].map(|w| self.unary(Cosh, w));
                    let below = self.binary(Multiply, cu, cv);
                    let above = self.unary(Sinh, less);
                    return Some(self.binary(Divide, above, below));
                }
                SquareRoot if shared => {
                    let sum = self.binary(Add, a, b);
                    return Some(self.binary(Divide, less, sum));
                }
                Divide if u == v => {
                    let (_, less) = self.difference_of(q, p)?;
                    let (above, below) = (self.product(u, less), self.product(p, q));
                    return Some(self.binary(Divide, above, below));
                }
                _ => {}
            }
        }
        if let Some((SquareRoot, u, _)) = first
            && self.number(b).is_none_or(has_exact_square)
        {
            let square = self.binary(Multiply, b, b);
            let (shared, less) = self.difference_of(u, square)?;
            if shared {
                let sum = self.binary(Add, a, b);
                return Some(self.binary(Divide, less, sum));
            }
        }
        if let Some((SquareRoot, ..)) = second
            && first.is_none_or(|(f, ..)| f != SquareRoot)
        {
            let opposite = self.stable_difference(b, a)?;
            return Some(self.minus(opposite));
        }
        None
    }

    /// The argument of a logarithm, also of one that has become ln(1 + u).
    fn logarithm(&mut self, node: u32) -> Option<u32> {
        match self.applied(node)? {
            (Operation::Ln, u, _) => Some(u),
            (Operation::Ln1p, u, _) => {
                let one = self.one();
                Some(self.binary(Operation::Add, one, u))
            }
            _ => None,
        }
    }

    fn stable_logarithm(&mut self, a: u32) -> Option<u32> {
        use Operation::*;
        let (operation, u, v) = self.applied(a)?;
        match operation {
            Add if self.number(u) == Some(1.0) => Some(self.unary(Ln1p, v)),
            Add if self.number(v) == Some(1.0) => Some(self.unary(Ln1p, u)),
            Subtract if self.number(u) == Some(1.0) => {
                let minus = self.minus(v);
                Some(self.unary(Ln1p, minus))
            }
            Divide => {
                let (shared, less) = self.difference_of(u, v)?;
                let relative = shared.then(|| self.binary(Divide, less, v))?;
                Some(self.unary(Ln1p, relative))
            }
            _ => None,
        }
    }

    fn hyperbolic(&mut self, node: u32) -> Option<Hyperbolic> {
        let (operation, argument, _) = self.applied(node)?;
        let fits = matches!(
            operation,
            Operation::Exp | Operation::Cosh | Operation::Sinh
        );
        (fits && self.linear(argument).is_some()).then_some(Hyperbolic {
            operation,
            argument,
        })
    }

    /// f(u) g(v) and f(u)/g(v) as exp(u + v) and exp(u - v) times what has a limit: cosh u = exp(u) (1 + exp(-2u))/2.
    fn stable_exponentials(&mut self, operation: Operation, a: u32, b: u32) -> Option<u32> {
        use Operation::*;
        let (u, v) = (self.hyperbolic(a)?, self.hyperbolic(b)?);
        let quotient = operation == Divide;
        let opposite = self.minus(v.argument);
        let (_, exponent) = if quotient {
            self.difference_of(u.argument, v.argument)?
        } else {
            self.difference_of(u.argument, opposite)?
        };
        let mut found = self.unary(Exp, exponent);
        for (part, below) in [(u, false), (v, quotient)] {
            if part.operation == Exp {
                continue;
            }
            let twice = self.scaled(part.argument, -2.0);
            let factor = if part.operation == Cosh {
                let (one, exp) = (self.one(), self.unary(Exp, twice));
                self.binary(Add, one, exp)
            } else {
                let expm1 = self.unary(Expm1, twice);
                self.minus(expm1)
            };
            let factor = self.scaled(factor, 0.5);
            let operation = if below { Divide } else { Multiply };
            found = self.binary(operation, found, factor);
        }
        Some(found)
    }

    fn scaled(&mut self, node: u32, by: f64) -> u32 {
        let factor = self.add(Node::Number(by));
        self.product(factor, node)
    }

    fn quotient(&mut self, above: f64, below: u32) -> u32 {
        let above = self.add(Node::Number(above));
        self.binary(Operation::Divide, above, below)
    }

    /// a - b without the terms that both have, and whether there are any. None where numbers leave little but rounding.
    fn difference_of(&mut self, a: u32, b: u32) -> Option<(bool, u32)> {
        if let (Some((k, c)), Some((l, d))) = (self.linear(a), self.linear(b)) {
            for (a, b) in [(k, l), (c, d)] {
                if let (Some(a), Some(b)) = (self.number(a), self.number(b))
                    && !is_trusted(a - b, a.abs().max(b.abs()))
                {
                    return None;
                }
            }
            let (slope, rest) = (self.difference(k, l), self.difference(c, d));
            let x = self.add(Node::X);
            let rise = self.product(slope, x);
            return Some((true, self.sum(rise, rest)));
        }
        let mut terms: Vec<(Option<u32>, f64)> = Vec::new();
        self.flatten(a, 1.0, &mut terms);
        let own = terms.len();
        self.flatten(b, -1.0, &mut terms);
        // The factor of each term, and the sum of the magnitudes that are in it.
        let (mut kept, mut shared) = (Vec::<(Option<u32>, f64, f64)>::new(), false);
        for (i, (node, factor)) in terms.into_iter().enumerate() {
            match kept.iter_mut().find(|(known, ..)| *known == node) {
                Some((_, sum, size)) => {
                    *sum += factor;
                    *size += factor.abs();
                    shared |= i >= own;
                }
                None => kept.push((node, factor, factor.abs())),
            }
        }
        if !kept.iter().all(|(_, sum, size)| is_trusted(*sum, *size)) {
            return None;
        }
        shared |= self.whole_exponential(&mut kept);
        let mut sum = self.add(Node::Number(0.0));
        for (node, factor, _) in kept {
            let term = match node {
                None => self.add(Node::Number(factor)),
                Some(_) if factor == 0.0 => continue,
                Some(node) if factor == -1.0 => self.minus(node),
                Some(node) => self.scaled(node, factor),
            };
            sum = self.sum(sum, term);
        }
        Some((shared, sum))
    }

    /// Merges k expm1 u and k into k exp u.
    fn whole_exponential(&mut self, terms: &mut Vec<(Option<u32>, f64, f64)>) -> bool {
        let number = terms.iter().position(|(node, ..)| node.is_none());
        let Some((place, constant)) = number.map(|place| (place, terms[place].1)) else {
            return false;
        };
        for i in 0..terms.len() {
            let (Some(node), factor, size) = terms[i] else {
                continue;
            };
            if factor == constant
                && factor != 0.0
                && let Some((Operation::Expm1, u, _)) = self.applied(node)
            {
                terms[i] = (Some(self.unary(Operation::Exp, u)), factor, size);
                terms.remove(place);
                return true;
            }
        }
        false
    }

    /// The terms of a sum, each a node and its number; numbers have no node.
    pub(super) fn flatten(&self, node: u32, factor: f64, terms: &mut Vec<(Option<u32>, f64)>) {
        use Operation::*;
        if let Some(number) = self.number(node) {
            terms.push((None, factor * number));
            return;
        }
        match self.applied(node) {
            Some((Add, a, b)) if terms.len() < MOST_TERMS => {
                self.flatten(a, factor, terms);
                self.flatten(b, factor, terms);
            }
            Some((Subtract, a, b)) if terms.len() < MOST_TERMS => {
                self.flatten(a, factor, terms);
                self.flatten(b, -factor, terms);
            }
            Some((Negate, a, _)) => self.flatten(a, -factor, terms),
            Some((Multiply, a, b)) => match (self.number(a), self.number(b)) {
                (Some(number), None) => self.flatten(b, factor * number, terms),
                (None, Some(number)) => self.flatten(a, factor * number, terms),
                _ => terms.push((Some(node), factor)),
            },
            _ => terms.push((Some(node), factor)),
        }
    }
}

/// Terms of a sum that are looked at.
const MOST_TERMS: usize = 16;

/// Whether a sum of numbers of this size is more than the rounding of constants such as sqrt(2), or nothing at all.
fn is_trusted(sum: f64, size: f64) -> bool {
    sum == 0.0 || sum.abs() > 1e-6 * size
}

/// Whether a number has its square among the numbers of f64. One that was rounded, such as sqrt(2), has not.
fn has_exact_square(number: f64) -> bool {
    number.mul_add(number, -(number * number)) == 0.0
}

#[cfg(test)]
mod tests {
    use super::super::{Evaluator, Program};
    use super::*;

    fn evaluated(expression: &Expression, x: f64) -> (f64, f64) {
        let program = Program::compile(expression).unwrap();
        Evaluator::<f64>::new(&program, &[]).unwrap().with_error(x)
    }

    /// Both forms have the same value where the first one has digits, and far out the second one still has them. The truths far out are leading terms.
    #[test]
    fn identities_keep_values_and_digits() {
        for (text, far, right) in [
            ("1-tanh(x)", 30.0, 2.0 * (-60.0_f64).exp()),
            ("tanh(x)-1", 30.0, -2.0 * (-60.0_f64).exp()),
            ("1/tanh(x)-1", 30.0, 2.0 * (-60.0_f64).exp()),
            ("sqrt(x+1)-sqrt(x)", 1e16, 0.5e-8),
            ("sqrt(x^2+1)-x", 1e16, 0.5e-16),
            ("x-sqrt(x^2+1)", 1e16, -0.5e-16),
            ("1-x/sqrt(1+x^2)", 1e12, 0.5e-24),
            ("ln(1+exp(-x))", 50.0, (-50.0_f64).exp()),
            ("ln((x+2)/(x+1))", 1e18, 1e-18),
            ("ln(x+2)-ln(x+1)", 1e18, 1e-18),
            ("sqrt(1+exp(-x))-1", 50.0, 0.5 * (-50.0_f64).exp()),
            ("sqrt(x+1)-1", 1e-18, 0.5e-18),
            ("sqrt(4+exp(-x))-2", 50.0, 0.25 * (-50.0_f64).exp()),
            ("1-sqrt(1-exp(-x))", 50.0, 0.5 * (-50.0_f64).exp()),
            ("sqrt(1-exp(-x))-1", 50.0, -0.5 * (-50.0_f64).exp()),
            ("ln(1+x)-ln(x+4)", 1e18, -3e-18),
            ("ln(1+x)-ln(3+x)", 1e18, -2e-18),
            ("exp(1/(1+x))-1", 1e18, 1e-18),
            ("exp(-x)-exp(-1.5*x)", 1e-18, 0.5e-18),
            (
                "tanh(x+2)-tanh(x-2)",
                30.0,
                4.0 * 4f64.sinh() * (-60.0_f64).exp(),
            ),
            ("1-erf(x)", 6.0, 2.151_973_671_249_891e-17),
            ("1-cos(1/x)", 1e10, 0.5e-20),
            ("1/x-1/(x+3)", 1e18, 3e-36),
            ("1/sqrt(exp(x)+2)", 1000.0, (-500.0_f64).exp()),
            ("ln(abs(2-exp(x)))", 1000.0, 1000.0),
            ("abs(exp(2*x)-x)^(-0.3)", 500.0, (-300.0_f64).exp()),
            ("cosh(x)*exp(-2*x)", 800.0, 0.5 * (-800.0_f64).exp()),
            ("sinh(x)/cosh(1.5*x)", 1000.0, (-500.0_f64).exp()),
            // erfcx(30) by mpmath, and 1/(x sqrt(pi)) far out.
            ("exp(x)*erfc(sqrt(x))", 900.0, 0.018_795_888_861_416_75),
            ("exp(x^2)*erfc(x)", 1e10, 5.641_895_835_477_563e-11),
            (
                "x*exp(4*x^2)*erfc(2*x)/(1+x)",
                1e10,
                2.820_947_917_738_781_4e-11,
            ),
            ("erfc(x)*x/exp(-x^2)", 1e10, 0.564_189_583_547_756_3),
            (
                "-erfc(sqrt(x/3))*exp(x/3)",
                2700.0,
                -0.018_795_888_861_416_75,
            ),
        ] {
            let expression = Expression::parse(text).unwrap();
            let stable = expression.stable().unwrap_or_else(|| panic!("{text}"));
            for x in [0.3, 1.7, 4.0] {
                let ((f, df), (g, dg)) = (evaluated(&expression, x), evaluated(&stable, x));
                assert!((f - g).abs() <= 4.0 * (df + dg), "{text} {x} {f} {g}");
            }
            let (value, error) = evaluated(&stable, far);
            assert!(
                (value - right).abs() <= 1e-7 * right.abs() + f64::MIN_POSITIVE,
                "{text} {value} {right}"
            );
            assert!(error <= 1e-12 * right.abs() + 1e-300, "{text} {error}");
        }
        for text in [
            "exp(-x)",
            "1/(1+x)",
            "x-3",
            "sqrt(x)-x",
            "tanh(x)-tanh(2*x)",
            "exp(x)*erfc(x)",
            "exp(x^2)*erfc(sqrt(2)*x)",
            "exp(2*x^2)*erfc(sqrt(2)*x)",
            "exp(-x^2)*erfc(x)",
            "erfc(x)/exp(x^2)",
            // The rounding of constants would be taken for a difference.
            "sqrt(2+exp(-x))-sqrt(2)",
            "1-sqrt(2+exp(-x))/sqrt(2)",
            "ln(x+sqrt(2)^2)-ln(x+2)",
            "tanh(x+(0.1+0.2))-tanh(x+0.3)",
        ] {
            assert!(
                Expression::parse(text).unwrap().stable().is_none(),
                "{text}"
            );
        }
    }
}
