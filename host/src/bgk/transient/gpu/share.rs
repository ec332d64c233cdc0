//! Division of a pass's work among blocks: tiles of cells, and the nodes of each v_x.

use std::ops::Range;

use rarefy_kernels::Real;
use rarefy_kernels::bgk::layout::FlowShape;
use rarefy_kernels::bgk::sweep_1d::{LINE_THREADS, line_groups, line_tiles};
use rarefy_kernels::bgk::sweep_2d::{PlaneSweep, plane_width, sweep_threads};

use super::super::engine::StepPlan;
use super::super::shift::{Courant, Scheme};
use crate::bgk::Problem;

/// Blocks of a pass over a line: ten rounds on an H200. A large GPU is busy for several rounds, so that a partly filled last round costs little; more blocks
/// would leave more partial sums, and fewer groups than the warps can share evenly.
const LINE_BLOCKS: u32 = 2670;
/// The same for a plane.
const SWEEP_BLOCKS: u32 = 1000;
/// Rows of cells of 128 places whose tables share the L2 cache with those of the tiles beside.
const BAND_ROWS: u32 = 256;
/// Most rows of a strip: the sums of more rows would leave room for fewer blocks on a multiprocessor, which costs more.
const MOST_ROWS: u32 = 16;

/// Longest flight, in cells, that counts as one cell: a time step in which the fastest molecules cross one cell is common, and rounds off.
const ONE_CELL: f64 = 1.0 + 1e-12;

/// Division of a pass's work among blocks.
#[derive(Clone, Copy)]
pub(super) struct Share {
    /// Groups of nodes of a block; 1 for a plane sweep, which has its own division.
    pub(super) groups: u32,
    /// Blocks that share the nodes of one v_x.
    pub(super) parts: u32,
    /// Tiles of cells.
    tiles: u32,
    pub(super) sweep: Option<PlaneSweep>,
}

impl Share {
    /// The division of a plane sweep, or of a pass over a line. A rank's part of a line divides the nodes as `all` cells would, so that sums have the same order.
    pub(super) fn new<T: Real>(
        shape: &FlowShape,
        all: &FlowShape,
        sloped: bool,
        sweep: Option<PlaneSweep>,
    ) -> Self {
        let bytes = size_of::<T>();
        if let Some(sweep) = sweep {
            return Self {
                groups: 1,
                parts: sweep.parts(shape, sloped),
                tiles: sweep.tiles(shape, bytes, sloped),
                sweep: Some(sweep),
            };
        }
        let (nodes, warps) = (line_groups(shape), LINE_THREADS / 32);
        // At least one group for each warp of a block.
        let blocks = shape.count_x * line_tiles(all.nx, bytes, sloped);
        let groups = nodes
            .div_ceil(LINE_BLOCKS.div_ceil(blocks))
            .max(warps)
            .min(nodes);
        Self {
            groups,
            parts: nodes.div_ceil(groups),
            tiles: line_tiles(shape.nx, bytes, sloped),
            sweep: None,
        }
    }

    /// The division for a shape, by blocks with so much shared memory. `whole` and `all` are the problem and the shape of all ranks; `rows` are those of cells that
    /// are stepped.
    pub(super) fn of<T: Real>(
        (shape, rows): (&FlowShape, &Range<u32>),
        (whole, all): (&Problem, &FlowShape),
        plan: &StepPlan,
        shared_bytes: usize,
    ) -> Self {
        let sloped = plan.scheme == Scheme::VanLeer;
        let mut sweep = plane_sweep::<T>(whole, plan, all, shared_bytes);
        if rows.len() as u32 != all.ny {
            sweep = sweep.map(|sweep| of_part(sweep, (shape, rows), size_of::<T>(), sloped));
        }
        Self::new::<T>(shape, all, sloped, sweep)
    }

    /// Whether this is a plane sweep whose lanes have several cells and whose molecules fly at most one cell.
    pub(super) fn wide_lanes(&self) -> bool {
        self.sweep.is_some_and(|sweep| sweep.narrow == 0)
    }

