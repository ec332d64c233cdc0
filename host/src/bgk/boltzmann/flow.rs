//! A run: time loop, moments, checkpoints.

use std::borrow::Cow;
use std::fmt;
use std::mem::take;
use std::ops::Range;
use std::sync::Arc;

use rarefy_kernels::boltzmann::CELL_WORDS;
use rayon::prelude::*;
use serde::{Deserialize, Serialize};

use super::config::{FACES, FlowConfig, Stepping};
use super::engine::{Engine, Pass, passes};
use super::ranks::Cut;
use crate::bgk::transient::{Change, Node, nodes};
use crate::bgk::{CheckpointPart, FaceFlux, Looked, Moments, State, VelocitySpace};
use crate::compute::{Pooled, steps_between};
use crate::distributed::{Alone, Transport};
use crate::error::{Error, Result};

/// Everything that a run needs to go on to the same bits.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[non_exhaustive]
pub struct Checkpoint {
    /// The run's configuration.
    pub config: FlowConfig,
    /// Steps taken.
    pub step: u64,
    /// The distributions, `[cell][ix][iy][iz]`.
    pub distributions: Vec<f64>,
    /// The last look at the residual; without one the residual of the next look is infinite.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub looked: Option<Looked>,
}

/// The state of the gas at one moment, and the exchange with its surroundings in the step that follows.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[non_exhaustive]
pub struct Look {
    /// Moments of the cells, `[iy][ix]`. With split steps stresses and heat fluxes are those in the middle of the next step's collisions.
    pub moments: Vec<Moments>,
    /// Density, velocity and temperature after the next step; with penalised steps those of now.
    pub after: Vec<State>,
    /// Mass, momentum and energy that the gas receives through the left, right, bottom and top face, the mean over the face.
    pub faces: [FaceFlux; 4],
}

/// A solution of the Boltzmann equation under way.
pub struct Flow {
    engine: Pooled<dyn Engine>,
    config: FlowConfig,
    velocity: VelocitySpace,
    nodes: Vec<Node>,
    /// The part of this rank, where there are several, and its passes.
    cut: Option<Cut>,
    passes: Vec<Pass>,
    step: u64,
    change: Change,
}

/// The range of distributions.
#[derive(Clone, Copy)]
struct Extremes {
    least: f64,
    largest: f64,
    finite: bool,
}

impl Extremes {
    fn of(f: &[f64]) -> Self {
        Self {
            least: f.iter().copied().fold(f64::INFINITY, f64::min),
            largest: f.iter().copied().fold(0.0, f64::max),
            finite: f.iter().all(|f| f.is_finite()),
        }
    }

    /// Of the sums of cells.
    fn of_cells(cells: &[[f64; CELL_WORDS as usize]]) -> Self {
        Self {
            least: cells
                .iter()
                .map(|cell| cell[5])
                .fold(f64::INFINITY, f64::min),
            largest: cells.iter().map(|cell| cell[6]).fold(0.0, f64::max),
            finite: cells.iter().flatten().all(|word| word.is_finite()),
        }
    }

    fn numbers(self) -> [f64; 3] {
        [self.least, self.largest, f64::from(u8::from(self.finite))]
    }

    /// Of all ranks.
    fn together(numbers: &[f64]) -> Self {
        let of_ranks = || numbers.as_chunks::<3>().0.iter();
        Self {
            least: of_ranks().map(|of| of[0]).fold(f64::INFINITY, f64::min),
            largest: of_ranks().map(|of| of[1]).fold(0.0, f64::max),
            finite: of_ranks().all(|of| of[2] == 1.0),
        }
    }
}

impl fmt::Debug for Flow {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Flow")
            .field("step", &self.step)
            .field("time", &self.time())
            .field("device", &self.device())
            .finish_non_exhaustive()
    }
}

impl Flow {
    /// Prepares a run from the initial state, on one device or on the several that the configuration asks for.
    ///
    /// # Errors
    /// Those of [`FlowConfig::validate`]; a backend that is not there; too little memory.
    pub fn new(config: FlowConfig) -> Result<Self> {
        Self::over(config, Arc::new(Alone))
    }

