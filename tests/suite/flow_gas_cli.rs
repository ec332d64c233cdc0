//! `rarefy flow` of gases whose molecules rotate.

use std::process::Output;

use serde_json::Value;
use tempfile::TempDir;

use crate::command::{folder, number, rarefy, refused, text};
use crate::flow_case_cli::write;

/// Air round a post, thick enough for a few iterations, on few cells.
const CASE: &str = r#"
gas = { gas = "air", pressure = 1, temperature = 250, length = 0.01 }
domain = { x = [-1.5, 1.5], y = [0, 1.5], h = 0.25 }
velocities = { kind = "uniform", step = 0.9 }
[sides]
left = { kind = "stream", mach = 2 }
right = { kind = "stream", mach = 2 }
bottom = { kind = "mirror" }
top = { kind = "stream", mach = 2 }
[[body]]
name = "post"
shape = "circle"
radius = 0.5
temperature = 1.2
"#;

fn run(case: &str, arguments: &[&str]) -> (TempDir, Output) {
    let folder = folder();
    write(folder.path(), case);
    let mut line = vec!["flow", "case.toml", "--out", "out", "--quiet"];
    line.extend(arguments);
    let output = rarefy(folder.path(), &line).output().unwrap();
    assert!(output.status.success(), "{}", text(&output.stderr));
    (folder, output)
}

fn record(folder: &TempDir) -> Value {
    let text = std::fs::read_to_string(folder.path().join("out/run.json")).unwrap();
    serde_json::from_str(&text).unwrap()
}

#[test]
fn air_has_two_temperatures_and_is_written_with_both() {
    let (folder, _) = run(CASE, &["--backend", "cpu"]);
    let record = record(&folder);
    let rotation = &record["result"]["rotation"];
    // Parker's formula at 250 K, for nitrogen and oxygen.
    let z = number(&rotation["relaxation_time"]);
    assert!((z - 2.04).abs() < 0.05, "{z}");
    assert_eq!(rotation["heat_flux_rates"][0].as_array().unwrap().len(), 2);
    let negative = &record["result"]["negative_equilibrium"];
    let shares = ["molecules", "internal_energy"].map(|name| number(&negative[name]));
    assert!(
        shares.iter().all(|share| (0.0..0.05).contains(share)),
        "{negative}"
    );
    let fields = std::fs::read(folder.path().join("out/flow.vti")).unwrap();
    let fields = String::from_utf8_lossy(&fields);
    for name in [
        "temperature_translational",
        "temperature_rotational",
        "heat_flux_rotational",
    ] {
        assert!(fields.contains(name), "{name}");
    }
    assert!(folder.path().join("out/rotation.png").exists());
    let body = &record["result"]["bodies"][0];
    assert!(number(&body["heat_w_m"]) > 0.0, "{body}");
    assert!(
        number(&body["discretisation_error"]["heat"]["total"]) > 0.0,
        "{body}"
    );
}

/// The kernels carry both functions: lanes of the CPU, and kernels in f64 and in f32 in the emulator.
#[test]
fn every_machine_has_the_same_heat() {
    let case = CASE.replace("h = 0.25", "h = 0.5");
    let heat = |arguments: &[&str]| {
        let mut all = vec!["--no-verify", "--tolerance", "1e-5"];
        all.extend(arguments);
        let (folder, _) = run(&case, &all);
        number(&record(&folder)["result"]["bodies"][0]["heat"])
    };
    let cpu = heat(&["--backend", "cpu"]);
    for (arguments, tolerance) in [
        (vec!["--backend", "reference"], 1e-9),
        (vec!["--backend", "emulator"], 1e-9),
        (vec!["--backend", "emulator", "--precision", "f32"], 1e-4),
    ] {
        let found = heat(&arguments);
        assert!(
            (found / cpu - 1.0).abs() < tolerance,
            "{arguments:?}: {found} {cpu}"
        );
    }
}

