//! The run that a folder holds, and the run that is writing into it.

use std::fs::{self, File, TryLockError};
use std::io::{Read, Write};
use std::path::{Path, PathBuf};

use serde::Deserialize;
use serde_json::Value;

use super::checkpoint::{self, Brief};
use super::manifest::{Entry, Manifest, unchanged};
use super::names::{RECORD, SERIES, TEMPORARY, folder_of};
use super::record::record_in;
use super::text::{quoted, reason};
use super::{checkpoint_parts, interrupt, swept};
use crate::error::{Error, Result};

/// The run that a folder holds.
#[derive(Debug)]
pub(super) struct Resident {
    pub(super) folder: PathBuf,
    /// The command of its record; none if that is not of rarefy.
    record: Option<Option<String>>,
    /// The command of its checkpoint.
    checkpoint: Option<Option<String>>,
    /// Its other files, as its record and its checkpoints list them.
    pub(super) manifest: Manifest,
    /// The same as each of them lists it: a file may have been written again after one of them.
    versions: Vec<Manifest>,
    /// The cases of a sweep.
    cases: Vec<Self>,
    /// Whether it is a sweep that has cases to run.
    unfinished_sweep: bool,
}

/// Whether a folder is there, and no link to one.
pub(super) fn is_folder(path: &Path) -> bool {
    path.symlink_metadata().is_ok_and(|there| there.is_dir())
}

impl Resident {
    /// The run in a folder, if there is one.
    pub(super) fn of(folder: &Path) -> Option<Self> {
        let record = folder.join(RECORD);
        let mut there = Self {
            folder: folder.to_path_buf(),
            record: None,
            checkpoint: None,
            manifest: Manifest::new(),
            versions: Vec::new(),
            cases: Vec::new(),
            unfinished_sweep: false,
        };
        if record.symlink_metadata().is_ok() {
            let object = record_in(folder);
            there.record = Some(object["command"].as_str().map(str::to_owned));
            let manifest = Manifest::deserialize(&object["manifest"]);
            there.add(manifest.unwrap_or_default());
            let names = swept::folders_of(&object);
            there.unfinished_sweep = !names.is_empty() && object["status"] == "unfinished";
            let cases = names.iter().map(|name| folder.join(name));
            let cases = cases.filter(|case| is_folder(case));
            let cases: Vec<Self> = cases.filter_map(|case| Self::of(&case)).collect();
            there.cases = cases
                .into_iter()
                .filter(|case| case.may_be_of(&there))
                .collect();
        }
        for saved in there.checkpoints() {
            if saved.symlink_metadata().is_ok() {
                let (command, written) = match Brief::of(&saved) {
                    Some(Brief { command, written }) => (Some(command), written),
                    None => (None, Manifest::new()),
                };
                there.add(written);
                there.checkpoint.get_or_insert(command);
            }
        }
        (there.record.is_some() || there.checkpoint.is_some()).then_some(there)
    }

    /// Adds a list of its files.
    pub(super) fn add(&mut self, written: Manifest) {
        self.manifest.extend(written.clone());
        self.versions.push(written);
    }

    /// Where the checkpoints are.
    fn checkpoints(&self) -> [PathBuf; 2] {
        [checkpoint::FILE, checkpoint::PREVIOUS].map(|name| self.folder.join(name))
    }

    /// The command of the run.
    fn command(&self) -> &str {
        match (&self.record, &self.checkpoint) {
            (Some(Some(command)), _) | (_, Some(Some(command))) => command,
            _ => "",
        }
    }

    /// The files that it has by its own account, whether they are there or not.
    pub(super) fn files(&self) -> Vec<PathBuf> {
        let listed = self.manifest.keys().map(|name| self.folder.join(name));
        let own = self
            .checkpoints()
            .into_iter()
            .chain([self.folder.join(RECORD)]);
        let cases = self.cases.iter().flat_map(Self::files);
        listed.chain(own).chain(cases).collect()
    }

