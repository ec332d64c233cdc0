//! Economies in which agents save a share of what they have, in O(M^2).

use super::pairs::strided_sum;
use super::{warp_sum, warp_sum_above};
use crate::kernel;
use crate::math::{Real, quotient};
use crate::memory::{In, Shared};
use crate::simt::{Simt, WARP};

/// Most threads of a block of [`saving_shares()`].
pub const SAVING_THREADS: u32 = 256;

/// Threads of a block of [`collect_shares()`].
pub const COLLECT_THREADS: u32 = 512;

const COLLECT_WARPS: u32 = COLLECT_THREADS / WARP;

/// The problem of [`saving_shares()`] and [`collect_shares()`].
#[derive(Clone, Copy, Debug, PartialEq)]
#[repr(C)]
pub struct SavingShape {
    /// The saved share, at least 0 and below 1.
    pub lambda: f64,
    /// Cells M.
    pub cells: u32,
    /// Distance of two states: M at least.
    pub pitch: u32,
    /// Sets of agents of each state, of which every block has one.
    pub sets: u32,
    /// 1 if the block's shared memory has room for densities and sums, 0 if it has it for sums of densities alone.
    pub roomy: u32,
}

/// Bytes of shared memory that suffice for a block of [`saving_shares()`].
pub const fn saving_bytes(cells: u32, roomy: bool) -> u32 {
    let arrays = if roomy { 3 } else { 1 };
    arrays * (cells + 2) * 8 + (4 + SAVING_THREADS / WARP) * 8
}

/// Words of the arrays for which there may be no room.
const fn spare_words(shape: &SavingShape) -> u32 {
    if shape.roomy != 0 { shape.cells } else { 1 }
}

/// Money of the agents of a cell after an encounter, in widths of a cell. With an agent of cell j they have `both`, and it is uniform
/// between what they save and [`Range::high()`], but for what [`Range::width()`] cuts off.
#[derive(Clone, Copy)]
struct Range {
    /// The part that they save, and the next larger number.
    own: f64,
    more: f64,
    /// 1 - lambda, and its inverse.
    traded: f64,
    steps: f64,
    cell: u32,
    cells: u32,
}

/// The larger and the smaller of two numbers, without care for NaN.
#[inline(always)]
fn larger(a: f64, b: f64) -> f64 {
    if a > b { a } else { b }
}
#[inline(always)]
fn smaller(a: f64, b: f64) -> f64 {
    if a < b { a } else { b }
}

impl Range {
    #[inline(always)]
    fn new(shape: &SavingShape, cell: u32) -> Self {
        let own = shape.lambda * (f64::from(cell) + 0.5);
        Self {
            own,
            more: own * (1.0 + f64::EPSILON),
            traded: 1.0 - shape.lambda,
            steps: 1.0 / (1.0 - shape.lambda),
            cell,
            cells: shape.cells,
        }
    }

    /// Their money and that of an agent of cell j.
    #[inline(always)]
    fn both(&self, j: u32) -> f64 {
        f64::from(self.cell + j + 1)
    }

    /// The upper end, which never falls as j rises. It lies above what is saved even where the traded share is lost to rounding.
    #[inline(always)]
    fn high(&self, both: f64) -> f64 {
        larger(self.own + self.traded * both, self.more)
    }

    /// The width of the range, cut so that both agents stay on the grid.
    #[inline(always)]
    fn width(&self, both: f64) -> f64 {
        let top = f64::from(self.cells);
        smaller(self.high(both), top) - larger(self.own, both - top)
    }

    /// The first j whose upper end is above an edge, M if there is none; and what they have together with the one before it.
    #[inline(always)]
    fn first_above(&self, edge: f64) -> (u32, f64) {
        let most = f64::from(self.cell + self.cells);
        let guess = larger((edge - self.own) * self.steps, 0.0);
        let guess = smaller(guess, most) as u32;
        let mut j = guess.saturating_sub(self.cell);
        let mut both = f64::from(self.cell + j);
        // Where rounding has led beside it: neighbouring cells must share out the same agents.
        while j > 0 && self.high(both) > edge {
            j -= 1;
            both -= 1.0;
        }
        while j < self.cells && self.high(both + 1.0) <= edge {
            j += 1;
            both += 1.0;
        }
        (j, both)
    }
}

