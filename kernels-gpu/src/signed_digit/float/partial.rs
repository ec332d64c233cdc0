//! The sum of a thread: a window in registers, and the digits for what the window cannot take.

use super::deposit::Term;
use super::row::{Layout, Notes, Row};
use super::window::{SUM_LEVELS, WINDOW_TERMS, Window, bits_of};
use crate::simt::Simt;

/// Tiles that go to the digits alone after the first that left rests behind all levels; twice as many after the next.
const FIRST_DIRECT: u32 = 1 << 10;
/// The most of them.
const MOST_DIRECT: u32 = 1 << 14;
/// Tiles that go through all levels after two that left rests behind the first ones.
const THOROUGH_TILES: u32 = 32;

/// How a warp adds tiles, by what earlier ones were like.
pub(super) struct Habit {
    /// Tiles to come that go to the digits alone.
    direct: u32,
    /// How many they will be the next time.
    next_direct: u32,
    /// Tiles to come that go through all levels.
    thorough: u32,
    /// Whether the last tile left rests behind the first levels.
    rested: bool,
    /// Whether tiles go through all levels before they go to the digits alone.
    patient: bool,
}

impl Habit {
    /// Patience pays where the digits cost more at their end than in a tile.
    #[inline(always)]
    pub(super) fn new(patient: bool) -> Self {
        Self {
            direct: 0,
            next_direct: FIRST_DIRECT,
            thorough: 0,
            rested: false,
            patient,
        }
    }

    /// Whether the next tile goes to the digits alone; counts it.
    #[inline(always)]
    pub(super) fn take_direct(&mut self) -> bool {
        let direct = self.direct > 0;
        self.direct -= u32::from(direct);
        direct
    }

    /// Tiles to come that go to the digits alone; counts them all.
    #[inline(always)]
    pub(super) fn take_all_direct(&mut self) -> u32 {
        core::mem::take(&mut self.direct)
    }

    /// Whether the next tile of the window goes through all levels; counts it.
    #[inline(always)]
    pub(super) fn take_thorough(&mut self) -> bool {
        let thorough = self.thorough > 0;
        self.thorough -= u32::from(thorough);
        thorough
    }

    /// Notes whether a tile left rests behind the first levels, and behind all.
    #[inline(always)]
    pub(super) fn note(&mut self, rested: bool, missed: bool) {
        let again = rested && self.rested;
        if again && self.patient {
            self.thorough = THOROUGH_TILES;
        }
        self.rested = rested;
        if missed || again && !self.patient {
            self.direct = self.next_direct;
            self.next_direct = (2 * self.next_direct).min(MOST_DIRECT);
        }
    }
}

/// A window from one tile to the next.
pub(super) struct Filling<const LEVELS: usize> {
    pub(super) window: Window<LEVELS>,
    /// Numbers that a level took since the window was empty.
    terms: u32,
    /// Whether the last tile left rests behind the first levels.
    pub(super) rested: bool,
    /// Whether it left rests behind all levels.
    pub(super) missed: bool,
}

impl<const LEVELS: usize> Filling<LEVELS> {
    /// An empty window for the smallest numbers.
    #[inline(always)]
    pub(super) fn new(least: u32) -> Self {
        Self {
            window: Window::new(least),
            terms: 0,
            rested: false,
            missed: false,
        }
    }

    /// Adds the window to the digits, as [`Window::flush()`] does.
    #[inline(always)]
    #[track_caller]
    pub(super) fn flush<const THREADS: u32, const BITS: u32, S: Simt>(
        &mut self,
        t: &S,
        row: Row<'_, THREADS>,
        unit: i32,
        note: impl FnMut(u32),
    ) {
        self.window.flush::<THREADS, BITS, S>(t, row, unit, note);
        self.terms = 0;
    }

    /// Whether the window must go to the digits before a tile that is the `first` one or not, of magnitudes up to `top` and so many `terms` of a level.
    /// All lanes of a warp must call this.
    #[inline(always)]
    #[track_caller]
    pub(super) fn is_over<S: Simt>(
        &mut self,
        t: &S,
        top: u32,
        terms: u32,
        first: bool,
        habit: &mut Habit,
    ) -> bool {
        let ends = first || self.terms + terms > WINDOW_TERMS;
        let exceeded = self.window.exceeded_by(top);
        if !ends && t.ballot(exceeded || self.rested || self.missed) == 0 {
            habit.note(false, false);
            return false;
        }
        let missed = t.ballot(self.missed) != 0;
        habit.note(t.ballot(self.rested) != 0, missed);
        (self.rested, self.missed) = (false, false);
        ends || missed || t.ballot(exceeded) != 0
    }

