//! The journal of a run: the files that it has written into its folder, in the file that locks the folder.

use std::fs;
use std::path::Path;

use super::manifest::{Entry, Manifest};
use super::names::{SERIES, TEMPORARY};

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
    pub(super) fn of(text: &str) -> Self {
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
pub(super) fn is_temporary(name: &str) -> bool {
    let name = name
        .strip_prefix(SERIES)
        .and_then(|rest| rest.strip_prefix('/'))
        .unwrap_or(name);
    name.starts_with(TEMPORARY) && !name.contains(['/', '\\'])
}

/// Whether a journal names files of a series, which nothing else may name.
pub(super) fn has_series(lock: &Path) -> bool {
    let text = fs::read(lock).unwrap_or_default();
    let journal = Journal::of(&String::from_utf8_lossy(&text));
    journal.written.keys().any(|name| name.contains('/'))
}
