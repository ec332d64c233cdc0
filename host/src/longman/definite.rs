//! Integrals of functions that are enclosed in intervals: between two limits, or to infinity without an oscillator.
//!
//! A range [l, h] of width w is integrated by Gauss's rule of eight points, whose error is
//!
//! ```text
//! |E| <= w^17 (8!)^4/(17 (16!)^2) max |f^(16)|/16!,       |E| <= 4 w (w/4)^m max |f^(m)|/m!  for m < 16,
//! ```
//!
//! the second by the Chebyshev polynomial nearest to f, the weights being positive. Both maxima are those of Taylor coefficients in intervals
//! ([`jet`](super::proof::jet)). Next to 0 and to infinity f = t^e h with h in [lo, hi] encloses the integral by that of the power. The worst range is divided until
//! the sum of the bounds meets the tolerance. So value and error are an enclosure, but for the roundoff of f, which running error analysis bounds.

use std::cmp::Ordering;
use std::collections::BinaryHeap;
use std::sync::OnceLock;

use rarefy_kernels::longman::{Accelerator, Status};

use super::driver::{Integral, Unproven};
use super::expression::{Evaluator, Program};
use super::proof::Proof;
use super::proof::function::Function;
use super::proof::interval::Interval;
use super::proof::jet::Span;
use super::quadrature::{Rule, gauss};
use crate::error::Result;

/// Points of the rule, and the derivative of its error.
const POINTS: usize = 8;
const ORDER: usize = 2 * POINTS;

/// (8!)^4/(17 (16!)^2)
const GAUSS_ERROR: f64 = 3.552e-10;

/// Factor by which the ranges next to 0 and to infinity move.
const STRIDE: f64 = 16.0;

/// Nearest to 0 and farthest out that ranges go.
const NEAREST: f64 = 1e-290;
const FARTHEST: f64 = 1e290;

/// Ranges that are looked at for one integral, and more for each radian of its phase.
const BUDGET: usize = 4096;

/// Ranges without a bound at a time: more are a sign that dividing does not help.
const MOST_UNKNOWN: usize = 1024;

/// Part of the tolerance that all bounds together may have.
const SHARE: f64 = 0.25;

/// Units of roundoff by which weights and sums are off at most.
const SUM: f64 = 24.0;

/// A range.
#[derive(Clone, Copy, Debug, PartialEq)]
enum Range {
    /// From 0 on.
    Below(f64),
    Between(f64, f64),
    /// To infinity.
    Beyond(f64),
}

/// A range and its integral.
#[derive(Clone, Copy, Debug)]
struct Part {
    range: Range,
    value: f64,
    /// Bound on the error of the rule.
    bound: f64,
    /// Bound on the roundoff.
    roundoff: f64,
}

impl PartialEq for Part {
    fn eq(&self, other: &Self) -> bool {
        self.cmp(other) == Ordering::Equal
    }
}

impl Eq for Part {}

impl PartialOrd for Part {
    fn partial_cmp(&self, other: &Self) -> Option<Ordering> {
        Some(self.cmp(other))
    }
}

impl Ord for Part {
    fn cmp(&self, other: &Self) -> Ordering {
        self.bound.total_cmp(&other.bound)
    }
}

/// A function in numbers and in intervals.
struct Integrand<'a> {
    at: Evaluator<'a, f64>,
    over: Function<'a>,
    rule: &'static Rule,
    /// Whether it is of one sign and too large to have an integral near 0 or far out; the power of 1/x near 0.
    diverges: Option<f64>,
}

