//! What every computing subcommand shares: its flags, the layering of a configuration file under them, and the
//! way from an error to an exit code.

use std::ffi::OsString;
use std::ops::RangeInclusive;
use std::path::{Path, PathBuf};
use std::process::ExitCode;

use clap::builder::{PossibleValuesParser, TypedValueParser};
use clap::error::{ContextKind, ContextValue, ErrorKind};
use clap::parser::ValueSource;
use clap::{Arg, ArgAction, ArgMatches};
use serde::de::value::{Error as ValueError, StringDeserializer};
use serde::de::{DeserializeOwned, IntoDeserializer};
use serde::{Deserialize, Serialize};
use serde_json::{Map, Value};

use super::flags;
use super::output::{self, short};
use super::record;
use crate::backend::{Backend, Precision};
use crate::collision::{Method, OperatorConfig, Order, Scattering, VelocityGrid};
use crate::error::Error;

/// Flags of every computing subcommand.
#[derive(Clone, Debug, clap::Args)]
#[command(next_help_heading = "Common options")]
pub(super) struct Common {
    /// Where to compute; auto takes the GPU if there is one, else the CPU
    #[arg(long, default_value = "auto", value_parser = named::<Backend>(&["auto", "cuda", "cpu", "emulator", "reference"]))]
    pub(super) backend: Backend,
    /// Arithmetic of the bulk of the work, and type of the arrays written
    #[arg(long, default_value = "f64", value_parser = named::<Precision>(&["f32", "f64"]))]
    pub(super) precision: Precision,
    /// Folder for arrays (.npy), tables (.csv), plots (.png) and run.json
    #[arg(long, value_name = "DIR")]
    pub(super) out: Option<PathBuf>,
    /// Replace the run that the folder of --out holds; without this such a folder is refused
    #[arg(long)]
    pub(super) overwrite: bool,
    /// Print run.json's object on standard output, and nothing else there
    #[arg(long)]
    pub(super) json: bool,
    /// No progress and no summary; warnings and errors remain
    #[arg(long)]
    pub(super) quiet: bool,
    /// Take options from a TOML file ([common] and a section for each command), or from an earlier run's run.json;
    /// options on the command line override it
    #[arg(long, value_name = "FILE")]
    pub(super) config: Option<PathBuf>,
    /// Set an option by its name in such a file, as -s relax.grid=24; it goes before the file, and after the options of the command
    /// line
    #[arg(short = 's', value_name = "SECTION.KEY=VALUE")]
    pub(super) set: Vec<String>,
}

/// Flags of the subcommands that evaluate the collision integral.
#[derive(Clone, Debug, clap::Args)]
pub(super) struct OperatorArgs {
    /// Total cross-section sigma_T = 4 pi C at unit relative speed
    #[arg(long, default_value_t = 1.0, value_parser = positive)]
    pub(super) sigma_t: f64,
    /// How the gain is summed; both agree to roundoff
    #[arg(long, default_value = "fast", value_parser = named::<Method>(&["direct", "fast"]))]
    pub(super) method: Method,
    /// Order of the gain's coefficients: 2 as in the paper, or 4, whose relaxation rates are far more accurate
    #[arg(long, default_value = "2", value_parser = order())]
    pub(super) order: Order,
    /// Leave out the conservative correction
    #[arg(long)]
    pub(super) no_correction: bool,
}

/// What determines the collision operator besides the number of cells, by the names of the flags.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub(super) struct Operator {
    pub(super) vmin: f64,
    pub(super) vmax: f64,
    pub(super) model: Scattering,
    pub(super) sigma_t: f64,
    pub(super) method: Method,
    #[serde(default)]
    pub(super) order: Order,
    pub(super) no_correction: bool,
    pub(super) backend: Backend,
    pub(super) precision: Precision,
}

impl Operator {
    /// What the flags say about a grid's operator.
    pub(super) fn new(
        grid: &VelocityGrid,
        model: Scattering,
        args: &OperatorArgs,
        common: &Common,
    ) -> Self {
        Self {
            vmin: grid.min(),
            vmax: grid.max(),
            model,
            sigma_t: args.sigma_t,
            method: args.method,
            order: args.order,
            no_correction: args.no_correction,
            backend: common.backend,
            precision: common.precision,
        }
    }

