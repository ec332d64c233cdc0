//! Gas between plates: what `rarefy couette` and `rarefy fourier` share.

use std::fmt;
use std::path::Path;
use std::str::FromStr;
use std::time::{Duration, Instant};

use plotters::style::RGBColor;
use serde::{Deserialize, Serialize};
use serde_json::{Map, Value, json};

use super::failure::Failure;
use super::flow::{self, DimensionalArgs, GasArgs, GasParameters};
use super::options::Common;
use super::output::{self, Transaction};
use super::plot::{COLOURS, Curve, Figure, Panel, Scale, Stroke};
use super::report::{Report, written_to};
use super::steady;
use super::text::{name_of, short};
use super::values::{count, finite, named, positive, whole};
use crate::bgk::steady::plates::{Drive, Resolution, free_molecular, plates};
use crate::bgk::steady::{Closure, Solution, SteadyConfig, SteadySolver};
use crate::bgk::{Gas, Units};
use crate::compute::Compute;
use crate::error::{Error, Result};

/// Flags of both commands, and in full what a record says of the run.
#[derive(Clone, Debug, Serialize, clap::Args)]
#[serde(rename_all = "kebab-case")]
pub(super) struct PlatesArgs {
    /// Distance of the plates in units of l0 = mu0 v0 / p0: the rarefaction parameter
    #[arg(long, value_name = "D", value_parser = positive, conflicts_with = "size")]
    delta: Option<f64>,
    /// Knudsen number; it sets --delta to (sqrt(pi)/2)/KN
    #[arg(long, value_name = "KN", value_parser = positive, conflicts_with_all = ["delta", "size"])]
    #[serde(skip)]
    kn: Option<f64>,
    /// Cells between the plates; they crowd towards them
    #[arg(long, value_name = "N", default_value = "200", value_parser = cells)]
    nx: usize,
    /// Velocities normal to the plates of either sign, and along them: a graded half-range Gauss rule and a Gauss rule
    #[arg(long, value_name = "N[xM]", default_value = "20x8")]
    velocities: Velocities,
    #[command(flatten)]
    #[serde(flatten)]
    si: DimensionalArgs,
    #[command(flatten)]
    #[serde(flatten)]
    gas: GasArgs,
    /// Accommodation coefficient of both plates, 0 to 1
    #[arg(long, value_name = "A", default_value_t = 1.0, value_parser = finite)]
    accommodation: f64,
    /// Solve the equation linearised about rest
    #[arg(long)]
    linear: bool,
    /// How what leaves a cell follows from what is in it: diamond (second order) or upwind (first order)
    #[arg(long, default_value = "diamond", value_parser = named::<Closure>(&["diamond", "upwind"]))]
    scheme: Closure,
    /// Stop when an iteration changes the fields by less than this share of their range [default: 1e-9 in f64, 1e-5 in f32]
    #[arg(long, value_name = "R", value_parser = positive)]
    until_residual: Option<f64>,
    /// Stop after so many iterations
    #[arg(long, value_name = "N", default_value = "1000", value_parser = count)]
    iterations: u64,
    #[command(flatten)]
    #[serde(flatten)]
    common: Common,
}

/// A number of cells between plates.
fn cells(text: &str) -> std::result::Result<usize, String> {
    whole(text, 4..=crate::bgk::steady::plates::MAX_CELLS)
}

/// The value of `--velocities`.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
#[serde(try_from = "String", into = "String")]
struct Velocities {
    normal: usize,
    tangential: usize,
}

impl FromStr for Velocities {
    type Err = Error;

    fn from_str(text: &str) -> Result<Self> {
        let (normal, tangential) = text.split_once('x').unwrap_or((text, "8"));
        match (normal.parse(), tangential.parse()) {
            (Ok(normal), Ok(tangential))
                if (3..=64).contains(&normal) && (3..=64).contains(&tangential) =>
            {
                Ok(Self { normal, tangential })
            }
            _ => Err(Error::input(
                "use N or NxM with whole numbers from 3 to 64, such as 20x8",
            )),
        }
    }
}

impl fmt::Display for Velocities {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}x{}", self.normal, self.tangential)
    }
}

impl TryFrom<String> for Velocities {
    type Error = Error;

    fn try_from(text: String) -> Result<Self> {
        text.parse()
    }
}

impl From<Velocities> for String {
    fn from(velocities: Velocities) -> Self {
        velocities.to_string()
    }
}

