//! A face of space: the populations that come in through it.

use rarefy_kernels::Real;

use super::super::engine::FaceFlux;
use super::layout::Layout;
use crate::bgk::{Boundary, DiscreteMaxwellian};
use crate::error::Result;

/// One face.
pub(super) struct Face<T> {
    pub(super) kind: Kind,
    /// Populations that come in at unit density, by node.
    emitted: Vec<T>,
    /// Density with which they come in, by row.
    pub(super) density: Vec<T>,
    /// `1 - alpha`: what is mirrored of what leaves.
    pub(super) mirrored: T,
    /// Relaxed populations near the face, `[node][distance][row]`, of a face that mirrors.
    pub(super) images: Vec<T>,
    /// Emission per step at unit density: mass, and all moments.
    pub(super) unit: FaceFlux,
}

/// Kinds of faces.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Kind {
    Inflow,
    Wall,
    Mirror,
    Periodic,
}

impl<T: Real> Face<T> {
    /// Whether the cells beyond the face have slopes.
    pub(super) fn sloped(&self) -> bool {
        matches!(self.kind, Kind::Mirror | Kind::Periodic)
    }

    /// Whether what leaves comes in again through the face opposite.
    pub(super) fn is_periodic(&self) -> bool {
        self.kind == Kind::Periodic
    }

    /// Rows of cells that end at the face.
    pub(super) fn rows(&self) -> usize {
        self.density.len()
    }

    /// The value beyond the face at the distance `d` for molecules that come in.
    #[inline(always)]
    fn incoming(
        &self,
        layout: &Layout<T>,
        node: usize,
        row: usize,
        d: usize,
        direction: usize,
    ) -> T {
        let mut value = T::ZERO;
        if self.kind != Kind::Mirror {
            value = self.density[row] * self.emitted[node];
        }
        if !self.images.is_empty() {
            let image = layout.nodes[node].mirrored(layout.shape, direction);
            let depth = layout.pad[direction];
            value += self.mirrored * self.images[(image * depth + d) * self.rows() + row];
        }
        value
    }

    /// Fills the cells of a row along x beyond this face, the low (0) or the high (1).
    #[inline(always)]
    pub(super) fn fill(
        &self,
        layout: &Layout<T>,
        node: usize,
        iy: usize,
        side: usize,
        row: &mut [T],
    ) {
        let (pad, n) = (layout.pad[0], layout.nx);
        let comes_in = (layout.nodes[node].v[0] > 0.0) == (side == 0);
        let at = |d: usize| if side == 0 { pad - 1 - d } else { pad + n + d };
        for d in 0..pad {
            row[at(d)] = match self.kind {
                Kind::Periodic => row[if side == 0 { pad + n - 1 - d } else { pad + d }],
                Kind::Inflow | Kind::Wall if !comes_in => {
                    row[if side == 0 { pad } else { pad + n - 1 }]
                }
                _ => self.incoming(layout, node, iy, d, 0),
            };
        }
    }

    /// The row of cells at the distance `d` beyond this face along y, from which molecules come in.
    #[inline(always)]
    pub(super) fn beyond(&self, layout: &Layout<T>, node: usize, d: usize, out: &mut [T]) {
        for (ix, out) in out.iter_mut().enumerate() {
            *out = self.incoming(layout, node, ix, d, 1);
        }
    }
}

/// The faces along the directions that there are, before the first step.
pub(super) fn prepare<T: Real>(layout: &Layout<T>) -> Result<[Vec<Face<T>>; 2]> {
    let problem = &layout.problem;
    let mut all = [Vec::new(), Vec::new()];
    for (direction, faces) in all.iter_mut().enumerate().take(problem.space.dimensions()) {
        let rows = if direction == 0 { layout.ny } else { layout.nx };
        for (side, boundary) in problem.boundaries.along(direction).into_iter().enumerate() {
            let (kind, state, mirrored) = match boundary {
                Boundary::Inflow(state) => (Kind::Inflow, Some(state), 0.0),
                Boundary::Wall(wall) if wall.accommodation == 0.0 => (Kind::Mirror, None, 1.0),
                Boundary::Wall(wall) => (Kind::Wall, Some(wall.state()), 1.0 - wall.accommodation),
                Boundary::Specular => (Kind::Mirror, None, 1.0),
                Boundary::Periodic => (Kind::Periodic, None, 0.0),
            };
            let mut unit = FaceFlux::default();
            let mut emitted = Vec::new();
            if let Some(state) = state {
                let maxwellian =
                    DiscreteMaxwellian::new(&problem.velocity, state, problem.conservative)?;
                emitted = maxwellian
                    .populations(&problem.velocity)
                    .into_iter()
                    .map(T::from_f64)
                    .collect();
                for (node, emitted) in layout.nodes.iter().zip(&emitted) {
                    if (node.v[direction] > 0.0) == (side == 0) {
                        let j = [node.jx, node.jy][direction];
                        let distance = layout.courant[direction][j].distance();
                        unit += node.carries(distance * emitted.to_f64());
                    }
                }
            }
            let images = if mirrored > 0.0 {
                vec![T::ZERO; layout.nodes.len() * rows * layout.pad[direction]]
            } else {
                Vec::new()
            };
            faces.push(Face {
                kind,
                emitted,
                density: vec![T::ONE; rows],
                mirrored: T::from_f64(mirrored),
                images,
                unit,
            });
        }
    }
    Ok(all)
}
