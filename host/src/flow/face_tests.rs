//! Sides and walls beside closed forms, published values, and each other.

use super::*;

fn solved(text: &str) -> Findings {
    let case: Case = toml::from_str(text).expect("a case");
    let found = solve(&case, &Machine::Cpu, &mut |_, _| true).expect("a flow");
    // The range of a field that does not vary is roundoff.
    assert!(
        ["converged", "at-roundoff"].contains(&&*found.status),
        "{}",
        found.change
    );
    found
}

fn side(found: &Findings, name: &str) -> Flux {
    let side = found.sides.iter().find(|(side, _)| side == name);
    side.expect("a side").1
}

#[test]
fn a_given_flow_enters_and_has_the_density_of_its_reservoir() {
    let with = |left: &str| {
        solved(&format!(
            r#"
            gas = {{ delta = 2 }}
            domain = {{ x = [0, 1], y = [0, 0.5], h = 0.1 }}
            velocities = {{ angles = 24, speeds = 8 }}
            solver = {{ tolerance = 1e-8 }}
            [sides]
            left = {{ {left} }}
            right = {{ kind = "reservoir", density = 0.5 }}
            bottom = {{ kind = "mirror" }}
            top = {{ kind = "wall" }}
            "#
        ))
    };
    let reservoir = with("kind = \"reservoir\"");
    let flow = -side(&reservoir, "left").mass;
    assert!(flow > 0.02, "{flow}");
    let given = with(&format!("kind = \"inflow\", mass_flow = {flow}"));
    for (name, mass) in [("left", -flow), ("right", flow)] {
        let found = side(&given, name).mass;
        assert!((found - mass).abs() < 1e-6 * flow, "{name}: {found} {mass}");
    }
    let pairs = given.fields.density.iter().zip(&reservoir.fields.density);
    for (a, b) in pairs {
        assert!((a - b).abs() < 1e-5, "{a} {b}");
    }
}

/// Half of a plane channel of height 1 along one period.
fn channel(linear: bool, graded: bool, fall: &str, wall: &str) -> Findings {
    solved(&format!(
        r#"
        gas = {{ model = "bgk", delta = 1, omega = 0.5, linear = {linear} }}
        domain = {{ x = [0, 1], y = [0, 0.5], h = 0.05 }}
        velocities = {{ angles = 48, speeds = 12, graded = {graded} }}
        solver = {{ tolerance = 1e-7 }}
        [sides]
        left = {{ kind = "periodic", {fall} }}
        right = {{ kind = "periodic", {fall} }}
        bottom = {{ kind = "mirror" }}
        top = {{ kind = "wall", {wall} }}
        "#
    ))
}

#[test]
fn a_channel_drives_gas_by_pressure_and_by_the_temperature_of_its_walls() {
    let pressure = channel(true, true, "jump = 1", "temperature = 0");
    let creep = channel(
        true,
        true,
        "jump_temperature = 1",
        "temperature = [[0, 0.5], [1, -0.5]]",
    );
    let mass = |found: &Findings| side(found, "right").mass;
    // Plane Poiseuille flow and thermal creep of linear BGK; twice the mean velocity, against the gradient of temperature.
    let flow = 4.0 * mass(&pressure);
    assert!((flow / 1.5387 - 1.0).abs() < 2e-3, "{flow}");
    let creeping = -4.0 * mass(&creep);
    assert!((creeping / 0.2949 - 1.0).abs() < 1e-2, "{creeping}");
    // Onsager: heat carried by the pressure's flow, in p0 v0, is the flow carried by the temperature's.
    let carried = side(&pressure, "right");
    let heat = 2.0 * (carried.energy - 1.25 * carried.mass);
    assert!(
        (heat / mass(&creep) - 1.0).abs() < 1e-2,
        "{heat} {}",
        mass(&creep)
    );
}

#[test]
fn a_small_fall_along_a_period_has_the_linear_flow() {
    // Equal angles: along the axis each iteration of a nonlinear flow passes one period.
    let linear = channel(true, false, "jump = 1", "temperature = 0");
    let fall = channel(false, false, "factor = 0.998", "temperature = 1");
    let [expected, found] = [&linear, &fall].map(|found| side(found, "right").mass);
    let share = found / (expected * 0.002 / 0.999);
    // Second order in the fall: 1.4 times its size.
    assert!((share - 1.0).abs() < 5e-3, "{share}");
    assert!((side(&fall, "left").mass + found).abs() < 1e-6);
}