/// The run in full, by the names of the flags.
#[derive(Debug, Serialize)]
#[serde(rename_all = "kebab-case")]
struct Parameters {
    #[serde(skip_serializing_if = "Option::is_none")]
    u: Option<f64>,
    #[serde(skip_serializing_if = "Option::is_none")]
    temperature_difference: Option<f64>,
    #[serde(flatten)]
    plates: PlatesArgs,
}

/// Which of the two flows, with what it is called and compared with.
pub(super) struct Flow {
    pub(super) command: &'static str,
    pub(super) drive: Drive,
}

/// The fluxes between the plates and the gas at them, in the units of the tables: per p0 U/v0 or p0 v0 dT/T0, and per U or dT.
#[derive(Clone, Copy, Debug, PartialEq, Serialize)]
pub(super) struct Measured {
    pub(super) flux: f64,
    pub(super) wall: f64,
}

/// Converged values of the linearised BGK equation with full accommodation: delta, Pi, u_wall/U, Q, tau_wall/dT.
pub(super) const TABLE: [[f64; 5]; 3] = [
    [0.1, 0.522325, 0.07292, 0.527607, 0.06954],
    [1.0, 0.338925, 0.25186, 0.361563, 0.23978],
    [10.0, 0.083112, 0.4412, 0.09918, 0.4323],
];

/// Slip and jump coefficients of the BGK equation with full accommodation.
pub(super) const SLIP: f64 = 1.016_19;
pub(super) const JUMP: f64 = 1.302_72;

impl PlatesArgs {
    /// Refuses flags without effect, and returns them with the values of what they leave out, the rarefaction parameter and the gas. `drive` is the
    /// flag of what drives the flow, if it was given.
    fn resolved(&self, drive: Option<&str>) -> Result<(Self, f64, Gas)> {
        let si = DimensionalArgs::of(&self.si)?;
        let sized = si.resolve()?;
        let delta = self.delta.or(self.kn.map(flow::rarefaction));
        let delta = delta.or(sized.map(|(size, _)| size));
        let delta = delta.ok_or_else(|| Error::input("--delta or --kn is needed"))?;
        if self.linear && self.gas.exponent().is_some() {
            return Err(Error::input(
                "--molecules has no effect with --linear, whose gas is at its reference temperature everywhere; leave it out",
            ));
        }
        if let (true, Some(drive)) = (self.linear, drive) {
            return Err(Error::input(format!(
                "{drive} has no effect with --linear, whose results are per unit of it; leave it out"
            )));
        }
        let omega = sized.map_or(flow::OMEGA, |(_, omega)| omega);
        let gas = GasParameters::of(&self.gas, omega)?.gas();
        let mut full = self.clone();
        full.delta = Some(delta);
        full.gas.prandtl = Some(gas.prandtl);
        full.gas.omega = Some(gas.omega);
        full.until_residual = Some(self.config().tolerance());
        Ok((full, delta, gas))
    }

    /// The library's configuration.
    fn config(&self) -> SteadyConfig {
        SteadyConfig {
            closure: self.scheme,
            rtol: self.until_residual,
            iterations: usize::try_from(self.iterations).unwrap_or(usize::MAX),
            anderson_depth: steady::DEPTH,
            compute: Compute::new(self.common.backend).with_precision(self.common.precision),
        }
    }
}

impl Flow {
    fn strength(&self) -> f64 {
        match self.drive {
            Drive::Couette(u) => u,
            Drive::Fourier(dt) => dt,
        }
    }

    fn is_couette(&self) -> bool {
        matches!(self.drive, Drive::Couette(_))
    }

    fn names(&self) -> [&'static str; 2] {
        if self.is_couette() {
            ["Pi", "u_wall"]
        } else {
            ["Q", "tau_wall"]
        }
    }

    /// Flux and wall value of a solution, from the exchange at both plates.
    pub(super) fn measure(&self, solution: &Solution, strength: f64) -> Option<Measured> {
        let (left, right) = (solution.exchange[0].first()?, solution.exchange[1].first()?);
        // Stresses are in units of rho0 v0^2 and energy fluxes of rho0 v0^3; p0 is half of rho0 v0^2.
        Some(if self.is_couette() {
            Measured {
                flux: (left.shear - right.shear) / strength,
                wall: 0.5 * (right.velocity - left.velocity) / strength,
            }
        } else {
            Measured {
                flux: (right.heat - left.heat) / strength,
                wall: 0.5 * (left.temperature - right.temperature) / strength,
            }
        })
    }

