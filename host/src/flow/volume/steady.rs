//! The iteration: a sweep, the new fields from its sums, and Anderson mixing.

use std::sync::Arc;

use rayon::prelude::*;

use super::correction::Correction;
use super::engine::{Loops, Sweeps, Vectors};
use super::face::Border;
use super::gas::{
    self, Carried, Coefficients, InternalEnergy, MOMENTS, State, UNKNOWNS, equilibrium,
    internal_of, maxwellian,
};
use super::parts;
use super::problem::Problem;
use super::space::{Space, across};
use super::sweep::{Inflow, Input, SIDES, Sweep, Swept};
use super::unknowns::Unknowns;
use crate::bgk::rotation;
use crate::bgk::steady::anderson::Anderson;
use crate::emulator::Emulator;
use crate::error::{Error, Result};
use crate::flow::course::{Course, Ending, Step};
use crate::flow::gas::Gas;
use crate::flow::machine::Machine;
use crate::flow::ports;
use crate::flow::steady::{COLDEST, LAGGED_WEIGHT, ROUNDOFF, UNBALANCED};
use crate::flow::{Acceleration, Solver};

/// Least share of its density and of its temperature that a cell keeps in an iteration: behind a body in a fast stream both fall to almost nothing.
const FALL: f64 = 0.2;

/// A steady flow in iteration.
pub(in crate::flow) struct Steady<'a> {
    pub(in crate::flow) problem: &'a Problem,
    pub(in crate::flow) state: Unknowns,
    /// The sums of the last sweep; fluxes of energy have the internal part.
    pub(in crate::flow) swept: Option<Swept>,
    pub(in crate::flow) course: Course,
    gas_cells: Vec<usize>,
    machine: Machine,
    /// The machine at work, from the first sweep on.
    engine: Option<Box<dyn Sweeps>>,
    /// Sides whose mirror acts within a sweep.
    mirrors: [bool; SIDES],
    /// Sides with lagged inflow.
    lags: [bool; SIDES],
    /// Whether rows along x close on themselves.
    closes: bool,
    mass: f64,
    anderson: Anderson,
    correction: Option<Correction>,
}

impl<'a> Steady<'a> {
    /// Starts from the state of the problem.
    pub(in crate::flow) fn new(problem: &'a Problem, solver: &Solver, machine: &Machine) -> Self {
        let space = &problem.space;
        let gas_cells: Vec<usize> = (0..space.len()).filter(|&k| space.is_gas(k)).collect();
        let start = gas::unknowns(&problem.gas, problem.start);
        let mut cells = vec![[0.0; UNKNOWNS]; space.len()];
        for &k in &gas_cells {
            cells[k] = start;
        }
        let borders = &problem.borders;
        // Round an axis there is no z.
        let sides = if space.rings.is_some() { 4 } else { SIDES };
        let is_mirror = |k: usize| k < sides && matches!(borders[k], Border::Mirror);
        // Of two mirrors that face each other the lower one acts within the sweep. Round an axis those along it do, and the axis itself.
        let acts = |k: usize| match &space.rings {
            Some(rings) => k < 2 || (k == 2 && rings.has_axis),
            None => true,
        };
        let mirrors =
            std::array::from_fn(|k| is_mirror(k) && acts(k) && !(k % 2 == 1 && is_mirror(k - 1)));
        let closes = problem.gas.linear && matches!(borders[0], Border::Periodic(..));
        let lags: [bool; SIDES] = std::array::from_fn(|k| match borders[k] {
            Border::Mirror => k < sides && !mirrors[k],
            Border::Wall(_, share) => share < 1.0,
            Border::Periodic(..) => !(closes && k < 2),
            _ => false,
        });
        let density = problem.start[0];
        let values = start_values(problem, Carried::Molecules);
        let lagged = |values: &[f64]| {
            std::array::from_fn(|k| match lags[k] {
                true => values.repeat(space.faces(k)),
                false => Vec::new(),
            })
        };
        let walls = problem.partial.facets.len();
        let (mut internal, mut internal_lagged) = (Vec::new(), Default::default());
        let mut internal_images = Vec::new();
        if let Some(rotation) = &problem.gas.rotation {
            let [n, .., t] = problem.start;
            let density = if problem.gas.linear { 1.0 } else { n };
            internal = vec![[0.0; 4]; space.len()];
            for &k in &gas_cells {
                internal[k][0] = 0.5 * rotation.freedom * density * t;
            }
            let values = start_values(problem, Carried::InternalEnergy);
            internal_lagged = lagged(&values);
            internal_images = values.repeat(walls);
        }
        let state = Unknowns {
            facets: vec![density; space.facets.len()],
            images: values.repeat(walls),
            sides: std::array::from_fn(|k| match borders[k] {
                Border::Wall(..) => vec![density; space.faces(k)],
                Border::Inflow(..) => vec![density],
                _ => Vec::new(),
            }),
            lagged: lagged(&values),
            cells,
            internal,
            internal_lagged,
            internal_images,
        };
        Self {
            problem,
            mass: mass(space, &state),
            state,
            swept: None,
            course: Course::default(),
            gas_cells,
            machine: machine.clone(),
            engine: None,
            mirrors,
            lags,
            closes,
            anderson: Anderson::new(solver.depth),
            correction: match solver.acceleration {
                Acceleration::Auto => Correction::of(problem),
                Acceleration::None => None,
            },
        }
    }

