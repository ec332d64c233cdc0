//! The fast form of the paper's method: an integral is a part of a warp, differences go from lane to lane.

use super::differences::{Fixed, FixedRule, head_and_tail, stage_nodes};
use crate::kernel;
use crate::longman::elementary::{Hardware, Software};
use crate::longman::integrand::{Damped, Integrand};
use crate::math::Real;
use crate::memory::{In, Out, Quad, Shared};
use crate::simt::{Simt, WARP};

/// Threads of a block of [`warp_differences()`].
pub const WARP_THREADS: u32 = 256;

/// Lanes that share an integral of N areas where each has an area, or two of 64: 8, 16 or 32.
#[inline(always)]
pub const fn lanes_of(areas: u32) -> u32 {
    if areas <= 8 {
        8
    } else if areas <= 16 {
        16
    } else {
        WARP
    }
}

/// The body of [`warp_differences()`], for any amplitude: call it from a kernel of your own with the same arguments.
#[inline(always)]
#[allow(clippy::too_many_arguments, reason = "the arguments of a launch")]
#[track_caller]
pub fn warp_integral<I: Integrand<T>, T: Real, S: Simt>(
    t: &S,
    frequencies: In<'_, T>,
    parameters: In<'_, T>,
    gauss: In<'_, Quad<T>>,
    values: Out<'_, T>,
    columns: Out<'_, T>,
    rule: FixedRule,
    nodes: Shared<'_, Quad<T>>,
) {
    stage_nodes(t, gauss, nodes, rule.nodes + rule.areas);
    // A division by the number of lanes, which is a power of two.
    let shift = rule.lanes.trailing_zeros();
    let lanes = 1 << shift;
    let lane = t.lane() & (lanes - 1);
    // All lanes work, so that every exchange is complete; those beyond the last integral repeat it and write nothing.
    let group = (t.block_idx() * WARP_THREADS + t.thread_idx()) >> shift;
    let index = if group < rule.integrals {
        group
    } else {
        rule.integrals - 1
    };
    let fixed = Fixed::<T, I>::new(t, index, frequencies, parameters, rule, nodes);

    let mut head = T::ZERO;
    let mut g = lane;
    while g < rule.panels * rule.nodes {
        head += fixed.head_term(t, gauss, g);
        g += lanes;
    }
    let head = head * fixed.head_width();
    let writes = lane == 0 && group < rule.integrals;
    if rule.columns != 0 {
        let head = part_sum(t, head, lanes);
        let at = index as usize * rule.areas as usize;
        let keep = |r: u32, difference| {
            if writes {
                columns.set(t, at + r as usize, difference);
            }
        };
        let (first_area, tail) = sum_differences(t, &fixed, lane, keep);
        if writes {
            values.set(t, index as usize, head_and_tail(head, first_area, tail));
        }
    } else {
        let value = if rule.nodes == USUAL_NODES {
            let mut usual = [(T::ZERO, T::ZERO); USUAL_NODES as usize];
            for g in 0..USUAL_NODES {
                usual[g as usize] = fixed.node(t, g);
            }
            linear_sum(t, &fixed, lane, head, |k| {
                fixed.area_of(k, USUAL_NODES, |g| usual[g as usize])
            })
        } else {
            linear_sum(t, &fixed, lane, head, |k| fixed.area(t, k))
        };
        if writes {
            values.set(t, index as usize, value);
        }
    }
}

/// Gauss nodes for which the loop over them is unrolled.
const USUAL_NODES: u32 = 8;

/// Sum over the lanes of an integral, the same in all of them.
#[inline(always)]
#[track_caller]
fn part_sum<T: Real, S: Simt>(t: &S, value: T, lanes: u32) -> T {
    let mut value = value;
    // Neighbours first: areas that alternate in sign leave little to be rounded.
    let mut mask = 1;
    while mask < lanes {
        value += t.shuffle_xor(value, mask);
        mask *= 2;
    }
    value
}

/// Head and tail, the tail by the linear form of eq. (9), sum of `(-1)^k c_k V_k`: where the differences are not asked for, they need not be formed.
///
/// `head` is this lane's share of the head; the weights `(-1)^k c_k` follow the Gauss nodes. Each lane has neighbouring areas.
#[inline(always)]
#[track_caller]
fn linear_sum<I: Integrand<T>, T: Real, S: Simt>(
    t: &S,
    fixed: &Fixed<'_, T, I>,
    lane: u32,
    head: T,
    area: impl Fn(u32) -> T,
) -> T {
    let FixedRule {
        lanes,
        areas,
        nodes,
        ..
    } = fixed.rule;
    let each = (areas + lanes - 1) >> lanes.trailing_zeros();
    let from = each * lane;
    let (mut first_area, mut tail) = (T::ZERO, T::ZERO);
    for k in from..from + each {
        let area = area(k);
        if k == from {
            first_area = area;
        }
        if k < areas {
            let Quad([weight, ..]) = fixed.nodes.get(t, nodes + k);
            tail = weight.mul_add(area.abs(), tail);
        }
    }
    let first_area = t.shuffle(first_area, t.lane() & !(lanes - 1));
    part_sum(t, head_and_tail(head, first_area, tail), lanes)
}

