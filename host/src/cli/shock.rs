//! `rarefy shock`: the structure of a plane shock wave.

use std::path::Path;
use std::time::{Duration, Instant};

use clap::ArgMatches;
use serde::{Deserialize, Serialize};
use serde_json::json;

use super::failure::Failure;
use super::flow::{
    self, Counts, Course, DimensionalArgs, End, GasArgs, GasParameters, Interpolation, MarchArgs,
    OMEGA, Parameters, SiParameters,
};
use super::operator::{CORRECTIONS, METHODS};
use super::options::Common;
use super::output::{self, Transaction};
use super::plot::{COLOURS, Curve, Figure, Panel};
use super::record::OF_TIME;
use super::report::{Artefact, Report};
use super::steady;
use super::text::short;
use super::values::{count, degree, finite, named, positive};
use crate::bgk::boltzmann::{self, Collisions, Line, ShockStart, ShockWave};
use crate::bgk::steady::SteadyProblem;
use crate::bgk::{
    FaceFlux, Mach, Model, Moments, Shock, ShockProfile, Simulation, SimulationConfig, Space,
    State, Units,
};
use crate::collision::{CorrectionMethod, Method, Order, Scattering, Spectral};
use crate::compute::{Backend, Compute, Precision};
use crate::error::{Error, Result};

const EXAMPLES: &str = "\
Examples:
  rarefy shock --mach 3 --reduced                        the reduced velocity space: seconds on a CPU
  rarefy shock --mach 1.5 --model shakhov --reduced      with the Prandtl number of a monatomic gas
  rarefy shock --mach 3 --nx 1024 --velocities 32x28x28 --scheme upwind --out shock3
  rarefy shock --mach 3 --steady --upstream 80 --length 110  the steady wave directly, without steps in time
  rarefy shock --mach 1.5 --collision boltzmann --out hs15  hard spheres, by the collision integral itself
  rarefy shock --resume shock3/checkpoint.rarefy         go on where --checkpoint-every or Ctrl-C left it";

/// Compute the structure of a plane shock wave by the BGK or the Shakhov model, or by the Boltzmann equation
///
/// With --collision boltzmann molecules are variable hard spheres: hard spheres with --omega 0.5, which is then the default. It takes minutes on a CPU.
///
/// Units: velocity sqrt(2 R T1), time 1/nu1, length l0 = sqrt(2 R T1)/nu1 = 1.108 mean free paths of hard spheres, upstream density n1 and temperature
/// T1. Results go to --out, or to rarefy-out/shock if neither --out nor --json is given: profile.csv with x from where the density is half-way.
/// Ctrl-C saves a checkpoint.
#[derive(Clone, Debug, clap::Args)]
#[command(after_help = EXAMPLES)]
pub(super) struct ShockArgs {
    /// Mach number, above 1
    #[arg(long, value_name = "MA", default_value_t = 3.0, value_parser = finite)]
    mach: f64,
    /// Cells in space [default: ten for each l0, five with --collision boltzmann]
    #[arg(long, value_name = "N", value_parser = count)]
    nx: Option<u64>,
    /// What molecules do to each other: relax as --model says, or collide
    #[arg(long, default_value = "model", value_parser = named::<Collisions>(&["model", "boltzmann"]))]
    collision: Collisions,
    /// With --collision boltzmann: sums over the nodes, or the spectral method [default: fast]
    #[arg(long, value_parser = named::<Method>(&METHODS))]
    method: Option<Method>,
    /// With --method spectral: degree of the rule on the sphere, 5, 7, 9, 11, 15, 17 or 21 [default: 11 to 21, by the Mach number]
    #[arg(long, value_name = "DEGREE", value_parser = degree())]
    sphere: Option<u8>,
    /// With --collision boltzmann: order of the coefficients of the collision integral, 2 as published or 4 [default: 4]
    #[arg(long, value_name = "ORDER")]
    order: Option<Order>,
    /// With --collision boltzmann: what makes the collision integral conservative [default: balanced; paper for the spectral method]
    #[arg(long, value_parser = named::<CorrectionMethod>(&CORRECTIONS))]
    correction: Option<CorrectionMethod>,
    /// Length of the domain in l0 [default: 60, or 24 with --collision boltzmann, or --size in m]
    #[arg(long, value_name = "L", value_parser = positive, conflicts_with = "size")]
    length: Option<f64>,
    /// How much of it is upstream of the initial jump [default: two thirds, or seven twelfths with --collision boltzmann]
    #[arg(long, value_name = "L", value_parser = positive)]
    upstream: Option<f64>,
    /// Velocity nodes along x, and across, as 32x28x28 [default: steps of 0.55 sqrt(T1)]; one number with --collision boltzmann, for a cubic
    /// grid [default: steps of 0.5 sqrt(T1)]
    #[arg(long, value_name = "NXxNYxNZ")]
    velocities: Option<Counts>,
    /// Half-width of the velocity box about both mean velocities, in square roots of their temperatures [default: 4.5, or 3.2 with
    /// --collision boltzmann]
    #[arg(long, value_name = "C", value_parser = positive)]
    cut: Option<f64>,
    /// Integrate v_y and v_z out and keep two functions of v_x: the same result at a small part of the work
    #[arg(long)]
    reduced: bool,
    /// Solve for the steady wave directly, without steps in time or a stored distribution; --steps counts iterations, and the velocity
    /// space is reduced unless three numbers of --velocities say otherwise
    #[arg(long, conflicts_with_all = OF_TIME)]
    steady: bool,
    #[command(flatten)]
    si: DimensionalArgs,
    #[command(flatten)]
    gas: GasArgs,
    #[command(flatten)]
    march: MarchArgs,
    #[command(flatten)]
    common: Common,
}