/// The integral from `from` >= 0 to `to`, which may be infinite; none if the function has operations without enclosures. `phase` is the phase that an oscillator among
/// its factors runs through. Parameters are off by at most `rounding`, which may be shorter.
///
/// # Errors
/// Another number of parameters than the program has.
pub(super) fn definite(
    program: &Program,
    (parameters, rounding): (&[f64], &[f64]),
    (from, to): (f64, f64),
    phase: f64,
    (rtol, atol): (f64, f64),
) -> Result<Option<Integral>> {
    static RULE: OnceLock<Rule> = OnceLock::new();
    let by = rounding.iter().copied().chain(std::iter::repeat(0.0));
    let around = parameters.iter().zip(by);
    let around = around.map(|(p, by)| match by {
        0.0 => Interval::point(*p),
        _ => Interval::new((p - by).next_down(), (p + by).next_up()),
    });
    let Some(over) = Function::between(program, &around.collect::<Vec<_>>()) else {
        return Ok(None);
    };
    let mut integrand = Integrand {
        at: Evaluator::with_rounded(program, parameters, rounding)?,
        over,
        rule: RULE.get_or_init(|| gauss(POINTS)),
        diverges: None,
    };
    let ranges = match (from > 0.0, to < f64::INFINITY) {
        (true, true) => vec![Range::Between(from, to)],
        (true, false) => vec![Range::Beyond(from)],
        (false, true) => vec![Range::Below(to)],
        (false, false) => vec![Range::Below(1.0), Range::Beyond(1.0)],
    };
    let most = BUDGET + (4.0 * phase).min(1e6) as usize;
    Ok(Some(integrand.integral(ranges, most, (rtol, atol))))
}

impl Integrand<'_> {
    fn integral(&mut self, ranges: Vec<Range>, most: usize, (rtol, atol): (f64, f64)) -> Integral {
        let mut parts: BinaryHeap<Part> = ranges.into_iter().map(|r| self.part(r)).collect();
        // Ranges that cannot be divided further.
        let mut ends: Vec<Part> = Vec::new();
        let mut sum = Sum::of(parts.iter());
        for count in 0..most {
            if let Some(exponent) = self.diverges {
                return divergent(exponent);
            }
            if sum.unknown > MOST_UNKNOWN {
                break;
            }
            // Sums and differences of bounds drift.
            if count % 64 == 0 {
                sum = Sum::of(parts.iter().chain(&ends));
            }
            let goal = |sum: &Sum| {
                let tolerance = SHARE * atol.max(rtol * sum.value.abs());
                tolerance.max(0.5 * sum.roundoff)
            };
            if sum.unknown == 0 && sum.bound <= goal(&sum) {
                sum = Sum::of(parts.iter().chain(&ends));
                if sum.bound <= goal(&sum) {
                    break;
                }
            }
            let Some(worst) = parts.pop() else {
                break;
            };
            let Some(pieces) = divided(worst.range) else {
                let hopeless = worst.bound > goal(&sum);
                ends.push(worst);
                if hopeless {
                    break;
                }
                continue;
            };
            sum.take(&worst);
            for range in pieces {
                let part = self.part(range);
                sum.add(&part);
                parts.push(part);
            }
            if worst.bound > 1e6 * sum.bound {
                sum = Sum::of(parts.iter().chain(&ends));
            }
        }
        if let Some(exponent) = self.diverges {
            return divergent(exponent);
        }
        let sum = Sum::of(parts.iter().chain(&ends));
        let bound = (sum.bound + sum.roundoff) * (1.0 + 1e-9);
        let known = sum.unknown == 0 && sum.size.is_finite() && bound < f64::INFINITY;
        let error = if known { bound } else { f64::INFINITY };
        let integral = Integral {
            value: if known { sum.value } else { f64::NAN },
            error,
            status: Status::NotConverged,
            accelerator: Accelerator::None,
            condition: sum.size / sum.value.abs(),
            unproven: (!known).then_some(Unproven::Range),
            ..Integral::without_value(Status::NotConverged)
        };
        if known && error <= atol.max(rtol * sum.value.abs()) {
            Integral {
                status: Status::Ok,
                proof: Proof::Monotone,
                examined: f64::INFINITY,
                ..integral
            }
        } else {
            integral
        }
    }

    fn part(&mut self, range: Range) -> Part {
        let (value, bound, roundoff) = match range {
            Range::Below(end) => self.power(end, true),
            Range::Beyond(start) => self.power(start, false),
            Range::Between(low, high) => self.between(low, high),
        };
        let known = bound < f64::INFINITY && value.is_finite();
        Part {
            range,
            value: if known { value } else { 0.0 },
            bound: if known { bound } else { f64::INFINITY },
            roundoff: if known { roundoff } else { 0.0 },
        }
    }

    /// The integral below or beyond x, where the function is t^e h(x), t = x/start or end/x.
    fn power(&mut self, x: f64, below: bool) -> (f64, f64, f64) {
        let span = Span {
            start: x,
            ratio: f64::INFINITY,
            order: 0,
        };
        let jet = if below {
            self.over.below(&span)
        } else {
            self.over.over(&span)
        };
        if jet.is_zero() {
            return (0.0, 0.0, 0.0);
        }
        let (e, h) = (jet.exponent(), jet.factor());
        let room = if below { 1.0 - e } else { -1.0 - e };
        if room <= 0.0 {
            if h.is_finite() && !h.contains(0.0) {
                self.diverges = Some(if below { e } else { f64::NAN });
            }
            return (0.0, f64::INFINITY, 0.0);
        }
        let whole = h * (Interval::point(x) * Interval::point(room).recip());
        let (value, bound) = whole.middle();
        (value, bound * (1.0 + 1e-12), 0.0)
    }

    fn between(&mut self, low: f64, high: f64) -> (f64, f64, f64) {
        let width = high - low;
        let span = Span {
            start: low,
            ratio: (high / low).next_up(),
            order: ORDER,
        };
        let jet = self.over.over(&span);
        if jet.is_zero() {
            return (0.0, 0.0, 0.0);
        }
        let e = jet.exponent();
        let values = jet.values(&span);
        // f^(k)/k! is t^(e-k) times a number of its interval, over start^k.
        let coefficient = |k: usize| {
            let (mid, rad) = jet.coefficient(k);
            (mid.abs() + rad) * span.power(e - k as f64).hi.max(1.0)
        };
        let relative = width / low;
        let mut bound = width * (values.hi - values.lo);
        for m in 1..ORDER {
            bound = bound.min(4.0 * width * (0.25 * relative).powi(m as i32) * coefficient(m));
        }
        let last = GAUSS_ERROR * width * relative.powi(ORDER as i32) * coefficient(ORDER);
        let bound = bound.min(last) * (1.0 + 1e-9);
        if bound.is_nan() || bound == f64::INFINITY {
            return (0.0, f64::INFINITY, 0.0);
        }
        let (middle, half) = (low + 0.5 * width, 0.5 * width);
        let (mut sum, mut noise, mut size) = (0.0, 0.0, 0.0);
        for (node, weight) in self.rule.nodes.iter().zip(&self.rule.weights) {
            let (f, error) = self.at.with_error(middle + half * node);
            sum += weight * f;
            size += weight * f.abs();
            // The place of the node is rounded, too.
            noise += 3.0 * weight * error;
        }
        let roundoff = half * (noise + SUM * f64::EPSILON * size);
        if sum.is_finite() && roundoff.is_finite() {
            return (half * sum, bound, roundoff);
        }
        // Where numbers overflow the intervals still bound the function.
        let (value, bound) = (values * Interval::point(width)).middle();
        (value, bound, 0.0)
    }
}

