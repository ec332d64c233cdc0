//! The exponential function without a table: that of `libm` indexes an array, which a GPU keeps in slow local memory.

use crate::math::Real;

/// exp(x) to about one unit in the last place, for |x| up to 700 (`f64`) or 80 (`f32`); beyond, the value at that end.
///
/// Made of additions, products and fused products only, so the bits are the same on every machine. 2^k is split off with k the integer nearest
/// to x / ln 2; on the rest, |r| <= 0.3466, the Taylor polynomial of degree 13 (7 in `f32`) is off by 6e-18 (5e-9) relative.
#[inline(always)]
pub(crate) fn exponential<T: Real>(x: T) -> T {
    // Decided at compile time; the conversions of an f32 to f64 and back vanish.
    if T::EPSILON.to_f64() > 1e-10 {
        T::from_f64(f64::from(single(x.to_f64() as f32)))
    } else {
        T::from_f64(double(x.to_f64()))
    }
}

macro_rules! exponential {
    (
        $name:ident, $t:ident, $bits:ident, $fraction_bits:literal, $bias:literal, $magic:literal, $end:literal, $high:literal, $low:literal,
        [$($c:expr),*]
    ) => {
        #[inline(always)]
        fn $name(x: $t) -> $t {
            let x = Real::max(Real::min(x, $end), -$end);
            // Adding the magic number, 1.5 2^fraction, leaves the nearest integer in the low bits.
            let shifted = Real::mul_add(x, core::$t::consts::LOG2_E, $magic);
            let count = shifted - $magic;
            let r = Real::mul_add(count, -$high, x);
            let r = Real::mul_add(count, -$low, r);
            let mut p: $t = 0.0;
            $(p = Real::mul_add(p, r, $c);)*
            let magic: $t = $magic;
            let exponent = shifted.to_bits().wrapping_sub(magic.to_bits()).wrapping_add($bias);
            p * $t::from_bits(exponent << $fraction_bits)
        }
    };
}
exponential! {
    double, f64, u64, 52, 1023, 6_755_399_441_055_744.0, 700.0, 6.931_471_803_691_238e-1, 1.908_214_929_270_587_7e-10,
    [
        1.0 / 6_227_020_800.0, 1.0 / 479_001_600.0, 1.0 / 39_916_800.0, 1.0 / 3_628_800.0, 1.0 / 362_880.0, 1.0 / 40_320.0, 1.0 / 5_040.0,
        1.0 / 720.0, 1.0 / 120.0, 1.0 / 24.0, 1.0 / 6.0, 0.5, 1.0, 1.0
    ]
}
exponential! {
    single, f32, u32, 23, 127, 12_582_912.0, 80.0, 6.931_457_5e-1, 1.428_606_8e-6,
    [1.0 / 5_040.0, 1.0 / 720.0, 1.0 / 120.0, 1.0 / 24.0, 1.0 / 6.0, 0.5, 1.0, 1.0]
}

/// 2^x: one instruction in `f32`.
#[inline(always)]
pub(crate) fn power_of_two<T: Real>(x: T) -> T {
    if T::EPSILON.to_f64() > 1e-10 {
        x.hardware_exp2()
    } else {
        exponential(x * T::from_f64(core::f64::consts::LN_2))
    }
}

/// exp(x): in `f32` by the unit of special functions, to 2^-21 for x above -10.
#[inline(always)]
pub(crate) fn fast_exponential<T: Real>(x: T) -> T {
    if T::EPSILON.to_f64() > 1e-10 {
        (x * T::from_f64(core::f64::consts::LOG2_E)).hardware_exp2()
    } else {
        exponential(x)
    }
}

#[cfg(test)]
mod tests {
    use super::exponential;

    #[test]
    fn it_is_accurate_to_the_last_place_or_so() {
        // Short of the ends, beyond which the argument is cut off.
        for k in 0..20_000 {
            let x = -699.9 + f64::from(k) * 0.0699;
            let error = exponential(x) / x.exp() - 1.0;
            assert!(error.abs() < 4e-16, "{x}: {error:e}");
            if x.abs() < 80.0 {
                let error = f64::from(exponential(x as f32)) / f64::from(x as f32).exp() - 1.0;
                assert!(error.abs() < 2e-7, "{x}: {error:e}");
            }
        }
        assert_eq!(exponential(0.0_f64), 1.0);
        assert_eq!(exponential(0.0_f32), 1.0);
        assert_eq!(exponential(-1e9_f64), exponential(-700.0_f64));
    }
}
