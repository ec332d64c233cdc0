//! A steady problem prepared for sweeping: velocities in groups of one direction, boundaries as formulas, the unknowns in one vector.

use super::nodes::Nodes;
use super::problem::{Closure, SteadyProblem};
use super::sums::{Swept, flux, leaving};
use crate::bgk::problem::not_symmetric;
use crate::bgk::{Boundary, State};
use crate::error::{Error, Result};
use crate::maxwellian::lanes::LANES;

/// Faces of space, in this order everywhere.
pub(super) const WEST: usize = 0;
pub(super) const EAST: usize = 1;
pub(super) const SOUTH: usize = 2;

/// Numbers that a cell's local equilibrium is evaluated from.
///
/// | | nonlinear | linear |
/// |---|---|---|
/// | 0 | n (pi T)^(-D/2) | density |
/// | 1, 2 | u | 2 u |
/// | 3 | 1 / T | temperature |
/// | 4, 5 | (1-Pr) (8/5) q / (n T^2) | (1-Pr) (8/5) q |
/// | 6 | nu | nu |
/// | 7 | K T / 2 | K / 2 |
pub(super) const COEFFICIENTS: usize = 8;

/// The [heat lag](Plan::heat_lag) of sweeps with the frequency of the loss in the collision integral of hard spheres.
const INTEGRAL_LAG: f64 = 1.0;

/// How a face of space answers: what comes in at a node is `share (a rho + b) + (1 - share) returned`.
#[derive(Clone, Debug)]
pub(super) struct Side {
    /// Share of what does not depend on the molecules that left.
    pub(super) share: f64,
    /// Whether `rho` is such that as much mass comes in as leaves.
    pub(super) tight: bool,
    /// Whether `rho` scales a stream whose strength the conservation laws determine.
    pub(super) free: bool,
    /// Factors of `rho` for both functions, by node.
    pub(super) a: [Vec<f64>; 2],
    /// Inflow that does not depend on `rho`, by node.
    pub(super) b: [Vec<f64>; 2],
    /// Mass that comes in per unit `rho`, and with `rho = 0`.
    pub(super) rate: [f64; 2],
    /// The side whose outgoing molecules return here, and whether mirrored, if any do.
    pub(super) returned: Option<(usize, bool)>,
    /// Where in the vector of unknowns they are kept: `[function][face][node]`.
    pub(super) offset: usize,
    /// Temperature and tangential velocity of a wall, about which the gas exchanges heat and momentum; none elsewhere.
    pub(super) wall: Option<[f64; 2]>,
}

/// Where the unknowns are.
///
/// `[component][cell]` with components n, n u_x, n u_y, sum |v|^2 f (in the linear case their perturbations), and with the Shakhov
/// model q_x, q_y. `rho` of each boundary face follows, west, east, south, north. Then come the flux that mirroring and periodic faces return and, around the
/// collision integral, the populations `[cell][node]`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Layout {
    pub(super) cells: usize,
    pub(super) components: usize,
    /// First face of each side, and the end.
    pub(super) faces: [usize; 5],
    /// First of the populations; `len` where there are none.
    pub(super) populations: usize,
    pub(super) len: usize,
}

impl Layout {
    /// First of the faces' unknowns.
    pub(super) fn faces_at(&self) -> usize {
        self.components * self.cells
    }
}

/// Quantity held fixed where the boundaries leave it open.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) enum Hold {
    /// The boundaries determine everything.
    Nothing,
    /// No mass passes any boundary: the total mass, as the start has it.
    Mass(f64),
    /// A wave between two streams may be anywhere: the mass fixes its place.
    Position(f64),
}

/// A steady problem prepared for sweeping.
#[derive(Clone, Debug)]
pub(super) struct Plan {
    pub(super) dimensions: usize,
    pub(super) nx: usize,
    pub(super) ny: usize,
    /// Inverse widths of columns and rows.
    pub(super) inverse: [Vec<f64>; 2],
    pub(super) widths: [Vec<f64>; 2],
    pub(super) linear: bool,
    pub(super) shakhov: bool,
    pub(super) prandtl: f64,
    /// (1 - Pr) 8/5.
    pub(super) shakhov_factor: f64,
    /// By how many times its last change the heat flux of f would change further if nothing else did.
    pub(super) heat_lag: f64,
    pub(super) omega: f64,
    pub(super) frequency: f64,
    /// Acceleration along y.
    pub(super) force: f64,
    pub(super) diamond: bool,
    /// Dimensions of the velocities, and K, those that are integrated out.
    pub(super) velocity_dimensions: usize,
    pub(super) internal: f64,
    /// Nodes: v_x, v_y, v_z^2 and weight, group after group.
    pub(super) nodes: Vec<[f64; 4]>,
    /// First node of the groups (+,+), (-,+), (+,-), (-,-), and the end; on a line only the first two are filled.
    pub(super) groups: [usize; 5],
    pub(super) sides: [Option<Side>; 4],
    pub(super) hold: Hold,
    pub(super) layout: Layout,
}

