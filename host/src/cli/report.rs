//! The record of a run: `run.json`, and warnings.

mod artefact;
mod ending;
mod sweeping;

use std::fmt::Display;
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

use rarefy_simt::Error as MachineError;
use serde::Serialize;
use serde_json::{Map, Value, json};

use super::checkpoint;
use super::checkpoint_parts::{self, Listed};
use super::failure::Failure;
use super::flags;
use super::interrupt::Watch;
use super::names::{RECORD, folder_of};
use super::npy;
use super::options::Common;
use super::output::{self, DEFAULT_FOLDER, Transaction};
use super::plot::Figure;
use super::ranks;
use super::report_page::{PAGE, Page, Table};
use super::resume;
use super::streams;
use crate::compute::{Precision, Resolved};
use crate::error::{Error, Result};
pub(super) use artefact::Artefact;
use ending::{from_the_last, incomplete, written_to};

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

/// The object that `run.json` holds and `--json` prints.
pub(super) struct Report {
    object: Map<String, Value>,
    common: Common,
    files: Transaction,
    /// Where the results go.
    folder: Option<PathBuf>,
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
        object.insert("parameters".into(), given(parameters));
        Self {
            object,
            common: common.clone(),
            files: Transaction::default(),
            folder: None,
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

    /// Keeps a file that the run reads from being written over. A name that is not UTF-8 draws a warning, for a record cannot hold it.
    pub(super) fn reads(&mut self, path: &Path) {
        self.files.reads(path);
        if path.to_str().is_none() {
            let path = path.display();
            self.warn(format!(
                "the name of {path} is not UTF-8: --config run.json will not find the file"
            ));
        }
    }

    /// Claims a file that the user named for a result.
    pub(super) fn claim(&mut self, path: &Path) -> Result<()> {
        self.files.file(path)
    }

    /// Claims the folder of the results: that of `--out`, else that of the command. With `--json` alone there is none, nor where only the folder of the
    /// command cannot be written to: the results are then printed, and a warning says why.
    pub(super) fn open(&mut self) -> Result<()> {
        if self.common.out.is_some() || self.common.json {
            return self.open_given();
        }
        let command = self.command();
        match self.files.default_folder(&command, self.common.overwrite) {
            Ok(folder) => self.folder = Some(folder),
            Err(error) => self.say(&format!(
                "no files are written: {error}; give a folder with --out"
            )),
        }
        Ok(())
    }

    /// Claims the folder of `--out` alone.
    pub(super) fn open_given(&mut self) -> Result<()> {
        if let Some(folder) = self.common.out.clone() {
            let command = self.command();
            self.files
                .run_folder(&folder, &command, self.common.overwrite)?;
            self.folder = Some(folder);
        }
        Ok(())
    }

    /// Claims the folder of a run that can be resumed: that of `--out`, else the one of its checkpoint, else that of the command, which holds no other run
    /// where it is `needed`.
    pub(super) fn open_resumable(
        &mut self,
        resume: Option<&Path>,
        checkpoint_every: Option<u64>,
        needed: bool,
    ) -> std::result::Result<(), Failure> {
        let opened = match self.mute {
            true => Ok(()),
            false => self.open_resumable_here(resume, checkpoint_every, needed),
        };
        ranks::agreed(opened)?;
        if let Some(folder) = ranks::from_the_first(self.folder.as_deref())? {
            self.folder = Some(folder);
        }
        match &self.folder {
            Some(folder) => ranks::check_shared(folder),
            None => Ok(()),
        }
    }

    fn open_resumable_here(
        &mut self,
        resume: Option<&Path>,
        checkpoint_every: Option<u64>,
        needed: bool,
    ) -> std::result::Result<(), Failure> {
        let command = self.command();
        let common = &self.common;
        let beside = resume.filter(|_| common.out.is_none() && !common.json);
        let given = common.out.as_deref().or(beside.map(folder_of));
        let same = |a: &Path, b: &Path| match (a.canonicalize(), b.canonicalize()) {
            (Ok(a), Ok(b)) => a == b,
            _ => a == b,
        };
        match given.map(Path::to_path_buf) {
            // A run that can be resumed is found where scripts expect it: nothing else takes its place, and it takes no other.
            None if needed && !common.json => {
                let folder = Path::new(DEFAULT_FOLDER).join(&command);
                self.files.run_folder(&folder, &command, common.overwrite)?;
                self.folder = Some(folder);
            }
            None => self.open()?,
            Some(folder) => {
                match resume.filter(|checkpoint| same(folder_of(checkpoint), &folder)) {
                    Some(checkpoint) => {
                        let run = (command.as_str(), checkpoint);
                        self.files.resumed_folder(&folder, run, common.overwrite)?;
                    }
                    None => self.files.run_folder(&folder, &command, common.overwrite)?,
                }
                self.folder = Some(folder);
            }
        }
        if self.folder.is_none() && checkpoint_every.is_some() {
            return Err(Failure::Usage(
                "--checkpoint-every needs a folder for the checkpoint; give --out DIR".into(),
            ));
        }
        Ok(())
    }

    fn command(&self) -> String {
        self.object["command"].as_str().unwrap_or_default().into()
    }

    /// The folder of the results.
    pub(super) fn folder(&self) -> Option<&Path> {
        self.folder.as_deref()
    }

    /// Prints the result itself instead of a summary, with `shown` despite `--quiet`.
    pub(super) fn print_bare(&mut self, shown: bool) {
        self.bare = true;
        self.common.quiet = !shown;
    }

    /// Writes a checkpoint now, and returns its path; none where there is no folder.
    pub(super) fn checkpoint(
        &mut self,
        content: impl FnOnce() -> Result<Vec<u8>>,
    ) -> Result<Option<PathBuf>> {
        self.checkpoint_of_ranks(|_| Ok((content()?, Vec::new())))
    }

    /// The same on any number of ranks. `content` takes the path, writes this rank's file, and returns the bytes of the checkpoint with the files that they list.
    pub(super) fn checkpoint_of_ranks(
        &mut self,
        content: impl FnOnce(&Path) -> Result<(Vec<u8>, Vec<Listed>)>,
    ) -> Result<Option<PathBuf>> {
        let Some(folder) = &self.folder else {
            return Ok(None);
        };
        let path = folder.join(checkpoint::FILE);
        let (bytes, parts) = content(&path)?;
        let written = match self.mute {
            true => Ok(()),
            false => self.files.write_now(&path, &bytes),
        };
        ranks::together(written, &path)?;
        if !self.mute {
            checkpoint_parts::remove_others(&path, &parts);
        }
        Ok(Some(path))
    }

    /// Makes a folder of results below that of the run.
    pub(super) fn make_folder(&mut self, path: &Path) -> Result<()> {
        match self.mute {
            true => Ok(()),
            false => self.files.folder(path),
        }
    }

    /// Writes a result at once and lists it. The run goes on if it cannot be written, and [`Report::finish`] reports it.
    pub(super) fn write_now(&mut self, path: &Path, bytes: &[u8]) -> Result<()> {
        if self.mute {
            return Ok(());
        }
        match self.files.write_now(path, bytes) {
            Ok(()) => {
                let name = path.display().to_string();
                if !self.listed.contains(&name) {
                    self.listed.push(name);
                }
                Ok(())
            }
            Err(error) => self.note_unwritten(error),
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
        streams::say(&format!("rarefy: warning: {warning}"));
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

    /// Writes the results of a run that has a folder.
    pub(super) fn write(&mut self, results: impl FnOnce(&mut Output) -> Result<()>) -> Result<()> {
        self.watch_for_signals();
        match self.folder.clone().filter(|_| !self.mute) {
            Some(folder) => results(&mut Output {
                report: self,
                folder,
            }),
            None => Ok(()),
        }
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
                self.last_checkpoint = path;
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
        let path = self.last_checkpoint.as_deref()?;
        Some(resume::again(&self.command(), path))
    }

    /// Notes the last checkpoint of a run; if it could not be written, the results still may be.
    pub(super) fn saved_at_the_end(&mut self, saved: Result<Option<PathBuf>>) -> Result<()> {
        match saved {
            Ok(path) => self.last_checkpoint = path,
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
        let object = record_text(&self.object);
        let mut unwritten = self.unwritten;
        let staged = run.map(|run| self.files.stage(run, object.as_bytes()));
        let late = staged.and_then(Result::err).into_iter();
        let late: Vec<_> = late.chain(self.files.commit()).collect();
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

/// Where the results of a run go: tables, arrays and plots in its folder.
pub(super) struct Output<'a> {
    report: &'a mut Report,
    folder: PathBuf,
}

impl Output<'_> {
    /// A file.
    pub(super) fn put(&mut self, name: &str, bytes: &(impl Artefact + ?Sized)) -> Result<()> {
        self.report.stage(&self.folder.join(name), bytes)
    }

    /// A table with these columns.
    pub(super) fn table(
        &mut self,
        name: &str,
        columns: &[&str],
        rows: impl IntoIterator<Item = impl Serialize>,
    ) -> Result<()> {
        self.put(name, &output::table(columns, rows)?)
    }

    /// A table with a column for each field of a record.
    pub(super) fn records(&mut self, name: &str, rows: &[impl Serialize]) -> Result<()> {
        self.put(name, &output::records(rows)?)
    }

    /// An array.
    pub(super) fn array(
        &mut self,
        name: &str,
        shape: &[usize],
        values: &[f64],
        precision: Precision,
    ) -> Result<()> {
        self.put(name, &npy::encode(shape, values, precision))
    }

    /// The places of a grid along an axis, beside the arrays on it.
    pub(super) fn grid(&mut self, name: &str, places: &[f64]) -> Result<()> {
        self.array(name, &[places.len()], places, Precision::F64)
    }

    /// A plot, as PNG and SVG.
    pub(super) fn plot(&mut self, name: &str, figure: &Figure) -> Result<()> {
        self.put(name, &figure.png()?)
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
            let of_model = ["model", "prandtl"].contains(&key.as_str());
            !(value.is_null() || integral && of_model)
        });
    }
    value
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
        let common = serde_json::from_value(json!({ "backend": "cpu", "precision": "f64" }));
        let common = common.expect("options");
        let mut report = Report::new("shock", &json!({}), &common, Instant::now());
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
