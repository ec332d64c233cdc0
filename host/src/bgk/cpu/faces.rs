//! The faces of space: what leaves through them, and what comes in.

use rarefy_kernels::Real;
use rayon::prelude::*;

use super::super::engine::FaceFlux;
use super::super::{Boundary, DiscreteMaxwellian};
use super::Layout;
use super::pass::Step;
use super::rows::outflow;
use super::stored::Stored;
use crate::error::Result;

/// One face.
pub(super) struct Face<T> {
    kind: Kind,
    /// Populations that come in at unit density, by node.
    emitted: Vec<T>,
    /// Density with which they come in, by row.
    density: Vec<T>,
    /// `1 - alpha`: what is mirrored of what leaves.
    mirrored: T,
    /// Relaxed populations near the face, `[node][row][distance]`, of a face that mirrors.
    images: Vec<T>,
    /// What comes in in a step at unit density: mass, and all that it carries.
    unit: FaceFlux,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Kind {
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

    fn rows(&self) -> usize {
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
            value += self.mirrored * self.images[(image * self.rows() + row) * depth + d];
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

    /// Fills the rows of a plane beyond this face, the low (0) or the high (1) along y.
    #[inline(always)]
    pub(super) fn fill_rows(&self, layout: &Layout<T>, node: usize, side: usize, plane: &mut [T]) {
        let (pad, ny, nx) = (layout.pad[1], layout.ny, layout.nx);
        let comes_in = (layout.nodes[node].v[1] > 0.0) == (side == 0);
        for d in 0..pad {
            let at = if side == 0 { pad - 1 - d } else { pad + ny + d };
            let copied = match self.kind {
                Kind::Periodic => Some(if side == 0 { pad + ny - 1 - d } else { pad + d }),
                Kind::Inflow | Kind::Wall if !comes_in => {
                    Some(if side == 0 { pad } else { pad + ny - 1 })
                }
                _ => None,
            };
            match copied {
                Some(from) => plane.copy_within(from * nx..(from + 1) * nx, at * nx),
                None => {
                    for ix in 0..nx {
                        plane[at * nx + ix] = self.incoming(layout, node, ix, d, 1);
                    }
                }
            }
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

/// What a task finds on a face: by row the mass that leaves and is not mirrored, and what is carried out and mirrored back altogether.
#[derive(Clone, Default)]
struct Leaving {
    mass: Vec<f64>,
    out: FaceFlux,
    back: FaceFlux,
}

/// Finds what leaves through the faces along a direction, and from it what comes in. `known` are the faces along x, when this is y.
pub(super) fn update<T: Real, P: Stored<T>>(
    step: &Step<'_, T>,
    direction: usize,
    f: &[P],
    known: &[Face<T>],
    faces: &mut [Face<T>],
    fluxes: &mut [FaceFlux; 4],
) {
    let layout = step.layout;
    let depth = layout.pad[direction];
    let width = layout.problem.space.step(direction);
    for (side, face) in faces.iter_mut().enumerate() {
        if face.kind == Kind::Periodic {
            continue;
        }
        let rows = face.rows();
        let count_m = layout.shape[2];
        let mirrored = face.mirrored.to_f64();
        // Tasks are whole pairs (j_x, j_y); their number does not depend on that of the threads.
        let per_task = layout.pairs().div_ceil(64).max(1) * count_m;
        let mut none = Vec::new();
        let images: Vec<&mut [T]> = if face.images.is_empty() {
            none.resize_with(layout.nodes.len().div_ceil(per_task), Default::default);
            none
        } else {
            face.images.chunks_mut(per_task * rows * depth).collect()
        };
        let found: Vec<Leaving> = images
            .into_par_iter()
            .enumerate()
            .map(|(task, images)| {
                let first = task * per_task;
                let nodes = first..(first + per_task).min(layout.nodes.len());
                leaving(
                    step, direction, side, f, known, nodes, rows, mirrored, images,
                )
            })
            .collect();
        let mut total = Leaving {
            mass: vec![0.0; rows],
            ..Leaving::default()
        };
        for part in found {
            for (sum, mass) in total.mass.iter_mut().zip(&part.mass) {
                *sum += mass;
            }
            total.out += part.out;
            total.back += part.back;
        }
        let scale = width / (layout.plan.dt * rows as f64);
        let flux = &mut fluxes[2 * direction + side];
        let mut add = |part: FaceFlux, factor: f64| {
            *flux += FaceFlux {
                mass: factor * part.mass,
                momentum: part.momentum.map(|m| factor * m),
                energy: factor * part.energy,
            };
        };
        match face.kind {
            Kind::Wall => {
                let mut sum = 0.0;
                for (density, mass) in face.density.iter_mut().zip(&total.mass) {
                    *density = T::from_f64(mass / face.unit.mass);
                    sum += density.to_f64();
                }
                add(face.unit, sum * scale);
                add(total.back, mirrored * scale);
                add(total.out, -scale);
            }
            Kind::Inflow => {
                add(face.unit, rows as f64 * scale);
                add(total.out, -scale);
            }
            Kind::Mirror | Kind::Periodic => {}
        }
    }
}

#[allow(clippy::too_many_arguments, reason = "the parts of one sweep")]
fn leaving<T: Real, P: Stored<T>>(
    step: &Step<'_, T>,
    direction: usize,
    side: usize,
    f: &[P],
    known: &[Face<T>],
    nodes: std::ops::Range<usize>,
    rows: usize,
    mirrored: f64,
    images: &mut [T],
) -> Leaving {
    let layout = step.layout;
    let (nx, ny) = (layout.nx, layout.ny);
    let depth = layout.pad[direction];
    let mut found = Leaving {
        mass: vec![0.0; rows],
        ..Leaving::default()
    };
    let mut near = vec![T::ZERO; rows * depth];
    let mut row = vec![T::ZERO; nx + 2 * layout.pad[0]];
    let (mut passes, mut shifted) = (vec![T::ZERO; nx + 1], vec![T::ZERO; nx]);
    let first = nodes.start;
    for index in nodes {
        let node = &layout.nodes[index];
        let leaves = (node.v[direction] > 0.0) == (side == 1);
        if !leaves && images.is_empty() {
            continue;
        }
        let courant = layout.courant[direction][[node.jx, node.jy][direction]];
        // No farther than is asked for: two cells beyond the shift for images, one for a slope.
        let reach = if images.is_empty() {
            courant.whole + 1 + usize::from(layout.sloped() && courant.whole > 0)
        } else {
            depth
        };
        for d in 0..reach {
            if direction == 0 {
                let ix = if side == 0 { d } else { nx - 1 - d };
                for iy in 0..rows {
                    near[iy * depth + d] = step.relaxed(f, index, iy * nx + ix);
                }
            } else {
                let iy = if side == 0 { d } else { ny - 1 - d };
                let pad = layout.pad[0];
                for ix in 0..nx {
                    row[pad + ix] = step.relaxed(f, index, iy * nx + ix);
                }
                for (side, face) in known.iter().enumerate() {
                    face.fill(layout, index, iy, side, &mut row);
                }
                step.shift_x(node.jx, known)
                    .run(&row, &mut passes, &mut shifted);
                for ix in 0..nx {
                    near[ix * depth + d] = shifted[ix];
                }
            }
        }
        if leaves {
            let fraction = T::from_f64(courant.fraction);
            let image = &layout.nodes[node.mirrored(layout.shape, direction)];
            let (mut all, mut all_back) = (0.0, 0.0);
            for (r, mass) in found.mass.iter_mut().enumerate() {
                let at = |d: usize| near[r * depth + d];
                let out = outflow(at, courant.whole, fraction, layout.sloped()).to_f64();
                // What is mirrored has no slopes beyond the face.
                let back = outflow(at, courant.whole, fraction, false).to_f64();
                *mass += node.mass * (out - mirrored * back);
                all += out;
                all_back += back;
            }
            found.out += node.carries(all);
            found.back += image.carries(all_back);
        }
        if !images.is_empty() {
            images[(index - first) * rows * depth..][..rows * depth].copy_from_slice(&near);
        }
    }
    found
}
