//! Flows beside closed forms and published values.

use super::*;
use crate::compute::Precision;

fn case(text: &str) -> Case {
    toml::from_str(text).unwrap()
}

fn solved(text: &str) -> Findings {
    solve(&case(text), &Machine::Cpu, &mut |_, _| true).unwrap()
}

/// A body of unit size in a stream without collisions.
fn free(speed: f64, body: &str) -> Findings {
    solved(&format!(
        r#"
        gas = {{ delta = 1e-9 }}
        domain = {{ x = [-1, 1], y = [-1, 1], h = 0.05, core = [[-0.6, 0.6], [-0.6, 0.6]], growth = 1.2, largest = 0.3 }}
        velocities = {{ kind = "polar", angles = 96, speeds = 12 }}
        [sides]
        left = {{ kind = "stream", speed_ratio = {speed} }}
        right = {{ kind = "stream", speed_ratio = {speed} }}
        bottom = {{ kind = "stream", speed_ratio = {speed} }}
        top = {{ kind = "stream", speed_ratio = {speed} }}
        [[body]]
        {body}
        "#
    ))
}

#[test]
fn a_cylinder_without_collisions_has_its_drag_and_heat() {
    let findings = free(1.0, "shape = \"circle\"\nradius = 0.5");
    let body = &findings.bodies[0];
    let drag = body.drag_coefficient.unwrap();
    let heat = body.heat_coefficient.unwrap();
    // Closed form of diffuse reflection.
    assert!((drag / 4.666193 - 1.0).abs() < 2e-3, "{drag}");
    assert!((heat / 1.637055 - 1.0).abs() < 3e-3, "{heat}");
    assert!(body.lift_coefficient.unwrap().abs() < 1e-3);
    assert!(findings.balance.mass.abs() < 1e-9, "{:?}", findings.balance);
}

#[test]
fn a_turned_rectangle_without_collisions_has_lift() {
    let findings = free(1.0, "shape = \"rectangle\"\nsize = [1.0, 0.2]\nangle = 30");
    let body = &findings.bodies[0];
    for (found, expected) in [
        (body.drag_coefficient.unwrap(), 2.880067),
        (body.lift_coefficient.unwrap(), -0.986829),
        (body.heat_coefficient.unwrap(), 1.085543),
    ] {
        assert!(
            (found / expected - 1.0).abs() < 1e-3,
            "{found} for {expected}"
        );
    }
}

/// Heat or torque between cylinders of radius 1/2 and 1 by linear BGK.
fn annulus(delta: f64, h: f64, inner: &str) -> Findings {
    solved(&annulus_text(delta, h, inner))
}

fn annulus_text(delta: f64, h: f64, inner: &str) -> String {
    format!(
        r#"
        gas = {{ model = "bgk", delta = {delta}, linear = true }}
        domain = {{ x = [-1.05, 1.05], y = [-1.05, 1.05], h = {h} }}
        velocities = {{ kind = "polar", angles = 96, speeds = 12 }}
        sides = {{ left = {{ kind = "vacuum" }}, right = {{ kind = "vacuum" }}, bottom = {{ kind = "vacuum" }}, top = {{ kind = "vacuum" }} }}
        [[body]]
        name = "inner"
        shape = "circle"
        radius = 0.5
        {inner}
        [[body]]
        name = "outer"
        shape = "circle"
        radius = 1.0
        hollow = true
        "#
    )
}

#[test]
fn heat_and_torque_between_cylinders_are_those_of_the_integral_equations() {
    // The inner wall turns with unit speed: twice the radius 1/2.
    for (delta, heat, torque) in [(0.1, 0.873578, 0.440532), (1.0, 0.772462, 0.416728)] {
        let warm = annulus(delta, 0.05, "temperature = 1");
        let found = -warm.bodies[0].heat;
        assert!((found / heat - 1.0).abs() < 1e-3, "{delta}: {found}");
        let turning = annulus(delta, 0.05, "rotation = 2");
        let found = -turning.bodies[0].moment;
        assert!((found / torque - 1.0).abs() < 5e-3, "{delta}: {found}");
    }
}

#[test]
fn partly_mirroring_cylinders_exchange_the_exact_heat() {
    // Mirrored molecules keep their angular momentum, so without collisions
    // Q = (sqrt(pi)/2) alpha^2/(1 - (1 - alpha)^2) a unit radius of the inner wall.
    let half = "temperature = 1\naccommodation = 0.5";
    let text = annulus_text(1e-9, 0.05, half) + "accommodation = 0.5\n";
    let findings = solved(&text);
    let found = -findings.bodies[0].heat;
    // First order in the cells: 1.2% here, 0.7% on cells half as wide.
    assert!((found / 0.295409 - 1.0).abs() < 1.35e-2, "{found}");
    let sum = findings.bodies[0].heat + findings.bodies[1].heat;
    assert!(sum.abs() < 1e-5, "{sum}");
}