/// Sum over the threads above this one.
#[inline(always)]
#[track_caller]
fn sum_beyond<S: Simt>(t: &S, value: f64, totals: Shared<'_, f64>) -> f64 {
    let within = warp_sum_above(t, value);
    if t.lane() == 0 {
        totals.set(t, t.warp(), within);
    }
    t.sync_threads();
    let mut sum = t.shuffle_down(within, 1);
    sum = if t.lane() + 1 < WARP { sum } else { 0.0 };
    for warp in t.warp() + 1..quotient(t.block_dim(), WARP) {
        sum += totals.get(t, warp);
    }
    sum
}

#[inline(always)]
#[track_caller]
fn agents<S: Simt, T: Real>(t: &S, p: In<'_, T>, base: u32, cell: u32) -> f64 {
    p.get(t, (base + cell) as usize).to_f64()
}

/// Gives each cell k the share of what the agents of a cell end with: `beyond[j]` is the sum of densities from j to the top.
#[inline(always)]
#[track_caller]
fn spread<S: Simt>(
    t: &S,
    range: Range,
    beyond: Shared<'_, f64>,
    density: impl Fn(u32) -> f64,
    add: impl Fn(u32, f64),
) {
    // Cells below what is saved get nothing.
    let mut k = range.own as u32 + t.thread_idx();
    while k < range.cells {
        let edge = f64::from(k);
        let low = larger(range.own, edge);
        let (last, both) = range.first_above(edge + 1.0);
        // From `end` on ranges begin above the cell.
        let end = if k < range.cell {
            range.cells - (range.cell - k)
        } else {
            range.cells
        };
        let (mut j, mut both) = if last < end {
            (last, both)
        } else {
            (end, f64::from(range.cell + end))
        };
        let through = larger(beyond.get(t, j) - beyond.get(t, end), 0.0);
        let mut share = (edge + 1.0 - low) * through;
        while j > 0 && range.high(both) > edge {
            j -= 1;
            share += density(j) * (range.high(both) - low);
            both -= 1.0;
        }
        add(k, share);
        k += t.block_dim();
    }
}

