//! Errors of the discretisation in energy and velocity space: estimates against finer grids, an accuracy that is asked for, and inputs that a grid does not resolve.

use std::fs;
use std::path::Path;

use rarefy::collision::VelocityGrid;
use rarefy::isotropic::{CollisionKernel, EnergyGrid, OperatorConfig, initial, rates};
use serde_json::Value;

use crate::command::{done, doubles, folder, npy, rarefy, text};

/// The record of a run.
fn record(path: &Path, line: &str) -> Value {
    let line = format!("{line} --backend cpu --json --quiet");
    let words: Vec<&str> = line.split_whitespace().collect();
    serde_json::from_slice(&done(path, &words).stdout).unwrap()
}

fn number(value: &Value) -> f64 {
    value.as_f64().unwrap_or(f64::NAN)
}

/// Estimates of `of` on a grid, and those that the same run on a fine grid exceeds three times.
fn exceeded(
    path: &Path,
    [coarse, fine]: [&str; 2],
    of: &[(&str, &[&str])],
) -> (usize, Vec<String>) {
    let [coarse_run, fine_run] = [coarse, fine].map(|line| record(path, line));
    let at =
        |run: &Value, keys: &[&str]| keys.iter().fold(run.clone(), |run, key| run[*key].clone());
    let mut wrong = Vec::new();
    for (name, keys) in of {
        let error = number(&coarse_run["result"]["discretisation_error"][name]["total"]);
        let [a, b] = [&coarse_run, &fine_run].map(|run| number(&at(&run["result"], keys)));
        assert!(error > 0.0, "{coarse}: {name}");
        if (a - b).abs() > 3.0 * error {
            wrong.push(format!("{coarse}: {name} {a} for {b}, estimate {error}"));
        }
    }
    (of.len(), wrong)
}

#[test]
fn errors_in_energy_space_are_within_three_estimates() {
    let dir = folder();
    let path = dir.path();
    let moments: [(&str, &[&str]); 4] = [
        ("number", &["final", "number"]),
        ("second", &["final", "second"]),
        ("third", &["final", "third"]),
        ("entropy", &["final", "entropy"]),
    ];
    let (mut all, mut wrong) = (0, Vec::new());
    for (init, law, emax) in [
        ("bkw:0.6", "--theta 0", 20),
        ("bkw:0.75", "--theta 0.5 --weights cell", 16),
        ("two-temperature:0.5,1.5", "--theta 1", 20),
        ("two-temperature:0.7,1.2,0.3", "--molecules maxwell", 18),
        ("delta:1.3", "--theta 0 --integrator rk4", 14),
    ] {
        let line = |cells: usize, more: &str| {
            format!(
                "isotropic --init {init} {law} --emax {emax} --until 1.5 --cells {cells} {more}"
            )
        };
        let (coarse, fine) = (line(64, ""), line(256, "--no-verify"));
        let (count, more) = exceeded(path, [&coarse, &fine], &moments);
        all += count;
        wrong.extend(more);
    }
    assert!(wrong.len() * 50 <= all, "{wrong:#?}");
}

#[test]
fn errors_of_markets_are_within_three_estimates() {
    let dir = folder();
    let path = dir.path();
    let last: [(&str, &[&str]); 3] = [
        ("gini", &["gini"]),
        ("m2", &["m2"]),
        ("volume", &["volume"]),
    ];
    for mode in ["gas", "money", "saving:0.4", "gamma:2"] {
        let line = |cells: usize| {
            format!(
                "market --scenario voucher --mode {mode} --times 1.5 --dt 0.1 --emax 12 --cells {cells}"
            )
        };
        let [coarse, fine] = [64, 256].map(|cells| record(path, &line(cells)));
        let row = |run: &Value, key: &str| number(&run["result"]["rows"][1][key]);
        for (name, _) in last {
            let error = number(&coarse["result"]["discretisation_error"][name]["total"]);
            let [a, b] = [&coarse, &fine].map(|run| row(run, name));
            assert!(
                (a - b).abs() < 3.0 * error,
                "{mode}: {name} {a} for {b}, estimate {error}"
            );
        }
        // Rows before the last have theirs by their place.
        let first = &coarse["result"]["discretisation_error"]["rows[0].gini"];
        assert!(first["total"].is_number(), "{first}");
    }
}

