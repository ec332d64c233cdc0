//! Bessel functions over ranges with two ends and next to 0.
//!
//! J_n(s) = 1/pi int_0^pi cos(n theta - s sin theta) dtheta for whole n >= 0, so that no derivative exceeds 1. For nu > -1/2 Poisson's integral
//! makes s^-nu J_nu(s) a mean of cos(s t) with positive weights (G. N. Watson, *A Treatise on the Theory of Bessel Functions*, sections 2.2 and 3.3). So none of its derivatives
//! exceeds c = 2^-nu/Gamma(nu + 1), its value at 0, and c (1 - s^2/(4 (nu + 1))) <= s^-nu J_nu(s) <= c near 0. With derivatives of at most c the Taylor coefficients
//! of a function of u are at most those of c exp(U), U with the magnitudes of u's coefficients.

use super::super::interval::Interval;
use super::{Jet, SLACK, Span, TERMS};
use crate::longman::special::{BESSEL_EPSILONS, bessel_j};

/// Slack of powers and gamma functions.
const SLACK_POWER: f64 = 1e-12;

/// Largest order: beyond, the bounds by c tell nothing and the gamma function overflows.
const MOST_ORDER: f64 = 100.0;

impl Jet {
    /// J_nu of this function, where that is above 0, and `order` a number; unknown otherwise.
    pub(crate) fn bessel_j(&self, order: &Self, span: &Span) -> Self {
        let nu = order.value.lo;
        let known = order.is_constant() && nu == order.value.hi && nu > -0.5 && nu <= MOST_ORDER;
        if self.value.lo <= 0.0 || !known {
            return Self::unknown(span);
        }
        // Next to 0 a multiple of x has a power of x.
        if self.exponent == -1.0 && self.degree <= 1 {
            return self.bessel_j_below(nu);
        }
        // Next to 0 a sum with a number above 0 is bounded, and so is its value.
        let bounded = self.exponent == 0.0 && span.order == 0 && self.value.is_finite();
        if span.ratio.is_infinite() && !bounded {
            return Self::unknown(span);
        }
        let s = self.values(span);
        let whole = nu == nu.floor();
        // The function with bounded derivatives, the bound, and the power of s that it lacks.
        let (bound, power) = if whole { (1.0, 0.0) } else { (scale(nu), nu) };
        let (middle, radius) = s.middle();
        let lacks = middle.powf(-power);
        let at = bessel_j(nu, middle) * lacks;
        // Its own error is one of the amplitude.
        let noise = (BESSEL_EPSILONS * f64::EPSILON + SLACK_POWER * at.abs()) * (1.0 + lacks);
        let slack = bound * radius + noise;
        let value = Interval::new((at - slack).max(-bound), (at + slack).min(bound));
        let mut y = Self::constant(value);
        y.degree = span.order;
        // Coefficients of bound exp(U).
        let scale = span.power(self.exponent).hi;
        let size = |j: usize| (self.mid[j].abs() + self.rad[j]) * scale;
        let mut most = [bound; TERMS];
        for k in 1..=span.order {
            let terms = (1..=k.min(self.degree)).map(|j| j as f64 * size(j) * most[k - j]);
            most[k] = terms.sum::<f64>() / k as f64 * SLACK;
            y.rad[k] = most[k] + f64::MIN_POSITIVE;
        }
        if whole {
            return y;
        }
        self.power(&Self::constant(Interval::point(nu)), span)
            .times(&y, span)
    }

    /// The same next to 0, where the function is a power of x; of its derivatives nothing is said.
    fn bessel_j_below(&self, nu: f64) -> Self {
        let s = self.value.hi;
        let least = 1.0 - 0.25 * s * s / (nu + 1.0) - SLACK_POWER;
        if s * s > 2.0 * (nu + 1.0) {
            let mut y = Self::constant(Interval::new(-1.0, 1.0));
            if nu < 0.0 {
                y.set_value(Interval::ALL);
            }
            return y.without_derivatives();
        }
        let size = scale(nu);
        let power = self.value.powf(Interval::point(nu));
        let factor = Interval::new(
            least * size * (1.0 - SLACK_POWER),
            size * (1.0 + SLACK_POWER),
        );
        let mut y = Self::constant(power * factor);
        y.exponent = -nu;
        y.without_derivatives()
    }

    fn without_derivatives(mut self) -> Self {
        self.degree = TERMS - 1;
        self.rad[1..].fill(f64::INFINITY);
        self
    }
}

/// 2^-nu/Gamma(nu + 1)
fn scale(nu: f64) -> f64 {
    0.5_f64.powf(nu) / libm::tgamma(nu + 1.0) * (1.0 + SLACK_POWER)
}
