//! Relaxed rows on their way back to memory: the shift along x and y, and the sums of the warps.

use super::super::layout::PASS_SUMS_SHAKHOV;
use super::super::sweep::{limited, shift};
use super::column::Column;
use super::group::Group;
use super::pass::{Batch, Given, INNER, MARCH_THREADS, Memory, Pass};
use crate::math::Real;
use crate::simt::{Simt, WARP};

impl<S: Simt, T: Real> Pass<'_, S, T> {
    /// Shifts a row of the march, perhaps one from beyond a face along y, along x and then along y: what comes of it and the rows before.
    #[cfg_attr(target_arch = "nvptx64", inline(always))]
    #[track_caller]
    pub(super) fn stream<
        const SLOPED: bool,
        const DIRECTION: i32,
        const W: usize,
        const P: usize,
    >(
        &self,
        column: &Column<T, W>,
        group: &mut Group<T, W, P>,
        s: u32,
        outside: bool,
        post: [[[T; W]; INNER]; P],
    ) -> [[[T; W]; INNER]; P] {
        // What comes from beyond a face along y stays where it is along x.
        let a = if outside { T::ZERO } else { column.fraction };
        // Where the direction is known nobody looks for the neighbours.
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
        let mut n = 0;
        while n < P * INNER {
            let (j, k) = (n / INNER, n % INNER);
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
            let mut w = 0;
            while w < W {
                let before = group.before[j][k][w];
                if SLOPED {
                    let ahead = z[w] - before;
                    let half = limited(group.difference[j][k][w], ahead);
                    let passes = d.mul_add(half, before);
                    out[j][k][w] = b.mul_add(group.passed[j][k][w] - passes, before);
                    group.passed[j][k][w] = passes;
                    group.difference[j][k][w] = ahead;
                } else {
                    out[j][k][w] = b.mul_add(before - z[w], z[w]);
                }
                group.before[j][k][w] = z[w];
                w += 1;
            }
            n += 1;
        }
        out
    }

    /// Writes a row that a march gives out, and lays its sums where the other warps see them.
    #[cfg_attr(target_arch = "nvptx64", inline(always))]
    #[track_caller]
    pub(super) fn give<const SHAKHOV: bool, const W: usize, const P: usize>(
        &self,
        column: &Column<T, W>,
        group: &Group<T, W, P>,
        given: Given,
        out: [[[T; W]; INNER]; P],
        works: bool,
    ) {
        let t = self.t;
        if works && self.gives(column, group.up, given) {
            let mut n = 0;
            while n < P * INNER {
                let (j, k) = (n / INNER, n % INNER);
                if (j == 0 || group.both) && (k == 0 || group.two) {
                    let at = group.to(given.row, j, k);
                    self.memory.next.set_run(t, at, out[j][k]);
                }
                n += 1;
            }
        }
        let mut sums = [[T::ZERO; W]; PASS_SUMS_SHAKHOV as usize];
        let mut j = 0;
        while j < P {
            if j == 0 || group.both {
                let vy = group.vy[j];
                let mut w = 0;
                while w < W {
                    let [first, other] = [out[j][0][w], out[j][1][w]];
                    let zeroth = group.mass.mul_add(other, first);
                    let second = group.energy[0].mul_add(first, group.energy[1] * other);
                    let rest = (vy * vy).mul_add(zeroth, second);
                    if j == 0 {
                        [sums[0][w], sums[1][w], sums[2][w]] = [zeroth, vy * zeroth, rest];
                    } else {
                        sums[0][w] += zeroth;
                        sums[1][w] = vy.mul_add(zeroth, sums[1][w]);
                        sums[2][w] += rest;
                    }
                    if self.shakhov::<SHAKHOV, W>() {
                        sums[3][w] = vy.mul_add(rest, sums[3][w]);
                        sums[4][w] = (vy * vy).mul_add(zeroth, sums[4][w]);
                    }
                    w += 1;
                }
            }
            j += 1;
        }
        let first = self.exchanged::<SHAKHOV, W>(given.half, self.warp);
        let mut k = 0;
        while k < PASS_SUMS_SHAKHOV as usize {
            if k < self.sums::<SHAKHOV, W>() as usize {
                let at = k * WARP as usize * W;
                self.memory.exchange.set_run_near(t, first, at, sums[k]);
            }
            k += 1;
        }
    }

    /// The number in its strip of a row that a march gives out.
    #[inline(always)]
    fn row_of(&self, up: bool, given: Given) -> u32 {
        if up {
            given.r
        } else {
            self.march.rows - 1 - given.r
        }
    }

    /// Whether the lane writes a row.
    #[inline(always)]
    fn gives<const W: usize>(&self, column: &Column<T, W>, up: bool, given: Given) -> bool {
        // Narrow lanes take up planes of a single row too.
        let there = W > 1 || (given.row as u32) < self.shape.ny;
        column.gives && there && self.row_of(up, given) >= column.skipped
    }

    /// Where a warp lays the sums of this lane's cells.
    #[inline(always)]
    fn exchanged<const SHAKHOV: bool, const W: usize>(&self, half: u32, warp: u32) -> u32 {
        let sums = self.sums::<SHAKHOV, W>();
        ((half * self.march.warps + warp) * sums * WARP + self.t.lane()) * W as u32
    }

    /// Adds the k-th sums of the warps in a row, in the order of the warps, to those of the batches before.
    #[cfg_attr(target_arch = "nvptx64", inline(always))]
    #[track_caller]
    pub(super) fn add_up<const SHAKHOV: bool, const W: usize>(
        &self,
        column: &Column<T, W>,
        batch: Batch,
        given: Given,
        k: u32,
    ) {
        let Self {
            t, shape, march, ..
        } = *self;
        let Memory {
            exchange,
            kept,
            partial,
            ..
        } = self.memory;
        let first = self.exchanged::<SHAKHOV, W>(given.half, 0) + k * WARP * W as u32;
        let mut sum: [T; W] = exchange.get_run(t, first);
        // Without a loop, of which the compiler would make many.
        let mut warp = 1;
        while warp < MARCH_THREADS / WARP {
            if warp < batch.groups {
                let at = (warp * self.sums::<SHAKHOV, W>() * WARP) as usize * W;
                let other: [T; W] = exchange.get_run_near(t, first, at);
                let mut w = 0;
                while w < W {
                    sum[w] += other[w];
                    w += 1;
                }
            }
            warp += 1;
        }
        let row = self.row_of(batch.up, given);
        let at = ((k * march.rows + row) * WARP + t.lane()) * W as u32;
        if batch.later {
            let before: [T; W] = kept.get_run(t, at);
            let mut w = 0;
            while w < W {
                sum[w] += before[w];
                w += 1;
            }
        }
        if batch.more {
            kept.set_run(t, at, sum);
        }
        // Two stores that became one would go to an address of either memory.
        t.pin_accesses();
        if !batch.more && self.gives(column, batch.up, given) {
            let place = (column.low + row) * shape.pitch + column.gives_to();
            let at = (column.chunk * self.sums::<SHAKHOV, W>() + k) * shape.plane() + place;
            partial.set_run(t, at as usize, sum);
        }
    }
}
