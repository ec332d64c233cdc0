//! The iteration: a sweep, the new fields from its sums, and Anderson mixing.

mod at_walls;
mod correction;
mod device;
mod engine;
mod mirror;
mod parts;
mod ports;
mod reference;
mod reflection;
mod scattering;
mod scattering_walls;
mod sweep;
mod unknowns;

pub(in crate::flow) use sweep::Swept;
pub(in crate::flow) use unknowns::{Carried, Internal, Unknowns};

use correction::Correction;
use engine::{Sweeps, Vectors};
use scattering_walls::ScatteringWalls;
use sweep::{Inflow, Input, Sweep};

use super::course::{Course, Ending, Step};
use super::face::{Border, Emission, Wall};
use super::gas::{Coefficients, MOMENTS, Primitive, UNKNOWNS, equilibrium};
use super::problem::Problem;
use super::{Acceleration, Solver};
use crate::bgk::rotation;
use crate::bgk::steady::anderson::Anderson;
use crate::emulator::Emulator;
use crate::error::{Error, Result};
use crate::flow::machine::Machine;

/// Weight of lagged inflow among the unknowns that are mixed.
pub(in crate::flow) const LAGGED_WEIGHT: f64 = 0.02;

/// Roundoff of a change, over the largest value and in units of the arithmetic's.
pub(in crate::flow) const ROUNDOFF: f64 = 32.0;

/// Share of mass or energy that may be missing from the balance of a steady flow, in units of the tolerance.
pub(in crate::flow) const UNBALANCED: f64 = 30.0;

/// Share of the mass that a plane may lose at any tolerance: facing mirrors lose some 1e-6.
const LOST: f64 = 1e-3;

/// Least temperature of an outlet.
pub(in crate::flow) const COLDEST: f64 = 1e-3;

/// A steady flow in iteration.
pub(in crate::flow) struct Steady<'a> {
    pub(in crate::flow) problem: &'a Problem,
    pub(in crate::flow) state: Unknowns,
    /// The sums of the last sweep; fluxes of energy have the internal part.
    pub(in crate::flow) swept: Option<Swept>,
    pub(in crate::flow) course: Course,
    /// Emission of the segments, and of side walls.
    pub(in crate::flow) emission: Vec<Emission>,
    pub(in crate::flow) side_emission: [Vec<Emission>; 4],
    /// Kernels of scattering walls: of the segments with less than complete diffuse reflection, and of the faces of sides.
    scattering: ScatteringWalls,
    gas_cells: Vec<usize>,
    machine: Machine,
    /// The machine at work, from the first sweep on.
    engine: Option<Box<dyn Sweeps>>,
    /// Sides with lagged inflow: two opposite mirrors, walls that mirror a part, periodic ones of nonlinear flows, and both of doubly periodic ones.
    lags: [bool; 4],
    mass: f64,
    anderson: Anderson,
    correction: Option<Box<dyn Correction>>,
}

