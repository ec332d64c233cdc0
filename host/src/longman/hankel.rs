//! Products of Bessel functions and cosines as cosines and sines of sums and differences of their frequencies.
//!
//! By Hankel's expansion (G. N. Watson, *A Treatise on the Theory of Bessel Functions*, section 7.3)
//!
//! ```text
//! J_nu(z) = sqrt(2/(pi z)) Re[(P + i Q) exp(i z - i (nu + 1/2) pi/2)],       P + i Q = sum over k of i^k a_k(nu)/z^k,
//! a_k(nu) = (4 nu^2 - 1)(4 nu^2 - 9) ... (4 nu^2 - (2k - 1)^2)/(k! 8^k).
//! ```
//!
//! With nu + 1 terms or more the remainders of P and of Q are at most their first terms that are left out (section 7.32). A product of real parts is
//! a sum over signs: Re A Re B = (Re A B + Re A conj B)/2, factor by factor.

use std::f64::consts::{FRAC_PI_2, PI};

use num_complex::Complex;

use super::beats::{Tone, signed_sums};

/// Least argument: the smallest term of the expansion is exp(-2 z).
const LEAST: f64 = 25.0;

/// Terms below this, relative to the first one, are left out.
const NEGLIGIBLE: f64 = 1e-20;

/// Largest order.
const MOST_ORDER: f64 = 100.0;

/// Factors at most.
const MOST_TONES: usize = 5;

/// Largest relative error of a sum of frequencies.
const MOST_ERROR: f64 = 1e-3;

/// cos(frequency x) times a polynomial in begin/x, and sin(frequency x) times another one; frequency >= 0.
#[derive(Clone, Debug)]
pub(super) struct Beat {
    pub(super) frequency: f64,
    pub(super) error: f64,
    pub(super) cosine: Vec<f64>,
    pub(super) sine: Vec<f64>,
}

/// A product over x >= begin: x^(-halves/2) times the sum of beats.
#[derive(Clone, Debug)]
pub(super) struct Product {
    pub(super) halves: usize,
    pub(super) beats: Vec<Beat>,
    /// By what each coefficient of a beat is off, at most.
    pub(super) errors: Vec<f64>,
    /// The sum is off by at most this times (begin/x)^power.
    pub(super) rest: f64,
    pub(super) power: usize,
}

/// From where on a Bessel function is expanded; none if its order or frequency is out of range.
pub(super) fn begin(order: f64, frequency: f64) -> Option<f64> {
    let possible = order.abs() <= MOST_ORDER && frequency > 0.0 && frequency.is_finite();
    let argument = LEAST.max(order.abs() * (0.5 * order.abs() + 2.0));
    let begin = argument / frequency * (1.0 + 1e-12);
    (possible && begin.is_finite()).then_some(begin)
}

/// Coefficients of P + i Q in powers of 1/z, in units of those of the argument z, and what is left out, which falls like the power of their number.
fn series(order: f64, z: f64) -> (Vec<Complex<f64>>, f64) {
    let mu = 4.0 * order * order;
    let least = (order.abs() + 1.0).max(4.0);
    let (mut term, mut k) = (1.0_f64, 0.0_f64);
    let mut turn = Complex::new(1.0, 0.0);
    let mut coefficients = Vec::new();
    let following = |term: f64, k: f64| {
        let odd = 2.0 * k + 1.0;
        term * (mu - odd * odd) / (8.0 * (k + 1.0) * z)
    };
    loop {
        coefficients.push(turn * term);
        turn *= Complex::I;
        let next = following(term, k);
        k += 1.0;
        if k >= least && (next.abs() < NEGLIGIBLE || next.abs() >= term.abs()) {
            return (coefficients, next.abs() + following(next, k).abs());
        }
        term = next;
    }
}

/// exp(i quarters pi/2), exact for whole quarters.
fn turned(quarters: f64) -> Complex<f64> {
    let rest = quarters.rem_euclid(4.0);
    let whole = [(1.0, 0.0), (0.0, 1.0), (-1.0, 0.0), (0.0, -1.0)];
    match whole.get(rest as usize) {
        Some((re, im)) if rest == rest.floor() => Complex::new(*re, *im),
        _ => Complex::from_polar(1.0, rest * FRAC_PI_2),
    }
}

fn multiplied(a: &[Complex<f64>], b: &[Complex<f64>]) -> Vec<Complex<f64>> {
    let mut product = vec![Complex::new(0.0, 0.0); a.len() + b.len() - 1];
    for (i, x) in a.iter().enumerate() {
        for (j, y) in b.iter().enumerate() {
            product[i + j] += x * y;
        }
    }
    product
}