    /// The library's configuration, with this many cells along an axis.
    pub(super) fn config(&self, cells: usize) -> Result<OperatorConfig, Error> {
        Ok(OperatorConfig {
            grid: VelocityGrid::new(cells, self.vmin, self.vmax)?,
            scattering: self.model,
            sigma_t: self.sigma_t,
            method: self.method,
            order: self.order,
            precision: self.precision,
            corrected: !self.no_correction,
            backend: self.backend,
        })
    }

    /// The first lines of a summary: what was done, with what molecules, and where.
    pub(super) fn summary(&self, work: &str, cells: usize, machine: &str) -> String {
        let Self {
            vmin,
            vmax,
            model,
            sigma_t,
            order,
            ..
        } = self;
        let (method, precision) = (name_of(&self.method), name_of(&self.precision));
        let correction = if self.no_correction {
            "uncorrected"
        } else {
            "corrected"
        };
        format!(
            "{work} on {cells}^3 velocities in [{}, {}]^3\n  \
               molecules     {model}, sigma_T = {}; {method} sum of order {order}, {correction}\n  \
               backend       {machine}, {precision}",
            short(*vmin),
            short(*vmax),
            short(*sigma_t)
        )
    }
}

/// A parser of the names under which `T` is serialised.
pub(super) fn named<T>(names: &'static [&'static str]) -> impl TypedValueParser<Value = T>
where
    T: DeserializeOwned + Clone + Send + Sync + 'static,
{
    PossibleValuesParser::new(names).try_map(|name| {
        let name: StringDeserializer<ValueError> = name.into_deserializer();
        T::deserialize(name)
    })
}

/// A parser of the orders of the coefficients.
pub(super) fn order() -> impl TypedValueParser<Value = Order> {
    PossibleValuesParser::new(["2", "4"]).try_map(|text| text.parse::<Order>())
}

/// The name under which `value` is serialised.
pub(super) fn name_of(value: &impl serde::Serialize) -> String {
    match serde_json::to_value(value) {
        Ok(Value::String(name)) => name,
        Ok(other) => other.to_string(),
        Err(error) => error.to_string(),
    }
}

/// A finite number.
pub(super) fn finite(text: &str) -> Result<f64, String> {
    match text.parse::<f64>() {
        Ok(number) if number.is_finite() => Ok(number),
        _ => Err("a finite number is needed".into()),
    }
}

/// A finite number above zero.
pub(super) fn positive(text: &str) -> Result<f64, String> {
    match finite(text) {
        Ok(number) if number > 0.0 => Ok(number),
        _ => Err("a positive finite number is needed".into()),
    }
}

/// A whole number above zero.
pub(super) fn count(text: &str) -> Result<u64, String> {
    match text.parse() {
        Ok(number) if number > 0 => Ok(number),
        _ => Err("a whole number above zero is needed".into()),
    }
}

/// A whole number in a range.
pub(super) fn whole(text: &str, range: RangeInclusive<usize>) -> Result<usize, String> {
    match text.parse() {
        Ok(number) if range.contains(&number) => Ok(number),
        _ => Err(format!(
            "a whole number from {} to {} is needed",
            range.start(),
            range.end()
        )),
    }
}

/// A number of cells along an axis of a velocity grid.
pub(super) fn cells(text: &str) -> Result<usize, String> {
    whole(text, VelocityGrid::MIN_N..=VelocityGrid::MAX_N)
}

/// Refuses options that change nothing in a mode: names, and whether each was given another value than its default.
pub(super) fn without_effect(mode: &str, options: &[(&str, bool)]) -> Result<(), Failure> {
    match options.iter().find(|(_, given)| *given) {
        None => Ok(()),
        Some((name, _)) => Err(Failure::Usage(format!(
            "--{name} has no effect with {mode}; leave it out"
        ))),
    }
}

