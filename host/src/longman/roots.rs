//! Zeros of functions, each in a bracket.
//!
//! Ranges are divided until a range's interval of values excludes 0, or that of its slopes does: then the function is monotone there, and values
//! of opposite sign at both ends show one zero. Bisection narrows the bracket down to where rounding hides the sign. Values and slopes are intervals
//! ([`jet`](super::proof::jet)), signs at numbers have running error analysis. So each bracket holds a zero; zeros that are not simple, and those without end,
//! are not found, and the search says so.

use super::expression::{Evaluator, Program};
use super::proof::function::Function;
use super::proof::interval::Interval;
use super::proof::jet::{Jet, Span};
use crate::error::Result;

/// Ranges that are looked at.
const BUDGET: usize = 600;

/// Zeros at most.
const MOST: usize = 48;

/// Factor by which the ranges next to 0 and to infinity move, and the first end between them: no number that is likely to be a zero.
const STRIDE: f64 = 7.3;
const FIRST: f64 = 1.37;

/// Narrowest range, relative to its place.
const NARROWEST: f64 = 1e-13;

/// Largest error of a zero, relative to it.
const WIDEST_BRACKET: f64 = 1e-10;

/// By what a range is widened where a zero may lie at its end, relative to its place.
const WIDER: f64 = 1e-9;

/// A zero: it lies within `error` of `at`.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) struct Zero {
    pub(super) at: f64,
    pub(super) error: f64,
}

/// The zeros of a function.
#[derive(Clone, Debug, Default)]
pub(super) struct Zeros {
    pub(super) found: Vec<Zero>,
    /// Whether there are no others in the range.
    pub(super) complete: bool,
}

/// A range of positive numbers; from 0, or to infinity, where an end is one of these.
type Range = (f64, f64);

/// A function in intervals and in numbers.
struct Search<'a> {
    over: Function<'a>,
    at: Evaluator<'a, f64>,
}

/// The simple zeros of a program of x between two limits, the larger of which may be infinite.
///
/// # Errors
/// Another number of parameters than the program has.
pub(super) fn zeros(program: &Program, parameters: &[f64], (from, to): Range) -> Result<Zeros> {
    let points: Vec<Interval> = parameters.iter().map(|p| Interval::point(*p)).collect();
    let Some(over) = Function::between(program, &points) else {
        return Ok(Zeros::default());
    };
    let mut search = Search {
        over,
        at: Evaluator::new(program, parameters)?,
    };
    Ok(search.zeros((from, to)))
}

impl Search<'_> {
    fn zeros(&mut self, (from, to): Range) -> Zeros {
        let mut ranges = vec![(from, to)];
        if from == 0.0 && to == f64::INFINITY {
            ranges = vec![(FIRST, to), (from, FIRST)];
        }
        let mut zeros = Zeros {
            found: Vec::new(),
            complete: true,
        };
        for _ in 0..BUDGET {
            let Some(range) = ranges.pop() else {
                return zeros;
            };
            match self.look(range) {
                Found::Nothing => {}
                // Of what is known to few digits the error of the integrand is not linear in that of the zero.
                Found::One(zero) if zero.error > WIDEST_BRACKET * zero.at => zeros.complete = false,
                Found::One(zero) => {
                    let known =
                        |other: &Zero| (other.at - zero.at).abs() <= other.error + zero.error;
                    if !zeros.found.iter().any(known) {
                        zeros.found.push(zero);
                    }
                    if zeros.found.len() > MOST {
                        return Zeros::default();
                    }
                }
                Found::Wider(range) => ranges.push(range),
                Found::Unclear => match divided(range) {
                    Some(parts) => ranges.extend(parts),
                    None => zeros.complete = false,
                },
            }
        }
        zeros.complete = zeros.complete && ranges.is_empty();
        zeros
    }

    fn look(&mut self, range: Range) -> Found {
        let (low, high) = range;
        let below = low == 0.0;
        let unbounded = below || high == f64::INFINITY;
        let span = |order: usize| Span {
            start: if below { high } else { low },
            ratio: if unbounded {
                f64::INFINITY
            } else {
                (high / low).next_up()
            },
            order,
        };
        // Values alone are sharper there.
        if unbounded && excludes_zero(self.jet(below, &span(0))) {
            return Found::Nothing;
        }
        let jet = self.jet(below, &span(1));
        if excludes_zero(jet) {
            return Found::Nothing;
        }
        let value = jet.factor();
        let Some(slope) = slope(jet).filter(|_| value.is_finite()) else {
            return Found::Unclear;
        };
        // Away from 0 on, towards the end without a number.
        if unbounded {
            let end = self.sign(span(1).start);
            let away = if below { -slope } else { slope };
            return match end {
                Some(sign) if sign == away => Found::Nothing,
                _ => Found::Unclear,
            };
        }
        match (self.sign(low), self.sign(high)) {
            (Some(first), Some(last)) if first == last => Found::Nothing,
            (Some(first), Some(_)) => Found::One(self.bracket(range, first)),
            (first, last) => {
                let lower = if first.is_none() {
                    low * (1.0 - WIDER)
                } else {
                    low
                };
                let upper = if last.is_none() {
                    high * (1.0 + WIDER)
                } else {
                    high
                };
                Found::Wider((lower, upper))
            }
        }
    }

    fn jet(&mut self, below: bool, span: &Span) -> &Jet {
        if below {
            self.over.below(span)
        } else {
            self.over.over(span)
        }
    }

    /// The sign of the value at x, where rounding leaves no doubt.
    fn sign(&mut self, x: f64) -> Option<f64> {
        let (value, error) = self.at.with_error(x);
        (value.abs() > error).then(|| value.signum())
    }

    /// The zero between two places of opposite sign.
    fn bracket(&mut self, (low, high): Range, first: f64) -> Zero {
        let between = |low: f64, high: f64| {
            let middle = low + 0.5 * (high - low);
            (low < middle && middle < high).then_some(middle)
        };
        let (mut low, mut high) = (low, high);
        let mut doubtful = None;
        while let Some(middle) = between(low, high) {
            match self.sign(middle) {
                Some(sign) if sign == first => low = middle,
                Some(_) => high = middle,
                None => {
                    doubtful = Some(middle);
                    break;
                }
            }
        }
        if let Some(doubtful) = doubtful {
            let (mut inner, mut outer) = (doubtful, doubtful);
            while let Some(middle) = between(low, inner) {
                match self.sign(middle) {
                    Some(_) => low = middle,
                    None => inner = middle,
                }
            }
            while let Some(middle) = between(outer, high) {
                match self.sign(middle) {
                    Some(_) => high = middle,
                    None => outer = middle,
                }
            }
        }
        let at = low + 0.5 * (high - low);
        Zero {
            at,
            error: (high - at).max(at - low).next_up(),
        }
    }
}

