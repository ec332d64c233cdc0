//! The record of a run: `run.json`, and warnings.

use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

use rarefy_simt::Error as MachineError;
use serde::Serialize;
use serde_json::{Map, Value, json};

use super::failure::Failure;
use super::flags;
use super::options::Common;
use super::output::Transaction;
use super::plot::Picture;
use super::report_page::{PAGE, Page, Table};
use super::resident::RECORD;
use super::resume;
use super::streams;
use crate::compute::Resolved;
use crate::error::{Error, Result};

/// Entries of the record that are about the run and not its results.
const FRAME: [&str; 9] = [
    "command",
    "version",
    "parameters",
    "machine",
    "status",
    "units",
    "conservation",
    "grid",
    "elapsed_s",
];

/// A file of a run.
pub(super) trait Artefact {
    /// The file.
    fn bytes(&self) -> &[u8];

    /// The same figure as SVG, which is a file beside it.
    fn svg(&self) -> Option<&str> {
        None
    }
}

impl Artefact for [u8] {
    fn bytes(&self) -> &[u8] {
        self
    }
}

impl Artefact for Vec<u8> {
    fn bytes(&self) -> &[u8] {
        self
    }
}

impl Artefact for Picture {
    fn bytes(&self) -> &[u8] {
        self
    }

    fn svg(&self) -> Option<&str> {
        Some(&self.svg)
    }
}

/// The object that `run.json` holds and `--json` prints.
pub(super) struct Report {
    object: Map<String, Value>,
    warnings: Vec<String>,
    timings: Map<String, Value>,
    files: Vec<String>,
    /// Contents of the page of the run.
    page: Page,
    /// Why files could not be written.
    unwritten: Vec<Error>,
    /// The last checkpoint.
    checkpoint: Option<PathBuf>,
    /// Whether one after it could not be written.
    missed: bool,
    /// Why the result is not what was asked for.
    unconverged: Option<String>,
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
            page: Page::default(),
            unwritten: Vec::new(),
            checkpoint: None,
            missed: false,
            unconverged: None,
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
        let warning = flags::named(&warning);
        streams::say(&format!("rarefy: warning: {warning}"));
        self.warnings.push(warning);
    }

    /// Notes that the run did not reach what was asked for. Its results are written and printed, and the command fails with this text.
    pub(super) fn not_converged(&mut self, why: String) {
        self.warnings.push(format!("NOT CONVERGED: {why}"));
        self.unconverged = Some(why);
    }

    /// Stages a file, and lists it. [`Report::finish`] reports a failed one, since the others are results too.
    pub(super) fn stage(
        &mut self,
        files: &mut Transaction,
        path: &Path,
        artefact: &(impl Artefact + ?Sized),
    ) -> Result<()> {
        self.stage_bytes(files, path, artefact.bytes())?;
        let name = path.file_name().unwrap_or_default().to_string_lossy();
        if let Some(svg) = artefact.svg() {
            self.page.plots.push((name.into_owned(), svg.to_owned()));
            return self.stage_bytes(files, &path.with_extension("svg"), svg.as_bytes());
        }
        if path.extension().is_some_and(|extension| extension == "csv") {
            let table = Table::of(artefact.bytes());
            self.page.tables.push((name.into_owned(), table));
        }
        Ok(())
    }

    fn stage_bytes(&mut self, files: &mut Transaction, path: &Path, bytes: &[u8]) -> Result<()> {
        match files.stage(path, bytes) {
            Ok(()) => self.files.push(path.display().to_string()),
            Err(error) => self.note_unwritten(error)?,
        }
        Ok(())
    }

    /// Keeps the error of a file for the end of the run; other errors end it.
    fn note_unwritten(&mut self, error: Error) -> Result<()> {
        match error {
            Error::File { .. } => self.unwritten.push(error),
            other => return Err(other),
        }
        Ok(())
    }

    /// Notes a checkpoint of a continuing run. A failed one is a warning, since the next one may succeed; of several in a row
    /// the first one is reported.
    pub(super) fn saved(&mut self, saved: Result<Option<PathBuf>>) -> Result<()> {
        let missed = match saved {
            Ok(path) => {
                self.checkpoint = path;
                false
            }
            Err(error @ Error::File { .. }) => {
                if !self.missed {
                    self.warn(format!("no checkpoint, and the run goes on: {error}"));
                }
                true
            }
            Err(error) => return Err(self.broken_off(error)),
        };
        self.missed = missed;
        Ok(())
    }

    /// The error of a run that the device broke off, with the command that goes on from its last checkpoint, if it has one.
    pub(super) fn broken_off(&self, error: Error) -> Error {
        match (error, self.again()) {
            (Error::Machine(MachineError::Driver { action, reason }), Some(again)) => {
                let reason = format!("{reason}{}", from_the_last(&again));
                MachineError::Driver { action, reason }.into()
            }
            (error, _) => error,
        }
    }

    /// The command that goes on from the last checkpoint.
    fn again(&self) -> Option<String> {
        let command = self.object["command"].as_str().unwrap_or_default();
        let path = self.checkpoint.as_deref()?;
        Some(resume::again(command, path))
    }

    /// Notes the last checkpoint of a run; if it could not be written, the results still may be.
    pub(super) fn saved_at_the_end(&mut self, saved: Result<Option<PathBuf>>) -> Result<()> {
        match saved {
            Ok(path) => self.checkpoint = path,
            Err(error) => self.note_unwritten(error)?,
        }
        Ok(())
    }

    /// Adds the entries that every record has to those that the command has set. A command without an object `result` found all that is
    /// not about the run itself.
    fn complete(&mut self) {
        let found = self
            .object
            .iter()
            .filter(|(key, _)| !FRAME.contains(&key.as_str()));
        let found: Map<String, Value> = found.map(|(k, v)| (k.clone(), v.clone())).collect();
        let status = if self.unconverged.is_some() {
            "unfinished"
        } else {
            "done"
        };
        for (key, entry) in [
            ("result", json!(found)),
            ("status", json!(status)),
            // Those of the command's chapter; a case in SI units has others.
            ("units", Value::Null),
            ("machine", json!(Resolved::Cpu.describe())),
        ] {
            self.object.entry(key).or_insert(entry);
        }
    }

    /// Ends the run: writes `run.json` into the folder if there is one, makes all files appear, and prints the object or the
    /// summary, which is given the folder if all files are there.
    ///
    /// Files that can be written are, and numbers are printed, whatever becomes of other files.
    pub(super) fn finish(
        mut self,
        mut files: Transaction,
        folder: Option<&Path>,
        common: &Common,
        summary: impl Fn(Duration, Option<&Path>) -> String,
    ) -> std::result::Result<(), Failure> {
        let total = self.started.elapsed();
        self.time("total", total);
        self.complete();
        if let Some(folder) = folder.filter(|_| !self.page.is_empty()) {
            let mut object = self.object.clone();
            object.insert("timings".into(), json!(self.timings));
            object.insert("warnings".into(), json!(self.warnings));
            let page = self.page.html(&object, &summary(total, None));
            self.stage_bytes(&mut files, &folder.join(PAGE), page.as_bytes())?;
        }
        let run = folder.map(|folder| folder.join(RECORD));
        self.files
            .extend(run.iter().map(|p| p.display().to_string()));
        let again = self.again();
        let listed = self.files.len();
        self.object.insert("timings".into(), self.timings.into());
        self.object.insert("warnings".into(), self.warnings.into());
        self.object.insert("files".into(), self.files.into());
        let text = serde_json::to_string_pretty(&self.object).expect("keys are strings") + "\n";
        let mut unwritten = self.unwritten;
        let staged = run.map(|run| files.stage(run, text.as_bytes()));
        let late = staged.and_then(Result::err).into_iter();
        let late: Vec<_> = late.chain(files.commit()).collect();
        let written = listed - late.len();
        unwritten.extend(late);
        let printed = if common.json {
            streams::print(&text)
        } else if common.quiet {
            Ok(())
        } else {
            let folder = folder.filter(|_| unwritten.is_empty());
            let mut text = summary(total, folder);
            if self.unconverged.is_some() {
                text.push_str("\n  NOT CONVERGED");
            }
            streams::print(&text)
        };
        match (
            incomplete(unwritten, written, again.as_deref()),
            self.unconverged,
        ) {
            (Some(error), _) => Err(error.into()),
            (None, Some(why)) => printed.and(Err(Failure::NotConverged(why))),
            (None, None) => printed,
        }
    }
}