kernel! {
    /// Cells of agents who save, after an encounter: `shares[set][k]` is the number of agents of a set of cells whom encounters bring into cell k, in a unit of time.
    ///
    /// An agent of cell i keeps lambda e_i, e_i = i + 1/2, and ends uniformly between this and lambda e_i + (1 - lambda) (e_i + e_j), the part of it
    /// for which both stay on the grid; a cell gets the share of its overlap. For one i both ends of the range rise with j. So of all
    /// j those that end above cell k and have begun below its upper edge are neighbours, and bring as much as a difference of
    /// sums of p_j / width_ij from j to the top; those that end within cell k are neighbours too, 1 / (1 - lambda) of them on
    /// average, and are added one by one. No difference is taken for k >= i, where nothing is cut off below, so that tails keep all their digits.
    ///
    /// **Block**: the cells i = set, set + sets, ... of one state, one after the other. **Threads** share the j: densities p_j / width_ij, then sums from j to
    /// the top, for which a thread has a run of neighbours, of odd length so that the banks differ. Then they share the k: one
    /// thread adds the part of cell i to cell k, and a barrier precedes the next i. Sums are f64 and in fixed order.
    ///
    /// **Cost** of each i and j: a division and about 25 operations of the f64 pipe, 6 accesses to shared memory; 8 bytes written for each set and cell. Shared memory: 24
    /// bytes a cell, or 8, with densities computed anew and shares in global memory.
    pub fn saving_shares<T: Real>(t, p: In<T>, shares: InOut<f64>; shape: SavingShape) for f32, f64
    shared {
        beyond: [f64; shape.cells + 1], densities: [f64; spare_words(&shape)], sums: [f64; spare_words(&shape)],
        totals: [f64; SAVING_THREADS / WARP],
    } {
        let cells = shape.cells;
        let state = quotient(t.block_idx(), shape.sets);
        let set = t.block_idx() - state * shape.sets;
        let base = state * shape.pitch;
        let out = t.block_idx() as usize * shape.pitch as usize;
        let (thread, threads) = (t.thread_idx(), t.block_dim());
        let roomy = shape.roomy != 0;
        let run = quotient(cells + threads - 1, threads) | 1;
        let from = if thread * run < cells { thread * run } else { cells };
        let to = if from + run < cells { from + run } else { cells };

        let mut k = thread;
        while roomy && k < cells {
            sums.set(t, k, 0.0);
            k += threads;
        }
        let mut k = thread;
        while !roomy && k < cells {
            shares.set(t, out + k as usize, 0.0);
            k += threads;
        }
        if thread == 0 {
            beyond.set(t, cells, 0.0);
        }
        let mut i = set;
        while i < cells {
            let range = Range::new(&shape, i);
            let mut j = thread;
            while j < cells {
                let density = agents(t, p, base, j) / range.width(range.both(j));
                beyond.set(t, j, density);
                if roomy {
                    densities.set(t, j, density);
                }
                j += threads;
            }
            t.sync_threads();
            let mut sum = 0.0;
            let mut j = to;
            while j > from {
                j -= 1;
                sum += beyond.get(t, j);
            }
            sum = sum_beyond(t, sum, totals);
            let mut j = to;
            while j > from {
                j -= 1;
                sum += beyond.get(t, j);
                beyond.set(t, j, sum);
            }
            t.sync_threads();

            let own = agents(t, p, base, i);
            // Two loops, so that no pointer is to either memory.
            if roomy {
                spread(t, range, beyond, |j| densities.get(t, j), |k, share| {
                    sums.set(t, k, sums.get(t, k) + own * share);
                });
            } else {
                spread(t, range, beyond, |j| agents(t, p, base, j) / range.width(range.both(j)), |k, share| {
                    let at = out + k as usize;
                    shares.set(t, at, shares.get(t, at) + own * share);
                });
            }
            t.sync_threads();
            i += shape.sets;
        }
        let mut k = thread;
        while roomy && k < cells {
            shares.set(t, out + k as usize, sums.get(t, k));
            k += threads;
        }
    }
}

kernel! {
    /// Adds up the sets of [`saving_shares()`]: `flux[k] = sum over sets of shares[set][k] - n p_k`, n = sum of p: the change of the number of agents of cell k.
    ///
    /// **Block**: 32 cells of one state, one a lane; its warps share the sets, and the cells for n. Eight loads are under way together; the order of sums is fixed. 8 bytes
    /// read for each set and cell.
    pub fn collect_shares<T: Real>(t, p: In<T>, shares: In<f64>, flux: Out<f64>; shape: SavingShape) for f32, f64
    shared { sums: [f64; COLLECT_THREADS], counts: [f64; COLLECT_WARPS] } {
        let groups = shape.cells.div_ceil(WARP);
        let state = quotient(t.block_idx(), groups);
        let cell = (t.block_idx() - state * groups) * WARP + t.lane();
        let inside = cell < shape.cells;
        let cell = if inside { cell } else { shape.cells - 1 };
        let base = state * shape.pitch;

        let own = (shape.sets + COLLECT_WARPS - 1 - t.warp()) / COLLECT_WARPS;
        let at = (state * shape.sets + t.warp()) as usize * shape.pitch as usize + cell as usize;
        let sum = strided_sum(t, shares, at, own, COLLECT_WARPS * shape.pitch);
        sums.set(t, t.thread_idx(), sum);
        let mut count = 0.0;
        let mut j = t.thread_idx();
        while j < shape.cells {
            count += agents(t, p, base, j);
            j += COLLECT_THREADS;
        }
        let count = warp_sum(t, count);
        if t.lane() == 0 {
            counts.set(t, t.warp(), count);
        }
        t.sync_threads();
        if t.warp() == 0 {
            let (mut gain, mut all) = (0.0, 0.0);
            for warp in 0..COLLECT_WARPS {
                gain += sums.get(t, warp * WARP + t.lane());
                all += counts.get(t, warp);
            }
            if inside {
                flux.set(t, (base + cell) as usize, gain - all * agents(t, p, base, cell));
            }
        }
    }
}
