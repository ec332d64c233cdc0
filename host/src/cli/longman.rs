//! `rarefy longman`: many infinite integrals of oscillating functions.

pub(super) mod figures;

use std::collections::BTreeMap;
use std::fmt::Write as _;
use std::io::Read;
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

use serde::{Serialize, Serializer};
use serde_json::{Value, json};

use super::failure::Failure;
use super::options::{Common, without_effect};
use super::output::{self, Transaction};
use super::plot::{COLOURS, Curve, Figure, Panel, Scale, Stroke};
use super::progress::Progress;
use super::report::{Artefact, Report, written_to};
use super::text::{self, name_of, shown_if};
use super::values::{finite, whole};
use crate::compute::{Precision, Resolved};
use crate::error::{Error, Result};
use crate::longman::expression::FUNCTIONS;
use crate::longman::family::{FAMILIES, Family};
use crate::longman::quadrature::GAUSS_POINTS;
use crate::longman::sampled::Samples;
use crate::longman::{AREAS, BEYOND, Boundaries, Integral, Proof, Settings, Status, Task};

const EXAMPLES: &str = "\
Examples:
  rarefy longman --family damped-cos --lambda 0.5 --omega 10 --areas 16 --gauss 8
  rarefy longman --amplitude 'x/(x^2+p^2)' --oscillator bessel:0 --frequency xi --input params.csv --output results.csv
  rarefy longman --integrand 'cos(x^3)' --zeros-file zeros.txt
  rarefy longman --integrand 'exp(-x)*sin(x)' --half-period 3.141592653589793";

/// Integrals that are computed between two messages about progress.
const CHUNK: usize = 1 << 14;
/// The same on a GPU, which is busy with many at a time only.
const GPU_CHUNK: usize = 1 << 22;

/// Most integrals in the table of the summary.
const SHOWN: usize = 20;

