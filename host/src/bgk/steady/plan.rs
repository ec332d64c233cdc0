//! A steady problem prepared for sweeping: velocities in groups of one direction, boundaries as formulas, the unknowns in one vector.

use super::nodes::Nodes;
use super::problem::{Closure, SteadyProblem};
use super::sums::{Swept, flux};
use crate::bgk::{Axis, Rotation};
use crate::error::Result;
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
/// | 8 | (d/2) T_r*, of molecules that rotate | the same |
/// | 9, 10 | 4 Q_r / (n T*), the same | 4 Q_r |
pub(super) const COEFFICIENTS: usize = 11;

/// Functions of a node: the distribution with the missing components integrated out, its second moment over these, and internal energy, which is 0 where molecules do not rotate.
pub(super) const FUNCTIONS: usize = 3;

/// First of the unknowns of internal energy: its density, then its heat flux along x and y.
pub(super) const INTERNAL: usize = 6;
/// Unknowns of a cell.
pub(super) const COMPONENTS: usize = 9;

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
    /// Factors of `rho` for each function, by node.
    pub(super) a: [Vec<f64>; FUNCTIONS],
    /// Inflow that does not depend on `rho`, by node.
    pub(super) b: [Vec<f64>; FUNCTIONS],
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
/// model q_x, q_y. Molecules that rotate have q_x and q_y of translation, their internal energy, and its heat flux. `rho` of each boundary face follows, west, east, south, north. Then come the functions that mirroring and periodic faces return and, around the
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
    /// The rotation of the molecules.
    pub(super) rotation: Option<Rotation>,
    /// [`FUNCTIONS`] where the molecules rotate, else one fewer.
    pub(super) functions: usize,
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
    /// Velocities along x and y at which molecules of each node cross space: those of the node but for [walls around a collision integral](Axis::wall_speeds).
    pub(super) speeds: Vec<[f64; 2]>,
    /// Each node's place among those of the problem.
    pub(super) places: Vec<usize>,
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
        let rotates = problem.gas.rotating().is_some();
        let shakhov = problem.gas.effective_prandtl() != 1.0 || rotates;
        let cells = nx * ny;

        let (nodes, groups, places) = grouped(velocities, dimensions, problem.linear);
        let components = match (rotates, shakhov) {
            (true, _) => COMPONENTS,
            (false, true) => 6,
            (false, false) => 4,
        };
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
            rotation: problem.gas.rotating(),
            functions: FUNCTIONS - usize::from(!rotates),
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
            speeds: speeds(problem, &nodes)?,
            nodes,
            places,
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
                len += plan.functions * (faces[side + 1] - faces[side]) * plan.nodes.len();
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

    /// The group of a node.
    pub(super) fn group(&self, node: usize) -> usize {
        (0..4).find(|&g| node < self.groups[g + 1]).unwrap_or(3)
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
        self.start_internal(&mut x);
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
                    for (k, f) in f.into_iter().take(self.functions).enumerate() {
                        x[offset + (k * count + face) * self.nodes.len() + node] = f;
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
        if let Some(rotation) = &self.rotation {
            // The equilibria have other energies than the gas, and the same together.
            for cell in 0..cells {
                let to = self.relaxed(rotation, x, cell);
                let energies = [(3, to.molecules[3]), (INTERNAL, to.internal[0])];
                for (k, energy) in energies {
                    y[k * cells + cell] = energy + sums[k * cells + cell];
                }
            }
        }
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
    pub(super) fn add_fluxes(&self, sums: &mut [f64; flux::LEN], node: usize, f: [f64; FUNCTIONS]) {
        let [vx, vy, vz2, w] = self.nodes[node];
        let across = self.speeds[node][0];
        let first = across * w * f[0];
        sums[flux::MASS] += first;
        sums[flux::MOMENTUM] += vx * first;
        sums[flux::SHEAR] += vy * first;
        let square = vx * vx + vy * vy + vz2;
        sums[flux::ENERGY] += 0.5 * (square * first + across * w * f[1]);
        sums[flux::INTERNAL] += 0.5 * across * w * f[2];
    }

    /// Optical thickness of the longest side of space, for gas at unit density and temperature.
    pub(super) fn thickness(&self) -> f64 {
        let length = |d: usize| self.widths[d].iter().sum::<f64>();
        let longest = (0..self.dimensions).map(length).fold(0.0, f64::max);
        self.frequency * longest
    }
}

/// The velocities at which molecules of the nodes cross space.
///
/// Where they differ from those of the nodes, they are odd in them, and collisions conserve the sums over the nodes: a molecule carries the momentum and the energy of its node.
fn speeds(problem: &SteadyProblem, nodes: &[[f64; 4]]) -> Result<Vec<[f64; 2]>> {
    let own = || nodes.iter().map(|&[vx, vy, ..]| [vx, vy]).collect();
    let Some(grid) = problem.integral.as_ref().map(|operator| operator.grid) else {
        return Ok(own());
    };
    if problem.dimensions < 2 {
        return Ok(own());
    }
    let speeds = Axis::uniform(grid.n(), grid.min(), grid.max())?.wall_speeds();
    let last = grid.n() - 1;
    let of = |v: f64| {
        let place = ((v - grid.min()) / grid.spacing() - 0.5).round();
        // Nodes beside those of the grid are refused later.
        speeds[(place.max(0.0) as usize).min(last)]
    };
    Ok(nodes.iter().map(|&[vx, vy, ..]| [of(vx), of(vy)]).collect())
}

/// Nodes in groups of one direction, each padded to a multiple of [`LANES`] with nodes of no weight.
///
/// Within a group they are sorted by |v_x|, |v_y|, |v_z|, so that nodes of one rank in two groups are mirror images if the velocities
/// are symmetric.
fn grouped(
    velocities: &Nodes,
    dimensions: usize,
    linear: bool,
) -> (Vec<[f64; 4]>, [usize; 5], Vec<usize>) {
    let mut nodes = Vec::with_capacity(velocities.len() + 4 * LANES);
    let mut places = Vec::with_capacity(nodes.capacity());
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
            places.push(j);
        }
        if let Some(&[vx, vy, vz2, _]) = nodes.last()
            && !members.is_empty()
        {
            while nodes.len() % LANES != 0 {
                nodes.push([vx, vy, vz2, 0.0]);
            }
            places.resize(nodes.len(), members[members.len() - 1]);
        }
        groups[group + 1] = nodes.len();
    }
    (nodes, groups, places)
}
