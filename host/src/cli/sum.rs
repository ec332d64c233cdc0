//! `rarefy sum` and `rarefy dot`: exact sums and dot products of files of numbers.

mod axis;
mod outcome;
mod quantity;

use std::path::{Path, PathBuf};
use std::time::Instant;

use num_bigint::BigInt;
use serde::Serialize;

use super::failure::Failure;
use super::ledger::{self, LedgerArgs};
use super::npy;
use super::numbers::{self, Element, Fixed, Kind, Layout, Numbers};
use super::options::{self, Common};
use super::report::Report;
use super::text::{name_of, shown_if};
use super::values::{integer, named};
use crate::compute::{Compute, Precision, Resolved};
use crate::error::{Error, Result};
use crate::signed_digit::decimal::{self, Decimal, Entry, Half, Ledger, TextSum};
use crate::signed_digit::float::{ExactAccumulator, ExactEngine, Float};
use crate::signed_digit::statistics::{self, Ratio};
use axis::{Sums, Task};
use outcome::{Answer, Exact, Outcome, Rounding, Shown};
use quantity::Quantity;

const SUM_EXAMPLES: &str = "\
Examples:
  rarefy sum x.npy                    correctly rounded to f64
  rarefy sum x.npy --round f32        correctly rounded to f32, in one step
  rarefy sum x.npy --exact            and the exact value in full
  rarefy sum x.npy --axis -1          of each row, correctly rounded; into a file by --output sums.npy
  rarefy sum numbers.txt              one decimal number a line, of any length: the exact sum
  rarefy sum x.npy --std --ddof 1     standard deviation of a sample; --axis 0,1 of each along these axes
  rarefy sum ledger.csv --column amount --by account --round 2
                                      an exact sum a group, and rounded to two decimals, half to even
  rarefy sum bank.txt --decimal comma 1.234,50 is 1234.5; so is (1.234,50) below zero
  rarefy sum x.npy --norm --json      Euclidean norm, as JSON";

const DOT_EXAMPLES: &str = "\
Examples:
  rarefy dot x.npy y.npy              correctly rounded to f64
  rarefy dot x.txt y.txt              the exact dot product of decimal numbers
  rarefy dot orders.csv --column quantity,price
                                      of two columns of a table";

