//! The record of a run: `run.json`, and warnings.

mod artefact;
mod case;
mod ending;
mod files;
mod folder;
mod saving;
mod sweeping;

use std::fmt::Display;
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

use serde::Serialize;
use serde_json::{Map, Value, json};

use super::failure::Failure;
use super::flags;
use super::interrupt::{self, Watch};
use super::names::RECORD;
use super::options::Common;
use super::output::Transaction;
use super::ranks;
use super::record::FORMAT;
use super::report_page::{PAGE, Page, Table};
use super::streams;
use crate::compute::Resolved;
use crate::error::{Error, Result};
pub(super) use artefact::Artefact;
pub(super) use case::in_case;
use ending::{incomplete, written_to};
pub(super) use files::Output;

/// Entries of the record that are about the run and not its results.
const FRAME: [&str; 10] = [
    "command",
    "version",
    "format",
    "parameters",
    "machine",
    "status",
    "units",
    "conservation",
    "grid",
    "elapsed_s",
];

/// The object that `run.json` holds and `--json` prints.
pub(super) struct Report {
    object: Map<String, Value>,
    common: Common,
    files: Transaction,
    /// Where the results go.
    folder: Option<PathBuf>,
    /// The case of a sweep that this is a report on.
    case: Option<String>,
    /// Whether what is printed is the result itself and no summary.
    bare: bool,
    warnings: Vec<String>,
    timings: Map<String, Value>,
    listed: Vec<String>,
    /// Contents of the page of the run.
    page: Page,
    /// Why files could not be written.
    unwritten: Vec<Error>,
    /// The last checkpoint.
    last_checkpoint: Option<PathBuf>,
    /// Whether one after it could not be written.
    missed: bool,
    /// Whether another rank writes and prints.
    mute: bool,
    /// Why the result is not what was asked for.
    unconverged: Option<String>,
    /// Held from the first step to the end of the run.
    watch: Option<Watch>,
    started: Instant,
}

impl Report {
    /// A report on a subcommand; `parameters` are its options by their names, enough to run it again;
    /// `started` is when its work began.
    pub(super) fn new(
        command: &str,
        parameters: &impl Serialize,
        common: &Common,
        started: Instant,
    ) -> Self {
        let mut object = Map::new();
        object.insert("command".into(), json!(command));
        object.insert("version".into(), json!(env!("CARGO_PKG_VERSION")));
        object.insert("format".into(), json!(FORMAT));
        object.insert("parameters".into(), given(parameters));
        Self {
            object,
            common: common.clone(),
            files: Transaction::default(),
            folder: None,
            case: case::case(),
            bare: false,
            warnings: Vec::new(),
            timings: Map::new(),
            listed: Vec::new(),
            page: Page::default(),
            unwritten: Vec::new(),
            last_checkpoint: None,
            missed: false,
            mute: !ranks::is_first(),
            unconverged: None,
            watch: None,
            started,
        }
    }

    /// From here on the run checks for signals between its steps. One that comes later, while results are written, does not end it.
    pub(super) fn watch_for_signals(&mut self) {
        self.watch.get_or_insert_with(Watch::new);
    }

    /// From here on signals end the process at once again: nothing is there that could be saved.
    pub(super) fn leave_to_signals(&mut self) {
        self.watch = None;
        interrupt::leave_if_asked();
    }

    /// The name of the subcommand.
    pub(super) fn command(&self) -> String {
        self.object["command"].as_str().unwrap_or_default().into()
    }

    /// Prints the result itself instead of a summary, with `shown` despite `--quiet`.
    pub(super) fn print_bare(&mut self, shown: bool) {
        self.bare = true;
        self.common.quiet = !shown;
    }

    /// Writes a result at once and lists it. The run goes on if it cannot be written, and [`Report::finish`] reports it.
    pub(super) fn write_now(&mut self, path: &Path, bytes: &[u8]) -> Result<()> {
        if self.mute {
            return Ok(());
        }
        match self.files.write_now(path, bytes) {
            Ok(()) => {
                self.lists(path);
                Ok(())
            }
            Err(error) => self.note_unwritten(error),
        }
    }

    /// Lists a file among the results.
    pub(super) fn lists(&mut self, path: &Path) {
        let name = path.display().to_string();
        if !self.listed.contains(&name) {
            self.listed.push(name);
        }
    }

    /// Adds an entry.
    pub(super) fn set(&mut self, key: &str, entry: impl Serialize) {
        self.object.insert(key.into(), value(&entry));
    }

    /// Replaces the parameters by those that the run found to be in full.
    pub(super) fn set_parameters(&mut self, parameters: &impl Serialize) {
        self.object.insert("parameters".into(), given(parameters));
    }

