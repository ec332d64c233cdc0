//! Special functions of real order.
//!
//! [`bessel_j`] is computed here. The areas of an integral need it to a few
//! units of roundoff of its amplitude sqrt(2/(pi x)) at all arguments. The functions of the two lowest orders by the power series in double-double arithmetic or by Hankel's expansion. The others follow by
//! the recurrence in the order, in its stable direction. The rest comes from D. E. Amos's
//! Algorithm 644 (crate `complex-bessel`, about 1e-13) and from `libm`.

use std::f64::consts::{FRAC_1_SQRT_2, FRAC_2_SQRT_PI, PI};

use complex_bessel as amos;
use num_complex::Complex;

/// Accuracy of [`bessel_j`] against its amplitude, in units of the machine epsilon, for orders to 250.
pub const BESSEL_EPSILONS: f64 = 16.0;

/// Accuracy of the functions taken from Algorithm 644, in units of the machine epsilon.
pub const AMOS_EPSILONS: f64 = 1024.0;

/// Where Hankel's expansion takes over from the power series: its smallest term is e^(-2x).
const HANKEL_FROM: f64 = 25.0;

/// Orders beyond this are refused: the recurrence would take too many steps.
const MAX_ORDER: f64 = 1e5;

macro_rules! of_amos {
    ($($(#[$doc:meta])* $name:ident: $function:path;)*) => {$(
        $(#[$doc])*
        pub fn $name(nu: f64, x: f64) -> f64 {
            if !(nu.is_finite() && x.is_finite()) {
                return f64::NAN;
            }
            $function(nu, Complex::new(x, 0.0)).map_or(f64::NAN, |value| value.re)
        }
    )*};
}
of_amos! {
    /// Bessel function of the second kind Y_nu(x), x > 0.
    bessel_y: amos::bessely;
    /// Modified Bessel function of the first kind I_nu(x).
    bessel_i: amos::besseli;
    /// Modified Bessel function of the second kind K_nu(x), x > 0.
    bessel_k: amos::besselk;
}

/// Bessel function of the first kind J_nu(x): any order for x >= 0, integer orders for x < 0.
pub fn bessel_j(nu: f64, x: f64) -> f64 {
    if !(nu.is_finite() && x.is_finite() && nu.abs() <= MAX_ORDER) {
        return f64::NAN;
    }
    let integer = nu == nu.floor();
    let sign = if nu % 2.0 == 0.0 { 1.0 } else { -1.0 };
    if x < 0.0 {
        return if integer {
            sign * bessel_j(nu, -x)
        } else {
            f64::NAN
        };
    }
    if x == 0.0 {
        return match (nu == 0.0, nu > 0.0 || integer) {
            (true, _) => 1.0,
            (false, true) => 0.0,
            (false, false) => f64::INFINITY,
        };
    }
    if integer && nu < 0.0 {
        return sign * bessel_j(-nu, x);
    }
    let lowest = nu - nu.floor();
    let steps = nu.floor();
    let low = [base(lowest, x), base(lowest + 1.0, x)];
    if steps < 0.0 {
        // Downwards from the lowest pair: what grows there is the solution itself.
        let [mut above, mut here] = [low[1], low[0]];
        let mut order = lowest;
        while order > nu + 0.5 {
            (above, here) = (here, 2.0 * order / x * here - above);
            order -= 1.0;
        }
        return here;
    }
    if steps == 0.0 {
        return low[0];
    }
    if nu <= x {
        let [mut below, mut here] = low;
        let mut order = lowest + 1.0;
        while order < nu - 0.5 {
            (below, here) = (here, 2.0 * order / x * here - below);
            order += 1.0;
        }
        return here;
    }
    // Downwards with the ratio of the continued fraction, in units of the last value, and scaled by the larger of the lowest pair.
    let (mut above, mut here) = (next_over_this(nu, x), 1.0_f64);
    let mut scale = 1.0_f64;
    let mut order = nu;
    while order > lowest + 0.5 {
        (above, here) = (here, 2.0 * order / x * here - above);
        order -= 1.0;
        if here.abs() > 1e200 {
            above *= 1e-200;
            here *= 1e-200;
            scale *= 1e-200;
        }
    }
    if low[0].abs() >= low[1].abs() {
        scale * (low[0] / here)
    } else {
        scale * (low[1] / above)
    }
}

/// Derivative of [`bessel_j`] by x, x > 0.
pub fn bessel_j_derivative(nu: f64, x: f64) -> f64 {
    nu / x * bessel_j(nu, x) - bessel_j(nu + 1.0, x)
}

/// J_nu(x) for 0 <= nu < 2, x > 0.
fn base(nu: f64, x: f64) -> f64 {
    if nu == 0.0 {
        libm::j0(x)
    } else if nu == 1.0 {
        libm::j1(x)
    } else if x < HANKEL_FROM {
        power_series(nu, x)
    } else {
        hankel(nu, x)
    }
}

/// (x/2)^nu / Gamma(nu+1) sum over k of (-x^2/4)^k / (k! (nu+1)_k): the terms grow to e^x, so the sum is in double-double arithmetic.
fn power_series(nu: f64, x: f64) -> f64 {
    let square = Double::product(0.5 * x, -0.5 * x);
    let mut term = Double::from(1.0);
    let mut sum = term;
    let mut k = 1.0;
    loop {
        term = term
            .times(square)
            .over(Double::product(k, k).plus(Double::product(k, nu)));
        sum = sum.plus(term);
        // Beyond k = x/2 the terms fall.
        if k > 0.5 * x && term.high.abs() < 1e-20 * sum.high.abs().max(1e-2 / x.max(1.0)) {
            break;
        }
        k += 1.0;
    }
    (0.5 * x).powf(nu) / libm::tgamma(nu + 1.0) * (sum.high + sum.low)
}

/// sqrt(2/(pi x)) (P cos chi - Q sin chi), chi = x - (nu/2 + 1/4) pi.
fn hankel(nu: f64, x: f64) -> f64 {
    let mu = 4.0 * nu * nu;
    let (mut p, mut q) = (0.0, 0.0);
    let mut term = 1.0_f64;
    let mut k = 0.0_f64;
    loop {
        match k as u32 % 4 {
            0 => p += term,
            1 => q += term,
            2 => p -= term,
            _ => q -= term,
        }
        let odd = 2.0 * k + 1.0;
        k += 1.0;
        let next = term * (mu - odd * odd) / (8.0 * k * x);
        if next.abs() < 1e-18 || (next.abs() >= term.abs() && k > nu) {
            break;
        }
        term = next;
    }
    // chi apart, so that nothing of x is rounded off: x, then the quarter turns and the rest of the order.
    let (sin, cos) = x.sin_cos();
    let (rest_sin, rest_cos) = (0.5 * nu * PI).sin_cos();
    let (sin, cos) = (
        sin * rest_cos - cos * rest_sin,
        cos * rest_cos + sin * rest_sin,
    );
    let (sin, cos) = (FRAC_1_SQRT_2 * (sin - cos), FRAC_1_SQRT_2 * (cos + sin));
    (2.0 / (PI * x)).sqrt() * (p * cos - q * sin)
}

/// J_(nu+1)(x) / J_nu(x) for nu > x by its continued fraction, x/2 / (nu+1) - (x/2)^2 / (nu+2) - ..., by the method of Lentz.
fn next_over_this(nu: f64, x: f64) -> f64 {
    let tiny = 1e-300;
    let step = 2.0 / x;
    let mut b = step * (nu + 1.0);
    let mut c = b;
    let mut d = 0.0;
    let mut fraction = b;
    for _ in 0..10_000 {
        b += step;
        d = b - d;
        d = 1.0 / if d == 0.0 { tiny } else { d };
        c = b - 1.0 / c;
        if c == 0.0 {
            c = tiny;
        }
        let factor = c * d;
        fraction *= factor;
        if (factor - 1.0).abs() < f64::EPSILON {
            break;
        }
    }
    1.0 / fraction
}

/// Airy function Ai(x).
pub fn airy_ai(x: f64) -> f64 {
    if !x.is_finite() {
        return f64::NAN;
    }
    if x < -1.0 {
        // The Bessel functions of order 1/3 are more accurate there than Algorithm 644.
        let root = (-x).sqrt();
        let root_low = -root.mul_add(root, x) / (2.0 * root);
        let cube = Double {
            high: root,
            low: root_low,
        }
        .times(Double::from(-2.0 * x));
        let phase = cube.over(Double::from(3.0));
        // The derivative corrects the rounding of the phase.
        let at =
            |nu: f64| bessel_j(nu, phase.high) + phase.low * bessel_j_derivative(nu, phase.high);
        return root / 3.0 * (at(1.0 / 3.0) + at(-1.0 / 3.0));
    }
    amos::airy(Complex::new(x, 0.0)).map_or(f64::NAN, |value| value.re)
}

/// Where the expansion of erfcx in powers of 1/x^2 has all digits.
const FAR: f64 = 12.0;

/// Scaled complementary error function exp(x^2) erfc(x), to three units of roundoff. It is infinite below -26.7 and like 1/(x sqrt(pi)) far out.
///
/// ```
/// use rarefy::longman::special::erfcx;
///
/// // mpmath with 30 digits: exp(900) erfc(30).
/// assert!((erfcx(30.0) - 0.018_795_888_861_416_751).abs() < 1e-17);
/// ```
pub fn erfcx(x: f64) -> f64 {
    if x >= FAR {
        // sum of (-1)^k (2k - 1)!!/(2 x^2)^k; its terms fall up to k = x^2.
        let step = 0.5 / x / x;
        let (mut term, mut sum, mut k) = (1.0_f64, 0.0_f64, 0.0_f64);
        while term.abs() > 1e-18 {
            sum += term;
            term *= -(2.0 * k + 1.0) * step;
            k += 1.0;
        }
        return 0.5 * FRAC_2_SQRT_PI / x * sum;
    }
    // The rounding of the square is a factor.
    let square = x * x;
    let scale = square.exp();
    let scale = if scale.is_finite() {
        scale + scale * x.mul_add(x, -square)
    } else {
        scale
    };
    scale * libm::erfc(x)
}

/// Largest slope of [`erfcx`] from x on, without its sign.
pub(super) fn erfcx_slope(x: f64) -> f64 {
    if x > 0.0 {
        // The function is completely monotone, and below 1/(x sqrt(pi)).
        (0.5 * FRAC_2_SQRT_PI / x / x).min(FRAC_2_SQRT_PI)
    } else {
        2.0 * x.abs() * erfcx(x) + FRAC_2_SQRT_PI
    }
}

/// An unevaluated sum of two numbers: about 32 digits.
#[derive(Clone, Copy)]
struct Double {
    high: f64,
    low: f64,
}

impl From<f64> for Double {
    fn from(high: f64) -> Self {
        Self { high, low: 0.0 }
    }
}

impl Double {
    fn product(a: f64, b: f64) -> Self {
        let high = a * b;
        Self {
            high,
            low: a.mul_add(b, -high),
        }
    }

    fn sum(a: f64, b: f64) -> Self {
        let high = a + b;
        let part = high - a;
        Self {
            high,
            low: (a - (high - part)) + (b - part),
        }
    }

    fn plus(self, other: Self) -> Self {
        let sum = Self::sum(self.high, other.high);
        let low = sum.low + self.low + other.low;
        let high = sum.high + low;
        Self {
            high,
            low: low - (high - sum.high),
        }
    }

    fn times(self, other: Self) -> Self {
        let product = Self::product(self.high, other.high);
        let low = product.low + self.high * other.low + self.low * other.high;
        let high = product.high + low;
        Self {
            high,
            low: low - (high - product.high),
        }
    }

    fn over(self, other: Self) -> Self {
        let first = self.high / other.high;
        let rest = self.plus(other.times(Self::from(-first)));
        let second = (rest.high + rest.low) / other.high;
        Self::sum(first, second)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// mpmath with 40 digits: exp(x^2) erfc(x).
    #[test]
    fn erfcx_has_its_digits() {
        for (x, right) in [
            (-3.0, 16_205.988_853_999_586),
            (-0.5, 1.952_360_489_182_557),
            (0.0, 1.0),
            (0.3, 0.734_599_334_567_655_1),
            (1.0, 0.427_583_576_155_807),
            (4.0, 0.136_999_457_625_061_4),
            (11.9, 0.047_245_232_484_087_67),
            (12.0, 0.046_854_221_014_893_76),
            (12.1, 0.046_469_607_339_835_01),
            (1e4, 5.641_895_807_268_084e-5),
            (1e200, 5.641_895_835_477_563e-201),
        ] {
            let off = (erfcx(x) - right).abs();
            assert!(off <= 3.0 * f64::EPSILON * right, "{x} {}", erfcx(x));
        }
        assert_eq!(erfcx(f64::INFINITY), 0.0);
        assert_eq!(erfcx(-30.0), f64::INFINITY);
    }
}
