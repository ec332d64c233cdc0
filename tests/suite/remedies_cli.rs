//! Advice of the command, tried: what it says works, and defaults need none.

use serde_json::Value;

use crate::command::{folder, number, printed as run, rarefy};

/// Neither finer cells nor upwind differences find the steady wave; steps in time do.
#[test]
fn a_strong_shakhov_shock_is_found_in_time() {
    let folder = folder();
    let shock = "shock --mach 10 --model shakhov --molecules vhs:0.5 --backend cpu";
    let line = format!("{shock} --steady --json --quiet");
    let arguments: Vec<&str> = line.split_whitespace().collect();
    let output = rarefy(folder.path(), &arguments).output().unwrap();
    assert_eq!(output.status.code(), Some(1));
    let text = String::from_utf8(output.stderr).unwrap();
    assert!(text.contains("steps in time"), "{text}");
    assert!(!text.contains("upwind"), "{text}");
    let line = format!("{shock} --reduced --length 30 --upstream 20 --cells 300 --steps 1500");
    let found = run(folder.path(), &line);
    let thickness = number(&found["result"]["thickness"]);
    assert!((thickness / 1.629 - 1.0).abs() < 0.005, "{thickness}");
}

/// The default domain holds a weak shock and a very strong one.
#[test]
fn default_domains_hold_the_wave() {
    let folder = folder();
    for mach in ["1.1", "1.2", "2"] {
        let line = format!("shock --mach {mach} --steady --backend cpu");
        let found = run(folder.path(), &line);
        assert_eq!(found["warnings"], Value::Array(Vec::new()), "{mach}");
    }
    let found = run(
        folder.path(),
        "shock --mach 10 --reduced --steps 1 --backend cpu",
    );
    assert_eq!(found["warnings"], Value::Array(Vec::new()));
}

/// Mean free paths are those of the gas: of variable hard spheres with its viscosity exponent.
#[test]
fn thickness_is_in_mean_free_paths_of_the_gas() {
    let folder = folder();
    for (gas, path) in [
        ("--molecules vhs:0.81", 0.683963),
        ("--molecules hard-sphere", 0.902703),
    ] {
        let line = format!("shock --mach 2 --steady --backend cpu {gas}");
        let result = &run(folder.path(), &line)["result"];
        let [thickness, paths, inverse, hard] = [
            "thickness",
            "thickness_mean_free_paths",
            "inverse_thickness",
            "thickness_hard_sphere_paths",
        ]
        .map(|key| number(&result[key]));
        assert!((number(&result["mean_free_path"]) - path).abs() < 1e-6);
        assert!((thickness / path / paths - 1.0).abs() < 1e-5);
        assert!((inverse * paths - 1.0).abs() < 1e-12);
        assert!((thickness / 0.902703 / hard - 1.0).abs() < 1e-5);
    }
}

/// Few steps carry the jump of the start along with each velocity node.
#[test]
fn a_ballistic_start_warns_of_its_staircase() {
    let folder = folder();
    let shock = "shock --mach 3 --reduced --backend cpu --dt 0.05 --steps";
    let staircase = |steps: u32| {
        let found = run(folder.path(), &format!("{shock} {steps}"));
        let warnings = found["warnings"].as_array().unwrap().clone();
        warnings
            .iter()
            .any(|w| w.as_str().unwrap().contains("ray effect"))
    };
    assert!(staircase(20));
    // There collisions have smoothed the steps.
    assert!(!staircase(200));
}

/// Fields of very thin gas are roundoff, and the fluxes that they hardly change are not.
#[test]
fn estimates_of_very_thin_gas_are_those_of_its_fluxes() {
    let folder = folder();
    let found = run(
        folder.path(),
        "couette --delta 1e-30 --linear --backend cpu",
    );
    let pi = number(&found["result"]["Pi"]);
    assert!(
        (pi * std::f64::consts::PI.sqrt() - 1.0).abs() < 1e-9,
        "{pi}"
    );
    let estimate = number(&found["result"]["error_estimate"]);
    assert!(estimate < 1e-9, "{estimate:e}");
}

/// Heat conduction at a temperature ratio of 199 in thick gas.
#[test]
fn thick_gas_between_very_hot_and_cold_plates_converges_on_finer_cells() {
    let folder = folder();
    let line = "fourier --temperature-difference 1.98 --delta 100 --cells 400 --backend cpu";
    let q = number(&run(folder.path(), line)["result"]["Q"]);
    assert!((q / 0.01159097 - 1.0).abs() < 2e-5, "{q}");
}

/// A strong force heats the gas, and the default velocities hold it.
#[test]
fn a_strong_gradient_is_exact() {
    let folder = folder();
    let line = "poiseuille --delta 1 --gradient 2 --cells 100 --backend cpu";
    let found = run(folder.path(), line);
    // Particles: 1.2231.
    let flow = number(&found["result"]["G"]);
    assert!((flow / 1.2231 - 1.0).abs() < 1e-3, "{flow}");
}

/// Fluid equations do not hold in thin gas between fast or cold plates; sweeps alone find its flow, with the values of upwind differences.
#[test]
fn thin_gas_under_a_strong_drive_converges() {
    let folder = folder();
    for (flow, key) in [
        ("couette --u 12 --delta 0.1", "Pi"),
        ("couette --u 20 --delta 0.01", "Pi"),
        ("fourier --temperature-difference 1.99 --delta 0.1", "Q"),
    ] {
        let [diamond, upwind] = ["diamond", "upwind"].map(|scheme| {
            let line = format!("{flow} --scheme {scheme} --backend cpu --no-verify");
            number(&run(folder.path(), &line)["result"][key])
        });
        assert!(
            (diamond / upwind - 1.0).abs() < 2e-3,
            "{flow}: {diamond} {upwind}"
        );
    }
    // The known value of the first, by upwind differences on finer cells too.
    let line = "couette --u 12 --delta 0.1 --backend cpu --no-verify";
    let found = number(&run(folder.path(), line)["result"]["Pi"]);
    assert!((found / 0.6112 - 1.0).abs() < 1e-3, "{found}");
}

/// Velocities that do not hold the gas of the plates are refused with a number of them that does.
#[test]
fn too_few_velocities_are_refused_with_enough() {
    let folder = folder();
    for flow in [
        "couette --delta 1 --u 12",
        "fourier --delta 1 --temperature-difference 1.98",
    ] {
        let line = format!("{flow} --velocities 3 --backend cpu --quiet");
        let arguments: Vec<&str> = line.split_whitespace().collect();
        let output = rarefy(folder.path(), &arguments).output().unwrap();
        let text = String::from_utf8(output.stderr).unwrap();
        assert_eq!(output.status.code(), Some(2), "{text}");
        let (_, advice) = text.split_once("expected ").unwrap();
        let enough: usize = advice.split(' ').next().unwrap().parse().unwrap();
        assert!(advice.contains("or more normal to the plates"), "{text}");
        for (velocities, code) in [(enough - 1, 2), (enough, 0)] {
            let line = format!("{flow} --velocities {velocities} --backend cpu --json --quiet");
            let arguments: Vec<&str> = line.split_whitespace().collect();
            let output = rarefy(folder.path(), &arguments).output().unwrap();
            assert_eq!(output.status.code(), Some(code), "{flow}: {velocities}");
        }
    }
}