/// Whether velocities of a group go up along x (0) or y (1).
pub(super) const fn upward(group: usize, direction: usize) -> bool {
    (group >> direction) & 1 == 0
}

impl Plan {
    pub(super) fn new(problem: &SteadyProblem, closure: Closure) -> Result<Self> {
        problem.validate()?;
        let velocities = &problem.nodes;
        let dimensions = problem.dimensions;
        let [nx, ny] = [problem.widths[0].len(), problem.widths[1].len()];
        let shakhov = problem.gas.effective_prandtl() != 1.0;
        let cells = nx * ny;

        let (nodes, groups) = grouped(velocities, dimensions, problem.linear);
        let components = if shakhov { 6 } else { 4 };
        let mut faces = [0, ny, 2 * ny, 2 * ny, 2 * ny];
        if dimensions == 2 {
            faces[3] += nx;
            faces[4] += 2 * nx;
        }
        let mut plan = Self {
            dimensions,
            nx,
            ny,
            inverse: [0, 1].map(|d| problem.widths[d].iter().map(|w| 1.0 / w).collect()),
            widths: problem.widths.clone(),
            linear: problem.linear,
            shakhov,
            prandtl: problem.gas.effective_prandtl(),
            shakhov_factor: 1.6 * (1.0 - problem.gas.effective_prandtl()),
            heat_lag: match problem.integral {
                Some(_) => INTEGRAL_LAG,
                None => (1.0 - problem.gas.effective_prandtl()) / problem.gas.effective_prandtl(),
            },
            omega: problem.gas.omega,
            frequency: problem.gas.frequency,
            force: problem.force,
            diamond: closure == Closure::Diamond,
            velocity_dimensions: velocities.dimensions,
            internal: velocities.internal(),
            nodes,
            groups,
            sides: [const { None }; 4],
            hold: Hold::Nothing,
            layout: Layout {
                cells,
                components,
                faces,
                populations: 0,
                len: 0,
            },
        };
        let mut len = components * cells + faces[4];
        for side in 0..2 * dimensions {
            let boundary = problem.boundaries.along(side / 2)[side % 2];
            let mut prepared = plan.side(problem, side, boundary)?;
            prepared.offset = len;
            if let Some((_, mirrored)) = prepared.returned {
                if mirrored {
                    plan.check_mirror(side / 2)?;
                }
                len += 2 * (faces[side + 1] - faces[side]) * plan.nodes.len();
            }
            plan.sides[side] = Some(prepared);
        }
        plan.layout.populations = len;
        if problem.integral.is_some() {
            len += cells * plan.nodes.len();
        }
        plan.layout.len = len;
        plan.hold = plan.held(problem);
        if matches!(plan.hold, Hold::Position(_)) && plan.diamond {
            plan.free_stream(EAST);
        }
        Ok(plan)
    }

    /// Makes the strength of the stream at a side an unknown.
    ///
    /// Two streams and the position of the wave between them are one condition too many for the conservation laws of a finite domain.
    fn free_stream(&mut self, side: usize) {
        if let Some(s) = &mut self.sides[side] {
            std::mem::swap(&mut s.a, &mut s.b);
            s.rate.swap(0, 1);
            s.free = true;
        }
    }

    /// Fixed quantity for the start and the boundaries of the problem.
    fn held(&self, problem: &SteadyProblem) -> Hold {
        let faces =
            || (0..self.dimensions).flat_map(|direction| problem.boundaries.along(direction));
        let start = self.start(problem);
        let mass = self.mass(&start);
        let mut inflows = faces().filter(|face| matches!(face, Boundary::Inflow(_)));
        match (inflows.next(), inflows.next()) {
            (None, _) => Hold::Mass(mass),
            (Some(Boundary::Inflow(a)), Some(Boundary::Inflow(b)))
                if self.dimensions == 1
                    && !problem.linear
                    && a.velocity[0] * b.velocity[0] > 0.0
                    && (a.density * a.velocity[0] / (b.density * b.velocity[0]) - 1.0).abs()
                        < 1e-6
                    && (a.density - b.density).abs() > 1e-6 * a.density =>
            {
                Hold::Position(mass)
            }
            _ => Hold::Nothing,
        }
    }

