//! Vector registers, and the choice among those that the processor at hand turns out to have.
//!
//! A [`Job`] is written once, over [`Registers`], and compiled once for each kind of them. Loops over arrays of fixed length would do
//! where the compiler turns them into vectors, but it does not do so reliably for sums that are to stay in registers.

use rarefy_kernels::Real;

/// One vector register of numbers of type `T`.
///
/// # Safety
/// The methods may be called only where the processor has the vector unit; [`dispatch`] sees to that for everything in a [`Job`].
pub trait Vector<T>: Copy {
    /// Numbers in a register; a power of two, at most 16.
    const LANES: usize;
    /// The `LANES` numbers from `from` on, which must be valid.
    unsafe fn load(from: *const T) -> Self;
    /// Writes the numbers from `to` on, which must be valid for as many.
    unsafe fn store(self, to: *mut T);
    /// One number in all lanes.
    unsafe fn splat(value: T) -> Self;
    unsafe fn add(self, other: Self) -> Self;
    unsafe fn mul(self, other: Self) -> Self;
    /// `self * factor + term`, in one rounding where that is one instruction.
    unsafe fn mul_add(self, factor: Self, term: Self) -> Self;
    /// Adds the numbers to `LANES` wider ones from `to` on, which must be valid.
    unsafe fn add_to(self, to: *mut f64);
}

/// A kind of vector unit.
pub trait Registers {
    /// Registers of `f32`.
    type F32: Vector<f32>;
    /// Registers of `f64`.
    type F64: Vector<f64>;
}

/// `f32` or `f64`, the types that fill vector registers of the CPU.
///
/// It cannot be implemented outside this crate.
pub trait CpuReal: Real + sealed::InRegisters {}
impl CpuReal for f32 {}
impl CpuReal for f64 {}

/// Keeps the traits of this file from being implemented elsewhere: nobody outside can name them.
mod sealed {
    use crate::collision::cpu::simd::{Registers, Vector};

    pub trait InRegisters: Sized {
        type Of<R: Registers>: Vector<Self>;
    }
    impl InRegisters for f32 {
        type Of<R: Registers> = R::F32;
    }
    impl InRegisters for f64 {
        type Of<R: Registers> = R::F64;
    }
}

/// A computation that is compiled for each kind of vector unit.
pub(super) trait Job {
    /// Does it. Implementations and what they call must be `#[inline(always)]`, to be compiled for the right unit.
    ///
    /// # Safety
    /// The processor has the vector unit.
    unsafe fn run<R: Registers>(self);
}

/// Lets a test choose a lesser variant: 2 for all, 1 without AVX-512, 0 for the portable one.
#[cfg(test)]
pub(super) static BEST: std::sync::atomic::AtomicU8 = std::sync::atomic::AtomicU8::new(2);

/// Runs the best variant of a job. Which one it is depends on the processor only.
pub(super) fn dispatch(job: impl Job) {
    #[cfg(target_arch = "x86_64")]
    {
        #[cfg(test)]
        match BEST.load(std::sync::atomic::Ordering::SeqCst) {
            // SAFETY: every processor has the instructions that this program is compiled for.
            0 => return unsafe { job.run::<Portable>() },
            1 if is_x86_feature_detected!("avx2") && is_x86_feature_detected!("fma") => {
                // SAFETY: the processor has the features.
                return unsafe { x86::avx2(job) };
            }
            _ => {}
        }
        if is_x86_feature_detected!("avx512f") && is_x86_feature_detected!("fma") {
            // SAFETY: the processor has the features.
            return unsafe { x86::avx512(job) };
        }
        if is_x86_feature_detected!("avx2") && is_x86_feature_detected!("fma") {
            // SAFETY: the processor has the features.
            return unsafe { x86::avx2(job) };
        }
    }
    // SAFETY: every processor has the instructions that this program is compiled for.
    unsafe { job.run::<Portable>() }
}

/// Arrays that fit the registers every processor has.
struct Portable;

impl Registers for Portable {
    type F32 = [f32; 4];
    type F64 = [f64; 4];
}

impl<T: Real> Vector<T> for [T; 4] {
    const LANES: usize = 4;
    #[inline(always)]
    unsafe fn load(from: *const T) -> Self {
        // SAFETY: the caller vouches for four numbers; an array is aligned as its elements.
        unsafe { from.cast::<Self>().read() }
    }
    #[inline(always)]
    unsafe fn store(self, to: *mut T) {
        // SAFETY: as for `load`.
        unsafe { to.cast::<Self>().write(self) }
    }
    #[inline(always)]
    unsafe fn splat(value: T) -> Self {
        [value; 4]
    }
    #[inline(always)]
    unsafe fn add(self, other: Self) -> Self {
        [0, 1, 2, 3].map(|k| self[k] + other[k])
    }
    #[inline(always)]
    unsafe fn mul(self, other: Self) -> Self {
        [0, 1, 2, 3].map(|k| self[k] * other[k])
    }
    #[inline(always)]
    unsafe fn mul_add(self, factor: Self, term: Self) -> Self {
        [0, 1, 2, 3].map(|k| self[k] * factor[k] + term[k])
    }
    #[inline(always)]
    unsafe fn add_to(self, to: *mut f64) {
        for (k, value) in self.into_iter().enumerate() {
            // SAFETY: the caller vouches for four numbers.
            unsafe { *to.add(k) += value.to_f64() };
        }
    }
}

