//! The head of an integral, from the lower limit to the first boundary, and its error.
//!
//! A trapezoidal sum with step h of an analytic function misses its integral by the function's Fourier transform at the frequency 1/h (and its
//! multiples). The difference of the sums with steps h and 2h would show that at 1/(2h), but for one phase only: where the real part passes through
//! zero, two sums agree by accident. So the sums over every sixteenth node, each starting at another one, are kept apart; their discrete Fourier
//! transform yields the magnitude at the frequencies m/(16h) whatever the phase, and the missing part, at m = 16, is continued from m = 3 .. 8.

use super::amplitude::Amplitude;
use super::batch::HEAD_SUMS;
use crate::math::Real;
use crate::memory::{Quad, Shared};
use crate::simt::Simt;

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
pub(super) struct Head<T> {
    pub(super) value: T,
    /// Sum of the magnitudes.
    pub(super) magnitude: T,
    pub(super) error: T,
}

/// a/b where that is below 1, else 1.
#[inline(always)]
fn rate<T: Real>(a: T, b: T) -> T {
    if a < b { a / b } else { T::ONE }
}

impl<T: Real> Head<T> {
    /// The sum over the nodes, and what it misses; see the head of this file.
    #[inline(always)]
    #[track_caller]
    pub(super) fn new<S: Simt, A: Amplitude<T>>(
        t: &S,
        nodes: Shared<'_, Quad<T>>,
        count: u32,
        scale: T,
        amplitude: &mut A,
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
        // From 7.5 to 16 are four pairs and more.
        let continued = number(16.0) * seven * fall * fall * fall;
        // A spectrum that falls no faster than a power is that of a step, which misses up to 1.02 of the largest, or a kink, up to 0.28. Below one that falls faster
        // another may hide that is as large.
        let least = if fall > number(0.2) {
            number(1.5) * five.max(seven)
        } else if A::SMOOTH {
            T::ZERO
        } else {
            number(0.5) * seven
        };
        let missed = if seven <= number(4.0) * T::EPSILON * magnitude {
            seven
        } else {
            continued.max(least)
        };
        Self {
            value,
            magnitude,
            // The part below the least node is of the size of its term.
            error: missed + cut * number(10.0),
        }
    }
}