    fn side(&self, problem: &SteadyProblem, side: usize, boundary: Boundary) -> Result<Side> {
        let count = self.nodes.len();
        let mut prepared = Side {
            share: 1.0,
            tight: false,
            free: false,
            a: [vec![0.0; count], vec![0.0; count]],
            b: [vec![0.0; count], vec![0.0; count]],
            rate: [0.0; 2],
            returned: None,
            offset: 0,
            wall: None,
        };
        let (state, emits) = match boundary {
            Boundary::Specular => {
                prepared.share = 0.0;
                prepared.returned = Some((side, true));
                return Ok(prepared);
            }
            Boundary::Periodic => {
                prepared.share = 0.0;
                prepared.returned = Some((side ^ 1, false));
                return Ok(prepared);
            }
            Boundary::Inflow(state) => (state, false),
            Boundary::Wall(wall) => {
                prepared.share = wall.accommodation;
                if wall.accommodation < 1.0 {
                    prepared.returned = Some((side, true));
                }
                prepared.tight = true;
                prepared.wall = Some([wall.temperature, wall.velocity[1 - side / 2]]);
                (wall.state(), true)
            }
        };
        // Parameters of the sampled Maxwellian; an inflow has exact moments on the nodes.
        let [n, ux, uy, t] = if self.linear || emits {
            [
                state.density,
                state.velocity[0],
                state.velocity[1],
                state.temperature,
            ]
        } else {
            problem.nodes.matched(
                "an inflow",
                state.density,
                state.velocity,
                state.temperature,
            )?
        };
        let half_k = 0.5 * self.internal;
        for (j, &[vx, vy, vz2, weight]) in self.nodes.iter().enumerate() {
            let square = vx * vx + vy * vy + vz2;
            let (first, second) = if self.linear {
                let tau = t - 1.0;
                let first = (n - 1.0) + 2.0 * (ux * vx + uy * vy) + tau * (square + half_k - 1.5);
                (first, half_k * (first + tau))
            } else {
                let c2 = (vx - ux).powi(2) + (vy - uy).powi(2) + vz2;
                let d = 0.5 * self.velocity_dimensions as f64;
                let first = n * (std::f64::consts::PI * t).powf(-d) * (-c2 / t).exp();
                (first, half_k * t * first)
            };
            let unit = if self.linear {
                [1.0, half_k]
            } else {
                [first, second]
            };
            if emits {
                prepared.a[0][j] = unit[0];
                prepared.a[1][j] = unit[1];
                if self.linear {
                    prepared.b[0][j] = first;
                    prepared.b[1][j] = second;
                }
            } else {
                prepared.b[0][j] = first;
                prepared.b[1][j] = second;
            }
            let normal = if side < 2 { vx } else { vy };
            if (normal >= 0.0) == side.is_multiple_of(2) {
                prepared.rate[0] += weight * normal.abs() * prepared.a[0][j];
                prepared.rate[1] += weight * normal.abs() * prepared.b[0][j];
            }
        }
        if emits && prepared.rate[0] <= 0.0 {
            return Err(Error::invalid(
                "nodes",
                "no velocity from a wall into the gas",
                "velocities on both sides of 0",
            ));
        }
        Ok(prepared)
    }

    fn check_mirror(&self, direction: usize) -> Result<()> {
        let refused = || not_symmetric(direction);
        for group in 0..4 {
            let other = group ^ (1 << direction);
            let of = |group: usize| &self.nodes[self.groups[group]..self.groups[group + 1]];
            if of(group).len() != of(other).len() {
                return Err(refused());
            }
            for (p, q) in of(group).iter().zip(of(other)) {
                let mut mirrored = *q;
                mirrored[direction] = -mirrored[direction];
                let near = |k: usize| (p[k] - mirrored[k]).abs() <= 1e-12 * (1.0 + p[k].abs());
                if !(0..4).all(near) {
                    return Err(refused());
                }
            }
        }
        Ok(())
    }

