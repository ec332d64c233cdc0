//! The arithmetic that a kernel may ask for.
//!
//! `+ - * /`, [`Real::mul_add`] and [`Real::sqrt`] are rounded once, to nearest, on every machine, so a
//! kernel made of them gives the same bits in the emulator and on a GPU. A product and a sum are never
//! fused behind the author's back. Transcendental functions come from `libm` on the device and from the
//! platform on the host; they agree to a few units in the last place.

use core::ops::{Add, AddAssign, Div, Mul, MulAssign, Neg, Sub, SubAssign};

use crate::memory::Word;
use crate::simt::Lane;

/// `f32` or `f64`.
pub trait Real:
    Word
    + Lane
    + PartialOrd
    + Default
    + core::fmt::Debug
    + core::fmt::Display
    + Add<Output = Self>
    + Sub<Output = Self>
    + Mul<Output = Self>
    + Div<Output = Self>
    + Neg<Output = Self>
    + AddAssign
    + SubAssign
    + MulAssign
{
    /// Name of the type, as entry points and file formats spell it.
    const NAME: &'static str;
    /// Zero.
    const ZERO: Self;
    /// One.
    const ONE: Self;
    /// Distance from 1 to the next larger number.
    const EPSILON: Self;

    /// Nearest value to an `f64`.
    fn from_f64(value: f64) -> Self;
    /// The value as an `f64`, exactly.
    fn to_f64(self) -> f64;
    /// `self * factor + term`, rounded once.
    fn mul_add(self, factor: Self, term: Self) -> Self;
    /// Square root, rounded to nearest.
    fn sqrt(self) -> Self;
    /// Exponential function.
    fn exp(self) -> Self;
    /// Natural logarithm.
    fn ln(self) -> Self;
    /// 2^self in one instruction where there is one: in `f32` off by up to 2^-22, and 0 below 2^-126.
    fn exp2_fast(self) -> Self;
    /// 1/self in one instruction where there is one: in `f32` off by up to 1 unit in the last place.
    fn reciprocal_fast(self) -> Self;
    /// Magnitude.
    fn abs(self) -> Self;
    /// The larger of two numbers; the other one where one is NaN.
    fn max(self, other: Self) -> Self;
    /// The smaller of two numbers; the other one where one is NaN.
    fn min(self, other: Self) -> Self;
}

#[cfg(target_arch = "nvptx64")]
macro_rules! device_or_host {
    ($device:expr, $host:expr) => {
        $device
    };
}
#[cfg(not(target_arch = "nvptx64"))]
macro_rules! device_or_host {
    ($device:expr, $host:expr) => {
        $host
    };
}

macro_rules! real {
    (
        $t:ident, $name:literal, $fma:ident, $sqrt:ident, $exp:path, $ln:path, $exp2:path, $reciprocal:path
    ) => {
        impl Real for $t {
            const NAME: &'static str = $name;
            const ZERO: Self = 0.0;
            const ONE: Self = 1.0;
            const EPSILON: Self = $t::EPSILON;

            #[inline(always)]
            fn from_f64(value: f64) -> Self {
                value as $t
            }
            #[inline(always)]
            fn to_f64(self) -> f64 {
                f64::from(self)
            }
            #[inline(always)]
            fn mul_add(self, factor: Self, term: Self) -> Self {
                device_or_host!(
                    core::intrinsics::$fma(self, factor, term),
                    $t::mul_add(self, factor, term)
                )
            }
            #[inline(always)]
            fn sqrt(self) -> Self {
                device_or_host!(core::intrinsics::$sqrt(self), $t::sqrt(self))
            }
            #[inline(always)]
            fn exp(self) -> Self {
                device_or_host!($exp(self), $t::exp(self))
            }
            #[inline(always)]
            fn ln(self) -> Self {
                device_or_host!($ln(self), $t::ln(self))
            }
            #[inline(always)]
            fn exp2_fast(self) -> Self {
                device_or_host!($exp2(self), $t::exp2(self))
            }
            #[inline(always)]
            fn reciprocal_fast(self) -> Self {
                device_or_host!($reciprocal(self), 1.0 / self)
            }
            #[inline(always)]
            fn abs(self) -> Self {
                $t::abs(self)
            }
            #[inline(always)]
            fn max(self, other: Self) -> Self {
                $t::max(self, other)
            }
            #[inline(always)]
            fn min(self, other: Self) -> Self {
                $t::min(self, other)
            }
        }
    };
}
real!(
    f32,
    "f32",
    fmaf32,
    sqrtf32,
    libm::expf,
    libm::logf,
    fast::exp2,
    fast::reciprocal
);
real!(
    f64,
    "f64",
    fmaf64,
    sqrtf64,
    libm::exp,
    libm::log,
    exp2_of_exp,
    quotient_of_one
);

#[cfg(target_arch = "nvptx64")]
#[inline(always)]
fn exp2_of_exp(x: f64) -> f64 {
    libm::exp(x * core::f64::consts::LN_2)
}

#[cfg(target_arch = "nvptx64")]
#[inline(always)]
fn quotient_of_one(x: f64) -> f64 {
    1.0 / x
}

/// The special function unit.
#[cfg(target_arch = "nvptx64")]
mod fast {
    use core::arch::asm;

    #[inline(always)]
    pub(super) fn exp2(x: f32) -> f32 {
        let y: f32;
        // SAFETY: one instruction on registers.
        unsafe {
            asm!("ex2.approx.ftz.f32 {y}, {x};", y = out(reg32) y, x = in(reg32) x, options(pure, nomem, nostack));
        }
        y
    }

    #[inline(always)]
    pub(super) fn reciprocal(x: f32) -> f32 {
        let y: f32;
        // SAFETY: one instruction on registers.
        unsafe {
            asm!("rcp.approx.ftz.f32 {y}, {x};", y = out(reg32) y, x = in(reg32) x, options(pure, nomem, nostack));
        }
        y
    }
}

/// `numerator / denominator` without a panic path: 0 where the denominator is 0.
#[inline(always)]
pub const fn quotient(numerator: u32, denominator: u32) -> u32 {
    match numerator.checked_div(denominator) {
        Some(quotient) => quotient,
        None => 0,
    }
}
