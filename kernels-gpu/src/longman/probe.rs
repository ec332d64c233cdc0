//! The evidence of an outcome besides sums: the roundoff of the amplitude, and whether it vanishes far out.

use super::amplitude::Amplitude;
use super::batch::{BatchRule, CANDIDATES, HEAD_SUMS, PANEL_NODES, ROW_QUADS, Table};
use crate::math::Real;
use crate::memory::Quad;
use crate::simt::Simt;

/// Sizes of an integrand further and further out, at distances whose logarithms double: of a power the ratio of two is the square of the ratio
/// before, of a constant below a decay it rises to 1.
#[derive(Clone, Copy, Debug)]
pub struct FarOut<T> {
    first: T,
    last: T,
    ratio: T,
    looks: u32,
    gone: bool,
    falls: bool,
}

impl<T: Real> FarOut<T> {
    /// Before the first probe.
    pub const NEW: Self = Self {
        first: T::ZERO,
        last: T::ZERO,
        ratio: T::ONE,
        looks: 0,
        gone: false,
        falls: true,
    };

    /// The next size, a number of at least 0. The second probe is six decades beyond the first, the third twelve.
    #[inline(always)]
    pub fn look(&mut self, size: T) {
        if self.looks == 0 {
            self.first = size;
        } else {
            let nothing = size <= T::from_f64(1e-14) * self.first;
            self.gone = nothing && (self.gone || self.looks <= 2);
        }
        if self.looks >= 2 {
            let ratio = if size > T::ZERO {
                size / self.last
            } else {
                T::ZERO
            };
            // The bound of a ratio near 1 has roundoff.
            let bound = (self.ratio * T::from_f64(1.0001)).min(T::from_f64(0.999));
            self.falls = self.falls && ratio <= bound;
            self.ratio = ratio;
        }
        self.last = size;
        self.looks += 1;
    }

    /// Whether the integrand goes to zero; none after too few probes.
    #[inline(always)]
    pub fn vanishes(&self) -> Option<bool> {
        if self.looks < 3 {
            None
        } else {
            Some(self.gone || self.falls)
        }
    }
}

/// The findings of [`probe`].
#[derive(Clone, Copy)]
pub(super) struct Probed<T> {
    /// Error of the sum that the amplitude's own roundoff makes.
    pub(super) error: T,
    /// Whether the integrand goes to zero. False where that is not seen, so that the CPU computes the integral.
    pub(super) vanishes: bool,
}

/// Probes the errors of the amplitude, and the amplitude far out, by one loop, so that its code occurs once.
///
/// The errors are sampled in some nodes of the head, from the largest s down, and in the middle of each panel, and summed with the weights of the
/// candidate `chosen`. Where near 0 nothing but roundoff is left, the amplitude is between 0 and four times what a power -7/8 of x makes of its last value with
/// digits. Values far out that are less than `noise` are nothing.
#[inline(always)]
#[track_caller]
pub(super) fn probe<T: Real, S: Simt, A: Amplitude<T>>(
    t: &S,
    table: Table<'_, T>,
    rule: &BatchRule,
    scale: T,
    chosen: u32,
    noise: T,
    amplitude: &mut A,
) -> Probed<T> {
    let number = |value: f64| T::from_f64(value);
    // Every stride-th of the sums of the head; its nodes are a fifth or a quarter of a unit of the exponent of an exponent apart.
    let stride = if size_of::<T>() == 8 { 4 } else { 2 };
    let (head, panels) = if A::ERRORS {
        (rule.head / stride, rule.panels)
    } else {
        (0, 0)
    };
    let each = rule.head / HEAD_SUMS;
    // 0, 6, 12, 24, 48, 96 decades; in f32 the first four are numbers.
    let looks = match (rule.looks, size_of::<T>()) {
        (0, _) => 0,
        (_, 8) => 6,
        _ => 4,
    };
    let (mut error, mut finite) = (T::ZERO, true);
    // The last value that had digits, and where.
    let (mut known, mut place) = (T::ZERO, T::ZERO);
    let (mut area, mut left) = (0, T::ZERO);
    let (mut beyond, mut factor, mut own) = (1.0, 1e6, 1.0);
    let mut far = FarOut::NEW;
    // Rows of the head's sums from the last node down.
    let (mut row, mut sum) = (each, 0);
    let mut j = 0;
    while j < head + panels + looks {
        let (x, mut weight) = if j < head {
            if sum == 0 {
                sum = HEAD_SUMS;
                row -= 1;
            }
            sum -= stride;
            let Quad([s, weight, ..]) = table.head.get(t, sum * each + row);
            // Bumps as narrow as the steps are seen to half their size.
            (s * scale, weight.abs() * number(2.0 * f64::from(stride)))
        } else if j < head + panels {
            if left <= T::ZERO {
                let Quad([_, _, panels, _]) = table.rows.get(t, area * ROW_QUADS + 5);
                left = panels;
                area += 1;
            }
            left -= T::ONE;
            let middle = (j - head) * PANEL_NODES + PANEL_NODES / 2;
            let Quad([s, weight, ..]) = table.nodes.get(t, middle);
            // The weight of the middle is a tenth of all of them.
            let weight = weight.abs() * number(10.0);
            (s * scale, weight * weight_of(t, table, area - 1, chosen))
        } else {
            (number(rule.last * beyond) * scale, T::ZERO)
        };
        let (value, mut off) = amplitude.with_error(x);
        let size = value.abs();
        if j < head {
            if size >= number(10.0) * off {
                (known, place) = (size, x);
            } else {
                let nearer = place / x;
                let eighth = nearer.sqrt().sqrt().sqrt();
                off = off.min(size + number(4.0) * known * nearer / eighth);
            }
            // Nodes that fill the head up have no weight.
            if weight <= T::ZERO {
                off = T::ZERO;
                weight = T::ZERO;
            }
        }
        // Far out, where nothing has a weight, the bound may be no number.
        if weight > T::ZERO {
            error = weight.mul_add(off, error);
        }
        if j >= head + panels {
            // Where a value is roundoff it says nothing of what the amplitude does.
            // A zero without any bound is one that numbers too large to be numbers left.
            let infinity = T::ONE / T::ZERO;
            let bounded = off < infinity;
            let seen = off <= number(0.01) * size || off <= noise || (!bounded && size <= T::ZERO);
            finite = finite && seen && size < infinity;
            far.look(size * number(own));
            beyond *= factor;
            // A Bessel function falls like x^-1/2 itself.
            if rule.bessel != 0 {
                own = Real::sqrt(1.0 / beyond);
            }
            factor = beyond;
        }
        j += 1;
    }
    Probed {
        error,
        vanishes: looks == 0 || finite && far.vanishes() == Some(true),
    }
}

/// The magnitude of an area's weight in a candidate, 1 beyond all of them.
#[inline(always)]
#[track_caller]
fn weight_of<T: Real, S: Simt>(t: &S, table: Table<'_, T>, area: u32, candidate: u32) -> T {
    if candidate >= CANDIDATES as u32 {
        return T::ONE;
    }
    let Quad([w0, w1, w2, w3]) = table.rows.get(t, area * ROW_QUADS + candidate / 4);
    let (low, high) = if candidate & 1 == 0 {
        (w0, w2)
    } else {
        (w1, w3)
    };
    if candidate & 2 == 0 {
        low.abs()
    } else {
        high.abs()
    }
}
