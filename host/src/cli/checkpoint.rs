//! The checkpoint file: one line of magic, one line of JSON, arrays of `f64` as they are in memory (little-endian), a checksum.
//!
//! Numbers in the header are printed so that they read back to the same bits; all large data are in the arrays.

use std::collections::BTreeMap;
use std::fs::File;
use std::io::{BufRead, BufReader, Read};
use std::path::Path;

use serde::de::DeserializeOwned;
use serde::{Deserialize, Serialize};

use super::text::reason;
use crate::error::{Error, Result};

/// Name of the checkpoint in the run's folder.
pub(super) const FILE: &str = "checkpoint.rarefy";

const MAGIC: &[u8] = b"rarefy-checkpoint 1\n";
/// A checkpoint that lists the files of several ranks, which hold its populations.
pub(super) const LIST: &[u8] = b"rarefy-checkpoint 2\n";
/// The file of a rank.
pub(super) const PART: &[u8] = b"rarefy-checkpoint-part 1\n";

/// The command whose run a checkpoint is of, if the file is one.
pub(super) fn command_of(path: &Path) -> Option<String> {
    // Headers hold no large data.
    const MOST: u64 = 1 << 24;
    let mut file = BufReader::new(File::open(path).ok()?.take(MOST));
    let mut line = Vec::new();
    file.read_until(b'\n', &mut line).ok()?;
    if line != MAGIC && line != LIST {
        return None;
    }
    line.clear();
    file.read_until(b'\n', &mut line).ok()?;
    let header: serde_json::Value = serde_json::from_slice(&line).ok()?;
    header["command"].as_str().map(str::to_owned)
}

/// A checkpoint's content: a header of the subcommand's own kind, and named arrays.
#[derive(Debug, Serialize, Deserialize)]
pub(super) struct Content<H> {
    /// Version of rarefy that wrote the file.
    pub(super) version: String,
    /// The subcommand.
    pub(super) command: String,
    /// Further state of the subcommand besides arrays.
    pub(super) state: H,
    /// Lengths of the arrays, in the order of their names.
    lengths: BTreeMap<String, usize>,
    /// The arrays.
    #[serde(skip)]
    pub(super) arrays: BTreeMap<String, Vec<f64>>,
}

impl<H: Serialize + DeserializeOwned> Content<H> {
    pub(super) fn new(command: &str, state: H, arrays: BTreeMap<String, Vec<f64>>) -> Self {
        Self {
            version: env!("CARGO_PKG_VERSION").into(),
            command: command.into(),
            state,
            lengths: arrays.iter().map(|(k, v)| (k.clone(), v.len())).collect(),
            arrays,
        }
    }

    /// The bytes of the file.
    pub(super) fn encode(&self) -> Vec<u8> {
        self.encode_as(MAGIC)
    }

    /// The bytes of a file of another kind.
    pub(super) fn encode_as(&self, magic: &[u8]) -> Vec<u8> {
        let mut bytes = magic.to_vec();
        serde_json::to_writer(&mut bytes, self).expect("a checkpoint's header is plain data");
        bytes.push(b'\n');
        for value in self.arrays.values().flatten() {
            bytes.extend(value.to_le_bytes());
        }
        let sum = crc32fast::hash(&bytes);
        bytes.extend(sum.to_le_bytes());
        bytes
    }

    /// Reads the file that `command` wrote.
    pub(super) fn read(path: &Path, command: &str) -> Result<Self> {
        Ok(Self::read_as(path, command, &[MAGIC, LIST])?.0)
    }

    /// Reads a file of one of some kinds, and returns its checksum too.
    pub(super) fn read_as(path: &Path, command: &str, kinds: &[&[u8]]) -> Result<(Self, u32)> {
        let refuse = |text: &str| Error::file(path, text);
        if path.is_dir() {
            return Err(refuse(
                "a folder; give its checkpoint.rarefy, or the run.json of a sweep",
            ));
        }
        let bytes = std::fs::read(path).map_err(|e| Error::file(path, reason(&e)))?;
        let Some(magic) = kinds.iter().find(|magic| bytes.starts_with(magic)) else {
            return Err(refuse(if bytes.starts_with(PART) {
                "the part of a checkpoint that one rank wrote; give the checkpoint itself, checkpoint.rarefy"
            } else if bytes.starts_with(b"rarefy-checkpoint ") {
                "a checkpoint of another format; resume it with the version of rarefy that wrote it"
            } else {
                "not a checkpoint of rarefy"
            }));
        };
        let damaged = || refuse("the checkpoint is damaged or cut short (its checksum differs)");
        let (body, sum) = bytes.split_last_chunk::<4>().ok_or_else(damaged)?;
        let sum = u32::from_le_bytes(*sum);
        if crc32fast::hash(body) != sum {
            return Err(damaged());
        }
        let body = &body[magic.len()..];
        let end = body.iter().position(|&b| b == b'\n').ok_or_else(damaged)?;
        let (header, data) = (&body[..end], &body[end + 1..]);
        let kind: serde_json::Value = serde_json::from_slice(header).map_err(|_| damaged())?;
        if kind["command"] != command {
            let other = kind["command"].as_str().unwrap_or("another command");
            return Err(Error::file(
                path,
                format!("a checkpoint of 'rarefy {other}', not of 'rarefy {command}'"),
            ));
        }
        let version = kind["version"].as_str().unwrap_or("unknown").to_owned();
        let mut content: Self = serde_json::from_value(kind).map_err(|_| {
            let this = env!("CARGO_PKG_VERSION");
            Error::file(
                path,
                format!("the header of the checkpoint, of version {version}, does not fit rarefy {this}; resume it with the version that wrote it"),
            )
        })?;
        let mut numbers = data
            .chunks_exact(8)
            .map(|b| f64::from_le_bytes(b.try_into().expect("eight bytes")));
        for (name, &length) in &content.lengths {
            let values: Vec<_> = numbers.by_ref().take(length).collect();
            if values.len() != length {
                return Err(damaged());
            }
            content.arrays.insert(name.clone(), values);
        }
        Ok((content, sum))
    }

    /// Takes an array out; an error if the checkpoint has none of this name and length.
    pub(super) fn take(&mut self, path: &Path, name: &str, length: usize) -> Result<Vec<f64>> {
        match self.arrays.remove(name) {
            Some(values) if values.len() == length => Ok(values),
            _ => Err(Error::file(
                path,
                format!("the checkpoint holds no array '{name}' of {length} numbers"),
            )),
        }
    }
}
