//! `rarefy paper validate`: flows of the models whose converged results are known, computed and laid beside them.

mod models;
mod rarefaction;

use std::time::{Duration, Instant};

use serde::Serialize;

use crate::bgk::steady::plates::{Resolution, plates};
use crate::bgk::steady::{Closure, Nodes, Solution, SteadyConfig, SteadyProblem, solve};
use crate::bgk::{Cavity, Gas, Mach, Model, Shock, ShockProfile};
use crate::cli::failure::Failure;
use crate::cli::known::{self, CAVITIES, CENTRE_LINES, SHOCKS, TABLE};
use crate::cli::options::Common;
use crate::cli::plates::{Flow, Kind};
use crate::cli::plot::{COLOURS, Curve, Figure, Panel, Stroke};
use crate::cli::progress::Progress;
use crate::cli::report::Report;
use crate::cli::steady;
use crate::cli::text::name_of;
use crate::error::{Error, Result};

const EXAMPLES: &str = "\
Examples:
  rarefy paper validate --quick              coarse grids: within a percent, in seconds
  rarefy paper validate --out comparison     with tables and plots";

/// Compute flows of the BGK and Shakhov models whose results are known, and compare
///
/// Couette and Fourier flow between plates, lid-driven cavities and shock waves, by the steady mode, at every rarefaction. The known values are converged ones: Richardson
/// extrapolation of conservative finite volumes for shocks, the linearised equation with polar quadratures for cavities, and integral equations for
/// plates.
#[derive(Clone, Debug, Serialize, clap::Args)]
#[command(after_help = EXAMPLES)]
pub(super) struct ValidateArgs {
    /// Coarser grids
    #[arg(long)]
    quick: bool,
    #[command(flatten)]
    #[serde(flatten)]
    common: Common,
}

/// A point of a shock's profile, computed and known.
#[derive(Clone, Debug, Serialize)]
struct ProfileRow {
    mach: f64,
    model: Model,
    x: f64,
    density: f64,
    known_density: f64,
    temperature: f64,
    known_temperature: f64,
    heat_flux: f64,
    known_heat_flux: f64,
}

/// A shock, computed and known.
#[derive(Clone, Debug, Serialize)]
struct ShockRow {
    mach: f64,
    model: Model,
    thickness: f64,
    known_thickness: f64,
    least_heat_flux: f64,
    known_least_heat_flux: f64,
    /// Largest difference of the shares of the density and temperature jumps.
    largest_difference: f64,
    flux_spread: f64,
    iterations: usize,
}

/// A cavity, computed and known.
#[derive(Clone, Debug, Serialize)]
struct CavityRow {
    delta: f64,
    drag: f64,
    known_drag: f64,
    drag_first_row: f64,
    flow: f64,
    known_flow: f64,
    vortex_centre: f64,
    known_vortex_centre: f64,
    iterations: usize,
}

/// A point of a cavity's vertical centre line, computed and known.
#[derive(Clone, Copy, Debug, Serialize)]
struct LineRow {
    delta: f64,
    y: f64,
    ux: f64,
    known_ux: f64,
}

/// Flows between plates, computed and known.
#[derive(Clone, Debug, Serialize)]
struct PlatesRow {
    delta: f64,
    stress: f64,
    known_stress: f64,
    wall_velocity: f64,
    known_wall_velocity: f64,
    heat_flux: f64,
    known_heat_flux: f64,
    wall_temperature: f64,
    known_wall_temperature: f64,
}

/// All that was computed.
#[derive(Default)]
struct Results {
    plates: Vec<PlatesRow>,
    cavities: Vec<CavityRow>,
    centre_lines: Vec<LineRow>,
    /// u_x/U over y/delta, for each cavity.
    curves: Vec<Vec<(f64, f64)>>,
    shocks: Vec<ShockRow>,
    rarefaction: Vec<rarefaction::RarefactionRow>,
    models: Vec<models::ModelsRow>,
    profiles: Vec<ProfileRow>,
    /// Shares of the density and temperature jumps over x, for each shock.
    shares: Vec<[Vec<(f64, f64)>; 2]>,
}

