//! How the blocks of a pass share its work: tiles of cells, and the nodes of each v_x.

use rarefy_kernels::Real;
use rarefy_kernels::bgk_flow::{FlowShape, face};
use rarefy_kernels::bgk_line::{LINE_THREADS, line_groups, line_tiles};
use rarefy_kernels::bgk_march::{MARCH_THREADS, March};
use rarefy_kernels::bgk_plane::{
    PLANE_NODES, PLANE_THREADS, plane_groups, plane_tiles, plane_width,
};

use super::super::engine::StepPlan;
use super::super::shift::Courant;
use super::super::{Problem, Scheme};

/// Blocks of a pass that keep a large GPU busy for several rounds, so that the last one costs little.
const PASS_BLOCKS: u32 = 3000;
/// The same on a line, where more blocks would leave more partial sums and fewer groups than the warps can share evenly: ten rounds on an H200.
const LINE_BLOCKS: u32 = 2670;
/// The same of a march.
const MARCH_BLOCKS: u32 = 1000;
/// Rows of cells of 128 places whose tables share the L2 cache with those of the tiles beside.
const BAND_ROWS: u32 = 256;
/// Most rows of a strip of a march: the sums of more leave room for fewer blocks on a multiprocessor, which are worth more.
const MOST_ROWS: u32 = 16;

/// The longest way that a march takes for one cell: time steps in which the fastest molecules cross one are common, and round off.
const ONE_CELL: f64 = 1.0 + 1e-12;

/// How blocks share the work of a pass.
#[derive(Clone, Copy)]
pub(super) struct Share {
    /// Groups of nodes of a block; 1 of a march, which knows by itself.
    pub(super) groups: u32,
    /// Blocks that share the nodes of one v_x.
    pub(super) parts: u32,
    /// Tiles of cells.
    tiles: u32,
    pub(super) march: Option<March>,
}

impl Share {
    /// That of a march, or of the general pass in one or two dimensions.
    pub(super) fn new<T: Real>(
        shape: &FlowShape,
        two: bool,
        sloped: bool,
        march: Option<March>,
    ) -> Self {
        let bytes = size_of::<T>();
        if let Some(march) = march {
            return Self {
                groups: 1,
                parts: march.parts(shape, sloped),
                tiles: march.tiles(shape, bytes, sloped),
                march: Some(march),
            };
        }
        let (tiles, all, warps, wanted) = if two {
            (
                plane_tiles(shape.nx, shape.ny, bytes, sloped, shape.shakhov != 0),
                plane_groups(shape, PLANE_NODES),
                PLANE_THREADS / 32,
                PASS_BLOCKS,
            )
        } else {
            (
                line_tiles(shape.nx, bytes, sloped),
                line_groups(shape),
                LINE_THREADS / 32,
                LINE_BLOCKS,
            )
        };
        // A group for each warp of a block at least.
        let blocks = shape.count_x * tiles;
        let groups = all.div_ceil(wanted.div_ceil(blocks)).max(warps).min(all);
        Self {
            groups,
            parts: all.div_ceil(groups),
            tiles,
            march: None,
        }
    }

    /// Blocks of the pass.
    pub(super) fn blocks(&self, shape: &FlowShape) -> u32 {
        self.tiles * shape.count_x * self.parts
    }

    /// Partial sums of a cell that the blocks of one v_x leave.
    pub(super) fn sums(&self, shape: &FlowShape) -> u32 {
        self.parts * shape.pass_sums()
    }
}