/// The run in full, by the names of the flags: as `--config`, `run.json` runs it again.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
struct ShockParameters {
    mach: Mach,
    nx: usize,
    length: f64,
    upstream: f64,
    velocities: Counts,
    cut: f64,
    reduced: bool,
    #[serde(default)]
    steady: bool,
    #[serde(default)]
    collision: Collisions,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    method: Option<Method>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    sphere: Option<u8>,
    #[serde(skip_serializing_if = "Option::is_none")]
    order: Option<Order>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    correction: Option<CorrectionMethod>,
    #[serde(flatten)]
    si: SiParameters,
    #[serde(flatten)]
    gas: GasParameters,
    scheme: Interpolation,
    no_correction: bool,
    dt: f64,
    #[serde(flatten)]
    end: End,
    backend: Backend,
    precision: Precision,
}

/// Cells for each l0, unless told otherwise.
const CELLS: f64 = 10.0;
/// Step between velocity nodes in units of the upstream sqrt(T), unless told otherwise.
const SPACING: f64 = 0.55;
/// The same with the collision integral, whose cost is in the cells.
const BOLTZMANN_CELLS: f64 = 5.0;
/// Residual to which a run with the collision integral goes that is told no end.
const BOLTZMANN_RESIDUAL: f64 = 2e-5;
/// Steps within which its residual must halve.
const BOLTZMANN_PATIENCE: u64 = 600;
/// Half-width of the velocity box, unless told otherwise.
const CUT: f64 = 4.5;