/// The product of tones from `start` on; none if some sum of frequencies is not known, or there are too many.
pub(super) fn product(tones: &[Tone], start: f64) -> Option<Product> {
    if tones.len() > MOST_TONES {
        return None;
    }
    let one = vec![Complex::new(1.0, 0.0)];
    // Size of the front factor, of the sum so far and of what is left out.
    let (mut front, mut halves) = (1.0, 0);
    let (mut size, mut rest, mut power) = (1.0, 0.0, usize::MAX);
    let (mut relative, mut turns) = (0.0_f64, 1.0_f64);
    let mut expansions = Vec::with_capacity(tones.len());
    let mut sizes = one.clone();
    for tone in tones {
        turns += tone.phase.abs();
        let Some(order) = tone.order else {
            expansions.push(one.clone());
            continue;
        };
        let (coefficients, left) = series(order, tone.frequency * start);
        let own: f64 = coefficients.iter().map(|c| c.norm()).sum();
        rest = rest * (own + left) + size * left;
        size *= own;
        power = power.min(coefficients.len());
        front *= (2.0 / (PI * tone.frequency)).sqrt();
        halves += 1;
        relative += tone.error / tone.frequency;
        turns += order.abs();
        let norms: Vec<_> = coefficients.iter().map(|c| c.norm().into()).collect();
        sizes = multiplied(&sizes, &norms);
        expansions.push(coefficients);
    }
    let negligible = sizes.iter().rev().take_while(|c| c.re < 10.0 * NEGLIGIBLE);
    let kept = (sizes.len() - negligible.count()).max(1);
    rest += sizes[kept..].iter().map(|c| c.re).sum::<f64>();
    power = power.min(kept);
    let signed = signed_sums(tones);
    let scale = front / signed.len() as f64;
    let mut beats: Vec<Beat> = Vec::new();
    for sum in signed {
        let (frequency, error) = (sum.frequency, sum.error);
        let mut coefficients = one.clone();
        for (sign, own) in sum.signs.iter().zip(&expansions) {
            let conjugate = own.iter().map(Complex::conj);
            coefficients = match *sign < 0.0 {
                true => multiplied(&coefficients, &conjugate.collect::<Vec<_>>()),
                false => multiplied(&coefficients, own),
            };
        }
        let mut turn = turned(-sum.quarters);
        if sum.phase != 0.0 {
            turn *= Complex::from_polar(1.0, sum.phase);
        }
        let known = frequency == 0.0 && error == 0.0 || error <= MOST_ERROR * f64::abs(frequency);
        if !known {
            return None;
        }
        coefficients.truncate(kept);
        // The cosine is even, and a sine is the imaginary part.
        let sign = if frequency < 0.0 { -1.0 } else { 1.0 };
        let parts = coefficients.iter().map(|c| {
            let c = c * turn * scale;
            (c.re, -sign * c.im)
        });
        let (cosine, sine): (Vec<f64>, Vec<f64>) = parts.unzip();
        let frequency = f64::abs(frequency);
        match beats.iter_mut().find(|beat| beat.frequency == frequency) {
            Some(beat) => {
                beat.error = f64::max(beat.error, error);
                for (sum, c) in beat.cosine.iter_mut().zip(cosine) {
                    *sum += c;
                }
                for (sum, s) in beat.sine.iter_mut().zip(sine) {
                    *sum += s;
                }
            }
            None => beats.push(Beat {
                frequency,
                error,
                cosine,
                sine,
            }),
        }
    }
    // Coefficient k is a sum of at most k + 1 products for each factor.
    let errors = sizes[..kept].iter().enumerate().map(|(k, size)| {
        let operations = (8 * (k + 2) * tones.len()) as f64 + 16.0 * turns;
        front * size.re * (operations * f64::EPSILON + (k + 1) as f64 * relative)
    });
    Some(Product {
        halves,
        errors: errors.collect(),
        beats,
        rest: front * rest,
        power,
    })
}

#[cfg(test)]
mod tests {
    use super::super::special::bessel_j;
    use super::*;

    #[test]
    fn products_have_their_values_from_the_begin_on() {
        let bessel = |order: f64, frequency: f64| Tone {
            order: Some(order),
            ..Tone::cosine(frequency)
        };
        let wave = Tone {
            phase: 0.4,
            quarters: 1.0,
            ..Tone::cosine(0.7)
        };
        for tones in [
            vec![bessel(0.0, 1.0)],
            vec![bessel(0.0, 1.0), bessel(1.0, 1.0)],
            vec![bessel(2.5, 3.0), bessel(-0.3, 0.9)],
            vec![wave, bessel(7.0, 2.0)],
            vec![wave, bessel(1.0, 2.0), bessel(0.0, 0.3)],
        ] {
            let begins = tones
                .iter()
                .filter_map(|tone| begin(tone.order?, tone.frequency));
            let start = begins.fold(0.0, f64::max);
            let found = product(&tones, start).unwrap();
            assert!(found.rest < 1e-15 && found.power >= 4, "{found:?}");
            for t in [1.0, 1.7, 40.0] {
                let x = start * t;
                let right: f64 = tones
                    .iter()
                    .map(|tone| match tone.order {
                        Some(order) => bessel_j(order, tone.frequency * x),
                        None => (tone.frequency * x + tone.phase - FRAC_PI_2).cos(),
                    })
                    .product();
                let horner = |c: &[f64]| c.iter().rev().fold(0.0, |sum, c| sum / t + c);
                let sum: f64 = found
                    .beats
                    .iter()
                    .map(|beat| {
                        let (sin, cos) = (beat.frequency * x).sin_cos();
                        cos * horner(&beat.cosine) + sin * horner(&beat.sine)
                    })
                    .sum();
                let size = x.powf(-0.5 * found.halves as f64);
                let off = (sum * size - right).abs();
                assert!(off <= 1e-14 * x * size, "{tones:?} {x} {off}");
            }
        }
    }

    /// Of equal frequencies orders that differ by 1 leave exactly no leading term.
    #[test]
    fn equal_frequencies_leave_what_is_exact() {
        let tone = |order: f64| Tone {
            order: Some(order),
            ..Tone::cosine(0.3)
        };
        let found = product(&[tone(0.0), tone(1.0)], 100.0).unwrap();
        let constant = found.beats.iter().find(|beat| beat.frequency == 0.0);
        assert_eq!(constant.unwrap().cosine[0], 0.0);
        let rounded = Tone {
            error: 1e-17,
            ..tone(1.0)
        };
        assert!(product(&[tone(0.0), rounded], 100.0).is_none());
    }
}