enum Found {
    Nothing,
    One(Zero),
    /// A range that holds the first one: a zero may lie at its end.
    Wider(Range),
    Unclear,
}

/// Whether no value over a range is zero; a function with a reciprocal is not.
fn excludes_zero(jet: &Jet) -> bool {
    let value = jet.factor();
    let inverse = jet.reciprocal().map(Jet::factor);
    value.is_finite() && !value.contains(0.0) || inverse.is_some_and(Interval::is_finite)
}

/// The sign of all slopes over a range.
fn slope(jet: &Jet) -> Option<f64> {
    let (mid, rad) = jet.coefficient(1);
    (mid.abs() > rad).then(|| mid.signum())
}

fn divided((low, high): Range) -> Option<[Range; 2]> {
    let middle = match (low == 0.0, high == f64::INFINITY) {
        (true, _) => high / STRIDE,
        (_, true) => low * STRIDE,
        _ if high > 4.0 * low => (low * high).sqrt(),
        _ => low + 0.5 * (high - low),
    };
    let wide = high == f64::INFINITY || high - low > NARROWEST * high;
    let known = middle > f64::MIN_POSITIVE && middle < f64::MAX;
    // The range nearer to 0 comes first.
    (wide && known).then_some([(middle, high), (low, middle)])
}

#[cfg(test)]
mod tests {
    use super::*;

    fn found(text: &str, range: Range) -> Zeros {
        zeros(&Program::parse(text).unwrap(), &[], range).unwrap()
    }

    /// Zeros by mpmath's findroot, to 20 digits.
    #[test]
    fn brackets_hold_the_zeros() {
        let all = (0.0, f64::INFINITY);
        for (text, range, right) in [
            ("exp(x)-2", all, vec![std::f64::consts::LN_2]),
            ("exp(-x)-3*x", all, vec![0.257_627_653_049_736_7]),
            (
                "x^3-3*x+1",
                all,
                vec![0.347_296_355_333_860_7, 1.532_088_886_237_956],
            ),
            ("ln(x)", all, vec![1.0]),
            ("ln(x)", (1.0, 2.0), vec![1.0]),
            ("cos(x)-x/9", (0.0, 3.0), vec![1.413_129_512_678_904_4]),
            ("1e-100*exp(x)-1", all, vec![230.258_509_299_404_57]),
            ("x^5-1e-60", all, vec![1e-12]),
            ("cos(x)-2*x", all, vec![0.450_183_611_294_873_6]),
            ("exp(x)+x", all, vec![]),
            ("tanh(x)*x+1e-9", all, vec![]),
        ] {
            let zeros = found(text, range);
            assert!(zeros.complete, "{text} {zeros:?}");
            assert_eq!(zeros.found.len(), right.len(), "{text} {zeros:?}");
            let mut sorted = zeros.found.clone();
            sorted.sort_by(|a, b| a.at.total_cmp(&b.at));
            for (zero, right) in sorted.iter().zip(right) {
                let off = (zero.at - right).abs() - f64::EPSILON * right;
                assert!(off <= zero.error, "{text} {zero:?} {right}");
                assert!(zero.error < 1e-13 * right, "{text} {zero:?}");
            }
        }
    }

    #[test]
    fn zeros_that_are_not_simple_or_without_end_are_not_known() {
        let all = (0.0, f64::INFINITY);
        for text in [
            "(x-1)^2*(x^2+1)",
            "cos(x)-0.3",
            "sin(1/x)",
            "floor(x)-1.5",
            "besselk(0,x)-1",
        ] {
            assert!(!found(text, all).complete, "{text}");
        }
        // A pole is no zero.
        assert!(found("1/(x-2)", (1.0, 3.0)).found.is_empty());
        assert!(found("tan(x)", (1.0, 2.0)).found.is_empty());
    }
}
