//! How populations lie in memory: as they are, or in 16 bits.
//!
//! In 16 bits lies the deviation from the Maxwellian of the step before, `f = M + s d`, with d in half precision (IEEE 754 binary16: 11 significant bits
//! from 6.1e-5 to 65504) and one scale s for each node. A step changes f by less than such a number can tell, so rounding to the nearest would lose the
//! change each time; instead the rounding goes up with the probability of the part that is cut off. The random numbers are a hash of step, node and
//! cell, so that every run rounds alike, on every machine.

use super::layout::{FlowShape, row};
use super::span::Span;
use crate::math::Real;
use crate::memory::{Element, In, Out, Shared};
use crate::simt::Simt;

/// The largest number of half precision, in the units of [`encode`].
const LARGEST: f32 = f32::from_bits(0x7bff << CUT);
/// Bits of a single-precision number that half precision has no room for.
const CUT: u32 = 13;
/// What multiplies a deviation so that the bits of its half-precision number are those of its single-precision one from bit [`CUT`] on: the ranges of
/// the exponents then begin at the same place, numbers below the least normal one included.
const UNIT: f32 = power_of_two(-112);
/// Largest Maxwellian of a node in units of its scale: sixteen times as much still fits in, and deviations are told apart down to 1.5e-11 of it.
const RANGE: f32 = 4096.0;

/// 2^power, for normal numbers.
const fn power_of_two(power: i32) -> f32 {
    f32::from_bits(((power + 127) as u32) << 23)
}

/// The scales of a node whose largest Maxwellian is `largest`: what [`decode`]d numbers are multiplied with, and what numbers to [`encode`] are. Both are
/// powers of two, so that nothing is lost by them.
pub fn scales(largest: f64) -> [f32; 2] {
    let least = f64::from(power_of_two(-100));
    let scale = (largest.max(least) / f64::from(RANGE)) as f32;
    // The next power of two that is not smaller; beyond 2^14 it would not fit the range of the units.
    let exponent = (scale.to_bits() >> 23) as i32 - 127;
    let whole = scale.to_bits() & 0x007f_ffff == 0;
    let power = (exponent + if whole { 0 } else { 1 }).min(14);
    [power_of_two(power + 112), UNIT * power_of_two(-power)]
}

/// The half-precision number nearest to `value` on the side that `noise` of 13 bits decides: a mean over all noises is `value`.
#[inline(always)]
pub fn encode(value: f32, noise: u32) -> u32 {
    let value = Real::max(Real::min(value, LARGEST), -LARGEST);
    let bits = value.to_bits().wrapping_add(noise);
    (bits >> CUT & 0x7fff) | (bits >> 16 & 0x8000)
}

/// The number of these 16 bits.
#[inline(always)]
pub fn decode(half: u32) -> f32 {
    f32::from_bits((half & 0x7fff) << CUT | (half & 0x8000) << 16)
}

/// The random bits of a step, from which those of its pairs of populations are made.
#[inline(always)]
pub fn seed(step: u32) -> u32 {
    mixed(step.wrapping_mul(0x9e37_79b9))
}

/// What rounds the two neighbouring populations of a word: 13 bits each.
#[inline(always)]
pub fn noise(seed: u32, word: u32) -> [u32; 2] {
    let bits = mixed(word ^ seed);
    [bits & ((1 << CUT) - 1), bits >> (32 - CUT)]
}

/// A bijection of 32 bits in which every bit of the argument changes about half of those of the value (C. Wellons' "lowbias32").
#[inline(always)]
const fn mixed(x: u32) -> u32 {
    let x = (x ^ x >> 16).wrapping_mul(0x7feb_352d);
    let x = (x ^ x >> 15).wrapping_mul(0x846c_a68b);
    x ^ x >> 16
}

