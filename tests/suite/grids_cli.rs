//! Grids and sizes that do not suit a gas, as users of the command meet them: each gets a line with the grid that would do.

use std::fs;
use std::path::Path;

use serde_json::Value;

use crate::command::{done, doubles, folder, npy, object, rarefy, refused, text};

/// The warnings of a command that ends well, which are those on standard error.
#[track_caller]
fn warnings(folder: &Path, arguments: &str) -> Vec<String> {
    let mut arguments: Vec<&str> = arguments.split(' ').collect();
    // Warnings of the errors of a discretisation have tests of their own.
    if ["relax", "isotropic", "market"].contains(&arguments[0]) {
        arguments.push("--no-verify");
    }
    let output = done(
        folder,
        &[&arguments[..], &["--json", "--quiet", "--backend", "cpu"]].concat(),
    );
    let warnings: Vec<String> =
        serde_json::from_value(object(&output)["warnings"].clone()).unwrap();
    let lines: Vec<String> = text(&output.stderr).lines().map(str::to_owned).collect();
    let told: Vec<String> = warnings
        .iter()
        .map(|w| format!("rarefy: warning: {w}"))
        .collect();
    assert_eq!(lines, told, "{arguments:?}");
    warnings
}

#[track_caller]
fn warned(folder: &Path, arguments: &str, parts: &[&str]) {
    let found = warnings(folder, arguments);
    let [warning] = &found[..] else {
        panic!("{arguments}: {found:?}");
    };
    for part in parts {
        assert!(warning.contains(part), "{arguments}: {warning}");
    }
    assert!(!warning.contains("--"), "{warning}");
}

#[track_caller]
fn silent(folder: &Path, arguments: &str) {
    let found = warnings(folder, arguments);
    assert!(found.is_empty(), "{arguments}: {found:?}");
}

fn write_cube(folder: &Path, name: &str, n: usize, values: &[f64]) {
    let bytes = npy("<f8", false, &format!("({n}, {n}, {n})"), doubles(values));
    fs::write(folder.join(name), bytes).unwrap();
}

/// A Maxwellian at rest on n^3 cells of [-v, v]^3.
fn maxwellian(n: usize, v: f64, temperature: f64) -> Vec<f64> {
    let xi = |i: usize| -v + (i as f64 + 0.5) * 2.0 * v / n as f64;
    (0..n * n * n)
        .map(|cell| {
            let square: f64 = [cell / (n * n), cell / n % n, cell % n]
                .into_iter()
                .map(|i| xi(i).powi(2))
                .sum();
            (-square / (2.0 * temperature)).exp()
        })
        .collect()
}

#[test]
fn velocity_grids_that_do_not_suit_are_refused_with_the_one_that_does() {
    let dir = folder();
    let path = dir.path();
    write_cube(path, "narrow.npy", 9, &maxwellian(9, 5.0, 0.01));
    write_cube(path, "coarse.npy", 7, &maxwellian(7, 5.0, 1.0));
    write_cube(path, "good.npy", 12, &maxwellian(12, 5.0, 1.0));
    warned(
        path,
        "relax --init narrow.npy --vmax 5 --steps 1 --order 2 --correction paper",
        &["single cells", "36 or more"],
    );
    warned(
        path,
        "relax --init coarse.npy --vmax 5 --steps 1",
        &["takes at least 15 cells"],
    );
    warned(
        path,
        "relax --grid 4 --steps 1",
        &["3.25 thermal speeds", "takes 19 cells"],
    );
    // The box is wide enough: advice to widen it would make the cells wider yet.
    warned(
        path,
        "relax --init two-maxwellians:100 --grid 8 --steps 1",
        &["takes 300 cells", "more than the 64"],
    );
    warned(
        path,
        "relax --grid 14 --vmax 3 --steps 1",
        &["enlarge the box", "here to ["],
    );
    warned(
        path,
        "collide --input coarse.npy --vmax 5 --output q.npy",
        &["at least 15 cells"],
    );
    warned(
        path,
        "rates --grid 5 --order 2",
        &["2.20 thermal speeds", "takes 16 cells"],
    );
    silent(path, "relax --steps 1");
    silent(path, "relax --init bkw:0.6 --steps 1");
    silent(path, "relax --init good.npy --vmax 5 --steps 1");
    silent(path, "collide --input good.npy --vmax 5 --output q.npy");
    silent(path, "rates --grid 12 --order 2");
}

