//! Flows round an axis against exact values, and against the same flows in a plane and in space.

use std::f64::consts::PI;

use crate::bgk::Model;
use crate::flow::{Case, Duct, DuctSection, Findings, Machine};

fn case(text: &str) -> Case {
    let case: Case = toml::from_str(text).unwrap();
    case.resolve().unwrap()
}

fn solved_on(machine: &Machine, text: &str) -> Findings {
    let found = crate::flow::solve(&case(text), machine, &mut |_, _| true).unwrap();
    assert!(found.is_steady(), "{}: {text}", found.status);
    found
}

fn solved(text: &str) -> Findings {
    solved_on(&Machine::Cpu, text)
}

/// Transmission of tubes between reservoirs without collisions, by Clausing's integral equation.
#[test]
fn thin_gas_passes_tubes() {
    for (length, exact, error) in [
        (1.0, 0.671_984, 6e-4),
        (2.0, 0.514_231, 1e-3),
        (10.0, 0.190_942, 1.2e-3),
    ] {
        let found = solved(&format!(
            "gas = {{ delta = 1e-9, linear = true }}
            domain = {{ symmetry = \"axis\", x = [0, {length}], y = [0, 1], h = 0.1 }}
            velocities = {{ kind = \"axis\", angles = 16, speeds = 8, axial = 8 }}
            [sides]
            left = {{ kind = \"reservoir\", density = 1 }}
            right = {{ kind = \"vacuum\" }}
            top = {{ kind = \"wall\" }}"
        ));
        let passage = &found.passages[0];
        assert!((passage.opening.unwrap() - PI).abs() < 1e-12);
        let transmission = passage.transmission.unwrap();
        println!(
            "{length}: {} after {}",
            transmission / exact - 1.0,
            found.iterations
        );
        assert!(
            (transmission / exact - 1.0).abs() < error,
            "{length}: {transmission}"
        );
    }
}

/// The infinite tube by linearised BGK: the prototype's values.
#[test]
fn gas_flows_through_infinite_tubes() {
    for (delta, expected, error) in [
        (0.1, 1.4041, 2e-3),
        (1.0, 1.4584, 1e-3),
        (10.0, 3.5641, 4e-3),
    ] {
        let found = solved(&format!(
            "gas = {{ delta = {delta}, model = \"bgk\", linear = true }}
            domain = {{ symmetry = \"axis\", x = [0, 1], y = [0, 1], h = 0.05 }}
            velocities = {{ kind = \"axis\", angles = 24, speeds = 16, axial = 8 }}
            [sides]
            left = {{ kind = \"periodic\", jump = 1 }}
            right = {{ kind = \"periodic\", jump = 1 }}
            top = {{ kind = \"wall\" }}"
        ));
        let flow = 2.0 * found.passages[0].mobility.unwrap();
        assert!((flow / expected - 1.0).abs() < error, "{delta}: {flow}");
    }
}

const BODIES: &str = "[[body]]
shape = \"circle\"
radius = 0.4
temperature = 1.5
accommodation = 0.7
[[body]]
shape = \"polygon\"
points = [[0.6, 0.2], [0.9, 0.5], [0.8, 0.8], [0.55, 0.6]]
velocity = [0.2, 0]";

/// Lanes and loops are the same sweep: bodies on and off the axis, a mirror, a wall with less accommodation, an annulus.
#[test]
fn lanes_are_the_loops() {
    let common = "velocities = { angles = 6, step = 0.9, reach = 3 }
        solver = { iterations = 3 }";
    for text in [
        format!(
            "gas = {{ delta = 2 }}
            domain = {{ symmetry = \"axis\", x = [-1, 1.2], y = [0, 1], h = 0.11 }}
            {common}
            [sides]
            left = {{ kind = \"reservoir\", density = 1.2 }}
            right = {{ kind = \"mirror\" }}
            top = {{ kind = \"wall\", accommodation = 0.6, velocity = 0.3 }}
            {BODIES}"
        ),
        format!(
            "gas = {{ delta = 2 }}
            domain = {{ symmetry = \"axis\", x = [-1, 1.2], y = [0.3, 1.3], h = 0.11 }}
            {common}
            [sides]
            left = {{ kind = \"reservoir\" }}
            right = {{ kind = \"outlet\", pressure = 0.8 }}
            bottom = {{ kind = \"mirror\" }}
            top = {{ kind = \"split\", at = 0.4, left = {{ density = 1 }}, right = {{ density = 0.8 }} }}
            {BODIES}"
        )
        .replace("radius = 0.4", "radius = 0.4\ncentre = [0, 0.75]"),
        "gas = { delta = 2, linear = true }
        domain = { symmetry = \"axis\", x = [0, 1], y = [0, 1], h = 0.11 }
        velocities = { kind = \"axis\", angles = 6, speeds = 4, axial = 4 }
        solver = { iterations = 3 }
        [sides]
        left = { kind = \"periodic\", jump = 1 }
        right = { kind = \"periodic\", jump = 1 }
        top = { kind = \"wall\" }
        [[body]]
        shape = \"circle\"
        centre = [0.5, 0]
        radius = 0.3"
            .to_owned(),
    ] {
        let [lanes, loops] = [Machine::Cpu, Machine::Reference].map(|machine| {
            crate::flow::solve(&case(&text), &machine, &mut |_, _| true).unwrap()
        });
        let pairs = [
            (&lanes.fields.density, &loops.fields.density),
            (&lanes.fields.velocity_y, &loops.fields.velocity_y),
            (&lanes.fields.heat_x, &loops.fields.heat_x),
        ];
        for (a, b) in pairs {
            let most = b.iter().fold(0.0_f64, |most, value| most.max(value.abs()));
            assert!(most > 1e-6);
            for (a, b) in a.iter().zip(b.iter()) {
                assert!((a - b).abs() < 1e-11 * most.max(1.0), "{a} {b}: {text}");
            }
        }
        for ((_, a), (_, b)) in lanes.sides.iter().zip(&loops.sides) {
            assert!((a.mass - b.mass).abs() < 1e-11 && (a.energy - b.energy).abs() < 1e-11);
        }
    }
}

/// Gas at rest beside walls of its own temperature stays as it is.
#[test]
fn uniform_gas_stays() {
    let found = solved(&format!(
        "gas = {{ delta = 1 }}
        domain = {{ symmetry = \"axis\", x = [-1, 1.2], y = [0, 1], h = 0.11 }}
        [sides]
        left = {{ kind = \"reservoir\" }}
        right = {{ kind = \"reservoir\" }}
        top = {{ kind = \"mirror\" }}
        {}",
        BODIES
            .replace("temperature = 1.5", "")
            .replace("velocity = [0.2, 0]", "")
    ));
    let gas = found.fields.gas.iter().zip(&found.fields.density);
    let of_gas = gas.filter(|(share, _)| **share > 0.0);
    let apart = of_gas.map(|(_, n)| (n - found.fields.density[0]).abs());
    let most = apart.fold(0.0, f64::max);
    assert!(most < 1e-12, "{most}");
}

/// Drag and heat of bodies without collisions follow from each wall alone.
#[test]
fn thin_gas_loads_convex_bodies() {
    for body in [
        "shape = \"circle\"\nradius = 0.5",
        "shape = \"rectangle\"\nsize = [0.7, 0.8]\ntemperature = 2",
        "shape = \"polygon\"\npoints = [[-0.5, 0], [0.5, -0.4], [0.5, 0.4]]",
        "shape = \"circle\"\nradius = 0.5\naccommodation = 0.3",
        "shape = \"rectangle\"\nsize = [0.7, 0.8]\ntemperature = 2\naccommodation = 0.1",
        "shape = \"polygon\"\npoints = [[-0.5, 0], [0.5, -0.4], [0.5, 0.4]]\naccommodation = 0.5",
    ] {
        let found = solved(&format!(
            "gas = {{ delta = 1e-6, model = \"bgk\" }}
            domain = {{ symmetry = \"axis\", x = [-1.25, 1.25], y = [0, 1.25], h = 0.0625 }}
            solver = {{ tolerance = 1e-4 }}
            [sides]
            left = {{ kind = \"stream\", speed_ratio = 1 }}
            right = {{ kind = \"stream\", speed_ratio = 1 }}
            top = {{ kind = \"stream\", speed_ratio = 1 }}
            [[body]]
            {body}"
        ));
        let loads = &found.bodies[0];
        for (value, exact, error) in [
            (loads.drag_coefficient, loads.drag_free_molecular, 5e-4),
            (loads.heat_coefficient, loads.heat_free_molecular, 5e-4),
        ] {
            let (value, exact) = (value.unwrap(), exact.unwrap());
            assert!(
                (value / exact - 1.0).abs() < error,
                "{body}: {value} {exact}"
            );
        }
        assert_eq!(loads.force_y, 0.0);
        assert_eq!(loads.lift_coefficient, None);
    }
}

/// Heat between spheres without collisions, whose walls mirror a part: `1/Q = (1/a_1 + 1/a_2 - 1)/Q_0`, for what leaves the inner one comes back to it.
#[test]
fn spheres_that_mirror_a_part_exchange_heat() {
    for (inner, outer, error) in [(1.0, 1.0, 3e-3), (0.2, 1.0, 3e-3), (0.9, 0.9, 1.5e-2)] {
        let found = solved(&format!(
            "gas = {{ delta = 1e-9, linear = true }}
            domain = {{ symmetry = \"axis\", x = [-1.1, 1.1], y = [0, 1.1], h = 0.05 }}
            velocities = {{ kind = \"axis\", angles = 24, speeds = 6, axial = 12 }}
            solver = {{ tolerance = 1e-6, iterations = 200 }}
            sides = {{ left = {{ kind = \"vacuum\" }}, right = {{ kind = \"vacuum\" }}, top = {{ kind = \"vacuum\" }} }}
            [[body]]
            shape = \"circle\"
            radius = 0.5
            temperature = 1
            accommodation = {inner}
            [[body]]
            shape = \"circle\"
            radius = 1
            hollow = true
            accommodation = {outer}"
        ));
        let free = 0.5 * PI.sqrt();
        let exact = free / (1.0 / inner + 1.0 / outer - 1.0);
        let [given, taken] = [0, 1].map(|k: usize| found.bodies[k].heat);
        assert!(
            (-given / exact - 1.0).abs() < error,
            "{inner} {outer}: {given} {exact}"
        );
        assert!((given + taken).abs() < 1e-4 * exact, "{given} {taken}");
    }
}

/// The wall of a tube is a side or a body, with the flow of the integral equations.
#[test]
fn tubes_have_walls_that_mirror_a_part() {
    let text = |top: &str, body: &str| {
        format!(
            "gas = {{ delta = 1, model = \"bgk\", linear = true }}
            domain = {{ symmetry = \"axis\", x = [0, 0.2], y = [0, {top}], h = 0.05 }}
            velocities = {{ kind = \"axis\", angles = 24, speeds = 12, axial = 8 }}
            solver = {{ tolerance = 1e-9 }}
            sides = {{ left = {{ kind = \"periodic\", jump = 0.2 }}, right = {{ kind = \"periodic\", jump = 0.2 }}, top = {{ kind = \"wall\", accommodation = 0.4 }} }}
            {body}"
        )
    };
    let side = solved(&text("1", ""));
    let body = "[[body]]
        shape = \"rectangle\"
        centre = [0.1, 1.5]
        size = [1, 1]
        accommodation = 0.4";
    let body = solved(&text("1.1", body));
    let [a, b] = [&side, &body].map(|found| found.passages[0].flow);
    assert!((a / b - 1.0).abs() < 1e-8, "{a} {b}");
    let duct = Duct {
        model: Model::Bgk,
        accommodation: 0.4,
        ..Duct::new(DuctSection::Circle, 1.0)
    };
    let exact = duct.solve().unwrap().g_p;
    let flow = 2.0 * side.passages[0].mobility.unwrap();
    assert!((flow / exact - 1.0).abs() < 2e-3, "{flow} {exact}");
}

/// Half a tube up to its middle section and the whole are the same flow.
#[test]
fn mirrors_halve_a_flow() {
    let text = |ends: &str, right: &str| {
        format!(
            "gas = {{ delta = 3 }}
            domain = {{ symmetry = \"axis\", x = {ends}, y = [0, 1], h = 0.125 }}
            velocities = {{ angles = 8, step = 0.8 }}
            solver = {{ tolerance = 1e-9 }}
            [sides]
            left = {{ kind = \"wall\", temperature = 1.5 }}
            right = {right}
            top = {{ kind = \"wall\" }}"
        )
    };
    let half = solved(&text("[0, 1]", "{ kind = \"mirror\" }"));
    let whole = solved(&text("[0, 2]", "{ kind = \"wall\", temperature = 1.5 }"));
    let rows = half
        .fields
        .temperature
        .chunks(8)
        .zip(whole.fields.temperature.chunks(16));
    for (half, whole) in rows {
        for (a, b) in half.iter().zip(whole) {
            assert!((a - b).abs() < 1e-7, "{a} {b}");
        }
    }
}

/// The same by `acceleration` to a tolerance.
fn solved_by(acceleration: &str, tolerance: f64, text: &str) -> Findings {
    let solver = format!("tolerance = {tolerance}, acceleration = \"{acceleration}\"");
    solved(&format!("solver = {{ {solver} }}\n{text}"))
}

/// A long duct under a fall of pressure, linearised.
fn duct(delta: f64) -> String {
    format!(
        r#"
        gas = {{ model = "bgk", delta = {delta}, linear = true }}
        domain = {{ x = [0, 0.1], y = [0, 1], h = 0.05, symmetry = "axis" }}
        velocities = {{ kind = "axis", angles = 12, speeds = 8, axial = 8 }}
        sides = {{ left = {{ kind = "periodic", jump = 0.1 }}, right = {{ kind = "periodic", jump = 0.1 }}, top = {{ kind = "wall" }} }}
        "#
    )
}

/// An orifice in a thick wall, from gas of density 1 to gas of another density.
fn orifice(delta: f64, behind: f64) -> String {
    format!(
        r#"
        gas = {{ delta = {delta} }}
        domain = {{ x = [-3, 3], y = [0, 3], h = 0.25, symmetry = "axis" }}
        velocities = {{ kind = "axis", angles = 8, speeds = 6, axial = 8 }}
        sides = {{ left = {{ kind = "reservoir" }}, right = {{ kind = "reservoir", density = {behind} }}, top = {{ kind = "wall" }} }}
        [[body]]
        shape = "rectangle"
        centre = [0, 2.5]
        size = [0.5, 3]
        "#
    )
}

#[test]
fn corrected_flows_keep_their_values() {
    for case in [duct(30.0), orifice(3.0, 0.5)] {
        let corrected = solved_by("auto", 1e-7, &case);
        let mixed = solved_by("none", 1e-7, &case);
        assert!(
            2 * corrected.iterations < mixed.iterations,
            "{} {}",
            corrected.iterations,
            mixed.iterations
        );
        let mass = |found: &Findings| found.sides[1].1.mass;
        let [a, b] = [mass(&corrected), mass(&mixed)];
        assert!((a / b - 1.0).abs() < 2e-5, "{a} {b}");
    }
}

#[test]
fn dense_gas_takes_few_sweeps() {
    let found = solved_by("auto", 1e-6, &duct(100.0));
    assert!(found.iterations <= 40, "{}", found.iterations);
    for behind in [0.8, 0.02] {
        let found = solved_by("auto", 1e-5, &orifice(30.0, behind));
        assert!(found.iterations <= 30, "{}", found.iterations);
        assert!(found.balance.mass.abs() < 1e-4, "{:?}", found.balance);
    }
    let stream = "{ kind = \"stream\", mach = 2 }";
    let sphere = format!(
        r#"
        gas = {{ delta = 50 }}
        domain = {{ x = [-1.5, 1.5], y = [0, 1.5], h = 0.125, symmetry = "axis" }}
        velocities = {{ kind = "axis", angles = 8, speeds = 6, axial = 12 }}
        sides = {{ left = {stream}, right = {stream}, top = {stream} }}
        [[body]]
        shape = "circle"
        radius = 0.5
        temperature = 1.5
        "#
    );
    let found = solved_by("auto", 1e-6, &sphere);
    assert!(found.iterations <= 60, "{}", found.iterations);
    assert!(found.balance.energy.abs() < 1e-4, "{:?}", found.balance);
}

/// Gas at rest is a fixed point of the first sweep, and the density of an inflow acts in the second.
#[test]
fn gas_at_rest_takes_in_the_flow_that_is_given() {
    let found = solved(
        r#"
        gas = { delta = 5 }
        domain = { x = [0, 2], y = [0, 1], h = 0.25, symmetry = "axis" }
        velocities = { kind = "axis", angles = 8, speeds = 6, axial = 8 }
        sides = { left = { kind = "inflow", mass_flow = 0.3 }, right = { kind = "reservoir" }, top = { kind = "wall" } }
        "#,
    );
    let mass = found.sides[0].1.mass;
    assert!((mass + 0.3).abs() < 1e-5, "{mass}");
}

/// Both sides of a plate are next to each other in the grid: the correction keeps them apart.
#[test]
fn dense_gas_passes_a_thin_hole_into_vacuum() {
    let found = solved_by(
        "auto",
        1e-4,
        r#"
        gas = { model = "bgk", delta = 10, omega = 0.5 }
        velocities = { kind = "axis", angles = 8, speeds = 6, axial = 6 }
        [domain]
        symmetry = "axis"
        x = [-16, 16]
        y = [0, 16]
        h = 0.1
        core = [[-0.2, 0.2], [0.6, 1.2]]
        growth = 1.3
        largest = 4
        [sides]
        left = { kind = "reservoir" }
        right = { kind = "vacuum" }
        top = { kind = "split", at = 0, left = {}, right = { density = 1e-6 } }
        [[body]]
        shape = "rectangle"
        centre = [0, 101]
        size = [0.001, 200]
        "#,
    );
    assert!(found.iterations <= 60, "{}", found.iterations);
    let passed = found.passages[0].transmission.unwrap();
    assert!((passed - 1.46).abs() < 0.03, "{passed}");
}
