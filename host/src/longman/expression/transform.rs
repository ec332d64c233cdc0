//! Expressions from expressions: of -x, times an oscillator, real and imaginary parts.

use rarefy_kernels::longman::program::Operation;

use super::compile::used;
use super::{Expression, Graph, Node};
use crate::error::{Error, Result};

/// A factor of an integrand.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(in crate::longman) enum Factor {
    Cos,
    Sin,
    BesselJ,
}

impl Expression {
    /// Whether it is the number 0.
    pub(in crate::longman) fn is_zero(&self) -> bool {
        self.nodes.get(self.root as usize) == Some(&Node::Number(0.0))
    }

    /// The expression of -x. Signs of products and of even functions are moved outwards, so that even functions become themselves.
    pub(in crate::longman) fn reflected(&self) -> Self {
        let mut graph = Graph::default();
        let mut place = Vec::with_capacity(self.nodes.len());
        for node in &self.nodes {
            let new = match *node {
                Node::X => {
                    let x = graph.add(Node::X);
                    graph.unary(Operation::Negate, x)
                }
                Node::Apply(operation, a, b) => {
                    graph.signed(operation, place[a as usize], place[b as usize])
                }
                node => graph.copied(node, &self.parameters),
            };
            place.push(new);
        }
        graph.into_expression(place[self.root as usize])
    }

    /// Whether it is seen to be f(-x) = f(x).
    pub(in crate::longman) fn is_even(&self) -> bool {
        let reflected = self.reflected();
        reflected.pruned() == reflected.reflected().pruned()
    }

    /// Whether it is seen to be f(-x) = -f(x).
    pub(in crate::longman) fn is_odd(&self) -> bool {
        let reflected = self.reflected();
        let mut graph = Graph::default();
        let own = graph.copy(&reflected.reflected());
        let minus = graph.minus(own);
        reflected.pruned() == graph.into_expression(minus).pruned()
    }

    /// The same without nodes that it does not need.
    fn pruned(&self) -> Self {
        let mut graph = Graph::default();
        let root = graph.copy(self);
        graph.into_expression(root)
    }

    /// The product with an oscillator of `frequency` x, both new parameters; the order of a Bessel function is a parameter too.
    pub(in crate::longman) fn times(&self, factor: Factor, frequency: &str, order: &str) -> Self {
        let mut graph = Graph::default();
        let own = graph.copy(self);
        let x = graph.add(Node::X);
        let frequency = graph.parameter(frequency);
        let phase = graph.binary(Operation::Multiply, frequency, x);
        let wave = match factor {
            Factor::Cos => graph.unary(Operation::Cos, phase),
            Factor::Sin => graph.unary(Operation::Sin, phase),
            Factor::BesselJ => {
                let order = graph.parameter(order);
                graph.binary(Operation::BesselJ, order, phase)
            }
        };
        let root = graph.binary(Operation::Multiply, own, wave);
        graph.into_expression(root)
    }

    /// The product with x^(-halves/2) and a polynomial in scale/x, whose coefficients ascend.
    pub(in crate::longman) fn with_series(
        &self,
        halves: usize,
        scale: f64,
        coefficients: &[f64],
    ) -> Self {
        let mut graph = Graph::default();
        let own = graph.copy(self);
        let x = graph.add(Node::X);
        let scale = graph.add(Node::Number(scale));
        let small = graph.binary(Operation::Divide, scale, x);
        let mut sum = graph.add(Node::Number(0.0));
        for coefficient in coefficients.iter().rev() {
            let rise = graph.product(small, sum);
            let term = graph.add(Node::Number(*coefficient));
            sum = graph.sum(term, rise);
        }
        let exponent = graph.add(Node::Number(-0.5 * halves as f64));
        let power = graph.binary(Operation::Power, x, exponent);
        let factor = graph.product(power, sum);
        let root = graph.product(own, factor);
        graph.into_expression(root)
    }

    /// Real and imaginary part of an expression in which the name `unit` is the imaginary unit.
    ///
    /// # Errors
    /// A function that has no rule for complex arguments.
    pub(in crate::longman) fn parts(&self, unit: &str) -> Result<[Self; 2]> {
        let mut graph = Graph::default();
        let zero = graph.add(Node::Number(0.0));
        let mut places: Vec<[u32; 2]> = Vec::with_capacity(self.nodes.len());
        for node in &self.nodes {
            let new = match *node {
                Node::Parameter(p) if self.parameters[p as usize] == unit => {
                    [zero, graph.add(Node::Number(1.0))]
                }
                Node::Apply(operation, a, b) => {
                    let (a, b) = (places[a as usize], places[b as usize]);
                    graph.complex(operation, a, b)?
                }
                node => [graph.copied(node, &self.parameters), zero],
            };
            places.push(new);
        }
        let [real, imaginary] = places[self.root as usize];
        let part = |root: u32| complete(&graph, root);
        Ok([part(real), part(imaginary)])
    }
}

