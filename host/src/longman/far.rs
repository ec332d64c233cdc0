//! Far out, where it shows whether an integrand goes to zero: a constant below a visible decay, or a growth that has only begun.

use std::f64::consts::PI;

use rarefy_kernels::longman::driver::FarOut;

use super::integrand::Function;
use super::oscillator::Oscillator;
use super::proof::limit::Limit;

/// Decades beyond the last area at which kernels and the CPU look whether the amplitude vanishes; those of `f32` end sooner.
const DECADES: [i32; 6] = [0, 6, 12, 24, 48, 96];

/// Whether g(x) osc(omega x) goes to zero, by the leading terms of an expression, or else from g many decades beyond `last`. None where g is no number so
/// far out.
///
/// Nor is a value of use that is nothing but roundoff, unless it is below `noise`.
pub(super) fn amplitude_vanishes(
    g: &mut impl Function,
    oscillator: Oscillator,
    last: f64,
    noise: f64,
) -> Option<bool> {
    // Bessel functions fall like x^-1/2 themselves.
    let own = match oscillator {
        Oscillator::BesselJ(_) => 0.5,
        Oscillator::Cos | Oscillator::Sin => 0.0,
    };
    match g.limit(own) {
        Limit::Vanishes => return Some(true),
        // A constant that is roundoff of the rest.
        Limit::Stays(Some(factor)) if factor.abs() * last.powf(own) <= noise => {}
        Limit::Stays(_) => return Some(false),
        Limit::Unknown => {}
    }
    let mut size = |decades: f64| {
        let (value, error) = g.far(last * 10f64.powf(decades));
        let size = value.abs();
        // A zero without any bound is one that numbers too large to be numbers left.
        let overflow = size == 0.0 && error == f64::INFINITY;
        let known = size.is_finite() && (overflow || error <= noise.max(0.01 * size));
        known.then(|| size * 10f64.powf(-own * decades))
    };
    let mut far = FarOut::NEW;
    let (mut seen, mut stopped) = (0, None);
    for decades in DECADES {
        match size(f64::from(decades)) {
            Some(size) => far.look(size),
            None => {
                stopped = Some(decades);
                break;
            }
        }
        seen = decades;
    }
    let Some(stopped) = stopped else {
        return far.vanishes();
    };
    // As far as it goes: what is about to overflow, and a constant, which shows where the fall by decades all but ends. Other amplitudes may still
    // do anything.
    let mut quarters = (4 * seen + 1..4 * stopped)
        .rev()
        .map(|q| 0.25 * f64::from(q));
    let beyond = quarters.find_map(|reach| {
        let end = size(reach)?;
        let places = [0.25 * reach, 0.5 * reach, reach - 0.25].map(&mut size);
        let [Some(near), Some(middle), Some(before)] = places else {
            return None;
        };
        let fall = (near / middle).ln() / (0.25 * reach);
        let last = (before / end).ln() / 0.25;
        let grows = end > 1.01 * before && end > near;
        let level = end > 0.0 && fall > 0.0 && last.abs() < 0.2 * fall;
        Some(grows || level)
    });
    if beyond == Some(true) {
        Some(false)
    } else {
        far.vanishes()
    }
}

/// Looks at a whole integrand beyond the last area, and decades between two of them where the phase is known so far.
const LOOKS: usize = 9;
const STEP: f64 = 1.25;

/// Error of the phase up to which the root mean square of an integrand over a period is one.
const PHASE: f64 = 2e-3;

/// Samples of a period, a number of which no harmonic of the integrand is likely to be a multiple.
const SAMPLES: u32 = 17;

/// The root mean square of an integrand over a period, and what it may be off by.
#[derive(Clone, Copy)]
struct Size {
    value: f64,
    error: f64,
}