/// Sum an array or a list of numbers exactly, and round once
///
/// FILE is a .npy array of float32, float64 or integers, or text with one decimal number of any length, with an optional exponent, a line, or a table of
/// separated values. Numbers in text may have thousands, a currency, parentheses or a trailing minus. Of
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
    #[arg(long, conflicts_with_all = ["squares", "norm", "mean", "var", "std", "cumulative", "offsets"])]
    #[serde(skip_serializing_if = "std::ops::Not::not")]
    abs: bool,
    /// Sum the squares x^2
    #[arg(long, conflicts_with_all = ["norm", "mean", "var", "std", "cumulative", "offsets"])]
    #[serde(skip_serializing_if = "std::ops::Not::not")]
    squares: bool,
    /// Euclidean norm: the root of the exact sum of squares, correctly rounded
    #[arg(long, conflicts_with_all = ["mean", "var", "std", "cumulative", "offsets"])]
    #[serde(skip_serializing_if = "std::ops::Not::not")]
    norm: bool,
    /// Mean: the exact sum divided by the count, correctly rounded
    #[arg(long, conflicts_with_all = ["var", "std", "cumulative", "offsets"])]
    #[serde(skip_serializing_if = "std::ops::Not::not")]
    mean: bool,
    /// Variance: from the exact sums of x and x^2, correctly rounded; see --ddof
    #[arg(long, conflicts_with_all = ["std", "cumulative", "offsets"])]
    #[serde(skip_serializing_if = "std::ops::Not::not")]
    var: bool,
    /// Standard deviation: the root of the unrounded variance, correctly rounded
    #[arg(long, conflicts_with_all = ["cumulative", "offsets"])]
    #[serde(skip_serializing_if = "std::ops::Not::not")]
    std: bool,
    /// The sums of all beginnings of an array of floating-point numbers, each correctly rounded
    #[arg(long, conflicts_with_all = ["offsets"])]
    #[serde(skip_serializing_if = "std::ops::Not::not")]
    cumulative: bool,
    /// The sums of runs of such an array: offsets in a .npy array of integers, run i from offset i to below offset i + 1
    #[arg(long, value_name = "FILE")]
    #[serde(serialize_with = "shown_if", skip_serializing_if = "Option::is_none")]
    offsets: Option<PathBuf>,
    /// Degrees of freedom that --var and --std take off the count: 1 for a sample [default: 0]
    #[arg(long, value_name = "N", value_parser = whole_number)]
    ddof: Option<u64>,
    /// Weights for --mean, a file like FILE: the exact sum of products divided by that of the weights
    #[arg(long, value_name = "FILE", requires = "mean", conflicts_with_all = ["axis", "by"])]
    #[serde(serialize_with = "shown_if", skip_serializing_if = "Option::is_none")]
    weights: Option<PathBuf>,
    /// Sums, means or variances along axes of an array of floating-point numbers, each correctly rounded; negative axes count from the last
    #[arg(long, value_name = "LIST", allow_hyphen_values = true, value_delimiter = ',', value_parser = integer)]
    #[arg(conflicts_with_all = ["abs", "squares", "norm", "cumulative", "offsets"])]
    #[serde(serialize_with = "one_or_many", skip_serializing_if = "Vec::is_empty")]
    axis: Vec<i64>,
    /// A result for each value of this column of a table, by name or position
    #[arg(long, value_name = "COLUMN", help_heading = "Text")]
    by: Option<String>,
    #[command(flatten)]
    #[serde(flatten)]
    ledger: LedgerArgs,
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
    /// Second factors; not needed for two columns of one table
    #[arg(required_unless_present_any = ["input", "column"])]
    #[serde(serialize_with = "shown_if")]
    y: Option<PathBuf>,
    /// A file of factors that X and Y do not name, after those that they do; may be repeated
    #[arg(long, value_name = "FILE")]
    #[serde(skip)]
    input: Vec<PathBuf>,
    #[command(flatten)]
    #[serde(flatten)]
    ledger: LedgerArgs,
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
    /// Type that the result is rounded to, once: f32, f64, or a number of decimals, which prints the exact result too
    /// [default: that of --precision; the result of integers and of text is exact]
    #[arg(long, value_name = "f32|f64|DECIMALS")]
    round: Option<Rounding>,
    /// Where a result half way between two decimal numbers goes: to the even one, or up, away from zero [default: even]
    #[arg(long, requires = "round", value_parser = named::<Half>(&["even", "up"]))]
    half: Option<Half>,
    /// Also print the exact value before rounding, in full
    #[arg(long)]
    exact: bool,
    /// Where to write the result: an array where the name ends in .npy, else text; - is standard output [default: standard output]
    #[arg(long, value_name = "FILE")]
    #[serde(skip)]
    output: Option<PathBuf>,
}

/// A whole number, 0 included.
fn whole_number(text: &str) -> std::result::Result<u64, String> {
    text.parse()
        .map_err(|_| "a whole number is needed, such as 0 or 1".into())
}

/// One axis as a number, several as a list.
fn one_or_many<S: serde::Serializer>(
    axes: &[i64],
    serializer: S,
) -> std::result::Result<S::Ok, S::Error> {
    match axes {
        [axis] => axis.serialize(serializer),
        axes => axes.serialize(serializer),
    }
}

/// The work on the files of a command.
struct Work<'a> {
    quantity: Quantity,
    axes: &'a [i64],
    lost: u64,
    offsets: Option<&'a Path>,
    weights: Option<&'a Path>,
    by: Option<&'a str>,
    flags: &'a LedgerArgs,
}

