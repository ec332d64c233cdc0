//! `rarefy dft`: the discrete Fourier transform with exact sums.

pub(super) mod input;

use std::path::PathBuf;
use std::time::{Duration, Instant};

use serde::Serialize;
use serde_json::json;

use super::failure::Failure;
use super::ledger::LedgerArgs;
use super::npy;
use super::options::Common;
use super::output;
use super::plot::{COLOURS, Curve, Figure, Panel, Stroke};
use super::progress::Progress;
use super::report::Report;
use super::streams;
use super::summary::Summary;
use super::text::{name_of, shown};
use super::values::count;
use crate::compute::Precision;
use crate::error::Result;
use crate::signed_digit::decimal::Decimal;
use crate::signed_digit::dft::{MAX_DIGITS, Signal, Spectrum, Transform, products};

const EXAMPLES: &str = "\
Input is an .npy array of n numbers, of n complex numbers or of shape (n, 2), or text with one number a line, or two with white
space between them: real and imaginary part. A table with the columns re and im, such as spectrum.csv, has these; --column names others. Numbers
in text are those of rarefy sum, of any length, and are not rounded.

Examples:
  rarefy dft x.npy --digits 30               y_k = 1/n sum x_j exp(-2 pi i j k / n), and the error of going back
  rarefy dft x.txt --digits 100 --out y      with all digits in y/spectrum.csv
  rarefy dft y/spectrum.csv --inverse        x_k = sum y_j exp(2 pi i j k / n)";

/// Points up to which the summary lists the spectrum.
const LISTED: usize = 32;

/// Transform a sequence with exact sums and cosines of any precision
///
/// The error is that of the cosines, about 10^-DIGITS of the largest number, however far apart the numbers are.
#[derive(Clone, Debug, Serialize, clap::Args)]
#[command(after_help = EXAMPLES)]
pub(super) struct DftArgs {
    /// The sequence: .npy or text; - is standard input
    #[arg(value_name = "FILE")]
    #[serde(serialize_with = "shown")]
    file: PathBuf,
    /// Digits after the point of the cosines and sines, and of the numbers written; where all of those are small, digits of the largest
    #[arg(long, value_name = "P", default_value = "30", value_parser = count)]
    digits: u64,
    /// The inverse transform, without the factor 1/n
    #[arg(long)]
    inverse: bool,
    #[command(flatten)]
    #[serde(flatten)]
    ledger: LedgerArgs,
    #[command(flatten)]
    #[serde(flatten)]
    common: Common,
}

/// Runs the transform.
pub(super) fn run(args: &DftArgs) -> std::result::Result<(), Failure> {
    let common = &args.common;
    let begun = Instant::now();
    let x = input::read(&args.file, &args.ledger)?;
    let digits = usize::try_from(args.digits).unwrap_or(usize::MAX);
    let mut report = Report::new("dft", args, common, begun);
    report.reads(&args.file);
    report.open()?;
    let backend = common.compute().resolve()?;
    let is_possible = digits <= MAX_DIGITS && !common.quiet;
    if let Some(seconds) = long(&x, digits).filter(|_| is_possible) {
        let time = indicatif::HumanDuration(seconds);
        streams::say(&format!(
            "rarefy: dft: {} points with {digits} digits take about {time:#} on this CPU",
            x.len()
        ));
    }
    let progress = Progress::new("dft", common.quiet);
    let started = Instant::now();
    let transform = Transform::new(x.len(), digits)?;
    let table = started.elapsed();
    let started = Instant::now();
    let n = x.len() as u64;
    // Without 1/n, the inverse is exact over 1, and forward again over n.
    let (y, back) = if args.inverse {
        let whole = Spectrum {
            scaled: x.clone(),
            divisor: 1,
        };
        let y = transform.inverse(&whole, &backend)?;
        let back = transform.forward(&y.scaled, &backend)?;
        (y, back)
    } else {
        let y = transform.forward(&x, &backend)?;
        let back = transform.inverse(&y, &backend)?;
        (y, back)
    };
    let spent = started.elapsed();
    progress.finish();
    let outcome = Outcome {
        file: args.file.display().to_string(),
        machine: backend.describe(),
        rounded: y.round_f64(),
        percent: 100.0 * back.relative_error(&x),
        y,
        x,
        spent,
    };

    if outcome
        .rounded
        .iter()
        .flatten()
        .any(|part| part.is_infinite())
    {
        report.warn("numbers beyond the range of f64 are null in the object of --json; spectrum.csv has their digits".into());
    }
    if outcome.loses_digits() {
        report.warn(
            "numbers below 2.2e-308 are 0 or have few digits in spectrum.npy and in the object of --json; spectrum.csv has their digits"
                .into(),
        );
    }
    report.time("table", table);
    report.time("transforms", spent);
    report.set("input", &outcome.file);
    report.set("machine", &outcome.machine);
    report.set("count", n);
    report.set(
        "re",
        outcome.rounded.iter().map(|y| y[0]).collect::<Vec<_>>(),
    );
    report.set(
        "im",
        outcome.rounded.iter().map(|y| y[1]).collect::<Vec<_>>(),
    );
    report.set("round_trip_error_percent", outcome.percent);
    // The spectrum itself is beside it, and in a file.
    report.set(
        "result",
        json!({ "count": n, "round_trip_error_percent": outcome.percent }),
    );
    report.set("elapsed_s", begun.elapsed().as_secs_f64());
    let columns: Vec<f64> = outcome.rounded.iter().flatten().copied().collect();
    let fits = match npy::check_range("spectrum.npy", &columns, common.precision) {
        // Nothing holds what f64 does not, but spectrum.csv.
        Err(error) if common.out.is_some() && common.precision == Precision::F32 => {
            return Err(error.into());
        }
        Err(_) if report.folder().is_some() => {
            report.warn("there is no spectrum.npy: numbers are beyond its range".into());
            false
        }
        fits => fits.is_ok(),
    };
    report.write(|out| {
        if fits {
            let shape = [outcome.rounded.len(), 2];
            out.array("spectrum.npy", &shape, &columns, common.precision)?;
        }
        out.put("spectrum.csv", &outcome.table(digits)?)?;
        out.plot("spectrum.png", outcome.plot(args.inverse));
        Ok(())
    })?;
    report.finish(|total| outcome.summary(args, total))
}

