//! A flow as the command sees it: options, solvers, results.

use std::time::Duration;

use serde::Serialize;
use serde::de::DeserializeOwned;
use serde_json::Value;

use super::arguments::{FlowArgs, SiArgs, TimeOptions};
use super::collisions::CollisionArgs;
use super::course::Course;
use crate::accuracy::{Axis, Quantity, Setting};
use crate::bgk::boltzmann::{self, FlowConfig, ShockStart};
use crate::bgk::steady::{Solution, SteadyProblem};
use crate::bgk::{CheckpointPart, FaceFlux, Looked, March, Simulation, SimulationConfig, Units};
use crate::cli::checkpoint::{Arrays, Stored};
use crate::cli::checkpoint_parts::Parts;
use crate::cli::options::Common;
use crate::cli::ranks;
use crate::cli::report::{Output, Report};
use crate::cli::summary::Summary;
use crate::cli::text::short;
use crate::cli::verify::Verified;
use crate::error::Result;

/// The state of a run for a checkpoint, and on several ranks that of this rank's cells, with whether mirror images are kept once.
pub(in crate::cli) struct Snapshot<'a> {
    pub(in crate::cli) arrays: Arrays<'a>,
    pub(in crate::cli) part: Option<(CheckpointPart, bool)>,
}

/// The part of a run in a checkpoint that it goes on from.
pub(in crate::cli) struct Saved {
    pub(in crate::cli) step: u64,
    pub(in crate::cli) state: SavedState,
    pub(in crate::cli) looked: Option<Looked>,
    /// Fluxes through the faces in the last step.
    pub(in crate::cli) faces: [FaceFlux; 4],
}

/// The state of the cells.
pub(in crate::cli) enum SavedState {
    /// In the checkpoint itself: populations, and further state of the backend.
    Whole(Stored<()>),
    /// In the files of several ranks.
    Parts(Parts),
}

/// A run in time that is about to begin or go on.
pub(in crate::cli) struct PreparedRun {
    pub(in crate::cli) run: March,
    /// Findings of the preparation of a wave by the collision integral.
    pub(in crate::cli) wave: Option<ShockStart>,
}

impl PreparedRun {
    /// A run of a relaxation model.
    pub(in crate::cli) fn model(config: SimulationConfig) -> Result<Self> {
        let run = Simulation::over(config, ranks::transport())?.into();
        Ok(Self { run, wave: None })
    }

    /// A run of the collision integral.
    pub(in crate::cli) fn integral(config: FlowConfig, wave: Option<ShockStart>) -> Result<Self> {
        let run = boltzmann::Flow::over(config, ranks::transport())?.into();
        Ok(Self { run, wave })
    }
}

/// A steady problem as a command prepares it.
pub(in crate::cli) struct SteadyCase {
    pub(in crate::cli) problem: SteadyProblem,
    /// Choices that cost accuracy.
    pub(in crate::cli) warnings: Vec<String>,
    /// Findings of the preparation of a wave by the collision integral.
    pub(in crate::cli) wave: Option<ShockStart>,
}

/// A command that solves for a flow, in time or for its steady state. Its arguments in full are its record, and what a checkpoint keeps.
pub(in crate::cli) trait Flow: Clone + Serialize + DeserializeOwned {
    /// Name of the subcommand.
    const COMMAND: &'static str;
    /// The results at its end.
    type Found;