/// Why the command did not finish.
#[derive(Debug)]
pub(super) enum Failure {
    /// The arguments are wrong.
    Usage(String),
    /// The library, or a file, refused.
    Library(Error),
    /// The run did not reach what was asked for; the text says how far it came.
    NotConverged(String),
    /// The user stopped the run; the text says how to go on.
    Interrupted(String),
    /// Help or version was asked for; this is it.
    Shown(String),
    /// Standard output failed in another way than by closing.
    Stdout(std::io::Error),
    /// Standard output was closed by its reader, who has seen enough.
    StdoutClosed,
}

impl Failure {
    /// What clap refused, in one line.
    pub(super) fn usage(error: &clap::Error) -> Self {
        if matches!(
            error.kind(),
            ErrorKind::DisplayHelp | ErrorKind::DisplayVersion
        ) {
            return Self::Shown(error.render().to_string());
        }
        let text = error.render().to_string();
        let body = text.strip_prefix("error: ").unwrap_or(&text);
        let end = ["\n\nUsage:", "\n\nFor more information"]
            .iter()
            .filter_map(|mark| body.find(mark))
            .min()
            .unwrap_or(body.len());
        let mut line = String::new();
        for part in body[..end].lines().map(str::trim).filter(|l| !l.is_empty()) {
            if part.starts_with("tip:") || part.starts_with('[') {
                line.push_str("; ");
            } else if !line.is_empty() {
                line.push(' ');
            }
            line.push_str(part.strip_prefix("tip: ").unwrap_or(part));
        }
        Self::Usage(line)
    }

    /// Says what happened, in one line on standard error, and gives the exit code.
    pub(super) fn exit(self) -> ExitCode {
        if let Self::Shown(text) = &self {
            return match output::print(text) {
                Ok(()) => ExitCode::SUCCESS,
                Err(failure) => failure.exit(),
            };
        }
        let (code, line) = self.code_and_line();
        if code != 0 {
            output::say(&line);
        }
        ExitCode::from(code)
    }

    fn code_and_line(&self) -> (u8, String) {
        let (code, text) = match self {
            Self::StdoutClosed | Self::Shown(_) => (0, String::new()),
            Self::Usage(text) => (2, text.clone()),
            Self::Library(error) if error.is_input() => (2, flags::named(&error.to_string())),
            Self::Library(error) => (1, flags::named(&error.to_string())),
            Self::NotConverged(text) => (1, format!("NOT CONVERGED: {text}")),
            Self::Interrupted(text) => (1, text.clone()),
            Self::Stdout(error) => (1, format!("standard output: {}", output::reason(error))),
        };
        let text = text.split_whitespace().collect::<Vec<_>>().join(" ");
        // Names of files and lines of text are shown as they are, but for what a terminal would not show.
        let text: String = text
            .chars()
            .map(|c| if c.is_control() { '\u{fffd}' } else { c })
            .collect();
        (code, format!("rarefy: error: {text}"))
    }
}

impl From<Error> for Failure {
    fn from(error: Error) -> Self {
        Self::Library(error)
    }
}

/// Parses the command line, with the settings of `-s` layered under it, and under those the file named by `--config`.
///
/// An option of a layer is used unless what lies above has that option or one that excludes it, so all layers go through the same parser,
/// checks and messages as the flags.
pub(super) fn parse(
    command: clap::Command,
    mut arguments: Vec<OsString>,
) -> Result<ArgMatches, Failure> {
    // What begins with a minus after an option that takes a value may be a number: the option says which numbers are right.
    let command = command
        .color(clap::ColorChoice::Auto)
        .mut_subcommands(|sub| {
            sub.mut_args(|arg| match arg.get_long() {
                Some(_) if arg.get_action().takes_values() => arg.allow_negative_numbers(true),
                _ => arg,
            })
        });
    // What is required may stand in the file: the first passes require nothing.
    let lenient = command.clone().mut_subcommands(|sub| {
        sub.mut_args(|arg| {
            let arg = arg.required(false);
            arg.required_unless_present(clap::builder::Resettable::Reset)
        })
    });
    help_as_flag(&mut arguments);
    let mut origin = None;
    for layer in [settings, file_sections] {
        let given =
            lenient
                .clone()
                .try_get_matches_from(&arguments)
                .map_err(|error| match error.kind() {
                    // Help tells what is required.
                    ErrorKind::DisplayHelp => {
                        let strict = command.clone().try_get_matches_from(&arguments);
                        refused(&strict.err().unwrap_or(error), None, &command, &arguments)
                    }
                    _ => refused(&error, origin.as_deref(), &command, &arguments),
                })?;
        let Some((name, given)) = given.subcommand() else {
            continue;
        };
        let Some((path, sections)) = layer(&command, name, given)? else {
            continue;
        };
        let (options, files) = options_of(&command, name, given, &sections, &path)?;
        // The subcommand is the first argument: the command itself has no options that take a value.
        let place = arguments
            .iter()
            .skip(1)
            .position(|a| a == name)
            .map_or(arguments.len(), |i| i + 2);
        arguments.splice(place..place, options);
        if !files.is_empty() {
            arguments.push("--".into());
            arguments.extend(files);
        }
        origin = Some(path);
    }
    command
        .clone()
        .try_get_matches_from(&arguments)
        .map_err(|error| refused(&error, origin.as_deref(), &command, &arguments))
}

