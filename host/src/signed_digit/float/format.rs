//! The floating-point formats that are summed.

use rarefy_kernels::Real;

use super::accumulator::ExactAccumulator;
use super::cpu;
use super::launch::Launch;

/// `f32` or `f64`: what can be summed exactly, and what a sum can be rounded to.
pub trait Float: Real + Launch + private::Sealed {
    /// Bits of the mantissa, the hidden one included.
    #[doc(hidden)]
    const MANTISSA_BITS: usize;
    /// Exponent of the smallest positive number.
    #[doc(hidden)]
    const LEAST_EXPONENT: i32;
    #[doc(hidden)]
    const INFINITY_BITS: u64;
    #[doc(hidden)]
    const SIGN_BIT: u64;
    #[doc(hidden)]
    fn from_bits_u64(bits: u64) -> Self;
    #[doc(hidden)]
    fn to_bits_u64(self) -> u64;
    /// Adds the sum of a slice, or of its magnitudes, on the calling thread.
    #[doc(hidden)]
    fn add_sum<const MAGNITUDE: bool>(x: &[Self], to: &mut ExactAccumulator);
    /// Adds the dot product of two slices of one length, on the calling thread.
    #[doc(hidden)]
    fn add_dot(x: &[Self], y: &[Self], to: &mut ExactAccumulator);
}

impl Float for f64 {
    const MANTISSA_BITS: usize = 53;
    const LEAST_EXPONENT: i32 = -1074;
    const INFINITY_BITS: u64 = 0x7ff << 52;
    const SIGN_BIT: u64 = 1 << 63;

    fn from_bits_u64(bits: u64) -> Self {
        Self::from_bits(bits)
    }
    fn to_bits_u64(self) -> u64 {
        self.to_bits()
    }
    fn add_sum<const MAGNITUDE: bool>(x: &[Self], to: &mut ExactAccumulator) {
        cpu::sum_f64::<MAGNITUDE>(x, to);
    }
    fn add_dot(x: &[Self], y: &[Self], to: &mut ExactAccumulator) {
        cpu::dot_f64(x, y, to);
    }
}

impl Float for f32 {
    const MANTISSA_BITS: usize = 24;
    const LEAST_EXPONENT: i32 = -149;
    const INFINITY_BITS: u64 = 0xff << 23;
    const SIGN_BIT: u64 = 1 << 31;

    fn from_bits_u64(bits: u64) -> Self {
        Self::from_bits(bits as u32)
    }
    fn to_bits_u64(self) -> u64 {
        u64::from(self.to_bits())
    }
    fn add_sum<const MAGNITUDE: bool>(x: &[Self], to: &mut ExactAccumulator) {
        cpu::sum_f32::<MAGNITUDE>(x, to);
    }
    fn add_dot(x: &[Self], y: &[Self], to: &mut ExactAccumulator) {
        cpu::dot_f32(x, y, to);
    }
}

mod private {
    /// Keeps other types out.
    pub trait Sealed {}
    impl Sealed for f32 {}
    impl Sealed for f64 {}
}
