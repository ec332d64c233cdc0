//! Molecules that walls of bodies mirror: the part `1 - alpha` of Maxwell's boundary condition, with velocities of full space.
//!
//! At a wall across an axis the mirror image of a node is a node. At other walls it lies between nodes. There the ratio of the arriving molecules to a
//! Maxwellian is interpolated linearly among the nodes that arrive. A polynomial of the velocity, `1`, `v` and `v^2`, then corrects the result: mass, momentum
//! and energy that leave are those of the exact image.

use nalgebra::{DMatrix, DVector};
use rayon::prelude::*;

use super::gas::{Carried, Coefficients, MOMENTS, equilibrium};
use super::nodes::Nodes;
use super::space::{Facet, Space};
use crate::error::{Error, Result};
use crate::memory_plan::{bytes_of, check_host};
use rarefy_kernels::flow::volume::gas::add_flux;

/// A Maxwellian of smaller values has no ratios.
const TINY: f64 = 1e-250;

/// Corrections of an image that would be negative somewhere.
const REPEATS: usize = 4;

/// Copies of all images in an iteration, besides those that mixing keeps.
const COPIES: u64 = 6;

/// Walls that mirror a part of the molecules.
#[derive(Clone, Debug, Default)]
pub(in crate::flow) struct Partial {
    /// The facets of these walls.
    pub(in crate::flow) facets: Vec<usize>,
    /// The place of each facet among them, if it is one.
    place: Vec<Option<usize>>,
    /// The share of the molecules that each facet does not mirror.
    pub(in crate::flow) share: Vec<f64>,
    /// Where images are interpolated; none without such walls.
    lattice: Option<Lattice>,
}

impl Partial {
    /// The walls of facets that do not mirror these shares.
    pub(in crate::flow) fn new(share: Vec<f64>, nodes: &Nodes) -> Self {
        let facets: Vec<usize> = (0..share.len()).filter(|&s| share[s] < 1.0).collect();
        let mut place = vec![None; share.len()];
        for (at, &s) in facets.iter().enumerate() {
            place[s] = Some(at);
        }
        Self {
            lattice: (!facets.is_empty()).then(|| Lattice::new(nodes)),
            facets,
            place,
            share,
        }
    }

    /// Refuses such walls on a GPU, whose kernels have no images.
    ///
    /// # Errors
    /// The backend.
    pub(in crate::flow) fn check_device(&self) -> Result<()> {
        match self.facets.is_empty() {
            true => Ok(()),
            false => Err(Error::invalid(
                "backend",
                "a GPU for bodies in space or round an axis that mirror a part of the molecules",
                "`cpu`, or accommodation = 1",
            )),
        }
    }

    /// Refuses more images than memory has room for: those of an iteration, and of as many earlier ones as mixing keeps.
    ///
    /// # Errors
    /// The memory, and keys that take less.
    pub(in crate::flow) fn check_memory(&self, nodes: &Nodes, depth: usize) -> Result<()> {
        let values = (self.facets.len() * nodes.len()) as u64;
        let copies = 2 * (depth as u64 + 1) + COPIES;
        if values == 0 {
            return Ok(());
        }
        Ok(check_host(
            &format!(
                "images of {} velocities at {} walls that mirror a part",
                nodes.count,
                self.facets.len()
            ),
            bytes_of::<f64>(copies * values),
            "use accommodation = 1, fewer cells or velocities, or a smaller depth in [solver]",
        )?)
    }

    /// The images of a flow on its nodes; none without such walls.
    pub(in crate::flow) fn images<'a>(
        &'a self,
        nodes: &'a Nodes,
        linear: bool,
    ) -> Option<Images<'a>> {
        let lattice = self.lattice.as_ref()?;
        Some(Images {
            nodes,
            lattice,
            linear,
        })
    }

    /// The place of a facet among those that mirror a part, if it does.
    #[inline(always)]
    pub(in crate::flow) fn place_of(&self, facet: usize) -> Option<usize> {
        self.place.get(facet).copied().flatten()
    }
}

/// The nodes as a product of three axes, on which images are interpolated.
///
/// The axes are the components of the velocity. Round an axis they are that along it, the speed across it and the angle to the radius.
#[derive(Clone, Debug)]
struct Lattice {
    axes: [Vec<f64>; 3],
    /// The node of each point, the first axis slowest.
    node: Vec<usize>,
    is_round: bool,
}

