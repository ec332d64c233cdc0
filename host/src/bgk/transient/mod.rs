//! The time-dependent solver: one problem, any backend.

mod change;
mod config;
mod cpu;
mod engine;
mod gpu;
mod parts;
mod pieces;
mod reference;
mod relaxation;
mod rotating;
mod shift;
mod symmetry;
mod team;

use std::ops::Range;
use std::sync::Arc;

use serde::{Deserialize, Serialize};

pub(super) use self::change::Change;
pub use self::change::Looked;
pub use self::config::SimulationConfig;
use self::cpu::CpuEngine;
pub use self::engine::FaceFlux;
use self::engine::{Engine, Saved, other_problem};
pub(super) use self::engine::{Node, initial_populations, nodes};
use self::gpu::MachineEngine;
use self::parts::{Cut, Kept, Parted};
pub use self::pieces::CheckpointPart;
use self::reference::Reference;
use self::rotating::{Relaxing, with_rotation};
pub use self::shift::{Courant, Scheme};
pub(super) use self::shift::{check_step, van_leer};
use self::symmetry::{Reduced, SymmetryReduction};
use super::{Model, Moments, Problem, RotatingMoments, State};
use crate::compute::{Pooled, Resolved, engine_of, steps_between};
use crate::distributed::{Alone, Team, Transport, machines, no_reference};
use crate::error::{Error, Result};

/// Everything that a run needs to go on to the same bits.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[non_exhaustive]
pub struct Checkpoint {
    /// The run's configuration.
    pub config: SimulationConfig,
    /// Steps taken.
    pub step: u64,
    /// Populations, weights included, `[jx][jy][m][iy][ix]`.
    pub populations: Vec<f64>,
    /// Further state of the backend.
    pub extra: Vec<f64>,
    /// The last look at the residual; without one the residual of the next look is infinite.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub looked: Option<Looked>,
    /// Fluxes through the faces in the last step: the populations after it do not have them.
    pub faces: [FaceFlux; 4],
}

/// A time-dependent solution under way.
///
/// ```
/// use rarefy::Backend;
/// use rarefy::bgk::{Axis, Boundaries, Boundary, Gas, Problem, Simulation, SimulationConfig, Space, State, VelocitySpace};
///
/// // Sod's tube, with the collision frequency of a slightly rarefied gas.
/// let (left, right) = (State::along_x(1.0, 0.0, 1.0), State::along_x(0.125, 0.0, 0.8));
/// let problem = Problem::new(
///     Space::line(100, [-10.0, 10.0])?,
///     VelocitySpace::new(vec![Axis::uniform(28, -5.0, 5.0)?], 1)?,
///     Gas::default(),
///     Boundaries::line(Boundary::Inflow(left), Boundary::Inflow(right)),
///     |x, _| if x < 0.0 { left } else { right },
/// )?;
/// let mut config = SimulationConfig::new(problem, 0.05);
/// config.compute.backend = Backend::Cpu;
/// let mut simulation = Simulation::new(config)?;
/// simulation.advance(40)?;
/// let moments = simulation.moments()?;
/// assert!(moments[50].velocity[0] > 0.1);
/// # Ok::<(), rarefy::Error>(())
/// ```
pub struct Simulation {
    engine: Pooled<dyn Engine>,
    config: SimulationConfig,
    step: u64,
    change: Change,
    /// Fluxes of the step before the checkpoint that the run goes on from, until it takes a step.
    faces: Option<[FaceFlux; 4]>,
}

impl std::fmt::Debug for Simulation {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Simulation")
            .field("step", &self.step)
            .field("time", &self.time())
            .field("device", &self.device())
            .finish_non_exhaustive()
    }
}

impl Simulation {
    /// Prepares a run from the problem's initial state, on one device or on the several that the configuration asks for.
    ///
    /// # Errors
    /// Those of [`SimulationConfig::validate`]; a backend that is not there; too little memory.
    pub fn new(config: SimulationConfig) -> Result<Self> {
        Self::over(config, Arc::new(Alone))
    }