/// Integrate oscillating functions to infinity, any number at once, each with an error estimate and a status
///
/// The integrand is amplitude * oscillator(frequency * x), a named family, or a whole integrand with its zeros or its half-period. With --input, one
/// integral for each row of a CSV file with a header: the columns are the parameters, and `lower` is the lower limit.
#[derive(Clone, Debug, Serialize, clap::Args)]
#[serde(rename_all = "kebab-case")]
#[command(after_help = EXAMPLES, after_long_help = long_help())]
pub(super) struct LongmanArgs {
    /// A named family of integrands; they are listed below
    #[arg(long, value_name = "NAME", help_heading = "Integrand")]
    #[serde(skip_serializing_if = "Option::is_none")]
    family: Option<String>,
    /// Amplitude, an expression in x and parameters; of some families, the function f
    #[arg(
        long,
        value_name = "EXPR",
        allow_hyphen_values = true,
        help_heading = "Integrand"
    )]
    #[serde(skip_serializing_if = "Option::is_none")]
    amplitude: Option<String>,
    /// The amplitude as samples: a text file of two columns, x ascending and g, instead of --amplitude
    #[arg(long, value_name = "FILE", help_heading = "Integrand", conflicts_with_all = ["family", "amplitude", "integrand"])]
    #[serde(serialize_with = "shown_if", skip_serializing_if = "Option::is_none")]
    samples: Option<PathBuf>,
    /// How the amplitude goes between its samples
    #[arg(
        long,
        value_enum,
        value_name = "HOW",
        default_value_t = Interpolation::Cubic,
        help_heading = "Integrand"
    )]
    interpolation: Interpolation,
    /// Factor of the amplitude: cos, sin or bessel:NU; NU is a number or a parameter
    #[arg(long, value_name = "OSC", help_heading = "Integrand")]
    #[serde(skip_serializing_if = "Option::is_none")]
    oscillator: Option<String>,
    /// Frequency in the oscillator's argument: a number or a parameter
    #[arg(
        long,
        value_name = "W",
        allow_hyphen_values = true,
        help_heading = "Integrand"
    )]
    #[serde(skip_serializing_if = "Option::is_none")]
    frequency: Option<String>,
    /// The whole integrand, an expression in x and parameters
    #[arg(long, value_name = "EXPR", allow_hyphen_values = true, help_heading = "Integrand", conflicts_with_all = ["family", "amplitude", "oscillator", "frequency"])]
    #[serde(skip_serializing_if = "Option::is_none")]
    integrand: Option<String>,
    /// Zeros of the integrand, ascending numbers in a text file; any points between which the integrals alternate in sign will do
    #[arg(long, value_name = "FILE", help_heading = "Integrand", requires = "integrand", conflicts_with_all = ["half_period", "first_zero"])]
    #[serde(serialize_with = "shown_if", skip_serializing_if = "Option::is_none")]
    zeros_file: Option<PathBuf>,
    /// Distance between two zeros of the integrand
    #[arg(long, value_name = "H", value_parser = finite, help_heading = "Integrand", requires = "integrand")]
    #[serde(skip_serializing_if = "Option::is_none")]
    half_period: Option<f64>,
    /// First zero [default: the lower limit plus the half-period]
    #[arg(long, value_name = "Z", value_parser = finite, help_heading = "Integrand", requires = "half_period")]
    #[serde(skip_serializing_if = "Option::is_none")]
    first_zero: Option<f64>,
    /// CSV file of parameters, one integral a row; - is standard input
    #[arg(long, value_name = "FILE", help_heading = "Integrals")]
    #[serde(serialize_with = "shown_if", skip_serializing_if = "Option::is_none")]
    input: Option<PathBuf>,
    /// Lower limit, where the input has no column `lower` [default: 0]
    #[arg(long, value_name = "A", value_parser = number, help_heading = "Integrals")]
    #[serde(serialize_with = "any_number", skip_serializing_if = "Option::is_none")]
    lower: Option<f64>,
    /// Value of a parameter that the input has no column for, as NAME=VALUE; may be repeated with other names, or separated by commas
    #[arg(
        long,
        value_name = "NAME=VALUE",
        value_delimiter = ',',
        allow_hyphen_values = true,
        help_heading = "Integrals"
    )]
    #[serde(serialize_with = "joined", skip_serializing_if = "Vec::is_empty")]
    param: Vec<String>,
    #[command(flatten)]
    #[serde(flatten)]
    named: NamedParameters,
    /// Areas (half cycles) that are used, 8 to 64 [default: 32, and 64 where those do not suffice]
    #[arg(long, value_name = "N", value_parser = |text: &str| whole(text, AREAS), help_heading = "Method")]
    #[serde(skip_serializing_if = "Option::is_none")]
    areas: Option<usize>,
    /// Gauss points of an area, 2 to 64; their Kronrod extension estimates the error. Kernels have 7, and the CPU computes with other numbers
    #[arg(long, value_name = "G", default_value_t = 7, value_parser = |text: &str| whole(text, GAUSS_POINTS), help_heading = "Method")]
    gauss: usize,
    /// Relative tolerance [default: 1e-10; 1e-5 in f32]
    #[arg(long, value_name = "R", value_parser = finite, help_heading = "Method")]
    #[serde(skip_serializing_if = "Option::is_none")]
    rtol: Option<f64>,
    /// Absolute tolerance
    #[arg(long, value_name = "R", default_value_t = 0.0, value_parser = finite, help_heading = "Method")]
    atol: f64,
    /// Relative accuracy of the integrand [default: 4 units of roundoff, 16 with Bessel functions]
    #[arg(long, value_name = "EPS", value_parser = finite, help_heading = "Method")]
    #[serde(skip_serializing_if = "Option::is_none")]
    accuracy: Option<f64>,
    /// P if the integrand is like (x-a)^-P at the lower limit; found by itself where that is 0
    #[arg(long, value_name = "P", value_parser = finite, help_heading = "Method")]
    #[serde(skip_serializing_if = "Option::is_none")]
    head_exponent: Option<f64>,
    /// Try Levin's u transformation and Wynn's epsilon algorithm too
    #[arg(long, help_heading = "Method")]
    nonlinear: bool,
    /// Half periods beyond the areas that are sampled where the amplitude cannot be enclosed in intervals, up to 65536 [default: 512]
    #[arg(long, value_name = "N", value_parser = |text: &str| whole(text, BEYOND), help_heading = "Method")]
    #[serde(skip_serializing_if = "Option::is_none")]
    beyond: Option<usize>,
    /// Output of `cargo bench --bench longman`: instead of integrals, draws the paper's figures of errors and times into --out
    #[arg(long, value_name = "FILE", conflicts_with_all = ["family", "amplitude", "samples", "integrand", "input", "output"])]
    #[serde(skip)]
    timings: Option<PathBuf>,
    /// Where to write the table of results; - is standard output [default: results.csv in --out]
    #[arg(long, value_name = "FILE")]
    #[serde(skip)]
    output: Option<PathBuf>,
    #[command(flatten)]
    #[serde(flatten)]
    common: Common,
}

impl LongmanArgs {
    /// The paper's figures are of integrals of their own.
    fn refuse_settings_of_integrals(&self) -> std::result::Result<(), Failure> {
        let mode = "--timings, which draws the paper's figures";
        let settings = [
            ("interpolation", self.interpolation != Interpolation::Cubic),
            ("oscillator", self.oscillator.is_some()),
            ("frequency", self.frequency.is_some()),
            ("lower", self.lower.is_some()),
            ("param", !self.param.is_empty()),
            ("areas", self.areas.is_some()),
            ("gauss", self.gauss != Settings::default().gauss),
            ("rtol", self.rtol.is_some()),
            ("atol", self.atol != 0.0),
            ("accuracy", self.accuracy.is_some()),
            ("head-exponent", self.head_exponent.is_some()),
            ("nonlinear", self.nonlinear),
            ("beyond", self.beyond.is_some()),
            ("precision", self.common.precision != Precision::F64),
        ];
        without_effect(mode, &settings)?;
        let named: Vec<_> = self.named.given().map(|(name, _)| (name, true)).collect();
        without_effect(mode, &named)
    }
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, clap::ValueEnum, Serialize)]
#[serde(rename_all = "kebab-case")]
enum Interpolation {
    /// A cubic spline; nothing is known beyond the last sample
    Cubic,
    /// A Chebyshev series in (x-s)/(x+s) for all x > 0; the n samples lie at s cot(pi (k+1/2)/(2n))^2
    Chebyshev,
}

