//! Internal energy of molecules that rotate: one more sweep, of the second function E of [`rotation`].
//!
//! E streams as the molecules do and meets them in the cells alone. On a line the cell's balance is that of the molecules,
//!
//! ```text
//! E_P = (nu S_E + b E_in)/(nu + b),     S_E = (d/2) T_r* S_F + k_r.c M,   k_r = 4 Q_r/(n T*)
//! ```
//!
//! and its sums are those of `E - S_E` and the heat flux `<c E>/2`. In the linearised equation the excess b takes the place of E. The sweep is on the CPU, in f64.

#![allow(
    clippy::needless_range_loop,
    reason = "a lane index runs over several arrays at once, which the compiler makes vectors of"
)]

use rayon::prelude::*;

use super::plan::{COEFFICIENTS, EAST, INTERNAL, Plan, WEST, upward};
use super::sums::{InternalSums, Swept, flux};
use crate::bgk::Rotation;
use crate::bgk::rotation::{self, Relaxed};
use crate::maxwellian::lanes::{self, LANES, LaneReal, Lanes, fma};

/// Tasks that the velocities are divided into.
const TASKS: usize = 16;

/// A cell's equilibrium of both functions.
#[derive(Clone, Copy, Debug)]
pub(super) struct Equilibrium {
    /// The numbers of the molecules.
    pub(super) molecules: [f64; COEFFICIENTS],
    /// `(d/2) T_r*`.
    half: f64,
    /// k_r; in the linearised equation 4 Q_r.
    drift: [f64; 2],
}

impl Plan {
    /// The state to which a cell relaxes.
    pub(super) fn relaxed(&self, rotation: &Rotation, x: &[f64], cell: usize) -> Relaxed<6, 3> {
        let at = |k: usize| x[k * self.layout.cells + cell];
        let w = std::array::from_fn(at);
        let e = std::array::from_fn(|k| at(INTERNAL + k));
        rotation::relaxed(rotation, self.linear, &w, &e)
    }

    /// Temperatures of translation and of rotation; in the linear case their perturbations.
    pub(super) fn temperatures(&self, rotation: &Rotation, x: &[f64], cell: usize) -> [f64; 2] {
        let at = |k: usize| x[k * self.layout.cells + cell];
        let w: [f64; 6] = std::array::from_fn(at);
        rotation::temperatures(rotation, self.linear, &w, &[at(INTERNAL)])
    }

    /// The internal energy of a cell at a density and a temperature of rotation.
    pub(super) fn internal_energy(&self, rotation: &Rotation, n: f64, t_r: f64) -> f64 {
        let half = 0.5 * rotation.freedom;
        match self.linear {
            true => half * t_r,
            false => half * n * t_r,
        }
    }

    /// Both equilibria of a cell.
    pub(super) fn both_equilibria(
        &self,
        rotation: &Rotation,
        x: &[f64],
        cell: usize,
    ) -> Equilibrium {
        let to = self.relaxed(rotation, x, cell);
        let w = to.molecules;
        let state = match self.linear {
            true => [w[0], w[1], w[2], w[3] / 1.5 - w[0]],
            false => self.state([w[0], w[1], w[2], w[3]]),
        };
        let mut molecules = self.local(state, [w[4], w[5]].map(|q| 1.6 * q));
        let [e, q_x, q_y] = to.internal;
        let mut half = e;
        let mut drift = [q_x, q_y].map(|q| 4.0 * q);
        if !self.linear {
            let [n, .., t] = state;
            let nu = n * to.translational.powf(1.0 - self.omega);
            molecules[6] = self.frequency * nu;
            half /= n;
            drift = drift.map(|k| k / (n * t));
        }
        Equilibrium {
            molecules,
            half,
            drift,
        }
    }