    /// The group of a node.
    pub(super) fn group(&self, node: usize) -> usize {
        (0..4).find(|&g| node < self.groups[g + 1]).unwrap_or(3)
    }

    /// Whether molecules of this node leave through a side.
    pub(super) fn leaves(&self, side: usize, node: usize) -> bool {
        upward(self.group(node), side / 2) == (side % 2 == 1)
    }

    /// The node whose outgoing molecules come in at `node` of `side`.
    pub(super) fn partner(&self, side: usize, node: usize, mirrored: bool) -> usize {
        if !mirrored {
            return node;
        }
        let group = self.group(node);
        self.groups[group ^ (1 << (side / 2))] + node - self.groups[group]
    }

    /// Inflow at a node of a side: both functions.
    pub(super) fn incoming(&self, x: &[f64], side: usize, face: usize, node: usize) -> [f64; 2] {
        let Some(s) = &self.sides[side] else {
            return [0.0; 2];
        };
        let faces = self.layout.faces;
        let rho = x[self.layout.faces_at() + faces[side] + face];
        [0, 1].map(|k| {
            let mut value = s.share * (s.a[k][node] * rho + s.b[k][node]);
            if let Some((_, mirrored)) = s.returned {
                let count = faces[side + 1] - faces[side];
                let at = (k * count + face) * self.nodes.len() + self.partner(side, node, mirrored);
                value += (1.0 - s.share) * x[s.offset + at];
            }
            value
        })
    }

    /// Where outgoing molecules of a side are to be recorded: the offset in the vector of unknowns.
    pub(super) fn record(&self, side: usize) -> Option<usize> {
        self.sides
            .iter()
            .flatten()
            .find(|s| s.returned.is_some_and(|(from, _)| from == side))
            .map(|s| s.offset)
    }

    /// The unknowns at the start.
    pub(super) fn start(&self, problem: &SteadyProblem) -> Vec<f64> {
        let Layout { cells, len, .. } = self.layout;
        let mut x = vec![0.0; len];
        for (cell, state) in problem.initial.iter().enumerate() {
            let values = self.unknowns(state);
            for (k, value) in values.into_iter().enumerate() {
                x[k * cells + cell] = value;
            }
        }
        // Walls begin with the density beside them, and returning molecules with the first cell's equilibrium.
        let coefficients = self.coefficients(&x);
        for side in 0..2 * self.dimensions {
            let count = self.layout.faces[side + 1] - self.layout.faces[side];
            for face in 0..count {
                let cell = self.boundary_cell(side, face);
                let free = self.sides[side].as_ref().is_some_and(|s| s.free);
                x[self.layout.faces_at() + self.layout.faces[side] + face] =
                    if free { 1.0 } else { x[cell] };
                let Some((from, _)) = self.sides[side].as_ref().and_then(|s| s.returned) else {
                    continue;
                };
                let offset = self.sides[side].as_ref().map_or(0, |s| s.offset);
                let cell = self.boundary_cell(from, face);
                for node in (0..self.nodes.len()).filter(|&node| self.leaves(from, node)) {
                    let f = self.equilibrium(&coefficients[cell], node);
                    for k in 0..2 {
                        x[offset + (k * count + face) * self.nodes.len() + node] = f[k];
                    }
                }
            }
        }
        let populations = x[self.layout.populations..].chunks_exact_mut(self.nodes.len());
        for (f, local) in populations.zip(&coefficients) {
            for (node, f) in f.iter_mut().enumerate() {
                if self.nodes[node][3] > 0.0 {
                    *f = self.equilibrium(local, node)[0];
                }
            }
        }
        x
    }

    /// The cell behind a boundary face.
    pub(super) fn boundary_cell(&self, side: usize, face: usize) -> usize {
        match side {
            WEST => face * self.nx,
            EAST => face * self.nx + self.nx - 1,
            SOUTH => face,
            _ => (self.ny - 1) * self.nx + face,
        }
    }

    /// The first four unknowns of a cell in a state.
    fn unknowns(&self, state: &State) -> [f64; 4] {
        let State {
            density: n,
            velocity: [ux, uy],
            temperature: t,
        } = *state;
        if self.linear {
            [n - 1.0, ux, uy, 1.5 * (n - 1.0 + t - 1.0)]
        } else {
            [n, n * ux, n * uy, n * (ux * ux + uy * uy + 1.5 * t)]
        }
    }

