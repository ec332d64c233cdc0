//! `rarefy flow` round an axis and `rarefy tube`: exact values, refusals, files and their forms.

use std::fs;
use std::path::Path;

use serde_json::Value;

use crate::command::{done, folder, number, refused};
use crate::flow_case_cli::{words, write};

/// A short tube between a vessel and vacuum.
const TUBE: &str = "\
gas = { delta = 1e-9, linear = true }
domain = { symmetry = \"axis\", x = [0, 1], y = [0, 1], h = 0.1 }
velocities = { angles = 16, speeds = 8, axial = 8 }
[sides]
left = { kind = \"reservoir\", density = 1 }
right = { kind = \"vacuum\" }
top = { kind = \"wall\" }
";

/// A body in a slow stream.
const BALL: &str = "\
gas = { gas = \"argon\", pressure = 1, temperature = 300, length = 0.01 }
domain = { symmetry = \"axis\", x = [-1.5, 1.5], y = [0, 1.5], h = 0.125 }
velocities = { angles = 8, speeds = 6, axial = 6 }
solver = { tolerance = 1e-4 }
[sides]
left = { kind = \"stream\", speed_ratio = 0.5 }
right = { kind = \"stream\", speed_ratio = 0.5 }
top = { kind = \"stream\", speed_ratio = 0.5 }
[[body]]
name = \"ball\"
shape = \"circle\"
radius = 0.5
";

fn read(at: &Path) -> Value {
    serde_json::from_slice(&fs::read(at.join("run.json")).unwrap()).unwrap()
}

#[test]
fn wrong_cases_are_refused_in_one_line_with_the_place() {
    let dir = folder();
    let at = dir.path();
    for (text, from, to, what) in [
        (
            TUBE,
            "y = [0, 1]",
            "y = [-1, 1]",
            "domain.y: [-1, 1]; expected distances from the axis, from 0 on",
        ),
        (
            TUBE,
            "y = [0, 1]",
            "y = [0.5, 1]",
            "sides.bottom: none; expected a side at the least radius, y = 0.5",
        ),
        (
            TUBE,
            "top = {",
            "bottom = { kind = \"wall\" }\ntop = {",
            "sides.bottom: given; expected no bottom: y = 0 is the axis",
        ),
        (
            TUBE,
            "symmetry = \"axis\", ",
            "",
            "velocities.kind: axis; expected symmetry = \"axis\" in [domain], to which",
        ),
        (
            TUBE,
            "symmetry = \"axis\", x = [0, 1], y = [0, 1], h = 0.1 }\nvelocities = { angles = 16, speeds = 8, axial = 8 }",
            "x = [0, 1], y = [0, 1], h = 0.1 }",
            "sides.bottom: none; expected a side",
        ),
        (
            TUBE,
            "h = 0.1",
            "h = 0.1, z = [0, 1]",
            "domain.symmetry: \"axis\" beside z; expected no z round an axis",
        ),
        (
            TUBE,
            "speeds = 8, axial = 8",
            "speeds = 8",
            "velocities.kind: polar; expected kind = \"axis\" or \"uniform\" round an axis",
        ),
        (
            TUBE,
            "angles = 16",
            "angles = 15",
            "velocities.angles: 15; expected an even number of directions of a half turn, from 4",
        ),
        (
            TUBE,
            "top = { kind = \"wall\" }",
            "top = { kind = \"periodic\" }",
            "sides.top: kind: periodic; expected another kind: a flow round an axis repeats along x",
        ),
        (
            BALL,
            "left = { kind = \"stream\", speed_ratio = 0.5 }",
            "left = { kind = \"stream\", speed_ratio = 0.5, angle = 20 }",
            "sides.left: angle: 20; expected a stream along the axis: angle = 0 or 180",
        ),
        (
            BALL,
            "radius = 0.5",
            "radius = 0.5\ncentre = [0, 0.2]",
            "body 1: place: y = -0.3 to 0.7, across the axis; expected a body at y >= 0, or one that",
        ),
        (
            BALL,
            "radius = 0.5",
            "radius = 0.5\nrotation = 1",
            "body 1: rotation: 1; expected no rotation round an axis: swirl is not computed",
        ),
        (
            BALL,
            "radius = 0.5",
            "radius = 0.5\nvelocity = [0, 1]",
            "body 1: velocity: [0, 1, 0]; expected a velocity along the axis, [x, 0]",
        ),
        (
            BALL,
            "radius = 0.5",
            "radius = 0.5\naccommodation = { tangential = 0.9, normal = 0.8 }",
            "body 1: accommodation: a scattering kernel; expected a number in space and round an axis",
        ),
        (
            BALL,
            "shape = \"circle\"",
            "shape = \"sphere\"",
            "body 1: shape: sphere; expected a shape of the plane",
        ),
    ] {
        assert!(text.contains(from), "{from}");
        write(at, &text.replacen(from, to, 1));
        refused(at, &["flow", "case.toml"], what);
    }
    // Rows that close on themselves are the CPU's.
    let periodic = "{ kind = \"periodic\", jump = 1 }";
    let infinite = TUBE
        .replace("{ kind = \"reservoir\", density = 1 }", periodic)
        .replace("{ kind = \"vacuum\" }", periodic);
    write(at, &infinite);
    let line = words("flow case.toml --backend emulator");
    refused(at, &line, "`cpu`, which closes its rows");
    for (line, what) in [
        ("tube", "--delta"),
        ("tube --delta 0", "from 1e-9 to 300"),
        ("tube --delta 1e4", "delta/4 + 1.02"),
        ("tube --delta 1 --accommodation 1.5", "at most 1"),
        ("tube --delta 1 --model es", "bgk"),
        ("tube --delta 1 --z-rot 5", "the model polyatomic"),
        ("tube --delta 1 --model polyatomic --z-rot 0.1", "--z-rot"),
        (
            "tube --delta 1 --section square",
            "circle, slit or rectangle:RATIO is needed",
        ),
        ("tube --delta 1 --section rectangle:0.5", "from 1 to 100"),
        ("tube --delta 1 --section rectangle:two", "from 1 to 100"),
        ("tube --delta 400 --section slit", "from 1e-9 to 300"),
        (
            "tube --delta 1 --section slit --accommodation 0.001",
            "a share from 0.01 to 1 for a slit or a rectangle",
        ),
        (
            "tube --delta 1 --section slit --backend emulator",
            "cpu or auto",
        ),
        (
            "tube --delta 1 --section slit --precision f32",
            "f64 for a tube",
        ),
    ] {
        refused(at, &words(line), what);
    }
}

/// A tube lets Clausing's share of the molecules pass; its flow has an error that covers the difference.
#[test]
fn a_tube_has_clausings_transmission_and_an_error() {
    let dir = folder();
    let at = dir.path();
    write(at, TUBE);
    done(at, &words("flow case.toml --out tube --quiet"));
    let result = &read(&at.join("tube"))["result"];
    let passage = &result["passages"][0];
    let transmission = number(&passage["transmission"]);
    assert!(
        (transmission / 0.671_984 - 1.0).abs() < 6e-4,
        "{transmission}"
    );
    let flow = number(&result["mass_flow"]);
    let error = number(&result["discretisation_error"]["mass_flow"]["total"]);
    let exact = 0.671_984 * std::f64::consts::PI.sqrt() / 2.0;
    assert!(
        (flow - exact).abs() < error && error < 0.02 * flow,
        "{flow} {error}"
    );
}

/// The throughput of a tube in SI units is its flow of mass times R T, and its conductance times the fall of the pressure.
#[test]
fn a_tube_has_its_throughput_in_pascals() {
    let dir = folder();
    let at = dir.path();
    let argon = TUBE
        .replace(
            "delta = 1e-9, linear = true",
            "gas = \"argon\", pressure = 2, temperature = 300, length = 0.01",
        )
        .replace(
            "{ kind = \"vacuum\" }",
            "{ kind = \"reservoir\", density = 0.5 }",
        );
    write(at, &argon);
    done(at, &words("flow case.toml --no-verify --out tube --quiet"));
    let result = &read(&at.join("tube"))["result"];
    let passage = &result["passages"][0];
    let found = number(&passage["flow_pa_m3_s"]);
    let of_argon = 8.314_462_6 / 0.039_948;
    let mass = number(&result["mass_flow_kg_s"]);
    assert!(
        (found / (mass * of_argon * 300.0) - 1.0).abs() < 1e-3,
        "{found} {mass}"
    );
    let conductance = number(&passage["conductance_m3_s"]);
    assert!(
        (found / conductance - 1.0).abs() < 1e-9,
        "{found} {conductance}"
    );
}

/// Loads and flows are of whole bodies; walls and fields have the files of a plane.
#[test]
fn a_ball_has_loads_in_newtons_and_the_files_of_a_plane() {
    let dir = folder();
    let at = dir.path();
    write(at, BALL);
    let output = done(at, &words("flow case.toml --out ball"));
    let summary = String::from_utf8(output.stdout).unwrap();
    assert!(summary.contains("round an axis"), "{summary}");
    let folder = at.join("ball");
    let record = read(&folder);
    let body = &record["result"]["bodies"][0];
    let (drag, force) = (number(&body["drag_coefficient"]), number(&body["force_x"]));
    let front = number(&body["frontal_area"]);
    assert!(
        (front / (0.25 * std::f64::consts::PI) - 1.0).abs() < 0.02,
        "{front}"
    );
    assert!((drag - force / (0.5 * 0.25 * front)).abs() < 1e-12 * drag);
    assert!(number(&body["force_x_n"]) > 0.0 && body["force_z"].is_null());
    assert!(body["lift_coefficient"].is_null() && number(&body["force_y"]) == 0.0);
    for name in [
        "surface.csv",
        "walls.vtp",
        "flow.vti",
        "speed.png",
        "surface.png",
    ] {
        assert!(folder.join(name).is_file(), "{name}");
    }
    let surface = fs::read_to_string(folder.join("surface.csv")).unwrap();
    assert!(
        surface.starts_with("body,curve,arc,angle,x,y,"),
        "{surface}"
    );
    // The record runs the run again.
    done(at, &words("flow ball/case.toml --out again --quiet"));
    let again = &read(&at.join("again"))["result"]["bodies"][0];
    assert_eq!(again["force_x"], body["force_x"]);
}

/// Force on the ball and heat to it, on a machine.
fn loads(at: &Path, machine: &str) -> [f64; 2] {
    let line = "flow case.toml --json --quiet --overwrite --no-verify --out run";
    let output = done(at, &words(&format!("{line} {machine}")));
    let record: Value = serde_json::from_slice(&output.stdout).unwrap();
    let body = &record["result"]["bodies"][0];
    ["force_x", "heat"].map(|key| number(&body[key]))
}

#[test]
fn kernels_find_the_loads_of_the_cpu() {
    let dir = folder();
    let at = dir.path();
    // A few sweeps of few rings: the emulator checks each access to memory.
    let few = BALL
        .replace("h = 0.125", "h = 0.3")
        .replace("tolerance = 1e-4", "tolerance = 5e-2");
    for text in [
        few.clone(),
        few.replace("gas = \"argon\"", "gas = \"nitrogen\""),
    ] {
        write(at, &text);
        let cpu = loads(at, "--backend cpu");
        let double = loads(at, "--backend emulator");
        let single = loads(at, "--backend emulator --precision f32");
        for ((cpu, double), single) in cpu.iter().zip(double).zip(single) {
            assert!((double - cpu).abs() < 1e-10, "{double} {cpu}");
            assert!((single - cpu).abs() < 1e-4, "{single} {cpu}");
        }
    }
}

#[test]
fn a_gpu_finds_the_loads_of_the_cpu() {
    if crate::support::device().is_none() {
        return;
    }
    let dir = folder();
    let at = dir.path();
    for text in [
        BALL.replace("tolerance = 1e-4", "tolerance = 1e-8"),
        BALL.replace("gas = \"argon\"", "gas = \"nitrogen\"")
            .replace("tolerance = 1e-4", "tolerance = 1e-8"),
    ] {
        write(at, &text);
        let cpu = loads(at, "--backend cpu");
        let double = loads(at, "--backend cuda");
        let single = loads(at, "--backend cuda --precision f32 --tolerance 1e-4");
        for ((cpu, double), single) in cpu.iter().zip(double).zip(single) {
            assert!((double - cpu).abs() < 1e-7, "{double} {cpu}");
            assert!((single - cpu).abs() < 1e-3, "{single} {cpu}");
        }
    }
}

/// Tubes have the known coefficients, one row a rarefaction.
#[test]
fn infinite_tubes_are_tabulated() {
    let dir = folder();
    let at = dir.path();
    let line = "tube --delta 0.1,1,10 --model bgk --out tubes --quiet";
    done(at, &words(line));
    let folder = at.join("tubes");
    let rows = &read(&folder)["result"]["tube"];
    // The values of a separate program, to its last digit.
    for (k, expected) in [1.4041, 1.4584, 3.5641].into_iter().enumerate() {
        let found = number(&rows[k]["g_p"]);
        let error = number(&rows[k]["discretisation_error"]["g_p"]);
        assert!((found / expected - 1.0).abs() < 2e-4, "{found} {expected}");
        assert!(error > 0.0 && error < 2e-6 * found, "{error}");
        assert!(number(&rows[k]["g_t"]) > 0.0);
    }
    let table = fs::read_to_string(folder.join("tube.csv")).unwrap();
    assert_eq!(table.lines().count(), 4, "{table}");
    assert!(
        table.starts_with("delta,g_p,g_p_error,g_t,g_t_error\n"),
        "{table}"
    );
    assert!(folder.join("tube.png").is_file());
    // A wall that mirrors a part lets more pass.
    done(
        at,
        &words("tube --delta 1 --model bgk --accommodation 0.8 --no-verify --out smooth --quiet"),
    );
    let smooth = number(&read(&at.join("smooth"))["result"]["tube"][0]["g_p"]);
    assert!(smooth > number(&rows[1]["g_p"]) + 0.3, "{smooth}");
    // Without collisions the bar reaches to the exact value.
    done(at, &words("tube --delta 1e-9 --out free --quiet"));
    let row = &read(&at.join("free"))["result"]["tube"][0];
    let exact = 8.0 / (3.0 * std::f64::consts::PI.sqrt());
    for (key, exact) in [("g_p", exact), ("g_t", 0.5 * exact)] {
        let off = (number(&row[key]) - exact).abs();
        let error = number(&row["discretisation_error"][key]);
        // Collisions leave some 1e-8.
        assert!(off < error + 3e-8 * exact, "{row}");
        assert!(error < 1e-6, "{row}");
    }
}

/// A gas by name has its model: molecules that rotate, or single atoms.
#[test]
fn infinite_tubes_take_a_gas() {
    let dir = folder();
    let at = dir.path();
    let run = |line: &str| {
        let line = format!("tube --delta 1 --no-verify --quiet --overwrite --out tube {line}");
        done(at, &words(&line));
        read(&at.join("tube"))
    };
    let nitrogen = run("--gas nitrogen --temperature 293.15");
    assert_eq!(nitrogen["parameters"]["model"], "polyatomic");
    let rotation = &nitrogen["result"]["rotation"];
    let [translation, _] = [0, 1].map(|k: usize| number(&rotation["eucken_factors"][k]));
    assert!((2.2..2.4).contains(&translation), "{rotation}");
    let argon = run("--gas argon --temperature 293.15");
    assert_eq!(argon["result"], run("")["result"]);
    refused(at, &words("tube --delta 1 --gas air"), "--temperature");
}

/// Far from the axis a ring in a stream has the load of a cylinder, a unit length of it.
#[test]
fn a_ring_of_large_radius_is_a_cylinder_of_the_plane() {
    let dir = folder();
    let at = dir.path();
    let case = |domain: &str, middle: &str| {
        format!(
            "gas = {{ delta = 2 }}\n\
             domain = {{ {domain}, x = [-3, 3], h = 0.16 }}\n\
             velocities = {{ kind = \"uniform\", step = 0.5 }}\n\
             [sides]\n\
             left = {{ kind = \"stream\", mach = 0.8 }}\n\
             right = {{ kind = \"stream\", mach = 0.8 }}\n\
             bottom = {{ kind = \"mirror\" }}\n\
             top = {{ kind = \"mirror\" }}\n\
             [[body]]\n\
             shape = \"circle\"\n\
             centre = [0, {middle}]\n\
             radius = 0.5\n"
        )
    };
    let coefficients = |text: String, out: &str| {
        write(at, &text);
        let line = format!("flow case.toml --backend cpu --quiet --no-verify --out {out}");
        done(at, &words(&line));
        let body = read(&at.join(out))["result"]["bodies"][0].clone();
        ["drag_coefficient", "heat_coefficient"].map(|key| number(&body[key]))
    };
    let plane = coefficients(case("y = [-2, 2]", "0"), "plane");
    let domain = "symmetry = \"axis\", y = [998, 1002]";
    let ring = coefficients(case(domain, "1000"), "ring");
    for (plane, ring) in plane.iter().zip(ring) {
        assert!((ring / plane - 1.0).abs() < 4e-3, "{ring} for {plane}");
    }
}

/// Slits and rectangular ducts have the rows and files of tubes.
#[test]
fn infinite_ducts_are_tabulated() {
    let dir = folder();
    let at = dir.path();
    // Tables of the BGK equation between plates.
    done(
        at,
        &words("tube --section slit --delta 0.1,1,10 --model bgk --out slits --quiet"),
    );
    let record = read(&at.join("slits"));
    assert_eq!(record["parameters"]["section"], "slit");
    let rows = &record["result"]["tube"];
    for (k, expected) in [2.0328, 1.5387, 2.7686].into_iter().enumerate() {
        let found = number(&rows[k]["g_p"]);
        let error = number(&rows[k]["discretisation_error"]["g_p"]);
        assert!((found / expected - 1.0).abs() < 1e-4, "{found} {expected}");
        assert!(error > 0.0 && error < 1e-4 * found, "{error}");
        assert!(number(&rows[k]["g_t"]) > 0.0);
    }
    let table = fs::read_to_string(at.join("slits/tube.csv")).unwrap();
    assert!(
        table.starts_with("delta,g_p,g_p_error,g_t,g_t_error\n"),
        "{table}"
    );
    assert!(at.join("slits/tube.png").is_file());
    // The record runs the run again.
    done(
        at,
        &words("tube --config slits/run.json --out again --quiet"),
    );
    let again = &read(&at.join("again"))["result"]["tube"];
    assert_eq!(again, rows);
    // Free molecules in a rectangle of sides 1:2 whose walls mirror a fifth: sums over images in closed form, by mpmath.
    done(
        at,
        &words(
            "tube --section rectangle:2 --delta 1e-9 --accommodation 0.8 --accuracy 1e-5 --out duct --quiet",
        ),
    );
    let row = &read(&at.join("duct"))["result"]["tube"][0];
    let found = number(&row["g_p"]);
    assert!((found / 1.59943669449 - 1.0).abs() < 1e-5, "{found}");
    assert!(number(&row["discretisation_error"]["g_p"]) <= 1e-5 * found);
}
