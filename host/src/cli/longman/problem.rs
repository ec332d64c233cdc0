//! The integrals of a call: the integrand, and a row of parameters for each.

use std::collections::{BTreeMap, HashMap, HashSet};
use std::io::Read;
use std::path::Path;

use super::parameters::{FrequencyRange, Interpolation, LongmanArgs, twice};
use crate::cli::failure::Failure;
use crate::cli::report::Report;
use crate::cli::text;
use crate::error::{Error, Result};
use crate::longman::family::{FAMILIES, Family};
use crate::longman::sampled::Samples;
use crate::longman::{AREAS, Boundaries, Task};

/// Unused columns that a warning names.
const MOST_NAMED: usize = 8;

/// Rows of parameters: the limits, and a column for each parameter of the task.
pub(in crate::cli) struct Rows {
    pub(super) lower: Vec<f64>,
    pub(super) upper: Vec<f64>,
    /// Whether upper limits are given.
    pub(super) bounded: bool,
    pub(super) columns: Vec<Vec<f64>>,
    /// Whether the limits are a column or a parameter of the input.
    pub(super) limited: bool,
    /// Cells that are no numbers: the first one's place, and how many.
    pub(super) unreadable: Option<(String, usize)>,
    /// Rows with more cells than there are columns: the first one's line, and how many.
    pub(super) long: Option<(u64, usize)>,
    /// Columns that name no parameter.
    pub(super) unused: Vec<String>,
    /// Why no integral can be computed with the zeros of a file.
    pub(super) zeros: Option<String>,
}

impl Rows {
    /// Warns of rows that are no integrals.
    pub(super) fn warn(&self, report: &mut Report) {
        if !self.unused.is_empty() {
            report.warn(format!(
                "no parameter has the name of a column; unused: {}{}",
                self.unused[..self.unused.len().min(MOST_NAMED)].join(", "),
                match self.unused.len().saturating_sub(MOST_NAMED) {
                    0 => String::new(),
                    more => format!(" and {more} more"),
                }
            ));
        }
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

/// The integrals: what is integrated, and a row of parameters for each. `given` are those of the command line.
pub(in crate::cli) fn problem(
    args: &LongmanArgs,
    given: &BTreeMap<String, f64>,
) -> std::result::Result<(Task, Rows), Failure> {
    if let Some(range) = &args.frequency_range {
        return of_range(args, range, given);
    }
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
    let mut rows = self::rows(args, &task, given, (&header, input))?;
    if let (Some(path), Some(zeros)) = (&args.zeros_file, task.boundaries()) {
        rows.zeros = insufficient(path, zeros, &rows.lower);
    }
    Ok((task, rows))
}

/// The name of the table of a range of frequencies in errors.
const OF_RANGE: &str = "--frequency-range";

/// The integrals of a range of frequencies: a table with their column.
fn of_range(
    args: &LongmanArgs,
    range: &FrequencyRange,
    given: &BTreeMap<String, f64>,
) -> std::result::Result<(Task, Rows), Failure> {
    let name = FrequencyRange::NAME;
    if given.contains_key(name) {
        return Err(twice(name, "by --frequency-range and by --param"));
    }
    let args = LongmanArgs {
        frequency: Some(name.to_owned()),
        ..args.clone()
    };
    let known: Vec<&str> = given.keys().map(String::as_str).chain([name]).collect();
    let task = task(&args, &known)?;
    let rows: String = range.values().map(|value| format!("{value:e}\n")).collect();
    let table: Box<dyn Read> = Box::new(std::io::Cursor::new(format!("{name}\n{rows}")));
    let mut table = csv::Reader::from_reader(table);
    let header = read_header(Path::new(OF_RANGE), &mut table)?;
    let rows = self::rows(&args, &task, given, (&header, Some(table)))?;
    Ok((task, rows))
}

/// Why these zeros of a file are no boundaries of any row, if that is so.
fn insufficient(path: &Path, zeros: &[f64], lower: &[f64]) -> Option<String> {
    let path = path.display();
    if let Some(pair) = zeros.windows(2).find(|pair| pair[1] <= pair[0]) {
        let [before, after] = [pair[0], pair[1]];
        return Some(format!(
            "; the zeros of '{path}' must ascend, and {after} follows {before}"
        ));
    }
    let least = lower.iter().copied().fold(f64::INFINITY, f64::min);
    let count = zeros.iter().filter(|zero| **zero >= least).count();
    let needed = AREAS.start() + 1;
    (count < needed).then(|| {
        format!(
            "; the zeros of '{path}' from the lower limit on are {count}, and {} areas need {needed}",
            AREAS.start()
        )
    })
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
            Ok(Task::complex(amplitude, oscillator, frequency, known)?)
        }
        (None, None, None) => usage(
            "an integrand is needed: --family NAME, --amplitude EXPR or --samples FILE with --oscillator and --frequency, or --integrand EXPR",
        ),
        (None, ..) => {
            usage("--amplitude EXPR or --samples FILE is needed with --oscillator and --frequency")
        }
        (_, None, _) => usage("--oscillator cos, sin, bessel:NU or exp is needed with --amplitude"),
        (.., None) => usage("--frequency, a number or a parameter, is needed with --amplitude"),
    }
}

