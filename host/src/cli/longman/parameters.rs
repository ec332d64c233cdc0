//! The flags of `rarefy longman`.

use std::collections::BTreeMap;
use std::fmt::{self, Write as _};
use std::path::PathBuf;
use std::str::FromStr;

use serde::{Serialize, Serializer};
use serde_json::{Value, json};

use crate::cli::failure::Failure;
use crate::cli::options::Common;
use crate::cli::text::{kept_as_text, shown_if};
use crate::cli::values::{finite, whole};
use crate::longman::expression::FUNCTIONS;
use crate::longman::family::{FAMILIES, Family};
use crate::longman::quadrature::GAUSS_POINTS;
use crate::longman::{AREAS, BEYOND, Settings};

const EXAMPLES: &str = "\
Examples:
  rarefy longman --family damped-cos --lambda 0.5 --omega 10 --areas 16 --gauss 8
  rarefy longman --amplitude 'x/(x^2+p^2)' --oscillator bessel:0 --frequency xi --input params.csv --output results.csv
  rarefy longman --amplitude 'x*exp(-x)' --oscillator bessel:0 --frequency-range 1e-3:1e3:log:200 --out hankel
  rarefy longman --amplitude 'exp(-x^2)' --oscillator cos --frequency 2 --lower -inf
  rarefy longman --amplitude '1/(x+i)' --oscillator exp --frequency 3 --upper 10
  rarefy longman --integrand 'cos(x^3)' --zeros-file zeros.txt
  rarefy longman --integrand 'exp(-x)*sin(x)' --half-period 3.141592653589793";

