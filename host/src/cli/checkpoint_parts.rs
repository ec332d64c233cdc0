//! A checkpoint of several ranks: a file of each rank, and the checkpoint itself, which lists them and is renamed last.

use std::collections::BTreeMap;
use std::fs;
use std::ops::Range;
use std::path::{Path, PathBuf};

use serde::{Deserialize, Serialize};

use super::checkpoint::{self, Content, PART};
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

/// The file of a rank: its entry in the list, and its bytes.
pub(super) fn encode(command: &str, rank: usize, part: CheckpointPart) -> (Listed, Vec<u8>) {
    let cells = [part.cells.start, part.cells.end];
    let header = Header {
        step: part.step,
        cells,
        rows: part.rows,
    };
    let arrays = BTreeMap::from([
        ("populations".to_owned(), part.populations),
        ("extra".to_owned(), part.extra),
    ]);
    let bytes = Content::new(command, header, arrays).encode_as(PART);
    let listed = Listed {
        file: format!("{}.{}.{rank:04}", checkpoint::FILE, part.step),
        cells,
        checksum: bytes.last_chunk().map_or(0, |sum| u32::from_le_bytes(*sum)),
    };
    (listed, bytes)
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
        let (content, checksum) = Content::<Header>::read_as(&path, command, &[PART])?;
        let (Header { step, cells, rows }, mut arrays) = (content.state, content.arrays);
        if checksum != self.checksum || cells != self.cells {
            return Err(Error::file(
                path,
                format!(
                    "not the part that {} was written with",
                    checkpoint.display()
                ),
            ));
        }
        let mut take = |name: &str| arrays.remove(name).unwrap_or_default();
        let (populations, extra) = (take("populations"), take("extra"));
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

/// The files of ranks beside a checkpoint, whether it lists them or not.
pub(super) fn files(folder: &Path) -> Vec<PathBuf> {
    let is_part = |name: &str| {
        let ends = name.strip_prefix(checkpoint::FILE)?.strip_prefix('.')?;
        let (step, rank) = ends.split_once('.')?;
        let number = |text: &str| !text.is_empty() && text.bytes().all(|b| b.is_ascii_digit());
        (number(step) && number(rank)).then_some(())
    };
    let entries = fs::read_dir(folder).into_iter().flatten().flatten();
    entries
        .filter(|entry| is_part(&entry.file_name().to_string_lossy()).is_some())
        .map(|entry| entry.path())
        .collect()
}

/// Removes the files of ranks that a checkpoint does not list: those of the one that it replaced.
pub(super) fn remove_others(checkpoint: &Path, listed: &[Listed]) {
    for path in checkpoint.parent().into_iter().flat_map(files) {
        if !listed.iter().any(|part| part.beside(checkpoint) == path) {
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
            let (entry, bytes) = encode("shock", rank, part(cells));
            fs::write(entry.beside(&checkpoint), bytes).expect("a file");
            listed.push(entry);
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
        let (_, bytes) = encode("shock", 1, part(3..9));
        fs::write(listed[1].beside(&checkpoint), bytes).expect("a file");
        let error = parts.read(&[5..6; 1]).expect_err("another part");
        assert!(error.to_string().contains("not the part that"), "{error}");
        parts.command = "cavity";
        assert!(parts.read(&[0..1; 1]).is_err());
        fs::write(folder.path().join("checkpoint.rarefy.notes"), "mine").expect("a file");
        assert_eq!(files(folder.path()).len(), 2);
        remove_others(&checkpoint, &listed[..1]);
        assert_eq!(files(folder.path()), [listed[0].beside(&checkpoint)]);
        assert!(parts.read(&[5..6; 1]).is_err());
    }
}
