//! Rows of populations in flight from memory, and their relaxation.

use super::super::equilibrium::{Drift, Heat};
use super::super::exponential::power_of_two;
use super::super::layout::{FUNCTIONS, row};
use super::column::Column;
use super::group::Group;
use super::pass::{Pass, STAGES};
use crate::Pack;
use crate::math::Real;
use crate::simt::{Simt, WARP};

/// Rows in flight.
pub(super) struct InFlight<T, const W: usize, const P: usize, const N: usize> {
    /// The next two rows of cells, counted from the face where the molecules come in.
    pub(super) row: i32,
    pub(super) next: i32,
    /// With slopes the populations of the next row.
    pub(super) f: [[Pack<T, W>; N]; P],
    /// In first order the stage in shared memory of the current row.
    pub(super) stage: u32,
}

/// Entries of the tables for a row of the sweep: decay, inverse temperature or table of h, and the Maxwellian's factors along x and y.
pub(super) struct Row<T, const W: usize, const P: usize> {
    /// Whether it lies beyond a face.
    pub(super) outside: bool,
    pub(super) decay: Pack<T, W>,
    pub(super) inverse_temperature: Pack<T, W>,
    pub(super) x: Pack<T, W>,
    pub(super) y: [Pack<T, W>; P],
    /// Shakhov's polynomial and the mean velocity.
    pub(super) heat: [Pack<T, W>; HEAT_ROWS],
    /// Of molecules that rotate the internal energy a molecule, and the vector of its flux.
    pub(super) internal: Pack<T, W>,
    pub(super) flux: [Pack<T, W>; 2],
}

/// Rows of the tables for Shakhov's polynomial and the mean velocity.
const HEAT_ROWS: usize = (row::X - row::HEAT) as usize;