macro_rules! named_parameters {
    ($($name:ident)*) => {
        /// The parameters of the families as flags.
        #[derive(Clone, Debug, clap::Args)]
        #[command(next_help_heading = "Parameters of the families")]
        struct NamedParameters {
            $(
                #[arg(long, value_name = "VALUE", value_parser = number)]
                $name: Option<f64>,
            )*
        }

        impl NamedParameters {
            fn given(&self) -> impl Iterator<Item = (&'static str, f64)> {
                [$((stringify!($name), self.$name)),*]
                    .into_iter()
                    .filter_map(|(name, value)| Some((name, value?)))
            }
        }
    };
}
named_parameters! { lambda omega p mu nu b k rho z xi eta }

/// A number, NaN and infinities included: they give a row its status.
fn number(text: &str) -> std::result::Result<f64, String> {
    text.trim().parse().map_err(|_| "a number is needed".into())
}

fn long_help() -> String {
    let mut text = String::from("Families:\n");
    for family in FAMILIES {
        let _ = writeln!(
            text,
            "  {:<15} {}; parameters {}",
            family.name,
            family.formula,
            family.parameters.join(", ")
        );
    }
    text.push_str(
        "\nExpressions:
  + - * / ^ (or **), parentheses, numbers as 2, .5 or 1e-3; -x^2 is -(x^2), x^y^z is x^(y^z).
  x is the variable of integration; pi and e are constants; every other name is a parameter: a column of --input, or given by --param.
  Functions: ",
    );
    let functions: Vec<String> = FUNCTIONS
        .iter()
        .map(|function| {
            let call = format!("{}({})", function.name, function.arguments.join(", "));
            match function.meaning {
                "" => call,
                meaning => format!("{call} ({meaning})"),
            }
        })
        .collect();
    text.push_str(&functions.join(", "));
    text.push_str(
        ".

Results:
  value,error,status,accelerator,condition,proof,examined, in the order of the rows, and then the lower limit and the parameters. error is an estimate of the absolute error; condition times the machine
  epsilon is the relative error that can be attained. Status:
  OK                 the error estimate is within max(atol, rtol |value|)
  PREMISE_VIOLATED   the areas do not alternate, or do not fall to zero: no value
  NOT_CONVERGED      value and honest estimate, beyond the tolerance
  NOT_FINITE         the integrand is not finite inside the range
  INVALID_ARGUMENT   NaN, a frequency that is not positive, boundaries that do not ascend
  The proof of an OK is `monotone` where derivatives of the amplitude, enclosed in intervals, bound all that lies beyond the areas or between their nodes, and
  `sampled` where the integrand was sampled. `examined` is the x up to which it was: infinite with `monotone`. Of what lies beyond, and between samples,
  `sampled` says nothing.

",
    );
    text.push_str(EXAMPLES);
    text
}

/// A number as a flag takes it: JSON has no NaN and no infinities, which are texts.
fn value_of(number: f64) -> Value {
    match number.is_finite() {
        true => json!(number),
        false => json!(number.to_string()),
    }
}

fn any_number<S: Serializer>(number: &Option<f64>, to: S) -> std::result::Result<S::Ok, S::Error> {
    number.map(value_of).serialize(to)
}

fn joined<S: Serializer>(parts: &[String], to: S) -> std::result::Result<S::Ok, S::Error> {
    parts.join(",").serialize(to)
}

impl Serialize for NamedParameters {
    fn serialize<S: Serializer>(&self, to: S) -> std::result::Result<S::Ok, S::Error> {
        to.collect_map(self.given().map(|(name, value)| (name, value_of(value))))
    }
}

/// Rows of parameters.
pub(super) struct Rows {
    lower: Vec<f64>,
    values: Vec<f64>,
    /// Whether the limits are a column or a parameter of the input.
    limited: bool,
    /// Cells that are no numbers: the first one's place, and how many.
    unreadable: Option<(String, usize)>,
    /// Rows with more cells than there are columns: the first one's line, and how many.
    long: Option<(u64, usize)>,
}

impl Rows {
    /// Warns of rows that are no integrals.
    fn warn(&self, report: &mut Report) {
        if self.lower.is_empty() {
            report.warn("the input has no rows: there is nothing to integrate".into());
        }
        if let Some((place, count)) = &self.unreadable {
            report.warn(format!(
                "{count} cells of the input are no numbers, the first {place}; their integrals are INVALID_ARGUMENT"
            ));
        }
        if let Some((line, count)) = &self.long {
            report.warn(format!(
                "{count} rows of the input have more cells than columns, the first in line {line}; their integrals are INVALID_ARGUMENT"
            ));
        }
    }
}

