//! The correction in two dimensions.
//!
//! A sweep leaves defects of mass, momentum and energy in the cells, `c = sum w (f - S) (1, v, |v|^2)`. The conservation laws with Newton's and
//! Fourier's law, driven by these defects, give changes of density, velocity and temperature, which are added to the moments of `f`:
//!
//! ```text
//! -div(kappa grad theta)                          = nu (c_E/2 - 5/4 c_n)        dn = 2 p - theta
//! -div(mu (grad u + grad u' - 2/3 div u)) + grad p = nu c_u,     div u = nu c_n
//! walls: normal velocity 0, stress and heat flux outwards u / sqrt(pi) and theta / sqrt(pi)
//! ```
//!
//! in the units of the models, with two temperatures of molecules that [rotate](rotating), linearised at rest for a slow flow; discretised in [`operators`], solved in [`dissection`]. A fixed point without defects
//! stays one: only the rate depends on the equations here.
//!
//! **Bounds.** The pressure's checkerboard is filtered out of the defects of mass where cells are thin. The whole correction is damped where the
//! rarefaction parameter is below 3: there these equations are no guide, and the plain iteration is fast. The misfit of mass at walls stays out of
//! the equation of mass: as a source it would cause a pressure in proportion to the thickness of the cells' inverse.
//!
//! **Moving gas.** Where the Reynolds number is large, or the temperature uneven, the operator contains convection by the flow (Oseen), and its density and
//! temperature. It is factored again a few times as the flow develops, and after a correction that had to be cut off.
//!
//! **Source.** W. Su and others, J. Comput. Phys. 407 (2020) 109245 (the equations); M. L. Adams and E. W. Larsen, Prog. Nucl. Energy 40 (2002) 3
//! (consistent discretisation).

mod dissection;
mod operators;
mod rotating;
mod walls;

use std::f64::consts::PI;

use rayon::prelude::*;

use self::dissection::{Factors, Unknowns};
use self::operators::{Local, VERTICES, edge};
use self::rotating::Rotating;
use self::walls::{AtWall, Lag, lags, return_changed};
use super::laws::lag;
use crate::bgk::steady::plan::{INTERNAL, Plan, Side};
use crate::bgk::steady::sums::Swept;
use crate::error::{Error, Result};

/// Rarefaction parameter at which half of the correction is applied, squared.
const DAMPING: f64 = 9.0;

/// Mean free paths in a cell at which half of the mass defect is smoothed.
const THICK: f64 = 20.0;

/// Iterations at which the operator of a moving gas is factored again.
const AGAIN: [usize; 7] = [2, 4, 7, 12, 20, 30, 45];

/// Reynolds number from which on convection is part of the operator.
const CONVECTIVE: f64 = 50.0;

/// Ratio of the highest to the lowest temperature from which on the operator has the coefficients of the flow.
const CONTRAST: f64 = 1.1;

/// Largest change of a density or temperature by a correction, relative to its value.
const LARGEST: f64 = 0.2;

/// Cells that one task takes up at least.
const TASK: usize = 512;

/// How often a correction is halved before it is dropped.
const HALVINGS: usize = 4;

/// Coefficients of the correction in a flow.
pub(in crate::bgk::steady) struct PlaneCorrection {
    /// Of the temperature, and of the velocity and pressure.
    unknowns: [Unknowns; 2],
    factors: [Factors; 2],
    cells: Vec<Local>,
    /// Share of the smoothed defect of mass, by cell.
    filter: Vec<f64>,
    damping: f64,
    /// Length of the shorter side.
    length: f64,
    /// Whether the last correction was cut off.
    limited: bool,
    /// The unknowns about which the operator was factored last; none for gas at rest.
    about: Vec<f64>,
}

/// Changes of the fields.
struct Change {
    /// Density, velocity, temperature, heat flux, by cell; of molecules that rotate those of translation, and temperature and heat flux of rotation.
    cells: Vec<[f64; 9]>,
    /// By face.
    faces: Vec<AtWall>,
}

impl Change {
    /// The largest change of a density or temperature, relative to its value.
    fn largest(&self, plan: &Plan, y: &[f64]) -> f64 {
        let changes = self.cells.iter().enumerate().map(|(cell, change)| {
            let [n, _, _, t] = plan.primitive(y, cell);
            let most = (change[0] / n).abs().max((change[3] / t).abs());
            match &plan.rotation {
                None => most,
                Some(rotation) => {
                    let [_, t_r] = plan.temperatures(rotation, y, cell);
                    most.max((change[6] / t_r).abs())
                }
            }
        });
        changes.fold(0.0, f64::max)
    }
}

