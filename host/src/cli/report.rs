//! What a run leaves in words: `run.json`, and warnings.

use std::path::Path;
use std::time::{Duration, Instant};

use serde::Serialize;
use serde_json::{Map, Value, json};

use super::common::{Common, Failure};
use super::output::{self, Transaction};
use crate::error::Result;

/// The object that `run.json` holds and `--json` prints.
pub(super) struct Report {
    object: Map<String, Value>,
    warnings: Vec<String>,
    timings: Map<String, Value>,
    files: Vec<String>,
    started: Instant,
}

impl Report {
    /// A report on a subcommand; `parameters` are its options by their names, enough to run it again;
    /// `started` is when its work began.
    pub(super) fn new(command: &str, parameters: &impl Serialize, started: Instant) -> Self {
        let mut object = Map::new();
        object.insert("command".into(), json!(command));
        object.insert("version".into(), json!(env!("CARGO_PKG_VERSION")));
        object.insert("parameters".into(), value(parameters));
        Self {
            object,
            warnings: Vec::new(),
            timings: Map::new(),
            files: Vec::new(),
            started,
        }
    }

    /// Adds an entry.
    pub(super) fn set(&mut self, key: &str, entry: impl Serialize) {
        self.object.insert(key.into(), value(&entry));
    }

    /// Adds a timing, in seconds.
    pub(super) fn time(&mut self, key: &str, time: Duration) {
        self.timings
            .insert(format!("{key}_s"), json!(time.as_secs_f64()));
    }

    /// Warns on standard error, and keeps the warning.
    pub(super) fn warn(&mut self, warning: String) {
        output::say(&format!("rarefy: warning: {warning}"));
        self.warnings.push(warning);
    }

    /// Stages a file, and lists it.
    pub(super) fn stage(
        &mut self,
        files: &mut Transaction,
        path: &Path,
        bytes: &[u8],
    ) -> Result<()> {
        self.files.push(path.display().to_string());
        files.stage(path, bytes)
    }

    /// Ends the run: writes `run.json` into the folder if there is one, makes all files appear, and prints the object or the
    /// summary.
    pub(super) fn finish(
        mut self,
        mut files: Transaction,
        folder: Option<&Path>,
        common: &Common,
        summary: impl FnOnce(Duration) -> String,
    ) -> std::result::Result<(), Failure> {
        let total = self.started.elapsed();
        self.time("total", total);
        let run = folder.map(|folder| folder.join("run.json"));
        self.files
            .extend(run.iter().map(|p| p.display().to_string()));
        self.object.insert("timings".into(), self.timings.into());
        self.object.insert("warnings".into(), self.warnings.into());
        self.object.insert("files".into(), self.files.into());
        let text = serde_json::to_string_pretty(&self.object).expect("keys are strings") + "\n";
        if let Some(run) = run {
            files.stage(run, text.as_bytes())?;
        }
        files.commit()?;
        if common.json {
            output::print(&text)
        } else if common.quiet {
            Ok(())
        } else {
            output::print(&summary(total))
        }
    }
}

fn value(entry: &impl Serialize) -> Value {
    serde_json::to_value(entry).expect("what is reported is plain data")
}