    /// Blocks of the pass.
    pub(super) fn blocks(&self, shape: &FlowShape) -> u32 {
        self.tiles * shape.count_x * self.parts
    }

    /// The division of a pass over some rows of a plane.
    pub(super) fn over(
        &self,
        rows: &Range<u32>,
        shape: &FlowShape,
        bytes: usize,
        sloped: bool,
    ) -> Self {
        let Some(sweep) = self.sweep else {
            return *self;
        };
        let sweep = PlaneSweep {
            low: rows.start,
            stepped: rows.len() as u32,
            ..sweep
        };
        Self {
            tiles: sweep.tiles(shape, bytes, sloped),
            sweep: Some(sweep),
            ..*self
        }
    }

    /// The same in strips of about half the rows. Sums do not depend on the rows of a strip.
    pub(super) fn with_half_strips(&self) -> Self {
        let low = |sweep: PlaneSweep| {
            let rows = (sweep.rows / 2).next_multiple_of(2);
            PlaneSweep {
                rows,
                band: (BAND_ROWS / rows).max(1),
                ..sweep
            }
        };
        Self {
            sweep: self.sweep.map(low),
            ..*self
        }
    }

    /// Partial sums of a cell from the blocks of one v_x.
    pub(super) fn sums(&self, shape: &FlowShape) -> u32 {
        self.parts * shape.pass_sums()
    }
}

/// Most whole cells that molecules fly in a step along x and along y. A flight of just one cell, as is common, has a fraction of 1 and no whole cell.
pub(super) fn whole_cells(problem: &Problem, plan: &StepPlan) -> [u32; 2] {
    [0, 1].map(|direction| {
        let Some(axis) = problem.velocity.axes().get(direction) else {
            return 0;
        };
        Courant::of_axis(axis, &problem.space, direction, plan.dt)
            .iter()
            .filter(|courant| courant.distance() > ONE_CELL)
            .map(|courant| courant.whole as u32)
            .max()
            .unwrap_or(0)
    })
}

/// The sweep of a plane by blocks with so much shared memory.
pub(super) fn plane_sweep<T: Real>(
    problem: &Problem,
    plan: &StepPlan,
    shape: &FlowShape,
    shared_bytes: usize,
) -> Option<PlaneSweep> {
    let bytes = size_of::<T>();
    let velocity = &problem.velocity;
    if problem.space.dimensions() != 2 {
        return None;
    }
    let wide = shape.nx.is_multiple_of(plane_width(bytes))
        && shape.ny >= 2
        && whole_cells(problem, plan) == [0, 0];
    let sloped = plan.scheme == Scheme::VanLeer;
    let down = velocity.axes()[1].nodes().iter().filter(|v| **v <= 0.0);
    let mut sweep = PlaneSweep {
        rows: 1,
        warps: 1,
        batches: 1,
        down: down.count() as u32,
        band: 1,
        narrow: u32::from(!wide),
        low: 0,
        stepped: shape.ny,
    };
    // The number of warps with the fewest idle ones in the last batches; of equal numbers the larger.
    let groups = sweep.groups(shape, sloped);
    let idle = |warps: u32| -> u32 {
        groups
            .iter()
            .map(|all| all.next_multiple_of(warps) - all)
            .sum()
    };
    let most = sweep_threads(shape, bytes, sloped) / 32;
    sweep.warps = (4..=most)
        .rev()
        .min_by_key(|&warps| idle(warps))
        .unwrap_or(most)
        .min(groups[0].max(groups[1]).max(1));
    sweep.rows = rows_of_strips(sweep, shape, bytes, sloped);
    let [down, up] = sweep.batches_of(shape, sloped);
    sweep.batches = (units(sweep, shape, bytes, sloped) / SWEEP_BLOCKS).clamp(1, down + up);
    sweep.band = (BAND_ROWS / sweep.rows).max(1);
    // Small GPUs have less room.
    while sweep.shared_bytes(shape, bytes, sloped) > shared_bytes && sweep.warps > 1 {
        if sweep.batches > 1 {
            sweep.batches = 1;
        } else {
            sweep.warps -= 1;
        }
    }
    Some(sweep)
}

