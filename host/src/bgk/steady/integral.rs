//! Sweeps around the collision integral, on all cores of the CPU.
//!
//! The unknowns end with the populations of the cells, f as the last sweep left it. An iteration moves f to the fields W, which the conservation laws have
//! corrected since, evaluates the integral I once in every cell, and sweeps
//!
//! ```text
//! f0 = f + S[W] - S[W(f)],        v.grad f + nu f = I(f0, f0) + nu f0
//! ```
//!
//! with the frequency nu(v) of the loss; S is the local equilibrium with the heat flux. At the fixed point W are the moments of f, whatever S is.
//!
//! **Conservation.** The sums of I over the nodes are brought to 0 in f64, by the least multiple of an invariant times f0. So the defects of a sweep,
//! `sum w (nu (f - f0) - I)(1, v, |v|^2)`, are what passes the faces of the cell, whatever the arithmetic of the integral.
//!
//! Nothing moves along z, so f is even in v_z, and nodes with v_z below 0 are left out. Diamond differences leave negative values behind a strong jump. The
//! integral sees them cut off at those that it tolerates. A cut at 0 would stall the iteration: tails on coarse grids are below it everywhere.

#![allow(
    clippy::needless_range_loop,
    reason = "a lane index runs over several arrays at once, which the compiler makes vectors of"
)]

use std::collections::HashMap;

use nalgebra::{Matrix4, Vector4};
use rayon::prelude::*;

use super::engine::Sweeps;
use super::plan::{COEFFICIENTS, Plan, upward};
use super::sums::{Sums, Swept, leaving};
use crate::collision::{CollisionOperator, Mirrors, OperatorConfig};
use crate::error::{Error, Result};
use crate::maxwellian::lanes::LANES;

/// Share of the negative values which the integral tolerates that it is given.
const TOLERATED: f64 = 0.99;
/// Most cells whose integrals are evaluated together.
const TOGETHER: usize = 512;

/// The integral of each cell at the nodes, and a frequency.
struct Collided {
    /// `I + nu f`, `[cell][node]`.
    source: Vec<f64>,
    /// nu.
    frequency: Vec<f64>,
}

/// The collision integral on the nodes of a plan.
struct Integral {
    operator: CollisionOperator,
    /// Of each node the two of the grid that it is, by the sign of v_z; none if it has no weight.
    places: Vec<Option<[usize; 2]>>,
    /// Of each node the first with the same f where nothing moves along y; empty elsewhere.
    images: Vec<usize>,
    /// Cells whose integrals are evaluated together.
    together: usize,
}

impl Integral {
    fn new(plan: &Plan, config: &OperatorConfig) -> Result<Self> {
        let grid = config.grid;
        let refused = || {
            Error::invalid(
                "nodes",
                format!("{} velocities", plan.nodes.len()),
                "the nodes of the collision integral's grid, or its box moved along v_x, one half of them along v_z",
            )
        };
        // The box may move along x.
        let along = plan.nodes.iter().map(|node| node[0]);
        let [low, high] = along.fold([f64::INFINITY, f64::NEG_INFINITY], |[low, high], v| {
            [low.min(v), high.max(v)]
        });
        let drift = 0.5 * (low + high);
        let index = |v: f64| {
            let at = ((v - grid.min()) / grid.spacing() - 0.5).round();
            let is_node = at >= 0.0 && at < grid.n() as f64;
            let near = |i: usize| (grid.centre(i) - v).abs() < 1e-9 * grid.spacing();
            Some(at as usize).filter(|&i| is_node && near(i))
        };
        let place = |&[vx, vy, vz2, weight]: &[f64; 4]| {
            if weight == 0.0 {
                return Ok(None);
            }
            let vz = vz2.sqrt();
            let [x, y, up, down] = [vx - drift, vy, vz, -vz].map(index);
            let both = x.zip(y).zip(up.zip(down));
            let ((x, y), (up, down)) = both.ok_or_else(refused)?;
            Ok(Some([up, down].map(|z| grid.index(x, y, z))))
        };
        let places = plan.nodes.iter().map(place).collect::<Result<Vec<_>>>()?;
        let mut images = Vec::new();
        if config.spectral.mirrors == Mirrors::ALL {
            let mut first = HashMap::new();
            // Distances from 0 in half spacings, which are whole numbers.
            let distance = |v: f64| (2.0 * v.abs() / grid.spacing()).round() as usize;
            images.extend(plan.nodes.iter().enumerate().map(|(node, n)| {
                let (y, z) = (distance(n[1]), distance(n[2].sqrt()));
                let key = (n[0].to_bits(), y.min(z), y.max(z), n[3] == 0.0);
                *first.entry(key).or_insert(node)
            }));
        }
        let mut known = vec![false; grid.cells()];
        for place in places.iter().flatten().flatten() {
            known[*place] = true;
        }
        if !known.into_iter().all(|known| known) {
            return Err(refused());
        }
        let cells = plan.layout.cells;
        Ok(Self {
            operator: CollisionOperator::new(config.clone())?,
            places,
            images,
            together: cells.div_ceil(cells.div_ceil(TOGETHER)),
        })
    }

