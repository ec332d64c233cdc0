//! `rarefy sum` and `rarefy dot`: exact sums and dot products of files of numbers.

mod axis;
mod complex;
mod outcome;
mod quantity;
mod work;

use std::path::{Path, PathBuf};
use std::time::Instant;

use serde::Serialize;
use serde_json::Value;

use super::failure::Failure;
use super::ledger::LedgerArgs;
use super::npy;
use super::numbers::{Kind, Numbers};
use super::options::{self, Common};
use super::report::Report;
use super::text::{name_of, shown_if};
use super::values::{integer, named};
use crate::compute::Precision;
use crate::error::Result;
use crate::signed_digit::decimal::Half;
use outcome::{Answer, Exact, Rounding, Shown};
use quantity::Quantity;
use work::{Work, dot, dot_of_columns, sum};

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
  rarefy dot x.npy y.npy --conjugate  of complex numbers, those of X conjugated
  rarefy dot x.txt y.txt              the exact dot product of decimal numbers
  rarefy dot orders.csv --column quantity,price
                                      of two columns of a table";

/// Sum an array or a list of numbers exactly, and round once
///
/// FILE is a .npy array of float16, bfloat16, float32, float64, complex64, complex128, bool or integers, or text with one decimal number of any length, with an optional exponent, a line, or a table of
/// separated values. Numbers in text may have thousands, a currency, parentheses or a trailing minus. Of
/// floating-point numbers the correctly rounded sum is printed, the same for every order, machine and number of threads; of
/// integers and decimal numbers the exact sum; of complex numbers real and imaginary part; of bool how many are true. The sum of nothing is 0. NaN, infinities and -0 of arrays follow IEEE 754; a decimal number is exact, and its
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
/// X and Y are files as `rarefy sum` takes them, of one length. Products neither overflow nor underflow on the way. Complex numbers are multiplied as they are,
/// or with --conjugate those of X conjugated.
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
    /// Multiply the conjugates of the complex numbers of X with those of Y; without it no factor is conjugated
    #[arg(long)]
    #[serde(skip_serializing_if = "std::ops::Not::not")]
    conjugate: bool,
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
        conjugate: false,
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
        conjugate: args.conjugate,
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
    if !inputs.iter().any(Numbers::is_complex) {
        let mode = "real numbers, which are their own conjugates";
        options::without_effect(mode, &[("conjugate", work.conjugate)])?;
    } else if !work.axes.is_empty() {
        complex::refuse("--axis", &Vec::from_iter(&inputs))?;
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
        _ => match answer.parts {
            Some(parts) => npy::encode(&[2], &parts, round),
            None => npy::encode(&[], &[answer.number], round),
        },
    });
    let mut text = answer.text;
    match (&outcome.value, &answer.exact) {
        (_, Some(Value::String(exact))) if shown.exact => text = format!("{text}\n{exact}"),
        (Exact::Complex(_), Some(Value::Array(parts))) if shown.exact => {
            let parts = parts.iter().zip(text.split(' '));
            let exact = parts.map(|(exact, rounded)| exact.as_str().unwrap_or(rounded));
            text = format!("{text}\n{}", Vec::from_iter(exact).join(" "));
        }
        _ => {}
    }
    if let Some(path) = output {
        let bytes = array.unwrap_or_else(|| format!("{text}\n").into_bytes());
        report.stage(path, &bytes)?;
    }
    report.print_bare(output.is_none());
    report.finish(|_| text)
}