impl<'a> Steady<'a> {
    /// Starts from the state of the problem.
    ///
    /// # Errors
    /// Walls that scatter more finely than the velocities.
    pub(in crate::flow) fn new(
        problem: &'a Problem,
        solver: &Solver,
        machine: &Machine,
    ) -> Result<Self> {
        let space = &problem.space;
        let gas_cells: Vec<usize> = (0..space.len()).filter(|&k| space.is_gas(k)).collect();
        let start = problem.gas.unknowns(problem.start);
        let mut cells = vec![[0.0; UNKNOWNS]; space.len()];
        for &k in &gas_cells {
            cells[k] = start;
        }
        let emission: Vec<Emission> = {
            use rayon::prelude::*;
            let pairs = space.segments.par_iter().zip(&problem.walls);
            pairs
                .map(|(segment, wall)| {
                    Emission::new(&problem.gas, &problem.nodes, *wall, segment.normal)
                })
                .collect()
        };
        let inward = [[1.0, 0.0], [-1.0, 0.0], [0.0, 1.0], [0.0, -1.0]];
        let emit =
            |wall: &Wall, k: usize| Emission::new(&problem.gas, &problem.nodes, *wall, inward[k]);
        let side_emission: [Vec<Emission>; 4] =
            std::array::from_fn(|k| match &problem.borders[k] {
                Border::Wall(side) => side.walls.iter().map(|wall| emit(wall, k)).collect(),
                Border::Inflow(_, wall) => vec![emit(wall, k)],
                _ => Vec::new(),
            });
        let faces = |k: usize| if k < 2 { space.ny() } else { space.nx() };
        let is_mirror = |k: usize| matches!(problem.borders[k], Border::Mirror);
        let is_periodic = |k: usize| matches!(problem.borders[k], Border::Periodic(_));
        let both = is_periodic(0) && is_periodic(2);
        let lags: [bool; 4] = std::array::from_fn(|k| {
            let mirrors = is_mirror(k) && is_mirror(k ^ 1);
            let loose = matches!(&problem.borders[k], Border::Wall(wall) if wall.accommodation.diffuse() < 1.0);
            mirrors || loose || (is_periodic(k) && (both || !problem.gas.linear))
        });
        let density = problem.start[0];
        let values = start_values(problem, Carried::Molecules);
        let lagged = |values: &[f64]| {
            std::array::from_fn(|k| match lags[k] {
                true => values.repeat(faces(k)),
                false => Vec::new(),
            })
        };
        let loose = problem.loose().len();
        let internal = problem.gas.rotation.map(|rotation| {
            let [n, .., t] = problem.start;
            let density = if problem.gas.linear { 1.0 } else { n };
            let mut cells = vec![[0.0; 3]; space.len()];
            for &k in &gas_cells {
                cells[k][0] = 0.5 * rotation.freedom * density * t;
            }
            let values = start_values(problem, Carried::InternalEnergy);
            Internal {
                cells,
                mirrored: values.repeat(loose),
                lagged: lagged(&values),
            }
        });
        let state = Unknowns {
            mirrored: values.repeat(loose),
            segments: vec![density; space.segments.len()],
            sides: std::array::from_fn(|k| vec![density; side_emission[k].len()]),
            lagged: lagged(&values),
            cells,
            internal,
        };
        let mass = mass(problem, &state);
        Ok(Self {
            problem,
            scattering: ScatteringWalls::new(problem)?,
            state,
            swept: None,
            course: Course::default(),
            emission,
            side_emission,
            gas_cells,
            machine: machine.clone(),
            engine: None,
            lags,
            mass,
            anderson: Anderson::new(solver.depth),
            correction: match solver.acceleration {
                Acceleration::Auto => correction::of(problem),
                Acceleration::None => None,
            },
        })
    }

    /// Iterates to the end.
    ///
    /// # Errors
    /// A density or temperature that is not positive.
    pub(in crate::flow) fn solve(
        &mut self,
        solver: &Solver,
        observe: &mut dyn FnMut(usize, f64) -> bool,
    ) -> Result<Ending> {
        for iteration in 1..=solver.iterations {
            let (swept, internal) = self.sweep()?;
            let mut next = self.next(&swept, internal.as_ref());
            self.keep_admissible(&mut next)?;
            if let Some(correction) = &mut self.correction
                && correction.apply(
                    self.problem,
                    &self.state,
                    (&swept, internal.as_ref()),
                    &mut next,
                )
            {
                self.anderson.clear();
            }
            self.hold_mass(&mut next);
            let (change, roundoff) = self.change(&next);
            let balanced = self.problem.gas.linear
                || self.imbalance(&swept) <= LOST.max(UNBALANCED * solver.tolerance);
            self.swept = Some(swept);
            let goes_on = observe(iteration, change);
            // Images and periods of the first sweep act in the second. The change alone does not tell: a factor of a period may be at its bound.
            let acts = (iteration > 1 || !self.hands_on()) && balanced;
            let step = Step {
                change,
                roundoff,
                acts,
                goes_on,
            };
            let ending = self.course.after(step, solver);
            if let Some(ending) = ending {
                self.state = next;
                return Ok(ending);
            }
            self.mix(next);
        }
        Ok(Ending::Unfinished)
    }

    /// Mass that leaves through the sides in a sweep over that which enters.
    fn imbalance(&self, swept: &Swept) -> f64 {
        let space = &self.problem.space;
        let (mut net, mut entering) = (0.0, 0.0);
        for (k, faces) in swept.sides.iter().enumerate() {
            for (cell, [out, inward]) in space.border(k).into_iter().zip(faces) {
                let open = space.open[cell][k];
                net += open * (out[0] - inward[0]);
                entering += open * inward[0];
            }
        }
        if entering > 0.0 {
            f64::abs(net) / entering
        } else {
            0.0
        }
    }

    /// Whether a sweep takes in what the one before let out.
    fn hands_on(&self) -> bool {
        let is_inflow = |border: &Border| matches!(border, Border::Inflow(..));
        let inflow = self.problem.borders.iter().any(is_inflow);
        inflow || self.lags.contains(&true) || !self.state.mirrored.is_empty()
    }

