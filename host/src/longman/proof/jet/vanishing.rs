//! Functions f with f(0) = 0 of what falls to zero like a power: f(u) = u (f(u)/u) falls like u, where an interval of its values would only hold zero.

use super::super::interval::Interval;
use super::{Jet, Span, derivative_dot};

/// Largest argument: below, f(u)/u has no extreme but at 0, for the sine too.
const MOST: f64 = 3.0;

/// Relative slack of two functions and a quotient.
const SLACK: f64 = 16.0 * f64::EPSILON;

impl Jet {
    /// Whether it falls to zero over a range without end.
    pub(super) fn vanishes(&self, span: &Span) -> bool {
        span.ratio.is_infinite()
            && self.exponent < 0.0
            && self.value.magnitude() < MOST
            && self.value.lo > -1.0
    }

    /// f(u), where the quotient f(u)/u is monotone in u or in |u|, f' (u) is `derivative`, and f'(0) is `slope`.
    pub(super) fn vanishing(
        &self,
        derivative: &Self,
        slope: f64,
        f: impl Fn(f64) -> f64,
        span: &Span,
    ) -> Option<Self> {
        if !self.vanishes(span) || derivative.exponent != 0.0 {
            return None;
        }
        let quotient = |u: f64| if u == 0.0 { slope } else { f(u) / u };
        let ends = [quotient(self.value.lo), quotient(self.value.hi), slope];
        let least = ends.iter().copied().fold(f64::INFINITY, f64::min);
        let most = ends.iter().copied().fold(0.0, f64::max);
        if !(least > 0.0 && most < f64::INFINITY) {
            return None;
        }
        let mut y =
            Self::constant(self.value * Interval::new(least * (1.0 - SLACK), most * (1.0 + SLACK)));
        y.exponent = self.exponent;
        y.degree = span.order;
        for k in 1..=span.order {
            (y.mid[k], y.rad[k]) = derivative_dot(self, derivative, k);
        }
        Some(y)
    }
}
