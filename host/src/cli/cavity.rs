//! `rarefy cavity`: the flow in a square whose lid moves.

use std::path::Path;
use std::time::{Duration, Instant};

use clap::ArgMatches;
use serde::{Deserialize, Serialize};
use serde_json::json;

use super::contour::contour;
use super::failure::Failure;
use super::flow::{
    self, Counts, Course, DimensionalArgs, End, GasArgs, GasParameters, Interpolation, MarchArgs,
    OMEGA, Parameters, SiParameters,
};
use super::npy;
use super::options::Common;
use super::output::{self, Transaction};
use plotters::style::RGBColor;

use super::plot::{COLOURS, Curve, Figure, Map, Panel, Stroke, round_levels};
use super::record::OF_TIME;
use super::report::{Artefact, Report};
use super::steady;
use super::text::name_of;
use super::text::short;
use super::values::{count, finite, named, positive};
use super::vti::Image;
use crate::bgk::steady::plates::LEAST_DRIVE;
use crate::bgk::steady::{Nodes, SteadyProblem};
use crate::bgk::{
    Axis, Cavity, CavityResults, FaceFlux, Moments, Simulation, SimulationConfig, Units,
};
use crate::compute::{Backend, Compute, Precision};
use crate::error::{Error, Result};

const EXAMPLES: &str = "\
Examples:
  rarefy cavity --delta 1 --cells 40 --reduced                the reduced velocity space: a minute on a CPU
  rarefy cavity --delta 10 --cells 160 --velocities 20x20x20 --scheme upwind --precision f32 --out cavity10
  rarefy cavity --delta 1 --cells 160 --steady --linear       the steady flow directly, without steps in time
  rarefy cavity --resume cavity10/checkpoint.rarefy       go on where --checkpoint-every or Ctrl-C left it";

/// Compute the flow in a square cavity whose lid moves
///
/// Units: velocity v0 = sqrt(2 R T0), length l0 = v0/nu0, pressure p0; delta is the side in l0, (sqrt(pi)/2)/Kn. The walls have the temperature of the gas at
/// rest. Results go to --out, or to rarefy-out/cavity if neither --out nor --json is given. Ctrl-C saves a checkpoint.
#[derive(Clone, Debug, clap::Args)]
#[command(after_help = EXAMPLES)]
pub(super) struct CavityArgs {
    /// Rarefaction parameter: the side of the square in units of l0 [default: 1, or --size in m]
    #[arg(long, value_name = "D", value_parser = finite, conflicts_with = "size")]
    delta: Option<f64>,
    /// Knudsen number; it sets --delta to (sqrt(pi)/2)/KN
    #[arg(long, value_name = "KN", value_parser = positive, conflicts_with_all = ["delta", "size"])]
    kn: Option<f64>,
    /// Cells along a side
    #[arg(long, value_name = "N", default_value_t = 80, value_parser = count)]
    n: u64,
    /// Velocity nodes along x, y and z, as 20x20x20 [default: 20x20x20, or 20x20 with --reduced]
    #[arg(long, value_name = "NXxNYxNZ")]
    velocities: Option<Counts>,
    /// Half-width of the velocity box of --quadrature midpoint, which this implies [default: 4.5]
    #[arg(long, value_name = "V", value_parser = positive)]
    vmax: Option<f64>,
    /// Integrate v_z out and keep two functions of v_x and v_y: the same result at a tenth of the work
    #[arg(long)]
    reduced: bool,
    /// Solve for the steady flow directly, without steps in time or a stored distribution; --steps counts iterations, and the velocity
    /// space is reduced
    #[arg(long, conflicts_with_all = OF_TIME)]
    steady: bool,
    /// With --steady: solve the equation linearised about rest
    #[arg(long, requires = "steady")]
    linear: bool,
    /// Velocity nodes: half-range Gauss rules along x and y, which wall fluxes want, or midpoints of a box; with --steady also directions and Gauss
    /// speeds (--velocities ANGLESxSPEEDS, angles of a quadrant) [default: half-range, or midpoint with --vmax, or polar with --steady]
    #[arg(long, value_name = "RULE", value_parser = named::<Quadrature>(&["polar", "half-range", "midpoint"]))]
    quadrature: Option<Quadrature>,
    /// Speed of the lid; the flow is linear in it to a thousandth up to 0.02
    #[arg(long, value_name = "U", default_value_t = 0.02, value_parser = finite)]
    lid: f64,
    /// Accommodation coefficient of the walls, 0 to 1: the share of diffuse reflections
    #[arg(long, value_name = "A", default_value_t = 1.0, value_parser = finite)]
    accommodation: f64,
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
struct CavityParameters {
    delta: f64,
    n: usize,
    velocities: Counts,
    vmax: f64,
    reduced: bool,
    #[serde(default)]
    steady: bool,
    #[serde(default)]
    linear: bool,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    quadrature: Option<Quadrature>,
    lid: f64,
    accommodation: f64,
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

/// How the velocities of the steady mode are chosen.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
enum Quadrature {
    Polar,
    HalfRange,
    Midpoint,
}

impl Quadrature {
    /// Numbers of nodes that make the error of the rule small against that of the cells: in thin gas the corners of the cavity are seen
    /// from afar, and many directions are needed.
    fn counts(self, delta: f64) -> Vec<usize> {
        match self {
            Self::Polar if delta < 0.5 => vec![60, 14],
            Self::Polar if delta < 5.0 => vec![48, 14],
            Self::Polar => vec![24, 12],
            Self::HalfRange => vec![24, 24],
            Self::Midpoint => vec![40, 40],
        }
    }
}

impl CavityParameters {
    /// Refuses a lid whose effect on a nonlinear flow is roundoff.
    fn check_drive(&self) -> Result<()> {
        if self.linear || self.lid == 0.0 || self.lid.abs() >= LEAST_DRIVE {
            return Ok(());
        }
        Err(Error::input(format!(
            "a lid at {:e} v0 is lost in the roundoff of a nonlinear flow; use at least {LEAST_DRIVE:e}, or --steady --linear",
            self.lid
        )))
    }

