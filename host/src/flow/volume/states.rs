//! The states that sides and walls of a case have.

use super::gas::State;
use crate::flow::case::{Case, Side};
use crate::flow::outline::sin_cos;
use crate::flow::{Along, Reservoir, Stream};

/// The number of a wall that has no table.
pub(in crate::flow) fn number(of: Option<&Along>, usual: f64) -> f64 {
    of.map_or(usual, |along| along.at(0.0, None))
}

/// The state of a resolved stream.
pub(in crate::flow) fn stream_state(stream: &Stream, linear: bool) -> State {
    let usual = if linear { 0.0 } else { 1.0 };
    let speed = stream.speed_ratio.unwrap_or(0.0);
    let (sin, cos) = sin_cos(stream.angle);
    let (up, level) = sin_cos(stream.elevation);
    [
        stream.density.unwrap_or(usual),
        speed * level * cos,
        speed * level * sin,
        speed * up,
        stream.temperature.unwrap_or(usual),
    ]
}

/// The state of a resolved reservoir.
pub(in crate::flow) fn reservoir_state(reservoir: &Reservoir, linear: bool) -> State {
    let usual = if linear { 0.0 } else { 1.0 };
    let density = reservoir.density.unwrap_or(usual);
    let temperature = reservoir.temperature.unwrap_or(usual);
    [density, 0.0, 0.0, 0.0, temperature]
}

/// The states that the gas of a case certainly has: those of sides and walls.
pub(in crate::flow) fn states(case: &Case) -> Vec<(String, State)> {
    let usual = if case.gas.linear { 0.0 } else { 1.0 };
    let mut states = Vec::new();
    for (name, side) in case.named_sides() {
        if let Side::Split { left, right, .. } = side {
            for (half, of) in [("left", left), ("right", right)] {
                states.push((format!("sides.{name}.{half}"), reservoir_state(of, false)));
            }
        }
        let state = match side {
            Side::Stream(stream) => stream_state(stream, false),
            Side::Reservoir(reservoir) => reservoir_state(reservoir, false),
            Side::Wall {
                temperature,
                velocity,
                ..
            } => {
                let speed = velocity.at(0.0, None).abs();
                let temperature = number(temperature.as_ref(), usual);
                match case.is_round() {
                    true => [1.0, speed, 0.0, 0.0, temperature],
                    false => [1.0, speed, speed, speed, temperature],
                }
            }
            Side::Inflow { temperature, .. } => [1.0, 0.0, 0.0, 0.0, temperature.unwrap_or(usual)],
            _ => continue,
        };
        states.push((format!("sides.{name}"), state));
    }
    for (k, body) in case.bodies.iter().enumerate() {
        let [x, y, z] = body.velocity.unwrap_or_default().0;
        let temperature = number(body.temperature.as_ref(), usual);
        states.push((format!("body {}", k + 1), [1.0, x, y, z, temperature]));
    }
    states
}

/// A temperature whose Gauss points hold all states of a nonlinear case, where it is slow and has about one temperature.
pub(in crate::flow) fn one_temperature(case: &Case) -> Option<f64> {
    let states = states(case);
    let all = || states.iter().map(|(_, state)| state);
    let fastest = all().map(square).fold(0.0, f64::max);
    let hottest = all().map(|state| state[4]).fold(0.0, f64::max);
    let coldest = all().map(|state| state[4]).fold(f64::INFINITY, f64::min);
    match fastest <= 1.0 && hottest <= 2.0 * coldest {
        true if hottest > 0.0 => Some((hottest * coldest).sqrt()),
        true => Some(1.0),
        false => None,
    }
}

pub(in crate::flow) fn square(s: &State) -> f64 {
    s[1] * s[1] + s[2] * s[2] + s[3] * s[3]
}
