//! Places where an expression may be singular or have a kink, and the expression as a function of the distance from them.
//!
//! Such a place is a zero of the argument of abs, sign, ln, a root, a power, a quotient, or of the difference of the arguments of min and max. Products are
//! searched factor by factor. The zeros of k x + m and of a x^2 + b x + c are nodes:
//!
//! ```text
//! -m/k,        (-b +- sqrt(b^2 - 4 a c))/(2 a)
//! ```
//!
//! With x = p + s y, s = 1 or -1, at a zero p, the argument is k s y, or a s y (s y + p - q) with the other zero q. So nothing cancels next to it, and the
//! function is a power of y where the expression is one. Numbers that would be rounded stay operations, whose rounding the evaluation and the intervals bound.
//!
//! Zeros of other functions are numbers that a search brackets ([`roots`](super::super::roots)). There the argument is its rise from the zero on
//! ([`rise`](super::rise)), and the zero a parameter, known to within its bracket.

use rarefy_kernels::longman::program::Operation;

use super::transform::complete;
use super::{Expression, Graph, Node};

/// Places at most.
const MOST_PLACES: usize = 24;

/// Name of the parameter that is a zero of a function. No text can have it.
pub(in crate::longman) const PLACE: &str = "place x";

/// Where places are.
#[derive(Clone, Debug)]
pub(in crate::longman) enum Location {
    /// At one place, which depends on parameters alone.
    At(Expression),
    /// At each zero of a function, which is the parameter [`PLACE`] of the sides.
    Zeros(Expression),
}

/// Places, and the expression on both sides of each.
#[derive(Clone, Debug)]
pub(in crate::longman) struct Break {
    pub(in crate::longman) location: Location,
    /// Whether there is a kink of abs, min or max.
    pub(in crate::longman) kink: bool,
    /// The function of y = x - place.
    pub(in crate::longman) above: Expression,
    /// The function of y = place - x.
    pub(in crate::longman) below: Expression,
}

/// The places of an expression.
#[derive(Clone, Debug, Default)]
pub(in crate::longman) struct Breaks {
    pub(in crate::longman) known: Vec<Break>,
    /// Whether there may be steps or kinks of abs, min, max and floor, or singularities, whose places its form does not show.
    pub(in crate::longman) unknown: bool,
}

/// A place while nodes are collected: a node, or any zero of a node.
#[derive(Clone, Copy, Debug, PartialEq)]
enum Spot {
    At(u32),
    Zeros(u32),
}

impl Expression {
    /// Whether [`breaks`](Self::breaks) are worth a search.
    pub(in crate::longman) fn may_break(&self) -> bool {
        let mut graph = Graph::default();
        let root = graph.copy(self);
        let (places, unknown) = graph.places(root);
        unknown || !places.is_empty()
    }

    /// The places at positive x.
    pub(in crate::longman) fn breaks(&self) -> Breaks {
        let mut graph = Graph::default();
        let root = graph.copy(self);
        let (places, mut unknown) = graph.places(root);
        let mut known = Vec::with_capacity(places.len());
        for (spot, kink) in places {
            let sides = [1.0, -1.0].map(|sign| {
                let side = match spot {
                    Spot::At(place) => Some(graph.at_place(root, place, sign)),
                    Spot::Zeros(function) => graph.at_zero(root, function, sign),
                };
                side.map(|root| complete(&graph, root))
            });
            let [Some(above), Some(below)] = sides else {
                unknown = true;
                continue;
            };
            known.push(Break {
                location: match spot {
                    Spot::At(place) => Location::At(complete(&graph, place)),
                    Spot::Zeros(function) => Location::Zeros(complete(&graph, function)),
                },
                kink,
                above,
                below,
            });
        }
        Breaks { known, unknown }
    }

    /// The function of y = x - `at`.
    pub(in crate::longman) fn shifted(&self, at: f64) -> Self {
        let mut graph = Graph::default();
        let root = graph.copy(self);
        let place = graph.add(Node::Number(at));
        let root = graph.at_place(root, place, 1.0);
        complete(&graph, root)
    }
}

impl Graph {
    /// Places of the nodes up to the root and whether they are kinks, and whether there may be others.
    fn places(&mut self, root: u32) -> (Vec<(Spot, bool)>, bool) {
        use Operation::*;
        let (mut found, mut kinks, mut unknown) = (Vec::new(), Vec::new(), false);
        for node in 0..=root {
            let Some((operation, a, b)) = self.applied(node) else {
                continue;
            };
            if !self.depends_on_x(node) {
                continue;
            }
            let argument = match operation {
                Magnitude | Sign | Ln | SquareRoot => a,
                Power if !self.depends_on_x(b) => a,
                Divide if self.depends_on_x(b) => b,
                Minimum | Maximum => self.exact(Subtract, a, b),
                Ln1p => {
                    let one = self.add(Node::Number(1.0));
                    self.exact(Add, one, a)
                }
                Floor => {
                    unknown = true;
                    continue;
                }
                _ => continue,
            };
            self.spots(argument, &mut found);
            // Others are singular at the same places.
            let kink = matches!(operation, Magnitude | Minimum | Maximum);
            kinks.resize(found.len(), kink);
        }
        unknown |= found.len() > MOST_PLACES;
        found.truncate(MOST_PLACES);
        (found.into_iter().zip(kinks).collect(), unknown)
    }

