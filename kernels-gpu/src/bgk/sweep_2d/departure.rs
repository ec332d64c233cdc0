//! Relaxed rows on their way to memory: the shift along x and y, and the sums of the warps.

use super::super::layout::{FUNCTIONS, PASS_SUMS_ROTATING};
use super::super::sweep::{limited, shift};
use super::column::Column;
use super::group::Group;
use super::pass::{Batch, Memory, OutRow, Pass, SWEEP_THREADS};
use crate::Pack;
use crate::math::Real;
use crate::simt::{Simt, WARP};

impl<S: Simt, T: Real> Pass<'_, S, T> {
    /// Shifts a row along x and then, with the rows before, along y. The row may lie beyond a face along y.
    #[cfg_attr(target_arch = "nvptx64", inline(always))]
    #[track_caller]
    pub(super) fn stream<
        const SLOPED: bool,
        const DIRECTION: i32,
        const W: usize,
        const P: usize,
        const N: usize,
    >(
        &self,
        column: &Column<T, W>,
        group: &mut Group<T, W, P, N>,
        s: u32,
        outside: bool,
        post: [[Pack<T, W>; N]; P],
    ) -> [[Pack<T, W>; N]; P] {
        // Molecules from beyond a face along y do not move along x.
        let a = if outside { T::ZERO } else { column.fraction };
        // A known direction needs no numbers of neighbours.
        let mut lanes = [0; 2];
        if DIRECTION == 0 {
            let lane = self.t.lane();
            let (below, above) = (lane.wrapping_sub(1) % WARP, (lane + 1) % WARP);
            lanes = if column.forward {
                [below, above]
            } else {
                [above, below]
            };
        }
        // Whether the row before lies beyond a wall that mirrors a part.
        let image = group.mixed && group.start + s as i32 <= 0;
        let mut out = post;
        for n in 0..P * N {
            let (j, k) = (n / N, n % N);
            let z = shift::<S, T, W, SLOPED, DIRECTION>(
                self.t,
                post[j][k],
                [a, column.rest],
                if DIRECTION == 0 {
                    column.forward
                } else {
                    DIRECTION > 0
                },
                lanes,
                column.flat,
                |_| false,
            );
            let b = group.along_y[j];
            let d = if image { T::ZERO } else { T::ONE - b };
            let before = group.before[j][k];
            if SLOPED {
                let ahead = z - before;
                let half = group.difference[j][k].zip(ahead, limited);
                let passes = half.mul_add(d, before);
                out[j][k] = (group.passed[j][k] - passes).mul_add(b, before);
                group.passed[j][k] = passes;
                group.difference[j][k] = ahead;
            } else {
                out[j][k] = (before - z).mul_add(b, z);
            }
            group.before[j][k] = z;
        }
        out
    }

    /// Writes a row of output, and its sums to the memory that the warps share.
    #[cfg_attr(target_arch = "nvptx64", inline(always))]
    #[track_caller]
    pub(super) fn store_row<const SHAKHOV: bool, const W: usize, const P: usize, const N: usize>(
        &self,
        column: &Column<T, W>,
        group: &Group<T, W, P, N>,
        row_out: OutRow,
        out: [[Pack<T, W>; N]; P],
        works: bool,
    ) {
        let t = self.t;
        if works && self.owns(column, group.up, row_out) {
            for n in 0..P * N {
                let (j, k) = (n / N, n % N);
                if (j == 0 || group.both) && (k == 0 || group.two) {
                    let at = group.to(row_out.row, j, k);
                    self.memory.next.set_run(t, at, out[j][k].0);
                }
            }
        }
        let mut sums = [Pack::ZERO; PASS_SUMS_ROTATING as usize];
        for j in 0..P {
            if j == 0 || group.both {
                let vy = group.vy[j];
                let (first, other) = (out[j][0], out[j][1]);
                // g has the mass and h the energy; nodes of v_z have both.
                let (zeroth, second) = if N == FUNCTIONS {
                    (first, other)
                } else {
                    (
                        other.mul_add(group.mass, first),
                        first.mul_add(group.energy[0], other * group.energy[1]),
                    )
                };
                let rest = zeroth.mul_add(vy * vy, second);
                if j == 0 {
                    [sums[0], sums[1], sums[2]] = [zeroth, zeroth * vy, rest];
                } else {
                    sums[0] += zeroth;
                    sums[1] = zeroth.mul_add(vy, sums[1]);
                    sums[2] += rest;
                }
                if self.shakhov::<SHAKHOV, W>() {
                    sums[3] = rest.mul_add(vy, sums[3]);
                    sums[4] = zeroth.mul_add(vy * vy, sums[4]);
                }
                if N == FUNCTIONS {
                    let internal = out[j][N - 1];
                    sums[5] += internal;
                    sums[6] = internal.mul_add(vy, sums[6]);
                }
            }
        }
        let first = self.exchanged::<SHAKHOV, W, N>(row_out.half, self.warp);
        for k in 0..PASS_SUMS_ROTATING as usize {
            if k < self.sums::<SHAKHOV, W, N>() as usize {
                let at = k * WARP as usize * W;
                self.memory.exchange.set_run_near(t, first, at, sums[k].0);
            }
        }
    }

    /// The number in its strip of a row of output.
    #[inline(always)]
    fn row_of(&self, up: bool, row_out: OutRow) -> u32 {
        if up {
            row_out.r
        } else {
            self.sweep.rows - 1 - row_out.r
        }
    }

    /// Whether the lane writes a row.
    #[inline(always)]
    fn owns<const W: usize>(&self, column: &Column<T, W>, up: bool, row_out: OutRow) -> bool {
        // Narrow lanes sweep planes of a single row too.
        let there = W > 1 || (row_out.row as u32) < self.shape.ny;
        column.owns && there && self.row_of(up, row_out) >= column.skipped
    }

    /// Where a warp stores the sums of this lane's cells.
    #[inline(always)]
    fn exchanged<const SHAKHOV: bool, const W: usize, const N: usize>(
        &self,
        half: u32,
        warp: u32,
    ) -> u32 {
        let sums = self.sums::<SHAKHOV, W, N>();
        ((half * self.sweep.warps + warp) * sums * WARP + self.t.lane()) * W as u32
    }

    /// Adds the k-th sums of the warps in a row, in the order of the warps, to those of earlier batches.
    #[cfg_attr(target_arch = "nvptx64", inline(always))]
    #[track_caller]
    pub(super) fn add_up<const SHAKHOV: bool, const W: usize, const N: usize>(
        &self,
        column: &Column<T, W>,
        batch: Batch,
        row_out: OutRow,
        k: u32,
    ) {
        let Self {
            t, shape, sweep, ..
        } = *self;
        let Memory {
            exchange,
            kept,
            partial,
            ..
        } = self.memory;
        let first = self.exchanged::<SHAKHOV, W, N>(row_out.half, 0) + k * WARP * W as u32;
        let mut sum = Pack::<T, W>(exchange.get_run(t, first));
        // A constant bound, or the compiler specialises the loop many times.
        for warp in 1..SWEEP_THREADS / WARP {
            if warp < batch.groups {
                let at = (warp * self.sums::<SHAKHOV, W, N>() * WARP) as usize * W;
                sum += Pack(exchange.get_run_near(t, first, at));
            }
        }
        let row = self.row_of(batch.up, row_out);
        let at = ((k * sweep.rows + row) * WARP + t.lane()) * W as u32;
        if batch.later {
            sum += Pack(kept.get_run(t, at));
        }
        if batch.more {
            kept.set_run(t, at, sum.0);
        }
        // Merged stores would have an address of unknown space.
        t.pin_accesses();
        if !batch.more && self.owns(column, batch.up, row_out) {
            let place = (column.low + row) * shape.pitch + column.own_cell();
            let at = (column.chunk * self.sums::<SHAKHOV, W, N>() + k) * shape.plane() + place;
            partial.set_run(t, at as usize, sum.0);
        }
    }
}