    fn of(args: &CavityArgs) -> Result<Self> {
        let reduced = args.reduced || args.steady;
        if args.steady && args.linear && args.gas.exponent().is_some() {
            return Err(Error::input(
                "--molecules has no effect with --linear, whose gas is at its reference temperature everywhere; leave it out",
            ));
        }
        let quadrature = args
            .quadrature
            .unwrap_or(match (args.steady, args.vmax.is_some()) {
                (_, true) => Quadrature::Midpoint,
                (true, false) => Quadrature::Polar,
                (false, false) => Quadrature::HalfRange,
            });
        if quadrature == Quadrature::Polar && !args.steady {
            return Err(Error::input(
                "--quadrature polar needs --steady; in time half-range and midpoint are there",
            ));
        }
        if let (Some(_), false) = (args.vmax, quadrature == Quadrature::Midpoint) {
            return Err(Error::input(format!(
                "--vmax is the box of --quadrature midpoint; the nodes of --quadrature {} have none: leave one of the two out",
                name_of(&quadrature)
            )));
        }
        let si = SiParameters::of(&args.si)?;
        let sized = si.resolve()?;
        let delta = match (args.delta.or(args.kn.map(flow::rarefaction)), sized) {
            (Some(delta), _) => delta,
            (None, Some((size, _))) => size,
            (None, None) => 1.0,
        };
        let counts = match (&args.velocities, args.steady) {
            (Some(Counts(counts)), _) => counts.clone(),
            (None, true) => quadrature.counts(delta),
            (None, false) => vec![20; if reduced { 2 } else { 3 }],
        };
        let velocities = match (reduced, counts.len()) {
            (true, 1) => vec![counts[0]; 2],
            (true, 2) => counts,
            (true, _) => {
                return Err(Error::input(format!(
                    "--velocities {} has nodes along z, which {} integrates out; give one number or two",
                    Counts(counts),
                    if args.steady { "--steady" } else { "--reduced" }
                )));
            }
            (false, 1) => vec![counts[0]; 3],
            (false, 3) => counts,
            (false, _) => {
                return Err(Error::input(
                    "--velocities takes one number, or three as 20x20x20; two need --reduced",
                ));
            }
        };
        if let (Quadrature::HalfRange, Some(odd)) = (
            quadrature,
            velocities.iter().take(2).find(|n| !n.is_multiple_of(2)),
        ) {
            return Err(Error::input(format!(
                "half-range rules have as many nodes on both sides of 0; --velocities needs even numbers along x and y, not {odd}"
            )));
        }
        let mut parameters = Self {
            delta,
            n: args.n as usize,
            velocities: Counts(velocities),
            vmax: args.vmax.unwrap_or(4.5),
            reduced,
            steady: args.steady,
            linear: args.linear,
            quadrature: Some(quadrature),
            lid: args.lid,
            accommodation: args.accommodation,
            si,
            gas: GasParameters::of(&args.gas, sized.map_or(OMEGA, |(_, omega)| omega))?,
            scheme: args.march.interpolation(args.steady)?,
            no_correction: args.march.no_correction,
            dt: 0.0,
            end: if args.steady {
                steady::end(&args.march, args.common.precision)
            } else {
                End::of(&args.march)
            },
            backend: args.common.backend,
            precision: args.common.precision,
        };
        parameters.dt = match args.march.dt {
            Some(dt) => dt,
            None => parameters.cavity()?.time_step(),
        };
        Ok(parameters)
    }

