//! Sums over chunks of partial sums, over the axes, and over the warps of a block; factors of Maxwellians.

use super::super::exponential::{exponential, power_of_two};
use super::super::layout::{
    FlowShape, PASS_SUMS_BGK, PASS_SUMS_ROTATING, PASS_SUMS_SHAKHOV, SUMS_ROTATING, split,
};
use super::super::sweep::{read_ahead, sum_of_warps};
use crate::math::Real;
use crate::memory::{In, Shared};
use crate::simt::{Simt, WARP};

/// Sums over the axes that Newton's method and Shakhov's term need: powers 0 to 5 of w along x and y, 0, 2 and 4 along z.
pub(super) const AXIS_SUMS: usize = 15;

/// The sums of a cell, as many as its model has.
pub(super) type CellSums = [f64; SUMS_ROTATING as usize];

/// Velocity and weight of a node, along z the square of the velocity and the weight's logarithm to base 2: the axes follow each other.
#[cfg_attr(target_arch = "nvptx64", inline(always))]
#[track_caller]
pub(super) fn node<S: Simt>(t: &S, axes: In<'_, f64>, j: u32) -> (f64, f64) {
    (axes.get(t, 2 * j as usize), axes.get(t, 2 * j as usize + 1))
}

/// Factor of a Maxwellian along x or y.
#[cfg_attr(target_arch = "nvptx64", inline(always))]
pub(super) fn factor<T: Real>(w: f64, weight: f64, slope: f64, c: f64) -> T {
    T::from_f64(weight) * exponential(T::from_f64(w * (slope - c * w)))
}

/// Factor of a Maxwellian along z, as the pass over a plane computes it too.
#[cfg_attr(target_arch = "nvptx64", inline(always))]
pub(super) fn inner_factor<T: Real>(square: f64, log_weight: f64, c: f64) -> T {
    let inverse_temperature = T::from_f64(-c * core::f64::consts::LOG2_E);
    power_of_two(T::from_f64(square).mul_add(inverse_temperature, T::from_f64(log_weight)))
}

/// `1 - e^-x` from x and `e^-x`, without loss of digits for small x.
#[cfg_attr(target_arch = "nvptx64", inline(always))]
pub(super) fn less_than_one(x: f64, decay: f64) -> f64 {
    if x < 0.5 {
        // Taylor's series: the term after the last is below 2^-53 of the first.
        let mut sum = 0.0;
        macro_rules! terms {
            ($($k:literal),*) => {$( sum = x * (1.0 / $k) * (1.0 - sum); )*};
        }
        terms!(
            16.0, 15.0, 14.0, 13.0, 12.0, 11.0, 10.0, 9.0, 8.0, 7.0, 6.0, 5.0, 4.0, 3.0, 2.0, 1.0
        );
        sum
    } else {
        1.0 - decay
    }
}

/// Adds the values of the warps lane by lane; every thread receives the sums.
#[cfg_attr(target_arch = "nvptx64", inline(always))]
#[track_caller]
pub(super) fn combine<S: Simt, const K: usize>(
    t: &S,
    scratch: Shared<'_, f64>,
    values: [f64; K],
) -> [f64; K] {
    let at = |worker: u32, k: u32| (worker * K as u32 + k) * WARP + t.lane();
    // Other warps may still read the sums of an earlier call.
    t.sync_threads();
    for k in 0..K {
        scratch.set(t, at(t.warp(), k as u32), values[k]);
    }
    t.sync_threads();
    // Each warp adds some of the values. It stores the sum in the place of worker 0's own, which no other warp reads.
    let mut k = t.warp();
    while k < K as u32 {
        let sum = sum_of_warps(t, |worker| scratch.get(t, at(worker, k)));
        scratch.set(t, at(0, k), sum);
        k += t.warps();
    }
    t.sync_threads();
    let mut sums = [0.0; K];
    for k in 0..K {
        sums[k] = scratch.get(t, at(0, k as u32));
    }
    sums
}

