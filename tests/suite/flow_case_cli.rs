//! `rarefy flow`: case files, refusals, files and their forms.

use std::fs;
use std::path::Path;

use serde_json::Value;

use crate::command::{done, folder, number, refused, text, unconverged};

/// A small case: a cylinder on a mirror in a stream, ten cells a diameter.
const CASE: &str = "\
[gas]
model = \"shakhov\"
delta = 1
omega = 0.734
[domain]
x = [-1.5, 1.5]
y = [0, 1.5]
h = 0.1
core = [[-0.7, 0.7], [0, 0.7]]
growth = 1.1
largest = 0.25
[velocities]
kind = \"uniform\"
step = 0.9
[sides]
left = { kind = \"stream\", speed_ratio = 1.82574 }
right = { kind = \"stream\", speed_ratio = 1.82574 }
bottom = { kind = \"mirror\" }
top = { kind = \"stream\", speed_ratio = 1.82574 }
[[body]]
name = \"cylinder\"
shape = \"circle\"
radius = 0.5
[solver]
tolerance = 1e-3
";

pub(crate) fn words(line: &str) -> Vec<&str> {
    line.split_whitespace().collect()
}

pub(crate) fn write(folder: &Path, text: &str) {
    fs::write(folder.join("case.toml"), text).unwrap();
}

#[test]
fn wrong_case_files_are_refused_in_one_line_with_the_place() {
    let dir = folder();
    let at = dir.path();
    refused(at, &["flow"], "CASE.toml");
    refused(at, &["flow", "none.toml"], "none.toml: no such file");
    for (from, to, why) in [
        (
            "radius",
            "raduis",
            "case.toml: line 23, column 1: unknown key 'raduis' in body 1, of shape 'circle'; did you mean 'radius'?",
        ),
        (
            "shakhov",
            "shakov",
            "case.toml: line 2, column 9: unknown variant `shakov`, expected one of `bgk`, `shakhov`, `polyatomic`",
        ),
        (
            "h = 0.1",
            "h = 5",
            "case.toml: line 8, column 5: domain.h: 5; expected cells smaller than the domain",
        ),
        (
            "radius = 0.5",
            "radius = 0.5\ncentre = [9, 0]",
            "body 1: place: x = 8.5 to 9.5",
        ),
        (
            "{ kind = \"mirror\" }",
            "{ kind = \"periodic\" }",
            "sides.bottom: periodic; expected kind = \"periodic\" of the top side too",
        ),
        ("[gas]", "[gas", "case.toml: line 1, column "),
    ] {
        write(at, &CASE.replacen(from, to, 1));
        refused(at, &["flow", "case.toml"], why);
    }
    write(at, CASE);
    for (more, why) in [
        (
            "--precision f32 --backend cpu",
            "precision: f32; expected f64 for flows past bodies on a CPU",
        ),
        (
            "--devices 2 --backend cpu",
            "--devices: 2; expected 1 device with the backend cpu",
        ),
        ("--tolerance 0", "--tolerance"),
        ("--iterations 0", "--iterations"),
    ] {
        refused(at, &words(&format!("flow case.toml {more}")), why);
    }
}

/// Forces and heat of a run.
fn loads(at: &Path, line: &str) -> Vec<f64> {
    let output = done(at, &words(line));
    let record: Value = serde_json::from_slice(&output.stdout).expect("a record");
    let body = &record["result"]["bodies"][0];
    ["force_x", "force_y", "moment", "heat"]
        .map(|key| number(&body[key]))
        .to_vec()
}

/// No factor on what enters keeps the mass of gas that is as fast as this: the fields settle, and 5% of the mass enters without leaving.
#[test]
fn a_flow_that_loses_mass_has_not_converged() {
    let dir = folder();
    let at = dir.path();
    let side = "{ kind = \"periodic\", factor = 0.8 }";
    let case = format!(
        "gas = {{ delta = 1 }}\ndomain = {{ x = [0, 1], y = [0, 1], h = 0.1 }}\nsolver = {{ iterations = 300 }}\n\
         [sides]\nleft = {side}\nright = {side}\nbottom = {{ kind = \"mirror\" }}\ntop = {{ kind = \"wall\" }}\n"
    );
    let line = "flow case.toml --no-verify --json --quiet --backend cpu";
    write(at, &case);
    unconverged(at, line);
    // Twice the period at the same fall has a steady flow.
    write(at, &case.replace("x = [0, 1]", "x = [0, 2]"));
    done(at, &words(line));
}

#[test]
fn kernels_find_the_forces_of_the_cpu() {
    let dir = folder();
    let at = dir.path();
    // A few sweeps of a few velocities: the emulator checks each access to memory.
    let small = CASE
        .replace("step = 0.9", "step = 1")
        .replace("h = 0.1\n", "h = 0.2\n")
        .replace("tolerance = 1e-3", "tolerance = 3e-2");
    write(at, &small);
    let line = "flow case.toml --json --quiet --overwrite --out run";
    let cpu = loads(at, &format!("{line} --backend cpu"));
    let emulated = loads(at, &format!("{line} --backend emulator"));
    let shared = loads(at, &format!("{line} --backend emulator --devices 2"));
    let single = loads(at, &format!("{line} --backend emulator --precision f32"));
    for (((cpu, emulated), shared), single) in cpu.iter().zip(emulated).zip(shared).zip(single) {
        assert!((emulated - cpu).abs() < 1e-9, "{emulated} {cpu}");
        assert!((shared - cpu).abs() < 1e-9, "{shared} {cpu}");
        assert!((single - cpu).abs() < 1e-4, "{single} {cpu}");
    }
    let periodic = small
        .replace("model = \"shakhov\"", "linear = true")
        .replace("[velocities]\nkind = \"uniform\"\nstep = 1\n", "")
        .replace(
            "{ kind = \"stream\", speed_ratio = 1.82574 }",
            "{ kind = \"periodic\" }",
        )
        .replace(
            "bottom = { kind = \"mirror\" }",
            "bottom = { kind = \"periodic\" }",
        );
    write(at, &periodic);
    let why = "sides: periodic ones of a linear flow; expected the CPU";
    refused(at, &words(&format!("{line} --backend emulator")), why);
    refused(
        at,
        &words(&format!("{line} --devices 2")),
        "--devices: 2; expected 1 device, for this flow stays on the CPU",
    );
}

#[test]
fn a_gpu_finds_the_forces_of_the_cpu() {
    if crate::support::device().is_none() {
        return;
    }
    let dir = folder();
    let at = dir.path();
    write(at, &CASE.replace("tolerance = 1e-3", "tolerance = 1e-7"));
    let line = "flow case.toml --json --quiet --overwrite --out run";
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
fn examples_are_printed() {
    let dir = folder();
    let output = done(dir.path(), &words("flow --example slot"));
    assert_eq!(
        text(&output.stdout),
        include_str!("../../examples/flow/slot.toml")
    );
    assert!(output.stderr.is_empty());
    refused(dir.path(), &words("flow --example slit"), "slot");
}

/// Numbers of each array of a VTK file by its name, whose elements must close in turn.
fn arrays(file: &str) -> Vec<(String, Vec<f64>)> {
    let (mut open, mut found) = (Vec::new(), Vec::new());
    for piece in file.split('<').skip(1) {
        let (tag, rest) = piece.split_once('>').expect("a closed tag");
        if tag.starts_with('?') {
            continue;
        }
        if let Some(name) = tag.strip_prefix('/') {
            assert_eq!(open.pop(), Some(name), "an element that closes");
            continue;
        }
        let name = tag.split_whitespace().next().unwrap();
        assert!(!tag.ends_with('/'));
        open.push(name);
        if name == "DataArray" {
            let (_, after) = tag.split_once("Name=\"").unwrap();
            let label = after.split('"').next().unwrap();
            let numbers = rest.split_whitespace().map(|word| word.parse().unwrap());
            found.push((label.to_owned(), numbers.collect()));
        }
    }
    assert!(open.is_empty(), "{open:?} stay open");
    found
}

#[test]
fn a_flow_writes_its_files() {
    let dir = folder();
    let at = dir.path();
    write(at, CASE);
    let output = done(at, &words("flow case.toml --out run --json --backend cpu"));
    let record: Value = serde_json::from_slice(&output.stdout).unwrap();
    let result = &record["result"];
    let body = &result["bodies"][0];
    assert_eq!(body["name"], "cylinder");
    // Half of a cylinder at S = 1.83, delta = 1: 2.36 of the whole one by fine cells.
    let drag = 2.0 * number(&body["drag_coefficient"]);
    assert!((drag - 2.45).abs() < 0.15, "{drag}");
    assert!(result["sides"].get("bottom").is_none());
    for side in ["left", "right", "top"] {
        let side = result["sides"][side].as_object().unwrap();
        let keys: Vec<&str> = side.keys().map(String::as_str).collect();
        let numbers = ["mass", "momentum_x", "momentum_y", "energy"];
        assert_eq!(keys[..4], numbers);
        let errors = side["discretisation_error"].as_object().unwrap();
        assert!(errors.keys().eq(numbers.iter()));
    }
    let inflow = -number(&result["sides"]["left"]["mass"]);
    assert!(number(&result["balance"]["mass"]).abs() < 1e-2 * inflow);
    assert_eq!(record["status"], "converged");
    let cells = number(&result["cells"]) as usize;

    let read = |name: &str| fs::read_to_string(at.join("run").join(name)).unwrap();
    let fields = arrays(&read("flow.vtr"));
    let of = |name: &str| {
        &fields
            .iter()
            .find(|(label, _)| label == name)
            .expect(name)
            .1
    };
    let count = (of("x").len() - 1) * (of("y").len() - 1);
    for (name, parts) in [
        ("gas", 1),
        ("density", 1),
        ("temperature", 1),
        ("pressure", 1),
        ("velocity", 3),
        ("heat_flux", 3),
    ] {
        assert_eq!(of(name).len(), parts * count, "{name}");
    }
    assert_eq!(of("gas").iter().filter(|gas| **gas > 0.0).count(), cells);
    let walls = arrays(&read("walls.vtp"));
    let long = |name: &str| {
        walls
            .iter()
            .find(|(label, _)| label == name)
            .expect(name)
            .1
            .len()
    };
    let segments = long("heat");
    assert_eq!(long("points"), 6 * segments);
    assert_eq!(long("connectivity"), 2 * segments);
    assert_eq!(long("offsets"), segments);

    // The segments add up to the half circle, and their raw values to the loads.
    let table = read("surface.csv");
    let mut rows = csv_rows(&table);
    let columns = rows.remove(0);
    let column = |name: &str| columns.iter().position(|other| *other == name).expect(name);
    assert_eq!(rows.len(), segments);
    let value = |row: &[&str], name: &str| row[column(name)].parse::<f64>().unwrap();
    let sum = |of: &dyn Fn(&[&str]) -> f64| rows.iter().map(|row| of(row)).sum::<f64>();
    let girth = sum(&|row| value(row, "length"));
    assert!(
        (girth / (0.5 * std::f64::consts::PI) - 1.0).abs() < 0.02,
        "{girth}"
    );
    let force = sum(&|row| {
        let (nx, ny) = (value(row, "normal_x"), value(row, "normal_y"));
        let along = -value(row, "pressure_raw") * nx - value(row, "shear_raw") * ny;
        value(row, "length") * along
    });
    let force_x = number(&body["force_x"]);
    assert!((force / force_x - 1.0).abs() < 1e-10, "{force} {force_x}");
    let heat = sum(&|row| value(row, "length") * value(row, "heat_raw"));
    assert!((heat / number(&body["heat"]) - 1.0).abs() < 1e-10);
    let arcs: Vec<f64> = rows.iter().map(|row| value(row, "arc")).collect();
    assert!(arcs.windows(2).all(|pair| pair[0] < pair[1]));

    // The case that the run keeps is the same case, and a map has no other files.
    let again = done(
        at,
        &words("flow run/case.toml --json --quiet --backend cpu"),
    );
    let again: Value = serde_json::from_slice(&again.stdout).unwrap();
    assert_eq!(again["result"], record["result"]);
    assert_eq!(again["case"], record["case"]);
    for name in ["speed", "density", "temperature", "surface", "residuals"] {
        assert!(at.join(format!("run/{name}.png")).is_file(), "{name}");
        assert!(at.join(format!("run/{name}.svg")).is_file(), "{name}");
    }
    assert!(!at.join("run/flow.vti").exists());
}

fn csv_rows(table: &str) -> Vec<Vec<&str>> {
    table
        .lines()
        .map(|line| line.split(',').collect())
        .collect()
}

#[test]
fn results_have_their_errors() {
    let dir = folder();
    let at = dir.path();
    write(at, CASE);
    let output = done(at, &words("flow case.toml --out run --backend cpu"));
    let shown = text(&output.stdout);
    let row = shown.lines().find(|line| line.contains("C_D 1.3 +- "));
    let row = row.unwrap_or_else(|| panic!("{shown}"));
    assert!(row.contains("(cells "), "{row}");
    assert!(
        row.contains("velocities ") && row.contains("domain "),
        "{row}"
    );
    // Ten cells a diameter and a near border: beyond one per cent.
    let warning = text(&output.stderr);
    assert!(
        warning.contains("most of it is that of the domain: take x = ["),
        "{warning}"
    );
    let record = fs::read_to_string(at.join("run/run.json")).unwrap();
    let record: Value = serde_json::from_str(&record).unwrap();
    let body = &record["result"]["bodies"][0];
    for key in [
        "force_x",
        "force_y",
        "moment",
        "heat",
        "drag_coefficient",
        "lift_coefficient",
        "heat_coefficient",
    ] {
        let error = &body["discretisation_error"][key];
        let parts = ["cells", "velocities", "domain", "iteration"].map(|axis| number(&error[axis]));
        let total = number(&error["total"]);
        assert!(
            (parts.iter().sum::<f64>() / total - 1.0).abs() < 1e-9,
            "{key}"
        );
    }
    // The drag of the whole cylinder on fine cells within a far border is 2.36.
    let drag = 2.0 * number(&body["drag_coefficient"]);
    let bar = 2.0 * number(&body["discretisation_error"]["drag_coefficient"]["total"]);
    assert!((drag - 2.3632).abs() < 2.0 * bar, "{drag} +- {bar}");
    let whole = &record["result"]["discretisation_error"];
    assert!(number(&whole["mass_flow"]["total"]) > 0.0);

    // The same numbers without errors.
    let output = done(
        at,
        &words("flow case.toml --no-verify --json --backend cpu"),
    );
    let alone: Value = serde_json::from_slice(&output.stdout).unwrap();
    let body_alone = &alone["result"]["bodies"][0];
    assert!(body_alone["discretisation_error"].is_null());
    assert!(alone["result"]["discretisation_error"].is_null());
    assert_eq!(body_alone["force_x"], body["force_x"]);
}

#[test]
fn an_accuracy_that_is_asked_for_is_found_and_repeated() {
    let dir = folder();
    let at = dir.path();
    // Ends and cells are left out.
    let case = "\
[gas]
model = \"bgk\"
delta = 1
linear = true
[sides]
left = { kind = \"wall\" }
right = { kind = \"wall\" }
bottom = { kind = \"wall\" }
top = { kind = \"wall\" }
[[body]]
name = \"inner\"
shape = \"circle\"
radius = 0.5
rotation = 2
[[body]]
name = \"outer\"
shape = \"circle\"
radius = 1
hollow = true
";
    write(at, case);
    let output = done(
        at,
        &words("flow case.toml --accuracy 1e-2 --out run --backend cpu"),
    );
    let shown = text(&output.stdout);
    assert!(
        shown.contains("grid") && shown.contains("that were computed"),
        "{shown}"
    );
    let record = fs::read_to_string(at.join("run/run.json")).unwrap();
    let record: Value = serde_json::from_str(&record).unwrap();
    let accuracy = &record["result"]["accuracy"];
    assert_eq!(accuracy["reached"], true);
    assert_eq!(accuracy["grid"]["h"], record["case"]["domain"]["h"]);
    let torque = -number(&record["result"]["bodies"][0]["moment"]);
    assert!((torque / 0.416728 - 1.0).abs() < 1e-2, "{torque}");
    // The case of the record has the grid that was taken.
    let again = done(
        at,
        &words("flow run/case.toml --json --quiet --no-verify --backend cpu"),
    );
    let again: Value = serde_json::from_slice(&again.stdout).unwrap();
    assert_eq!(again["case"], record["case"]);
    assert_eq!(
        again["result"]["bodies"][0]["moment"],
        record["result"]["bodies"][0]["moment"]
    );
    refused(
        at,
        &words("flow case.toml --accuracy 1e-2 --no-verify"),
        "--no-verify",
    );
}

#[test]
fn a_gas_in_si_units_has_its_results_in_these() {
    let dir = folder();
    let at = dir.path();
    let si = "gas = \"argon\"\npressure = 10\ntemperature = 300\nlength = 8.1e-4";
    let case = CASE.replacen("delta = 1\nomega = 0.734", si, 1);
    let output = "[output]\nplots = false\n[solver]\ntolerance = 1e-2\n";
    write(at, &case.replace("[solver]\ntolerance = 1e-3\n", output));
    let output = done(at, &words("flow case.toml --out run --json --backend cpu"));
    let record: Value = serde_json::from_slice(&output.stdout).unwrap();
    let body = &record["result"]["bodies"][0];
    let (force, in_si) = (number(&body["force_x"]), number(&body["force_x_n_m"]));
    // rho0 v0^2 = 2 p0.
    assert!((in_si / (20.0 * 8.1e-4 * force) - 1.0).abs() < 1e-12);
    let delta = number(&record["case"]["gas"]["length"]) / number(&record["units"]["length_m"]);
    assert!((delta - 1.0).abs() < 0.02, "{delta}");
    let errors = &body["discretisation_error"];
    let ratio = number(&errors["force_x_n_m"]["cells"]) / number(&errors["force_x"]["cells"]);
    assert!((ratio / (20.0 * 8.1e-4) - 1.0).abs() < 1e-12, "{ratio}");
    assert!(record["result"]["sides"]["left"]["mass_kg_s_m"].is_number());
    let header = fs::read_to_string(at.join("run/surface.csv")).unwrap();
    assert!(
        header
            .lines()
            .next()
            .unwrap()
            .ends_with("pressure_pa,shear_pa,heat_w_m2")
    );
    assert!(at.join("run/flow_si.vtr").is_file());
    assert!(!at.join("run/speed.png").exists());
}

#[test]
fn a_flow_that_is_not_steady_in_time_fails() {
    let dir = folder();
    write(
        dir.path(),
        &CASE.replace("tolerance = 1e-3", "tolerance = 1e-9"),
    );
    let line = "flow case.toml --iterations 2 --out run --backend cpu";
    let output = crate::command::unconverged(dir.path(), line);
    assert!(text(&output.stderr).contains("--iterations"));
    let record = fs::read_to_string(dir.path().join("run/run.json")).unwrap();
    let record: Value = serde_json::from_str(&record).unwrap();
    assert_eq!(record["status"], "unfinished");
    assert!(dir.path().join("run/history.csv").is_file());
}
