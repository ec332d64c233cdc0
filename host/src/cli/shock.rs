//! `rarefy shock`: the structure of a plane shock wave.

mod parameters;
mod results;

use clap::ArgMatches;
use serde_json::Value;

use super::failure::Failure;
use super::flow::{self, CollisionArgs, Flow, FlowArgs, Outcome, PreparedRun, Saved, SteadyCase};
use super::report::{Output, Report};
use super::summary::Summary;
use super::verify::Verified;
use crate::accuracy::{Axis, EXTENT, Quantity, Setting};
use crate::bgk::boltzmann::check_room;
use crate::bgk::errors::axes_of_shock;
use crate::bgk::steady::{Solution, SteadyProblem};
use crate::bgk::{FaceFlux, March, Moments, RotatingMoments, Scheme, ShockProfile, State};
use crate::error::Result;
pub(super) use parameters::ShockArgs;
use results::Found;

/// The line at the end of a run: moments of the cells, their states on both sides of a step, and what came in at the left in it.
struct Ended {
    moments: Vec<Moments>,
    before: Vec<State>,
    after: Vec<State>,
    left: FaceFlux,
    rotation: Vec<RotatingMoments>,
}

impl Ended {
    fn of(run: &mut March) -> Result<Self> {
        match run {
            March::Model(simulation) => {
                let (moments, rotation) = (simulation.moments()?, simulation.rotation()?);
                // One step more shows what passes each face; the moments are from before it.
                let before = simulation.states()?;
                simulation.advance(1)?;
                Ok(Self {
                    moments,
                    before,
                    after: simulation.states()?,
                    left: simulation.face_fluxes()?[0],
                    rotation,
                })
            }
            March::Integral(flow) => {
                let look = flow.look()?;
                Ok(Self {
                    before: look.moments.iter().map(Moments::state).collect(),
                    moments: look.moments,
                    after: look.after,
                    left: look.faces[0],
                    rotation: Vec::new(),
                })
            }
        }
    }
}

