//! Many economies in which agents save a share of what they have: the states lie along the lanes.
//!
//! After an agent of cell i met one of cell j the upper end of the range is, in widths of a cell, `i + h_j` with `h_j = (1 - lambda) j + 1 - lambda / 2`. So it lies
//! in cell i + b_j, b_j = ceil(h_j) - 1, and all agents share one order of the j and of the cells that they end in. Where the range is cut below it begins
//! at i + j + 1 - M: cell i - m then has the agents of j < M - m.

use super::economies::{LANE_CELLS, LANE_SUMS, LANE_WARPS, LaneShape, publish_flows, sum_of_warps};
use crate::kernel;
use crate::math::{Real, quotient};
use crate::memory::{In, Out, Shared};
use crate::simt::{Simt, WARP};

/// Neighbouring cells i of a thread.
pub const SAVING_WIDTH: u32 = 4;

/// Threads of a block of [`saving_sweeps()`].
pub const SWEEP_THREADS: u32 = 256;

/// Cells i of a block.
pub const SAVING_AGENTS: u32 = SAVING_WIDTH * SWEEP_THREADS / WARP;

/// Cells j between two loads of a warp.
pub const SAVING_CHUNK: u32 = 8;

/// Numbers of the table for a thread and a j: for each i the inverse width of the range, and the part of the range in its last cell.
pub const SAVING_ROW: u32 = 2 * SAVING_WIDTH;

const WIDTH: usize = SAVING_WIDTH as usize;
const CHUNK: usize = SAVING_CHUNK as usize;
const ROW: u32 = SAVING_ROW;

/// Steps of which a warp hands the cells on to the next one: those of one barrier, and of the next.
const HANDED: u32 = 2 * SAVING_WIDTH;

/// The problem of [`saving_sweeps()`] and [`collect_sweeps()`].
#[derive(Clone, Copy, Debug, PartialEq)]
#[repr(C)]
pub struct SweepShape {
    /// The saved share, at least 0 and below 1.
    pub lambda: f64,
    /// The states.
    pub lanes: LaneShape,
    /// b_j of the last j.
    pub last_bin: u32,
}

impl SweepShape {
    /// Blocks of a set of states, each of which has [`SAVING_AGENTS`] cells i.
    #[inline(always)]
    pub const fn parts(&self) -> u32 {
        self.lanes.cells.div_ceil(SAVING_AGENTS)
    }

    /// Chunks of j.
    #[inline(always)]
    pub const fn chunks(&self) -> u32 {
        self.lanes.cells.div_ceil(SAVING_CHUNK)
    }

    /// The share that agents of cell i save.
    #[inline(always)]
    fn own(&self, i: u32) -> f64 {
        self.lambda * (f64::from(i) + 0.5)
    }

    /// Place of cell 0 of a part, of this lane's state, among the shares.
    #[inline(always)]
    fn place<S: Simt>(&self, t: &S, set: u32, part: u32) -> usize {
        let row = (set * self.parts() + part) as usize * self.lanes.cells as usize;
        row * WARP as usize + t.lane() as usize
    }
}

/// A warp's data of a chunk of j, from the highest j on.
struct Delivery {
    /// Agents of this lane's state.
    agents: [f64; CHUNK],
    /// Two numbers of the table.
    table: [f64; 2],
    /// Bit q: b_j falls on the way to the q-th j.
    falls: u32,
    /// Where the warp reads the table.
    at: u32,
}

/// Where a warp loads from.
struct Source<'a> {
    lanes: In<'a, f64>,
    table: In<'a, f64>,
    falls: In<'a, u32>,
    staged: Shared<'a, f64>,
    shape: SweepShape,
    set: u32,
    /// The warp's rows of the table.
    start: usize,
}

