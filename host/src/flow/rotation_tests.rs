//! Molecules that rotate, in a plane, round an axis and in space.

use super::{Case, Drive, Findings, Machine, Model, Rotation, RotationalCollisions, Tube, solve};

/// The gas of the tables: d = 2, Z = 2.667, rho D_int/mu = 1.26.
const TABLED: &str = "model = \"polyatomic\", z_rot = 5.659533, prandtl = 0.7172312, omega = 0.74";

fn solved(text: &str) -> Findings {
    let case: Case = toml::from_str(text).unwrap_or_else(|e| panic!("{e}: {text}"));
    let found = solve(&case, &Machine::Cpu, &mut |_, _| true).expect("a flow");
    assert!(found.is_steady(), "{}: {text}", found.status);
    found
}

/// Gas between two walls in each geometry, with the rest of its case: in a plane, round an axis, in space.
fn between_walls(gas: &str, walls: [f64; 2], geometry: usize, width: f64) -> Findings {
    let [a, b] = walls;
    let (domain, rest) = [
        (
            "",
            "bottom = { kind = \"mirror\" }\ntop = { kind = \"mirror\" }",
        ),
        (", symmetry = \"axis\"", "top = { kind = \"mirror\" }"),
        (
            ", z = [0, 1]",
            "bottom = { kind = \"mirror\" }\ntop = { kind = \"mirror\" }\nback = { kind = \"mirror\" }\nfront = { kind = \"mirror\" }",
        ),
    ][geometry];
    let nodes = match (geometry, gas.contains("linear")) {
        (0, _) => "kind = \"polar\", angles = 24, speeds = 12",
        (1, _) => "kind = \"axis\", angles = 12, speeds = 8, axial = 8",
        _ => "kind = \"gauss\", points = 6",
    };
    solved(&format!(
        "gas = {{ {gas} }}\ndomain = {{ x = [0, 1], y = [0, 1]{domain}, h = {width} }}\nvelocities = {{ {nodes} }}\n\
         [solver]\ntolerance = 1e-8\n\
         [sides]\nleft = {{ kind = \"wall\", temperature = {a} }}\nright = {{ kind = \"wall\", temperature = {b} }}\n{rest}\n"
    ))
}

/// Energy that leaves through the right side, a unit area.
fn heat(found: &Findings, geometry: usize) -> f64 {
    let right = found.sides.iter().find(|(name, _)| name == "right");
    let area = if geometry == 1 {
        std::f64::consts::PI
    } else {
        1.0
    };
    right.expect("a side").1.energy / area
}

/// Heat between plates: the linearised flow at delta = 1, and walls of 4/3 and 2/3, beside a solution on 200 graded cells.
#[test]
fn heat_between_plates_is_that_of_the_tables() {
    let linear = format!("{TABLED}, delta = 1, linear = true");
    let found = between_walls(&linear, [0.5, -0.5], 0, 0.05);
    // In p0 v0, of which rho0 v0^3 is twice.
    let q = 2.0 * heat(&found, 0);
    assert!((q / 0.580_872_5 - 1.0).abs() < 1.5e-3, "{q}");
    let part = found.fields.heat_rotational[0][5] / found.fields.heat_x[5];
    assert!((part - 0.319_06).abs() < 1e-3, "{part}");
    for (delta, expected) in [(1.0, 0.187_194_11), (5.0, 0.095_199_82)] {
        let gas = format!("{TABLED}, delta = {delta}");
        let found = between_walls(&gas, [4.0 / 3.0, 2.0 / 3.0], 0, 0.05);
        let q = heat(&found, 0);
        assert!((q / expected - 1.0).abs() < 3e-3, "{delta}: {q}");
        if delta == 1.0 {
            let q = found.fields.heat_rotational[0][0];
            assert!((q - 0.059_894).abs() < 2e-4, "{q}");
        } else {
            let hot = [
                found.fields.temperature_translational[0],
                found.fields.temperature_rotational[0],
            ];
            // The first cells of the table are thinner.
            assert!((hot[0] - 1.223_32).abs() < 0.025, "{hot:?}");
            assert!((hot[1] - hot[0] - 0.008_31).abs() < 5e-4, "{hot:?}");
        }
    }
}

