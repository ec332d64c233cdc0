//! The two examples with which the paper shows where floating point fails (its introduction, figs. 2 and 3).
//!
//! ```
//! use rarefy::signed_digit::paper::introduction::{VECTORS_DOT, dot_error, vectors};
//! use rarefy::signed_digit::decimal;
//!
//! let backend = rarefy::Backend::Cpu.resolve()?;
//! let [x, y] = vectors(1, 21);
//! assert_eq!(dot_error::<f64>(&x, &y), 100.0); // percent
//! assert_eq!(decimal::dot(&x, &y, &backend)?, VECTORS_DOT.into());
//! # Ok::<(), rarefy::Error>(())
//! ```

use std::f64::consts::TAU;

use rarefy_kernels::Real;

use crate::signed_digit::decimal::Decimal;
use crate::signed_digit::dft::Signal;

/// The dot product of [`vectors`], whatever their parameters.
pub const VECTORS_DOT: i32 = 8779;

/// x = (10^a, 1223, 10^(a-1), 10^(a-2), 3, -10^(a-5)) and y = (10^b, 2, -10^(b+1), 10^b, 2111, 10^(b+3)), for exponents within a million.
///
/// x.y = 1223 * 2 + 3 * 2111 = 8779 for all a and b, and the other products cancel in pairs.
pub fn vectors(alpha: i32, beta: i32) -> [Vec<Decimal>; 2] {
    let power = |exponent: i32| power_of_ten(exponent.clamp(-1_000_000, 1_000_000));
    [
        vec![
            power(alpha),
            1223.into(),
            power(alpha - 1),
            power(alpha - 2),
            3.into(),
            -power(alpha - 5),
        ],
        vec![
            power(beta),
            2.into(),
            -power(beta + 1),
            power(beta),
            2111.into(),
            power(beta + 3),
        ],
    ]
}

fn power_of_ten(exponent: i32) -> Decimal {
    let limb = 10u32.pow(exponent.rem_euclid(9) as u32);
    Decimal::from_limbs(false, vec![limb], exponent.div_euclid(9).into())
}

/// The relative error in percent (eq. 1) of a dot product in floating point: a product and a sum at a time, in order.
pub fn dot_error<T: Real>(x: &[Decimal], y: &[Decimal]) -> f64 {
    let number = |x: &Decimal| T::from_f64(x.round_f64());
    let sum = x
        .iter()
        .zip(y)
        .fold(T::ZERO, |sum, (x, y)| sum + number(x) * number(y));
    let exact = f64::from(VECTORS_DOT);
    (sum.to_f64() - exact).abs() / exact * 100.0
}

/// x_i = i/10 for odd i and i/10 + alpha for even i, i = 1 to n (eq. 2); alpha = 10^`exponent`.
pub fn sequence(n: usize, exponent: i32) -> Signal {
    let alpha = power_of_ten(exponent.clamp(0, 1_000_000));
    let number = |i: usize| {
        let tenths = &Decimal::from(i as u64) * &power_of_ten(-1);
        match i % 2 {
            0 => tenths.plus(&alpha).unwrap_or_default(),
            _ => tenths,
        }
    };
    Signal::real((1..=n).map(number).collect())
}

/// The largest relative error in percent (eq. 5) of a transform and its inverse in floating point, by the formulas as printed (eqs. 3 and 4), of a
/// real sequence without zeros.
pub fn transform_error<T: Real>(x: &Signal) -> f64 {
    let n = x.len();
    let x: Vec<T> = x.re.iter().map(|x| T::from_f64(x.round_f64())).collect();
    let turn = |j: usize, k: usize| {
        // Not the platform's: the last bits of these errors should be the same everywhere.
        let (sin, cos) = libm::sincos(TAU * (j * k) as f64 / n as f64);
        [T::from_f64(cos), T::from_f64(sin)]
    };
    let y: Vec<[T; 2]> = (0..n)
        .map(|k| {
            let sums = x
                .iter()
                .enumerate()
                .fold([T::ZERO; 2], |[re, im], (j, &x)| {
                    let [cos, sin] = turn(j, k);
                    [re + x * cos, im - x * sin]
                });
            sums.map(|sum| sum / T::from_f64(n as f64))
        })
        .collect();
    let back = |k: usize| {
        y.iter().enumerate().fold(T::ZERO, |sum, (j, [re, im])| {
            let [cos, sin] = turn(j, k);
            sum + (*re * cos - *im * sin)
        })
    };
    let errors =
        (0..n).map(|k| (back(k).to_f64() - x[k].to_f64()).abs() / x[k].to_f64().abs() * 100.0);
    errors.fold(0.0, f64::max)
}