    /// Adds the zeros of a node, factor by factor.
    fn spots(&mut self, node: u32, found: &mut Vec<Spot>) {
        use Operation::*;
        if !self.depends_on_x(node) || self.is_positive(node) {
            return;
        }
        match self.applied(node) {
            Some((Multiply | Divide, a, b)) if self.depends_on_x(a) && self.depends_on_x(b) => {
                self.spots(a, found);
                self.spots(b, found);
            }
            Some((Divide, _, b)) if self.depends_on_x(b) => self.spots(b, found),
            Some((Magnitude | SquareRoot | Negate | Expm1 | Ln1p | Sinh | Tanh | Arctan, a, _)) => {
                self.spots(a, found);
            }
            Some((Power, a, b)) if !self.depends_on_x(b) => self.spots(a, found),
            Some((Minimum | Maximum, a, b)) => {
                self.spots(a, found);
                self.spots(b, found);
            }
            Some((Exp, ..)) => {}
            applied => {
                // ln u is zero where u is 1.
                let inner = match applied {
                    Some((Ln, u, _)) => self.less_one(u),
                    _ => node,
                };
                if let Some(roots) = self.roots(inner) {
                    for place in roots {
                        let apart = self.number(place).is_some_and(|place| place <= 0.0);
                        if !apart && !found.contains(&Spot::At(place)) {
                            found.push(Spot::At(place));
                        }
                    }
                    return;
                }
                match applied {
                    Some((Multiply, a, b)) => {
                        let other = if self.depends_on_x(a) { a } else { b };
                        self.spots(other, found);
                    }
                    Some((Divide, a, _)) => self.spots(a, found),
                    _ if !found.contains(&Spot::Zeros(node)) => found.push(Spot::Zeros(node)),
                    _ => {}
                }
            }
        }
    }

    /// u - 1
    fn less_one(&mut self, u: u32) -> u32 {
        let one = self.add(Node::Number(1.0));
        self.exact(Operation::Subtract, u, one)
    }

    /// Whether the form shows a number above 0 for all x > 0.
    fn is_positive(&self, node: u32) -> bool {
        use Operation::*;
        if let Some(number) = self.number(node) {
            return number > 0.0;
        }
        match self.applied(node) {
            None => self.nodes.get(node as usize) == Some(&Node::X),
            Some((Exp | Cosh, ..)) => true,
            Some((Add, a, b)) => {
                (self.is_positive(a) && self.is_square(b))
                    || (self.is_square(a) && self.is_positive(b))
            }
            Some((Multiply | Divide | Maximum, a, b)) if a != b => {
                self.is_positive(a) && self.is_positive(b)
            }
            Some((Power, a, _)) => self.is_positive(a),
            Some((SquareRoot | Expm1 | Ln1p | Sinh | Tanh | Arctan | Multiply, a, _)) => {
                self.is_positive(a)
            }
            Some(_) => false,
        }
    }