/// Two numbers a line; `#` starts a comment, and the first line may be a heading.
pub(in crate::cli) fn read_samples(path: &Path) -> Result<(Vec<f64>, Vec<f64>)> {
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
pub(in crate::cli) fn read_zeros(path: &Path) -> Result<Vec<f64>> {
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
pub(super) const STREAM: &str = "-";

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
    let mut known = HashSet::with_capacity(names.len());
    let mut named = names.iter().filter(|name| !name.is_empty());
    if let Some(name) = named.find(|name| !known.insert(name.as_str())) {
        return Err(Error::file(path, format!("two columns are named '{name}'")));
    }
    Ok(names)
}

/// Where the value of a parameter comes from.
enum Origin {
    Column(usize),
    Flag(f64),
}

/// Names of the lower limit where the integrand has no parameter of that name. The second is the older one.
pub(super) const LIMITS: [&str; 2] = ["lower", "a"];

/// The name of the upper limit where the integrand has no parameter of that name.
pub(super) const UPPER: [&str; 1] = ["upper"];

/// Where a limit comes from: a column or a parameter, if not from its own flag. More than one would leave all but one of them unused.
fn limit(
    (side, flag, names): (&str, Option<f64>, &[&'static str]),
    task: &Task,
    given: &BTreeMap<String, f64>,
    header: &[String],
) -> std::result::Result<Option<Origin>, Failure> {
    let mut found: Option<(String, Origin)> =
        flag.map(|value| (format!("--{side}"), Origin::Flag(value)));
    for &name in names {
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
                    "the {side} limit is given twice, by {other} and by {source}; give it once"
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
    let columns: HashMap<&str, usize> = header
        .iter()
        .enumerate()
        .map(|(column, name)| (name.as_str(), column))
        .collect();
    let known: HashSet<&str> = task.parameters().iter().map(String::as_str).collect();
    for name in task.parameters() {
        match (columns.get(name.as_str()), given.get(name)) {
            (Some(_), Some(_)) => {
                return Err(twice(name, "by a column of the input and by a flag"));
            }
            (Some(column), None) => origins.push(Origin::Column(*column)),
            (None, Some(value)) => origins.push(Origin::Flag(*value)),
            (None, None) => missing.push(name.as_str()),
        }
    }
    for name in given.keys() {
        let limit = LIMITS.contains(&name.as_str()) || UPPER.contains(&name.as_str());
        if !known.contains(name.as_str()) && !limit {
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

/// Names of the columns that are no parameter's.
fn unused<'a>(header: &[String], origins: impl Iterator<Item = &'a Origin>) -> Vec<String> {
    let taken: HashSet<usize> = origins
        .filter_map(|origin| match origin {
            Origin::Column(column) => Some(*column),
            Origin::Flag(_) => None,
        })
        .collect();
    let named = header.iter().enumerate();
    let unused = named.filter(|(at, name)| !name.is_empty() && !taken.contains(at));
    unused.map(|(_, name)| name.clone()).collect()
}

fn rows(
    args: &LongmanArgs,
    task: &Task,
    given: &BTreeMap<String, f64>,
    (header, input): (&[String], Option<Reader>),
) -> std::result::Result<Rows, Failure> {
    let lower = ("lower", args.lower, &LIMITS[..]);
    let upper = self::limit(("upper", args.upper, &UPPER), task, given, header)?;
    let limit = self::limit(lower, task, given, header)?;
    let origins = origins(args, task, given, header)?;
    let limited = args.lower.is_none() && limit.is_some();
    let limit = limit.unwrap_or(Origin::Flag(0.0));
    let bounded = upper.is_some();
    let upper = upper.unwrap_or(Origin::Flag(f64::INFINITY));
    // The table of a range of frequencies has no file.
    let path = args.input.as_deref().unwrap_or(Path::new(OF_RANGE));
    let Some(mut reader) = input else {
        // Without an input all values are those of flags.
        let value = |origin: &Origin| match origin {
            Origin::Flag(value) => *value,
            Origin::Column(_) => f64::NAN,
        };
        return Ok(Rows {
            lower: vec![value(&limit)],
            upper: vec![value(&upper)],
            bounded,
            columns: origins.iter().map(|o| vec![value(o)]).collect(),
            limited,
            unreadable: None,
            long: None,
            unused: Vec::new(),
            zeros: None,
        });
    };
    let mut rows = Rows {
        lower: Vec::new(),
        upper: Vec::new(),
        bounded,
        columns: vec![Vec::new(); origins.len()],
        limited,
        unreadable: None,
        long: None,
        unused: unused(header, origins.iter().chain([&limit, &upper])),
        zeros: None,
    };
    let columns = origins
        .iter()
        .chain([&limit, &upper])
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
        rows.upper.push(cell(&upper));
        for (column, origin) in rows.columns.iter_mut().zip(&origins) {
            column.push(cell(origin));
        }
    }
    Ok(rows)
}