    /// Removes what it has written and nobody changed since, but for some paths; its folders, where nothing else is in them.
    pub(super) fn remove(&self, but: &[PathBuf]) {
        let versions = self.versions.iter();
        let mut files: Vec<PathBuf> = versions
            .flat_map(|written| unchanged(&self.folder, self.command(), written))
            .collect();
        let saved = self.checkpoints();
        files.extend(saved.into_iter().filter(|path| Brief::of(path).is_some()));
        files.extend(checkpoint_parts::files(&self.folder));
        if let Some(Some(_)) = self.record {
            files.push(self.folder.join(RECORD));
        }
        let real = |path: &PathBuf| fs::canonicalize(path).ok();
        let but_real: Vec<_> = but.iter().filter_map(real).collect();
        for file in files {
            if !real(&file).is_some_and(|file| but_real.contains(&file)) {
                // A file that somebody removed before is as good as removed.
                let _ = fs::remove_file(file);
            }
        }
        for case in &self.cases {
            case.remove(but);
            // Fails where somebody has put another file, and should.
            let _ = fs::remove_dir(&case.folder);
        }
        let _ = fs::remove_dir(self.folder.join(SERIES));
    }

    /// Whether it is a run of the command of a sweep.
    fn may_be_of(&self, sweep: &Self) -> bool {
        let same = |of: &Option<Option<String>>| of.is_none() || *of == sweep.record;
        same(&self.record) && same(&self.checkpoint)
    }

    /// Whether it is the record of a command.
    pub(super) fn is_record_of(&self, command: &str) -> bool {
        self.record
            .as_ref()
            .is_some_and(|of| of.as_deref() == Some(command))
    }

    /// Whether all that is there belongs to the command of this checkpoint.
    pub(super) fn is_of(&self, checkpoint: &Path) -> bool {
        let command = Brief::of(checkpoint).map(|brief| brief.command);
        let same = |there: &Option<Option<String>>| there.as_ref().is_none_or(|of| *of == command);
        same(&self.record) && same(&self.checkpoint)
    }

    /// The error that says what is there, and how to go on.
    pub(super) fn refusal(&self, folder: &Path) -> Error {
        let of = |command: &Option<String>| match command {
            Some(command) => format!("of 'rarefy {command}'"),
            None => "that rarefy did not write".into(),
        };
        let resume = quoted(&folder.join(checkpoint::FILE));
        let record = quoted(&folder.join(RECORD));
        let text = match (&self.record, &self.checkpoint) {
            (Some(sweep), None) if self.unfinished_sweep => format!(
                "holds an unfinished sweep {}, which goes on with --resume {}",
                of(sweep),
                record
            ),
            (Some(record), None) => format!("holds a run {}", of(record)),
            (Some(record), Some(saved)) if record == saved => {
                format!("holds a run {} and its checkpoint", of(record))
            }
            (Some(record), Some(saved)) => {
                format!(
                    "holds a run {} and the checkpoint of a run {}",
                    of(record),
                    of(saved)
                )
            }
            (None, Some(saved)) => format!(
                "holds the checkpoint of a run {}, which goes on with --resume {resume}",
                of(saved)
            ),
            (None, None) => "holds a run".into(),
        };
        Error::file(
            folder,
            format!("{text}; give another folder with --out, or --overwrite to replace it"),
        )
    }
}

/// Files that a record lists beside itself. Files elsewhere may have become another's.
pub(super) fn listed(folder: &Path, record: &Value) -> Vec<PathBuf> {
    let names = record["files"].as_array().into_iter().flatten();
    let paths: Vec<&Path> = names.filter_map(Value::as_str).map(Path::new).collect();
    let own = |path: &&&Path| path.file_name().is_some_and(|name| name == RECORD);
    let Some(home) = paths.iter().find(own).map(|path| folder_of(path)) else {
        return Vec::new();
    };
    let series = home.join(SERIES);
    let place = |path: &&Path| {
        let name = path.file_name()?;
        match folder_of(path) {
            of if of == home => Some(folder.join(name)),
            of if of == series => Some(folder.join(SERIES).join(name)),
            _ => None,
        }
    };
    let record = folder.join(RECORD);
    let places = paths.iter().filter_map(place);
    places.filter(|path| *path != record).collect()
}