impl PlaneCorrection {
    /// `None` where the equations do not apply: boundaries other than walls, or the upwind closure.
    pub(in crate::bgk::steady) fn new(plan: &Plan) -> Result<Option<Self>> {
        let is_tight = |side: &Side| side.tight && side.share > 0.0;
        let is_mirror = |side: &Side| side.share == 0.0 && side.returned.is_some_and(|r| r.1);
        let sides = || plan.sides.iter().flatten();
        let applies = plan.dimensions == 2
            && plan.diamond
            && plan.nx >= 2
            && plan.ny >= 2
            && sides().all(|side| is_tight(side) || is_mirror(side))
            && sides().any(is_tight);
        if !applies {
            return Ok(None);
        }
        let size = |d: usize| plan.widths[d].iter().sum::<f64>();
        let length = size(0).min(size(1));
        let delta = length * plan.frequency;
        let unknowns = unknowns(plan);
        let cells = at_rest(plan);
        let factors = factor(&unknowns, &cells)?;
        let filter = cells.iter().map(|cell| {
            let thickness = plan.frequency * cell.volume().sqrt();
            1.0 / (1.0 + (thickness / THICK).powi(2))
        });
        Ok(Some(Self {
            filter: filter.collect(),
            unknowns,
            factors,
            cells,
            damping: 1.0 / (1.0 + DAMPING / (delta * delta)),
            length,
            limited: false,
            about: Vec::new(),
        }))
    }

    /// Bytes that the factors take, and bytes beside them while they are computed.
    pub(in crate::bgk::steady) fn bytes(nx: usize, ny: usize, rotates: bool) -> [u64; 2] {
        let temperatures = 1 + usize::from(rotates);
        let bytes = [(temperatures, false), (2, true)].map(|(of_vertex, pressure)| {
            let unknowns = Unknowns {
                fixed: Vec::new(),
                nx,
                ny,
                of_vertex,
                pressure,
            };
            unknowns.bytes()
        });
        [bytes[0].0 + bytes[1].0, bytes[0].1.max(bytes[1].1)]
    }

    /// Corrects `y`, the unknowns after a sweep at `x`. `iteration` counts from 1.
    ///
    /// Returns whether the operator was replaced: then earlier iterations are of another map.
    pub(in crate::bgk::steady) fn apply(
        &mut self,
        plan: &Plan,
        x: &[f64],
        swept: &Swept,
        y: &mut [f64],
        iteration: usize,
    ) -> Result<bool> {
        let due = self.limited || AGAIN.contains(&iteration);
        let replaced = !plan.linear && due && self.moves(plan, x);
        if replaced {
            self.follow(plan, x)?;
        }
        let change = self.change(plan, x, swept, y);
        if plan.linear {
            self.add(plan, &change, self.damping, y);
            return Ok(replaced);
        }
        let most = change.largest(plan, y);
        self.limited = most > LARGEST;
        let mut scale = self.damping.min(LARGEST / most);
        let moments = y.to_vec();
        for _ in 0..=HALVINGS {
            self.add(plan, &change, scale, y);
            let at = plan.layout.faces_at();
            let densities = &y[at..at + plan.layout.faces[4]];
            if plan.is_admissible(y) && densities.iter().all(|&rho| rho >= 0.0) {
                return Ok(replaced);
            }
            y.copy_from_slice(&moments);
            scale *= 0.5;
        }
        Ok(replaced)
    }

    /// All that later corrections depend on beside the plan: the unknowns about which the operator was factored last, if not at rest, and
    /// whether the last correction was cut off.
    pub(in crate::bgk::steady) fn kept(&self) -> (&[f64], bool) {
        (&self.about, self.limited)
    }

    /// Takes up what [`PlaneCorrection::kept`] gave; later corrections have the same bits.
    pub(in crate::bgk::steady) fn restore(
        &mut self,
        plan: &Plan,
        about: &[f64],
        limited: bool,
    ) -> Result<()> {
        self.limited = limited;
        if about.is_empty() {
            return Ok(());
        }
        self.follow(plan, about)
    }

    /// Whether the flow is so fast, or its temperature so uneven, that the operator must contain them.
    fn moves(&self, plan: &Plan, x: &[f64]) -> bool {
        let (mut speed, mut coldest, mut hottest) = (0.0_f64, f64::INFINITY, 0.0_f64);
        for cell in 0..plan.layout.cells {
            let [_, ux, uy, t] = plan.primitive(x, cell);
            speed = speed.max(ux.hypot(uy));
            coldest = coldest.min(t);
            hottest = hottest.max(t);
        }
        2.0 * speed * self.length * plan.frequency > CONVECTIVE || hottest > CONTRAST * coldest
    }