/// Chunks whose partial sums are in flight together.
const AHEAD: usize = 5;

/// Adds the partial sums of this warp's share of all `chunks`; `per_vx` of them share a v_x. Molecules that rotate have `SHAKHOV` too.
#[cfg_attr(target_arch = "nvptx64", inline(always))]
#[track_caller]
pub(super) fn add_chunks<S: Simt, T: Real, const SHAKHOV: bool, const ROTATES: bool>(
    t: &S,
    partial: In<'_, T>,
    axes: In<'_, f64>,
    shape: &FlowShape,
    [chunks, per_vx]: [u32; 2],
    place: u32,
    sums: &mut CellSums,
) {
    let count = if ROTATES {
        PASS_SUMS_ROTATING
    } else if SHAKHOV {
        PASS_SUMS_SHAKHOV
    } else {
        PASS_SUMS_BGK
    };
    let load = |chunk: u32| {
        let mut parts = [T::ZERO; PASS_SUMS_ROTATING as usize];
        for k in 0..PASS_SUMS_ROTATING {
            if k < count {
                let at = (chunk * count + k) * shape.plane() + place;
                parts[k as usize] = partial.get(t, at as usize);
            }
        }
        let (jx, _) = split(chunk, per_vx);
        let (vx, _) = node(t, axes, jx);
        (vx, parts)
    };
    let add = |_, (vx, parts): (f64, [T; PASS_SUMS_ROTATING as usize])| {
        let (mass, along_y, rest) = (parts[0].to_f64(), parts[1].to_f64(), parts[2].to_f64());
        let energy = vx * vx * mass + rest;
        sums[0] += mass;
        sums[1] += vx * mass;
        sums[2] += along_y;
        sums[3] += energy;
        if SHAKHOV {
            sums[4] += vx * energy;
            sums[5] += vx * vx * along_y + parts[3].to_f64();
            sums[6] += vx * vx * mass;
            sums[7] += parts[4].to_f64();
            sums[8] += vx * along_y;
        }
        if ROTATES {
            let internal = parts[5].to_f64();
            sums[9] += internal;
            sums[10] += vx * internal;
            sums[11] += parts[6].to_f64();
        }
    };
    read_ahead::<_, AHEAD, _>(t, [t.warp(), t.warps(), chunks], load, add);
}

/// Sums of w^k along x and y for k below `POWERS`, and of v^2k along z, with the Maxwellian's factors.
#[cfg_attr(target_arch = "nvptx64", inline(always))]
#[track_caller]
pub(super) fn axis_sums<S: Simt, T: Real, const POWERS: usize>(
    t: &S,
    scratch: Shared<'_, f64>,
    axes: In<'_, f64>,
    shape: &FlowShape,
    u: [f64; 2],
    slope: [f64; 2],
    c: f64,
) -> [f64; AXIS_SUMS] {
    let mut sums = [0.0; AXIS_SUMS];
    let mut j = t.warp();
    while j < shape.count_x {
        let (v, weight) = node(t, axes, j);
        let w = v - u[0];
        let mut term = factor::<T>(w, weight, slope[0], c).to_f64();
        for k in 0..POWERS {
            sums[k] += term;
            term *= w;
        }
        j += t.warps();
    }
    if shape.integrated < 2 {
        let mut j = t.warp();
        while j < shape.count_y {
            let (v, weight) = node(t, axes, shape.count_x + j);
            let w = v - u[1];
            let mut term = factor::<T>(w, weight, slope[1], c).to_f64();
            for k in 6..6 + POWERS {
                sums[k] += term;
                term *= w;
            }
            j += t.warps();
        }
    }
    if shape.integrated == 0 {
        let mut m = t.warp();
        while m < shape.count_m {
            let (square, log_weight) = node(t, axes, shape.count_x + shape.count_y + m);
            let mut term = inner_factor::<T>(square, log_weight, c).to_f64();
            for k in 12..15 {
                sums[k] += term;
                term *= square;
            }
            m += t.warps();
        }
    }
    combine(t, scratch, sums)
}