    /// Takes out what breaks the symmetries of f, which roundoff does and mixing may amplify.
    fn symmetrise(&self, f: &mut [f64]) {
        let images = &self.images;
        f.par_chunks_exact_mut(self.places.len()).for_each(|f| {
            for (node, &image) in images.iter().enumerate() {
                f[node] = f[image];
            }
        });
    }

    /// The collisions in all cells; `f` is `[cell][node]`.
    fn collide(&mut self, plan: &Plan, f: &[f64]) -> Result<Collided> {
        let size = plan.nodes.len();
        let full = self.operator.config().grid.cells();
        let mut source = vec![0.0; f.len()];
        let mut frequency = vec![0.0; f.len()];
        let mut density = vec![0.0; self.together * full];
        let tolerated = TOLERATED * self.operator.config().tolerated_negative();
        let groups = f
            .chunks(self.together * size)
            .zip(source.chunks_mut(self.together * size))
            .zip(frequency.chunks_mut(self.together * size));
        for ((f, source), frequency) in groups {
            // Cells that the last group lacks are those of the group before.
            density
                .par_chunks_exact_mut(full)
                .zip(f.par_chunks_exact(size))
                .for_each(|(density, f)| {
                    // Diamond differences undershoot behind a strong jump.
                    let least = -tolerated * f.iter().copied().fold(0.0, f64::max);
                    for (f, places) in f.iter().zip(&self.places) {
                        places
                            .iter()
                            .flatten()
                            .for_each(|&at| density[at] = f.max(least));
                    }
                });
            let evaluations = self.operator.evaluate_batch(&density);
            // The caller has no distribution of its own: a cell's is too coarse for the operator.
            let evaluations = evaluations.map_err(|error| match error {
                Error::Input { .. } => Error::Numerical(format!(
                    "the gas is beyond the collision operator ({error}); use more velocities, a wider box, or a weaker drive"
                )),
                other => other,
            })?;
            source
                .par_chunks_exact_mut(size)
                .zip(frequency.par_chunks_exact_mut(size))
                .zip(f.par_chunks_exact(size))
                .zip(&evaluations)
                .for_each(|(((source, frequency), f), evaluation)| {
                    for (node, places) in self.places.iter().enumerate() {
                        let Some([up, down]) = *places else { continue };
                        let mean = |values: &[f64]| 0.5 * (values[up] + values[down]);
                        source[node] = mean(&evaluation.rate);
                        frequency[node] = mean(&evaluation.frequency).max(0.0);
                    }
                    conserve(plan, f, source);
                    for ((source, frequency), f) in source.iter_mut().zip(frequency).zip(f) {
                        *source += *frequency * f;
                    }
                });
        }
        Ok(Collided { source, frequency })
    }
}

/// The invariants at a node.
fn invariants(&[vx, vy, vz2, _]: &[f64; 4]) -> [f64; 4] {
    [1.0, vx, vy, vx * vx + vy * vy + vz2]
}

/// Sums of the invariants over the nodes.
fn totals(plan: &Plan, values: impl Iterator<Item = f64>) -> [f64; 4] {
    let mut sums = [0.0; 4];
    for (node, value) in plan.nodes.iter().zip(values) {
        let value = node[3] * value;
        for (sum, invariant) in sums.iter_mut().zip(invariants(node)) {
            *sum += invariant * value;
        }
    }
    sums
}