    /// The table's row and the limits that hold for this delta.
    fn reference(&self, delta: f64, gas: &Gas, accommodation: f64) -> Map<String, Value> {
        let [flux, wall] = self.names();
        let mut map = Map::new();
        map.insert("free_molecular".into(), json!({ flux: free_molecular() }));
        if accommodation != 1.0 {
            map.clear();
        }
        if gas.effective_prandtl() != 1.0 || accommodation != 1.0 {
            return map;
        }
        let slip = if self.is_couette() {
            1.0 / (delta + 2.0 * SLIP)
        } else {
            1.25 / (delta + 2.0 * JUMP)
        };
        map.insert("slip_limit".into(), json!({ flux: slip }));
        if let Some(row) = TABLE.iter().find(|row| row[0] == delta) {
            let at = if self.is_couette() { 1 } else { 3 };
            map.insert("table".into(), json!({ flux: row[at], wall: row[at + 1] }));
        }
        map
    }
}

/// Runs one of the two commands.
pub(super) fn run(
    args: &PlatesArgs,
    flow: &Flow,
    drive: Option<&str>,
) -> std::result::Result<(), Failure> {
    let common = &args.common;
    let started = Instant::now();
    let (full, delta, gas) = args.resolved(drive)?;
    let config = args.config();
    let units = full.si.units()?;
    // The linear equation's solution is that per unit of the drive.
    let strength = if args.linear { 1.0 } else { flow.strength() };
    let drive = match flow.drive {
        Drive::Couette(_) => Drive::Couette(strength),
        Drive::Fourier(_) => Drive::Fourier(strength),
    };
    let resolution = Resolution {
        cells: args.nx,
        normal: args.velocities.normal,
        tangential: args.velocities.tangential,
    };
    let case = plates(
        delta,
        drive,
        gas,
        args.accommodation,
        resolution,
        args.linear,
    )?;
    let x = case.centres(0);
    let mut files = Transaction::default();
    let folder = common.results_folder(&mut files, flow.command)?;
    let parameters = Parameters {
        u: flow.is_couette().then_some(flow.strength()),
        temperature_difference: (!flow.is_couette()).then_some(flow.strength()),
        plates: full,
    };
    let mut report = Report::new(flow.command, &parameters, started);
    if let Some(units) = &units {
        report.set("units", units);
    }
    let mut solver = SteadySolver::new(case, &config)?;
    for warning in solver.case().warnings(config.closure) {
        report.warn(warning);
    }
    report.time("setup", started.elapsed());
    let iterating = Instant::now();
    steady::iterate(flow.command, &mut solver, config.tolerance(), common.quiet)?;
    report.time("iterations", iterating.elapsed());
    let solution = solver.solution()?;
    let Some(found) = flow.measure(&solution, strength) else {
        return Err(Error::Numerical("the plates exchanged nothing".into()).into());
    };
    let outcome = Outcome {
        flow,
        args: parameters.plates,
        delta,
        units,
        machine: solution.device.clone(),
        found,
        reference: flow.reference(delta, &gas, args.accommodation),
        solution,
        x,
    };
    outcome.report(&mut report);
    if let Some(folder) = &folder {
        outcome.stage(&mut report, &mut files, folder)?;
    }
    report.finish(files, folder.as_deref(), common, |total, folder| {
        outcome.summary(total) + &written_to(folder)
    })
}

/// A number to seven digits, and to seven decimals at least.
fn seven(value: f64) -> String {
    let leading = value.abs().log10().floor();
    let decimals = if leading.is_finite() {
        (6.0 - leading).clamp(7.0, 20.0)
    } else {
        7.0
    };
    format!("{value:.*}", decimals as usize)
}

struct Outcome<'a> {
    flow: &'a Flow,
    /// In full.
    args: PlatesArgs,
    delta: f64,
    /// Of a case in SI units.
    units: Option<Units>,
    machine: String,
    found: Measured,
    reference: Map<String, Value>,
    solution: Solution,
    x: Vec<f64>,
}

