//! Discrete velocities of space: a product of three axes, each divided at zero, or angles round one axis.

use std::ops::Range;

use crate::bgk::quadrature::Rule;
use crate::compute::shares;
use crate::error::Result;
use crate::flow::share::Share;
use crate::flow::turn::Turn;
use crate::flow::volume::gas::{Coefficients, equilibrium};
use crate::maxwellian::lanes::LANES;

/// Velocities of one sign along an axis, the slowest first, and their widths.
#[derive(Clone, Debug, Default, PartialEq)]
pub(in crate::flow) struct Half {
    /// Velocities with their sign.
    pub(in crate::flow) v: Vec<f64>,
    /// Widths; for the linearised equation times the Maxwellian at rest of one component.
    pub(in crate::flow) w: Vec<f64>,
}

/// The velocities above zero along an axis, and those below.
pub(in crate::flow) type Axis = [Half; 2];

/// Nodes, octant by octant, padded with nodes of no weight to full lanes.
///
/// Octants: bit 0 for v_x < 0, bit 1 for v_y < 0, bit 2 for v_z < 0. Within one the velocities along x run slowest, those along z fastest.
/// Round an axis the first two are those of v_x > 0 and v_x < 0, others are empty; y is the radius, and z has one sign for both.
#[derive(Clone, Debug)]
pub(in crate::flow) struct Nodes {
    /// The axes.
    pub(in crate::flow) axes: [Axis; 3],
    /// Velocities along x, y and z.
    pub(in crate::flow) v: [Vec<f64>; 3],
    /// Volumes; for the linearised equation times the Maxwellian at rest.
    pub(in crate::flow) weight: Vec<f64>,
    /// The first node of each octant, and the end.
    pub(in crate::flow) first: [usize; 9],
    /// Pieces of each octant that are here: pairs of v_x and v_y with all v_z; round an axis eight pairs in all angles.
    pub(in crate::flow) pieces: [Range<usize>; 8],
    /// Nodes that count.
    pub(in crate::flow) count: usize,
    /// The angles round an axis.
    pub(in crate::flow) turn: Option<Turn>,
    /// The lowest temperature of a Maxwellian that the nodes hold.
    pub(in crate::flow) coldest: f64,
}

/// Temperature over the square of the distance between velocities at which sums over a Maxwellian are 4% off, by `2 exp(-pi^2 T/h^2)`.
const HELD: f64 = 0.4;

/// The lowest temperature of a Maxwellian that velocities with these widths along each axis hold.
pub(in crate::flow) fn coldest(axes: impl IntoIterator<Item = Vec<f64>>) -> f64 {
    let typical = |mut widths: Vec<f64>| {
        widths.sort_by(f64::total_cmp);
        widths.get(widths.len() / 2).copied().unwrap_or(0.0)
    };
    let widest = axes.into_iter().map(typical).fold(0.0, f64::max);
    HELD * widest * widest
}

/// Gauss points of both halves of an axis, for Maxwellians of a temperature.
///
/// # Errors
/// More points than a rule has.
pub(in crate::flow) fn gauss(points: usize, temperature: f64, linear: bool) -> Result<Axis> {
    let rule = Rule::half_hermite(points)?;
    let root = temperature.sqrt();
    let total: f64 = rule.weights.iter().sum();
    let widths = rule.nodes.iter().zip(&rule.weights).map(|(c, w)| {
        let share = 0.5 * w / total;
        match linear {
            true => share,
            false => share * std::f64::consts::PI.sqrt() * (c * c).exp() * root,
        }
    });
    let above = Half {
        v: rule.nodes.iter().map(|c| c * root).collect(),
        w: widths.collect(),
    };
    let below = above.mirrored();
    Ok([above, below])
}

/// Middles of equal cells between two ends, none of them at zero; where the ends lie evenly about zero, so do they.
pub(in crate::flow) fn uniform([low, high]: [f64; 2], step: f64) -> Axis {
    if low == -high {
        let cells = (high / step).ceil().max(1.0) as usize;
        let width = high / cells as f64;
        let middles = (0..cells).map(|k| (k as f64 + 0.5) * width);
        let above = Half {
            v: middles.collect(),
            w: vec![width; cells],
        };
        let below = above.mirrored();
        return [above, below];
    }
    let mut low = low;
    let cells = ((high - low) / step).ceil().max(2.0) as usize;
    let middle = |low: f64, k: usize| low + (high - low) * (k as f64 + 0.5) / cells as f64;
    if (0..cells).any(|k| middle(low, k).abs() < 1e-6 * step) {
        low -= 1e-3 * step;
    }
    let width = (high - low) / cells as f64;
    let half = |sign: f64| {
        let own = (0..cells)
            .map(|k| middle(low, k))
            .filter(|v| v * sign > 0.0);
        let mut v: Vec<f64> = own.collect();
        v.sort_by(|a, b| a.abs().total_cmp(&b.abs()));
        Half {
            w: vec![width; v.len()],
            v,
        }
    };
    [half(1.0), half(-1.0)]
}

