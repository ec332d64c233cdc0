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

use rarefy_kernels::longman::program::Operation;

use super::transform::complete;
use super::{Expression, Graph, Node};

/// Places at most.
const MOST_PLACES: usize = 24;

/// A place, and the expression on both sides of it.
#[derive(Clone, Debug)]
pub(in crate::longman) struct Break {
    /// The place; it depends on parameters alone.
    pub(in crate::longman) place: Expression,
    /// The function of y = x - place.
    pub(in crate::longman) above: Expression,
    /// The function of y = place - x.
    pub(in crate::longman) below: Expression,
}

/// The places of an expression.
#[derive(Clone, Debug, Default)]
pub(in crate::longman) struct Breaks {
    pub(in crate::longman) known: Vec<Break>,
    /// Whether there may be steps or kinks of abs, min, max and floor whose places its form does not show.
    pub(in crate::longman) unknown: bool,
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
        let (places, unknown) = graph.places(root);
        let known = places.into_iter().map(|place| {
            let [above, below] = [1.0, -1.0].map(|sign| {
                let root = graph.at_place(root, place, sign);
                complete(&graph, root)
            });
            Break {
                place: complete(&graph, place),
                above,
                below,
            }
        });
        Breaks {
            known: known.collect(),
            unknown,
        }
    }
}

