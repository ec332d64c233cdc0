//! `rarefy flow` in space: refusals, loads on all machines, files and their forms.

use std::fs;
use std::path::Path;

use serde_json::Value;

use crate::command::{done, folder, number, refused};
use crate::flow_case_cli::{words, write};
use crate::support::in_repository;

/// A quarter of a sphere in a stream along x, eight cells a diameter.
const SPHERE: &str = "\
gas = { delta = 1, omega = 0.81 }
domain = { x = [-1.25, 1.25], y = [0, 1.25], z = [0, 1.25], h = 0.125 }
velocities = { kind = \"uniform\", step = 1 }
solver = { tolerance = 1e-3 }
[sides]
left = { kind = \"stream\", speed_ratio = 1.5 }
right = { kind = \"stream\", speed_ratio = 1.5 }
bottom = { kind = \"mirror\" }
top = { kind = \"stream\", speed_ratio = 1.5 }
back = { kind = \"mirror\" }
front = { kind = \"stream\", speed_ratio = 1.5 }
[[body]]
name = \"ball\"
shape = \"sphere\"
radius = 0.5
";

#[test]
fn wrong_cases_are_refused_in_one_line_with_the_place() {
    let dir = folder();
    let at = dir.path();
    for (from, to, what) in [
        (
            "back = { kind = \"mirror\" }\n",
            "",
            "sides.back: none; expected a side at each end of z",
        ),
        (
            ", z = [0, 1.25]",
            "",
            "sides.back: a side along z; expected z = [low, high] in [domain]",
        ),
        (
            "z = [0, 1.25]",
            "z = [1, 0]",
            "domain.z: [1, 0]; expected its lower end before its upper one",
        ),
        (
            "kind = \"uniform\", step = 1",
            "angles = 48",
            "velocities.kind: polar; expected kind = \"uniform\" or \"gauss\" in space",
        ),
        (
            "radius = 0.5",
            "radius = -0.5",
            "body 1: radius: -0.5; expected a positive number",
        ),
        (
            "radius = 0.5",
            "radius = 0.5\ncentre = [0, 0, 5]",
            "body 1: place: x = -0.5 to 0.5, y = -0.5 to 0.5, z = 4.5 to 5.5; expected a body of which a part is in the domain",
        ),
        (
            "radius = 0.5",
            "radius = 0.5\naccommodation = { tangential = 0.9, normal = 0.8 }",
            "body 1: accommodation: a scattering kernel; expected a number in space and round an axis",
        ),
        (
            "left = { kind = \"stream\", speed_ratio = 1.5 }",
            "left = { kind = \"stream\", speed_ratio = 1.5, elevation = -10 }",
            "sides.left: a stream at an angle of 0 and an elevation of -10 that enters the mirror at the back",
        ),
        (
            "shape = \"sphere\"\nradius = 0.5",
            "shape = \"stl\"\nfile = \"none.stl\"",
            "none.stl: no such file",
        ),
        (
            "shape = \"sphere\"",
            "shape = \"shpere\"",
            "unknown shape 'shpere' of body 1; did you mean 'sphere'?",
        ),
    ] {
        let text = SPHERE.replace(from, to);
        assert_ne!(text, SPHERE, "{from}");
        write(at, &text);
        refused(at, &words("flow case.toml"), what);
    }
}

/// Files of one mask in all encodings of VTK's images, which have the place of their voxels, and an array that has none.
#[test]
fn a_mask_has_the_flow_of_its_array_file_in_every_encoding() {
    let dir = folder();
    let at = dir.path();
    let data = in_repository("tests/data").join("flow");
    let line = "flow case.toml --json --quiet --overwrite --no-verify --out run --backend cpu";
    let of = |name: &str, keys: &str| {
        let file = data.join(name);
        let voxels = format!("shape = \"voxels\"\nfile = {file:?}\n{keys}");
        let text = SPHERE
            .replace("h = 0.125", "h = 0.25")
            .replace("shape = \"sphere\"\nradius = 0.5", &voxels);
        write(at, &text);
    };
    let keys = "origin = [-0.5, -0.4375, -0.375]\nspacing = 0.125";
    of("ball.npy", keys);
    let array = loads(at, line);
    assert!(array[0] > 0.1, "{array:?}");
    for (name, keys) in [
        ("ascii.vti", ""),
        ("binary-zlib.vti", ""),
        ("appended-base64.vti", ""),
        ("appended-raw-zlib.vti", "array = \"mask\""),
    ] {
        of(name, keys);
        assert_eq!(loads(at, line), array, "{name}");
    }
    // The record has the place, with which the run repeats itself.
    let record = fs::read_to_string(at.join("run/run.json")).expect("a record");
    let record: Value = serde_json::from_str(&record).expect("a record");
    let body = &record["case"]["body"][0];
    assert_eq!(body["spacing"], 0.125, "{record}");
    of("appended-raw-zlib.vti", "");
    refused(
        at,
        &words("flow case.toml"),
        "appended-raw-zlib.vti: the image has the arrays 'colour', 'pores', 'mask'; the key array names the one of the mask",
    );
    of("appended-raw-zlib.vti", "aray = \"mask\"");
    refused(at, &words("flow case.toml"), "did you mean 'array'?");
}

/// Forces and heat of a run.
fn loads(at: &Path, line: &str) -> Vec<f64> {
    let output = done(at, &words(line));
    let record: Value = serde_json::from_slice(&output.stdout).expect("a record");
    let body = &record["result"]["bodies"][0];
    ["force_x", "force_y", "force_z", "heat"]
        .map(|key| number(&body[key]))
        .to_vec()
}

#[test]
fn kernels_find_the_forces_of_the_cpu() {
    let dir = folder();
    let at = dir.path();
    // A few sweeps of few cells: the emulator checks each access to memory.
    let small = SPHERE
        .replace("h = 0.125", "h = 0.3")
        .replace("tolerance = 1e-3", "tolerance = 5e-2");
    write(at, &small);
    let line = "flow case.toml --json --quiet --overwrite --no-verify --out run";
    let cpu = loads(at, &format!("{line} --backend cpu"));
    let plain = loads(at, &format!("{line} --backend reference"));
    let emulated = loads(at, &format!("{line} --backend emulator"));
    let shared = loads(at, &format!("{line} --backend emulator --devices 3"));
    let single = loads(at, &format!("{line} --backend emulator --precision f32"));
    for (k, cpu) in cpu.iter().enumerate() {
        assert!((plain[k] - cpu).abs() < 1e-9, "{} {cpu}", plain[k]);
        assert!((emulated[k] - cpu).abs() < 1e-9, "{} {cpu}", emulated[k]);
        assert!((shared[k] - cpu).abs() < 1e-9, "{} {cpu}", shared[k]);
        assert!((single[k] - cpu).abs() < 1e-4, "{} {cpu}", single[k]);
    }
}

#[test]
fn a_gpu_finds_the_forces_of_the_cpu() {
    if crate::support::device().is_none() {
        return;
    }
    let dir = folder();
    let at = dir.path();
    write(at, &SPHERE.replace("tolerance = 1e-3", "tolerance = 1e-7"));
    let line = "flow case.toml --json --quiet --overwrite --no-verify --out run";
    let cpu = loads(at, &format!("{line} --backend cpu"));
    let double = loads(at, &format!("{line} --backend cuda"));
    let single = loads(
        at,
        &format!("{line} --backend cuda --precision f32 --tolerance 1e-4"),
    );
    for ((cpu, double), single) in cpu.iter().zip(double).zip(single) {
        assert!((double - cpu).abs() < 1e-6, "{double} {cpu}");
        assert!((single - cpu).abs() < 1e-3, "{single} {cpu}");
    }
}

#[test]
fn a_flow_writes_its_files_and_errors() {
    let dir = folder();
    let at = dir.path();
    write(at, &SPHERE.replace("step = 1 ", "step = 0.8 "));
    let output = done(at, &words("flow case.toml --out run --json --backend cpu"));
    let record: Value = serde_json::from_slice(&output.stdout).unwrap();
    let result = &record["result"];
    let body = &result["bodies"][0];
    // Between the flow without collisions and Newton's law.
    let drag = number(&body["drag_coefficient"]);
    let limits = ["drag_newtonian", "drag_free_molecular"].map(|key| number(&body[key]));
    assert!(limits[0] < drag && drag < limits[1], "{drag} {limits:?}");
    let error = &body["discretisation_error"]["drag_coefficient"];
    for axis in ["cells", "velocities", "domain", "total"] {
        assert!(number(&error[axis]) > 0.0, "{axis}");
    }
    assert!(number(&error["total"]) < 0.3 * drag);
    assert!(result["sides"].get("back").is_none());
    assert!(result["sides"]["front"]["momentum_z"].is_number());
    let inflow = -number(&result["sides"]["left"]["mass"]);
    assert!(number(&result["balance"]["mass"]).abs() < 1e-2 * inflow);

    // The facets add up to a quarter of the sphere, and their raw values to the loads.
    let table = fs::read_to_string(at.join("run/surface.csv")).unwrap();
    let mut rows: Vec<Vec<&str>> = table.lines().map(|row| row.split(',').collect()).collect();
    let columns = rows.remove(0);
    let column = |name: &str| columns.iter().position(|other| *other == name).expect(name);
    let value = |row: &[&str], name: &str| row[column(name)].parse::<f64>().unwrap();
    let sum = |of: &dyn Fn(&[&str]) -> f64| rows.iter().map(|row| of(row)).sum::<f64>();
    let area = sum(&|row| value(row, "area"));
    assert!(
        (area / (0.25 * std::f64::consts::PI) - 1.0).abs() < 0.02,
        "{area}"
    );
    assert!((area / number(&body["area"]) - 1.0).abs() < 1e-12);
    let force = sum(&|row| {
        let pressure = -value(row, "pressure_raw") * value(row, "normal_x");
        value(row, "area") * (pressure + value(row, "shear_x_raw"))
    });
    assert!((force / number(&body["force_x"]) - 1.0).abs() < 1e-10);
    let heat = sum(&|row| value(row, "area") * value(row, "heat_raw"));
    assert!((heat / number(&body["heat"]) - 1.0).abs() < 1e-10);

    // Cubes of one size make an image; its XML comes before the bytes of the arrays.
    let image = fs::read(at.join("run/flow.vti")).unwrap();
    let begin = image
        .windows(2)
        .position(|pair| pair == b"\n_")
        .expect("arrays");
    let head = String::from_utf8(image[..begin].to_vec()).unwrap();
    for part in [
        "WholeExtent=\"0 20 0 10 0 10\"",
        "Spacing=\"0.125 0.125 0.125\"",
        "compressor=\"vtkZLibDataCompressor\"",
        "Name=\"heat_flux\" NumberOfComponents=\"3\" format=\"appended\"",
    ] {
        assert!(head.contains(part), "{part} in {head}");
    }
    for name in [
        "speed",
        "density",
        "temperature",
        "surface",
        "pressure",
        "residuals",
    ] {
        assert!(at.join(format!("run/{name}.png")).is_file(), "{name}");
    }
    assert!(at.join("run/walls.vtp").is_file());
    // The case that the run keeps is the same case.
    let again = done(
        at,
        &words("flow run/case.toml --json --quiet --backend cpu --no-verify"),
    );
    let again: Value = serde_json::from_slice(&again.stdout).unwrap();
    assert_eq!(again["case"], record["case"]);
    assert_eq!(again["result"]["bodies"][0]["force_x"], body["force_x"]);
}

#[test]
fn a_gas_in_si_units_has_its_results_in_these() {
    let dir = folder();
    let at = dir.path();
    let gas = "gas = { gas = \"argon\", pressure = 0.1, temperature = 300, length = 0.05 }";
    let text = SPHERE
        .replace("gas = { delta = 1, omega = 0.81 }", gas)
        .replace("h = 0.125", "h = 0.25");
    write(at, &text);
    let output = done(
        at,
        &words("flow case.toml --out run --json --backend cpu --no-verify"),
    );
    let record: Value = serde_json::from_slice(&output.stdout).unwrap();
    let (body, units) = (&record["result"]["bodies"][0], &record["units"]);
    let force = number(&units["pressure_pa"]) * 0.05 * 0.05;
    let ratio = number(&body["force_x_n"]) / number(&body["force_x"]);
    assert!((ratio / force - 1.0).abs() < 1e-12, "{ratio} {force}");
    assert!(body["heat_w"].is_number() && record["result"]["mass_flow_kg_s"].is_number());
    assert!(at.join("run/flow_si.vti").is_file());
}