    /// Prepares a run over the ranks of a [`Transport`]. Each rank owns a part of space: of a line a piece along x, of a plane a strip along y.
    ///
    /// All ranks have the same configuration and make the same calls. All receive the results of the whole space. Populations are those of one rank, to
    /// the bit; on GPUs those of large planes agree to roundoff, as [`face_fluxes`](Self::face_fluxes) do. Ranks of one process take one GPU each.
    ///
    /// # Errors
    /// As [`Simulation::new`]; the scalar reference, or a number of threads or devices, on several ranks; more ranks of this process than GPUs; ranks with
    /// fewer cells than their ghosts are deep and two more; a rank that ended.
    pub fn over(config: SimulationConfig, transport: Arc<dyn Transport>) -> Result<Self> {
        config.validate()?;
        Ok(Self {
            engine: Pooled::new(&config.compute, || engine(&config, transport))?,
            config,
            step: 0,
            change: Change::default(),
            faces: None,
        })
    }

    /// Continues a run from a checkpoint.
    ///
    /// # Errors
    /// As [`Simulation::new`]; populations that do not fit the problem, or are negative or not finite.
    pub fn resume(checkpoint: Checkpoint) -> Result<Self> {
        Self::resume_over(checkpoint, Arc::new(Alone))
    }

    /// Continues a run over the ranks of a [`Transport`] from the checkpoint of a run on any number of ranks.
    ///
    /// # Errors
    /// As [`Simulation::resume`] and [`Simulation::over`].
    pub fn resume_over(checkpoint: Checkpoint, transport: Arc<dyn Transport>) -> Result<Self> {
        let populations = &checkpoint.populations;
        let expected = checkpoint.config.populations();
        if populations.len() != expected {
            return Err(other_problem(populations.len(), expected));
        }
        Self::resume_rows(checkpoint.clone_head(), transport, |node, row| {
            row.copy_from_slice(&populations[node * row.len()..][..row.len()]);
            Ok(())
        })
    }

    /// Continues a run from a checkpoint whose populations are read node by node, so that memory holds no copy of them.
    ///
    /// `head` is a checkpoint without populations. `read` fills a row with those of all cells of a node, in any order of the nodes and more than once.
    ///
    /// # Errors
    /// As [`Simulation::resume_over`]; those of `read`.
    pub fn resume_rows(
        head: Checkpoint,
        transport: Arc<dyn Transport>,
        mut read: impl FnMut(usize, &mut [f64]) -> Result<()> + Send,
    ) -> Result<Self> {
        let Checkpoint {
            mut config,
            step,
            extra,
            looked,
            faces,
            ..
        } = head;
        let gas = config.problem.gas.model;
        let mut rows = |node: usize, row: &mut [f64]| {
            read(node, row)?;
            check_populations(row, gas)
        };
        // Populations that someone else made may be anything.
        if let Some((reduction, _)) = SymmetryReduction::of(&config.problem) {
            config.symmetry_reduction &= reduction.suits(&mut rows)?;
        }
        let problem = &config.problem;
        let size = [problem.velocity.nodes(), problem.space.cells()];
        let change = Change::resume(looked, step, size[1])?;
        let mut simulation = Self::over(config, transport)?;
        simulation.change = change;
        let saved = Saved {
            step,
            populations: Vec::new(),
            extra,
        };
        simulation
            .engine
            .run(|engine| engine.restore_rows(saved, size, &mut rows))?;
        simulation.step = step;
        simulation.faces = Some(faces);
        Ok(simulation)
    }

    /// Continues a run over the ranks of a [`Transport`] from pieces of a checkpoint.
    ///
    /// `head` is [`checkpoint_head`](Self::checkpoint_head) of the run, on any number of ranks. `read` returns pieces that hold the cells of the given ranges. Each rank reads
    /// those that it needs: its own cells, and ghosts.
    ///
    /// # Errors
    /// As [`Simulation::resume_over`]; those of `read`; pieces of another run.
    pub fn resume_parts(
        head: Checkpoint,
        transport: Arc<dyn Transport>,
        read: impl FnOnce(&[Range<usize>]) -> Result<Vec<CheckpointPart>>,
    ) -> Result<Self> {
        let Checkpoint {
            config,
            step,
            looked,
            faces,
            ..
        } = head;
        let (cells, nodes) = (
            config.problem.space.cells(),
            config.problem.velocity.nodes(),
        );
        let change = Change::resume(looked, step, cells)?;
        let mut simulation = Self::over(config, transport)?;
        simulation.change = change;
        let wanted = simulation.engine.wanted();
        let wanted = wanted.unwrap_or_else(|| vec![0..cells; 1]);
        let part = CheckpointPart::select(&read(&wanted)?, &wanted)?;
        if part.populations.len() != nodes * part.cells.len() || part.step != step {
            return Err(Error::invalid(
                "checkpoint",
                format!("pieces of another problem at step {}", part.step),
                format!("{nodes} populations of each cell at step {step}"),
            ));
        }
        check_populations(&part.populations, simulation.config.problem.gas.model)?;
        let saved = Saved {
            step,
            populations: part.populations,
            extra: part.extra,
        };
        simulation
            .engine
            .run(|engine| engine.restore_wanted(&saved))?;
        simulation.step = step;
        simulation.faces = Some(faces);
        Ok(simulation)
    }

