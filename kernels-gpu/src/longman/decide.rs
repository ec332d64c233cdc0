//! The driver for many integrals at once: one thread an integral, all integrals of a launch over the same table.
//!
//! With `x = s / omega` the areas and the head of `integral of g(x) osc(omega x)` are sums of `g(s_j / omega)` with weights that contain the
//! oscillation and do not depend on the integral. The table of nodes and weights is in shared memory, all threads read the same element of it at
//! the same time, and no special function but those of g is left. For integrands without a known oscillation the weights are those of the
//! quadrature alone.
//!
//! The thread judges its integral as the driver of the CPU does, but with fixed means: areas by one Kronrod rule, a head by tanh-sinh of one
//! step, eight candidates for the tail. It says OK, or that no refinement could help, only where the estimates show it; everything else is
//! [`UNDECIDED`] and goes to the driver of the CPU.
//!
//! # Error of the head
//!
//! A trapezoidal sum with step h of an analytic function misses its integral by the function's Fourier transform at the frequency 1/h (and its
//! multiples). The difference of the sums with steps h and 2h would show that at 1/(2h), but for one phase only: where the real part passes through
//! zero, two sums agree by accident. So the sums over every sixteenth node, each starting at another one, are kept apart; their discrete Fourier
//! transform gives the magnitude at the frequencies m/(16h) whatever the phase, and what is missed, at m = 16, is continued from m = 3 .. 8.

use super::functions::Functions;
use super::integrand::{Damped, Integrand, PowerDamped, Rational, Sommerfeld};
use super::program::{
    Column, ProgramShape, SharedCode, Slots, no_special, no_special_error, run, run_with_errors,
};
use super::status::{Accelerator, Status};
use crate::kernel;
use crate::math::Real;
use crate::memory::{In, Out, Quad, Shared};
use crate::simt::Simt;

/// Threads of a block, each of which owns an integral.
pub const BATCH_THREADS: u32 = 128;
/// Nodes of the Kronrod rule of a panel; most areas are one.
pub const PANEL_NODES: u32 = 15;
/// The code of an integral that the device leaves to the CPU.
pub const UNDECIDED: u32 = 0xFF;

/// Sums over which the nodes of the head are distributed.
pub const HEAD_SUMS: u32 = 16;

/// Candidates for the tail: two accelerators, each after skipping four numbers of areas, which are then summed as they are.
pub const CANDIDATES: usize = 8;
/// Fours of words in the row of weights of an area.
pub const ROW_QUADS: u32 = 6;

/// Where the weights of an area stand in its row.
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
    /// Areas that must alternate and decrease.
    pub premise: u32,
    /// The numbers of areas that candidates skip.
    pub skips: [u32; 4],
    /// 1 if the oscillation is a Bessel function.
    pub bessel: u32,
    /// 1 if the amplitude is looked at far out: not if it is the whole integrand.
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
    /// `[s, Kronrod weight, Gauss weight, 0]` of each panel.
    pub nodes: Shared<'a, Quad<T>>,
    /// The rows of weights of the areas.
    pub rows: Shared<'a, Quad<T>>,
}

impl<T: Real> Table<'_, T> {
    /// Copies the table to shared memory, by the whole block.
    #[inline(always)]
    #[cfg_attr(not(target_arch = "nvptx64"), track_caller)]
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
#[cfg_attr(not(target_arch = "nvptx64"), track_caller)]
fn stage<T: Real, S: Simt>(t: &S, from: In<'_, Quad<T>>, to: Shared<'_, Quad<T>>, count: u32) {
    let mut i = t.thread_idx();
    while i < count {
        to.set(t, i, from.get(t, i as usize));
        i += t.block_dim();
    }
}

/// What a thread says of its integral.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Verdict<T> {
    /// The integral.
    pub value: T,
    /// Estimate of its error.
    pub error: T,
    /// Sum of the magnitudes over the magnitude of the sum: the factor by which roundoff grows.
    pub condition: T,
    /// Code of the status, and 256 times that of the accelerator; or [`UNDECIDED`].
    pub code: u32,
}

/// One frequency of the discrete Fourier transform of numbers that come one after another, by Goertzel's recurrence.
#[derive(Clone, Copy)]
struct Harmonic<T> {
    last: T,
    before: T,
}

impl<T: Real> Harmonic<T> {
    const NEW: Self = Self {
        last: T::ZERO,
        before: T::ZERO,
    };

    /// Adds the next number; `cosine` is that of the frequency.
    #[inline(always)]
    fn add(&mut self, number: T, cosine: f64) {
        let next = self
            .last
            .mul_add(T::from_f64(2.0 * cosine), number - self.before);
        *self = Self {
            last: next,
            before: self.last,
        };
    }