/// Integrate oscillating functions to infinity, any number at once, each with an error estimate and a status
///
/// The integrand is amplitude * oscillator(frequency * x), a named family, or a whole integrand with its zeros or its half-period. With --input, one
/// integral for each row of a CSV file with a header: the columns are the parameters, `lower` is the lower limit, and `upper` the upper one.
#[derive(Clone, Debug, Serialize, clap::Args)]
#[serde(rename_all = "kebab-case")]
#[command(after_help = EXAMPLES, after_long_help = long_help())]
pub(in crate::cli) struct LongmanArgs {
    /// A named family of integrands; they are listed below
    #[arg(long, value_name = "NAME", help_heading = "Integrand")]
    pub(super) family: Option<String>,
    /// Amplitude, an expression in x and parameters, and of complex ones in i; of some families, the function f
    #[arg(
        long,
        value_name = "EXPR",
        allow_hyphen_values = true,
        help_heading = "Integrand"
    )]
    pub(super) amplitude: Option<String>,
    /// The amplitude as samples: a text file of two columns, x ascending and g, instead of --amplitude
    #[arg(long, value_name = "FILE", help_heading = "Integrand", conflicts_with_all = ["family", "amplitude", "integrand"])]
    #[serde(serialize_with = "shown_if")]
    pub(super) samples: Option<PathBuf>,
    /// How the amplitude goes between its samples
    #[arg(
        long,
        value_enum,
        value_name = "HOW",
        default_value_t = Interpolation::Cubic,
        help_heading = "Integrand"
    )]
    pub(super) interpolation: Interpolation,
    /// Factor of the amplitude: cos, sin, bessel:NU or exp, which is exp(i W x); NU is a number or a parameter
    #[arg(long, value_name = "OSC", help_heading = "Integrand")]
    pub(super) oscillator: Option<String>,
    /// Frequency in the oscillator's argument: a number or a parameter, at least 0; with exp of either sign
    #[arg(
        long,
        value_name = "W",
        allow_hyphen_values = true,
        help_heading = "Integrand"
    )]
    pub(super) frequency: Option<String>,
    /// Frequencies of a table, LOW:HIGH:SPACING:N with the spacing log or linear: an integral for each, whose column is `frequency`
    #[arg(long, value_name = "RANGE", help_heading = "Integrand", conflicts_with_all = ["frequency", "input", "family", "integrand"])]
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(in crate::cli) frequency_range: Option<FrequencyRange>,
    /// The whole integrand, an expression in x and parameters
    #[arg(long, value_name = "EXPR", allow_hyphen_values = true, help_heading = "Integrand", conflicts_with_all = ["family", "amplitude", "oscillator", "frequency"])]
    pub(super) integrand: Option<String>,
    /// Zeros of the integrand, ascending numbers in a text file; any points between which the integrals alternate in sign will do
    #[arg(long, value_name = "FILE", help_heading = "Integrand", requires = "integrand", conflicts_with_all = ["half_period", "first_zero"])]
    #[serde(serialize_with = "shown_if")]
    pub(super) zeros_file: Option<PathBuf>,
    /// Distance between two zeros of the integrand
    #[arg(long, value_name = "H", value_parser = finite, help_heading = "Integrand", requires = "integrand")]
    pub(super) half_period: Option<f64>,
    /// First zero [default: the lower limit plus the half-period]
    #[arg(long, value_name = "Z", value_parser = finite, help_heading = "Integrand", requires = "half_period")]
    pub(super) first_zero: Option<f64>,
    /// CSV file of parameters, one integral a row; - is standard input
    #[arg(long, value_name = "FILE", help_heading = "Integrals")]
    #[serde(serialize_with = "shown_if")]
    pub(super) input: Option<PathBuf>,
    /// Lower limit, where the input has no column `lower`: a number or -inf [default: 0]
    #[arg(long, value_name = "A", value_parser = number, allow_hyphen_values = true, help_heading = "Integrals")]
    #[serde(serialize_with = "any_number")]
    pub(super) lower: Option<f64>,
    /// Upper limit, where the input has no column `upper` [default: inf]
    #[arg(long, value_name = "B", value_parser = number, allow_hyphen_values = true, help_heading = "Integrals")]
    #[serde(serialize_with = "any_number", skip_serializing_if = "Option::is_none")]
    pub(super) upper: Option<f64>,
    /// Value of a parameter that the input has no column for, as NAME=VALUE; may be repeated with other names, or separated by commas
    #[arg(
        long,
        value_name = "NAME=VALUE",
        value_delimiter = ',',
        allow_hyphen_values = true,
        help_heading = "Integrals"
    )]
    #[serde(serialize_with = "joined", skip_serializing_if = "Vec::is_empty")]
    pub(super) param: Vec<String>,
    #[command(flatten)]
    #[serde(flatten)]
    pub(super) named: NamedParameters,
    /// Areas (half cycles) that are used, 8 to 64 [default: 32, and 64 where those do not suffice]
    #[arg(long, value_name = "N", value_parser = |text: &str| whole(text, AREAS), help_heading = "Method")]
    pub(super) areas: Option<usize>,
    /// Gauss points of an area, 2 to 64; their Kronrod extension estimates the error. Kernels have 7, and the CPU computes with other numbers
    #[arg(long, value_name = "G", default_value_t = 7, value_parser = |text: &str| whole(text, GAUSS_POINTS), help_heading = "Method")]
    pub(super) gauss: usize,
    /// Relative tolerance [default: 1e-10; 1e-5 in f32]
    #[arg(long, value_name = "R", value_parser = finite, help_heading = "Method")]
    pub(super) rtol: Option<f64>,
    /// Absolute tolerance
    #[arg(long, value_name = "R", default_value_t = 0.0, value_parser = finite, help_heading = "Method")]
    pub(super) atol: f64,
    /// Relative accuracy of the integrand [default: 4 units of roundoff, 16 with Bessel functions]
    #[arg(long, value_name = "EPS", value_parser = finite, help_heading = "Method")]
    pub(super) accuracy: Option<f64>,
    /// P if the integrand is like (x-a)^-P at the lower limit; found by itself where that is 0
    #[arg(long, value_name = "P", value_parser = finite, help_heading = "Method")]
    pub(super) head_exponent: Option<f64>,
    /// Try Levin's u transformation and Wynn's epsilon algorithm too
    #[arg(long, help_heading = "Method")]
    pub(super) nonlinear: bool,
    /// Half periods beyond the areas that are sampled where the amplitude cannot be enclosed in intervals, up to 65536 [default: 512]
    #[arg(long, value_name = "N", value_parser = |text: &str| whole(text, BEYOND), help_heading = "Method")]
    pub(super) beyond: Option<usize>,
    /// Where to write the table of results; - is standard output [default: results.csv in --out]
    #[arg(long, value_name = "FILE")]
    #[serde(skip)]
    pub(super) output: Option<PathBuf>,
    #[command(flatten)]
    #[serde(flatten)]
    pub(super) common: Common,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, clap::ValueEnum, Serialize)]
