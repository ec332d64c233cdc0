//! `rarefy sum` and `rarefy dot`: exact sums and dot products of files of numbers.

mod axis;
mod outcome;

use std::path::{Path, PathBuf};
use std::time::Instant;

use num_bigint::BigInt;
use serde::Serialize;

use super::failure::Failure;
use super::npy;
use super::numbers::{self, Element, Fixed, Kind, Layout, Numbers};
use super::options::{self, Common};
use super::report::Report;
use super::text::{name_of, shown_if};
use super::values::{integer, named};
use crate::compute::{Compute, Precision, Resolved};
use crate::error::{Error, Result};
use crate::signed_digit::decimal::{self, Decimal, TextSum};
use crate::signed_digit::float::{ExactAccumulator, ExactEngine, Float};
use axis::Sums;
use outcome::{Answer, Exact, Outcome, Quantity};

const SUM_EXAMPLES: &str = "\
Examples:
  rarefy sum x.npy                    correctly rounded to f64
  rarefy sum x.npy --round f32        correctly rounded to f32, in one step
  rarefy sum x.npy --exact            and the exact value in full
  rarefy sum x.npy --axis -1          of each row, correctly rounded; into a file by --output sums.npy
  rarefy sum numbers.txt              one decimal number a line, of any length: the exact sum
  rarefy sum x.npy --norm --json      Euclidean norm, as JSON";

const DOT_EXAMPLES: &str = "\
Examples:
  rarefy dot x.npy y.npy              correctly rounded to f64
  rarefy dot x.txt y.txt              the exact dot product of decimal numbers";

/// Sum an array or a list of numbers exactly, and round once
///
/// FILE is a .npy array of float32, float64 or integers, or text with one decimal number of any length, with an optional exponent, a line. Of
/// floating-point numbers the correctly rounded sum is printed, the same for every order, machine and number of threads; of
/// integers and decimal numbers the exact sum. The sum of nothing is 0. NaN, infinities and -0 of arrays follow IEEE 754; a decimal number is exact, and its
/// zero has no sign.
#[derive(Clone, Debug, Serialize, clap::Args)]
#[command(after_help = SUM_EXAMPLES)]
pub(super) struct SumArgs {
    /// Numbers: a .npy array, or text with a decimal number a line; - is standard input
    #[arg(required_unless_present = "input")]
    #[serde(serialize_with = "shown_if")]
    file: Option<PathBuf>,
    /// The same as FILE
    #[arg(long, value_name = "FILE", conflicts_with = "file")]
    #[serde(skip)]
    input: Option<PathBuf>,
    /// Sum the magnitudes |x|
    #[arg(long, conflicts_with_all = ["squares", "norm", "mean"])]
    #[serde(skip_serializing_if = "std::ops::Not::not")]
    abs: bool,
    /// Sum the squares x^2
    #[arg(long, conflicts_with_all = ["norm", "mean"])]
    #[serde(skip_serializing_if = "std::ops::Not::not")]
    squares: bool,
    /// Euclidean norm: the root of the exact sum of squares, correctly rounded
    #[arg(long, conflicts_with = "mean")]
    #[serde(skip_serializing_if = "std::ops::Not::not")]
    norm: bool,
    /// Mean: the exact sum divided by the count, correctly rounded
    #[arg(long)]
    #[serde(skip_serializing_if = "std::ops::Not::not")]
    mean: bool,
    /// Sums along an axis of an array of floating-point numbers, each correctly rounded; negative numbers count from the last axis
    #[arg(long, value_name = "N", allow_negative_numbers = true, value_parser = integer)]
    #[arg(conflicts_with_all = ["abs", "squares", "norm", "mean"])]
    axis: Option<i64>,
    #[command(flatten)]
    #[serde(flatten)]
    result: ResultArgs,
    #[command(flatten)]
    #[serde(flatten)]
    common: Common,
}

