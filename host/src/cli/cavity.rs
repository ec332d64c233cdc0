//! `rarefy cavity`: the flow in a square whose lid moves.

mod parameters;
mod results;

use clap::ArgMatches;
use serde_json::Value;

use super::failure::Failure;
use super::flow::{self, CollisionArgs, Flow, FlowArgs, Outcome, PreparedRun, Saved, SteadyCase};
use super::report::{Output, Report};
use super::steady;
use super::summary::Summary;
use super::verify::Verified;
use crate::accuracy::{Axis, EXTENT, Quantity, Setting};
use crate::bgk::boltzmann::check_room;
use crate::bgk::errors::axes_of_cavity;
use crate::bgk::steady::{Solution, SteadyProblem};
use crate::bgk::{Axis as VelocityAxis, March};
use crate::error::Result;
pub(super) use parameters::CavityArgs;
use results::Found;

impl Flow for CavityArgs {
    const COMMAND: &'static str = "cavity";
    type Found = Found;

    fn resolved(&self) -> Result<Self> {
        self.with_mode().in_full()
    }
    fn shared(&self) -> &FlowArgs {
        &self.shared
    }
    fn shared_mut(&mut self) -> &mut FlowArgs {
        &mut self.shared
    }
    fn collisions(&self) -> &CollisionArgs {
        &self.collisions
    }
    fn collisions_mut(&mut self) -> &mut CollisionArgs {
        &mut self.collisions
    }
    fn is_steady(&self) -> bool {
        self.steady
    }
    fn set_steady(&mut self, steady: bool) {
        self.steady = steady;
        self.shared.time_options.in_time = !steady;
    }
    fn with_mode(&self) -> Self {
        let mut chosen = self.clone();
        chosen.set_steady(self.shared.is_steady(self.steady || self.linear));
        chosen
    }

    fn check_in_time(&self) -> Result<()> {
        if self.collisions.is_boltzmann() {
            let config = self.flow_config()?;
            config.validate()?;
            return check_room(&config);
        }
        let config = self.config()?;
        config.validate()?;
        config.check_room()
    }

    fn begin(&self) -> Result<PreparedRun> {
        match self.collisions.is_boltzmann() {
            true => PreparedRun::integral(self.flow_config()?, None),
            false => PreparedRun::model(self.config()?),
        }
    }

    fn resume(&self, saved: Saved) -> Result<PreparedRun> {
        match self.collisions.is_boltzmann() {
            true => flow::resumed_integral(self.flow_config()?, saved, None),
            false => flow::resumed_model(self.config()?, saved),
        }
    }

    fn prepared(&mut self, begun: &PreparedRun, report: &mut Report) -> Result<()> {
        let cavity = self.cavity()?;
        let axis = cavity.axes.first().filter(|_| !cavity.is_at_rest());
        let flux = match self.collisions.is_boltzmann() {
            false => axis.and_then(VelocityAxis::wall_flux_warning),
            true => cavity.midpoint_warning(),
        };
        let scheme = self.shared.time_options.interpolation().scheme();
        let warnings = cavity.cell_warning().into_iter();
        let warnings = warnings.chain(cavity.width_warning(scheme));
        for warning in warnings.chain(cavity.ray_warning()).chain(flux) {
            report.warn(warning);
        }
        let March::Model(run) = &begun.run else {
            return Ok(());
        };
        let courant = run.config().courant();
        if courant > 1.001 {
            report.warn(format!(
                "the fastest molecules cross {courant:.3} cells in a time step; with walls the result is accurate up to 1: dt = {:.4e}",
                run.config().dt / courant
            ));
        }
        Ok(())
    }

    fn found(&self, run: &mut March) -> Result<Found> {
        let (moments, fluxes) = run.moments_and_fluxes()?;
        let cavity = self.cavity()?;
        Ok(Found {
            results: cavity.results(&moments, &fluxes[3]),
            cavity,
            moments,
            rotation: run.rotation()?,
            fluxes,
        })
    }

    fn case(&self) -> Result<SteadyCase> {
        let cavity = self.cavity()?;
        let warning = match self.polar() {
            Some([angles, _]) => cavity.ray_warning_of_directions(angles),
            None => cavity.ray_warning(),
        };
        let integral = self.collisions.is_boltzmann();
        let coarse = cavity.midpoint_warning().filter(|_| integral);
        Ok(SteadyCase {
            problem: self.steady_case()?,
            warnings: cavity
                .cell_warning()
                .into_iter()
                .chain(warning)
                .chain(coarse)
                .collect(),
            wave: None,
        })
    }

    fn found_steady(&self, case: &SteadyProblem, solution: &Solution) -> Result<Found> {
        let mut cells = solution.cells.clone();
        let closure = self.shared.time_options.interpolation().closure();
        let mut moments = solution.reconstructed(case, closure);
        let mut rotation = solution.reconstructed_rotation(case, closure);
        if self.linear {
            steady::total(&mut cells);
            steady::total(&mut moments);
            for own in &mut rotation {
                own.temperature_translational += 1.0;
                own.temperature_rotational += 1.0;
            }
        }
        let fluxes = solution.received();
        let cavity = self.cavity()?;
        Ok(Found {
            results: cavity.results(&cells, &fluxes[3]),
            cavity,
            moments,
            rotation,
            fluxes,
        })
    }

    fn axes(&self) -> Vec<Axis> {
        let polar = self.polar().is_some();
        axes_of_cavity(self.collisions.is_boltzmann(), polar, self.is_in_box())
    }

    fn grid(&self) -> Vec<usize> {
        let mut grid = vec![self.cells(), self.counts().first().copied().unwrap_or(0)];
        grid.extend(self.is_in_box().then_some(EXTENT));
        grid
    }

    fn settings(&self) -> Vec<(&'static str, Setting)> {
        let counts = [self.cells(), self.counts().first().copied().unwrap_or(0)];
        let [cells, velocities] = counts.map(Setting::Count);
        let mut settings = vec![("cells", cells), ("velocities", velocities)];
        let half = self.vmax.filter(|_| self.is_in_box());
        settings.extend(half.map(|half| ("vmax", Setting::Number(half))));
        settings
    }

    fn on(&self, grid: &[usize]) -> Result<Self> {
        let extent = grid.get(2).copied().unwrap_or(EXTENT);
        self.on_grid(grid[0], grid[1], extent)
    }

    fn quantities(&self, found: &Found) -> Vec<Quantity> {
        found.cavity.quantities(&found.results)
    }

    fn derive_errors(_: &Outcome<Self>, errors: &mut Verified) {
        errors.derive("D_wall", "D", 1.0);
    }

    fn unknowns(&self) -> usize {
        let nodes: usize = self.counts().iter().product();
        let functions = self.shared.gas.functions(self.reduced);
        let quadrants = if self.polar().is_some() { 4 } else { 1 };
        quadrants * functions * nodes * self.cells().pow(2)
    }

    fn record(outcome: &Outcome<Self>) -> (Value, Value) {
        outcome.record()
    }

    fn write(outcome: &Outcome<Self>, out: &mut Output) -> Result<()> {
        outcome.write(out)
    }

    fn summary(outcome: &Outcome<Self>) -> Summary {
        outcome.found_in_words()
    }
}

/// Runs the subcommand.
pub(super) fn run(args: &CavityArgs, given: &ArgMatches) -> std::result::Result<(), Failure> {
    flow::run(args, given)
}
