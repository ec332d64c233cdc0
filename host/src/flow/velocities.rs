//! The discrete velocities of a case.

use super::case::{Case, HALF_TURN, Velocities};
use super::volume::one_temperature;

/// The velocities of a case, chosen where it is silent.
pub(in crate::flow) fn velocities_of(case: &Case) -> Velocities {
    // Half-range Gauss points find the flux through an opening where cells that end at zero lose a twentieth.
    let gauss = |axial: usize, temperature: f64| Velocities::Axis {
        angles: HALF_TURN,
        speeds: 12,
        axial,
        temperature,
    };
    let slow = match case.is_round() && !case.gas.linear {
        true => one_temperature(case),
        false => None,
    };
    case.velocities.unwrap_or(match case.gas.linear {
        true if case.is_round() => gauss(8, 1.0),
        true if case.is_in_space() => Velocities::Gauss {
            points: 6,
            temperature: 1.0,
        },
        true => Velocities::Polar {
            angles: 48,
            speeds: 10,
            temperature: 1.0,
            graded: false,
        },
        false => slow.map_or(
            Velocities::Uniform {
                step: 0.7,
                reach: 3.4,
                angles: HALF_TURN,
            },
            |temperature| gauss(12, temperature),
        ),
    })
}