/// Takes the sums of the invariants off the collisions of a cell, as a multiple of f.
fn conserve(plan: &Plan, f: &[f64], rate: &mut [f64]) {
    let mut products = Matrix4::zeros();
    for (node, f) in plan.nodes.iter().zip(f) {
        let values = invariants(node).map(|value| value * (node[3] * f.abs()).sqrt());
        let values = Vector4::from(values);
        products += values * values.transpose();
    }
    let Some(products) = products.cholesky() else {
        return;
    };
    let shares = products.solve(&Vector4::from(totals(plan, rate.iter().copied())));
    for ((node, f), rate) in plan.nodes.iter().zip(f).zip(rate) {
        *rate -= f.abs() * Vector4::from(invariants(node)).dot(&shares);
    }
}

/// Sweeps around the collision integral.
pub(super) struct IntegralSweeps {
    plan: Plan,
    integral: Integral,
    /// The unit of the collisions' arithmetic.
    unit: f64,
}

/// Results of the sweep of one chunk of [`LANES`] nodes.
struct Part {
    /// `[cell]`.
    f: Vec<[f64; LANES]>,
    /// Populations that leave the rows, and the columns.
    left: [Vec<[f64; LANES]>; 2],
    /// On a line, what passes its faces.
    passed: Vec<[f64; LANES]>,
}

/// Moments of a cell.
struct OfCell {
    /// Sums of the invariants.
    sums: [f64; 4],
    /// Populations that leave the cell through its faces.
    defects: [f64; 4],
    /// P_xx, P_xy, P_yy, q_x and q_y.
    fluxes: [f64; 5],
}

impl IntegralSweeps {
    pub(super) fn new(plan: &Plan, operator: &OperatorConfig) -> Result<Self> {
        Ok(Self {
            plan: plan.clone(),
            integral: Integral::new(plan, operator)?,
            unit: operator.compute.precision.epsilon(),
        })
    }

    /// The device of the integral in words.
    pub(super) fn device(&self) -> String {
        self.integral.operator.device()
    }
}

impl Plan {
    /// The populations, moved to the fields.
    fn moved(&self, x: &[f64]) -> Result<Vec<f64>> {
        let plan = self;
        let cells = plan.layout.cells;
        let mut f = x[plan.layout.populations..].to_vec();
        f.par_chunks_exact_mut(plan.nodes.len())
            .enumerate()
            .try_for_each(|(cell, f)| {
                let sums = totals(plan, f.iter().copied());
                let state = plan.state(sums);
                if !(state[0] > 0.0 && state[3] > 0.0) {
                    return Err(Error::Numerical(
                        "the molecules of a cell have no positive density and temperature; use finer cells or more velocities".into(),
                    ));
                }
                let [.., qx, qy] = fluxes(plan, f, [state[1], state[2]]);
                let q = if plan.shakhov {
                    [4, 5].map(|k| x[k * cells + cell])
                } else {
                    [qx, qy]
                };
                let from = heated(plan, state, [qx, qy]);
                let to = heated(plan, plan.primitive(x, cell), q);
                for (node, f) in f.iter_mut().enumerate() {
                    *f += plan.equilibrium(&to, node)[0] - plan.equilibrium(&from, node)[0];
                }
                Ok(())
            })?;
        Ok(f)
    }

    /// Sweeps all chunks.
    fn sweep(&self, x: &[f64], collided: &Collided) -> Vec<Part> {
        let chunks = self.nodes.len() / LANES;
        (0..chunks)
            .into_par_iter()
            .map(|chunk| self.sweep_chunk(x, collided, chunk * LANES))
            .collect()
    }