/// Plates without collisions, of which the left one differs.
fn plates(left: &str, accommodation: &str) -> Flux {
    let found = solved(&format!(
        r#"
        gas = {{ model = "bgk", delta = 1e-9, linear = true }}
        domain = {{ x = [0, 1], y = [0, 0.2], h = 0.1 }}
        velocities = {{ kind = "polar", angles = 48, speeds = 12 }}
        solver = {{ tolerance = 1e-4 }}
        [sides]
        left = {{ kind = "wall", {left}, accommodation = {accommodation} }}
        right = {{ kind = "wall", accommodation = {accommodation} }}
        bottom = {{ kind = "periodic" }}
        top = {{ kind = "periodic" }}
        "#
    ));
    side(&found, "right")
}

#[test]
fn scattering_plates_exchange_the_exact_heat_and_momentum() {
    let root = std::f64::consts::PI.sqrt();
    for (tangential, normal) in [(0.7, 0.4), (1.3, 1.0), (0.4, 0.9)] {
        let kernel = format!("{{ tangential = {tangential}, normal = {normal} }}");
        // Half of the heat is of the motion across the plates, half of that along them; each part accommodates on its own.
        let along = tangential * (2.0 - tangential);
        let share = 0.5 * normal / (2.0 - normal) + 0.5 * along / (2.0 - along);
        let heat = plates("temperature = 1", &kernel).energy / 0.2;
        let expected = 0.5 / root * share;
        assert!(
            (heat / expected - 1.0).abs() < 5e-3,
            "{kernel}: {heat} {expected}"
        );
        let shear = plates("velocity = 1", &kernel).momentum_y / 0.2;
        let expected = 0.5 / root * tangential / (2.0 - tangential);
        assert!(
            (shear / expected - 1.0).abs() < 5e-3,
            "{kernel}: {shear} {expected}"
        );
    }
}

/// Torque or heat of the inner one of two cylinders.
fn annulus(inner: &str, outer: &str) -> Loads {
    let found = solved(&format!(
        r#"
        gas = {{ delta = 1, linear = true }}
        domain = {{ x = [-1.05, 1.05], y = [-1.05, 1.05], h = 0.15 }}
        velocities = {{ kind = "polar", angles = 24, speeds = 6 }}
        solver = {{ tolerance = 1e-9 }}
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
        {outer}
        "#
    ));
    found.bodies[0].clone()
}

#[test]
fn tables_and_kernels_along_curved_walls_have_their_simple_cases() {
    let turning = annulus("rotation = 2", "");
    let table = annulus("speed = [[0, 1], [2, 1]]", "");
    // The middles of chords turn at a smaller radius.
    let ratio = table.moment / turning.moment;
    assert!((ratio - 1.0).abs() < 2e-2, "{ratio}");
    let warm = annulus("temperature = 1", "");
    let kernel = "accommodation = { tangential = 1, normal = 1 }";
    let scattering = annulus(&format!("temperature = 1\n{kernel}"), kernel);
    assert!(
        (scattering.heat / warm.heat - 1.0).abs() < 1e-6,
        "{} {}",
        scattering.heat,
        warm.heat
    );
    // A warm half has about half of the heat.
    let half = annulus(
        "temperature = [[0, 1], [1.5707, 1], [1.5708, 0], [3.1415, 0]]",
        "",
    );
    assert!(
        (half.heat / warm.heat - 0.5).abs() < 5e-2,
        "{} {}",
        half.heat,
        warm.heat
    );
}