    /// Factors the operator about a flow.
    fn follow(&mut self, plan: &Plan, x: &[f64]) -> Result<()> {
        let cells = plan.layout.cells;
        let states: Vec<[f64; 4]> = (0..cells).map(|cell| plan.primitive(x, cell)).collect();
        for (cell, local) in self.cells.iter_mut().enumerate() {
            let (i, j) = (cell % plan.nx, cell / plan.nx);
            let [n, ux, uy, t] = states[cell];
            local.densities =
                VERTICES.map(|[a, b]| around(plan, i + a, j + b, |cell| states[cell][0]));
            local.density = n;
            local.temperature = t;
            local.velocity = [ux, uy];
            local.viscosity = 0.5 * t.powf(plan.omega) / plan.frequency;
            local.conductivity = 1.25 * local.viscosity / plan.prandtl;
            local.rotating =
                (plan.rotation.as_ref()).map(|rotation| Rotating::new(plan, rotation, n, t));
        }
        self.factors = factor(&self.unknowns, &self.cells)?;
        self.about = x[..4 * cells].to_vec();
        Ok(())
    }

    /// The solution of the equations for the defects of a sweep.
    fn change(&self, plan: &Plan, x: &[f64], swept: &Swept, y: &[f64]) -> Change {
        let lag = |cell: usize, d: usize| lag(plan, x, y, 4 + d, cell);
        let heat: Vec<[[f64; 2]; 2]> = (0..plan.layout.cells)
            .map(|cell| match &plan.rotation {
                None => [0, 1].map(|d| [lag(cell, d), 0.0]),
                Some(rotation) => rotating::lags(plan, rotation, [x, y], cell),
            })
            .collect();
        let lags = lags(plan, x, y);
        let defects = defects(plan, x, swept, y);
        let (mut first, mut second) = self.right_sides(plan, x, &defects, &heat);
        self.add_internal(plan, [x, y], swept, &defects, &heat, &mut first);
        self.subtract_walls(plan, &lags, &mut first, &mut second);
        let (flow, mut theta) = self.solve(plan, x, first, &second);
        if plan.mirrored_by_walls() > 0.0 {
            // Walls that mirror hold the mean temperature loosely, however thin the gas is.
            let kinds = self.unknowns[0].of_vertex;
            for kind in 0..kinds {
                let values = || theta.iter().skip(kind).step_by(kinds);
                let level = values().sum::<f64>() / values().count() as f64;
                let undamped = (1.0 / self.damping - 1.0) * level;
                let values = theta.iter_mut().skip(kind).step_by(kinds);
                values.for_each(|theta| *theta += undamped);
            }
        }
        let mut cells = self.change_of_cells(&flow, &theta, &heat);
        // No mass is gained.
        let of = |value: &dyn Fn(usize) -> f64| -> f64 {
            let volumes = self.cells.iter().map(Local::volume);
            let parts = volumes.enumerate();
            parts.map(|(cell, volume)| value(cell) * volume).sum()
        };
        let constant = -of(&|cell| cells[cell][0]) / of(&|_| 1.0);
        cells.iter_mut().for_each(|c| c[0] += constant);
        let faces = self.change_at_walls(plan, &flow, &theta, &lags, constant);
        Change { cells, faces }
    }

    /// The right sides of the temperature, and of the velocity and pressure, by the defects in the cells.
    fn right_sides(
        &self,
        plan: &Plan,
        x: &[f64],
        defects: &[[f64; 4]],
        heat: &[[[f64; 2]; 2]],
    ) -> (Vec<f64>, Vec<f64>) {
        let (nx, cells) = (plan.nx, plan.layout.cells);
        let mass = self.filtered(plan, defects.iter().map(|c| c[0]).collect());
        // Heat at the vertices, and momentum, of each cell.
        let sources: Vec<([f64; 4], [f64; 2])> = in_parallel(cells)
            .map(|cell| {
                let local = &self.cells[cell];
                let volume = local.volume();
                let [cn, cx, cy, ce] = defects[cell];
                let g = local.gradient();
                let temperature = if plan.linear {
                    1.0
                } else {
                    plan.primitive(x, cell)[3]
                };
                let carried = plan
                    .rotation
                    .as_ref()
                    .map_or(0.0, |rotation| rotating::carried(plan, rotation, x, cell));
                let [along_x, along_y] = heat[cell].map(|kinds| kinds[0] + kinds[1]);
                let heats = std::array::from_fn(|vertex| {
                    volume
                        * (0.25 * (0.5 * ce - (1.25 * temperature + carried) * cn)
                            + g[0][vertex] * along_x
                            + g[1][vertex] * along_y)
                });
                (heats, [0.25 * volume * cx, 0.25 * volume * cy])
            })
            .collect();
        let [mut first, mut second] = [0, 1].map(|k| vec![0.0; self.unknowns[k].fixed.len()]);
        for (cell, (heats, momentum)) in sources.iter().enumerate() {
            let (i, j) = (cell % nx, cell / nx);
            for (heat, [a, b]) in heats.iter().zip(VERTICES) {
                first[self.unknowns[0].vertex(i + a, j + b)] += heat;
                let of_vertex = self.unknowns[1].vertex(i + a, j + b);
                second[of_vertex] += momentum[0];
                second[of_vertex + 1] += momentum[1];
            }
            second[self.unknowns[1].cell(i, j)] = -self.cells[cell].volume() * mass[cell];
        }
        (first, second)
    }

