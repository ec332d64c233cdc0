//! Names, sizes and checksums of the files that a run has written into its folder. A file that they do not describe is another's, and stays.

use std::collections::BTreeMap;
use std::fs::File;
use std::io::Read;
use std::path::{Component, Path, PathBuf};

use serde::{Deserialize, Serialize};

use super::names::{self, SERIES};

/// Files by their names below the folder of the run.
pub(super) type Manifest = BTreeMap<String, Entry>;

/// Size and checksum of a file.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub(super) struct Entry {
    pub(super) bytes: u64,
    /// CRC-32 in eight hexadecimal digits.
    pub(super) crc32: String,
}

impl Entry {
    pub(super) fn new(bytes: u64, crc32: u32) -> Self {
        Self {
            bytes,
            crc32: format!("{crc32:08x}"),
        }
    }

    /// Of a file; none of a link, a folder or a file that cannot be read.
    fn of(path: &Path) -> Option<Self> {
        let there = path.symlink_metadata().ok()?;
        if !there.is_file() {
            return None;
        }
        let mut file = File::open(path).ok()?;
        let (mut sum, mut bytes) = (crc32fast::Hasher::new(), 0);
        let mut piece = vec![0; 1 << 16];
        loop {
            match file.read(&mut piece).ok()? {
                0 => return Some(Self::new(bytes, sum.finalize())),
                count => {
                    sum.update(&piece[..count]);
                    bytes += count as u64;
                }
            }
        }
    }
}

/// The name of a file below a folder, with `/` between its parts; none of a file elsewhere.
pub(super) fn name_below(folder: &Path, path: &Path) -> Option<String> {
    let below = path.strip_prefix(folder).ok()?;
    let parts = below.components().map(|part| match part {
        Component::Normal(name) => name.to_str(),
        _ => None,
    });
    let parts: Vec<&str> = parts.collect::<Option<_>>()?;
    (!parts.is_empty()).then(|| parts.join("/"))
}

/// Whether a command writes files of this name into its folder.
fn is_known(command: &str, name: &str) -> bool {
    match name.split_once('/') {
        None => names::of(command).iter().any(|known| known == name),
        Some((folder, name)) => folder == SERIES && names::is_of_series(name),
    }
}

/// The files of a manifest that are in a folder as the command wrote them. A link is followed nowhere below it.
pub(super) fn unchanged(folder: &Path, command: &str, manifest: &Manifest) -> Vec<PathBuf> {
    let is_folder = |path: &Path| path.symlink_metadata().is_ok_and(|there| there.is_dir());
    let series = is_folder(&folder.join(SERIES));
    let mut found = Vec::new();
    for (name, entry) in manifest {
        let path = folder.join(name);
        if is_known(command, name)
            && (series || !name.contains('/'))
            && Entry::of(&path).as_ref() == Some(entry)
        {
            found.push(path);
        }
    }
    found
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_files_that_are_as_they_were_written_are_found() {
        let folder = tempfile::tempdir().expect("a folder");
        let at = |name: &str| folder.path().join(name);
        std::fs::create_dir(at(SERIES)).expect("a folder");
        let mut manifest = Manifest::new();
        for name in [
            "profile.csv",
            "history.csv",
            "thesis.tex",
            "series/f-00000010.npy",
            "series/mine.vti",
        ] {
            std::fs::write(at(name), name).expect("a file");
            let entry = Entry::of(&at(name)).expect("a file");
            assert_eq!(entry.bytes, name.len() as u64);
            manifest.insert(name.to_owned(), entry);
        }
        let found = |command: &str| unchanged(folder.path(), command, &manifest);
        let all = ["history.csv", "profile.csv", "series/f-00000010.npy"].map(at);
        assert_eq!(found("shock"), all);
        std::fs::write(at("history.csv"), "history,csv").expect("a file");
        assert_eq!(found("shock"), all[1..]);
        #[cfg(unix)]
        {
            std::fs::rename(at("profile.csv"), at("other")).expect("a file");
            std::os::unix::fs::symlink(at("other"), at("profile.csv")).expect("a link");
            std::fs::rename(at(SERIES), at("elsewhere")).expect("a folder");
            std::os::unix::fs::symlink(at("elsewhere"), at(SERIES)).expect("a link");
            assert!(found("shock").is_empty());
        }
    }

    #[test]
    fn names_are_below_the_folder() {
        let of = |path: &str| name_below(Path::new("out/run"), Path::new(path));
        assert_eq!(of("out/run/series/a.vti").as_deref(), Some("series/a.vti"));
        assert_eq!(of("out/run"), None);
        assert_eq!(of("out/other/a.csv"), None);
        assert_eq!(of("out/run/../a.csv"), None);
    }
}
