//! The scaled complementary error function y(u) = exp(u^2) erfc(u) = 2/sqrt(pi) int_0^inf exp(-t^2 - 2 u t) dt.
//!
//! By that integral y is completely monotone, and for u > 0
//!
//! ```text
//! (-1)^k u^(k+1) y^(k)(u)/k! = 1/sqrt(pi) int_0^inf s^k/k! exp(-s - s^2/(4 u^2)) ds
//!                            = 1/sqrt(pi) (1 - (k + 1)(k + 2)/(4 u^2) + (k + 1)...(k + 4)/(2! (4 u^2)^2) - ...),
//! ```
//!
//! which grows with u, and whose partial sums lie above and below it in turn, as those of exp(-z) do. So far out the coefficients are nearly those of 1/u, and a power series
//! of u(x (1 + epsilon))/u(x) - 1 is inserted in them. y' = 2 u y - 2/sqrt(pi) is the recurrence elsewhere. Where both bounds are known the sharper one is taken.

use std::f64::consts::FRAC_2_SQRT_PI;

use super::super::interval::Interval;
use super::{Jet, SLACK, Span, UNIT, derivative_dot, dot, times};
use crate::longman::special::erfcx;

/// Argument from which on the coefficients are those of 1/u.
const LARGE: f64 = 2.0;

/// Terms of the expansion of a coefficient.
const MOST_TERMS: usize = 60;

/// Rounding of a sum of terms, in units of the sum of their magnitudes.
const ROUNDING: f64 = 1e-14;

/// 1/sqrt(pi)
const LIMIT: f64 = 0.5 * FRAC_2_SQRT_PI;

impl Jet {
    /// exp(u^2) erfc(u) of this function u.
    pub(crate) fn erfcx(&self, span: &Span) -> Self {
        let grows = self.grows(span);
        let least = self.values(span).lo;
        let far = (self.value.lo > 0.0 && self.value.is_finite() && least >= LARGE)
            .then(|| self.erfcx_far(span));
        if grows {
            return far.unwrap_or_else(|| Self::unknown(span));
        }
        let u = self.plain(span);
        let mut y = Self::constant(u.value.decreasing(erfcx));
        if u.degree == 0 {
            return y;
        }
        // w = 2 u y - 2/sqrt(pi)
        let mut w = Self::constant(Interval::ZERO);
        (y.degree, w.degree) = (span.order, span.order);
        for k in 1..=span.order {
            let last = k - 1;
            let (mid, rad) = dot(&u, &y, (0..=last).map(|i| (i, last - i, 2.0)));
            let constant = if last == 0 { FRAC_2_SQRT_PI } else { 0.0 };
            w.mid[last] = mid - constant;
            w.rad[last] = (rad + UNIT * (constant + w.mid[last].abs())) * SLACK;
            (y.mid[k], y.rad[k]) = derivative_dot(&u, &w, k);
        }
        if let Some(far) = far.map(|far| far.carried(span, 0.0)) {
            for k in 1..=span.order {
                if far.rad[k] < y.rad[k] || y.rad[k].is_nan() {
                    (y.mid[k], y.rad[k]) = (far.mid[k], far.rad[k]);
                }
            }
        }
        y
    }