/// The expression of a node.
pub(super) fn complete(graph: &Graph, root: u32) -> Expression {
    let whole = Expression {
        nodes: graph.nodes.clone(),
        root,
        parameters: graph.parameters.clone(),
    };
    whole.pruned()
}

impl Graph {
    fn into_expression(self, root: u32) -> Expression {
        Expression {
            nodes: self.nodes,
            root,
            parameters: self.parameters,
        }
    }

    /// A node without operands.
    pub(super) fn copied(&mut self, node: Node, parameters: &[String]) -> u32 {
        match node {
            Node::Parameter(p) => self.parameter(&parameters[p as usize]),
            node => self.add(node),
        }
    }

    /// The nodes that an expression needs; its root. Numbers that folding would round stay apart.
    pub(super) fn copy(&mut self, expression: &Expression) -> u32 {
        let nodes = &expression.nodes;
        let used = used(nodes, expression.root);
        let mut place = vec![0; nodes.len()];
        for (i, node) in nodes.iter().enumerate() {
            place[i] = match *node {
                _ if !used[i] => continue,
                Node::Apply(operation, a, b) => {
                    self.add(Node::Apply(operation, place[a as usize], place[b as usize]))
                }
                node => self.copied(node, &expression.parameters),
            };
        }
        place[expression.root as usize]
    }

    /// The operand of a negation.
    pub(super) fn negated(&self, node: u32) -> Option<u32> {
        match self.nodes.get(node as usize) {
            Some(&Node::Apply(Operation::Negate, a, _)) => Some(a),
            Some(_) | None => None,
        }
    }

    pub(super) fn minus(&mut self, a: u32) -> u32 {
        self.negated(a)
            .unwrap_or_else(|| self.unary(Operation::Negate, a))
    }

    /// An operation whose operands may be negations.
    fn signed(&mut self, operation: Operation, a: u32, b: u32) -> u32 {
        use Operation::*;
        let (minus_a, minus_b) = (self.negated(a), self.negated(b));
        match (operation, minus_a, minus_b) {
            (Multiply | Divide, Some(a), Some(b)) => self.binary(operation, a, b),
            (Multiply | Divide, Some(a), None) => {
                let product = self.binary(operation, a, b);
                self.minus(product)
            }
            (Multiply | Divide, None, Some(b)) => {
                let product = self.binary(operation, a, b);
                self.minus(product)
            }
            (Negate, Some(a), _) => a,
            (Add, Some(a), Some(b)) => {
                let sum = self.binary(Add, a, b);
                self.minus(sum)
            }
            (Subtract, Some(a), Some(b)) => {
                let difference = self.binary(Subtract, a, b);
                self.minus(difference)
            }
            (Magnitude | Cos | Cosh, Some(a), _) => self.unary(operation, a),
            (Sin | Tan | Sinh | Tanh | Arcsin | Arctan | Sign | Erf, Some(a), _) => {
                let odd = self.unary(operation, a);
                self.minus(odd)
            }
            // J_n(-x) = (-1)^n J_n(x) for whole n.
            (BesselJ, _, Some(b)) => match self.number(a).map(|order| order.rem_euclid(2.0)) {
                Some(0.0) => self.binary(BesselJ, a, b),
                Some(1.0) => {
                    let odd = self.binary(BesselJ, a, b);
                    self.minus(odd)
                }
                _ => {
                    let minus = self.minus(b);
                    self.binary(BesselJ, a, minus)
                }
            },
            _ => self.binary(operation, a, b),
        }
    }

    pub(super) fn sum(&mut self, a: u32, b: u32) -> u32 {
        match (self.number(a), self.number(b)) {
            (Some(0.0), _) => b,
            (_, Some(0.0)) => a,
            _ => self.binary(Operation::Add, a, b),
        }
    }

    pub(super) fn difference(&mut self, a: u32, b: u32) -> u32 {
        match (self.number(a), self.number(b)) {
            (_, Some(0.0)) => a,
            (Some(0.0), _) => self.unary(Operation::Negate, b),
            _ => self.binary(Operation::Subtract, a, b),
        }
    }

    pub(super) fn product(&mut self, a: u32, b: u32) -> u32 {
        match (self.number(a), self.number(b)) {
            (Some(0.0), _) | (_, Some(0.0)) => self.add(Node::Number(0.0)),
            (Some(1.0), _) => b,
            (_, Some(1.0)) => a,
            _ => self.binary(Operation::Multiply, a, b),
        }
    }

