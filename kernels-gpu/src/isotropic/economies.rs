//! Many economies at once, with their states along the lanes: the layout, and agents who split all they have.

use super::{TILE_PITCH, row_sum};
use crate::kernel;
use crate::math::{Real, quotient};
use crate::memory::{In, Out, Shared};
use crate::simt::{Simt, WARP};

/// Rows of zeros before the first cell of a set.
pub const LANE_FRONT: u32 = 8;

/// Rows of zeros behind the last cell of a set, at least.
pub const LANE_BACK: u32 = 24;

/// Threads of a block of [`lay_along_lanes()`].
pub const LAY_THREADS: u32 = 256;

/// Neighbouring cells or shells of a thread.
pub const LANE_CELLS: u32 = 8;

/// Warps of a block that share the sums of neighbouring cells or shells.
pub const LANE_WARPS: u32 = 4;

/// Words of the shared array with the sums of each warp.
pub(super) const LANE_SUMS: u32 = LANE_WARPS * LANE_CELLS * WARP;

const WIDTH: usize = LANE_CELLS as usize;

/// Many economies, in sets of 32 states: state k of a set is in lane k.
#[derive(Clone, Copy, Debug, PartialEq)]
#[repr(C)]
pub struct LaneShape {
    /// Cells M.
    pub cells: u32,
    /// Distance of two states where each has consecutive cells: a multiple of 32, M + 64 at least.
    pub pitch: u32,
    /// States.
    pub states: u32,
    /// Rows of a set along the lanes, a multiple of 32: cell m is row [`LANE_FRONT`] + m.
    pub rows: u32,
}

impl LaneShape {
    /// The shape of so many states.
    pub const fn new(cells: u32, pitch: u32, states: u32) -> Self {
        Self {
            cells,
            pitch,
            states,
            rows: (LANE_FRONT + cells + LANE_BACK).next_multiple_of(WARP),
        }
    }

    /// Sets of states.
    #[inline(always)]
    pub const fn sets(&self) -> u32 {
        self.states.div_ceil(WARP)
    }

    /// Groups of neighbouring cells, one a block.
    #[inline(always)]
    pub const fn groups(&self) -> u32 {
        self.cells.div_ceil(LANE_CELLS)
    }

    /// Rows of a set of shells.
    #[inline(always)]
    pub const fn shells(&self) -> u32 {
        2 * self.groups() * LANE_CELLS
    }

    /// Place of a cell of this lane's state; cells from -[`LANE_FRONT`] on are there.
    #[inline(always)]
    pub(super) fn place<S: Simt>(&self, t: &S, set: u32, cell: u32) -> usize {
        let row = set * self.rows + LANE_FRONT.wrapping_add(cell);
        row as usize * WARP as usize + t.lane() as usize
    }
}

/// The number of agents of this lane's state.
#[inline(always)]
#[track_caller]
fn agents<S: Simt>(t: &S, counts: In<'_, f64>, shape: &LaneShape, set: u32) -> f64 {
    let tiles = quotient(shape.rows, WARP);
    let mut sum = 0.0;
    for tile in 0..tiles {
        let at = (set * tiles + tile) as usize * WARP as usize;
        sum += counts.get(t, at + t.lane() as usize);
    }
    sum
}

/// Sums over the warps of a block, in the first warp.
#[inline(always)]
#[track_caller]
pub(super) fn sum_of_warps<S: Simt>(
    t: &S,
    values: [f64; WIDTH],
    sums: Shared<'_, f64>,
) -> [f64; WIDTH] {
    let place = |warp: u32, r: usize| (warp * LANE_CELLS + r as u32) * WARP + t.lane();
    for r in 0..WIDTH {
        sums.set(t, place(t.warp(), r), values[r]);
    }
    t.sync_threads();
    let mut all = [0.0; WIDTH];
    if t.warp() == 0 {
        for r in 0..WIDTH {
            for warp in 0..LANE_WARPS {
                all[r] += sums.get(t, place(warp, r));
            }
        }
    }
    all
}

