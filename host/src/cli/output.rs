//! Files that appear whole or not at all, and tables.

use std::fs;
use std::io::{self, ErrorKind, Write};
use std::path::{Path, PathBuf};

use serde::Serialize;
use tempfile::NamedTempFile;

use super::interrupt;
use super::names::{self, TEMPORARY, folder_of};
use super::resident::{Lock, Resident, mark, remove_abandoned};
use super::text::reason;
use crate::bgk::Units;
use crate::error::{Error, Result};

/// A table of records: a column for each of their fields, under its name.
pub(super) fn records(rows: &[impl Serialize]) -> Result<Vec<u8>> {
    csv_file(None, rows)
}

/// A table as a CSV file.
pub(super) fn table(
    columns: &[&str],
    rows: impl IntoIterator<Item = impl Serialize>,
) -> Result<Vec<u8>> {
    csv_file(Some(columns), rows)
}

/// A table whose columns are declared once, as name and value: `columns!(rows, |row| [("x", row.x), ("f", row.f)])`.
macro_rules! columns {
    ($rows:expr, |$row:pat_param| [$(($name:expr, $value:expr)),* $(,)?]) => {
        $crate::cli::output::table(&[$($name),*], $rows.into_iter().map(|$row| ($($value,)*)))
    };
}
pub(super) use columns;