    /// Density, velocity and temperature of a cell; in the linear case their perturbations.
    pub(super) fn primitive(&self, x: &[f64], cell: usize) -> [f64; 4] {
        let at = |k: usize| x[k * self.layout.cells + cell];
        if self.linear {
            [at(0), at(1), at(2), at(3) / 1.5 - at(0)]
        } else {
            self.state([0, 1, 2, 3].map(at))
        }
    }

    /// Density, velocity and temperature of sums of f (1, v_x, v_y, |v|^2).
    pub(super) fn state(&self, [n, mx, my, square]: [f64; 4]) -> [f64; 4] {
        let [ux, uy] = [mx / n, my / n];
        [n, ux, uy, (square / n - ux * ux - uy * uy) / 1.5]
    }

    /// Whether every cell has a positive density and temperature.
    pub(super) fn is_admissible(&self, x: &[f64]) -> bool {
        let finite = x.iter().all(|value| value.is_finite());
        finite
            && (self.linear
                || (0..self.layout.cells).all(|cell| {
                    let [n, _, _, t] = self.primitive(x, cell);
                    n > 0.0 && t > 0.0
                }))
    }

    /// The numbers that the cells' local equilibria are evaluated from.
    pub(super) fn coefficients(&self, x: &[f64]) -> Vec<[f64; COEFFICIENTS]> {
        let cells = self.layout.cells;
        (0..cells)
            .map(|cell| {
                let q = if self.shakhov {
                    [x[4 * cells + cell], x[5 * cells + cell]]
                } else {
                    [0.0; 2]
                };
                self.local(self.primitive(x, cell), q.map(|q| self.shakhov_factor * q))
            })
            .collect()
    }

    /// The numbers that a local equilibrium is evaluated from: density, velocity and temperature, and (1-Pr) (8/5) q.
    pub(super) fn local(&self, state: [f64; 4], q: [f64; 2]) -> [f64; COEFFICIENTS] {
        let [n, ux, uy, t] = state;
        if self.linear {
            let half_k = 0.5 * self.internal;
            return [n, 2.0 * ux, 2.0 * uy, t, q[0], q[1], self.frequency, half_k];
        }
        let d = 0.5 * self.velocity_dimensions as f64;
        let k = q.map(|q| q / (n * t * t));
        let nu = self.frequency * n * t.powf(1.0 - self.omega);
        let amplitude = n * (std::f64::consts::PI * t).powf(-d);
        [
            amplitude,
            ux,
            uy,
            1.0 / t,
            k[0],
            k[1],
            nu,
            0.5 * self.internal * t,
        ]
    }

    /// The local equilibrium at a node: both functions.
    pub(super) fn equilibrium(&self, c: &[f64; COEFFICIENTS], node: usize) -> [f64; 2] {
        let [vx, vy, vz2, _] = self.nodes[node];
        let half_k = 0.5 * self.internal;
        if self.linear {
            let square = vx * vx + vy * vy + vz2;
            let k = c[4] * vx + c[5] * vy;
            let first = c[0]
                + c[1] * vx
                + c[2] * vy
                + c[3] * (square + half_k - 1.5)
                + k * (square + half_k - 2.5);
            [first, half_k * (first + c[3] + k)]
        } else {
            let (cx, cy) = (vx - c[1], vy - c[2]);
            let xi = (cx * cx + cy * cy + vz2) * c[3];
            let k = c[4] * cx + c[5] * cy;
            let g = c[0] * (-xi).exp();
            [
                g * (1.0 + k * (xi + half_k - 2.5)),
                c[7] * g * (1.0 + k * (xi + half_k - 1.5)),
            ]
        }
    }

    /// The mass in space.
    pub(super) fn mass(&self, x: &[f64]) -> f64 {
        let mut mass = 0.0;
        for (row, dy) in self.widths[1].iter().enumerate() {
            let row = &x[row * self.nx..(row + 1) * self.nx];
            let sum: f64 = row.iter().zip(&self.widths[0]).map(|(n, dx)| n * dx).sum();
            mass += dy * sum;
        }
        mass
    }