    fn cavity(&self) -> Result<Cavity> {
        self.check_drive()?;
        let axes = self
            .velocities
            .0
            .iter()
            .enumerate()
            .map(|(d, &n)| match self.quadrature {
                // Nothing streams along z.
                Some(Quadrature::HalfRange) if d == 2 => Axis::hermite(n),
                Some(Quadrature::HalfRange) => Axis::half_range(n / 2, 1),
                // The nodes of directions are not on axes; a box stands in for them where axes are asked for.
                Some(Quadrature::Polar) => Axis::uniform(32, -self.vmax, self.vmax),
                _ => Axis::uniform(n, -self.vmax, self.vmax),
            })
            .collect::<Result<_>>()?;
        Ok(Cavity {
            lid: self.lid,
            accommodation: self.accommodation,
            gas: self.gas.gas(),
            conservative: !self.no_correction,
            ..Cavity::with_axes(self.delta, self.n, axes)?
        })
    }
}

impl Parameters for CavityParameters {
    const COMMAND: &'static str = "cavity";
    type Run = Simulation;

    fn end(&mut self) -> &mut End {
        &mut self.end
    }

    fn begin(&self) -> Result<Simulation> {
        Simulation::new(self.config()?)
    }

    fn resume(&self, saved: flow::Saved) -> Result<Simulation> {
        flow::resume_simulation(self.config()?, saved)
    }
}

impl CavityParameters {
    fn config(&self) -> Result<SimulationConfig> {
        Ok(SimulationConfig {
            scheme: self.scheme.scheme(),
            relaxed: false,
            compute: Compute::new(self.backend).with_precision(self.precision),
            ..SimulationConfig::new(self.cavity()?.problem()?, self.dt)
        })
    }
}

/// Runs the subcommand.
pub(super) fn run(args: &CavityArgs, given: &ArgMatches) -> std::result::Result<(), Failure> {
    let common = &args.common;
    let started = Instant::now();
    let wanted = CavityParameters::of(args)?;
    let steady = match &args.march.resume {
        Some(path) => flow::parameters_of::<CavityParameters>(path)?.steady,
        None => wanted.steady,
    };
    if steady {
        return run_steady(args, wanted, given, started);
    }
    let mut files = Transaction::default();
    let folder = flow::folder(&mut files, common, &args.march, "cavity")?;
    let (parameters, start) = match &args.march.resume {
        None => (wanted.clone(), flow::fresh(&wanted)?),
        Some(path) => flow::resumed(path, &wanted, &args.march, given)?,
    };
    let cavity = parameters.cavity()?;
    let mut simulation = start.simulation;
    let mut report = Report::new("cavity", &parameters, started);
    report.set("machine", simulation.device());
    let units = parameters.si.units()?;
    if let Some(units) = &units {
        report.set("units", units);
    }
    for warning in start.warning.into_iter().chain(cavity.ray_warning()) {
        report.warn(warning);
    }
    let courant = simulation.config().courant();
    if courant > 1.001 {
        report.warn(format!(
            "the fastest molecules cross {courant:.3} cells in a time step; with walls the result is accurate up to 1: dt = {:.4e}",
            parameters.dt / courant
        ));
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
    let moments = simulation.moments()?;
    let fluxes = simulation.face_fluxes()?;
    let outcome = Outcome {
        parameters: &parameters,
        units,
        cavity: &cavity,
        results: cavity.results(&moments, &fluxes[3]),
        moments: &moments,
        fluxes,
        course: &course,
        machine: simulation.device(),
    };
    outcome.report(&mut report);
    if let Some(folder) = &folder {
        outcome.stage(&mut report, &mut files, folder)?;
    }
    report.finish(files, folder.as_deref(), common, |total, folder| {
        outcome.summary(folder, total)
    })
}

/// Solves for the steady flow, and reports it as a run in time is.
fn run_steady(
    args: &CavityArgs,
    wanted: CavityParameters,
    given: &ArgMatches,
    started: Instant,
) -> std::result::Result<(), Failure> {
    let common = &args.common;
    let (parameters, from) = steady::reopened(wanted, &args.march, given)?;
    let parameters = &parameters;
    let cavity = parameters.cavity()?;
    let mut case = SteadyProblem::from(&cavity.problem()?);
    if let (Some(Quadrature::Polar), [angles, speeds]) =
        (parameters.quadrature, &parameters.velocities.0[..])
    {
        case.nodes = Nodes::polar(*angles, *speeds)?;
    }
    case.linear = parameters.linear;
    let mut files = Transaction::default();
    let folder = flow::folder(&mut files, common, &args.march, "cavity")?;
    let mut report = Report::new("cavity", parameters, started);
    let units = parameters.si.units()?;
    if let Some(units) = &units {
        report.set("units", units);
    }
    let rays = match (parameters.quadrature, &parameters.velocities.0[..]) {
        (Some(Quadrature::Polar), [angles, ..]) => cavity.ray_warning_of_directions(*angles),
        _ => cavity.ray_warning(),
    };
    rays.into_iter().for_each(|warning| report.warn(warning));
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
    let (solution, course) = steady::solve(run, &case, &config, &mut report)?;
    let mut cells = solution.cells.clone();
    let mut moments = solution.reconstructed(&case, config.closure);
    if parameters.linear {
        steady::total(&mut cells);
        steady::total(&mut moments);
    }
    let fluxes = solution.received();
    let outcome = Outcome {
        parameters,
        units,
        cavity: &cavity,
        results: cavity.results(&cells, &fluxes[3]),
        moments: &moments,
        fluxes,
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
    parameters: &'a CavityParameters,
    /// Of a case in SI units.
    units: Option<Units>,
    cavity: &'a Cavity,
    results: CavityResults,
    moments: &'a [Moments],
    fluxes: [FaceFlux; 4],
    course: &'a Course,
    machine: String,
}

impl Outcome<'_> {
    fn report(&self, report: &mut Report) {
        let CavityResults {
            drag_wall,
            drag_cell,
            flow,
            centre,
        } = self.results;
        report.set("course", self.course);
        report.set(
            "result",
            json!({
                "D": drag_wall,
                "D_wall": drag_wall,
                "D_cell": drag_cell,
                "G": flow,
                "vortex_centre": centre / self.cavity.delta,
            }),
        );
        let cells = self.moments.len() as f64;
        let mass = self.moments.iter().map(|m| m.density).sum::<f64>() / cells;
        let [left, right, bottom, top] = self.fluxes;
        report.set(
            "conservation",
            json!({
                "mass_drift": mass - 1.0,
                "walls": { "left": left, "right": right, "bottom": bottom, "top": top },
            }),
        );
    }

    fn stage(&self, report: &mut Report, files: &mut Transaction, folder: &Path) -> Result<()> {
        let n = self.cavity.cells;
        let precision = self.parameters.precision;
        let mut put =
            |name: &str, bytes: &dyn Artefact| report.stage(files, &folder.join(name), bytes);
        let fields = self.fields(None);
        for (name, values) in &fields.scalars {
            put(
                &format!("{name}.npy"),
                &npy::encode(&[n, n], values, precision),
            )?;
        }
        let flat = |pairs: &[[f64; 3]]| -> Vec<f64> {
            pairs.iter().flat_map(|[x, y, _]| [*x, *y]).collect()
        };
        for (name, values) in &fields.vectors {
            put(
                &format!("{name}.npy"),
                &npy::encode(&[n, n, 2], &flat(values), precision),
            )?;
        }
        put("fields.vti", &fields.encode())?;
        if let Some(units) = &self.units {
            let fields = self.fields(Some(units));
            for (name, values) in &fields.scalars {
                put(
                    &format!("{name}.npy"),
                    &npy::encode(&[n, n], values, precision),
                )?;
            }
            for (name, values) in &fields.vectors {
                put(
                    &format!("{name}.npy"),
                    &npy::encode(&[n, n, 2], &flat(values), precision),
                )?;
            }
            put("fields_si.vti", &fields.encode())?;
        }
        let vertical = self.centre_line(self.cavity.vertical(self.moments));
        let horizontal = self.centre_line(self.cavity.horizontal(self.moments));
        put("vertical.csv", &self.line_table(["y", "ux"], &vertical)?)?;
        put(
            "horizontal.csv",
            &self.line_table(["x", "uy"], &horizontal)?,
        )?;
        put(
            "history.csv",
            &flow::history_table(&self.course.history, self.units.as_ref())?,
        )?;
        put(
            "profiles.png",
            &self.profile_plot(&vertical, &horizontal).png()?,
        )?;
        put("streamlines.png", &self.streamline_plot().png()?)?;
        put("temperature.png", &self.temperature_plot().png()?)
    }

    /// The fields of the cells, in SI units if these are given, under names that say so.
    fn fields(&self, units: Option<&Units>) -> Image<'static> {
        let [density, velocity, temperature, pressure, heat_flux, length] =
            units.map_or([1.0; 6], |units| {
                [
                    units.density_kg_m3,
                    units.velocity_m_s,
                    units.temperature_k,
                    units.pressure_pa,
                    units.heat_flux_w_m2,
                    units.length_m,
                ]
            });
        let named = |plain, si| if units.is_some() { si } else { plain };
        let scalar = |scale: f64, of: fn(&Moments) -> f64| -> Vec<f64> {
            self.moments.iter().map(|m| scale * of(m)).collect()
        };
        let vector = |scale: f64, of: fn(&Moments) -> [f64; 2]| -> Vec<[f64; 3]> {
            let values = self.moments.iter().map(of);
            values.map(|[x, y]| [scale * x, scale * y, 0.0]).collect()
        };
        let n = self.cavity.cells;
        Image {
            cells: [n, n],
            origin: [0.0; 2],
            spacing: [length * self.cavity.delta / n as f64; 2],
            scalars: vec![
                (
                    named("density", "density_kg_m3"),
                    scalar(density, |m| m.density),
                ),
                (
                    named("temperature", "temperature_k"),
                    scalar(temperature, |m| m.temperature),
                ),
                (named("pxx", "pxx_pa"), scalar(pressure, |m| m.pressure[0])),
                (named("pyy", "pyy_pa"), scalar(pressure, |m| m.pressure[1])),
                (named("pxy", "pxy_pa"), scalar(pressure, |m| m.pressure[2])),
            ],
            vectors: vec![
                (
                    named("velocity", "velocity_m_s"),
                    vector(velocity, |m| m.velocity),
                ),
                (
                    named("heat_flux", "heat_flux_w_m2"),
                    vector(heat_flux, |m| m.heat_flux),
                ),
            ],
        }
    }

    /// A centre line over its share of the side.
    fn centre_line(&self, (s, u): (Vec<f64>, Vec<f64>)) -> Vec<(f64, f64)> {
        let share = s.into_iter().map(|s| s / self.cavity.delta);
        share.zip(u).collect()
    }

    /// A centre line as a table, with metres and metres a second where the case was in SI units.
    fn line_table(&self, [place, speed]: [&str; 2], line: &[(f64, f64)]) -> Result<Vec<u8>> {
        let Some((long, fast)) = self.scales() else {
            return output::table(&[place, speed], line);
        };
        let columns = [place, speed, &format!("{place}_m"), &format!("{speed}_m_s")];
        let rows = line.iter().map(|(s, u)| (s, u, long * s, fast * u));
        output::table(&columns, rows)
    }

    /// The side in m and the speed of the lid in m/s.
    fn scales(&self) -> Option<(f64, f64)> {
        let units = self.units.as_ref()?;
        Some((
            units.length_m * self.cavity.delta,
            units.velocity_m_s * self.cavity.lid,
        ))
    }

    fn title(&self, what: &str) -> String {
        let p = self.parameters;
        format!(
            "{what}, δ = {}, {}, {} × {} cells, {} velocities",
            short(p.delta),
            p.gas.name(),
            p.n,
            p.n,
            p.velocities
        )
    }

    /// Velocities on the centre lines, in metres and metres a second where the case was in SI units.
    fn profile_plot(&self, vertical: &[(f64, f64)], horizontal: &[(f64, f64)]) -> Figure {
        let (long, fast) = self.scales().unwrap_or((1.0, 1.0));
        let [of_side, of_lid, side] = match self.units {
            Some(_) => [" in m", " in m/s", "L"],
            None => [" / δ", " / U", "δ"],
        };
        let panel = |place: &str, speed: &str, across: &str, colour: usize, line: &[(f64, f64)]| {
            let points = line.iter().map(|(s, u)| (long * s, fast * u));
            Panel::new(
                format!("{place}{of_side}"),
                format!("{speed}{of_lid}"),
                vec![Curve::new(
                    format!("at {across} = {side}/2"),
                    points,
                    COLOURS[colour],
                )],
            )
            .reach((0.0, long))
        };
        Figure {
            title: self.title("Velocity on the centre lines"),
            panels: vec![
                panel("height y", "u_x", "x", 0, vertical),
                panel("position x", "u_y", "y", 1, horizontal),
            ],
        }
    }

    /// A map of a field with streamlines on it.
    fn map(&self, what: &str, legend: &str, map: Map) -> Figure {
        let (long, axis) = match self.scales() {
            Some((side, _)) => (side, "in m"),
            None => (1.0, "/ δ"),
        };
        let stream = self.stream();
        let mut curves = Vec::new();
        for (level, _) in &stream.levels {
            let lines = contour(&stream.values, &self.centres(), &self.centres(), *level);
            curves.extend(lines.into_iter().map(|points| {
                Curve::new(&stream.label, points, RGBColor(20, 20, 20)).stroke(Stroke::Thin)
            }));
        }
        // One curve names all of them.
        curves
            .iter_mut()
            .skip(1)
            .for_each(|curve| curve.label.clear());
        Figure {
            title: self.title(what),
            panels: vec![
                Panel::new(format!("x {axis}"), format!("y {axis}"), curves)
                    .over(map, (0.0, long))
                    .legend(legend),
            ],
        }
    }

    /// Centres of the cells along a side, in shares of it or in metres.
    fn centres(&self) -> Vec<f64> {
        let n = self.cavity.cells;
        let long = self.scales().map_or(1.0, |(side, _)| side);
        let place = |i: usize| long * (i as f64 + 0.5) / n as f64;
        (0..n).map(place).collect()
    }

    /// The stream function, the mass that flows between the bottom and a point, and round levels of it.
    fn stream(&self) -> Stream {
        let n = self.cavity.cells;
        let (mass, unit) = match (&self.units, self.scales()) {
            (Some(units), Some((side, lid))) => (units.density_kg_m3 * lid * side, " kg/(m s)"),
            _ => (1.0, " n_0 U δ"),
        };
        let h = mass / n as f64;
        let mut values = vec![0.0; n * n];
        for ix in 0..n {
            let mut below = 0.0;
            for iy in 0..n {
                let m = &self.moments[iy * n + ix];
                let flux = h * m.density * m.velocity[0] / self.cavity.lid;
                values[iy * n + ix] = below + 0.5 * flux;
                below += flux;
            }
        }
        let levels = streamline_levels(&values);
        let label = match &levels[..] {
            [(_, first), (_, second), ..] => format!("ψ = {first}, {second}, …{unit}"),
            [(_, only)] => format!("ψ = {only}{unit}"),
            [] => String::new(),
        };
        Stream {
            values,
            levels,
            label,
        }
    }

    /// The speed of the gas, with streamlines.
    fn streamline_plot(&self) -> Figure {
        let (scale, legend) = match &self.units {
            Some(units) => (units.velocity_m_s, "speed |u| in m/s"),
            None => (1.0 / self.cavity.lid.abs(), "speed |u| / U"),
        };
        let speeds = self
            .moments
            .iter()
            .map(|m| scale * m.velocity[0].hypot(m.velocity[1]));
        let map = Map::new(&self.centres(), speeds.collect(), 10.0);
        self.map("Speed and streamlines", legend, map)
    }

    fn temperature_plot(&self) -> Figure {
        let (scale, legend) = match &self.units {
            Some(units) => (units.temperature_k, "T \u{2212} T_0 in K"),
            None => (1.0 / self.cavity.lid.abs(), "(T/T_0 \u{2212} 1) v_0/U"),
        };
        let departures = self.moments.iter().map(|m| scale * (m.temperature - 1.0));
        let values: Vec<f64> = departures.collect();
        let mut sorted = values.clone();
        sorted.sort_by(f64::total_cmp);
        // Levels lie between the values that a hundredth of the cells is below or above: the corners are far out.
        let ends = [sorted[sorted.len() / 100], sorted[sorted.len() * 99 / 100]];
        let levels = round_levels(ends.into_iter(), 9.0);
        let map = Map::with_levels(&self.centres(), values, levels).signed();
        self.map("Temperature and streamlines", legend, map)
    }

    fn summary(&self, folder: Option<&Path>, total: Duration) -> String {
        let p = self.parameters;
        let r = self.results;
        let place = folder.map_or(String::new(), |f| {
            format!("\n  files         {}", f.display())
        });
        let (spent, steps) = self.course.spent;
        let nodes: usize = p.velocities.0.iter().product();
        let nodes = if p.reduced { 2 * nodes } else { nodes };
        let quadrants = if p.quadrature == Some(Quadrature::Polar) {
            4
        } else {
            1
        };
        let nodes = quadrants * nodes;
        let each = spent.as_secs_f64() * 1e9 / (steps.max(1) as f64 * (nodes * p.n * p.n) as f64);
        let course = if p.steady {
            format!(
                "iterations    {}, residual {:.2e}",
                self.course.steps, self.course.residual
            )
        } else {
            format!(
                "steps         {} of {:.3e} to t = {:.2}, residual {:.2e}",
                self.course.steps, p.dt, self.course.time, self.course.residual
            )
        };
        format!(
            "{}\n  \
               lid           U = {} v0\n  \
               backend       {}, {}\n  \
               {course}\n  \
               drag          D = {:.5} at the wall, {:.5} in the first row of cells\n  \
               flow rate     G = {:.5}, vortex centre at y/delta = {:.4}\n  \
               time          {:.2} s, {each:.3} ns for a phase-space cell and step{place}",
            self.title("Driven cavity"),
            short(p.lid),
            self.machine,
            p.precision,
            r.drag_wall,
            r.drag_cell,
            r.flow,
            r.centre / self.cavity.delta,
            total.as_secs_f64(),
        )
    }
}

/// A stream function on the cells, with its levels and their name in a legend.
struct Stream {
    values: Vec<f64>,
    levels: Vec<(f64, String)>,
    label: String,
}

/// Round levels of the stream function between 0 and its extreme: the least value of a vortex below the lid, and of a flow that has just begun, which does
/// not return yet, the largest.
fn streamline_levels(stream: &[f64]) -> Vec<(f64, String)> {
    let further = |extreme: f64, &value: &f64| {
        if value.abs() > extreme.abs() {
            value
        } else {
            extreme
        }
    };
    let extreme = stream.iter().fold(0.0, further);
    let mut levels = round_levels([0.0, extreme].into_iter(), 8.0);
    // From the walls inwards.
    levels.sort_by(|a, b| a.0.abs().total_cmp(&b.0.abs()));
    levels
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn streamlines_lie_within_the_flow_whichever_way_it_turns() {
        for (stream, extreme) in [([-0.1, -0.02, 0.003], -0.1), ([-1e-6, 0.01, 0.04], 0.04)] {
            let levels = streamline_levels(&stream);
            assert!(levels.len() > 3);
            for (level, _) in levels {
                assert_eq!(level.signum(), f64::signum(extreme));
                assert!(level.abs() < f64::abs(extreme));
                assert!((200.0 * level - (200.0 * level).round()).abs() < 1e-9);
            }
        }
        assert!(
            streamline_levels(&[0.0; 4])
                .iter()
                .all(|(level, _)| level.is_finite())
        );
    }
}