/// Runs the integrals.
pub(super) fn run(args: &LongmanArgs) -> std::result::Result<(), Failure> {
    let begun = Instant::now();
    let common = &args.common;
    if let Some(path) = &args.timings {
        args.refuse_settings_of_integrals()?;
        return draw(path, common, begun);
    }
    if args.samples.is_none() {
        without_effect(
            "an integrand without --samples",
            &[("interpolation", args.interpolation != Interpolation::Cubic)],
        )?;
    }
    let settings = settings(args)?;
    let given = given_parameters(args)?;
    let (task, rows) = problem(args, &given)?;
    if !task.is_sampled() {
        without_effect(
            "an integrand that is not sampled beyond its areas",
            &[("beyond", args.beyond.is_some())],
        )?;
    }
    let printed = args.output.as_deref() == Some(Path::new(STREAM));
    if printed && common.json {
        return Err(Failure::Usage(
            "--output - and --json both write to standard output; give one of them".into(),
        ));
    }

    let mut files = Transaction::default();
    for path in [&args.input, &args.samples, &args.zeros_file]
        .into_iter()
        .flatten()
    {
        files.reads(path);
    }
    // Whoever names the table's file wants that one.
    let folder = match &args.output {
        None => common.results_folder(&mut files, "longman")?,
        Some(_) => {
            common.claim_folder(&mut files, "longman")?;
            common.out.clone()
        }
    };
    let output = args
        .output
        .clone()
        .filter(|_| !printed)
        .or_else(|| folder.as_ref().map(|folder| folder.join("results.csv")));
    if let Some(path) = &output {
        files.file(path)?;
    }
    let parameters = LongmanArgs {
        lower: (!rows.limited).then(|| args.lower.unwrap_or(0.0)),
        rtol: Some(settings.rtol),
        ..args.clone()
    };
    let mut report = Report::new("longman", &parameters, begun);
    rows.warn(&mut report);
    let machine = common.backend.resolve()?;
    let started = Instant::now();
    let results = integrate(&task, &rows, &settings, common, &machine)?;
    let spent = started.elapsed();
    report.time("integrals", spent);

    let outcome = Outcome {
        results: &results,
        names: task.parameters(),
        rows: &rows,
        machine: machine.describe(),
        precision: common.precision,
    };
    outcome.report(&mut report, spent);
    if output.is_none() && common.json {
        report.set("results", outcome.objects());
    }
    if let Some(path) = &output {
        report.stage(&mut files, path, &outcome.table()?)?;
    }
    if let Some(folder) = &folder {
        report.stage(
            &mut files,
            &folder.join("errors.png"),
            &outcome.plot().png()?,
        )?;
    }
    let shown = Common {
        quiet: common.quiet && !printed,
        ..common.clone()
    };
    let table = if printed {
        Some(outcome.table()?)
    } else {
        None
    };
    report.finish(
        files,
        folder.as_deref(),
        &shown,
        |total, folder| match &table {
            Some(table) => String::from_utf8_lossy(table).into_owned(),
            None => outcome.summary(&title(args), spent, total) + &written_to(folder),
        },
    )?;
    outcome.valid()
}

/// The paper's figures, from the times of the bench.
fn draw(path: &Path, common: &Common, begun: Instant) -> std::result::Result<(), Failure> {
    let Some(folder) = &common.out else {
        return Err(Failure::Usage(
            "--timings draws plots: --out DIR is needed".into(),
        ));
    };
    let times = figures::Times::read(path)?;
    let mut files = Transaction::default();
    files.run_folder(folder, "longman", common.overwrite)?;
    let machine = common.backend.resolve()?;
    let parameters = json!({ "timings": path.display().to_string(), "backend": common.backend });
    let mut report = Report::new("longman", &parameters, begun);
    report.set("machine", machine.describe());
    let errors = figures::Precisions::new(&machine)?;
    let mut names = Vec::new();
    let mut stage = |name: &str, bytes: &dyn Artefact| {
        names.push(name.to_owned());
        report.stage(&mut files, &folder.join(name), bytes)
    };
    stage("times.csv", &times.table()?)?;
    stage("figure_11.csv", &errors.table()?)?;
    stage("figure_11.png", &errors.figure().png()?)?;
    for (name, figure) in times.figures() {
        stage(name, &figure.png()?)?;
    }
    report.finish(files, Some(folder), common, |total, _| {
        format!("{} ({:.2} s)", names.join(", "), total.as_secs_f64())
    })
}

fn settings(args: &LongmanArgs) -> std::result::Result<Settings, Failure> {
    let defaults = Settings::for_precision(args.common.precision);
    let settings = Settings {
        areas: args.areas,
        gauss: args.gauss,
        rtol: args.rtol.unwrap_or(defaults.rtol),
        atol: args.atol,
        accuracy: args.accuracy,
        head_exponent: args.head_exponent,
        nonlinear: args.nonlinear,
        beyond: args.beyond.unwrap_or(defaults.beyond),
        ..defaults
    };
    settings.check()?;
    Ok(settings)
}

