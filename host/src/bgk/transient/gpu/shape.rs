//! The shape of a flow in the memory of a machine, and whether it fits.

use std::ops::Range;

use rarefy_kernels::Real;
use rarefy_kernels::bgk::boundary::{Faces, cells_both_ways, chunks_along_x};
use rarefy_kernels::bgk::equilibrium::EQUILIBRIUM_THREADS;
use rarefy_kernels::bgk::layout::{FlowShape, ROTATING, face};
use rarefy_kernels::bgk::sweep_1d::CELL_LIMIT;

use super::super::engine::StepPlan;
use super::super::shift::Scheme;
use super::share::{Share, whole_cells};
use crate::bgk::{Boundary, Model, Problem};
use crate::error::{Error, Result};
use crate::machine::Limits;
use crate::memory_plan::{bytes_of, check_device};

/// Blocks that sum the lower and upper faces; half of them have work, and each leaves partial sums.
const FACE_BLOCKS: u32 = 1200;

fn too_many(populations: u64) -> Error {
    Error::invalid(
        "populations",
        populations,
        "fewer than the GPU path's 2^32: use fewer cells or velocities, or compute on the CPU",
    )
}

/// The kind of a face.
fn kind(boundary: Boundary) -> u32 {
    match boundary {
        Boundary::Wall(wall) if wall.accommodation == 0.0 => face::MIRROR,
        Boundary::Wall(wall) if wall.accommodation < 1.0 => face::MIXED,
        Boundary::Wall(_) | Boundary::Inflow(_) => face::TABLE,
        Boundary::Specular => face::MIRROR,
        Boundary::Periodic => face::PERIODIC,
    }
}

/// Refuses a problem with more cells or populations than the kernels can count.
fn check_counts(problem: &Problem) -> Result<()> {
    let space = problem.space;
    let pitch = space.nx().next_multiple_of(32);
    let populations = (pitch * space.ny()) as u64 * problem.velocity.nodes() as u64;
    if populations >= u64::from(u32::MAX) {
        return Err(too_many(populations));
    }
    if space.nx() >= CELL_LIMIT as usize {
        return Err(Error::invalid(
            "cells",
            format!("{} along x", space.nx()),
            format!("fewer than the GPU path's {CELL_LIMIT}, or compute on the CPU"),
        ));
    }
    Ok(())
}

/// The shape of a problem without ghosts.
fn without_ghosts(problem: &Problem) -> FlowShape {
    let (space, velocity) = (problem.space, &problem.velocity);
    let [count_x, count_y, count_m] = velocity.shape().map(|n| n as u32);
    let b = problem.boundaries;
    FlowShape {
        nx: space.nx() as u32,
        ny: space.ny() as u32,
        pitch: space.nx().next_multiple_of(32) as u32,
        count_x,
        count_y,
        count_m,
        integrated: velocity.integrated() as u32,
        flow: velocity.flow() as u32,
        shakhov: match problem.gas.model {
            Model::Bgk => 0,
            Model::Shakhov => 1,
            Model::Polyatomic => ROTATING,
        },
        left: kind(b.left),
        right: kind(b.right),
        bottom: kind(b.bottom),
        top: kind(b.top),
        ghost_columns: 0,
        ghost_rows: 0,
    }
}

/// A shape and the division of its work among blocks.
pub(super) struct Division {
    /// With the ghosts of a plane sweep.
    pub(super) shape: FlowShape,
    pub(super) share: Share,
    /// The division of a pass with Shakhov's sums.
    pub(super) wide: Share,
    /// Threads of the small kernel between the passes.
    pub(super) threads: u32,
    /// Rows of cells that are stepped.
    pub(super) rows: Range<u32>,
}

