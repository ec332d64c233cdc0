//! Sums of powers of x, ln x and ln ln x at infinity, up to a remainder: the asymptotic scale in which [`limit`](super::limit) computes.

use std::cmp::Ordering;

/// Terms of a sum at most.
const TERMS: usize = 4;

/// Part of two coefficients below which their difference is roundoff.
const CANCELLED: f64 = 1e-12;

/// x^p (ln x)^q (ln ln x)^r.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) struct Order(pub(super) [f64; 3]);

impl Order {
    pub(super) const ONE: Self = Self([0.0; 3]);
    pub(super) const X: Self = Self([1.0, 0.0, 0.0]);
    /// Below every power.
    pub(super) const NOTHING: Self = Self([f64::NEG_INFINITY, 0.0, 0.0]);

    pub(super) fn compare(self, other: Self) -> Ordering {
        let pairs = self.0.iter().zip(&other.0);
        pairs
            .map(|(a, b)| a.total_cmp(b))
            .find(|order| order.is_ne())
            .unwrap_or(Ordering::Equal)
    }

    pub(super) fn is_below(self, other: Self) -> bool {
        self.compare(other).is_lt()
    }

    pub(super) fn larger(self, other: Self) -> Self {
        if self.is_below(other) { other } else { self }
    }

    pub(super) fn times(self, other: Self) -> Self {
        Self(std::array::from_fn(|i| self.0[i] + other.0[i] + 0.0))
    }

    pub(super) fn power(self, exponent: f64) -> Self {
        Self(
            self.0
                .map(|p| if p == 0.0 { 0.0 } else { exponent * p + 0.0 }),
        )
    }
}

/// c times an order.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) struct Term {
    pub(super) factor: f64,
    pub(super) order: Order,
}

/// Terms by falling order, and the order of what they leave; none of a sum that is exact.
#[derive(Clone, Debug, Default, PartialEq)]
pub(super) struct Series {
    pub(super) terms: Vec<Term>,
    pub(super) rest: Option<Order>,
}

impl Series {
    pub(super) fn term(factor: f64, order: Order) -> Self {
        Self {
            terms: vec![Term { factor, order }],
            rest: None,
        }
        .tidy()
    }

    pub(super) fn number(factor: f64) -> Self {
        Self::term(factor, Order::ONE)
    }

    /// The largest term.
    pub(super) fn lead(&self) -> Option<Term> {
        self.terms.first().copied()
    }

    /// The number that it is, if it does not depend on x.
    pub(super) fn constant(&self) -> Option<f64> {
        match (&self.terms[..], self.rest) {
            ([], None) => Some(0.0),
            ([term], None) if term.order == Order::ONE => Some(term.factor),
            _ => None,
        }
    }

    /// Adds something of which only the order is known.
    pub(super) fn with_rest(mut self, rest: Order) -> Self {
        self.rest = Some(self.rest.map_or(rest, |known| known.larger(rest)));
        self.tidy()
    }

    fn tidy(mut self) -> Self {
        if self.terms.iter().any(|term| !term.factor.is_finite()) {
            // A factor that is no number says nothing of any order.
            return Self {
                terms: Vec::new(),
                rest: Some(Order([f64::INFINITY, 0.0, 0.0])),
            };
        }
        self.terms.sort_by(|a, b| b.order.compare(a.order));
        let mut terms: Vec<Term> = Vec::with_capacity(self.terms.len());
        let mut sizes: Vec<f64> = Vec::with_capacity(self.terms.len());
        for term in self.terms {
            match (terms.last_mut(), sizes.last_mut()) {
                (Some(last), Some(size)) if last.order == term.order => {
                    last.factor += term.factor;
                    *size += term.factor.abs();
                }
                _ => {
                    terms.push(term);
                    sizes.push(term.factor.abs());
                }
            }
        }
        let mut kept = Vec::with_capacity(TERMS);
        let mut rest = self.rest;
        for (term, size) in terms.into_iter().zip(sizes) {
            if term.factor == 0.0 || rest.is_some_and(|rest| !rest.is_below(term.order)) {
                continue;
            }
            // Whether it is zero is not known.
            if kept.len() == TERMS || term.factor.abs() < CANCELLED * size {
                rest = Some(rest.map_or(term.order, |rest| rest.larger(term.order)));
                continue;
            }
            kept.push(term);
        }
        Self { terms: kept, rest }
    }

