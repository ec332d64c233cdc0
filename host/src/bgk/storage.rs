//! How populations lie in memory.

use rarefy_kernels::bgk_flow::scales;
use rayon::prelude::*;
use serde::{Deserialize, Serialize};

use super::engine::Node;
use super::{Boundary, DiscreteMaxwellian, Problem, State};

/// How the populations of a time-dependent solution lie in memory between two steps.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[non_exhaustive]
pub enum Storage {
    /// As the arithmetic has them: 4 bytes in `f32`, 8 in `f64`.
    #[default]
    #[serde(rename = "full")]
    Full,
    /// In 2 bytes: the deviation from the Maxwellian of the step before, in half precision with a scale for each node, rounded up or down at random, so that the
    /// mean is right. The random numbers are a hash of step, node and cell: two runs give the same bits. Moments are summed before they are
    /// rounded; the arithmetic is `f32`.
    #[serde(rename = "16")]
    Bits16,
}

impl Storage {
    /// Whether this is the default, which files need not mention.
    pub fn is_full(&self) -> bool {
        *self == Self::Full
    }
}

/// The scales of all nodes, to decode and to encode with, the same for a node and its mirror images.
pub(super) fn node_scales(problem: &Problem, nodes: &[Node]) -> Vec<[f32; 2]> {
    let faces = problem.boundaries;
    let of_face = |face: Boundary| match face {
        Boundary::Inflow(state) => Some(state),
        Boundary::Wall(wall) => Some(wall.state()),
        Boundary::Specular | Boundary::Periodic => None,
    };
    let mut states: Vec<State> = [faces.left, faces.right, faces.bottom, faces.top]
        .into_iter()
        .filter_map(of_face)
        .chain(problem.initial.iter().copied())
        .collect();
    states.dedup();
    let largest = states
        .par_chunks(64)
        .map(|states| {
            let mut largest = vec![0.0_f64; nodes.len()];
            for &state in states {
                // The correction of a conservative one is small against the room that scales leave.
                let maxwellian = DiscreteMaxwellian::sampled(&problem.velocity, state);
                for (most, f) in largest
                    .iter_mut()
                    .zip(maxwellian.populations(&problem.velocity))
                {
                    *most = most.max(f);
                }
            }
            largest
        })
        .reduce(
            || vec![0.0_f64; nodes.len()],
            |a, b| a.iter().zip(&b).map(|(a, b)| a.max(*b)).collect(),
        );
    let shape = problem.velocity.shape();
    nodes
        .iter()
        .enumerate()
        .map(|(index, node)| {
            let across = node.mirrored(shape, 0);
            let along = node.mirrored(shape, 1);
            let both = nodes[across].mirrored(shape, 1);
            let images = [index, across, along, both];
            scales(images.iter().fold(0.0, |most, &i| largest[i].max(most)))
        })
        .collect()
}

/// The half-precision number that stands for `f`, given what it deviates from and the scale: exact for what [`decoded`] makes of one.
pub(super) fn nearest(f: f64, maxwellian: f64, scale: [f32; 2]) -> u32 {
    // Rounded half up; what came from such a number is one to far more digits than f32 has.
    rarefy_kernels::bgk_flow::encode(((f - maxwellian) * f64::from(scale[1])) as f32, 1 << 12)
}

/// The population that a half-precision number stands for, to more digits than it has.
pub(super) fn decoded(half: u32, maxwellian: f64, scale: [f32; 2]) -> f64 {
    f64::from(rarefy_kernels::bgk_flow::decode(half)) * f64::from(scale[0]) + maxwellian
}
