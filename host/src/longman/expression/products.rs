//! Products with cosines, sines and Bessel functions of multiples of x: an expression as a sum of amplitudes times such factors.

use rarefy_kernels::longman::program::Operation;

use super::compile::varying;
use super::transform::complete;
use super::{Expression, Graph, Node};

/// Terms, and factors of a term, at most.
const MOST_TERMS: usize = 16;
const MOST_FACTORS: usize = 4;

/// The kind of a factor of a product.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(in crate::longman) enum Kind<T> {
    Cos,
    Sin,
    /// J of this order.
    Bessel(T),
}

impl<T> Kind<T> {
    /// The same with what `f` makes of an order.
    pub(in crate::longman) fn map<U>(self, f: impl FnOnce(T) -> U) -> Kind<U> {
        match self {
            Self::Cos => Kind::Cos,
            Self::Sin => Kind::Sin,
            Self::Bessel(order) => Kind::Bessel(f(order)),
        }
    }
}

/// cos(frequency sqrt(x^2 + bend) + phase), the sine, or a Bessel function without a phase; order, frequency, phase and bend do not depend on x.
#[derive(Clone, Debug)]
pub(in crate::longman) struct Oscillation {
    pub(in crate::longman) kind: Kind<Expression>,
    pub(in crate::longman) frequency: Expression,
    pub(in crate::longman) phase: Expression,
    pub(in crate::longman) bend: Expression,
}

/// An amplitude times oscillations.
#[derive(Clone, Debug)]
pub(in crate::longman) struct Harmonic {
    pub(in crate::longman) amplitude: Expression,
    pub(in crate::longman) factors: Vec<Oscillation>,
}

/// A term while its nodes are collected.
#[derive(Clone, Debug)]
struct Term {
    amplitude: u32,
    factors: Vec<Wave>,
}

/// An oscillation of a term.
#[derive(Clone, Copy, Debug)]
struct Wave {
    kind: Kind<u32>,
    frequency: u32,
    phase: u32,
    bend: u32,
}

/// The factors that are taken out of an expression.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(in crate::longman) enum Waves {
    /// Cosines and sines of what is linear in x.
    Trigonometric,
    /// These and Bessel functions, and both of multiples of sqrt(x^2 + bend).
    All,
}

impl Expression {
    /// The terms of a sum of products with cosines and sines of k x + c, and with J_nu(k x); none if there is no such factor, or too many.
    pub(in crate::longman) fn harmonics(&self, waves: Waves) -> Vec<Harmonic> {
        let mut graph = Graph::default();
        let root = graph.copy(self);
        let Some(terms) = graph.terms(root, waves) else {
            return Vec::new();
        };
        if terms.iter().all(|term| term.factors.is_empty()) {
            return Vec::new();
        }
        let part = |root: u32| complete(&graph, root);
        let factor = |wave: &Wave| Oscillation {
            kind: wave.kind.map(part),
            frequency: part(wave.frequency),
            phase: part(wave.phase),
            bend: part(wave.bend),
        };
        let harmonic = |term: &Term| Harmonic {
            amplitude: part(term.amplitude),
            factors: term.factors.iter().map(factor).collect(),
        };
        terms.iter().map(harmonic).collect()
    }
}

impl Graph {
    fn node(&self, node: u32) -> Node {
        self.nodes[node as usize]
    }

    pub(super) fn depends_on_x(&self, node: u32) -> bool {
        varying(&self.nodes)[node as usize]
    }

    /// Whether a node has a sine or a cosine, or a Bessel function, of what depends on x below it.
    fn oscillates(&self, node: u32, waves: Waves) -> bool {
        let varies = varying(&self.nodes);
        let mut found = vec![false; self.nodes.len()];
        for (i, known) in self.nodes.iter().enumerate() {
            if let Node::Apply(operation, a, b) = *known {
                let wave = match operation {
                    Operation::Sin | Operation::Cos => true,
                    Operation::BesselJ => waves == Waves::All,
                    _ => false,
                };
                found[i] = found[a as usize] || found[b as usize] || (wave && varies[b as usize]);
            }
        }
        found[node as usize]
    }

