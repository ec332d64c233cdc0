//! A file that appears whole or not at all.

use std::fs::File;
use std::io::{self, BufWriter, Write};
use std::path::{Path, PathBuf};

use tempfile::TempPath;

use super::interrupt;
use super::lock::Lock;
use super::manifest::Entry;
use super::names::{TEMPORARY, folder_of};
use super::text::reason;
use crate::error::{Error, Result};

/// A file under a name of its own until it is whole. A signal that ends the process removes it.
#[derive(Debug)]
pub(super) struct Temporary {
    path: Option<TempPath>,
    known: PathBuf,
}

impl Temporary {
    /// An empty file in a folder.
    pub(super) fn new(folder: &Path) -> Result<(Self, File)> {
        let mut builder = tempfile::Builder::new();
        builder.prefix(TEMPORARY);
        #[cfg(unix)]
        {
            use std::os::unix::fs::PermissionsExt;
            builder.permissions(std::fs::Permissions::from_mode(0o666));
        }
        interrupt::whole(|| {
            let made = builder.tempfile_in(folder).map_err(|e| {
                // tempfile adds the temporary name to the message; people want the system's words.
                let why = e.raw_os_error().map(io::Error::from_raw_os_error);
                let why = reason(&why.unwrap_or(e));
                Error::file(folder, format!("cannot write to this folder: {why}"))
            })?;
            let (file, path) = made.into_parts();
            interrupt::remember(&path);
            let known = path.to_path_buf();
            let path = Some(path);
            Ok((Self { path, known }, file))
        })
    }

    /// Renames the file.
    pub(super) fn persist(mut self, to: &Path) -> Result<()> {
        match self.path.take() {
            Some(path) => (path.persist(to)).map_err(|e| Error::file(to, reason(&e.error))),
            None => Ok(()),
        }
    }
}

impl Drop for Temporary {
    fn drop(&mut self) {
        drop(self.path.take());
        interrupt::forget(&self.known);
    }
}

/// A file that is being written, with the checksum of what it has so far.
#[derive(Debug)]
pub(super) struct Sink {
    file: BufWriter<File>,
    path: PathBuf,
    sum: crc32fast::Hasher,
    bytes: u64,
}

impl Sink {
    /// Appends bytes.
    pub(super) fn put(&mut self, bytes: &[u8]) -> Result<()> {
        self.sum.update(bytes);
        self.bytes += bytes.len() as u64;
        let written = self.file.write_all(bytes);
        written.map_err(|error| Error::file(&self.path, reason(&error)))
    }

    /// The checksum of all bytes so far.
    pub(super) fn checksum(&self) -> u32 {
        self.sum.clone().finalize()
    }

    /// Waits until the disk has the file.
    fn finish(mut self) -> Result<Entry> {
        let done = self
            .file
            .flush()
            .and_then(|()| self.file.get_ref().sync_all());
        done.map_err(|error| Error::file(&self.path, reason(&error)))?;
        Ok(Entry::new(self.bytes, self.sum.finalize()))
    }
}

/// Writes a file beside its place, whose folder may be locked.
pub(super) fn written<R>(
    path: &Path,
    lock: Option<&Lock>,
    write: impl FnOnce(&mut Sink) -> Result<R>,
) -> Result<(Temporary, Entry, R)> {
    let (temporary, file) = Temporary::new(folder_of(path))?;
    if let Some(lock) = lock {
        lock.note_temporary(&temporary.known);
    }
    let mut sink = Sink {
        file: BufWriter::with_capacity(1 << 16, file),
        path: path.to_path_buf(),
        sum: crc32fast::Hasher::new(),
        bytes: 0,
    };
    let result = write(&mut sink)?;
    let entry = sink.finish()?;
    Ok((temporary, entry, result))
}

/// Writes a file at once, whole or not at all. A link is not followed.
pub(super) fn write_with<R>(path: &Path, write: impl FnOnce(&mut Sink) -> Result<R>) -> Result<R> {
    let path = place_for(path)?;
    let (temporary, _, result) = written(&path, None, write)?;
    temporary.persist(&path)?;
    synchronise(folder_of(&path))?;
    Ok(result)
}

/// The path, if nothing but a regular file is in its place.
pub(super) fn place_for(path: &Path) -> Result<PathBuf> {
    let why = match path.symlink_metadata() {
        Ok(there) if there.is_dir() => "a folder is in the place of this file",
        Ok(there) if there.is_symlink() => "a link; results are written through none: remove it",
        Ok(there) if !there.is_file() => "not a regular file; it is left alone",
        _ => return Ok(path.to_path_buf()),
    };
    Err(Error::file(path, why))
}

/// Waits until the disk has the names of a folder, where the system can.
pub(super) fn synchronise(folder: &Path) -> Result<()> {
    #[cfg(unix)]
    {
        // Some file systems know no such wait.
        const UNKNOWN: [io::ErrorKind; 2] =
            [io::ErrorKind::InvalidInput, io::ErrorKind::Unsupported];
        let done = File::open(folder).and_then(|folder| folder.sync_all());
        if let Err(error) = done.or_else(|error| match UNKNOWN.contains(&error.kind()) {
            true => Ok(()),
            false => Err(error),
        }) {
            return Err(Error::file(folder, reason(&error)));
        }
    }
    let _ = folder;
    Ok(())
}