/// An integral that diverges at 0, like this power of 1/x, or else at infinity.
fn divergent(exponent: f64) -> Integral {
    let singular = Unproven::Singular {
        place: 0.0,
        exponent,
    };
    Integral {
        unproven: (!exponent.is_nan()).then_some(singular),
        ..Integral::without_value(Status::PremiseViolated)
    }
}

/// A sum over ranges.
#[derive(Default)]
struct Sum {
    value: f64,
    size: f64,
    bound: f64,
    roundoff: f64,
    /// Ranges without a bound.
    unknown: usize,
}

impl Sum {
    fn of<'a>(parts: impl Iterator<Item = &'a Part>) -> Self {
        let mut sum = Self::default();
        for part in parts {
            sum.add(part);
        }
        sum.roundoff += SUM * f64::EPSILON * sum.size;
        sum
    }

    fn add(&mut self, part: &Part) {
        self.change(part, 1.0);
        self.unknown += usize::from(part.bound == f64::INFINITY);
    }

    fn take(&mut self, part: &Part) {
        self.change(part, -1.0);
        self.unknown -= usize::from(part.bound == f64::INFINITY);
    }

    fn change(&mut self, part: &Part, sign: f64) {
        self.value += sign * part.value;
        self.size += sign * part.value.abs();
        self.roundoff += sign * part.roundoff;
        if part.bound < f64::INFINITY {
            self.bound += sign * part.bound;
        }
    }
}

