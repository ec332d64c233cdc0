//! An expression as a function of the distance from a place.

use rarefy_kernels::longman::program::Operation;

use super::breaks::PLACE;
use super::{Graph, Node};

/// How an expression moves to a place: x = place + y, where `y` has a sign; a function that is zero there, and its rise.
#[derive(Clone, Copy, Debug)]
struct Move {
    place: u32,
    y: u32,
    sign: f64,
    zero: Option<(u32, u32)>,
}

impl Graph {
    /// The node with x = place + sign y, as a function of y.
    pub(super) fn at_place(&mut self, root: u32, place: u32, sign: f64) -> u32 {
        let to = self.moved_to(place, sign);
        self.moved(root, to)[root as usize]
    }

    /// The same at any zero of a function; none where the function's rise has no form.
    pub(super) fn at_zero(&mut self, root: u32, function: u32, sign: f64) -> Option<u32> {
        let place = self.parameter(PLACE);
        let to = self.moved_to(place, sign);
        let plain = self.moved(function, to);
        let rise = self.rise(function, (place, to.y), &plain)?;
        let to = Move {
            zero: Some((function, rise)),
            ..to
        };
        Some(self.moved(root, to)[root as usize])
    }

    fn moved_to(&mut self, place: u32, sign: f64) -> Move {
        let x = self.add(Node::X);
        let y = if sign < 0.0 { self.opposite(x) } else { x };
        Move {
            place,
            y,
            sign,
            zero: None,
        }
    }

    /// All nodes up to one as functions of y.
    fn moved(&mut self, last: u32, to: Move) -> Vec<u32> {
        let mut new = Vec::with_capacity(last as usize + 1);
        for node in 0..=last {
            let moved = if self.depends_on_x(node) {
                self.near(node, to, &new)
            } else {
                node
            };
            new.push(moved);
        }
        new
    }

    /// A polynomial of degree 1, or one of degree 2 with a zero at the place, as a function of y.
    fn factored(&mut self, node: u32, Move { place, y, .. }: Move) -> Option<u32> {
        use Operation::*;
        let [a, b, c] = self.quadratic(node)?;
        if self.number(a) == Some(0.0) {
            let rise = self.exact(Multiply, b, y);
            if self.zero_of(b, c) == Some(place) {
                return Some(rise);
            }
            let at = self.exact(Multiply, b, place);
            let at = self.exact(Add, at, c);
            return Some(self.exact(Add, at, rise));
        }
        let ([first, second], apart) = self.zeros_of(a, b, c)?;
        if first != place && second != place {
            return None;
        }
        let apart = if first == place {
            apart
        } else {
            self.opposite(apart)
        };
        let (other, front) = (self.exact(Add, apart, y), self.exact(Multiply, a, y));
        Some(self.exact(Multiply, front, other))
    }

    /// One node as a function of the signed distance y from a place; those before it are known.
    fn near(&mut self, node: u32, to: Move, new: &[u32]) -> u32 {
        use Operation::*;
        if let Some((function, rise)) = to.zero
            && function == node
        {
            return rise;
        }
        let applied = self.applied(node);
        let product = matches!(applied, Some((Multiply, a, b)) if self.depends_on_x(a) && self.depends_on_x(b));
        if !product && let Some(found) = self.factored(node, to) {
            return found;
        }
        let Some((operation, a, b)) = applied else {
            return node;
        };
        let [u, v] = [a, b].map(|operand| new[operand as usize]);
        if matches!(operation, Minimum | Maximum) {
            let difference = self.exact(Subtract, a, b);
            // max(a, b) = b + max(a - b, 0)
            if let Some((function, rise)) = to.zero
                && function == difference
            {
                let zero = self.add(Node::Number(0.0));
                let more = self.binary(operation, rise, zero);
                return self.exact(Add, v, more);
            }
            if let Some([square, k, m]) = self.quadratic(difference)
                && self.number(square) == Some(0.0)
                && let Some(rise) = self.number(k)
                && self.zero_of(k, m) == Some(to.place)
            {
                let first = (rise * to.sign > 0.0) == (operation == Maximum);
                return if first { u } else { v };
            }
        }
        // ln u where u - 1 is small, and log1p u where u + 1 is.
        if matches!(operation, Ln | Ln1p) {
            let one = self.add(Node::Number(1.0));
            let other = match operation {
                Ln => self.exact(Subtract, a, one),
                _ => self.exact(Add, one, a),
            };
            let inverse = if operation == Ln { Ln1p } else { Ln };
            if let Some(roots) = self.roots(other)
                && roots.contains(&to.place)
                && let Some(small) = self.factored(other, to)
            {
                return self.unary(inverse, small);
            }
            if operation == Ln1p
                && let Some((function, rise)) = to.zero
                && function == other
            {
                return self.unary(Ln, rise);
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
}