/// The march over a plane, where the problem is one for it: it shifts by a fraction of a cell, which may be all of it, of blocks with room in so much shared memory.
pub(super) fn march<T: Real>(
    problem: &Problem,
    plan: &StepPlan,
    shape: &FlowShape,
    shared_bytes: usize,
) -> Option<March> {
    let bytes = size_of::<T>();
    let width = plane_width(bytes);
    let (space, velocity) = (problem.space, &problem.velocity);
    let faces = [shape.left, shape.right, shape.bottom, shape.top];
    let stays = |direction: usize| {
        let axis = &velocity.axes()[direction];
        Courant::of_axis(axis, &space, direction, plan.dt)
            .iter()
            .all(|courant| courant.distance() <= ONE_CELL)
    };
    if space.dimensions() != 2
        || shape.shakhov != 0
        || faces
            .iter()
            .any(|kind| [face::MIRROR, face::MIXED].contains(kind))
        || !shape.nx.is_multiple_of(width)
        || shape.ny < 2
        || !(stays(0) && stays(1))
    {
        return None;
    }
    let sloped = plan.scheme == Scheme::VanLeer;
    let down = velocity.axes()[1].nodes().iter().filter(|v| **v <= 0.0);
    let mut march = March {
        rows: 1,
        warps: 1,
        batches: 1,
        down: down.count() as u32,
        band: 1,
    };
    // So many warps that the fewest are idle in the last batches, and rather more of them.
    let groups = march.groups(shape, sloped);
    let idle = |warps: u32| -> u32 {
        groups
            .iter()
            .map(|all| all.next_multiple_of(warps) - all)
            .sum()
    };
    let most = MARCH_THREADS / 32;
    march.warps = (4..=most)
        .rev()
        .min_by_key(|&warps| idle(warps))
        .unwrap_or(most)
        .min(groups[0].max(groups[1]).max(1));
    // The strips that come to the fewest rows of all tiles, with those that are looked at twice, of as many blocks as are wanted.
    let twice = if sloped { 3 } else { 1 };
    let of = move |rows: u32| March { rows, ..march };
    let work = |rows: u32| of(rows).tiles(shape, bytes, sloped) * (rows + twice);
    let units = move |rows: u32| {
        let [down, up] = of(rows).batches_of(shape, sloped);
        of(rows).tiles(shape, bytes, sloped) * shape.count_x * (down + up)
    };
    march.rows = (4..=MOST_ROWS)
        .map(|rows| {
            let rows = shape.ny.div_ceil(shape.ny.div_ceil(rows));
            rows.next_multiple_of(2).min(shape.ny / 2 * 2)
        })
        .filter(|&rows| rows <= MOST_ROWS / 2 || units(rows) >= MARCH_BLOCKS)
        .min_by_key(|&rows| work(rows))
        .unwrap_or(2);
    let [down, up] = march.batches_of(shape, sloped);
    march.batches = (units(march.rows) / MARCH_BLOCKS).clamp(1, down + up);
    march.band = (BAND_ROWS / march.rows).max(1);
    // Small GPUs have less room.
    while march.shared_bytes(bytes, sloped) > shared_bytes && march.warps > 1 {
        if march.batches > 1 {
            march.batches = 1;
        } else {
            march.warps -= 1;
        }
    }
    Some(march)
}

#[cfg(test)]
mod tests {
    use super::super::super::engine::Engine;
    use super::super::super::{
        Axis, Boundaries, Boundary, Gas, Model, Space, State, VelocitySpace, Wall,
    };
    use super::super::MachineEngine;
    use super::*;
    use crate::emulator::{Emulator, ThreadOrder};
    use crate::machine::Machine;

