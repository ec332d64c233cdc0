//! Products of Bessel functions and cosines as cosines and sines of sums and differences of their frequencies.
//!
//! By Hankel's expansion (G. N. Watson, *A Treatise on the Theory of Bessel Functions*, section 7.3)
//!
//! ```text
//! J_nu(z) = sqrt(2/(pi z)) Re[(P + i Q) exp(i z - i (nu + 1/2) pi/2)],       P + i Q = sum over k of i^k a_k(nu)/z^k,
//! a_k(nu) = (4 nu^2 - 1)(4 nu^2 - 9) ... (4 nu^2 - (2k - 1)^2)/(k! 8^k).
//! ```
//!
//! Of s = sqrt(x^2 + b), with c/x = t and g = b/c^2,
//!
//! ```text
//! (c/s)^p exp(i omega s) = t^p (1 + g t^2)^(-p/2) exp(i omega c (sqrt(1 + g t^2) - 1)/t) exp(i omega x)
//! ```
//!
//! is a power series in t beside exp(i omega x), whose coefficients are at most those of |g| and of exp without i, a function M. So those from N on are
//! at most M(r) r^-N/(1 - 1/r) together, for any r > 1 within the circle of convergence.
//!
//! With nu + 1 terms or more the remainders of P and of Q are at most their first terms that are left out (section 7.32). A product of real parts is
//! a sum over signs: Re A Re B = (Re A B + Re A conj B)/2, factor by factor.

use std::f64::consts::{FRAC_PI_2, PI};
use std::ops::{Add, Mul};

use num_complex::Complex;

use super::beats::{Tone, signed_sums};

/// Least argument: the smallest term of the expansion is exp(-2 z).
const LEAST: f64 = 25.0;

/// Terms below this, relative to the first one, are left out.
const NEGLIGIBLE: f64 = 1e-20;

/// Largest order.
const MOST_ORDER: f64 = 100.0;

/// Terms of a power series.
const LENGTH: usize = 48;

/// Smallest place of an expansion, in units of sqrt(|b|).
const ROOTS: f64 = 5.0;

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

/// From where on a tone is expanded; none if its order or frequency is out of range.
pub(super) fn begin(tone: &Tone) -> Option<f64> {
    let (size, bend) = (tone.frequency.abs(), tone.bend.abs());
    let bent = (ROOTS * bend.sqrt()).max(size * bend);
    let Some(order) = tone.order.map(f64::abs) else {
        return bent.is_finite().then_some(bent);
    };
    let possible = order <= MOST_ORDER && tone.frequency > 0.0 && size.is_finite();
    let argument = LEAST.max(order * (0.5 * order + 2.0));
    let begin = (argument / size).max(bent) * (1.0 + 1e-12);
    (possible && begin.is_finite()).then_some(begin)
}

/// The expansion of a tone in powers of t = begin/x.
struct Expansion {
    coefficients: Vec<Complex<f64>>,
    /// Bounds on their magnitudes, by sums of the magnitudes of all terms.
    norms: Vec<f64>,
    /// The sum is off by at most this times t^power.
    rest: f64,
    power: usize,
}

impl Expansion {
    /// Of a tone from `start` on; none if a series does not converge.
    fn of(tone: &Tone, start: f64) -> Option<Self> {
        let z = tone.frequency * start;
        let (coefficients, rest) = match tone.order {
            Some(order) => series(order, z),
            None => (vec![Complex::new(1.0, 0.0)], 0.0),
        };
        let power = if tone.order.is_some() {
            coefficients.len()
        } else {
            usize::MAX
        };
        let straight = Self {
            norms: coefficients.iter().map(|c| c.norm()).collect(),
            coefficients,
            rest,
            power,
        };
        if tone.bend == 0.0 {
            return Some(straight);
        }
        let halves = if tone.order.is_some() { 0.5 } else { 0.0 };
        straight.bent(halves, z, tone.bend / start / start)
    }

