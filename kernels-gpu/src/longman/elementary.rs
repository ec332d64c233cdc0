//! Elementary functions in software, and the exponential function by the hardware.
//!
//! The software functions are made of [`Real::mul_add`] and exact operations, so their bits are the same on every machine, and have
//! no branches. The polynomial of the exponential function is the minimax approximation (Remez) of `(e^r - 1 - r)/r^2` for `|r| <= ln(2)/2`; its error is below
//! 1.3e-17 in `f64` and 3e-8 in `f32`.

use crate::math::Real;

/// Which exponential function a kernel computes with.
pub trait Elementary {
    /// A factor of exponents in the units of [`growth`](Self::growth).
    fn rate<T: Real>(rate: T) -> T;
    /// Exponential function of an exponent in its own units.
    fn growth<T: Real>(exponent: T) -> T;
    /// Exponential function.
    #[inline(always)]
    fn exp<T: Real>(x: T) -> T {
        Self::growth(Self::rate(x))
    }
}

/// Polynomials, to a unit in the last place.
#[derive(Clone, Copy, Debug)]
pub struct Software;

/// The special function unit of a GPU, in `f32`; it is named "hardware-implemented transcendental functions" in the paper. In `f64`, which
/// the unit does not know, the same as [`Software`].
#[derive(Clone, Copy, Debug)]
pub struct Hardware;

impl Elementary for Software {
    #[inline(always)]
    fn rate<T: Real>(rate: T) -> T {
        rate
    }
    #[inline(always)]
    fn growth<T: Real>(exponent: T) -> T {
        exp(exponent)
    }
}

impl Elementary for Hardware {
    #[inline(always)]
    fn rate<T: Real>(rate: T) -> T {
        if size_of::<T>() == 4 {
            rate * T::from_f64(core::f64::consts::LOG2_E)
        } else {
            rate
        }
    }
    #[inline(always)]
    fn growth<T: Real>(exponent: T) -> T {
        if size_of::<T>() == 4 {
            exponent.hardware_exp2()
        } else {
            exp(exponent)
        }
    }
}

/// Coefficients from the highest power down, evaluated by Horner's rule.
macro_rules! polynomial {
    ($x:expr, $highest:literal $(, $coefficient:literal)*) => {{
        let mut sum = T::from_f64($highest);
        $(sum = sum.mul_add($x, T::from_f64($coefficient));)*
        sum
    }};
}

/// e^x, to one unit in the last place; 0 below the range of normal numbers and infinite above it.
#[inline(always)]
pub fn exp<T: Real>(x: T) -> T {
    let double = size_of::<T>() == 8;
    // ln 2 in two parts, of which the first has zeros enough that its product with k is exact.
    let (high, low, least, most) = if double {
        (
            0.693_147_180_485_539_1,
            7.440_617_110_012_397e-11,
            -708.0,
            709.0,
        )
    } else {
        (
            0.693_145_751_953_125,
            1.428_606_820_309_417_3e-6,
            -87.0,
            88.0,
        )
    };
    let (k, power) = (x * T::from_f64(core::f64::consts::LOG2_E)).nearest_int();
    let r = k.mul_add(T::from_f64(-high), x);
    let r = k.mul_add(T::from_f64(-low), r);
    // 1 + (r + r^2 q): the small parts first. A product, as adding to the exponent would make a number of a NaN.
    let power_of_two = T::power_of_two(power);
    let e = exp_m1_near_0(r) * power_of_two + power_of_two;
    if x < T::from_f64(least) {
        T::ZERO
    } else if x > T::from_f64(most) {
        T::ONE / T::ZERO
    } else {
        e
    }
}

/// e^r - 1 for `|r| <= ln(2)/2`.
#[inline(always)]
fn exp_m1_near_0<T: Real>(r: T) -> T {
    let q = if size_of::<T>() == 8 {
        polynomial!(
            r,
            2.511_004_989_585_871_6e-8,
            2.762_009_051_849_942_7e-7,
            2.755_724_233_668_035_7e-6,
            2.480_152_129_097_334_6e-5,
            1.984_126_988_659_1e-4,
            1.388_888_891_721_745_7e-3,
            8.333_333_333_322_207e-3,
            4.166_666_666_662_412e-2,
            0.166_666_666_666_666_74,
            0.500_000_000_000_000_1
        )
    } else {
        polynomial!(
            r,
            1.394_112_420_267_832_5e-3,
            8.363_181_099_303_836e-3,
            4.166_637_513_196_356e-2,
            0.166_665_769_723_606,
            0.500_000_002_694_988_9
        )
    };
    (r * r).mul_add(q, r)
}