/// Stress and both temperatures between plates that slide at a relative speed of 1, beside a solution on 200 graded cells.
#[test]
fn shear_heats_translation_before_rotation() {
    let found = solved(&format!(
        r#"
        gas = {{ {TABLED}, delta = 1 }}
        domain = {{ x = [0, 1], y = [0, 2], h = 0.05 }}
        velocities = {{ kind = "polar", angles = 32, speeds = 12 }}
        [sides]
        left = {{ kind = "wall", velocity = -0.5 }}
        right = {{ kind = "wall", velocity = 0.5 }}
        bottom = {{ kind = "periodic" }}
        top = {{ kind = "periodic" }}
        "#
    ));
    let left = &found.sides[0].1;
    // On walls of the length 2, and in p0, of which rho0 v0^2 is twice.
    assert!(
        (left.momentum_y / 0.345_370_7 - 1.0).abs() < 2e-3,
        "{left:?}"
    );
    let fields = &found.fields;
    let middle = [
        fields.temperature_translational[10],
        fields.temperature_rotational[10],
    ];
    assert!((middle[0] - 1.122_91).abs() < 1e-3, "{middle:?}");
    assert!((middle[1] - 1.031_42).abs() < 5e-4, "{middle:?}");
}

/// With one temperature in the correction the iterations would grow as the time Z in which rotation relaxes.
#[test]
fn dense_gas_takes_few_sweeps_however_slowly_rotation_relaxes() {
    // Z = 300, rho D_int/mu = 1.26.
    let slow = "model = \"polyatomic\", z_rot = 636.619772, prandtl = 0.6988166, omega = 0.74";
    for (gas, delta, expected) in [
        (TABLED, 10.0, 0.182_219_83),
        (TABLED, 100.0, 0.023_598_82),
        (slow, 100.0, 0.024_182_02),
        (slow, 1000.0, 0.002_495_36),
    ] {
        let linear = format!("{gas}, delta = {delta}, linear = true");
        let found = between_walls(&linear, [0.5, -0.5], 0, 0.05);
        let q = 2.0 * heat(&found, 0);
        assert!((q / expected - 1.0).abs() < 3e-3, "{delta}: {q}");
        let iterations = found.iterations;
        assert!(iterations <= 120, "{delta}: {iterations}");
    }
    let linear = format!("{slow}, delta = 100, linear = true");
    let found = between_walls(&linear, [0.5, -0.5], 1, 0.05);
    let q = 2.0 * heat(&found, 1);
    assert!((q / 0.024_182_02 - 1.0).abs() < 3e-3, "{q}");
    assert!(found.iterations <= 80, "{}", found.iterations);
    let hydrogen = "model = \"polyatomic\", z_rot = 280, prandtl = 0.692, omega = 0.67";
    for gas in [TABLED, hydrogen, "model = \"shakhov\", omega = 0.74"] {
        let found = solved(&format!(
            r#"
            gas = {{ {gas}, delta = 20 }}
            domain = {{ x = [-2, 2], y = [0, 2], h = 0.125 }}
            velocities = {{ kind = "polar", angles = 24, speeds = 12 }}
            solver = {{ tolerance = 1e-6 }}
            [sides]
            left = {{ kind = "stream", mach = 2 }}
            right = {{ kind = "stream", mach = 2 }}
            top = {{ kind = "stream", mach = 2 }}
            bottom = {{ kind = "mirror" }}
            [[body]]
            shape = "circle"
            radius = 0.5
            temperature = 1.5
            "#
        ));
        assert!(found.iterations <= 30, "{gas}: {}", found.iterations);
        assert!(found.balance.energy.abs() < 1e-5, "{:?}", found.balance);
    }
}

#[test]
fn a_plane_an_axis_and_space_have_the_same_heat() {
    let gas = format!("{TABLED}, delta = 1");
    let q = [1, 2].map(|geometry| {
        let found = between_walls(&gas, [1.2, 0.8], geometry, 0.25);
        heat(&found, geometry)
    });
    assert!((q[0] / q[1] - 1.0).abs() < 1e-3, "{q:?}");
    let plane = heat(&between_walls(&gas, [1.2, 0.8], 0, 0.25), 0);
    assert!((q[0] / plane - 1.0).abs() < 2e-3, "{q:?} {plane}");
}

/// Without collisions each molecule carries its rotation from wall to wall: Q = (1 + d/4)/sqrt(pi).
#[test]
fn thin_gas_carries_its_internal_energy() {
    for freedom in [0.5, 2.0, 3.4] {
        let gas = format!(
            "model = \"polyatomic\", internal_dof = {freedom}, z_rot = 8, delta = 1e-7, linear = true"
        );
        let found = between_walls(&gas, [0.5, -0.5], 1, 0.5);
        let exact = (1.0 + 0.25 * freedom) / std::f64::consts::PI.sqrt();
        let q = 2.0 * heat(&found, 1);
        assert!((q / exact - 1.0).abs() < 1e-5, "{freedom}: {q} {exact}");
    }
}

