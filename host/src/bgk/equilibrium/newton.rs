//! The discrete Maxwellians of many cells at once, by Newton's method: every cell needs one in every step.
//!
//! Loops run over the cells, whose number the compiler does not know: so it makes vectors of them.

#![allow(
    clippy::needless_range_loop,
    reason = "an index runs over several rows at once, which the compiler makes vectors of"
)]

use super::DiscreteMaxwellian;
use crate::bgk::lanes::{self, LaneReal};
use crate::bgk::{Axis, State, VelocitySpace};

/// Cells at most that are treated at once.
pub(in crate::bgk) const TOGETHER: usize = 64;

/// A number for each of them.
pub(in crate::bgk) type Row = [f64; TOGETHER];

/// Newton steps after which a Maxwellian counts as not there; from the continuum's values two or three do, far from them some more.
const MOST_STEPS: usize = 60;
/// A residual whose square is roundoff: the step that starts from it is the last, and need not be looked at.
const NEAR: f64 = 1e-8;

/// [`DiscreteMaxwellian`]s of so many cells.
#[derive(Clone, Copy, Debug)]
pub(in crate::bgk) struct Maxwellians {
    pub(in crate::bgk) cells: usize,
    pub(in crate::bgk) density: Row,
    pub(in crate::bgk) velocity: [Row; 2],
    pub(in crate::bgk) temperature: Row,
    pub(in crate::bgk) amplitude: Row,
    pub(in crate::bgk) slope: [Row; 2],
    pub(in crate::bgk) steepness: Row,
}

impl Maxwellians {
    /// The Maxwellian `of` each of so many cells.
    pub(in crate::bgk) fn new(cells: usize, of: impl Fn(usize) -> DiscreteMaxwellian) -> Self {
        let none = [0.0; TOGETHER];
        let mut all = Self {
            cells,
            density: none,
            velocity: [none; 2],
            temperature: none,
            amplitude: none,
            slope: [none; 2],
            steepness: none,
        };
        for i in 0..cells {
            all.set(i, &of(i));
        }
        all
    }

    pub(in crate::bgk) fn state(&self, i: usize) -> State {
        State {
            density: self.density[i],
            velocity: self.velocity.map(|u| u[i]),
            temperature: self.temperature[i],
        }
    }

    /// Another state, for whose Maxwellian this one is where to start from.
    pub(in crate::bgk) fn set_state(&mut self, i: usize, state: State) {
        self.density[i] = state.density;
        self.temperature[i] = state.temperature;
        for (u, velocity) in self.velocity.iter_mut().zip(state.velocity) {
            u[i] = velocity;
        }
    }

    pub(in crate::bgk) fn get(&self, i: usize) -> DiscreteMaxwellian {
        DiscreteMaxwellian {
            state: self.state(i),
            amplitude: self.amplitude[i],
            slope: self.slope.map(|b| b[i]),
            steepness: self.steepness[i],
        }
    }

    pub(in crate::bgk) fn set(&mut self, i: usize, maxwellian: &DiscreteMaxwellian) {
        self.set_state(i, maxwellian.state);
        self.amplitude[i] = maxwellian.amplitude;
        self.steepness[i] = maxwellian.steepness;
        for (b, slope) in self.slope.iter_mut().zip(maxwellian.slope) {
            b[i] = slope;
        }
    }

    /// The mean velocity and the slope along an axis: none along those that the gas does not move along.
    #[inline(always)]
    pub(in crate::bgk) fn along(&self, space: &VelocitySpace, d: usize) -> [&Row; 2] {
        if d < space.flow() {
            [&self.velocity[d], &self.slope[d]]
        } else {
            [&[0.0; TOGETHER]; 2]
        }
    }

    /// Finds amplitudes, slopes and steepnesses for which the sums over the nodes are the states', from those that are there; tells of each cell
    /// whether it did.
    pub(in crate::bgk) fn conserve(&mut self, space: &VelocitySpace) -> [bool; TOGETHER] {
        lanes::on_widest(Newton {
            space,
            maxwellians: self,
        })
    }

    /// The means of `w^k`, k < 6, along an axis of the space.
    pub(in crate::bgk) fn mean_powers(&self, space: &VelocitySpace, d: usize) -> [Row; 6] {
        lanes::on_widest(Means {
            space,
            d,
            maxwellians: self,
        })
    }
}

/// The sums of `w^k exp(b w - c w^2)`, k < N and w = v - u, over the nodes of an axis in so many cells, given u and b.
#[inline(always)]
fn powers<const N: usize, const FUSED: bool>(
    axis: &Axis,
    cells: usize,
    [mean, slope]: [&Row; 2],
    c: &Row,
) -> [Row; N] {
    let mut sums = [[0.0; TOGETHER]; N];
    let (mean, slope, c) = (&mean[..cells], &slope[..cells], &c[..cells]);
    for (v, weight) in axis.nodes().iter().zip(axis.weights()) {
        for i in 0..cells {
            let w = v - mean[i];
            let mut term = weight * (w * (slope[i] - c[i] * w)).exp_fast::<FUSED>();
            for sum in &mut sums {
                sum[i] += term;
                term *= w;
            }
        }
    }
    sums
}

