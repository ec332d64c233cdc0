//! Cosines and sines with any number of digits.

use num_bigint::BigInt;
use rayon::prelude::*;

use crate::signed_digit::decimal::Decimal;

/// Bits beyond the digits asked for: a recurrence over 2^24 angles loses 26 of them at most.
const GUARD: usize = 64;

/// cos 2 pi j / n and sin 2 pi j / n for all j < n, to the nearest number of `digits` digits after the point.
///
/// Angles are brought into the first eighth of the circle by whole numbers, so multiples of a quarter are exact and symmetries hold to the last digit.
pub(super) fn cosines_and_sines(n: usize, digits: usize) -> (Vec<Decimal>, Vec<Decimal>) {
    // 10^digits < 2^(10 digits / 3 + 1)
    let bits = digits * 10 / 3 + 1 + GUARD;
    let eighth = eighth(n, bits);
    let shift = BigInt::from(10).pow(digits as u32);
    let half = BigInt::from(1) << (bits - 1);
    let eighth: Vec<[Decimal; 2]> = eighth
        .into_par_iter()
        .map(|pair| {
            pair.map(|value| {
                let integer: BigInt = (value * &shift + &half) >> bits;
                // An integer's digits and a small exponent are a decimal number.
                format!("{integer}e-{digits}").parse().unwrap_or_default()
            })
        })
        .collect();
    (0..n)
        .map(|j| {
            // 2 pi j / n is `quarter` quarters and pi/2 m / n.
            let (quarter, m) = (4 * j / n, 4 * j % n);
            let [cos, sin] = if 2 * m <= n {
                eighth[m].clone()
            } else {
                let [cos, sin] = eighth[n - m].clone();
                [sin, cos]
            };
            match quarter {
                0 => (cos, sin),
                1 => (-sin, cos),
                2 => (-cos, -sin),
                _ => (sin, -cos),
            }
        })
        .unzip()
}

/// 2^bits times cos and sin of (pi/2) m / n for all m <= n/2, by the addition theorem.
fn eighth(n: usize, bits: usize) -> Vec<[BigInt; 2]> {
    let one = BigInt::from(1) << bits;
    let step = pi(bits) / (2 * n as u64);
    let [c, s] = small(&step, bits);
    let mut pairs = Vec::with_capacity(n / 2 + 1);
    let mut pair = [one, BigInt::ZERO];
    for _ in 0..=n / 2 {
        let [x, y] = &pair;
        let next = [(x * &c - y * &s) >> bits, (x * &s + y * &c) >> bits];
        pairs.push(std::mem::replace(&mut pair, next));
    }
    pairs
}

/// 2^bits times cos and sin of `angle` 2^-bits, which is below 2, by Taylor's series.
fn small(angle: &BigInt, bits: usize) -> [BigInt; 2] {
    let mut sums = [BigInt::ZERO, BigInt::ZERO];
    let mut term = BigInt::from(1) << bits;
    let mut i = 0u64;
    while term != BigInt::ZERO {
        let sum = &mut sums[(i % 2) as usize];
        if i % 4 < 2 {
            *sum += &term;
        } else {
            *sum -= &term;
        }
        i += 1;
        term = ((term * angle) >> bits) / i;
    }
    sums
}

/// 2^bits pi = 2^bits (16 arctan 1/5 - 4 arctan 1/239) (J. Machin, 1706).
fn pi(bits: usize) -> BigInt {
    let extra = bits + 32;
    let arctan = |denominator: u32| {
        let square = denominator * denominator;
        let mut power = (BigInt::from(1) << extra) / denominator;
        let mut sum = power.clone();
        let mut odd = 1u64;
        while power != BigInt::ZERO {
            power /= square;
            odd += 2;
            let term = &power / odd;
            if odd % 4 == 3 {
                sum -= term;
            } else {
                sum += term;
            }
        }
        sum
    };
    (16 * arctan(5) - 4 * arctan(239)) >> 32
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn pi_to_a_hundred_digits() {
        let digits: BigInt = (pi(400) * BigInt::from(10).pow(100)) >> 400;
        assert_eq!(
            digits.to_string(),
            "31415926535897932384626433832795028841971693993751058209749445923078164062862089986280348253421170679"
        );
    }

    #[test]
    fn the_table_is_that_of_the_circle() {
        for n in [1, 2, 3, 4, 5, 7, 8, 12, 16, 100] {
            let (cosines, sines) = cosines_and_sines(n, 40);
            for j in 0..n {
                let angle = std::f64::consts::TAU * j as f64 / n as f64;
                assert!(
                    (cosines[j].round_f64() - angle.cos()).abs() < 1e-15,
                    "cos of {j}/{n}"
                );
                assert!(
                    (sines[j].round_f64() - angle.sin()).abs() < 1e-15,
                    "sin of {j}/{n}"
                );
                // cos^2 + sin^2 = 1 to the digits there are.
                let sum = (&cosines[j] * &cosines[j])
                    .plus(&(&sines[j] * &sines[j]))
                    .unwrap();
                let off = sum.plus(&Decimal::from(-1)).unwrap().abs();
                assert!(off < "2e-40".parse().unwrap(), "{j}/{n}: {off}");
            }
        }
        let (cosines, sines) = cosines_and_sines(8, 50);
        assert_eq!(
            cosines[1].to_string(),
            "0.70710678118654752440084436210484903928483593768847"
        );
        assert_eq!(
            (cosines[2].clone(), sines[2].to_string()),
            (Decimal::ZERO, "1".into())
        );
        assert_eq!(cosines[3], -sines[1].clone());
        let (cosines, _) = cosines_and_sines(5, 3);
        assert_eq!(cosines[1].to_string(), "0.309");
    }
}