    /// Iterates to the end.
    ///
    /// # Errors
    /// A density or temperature that is not positive; those of a GPU.
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
            let balanced = self.imbalance(&swept) <= UNBALANCED * solver.tolerance;
            self.swept = Some(swept);
            let step = Step {
                change,
                roundoff,
                // The change alone does not tell: of dense gas it falls with the density, of a far start it compares with a wide range.
                acts: (iteration > 1 || !self.hands_on()) && balanced,
                goes_on: observe(iteration, change),
            };
            if let Some(ending) = self.course.after(step, solver) {
                self.state = next;
                return Ok(ending);
            }
            self.mix(next);
        }
        Ok(Ending::Unfinished)
    }

    /// Whether a sweep takes in what the one before let out: images, periods and the density of an inflow act in the second one.
    fn hands_on(&self) -> bool {
        let is_inflow = |border: &Border| matches!(border, Border::Inflow(..));
        let mirrors = !self.problem.partial.facets.is_empty();
        mirrors || self.lags.contains(&true) || self.problem.borders.iter().any(is_inflow)
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
        let Some(rotation) = &gas.rotation else {
            return Ok((swept, None));
        };
        drop(input);
        let input = self.input(Carried::InternalEnergy);
        let Some(engine) = &mut self.engine else {
            return Ok((swept, None));
        };
        let internal = engine.run(&sweep, &input)?;
        let add =
            |to: &mut [f64; MOMENTS], from| rotation::add_flux(rotation, gas.linear, to, from);
        let facets = swept.facets.iter_mut().zip(&internal.facets);
        facets.for_each(|(to, from)| add(to, from));
        for (to, from) in swept.sides.iter_mut().zip(&internal.sides) {
            for (to, from) in to.iter_mut().flatten().zip(from.iter().flatten()) {
                add(to, from);
            }
        }
        Ok((swept, Some(internal)))
    }

    /// A sweep, and the present state as its input.
    pub(super) fn parts(&self) -> (Sweep<'a>, Input) {
        let problem = self.problem;
        let sweep = Sweep {
            space: &problem.space,
            nodes: &problem.nodes,
            linear: problem.gas.linear,
            // A periodic side takes in what left through the other.
            kept: std::array::from_fn(|k| self.lags[k]),
            mirrors: self.mirrors,
            partial: &problem.partial,
        };
        (sweep, self.input(Carried::Molecules))
    }

    /// The present state as the input of a sweep.
    fn input(&self, carried: Carried) -> Input {
        let problem = self.problem;
        let (gas, coldest) = (&problem.gas, problem.nodes.coldest);
        let internal = &self.state.internal;
        let unknowns = self.state.cells.par_iter().enumerate();
        let cells = unknowns.map(|(k, w)| match (internal.get(k), carried) {
            _ if !problem.space.is_gas(k) => [0.0; 12],
            (None, _) => gas::coefficients(gas, &gas::warmed(gas, w, coldest)),
            (Some(e), Carried::Molecules) => gas::relaxed(gas, w, e, coldest).1[0],
            (Some(e), Carried::InternalEnergy) => gas::relaxed(gas, w, e, coldest).1[1],
        });
        let cells = Arc::new(cells.collect());
        let walls = problem.walls.iter().zip(&self.state.facets);
        Input {
            cells,
            facets: walls
                .map(|(wall, &density)| self.emitted(wall.state(density), carried))
                .collect(),
            images: match carried {
                Carried::Molecules => self.state.images.clone(),
                Carried::InternalEnergy => self.state.internal_images.clone(),
            },
            sides: std::array::from_fn(|k| self.inflow(k, carried)),
            drifts: carried == Carried::InternalEnergy && !gas.linear,
        }
    }

    /// The coefficients of a Maxwellian that a face emits.
    fn emitted(&self, state: State, carried: Carried) -> Coefficients {
        match carried {
            Carried::Molecules => maxwellian(&self.problem.gas, state),
            Carried::InternalEnergy => internal_of(&self.problem.gas, state, state[4]),
        }
    }

    fn inflow(&self, k: usize, carried: Carried) -> Inflow {
        let problem = self.problem;
        let emitted = |state: State| self.emitted(state, carried);
        let lagged = || match carried {
            Carried::Molecules => self.state.lagged[k].clone(),
            Carried::InternalEnergy => self.state.internal_lagged[k].clone(),
        };
        match problem.borders[k] {
            Border::Given(state) => Inflow::Same(emitted(state)),
            Border::Split(at, states) => {
                let [along, _] = across(k / 2);
                let edges = &problem.space.edges[along];
                let half = |face: usize| {
                    let place = face % (edges.len() - 1);
                    usize::from(0.5 * (edges[place] + edges[place + 1]) >= at)
                };
                let faces = 0..problem.space.faces(k);
                let halves = states.map(emitted);
                Inflow::Faces(faces.map(|face| halves[half(face)]).collect())
            }
            Border::Outlet(pressure) => {
                let faces = problem.space.border(k).into_iter();
                let states = faces.map(|cell| self.behind(cell, pressure));
                Inflow::Faces(states.map(emitted).collect())
            }
            Border::Mirror if self.mirrors[k] => Inflow::Mirror,
            Border::Mirror => Inflow::Values(lagged()),
            Border::Periodic(jump, _) if self.closes && k < 2 => Inflow::Closed(emitted(jump)),
            Border::Periodic(..) => Inflow::Values(lagged()),
            Border::Inflow(_, wall) => {
                let density = self.state.sides[k].first().copied().unwrap_or(0.0);
                Inflow::Same(emitted(wall.state(density)))
            }
            Border::Wall(wall, share) => {
                let densities = self.state.sides[k].iter();
                let faces = densities.map(|&density| emitted(wall.state(density)));
                match self.lags[k] {
                    true => Inflow::Wall(faces.collect(), share, lagged()),
                    false => Inflow::Faces(faces.collect()),
                }
            }
        }
    }

    /// The gas behind an outlet, beside a cell.
    fn behind(&self, cell: usize, pressure: f64) -> State {
        let problem = self.problem;
        if !problem.space.is_gas(cell) {
            return [0.0, 0.0, 0.0, 0.0, 1.0];
        }
        let [_, x, y, z, t] = gas::state(&problem.gas, &self.state.cells[cell]);
        if problem.gas.linear {
            return [pressure - t, x, y, z, t];
        }
        let t = t.max(COLDEST);
        [pressure / t, x, y, z, t]
    }

    /// The state that a sweep makes of the present one.
    fn next(&self, swept: &Swept, internal: Option<&Swept>) -> Unknowns {
        let problem = self.problem;
        let space = &problem.space;
        let mut next = self.state.clone();
        let coldest = problem.nodes.coldest;
        if let Some(internal) = internal {
            let energies = next.internal.par_iter_mut().zip(&internal.cells);
            let cells = next.cells.par_iter_mut().zip(&swept.cells);
            let cells = cells.zip(energies).enumerate();
            cells.for_each(|(k, ((w, sums), (e, [energy, x, y, z, ..])))| {
                if space.is_gas(k) {
                    let (to, _) = gas::relaxed(&problem.gas, w, e, coldest);
                    *w = gas::swept(&problem.gas, &to.molecules, sums);
                    *e = rotation::swept(&to.internal, [*energy, *x, *y, *z]);
                }
            });
        } else {
            let cells = next.cells.par_iter_mut().zip(&swept.cells).enumerate();
            cells.for_each(|(k, (w, sums))| {
                if space.is_gas(k) {
                    let warmed = gas::warmed(&problem.gas, w, coldest);
                    *w = gas::swept(&problem.gas, &warmed, sums);
                }
            });
        }
        let arriving = swept.facets.iter().zip(&problem.emission);
        for (density, (arriving, emission)) in next.facets.iter_mut().zip(arriving) {
            *density = emission.density(arriving[0]);
        }
        next.images = self.mirrored(Carried::Molecules, &swept.arrived);
        if let Some(internal) = internal {
            next.internal_images = self.mirrored(Carried::InternalEnergy, &internal.arrived);
        }
        for k in 0..SIDES {
            if let Some(emission) = &problem.side_emission[k] {
                match problem.borders[k] {
                    Border::Inflow(flow, _) => {
                        let (out, area) = self.leaving(swept, k);
                        let density = emission.density((flow + out) / area);
                        // A pump that takes more than arrives lets nothing in.
                        let least = if problem.gas.linear {
                            f64::NEG_INFINITY
                        } else {
                            0.0
                        };
                        next.sides[k][0] = density.max(least);
                    }
                    _ => {
                        let faces = next.sides[k].iter_mut().zip(&swept.sides[k]);
                        faces.for_each(|(density, [leaving, _])| {
                            *density = emission.density(leaving[0]);
                        });
                    }
                }
            }
            if self.lags[k] {
                let masses = [k & !1, k | 1].map(|side| self.leaving(swept, side).0);
                next.lagged[k] = self.handed_on(&swept.left, masses, k, Carried::Molecules);
                if let Some(internal) = internal {
                    next.internal_lagged[k] =
                        self.handed_on(&internal.left, masses, k, Carried::InternalEnergy);
                }
            }
        }
        next
    }

    /// The images of the molecules, or of their internal energy, that arrived at walls in a sweep.
    fn mirrored(&self, carried: Carried, arrived: &[f64]) -> Vec<f64> {
        let problem = self.problem;
        let Some(images) = problem.partial.images(&problem.nodes, problem.gas.linear) else {
            return Vec::new();
        };
        let (gas, cells) = (&problem.gas, &self.state.cells);
        let cell = |k: usize| maxwellian(gas, gas::state(gas, &cells[k]));
        images.all(&problem.space, &problem.partial, cell, (carried, arrived))
    }

    /// Mass that leaves through the open parts of a side, and their area.
    fn leaving(&self, swept: &Swept, side: usize) -> (f64, f64) {
        let space = &self.problem.space;
        let faces = space.border(side).into_iter().zip(&swept.sides[side]);
        faces.fold((0.0, 0.0), |(out, area), (cell, [leaving, _])| {
            let open = space.open[cell][side];
            (out + open * leaving[0], area + open)
        })
    }

    /// Inflow through a side from what the last sweep let out; `masses` left through both sides of its axis.
    fn handed_on(
        &self,
        left: &[Vec<f64>; SIDES],
        masses: [f64; 2],
        k: usize,
        carried: Carried,
    ) -> Vec<f64> {
        let problem = self.problem;
        let nodes = &problem.nodes;
        let count = nodes.len();
        let enters = |m: usize| (nodes.v[k / 2][m] > 0.0) == k.is_multiple_of(2);
        let mut values = vec![0.0; left[k].len()];
        let (own, from): (Vec<f64>, Vec<usize>) = match problem.borders[k] {
            Border::Periodic(jump, _) if problem.gas.linear => {
                // The jump falls from the lower to the upper side.
                let sign = if k.is_multiple_of(2) { 1.0 } else { -1.0 };
                let jump = self.emitted(jump, carried);
                let value = |m: usize| sign * equilibrium(true, &jump, nodes.velocity(m));
                ((0..count).map(value).collect(), (0..count).collect())
            }
            Border::Periodic(..) => (vec![0.0; count], (0..count).collect()),
            _ => {
                let images = (0..count).map(|m| nodes.image(m, k / 2));
                (vec![0.0; count], images.collect())
            }
        };
        let (side, factor) = match problem.borders[k] {
            Border::Periodic(_, fall) => (k ^ 1, ports::factor(masses, k, fall)),
            _ => (k, 1.0),
        };
        let rows = values.chunks_exact_mut(count);
        for (row, left) in rows.zip(left[side].chunks_exact(count)) {
            for m in (0..count).filter(|&m| enters(m)) {
                row[m] = factor * left[from[m]] + own[m];
            }
        }
        values
    }

    /// Moves a cell whose density or temperature falls too far towards its present state.
    fn keep_admissible(&self, next: &mut Unknowns) -> Result<()> {
        for &k in &self.gas_cells {
            let mut share = 0.5;
            while !follows(&self.problem.gas, &next.cells[k], &self.state.cells[k])
                || !rotates(&self.problem.gas, &next.internal, &self.state.internal, k)
            {
                if share < 1e-12 || !next.cells[k].iter().all(|x| x.is_finite()) {
                    let [x, y, z] = self.problem.space.centroid[k];
                    return Err(Error::Numerical(format!(
                        "the gas at ({x:.4}, {y:.4}, {z:.4}) has no positive density or temperature; finer cells and velocities help, as do gas beside it from `start`"
                    )));
                }
                for c in 0..UNKNOWNS {
                    let old = self.state.cells[k][c];
                    next.cells[k][c] = old + share * (next.cells[k][c] - old);
                }
                if let Some(e) = next.internal.get_mut(k) {
                    let old = self.state.internal[k];
                    (0..4).for_each(|c| e[c] = old[c] + share * (e[c] - old[c]));
                }
                share *= 0.5;
            }
        }
        Ok(())
    }

    /// Keeps the mass of a closed space, which the equations leave open.
    fn hold_mass(&self, next: &mut Unknowns) {
        if !self.problem.is_closed() {
            return;
        }
        let missing = self.mass - mass(&self.problem.space, next);
        if self.problem.gas.linear {
            let volume: f64 = self.problem.space.volume.iter().sum();
            let add = missing / volume;
            for &k in &self.gas_cells {
                next.cells[k][0] += add;
                next.cells[k][4] += 1.5 * add;
            }
            let densities = next.facets.iter_mut();
            densities
                .chain(next.sides.iter_mut().flatten())
                .chain(next.lagged.iter_mut().flatten())
                .chain(&mut next.images)
                .for_each(|rho| *rho += add);
        } else {
            let factor = self.mass / (self.mass - missing);
            next.cells.iter_mut().flatten().for_each(|x| *x *= factor);
            let energies = next.internal.iter_mut().flatten();
            energies
                .chain(next.internal_lagged.iter_mut().flatten())
                .chain(&mut next.internal_images)
                .for_each(|x| *x *= factor);
            let densities = next.facets.iter_mut();
            densities
                .chain(next.sides.iter_mut().flatten())
                .chain(next.lagged.iter_mut().flatten())
                .chain(&mut next.images)
                .for_each(|x| *x *= factor);
        }
    }

    /// Mass and energy that leave the gas in a sweep over those that enter through its sides, the larger of both; zero where nothing enters.
    fn imbalance(&self, swept: &Swept) -> f64 {
        let space = &self.problem.space;
        let (mut net, mut entering) = ([0.0; 2], [0.0_f64; 2]);
        for (k, faces) in swept.sides.iter().enumerate() {
            for (cell, [out, inward]) in space.border(k).into_iter().zip(faces) {
                let open = space.open[cell][k];
                for (at, c) in [0, MOMENTS - 1].into_iter().enumerate() {
                    net[at] += open * (out[c] - inward[c]);
                    entering[at] += open * inward[c].abs();
                }
            }
        }
        let facets = space.facets.iter().zip(&swept.facets);
        let (problem, state) = (self.problem, &self.state);
        let leaving = (0..space.facets.len()).into_par_iter();
        let leaving: Vec<_> = leaving.map(|s| problem.leaves(s, state)).collect();
        for ((facet, arriving), emitted) in facets.zip(leaving) {
            for (at, c) in [0, MOMENTS - 1].into_iter().enumerate() {
                net[at] += facet.area * (arriving[c] - emitted[c]);
            }
        }
        let shares = net.into_iter().zip(entering);
        let shares = shares.filter(|(_, entering)| *entering > 0.0);
        shares.fold(0.0, |most, (net, entering)| most.max(net.abs() / entering))
    }

    /// The largest change of density, momentum and energy over the range of each, and what roundoff makes of it.
    fn change(&self, next: &Unknowns) -> (f64, f64) {
        // Internal energy comes last; without it nothing changes.
        let none = [[f64::INFINITY, f64::NEG_INFINITY, 0.0, 0.0]; 6];
        let count = if self.state.internal.is_empty() { 5 } else { 6 };
        let value = |state: &Unknowns, k: usize, c: usize| match c {
            5 => state.internal[k][0],
            _ => state.cells[k][c],
        };
        let present = &self.state;
        let ranges = self.gas_cells.par_iter().fold(
            || none,
            |mut ranges, &k| {
                let all = ranges.iter_mut().take(count).enumerate();
                for (c, [low, high, most, changed]) in all {
                    let new = value(next, k, c);
                    *low = low.min(new);
                    *high = high.max(new);
                    *most = most.max(new.abs());
                    *changed = changed.max((new - value(present, k, c)).abs());
                }
                ranges
            },
        );
        // The order does not matter: least and greatest values have no roundoff.
        let ranges = ranges.reduce(
            || none,
            |mut a, b| {
                for ([low, high, most, changed], b) in a.iter_mut().zip(b) {
                    *low = low.min(b[0]);
                    *high = high.max(b[1]);
                    *most = most.max(b[2]);
                    *changed = changed.max(b[3]);
                }
                a
            },
        );
        let ranges = &ranges[..count];
        let spread = ranges.iter().map(|[low, high, _, _]| high - low);
        let spread: Vec<f64> = spread.collect();
        let widest = spread.iter().copied().fold(0.0, f64::max);
        let unit = self.engine.as_ref().map_or(f64::EPSILON, |e| e.unit());
        let mut largest = (0.0_f64, 0.0_f64);
        for ([_, _, most, changed], spread) in ranges.iter().zip(spread) {
            let scale = match self.problem.gas.linear {
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
        let gas = &self.problem.gas;
        let present = &self.state;
        let good = self.gas_cells.par_iter().all(|&k| {
            follows(gas, &mixed.cells[k], &present.cells[k])
                && rotates(gas, &mixed.internal, &present.internal, k)
        }) && (gas.linear
            || (mixed.facets.iter().all(|&rho| rho >= 0.0)
                && mixed.sides.iter().flatten().all(|&rho| rho >= 0.0)));
        if good {
            self.state = mixed;
        } else {
            self.anderson.clear();
            self.state = next;
        }
    }

    fn pack(&self, state: &Unknowns) -> Vec<f64> {
        let mut x = vec![0.0; UNKNOWNS * self.gas_cells.len()];
        let places = x.par_chunks_mut(UNKNOWNS).zip(&self.gas_cells);
        places.for_each(|(x, &k)| x.copy_from_slice(&state.cells[k]));
        x.extend(&state.facets);
        x.extend(state.sides.iter().flatten());
        let lagged = state.lagged.iter().flatten().chain(&state.images);
        x.extend(lagged.map(|value| LAGGED_WEIGHT * value));
        if !state.internal.is_empty() {
            x.extend(self.gas_cells.iter().flat_map(|&k| state.internal[k]));
            let lagged = state.internal_lagged.iter().flatten();
            let lagged = lagged.chain(&state.internal_images);
            x.extend(lagged.map(|value| LAGGED_WEIGHT * value));
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
        state.facets.iter_mut().for_each(&mut take);
        state.sides.iter_mut().flatten().for_each(&mut take);
        for to in state.lagged.iter_mut().flatten().chain(&mut state.images) {
            take(to);
            *to /= LAGGED_WEIGHT;
        }
        if !state.internal.is_empty() {
            for &k in &self.gas_cells {
                state.internal[k].iter_mut().for_each(&mut take);
            }
            let lagged = state.internal_lagged.iter_mut().flatten();
            for to in lagged.chain(&mut state.internal_images) {
                take(to);
                *to /= LAGGED_WEIGHT;
            }
        }
    }

    /// Takes fields up from another grid.
    pub(in crate::flow) fn start_from(&mut self, coarse: &Problem, state: &Unknowns) {
        let fine = &self.problem.space;
        let gas = &self.problem.gas;
        let space = &coarse.space;
        let interpolation = Interpolation { space };
        for &k in &self.gas_cells {
            if let Some(w) = interpolation.at(&state.cells, fine.centroid[k]) {
                self.state.cells[k] = w;
            }
            if let (Some(to), false) = (self.state.internal.get_mut(k), state.internal.is_empty())
                && let Some(e) = interpolation.at(&state.internal, fine.centroid[k])
            {
                *to = e;
            }
        }
        for (s, facet) in fine.facets.iter().enumerate() {
            // The walls emit about what the gas beside them has.
            let w = &self.state.cells[facet.cell];
            self.state.facets[s] = gas::state(gas, w)[0];
        }
        for (k, densities) in self.state.sides.iter_mut().enumerate() {
            let faces = densities.iter_mut().zip(fine.border(k));
            for (density, cell) in faces {
                if fine.is_gas(cell) {
                    *density = gas::state(gas, &self.state.cells[cell])[0];
                }
            }
        }
    }
}

/// Whether a cell's density and temperature are positive and fall by no more than an iteration may lower them.
fn follows(gas: &Gas, w: &[f64; UNKNOWNS], old: &[f64; UNKNOWNS]) -> bool {
    if gas.linear || !gas::is_admissible(gas, w) {
        return gas::is_admissible(gas, w);
    }
    let [n, .., t] = gas::state(gas, w);
    let [n_old, .., t_old] = gas::state(gas, old);
    n >= FALL * n_old && t >= FALL * t_old
}

/// Whether a cell's internal energy is positive and falls by no more than an iteration may lower it, where there is any.
fn rotates(gas: &Gas, next: &[InternalEnergy], present: &[InternalEnergy], k: usize) -> bool {
    match (next.get(k), present.get(k)) {
        (Some(next), Some(present)) => {
            next.iter().all(|x| x.is_finite())
                && (gas.linear || (next[0] > 0.0 && next[0] >= FALL * FALL * present[0]))
        }
        _ => true,
    }
}

/// Fields between the middles of the cells of a solved flow.
struct Interpolation<'a> {
    space: &'a Space,
}

impl Interpolation<'_> {
    /// Numbers of the cells at a point, linear between the cells around it that hold gas; none where none does.
    fn at<const N: usize>(&self, cells: &[[f64; N]], point: [f64; 3]) -> Option<[f64; N]> {
        let counts = self.space.counts();
        let along = [0, 1, 2].map(|axis: usize| between(&self.space.edges[axis], point[axis]));
        let (mut total, mut sum) = (0.0, [0.0; N]);
        for (z, along_z) in along[2] {
            for (y, along_y) in along[1] {
                for (x, along_x) in along[0] {
                    let k = (z * counts[1] + y) * counts[0] + x;
                    // A cell that touches the point counts a little even where its share is nothing.
                    let share = along_x * along_y * along_z + 1e-9;
                    if self.space.is_gas(k) {
                        total += share;
                        (0..N).for_each(|c| sum[c] += share * cells[k][c]);
                    }
                }
            }
        }
        (total > 0.0).then(|| sum.map(|part| part / total))
    }
}

