//! The arithmetic that a kernel may ask for.
//!
//! `+ - * /`, [`Real::mul_add`] and [`Real::sqrt`] are rounded once, to nearest, on every machine, so a
//! kernel made of them has the same bits in the emulator and on a GPU. A product and a sum are never
//! fused implicitly. Transcendental functions come from `libm` on the device and from the
//! platform on the host; they agree to a few units in the last place.

use core::ops::{Add, AddAssign, Div, Mul, MulAssign, Neg, Sub, SubAssign};

use crate::element::Word;
use crate::lane::Lane;

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
    /// Magnitude.
    fn abs(self) -> Self;
    /// The larger of two numbers; the other one where one is NaN.
    fn max(self, other: Self) -> Self;
    /// The smaller of two numbers; the other one where one is NaN.
    fn min(self, other: Self) -> Self;
    /// The nearest integer, ties to even, as a number and as an integer; for magnitudes below 2^22 (`f32`) or 2^31.
    fn nearest_int(self) -> (Self, i32);
    /// 2^power, exactly, for powers whose result is a normal number.
    fn power_of_two(power: i32) -> Self;
    /// 2^self by the hardware's special function unit: relative error 2^-22, subnormal numbers are 0. In `f64`, which the unit does
    /// not know, by the exponential function.
    fn hardware_exp2(self) -> Self;
    /// 1/self by the hardware's special function unit: off by up to 1 unit in the last place. In `f64` two steps of Newton's method follow: off by a few
    /// units, and NaN where `self` or the result is no normal number.
    fn hardware_reciprocal(self) -> Self;
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
        $t:ident, $name:literal, $fma:ident, $sqrt:ident, $exp:path, $ln:path, $exp2:path, $reciprocal:path, $bits:ident,
        $fraction_bits:literal, $bias:literal
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
            #[inline(always)]
            fn nearest_int(self) -> (Self, i32) {
                // Adding 1.5 2^fraction leaves no bits for a fraction, and the integer in the low bits.
                const SHIFT: $t = 1.5 * (1_u64 << $fraction_bits) as $t;
                let shifted = self + SHIFT;
                let integer = shifted.to_bits().wrapping_sub(SHIFT.to_bits()) as i32;
                (shifted - SHIFT, integer)
            }
            #[inline(always)]
            fn power_of_two(power: i32) -> Self {
                $t::from_bits((power.wrapping_add($bias) as $bits) << $fraction_bits)
            }
            #[inline(always)]
            fn hardware_exp2(self) -> Self {
                $exp2(self)
            }
            #[inline(always)]
            fn hardware_reciprocal(self) -> Self {
                $reciprocal(self)
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
    special::exp2,
    special::reciprocal,
    u32,
    23,
    127
);
real!(
    f64,
    "f64",
    fmaf64,
    sqrtf64,
    libm::exp,
    libm::log,
    exp2,
    reciprocal,
    u64,
    52,
    1023
);

/// Without the table of `libm::exp2`, which would lie in global memory.
#[inline(always)]
fn exp2(x: f64) -> f64 {
    libm::exp(x * core::f64::consts::LN_2)
}

#[cfg(target_arch = "nvptx64")]
#[inline(always)]
fn reciprocal(x: f64) -> f64 {
    let first: f64;
    // SAFETY: reads and writes registers only.
    unsafe {
        core::arch::asm!(
            "rcp.approx.ftz.f64 {y}, {x};",
            y = out(reg64) first,
            x = in(reg64) x,
            options(pure, nomem, nostack),
        );
    }
    // 20 bits, then 40, then all.
    let error = Real::mul_add(-x, first, 1.0);
    let second = Real::mul_add(first, error, first);
    let error = Real::mul_add(-x, second, 1.0);
    Real::mul_add(second, error, second)
}

#[cfg(not(target_arch = "nvptx64"))]
#[inline(always)]
fn reciprocal(x: f64) -> f64 {
    1.0 / x
}

/// The special function unit.
#[cfg(target_arch = "nvptx64")]
mod special {
    use core::arch::asm;

    macro_rules! function {
        ($name:ident, $instruction:literal) => {
            #[inline(always)]
            pub(super) fn $name(x: f32) -> f32 {
                let y: f32;
                // SAFETY: reads and writes registers only.
                unsafe {
                    asm!(
                        concat!($instruction, " {y}, {x};"),
                        y = out(reg32) y,
                        x = in(reg32) x,
                        options(pure, nomem, nostack),
                    );
                }
                y
            }
        };
    }
    function!(exp2, "ex2.approx.ftz.f32");
    function!(reciprocal, "rcp.approx.ftz.f32");
}

/// The special function unit, emulated: the exact function, rounded as coarsely as NVIDIA's PTX manual allows.
#[cfg(not(target_arch = "nvptx64"))]
mod special {
    /// Keeps 21 binary digits behind the first: the relative error is at most 2^-22.
    pub(super) fn exp2(x: f32) -> f32 {
        let exact = f64::from(x).exp2() as f32;
        if !exact.is_normal() {
            return if exact.is_subnormal() { 0.0 } else { exact };
        }
        f32::from_bits((exact.to_bits() + 2) & !3)
    }

    /// The unit rounds otherwise in the last place, and treats subnormal numbers as 0 on both sides.
    pub(super) fn reciprocal(x: f32) -> f32 {
        let flush = |x: f32| if x.is_subnormal() { 0.0 * x } else { x };
        flush(1.0 / flush(x))
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

/// The upper word of `high : low` shifted left by the lowest five bits of `shift`.
#[inline(always)]
pub fn funnel_left(high: u32, low: u32, shift: u32) -> u32 {
    device_or_host!(
        {
            let word: u32;
            // SAFETY: arithmetic of registers.
            unsafe {
                core::arch::asm!(
                    "shf.l.wrap.b32 {word}, {low}, {high}, {shift};",
                    word = out(reg32) word,
                    low = in(reg32) low,
                    high = in(reg32) high,
                    shift = in(reg32) shift,
                    options(pure, nomem, nostack, preserves_flags),
                );
            }
            word
        },
        (((u64::from(high) << 32 | u64::from(low)) << (shift % 32)) >> 32) as u32
    )
}

/// The product of two words in full.
///
/// In Rust's terms the optimiser may prove a factor positive, and then multiply 64 by 64 bits.
#[inline(always)]
pub fn wide_product(a: i32, b: i32) -> i64 {
    device_or_host!(
        {
            let product: i64;
            // SAFETY: arithmetic of registers.
            unsafe {
                core::arch::asm!(
                    "mul.wide.s32 {product}, {a}, {b};",
                    product = out(reg64) product,
                    a = in(reg32) a,
                    b = in(reg32) b,
                    options(pure, nomem, nostack, preserves_flags),
                );
            }
            product
        },
        i64::from(a) * i64::from(b)
    )
}