/// A column of a profile: its name and value, and in SI units its name and unit.
pub(super) type Quantity<R> = (
    &'static str,
    fn(&R) -> f64,
    Option<(&'static str, fn(&Units) -> f64)>,
);

/// A profile, and in further columns its quantities in SI units where the case is in these.
pub(super) fn profile<R>(
    quantities: &[Quantity<R>],
    rows: impl IntoIterator<Item = R>,
    units: Option<&Units>,
) -> Result<Vec<u8>> {
    let si = quantities.iter().filter_map(|&(_, value, si)| {
        let ((name, unit), units) = si.zip(units)?;
        Some((name, value, unit(units)))
    });
    let si: Vec<_> = si.collect();
    let own = quantities.iter().map(|quantity| quantity.0);
    let names: Vec<&str> = own.chain(si.iter().map(|column| column.0)).collect();
    let rows = rows.into_iter().map(|row| {
        let own = quantities.iter().map(|quantity| quantity.1(&row));
        let si = si.iter().map(|(_, value, unit)| unit * value(&row));
        own.chain(si).collect::<Vec<f64>>()
    });
    table(&names, rows)
}

fn csv_file(
    columns: Option<&[&str]>,
    rows: impl IntoIterator<Item = impl Serialize>,
) -> Result<Vec<u8>> {
    let mut table = csv::Writer::from_writer(Vec::new());
    let failed = |e: csv::Error| Error::Numerical(format!("a table could not be written: {e}"));
    if let Some(columns) = columns {
        table.write_record(columns).map_err(failed)?;
    }
    for row in rows {
        table.serialize(row).map_err(failed)?;
    }
    table
        .into_inner()
        .map_err(|e| failed(e.into_error().into()))
}

/// Folder of the results that are given no other.
pub(super) const DEFAULT_FOLDER: &str = "rarefy-out";

/// Runs of a command that are kept beside each other.
const MOST_FOLDERS: u32 = 100_000;

/// The files of one run. Each is written to a temporary file beside its place; [`Transaction::commit`] renames
/// them all. Each is there whole or not at all, whatever becomes of the others. Dropped without a commit, it leaves nothing behind, not
/// even a folder that it made.
#[derive(Debug, Default)]
pub(super) struct Transaction {
    /// Files that the run reads.
    inputs: Vec<PathBuf>,
    made: Vec<PathBuf>,
    claimed: Vec<PathBuf>,
    staged: Vec<(NamedTempFile, PathBuf)>,
    keep: bool,
    /// Files of the run that this one replaces, and its folders.
    stale: Vec<PathBuf>,
    stale_folders: Vec<PathBuf>,
    /// The folder of the results, and the names that they have there.
    names: Option<(PathBuf, Vec<String>)>,
    lock: Option<Lock>,
}

impl Transaction {
    /// Makes the folder if need be, and checks that files can be written to it.
    pub(super) fn folder(&mut self, path: &Path) -> Result<()> {
        let refused = |e: &io::Error| match e.kind() {
            ErrorKind::AlreadyExists | ErrorKind::NotADirectory => {
                Error::file(path, "a file is in the place of this folder")
            }
            _ => Error::file(path, format!("cannot make this folder: {}", reason(e))),
        };
        let missing: Vec<_> = path
            .ancestors()
            .take_while(|p| !p.as_os_str().is_empty() && p.symlink_metadata().is_err())
            .map(Path::to_path_buf)
            .collect();
        for folder in missing.into_iter().rev() {
            match fs::create_dir(&folder) {
                Ok(()) => self.made.push(folder),
                Err(e) if e.kind() == ErrorKind::AlreadyExists => {}
                Err(e) => return Err(refused(&e)),
            }
        }
        if !path.is_dir() {
            return Err(refused(&ErrorKind::NotADirectory.into()));
        }
        temporary(path).map(drop)
    }

    /// Claims a folder for the results of a new run of a command. A folder that holds a run already, or somebody's file that has the name of a result, is refused,
    /// unless they are to be overwritten; so is one into which another process is writing.
    pub(super) fn run_folder(&mut self, path: &Path, command: &str, overwrite: bool) -> Result<()> {
        self.claim(path, command, overwrite, |_| false)
    }

    /// Claims the folder that a command writes to unless it is given one: `rarefy-out/COMMAND`. An earlier run there stays, and the results go to
    /// `rarefy-out/COMMAND-2`, and so on; with `overwrite` they replace it.
    pub(super) fn default_folder(&mut self, command: &str, overwrite: bool) -> Result<PathBuf> {
        let mut number = 1;
        loop {
            let name = match number {
                1 => command.to_owned(),
                _ => format!("{command}-{number}"),
            };
            let path = Path::new(DEFAULT_FOLDER).join(name);
            // A folder that cannot be written to ends the search; one that is taken does not.
            self.folder(&path)?;
            match self.run_folder(&path, command, overwrite) {
                Ok(()) => return Ok(path),
                Err(error) if overwrite || number >= MOST_FOLDERS => return Err(error),
                Err(_) => number += 1,
            }
        }
    }

    /// Claims the folder of a checkpoint for the run that goes on from it. The results of that run may be there.
    pub(super) fn resumed_folder(
        &mut self,
        path: &Path,
        (command, checkpoint): (&str, &Path),
        overwrite: bool,
    ) -> Result<()> {
        self.claim(path, command, overwrite, |there| there.is_of(checkpoint))
    }

    /// Claims the folder of a sweep that goes on.
    pub(super) fn folder_of_sweep(&mut self, path: &Path, command: &str) -> Result<()> {
        self.claim(path, command, false, |there| there.is_record_of(command))
    }

    /// Leaves it to the cases of a sweep to replace what is in their folders.
    pub(super) fn spare(&mut self, folders: &[PathBuf]) {
        let spared = |path: &PathBuf| folders.iter().any(|folder| path.starts_with(folder));
        self.stale.retain(|path| !spared(path));
        self.stale_folders.retain(|path| !spared(path));
    }

    fn claim(
        &mut self,
        path: &Path,
        command: &str,
        overwrite: bool,
        ours: impl Fn(&Resident) -> bool,
    ) -> Result<()> {
        self.folder(path)?;
        self.lock = Lock::take(path, &self.made)?;
        let names = names::of(command);
        match Resident::of(path) {
            Some(there) if ours(&there) => {}
            Some(there) if overwrite => {
                there
                    .files
                    .iter()
                    .try_for_each(|file| self.check_input(file))?;
                (self.stale, self.stale_folders) = (there.files, there.folders);
            }
            Some(there) => return Err(there.refusal(path)),
            None if overwrite => {}
            None => refuse_foreign(path, command, &names)?,
        }
        remove_abandoned(path);
        self.names = Some((path.to_path_buf(), names));
        Ok(())
    }

    /// Removes what is left of the run that this one replaces.
    fn remove_stale(&mut self, written: &[PathBuf]) {
        for path in std::mem::take(&mut self.stale) {
            let real = fs::canonicalize(&path);
            let replaced = written
                .iter()
                .any(|new| fs::canonicalize(new).ok() == real.as_ref().ok().cloned());
            if !replaced {
                // A file that somebody removed before is as good as removed.
                let _ = fs::remove_file(path);
            }
        }
        for folder in std::mem::take(&mut self.stale_folders) {
            // Fails where somebody has put another file, and should.
            let _ = fs::remove_dir(folder);
        }
    }

    /// Keeps a file that the run reads from being written over.
    pub(super) fn reads(&mut self, path: &Path) {
        self.inputs.extend(path.canonicalize());
    }

    /// Refuses to write over an input.
    fn check_input(&self, path: &Path) -> Result<()> {
        match path.canonicalize() {
            Ok(found) if self.inputs.contains(&found) => Err(Error::file(
                path,
                "this is an input of the run; give the output another name",
            )),
            _ => Ok(()),
        }
    }

    /// Checks that a file can be written at this path; its folder must be there.
    pub(super) fn file(&mut self, path: &Path) -> Result<()> {
        let path = &resolve(path)?;
        if self.claimed.contains(path) {
            return Err(Error::file(path, "two outputs have this name"));
        }
        self.check_input(path)?;
        self.claimed.push(path.clone());
        let folder = folder_of(path);
        if !folder.is_dir() {
            return Err(Error::file(
                path,
                format!("there is no folder {}", folder.display()),
            ));
        }
        temporary(folder).map(drop)
    }

    /// Writes `bytes`, to be renamed to `path` by [`Transaction::commit`].
    pub(super) fn stage(&mut self, path: impl Into<PathBuf>, bytes: &[u8]) -> Result<()> {
        let path = path.into();
        debug_assert!(
            self.is_named(&path),
            "{} is missing in names.rs",
            path.display()
        );
        let path = resolve(&path)?;
        self.check_input(&path)?;
        let file = written(&path, bytes)?;
        self.staged.push((file, path));
        Ok(())
    }

    /// Whether a file of the folder has one of the names that were free when the folder was claimed, or that the user gave it.
    fn is_named(&self, path: &Path) -> bool {
        let Some((folder, names)) = &self.names else {
            return true;
        };
        let name = path.file_name().and_then(|name| name.to_str());
        path.parent() != Some(folder)
            || name.is_some_and(|name| names.iter().any(|other| other == name))
            || self.claimed.contains(&path.to_path_buf())
    }

    /// Writes a file at once: atomically, and whatever becomes of the rest.
    pub(super) fn write_now(&mut self, path: &Path, bytes: &[u8]) -> Result<()> {
        write_whole(path, bytes)?;
        self.keep = true;
        // From here on the folder is this run's.
        self.remove_stale(&[path.to_path_buf()]);
        Ok(())
    }

    /// Renames all files to their names, in the order they were staged in; returns why some could not be.
    pub(super) fn commit(mut self) -> Vec<Error> {
        interrupt::whole(|| {
            let mut refused = Vec::new();
            let mut there = Vec::new();
            for (file, path) in std::mem::take(&mut self.staged) {
                match persist(file, &path) {
                    Ok(()) => there.push(path),
                    Err(error) => refused.push(error),
                }
            }
            if !there.is_empty() {
                self.keep = true;
                self.remove_stale(&there);
            }
            refused
        })
    }
}

impl Drop for Transaction {
    fn drop(&mut self) {
        self.staged.clear();
        self.lock = None;
        if !self.keep {
            for folder in self.made.iter().rev() {
                // Fails if somebody else has put a file there meanwhile, and should.
                let _ = fs::remove_dir(folder);
            }
        }
    }
}

/// Writes a file at once, whole or not at all.
pub(super) fn write_whole(path: &Path, bytes: &[u8]) -> Result<()> {
    let path = resolve(path)?;
    persist(written(&path, bytes)?, &path)
}

/// Refuses a folder in which a file that no run wrote has the name of a result.
fn refuse_foreign(folder: &Path, command: &str, names: &[String]) -> Result<()> {
    let mut files = names.iter().map(|name| folder.join(name));
    match files.find(|file| file.symlink_metadata().is_ok()) {
        None => Ok(()),
        Some(file) => Err(Error::file(
            &file,
            format!(
                "no run recorded in its folder wrote this file, and 'rarefy {command}' would replace it; give another folder with --out, or --overwrite"
            ),
        )),
    }
}

/// The path behind symbolic links, if it may be replaced by a regular file.
fn resolve(path: &Path) -> Result<PathBuf> {
    match fs::metadata(path) {
        Ok(there) if there.is_dir() => {
            Err(Error::file(path, "a folder is in the place of this file"))
        }
        Ok(there) if !there.is_file() => {
            Err(Error::file(path, "not a regular file; it is left alone"))
        }
        Ok(_) => fs::canonicalize(path).map_err(|e| Error::file(path, reason(&e))),
        Err(_) => Ok(path.to_path_buf()),
    }
}

fn temporary(folder: &Path) -> Result<NamedTempFile> {
    let mut builder = tempfile::Builder::new();
    builder.prefix(TEMPORARY);
    #[cfg(unix)]
    {
        use std::os::unix::fs::PermissionsExt;
        builder.permissions(fs::Permissions::from_mode(0o666));
    }
    let made = || -> Result<Option<NamedTempFile>> {
        let file = builder.tempfile_in(folder).map_err(|e| {
            // tempfile adds the temporary name to the message; people want the system's words.
            let why = e.raw_os_error().map(io::Error::from_raw_os_error);
            Error::file(
                folder,
                format!("cannot write to this folder: {}", reason(&why.unwrap_or(e))),
            )
        })?;
        Ok(mark(file.as_file(), file.path()).then_some(file))
    };
    loop {
        if let Some(file) = interrupt::whole(made)? {
            return Ok(file);
        }
    }
}

fn written(path: &Path, bytes: &[u8]) -> Result<NamedTempFile> {
    let mut file = temporary(folder_of(path))?;
    file.write_all(bytes)
        .and_then(|()| file.as_file().sync_all())
        .map_err(|e| Error::file(path, reason(&e)))?;
    Ok(file)
}

fn persist(file: NamedTempFile, path: &Path) -> Result<()> {
    match file.persist(path) {
        Ok(_) => Ok(()),
        Err(e) => Err(Error::file(path, reason(&e.error))),
    }
}