/// `rarefy help relax` is `rarefy relax --help`.
fn help_as_flag(arguments: &mut Vec<OsString>) {
    if arguments.get(1).is_some_and(|first| first == "help") {
        arguments.remove(1);
        arguments.push("--help".into());
    }
}

/// What clap refused, and in which file or layer.
fn refused(
    error: &clap::Error,
    origin: Option<&Path>,
    command: &clap::Command,
    arguments: &[OsString],
) -> Failure {
    match (
        unknown_option(error, command, arguments).unwrap_or_else(|| Failure::usage(error)),
        origin,
    ) {
        (Failure::Usage(line), Some(path))
            if error.kind() != ErrorKind::MissingRequiredArgument =>
        {
            Failure::Usage(format!("{}: {line}", path.display()))
        }
        (failure, _) => failure,
    }
}

/// What is said of an option that the subcommand does not have: clap's own suggestions are far-fetched.
fn unknown_option(
    error: &clap::Error,
    command: &clap::Command,
    arguments: &[OsString],
) -> Option<Failure> {
    if error.kind() != ErrorKind::UnknownArgument {
        return None;
    }
    let Some(ContextValue::String(found)) = error.get(ContextKind::InvalidArg) else {
        return None;
    };
    let word = found.strip_prefix("--")?.split('=').next()?;
    let sub = arguments
        .iter()
        .skip(1)
        .find_map(|argument| command.find_subcommand(argument))?;
    let name = sub.get_name();
    let hint = match nearest(word, sub.get_arguments().filter_map(Arg::get_long)) {
        Some(other) => format!("; a similar argument exists: '--{other}'"),
        None => format!("; 'rarefy {name} --help' lists the options"),
    };
    Some(Failure::Usage(format!(
        "unexpected argument '--{word}' found{hint}"
    )))
}

/// Where settings come from, and their sections.
type Layer = Option<(PathBuf, Vec<Section>)>;

/// The settings of `-s`.
fn settings(command: &clap::Command, _: &str, given: &ArgMatches) -> Result<Layer, Failure> {
    let texts = given.try_get_many::<String>("set").ok().flatten();
    let mut sections: Vec<Section> = Vec::new();
    for text in texts.into_iter().flatten() {
        let parts = text
            .split_once('=')
            .and_then(|(name, value)| Some((name.split_once('.')?, value)));
        let Some(((section, key), value)) = parts else {
            return Err(Failure::Usage(format!(
                "-s takes SECTION.KEY=VALUE, such as relax.grid=24, not '{text}'"
            )));
        };
        known_section(section, &section_names(command), Path::new(SETTINGS))?;
        let value = match value {
            "true" => Value::Bool(true),
            "false" => Value::Bool(false),
            text => Value::String(text.into()),
        };
        // Of two that set the same, the last one holds.
        match sections.iter_mut().find(|(name, _)| name == section) {
            Some((_, table)) => {
                table.insert(key.into(), value);
            }
            None => sections.push((section.into(), Map::from_iter([(key.into(), value)]))),
        }
    }
    Ok((!sections.is_empty()).then(|| (SETTINGS.into(), sections)))
}