impl Outcome<'_> {
    fn report(&self, report: &mut Report) {
        let solution = &self.solution;
        let [flux, wall] = self.flow.names();
        let last = solution.residuals.last().copied();
        report.set("machine", &self.machine);
        report.set(flux, self.found.flux);
        report.set(wall, self.found.wall);
        if let Some((name, value)) = self.flux_si() {
            report.set(name, value);
        }
        report.set("reference", &self.reference);
        report.set("iteration_count", solution.residuals.len());
        report.set("residual", last);
        report.set(
            "plates",
            json!({ "left": solution.exchange[0], "right": solution.exchange[1] }),
        );
        report.set("conservation", self.conservation());
        steady::judge(
            report,
            solution,
            self.args.config().tolerance(),
            "--iterations",
        );
    }

    /// The stress in Pa or the heat flux in W/m^2 of a case in SI units.
    fn flux_si(&self) -> Option<(&'static str, f64)> {
        // The result of the linearised equation is that of no drive in particular.
        let units = self.units.as_ref().filter(|_| !self.args.linear)?;
        // The table's units have p0, and those of the moments rho0 v0^2 = 2 p0.
        let flux = 0.5 * self.found.flux * self.flow.strength();
        Some(if self.flow.is_couette() {
            ("stress_pa", flux * units.pressure_pa)
        } else {
            ("heat_flux_w_m2", flux * units.heat_flux_w_m2)
        })
    }

    /// The exchange of the plates that must vanish, and the variation of the fluxes through the gas.
    fn conservation(&self) -> Value {
        let solution = &self.solution;
        let flux = |m: &crate::bgk::Moments| {
            if self.flow.is_couette() {
                m.pressure[2]
            } else {
                m.heat_flux[0]
            }
        };
        let values = solution.cells.iter().map(flux);
        let (low, high) = values.fold((f64::INFINITY, f64::NEG_INFINITY), |(low, high), value| {
            (low.min(value), high.max(value))
        });
        let mass = solution.exchange.iter().flatten().map(|e| e.mass.abs());
        json!({
            "mass_through_plates": mass.fold(0.0, f64::max),
            "flux_spread": (high - low) / high.abs().max(low.abs()),
        })
    }

    fn stage(&self, report: &mut Report, files: &mut Transaction, folder: &Path) -> Result<()> {
        let mut columns = vec![
            "x",
            "density",
            "velocity",
            "temperature",
            "pxx",
            "pxy",
            "heat_flux",
        ];
        if !self.args.linear {
            columns.extend(["work", "energy_flux"]);
        }
        let units = self.units.as_ref().filter(|_| !self.args.linear);
        if units.is_some() {
            columns.extend([
                "x_m",
                "density_kg_m3",
                "velocity_m_s",
                "temperature_k",
                "pxy_pa",
                "heat_flux_w_m2",
            ]);
        }
        let rows = self.x.iter().zip(&self.solution.cells).map(|(x, m)| {
            let mut row = vec![
                *x,
                m.density,
                m.velocity[1],
                m.temperature,
                m.pressure[0],
                m.pressure[2],
                m.heat_flux[0],
            ];
            if !self.args.linear {
                let work = m.velocity[1] * m.pressure[2];
                row.extend([work, m.heat_flux[0] + work]);
            }
            if let Some(units) = units {
                row.extend([
                    x * units.length_m,
                    m.density * units.density_kg_m3,
                    m.velocity[1] * units.velocity_m_s,
                    m.temperature * units.temperature_k,
                    m.pressure[2] * units.pressure_pa,
                    m.heat_flux[0] * units.heat_flux_w_m2,
                ]);
            }
            row
        });
        report.stage(
            files,
            &folder.join("profile.csv"),
            &output::table(&columns, rows)?,
        )?;
        let rows = self.solution.residuals.iter().enumerate();
        let rows = rows.map(|(k, residual)| (k + 1, *residual));
        let table = output::table(&["iteration", "residual"], rows)?;
        report.stage(files, &folder.join("residuals.csv"), &table)?;
        report.stage(
            files,
            &folder.join("profile.png"),
            &self.profile_plot().png()?,
        )?;
        report.stage(
            files,
            &folder.join("residuals.png"),
            &self.residual_plot().png()?,
        )
    }

    fn profile_plot(&self) -> Figure {
        let p = &self.args;
        let linear = p.linear;
        let curve = |label: &str, k: usize, value: &dyn Fn(&crate::bgk::Moments) -> f64| {
            Curve::new(
                label,
                (self.x.iter().zip(&self.solution.cells)).map(|(x, m)| (*x, value(m))),
                COLOURS[k],
            )
        };
        let panel = |y: &str, curves: Vec<Curve>| {
            Panel::new("distance from the middle x / l_0", y, curves)
                .reach((-0.5 * self.delta, 0.5 * self.delta))
        };
        let slope = self.reference_slope();
        let per = if self.flow.is_couette() { "U" } else { "dT" };
        let scaled = |y: &str| {
            if linear {
                format!("{y}, perturbation per {per}")
            } else {
                y.to_owned()
            }
        };
        let panels = if self.flow.is_couette() {
            let mut curves = vec![curve("u_y", 0, &|m| m.velocity[1])];
            curves.extend(slope);
            vec![
                panel(&scaled("velocity along the plates u_y / v_0"), curves),
                panel(
                    &scaled("shear stress P_{xy} / (2 p_0)"),
                    vec![curve("P_{xy}", 1, &|m| m.pressure[2])],
                ),
            ]
        } else {
            let mut curves = vec![curve("T", 0, &|m| m.temperature)];
            curves.extend(slope);
            vec![
                panel(&scaled("temperature T / T_0"), curves),
                panel(
                    &scaled("density n / n_0"),
                    vec![curve("n", 2, &|m| m.density)],
                ),
            ]
        };
        Figure {
            title: format!(
                "{} at delta = {}, {}",
                if self.flow.is_couette() {
                    "Couette flow"
                } else {
                    "Heat conduction"
                },
                short(self.delta),
                flow::model_name(p.gas.model)
            ),
            panels,
        }
    }

    /// The straight line from plate to plate, which holds without slip or jump.
    fn reference_slope(&self) -> Option<Curve> {
        let p = &self.args;
        let strength = if p.linear { 1.0 } else { self.flow.strength() };
        let middle = if p.linear || self.flow.is_couette() {
            0.0
        } else {
            1.0
        };
        let end = if self.flow.is_couette() { 0.5 } else { -0.5 } * strength;
        Some(
            Curve::new(
                if self.flow.is_couette() {
                    "no slip"
                } else {
                    "no jump"
                },
                vec![
                    (-0.5 * self.delta, middle - end),
                    (0.5 * self.delta, middle + end),
                ],
                RGBColor(120, 120, 120),
            )
            .stroke(Stroke::Dashed),
        )
    }

    fn residual_plot(&self) -> Figure {
        let residuals = self.solution.residuals.iter().enumerate();
        Figure {
            title: format!("Convergence at delta = {}", short(self.delta)),
            panels: vec![
                Panel::new(
                    "iteration",
                    "largest change of an unknown / range of the fields",
                    vec![
                        Curve::new(
                            "residual",
                            residuals.map(|(k, r)| ((k + 1) as f64, *r)),
                            COLOURS[0],
                        )
                        .stroke(Stroke::Dotted),
                    ],
                )
                .scale(Scale::Logarithmic),
            ],
        }
    }

    fn summary(&self, total: Duration) -> String {
        let p = &self.args;
        let solution = &self.solution;
        let (flow, flux, wall) = if self.flow.is_couette() {
            ("Couette flow", "Pi", "u_wall / U")
        } else {
            ("Heat conduction between plates", "Q", "tau_wall / dT")
        };
        let kind = if p.linear { "linearised " } else { "" };
        let mut lines = vec![
            format!(
                "{flow} at delta = {}: {kind}{} model",
                short(self.delta),
                name_of(&p.gas.model)
            ),
            format!(
                "  resolution    {} cells, {} velocities (half-range Gauss x Gauss), {} closure",
                p.nx,
                p.velocities,
                name_of(&p.scheme)
            ),
            format!(
                "  backend       {}, {}",
                self.machine,
                name_of(&p.common.precision)
            ),
            format!(
                "  iterations    {}, residual {:.1e} ({})",
                solution.residuals.len(),
                solution.residuals.last().copied().unwrap_or(f64::NAN),
                name_of(&solution.status)
            ),
            format!("  {flux:<14}{}", seven(self.found.flux)),
            format!("  {wall:<14}{:.6}", self.found.wall),
        ];
        if let Some((name, value)) = self.flux_si() {
            lines.push(format!("  {name:<14}{value:.6e}"));
        }
        let [flux_key, wall_key] = self.flow.names();
        if let Some(table) = self.reference.get("table") {
            lines.push(format!(
                "  converged     {flux_key} {}, {wall_key} {} (linearised BGK)",
                table[flux_key], table[wall_key]
            ));
        }
        if let Some(slip) = self
            .reference
            .get("slip_limit")
            .and_then(|s| s[flux_key].as_f64())
        {
            lines.push(format!("  slip limit    {}", seven(slip)));
        }
        if let Some(thin) = self
            .reference
            .get("free_molecular")
            .and_then(|s| s[flux_key].as_f64())
        {
            lines.push(format!("  collisionless {thin:.7}"));
        }
        lines.push(format!("  wall time     {:.3} s", total.as_secs_f64()));
        lines.join("\n")
    }
}