/// Where rotation never relaxes, the molecules move as single atoms do. Their heat flux relaxes at the rate 2/3 then.
#[test]
fn molecules_that_keep_their_rotation_move_as_single_atoms() {
    let rest = "omega = 0.74, delta = 2";
    for geometry in [0, 1] {
        let with = format!("model = \"polyatomic\", z_rot = 1e15, prandtl = 0.69, {rest}");
        let without = format!("model = \"shakhov\", {rest}");
        let [with, without] =
            [with, without].map(|gas| between_walls(&gas, [1.3, 0.9], geometry, 0.25));
        let pairs = with.fields.density.iter().zip(&without.fields.density);
        for (a, b) in pairs {
            assert!((a - b).abs() < 1e-6, "{a} {b}");
        }
        let temperatures = &with.fields.temperature_translational;
        for (a, b) in temperatures.iter().zip(&without.fields.temperature) {
            assert!((a - b).abs() < 1e-6, "{a} {b}");
        }
    }
}

/// As much mass and energy leaves a flow as enters it, also past walls that mirror a part.
#[test]
fn energy_is_balanced_past_a_body() {
    for domain in ["", ", symmetry = \"axis\""] {
        let bottom = match domain {
            "" => "bottom = { kind = \"mirror\" }",
            _ => "",
        };
        let found = solved(
            &format!(
                r#"
            gas = {{ {TABLED}, delta = 2 }}
            domain = {{ x = [-1.5, 1.5], y = [0, 1.5], h = 0.25{domain} }}
            velocities = {{ kind = "polar", angles = 16, speeds = 8 }}
            [solver]
            tolerance = 1e-9
            [sides]
            left = {{ kind = "reservoir", density = 1.2 }}
            right = {{ kind = "reservoir", temperature = 1.1 }}
            top = {{ kind = "wall", temperature = 1.05, accommodation = 0.7 }}
            {bottom}
            [[body]]
            shape = "circle"
            radius = 0.5
            temperature = 1.3
            accommodation = 0.6
            "#
            )
            .replace(
                "kind = \"polar\", angles = 16, speeds = 8",
                if domain.is_empty() {
                    "kind = \"polar\", angles = 16, speeds = 8"
                } else {
                    "kind = \"axis\", angles = 8, speeds = 6, axial = 6"
                },
            ),
        );
        let balance = found.balance;
        assert!(
            balance.mass.abs() < 1e-7 && balance.energy.abs() < 1e-7,
            "{balance:?}"
        );
        assert!(found.bodies[0].heat < 0.0, "{:?}", found.bodies);
    }
}

/// Thermal creep in dense gas is that of the heat flux of translation: its Eucken factor over 5/2 times that of single atoms. Where rotation never relaxes
/// tubes let pass as much as of single atoms.
#[test]
fn tubes_of_rotating_molecules_creep_by_the_heat_of_translation() {
    let flow = |model, rotation, drive, delta| {
        let tube = Tube {
            model,
            rotation,
            delta,
            accommodation: 1.0,
        };
        let found = solve(&tube.case(drive), &Machine::Cpu, &mut |_, _| true).expect("a flow");
        assert!(found.is_steady(), "{}", found.status);
        Tube::coefficient(drive, &found)
    };
    let tabled = Rotation {
        collisions: RotationalCollisions::Constant(5.659_533),
        prandtl: 0.717_231_2,
        ..Rotation::default()
    };
    let frozen = Rotation {
        collisions: RotationalCollisions::Constant(1e15),
        prandtl: 0.69,
        ..Rotation::default()
    };
    let (single, rotating) = (Model::Shakhov, Model::Polyatomic);
    for drive in [Drive::Pressure, Drive::Temperature] {
        let [a, b] = [
            flow(single, None, drive, 2.0),
            flow(rotating, Some(frozen), drive, 2.0),
        ];
        assert!((a / b - 1.0).abs() < 1e-6, "{a} {b}");
    }
    let creep = [
        flow(single, None, Drive::Temperature, 60.0),
        flow(rotating, Some(tabled), Drive::Temperature, 60.0),
    ];
    let expected = 2.325_106 / 2.5;
    let found = creep[1] / creep[0];
    assert!((found / expected - 1.0).abs() < 0.02, "{found} {expected}");
}