/// What messages call the settings of `-s`.
const SETTINGS: &str = "-s";

/// The sections of the file named by `--config`.
fn file_sections(
    command: &clap::Command,
    name: &str,
    given: &ArgMatches,
) -> Result<Layer, Failure> {
    match given.try_get_one::<PathBuf>("config") {
        Ok(Some(path)) => Ok(Some((path.clone(), read_sections(command, name, path)?))),
        _ => Ok(None),
    }
}

/// The options of a layer that hold for this command line, as arguments, and the values of those without a name.
fn options_of(
    command: &clap::Command,
    name: &str,
    given: &ArgMatches,
    sections: &[Section],
    path: &Path,
) -> Result<(Vec<OsString>, Vec<OsString>), Failure> {
    let (mut options, mut files) = (Vec::new(), Vec::new());
    let on_the_line =
        |arg: &Arg| given.value_source(arg.get_id().as_str()) == Some(ValueSource::CommandLine);
    for (section, table) in sections {
        let of_section = command
            .find_subcommand(if section == "common" { name } else { section })
            .expect("sections are those of commands");
        for (key, value) in table {
            let arg = known_option(of_section, section, key, path)?;
            if section != "common" && section != name {
                continue;
            }
            // Of two options that exclude each other, clap knows it from one of them only.
            let excludes = |a: &Arg, b: &Arg| {
                let others = of_section.get_arg_conflicts_with(a);
                others.iter().any(|other| other.get_id() == b.get_id())
            };
            let overridden = of_section.get_arguments().any(|other| {
                on_the_line(other)
                    && (other.get_id() == arg.get_id()
                        || excludes(arg, other)
                        || excludes(other, arg)
                        || arg.is_positional() && other.is_positional())
            });
            if overridden {
                continue;
            }
            let argument = as_argument(arg, section, key, value, path)?;
            if arg.is_positional() {
                let place = of_section.get_positionals().position(|other| other == arg);
                files.extend(argument.map(|file| (place, file)));
            } else {
                options.extend(argument);
            }
        }
    }
    files.sort();
    Ok((options, files.into_iter().map(|(_, file)| file).collect()))
}

/// `common` and the commands that take settings.
fn section_names(command: &clap::Command) -> Vec<&str> {
    std::iter::once("common")
        .chain(
            command
                .get_subcommands()
                .filter(|sub| sub.get_arguments().any(|arg| arg.get_id() == "config"))
                .map(clap::Command::get_name),
        )
        .collect()
}

/// Refuses a section that no command has.
fn known_section(section: &str, names: &[&str], path: &Path) -> Result<(), Error> {
    if names.contains(&section) {
        return Ok(());
    }
    Err(Error::file(
        path,
        format!(
            "unknown section or key '{section}'{}",
            similar(section, names.iter().copied())
                .unwrap_or_else(|| format!("; sections are {}", names.join(", ")))
        ),
    ))
}

/// The name of a section and its keys.
type Section = (String, Map<String, Value>);

/// The sections of a configuration file: a TOML file's tables, or a run.json's parameters.
fn read_sections(command: &clap::Command, name: &str, path: &Path) -> Result<Vec<Section>, Error> {
    let text = std::fs::read_to_string(path).map_err(|e| Error::file(path, output::reason(&e)))?;
    let names = section_names(command);
    if path.extension().is_some_and(|e| e == "json") {
        let object: Value = serde_json::from_str(&text).map_err(|e| Error::file(path, e))?;
        return match (&object["command"], &object["parameters"]) {
            (Value::String(of), Value::Object(_)) if names.contains(&of.as_str()) && of != name => {
                Err(Error::file(
                    path,
                    format!(
                        "a run of 'rarefy {of}', whose options are not those of 'rarefy {name}'"
                    ),
                ))
            }
            (Value::String(of), Value::Object(table)) if of == name => {
                Ok(vec![(of.clone(), record::options(table))])
            }
            _ => Err(Error::file(path, "not the run.json of a rarefy command")),
        };
    }
    let table: toml::Table = text.parse().map_err(|error: toml::de::Error| {
        let line = error
            .span()
            .map(|span| 1 + text[..span.start].matches('\n').count());
        let line = line.map_or(String::new(), |line| format!("line {line}: "));
        Error::file(path, format!("{line}{}", error.message()))
    })?;
    let mut sections = Vec::new();
    for (section, value) in table {
        known_section(&section, &names, path)?;
        match serde_json::to_value(value) {
            Ok(Value::Object(table)) => sections.push((section, table)),
            _ => {
                return Err(Error::file(
                    path,
                    format!("'{section}' must be a section: [{section}]"),
                ));
            }
        }
    }
    Ok(sections)
}