/// Populations that can be read.
pub(crate) trait Populations<T: Real>: Copy {
    /// Whether they are deviations: then the tables' factors along v_x are those of the Maxwellian alone, and what relaxation gives stands beside them.
    const DEVIATIONS: bool;
    /// What memory holds.
    type Word: Element;
    /// What a lane has of its neighbouring cells before it is decoded.
    type Run<const W: usize>: Copy;
    /// Reads K times what the cells of a span take from: the k-th time from `straight(k)` on, or the w-th cell from `at(k, w)`.
    fn take<S: Simt, const W: usize, const K: usize>(
        self,
        t: &S,
        span: &Span<W>,
        straight: impl Fn(usize) -> u32,
        at: impl Fn(usize, usize) -> u32,
    ) -> [Self::Run<W>; K];
    /// Announces what a lane will read from `at` on.
    fn prefetch<S: Simt>(self, t: &S, at: u32);
    /// Announces what [`take`](Self::take) will read K times, where it is from `straight(k)` on.
    #[cfg_attr(target_arch = "nvptx64", inline(always))]
    fn announce<S: Simt, const W: usize, const K: usize>(
        self,
        t: &S,
        span: &Span<W>,
        straight: impl Fn(usize) -> u32,
    ) {
        let mut k = 0;
        while k < K && span.straight {
            self.prefetch(t, straight(k));
            k += 1;
        }
    }
    /// Copies what the cells of a span take from into the lane's place number `slot` of shared memory, while the thread goes on: from `straight` on, or
    /// the w-th cell from `at(w)`.
    fn stage<S: Simt, const W: usize>(
        self,
        t: &S,
        span: &Span<W>,
        stages: Shared<'_, Self::Word>,
        slot: u32,
        straight: u32,
        at: impl Fn(usize) -> u32,
    );
    /// What lies there, when it has come.
    fn staged<S: Simt, const W: usize>(
        t: &S,
        stages: Shared<'_, Self::Word>,
        slot: u32,
    ) -> Self::Run<W>;
    /// Lets `change` see the populations that were read where they need no decoding.
    fn before_decoding<const W: usize, const K: usize>(
        runs: &mut [Self::Run<W>; K],
        change: impl FnOnce(&mut [[T; W]; K]),
    );
    /// The populations of a run, with what they deviate from and [`Store::scale`].
    fn values<const W: usize>(run: Self::Run<W>, scale: T, maxwellian: [T; W]) -> [T; W];
    /// The population of a node at a place of its plane.
    fn population<S: Simt>(self, t: &S, shape: &FlowShape, node: [u32; 3], place: u32) -> T;
}

/// Number of a node.
#[inline(always)]
pub(crate) fn number(shape: &FlowShape, [jx, jy, m]: [u32; 3]) -> u32 {
    (jx * shape.count_y + jy) * shape.count_m + m
}

impl<T: Real> Populations<T> for In<'_, T> {
    const DEVIATIONS: bool = false;
    type Word = T;
    type Run<const W: usize> = [T; W];

    #[cfg_attr(target_arch = "nvptx64", inline(always))]
    #[cfg_attr(not(target_arch = "nvptx64"), track_caller)]
    fn take<S: Simt, const W: usize, const K: usize>(
        self,
        t: &S,
        span: &Span<W>,
        straight: impl Fn(usize) -> u32,
        at: impl Fn(usize, usize) -> u32,
    ) -> [[T; W]; K] {
        span.take_once(t, self, straight, at)
    }
    #[inline(always)]
    fn prefetch<S: Simt>(self, t: &S, at: u32) {
        Self::prefetch(self, t, at as usize);
    }
    #[cfg_attr(target_arch = "nvptx64", inline(always))]
    #[cfg_attr(not(target_arch = "nvptx64"), track_caller)]
    fn stage<S: Simt, const W: usize>(
        self,
        t: &S,
        span: &Span<W>,
        stages: Shared<'_, T>,
        slot: u32,
        straight: u32,
        at: impl Fn(usize) -> u32,
    ) {
        let to = slot * W as u32;
        if span.straight {
            self.copy_to::<W, _>(t, straight as usize, stages, to);
        } else {
            let mut w = 0;
            while w < W {
                self.copy_to::<1, _>(t, at(w) as usize, stages, to + w as u32);
                w += 1;
            }
        }
    }
    #[inline(always)]
    #[cfg_attr(not(target_arch = "nvptx64"), track_caller)]
    fn staged<S: Simt, const W: usize>(t: &S, stages: Shared<'_, T>, slot: u32) -> [T; W] {
        stages.get_run(t, slot * W as u32)
    }
    #[cfg_attr(target_arch = "nvptx64", inline(always))]
    #[cfg_attr(not(target_arch = "nvptx64"), track_caller)]
    fn before_decoding<const W: usize, const K: usize>(
        runs: &mut [[T; W]; K],
        change: impl FnOnce(&mut [[T; W]; K]),
    ) {
        change(runs);
    }
    #[inline(always)]
    fn values<const W: usize>(run: [T; W], _: T, _: [T; W]) -> [T; W] {
        run
    }
    #[inline(always)]
    #[cfg_attr(not(target_arch = "nvptx64"), track_caller)]
    fn population<S: Simt>(self, t: &S, shape: &FlowShape, node: [u32; 3], place: u32) -> T {
        self.get(t, shape.population(node, place) as usize)
    }
}