/// Batches of groups over all tiles and v_x.
fn units(sweep: PlaneSweep, shape: &FlowShape, bytes: usize, sloped: bool) -> u32 {
    let [down, up] = sweep.batches_of(shape, sloped);
    sweep.tiles(shape, bytes, sloped) * shape.count_x * (down + up)
}

/// The height of strips with the fewest rows over all tiles, rows read twice included, for enough blocks.
fn rows_of_strips(sweep: PlaneSweep, shape: &FlowShape, bytes: usize, sloped: bool) -> u32 {
    let twice = if sloped { 3 } else { 1 };
    let of = |rows: u32| PlaneSweep { rows, ..sweep };
    (4..=MOST_ROWS)
        .map(|rows| {
            let rows = sweep.stepped.div_ceil(sweep.stepped.div_ceil(rows));
            rows.next_multiple_of(2).min((sweep.stepped / 2 * 2).max(2))
        })
        .filter(|&rows| {
            rows <= MOST_ROWS / 2 || units(of(rows), shape, bytes, sloped) >= SWEEP_BLOCKS
        })
        .min_by_key(|&rows| of(rows).tiles(shape, bytes, sloped) * (rows + twice))
        .unwrap_or(2)
}

/// The sweep of a rank's rows. Fewer rows need more blocks for the nodes, so their sums may have another order than those of all rows.
/// No strip is higher, and no block has more batches, since shared memory has room for the sums of those.
fn of_part(
    sweep: PlaneSweep,
    (shape, stepped): (&FlowShape, &Range<u32>),
    bytes: usize,
    sloped: bool,
) -> PlaneSweep {
    let sweep = PlaneSweep {
        low: stepped.start,
        stepped: stepped.len() as u32,
        ..sweep
    };
    let rows = rows_of_strips(sweep, shape, bytes, sloped).min(sweep.rows);
    let sweep = PlaneSweep {
        rows,
        band: (BAND_ROWS / rows).max(1),
        ..sweep
    };
    let batches = units(sweep, shape, bytes, sloped) / SWEEP_BLOCKS;
    PlaneSweep {
        batches: batches.clamp(1, sweep.batches),
        ..sweep
    }
}

#[cfg(test)]
mod tests {
    use super::super::super::engine::Engine;
    use super::super::super::reference::Reference;
    use super::super::MachineEngine;
    use super::*;
    use crate::bgk::{Axis, Boundaries, Boundary, Gas, Model, Space, State, VelocitySpace, Wall};
    use crate::emulator::{Emulator, ThreadOrder};
    use crate::error::Result;
    use crate::machine::Machine;

    /// A box with an odd number of nodes along y and along z.
    fn problem(cells: [usize; 2], boundaries: Boundaries) -> Problem {
        let axes = [8, 9, 7].map(|n| Axis::uniform(n, -4.0, 4.0).expect("an axis"));
        let stirred = |x: f64, y: f64| State {
            density: 1.0 + 0.1 * (40.0 * x + 3.0 * y).sin(),
            velocity: [0.2 * (30.0 * y).cos(), 0.1 * (50.0 * x).sin()],
            temperature: 1.0 + 0.1 * (20.0 * x - 60.0 * y).cos(),
        };
        let space = Space::rectangle(cells, [0.0, 1.0], [0.0, 1.0]).expect("cells");
        Problem::new(
            space,
            VelocitySpace::new(axes.to_vec(), 2).expect("velocities"),
            Gas {
                frequency: 3.0,
                ..Gas::default()
            },
            boundaries,
            stirred,
        )
        .expect("a problem")
    }

    fn walls() -> Boundaries {
        let wall = |speed| Boundary::Wall(Wall::diffuse(1.0).moving([speed, 0.0]));
        Boundaries {
            left: wall(0.0),
            right: Boundary::Inflow(State::along_x(1.0, -0.3, 1.2)),
            bottom: wall(0.0),
            top: wall(0.5),
        }
    }

