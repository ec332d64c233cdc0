//! Internal energy of molecules that rotate: one more sweep, of the second function E of [`rotation`].
//!
//! E streams as the molecules do and meets them in the cells alone. The cell's balance is that of the molecules,
//!
//! ```text
//! E_P = (nu S_E + sum b E_in)/(nu + sum b),     S_E = (d/2) T_r* S_F + k_r.c M,   k_r = 4 Q_r/(n T*)
//! ```
//!
//! and its sums are those of `E - S_E` and the heat flux `<c E>/2`. In the linearised equation the excess b takes the place of E. The sweep is on the CPU, in f64.

#![allow(
    clippy::needless_range_loop,
    reason = "a lane index runs over several arrays at once, which the compiler makes vectors of"
)]

use rayon::prelude::*;

use super::plan::{COEFFICIENTS, INTERNAL, Plan, upward};
use super::sums::{InternalSums, Swept, add, flux};
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
    pub(super) half: f64,
    /// k_r; in the linearised equation 4 Q_r.
    pub(super) drift: [f64; 2],
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

    /// Internal energy that comes in at a node of a boundary face.
    pub(super) fn incoming_internal(
        &self,
        x: &[f64],
        side: usize,
        face: usize,
        node: usize,
    ) -> f64 {
        let (Some(s), Some(rotation)) = (&self.sides[side], &self.rotation) else {
            return 0.0;
        };
        let half = 0.5 * rotation.freedom;
        let rho = x[self.layout.faces_at() + self.layout.faces[side] + face];
        let emitted = match self.linear {
            true => half * (s.temperature - 1.0),
            false => half * s.temperature * (s.a[0][node] * rho + s.b[0][node]),
        };
        let returned = s.returned.map_or(0.0, |(_, mirrored)| {
            x[s.internal + face * self.nodes.len() + self.partner(side, node, mirrored)]
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
        for side in 0..2 * self.dimensions {
            let returned = self.sides[side].as_ref().and_then(|s| s.returned);
            let Some((from, offset)) =
                returned.and_then(|(from, _)| Some((from, self.record_internal(from)?)))
            else {
                continue;
            };
            let nodes = self.nodes.len();
            for face in 0..self.layout.faces[from + 1] - self.layout.faces[from] {
                let of = self.both_equilibria(rotation, x, self.boundary_cell(from, face));
                for node in (0..nodes).filter(|&node| self.leaves(from, node)) {
                    x[offset + face * nodes + node] = self.internal_equilibrium(&of, node);
                }
            }
        }
    }

    /// Sums of no velocities.
    pub(super) fn no_internal(&self) -> InternalSums {
        InternalSums {
            cells: vec![[0.0; 3]; self.layout.cells],
            fluxes: vec![0.0; self.no_fluxes().len()],
            faces: vec![[0.0; 2]; self.layout.faces[4]],
        }
    }

    /// Sums of a sweep of internal energy at `x`, one velocity after the other. `leave` takes the internal energy that leaves, with its side, face and node.
    fn internal_by_nodes(
        &self,
        x: &[f64],
        mut leave: impl FnMut(usize, usize, usize, f64),
    ) -> InternalSums {
        let mut sums = self.no_internal();
        let Some(rotation) = &self.rotation else {
            return sums;
        };
        let equilibria = self.all_equilibria(rotation, x);
        let factor = if self.diamond { 2.0 } else { 1.0 };
        let plane = self.dimensions == 2;
        let onward = |mean: f64, beside: f64| {
            if self.diamond {
                2.0 * mean - beside
            } else {
                mean
            }
        };
        for node in 0..self.nodes.len() {
            let [vx, vy, _, w] = self.nodes[node];
            let [east, north] = [0, 1].map(|d| upward(self.group(node), d));
            let [from, to] = ends(0, east);
            let [from_below, to_above] = ends(1, north);
            let mut below = vec![0.0; self.nx];
            if plane {
                for (face, below) in below.iter_mut().enumerate() {
                    *below = self.incoming_internal(x, from_below, face, node);
                    self.pass_internal(&mut sums, from_below, face, node, *below);
                }
            }
            for step in 0..self.ny {
                let row = if north { step } else { self.ny - 1 - step };
                let mut beside = self.incoming_internal(x, from, row, node);
                self.pass_internal(&mut sums, from, row, node, beside);
                let cross = |sums: &mut InternalSums, face: usize, e: f64| {
                    if let Some(flux) = sums.fluxes.get_mut(face) {
                        *flux += 0.5 * w * vx * e;
                    }
                };
                cross(&mut sums, if east { 0 } else { self.nx }, beside);
                let by = if plane {
                    factor * vy.abs() * self.inverse[1][row]
                } else {
                    0.0
                };
                for step in 0..self.nx {
                    let column = if east { step } else { self.nx - 1 - step };
                    let cell = row * self.nx + column;
                    let of = &equilibria[cell];
                    let (nu, s) = (of.molecules[6], self.internal_equilibrium(of, node));
                    let bx = factor * vx.abs() * self.inverse[0][column];
                    let e = (nu * s + bx * beside + by * below[column]) / (nu + bx + by);
                    beside = onward(e, beside);
                    below[column] = onward(e, below[column]);
                    let u = self.drift_of(of);
                    let terms = [
                        w * (e - s),
                        0.5 * w * (vx - u[0]) * e,
                        0.5 * w * (vy - u[1]) * e,
                    ];
                    add(&mut sums.cells[cell], &terms);
                    cross(&mut sums, column + usize::from(east), beside);
                }
                self.pass_internal(&mut sums, to, row, node, beside);
                leave(to, row, node, beside);
            }
            if plane {
                for (face, &e) in below.iter().enumerate() {
                    self.pass_internal(&mut sums, to_above, face, node, e);
                    leave(to_above, face, node, e);
                }
            }
        }
        sums
    }

    /// Adds the internal energy that a node carries through a boundary face.
    fn pass_internal(
        &self,
        sums: &mut InternalSums,
        side: usize,
        face: usize,
        node: usize,
        e: f64,
    ) {
        let density = self.nodes[node][3] * e;
        let across = self.nodes[node][side / 2].abs();
        let outwards = if self.leaves(side, node) {
            across
        } else {
            -across
        };
        let terms = [0.5 * outwards * density, density];
        add(&mut sums.faces[self.layout.faces[side] + face], &terms);
    }

    /// Both equilibria of every cell.
    pub(super) fn all_equilibria(&self, rotation: &Rotation, x: &[f64]) -> Vec<Equilibrium> {
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

    /// Adds the sums of internal energy to those of the molecules, and what leaves and returns to `y`. Sweeps with a force have these sums already.
    pub(super) fn sweep_internal(
        &self,
        x: &[f64],
        y: &mut [f64],
        swept: &mut Swept,
        plainly: bool,
    ) {
        if self.rotation.is_none() || swept.internal.is_some() {
            return;
        }
        let nodes = self.nodes.len();
        let sums = if plainly {
            self.internal_by_nodes(x, |side, face, node, e| {
                if let Some(offset) = self.record_internal(side) {
                    y[offset + face * nodes + node] = e;
                }
            })
        } else {
            let (sums, left) = self.internal_by_lanes(x);
            for (at, e) in left {
                y[at] = e;
            }
            sums
        };
        swept.internal = Some(sums);
    }

    /// The sums of a closing sweep.
    pub(super) fn internal_sums(&self, x: &[f64]) -> Option<InternalSums> {
        self.rotation.as_ref().map(|_| self.internal_by_lanes(x).0)
    }

    /// The same as [`internal_by_nodes`](Self::internal_by_nodes) with eight velocities at a time, on all cores; beside the sums what leaves and returns, by its place among the unknowns.
    fn internal_by_lanes(&self, x: &[f64]) -> (InternalSums, Vec<(usize, f64)>) {
        let mut sums = self.no_internal();
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
                let mut found = (self.no_internal(), Vec::new());
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
            sums.add(&part);
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

/// The sides at which velocities that go up along a direction, or down, come in and leave.
fn ends(direction: usize, up: bool) -> [usize; 2] {
    let low = 2 * direction;
    if up { [low, low + 1] } else { [low + 1, low] }
}

/// Eight velocities of one direction.
struct Chunk<'a> {
    plan: &'a Plan,
    x: &'a [f64],
    equilibria: &'a [Equilibrium],
    /// The first node.
    first: usize,
    sums: &'a mut InternalSums,
    left: &'a mut Vec<(usize, f64)>,
}

impl Chunk<'_> {
    /// Internal energy that comes in at a boundary face.
    fn incoming(&self, side: usize, face: usize) -> Lanes<f64> {
        std::array::from_fn(|l| (self.plan).incoming_internal(self.x, side, face, self.first + l))
    }

    /// Adds up what comes in through a boundary face, or leaves; `across` is the velocity outwards, times the weight.
    fn pass(
        &mut self,
        side: usize,
        face: usize,
        [across, weight]: [&Lanes<f64>; 2],
        e: &Lanes<f64>,
    ) {
        let mut terms = [0.0; 2];
        for l in 0..LANES {
            terms[0] += 0.5 * across[l] * e[l];
            terms[1] += weight[l] * e[l];
        }
        let face = self.plan.layout.faces[side] + face;
        add(&mut self.sums.faces[face], &terms);
    }

    /// Records what leaves a boundary face to return.
    fn leave(&mut self, side: usize, face: usize, e: &Lanes<f64>) {
        if let Some(offset) = self.plan.record_internal(side) {
            let at = offset + face * self.plan.nodes.len() + self.first;
            self.left.extend((at..).zip(e.iter().copied()));
        }
    }
}

/// The equilibrium of internal energy at the velocities of a chunk.
#[inline(always)]
fn equilibrium<const FUSED: bool>(
    plan: &Plan,
    of: &Equilibrium,
    [vx, vy, vz2]: [&Lanes<f64>; 3],
) -> Lanes<f64> {
    let c = &of.molecules;
    let mut s = [0.0; LANES];
    if plan.linear {
        for l in 0..LANES {
            let along = fma::<f64, FUSED>(of.drift[1], vy[l], of.half);
            s[l] = fma::<f64, FUSED>(of.drift[0], vx[l], along);
        }
        return s;
    }
    let shift = 0.5 * plan.internal - 2.5;
    let mut minus = [0.0; LANES];
    for l in 0..LANES {
        let (cx, cy) = (vx[l] - c[1], vy[l] - c[2]);
        let square = fma::<f64, FUSED>(cx, cx, fma::<f64, FUSED>(cy, cy, vz2[l]));
        minus[l] = -square * c[3];
    }
    let g = f64::exp_lanes::<FUSED>(minus);
    for l in 0..LANES {
        let (cx, cy) = (vx[l] - c[1], vy[l] - c[2]);
        let k = fma::<f64, FUSED>(c[4], cx, c[5] * cy);
        let drift = fma::<f64, FUSED>(of.drift[0], cx, of.drift[1] * cy);
        let molecules = fma::<f64, FUSED>(k, shift - minus[l], 1.0);
        s[l] = c[0] * g[l] * fma::<f64, FUSED>(of.half, molecules, drift);
    }
    s
}

impl lanes::Job for Chunk<'_> {
    type Output = ();

    #[inline(always)]
    fn run<const FUSED: bool>(mut self) {
        let plan = self.plan;
        let equilibria = self.equilibria;
        let first = self.first;
        let part = |k: usize| -> Lanes<f64> { std::array::from_fn(|l| plan.nodes[first + l][k]) };
        let [vx, vy, vz2, weight] = [0, 1, 2, 3].map(part);
        let through =
            [vx, vy].map(|v| -> Lanes<f64> { std::array::from_fn(|l| weight[l] * v[l].abs()) });
        let inwards = through.map(|through| through.map(|t| -t));
        let [east, north] = [0, 1].map(|d| upward(plan.group(first), d));
        let [from, to] = ends(0, east);
        let [from_below, to_above] = ends(1, north);
        let plane = plan.dimensions == 2;
        let factor = if plan.diamond { 2.0 } else { 1.0 };
        let speed = [vx, vy].map(|v| v.map(|v| factor * v.abs()));
        let mut below = vec![[0.0; LANES]; plan.nx];
        if plane {
            for (face, below) in below.iter_mut().enumerate() {
                *below = self.incoming(from_below, face);
                self.pass(from_below, face, [&inwards[1], &weight], below);
            }
        }
        let cross = |sums: &mut InternalSums, face: usize, e: &Lanes<f64>| {
            if let Some(flux) = sums.fluxes.get_mut(face) {
                let mut through = 0.0;
                for l in 0..LANES {
                    through += 0.5 * weight[l] * vx[l] * e[l];
                }
                *flux += through;
            }
        };
        for step in 0..plan.ny {
            let row = if north { step } else { plan.ny - 1 - step };
            let mut beside = self.incoming(from, row);
            self.pass(from, row, [&inwards[0], &weight], &beside);
            cross(self.sums, if east { 0 } else { plan.nx }, &beside);
            let mut by = [0.0; LANES];
            if plane {
                by = speed[1].map(|speed| speed * plan.inverse[1][row]);
            }
            for step in 0..plan.nx {
                let column = if east { step } else { plan.nx - 1 - step };
                let cell = row * plan.nx + column;
                let of = &equilibria[cell];
                let [ux, uy] = plan.drift_of(of);
                let nu = of.molecules[6];
                let s = equilibrium::<FUSED>(plan, of, [&vx, &vy, &vz2]);
                let under = &mut below[column];
                let mut terms = [[0.0; LANES]; 3];
                for l in 0..LANES {
                    let bx = speed[0][l] * plan.inverse[0][column];
                    let inflow = fma::<f64, FUSED>(bx, beside[l], by[l] * under[l]);
                    let e = fma::<f64, FUSED>(nu, s[l], inflow) / (nu + bx + by[l]);
                    let twice = e + e;
                    beside[l] = if plan.diamond { twice - beside[l] } else { e };
                    under[l] = if plan.diamond { twice - under[l] } else { e };
                    let energy = 0.5 * weight[l] * e;
                    terms[0][l] = weight[l] * (e - s[l]);
                    terms[1][l] = energy * (vx[l] - ux);
                    terms[2][l] = energy * (vy[l] - uy);
                }
                let sums = terms.map(|lanes| lanes.iter().sum::<f64>());
                add(&mut self.sums.cells[cell], &sums);
                cross(self.sums, column + usize::from(east), &beside);
            }
            self.pass(to, row, [&through[0], &weight], &beside);
            self.leave(to, row, &beside);
        }
        if plane {
            for (face, e) in below.iter().enumerate() {
                self.pass(to_above, face, [&through[1], &weight], e);
                self.leave(to_above, face, e);
            }
        }
    }
}