    /// Counts a tile. Whether magnitudes up to `top` fit.
    #[inline(always)]
    pub(super) fn take(&mut self, top: u32, terms: u32) -> bool {
        self.terms += terms;
        !self.window.exceeded_by(top)
    }
}

/// The sum of a thread so far.
pub(super) struct Partial {
    pub(super) notes: Notes,
    filling: Filling<SUM_LEVELS>,
    /// Terms of the digits since the last carry, in those of [`Layout::most_deposits`](super::Layout::most_deposits).
    deposits: u32,
}

impl Partial {
    #[inline(always)]
    pub(super) fn new<T: Term>() -> Self {
        Self {
            notes: Notes::new(),
            filling: Filling::new(T::LEAST_LEVEL),
            deposits: 0,
        }
    }

    /// Adds the window to the digits.
    #[inline(always)]
    #[track_caller]
    pub(super) fn flush<T: Term, const THREADS: u32, S: Simt>(
        &mut self,
        t: &S,
        row: Row<'_, THREADS>,
    ) {
        let notes = &mut self.notes;
        let note = |exponent| notes.note_exponent(exponent);
        if T::SUM.digit_bits == 32 {
            self.filling
                .flush::<THREADS, 32, S>(t, row, T::SUM.unit, note);
        } else {
            self.filling
                .flush::<THREADS, 16, S>(t, row, T::SUM.unit, note);
        }
        self.deposits += SUM_LEVELS as u32 * T::INTEGER_DEPOSITS;
    }

    /// Counts a tile, and carries if the digits cannot take another, a window and one more term.
    #[inline(always)]
    #[track_caller]
    pub(super) fn end_tile<T: Term, const THREADS: u32, S: Simt>(
        &mut self,
        t: &S,
        row: Row<'_, THREADS>,
        layout: &Layout,
    ) {
        self.deposits += T::TILE;
        if self.deposits + T::TILE + SUM_LEVELS as u32 * T::INTEGER_DEPOSITS + 1
            > layout.most_deposits
        {
            self.deposits = 0;
            row.carry(t, layout);
        }
    }

    /// Places the window for a tile with this largest magnitude. Whether the tile fits. All lanes of a warp must call this.
    #[inline(always)]
    #[track_caller]
    pub(super) fn place<T: Term, const THREADS: u32, S: Simt>(
        &mut self,
        t: &S,
        row: Row<'_, THREADS>,
        top: u32,
        habit: &mut Habit,
    ) -> bool {
        let top = T::upper_word(top);
        if self.filling.is_over(t, top, T::TILE, false, habit) {
            self.flush::<T, THREADS, S>(t, row);
            self.filling.window.place(top, T::LEAST_LEVEL);
        }
        t.ballot(!self.filling.take(top, T::TILE)) == 0
    }

    /// Adds two runs to the window, and what is too small for it to the digits.
    #[inline(always)]
    #[track_caller]
    pub(super) fn add_windowed<
        T: Term,
        const RUN: usize,
        const MAGNITUDE: bool,
        const THREADS: u32,
        S: Simt,
    >(
        &mut self,
        t: &S,
        row: Row<'_, THREADS>,
        runs: [[T; RUN]; 2],
    ) {
        let mut rests = [[0.0_f64; RUN]; 2];
        let mut signs = u32::MAX;
        for run in runs {
            for value in run {
                signs &= if MAGNITUDE { 0 } else { value.sign_bits() };
            }
        }
        self.notes.note_signs(signs);
        let mut any = 0;
        let value = |value: T| {
            let value = value.widen();
            if MAGNITUDE { value.abs() } else { value }
        };
        for m in 0..2 {
            for j in 0..RUN {
                let (rest, bits) = self.filling.window.add_eagerly::<T>(value(runs[m][j]));
                rests[m][j] = rest;
                any |= bits;
            }
        }
        if any != 0 {
            self.filling.rested = true;
            any = 0;
            for m in 0..2 {
                for j in 0..RUN {
                    rests[m][j] = self.filling.window.add_on::<T>(rests[m][j]);
                    any |= bits_of(rests[m][j]);
                }
            }
        }
        if any != 0 {
            for m in 0..2 {
                for j in 0..RUN {
                    self.add_last_rest::<T, THREADS, S>(t, row, rests[m][j]);
                }
            }
        }
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
            let signs = self.notes.signs;
            T::narrow(rest).deposit::<false, THREADS, S>(t, row, &mut self.notes);
            self.notes.signs = signs;
        }
    }
}

/// Notes an addend that is not finite.
#[inline(always)]
pub(super) fn note_special<const MAGNITUDE: bool, T: Term>(value: T, notes: &mut Notes) {
    if value.is_special() {
        let value = value.widen();
        notes.note_special(if MAGNITUDE { value.abs() } else { value });
    }
}