    /// Sweeps from the present state: the molecules, and their internal energy where they rotate.
    fn sweep(&mut self) -> Result<(Swept, Option<Swept>)> {
        let (sweep, input) = self.parts();
        let engine = match &mut self.engine {
            Some(engine) => engine,
            none => none.insert(engine(&self.machine, &sweep, &input)?),
        };
        let mut swept = engine.run(&sweep, &input)?;
        let gas = &self.problem.gas;
        let (Some(rotation), Some(unknowns)) = (&gas.rotation, &self.state.internal) else {
            return Ok((swept, None));
        };
        let input = self.input(Carried::InternalEnergy, unknowns.mirrored.clone());
        let Some(engine) = &mut self.engine else {
            return Ok((swept, None));
        };
        let internal = engine.run(&sweep, &input)?;
        let add =
            |to: &mut [f64; MOMENTS], from| rotation::add_flux(rotation, gas.linear, to, from);
        let segments = swept.segments.iter_mut().zip(&internal.segments);
        segments.for_each(|(to, from)| add(to, from));
        for (to, from) in swept.sides.iter_mut().zip(&internal.sides) {
            for (to, from) in to.iter_mut().flatten().zip(from.iter().flatten()) {
                add(to, from);
            }
        }
        Ok((swept, Some(internal)))
    }

    /// A sweep, and the present state as its input.
    fn parts(&self) -> (Sweep<'a>, Input) {
        let problem = self.problem;
        let loose = problem.loose().len();
        let mirrored = self.state.mirrored.clone();
        self.parts_with(problem, &problem.accommodation, loose, mirrored)
    }