/// Runs the command.
pub(super) fn run(args: &ValidateArgs) -> std::result::Result<(), Failure> {
    let common = &args.common;
    let begun = Instant::now();
    let mut report = Report::new("paper validate", args, common, begun);
    report.open()?;
    let mut progress = Progress::new("validate", common.quiet);
    let mut results = Results::default();
    let count = (TABLE.len() + CAVITIES.len() + SHOCKS.len() + 3) as f64;
    let mut machine = String::new();
    let mut done = 0.0;
    let mut show = |what: &str| {
        progress.update(done / count, || what.to_owned());
        done += 1.0;
    };
    for row in TABLE {
        show("plates");
        machine = results.add_plates(row, args, &mut report)?;
    }
    for row in CAVITIES {
        show("cavities");
        results.add_cavity(row, args, &mut report)?;
    }
    for row in SHOCKS {
        show("shock waves");
        results.add_shock(row, args, &mut report)?;
    }
    show("rarefaction");
    results.rarefaction = rarefaction::rows(args.quick, &config(args))?;
    let unsteady = results
        .rarefaction
        .iter()
        .filter(|row| !row.is_done())
        .count();
    if unsteady > 0 {
        report.not_converged(format!(
            "{unsteady} of the flows over the range of rarefaction"
        ));
    }
    show("models");
    results.models = models::rows(args.quick, &config(args))?;
    progress.finish();
    report.set("machine", &machine);
    report.set("plates", &results.plates);
    report.set("cavities", &results.cavities);
    report.set("centre_lines", &results.centre_lines);
    report.set("shocks", &results.shocks);
    report.set("rarefaction", &results.rarefaction);
    report.set("models", &results.models);
    report.write(|out| {
        out.records("plates.csv", &results.plates)?;
        out.records("cavities.csv", &results.cavities)?;
        out.records("centre_lines.csv", &results.centre_lines)?;
        out.records("shocks.csv", &results.shocks)?;
        out.records("profiles.csv", &results.profiles)?;
        out.records("rarefaction.csv", &results.rarefaction)?;
        out.records("models.csv", &results.models)?;
        out.plot("centre_lines.png", results.lines_figure());
        out.plot("shocks.png", results.shocks_figure());
        out.plot("models.png", models::figure(&results.models));
        Ok(())
    })?;
    report.finish(|total| results.summary(&machine, total))
}

/// Solves a case, and reports an iteration that has not converged.
fn checked(
    case: &SteadyProblem,
    config: &SteadyConfig,
    what: &str,
    report: &mut Report,
) -> Result<Solution> {
    let solution = solve(case, config)?;
    if !solution.status.is_done() {
        report.not_converged(format!(
            "{what}: the residual {:.1e} was reached, not {:.1e}",
            solution.residuals.last().copied().unwrap_or(f64::NAN),
            config.tolerance()
        ));
    }
    Ok(solution)
}

fn config(args: &ValidateArgs) -> SteadyConfig {
    SteadyConfig {
        closure: Closure::Diamond,
        anderson_depth: SteadyConfig::DEPTH,
        compute: args.common.compute(),
        ..SteadyConfig::default()
    }
}

impl Results {
    fn add_plates(
        &mut self,
        [
            delta,
            known_stress,
            known_wall_velocity,
            known_heat_flux,
            known_wall_temperature,
        ]: [f64; 5],
        args: &ValidateArgs,
        report: &mut Report,
    ) -> Result<String> {
        let resolution = if args.quick {
            Resolution {
                cells: 50,
                normal: 12,
                ..Resolution::default()
            }
        } else {
            Resolution::default()
        };
        let mut machine = String::new();
        let mut measured = [(0.0, 0.0); 2];
        for (kind, measured) in [Kind::Couette, Kind::Fourier]
            .into_iter()
            .zip(&mut measured)
        {
            let flow = Flow {
                kind,
                strength: 1.0,
            };
            let gas = Gas::default();
            let case = plates(delta, flow.drive(), gas, 1.0, resolution, true)?;
            let what = format!("{} flow at delta = {delta}", flow.command());
            let solution = checked(&case, &config(args), &what, report)?;
            let found = flow
                .measure(&solution, None)
                .ok_or_else(|| Error::Numerical("the plates exchanged nothing".into()))?;
            *measured = (found.flux, found.wall);
            machine = solution.device;
        }
        let [(stress, wall_velocity), (heat_flux, wall_temperature)] = measured;
        self.plates.push(PlatesRow {
            delta,
            stress,
            known_stress,
            wall_velocity,
            known_wall_velocity,
            heat_flux,
            known_heat_flux,
            wall_temperature,
            known_wall_temperature,
        });
        Ok(machine)
    }