/// Populations in 16 bits, two neighbours a word, the tables of the step before, and the scales of the nodes.
#[derive(Clone, Copy)]
pub(crate) struct Deviations<'a> {
    pub(crate) f: In<'a, u32>,
    pub(crate) before: In<'a, f32>,
    pub(crate) scales: In<'a, f32>,
}

impl Populations<f32> for Deviations<'_> {
    const DEVIATIONS: bool = true;
    type Word = u32;
    /// Four cells: no thread has another number in `f32`.
    type Run<const W: usize> = [u32; 2];

    #[cfg_attr(target_arch = "nvptx64", inline(always))]
    #[cfg_attr(not(target_arch = "nvptx64"), track_caller)]
    fn take<S: Simt, const W: usize, const K: usize>(
        self,
        t: &S,
        span: &Span<W>,
        straight: impl Fn(usize) -> u32,
        at: impl Fn(usize, usize) -> u32,
    ) -> [[u32; 2]; K] {
        let mut runs = [[0; 2]; K];
        if span.straight {
            let mut k = 0;
            while k < K {
                runs[k] = self.f.get_once(t, straight(k) as usize / 2);
                k += 1;
            }
        } else {
            let mut k = 0;
            while k < K {
                let mut w = 0;
                while w < W {
                    let at = at(k, w);
                    let half = self.f.get(t, at as usize / 2) >> (16 * (at % 2)) & 0xffff;
                    runs[k][w / 2] |= half << (16 * (w as u32 % 2));
                    w += 1;
                }
                k += 1;
            }
        }
        runs
    }
    #[inline(always)]
    fn prefetch<S: Simt>(self, t: &S, at: u32) {
        self.f.prefetch(t, at as usize / 2);
    }
    #[cfg_attr(target_arch = "nvptx64", inline(always))]
    #[cfg_attr(not(target_arch = "nvptx64"), track_caller)]
    fn stage<S: Simt, const W: usize>(
        self,
        t: &S,
        span: &Span<W>,
        stages: Shared<'_, u32>,
        slot: u32,
        straight: u32,
        at: impl Fn(usize) -> u32,
    ) {
        if span.straight {
            self.f
                .copy_to::<2, _>(t, straight as usize / 2, stages, 2 * slot);
        } else {
            // Halves of words cannot be copied.
            let [run] = self.take(t, span, |_| straight, |_, w| at(w));
            stages.set_run(t, 2 * slot, run);
        }
    }
    #[inline(always)]
    #[cfg_attr(not(target_arch = "nvptx64"), track_caller)]
    fn staged<S: Simt, const W: usize>(t: &S, stages: Shared<'_, u32>, slot: u32) -> [u32; 2] {
        stages.get_run(t, 2 * slot)
    }
    #[inline(always)]
    fn before_decoding<const W: usize, const K: usize>(
        _: &mut [[u32; 2]; K],
        _: impl FnOnce(&mut [[f32; W]; K]),
    ) {
    }
    #[inline(always)]
    fn values<const W: usize>(run: [u32; 2], scale: f32, maxwellian: [f32; W]) -> [f32; W] {
        let mut values = maxwellian;
        let mut w = 0;
        while w < W {
            let half = run[w / 2] >> (16 * (w as u32 % 2));
            values[w] = Real::mul_add(decode(half), scale, maxwellian[w]);
            w += 1;
        }
        values
    }
    #[inline(always)]
    #[cfg_attr(not(target_arch = "nvptx64"), track_caller)]
    fn population<S: Simt>(
        self,
        t: &S,
        shape: &FlowShape,
        [jx, jy, m]: [u32; 3],
        place: u32,
    ) -> f32 {
        let node = number(shape, [jx, jy, m]);
        let of = |row: u32| self.before.get(t, (row * shape.columns() + place) as usize);
        let maxwellian = of(row::X + jx) * of(shape.row_y() + jy) * of(shape.row_m() + m);
        let scale = self.scales.get(t, 2 * node as usize);
        let at = shape.population([jx, jy, m], place);
        let half = self.f.get(t, at as usize / 2) >> (16 * (at % 2));
        Real::mul_add(decode(half), scale, maxwellian)
    }
}

