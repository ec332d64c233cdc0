//! The run that a folder holds.

use std::fs;
use std::path::{Path, PathBuf};

use serde::Deserialize;
use serde_json::Value;

use super::checkpoint::{self, Brief};
use super::manifest::{Manifest, unchanged};
use super::names::{RECORD, SERIES, folder_of};
use super::record::record_in;
use super::text::quoted;
use super::{checkpoint_parts, swept};
use crate::error::Error;

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

#[cfg(test)]
mod tests {
    use super::*;

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