impl ShockParameters {
    fn of(args: &ShockArgs) -> Result<Self> {
        if args.collision == Collisions::Boltzmann {
            return Self::of_boltzmann(args);
        }
        if args.order.is_some() {
            return Err(Error::input(
                "--order belongs to --collision boltzmann; the models have no coefficients",
            ));
        }
        for (flag, given) in [
            ("method", args.method.is_some()),
            ("sphere", args.sphere.is_some()),
        ] {
            if given {
                return Err(Error::input(format!(
                    "--{flag} belongs to --collision boltzmann; the models relax"
                )));
            }
        }
        if args.correction.is_some() {
            return Err(Error::input(
                "--correction belongs to --collision boltzmann; the models have --no-correction",
            ));
        }
        let mach = Mach::new(args.mach)?;
        let cut = args.cut.unwrap_or(CUT);
        let si = SiParameters::of(&args.si)?;
        let sized = si.resolve()?;
        let gas = GasParameters::of(&args.gas, sized.map_or(OMEGA, |(_, omega)| omega))?;
        let [length, upstream] = lengths(args, sized.map(|(size, _)| size), [60.0, 40.0])?;
        let along = Shock::new(args.mach)?.range(cut);
        let nodes = |width: f64| 2 * (0.5 * width / SPACING).ceil() as usize;
        let across = nodes(2.0 * cut * mach.downstream().temperature.sqrt());
        let counts = match &args.velocities {
            Some(Counts(counts)) => counts.clone(),
            None => vec![nodes(along[1] - along[0])],
        };
        let reduced = args.reduced || (args.steady && counts.len() < 3);
        let velocities = match (reduced, counts[..].to_vec()) {
            (true, counts) if counts.len() == 1 => counts,
            (true, counts) => {
                return Err(Error::input(format!(
                    "--velocities {} has nodes along y and z, which the reduced velocity space integrates out; give one number{}",
                    Counts(counts),
                    if args.steady && !args.reduced {
                        ", or three"
                    } else {
                        ""
                    }
                )));
            }
            (false, counts) if counts.len() == 1 => vec![counts[0], across, across],
            (false, counts) if counts.len() == 3 => counts,
            (false, _) => {
                return Err(Error::input(
                    "--velocities takes one number, or three as 32x28x28",
                ));
            }
        };
        // A relaxation frequency times the step of a fifth is what the accuracy of the tables in the documentation was measured with.
        let after = mach.downstream();
        let fastest = gas
            .gas()
            .relaxation_frequency(after.density, after.temperature);
        Ok(Self {
            mach,
            nx: match args.nx {
                Some(nx) => nx as usize,
                None => (CELLS * length).ceil() as usize,
            },
            length,
            upstream,
            velocities: Counts(velocities),
            cut,
            reduced,
            steady: args.steady,
            collision: args.collision,
            method: None,
            sphere: None,
            order: None,
            correction: None,
            si,
            gas,
            scheme: args.march.interpolation(args.steady)?,
            no_correction: args.march.no_correction,
            dt: args.march.dt.unwrap_or_else(|| (0.25 / fastest).min(0.05)),
            end: if args.steady {
                steady::end(&args.march, args.common.precision)
            } else {
                End::of(&args.march)
            },
            backend: args.common.backend,
            precision: args.common.precision,
        })
    }

    /// The same for the collision integral.
    fn of_boltzmann(args: &ShockArgs) -> Result<Self> {
        let refuse = |flag: &str| {
            Err(Error::input(format!(
                "{flag} belongs to the models; with --collision boltzmann leave it out"
            )))
        };
        if args.reduced {
            return refuse("--reduced");
        }
        if args.steady {
            return refuse("--steady");
        }
        if args.march.no_correction {
            return refuse("--no-correction");
        }
        if args.gas.model != Model::Bgk {
            return refuse("--model");
        }
        if args.gas.prandtl.is_some() {
            return refuse("--prandtl");
        }
        let spectral = args.method == Some(Method::Spectral);
        if spectral && args.order.is_some() {
            return Err(Error::input(
                "--order belongs to the sums over the nodes; the spectral method has --sphere",
            ));
        }
        if !spectral && args.sphere.is_some() {
            return Err(Error::input(
                "--sphere belongs to --method spectral; the sums over the nodes have --order",
            ));
        }
        let usual = if spectral {
            CorrectionMethod::Paper
        } else {
            CorrectionMethod::Balanced
        };
        let mach = Mach::new(args.mach)?;
        let cut = args.cut.unwrap_or(ShockWave::CUT);
        let si = SiParameters::of(&args.si)?;
        let sized = si.resolve()?;
        let gas = GasParameters::of(&args.gas, sized.map_or(0.5, |(_, omega)| omega))?;
        if !(0.5..=1.0).contains(&gas.omega) {
            return Err(Error::input(format!(
                "variable hard spheres have a viscosity exponent omega from 0.5 to 1; {} was given",
                gas.omega
            )));
        }
        let [length, upstream] = lengths(args, sized.map(|(size, _)| size), [24.0, 14.0])?;
        let velocities = match args.velocities.as_ref().map(|Counts(counts)| &counts[..]) {
            None => ShockWave::nodes(mach, cut),
            Some([n]) => *n,
            Some([x, y, z]) if x == y && y == z => *x,
            Some(_) => {
                return Err(Error::input(
                    "the collision integral needs a cubic velocity grid: --velocities takes one number, or three equal ones",
                ));
            }
        };
        Ok(Self {
            mach,
            nx: args
                .nx
                .map_or((BOLTZMANN_CELLS * length).ceil() as usize, |nx| nx as usize),
            length,
            upstream,
            velocities: Counts(vec![velocities; 3]),
            cut,
            reduced: false,
            steady: false,
            collision: args.collision,
            method: args.method,
            sphere: args.sphere,
            order: (!spectral).then(|| args.order.unwrap_or(Order::Fourth)),
            correction: Some(args.correction.unwrap_or(usual)),
            si,
            gas,
            scheme: args.march.interpolation(args.steady)?,
            no_correction: false,
            // Not a number until the grid's collision frequencies are known.
            dt: args.march.dt.unwrap_or(0.0),
            end: {
                let mut end = End::of(&args.march);
                if args.march.steps.is_none() && args.march.until_residual.is_none() {
                    end.until_residual = Some(BOLTZMANN_RESIDUAL);
                }
                end
            },
            backend: args.common.backend,
            precision: args.common.precision,
        })
    }