    /// Between the magnitude and 1.42 times that.
    #[inline(always)]
    fn magnitude(self, cosine: f64, sine: f64) -> T {
        let real = self.before.mul_add(T::from_f64(-cosine), self.last);
        real.abs() + (self.before * T::from_f64(sine)).abs()
    }
}

/// cos and sin of 2 pi m/16 for m = 3 .. 8.
const HARMONICS: [[f64; 2]; 6] = [
    [0.382_683_432_365_089_8, 0.923_879_532_511_286_7],
    [0.0, 1.0],
    [-0.382_683_432_365_089_8, 0.923_879_532_511_286_7],
    [
        -core::f64::consts::FRAC_1_SQRT_2,
        core::f64::consts::FRAC_1_SQRT_2,
    ],
    [-0.923_879_532_511_286_7, 0.382_683_432_365_089_8],
    [-1.0, 0.0],
];

/// The head of an integral.
#[derive(Clone, Copy)]
struct Head<T> {
    value: T,
    /// Sum of the magnitudes.
    magnitude: T,
    error: T,
}

/// a/b where that is below 1, else 1.
#[inline(always)]
fn rate<T: Real>(a: T, b: T) -> T {
    if a < b { a / b } else { T::ONE }
}

impl<T: Real> Head<T> {
    /// The sum over the nodes, and what it misses; see the head of this file.
    #[inline(always)]
    #[cfg_attr(not(target_arch = "nvptx64"), track_caller)]
    fn new<S: Simt>(
        t: &S,
        nodes: Shared<'_, Quad<T>>,
        count: u32,
        scale: T,
        amplitude: &mut impl Amplitude<T>,
    ) -> Self {
        let number = |value: f64| T::from_f64(value);
        let (mut value, mut magnitude, mut cut) = (T::ZERO, T::ZERO, T::ZERO);
        let mut harmonics = [Harmonic::<T>::NEW; 6];
        let each = count / HEAD_SUMS;
        let mut j = 0;
        while j < count {
            let end = j + each;
            let mut sum = T::ZERO;
            while j < end {
                let Quad([s, weight, ..]) = nodes.get(t, j);
                let term = weight * amplitude.value(s * scale);
                sum += term;
                magnitude += term.abs();
                if j == 0 {
                    cut = term.abs();
                }
                j += 1;
            }
            value += sum;
            let mut m = 0;
            while m < 6 {
                harmonics[m].add(sum, HARMONICS[m][0]);
                m += 1;
            }
        }
        let mut size = [T::ZERO; 6];
        let mut m = 0;
        while m < 6 {
            size[m] = harmonics[m].magnitude(HARMONICS[m][0], HARMONICS[m][1]);
            m += 1;
        }
        // By pairs, as two singularities at the same distance may cancel at one frequency.
        let three = size[0].max(size[1]);
        let five = size[2].max(size[3]);
        let seven = size[4].max(size[5]);
        let single = rate(size[5], size[4]).max(rate(size[4], size[3]));
        let fall = rate(seven, five)
            .max(rate(five, three))
            .max(single * single);
        // From 7.5 to 16 are four pairs and more; the fourth, and the factor, are for what falls like a power.
        let missed = if seven <= number(4.0) * T::EPSILON * magnitude {
            seven
        } else {
            number(16.0) * seven * fall * fall * fall
        };
        Self {
            value,
            magnitude,
            // What lies below the least node is of the size of its term.
            error: missed + cut * number(10.0),
        }
    }
}

/// x^(3/2), 0 for 0.
#[inline(always)]
fn three_halves<T: Real>(x: T) -> T {
    x * x.sqrt()
}

/// An amplitude with what is known of its errors.
pub trait Amplitude<T: Real> {
    /// Whether [`with_error`](Self::with_error) knows errors.
    const ERRORS: bool;
    /// g(x).
    fn value(&mut self, x: T) -> T;
    /// g(x) and a bound on its roundoff; 0 where nothing is known.
    fn with_error(&mut self, x: T) -> (T, T);
}

/// An [`Integrand`] as amplitude.
struct Named<I>(I);

impl<T: Real, I: Integrand<T>> Amplitude<T> for Named<I> {
    const ERRORS: bool = I::ERRORS;
    #[inline(always)]
    fn value(&mut self, x: T) -> T {
        self.0.amplitude(x)
    }
    #[inline(always)]
    fn with_error(&mut self, x: T) -> (T, T) {
        let error = if I::ERRORS {
            self.0.amplitude_error(x)
        } else {
            T::ZERO
        };
        (self.0.amplitude(x), error)
    }
}