fn known_option<'a>(
    command: &'a clap::Command,
    section: &str,
    key: &str,
    path: &Path,
) -> Result<&'a Arg, Error> {
    let options = || {
        command
            .get_arguments()
            .filter(|arg| !matches!(arg.get_id().as_str(), "config" | "help"))
    };
    let long = |arg: &'a Arg| arg.get_long().unwrap_or(arg.get_id().as_str());
    options().find(|arg| long(arg) == key).ok_or_else(|| {
        let hint = similar(key, options().map(long)).unwrap_or_else(|| {
            format!(
                "; the keys are the options of 'rarefy {} --help'",
                command.get_name()
            )
        });
        Error::file(path, format!("unknown key '{key}' in [{section}]{hint}"))
    })
}

/// `; did you mean 'grid'?`, if any of the words is close.
fn similar<'a>(word: &str, words: impl Iterator<Item = &'a str>) -> Option<String> {
    nearest(word, words).map(|other| format!("; did you mean '{other}'?"))
}

/// What people call options that have other names here. Of several the command has at most one.
const SYNONYMS: [(&[&str], &[&str]); 14] = [
    (&["knudsen", "knudsen-number"], &["kn"]),
    (&["rarefaction"], &["delta"]),
    (&["mach-number", "ma"], &["mach"]),
    (&["prandtl-number", "pr"], &["prandtl"]),
    (
        &["tol", "tolerance", "rtol", "eps", "residual"],
        &["until-residual", "tolerance"],
    ),
    (
        &[
            "iter",
            "iterations",
            "max-iter",
            "max-iterations",
            "max-steps",
        ],
        &["iterations", "steps"],
    ),
    (
        &["cells", "resolution", "points"],
        &["cells", "nx", "n", "grid"],
    ),
    (
        &["time", "end", "t-end", "tmax", "final-time"],
        &["until", "times"],
    ),
    (&["device", "gpu", "cuda", "cpu"], &["backend"]),
    (&["dtype", "float", "double", "single"], &["precision"]),
    (&["restart", "continue", "checkpoint"], &["resume"]),
    (&["force", "clobber", "replace"], &["overwrite"]),
    (
        &["output", "output-dir", "outdir", "folder", "dir"],
        &["out"],
    ),
    (&["silent"], &["quiet"]),
];

/// The word that was probably meant: a synonym, the beginning of a word, or one with at most a slip in three letters.
fn nearest<'a>(word: &str, words: impl Iterator<Item = &'a str>) -> Option<&'a str> {
    let words: Vec<&str> = words.collect();
    let synonyms = SYNONYMS.iter().filter(|(names, _)| names.contains(&word));
    let synonym = synonyms
        .flat_map(|(_, known)| known.iter())
        .find_map(|known| words.iter().find(|other| *other == known));
    if let Some(other) = synonym {
        return Some(other);
    }
    let long = |text: &str| text.chars().count();
    let slips = |other: &str| strsim::damerau_levenshtein(word, other);
    let few =
        |other: &&&str| slips(other) <= (long(word).max(long(other)) / 3).max(1) && long(word) > 1;
    if let Some(other) = words.iter().filter(few).min_by_key(|other| slips(other)) {
        return Some(other);
    }
    let begins = |other: &&&str| long(word) > 1 && other.starts_with(word);
    let part = |other: &&&str| word.split('-').any(|part| part == **other) && long(other) > 2;
    words
        .iter()
        .find(begins)
        .or_else(|| words.iter().find(part))
        .copied()
}