fn title(args: &LongmanArgs) -> String {
    match (&args.family, &args.integrand) {
        (Some(family), _) => match Family::named(family) {
            Some(family) => family.formula.to_owned(),
            None => family.clone(),
        },
        (None, Some(integrand)) => integrand.clone(),
        (None, None) => format!(
            "{} * {}({} x)",
            match (&args.amplitude, &args.samples) {
                (Some(amplitude), _) => amplitude.clone(),
                (None, samples) => path_of(samples).unwrap_or_default(),
            },
            args.oscillator.as_deref().unwrap_or_default(),
            args.frequency.as_deref().unwrap_or_default()
        ),
    }
}

fn path_of(path: &Option<PathBuf>) -> Option<String> {
    path.as_ref().map(|p| p.display().to_string())
}

/// Parameters from flags.
fn given_parameters(args: &LongmanArgs) -> std::result::Result<BTreeMap<String, f64>, Failure> {
    let mut given = BTreeMap::new();
    for text in &args.param {
        let parsed = text
            .split_once('=')
            .and_then(|(name, value)| Some((name.trim(), number(value).ok()?)));
        let Some((name, value)) = parsed else {
            return Err(Failure::Usage(format!(
                "--param '{text}' is not of the form NAME=VALUE with a number"
            )));
        };
        if given.insert(name.to_owned(), value).is_some() {
            return Err(twice(name, "by --param"));
        }
    }
    for (name, value) in args.named.given() {
        if given.insert(name.to_owned(), value).is_some() {
            return Err(twice(name, &format!("by --param and by --{name}")));
        }
    }
    Ok(given)
}

/// One value of two would be ignored.
fn twice(name: &str, how: &str) -> Failure {
    Failure::Usage(format!(
        "the parameter '{name}' is given twice, {how}; give it once"
    ))
}

/// The integrals: what is integrated, and a row of parameters for each. `given` are those of the command line.
pub(super) fn problem(
    args: &LongmanArgs,
    given: &BTreeMap<String, f64>,
) -> std::result::Result<(Task, Rows), Failure> {
    let mut input = match &args.input {
        Some(path) => Some(reader(path)?),
        None => None,
    };
    let header = match (&args.input, &mut input) {
        (Some(path), Some(reader)) => read_header(path, reader)?,
        _ => Vec::new(),
    };
    let names = given.keys().chain(&header).map(String::as_str);
    let known: Vec<&str> = names.filter(|name| *name != "x").collect();
    let task = task(args, &known)?;
    let rows = rows(args, &task, given, (&header, input))?;
    Ok((task, rows))
}

fn task(args: &LongmanArgs, known: &[&str]) -> std::result::Result<Task, Failure> {
    let usage = |text: &str| Err(Failure::Usage(text.to_owned()));
    let of_integrand = [
        ("--half-period", args.half_period.is_some()),
        ("--first-zero", args.first_zero.is_some()),
        ("--zeros-file", args.zeros_file.is_some()),
    ];
    if let (None, Some((flag, _))) = (
        &args.integrand,
        of_integrand.iter().find(|(_, given)| *given),
    ) {
        return usage(&format!("{flag} belongs to --integrand; leave it out"));
    }
    if let Some(name) = &args.family {
        let Some(family) = Family::named(name) else {
            let names: Vec<_> = FAMILIES.iter().map(|family| family.name).collect();
            return usage(&format!(
                "there is no family '{name}'; families are {}",
                names.join(", ")
            ));
        };
        if args.oscillator.is_some() || args.frequency.is_some() {
            return usage(
                "a family has its own oscillator and frequency; leave --oscillator and --frequency away",
            );
        }
        return Ok(Task::family(family, args.amplitude.as_deref(), known)?);
    }
    if let Some(integrand) = &args.integrand {
        let boundaries = match (&args.zeros_file, args.half_period) {
            (Some(path), _) => Boundaries::Points(read_zeros(path)?),
            (None, Some(half_period)) => Boundaries::HalfPeriod {
                first: args.first_zero,
                half_period,
            },
            (None, None) => return usage("--integrand needs --zeros-file FILE or --half-period H"),
        };
        return Ok(Task::whole(integrand, boundaries, known)?);
    }
    if let Some(path) = &args.samples {
        let (Some(oscillator), Some(frequency)) = (&args.oscillator, &args.frequency) else {
            return usage("--samples needs --oscillator cos, sin or bessel:NU and --frequency");
        };
        let (x, g) = read_samples(path)?;
        let samples = match args.interpolation {
            Interpolation::Cubic => Samples::cubic(&x, &g),
            Interpolation::Chebyshev => Samples::chebyshev(&x, &g),
        };
        let samples = samples.map_err(|error| Error::file(path, error.to_string()))?;
        return Ok(Task::sampled(samples, oscillator, frequency, known)?);
    }
    match (&args.amplitude, &args.oscillator, &args.frequency) {
        (Some(amplitude), Some(oscillator), Some(frequency)) => {
            Ok(Task::oscillating(amplitude, oscillator, frequency, known)?)
        }
        (None, None, None) => usage(
            "an integrand is needed: --family NAME, --amplitude EXPR or --samples FILE with --oscillator and --frequency, or --integrand EXPR",
        ),
        (None, ..) => {
            usage("--amplitude EXPR or --samples FILE is needed with --oscillator and --frequency")
        }
        (_, None, _) => usage("--oscillator cos, sin or bessel:NU is needed with --amplitude"),
        (.., None) => usage("--frequency, a number or a parameter, is needed with --amplitude"),
    }
}