    /// Prepares a run over the ranks of a [`Transport`]. Each rank owns a part of space: of a line a piece along x, of a plane a strip along y.
    ///
    /// All ranks have the same configuration and make the same calls. All receive the results of the whole space, with the bits of one rank. Ranks of one process take one GPU each.
    ///
    /// ```
    /// use std::sync::Arc;
    /// use rarefy::Backend;
    /// use rarefy::bgk::boltzmann::{Flow, FlowConfig};
    /// use rarefy::bgk::{Boundaries, Boundary, Space, State, Wall};
    /// use rarefy::collision::VelocityGrid;
    /// use rarefy::distributed::Threads;
    ///
    /// // Gas between two plates, the right one hotter, on two ranks.
    /// let walls = [1.0, 1.1].map(|t| Boundary::Wall(Wall::diffuse(t)));
    /// let mut config = FlowConfig::new(
    ///     Space::line(10, [0.0, 1.0])?,
    ///     VelocityGrid::new(8, -4.0, 4.0)?,
    ///     Boundaries::line(walls[0], walls[1]),
    ///     0.02,
    ///     |_, _| State::REST,
    /// )?;
    /// config.operator.compute.backend = Backend::Cpu;
    /// let run = |rank| {
    ///     let mut flow = Flow::over(config.clone(), Arc::new(rank))?;
    ///     flow.advance(2)?;
    ///     flow.moments()
    /// };
    /// let results: Vec<_> = std::thread::scope(|scope| {
    ///     let ranks = Threads::all(2).into_iter().map(|rank| scope.spawn(|| run(rank)));
    ///     ranks.collect::<Vec<_>>().into_iter().map(|rank| rank.join().unwrap()).collect()
    /// });
    /// let alone = run(Threads::all(1).remove(0))?;
    /// for moments in results {
    ///     assert_eq!(moments?, alone);
    /// }
    /// # Ok::<(), rarefy::Error>(())
    /// ```
    ///
    /// # Errors
    /// As [`Flow::new`]; the scalar reference, or a number of threads or devices, on several ranks; more ranks of this process than GPUs; ranks with
    /// fewer cells than their ghosts are deep and two more; a rank that ended.
    pub fn over(config: FlowConfig, transport: Arc<dyn Transport>) -> Result<Self> {
        config.validate()?;
        let velocity = config.velocity_space()?;
        let cut = Cut::new(&config, transport.clone())?;
        let of_rank = cut.clone();
        Ok(Self {
            engine: Pooled::new(&config.operator.compute, || {
                super::engine(&config, of_rank, &*transport)
            })?,
            nodes: nodes(&velocity),
            passes: match &cut {
                Some(cut) => cut.passes(&cut.local(&config))?,
                None => passes(&config)?,
            },
            cut,
            config,
            velocity,
            step: 0,
            change: Change::default(),
        })
    }

    /// Continues a run from a checkpoint.
    ///
    /// # Errors
    /// As [`Flow::new`]; distributions of another problem, negative or not finite.
    pub fn resume(checkpoint: Checkpoint) -> Result<Self> {
        Self::resume_over(checkpoint, Arc::new(Alone))
    }

    /// Continues a run over the ranks of a [`Transport`] from the checkpoint of a run on any number of ranks.
    ///
    /// # Errors
    /// As [`Flow::resume`] and [`Flow::over`].
    pub fn resume_over(mut checkpoint: Checkpoint, transport: Arc<dyn Transport>) -> Result<Self> {
        let distributions = take(&mut checkpoint.distributions);
        let config = &checkpoint.config;
        let expected = config.space.cells() * config.operator.grid.cells();
        if distributions.len() != expected {
            return Err(Error::invalid(
                "checkpoint",
                format!("{} values of another problem", distributions.len()),
                format!("{expected} values"),
            ));
        }
        let mut flow = Self::prepared(checkpoint, transport)?;
        flow.check(Extremes::of(&distributions))?;
        flow.engine
            .run(|engine| engine.restore(&distributions[engine.own()]))?;
        Ok(flow)
    }

