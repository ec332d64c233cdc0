//! Files of any content are read or refused: no parser of the command panics, whatever bytes it is given.
//!
//! Bytes are made up, or are those of a good file with some changed, put in, doubled or left out. The generator is fixed, so a failure comes again.

use std::collections::BTreeMap;
use std::ffi::OsString;
use std::path::{Path, PathBuf};

use clap::{FromArgMatches, Parser};
use serde_json::{Value, json};

use super::checkpoint::{Arrays, Content, Stored};
use super::ledger::LedgerArgs;
use super::numbers::{Element, Kind, Numbers};
use super::paper::timings::Times;
use super::relax::state::Saved;
use super::{Cli, Command, command, config, dft, isotropic, longman, market, npy, shock};
use crate::compute::{Precision, Resolved};
use crate::longman::expression::Expression;
use crate::longman::sampled::Samples;
use crate::signed_digit::decimal::{self, Decimal};
use crate::signed_digit::float::ExactAccumulator;
use crate::signed_digit::integer::Integers;

/// Files of each kind; `RAREFY_FUZZ=N` makes it N, for a long run.
fn cases() -> u64 {
    const CASES: u64 = 200;
    let wanted = std::env::var("RAREFY_FUZZ").ok();
    wanted.and_then(|text| text.parse().ok()).unwrap_or(CASES)
}

/// The generator splitmix64.
pub(super) struct Random(pub(super) u64);

impl Random {
    fn draw(&mut self) -> u64 {
        self.0 = self.0.wrapping_add(0x9E37_79B9_7F4A_7C15);
        let mut z = self.0;
        z = (z ^ z >> 30).wrapping_mul(0xBF58_476D_1CE4_E5B9);
        z = (z ^ z >> 27).wrapping_mul(0x94D0_49BB_1331_11EB);
        z ^ z >> 31
    }

    fn below(&mut self, n: usize) -> usize {
        (self.draw() % n.max(1) as u64) as usize
    }

    /// A byte that parsers look for, or any.
    fn byte(&mut self) -> u8 {
        const KNOWN: &[u8] = b"0123456789+-.eE,;:='\"()[]{}#_ \t\r\n\0\x93NUMPYxyzTFnaif<>|";
        match self.below(2) {
            0 => KNOWN[self.below(KNOWN.len())],
            _ => self.draw() as u8,
        }
    }

    /// Bytes made up, or of a good file with some changed.
    pub(super) fn file(&mut self, good: &[u8]) -> Vec<u8> {
        if self.below(4) == 0 {
            let len = self.below(300);
            return (0..len).map(|_| self.byte()).collect();
        }
        let mut bytes = good.to_vec();
        for _ in 0..=self.below(6) {
            let at = self.below(bytes.len());
            match self.below(6) {
                0 | 1 if !bytes.is_empty() => bytes[at] = self.byte(),
                2 => bytes.insert(at, self.byte()),
                3 if !bytes.is_empty() => drop(bytes.remove(at)),
                4 => bytes.truncate(at),
                _ => {
                    let end = at + self.below(bytes.len() - at);
                    let part = bytes[at..end].to_vec();
                    bytes.splice(at..at, part);
                }
            }
        }
        bytes
    }
}

/// Gives many files to `read`, which may refuse them.
fn try_all(name: &str, good: &[u8], mut read: impl FnMut(&Path, &[u8])) {
    let folder = tempfile::tempdir().expect("a folder");
    let path = folder.path().join(name);
    let mut random = Random(name.len() as u64 ^ good.len() as u64);
    let mut look = |bytes: &[u8]| {
        std::fs::write(&path, bytes).expect("a file");
        read(&path, bytes);
    };
    look(good);
    for _ in 0..cases() {
        look(&random.file(good));
    }
}