#[serde(rename_all = "kebab-case")]
pub(super) enum Interpolation {
    /// A cubic spline; nothing is known beyond the last sample
    Cubic,
    /// A Chebyshev series in (x-s)/(x+s) for all x > 0; the n samples lie at s cot(pi (k+1/2)/(2n))^2
    Chebyshev,
}

/// Frequencies from the lowest to the highest.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(in crate::cli) struct FrequencyRange {
    low: f64,
    high: f64,
    is_log: bool,
    count: usize,
}

kept_as_text!(FrequencyRange);

/// Most frequencies of a range.
const MOST_FREQUENCIES: usize = 10_000_000;

impl FrequencyRange {
    /// The name of their column.
    pub(super) const NAME: &str = "frequency";

    /// Whether equal factors are between the frequencies.
    pub(in crate::cli) fn is_log(&self) -> bool {
        self.is_log
    }

    /// The frequencies.
    pub(super) fn values(&self) -> impl Iterator<Item = f64> {
        let Self {
            low,
            high,
            is_log,
            count,
        } = *self;
        (0..count).map(move |k| {
            let share = k as f64 / (count - 1) as f64;
            match k {
                0 => low,
                _ if k + 1 == count => high,
                _ if is_log => low * (high / low).powf(share),
                _ => low + share * (high - low),
            }
        })
    }
}

impl FromStr for FrequencyRange {
    type Err = &'static str;

    fn from_str(text: &str) -> Result<Self, Self::Err> {
        let parts: Vec<&str> = text.split(':').collect();
        let &[low, high, spacing, count] = &parts[..] else {
            return Err("LOW:HIGH:SPACING:N is needed, such as 1e-3:1e3:log:200");
        };
        let positive = |text: &str| {
            text.parse()
                .ok()
                .filter(|v: &f64| *v > 0.0 && v.is_finite())
        };
        let (Some(low), Some(high)) = (positive(low), positive(high)) else {
            return Err("frequencies are positive numbers");
        };
        if low >= high {
            return Err("the first frequency is the lower one");
        }
        let is_log = match spacing {
            "log" => true,
            "linear" => false,
            _ => return Err("the spacing is log or linear"),
        };
        let count = count.parse().ok();
        let count = count.filter(|n| (2..=MOST_FREQUENCIES).contains(n));
        let count = count.ok_or("the number of frequencies is from 2 to 10000000")?;
        Ok(Self {
            low,
            high,
            is_log,
            count,
        })
    }
}

impl fmt::Display for FrequencyRange {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let spacing = if self.is_log { "log" } else { "linear" };
        write!(f, "{}:{}:{spacing}:{}", self.low, self.high, self.count)
    }
}

