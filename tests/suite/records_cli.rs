//! The tables of keys in the chapters are those of `result` in the records.

use std::collections::{BTreeMap, BTreeSet};
use std::fs;

use serde_json::Value;

use crate::command::{done, folder};
use crate::support;

/// The chapters with such tables.
const PAGES: [&str; 7] = [
    include_str!("../../docs/collision.md"),
    include_str!("../../docs/rates.md"),
    include_str!("../../docs/isotropic.md"),
    include_str!("../../docs/bgk.md"),
    include_str!("../../docs/bgk-steady.md"),
    include_str!("../../docs/longman.md"),
    include_str!("../../docs/signed-digit.md"),
];

/// Words in backquotes.
fn quoted(cell: &str) -> impl Iterator<Item = String> {
    cell.split('`').skip(1).step_by(2).map(str::to_owned)
}

/// The keys by command, from the tables whose header is `command`, `key` and `value`.
fn documented() -> BTreeMap<String, BTreeSet<String>> {
    let mut keys: BTreeMap<String, BTreeSet<String>> = BTreeMap::new();
    for page in PAGES {
        let mut rows = page.lines();
        rows.find(|line| *line == "| command | key | value |")
            .expect("a table of keys");
        for row in rows.skip(1).take_while(|line| line.starts_with('|')) {
            let cells: Vec<&str> = row.split('|').collect();
            for command in quoted(cells[1]) {
                keys.entry(command).or_default().extend(quoted(cells[2]));
            }
        }
    }
    keys
}

/// `result` of a run.
fn result_of(line: &str) -> Value {
    let dir = folder();
    let data = support::in_repository("examples/data");
    fs::write(dir.path().join("x.txt"), "1\n2\n").unwrap();
    let line = format!(
        "{} --backend cpu --json",
        line.replace("DATA", &data.display().to_string())
    );
    let words: Vec<&str> = line.split_whitespace().collect();
    let output = done(dir.path(), &words);
    let mut record: Value = serde_json::from_slice(&output.stdout).unwrap();
    record["result"].take()
}

#[test]
fn the_chapters_list_the_keys_of_results() {
    let keys = documented();
    let air = "--gas air --pressure 10 --temperature 300";
    let plates = format!("{air} --size 1e-3 --cells 20");
    for (command, line) in [
        ("relax", "relax --grid 8 --steps 1".to_owned()),
        (
            "collide",
            "collide --input DATA/f.npy --vmax 6 --output q.npy".to_owned(),
        ),
        ("rates", "rates --grid 6".to_owned()),
        ("paper frontier", "paper frontier --grid 6".to_owned()),
        ("isotropic", "isotropic --cells 128 --steps 1".to_owned()),
        (
            "isotropic --rates-only",
            "isotropic --cells 128 --rates-only".to_owned(),
        ),
        (
            "market",
            "market --scenario voucher --cells 32 --times 0.5".to_owned(),
        ),
        (
            "shock",
            format!("shock --mach 1.5 --steady --reduced --cells 80 {air}"),
        ),
        (
            "cavity",
            "cavity --steady --linear --cells 8 --velocities 4x4 --model polyatomic".to_owned(),
        ),
        ("couette", format!("couette {plates}")),
        ("fourier", format!("fourier {plates}")),
        ("poiseuille", format!("poiseuille {plates}")),
        (
            "longman",
            "longman --family damped-cos --lambda 0.5 --omega 10".to_owned(),
        ),
        (
            "longman --oscillator exp",
            "longman --amplitude 1/(x+i) --oscillator exp --frequency 3".to_owned(),
        ),
        (
            "longman --input",
            "longman --amplitude x/(x^2+p^2) --oscillator bessel:0 --frequency xi --input DATA/params.csv".to_owned(),
        ),
        ("sum", "sum x.txt".to_owned()),
        ("dot", "dot x.txt x.txt".to_owned()),
        ("dft", "dft x.txt".to_owned()),
        ("paper digits", "paper digits".to_owned()),
    ] {
        let result = result_of(&line);
        let found: BTreeSet<String> = result.as_object().unwrap().keys().cloned().collect();
        assert_eq!(Some(&found), keys.get(command), "{line}");
    }
}

/// The largest temperature in kelvins is that of the profile: 300 K before the wave of Mach 1.5 are 448 K behind it.
#[test]
fn the_largest_temperature_of_a_shock_is_that_of_its_table() {
    let found = result_of(
        "shock --mach 1.5 --steady --reduced --cells 80 --gas argon --pressure 10 --temperature 300",
    );
    let share = found["largest_temperature"].as_f64().unwrap();
    let behind = found["downstream"]["temperature"].as_f64().unwrap();
    let kelvins = found["largest_temperature_k"].as_f64().unwrap();
    assert!((kelvins - 300.0 * (1.0 + share * (behind - 1.0))).abs() < 1e-9);
    assert!((448.0..460.0).contains(&kelvins), "{kelvins}");
}