/// e^x - 1, accurate near 0 too.
#[inline(always)]
pub fn exp_m1<T: Real>(x: T) -> T {
    if x.abs() < T::from_f64(0.346) {
        exp_m1_near_0(x)
    } else {
        exp(x) - T::ONE
    }
}

/// ln(1 + x), accurate near 0 too: ln(u) is corrected by the ratio of x to what is left of it in u = 1 + x (W. Kahan).
#[inline(always)]
pub fn ln_1p<T: Real>(x: T) -> T {
    let u = T::ONE + x;
    let kept = u - T::ONE;
    if kept == T::ZERO {
        x
    } else if u > T::from_f64(1e30) {
        u.ln()
    } else {
        u.ln() * (x / kept)
    }
}

/// Half of e^|x|, which is finite wherever that is, and its fourfold reciprocal.
#[inline(always)]
fn half_exponentials<T: Real>(x: T) -> (T, T) {
    let half = T::from_f64(0.5);
    let root = exp(x.abs() * half);
    let large = half * root * root;
    (large, half * (half / large))
}

/// Hyperbolic sine.
#[inline(always)]
pub fn sinh<T: Real>(x: T) -> T {
    let magnitude = x.abs();
    let s = if magnitude < T::from_f64(1.0) {
        let e = exp_m1(magnitude);
        T::from_f64(0.5) * (e + e / (e + T::ONE))
    } else {
        let (large, small) = half_exponentials(x);
        large - small
    };
    if x < T::ZERO { -s } else { s }
}

/// Hyperbolic cosine.
#[inline(always)]
pub fn cosh<T: Real>(x: T) -> T {
    let (large, small) = half_exponentials(x);
    large + small
}

/// Hyperbolic tangent.
#[inline(always)]
pub fn tanh<T: Real>(x: T) -> T {
    let magnitude = x.abs();
    let two = T::from_f64(2.0);
    let e = exp_m1(two * magnitude);
    let s = if magnitude > T::from_f64(22.0) {
        T::ONE
    } else {
        e / (e + two)
    };
    if x < T::ZERO { -s } else { s }
}

/// Arc tangent: to [0, 1] by the reciprocal, to [-tan(pi/8), tan(pi/8)] by the difference from pi/4; a minimax polynomial there.
#[inline(always)]
pub fn atan<T: Real>(x: T) -> T {
    let magnitude = x.abs();
    let large = magnitude > T::ONE;
    let y = if large { T::ONE / magnitude } else { magnitude };
    let upper = y > T::from_f64(0.414_213_562_373_095_05);
    let z = if upper {
        (y - T::ONE) / (y + T::ONE)
    } else {
        y
    };
    let u = z * z;
    let q = if size_of::<T>() == 8 {
        polynomial!(
            u,
            -0.019_225_267_993_204_06,
            0.039_273_335_834_296_055,
            -0.050_869_757_945_523_2,
            0.058_584_583_163_421_47,
            -0.066_645_493_624_049_6,
            0.076_921_860_670_573_31,
            -0.090_909_047_109_939_29,
            0.111_111_110_187_833_61,
            -0.142_857_142_847_141_16,
            0.199_999_999_999_957_68,
            -0.333_333_333_333_333_3
        )
    } else {
        polynomial!(
            u,
            0.085_386_788_767_248_06,
            -0.140_288_561_887_845_03,
            0.199_915_437_328_218_18,
            -0.333_332_895_248_167_8
        )
    };
    let small = (z * u).mul_add(q, z);
    let first = if upper {
        T::from_f64(core::f64::consts::FRAC_PI_4) + small
    } else {
        small
    };
    let angle = if large {
        T::from_f64(core::f64::consts::FRAC_PI_2) - first
    } else {
        first
    };
    if x < T::ZERO { -angle } else { angle }
}

/// Arc sine; not a number beyond 1.
#[inline(always)]
pub fn asin<T: Real>(x: T) -> T {
    atan(x / ((T::ONE - x) * (T::ONE + x)).sqrt())
}