    pub(super) fn plus(&self, other: &Self) -> Self {
        let mut sum = self.clone();
        sum.terms.extend_from_slice(&other.terms);
        match other.rest {
            Some(rest) => sum.with_rest(rest),
            None => sum.tidy(),
        }
    }

    pub(super) fn scaled(&self, by: f64) -> Self {
        let mut scaled = self.clone();
        for term in &mut scaled.terms {
            term.factor *= by;
        }
        scaled.tidy()
    }

    /// The largest order of it; none of zero.
    pub(super) fn order(&self) -> Option<Order> {
        self.lead().map(|term| term.order).or(self.rest)
    }

    pub(super) fn times(&self, other: &Self) -> Self {
        let mut product = Self::default();
        for a in &self.terms {
            product.terms.extend(other.terms.iter().map(|b| Term {
                factor: a.factor * b.factor,
                order: a.order.times(b.order),
            }));
        }
        let rests = [(self.rest, other.order()), (other.rest, self.order())];
        for (rest, order) in rests {
            if let (Some(rest), Some(order)) = (rest, order) {
                let rest = rest.times(order);
                product.rest = Some(product.rest.map_or(rest, |known| known.larger(rest)));
            }
        }
        product.tidy()
    }

    /// The largest term, and what all of them are over it, less 1; none of what has no largest term.
    pub(super) fn split(&self) -> Option<(Term, Self)> {
        let lead = self.lead()?;
        let mut small = Self {
            terms: self.terms[1..].to_vec(),
            rest: self.rest,
        };
        let inverse = lead.order.power(-1.0);
        for term in &mut small.terms {
            term.factor /= lead.factor;
            term.order = term.order.times(inverse);
        }
        small.rest = small.rest.map(|rest| rest.times(inverse));
        Some((lead, small.tidy()))
    }

    /// The terms of which this holds, and the others.
    pub(super) fn parts(&self, holds: impl Fn(Order) -> bool) -> (Self, Self) {
        let (terms, others) = self.terms.iter().partition(|term| holds(term.order));
        let first = Self { terms, rest: None };
        let second = Self {
            terms: others,
            rest: self.rest,
        };
        (first, second)
    }

    /// c_0 + c_1 s + c_2 s^2 + c_3 s^3 + O(s^4) of this, which goes to zero; only `known` of the factors.
    pub(super) fn substituted(&self, factors: &[f64]) -> Self {
        let Some(order) = self.order() else {
            return Self::number(factors.first().copied().unwrap_or(0.0));
        };
        let mut sum = Self::default();
        for factor in factors.iter().rev() {
            sum = sum.times(self).plus(&Self::number(*factor));
        }
        sum.with_rest(order.power(factors.len() as f64))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn differences_keep_the_next_order() {
        // sqrt(1 + s) - 1 = s/2 - s^2/8 + ..., s = 3/x
        let s = Series::term(3.0, Order([-1.0, 0.0, 0.0]));
        let root = s.substituted(&[1.0, 0.5, -0.125, 0.0625]);
        let found = root.plus(&Series::number(-1.0)).lead().unwrap();
        assert_eq!(found.factor, 1.5);
        assert_eq!(found.order, Order([-1.0, 0.0, 0.0]));
        // Terms that cancel to roundoff are unknown.
        let sum = Series::number(0.1).plus(&Series::number(0.2));
        let found = sum.plus(&Series::number(-0.3));
        assert_eq!((found.lead(), found.rest), (None, Some(Order::ONE)));
    }
}