impl Source<'_> {
    /// The highest j of a chunk.
    #[inline(always)]
    fn highest(&self, chunk: u32) -> u32 {
        (self.shape.chunks() - chunk) * SAVING_CHUNK - 1
    }

    #[inline(always)]
    #[track_caller]
    fn fetch<S: Simt>(&self, t: &S, chunk: u32, half: u32) -> Delivery {
        let mut delivery = Delivery {
            agents: [0.0; CHUNK],
            table: [0.0; 2],
            falls: 0,
            at: (2 * t.warp() + half % 2) * SAVING_CHUNK * ROW,
        };
        if chunk < self.shape.chunks() {
            let highest = self.highest(chunk);
            let place = self.shape.lanes.place(t, self.set, highest);
            for q in 0..CHUNK {
                delivery.agents[q] = self.lanes.get(t, place - q * WARP as usize);
            }
            let row = (highest + 1 - SAVING_CHUNK) * ROW + 2 * t.lane();
            delivery.table = self.table.get_run(t, self.start + row as usize);
            delivery.falls = self.falls.get(t, chunk as usize);
        }
        delivery
    }

    /// Puts a chunk of the table where the warp reads it.
    #[inline(always)]
    #[track_caller]
    fn stage<S: Simt>(&self, t: &S, delivery: &Delivery) {
        let at = delivery.at + 2 * t.lane();
        self.staged.set_run(t, at, delivery.table);
        t.sync_warp();
    }

    /// Four numbers of the `q`-th j of a chunk.
    #[inline(always)]
    #[track_caller]
    fn row<S: Simt>(&self, t: &S, at: u32, q: usize, offset: u32) -> [f64; WIDTH] {
        let at = at + (CHUNK - 1 - q) as u32 * ROW + offset;
        let [a, b]: [f64; 2] = self.staged.get_run(t, at);
        let [c, d]: [f64; 2] = self.staged.get_run(t, at + 2);
        [a, b, c, d]
    }
}

/// State of a thread on the way along its four cells i.
struct Sweep<'a> {
    handed: Shared<'a, f64>,
    shares: Out<'a, f64>,
    shape: SweepShape,
    place: usize,
    /// The first i of the block and of the thread.
    block: u32,
    first: u32,
    own: [f64; WIDTH],
    /// The cells that the agents of i save, and the parts of these above what they save.
    lowest: [i32; WIDTH],
    cut: [f64; WIDTH],
    /// Sums of p_j / width over the j so far.
    beyond: [f64; WIDTH],
    /// The same over the j whose ranges are cut above the cell.
    above: [f64; WIDTH],
    /// Agents who come into the cell of the step.
    partial: [f64; WIDTH],
    /// Sums for the cells from `first + bin` on.
    window: [f64; WIDTH],
    /// The cell of the step, less i.
    bin: i32,
    steps: u32,
}