    /// The arguments in full: with the values of what the flags leave out.
    fn resolved(&self) -> Result<Self>;
    /// The options that flows share.
    fn shared(&self) -> &FlowArgs;
    /// The same, to be renewed.
    fn shared_mut(&mut self) -> &mut FlowArgs;
    /// The options of every command.
    fn common(&self) -> &Common {
        &self.shared().common
    }
    /// The units of a case in SI units.
    fn si(&self) -> &SiArgs {
        &self.shared().si
    }
    /// The end of the run.
    fn time_options(&self) -> &TimeOptions {
        &self.shared().time_options
    }
    /// The same, to be renewed.
    fn time_options_mut(&mut self) -> &mut TimeOptions {
        &mut self.shared_mut().time_options
    }
    /// Whether the steady state is solved for directly.
    fn is_steady(&self) -> bool;
    /// Chooses that, or steps in time.
    fn set_steady(&mut self, steady: bool);
    /// The same with one of both chosen, by the flags.
    fn with_mode(&self) -> Self;
    /// Checks the problem of a run in time.
    fn check_in_time(&self) -> Result<()>;
    /// The run from its start.
    fn begin(&self) -> Result<PreparedRun>;
    /// The run from where it was saved.
    fn resume(&self, saved: Saved) -> Result<PreparedRun>;
    /// Adds to record and warnings what is known once the solver is there, and to the arguments in full.
    fn prepared(&mut self, begun: &PreparedRun, report: &mut Report) -> Result<()>;
    /// The results of a run in time.
    fn found(&self, run: &mut March) -> Result<Self::Found>;
    /// The choice of the collisions.
    fn collisions(&self) -> &CollisionArgs;
    /// The same, to be renewed.
    fn collisions_mut(&mut self) -> &mut CollisionArgs;
    /// The steady problem.
    fn case(&self) -> Result<SteadyCase>;
    /// The results of the steady state.
    fn found_steady(&self, case: &SteadyProblem, solution: &Solution) -> Result<Self::Found>;
    /// The axes of cells and velocities along which errors are estimated.
    fn axes(&self) -> Vec<Axis>;
    /// Cells and velocities, and the usual extents: a count for each of the axes.
    fn grid(&self) -> Vec<usize>;
    /// The settings of that grid, by their flags.
    fn settings(&self) -> Vec<(&'static str, Setting)>;
    /// The same flow on other cells and velocities; in time with steps that suit them.
    fn on(&self, grid: &[usize]) -> Result<Self>;
    /// The results whose errors are estimated.
    fn quantities(&self, found: &Self::Found) -> Vec<Quantity>;
    /// Adds the errors of further results, which follow from these.
    fn derive_errors(outcome: &Outcome<Self>, errors: &mut Verified);
    /// Phase-space cells, a function of a node counting as one.
    fn unknowns(&self) -> usize;
    /// The results and the residuals of the conservation laws, for the record.
    fn record(outcome: &Outcome<Self>) -> (Value, Value);
    /// Writes tables, arrays and plots.
    fn write(outcome: &Outcome<Self>, out: &mut Output) -> Result<()>;
    /// The summary up to the time that the run took.
    fn summary(outcome: &Outcome<Self>) -> Summary;
}

/// A finished run.
pub(in crate::cli) struct Outcome<F: Flow> {
    /// The arguments in full.
    pub(in crate::cli) flow: F,
    /// Of a case in SI units.
    pub(in crate::cli) units: Option<Units>,
    pub(in crate::cli) found: F::Found,
    pub(in crate::cli) course: Course,
    pub(in crate::cli) machine: String,
    /// Relative error that the iteration, or the end of a run in time, leaves.
    pub(in crate::cli) left: f64,
    /// Errors of the discretisation.
    pub(in crate::cli) errors: Verified,
}

impl<F: Flow> Outcome<F> {
    /// A summary's rows on the machine and on the way that the run went.
    pub(in crate::cli) fn on_the_way(&self, summary: Summary) -> Summary {
        let course = &self.course;
        let summary = summary.row(
            "backend",
            format!("{}, {}", self.machine, self.flow.common().precision),
        );
        if self.flow.is_steady() {
            let text = format!("{}, residual {:.2e}", course.steps, course.residual);
            return summary.row("iterations", text);
        }
        let text = format!(
            "{} of {} to t = {:.2}, residual {:.2e}",
            course.steps,
            short(self.flow.time_options().dt.unwrap_or(0.0)),
            course.time,
            course.residual
        );
        summary.row("steps", text)
    }

    /// The whole summary.
    pub(super) fn summary(&self, total: Duration) -> Summary {
        let (spent, steps) = self.course.spent;
        let updates = steps.max(1) as f64 * self.flow.unknowns() as f64;
        self.errors.rows(F::summary(self)).row(
            "time",
            format!(
                "{:.2} s, {:.3} ns for a phase-space cell and step",
                total.as_secs_f64(),
                spent.as_secs_f64() * 1e9 / updates
            ),
        )
    }
}
