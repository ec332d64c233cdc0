//! Configuration files and settings, layered under the command line.

mod suggestions;

use std::ffi::OsString;
use std::path::{Path, PathBuf};

use clap::error::{ContextKind, ContextValue, ErrorKind};
use clap::parser::ValueSource;
use clap::{Arg, ArgAction, ArgMatches, Id};
use serde_json::{Map, Value};

use super::failure::Failure;
use super::record;
use super::swept;
use super::text::reason;
use super::tree;
use crate::error::Error;
use suggestions::nearest;
pub(super) use suggestions::similar;

/// Parses the command line, with the settings of `-s` layered under it, and under those the file named by `--config`.
#[cfg(test)]
pub(super) fn parse(
    command: clap::Command,
    arguments: Vec<OsString>,
) -> Result<ArgMatches, Failure> {
    Layered::new(command, arguments)?.matches()
}

/// A command line with the settings of `-s` layered under it, and under those the file named by `--config`.
#[derive(Clone, Debug)]
pub(super) struct Layered {
    command: clap::Command,
    /// All layers as arguments.
    pub(super) arguments: Vec<OsString>,
    /// The lowest layer that has options of this command.
    origin: Option<PathBuf>,
}

impl Layered {
    /// Merges the layers.
    ///
    /// An option of a layer is used unless what lies above has that option or one that excludes it, so all layers go through the same parser,
    /// checks and messages as the flags.
    pub(super) fn new(
        command: clap::Command,
        mut arguments: Vec<OsString>,
    ) -> Result<Self, Failure> {
        // A value that begins with a minus may be a number: the option reports its valid range.
        let command = tree::map_leaves(command.color(clap::ColorChoice::Auto), |sub| {
            sub.mut_args(|arg| match arg.get_long() {
                Some(_) if arg.get_action().takes_values() => arg.allow_negative_numbers(true),
                _ => arg,
            })
        });
        // Required options may be in the file: the first passes require nothing.
        let lenient = tree::map_leaves(command.clone(), |sub| {
            sub.mut_args(|arg| {
                let arg = arg.required(false);
                arg.required_unless_present(clap::builder::Resettable::Reset)
            })
        });
        help_as_flag(&mut arguments);
        let mut origin = None;
        let mut off = Vec::new();
        for layer in [settings, file_sections] {
            let given = swept::with_lists(lenient.clone(), &arguments)
                .try_get_matches_from(&arguments)
                .map_err(|error| match error.kind() {
                    // Help tells what is required.
                    ErrorKind::DisplayHelp => {
                        let strict = command.clone().try_get_matches_from(&arguments);
                        refused(&strict.err().unwrap_or(error), None, &command, &arguments)
                    }
                    _ => refused(&error, origin.as_deref(), &command, &arguments),
                })?;
            let Some((name, given)) = tree::leaf(&given) else {
                continue;
            };
            let Some((path, sections)) = layer(&command, name, given)? else {
                continue;
            };
            let (options, files) = options_of(&command, name, given, (sections, &path), &mut off)?;
            // No argument before the subcommand's name is the value of an option.
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
        Ok(Self {
            command,
            arguments,
            origin,
        })
    }

    /// Parses all layers.
    pub(super) fn matches(&self) -> Result<ArgMatches, Failure> {
        let (command, arguments) = (&self.command, &self.arguments);
        command
            .clone()
            .try_get_matches_from(arguments)
            .map_err(|error| refused(&error, self.origin.as_deref(), command, arguments))
    }

    /// The subcommand of this name.
    pub(super) fn subcommand(&self, name: &str) -> Option<&clap::Command> {
        tree::find(&self.command, name)
    }
}

/// `rarefy help relax` is `rarefy relax --help`.
fn help_as_flag(arguments: &mut Vec<OsString>) {
    if arguments.get(1).is_some_and(|first| first == "help") {
        arguments.remove(1);
        arguments.push("--help".into());
    }
}

/// The refusal of clap, with its file or layer.
fn refused(
    error: &clap::Error,
    origin: Option<&Path>,
    command: &clap::Command,
    arguments: &[OsString],
) -> Failure {
    let failure = not_text(error, arguments)
        .or_else(|| of_a_paper(error, command))
        .or_else(|| unknown_option(error, command, arguments))
        .unwrap_or_else(|| Failure::usage(error));
    match (failure, origin) {
        (Failure::Usage(line), Some(path))
            if error.kind() != ErrorKind::MissingRequiredArgument =>
        {
            Failure::Usage(format!("{}: {line}", path.display()))
        }
        (failure, _) => failure,
    }
}

/// The message on an argument that is not UTF-8, which clap does not name.
fn not_text(error: &clap::Error, arguments: &[OsString]) -> Option<Failure> {
    let strange = arguments
        .iter()
        .find(|argument| argument.to_str().is_none());
    let name = strange.filter(|_| error.kind() == ErrorKind::InvalidUtf8)?;
    Some(Failure::Usage(format!(
        "'{}' is not UTF-8; only names of files may be other bytes",
        name.to_string_lossy()
    )))
}

/// The message on a command that is there below `rarefy paper` alone.
fn of_a_paper(error: &clap::Error, command: &clap::Command) -> Option<Failure> {
    let Some(ContextValue::String(found)) = error.get(ContextKind::InvalidSubcommand) else {
        return None;
    };
    let place = tree::spelled(command, found);
    (place != *found).then(|| {
        Failure::Usage(format!(
            "unrecognized subcommand '{found}'; figures of the papers are by 'rarefy {place}'"
        ))
    })
}

/// The message on an option that the subcommand lacks: clap's own suggestions are far-fetched.
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
        .find_map(|argument| tree::find(command, argument.to_str()?))?;
    let name = tree::spelled(command, sub.get_name());
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
        let known = sections.iter().position(|(name, _)| name == section);
        let place = known.unwrap_or_else(|| {
            sections.push((section.into(), Map::new()));
            sections.len() - 1
        });
        if sections[place].1.insert(key.into(), value).is_some() {
            return Err(Failure::Usage(format!(
                "-s {section}.{key}: this setting cannot be used multiple times"
            )));
        }
    }
    Ok((!sections.is_empty()).then(|| (SETTINGS.into(), sections)))
}

