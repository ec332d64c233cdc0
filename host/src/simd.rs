//! Vector registers, and the choice among those that the processor at hand turns out to have.
//!
//! A [`Job`] is a loop over arrays, which the compiler turns into vectors. It does not do so reliably for sums that are to stay in registers:
//! these are a [`RegisterJob`], over [`Registers`]. Either is written once and compiled for each kind of vector unit.

use rarefy_kernels::Real;

/// One vector register of numbers of type `T`.
///
/// # Safety
/// The methods may be called only where the processor has the vector unit; [`on_registers`] sees to that for everything in a [`RegisterJob`].
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
    /// Whether products and sums are fused in one instruction.
    const FUSED: bool;
}

/// `f32` or `f64`, the types that fill vector registers of the CPU.
///
/// It cannot be implemented outside this crate.
pub trait CpuReal: Real + sealed::InRegisters {}
impl CpuReal for f32 {}
impl CpuReal for f64 {}

/// Keeps the traits of this file from being implemented elsewhere: nobody outside can name them.
mod sealed {
    use crate::simd::{Registers, Vector};

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

/// A computation over vector registers that is compiled for each kind of them.
pub(crate) trait RegisterJob {
    type Output;
    /// Does it. Implementations and what they call must be `#[inline(always)]`, to be compiled for the right unit.
    ///
    /// # Safety
    /// The processor has the vector unit.
    unsafe fn run<R: Registers>(self) -> Self::Output;
}

/// A computation over arrays, which the compiler makes vectors of, compiled for each kind of vector unit.
pub(crate) trait Job {
    type Output;
    /// Does it; `FUSED` where products and sums are fused in one instruction. Implementations and what they call must be `#[inline(always)]`.
    fn run<const FUSED: bool>(self) -> Self::Output;
}

/// Does the work with the widest registers of the processor; which those are depends on nothing else.
#[inline]
pub(crate) fn on_registers<J: RegisterJob>(job: J) -> J::Output {
    let unit = Unit::widest();
    #[cfg(test)]
    let unit = unit.at_most(BEST.load(std::sync::atomic::Ordering::SeqCst));
    unit.run(job)
}

/// The same for loops over arrays.
#[inline]
pub(crate) fn on_widest<J: Job>(job: J) -> J::Output {
    Unit::widest().run(OverArrays(job))
}

/// `a * b + c`, in one instruction where there is one.
#[inline(always)]
pub(crate) fn fma<T: Real, const FUSED: bool>(a: T, b: T, c: T) -> T {
    if FUSED { a.mul_add(b, c) } else { a * b + c }
}

/// A [`Job`] as a [`RegisterJob`] that names no registers.
struct OverArrays<J>(J);

impl<J: Job> RegisterJob for OverArrays<J> {
    type Output = J::Output;

    #[inline(always)]
    unsafe fn run<R: Registers>(self) -> J::Output {
        if R::FUSED {
            self.0.run::<true>()
        } else {
            self.0.run::<false>()
        }
    }
}

/// Lets a test choose a lesser variant of what [`on_registers`] runs: 2 for all, 1 without AVX-512, 0 for the portable one.
#[cfg(test)]
pub(crate) static BEST: std::sync::atomic::AtomicU8 = std::sync::atomic::AtomicU8::new(2);

/// A vector unit that code is compiled for and the processor has.
#[derive(Clone, Copy)]
struct Unit(Kind);

/// The kinds of vector units that code is compiled for.
#[derive(Clone, Copy)]
enum Kind {
    Portable,
    #[cfg(target_arch = "x86_64")]
    Avx2,
    #[cfg(target_arch = "x86_64")]
    Avx512,
}

impl Unit {
    /// The best that the processor has.
    #[inline]
    fn widest() -> Self {
        #[cfg(target_arch = "x86_64")]
        if is_x86_feature_detected!("avx2") && is_x86_feature_detected!("fma") {
            let wide = is_x86_feature_detected!("avx512f")
                && is_x86_feature_detected!("avx512vl")
                && is_x86_feature_detected!("avx512dq")
                && is_x86_feature_detected!("avx512bw");
            return Self(if wide { Kind::Avx512 } else { Kind::Avx2 });
        }
        Self(Kind::Portable)
    }

    /// The same, or what [`BEST`] says if that is less.
    #[cfg(test)]
    fn at_most(self, best: u8) -> Self {
        match (best, self.0) {
            (0, _) => Self(Kind::Portable),
            #[cfg(target_arch = "x86_64")]
            (1, Kind::Avx512) => Self(Kind::Avx2),
            _ => self,
        }
    }

    /// Runs the variant of a job for this unit.
    #[inline]
    fn run<J: RegisterJob>(self, job: J) -> J::Output {
        match self.0 {
            // SAFETY: every processor has the instructions that this program is compiled for.
            Kind::Portable => unsafe { job.run::<Portable>() },
            // SAFETY: the processor has the unit, or this value would not be.
            #[cfg(target_arch = "x86_64")]
            Kind::Avx2 => unsafe { x86::avx2(job) },
            // SAFETY: as before.
            #[cfg(target_arch = "x86_64")]
            Kind::Avx512 => unsafe { x86::avx512(job) },
        }
    }
}

/// Arrays that fit the registers every processor has.
struct Portable;

impl Registers for Portable {
    type F32 = [f32; 4];
    type F64 = [f64; 4];
    const FUSED: bool = cfg!(target_feature = "fma");
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

    use crate::simd::{RegisterJob, Registers, Vector};

    #[target_feature(enable = "avx512f,avx512vl,avx512dq,avx512bw,avx2,fma")]
    pub(super) fn avx512<J: RegisterJob>(job: J) -> J::Output {
        // SAFETY: the features of this function.
        unsafe { job.run::<Avx512>() }
    }

    #[target_feature(enable = "avx2,fma")]
    pub(super) fn avx2<J: RegisterJob>(job: J) -> J::Output {
        // SAFETY: the features of this function.
        unsafe { job.run::<Avx2>() }
    }

    struct Avx512;
    struct Avx2;

    impl Registers for Avx512 {
        type F32 = __m512;
        type F64 = __m512d;
        const FUSED: bool = true;
    }

    impl Registers for Avx2 {
        type F32 = __m256;
        type F64 = __m256d;
        const FUSED: bool = true;
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
