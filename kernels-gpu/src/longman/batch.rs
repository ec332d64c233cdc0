//! A launch over many integrals: its sizes and tolerances, its table, its outcomes.

use crate::math::Real;
use crate::memory::{In, Out, Quad, Shared};
use crate::simt::Simt;

/// Nodes of a panel; most areas are one. Between the first and the last one, which lie outside, those of the Kronrod rule.
pub const PANEL_NODES: u32 = 17;
/// The code of an integral that the device leaves to the CPU.
pub const UNDECIDED: u32 = 0xFF;

/// Sums over which the nodes of the head are distributed.
pub const HEAD_SUMS: u32 = 16;

/// Candidates for the tail: two accelerators, each after skipping four numbers of areas, which are then summed as they are.
pub const CANDIDATES: usize = 8;
/// Fours of words in the row of weights of an area.
pub const ROW_QUADS: u32 = 6;

/// Offset of the weights in the row of an area.
///
/// Candidate m is Euler's transformation for even m, that of Cohen, Rodriguez Villegas and Zagier for odd m, with skip number m / 2.
pub mod row {
    /// Weights of the candidates.
    pub const VALUE: usize = 0;
    /// Weights of the candidates with fewer areas, 2 or 3; the difference shows how far they have converged.
    pub const FEWER: usize = 8;
    /// Weights of 2^-n Delta^n V for Euler's candidates.
    pub const BOUND: usize = 16;
    /// Roundoff of the area, relative to the integral of the magnitude.
    pub const NOISE: usize = 20;
    /// Weight of the magnitude of the area in the condition number.
    pub const MAGNITUDE: usize = 21;
    /// Panels of the area.
    pub const PANELS: usize = 22;
}

/// Sizes and tolerances of a launch.
#[derive(Clone, Copy, Debug, PartialEq)]
#[repr(C)]
pub struct BatchRule {
    /// Absolute tolerance.
    pub absolute: f64,
    /// Relative tolerance.
    pub relative: f64,
    /// Accuracy of the integrand, relative.
    pub accuracy: f64,
    /// 2 (3 + 8^1/2)^-n for the n areas after each number of skipped ones: the error of the accelerator of Cohen, Rodriguez Villegas and Zagier in units
    /// of the first of them.
    pub remainders: [f64; 4],
    /// The phase of the last boundary.
    pub last: f64,
    /// Integrals in this launch.
    pub integrals: u32,
    /// Areas.
    pub areas: u32,
    /// Panels of all areas together, each of which has its Kronrod rule.
    pub panels: u32,
    /// Nodes of the head, a multiple of [`HEAD_SUMS`].
    pub head: u32,
    /// Areas that must alternate and decrease: the alternation test.
    pub alternating: u32,
    /// The numbers of areas that candidates skip.
    pub skips: [u32; 4],
    /// 1 if the oscillation is a Bessel function.
    pub bessel: u32,
    /// 1 to probe the amplitude far out: not if it is the whole integrand.
    pub looks: u32,
    /// Not used.
    pub padding: u32,
}

/// The table of a launch, in shared memory.
#[derive(Clone, Copy)]
pub struct Table<'a, T: Real> {
    /// `[s, weight, 0, 0]` of the head: first every sixteenth node from the least s on, then from the next one on, and so forth; filled up with
    /// weights 0.
    pub head: Shared<'a, Quad<T>>,
    /// `[s, Kronrod weight, Gauss weight, weight of the difference]` of each panel. The difference is that between the polynomial through the nodes inside and
    /// the values at the two outside, in sum.
    pub nodes: Shared<'a, Quad<T>>,
    /// The rows of weights of the areas.
    pub rows: Shared<'a, Quad<T>>,
}

impl<T: Real> Table<'_, T> {
    /// Copies the table to shared memory, by the whole block.
    #[inline(always)]
    #[track_caller]
    pub fn stage<S: Simt>(
        self,
        t: &S,
        rule: &BatchRule,
        head: In<'_, Quad<T>>,
        nodes: In<'_, Quad<T>>,
        rows: In<'_, Quad<T>>,
    ) {
        stage(t, head, self.head, rule.head);
        stage(t, nodes, self.nodes, rule.panels * PANEL_NODES);
        stage(t, rows, self.rows, rule.areas * ROW_QUADS);
        t.sync_threads();
    }
}

#[inline(always)]
#[track_caller]
fn stage<T: Real, S: Simt>(t: &S, from: In<'_, Quad<T>>, to: Shared<'_, Quad<T>>, count: u32) {
    let mut i = t.thread_idx();
    while i < count {
        to.set(t, i, from.get(t, i as usize));
        i += t.block_dim();
    }
}

/// The result of a thread for its integral.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Outcome<T> {
    /// The integral.
    pub value: T,
    /// Estimate of its error.
    pub error: T,
    /// Sum of the magnitudes over the magnitude of the sum: the factor by which roundoff grows.
    pub condition: T,
    /// Code of the status, and 256 times that of the accelerator; or [`UNDECIDED`].
    pub code: u32,
}

/// Where the outcomes of a launch go.
#[derive(Clone, Copy)]
pub struct Outcomes<'a, T: Real> {
    /// Values.
    pub values: Out<'a, T>,
    /// Error estimates.
    pub errors: Out<'a, T>,
    /// Condition numbers.
    pub conditions: Out<'a, T>,
    /// Codes.
    pub codes: Out<'a, u32>,
}

impl<T: Real> Outcomes<'_, T> {
    /// Writes the outcome of integral `index`.
    #[inline(always)]
    #[track_caller]
    pub fn set<S: Simt>(self, t: &S, index: usize, outcome: Outcome<T>) {
        self.values.set(t, index, outcome.value);
        self.errors.set(t, index, outcome.error);
        self.conditions.set(t, index, outcome.condition);
        self.codes.set(t, index, outcome.code);
    }
}
