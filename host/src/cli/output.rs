//! Files that appear whole or not at all, and tables.

use std::fs;
use std::io::{self, ErrorKind};
use std::path::{Path, PathBuf};

use serde::Serialize;

use super::checkpoint;
use super::interrupt;
use super::lock::Lock;
use super::manifest::{self, Manifest};
use super::names::{self, NEW, RECORD, SERIES, folder_of};
use super::resident::{Resident, is_folder};
use super::text::reason;
pub(super) use super::whole::{Sink, write_with};
use super::whole::{Temporary, place_for, synchronise, written};
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
const DEFAULT_FOLDER: &str = "rarefy-out";

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
    staged: Vec<(Temporary, PathBuf)>,
    keep: bool,
    /// The run that this one replaces at its end.
    stale: Option<Resident>,
    /// Where files that are written before the end wait for it, if the run replaces another; what a stopped run has left there.
    early: Option<(PathBuf, Option<Resident>)>,
    /// The other files that the run has written into its folder, those before its last interruption included.
    manifest: Manifest,
    /// Whether some of them are written which no checkpoint lists yet.
    unlisted: bool,
    /// The checkpoint, once this run has written it.
    saved: Option<PathBuf>,
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
        Temporary::new(path).map(drop)
    }

    /// Claims a folder for the results of a new run of a command. A folder that holds a run already, or somebody's file that has the name of a result, is refused,
    /// unless they are to be overwritten; so is one into which another process is writing.
    pub(super) fn run_folder(&mut self, path: &Path, command: &str, overwrite: bool) -> Result<()> {
        self.claim(path, command, overwrite, |_| false)
    }

    /// Claims the folder of a command without `--out`: the first of `rarefy-out/COMMAND`, `rarefy-out/COMMAND-2` and so on that is free; with `overwrite`
    /// `rarefy-out/COMMAND`, whose run it replaces.
    pub(super) fn default_folder(&mut self, command: &str, overwrite: bool) -> Result<PathBuf> {
        let home = Path::new(DEFAULT_FOLDER);
        // `rarefy paper bench` has the folder `paper-bench`.
        let name = command.replace(' ', "-");
        let path = match overwrite {
            true => home.join(&name),
            false => self.new_folder(home, &name)?,
        };
        self.run_folder(&path, command, overwrite)?;
        Ok(path)
    }

    /// Makes a folder of this name, with a number where there is one already. Of several processes each makes another one.
    fn new_folder(&mut self, home: &Path, name: &str) -> Result<PathBuf> {
        self.folder(home)?;
        let mut number = 1;
        while number <= MOST_FOLDERS {
            let path = home.join(match number {
                1 => name.to_owned(),
                _ => format!("{name}-{number}"),
            });
            match fs::create_dir(&path) {
                Ok(()) => {
                    self.made.push(path.clone());
                    return Ok(path);
                }
                Err(error) if error.kind() == ErrorKind::AlreadyExists => number += 1,
                // A process that was refused has taken the folder around it away again.
                Err(error) if error.kind() == ErrorKind::NotFound => self.folder(home)?,
                Err(error) => {
                    let why = format!("cannot make this folder: {}", reason(&error));
                    return Err(Error::file(&path, why));
                }
            }
        }
        let why = format!("{MOST_FOLDERS} runs of 'rarefy {name}' are in this folder");
        Err(Error::file(home, why))
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

    fn claim(
        &mut self,
        path: &Path,
        command: &str,
        overwrite: bool,
        ours: impl Fn(&Resident) -> bool,
    ) -> Result<()> {
        self.folder(path)?;
        let (lock, journal) = Lock::take(path, &self.made)?;
        self.lock = lock;
        let names = names::of(command);
        refuse_links(path, &names)?;
        let (mut written, mut early) = (Manifest::new(), Manifest::new());
        for (name, entry) in journal.written {
            match name
                .strip_prefix(NEW)
                .and_then(|rest| rest.strip_prefix('/'))
            {
                Some(name) => early.insert(name.to_owned(), entry),
                None => written.insert(name, entry),
            };
        }
        // Files that only the journal lists.
        let unlisted = !(written.is_empty() && early.is_empty());
        match Resident::of(path) {
            Some(there) if ours(&there) => written.extend(there.manifest),
            Some(mut there) if overwrite => {
                there.add(std::mem::take(&mut written));
                (there.files().iter()).try_for_each(|file| self.check_input(file))?;
                self.stale = Some(there);
                let place = path.join(NEW);
                let mut left = Resident::of(&place);
                if left.is_none() && !is_empty(&place) {
                    let why = "no run of rarefy is in this folder, which this one would use; rename it, or give another folder with --out";
                    return Err(Error::file(&place, why));
                }
                if let Some(left) = &mut left {
                    left.add(std::mem::take(&mut early));
                }
                self.early = Some((place, left));
            }
            Some(there) => return Err(there.refusal(path)),
            None if overwrite => {}
            None => {
                let own = manifest::unchanged(path, command, &written);
                refuse_foreign(path, command, &names, &own)?;
            }
        }
        for name in journal.temporary {
            let path = path.join(name);
            if path.symlink_metadata().is_ok_and(|there| there.is_file()) {
                let _ = fs::remove_file(path);
            }
        }
        self.unlisted = unlisted;
        if let Some(lock) = &mut self.lock {
            lock.set_stays(false);
        }
        self.manifest = written;
        self.names = Some((path.to_path_buf(), names));
        Ok(())
    }

    /// The place of a file of the folder that is written before the end of the run.
    pub(super) fn early_place(&mut self, path: &Path) -> Result<PathBuf> {
        let (Some((folder, _)), Some((early, left))) = (&self.names, &mut self.early) else {
            return Ok(path.to_path_buf());
        };
        let Ok(below) = path.strip_prefix(folder) else {
            return Ok(path.to_path_buf());
        };
        let early = early.clone();
        if let Some(there) = left {
            there.remove(&[]);
            if !is_empty(&early) {
                let why = "files that no run of rarefy wrote are in this folder; rename it";
                return Err(Error::file(&early, why));
            }
            *left = None;
        }
        self.folder(&early)?;
        Ok(match below.as_os_str().is_empty() {
            true => early,
            false => early.join(below),
        })
    }

    /// Makes the folder of files that the run writes on its way, and refuses it if it holds another's files of their names.
    pub(super) fn series_folder(&mut self, path: &Path) -> Result<()> {
        let refused = |path: &Path, why: &str| {
            let why = format!("{why}; give another folder with --out, or remove it");
            Err(Error::file(path, why))
        };
        let (there, is_ours) = match &self.stale {
            Some(there) => (there.folder.clone(), there.files()),
            None => {
                let folder = folder_of(path).to_path_buf();
                let files = self.manifest.keys().map(|name| folder.join(name)).collect();
                (folder, files)
            }
        };
        let there = there.join(SERIES);
        if there.symlink_metadata().is_ok() && !is_folder(&there) {
            return refused(&there, "a link or a file is in the place of this folder");
        }
        let entries = fs::read_dir(&there).into_iter().flatten().flatten();
        for entry in entries {
            let name = entry.file_name();
            let path = entry.path();
            let is_named = name.to_str().is_some_and(names::is_of_series);
            if is_named && !is_ours.contains(&path) {
                return refused(
                    &path,
                    "no run recorded in its folder wrote this file, and this one would replace it",
                );
            }
        }
        let place = self.early_place(path)?;
        self.folder(&place)
    }

    /// Names, sizes and checksums of the files that the run has written into its folder.
    pub(super) fn manifest(&self) -> &Manifest {
        &self.manifest
    }

    /// Notes a file among those of the run. `place` is where it lies now.
    fn note(&mut self, path: &Path, place: &Path, entry: manifest::Entry) {
        let Some((folder, _)) = &self.names else {
            return;
        };
        if let (Some(lock), Some(name)) = (&self.lock, manifest::name_below(folder, place)) {
            lock.note_written(&name, &entry);
        }
        // Records and checkpoints tell by themselves what they are.
        let own = [RECORD, checkpoint::FILE, checkpoint::PREVIOUS];
        if let Some(name) =
            manifest::name_below(folder, path).filter(|name| !own.contains(&name.as_str()))
        {
            self.manifest.insert(name, entry);
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
        Temporary::new(folder).map(drop)
    }

    /// Writes `bytes`, to be renamed to `path` by [`Transaction::commit`].
    pub(super) fn stage(&mut self, path: impl Into<PathBuf>, bytes: &[u8]) -> Result<()> {
        let path = path.into();
        debug_assert!(
            self.is_named(&path),
            "{} is missing in names.rs",
            path.display()
        );
        let place = self.real(&path)?;
        self.check_input(&place)?;
        let (file, entry, ()) = written(&place, self.lock.as_ref(), |to| to.put(bytes))?;
        self.note(&path, &place, entry);
        self.staged.push((file, place));
        Ok(())
    }

    /// The path to which a file is renamed: in the folder of the run itself, elsewhere behind the links of the user.
    fn real(&self, path: &Path) -> Result<PathBuf> {
        let in_folder = self
            .names
            .as_ref()
            .is_some_and(|(folder, _)| path.starts_with(folder));
        match in_folder && !self.claimed.contains(&path.to_path_buf()) {
            true => place_for(path),
            false => resolve(path),
        }
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
        let place = self.early_place(path)?;
        let place = place_for(&place)?;
        let (file, entry, ()) = written(&place, self.lock.as_ref(), |to| to.put(bytes))?;
        // A file that is there without a note would be another's.
        self.note(path, &place, entry);
        file.persist(&place)?;
        self.keep = true;
        self.unlisted |= path.file_name().is_some_and(|name| name != RECORD);
        synchronise(folder_of(&place))
    }

    /// Writes the checkpoint at once. The one before it stays, if it is whole.
    pub(super) fn write_checkpoint(
        &mut self,
        place: &Path,
        write: impl FnOnce(&mut Sink) -> Result<u32>,
    ) -> Result<()> {
        let place = place_for(place)?;
        let (file, _, _) = written(&place, self.lock.as_ref(), write)?;
        if self.saved.as_deref() == Some(&place) || checkpoint::is_whole(&place) {
            keep_previous(&place)?;
        }
        file.persist(&place)?;
        self.keep = true;
        synchronise(folder_of(&place))?;
        self.saved = Some(place);
        self.unlisted = false;
        Ok(())
    }

    /// Removes a file that [`write_now`](Self::write_now) wrote.
    pub(super) fn take_back(&mut self, path: &Path) {
        if let Ok(place) = self.early_place(path) {
            let _ = fs::remove_file(place);
            self.keep = false;
        }
    }

    /// Renames all files to their names, in the order they were staged in; returns why some could not be. Unless they are `complete`, the run that
    /// they replace stays.
    pub(super) fn commit(mut self, complete: bool) -> Vec<Error> {
        let mut refused = Vec::new();
        if let (Some((folder, _)), Some((early, None))) = (&self.names, &self.early) {
            refused.extend(rename_records(early, [early, folder]).err());
        }
        interrupt::whole(|| {
            let mut there = Vec::new();
            for (file, path) in std::mem::take(&mut self.staged) {
                match file.persist(&path) {
                    Ok(()) => there.push(path),
                    Err(error) => refused.push(error),
                }
            }
            // Without its results a run is continued from where its checkpoint is.
            if complete
                && refused.is_empty()
                && let Err(error) = self.move_early(&mut there)
            {
                refused.push(error);
            }
            if !there.is_empty() {
                self.keep = true;
            }
            self.unlisted &= !refused.is_empty();
            if complete
                && refused.is_empty()
                && let Some(stale) = self.stale.take()
            {
                stale.remove(&there);
            }
            let mut folders: Vec<&Path> = there.iter().map(|path| folder_of(path)).collect();
            folders.dedup();
            refused.extend(folders.into_iter().filter_map(|of| synchronise(of).err()));
            refused
        })
    }

    /// Moves the files that were written before the end to their places.
    fn move_early(&mut self, moved: &mut Vec<PathBuf>) -> Result<()> {
        match (&self.names, &self.early) {
            (Some((folder, _)), Some((early, None))) if is_folder(early) => {
                move_all(early, folder, moved)
            }
            _ => Ok(()),
        }
    }
}

/// Whether a folder holds nothing, or is not there.
fn is_empty(folder: &Path) -> bool {
    let no_entry = fs::read_dir(folder).map(|mut entries| entries.next().is_none());
    no_entry.unwrap_or_else(|error| error.kind() == ErrorKind::NotFound)
}

/// Has the records below a folder name their files where these will be.
fn rename_records(folder: &Path, renamed: [&Path; 2]) -> Result<()> {
    let record = folder.join(RECORD);
    if let Some(bytes) = renamed_record(&record, renamed) {
        write_with(&record, |to| to.put(&bytes))?;
    }
    let entries = fs::read_dir(folder).into_iter().flatten().flatten();
    let mut folders = entries
        .map(|entry| entry.path())
        .filter(|path| is_folder(path));
    folders.try_for_each(|folder| rename_records(&folder, renamed))
}

/// Moves all that is in a folder to another, and removes the folder.
fn move_all(from: &Path, to: &Path, moved: &mut Vec<PathBuf>) -> Result<()> {
    let failed = |path: &Path, error: &io::Error| Error::file(path, reason(error));
    let entries = fs::read_dir(from).map_err(|error| failed(from, &error))?;
    for entry in entries {
        let entry = entry.map_err(|error| failed(from, &error))?;
        let (path, place) = (entry.path(), to.join(entry.file_name()));
        if is_folder(&path) {
            if !is_folder(&place) {
                fs::create_dir(&place).map_err(|error| failed(&place, &error))?;
            }
            move_all(&path, &place, moved)?;
            continue;
        }
        let place = place_for(&place)?;
        fs::rename(&path, &place).map_err(|error| failed(&place, &error))?;
        moved.push(place);
    }
    fs::remove_dir(from).map_err(|error| failed(from, &error))
}

/// A record whose files have moved from one folder to another.
fn renamed_record(path: &Path, [from, to]: [&Path; 2]) -> Option<Vec<u8>> {
    let mut record: serde_json::Value = serde_json::from_slice(&fs::read(path).ok()?).ok()?;
    for file in record["files"].as_array_mut()? {
        let below = Path::new(file.as_str()?).strip_prefix(from).ok()?;
        *file = to.join(below).display().to_string().into();
    }
    let text = serde_json::to_string_pretty(&record).ok()?;
    Some((text + "\n").into_bytes())
}

/// Keeps a checkpoint under the name of the one before, without a moment in which there is none.
fn keep_previous(path: &Path) -> Result<()> {
    let previous = path.with_file_name(checkpoint::PREVIOUS);
    if previous.symlink_metadata().is_ok() && checkpoint::Brief::of(&previous).is_none() {
        return Err(Error::file(
            &previous,
            "not a checkpoint of rarefy; it is left alone, and no checkpoint is kept beside it",
        ));
    }
    let spare = path.with_file_name(format!(
        "{}{}-previous",
        names::TEMPORARY,
        std::process::id()
    ));
    let kept = match fs::hard_link(path, &spare) {
        Ok(()) => fs::rename(&spare, &previous).inspect_err(|_| drop(fs::remove_file(&spare))),
        // A file system without hard links.
        Err(_) => fs::rename(path, &previous),
    };
    // Links of one file stay both.
    let _ = fs::remove_file(&spare);
    kept.map_err(|error| Error::file(&previous, reason(&error)))
}

impl Drop for Transaction {
    fn drop(&mut self) {
        self.staged.clear();
        if let Some(lock) = &mut self.lock
            && self.unlisted
        {
            lock.set_stays(true);
        }
        self.lock = None;
        if !self.keep {
            for folder in self.made.iter().rev() {
                // Fails if somebody else has put a file there meanwhile, and should.
                let _ = fs::remove_dir(folder);
            }
        }
    }
}

/// Refuses a folder in which a link has the name of a result: its file may be anywhere.
fn refuse_links(folder: &Path, names: &[String]) -> Result<()> {
    let names = names.iter().map(String::as_str).chain([SERIES, NEW]);
    let is_link = |path: &PathBuf| {
        path.symlink_metadata()
            .is_ok_and(|there| there.is_symlink())
    };
    match names.map(|name| folder.join(name)).find(is_link) {
        None => Ok(()),
        Some(link) => Err(Error::file(
            &link,
            "a link; results are written through none: remove it, or give another folder with --out",
        )),
    }
}

/// Refuses a folder in which a file that no run wrote has the name of a result.
fn refuse_foreign(folder: &Path, command: &str, names: &[String], own: &[PathBuf]) -> Result<()> {
    let mut files = names.iter().map(|name| folder.join(name));
    match files.find(|file| file.symlink_metadata().is_ok() && !own.contains(file)) {
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
