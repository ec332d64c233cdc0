//! Discrete velocities, in chunks of a quadrant that a vector register takes.

use std::collections::HashMap;
use std::f64::consts::{FRAC_PI_2, PI};

use crate::bgk::quadrature::Rule;
use crate::compute::shares;
use crate::error::{Error, Result};
use crate::flow::gas::{Coefficients, add, equilibrium};
use crate::flow::share::Share;
use crate::maxwellian::lanes::LANES;

/// Velocities of one quadrant that are swept together.
#[derive(Clone, Copy, Debug)]
pub(in crate::flow) struct Chunk {
    /// Its first node.
    pub(in crate::flow) first: usize,
    /// 0 to 3: bit 0 for v_x < 0, bit 1 for v_y < 0.
    pub(in crate::flow) quadrant: usize,
    /// Whether it marches along y, line by line along x.
    pub(in crate::flow) columns: bool,
}

/// Nodes, ordered by quadrant and padded with nodes of no weight to full chunks.
#[derive(Clone, Debug)]
pub(in crate::flow) struct Nodes {
    pub(in crate::flow) vx: Vec<f64>,
    pub(in crate::flow) vy: Vec<f64>,
    /// Volumes; for the linearised equation times the Maxwellian at rest.
    pub(in crate::flow) weight: Vec<f64>,
    pub(in crate::flow) chunks: Vec<Chunk>,
    /// The node with the opposite v_x, and with the opposite v_y.
    pub(in crate::flow) mirrored: [Vec<usize>; 2],
    /// Nodes of one speed each, where they lie so.
    pub(in crate::flow) rings: Vec<Ring>,
    /// Nodes that count.
    pub(in crate::flow) count: usize,
}

/// Nodes of one speed in the order of their angles.
#[derive(Clone, Debug)]
pub(in crate::flow) struct Ring {
    pub(in crate::flow) nodes: Vec<usize>,
    /// From 0 to a whole turn.
    pub(in crate::flow) angles: Vec<f64>,
}

/// A list of velocities with their volumes.
type List = Vec<([f64; 2], f64)>;

/// Gauss speeds in directions of the plane.
///
/// Angles are at the midpoints of equal parts, or for `graded` ones denser towards the axes, by `u^2/(u^2 + (1-u)^2)` of Gauss points.
///
/// # Errors
/// More speeds than a rule has.
pub(in crate::flow) fn polar(
    angles: usize,
    speeds: usize,
    temperature: f64,
    graded: bool,
    linear: bool,
) -> Result<List> {
    let radial = Rule::radial(speeds)?;
    let quarter = angles / 4;
    let directions: Vec<(f64, f64)> = if graded {
        let rule = Rule::legendre(quarter)?;
        let pairs = rule.nodes.iter().zip(&rule.weights);
        pairs
            .map(|(&x, &w)| {
                let (u, w) = (0.5 * (x + 1.0), 0.5 * w);
                let rest = 1.0 - u;
                let sum = u * u + rest * rest;
                let slope = 2.0 * u * rest / (sum * sum);
                (FRAC_PI_2 * u * u / sum, FRAC_PI_2 * w * slope)
            })
            .collect()
    } else {
        let step = FRAC_PI_2 / quarter as f64;
        let angle = |k: usize| (k as f64 + 0.5) * step;
        (0..quarter).map(|k| (angle(k), step)).collect()
    };
    let total: f64 = radial.weights.iter().sum();
    let root = temperature.sqrt();
    let mut list = List::new();
    for quadrant in 0..4 {
        let sign = |bit: usize| if quadrant & bit == 0 { 1.0 } else { -1.0 };
        for &(angle, part) in &directions {
            let (sin, cos) = angle.sin_cos();
            for (&c, &w) in radial.nodes.iter().zip(&radial.weights) {
                // The rule has the weight 2 c exp(-c^2): shares of the Maxwellian at rest.
                let share = w / total * part / (2.0 * PI);
                let volume = match linear {
                    true => share,
                    false => share * PI * (c * c).exp() * temperature,
                };
                let v = [sign(1) * c * cos * root, sign(2) * c * sin * root];
                list.push((v, volume));
            }
        }
    }
    Ok(list)
}

/// Cells of a uniform grid over a box; along y it is symmetric.
pub(in crate::flow) fn uniform([low, high]: [[f64; 2]; 2], step: f64) -> List {
    let reach = high[1].max(-low[1]);
    let (mut a, b) = (low[0], high[0]);
    let mut nx = ((b - a) / step).ceil().max(2.0) as usize;
    if a == -b {
        nx += nx % 2;
    }
    let ny = 2 * (reach / step).ceil().max(1.0) as usize;
    let middle = |a: f64, k: usize| a + (b - a) * (k as f64 + 0.5) / nx as f64;
    // No velocity runs along the y axis.
    if (0..nx).any(|k| middle(a, k).abs() < 1e-6 * step) {
        a -= 1e-3 * step;
    }
    let dx = (b - a) / nx as f64;
    let dy = 2.0 * reach / ny as f64;
    let mut list = List::with_capacity(nx * ny);
    for j in 0..ny {
        for i in 0..nx {
            let v = [middle(a, i), (j as f64 + 0.5 - 0.5 * ny as f64) * dy];
            list.push((v, dx * dy));
        }
    }
    list
}

