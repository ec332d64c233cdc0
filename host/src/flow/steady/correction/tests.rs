//! Sweeps with and without the corrections, and values of dense gas.

use crate::flow::{Case, Findings, Machine, solve};

fn solved(text: &str, acceleration: &str, tolerance: f64) -> Findings {
    let solver =
        format!("solver = {{ tolerance = {tolerance}, acceleration = \"{acceleration}\" }}");
    let case: Case = toml::from_str(&format!("{solver}\n{text}")).unwrap();
    solve(&case, &Machine::Cpu, &mut |_, _| true).unwrap()
}

fn close(found: f64, expected: f64, tolerance: f64) {
    let off = (found / expected - 1.0).abs();
    assert!(off < tolerance, "{found} for {expected}");
}

fn cylinder(speed_ratio: f64, delta: f64, wall: f64) -> String {
    let stream = format!("{{ kind = \"stream\", speed_ratio = {speed_ratio} }}");
    format!(
        r#"
        gas = {{ delta = {delta}, omega = 0.734 }}
        domain = {{ x = [-1.5, 1.5], y = [0, 1.5], h = 0.1 }}
        sides = {{ left = {stream}, right = {stream}, top = {stream}, bottom = {{ kind = "mirror" }} }}
        [[body]]
        shape = "circle"
        radius = 0.5
        temperature = {wall}
        "#
    )
}

#[test]
fn corrected_streams_take_few_sweeps_and_keep_their_values() {
    let case = cylinder(1.82574, 10.0, 1.0);
    let corrected = solved(&case, "auto", 1e-7);
    let mixed = solved(&case, "none", 1e-7);
    assert!(corrected.iterations <= 25, "{}", corrected.iterations);
    assert!(
        mixed.iterations > 2 * corrected.iterations,
        "{}",
        mixed.iterations
    );
    for (a, b) in corrected.bodies.iter().zip(&mixed.bodies) {
        close(a.force_x, b.force_x, 1e-5);
        close(a.heat, b.heat, 1e-4);
    }
}

#[test]
fn a_hypersonic_stream_of_dense_gas_converges() {
    let found = solved(&cylinder(9.12871, 10.0, 2.5), "auto", 1e-5);
    assert_eq!(found.status, "converged");
    assert!(found.iterations <= 40, "{}", found.iterations);
}

fn cavity(delta: f64, h: f64, gas: &str, walls: [&str; 2]) -> String {
    let [wall, lid] = walls;
    format!(
        r#"
        gas = {{ delta = {delta}, {gas} }}
        domain = {{ x = [0, 1], y = [0, 1], h = {h} }}
        velocities = {{ kind = "polar", angles = 48, speeds = 10 }}
        [sides]
        left = {{ kind = "wall" }}
        right = {{ kind = "wall" }}
        bottom = {{ kind = "wall" }}
        top = {{ kind = "wall", {lid} }}
        [[body]]
        shape = "circle"
        centre = [0.5, 0.5]
        radius = 0.2
        {wall}
        "#
    )
}

#[test]
fn corrected_cavities_take_few_sweeps_at_any_density() {
    for model in ["bgk", "shakhov"] {
        for delta in [10.0, 100.0] {
            let gas = format!("model = \"{model}\", linear = true");
            let case = cavity(delta, 0.05, &gas, ["temperature = 0.3", "velocity = 1"]);
            let found = solved(&case, "auto", 1e-6);
            assert!(
                found.iterations <= 22,
                "{model} {delta}: {}",
                found.iterations
            );
        }
    }
    // Walls at 1, a hot disc, and a cold lid.
    for delta in [4.0, 20.0] {
        let case = cavity(
            delta,
            0.05,
            "omega = 0.5",
            ["temperature = 1.5", "temperature = 0.5"],
        );
        let found = solved(&case, "auto", 1e-6);
        assert!(found.iterations <= 25, "{delta}: {}", found.iterations);
        assert!(found.balance.energy.abs() < 1e-6, "{:?}", found.balance);
    }
}

#[test]
fn a_cavity_with_a_disc_has_its_drag() {
    let case = cavity(
        10.0,
        0.025,
        "model = \"bgk\", linear = true",
        ["", "velocity = 1"],
    );
    let found = solved(&case, "auto", 1e-7);
    // Extrapolated from three grids, in p0.
    close(-2.0 * found.bodies[0].force_x, 0.22924, 2e-3);
    let top = found
        .sides
        .iter()
        .find(|(name, _)| name == "top")
        .unwrap()
        .1;
    close(-2.0 * top.momentum_x, 0.45138, 1e-3);
    let mixed = solved(&case, "none", 1e-7);
    close(found.bodies[0].force_x, mixed.bodies[0].force_x, 1e-5);
    assert!(
        mixed.iterations > 2 * found.iterations,
        "{}",
        mixed.iterations
    );
}