impl Sweep<'_> {
    /// The part of cell i + bin above what the agents of the k-th i save.
    #[inline(always)]
    fn cover(&self, k: usize) -> f64 {
        let cell = (self.first + k as u32) as i32 + self.bin;
        let part = if cell == self.lowest[k] {
            self.cut[k]
        } else {
            1.0
        };
        if cell < self.lowest[k] { 0.0 } else { part }
    }

    /// Adds to the cells of this step, and hands the highest one on.
    #[inline(always)]
    #[track_caller]
    fn step<S: Simt>(&mut self, t: &S) {
        for k in 0..WIDTH {
            self.window[k] = Real::mul_add(self.own[k], self.partial[k], self.window[k]);
        }
        let slot = |warp: u32, step: u32| (warp * HANDED + step % HANDED) * WARP + t.lane();
        let mut sum = self.window[WIDTH - 1];
        // Before that the cell was beyond the ranges of all lower i.
        if t.warp() > 0 && self.steps >= SAVING_WIDTH {
            sum += self
                .handed
                .get(t, slot(t.warp() - 1, self.steps + SAVING_WIDTH));
        }
        if t.warp() + 1 < SWEEP_THREADS / WARP {
            self.handed.set(t, slot(t.warp(), self.steps), sum);
        } else {
            // The cell is at least 0: the steps end there.
            let cell = (self.block + SAVING_AGENTS - 1).wrapping_add_signed(self.bin);
            if cell < self.shape.lanes.cells {
                self.shares
                    .set(t, self.place + cell as usize * WARP as usize, sum);
            }
        }
        for k in (1..WIDTH).rev() {
            self.window[k] = self.window[k - 1];
        }
        self.window[0] = 0.0;
        self.bin -= 1;
        self.steps += 1;
        if self.steps.is_multiple_of(SAVING_WIDTH) {
            t.sync_threads();
        }
    }

    /// The `q`-th j of a chunk, which ends in cell i + bin.
    #[inline(always)]
    #[track_caller]
    fn meet<S: Simt>(&mut self, t: &S, source: &Source<'_>, delivery: &Delivery, q: usize) {
        if (delivery.falls >> q) & 1 != 0 {
            // Cells beyond the grid get nothing.
            if self.block as i32 + self.bin < self.shape.lanes.cells as i32 {
                self.step(t);
            } else {
                self.bin -= 1;
            }
            self.partial = self.beyond;
            if self.bin == 0 {
                for k in 0..WIDTH {
                    self.partial[k] *= self.cover(k);
                }
            }
        }
        let inverse = source.row(t, delivery.at, q, 0);
        let part = source.row(t, delivery.at, q, SAVING_WIDTH);
        for k in 0..WIDTH {
            self.partial[k] = Real::mul_add(delivery.agents[q], part[k], self.partial[k]);
            self.beyond[k] = Real::mul_add(delivery.agents[q], inverse[k], self.beyond[k]);
        }
    }

    /// The `q`-th j of a chunk, whose ranges are cut above cell i + bin, bin = j - M.
    #[inline(always)]
    #[track_caller]
    fn part<S: Simt>(&mut self, t: &S, source: &Source<'_>, delivery: &Delivery, q: usize) {
        let inverse = source.row(t, delivery.at, q, 0);
        for k in 0..WIDTH {
            self.above[k] = Real::mul_add(delivery.agents[q], inverse[k], self.above[k]);
            self.partial[k] = self.cover(k) * (self.beyond[k] - self.above[k]);
        }
        self.step(t);
    }
}