/// Two numbers a line; `#` starts a comment, and the first line may be a heading.
pub(super) fn read_samples(path: &Path) -> Result<(Vec<f64>, Vec<f64>)> {
    let text = std::fs::read_to_string(path).map_err(|e| Error::file(path, text::reason(&e)))?;
    let (mut x, mut g) = (Vec::new(), Vec::new());
    let text = text.trim_start_matches('\u{feff}');
    for (i, line) in text.lines().enumerate() {
        let line = line.split('#').next().unwrap_or_default();
        let words = line.split(|c: char| c.is_whitespace() || c == ',' || c == ';');
        let words: Vec<&str> = words.filter(|word| !word.is_empty()).collect();
        let numbers: Vec<f64> = words.iter().map_while(|word| word.parse().ok()).collect();
        match (&numbers[..], words.len()) {
            (_, 0) => {}
            (&[at, value], 2) => {
                x.push(at);
                g.push(value);
            }
            // A heading.
            ([], 2) if x.is_empty() && i == 0 => {}
            _ => {
                return Err(Error::file(
                    path,
                    format!(
                        "line {}: '{}' is not two numbers, x and g",
                        i + 1,
                        line.trim()
                    ),
                ));
            }
        }
    }
    Ok((x, g))
}

/// Numbers apart by white space or commas; `#` starts a comment. A word that is no number refuses the file.
pub(super) fn read_zeros(path: &Path) -> Result<Vec<f64>> {
    let text = std::fs::read_to_string(path).map_err(|e| Error::file(path, text::reason(&e)))?;
    let mut zeros = Vec::new();
    for (i, line) in text.lines().enumerate() {
        let line = line.split('#').next().unwrap_or_default();
        let words = line.split(|c: char| c.is_whitespace() || c == ',' || c == ';');
        for word in words.filter(|word| !word.is_empty()) {
            match word.parse() {
                Ok(zero) => zeros.push(zero),
                // A heading.
                Err(_) if zeros.is_empty() && i == 0 => {}
                Err(_) => {
                    return Err(Error::file(
                        path,
                        format!("line {}: '{word}' is no number", i + 1),
                    ));
                }
            }
        }
    }
    if zeros.is_empty() {
        return Err(Error::file(path, "no zeros in this file"));
    }
    Ok(zeros)
}

/// The path that is standard input, or standard output.
const STREAM: &str = "-";

type Reader = csv::Reader<Box<dyn Read>>;

fn reader(path: &Path) -> Result<Reader> {
    let source: Box<dyn Read> = if path == Path::new(STREAM) {
        Box::new(std::io::stdin().lock())
    } else {
        let file = std::fs::File::open(path);
        Box::new(file.map_err(|e| Error::file(path, text::reason(&e)))?)
    };
    let mut builder = csv::ReaderBuilder::new();
    builder
        .trim(csv::Trim::All)
        .flexible(true)
        .comment(Some(b'#'));
    Ok(builder.from_reader(source))
}

fn csv_error(path: &Path, error: csv::Error) -> Error {
    let line = error.position().map(csv::Position::line);
    let reason = match error.into_kind() {
        csv::ErrorKind::Io(error) => text::reason(&error),
        csv::ErrorKind::Utf8 { .. } => "not a text in UTF-8".to_owned(),
        other => format!("{other:?}"),
    };
    let line = line.map_or(String::new(), |line| format!("line {line}: "));
    Error::file(path, format!("{line}{reason}"))
}

fn read_header(path: &Path, reader: &mut Reader) -> Result<Vec<String>> {
    let header = reader.headers().map_err(|error| csv_error(path, error))?;
    let names: Vec<String> = header
        .iter()
        .map(|name| name.trim_start_matches('\u{feff}').trim().to_owned())
        .collect();
    if names.iter().all(String::is_empty) {
        return Err(Error::file(
            path,
            "an empty file; its first line must name the columns",
        ));
    }
    for (i, name) in names.iter().enumerate() {
        if !name.is_empty() && names[..i].contains(name) {
            return Err(Error::file(path, format!("two columns are named '{name}'")));
        }
    }
    Ok(names)
}

/// Where the value of a parameter comes from.
enum Origin {
    Column(usize),
    Flag(f64),
}

/// Names of the lower limit where the integrand has no parameter of that name. The second is the older one.
const LIMITS: [&str; 2] = ["lower", "a"];