    /// The same with u at least [`LARGE`], by powers of 1/u.
    fn erfcx_far(&self, span: &Span) -> Self {
        let arguments = self.values(span);
        let reciprocal = self.value.recip();
        // u(x (1 + epsilon))/u(x) - 1, whose constant term is zero.
        let mut rise = Self::constant(Interval::ZERO);
        rise.degree = self.degree;
        for k in 1..=self.degree {
            (rise.mid[k], rise.rad[k]) = times((self.mid[k], self.rad[k]), reciprocal.middle());
        }
        let factor = |k: usize| {
            let low = (LIMIT * moment(k, arguments.lo).0).max(0.0) * (1.0 - 4.0 * f64::EPSILON);
            let high = LIMIT * moment(k, arguments.hi).1 * (1.0 + 4.0 * f64::EPSILON);
            let whole = Interval::new(low, high);
            if k.is_multiple_of(2) { whole } else { -whole }
        };
        let mut sum = Self::constant(factor(span.order));
        for k in (0..span.order).rev() {
            let mut next = rise.product(&sum, Interval::ZERO, span);
            next.set_value(factor(k));
            sum = next;
        }
        if span.order > 0 && self.degree > 0 {
            sum.degree = span.order;
        }
        if span.ratio.is_finite() {
            // Over a range with two ends the value itself is known.
            let values = self.values(span).decreasing(erfcx);
            let known = values * arguments;
            let near = Interval::new(known.lo.max(sum.value.lo), known.hi.min(sum.value.hi));
            if near.is_finite() {
                sum.set_value(near);
            }
        }
        let mut y = sum.scaled(reciprocal);
        y.exponent = -self.exponent;
        y
    }
}

/// Bounds on int_0^inf s^k/k! exp(-s - s^2/(4 u^2)) ds.
fn moment(k: usize, u: f64) -> (f64, f64) {
    let step = 0.25 / u / u;
    let (mut low, mut high) = (0.0_f64, 1.0_f64);
    let (mut term, mut sum, mut size) = (1.0_f64, 1.0_f64, 1.0_f64);
    for j in 0..MOST_TERMS {
        let above = (k + 2 * j + 1) as f64 * (k + 2 * j + 2) as f64;
        let next = term * above * step / (j + 1) as f64;
        if next >= term || next.is_nan() {
            break;
        }
        size += next;
        if j % 2 == 0 {
            sum -= next;
            low = low.max(sum - ROUNDING * size);
        } else {
            sum += next;
            high = high.min(sum + ROUNDING * size);
        }
        if next < f64::EPSILON * f64::EPSILON {
            break;
        }
        term = next;
    }
    (low, high)
}

#[cfg(test)]
mod tests {
    use super::super::TERMS;
    use super::*;

    /// Derivatives over factorials by mpmath with 40 digits: taylor(lambda u: exp(u^2) erfc(u), u, 4).
    #[test]
    fn coefficients_hold_those_of_the_function() {
        let truths: [(f64, [f64; 5]); 3] = [
            (
                0.7,
                [
                    0.525_930_337_349_441,
                    -0.392_076_694_806_295_3,
                    0.251_476_650_985_034_3,
                    -0.144_028_692_744_514_2,
                    0.075_328_283_031_937_18,
                ],
            ),
            (
                3.0,
                [
                    0.179_001_151_181_389_95,
                    -0.054_372_260_007_172_87,
                    0.015_884_371_159_871_336,
                    -0.004_479_431_018_372_575,
                    0.001_223_039_052_376_805_6,
                ],
            ),
            (
                20.0,
                [
                    0.028_174_348_741_051_32,
                    -0.001_405_217_453_459_801_2,
                    6.999_967_185_529_631e-5,
                    -3.482_677_569_249_903e-6,
                    1.730_602_351_491_287_4e-7,
                ],
            ),
        ];
        for (u, coefficients) in truths {
            for ratio in [1.0_f64.next_up(), 1.5, f64::INFINITY] {
                let span = Span {
                    start: u,
                    ratio,
                    order: TERMS - 1,
                };
                let jet = Jet::variable(&span).erfcx(&span);
                for (k, truth) in coefficients.iter().enumerate() {
                    let (mid, rad) = jet.coefficient(k);
                    let right = truth * u.powi(k as i32);
                    if ratio.is_infinite() && u < LARGE {
                        assert!(rad.is_infinite() || rad.is_nan(), "{u} {k}");
                        continue;
                    }
                    assert!((right - mid).abs() <= rad, "{u} {ratio} {k} {mid} {rad}");
                    assert!(rad <= 1.0, "{u} {ratio} {k} {mid} {rad}");
                }
            }
        }
    }
}