/// The only run that writes into a folder, as long as it lives. The system releases it when the process ends, however that happens.
///
/// The file is a journal too: it names what the run has written. A process that was killed leaves it, and the next run knows by it which files are rarefy's.
#[derive(Debug)]
pub(super) struct Lock {
    file: File,
    path: PathBuf,
    /// Whether the journal is needed after this run.
    stays: bool,
}

/// Files that a killed run has left.
#[derive(Debug, Default)]
pub(super) struct Journal {
    /// Files that are whole, by their names below the folder.
    pub(super) written: Manifest,
    /// Names of files that may not be whole.
    pub(super) temporary: Vec<String>,
}

impl Journal {
    /// Of the text of a lock.
    fn of(text: &str) -> Self {
        let mut journal = Self::default();
        for line in text.lines().skip(1) {
            let words: Vec<&str> = line.splitn(4, ' ').collect();
            match words[..] {
                ["file", bytes, crc32, name] => {
                    if let Ok(bytes) = bytes.parse() {
                        let crc32 = crc32.to_owned();
                        journal
                            .written
                            .insert(name.to_owned(), Entry { bytes, crc32 });
                    }
                }
                ["temporary", name] if is_temporary(name) => {
                    journal.temporary.push(name.to_owned())
                }
                _ => {}
            }
        }
        journal
    }
}

/// Whether a name is that of a temporary file in the folder of a run or of its series.
fn is_temporary(name: &str) -> bool {
    let name = name
        .strip_prefix(SERIES)
        .and_then(|rest| rest.strip_prefix('/'))
        .unwrap_or(name);
    name.starts_with(TEMPORARY) && !name.contains(['/', '\\'])
}

impl Lock {
    const NAME: &'static str = ".rarefy.lock";
    const MAGIC: &'static str = "rarefy-lock 1\n";

    /// Takes the folder, unless another process has it; none on a file system without locks. A signal that ends the process removes the lock, and empty folders of those that the run `made`.
    pub(super) fn take(folder: &Path, made: &[PathBuf]) -> Result<(Option<Self>, Journal)> {
        let path = folder.join(Self::NAME);
        let foreign = || {
            let why = "not the lock of a run of rarefy; remove this file, or give another folder with --out";
            Error::file(&path, why)
        };
        let failed = |error: std::io::Error| {
            let why = format!("cannot write to this folder: {}", reason(&error));
            Error::file(folder, why)
        };
        loop {
            let there = path.symlink_metadata();
            if there.is_ok_and(|there| !there.is_file()) {
                return Err(foreign());
            }
            let opened = File::options()
                .create(true)
                .read(true)
                .append(true)
                .open(&path);
            let mut file = opened.map_err(failed)?;
            match file.try_lock() {
                Ok(()) => {}
                Err(TryLockError::WouldBlock) => {
                    return Err(Error::file(
                        folder,
                        "another run is writing into this folder; wait for its end, or give another folder with --out",
                    ));
                }
                Err(TryLockError::Error(_)) => {
                    if file.metadata().is_ok_and(|there| there.len() == 0) {
                        let _ = fs::remove_file(&path);
                    }
                    return Ok((None, Journal::default()));
                }
            }
            // The run before may have removed the file after it was opened here.
            if !is_at(&file, &path) {
                continue;
            }
            let mut text = Vec::new();
            file.read_to_end(&mut text).map_err(failed)?;
            let text = String::from_utf8_lossy(&text);
            if !text.is_empty() && !text.starts_with(Self::MAGIC) {
                return Err(foreign());
            }
            interrupt::hold(&path, made);
            let stays = text.len() > Self::MAGIC.len();
            let lock = Self { file, path, stays };
            if text.is_empty() {
                lock.write(Self::MAGIC);
            }
            return Ok((Some(lock), Journal::of(&text)));
        }
    }

    /// Says whether the next run needs the journal.
    pub(super) fn set_stays(&mut self, stays: bool) {
        self.stays = stays;
    }

    /// Notes a file that is about to get its name.
    pub(super) fn note_written(&self, name: &str, entry: &Entry) {
        self.write(&format!("file {} {} {name}\n", entry.bytes, entry.crc32));
    }