/// Populations that a pass reads, and where it writes them.
pub(crate) trait Store<'a, T: Real>: Copy {
    /// What is read.
    type Read: Populations<T>;
    /// See [`Populations::DEVIATIONS`].
    const DEVIATIONS: bool = <Self::Read as Populations<T>>::DEVIATIONS;
    /// What is read.
    fn read(self) -> Self::Read;
    /// The tables of the step before.
    fn before(self) -> In<'a, T>;
    /// The random bits of the step.
    fn seed<S: Simt>(self, t: &S) -> u32;
    /// The [`scales`] of a node.
    fn scale<S: Simt>(self, t: &S, node: u32) -> [T; 2];
    /// Writes the populations of neighbouring cells, from the place `at` on; `maxwellian` is what they deviate from.
    fn write<S: Simt, const W: usize>(
        self,
        t: &S,
        at: u32,
        values: [T; W],
        scale: T,
        maxwellian: [T; W],
        seed: u32,
    );
}

/// Populations as they are.
#[derive(Clone, Copy)]
pub(crate) struct Plain<'a, T: Real> {
    pub(crate) f: In<'a, T>,
    pub(crate) next: Out<'a, T>,
}

impl<'a, T: Real> Store<'a, T> for Plain<'a, T> {
    type Read = In<'a, T>;

    #[inline(always)]
    fn read(self) -> In<'a, T> {
        self.f
    }
    /// Never looked at.
    #[inline(always)]
    fn before(self) -> In<'a, T> {
        self.f
    }
    #[inline(always)]
    fn seed<S: Simt>(self, _: &S) -> u32 {
        0
    }
    #[inline(always)]
    fn scale<S: Simt>(self, _: &S, _: u32) -> [T; 2] {
        [T::ONE; 2]
    }
    #[inline(always)]
    #[cfg_attr(not(target_arch = "nvptx64"), track_caller)]
    fn write<S: Simt, const W: usize>(
        self,
        t: &S,
        at: u32,
        values: [T; W],
        _: T,
        _: [T; W],
        _: u32,
    ) {
        self.next.set_run(t, at as usize, values);
    }
}

/// Populations in 16 bits; the step's number lies in memory, for a recorded launch is replayed as it is.
#[derive(Clone, Copy)]
pub(crate) struct Rounded<'a> {
    pub(crate) read: Deviations<'a>,
    pub(crate) clock: In<'a, u32>,
    pub(crate) next: Out<'a, u32>,
}

