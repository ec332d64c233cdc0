//! A case of a sweep: its arguments, and its failures by name.

use std::ffi::OsString;
use std::path::{Path, PathBuf};

use clap::ArgMatches;
use serde_json::Value;

use crate::cli::checkpoint;
use crate::cli::config::Layered;
use crate::cli::failure::Failure;
use crate::cli::names::RECORD;
use crate::cli::record::record_in;
use crate::cli::resident::listed;
use crate::cli::swept::{List, remove};
use crate::error::{Error, Result};

/// One of the values, and the arguments of its run but for the folder.
pub(super) struct Case {
    pub(super) value: f64,
    /// Option and value, as lines on it begin.
    pub(super) name: String,
    /// Its folder below that of the sweep.
    pub(super) folder: String,
    pub(super) layers: Layered,
}

impl Case {
    pub(super) fn new(list: &List, text: &str, layers: &Layered) -> Self {
        let mut layers = layers.clone();
        for option in [list.option, "out"] {
            remove(&mut layers.arguments, option);
        }
        let arguments = &mut layers.arguments;
        arguments.retain(|a| a != "--json");
        arguments.insert(2, format!("--{}={text}", list.option).into());
        let value = text.parse().unwrap_or(f64::NAN);
        Self {
            value,
            name: format!("{} = {value}", list.option),
            folder: list.folder(value),
            layers,
        }
    }

    /// The arguments of its run with results in a folder.
    pub(super) fn arguments(
        &self,
        folder: &Path,
        way: Way,
    ) -> std::result::Result<ArgMatches, Failure> {
        let mut layers = self.layers.clone();
        let mut add = |option: &str, path: &Path| {
            let mut argument = OsString::from(format!("--{option}="));
            argument.push(path);
            layers.arguments.insert(2, argument);
        };
        add("out", folder);
        let mut saved = folder.join(checkpoint::FILE);
        let previous = folder.join(checkpoint::PREVIOUS);
        if !checkpoint::is_whole(&saved) && checkpoint::is_whole(&previous) {
            saved = previous;
        }
        // A case that has ended runs anew, for it lacks files.
        let ended = code_of(&record_in(folder)).is_some();
        let goes_on = way.goes_on && saved.exists() && !ended;
        if goes_on {
            add("resume", &saved);
        }
        for (wanted, flag) in [
            (way.quiet, "--quiet"),
            // An interrupted case may have left files.
            (way.goes_on && !goes_on, "--overwrite"),
        ] {
            if wanted && !layers.arguments.iter().any(|a| a == flag) {
                layers.arguments.insert(2, flag.into());
            }
        }
        layers.matches()
    }

    /// The first file that the record of the case lists and its folder lacks.
    pub(super) fn lacks(&self, below: &Path) -> Option<PathBuf> {
        let folder = below.join(&self.folder);
        let files = listed(&folder, &record_in(&folder));
        files.into_iter().find(|file| !file.exists())
    }

    /// The exit code of the run that is in the folder of the case below that of the sweep, if it has ended. Only a run of this command with the parameters
    /// `full` is taken.
    pub(super) fn kept(&self, command: &str, below: &Path, full: &Value) -> Result<Option<u8>> {
        let folder = below.join(&self.folder);
        let record = record_in(&folder);
        let Some(code) = code_of(&record) else {
            return Ok(None);
        };
        let refuse = |why: String| {
            let text = format!("{why}; remove the folder, and the case runs anew");
            Err(Error::file(folder.join(RECORD), text))
        };
        if record["command"] != command {
            return refuse(format!("not a run of 'rarefy {command}'"));
        }
        let there = &record["parameters"];
        let parameters = full.as_object().into_iter().flatten();
        for (key, wanted) in parameters.filter(|(key, _)| *key != "threads") {
            if let Some(other) = there.get(key).filter(|other| *other != wanted) {
                return refuse(format!(
                    "the case ran with {key} = {other}, and the sweep has {wanted}"
                ));
            }
        }
        Ok(Some(code))
    }

    /// A failure of this case, with its name.
    pub(super) fn failure(&self, failure: &Failure) -> Failure {
        let (code, line) = failure.code_and_line();
        let line = line.trim_start_matches("rarefy: error: ");
        let text = format!("{}: {line}", self.name);
        match code {
            2 => Failure::Usage(text),
            _ => Error::Numerical(text).into(),
        }
    }
}

/// The exit code of the run of a record; none of no record.
fn code_of(record: &Value) -> Option<u8> {
    let status = record["status"].as_str()?;
    let good = ["done", "converged", "at-roundoff"].contains(&status);
    Some(u8::from(!good))
}

/// How the cases of a sweep run.
#[derive(Clone, Copy)]
pub(super) struct Way {
    pub(super) quiet: bool,
    /// Whether the sweep was interrupted before.
    pub(super) goes_on: bool,
}
