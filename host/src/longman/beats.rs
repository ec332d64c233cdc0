//! Products of cosines and sines as sums over sums and differences of their frequencies.
//!
//! cos(a) cos(b) = (cos(a + b) + cos(a - b))/2, factor by factor. Frequencies keep a bound on their rounding: near each other they leave a small difference, and a
//! difference that is nothing but rounding has no meaning.

/// cos(frequency x + phase), or the sine; the frequency is off by at most `error`.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) struct Tone {
    pub(super) sine: bool,
    pub(super) frequency: f64,
    pub(super) error: f64,
    pub(super) phase: f64,
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

/// A cosine that is turned back by a number of right angles.
#[derive(Clone, Copy)]
struct Turned {
    frequency: f64,
    error: f64,
    phase: f64,
    quarters: i32,
}

/// The product of tones, none if some difference of frequencies is not known to enough digits.
pub(super) fn beats(tones: &[Tone]) -> Option<Vec<Beat>> {
    let mut sum = vec![Turned {
        frequency: 0.0,
        error: 0.0,
        phase: 0.0,
        quarters: 0,
    }];
    let mut size = 1.0;
    for (i, tone) in tones.iter().enumerate() {
        let quarters = i32::from(tone.sine);
        let signs: &[f64] = if i == 0 { &[1.0] } else { &[1.0, -1.0] };
        size /= signs.len() as f64;
        let products = sum.iter().flat_map(|known| {
            signs.iter().map(|sign| {
                let (frequency, rounding) = exact_sum(known.frequency, sign * tone.frequency);
                Turned {
                    frequency,
                    error: known.error + tone.error + rounding.abs(),
                    phase: known.phase + sign * tone.phase,
                    quarters: known.quarters + *sign as i32 * quarters,
                }
            })
        });
        sum = products.collect();
    }
    let mut beats: Vec<Beat> = Vec::new();
    for turned in sum {
        if turned.error > ROUNDING * turned.frequency.abs() {
            return None;
        }
        // The cosine is even.
        let sign = if turned.frequency < 0.0 { -1.0 } else { 1.0 };
        let (frequency, phase) = (turned.frequency.abs(), sign * turned.phase);
        let quarters = (sign as i32 * turned.quarters).rem_euclid(4);
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
pub(super) fn exact_sum(a: f64, b: f64) -> (f64, f64) {
    let sum = a + b;
    let rest = sum - a;
    (sum, (a - (sum - rest)) + (b - rest))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn beats_have_the_sum_of_the_product() {
        let tone = |sine: bool, frequency: f64, phase: f64| Tone {
            sine,
            frequency,
            error: 0.0,
            phase,
        };
        let all = [
            tone(false, 0.5, 0.0),
            tone(true, 3.0, 0.4),
            tone(true, 3.0, -1.0),
            tone(false, 2.0, 2.0),
        ];
        for count in 1..=all.len() {
            let tones = &all[..count];
            let found = beats(tones).unwrap();
            for x in [0.0, 0.7, 9.3] {
                let product = tones.iter().map(|tone| {
                    let phase = tone.frequency * x + tone.phase;
                    if tone.sine { phase.sin() } else { phase.cos() }
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
            sine: false,
            frequency,
            error,
            phase: 0.0,
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