#[test]
fn a_channel_with_a_cylinder_has_its_flux() {
    let found = solved(
        r#"
        gas = { model = "bgk", delta = 10, linear = true }
        domain = { x = [0, 2], y = [0, 0.5], h = 0.025 }
        velocities = { kind = "polar", angles = 48, speeds = 10 }
        [sides]
        left = { kind = "periodic", jump = 1.0 }
        right = { kind = "periodic", jump = 1.0 }
        bottom = { kind = "wall" }
        top = { kind = "mirror" }
        [[body]]
        shape = "circle"
        centre = [1, 0.5]
        radius = 0.2
        "#,
        "auto",
        1e-7,
    );
    assert!(found.iterations <= 20, "{}", found.iterations);
    let right = found
        .sides
        .iter()
        .find(|(name, _)| name == "right")
        .unwrap()
        .1;
    // Extrapolated from three grids; half of the channel is computed.
    close(2.0 * right.mass, 0.21791, 1e-3);
    close(2.0 * found.bodies[0].force_x, 0.26720, 1e-3);
}

#[test]
fn heat_and_torque_of_dense_gas_are_those_of_the_integral_equations() {
    let annulus = |inner: &str| {
        let case = format!(
            r#"
            gas = {{ model = "bgk", delta = 10, linear = true }}
            domain = {{ x = [-1.05, 1.05], y = [-1.05, 1.05], h = 0.05 }}
            velocities = {{ kind = "polar", angles = 96, speeds = 12 }}
            sides = {{ left = {{ kind = "vacuum" }}, right = {{ kind = "vacuum" }}, bottom = {{ kind = "vacuum" }}, top = {{ kind = "vacuum" }} }}
            [[body]]
            shape = "circle"
            radius = 0.5
            {inner}
            [[body]]
            shape = "circle"
            radius = 1.0
            hollow = true
            "#
        );
        let found = solved(&case, "auto", 1e-6);
        assert!(found.iterations <= 25, "{}", found.iterations);
        found
    };
    close(-annulus("temperature = 1").bodies[0].heat, 0.354272, 1e-3);
    close(-annulus("rotation = 2").bodies[0].moment, 0.240683, 2e-3);
}

#[test]
fn gas_as_warm_as_its_walls_ends_at_roundoff() {
    let case = cavity(
        2.0,
        0.1,
        "linear = true",
        ["temperature = 1", "temperature = 1"],
    );
    let case = case.replace("kind = \"wall\" }", "kind = \"wall\", temperature = 1 }");
    let found = solved(&case, "auto", 1e-8);
    assert_eq!(found.status, "at-roundoff");
    assert!(found.iterations <= 40, "{}", found.iterations);
    let fields = &found.fields;
    for (t, _) in fields
        .temperature
        .iter()
        .zip(&fields.gas)
        .filter(|(_, gas)| **gas > 0.0)
    {
        close(*t, 1.0, 1e-12);
    }
}

#[test]
fn gas_dragged_along_a_period_takes_few_sweeps() {
    let case = |delta: f64| {
        format!(
            r#"
            gas = {{ delta = {delta}, omega = 0.5 }}
            domain = {{ x = [0, 2], y = [0, 1], h = 0.1 }}
            sides = {{ left = {{ kind = "periodic" }}, right = {{ kind = "periodic" }}, bottom = {{ kind = "wall" }}, top = {{ kind = "wall", velocity = 1.0 }} }}
            [[body]]
            shape = "circle"
            centre = [1.0, 0.5]
            radius = 0.2
            temperature = 1.5
            "#
        )
    };
    let found = solved(&case(20.0), "auto", 1e-6);
    assert!(found.iterations <= 32, "{}", found.iterations);
    let (corrected, mixed) = (
        solved(&case(4.0), "auto", 1e-7),
        solved(&case(4.0), "none", 1e-7),
    );
    close(corrected.bodies[0].force_x, mixed.bodies[0].force_x, 1e-4);
    close(corrected.bodies[0].heat, mixed.bodies[0].heat, 1e-4);
}