    /// Adds a timing, in seconds.
    pub(super) fn time(&mut self, key: &str, time: Duration) {
        self.timings
            .insert(format!("{key}_s"), json!(time.as_secs_f64()));
    }

    /// Warns on standard error, and keeps the warning.
    pub(super) fn warn(&mut self, warning: String) {
        let warning = flags::named(&warning);
        if !self.mute {
            self.say(&warning);
        }
        self.warnings.push(warning);
    }

    fn say(&self, warning: &str) {
        let case = self.case.iter();
        let case: String = case.map(|name| format!("{name}: ")).collect();
        streams::say(&format!("rarefy: warning: {case}{warning}"));
    }

    /// Notes that the run did not reach what was asked for. Its results are written and printed, and the command fails with this text.
    pub(super) fn not_converged(&mut self, why: String) {
        self.warnings.push(format!("NOT CONVERGED: {why}"));
        self.unconverged = Some(why);
    }

    /// Stages a file at a path, and lists it. [`Report::finish`] reports a failed one, since the others are results too.
    pub(super) fn stage(&mut self, path: &Path, artefact: &(impl Artefact + ?Sized)) -> Result<()> {
        self.stage_bytes(path, artefact.bytes())?;
        let name = path.file_name().unwrap_or_default().to_string_lossy();
        if let Some(svg) = artefact.svg() {
            self.page.plots.push((name.into_owned(), svg.to_owned()));
            return self.stage_bytes(&path.with_extension("svg"), svg.as_bytes());
        }
        if path.extension().is_some_and(|extension| extension == "csv") {
            let table = Table::of(artefact.bytes());
            self.page.tables.push((name.into_owned(), table));
        }
        Ok(())
    }

    fn stage_bytes(&mut self, path: &Path, bytes: &[u8]) -> Result<()> {
        match self.files.stage(path, bytes) {
            Ok(()) => self.listed.push(path.display().to_string()),
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

    /// Ends the run: writes `run.json` into the folder if there is one, makes all files appear, and prints the object or the summary.
    ///
    /// Files that can be written are, and numbers are printed, whatever becomes of other files.
    pub(super) fn finish<S: Display>(
        mut self,
        summary: impl FnOnce(Duration) -> S,
    ) -> std::result::Result<(), Failure> {
        if self.mute {
            return Ok(());
        }
        self.watch_for_signals();
        let total = self.started.elapsed();
        self.time("total", total);
        self.complete();
        let mut text = summary(total).to_string();
        let folder = self.folder.clone();
        if let Some(folder) = folder.as_ref().filter(|_| !self.page.is_empty()) {
            let mut object = self.object.clone();
            object.insert("timings".into(), json!(self.timings));
            object.insert("warnings".into(), json!(self.warnings));
            let page = self.page.html(&object, &text);
            self.stage_bytes(&folder.join(PAGE), page.as_bytes())?;
        }
        let run = folder.as_ref().map(|folder| folder.join(RECORD));
        self.listed
            .extend(run.iter().map(|p| p.display().to_string()));
        let again = self.again();
        let listed = self.listed.len();
        self.object.insert("timings".into(), self.timings.into());
        self.object.insert("warnings".into(), self.warnings.into());
        self.object.insert("files".into(), self.listed.into());
        let manifest = json!(self.files.manifest());
        self.object.insert("manifest".into(), manifest);
        let object = record_text(&self.object);
        let mut unwritten = self.unwritten;
        let complete = unwritten.is_empty();
        let staged = run.map(|run| self.files.stage(run, object.as_bytes()));
        let late = staged.and_then(Result::err).into_iter();
        let late: Vec<_> = late.chain(self.files.commit(complete)).collect();
        let written = listed - late.len();
        unwritten.extend(late);
        let printed = if self.common.json {
            streams::print(&object)
        } else if self.common.quiet {
            Ok(())
        } else {
            let folder = folder.filter(|_| unwritten.is_empty() && !self.bare);
            if let Some(folder) = folder {
                text.push_str(&written_to(&folder));
            }
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

/// The text of a record.
fn record_text(object: &Map<String, Value>) -> String {
    serde_json::to_string_pretty(object).expect("keys are strings") + "\n"
}

/// Parameters without those that are not given, nor, with the collision integral, those of the relaxation model.
pub(super) fn given(parameters: &impl Serialize) -> Value {
    let mut value = value(parameters);
    if let Some(object) = value.as_object_mut() {
        let integral = object.get("collision").is_some_and(|of| of == "boltzmann");
        object.retain(|key, value| {
            let of_model =
                ["model", "prandtl", "internal-dof", "z-rot", "eucken"].contains(&key.as_str());
            !(value.is_null() || integral && of_model)
        });
    }
    value
}

fn value(entry: &impl Serialize) -> Value {
    serde_json::to_value(entry).expect("what is reported is plain data")
}
