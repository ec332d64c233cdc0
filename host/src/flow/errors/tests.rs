//! Estimates beside exact values, and beside finer grids.

use super::random;
use super::*;
use crate::accuracy::{Finding, Unwatched};

fn parsed(text: &str) -> Case {
    toml::from_str(text).unwrap()
}

/// A flow with the errors of its quantities.
fn verified(case: &Case) -> (Findings, Errors) {
    let grids = Grids::new(case, &Machine::Cpu).unwrap();
    let found = grids.solve(&mut |_, _| true).unwrap();
    let errors = grids.errors(&found, f64::INFINITY, &Unwatched).unwrap();
    (found, errors)
}

fn named<'a>(errors: &'a Errors, name: &str) -> &'a Finding {
    let mut findings = errors.findings.iter();
    let finding = findings.find(|finding| finding.quantity.name == name);
    finding.unwrap_or_else(|| panic!("no {name}"))
}

/// The error of a quantity is within three of its bars, and the bar says something.
fn covers(errors: &Errors, name: &str, truth: f64) {
    let found = named(errors, name);
    let error = (found.quantity.value - truth).abs();
    assert!(error < 3.0 * found.error.total, "{found}: {truth}");
    assert!(found.error.total < 0.1 * truth.abs(), "{found}: {truth}");
}

fn stream(gas: &str, speed: f64, more: &str, body: &str) -> Case {
    let side = format!("{{ kind = \"stream\", speed_ratio = {speed} }}");
    parsed(&format!(
        "gas = {{ {gas} }}
        domain = {{ x = [-1.5, 1.5], y = [-1.5, 1.5], h = 0.1, core = [[-0.6, 0.6], [-0.6, 0.6]], growth = 1.2, largest = 0.3 }}
        {more}
        [sides]
        left = {side}
        right = {side}
        bottom = {side}
        top = {side}
        [[body]]
        {body}"
    ))
}

#[test]
fn bars_cover_drag_and_heat_of_free_molecules() {
    let velocities = "velocities = { angles = 64, speeds = 10 }";
    let circle = "shape = \"circle\"\nradius = 0.5";
    let (_, errors) = verified(&stream("delta = 1e-9", 1.0, velocities, circle));
    covers(&errors, "C_D", 4.666193);
    covers(&errors, "C_H", 1.637055);
    let plate = "shape = \"rectangle\"\nsize = [1.0, 0.2]\nangle = 30";
    let (_, errors) = verified(&stream("delta = 1e-9", 1.0, velocities, plate));
    covers(&errors, "C_D", 2.880067);
    covers(&errors, "C_L", -0.986829);
    covers(&errors, "C_H", 1.085543);
    // Without collisions the far field does not matter.
    let parts = &named(&errors, "C_D").error.parts;
    let part = |name| parts.iter().find(|part| part.0 == name).unwrap().1;
    assert!(part("domain") < 1e-6 && part("cells") > 1e-5, "{parts:?}");
}