/// One integral with amplitude g(x), at `x = s scale`.
///
/// Every comparison that decides for a result is false where a NaN is involved, so that such an integral stays undecided.
#[inline(always)]
#[cfg_attr(not(target_arch = "nvptx64"), track_caller)]
pub fn judge<T: Real, S: Simt>(
    t: &S,
    table: Table<'_, T>,
    rule: &BatchRule,
    scale: T,
    mut amplitude: impl Amplitude<T>,
) -> Verdict<T> {
    let number = |value: f64| T::from_f64(value);

    let head = Head::new(t, table.head, rule.head, scale, &mut amplitude);
    let (fine, magnitude) = (head.value, head.magnitude);
    let mut error = head.error;
    let mut floor = magnitude * number(rule.accuracy);

    let mut value = [T::ZERO; CANDIDATES];
    let mut fewer = [T::ZERO; CANDIDATES];
    let mut bound = [T::ZERO; 4];
    // Magnitude of the first area that each candidate accelerates.
    let mut beyond = [T::ZERO; 4];
    let mut direct = T::ZERO;
    let mut magnitudes = magnitude;
    let mut largest = T::ZERO;
    // The first area from which on they alternate and decrease, and its magnitude; the last one that counts in a plain sum.
    let (mut start, mut start_size, mut counts) = (0, T::ZERO, 0);
    let (mut previous, mut noise) = (T::ZERO, T::ZERO);
    let mut at = 0;
    let mut k = 0;
    while k < rule.areas {
        let Quad([roundoff, in_condition, panels, _]) = table.rows.get(t, k * ROW_QUADS + 5);
        let (mut kronrod, mut sizes, mut quadrature) = (T::ZERO, T::ZERO, T::ZERO);
        let mut left = panels;
        while left > T::ZERO {
            let (mut sum, mut gauss, mut magnitude) = (T::ZERO, T::ZERO, T::ZERO);
            let mut g = 0;
            while g < PANEL_NODES {
                let Quad([s, weight, embedded, _]) = table.nodes.get(t, at);
                let f = amplitude.value(s * scale);
                sum = weight.mul_add(f, sum);
                gauss = embedded.mul_add(f, gauss);
                magnitude += (weight * f).abs();
                at += 1;
                g += 1;
            }
            // QUADPACK's scaling of the difference of the two rules; a quarter of the size stands for the variation, of which it is no more.
            let variation = magnitude * number(0.25);
            let scaled = (sum - gauss).abs() * number(200.0);
            quadrature += if scaled < variation {
                three_halves(scaled / variation) * variation
            } else {
                scaled
            };
            kronrod += sum;
            sizes += magnitude;
            left -= T::ONE;
        }

        let Quad(w0) = table.rows.get(t, k * ROW_QUADS);
        let Quad(w1) = table.rows.get(t, k * ROW_QUADS + 1);
        let Quad(w2) = table.rows.get(t, k * ROW_QUADS + 2);
        let Quad(w3) = table.rows.get(t, k * ROW_QUADS + 3);
        let Quad(w4) = table.rows.get(t, k * ROW_QUADS + 4);
        let mut c = 0;
        while c < 4 {
            value[c] = w0[c].mul_add(kronrod, value[c]);
            value[c + 4] = w1[c].mul_add(kronrod, value[c + 4]);
            fewer[c] = w2[c].mul_add(kronrod, fewer[c]);
            fewer[c + 4] = w3[c].mul_add(kronrod, fewer[c + 4]);
            bound[c] = w4[c].mul_add(kronrod, bound[c]);
            c += 1;
        }
        direct += kronrod;

        let size = kronrod.abs();
        let mut m = 0;
        while m < 4 {
            if k == rule.skips[m] {
                beyond[m] = size;
            }
            m += 1;
        }
        let rounded = roundoff * sizes;
        noise = rounded + quadrature;
        floor += rounded;
        error += quadrature;
        magnitudes = in_condition.mul_add(size, magnitudes);
        let alternates = (kronrod > T::ZERO) != (previous > T::ZERO);
        let decreases = size < previous.abs() + noise * number(4.0);
        if k == 0 || !(alternates && decreases) {
            start = k;
            start_size = size;
        }
        if size > largest {
            largest = size;
        }
        let negligible = size <= number(1e-2) * T::EPSILON * (fine.abs() + largest);
        if !negligible {
            counts = k + 1;
        }
        previous = kronrod;
        k += 1;
    }

    floor += number(2.0) * T::EPSILON * (fine.abs() + number(2.0) * largest);
    // An exponential function multiplies the roundoff of its argument by that: by the logarithm of what it gives.
    if magnitude > T::ZERO {
        floor += T::EPSILON * magnitude.ln().abs() * magnitudes;
    }
    let infinity = T::ONE / T::ZERO;
    let mut tail = T::ZERO;
    let mut least = infinity;
    let mut accelerator = Accelerator::None;
    let mut allowed = false;
    // The candidate that is taken; beyond all of them where the areas are summed as they are.
    let mut chosen = CANDIDATES as u32;
    if counts + 2 <= rule.areas {
        tail = direct;
        least = T::ZERO;
        accelerator = Accelerator::Direct;
        allowed = true;
    } else if start + rule.premise <= rule.areas
        && start_size - previous.abs() > number(8.0) * noise
    {
        let mut estimates = [infinity; CANDIDATES];
        let mut c = 0;
        while c < CANDIDATES {
            let change = (value[c] - fewer[c]).abs();
            let (quarter, bound) = if c & 1 == 0 {
                (change * number(0.25), bound[c / 2].abs())
            } else {
                let remainder = number(rule.remainders[c / 2]) * beyond[c / 2];
                (change * number(0.05), remainder)
            };
            if start <= rule.skips[c / 2] {
                estimates[c] = if quarter > bound { quarter } else { bound };
            }
            if estimates[c] < least {
                least = estimates[c];
                tail = value[c];
                chosen = c as u32;
                accelerator = if c & 1 == 0 {
                    Accelerator::Euler
                } else {
                    Accelerator::Cvz
                };
                allowed = true;
            }
            c += 1;
        }
        // Of two that exclude each other one is wrong, and it may be this one.
        let common = error + floor;
        let mut c = 0;
        while c < CANDIDATES {
            let contradiction = (value[c] - tail).abs() - estimates[c] - common;
            if contradiction > least {
                least = contradiction;
            }
            c += 1;
        }
    }
    if allowed {
        let noise = number(1e-3) * T::EPSILON * magnitudes;
        let probed = probe(t, table, rule, scale, chosen, noise, &mut amplitude);
        allowed = probed.vanishes;
        // Whether it is larger or no number.
        let within = probed.error <= floor;
        if !within {
            floor = probed.error;
        }
    }

    let sum = fine + tail;
    let total = least + error + floor;
    let tolerance = {
        let relative = number(rule.relative) * sum.abs() * scale;
        let absolute = number(rule.absolute);
        if relative > absolute {
            relative
        } else {
            absolute
        }
    };
    let finite = magnitudes < infinity && total < infinity;
    let status = if !(allowed && finite) {
        UNDECIDED
    } else if total * scale <= tolerance {
        Status::Ok.code()
    } else if floor * scale > tolerance * number(4.0) && least + error <= floor {
        // Roundoff alone exceeds the tolerance, by more than what its bound may be too large by, and is most of the estimate.
        Status::NotConverged.code()
    } else {
        UNDECIDED
    };
    Verdict {
        value: sum * scale,
        error: total * scale,
        condition: magnitudes / sum.abs(),
        code: if status == UNDECIDED {
            UNDECIDED
        } else {
            status | accelerator.code() << 8
        },
    }
}