/// The last line of a summary: the folder of the results, if they are in one.
pub(super) fn written_to(folder: Option<&Path>) -> String {
    folder.map_or_else(String::new, |folder| {
        format!(
            "\n  written to    {}: report.html, run.json, plots, tables, arrays",
            folder.display()
        )
    })
}

/// The error of a run of whose files some could not be written: the first of them and how many more, whether others are, and the command
/// that goes on from the last checkpoint.
fn incomplete(unwritten: Vec<Error>, written: usize, again: Option<&str>) -> Option<Error> {
    let others = match unwritten.len() {
        0 | 1 => String::new(),
        2 => "; nor could another file be written".into(),
        count => format!("; nor could {} other files be written", count - 1),
    };
    let kept = match written {
        0 => "",
        _ => "; the other results are written",
    };
    let again = again.map_or(String::new(), from_the_last);
    match unwritten.into_iter().next()? {
        Error::File { path, reason } => {
            let reason = format!("{reason}{others}{kept}{again}");
            Some(Error::File { path, reason })
        }
        other => Some(other),
    }
}

/// Addition to an error: the command that continues.
fn from_the_last(again: &str) -> String {
    format!("; from the last checkpoint goes on: {again}")
}

fn value(entry: &impl Serialize) -> Value {
    serde_json::to_value(entry).expect("what is reported is plain data")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_run_that_the_device_breaks_off_tells_how_to_go_on() {
        let lost = || {
            Error::from(MachineError::Driver {
                action: "launching kernel `relax`".into(),
                reason: "the device is lost".into(),
            })
        };
        let mut report = Report::new("shock", &json!({}), Instant::now());
        assert_eq!(
            report.broken_off(lost()).to_string(),
            "CUDA driver: launching kernel `relax`: the device is lost"
        );
        report
            .saved(Ok(Some("out/checkpoint.rarefy".into())))
            .unwrap();
        let again =
            "; from the last checkpoint goes on: rarefy shock --resume out/checkpoint.rarefy";
        assert_eq!(
            report.broken_off(lost()).to_string(),
            format!("CUDA driver: launching kernel `relax`: the device is lost{again}")
        );
        // Of a checkpoint that fails itself, the one before is named.
        let error = report.saved(Err(lost())).unwrap_err();
        assert!(error.to_string().ends_with(again), "{error}");
        // A file that fails again is not tried further.
        let broken = Error::Numerical("the temperature is negative".into());
        assert_eq!(
            report.broken_off(broken).to_string(),
            "the temperature is negative"
        );
    }
}
