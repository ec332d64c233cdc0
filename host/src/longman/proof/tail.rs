//! The tail int_X^inf g(x) osc(omega x) dx from the derivatives of g at X, and a bound on what they leave.

use std::f64::consts::FRAC_2_PI;

use super::function::Function;
use super::jet::{Jet, Span, TERMS};
use crate::longman::oscillator::Oscillator;
use crate::longman::special::{BESSEL_EPSILONS, bessel_j};

/// Highest derivative for cosine and sine, and for Bessel functions, whose coefficients grow like 2^m m!.
const ORDERS: [usize; 2] = [12, 16];

/// Ranges that are looked at for one integral.
const BUDGET: u32 = 160;

/// Factor by which an unbounded range moves outwards, and ranges grow inwards.
const STRIDE: f64 = 16.0;

/// Ranges narrower than this phase are not divided.
const NARROW: f64 = 4.0;

/// Ratio of the ends of a range below which no further range is added.
const SHORT: f64 = 1.02;

/// A bound for each order.
type Bounds = [f64; TERMS];

/// The oscillator of a tail.
#[derive(Clone, Debug)]
pub(crate) struct Wave {
    oscillator: Oscillator,
    omega: f64,
    order: usize,
    /// Row m: the factors of x^k g^(k)/k! in the function whose integral remains after m steps.
    rows: Vec<[f64; TERMS]>,
}

/// From where on a tail is known by its derivatives there.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) struct Reach {
    pub(crate) from: f64,
    /// Order of the remainder, which is below `remainder`.
    pub(crate) order: usize,
    pub(crate) remainder: f64,
}

/// A tail, and what it may be off by.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) struct Tail {
    pub(crate) value: f64,
    pub(crate) error: f64,
}

impl Wave {
    pub(crate) fn new(oscillator: Oscillator, omega: f64) -> Self {
        let order = match oscillator {
            Oscillator::Cos | Oscillator::Sin => ORDERS[0],
            Oscillator::BesselJ(_) => ORDERS[1],
        };
        Self {
            oscillator,
            omega,
            order,
            rows: rows(oscillator, order),
        }
    }

    fn span(&self, start: f64, ratio: f64) -> Span {
        Span {
            start,
            ratio,
            order: self.order,
        }
    }

    /// Bounds on the remainders over a range.
    fn bounds(&self, jet: &Jet, span: &Span, vanishes: bool) -> Bounds {
        let mut bounds = [f64::INFINITY; TERMS];
        let e = jet.exponent();
        if jet.is_zero() {
            return [0.0; TERMS];
        }
        // Terms at infinity vanish where g does, or g over the root of x; between g and a bounded derivative all others do (Landau's inequality).
        let falls = match self.oscillator {
            Oscillator::BesselJ(_) => e < 0.5,
            Oscillator::Cos | Oscillator::Sin => e < 0.0,
        };
        if span.ratio.is_infinite() && !falls && !vanishes {
            return bounds;
        }
        let phase = self.omega * span.start;
        for (m, row) in self.rows.iter().enumerate() {
            let (mut sum, mut rest, mut size) = (0.0, 0.0, 0.0);
            for (k, factor) in row[..=m].iter().enumerate() {
                let (mid, rad) = jet.coefficient(k);
                sum += factor * mid;
                size += (factor * mid).abs();
                rest += if *factor == 0.0 {
                    0.0
                } else {
                    factor.abs() * rad
                };
            }
            let most = sum.abs() + rest + 1e-14 * size;
            let scale = span.start * phase.powi(-(m as i32)) * self.envelope(m, phase);
            let bound = most * scale * range_integral(e - m as f64, span.ratio) * (1.0 + 1e-9);
            bounds[m] = if bound < f64::INFINITY {
                bound
            } else {
                f64::INFINITY
            };
        }
        bounds
    }