#[test]
fn arrays() {
    let cube = npy::encode(&[3, 3, 3], &[0.5; 27], Precision::F64);
    try_all("cube.npy", &cube, |path, _| {
        let _ = npy::read_cube(path, 3..=8, true);
    });
    let vector = npy::encode(&[5], &[1.5; 5], Precision::F32);
    try_all("vector.npy", &vector, |path, _| {
        let _ = npy::read_vector(path, 1..=100);
        if let Ok(numbers) = Numbers::open(path)
            && let Kind::Array(layout) = numbers.kind()
        {
            let _ = numbers.as_f64(layout, 0..layout.len());
            match layout.element {
                Element::F32 => drop(numbers.pieces::<f32>(layout, |_| Ok(()))),
                Element::F64 => drop(numbers.pieces::<f64>(layout, |_| Ok(()))),
                _ => drop(numbers.sum_of_integers(layout, true)),
            }
        }
        let _ = dft::input::read(path, &LedgerArgs::default());
    });
}

#[test]
fn decimal_text() {
    let good = b"1e40\n  0.25\n\n-1e-40\r\n+7\n.5\n12345678901234567890123\n";
    try_all("numbers.txt", good, |path, bytes| {
        // Exponents far apart are refused for their memory, those not so far take it: neither is looked for here.
        let modest = |number: &Decimal| number.top() < 1000 && number.scale() > -1000;
        for line in bytes.split(|&c| c == b'\n') {
            if let Ok(text) = std::str::from_utf8(line)
                && let Ok(number) = text.parse::<Decimal>()
            {
                let again = number.to_string().parse::<Decimal>();
                assert_eq!(again.ok(), Some(number.clone()), "{text}");
                let _ = (number.round_f64(), number.round_f32());
            }
        }
        if decimal::numbers(bytes).is_ok_and(|all| all.iter().all(modest)) {
            let on_cpu = decimal::sum_text(bytes, &Resolved::Cpu).expect("numbers");
            let emulated = decimal::sum_text(bytes, &Resolved::Emulator).expect("numbers");
            assert_eq!(on_cpu, emulated);
            let _ = Integers::from_text(bytes);
        }
        let _ = dft::input::read(path, &LedgerArgs::default());
    });
}

#[test]
fn tables() {
    let zeros = b"zero\n1.5\n4.5\n7.5\n";
    try_all("zeros.csv", zeros, |path, _| {
        let _ = longman::read_zeros(path);
    });
    let samples = b"x,g\n0,1\n1,0.5 # half\n2,0.25\n3;0.125\n4 0.0625\n";
    try_all("samples.csv", samples, |path, _| {
        if let Ok((x, g)) = longman::read_samples(path) {
            let _ = Samples::cubic(&x, &g);
            let _ = Samples::chebyshev(&x, &g);
        }
    });
    let parameters = b"# of three integrals\np,xi,a\n1,2,0\n0.5,none,1\n2\n";
    try_all("parameters.csv", parameters, |path, _| {
        let arguments = [
            "rarefy",
            "longman",
            "--amplitude=x/(x^2+p^2)",
            "--oscillator=bessel:0",
            "--frequency=xi",
            "--input",
        ];
        let arguments = arguments.iter().map(OsString::from).chain([path.into()]);
        let Ok(Cli {
            command: Some(Command::Longman(args)),
        }) = Cli::try_parse_from(arguments)
        else {
            panic!("arguments");
        };
        let _ = longman::problem(&args, &BTreeMap::new());
    });
    let histogram = b"x_lo,x_hi,share\n0,10,0.25\n10,20,0.5\n20,40,0.25\n";
    try_all("histogram.csv", histogram, |path, _| {
        let _ = market::read_histogram(path);
    });
    let sums =
        "| | 1e4 | 1e5 |\n|---|---|---|\n| sum of 50 digits: packed, one core | 0.5 | 5.0 |\n";
    let integrals = "| | 12^3 | 16^3 |\n|---|---|---|\n| cuda fast f32 | 0.0794 | 0.1441 |\n";
    for printed in [sums, integrals] {
        try_all("times.txt", printed.as_bytes(), |path, _| {
            if let Ok(times) = Times::read(path) {
                let _ = (times.figures(), times.tables());
            }
        });
    }
}