    fn terms(&mut self, node: u32, waves: Waves) -> Option<Vec<Term>> {
        use Operation::*;
        let whole = |amplitude: u32| Term {
            amplitude,
            factors: Vec::new(),
        };
        let Node::Apply(operation, a, b) = self.node(node) else {
            return Some(vec![whole(node)]);
        };
        if !self.oscillates(node, waves) {
            return Some(vec![whole(node)]);
        }
        let found = match operation {
            Add => [self.terms(a, waves)?, self.terms(b, waves)?].concat(),
            Subtract => {
                let mut terms = self.terms(a, waves)?;
                let others = self.terms(b, waves)?;
                terms.extend(others.into_iter().map(|term| Term {
                    amplitude: self.minus(term.amplitude),
                    ..term
                }));
                terms
            }
            Negate => {
                let terms = self.terms(a, waves)?.into_iter();
                let minus = |term: Term| Term {
                    amplitude: self.minus(term.amplitude),
                    ..term
                };
                terms.map(minus).collect()
            }
            Multiply => {
                let (first, second) = (self.terms(a, waves)?, self.terms(b, waves)?);
                // Products of sums without oscillations stay as they are.
                if [&first, &second].iter().all(|terms| is_plain(terms)) {
                    vec![whole(node)]
                } else {
                    let mut terms = Vec::new();
                    for one in &first {
                        for other in &second {
                            terms.push(Term {
                                amplitude: self.product(one.amplitude, other.amplitude),
                                factors: [&one.factors[..], &other.factors].concat(),
                            });
                        }
                    }
                    terms
                }
            }
            Divide => {
                let terms = self.terms(a, waves)?;
                if is_plain(&terms) {
                    vec![whole(node)]
                } else {
                    let quotient = |term: Term| Term {
                        amplitude: self.binary(Divide, term.amplitude, b),
                        ..term
                    };
                    terms.into_iter().map(quotient).collect()
                }
            }
            Sin | Cos if self.depends_on_x(a) => {
                let kind = if operation == Sin {
                    Kind::Sin
                } else {
                    Kind::Cos
                };
                match self.wave(kind, a, waves) {
                    Some(wave) => vec![self.pure(wave)],
                    None => vec![whole(node)],
                }
            }
            BesselJ if waves == Waves::All && !self.depends_on_x(a) => {
                match self.wave(Kind::Bessel(a), b, waves) {
                    Some(wave) if self.number(wave.phase) == Some(0.0) => vec![self.pure(wave)],
                    _ => vec![whole(node)],
                }
            }
            _ => vec![whole(node)],
        };
        let few = found.iter().all(|term| term.factors.len() <= MOST_FACTORS);
        (few && found.len() <= MOST_TERMS).then_some(found)
    }

    fn pure(&mut self, wave: Wave) -> Term {
        Term {
            amplitude: self.add(Node::Number(1.0)),
            factors: vec![wave],
        }
    }

    /// An oscillation of this argument.
    fn wave(&mut self, kind: Kind<u32>, argument: u32, waves: Waves) -> Option<Wave> {
        let zero = self.add(Node::Number(0.0));
        if let Some((frequency, phase)) = self.linear(argument) {
            return Some(Wave {
                kind,
                frequency,
                phase,
                bend: zero,
            });
        }
        if waves == Waves::Trigonometric {
            return None;
        }
        let (frequency, bend) = self.bent(argument)?;
        Some(Wave {
            kind,
            frequency,
            phase: zero,
            bend,
        })
    }

    /// k and b of k sqrt(x^2 + b).
    fn bent(&mut self, node: u32) -> Option<(u32, u32)> {
        use Operation::*;
        let (operation, a, b) = self.applied(node)?;
        match operation {
            SquareRoot => {
                let [square, slope, rest] = self.quadratic(a)?;
                if self.number(slope) != Some(0.0) || self.number(square) == Some(0.0) {
                    return None;
                }
                let frequency = self.root_of(square)?;
                Some((frequency, self.exact(Divide, rest, square)))
            }
            Negate => {
                let (frequency, bend) = self.bent(a)?;
                Some((self.opposite(frequency), bend))
            }
            Multiply => {
                let (factor, other) = if self.depends_on_x(a) { (b, a) } else { (a, b) };
                if self.depends_on_x(factor) {
                    return None;
                }
                let (frequency, bend) = self.bent(other)?;
                Some((self.exact(Multiply, factor, frequency), bend))
            }
            Divide if !self.depends_on_x(b) => {
                let (frequency, bend) = self.bent(a)?;
                Some((self.exact(Divide, frequency, b), bend))
            }
            _ => None,
        }
    }