/// The time of a transform on the CPU, where it is long.
fn long(x: &Signal, digits: usize) -> Option<Duration> {
    const PRODUCTS_A_SECOND: f64 = 2e9;
    const LONG: f64 = 10.0;
    let cores = rayon::current_num_threads() as f64;
    let seconds = products(x, digits) / (PRODUCTS_A_SECOND * cores);
    let time = Duration::try_from_secs_f64(seconds).unwrap_or(Duration::MAX);
    (seconds > LONG).then_some(time)
}

struct Outcome {
    file: String,
    machine: String,
    x: Signal,
    y: Spectrum,
    rounded: Vec<[f64; 2]>,
    percent: f64,
    spent: Duration,
}

impl Outcome {
    /// Places after the point that show as many digits of the largest number as the cosines have; at least so many.
    fn places(&self, digits: usize) -> usize {
        let Signal { re, im } = &self.y.scaled;
        let magnitudes = re.iter().chain(im).filter_map(Decimal::magnitude);
        let divisor = (self.y.divisor as f64).log10().ceil() as i64;
        let largest = magnitudes.max().unwrap_or(0).saturating_sub(divisor);
        digits.saturating_add(usize::try_from(-largest).unwrap_or(0))
    }

    /// Whether a number is too small for all digits of an `f64`.
    fn loses_digits(&self) -> bool {
        let Signal { re, im } = &self.y.scaled;
        let parts = [re, im].into_iter().zip([0, 1]);
        let mut pairs = parts.flat_map(|(exact, part)| {
            let rounded = self.rounded.iter().map(move |y| y[part]);
            exact.iter().zip(rounded)
        });
        pairs.any(|(exact, rounded)| !exact.is_zero() && rounded.abs() < f64::MIN_POSITIVE)
    }

    /// Real and imaginary part of a number with the digits of an `f64`, beyond its range too.
    fn shown(&self, k: usize) -> [String; 2] {
        let Signal { re, im } = &self.y.scaled;
        let part = |exact: Option<&Decimal>, rounded: f64| match exact {
            Some(exact) if !exact.is_zero() && !rounded.is_normal() => {
                exact.quotient_text(self.y.divisor)
            }
            _ => format!("{rounded:e}"),
        };
        let [x, y] = self.rounded[k];
        [part(re.get(k), x), part(im.get(k), y)]
    }

    fn table(&self, digits: usize) -> Result<Vec<u8>> {
        let Signal { re, im } = self.y.rounded(self.places(digits));
        let rows = re.iter().zip(&im).enumerate();
        output::table(
            &["k", "re", "im"],
            rows.map(|(k, (re, im))| (k, re.to_string(), im.to_string())),
        )
    }

    fn plot(&self, inverse: bool) -> Figure {
        let (name, other) = if inverse { ("x", "y") } else { ("y", "x") };
        let log = |values: Vec<[f64; 2]>| -> Vec<(f64, f64)> {
            values
                .into_iter()
                .enumerate()
                .map(|(k, [re, im])| (k as f64, re.hypot(im).log10()))
                .collect()
        };
        let given = (0..self.x.len())
            .map(|i| {
                [&self.x.re, &self.x.im].map(|part| part.get(i).map_or(0.0, |x| x.round_f64()))
            })
            .collect();
        let panel = |index: &str, name: &str, points, colour: usize| {
            Panel::new(
                format!("index {index}"),
                format!("log_{{10}} |{name}_{index}|"),
                vec![
                    Curve::new(format!("|{name}_{index}|"), points, COLOURS[colour])
                        .stroke(Stroke::Dotted),
                ],
            )
        };
        Figure {
            title: format!("Discrete Fourier transform, {} points", self.rounded.len()),
            panels: vec![
                panel("j", other, log(given), 1),
                panel("k", name, log(self.rounded.clone()), 0),
            ],
        }
    }

    fn summary(&self, p: &DftArgs, total: Duration) -> Summary {
        let what = if p.inverse {
            "Inverse discrete Fourier transform"
        } else {
            "Discrete Fourier transform"
        };
        let mut summary = Summary::new(format!(
            "{what} of {}, {} points",
            self.file,
            self.rounded.len()
        ))
        .row("digits", format!("{} in the cosines, exact sums", p.digits))
        .row(
            "backend",
            format!(
                "{}, arrays in {}",
                self.machine,
                name_of(&p.common.precision)
            ),
        )
        .row(
            "there, back",
            format!("largest relative error {:.3e} %", self.percent),
        )
        .wall_time(total, "the transforms", self.spent);
        if self.rounded.len() <= LISTED {
            summary = summary.line(format!("{:>2}  {:>24}  {:>24}", "k", "re", "im"));
            for k in 0..self.rounded.len() {
                let [re, im] = self.shown(k);
                summary = summary.line(format!("{k:>2}  {re:>24}  {im:>24}"));
            }
        }
        summary
    }
}