#[test]
fn energy_grids_that_do_not_suit_are_refused_with_the_one_that_does() {
    let dir = folder();
    let path = dir.path();
    let refused = |arguments: &str, why: &str| {
        let arguments: Vec<&str> = arguments.split(' ').collect();
        refused(path, &[&arguments[..], &["--backend", "cpu"]].concat(), why);
    };
    refused("isotropic --emax 0.1", "expected 81 cells up to 12.87");
    refused("isotropic --cells 3", "expected 125 cells up to 20");
    refused("isotropic --emax 1e9", "cells up to");
    refused("isotropic --init delta:0.01", "takes at least 1000 cells");
    warned(
        path,
        "isotropic --cells 40 --steps 1",
        &["takes 125 cells up to 20"],
    );
    warned(path, "isotropic --emax 8 --steps 1", &["cells up to 12.87"]);
    warned(
        path,
        "isotropic --init two-temperature:0.01,1 --steps 1",
        &["67.6% of the particles", "12500 cells"],
    );
    warned(
        path,
        "isotropic --init delta:5 --steps 1",
        &["beyond the grid", "up to 42.9"],
    );
    warned(
        path,
        "isotropic --init delta:1 --cells 64 --steps 1",
        &["takes 188 cells"],
    );
    let flat = npy("<f8", false, "(64,)", doubles(&[1.0; 64]));
    fs::write(path.join("flat.npy"), flat).unwrap();
    warned(
        path,
        "isotropic --init flat.npy --emax 4 --steps 1",
        &["lies beyond the grid"],
    );
    for good in [
        "isotropic --steps 1",
        "isotropic --theta 1 --steps 1",
        "isotropic --init delta:1 --steps 1",
        "isotropic --cells 125 --steps 1",
        "isotropic --emax 12.88 --steps 1",
        "isotropic --init two-temperature:0.5,1.5 --steps 1 --weights cell",
    ] {
        silent(path, good);
    }
}

/// Where the energy is no centre of a cell, two cells share the particles.
#[test]
fn one_energy_is_that_energy_on_any_grid() {
    let dir = folder();
    for cells in ["64", "100", "256", "333"] {
        let arguments = [
            "isotropic",
            "--init",
            "delta:1",
            "--cells",
            cells,
            "--steps",
            "1",
            "--json",
            "--backend",
            "cpu",
        ];
        let object = object(&done(dir.path(), &arguments));
        let first = &object["result"]["initial"];
        let of = |key: &str| first[key].as_f64().unwrap();
        assert!(
            (of("number") - 1.0).abs() < 1e-14 && (of("energy") - 1.0).abs() < 1e-14,
            "{first}"
        );
    }
}

fn last_row(path: &Path, arguments: &str) -> (Value, Vec<String>) {
    let arguments: Vec<&str> = arguments.split(' ').collect();
    let more = ["--json", "--quiet", "--backend", "cpu"];
    let object = object(&done(path, &[&arguments[..], &more].concat()));
    let rows = object["result"]["rows"].as_array().unwrap();
    (
        rows[rows.len() - 1].clone(),
        serde_json::from_value(object["warnings"].clone()).unwrap(),
    )
}

