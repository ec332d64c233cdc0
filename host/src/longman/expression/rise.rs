//! The rise of a function from one of its zeros on.
//!
//! A function F with F(p) = 0 is F(p + y) - F(p). The difference is taken node by node, by the identities
//!
//! ```text
//! d(u v) = du v(p + y) + u(p) dv,         d(u/v) = (du - u(p)/v(p) dv)/v(p + y),
//! d exp(u) = exp(u(p)) expm1(du),         d ln(u) = log1p(du/u(p)),
//! d sqrt(u) = du/(sqrt(u(p + y)) + sqrt(u(p))),
//! d sin(u) = 2 cos(u(p) + du/2) sin(du/2),
//! ```
//!
//! and the like. Each is y times a function that is smooth at y = 0, so that nothing cancels there but what the derivatives of sums do.

use rarefy_kernels::longman::program::Operation;

use super::{Graph, Node};

/// A node at a zero, at the distance y from it, and its rise between them.
#[derive(Clone, Copy, Debug)]
struct Risen {
    at: u32,
    beyond: u32,
    rise: Option<u32>,
}

impl Graph {
    /// The rise of `function` from its zero `place` on, with `moved` the nodes at the distance `y` from it; none where an operation has no identity.
    pub(super) fn rise(
        &mut self,
        function: u32,
        (place, y): (u32, u32),
        moved: &[u32],
    ) -> Option<u32> {
        let mut risen: Vec<Risen> = Vec::with_capacity(function as usize + 1);
        for node in 0..=function {
            let beyond = moved[node as usize];
            let one = if self.depends_on_x(node) {
                self.risen(node, beyond, (place, y), &risen)
            } else {
                Risen {
                    at: node,
                    beyond,
                    rise: Some(self.add(Node::Number(0.0))),
                }
            };
            risen.push(one);
        }
        risen.last()?.rise
    }

    fn risen(&mut self, node: u32, beyond: u32, (place, y): (u32, u32), known: &[Risen]) -> Risen {
        let Some((operation, a, b)) = self.applied(node) else {
            return Risen {
                at: place,
                beyond,
                rise: Some(y),
            };
        };
        let (a, b) = (known[a as usize], known[b as usize]);
        let at = self.exact(operation, a.at, b.at);
        Risen {
            at,
            beyond,
            rise: self.rise_of(operation, (at, beyond), a, b),
        }
    }

    fn rise_of(
        &mut self,
        operation: Operation,
        (at, beyond): (u32, u32),
        a: Risen,
        b: Risen,
    ) -> Option<u32> {
        use Operation::*;
        let (da, db) = (a.rise?, b.rise?);
        let [one, half] = [1.0, 0.5].map(|n| self.add(Node::Number(n)));
        let middle = |graph: &mut Self| {
            let rise = graph.exact(Multiply, half, da);
            (graph.exact(Add, a.at, rise), rise)
        };
        Some(match operation {
            Add | Subtract => self.exact(operation, da, db),
            Negate => self.opposite(da),
            Multiply => {
                let (first, second) = (
                    self.exact(Multiply, da, b.beyond),
                    self.exact(Multiply, a.at, db),
                );
                self.exact(Add, first, second)
            }
            Divide => {
                let part = self.exact(Multiply, at, db);
                let above = self.exact(Subtract, da, part);
                self.exact(Divide, above, b.beyond)
            }
            Exp | Expm1 => {
                let front = self.unary(Exp, a.at);
                let rest = self.unary(Expm1, da);
                self.exact(Multiply, front, rest)
            }
            Ln | Ln1p => {
                let under = if operation == Ln {
                    a.at
                } else {
                    self.exact(Add, one, a.at)
                };
                let part = self.exact(Divide, da, under);
                self.unary(Ln1p, part)
            }
            SquareRoot => {
                let sum = self.exact(Add, beyond, at);
                self.exact(Divide, da, sum)
            }
            Power => {
                let exponent = if self.number(db) == Some(0.0) {
                    let part = self.exact(Divide, da, a.at);
                    let logarithm = self.unary(Ln1p, part);
                    self.exact(Multiply, b.at, logarithm)
                } else if self.number(da) == Some(0.0) {
                    let logarithm = self.unary(Ln, a.at);
                    self.exact(Multiply, db, logarithm)
                } else {
                    return None;
                };
                let rest = self.unary(Expm1, exponent);
                self.exact(Multiply, at, rest)
            }
            Sin | Cos | Sinh | Cosh => {
                let (middle, rise) = middle(self);
                let (slope, small, sign) = match operation {
                    Sin => (Cos, Sin, 2.0),
                    Cos => (Sin, Sin, -2.0),
                    Sinh => (Cosh, Sinh, 2.0),
                    _ => (Sinh, Sinh, 2.0),
                };
                let (slope, small) = (self.unary(slope, middle), self.unary(small, rise));
                let product = self.exact(Multiply, slope, small);
                let sign = self.add(Node::Number(sign));
                self.exact(Multiply, sign, product)
            }
            Tan | Tanh => {
                let (around, small) = if operation == Tan {
                    (Cos, Sin)
                } else {
                    (Cosh, Sinh)
                };
                let (first, second) = (self.unary(around, a.at), self.unary(around, a.beyond));
                let below = self.exact(Multiply, first, second);
                let above = self.unary(small, da);
                self.exact(Divide, above, below)
            }
            // Where nothing rises, as in the order of a Bessel function.
            _ if self.number(da) == Some(0.0) && self.number(db) == Some(0.0) => {
                self.add(Node::Number(0.0))
            }
            _ => return None,
        })
    }
}
