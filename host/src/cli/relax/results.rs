//! Results of a relaxation: record, tables, arrays, plots, summary.

use std::time::Duration;

use serde::Serialize;
use serde_json::json;

use super::parameters::RelaxArgs;
use super::state::{COLUMNS, Sample, State, row_of};
use crate::cli::distribution::Init;
use crate::cli::plot::{COLOURS, Curve, Figure, Panel, Stroke, sequence};
use crate::cli::report::{Output, Report};
use crate::cli::summary::Summary;
use crate::cli::text::name_of;
use crate::cli::verify::Verified;
use crate::cli::{distribution, npy};
use crate::collision::initial::Bkw;
use crate::collision::{Correction, Moments, OperatorConfig, Record, Scattering};
use crate::error::Result;

const TIME: &str = "time t (dimensionless)";

/// Times at which cross-sections are shown.
const TIMES: usize = 8;

/// A finished relaxation.
pub(super) struct Outcome<'a> {
    pub(super) errors: Verified,
    pub(super) parameters: &'a RelaxArgs,
    pub(super) config: &'a OperatorConfig,
    pub(super) machine: String,
    pub(super) history: &'a [Record],
    pub(super) correction: Correction,
    pub(super) state: &'a State,
    pub(super) final_f: &'a [f64],
}

/// Largest departures of the conserved moments from their first values.
#[derive(Debug, Serialize)]
struct Drift {
    /// Of the density, relative.
    mass: f64,
    /// Of the momentum, over n sqrt(T).
    momentum: f64,
    /// Of the energy, relative.
    energy: f64,
}

