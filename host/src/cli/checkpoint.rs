//! The checkpoint file: one line of magic, one line of JSON, arrays of `f64` as they are in memory (little-endian), a checksum.
//!
//! Numbers in the header are printed so that they read back to the same bits; all large data are in the arrays. These are written and read in pieces:
//! no more of a file is in memory than the arrays that a run asks for. docs/files.md has the format.

use std::collections::BTreeMap;
use std::fs::File;
use std::io::{BufRead, BufReader, Read, Seek, SeekFrom};
use std::path::{Path, PathBuf};

use serde::de::DeserializeOwned;
use serde::{Deserialize, Serialize};

use super::manifest::Manifest;
pub(super) use super::names::{CHECKPOINT as FILE, PREVIOUS};
use super::output::Sink;
use super::text::{quoted, reason};
use crate::error::{Error, Result};

/// The form of checkpoints, which docs/files.md describes; only this one is read.
const MAGIC: &[u8] = b"rarefy-checkpoint 2\n";
/// A checkpoint that lists the files of several ranks, which hold its populations.
pub(super) const LIST: &[u8] = b"rarefy-checkpoint-list 2\n";
/// The file of a rank.
pub(super) const PART: &[u8] = b"rarefy-checkpoint-part 2\n";

/// Bytes of a header at the most: headers hold no large data.
const MOST: u64 = 1 << 24;

/// Bytes that are read or written at a time.
const PIECE: usize = 1 << 16;

/// Line of magic and line of JSON of a file.
fn lines_of(file: File) -> Option<[Vec<u8>; 2]> {
    let mut file = BufReader::new(file.take(MOST));
    let mut lines = [Vec::new(), Vec::new()];
    for line in &mut lines {
        file.read_until(b'\n', line).ok()?;
    }
    Some(lines)
}

/// The part of a header that names a checkpoint.
#[derive(Debug, Default, Deserialize)]
pub(super) struct Brief {
    /// The command whose run it is of.
    pub(super) command: String,
    /// Other files that the run had written.
    pub(super) written: Manifest,
}

impl Brief {
    /// Of a file, if it is a checkpoint. A link is none.
    pub(super) fn of(path: &Path) -> Option<Self> {
        let is_file = path.symlink_metadata().is_ok_and(|there| there.is_file());
        let [magic, header] = lines_of(File::open(path).ok().filter(|_| is_file)?)?;
        if magic != MAGIC && magic != LIST {
            return None;
        }
        serde_json::from_slice(&header).ok()
    }
}

/// The files of ranks that a checkpoint lists, beside it.
pub(super) fn parts_of(path: &Path) -> Vec<PathBuf> {
    let header = File::open(path).ok().and_then(lines_of);
    let header: Option<serde_json::Value> =
        header.and_then(|[_, header]| serde_json::from_slice(&header).ok());
    let header = header.unwrap_or_default();
    let files = header["state"]["parts"]["files"]
        .as_array()
        .into_iter()
        .flatten();
    let names = files.filter_map(|file| file["file"].as_str());
    names.map(|name| path.with_file_name(name)).collect()
}

/// Whether a file is the part of a checkpoint.
pub(super) fn is_part(path: &Path) -> bool {
    let is_file = path.symlink_metadata().is_ok_and(|there| there.is_file());
    let mut start = [0; PART.len()];
    let read = File::open(path).and_then(|mut file| file.read_exact(&mut start));
    is_file && read.is_ok() && start == PART
}

/// The line of JSON.
#[derive(Debug, Serialize, Deserialize)]
struct Header<H> {
    /// Version of rarefy that wrote the file.
    version: String,
    /// The subcommand.
    command: String,
    /// Further state of the subcommand besides arrays.
    state: H,
    /// Other files that the run has written into the folder.
    written: Manifest,
    /// Lengths of the arrays, in the order of their names.
    lengths: BTreeMap<String, usize>,
}

/// Takes the next numbers of an array.
pub(super) type Take<'t> = dyn FnMut(&[f64]) -> Result<()> + Send + 't;

/// Makes an array piece by piece.
pub(super) type Pieces<'a> = dyn FnOnce(&mut Take<'_>) -> Result<()> + 'a;

/// An array of a checkpoint that is about to be written.
pub(super) enum Array<'a> {
    /// In memory.
    Whole(Vec<f64>),
    /// So many numbers, which come piece by piece.
    Pieces(usize, Box<Pieces<'a>>),
}