    /// The same with these diffuse shares of the segments, of which so many have images.
    fn parts_with<'s>(
        &self,
        problem: &'s Problem,
        accommodation: &'s [(f64, Option<usize>)],
        loose: usize,
        mirrored: Vec<f64>,
    ) -> (Sweep<'s>, Input) {
        let is_mirror = |k: usize| matches!(problem.borders[k], Border::Mirror);
        // Two opposite mirrors wait for each other: their images are lagged.
        let single = |k: usize| is_mirror(k) && !is_mirror(k ^ 1);
        // Quadrant q leaves through `left` if bit 0 is set, through `right` if not.
        let leaves = |q: usize, k: usize| (q >> (k / 2)) & 1 == usize::from(k.is_multiple_of(2));
        let mut stages = vec![Vec::new(); 3];
        for q in 0..4 {
            let images = (0..4).filter(|&k| single(k) && !leaves(q, k)).count();
            stages[images].push(q);
        }
        stages.retain(|stage| !stage.is_empty());
        let sweep = Sweep {
            space: &problem.space,
            nodes: &problem.nodes,
            accommodation,
            loose,
            linear: problem.gas.linear,
            kept: std::array::from_fn(|k| is_mirror(k) || self.lags[k]),
            stages,
        };
        (sweep, self.input(Carried::Molecules, mirrored))
    }

    /// The present state as the input of a sweep.
    fn input(&self, carried: Carried, mirrored: Vec<f64>) -> Input {
        let problem = self.problem;
        let (gas, space) = (&problem.gas, &problem.space);
        let cells = (0..space.len()).map(|k| match (&self.state.internal, carried) {
            _ if !space.is_gas(k) => [0.0; 10],
            (None, _) => gas.coefficients(&self.state.cells[k]),
            (Some(internal), _) => {
                let (_, both) = gas.relaxed(&self.state.cells[k], &internal.cells[k]);
                both[usize::from(carried == Carried::InternalEnergy)]
            }
        });
        let walls = problem.walls.iter().zip(&self.state.segments);
        Input {
            cells: cells.collect(),
            segments: walls
                .map(|(wall, &density)| self.emitted(wall.state(density), carried))
                .collect(),
            mirrored,
            sides: std::array::from_fn(|k| self.inflow(k, carried)),
            drifts: carried == Carried::InternalEnergy && !gas.linear,
        }
    }

    /// The coefficients of a Maxwellian that a face emits.
    fn emitted(&self, state: Primitive, carried: Carried) -> Coefficients {
        match carried {
            Carried::Molecules => self.problem.gas.maxwellian(state),
            Carried::InternalEnergy => self.problem.gas.internal_of(state, state[3]),
        }
    }

    fn inflow(&self, k: usize, carried: Carried) -> Inflow {
        let problem = self.problem;
        let gas = &problem.gas;
        let emitted = |state: Primitive| self.emitted(state, carried);
        let lagged = || match (&self.state.internal, carried) {
            (Some(internal), Carried::InternalEnergy) => internal.lagged[k].clone(),
            _ => self.state.lagged[k].clone(),
        };
        match &problem.borders[k] {
            Border::Given(states) => {
                Inflow::Faces(states.iter().map(|&state| emitted(state)).collect())
            }
            Border::Outlet(pressure) => {
                let border = problem.space.border(k);
                let state = |cell: usize| {
                    if !problem.space.is_gas(cell) {
                        return [0.0, 0.0, 0.0, 1.0];
                    }
                    let [n, ux, uy, t] = gas.primitive(&self.state.cells[cell]);
                    if gas.linear {
                        let _ = n;
                        return [pressure - t, ux, uy, t];
                    }
                    let t = t.max(COLDEST);
                    [pressure / t, ux, uy, t]
                };
                Inflow::Faces(
                    border
                        .into_iter()
                        .map(|cell| emitted(state(cell)))
                        .collect(),
                )
            }
            Border::Mirror if self.lags[k] => Inflow::Values(lagged()),
            Border::Mirror => Inflow::Mirror,
            Border::Periodic(_) if !gas.linear => Inflow::Values(lagged()),
            Border::Periodic(jump) => Inflow::Closed {
                jump: emitted(*jump),
                values: lagged(),
            },
            Border::Inflow(_, wall) => {
                let density = self.state.sides[k].first().copied().unwrap_or(0.0);
                let faces = problem.space.border(k).len();
                Inflow::Faces(vec![emitted(wall.state(density)); faces])
            }
            Border::Wall(side) => {
                let densities = self.state.sides[k].iter().zip(&side.walls);
                let faces = densities.map(|(&density, wall)| emitted(wall.state(density)));
                match self.lags[k] {
                    true => Inflow::Wall {
                        faces: faces.collect(),
                        accommodation: side.accommodation.diffuse(),
                        mirrored: lagged(),
                    },
                    false => Inflow::Faces(faces.collect()),
                }
            }
        }
    }

    /// The state that a sweep makes of the present one.
    fn next(&self, swept: &Swept, internal: Option<&Swept>) -> Unknowns {
        let mut next = self.state.clone();
        for &k in &self.gas_cells {
            if let (Some(internal), Some(to)) = (internal, &mut next.internal) {
                let (e, w) = (&mut to.cells[k], &mut next.cells[k]);
                let (to, _) = self.problem.gas.relaxed(w, e);
                let [energy, x, y, ..] = internal.cells[k];
                // The flux of internal energy is about the mean velocity.
                let [_, ux, uy, _] = match self.problem.gas.linear {
                    true => [0.0; 4],
                    false => self.problem.gas.primitive(w),
                };
                *w = to.molecules;
                *e = rotation::swept(&to.internal, [energy, x - ux * energy, y - uy * energy]);
            }
            let sums = &swept.cells[k];
            let cell = &mut next.cells[k];
            for c in 0..4 {
                cell[c] += sums[c];
            }
            cell[4..].copy_from_slice(&sums[4..]);
        }
        let arriving = swept.segments.iter();
        for ((density, arriving), emission) in
            next.segments.iter_mut().zip(arriving).zip(&self.emission)
        {
            *density = emission.density(arriving[0]);
        }
        self.mirror(&swept.arrived, &mut next.mirrored);
        if let (Some(internal), Some(to)) = (internal, &mut next.internal) {
            self.mirror(&internal.arrived, &mut to.mirrored);
        }
        for k in 0..4 {
            let emissions = &self.side_emission[k];
            if let (Border::Inflow(flow, _), [emission]) =
                (&self.problem.borders[k], &emissions[..])
            {
                next.sides[k][0] = ports::density(self.problem, swept, emission, k, *flow);
            } else {
                let faces = next.sides[k].iter_mut().zip(&swept.sides[k]);
                for ((density, [leaving, _]), emission) in faces.zip(emissions) {
                    *density = emission.density(leaving[0]);
                }
            }
            if self.lags[k] {
                let problem = self.problem;
                let factor = match problem.gas.linear || !self.is_periodic(k) {
                    true => 1.0,
                    false => ports::factor(problem, swept, k, problem.falls[k / 2]),
                };
                next.lagged[k] = self.handed_on(&swept.left, factor, k, Carried::Molecules);
                if let (Some(internal), Some(to)) = (internal, &mut next.internal) {
                    to.lagged[k] =
                        self.handed_on(&internal.left, factor, k, Carried::InternalEnergy);
                }
            }
        }
        next
    }

    fn is_periodic(&self, k: usize) -> bool {
        matches!(self.problem.borders[k], Border::Periodic(_))
    }

    /// Images of what arrived at the segments with less than complete diffuse reflection.
    fn mirror(&self, arrived: &[f64], images: &mut [f64]) {
        let problem = self.problem;
        let (gas, nodes) = (&problem.gas, &problem.nodes);
        let size = 2 * nodes.len();
        for (place, s) in problem.loose().into_iter().enumerate() {
            let own = &arrived[place * size..][..size];
            let image = match (
                &self.scattering.segments[place],
                &self.scattering.mirrors[place],
            ) {
                (Some(kernel), _) => kernel.scattered(own),
                (None, Some(mirror)) => mirror.image(gas, nodes, place, arrived),
                (None, None) => {
                    reflection::mirrored(gas, nodes, problem.space.segments[s].normal, own)
                }
            };
            images[place * size..][..size].copy_from_slice(&image);
        }
    }

    /// Inflow through a side from what the last sweep let out, of a periodic one times a factor.
    fn handed_on(&self, left: &[Vec<f64>; 4], factor: f64, k: usize, carried: Carried) -> Vec<f64> {
        let problem = self.problem;
        let count = problem.nodes.len();
        let enters = |m: usize| {
            let v = if k < 2 {
                problem.nodes.vx[m]
            } else {
                problem.nodes.vy[m]
            };
            (v > 0.0) == k.is_multiple_of(2)
        };
        let mut values = vec![0.0; left[k].len()];
        match &problem.borders[k] {
            Border::Periodic(jump) => {
                // The jump falls from the lower to the upper side.
                let sign = if k.is_multiple_of(2) { 1.0 } else { -1.0 };
                let jump = self.emitted(*jump, carried);
                for (at, value) in values.iter_mut().enumerate() {
                    let m = at % count;
                    if !enters(m) {
                        continue;
                    }
                    *value = factor * left[k ^ 1][at];
                    if problem.gas.linear {
                        let v = [problem.nodes.vx[m], problem.nodes.vy[m]];
                        let pair = equilibrium::<true>(&jump, v, f64::exp);
                        *value += sign * pair[at / count % 2];
                    }
                }
            }
            _ if !self.scattering.sides[k].is_empty() => {
                let size = 2 * count;
                let rows = values.chunks_exact_mut(size).zip(&self.scattering.sides[k]);
                for ((image, kernel), arrived) in rows.zip(left[k].chunks_exact(size)) {
                    image.copy_from_slice(&kernel.scattered(arrived));
                }
            }
            _ => {
                for (at, value) in values.iter_mut().enumerate() {
                    let (row, m) = (at / count, at % count);
                    if enters(m) {
                        *value = left[k][row * count + problem.nodes.mirrored[k / 2][m]];
                    }
                }
            }
        }
        values
    }

    /// Moves a cell without positive density and temperature towards its present state.
    fn keep_admissible(&self, next: &mut Unknowns) -> Result<()> {
        for &k in &self.gas_cells {
            let mut share = 0.5;
            while !self.is_admissible(next, k) {
                if share < 1e-3 || !next.cells[k].iter().all(|x| x.is_finite()) {
                    let [x, y] = self.problem.space.centroid[k];
                    return Err(Error::Numerical(format!(
                        "the gas at ({x:.4}, {y:.4}) has no positive density or temperature; finer cells and velocities help, as do gas beside it from `start`"
                    )));
                }
                for c in 0..UNKNOWNS {
                    let old = self.state.cells[k][c];
                    next.cells[k][c] = old + share * (next.cells[k][c] - old);
                }
                if let (Some(next), Some(old)) = (&mut next.internal, &self.state.internal) {
                    let pairs = next.cells[k].iter_mut().zip(old.cells[k]);
                    pairs.for_each(|(e, old)| *e = old + share * (*e - old));
                }
                share *= 0.5;
            }
        }
        Ok(())
    }

    /// Whether the unknowns of a cell can be those of a gas.
    fn is_admissible(&self, state: &Unknowns, k: usize) -> bool {
        let gas = &self.problem.gas;
        let rotates = state.internal.as_ref().is_none_or(|internal| {
            let e = &internal.cells[k];
            e.iter().all(|x| x.is_finite()) && (gas.linear || e[0] > 0.0)
        });
        rotates && gas.is_admissible(&state.cells[k])
    }

    /// Keeps the mass of a closed space, which the equations leave open.
    fn hold_mass(&self, next: &mut Unknowns) {
        if !self.problem.is_closed() {
            return;
        }
        let volume: f64 = self.problem.space.volume.iter().sum();
        let missing = self.mass - mass(self.problem, next);
        if self.problem.gas.linear {
            let add = missing / volume;
            for &k in &self.gas_cells {
                next.cells[k][0] += add;
                next.cells[k][3] += 1.5 * add;
            }
            next.segments.iter_mut().for_each(|rho| *rho += add);
            next.sides.iter_mut().flatten().for_each(|rho| *rho += add);
            let count = self.problem.nodes.len();
            for lagged in next.lagged.iter_mut().chain([&mut next.mirrored]) {
                for (at, value) in lagged.iter_mut().enumerate() {
                    *value += if (at / count).is_multiple_of(2) {
                        add
                    } else {
                        0.5 * add
                    };
                }
            }
        } else {
            let factor = self.mass / (self.mass - missing);
            next.cells.iter_mut().flatten().for_each(|x| *x *= factor);
            next.segments.iter_mut().for_each(|x| *x *= factor);
            next.sides.iter_mut().flatten().for_each(|x| *x *= factor);
            next.lagged.iter_mut().flatten().for_each(|x| *x *= factor);
            next.mirrored.iter_mut().for_each(|x| *x *= factor);
            if let Some(internal) = &mut next.internal {
                let cells = internal.cells.iter_mut().flatten();
                let given = internal.lagged.iter_mut().flatten();
                cells
                    .chain(given)
                    .chain(&mut internal.mirrored)
                    .for_each(|x| *x *= factor);
            }
        }
    }

    /// The largest change of density, momentum and energy over the range of each, and what roundoff makes of it.
    fn change(&self, next: &Unknowns) -> (f64, f64) {
        // Internal energy comes last, where there is any.
        let count = if self.state.internal.is_some() { 5 } else { 4 };
        let mut ranges = [[f64::INFINITY, f64::NEG_INFINITY, 0.0, 0.0]; 5];
        let value = |state: &Unknowns, k: usize, c: usize| match (&state.internal, c) {
            (Some(internal), 4) => internal.cells[k][0],
            _ => state.cells[k][c],
        };
        for &k in &self.gas_cells {
            let all = ranges.iter_mut().take(count).enumerate();
            for (c, [low, high, most, changed]) in all {
                let new = value(next, k, c);
                *low = low.min(new);
                *high = high.max(new);
                *most = most.max(new.abs());
                *changed = changed.max((new - value(&self.state, k, c)).abs());
            }
        }
        let ranges = &ranges[..count];
        let spread = ranges.iter().map(|[low, high, _, _]| high - low);
        let spread: Vec<f64> = spread.collect();
        let widest = spread.iter().copied().fold(0.0, f64::max);
        let linear = self.problem.gas.linear;
        let unit = self.engine.as_ref().map_or(f64::EPSILON, |e| e.unit());
        let mut largest = (0.0_f64, 0.0_f64);
        for ([_, _, most, changed], spread) in ranges.iter().zip(spread) {
            let scale = match linear {
                true => spread.max(1e-2 * widest).max(1e-300),
                false => spread.max(1e-2 * most).max(1e-3 * widest).max(1e-6),
            };
            largest.0 = largest.0.max(changed / scale);
            largest.1 = largest.1.max(ROUNDOFF * unit * most / scale);
        }
        largest
    }

    /// Goes on from the mixed state, or from the new one where the mixed one has no positive density or temperature.
    fn mix(&mut self, next: Unknowns) {
        let mut x = self.pack(&self.state);
        let y = self.pack(&next);
        self.anderson.mix(&mut x, &y);
        let mut mixed = next.clone();
        self.unpack(&x, &mut mixed);
        let linear = self.problem.gas.linear;
        let good = self
            .gas_cells
            .iter()
            .all(|&k| self.is_admissible(&mixed, k))
            && (linear
                || (mixed.segments.iter().all(|&rho| rho >= 0.0)
                    && mixed.sides.iter().flatten().all(|&rho| rho >= 0.0)));
        if good {
            self.state = mixed;
        } else {
            self.anderson.clear();
            self.state = next;
        }
    }

    fn pack(&self, state: &Unknowns) -> Vec<f64> {
        let mut x: Vec<f64> = self
            .gas_cells
            .iter()
            .flat_map(|&k| state.cells[k])
            .collect();
        x.extend(&state.segments);
        x.extend(state.sides.iter().flatten());
        x.extend(state.mirrored.iter().map(|value| LAGGED_WEIGHT * value));
        x.extend(
            state
                .lagged
                .iter()
                .flatten()
                .map(|value| LAGGED_WEIGHT * value),
        );
        if let Some(internal) = &state.internal {
            x.extend(self.gas_cells.iter().flat_map(|&k| internal.cells[k]));
            let given = internal.mirrored.iter();
            let given = given.chain(internal.lagged.iter().flatten());
            x.extend(given.map(|value| LAGGED_WEIGHT * value));
        }
        x
    }

    fn unpack(&self, x: &[f64], state: &mut Unknowns) {
        let mut values = x.iter().copied();
        let mut take = |to: &mut f64| {
            if let Some(value) = values.next() {
                *to = value;
            }
        };
        for &k in &self.gas_cells {
            state.cells[k].iter_mut().for_each(&mut take);
        }
        state.segments.iter_mut().for_each(&mut take);
        state.sides.iter_mut().flatten().for_each(&mut take);
        let lagged = state.lagged.iter_mut().flatten();
        state.mirrored.iter_mut().chain(lagged).for_each(|to| {
            take(to);
            *to /= LAGGED_WEIGHT;
        });
        if let Some(internal) = &mut state.internal {
            for &k in &self.gas_cells {
                internal.cells[k].iter_mut().for_each(&mut take);
            }
            let lagged = internal.lagged.iter_mut().flatten();
            internal.mirrored.iter_mut().chain(lagged).for_each(|to| {
                take(to);
                *to /= LAGGED_WEIGHT;
            });
        }
    }

    /// Takes fields up from a coarser grid.
    pub(in crate::flow) fn start_from(&mut self, coarse: &Problem, state: &Unknowns) {
        let (fine, space) = (&self.problem.space, &coarse.space);
        let place = |edges: &[f64], x: f64| {
            let at = edges.partition_point(|edge| *edge <= x);
            at.clamp(1, edges.len() - 1) - 1
        };
        let nearest = |point: [f64; 2]| {
            let (i, j) = (place(&space.x, point[0]), place(&space.y, point[1]));
            let at = j * space.nx() + i;
            if space.is_gas(at) {
                return at;
            }
            let distance = |&k: &usize| {
                let c = space.centroid[k];
                (c[0] - point[0]).hypot(c[1] - point[1])
            };
            (0..space.len())
                .filter(|&k| space.is_gas(k))
                .min_by(|a, b| distance(a).total_cmp(&distance(b)))
                .unwrap_or(at)
        };
        // Linear between the middles of cells, of those that hold gas.
        let between = |edges: &[f64], x: f64| {
            let at = place(edges, x);
            let middle = |k: usize| 0.5 * (edges[k] + edges[k + 1]);
            let low = if x < middle(at) {
                at.saturating_sub(1)
            } else {
                at
            };
            let high = (low + 1).min(edges.len() - 2);
            let apart = (middle(high) - middle(low)).max(f64::MIN_POSITIVE);
            let share = ((x - middle(low)) / apart).clamp(0.0, 1.0);
            [(low, 1.0 - share), (high, share)]
        };
        // The cells round a point with their shares.
        let around = |point: [f64; 2]| {
            let mut parts = Vec::with_capacity(4);
            for (j, along_y) in between(&space.y, point[1]) {
                for (i, along_x) in between(&space.x, point[0]) {
                    let at = j * space.nx() + i;
                    if space.is_gas(at) {
                        parts.push((at, along_x * along_y));
                    }
                }
            }
            let total: f64 = parts.iter().map(|(_, share)| share).sum();
            match total > 0.1 {
                true => parts.iter_mut().for_each(|(_, share)| *share /= total),
                false => parts = vec![(nearest(point), 1.0)],
            }
            parts
        };
        for &k in &self.gas_cells {
            let parts = around(fine.centroid[k]);
            self.state.cells[k] = weighed(&state.cells, &parts);
            if let (Some(to), Some(from)) = (&mut self.state.internal, &state.internal) {
                to.cells[k] = weighed(&from.cells, &parts);
            }
        }
        let gas = &self.problem.gas;
        for (s, segment) in fine.segments.iter().enumerate() {
            let from = space.segments.iter().enumerate().min_by(|(_, a), (_, b)| {
                let distance =
                    |p: [f64; 2]| (p[0] - segment.point[0]).hypot(p[1] - segment.point[1]);
                distance(a.point).total_cmp(&distance(b.point))
            });
            self.state.segments[s] = match from {
                Some((k, _)) => state.segments[k],
                None => gas.primitive(&self.state.cells[segment.cell])[0],
            };
        }
        for (fine, coarse) in self.state.sides.iter_mut().zip(&state.sides) {
            let ratio = coarse.len() as f64 / fine.len().max(1) as f64;
            for (k, density) in fine.iter_mut().enumerate() {
                let at = ((k as f64 + 0.5) * ratio) as usize;
                if let Some(value) = coarse.get(at) {
                    *density = *value;
                }
            }
        }
    }
}