/// One option of a file as an argument; none for a switch that is off.
fn as_argument(
    arg: &Arg,
    section: &str,
    key: &str,
    value: &Value,
    path: &Path,
) -> Result<Option<OsString>, Error> {
    let wrong = |what: &str| Err(Error::file(path, format!("'{key}' in [{section}] {what}")));
    let switch = matches!(arg.get_action(), ArgAction::SetTrue);
    match value {
        Value::String(text) if arg.is_positional() => Ok(Some(text.into())),
        Value::Bool(on) if switch => Ok(on.then(|| format!("--{key}").into())),
        _ if switch => wrong("must be true or false"),
        Value::String(text) => Ok(Some(format!("--{key}={text}").into())),
        Value::Number(number) => Ok(Some(format!("--{key}={number}").into())),
        _ => wrong("must be a number or a string"),
    }
}

#[cfg(test)]
mod tests {
    use clap::CommandFactory;
    use rarefy_simt::Error as MachineError;

    use super::*;

    /// Whatever an option is given, what it says of it is not Rust's.
    #[test]
    fn all_options_say_in_words_which_values_are_right() {
        let bare = [
            "digit found in string",
            "too large to fit",
            "too small to fit",
            "float literal",
            "from empty string",
            "was not `true` or `false`",
        ];
        let command = super::super::Cli::command();
        let mut seen = 0;
        for sub in command.get_subcommands() {
            let options = sub
                .get_arguments()
                .filter(|arg| arg.get_action().takes_values())
                .filter_map(|arg| arg.get_long());
            for (option, value) in options.flat_map(|option| {
                let values = ["-1", "x", "", "1.5", "1e999", "99999999999999999999999"];
                values.map(|value| (option, value))
            }) {
                let arguments = [
                    "rarefy".into(),
                    sub.get_name().into(),
                    format!("--{option}={value}").into(),
                ];
                let Err(failure) = parse(command.clone(), arguments.into()) else {
                    continue;
                };
                seen += 1;
                let (_, line) = failure.code_and_line();
                let found = bare.iter().find(|text| line.contains(**text));
                assert!(
                    found.is_none(),
                    "{} --{option}={value}: {line}",
                    sub.get_name()
                );
            }
        }
        assert!(seen > 100, "{seen} refusals were looked at");
    }

    #[test]
    fn suggestions_fit() {
        let options = [
            "backend",
            "delta",
            "grid",
            "json",
            "kn",
            "mach",
            "n",
            "nx",
            "omega",
            "out",
            "pressure",
            "steps",
            "until-residual",
        ];
        for (word, meant) in [
            ("gird", Some("grid")),
            ("bakend", Some("backend")),
            ("pres", Some("pressure")),
            ("knudsen", Some("kn")),
            ("iterations", Some("steps")),
            ("tolerance", Some("until-residual")),
            ("output", Some("out")),
            ("max-steps", Some("steps")),
            ("total-pressure", Some("pressure")),
            ("frobnicate", None),
            ("q", None),
            ("", None),
        ] {
            assert_eq!(nearest(word, options.into_iter()), meant, "{word}");
        }
    }

    #[test]
    fn errors_have_one_line_and_a_code() {
        let memory = MachineError::Memory {
            what: "a grid of 64^3".into(),
            memory: "device memory",
            needed: 3 << 30,
            available: 1 << 30,
            remedy: "use\na smaller grid".into(),
        };
        let (code, line) = Failure::from(Error::from(memory)).code_and_line();
        assert_eq!(code, 2);
        assert_eq!(
            line,
            "rarefy: error: a grid of 64^3 needs 3.0 GiB of device memory and 1.0 GiB are available; use a smaller grid"
        );
        let (code, _) =
            Failure::from(Error::Numerical("f is no longer finite".into())).code_and_line();
        assert_eq!(code, 1);
        let (_, line) = Failure::Usage("`\0\u{1b}[2J` is\n\nno number".into()).code_and_line();
        assert_eq!(line, "rarefy: error: `\u{fffd}\u{fffd}[2J` is no number");
    }
}
