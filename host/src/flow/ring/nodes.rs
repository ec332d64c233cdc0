//! Discrete velocities round an axis: pairs of a velocity along it and a speed across it, each in all angles of a half turn.

use std::f64::consts::{FRAC_PI_2, PI};

use crate::bgk::quadrature::Rule;
use crate::error::Result;
use crate::flow::turn::Turn;
use crate::flow::volume::{Axis, Nodes, coldest};
use crate::maxwellian::lanes::LANES;

/// Speeds across the axis, and the areas in the plane across that belong to them; for the linearised equation times the Maxwellian at rest.
pub(in crate::flow) type Speeds = Vec<(f64, f64)>;

/// Gauss speeds for Maxwellians of a temperature.
///
/// # Errors
/// More speeds than a rule has.
pub(in crate::flow) fn gauss(speeds: usize, temperature: f64, linear: bool) -> Result<Speeds> {
    let rule = Rule::radial(speeds)?;
    let pairs = rule.nodes.iter().zip(&rule.weights);
    // The rule has the weight 2 c exp(-c^2).
    let of = |(c, w): (&f64, &f64)| match linear {
        true => (c * temperature.sqrt(), *w),
        false => (c * temperature.sqrt(), w * PI * temperature * (c * c).exp()),
    };
    Ok(pairs.map(of).collect())
}

/// Gauss-Legendre speeds up to a reach, in the middle of it about a step from each other.
///
/// # Errors
/// More speeds than a rule has.
pub(in crate::flow) fn spread(reach: f64, step: f64) -> Result<Speeds> {
    // The points of the rule are pi/2 times less dense in the middle than on average.
    let count = (FRAC_PI_2 * reach / step).ceil().max(2.0) as usize;
    let rule = Rule::legendre(count)?;
    let pairs = rule.nodes.iter().zip(&rule.weights);
    let of = |(x, w): (&f64, &f64)| {
        let v = 0.5 * reach * (x + 1.0);
        (v, 2.0 * PI * v * 0.5 * reach * w)
    };
    Ok(pairs.map(of).collect())
}

/// All velocities: pairs of one sign along the axis by eights, and each eight in all angles.
pub(in crate::flow) fn nodes_of(axis: Axis, speeds: &Speeds, turn: Turn) -> Nodes {
    let mut v: [Vec<f64>; 3] = Default::default();
    let mut weight = Vec::new();
    let mut first = [0; 9];
    let mut pieces: [std::ops::Range<usize>; 8] = Default::default();
    let mut count = 0;
    for (side, half) in axis.iter().enumerate() {
        let along = half.v.iter().zip(&half.w);
        let mut pairs: Vec<[f64; 3]> = along
            .flat_map(|(vx, wx)| speeds.iter().map(move |(vp, wp)| [*vx, *vp, wx * wp]))
            .collect();
        count += pairs.len() * turn.len();
        // Padding repeats the last pair; a side without velocities needs none.
        while !pairs.len().is_multiple_of(LANES) {
            let [vx, vp, _] = pairs[pairs.len() - 1];
            pairs.push([vx, vp, 0.0]);
        }
        pieces[side] = 0..pairs.len() / LANES;
        for eight in pairs.chunks(LANES) {
            for (mu, w) in turn.cosine.iter().zip(&turn.weight) {
                for [vx, vp, share] in eight {
                    v[0].push(*vx);
                    v[1].push(vp * mu);
                    v[2].push(vp * (1.0 - mu * mu).sqrt());
                    weight.push(share * w);
                }
            }
        }
        first[side + 1..].fill(weight.len());
    }
    let along = axis.iter().flat_map(|half| half.w.iter().copied());
    let across = speeds.iter().map(|(v, area)| area / (2.0 * PI * v));
    Nodes {
        coldest: coldest([along.collect(), across.collect()]),
        axes: [axis, Axis::default(), Axis::default()],
        v,
        weight,
        first,
        pieces,
        count,
        turn: Some(turn),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::flow::volume::gauss as along;

    #[test]
    fn nodes_hold_maxwellians() {
        let nodes = nodes_of(
            along(8, 1.0, false).unwrap(),
            &gauss(12, 1.0, false).unwrap(),
            Turn::new(12).unwrap(),
        );
        assert_eq!(nodes.count, 16 * 12 * 12);
        let c = crate::flow::volume::MAXWELLIAN_AT_REST;
        let [density, energy] = nodes.hold(&c);
        assert!((density - 1.0).abs() < 1e-12 && (energy - 1.5).abs() < 1e-12);
        for m in 0..nodes.len() {
            let [x, r, phi] = nodes.velocity(m);
            assert_eq!(nodes.velocity(nodes.image(m, 0)), [-x, r, phi]);
            assert_eq!(nodes.velocity(nodes.image(m, 1)), [x, -r, phi]);
        }
        let reach = spread(4.5, 0.6).unwrap();
        let density: f64 = reach.iter().map(|(v, w)| w * (-v * v).exp() / PI).sum();
        assert!((density - 1.0).abs() < 1e-7, "{density}");
    }
}