#[test]
fn errors_of_relaxations_are_within_three_estimates() {
    let dir = folder();
    let path = dir.path();
    let moments: [(&str, &[&str]); 2] = [
        ("fourth", &["final", "fourth"]),
        ("entropy", &["final", "entropy"]),
    ];
    for way in ["--method fast", "--method spectral --sphere 7"] {
        let line = |grid: usize, more: &str| {
            format!("relax {way} --grid {grid} --until 0.3 --dt 0.05 {more}")
        };
        let (coarse, fine) = (line(12, "--verify"), line(20, "--no-verify"));
        let (_, wrong) = exceeded(path, [&coarse, &fine], &moments);
        assert!(wrong.is_empty(), "{wrong:#?}");
    }
    // An array is known on one grid.
    let f = vec![1.0; 216];
    fs::write(
        path.join("f.npy"),
        npy("<f8", false, "(6, 6, 6)", doubles(&f)),
    )
    .unwrap();
    let run = record(path, "relax --init f.npy --vmax 3 --steps 1");
    assert!(run["result"]["discretisation_error"].is_null());
}

#[test]
fn an_accuracy_chooses_the_grid() {
    let dir = folder();
    let path = dir.path();
    let run = record(
        path,
        "isotropic --init bkw:0.7 --until 1 --cells 32 --emax 16 --weights cell --accuracy 3e-3",
    );
    let result = &run["result"];
    let accuracy = &result["accuracy"];
    assert_eq!(accuracy["reached"], true, "{accuracy}");
    let cells = run["parameters"]["cells"].as_u64().unwrap();
    assert!(
        cells > 32 && accuracy["grid"]["cells"] == cells,
        "{accuracy}"
    );
    assert_eq!(accuracy["grid"]["emax"], run["parameters"]["emax"]);
    for (key, size) in [
        ("second", "second"),
        ("third", "third"),
        ("number", "number"),
    ] {
        let error = number(&result["discretisation_error"][key]["total"]);
        assert!(
            error <= 3e-3 * number(&result["final"][size]),
            "{key}: {error}"
        );
    }
    // The exact second moment of this solution.
    let [found, exact] = [&result["final"]["second"], &result["exact_m2"]].map(number);
    assert!((found / exact - 1.0).abs() < 3e-3, "{found} {exact}");
    let none = record(path, "isotropic --steps 1 --no-verify");
    assert!(none["result"]["discretisation_error"].is_null());
}

/// Both are hard spheres; the mean of |g n| over directions is g/2.
#[test]
fn theta_one_has_half_the_rate_of_isotropic_hard_spheres() {
    let grid = EnergyGrid::new(200, 20.0).unwrap();
    let second = |law: CollisionKernel| {
        let config = OperatorConfig::new(grid, law);
        let f = initial::bkw(&grid, 0.7);
        let rate = rates(&config, &f).unwrap().rate;
        let cells = config.measure().into_iter().zip(rate).enumerate();
        let sum = cells.map(|(i, (m, rate))| m * rate * grid.energy(i).powi(2));
        sum.sum::<f64>()
    };
    let paper = second(CollisionKernel::Power { theta: 1.0 });
    let isotropic = second(CollisionKernel::Isotropic { gamma: 1.0 });
    assert!(
        (paper / isotropic - 0.5).abs() < 2e-3,
        "{paper} {isotropic}"
    );
    let dir = folder();
    let words = "isotropic --theta 1 --cells 64 --steps 1 --backend cpu --no-verify --out o";
    let words: Vec<&str> = words.split(' ').collect();
    let output = done(dir.path(), &words);
    assert!(text(&output.stdout).contains("pair rate     g/2, the mean of |g n|^1"));
}