impl Half {
    /// The same velocities with the other sign.
    fn mirrored(&self) -> Self {
        Self {
            v: self.v.iter().map(|v| -v).collect(),
            w: self.w.clone(),
        }
    }
}

impl Nodes {
    /// The product of three axes.
    pub(in crate::flow) fn new(axes: [Axis; 3]) -> Self {
        let widths = axes
            .iter()
            .map(|[a, b]| [a.w.clone(), b.w.clone()].concat());
        let mut nodes = Self {
            coldest: coldest(widths),
            v: Default::default(),
            weight: Vec::new(),
            first: [0; 9],
            pieces: Default::default(),
            count: 0,
            axes,
            turn: None,
        };
        for octant in 0..8 {
            let [x, y, z] = [0, 1, 2].map(|axis| &nodes.axes[axis][(octant >> axis) & 1]);
            nodes.pieces[octant] = 0..x.v.len() * y.v.len();
            for (vx, wx) in x.v.iter().zip(&x.w) {
                for (vy, wy) in y.v.iter().zip(&y.w) {
                    for (vz, wz) in z.v.iter().zip(&z.w) {
                        for (to, v) in nodes.v.iter_mut().zip([vx, vy, vz]) {
                            to.push(*v);
                        }
                        nodes.weight.push(wx * wy * wz);
                        nodes.count += 1;
                    }
                }
            }
            // Padding repeats the last node; an octant without velocities needs none.
            while !(nodes.weight.len() - nodes.first[octant]).is_multiple_of(LANES) {
                for to in &mut nodes.v {
                    let last = to[to.len() - 1];
                    to.push(last);
                }
                nodes.weight.push(0.0);
            }
            nodes.first[octant + 1] = nodes.weight.len();
        }
        nodes
    }

    /// The velocities of so many devices, or of fewer where there are few, with about as many pieces each. One device has a velocity and its images in mirrors, for
    /// these have the same place in their octants. A part has no padding of its own.
    pub(in crate::flow) fn divided(&self, devices: usize) -> Vec<(Self, Share)> {
        let most = self.pieces.iter().map(Range::len).max().unwrap_or(1);
        let parts = devices.min(most).max(1);
        (0..parts).map(|part| self.part(part, parts)).collect()
    }

    fn part(&self, part: usize, parts: usize) -> (Self, Share) {
        let mut own = Self {
            v: Default::default(),
            weight: Vec::new(),
            first: [0; 9],
            count: 0,
            ..self.clone()
        };
        let mut of = Vec::new();
        for octant in 0..8 {
            let all = self.pieces[octant].len();
            let here = shares(all, parts).into_iter().nth(part).unwrap_or(all..all);
            let len = match &self.turn {
                Some(turn) => LANES * turn.len(),
                None => self.axes[2][octant >> 2].v.len(),
            };
            let start = self.first[octant] + here.start * len;
            // The last piece has the padding behind it.
            let end = match here.end == all && !here.is_empty() {
                true => self.first[octant + 1],
                false => start + here.len() * len,
            };
            of.extend(start..end);
            for (to, from) in own.v.iter_mut().zip(&self.v) {
                to.extend_from_slice(&from[start..end]);
            }
            own.weight.extend_from_slice(&self.weight[start..end]);
            own.count += here.len() * len;
            own.first[octant + 1] = own.weight.len();
            let before = self.pieces[octant].start;
            own.pieces[octant] = before + here.start..before + here.end;
        }
        (own, Share::new(of, self.len()))
    }