/// Sizes of an integrand further and further out, at distances whose logarithms double: of a power the ratio of two is the square of the ratio
/// before, of a constant below a decay it rises to 1.
#[derive(Clone, Copy, Debug)]
pub struct FarOut<T> {
    first: T,
    last: T,
    ratio: T,
    looks: u32,
    gone: bool,
    falls: bool,
}

impl<T: Real> FarOut<T> {
    /// Before the first look.
    pub const NEW: Self = Self {
        first: T::ZERO,
        last: T::ZERO,
        ratio: T::ONE,
        looks: 0,
        gone: false,
        falls: true,
    };

    /// The next size, a number of at least 0. The second look is six decades beyond the first, the third twelve.
    #[inline(always)]
    pub fn look(&mut self, size: T) {
        if self.looks == 0 {
            self.first = size;
        } else {
            let nothing = size <= T::from_f64(1e-14) * self.first;
            self.gone = nothing && (self.gone || self.looks <= 2);
        }
        if self.looks >= 2 {
            let ratio = if size > T::ZERO {
                size / self.last
            } else {
                T::ZERO
            };
            // What a ratio near 1 is compared with has roundoff.
            let bound = (self.ratio * T::from_f64(1.0001)).min(T::from_f64(0.999));
            self.falls = self.falls && ratio <= bound;
            self.ratio = ratio;
        }
        self.last = size;
        self.looks += 1;
    }

    /// Whether the integrand goes to zero; none after too few looks.
    #[inline(always)]
    pub fn vanishes(&self) -> Option<bool> {
        if self.looks < 3 {
            None
        } else {
            Some(self.gone || self.falls)
        }
    }
}