/// Two Maxwellians, and a jump that the transforms do not resolve.
fn batch(grid: &VelocityGrid) -> [Vec<f64>; 3] {
    let f = |beam: f64, edge: f64| -> Vec<f64> {
        let cells = 0..grid.cells();
        let values = cells.map(|cell| {
            let [x, y, z] = grid.velocity(cell);
            let rest = y * y + z * z;
            let of = |u: f64| (-0.5 * ((x - u).powi(2) + rest)).exp();
            let jump = if x.abs() + rest.sqrt() < edge {
                1.0
            } else {
                0.0
            };
            if edge > 0.0 {
                jump
            } else {
                of(beam) + of(-beam)
            }
        });
        values.collect()
    };
    [f(1.2, 0.0), f(0.0, 2.0), f(0.1, 0.0)]
}

#[test]
fn each_distribution_of_a_batch_is_computed_as_it_is_alone() {
    let dir = folder();
    let path = dir.path();
    let grid = VelocityGrid::new(12, -5.8, 5.8).unwrap();
    let batch = batch(&grid);
    let write = |name: &str, shape: &str, values: Vec<f64>| {
        fs::write(path.join(name), npy("<f8", false, shape, doubles(&values))).unwrap();
    };
    write("all.npy", "(3, 12, 12, 12)", batch.concat());
    let run = record(
        path,
        "collide --input all.npy --vmax 5.8 --method auto --output q.npy",
    );
    let taken: Vec<&str> = (run["method"].as_array().unwrap().iter())
        .map(|method| method["taken"].as_str().unwrap())
        .collect();
    assert_eq!(taken, ["spectral", "fast", "spectral"]);
    assert_eq!(run["parameters"]["method"], "auto");
    let all = fs::read(path.join("q.npy")).unwrap();
    let size = 8 * grid.cells();
    for (k, f) in batch.into_iter().enumerate() {
        write("one.npy", "(12, 12, 12)", f);
        let run = record(
            path,
            "collide --input one.npy --vmax 5.8 --method auto --output one_q.npy",
        );
        assert_eq!(run["method"]["taken"], taken[k]);
        let one = fs::read(path.join("one_q.npy")).unwrap();
        assert!(one[128..] == all[128 + k * size..][..size], "{k}");
    }
}

#[test]
fn an_integral_that_no_correction_conserves_is_refused_with_its_defect() {
    let dir = folder();
    let path = dir.path();
    let mut f = vec![0.0; 512];
    f[4 * 64 + 4 * 8 + 4] = 1.0;
    fs::write(
        path.join("f.npy"),
        npy("<f8", false, "(8, 8, 8)", doubles(&f)),
    )
    .unwrap();
    let output = rarefy(
        path,
        &[
            "collide", "--input", "f.npy", "--vmax", "4", "--output", "q.npy",
        ],
    )
    .output()
    .unwrap();
    assert_eq!(output.status.code(), Some(1));
    // The arrays are written all the same.
    assert!(path.join("q.npy").exists());
    let said = text(&output.stderr);
    assert!(
        said.contains("NOT CONVERGED: f lives in too few cells for a conservative correction"),
        "{said}"
    );
    let words: Vec<&str> = said.split_whitespace().collect();
    let at = words.iter().position(|word| *word == "mass").unwrap();
    let share = words[..at]
        .iter()
        .rev()
        .find_map(|word| word.strip_suffix('%'));
    assert!(share.unwrap().parse::<f64>().unwrap() < -1.0, "{said}");
}

/// A bin about the mean lies at the edge of two of 512 cells up to 16, which would make its Gini coefficient 0.0078.
#[test]
fn a_histogram_narrower_than_a_cell_keeps_its_inequality() {
    let dir = folder();
    let path = dir.path();
    fs::write(path.join("narrow.csv"), "x_lo,x_hi,share\n0.999,1.001,1\n").unwrap();
    let run = record(
        path,
        "market --input narrow.csv --times 0.1 --dt 0.1 --no-verify",
    );
    let first = number(&run["result"]["rows"][0]["gini"]);
    assert!(first.abs() < 1e-3, "{first}");
    assert_eq!(run["warnings"].as_array().map(Vec::len), Some(0));
    let run = record(
        path,
        "market --input narrow.csv --times 0.1 --dt 0.1 --no-verify --emax 16 --cells 512",
    );
    let warnings = run["warnings"].to_string();
    assert!(warnings.contains("0.0078 where it is 0.0003"), "{warnings}");
    assert!(warnings.contains("it takes 4096 cells"), "{warnings}");
}