/// Where the lower limit comes from: a column or a parameter, if not from its own flag. More than one would leave all but one of them unused.
fn limit(
    args: &LongmanArgs,
    task: &Task,
    given: &BTreeMap<String, f64>,
    header: &[String],
) -> std::result::Result<Option<Origin>, Failure> {
    let mut found: Option<(String, Origin)> = args
        .lower
        .map(|value| ("--lower".to_owned(), Origin::Flag(value)));
    for name in LIMITS {
        if task.parameters().iter().any(|known| known == name) {
            continue;
        }
        let column = header.iter().position(|column| column == name);
        let sources = [
            column.map(|column| (format!("the column '{name}'"), Origin::Column(column))),
            given
                .get(name)
                .map(|value| (format!("the parameter '{name}'"), Origin::Flag(*value))),
        ];
        for (source, origin) in sources.into_iter().flatten() {
            if let Some((other, _)) = &found {
                return Err(Failure::Usage(format!(
                    "the lower limit is given twice, by {other} and by {source}; give it once"
                )));
            }
            found = Some((source, origin));
        }
    }
    Ok(found.map(|(_, origin)| origin))
}

/// Where each parameter comes from.
fn origins(
    args: &LongmanArgs,
    task: &Task,
    given: &BTreeMap<String, f64>,
    header: &[String],
) -> std::result::Result<Vec<Origin>, Failure> {
    let mut missing = Vec::new();
    let mut origins = Vec::new();
    for name in task.parameters() {
        let column = header.iter().position(|column| column == name);
        match (column, given.get(name)) {
            (Some(_), Some(_)) => {
                return Err(twice(name, "by a column of the input and by a flag"));
            }
            (Some(column), None) => origins.push(Origin::Column(column)),
            (None, Some(value)) => origins.push(Origin::Flag(*value)),
            (None, None) => missing.push(name.as_str()),
        }
    }
    for name in given.keys() {
        if !task.parameters().contains(name) && !LIMITS.contains(&name.as_str()) {
            let names = task.parameters().join(", ");
            return Err(Failure::Usage(format!(
                "the integrand has no parameter '{name}'; it has {}",
                if names.is_empty() { "none" } else { &names }
            )));
        }
    }
    if !missing.is_empty() {
        let what = if missing.len() == 1 {
            "parameter"
        } else {
            "parameters"
        };
        let missing = missing.join(", ");
        return Err(match &args.input {
            Some(path) => Error::file(
                path,
                format!(
                    "no column for the {what} {missing}; the columns are {}",
                    header.join(", ")
                ),
            )
            .into(),
            None => Failure::Usage(format!(
                "no value for the {what} {missing}; give --param {}=VALUE or --input FILE",
                missing.split(',').next().unwrap_or_default()
            )),
        });
    }
    Ok(origins)
}

fn rows(
    args: &LongmanArgs,
    task: &Task,
    given: &BTreeMap<String, f64>,
    (header, input): (&[String], Option<Reader>),
) -> std::result::Result<Rows, Failure> {
    let limit = limit(args, task, given, header)?;
    let origins = origins(args, task, given, header)?;
    let limited = args.lower.is_none() && limit.is_some();
    let limit = limit.unwrap_or(Origin::Flag(0.0));
    let (Some(path), Some(mut reader)) = (&args.input, input) else {
        // Without an input all values are those of flags.
        let value = |origin: &Origin| match origin {
            Origin::Flag(value) => *value,
            Origin::Column(_) => f64::NAN,
        };
        return Ok(Rows {
            lower: vec![value(&limit)],
            values: origins.iter().map(value).collect(),
            limited,
            unreadable: None,
            long: None,
        });
    };
    let mut rows = Rows {
        lower: Vec::new(),
        values: Vec::new(),
        limited,
        unreadable: None,
        long: None,
    };
    let columns = origins
        .iter()
        .chain([&limit])
        .any(|origin| matches!(origin, Origin::Column(_)));
    let mut record = csv::StringRecord::new();
    while reader
        .read_record(&mut record)
        .map_err(|error| csv_error(path, error))?
    {
        let line = record.position().map_or(0, csv::Position::line);
        let long = columns
            && record
                .iter()
                .skip(header.len())
                .any(|cell| !cell.is_empty());
        if long {
            // A decimal comma, for example: no cell is known to be in its column.
            rows.long.get_or_insert((line, 0)).1 += 1;
        }
        let mut cell = |origin: &Origin| {
            let column = match origin {
                Origin::Flag(value) => return *value,
                Origin::Column(_) if long => return f64::NAN,
                Origin::Column(column) => *column,
            };
            let text = record.get(column).unwrap_or_default();
            text.parse().unwrap_or_else(|_| {
                let name = header.get(column).map_or("", String::as_str);
                let place = || format!("'{text}' in line {line}, column {name}");
                rows.unreadable.get_or_insert_with(|| (place(), 0)).1 += 1;
                f64::NAN
            })
        };
        rows.lower.push(cell(&limit));
        for origin in &origins {
            rows.values.push(cell(origin));
        }
    }
    Ok(rows)
}