    /// Takes time steps.
    ///
    /// # Errors
    /// A fault of the device; a state that is no longer one.
    pub fn advance(&mut self, steps: u64) -> Result<()> {
        self.engine.run(|engine| engine.advance(steps))?;
        self.step += steps;
        if steps > 0 {
            self.faces = None;
        }
        Ok(())
    }

    /// Takes the time steps that are left to a time, rounded to the nearest whole number of them.
    ///
    /// # Errors
    /// As [`Simulation::advance`].
    pub fn run_until(&mut self, time: f64) -> Result<()> {
        self.advance(steps_between(self.time(), time, self.config.dt))
    }

    /// How fast the fields change. For density, velocity and temperature it is the norm of the change since the last call over the norm
    /// of the field and the elapsed time. The largest counts. It is infinite at the first call.
    ///
    /// # Errors
    /// A fault of the device; fields that are no longer finite.
    pub fn residual(&mut self) -> Result<f64> {
        let fields = self.engine.run(|engine| engine.fields())?;
        self.change.residual(fields, self.step, self.config.dt)
    }

    /// Density, mean velocity and temperature of each cell, `[iy][ix]`.
    ///
    /// # Errors
    /// A fault of the device.
    pub fn states(&mut self) -> Result<Vec<State>> {
        let [n, ux, uy, t] = self.engine.run(|engine| engine.fields())?;
        Ok((0..n.len())
            .map(|i| State {
                density: n[i],
                velocity: [ux[i], uy[i]],
                temperature: t[i],
            })
            .collect())
    }

    /// Moments of each cell, `[iy][ix]`. Pressures and heat fluxes are those half-way through the relaxation, at which they are of second order in
    /// the time step. The others do not change in it.
    ///
    /// # Errors
    /// A fault of the device.
    pub fn moments(&mut self) -> Result<Vec<Moments>> {
        let gas = self.config.problem.gas;
        if gas.rotating().is_some() {
            return Ok(self.rotating_moments(0.5 * self.config.dt)?.0);
        }
        let mut all = self.engine.run(|engine| engine.moments())?;
        for moments in &mut all {
            let State {
                density,
                temperature,
                ..
            } = moments.state();
            let time = 0.5 * self.config.dt * gas.relaxation_frequency(density, temperature);
            let keep = (-time).exp();
            let keep_heat = (-gas.effective_prandtl() * time).exp();
            let pressure = 0.5 * density * temperature;
            let [xx, yy, xy] = &mut moments.pressure;
            *xx = pressure + keep * (*xx - pressure);
            *yy = pressure + keep * (*yy - pressure);
            *xy *= keep;
            moments.heat_flux = moments.heat_flux.map(|q| q * keep_heat);
        }
        Ok(all)
    }

    /// Moments of each cell, `[iy][ix]`, of the populations as they are between streaming and relaxation.
    ///
    /// # Errors
    /// A fault of the device.
    pub fn streamed_moments(&mut self) -> Result<Vec<Moments>> {
        Ok(self.rotating_moments(0.0)?.0)
    }

    /// Temperatures of translation and rotation of each cell, `[iy][ix]`, and the heat flux of internal energy, half-way through the relaxation; none of single atoms.
    ///
    /// # Errors
    /// A fault of the device.
    pub fn rotation(&mut self) -> Result<Vec<RotatingMoments>> {
        match self.config.problem.gas.rotating() {
            Some(_) => Ok(self.rotating_moments(0.5 * self.config.dt)?.1),
            None => Ok(Vec::new()),
        }
    }

