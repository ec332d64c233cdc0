//! Walls and mirrors in the correction: the molecules that return.

use std::f64::consts::PI;

use crate::bgk::steady::plan::{Plan, Side};

/// Changes of the gas at a wall's face.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct AtWall {
    pub(super) density: f64,
    /// Along the wall.
    pub(super) velocity: f64,
    pub(super) temperature: f64,
    /// Momentum along the wall and heat that go outwards.
    pub(super) stress: f64,
    pub(super) heat: f64,
    /// Density that the wall emits.
    pub(super) emitted: f64,
    /// Temperature of rotation, and internal energy that goes outwards.
    pub(super) rotational: f64,
    pub(super) internal: f64,
}

/// Fluxes outwards through a wall's face that the returning molecules cause by being those of the last sweep.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Lag {
    pub(super) stress: f64,
    pub(super) heat: f64,
    pub(super) internal: f64,
}

/// Adds to the molecules that return at a wall, or mirror, how the outgoing ones change.
pub(super) fn return_changed(
    plan: &Plan,
    side: usize,
    wall: &Side,
    faces: &[AtWall],
    share: f64,
    y: &mut [f64],
) {
    let half_k = 0.5 * plan.internal;
    let count = plan.nodes.len();
    let mut functions = y[wall.offset..].chunks_exact_mut(faces.len() * count);
    let (Some(first), Some(second)) = (functions.next(), functions.next()) else {
        return;
    };
    let mut third = functions.next();
    for (node, &[vx, vy, vz2, _]) in plan.nodes.iter().enumerate() {
        if !plan.leaves(side, node) {
            continue;
        }
        let (normal, along) = if side < 2 {
            (vx.abs(), vy)
        } else {
            (vy.abs(), vx)
        };
        let square = vx * vx + vy * vy + vz2 + half_k;
        let weight = if plan.linear {
            share
        } else {
            let d = 0.5 * plan.velocity_dimensions as f64;
            share * PI.powf(-d) * (half_k - square).exp()
        };
        for (face, change) in faces.iter().enumerate() {
            let k = 1.6 * normal * change.heat;
            let value = change.density
                + 2.0 * along * (change.velocity + 2.0 * normal * change.stress)
                + change.temperature * (square - 1.5)
                + k * (square - 2.5);
            first[face * count + node] += weight * value;
            second[face * count + node] += weight * half_k * (value + change.temperature + k);
            if let (Some(rotation), Some(third)) = (&plan.rotation, &mut third) {
                let half = 0.5 * rotation.freedom;
                let energy = match plan.linear {
                    true => half * change.rotational,
                    false => half * (value + change.rotational),
                };
                third[face * count + node] += weight * (energy + 4.0 * normal * change.internal);
            }
        }
    }
}

/// The misfits of the wall's faces after a sweep.
///
/// Of the molecules that a wall with accommodation `a` does not accommodate, those of the last sweep return. Half-range balances of mass,
/// momentum and energy with the distribution of Newton's and Fourier's law determine the fluxes outwards
/// `stress = a/(2-a) u/sqrt(pi) - 2/(2-a) r_t`, `heat = a/(2-a) theta/sqrt(pi) + M/4 - 2/(2-a) (r_e - r_m)`, with the fluxes `r` of what
/// leaves now less what left before, times `1 - a`, and the mass `M` that leaves more than comes in. Internal energy has the law of heat, without the mass `M`.
pub(super) fn lags(plan: &Plan, x: &[f64], y: &[f64]) -> Vec<Lag> {
    let faces = plan.layout.faces;
    let at = plan.layout.faces_at();
    let count = plan.nodes.len();
    let mut lags = vec![Lag::default(); faces[4]];
    for (side, wall) in plan.sides.iter().enumerate() {
        let Some(wall) = wall else { continue };
        let here = faces[side + 1] - faces[side];
        let returned = wall.returned.is_some();
        let outgoing: Vec<usize> = (0..count)
            .filter(|&node| returned && plan.leaves(side, node))
            .collect();
        for face in 0..here {
            let [mut mass, mut stress, mut energy, mut internal] = [0.0; 4];
            for &node in &outgoing {
                let [vx, vy, vz2, w] = plan.nodes[node];
                let normal = plan.speeds[node][side / 2].abs();
                let along = if side < 2 { vy } else { vx };
                let place = |k: usize| wall.offset + (k * here + face) * count + node;
                let [f, h] = [place(0), place(1)].map(|place| w * normal * (y[place] - x[place]));
                mass += f;
                stress += along * f;
                energy += 0.5 * ((vx * vx + vy * vy + vz2) * f + h);
                if let Some(rotation) = &plan.rotation {
                    let at = place(2);
                    let carried = match plan.linear {
                        true => 0.0,
                        false => 0.25 * rotation.freedom * f,
                    };
                    internal += 0.5 * w * normal * (y[at] - x[at]) - carried;
                }
            }
            let [mass, stress, energy, internal] =
                [mass, stress, energy, internal].map(|r| (1.0 - wall.share) * r);
            let k = faces[side] + face;
            let emitted = if wall.tight {
                wall.share * wall.rate[0] * (y[at + k] - x[at + k])
            } else {
                0.0
            };
            let factor = -2.0 / (2.0 - wall.share);
            lags[k] = Lag {
                stress: factor * stress,
                heat: factor * (energy - mass) + 0.25 * (mass + emitted),
                internal: factor * internal,
            };
        }
    }
    lags
}