    /// Continues a run over the ranks of a [`Transport`] from pieces of a checkpoint.
    ///
    /// `head` is [`checkpoint_head`](Self::checkpoint_head) of the run, on any number of ranks. `read` returns pieces that hold the cells of the given ranges, here those of this rank.
    ///
    /// # Errors
    /// As [`Flow::resume_over`]; those of `read`; pieces of another run.
    pub fn resume_parts(
        head: Checkpoint,
        transport: Arc<dyn Transport>,
        read: impl FnOnce(&[Range<usize>]) -> Result<Vec<CheckpointPart>>,
    ) -> Result<Self> {
        let nodes = head.config.operator.grid.cells();
        let mut flow = Self::prepared(head, transport)?;
        let wanted = [flow.own_cells()];
        let part = CheckpointPart::select(&read(&wanted)?, &wanted)?;
        let f = part.extra;
        let fits = part.populations.is_empty() && f.len() == nodes * wanted[0].len();
        if !fits || part.step != flow.step {
            return Err(Error::invalid(
                "checkpoint",
                format!("pieces of another problem at step {}", part.step),
                format!("{nodes} values of each cell at step {}", flow.step),
            ));
        }
        flow.check_everywhere(Extremes::of(&f))?;
        flow.engine.run(|engine| engine.restore(&f))?;
        Ok(flow)
    }

    /// The run of a checkpoint, without its distributions.
    fn prepared(head: Checkpoint, transport: Arc<dyn Transport>) -> Result<Self> {
        let change = Change::resume(head.looked, head.step, head.config.space.cells())?;
        let mut flow = Self::over(head.config, transport)?;
        (flow.step, flow.change) = (head.step, change);
        Ok(flow)
    }

    /// Everything that is needed to go on later to the same bits.
    ///
    /// # Errors
    /// A fault of the device.
    pub fn checkpoint(&mut self) -> Result<Checkpoint> {
        Ok(Checkpoint {
            distributions: self.state()?,
            ..self.checkpoint_head()
        })
    }

    /// The checkpoint without distributions, the same on all ranks.
    pub fn checkpoint_head(&self) -> Checkpoint {
        Checkpoint {
            config: self.config.clone(),
            step: self.step,
            distributions: Vec::new(),
            looked: self.change.looked().cloned(),
        }
    }

    /// The piece of the checkpoint that this rank has: the distributions of its own cells, as [`extra`](CheckpointPart::extra). No rank holds more than that.
    ///
    /// # Errors
    /// A fault of the device.
    pub fn checkpoint_part(&mut self) -> Result<CheckpointPart> {
        let f = self.engine.run(|engine| engine.distributions())?;
        Ok(CheckpointPart {
            step: self.step,
            ..CheckpointPart::new(self.own_cells(), Vec::new(), f, 0)?
        })
    }

    /// The cells of this rank, `[iy][ix]`.
    fn own_cells(&self) -> Range<usize> {
        match &self.cut {
            Some(cut) => cut.cells(),
            None => 0..self.config.space.cells(),
        }
    }

    /// The numbers of all ranks, one after the other.
    fn gather(&self, own: Vec<f64>) -> Result<Vec<f64>> {
        match &self.cut {
            Some(cut) => cut.gather(&own),
            None => Ok(own),
        }
    }

    /// The moments of all cells from those of this rank.
    fn gather_moments(&self, own: Vec<Moments>) -> Result<Vec<Moments>> {
        let Some(cut) = &self.cut else {
            return Ok(own);
        };
        let own: Vec<f64> = own.iter().flat_map(Moments::numbers).collect();
        let all = cut.gather(&own)?;
        let (all, rest) = all.as_chunks();
        if all.len() != self.config.space.cells() || !rest.is_empty() {
            return Err(Error::Numerical(
                "the ranks have different numbers of cells: all must run the same case".to_owned(),
            ));
        }
        Ok(all.iter().copied().map(Moments::from_numbers).collect())
    }