/// What [`probe`] has seen.
#[derive(Clone, Copy)]
struct Probed<T> {
    /// Error of the sum that the amplitude's own roundoff makes.
    error: T,
    /// Whether the integrand goes to zero. False where that is not seen, so that the CPU decides.
    vanishes: bool,
}

/// Looks at the errors of the amplitude, and at the amplitude far out, by one loop, so that its code stands here once.
///
/// The errors are looked at in some nodes of the head, from the largest s down, and in the middle of each panel, and summed with the weights of the
/// candidate `chosen`. Where near 0 nothing but roundoff is left, the amplitude is between 0 and four times what a power -7/8 of x makes of its last value with
/// digits. Values far out that are less than `noise` are nothing.
#[inline(always)]
#[cfg_attr(not(target_arch = "nvptx64"), track_caller)]
fn probe<T: Real, S: Simt, A: Amplitude<T>>(
    t: &S,
    table: Table<'_, T>,
    rule: &BatchRule,
    scale: T,
    chosen: u32,
    noise: T,
    amplitude: &mut A,
) -> Probed<T> {
    let number = |value: f64| T::from_f64(value);
    // Every stride-th of the sums of the head; its nodes are a quarter of a unit of the exponent of an exponent apart.
    let stride = if size_of::<T>() == 8 { 4 } else { 2 };
    let (head, panels) = if A::ERRORS {
        (rule.head / stride, rule.panels)
    } else {
        (0, 0)
    };
    let each = rule.head / HEAD_SUMS;
    // 0, 6, 12, 24, 48, 96 decades; in f32 the first four are numbers.
    let looks = match (rule.looks, size_of::<T>()) {
        (0, _) => 0,
        (_, 8) => 6,
        _ => 4,
    };
    let (mut error, mut finite) = (T::ZERO, true);
    // The last value that had digits, and where.
    let (mut known, mut place) = (T::ZERO, T::ZERO);
    let (mut area, mut left) = (0, T::ZERO);
    let (mut beyond, mut factor, mut own) = (1.0, 1e6, 1.0);
    let mut far = FarOut::NEW;
    // Rows of the head's sums from the last node down.
    let (mut row, mut sum) = (each, 0);
    let mut j = 0;
    while j < head + panels + looks {
        let (x, mut weight) = if j < head {
            if sum == 0 {
                sum = HEAD_SUMS;
                row -= 1;
            }
            sum -= stride;
            let Quad([s, weight, ..]) = table.head.get(t, sum * each + row);
            // Bumps as narrow as the steps are seen to half their size.
            (s * scale, weight.abs() * number(2.0 * f64::from(stride)))
        } else if j < head + panels {
            if left <= T::ZERO {
                let Quad([_, _, panels, _]) = table.rows.get(t, area * ROW_QUADS + 5);
                left = panels;
                area += 1;
            }
            left -= T::ONE;
            let middle = (j - head) * PANEL_NODES + PANEL_NODES / 2;
            let Quad([s, weight, ..]) = table.nodes.get(t, middle);
            // The weight of the middle is a tenth of all of them.
            let weight = weight.abs() * number(10.0);
            (s * scale, weight * weight_of(t, table, area - 1, chosen))
        } else {
            (number(rule.last * beyond) * scale, T::ZERO)
        };
        let (value, mut off) = amplitude.with_error(x);
        let size = value.abs();
        if j < head {
            if size >= number(10.0) * off {
                (known, place) = (size, x);
            } else {
                let nearer = place / x;
                let eighth = nearer.sqrt().sqrt().sqrt();
                off = off.min(size + number(4.0) * known * nearer / eighth);
            }
            // Nodes that fill the head up have no weight.
            if weight <= T::ZERO {
                off = T::ZERO;
                weight = T::ZERO;
            }
        }
        // Far out, where nothing has a weight, the bound may be no number.
        if weight > T::ZERO {
            error = weight.mul_add(off, error);
        }
        if j >= head + panels {
            // Where a value is roundoff it says nothing of what the amplitude does.
            // A zero without any bound is one that numbers too large to be numbers left.
            let infinity = T::ONE / T::ZERO;
            let bounded = off < infinity;
            let seen = off <= number(0.01) * size || off <= noise || (!bounded && size <= T::ZERO);
            finite = finite && seen && size < infinity;
            far.look(size * number(own));
            beyond *= factor;
            // A Bessel function falls like x^-1/2 itself.
            if rule.bessel != 0 {
                own = Real::sqrt(1.0 / beyond);
            }
            factor = beyond;
        }
        j += 1;
    }
    Probed {
        error,
        vanishes: looks == 0 || finite && far.vanishes() == Some(true),
    }
}

