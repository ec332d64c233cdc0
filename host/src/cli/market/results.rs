//! Results of a market: its part of `run.json`, tables, arrays, plots, and the summary.

use std::time::Duration;

use serde::Serialize;
use serde_json::json;

use super::parameters::{Clock, MarketArgs, Scenario};
use crate::accuracy::Quantity;
use crate::cli::npy;
use crate::cli::output::columns;
use crate::cli::plot::{COLOURS, Curve, Figure, Panel, Stroke, sequence};
use crate::cli::report::{Output, Report};
use crate::cli::summary::Summary;
use crate::cli::verify::Verified;
use crate::error::{Error, Result};
use crate::isotropic::market::{Market, Record, agents_below, gini, lorenz, total_variation};
use crate::isotropic::{CollisionKernel, OperatorConfig, initial::Equilibrium};

const WEALTH: &str = "wealth E (units of the mean)";

/// A state at a point of the clock.
#[derive(Clone, Debug)]
pub(super) struct Sample {
    /// The reading of the clock.
    pub(super) reading: f64,
    pub(super) time: f64,
    /// Value that an agent has traded.
    pub(super) volume: f64,
    pub(super) volume_rate: f64,
    pub(super) f: Vec<f64>,
}

impl Sample {
    /// The state of the last record of a history.
    pub(super) fn new(history: &[Record], f: Vec<f64>, clock: Clock) -> Result<(Self, Step)> {
        let row = history.last().copied();
        let row = row.ok_or_else(|| Error::Numerical("a market without records".into()))?;
        let reading = clock.reading(row.time, row.traded);
        let step = Step {
            time: row.time,
            reading,
            volume: row.traded,
            gini: row.gini,
        };
        let sample = Self {
            reading,
            time: row.time,
            volume: row.traded,
            volume_rate: row.trade_rate,
            f,
        };
        Ok((sample, step))
    }

    /// Linear between two states.
    pub(super) fn between(&self, after: &Self, reading: f64) -> Self {
        let share = (reading - self.reading) / (after.reading - self.reading);
        let mix = |a: f64, b: f64| a + share * (b - a);
        Self {
            reading,
            time: mix(self.time, after.time),
            volume: mix(self.volume, after.volume),
            volume_rate: mix(self.volume_rate, after.volume_rate),
            f: self
                .f
                .iter()
                .zip(&after.f)
                .map(|(a, b)| mix(*a, *b))
                .collect(),
        }
    }
}

/// One step of the history.
#[derive(Clone, Copy, Debug)]
pub(super) struct Step {
    time: f64,
    reading: f64,
    volume: f64,
    gini: f64,
}

/// Share of agents of each cell.
fn agents(config: &OperatorConfig, f: &[f64]) -> Vec<f64> {
    config.measure().iter().zip(f).map(|(m, f)| m * f).collect()
}

/// Properties of a shown state.
#[derive(Clone, Copy, Debug, Serialize)]
pub(super) struct Row {
    #[serde(skip_serializing_if = "Option::is_none")]
    day: Option<f64>,
    t: f64,
    collisions_per_agent: f64,
    volume: f64,
    volume_rate: f64,
    mean: f64,
    m2: f64,
    p_below_half: f64,
    gini: f64,
    total_variation: f64,
}

/// Mean of the input, and how far rebinning moved the mean, in its units.
pub(super) type Shift = (f64, f64);

/// A finished run.
pub(super) struct Outcome<'a> {
    pub(super) rows: Vec<Row>,
    pub(super) errors: Verified,
    pub(super) parameters: &'a MarketArgs,
    pub(super) config: &'a OperatorConfig,
    pub(super) clock: Clock,
    pub(super) market: &'a Market,
    pub(super) shown: &'a [Sample],
    pub(super) history: &'a [Step],
    pub(super) equilibrium: &'a Equilibrium,
    pub(super) shift: Option<Shift>,
}