    /// Takes time steps.
    ///
    /// # Errors
    /// A fault of the device; distributions that are none any more.
    pub fn advance(&mut self, steps: u64) -> Result<()> {
        let mut left = steps;
        while left > 0 {
            let steps = self.engine.at_once().min(left);
            self.engine.run(|engine| engine.advance(steps))?;
            self.step += steps;
            left -= steps;
        }
        Ok(())
    }

    /// Takes the time steps that are left to a time, rounded to the nearest whole number of them.
    ///
    /// # Errors
    /// As [`Flow::advance`].
    pub fn run_until(&mut self, time: f64) -> Result<()> {
        self.advance(steps_between(self.time(), time, self.config.dt))
    }

    /// Moments of each cell, as [`Flow::look`] has them.
    ///
    /// # Errors
    /// A fault of the device.
    pub fn moments(&mut self) -> Result<Vec<Moments>> {
        Ok(self.look()?.moments)
    }

    /// The distributions after the collisions of the last step, `[cell][ix][iy][iz]`.
    ///
    /// # Errors
    /// A fault of the device.
    pub fn state(&mut self) -> Result<Vec<f64>> {
        let own = self.engine.run(|engine| engine.distributions())?;
        self.gather(own)
    }

    /// How fast the fields change, as [`Simulation::residual`](crate::bgk::Simulation::residual).
    ///
    /// # Errors
    /// A fault of the device; distributions that have become negative.
    pub fn residual(&mut self) -> Result<f64> {
        let words = self.engine.run(|engine| engine.sums())?;
        let (cells, _) = words.as_chunks();
        self.check_everywhere(Extremes::of_cells(cells))?;
        let own = cells.iter().flat_map(|cell| self.state_numbers(cell));
        let states = self.gather(own.collect())?;
        let (states, _) = states.as_chunks::<4>();
        let fields = [0, 1, 2, 3].map(|k| states.iter().map(|state| state[k]).collect());
        self.change.residual(fields, self.step, self.config.dt)
    }