#[cfg(target_arch = "x86_64")]
mod x86 {
    use std::arch::x86_64::*;

    use crate::collision::cpu::simd::{Job, Registers, Vector};

    #[target_feature(enable = "avx512f,avx2,fma")]
    pub(super) fn avx512(job: impl Job) {
        // SAFETY: the features of this function.
        unsafe { job.run::<Avx512>() }
    }

    #[target_feature(enable = "avx2,fma")]
    pub(super) fn avx2(job: impl Job) {
        // SAFETY: the features of this function.
        unsafe { job.run::<Avx2>() }
    }

    struct Avx512;
    struct Avx2;

    impl Registers for Avx512 {
        type F32 = __m512;
        type F64 = __m512d;
    }

    impl Registers for Avx2 {
        type F32 = __m256;
        type F64 = __m256d;
    }

    macro_rules! vector {
        (
            $register:ty, $t:ty, $lanes:literal, $load:ident, $store:ident, $splat:ident, $add:ident, $mul:ident, $fma:ident,
            |$value:ident, $to:ident| $add_to:block
        ) => {
            impl Vector<$t> for $register {
                const LANES: usize = $lanes;
                #[inline(always)]
                unsafe fn load(from: *const $t) -> Self {
                    // SAFETY: the caller vouches for the numbers and the processor; no alignment is needed.
                    unsafe { $load(from) }
                }
                #[inline(always)]
                unsafe fn store(self, to: *mut $t) {
                    // SAFETY: as for `load`.
                    unsafe { $store(to, self) }
                }
                #[inline(always)]
                unsafe fn splat(value: $t) -> Self {
                    // SAFETY: the caller vouches for the processor.
                    unsafe { $splat(value) }
                }
                #[inline(always)]
                unsafe fn add(self, other: Self) -> Self {
                    // SAFETY: the caller vouches for the processor.
                    unsafe { $add(self, other) }
                }
                #[inline(always)]
                unsafe fn mul(self, other: Self) -> Self {
                    // SAFETY: the caller vouches for the processor.
                    unsafe { $mul(self, other) }
                }
                #[inline(always)]
                unsafe fn mul_add(self, factor: Self, term: Self) -> Self {
                    // SAFETY: the caller vouches for the processor.
                    unsafe { $fma(self, factor, term) }
                }
                #[inline(always)]
                unsafe fn add_to(self, $to: *mut f64) {
                    let $value = self;
                    // SAFETY: the caller vouches for the numbers and the processor.
                    unsafe { $add_to }
                }
            }
        };
    }
    vector! {
        __m512d, f64, 8, _mm512_loadu_pd, _mm512_storeu_pd, _mm512_set1_pd, _mm512_add_pd, _mm512_mul_pd, _mm512_fmadd_pd,
        |value, to| { _mm512_storeu_pd(to, _mm512_add_pd(_mm512_loadu_pd(to), value)) }
    }
    vector! {
        __m256d, f64, 4, _mm256_loadu_pd, _mm256_storeu_pd, _mm256_set1_pd, _mm256_add_pd, _mm256_mul_pd, _mm256_fmadd_pd,
        |value, to| { _mm256_storeu_pd(to, _mm256_add_pd(_mm256_loadu_pd(to), value)) }
    }
    vector! {
        __m512, f32, 16, _mm512_loadu_ps, _mm512_storeu_ps, _mm512_set1_ps, _mm512_add_ps, _mm512_mul_ps, _mm512_fmadd_ps,
        |value, to| {
            let swapped = _mm512_shuffle_f32x4::<0b01_00_11_10>(value, value);
            let low = _mm512_cvtps_pd(_mm512_castps512_ps256(value));
            let high = _mm512_cvtps_pd(_mm512_castps512_ps256(swapped));
            low.add_to(to);
            high.add_to(to.add(8));
        }
    }
    vector! {
        __m256, f32, 8, _mm256_loadu_ps, _mm256_storeu_ps, _mm256_set1_ps, _mm256_add_ps, _mm256_mul_ps, _mm256_fmadd_ps,
        |value, to| {
            _mm256_cvtps_pd(_mm256_castps256_ps128(value)).add_to(to);
            _mm256_cvtps_pd(_mm256_extractf128_ps::<1>(value)).add_to(to.add(4));
        }
    }
}