impl Lattice {
    fn new(nodes: &Nodes) -> Self {
        let is_round = nodes.turn.is_some();
        let real = || (0..nodes.len()).filter(|&m| nodes.weight[m] != 0.0);
        let axes = [0, 1, 2].map(|axis: usize| {
            let mut all: Vec<f64> = real()
                .map(|m| coordinates(is_round, nodes.velocity(m))[axis])
                .collect();
            all.sort_by(f64::total_cmp);
            let apart = 1e-9 * all.iter().fold(0.0_f64, |most, x| most.max(x.abs()));
            all.dedup_by(|b, a| *b - *a <= apart);
            all
        });
        let mut lattice = Self {
            node: vec![0; axes.iter().map(Vec::len).product()],
            axes,
            is_round,
        };
        for m in real() {
            let point = coordinates(is_round, nodes.velocity(m));
            let at = [0, 1, 2].map(|axis: usize| {
                let [(low, share), (high, _)] = between(&lattice.axes[axis], point[axis]);
                if share >= 0.5 { low } else { high }
            });
            let place = lattice.place(at);
            lattice.node[place] = m;
        }
        lattice
    }

    fn place(&self, [a, b, c]: [usize; 3]) -> usize {
        (a * self.axes[1].len() + b) * self.axes[2].len() + c
    }

    /// The nodes around a velocity, with their shares.
    fn around(&self, v: [f64; 3]) -> impl Iterator<Item = (usize, f64)> + '_ {
        let point = coordinates(self.is_round, v);
        let [a, b, c] = [0, 1, 2].map(|axis: usize| between(&self.axes[axis], point[axis]));
        (0..8).map(move |corner: usize| {
            let ((i, x), (j, y), (k, z)) = (a[corner & 1], b[corner >> 1 & 1], c[corner >> 2]);
            (self.node[self.place([i, j, k])], x * y * z)
        })
    }
}

/// The coordinates of a velocity on the axes of the nodes.
fn coordinates(is_round: bool, [x, y, z]: [f64; 3]) -> [f64; 3] {
    match is_round {
        true => [x, y.hypot(z), z.atan2(y)],
        false => [x, y, z],
    }
}

/// The values of an ascending axis around a place, with their shares; beyond the ends the last one.
fn between(axis: &[f64], x: f64) -> [(usize, f64); 2] {
    let last = axis.len() - 1;
    let above = axis.partition_point(|value| *value <= x);
    if above == 0 || last == 0 {
        return [(0, 1.0), (0, 0.0)];
    }
    if above > last {
        return [(last, 1.0), (last, 0.0)];
    }
    let share = (x - axis[above - 1]) / (axis[above] - axis[above - 1]);
    [(above - 1, 1.0 - share), (above, share)]
}

/// Images on the nodes of a flow.
#[derive(Clone, Copy)]
pub(in crate::flow) struct Images<'a> {
    nodes: &'a Nodes,
    lattice: &'a Lattice,
    linear: bool,
}