impl Division {
    /// The division of a problem among blocks with so much shared memory, where only some rows of a plane are stepped. `whole` is the problem of all ranks.
    pub(super) fn new<T: Real>(
        (problem, rows): (&Problem, Range<u32>),
        whole: &Problem,
        plan: &StepPlan,
        shared_bytes: usize,
    ) -> Result<Self> {
        check_counts(problem)?;
        let (mut shape, all) = (without_ghosts(problem), without_ghosts(whole));
        let share = Share::of::<T>((&shape, &rows), (whole, &all), plan, shared_bytes);
        let wide = |shape: FlowShape| FlowShape {
            shakhov: shape.shakhov.max(1),
            ..shape
        };
        let of_wide = (&wide(shape), &rows);
        let of_wide = Share::of::<T>(of_wide, (whole, &wide(all)), plan, shared_bytes);
        if let Some(sweep) = share.sweep {
            let sloped = plan.scheme == Scheme::VanLeer;
            let [x, y] = whole_cells(problem, plan).map(|whole| whole + 1 + u32::from(sloped));
            shape = with_ghosts(shape, [x.next_multiple_of(sweep.width(size_of::<T>())), y]);
        }
        if shape.words() >= u32::MAX as usize {
            return Err(too_many(shape.words() as u64));
        }
        Ok(Self {
            shape,
            share,
            wide: of_wide,
            threads: equilibrium_threads(&all),
            rows,
        })
    }

    /// Most partial sums of a pass: moments for a user need Shakhov's.
    pub(super) fn partials(&self) -> usize {
        let shape = &self.shape;
        let wide = FlowShape {
            shakhov: shape.shakhov.max(1),
            ..*shape
        };
        let most = self.share.sums(shape).max(self.wide.sums(&wide));
        shape.count_x as usize * shape.plane() as usize * most as usize
    }
}

/// Refuses a problem that does not fit into the memory of the machine.
pub(super) fn check_room<T: Real>(
    problem: &Problem,
    shape: &FlowShape,
    partials: usize,
    limits: &Limits,
) -> Result<()> {
    let tables = shape.rows() as usize * shape.columns() as usize;
    Ok(check_device(
        limits,
        &format!(
            "a phase space of {} x {} cells",
            problem.velocity.nodes(),
            problem.space.cells()
        ),
        bytes_of::<T>(2 * shape.words() as u64)
            .saturating_add(bytes_of::<T>(partials as u64 + tables as u64))
            .saturating_add(bytes_of::<f64>(u64::from(shape.plane()) * 16)),
        "use fewer cells in space or velocity, a reduced velocity space, or f32",
    )?)
}

/// Division of the faces' work among blocks.
pub(super) fn faces_of(shape: &FlowShape, sloped: bool, walls: u32) -> Faces {
    let pairs = shape.count_x * shape.count_y;
    let tiles = shape.nx.div_ceil(cells_both_ways(sloped));
    let range = pairs.div_ceil((FACE_BLOCKS / (2 * tiles)).clamp(1, pairs));
    Faces {
        mask: walls,
        walls,
        sloped: u32::from(sloped),
        range,
        chunks: pairs.div_ceil(range),
    }
}

/// Partial sums of the outflow through faces: those along x and along y take turns in the same memory.
pub(super) fn face_partials(shape: &FlowShape, faces: &Faces) -> usize {
    let along_x = shape.ny as usize * chunks_along_x(shape) as usize;
    let along_y = shape.nx as usize * faces.chunks as usize;
    8 * along_x.max(along_y)
}

/// Faces that mirror: left and right, bottom and top, a bit each as in [`Faces`].
pub(super) fn mirrors(shape: &FlowShape) -> [u32; 2] {
    let bit = |kind: u32, face: u32| match kind {
        face::MIRROR | face::MIXED => 1 << face,
        _ => 0,
    };
    [
        bit(shape.left, 0) | bit(shape.right, 1),
        bit(shape.bottom, 2) | bit(shape.top, 3),
    ]
}

/// The shape with room for the ghosts of a plane sweep: so many along x and y beyond a face that mirrors.
fn with_ghosts(shape: FlowShape, reach: [u32; 2]) -> FlowShape {
    let [left_and_right, bottom_and_top] = mirrors(&shape);
    FlowShape {
        ghost_columns: if left_and_right == 0 { 0 } else { reach[0] },
        // A sweep reads the row before the first, with any content.
        ghost_rows: match (shape.bottom == face::PERIODIC, bottom_and_top) {
            (true, _) => 0,
            (_, 0) => 1,
            _ => reach[1],
        },
        ..shape
    }
}

/// Threads of the small kernel between the passes.
const fn equilibrium_threads(shape: &FlowShape) -> u32 {
    match shape.plane() / 32 {
        0..=400 => EQUILIBRIUM_THREADS,
        401..=4000 => EQUILIBRIUM_THREADS / 2,
        _ => EQUILIBRIUM_THREADS / 4,
    }
}