    /// An operation on complex numbers.
    fn complex(&mut self, operation: Operation, a: [u32; 2], b: [u32; 2]) -> Result<[u32; 2]> {
        use Operation::*;
        let zero = self.add(Node::Number(0.0));
        let ([ar, ai], [br, bi]) = (a, b);
        if [ai, bi] == [zero, zero] {
            return Ok([self.binary(operation, ar, br), zero]);
        }
        Ok(match operation {
            Add => [self.sum(ar, br), self.sum(ai, bi)],
            Subtract => [self.difference(ar, br), self.difference(ai, bi)],
            Negate => [self.difference(zero, ar), self.difference(zero, ai)],
            Multiply => {
                let products = [(ar, br), (ai, bi), (ar, bi), (ai, br)];
                let [rr, ii, ri, ir] = products.map(|(a, b)| self.product(a, b));
                [self.difference(rr, ii), self.sum(ri, ir)]
            }
            Divide if bi == zero => [
                self.binary(Divide, ar, br),
                if ai == zero {
                    zero
                } else {
                    self.binary(Divide, ai, br)
                },
            ],
            Divide => {
                // a conj(b)/|b|^2
                let minus = self.difference(zero, bi);
                let [real, imaginary] = self.complex(Multiply, a, [br, minus])?;
                let [rr, ii] = [br, bi].map(|b| self.product(b, b));
                let square = self.sum(rr, ii);
                let [real, imaginary] = [real, imaginary].map(|part| match self.number(part) {
                    Some(0.0) => zero,
                    _ => self.binary(Divide, part, square),
                });
                [real, imaginary]
            }
            Exp => {
                let size = if ar == zero {
                    self.add(Node::Number(1.0))
                } else {
                    self.unary(Exp, ar)
                };
                let (cos, sin) = (self.unary(Cos, ai), self.unary(Sin, ai));
                [self.product(size, cos), self.product(size, sin)]
            }
            Power => {
                let whole = self.number(br).filter(|_| bi == zero);
                let whole = whole.filter(|n| *n == n.trunc() && n.abs() <= MOST_POWER);
                let Some(whole) = whole else {
                    return Err(complex_argument("a power whose exponent is not whole"));
                };
                let mut power = [self.add(Node::Number(1.0)), zero];
                for _ in 0..whole.abs() as u32 {
                    power = self.complex(Multiply, power, a)?;
                }
                if whole < 0.0 {
                    let one = [self.add(Node::Number(1.0)), zero];
                    power = self.complex(Divide, one, power)?;
                }
                power
            }
            other => return Err(complex_argument(&format!("{other:?}").to_lowercase())),
        })
    }
}

/// Largest exponent of a complex number.
const MOST_POWER: f64 = 16.0;

fn complex_argument(what: &str) -> Error {
    Error::invalid(
        "amplitude",
        format!("{what} of a complex number"),
        "sums, products, quotients, whole powers and exp of complex numbers; or the real and the imaginary part, each by itself",
    )
}

#[cfg(test)]
mod tests {
    use super::super::{Evaluator, Program};
    use super::*;

    fn value(expression: &Expression, x: f64) -> f64 {
        let program = Program::compile(expression).unwrap();
        Evaluator::<f64>::new(&program, &[]).unwrap().at(x)
    }

    #[test]
    fn reflections_have_the_values_of_minus_x() {
        for (text, even) in [
            ("1/(1+x^2)", true),
            ("exp(-x^2)*cos(3*x)", true),
            ("x*sinh(x)/cosh(x)^3", true),
            ("exp(-abs(x))", true),
            ("x/(1+x^2)", false),
            ("x*exp(-x^2)-x^3/(1+x^6)", false),
            ("exp(-x)/(1+x^4)", false),
            ("atan(x+1)", false),
        ] {
            let expression = Expression::parse(text).unwrap();
            let reflected = expression.reflected();
            for x in [-1.7, 0.3, 2.5] {
                assert_eq!(value(&reflected, x), value(&expression, -x), "{text}");
            }
            assert_eq!(expression.is_even(), even, "{text}");
            assert_eq!(
                expression.is_odd(),
                text.starts_with('x') && !even,
                "{text}"
            );
        }
    }

    /// Truths by the arithmetic of complex numbers, by hand.
    #[test]
    fn complex_expressions_have_two_parts() {
        let x = 0.7_f64;
        for (text, real, imaginary) in [
            ("1/(x+i)", x / (x * x + 1.0), -1.0 / (x * x + 1.0)),
            (
                "exp(-(1+2*i)*x)",
                (-x).exp() * (2.0 * x).cos(),
                -(-x).exp() * (2.0 * x).sin(),
            ),
            ("(x+i)^2", x * x - 1.0, 2.0 * x),
            ("(x+i)*(x-i)", x * x + 1.0, 0.0),
            ("i^3*x", 0.0, -x),
            ("exp(-x)", (-x).exp(), 0.0),
            (
                "exp(i*pi*x)-1",
                (std::f64::consts::PI * x).cos() - 1.0,
                (std::f64::consts::PI * x).sin(),
            ),
        ] {
            let parts = Expression::parse(text).unwrap().parts("i").unwrap();
            for (part, right) in parts.iter().zip([real, imaginary]) {
                assert!((value(part, x) - right).abs() < 1e-15, "{text}");
            }
        }
        assert!(Expression::parse("exp(-x)").unwrap().parts("i").unwrap()[1].is_zero());
        let refused = Expression::parse("tanh(x+i)").unwrap().parts("i");
        assert!(
            refused
                .unwrap_err()
                .to_string()
                .contains("tanh of a complex number")
        );
    }
}