#[test]
fn configurations() {
    let toml =
        b"[common]\nprecision = 'f32'\n[relax]\ngrid = 8\ndt = 0.125\nno-correction = true\n";
    let json =
        json!({"command": "relax", "parameters": {"grid": 8, "dt": 0.5, "no-correction": false}});
    for (name, good) in [
        ("run.toml", toml.to_vec()),
        ("run.json", json.to_string().into_bytes()),
    ] {
        try_all(name, &good, |path, _| {
            let arguments = [
                "rarefy".into(),
                "relax".into(),
                "--config".into(),
                path.into(),
            ];
            let _ = config::parse(command(), Vec::<OsString>::from(arguments));
        });
    }
    let mut random = Random(5);
    for _ in 0..cases() {
        let text = String::from_utf8_lossy(&random.file(b"relax.grid=24")).into_owned();
        let arguments = ["rarefy", "relax", "-s", &text].map(OsString::from);
        let _ = config::parse(command(), arguments.into());
    }
}

/// The same checkpoint beside it with a checksum that is right.
fn sealed(path: &Path, bytes: &[u8]) -> Option<PathBuf> {
    let body = &bytes[..bytes.len().checked_sub(4)?];
    let path = path.with_extension("sealed");
    let sum = crc32fast::hash(body).to_le_bytes();
    std::fs::write(&path, [body, &sum].concat()).expect("a file");
    Some(path)
}

#[test]
fn checkpoints() {
    let arrays = || {
        let arrays = [("f", vec![1.0; 9]), ("g", vec![])];
        Arrays::from(arrays.map(|(name, values)| (name.to_owned(), values.into())))
    };
    let good = Content::new("relax", json!({"time": 0.5}), arrays()).encode();
    try_all("saved.rarefy", &good, |path, bytes| {
        let _ = Saved::read(path);
        assert_eq!(Stored::<Value>::open(path, "relax").is_ok(), bytes == good);
        if let Some(path) = sealed(path, bytes)
            && let Ok(mut stored) = Stored::<Value>::open(&path, "relax")
        {
            let _ = (stored.find("f"), stored.find("g"), stored.take("f", 9));
            let _ = Saved::read(&path);
        }
    });
    try_all(
        "isotropic.rarefy",
        &isotropic::state::example(),
        |path, bytes| {
            let _ = isotropic::state::Saved::read(path);
            if let Some(path) = sealed(path, bytes) {
                let _ = isotropic::state::Saved::read(&path);
            }
        },
    );
    let sum = ExactAccumulator::sum(&[1e300, 0.1, -2.5]).to_bytes();
    try_all("sum", &sum, |_, bytes| {
        if let Ok(again) = ExactAccumulator::from_bytes(bytes) {
            let _ = (again.round::<f64>(), again.value().to_string());
        }
    });
}

/// Headers that were changed and sealed anew are refused or run: no number in them ends the process, or has it divide by zero.
#[test]
fn forged_headers() {
    let folder = tempfile::tempdir().expect("a folder");
    let at = |name: &str| folder.path().join(name);
    // A prime, so that each place has each value in some command.
    let all = std::env::var_os("RAREFY_FUZZ").is_some();
    let (stride, mut tried) = (if all { 1 } else { 13 }, 0);
    for (command, line) in [
        (
            "shock",
            "shock --mach 2 --cells 12 --reduced --velocities 24 --save-every 3",
        ),
        ("cavity", "cavity --cells 4 --velocities 6 --steady"),
        ("cavity", "cavity --cells 4 --velocities 6"),
        ("relax", "relax --grid 6"),
        ("isotropic", "isotropic --cells 8 --emax 8 --every 2"),
    ] {
        let run = at("run");
        let line = format!(
            "rarefy {line} --steps 2 --checkpoint-every 1 --backend cpu --quiet --overwrite --out"
        );
        let words = line
            .split(' ')
            .map(OsString::from)
            .chain([run.clone().into()]);
        // Two iterations do not converge.
        let _ = super::run(words.collect());
        let good = std::fs::read(run.join("checkpoint.rarefy")).expect("a checkpoint");
        let [magic, header, rest] = parts(&good);
        let header: Value = serde_json::from_slice(header).expect("a header");
        let mut places = Vec::new();
        leaves(&header, &mut String::new(), &mut places);
        let path = at("forged.rarefy");
        for place in places {
            for value in [
                json!(0),
                json!(1),
                json!(-1),
                json!(null),
                json!("x"),
                json!([]),
                json!(0.5),
            ] {
                tried += 1;
                if tried % stride != 0 {
                    continue;
                }
                let mut forged = header.clone();
                *forged.pointer_mut(&place).expect("a place") = value;
                let forged = forged.to_string().into_bytes();
                let body = [magic, &forged, b"\n", rest].concat();
                let sum = crc32fast::hash(&body).to_le_bytes();
                std::fs::write(&path, [&body[..], &sum].concat()).expect("a file");
                let line = format!(
                    "rarefy {command} --backend cpu --quiet --overwrite --steps 4 --resume"
                );
                let words = line.split(' ').map(OsString::from);
                let words = words.chain([path.clone().into(), "--out".into(), at("forged").into()]);
                let _ = super::run(words.collect());
            }
        }
    }
}