#[test]
fn heat_between_plates_that_mirror_a_part_is_exact_without_collisions() {
    // Linearised: q = alpha/(2 - alpha) p0 v0/sqrt(pi) a unit difference of temperature, and p0 is rho0 v0^2/2.
    let alpha = 0.6;
    let findings = solved(&format!(
        r#"
        gas = {{ model = "bgk", delta = 1e-9, linear = true }}
        domain = {{ x = [0, 1], y = [0, 0.2], h = 0.1 }}
        velocities = {{ kind = "polar", angles = 48, speeds = 12 }}
        [sides]
        left = {{ kind = "wall", temperature = 1, accommodation = {alpha} }}
        right = {{ kind = "wall", accommodation = {alpha} }}
        bottom = {{ kind = "mirror" }}
        top = {{ kind = "mirror" }}
        "#
    ));
    let [_, right] = [0, 1].map(|k| findings.sides[k].1.energy / 0.2);
    let expected = 0.5 * alpha / (2.0 - alpha) / std::f64::consts::PI.sqrt();
    assert!(
        (right / expected - 1.0).abs() < 2e-3,
        "{right} for {expected}"
    );
}

/// A turned body on a mirror, an outlet, a wall that moves and mirrors a part.
fn all_sides() -> String {
    r#"
    gas = { delta = 1.5, omega = 0.7 }
    domain = { x = [-1, 1], y = [0, 1], h = 0.125 }
    velocities = { angles = 16, speeds = 5, temperature = 1.3 }
    solver = { iterations = 3, acceleration = "none" }
    [sides]
    left = { kind = "stream", speed_ratio = 1.2 }
    right = { kind = "outlet", pressure = 0.9 }
    bottom = { kind = "mirror" }
    top = { kind = "wall", velocity = 0.3, accommodation = 0.7 }
    [[body]]
    shape = "rectangle"
    size = [0.7, 0.5]
    angle = 20
    centre = [0.03, 0.05]
    accommodation = 0.8
    "#
    .to_owned()
}

/// A disc between two mirrors and two reservoirs, linearised, in more rows than a block of a GPU has threads.
fn tall() -> String {
    r#"
    gas = { delta = 1.5, omega = 0.7, linear = true }
    domain = { x = [0, 0.5], y = [0, 8.5], h = 0.0625 }
    velocities = { angles = 8, speeds = 2 }
    solver = { iterations = 2, acceleration = "none" }
    [sides]
    left = { kind = "mirror" }
    right = { kind = "mirror" }
    bottom = { kind = "reservoir", density = 1.0 }
    top = { kind = "reservoir", temperature = 0.5 }
    [[body]]
    shape = "circle"
    radius = 0.3
    centre = [0.4, 8.0]
    temperature = 0.3
    "#
    .to_owned()
}

/// Periodic in both directions, linearised.
fn periodic() -> String {
    r#"
    gas = { delta = 1.5, omega = 0.7, linear = true }
    domain = { x = [0, 1], y = [0, 1], h = 0.125 }
    velocities = { angles = 16, speeds = 5 }
    solver = { iterations = 3, acceleration = "none" }
    [sides]
    left = { kind = "periodic", jump = 1.0 }
    right = { kind = "periodic", jump = 1.0 }
    bottom = { kind = "periodic" }
    top = { kind = "periodic" }
    [[body]]
    shape = "circle"
    radius = 0.3
    centre = [0.5, 0.5]
    "#
    .to_owned()
}

/// Compares a machine with the reference.
fn compare(text: &str, machine: Machine, tolerance: f64) {
    let [found, reference] = [machine, Machine::Reference]
        .map(|machine| solve(&case(text), &machine, &mut |_, _| true).unwrap());
    let pairs = found.fields.density.iter().zip(&reference.fields.density);
    for (a, b) in pairs {
        assert!((a - b).abs() < tolerance * (1.0 + b.abs()), "{a} {b}");
    }
    let values = |f: &Findings| {
        let sides = f.sides.iter().map(|(_, flux)| flux);
        let fluxes = sides.flat_map(|f| [f.mass, f.momentum_x, f.momentum_y, f.energy]);
        let bodies = f
            .bodies
            .iter()
            .flat_map(|b| [b.force_x, b.force_y, b.moment, b.heat]);
        fluxes.chain(bodies).collect::<Vec<_>>()
    };
    for (a, b) in values(&found).into_iter().zip(values(&reference)) {
        assert!(
            (a - b).abs() < 10.0 * tolerance * (1.0 + b.abs()),
            "{a} {b}"
        );
    }
}

#[test]
fn the_sweep_on_all_cores_is_the_reference() {
    for text in [all_sides(), tall(), periodic()] {
        compare(&text, Machine::Cpu, 1e-11);
    }
}

#[test]
fn the_kernels_are_the_reference() {
    for text in [all_sides(), tall()] {
        for devices in [1, 3] {
            compare(&text, Machine::Emulator(devices, Precision::F64), 1e-11);
        }
        compare(&text, Machine::Emulator(1, Precision::F32), 3e-6);
    }
}

#[test]
fn velocities_that_do_not_hold_the_gas_are_refused() {
    let with = |velocities: &str| {
        let text = format!(
            r#"
            gas = {{ delta = 1 }}
            domain = {{ x = [-1, 1], y = [0, 1], h = 0.25 }}
            {velocities}
            solver = {{ iterations = 1 }}
            [sides]
            left = {{ kind = "stream", mach = 2 }}
            right = {{ kind = "stream", mach = 2 }}
            bottom = {{ kind = "mirror" }}
            top = {{ kind = "stream", mach = 2 }}
            "#
        );
        solve(&case(&text), &Machine::Cpu, &mut |_, _| true)
    };
    let refused = with("velocities = { angles = 16, speeds = 4 }").unwrap_err();
    assert!(
        refused.to_string().contains("sides.left: a Maxwellian"),
        "{refused}"
    );
    let chosen = with("").unwrap();
    assert!(chosen.warnings.is_empty(), "{:?}", chosen.warnings);
}