impl Nodes {
    /// Orders a list of velocities.
    ///
    /// `columns` lets the nodes with |v_y| > |v_x| march along y.
    ///
    /// # Errors
    /// A velocity along an axis, whose sweep has no direction.
    pub(in crate::flow) fn new(list: &List, columns: impl Fn([f64; 2]) -> bool) -> Result<Self> {
        let mut nodes = Self {
            vx: Vec::new(),
            vy: Vec::new(),
            weight: Vec::new(),
            chunks: Vec::new(),
            mirrored: [Vec::new(), Vec::new()],
            rings: Vec::new(),
            count: list.len(),
        };
        for quadrant in 0..4 {
            for along_y in [false, true] {
                let mut members: List = list
                    .iter()
                    .copied()
                    .filter(|&(v, _)| quadrant_of(v) == quadrant && columns(v) == along_y)
                    .collect();
                members.sort_by(|(v, _), (u, _)| {
                    let key = |v: &[f64; 2]| [v[0].abs(), v[1].abs()];
                    let ([a, b], [c, d]) = (key(v), key(u));
                    a.total_cmp(&c).then(b.total_cmp(&d))
                });
                let Some(&(last, _)) = members.last() else {
                    continue;
                };
                while !members.len().is_multiple_of(LANES) {
                    members.push((last, 0.0));
                }
                let first = nodes.vx.len();
                nodes
                    .chunks
                    .extend(
                        (first..first + members.len())
                            .step_by(LANES)
                            .map(|first| Chunk {
                                first,
                                quadrant,
                                columns: along_y,
                            }),
                    );
                for ([vx, vy], weight) in members {
                    if vx.abs() < 1e-12 || vy.abs() < 1e-12 {
                        return Err(Error::Numerical(format!(
                            "the velocity ({vx}, {vy}) runs along an axis; shift the grid of velocities"
                        )));
                    }
                    nodes.vx.push(vx);
                    nodes.vy.push(vy);
                    nodes.weight.push(weight);
                }
            }
        }
        nodes.find_mirrors();
        nodes.find_rings();
        Ok(nodes)
    }

    /// The velocities of so many devices, or of fewer where there are few, with about as many chunks each. One device has a velocity and its images in mirrors, for
    /// these have the same place in their quadrants.
    pub(in crate::flow) fn divided(&self, devices: usize) -> Vec<(Self, Share)> {
        let alike = |a: &Chunk, b: &Chunk| (a.quadrant, a.columns) == (b.quadrant, b.columns);
        let groups: Vec<&[Chunk]> = self.chunks.chunk_by(alike).collect();
        let most = groups.iter().map(|group| group.len()).max().unwrap_or(1);
        let parts = devices.min(most).max(1);
        (0..parts)
            .map(|part| self.part(&groups, part, parts))
            .collect()
    }

    fn part(&self, groups: &[&[Chunk]], part: usize, parts: usize) -> (Self, Share) {
        let (mut chunks, mut of) = (Vec::new(), Vec::new());
        for group in groups {
            let here = shares(group.len(), parts).into_iter().nth(part);
            for chunk in &group[here.unwrap_or_default()] {
                chunks.push(Chunk {
                    first: of.len(),
                    ..*chunk
                });
                of.extend(chunk.first..chunk.first + LANES);
            }
        }
        let take = |all: &[f64]| -> Vec<f64> { of.iter().map(|&m| all[m]).collect() };
        let weight = take(&self.weight);
        let mut own = Self {
            vx: take(&self.vx),
            vy: take(&self.vy),
            chunks,
            mirrored: Default::default(),
            rings: Vec::new(),
            count: weight.iter().filter(|weight| **weight > 0.0).count(),
            weight,
        };
        own.find_mirrors();
        (own, Share::new(of, self.len()))
    }

    /// Nodes with padding.
    pub(in crate::flow) fn len(&self) -> usize {
        self.vx.len()
    }

    /// Density and energy of a Maxwellian in the sums over the nodes.
    pub(in crate::flow) fn hold(&self, maxwellian: &Coefficients) -> [f64; 2] {
        let mut sums = [0.0; 2];
        for m in 0..self.len() {
            let v = [self.vx[m], self.vy[m]];
            let [g, h] = equilibrium::<false>(maxwellian, v, f64::exp);
            let square = v[0] * v[0] + v[1] * v[1];
            add(
                &mut sums,
                [self.weight[m] * g, self.weight[m] * (square * g + h)],
            );
        }
        sums
    }