    fn sweep_chunk(&self, x: &[f64], collided: &Collided, first: usize) -> Part {
        let plan = self;
        let (nx, ny, size) = (plan.nx, plan.ny, plan.nodes.len());
        let [east, north] = [0, 1].map(|d| upward(plan.group(first), d));
        let plane = plan.dimensions == 2;
        let factor = if plan.diamond { 2.0 } else { 1.0 };
        let speed = |d: usize| -> [f64; LANES] {
            std::array::from_fn(|l| factor * plan.speeds[first + l][d].abs())
        };
        let speeds = [speed(0), if plane { speed(1) } else { [0.0; LANES] }];
        let incoming = |side: usize, face: usize| -> [f64; LANES] {
            std::array::from_fn(|l| plan.incoming(x, side, face, first + l)[0])
        };
        let along = |count: usize, up: bool| {
            (0..count).map(move |step| if up { step } else { count - 1 - step })
        };
        let mut f = vec![[0.0; LANES]; nx * ny];
        let mut passed = vec![[0.0; LANES]; plan.no_fluxes().len()];
        let mut pass = |face: usize, f: &[f64; LANES]| {
            if let Some(passed) = passed.get_mut(face) {
                *passed = *f;
            }
        };
        let mut rows = vec![[0.0; LANES]; ny];
        let mut columns = vec![[0.0; LANES]; nx];
        if plane {
            for (face, column) in columns.iter_mut().enumerate() {
                *column = incoming(if north { 2 } else { 3 }, face);
            }
        }
        for row in along(ny, north) {
            let mut beside = incoming(usize::from(!east), row);
            pass(if east { 0 } else { nx }, &beside);
            for column in along(nx, east) {
                let cell = row * nx + column;
                let below = &mut columns[column];
                let at = cell * size + first;
                let source = &collided.source[at..at + LANES];
                let frequency = &collided.frequency[at..at + LANES];
                let mean = &mut f[cell];
                for l in 0..LANES {
                    let bx = speeds[0][l] * plan.inverse[0][column];
                    let by = speeds[1][l] * plan.inverse[1][row];
                    let inflow = bx * beside[l] + by * below[l];
                    mean[l] = (source[l] + inflow) / (frequency[l] + bx + by);
                    if plan.diamond {
                        beside[l] = 2.0 * mean[l] - beside[l];
                        below[l] = 2.0 * mean[l] - below[l];
                    } else {
                        beside[l] = mean[l];
                        below[l] = mean[l];
                    }
                }
                pass(column + usize::from(east), &beside);
            }
            rows[row] = beside;
        }
        Part {
            f,
            left: [rows, columns],
            passed,
        }
    }

    /// Sums over what leaves the faces of space; what a mirror returns goes into `y`.
    fn leave(&self, parts: &[Part], y: &mut [f64]) -> Vec<f64> {
        let plan = self;
        let mut faces = vec![0.0; leaving::LEN * plan.layout.faces[4]];
        for (chunk, part) in parts.iter().enumerate() {
            let group = plan.group(chunk * LANES);
            for direction in 0..plan.dimensions {
                let side = 2 * direction + usize::from(upward(group, direction));
                let first = plan.layout.faces[side];
                let record = plan.record(side);
                for (face, f) in part.left[direction].iter().enumerate() {
                    let sums = &mut faces[(first + face) * leaving::LEN..][..leaving::LEN];
                    for (l, f) in f.iter().enumerate() {
                        let node = chunk * LANES + l;
                        plan.add_leaving(sums, side, node, [*f, 0.0, 0.0]);
                        if let Some(offset) = record {
                            y[offset + face * plan.nodes.len() + node] = *f;
                        }
                    }
                }
            }
        }
        faces
    }

    /// Puts the populations in the order of the unknowns, and takes their moments.
    fn gather(&self, parts: &[Part], collided: &Collided, f: &mut [f64]) -> Vec<OfCell> {
        let plan = self;
        let size = plan.nodes.len();
        f.par_chunks_exact_mut(size)
            .enumerate()
            .map(|(cell, f)| {
                for (to, part) in f.chunks_exact_mut(LANES).zip(parts) {
                    to.copy_from_slice(&part.f[cell]);
                }
                for (f, node) in f.iter_mut().zip(&plan.nodes) {
                    if node[3] == 0.0 {
                        *f = 0.0;
                    }
                }
                let here = cell * size..(cell + 1) * size;
                let source = &collided.source[here.clone()];
                let lost = collided.frequency[here].iter().zip(&*f);
                let gained = lost.zip(source).map(|((nu, f), source)| nu * f - source);
                let sums = totals(plan, f.iter().copied());
                let [_, ux, uy, _] = plan.state(sums);
                OfCell {
                    sums,
                    defects: totals(plan, gained),
                    fluxes: fluxes(plan, f, [ux, uy]),
                }
            })
            .collect()
    }
}

/// Adds the effect of a force to the sources of the cells.
fn push(plan: &Plan, x: &[f64], source: &mut [f64]) {
    let sources = source.par_chunks_exact_mut(plan.nodes.len());
    sources.zip(plan.pushes(x)).for_each(|(source, push)| {
        for (node, source) in source.iter_mut().enumerate() {
            *source += plan.pushed(&push, node)[0];
        }
    });
}