/// Name of the settings of `-s` in messages.
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

/// The options of a layer that hold for this command line, as arguments, and the values of those without a name. The command's own section goes before
/// `[common]`. `off` are the switches that are off in the layers above, and then those of this layer too.
fn options_of(
    command: &clap::Command,
    name: &str,
    given: &ArgMatches,
    (mut sections, path): (Vec<Section>, &Path),
    off: &mut Vec<Id>,
) -> Result<(Vec<OsString>, Vec<OsString>), Failure> {
    let (mut options, mut files) = (Vec::new(), Vec::new());
    let on_the_line =
        |arg: &&Arg| given.value_source(arg.get_id().as_str()) == Some(ValueSource::CommandLine);
    let own = tree::find(command, name);
    let own = own.into_iter().flat_map(clap::Command::get_arguments);
    let mut above: Vec<&Arg> = own.filter(on_the_line).collect();
    sections.sort_by_key(|(section, _)| section == "common");
    for (section, table) in &sections {
        let of_section = if section == "common" { name } else { section };
        let of_section = tree::find(command, of_section).expect("sections are those of commands");
        let mut here = Vec::new();
        for (key, value) in table {
            let arg = known_option(command, of_section, (section, key), path)?;
            if section != "common" && section != name {
                continue;
            }
            // Of two options that exclude each other, clap knows it from one of them only.
            let excludes = |a: &Arg, b: &Arg| {
                let others = of_section.get_arg_conflicts_with(a);
                others.iter().any(|other| other.get_id() == b.get_id())
            };
            let overridden = above.iter().any(|other| {
                other.get_id() == arg.get_id()
                    || excludes(arg, other)
                    || excludes(other, arg)
                    || arg.is_positional() && other.is_positional()
            });
            if overridden || off.contains(arg.get_id()) {
                continue;
            }
            let argument = as_argument(arg, section, key, value, path)?;
            match &argument {
                Some(_) => here.push(arg),
                None => off.push(arg.get_id().clone()),
            }
            if arg.is_positional() {
                let place = of_section.get_positionals().position(|other| other == arg);
                files.extend(argument.map(|file| (place, file)));
            } else {
                options.extend(argument);
            }
        }
        above.extend(here);
    }
    files.sort();
    Ok((options, files.into_iter().map(|(_, file)| file).collect()))
}

