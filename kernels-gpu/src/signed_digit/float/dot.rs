//! Exact dot products.

use super::deposit::Term;
use super::partial::{Filling, Habit};
use super::row::{Layout, Notes, Row};
use super::sum::run_index;
use super::window::bits_of;
use crate::kernel;
use crate::memory::{In, InOut, Shared};
use crate::simt::Simt;

/// Threads of a block that multiplies `f64`: 33 KiB of digits, six blocks on an H200's multiprocessor.
pub const DOT_THREADS_F64: u32 = 32;
/// Threads of a block that multiplies `f32`: 18 KiB of digits.
pub const DOT_THREADS_F32: u32 = 128;
/// Row of a dot product of `f64`.
pub const DOT_F64: Layout = f64::DOT;
/// Row of a dot product of `f32`.
pub const DOT_F32: Layout = f32::DOT;

/// Pairs that a block takes at a time: 8 accesses of 16 bytes a thread and factor.
pub const DOT_TILE_F64: usize = DOT_THREADS_F64 as usize * 2 * 8;
/// Pairs that a block takes at a time: 2 accesses of 16 bytes a thread and factor.
pub const DOT_TILE_F32: usize = DOT_THREADS_F32 as usize * 4 * 2;

kernel! {
    /// Adds the sum of x y to the digits of `result`.
    pub fn exact_dot_f64(t, x: In<f64>, y: In<f64>, result: InOut<u64>; windows: u32)
    shared { digits: [i64; DOT_F64.digits * DOT_THREADS_F64] } {
        dot::<f64, 2, 8, DOT_THREADS_F64, _>(t, x, y, result, windows != 0, digits);
    }
}

kernel! {
    /// Adds the sum of x y to the digits of `result`.
    pub fn exact_dot_f32(t, x: In<f32>, y: In<f32>, result: InOut<u64>; windows: u32)
    shared { digits: [i64; DOT_F32.digits * DOT_THREADS_F32] } {
        dot::<f32, 4, 2, DOT_THREADS_F32, _>(t, x, y, result, windows != 0, digits);
    }
}

#[inline(always)]
fn dot<T: Term, const RUN: usize, const LOADS: usize, const THREADS: u32, S: Simt>(
    t: &S,
    x: In<'_, T>,
    y: In<'_, T>,
    result: InOut<'_, u64>,
    windows: bool,
    digits: Shared<'_, i64>,
) {
    let row = Row::<THREADS> {
        digits,
        column: t.thread_idx(),
    };
    let mut sum = Products::new::<T>();
    row.clear(t, &T::DOT);

    let tiles = x.len() / (THREADS as usize * RUN * LOADS);
    let mut tile = t.block_idx() as usize;
    if tile < tiles {
        let mut xs = [[T::NEUTRAL; RUN]; LOADS];
        let mut ys = [[T::NEUTRAL; RUN]; LOADS];
        let mut k = 0;
        while k < LOADS {
            let at = run_index::<RUN, LOADS, THREADS, S>(t, tile, k);
            xs[k] = x.get_run(t, at);
            ys[k] = y.get_run(t, at);
            k += 1;
        }
        let mut first = true;
        let mut habit = Habit::new(true);
        while tile < tiles {
            let mut products = [[0.0; RUN]; LOADS];
            let mut fits = false;
            if windows && !T::EXACT_PRODUCTS && !habit.take_direct() {
                k = 0;
                while k < LOADS {
                    for j in 0..RUN {
                        products[k][j] = xs[k][j].product(ys[k][j]);
                    }
                    k += 1;
                }
                fits = sum.place::<T, RUN, LOADS, THREADS, S>(
                    t,
                    row,
                    [&xs, &ys],
                    &products,
                    first,
                    &mut habit,
                );
                first = false;
            }
            let next = tile + t.grid_dim() as usize;
            let ahead = if next < tiles { next } else { tile };
            let thorough = fits && habit.take_thorough();
            // Written out, as a loop so long would not be unrolled.
            macro_rules! half {
                ($first:expr) => {
                    if fits {
                        sum.add_windowed::<T, RUN, LOADS, THREADS, S>(
                            t,
                            row,
                            [&xs, &ys],
                            &products,
                            $first,
                            thorough,
                        );
                    } else {
                        for m in 0..LOADS / 2 {
                            for j in 0..RUN {
                                let (a, b) = (xs[$first + m][j], ys[$first + m][j]);
                                a.deposit_product(b, t, row, &mut sum.notes);
                            }
                        }
                    }
                    for m in 0..LOADS / 2 {
                        let at = run_index::<RUN, LOADS, THREADS, S>(t, ahead, $first + m);
                        xs[$first + m] = x.get_run(t, at);
                        ys[$first + m] = y.get_run(t, at);
                    }
                };
            }
            half!(0);
            // Or the assembler would gather all reads at the end of the tile, with nothing left to do while they are under way.
            t.sync_warp();
            half!(LOADS / 2);
            sum.deposits += (LOADS * RUN) as u32;
            sum.carry_in_time::<T, THREADS, S>(t, row, (LOADS * RUN) as u32);
            tile = next;
        }
    }
    sum.flush::<T, THREADS, S>(t, row);
    let mut notes = sum.notes;
    if notes.has_special(T::SPECIAL) {
        // Rare enough to read everything again.
        let mut again = t.block_idx() as usize;
        while again < tiles {
            for k in 0..LOADS * RUN {
                let at = run_index::<RUN, LOADS, THREADS, S>(t, again, k / RUN) + k % RUN;
                note_special(x.get(t, at), y.get(t, at), &mut notes);
            }
            again += t.grid_dim() as usize;
        }
    }
    // The pairs that fill no tile, by the block that would have been the next one's.
    if tile == tiles {
        let first = tiles * THREADS as usize * RUN * LOADS + t.thread_idx() as usize;
        let index = |k: usize, j: usize| first + (k * RUN + j) * THREADS as usize;
        // All reads before the first is needed.
        let mut xs = [[T::NEUTRAL; RUN]; LOADS];
        let mut ys = [[T::NEUTRAL; RUN]; LOADS];
        let mut k = 0;
        while k < LOADS {
            for j in 0..RUN {
                xs[k][j] = x.get_or(t, index(k, j), T::NEUTRAL);
                ys[k][j] = y.get_or(t, index(k, j), T::NEUTRAL);
            }
            k += 1;
        }
        // The digits have room for another tile.
        k = 0;
        while k < LOADS {
            for j in 0..RUN {
                if index(k, j) < x.len() {
                    let (a, b) = (xs[k][j], ys[k][j]);
                    a.deposit_product(b, t, row, &mut notes);
                    note_special(a, b, &mut notes);
                }
            }
            k += 1;
        }
    }
    row.add_up(t, &T::DOT, (0, T::DOT.digits), result);
    notes.count(t, &T::DOT, result);
}