impl Flow for ShockArgs {
    const COMMAND: &'static str = "shock";
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
        chosen.set_steady(self.shared.is_steady(self.steady));
        chosen
    }

    fn check_in_time(&self) -> Result<()> {
        if self.collisions.is_boltzmann() {
            let (config, _) = self.wave().line()?;
            config.validate()?;
            return check_room(&config);
        }
        let config = self.config()?;
        config.validate()?;
        config.check_room()
    }

    fn begin(&self) -> Result<PreparedRun> {
        if self.collisions.is_boltzmann() {
            let (config, start) = self.wave().line()?;
            return PreparedRun::integral(config, Some(start));
        }
        PreparedRun::model(self.config()?)
    }

    fn resume(&self, saved: Saved) -> Result<PreparedRun> {
        if self.collisions.is_boltzmann() {
            let (config, start) = self.wave().line()?;
            return flow::resumed_integral(config, saved, Some(start));
        }
        flow::resumed_model(self.config()?, saved)
    }

    fn prepared(&mut self, begun: &PreparedRun, report: &mut Report) -> Result<()> {
        let warnings = match &begun.wave {
            None => {
                let options = &self.shared.time_options;
                let time = options.steps.zip(options.dt);
                let shock = self.shock();
                let rays = time.and_then(|(steps, dt)| shock.ray_warning(steps as f64 * dt));
                let upwind = match options.interpolation().scheme() {
                    Scheme::Upwind => shock.upwind_warning(),
                    Scheme::VanLeer => None,
                };
                let warnings = shock.warnings().into_iter();
                warnings.chain(upwind).chain(rays).collect()
            }
            Some(start) => {
                self.shared.time_options.dt = Some(begun.run.time_step());
                report.set("boltzmann", start);
                self.wave().warnings(start)
            }
        };
        for warning in warnings {
            report.warn(warning);
        }
        Ok(())
    }

    fn found(&self, run: &mut March) -> Result<Found> {
        let space = self.space()?;
        let ended = Ended::of(run)?;
        let profile = ShockProfile::new(self.mach_of_gas(), &space, &ended.moments)?;
        let rate = space.step(0) / self.shared.time_options.dt.unwrap_or(f64::NAN);
        let (mean, spread) = profile.face_fluxes(&ended.before, &ended.after, &ended.left, rate);
        Ok(Found {
            profile,
            rotation: ended.rotation,
            fluxes: mean,
            spread,
        })
    }

    fn case(&self) -> Result<SteadyCase> {
        if self.collisions.is_boltzmann() {
            let wave = self.wave();
            let (config, start) = wave.line()?;
            return Ok(SteadyCase {
                problem: config.steady()?,
                warnings: wave.warnings(&start),
                wave: Some(start),
            });
        }
        let shock = self.shock();
        Ok(SteadyCase {
            problem: SteadyProblem::from(&shock.problem()?),
            warnings: shock.warnings(),
            wave: None,
        })
    }

    fn found_steady(&self, _: &SteadyProblem, solution: &Solution) -> Result<Found> {
        let profile = ShockProfile::new(self.mach_of_gas(), &self.space()?, &solution.cells)?;
        let [left, right, ..] = solution.received();
        let entering = [left.mass, left.momentum[0], left.energy];
        let leaving = [-right.mass, -right.momentum[0], -right.energy];
        let (_, pointwise) = profile.fluxes();
        Ok(Found {
            // With diamond differences the moments of a cell are the means of those at its faces.
            spread: match self.shared.time_options.interpolation() {
                flow::Interpolation::Upwind => {
                    std::array::from_fn(|k| (leaving[k] / entering[k] - 1.0).abs())
                }
                _ => pointwise,
            },
            fluxes: std::array::from_fn(|k| 0.5 * (entering[k] + leaving[k])),
            rotation: solution.rotation.clone(),
            profile,
        })
    }

    fn axes(&self) -> Vec<Axis> {
        axes_of_shock(self.collisions.is_boltzmann())
    }

    fn grid(&self) -> Vec<usize> {
        let nodes = self.counts().first().copied().unwrap_or(0);
        vec![self.cells(), nodes, EXTENT, EXTENT]
    }

    fn settings(&self) -> Vec<(&'static str, Setting)> {
        let nodes = self.counts().first().copied().unwrap_or(0);
        vec![
            ("cells", Setting::Count(self.cells())),
            ("velocities", Setting::Count(nodes)),
            ("vmax", Setting::Number(self.cut())),
            ("length", Setting::Number(self.sides().iter().sum())),
        ]
    }

    fn on(&self, grid: &[usize]) -> Result<Self> {
        self.on_grid([grid[0], grid[1], grid[2], grid[3]])
    }

    fn quantities(&self, found: &Found) -> Vec<Quantity> {
        found.profile.quantities()
    }

    fn derive_errors(outcome: &Outcome<Self>, errors: &mut Verified) {
        outcome.derive(errors);
    }

    fn unknowns(&self) -> usize {
        let nodes: usize = self.counts().iter().product();
        let functions = self.shared.gas.functions(self.reduced);
        self.cells() * functions * nodes
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

/// Whether a run goes on from the file that `--resume` names; none of its steps is taken.
#[cfg(test)]
pub(super) fn goes_on(args: &ShockArgs, given: &ArgMatches) -> bool {
    let path = args.shared.time_options.resume.as_deref();
    let path = path.unwrap_or(std::path::Path::new(""));
    args.resolved()
        .is_ok_and(|wanted| flow::resumed(path, &wanted, &args.shared.time_options, given).is_ok())
}

/// Runs the subcommand.
pub(super) fn run(args: &ShockArgs, given: &ArgMatches) -> std::result::Result<(), Failure> {
    flow::run(args, given)
}