    /// Whether each node has a mirror image along an axis.
    pub(in crate::flow) fn is_symmetric(&self, axis: usize) -> bool {
        !self.mirrored[axis].contains(&usize::MAX)
    }

    /// Rings of equal speed; none where the speeds are all different, as on a uniform grid.
    fn find_rings(&mut self) {
        let mut rings: HashMap<i64, Vec<usize>> = HashMap::new();
        let speed = |m: usize| self.vx[m].hypot(self.vy[m]);
        let scale = (0..self.len()).map(speed).fold(0.0, f64::max);
        for m in (0..self.len()).filter(|&m| self.weight[m] > 0.0) {
            let key = (speed(m) / scale * 1e9).round() as i64;
            rings.entry(key).or_default().push(m);
        }
        if rings.values().any(|ring| ring.len() < 8) {
            return;
        }
        let mut rings: Vec<(i64, Vec<usize>)> = rings.into_iter().collect();
        rings.sort_by_key(|ring| ring.0);
        let turn = |m: usize| self.vy[m].atan2(self.vx[m]).rem_euclid(2.0 * PI);
        self.rings = rings
            .into_iter()
            .map(|(_, mut nodes)| {
                nodes.sort_by(|&a, &b| turn(a).total_cmp(&turn(b)));
                Ring {
                    angles: nodes.iter().map(|&m| turn(m)).collect(),
                    nodes,
                }
            })
            .collect();
    }

    fn find_mirrors(&mut self) {
        let scale = self
            .vx
            .iter()
            .chain(&self.vy)
            .fold(0.0_f64, |m, v| m.max(v.abs()));
        let key = |v: [f64; 2]| v.map(|v| (v / scale * 1e9).round() as i64);
        let mut places = HashMap::new();
        for m in (0..self.len()).rev() {
            if self.weight[m] > 0.0 {
                places.insert(key([self.vx[m], self.vy[m]]), m);
            }
        }
        for axis in 0..2 {
            self.mirrored[axis] = (0..self.len())
                .map(|m| {
                    let mut v = [self.vx[m], self.vy[m]];
                    v[axis] = -v[axis];
                    places.get(&key(v)).copied().unwrap_or(usize::MAX)
                })
                .collect();
        }
    }
}

fn quadrant_of(v: [f64; 2]) -> usize {
    usize::from(v[0] < 0.0) + 2 * usize::from(v[1] < 0.0)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn polar_nodes_integrate_maxwellians() {
        for graded in [false, true] {
            let list = polar(48, 12, 1.2, graded, false).unwrap();
            let integral = |f: &dyn Fn(f64) -> f64| -> f64 {
                list.iter()
                    .map(|&([x, y], w)| {
                        let square = x * x + y * y;
                        w * (-square).exp() / PI * f(square)
                    })
                    .sum()
            };
            assert!((integral(&|_| 1.0) - 1.0).abs() < 1e-6, "{graded}");
            assert!((integral(&|s| s) - 1.0).abs() < 1e-5, "{graded}");
        }
    }

    #[test]
    fn each_node_has_one_device_and_its_images_have_the_same() {
        let [polar, even] = [
            polar(48, 5, 1.2, false, false).unwrap(),
            uniform([[-4.0, -3.0], [4.0, 3.0]], 0.3),
        ];
        for (list, devices) in [(polar, 3), (even, 4)] {
            let nodes = Nodes::new(&list, |_| false).unwrap();
            let mut seen = vec![0; nodes.len()];
            let all: Vec<f64> = (0..nodes.len()).map(|m| m as f64).collect();
            let parts = nodes.divided(devices);
            assert_eq!(parts.len(), devices);
            for (own, share) in parts {
                assert!(own.is_symmetric(0) && own.is_symmetric(1));
                for (m, node) in share.own(&all).into_iter().enumerate() {
                    let node = node as usize;
                    seen[node] += 1;
                    let of = |nodes: &Nodes, m: usize| [nodes.vx[m], nodes.vy[m], nodes.weight[m]];
                    assert_eq!(of(&own, m), of(&nodes, node));
                }
            }
            assert!(seen.iter().all(|count| *count == 1), "{seen:?}");
        }
    }

    #[test]
    fn chunks_are_of_one_quadrant_and_mirrors_are_found() {
        let list = polar(16, 5, 1.0, false, true).unwrap();
        let nodes = Nodes::new(&list, |[vx, vy]| vy.abs() > vx.abs()).unwrap();
        assert_eq!(nodes.count, 80);
        assert!((nodes.weight.iter().sum::<f64>() - 1.0).abs() < 1e-14);
        for chunk in &nodes.chunks {
            for m in chunk.first..chunk.first + LANES {
                assert_eq!(quadrant_of([nodes.vx[m], nodes.vy[m]]), chunk.quadrant);
                let other = nodes.mirrored[0][m];
                assert!((nodes.vx[other] + nodes.vx[m]).abs() < 1e-14);
                assert_eq!(nodes.vy[other], nodes.vy[m]);
            }
        }
    }
}
