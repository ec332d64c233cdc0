//! Results of integrals: record, table, plot, summary.

use std::collections::BTreeMap;
use std::time::Duration;

use serde_json::{Value, json};

use super::problem::{LIMITS, Rows, UPPER};
use crate::cli::failure::Failure;
use crate::cli::output;
use crate::cli::plot::{COLOURS, Curve, Figure, Panel, Scale, Stroke};
use crate::cli::report::Report;
use crate::cli::summary::Summary;
use crate::cli::text::{self, name_of};
use crate::compute::Precision;
use crate::error::{Error, Result};
use crate::longman::{Imaginary, Integral, Proof, Status};

/// Most integrals in the table of the summary.
const SHOWN: usize = 20;

/// Columns of a result, before those of its parameters.
const COLUMNS: [&str; 7] = [
    "value",
    "error",
    "status",
    "accelerator",
    "condition",
    "proof",
    "examined",
];

/// Columns of the imaginary part of complex integrals.
const IMAGINARY: [&str; 2] = ["imaginary", "imaginary_error"];

/// A result in JSON, which has no NaN: a number that is not finite is null.
fn object(result: &Integral) -> serde_json::Map<String, Value> {
    let values = [
        json!(result.value),
        json!(result.error),
        json!(result.status.name()),
        json!(result.accelerator.name()),
        json!(result.condition),
        json!(result.proof.name()),
        json!(result.examined),
    ];
    let mut object: serde_json::Map<String, Value> =
        COLUMNS.map(str::to_owned).into_iter().zip(values).collect();
    if let Some(part) = result.imaginary {
        let values = [json!(part.value), json!(part.error)];
        object.extend(IMAGINARY.map(str::to_owned).into_iter().zip(values));
    }
    // Those of OK have none.
    if let Some(reason) = result.reason() {
        object.insert("reason".to_owned(), json!(reason));
    }
    object
}

pub(super) struct Outcome<'a> {
    pub(super) results: &'a [Integral],
    /// Names of the parameters, and their values.
    pub(super) names: &'a [String],
    pub(super) rows: &'a Rows,
    pub(super) machine: String,
    pub(super) precision: Precision,
}