    /// Moments of each cell with its rotation, a time of relaxation later than streaming left them.
    pub(in crate::bgk) fn rotating_moments(
        &mut self,
        time: f64,
    ) -> Result<(Vec<Moments>, Vec<RotatingMoments>)> {
        let mut all = self.engine.run(|engine| engine.moments())?;
        let Some(rotation) = self.config.problem.gas.rotating() else {
            return Ok((all, Vec::new()));
        };
        let gas = &self.config.problem.gas;
        let mut internal = self.engine.run(|engine| engine.internal())?;
        let mut rotating = Vec::with_capacity(all.len());
        for (moments, internal) in all.iter_mut().zip(&mut internal) {
            let (state, q) = (moments.state(), moments.heat_flux);
            let relaxing = Relaxing::new(gas, &rotation, &state, q, internal, time)?;
            relaxing.apply(&rotation, moments, internal);
            rotating.push(with_rotation(&rotation, moments, internal));
        }
        Ok((all, rotating))
    }

    /// Flux received through the faces (left, right, bottom, top) in the last step.
    ///
    /// # Errors
    /// A fault of the device.
    pub fn face_fluxes(&mut self) -> Result<[FaceFlux; 4]> {
        match self.faces {
            Some(faces) => Ok(faces),
            None => self.engine.run(|engine| engine.fluxes()),
        }
    }

    /// Populations of all nodes and cells, quadrature weights included, `[jx][jy][m][iy][ix]`.
    ///
    /// # Errors
    /// A fault of the device.
    pub fn state(&mut self) -> Result<Vec<f64>> {
        Ok(self.engine.run(|engine| engine.save())?.populations)
    }

    /// Everything that is needed to go on later to the same bits.
    ///
    /// # Errors
    /// A fault of the device.
    pub fn checkpoint(&mut self) -> Result<Checkpoint> {
        let saved = self.engine.run(|engine| engine.save())?;
        Ok(Checkpoint {
            populations: saved.populations,
            extra: saved.extra,
            ..self.checkpoint_head()?
        })
    }

    /// The checkpoint without populations and further state, the same on all ranks, which all call it.
    ///
    /// # Errors
    /// A fault of the device.
    pub fn checkpoint_head(&mut self) -> Result<Checkpoint> {
        Ok(Checkpoint {
            config: self.config.clone(),
            step: self.step,
            populations: Vec::new(),
            extra: Vec::new(),
            looked: self.change.looked().cloned(),
            faces: self.face_fluxes()?,
        })
    }

    /// The checkpoint without populations: [`visit_populations`](Self::visit_populations) has these.
    ///
    /// # Errors
    /// A fault of the device.
    pub fn checkpoint_without_populations(&mut self) -> Result<Checkpoint> {
        let extra = self.engine.run(|engine| engine.extra())?;
        Ok(Checkpoint {
            extra,
            ..self.checkpoint_head()?
        })
    }

    /// Hands the populations to `take`, node by node, as [`state`](Self::state) has them. Memory holds those of one node at a time where the populations lie on the host.
    ///
    /// # Errors
    /// A fault of the device; those of `take`.
    pub fn visit_populations(
        &mut self,
        mut take: impl FnMut(&[f64]) -> Result<()> + Send,
    ) -> Result<()> {
        let problem = &self.config.problem;
        let (nodes, cells) = (problem.velocity.nodes(), problem.space.cells());
        self.engine.run(|engine| {
            engine.show(&mut |rows| {
                let mut row = vec![0.0; cells];
                for node in 0..nodes {
                    rows(node, &mut row)?;
                    take(&row)?;
                }
                Ok(())
            })
        })
    }

    /// The piece of the checkpoint that this rank has: the state of its own cells. No rank holds more than that.
    ///
    /// # Errors
    /// A fault of the device; a run on one rank.
    pub fn checkpoint_part(&mut self) -> Result<CheckpointPart> {
        let part = self.engine.run(|engine| engine.save_part())?;
        Ok(CheckpointPart {
            step: self.step,
            ..part
        })
    }