impl<'a> Store<'a, f32> for Rounded<'a> {
    type Read = Deviations<'a>;

    #[inline(always)]
    fn read(self) -> Deviations<'a> {
        self.read
    }
    #[inline(always)]
    fn before(self) -> In<'a, f32> {
        self.read.before
    }
    #[inline(always)]
    #[cfg_attr(not(target_arch = "nvptx64"), track_caller)]
    fn seed<S: Simt>(self, t: &S) -> u32 {
        seed(self.clock.get(t, 0))
    }
    #[inline(always)]
    #[cfg_attr(not(target_arch = "nvptx64"), track_caller)]
    fn scale<S: Simt>(self, t: &S, node: u32) -> [f32; 2] {
        self.read.scales.get_run(t, 2 * node as usize)
    }
    #[inline(always)]
    #[cfg_attr(not(target_arch = "nvptx64"), track_caller)]
    fn write<S: Simt, const W: usize>(
        self,
        t: &S,
        at: u32,
        values: [f32; W],
        scale: f32,
        maxwellian: [f32; W],
        seed: u32,
    ) {
        let mut words = [0; 2];
        let mut k = 0;
        while k < W / 2 {
            let [first, second] = noise(seed, at / 2 + k as u32);
            let of = |w: usize, noise: u32| encode((values[w] - maxwellian[w]) * scale, noise);
            words[k] = of(2 * k, first) | of(2 * k + 1, second) << 16;
            k += 1;
        }
        self.next.set_run(t, at as usize / 2, words);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn rounding_is_exact_where_it_can_be_and_right_in_the_mean() {
        for half in (0..0x7c00).chain(0x8000..0xfc00) {
            for noise in [0, (1 << CUT) - 1] {
                assert_eq!(encode(decode(half), noise), half);
            }
        }
        // Between two numbers, normal or not, every noise leads to one of them, as often as it is near.
        for (low, part) in [
            (0x0001, 0.25),
            (0x0400, 0.5),
            (0x3c00, 0.125),
            (0x7bfe, 0.75),
        ] {
            let (a, b) = (f64::from(decode(low)), f64::from(decode(low + 1)));
            let value = (a + part * (b - a)) as f32;
            for sign in [0, 0x8000] {
                let value = if sign == 0 { value } else { -value };
                let up = (0..1 << CUT)
                    .filter(|&noise| {
                        let half = encode(value, noise);
                        assert!(half == low | sign || half == (low + 1) | sign);
                        half != low | sign
                    })
                    .count();
                assert_eq!(up as f64, part * f64::from(1 << CUT));
            }
        }
        assert_eq!(encode(f32::INFINITY, 8191), 0x7bff);
        assert_eq!(encode(-1.0, 8191), 0xfbff);
    }

    #[test]
    fn scales_are_powers_of_two_that_leave_room() {
        for largest in [0.0, 1e-40, 1e-9, 0.3, 1.0, 4096.0, 1e6] {
            let [decoding, encoding] = scales(largest);
            assert_eq!(decoding * encoding, 1.0);
            assert_eq!(decoding.to_bits() & 0x007f_ffff, 0);
            let room = f64::from(decode(0x7bff)) * f64::from(decoding);
            assert!(room >= 15.0 * largest, "{largest}: {room}");
        }
    }

    #[test]
    fn noise_is_even() {
        let (mut sums, mut equal) = ([0_u64; 2], 0);
        for word in 0..1 << 16 {
            let (now, later) = (noise(seed(7), word), noise(seed(8), word));
            for (sum, bits) in sums.iter_mut().zip(now) {
                assert!(bits < 1 << CUT);
                *sum += u64::from(bits);
            }
            equal += u32::from(now[0] == later[0]);
        }
        for sum in sums {
            let mean = sum as f64 / f64::from(1 << 16);
            assert!((mean - 4095.5).abs() < 40.0, "{mean}");
        }
        assert!(equal < 40);
    }
}