/// The magnitude of an area's weight in a candidate, 1 beyond all of them.
#[inline(always)]
#[cfg_attr(not(target_arch = "nvptx64"), track_caller)]
fn weight_of<T: Real, S: Simt>(t: &S, table: Table<'_, T>, area: u32, candidate: u32) -> T {
    if candidate >= CANDIDATES as u32 {
        return T::ONE;
    }
    let Quad([w0, w1, w2, w3]) = table.rows.get(t, area * ROW_QUADS + candidate / 4);
    let (low, high) = if candidate & 1 == 0 {
        (w0, w2)
    } else {
        (w1, w3)
    };
    if candidate & 2 == 0 {
        low.abs()
    } else {
        high.abs()
    }
}

/// Where the verdicts of a launch go.
#[derive(Clone, Copy)]
pub struct Verdicts<'a, T: Real> {
    /// Values.
    pub values: Out<'a, T>,
    /// Error estimates.
    pub errors: Out<'a, T>,
    /// Condition numbers.
    pub conditions: Out<'a, T>,
    /// Codes.
    pub codes: Out<'a, u32>,
}

impl<T: Real> Verdicts<'_, T> {
    /// Writes the verdict on integral `index`.
    #[inline(always)]
    #[cfg_attr(not(target_arch = "nvptx64"), track_caller)]
    pub fn set<S: Simt>(self, t: &S, index: usize, verdict: Verdict<T>) {
        self.values.set(t, index, verdict.value);
        self.errors.set(t, index, verdict.error);
        self.conditions.set(t, index, verdict.condition);
        self.codes.set(t, index, verdict.code);
    }
}

/// The body of the kernels `integrate_...`, for any amplitude: call it from a kernel of your own, after [`Table::stage`].
#[inline(always)]
#[cfg_attr(not(target_arch = "nvptx64"), track_caller)]
pub fn decide<I: Integrand<T>, T: Real, S: Simt>(
    t: &S,
    table: Table<'_, T>,
    rule: BatchRule,
    frequencies: In<'_, T>,
    parameters: In<'_, T>,
    verdicts: Verdicts<'_, T>,
) {
    let index = t.global_idx();
    if index < rule.integrals as usize {
        let scale = T::ONE / frequencies.get(t, index);
        let integrand = I::new(|k| parameters.get(t, k as usize * rule.integrals as usize + index));
        let verdict = judge(t, table, &rule, scale, Named(integrand));
        verdicts.set(t, index, verdict);
    }
}

/// A kernel of the driver for one named amplitude. The declarations below differ in nothing else, but each must stand in the source for itself,
/// as the builder of the PTX reads them there.
macro_rules! integrate {
    ($t:ident, $amplitude:ty, $head:ident, $nodes:ident, $rows:ident, $rule:ident, $frequencies:ident, $parameters:ident,
     $values:ident, $errors:ident, $conditions:ident, $codes:ident, $table_head:ident, $table_nodes:ident, $table_rows:ident) => {{
        let table = Table {
            head: $table_head,
            nodes: $table_nodes,
            rows: $table_rows,
        };
        table.stage($t, &$rule, $head, $nodes, $rows);
        let verdicts = Verdicts {
            values: $values,
            errors: $errors,
            conditions: $conditions,
            codes: $codes,
        };
        decide::<$amplitude, T, _>($t, table, $rule, $frequencies, $parameters, verdicts);
    }};
}

kernel! {
    /// Integrals with amplitude `e^(-lambda x)`: value, error estimate, condition and code of each.
    ///
    /// One thread an integral, 128 a block; parameter k of integral i is `parameters[k * integrals + i]`. A block copies the table to shared memory,
    /// `32 (head + 15 panels + 6 areas)` bytes in `f64`, 22 KiB for 24 areas, and after the one barrier only reads it: all threads the same element at
    /// the same time, without conflicts. Results are written once, in columns, by the thread that owns them.
    ///
    /// A node costs two loads of 16 bytes (one in `f32`), the amplitude, and five operations; an area 24 more and six loads. With 24 areas, 26 panels and 160 nodes
    /// of the head, 550 nodes: in `f64` 550 x 26 double-precision instructions an integral for this amplitude, 1.1e9 integrals a second on an H200.
    pub fn integrate_damped<T: Real>(
        t, head: In<Quad<T>>, nodes: In<Quad<T>>, rows: In<Quad<T>>, frequencies: In<T>, parameters: In<T>,
        values: Out<T>, errors: Out<T>, conditions: Out<T>, codes: Out<u32>; rule: BatchRule,
    ) for f32, f64
    shared {
        table_head: [Quad<T>; rule.head], table_nodes: [Quad<T>; rule.panels * PANEL_NODES],
        table_rows: [Quad<T>; rule.areas * ROW_QUADS],
    } {
        integrate!(t, Damped<T>, head, nodes, rows, rule, frequencies, parameters, values, errors, conditions, codes,
            table_head, table_nodes, table_rows);
    }
}

