//! The functions that integrands may use, in `f32` and `f64`.
//!
//! On the host they are the platform's. On the device most are those of [`elementary`](super::elementary), and sine and cosine are here: `libm`
//! raises floating-point flags through memory and reduces large arguments through arrays, both of which would lie in slow local memory. All of them are
//! accurate to a few units in the last place, for every argument.

#[cfg(target_arch = "nvptx64")]
use super::elementary;
use crate::math::Real;

/// A real number with the functions that integrands may use.
#[allow(missing_docs, reason = "named as in the standard library")]
pub trait Functions: Real {
    fn pow(self, exponent: Self) -> Self;
    fn sin(self) -> Self;
    fn cos(self) -> Self;
    fn tan(self) -> Self;
    fn asin(self) -> Self;
    fn acos(self) -> Self;
    fn atan(self) -> Self;
    fn sinh(self) -> Self;
    fn cosh(self) -> Self;
    fn tanh(self) -> Self;
    fn floor(self) -> Self;
    fn exp_m1(self) -> Self;
    fn ln_1p(self) -> Self;
}

/// Exponential function: the platform's on the host, and on the device the one of [`elementary`](super::elementary).
#[inline(always)]
pub fn exp<T: Real>(x: T) -> T {
    #[cfg(target_arch = "nvptx64")]
    return elementary::exp(x);
    #[cfg(not(target_arch = "nvptx64"))]
    x.exp()
}

#[cfg(not(target_arch = "nvptx64"))]
macro_rules! functions {
    ($t:ident) => {
        impl Functions for $t {
            fn pow(self, exponent: Self) -> Self {
                self.powf(exponent)
            }
            functions! { @unary $t sin cos tan asin acos atan sinh cosh tanh floor exp_m1 ln_1p }
        }
    };
    (@unary $t:ident $($name:ident)*) => {$(
        fn $name(self) -> Self {
            $t::$name(self)
        }
    )*};
}
#[cfg(not(target_arch = "nvptx64"))]
functions! { f32 }
#[cfg(not(target_arch = "nvptx64"))]
functions! { f64 }

#[cfg(target_arch = "nvptx64")]
macro_rules! functions {
    ($t:ident, $sin_cos:path; $($name:ident: $function:path,)*) => {
        impl Functions for $t {
            #[inline(always)]
            fn pow(self, exponent: Self) -> Self {
                functions! { @pow $t self exponent }
            }
            #[inline(always)]
            fn sin(self) -> Self {
                $sin_cos(self).0
            }
            #[inline(always)]
            fn cos(self) -> Self {
                $sin_cos(self).1
            }
            #[inline(always)]
            fn tan(self) -> Self {
                let (sin, cos) = $sin_cos(self);
                sin / cos
            }
            $(
                #[inline(always)]
                fn $name(self) -> Self {
                    $function(self)
                }
            )*
        }
    };
    // powf of libm leaves a path that the compiler takes for an abort.
    (@pow f32 $base:ident $exponent:ident) => { libm::pow(f64::from($base), f64::from($exponent)) as f32 };
    (@pow f64 $base:ident $exponent:ident) => { libm::pow($base, $exponent) };
}
#[cfg(target_arch = "nvptx64")]
functions! { f32, sin_cos_single;
    asin: elementary::asin, acos: elementary::acos, atan: elementary::atan, sinh: elementary::sinh, cosh: elementary::cosh,
    tanh: elementary::tanh, floor: core::intrinsics::floorf32, exp_m1: elementary::exp_m1, ln_1p: elementary::ln_1p,
}
#[cfg(target_arch = "nvptx64")]
functions! { f64, sin_cos;
    asin: elementary::asin, acos: elementary::acos, atan: elementary::atan, sinh: elementary::sinh, cosh: elementary::cosh,
    tanh: elementary::tanh, floor: core::intrinsics::floorf64, exp_m1: elementary::exp_m1, ln_1p: elementary::ln_1p,
}

/// Sine and cosine of any argument, to 2 units in the last place.
///
/// The argument is reduced to [-pi/4, pi/4] by three multiply-adds up to 2^20, beyond by a product with 192 bits of 2/pi (Payne and Hanek);
/// the Taylor series are cut off where a term is below a third of a unit in the last place.
#[inline(always)]
pub fn sin_cos(x: f64) -> (f64, f64) {
    let (quadrant, r, tail) = reduce(x);
    quarter(quadrant, kernel(r, tail))
}

/// The same in single precision: reduced and summed in `f64`, because a lost digit of the argument is lost for good.
#[inline(always)]
pub fn sin_cos_single(x: f32) -> (f32, f32) {
    let (quadrant, r, _) = reduce(f64::from(x));
    let r = r as f32;
    let z = r * r;
    let sin =
        r + r * z * (-0.166_666_67 + z * (8.333_333e-3 + z * (-1.984_127e-4 + z * 2.755_732e-6)));
    let cos = 1.0 - 0.5 * z
        + z * z * (0.041_666_668 + z * (-1.388_889e-3 + z * (2.480_159e-5 - z * 2.755_732e-7)));
    quarter(quadrant, (sin, cos))
}