impl Row {
    /// Results that depend on the grid, by the keys of the record; the clock itself does not. Shares compare with all agents.
    pub(super) fn quantities(&self) -> Vec<Quantity> {
        vec![
            match self.day {
                Some(_) => Quantity::new("t", self.t),
                None => Quantity::new("volume", self.volume),
            },
            Quantity::new("volume_rate", self.volume_rate).aside(),
            Quantity::new("mean", self.mean).aside(),
            Quantity::new("m2", self.m2),
            Quantity::new("p_below_half", self.p_below_half).of_scale(1.0),
            Quantity::new("gini", self.gini),
            Quantity::new("total_variation", self.total_variation).of_scale(1.0),
        ]
    }
}

/// Properties of the shown states; `rest` is the equilibrium.
pub(super) fn rows(
    config: &OperatorConfig,
    clock: Clock,
    shown: &[Sample],
    rest: &Equilibrium,
) -> Vec<Row> {
    let rest = agents(config, &rest.f);
    shown
        .iter()
        .map(|sample| {
            let p = agents(config, &sample.f);
            let sum = |of: &dyn Fn(f64) -> f64| -> f64 {
                let cells = p.iter().enumerate();
                cells.map(|(i, p)| p * of(config.grid.energy(i))).sum()
            };
            Row {
                day: (clock == Clock::Days).then_some(sample.reading),
                t: sample.time,
                // At unit rate an agent meets another once in a unit of time.
                collisions_per_agent: sample.time,
                volume: sample.volume,
                volume_rate: sample.volume_rate,
                mean: sum(&|e| e),
                m2: sum(&|e| e * e),
                p_below_half: agents_below(&config.grid, &p, 0.5),
                gini: gini(&config.grid, &p),
                total_variation: total_variation(&p, &rest),
            }
        })
        .collect()
}