/// Runs `rarefy sum`.
pub(super) fn run_sum(args: &SumArgs) -> std::result::Result<(), Failure> {
    let quantity = match args {
        SumArgs { abs: true, .. } => Quantity::Abs,
        SumArgs { squares: true, .. } => Quantity::Squares,
        SumArgs { norm: true, .. } => Quantity::Norm,
        SumArgs { mean: true, .. } => Quantity::Mean,
        SumArgs { var: true, .. } => Quantity::Var,
        SumArgs { std: true, .. } => Quantity::Std,
        SumArgs {
            cumulative: true, ..
        } => Quantity::Cumulative,
        SumArgs {
            offsets: Some(_), ..
        } => Quantity::Offsets,
        _ => Quantity::Sum,
    };
    if !matches!(quantity, Quantity::Var | Quantity::Std) {
        let mode = format!("--{}", name_of(&quantity));
        let mode = if quantity == Quantity::Sum {
            "a sum"
        } else {
            &mode
        };
        options::without_effect(mode, &[("ddof", args.ddof.is_some())])?;
    }
    let file = args.file.as_ref().or(args.input.as_ref());
    let full = SumArgs {
        file: file.cloned(),
        ..args.clone()
    };
    let work = Work {
        quantity,
        axes: &args.axis,
        lost: args.ddof.unwrap_or(0),
        offsets: args.offsets.as_deref(),
        weights: args.weights.as_deref(),
        by: args.by.as_deref(),
        flags: &args.ledger,
    };
    let files = Vec::from_iter(file);
    run("sum", &work, &files, (&args.result, &full), &args.common)
}

/// Runs `rarefy dot`.
pub(super) fn run_dot(args: &DotArgs) -> std::result::Result<(), Failure> {
    let files: Vec<&PathBuf> = args.x.iter().chain(&args.y).chain(&args.input).collect();
    let columns = args.ledger.columns();
    match (files.len(), columns) {
        (2, 0 | 1) | (1, 2) => {}
        (2, _) => {
            return Err(Failure::Usage(format!(
                "a dot product of two files takes one column of each, not {columns}; leave one file out for two columns of the other"
            )));
        }
        (count, _) => {
            return Err(Failure::Usage(format!(
                "a dot product needs two files, X and Y, or two columns of one, not {count} with {columns} columns"
            )));
        }
    }
    let full = DotArgs {
        x: Some(files[0].clone()),
        y: files.get(1).map(|&file| file.clone()),
        ..args.clone()
    };
    let work = Work {
        quantity: Quantity::Dot,
        axes: &[],
        lost: 0,
        offsets: None,
        weights: None,
        by: None,
        flags: &args.ledger,
    };
    run("dot", &work, &files, (&args.result, &full), &args.common)
}