    /// Notes a file that is not whole.
    pub(super) fn note_temporary(&self, path: &Path) {
        if let Ok(name) = path.strip_prefix(folder_of(&self.path)) {
            self.write(&format!("temporary {}\n", name.display()));
        }
    }

    fn write(&self, text: &str) {
        // A file without a note is another's to the next run, and stays.
        let _ = (&self.file).write_all(text.as_bytes());
    }
}

impl Drop for Lock {
    fn drop(&mut self) {
        if !self.stays {
            let _ = fs::remove_file(&self.path);
        }
        interrupt::release(&self.path);
    }
}

/// Whether a journal names files of a series, which nothing else may name.
pub(super) fn has_series(lock: &Path) -> bool {
    let text = fs::read(lock).unwrap_or_default();
    let journal = Journal::of(&String::from_utf8_lossy(&text));
    journal.written.keys().any(|name| name.contains('/'))
}

/// Whether an open file is still the one of this name.
#[cfg(unix)]
fn is_at(file: &File, path: &Path) -> bool {
    use std::os::unix::fs::MetadataExt;
    match (file.metadata(), fs::metadata(path)) {
        (Ok(a), Ok(b)) => (a.dev(), a.ino()) == (b.dev(), b.ino()),
        _ => false,
    }
}

#[cfg(not(unix))]
fn is_at(_: &File, _: &Path) -> bool {
    true
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_folder_is_one_runs_at_a_time() {
        let folder = tempfile::tempdir().expect("a folder");
        let lock = Lock::take(folder.path(), &[]).expect("the folder is free");
        let error = Lock::take(folder.path(), &[]).expect_err("the folder is taken");
        assert!(error.to_string().contains("another run is writing"));
        drop(lock);
        drop(Lock::take(folder.path(), &[]).expect("the folder is free again"));
        assert_eq!(fs::read_dir(folder.path()).expect("a folder").count(), 0);
    }

    #[test]
    fn a_lock_that_is_none_stays() {
        let folder = tempfile::tempdir().expect("a folder");
        let path = folder.path().join(Lock::NAME);
        fs::write(&path, "my notes").expect("a file");
        let error = Lock::take(folder.path(), &[]).expect_err("another's file");
        assert!(
            error.to_string().contains("not the lock of a run"),
            "{error}"
        );
        assert_eq!(fs::read(&path).expect("a file"), b"my notes");
    }

    /// The journal of a killed run names its files; others stay.
    #[test]
    fn a_journal_is_read_again() {
        let folder = tempfile::tempdir().expect("a folder");
        let path = folder.path().join(Lock::NAME);
        let entry = Entry::new(12, 0xAB);
        {
            let (lock, _) = Lock::take(folder.path(), &[]).expect("the folder is free");
            let lock = lock.expect("a file system with locks");
            lock.note_written("series/f-00000010.npy", &entry);
            lock.note_temporary(&folder.path().join(".rarefy-ab12"));
            lock.note_temporary(&folder.path().join("series/.rarefy-cd34"));
            let text = fs::read(&path).expect("a file");
            drop(lock);
            fs::write(&path, text).expect("a file");
        }
        // A run that is refused leaves it.
        drop(Lock::take(folder.path(), &[]).expect("the folder is free"));
        assert!(has_series(&path));
        let (_lock, journal) = Lock::take(folder.path(), &[]).expect("the folder is free");
        assert_eq!(
            journal.written,
            Manifest::from([("series/f-00000010.npy".to_owned(), entry)])
        );
        assert_eq!(journal.temporary, [".rarefy-ab12", "series/.rarefy-cd34"]);
        for other in [
            "thesis.tex",
            "../.rarefy-ef56",
            ".rarefy-a/b",
            "series/../.rarefy-ab",
        ] {
            assert!(!is_temporary(other), "{other}");
        }
    }

    #[test]
    fn only_files_beside_the_record_are_the_runs() {
        let record = serde_json::json!({
            "files": ["q.npy", "out/history.csv", "out/run.json", "../f.npy"],
        });
        let folder = Path::new("elsewhere");
        assert_eq!(listed(folder, &record), [folder.join("history.csv")]);
        assert!(listed(folder, &Value::Null).is_empty());
    }
}