impl Outcome<'_> {
    /// Density of agents at f, per unit of wealth.
    fn density(&self, measure: &[f64], i: usize, f: f64) -> f64 {
        measure[i] * f / self.config.grid.width()
    }

    /// The distribution over velocities of a gas with these agents.
    fn over_velocities(&self, measure: &[f64], i: usize, f: f64) -> f64 {
        if self.config.law.is_gas() {
            return f;
        }
        let weight = self.config.weights.weight(i);
        measure[i] * f / (self.config.grid.number_scale() * weight)
    }

    fn drift(&self) -> (f64, f64) {
        let rows = self.market.history(0);
        let first = rows[0].moments;
        let most = |of: &dyn Fn(usize) -> f64| (0..rows.len()).map(of).fold(0.0, f64::max);
        (
            most(&|k| (rows[k].moments.number / first.number - 1.0).abs()),
            most(&|k| (rows[k].moments.energy / first.energy - 1.0).abs()),
        )
    }

    /// Adds the results to `run.json`.
    pub(super) fn report(&self, report: &mut Report) {
        let (number, energy) = self.drift();
        report.set("machine", self.market.device());
        report.set("grid", self.config.grid);
        let mut result = json!({
                "clock": self.clock.name(),
                "rows": self.rows,
                "equilibrium_temperature": self.equilibrium.temperature,
                "equilibrium_gini": gini(&self.config.grid, &agents(self.config, &self.equilibrium.f)),
                "input_mean": self.shift.map(|s| s.0),
                "mean_shift_of_cell_centres": self.shift.map(|s| s.1),
        });
        self.errors.record(&mut result);
        report.set("result", result);
        report.set(
            "conservation",
            json!({ "number": number, "energy": energy }),
        );
    }

    /// Writes tables, arrays and plots.
    pub(super) fn write(&self, out: &mut Output) -> Result<()> {
        let cells = self.config.grid.cells();
        let measure = self.config.measure();
        let precision = self.config.compute.precision;
        let last = self.shown.last().map_or(&[][..], |sample| &sample.f);
        let f_final: Vec<f64> = (0..cells)
            .map(|i| self.over_velocities(&measure, i, last[i]))
            .collect();
        npy::check_range("f_final.npy", &f_final, precision)?;
        out.array("f_final.npy", &[cells], &f_final, precision)?;
        let p_final = agents(self.config, last);
        out.array("p_final.npy", &[cells], &p_final, precision)?;
        out.grid("grid_wealth.npy", &self.config.grid.energies())?;
        self.write_tables(out)?;
        out.plot("distribution_f.png", self.plot(true));
        out.plot("distribution_P.png", self.plot(false));
        out.plot("inequality.png", self.inequality_plot());
        Ok(())
    }

    fn write_tables(&self, out: &mut Output) -> Result<()> {
        let clock = self.clock.name();
        let measure = self.config.measure();
        let market = columns!(self.rows.iter().zip(self.shown), |(row, sample)| [
            (clock, sample.reading),
            ("time", row.t),
            ("collisions_per_agent", row.collisions_per_agent),
            ("volume", row.volume),
            ("volume_rate", row.volume_rate),
            ("mean", row.mean),
            ("m2", row.m2),
            ("P_below_0p5", row.p_below_half),
            ("gini", row.gini),
            ("total_variation", row.total_variation),
        ])?;
        out.put("market.csv", &market)?;
        let rows = self.history.iter();
        let rows = rows.map(|step| (step.reading, step.time, step.volume, step.gini));
        out.table("inequality.csv", &[clock, "time", "volume", "gini"], rows)?;
        let rows = self.shown.iter().flat_map(|sample| {
            let measure = &measure;
            sample.f.iter().enumerate().map(move |(i, &f)| {
                let energy = self.config.grid.energy(i);
                let over_velocities = self.over_velocities(measure, i, f);
                let density = self.density(measure, i, f);
                (sample.reading, energy, over_velocities, density)
            })
        });
        out.table("distribution.csv", &[clock, "E", "f", "P"], rows)?;
        let rows = self.shown.iter().flat_map(|sample| {
            let curve = lorenz(&self.config.grid, &agents(self.config, &sample.f));
            let curve = curve.into_iter();
            curve.map(move |(agents, wealth)| (sample.reading, agents, wealth))
        });
        out.table("lorenz.csv", &[clock, "agents", "wealth"], rows)
    }

    fn subject(&self) -> String {
        match (self.parameters.scenario, &self.parameters.input) {
            (Some(Scenario::Voucher), _) => "one voucher for each agent".into(),
            // The name of the file alone; an underscore would lower what follows it.
            (None, Some(input)) => {
                let name = input.file_name().unwrap_or(input.as_os_str());
                name.to_string_lossy().replace('_', " ")
            }
            (None, None) => String::new(),
        }
    }

    fn legend(&self) -> &'static str {
        match self.clock {
            Clock::Days => "day",
            Clock::Encounters => "encounters t",
        }
    }

    /// f, or P, at the shown points and at equilibrium.
    fn plot(&self, velocities: bool) -> Figure {
        let measure = self.config.measure();
        let reach = 5f64.min(self.config.grid.emax());
        let points = |f: &[f64]| -> Vec<(f64, f64)> {
            f.iter()
                .enumerate()
                .map(|(i, &f)| {
                    let value = if velocities {
                        self.over_velocities(&measure, i, f)
                    } else {
                        self.density(&measure, i, f)
                    };
                    (self.config.grid.energy(i), value)
                })
                .filter(|point| point.0 <= reach)
                .collect()
        };
        // Agents who have not traded yet stay where they began and would hide all the rest: the peak is cut off.
        let rest = points(&self.equilibrium.f);
        let top = 2.0 * rest.iter().map(|p| p.1).fold(0.0, f64::max);
        let count = self.shown.len();
        let mut cut = false;
        let mut curves: Vec<Curve> = self
            .shown
            .iter()
            .enumerate()
            .map(|(k, sample)| {
                let mut points = points(&sample.f);
                for point in &mut points {
                    cut |= point.1 > top;
                    point.1 = point.1.min(top);
                }
                Curve::new(
                    format!("{}", (sample.reading * 100.0).round() / 100.0),
                    points,
                    sequence(k, count),
                )
            })
            .collect();
        curves.push(Curve::new("equilibrium", rest, COLOURS[1]).stroke(Stroke::Dashed));
        let (what, y) = if velocities {
            ("f", "distribution f(E) of the gas")
        } else {
            ("P", "density of agents P(E)")
        };
        let note = if cut { ", cut off at the top" } else { "" };
        Figure {
            title: format!("{what}: {} ({})", self.subject(), self.config.law),
            panels: vec![Panel::new(WEALTH, format!("{y}{note}"), curves).legend(self.legend())],
        }
    }

    fn inequality_plot(&self) -> Figure {
        let count = self.shown.len();
        let mut curves: Vec<Curve> = self
            .shown
            .iter()
            .enumerate()
            .map(|(k, sample)| {
                Curve::new(
                    format!("{}", (sample.reading * 100.0).round() / 100.0),
                    lorenz(&self.config.grid, &agents(self.config, &sample.f)),
                    sequence(k, count),
                )
            })
            .collect();
        curves.push(
            Curve::new(
                "equilibrium",
                lorenz(&self.config.grid, &agents(self.config, &self.equilibrium.f)),
                COLOURS[1],
            )
            .stroke(Stroke::Dashed),
        );
        let over: Vec<_> = self.history.iter().map(|s| (s.reading, s.gini)).collect();
        let level = gini(&self.config.grid, &agents(self.config, &self.equilibrium.f));
        let flat: Vec<_> = over.iter().map(|point| (point.0, level)).collect();
        let x = match self.clock {
            Clock::Days => "time (days of the turnover clock)",
            Clock::Encounters => "time t (encounters of an agent)",
        };
        Figure {
            title: format!("Inequality: {} ({})", self.subject(), self.config.law),
            panels: vec![
                Panel::new(
                    "share of agents, poorest first",
                    "Lorenz curve: share of wealth",
                    curves,
                )
                .reach((0.0, 1.0))
                .legend(self.legend()),
                Panel::new(
                    x,
                    "Gini coefficient",
                    vec![
                        Curve::new("Gini", over, COLOURS[0]),
                        Curve::new("equilibrium", flat, COLOURS[1]).stroke(Stroke::Dashed),
                    ],
                ),
            ],
        }
    }

    /// The summary for people.
    pub(super) fn summary(&self, stepping: Duration, total: Duration) -> Summary {
        let grid = &self.config.grid;
        let input = self.shift.map(|(mean, shift)| {
            format!("mean {mean:.6}, taken as 1; cell centres move it by {shift:+.2e}")
        });
        let equilibrium = matches!(self.config.law, CollisionKernel::Saving { .. })
            .then_some("has no closed form; distances are to the gamma distribution near it");
        let mut summary = Summary::new(format!(
            "Market of {} on {} cells of wealth up to {:.4}",
            self.subject(),
            grid.cells(),
            grid.emax()
        ))
        .row("law", self.config.law)
        .row(
            "backend",
            format!(
                "{}, {}",
                self.market.device(),
                self.config.compute.precision
            ),
        )
        .row_if("input", input)
        .row_if("equilibrium", equilibrium)
        .line(format!(
            "{:>8}  {:>10}  {:>10}  {:>8}  {:>10}  {:>8}  {:>10}",
            self.clock.name(),
            "encounters",
            "traded",
            "m2",
            "P(E < 0.5)",
            "Gini",
            "distance"
        ));
        for (row, sample) in self.rows.iter().zip(self.shown) {
            summary = summary.line(format!(
                "{:>8.6}  {:>10.4}  {:>10.6}  {:>8.5}  {:>10.6}  {:>8.5}  {:>10.5}",
                sample.reading.to_string(),
                row.t,
                row.volume,
                row.m2,
                row.p_below_half,
                row.gini,
                row.total_variation
            ));
        }
        let (number, wealth) = self.drift();
        (self.errors.rows(summary))
            .row("drift", format!("number {number:.1e}, wealth {wealth:.1e}"))
            .wall_time(total, "steps", stepping)
    }
}