macro_rules! named_parameters {
    ($($name:ident)*) => {
        /// The parameters of the families as flags.
        #[derive(Clone, Debug, clap::Args)]
        #[command(next_help_heading = "Parameters of the families")]
        pub(super) struct NamedParameters {
            $(
                #[arg(long, value_name = "VALUE", value_parser = number)]
                $name: Option<f64>,
            )*
        }

        impl NamedParameters {
            pub(super) fn given(&self) -> impl Iterator<Item = (&'static str, f64)> {
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
  x is the variable of integration; pi and e are constants; i is the imaginary unit of an amplitude; every other name is a parameter: a column of --input, or given by --param, which may be e, pi and i too.
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
  value,error,status,accelerator,condition,proof,examined, in the order of the rows, and then the lower limit, the upper one where it is given, and the parameters. error is an estimate of the absolute
  error; condition times the machine epsilon is the relative error that can be attained. Complex integrals have imaginary,imaginary_error after examined. Status:
  OK                 the error estimate is within max(atol, rtol |value|)
  PREMISE_VIOLATED   the areas do not alternate, or do not fall to zero: no value
  NOT_CONVERGED      value and honest estimate, beyond the tolerance; infinite without a proof
  NOT_FINITE         the integrand is not finite inside the range
  INVALID_ARGUMENT   NaN, a negative frequency of a real oscillator, boundaries that do not ascend
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

pub(super) fn settings(args: &LongmanArgs) -> std::result::Result<Settings, Failure> {
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

pub(super) fn title(args: &LongmanArgs) -> String {
    match (&args.family, &args.integrand) {
        (Some(family), _) => match Family::named(family) {
            Some(family) => family.formula.to_owned(),
            None => family.clone(),
        },
        (None, Some(integrand)) => integrand.clone(),
        (None, None) => format!(
            "{} * {}({}{} x)",
            match (&args.amplitude, &args.samples) {
                (Some(amplitude), _) if is_sum(amplitude) => format!("({amplitude})"),
                (Some(amplitude), _) => amplitude.clone(),
                (None, samples) => path_of(samples).unwrap_or_default(),
            },
            args.oscillator.as_deref().unwrap_or_default(),
            match args.oscillator.as_deref() {
                Some("exp") => "i ",
                _ => "",
            },
            (args.frequency.as_deref())
                .or(args.frequency_range.map(|_| FrequencyRange::NAME))
                .unwrap_or_default()
        ),
    }
}

/// Whether an expression is a sum or a difference, which a product needs parentheses around.
fn is_sum(text: &str) -> bool {
    let (mut depth, mut before) = (0, [' '; 2]);
    for c in text.chars().filter(|c| !c.is_whitespace()) {
        match c {
            '(' => depth += 1,
            ')' => depth -= 1,
            '+' | '-' if depth == 0 => {
                let [digit, last] = before;
                let exponent =
                    matches!(last, 'e' | 'E') && (digit.is_ascii_digit() || digit == '.');
                let sign = matches!(last, ' ' | '^' | '*' | '/' | '+' | '-');
                if !exponent && !sign {
                    return true;
                }
            }
            _ => {}
        }
        before = [before[1], c];
    }
    false
}

fn path_of(path: &Option<PathBuf>) -> Option<String> {
    path.as_ref().map(|p| p.display().to_string())
}

/// Parameters from flags.
pub(super) fn given_parameters(
    args: &LongmanArgs,
) -> std::result::Result<BTreeMap<String, f64>, Failure> {
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
pub(super) fn twice(name: &str, how: &str) -> Failure {
    Failure::Usage(format!(
        "the parameter '{name}' is given twice, {how}; give it once"
    ))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn sums_are_told_from_products() {
        for text in ["x^(1/x)-1", "1 + x", "e-x", "2*x-1e-3", "(1+x)-(2)", "-x+1"] {
            assert!(is_sum(text), "{text}");
        }
        for text in [
            "x^(1/x-1)",
            "-x",
            "2^-x",
            "1e-3*x",
            "3*-x",
            "exp(-x)",
            "(1+x)",
            "1.e-3/x",
        ] {
            assert!(!is_sum(text), "{text}");
        }
    }
}