    /// Steps taken.
    pub fn steps_taken(&self) -> u64 {
        self.step
    }
    /// Time reached.
    pub fn time(&self) -> f64 {
        self.step as f64 * self.config.dt
    }
    /// The configuration of the run.
    pub fn config(&self) -> &SimulationConfig {
        &self.config
    }
    /// The device in words.
    pub fn device(&self) -> String {
        self.engine.describe()
    }
    /// How long the machine takes for so many steps, without copies.
    #[doc(hidden)]
    pub fn time_steps(&mut self, steps: u32) -> Result<std::time::Duration> {
        let time = self.engine.run(|engine| engine.time_steps(steps))?;
        self.faces = None;
        self.step += u64::from(steps);
        Ok(time)
    }
}

impl Checkpoint {
    /// The same without populations.
    fn clone_head(&self) -> Self {
        Self {
            config: self.config.clone(),
            step: self.step,
            populations: Vec::new(),
            extra: self.extra.clone(),
            looked: self.looked.clone(),
            faces: self.faces,
        }
    }
}

/// Refuses populations that are none.
fn check_populations(populations: &[f64], gas: Model) -> Result<()> {
    if let Some(bad) = populations.iter().find(|f| !f.is_finite()) {
        return Err(Error::invalid(
            "checkpoint",
            format!("population {bad}"),
            "finite populations",
        ));
    }
    // The equilibria with a third moment have no bound from below.
    if gas != Model::Bgk {
        return Ok(());
    }
    // Roundoff of the arithmetic is the most that the scheme, which is positive, can leave below zero.
    if let Some(bad) = populations.iter().find(|&&f| f < -1e-6) {
        return Err(Error::invalid(
            "checkpoint",
            format!("negative population {bad:e}"),
            "populations of at least 0",
        ));
    }
    Ok(())
}

/// The engine that a configuration asks for.
fn engine(config: &SimulationConfig, transport: Arc<dyn Transport>) -> Result<Box<dyn Engine>> {
    let machines = machines(&config.compute, &*transport)?;
    let reduces = config.symmetry_reduction && !matches!(machines[..], [Resolved::Reference]);
    match SymmetryReduction::of(&config.problem).filter(|_| reduces) {
        Some((reduction, problem)) => {
            let engine = engine_of(problem, config, machines, transport)?;
            Ok(Box::new(Reduced { engine, reduction }))
        }
        None => engine_of(config.problem.clone(), config, machines, transport),
    }
}

/// The engine for all populations of a problem, on one machine or several.
fn engine_of(
    problem: Problem,
    config: &SimulationConfig,
    mut machines: Vec<Resolved>,
    transport: Arc<dyn Transport>,
) -> Result<Box<dyn Engine>> {
    let plan = config.plan();
    let of_rank = |machine, transport| {
        let cut = Cut::new(&problem, &plan, transport, None)?;
        engine_of_part(&problem, config, machine, cut)
    };
    let resolved = match (machines.pop(), machines.is_empty()) {
        (Some(machine), true) if transport.ranks() > 1 => return of_rank(machine, transport),
        (Some(machine), true) => machine,
        (last, _) => {
            machines.extend(last);
            return Ok(Box::new(Team::new(machines, of_rank)?));
        }
    };
    let name = resolved.describe();
    engine_of! {
        resolved, config.compute.precision;
        reference => Ok(Box::new(Reference::new(problem, plan)?)),
        cpu<T> => Ok(Box::new(CpuEngine::<T>::new(name, problem, plan)?)),
        kernels<T>(machine) => {
            Ok(Box::new(MachineEngine::<_, T>::new(machine, name, problem, plan)?))
        },
    }
}

/// The engine of a rank's part of a problem.
fn engine_of_part(
    problem: &Problem,
    config: &SimulationConfig,
    resolved: Resolved,
    cut: Cut,
) -> Result<Box<dyn Engine>> {
    let (name, plan, local) = (resolved.describe(), config.plan(), cut.clone());
    let kept = match resolved {
        Resolved::Cpu => Kept::on_cpu(problem),
        _ => Kept::on_machine(problem),
    };
    let engine: Box<dyn Engine> = engine_of! {
        resolved, config.compute.precision;
        reference => return Err(no_reference()),
        cpu<T> => Box::new(CpuEngine::<T>::of_part(name, problem, plan, local)?),
        kernels<T>(machine) => {
            Box::new(MachineEngine::<_, T>::of_part(machine, name, problem, plan, local)?)
        },
    };
    Ok(Box::new(Parted::new(engine, cut, kept, problem)))
}