#[test]
fn markets_of_small_shapes_come_to_their_gamma_distribution() {
    let dir = folder();
    // Exact: Gini Gamma(a + 1/2) / (sqrt(pi) a Gamma(a)), variance 1 / a.
    let (row, warnings) = last_row(
        dir.path(),
        "market --scenario voucher --mode gamma:0.5 --times 30 --dt 0.2",
    );
    assert!(warnings.is_empty(), "{warnings:?}");
    let of = |key: &str| row[key].as_f64().unwrap();
    assert!(
        (of("gini") / std::f64::consts::FRAC_2_PI - 1.0).abs() < 5e-3,
        "{row}"
    );
    assert!(((of("m2") - 1.0) / 2.0 - 1.0).abs() < 1e-2, "{row}");
    assert!(of("total_variation") < 1e-3, "{row}");
    // The share below half of a gamma distribution of shape 1/2: erf(1/2).
    assert!((of("p_below_half") - 0.520_499_877_8).abs() < 1e-3, "{row}");

    let (row, warnings) = last_row(
        dir.path(),
        "market --scenario voucher --mode gamma:0.25 --cells 512 --emax 16 --times 1 --dt 0.2",
    );
    assert!(
        warnings.concat().contains("takes 1664 cells up to 39.6"),
        "{warnings:?}"
    );
    assert!(row["gini"].as_f64().is_some());
    for mode in [
        "gas",
        "money",
        "gamma:0.5",
        "gamma:2",
        "saving:0.5",
        "saving:0.9",
    ] {
        silent(
            dir.path(),
            &format!("market --scenario voucher --mode {mode} --times 0.2 --dt 0.1"),
        );
    }
}

/// Agents who save almost all: the variance follows dv/dt = -(1 - 2 s^2/3 - l s - l^2) v + (2 l s + 4 s^2/3 + l^2 - 1), s = 1 - l.
#[test]
fn agents_who_save_almost_all_spread_as_they_must() {
    let dir = folder();
    let (row, warnings) = last_row(
        dir.path(),
        "market --scenario voucher --mode saving:0.95 --times 2.5 --dt 0.1",
    );
    assert!(warnings.is_empty(), "{warnings:?}");
    let (l, s) = (0.95f64, 0.05f64);
    let fall = 1.0 - 2.0 * s * s / 3.0 - l * s - l * l;
    let source = 2.0 * l * s + 4.0 * s * s / 3.0 + l * l - 1.0;
    let exact = source / fall * (1.0 - (-2.5 * fall).exp());
    let variance = row["m2"].as_f64().unwrap() - 1.0;
    assert!(
        (variance / exact - 1.0).abs() < 0.02,
        "{variance} instead of {exact}"
    );
    assert!(row["total_variation"].as_f64().is_some(), "{row}");

    let dead = [
        "market",
        "--scenario",
        "voucher",
        "--mode",
        "saving:0.99",
        "--cells",
        "512",
        "--emax",
        "16",
        "--backend",
        "cpu",
    ];
    refused(
        dir.path(),
        &dead,
        "nothing moves; expected 1050 cells up to 1.5000",
    );
    let (_, warnings) = last_row(
        dir.path(),
        "market --scenario voucher --mode saving:0.9 --cells 512 --emax 16 --times 0.2 --dt 0.1",
    );
    assert!(
        warnings
            .concat()
            .contains("variance about 2.5% too large; it takes"),
        "{warnings:?}"
    );
}

