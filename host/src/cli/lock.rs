//! The run that is writing into a folder.

use std::fs::{self, File, TryLockError};
use std::io::{Read, Write};
use std::path::{Path, PathBuf};

use super::interrupt;
use super::journal::Journal;
use super::manifest::Entry;
use super::names::folder_of;
use super::text::reason;
use crate::error::{Error, Result};

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
    use super::super::journal::{has_series, is_temporary};
    use super::super::manifest::Manifest;
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
}