    /// Largest magnitude of what multiplies the remainder of order m beyond a phase.
    ///
    /// |J_mu(s)| <= 1, and (s^2 - mu^2)^(1/4) |J_mu(s)| <= (2/pi)^(1/2) for s > |mu| (G. N. Watson, *A Treatise on the Theory of Bessel Functions*,
    /// section 13.74).
    fn envelope(&self, m: usize, phase: f64) -> f64 {
        match self.oscillator {
            Oscillator::Cos | Oscillator::Sin => 1.0,
            Oscillator::BesselJ(nu) => {
                let order = nu + m as f64;
                if phase > 2.0 * order.abs() + 2.0 {
                    (FRAC_2_PI / ((phase - order) * (phase + order)).sqrt())
                        .sqrt()
                        .min(1.0)
                } else {
                    1.0
                }
            }
        }
    }

    /// The place nearest to `from` beyond which the remainder of some order is below `target`, if there is one. `vanishes` says that g is known to go to
    /// zero.
    ///
    /// The unbounded range is moved outwards until it meets the target. From there inwards ranges are added, and divided at their outer end, so that the
    /// search ends at the outermost feature of g.
    pub(crate) fn reach(
        &self,
        g: &mut Function<'_>,
        (from, target): (f64, f64),
        vanishes: bool,
    ) -> Option<Reach> {
        let mut spent = 0;
        let mut look = |start: f64, ratio: f64| {
            spent += 1;
            let span = self.span(start, ratio);
            (self.bounds(g.over(&span), &span, vanishes), spent >= BUDGET)
        };
        let mut edge = from;
        let mut known = loop {
            let (bounds, _) = look(edge, f64::INFINITY);
            // Ranges that follow need their part.
            let part = if edge > from { 0.5 } else { 1.0 };
            if least(&bounds).1 <= part * target {
                break bounds;
            }
            edge *= STRIDE;
            if edge > from * FARTHEST || !edge.is_finite() {
                return None;
            }
        };
        let found = |from: f64, known: &Bounds| {
            let (order, remainder) = least(known);
            Some(Reach {
                from,
                order,
                remainder,
            })
        };
        let mut stride = STRIDE;
        while edge > from {
            let mut low = (edge / stride).max(from);
            loop {
                let (bounds, exhausted) = look(low, edge / low);
                let mut sum = known;
                for (sum, bound) in sum.iter_mut().zip(bounds) {
                    *sum += bound;
                }
                let part = if low > from { 0.75 } else { 1.0 };
                if least(&sum).1 <= part * target {
                    known = sum;
                    let ratio = edge / low;
                    stride = ratio.powi(2).min(STRIDE);
                    edge = low;
                    // Steps that become shorter and shorter lead nowhere.
                    if edge > from && (exhausted || ratio < SHORT) {
                        return found(edge, &known);
                    }
                    break;
                }
                if exhausted || (edge - low) * self.omega < NARROW {
                    return found(edge, &known);
                }
                low = (low * edge).sqrt();
            }
        }
        found(from, &known)
    }

    /// Whether the function is seen to have no pole in a range.
    pub(crate) fn bounded(&self, g: &mut Function<'_>, (from, to): (f64, f64)) -> bool {
        let mut parts = vec![(from, to)];
        for _ in 0..BUDGET {
            let Some((low, high)) = parts.pop() else {
                return true;
            };
            let span = Span {
                start: low,
                ratio: (high / low).next_up(),
                order: 0,
            };
            if !g.over(&span).values(&span).is_finite() {
                let middle = (low * high).sqrt();
                parts.extend([(middle, high), (low, middle)]);
            }
        }
        parts.is_empty()
    }