    fn add_cavity(
        &mut self,
        [delta, known_drag, known_flow, known_vortex_centre]: [f64; 4],
        args: &ValidateArgs,
        report: &mut Report,
    ) -> Result<()> {
        let (cells, angles, speeds) = if args.quick {
            (40, 24, 10)
        } else {
            (80, 60, 14)
        };
        let cavity = Cavity::new(delta, cells, &[8, 8])?;
        let mut case = SteadyProblem::from(&cavity.problem()?);
        case.nodes = Nodes::polar(angles, speeds)?;
        case.linear = true;
        let what = format!("the cavity at delta = {delta}");
        let mut solution = checked(&case, &config(args), &what, report)?;
        steady::total(&mut solution.cells);
        let found = cavity.results(&solution.cells, &solution.received()[3]);
        self.cavities.push(CavityRow {
            delta,
            drag: found.drag_wall,
            known_drag,
            drag_first_row: found.drag_cell,
            flow: found.flow,
            known_flow,
            vortex_centre: found.centre / delta,
            known_vortex_centre,
            iterations: solution.residuals.len(),
        });
        let (y, u) = cavity.vertical(&solution.cells);
        let curve: Vec<(f64, f64)> = y.iter().map(|y| y / delta).zip(u).collect();
        let column = self.curves.len() + 1;
        for row in CENTRE_LINES {
            self.centre_lines.push(LineRow {
                delta,
                y: row[0],
                ux: interpolate(&curve, row[0]),
                known_ux: row[column],
            });
        }
        self.curves.push(curve);
        Ok(())
    }

    fn add_shock(
        &mut self,
        (mach, model, known_thickness, known_least_heat_flux): (f64, Model, f64, f64),
        args: &ValidateArgs,
        report: &mut Report,
    ) -> Result<()> {
        let (cells, sides) = if args.quick {
            (300, [40.0, 20.0])
        } else {
            (900, [60.0, 30.0])
        };
        let shock = Shock {
            cells,
            sides,
            velocities: vec![if mach < 2.0 { 32 } else { 52 }],
            gas: Gas {
                model,
                ..Gas::default()
            },
            ..Shock::new(mach)?
        };
        let problem = shock.problem()?;
        let what = format!("the shock wave at Ma = {mach}");
        let solution = checked(&SteadyProblem::from(&problem), &config(args), &what, report)?;
        let profile = ShockProfile::new(shock.mach, &problem.space, &solution.cells)?;
        let mut largest = 0.0_f64;
        for known in known::shock(mach, &shock.gas) {
            let [density, temperature, heat_flux] = profile.at(known.x);
            largest = largest
                .max((density - known.density).abs())
                .max((temperature - known.temperature).abs());
            self.profiles.push(ProfileRow {
                mach,
                model,
                x: known.x,
                density,
                known_density: known.density,
                temperature,
                known_temperature: known.temperature,
                heat_flux,
                known_heat_flux: known.heat_flux,
            });
        }
        self.shocks.push(ShockRow {
            mach,
            model,
            thickness: profile.thickness(),
            known_thickness,
            least_heat_flux: profile.extremes().least_heat_flux,
            known_least_heat_flux,
            largest_difference: largest,
            flux_spread: profile.fluxes().1.iter().fold(0.0, |a: f64, b| a.max(*b)),
            iterations: solution.residuals.len(),
        });
        let (before, after) = (Mach::new(mach)?.upstream(), Mach::new(mach)?.downstream());
        let shown = profile.points.iter().filter(|p| p.x.abs() <= 10.0);
        let share = |value: f64, low: f64, high: f64| (value - low) / (high - low);
        let [mut n, mut t] = [Vec::new(), Vec::new()];
        for p in shown {
            n.push((p.x, share(p.density, before.density, after.density)));
            t.push((
                p.x,
                share(p.temperature, before.temperature, after.temperature),
            ));
        }
        self.shares.push([n, t]);
        Ok(())
    }

    fn lines_figure(&self) -> Figure {
        let mut curves = Vec::new();
        for (k, (curve, [delta, ..])) in self.curves.iter().zip(CAVITIES).enumerate() {
            curves.push(Curve::new(
                format!("delta = {delta}"),
                curve.clone(),
                COLOURS[k],
            ));
            curves.push(
                Curve::new(
                    format!("delta = {delta}, known"),
                    CENTRE_LINES.iter().map(|row| (row[0], row[k + 1])),
                    COLOURS[k],
                )
                .stroke(Stroke::Points),
            );
        }
        Figure {
            title: "Lid-driven cavity: velocity on the vertical centre line".into(),
            panels: vec![Panel::new("height y / delta", "u_x / U", curves).reach((0.0, 1.0))],
        }
    }