fn run(
    command: &str,
    work: &Work<'_>,
    paths: &[&PathBuf],
    (result, full): (&ResultArgs, &impl Serialize),
    common: &Common,
) -> std::result::Result<(), Failure> {
    let begun = Instant::now();
    let quantity = work.quantity;
    let name = name_of(&quantity);
    let several =
        !work.axes.is_empty() || matches!(quantity, Quantity::Cumulative | Quantity::Offsets);
    let mode = match quantity {
        _ if !work.axes.is_empty() => Some("--axis, whose sums are rounded".to_owned()),
        _ if several => Some(format!("--{name}, whose sums are rounded")),
        Quantity::Norm | Quantity::Mean | Quantity::Var | Quantity::Std => {
            Some(format!("--{name}, whose decimal digits have no end"))
        }
        _ => None,
    };
    if let Some(mode) = mode {
        options::without_effect(&mode, &[("exact", result.exact)])?;
    }
    let (round, places) = match result.round {
        Some(Rounding::Binary(precision)) => (precision, None),
        Some(Rounding::Places(places)) => (common.precision, Some(places)),
        None => (common.precision, None),
    };
    let half = result.half.unwrap_or_default();
    if places.is_none() {
        let mode = "a result without --round DECIMALS";
        options::without_effect(mode, &[("half", result.half.is_some())])?;
    } else if several {
        return Err(Failure::Usage(
            "--round takes f32 or f64 for an array of sums; rounded decimals are of one sum, or of those of a table".into(),
        ));
    }
    let mut report = Report::new(command, full, common, begun);
    let others = [work.offsets, work.weights];
    let others = others.iter().flatten();
    let all: Vec<&Path> = paths
        .iter()
        .map(|path| path.as_path())
        .chain(others.copied())
        .collect();
    all.iter().for_each(|path| report.reads(path));
    report.open_given()?;
    let output = result.output.as_deref();
    let output = output.filter(|path| *path != Path::new("-"));
    if let Some(path) = output {
        report.claim(path)?;
    }
    if all.iter().filter(|path| *path == &Path::new("-")).count() > 1 {
        return Err(Failure::Usage(
            "standard input can be one of the vectors only".into(),
        ));
    }
    let inputs: Vec<Numbers> = paths
        .iter()
        .map(|path| Numbers::open(path))
        .collect::<Result<_>>()?;
    if let Some(k) = inputs.iter().position(|input| *input.kind() != Kind::Text) {
        let mode = format!("{}, which is an array", paths[k].display());
        work.flags.refuse(&mode, work.by.is_some())?;
    }
    let quotient = matches!(
        quantity,
        Quantity::Norm | Quantity::Mean | Quantity::Var | Quantity::Std
    );
    let is_exact = inputs.iter().all(Numbers::is_exact) && !quotient;
    let array = output.filter(|path| axis::is_array(path));
    if let Some(path) = array {
        let mode = format!("--output {}, an array of rounded numbers", path.display());
        options::without_effect(&mode, &[("exact", result.exact)])?;
        if places.is_some() || is_exact && result.round.is_none() {
            return Err(Failure::Usage(format!(
                "--output {}: an array has no room for the exact result of integers or decimal numbers; --round f64 rounds it, and a file of \
                 another ending, such as sum.txt, holds it",
                path.display()
            )));
        }
    }
    let opened = Instant::now();
    let outcome = match inputs.as_slice() {
        [x, y] => dot(x, y, work, common.compute())?,
        [x] if quantity == Quantity::Dot => dot_of_columns(x, work, common.compute())?,
        [x, ..] => sum(x, work, round, common.compute())?,
        [] => return Err(Failure::Usage("a file is needed".into())),
    };
    if let (Exact::Table(..), Some(path)) = (&outcome.value, array) {
        return Err(Failure::Usage(format!(
            "--output {}: the results of a table are text; a name such as sums.csv holds them",
            path.display()
        )));
    }
    let array_alone = matches!(outcome.value, Exact::Rounded(_))
        && array.is_some()
        && !common.json
        && common.out.is_none();
    if !array_alone {
        outcome.check_text()?;
    }
    // The exact result of integers and decimal numbers is rounded only on request.
    let shown = Shown {
        in_full: is_exact && result.round.is_none(),
        places: places.map(|places| (places, half)),
        exact: result.exact || places.is_some(),
    };
    let answer = match round {
        _ if array_alone => Answer::default(),
        Precision::F32 => outcome
            .value
            .answer::<f32>(quantity, shown, |text| text.parse().ok())?,
        Precision::F64 => outcome
            .value
            .answer::<f64>(quantity, shown, |text| text.parse().ok())?,
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
    if let Some(sums) = &answer.sums {
        report.set("sums", sums);
    }
    if let Exact::Rounded(sums) = &outcome.value {
        report.set("shape", sums.shape());
        report.write(|output| sums.write(output, round))?;
    }
    let array = array.map(|_| match &outcome.value {
        Exact::Rounded(sums) => npy::encode(sums.shape(), sums.values(), round),
        _ => npy::encode(&[], &[answer.number], round),
    });
    let mut text = answer.text;
    if let (true, Some(serde_json::Value::String(exact))) = (shown.exact, &answer.exact) {
        text = format!("{text}\n{exact}");
    }
    if let Some(path) = output {
        let bytes = array.unwrap_or_else(|| format!("{text}\n").into_bytes());
        report.stage(path, &bytes)?;
    }
    report.print_bare(output.is_none());
    report.finish(|_| text)
}

fn sum(input: &Numbers, work: &Work<'_>, round: Precision, compute: Compute) -> Result<Outcome> {
    let quantity = work.quantity;
    if let Some(weights) = work.weights {
        return weighted_mean(input, &Numbers::open(weights)?, work, compute);
    }
    match input.kind() {
        Kind::Text => {
            if !work.axes.is_empty() || matches!(quantity, Quantity::Cumulative | Quantity::Offsets)
            {
                return Err(no_decimal(work));
            }
            let resolved = compute.resolve()?;
            let reader = work.flags.reader(work.by);
            if quantity == Quantity::Sum && reader == Ledger::default() && !input.is_table()? {
                let mut sum = TextSum::new(input.bytes());
                let mut foreign = false;
                let added = input.text_parts(|part| {
                    let is_line = |error: &Error| matches!(error, Error::Input { field, .. } if field.starts_with("line "));
                    let added = sum.add(part, &resolved);
                    added.inspect_err(|error| foreign = is_line(error))
                });
                match added {
                    Ok(()) => {
                        let total = sum.total();
                        return Ok(Outcome::decimal(total.value, total.count, &resolved));
                    }
                    // Perhaps the numbers are amounts.
                    Err(_) if foreign => {}
                    Err(error) => return Err(error),
                }
            }
            let entries = ledger::entries(input, &reader)?;
            let count = entries.iter().map(|entry| entry.numbers.len() as u64).sum();
            let of = |entry: &Entry| of_decimals(&entry.numbers, work, &resolved);
            let value = match entries.as_slice() {
                [entry] if work.by.is_none() => of(entry)?,
                _ => {
                    let values = entries.iter().map(of).collect::<Result<Vec<_>>>()?;
                    let by = work.by.map(str::to_owned);
                    Exact::Table(by, entries.into_iter().zip(values).collect())
                }
            };
            Ok(Outcome::exact(value, count, &resolved))
        }
        Kind::Array(layout) if layout.element.is_float() => {
            let engine = ExactEngine::new(compute)?;
            let offsets = work.offsets.map(|path| Numbers::open(path)?.offsets());
            let offsets = offsets.transpose()?;
            let of_array = match quantity {
                Quantity::Cumulative | Quantity::Offsets => {
                    Some(Sums::of_runs((input, layout), offsets.as_deref())?)
                }
                _ if work.axes.is_empty() => None,
                _ => {
                    let task = Task {
                        quantity,
                        axes: work.axes,
                        lost: work.lost,
                        round,
                    };
                    Some(Sums::new(&engine, (input, layout), task)?)
                }
            };
            if let Some(sums) = of_array {
                return Ok(Outcome {
                    value: Exact::Rounded(sums),
                    count: layout.len() as u64,
                    machine: engine.device(),
                });
            }
            let of = |quantity| match layout.element {
                Element::F32 => sum_of::<f32>(&engine, (input, layout), quantity),
                _ => sum_of::<f64>(&engine, (input, layout), quantity),
            };
            if !matches!(quantity, Quantity::Var | Quantity::Std) {
                return Ok(Outcome::binary(of(quantity)?, &engine));
            }
            let (sum, squares) = (of(Quantity::Sum)?, of(Quantity::Squares)?);
            let ratio = statistics::variance_of_sums(&sum, &squares, work.lost);
            Ok(Outcome {
                value: Exact::Ratio(ratio, quantity == Quantity::Std),
                count: sum.count(),
                machine: engine.device(),
            })
        }
        Kind::Array(layout) => {
            // A backend that is not there is refused, though the CPU is as fast as the data come.
            compute.resolve()?;
            if !work.axes.is_empty() || matches!(quantity, Quantity::Cumulative | Quantity::Offsets)
            {
                return Err(no_decimal(work));
            }
            let sum = |magnitudes| decimal_of(input.sum_of_integers(layout, magnitudes)?);
            let squares = || decimal_of(input.dot_of_integers(layout, input, layout)?);
            let count = layout.len() as u64;
            let value = match quantity {
                Quantity::Abs => Exact::Decimal(sum(true)?),
                Quantity::Squares => Exact::Decimal(squares()?),
                Quantity::Norm => Exact::Ratio(Ratio::new(squares()?, 1.into()), true),
                Quantity::Mean => Exact::Ratio(Ratio::new(sum(false)?, count.into()), false),
                Quantity::Var | Quantity::Std => {
                    let sums = [sum(false)?, squares()?];
                    let ratio = statistics::variance_of_decimals(sums, count, work.lost)?;
                    Exact::Ratio(ratio, quantity == Quantity::Std)
                }
                _ => Exact::Decimal(sum(false)?),
            };
            Ok(Outcome::exact(value, count, &Resolved::Cpu))
        }
    }
}

/// A quantity of decimal numbers.
fn of_decimals(numbers: &[Decimal], work: &Work<'_>, resolved: &Resolved) -> Result<Exact> {
    let root = work.quantity == Quantity::Std;
    Ok(match work.quantity {
        Quantity::Abs => {
            let magnitudes: Vec<_> = numbers.iter().map(Decimal::abs).collect();
            Exact::Decimal(decimal::sum(&magnitudes, resolved)?)
        }
        Quantity::Squares => Exact::Decimal(decimal::dot(numbers, numbers, resolved)?),
        Quantity::Norm => {
            let squares = decimal::dot(numbers, numbers, resolved)?;
            Exact::Ratio(Ratio::new(squares, 1.into()), true)
        }
        Quantity::Mean => Exact::Ratio(statistics::decimal_mean(numbers, resolved)?, false),
        Quantity::Var | Quantity::Std => Exact::Ratio(
            statistics::decimal_variance(numbers, work.lost, resolved)?,
            root,
        ),
        _ => Exact::Decimal(decimal::sum(numbers, resolved)?),
    })
}

/// The sum of products with the weights, divided by the sum of these.
fn weighted_mean(
    x: &Numbers,
    weights: &Numbers,
    work: &Work<'_>,
    compute: Compute,
) -> Result<Outcome> {
    let products = dot(x, weights, work, compute)?;
    let total = Work {
        quantity: Quantity::Sum,
        weights: None,
        ..*work
    };
    let total = sum(weights, &total, Precision::F64, compute)?;
    let exact = |value: &Exact| match value {
        Exact::Decimal(value) => Some(value.clone()),
        Exact::Binary(sum) => sum.value().to_decimal(),
        _ => None,
    };
    let (Some(above), Some(below)) = (exact(&products.value), exact(&total.value)) else {
        return Err(Error::invalid(
            "weights",
            "numbers or weights that are not finite",
            "finite ones",
        ));
    };
    Ok(Outcome {
        value: Exact::Ratio(Ratio::new(above, below), false),
        ..products
    })
}

fn decimal_of(value: BigInt) -> Result<Decimal> {
    value.to_string().parse()
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
            _ => engine.sum(x)?,
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

fn no_decimal(work: &Work<'_>) -> Error {
    let name = match work.quantity {
        _ if !work.axes.is_empty() => "axis".to_owned(),
        quantity => name_of(&quantity),
    };
    Error::invalid(
        format!("--{name}"),
        "integers or decimal numbers",
        ".npy arrays of floating-point numbers, for whose sums alone it is there",
    )
}

fn dot(x: &Numbers, y: &Numbers, work: &Work<'_>, compute: Compute) -> Result<Outcome> {
    match (x.kind(), y.kind()) {
        (Kind::Array(a), Kind::Array(b)) => {
            numbers::check_pairing((x, a), (y, b))?;
            if !a.element.is_float() && !b.element.is_float() {
                compute.resolve()?;
                let value = decimal_of(x.dot_of_integers(a, y, b)?)?;
                return Ok(Outcome::decimal(value, a.len() as u64, &Resolved::Cpu));
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
            let reader = work.flags.reader(None);
            let (of_x, of_y) = (ledger::column(x, &reader)?, ledger::column(y, &reader)?);
            if of_x.column.is_some() == of_y.column.is_some() {
                ledger::check_lines(&of_x, &of_y).map_err(|error| y.in_file(error))?;
            }
            pairs(&of_x, &of_y, &resolved)
        }
        _ => Err(Error::invalid(
            "files",
            "a .npy array and text",
            "two arrays or two texts",
        )),
    }
}

/// The dot product of two columns of one table.
fn dot_of_columns(x: &Numbers, work: &Work<'_>, compute: Compute) -> Result<Outcome> {
    let resolved = compute.resolve()?;
    let entries = ledger::entries(x, &work.flags.reader(None))?;
    let [of_x, of_y] = entries.as_slice() else {
        return Err(Error::invalid("column", entries.len(), "two columns"));
    };
    ledger::check_lines(of_x, of_y).map_err(|error| x.in_file(error))?;
    pairs(of_x, of_y, &resolved)
}

fn pairs(x: &Entry, y: &Entry, resolved: &Resolved) -> Result<Outcome> {
    let value = decimal::dot(&x.numbers, &y.numbers, resolved)?;
    Ok(Outcome::decimal(value, x.numbers.len() as u64, resolved))
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