    /// The wave by the collision integral.
    fn wave(&self) -> ShockWave {
        ShockWave {
            mach: self.mach,
            cells: self.nx,
            sides: [self.upstream, self.length - self.upstream],
            velocities: self.velocities.0[0],
            cut: self.cut,
            scattering: match self.gas.omega {
                0.5 => Scattering::HardSphere,
                1.0 => Scattering::Maxwell,
                omega => Scattering::Vhs { omega },
            },
            method: self.method.unwrap_or_default(),
            order: self.order.unwrap_or(Order::Fourth),
            spectral: Spectral {
                degree: self.sphere,
                ..Spectral::default()
            },
            correction: self.correction.unwrap_or(CorrectionMethod::Paper),
            scheme: self.scheme.scheme(),
            dt: (self.dt > 0.0).then_some(self.dt),
            compute: Compute::new(self.backend).with_precision(self.precision),
        }
    }

    fn config(&self) -> Result<SimulationConfig> {
        Ok(SimulationConfig {
            scheme: self.scheme.scheme(),
            compute: Compute::new(self.backend).with_precision(self.precision),
            ..SimulationConfig::new(self.shock().problem()?, self.dt)
        })
    }

    fn shock(&self) -> Shock {
        Shock {
            mach: self.mach,
            cells: self.nx,
            sides: [self.upstream, self.length - self.upstream],
            velocities: self.velocities.0.clone(),
            cut: self.cut,
            gas: self.gas.gas(),
            conservative: !self.no_correction,
        }
    }
}

impl Parameters for ShockParameters {
    const COMMAND: &'static str = "shock";
    type Run = March;

    fn end(&mut self) -> &mut End {
        &mut self.end
    }

    fn begin(&self) -> Result<March> {
        Ok(match self.collision {
            Collisions::Model => March::Model(Simulation::new(self.config()?)?),
            Collisions::Boltzmann => {
                let (config, start) = self.wave().line()?;
                March::Boltzmann(Line::new(config)?, start)
            }
        })
    }

    fn resume(&self, saved: flow::Saved) -> Result<March> {
        Ok(match self.collision {
            Collisions::Model => March::Model(flow::resume_simulation(self.config()?, saved)?),
            Collisions::Boltzmann => {
                let (config, start) = self.wave().line()?;
                let checkpoint = boltzmann::Checkpoint {
                    config,
                    step: saved.step,
                    distributions: saved.populations,
                    looked: saved.looked,
                };
                March::Boltzmann(Line::resume(checkpoint)?, start)
            }
        })
    }
}