impl Outcome<'_> {
    fn counts(&self) -> Vec<(Status, usize)> {
        let count = |status| self.results.iter().filter(|r| r.status == status).count();
        Status::ALL.map(|status| (status, count(status))).to_vec()
    }

    pub(super) fn report(&self, report: &mut Report, spent: Duration) {
        report.set("machine", &self.machine);
        report.set("integrals", self.results.len());
        let counts: serde_json::Map<String, serde_json::Value> = self
            .counts()
            .into_iter()
            .map(|(status, count)| (status.name().to_owned(), json!(count)))
            .collect();
        report.set("statuses", counts);
        let rate = self.results.len() as f64 / spent.as_secs_f64();
        report.set("integrals_per_second", rate);
        if let [result] = self.results {
            report.set("result", object(result));
        } else {
            // Those of each integral are in the table.
            report.set("result", json!({ "integrals": self.results.len() }));
        }
    }

    /// How many integrals have which status.
    fn statuses(&self) -> String {
        let counts = self.counts().into_iter().filter(|(_, count)| *count > 0);
        let texts = counts.map(|(status, count)| format!("{count} {}", status.name()));
        texts.collect::<Vec<_>>().join(", ")
    }

    /// Fails where there are integrals and none of them is OK.
    pub(super) fn valid(&self) -> std::result::Result<(), Failure> {
        if self.results.is_empty() || self.results.iter().any(|r| r.status == Status::Ok) {
            return Ok(());
        }
        let invalid = |result: &Integral| result.status == Status::InvalidArgument;
        let hint = match &self.rows.zeros {
            _ if !self.results.iter().all(invalid) => "",
            Some(zeros) => zeros,
            None => {
                "; a frequency is at least 0, a half period positive, every parameter a number; samples, families in two variables and whole integrands have a lower limit of at least 0 and no upper one"
            }
        };
        let reason = match self.results {
            [one] if hint.is_empty() => one.reason().map(|reason| format!("; {reason}")),
            _ => None,
        };
        let reason = reason.unwrap_or_default();
        let text = format!("no integral is OK: {}{hint}{reason}", self.statuses());
        Err(Error::Numerical(text).into())
    }

    /// Columns of the parameters: the limits first, by names that no other column has.
    fn inputs(&self) -> Vec<String> {
        let taken = |name: &str| self.names.iter().any(|known| known == name);
        let free = |names: &[&'static str]| names.iter().copied().find(|name| !taken(name));
        let mut columns = vec![free(&LIMITS).unwrap_or("lower limit").to_owned()];
        if self.rows.bounded {
            columns.push(free(&UPPER).unwrap_or("upper limit").to_owned());
        }
        columns.extend(self.names.iter().map(
            |name| match self.columns().contains(&name.as_str()) {
                true => format!("parameter {name}"),
                false => name.clone(),
            },
        ));
        columns
    }

    /// Values of the columns of the parameters in a row.
    fn inputs_of(&self, row: usize) -> impl Iterator<Item = f64> + '_ {
        let upper = self.rows.bounded.then_some(&self.rows.upper);
        let limits = std::iter::once(&self.rows.lower).chain(upper);
        let columns = limits.chain(&self.rows.columns);
        columns.map(move |column| column[row])
    }

    /// Whether some integral is complex.
    fn is_complex(&self) -> bool {
        self.results.iter().any(|r| r.imaginary.is_some())
    }

    /// Columns of a result, without those of its parameters.
    fn columns(&self) -> Vec<&'static str> {
        let imaginary: &[&str] = if self.is_complex() { &IMAGINARY } else { &[] };
        [&COLUMNS[..], imaginary].concat()
    }

    pub(super) fn table(&self) -> Result<Vec<u8>> {
        let complex = self.is_complex();
        let mut columns: Vec<String> = self.columns().into_iter().map(str::to_owned).collect();
        columns.extend(self.inputs());
        let columns: Vec<&str> = columns.iter().map(String::as_str).collect();
        let rows = self.results.iter().enumerate().map(|(i, r)| {
            let own = (
                r.value,
                r.error,
                r.status.name(),
                r.accelerator.name(),
                r.condition,
                r.proof.name(),
                r.examined,
            );
            let none = Imaginary {
                value: f64::NAN,
                error: f64::INFINITY,
            };
            let part = r.imaginary.unwrap_or(none);
            let mut rest = Vec::new();
            if complex {
                rest.extend([part.value, part.error]);
            }
            rest.extend(self.inputs_of(i));
            (own, rest)
        });
        output::table(&columns, rows)
    }

    /// The rows of the table as objects.
    pub(super) fn objects(&self) -> Vec<serde_json::Map<String, Value>> {
        let inputs = self.inputs();
        let rows = self.results.iter().enumerate().map(|(i, r)| {
            let mut row = object(r);
            let values = inputs
                .iter()
                .cloned()
                .zip(self.inputs_of(i).map(|v| json!(v)));
            row.extend(values);
            row
        });
        rows.collect()
    }

    /// Relative error estimates against condition numbers, the largest of each fortieth of a decade: what lies on the dashed line could not be
    /// better.
    pub(super) fn plot(&self) -> Figure {
        let mut largest: BTreeMap<i64, (f64, f64)> = BTreeMap::new();
        for r in self.results {
            let point = (r.condition, r.error / r.value.abs());
            if point.0.is_finite() && point.1.is_finite() && point.0 > 0.0 && point.1 > 0.0 {
                let bin = (40.0 * point.0.log10()).floor() as i64;
                let place = largest.entry(bin).or_insert(point);
                if point.1 > place.1 {
                    *place = point;
                }
            }
        }
        let points: Vec<(f64, f64)> = largest.into_values().collect();
        let reach = match (points.first(), points.last()) {
            (Some(first), Some(last)) => (first.0.min(1.0), last.0.max(10.0)),
            _ => (1.0, 10.0),
        };
        let epsilon = match self.precision {
            Precision::F32 => f64::from(f32::EPSILON),
            Precision::F64 => f64::EPSILON,
        };
        Figure {
            title: format!("Error estimates of {} integrals", self.results.len()),
            panels: vec![
                Panel::new(
                    "condition number (dimensionless)",
                    "estimated relative error (dimensionless)",
                    vec![
                        Curve::new("largest estimate", points, COLOURS[0]).stroke(Stroke::Dotted),
                        Curve::new(
                            "condition ε",
                            vec![(reach.0, reach.0 * epsilon), (reach.1, reach.1 * epsilon)],
                            COLOURS[1],
                        )
                        .stroke(Stroke::Dashed),
                    ],
                )
                .reach(reach)
                .scale(Scale::Logarithmic),
            ],
        }
    }

    /// The values of a table over the frequency, those of the status OK.
    pub(super) fn table_plot(&self, title: &str, is_log: bool) -> Option<Figure> {
        let column = self.names.iter().position(|name| name == "frequency")?;
        let rows = self.rows.columns.get(column)?.iter().zip(self.results);
        let points: Vec<(f64, f64)> = rows
            .filter(|(_, r)| r.status == Status::Ok)
            .map(|(frequency, r)| (*frequency, r.value))
            .collect();
        let curve = Curve::new("value", points, COLOURS[0]).stroke(Stroke::Dotted);
        let panel = Panel::new("frequency", "integral", vec![curve]);
        Some(Figure {
            title: title.to_owned(),
            panels: vec![if is_log {
                panel.logarithmic_across()
            } else {
                panel
            }],
        })
    }

    pub(super) fn summary(&self, title: &str, spent: Duration, total: Duration) -> Summary {
        let count = self.results.len();
        let what = if count == 1 {
            "Integral".to_owned()
        } else {
            format!("{count} integrals")
        };
        let mut summary = Summary::new(format!("{what} of {title}")).row(
            "backend",
            format!("{}, {}", self.machine, name_of(&self.precision)),
        );
        if let [r] = self.results {
            let proof = match r.proof {
                Proof::Sampled => format!(
                    "sampled up to x = {}; nothing is said of what lies beyond or between the samples",
                    text::short(r.examined)
                ),
                proof => proof.to_string(),
            };
            summary = summary
                .row("value", format!("{:?}", r.value))
                .row("error", format!("{:.3e}", r.error));
            if let Some(part) = r.imaginary {
                summary = summary
                    .row("imaginary", format!("{:?}", part.value))
                    .row("its error", format!("{:.3e}", part.error));
            }
            summary = summary
                .row("status", r.status)
                .row("accelerator", r.accelerator)
                .row("condition", format!("{:.4e}", r.condition))
                .row("proof", proof);
        } else {
            if count <= SHOWN {
                summary = summary.line(format!(
                    "{:>24}  {:>10}  {:<16}  {:<11}  {:>10}",
                    "value", "error", "status", "accelerator", "condition"
                ));
                for r in self.results {
                    summary = summary.line(format!(
                        "{:>24}  {:>10.3e}  {:<16}  {:<11}  {:>10.3e}",
                        format!("{:?}", r.value),
                        r.error,
                        r.status.name(),
                        r.accelerator.name(),
                        r.condition
                    ));
                }
            }
            summary = summary.row("statuses", self.statuses());
        }
        summary.wall_time(total, "the integrals", spent)
    }
}
