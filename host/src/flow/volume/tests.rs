//! Flows in space against exact values, and against the same flows in a plane.

use std::f64::consts::PI;

use super::engine::{Loops, Sweeps, Vectors};
use super::gas::DRIFT;
use super::steady::Steady;
use super::sweep::Swept;
use super::{Problem, nodes};
use crate::bgk::Model;
use crate::compute::Precision;
use crate::emulator::Emulator;
use crate::flow::ring::{Plan, RingSweeps};
use crate::flow::{Case, Duct, DuctSection, Findings, Machine};

fn case(text: &str) -> Case {
    let case: Case = toml::from_str(text).unwrap();
    case.resolve().unwrap()
}

fn solved(text: &str) -> Findings {
    let found = crate::flow::solve(&case(text), &Machine::Cpu, &mut |_, _| true).unwrap();
    assert!(found.is_steady(), "{}", found.status);
    found
}

/// A body in a stream along x in the box of these ends, with what comes in through the sides below, behind and around.
fn stream(gas: &str, low: f64, side: &str, below: &str, body: &str) -> String {
    format!(
        "gas = {{ {gas} }}
        domain = {{ x = [-1.25, 1.25], y = [{low}, 1.25], z = [{low}, 1.25], h = 0.125 }}
        solver = {{ tolerance = 1e-4 }}
        [sides]
        left = {side}
        right = {side}
        bottom = {below}
        top = {side}
        back = {below}
        front = {side}
        [[body]]
        {body}"
    )
}

const STREAM: &str = "{ kind = \"stream\", speed_ratio = 1 }";
const MIRROR: &str = "{ kind = \"mirror\" }";
const THIN: &str = "model = \"bgk\", delta = 1e-6";

/// Without collisions drag and heat of a convex body follow from each facet alone.
#[test]
fn thin_gas_loads_convex_bodies_as_if_each_wall_were_alone() {
    let skew = "{ kind = \"stream\", speed_ratio = 1, angle = 25, elevation = 10 }";
    for (side, below, body) in [
        (STREAM, MIRROR, "shape = \"sphere\"\nradius = 0.5"),
        (
            STREAM,
            MIRROR,
            "shape = \"cylinder\"\nends = [[-0.3, 0, 0], [0.4, 0, 0]]\nradius = 0.4\ntemperature = 2",
        ),
        (
            skew,
            skew,
            "shape = \"box\"\nsize = [0.8, 0.5, 0.6]\nangle = 30",
        ),
        (
            STREAM,
            MIRROR,
            "shape = \"sphere\"\nradius = 0.5\naccommodation = 0.3",
        ),
        (
            skew,
            skew,
            "shape = \"box\"\nsize = [0.8, 0.5, 0.6]\naccommodation = 0.2\ntemperature = 2",
        ),
        (
            skew,
            skew,
            "shape = \"cone\"\nends = [[-0.5, 0, 0], [0.5, 0.1, 0]]\nradii = [0.2, 0.5]",
        ),
    ] {
        let low = if below == MIRROR { 0.0 } else { -1.25 };
        let text = stream(THIN, low, side, below, body);
        let found = solved(&text);
        let loads = &found.bodies[0];
        let pairs = [
            (loads.drag_coefficient, loads.drag_free_molecular, 0.02),
            (loads.heat_coefficient, loads.heat_free_molecular, 0.03),
        ];
        for (value, exact, share) in pairs {
            let (value, exact) = (value.unwrap(), exact.unwrap());
            assert!(
                (value / exact - 1.0).abs() < share,
                "{body}: {value} {exact}"
            );
        }
        let balance = &found.balance;
        assert!(balance.mass.abs() < 1e-3 * found.mass_flow(), "{balance:?}");
    }
}