/// Writes the flows of neighbouring cells of this lane's state: what they gain, less what all agents take from them.
#[inline(always)]
#[track_caller]
pub(super) fn publish_flows<S: Simt>(
    t: &S,
    shape: &LaneShape,
    (set, first): (u32, u32),
    gains: [f64; WIDTH],
    lanes: In<'_, f64>,
    counts: In<'_, f64>,
    flux: Out<'_, f64>,
) {
    let all = agents(t, counts, shape, set);
    let state = set * WARP + t.lane();
    let at = state as usize * shape.pitch as usize + first as usize;
    let mut flows = [0.0; WIDTH];
    for r in 0..WIDTH {
        let own = lanes.get(t, shape.place(t, set, first + r as u32));
        flows[r] = gains[r] - all * own;
    }
    if state < shape.states {
        for r in 0..WIDTH / 2 {
            flux.set_run(t, at + 2 * r, [flows[2 * r], flows[2 * r + 1]]);
        }
    }
}

kernel! {
    /// Lays the states of many economies along the lanes, with zeros around their cells and in lanes without a state: row r of a set holds
    /// cell r - [`LANE_FRONT`] of its 32 states. `counts` gets the sums over each 32 rows.
    ///
    /// **Block**: 32 rows of a set, turned in shared memory; it reads and writes consecutive words. 16 bytes a number.
    pub fn lay_along_lanes<T: Real>(t, p: In<T>, lanes: Out<f64>, counts: Out<f64>; shape: LaneShape) for f32, f64
    shared { tile: [f64; WARP * TILE_PITCH] } {
        let tiles = quotient(shape.rows, WARP);
        let set = quotient(t.block_idx(), tiles);
        let first = (t.block_idx() - set * tiles) * WARP;
        let mut k = t.warp();
        while k < WARP {
            let state = set * WARP + k;
            // A cell before the first one is a huge number.
            let cell = (first + t.lane()).wrapping_sub(LANE_FRONT);
            let inside = state < shape.states && cell < shape.cells;
            let at = state as usize * shape.pitch as usize + cell as usize;
            let value = if inside { p.get(t, at).to_f64() } else { 0.0 };
            tile.set(t, k * TILE_PITCH + t.lane(), value);
            k += LAY_THREADS / WARP;
        }
        t.sync_threads();
        let mut k = t.warp();
        while k < WARP {
            let row = (set * shape.rows + first + k) as usize * WARP as usize;
            lanes.set(t, row + t.lane() as usize, tile.get(t, t.lane() * TILE_PITCH + k));
            k += LAY_THREADS / WARP;
        }
        if t.warp() == 0 {
            let sum = row_sum(t, tile, 0);
            counts.set(t, t.block_idx() as usize * WARP as usize + t.lane() as usize, sum);
        }
    }
}