    /// Velocities along x and y of an octant, with their widths.
    pub(in crate::flow) fn pairs(
        &self,
        octant: usize,
    ) -> impl Iterator<Item = [(f64, f64); 2]> + '_ {
        let [x, y] = [0, 1].map(|axis: usize| &self.axes[axis][(octant >> axis) & 1]);
        let pieces = self.pieces[octant].clone();
        pieces.map(move |k| {
            [(x, k / y.v.len()), (y, k % y.v.len())].map(|(half, k)| (half.v[k], half.w[k]))
        })
    }

    /// Nodes with padding.
    pub(in crate::flow) fn len(&self) -> usize {
        self.weight.len()
    }

    /// The velocity of a node.
    pub(in crate::flow) fn velocity(&self, m: usize) -> [f64; 3] {
        [self.v[0][m], self.v[1][m], self.v[2][m]]
    }

    /// Whether each node has a mirror image across an axis.
    pub(in crate::flow) fn is_symmetric(&self, axis: usize) -> bool {
        // The angles of both quarters are alike: their axis is empty.
        let [above, below] = &self.axes[axis];
        above.w == below.w && above.v.iter().zip(&below.v).all(|(a, b)| *a == -b)
    }

    /// The mirror image of a node across an axis about which the nodes are symmetric.
    pub(in crate::flow) fn image(&self, m: usize, axis: usize) -> usize {
        let octant = self.first.partition_point(|first| *first <= m) - 1;
        match &self.turn {
            Some(turn) if axis == 1 => {
                let angle = m / LANES % turn.len();
                m + (turn.len() - 1 - angle) * LANES - angle * LANES
            }
            _ => self.first[octant ^ (1 << axis)] + m - self.first[octant],
        }
    }

    /// Density and energy of a Maxwellian in the sums over the nodes.
    pub(in crate::flow) fn hold(&self, maxwellian: &Coefficients) -> [f64; 2] {
        let mut sums = [0.0; 2];
        for m in 0..self.len() {
            let v = self.velocity(m);
            let part = self.weight[m] * equilibrium(false, maxwellian, v);
            sums[0] += part;
            sums[1] += part * v.iter().map(|v| v * v).sum::<f64>();
        }
        sums
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_velocity_has_one_device_and_its_images_have_the_same() {
        let nodes = Nodes::new([
            uniform([-3.0, 6.0], 0.9),
            uniform([-4.2, 4.2], 0.6),
            gauss(3, 1.0, false).unwrap(),
        ]);
        for devices in [1, 2, 5, 64] {
            let mut seen = vec![0; nodes.len()];
            let parts = nodes.divided(devices);
            assert!(parts.len() <= devices);
            for (own, share) in &parts {
                let mut places = vec![f64::NAN; nodes.len()];
                let all: Vec<f64> = (0..nodes.len()).map(|m| m as f64).collect();
                let of = share.own(&all);
                share.put(&of, &mut places);
                for (m, &node) in of.iter().enumerate() {
                    let node = node as usize;
                    seen[node] += 1;
                    assert_eq!(places[node], node as f64);
                    assert_eq!(own.velocity(m), nodes.velocity(node));
                    assert_eq!(own.weight[m], nodes.weight[node]);
                    for axis in [1, 2] {
                        assert_eq!(of[own.image(m, axis)], nodes.image(node, axis) as f64);
                    }
                }
                // Pieces of three velocities, and the padding of each octant.
                let even = nodes.len() / parts.len();
                assert!(
                    of.len().abs_diff(even) <= 8 * (3 + LANES),
                    "{} {even}",
                    of.len()
                );
            }
            assert!(seen.iter().all(|count| *count == 1), "{seen:?}");
            let count: usize = parts.iter().map(|(own, _)| own.count).sum();
            assert_eq!(count, nodes.count);
        }
        assert_eq!(
            nodes.divided(1000).len(),
            nodes.pieces[0].len().max(nodes.pieces[1].len())
        );
    }

    #[test]
    fn nodes_integrate_maxwellians_and_have_images() {
        let sets = [
            [(); 3].map(|()| gauss(6, 1.2, false).unwrap()),
            [(); 3].map(|()| uniform([-4.2, 4.2], 0.6)),
            [
                uniform([-3.0, 6.0], 0.6),
                uniform([-4.2, 4.2], 0.6),
                gauss(7, 1.0, false).unwrap(),
            ],
        ];
        for (at, axes) in sets.into_iter().enumerate() {
            let nodes = Nodes::new(axes);
            let [density, energy] = nodes.hold(&crate::flow::volume::MAXWELLIAN_AT_REST);
            assert!((density - 1.0).abs() < 2e-4, "{at}: {density}");
            assert!((energy - 1.5).abs() < 2e-3, "{at}: {energy}");
            for axis in 0..3 {
                assert_eq!(nodes.is_symmetric(axis), at < 2 || axis > 0);
                if nodes.is_symmetric(axis) {
                    for m in 0..nodes.len() {
                        let mut v = nodes.velocity(m);
                        v[axis] = -v[axis];
                        assert_eq!(nodes.velocity(nodes.image(m, axis)), v);
                    }
                }
            }
        }
    }
}