fn annulus(delta: f64, inner: &str) -> Case {
    parsed(&format!(
        "gas = {{ model = \"bgk\", delta = {delta}, linear = true }}
        domain = {{ x = [-1.05, 1.05], y = [-1.05, 1.05], h = 0.1 }}
        velocities = {{ angles = 48, speeds = 8 }}
        sides = {{ left = {{ kind = \"wall\" }}, right = {{ kind = \"wall\" }}, bottom = {{ kind = \"wall\" }}, top = {{ kind = \"wall\" }} }}
        [[body]]
        name = \"inner\"
        shape = \"circle\"
        radius = 0.5
        {inner}
        [[body]]
        name = \"outer\"
        shape = \"circle\"
        radius = 1.0
        hollow = true"
    ))
}

#[test]
fn bars_cover_heat_and_torque_between_cylinders() {
    for (delta, heat, torque) in [
        (0.1, 0.873578, 0.440532),
        (1.0, 0.772462, 0.416728),
        (10.0, 0.354272, 0.240683),
    ] {
        let (_, errors) = verified(&annulus(delta, "temperature = 1"));
        covers(&errors, "inner heat", -heat);
        // The inner wall turns with unit speed: twice the radius 1/2.
        let (_, errors) = verified(&annulus(delta, "rotation = 2"));
        covers(&errors, "inner moment", -torque);
    }
}

#[test]
fn bars_cover_the_flow_through_channels_and_slots() {
    for (delta, flow) in [(0.1, 2.0327), (1.0, 1.5387), (10.0, 2.7686)] {
        let case = parsed(&format!(
            "gas = {{ model = \"bgk\", delta = {delta}, linear = true }}
            domain = {{ x = [0, 0.2], y = [0, 0.5], h = 0.05 }}
            velocities = {{ angles = 48, speeds = 10, graded = true }}
            [sides]
            left = {{ kind = \"periodic\", jump = 0.2 }}
            right = {{ kind = \"periodic\", jump = 0.2 }}
            bottom = {{ kind = \"wall\" }}
            top = {{ kind = \"mirror\" }}"
        ));
        let (_, errors) = verified(&case);
        // The mass through half of the height 1, by a unit fall of the pressure a unit length: a quarter of G_P.
        covers(&errors, "mass_flow", 0.25 * flow);
    }
    let slot = parsed(
        "gas = { model = \"bgk\", delta = 1e-9 }
        domain = { x = [-2.5, 2.5], y = [0, 2], h = 0.1, core = [[-0.8, 0.8], [0, 0.7]], growth = 1.2, largest = 0.4 }
        velocities = { angles = 64, speeds = 8 }
        [sides]
        left = { kind = \"reservoir\", density = 1 }
        right = { kind = \"vacuum\" }
        bottom = { kind = \"mirror\" }
        top = { kind = \"split\", left = { density = 1 }, right = { density = 1e-9 } }
        [[body]]
        shape = \"rectangle\"
        centre = [0, 20.5]
        size = [1, 40]",
    );
    let (_, errors) = verified(&slot);
    let opening = 0.25 / std::f64::consts::PI.sqrt();
    covers(&errors, "mass_flow", 0.684381 * opening);
}

#[test]
fn repeats_leave_the_run_as_it_is_and_cost_less() {
    let circle = "shape = \"circle\"\nradius = 0.5";
    let case = stream("delta = 1", 2.0, "velocities = { step = 0.9 }", circle);
    let grids = Grids::new(&case, &Machine::Cpu).unwrap();
    let found = grids.solve(&mut |_, _| true).unwrap();
    let alone = super::super::solve(&case, &Machine::Cpu, &mut |_, _| true).unwrap();
    assert_eq!(found, alone);
    // The case on its own grid is itself.
    assert_eq!(grids.on(&grids.grid()), *grids.case());
    let work: f64 = crate::accuracy::repeats(&grids.axes(), &grids.grid())
        .iter()
        .map(|grid| grids.work(grid))
        .sum();
    assert!(work < 0.8 * grids.work(&grids.grid()), "{work}");
    let axes = grids.axes();
    let names: Vec<&str> = axes.iter().map(|axis| axis.name).collect();
    assert_eq!(names, ["cells", "velocities", "domain"]);
}

#[test]
fn a_warning_names_the_axis_and_remedies_that_work() {
    let mut case = annulus(1.0, "rotation = 2");
    let mut axes = Vec::new();
    while let Some(warning) = verified(&case).1.warning() {
        let (_, remedy) = warning.split_once("; most of it is that of the ").unwrap();
        let (axis, remedy) = remedy.split_once(": take ").unwrap();
        let remedy = remedy
            .strip_suffix(", or ask for an accuracy of 0.01")
            .expect(&warning);
        axes.push(axis.to_owned());
        for setting in remedy.split(", ") {
            let (key, value) = setting.split_once(" = ").unwrap();
            match (key, &mut case.velocities) {
                ("h", _) => case.domain.h = value.parse().unwrap(),
                ("angles", Some(Velocities::Polar { angles, .. })) => {
                    *angles = value.parse().unwrap();
                }
                ("speeds", Some(Velocities::Polar { speeds, .. })) => {
                    *speeds = value.parse().unwrap();
                }
                _ => panic!("{warning}"),
            }
        }
        assert!(axes.len() < 4, "{axes:?}: {warning}");
    }
    assert_eq!(axes[..2], ["cells", "velocities"]);
}

#[test]
fn a_search_finds_a_grid_with_the_accuracy() {
    let case = annulus(1.0, "temperature = 1");
    let grids = Grids::new(&case, &Machine::Cpu)
        .unwrap()
        .to_search(2e-3)
        .unwrap();
    let reached = crate::accuracy::search(&grids, 2e-3, &Unwatched).unwrap();
    assert_eq!(reached.obstacle, None);
    let fine = grids.on(&reached.grid);
    assert!(
        fine.domain.h < 0.1 && fine.velocities != case.velocities,
        "{fine:?}"
    );
    // The case that a record holds repeats the result.
    let text = toml::to_string(&fine).unwrap();
    assert_eq!(parsed(&text), fine);
    let found = super::super::solve(&fine, &Machine::Cpu, &mut |_, _| true).unwrap();
    let heat = -found.bodies[0].heat;
    assert!((heat / 0.772462 - 1.0).abs() < 2e-3, "{heat}");
}

#[test]
fn a_search_takes_the_directions_that_suit_a_periodic_case() {
    let channel = |delta: f64| {
        parsed(&format!(
            "gas = {{ model = \"bgk\", delta = {delta}, linear = true }}
            domain = {{ x = [0, 0.2], y = [0, 0.5], h = 0.05 }}
            [sides]
            left = {{ kind = \"periodic\", jump = 0.2 }}
            right = {{ kind = \"periodic\", jump = 0.2 }}
            bottom = {{ kind = \"wall\" }}
            top = {{ kind = \"mirror\" }}"
        ))
    };
    // Thin gas in a channel flows along it: equal parts miss 15% of the flow.
    let grids = Grids::new(&channel(0.1), &Machine::Cpu).unwrap();
    let grids = grids.to_search(1e-3).unwrap();
    let Some(Velocities::Polar { graded, angles, .. }) = grids.case().velocities else {
        panic!("{:?}", grids.case());
    };
    assert!(graded && angles == 48);
}

/// The largest error of a sought quantity beside a finer run, over three of its bars; with its name.
fn beyond(seed: u64, finer: [usize; 3]) -> (f64, String) {
    let case = parsed(&random::case(seed));
    let grids = Grids::new(&case, &Machine::Cpu).unwrap();
    let found = grids.solve(&mut |_, _| true).unwrap();
    let errors = grids.errors(&found, f64::INFINITY, &Unwatched).unwrap();
    let grid: Vec<usize> = grids.grid().iter().zip(finer).map(|(n, k)| n * k).collect();
    let fine = super::super::solve(&grids.on(&grid), &Machine::Cpu, &mut |_, _| true).unwrap();
    let (values, _) = grids.quantities(&fine);
    let sought = errors
        .findings
        .iter()
        .zip(&values)
        .filter(|(f, _)| f.quantity.sought);
    let over = sought.map(|(f, value)| {
        let error = (f.quantity.value - value.value).abs() / (3.0 * f.error.total);
        (error, format!("{seed}: {f}, {}", value.value))
    });
    over.fold((0.0, String::new()), |most, one| {
        if one.0 > most.0 { one } else { most }
    })
}

#[test]
fn bars_cover_the_errors_beside_finer_runs() {
    let beyond: Vec<String> = (0..6)
        .map(|seed| beyond(seed, [2, 1, 2]))
        .filter(|(over, _)| *over > 1.0)
        .map(|(_, text)| text)
        .collect();
    assert!(beyond.is_empty(), "{beyond:?}");
}

#[test]
#[ignore = "some ten minutes: cargo test --lib -- --ignored finer_by_four"]
fn bars_cover_the_errors_beside_runs_finer_by_four() {
    let first = std::env::var("RAREFY_SEED").map_or(100, |seed| seed.parse().unwrap());
    let mut missed = Vec::new();
    for seed in first..first + 40 {
        let (over, text) = beyond(seed, [4, 2, 4]);
        println!("{over:.2} {text}");
        if over > 1.0 {
            missed.push(text);
        }
    }
    assert!(missed.len() <= 2, "{missed:?}");
}
