//! The outcome of one integral, by one thread: value, error estimate and status.

use super::amplitude::Amplitude;
use super::batch::{BatchRule, CANDIDATES, Outcome, PANEL_NODES, ROW_QUADS, Table, UNDECIDED};
use super::classify::{Seen, condition, contradicted, status, sum_roundoff, tolerance};
use super::head::Head;
use super::probe::probe;
use super::status::{Accelerator, Status};
use crate::math::Real;
use crate::memory::Quad;
use crate::simt::Simt;

/// x^(3/2), 0 for 0.
#[inline(always)]
fn three_halves<T: Real>(x: T) -> T {
    x * x.sqrt()
}

/// One integral with amplitude g(x), at `x = s scale`.
///
/// Every comparison in favour of a result is false where a NaN is involved, so that such an integral stays undecided.
#[inline(always)]
#[track_caller]
pub fn outcome<T: Real, S: Simt, A: Amplitude<T>>(
    t: &S,
    table: Table<'_, T>,
    rule: &BatchRule,
    scale: T,
    mut amplitude: A,
) -> Outcome<T> {
    let number = |value: f64| T::from_f64(value);

    let head = Head::new(t, table.head, rule.head, scale, &mut amplitude);
    let (fine, magnitude) = (head.value, head.magnitude);
    let mut error = head.error;
    let mut floor = magnitude * number(rule.accuracy);

    let mut value = [T::ZERO; CANDIDATES];
    let mut fewer = [T::ZERO; CANDIDATES];
    let mut bound = [T::ZERO; 4];
    // Magnitude of the first area that each candidate accelerates.
    let mut beyond = [T::ZERO; 4];
    let mut direct = T::ZERO;
    let mut magnitudes = magnitude;
    let mut seen = Seen::new(fine);
    let mut noise = T::ZERO;
    let mut at = 0;
    let mut k = 0;
    while k < rule.areas {
        let Quad([roundoff, in_condition, panels, _]) = table.rows.get(t, k * ROW_QUADS + 5);
        let (mut kronrod, mut sizes, mut quadrature) = (T::ZERO, T::ZERO, T::ZERO);
        let mut left = panels;
        while left > T::ZERO {
            let (mut sum, mut gauss, mut magnitude) = (T::ZERO, T::ZERO, T::ZERO);
            let mut difference = T::ZERO;
            // The nodes outside the panel show what an amplitude that is known to be smooth does not have.
            let mut g = if A::SMOOTH { 1 } else { 0 };
            while g
                < (if A::SMOOTH {
                    PANEL_NODES - 1
                } else {
                    PANEL_NODES
                })
            {
                let Quad([s, weight, embedded, continued]) = table.nodes.get(t, at + g);
                let f = amplitude.value(s * scale);
                sum = weight.mul_add(f, sum);
                gauss = embedded.mul_add(f, gauss);
                magnitude += (weight * f).abs();
                if !A::SMOOTH {
                    difference = continued.mul_add(f, difference);
                }
                g += 1;
            }
            at += PANEL_NODES;
            if !A::SMOOTH {
                // Of a step the rule misses at most a third of the difference, wherever it lies. Roundoff is amplified 8.3 times at either end.
                let noise = number(17.0 * rule.accuracy) * magnitude;
                let step = difference.abs() - noise;
                if step > T::ZERO {
                    quadrature += step;
                }
            }
            // QUADPACK's scaling of the difference of the two rules; a quarter of the size, a lower bound of the variation, replaces it.
            let variation = magnitude * number(0.25);
            let scaled = (sum - gauss).abs() * number(200.0);
            quadrature += if scaled < variation {
                three_halves(scaled / variation) * variation
            } else {
                scaled
            };
            kronrod += sum;
            sizes += magnitude;
            left -= T::ONE;
        }

        let Quad(w0) = table.rows.get(t, k * ROW_QUADS);
        let Quad(w1) = table.rows.get(t, k * ROW_QUADS + 1);
        let Quad(w2) = table.rows.get(t, k * ROW_QUADS + 2);
        let Quad(w3) = table.rows.get(t, k * ROW_QUADS + 3);
        let Quad(w4) = table.rows.get(t, k * ROW_QUADS + 4);
        let mut c = 0;
        while c < 4 {
            value[c] = w0[c].mul_add(kronrod, value[c]);
            value[c + 4] = w1[c].mul_add(kronrod, value[c + 4]);
            fewer[c] = w2[c].mul_add(kronrod, fewer[c]);
            fewer[c + 4] = w3[c].mul_add(kronrod, fewer[c + 4]);
            bound[c] = w4[c].mul_add(kronrod, bound[c]);
            c += 1;
        }
        direct += kronrod;

        let size = kronrod.abs();
        let mut m = 0;
        while m < 4 {
            if k == rule.skips[m] {
                beyond[m] = size;
            }
            m += 1;
        }
        let rounded = roundoff * sizes;
        noise = rounded + quadrature;
        floor += rounded;
        error += quadrature;
        magnitudes = in_condition.mul_add(size, magnitudes);
        seen.look(kronrod, noise);
        k += 1;
    }

    floor += sum_roundoff(fine, seen.largest);
    // An exponential function multiplies the roundoff of its argument by that: by the logarithm of its value.
    if magnitude > T::ZERO {
        floor += T::EPSILON * magnitude.ln().abs() * magnitudes;
    }
    let infinity = T::ONE / T::ZERO;
    let mut tail = T::ZERO;
    let mut least = infinity;
    let mut accelerator = Accelerator::None;
    let mut allowed = false;
    // The candidate that is taken; beyond all of them where the areas are summed as they are.
    let mut chosen = CANDIDATES as u32;
    if seen.ends() {
        tail = direct;
        least = T::ZERO;
        accelerator = Accelerator::Direct;
        allowed = true;
    } else if seen.alternates(rule.alternating, noise) {
        let mut estimates = [infinity; CANDIDATES];
        let mut c = 0;
        while c < CANDIDATES {
            // Half the change, as nothing shows here whether it falls as fast as the theory promises.
            let change = (value[c] - fewer[c]).abs() * number(0.5);
            let bound = if c & 1 == 0 {
                bound[c / 2].abs()
            } else {
                number(rule.remainders[c / 2]) * beyond[c / 2]
            };
            if seen.start <= rule.skips[c / 2] {
                estimates[c] = if change > bound { change } else { bound };
            }
            if estimates[c] < least {
                least = estimates[c];
                tail = value[c];
                chosen = c as u32;
                accelerator = if c & 1 == 0 {
                    Accelerator::Euler
                } else {
                    Accelerator::Cvz
                };
                allowed = true;
            }
            c += 1;
        }
        let common = error + floor;
        let mut c = 0;
        while c < CANDIDATES {
            least = contradicted((tail, least), value[c], estimates[c] + common);
            c += 1;
        }
    }
    if allowed {
        let noise = number(1e-3) * T::EPSILON * magnitudes;
        let probed = probe(t, table, rule, scale, chosen, noise, &mut amplitude);
        allowed = probed.vanishes;
        // Whether it is larger or no number.
        let within = probed.error <= floor;
        if !within {
            floor = probed.error;
        }
    }

    let sum = fine + tail;
    let total = least + error + floor;
    let value = sum * scale;
    let tolerance = tolerance(number(rule.absolute), number(rule.relative), value);
    let finite = magnitudes < infinity && total < infinity;
    // Roundoff alone exceeds the tolerance, by more than what its bound may be too large by, and is most of the estimate.
    let hopeless = floor * scale > tolerance * number(4.0) && least + error <= floor;
    let status = status(value, total * scale, tolerance);
    let decided = allowed
        && finite
        && match status {
            Status::Ok => true,
            Status::NotConverged => hopeless,
            _ => false,
        };
    Outcome {
        value,
        error: total * scale,
        condition: condition(magnitudes, sum),
        code: if decided {
            status.code() | accelerator.code() << 8
        } else {
            UNDECIDED
        },
    }
}
