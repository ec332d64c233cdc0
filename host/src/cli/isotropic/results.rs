//! Results of a run in energy space: its part of `run.json`, tables, arrays, plots, and the summary.

use std::time::Duration;

use serde::Serialize;
use serde_json::json;

use super::parameters::{Init, IsotropicArgs};
use super::state::Snapshot;
use crate::cli::npy;
use crate::cli::output;
use crate::cli::plot::{COLOURS, Curve, Figure, Panel, Stroke, sequence};
use crate::cli::report::{Output, Report};
use crate::cli::summary::Summary;
use crate::cli::text::name_of;
use crate::cli::verify::Verified;
use crate::error::Result;
use crate::isotropic::{Moments, OperatorConfig, Rates, Record, Relaxation, initial};

const ENERGY: &str = "energy E (dimensionless)";
const TIME: &str = "time t (dimensionless)";

/// Departures of what is conserved.
#[derive(Clone, Copy, Debug, Serialize)]
pub(super) struct Drift {
    /// Of the number.
    pub(super) number: f64,
    /// Of the energy.
    pub(super) energy: f64,
}

/// The conservation error of an evaluation, as a share of the gross rates.
pub(super) fn drift_of(config: &OperatorConfig, rates: &Rates) -> Drift {
    let measure = config.measure();
    let share = |weight: &dyn Fn(usize) -> f64| {
        let (mut net, mut gross) = (0.0, 0.0);
        for i in 0..measure.len() {
            net += weight(i) * rates.rate[i];
            gross += weight(i) * rates.gain[i];
        }
        if gross > 0.0 {
            (net / gross).abs()
        } else {
            0.0
        }
    };
    Drift {
        number: share(&|i| measure[i]),
        energy: share(&|i| measure[i] * config.grid.energy(i)),
    }
}

pub(super) fn rates_table(config: &OperatorConfig, f: &[f64], rates: &Rates) -> Result<Vec<u8>> {
    let rows = (0..f.len()).map(|i| {
        (
            config.grid.energy(i),
            f[i],
            rates.gain[i],
            rates.frequency[i],
            rates.rate[i],
        )
    });
    output::table(&["E", "f", "N", "nu", "rate"], rows)
}

fn curve(label: &str, colour: usize, points: Vec<(f64, f64)>) -> Curve {
    Curve::new(label, points, COLOURS[colour % COLOURS.len()])
}

pub(super) fn rates_plot(config: &OperatorConfig, f: &[f64], rates: &Rates) -> Figure {
    let points = |values: &dyn Fn(usize) -> f64| -> Vec<(f64, f64)> {
        (0..f.len())
            .map(|i| (config.grid.energy(i), values(i)))
            .collect()
    };
    Figure {
        title: format!("Rates in energy space: {}, {} cells", config.law, f.len()),
        panels: vec![
            Panel::new(
                ENERGY,
                "rates of change of f",
                vec![
                    curve("gain N", 0, points(&|i| rates.gain[i])),
                    curve("loss ν f", 1, points(&|i| rates.frequency[i] * f[i])),
                    curve("df/dt", 3, points(&|i| rates.rate[i])),
                ],
            ),
            Panel::new(
                ENERGY,
                "collision frequency ν",
                vec![curve("ν", 2, points(&|i| rates.frequency[i]))],
            ),
        ],
    }
}

/// A finished run.
pub(super) struct Outcome<'a> {
    pub(super) parameters: &'a IsotropicArgs,
    pub(super) init: &'a Init,
    pub(super) config: &'a OperatorConfig,
    pub(super) run: &'a Relaxation,
    pub(super) snapshots: &'a [Snapshot],
    pub(super) decay_rates: Option<Vec<f64>>,
    pub(super) errors: Verified,
    pub(super) steps: u64,
}

