//! The run that a folder holds, and the run that is writing into it.

use std::fs::{self, File, TryLockError};
use std::path::{Path, PathBuf};

use serde_json::Value;

use super::names::{RECORD, SERIES, TEMPORARY, folder_of};
use super::text::reason;
use super::{checkpoint, checkpoint_parts, interrupt, swept};
use crate::error::{Error, Result};

/// The run that a folder holds.
#[derive(Debug)]
pub(super) struct Resident {
    /// The command of its record; none if that is not of rarefy.
    record: Option<Option<String>>,
    /// The command of its checkpoint.
    checkpoint: Option<Option<String>>,
    /// Its files, those of the cases of a sweep included.
    pub(super) files: Vec<PathBuf>,
    /// Folders of its own, an inner one before the one around it.
    pub(super) folders: Vec<PathBuf>,
    /// Whether it is a sweep that has cases to run.
    unfinished_sweep: bool,
}

impl Resident {
    /// The run in a folder, if there is one.
    pub(super) fn of(folder: &Path) -> Option<Self> {
        let (record, saved) = (folder.join(RECORD), folder.join(checkpoint::FILE));
        let mut there = Self {
            record: None,
            checkpoint: None,
            files: Vec::new(),
            folders: Vec::new(),
            unfinished_sweep: false,
        };
        if record.symlink_metadata().is_ok() {
            let object: Value = fs::read(&record)
                .ok()
                .and_then(|bytes| serde_json::from_slice(&bytes).ok())
                .unwrap_or_default();
            there.record = Some(object["command"].as_str().map(str::to_owned));
            there.files = listed(folder, &object);
            there.files.push(record);
            let names = swept::folders_of(&object);
            there.unfinished_sweep = !names.is_empty() && object["status"] == "unfinished";
            for name in names {
                there.add_case(folder.join(name));
            }
        }
        if saved.symlink_metadata().is_ok() {
            there.checkpoint = Some(checkpoint::command_of(&saved));
            there.files.push(saved);
            there.files.extend(checkpoint_parts::files(folder));
        }
        (there.record.is_some() || there.checkpoint.is_some()).then_some(there)
    }

    /// Adds a case of a sweep.
    fn add_case(&mut self, folder: PathBuf) {
        let Some(case) = Self::of(&folder).filter(|case| case.may_be_of(self)) else {
            return;
        };
        self.files.extend(case.files);
        self.folders.extend([folder.join(SERIES), folder]);
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
        let command = checkpoint::command_of(checkpoint);
        let same = |there: &Option<Option<String>>| there.as_ref().is_none_or(|of| *of == command);
        same(&self.record) && same(&self.checkpoint)
    }

    /// The error that says what is there, and how to go on.
    pub(super) fn refusal(&self, folder: &Path) -> Error {
        let of = |command: &Option<String>| match command {
            Some(command) => format!("of 'rarefy {command}'"),
            None => "that rarefy did not write".into(),
        };
        let resume = folder.join(checkpoint::FILE);
        let resume = resume.display();
        let record = folder.join(RECORD);
        let text = match (&self.record, &self.checkpoint) {
            (Some(sweep), None) if self.unfinished_sweep => format!(
                "holds an unfinished sweep {}, which goes on with --resume {}",
                of(sweep),
                record.display()
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
#[derive(Debug)]
pub(super) struct Lock {
    _file: File,
    path: PathBuf,
}

impl Lock {
    const NAME: &'static str = ".rarefy.lock";

    /// Takes the folder, unless another process has it; none on a file system without locks. A signal that ends the process removes the lock, and empty folders of those that the run `made`.
    pub(super) fn take(folder: &Path, made: &[PathBuf]) -> Result<Option<Self>> {
        let path = folder.join(Self::NAME);
        loop {
            let opened = File::options()
                .create(true)
                .truncate(false)
                .write(true)
                .open(&path);
            let file = opened.map_err(|error| {
                let why = format!("cannot write to this folder: {}", reason(&error));
                Error::file(folder, why)
            })?;
            match file.try_lock() {
                Ok(()) => {}
                Err(TryLockError::WouldBlock) => {
                    return Err(Error::file(
                        folder,
                        "another run is writing into this folder; wait for its end, or give another folder with --out",
                    ));
                }
                Err(TryLockError::Error(_)) => {
                    let _ = fs::remove_file(&path);
                    return Ok(None);
                }
            }
            // The run before may have removed the file after it was opened here.
            if is_at(&file, &path) {
                interrupt::hold(&path, made);
                return Ok(Some(Self { _file: file, path }));
            }
        }
    }
}

impl Drop for Lock {
    fn drop(&mut self) {
        let _ = fs::remove_file(&self.path);
        interrupt::release(&self.path);
    }
}

/// Marks a new temporary file as one of a process that lives; the system forgets it when the process ends. False where [`remove_abandoned`] was faster.
pub(super) fn mark(file: &File, path: &Path) -> bool {
    match file.try_lock() {
        Ok(()) => is_at(file, path),
        Err(TryLockError::WouldBlock) => false,
        // A file system without locks: nothing is taken for abandoned there.
        Err(TryLockError::Error(_)) => true,
    }
}

/// Removes the temporary files that processes left which were killed, from the folder of a run and from that of its series.
pub(super) fn remove_abandoned(folder: &Path) {
    let entries = [folder, &folder.join(SERIES)].map(fs::read_dir);
    for entry in entries.into_iter().flatten().flatten().flatten() {
        let is_file = entry.file_type().is_ok_and(|kind| kind.is_file());
        if !is_file || !entry.file_name().to_string_lossy().starts_with(TEMPORARY) {
            continue;
        }
        let path = entry.path();
        let Ok(file) = File::options().write(true).open(&path) else {
            continue;
        };
        // One of a living process is locked.
        if file.try_lock().is_ok() && is_at(&file, &path) {
            let _ = fs::remove_file(&path);
        }
    }
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
    fn abandoned_files_go_and_others_stay() {
        let folder = tempfile::tempdir().expect("a folder");
        let series = folder.path().join(SERIES);
        fs::create_dir(&series).expect("a folder");
        let path = |name: &str| folder.path().join(name);
        for name in [".rarefy-ab12", ".rarefyrc", "q.npy", "series/.rarefy-cd34"] {
            fs::write(path(name), "x").expect("a file");
        }
        let living = File::create(path(".rarefy-ef56")).expect("a file");
        assert!(mark(&living, &path(".rarefy-ef56")));
        remove_abandoned(folder.path());
        let there = |name: &str| path(name).exists();
        assert!(there(".rarefyrc") && there("q.npy") && there(".rarefy-ef56"));
        assert!(!there(".rarefy-ab12") && !there("series/.rarefy-cd34"));
        drop(living);
        remove_abandoned(folder.path());
        assert!(!there(".rarefy-ef56"));
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
