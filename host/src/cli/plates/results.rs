//! Results of a flow between plates: record, tables, plots, summary.

use std::time::Duration;

use plotters::style::RGBColor;
use serde_json::{Map, Value, json};

use super::flow::{Flow, Kind, Measured};
use super::parameters::PlatesArgs;
use crate::bgk::steady::Solution;
use crate::bgk::{Moments, RotatingMoments, Units};
use crate::cli::output::{self, Quantity};
use crate::cli::plot::{COLOURS, Curve, Figure, Panel, Stroke};
use crate::cli::report::{Output, Report};
use crate::cli::rotation::{self, Rotates, recorded};
use crate::cli::steady;
use crate::cli::summary::Summary;
use crate::cli::text::{fixed, name_of, seven, short};
use crate::cli::verify::Verified;
use crate::error::Result;

/// A cell of the profile: its place, its moments, and what it has of rotation.
type Row<'a> = (f64, &'a Moments, RotatingMoments);

impl Rotates for Row<'_> {
    fn rotating(&self) -> &RotatingMoments {
        &self.2
    }
}

/// Work of the shear stress.
fn work_of(m: &Moments) -> f64 {
    m.velocity[1] * m.pressure[2]
}

pub(super) struct Outcome<'a> {
    pub(super) flow: &'a Flow,
    /// In full.
    pub(super) args: PlatesArgs,
    pub(super) delta: f64,
    /// Of a case in SI units.
    pub(super) units: Option<Units>,
    pub(super) machine: String,
    pub(super) found: Measured,
    pub(super) errors: Verified,
    pub(super) reference: Map<String, Value>,
    pub(super) solution: Solution,
    pub(super) x: Vec<f64>,
}