/// Multiply two arrays or lists of numbers element by element and sum exactly, and round once
///
/// X and Y are files as `rarefy sum` takes them, of one length. Products neither overflow nor underflow on the way.
#[derive(Clone, Debug, Serialize, clap::Args)]
#[command(after_help = DOT_EXAMPLES)]
pub(super) struct DotArgs {
    /// First factors: a .npy array, or text with a decimal number a line; - is standard input
    #[arg(required_unless_present = "input")]
    #[serde(serialize_with = "shown_if")]
    x: Option<PathBuf>,
    /// Second factors
    #[arg(required_unless_present = "input")]
    #[serde(serialize_with = "shown_if")]
    y: Option<PathBuf>,
    /// A file of factors that X and Y do not name, after those that they do; may be repeated
    #[arg(long, value_name = "FILE")]
    #[serde(skip)]
    input: Vec<PathBuf>,
    #[command(flatten)]
    #[serde(flatten)]
    result: ResultArgs,
    #[command(flatten)]
    #[serde(flatten)]
    common: Common,
}

/// Flags about the result.
#[derive(Clone, Debug, Serialize, clap::Args)]
pub(super) struct ResultArgs {
    /// Type that the result is rounded to, once [default: that of --precision; the result of integers and of text is exact]
    #[arg(long, value_parser = named::<Precision>(&["f32", "f64"]))]
    round: Option<Precision>,
    /// Also print the exact value before rounding, in full
    #[arg(long)]
    exact: bool,
    /// Where to write the result: an array where the name ends in .npy, else text; - is standard output [default: standard output]
    #[arg(long, value_name = "FILE")]
    #[serde(skip)]
    output: Option<PathBuf>,
}

/// Runs `rarefy sum`.
pub(super) fn run_sum(args: &SumArgs) -> std::result::Result<(), Failure> {
    let quantity = match args {
        SumArgs { abs: true, .. } => Quantity::Abs,
        SumArgs { squares: true, .. } => Quantity::Squares,
        SumArgs { norm: true, .. } => Quantity::Norm,
        SumArgs { mean: true, .. } => Quantity::Mean,
        SumArgs {
            axis: Some(axis), ..
        } => Quantity::Axis(*axis),
        _ => Quantity::Sum,
    };
    let file = args.file.as_ref().or(args.input.as_ref());
    let full = SumArgs {
        file: file.cloned(),
        ..args.clone()
    };
    let files = Vec::from_iter(file);
    run("sum", quantity, &files, (&args.result, &full), &args.common)
}

/// Runs `rarefy dot`.
pub(super) fn run_dot(args: &DotArgs) -> std::result::Result<(), Failure> {
    let files: Vec<&PathBuf> = args.x.iter().chain(&args.y).chain(&args.input).collect();
    if files.len() != 2 {
        return Err(Failure::Usage(format!(
            "a dot product needs two files, X and Y, not {}",
            files.len()
        )));
    }
    let full = DotArgs {
        x: Some(files[0].clone()),
        y: Some(files[1].clone()),
        ..args.clone()
    };
    run(
        "dot",
        Quantity::Dot,
        &files,
        (&args.result, &full),
        &args.common,
    )
}