    /// A box with an odd number of nodes along y and along z.
    fn problem(nx: usize, boundaries: Boundaries) -> Problem {
        let axes = [8, 9, 7].map(|n| Axis::uniform(n, -4.0, 4.0).expect("an axis"));
        let stirred = |x: f64, y: f64| State {
            density: 1.0 + 0.1 * (40.0 * x + 3.0 * y).sin(),
            velocity: [0.2 * (30.0 * y).cos(), 0.1 * (50.0 * x).sin()],
            temperature: 1.0 + 0.1 * (20.0 * x - 60.0 * y).cos(),
        };
        let space = Space::rectangle([nx, 11], [0.0, 1.0], [0.0, 1.0]).expect("cells");
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

    /// Populations after some steps of a march that shares the work in this way, or of the general pass.
    fn populations<T: Real + Default>(
        problem: &Problem,
        sloped: bool,
        share: impl Fn(March) -> Option<March>,
        order: ThreadOrder,
    ) -> Vec<f64> {
        let mut engine = engine::<T>(problem, plan(0.01, sloped), order);
        let march = engine.share.march.expect("a march");
        let shape = engine.shape;
        engine.share = Share::new::<T>(&shape, true, sloped, share(march));
        let sums = shape.count_x * engine.share.sums(&shape) * shape.plane();
        engine.partial = engine.machine.allocate(sums as usize).expect("memory");
        engine.make_ready().expect("sums and tables");
        engine.advance(3).expect("steps");
        engine.save().expect("populations").populations
    }

    fn a_march_is_the_general_pass<T: Real + Default>(tolerance: f64) {
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
        for (boundaries, sloped) in [
            (walls(), true),
            (walls(), false),
            (periodic, true),
            (upright, true),
            (upright, false),
        ] {
            let problem = problem(12, boundaries);
            let of = |share: &dyn Fn(March) -> Option<March>, order| {
                populations::<T>(&problem, sloped, share, order)
            };
            let general = of(&|_| None, ThreadOrder::Ascending);
            for (rows, warps, batches, order) in [
                (4, 4, 1, ThreadOrder::Ascending),
                (2, 2, 2, ThreadOrder::Random(5)),
                (10, 1, 100, ThreadOrder::Ascending),
                (6, 5, 3, ThreadOrder::Random(7)),
            ] {
                let share = |march| {
                    Some(March {
                        rows,
                        warps,
                        batches,
                        band: 2,
                        ..march
                    })
                };
                let marched = of(&share, order);
                assert_eq!(marched.len(), general.len());
                for (marched, general) in marched.iter().zip(&general) {
                    let difference = (marched - general).abs();
                    assert!(
                        difference <= tolerance * general.abs().max(1e-6),
                        "{boundaries:?} {sloped} {rows} {warps} {batches}: {marched} {general}"
                    );
                }
            }
        }
    }

    #[test]
    fn a_march_is_the_general_pass_in_f64() {
        a_march_is_the_general_pass::<f64>(1e-11);
    }

    #[test]
    fn a_march_is_the_general_pass_in_f32() {
        a_march_is_the_general_pass::<f32>(1e-4);
    }

    #[test]
    fn the_common_case_is_marched_and_blocks_have_room() {
        let marches = |problem: &Problem, dt: f64| {
            engine::<f32>(problem, plan(dt, true), ThreadOrder::Ascending)
                .share
                .march
                .is_some()
        };
        let common = problem(12, walls());
        assert!(marches(&common, 0.01));
        // In this step the fastest molecules cross a cell; in the other they fly further.
        assert!(marches(&common, 1.0 / 12.0 / 3.5));
        assert!(!marches(&common, 0.03));
        assert!(!marches(&problem(13, walls()), 0.01));
        let wall = |accommodation| {
            Boundary::Wall(Wall {
                accommodation,
                ..Wall::diffuse(1.0)
            })
        };
        for top in [Boundary::Specular, wall(0.5)] {
            let mirrors = Boundaries { top, ..walls() };
            assert!(!marches(&problem(12, mirrors), 0.01));
        }
        let shakhov = Problem {
            gas: Gas {
                model: Model::Shakhov,
                ..common.gas
            },
            ..common.clone()
        };
        assert!(!marches(&shakhov, 0.01));

        let engine = engine::<f64>(&common, plan(0.01, false), ThreadOrder::Ascending);
        for room in [16 << 10, 48 << 10, 227 << 10] {
            let plan = plan(0.01, false);
            let march = march::<f64>(&common, &plan, &engine.shape, room).expect("a march");
            assert!(march.shared_bytes(8, false) <= room, "{room}: {march:?}");
        }
    }
}