    fn shocks_figure(&self) -> Figure {
        let panels = [1.5, 3.0]
            .into_iter()
            .map(|mach| {
                let mut curves = Vec::new();
                let mut colour = 0;
                for (row, shares) in self.shocks.iter().zip(&self.shares) {
                    if row.mach != mach {
                        continue;
                    }
                    for (k, what) in ["n", "T"].into_iter().enumerate() {
                        let known = self
                            .profiles
                            .iter()
                            .filter(|p| p.mach == mach && p.model == row.model);
                        curves.push(Curve::new(
                            format!("{what}, {}", name_of(&row.model)),
                            shares[k].clone(),
                            COLOURS[colour],
                        ));
                        curves.push(
                            Curve::new(
                                "",
                                known.map(|p| (p.x, [p.known_density, p.known_temperature][k])),
                                COLOURS[colour],
                            )
                            .stroke(Stroke::Points),
                        );
                        colour += 1;
                    }
                }
                Panel::new(
                    "position x / l_0, from the density's midpoint",
                    "share of the jump",
                    curves,
                )
                .legend(format!("Ma = {mach}, dots: known"))
            })
            .collect();
        Figure {
            title: "Shock waves of the BGK and Shakhov models, omega = 0.74".into(),
            panels,
        }
    }

    fn summary(&self, machine: &str, total: Duration) -> String {
        let mut lines = vec![format!(
            "Known results, and as computed here ({machine}, {:.1} s)",
            total.as_secs_f64()
        )];
        lines.push("\nPlates, linearised BGK: delta, Pi, u_wall/U, Q, tau_wall/dT, each computed and known".into());
        for p in &self.plates {
            lines.push(format!(
                "{:>6}  {:.6} {:.6}   {:.5} {:.5}   {:.6} {:.6}   {:.5} {:.5}",
                p.delta,
                p.stress,
                p.known_stress,
                p.wall_velocity,
                p.known_wall_velocity,
                p.heat_flux,
                p.known_heat_flux,
                p.wall_temperature,
                p.known_wall_temperature
            ));
        }
        lines.push("\nCavity, linearised BGK: delta, D, G, each computed and known; largest difference of u_x/U on the centre line".into());
        for c in &self.cavities {
            let off = self
                .centre_lines
                .iter()
                .filter(|row| row.delta == c.delta)
                .fold(0.0, |most: f64, row| {
                    most.max((row.ux - row.known_ux).abs())
                });
            lines.push(format!(
                "{:>6}  {:.5} {:.5}   {:.5} {:.5}   {off:.4}",
                c.delta, c.drag, c.known_drag, c.flow, c.known_flow
            ));
        }
        lines.push("\nSteady flows by rarefaction, or Mach number: iterations, status, change, spread of the fluxes, value".into());
        lines.extend(
            self.rarefaction
                .iter()
                .map(rarefaction::RarefactionRow::line),
        );
        lines.push("\nShock waves: Mach number, model, thickness, least heat flux, each computed and known; largest difference of density and temperature".into());
        for s in &self.shocks {
            lines.push(format!(
                "{:>6}  {:<8} {:.5} {:.5}   {:.5} {:.5}   {:.5}",
                s.mach,
                name_of(&s.model),
                s.thickness,
                s.known_thickness,
                s.least_heat_flux,
                s.known_least_heat_flux,
                s.largest_difference
            ));
        }
        lines.join("\n")
    }
}

/// Quadratic interpolation of points in ascending order.
fn interpolate(points: &[(f64, f64)], x: f64) -> f64 {
    let after = points.partition_point(|p| p.0 < x);
    let first = after.saturating_sub(2).min(points.len().saturating_sub(3));
    let three = &points[first..points.len().min(first + 3)];
    three
        .iter()
        .enumerate()
        .map(|(i, (xi, yi))| {
            let others = three.iter().enumerate().filter(|(j, _)| *j != i);
            others.fold(*yi, |value, (_, (xj, _))| value * (x - xj) / (xi - xj))
        })
        .sum()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn parabolas_are_interpolated_exactly() {
        let points: Vec<(f64, f64)> = (0..6)
            .map(|i| f64::from(i) * 0.3)
            .map(|x| (x, x * x - 1.0))
            .collect();
        for x in [0.0, 0.1, 0.71, 1.5] {
            assert!((interpolate(&points, x) - (x * x - 1.0)).abs() < 1e-14);
        }
    }
}
