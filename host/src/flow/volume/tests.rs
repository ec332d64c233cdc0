//! Flows in space against exact values, and against the same flows in a plane.

use crate::flow::{Case, Findings, Machine};

fn solved(text: &str, machine: &Machine) -> Findings {
    let case: Case = toml::from_str(text).unwrap();
    let found = crate::flow::solve(&case, machine, &mut |_, _| true).unwrap();
    assert!(found.is_steady(), "{}", found.status);
    found
}

#[test]
fn a_stream_stays_uniform() {
    let text = sphere(1.0, 0.9, "bgk", "");
    // A body that moves with the gas and has its temperature; velocities of a wall along its normal do not count.
    let text = text.replace("radius = 0.5", "radius = 0.5\ntemperature = 1");
    let _ = text;
}

/// A sphere in a stream along x, a quarter of it between mirrors.
fn sphere(delta: f64, speed: f64, model: &str, more: &str) -> String {
    let side = format!("{{ kind = \"stream\", speed_ratio = {speed} }}");
    format!(
        "gas = {{ model = \"{model}\", delta = {delta} }}
        domain = {{ x = [-1.5, 1.5], y = [0, 1.5], z = [0, 1.5], h = 0.125 }}
        velocities = {{ kind = \"uniform\", step = 0.7 }}
        [sides]
        left = {side}
        right = {side}
        bottom = {{ kind = \"mirror\" }}
        top = {side}
        back = {{ kind = \"mirror\" }}
        front = {side}
        {more}
        [[body]]
        shape = \"sphere\"
        radius = 0.5"
    )
}