/// A plane and space on a GPU, in f64 and f32.
#[test]
fn a_gpu_finds_the_heat_of_the_cpu() {
    if crate::support::device().is_none() {
        return;
    }
    let space = CASE
        .replace(
            "y = [0, 1.5], h = 0.25",
            "y = [0, 1.5], z = [0, 1.5], h = 0.25",
        )
        .replace("shape = \"circle\"", "shape = \"sphere\"")
        .replace(
            "bottom =",
            "back = { kind = \"mirror\" }\nfront = { kind = \"stream\", mach = 2 }\nbottom =",
        );
    for case in [CASE, &space] {
        let heat = |arguments: &[&str]| {
            let mut all = vec!["--no-verify"];
            all.extend(arguments);
            let (folder, _) = run(case, &all);
            number(&record(&folder)["result"]["bodies"][0]["heat"])
        };
        let cpu = heat(&["--backend", "cpu", "--tolerance", "1e-7"]);
        let double = heat(&["--backend", "cuda", "--tolerance", "1e-7"]);
        let single = heat(&[
            "--backend",
            "cuda",
            "--precision",
            "f32",
            "--tolerance",
            "1e-4",
        ]);
        assert!((double / cpu - 1.0).abs() < 1e-6, "{double} {cpu}");
        assert!((single / cpu - 1.0).abs() < 2e-3, "{single} {cpu}");
    }
}

#[test]
fn gases_that_are_none_are_refused_in_one_line() {
    let gas = "gas = { gas = \"air\", pressure = 1, temperature = 250, length = 0.01 }";
    for (instead, expected) in [
        (
            "gas = { gas = \"air\", pressure = 1, temperature = 250, length = 0.01, model = \"shakhov\" }",
            "gas.model: a model of single atoms for air",
        ),
        (
            "gas = { gas = \"argon\", pressure = 1, temperature = 250, length = 0.01, model = \"polyatomic\" }",
            "gas.model: polyatomic for argon",
        ),
        (
            "gas = { delta = 1, z_rot = 5 }",
            "gas.z_rot: a model without rotation",
        ),
        (
            "gas = { delta = 1, model = \"polyatomic\", z_rot = 1 }",
            "gas.z_rot: 1; expected more than 1.273 collisions",
        ),
        (
            "gas = { delta = 1, model = \"polyatomic\", z_rot = \"parker:20,90\" }",
            "gas.z_rot: collisions that depend on the temperature",
        ),
        (
            "gas = { delta = 1, model = \"polyatomic\", z_rot = \"many\" }",
            "gas.z_rot: many; expected a number of collisions",
        ),
        (
            "gas = { delta = 1, model = \"polyatomic\", internal_dof = 0 }",
            "gas.internal_dof: 0; expected a positive number of degrees of freedom",
        ),
        (
            "gas = { delta = 1, model = \"polyatomic\", prandtl = 3 }",
            "gas.prandtl: 3; expected a Prandtl number from 0.5600 to 0.9021",
        ),
        (
            "gas = { delta = 1, model = \"polyatomic\", eucken = [2.3, -1] }",
            "gas.eucken: [2.3, -1]; expected Eucken factors of a gas",
        ),
    ] {
        let folder = folder();
        write(folder.path(), &CASE.replace(gas, instead));
        refused(folder.path(), &["flow", "case.toml"], expected);
    }
    let scatters = CASE.replace(
        "temperature = 1.2",
        "temperature = 1.2\naccommodation = { normal = 0.8, tangential = 0.9 }",
    );
    let folder = folder();
    write(folder.path(), &scatters);
    refused(
        folder.path(),
        &["flow", "case.toml"],
        "a share between 0 and 1 for molecules that rotate",
    );
}

/// Hot nitrogen vibrates, which a warning says.
#[test]
fn a_warning_names_what_the_model_leaves_out() {
    let hot = CASE
        .replace("temperature = 250", "temperature = 500")
        .replace("h = 0.25", "h = 0.5");
    let (folder, _) = run(&hot, &["--no-verify"]);
    let warnings = record(&folder)["warnings"].to_string();
    assert!(warnings.contains("its molecules vibrate"), "{warnings}");
}
