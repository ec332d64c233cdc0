//! The discrete Maxwellians of many cells at once, by Newton's method.
//!
//! Loops run over the cells, whose number the compiler does not know: so it makes vectors of them.

#![allow(
    clippy::needless_range_loop,
    reason = "an index runs over several rows at once, which the compiler makes vectors of"
)]

use super::cells::{Axes, Maxwellians, Row, TOGETHER};
use super::lanes::{self, LaneReal};

/// Newton steps after which a Maxwellian counts as not there; from the continuum's values two or three do, far from them some more.
const MOST_STEPS: usize = 60;
/// A residual whose square is roundoff: the step that starts from it is the last, and need not be looked at.
const NEAR: f64 = 1e-8;

impl<const D: usize> Maxwellians<D> {
    /// Finds amplitudes, slopes and inverse temperatures for which the sums over the nodes are the states', from those that are there. Tells of each cell
    /// whether it did.
    pub(crate) fn conserve(&mut self, space: &impl Axes) -> [bool; TOGETHER] {
        lanes::on_widest(Newton {
            space,
            maxwellians: self,
        })
    }

    /// The means of `w^k`, k < 6, along an axis of the space.
    pub(crate) fn mean_powers(&self, space: &impl Axes, d: usize) -> [Row; 6] {
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
    (nodes, weights): (&[f64], &[f64]),
    cells: usize,
    [mean, slope]: [&Row; 2],
    c: &Row,
) -> [Row; N] {
    let mut sums = [[0.0; TOGETHER]; N];
    let (mean, slope, c) = (&mean[..cells], &slope[..cells], &c[..cells]);
    for (v, weight) in nodes.iter().zip(weights) {
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

/// The means of `w^k`, k < 6, along an axis.
struct Means<'a, A, const D: usize> {
    space: &'a A,
    d: usize,
    maxwellians: &'a Maxwellians<D>,
}

impl<A: Axes, const D: usize> lanes::Job for Means<'_, A, D> {
    type Output = [Row; 6];

    #[inline(always)]
    fn run<const FUSED: bool>(self) -> [Row; 6] {
        let (space, d, m) = (self.space, self.d, self.maxwellians);
        let (axis, along) = (space.axis(d), m.along(space, d));
        let mut means = powers::<6, FUSED>(axis, m.cells, along, &m.inverse_temperature);
        let [sum, ..] = means;
        for mean in &mut means {
            for i in 0..m.cells {
                mean[i] /= sum[i];
            }
        }
        means
    }
}

/// Newton's method for amplitudes, slopes and inverse temperatures; the result is whether each was found.
struct Newton<'a, A, const D: usize> {
    space: &'a A,
    maxwellians: &'a mut Maxwellians<D>,
}

impl<A: Axes, const D: usize> lanes::Job for Newton<'_, A, D> {
    type Output = [bool; TOGETHER];

    #[inline(always)]
    fn run<const FUSED: bool>(self) -> [bool; TOGETHER] {
        let (space, m) = (self.space, self.maxwellians);
        let n = m.cells.min(TOGETHER);
        let integrated = space.unresolved() as f64;
        let none = [0.0; TOGETHER];
        // Cells that are still looked for, and that are found: 1.
        let (mut open, mut found) = ([1.0; TOGETHER], none);
        for _ in 0..MOST_STEPS {
            let mut product = [1.0; TOGETHER];
            let (mut squares, mut spread) = (none, none);
            // <w>, its covariance with w^2, and its variance.
            let mut flow = [[none, none, [1.0; TOGETHER]]; D];
            for d in 0..space.count() {
                let [s0, s1, s2, s3, s4] =
                    powers::<5, FUSED>(space.axis(d), n, m.along(space, d), &m.inverse_temperature);
                let [mean, covariance, variance] = &mut flow[d.min(D - 1)];
                let moves = d < space.moving();
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
            for i in 0..n {
                let (t, c) = (m.temperature[i], m.inverse_temperature[i]);
                let half = integrated / (2.0 * c);
                let energy = squares[i] + half - 1.5 * t;
                let mut drift = 0.0;
                let mut right = energy;
                let mut steep = spread[i] + half / c;
                for [mean, mixed, variance] in &flow {
                    let along = mixed[i] / variance[i];
                    drift += mean[i].abs();
                    right -= along * mean[i];
                    steep -= along * mixed[i];
                }
                let size = drift / t.sqrt() + energy.abs() / t;
                // Not clamp, which fails where c is no number.
                let change = (right / steep).max(-0.5 * c).min(c);
                let here = open[i] > 0.0;
                // The logarithm of the product changes by this, to the first order.
                let mut growth = 0.0;
                for ([mean, mixed, variance], slope) in flow.iter().zip(&mut m.slope) {
                    let by = mixed[i] / variance[i] * change - mean[i] / variance[i];
                    growth += by * mean[i];
                    slope[i] += if here { by } else { 0.0 };
                }
                growth -= change * squares[i];
                let amplitude = m.density[i] / (product[i] * (1.0 + growth));
                m.inverse_temperature[i] += if here { change } else { 0.0 };
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