/// Numbers of cells, each by its share.
fn weighed<const N: usize>(cells: &[[f64; N]], parts: &[(usize, f64)]) -> [f64; N] {
    let mut sum = [0.0; N];
    for (at, share) in parts {
        (0..N).for_each(|c| sum[c] += share * cells[*at][c]);
    }
    sum
}

/// The engine of a machine.
fn engine(machine: &Machine, sweep: &Sweep<'_>, input: &Input) -> Result<Box<dyn Sweeps>> {
    match machine {
        Machine::Cpu => Ok(Box::new(Vectors)),
        Machine::Reference => Ok(Box::new(reference::Loops)),
        Machine::Cuda(devices, precision) => parts::over(devices.clone(), *precision, sweep, input),
        Machine::Emulator(count, precision) => {
            let emulators = (0..*count).map(|_| Emulator::default());
            parts::over(emulators.collect(), *precision, sweep, input)
        }
    }
}

/// Mass of the gas.
fn mass(problem: &Problem, state: &Unknowns) -> f64 {
    let volumes = problem.space.volume.iter();
    volumes.zip(&state.cells).map(|(v, w)| v * w[0]).sum()
}

/// Values `[g, h][node]` of the starting Maxwellian.
fn start_values(problem: &Problem, carried: Carried) -> Vec<f64> {
    let c = match carried {
        Carried::Molecules => problem.gas.maxwellian(problem.start),
        Carried::InternalEnergy => problem.gas.internal_of(problem.start, problem.start[3]),
    };
    let count = problem.nodes.len();
    let mut values = vec![0.0; 2 * count];
    for m in 0..count {
        let v = [problem.nodes.vx[m], problem.nodes.vy[m]];
        let [g, h] = match problem.gas.linear {
            true => equilibrium::<true>(&c, v, f64::exp),
            false => equilibrium::<false>(&c, v, f64::exp),
        };
        (values[m], values[count + m]) = (g, h);
    }
    values
}