/// The two cells between whose middles a place is, with their shares.
fn between(edges: &[f64], x: f64) -> [(usize, f64); 2] {
    let at = edges.partition_point(|edge| *edge <= x);
    let at = at.clamp(1, edges.len() - 1) - 1;
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
}

/// The engine of a machine.
fn engine(machine: &Machine, sweep: &Sweep<'_>, input: &Input) -> Result<Box<dyn Sweeps>> {
    match machine {
        Machine::Cpu => Ok(Box::new(Vectors)),
        Machine::Reference => Ok(Box::new(Loops)),
        Machine::Cuda(devices, precision) => parts::over(devices.clone(), *precision, sweep, input),
        Machine::Emulator(count, precision) => {
            let emulators = (0..*count).map(|_| Emulator::default());
            parts::over(emulators.collect(), *precision, sweep, input)
        }
    }
}

/// Mass of the gas.
fn mass(space: &Space, state: &Unknowns) -> f64 {
    let volumes = space.volume.iter().zip(&state.cells);
    volumes.map(|(v, w)| v * w[0]).sum()
}

/// Values at the nodes of the starting Maxwellian.
fn start_values(problem: &Problem, carried: Carried) -> Vec<f64> {
    let c = match carried {
        Carried::Molecules => maxwellian(&problem.gas, problem.start),
        Carried::InternalEnergy => internal_of(&problem.gas, problem.start, problem.start[4]),
    };
    let value = |m: usize| equilibrium(problem.gas.linear, &c, problem.nodes.velocity(m));
    (0..problem.nodes.len()).map(value).collect()
}
