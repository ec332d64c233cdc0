//! Differences of exponentials, whose intervals would lose all digits where both are near each other: exp(u) - exp(v) = exp(v) w phi(w), w = u - v,
//! phi(w) = (exp(w) - 1)/w.

use super::super::interval::Interval;
use super::{Jet, SLACK, Span, TERMS};

/// Terms of the series of phi; with |w| at most 1 the rest is below the sum of 1/k! from there on.
const SERIES: u32 = 20;

impl Jet {
    /// Remembers that it is sign exp(argument).
    pub(super) fn of_exponent(mut self, sign: f64, argument: Self) -> Self {
        self.exponential = Some(Box::new((sign, argument)));
        self
    }

    /// The sign and the logarithm of an exponential, or of the numbers 1 and -1.
    fn exponential(&self) -> Option<(f64, Self)> {
        if let Some(exponential) = &self.exponential {
            return Some((**exponential).clone());
        }
        let unit = self.is_constant() && self.value.lo.abs() == 1.0;
        (unit && self.value.lo == self.value.hi)
            .then(|| (self.value.lo, Self::constant(Interval::ZERO)))
    }

    /// The sum of two exponentials of opposite signs that are near each other.
    pub(super) fn difference_of_exponentials(&self, other: &Self, span: &Span) -> Option<Self> {
        if self.exponential.is_none() && other.exponential.is_none() {
            return None;
        }
        let ((sign, u), (other_sign, v)) = (self.exponential()?, other.exponential()?);
        if sign == other_sign {
            return None;
        }
        let w = u.minus(&v, span);
        let small = w.clone().carried(span, 0.0);
        // By Cauchy's bound each coefficient of a power of w is at most that power of this.
        let size: f64 = (0..=span.order)
            .map(|k| small.mid[k].abs() + small.rad[k])
            .sum();
        if size.is_nan() || size > 1.0 {
            return None;
        }
        let mut phi = Self::constant(Interval::ZERO);
        for k in (1..=SERIES).rev() {
            let one = Self::constant(Interval::ONE);
            // phi = 1 + w/2 (1 + w/3 (1 + ...))
            phi = if k == SERIES {
                one
            } else {
                let part = Interval::point(f64::from(k + 1)).recip();
                one.plus(&small.times(&phi, span).scaled(part), span)
            };
        }
        let rest = 2.0 / (1..=SERIES).map(|k| f64::from(k + 1)).product::<f64>();
        phi.degree = span.order;
        phi.set_value(phi.value + Interval::new(-rest, rest));
        for k in 1..TERMS.min(span.order + 1) {
            phi.rad[k] = (phi.rad[k] + rest) * SLACK;
        }
        let v = if v.is_zero() {
            Self::constant(Interval::ONE)
        } else {
            v.exp(span)
        };
        let found = v.times(&w.times(&phi, span), span);
        Some(if sign < 0.0 { found.negated() } else { found })
    }
}
