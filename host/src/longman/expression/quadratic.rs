//! Polynomials of degree 1 and 2 among the nodes of an expression, and their zeros. Numbers that would be rounded stay operations.

use rarefy_kernels::longman::program::Operation;

use super::{Graph, Node};

impl Graph {
    /// Zeros of a polynomial of degree 1 or 2; none of another function, nor of a negative discriminant.
    pub(super) fn roots(&mut self, node: u32) -> Option<Vec<u32>> {
        let [a, b, c] = self.quadratic(node)?;
        if self.number(a) == Some(0.0) {
            return Some(self.zero_of(b, c).into_iter().collect());
        }
        let zeros = self.zeros_of(a, b, c);
        Some(zeros.map_or_else(Vec::new, |(roots, _)| roots.to_vec()))
    }

    /// The zero of k x + m; none where k is 0.
    pub(super) fn zero_of(&mut self, k: u32, m: u32) -> Option<u32> {
        if self.number(k) == Some(0.0) {
            return None;
        }
        let above = self.opposite(m);
        Some(self.exact(Operation::Divide, above, k))
    }

    /// The zeros of a x^2 + b x + c, and the first less the second.
    pub(super) fn zeros_of(&mut self, a: u32, b: u32, c: u32) -> Option<([u32; 2], u32)> {
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
    pub(super) fn root_of(&mut self, square: u32) -> Option<u32> {
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
    pub(super) fn quadratic(&mut self, node: u32) -> Option<[u32; 3]> {
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

    pub(super) fn opposite(&mut self, node: u32) -> u32 {
        match self.number(node) {
            // Never the negative zero, which is another node.
            Some(number) => self.add(Node::Number(0.0 - number)),
            None => self.minus(node),
        }
    }

    /// An operation that stays one where its number would be rounded.
    pub(super) fn exact(&mut self, operation: Operation, a: u32, b: u32) -> u32 {
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