/// Sine and cosine after `quadrant` quarter turns.
#[inline(always)]
fn quarter<T: Real>(quadrant: u32, (sin, cos): (T, T)) -> (T, T) {
    let (sin, cos) = if quadrant & 1 == 0 {
        (sin, cos)
    } else {
        (cos, -sin)
    };
    if quadrant & 2 == 0 {
        (sin, cos)
    } else {
        (-sin, -cos)
    }
}

/// Sine and cosine of r + tail with |r| <= pi/4.
#[inline(always)]
fn kernel(r: f64, tail: f64) -> (f64, f64) {
    let z = r * r;
    let series = |coefficients: [f64; 7]| {
        let [c0, c1, c2, c3, c4, c5, c6] = coefficients;
        let c = c6.mul(z, c5);
        let c = c.mul(z, c4);
        let c = c.mul(z, c3);
        let c = c.mul(z, c2);
        let c = c.mul(z, c1);
        c.mul(z, c0)
    };
    let s = series([
        -1.0 / 6.0,
        1.0 / 120.0,
        -1.0 / 5040.0,
        1.0 / 362_880.0,
        -1.0 / 39_916_800.0,
        1.0 / 6_227_020_800.0,
        -1.0 / 1_307_674_368_000.0,
    ]);
    let c = series([
        1.0 / 24.0,
        -1.0 / 720.0,
        1.0 / 40_320.0,
        -1.0 / 3_628_800.0,
        1.0 / 479_001_600.0,
        -1.0 / 87_178_291_200.0,
        1.0 / 20_922_789_888_000.0,
    ]);
    let sin = r + (tail + r * z * s - 0.5 * z * tail);
    let half = 0.5 * z;
    let one = 1.0 - half;
    let cos = one + (((1.0 - one) - half) + (z * z * c - r * tail));
    (sin, cos)
}

trait MultiplyAdd {
    fn mul(self, factor: Self, term: Self) -> Self;
}

impl MultiplyAdd for f64 {
    #[inline(always)]
    fn mul(self, factor: Self, term: Self) -> Self {
        Real::mul_add(self, factor, term)
    }
}

/// x = (quadrant + 4 n) pi/2 + r + tail with |r| <= pi/4; all not a number where x is not finite.
#[inline(always)]
fn reduce(x: f64) -> (u32, f64, f64) {
    // Adding it rounds to an integer, whose low bits are then the low bits of the sum.
    const ROUND: f64 = 6_755_399_441_055_744.0;
    const PARTS: [f64; 3] = [
        core::f64::consts::FRAC_PI_2,
        6.123_233_995_736_766e-17,
        -1.497_384_904_859_169_8e-33,
    ];
    let magnitude = x.abs();
    if magnitude < 1_048_576.0 {
        let shifted = x.mul(core::f64::consts::FRAC_2_PI, ROUND);
        let turns = shifted - ROUND;
        let quadrant = shifted.to_bits() as u32;
        // The products are exact inside the multiply-add; what the sums round off is kept.
        let high = (-turns).mul(PARTS[0], x);
        let product = turns * PARTS[1];
        let rest = turns.mul(PARTS[1], -product);
        let r = high - product;
        let lost = (high - r) - product;
        return (quadrant, r, lost - rest - turns * PARTS[2]);
    }
    let bits = magnitude.to_bits();
    let exponent = (bits >> 52) as i32;
    if exponent == 0x7FF {
        return (0, f64::NAN, f64::NAN);
    }
    let (quadrant, fraction) = turns_of_large(bits & ((1 << 52) - 1) | (1 << 52), exponent - 1075);
    let r = fraction * core::f64::consts::FRAC_PI_2;
    let tail = fraction.mul(core::f64::consts::FRAC_PI_2, -r) + fraction * PARTS[1];
    if x < 0.0 {
        (quadrant.wrapping_neg(), -r, -tail)
    } else {
        (quadrant, r, tail)
    }
}

