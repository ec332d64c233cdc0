//! Results of a relaxation by a model: record, table, plot, summary.
//!
//! They are in the units of the collision integral's relaxations: velocities in $\sqrt{k T_0/m}$, so that the pressure is n T.

use std::time::Duration;

use serde_json::{Value, json};

use super::parameters::ModelRelaxation;
use super::state::Record;
use crate::accuracy::{Estimate, Finding, Quantity};
use crate::bgk::{Homogeneous, HomogeneousMoments, Moments, Units};
use crate::cli::output;
use crate::cli::plot::{COLOURS, Curve, Figure, Panel, Stroke};
use crate::cli::report::{Output, Report};
use crate::cli::rotation::recorded;
use crate::cli::summary::Summary;
use crate::cli::text::{name_of, short};
use crate::cli::verify::Verified;
use crate::error::Result;

/// Units of pressure and heat flux in the library's units of them.
const PRESSURE: f64 = HomogeneousMoments::THERMAL_UNITS[0];
const HEAT_FLUX: f64 = HomogeneousMoments::THERMAL_UNITS[1];

/// Heat fluxes and stresses below this share of a pressure are roundoff, and their plot is left out.
const NONE: f64 = 1e-9;

/// A finished relaxation.
pub(super) struct Outcome<'a> {
    parameters: &'a ModelRelaxation,
    case: &'a Homogeneous,
    units: Option<Units>,
    machine: String,
    rows: Vec<Row>,
    errors: Verified,
}

/// A row of the history: the moments of the run beside the exact ones.
struct Row {
    step: u64,
    time: f64,
    found: Numbers,
    exact: Numbers,
}

/// Moments in the units of the results.
#[derive(Clone, Copy, Debug)]
struct Numbers {
    density: f64,
    velocity: f64,
    temperature: f64,
    pxx: f64,
    pyy: f64,
    qx: f64,
    /// Temperatures of translation and rotation, and heat flux of rotation.
    rotation: Option<[f64; 3]>,
}

impl Numbers {
    fn of(found: &HomogeneousMoments) -> Self {
        let found = found.in_thermal_units();
        let Moments {
            density,
            velocity,
            temperature,
            pressure,
            heat_flux,
        } = found.moments;
        Self {
            density,
            velocity: velocity[0],
            temperature,
            pxx: pressure[0],
            pyy: pressure[1],
            qx: heat_flux[0],
            rotation: found.rotation.map(|of| {
                [
                    of.temperature_translational,
                    of.temperature_rotational,
                    of.heat_flux_rotational[0],
                ]
            }),
        }
    }

    fn part(&self, part: usize) -> f64 {
        self.rotation.map_or(f64::NAN, |of| of[part])
    }

    /// Kinetic and internal energy.
    fn energy(&self, freedom: f64) -> f64 {
        let kinetic = self.velocity * self.velocity;
        0.5 * self.density * (kinetic + (3.0 + freedom) * self.temperature)
    }

    fn record(&self) -> Value {
        let mut record = json!({
            "density": self.density,
            "velocity": [self.velocity, 0.0, 0.0],
            "temperature": self.temperature,
            "pressure": [self.pxx, self.pyy, self.pyy, 0.0, 0.0, 0.0],
            "heat_flux": [self.qx, 0.0, 0.0],
        });
        if let Some([own, other, q]) = self.rotation {
            record["temperature_translational"] = json!(own);
            record["temperature_rotational"] = json!(other);
            record["heat_flux_rotational"] = json!([q, 0.0, 0.0]);
        }
        record
    }
}