    /// Adds the equation of internal energy to the right side of the temperatures, where the molecules rotate.
    fn add_internal(
        &self,
        plan: &Plan,
        [x, y]: [&[f64]; 2],
        swept: &Swept,
        defects: &[[f64; 4]],
        heat: &[[[f64; 2]; 2]],
        first: &mut [f64],
    ) {
        let Some(rotation) = &plan.rotation else {
            return;
        };
        let gained = &swept.sums[INTERNAL * plan.layout.cells..];
        for (cell, local) in self.cells.iter().enumerate() {
            let (i, j) = (cell % plan.nx, cell / plan.nx);
            let of = [gained[cell], defects[cell][0]];
            let gain = rotating::gain(plan, rotation, [x, y], cell, of);
            let g = local.gradient();
            for (vertex, [a, b]) in VERTICES.into_iter().enumerate() {
                let lag = g[0][vertex] * heat[cell][0][1] + g[1][vertex] * heat[cell][1][1];
                first[self.unknowns[0].vertex(i + a, j + b) + 1] +=
                    local.volume() * (0.25 * gain + lag);
            }
        }
    }

    /// Takes the stress and the heat flux of the walls that lag behind off the right sides.
    fn subtract_walls(&self, plan: &Plan, lags: &[Lag], first: &mut [f64], second: &mut [f64]) {
        let faces = plan.layout.faces;
        for side in 0..4 {
            let here = lags[faces[side]..faces[side + 1]].iter().enumerate();
            for (face, lag) in here {
                let cell = plan.boundary_cell(side, face);
                let (i, j) = (cell % plan.nx, cell / plan.nx);
                let half = 0.5 * self.cells[cell].widths[1 - side / 2];
                for vertex in edge(side) {
                    let [a, b] = VERTICES[vertex];
                    let of_vertex = self.unknowns[0].vertex(i + a, j + b);
                    first[of_vertex] -= half * (lag.heat + lag.internal);
                    if plan.rotation.is_some() {
                        first[of_vertex + 1] -= half * lag.internal;
                    }
                    let along = self.unknowns[1].vertex(i + a, j + b) + 1 - side / 2;
                    second[along] -= half * lag.stress;
                }
            }
        }
    }

    /// Changes of density, velocity, temperature and heat flux by a velocity with pressure and a temperature.
    fn change_of_cells(
        &self,
        flow: &[f64],
        theta: &[f64],
        heat: &[[[f64; 2]; 2]],
    ) -> Vec<[f64; 9]> {
        let nx = self.unknowns[0].nx;
        in_parallel(self.cells.len())
            .map(|cell| {
                let (i, j) = (cell % nx, cell / nx);
                let local = &self.cells[cell];
                let g = local.gradient();
                let mut mean = [0.0; 4];
                let [mut along_x, mut along_y] = heat[cell];
                for (vertex, [a, b]) in VERTICES.into_iter().enumerate() {
                    let values = self.temperatures(theta, i + a, j + b);
                    let of_vertex = self.unknowns[1].vertex(i + a, j + b);
                    mean[0] += 0.25 * flow[of_vertex];
                    mean[1] += 0.25 * flow[of_vertex + 1];
                    mean[2] += 0.25 * values[0];
                    mean[3] += 0.25 * values[1];
                    for (kind, law) in local.conductivities().into_iter().enumerate() {
                        let conducted = law[0] * values[0] + law[1] * values[1];
                        along_x[kind] -= g[0][vertex] * conducted;
                        along_y[kind] -= g[1][vertex] * conducted;
                    }
                }
                let p = flow[self.unknowns[1].cell(i, j)];
                let density = (2.0 * p - local.density * mean[2]) / local.temperature;
                let [ux, uy, t, t_r] = mean;
                let ([q_x, r_x], [q_y, r_y]) = (along_x, along_y);
                [density, ux, uy, t, q_x, q_y, t_r, r_x, r_y]
            })
            .collect()
    }

    /// Temperatures of translation and rotation at a vertex; the second is none of single atoms.
    fn temperatures(&self, theta: &[f64], i: usize, j: usize) -> [f64; 2] {
        let at = self.unknowns[0].vertex(i, j);
        match self.unknowns[0].of_vertex {
            1 => [theta[at], 0.0],
            _ => [theta[at], theta[at + 1]],
        }
    }