/// Levels for products.
const PRODUCT_LEVELS: usize = 4;

/// The sum of a thread's products so far: a window in registers, and the digits for what the window cannot take.
struct Products {
    notes: Notes,
    filling: Filling<PRODUCT_LEVELS>,
    /// Terms of the digits since the last carry, in those of [`Layout::most_deposits`].
    deposits: u32,
}

impl Products {
    #[inline(always)]
    fn new<T: Term>() -> Self {
        Self {
            notes: Notes::new(),
            filling: Filling::new(T::LEAST_PRODUCT_LEVEL),
            deposits: 0,
        }
    }

    /// Adds the window to the digits.
    #[inline(always)]
    #[track_caller]
    fn flush<T: Term, const THREADS: u32, S: Simt>(&mut self, t: &S, row: Row<'_, THREADS>) {
        self.filling
            .flush::<THREADS, 32, S>(t, row, T::DOT.unit, |_| {});
        self.deposits += PRODUCT_LEVELS as u32 * T::REST_DEPOSITS;
    }

    /// Carries if the digits cannot take the rests of a tile and a window.
    #[inline(always)]
    #[track_caller]
    fn carry_in_time<T: Term, const THREADS: u32, S: Simt>(
        &mut self,
        t: &S,
        row: Row<'_, THREADS>,
        tile: u32,
    ) {
        let reserve = (2 * tile + PRODUCT_LEVELS as u32) * T::REST_DEPOSITS;
        if self.deposits + reserve > T::DOT.most_deposits {
            self.deposits = 0;
            row.carry(t, &T::DOT);
        }
    }