/// A column of the history: its name, its value, and its name and unit in SI units.
type Column = (
    &'static str,
    fn(&Row) -> f64,
    Option<(&'static str, fn(&Units) -> f64)>,
);

/// Columns of any gas, those of molecules that rotate, and the exact values of both.
const COLUMNS: [Column; 7] = [
    ("time", |r| r.time, Some(("time_s", |u| u.time_s))),
    ("density", |r| r.found.density, None),
    ("ux", |r| r.found.velocity, None),
    (
        "temperature",
        |r| r.found.temperature,
        Some(("temperature_k", |u| u.temperature_k)),
    ),
    (
        "pxx",
        |r| r.found.pxx,
        Some(("pxx_pa", |u| u.pressure_pa / PRESSURE)),
    ),
    (
        "pyy",
        |r| r.found.pyy,
        Some(("pyy_pa", |u| u.pressure_pa / PRESSURE)),
    ),
    (
        "qx",
        |r| r.found.qx,
        Some(("qx_w_m2", |u| u.heat_flux_w_m2 / HEAT_FLUX)),
    ),
];
const OF_ROTATION: [Column; 3] = [
    (
        "temperature_translational",
        |r| r.found.part(0),
        Some(("temperature_translational_k", |u| u.temperature_k)),
    ),
    (
        "temperature_rotational",
        |r| r.found.part(1),
        Some(("temperature_rotational_k", |u| u.temperature_k)),
    ),
    (
        "heat_flux_rotational",
        |r| r.found.part(2),
        Some(("heat_flux_rotational_w_m2", |u| {
            u.heat_flux_w_m2 / HEAT_FLUX
        })),
    ),
];
const EXACT: [Column; 2] = [
    ("pxx_exact", |r| r.exact.pxx, None),
    ("qx_exact", |r| r.exact.qx, None),
];
const EXACT_OF_ROTATION: [Column; 3] = [
    ("temperature_translational_exact", |r| r.exact.part(0), None),
    ("temperature_rotational_exact", |r| r.exact.part(1), None),
    ("heat_flux_rotational_exact", |r| r.exact.part(2), None),
];

impl<'a> Outcome<'a> {
    pub(super) fn new(
        parameters: &'a ModelRelaxation,
        case: &'a Homogeneous,
        units: Option<Units>,
        machine: String,
        history: &[Record],
    ) -> Self {
        let mut exact = case.exact();
        let rows = history.iter().map(|record| Row {
            step: record.step,
            time: record.time,
            found: Numbers::of(&record.of),
            exact: Numbers::of(&exact.at(record.time)),
        });
        let mut outcome = Self {
            parameters,
            case,
            units,
            machine,
            rows: rows.collect(),
            errors: Verified::default(),
        };
        outcome.errors = Verified::known(&parameters.verify, outcome.findings());
        outcome
    }

    fn first(&self) -> &Row {
        self.rows
            .first()
            .expect("the history begins with the initial state")
    }

    fn last(&self) -> &Row {
        self.rows
            .last()
            .expect("the history begins with the initial state")
    }

    fn rotates(&self) -> bool {
        self.case.gas.rotating().is_some()
    }

    /// Whether something flows or is under stress at any time.
    fn exceeds(&self, of: impl Fn(&Numbers) -> f64) -> bool {
        let pressure = self.first().found.temperature;
        self.rows
            .iter()
            .any(|row| of(&row.found).abs() > NONE * pressure)
    }

    fn flows(&self) -> bool {
        self.exceeds(|n| n.qx)
    }

    fn is_stressed(&self) -> bool {
        self.exceeds(|n| n.pxx - n.pyy)
    }

    /// The last moments, whose errors are their differences to the exact ones.
    fn findings(&self) -> Vec<Finding> {
        let last = self.last();
        let (found, exact) = (&last.found, &last.exact);
        let heat = found.temperature.powf(1.5);
        let known = |name: &str, value: f64, truth: f64, scale: f64| {
            let error = (value - truth).abs();
            Finding {
                quantity: Quantity::new(name, value).of_scale(scale),
                error: Estimate {
                    total: error,
                    parts: vec![("exact", error)],
                },
            }
        };
        let whole = found.temperature;
        let mut findings = vec![known("temperature", whole, exact.temperature, whole)];
        if let (Some(own), Some(truth)) = (found.rotation, exact.rotation) {
            let names = ["temperature_translational", "temperature_rotational"];
            for (k, name) in names.into_iter().enumerate() {
                findings.push(known(name, own[k], truth[k], own[k]));
            }
        }
        findings.push(known("pressure_xx", found.pxx, exact.pxx, whole));
        if self.flows() {
            findings.push(known("heat_flux", found.qx, exact.qx, heat));
            if let (Some(own), Some(truth)) = (found.rotation, exact.rotation) {
                findings.push(known("heat_flux_rotational", own[2], truth[2], heat));
            }
        }
        findings
    }

    /// Largest departures of density, momentum and energy from their first values.
    fn drift(&self) -> [f64; 3] {
        let freedom = self.case.gas.rotating().map_or(0.0, |of| of.freedom);
        let first = &self.first().found;
        let largest = |of: &dyn Fn(&Numbers) -> f64| {
            let all = self.rows.iter().map(|row| of(&row.found).abs());
            all.fold(0.0, f64::max)
        };
        let thermal = first.density * first.temperature.sqrt();
        let momentum = |n: &Numbers| n.density * n.velocity;
        [
            largest(&|n| n.density / first.density - 1.0),
            largest(&|n| (momentum(n) - momentum(first)) / thermal),
            largest(&|n| n.energy(freedom) / first.energy(freedom) - 1.0),
        ]
    }

    /// Adds the results to `run.json`.
    pub(super) fn report(&self, report: &mut Report) {
        let (first, last) = (self.first(), self.last());
        report.set("machine", &self.machine);
        let mut result = json!({
            "steps": last.step,
            "time": last.time,
            "initial": first.found.record(),
            "final": last.found.record(),
            "exact_final": last.exact.record(),
        });
        if let Some(rotation) = self.case.gas.rotating() {
            result["rotation"] = recorded(&rotation);
        }
        if let Some(units) = &self.units {
            result["time_s"] = json!(last.time * units.time_s);
            if let Some([own, other, _]) = last.found.rotation {
                result["temperature_translational_k"] = json!(own * units.temperature_k);
                result["temperature_rotational_k"] = json!(other * units.temperature_k);
            }
        }
        self.errors.report(report, None);
        self.errors.record(&mut result);
        report.set("result", result);
        let [mass, momentum, energy] = self.drift();
        report.set(
            "conservation",
            json!({"drift": {"mass": mass, "momentum": momentum, "energy": energy}}),
        );
    }

    /// The history, and in further columns its quantities in SI units.
    fn history(&self) -> Result<Vec<u8>> {
        let mut columns = COLUMNS.to_vec();
        if self.rotates() {
            columns.extend(OF_ROTATION);
        }
        columns.extend(EXACT);
        if self.rotates() {
            columns.extend(EXACT_OF_ROTATION);
        }
        let si: Vec<_> = columns
            .iter()
            .filter_map(|&(_, value, si)| {
                let ((name, unit), units) = si.zip(self.units.as_ref())?;
                Some((name, value, unit(units)))
            })
            .collect();
        let own = columns.iter().map(|column| column.0);
        let names: Vec<&str> = std::iter::once("step")
            .chain(own)
            .chain(si.iter().map(|column| column.0))
            .collect();
        let rows = self.rows.iter().map(|row| {
            let own = columns.iter().map(|column| column.1(row));
            let si = si.iter().map(|(_, value, unit)| unit * value(row));
            (row.step, own.chain(si).collect::<Vec<f64>>())
        });
        output::table(&names, rows)
    }

    /// Writes table and plot.
    pub(super) fn write(&self, out: &mut Output) -> Result<()> {
        out.put("history.csv", &self.history()?)?;
        out.plot("moments.png", self.plot());
        Ok(())
    }

    fn title(&self) -> String {
        format!(
            "Relaxation by the {} model from {}",
            self.parameters.model(),
            self.parameters.init.in_words()
        )
    }

    fn plot(&self) -> Figure {
        let (unit, x) = match &self.units {
            Some(units) => (units.time_s, "time t in s"),
            None => (1.0, "time t p_0/μ_0"),
        };
        let curve = |label: &str, colour: usize, of: &dyn Fn(&Numbers) -> f64| {
            let points = self
                .rows
                .iter()
                .map(|row| (unit * row.time, of(&row.found)));
            Curve::new(label, points, COLOURS[colour])
        };
        let mut warm = vec![curve("T", 2, &|n| n.temperature).stroke(Stroke::Dashed)];
        if self.rotates() {
            warm.push(curve("of translation", 1, &|n| n.part(0)));
            warm.push(curve("of rotation", 0, &|n| n.part(1)));
        }
        let mut panels = vec![Panel::new(x, "temperature T/T_0", warm)];
        if self.is_stressed() {
            let stresses = vec![
                curve("P_{xx}", 1, &|n| n.pxx),
                curve("P_{yy}", 0, &|n| n.pyy),
            ];
            panels.push(Panel::new(x, "pressure P/p_0", stresses));
        }
        if self.flows() {
            let mut heat = vec![curve("q", 1, &|n| n.qx)];
            if self.rotates() {
                heat.push(curve("of rotation", 0, &|n| n.part(2)));
            }
            panels.push(Panel::new(x, "heat flux", heat));
        }
        Figure {
            title: self.title(),
            panels,
        }
    }

    /// The summary for people.
    pub(super) fn summary(&self, stepping: Duration, total: Duration) -> Summary {
        let (first, last) = (self.first(), self.last());
        let (a, b, exact) = (&first.found, &last.found, &last.exact);
        let (nodes, [low, high]) = self.parameters.velocities();
        let three = |of: &dyn Fn(&Numbers) -> f64| {
            format!("{:>14.8}  {:>14.8}  {:>14.8}", of(a), of(b), of(exact))
        };
        let gas = self.case.gas.rotating().map(|rotation| {
            let z = rotation.relaxation(1.0);
            let d = short(rotation.freedom);
            let pr = short(rotation.prandtl);
            format!("d = {d}, Z = {} mu/p, Prandtl number {pr}", short(z))
        });
        let si = self.units.as_ref().map(|units| {
            format!(
                "t = {} s, mu/p = {} s, T = {} K",
                short(last.time * units.time_s),
                short(units.time_s),
                short(b.temperature * units.temperature_k)
            )
        });
        let mut summary = Summary::new(format!(
            "{} on {nodes} velocities in [{}, {}]",
            self.title(),
            short(low),
            short(high)
        ))
        .row_if("gas", gas)
        .row(
            "backend",
            format!(
                "{}, {}",
                self.machine,
                name_of(&self.parameters.common.precision)
            ),
        )
        .row(
            "run",
            format!(
                "{} steps of {} to t = {}",
                last.step,
                short(self.parameters.dt()),
                short(last.time)
            ),
        )
        .row_if("in SI units", si)
        .row(
            "",
            format!("{:>14}  {:>14}  {:>14}", "initial", "final", "exact"),
        )
        .row("temperature", three(&|n| n.temperature));
        if self.rotates() {
            summary = summary
                .row("of translation", three(&|n| n.part(0)))
                .row("of rotation", three(&|n| n.part(1)));
        }
        summary = summary
            .row("Pxx", three(&|n| n.pxx))
            .row("Pyy", three(&|n| n.pyy));
        if self.flows() {
            summary = summary.row("qx", three(&|n| n.qx));
            if self.rotates() {
                summary = summary.row("of rotation", three(&|n| n.part(2)));
            }
        }
        let [mass, momentum, energy] = self.drift();
        (self.errors.rows(summary))
            .row(
                "drift",
                format!("mass {mass:.1e}, momentum {momentum:.1e}, energy {energy:.1e}"),
            )
            .wall_time(total, "steps", stepping)
    }
}