    /// Turns the sums of a sweep at `x` into new unknowns: the moments of f, and the densities of the walls.
    ///
    /// The first four components are sums of `f - S` with the local equilibrium S: where they vanish, S has the moments of f on the
    /// nodes, which makes the scheme conservative whatever the quadrature. `y` holds the returning molecules already.
    pub(super) fn update(&self, x: &[f64], swept: &Swept, y: &mut [f64]) {
        let Layout {
            cells,
            components,
            faces,
            ..
        } = self.layout;
        let sums = &swept.sums;
        for k in 0..4 * cells {
            y[k] = x[k] + sums[k];
        }
        y[4 * cells..components * cells].copy_from_slice(&sums[4 * cells..components * cells]);
        let at = self.layout.faces_at();
        for side in 0..4 {
            let Some(s) = &self.sides[side] else { continue };
            for face in faces[side]..faces[side + 1] {
                y[at + face] = if s.tight {
                    (swept.left[face] - s.rate[1]) / s.rate[0]
                } else {
                    x[at + face]
                };
            }
        }
    }

    /// Fluxes of nothing through every face of a line; none on a rectangle.
    pub(super) fn no_fluxes(&self) -> Vec<[f64; flux::LEN]> {
        let faces = if self.dimensions == 1 { self.nx + 1 } else { 0 };
        vec![[0.0; flux::LEN]; faces]
    }

    /// Adds what the molecules of a node carry through a face of a line.
    pub(super) fn add_fluxes(&self, sums: &mut [f64; flux::LEN], node: usize, f: [f64; 2]) {
        let [vx, vy, vz2, w] = self.nodes[node];
        let first = vx * w * f[0];
        sums[flux::MASS] += first;
        sums[flux::MOMENTUM] += vx * first;
        sums[flux::SHEAR] += vy * first;
        let square = vx * vx + vy * vy + vz2;
        sums[flux::ENERGY] += 0.5 * (square * first + vx * w * f[1]);
    }

    /// Adds what the molecules of a node carry out of a face of space.
    pub(super) fn add_leaving(&self, sums: &mut [f64], side: usize, node: usize, f: [f64; 2]) {
        let [vx, vy, vz2, w] = self.nodes[node];
        let (normal, tangential) = if side < 2 { (vx, vy) } else { (vy, vx) };
        let square = vx * vx + vy * vy + vz2;
        let energy = w * (square * f[0] + f[1]);
        let mut add = |k: usize, value: f64| sums[k] += value;
        add(leaving::MASS, w * normal.abs() * f[0]);
        add(leaving::NORMAL, w * normal * normal * f[0]);
        add(leaving::TANGENTIAL, w * normal.abs() * tangential * f[0]);
        add(leaving::ENERGY, 0.5 * normal.abs() * energy);
        add(leaving::DENSITY, w * f[0]);
        add(leaving::DRIFT, w * tangential * f[0]);
        add(leaving::SQUARE, energy);
    }

    /// Optical thickness of the longest side of space, for gas at unit density and temperature.
    pub(super) fn thickness(&self) -> f64 {
        let length = |d: usize| self.widths[d].iter().sum::<f64>();
        let longest = (0..self.dimensions).map(length).fold(0.0, f64::max);
        self.frequency * longest
    }

    /// Brings back what the boundaries leave open.
    pub(super) fn constrain(&self, y: &mut [f64]) {
        let Layout { cells, faces, .. } = self.layout;
        let at = self.layout.faces_at();
        match self.hold {
            Hold::Nothing => {}
            Hold::Mass(mass) if self.linear => {
                let volume: f64 = self.widths.iter().map(|w| w.iter().sum::<f64>()).product();
                let off = (mass - self.mass(y)) / volume;
                for cell in 0..cells {
                    y[cell] += off;
                    y[3 * cells + cell] += 1.5 * off;
                }
                y[at..at + faces[4]].iter_mut().for_each(|rho| *rho += off);
                for s in self.sides.iter().flatten().filter(|s| s.returned.is_some()) {
                    let count = self.nodes.len();
                    let len = self.returned_len(s);
                    let half_k = 0.5 * self.internal;
                    let from = s.returned.map_or(0, |(from, _)| from);
                    for (k, value) in y[s.offset..s.offset + len].iter_mut().enumerate() {
                        if !self.leaves(from, k % count) {
                            continue;
                        }
                        let second = k / count >= len / (2 * count);
                        *value += if second { half_k * off } else { off };
                    }
                }
            }
            Hold::Mass(mass) => {
                let factor = mass / self.mass(y);
                y.iter_mut().for_each(|value| *value *= factor);
            }
            // The correction of the conservation laws keeps the mass.
            Hold::Position(_) if self.diamond => {}
            Hold::Position(mass) => {
                // A translation by a small distance, to first order: y - d dy/dx.
                let ends = self.ends();
                let slope = |y: &[f64], k: usize, i: usize| {
                    let value = |i: usize| y[k * cells + i];
                    let below = if i == 0 { ends[0][k] } else { value(i - 1) };
                    let above = if i + 1 == cells {
                        ends[1][k]
                    } else {
                        value(i + 1)
                    };
                    let width = |i: usize| self.widths[0][i.min(cells - 1)];
                    let before = width(i.saturating_sub(1));
                    (above - below) / (width(i) + 0.5 * (before + width(i + 1)))
                };
                let gained: f64 = (0..cells).map(|i| slope(y, 0, i) * self.widths[0][i]).sum();
                let distance = (self.mass(y) - mass) / gained;
                // Never further than a few cells at once, where the first order holds.
                let widest = self.widths[0].iter().copied().fold(0.0, f64::max);
                let distance = distance.clamp(-2.0 * widest, 2.0 * widest);
                if distance.is_finite() {
                    for k in 0..4 {
                        let slopes: Vec<f64> = (0..cells).map(|i| slope(y, k, i)).collect();
                        for (i, slope) in slopes.into_iter().enumerate() {
                            y[k * cells + i] -= distance * slope;
                        }
                    }
                }
            }
        }
    }

