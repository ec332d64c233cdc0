//! The faces of space: what leaves through them, and what comes in.

use std::ops::Range;

use rarefy_kernels::Real;
use rayon::prelude::*;

use super::super::engine::FaceFlux;
use super::pass::{Scratch, Step};
use super::rows::{outflow, vectorised};
use super::{Layout, Tables};
use crate::bgk::{Boundary, DiscreteMaxwellian};
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
    /// Relaxed populations near the face, `[node][distance][row]`, of a face that mirrors.
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

    /// Whether what leaves comes in again through the face opposite.
    pub(super) fn is_periodic(&self) -> bool {
        self.kind == Kind::Periodic
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

/// What a task finds on a face: by row the mass that leaves and is not mirrored, and what is carried out and mirrored back altogether.
#[derive(Clone, Default)]
struct Leaving {
    mass: Vec<f64>,
    out: FaceFlux,
    back: FaceFlux,
}

/// Finds what leaves through the faces along a direction, and from it what comes in. `known` are the faces along x, when this is y.
pub(super) fn update<T: Real>(
    step: &Step<'_, T>,
    direction: usize,
    f: &[T],
    known: &[Face<T>],
    faces: &mut [Face<T>],
    fluxes: &mut [FaceFlux; 4],
) {
    let layout = step.layout;
    let depth = layout.pad[direction];
    let width = layout.problem.space.step(direction);
    let fluxes = &mut fluxes[2 * direction..][..2];
    let both = faces.par_iter_mut().zip(fluxes).enumerate();
    both.for_each(|(side, (face, flux))| {
        if face.kind == Kind::Periodic {
            return;
        }
        let rows = face.rows();
        let count_m = layout.shape[2];
        let mirrored = face.mirrored.to_f64();
        // The tables of the columns of cells at a face along x.
        let farthest = layout.courant[direction].iter().map(|c| c.whole).max();
        let reach = match (direction, face.images.is_empty()) {
            (0, true) => farthest.map_or(0, |whole| whole + 2).min(layout.nx),
            (0, false) => depth.min(layout.nx),
            _ => 0,
        };
        let columns: Vec<Tables<T>> = (0..reach)
            .map(|d| {
                let ix = if side == 0 { d } else { layout.nx - 1 - d };
                step.tables.column(ix, layout.nx)
            })
            .collect();
        // Tasks are whole pairs (j_x, j_y); their number does not depend on that of the threads.
        let per_task = layout.pairs().div_ceil(64).max(1) * count_m;
        let mut none = Vec::new();
        let images: Vec<&mut [T]> = if face.images.is_empty() {
            none.resize_with(layout.nodes.len().div_ceil(per_task), Default::default);
            none
        } else {
            face.images.chunks_mut(per_task * rows * depth).collect()
        };
        let at = At {
            direction,
            side,
            f,
            known,
            mirrored,
            columns: &columns,
        };
        let found: Vec<Leaving> = images
            .into_par_iter()
            .enumerate()
            .map(|(task, images)| {
                let first = task * per_task;
                let nodes = first..(first + per_task).min(layout.nodes.len());
                let mut found = Leaving {
                    mass: vec![0.0; rows],
                    ..Leaving::default()
                };
                leaving(step, &at, nodes, images, &mut found);
                found
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
    });
}

/// A face along a direction, and what is known of its surroundings.
#[derive(Clone, Copy)]
struct At<'a, T> {
    direction: usize,
    side: usize,
    /// All populations.
    f: &'a [T],
    /// The faces along x, when this is along y.
    known: &'a [Face<T>],
    /// What is mirrored of what leaves.
    mirrored: f64,
    /// The tables in the columns of cells at a face along x.
    columns: &'a [Tables<T>],
}

vectorised! {
    /// Adds what leaves through a face from some nodes to `found`, and keeps what it mirrors.
    fn leaving<T: Real>(
        step: &Step<'_, T>,
        at: &At<'_, T>,
        nodes: Range<usize>,
        images: &mut [T],
        found: &mut Leaving,
    ) {
        let At { direction, side, f, known, mirrored, columns } = *at;
        let layout = step.layout;
        let ([_, _, count_m], cells) = (layout.shape, layout.cells());
        let (nx, ny, rows) = (layout.nx, layout.ny, found.mass.len());
        let depth = layout.pad[direction];
        // What is at each distance from the face, row by row.
        let mut near = vec![T::ZERO; rows * depth];
        let mut scratch = match direction {
            0 => Scratch::new(layout, ny, 0),
            _ => Scratch::of_rows(layout),
        };
        let mut column = vec![T::ZERO; if direction == 0 { ny } else { 0 }];
        let [mut out, mut back] = [vec![T::ZERO; rows], vec![T::ZERO; rows]];
        for pair in nodes.start / count_m..nodes.end / count_m {
            let of_pair = &layout.nodes[pair * count_m..][..count_m];
            let (node, image) = (&of_pair[0], of_pair[0].mirrored(layout.shape, direction));
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
            for (m, node) in of_pair.iter().enumerate() {
                let index = pair * count_m + m;
                let f = &f[index * cells..][..cells];
                for (d, near) in near.chunks_exact_mut(rows).enumerate().take(reach) {
                    let j = [node.jx, node.jy];
                    if direction == 0 {
                        let ix = if side == 0 { d } else { nx - 1 - d };
                        let step = Step { tables: &columns[d], ..*step };
                        for (iy, stored) in column.iter_mut().enumerate() {
                            *stored = f[iy * nx + ix];
                        }
                        step.prepare(j, 0..ny, &mut scratch);
                        step.relax(index, 0..ny, &column, &mut scratch);
                        near.copy_from_slice(&scratch.row);
                    } else {
                        let iy = if side == 0 { d } else { ny - 1 - d };
                        let here = iy * nx..(iy + 1) * nx;
                        step.prepare(j, here.clone(), &mut scratch);
                        let along_x = step.shift_x(node.jx, known);
                        step.shifted(&along_x, known, index, iy, &f[here], &mut scratch, near);
                    }
                }
                if leaves {
                    let fraction = T::from_f64(courant.fraction);
                    outflow(&mut out, &near, courant.whole, fraction, layout.sloped());
                    // What is mirrored has no slopes beyond the face.
                    let mut both = [0.0; 2];
                    if mirrored > 0.0 {
                        outflow(&mut back, &near, courant.whole, fraction, false);
                    }
                    for (mass, (out, back)) in found.mass.iter_mut().zip(out.iter().zip(&back)) {
                        let (out, back) = (out.to_f64(), back.to_f64());
                        *mass += node.mass * (out - mirrored * back);
                        both[0] += out;
                        both[1] += back;
                    }
                    let [all, all_back] = both;
                    found.out += node.carries(all);
                    found.back += layout.nodes[image + m].carries(all_back);
                }
                if !images.is_empty() {
                    images[(index - nodes.start) * rows * depth..][..rows * depth]
                        .copy_from_slice(&near);
                }
            }
        }
    }
}