impl Outcome<'_> {
    fn first(&self) -> &Record {
        self.history
            .first()
            .expect("the history begins with the initial state")
    }

    fn last(&self) -> &Record {
        self.history
            .last()
            .expect("the history begins with the initial state")
    }

    /// The smallest and the largest time step; the last one does not count, for it may be cut to end in time.
    fn steps(&self) -> (f64, f64) {
        let steps = self
            .history
            .windows(2)
            .map(|pair| pair[1].time - pair[0].time);
        let counted = self.history.len().saturating_sub(2).max(1);
        steps
            .take(counted)
            .fold((f64::INFINITY, 0.0), |(a, b), step| {
                (a.min(step), b.max(step))
            })
    }

    fn drift(&self) -> Drift {
        let energy = |m: &Moments| {
            let u2: f64 = m.velocity.iter().map(|u| u * u).sum();
            m.density * (u2 + 3.0 * m.temperature) / 2.0
        };
        let first = &self.first().moments;
        let thermal = first.density * first.temperature.sqrt();
        let largest = |of: &dyn Fn(&Moments) -> f64| {
            self.history
                .iter()
                .map(|r| of(&r.moments))
                .fold(0.0, f64::max)
        };
        Drift {
            mass: largest(&|m| (m.density / first.density - 1.0).abs()),
            momentum: largest(&|m| {
                let gap = (0..3)
                    .map(|a| (m.density * m.velocity[a] - first.density * first.velocity[a]).abs());
                gap.fold(0.0, f64::max) / thermal
            }),
            energy: largest(&|m| (energy(m) / energy(first) - 1.0).abs()),
        }
    }

    /// The exact solution at a time, where it is known.
    fn exact(&self, time: f64) -> Option<Bkw> {
        match self.parameters.init {
            Init::Bkw(start) if self.config.scattering == Scattering::Maxwell => {
                Some(start.after(time, self.config.sigma_t))
            }
            _ => None,
        }
    }

    /// The exact fourth moment over time, where it is known.
    fn exact_fourth(&self) -> Option<impl Fn(f64) -> f64> {
        self.exact(0.0)?;
        Some(|time| self.exact(time).map_or(f64::NAN, Bkw::fourth))
    }

    /// H of the Maxwellian that conservation leads to.
    fn equilibrium(&self) -> f64 {
        let m = &self.first().moments;
        Moments::entropy_at_rest(m.density, m.temperature)
    }

    /// The smallest value of f in the whole run.
    fn least(&self) -> f64 {
        let minima = self.history.iter().map(|row| row.moments.minimum);
        minima.fold(f64::INFINITY, f64::min)
    }

    /// The largest mass below zero in the whole run.
    fn below_zero(&self) -> f64 {
        let masses = self.history.iter().map(|row| row.moments.below_zero);
        masses.fold(0.0, f64::max)
    }

    /// Adds the results to `run.json`.
    pub(super) fn report(&self, report: &mut Report) {
        let last = self.last();
        report.set("machine", &self.machine);
        let mut result = json!({
                "steps": last.step,
                "time": last.time,
                "smallest_step": self.steps().0,
                "largest_step": self.steps().1,
                "activity_fraction": last.activity / self.first().activity,
                "smallest_value": self.least(),
                "largest_below_zero": self.below_zero(),
                "initial": self.first().moments,
                "final": last.moments,
                "equilibrium_entropy": self.equilibrium(),
                "exact_final_fourth": self.exact_fourth().map(|exact| exact(last.time)),
        });
        self.errors.record(&mut result);
        report.set("result", result);
        report.set(
            "conservation",
            json!({
                "drift": self.drift(),
                "largest_residuals": self.state.residuals,
                "last_correction": self.correction,
            }),
        );
    }

    /// Writes tables, arrays and plots.
    pub(super) fn write(&self, out: &mut Output) -> Result<()> {
        let n = self.config.grid.n();
        let precision = self.config.compute.precision;
        let last = self.last();
        let end = Sample::new(&self.config.grid, last.step, last.time, self.final_f);
        let samples = self.state.chosen(end, TIMES);
        let sections: Vec<f64> = (0..2)
            .flat_map(|axis| samples.iter().flat_map(move |s| &s.sections[axis]))
            .copied()
            .collect();
        npy::check_range("f_initial.npy", &self.state.initial, precision)?;
        let rows = self.history.iter().map(|r| (r.step, row_of(r)));
        out.table("history.csv", &COLUMNS, rows)?;
        out.array("f_initial.npy", &[n; 3], &self.state.initial, precision)?;
        out.array("f_final.npy", &[n; 3], self.final_f, precision)?;
        out.grid("grid_v.npy", &distribution::centres(&self.config.grid))?;
        let shape = [2, samples.len(), n];
        out.array("cross_sections.npy", &shape, &sections, precision)?;
        let rows = ["x", "y"].into_iter().enumerate().flat_map(|(axis, name)| {
            samples.iter().flat_map(move |sample| {
                let cells = sample.sections[axis].iter().enumerate();
                cells.map(move |(i, f)| {
                    let xi = self.config.grid.centre(i);
                    (name, sample.step, sample.time, xi, f)
                })
            })
        });
        let columns = ["axis", "step", "time", "xi", "f"];
        out.table("cross_sections.csv", &columns, rows)?;
        out.plot("cross_section_x.png", self.section_plot(&samples, 0));
        out.plot("cross_section_y.png", self.section_plot(&samples, 1));
        out.plot("moments.png", self.moment_plot());
        out.plot("entropy.png", self.entropy_plot());
        Ok(())
    }

    fn title(&self, what: &str) -> String {
        let n = self.config.grid.n();
        format!(
            "{what}: {}, {n}³ velocities",
            self.parameters.init.in_words()
        )
    }

    fn section_plot(&self, samples: &[Sample], axis: usize) -> Figure {
        let middle = (self.config.grid.min() + self.config.grid.max()) / 2.0;
        let (x, y) = if axis == 0 {
            ("ξ_x", format!("f(ξ_x, {middle}, {middle})"))
        } else {
            ("ξ_y", format!("f({middle}, ξ_y, {middle})"))
        };
        let end = samples.last().map_or(1.0, |sample| sample.time).max(1e-9);
        let digits = (3.0 - end.log10().floor()).clamp(0.0, 12.0) as usize;
        let curves = samples.iter().enumerate().map(|(i, sample)| {
            Curve::new(
                format!("{:.digits$}", sample.time),
                sample.sections[axis]
                    .iter()
                    .enumerate()
                    .map(|(i, &f)| (self.config.grid.centre(i), f)),
                sequence(i, samples.len()),
            )
            .stroke(Stroke::Dotted)
        });
        let mut curves: Vec<Curve> = curves.collect();
        if let Some(exact) = self.exact(end) {
            let f = exact.sample(&self.config.grid);
            let section = distribution::cross_sections(&self.config.grid, &f)[axis].clone();
            let points = section.into_iter().enumerate();
            let points = points.map(|(i, f)| (self.config.grid.centre(i), f));
            let label = format!("{end:.digits$}, exact");
            curves.push(Curve::new(label, points, COLOURS[1]).stroke(Stroke::Dashed));
        }
        Figure {
            title: self.title("Distribution function"),
            panels: vec![
                Panel::new(
                    format!("velocity {x} (dimensionless)"),
                    distribution::section_label(&self.config.grid, &y),
                    curves,
                )
                .reach((self.config.grid.min(), self.config.grid.max()))
                .legend("time t"),
            ],
        }
    }

    fn over_time(&self, of: impl Fn(&Record) -> f64) -> Vec<(f64, f64)> {
        self.history.iter().map(|r| (r.time, of(r))).collect()
    }

    fn moment_plot(&self) -> Figure {
        let curve = |label: &str, colour: usize, points| Curve::new(label, points, COLOURS[colour]);
        let panel = |y: &str, curves| Panel::new(TIME, y, curves);
        let mut panels = vec![panel(
            "temperature, pressure",
            vec![
                curve("P_{xx}", 1, self.over_time(|r| r.moments.pressure[0])),
                curve("P_{yy}", 0, self.over_time(|r| r.moments.pressure[1])),
                curve("T", 2, self.over_time(|r| r.moments.temperature)).stroke(Stroke::Dashed),
            ],
        )];
        if let Some(exact) = self.exact_fourth() {
            let exact =
                curve("M_4 exact", 1, self.over_time(|r| exact(r.time))).stroke(Stroke::Dashed);
            let computed = curve("M_4 computed", 0, self.over_time(|r| r.moments.fourth));
            panels.push(panel(
                "fourth moment M_4 = ∫ f |ξ|⁴ dξ",
                vec![computed, exact],
            ));
        }
        Figure {
            title: self.title("Moments"),
            panels,
        }
    }

    fn entropy_plot(&self) -> Figure {
        let level = self.equilibrium();
        let curves = vec![
            Curve::new("H(t)", self.over_time(|r| r.moments.entropy), COLOURS[0]),
            Curve::new("Maxwellian", self.over_time(|_| level), COLOURS[1]).stroke(Stroke::Dashed),
        ];
        Figure {
            title: self.title("Boltzmann's H"),
            panels: vec![Panel::new(TIME, "H = ∫ f ln f dξ", curves)],
        }
    }

    /// The summary for people.
    pub(super) fn summary(&self, stepping: Duration, total: Duration) -> Summary {
        let (first, last) = (self.first(), self.last());
        let (a, b) = (&first.moments, &last.moments);
        let drift = self.drift();
        let work = format!("Relaxation from {}", self.parameters.init.in_words());
        let pair = |a: f64, b: f64| format!("{a:>14.8}  {b:>14.8}");
        let exact = self
            .exact_fourth()
            .map(|exact| format!("  (exact {:.8})", exact(last.time)));
        let summary = (self.parameters.operator)
            .summary(&work, self.config, &self.machine)
            .row(
                "run",
                format!(
                    "{} steps of {:.4} to {:.4} ({}) to t = {:.4}; sum of |I| down to {:.1e} of its first value",
                    last.step,
                    self.steps().0,
                    self.steps().1,
                    name_of(&self.parameters.integrator),
                    last.time,
                    last.activity / first.activity
                ),
            )
            .row("", format!("{:>14}  {:>14}", "initial", "final"))
            .row("density", pair(a.density, b.density))
            .row("temperature", pair(a.temperature, b.temperature))
            .row("Pxx", pair(a.pressure[0], b.pressure[0]))
            .row("Pyy", pair(a.pressure[1], b.pressure[1]))
            .row("M4", pair(a.fourth, b.fourth) + &exact.unwrap_or_default())
            .row(
                "H",
                format!(
                    "{}  (Maxwellian {:.8})",
                    pair(a.entropy, b.entropy),
                    self.equilibrium()
                ),
            );
        (self.errors.rows(summary))
            .row(
                "drift",
                format!(
                    "mass {:.1e}, momentum {:.1e}, energy {:.1e}",
                    drift.mass, drift.momentum, drift.energy
                ),
            )
            .wall_time(total, "steps", stepping)
    }
}