/// The numbers of the local equilibrium with all of a heat flux.
fn heated(plan: &Plan, state: [f64; 4], q: [f64; 2]) -> [f64; COEFFICIENTS] {
    plan.local(state, q.map(|q| 1.6 * q))
}

/// P_xx, P_xy, P_yy, q_x and q_y about a velocity.
fn fluxes(plan: &Plan, f: &[f64], [ux, uy]: [f64; 2]) -> [f64; 5] {
    let mut sums = [0.0; 5];
    for (&[vx, vy, vz2, w], f) in plan.nodes.iter().zip(f) {
        let (cx, cy, f) = (vx - ux, vy - uy, w * f);
        let energy = 0.5 * (cx * cx + cy * cy + vz2) * f;
        let terms = [
            cx * cx * f,
            cx * cy * f,
            cy * cy * f,
            cx * energy,
            cy * energy,
        ];
        for (sum, term) in sums.iter_mut().zip(terms) {
            *sum += term;
        }
    }
    sums
}

impl Sweeps for IntegralSweeps {
    fn iterate(&mut self, x: &[f64], y: &mut [f64]) -> Result<Swept> {
        let plan = &self.plan;
        let mut moved = plan.moved(x)?;
        self.integral.symmetrise(&mut moved);
        let mut collided = self.integral.collide(plan, &moved)?;
        push(plan, x, &mut collided.source);
        let parts = plan.sweep(x, &collided);
        let faces = plan.leave(&parts, y);
        let layout = plan.layout;
        let of_cells = plan.gather(&parts, &collided, &mut y[layout.populations..]);
        let by_component = |count: usize, value: &dyn Fn(usize, &OfCell, usize) -> f64| {
            let mut values = Vec::with_capacity(count * layout.cells);
            for k in 0..count {
                let here = of_cells.iter().enumerate();
                values.extend(here.map(|(cell, of)| value(cell, of, k)));
            }
            values
        };
        let mut passed = plan.no_fluxes();
        for (chunk, part) in parts.iter().enumerate() {
            for (sums, f) in passed.iter_mut().zip(&part.passed) {
                for (l, f) in f.iter().enumerate() {
                    plan.add_fluxes(sums, chunk * LANES + l, [*f, 0.0, 0.0]);
                }
            }
        }
        Ok(Swept {
            sums: by_component(layout.components, &|cell, of, k| match k {
                0..4 => of.sums[k] - x[k * layout.cells + cell],
                _ => of.fluxes[k - 1],
            }),
            defects: by_component(4, &|_, of, k| of.defects[k]),
            left: faces.iter().step_by(leaving::LEN).copied().collect(),
            fluxes: passed,
            brought: plan.pushes(x).iter().map(|push| push.brought).collect(),
            built: Vec::new(),
            closing: Some(Sums {
                cells: by_component(5, &|_, of, k| of.fluxes[k]),
                faces,
            }),
        })
    }

    fn unit(&self) -> f64 {
        self.unit
    }

    fn populate(&self, x: &mut [f64]) -> bool {
        let plan = &self.plan;
        let nodes = plan.nodes.len();
        let mut source = Vec::with_capacity(plan.layout.cells * nodes);
        let mut frequency = Vec::with_capacity(plan.layout.cells * nodes);
        for local in plan.coefficients(x) {
            let nu = local[6];
            source.extend((0..nodes).map(|node| nu * plan.equilibrium(&local, node)[0]));
            frequency.resize(source.len(), nu);
        }
        push(plan, x, &mut source);
        let collided = Collided { source, frequency };
        let parts = plan.sweep(x, &collided);
        let of_cells = plan.gather(&parts, &collided, &mut x[plan.layout.populations..]);
        of_cells.iter().all(|of| {
            let [n, .., t] = plan.state(of.sums);
            n > 0.0 && t > 0.0
        })
    }

    fn output(&mut self, x: &[f64]) -> Result<Sums> {
        let mut unused = x.to_vec();
        let swept = self.iterate(x, &mut unused)?;
        swept
            .closing
            .ok_or_else(|| Error::Numerical("a sweep without sums".into()))
    }
}