    /// The tail beyond a zero of the oscillator, after which it has this sign (1 for Bessel functions); the zero is at or beyond `reach`.
    pub(crate) fn tail(
        &self,
        g: &mut Function<'_>,
        (zero, sign): (f64, f64),
        reach: &Reach,
    ) -> Tail {
        let omega = self.omega;
        let span = self.span(zero / omega, 1.0);
        let jet = g.over(&span);
        let (mut value, mut error) = (0.0_f64, reach.remainder);
        for j in 0..reach.order {
            let (factor, noise) = match self.oscillator {
                Oscillator::BesselJ(nu) => {
                    let f = -bessel_j(nu + j as f64 + 1.0, zero);
                    (
                        f,
                        BESSEL_EPSILONS * f64::EPSILON * self.envelope(j + 1, zero),
                    )
                }
                _ if j % 2 == 1 => (0.0, 0.0),
                _ => (if j % 4 == 0 { sign } else { -sign }, 0.0),
            };
            let (mut term, mut rest) = (0.0, 0.0);
            for (k, weight) in self.rows[j][..=j].iter().enumerate() {
                let (mid, rad) = jet.coefficient(k);
                term += weight * mid;
                rest += if *weight == 0.0 {
                    0.0
                } else {
                    weight.abs() * (rad + 1e-15 * mid.abs())
                };
            }
            let scale = zero.powi(-(j as i32)) / omega;
            let size = term.abs() * scale;
            value += factor * term * scale;
            error += (factor.abs() * rest + noise * (term.abs() + rest)) * scale;
            // The abscissa of the zero is rounded.
            error += 2.0 * f64::EPSILON * (j as f64 + 1.0) * size;
        }
        Tail { value, error }
    }
}

/// Farthest that an unbounded range is moved outwards.
const FARTHEST: f64 = 1e18;

/// The order with the smallest bound.
fn least(bounds: &Bounds) -> (usize, f64) {
    let all = bounds.iter().copied().enumerate();
    all.fold((0, f64::INFINITY), |best, next| {
        if next.1 < best.1 { next } else { best }
    })
}

/// Integral of t^p from 1 to r, from above.
fn range_integral(p: f64, ratio: f64) -> f64 {
    let power = p + 1.0;
    if ratio == 1.0 {
        return 0.0;
    }
    if ratio.is_infinite() {
        return if power < 0.0 {
            -1.0 / power
        } else {
            f64::INFINITY
        };
    }
    let logarithm = ratio.ln();
    if (power * logarithm).abs() < 1e-8 {
        logarithm * (1.0 + 1e-7)
    } else {
        (power * logarithm).exp_m1() / power
    }
}

/// The rows of [`Wave`].
///
/// Cosine and sine from a zero on: int g sin(x - X) = g(X) - g''(X) + g''''(X) - ..., and the remainder of order m is at most int |g^(m)|.
/// For J_nu, with d/ds(s^(nu+1) J_(nu+1)) = s^(nu+1) J_nu, each integration by parts makes g_(j+1) = -(g_j' - (nu + j + 1) g_j/s) of g_j:
/// int_Z^inf g J_nu = -sum_(j<m) g_j(Z) J_(nu+j+1)(Z) + int_Z^inf g_m J_(nu+m). With G_j = s^j g_j and D = s d/ds this is
/// G_(j+1) = (nu + 2j + 1 - D) G_j, and D s^k g^(k) = k s^k g^(k) + s^(k+1) g^(k+1).
fn rows(oscillator: Oscillator, order: usize) -> Vec<[f64; TERMS]> {
    let mut rows = vec![[0.0; TERMS]; order + 1];
    rows[0][0] = 1.0;
    for j in 0..order {
        for k in 0..=j + 1 {
            let before = if k > 0 { rows[j][k - 1] } else { 0.0 };
            rows[j + 1][k] = match oscillator {
                Oscillator::BesselJ(nu) => {
                    (nu + (2 * j + 1) as f64 - k as f64) * rows[j][k] - before
                }
                _ => before,
            };
        }
    }
    for row in &mut rows {
        let mut factorial = 1.0;
        for (k, weight) in row.iter_mut().enumerate() {
            factorial *= k.max(1) as f64;
            *weight *= factorial;
        }
    }
    rows
}