fn integrate(
    task: &Task,
    rows: &Rows,
    settings: &Settings,
    common: &Common,
    machine: &Resolved,
) -> Result<Vec<Integral>> {
    let count = task.parameters().len();
    let total = rows.lower.len();
    let chunk = match machine {
        Resolved::Cuda(_) => GPU_CHUNK,
        _ => CHUNK,
    };
    let mut results = Vec::with_capacity(total);
    let mut progress = Progress::new("integrals", common.quiet || common.json || total <= chunk);
    while results.len() < total {
        let done = results.len();
        let end = (done + chunk).min(total);
        let lower = &rows.lower[done..end];
        let values = &rows.values[done * count..end * count];
        results.extend(task.integrate_on(machine, lower, values, settings, common.precision)?);
        progress.update(end as f64 / total as f64, || format!("{end} of {total}"));
    }
    progress.finish();
    Ok(results)
}

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
    COLUMNS.map(str::to_owned).into_iter().zip(values).collect()
}

struct Outcome<'a> {
    results: &'a [Integral],
    /// Names of the parameters, and their values.
    names: &'a [String],
    rows: &'a Rows,
    machine: String,
    precision: Precision,
}

impl Outcome<'_> {
    fn counts(&self) -> Vec<(Status, usize)> {
        let count = |status| self.results.iter().filter(|r| r.status == status).count();
        Status::ALL.map(|status| (status, count(status))).to_vec()
    }

    fn report(&self, report: &mut Report, spent: Duration) {
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

    /// Fails where there are integrals and none of them is OK.
    fn valid(&self) -> std::result::Result<(), Failure> {
        if self.results.is_empty() || self.results.iter().any(|r| r.status == Status::Ok) {
            return Ok(());
        }
        let counts = self.counts().into_iter().filter(|(_, count)| *count > 0);
        let counts: Vec<String> = counts
            .map(|(status, count)| format!("{count} {}", status.name()))
            .collect();
        Err(Error::Numerical(format!("no integral is OK: {}", counts.join(", "))).into())
    }

    /// Columns of the parameters: the lower limit first, by a name that no other column has.
    fn inputs(&self) -> Vec<String> {
        let taken = |name: &str| self.names.iter().any(|known| known == name);
        let free = LIMITS.into_iter().find(|name| !taken(name));
        let mut columns = vec![free.unwrap_or("lower limit").to_owned()];
        columns.extend(
            self.names
                .iter()
                .map(|name| match COLUMNS.contains(&name.as_str()) {
                    true => format!("parameter {name}"),
                    false => name.clone(),
                }),
        );
        columns
    }

    /// Values of the columns of the parameters in a row.
    fn inputs_of(&self, row: usize) -> impl Iterator<Item = f64> + '_ {
        let count = self.names.len();
        let values = &self.rows.values[row * count..(row + 1) * count];
        std::iter::once(self.rows.lower[row]).chain(values.iter().copied())
    }

    fn table(&self) -> Result<Vec<u8>> {
        let mut columns: Vec<String> = COLUMNS.map(str::to_owned).to_vec();
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
            (own, self.inputs_of(i).collect::<Vec<f64>>())
        });
        output::table(&columns, rows)
    }

    /// The rows of the table as objects.
    fn objects(&self) -> Vec<serde_json::Map<String, Value>> {
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
    fn plot(&self) -> Figure {
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

    fn summary(&self, title: &str, spent: Duration, total: Duration) -> String {
        let count = self.results.len();
        let mut lines = vec![
            format!(
                "{} of {title}",
                if count == 1 {
                    "Integral".to_owned()
                } else {
                    format!("{count} integrals")
                }
            ),
            format!(
                "  backend       {}, {}",
                self.machine,
                name_of(&self.precision)
            ),
        ];
        if let [r] = self.results {
            lines.push(format!("  value         {:?}", r.value));
            lines.push(format!("  error         {:.3e}", r.error));
            lines.push(format!("  status        {}", r.status));
            lines.push(format!("  accelerator   {}", r.accelerator));
            lines.push(format!("  condition     {:.4e}", r.condition));
            lines.push(match r.proof {
                Proof::Sampled => format!(
                    "  proof         sampled up to x = {}; nothing is said of what lies beyond or between the samples",
                    text::short(r.examined)
                ),
                proof => format!("  proof         {proof}"),
            });
        } else {
            if count <= SHOWN {
                lines.push(format!(
                    "  {:>24}  {:>10}  {:<16}  {:<11}  {:>10}",
                    "value", "error", "status", "accelerator", "condition"
                ));
                lines.extend(self.results.iter().map(|r| {
                    format!(
                        "  {:>24}  {:>10.3e}  {:<16}  {:<11}  {:>10.3e}",
                        format!("{:?}", r.value),
                        r.error,
                        r.status.name(),
                        r.accelerator.name(),
                        r.condition
                    )
                }));
            }
            for (status, count) in self.counts() {
                if count > 0 {
                    lines.push(format!("  {:<17} {count}", status.name()));
                }
            }
        }
        lines.push(format!(
            "  wall time     {:.3} s, of which the integrals {:.3} s",
            total.as_secs_f64(),
            spent.as_secs_f64()
        ));
        lines.join("\n")
    }
}