    /// k and c of k x + c.
    pub(super) fn linear(&mut self, node: u32) -> Option<(u32, u32)> {
        use Operation::*;
        let zero = self.add(Node::Number(0.0));
        if !self.depends_on_x(node) {
            return Some((zero, node));
        }
        let Node::Apply(operation, a, b) = self.node(node) else {
            return Some((self.add(Node::Number(1.0)), zero));
        };
        match operation {
            Add | Subtract => {
                let ((k, c), (l, d)) = (self.linear(a)?, self.linear(b)?);
                Some(if operation == Add {
                    (self.sum(k, l), self.sum(c, d))
                } else {
                    (self.difference(k, l), self.difference(c, d))
                })
            }
            Negate => {
                let (k, c) = self.linear(a)?;
                Some((self.difference(zero, k), self.difference(zero, c)))
            }
            Multiply => {
                let (factor, other) = if self.depends_on_x(a) { (b, a) } else { (a, b) };
                if self.depends_on_x(factor) {
                    return None;
                }
                let (k, c) = self.linear(other)?;
                Some((self.product(factor, k), self.product(factor, c)))
            }
            Divide if !self.depends_on_x(b) => {
                let (k, c) = self.linear(a)?;
                let phase = match self.number(c) {
                    Some(0.0) => c,
                    _ => self.binary(Divide, c, b),
                };
                Some((self.binary(Divide, k, b), phase))
            }
            _ => None,
        }
    }
}

fn is_plain(terms: &[Term]) -> bool {
    terms.iter().all(|term| term.factors.is_empty())
}

#[cfg(test)]
mod tests {
    use super::super::{Evaluator, Program};
    use super::*;
    use crate::longman::special::bessel_j;

    fn value(expression: &Expression, x: f64) -> f64 {
        let program = Program::compile(expression).unwrap();
        let parameters = vec![0.7; program.parameters().len()];
        Evaluator::<f64>::new(&program, &parameters).unwrap().at(x)
    }

    /// The sum of the terms is the expression, whose value the evaluator has.
    #[test]
    fn terms_have_the_sum_of_the_expression() {
        for (text, count) in [
            ("cos(0.5*x)/(x^2+1)", 1),
            ("(sin(x)/x)^2", 1),
            ("exp(-x)*(1+cos(p*x+1))*sin(x/2-3)", 2),
            ("(cos(x)-cos(3*x))/x^2-exp(-x)", 3),
            ("-sin(x)*cos(2*x)", 1),
            ("J1(p*x)^2/x-cos(x)*besselj(p,2*x)*exp(-x)", 2),
            ("J0(x)/(1+x)", 1),
            ("J1(p*sqrt(x^2+p^2))*cos(3*sqrt(4*x^2+2))", 1),
            ("sin(sqrt(x^2+1)/2)/sqrt(x^2+1)-J0(-sqrt(1+x*x))", 2),
        ] {
            let expression = Expression::parse(text).unwrap();
            let terms = expression.harmonics(Waves::All);
            assert_eq!(terms.len(), count, "{text}");
            for x in [0.3, 2.9, 17.0] {
                let term = |term: &Harmonic| {
                    let factors = term.factors.iter().map(|factor| {
                        let root = (x * x + value(&factor.bend, x)).sqrt();
                        let phase = value(&factor.frequency, x) * root + value(&factor.phase, x);
                        match &factor.kind {
                            Kind::Sin => phase.sin(),
                            Kind::Cos => phase.cos(),
                            Kind::Bessel(order) => bessel_j(value(order, x), phase),
                        }
                    });
                    value(&term.amplitude, x) * factors.product::<f64>()
                };
                let sum: f64 = terms.iter().map(term).sum();
                assert!((sum - value(&expression, x)).abs() < 1e-14, "{text} {x}");
            }
        }
        let bessel = Expression::parse("J0(x)").unwrap();
        assert!(bessel.harmonics(Waves::Trigonometric).is_empty());
        for text in [
            "exp(-x)",
            "1/(2+cos(x))",
            "cos(x^2)*x",
            "cos(3)*x",
            "J0(x+1)",
        ] {
            assert!(
                Expression::parse(text)
                    .unwrap()
                    .harmonics(Waves::All)
                    .is_empty(),
                "{text}"
            );
        }
    }
}
