//! Rows of populations on their way from memory, and their relaxation.

use super::super::equilibrium::Heat;
use super::super::exponential::power_of_two;
use super::super::layout::row;
use super::column::Column;
use super::group::Group;
use super::pass::{INNER, Pass, STAGES};
use crate::math::Real;
use crate::simt::{Simt, WARP};

/// What a march has under way.
pub(super) struct Ahead<T, const W: usize, const P: usize> {
    /// The next two rows of cells, counted from the face where the molecules come in.
    pub(super) row: i32,
    pub(super) next: i32,
    /// With slopes its populations.
    pub(super) f: [[[T; W]; INNER]; P],
    /// In first order the place in shared memory of those of this row.
    pub(super) taken: u32,
}

/// What the tables have for a row of the march: what is kept of the populations, the steepness or the table of h, and the Maxwellian's factors along x
/// and y.
pub(super) struct Row<T, const W: usize, const P: usize> {
    /// Whether it lies beyond a face.
    pub(super) outside: bool,
    pub(super) keep: [T; W],
    pub(super) steep: [T; W],
    pub(super) x: [T; W],
    pub(super) y: [[T; W]; P],
    /// Shakhov's polynomial and the mean velocity.
    pub(super) heat: [[T; W]; HEAT_ROWS],
}

/// Rows of the tables for Shakhov's polynomial and the mean velocity.
const HEAT_ROWS: usize = (row::X - row::HEAT) as usize;