    /// Whether the form shows a number of at least 0.
    fn is_square(&self, node: u32) -> bool {
        use Operation::*;
        match self.applied(node) {
            Some((Multiply, a, b)) if a == b => true,
            Some((Multiply | Divide, a, b)) => self.is_square(a) && self.is_square(b),
            Some((Add, a, b)) => self.is_square(a) && self.is_square(b),
            Some((Magnitude | SquareRoot, ..)) => true,
            _ => self.is_positive(node) || self.number(node) == Some(0.0),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::super::{Evaluator, Program};
    use super::*;

    fn value(expression: &Expression, x: f64) -> f64 {
        let program = Program::compile(expression).unwrap();
        let values = program.parameters().iter().map(|name| match name.as_str() {
            "a" => 1.5,
            _ => 0.7,
        });
        let values: Vec<f64> = values.collect();
        Evaluator::<f64>::new(&program, &values).unwrap().at(x)
    }

    /// Places by hand; both sides have the values of the expression.
    #[test]
    fn places_and_sides_are_those_of_the_expression() {
        for (text, places, unknown) in [
            ("abs(x-2)^(-0.5)*exp(-x)", vec![2.0], false),
            ("ln(abs(x^2-a^2))/(1+x^2)", vec![1.5], false),
            ("ln(abs(x^2-2))/(1+x)", vec![2f64.sqrt()], false),
            ("abs(3*x-1)*ln(abs(6*x-12))", vec![1.0 / 3.0, 2.0], false),
            ("1/sqrt(abs(x^2-4*x+3))", vec![3.0, 1.0], false),
            ("abs((x-1)*(x-a))^(-b)*x", vec![1.0, 1.5], false),
            ("min(1,x/2)*max(0,3-x)", vec![2.0, 3.0], false),
            ("sign(a-x)/(x+1)+1/(x-4)", vec![1.5, 4.0], false),
            ("sqrt(x^2+1)*abs(x)", vec![], false),
            ("exp(-x)/(1+x)", vec![], false),
            ("abs(ln(x/2))^(-0.5)", vec![2.0], false),
            ("ln(abs(expm1(x-a)))", vec![1.5], false),
            ("floor(x)*exp(-x)", vec![], true),
        ] {
            let expression = Expression::parse(text).unwrap();
            let breaks = expression.breaks();
            assert_eq!(breaks.unknown, unknown, "{text}");
            let at = |one: &Break| match &one.location {
                Location::At(place) => value(place, 0.0),
                Location::Zeros(_) => f64::NAN,
            };
            let found: Vec<f64> = breaks.known.iter().map(at).collect();
            let found: Vec<f64> = found.into_iter().filter(|place| *place > 0.0).collect();
            assert_eq!(found, places, "{text}");
            for (one, place) in breaks.known.iter().zip(found) {
                for y in [0.3, 0.01] {
                    for (side, x) in [(&one.above, place + y), (&one.below, place - y)] {
                        let (f, g) = (value(side, y), value(&expression, x));
                        assert!((f - g).abs() <= 1e-12 * g.abs(), "{text} {x}: {f} {g}");
                    }
                }
            }
        }
    }

    /// Zeros by mpmath's findroot. Both sides have the values of the expression, and next to the zero that of its slope.
    #[test]
    fn sides_of_zeros_rise_from_them() {
        for (text, place) in [
            ("abs(exp(x)-2)", std::f64::consts::LN_2),
            ("abs(exp(-x)-3*x)", 0.257_627_653_049_736_7),
            ("abs(x^3-3*x+1)", 1.532_088_886_237_956),
            ("max(exp(-b*x)-1/2,0)+1/2", 0.990_210_257_942_779),
            ("min(2*x,cosh(x))-2*x", 0.589_387_763_469_350_6),
            ("abs(cos(x)-x)", 0.739_085_133_215_160_6),
            ("abs(sin(x)/(1+x)-tanh(x/3))", 1.331_130_686_724_145_7),
            ("abs(log1p(x)-sqrt(x)/2)", 0.336_464_834_320_279_1),
            ("abs(x^1.3-2^(-x))", 0.691_596_576_813_006_2),
            ("abs(sinh(x)-tan(x)*ln(x+2))", 0.561_000_323_231_956_9),
        ] {
            let expression = Expression::parse(text).unwrap();
            let breaks = expression.breaks();
            let [one] = &breaks.known[..] else {
                panic!("{text} {breaks:?}");
            };
            assert!(
                matches!(one.location, Location::Zeros(_)) && !breaks.unknown,
                "{text}"
            );
            let side = |side: &Expression, y: f64| {
                let program = Program::compile(side).unwrap();
                let values = program.parameters().iter().map(|name| match name.as_str() {
                    PLACE => place,
                    _ => 0.7,
                });
                let values: Vec<f64> = values.collect();
                Evaluator::<f64>::new(&program, &values).unwrap().at(y)
            };
            for y in [0.2, 0.01, 1e-4] {
                for (found, x) in [
                    (side(&one.above, y), place + y),
                    (side(&one.below, y), place - y),
                ] {
                    let right = value(&expression, x);
                    assert!(
                        (found - right).abs() <= 1e-14,
                        "{text} {x}: {found} {right}"
                    );
                }
            }
            let slopes = [&one.above, &one.below].map(|s| side(s, 1e-200) / 1e-200);
            let right = value(&expression, place + 1e-7) / 1e-7;
            if text.starts_with("abs") {
                assert!(
                    (slopes[0] - right).abs() < 1e-5,
                    "{text} {slopes:?} {right}"
                );
                assert!((slopes[1] - slopes[0]).abs() < 1e-14, "{text} {slopes:?}");
            }
        }
    }

    /// Next to the place the argument has all digits.
    #[test]
    fn nothing_cancels_next_to_a_place() {
        for (text, right) in [
            ("abs(x-2)", 1.0),
            ("abs(3*x-1)", 3.0),
            ("abs(x^2-2)", 2.0 * 2f64.sqrt()),
            ("abs(x^2-a^2)", 3.0),
            ("abs(x^2-4*x+3)", 2.0),
        ] {
            let breaks = Expression::parse(text).unwrap().breaks();
            for side in [&breaks.known[0].above, &breaks.known[0].below] {
                let slope = value(side, 1e-200) / 1e-200;
                assert!((slope - right).abs() < 1e-14, "{text} {slope}");
            }
        }
    }
}