/// Length of the domain and of its upstream side.
fn lengths(args: &ShockArgs, size: Option<f64>, otherwise: [f64; 2]) -> Result<[f64; 2]> {
    let length = args.length.or(size).unwrap_or(otherwise[0]);
    let upstream = args
        .upstream
        .unwrap_or(length * (otherwise[1] / otherwise[0]));
    if upstream >= length {
        return Err(Error::input(format!(
            "the upstream side {upstream} must be shorter than the whole domain {length}"
        )));
    }
    Ok([length, upstream])
}

/// What solves for a shock in time.
enum March {
    Model(Simulation),
    Boltzmann(Line, ShockStart),
}

impl flow::Run for March {
    fn step(&self) -> u64 {
        match self {
            Self::Model(simulation) => simulation.steps_taken(),
            Self::Boltzmann(line, _) => line.steps_taken(),
        }
    }
    fn time(&self) -> f64 {
        match self {
            Self::Model(simulation) => simulation.time(),
            Self::Boltzmann(line, _) => line.time(),
        }
    }
    fn machine(&self) -> String {
        match self {
            Self::Model(simulation) => simulation.device(),
            Self::Boltzmann(line, _) => line.device(),
        }
    }
    fn advance(&mut self, steps: u64) -> Result<()> {
        match self {
            Self::Model(simulation) => simulation.advance(steps),
            Self::Boltzmann(line, _) => line.advance(steps),
        }
    }
    fn residual(&mut self) -> Result<f64> {
        match self {
            Self::Model(simulation) => simulation.residual(),
            Self::Boltzmann(line, _) => line.residual(),
        }
    }
    fn patience(&self) -> Option<u64> {
        match self {
            Self::Model(simulation) => flow::Run::patience(simulation),
            Self::Boltzmann(..) => Some(BOLTZMANN_PATIENCE),
        }
    }
    fn save(&mut self) -> Result<flow::Saved> {
        match self {
            Self::Model(simulation) => flow::Run::save(simulation),
            Self::Boltzmann(line, _) => {
                let checkpoint = line.checkpoint()?;
                Ok(flow::Saved {
                    step: checkpoint.step,
                    populations: checkpoint.distributions,
                    extra: Vec::new(),
                    looked: checkpoint.looked,
                })
            }
        }
    }
}

/// The line at the end of a run: moments of the cells, their states on both sides of a step, and what came in at the left in it.
struct Ended {
    moments: Vec<Moments>,
    before: Vec<State>,
    after: Vec<State>,
    left: FaceFlux,
}

impl March {
    fn end(&mut self) -> Result<Ended> {
        match self {
            Self::Model(simulation) => {
                let moments = simulation.moments()?;
                // One step more shows what passes each face; the moments are from before it.
                let before = simulation.states()?;
                simulation.advance(1)?;
                Ok(Ended {
                    moments,
                    before,
                    after: simulation.states()?,
                    left: simulation.face_fluxes()?[0],
                })
            }
            Self::Boltzmann(line, _) => {
                let look = line.look()?;
                Ok(Ended {
                    after: look.moments.iter().map(Moments::state).collect(),
                    moments: look.moments,
                    before: look.before,
                    left: look.left,
                })
            }
        }
    }
}

/// Whether a run goes on from the file that `--resume` names; none of its steps is taken.
#[cfg(test)]
pub(super) fn goes_on(args: &ShockArgs, given: &ArgMatches) -> bool {
    let path = args.march.resume.as_deref().unwrap_or(Path::new(""));
    ShockParameters::of(args)
        .and_then(|wanted| flow::resumed(path, &wanted, &args.march, given))
        .is_ok()
}