    /// The equilibrium of internal energy at a node.
    fn internal_equilibrium(&self, of: &Equilibrium, node: usize) -> f64 {
        let [vx, vy, vz2, _] = self.nodes[node];
        let c = &of.molecules;
        if self.linear {
            return of.half + of.drift[0] * vx + of.drift[1] * vy;
        }
        let (cx, cy) = (vx - c[1], vy - c[2]);
        let maxwellian = c[0] * (-(cx * cx + cy * cy + vz2) * c[3]).exp();
        let [first, _] = self.equilibrium(c, node);
        of.half * first + (of.drift[0] * cx + of.drift[1] * cy) * maxwellian
    }

    /// Internal energy that comes in at a node of an end of the line.
    pub(super) fn incoming_internal(&self, x: &[f64], side: usize, node: usize) -> f64 {
        let (Some(s), Some(rotation)) = (&self.sides[side], &self.rotation) else {
            return 0.0;
        };
        let half = 0.5 * rotation.freedom;
        let rho = x[self.layout.faces_at() + self.layout.faces[side]];
        let emitted = match self.linear {
            true => half * (s.temperature - 1.0),
            false => half * s.temperature * (s.a[0][node] * rho + s.b[0][node]),
        };
        let returned = s.returned.map_or(0.0, |(_, mirrored)| {
            x[s.internal + self.partner(side, node, mirrored)]
        });
        s.share * emitted + (1.0 - s.share) * returned
    }

    /// Where the internal energy that leaves through a side is kept for the side to which it returns.
    pub(super) fn record_internal(&self, side: usize) -> Option<usize> {
        let mut sides = self.sides.iter().flatten();
        let to = sides.find(|s| s.returned.is_some_and(|(from, _)| from == side));
        to.map(|s| s.internal)
    }

    /// The internal energy at the start: that of the temperature, in the cells and in what returns.
    pub(super) fn start_internal(&self, x: &mut [f64]) {
        let Some(rotation) = &self.rotation else {
            return;
        };
        let cells = self.layout.cells;
        for cell in 0..cells {
            let [n, _, _, t] = self.primitive(x, cell);
            x[INTERNAL * cells + cell] = self.internal_energy(rotation, n, t);
        }
        for side in [WEST, EAST] {
            let returned = self.sides[side].as_ref().and_then(|s| s.returned);
            let Some((from, offset)) =
                returned.and_then(|(from, _)| Some((from, self.record_internal(from)?)))
            else {
                continue;
            };
            let of = self.both_equilibria(rotation, x, self.boundary_cell(from, 0));
            for node in (0..self.nodes.len()).filter(|&node| self.leaves(from, node)) {
                x[offset + node] = self.internal_equilibrium(&of, node);
            }
        }
    }

    /// Sums of a sweep of internal energy at `x`, one velocity after the other. `leave` takes the internal energy that leaves, with its side and node.
    fn internal_by_nodes(
        &self,
        x: &[f64],
        mut leave: impl FnMut(usize, usize, f64),
    ) -> InternalSums {
        let mut sums = InternalSums::none(self.nx);
        let Some(rotation) = &self.rotation else {
            return sums;
        };
        let equilibria = self.all_equilibria(rotation, x);
        let factor = if self.diamond { 2.0 } else { 1.0 };
        for node in 0..self.nodes.len() {
            let [vx, vy, _, w] = self.nodes[node];
            let east = upward(self.group(node), 0);
            let mut beside = self.incoming_internal(x, if east { WEST } else { EAST }, node);
            sums.fluxes[if east { 0 } else { self.nx }] += 0.5 * w * vx * beside;
            sums.ends[usize::from(!east)] += w * beside;
            for step in 0..self.nx {
                let cell = if east { step } else { self.nx - 1 - step };
                let of = &equilibria[cell];
                let (nu, s) = (of.molecules[6], self.internal_equilibrium(of, node));
                let b = factor * vx.abs() * self.inverse[0][cell];
                let e = (nu * s + b * beside) / (nu + b);
                beside = if self.diamond { 2.0 * e - beside } else { e };
                let u = self.drift_of(of);
                let found = &mut sums.cells[cell];
                found[0] += w * (e - s);
                found[1] += 0.5 * w * (vx - u[0]) * e;
                found[2] += 0.5 * w * (vy - u[1]) * e;
                sums.fluxes[cell + usize::from(east)] += 0.5 * w * vx * beside;
            }
            sums.ends[usize::from(east)] += w * beside;
            leave(usize::from(east), node, beside);
        }
        sums
    }