impl Images<'_> {
    /// The images of what arrived at all partial walls, `[place][node]`. Ratios are those to the Maxwellian of each facet's cell.
    pub(in crate::flow) fn all(
        &self,
        space: &Space,
        partial: &Partial,
        cell: impl Fn(usize) -> Coefficients + Sync,
        (carried, arrived): (Carried, &[f64]),
    ) -> Vec<f64> {
        let count = self.nodes.len();
        let mut images = vec![0.0; partial.facets.len() * count];
        let places = images.par_chunks_mut(count).zip(arrived.par_chunks(count));
        let facets = places.zip(&partial.facets);
        facets.for_each(|((image, arrived), &s)| {
            let facet = &space.facets[s];
            self.one(facet, &cell(facet.cell), (carried, arrived), image);
        });
        images
    }

    fn one(
        &self,
        facet: &Facet,
        gas: &Coefficients,
        (carried, arrived): (Carried, &[f64]),
        image: &mut [f64],
    ) {
        let (nodes, normal) = (self.nodes, facet.normal);
        let axis = (0..3).find(|&k| normal[k].abs() > 1.0 - 1e-12 && nodes.is_symmetric(k));
        if let Some(axis) = axis {
            for m in self.leaving(normal) {
                image[m] = arrived[nodes.image(m, axis)];
            }
            return;
        }
        self.interpolate(normal, gas, arrived, image);
        match (carried, self.lattice.is_round) {
            (Carried::InternalEnergy, _) => self.correct::<1>(normal, arrived, image, |_| [1.0]),
            (Carried::Molecules, true) => self.correct::<4>(normal, arrived, image, |[x, r, z]| {
                [1.0, x, r, x * x + r * r + z * z]
            }),
            (Carried::Molecules, false) => {
                self.correct::<5>(normal, arrived, image, |[x, y, z]| {
                    [1.0, x, y, z, x * x + y * y + z * z]
                })
            }
        }
    }

    /// The nodes that leave a wall, without those of no weight.
    fn leaving(&self, normal: [f64; 3]) -> impl Iterator<Item = usize> + '_ {
        let nodes = self.nodes;
        (0..nodes.len())
            .filter(move |&m| nodes.weight[m] != 0.0 && through(nodes.velocity(m), normal) > 0.0)
    }

    /// The nodes that arrive at a wall, likewise.
    fn arriving(&self, normal: [f64; 3]) -> impl Iterator<Item = usize> + '_ {
        self.leaving(normal.map(|x| -x))
    }

    /// The ratio of the arrivals to the Maxwellian of a cell, interpolated at the images of the nodes that leave.
    fn interpolate(
        &self,
        normal: [f64; 3],
        gas: &Coefficients,
        arrived: &[f64],
        image: &mut [f64],
    ) {
        let nodes = self.nodes;
        let rest = |v: [f64; 3]| match self.linear {
            true => 1.0,
            false => equilibrium(false, gas, v),
        };
        let (mut sum, mut total) = (0.0, 0.0);
        let mut ratio = vec![0.0; nodes.len()];
        for m in self.arriving(normal) {
            let v = nodes.velocity(m);
            let (rest, part) = (rest(v), -nodes.weight[m] * through(v, normal));
            if rest > TINY {
                ratio[m] = arrived[m] / rest;
            }
            sum += part * arrived[m];
            total += part * rest;
        }
        let mean = if total > 0.0 { sum / total } else { 0.0 };
        for m in self.leaving(normal) {
            let from = reflected(nodes.velocity(m), normal);
            let (mut value, mut shares) = (0.0, 0.0);
            for (node, share) in self.lattice.around(from) {
                if through(nodes.velocity(node), normal) < 0.0 {
                    value += share * ratio[node];
                    shares += share;
                }
            }
            let near = if shares > 0.0 { value / shares } else { mean };
            image[m] = near * rest(from);
        }
    }

    /// Corrects an image so that the fluxes of functions of the velocity are those of the exact image.
    fn correct<const N: usize>(
        &self,
        normal: [f64; 3],
        arrived: &[f64],
        image: &mut [f64],
        functions: impl Fn([f64; 3]) -> [f64; N],
    ) {
        let nodes = self.nodes;
        let mut target = [0.0; N];
        for m in self.arriving(normal) {
            let v = nodes.velocity(m);
            let part = -nodes.weight[m] * through(v, normal) * arrived[m];
            let of = functions(reflected(v, normal));
            (0..N).for_each(|k| target[k] += part * of[k]);
        }
        for repeat in 1..=REPEATS {
            let mut missing = DVector::from_column_slice(&target);
            let mut matrix = DMatrix::zeros(N, N);
            for m in self.leaving(normal) {
                let v = nodes.velocity(m);
                let of = functions(v);
                let part = nodes.weight[m] * through(v, normal);
                // The linearised equation adds to the perturbation, others multiply the molecules.
                let base = if self.linear { part } else { part * image[m] };
                for a in 0..N {
                    missing[a] -= part * image[m] * of[a];
                    (0..N).for_each(|b| matrix[(a, b)] += base * of[a] * of[b]);
                }
            }
            // Nothing arrives, or at too few velocities.
            let Some(factors) = matrix.lu().solve(&missing) else {
                return;
            };
            if !factors.iter().all(|x| x.is_finite()) {
                return;
            }
            let mut least = f64::INFINITY;
            for m in self.leaving(normal) {
                let of = functions(nodes.velocity(m));
                let more = (0..N).map(|k| factors[k] * of[k]).sum::<f64>();
                match self.linear {
                    true => image[m] += more,
                    false if repeat < REPEATS => {
                        least = least.min(1.0 + more);
                        image[m] *= (1.0 + more).max(0.0);
                    }
                    false => image[m] *= 1.0 + more,
                }
            }
            if self.linear || least >= 0.0 {
                return;
            }
        }
    }

    /// Moments of an image, a unit area.
    pub(in crate::flow) fn moments(&self, facet: &Facet, image: &[f64]) -> [f64; MOMENTS] {
        let mut sums = [0.0; MOMENTS];
        for m in self.leaving(facet.normal) {
            let v = self.nodes.velocity(m);
            let part = self.nodes.weight[m] * through(v, facet.normal) * image[m];
            add_flux::<f64, false>(&mut sums, v, part);
        }
        if self.nodes.turn.is_some() {
            // The half turn has no swirl.
            sums[3] = 0.0;
        }
        sums
    }
}