impl From<Vec<f64>> for Array<'_> {
    fn from(values: Vec<f64>) -> Self {
        Self::Whole(values)
    }
}

impl Array<'_> {
    fn len(&self) -> usize {
        match self {
            Self::Whole(values) => values.len(),
            Self::Pieces(length, _) => *length,
        }
    }
}

/// Arrays by their names.
pub(super) type Arrays<'a> = BTreeMap<String, Array<'a>>;

/// A checkpoint that is about to be written: a header of the subcommand's own kind, and named arrays.
pub(super) struct Content<'a, H> {
    magic: &'static [u8],
    header: Header<H>,
    arrays: Arrays<'a>,
}

impl<'a, H: Serialize> Content<'a, H> {
    pub(super) fn new(command: &str, state: H, arrays: Arrays<'a>) -> Self {
        Self {
            magic: MAGIC,
            header: Header {
                version: env!("CARGO_PKG_VERSION").into(),
                command: command.into(),
                state,
                written: Manifest::new(),
                lengths: arrays.iter().map(|(k, v)| (k.clone(), v.len())).collect(),
            },
            arrays,
        }
    }

    /// A file of another kind.
    pub(super) fn of_kind(mut self, magic: &'static [u8]) -> Self {
        self.magic = magic;
        self
    }

    /// Notes the other files that the run has written.
    pub(super) fn beside(&mut self, written: &Manifest) {
        self.header.written = written.clone();
    }

    /// Writes the file, and returns its checksum.
    pub(super) fn write(self, to: &mut Sink) -> Result<u32> {
        let mut header =
            serde_json::to_vec(&self.header).expect("a checkpoint's header is plain data");
        header.push(b'\n');
        to.put(self.magic)?;
        to.put(&header)?;
        for (name, array) in self.arrays {
            let (length, mut count) = (array.len(), 0);
            let mut take = |values: &[f64]| {
                count += values.len();
                let mut bytes = Vec::with_capacity(PIECE);
                values.chunks(PIECE / 8).try_for_each(|values| {
                    bytes.clear();
                    bytes.extend(values.iter().flat_map(|value| value.to_le_bytes()));
                    to.put(&bytes)
                })
            };
            match array {
                Array::Whole(values) => take(&values)?,
                Array::Pieces(_, pieces) => pieces(&mut take)?,
            }
            if count != length {
                return Err(Error::Numerical(format!(
                    "the array '{name}' of a checkpoint has {count} numbers instead of {length}"
                )));
            }
        }
        let sum = to.checksum();
        to.put(&sum.to_le_bytes())?;
        Ok(sum)
    }

    /// The bytes of the file.
    #[cfg(test)]
    pub(super) fn encode(self) -> Vec<u8> {
        let folder = tempfile::tempdir().expect("a folder");
        let path = folder.path().join(FILE);
        super::output::write_with(&path, |to| self.write(to)).expect("a file");
        std::fs::read(&path).expect("a file")
    }
}

/// A checkpoint that was found whole. Its arrays are read when they are asked for.
#[derive(Debug)]
pub(super) struct Stored<H> {
    /// Version of rarefy that wrote the file.
    pub(super) version: String,
    /// Further state of the subcommand besides arrays.
    pub(super) state: H,
    /// The checksum at the end of the file.
    pub(super) checksum: u32,
    path: PathBuf,
    file: File,
    /// Where each array begins, and its length.
    places: BTreeMap<String, (u64, usize)>,
}

impl<H: DeserializeOwned> Stored<H> {
    /// Opens the file that `command` wrote.
    pub(super) fn open(path: &Path, command: &str) -> Result<Self> {
        Self::open_as(path, command, &[MAGIC, LIST]).map_err(|error| with_previous(path, error))
    }

