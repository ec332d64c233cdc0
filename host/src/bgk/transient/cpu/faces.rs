//! The outflow through the faces of space, and the inflow that follows from it.

use std::ops::Range;

use rarefy_kernels::Real;
use rayon::prelude::*;

use super::super::engine::FaceFlux;
use super::face::{Face, Kind};
use super::rows::outflow;
use super::step::{Scratch, Step};
use super::tables::Tables;
use crate::simd::{Job, on_widest};

/// Results of a task on a face, by row: the outgoing mass that is not mirrored, and the sums of all outgoing and mirrored moments.
#[derive(Clone, Default)]
struct Leaving {
    mass: Vec<f64>,
    out: FaceFlux,
    back: FaceFlux,
}

impl Leaving {
    fn nothing(rows: usize) -> Self {
        Self {
            mass: vec![0.0; rows],
            ..Self::default()
        }
    }

    fn add(&mut self, part: &Self) {
        for (sum, mass) in self.mass.iter_mut().zip(&part.mass) {
            *sum += mass;
        }
        self.out += part.out;
        self.back += part.back;
    }
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
    let fluxes = &mut fluxes[2 * direction..][..2];
    let both = faces.par_iter_mut().zip(fluxes).enumerate();
    both.for_each(|(side, (face, flux))| {
        if face.kind == Kind::Periodic {
            return;
        }
        let columns = columns(step, direction, side, face);
        let at = At {
            direction,
            side,
            f,
            known,
            mirrored: face.mirrored.to_f64(),
            columns: &columns,
        };
        let total = all_leaving(step, &at, face);
        let width = layout.problem.space.step(direction);
        let scale = width / (layout.plan.dt * layout.face_rows[direction] as f64);
        exchange(face, &total, scale, &layout.counted[direction], flux);
    });
}

/// The tables of the columns of cells at a face along x; none along y.
fn columns<T: Real>(
    step: &Step<'_, T>,
    direction: usize,
    side: usize,
    face: &Face<T>,
) -> Vec<Tables<T>> {
    let layout = step.layout;
    let farthest = layout.courant[direction].iter().map(|c| c.whole).max();
    let reach = match (direction, face.images.is_empty()) {
        (0, true) => farthest.map_or(0, |whole| whole + 2).min(layout.nx),
        (0, false) => layout.pad[direction].min(layout.nx),
        _ => 0,
    };
    (0..reach)
        .map(|d| {
            let ix = if side == 0 { d } else { layout.nx - 1 - d };
            step.tables.column(ix, layout.nx)
        })
        .collect()
}

/// Sums the outflow of all nodes through a face, and keeps the images that it mirrors.
fn all_leaving<T: Real>(step: &Step<'_, T>, at: &At<'_, T>, face: &mut Face<T>) -> Leaving {
    let layout = step.layout;
    let rows = face.rows();
    let depth = layout.pad[at.direction];
    // Tasks are whole pairs (j_x, j_y); their number does not depend on that of the threads.
    let per_task = layout.pairs().div_ceil(64).max(1) * layout.shape[2];
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
            let mut found = Leaving::nothing(rows);
            on_widest(AddLeaving {
                step,
                at,
                nodes,
                images,
                found: &mut found,
            });
            found
        })
        .collect();
    let mut total = Leaving::nothing(rows);
    found.iter().for_each(|part| total.add(part));
    total
}

/// Sets the densities of a wall by the mass that leaves, and adds the exchange of the face to its flux.
fn exchange<T: Real>(
    face: &mut Face<T>,
    total: &Leaving,
    scale: f64,
    counted: &Range<usize>,
    flux: &mut FaceFlux,
) {
    let mut add = |part: FaceFlux, factor: f64| {
        *flux += FaceFlux {
            mass: factor * part.mass,
            momentum: part.momentum.map(|m| factor * m),
            energy: factor * part.energy,
        };
    };
    match face.kind {
        Kind::Wall => {
            for (density, mass) in face.density.iter_mut().zip(&total.mass) {
                *density = T::from_f64(mass / face.unit.mass);
            }
            let counted = face.density[counted.clone()].iter();
            let sum: f64 = counted.map(|density| density.to_f64()).sum();
            add(face.unit, sum * scale);
            add(total.back, face.mirrored.to_f64() * scale);
            add(total.out, -scale);
        }
        Kind::Inflow => {
            add(face.unit, counted.len() as f64 * scale);
            add(total.out, -scale);
        }
        Kind::Mirror | Kind::Periodic => {}
    }
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
    /// The mirrored part of the outflow.
    mirrored: f64,
    /// The tables in the columns of cells at a face along x.
    columns: &'a [Tables<T>],
}

/// Adds what leaves through a face from some nodes to `found`, and keeps what it mirrors.
struct AddLeaving<'a, T> {
    step: &'a Step<'a, T>,
    at: &'a At<'a, T>,
    nodes: Range<usize>,
    images: &'a mut [T],
    found: &'a mut Leaving,
}

impl<T: Real> Job for AddLeaving<'_, T> {
    type Output = ();

    #[inline(always)]
    fn run<const FUSED: bool>(self) {
        let Self {
            step,
            at,
            nodes,
            images,
            found,
        } = self;
        let At {
            direction,
            side,
            f,
            known,
            mirrored,
            columns,
        } = *at;
        let layout = step.layout;
        let ([_, _, count_m], cells) = (layout.shape, layout.cells());
        let (nx, ny, rows) = (layout.nx, layout.ny, found.mass.len());
        let depth = layout.pad[direction];
        let counted = &layout.counted[direction];
        // Populations at each distance from the face, row by row.
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
                        let step = Step {
                            tables: &columns[d],
                            ..*step
                        };
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
                    // Mirrored populations have no slopes beyond the face.
                    let mut both = [0.0; 2];
                    if mirrored > 0.0 {
                        outflow(&mut back, &near, courant.whole, fraction, false);
                    }
                    for (mass, (out, back)) in found.mass.iter_mut().zip(out.iter().zip(&back)) {
                        *mass += node.mass * (out.to_f64() - mirrored * back.to_f64());
                    }
                    for (out, back) in out[counted.clone()].iter().zip(&back[counted.clone()]) {
                        both[0] += out.to_f64();
                        both[1] += back.to_f64();
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