/// The component of a velocity along a normal.
fn through(v: [f64; 3], normal: [f64; 3]) -> f64 {
    v[0] * normal[0] + v[1] * normal[1] + v[2] * normal[2]
}

/// The mirror image of a velocity.
fn reflected(v: [f64; 3], normal: [f64; 3]) -> [f64; 3] {
    let twice = 2.0 * through(v, normal);
    [0, 1, 2].map(|k: usize| v[k] - twice * normal[k])
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::flow::ring;
    use crate::flow::turn::Turn;
    use crate::flow::volume::{MAXWELLIAN_AT_REST, gauss, uniform};

    fn sets() -> Vec<(Nodes, bool)> {
        let even = uniform([-5.0, 5.0], 0.7);
        let points = |linear| gauss(8, 1.0, linear).unwrap();
        vec![
            (
                Nodes::new([even.clone(), even.clone(), even.clone()]),
                false,
            ),
            (Nodes::new([points(true), points(true), points(true)]), true),
            (
                ring::nodes_of(
                    even,
                    &ring::spread(5.0, 0.7).unwrap(),
                    Turn::new(16).unwrap(),
                ),
                false,
            ),
            (
                ring::nodes_of(
                    points(true),
                    &ring::gauss(8, 1.0, true).unwrap(),
                    Turn::new(16).unwrap(),
                ),
                true,
            ),
        ]
    }

    fn facet(normal: [f64; 3]) -> Facet {
        Facet {
            cell: 0,
            area: 1.0,
            normal,
            point: [0.0; 3],
            body: 0,
            corners: Vec::new(),
        }
    }

    /// Fluxes of the image of a drifting gas against those of the arrivals, and its values against the exact image.
    #[test]
    fn images_keep_mass_momentum_and_energy() {
        for (nodes, linear) in sets() {
            let lattice = Lattice::new(&nodes);
            let images = Images {
                nodes: &nodes,
                lattice: &lattice,
                linear,
            };
            let is_round = nodes.turn.is_some();
            let mut seen = lattice.node.clone();
            seen.sort_unstable();
            seen.dedup();
            assert_eq!(seen.len(), nodes.count);
            for turn in [0.0, 0.3, 0.7, 1.2, std::f64::consts::FRAC_PI_2] {
                let (sin, cos) = f64::sin_cos(turn);
                let normal = if is_round {
                    [sin, cos, 0.0]
                } else {
                    [0.8 * sin, cos, 0.6 * sin]
                };
                let of = |[x, y, z]: [f64; 3]| match linear {
                    true => 1.0 + 0.4 * x - 0.3 * y + 0.1 * x * y,
                    false => {
                        let square = (x + 0.6).powi(2) + (y - 0.2) * (y - 0.2) + z * z;
                        1.3 * (-square / 1.2).exp()
                    }
                };
                let facet = facet(normal);
                let arrived: Vec<f64> = (0..nodes.len()).map(|m| of(nodes.velocity(m))).collect();
                let mut image = vec![0.0; nodes.len()];
                images.one(
                    &facet,
                    &MAXWELLIAN_AT_REST,
                    (Carried::Molecules, &arrived),
                    &mut image,
                );
                let (mut net, mut whole) = ([0.0; MOMENTS], 0.0);
                let (mut off, mut all) = (0.0, 0.0);
                for m in 0..nodes.len() {
                    let v = nodes.velocity(m);
                    let speed = through(v, normal);
                    let part = nodes.weight[m] * speed;
                    if speed < 0.0 {
                        add_flux::<f64, false>(&mut net, reflected(v, normal), part * arrived[m]);
                        whole -= part * arrived[m];
                    } else {
                        add_flux::<f64, false>(&mut net, v, part * image[m]);
                        off += part * (image[m] - of(reflected(v, normal))).abs();
                        all += part * of(reflected(v, normal)).abs();
                    }
                }
                if is_round {
                    net[3] = 0.0;
                }
                let most = net.iter().fold(0.0_f64, |most, x| most.max(x.abs()));
                assert!(most < 1e-11 * whole, "{turn} {is_round}: {net:?}");
                assert!(off < 0.06 * all, "{turn} {is_round}: {}", off / all);
                if !linear {
                    assert!(image.iter().all(|f| *f >= -1e-12));
                }
            }
        }
    }
}