impl Outcome<'_> {
    fn history(&self) -> &[Record] {
        self.run.history(0)
    }

    fn first(&self) -> &Moments {
        &self.history()[0].moments
    }

    fn last(&self) -> &Record {
        &self.history()[self.history().len() - 1]
    }

    fn end(&self) -> &[f64] {
        self.snapshots.last().map_or(&[], |s| &s.f)
    }

    fn drift(&self) -> Drift {
        let largest = |of: &dyn Fn(&Moments) -> f64| {
            let first = of(self.first());
            self.history()
                .iter()
                .map(|row| (of(&row.moments) / first - 1.0).abs())
                .fold(0.0, f64::max)
        };
        Drift {
            number: largest(&|m| m.number),
            energy: largest(&|m| m.energy),
        }
    }

    /// The initial state in a title, where an underscore would lower what follows it.
    fn start(&self) -> String {
        self.init.to_string().replace('_', " ")
    }

    fn equilibrium(&self) -> Option<initial::Equilibrium> {
        let m = self.first();
        initial::equilibrium(self.config, m.number, m.energy).ok()
    }

    /// Sum of |a - b| over the particles.
    fn distance(&self, a: &[f64], b: &[f64]) -> f64 {
        let measure = self.config.measure();
        (0..a.len()).map(|i| measure[i] * (a[i] - b[i]).abs()).sum()
    }

    /// The exact solution at a time, where there is one.
    fn exact(&self, time: f64) -> Option<Vec<f64>> {
        match (self.init, initial::bkw_rate(self.config.law)) {
            (Init::Bkw(k0), Some(rate)) => {
                let k = 1.0 - (1.0 - k0) * (-rate * time).exp();
                Some(initial::bkw(&self.config.grid, k))
            }
            _ => None,
        }
    }

    /// The departure of the second moment from equilibrium over time.
    fn departure(&self) -> Option<Vec<(f64, f64)>> {
        let rest = Moments::of(self.config, &self.equilibrium()?.f).second;
        let rows = self.history().iter();
        Some(
            rows.map(|row| (row.time, (row.moments.second / rest - 1.0).abs()))
                .collect(),
        )
    }

    /// The rate with which the second moment decayed over the last half of the run, where it is above roundoff.
    fn measured_rate(&self) -> Option<f64> {
        let points = self.departure()?;
        let kept: Vec<_> = points.iter().filter(|point| point.1 > 1e-9).collect();
        let (from, to) = (kept.get(kept.len() / 2)?, kept.last()?);
        let rate = (from.1 / to.1).ln() / (to.0 - from.0);
        rate.is_finite().then_some(rate)
    }

    /// Adds the results to `run.json`.
    pub(super) fn report(&self, report: &mut Report) {
        let last = self.last();
        let exact = self.exact(last.time);
        let equilibrium = self.equilibrium();
        report.set("machine", self.run.device());
        report.set("grid", self.config.grid);
        let mut result = json!({
                "steps": self.steps,
                "time": last.time,
                "time_step": self.run.time_step(),
                "largest_step": 1.0 / self.history()[0].largest_frequency,
                "largest_frequency": last.largest_frequency,
                "initial": self.first(),
                "final": last.moments,
                "table_bytes": self.run.table_bytes(),
                "equilibrium_temperature": equilibrium.as_ref().map(|e| e.temperature),
                "distance_to_equilibrium": equilibrium.as_ref().map(|e| self.distance(self.end(), &e.f)),
                "exact_l1_error": exact.as_ref().map(|exact| self.distance(self.end(), exact)),
                "exact_m2": exact.as_ref().map(|exact| Moments::of(self.config, exact).second),
                "measured_decay_rate": self.measured_rate(),
                "decay_rates": self.decay_rates,
        });
        self.errors.record(&mut result);
        report.set("result", result);
        report.set("conservation", self.drift());
    }

    /// Writes tables, arrays and plots.
    pub(super) fn write(&self, out: &mut Output) -> Result<()> {
        let grid = &self.config.grid;
        let cells = grid.cells();
        let precision = self.parameters.common.precision;
        npy::check_range("f_final.npy", self.end(), precision)?;
        out.grid("grid_energy.npy", &self.config.grid.energies())?;
        out.array("f_final.npy", &[cells], self.end(), precision)?;
        out.array("f_initial.npy", &[cells], &self.snapshots[0].f, precision)?;
        let rows = self.history().iter().map(|row| {
            let m = &row.moments;
            (row.time, m.number, m.energy, m.second, m.third, m.entropy)
        });
        out.table("moments.csv", &["t", "n", "e", "m2", "m3", "H"], rows)?;
        let measure = &self.config.measure();
        let rows = self.snapshots.iter().flat_map(|s| {
            s.f.iter().enumerate().map(move |(i, f)| {
                let density = measure[i] * f / grid.width();
                (s.time, grid.energy(i), f, density)
            })
        });
        out.table("distribution.csv", &["t", "E", "f", "P"], rows)?;
        out.plot("distribution.png", self.distribution_plot());
        out.plot("moments.png", self.moments_plot());
        Ok(())
    }

    fn distribution_plot(&self) -> Figure {
        let count = self.snapshots.len();
        let measure = self.config.measure();
        let width = self.config.grid.width();
        let m = self.first();
        // Nearly all particles of the equilibrium are below this energy.
        let reach = (8.0 * m.energy / m.number / 1.5).min(self.config.grid.emax());
        let curves = |value: &dyn Fn(usize, f64) -> f64| -> Vec<Curve> {
            self.snapshots
                .iter()
                .enumerate()
                .map(|(k, s)| {
                    Curve::new(
                        format!("{:.4}", s.time),
                        (0..s.f.len())
                            .map(|i| (self.config.grid.energy(i), value(i, s.f[i])))
                            .filter(|point| point.0 <= reach),
                        sequence(k, count),
                    )
                })
                .collect()
        };
        let timed = |y: &str, curves| Panel::new(ENERGY, y, curves).legend("time t");
        Figure {
            title: format!(
                "Relaxation from {}: {}, {} cells",
                self.start(),
                self.config.law,
                self.config.grid.cells()
            ),
            panels: vec![
                timed("distribution f(E) over velocities", curves(&|_, f| f)),
                timed(
                    "particles per energy P(E) = 4√2 π √E f",
                    curves(&|i, f| measure[i] * f / width),
                ),
            ],
        }
    }

    fn moments_plot(&self) -> Figure {
        let over = |of: &dyn Fn(&Moments) -> f64| -> Vec<(f64, f64)> {
            let rows = self.history().iter();
            rows.map(|row| (row.time, of(&row.moments))).collect()
        };
        let mut second = vec![curve("m_2 computed", 0, over(&|m| m.second))];
        if self.exact(0.0).is_some() {
            let exact = self.history().iter().filter_map(|row| {
                let f = self.exact(row.time)?;
                Some((row.time, Moments::of(self.config, &f).second))
            });
            second.push(curve("m_2 exact", 1, exact.collect()).stroke(Stroke::Dashed));
        }
        let mut entropy = vec![curve("H", 2, over(&|m| m.entropy))];
        if let Some(rest) = self.equilibrium() {
            let level = Moments::of(self.config, &rest.f);
            let flat = |value: f64| over(&|_| value);
            second.push(curve("equilibrium", 3, flat(level.second)).stroke(Stroke::Dashed));
            entropy.push(curve("equilibrium", 3, flat(level.entropy)).stroke(Stroke::Dashed));
        }
        Figure {
            title: format!("Moments: {}, {}", self.start(), self.config.law),
            panels: vec![
                Panel::new(TIME, "second moment m_2 = ∫ E² dn", second),
                Panel::new(TIME, "H = ∫ ln f dn", entropy),
            ],
        }
    }

    /// The summary for people.
    pub(super) fn summary(&self, stepping: Duration, total: Duration) -> Summary {
        let (first, last) = (self.first(), self.last());
        let end = &last.moments;
        let drift = self.drift();
        let work = format!("Relaxation from {}", self.init);
        let machine = self.run.device();
        let mut summary = self
            .parameters
            .heading(&work, self.config, &machine)
            .row(
                "run",
                format!(
                    "{} steps of {:.6} ({}) to t = {:.4}; the largest step is {:.6}",
                    self.steps,
                    self.run.time_step(),
                    name_of(&self.parameters.integrator),
                    last.time,
                    1.0 / self.history()[0].largest_frequency
                ),
            )
            .row("", format!("{:>16}  {:>16}", "initial", "final"));
        for (name, a, b) in [
            ("number", first.number, end.number),
            ("energy", first.energy, end.energy),
            ("m2", first.second, end.second),
            ("m3", first.third, end.third),
            ("H", first.entropy, end.entropy),
        ] {
            summary = summary.row(name, format!("{a:>16.10}  {b:>16.10}"));
        }
        let rest = self.equilibrium().map(|rest| {
            format!(
                "T = {:.6}; the sum of |f - f_eq| over the particles is {:.3e}",
                rest.temperature,
                self.distance(self.end(), &rest.f)
            )
        });
        let exact = self.exact(last.time).map(|exact| {
            format!(
                "the sum of |f - f_exact| over the particles is {:.3e}",
                self.distance(self.end(), &exact)
            )
        });
        let rates = self.decay_rates.as_ref().map(|rates| {
            let rates: Vec<_> = rates.iter().skip(2).map(|r| format!("{r:.6}")).collect();
            rates.join("  ")
        });
        (self.errors.rows(summary))
            .row(
                "drift",
                format!("number {:.1e}, energy {:.1e}", drift.number, drift.energy),
            )
            .row_if("equilibrium", rest)
            .row_if("exact", exact)
            .row_if("decay rates", rates)
            .wall_time(total, "steps", stepping)
    }
}