#[test]
fn passages_have_conductance_transmission_and_permeability() {
    // Slot of length 1 and height 1, of which the mirror leaves half, without collisions.
    let slot = solved(
        r#"
        gas = { delta = 1e-9 }
        domain = { x = [-1.5, 1.5], y = [0, 1], h = 0.05, core = [[-0.7, 0.7], [0, 0.6]], growth = 1.15 }
        velocities = { angles = 96, speeds = 6 }
        [sides]
        left = { kind = "reservoir" }
        right = { kind = "vacuum" }
        bottom = { kind = "mirror" }
        top = { kind = "split", left = { density = 1 }, right = { density = 1e-6 } }
        [[body]]
        shape = "rectangle"
        centre = [0, 2.5]
        size = [1, 4]
        "#,
    );
    let [passage] = &slot.passages[..] else {
        panic!("{:?}", slot.passages);
    };
    // Clausing's value.
    let transmission = passage.transmission.expect("two vessels");
    assert!(
        (transmission / 0.684381 - 1.0).abs() < 5e-3,
        "{transmission}"
    );
    assert!((passage.opening.expect("an opening") - 0.5).abs() < 1e-8);
    let conductance = passage.conductance.expect("two vessels");
    assert!((conductance / passage.flow - 1.0).abs() < 1e-5);

    // Between plates Darcy's permeability is that of slip flow: (1/12) (1 + 6 * 1.016/delta) in dense gas.
    let dense = solved(
        r#"
        gas = { model = "bgk", delta = 100, linear = true }
        domain = { x = [0, 0.2], y = [0, 0.5], h = 0.05 }
        velocities = { angles = 24, speeds = 8 }
        [sides]
        left = { kind = "periodic", jump = 1 }
        right = { kind = "periodic", jump = 1 }
        bottom = { kind = "mirror" }
        top = { kind = "wall" }
        "#,
    );
    let permeability = dense.passages[0].permeability.expect("a period");
    let expected = (1.0 + 6.0 * 1.016 / 100.0) / 12.0;
    assert!(
        (permeability / expected - 1.0).abs() < 1e-2,
        "{permeability} {expected}"
    );
    let mobility = dense.passages[0].mobility.expect("a period");
    assert!((mobility / permeability - 100.0).abs() < 1e-9);
}

#[test]
fn gas_slips_and_jumps_at_walls() {
    // Turning cylinder in dense gas: slip by the viscous coefficient 1.016 sqrt(pi)/2 of the mean free path.
    let found = solved(
        r#"
        gas = { model = "bgk", delta = 1e-9, linear = true }
        domain = { x = [-1.05, 1.05], y = [-1.05, 1.05], h = 0.15 }
        velocities = { angles = 24, speeds = 6 }
        sides = { left = { kind = "vacuum" }, right = { kind = "vacuum" }, bottom = { kind = "vacuum" }, top = { kind = "vacuum" } }
        [[body]]
        shape = "circle"
        radius = 1.0
        hollow = true
        temperature = 1
        "#,
    );
    // Gas within one warm wall is as warm as it, but for what the start left of its density.
    let jumps = found.surface.iter().map(|point| point.jump.abs());
    let most = jumps.fold(0.0, f64::max);
    assert!(most < 1e-3, "{most}");
    let turning = solved(
        r#"
        gas = { model = "bgk", delta = 1e-9, linear = true }
        domain = { x = [-1.05, 1.05], y = [-1.05, 1.05], h = 0.15 }
        velocities = { angles = 48, speeds = 6 }
        sides = { left = { kind = "vacuum" }, right = { kind = "vacuum" }, bottom = { kind = "vacuum" }, top = { kind = "vacuum" } }
        [[body]]
        shape = "circle"
        radius = 0.5
        rotation = 2
        [[body]]
        shape = "circle"
        radius = 1.0
        hollow = true
        "#,
    );
    // Without collisions half of the molecules at the inner wall are its own, the others at rest come from the outer one: the slip is -1/2.
    let inner = turning.surface.iter().filter(|point| point.body == 0);
    let (mut sum, mut length) = (0.0, 0.0);
    for point in inner {
        sum += point.length * point.slip;
        length += point.length;
    }
    assert!((sum / length / -0.5 - 1.0).abs() < 3e-2, "{}", sum / length);
}

fn refusal(text: &str) -> String {
    let case: Case = toml::from_str(text).expect("a case");
    match solve(&case, &Machine::Cpu, &mut |_, _| true) {
        Err(error) => error.to_string(),
        Ok(found) => format!("{} {:?}", found.status, found.warnings),
    }
}

