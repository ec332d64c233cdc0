//! The record next to the committed PTX: what it was made from, by which compiler, and what it must be.

use std::fs;
use std::path::Path;

use serde::{Deserialize, Serialize};

use crate::compile::PtxFile;
use crate::error::{Error, Result};
use crate::sha256;
use crate::toolchain::Toolchain;

const NAME: &str = "manifest.toml";
const HEADER: &str = "# What the PTX in this folder was made from. Written by `cargo xtask ptx build`; do not edit.\n";

/// The record of a folder of PTX.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Manifest {
    /// Hash of the sources, see [`DeviceCrate::source_hash`](crate::source::DeviceCrate::source_hash).
    pub source_hash: String,
    /// First line of `rustc -vV`.
    pub rustc: String,
    /// Version of the LLVM tools.
    pub llvm: String,
    /// The files, sorted by name.
    #[serde(rename = "file", default)]
    pub files: Vec<Record>,
}

/// One file of PTX.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Record {
    /// Name of the file.
    pub name: String,
    /// Name of the wing.
    pub wing: String,
    /// Compute capability, 75 for 7.5.
    pub capability: u32,
    /// SHA-256 of the file.
    pub sha256: String,
    /// Entry points, sorted.
    pub entries: Vec<String>,
}

impl Manifest {
    /// The record of freshly compiled files.
    pub fn new(source_hash: String, toolchain: &Toolchain, files: &[PtxFile]) -> Self {
        let record = |file: &PtxFile| Record {
            name: file.name(),
            wing: file.wing.clone(),
            capability: file.capability,
            sha256: sha256(file.text.as_bytes()),
            entries: file.entries.clone(),
        };
        Self {
            source_hash,
            rustc: toolchain.rustc_version().to_owned(),
            llvm: toolchain.llvm_version().to_owned(),
            files: files.iter().map(record).collect(),
        }
    }

    /// Reads the record of a folder; `None` where there is none.
    pub fn read(dir: &Path) -> Result<Option<Self>> {
        let path = dir.join(NAME);
        match fs::read_to_string(&path) {
            Ok(text) => toml::from_str(&text)
                .map(Some)
                .map_err(|e| Error::malformed(&path, e)),
            Err(e) if e.kind() == std::io::ErrorKind::NotFound => Ok(None),
            Err(e) => Err(Error::io(&path)(e)),
        }
    }

    /// Writes files and record to a folder, and removes PTX that is no longer made.
    pub fn write(&self, dir: &Path, files: &[PtxFile]) -> Result<()> {
        fs::create_dir_all(dir).map_err(Error::io(dir))?;
        for entry in fs::read_dir(dir).map_err(Error::io(dir))? {
            let path = entry.map_err(Error::io(dir))?.path();
            if path.extension().is_some_and(|extension| extension == "ptx") {
                fs::remove_file(&path).map_err(Error::io(&path))?;
            }
        }
        for file in files {
            let path = dir.join(file.name());
            fs::write(&path, &file.text).map_err(Error::io(&path))?;
        }
        let path = dir.join(NAME);
        let text = toml::to_string(self).map_err(|e| Error::malformed(&path, e))?;
        fs::write(&path, HEADER.to_owned() + &text).map_err(Error::io(&path))
    }

    /// Reads the files of the record; an error if one is not what the record says.
    pub fn load(&self, dir: &Path) -> Result<Vec<PtxFile>> {
        let load = |record: &Record| {
            let path = dir.join(&record.name);
            let text = fs::read_to_string(&path).map_err(Error::io(&path))?;
            if sha256(text.as_bytes()) != record.sha256 {
                return Err(Error::malformed(
                    &path,
                    "not the PTX that manifest.toml records; run `cargo xtask ptx build`",
                ));
            }
            let Record {
                wing,
                capability,
                entries,
                ..
            } = record.clone();
            Ok(PtxFile {
                wing,
                capability,
                entries,
                text,
            })
        };
        self.files.iter().map(load).collect()
    }

    /// The compiler in words: `rustc 1.96.0 (ac68faa20 2026-05-25), LLVM 22.1.8`.
    pub fn toolchain(&self) -> String {
        // A distribution may append how it was built; the first parenthesis is the commit.
        let rustc = self.rustc.split_inclusive(')').next().unwrap_or_default();
        format!("{rustc}, LLVM {}", self.llvm)
    }
    /// Whether a toolchain is the one that made this PTX, so that it must make the same bytes again.
    pub fn made_by(&self, toolchain: &Toolchain) -> bool {
        self.rustc == toolchain.rustc_version() && self.llvm == toolchain.llvm_version()
    }
}

#[cfg(test)]
pub(crate) mod tests {
    use super::*;

    pub(crate) fn sample(source_hash: &str) -> (Manifest, Vec<PtxFile>) {
        let text = ".visible .entry k()\n{\n\tret;\n}\n".to_owned();
        let record = Record {
            name: "w.sm_75.ptx".into(),
            wing: "w".into(),
            capability: 75,
            sha256: sha256(text.as_bytes()),
            entries: vec!["k".into()],
        };
        let manifest = Manifest {
            source_hash: source_hash.into(),
            rustc: "rustc 1.96.0 (ac68faa20 2026-05-25) (built from a source tarball)".into(),
            llvm: "22.1.8".into(),
            files: vec![record],
        };
        (
            manifest,
            vec![PtxFile {
                wing: "w".into(),
                capability: 75,
                entries: vec!["k".into()],
                text,
            }],
        )
    }

    #[test]
    fn folders_round_trip() {
        let dir = tempfile::tempdir().unwrap();
        assert_eq!(Manifest::read(dir.path()).unwrap(), None);
        let (manifest, files) = sample("hash");
        fs::write(dir.path().join("gone.sm_75.ptx"), "").unwrap();
        manifest.write(dir.path(), &files).unwrap();
        assert_eq!(Manifest::read(dir.path()).unwrap(), Some(manifest.clone()));
        assert_eq!(manifest.load(dir.path()).unwrap(), files);
        assert!(!dir.path().join("gone.sm_75.ptx").exists());
    }

    #[test]
    fn an_edited_file_is_found() {
        let dir = tempfile::tempdir().unwrap();
        let (manifest, files) = sample("hash");
        manifest.write(dir.path(), &files).unwrap();
        fs::write(dir.path().join("w.sm_75.ptx"), "edited").unwrap();
        let error = manifest.load(dir.path()).unwrap_err().to_string();
        assert!(error.contains("w.sm_75.ptx"), "{error}");
    }

    #[test]
    fn the_compiler_is_named_shortly() {
        assert_eq!(
            sample("").0.toolchain(),
            "rustc 1.96.0 (ac68faa20 2026-05-25), LLVM 22.1.8"
        );
    }
}
