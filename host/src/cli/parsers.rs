//! The parsers of bytes from outside, each as one function that any bytes may be given to: it accepts or refuses them, and never panics.
//!
//! The targets of `fuzz/` and a test call them. `tests/corpus` has a folder of good and bad bytes for each.

use std::path::Path;

use serde_json::Value;

use super::checkpoint::{self, Stored};
use super::numbers::{Kind, Numbers};
use super::{flow_case, isotropic, npy, relax};
use crate::distributed;
use crate::longman::expression::{Expression, Program};
use crate::signed_digit::decimal::{self, Decimal};
use crate::vti;

/// A parser, which takes any bytes.
pub type Parser = fn(&[u8]);

/// The parsers by their names.
pub const ALL: [(&str, Parser); 8] = [
    ("case", case),
    ("checkpoint", checkpoint),
    ("decimal", decimal),
    ("expression", expression),
    ("greeting", greeting),
    ("hosts", hosts),
    ("npy", npy),
    ("vti", vti),
];

/// A case file of flows past bodies.
pub fn case(bytes: &[u8]) {
    let _ = flow_case::parsed(&String::from_utf8_lossy(bytes));
}

/// A checkpoint as it is, and with a checksum that is right.
pub fn checkpoint(bytes: &[u8]) {
    let read = |path: &Path| {
        let _ = checkpoint::parts_of(path);
        let _ = Stored::<Value>::open(path, "relax");
        let _ = relax::state::Saved::read(path);
        let _ = relax::model::Saved::read(path);
        let _ = isotropic::state::Saved::read(path);
    };
    with_file("saved.rarefy", bytes, read);
    if let Some((body, _)) = bytes.split_last_chunk::<4>() {
        let sum = crc32fast::hash(body).to_le_bytes();
        with_file("saved.rarefy", &[body, &sum].concat(), read);
    }
}

/// Decimal numbers, one a line.
pub fn decimal(bytes: &[u8]) {
    for line in bytes.split(|byte| *byte == b'\n') {
        let number = std::str::from_utf8(line).ok();
        if let Some(Ok(number)) = number.map(str::parse::<Decimal>) {
            let again = number.to_string().parse::<Decimal>();
            assert_eq!(again.ok(), Some(number.clone()));
            let _ = (number.round_f64(), number.round_f32());
        }
    }
    let _ = decimal::numbers(bytes);
}

/// An expression of Longman's method, and its code.
pub fn expression(bytes: &[u8]) {
    let text = std::str::from_utf8(bytes).unwrap_or_default();
    if let Ok(expression) = Expression::parse(text) {
        let _ = Program::compile(&expression);
    }
}

/// The first message of a process to rank 0.
pub fn greeting(bytes: &[u8]) {
    distributed::read_greeting(bytes);
}

/// Variables of a launcher, one a line: the list of hosts, ranks, their number, the address and the port of rank 0.
pub fn hosts(bytes: &[u8]) {
    distributed::read_variables(&String::from_utf8_lossy(bytes));
}

/// An array file.
pub fn npy(bytes: &[u8]) {
    with_file("array.npy", bytes, |path| {
        let _ = npy::read_cube(path, 1..=64, true);
        let _ = npy::read_vector(path, 1..=4096);
        if let Ok(numbers) = Numbers::open(path)
            && let Kind::Array(layout) = numbers.kind()
            && layout.len() <= 4096
        {
            let _ = numbers.parts(layout, 0..layout.len());
        }
    });
}

/// An image file of VTK: its only array, and one by its name.
pub fn vti(bytes: &[u8]) {
    for array in [None, Some("mask")] {
        let _ = vti::read(Path::new("mask.vti"), bytes, array, 1 << 20);
    }
}

/// A file of these bytes, as far as one can be made.
fn with_file(name: &str, bytes: &[u8], read: impl Fn(&Path)) {
    if let Ok(folder) = tempfile::tempdir() {
        let path = folder.path().join(name);
        if std::fs::write(&path, bytes).is_ok() {
            read(&path);
        }
    }
}

#[cfg(test)]
mod tests {
    use std::path::PathBuf;

    use super::super::fuzz::Random;
    use super::*;

    /// Mutations of each file's bytes together.
    const CASES: usize = 3000;

    /// A folder of the repository, or of a bundle of its tests.
    fn in_repository(folder: &str) -> PathBuf {
        let root = std::env::var_os("CARGO_MANIFEST_DIR").unwrap_or_default();
        Path::new(&root).join(folder)
    }

    fn corpus() -> PathBuf {
        in_repository("tests/corpus")
    }

    fn names(folder: &Path) -> Vec<PathBuf> {
        let entries = std::fs::read_dir(folder).expect("a folder");
        let mut names: Vec<PathBuf> = entries.map(|entry| entry.expect("a file").path()).collect();
        names.sort();
        names
    }

    #[test]
    fn each_parser_takes_its_corpus_and_mutations_of_it() {
        for (k, (name, parse)) in ALL.into_iter().enumerate() {
            let files = names(&corpus().join(name));
            assert!(files.len() >= 3, "{name}");
            let read = |path: &PathBuf| std::fs::read(path).expect("a file");
            let seeds: Vec<Vec<u8>> = files.iter().map(read).collect();
            seeds.iter().for_each(|seed| parse(seed));
            let mut random = Random(k as u64);
            for case in 0..CASES {
                parse(&random.file(&seeds[case % seeds.len()]));
            }
        }
    }

    #[test]
    fn each_folder_of_the_corpus_has_a_parser() {
        let folders = names(&corpus());
        let names = folders.iter().map(|path| path.file_name().expect("a name"));
        assert!(names.eq(ALL.map(|(name, _)| name)));
    }

    /// The good files of the corpus are accepted, so that mutations of them reach all of a parser.
    #[test]
    fn good_files_are_good() {
        let at = |name: &str| corpus().join(name);
        assert!(relax::state::Saved::read(&at("checkpoint/relax.rarefy")).is_ok());
        assert!(relax::model::Saved::read(&at("checkpoint/relax-model.rarefy")).is_ok());
        assert!(isotropic::state::Saved::read(&at("checkpoint/isotropic.rarefy")).is_ok());
        assert!(npy::read_cube(&at("npy/cube.npy"), 1..=64, true).is_ok());
        assert!(npy::read_vector(&at("npy/vector.npy"), 1..=64).is_ok());
        for (name, array) in [
            ("ascii", None),
            ("base64-zlib", None),
            ("binary", None),
            ("binary-zlib", None),
            ("pieces", None),
            ("raw", None),
            ("raw-zlib", Some("mask")),
        ] {
            let path = at(&format!("vti/{name}.vti"));
            let mask = vti::read(&path, &std::fs::read(&path).expect("bytes"), array, 12);
            let solid = mask.expect("a mask").solid;
            let ones: Vec<usize> = (0..12).filter(|k| solid[*k]).collect();
            assert_eq!(ones, [0, 7, 11], "{name}");
        }
        let text = |name: &str| std::fs::read_to_string(at(name)).expect("a text");
        assert!(flow_case::parsed(&text("case/all.toml")).is_ok());
        assert!(Expression::parse(text("expression/functions").trim()).is_ok());
        assert!(decimal::numbers(text("decimal/numbers").as_bytes()).is_ok());
        assert!(distributed::read_greeting(
            &std::fs::read(at("greeting/rank-1-of-2")).expect("bytes")
        ));
        assert!(distributed::read_variables(&text("hosts/two-racks")));
    }
}
