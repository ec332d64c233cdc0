//! exp(u^2) erfc(u) as erfcx(u): the exponential overflows where the product has digits.

use rarefy_kernels::longman::program::Operation;

use super::{Graph, Node, SCALED};

/// Factors of a product that are looked at.
const MOST_FACTORS: usize = 16;

/// A number times nodes, which ascend.
type Monomial = (f64, Vec<u32>);

impl Graph {
    /// A product or quotient with erfc(u) and exp(u^2) among its factors; the square must be that of u by its form.
    pub(super) fn scaled_error_function(
        &mut self,
        operation: Operation,
        a: u32,
        b: u32,
    ) -> Option<u32> {
        let mut factors = Vec::new();
        self.factors(a, false, &mut factors);
        self.factors(b, operation == Operation::Divide, &mut factors);
        let (error, exponential, u) = self.scaled_pair(&factors)?;
        let second = self.add(Node::Number(SCALED));
        let found = self.binary(Operation::Erfc, u, second);
        Some(self.times_others(&factors, [error, exponential], found))
    }

    /// A product with erfcx(u) and exp(v) among its factors as exp(v + u^2) erfc(u), where v and u^2 have a term in common: erfcx overflows below 0 where
    /// the product has a limit.
    pub(super) fn plain_error_function(
        &mut self,
        operation: Operation,
        a: u32,
        b: u32,
    ) -> Option<u32> {
        let mut factors = Vec::new();
        self.factors(a, false, &mut factors);
        self.factors(b, operation == Operation::Divide, &mut factors);
        let of = |graph: &Self, wanted: Operation| {
            let mut places = factors.iter().enumerate();
            places.find_map(|(place, (factor, below))| {
                let (found, u, second) = graph.applied(*factor)?;
                // erfcx has a second argument.
                let fits = found == wanted && (u != second) == (wanted == Operation::Erfc);
                (fits && !below).then_some((place, u))
            })
        };
        let (scaled, u) = of(self, Operation::Erfc)?;
        let (exponential, v) = of(self, Operation::Exp)?;
        let square = self.binary(Operation::Multiply, u, u);
        let opposite = self.minus(square);
        let (shared, exponent) = self.difference_of_monomials(v, opposite)?;
        if !shared {
            return None;
        }
        let (front, error) = (
            self.unary(Operation::Exp, exponent),
            self.unary(Operation::Erfc, u),
        );
        let found = self.product(front, error);
        Some(self.times_others(&factors, [scaled, exponential], found))
    }

    /// A node times all factors of a product but two.
    fn times_others(&mut self, factors: &[(u32, bool)], two: [usize; 2], mut found: u32) -> u32 {
        for (place, &(factor, below)) in factors.iter().enumerate() {
            if two.contains(&place) {
                continue;
            }
            found = if below {
                self.binary(Operation::Divide, found, factor)
            } else {
                self.product(factor, found)
            };
        }
        found
    }

    /// a - b, where each term is a number times nodes; and whether a term of b has become part of one of a.
    fn difference_of_monomials(&mut self, a: u32, b: u32) -> Option<(bool, u32)> {
        let mut terms = Vec::new();
        self.flatten(a, 1.0, &mut terms);
        let own = terms.len();
        self.flatten(b, -1.0, &mut terms);
        let (mut kept, mut shared) = (Vec::<Monomial>::new(), false);
        for (i, (node, factor)) in terms.into_iter().enumerate() {
            let (number, nodes) = match node {
                None => (1.0, Vec::new()),
                Some(node) => self.monomial(node)?,
            };
            let number = exact_product(number, factor)?;
            match kept.iter_mut().find(|(_, known)| *known == nodes) {
                Some((sum, _)) => {
                    *sum += number;
                    shared |= i >= own;
                }
                None => kept.push((number, nodes)),
            }
        }
        let mut sum = self.add(Node::Number(0.0));
        for (number, nodes) in kept {
            let mut term = self.add(Node::Number(number));
            for node in nodes {
                term = self.product(term, node);
            }
            sum = self.sum(sum, term);
        }
        Some((shared, sum))
    }

    /// The places of erfc(u) and of exp(u^2) or 1/exp(-u^2), and u.
    fn scaled_pair(&self, factors: &[(u32, bool)]) -> Option<(usize, usize, u32)> {
        for (error, &(factor, below)) in factors.iter().enumerate() {
            let Some((Operation::Erfc, u, second)) = self.applied(factor) else {
                continue;
            };
            if below || u != second {
                continue;
            }
            let Some(square) = self.square(u) else {
                continue;
            };
            for (exponential, &(factor, below)) in factors.iter().enumerate() {
                let Some((Operation::Exp, v, _)) = self.applied(factor) else {
                    continue;
                };
                let sign = if below { -1.0 } else { 1.0 };
                let exponent = self
                    .monomial(v)
                    .map(|(number, nodes)| (sign * number, nodes));
                if exponent.as_ref() == Some(&square) {
                    return Some((error, exponential, u));
                }
            }
        }
        None
    }

    /// The factors of a product, and whether they are divisors.
    fn factors(&mut self, node: u32, below: bool, factors: &mut Vec<(u32, bool)>) {
        match self.applied(node) {
            Some((Operation::Multiply, a, b)) if factors.len() < MOST_FACTORS => {
                self.factors(a, below, factors);
                self.factors(b, below, factors);
            }
            Some((Operation::Divide, a, b)) if factors.len() < MOST_FACTORS => {
                self.factors(a, below, factors);
                self.factors(b, !below, factors);
            }
            Some((Operation::Negate, a, _)) => {
                factors.push((self.add(Node::Number(-1.0)), false));
                self.factors(a, below, factors);
            }
            _ => factors.push((node, below)),
        }
    }

    /// A node as a number times nodes; none if the number is rounded.
    fn monomial(&self, node: u32) -> Option<Monomial> {
        if let Some(number) = self.number(node) {
            return Some((number, Vec::new()));
        }
        match self.applied(node) {
            Some((Operation::Multiply, a, b)) => {
                let ((m, mut nodes), (n, more)) = (self.monomial(a)?, self.monomial(b)?);
                nodes.extend(more);
                nodes.sort_unstable();
                Some((exact_product(m, n)?, nodes))
            }
            Some((Operation::Negate, a, _)) => {
                let (number, nodes) = self.monomial(a)?;
                Some((-number, nodes))
            }
            _ => Some((1.0, vec![node])),
        }
    }

    /// The square of a node.
    fn square(&self, node: u32) -> Option<Monomial> {
        let (number, nodes) = self.monomial(node)?;
        let mut square = (exact_product(number, number)?, Vec::new());
        for node in nodes {
            let (factor, more) = match self.applied(node) {
                Some((Operation::SquareRoot, w, _)) => self.monomial(w)?,
                _ => (1.0, vec![node, node]),
            };
            square.0 = exact_product(square.0, factor)?;
            square.1.extend(more);
        }
        square.1.sort_unstable();
        Some(square)
    }
}

/// A product of two numbers that is one itself.
fn exact_product(a: f64, b: f64) -> Option<f64> {
    let product = a * b;
    (a.mul_add(b, -product) == 0.0).then_some(product)
}
