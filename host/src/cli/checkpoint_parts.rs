//! A checkpoint of several ranks: a file of each rank, and the checkpoint itself, which lists them and is renamed last.

use std::fs;
use std::ops::Range;
use std::path::{Path, PathBuf};

use serde::{Deserialize, Serialize};

use super::checkpoint::{self, Arrays, Content, PART, Stored};
use super::output;
use crate::bgk::CheckpointPart;
use crate::error::{Error, Result};

/// The file of a rank, as the checkpoint lists it.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub(super) struct Listed {
    /// Its name in the folder of the checkpoint.
    file: String,
    /// Its cells, the first and one past the last.
    cells: [usize; 2],
    /// Checksum at the end of the file.
    checksum: u32,
}

/// The header of such a file.
#[derive(Debug, Serialize, Deserialize)]
struct Header {
    step: u64,
    cells: [usize; 2],
    rows: usize,
}

/// Writes the file of a rank beside a checkpoint, and returns its entry in the list.
pub(super) fn write(
    path: &Path,
    command: &str,
    rank: usize,
    part: CheckpointPart,
) -> Result<Listed> {
    let mut listed = Listed {
        file: format!("{}.{}.{rank:04}", checkpoint::FILE, part.step),
        cells: [part.cells.start, part.cells.end],
        checksum: 0,
    };
    let header = Header {
        step: part.step,
        cells: listed.cells,
        rows: part.rows,
    };
    let arrays = Arrays::from([
        ("populations".to_owned(), part.populations.into()),
        ("extra".to_owned(), part.extra.into()),
    ]);
    let place = listed.beside(path);
    if place.symlink_metadata().is_ok() && !checkpoint::is_part(&place) {
        let why = "not the part of a checkpoint of rarefy; it is left alone";
        return Err(Error::file(place, why));
    }
    let content = Content::new(command, header, arrays).of_kind(PART);
    listed.checksum = output::write_with(&place, |to| content.write(to))?;
    Ok(listed)
}

impl Listed {
    /// Where the file lies beside a checkpoint.
    pub(super) fn beside(&self, checkpoint: &Path) -> PathBuf {
        checkpoint.with_file_name(&self.file)
    }

    fn overlaps(&self, wanted: &[Range<usize>]) -> bool {
        let [first, end] = self.cells;
        wanted
            .iter()
            .any(|range| range.start < end && first < range.end)
    }

    fn read(&self, checkpoint: &Path, command: &str) -> Result<CheckpointPart> {
        let path = self.beside(checkpoint);
        let mut content = Stored::<Header>::open_as(&path, command, &[PART])?;
        let Header { step, cells, rows } = content.state;
        if content.checksum != self.checksum || cells != self.cells {
            return Err(Error::file(
                path,
                format!(
                    "not the part that {} was written with",
                    checkpoint.display()
                ),
            ));
        }
        let (populations, extra) = (content.get("populations")?, content.get("extra")?);
        let part = CheckpointPart::new(cells[0]..cells[1], populations, extra, rows);
        let mut part = part.map_err(|error| Error::file(path, error))?;
        part.step = step;
        Ok(part)
    }
}

/// The parts of a checkpoint that is about to be resumed.
pub(in crate::cli) struct Parts {
    pub(in crate::cli) checkpoint: PathBuf,
    pub(in crate::cli) command: &'static str,
    pub(in crate::cli) listed: Vec<Listed>,
    /// Whether mirror images were kept once.
    pub(in crate::cli) reduced: bool,
}

impl Parts {
    /// The parts that hold some cells.
    pub(in crate::cli) fn read(&self, wanted: &[Range<usize>]) -> Result<Vec<CheckpointPart>> {
        let needed = self.listed.iter().filter(|part| part.overlaps(wanted));
        needed
            .map(|part| part.read(&self.checkpoint, self.command))
            .collect()
    }
}

/// The files of ranks in a folder, whether a checkpoint lists them or not.
pub(super) fn files(folder: &Path) -> Vec<PathBuf> {
    let is_named = |name: &str| {
        let ends = name.strip_prefix(checkpoint::FILE)?.strip_prefix('.')?;
        let (step, rank) = ends.split_once('.')?;
        let number = |text: &str| !text.is_empty() && text.bytes().all(|b| b.is_ascii_digit());
        (number(step) && number(rank)).then_some(())
    };
    let entries = fs::read_dir(folder).into_iter().flatten().flatten();
    entries
        .filter(|entry| is_named(&entry.file_name().to_string_lossy()).is_some())
        .map(|entry| entry.path())
        .filter(|path| checkpoint::is_part(path))
        .collect()
}

/// Removes the files of ranks that neither the checkpoint of a folder nor the one before it lists.
pub(super) fn remove_others(folder: &Path) {
    let saved = [checkpoint::FILE, checkpoint::PREVIOUS].map(|name| folder.join(name));
    let listed: Vec<PathBuf> = saved
        .iter()
        .flat_map(|path| checkpoint::parts_of(path))
        .collect();
    for path in files(folder) {
        if !listed.contains(&path) {
            // One that stays is of no harm.
            let _ = fs::remove_file(path);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn parts_come_back_and_others_are_refused() {
        let folder = tempfile::tempdir().expect("a folder");
        let checkpoint = folder.path().join(checkpoint::FILE);
        let part = |cells: Range<usize>| {
            let populations = cells.clone().map(|cell| cell as f64 + 0.1).collect();
            let mut part = CheckpointPart::new(cells, populations, Vec::new(), 0).expect("a part");
            part.step = 7;
            part
        };
        let mut listed = Vec::new();
        for (rank, cells) in [0..3, 3..8].into_iter().enumerate() {
            listed.push(write(&checkpoint, "shock", rank, part(cells)).expect("a file"));
        }
        assert_eq!(listed[1].file, "checkpoint.rarefy.7.0001");
        let mut parts = Parts {
            checkpoint: checkpoint.clone(),
            command: "shock",
            listed: listed.clone(),
            reduced: true,
        };
        assert_eq!(parts.read(&[0..2; 1]).expect("a part"), [part(0..3)]);
        assert_eq!(
            parts.read(&[7..8, 0..1]).expect("parts"),
            [part(0..3), part(3..8)]
        );
        // A part of another checkpoint in its place.
        write(&checkpoint, "shock", 1, part(3..9)).expect("a file");
        let error = parts.read(&[5..6; 1]).expect_err("another part");
        assert!(error.to_string().contains("not the part that"), "{error}");
        parts.command = "cavity";
        assert!(parts.read(&[0..1; 1]).is_err());
        // Files of others have such names.
        for name in ["checkpoint.rarefy.notes", "checkpoint.rarefy.7.0002"] {
            fs::write(folder.path().join(name), "mine").expect("a file");
        }
        assert_eq!(files(folder.path()).len(), 2);
        let state = serde_json::json!({ "parts": { "files": [&listed[0]] } });
        let list = Content::new("shock", state, Arrays::new()).of_kind(checkpoint::LIST);
        output::write_with(&checkpoint, |to| list.write(to)).expect("a file");
        remove_others(folder.path());
        assert_eq!(files(folder.path()), [listed[0].beside(&checkpoint)]);
        assert!(folder.path().join("checkpoint.rarefy.7.0002").exists());
        assert!(parts.read(&[5..6; 1]).is_err());
    }
}