/// Runs the subcommand.
pub(super) fn run(args: &ShockArgs, given: &ArgMatches) -> std::result::Result<(), Failure> {
    let common = &args.common;
    let started = Instant::now();
    let wanted = ShockParameters::of(args)?;
    let steady = match &args.march.resume {
        Some(path) => flow::parameters_of::<ShockParameters>(path)?.steady,
        None => wanted.steady,
    };
    if steady {
        return run_steady(args, wanted, given, started);
    }
    let mut files = Transaction::default();
    let folder = flow::folder(&mut files, common, &args.march, "shock")?;
    let (mut parameters, start) = match &args.march.resume {
        None => (wanted.clone(), flow::fresh(&wanted)?),
        Some(path) => flow::resumed(path, &wanted, &args.march, given)?,
    };
    let shock = parameters.shock();
    let mut simulation = start.simulation;
    let mut report = Report::new("shock", &parameters, started);
    report.set("machine", flow::Run::machine(&simulation));
    let units = parameters.si.units()?;
    if let Some(units) = &units {
        report.set("units", units);
    }
    if let Some(warning) = start.warning {
        report.warn(warning);
    }
    let warnings = match &simulation {
        March::Model(_) => shock.warnings(),
        March::Boltzmann(line, start) => {
            // The step is known now; the record of the run has it.
            parameters.dt = line.config().dt;
            report.set("parameters", &parameters);
            report.set("boltzmann", start);
            parameters.wave().warnings(start)
        }
    };
    for warning in warnings {
        report.warn(warning);
    }
    report.time("setup", started.elapsed());
    let course = flow::drive(
        &parameters,
        &mut simulation,
        start.history,
        &mut files,
        folder.as_deref(),
        common,
        &mut report,
    )?;
    let space = Space::line(shock.cells, [-shock.sides[0], shock.sides[1]])?;
    let ended = simulation.end()?;
    let profile = ShockProfile::new(shock.mach, &space, &ended.moments)?;
    let rate = space.step(0) / parameters.dt;
    let passing = profile.face_fluxes(&ended.before, &ended.after, &ended.left, rate);
    let outcome = Outcome {
        parameters: &parameters,
        units,
        profile: &profile,
        passing,
        course: &course,
        machine: flow::Run::machine(&simulation),
    };
    outcome.report(&mut report);
    if let Some(folder) = &folder {
        outcome.stage(&mut report, &mut files, folder)?;
    }
    report.finish(files, folder.as_deref(), common, |total, folder| {
        outcome.summary(folder, total)
    })
}

/// Solves for the steady wave, and reports it as a run in time is.
fn run_steady(
    args: &ShockArgs,
    wanted: ShockParameters,
    given: &ArgMatches,
    started: Instant,
) -> std::result::Result<(), Failure> {
    let common = &args.common;
    let (parameters, from) = steady::reopened(wanted, &args.march, given)?;
    let parameters = &parameters;
    let shock = parameters.shock();
    let problem = shock.problem()?;
    let mut files = Transaction::default();
    let folder = flow::folder(&mut files, common, &args.march, "shock")?;
    let mut report = Report::new("shock", parameters, started);
    let units = parameters.si.units()?;
    if let Some(units) = &units {
        report.set("units", units);
    }
    for warning in shock.warnings() {
        report.warn(warning);
    }
    let config = steady::config(
        parameters.scheme,
        &parameters.end,
        parameters.precision,
        parameters.backend,
    );
    let run = steady::SteadyRun {
        parameters,
        files: &mut files,
        folder: folder.as_deref(),
        from,
        quiet: common.quiet,
    };
    let case = SteadyProblem::from(&problem);
    let (solution, course) = steady::solve(run, &case, &config, &mut report)?;
    let profile = ShockProfile::new(shock.mach, &problem.space, &solution.cells)?;
    let [left, right, ..] = solution.received();
    let entering = [left.mass, left.momentum[0], left.energy];
    let leaving = [-right.mass, -right.momentum[0], -right.energy];
    let (_, pointwise) = profile.fluxes();
    let ends: [f64; 3] = std::array::from_fn(|k| (leaving[k] / entering[k] - 1.0).abs());
    let outcome = Outcome {
        parameters,
        units,
        profile: &profile,
        // With diamond differences the moments of a cell are the means of those at its faces.
        passing: (
            std::array::from_fn(|k| 0.5 * (entering[k] + leaving[k])),
            match parameters.scheme {
                Interpolation::Upwind => ends,
                _ => pointwise,
            },
        ),
        course: &course,
        machine: solution.device.clone(),
    };
    outcome.report(&mut report);
    if let Some(folder) = &folder {
        outcome.stage(&mut report, &mut files, folder)?;
    }
    report.finish(files, folder.as_deref(), common, |total, folder| {
        outcome.summary(folder, total)
    })
}