/// Two parts of a range, if there are any.
fn divided(range: Range) -> Option<[Range; 2]> {
    match range {
        Range::Below(end) => {
            let inner = end / STRIDE;
            (inner > NEAREST).then_some([Range::Below(inner), Range::Between(inner, end)])
        }
        Range::Beyond(start) => {
            let outer = start * STRIDE;
            (outer < FARTHEST).then_some([Range::Between(start, outer), Range::Beyond(outer)])
        }
        Range::Between(low, high) => {
            let middle = if high > 4.0 * low {
                (low * high).sqrt()
            } else {
                low + 0.5 * (high - low)
            };
            let wide = high - low > 64.0 * f64::EPSILON * high;
            wide.then_some([Range::Between(low, middle), Range::Between(middle, high)])
        }
    }
}

#[cfg(test)]
mod tests {
    use std::f64::consts::PI;

    use super::*;

    fn found(text: &str, limits: (f64, f64)) -> Integral {
        let program = Program::parse(text).unwrap();
        let found = definite(&program, (&[], &[]), limits, 0.0, (1e-10, 0.0)).unwrap();
        found.unwrap()
    }

    /// Closed forms.
    #[test]
    fn integrals_have_their_closed_forms() {
        let inf = f64::INFINITY;
        for (text, limits, right) in [
            ("exp(-x)", (0.0, inf), 1.0),
            ("1/(1+x^2)", (0.0, inf), PI / 2.0),
            ("exp(-x)/sqrt(x)", (0.0, inf), PI.sqrt()),
            ("x^(-0.9)", (0.0, 1.0), 10.0),
            ("x^(-1.1)", (1.0, inf), 10.0),
            ("ln(x)", (0.0, 1.0), -1.0),
            ("ln(x)/x^2", (1.0, inf), 1.0),
            ("sin(x)/x", (0.0, PI), 1.851_937_051_982_466),
            ("exp(-x^2)", (0.0, 5.0), 0.886_226_925_451_395_8),
            ("cos(40*x)", (0.0, 1.0), 40f64.sin() / 40.0),
            ("abs(x-1)", (0.0, 3.0), 2.5),
            ("1+sign(x-1)", (0.0, 3.0), 4.0),
            ("x/(exp(x)-1)", (0.0, inf), PI * PI / 6.0),
            ("1/cosh(x)", (0.0, inf), PI / 2.0),
            ("besselj(1,x)", (0.0, 20.0), 1.0 - 0.167_024_664_340_583_15),
            ("besselj(1,x)/x", (0.0, 1.0), 0.479_679_824_344_826_7),
            // By mpmath's quadrature.
            (
                "besselj(0,sqrt(x^2+1))",
                (0.0, 20.0),
                0.602_889_639_070_226_5,
            ),
            (
                "besselj(1.5,sqrt(x)+1)",
                (0.0, 9.0),
                3.646_303_119_486_895_7,
            ),
            ("abs(ln(x))^(-0.3)*x", (0.0, 0.5), 0.121_667_839_369_919_94),
        ] {
            let found = found(text, limits);
            let off = (found.value - right).abs();
            assert_eq!(found.status, Status::Ok, "{text} {found:?}");
            assert!(
                off <= found.error + 1e-15 * right.abs(),
                "{text} {found:?} {right}"
            );
        }
    }

    #[test]
    fn divergence_is_refused() {
        let inf = f64::INFINITY;
        for (text, limits) in [
            ("1", (0.0, inf)),
            ("1/x", (1.0, inf)),
            ("1/x", (0.0, 1.0)),
            ("x^(-2)*exp(-x)", (0.0, inf)),
            ("x/(1+x^2)", (0.0, inf)),
        ] {
            assert_eq!(
                found(text, limits).status,
                Status::PremiseViolated,
                "{text}"
            );
        }
        for (text, limits) in [
            ("1/(x-1)", (0.0, 3.0)),
            ("cos(x)", (0.0, inf)),
            ("exp(x/2)", (0.0, inf)),
            ("1/(x-1)^2", (0.5, 3.0)),
        ] {
            let found = found(text, limits);
            assert_eq!(found.status, Status::NotConverged, "{text}");
            assert_eq!(found.error, f64::INFINITY, "{text}");
        }
    }
}