    fn plan(dt: f64, sloped: bool) -> StepPlan {
        StepPlan {
            dt,
            scheme: if sloped {
                Scheme::VanLeer
            } else {
                Scheme::Upwind
            },
            relaxed: false,
        }
    }

    fn engine<T: Real + Default>(
        problem: &Problem,
        plan: StepPlan,
        order: ThreadOrder,
    ) -> MachineEngine<Emulator, T> {
        MachineEngine::new(Emulator::new(order), String::new(), problem.clone(), plan)
            .expect("an engine")
    }

    /// Populations after three steps, and what passed the faces in the last.
    fn outcome(engine: &mut dyn Engine) -> Result<(Vec<f64>, Vec<f64>)> {
        engine.advance(3)?;
        let fluxes = engine.fluxes()?.into_iter();
        let fluxes = fluxes.flat_map(|f| [f.mass, f.momentum[0], f.momentum[1], f.energy]);
        Ok((engine.save()?.populations, fluxes.collect()))
    }

    /// The same from a plane sweep with this division.
    fn swept<T: Real + Default>(
        problem: &Problem,
        plan: StepPlan,
        [rows, warps, batches]: [u32; 3],
        order: ThreadOrder,
    ) -> Result<(Vec<f64>, Vec<f64>)> {
        let mut engine = engine::<T>(problem, plan, order);
        let sweep = engine.share.sweep.expect("a sweep");
        let shape = engine.shape;
        let sweep = PlaneSweep {
            rows: rows.min((shape.ny / 2 * 2).max(2)),
            warps,
            batches,
            band: 2,
            ..sweep
        };
        engine.share = Share::new::<T>(&shape, &shape, plan.scheme == Scheme::VanLeer, Some(sweep));
        let sums = shape.count_x * engine.share.sums(&shape) * shape.plane();
        engine.partial = engine.machine.allocate(sums as usize)?;
        engine.make_ready()?;
        outcome(&mut engine)
    }

    /// Boundaries that are periodic along x; along y; mirrors on two sides; on the other two; walls that mirror a part; such walls and mirrors.
    fn other_boundaries() -> [Boundaries; 6] {
        let periodic = Boundaries {
            left: Boundary::Periodic,
            right: Boundary::Periodic,
            ..walls()
        };
        let upright = Boundaries {
            bottom: Boundary::Periodic,
            top: Boundary::Periodic,
            ..walls()
        };
        let half = |speed| {
            Boundary::Wall(Wall {
                accommodation: 0.4,
                ..Wall::diffuse(1.2).moving([0.0, speed])
            })
        };
        let mirrors = Boundaries {
            left: Boundary::Specular,
            bottom: Boundary::Specular,
            ..walls()
        };
        let opposite = Boundaries {
            right: Boundary::Specular,
            top: Boundary::Specular,
            ..walls()
        };
        let halves = Boundaries {
            left: half(0.2),
            top: Boundary::Wall(Wall {
                accommodation: 0.6,
                ..Wall::diffuse(0.9).moving([0.3, 0.0])
            }),
            ..walls()
        };
        let mixed = Boundaries {
            right: half(-0.1),
            left: Boundary::Specular,
            bottom: Boundary::Wall(Wall {
                accommodation: 0.3,
                ..Wall::diffuse(1.1)
            }),
            top: Boundary::Specular,
        };
        [periodic, upright, mirrors, opposite, halves, mixed]
    }