    /// Changes at the walls by the same, and by a density that every cell gains.
    fn change_at_walls(
        &self,
        plan: &Plan,
        flow: &[f64],
        theta: &[f64],
        lags: &[Lag],
        constant: f64,
    ) -> Vec<AtWall> {
        let faces = plan.layout.faces;
        let mut walls = vec![AtWall::default(); faces[4]];
        for (side, wall) in plan.sides.iter().enumerate() {
            let Some(wall) = wall else { continue };
            for face in faces[side]..faces[side + 1] {
                let cell = plan.boundary_cell(side, face - faces[side]);
                let (i, j) = (cell % plan.nx, cell / plan.nx);
                let local = &self.cells[cell];
                let [mut temperature, mut velocity, mut rotational] = [0.0; 3];
                for vertex in edge(side) {
                    let [a, b] = VERTICES[vertex];
                    let values = self.temperatures(theta, i + a, j + b);
                    temperature += 0.5 * values[0];
                    rotational += 0.5 * values[1];
                    let along = self.unknowns[1].vertex(i + a, j + b) + 1 - side / 2;
                    velocity += 0.5 * flow[along];
                }
                let p = flow[self.unknowns[1].cell(i, j)];
                let density =
                    (2.0 * p - local.density * temperature) / local.temperature + constant;
                let emitted = local.temperature.sqrt()
                    * (density + 0.5 * local.density * temperature / local.temperature);
                let rate = local.wall_rate(side);
                walls[face] = AtWall {
                    density,
                    velocity,
                    temperature,
                    stress: rate * velocity + lags[face].stress,
                    heat: rate * temperature + lags[face].heat,
                    rotational,
                    internal: local.rotating.as_ref().map_or(0.0, |own| {
                        rate * own.quarter * rotational + lags[face].internal
                    }),
                    emitted: match (wall.tight, plan.linear) {
                        (false, _) => 0.0,
                        (true, true) => emitted,
                        (true, false) => emitted / (2.0 * PI.sqrt() * wall.rate[0]),
                    },
                };
            }
        }
        walls
    }

    /// Velocity with pressure and temperature for the right sides of the temperature (`first`) and the velocity (`second`).
    fn solve(
        &self,
        plan: &Plan,
        x: &[f64],
        mut first: Vec<f64>,
        second: &[f64],
    ) -> (Vec<f64>, Vec<f64>) {
        let [temperature, velocity] = &self.factors;
        // Nothing couples the two in gas at rest.
        if plan.linear {
            return rayon::join(|| velocity.solve(second), || temperature.solve(&first));
        }
        let flow = velocity.solve(second);
        self.convect(plan, x, &flow, &mut first);
        (flow, temperature.solve(&first))
    }

    /// Takes the heat that a change of the flow carries through the temperature's gradient off a right side.
    fn convect(&self, plan: &Plan, x: &[f64], flow: &[f64], right: &mut [f64]) {
        let nx = plan.nx;
        let states: Vec<[f64; 4]> = (0..plan.layout.cells)
            .map(|cell| plan.primitive(x, cell))
            .collect();
        let rotational: Vec<f64> = match &plan.rotation {
            None => Vec::new(),
            Some(rotation) => (0..plan.layout.cells)
                .map(|cell| plan.temperatures(rotation, x, cell)[1])
                .collect(),
        };
        for (cell, local) in self.cells.iter().enumerate() {
            let (i, j) = (cell % nx, cell / nx);
            let g = local.gradient();
            let (mut gradient, mut mean) = ([[0.0; 2]; 2], [0.0; 2]);
            for (vertex, [a, b]) in VERTICES.into_iter().enumerate() {
                let temperature = around(plan, i + a, j + b, |cell| states[cell][3]);
                let rotational = match rotational.is_empty() {
                    true => 0.0,
                    false => around(plan, i + a, j + b, |cell| rotational[cell]),
                };
                let of_vertex = self.unknowns[1].vertex(i + a, j + b);
                for d in 0..2 {
                    gradient[0][d] += g[d][vertex] * temperature;
                    gradient[1][d] += g[d][vertex] * rotational;
                    mean[d] += 0.25 * flow[of_vertex + d];
                }
            }
            let [slope, of_rotation] =
                gradient.map(|along| states[cell][0] * (mean[0] * along[0] + mean[1] * along[1]));
            let quarter = local.rotating.as_ref().map_or(0.0, |own| own.quarter);
            let internal = quarter * of_rotation;
            for [a, b] in VERTICES {
                let of_vertex = self.unknowns[0].vertex(i + a, j + b);
                let share = 0.25 * local.volume();
                right[of_vertex] -= share * (1.25 * slope + internal);
                if local.rotating.is_some() {
                    right[of_vertex + 1] -= share * internal;
                }
            }
        }
    }

