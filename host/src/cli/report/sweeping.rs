//! The folder and the record of a sweep under way.

use std::path::PathBuf;

use serde_json::{Value, json};

use super::{Report, record_text};
use crate::cli::failure::Failure;
use crate::cli::names::RECORD;
use crate::error::Result;

impl Report {
    /// Keeps the warnings in the record of a case under its name. The run of the case has printed them.
    pub(in crate::cli) fn keep_warnings_of(&mut self, name: &str, record: &Value) {
        let all = record["warnings"].as_array().into_iter().flatten();
        let texts = all.filter_map(Value::as_str);
        self.warnings
            .extend(texts.map(|text| format!("{name}: {text}")));
    }

    /// Claims the folder of a sweep, which `goes_on` or is new, and may be `needed`. Returns where its cases have their folders.
    pub(in crate::cli) fn open_sweep(
        &mut self,
        goes_on: bool,
        needed: bool,
    ) -> std::result::Result<Option<PathBuf>, Failure> {
        let command = self.command();
        match self.common.out.clone().filter(|_| goes_on) {
            Some(folder) => {
                self.files.folder_of_sweep(&folder, &command)?;
                self.folder = Some(folder);
            }
            None => self.open_resumable(None, None, needed)?,
        }
        match self.folder.clone() {
            // Cases write on the way to the end of the sweep.
            Some(folder) => Ok(Some(self.files.early_place(&folder)?)),
            None => Ok(None),
        }
    }

    /// Removes the record of a sweep whose first case was refused.
    pub(in crate::cli) fn take_back_progress(&mut self) {
        if let Some(folder) = &self.folder {
            self.files.take_back(&folder.join(RECORD));
        }
    }

    /// Writes the record of a sweep that has more cases to run, and returns its path; none where there is no folder.
    pub(in crate::cli) fn record_progress(&mut self, result: Value) -> Result<Option<PathBuf>> {
        let Some(folder) = &self.folder else {
            return Ok(None);
        };
        let path = folder.join(RECORD);
        let mut object = self.object.clone();
        for (key, entry) in [
            ("result", result),
            ("status", json!("unfinished")),
            ("units", Value::Null),
            ("timings", json!(self.timings)),
            ("warnings", json!(self.warnings)),
            ("files", json!([path.display().to_string()])),
            ("manifest", json!(self.files.manifest())),
        ] {
            object.insert(key.into(), entry);
        }
        self.files
            .write_now(&path, record_text(&object).as_bytes())?;
        Ok(Some(self.files.early_place(&path)?))
    }
}