    fn all_equilibria(&self, rotation: &Rotation, x: &[f64]) -> Vec<Equilibrium> {
        let cells = 0..self.layout.cells;
        cells
            .map(|cell| self.both_equilibria(rotation, x, cell))
            .collect()
    }

    /// The velocity about which a cell's heat flux is.
    fn drift_of(&self, of: &Equilibrium) -> [f64; 2] {
        match self.linear {
            true => [0.0; 2],
            false => [of.molecules[1], of.molecules[2]],
        }
    }

    /// Adds the sums of internal energy to those of the molecules, and what leaves and returns to `y`.
    pub(super) fn sweep_internal(
        &self,
        x: &[f64],
        y: &mut [f64],
        swept: &mut Swept,
        plainly: bool,
    ) {
        if self.rotation.is_none() {
            return;
        }
        let sums = if plainly {
            self.internal_by_nodes(x, |side, node, e| self.keep(y, side, node, e))
        } else {
            let (sums, left) = self.internal_by_lanes(x);
            for (side, node, e) in left {
                self.keep(y, side, node, e);
            }
            sums
        };
        swept.internal = Some(sums);
    }

    fn keep(&self, y: &mut [f64], side: usize, node: usize, e: f64) {
        if let Some(offset) = self.record_internal(side) {
            y[offset + node] = e;
        }
    }

    /// The sums of a closing sweep.
    pub(super) fn internal_sums(&self, x: &[f64]) -> Option<InternalSums> {
        self.rotation.as_ref().map(|_| self.internal_by_lanes(x).0)
    }

    /// The same as [`internal_by_nodes`](Self::internal_by_nodes) with eight velocities at a time, on all cores.
    fn internal_by_lanes(&self, x: &[f64]) -> (InternalSums, Vec<(usize, usize, f64)>) {
        let mut sums = InternalSums::none(self.nx);
        let mut left = Vec::new();
        let Some(rotation) = &self.rotation else {
            return (sums, left);
        };
        let equilibria = self.all_equilibria(rotation, x);
        let chunks = self.nodes.len() / LANES;
        let tasks = TASKS.min(chunks);
        let parts: Vec<_> = (0..tasks)
            .into_par_iter()
            .map(|task| {
                let mut found = (InternalSums::none(self.nx), Vec::new());
                for chunk in task * chunks / tasks..(task + 1) * chunks / tasks {
                    lanes::on_widest(Chunk {
                        plan: self,
                        x,
                        equilibria: &equilibria,
                        first: LANES * chunk,
                        sums: &mut found.0,
                        left: &mut found.1,
                    });
                }
                found
            })
            .collect();
        for (part, leaving) in parts {
            for (sum, value) in sums.cells.iter_mut().zip(&part.cells) {
                for k in 0..3 {
                    sum[k] += value[k];
                }
            }
            for (sum, value) in sums.fluxes.iter_mut().zip(&part.fluxes) {
                *sum += value;
            }
            for end in 0..2 {
                sums.ends[end] += part.ends[end];
            }
            left.extend(leaving);
        }
        (sums, left)
    }

    /// Adds the flux of internal energy to that of energy, whose balance has both.
    pub(super) fn join_energy(&self, swept: &mut Swept) {
        let (Some(rotation), Some(internal)) = (&self.rotation, &swept.internal) else {
            return;
        };
        let carried = match self.linear {
            true => 0.25 * rotation.freedom,
            false => 0.0,
        };
        for (sums, internal) in swept.fluxes.iter_mut().zip(&internal.fluxes) {
            sums[flux::ENERGY] += internal + carried * sums[flux::MASS];
        }
    }
}