kernel! {
    /// The shares of [`saving_shares()`](super::saving_shares()), of many states: `shares[part][k]` is the number of agents of a part of the cells i whom encounters
    /// bring into cell k.
    ///
    /// **Block**: 32 cells i of 32 states. **Thread**: four neighbouring i of one state. It walks through the j from the top to the bottom, with the sum of p_j / width
    /// of each i. Whenever b_j falls, the cells i + b_j + 1 are complete for these j, and get this sum besides what ended within them; then, below i, they get
    /// what is left of the sum without ranges that are cut above them. The agents whom the four i bring are a window of four cells in registers. Its highest
    /// cell goes to the next warp, whose i are four higher and which reaches this cell four steps later; after the last warp it is
    /// written. A barrier precedes each fourth step, and what is handed on lies in two halves.
    ///
    /// The table has, for the four i of a warp, `p_j`'s factors of all j: one load of 16 bytes a lane brings those of eight j, which the
    /// warp reads from shared memory, where all lanes read the same.
    ///
    /// **Cost** of each i and j: 2 multiply-adds, and 1.5 more a cell; a fourth of 4 loads from shared memory, of one load from L2, and of the table. 22 KiB of shared memory.
    pub fn saving_sweeps(
        t, lanes: In<f64>, table: In<f64>, falls: In<u32>, shares: Out<f64>; shape: SweepShape,
    )
    shared {
        staged: [f64; 2 * SAVING_CHUNK * ROW * SWEEP_THREADS / WARP], handed: [f64; HANDED * SWEEP_THREADS],
    } {
        let parts = shape.parts();
        let set = quotient(t.block_idx(), parts);
        let part = t.block_idx() - set * parts;
        let block = part * SAVING_AGENTS;
        let first = block + t.warp() * SAVING_WIDTH;
        let start = (block / SAVING_WIDTH + t.warp()) as usize * (shape.chunks() * SAVING_CHUNK * ROW) as usize;
        let source = Source { lanes, table, falls, staged, shape, set, start };
        let mut own = [0.0; WIDTH];
        for k in 0..WIDTH {
            let i = first + k as u32;
            own[k] = if i < shape.lanes.cells { lanes.get(t, shape.lanes.place(t, set, i)) } else { 0.0 };
        }
        let mut lowest = [0; WIDTH];
        let mut cut = [0.0; WIDTH];
        for k in 0..WIDTH {
            let saved = shape.own(first + k as u32);
            lowest[k] = saved as i32;
            cut[k] = f64::from(lowest[k] + 1) - saved;
        }
        let mut sweep = Sweep {
            handed,
            shares,
            shape,
            place: shape.place(t, set, part),
            block,
            first,
            own,
            lowest,
            cut,
            beyond: [0.0; WIDTH],
            above: [0.0; WIDTH],
            partial: [0.0; WIDTH],
            window: [0.0; WIDTH],
            bin: shape.last_bin as i32,
            steps: 0,
        };

        // After the last chunk the first one again.
        let mut delivery = source.fetch(t, 0, 0);
        source.stage(t, &delivery);
        for chunk in 0..shape.chunks() {
            let following = if chunk + 1 < shape.chunks() { chunk + 1 } else { 0 };
            let next = source.fetch(t, following, chunk + 1);
            for q in 0..CHUNK {
                sweep.meet(t, &source, &delivery, q);
            }
            source.stage(t, &next);
            delivery = next;
        }
        sweep.step(t);

        // The last warp reaches the lowest cell that the first i of the block brings agents to.
        let last = shape.own(block) as i32 - (block + SAVING_AGENTS - 1) as i32;
        let padding = shape.chunks() * SAVING_CHUNK - shape.lanes.cells;
        let mut chunk = 0;
        while sweep.bin >= last {
            let next = source.fetch(t, chunk + 1, shape.chunks() + chunk + 1);
            for q in 0..CHUNK {
                // Some j are not on the grid, and the last step may not be the last of a chunk.
                if chunk * SAVING_CHUNK + q as u32 >= padding && sweep.bin >= last {
                    sweep.part(t, &source, &delivery, q);
                }
            }
            source.stage(t, &next);
            delivery = next;
            chunk += 1;
        }
    }
}

kernel! {
    /// Adds up the parts of [`saving_sweeps()`]: the change of the number of agents of each cell, of each state. A thread has eight neighbouring cells of a
    /// state, a warp 32 states; the four warps of a block share the parts. 8 bytes read for each part and cell.
    pub fn collect_sweeps(
        t, lanes: In<f64>, counts: In<f64>, shares: In<f64>, flux: Out<f64>; shape: SweepShape,
    )
    shared { room: [f64; LANE_SUMS] } {
        let groups = shape.lanes.groups();
        let set = quotient(t.block_idx(), groups);
        let first = (t.block_idx() - set * groups) * LANE_CELLS;
        let mut gains = [0.0; LANE_CELLS as usize];
        let mut part = t.warp();
        while part < shape.parts() {
            let block = part * SAVING_AGENTS;
            let place = shape.place(t, set, part);
            // The cells that the part has written.
            let lowest = shape.own(block) as u32;
            let beyond = block + SAVING_AGENTS + shape.last_bin;
            let beyond = if beyond < shape.lanes.cells { beyond } else { shape.lanes.cells };
            for r in 0..LANE_CELLS {
                let cell = first + r;
                if lowest <= cell && cell < beyond {
                    gains[r as usize] += shares.get(t, place + cell as usize * WARP as usize);
                }
            }
            part += LANE_WARPS;
        }
        let gains = sum_of_warps(t, gains, room);
        if t.warp() == 0 {
            publish_flows(t, &shape.lanes, (set, first), gains, lanes, counts, flux);
        }
    }
}