/// `common` and the commands that take settings.
fn section_names(command: &clap::Command) -> Vec<&str> {
    std::iter::once("common")
        .chain(
            tree::leaves(command)
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
    let text = std::fs::read_to_string(path).map_err(|e| Error::file(path, reason(&e)))?;
    let names = section_names(command);
    if path.extension().is_some_and(|e| e == "json") {
        let object = record::parsed(path, text.as_bytes())?;
        let this = tree::spelled(command, name);
        let of_another = |of: &str| {
            let mut all = names.iter().map(|name| tree::spelled(command, name));
            of != this && all.any(|other| other == of)
        };
        return match (&object["command"], &object["parameters"]) {
            (Value::String(of), Value::Object(_)) if of_another(of) => Err(Error::file(
                path,
                format!("a run of 'rarefy {of}', whose options are not those of 'rarefy {this}'"),
            )),
            (Value::String(of), Value::Object(table)) if *of == this => {
                Ok(vec![(name.to_owned(), record::options(table))])
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

/// The option that a key in a section means.
fn known_option<'a>(
    all: &clap::Command,
    command: &'a clap::Command,
    (section, key): (&str, &str),
    path: &Path,
) -> Result<&'a Arg, Error> {
    let options = || {
        command
            .get_arguments()
            .filter(|arg| !matches!(arg.get_id().as_str(), "config" | "help"))
    };
    let long = |arg: &'a Arg| arg.get_long().unwrap_or(arg.get_id().as_str());
    let found = options().find(|arg| long(arg) == key);
    found.ok_or_else(|| {
        let hint = similar(key, options().map(long)).unwrap_or_else(|| {
            format!(
                "; the keys are the options of 'rarefy {} --help'",
                tree::spelled(all, command.get_name())
            )
        });
        Error::file(path, format!("unknown key '{key}' in [{section}]{hint}"))
    })
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
        Value::Array(items) if takes_list(arg, section) => match list(items) {
            Some(list) => Ok(Some(format!("--{key}={list}").into())),
            None => wrong("must be a list of numbers or strings"),
        },
        _ => wrong("must be a number or a string"),
    }
}

/// Whether the value of an option may have several parts.
fn takes_list(arg: &Arg, section: &str) -> bool {
    let names = arg.get_value_names().unwrap_or_default();
    names.iter().any(|name| *name == "LIST")
        || arg.get_value_delimiter().is_some()
        || arg
            .get_long()
            .is_some_and(|long| swept::takes_list(section, long))
}

/// A list as options take it.
fn list(items: &[Value]) -> Option<String> {
    let text = |item: &Value| match item {
        Value::String(text) => Some(text.clone()),
        Value::Number(number) => Some(number.to_string()),
        _ => None,
    };
    let texts: Option<Vec<String>> = items.iter().map(text).collect();
    Some(texts?.join(","))
}

#[cfg(test)]
mod tests {
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
        let command = super::super::command();
        let mut seen = 0;
        for sub in tree::leaves(&command) {
            let options = sub
                .get_arguments()
                .filter(|arg| arg.get_action().takes_values())
                .filter_map(|arg| arg.get_long());
            for (option, value) in options.flat_map(|option| {
                let values = ["-1", "x", "", "1.5", "1e999", "99999999999999999999999"];
                values.map(|value| (option, value))
            }) {
                let name = tree::spelled(&command, sub.get_name());
                let mut arguments: Vec<OsString> = vec!["rarefy".into()];
                arguments.extend(name.split(' ').map(OsString::from));
                arguments.push(format!("--{option}={value}").into());
                let Err(failure) = parse(command.clone(), arguments) else {
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
}