/// Whether a whole integrand is seen not to go to zero, from its root mean square over periods further and further out. None where that is not
/// seen: boundaries that are not evenly spaced say nothing of what lies beyond them, and the phase is known to so many decades only.
pub(super) fn integrand_vanishes(
    f: &mut impl Function,
    (lower, boundaries): (f64, &[f64]),
    noise: f64,
) -> Option<bool> {
    let (&[first, ..], &[.., last]) = (boundaries, boundaries) else {
        return None;
    };
    let width = (last - first) / (boundaries.len() - 1) as f64;
    match f.limit(0.0) {
        Limit::Stays(factor) if factor.is_none_or(|factor| factor.abs() * width > noise) => {
            return Some(false);
        }
        _ => {}
    }
    let half_period = width;
    let even = |pair: &[f64]| ((pair[1] - pair[0]) / half_period - 1.0).abs() < 1e-9;
    if !boundaries.windows(2).all(even) {
        return None;
    }
    let nothing = noise / half_period;
    let phase = |x: f64| f64::EPSILON * PI * (x.abs() / half_period);
    let mut size = |x: f64| {
        let (mut squares, mut errors) = (0.0, 0.0);
        for i in 0..SAMPLES {
            let part = f64::from(2 * i) / f64::from(SAMPLES);
            let (value, error) = f.far(x + part * half_period);
            squares += value * value;
            errors += error * error;
        }
        let value = (squares / f64::from(SAMPLES)).sqrt();
        let error = (errors / f64::from(SAMPLES)).sqrt();
        let known = value.is_finite() && error <= nothing.max(0.01 * value);
        // Errors of the phase, which is most of them, average out over a period.
        let error = 0.25 * error;
        known.then(|| Size {
            value,
            error: error.max((phase(x) + 4.0 * f64::EPSILON) * value),
        })
    };
    let reach = last - lower;
    let most = (PHASE / phase(last.abs().max(lower.abs()))).log10();
    let mut step = STEP.min(most / (LOOKS - 1) as f64);
    while step >= 0.05 {
        let looks: Vec<Size> = (0..LOOKS)
            .map_while(|j| size(lower + reach * 10f64.powf(step * j as f64)))
            .collect();
        if looks.len() >= 4 {
            return (grows(&looks, nothing) || levels(&looks, nothing)).then_some(false);
        }
        // An amplitude that is no number a few decades out may grow without bound.
        step *= 0.25;
    }
    None
}

/// Whether the last of the sizes is more than the one before.
fn grows(looks: &[Size], nothing: f64) -> bool {
    match looks {
        [.., before, end] => {
            let noise = 4.0 * (before.error + end.error) + nothing;
            end.value > 1.01 * before.value + noise
        }
        _ => false,
    }
}

/// Whether there is a constant under the sizes, which are those at distances in geometric progression.
///
/// Of a constant c and a power, s_j = A r^-jp + c, Aitken's process yields c exactly. A sum of powers has such a c too, but it falls like the
/// slower of them from one sample to the next.
fn levels(looks: &[Size], nothing: f64) -> bool {
    let level = |pair: &[Size]| {
        let noise = 4.0 * (pair[0].error + pair[1].error);
        pair[1].value > nothing + noise && pair[1].value > 0.99 * pair[0].value
    };
    if looks.windows(2).last().is_some_and(level) {
        return true;
    }
    let constant = |three: &[Size]| {
        let [a, b, c] = [three[0], three[1], three[2]];
        let bend = a.value + c.value - 2.0 * b.value;
        // To first order: as r^-p << 1, the last one's is most of it.
        let error = (a.value * c.error + c.value * a.error + 2.0 * b.value * b.error) / bend;
        Size {
            value: (a.value * c.value - b.value * b.value) / bend,
            error: error.abs(),
        }
    };
    let constants: Vec<Size> = looks.windows(3).map(constant).collect();
    constants.windows(2).any(|pair| {
        let sharp = |c: &Size| c.value.abs() > nothing.max(8.0 * c.error);
        // Sizes that no longer fall, or grow.
        let noise = pair.iter().map(|c| c.error / c.value.abs()).sum::<f64>();
        pair.iter().all(sharp) && pair[1].value / pair[0].value > 0.97 - noise
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Looks at A r^-jp + c with roundoff that grows like the phase.
    fn looks(size: impl Fn(f64) -> f64) -> Vec<Size> {
        (0..LOOKS as i32)
            .map(|j| {
                let distance = 10f64.powf(STEP * f64::from(j));
                let value = size(distance).abs();
                Size {
                    value,
                    error: 1e-14 * distance * value,
                }
            })
            .collect()
    }

    #[test]
    fn constants_below_powers_are_told_from_slow_powers() {
        for constant in [1e-2, -1e-2, 1e-5, -1e-5, 1e-8, -1e-8] {
            for power in [0.3, 0.5, 1.0, 3.0] {
                let sizes = looks(|x| x.powf(-power) + constant);
                assert!(levels(&sizes, 1e-18), "{constant:e} {power}");
            }
            let sizes = looks(|x| (-x).exp() + constant);
            assert!(levels(&sizes, 1e-18), "{constant:e}");
            let sizes = looks(|x| 1.0 / x + constant * x.powf(0.1));
            assert!(
                levels(&sizes, 1e-18) || grows(&sizes, 1e-18),
                "{constant:e}"
            );
        }
        let vanishing: [fn(f64) -> f64; 7] = [
            |x| x.powf(-0.05),
            |x| x.powf(-0.5),
            |x| 1.0 / x,
            |x| (-x).exp(),
            |x| 1e-3 * x.powf(-0.2) + 1.0 / x,
            |x| x.powf(-0.5) - 1e-4 * x.powf(-0.25),
            |x| 1.0 / (10.0 + x).ln(),
        ];
        for (i, size) in vanishing.into_iter().enumerate() {
            let sizes = looks(size);
            assert!(!levels(&sizes, 1e-18) && !grows(&sizes, 1e-18), "{i}");
        }
    }
}