    /// The defect of mass without its mean and, where cells are thin, without its checkerboard.
    fn filtered(&self, plan: &Plan, mass: Vec<f64>) -> Vec<f64> {
        let nx = plan.nx;
        let mut smooth: Vec<f64> = in_parallel(plan.layout.cells)
            .map(|cell| {
                let (i, j) = (cell % nx, cell / nx);
                let around = VERTICES.map(|[a, b]| around(plan, i + a, j + b, |cell| mass[cell]));
                let share = self.filter[cell];
                (1.0 - share) * mass[cell] + share * 0.25 * around.iter().sum::<f64>()
            })
            .collect();
        let (mut sum, mut volume) = (0.0, 0.0);
        for (value, cell) in smooth.iter().zip(&self.cells) {
            sum += value * cell.volume();
            volume += cell.volume();
        }
        let mean = sum / volume;
        smooth.iter_mut().for_each(|value| *value -= mean);
        smooth
    }

    /// Adds a share of the changes to the unknowns.
    fn add(&self, plan: &Plan, change: &Change, share: f64, y: &mut [f64]) {
        let cells = plan.layout.cells;
        for (cell, change) in change.cells.iter().enumerate() {
            let [dn, dx, dy, dt, qx, qy, theta, rx, ry] = change.map(|c| share * c);
            let rotational =
                (plan.rotation.as_ref()).map(|rotation| plan.temperatures(rotation, y, cell)[1]);
            plan.add_primitive(y, cell, [dn, dx, dy, dt]);
            if let (Some(rotation), Some(rotational)) = (&plan.rotation, rotational) {
                let [n, ..] = plan.primitive(y, cell);
                y[INTERNAL * cells + cell] = plan.internal_energy(rotation, n, rotational + theta);
                y[(INTERNAL + 1) * cells + cell] += rx;
                y[(INTERNAL + 2) * cells + cell] += ry;
            }
            if plan.shakhov {
                y[4 * cells + cell] += qx;
                y[5 * cells + cell] += qy;
            }
        }
        let at = plan.layout.faces_at();
        for (rho, change) in y[at..].iter_mut().zip(&change.faces) {
            *rho += share * change.emitted;
        }
        for (side, wall) in plan.sides.iter().enumerate() {
            if let Some(wall) = wall.as_ref().filter(|wall| wall.returned.is_some()) {
                let range = plan.layout.faces[side]..plan.layout.faces[side + 1];
                return_changed(plan, side, wall, &change.faces[range], share, y);
            }
        }
    }
}

/// Defects of mass, momentum and energy, with that of rotation, about the moving gas, times the collision frequency, by cell.
fn defects(plan: &Plan, x: &[f64], swept: &Swept, y: &[f64]) -> Vec<[f64; 4]> {
    let cells = plan.layout.cells;
    in_parallel(cells)
        .map(|cell| {
            let [n, ux, uy, t] = plan.primitive(x, cell);
            let mut sums = [0, 1, 2, 3].map(|k| {
                let at = k * cells + cell;
                (swept.defects.get(at).copied()).unwrap_or_else(|| y[at] - x[at])
            });
            if plan.rotation.is_some() {
                let at = INTERNAL * cells + cell;
                sums[3] += y[at] - x[at];
            }
            if plan.linear {
                return sums.map(|c| c * plan.frequency);
            }
            let nu = if swept.defects.is_empty() {
                plan.frequency * n * t.powf(1.0 - plan.omega)
            } else {
                1.0
            };
            let [cn, cx, cy, ce] = sums;
            let (px, py) = (cx - ux * cn, cy - uy * cn);
            let energy = ce - 2.0 * (ux * px + uy * py) - (ux * ux + uy * uy) * cn;
            [cn, px, py, energy].map(|c| c * nu)
        })
        .collect()
}

/// The cells, on all cores.
fn in_parallel(cells: usize) -> impl IndexedParallelIterator<Item = usize> {
    (0..cells).into_par_iter().with_min_len(TASK)
}

/// The mean over the cells around a vertex.
fn around(plan: &Plan, i: usize, j: usize, value: impl Fn(usize) -> f64) -> f64 {
    let (mut sum, mut count) = (0.0, 0.0);
    for row in j.saturating_sub(1)..(j + 1).min(plan.ny) {
        for column in i.saturating_sub(1)..(i + 1).min(plan.nx) {
            sum += value(row * plan.nx + column);
            count += 1.0;
        }
    }
    sum / count
}