    /// Unknowns that a side keeps of what returns to it.
    fn returned_len(&self, side: &Side) -> usize {
        let next = self.sides.iter().flatten().map(|s| s.offset);
        let end = next.filter(|&o| o > side.offset).min();
        end.unwrap_or(self.layout.populations) - side.offset
    }

    /// The unknowns beyond both ends of a line between two streams, with exact discrete moments.
    pub(super) fn ends(&self) -> [[f64; 4]; 2] {
        [WEST, EAST].map(|side| {
            let mut sums = [0.0; 4];
            if let Some(s) = &self.sides[side] {
                for (j, &[vx, vy, vz2, w]) in self.nodes.iter().enumerate() {
                    let emitted = if s.free { &s.a } else { &s.b };
                    let (g, h) = (w * emitted[0][j], w * emitted[1][j]);
                    sums[0] += g;
                    sums[1] += vx * g;
                    sums[2] += vy * g;
                    sums[3] += (vx * vx + vy * vy + vz2) * g + h;
                }
            }
            sums
        })
    }
}

/// Nodes in groups of one direction, each padded to a multiple of [`LANES`] with nodes of no weight.
///
/// Within a group they are sorted by |v_x|, |v_y|, |v_z|, so that nodes of one rank in two groups are mirror images if the velocities
/// are symmetric.
fn grouped(velocities: &Nodes, dimensions: usize, linear: bool) -> (Vec<[f64; 4]>, [usize; 5]) {
    let mut nodes = Vec::with_capacity(velocities.len() + 4 * LANES);
    let mut groups = [0; 5];
    for group in 0..4 {
        let mut members: Vec<usize> = (0..velocities.len())
            .filter(|&j| {
                let v = velocities.velocities[j];
                let along = |d: usize| {
                    if v[d] >= 0.0 {
                        upward(group, d)
                    } else {
                        !upward(group, d)
                    }
                };
                along(0) && if dimensions == 2 { along(1) } else { group < 2 }
            })
            .collect();
        // The sign of v_z comes last: mirror images in z stay in one order.
        let key = |j: usize| {
            let v = velocities.velocities[j];
            [v[0].abs(), v[1].abs(), v[2].abs(), v[1], v[2]]
        };
        members.sort_by(|&a, &b| {
            let (a, b) = (key(a), key(b));
            let order = a.iter().zip(&b).map(|(a, b)| a.total_cmp(b));
            order.fold(std::cmp::Ordering::Equal, std::cmp::Ordering::then)
        });
        for &j in &members {
            let [vx, vy, vz] = velocities.velocities[j];
            let mut weight = velocities.measures[j];
            if linear {
                weight *= velocities.maxwellian(j, [0.0; 2], 1.0);
            }
            nodes.push([vx, vy, vz * vz, weight]);
        }
        if let Some(&[vx, vy, vz2, _]) = nodes.last()
            && !members.is_empty()
        {
            while nodes.len() % LANES != 0 {
                nodes.push([vx, vy, vz2, 0.0]);
            }
        }
        groups[group + 1] = nodes.len();
    }
    (nodes, groups)
}