    /// Opens a file of one of some kinds.
    pub(super) fn open_as(path: &Path, command: &str, kinds: &[&[u8]]) -> Result<Self> {
        let refuse = |text: &str| Error::file(path, text);
        let failed = |error: std::io::Error| Error::file(path, reason(&error));
        if path.is_dir() {
            return Err(refuse(
                "a folder; give its checkpoint.rarefy, or the run.json of a sweep",
            ));
        }
        let mut file = File::open(path).map_err(failed)?;
        let [magic, header] = lines_of(file.try_clone().map_err(failed)?).unwrap_or_default();
        if !kinds.contains(&magic.as_slice()) {
            return Err(refuse(if magic == PART {
                "the part of a checkpoint that one rank wrote; give the checkpoint itself, checkpoint.rarefy"
            } else if magic.starts_with(b"rarefy-checkpoint") {
                "a checkpoint of another format than 2, which this rarefy reads; resume it with the version that wrote it"
            } else {
                "not a checkpoint of rarefy"
            }));
        }
        let damaged = || refuse("the checkpoint is damaged or cut short (its checksum differs)");
        let whole = file.metadata().map_err(failed)?.len();
        let checksum = checked(&mut file, whole)
            .map_err(failed)?
            .ok_or_else(damaged)?;
        let kind: serde_json::Value = serde_json::from_slice(&header).map_err(|_| damaged())?;
        if kind["command"] != command {
            let other = kind["command"].as_str().unwrap_or("another command");
            return Err(Error::file(
                path,
                format!("a checkpoint of 'rarefy {other}', not of 'rarefy {command}'"),
            ));
        }
        let version = kind["version"].as_str().unwrap_or("unknown").to_owned();
        let header_of: Header<H> = serde_json::from_value(kind).map_err(|error| {
            let this = env!("CARGO_PKG_VERSION");
            Error::file(
                path,
                format!("the header of the checkpoint, of version {version}, does not fit rarefy {this} ({error}); resume it with the version that wrote it"),
            )
        })?;
        let mut at = (magic.len() + header.len()) as u64;
        let mut places = BTreeMap::new();
        for (name, length) in header_of.lengths {
            places.insert(name, (at, length));
            let bytes = (length as u64).checked_mul(8);
            at = bytes
                .and_then(|bytes| at.checked_add(bytes))
                .ok_or_else(damaged)?;
        }
        if at.checked_add(4) != Some(whole) {
            return Err(damaged());
        }
        Ok(Self {
            version,
            state: header_of.state,
            checksum,
            path: path.to_path_buf(),
            file,
            places,
        })
    }
}

impl<H> Stored<H> {
    /// The length of an array, if there is one of this name.
    pub(super) fn length(&self, name: &str) -> Option<usize> {
        self.places.get(name).map(|place| place.1)
    }

    /// An array of any length, if there is one of this name.
    pub(super) fn find(&mut self, name: &str) -> Result<Option<Vec<f64>>> {
        let Some(length) = self.length(name) else {
            return Ok(None);
        };
        let mut values = vec![0.0; length];
        self.read(name, 0, &mut values)?;
        Ok(Some(values))
    }

    /// An array of any length; an error if there is none of this name.
    pub(super) fn get(&mut self, name: &str) -> Result<Vec<f64>> {
        let found = self.find(name)?;
        found.ok_or_else(|| self.lacks(format!("no array '{name}'")))
    }

    /// An array; an error if there is none of this name and length.
    pub(super) fn take(&mut self, name: &str, length: usize) -> Result<Vec<f64>> {
        if self.length(name) != Some(length) {
            return Err(self.lacks(format!("no array '{name}' of {length} numbers")));
        }
        self.get(name)
    }

    /// Reads numbers of an array from the number `first` on.
    pub(super) fn read(&mut self, name: &str, first: usize, to: &mut [f64]) -> Result<()> {
        let place = self.places.get(name).copied();
        let fits = |(_, length): &(u64, usize)| first + to.len() <= *length;
        let Some((start, _)) = place.filter(fits) else {
            return Err(self.lacks(format!(
                "no {} numbers in the array '{name}'",
                first + to.len()
            )));
        };
        let failed = |error: std::io::Error| Error::file(&self.path, reason(&error));
        let from = SeekFrom::Start(start + 8 * first as u64);
        self.file.seek(from).map_err(failed)?;
        let mut bytes = vec![0; PIECE.min(8 * to.len())];
        for values in to.chunks_mut(PIECE / 8) {
            let bytes = &mut bytes[..8 * values.len()];
            self.file.read_exact(bytes).map_err(failed)?;
            for (value, bytes) in values.iter_mut().zip(bytes.as_chunks().0) {
                *value = f64::from_le_bytes(*bytes);
            }
        }
        Ok(())
    }

    fn lacks(&self, what: String) -> Error {
        Error::file(&self.path, format!("the checkpoint holds {what}"))
    }

    /// The same with another state.
    pub(super) fn with<G>(self, state: G) -> (H, Stored<G>) {
        let stored = Stored {
            version: self.version,
            state,
            checksum: self.checksum,
            path: self.path,
            file: self.file,
            places: self.places,
        };
        (self.state, stored)
    }
}