/// Line of magic, line of JSON without its end, arrays without the checksum.
fn parts(bytes: &[u8]) -> [&[u8]; 3] {
    let end = |bytes: &[u8]| bytes.iter().position(|b| *b == b'\n').expect("a line");
    let (magic, rest) = bytes.split_at(end(bytes) + 1);
    let (header, rest) = rest.split_at(end(rest));
    [magic, header, &rest[1..rest.len() - 4]]
}

/// Where the numbers and texts of an object are.
fn leaves(value: &Value, place: &mut String, found: &mut Vec<String>) {
    let length = place.len();
    let mut below = |key: &str, value: &Value| {
        place.push('/');
        // As in a JSON pointer.
        place.push_str(&key.replace('~', "~0").replace('/', "~1"));
        leaves(value, place, found);
        place.truncate(length);
    };
    match value {
        Value::Object(of) => of.iter().for_each(|(key, value)| below(key, value)),
        Value::Array(of) => {
            (of.iter().take(2).enumerate()).for_each(|(k, value)| below(&k.to_string(), value))
        }
        _ => found.push(place.clone()),
    }
}

/// Of a flow in time, to where its first step would be taken.
#[test]
fn checkpoints_of_flows() {
    let folder = tempfile::tempdir().expect("a folder");
    let wave = "rarefy shock --mach 2 --cells 12 --reduced --velocities 24 --steps 1 --checkpoint-every 1 --quiet --out";
    let wave = wave.split(' ').map(OsString::from);
    super::run(wave.chain([folder.path().into()]).collect()).expect("a run");
    let good = std::fs::read(folder.path().join("checkpoint.rarefy")).expect("a checkpoint");
    let goes_on = |path: &Path| {
        // A later end than that of the run.
        let arguments = ["rarefy", "shock", "--steps", "2", "--resume"].map(OsString::from);
        let arguments = arguments.into_iter().chain([path.into()]).collect();
        let matches = config::parse(command(), arguments).expect("arguments");
        let cli = Cli::from_arg_matches(&matches).expect("arguments");
        let (Some(Command::Shock(args)), Some((_, given))) = (cli.command, matches.subcommand())
        else {
            panic!("another command");
        };
        shock::goes_on(&args, given)
    };
    try_all("shock.rarefy", &good, |path, bytes| {
        let found = goes_on(path);
        assert_eq!(found, bytes == good, "its checksum differs");
        if let Some(path) = sealed(path, bytes) {
            goes_on(&path);
        }
    });
}

#[test]
fn expressions() {
    let good = b"exp(-0.5*x)*cos(3*x)/(1+x^2)";
    try_all("expression", good, |_, bytes| {
        if let Ok(text) = std::str::from_utf8(bytes) {
            let _ = Expression::parse(text);
        }
    });
}

/// A file that is not there, a folder, and a file without a line are refused too.
#[test]
fn what_is_no_file() {
    let folder = tempfile::tempdir().expect("a folder");
    let empty: PathBuf = folder.path().join("empty");
    std::fs::write(&empty, "").expect("a file");
    for path in [folder.path(), &folder.path().join("none"), &empty] {
        assert!(npy::read_cube(path, 3..=8, false).is_err());
        assert!(longman::read_zeros(path).is_err());
        assert!(longman::read_samples(path).map_or(true, |(x, _)| x.is_empty()));
        assert!(market::read_histogram(path).is_err());
        assert!(dft::input::read(path, &LedgerArgs::default()).is_err());
        assert!(Saved::read(path).is_err());
        assert!(isotropic::state::Saved::read(path).is_err());
        assert!(Times::read(path).is_err());
    }
}