kernel! {
    /// The sums of [`split_products()`](super::split_products()), of many states.
    ///
    /// **Thread**: eight neighbouring shells s of one state; **warp**: 32 states; **block**: its four warps share the k. As p_k p_(s-k) is symmetric, k runs to
    /// s/2. Of each eight k and eight s a thread loads eight p_k and eight more p_(s-k), for 64 multiply-adds. M^2/2 multiply-adds a state.
    pub fn split_products_of_lanes(t, lanes: In<f64>, norms: In<f64>, shared_out: Out<f64>; shape: LaneShape)
    shared { room: [f64; LANE_SUMS] } {
        let groups = shape.shells() / LANE_CELLS;
        let set = quotient(t.block_idx(), groups);
        let first = (t.block_idx() - set * groups) * LANE_CELLS;
        let p = |cell: u32| lanes.get(t, shape.place(t, set, cell));
        let middle = first / 2;
        // The first k whose partner is on the grid.
        let lowest = if first < shape.cells { 0 } else { first - (shape.cells - 1) };
        let blocks = if lowest < middle { (middle - lowest).div_ceil(LANE_CELLS) } else { 0 };
        let share = blocks.div_ceil(LANE_WARPS);
        let from = (share * t.warp()).min(blocks);
        let to = (from + share).min(blocks);
        // Up to seven cells lower: there, or at the partner, are zeros.
        let mut k = middle.wrapping_sub((blocks - from) * LANE_CELLS);
        let mut sums = [0.0; WIDTH];
        // Partners first - k - 7 to first - k + 7.
        let mut partners = [0.0; 2 * WIDTH - 1];
        if from < to {
            for x in 0..WIDTH - 1 {
                partners[x] = p((first + 1 + x as u32).wrapping_sub(k));
            }
        }
        for _ in from..to {
            let mut own = [0.0; WIDTH];
            for x in (0..WIDTH - 1).rev() {
                partners[WIDTH + x] = partners[x];
            }
            for x in 0..WIDTH {
                own[x] = p(k.wrapping_add(x as u32));
                partners[x] = p((first + x as u32).wrapping_sub(7).wrapping_sub(k));
            }
            for x in 0..WIDTH {
                for r in 0..WIDTH {
                    sums[r] = Real::mul_add(own[x], partners[r + 7 - x], sums[r]);
                }
            }
            k = k.wrapping_add(LANE_CELLS);
        }
        let sums = sum_of_warps(t, sums, room);
        if t.warp() > 0 {
            return;
        }
        let mut near = [0.0; WIDTH];
        for x in 0..WIDTH {
            near[x] = p(middle + x as u32);
        }
        for r in 0..WIDTH {
            let mut sum = sums[r];
            for x in 0..r.div_ceil(2) {
                sum = Real::mul_add(near[x], near[r - x], sum);
            }
            sum += sum;
            if r % 2 == 0 {
                sum = Real::mul_add(near[r / 2], near[r / 2], sum);
            }
            let s = first + r as u32;
            let norm = norms.get_or(t, s as usize, 1.0);
            let at = (set * shape.shells() + s) as usize * WARP as usize;
            shared_out.set(t, at + t.lane() as usize, sum / norm);
        }
    }
}

kernel! {
    /// The flows of [`split_flows()`](super::split_flows()), of many states; `weights` has zeros up to a multiple of eight.
    ///
    /// **Thread**: eight neighbouring cells i of one state; **warp**: 32 states; **block**: its four warps share the j. Of each eight j and eight i a thread loads eight more shells and eight
    /// weights, the same in all lanes, for 64 multiply-adds. M^2 multiply-adds a state.
    pub fn split_flows_of_lanes(
        t, lanes: In<f64>, counts: In<f64>, shared_in: In<f64>, weights: In<f64>, flux: Out<f64>; shape: LaneShape,
    )
    shared { room: [f64; LANE_SUMS] } {
        let groups = shape.groups();
        let set = quotient(t.block_idx(), groups);
        let first = (t.block_idx() - set * groups) * LANE_CELLS;
        let shell = |s: u32| {
            let at = (set * shape.shells() + s) as usize * WARP as usize;
            shared_in.get(t, at + t.lane() as usize)
        };
        let share = groups.div_ceil(LANE_WARPS) * LANE_CELLS;
        let mut j = share * t.warp();
        let end = (j + share).min(shape.cells);
        let mut sums = [0.0; WIDTH];
        // Shells first + j to first + j + 14.
        let mut shells = [0.0; 2 * WIDTH - 1];
        if j < end {
            for x in 0..WIDTH - 1 {
                shells[WIDTH + x] = shell(first + j + x as u32);
            }
        }
        while j < end {
            let mut own = [0.0; WIDTH];
            for x in 0..WIDTH - 1 {
                shells[x] = shells[WIDTH + x];
            }
            for x in 0..WIDTH {
                shells[WIDTH - 1 + x] = shell(first + j + 7 + x as u32);
            }
            for x in 0..WIDTH / 2 {
                let pair: [f64; 2] = weights.get_run(t, j as usize + 2 * x);
                own[2 * x] = pair[0];
                own[2 * x + 1] = pair[1];
            }
            for x in 0..WIDTH {
                for r in 0..WIDTH {
                    sums[r] = Real::mul_add(own[x], shells[r + x], sums[r]);
                }
            }
            j += LANE_CELLS;
        }
        let mut sums = sum_of_warps(t, sums, room);
        if t.warp() == 0 {
            for r in 0..WIDTH {
                sums[r] *= weights.get(t, first as usize + r);
            }
            publish_flows(t, &shape, (set, first), sums, lanes, counts, flux);
        }
    }
}
