//! The files that a run reads, and the folder of its results.

use std::path::Path;

use super::Report;
use crate::cli::failure::Failure;
use crate::cli::names::folder_of;
use crate::cli::ranks;
use crate::error::Result;

impl Report {
    /// Keeps a file that the run reads from being written over. A name that is not UTF-8 draws a warning, for a record cannot hold it.
    pub(in crate::cli) fn reads(&mut self, path: &Path) {
        self.files.reads(path);
        if path.to_str().is_none() {
            let path = path.display();
            self.warn(format!(
                "the name of {path} is not UTF-8: --config run.json will not find the file"
            ));
        }
    }

    /// Claims a file that the user named for a result.
    pub(in crate::cli) fn claim(&mut self, path: &Path) -> Result<()> {
        self.files.file(path)
    }

    /// Claims the folder of the results: that of `--out`, else a new one of the command. With `--json` alone there is none, nor where only the folder of the
    /// command cannot be written to: the results are then printed, and a warning says why.
    pub(in crate::cli) fn open(&mut self) -> Result<()> {
        match self.common.out {
            Some(_) => self.open_given(),
            None => self.open_default(false),
        }
    }

    /// Claims the folder of the command. A run for which it is `needed` does not begin without one.
    fn open_default(&mut self, needed: bool) -> Result<()> {
        if self.common.json {
            return Ok(());
        }
        let command = self.command();
        match self.files.default_folder(&command, self.common.overwrite) {
            Ok(folder) => self.folder = Some(folder),
            Err(error) if needed => return Err(error),
            Err(error) => self.say(&format!(
                "no files are written: {error}; give a folder with --out"
            )),
        }
        Ok(())
    }

    /// Claims the folder of `--out` alone.
    pub(in crate::cli) fn open_given(&mut self) -> Result<()> {
        if let Some(folder) = self.common.out.clone() {
            let command = self.command();
            self.files
                .run_folder(&folder, &command, self.common.overwrite)?;
            self.folder = Some(folder);
        }
        Ok(())
    }

    /// Claims the folder of a run that can be resumed: that of `--out`, else the one of its checkpoint, else a new one of the command, which may be `needed`.
    pub(in crate::cli) fn open_resumable(
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
            None => self.open_default(needed)?,
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

    /// The folder of the results.
    pub(in crate::cli) fn folder(&self) -> Option<&Path> {
        self.folder.as_deref()
    }

    /// Makes the folder of the files that a run writes on its way.
    pub(in crate::cli) fn make_series(&mut self, path: &Path) -> Result<()> {
        match self.mute {
            true => Ok(()),
            false => self.files.series_folder(path),
        }
    }

    /// Names below the folder of the files that the run has written there.
    pub(in crate::cli) fn written(&self) -> impl Iterator<Item = &str> {
        self.files.manifest().keys().map(String::as_str)
    }
}