kernel! {
    /// [`integrate_damped()`] with amplitude `x^mu e^(-lambda x)`.
    pub fn integrate_power<T: Real>(
        t, head: In<Quad<T>>, nodes: In<Quad<T>>, rows: In<Quad<T>>, frequencies: In<T>, parameters: In<T>,
        values: Out<T>, errors: Out<T>, conditions: Out<T>, codes: Out<u32>; rule: BatchRule,
    ) for f32, f64
    shared {
        table_head: [Quad<T>; rule.head], table_nodes: [Quad<T>; rule.panels * PANEL_NODES],
        table_rows: [Quad<T>; rule.areas * ROW_QUADS],
    } {
        integrate!(t, PowerDamped<T>, head, nodes, rows, rule, frequencies, parameters, values, errors, conditions, codes,
            table_head, table_nodes, table_rows);
    }
}

kernel! {
    /// [`integrate_damped()`] with amplitude `x e^(-z u) / u`, `u = sqrt(x^2 + k^2)`.
    pub fn integrate_sommerfeld<T: Real>(
        t, head: In<Quad<T>>, nodes: In<Quad<T>>, rows: In<Quad<T>>, frequencies: In<T>, parameters: In<T>,
        values: Out<T>, errors: Out<T>, conditions: Out<T>, codes: Out<u32>; rule: BatchRule,
    ) for f32, f64
    shared {
        table_head: [Quad<T>; rule.head], table_nodes: [Quad<T>; rule.panels * PANEL_NODES],
        table_rows: [Quad<T>; rule.areas * ROW_QUADS],
    } {
        integrate!(t, Sommerfeld<T>, head, nodes, rows, rule, frequencies, parameters, values, errors, conditions, codes,
            table_head, table_nodes, table_rows);
    }
}

kernel! {
    /// [`integrate_damped()`] with amplitude `x^m / (x^2 + p^2)`, m = 0 or 1.
    pub fn integrate_rational<T: Real>(
        t, head: In<Quad<T>>, nodes: In<Quad<T>>, rows: In<Quad<T>>, frequencies: In<T>, parameters: In<T>,
        values: Out<T>, errors: Out<T>, conditions: Out<T>, codes: Out<u32>; rule: BatchRule,
    ) for f32, f64
    shared {
        table_head: [Quad<T>; rule.head], table_nodes: [Quad<T>; rule.panels * PANEL_NODES],
        table_rows: [Quad<T>; rule.areas * ROW_QUADS],
    } {
        integrate!(t, Rational<T>, head, nodes, rows, rule, frequencies, parameters, values, errors, conditions, codes,
            table_head, table_nodes, table_rows);
    }
}

/// The arguments of [`integrate_program_f64()`] and its twin that are views.
struct Interpreted<'a, T: Real> {
    code: In<'a, u32>,
    constants: In<'a, T>,
    frequencies: In<'a, T>,
    parameters: In<'a, T>,
    words: Shared<'a, u32>,
    slots: Shared<'a, T>,
}

/// A program with its slots, and the errors of what they hold, which lie behind all slots of the block.
struct Programmed<'a, 'm, S: Simt, T: Functions> {
    code: SharedCode<'a, 'm, S>,
    shape: ProgramShape,
    slots: Column<'a, 'm, S, T>,
    errors: Column<'a, 'm, S, T>,
}

impl<T: Functions, S: Simt> Amplitude<T> for Programmed<'_, '_, S, T> {
    const ERRORS: bool = true;

    #[inline(always)]
    fn value(&mut self, x: T) -> T {
        let shape = self.shape;
        self.slots.set(0, x);
        let body = (shape.prologue, shape.length);
        run(&self.code, body, &mut self.slots, &no_special);
        self.slots.get(shape.result)
    }

    #[inline(always)]
    fn with_error(&mut self, x: T) -> (T, T) {
        let shape = self.shape;
        self.slots.set(0, x);
        // The node in phase, the frequency, and their quotient are rounded.
        self.errors.set(0, T::from_f64(1.5) * T::EPSILON * x.abs());
        let body = (shape.prologue, shape.length);
        let (slots, errors) = (&mut self.slots, &mut self.errors);
        run_with_errors(
            &self.code,
            body,
            slots,
            errors,
            &no_special,
            &no_special_error,
        );
        (slots.get(shape.result), errors.get(shape.result))
    }
}