impl<S: Simt, T: Real> Pass<'_, S, T> {
    /// The lane's place in shared memory for the k-th population of a row.
    #[inline(always)]
    fn stage<const P: usize, const N: usize>(&self, stage: u32, k: usize) -> u32 {
        ((stage * (N * P) as u32 + k as u32) * self.sweep.warps + self.warp) * WARP + self.t.lane()
    }

    /// The populations of a row.
    #[cfg_attr(target_arch = "nvptx64", inline(always))]
    #[track_caller]
    pub(super) fn load<const W: usize, const P: usize, const N: usize>(
        &self,
        group: &Group<T, W, P, N>,
        row: i32,
    ) -> [[Pack<T, W>; N]; P] {
        let mut values = [[Pack::ZERO; N]; P];
        for n in 0..P * N {
            let (j, k) = (n / N, n % N);
            let at = group.at(self.shape, row, j, k);
            values[j][k] = Pack(self.memory.f.get_once(self.t, at));
        }
        values
    }

    /// Prefetches the populations of a row to the L2 cache.
    #[cfg_attr(target_arch = "nvptx64", inline(always))]
    #[track_caller]
    fn prefetch_ahead<const W: usize, const P: usize, const N: usize>(
        &self,
        group: &Group<T, W, P, N>,
        row: i32,
    ) {
        for n in 0..P * N {
            let (j, k) = (n / N, n % N);
            self.memory
                .f
                .prefetch(self.t, group.at(self.shape, row, j, k));
        }
    }

    /// Starts the copy of a row's populations to shared memory; an absent row copies nothing.
    #[cfg_attr(target_arch = "nvptx64", inline(always))]
    #[track_caller]
    pub(super) fn copy<const W: usize, const P: usize, const N: usize>(
        &self,
        group: &Group<T, W, P, N>,
        row: i32,
        stage: u32,
        there: bool,
    ) {
        if there {
            for n in 0..P * N {
                let (j, k) = (n / N, n % N);
                let to = self.stage::<P, N>(stage, n) * W as u32;
                let at = group.at(self.shape, row, j, k);
                self.memory
                    .f
                    .copy_to::<W, _>(self.t, at, self.memory.stages, to);
            }
        }
        self.t.end_copies();
    }

    /// Entries of the tables for a row of cells, or for a row beyond a face.
    #[cfg_attr(target_arch = "nvptx64", inline(always))]
    #[track_caller]
    pub(super) fn load_tables<
        const SHAKHOV: bool,
        const W: usize,
        const P: usize,
        const N: usize,
    >(
        &self,
        column: &Column<T, W>,
        group: &Group<T, W, P, N>,
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
        let entries = |row: u32| Pack(tables.get_whole(t, (row * shape.columns() + at) as usize));
        let mut y = [Pack::ZERO; P];
        for j in 0..P {
            y[j] = entries(shape.row_y() + group.v_y(j));
        }
        let mut heat = [Pack::ZERO; HEAT_ROWS];
        if self.shakhov::<SHAKHOV, W>() {
            for k in 0..HEAT_ROWS {
                heat[k] = entries(row::HEAT + k as u32);
            }
        }
        let (mut internal, mut flux) = (Pack::ZERO, [Pack::ZERO; 2]);
        if N == FUNCTIONS {
            internal = entries(shape.row_m() + 2);
            flux = [
                entries(shape.row_internal()),
                entries(shape.row_internal() + 1),
            ];
        }
        Row {
            outside,
            decay: entries(row::DECAY),
            inverse_temperature: entries(shape.row_of_inner()),
            x: entries(row::X + column.jx),
            y,
            heat,
            internal,
            flux,
        }
    }

    /// The relaxed populations of the s-th row, of `last`. Starts the loads of the next rows meanwhile.
    #[cfg_attr(target_arch = "nvptx64", inline(always))]
    #[track_caller]
    pub(super) fn relaxed_row<
        const SLOPED: bool,
        const SHAKHOV: bool,
        const W: usize,
        const P: usize,
        const N: usize,
    >(
        &self,
        column: &Column<T, W>,
        group: &Group<T, W, P, N>,
        row: &Row<T, W, P>,
        ahead: &mut InFlight<T, W, P, N>,
        s: u32,
        last: u32,
    ) -> [[Pack<T, W>; N]; P] {
        let t = self.t;
        // Beyond the last row the last one is loaded again.
        let there = |s: u32| if s < last { s } else { last - 1 };
        ahead.row = ahead.next;
        ahead.next = group.row(self.shape, there(s + 2));
        if SLOPED {
            let post = self.relax::<SHAKHOV, W, P, N>(column, group, row, ahead.f);
            // Here the registers of the tables are free.
            t.pin_accesses();
            ahead.f = self.load(group, ahead.row);
            self.prefetch_ahead(group, ahead.next);
            return post;
        }
        let mut f = ahead.f;
        let free = if ahead.stage == 0 {
            STAGES - 1
        } else {
            ahead.stage - 1
        };
        self.copy(group, ahead.next, free, s + 2 < last);
        t.wait_copies(STAGES - 1);
        for n in 0..P * N {
            let at = self.stage::<P, N>(ahead.stage, n) * W as u32;
            f[n / N][n % N] = Pack(self.memory.stages.get_run(t, at));
        }
        ahead.stage = if ahead.stage + 1 < STAGES {
            ahead.stage + 1
        } else {
            0
        };
        self.relax::<SHAKHOV, W, P, N>(column, group, row, f)
    }

    /// Relaxes the populations of a row.
    #[cfg_attr(target_arch = "nvptx64", inline(always))]
    fn relax<const SHAKHOV: bool, const W: usize, const P: usize, const N: usize>(
        &self,
        column: &Column<T, W>,
        group: &Group<T, W, P, N>,
        row: &Row<T, W, P>,
        f: [[Pack<T, W>; N]; P],
    ) -> [[Pack<T, W>; N]; P] {
        let mut factors = [Pack::ONE; N];
        if self.shape.integrated > 0 {
            factors[1] = row.inverse_temperature;
            if N == FUNCTIONS {
                factors[N - 1] = row.internal;
            }
        } else {
            for k in 0..N {
                let exponent = row
                    .inverse_temperature
                    .mul_add(group.energy[k], group.log_weight[k]);
                factors[k] = exponent.map(power_of_two);
            }
        }
        let mut post = f;
        for j in 0..P {
            let maxwellian = row.x * row.y[j];
            let (mut constant, mut slope) = (maxwellian, Pack::ZERO);
            if self.shakhov::<SHAKHOV, W>() {
                let of_row = |k: u32| row.heat[(k - row::HEAT) as usize];
                let heat = Heat::of(of_row, Pack::splat(column.vx));
                let (alpha, beta) = heat.at(group.vy[j]);
                constant = alpha * maxwellian;
                slope = beta * maxwellian;
                if self.shape.integrated > 0 {
                    slope = slope * row.inverse_temperature;
                }
            }
            for k in 0..N {
                let share = if self.shakhov::<SHAKHOV, W>() {
                    slope.mul_add(group.argument[k], constant)
                } else {
                    constant
                };
                post[j][k] = row.decay.mul_add(f[j][k], share * factors[k]);
            }
            if N == FUNCTIONS {
                let of_row = |k: u32| match k {
                    0 | 1 => row.flux[k as usize],
                    _ => row.heat[(k - row::HEAT) as usize],
                };
                let drift = Drift::of(0, of_row, Pack::splat(column.vx));
                post[j][N - 1] += drift.at(group.vy[j]) * maxwellian;
            }
        }
        post
    }
}