    /// Places the window for a tile with these products. Whether the tile fits. All lanes of a warp must call this.
    #[inline(always)]
    #[track_caller]
    fn place<T: Term, const RUN: usize, const LOADS: usize, const THREADS: u32, S: Simt>(
        &mut self,
        t: &S,
        row: Row<'_, THREADS>,
        [x, y]: [&[[T; RUN]; LOADS]; 2],
        products: &[[f64; RUN]; LOADS],
        first: bool,
        habit: &mut Habit,
    ) -> bool {
        let mut top = 0;
        let mut least = u32::MAX;
        let mut k = 0;
        while k < LOADS {
            for j in 0..RUN {
                let magnitude = products[k][j].magnitude_word();
                top = magnitude.max(top);
                least = magnitude.min(least);
            }
            k += 1;
        }
        // A product takes two numbers of a level.
        let terms = 2 * (LOADS * RUN) as u32;
        if self.filling.is_over(t, top, terms, first, habit) {
            self.flush::<T, THREADS, S>(t, row);
            self.carry_in_time::<T, THREADS, S>(t, row, (LOADS * RUN) as u32);
            self.filling.window.place(top, T::LEAST_PRODUCT_LEVEL);
        }
        let mut fits = self.filling.take(top, terms);
        if least < T::LEAST_PRODUCT {
            k = 0;
            while k < LOADS {
                for j in 0..RUN {
                    let zero = x[k][j].widen() == 0.0 || y[k][j].widen() == 0.0;
                    fits &= zero || products[k][j].magnitude_word() >= T::LEAST_PRODUCT;
                }
                k += 1;
            }
        }
        t.ballot(!fits) == 0
    }

    /// Adds the products of half a tile, from run `first` on, to the window, and what is too small for it to the digits.
    #[inline(always)]
    #[track_caller]
    fn add_windowed<T: Term, const RUN: usize, const LOADS: usize, const THREADS: u32, S: Simt>(
        &mut self,
        t: &S,
        row: Row<'_, THREADS>,
        [x, y]: [&[[T; RUN]; LOADS]; 2],
        products: &[[f64; RUN]; LOADS],
        first: usize,
        thorough: bool,
    ) {
        let window = &mut self.filling.window;
        let mut rests = [[[0.0; 2]; RUN]; LOADS];
        let mut signs = u32::MAX;
        let mut any = 0;
        for m in first..first + LOADS / 2 {
            for j in 0..RUN {
                let product = products[m][j];
                signs &= (product.to_bits() >> 32) as u32;
                let rest = window.add(0, product);
                let rest = window.add(1, rest);
                rests[m][j] = if T::EXACT_PRODUCTS {
                    [rest, 0.0]
                } else {
                    let error = x[m][j].product_error(y[m][j], product);
                    let error = window.add(1, error);
                    [window.add(2, rest), window.add(2, error)]
                };
                any |= bits_of(rests[m][j][0]) | bits_of(rests[m][j][1]);
            }
        }
        self.notes.note_signs(signs);
        if thorough {
            any = self.add_on::<T, RUN, LOADS>(&mut rests, first);
        } else if any != 0 {
            self.filling.rested = true;
            any = self.add_on::<T, RUN, LOADS>(&mut rests, first);
        }
        if any != 0 {
            for m in first..first + LOADS / 2 {
                for j in 0..RUN {
                    for rest in rests[m][j] {
                        self.add_last_rest::<T, THREADS, S>(t, row, rest);
                    }
                }
            }
        }
    }

    /// Adds rests to the last levels. A word that is 0 where nothing is left.
    #[inline(always)]
    fn add_on<T: Term, const RUN: usize, const LOADS: usize>(
        &mut self,
        rests: &mut [[[f64; 2]; RUN]; LOADS],
        first: usize,
    ) -> u32 {
        let window = &mut self.filling.window;
        let mut any = 0;
        for m in first..first + LOADS / 2 {
            for j in 0..RUN {
                let parts = if T::EXACT_PRODUCTS { 1 } else { 2 };
                for part in 0..parts {
                    let mut rest = rests[m][j][part];
                    if T::EXACT_PRODUCTS {
                        rest = window.add(2, rest);
                    }
                    rest = window.add(3, rest);
                    any |= bits_of(rest);
                    rests[m][j][part] = rest;
                }
            }
        }
        any
    }

    /// Adds a rest behind all levels to the digits.
    #[inline(always)]
    #[track_caller]
    fn add_last_rest<T: Term, const THREADS: u32, S: Simt>(
        &mut self,
        t: &S,
        row: Row<'_, THREADS>,
        rest: f64,
    ) {
        if rest != 0.0 {
            self.filling.missed = true;
            row.add_double(t, T::DOT.unit, rest);
            self.deposits += T::REST_DEPOSITS;
        }
    }
}

/// Notes a product that is not finite; a product of finite numbers is, even where floating point overflows.
#[inline(always)]
fn note_special<T: Term>(a: T, b: T, notes: &mut Notes) {
    if a.is_special() || b.is_special() {
        notes.note_special(a.widen() * b.widen());
    }
}