    /// The expansion of a tone of sqrt(x^2 + bend), in powers of t; terms of s have the power `halves` besides their own.
    fn bent(self, halves: f64, z: f64, g: f64) -> Option<Self> {
        let size = g.abs();
        let (mut coefficients, mut norms) =
            (vec![Complex::new(0.0, 0.0); LENGTH], vec![0.0; LENGTH]);
        for (k, (own, norm)) in self.coefficients.iter().zip(&self.norms).enumerate() {
            // (1 + g t^2)^-p
            let p = 0.5 * (k as f64 + halves);
            let (mut term, mut most) = (1.0, 1.0);
            for (j, n) in (k..LENGTH).step_by(2).enumerate() {
                coefficients[n] += own * term;
                norms[n] += norm * most;
                let next = (p + j as f64) / (j as f64 + 1.0);
                term *= -next * g;
                most *= next * size;
            }
        }
        // The phase, and exp of i times it.
        let (mut phase, mut bound) = ([0.0; LENGTH], [0.0; LENGTH]);
        let (mut term, mut most) = (0.5 * g * z, 0.5 * size * z);
        for j in 1..LENGTH / 2 {
            (phase[2 * j - 1], bound[2 * j - 1]) = (term, most);
            let next = (j as f64 - 0.5) / (j as f64 + 1.0);
            term *= -next * g;
            most *= next * size;
        }
        let (mut turn, mut growth) = (vec![Complex::new(1.0, 0.0)], vec![1.0]);
        for n in 1..LENGTH {
            let (mut sum, mut sizes) = (Complex::new(0.0, 0.0), 0.0);
            for m in 1..=n {
                let part = m as f64 / n as f64;
                sum += Complex::new(0.0, part * phase[m]) * turn[n - m];
                sizes += part * bound[m].abs() * growth[n - m];
            }
            turn.push(sum);
            growth.push(sizes);
        }
        coefficients = multiplied(&coefficients, &turn);
        norms = multiplied(&norms, &growth);
        coefficients.truncate(LENGTH);
        norms.truncate(LENGTH);
        let beyond = |r: f64| {
            let w = 1.0 - size * r * r;
            let phase = (z.abs() * (1.0 - w.sqrt()) / r).exp();
            let terms = self.norms.iter().enumerate();
            let sum: f64 = terms
                .map(|(k, norm)| norm * r.powi(k as i32) * w.powf(-0.5 * (k as f64 + halves)))
                .sum();
            sum * phase * r.powi(-(LENGTH as i32)) / (1.0 - 1.0 / r)
        };
        let circles = (1..40).map(|i| 1.2_f64.powi(i));
        let circles = circles.take_while(|r| size * r * r <= 0.6);
        let beyond = circles.map(beyond).fold(f64::INFINITY, f64::min) * (1.0 + 1e-9);
        // Below x the argument is smaller.
        let count = self.norms.len() as f64;
        let nearer = if g < 0.0 {
            (1.0 - size).powf(-0.5 * (count + halves))
        } else {
            1.0
        };
        let rest = self.rest * nearer + beyond;
        rest.is_finite().then_some(Self {
            coefficients,
            norms,
            rest,
            power: self.power.min(LENGTH),
        })
    }
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

fn multiplied<T>(a: &[T], b: &[T]) -> Vec<T>
where
    T: Copy + Default + Add<Output = T> + Mul<Output = T>,
{
    let mut product = vec![T::default(); a.len() + b.len() - 1];
    for (i, x) in a.iter().enumerate() {
        for (j, y) in b.iter().enumerate() {
            product[i + j] = product[i + j] + *x * *y;
        }
    }
    product
}

/// The product of tones from `start` on; none if some sum of frequencies is not known, or there are too many.
pub(super) fn product(tones: &[Tone], start: f64) -> Option<Product> {
    if tones.len() > MOST_TONES {
        return None;
    }
    // Size of the front factor, of the sum so far and of what is left out.
    let (mut front, mut halves) = (1.0, 0);
    let (mut size, mut rest, mut power) = (1.0, 0.0, usize::MAX);
    let (mut relative, mut turns) = (0.0_f64, 1.0_f64);
    let (mut expansions, mut work) = (Vec::with_capacity(tones.len()), 1);
    let mut sizes = vec![1.0];
    for tone in tones {
        turns += tone.phase.abs() + tone.order.map_or(0.0, f64::abs);
        let expansion = Expansion::of(tone, start)?;
        let own: f64 = expansion.norms.iter().sum();
        rest = rest * (own + expansion.rest) + size * expansion.rest;
        size *= own;
        power = power.min(expansion.power);
        if tone.bend != 0.0 {
            // A series of each coefficient, of a bend that is rounded.
            work = 8;
            relative += 8.0 * f64::EPSILON;
        }
        if tone.order.is_some() {
            front *= (2.0 / (PI * tone.frequency)).sqrt();
            halves += 1;
        }
        if tone.order.is_some() || tone.bend != 0.0 {
            relative += tone.error / tone.frequency.abs();
        }
        sizes = multiplied(&sizes, &expansion.norms);
        expansions.push(expansion.coefficients);
    }
    let negligible = sizes.iter().rev().take_while(|c| **c < 10.0 * NEGLIGIBLE);
    let kept = (sizes.len() - negligible.count()).max(1);
    rest += sizes[kept..].iter().sum::<f64>();
    power = power.min(kept);
    let signed = signed_sums(tones);
    let scale = front / signed.len() as f64;
    let mut beats: Vec<Beat> = Vec::new();
    for sum in signed {
        let (frequency, error) = (sum.frequency, sum.error);
        let mut coefficients = vec![Complex::new(1.0, 0.0)];
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
        let operations = (8 * work * (k + 2) * tones.len()) as f64 + 16.0 * turns;
        front * size * (operations * f64::EPSILON + (k + 1) as f64 * relative)
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
        let bent = |tone: Tone, bend: f64| Tone { bend, ..tone };
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
            vec![bent(wave, 2.3), bessel(1.5, 2.0)],
            vec![bent(bessel(0.0, 1.0), 1.0)],
            vec![bent(bessel(2.5, 3.0), 10.0), bessel(-0.3, 0.9)],
            vec![bent(bessel(4.0, 0.7), -0.3), bent(wave, 0.01)],
        ] {
            let start = tones.iter().filter_map(begin).fold(0.0, f64::max);
            let found = product(&tones, start).unwrap();
            assert!(found.rest < 1e-15 && found.power >= 4, "{found:?}");
            for t in [1.0, 1.7, 40.0] {
                let x = start * t;
                let right: f64 = tones
                    .iter()
                    .map(|tone| match tone.order {
                        Some(order) => bessel_j(order, tone.frequency * (x * x + tone.bend).sqrt()),
                        None => (tone.frequency * (x * x + tone.bend).sqrt() + tone.phase
                            - FRAC_PI_2)
                            .cos(),
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
