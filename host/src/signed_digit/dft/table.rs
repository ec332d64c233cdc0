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
    let [c, s] = root_of_unity(4 * n as u64, bits);
    let mut pairs = Vec::with_capacity(n / 2 + 1);
    let mut pair = [one, BigInt::ZERO];
    for _ in 0..=n / 2 {
        let [x, y] = &pair;
        let next = [(x * &c - y * &s) >> bits, (x * &s + y * &c) >> bits];
        pairs.push(std::mem::replace(&mut pair, next));
    }
    pairs
}

/// Bits of the cosine and sine with which Newton's method starts, which are of f64.
const FIRST: usize = 49;

/// 2^bits times cos and sin of 2 pi / n, 4 <= n <= 2^26, as the root z of z^n = 1.
///
/// Newton's step z (1 - (z^n - 1) / n) squares the error and multiplies it by n/2, so all but the last few products are of few bits.
fn root_of_unity(n: u64, bits: usize) -> [BigInt; 2] {
    let lost = n.ilog2() as usize + 3;
    let mut precisions = vec![bits + 2];
    while let Some(&last) = precisions.last().filter(|&&last| last > FIRST) {
        // Of n <= 2^26, at most 29 of the 49 bits are lost.
        precisions.push((last + lost).div_ceil(2).max(FIRST));
    }
    let angle = std::f64::consts::TAU / n as f64;
    let mut scale = FIRST + 4;
    let unit = 2f64.powi(scale as i32);
    let mut z = [angle.cos(), angle.sin()].map(|x| BigInt::from((x * unit).round() as i64));
    for precision in precisions.into_iter().rev().skip(1) {
        // Roundings of the power are those of one product: n of them, over n.
        let finer = precision + 8;
        let [x, y] = z.map(|part| shifted(part, scale, finer));
        scale = finer;
        let [mut off, aside] = power([&x, &y], n, scale);
        off -= BigInt::from(1) << scale;
        let [off, aside] = [off, aside].map(|part| part / n);
        let real = (&x * &off - &y * &aside) >> scale;
        let imaginary = (&x * &aside + &y * &off) >> scale;
        z = [x - real, y - imaginary];
    }
    z.map(|part| shifted(part, scale, bits))
}

/// A number times 2^from as the same times 2^to.
fn shifted(number: BigInt, from: usize, to: usize) -> BigInt {
    if to >= from {
        number << (to - from)
    } else {
        number >> (from - to)
    }
}

/// z^n of a complex z, both times 2^scale; n is at least 1.
fn power([x, y]: [&BigInt; 2], n: u64, scale: usize) -> [BigInt; 2] {
    let mut found = [x.clone(), y.clone()];
    for bit in (0..n.ilog2()).rev() {
        let [re, im] = &found;
        found = [((re + im) * (re - im)) >> scale, (re * im) >> (scale - 1)];
        if n >> bit & 1 == 1 {
            let [re, im] = &found;
            found = [(re * x - im * y) >> scale, (re * y + im * x) >> scale];
        }
    }
    found
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn roots_of_unity_have_all_their_bits() {
        let bits: usize = 4000;
        let one = BigInt::from(1) << bits;
        // 2 cos of the twelfth, eighth and fifth of the circle: the roots of 3 and 2, and the golden ratio less 1.
        let root = |square: u32| -> BigInt { (BigInt::from(square) << (2 * bits)).sqrt() };
        let golden: BigInt = (root(5) - &one) / 2_u32;
        for (n, doubled) in [(12, root(3)), (8, root(2)), (5, golden)] {
            let [cos, _] = root_of_unity(n, bits);
            let off = BigInt::from(2) * cos - doubled;
            assert!(off.magnitude().bits() <= 3, "{n}: {off}");
        }
        for n in [4, 7, 97, 4 * 65537, 1 << 26] {
            let [cos, sin] = root_of_unity(n, bits);
            let [re, im] = power([&cos, &sin], n, bits);
            let lost = u64::from(n.ilog2()) + 4;
            for off in [re - &one, im] {
                assert!(off.magnitude().bits() <= lost, "{n}: {off}");
            }
        }
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