struct Outcome<'a> {
    parameters: &'a ShockParameters,
    /// Of a case in SI units.
    units: Option<Units>,
    profile: &'a ShockProfile,
    /// Mass, momentum and energy through the faces: mean, and spread relative to it.
    passing: ([f64; 3], [f64; 3]),
    course: &'a Course,
    machine: String,
}

const FLUXES: [&str; 3] = ["mass", "momentum", "energy"];

impl Outcome<'_> {
    fn report(&self, report: &mut Report) {
        let named = |values: [f64; 3]| -> serde_json::Map<String, serde_json::Value> {
            FLUXES
                .iter()
                .zip(values)
                .map(|(name, value)| ((*name).to_owned(), json!(value)))
                .collect()
        };
        let (exact, pointwise) = self.profile.fluxes();
        let extremes = self.profile.extremes();
        let thickness = self.profile.thickness();
        report.set("course", self.course);
        let mut result = json!({
            "thickness": thickness,
            "thickness_mean_free_paths": thickness / MEAN_FREE_PATH,
            "inverse_thickness": MEAN_FREE_PATH / thickness,
            "midpoint": self.profile.midpoint,
            "least_heat_flux": extremes.least_heat_flux,
            "largest_temperature": extremes.largest_temperature,
            "upstream": self.parameters.mach.upstream(),
            "downstream": self.parameters.mach.downstream(),
        });
        if let Some(units) = &self.units {
            result["thickness_m"] = json!(thickness * units.length_m);
            result["least_heat_flux_w_m2"] = json!(extremes.least_heat_flux * units.heat_flux_w_m2);
            result["largest_temperature_k"] =
                json!(extremes.largest_temperature * units.temperature_k);
        }
        report.set("result", result);
        report.set(
            "conservation",
            json!({
                "exact_fluxes": named(exact),
                "fluxes": named(self.passing.0),
                "flux_spread": named(self.passing.1),
                "pointwise_flux_spread": named(pointwise),
            }),
        );
    }

    fn stage(&self, report: &mut Report, files: &mut Transaction, folder: &Path) -> Result<()> {
        let mut put =
            |name: &str, bytes: &dyn Artefact| report.stage(files, &folder.join(name), bytes);
        put("profile.csv", &self.profile_table()?)?;
        put(
            "history.csv",
            &flow::history_table(&self.course.history, self.units.as_ref())?,
        )?;
        put("profile.png", &self.plot().png()?)
    }

    /// The profile in the units of the solver, and beside it in SI units where the case was in these.
    fn profile_table(&self) -> Result<Vec<u8>> {
        let mut columns = vec![
            "x",
            "density",
            "velocity",
            "temperature",
            "pxx",
            "heat_flux",
        ];
        let scales = self.units.as_ref().map(|units| {
            columns.extend([
                "x_m",
                "density_kg_m3",
                "velocity_m_s",
                "temperature_k",
                "pxx_pa",
                "heat_flux_w_m2",
            ]);
            [
                units.length_m,
                units.density_kg_m3,
                units.velocity_m_s,
                units.temperature_k,
                units.pressure_pa,
                units.heat_flux_w_m2,
            ]
        });
        let rows = self.profile.points.iter().map(|p| {
            let values = [
                p.x,
                p.density,
                p.velocity,
                p.temperature,
                p.pxx,
                p.heat_flux,
            ];
            let si = scales.iter().flatten().zip(values);
            let si: Vec<f64> = si.map(|(scale, value)| scale * value).collect();
            values.into_iter().chain(si).collect::<Vec<f64>>()
        });
        output::table(&columns, rows)
    }

    fn title(&self) -> String {
        let p = self.parameters;
        format!(
            "Shock wave at Ma = {}, {}, {} cells × {} velocities",
            short(f64::from(p.mach)),
            match p.collision {
                Collisions::Model => p.gas.name().into(),
                Collisions::Boltzmann => format!("Boltzmann, {}", p.wave().scattering),
            },
            p.nx,
            p.velocities
        )
    }

    /// The profiles between the ends of the region in which something changes.
    fn plot(&self) -> Figure {
        let (before, after) = (
            self.parameters.mach.upstream(),
            self.parameters.mach.downstream(),
        );
        let reach = 4.0 * self.profile.thickness();
        let shown: Vec<_> = self
            .profile
            .points
            .iter()
            .filter(|p| p.x > -reach && p.x < 0.7 * reach)
            .collect();
        // Heat fluxes and positions of a case in SI units are in these.
        let (long, warm) = match &self.units {
            Some(units) => (units.length_m, units.heat_flux_w_m2),
            None => (1.0, 1.0),
        };
        let (x_label, q_label) = match &self.units {
            Some(_) => (
                "position x in m, from the density's midpoint",
                "heat flux q in W/m²",
            ),
            None => (
                "position x / l_0, from the density's midpoint",
                "q / (ρ_1 v_0³)",
            ),
        };
        let share = |of: &dyn Fn(&crate::bgk::ShockPoint) -> f64, a: f64, b: f64| {
            shown
                .iter()
                .map(|p| (long * p.x, (of(p) - a) / (b - a)))
                .collect::<Vec<_>>()
        };
        let curve = |label: &str, colour: usize, points| Curve::new(label, points, COLOURS[colour]);
        let panel = |y: &str, curves| Panel::new(x_label, y, curves);
        let q = shown
            .iter()
            .map(|p| (long * p.x, warm * p.heat_flux))
            .collect();
        Figure {
            title: self.title(),
            panels: vec![
                panel(
                    "share of the jump",
                    vec![
                        curve(
                            "density",
                            0,
                            share(&|p| p.density, before.density, after.density),
                        ),
                        curve(
                            "velocity",
                            2,
                            share(&|p| p.velocity, before.velocity[0], after.velocity[0]),
                        ),
                        curve(
                            "temperature",
                            1,
                            share(&|p| p.temperature, before.temperature, after.temperature),
                        ),
                    ],
                ),
                panel(q_label, vec![curve("heat flux", 3, q)]),
            ],
        }
    }

    fn summary(&self, folder: Option<&Path>, total: Duration) -> String {
        let p = self.parameters;
        let thickness = self.profile.thickness();
        let spread = self.passing.1.iter().fold(0.0, |a: f64, b| a.max(*b));
        let place = folder.map_or(String::new(), |f| {
            format!("\n  files         {}", f.display())
        });
        let course = if p.steady {
            format!(
                "iterations    {}, residual {:.2e}",
                self.course.steps, self.course.residual
            )
        } else {
            format!(
                "steps         {} of {:.4} to t = {:.2}, residual {:.2e}",
                self.course.steps, p.dt, self.course.time, self.course.residual
            )
        };
        let si = self.units.as_ref().map_or(String::new(), |units| {
            format!(
                "\n  in SI units   thickness {} m, l0 = {} m, T1 = {} K",
                short(thickness * units.length_m),
                short(units.length_m),
                short(units.temperature_k)
            )
        });
        format!(
            "{}\n  \
               domain        {} l0 upstream, {} downstream\n  \
               backend       {}, {}\n  \
               {course}\n  \
               thickness     {thickness:.4} l0 = {:.4} mean free paths; 1/thickness {:.4}{si}\n  \
               fluxes        constant to {spread:.1e}\n  \
               time          {:.2} s, {:.3} ns for a phase-space cell and step{place}",
            self.title(),
            short(p.upstream),
            short(p.length - p.upstream),
            self.machine,
            p.precision,
            thickness / MEAN_FREE_PATH,
            MEAN_FREE_PATH / thickness,
            total.as_secs_f64(),
            nanoseconds(p, self.course),
        )
    }
}

/// Mean free path of hard spheres in l0.
const MEAN_FREE_PATH: f64 = 0.902_703_333_676_410_1;

/// Time for one phase-space cell and step.
fn nanoseconds(p: &ShockParameters, course: &Course) -> f64 {
    let nodes: usize = p.velocities.0.iter().product();
    let nodes = if p.reduced { 2 * nodes } else { nodes };
    let (spent, steps) = course.spent;
    spent.as_secs_f64() * 1e9 / (steps.max(1) as f64 * (nodes * p.nx) as f64)
}
