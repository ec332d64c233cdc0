//! `rarefy paper digits`: the figures of the paper on signed digits, from its two examples.

use std::time::{Duration, Instant};

use serde::Serialize;

use crate::cli::failure::Failure;
use crate::cli::options::{Common, without_effect};
use crate::cli::output::columns;
use crate::cli::plot::{COLOURS, Curve, Figure, Panel, Stroke};
use crate::cli::report::Report;
use crate::cli::values::count;
use crate::compute::{Precision, Resolved};
use crate::error::Result;
use crate::signed_digit::decimal;
use crate::signed_digit::dft::Transform;
use crate::signed_digit::paper::introduction::{
    VECTORS_DOT, dot_error, sequence, transform_error, vectors,
};

const EXAMPLES: &str = "\
Examples:
  rarefy paper digits                                            both tables
  rarefy paper digits --out figures                              figures 2 and 3 as .csv and .png";

/// Largest exponent beta of the first example, as in the paper.
const MOST_BETA: i32 = 21;
/// Largest exponent of alpha in the second example.
const MOST_ALPHA: i32 = 20;

/// Compare floating point with exact signed digits where floating point fails: the paper's figures
///
/// A dot product of six terms, of which four cancel, for numbers of growing size (figure 2); and a Fourier transform and its inverse,
/// which should give back what went in, with a growing number added to every second value (figure 3). Errors are in percent.
#[derive(Clone, Debug, Serialize, clap::Args)]
#[command(after_help = EXAMPLES)]
pub(super) struct DigitsArgs {
    /// Digits of the cosines and sines in the exact transform
    #[arg(long, value_name = "P", default_value = "30", value_parser = count)]
    digits: u64,
    #[command(flatten)]
    #[serde(flatten)]
    common: Common,
}

/// Errors in percent of `f32`, of `f64` and of exact digits, for an exponent of ten.
#[derive(Clone, Copy, Debug, Serialize)]
struct Errors {
    exponent: i32,
    f32_percent: f64,
    f64_percent: f64,
    exact_percent: f64,
}

/// Runs the command.
pub(super) fn run(args: &DigitsArgs) -> std::result::Result<(), Failure> {
    let common = &args.common;
    let begun = Instant::now();
    without_effect(
        "paper digits, which compares f32, f64 and exact sums",
        &[("precision", common.precision != Precision::F64)],
    )?;
    let mut report = Report::new("paper digits", args, common, begun);
    report.open()?;
    let backend = common.compute().resolve()?;
    let dots = dot_products(&backend)?;
    let digits = usize::try_from(args.digits).unwrap_or(usize::MAX);
    let transforms = transforms(digits, &backend)?;
    report.set("machine", backend.describe());
    report.set("dot_products", &dots);
    report.set("transforms", &transforms);
    report.write(|out| {
        out.put("figure_2.csv", &table("beta", &dots)?)?;
        out.plot("figure_2.png", figure_2(&dots));
        out.put("figure_3.csv", &table("lg_alpha", &transforms)?)?;
        out.plot("figure_3.png", figure_3(&transforms, digits));
        Ok(())
    })?;
    report.finish(|total| summary(&dots, &transforms, digits, &backend.describe(), total))
}

/// The paper's first example, for all beta.
fn dot_products(backend: &Resolved) -> Result<Vec<Errors>> {
    let of = |beta| {
        let [x, y] = vectors(1, beta);
        let exact = decimal::dot(&x, &y, backend)?.round_f64();
        let right = f64::from(VECTORS_DOT);
        Ok(Errors {
            exponent: beta,
            f32_percent: dot_error::<f32>(&x, &y),
            f64_percent: dot_error::<f64>(&x, &y),
            exact_percent: (exact - right).abs() / right * 100.0,
        })
    };
    (1..=MOST_BETA).map(of).collect()
}

/// The second one, with 16 points as in the paper.
fn transforms(digits: usize, backend: &Resolved) -> Result<Vec<Errors>> {
    let transform = Transform::new(16, digits)?;
    let of = |alpha| {
        let x = sequence(16, alpha);
        let y = transform.forward(&x, backend)?;
        Ok(Errors {
            exponent: alpha,
            f32_percent: transform_error::<f32>(&x),
            f64_percent: transform_error::<f64>(&x),
            exact_percent: 100.0 * transform.inverse(&y, backend)?.relative_error(&x),
        })
    };
    (0..=MOST_ALPHA).map(of).collect()
}

fn table(exponent: &str, rows: &[Errors]) -> Result<Vec<u8>> {
    let text = |percent: f64| format!("{percent:e}");
    columns!(rows, |row| [
        (exponent, row.exponent),
        ("f32_percent", text(row.f32_percent)),
        ("f64_percent", text(row.f64_percent)),
        ("exact_percent", text(row.exact_percent)),
    ])
}

/// Logarithms of errors over an exponent; an error of 0 has no place.
fn panel(x: &str, rows: &[Errors], exact: String) -> Panel {
    let curve = |label: String, colour: usize, of: fn(&Errors) -> f64| {
        Curve::new(
            label,
            rows.iter()
                .filter(|row| of(row) > 0.0)
                .map(|row| (f64::from(row.exponent), of(row).log10())),
            COLOURS[colour],
        )
        .stroke(Stroke::Dotted)
    };
    Panel::new(
        x,
        "log_{10} of the error in %",
        vec![
            curve("f32".into(), 1, |row| row.f32_percent),
            curve("f64".into(), 0, |row| row.f64_percent),
            curve(exact, 2, |row| row.exact_percent),
        ],
    )
}

fn figure_2(rows: &[Errors]) -> Figure {
    Figure {
        title: "Figure 2: a dot product of six terms that is 8779 for every beta".into(),
        panels: vec![panel(
            "exponent beta of the second factors",
            rows,
            "exact digits: 0".into(),
        )],
    }
}

fn figure_3(rows: &[Errors], digits: usize) -> Figure {
    Figure {
        title: "Figure 3: a Fourier transform of 16 points, there and back".into(),
        panels: vec![panel(
            "log_{10} of alpha",
            rows,
            format!("exact, {digits} digits"),
        )],
    }
}

fn summary(
    dots: &[Errors],
    transforms: &[Errors],
    digits: usize,
    machine: &str,
    total: Duration,
) -> String {
    let mut lines = vec![format!(
        "Errors in percent of floating point and of exact digits ({machine}, {:.2} s)",
        total.as_secs_f64()
    )];
    for (title, exponent, rows) in [
        (
            "Dot product of six terms (figure 2)".to_owned(),
            "beta",
            dots,
        ),
        (
            format!("Fourier transform there and back, {digits} digits (figure 3)"),
            "lg alpha",
            transforms,
        ),
    ] {
        lines.push(format!("\n{title}"));
        lines.push(format!(
            "{exponent:>10}{:>12}{:>12}{:>12}",
            "f32", "f64", "exact"
        ));
        for row in rows {
            lines.push(format!(
                "{:>10}{:>12.2e}{:>12.2e}{:>12.2e}",
                row.exponent, row.f32_percent, row.f64_percent, row.exact_percent
            ));
        }
    }
    lines.join("\n")
}