/// Area 0 and the sum of eq. (9), in the first lane of an integral; `keep` receives each difference of V_0.
///
/// Values that lanes compute from beyond the last area, or from the next integral, never reaches the first lane: Delta^r V_0 depends on V_0 .. V_r only.
#[inline(always)]
#[track_caller]
fn sum_differences<I: Integrand<T>, T: Real, S: Simt>(
    t: &S,
    fixed: &Fixed<'_, T, I>,
    lane: u32,
    keep: impl Fn(u32, T),
) -> (T, T) {
    let areas = fixed.rule.areas;
    let mut tail = T::ZERO;
    // The factor is a power of two, so the product is exact and the sum is rounded once either way.
    let mut factor = T::from_f64(0.5);
    let half = T::from_f64(-0.5);
    let mut r = 0;
    if areas <= WARP {
        let first_area = fixed.area(t, lane);
        let mut difference = first_area.abs();
        while r < areas {
            keep(r, difference);
            tail = difference.mul_add(factor, tail);
            factor *= half;
            difference = t.shuffle_down(difference, 1) - difference;
            r += 1;
        }
        (first_area, tail)
    } else {
        // Two neighbouring areas a lane: one of the two differences needs no exchange.
        let first_area = fixed.area(t, 2 * lane);
        let mut even = first_area.abs();
        let mut odd = fixed.area(t, 2 * lane + 1).abs();
        while r < areas {
            keep(r, even);
            tail = even.mul_add(factor, tail);
            factor *= half;
            let next = t.shuffle_down(even, 1) - odd;
            even = odd - even;
            odd = next;
            r += 1;
        }
        (first_area, tail)
    }
}

kernel! {
    /// The results of [`difference_table()`](super::difference_table()), faster: the difference columns are the same to the bit. Without them the
    /// tail is their linear form, `sum of (-1)^k c_k V_k`: one product an area and the sum over the lanes, which contains the head.
    ///
    /// Lanes that share an integral have neighbouring areas of it. Of many integrals each thread has one; of few ones, and for columns, a quarter of a warp, a half
    /// or a whole one shares an integral of up to 8, 16, 32 areas. For columns lane k owns area k, and for up to 64 areas lane k of a warp
    /// owns areas 2k and 2k + 1. A step of differences is one exchange and one subtraction in registers, `T - shuffle_down(T)` with the sign of eq. (8), and
    /// leaves the next difference of V_0 in the first lane. Blocks of 256 threads; Gauss nodes and weights of areas are in shared memory, and eight nodes
    /// in registers; nothing else is shared, and the one barrier separates filling from reading.
    ///
    /// The weight of a node contains its oscillation. So a node of an area takes 4 instructions in `f32` with the hardware's exponential function: x, the exponent,
    /// exp2, the sum; one is of the special function unit, which takes one each 8 clocks for a warp. N = 16, 8 nodes: 136 nodes; the unit bounds an H200 at
    /// 3.1e10 integrals a second, the issue slots at about 5e10. In `f64` a node takes about 22 double-precision instructions; 5.6e9.
    pub fn warp_differences<T: Real>(
        t, frequencies: In<T>, parameters: In<T>, gauss: In<Quad<T>>, values: Out<T>, columns: Out<T>; rule: FixedRule,
    ) for f32, f64
    shared { nodes: [Quad<T>; rule.nodes + rule.areas] } {
        warp_integral::<Damped<T, Software>, T, _>(t, frequencies, parameters, gauss, values, columns, rule, nodes);
    }
}

kernel! {
    /// [`warp_differences()`] with the hardware's exponential function.
    pub fn warp_differences_hardware<T: Real>(
        t, frequencies: In<T>, parameters: In<T>, gauss: In<Quad<T>>, values: Out<T>, columns: Out<T>; rule: FixedRule,
    ) for f32
    shared { nodes: [Quad<T>; rule.nodes + rule.areas] } {
        warp_integral::<Damped<T, Hardware>, T, _>(t, frequencies, parameters, gauss, values, columns, rule, nodes);
    }
}