impl Graph {
    /// Places of the nodes up to the root, and whether there may be others.
    fn places(&mut self, root: u32) -> (Vec<u32>, bool) {
        use Operation::*;
        let (mut found, mut unknown) = (Vec::new(), false);
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
            let roots = self.roots(argument);
            unknown |= roots.is_none() && matches!(operation, Magnitude | Minimum | Maximum);
            for place in roots.unwrap_or_default() {
                let apart = self.number(place).is_some_and(|place| place <= 0.0);
                if !apart && !found.contains(&place) && found.len() < MOST_PLACES {
                    found.push(place);
                }
            }
        }
        (found, unknown)
    }

    /// Zeros of a node, if its form shows them.
    fn roots(&mut self, node: u32) -> Option<Vec<u32>> {
        use Operation::*;
        match self.applied(node) {
            Some((Multiply, a, b)) if self.depends_on_x(a) && self.depends_on_x(b) => {
                let mut roots = self.roots(a)?;
                roots.extend(self.roots(b)?);
                Some(roots)
            }
            Some((Divide, a, b)) if self.depends_on_x(b) => {
                let mut roots = self.roots(b)?;
                if self.depends_on_x(a) {
                    roots.extend(self.roots(a)?);
                }
                Some(roots)
            }
            Some((Magnitude | SquareRoot | Negate, a, _)) => self.roots(a),
            Some((Power, a, b)) if !self.depends_on_x(b) => self.roots(a),
            Some((Exp, ..)) => Some(Vec::new()),
            _ => {
                let [a, b, c] = self.quadratic(node)?;
                if self.number(a) == Some(0.0) {
                    return Some(self.zero_of(b, c).into_iter().collect());
                }
                self.zeros_of(a, b, c).map(|(roots, _)| roots.to_vec())
            }
        }
    }

    /// The zero of k x + m; none where k is 0.
    fn zero_of(&mut self, k: u32, m: u32) -> Option<u32> {
        if self.number(k) == Some(0.0) {
            return None;
        }
        let above = self.opposite(m);
        Some(self.exact(Operation::Divide, above, k))
    }

    /// The zeros of a x^2 + b x + c, and the first less the second.
    fn zeros_of(&mut self, a: u32, b: u32, c: u32) -> Option<([u32; 2], u32)> {
        use Operation::*;
        let two = self.add(Node::Number(2.0));
        if self.number(b) == Some(0.0) {
            let above = self.opposite(c);
            let square = self.exact(Divide, above, a);
            let root = self.root_of(square)?;
            let other = self.opposite(root);
            return Some(([root, other], self.exact(Multiply, two, root)));
        }
        let four = self.add(Node::Number(4.0));
        let (bb, ac) = (self.exact(Multiply, b, b), self.exact(Multiply, a, c));
        let ac = self.exact(Multiply, four, ac);
        let square = self.exact(Subtract, bb, ac);
        let root = self.root_of(square)?;
        let (minus, twice) = (self.opposite(b), self.exact(Multiply, two, a));
        let roots = [Add, Subtract].map(|operation| {
            let above = self.exact(operation, minus, root);
            self.exact(Divide, above, twice)
        });
        Some((roots, self.exact(Divide, root, a)))
    }

    /// The square root of a node; none of a negative number.
    fn root_of(&mut self, square: u32) -> Option<u32> {
        if let Some((Operation::Multiply, a, b)) = self.applied(square)
            && a == b
        {
            return Some(a);
        }
        if let Some(number) = self.number(square) {
            if number < 0.0 {
                return None;
            }
            let root = number.sqrt();
            if root.mul_add(root, -number) == 0.0 {
                return Some(self.add(Node::Number(root)));
            }
        }
        Some(self.add(Node::Apply(Operation::SquareRoot, square, square)))
    }

    /// a, b and c of a x^2 + b x + c.
    fn quadratic(&mut self, node: u32) -> Option<[u32; 3]> {
        use Operation::*;
        let [zero, one] = [0.0, 1.0].map(|n| self.add(Node::Number(n)));
        if !self.depends_on_x(node) {
            return Some([zero, zero, node]);
        }
        let Some((operation, a, b)) = self.applied(node) else {
            return Some([zero, one, zero]);
        };
        match operation {
            Add | Subtract => {
                let (p, q) = (self.quadratic(a)?, self.quadratic(b)?);
                Some([0, 1, 2].map(|i| self.exact(operation, p[i], q[i])))
            }
            Negate => Some(self.quadratic(a)?.map(|c| self.opposite(c))),
            Divide if !self.depends_on_x(b) => {
                Some(self.quadratic(a)?.map(|c| self.exact(Divide, c, b)))
            }
            Multiply => {
                let ([a2, a1, a0], [b2, b1, b0]) = (self.quadratic(a)?, self.quadratic(b)?);
                let constant =
                    |graph: &Self, c: [u32; 2]| c.iter().all(|c| graph.number(*c) == Some(0.0));
                if constant(self, [a2, a1]) {
                    return Some([b2, b1, b0].map(|c| self.exact(Multiply, a0, c)));
                }
                if constant(self, [b2, b1]) {
                    return Some([a2, a1, a0].map(|c| self.exact(Multiply, b0, c)));
                }
                if self.number(a2) != Some(0.0) || self.number(b2) != Some(0.0) {
                    return None;
                }
                let (cross, other) = (self.exact(Multiply, a1, b0), self.exact(Multiply, a0, b1));
                Some([
                    self.exact(Multiply, a1, b1),
                    self.exact(Add, cross, other),
                    self.exact(Multiply, a0, b0),
                ])
            }
            _ => None,
        }
    }

    /// The node with x = place + sign y, as a function of y.
    fn at_place(&mut self, root: u32, place: u32, sign: f64) -> u32 {
        let x = self.add(Node::X);
        let y = if sign < 0.0 { self.opposite(x) } else { x };
        let mut new = Vec::with_capacity(root as usize + 1);
        for node in 0..=root {
            let moved = if self.depends_on_x(node) {
                self.near(node, (place, y, sign), &new)
            } else {
                node
            };
            new.push(moved);
        }
        new[root as usize]
    }

    /// One node as a function of the signed distance y from a place; those before it are known.
    fn near(&mut self, node: u32, (place, y, sign): (u32, u32, f64), new: &[u32]) -> u32 {
        use Operation::*;
        let applied = self.applied(node);
        let product = matches!(applied, Some((Multiply, a, b)) if self.depends_on_x(a) && self.depends_on_x(b));
        let polynomial = if product { None } else { self.quadratic(node) };
        if let Some([a, b, c]) = polynomial {
            if self.number(a) == Some(0.0) {
                let rise = self.exact(Multiply, b, y);
                if self.zero_of(b, c) == Some(place) {
                    return rise;
                }
                let at = self.exact(Multiply, b, place);
                let at = self.exact(Add, at, c);
                return self.exact(Add, at, rise);
            }
            if let Some(([first, second], apart)) = self.zeros_of(a, b, c)
                && (first == place || second == place)
            {
                let apart = if first == place {
                    apart
                } else {
                    self.opposite(apart)
                };
                let (other, front) = (self.exact(Add, apart, y), self.exact(Multiply, a, y));
                return self.exact(Multiply, front, other);
            }
        }
        let Some((operation, a, b)) = applied else {
            return node;
        };
        let [u, v] = [a, b].map(|operand| new[operand as usize]);
        if matches!(operation, Minimum | Maximum) {
            let difference = self.exact(Subtract, a, b);
            if let Some([square, k, m]) = self.quadratic(difference)
                && self.number(square) == Some(0.0)
                && let Some(rise) = self.number(k)
                && self.zero_of(k, m) == Some(place)
            {
                let first = (rise * sign > 0.0) == (operation == Maximum);
                return if first { u } else { v };
            }
        }
        // exp(k ln w) is a power, whose enclosure at y = 0 is sharper.
        if operation == Exp
            && let Some((k, w)) = self.logarithm_times(u)
        {
            return self.binary(Power, w, k);
        }
        // Of min and max a number may be left.
        if self.number(u).is_some() && self.number(v).is_some() {
            return self.exact(operation, u, v);
        }
        self.binary(operation, u, v)
    }

    /// k and w of k ln w, where k does not depend on x.
    fn logarithm_times(&mut self, node: u32) -> Option<(u32, u32)> {
        use Operation::*;
        match self.applied(node)? {
            (Ln, w, _) => Some((self.add(Node::Number(1.0)), w)),
            (Negate, a, _) => {
                let (k, w) = self.logarithm_times(a)?;
                Some((self.opposite(k), w))
            }
            (Multiply, a, b) => {
                let (factor, other) = if self.depends_on_x(a) { (b, a) } else { (a, b) };
                if self.depends_on_x(factor) {
                    return None;
                }
                let (k, w) = self.logarithm_times(other)?;
                Some((self.exact(Multiply, factor, k), w))
            }
            (Divide, a, b) if !self.depends_on_x(b) => {
                let (k, w) = self.logarithm_times(a)?;
                Some((self.exact(Divide, k, b), w))
            }
            _ => None,
        }
    }

    fn opposite(&mut self, node: u32) -> u32 {
        match self.number(node) {
            // Never the negative zero, which is another node.
            Some(number) => self.add(Node::Number(0.0 - number)),
            None => self.minus(node),
        }
    }

    /// An operation that stays one where its number would be rounded.
    fn exact(&mut self, operation: Operation, a: u32, b: u32) -> u32 {
        use Operation::*;
        if let (Some(x), Some(y)) = (self.number(a), self.number(b))
            && let Some(number) = exact(operation, x, y)
        {
            return self.add(Node::Number(number + 0.0));
        }
        let is = |graph: &Self, node: u32, number: f64| graph.number(node) == Some(number);
        match operation {
            Add if is(self, a, 0.0) => b,
            Add | Subtract if is(self, b, 0.0) => a,
            Subtract if is(self, a, 0.0) => self.opposite(b),
            Multiply if is(self, a, 0.0) || is(self, b, 0.0) => self.add(Node::Number(0.0)),
            Divide if is(self, a, 0.0) => a,
            Multiply if is(self, a, 1.0) => b,
            Multiply | Divide if is(self, b, 1.0) => a,
            Multiply | Divide if is(self, b, -1.0) => self.opposite(a),
            Multiply if is(self, a, -1.0) => self.opposite(b),
            _ => self.add(Node::Apply(operation, a, b)),
        }
    }
}

/// The number that an operation has, if that is not rounded.
fn exact(operation: Operation, x: f64, y: f64) -> Option<f64> {
    let (number, exact) = match operation {
        Operation::Add | Operation::Subtract => {
            let y = if operation == Operation::Add { y } else { -y };
            let sum = x + y;
            let rest = sum - x;
            (sum, (x - (sum - rest)) + (y - rest) == 0.0)
        }
        Operation::Multiply => (x * y, x.mul_add(y, -(x * y)) == 0.0),
        Operation::Divide => (x / y, (x / y).mul_add(y, -x) == 0.0),
        _ => return None,
    };
    (exact && number.is_finite() && (number == 0.0 || number.is_normal())).then_some(number)
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
            ("abs(cos(x)-x)", vec![], true),
        ] {
            let expression = Expression::parse(text).unwrap();
            let breaks = expression.breaks();
            assert_eq!(breaks.unknown, unknown, "{text}");
            let found: Vec<f64> = breaks.known.iter().map(|b| value(&b.place, 0.0)).collect();
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