#[test]
fn cases_without_a_steady_flow_are_refused_in_one_line() {
    let with = |sides: [&str; 4], rest: &str| {
        let [left, right, bottom, top] = sides;
        refusal(&format!(
            r#"
            gas = {{ delta = 1 }}
            domain = {{ x = [0, 1], y = [0, 1], h = 0.1 }}
            solver = {{ iterations = 2 }}
            [sides]
            left = {{ {left} }}
            right = {{ {right} }}
            bottom = {{ {bottom} }}
            top = {{ {top} }}
            {rest}
            "#
        ))
    };
    let (stream, tilted) = (
        "kind = \"stream\", mach = 2",
        "kind = \"stream\", mach = 2, angle = -5",
    );
    let (wall, mirror) = ("kind = \"wall\"", "kind = \"mirror\"");
    let (vacuum, reservoir) = ("kind = \"vacuum\"", "kind = \"reservoir\"");
    let block = "[[body]]\nshape = \"rectangle\"\ncentre = [0, 0.5]\nsize = [0.6, 3]";
    let ring = "[[body]]\nshape = \"difference\"\nof = [{ shape = \"circle\", centre = [0.5, 0.5], radius = 0.3 }, { shape = \"circle\", centre = [0.5, 0.5], radius = 0.09 }]";
    let cold = "[[body]]\nshape = \"circle\"\ncentre = [0.5, 0.5]\nradius = 0.2\ntemperature = 0.02\n[velocities]\nangles = 32\nspeeds = 8";
    for (sides, rest, line) in [
        (
            [stream, wall, stream, stream],
            "",
            "sides.left: a stream at an angle of 0 that enters the wall at the right; expected",
        ),
        (
            [tilted, tilted, mirror, tilted],
            "",
            "sides.left: a stream at an angle of -5 that enters the mirror at the bottom; expected",
        ),
        (
            [vacuum, wall, mirror, mirror],
            "",
            "sides.left: a vacuum that no side feeds; expected a stream, a reservoir",
        ),
        (
            ["kind = \"stream\", mach = 0", vacuum, mirror, mirror],
            "",
            "sides.left: mach: 0; expected a speed above 0, since a stream has a direction",
        ),
        (
            ["kind = \"inflow\", mass_flow = 1", wall, mirror, mirror],
            "",
            "sides.left.mass_flow: 1; expected another side through which",
        ),
        (
            [reservoir, vacuum, mirror, mirror],
            block,
            "sides.left: a port wholly inside of bodies; expected",
        ),
        (
            ["kind = \"inflow\", mass_flow = 1", vacuum, mirror, mirror],
            block,
            "sides.left: a port wholly inside of bodies; expected",
        ),
        (
            [stream, stream, stream, stream],
            ring,
            "unfinished [\"a hole of a few cells at (0.4",
        ),
        (
            [reservoir, vacuum, mirror, mirror],
            cold,
            "body 1: a Maxwellian that is",
        ),
    ] {
        let found = with(sides, rest);
        assert!(found.starts_with(line), "{line}\n{found}");
    }
}

#[test]
fn a_body_that_moves_across_its_walls_is_warned_of() {
    let of = |body: &str| {
        refusal(&format!(
            r#"
            solver = {{ tolerance = 1e-2 }}
            gas = {{ model = "bgk", delta = 1, linear = true }}
            domain = {{ x = [-1, 1], y = [-1, 1], h = 0.25 }}
            velocities = {{ angles = 16, speeds = 4 }}
            sides = {{ left = {{ kind = "reservoir", density = 0 }}, right = {{ kind = "reservoir", density = 0 }}, bottom = {{ kind = "mirror" }}, top = {{ kind = "mirror" }} }}
            [[body]]
            name = "b"
            {body}
            "#
        ))
    };
    for body in [
        "shape = \"circle\"\nradius = 0.5\nvelocity = [1, 0]",
        "shape = \"rectangle\"\nsize = [1, 1]\nrotation = 0.1",
    ] {
        let found = of(body);
        assert!(found.contains("b moves across its walls"), "{found}");
    }
    for body in [
        "shape = \"circle\"\nradius = 0.5\nrotation = 1",
        "shape = \"rectangle\"\nsize = [1.5, 0.25]\nvelocity = [1, 0]",
    ] {
        let found = of(body);
        assert!(!found.contains("across its walls"), "{found}");
    }
}