/// The body of the interpreting kernels: the amplitude is a program.
#[inline(always)]
#[cfg_attr(not(target_arch = "nvptx64"), track_caller)]
fn interpret<T: Functions, S: Simt>(
    t: &S,
    table: Table<'_, T>,
    rule: BatchRule,
    shape: ProgramShape,
    views: &Interpreted<'_, T>,
    verdicts: Verdicts<'_, T>,
) {
    let mut i = t.thread_idx();
    while i < shape.length {
        views.words.set(t, i, views.code.get(t, i as usize));
        i += t.block_dim();
    }
    t.sync_threads();
    let index = t.global_idx();
    if index >= rule.integrals as usize {
        return;
    }
    let half = T::from_f64(0.5) * T::EPSILON;
    let code = SharedCode {
        t,
        words: views.words,
    };
    let mut slots = Column {
        t,
        memory: views.slots,
        threads: t.block_dim(),
        column: t.thread_idx(),
    };
    let mut errors = Column {
        memory: views.slots,
        column: shape.slots * t.block_dim() + t.thread_idx(),
        ..slots
    };
    let mut k = 0;
    while k < shape.parameters {
        let at = k as usize * rule.integrals as usize + index;
        let parameter = views.parameters.get(t, at);
        slots.set(1 + k, parameter);
        // Numbers of f64, rounded.
        let rounded = if size_of::<T>() == 8 {
            T::ZERO
        } else {
            half * parameter.abs()
        };
        errors.set(1 + k, rounded);
        k += 1;
    }
    k = 0;
    while k < shape.constants {
        let constant = views.constants.get(t, k as usize);
        slots.set(1 + shape.parameters + k, constant);
        let error = views.constants.get(t, (shape.constants + k) as usize);
        errors.set(1 + shape.parameters + k, error);
        k += 1;
    }
    let prologue = (0, shape.prologue);
    run_with_errors(
        &code,
        prologue,
        &mut slots,
        &mut errors,
        &no_special,
        &no_special_error,
    );
    let scale = T::ONE / views.frequencies.get(t, index);
    let program = Programmed {
        code,
        shape,
        slots,
        errors,
    };
    verdicts.set(t, index, judge(t, table, &rule, scale, program));
}

kernel! {
    /// [`integrate_damped()`] with an amplitude, or a whole integrand, that is interpreted; see [`program`](super::program).
    ///
    /// The instructions are in shared memory too, and the slots of each thread with their errors, of which no other thread reads. Errors are run for
    /// some 75 of the 670 nodes of 32 areas.
    pub fn integrate_program_f32(
        t, head: In<Quad<f32>>, nodes: In<Quad<f32>>, rows: In<Quad<f32>>, code: In<u32>, constants: In<f32>,
        frequencies: In<f32>, parameters: In<f32>, values: Out<f32>, errors: Out<f32>, conditions: Out<f32>, codes: Out<u32>;
        rule: BatchRule, shape: ProgramShape,
    )
    shared {
        table_head: [Quad<f32>; rule.head], table_nodes: [Quad<f32>; rule.panels * PANEL_NODES],
        table_rows: [Quad<f32>; rule.areas * ROW_QUADS], words: [u32; shape.length],
        slots: [f32; 2 * shape.slots * BATCH_THREADS],
    } {
        let table = Table { head: table_head, nodes: table_nodes, rows: table_rows };
        table.stage(t, &rule, head, nodes, rows);
        let views = Interpreted { code, constants, frequencies, parameters, words, slots };
        interpret(t, table, rule, shape, &views, Verdicts { values, errors, conditions, codes });
    }
}

kernel! {
    /// [`integrate_program_f32()`] in double precision.
    pub fn integrate_program_f64(
        t, head: In<Quad<f64>>, nodes: In<Quad<f64>>, rows: In<Quad<f64>>, code: In<u32>, constants: In<f64>,
        frequencies: In<f64>, parameters: In<f64>, values: Out<f64>, errors: Out<f64>, conditions: Out<f64>, codes: Out<u32>;
        rule: BatchRule, shape: ProgramShape,
    )
    shared {
        table_head: [Quad<f64>; rule.head], table_nodes: [Quad<f64>; rule.panels * PANEL_NODES],
        table_rows: [Quad<f64>; rule.areas * ROW_QUADS], words: [u32; shape.length],
        slots: [f64; 2 * shape.slots * BATCH_THREADS],
    } {
        let table = Table { head: table_head, nodes: table_nodes, rows: table_rows };
        table.stage(t, &rule, head, nodes, rows);
        let views = Interpreted { code, constants, frequencies, parameters, words, slots };
        interpret(t, table, rule, shape, &views, Verdicts { values, errors, conditions, codes });
    }
}