impl Outcome<'_> {
    pub(super) fn report(&self, report: &mut Report) {
        let solution = &self.solution;
        let [flux, wall] = self.flow.names();
        let last = solution.residuals.last().copied();
        report.set("machine", &self.machine);
        report.set(flux, self.found.flux);
        report.set(wall, self.found.wall);
        if let Some((name, _, value)) = self.flux_si() {
            report.set(name, value);
        }
        let mut errors = self.errors.clone();
        if let Some((name, _, value)) = self.flux_si() {
            errors.derive(name, flux, value / self.found.flux);
        }
        report.set("discretisation_error", errors.errors());
        if let Some(accuracy) = errors.accuracy() {
            report.set("accuracy", accuracy);
        }
        report.set("reference", &self.reference);
        if let Some(rotation) = self.args.gas.gas().rotating() {
            report.set("rotation", recorded(&rotation));
        }
        report.set("iteration_count", solution.residuals.len());
        report.set("residual", last);
        report.set(
            "plates",
            json!({ "left": solution.exchange[0], "right": solution.exchange[1] }),
        );
        report.set("conservation", self.conservation());
        steady::report_convergence(
            report,
            solution,
            self.args.tolerance(),
            ["--iterations", steady::ADVICE],
        );
    }

    /// The stress in Pa, the heat flux in W/m^2 or the mean velocity in m/s of a case in SI units: its key, its name, and the value.
    fn flux_si(&self) -> Option<(&'static str, &'static str, f64)> {
        // The result of the linearised equation is that of no drive in particular.
        let units = self.units.as_ref().filter(|_| !self.args.is_linear())?;
        // The table's units have p0, and those of the moments rho0 v0^2 = 2 p0.
        let flux = 0.5 * self.found.flux * self.flow.strength;
        Some(match self.flow.kind {
            Kind::Couette => ("stress_pa", "stress (Pa)", flux * units.pressure_pa),
            Kind::Fourier => ("heat_flux_w_m2", "q (W/m²)", flux * units.heat_flux_w_m2),
            Kind::Poiseuille => (
                "mean_velocity_m_s",
                "mean u (m/s)",
                flux * units.velocity_m_s,
            ),
        })
    }

    /// The exchange of the plates that must vanish, and the variation of the fluxes through the gas.
    fn conservation(&self) -> Value {
        let solution = &self.solution;
        let flux = |m: &Moments| match self.flow.kind {
            Kind::Couette => m.pressure[2],
            Kind::Fourier => m.heat_flux[0],
            // A force builds up stress; the pressure across the channel is constant.
            Kind::Poiseuille => m.pressure[0],
        };
        let values = solution.cells.iter().map(flux);
        let (low, high) = values.fold((f64::INFINITY, f64::NEG_INFINITY), |(low, high), value| {
            (low.min(value), high.max(value))
        });
        let mass = solution.exchange.iter().flatten().map(|e| e.mass.abs());
        json!({
            "mass_through_plates": mass.fold(0.0, f64::max),
            // Between mirrors nothing flows.
            "flux_spread": (self.found.flux != 0.0).then(|| (high - low) / high.abs().max(low.abs())),
        })
    }

    pub(super) fn write(&self, out: &mut Output) -> Result<()> {
        let mut quantities: Vec<Quantity<Row>> = vec![
            ("x", |p| p.0, Some(("x_m", |u| u.length_m))),
            (
                "density",
                |p| p.1.density,
                Some(("density_kg_m3", |u| u.density_kg_m3)),
            ),
            (
                "velocity",
                |p| p.1.velocity[1],
                Some(("velocity_m_s", |u| u.velocity_m_s)),
            ),
            (
                "temperature",
                |p| p.1.temperature,
                Some(("temperature_k", |u| u.temperature_k)),
            ),
            ("pxx", |p| p.1.pressure[0], None),
            (
                "pxy",
                |p| p.1.pressure[2],
                Some(("pxy_pa", |u| u.pressure_pa)),
            ),
            (
                "heat_flux",
                |p| p.1.heat_flux[0],
                Some(("heat_flux_w_m2", |u| u.heat_flux_w_m2)),
            ),
        ];
        if !self.args.is_linear() {
            quantities.push(("work", |p| work_of(p.1), None));
            quantities.push(("energy_flux", |p| p.1.heat_flux[0] + work_of(p.1), None));
        }
        if !self.solution.rotation.is_empty() {
            quantities.extend(rotation::columns());
        }
        let units = self.units.as_ref().filter(|_| !self.args.is_linear());
        let rotating = |cell: usize| self.solution.rotation.get(cell).copied();
        let cells = self.x.iter().zip(&self.solution.cells).enumerate();
        let rows = cells.map(|(cell, (x, m))| (*x, m, rotating(cell).unwrap_or_default()));
        out.put("profile.csv", &output::profile(&quantities, rows, units)?)?;
        let rows = self.solution.residuals.iter().enumerate();
        let rows = rows.map(|(k, residual)| (k + 1, *residual));
        out.table("residuals.csv", &["iteration", "residual"], rows)?;
        out.plot("profile.png", self.profile_plot());
        out.plot("residuals.png", self.residual_plot());
        Ok(())
    }

    fn profile_plot(&self) -> Figure {
        let p = &self.args;
        let linear = p.is_linear();
        let curve = |label: &str, k: usize, value: &dyn Fn(&Moments) -> f64| {
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
        let [.., per] = self.flow.titles();
        let scaled = |y: &str| {
            if linear {
                format!("{y}, perturbation per {per}")
            } else {
                y.to_owned()
            }
        };
        let velocity = "velocity along the plates u_y / v_0";
        let stress = panel(
            &scaled("shear stress P_{xy} / (2 p_0)"),
            vec![curve("P_{xy}", 1, &|m| m.pressure[2])],
        );
        let panels = match self.flow.kind {
            Kind::Couette => {
                let curves = vec![curve("u_y", 0, &|m| m.velocity[1]), self.reference_slope()];
                vec![panel(&scaled(velocity), curves), stress]
            }
            Kind::Fourier => {
                let mut curves = vec![curve("T", 0, &|m| m.temperature), self.reference_slope()];
                curves.extend(rotation::curves(&self.x, &self.solution.rotation, |t| t));
                let density = vec![curve("n", 2, &|m| m.density)];
                vec![
                    panel(&scaled("temperature T / T_0"), curves),
                    panel(&scaled("density n / n_0"), density),
                ]
            }
            Kind::Poiseuille => vec![
                panel(velocity, vec![curve("u_y", 0, &|m| m.velocity[1])]),
                stress,
            ],
        };
        Figure {
            title: format!(
                "{} at δ = {}, {}",
                self.flow.titles()[0],
                short(self.delta),
                p.collisions.name(&p.gas)
            ),
            panels,
        }
    }

    /// The straight line from plate to plate, which holds without slip or jump.
    fn reference_slope(&self) -> Curve {
        let couette = self.flow.kind == Kind::Couette;
        let (label, share) = if couette {
            ("no slip", 0.5)
        } else {
            ("no jump", -0.5)
        };
        let end = share * self.flow.strength;
        let middle = if self.args.is_linear() || couette {
            0.0
        } else {
            1.0
        };
        let ends = vec![
            (-0.5 * self.delta, middle - end),
            (0.5 * self.delta, middle + end),
        ];
        Curve::new(label, ends, RGBColor(120, 120, 120)).stroke(Stroke::Dashed)
    }

    fn residual_plot(&self) -> Figure {
        let residuals = self.solution.residuals.iter().enumerate();
        Figure {
            title: format!("Convergence at δ = {}", short(self.delta)),
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
                .semilogarithmic(),
            ],
        }
    }

    pub(super) fn summary(&self, total: Duration) -> Summary {
        let p = &self.args;
        let solution = &self.solution;
        let [flow, flux, wall, _] = self.flow.titles();
        let kind = if p.is_linear() { "linearised " } else { "" };
        let [flux_key, wall_key] = self.flow.names();
        let of = |limit: &str| self.reference.get(limit);
        let table = of("table").map(|table| {
            format!(
                "{flux_key} {}, {wall_key} {} (linearised BGK)",
                table[flux_key], table[wall_key]
            )
        });
        let slip = of("slip_limit").and_then(|limit| limit[flux_key].as_f64());
        let thin = of("free_molecular").and_then(|limit| limit[flux_key].as_f64());
        let (name, si) = (self.flux_si()).map(|(_, name, si)| (name, si)).unzip();
        let summary = Summary::new(format!(
            "{flow} at delta = {}: {kind}{}",
            short(self.delta),
            if p.collisions.is_boltzmann() {
                p.collisions.name(&p.gas)
            } else {
                format!("{} model", name_of(&p.gas.model()))
            }
        ))
        .row(
            "resolution",
            format!(
                "{} cells, {}, {} closure",
                p.cells(),
                if p.collisions.is_boltzmann() {
                    format!("{}^3 velocities", p.velocities().normal)
                } else {
                    format!("{} velocities (half-range Gauss x Gauss)", p.velocities())
                },
                name_of(&p.solver().scheme)
            ),
        )
        .row(
            "backend",
            format!("{}, {}", self.machine, name_of(&p.common.precision)),
        )
        .row(
            "iterations",
            format!(
                "{}, residual {:.1e} ({})",
                solution.residuals.len(),
                solution.residuals.last().copied().unwrap_or(f64::NAN),
                name_of(&solution.status)
            ),
        )
        .row(flux, seven(self.found.flux))
        .row(wall, fixed(self.found.wall, 6))
        .row_if(name.unwrap_or_default(), si.map(|si| format!("{si:.6e}")));
        (self.errors.rows(summary))
            .row_if("converged", table)
            .row_if("slip limit", slip.map(seven))
            .row_if("collisionless", thin.map(|thin| format!("{thin:.7}")))
            .row("wall time", format!("{:.3} s", total.as_secs_f64()))
    }
}