    /// The exchange through the faces as `f` of this rank streams, and `f` after that.
    fn streamed<'a>(&self, f: &'a [f64]) -> Result<([FaceFlux; FACES], Cow<'a, [f64]>)> {
        let mut f = Cow::Borrowed(f);
        let mut faces = [FaceFlux::default(); FACES];
        let volume = self.config.operator.grid.volume();
        for (direction, pass) in self.passes.iter().enumerate() {
            let densities = pass.densities(&f);
            let ends = pass.exchange(&self.nodes, volume, self.config.dt, &f, &densities);
            for (face, of_lines) in faces[2 * direction..].iter_mut().zip(ends) {
                *face = self.mean(&of_lines)?;
            }
            if self.config.stepping == Stepping::Split {
                let ghosts = Cut::ghosts(self.cut.as_ref(), direction, &f)?;
                let mut shifted = vec![0.0; f.len()];
                pass.stream([&f, &ghosts], &densities, &mut shifted);
                f = Cow::Owned(shifted);
            }
        }
        Ok((faces, f))
    }

    /// The mean over the lines of all ranks, in their order: its bits do not depend on the ranks.
    fn mean(&self, of_lines: &[FaceFlux]) -> Result<FaceFlux> {
        let numbers = of_lines.iter().flat_map(FaceFlux::numbers).collect();
        let numbers = self.gather(numbers)?;
        let (lines, _) = numbers.as_chunks();
        let mut sum = FaceFlux::default();
        for line in lines {
            sum += FaceFlux::from_numbers(*line);
        }
        let count = lines.len().max(1) as f64;
        Ok(FaceFlux::from_numbers(
            sum.numbers().map(|number| number / count),
        ))
    }

    /// Moments, and what passes the faces.
    ///
    /// # Errors
    /// A fault of the device.
    pub fn look(&mut self) -> Result<Look> {
        let before = self.engine.run(|engine| engine.distributions())?;
        let mut moments = self.moments_of(&before);
        let states = |moments: &[Moments]| moments.iter().map(Moments::state).collect();
        if self.config.stepping == Stepping::Penalised {
            let (faces, _) = self.streamed(&before)?;
            let moments = self.gather_moments(moments)?;
            return Ok(Look {
                after: states(&moments),
                moments,
                faces,
            });
        }
        let (faces, streamed) = self.streamed(&before)?;
        let streamed = self.moments_of(&streamed);
        self.engine.run(|engine| engine.advance(1))?;
        let after = self.engine.run(|engine| engine.distributions())?;
        self.engine.run(|engine| engine.restore(&before))?;
        let after = self.moments_of(&after);
        let sides = streamed.iter().zip(&after);
        for (now, (streamed, after)) in moments.iter_mut().zip(sides) {
            let mean = |a: f64, b: f64| 0.5 * (a + b);
            // The trace of the pressure tensor goes with density and temperature.
            let pressure = |m: &Moments| 0.5 * m.density * m.temperature;
            let change = pressure(now) - mean(pressure(streamed), pressure(after));
            for (k, now) in now.pressure.iter_mut().enumerate() {
                *now = mean(streamed.pressure[k], after.pressure[k]);
            }
            now.pressure[0] += change;
            now.pressure[1] += change;
            for (k, now) in now.heat_flux.iter_mut().enumerate() {
                *now = mean(streamed.heat_flux[k], after.heat_flux[k]);
            }
        }
        Ok(Look {
            moments: self.gather_moments(moments)?,
            after: states(&self.gather_moments(after)?),
            faces,
        })
    }

    /// Density, velocity and temperature of a cell from its sums.
    fn state_numbers(&self, [mass, x, y, z, square, ..]: &[f64; CELL_WORDS as usize]) -> [f64; 4] {
        let volume = self.config.operator.grid.volume();
        let [x, y, z] = [x, y, z].map(|sum| sum / mass);
        // A component of the velocity has the variance T/2.
        let temperature = (square / mass - (x * x + y * y + z * z)) / 1.5;
        [volume * mass, self.config.drift + x, y, temperature]
    }

    /// [`check`](Self::check) of the distributions of all ranks, of which these are this rank's. All find the same.
    fn check_everywhere(&self, own: Extremes) -> Result<()> {
        let extremes = self.gather(own.numbers().to_vec())?;
        self.check(Extremes::together(&extremes))
    }

    /// Refuses distributions that are none: the fourth order leaves traces below zero in the tails, more is a step that is too long.
    fn check(&self, extremes: Extremes) -> Result<()> {
        let Extremes {
            least,
            largest,
            finite,
        } = extremes;
        let tolerated = self.config.operator.tolerated_negative() * largest;
        if finite && least >= -tolerated.max(1e-12 * largest) {
            return Ok(());
        }
        if self.step == 0 {
            return Err(Error::Numerical(format!(
                "the distribution is negative or not finite before the first step (least value {least:.2e}, largest {largest:.2e}); use more velocities or a wider velocity box"
            )));
        }
        Err(Error::Numerical(format!(
            "the distribution is negative or not finite after step {} (least value {least:.2e}, largest {largest:.2e}); use a smaller time step than {}, or more velocities",
            self.step, self.config.dt
        )))
    }

    fn moments_of(&self, f: &[f64]) -> Vec<Moments> {
        let (volume, velocity) = (self.config.operator.grid.volume(), &self.velocity);
        f.par_chunks_exact(self.config.operator.grid.cells())
            .map(|f| Moments::of(velocity, |node| volume * f[node]))
            .collect()
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
    pub fn config(&self) -> &FlowConfig {
        &self.config
    }
    /// The device in words.
    pub fn device(&self) -> String {
        match &self.cut {
            Some(cut) => format!("{} ranks, each {}", cut.ranks(), self.engine.describe()),
            None => self.engine.describe(),
        }
    }
}