/// No number that is not finite leaves with exit code 0, and what is refused says the range.
#[test]
fn sizes_beyond_the_range_of_numbers_are_refused() {
    let dir = folder();
    let path = dir.path();
    let sized =
        |size: f64| -> Vec<f64> { maxwellian(12, 4.0, 0.7).iter().map(|f| f * size).collect() };
    let energies = |size: f64| -> Vec<f64> {
        (0..64)
            .map(|i| size * (-(f64::from(i) + 0.5) * 0.25).exp())
            .collect()
    };
    for size in [1e300, 1e200, 1e-200, 1e-300, 1e-310] {
        write_cube(path, "f.npy", 12, &sized(size));
        let vector = npy("<f8", false, "(64,)", doubles(&energies(size)));
        fs::write(path.join("e.npy"), vector).unwrap();
        for precision in ["f32", "f64"] {
            for arguments in [
                "collide --input f.npy --vmax 4 --output q.npy",
                "relax --init f.npy --vmax 4 --steps 1 --out o",
                "isotropic --init e.npy --emax 16 --rates-only --out o",
                "isotropic --init e.npy --emax 16 --steps 1 --out o",
            ] {
                let arguments: Vec<&str> = arguments.split(' ').collect();
                let all = [
                    &arguments[..],
                    &["--backend", "cpu", "--precision", precision, "--quiet"],
                ]
                .concat();
                let output = rarefy(path, &all).output().unwrap();
                let stderr = text(&output.stderr);
                assert_eq!(output.status.code(), Some(2), "{size:e} {all:?}: {stderr}");
                assert!(
                    stderr.starts_with("rarefy: error: "),
                    "{size:e} {all:?}: {stderr}"
                );
                assert!(
                    !path.join("q.npy").exists() && !path.join("o").exists(),
                    "{all:?}"
                );
            }
        }
    }
    // In f32 arrays there is less room.
    write_cube(path, "f.npy", 12, &sized(1e30));
    let collide = [
        "collide",
        "--input",
        "f.npy",
        "--vmax",
        "4",
        "--output",
        "q.npy",
        "--backend",
        "cpu",
        "--precision",
    ];
    refused(
        path,
        &[&collide[..], &["f32"]].concat(),
        "beyond the range of f32",
    );
    done(path, &[&collide[..], &["f64"]].concat());
}

#[test]
fn rays_in_thin_cavities_are_told_with_the_nodes_that_do() {
    let dir = folder();
    let path = dir.path();
    let cavity = "cavity --delta 0.3 --cells 4 --reduced --steps 1";
    warned(
        path,
        &format!("{cavity} --accommodation 0.1"),
        &[
            "ray effect",
            "about 22% too large",
            "54 nodes along x and y",
            "24 directions",
        ],
    );
    silent(path, cavity);
    let steady = "cavity --cells 4 --steady --linear --no-verify";
    silent(path, &format!("{steady} --delta 0.3 --accommodation 0.1"));
    warned(
        path,
        &format!("{steady} --delta 0.3 --accommodation 0.1 --quadrature half-range"),
        &["ray effect", "24 velocity nodes"],
    );
    warned(
        path,
        &format!("{steady} --delta 0.05 --accommodation 0.02 --until-residual 1e-6"),
        &["60 directions a quadrant", "it takes 134"],
    );
}

/// Walls that mirror all move nothing: no warning is due, and results are zero.
#[test]
fn a_cavity_at_rest_has_zeros_without_warnings() {
    let dir = folder();
    let path = dir.path();
    let cavity = "cavity --delta 0.3 --cells 4 --accommodation 0 --out rest --overwrite";
    for way in [
        "--steady --velocities 4x4",
        "--steady --linear --velocities 4x4",
        "--reduced --steps 1 --velocities 8 --vmax 4.5",
    ] {
        silent(path, &format!("{cavity} {way}"));
        let record = std::fs::read(path.join("rest/run.json")).unwrap();
        let record: serde_json::Value = serde_json::from_slice(&record).unwrap();
        for key in ["D", "G", "vortex_centre"] {
            assert_eq!(record["result"][key], 0.0, "{way}: {key}");
        }
    }
}

/// Three cells along an axis hold two beams in single cells: their exchange of energy along the axis puts f below zero at rest across it.
#[test]
fn a_pressure_below_zero_ends_a_relaxation() {
    let folder = folder();
    let arguments = [
        "relax",
        "--grid",
        "3",
        "--steps",
        "5",
        "--backend",
        "cpu",
        "--quiet",
    ];
    let output = rarefy(folder.path(), &arguments).output().unwrap();
    assert_eq!(output.status.code(), Some(1));
    let said = text(&output.stderr);
    assert!(
        said.contains("the grid is too coarse for this scheme"),
        "{said}"
    );
    assert!(said.contains("the pressure along y is -"), "{said}");
}