fn run(
    command: &str,
    quantity: Quantity,
    paths: &[&PathBuf],
    (result, full): (&ResultArgs, &impl Serialize),
    common: &Common,
) -> std::result::Result<(), Failure> {
    let begun = Instant::now();
    let mode = match quantity {
        Quantity::Norm | Quantity::Mean => Some(format!(
            "--{}, whose decimal digits have no end",
            name_of(&quantity)
        )),
        Quantity::Axis(_) => Some("--axis, whose sums are rounded".to_owned()),
        _ => None,
    };
    if let Some(mode) = mode {
        options::without_effect(&mode, &[("exact", result.exact)])?;
    }
    let round = result.round.unwrap_or(common.precision);
    let mut report = Report::new(command, full, common, begun);
    paths.iter().for_each(|path| report.reads(path));
    report.open_given()?;
    let output = result.output.as_deref();
    let output = output.filter(|path| *path != Path::new("-"));
    if let Some(path) = output {
        report.claim(path)?;
    }
    if paths.iter().filter(|path| *path == &Path::new("-")).count() > 1 {
        return Err(Failure::Usage(
            "standard input can be one of the vectors only".into(),
        ));
    }
    let inputs: Vec<Numbers> = paths
        .iter()
        .map(|path| Numbers::open(path))
        .collect::<Result<_>>()?;
    let is_exact = inputs.iter().all(Numbers::is_exact);
    let array = output.filter(|path| axis::is_array(path));
    if let Some(path) = array {
        let mode = format!("--output {}, an array of rounded numbers", path.display());
        options::without_effect(&mode, &[("exact", result.exact)])?;
        if is_exact && result.round.is_none() {
            return Err(Failure::Usage(format!(
                "--output {}: an array has no room for the exact result of integers or decimal numbers; --round f64 rounds it, and a file of \
                 another ending, such as sum.txt, holds it",
                path.display()
            )));
        }
    }
    let opened = Instant::now();
    let outcome = match inputs.as_slice() {
        [x, y] => dot(x, y, common.compute())?,
        [x, ..] => sum(x, quantity, round, common.compute())?,
        [] => return Err(Failure::Usage("a file is needed".into())),
    };
    let array_alone = matches!(outcome.value, Exact::Rounded(_))
        && array.is_some()
        && !common.json
        && common.out.is_none();
    if !array_alone {
        outcome.check_text()?;
    }
    // The exact result of integers and decimal numbers is rounded only on request.
    let in_full = is_exact && result.round.is_none();
    let answer = match round {
        _ if array_alone => Answer::default(),
        Precision::F32 => outcome.answer::<f32>(quantity, in_full, |text| text.parse().ok()),
        Precision::F64 => outcome.answer::<f64>(quantity, in_full, |text| text.parse().ok()),
    };
    let spent = opened.elapsed();

    report.set("value", &answer.value);
    report.set("exact", &answer.exact);
    report.set("bits", &answer.bits);
    report.set("count", outcome.count);
    report.set("elapsed_s", spent.as_secs_f64());
    let names: Vec<String> = paths
        .iter()
        .map(|path| path.display().to_string())
        .collect();
    report.set("input", names);
    report.set(
        "elements",
        inputs.iter().map(Numbers::describe).collect::<Vec<_>>(),
    );
    report.set("machine", &outcome.machine);
    if let Exact::Rounded(sums) = &outcome.value {
        report.set("shape", sums.shape());
        report.write(|output| sums.write(output, round))?;
    }
    let array = array.map(|_| match &outcome.value {
        Exact::Rounded(sums) => npy::encode(sums.shape(), sums.values(), round),
        _ => npy::encode(&[], &[answer.number], round),
    });
    let mut text = answer.text;
    if let (true, Some(exact)) = (result.exact, &answer.exact) {
        text = format!("{text}\n{exact}");
    }
    if let Some(path) = output {
        let bytes = array.unwrap_or_else(|| format!("{text}\n").into_bytes());
        report.stage(path, &bytes)?;
    }
    report.print_bare(output.is_none());
    report.finish(|_| text)
}

fn sum(input: &Numbers, quantity: Quantity, round: Precision, compute: Compute) -> Result<Outcome> {
    match input.kind() {
        Kind::Text => {
            let resolved = compute.resolve()?;
            let in_file = |error| input.in_file(error);
            let (value, count) = match quantity {
                Quantity::Sum => {
                    let mut sum = TextSum::new(input.bytes());
                    input.text_parts(|part| sum.add(part, &resolved))?;
                    let total = sum.total();
                    (total.value, total.count)
                }
                Quantity::Abs => {
                    let numbers = decimal::numbers(&input.text()?).map_err(in_file)?;
                    let magnitudes: Vec<_> = numbers.iter().map(Decimal::abs).collect();
                    (decimal::sum(&magnitudes, &resolved)?, numbers.len() as u64)
                }
                Quantity::Squares => {
                    let numbers = decimal::numbers(&input.text()?).map_err(in_file)?;
                    (
                        decimal::dot(&numbers, &numbers, &resolved)?,
                        numbers.len() as u64,
                    )
                }
                _ => return Err(no_decimal(quantity)),
            };
            Ok(Outcome::decimal(value, count, &resolved))
        }
        Kind::Array(layout) if layout.element.is_float() => {
            let engine = ExactEngine::new(compute)?;
            if let Quantity::Axis(axis) = quantity {
                return Ok(Outcome {
                    value: Exact::Rounded(Sums::new(&engine, (input, layout), axis, round)?),
                    count: layout.len() as u64,
                    machine: engine.device(),
                });
            }
            let sum = match layout.element {
                Element::F32 => sum_of::<f32>(&engine, (input, layout), quantity),
                _ => sum_of::<f64>(&engine, (input, layout), quantity),
            }?;
            Ok(Outcome::binary(sum, &engine))
        }
        Kind::Array(layout) => {
            // A backend that is not there is refused, though the CPU is as fast as the data come.
            compute.resolve()?;
            let sum = match quantity {
                Quantity::Sum => input.sum_of_integers(layout, false),
                Quantity::Abs => input.sum_of_integers(layout, true),
                Quantity::Squares => input.dot_of_integers(layout, input, layout),
                _ => return Err(no_decimal(quantity)),
            };
            integers(sum?, layout)
        }
    }
}