impl<S: Simt, T: Real> Pass<'_, S, T> {
    /// The lane's place in shared memory for the k-th population of a row.
    #[inline(always)]
    fn stage<const P: usize>(&self, stage: u32, k: usize) -> u32 {
        ((stage * (INNER * P) as u32 + k as u32) * self.march.warps + self.warp) * WARP
            + self.t.lane()
    }

    /// The populations of a row.
    #[cfg_attr(target_arch = "nvptx64", inline(always))]
    #[track_caller]
    pub(super) fn load<const W: usize, const P: usize>(
        &self,
        group: &Group<T, W, P>,
        row: i32,
    ) -> [[[T; W]; INNER]; P] {
        let mut values = [[[T::ZERO; W]; INNER]; P];
        let mut n = 0;
        while n < P * INNER {
            let (j, k) = (n / INNER, n % INNER);
            values[j][k] = self
                .memory
                .f
                .get_once(self.t, group.at(self.shape, row, j, k));
            n += 1;
        }
        values
    }

    /// Announces the populations of a row.
    #[cfg_attr(target_arch = "nvptx64", inline(always))]
    #[track_caller]
    fn announce<const W: usize, const P: usize>(&self, group: &Group<T, W, P>, row: i32) {
        let mut n = 0;
        while n < P * INNER {
            let (j, k) = (n / INNER, n % INNER);
            self.memory
                .f
                .prefetch(self.t, group.at(self.shape, row, j, k));
            n += 1;
        }
    }

    /// Copies the populations of a row to shared memory, while the thread goes on; nothing of a row that is not there.
    #[cfg_attr(target_arch = "nvptx64", inline(always))]
    #[track_caller]
    pub(super) fn copy<const W: usize, const P: usize>(
        &self,
        group: &Group<T, W, P>,
        row: i32,
        stage: u32,
        there: bool,
    ) {
        if there {
            let mut n = 0;
            while n < P * INNER {
                let (j, k) = (n / INNER, n % INNER);
                let to = self.stage::<P>(stage, n) * W as u32;
                let at = group.at(self.shape, row, j, k);
                self.memory
                    .f
                    .copy_to::<W, _>(self.t, at, self.memory.stages, to);
                n += 1;
            }
        }
        self.t.end_copies();
    }

    /// What the tables have for a row of cells, or for what lies beyond a face.
    #[cfg_attr(target_arch = "nvptx64", inline(always))]
    #[track_caller]
    pub(super) fn look<const SHAKHOV: bool, const W: usize, const P: usize>(
        &self,
        column: &Column<T, W>,
        group: &Group<T, W, P>,
        row: i32,
    ) -> Row<T, W, P> {
        let Self { t, shape, .. } = *self;
        let tables = self.memory.tables;
        let [first, distance] = group.entries;
        let [entering, leaving] = group.beyond;
        let outside = row as u32 >= shape.ny;
        let at = if !outside {
            first.wrapping_add((row as u32).wrapping_mul(distance))
        } else if row < 0 {
            entering
        } else {
            leaving
        };
        let entries =
            |row: u32| -> [T; W] { tables.get_whole(t, (row * shape.columns() + at) as usize) };
        let mut y = [[T::ZERO; W]; P];
        let mut j = 0;
        while j < P {
            y[j] = entries(shape.row_y() + group.v_y(j));
            j += 1;
        }
        let mut heat = [[T::ZERO; W]; HEAT_ROWS];
        if self.shakhov::<SHAKHOV, W>() {
            let mut k = 0;
            while k < HEAT_ROWS {
                heat[k] = entries(row::HEAT + k as u32);
                k += 1;
            }
        }
        Row {
            outside,
            keep: entries(row::KEEP),
            steep: entries(shape.row_of_inner()),
            x: entries(row::X + column.jx),
            y,
            heat,
        }
    }

    /// The relaxed populations of the s-th row, of `last`; those of the next rows are called for meanwhile.
    #[cfg_attr(target_arch = "nvptx64", inline(always))]
    #[track_caller]
    pub(super) fn arrive<
        const SLOPED: bool,
        const SHAKHOV: bool,
        const W: usize,
        const P: usize,
    >(
        &self,
        column: &Column<T, W>,
        group: &Group<T, W, P>,
        row: &Row<T, W, P>,
        ahead: &mut Ahead<T, W, P>,
        s: u32,
        last: u32,
    ) -> [[[T; W]; INNER]; P] {
        let t = self.t;
        // The last rows are called for again in place of rows that nobody looks at.
        let there = |s: u32| if s < last { s } else { last - 1 };
        ahead.row = ahead.next;
        ahead.next = group.row(self.shape, there(s + 2));
        if SLOPED {
            let post = self.relax::<SHAKHOV, W, P>(column, group, row, ahead.f);
            // After the tables have been looked at, whose registers are free now.
            t.pin_accesses();
            ahead.f = self.load(group, ahead.row);
            self.announce(group, ahead.next);
            return post;
        }
        let mut f = ahead.f;
        let free = if ahead.taken == 0 {
            STAGES - 1
        } else {
            ahead.taken - 1
        };
        self.copy(group, ahead.next, free, s + 2 < last);
        t.wait_copies(STAGES - 1);
        let mut n = 0;
        while n < P * INNER {
            let at = self.stage::<P>(ahead.taken, n) * W as u32;
            f[n / INNER][n % INNER] = self.memory.stages.get_run(t, at);
            n += 1;
        }
        ahead.taken = if ahead.taken + 1 < STAGES {
            ahead.taken + 1
        } else {
            0
        };
        self.relax::<SHAKHOV, W, P>(column, group, row, f)
    }

    /// Relaxes the populations of a row of the march.
    #[cfg_attr(target_arch = "nvptx64", inline(always))]
    fn relax<const SHAKHOV: bool, const W: usize, const P: usize>(
        &self,
        column: &Column<T, W>,
        group: &Group<T, W, P>,
        row: &Row<T, W, P>,
        f: [[[T; W]; INNER]; P],
    ) -> [[[T; W]; INNER]; P] {
        let mut factors = [[T::ONE; W]; INNER];
        if self.shape.integrated > 0 {
            factors[1] = row.steep;
        } else {
            let mut k = 0;
            while k < INNER {
                let mut w = 0;
                while w < W {
                    let exponent = group.energy[k].mul_add(row.steep[w], group.log_weight[k]);
                    factors[k][w] = power_of_two(exponent);
                    w += 1;
                }
                k += 1;
            }
        }
        let mut post = f;
        let mut j = 0;
        while j < P {
            let mut w = 0;
            while w < W {
                let maxwellian = row.x[w] * row.y[j][w];
                let (mut constant, mut slope) = (maxwellian, T::ZERO);
                if self.shakhov::<SHAKHOV, W>() {
                    let heat = Heat::of(|k| row.heat[(k - row::HEAT) as usize][w], column.vx);
                    let (alpha, beta) = heat.at(group.vy[j]);
                    constant = alpha * maxwellian;
                    slope = beta * maxwellian;
                    if self.shape.integrated > 0 {
                        slope *= row.steep[w];
                    }
                }
                let mut k = 0;
                while k < INNER {
                    let share = if self.shakhov::<SHAKHOV, W>() {
                        slope.mul_add(group.argument[k], constant)
                    } else {
                        constant
                    };
                    post[j][k][w] = row.keep[w].mul_add(f[j][k][w], share * factors[k][w]);
                    k += 1;
                }
                w += 1;
            }
            j += 1;
        }
        post
    }
}