/// The unknowns of the temperature, and of the velocity and pressure.
fn unknowns(plan: &Plan) -> [Unknowns; 2] {
    let (nx, ny) = (plan.nx, plan.ny);
    let temperatures = 1 + usize::from(plan.rotation.is_some());
    let temperature = Unknowns::new(nx, ny, temperatures, false);
    let mut flow = Unknowns::new(nx, ny, 2, true);
    for j in 0..=ny {
        for i in [0, nx] {
            let at = flow.vertex(i, j);
            flow.fixed[at] = true;
        }
    }
    for i in 0..=nx {
        for j in [0, ny] {
            let at = flow.vertex(i, j) + 1;
            flow.fixed[at] = true;
        }
    }
    // The pressure is determined up to a constant.
    let last = flow.cell(nx - 1, ny - 1);
    flow.fixed[last] = true;
    [temperature, flow]
}

/// Gas at rest of density and temperature 1.
fn at_rest(plan: &Plan) -> Vec<Local> {
    let (nx, ny) = (plan.nx, plan.ny);
    (0..nx * ny)
        .map(|cell| {
            let (i, j) = (cell % nx, cell / nx);
            let at_side = [i == 0, i + 1 == nx, j == 0, j + 1 == ny];
            Local {
                widths: [plan.widths[0][i], plan.widths[1][j]],
                density: 1.0,
                densities: [1.0; 4],
                temperature: 1.0,
                velocity: [0.0; 2],
                viscosity: 0.5 / plan.frequency,
                conductivity: 0.625 / (plan.prandtl * plan.frequency),
                walls: [0, 1, 2, 3].map(|side| match &plan.sides[side] {
                    Some(wall) if at_side[side] => wall.share / (2.0 - wall.share),
                    _ => 0.0,
                }),
                rotating: (plan.rotation.as_ref())
                    .map(|rotation| Rotating::new(plan, rotation, 1.0, 1.0)),
            }
        })
        .collect()
}