/// The drag of a sphere without collisions in closed form.
#[test]
fn a_sphere_in_thin_gas_has_its_exact_drag() {
    let found = solved(&stream(
        THIN,
        0.0,
        STREAM,
        MIRROR,
        "shape = \"sphere\"\nradius = 0.5",
    ));
    let loads = &found.bodies[0];
    let exact = 3.0 / PI.sqrt() * (-1.0_f64).exp() + 3.5 * libm::erf(1.0) + 2.0 * PI.sqrt() / 3.0;
    let drag = loads.drag_coefficient.unwrap();
    assert!((drag / exact - 1.0).abs() < 0.02, "{drag} {exact}");
    // A quarter of the frontal area.
    assert!((loads.frontal_area.unwrap() / (PI / 16.0) - 1.0).abs() < 0.03);
}

/// A side of two vessels in one state is a side of one vessel, and the halves of its flow are its flow.
#[test]
fn a_split_side_has_two_states() {
    let text = |top: &str| {
        format!(
            "gas = {{ delta = 1 }}
            domain = {{ x = [0, 1], y = [0, 1], z = [0, 1], h = 0.25 }}
            velocities = {{ points = 6 }}
            sides = {{ left = {{ kind = \"wall\", temperature = 1.2 }}, right = {{ kind = \"wall\" }}, bottom = {{ kind = \"wall\" }}, top = {top}, back = {MIRROR}, front = {MIRROR} }}"
        )
    };
    let split = |right: f64| {
        solved(&text(&format!(
            "{{ kind = \"split\", at = 0.5, left = {{}}, right = {{ density = {right} }} }}"
        )))
    };
    let side = |found: &Findings, name: &str| {
        let side = found.sides.iter().find(|(side, _)| side == name);
        side.map(|(_, flux)| flux.mass).unwrap()
    };
    let one = solved(&text("{ kind = \"reservoir\" }"));
    let same = split(1.0);
    assert_eq!(one.fields, same.fields);
    let sum = side(&same, "top.left") + side(&same, "top.right");
    assert!((sum - side(&one, "top")).abs() < 1e-12, "{sum}");
    // Gas flows from the denser half to the thinner one.
    let different = split(0.5);
    assert!(side(&different, "top.left") < -0.03 && side(&different, "top.right") > 0.03);
}

/// A cube with the stream turned has the loads of one along the grid.
#[test]
fn a_turned_cube_has_the_loads_of_an_aligned_one() {
    let [aligned, turned] = [0, 30].map(|angle| {
        let side = format!("{{ kind = \"stream\", speed_ratio = 1.5, angle = {angle} }}");
        let found = solved(&format!(
            "gas = {{ delta = 1 }}
            domain = {{ x = [-1.5, 1.5], y = [-1.5, 1.5], z = [0, 1.5], h = 0.125 }}
            solver = {{ tolerance = 1e-3 }}
            sides = {{ left = {side}, right = {side}, bottom = {side}, top = {side}, back = {MIRROR}, front = {side} }}
            [[body]]
            shape = \"box\"
            size = [0.8, 0.8, 0.8]
            angle = {angle}
            temperature = 1.5"
        ));
        let body = &found.bodies[0];
        assert!(body.lift_coefficient.unwrap().abs() < 0.02);
        [body.drag_coefficient, body.side_coefficient, body.heat_coefficient].map(Option::unwrap)
    });
    for (turned, aligned) in turned.into_iter().zip(aligned) {
        assert!((turned / aligned - 1.0).abs() < 0.02, "{turned} {aligned}");
    }
}

/// A quarter between mirrors and the whole are the same flow.
#[test]
fn mirrors_halve_a_flow() {
    let gas = "model = \"shakhov\", delta = 2";
    let body = "shape = \"sphere\"\nradius = 0.5\ntemperature = 1.5";
    let fine = |text: String| solved(&text.replace("1e-4", "1e-9"));
    let quarter = fine(stream(gas, 0.0, STREAM, MIRROR, body));
    let whole = fine(stream(gas, -1.25, STREAM, STREAM, body));
    let [a, b] = [&quarter, &whole].map(|found| &found.bodies[0]);
    assert_eq!(quarter.iterations, whole.iterations);
    for (part, all) in [(a.force_x, b.force_x), (a.heat, b.heat)] {
        assert!((4.0 * part - all).abs() < 1e-9 * b.force_x, "{part} {all}");
    }
    let sideways = [b.force_y, b.force_z.unwrap(), b.moment];
    assert!(sideways.iter().all(|part| part.abs() < 1e-9 * b.force_x));
}

const LID: &str = "
    gas = { model = \"shakhov\", delta = 3, linear = true }
    domain = { x = [0, 1], y = [0, 1], h = 0.1 }
    [sides]
    left = { kind = \"wall\" }
    right = { kind = \"wall\", temperature = 0.3 }
    bottom = { kind = \"wall\" }
    top = { kind = \"wall\", velocity = 1 }
    [[body]]
    shape = \"circle\"
    centre = [0.4, 0.35]
    radius = 0.2";

/// A cavity with a disc between two mirrors is the same flow in the plane, once the plane has the same velocities.
#[test]
fn extruded_flows_are_those_of_the_plane() {
    let plane = case(LID);
    let mut flat = crate::flow::problem::Problem::new(&plane, 1.0).unwrap();
    let [above, below] = nodes::gauss(4, 1.0, true).unwrap();
    let line: Vec<(f64, f64)> = [above, below]
        .iter()
        .flat_map(|half| half.v.iter().copied().zip(half.w.iter().copied()))
        .collect();
    let list = line.iter().flat_map(|&(vx, wx)| {
        let row = line.iter();
        row.map(move |&(vy, wy)| ([vx, vy], wx * wy))
    });
    let list = list.collect();
    flat.nodes = crate::flow::nodes::Nodes::new(&list, |_| false).unwrap();
    let solver = crate::flow::Solver {
        tolerance: 1e-11,
        ..plane.solver
    };
    let mut steady = crate::flow::steady::Steady::new(&flat, &solver, &Machine::Cpu).unwrap();
    let ending = steady.solve(&solver, &mut |_, _| true).unwrap();
    let expected = crate::flow::results::findings(&plane, &steady, ending).unwrap();

    let text = LID.replace("h = 0.1", "z = [0, 0.3], h = 0.1").replace(
        "[[body]]",
        "back = { kind = \"mirror\" }\nfront = { kind = \"mirror\" }\n[[body]]",
    );
    let mut extruded = case(&text);
    extruded.velocities = Some(crate::flow::Velocities::Gauss {
        points: 4,
        temperature: 1.0,
    });
    let problem = Problem::new(&extruded, 1.0).unwrap();
    let mut steady = Steady::new(&problem, &solver, &Machine::Cpu);
    let ending = steady.solve(&solver, &mut |_, _| true).unwrap();
    let found = super::findings(&extruded, &steady, ending).unwrap();

    let same = |a: f64, b: f64| assert!((a - 0.3 * b).abs() < 1e-10, "{a} {}", 0.3 * b);
    let (a, b) = (&found.bodies[0], &expected.bodies[0]);
    same(a.force_x, b.force_x);
    same(a.force_y, b.force_y);
    same(a.moment, b.moment);
    same(a.heat, b.heat);
    for ((name, a), (_, b)) in found.sides.iter().zip(&expected.sides) {
        assert!(b.momentum_x.abs() + b.energy.abs() > 1e-3, "{name}");
        same(a.mass, b.mass);
        same(a.momentum_x, b.momentum_x);
        same(a.momentum_y, b.momentum_y);
        same(a.energy, b.energy);
    }
}

fn flat(swept: &Swept) -> Vec<f64> {
    let sides = swept.sides.iter().flatten().flatten().flatten();
    let all = swept.cells.iter().flatten();
    let walls = swept.facets.iter().flatten().chain(&swept.arrived);
    let all = all.chain(walls).chain(sides);
    all.chain(swept.left.iter().flatten()).copied().collect()
}

/// The sums of lanes are those of plain loops, mirrors, periods, partial walls and stretched cells included.
/// A flow after two iterations, whose state is not uniform.
fn begun<'a>(problem: &'a Problem, case: &Case) -> Steady<'a> {
    let mut steady = Steady::new(problem, &case.solver, &Machine::Cpu);
    let solver = crate::flow::Solver {
        iterations: 2,
        ..case.solver
    };
    steady.solve(&solver, &mut |_, _| true).unwrap();
    steady
}

#[test]
fn sums_of_lanes_are_those_of_loops() {
    let lean = "
        gas = { model = \"shakhov\", delta = 3 }
        domain = { x = [-1, 1], y = [0, 1], z = [-0.6, 0.6], h = 0.25, core = [[-0.5, 0.5], [0, 0.5], [-0.5, 0.5]], growth = 1.3 }
        velocities = { kind = \"uniform\", step = 1 }
        [sides]
        left = { kind = \"stream\", speed_ratio = 2 }
        right = { kind = \"vacuum\" }
        bottom = { kind = \"mirror\" }
        top = { kind = \"wall\", temperature = 1.5, velocity = 0.2, accommodation = 0.7 }
        back = { kind = \"periodic\" }
        front = { kind = \"periodic\" }
        [[body]]
        shape = \"sphere\"
        centre = [0.1, 0.05, 0]
        radius = 0.4
        accommodation = 0.6";
    let duct = "
        gas = { model = \"bgk\", delta = 1, linear = true }
        domain = { x = [0, 0.6], y = [0, 0.5], z = [0, 0.5], h = 0.1 }
        velocities = { kind = \"gauss\", points = 3 }
        [sides]
        left = { kind = \"periodic\", jump = 0.5 }
        right = { kind = \"periodic\", jump = 0.5 }
        bottom = { kind = \"mirror\" }
        top = { kind = \"wall\" }
        back = { kind = \"mirror\" }
        front = { kind = \"mirror\" }
        [[body]]
        shape = \"sphere\"
        centre = [0.3, 0, 0.1]
        radius = 0.15
        accommodation = 0.3";
    for text in [lean, duct] {
        let case = case(text);
        let problem = Problem::new(&case, 1.0).unwrap();
        let steady = begun(&problem, &case);
        let (sweep, input) = steady.parts();
        let found = flat(&Vectors.run(&sweep, &input).unwrap());
        let expected = flat(&Loops.run(&sweep, &input).unwrap());
        assert_eq!(found.len(), expected.len());
        for (at, (a, b)) in found.into_iter().zip(expected).enumerate() {
            assert!((a - b).abs() < 1e-12 * (1.0 + b.abs()), "{at}: {a} {b}");
        }
    }
}

/// Flows round an axis: bodies on and off it, a mirror on either side, a wall with less accommodation, an annulus, the linearised equation.
fn round() -> Vec<String> {
    let bodies = "[[body]]
        shape = \"circle\"
        radius = 0.4
        centre = [0, CENTRE]
        temperature = 1.5
        [[body]]
        shape = \"polygon\"
        points = [[0.6, 0.2], [0.9, 0.5], [0.8, 0.8], [0.55, 0.6]]";
    let [on, off] = ["0", "0.75"].map(|centre| bodies.replace("CENTRE", centre));
    let uniform = "velocities = { angles = 6, step = 0.9, reach = 3 }";
    let gauss = "velocities = { kind = \"axis\", angles = 6, speeds = 3, axial = 3 }";
    let wall = "top = { kind = \"wall\", accommodation = 0.6, velocity = 0.3 }";
    let mirrored = |left: &str, right: &str| {
        format!(
            "gas = {{ delta = 2 }}
            domain = {{ symmetry = \"axis\", x = [-1, 1.2], y = [0, 1], h = 0.2 }}
            {uniform}
            [sides]
            left = {left}
            right = {right}
            {wall}
            {on}"
        )
    };
    let (reservoir, mirror) = (
        "{ kind = \"reservoir\", density = 1.2 }",
        "{ kind = \"mirror\" }",
    );
    vec![
        mirrored(reservoir, mirror),
        mirrored(mirror, reservoir),
        format!(
            "gas = {{ delta = 2 }}
            domain = {{ symmetry = \"axis\", x = [-1, 1.2], y = [0.3, 1.3], h = 0.2 }}
            {uniform}
            [sides]
            left = {reservoir}
            right = {{ kind = \"outlet\", pressure = 0.8 }}
            bottom = {mirror}
            top = {{ kind = \"split\", at = 0.4, left = {{ density = 1 }}, right = {{ density = 0.8 }} }}
            {off}"
        ),
        format!(
            "gas = {{ delta = 2, linear = true }}
            domain = {{ symmetry = \"axis\", x = [-1, 1.2], y = [0, 1], h = 0.2 }}
            {gauss}
            [sides]
            left = {{ kind = \"reservoir\", density = 1 }}
            right = {{ kind = \"reservoir\" }}
            top = {{ kind = \"wall\" }}
            {on}"
        ),
    ]
}

#[test]
fn sums_of_kernels_round_an_axis_are_those_of_loops() {
    for text in round() {
        let case = case(&text);
        let problem = Problem::new(&case, 1.0).unwrap();
        let steady = begun(&problem, &case);
        let (sweep, mut input) = steady.parts();
        assert!(!sweep.space.facets.is_empty());
        if !sweep.linear && sweep.mirrors[0] {
            // As internal energy has it.
            input.drifts = true;
            let cells = std::sync::Arc::make_mut(&mut input.cells);
            for (cell, c) in cells.iter_mut().enumerate() {
                (c[DRIFT], c[DRIFT + 1]) = (0.2, 0.01 * (cell % 20) as f64);
            }
        }
        let expected = flat(&Loops.run(&sweep, &input).unwrap());
        // Few rows at once are several bands, and few blocks have several pairs. A quarter turn has four directions.
        for (rows, groups, blocks) in [(32, 1, 500), (2, 3, 7), (3, 2, 1), (32, 4, 5)] {
            let plan = Plan {
                rows,
                groups,
                blocks,
            };
            let machine = Emulator::default();
            let mut kernels = RingSweeps::<_, f64>::planned(machine, &sweep, &input, plan).unwrap();
            for _ in 0..2 {
                let found = flat(&kernels.run(&sweep, &input).unwrap());
                assert_eq!(found.len(), expected.len());
                for (at, (a, b)) in found.into_iter().zip(&expected).enumerate() {
                    assert!(
                        (a - b).abs() < 1e-12 * (1.0 + b.abs()),
                        "{at}: {a} {b} {text}"
                    );
                }
            }
        }
        let machine = Emulator::default();
        let mut kernels = RingSweeps::<_, f32>::new(machine, &sweep, &input).unwrap();
        let found = flat(&kernels.run(&sweep, &input).unwrap());
        for (at, (a, b)) in found.into_iter().zip(&expected).enumerate() {
            assert!(
                (a - b).abs() < 3e-5 * (1.0 + b.abs()),
                "{at}: {a} {b} {text}"
            );
        }
    }
}

/// Devices that share the velocities find the flow of one and of the CPU, with mirrors that face each other and walls of partial accommodation.
#[test]
fn flows_over_devices_are_those_of_one() {
    let space = "gas = { delta = 2 }
        domain = { x = [-1, 1], y = [0, 0.8], z = [0, 0.8], h = 0.2 }
        velocities = { kind = \"uniform\", step = 1 }
        solver = { iterations = 2 }
        [sides]
        left = { kind = \"reservoir\", density = 1.2 }
        right = { kind = \"vacuum\" }
        bottom = { kind = \"mirror\" }
        top = { kind = \"wall\", temperature = 1.5, velocity = 0.2, accommodation = 0.7 }
        back = { kind = \"mirror\" }
        front = { kind = \"mirror\" }
        [[body]]
        shape = \"sphere\"
        radius = 0.4";
    let solver = "solver = { iterations = 2 }\n        [sides]";
    let round = round().swap_remove(1);
    for text in [space.to_owned(), round.replace("[sides]", solver)] {
        let values = |machine: &Machine| {
            let found = crate::flow::solve(&case(&text), machine, &mut |_, _| true).unwrap();
            let body = &found.bodies[0];
            let loads = [body.force_x, body.heat];
            [
                found.fields.density,
                found.fields.velocity_x,
                loads.to_vec(),
            ]
            .concat()
        };
        let expected = values(&Machine::Cpu);
        for devices in [1, 2, 3] {
            let found = values(&Machine::Emulator(devices, Precision::F64));
            for (a, b) in found.iter().zip(&expected) {
                // Cells without gas have no density.
                let none = a.is_nan() && b.is_nan();
                assert!(
                    none || (a - b).abs() < 1e-10 * (1.0 + b.abs()),
                    "{devices}: {a} {b}"
                );
            }
        }
        let none = Machine::Emulator(0, Precision::F64);
        let refused = crate::flow::solve(&case(&text), &none, &mut |_, _| true).unwrap_err();
        assert_eq!(
            refused.to_string(),
            "devices: 0; expected at least 1 device"
        );
    }
}

/// The distance to the wall across a duct of unit square section, its mean over directions and places: the flow without collisions follows from it.
fn smoluchowski() -> f64 {
    let (count, angles) = (60, 240);
    let mut sum = 0.0;
    for i in 0..count {
        for j in 0..count {
            let place = |k: usize| (k as f64 + 0.5) / count as f64;
            for a in 0..angles {
                let (sin, cos) = (2.0 * PI * (a as f64 + 0.5) / angles as f64).sin_cos();
                let reach = |at: f64, d: f64| if d > 0.0 { (1.0 - at) / d } else { -at / d };
                sum += reach(place(i), cos).min(reach(place(j), sin));
            }
        }
    }
    sum / (count * count * angles) as f64
}

/// Flow through a long square duct: in thin gas from the lines that meet each point, else from integral equations.
#[test]
fn a_square_duct_has_its_flow() {
    // f at a point has the density where its molecules left the wall: -(v_x/v_across) times the distance across.
    // <v_x^2/v_across> = (1/2) <1/v_across> = sqrt(pi)/2 over the Maxwellian.
    let thin = 0.5 * PI.sqrt() * smoluchowski();
    let by_integrals = |delta: f64, accommodation: f64| {
        let duct = Duct {
            model: Model::Bgk,
            accommodation,
            ..Duct::new(DuctSection::Rectangle { ratio: 1.0 }, delta)
        };
        0.5 * duct.solve().unwrap().g_p
    };
    for (delta, share, exact, error) in [
        (1e-3, 1.0, thin, 0.02),
        (1.0, 1.0, by_integrals(1.0, 1.0), 2e-3),
        (1.0, 0.5, by_integrals(1.0, 0.5), 5e-3),
        (10.0, 1.0, by_integrals(10.0, 1.0), 2e-3),
    ] {
        let found = solved(&format!(
            "gas = {{ model = \"bgk\", delta = {delta}, linear = true }}
            domain = {{ x = [0, 0.1], y = [0, 0.5], z = [0, 0.5], h = 0.05 }}
            velocities = {{ kind = \"gauss\", points = 10 }}
            [sides]
            left = {{ kind = \"periodic\", jump = 0.1 }}
            right = {{ kind = \"periodic\", jump = 0.1 }}
            bottom = {{ kind = \"mirror\" }}
            top = {{ kind = \"wall\", accommodation = {share} }}
            back = {{ kind = \"mirror\" }}
            front = {{ kind = \"wall\", accommodation = {share} }}"
        ));
        let flow = 4.0 * found.mass_flow();
        assert!(
            (flow / exact - 1.0).abs() < error,
            "{delta} {share}: {flow} {exact}"
        );
        // The mean velocity for a unit gradient, over a section of area 1.
        let mobility = found.passages[0].mobility.unwrap();
        assert!((mobility / flow - 1.0).abs() < 1e-12, "{mobility} {flow}");
    }
}
