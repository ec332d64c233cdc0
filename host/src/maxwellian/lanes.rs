//! Eight numbers at a time, as the vector units of a CPU take them, and the exponential function of eight.

#![allow(
    clippy::needless_range_loop,
    reason = "a lane index runs over several arrays at once, which the compiler makes vectors of"
)]

use rarefy_kernels::Real;

pub(crate) use crate::simd::{Job, fma, on_widest};

/// Numbers that are treated together.
pub(crate) const LANES: usize = 8;

pub(crate) type Lanes<T> = [T; LANES];

/// Numbers that fill lanes.
pub(crate) trait LaneReal: Real {
    /// exp to a few units in the last place, without a branch. Arguments beyond 700 (`f64`) or 80 (`f32`) on either side count as that; NaN stays NaN.
    fn exp_fast<const FUSED: bool>(self) -> Self;

    /// The same in all lanes.
    #[inline(always)]
    fn exp_lanes<const FUSED: bool>(x: Lanes<Self>) -> Lanes<Self> {
        let mut y = [Self::ZERO; LANES];
        for l in 0..LANES {
            y[l] = x[l].exp_fast::<FUSED>();
        }
        y
    }
}

macro_rules! exp_fast {
    ($t:ident, $bits:ident, $mantissa:literal, $bias:literal, $magic:expr, $most:literal, $high:expr, $low:expr, [$($c:expr),*]) => {
        impl LaneReal for $t {
            #[inline(always)]
            fn exp_fast<const FUSED: bool>(self) -> Self {
                const MAGIC: $t = $magic;
                let x = self.clamp(-$most, $most);
                // The nearest multiple of ln 2 is taken off; adding the magic number leaves its count in the low bits.
                let shifted = fma::<$t, FUSED>(x, std::$t::consts::LOG2_E, MAGIC);
                let count = shifted - MAGIC;
                let r = fma::<$t, FUSED>(count, -$high, x);
                let r = fma::<$t, FUSED>(count, -$low, r);
                let mut p: $t = 0.0;
                $(p = fma::<$t, FUSED>(p, r, $c);)*
                let exponent = shifted.to_bits().wrapping_sub(MAGIC.to_bits()).wrapping_add($bias);
                p * $t::from_bits(exponent << $mantissa)
            }
        }
    };
}
exp_fast! {
    f64, u64, 52, 1023, 6_755_399_441_055_744.0, 700.0, 6.931_471_803_691_238e-1, 1.908_214_929_270_587_7e-10,
    [
        1.0 / 479_001_600.0, 1.0 / 39_916_800.0, 1.0 / 3_628_800.0, 1.0 / 362_880.0, 1.0 / 40_320.0, 1.0 / 5_040.0, 1.0 / 720.0,
        1.0 / 120.0, 1.0 / 24.0, 1.0 / 6.0, 0.5, 1.0, 1.0
    ]
}
exp_fast! {
    f32, u32, 23, 127, 12_582_912.0, 80.0, 6.931_457_5e-1, 1.428_606_8e-6,
    [1.0 / 5_040.0, 1.0 / 720.0, 1.0 / 120.0, 1.0 / 24.0, 1.0 / 6.0, 0.5, 1.0, 1.0]
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn exponentials_are_accurate() {
        for k in 0..8000 {
            let x = 292.0 - f64::from(k) * 0.0731;
            let [y, ..] = f64::exp_lanes::<false>([x; LANES]);
            assert!(
                (y / x.exp() - 1.0).abs() < 1e-15 * (1.0 + 0.1 * x.abs()),
                "{x}"
            );
            if x.abs() < 80.0 {
                let [y, ..] = f32::exp_lanes::<true>([x as f32; LANES]);
                let error = f64::from(y) / f64::from(x as f32).exp() - 1.0;
                assert!(error.abs() < 4e-7, "{x}: {error:e}");
            }
        }
        let [far, near, none, ..] =
            f64::exp_lanes::<true>([-1e9, 0.0, f64::NAN, 0.0, 0.0, 0.0, 0.0, 0.0]);
        assert!(far > 0.0 && far < 1e-300 && near == 1.0 && none.is_nan());
        assert!(f64::exp_lanes::<true>([f64::INFINITY; LANES])[0] > 1e300);
    }
}
