//! The walls of a problem that do not reflect diffusely alone, with the kernels by which they scatter.

use std::collections::HashMap;
use std::sync::Arc;

use super::mirror::{self, Mirror};
use super::scattering::Kernel;
use crate::error::{Error, Result};
use crate::flow::Scattering;
use crate::flow::case::SIDES;
use crate::flow::face::{Border, Wall};
use crate::flow::problem::Problem;

/// Memory of all kernels.
const MOST_BYTES: usize = 2 << 30;

/// Walls that scatter or mirror; walls of one direction and state share a kernel.
pub(super) struct ScatteringWalls {
    /// Of the segments without complete diffuse reflection; none of those that mirror.
    pub(super) segments: Vec<Option<Arc<Kernel>>>,
    /// Mirrors of curved walls of the same segments.
    pub(super) mirrors: Vec<Option<Mirror>>,
    /// Of the faces of each side; empty for sides without.
    pub(super) sides: [Vec<Arc<Kernel>>; 4],
}

impl ScatteringWalls {
    /// Those of a problem.
    ///
    /// # Errors
    /// Velocities too coarse for a kernel, and kernels beyond the memory.
    pub(super) fn new(problem: &Problem) -> Result<Self> {
        let mut made = Made {
            problem,
            all: HashMap::new(),
        };
        let mut segments = Vec::new();
        for s in problem.loose() {
            let segment = &problem.space.segments[s];
            let kernel = problem.reflection[s].kernel();
            let named = |e: Error| e.within(&format!("body {}", segment.body + 1));
            let kernel = kernel.map(|kernel| {
                made.kernel(problem.walls[s], segment.normal, kernel)
                    .map_err(named)
            });
            segments.push(kernel.transpose()?);
        }
        let inward = [[1.0, 0.0], [-1.0, 0.0], [0.0, 1.0], [0.0, -1.0]];
        let mut sides = [const { Vec::new() }; 4];
        for (k, kernels) in sides.iter_mut().enumerate() {
            let Border::Wall(side) = &problem.borders[k] else {
                continue;
            };
            let Some(kernel) = side.accommodation.kernel() else {
                continue;
            };
            for wall in &side.walls {
                let found = made.kernel(*wall, inward[k], kernel);
                kernels.push(found.map_err(|e| e.within(&format!("sides.{}", SIDES[k])))?);
            }
        }
        Ok(Self {
            segments,
            sides,
            mirrors: mirror::all(problem),
        })
    }
}

struct Made<'a> {
    problem: &'a Problem,
    all: HashMap<[u64; 7], Arc<Kernel>>,
}

impl Made<'_> {
    fn kernel(
        &mut self,
        wall: Wall,
        normal: [f64; 2],
        scattering: Scattering,
    ) -> Result<Arc<Kernel>> {
        let [u, v] = wall.velocity;
        let Scattering {
            tangential,
            normal: across,
        } = scattering;
        let numbers = [
            wall.temperature,
            u,
            v,
            normal[0],
            normal[1],
            tangential,
            across,
        ];
        let key = numbers.map(|x| (x + 0.0).to_bits());
        if let Some(kernel) = self.all.get(&key) {
            return Ok(kernel.clone());
        }
        let Problem { gas, nodes, .. } = self.problem;
        let bytes = (self.all.len() + 1) * Kernel::bytes(nodes);
        if bytes > MOST_BYTES {
            return Err(Error::invalid(
                "accommodation",
                format!("kernels of more than {} GiB", MOST_BYTES >> 30),
                "fewer velocities, wider cells, or a number, the share of Maxwell's reflection",
            ));
        }
        let kernel = Arc::new(Kernel::new(gas, nodes, wall, normal, scattering)?);
        self.all.insert(key, kernel.clone());
        Ok(kernel)
    }
}
