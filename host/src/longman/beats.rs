//! Products of cosines and sines as sums over sums and differences of their frequencies.
//!
//! cos(a) cos(b) = (cos(a + b) + cos(a - b))/2, factor by factor. Frequencies keep a bound on their rounding: near each other they leave a small difference, and a
//! difference that is nothing but rounding has no meaning.

/// cos(frequency s + phase - quarters pi/2), or with an order J_order(frequency s), s = sqrt(x^2 + bend); the frequency is off by at most `error`.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) struct Tone {
    pub(super) order: Option<f64>,
    pub(super) frequency: f64,
    pub(super) error: f64,
    pub(super) phase: f64,
    /// 0 of a cosine, 1 of a sine.
    pub(super) quarters: f64,
    pub(super) bend: f64,
}

impl Tone {
    /// cos(frequency x).
    pub(super) fn cosine(frequency: f64) -> Self {
        Self {
            order: None,
            frequency,
            error: 0.0,
            phase: 0.0,
            quarters: 0.0,
            bend: 0.0,
        }
    }
}

/// cosine cos(frequency x) + sine sin(frequency x), frequency >= 0.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) struct Beat {
    pub(super) frequency: f64,
    pub(super) cosine: f64,
    pub(super) sine: f64,
}

/// Largest relative error of a frequency.
const ROUNDING: f64 = 1e-14;

/// A sum of tones, some of them with the opposite sign, but never the first.
#[derive(Clone, Debug)]
pub(super) struct SignedSum {
    pub(super) signs: Vec<f64>,
    pub(super) frequency: f64,
    pub(super) error: f64,
    pub(super) phase: f64,
    pub(super) quarters: f64,
}

/// All signed sums of tones. Their cosines over their number are the product of the tones' cosines; J_nu lies nu + 1/2 quarters behind a cosine, by its asymptotic form.
pub(super) fn signed_sums(tones: &[Tone]) -> Vec<SignedSum> {
    let mut sums = vec![SignedSum {
        signs: Vec::new(),
        frequency: 0.0,
        error: 0.0,
        phase: 0.0,
        quarters: 0.0,
    }];
    for (i, tone) in tones.iter().enumerate() {
        let quarters = tone.quarters + tone.order.map_or(0.0, |order| order + 0.5);
        let signs: &[f64] = if i == 0 { &[1.0] } else { &[1.0, -1.0] };
        let longer = sums.iter().flat_map(|known| {
            signs.iter().map(|sign| {
                let (frequency, rounding) = exact_sum(known.frequency, sign * tone.frequency);
                SignedSum {
                    signs: [&known.signs[..], &[*sign]].concat(),
                    frequency,
                    error: known.error + tone.error + rounding.abs(),
                    phase: known.phase + sign * tone.phase,
                    quarters: known.quarters + sign * quarters,
                }
            })
        });
        sums = longer.collect();
    }
    sums
}

/// The product of tones without an order, none if some difference of frequencies is not known to enough digits.
pub(super) fn beats(tones: &[Tone]) -> Option<Vec<Beat>> {
    let sums = signed_sums(tones);
    let size = 1.0 / sums.len() as f64;
    let mut beats: Vec<Beat> = Vec::new();
    for sum in sums {
        if sum.error > ROUNDING * sum.frequency.abs() {
            return None;
        }
        // The cosine is even.
        let sign = if sum.frequency < 0.0 { -1.0 } else { 1.0 };
        let (frequency, phase) = (sum.frequency.abs(), sign * sum.phase);
        let quarters = (sign * sum.quarters).rem_euclid(4.0) as u32;
        let (sin, cos) = phase.sin_cos();
        let (cosine, sine) = match quarters {
            0 => (cos, -sin),
            1 => (sin, cos),
            2 => (-cos, sin),
            _ => (-sin, -cos),
        };
        let (cosine, sine) = (size * cosine, size * sine);
        match beats.iter_mut().find(|beat| beat.frequency == frequency) {
            Some(beat) => {
                beat.cosine += cosine;
                beat.sine += sine;
            }
            None => beats.push(Beat {
                frequency,
                cosine,
                sine,
            }),
        }
    }
    Some(beats)
}

/// A sum of two numbers, and what its rounding leaves (Knuth).
fn exact_sum(a: f64, b: f64) -> (f64, f64) {
    let sum = a + b;
    let rest = sum - a;
    (sum, (a - (sum - rest)) + (b - rest))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn beats_have_the_sum_of_the_product() {
        let tone = |quarters: f64, frequency: f64, phase: f64| Tone {
            phase,
            quarters,
            ..Tone::cosine(frequency)
        };
        let all = [
            tone(0.0, 0.5, 0.0),
            tone(1.0, 3.0, 0.4),
            tone(1.0, 3.0, -1.0),
            tone(0.0, 2.0, 2.0),
        ];
        for count in 1..=all.len() {
            let tones = &all[..count];
            let found = beats(tones).unwrap();
            for x in [0.0, 0.7, 9.3] {
                let product = tones.iter().map(|tone| {
                    let phase = tone.frequency * x + tone.phase;
                    if tone.quarters == 1.0 {
                        phase.sin()
                    } else {
                        phase.cos()
                    }
                });
                let product: f64 = product.product();
                let sum = found.iter().map(|beat| {
                    let (sin, cos) = (beat.frequency * x).sin_cos();
                    beat.cosine * cos + beat.sine * sin
                });
                let sum: f64 = sum.sum();
                assert!((sum - product).abs() < 1e-14, "{count} {x}");
            }
        }
    }

    #[test]
    fn equal_frequencies_leave_a_constant_and_rounded_ones_nothing() {
        let tone = |frequency: f64, error: f64| Tone {
            error,
            ..Tone::cosine(frequency)
        };
        let found = beats(&[tone(0.3, 0.0), tone(0.3, 0.0)]).unwrap();
        assert!(
            found
                .iter()
                .any(|beat| beat.frequency == 0.0 && beat.cosine == 0.5)
        );
        assert_eq!(beats(&[tone(0.3, 0.0), tone(0.3, 1e-17)]), None);
        assert!(beats(&[tone(0.3, 0.0), tone(0.1, 1e-18)]).is_some());
    }
}
