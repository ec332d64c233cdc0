//! Lists of values for an option, each of which makes a sweep.

use std::ffi::OsString;
use std::path::{Path, PathBuf};

use serde_json::Value;

use super::failure::Failure;
use super::names::folder_of;
use super::record::{SWEEP, parsed};
use super::text::reason;
use crate::error::Error;

/// The option of a command that takes a list.
const OPTIONS: [(&str, &[&str]); 5] = [
    ("shock", &["mach"]),
    ("cavity", &["delta", "kn"]),
    ("couette", &["delta", "kn"]),
    ("fourier", &["delta", "kn"]),
    ("poiseuille", &["delta", "kn"]),
];

/// A list of values for an option.
#[derive(Debug)]
pub(super) struct List {
    pub(super) command: &'static str,
    pub(super) option: &'static str,
    pub(super) values: Vec<String>,
}

impl List {
    /// The list among the arguments, if there is one.
    pub(super) fn of(arguments: &[OsString]) -> Option<Self> {
        let name = arguments.get(1)?;
        let (command, options) = OPTIONS.iter().find(|(command, _)| *name == **command)?;
        options.iter().find_map(|option| {
            let text = value_of(arguments, option)?;
            text.contains(',').then(|| Self {
                command,
                option,
                values: text.split(',').map(|v| v.trim().to_owned()).collect(),
            })
        })
    }

    /// Refuses what is no list of different numbers.
    pub(super) fn check(&self) -> std::result::Result<(), Failure> {
        let refused = |why: String| {
            let list = self.values.join(",");
            Err(Failure::Usage(format!("--{} {list}: {why}", self.option)))
        };
        let mut numbers = Vec::new();
        for text in &self.values {
            match text.parse::<f64>() {
                Ok(number) if numbers.contains(&number) => {
                    return refused(format!("{number} is there twice"));
                }
                Ok(number) => numbers.push(number),
                Err(_) => return refused("a list such as 1.5,2,3 is needed".into()),
            }
        }
        Ok(())
    }

    /// The folder of a case below that of the sweep.
    pub(super) fn folder(&self, value: f64) -> String {
        format!("{}-{value}", self.option)
    }
}

/// The option and the values of the sweep of a record, if it is one.
fn sweep_of(record: &Value) -> Option<(&'static str, Vec<f64>)> {
    let parameters = &record["parameters"];
    let (_, options) = OPTIONS
        .iter()
        .find(|(name, _)| record["command"] == *name)?;
    let option = options.iter().find(|name| parameters[SWEEP] == **name)?;
    let values = parameters[*option].as_str()?.split(',');
    let values: Result<Vec<f64>, _> = values.map(|text| text.trim().parse()).collect();
    Some((option, values.ok()?))
}

/// The folders of the cases of a record's sweep; none of another record.
pub(super) fn folders_of(record: &Value) -> Vec<String> {
    let (option, values) = sweep_of(record).unwrap_or_default();
    let names = values.iter().map(|value| format!("{option}-{value}"));
    names.collect()
}

/// The arguments of a sweep that goes on, for those that name its record with `--resume`. None for other arguments.
pub(super) fn resumed(arguments: &[OsString]) -> Result<Option<Vec<OsString>>, Failure> {
    let Some(path) = value_of(arguments, "resume").map(PathBuf::from) else {
        return Ok(None);
    };
    let command = arguments.get(1).and_then(|name| name.to_str());
    let command = command.filter(|command| OPTIONS.iter().any(|(name, _)| name == command));
    let Some(command) = command.filter(|_| is_json(&path)) else {
        return Ok(None);
    };
    let bytes = std::fs::read(&path).map_err(|error| Error::file(&path, reason(&error)))?;
    let record = parsed(&path, &bytes)?;
    if sweep_of(&record).is_none() || record["command"] != command {
        let path = path.display();
        return Err(Failure::Usage(format!(
            "{path}: not the run.json of a sweep of 'rarefy {command}'; a single run goes on from its checkpoint.rarefy"
        )));
    }
    let mut rest = arguments[2..].to_vec();
    remove(&mut rest, "resume");
    let own = |argument: &OsString| {
        let options = ["quiet", "json", "threads"];
        options.iter().any(|option| is_option(argument, option))
            // The value of the last one.
            || argument.to_str().is_some_and(|text| text.parse::<u64>().is_ok())
    };
    if let Some(argument) = rest.iter().find(|argument| !own(argument)) {
        return Err(Failure::Usage(format!(
            "{} with --resume of a sweep, which goes on with the options of its record; leave it out",
            argument.to_string_lossy()
        )));
    }
    let with = |option: &str, path: &Path| {
        let mut argument = OsString::from(format!("--{option}="));
        argument.push(path);
        argument
    };
    let mut new = arguments[..2].to_vec();
    new.extend([with("config", &path), with("out", folder_of(&path))]);
    new.extend(rest);
    Ok(Some(new))
}

