//! Integrands without an enclosure, sampled beyond their areas.
//!
//! A smooth function is locally a polynomial: eighth differences of its samples, divided by the largest binomial coefficient, 70, fall with the distance like
//! (step/x)^8. A bump, a step, a kink or a peak that a sample meets makes them grow. A feature between two samples stays undetected. With two samples in a half period all features of width w >= 1/2
//! half periods are detected, and the fraction 2 w of narrower ones.

/// Samples in a half period.
pub(in crate::longman) const SAMPLES: usize = 2;

/// Half periods before the last boundary at which sampling begins, where the areas have been sampled.
pub(in crate::longman) const BEFORE: usize = 8;

/// Binomial coefficients of the eighth difference, with their signs, over the largest.
const EIGHTH: [f64; 9] = [
    1.0 / 70.0,
    -8.0 / 70.0,
    28.0 / 70.0,
    -56.0 / 70.0,
    1.0,
    -56.0 / 70.0,
    28.0 / 70.0,
    -8.0 / 70.0,
    1.0 / 70.0,
];

/// Growth of the differences that a smooth function does not have.
const GROWTH: f64 = 4.0;

/// The end of the last feature in a sequence of samples: one more than the number of the sample at which differences above `threshold` last grew.
///
/// `noise` is the error of a sample relative to it and absolutely. Samples that are not a number end the sequence.
pub(in crate::longman) fn last_feature(
    samples: &[f64],
    threshold: f64,
    (relative, absolute): (f64, f64),
) -> Option<usize> {
    let numbers = samples.iter().take_while(|g| g.is_finite()).count();
    let mut least = f64::INFINITY;
    let mut last = None;
    for (i, window) in samples[..numbers].windows(EIGHTH.len()).enumerate() {
        let terms = window.iter().zip(EIGHTH);
        let (mut sum, mut size) = (0.0, 0.0);
        for (g, factor) in terms {
            sum += factor * g;
            size += factor.abs() * (relative * g.abs() + absolute);
        }
        let rough = (sum.abs() - size).max(0.0);
        if rough > threshold && rough > GROWTH * least {
            last = Some(i + EIGHTH.len());
        }
        least = least.min(rough.max(threshold / GROWTH));
    }
    last
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn features_are_seen_and_smooth_functions_have_none() {
        let at = |f: &dyn Fn(f64) -> f64| -> Vec<f64> {
            (0..1000).map(|i| f(75.0 + 1.57 * f64::from(i))).collect()
        };
        let noise = (1e-15, 0.0);
        let smooth: [&dyn Fn(f64) -> f64; 5] = [
            &|x| 1.0 / x,
            &|x| (-0.01 * x).exp(),
            &|x| x.powf(-0.1),
            &|x| 1.0 / (1.0 + x * x),
            &|x| x / (x * x + 9.0).sqrt(),
        ];
        for (i, f) in smooth.iter().enumerate() {
            assert_eq!(last_feature(&at(f), 1e-13, noise), None, "{i}");
        }
        let features: [&dyn Fn(f64) -> f64; 4] = [
            &|x| 1e-3 * (-(x - 500.0) * (x - 500.0)).exp(),
            &|x| 1e-6 * f64::from(x > 500.0) / x,
            &|x| 1e-3 * (1.0 - x / 500.0).max(0.0),
            &|x| 1e-3 / (1.0 + (x - 500.0) * (x - 500.0)),
        ];
        for (i, f) in features.iter().enumerate() {
            let found = last_feature(&at(&|x| 1.0 / x + f(x)), 1e-12, noise);
            let place = 75.0 + 1.57 * found.unwrap() as f64;
            assert!(place > 500.0 && place < 800.0, "{i}: {place}");
        }
        // Nothing at all, but for one bump.
        let bump = |x: f64| (-(x - 500.0) * (x - 500.0)).exp();
        assert!(last_feature(&at(&bump), 0.0, (1e-15, 0.0)).is_some());
        assert_eq!(last_feature(&at(&|_| 0.0), 0.0, noise), None);
    }
}