fn factor(unknowns: &[Unknowns; 2], cells: &[Local]) -> Result<[Factors; 2]> {
    let nx = unknowns[0].nx;
    let singular = || Error::Numerical("the equations of the correction are singular".into());
    let (temperature, flow) = rayon::join(
        || Factors::new(&unknowns[0], &|i, j| cells[j * nx + i].temperature()),
        || Factors::new(&unknowns[1], &|i, j| cells[j * nx + i].velocity()),
    );
    Ok([
        temperature.ok_or_else(singular)?,
        flow.ok_or_else(singular)?,
    ])
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::bgk::steady::{Closure, Nodes, SteadyConfig, SteadyProblem, SteadySolver};
    use crate::bgk::{Boundary, Cavity, Model};

    fn cavity(delta: f64, cells: usize, lid: Option<f64>) -> SteadyProblem {
        let mut cavity = Cavity::new(delta, cells, &[8, 8]).unwrap();
        cavity.lid = lid.unwrap_or(1.0);
        let mut problem = SteadyProblem::from(&cavity.problem().unwrap());
        problem.nodes = Nodes::polar(4, 5).unwrap();
        problem.linear = lid.is_none();
        problem
    }

    /// Iterations to a change of 1e-9, and the last change.
    fn count(problem: SteadyProblem, depth: usize) -> usize {
        let config = SteadyConfig {
            iterations: 100,
            rtol: Some(1e-9),
            anderson_depth: depth,
            ..SteadyConfig::default()
        };
        let mut solver = SteadySolver::new(problem, &config).unwrap();
        assert_eq!(solver.solve().unwrap().status, crate::run::Ending::Steady);
        solver.residuals().len()
    }

    #[test]
    fn linear_cavities_converge_at_every_rarefaction() {
        for delta in [0.1, 1.0, 10.0, 100.0, 1e3, 1e4] {
            let iterations = count(cavity(delta, 16, None), 10);
            assert!(iterations <= 40, "delta {delta}: {iterations}");
        }
        // Without mixing an error of sign or scale in the walls' terms shows.
        for delta in [1.0, 10.0, 100.0] {
            let iterations = count(cavity(delta, 16, None), 0);
            assert!(iterations <= 50, "delta {delta}: {iterations}");
        }
    }

    #[test]
    fn uneven_cells_partial_accommodation_mirrors_and_the_shakhov_model_converge() {
        let mut uneven = cavity(100.0, 16, None);
        uneven.widths[0] = (0..16).map(|i| [2.0, 6.0, 10.0, 7.0][i % 4]).collect();
        uneven.gas.model = Model::Shakhov;
        let iterations = count(uneven, 10);
        assert!(iterations <= 30, "uneven: {iterations}");

        let mut partial = cavity(100.0, 16, None);
        let sides = &mut partial.boundaries;
        for side in [
            &mut sides.left,
            &mut sides.right,
            &mut sides.bottom,
            &mut sides.top,
        ] {
            if let Boundary::Wall(wall) = side {
                wall.accommodation = 0.5;
            }
        }
        let iterations = count(partial, 10);
        assert!(iterations <= 40, "accommodation: {iterations}");

        let mut half = cavity(100.0, 16, None);
        half.boundaries.left = Boundary::Specular;
        let iterations = count(half, 10);
        assert!(iterations <= 36, "mirror: {iterations}");
    }

    #[test]
    fn fast_and_heated_flows_converge() {
        let iterations = count(cavity(300.0, 16, Some(0.5)), 10);
        assert!(iterations <= 45, "fast: {iterations}");
        let mut heated = cavity(100.0, 16, Some(0.2));
        if let Boundary::Wall(wall) = &mut heated.boundaries.bottom {
            wall.temperature = 2.0;
        }
        let iterations = count(heated, 10);
        assert!(iterations <= 45, "heated: {iterations}");
    }

    #[test]
    fn the_checkerboard_of_the_mass_defect_is_filtered_where_cells_are_thin() {
        for (delta, most) in [(1.0, 1e-3), (1e4, 1.1)] {
            let plan = Plan::new(&cavity(delta, 16, None), Closure::Diamond).unwrap();
            let correction = PlaneCorrection::new(&plan).unwrap().unwrap();
            let board = (0..256).map(|cell| {
                if (cell % 16 + cell / 16) % 2 == 0 {
                    1.0
                } else {
                    -1.0
                }
            });
            let found = correction.filtered(&plan, board.collect());
            let inside = found[5 * 16 + 5].abs();
            assert!(inside <= most && (delta < 10.0 || inside > 0.9), "{inside}");
            // Every other share of the defect passes, but for its mean.
            let slope = (0..256).map(|cell| (cell % 16) as f64);
            let found = correction.filtered(&plan, slope.collect());
            assert!((found[5 * 16 + 6] - found[5 * 16 + 5] - 1.0).abs() < 1e-12);
        }
    }

    #[test]
    fn fields_without_defects_stay_as_they_are() {
        let plan = Plan::new(&cavity(10.0, 8, Some(0.1)), Closure::Diamond).unwrap();
        let mut correction = PlaneCorrection::new(&plan).unwrap().unwrap();
        let x = plan.start(&cavity(10.0, 8, Some(0.1)));
        let mut y = x.clone();
        let none = Swept::default();
        correction.apply(&plan, &x, &none, &mut y, 1).unwrap();
        for (x, y) in x.iter().zip(&y) {
            assert!((x - y).abs() < 1e-15);
        }
    }

    #[test]
    fn what_is_kept_restores_the_operator() {
        let problem = cavity(300.0, 8, Some(0.5));
        let plan = Plan::new(&problem, Closure::Diamond).unwrap();
        let (cells, x) = (plan.layout.cells, plan.start(&problem));
        // A shear flow with defects.
        let mut x = x;
        for cell in 0..cells {
            x[cells + cell] = 0.1 * (cell / 8) as f64;
            x[3 * cells + cell] += x[cells + cell].powi(2);
        }
        let swept: Vec<f64> = x
            .iter()
            .enumerate()
            .map(|(k, x)| x + 1e-4 * (k % 7) as f64)
            .collect();
        let mut first = PlaneCorrection::new(&plan).unwrap().unwrap();
        let (mut y, mut at_rest) = (swept.clone(), swept.clone());
        let none = Swept::default();
        assert!(!first.apply(&plan, &x, &none, &mut at_rest, 1).unwrap());
        assert!(first.apply(&plan, &x, &none, &mut y, 2).unwrap());
        let mut second = PlaneCorrection::new(&plan).unwrap().unwrap();
        let (about, limited) = first.kept();
        second.restore(&plan, about, limited).unwrap();
        let [mut on, mut resumed] = [swept.clone(), swept];
        first.apply(&plan, &x, &none, &mut on, 3).unwrap();
        second.apply(&plan, &x, &none, &mut resumed, 3).unwrap();
        assert_eq!(on, resumed);
        assert_ne!(on, at_rest);
    }

    #[test]
    fn other_boundaries_and_closures_are_left_alone() {
        let mut periodic = cavity(1.0, 8, None);
        periodic.boundaries.left = Boundary::Periodic;
        periodic.boundaries.right = Boundary::Periodic;
        let plan = Plan::new(&periodic, Closure::Diamond).unwrap();
        assert!(PlaneCorrection::new(&plan).unwrap().is_none());
        let plan = Plan::new(&cavity(1.0, 8, None), Closure::Upwind).unwrap();
        assert!(PlaneCorrection::new(&plan).unwrap().is_none());
    }
}