    fn plane_sweep_equals_reference<T: Real + Default>(tolerance: f64) {
        let [periodic, upright, mirrors, opposite, halves, mixed] = other_boundaries();
        let (wide, ragged) = ([12, 11], [13, 11]);
        // The fastest molecules fly over three cells in the long step.
        let (short, long) = (0.01, 0.06);
        let ways = [
            ([4, 4, 1], ThreadOrder::Ascending),
            ([2, 2, 2], ThreadOrder::Random(5)),
            ([10, 1, 100], ThreadOrder::Ascending),
            ([6, 5, 3], ThreadOrder::Random(7)),
        ];
        let cases = [
            (wide, walls(), true, Model::Bgk, short),
            (wide, walls(), false, Model::Bgk, short),
            (wide, periodic, true, Model::Bgk, short),
            (wide, upright, true, Model::Bgk, short),
            (wide, upright, false, Model::Bgk, short),
            (wide, mirrors, true, Model::Bgk, short),
            (wide, mirrors, false, Model::Bgk, short),
            (wide, opposite, true, Model::Bgk, short),
            (wide, halves, true, Model::Bgk, short),
            (wide, halves, false, Model::Bgk, short),
            (wide, mixed, true, Model::Bgk, short),
            (wide, walls(), true, Model::Shakhov, short),
            (wide, walls(), false, Model::Shakhov, short),
            (wide, mixed, true, Model::Shakhov, short),
            (ragged, walls(), true, Model::Bgk, short),
            (ragged, periodic, false, Model::Bgk, short),
            (ragged, halves, true, Model::Bgk, short),
            (ragged, mixed, false, Model::Shakhov, short),
            (wide, walls(), true, Model::Bgk, long),
            (wide, walls(), false, Model::Bgk, long),
            (wide, periodic, true, Model::Bgk, long),
            (wide, upright, false, Model::Bgk, long),
            (ragged, mirrors, true, Model::Bgk, long),
            (wide, halves, true, Model::Bgk, long),
            (ragged, mixed, true, Model::Shakhov, long),
            ([12, 1], mirrors, true, Model::Bgk, short),
            ([9, 1], walls(), false, Model::Bgk, short),
        ];
        for (k, (cells, boundaries, sloped, model, dt)) in cases.into_iter().enumerate() {
            let mut problem = problem(cells, boundaries);
            problem.gas.model = model;
            let plan = plan(dt, sloped);
            let mut reference = Reference::new(problem.clone(), plan).expect("a reference");
            let expected = outcome(&mut reference).expect("steps of the reference");
            for (way, order) in [ways[k % 4], ways[(k + 1) % 4]] {
                let found = swept::<T>(&problem, plan, way, order).expect("steps of a sweep");
                let near = |found: f64, expected: f64, least: f64| {
                    (found - expected).abs() <= tolerance * expected.abs().max(least)
                };
                let what = format!("{cells:?} {boundaries:?} {sloped} {model:?} {dt} {way:?}");
                assert_eq!(found.0.len(), expected.0.len(), "{what}");
                for (f, e) in found.0.iter().zip(&expected.0) {
                    assert!(near(*f, *e, 1e-6), "{what}: {f} {e}");
                }
                for (f, e) in found.1.iter().zip(&expected.1) {
                    assert!(near(*f, *e, 1.0), "{what}: fluxes {f} {e}");
                }
            }
        }
    }

    #[test]
    fn plane_sweep_equals_reference_in_f64() {
        plane_sweep_equals_reference::<f64>(1e-11);
    }

    #[test]
    fn plane_sweep_equals_reference_in_f32() {
        plane_sweep_equals_reference::<f32>(1e-4);
    }

    #[test]
    fn the_common_case_has_wide_lanes_and_blocks_have_room() {
        let wide = |problem: &Problem, dt: f64| {
            engine::<f32>(problem, plan(dt, true), ThreadOrder::Ascending)
                .share
                .wide_lanes()
        };
        let common = problem([12, 11], walls());
        assert!(wide(&common, 0.01));
        // In this step the fastest molecules cross a cell; in the other they fly further.
        assert!(wide(&common, 1.0 / 12.0 / 3.5));
        assert!(!wide(&common, 0.03));
        assert!(!wide(&problem([13, 11], walls()), 0.01));

        let engine = engine::<f64>(&common, plan(0.01, false), ThreadOrder::Ascending);
        for room in [16 << 10, 48 << 10, 227 << 10] {
            let plan = plan(0.01, false);
            let sweep = plane_sweep::<f64>(&common, &plan, &engine.shape, room).expect("a sweep");
            assert!(
                sweep.shared_bytes(&engine.shape, 8, false) <= room,
                "{room}: {sweep:?}"
            );
        }
    }
}