/// Arc cosine; not a number beyond 1.
#[inline(always)]
pub fn acos<T: Real>(x: T) -> T {
    T::from_f64(2.0) * atan(((T::ONE - x) / (T::ONE + x)).sqrt())
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Largest error of `f` against `exact` in units in the last place of the result.
    fn worst<T: Real>(range: [f64; 2], f: impl Fn(T) -> T, exact: impl Fn(f64) -> f64) -> f64 {
        let count = 100_000;
        (0..=count)
            .map(|i| {
                let x =
                    T::from_f64(range[0] + (range[1] - range[0]) * f64::from(i) / f64::from(count));
                let exact = exact(x.to_f64());
                (f(x).to_f64() - exact).abs() / (exact.abs() * T::EPSILON.to_f64())
            })
            .fold(0.0, f64::max)
    }

    #[test]
    fn software_functions_are_accurate_to_the_last_places() {
        // The platform's own functions, which are within half a unit and a little, are the measure in f64.
        let error = worst::<f64>([-700.0, 700.0], exp, f64::exp);
        assert!(error < 1.6, "exp in f64: {error}");
        let error = worst::<f64>([-1.0, 1.0], exp, f64::exp);
        assert!(error < 1.6, "exp in f64 near 0: {error}");
        let error = worst::<f32>([-86.0, 88.0], exp, f64::exp);
        assert!(error < 1.1, "exp in f32: {error}");
    }

    #[test]
    fn functions_of_programs_are_accurate_to_a_few_units() {
        macro_rules! check {
            ($($name:ident, $exact:expr, $from:literal, $to:literal;)*) => {$(
                let error = worst::<f64>([$from, $to], $name, $exact);
                assert!(error < 4.0, "{} in f64: {error}", stringify!($name));
                let error = worst::<f32>([$from, $to], $name, $exact);
                assert!(error < 4.0, "{} in f32: {error}", stringify!($name));
            )*};
        }
        check! {
            exp_m1, f64::exp_m1, -3.0, 3.1;
            exp_m1, f64::exp_m1, -1e-5, 1.1e-5;
            ln_1p, f64::ln_1p, -0.9, 30.0;
            ln_1p, f64::ln_1p, 1e-12, 1e-3;
            sinh, f64::sinh, -80.0, 81.0;
            sinh, f64::sinh, -1.2, 1.3;
            cosh, f64::cosh, -80.0, 81.0;
            tanh, f64::tanh, -30.0, 31.0;
            tanh, f64::tanh, -1.0, 1.1;
            atan, f64::atan, -50.0, 51.0;
            atan, f64::atan, -1.1, 1.2;
            asin, f64::asin, -0.999, 0.998;
            acos, f64::acos, -0.999, 0.998;
        }
        assert_eq!(atan(f64::INFINITY), core::f64::consts::FRAC_PI_2);
        assert_eq!(asin(1.0_f64), core::f64::consts::FRAC_PI_2);
        assert_eq!(acos(1.0_f32), 0.0);
        assert!(asin(1.1_f64).is_nan() && acos(-1.1_f64).is_nan() && ln_1p(-2.0_f64).is_nan());
        assert!(tanh(f64::NAN).is_nan() && sinh(f32::NAN).is_nan() && atan(f64::NAN).is_nan());
        assert_eq!(cosh(f64::INFINITY), f64::INFINITY);
        assert_eq!(tanh(f32::INFINITY), 1.0);
    }

    #[test]
    fn the_ends_of_the_range_are_kept() {
        assert_eq!(exp(0.0_f64), 1.0);
        assert_eq!(exp(-1e9_f32), 0.0);
        assert_eq!(exp(1e9_f64), f64::INFINITY);
        assert_eq!(exp(f64::NEG_INFINITY), 0.0);
        assert_eq!(exp(f32::INFINITY), f32::INFINITY);
        assert!(exp(f64::NAN).is_nan() && exp(f32::NAN).is_nan());
    }

    #[test]
    fn the_hardware_is_emulated_with_its_errors() {
        let mut relative = 0.0_f64;
        for i in 0..=20_000 {
            let x = -20.0 + f64::from(i) * 1e-3;
            let exact = f64::from(x as f32).exp();
            relative = relative.max((Hardware::exp(x as f32).to_f64() / exact - 1.0).abs());
        }
        // 2^-22, and the rounding of the argument of 2^x, which is up to 29 here.
        assert!((1.8e-7..2.4e-6).contains(&relative), "{relative:e}");
        assert_eq!(Hardware::exp(1.0_f64), Software::exp(1.0_f64));
    }
}