#[cfg(test)]
mod tests {
    use super::device;
    use super::*;
    use crate::compute::Precision;
    use crate::flow::Case;

    /// One sweep of a stream past a body by the kernels has the sums of plain loops, for velocities that fill no batches and lie unevenly about zero.
    #[test]
    fn sums_of_kernels_are_those_of_loops() {
        for carried in [Carried::Molecules, Carried::InternalEnergy] {
            kernels_have_the_sums_of_loops(carried);
        }
    }

    fn kernels_have_the_sums_of_loops(carried: Carried) {
        let text = r#"
            gas = { model = "polyatomic", delta = 3, omega = 0.734 }
            domain = { x = [-1.5, 1.5], y = [0, 1.5], h = 0.25 }
            velocities = { kind = "uniform", step = 0.8 }
            [sides]
            left = { kind = "stream", speed_ratio = 3 }
            right = { kind = "stream", speed_ratio = 3 }
            bottom = { kind = "mirror" }
            top = { kind = "stream", speed_ratio = 3 }
            [[body]]
            shape = "circle"
            radius = 0.5
            "#;
        let case: Case = toml::from_str(text).unwrap();
        let case = case.resolve().unwrap();
        let problem = Problem::new(&case, 1.0).unwrap();
        let mut steady = Steady::new(&problem, &case.solver, &Machine::Reference).unwrap();
        if let Some(internal) = &mut steady.state.internal {
            internal
                .cells
                .iter_mut()
                .for_each(|e| (e[1], e[2]) = (0.1, -0.05));
        }
        let (sweep, _) = steady.parts();
        let input = steady.input(carried, Vec::new());
        let mut kernels =
            device::new(Emulator::default(), Precision::F64, &sweep, &input.sides).unwrap();
        let found = kernels.run(&sweep, &input).unwrap();
        let expected = reference::Loops.run(&sweep, &input).unwrap();
        let vectors = Vectors.run(&sweep, &input).unwrap();
        let flat = |swept: &Swept| {
            let sides = swept.sides.iter().flatten().flatten().flatten();
            let all = swept.cells.iter().flatten();
            let all = all.chain(swept.segments.iter().flatten()).chain(sides);
            all.copied().collect::<Vec<f64>>()
        };
        for (at, (a, b)) in flat(&found).into_iter().zip(flat(&expected)).enumerate() {
            assert!((a - b).abs() < 1e-12 * (1.0 + b.abs()), "{at}: {a} {b}");
        }
        for (at, (a, b)) in flat(&vectors).into_iter().zip(flat(&expected)).enumerate() {
            assert!((a - b).abs() < 1e-12 * (1.0 + b.abs()), "{at}: {a} {b}");
        }
    }
}
