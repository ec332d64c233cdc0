//! Logarithms, roots and powers of sums with an exponential that grows: exp(u) + v = exp(u) (1 + v exp(-u)).

use rarefy_kernels::longman::program::Operation;

use super::{Graph, Node};

impl Graph {
    /// ln, root or power of exp(u) w as u + ln w and exp(c u) w^c.
    pub(super) fn beside_exponential(
        &mut self,
        operation: Operation,
        a: u32,
        b: u32,
    ) -> Option<u32> {
        use Operation::*;
        let (u, rest) = self.grown(a)?;
        if operation == Ln {
            let logarithm = self.unary(Ln, rest);
            return Some(self.sum(u, logarithm));
        }
        let (exponent, rest) = if operation == SquareRoot {
            let half = self.add(Node::Number(0.5));
            (self.product(half, u), self.unary(SquareRoot, rest))
        } else {
            (self.exact(Multiply, b, u), self.binary(Power, rest, b))
        };
        let exp = self.unary(Exp, exponent);
        Some(self.product(exp, rest))
    }

    /// u and w of exp(u) w, where u grows with x and w = 1 + v exp(-u) has no such term.
    fn grown(&mut self, node: u32) -> Option<(u32, u32)> {
        use Operation::*;
        let (operation, a, b) = self.applied(node)?;
        let exponential = |graph: &mut Self, node: u32| {
            let Some((Exp, u, _)) = graph.applied(node) else {
                return None;
            };
            graph.grows(u).then_some(u)
        };
        match operation {
            Magnitude => {
                let (u, rest) = self.grown(a)?;
                Some((u, self.unary(Magnitude, rest)))
            }
            Expm1 if self.grows(a) => {
                let minus = self.minus(a);
                let rest = self.unary(Expm1, minus);
                Some((a, self.minus(rest)))
            }
            Add | Subtract => {
                let (first, second) = (exponential(self, a), exponential(self, b));
                let (u, other) = match (first, second) {
                    (Some(u), None) => (u, b),
                    (None, Some(u)) => (u, a),
                    _ => return None,
                };
                let minus = self.minus(u);
                let decay = self.unary(Exp, minus);
                let (one, part) = (self.one(), self.product(other, decay));
                let rest = match (operation, first) {
                    (Subtract, None) => self.binary(Subtract, part, one),
                    _ => self.binary(operation, one, part),
                };
                Some((u, rest))
            }
            _ => None,
        }
    }

    /// Whether it is seen to be k x + c, k > 0.
    fn grows(&mut self, node: u32) -> bool {
        let linear = self.linear(node);
        linear.is_some_and(|(k, _)| self.number(k).is_some_and(|k| k > 0.0))
    }
}