fn sum_of<T: Float + Fixed>(
    engine: &ExactEngine,
    (input, layout): (&Numbers, &Layout),
    quantity: Quantity,
) -> Result<ExactAccumulator> {
    let mut sum = ExactAccumulator::new();
    input.pieces::<T>(layout, |x| {
        sum.merge(&match quantity {
            Quantity::Abs => engine.magnitude_sum(x)?,
            Quantity::Squares | Quantity::Norm => engine.sum_of_squares(x)?,
            Quantity::Sum | Quantity::Mean | Quantity::Axis(_) | Quantity::Dot => engine.sum(x)?,
        });
        Ok(())
    })?;
    Ok(sum)
}

fn dot_of<T: Float + Fixed>(
    engine: &ExactEngine,
    x: (&Numbers, &Layout),
    y: (&Numbers, &Layout),
) -> Result<ExactAccumulator> {
    let mut sum = ExactAccumulator::new();
    Numbers::pairs::<T>(x, y, |x, y| {
        sum.merge(&engine.dot(x, y)?);
        Ok(())
    })?;
    Ok(sum)
}

fn no_decimal(quantity: Quantity) -> Error {
    let name = match quantity {
        Quantity::Norm => "norm",
        Quantity::Axis(_) => "axis",
        _ => "mean",
    };
    Error::invalid(
        format!("--{name}"),
        "integers or decimal numbers",
        ".npy arrays of floating-point numbers, for whose sums alone it is there",
    )
}

fn dot(x: &Numbers, y: &Numbers, compute: Compute) -> Result<Outcome> {
    match (x.kind(), y.kind()) {
        (Kind::Array(a), Kind::Array(b)) => {
            numbers::check_pairing((x, a), (y, b))?;
            if !a.element.is_float() && !b.element.is_float() {
                compute.resolve()?;
                return integers(x.dot_of_integers(a, y, b)?, a);
            }
            let engine = ExactEngine::new(compute)?;
            let sum = match (a.element, b.element) {
                (Element::F32, Element::F32) => dot_of::<f32>(&engine, (x, a), (y, b))?,
                (Element::F64, Element::F64) => dot_of::<f64>(&engine, (x, a), (y, b))?,
                _ => dot_of_mixed(&engine, (x, a), (y, b))?,
            };
            Ok(Outcome::binary(sum, &engine))
        }
        (Kind::Text, Kind::Text) => {
            let resolved = compute.resolve()?;
            let (of_x, of_y) = (x.text()?, y.text()?);
            decimal::same_lines(&of_x, &of_y).map_err(|error| y.in_file(error))?;
            let x = decimal::numbers(&of_x).map_err(|error| x.in_file(error))?;
            let y = decimal::numbers(&of_y).map_err(|error| y.in_file(error))?;
            Ok(Outcome::decimal(
                decimal::dot(&x, &y, &resolved)?,
                x.len() as u64,
                &resolved,
            ))
        }
        _ => Err(Error::invalid(
            "files",
            "a .npy array and text",
            "two arrays or two texts",
        )),
    }
}

/// Elements of two types, in `f64` piece by piece.
fn dot_of_mixed(
    engine: &ExactEngine,
    x: (&Numbers, &Layout),
    y: (&Numbers, &Layout),
) -> Result<ExactAccumulator> {
    const PIECE: usize = 1 << 22;
    let mut sum = ExactAccumulator::new();
    for first in (0..x.1.len()).step_by(PIECE) {
        let range = first..(first + PIECE).min(x.1.len());
        let (x, y) = (x.0.as_f64(x.1, range.clone())?, y.0.as_f64(y.1, range)?);
        sum.merge(&engine.dot(&x, &y)?);
    }
    Ok(sum)
}

/// The outcome of a sum of machine integers, which are added on the CPU whatever the backend is.
fn integers(value: BigInt, layout: &Layout) -> Result<Outcome> {
    let value = value.to_string().parse()?;
    Ok(Outcome::decimal(value, layout.len() as u64, &Resolved::Cpu))
}