/// The checksum of a file of so many bytes, if it is right. The file is left at its start.
fn checked(file: &mut File, whole: u64) -> std::io::Result<Option<u32>> {
    let Some(body) = whole.checked_sub(4) else {
        return Ok(None);
    };
    file.rewind()?;
    let mut sum = crc32fast::Hasher::new();
    let mut piece = vec![0; PIECE];
    let mut left = body;
    while left > 0 {
        let count = left.min(PIECE as u64) as usize;
        file.read_exact(&mut piece[..count])?;
        sum.update(&piece[..count]);
        left -= count as u64;
    }
    let mut end = [0; 4];
    file.read_exact(&mut end)?;
    let sum = sum.finalize();
    Ok((sum == u32::from_le_bytes(end)).then_some(sum))
}

/// Whether a file is a whole checkpoint.
pub(super) fn is_whole(path: &Path) -> bool {
    let whole = || {
        let mut file = File::open(path).ok()?;
        let bytes = file.metadata().ok()?.len();
        checked(&mut file, bytes).ok()?
    };
    Brief::of(path).is_some() && whole().is_some()
}

/// The error of a checkpoint, with the way to go on from the one before it if that is whole.
fn with_previous(path: &Path, error: Error) -> Error {
    let previous = path.with_file_name(PREVIOUS);
    let is_last = path.file_name().is_some_and(|name| name == FILE);
    match error {
        Error::File { path: of, reason } if is_last && !is_whole(path) && is_whole(&previous) => {
            let reason = format!(
                "{reason}; the checkpoint before it is whole: --resume {}",
                quoted(&previous)
            );
            Error::File { path: of, reason }
        }
        other => other,
    }
}

#[cfg(test)]
mod tests {
    use serde_json::{Value, json};

    use super::*;
    use crate::cli::output;

    fn written(path: &Path, values: &[f64]) {
        let pieces = |take: &mut Take<'_>| values.chunks(3).try_for_each(take);
        let arrays = Arrays::from([
            ("a".to_owned(), vec![0.5, -0.0].into()),
            (
                "f".to_owned(),
                Array::Pieces(values.len(), Box::new(pieces)),
            ),
        ]);
        let content = Content::new("relax", json!({ "step": 3 }), arrays);
        output::write_with(path, |to| content.write(to)).expect("a file");
    }

    #[test]
    fn arrays_in_pieces_come_back() {
        let folder = tempfile::tempdir().expect("a folder");
        let path = folder.path().join(FILE);
        let values: Vec<f64> = (0..20_000).map(|i| f64::from(i).sqrt()).collect();
        written(&path, &values);
        let mut stored = Stored::<Value>::open(&path, "relax").expect("a checkpoint");
        assert_eq!(stored.state["step"], 3);
        assert_eq!(stored.take("f", 20_000).expect("an array"), values);
        let mut part = [0.0; 5];
        stored.read("f", 19_995, &mut part).expect("numbers");
        assert_eq!(part, values[19_995..]);
        assert!(stored.read("f", 19_996, &mut part).is_err());
        let signs: Vec<bool> = stored
            .get("a")
            .expect("an array")
            .iter()
            .map(|a| a.is_sign_negative())
            .collect();
        assert_eq!(signs, [false, true]);
        assert!(stored.take("f", 7).is_err() && stored.get("g").is_err());
    }

    #[test]
    fn a_damaged_checkpoint_names_the_one_before_it() {
        let folder = tempfile::tempdir().expect("a folder");
        let [last, previous] = [FILE, PREVIOUS].map(|name| folder.path().join(name));
        written(&last, &[1.0; 4]);
        written(&previous, &[1.0; 4]);
        let mut bytes = std::fs::read(&last).expect("a file");
        bytes.pop();
        std::fs::write(&last, &bytes).expect("a file");
        let open = |path: &Path| Stored::<Value>::open(path, "relax").map(drop);
        let error = open(&last).expect_err("a damaged file").to_string();
        assert!(
            error.contains("damaged") && error.contains(PREVIOUS),
            "{error}"
        );
        std::fs::remove_file(&last).expect("a file");
        let error = open(&last).expect_err("no file").to_string();
        assert!(error.contains(PREVIOUS), "{error}");
        open(&previous).expect("a checkpoint");
    }
}