struct Means<'a> {
    space: &'a VelocitySpace,
    d: usize,
    maxwellians: &'a Maxwellians,
}

impl lanes::Job for Means<'_> {
    type Output = [Row; 6];

    #[inline(always)]
    fn run<const FUSED: bool>(self) -> [Row; 6] {
        let (space, d, m) = (self.space, self.d, self.maxwellians);
        let (axis, along) = (&space.axes()[d], m.along(space, d));
        let mut means = powers::<6, FUSED>(axis, m.cells, along, &m.steepness);
        let [sum, ..] = means;
        for mean in &mut means {
            for i in 0..m.cells {
                mean[i] /= sum[i];
            }
        }
        means
    }
}

struct Newton<'a> {
    space: &'a VelocitySpace,
    maxwellians: &'a mut Maxwellians,
}

impl lanes::Job for Newton<'_> {
    type Output = [bool; TOGETHER];

    #[inline(always)]
    fn run<const FUSED: bool>(self) -> [bool; TOGETHER] {
        let (space, m) = (self.space, self.maxwellians);
        let n = m.cells.min(TOGETHER);
        let integrated = space.integrated() as f64;
        let none = [0.0; TOGETHER];
        // Cells that are still looked for, and that are found: 1.
        let (mut open, mut found) = ([1.0; TOGETHER], none);
        for _ in 0..MOST_STEPS {
            let mut product = [1.0; TOGETHER];
            let (mut squares, mut spread) = (none, none);
            // <w>, its covariance with w^2, and its variance.
            let mut flow = [[none, none, [1.0; TOGETHER]]; 2];
            for (d, axis) in space.axes().iter().enumerate() {
                let [s0, s1, s2, s3, s4] =
                    powers::<5, FUSED>(axis, n, m.along(space, d), &m.steepness);
                let [mean, covariance, variance] = &mut flow[d.min(1)];
                let moves = d < space.flow();
                for i in 0..n {
                    let inverse = 1.0 / s0[i];
                    let (m1, m2) = (s1[i] * inverse, s2[i] * inverse);
                    let (m3, m4) = (s3[i] * inverse, s4[i] * inverse);
                    product[i] *= s0[i];
                    squares[i] += m2;
                    spread[i] += m4 - m2 * m2;
                    if moves {
                        mean[i] = m1;
                        covariance[i] = m3 - m1 * m2;
                        variance[i] = m2 - m1 * m1;
                    }
                }
            }
            let [[mean_x, mixed_x, variance_x], [mean_y, mixed_y, variance_y]] = &flow;
            let [slope_x, slope_y] = &mut m.slope;
            for i in 0..n {
                let (t, c) = (m.temperature[i], m.steepness[i]);
                let half = integrated / (2.0 * c);
                let energy = squares[i] + half - 1.5 * t;
                let size = (mean_x[i].abs() + mean_y[i].abs()) / t.sqrt() + energy.abs() / t;
                let [along_x, along_y] = [mixed_x[i] / variance_x[i], mixed_y[i] / variance_y[i]];
                let right = energy - along_x * mean_x[i] - along_y * mean_y[i];
                let steep = spread[i] + half / c - along_x * mixed_x[i] - along_y * mixed_y[i];
                let change = (right / steep).clamp(-0.5 * c, c);
                let by_x = along_x * change - mean_x[i] / variance_x[i];
                let by_y = along_y * change - mean_y[i] / variance_y[i];
                // The logarithm of the product changes by this, to the first order.
                let growth = by_x * mean_x[i] + by_y * mean_y[i] - change * squares[i];
                let amplitude = m.density[i] / (product[i] * (1.0 + growth));
                let here = open[i] > 0.0;
                m.steepness[i] += if here { change } else { 0.0 };
                slope_x[i] += if here { by_x } else { 0.0 };
                slope_y[i] += if here { by_y } else { 0.0 };
                m.amplitude[i] = if here { amplitude } else { m.amplitude[i] };
                // Neither holds for a residual that is not a number.
                let (near, far) = (size < NEAR, (NEAR..f64::INFINITY).contains(&size));
                found[i] = if here && near { 1.0 } else { found[i] };
                open[i] = if here && far { 1.0 } else { 0.0 };
            }
            if open[..n].iter().all(|open| *open == 0.0) {
                break;
            }
        }
        found.map(|found| found > 0.0)
    }
}
