//! Shared by the commands that can be interrupted and resumed.

use std::path::{Path, PathBuf};

use clap::ArgMatches;
use clap::parser::ValueSource;
use serde::Serialize;
use serde_json::Value;

use super::failure::Failure;
use super::names::folder_of;
use super::record::record_in;
use super::text::quoted;
use crate::error::{Error, Result};

/// The message of an interrupted run on its continuation; `saved` is its checkpoint, if there is a folder for one.
pub(super) fn stopped(command: &str, after: &str, saved: Result<Option<PathBuf>>) -> Failure {
    let rest = match saved {
        Ok(Some(path)) => format!("go on with: {}", again(command, &path)),
        Ok(None) => "nothing is saved, for there is no --out".into(),
        Err(error) => format!("it could not be saved: {error}"),
    };
    Failure::Interrupted {
        after: format!("after {after}"),
        rest,
    }
}

/// The command that goes on from a checkpoint.
pub(super) fn again(command: &str, checkpoint: &Path) -> String {
    format!("rarefy {command} --resume {}", quoted(checkpoint))
}

/// A warning if a checkpoint was written by another program or on another machine.
pub(super) fn elsewhere(version: &str, there: &str, here: &str) -> Option<String> {
    let this = env!("CARGO_PKG_VERSION");
    // The bits do not depend on the number of ranks, nor on that of threads.
    let device = |name: &str| {
        let name = name.split_once(" ranks, each ").map_or(name, |of| of.1);
        let threads = name.split_once(", ").filter(|of| of.1.contains("thread"));
        threads.map_or(name, |of| of.0).to_owned()
    };
    (device(here) != device(there) || this != version).then(|| {
        format!("the checkpoint was written by rarefy {version} on {there}; with {this} on {here} the bits may differ")
    })
}

/// Refuses a checkpoint beyond the end of its run, or at the end if the results are beside it; `remedy` names the flags that move the end.
pub(super) fn check_end(path: &Path, step: u64, end: u64, remedy: &str) -> Result<()> {
    if step < end || step == end && !has_results(path, step) {
        return Ok(());
    }
    Err(Error::file(
        path,
        format!(
            "the checkpoint is at step {step} and the run ends at step {end}; give a later {remedy}"
        ),
    ))
}

/// Whether the record beside a checkpoint is of this step or a later one. A process that was killed after its last checkpoint left no such record.
fn has_results(checkpoint: &Path, step: u64) -> bool {
    let record = record_in(folder_of(checkpoint));
    let steps = [&record["course"]["steps"], &record["result"]["steps"]];
    steps
        .into_iter()
        .filter_map(Value::as_u64)
        .any(|steps| steps >= step)
}

/// Refuses a flag on the command line that says otherwise than the checkpoint; threads, and flags in `free`, may. Both values are objects by the
/// names of the flags.
pub(super) fn refuse_contradictions(
    kept: &impl Serialize,
    wanted: &impl Serialize,
    free: &[&str],
    given: &ArgMatches,
) -> Result<()> {
    let kept = serde_json::to_value(kept).expect("parameters are plain data");
    let wanted = serde_json::to_value(wanted).expect("parameters are plain data");
    for id in given.ids() {
        // A rarefaction is kept as delta, however it was given.
        let flag = match id.as_str() {
            "kn" => "delta".into(),
            id => id.replace('_', "-"),
        };
        if given.value_source(id.as_str()) != Some(ValueSource::CommandLine)
            || flag == "threads"
            || free.contains(&flag.as_str())
        {
            continue;
        }
        // Parameters that are not given are null.
        let of = |object: &Value| object.get(&flag).filter(|value| !value.is_null()).cloned();
        let Some(wanted) = of(&wanted) else {
            continue;
        };
        let kept = of(&kept);
        if kept.as_ref() != Some(&wanted) {
            let plain = |value: &Value| value.to_string().replace('"', "");
            return Err(Error::invalid(
                format!("--{flag}"),
                plain(&wanted),
                format!(
                    "{}, as the checkpoint's run has: leave the option out, or start a new run",
                    kept.as_ref().map_or_else(|| "none".into(), plain)
                ),
            ));
        }
    }
    Ok(())
}