/// Whether a file is a record by its name, and no checkpoint.
fn is_json(path: &Path) -> bool {
    path.extension()
        .is_some_and(|extension| extension == "json")
}

/// Takes an option and its value out of arguments.
pub(super) fn remove(arguments: &mut Vec<OsString>, option: &str) {
    while let Some(place) = arguments.iter().position(|a| is_option(a, option)) {
        let alone = arguments[place].to_str().is_some_and(|a| !a.contains('='));
        let end = arguments.len().min(place + 1 + usize::from(alone));
        arguments.drain(place..end);
    }
}

/// Whether an option of a command takes a list.
pub(super) fn takes_list(command: &str, option: &str) -> bool {
    let of = OPTIONS.iter().find(|(name, _)| *name == command);
    of.is_some_and(|(_, options)| options.contains(&option))
}

/// The value of an option among arguments.
pub(super) fn value_of<'a>(arguments: &'a [OsString], option: &str) -> Option<&'a str> {
    let place = arguments.iter().position(|a| is_option(a, option))?;
    let text = arguments[place].to_str()?;
    match text.split_once('=') {
        Some((_, value)) => Some(value),
        None => arguments.get(place + 1)?.to_str(),
    }
}

/// Whether an argument is this option, with its value or before it.
pub(super) fn is_option(argument: &OsString, option: &str) -> bool {
    let text = argument.to_str().and_then(|text| text.strip_prefix("--"));
    let rest = text.and_then(|text| text.strip_prefix(option));
    rest.is_some_and(|rest| rest.is_empty() || rest.starts_with('='))
}

/// The command in which the option takes a list as it is, so that options of all layers can be merged.
pub(super) fn with_lists(command: clap::Command, arguments: &[OsString]) -> clap::Command {
    match List::of(arguments) {
        None => command,
        Some(list) => command.mut_subcommand(list.command, |sub| {
            sub.mut_arg(list.option, |arg| {
                arg.value_parser(|text: &str| Ok::<_, String>(text.to_owned()))
            })
        }),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_list_is_found_among_the_arguments() {
        let of = |line: &str| {
            let arguments: Vec<OsString> = line.split(' ').map(OsString::from).collect();
            List::of(&arguments).map(|list| format!("{} {:?}", list.option, list.values))
        };
        let three = Some("delta [\"0.1\", \"1\", \"10\"]".to_owned());
        assert_eq!(of("rarefy couette --delta 0.1,1,10"), three);
        assert_eq!(of("rarefy cavity --cells 4 --delta=0.1,1,10"), three);
        assert_eq!(of("rarefy couette --delta 1 --out a,b"), None);
        assert_eq!(of("rarefy shock --delta 1,2"), None);
        assert_eq!(of("rarefy shock --mach"), None);
        assert_eq!(of("rarefy rates --convergence 8,12"), None);
        assert_eq!(of("rarefy"), None);
    }

    #[test]
    fn a_record_names_the_folders_of_its_cases() {
        let record =
            |parameters| serde_json::json!({ "command": "shock", "parameters": parameters });
        let sweep = serde_json::json!({ "mach": "1.50, 2", "sweep": "mach" });
        assert_eq!(folders_of(&record(sweep)), ["mach-1.5", "mach-2"]);
        for other in [
            serde_json::json!({ "mach": 2 }),
            serde_json::json!({ "mach": "../1,2", "sweep": "mach" }),
            serde_json::json!({ "delta": "1,2", "sweep": "delta" }),
        ] {
            assert!(folders_of(&record(other)).is_empty());
        }
    }

    #[test]
    fn a_list_has_each_number_once() {
        let refusal = |text: &str| {
            let arguments = ["rarefy", "shock", "--mach", text].map(OsString::from);
            let list = List::of(&arguments).expect("a list");
            list.check().err().map(|failure| failure.code_and_line().1)
        };
        assert_eq!(refusal("1.5,2"), None);
        for (text, why) in [("1.5,1.50", "1.5 is there twice"), ("2,", "a list such as")] {
            let line = refusal(text).expect("a refusal");
            assert!(line.contains(why), "{line}");
        }
    }
}
