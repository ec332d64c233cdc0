//! Checkpoints of a run, and the command that goes on from them.

use std::path::{Path, PathBuf};

use rarefy_simt::Error as MachineError;
use serde::Serialize;

use super::Report;
use super::ending::from_the_last;
use crate::cli::checkpoint::{self, Content};
use crate::cli::checkpoint_parts;
use crate::cli::{ranks, resume};
use crate::error::{Error, Result};

impl Report {
    /// Writes a checkpoint now, and returns its path; none where there is no folder. On several ranks `content` takes the path and writes this rank's file.
    pub(in crate::cli) fn checkpoint<'a, H: Serialize>(
        &mut self,
        content: impl FnOnce(&Path) -> Result<Content<'a, H>>,
    ) -> Result<Option<PathBuf>> {
        let Some(folder) = self.folder.clone() else {
            return Ok(None);
        };
        let mut place = self.files.early_place(&folder);
        if ranks::are_several() {
            // Each may have a working folder of its own.
            place = place.map(|place| place.canonicalize().unwrap_or(place));
        }
        let place = ranks::together(place, &folder)?.swap_remove(0);
        let path = place.join(checkpoint::FILE);
        let mut content = content(&path)?;
        content.beside(self.files.manifest());
        let written = match self.mute {
            true => Ok(()),
            false => (self.files).write_checkpoint(&path, |to| content.write(to)),
        };
        ranks::together(written, &path)?;
        if !self.mute {
            checkpoint_parts::remove_others(&place);
        }
        Ok(Some(path))
    }

    /// Notes a checkpoint of a continuing run. A failed one is a warning, since the next one may succeed; of several in a row
    /// the first one is reported.
    pub(in crate::cli) fn saved(&mut self, saved: Result<Option<PathBuf>>) -> Result<()> {
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
            Err(error) => return Err(error),
        };
        self.missed = missed;
        Ok(())
    }

    /// The error of a run that the device broke off, with the command that goes on from its last checkpoint, if it has one.
    pub(in crate::cli) fn broken_off(&self, error: Error) -> Error {
        match (error, self.again()) {
            (Error::Machine(MachineError::Driver { action, reason }), Some(again)) => {
                let reason = format!("{reason}{}", from_the_last(&again));
                MachineError::Driver { action, reason }.into()
            }
            (error, _) => error,
        }
    }

    /// The command that goes on from the last checkpoint.
    pub(super) fn again(&self) -> Option<String> {
        let path = self.last_checkpoint.as_deref()?;
        Some(resume::again(&self.command(), path))
    }

    /// Notes the last checkpoint of a run; if it could not be written, the results still may be.
    pub(in crate::cli) fn saved_at_the_end(
        &mut self,
        saved: Result<Option<PathBuf>>,
    ) -> Result<()> {
        match saved {
            Ok(path) => self.last_checkpoint = path,
            Err(error) => self.note_unwritten(error)?,
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use std::time::Instant;

    use serde_json::json;

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
        let error = report.broken_off(error);
        assert!(error.to_string().ends_with(again), "{error}");
        // A file that fails again is not tried further.
        let broken = Error::Numerical("the temperature is negative".into());
        assert_eq!(
            report.broken_off(broken).to_string(),
            "the temperature is negative"
        );
    }
}