/// Quarter turns of `mantissa * 2^exponent`, for exponents from -33 on: their number modulo 4, and the signed remainder, at most 1/2.
///
/// Bits of 2/pi that contribute multiples of four turns are left out, so the low 192 bits of the product with the next 192
/// bits hold the turns modulo 4 in their two topmost bits; what is cut off contributes less than 2^-136.
#[inline(always)]
fn turns_of_large(mantissa: u64, exponent: i32) -> (u32, f64) {
    // The first bit that counts has the weight 2^-(exponent - 1) in 2/pi; the table has 64 zeros in front.
    let start = (exponent - 2 + 64) as u32;
    let (word, shift) = ((start / 64).min(17), start % 64);
    let at = |i: u32| {
        let high = TWO_OVER_PI[(word + i) as usize % 32];
        let low = TWO_OVER_PI[(word + i + 1) as usize % 32];
        // The second shift is split so that shift = 0 adds no bits of the next word.
        high << shift | (low >> 1) >> (63 - shift)
    };
    let wide = |a: u64, b: u64| u128::from(a) * u128::from(b);
    let low = wide(mantissa, at(2));
    let middle = wide(mantissa, at(1)).wrapping_add(low >> 64);
    let top = mantissa
        .wrapping_mul(at(0))
        .wrapping_add((middle >> 64) as u64);
    let (middle, low) = (middle as u64, low as u64);
    let fraction = top << 2 | middle >> 62;
    let rest = middle << 2 | low >> 62;
    // A fraction of one half or more counts as a turn more and a negative remainder.
    let quadrant = (top >> 62) as u32 + (fraction >> 63) as u32;
    const SCALE: f64 = 1.0 / 18_446_744_073_709_551_616.0;
    let signed = (fraction as i64) as f64 + (rest >> 11) as f64 * (SCALE * 2048.0);
    (quadrant, signed * SCALE)
}

/// 2/pi after the binary point, behind 64 zeros; padded to a power of two with words that are never used.
///
/// A mangled name would hold a hash of the dependencies of the crate, and the PTX would change with them.
#[cfg_attr(target_arch = "nvptx64", unsafe(export_name = "rarefy_two_over_pi"))]
static TWO_OVER_PI: [u64; 32] = [
    0x0000_0000_0000_0000,
    0xA2F9_836E_4E44_1529,
    0xFC27_57D1_F534_DDC0,
    0xDB62_9599_3C43_9041,
    0xFE51_63AB_DEBB_C561,
    0xB724_6E3A_424D_D2E0,
    0x0649_2EEA_09D1_921C,
    0xFE1D_EB1C_B129_A73E,
    0xE882_35F5_2EBB_4484,
    0xE99C_7026_B45F_7E41,
    0x3991_D639_8353_39F4,
    0x9C84_5F8B_BDF9_283B,
    0x1FF8_97FF_DE05_980F,
    0xEF2F_118B_5A0A_6D1F,
    0x6D36_7ECF_27CB_09B7,
    0x4F46_3F66_9E5F_EA2D,
    0x7527_BAC7_EBE5_F17B,
    0x3D07_39F7_8A52_92EA,
    0x6BFB_5FB1_1F8D_5D08,
    0x5603_3046_FC7B_6BAB,
    0xF0CF_BC20_9AF4_361D,
    0,
    0,
    0,
    0,
    0,
    0,
    0,
    0,
    0,
    0,
    0,
];

#[cfg(test)]
mod tests {
    use super::*;

    /// The platform's functions are accurate to less than one unit in the last place.
    #[test]
    fn sine_and_cosine_are_right_for_every_size_of_argument() {
        let mut state = 0x9E37_79B9_7F4A_7C15_u64;
        let mut uniform = || {
            state ^= state << 13;
            state ^= state >> 7;
            state ^= state << 17;
            (state >> 11) as f64 / (1u64 << 53) as f64
        };
        let ulps = |found: f64, right: f64| {
            (found - right).abs() / (right.abs() * f64::EPSILON).max(1e-300)
        };
        let mut arguments = std::vec![
            0.0,
            1e-300,
            core::f64::consts::PI,
            core::f64::consts::FRAC_PI_4,
            1_048_575.9,
            1_048_576.0,
            f64::MAX,
        ];
        for _ in 0..100_000 {
            arguments.push(2.0 * uniform());
            arguments.push(10f64.powf(308.0 * uniform()));
            arguments.push(10f64.powf(8.0 * uniform()));
        }
        for x in arguments {
            for x in [x, -x] {
                let (sin, cos) = sin_cos(x);
                assert!(ulps(sin, x.sin()) < 2.0, "sin {x}: {sin} {}", x.sin());
                assert!(ulps(cos, x.cos()) < 2.0, "cos {x}: {cos} {}", x.cos());
                let x = x as f32;
                if x.is_finite() {
                    let (sin, cos) = sin_cos_single(x);
                    let (right_sin, right_cos) = (f64::from(x).sin(), f64::from(x).cos());
                    for (found, right) in [(sin, right_sin), (cos, right_cos)] {
                        let error = (f64::from(found) - right).abs() / right.abs().max(1e-30);
                        assert!(
                            error < 2.0 * f64::from(f32::EPSILON),
                            "{x}: {found} {right}"
                        );
                    }
                }
            }
        }
        // The argument that is nearest to a multiple of pi/2; the platform itself is 14 units off there.
        let cos = sin_cos(6_381_956_970_095_103.0 * 2f64.powi(797)).1;
        assert!(ulps(cos.abs(), 4.687_165_924_254_628e-19) < 1.0, "{cos:e}");
        assert!(sin_cos(f64::INFINITY).0.is_nan() && sin_cos(f64::NAN).1.is_nan());
    }
}