/// Eight velocities of one direction.
struct Chunk<'a> {
    plan: &'a Plan,
    x: &'a [f64],
    equilibria: &'a [Equilibrium],
    /// The first node.
    first: usize,
    sums: &'a mut InternalSums,
    left: &'a mut Vec<(usize, usize, f64)>,
}

impl lanes::Job for Chunk<'_> {
    type Output = ();

    #[inline(always)]
    fn run<const FUSED: bool>(self) {
        let Self {
            plan,
            x,
            equilibria,
            first,
            sums,
            left,
        } = self;
        let part = |k: usize| -> Lanes<f64> { std::array::from_fn(|l| plan.nodes[first + l][k]) };
        let [vx, vy, vz2, weight] = [0, 1, 2, 3].map(part);
        let east = upward(plan.group(first), 0);
        let (start, end) = if east { (WEST, EAST) } else { (EAST, WEST) };
        let factor = if plan.diamond { 2.0 } else { 1.0 };
        let shift = 0.5 * plan.internal - 2.5;
        let mut beside: Lanes<f64> =
            std::array::from_fn(|l| plan.incoming_internal(x, start, first + l));
        let mut pass = |face: usize, beside: &Lanes<f64>| {
            let mut flux = 0.0;
            for l in 0..LANES {
                flux += 0.5 * weight[l] * vx[l] * beside[l];
            }
            sums.fluxes[face] += flux;
        };
        let density =
            |beside: &Lanes<f64>| -> f64 { (0..LANES).map(|l| weight[l] * beside[l]).sum() };
        sums.ends[start] += density(&beside);
        pass(if east { 0 } else { plan.nx }, &beside);
        for step in 0..plan.nx {
            let cell = if east { step } else { plan.nx - 1 - step };
            let of = &equilibria[cell];
            let c = &of.molecules;
            let [ux, uy] = plan.drift_of(of);
            let mut s = [0.0; LANES];
            if plan.linear {
                for l in 0..LANES {
                    let along = fma::<f64, FUSED>(of.drift[1], vy[l], of.half);
                    s[l] = fma::<f64, FUSED>(of.drift[0], vx[l], along);
                }
            } else {
                let mut minus = [0.0; LANES];
                for l in 0..LANES {
                    let (cx, cy) = (vx[l] - ux, vy[l] - uy);
                    let square = fma::<f64, FUSED>(cx, cx, fma::<f64, FUSED>(cy, cy, vz2[l]));
                    minus[l] = -square * c[3];
                }
                let g = f64::exp_lanes::<FUSED>(minus);
                for l in 0..LANES {
                    let (cx, cy) = (vx[l] - ux, vy[l] - uy);
                    let k = fma::<f64, FUSED>(c[4], cx, c[5] * cy);
                    let drift = fma::<f64, FUSED>(of.drift[0], cx, of.drift[1] * cy);
                    let molecules = fma::<f64, FUSED>(k, shift - minus[l], 1.0);
                    s[l] = c[0] * g[l] * fma::<f64, FUSED>(of.half, molecules, drift);
                }
            }
            let inverse = factor * plan.inverse[0][cell];
            let mut terms = [0.0; 3];
            for l in 0..LANES {
                let b = vx[l].abs() * inverse;
                let e = fma::<f64, FUSED>(b, beside[l], c[6] * s[l]) / (c[6] + b);
                beside[l] = if plan.diamond { 2.0 * e - beside[l] } else { e };
                let energy = 0.5 * weight[l] * e;
                terms[0] += weight[l] * (e - s[l]);
                terms[1] += energy * (vx[l] - ux);
                terms[2] += energy * (vy[l] - uy);
            }
            for (sum, term) in sums.cells[cell].iter_mut().zip(terms) {
                *sum += term;
            }
            pass(cell + usize::from(east), &beside);
        }
        sums.ends[end] += density(&beside);
        for l in 0..LANES {
            left.push((end, first + l, beside[l]));
        }
    }
}
