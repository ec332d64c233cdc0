//! Zeros of Bessel functions, and the boundaries between which an integral alternates.

use std::collections::HashMap;
use std::f64::consts::PI;
use std::sync::{Arc, Mutex, OnceLock, PoisonError};

use super::special::{bessel_j, bessel_j_derivative};

/// Largest order whose zeros are found.
pub const MAX_BESSEL_ORDER: f64 = 1000.0;

/// The first `count` positive zeros of J_nu, nu > -1, to roundoff; the zeros of one order are computed once.
pub fn bessel_zeros(nu: f64, count: usize) -> Arc<Vec<f64>> {
    type Known = Mutex<HashMap<u64, Arc<Vec<f64>>>>;
    static KNOWN: OnceLock<Known> = OnceLock::new();
    let known = KNOWN.get_or_init(Mutex::default);
    let lock = || known.lock().unwrap_or_else(PoisonError::into_inner);
    if let Some(zeros) = lock().get(&nu.to_bits())
        && zeros.len() >= count
    {
        return Arc::clone(zeros);
    }
    let mut zeros = Vec::with_capacity(count);
    while zeros.len() < count {
        zeros.push(match zeros.last() {
            None => first_bessel_zero(nu),
            Some(&last) => next_bessel_zero(nu, last),
        });
    }
    let zeros = Arc::new(zeros);
    let mut known = lock();
    if known.len() >= 4096 {
        known.clear();
    }
    known.insert(nu.to_bits(), Arc::clone(&zeros));
    zeros
}

/// The first `count` zeros of J_nu beyond `from` >= 0.
pub fn bessel_zeros_beyond(nu: f64, from: f64, count: usize) -> Vec<f64> {
    // Where the expansion of McMahon holds, it leads to any zero at once.
    let far = (nu * nu).max(100.0);
    let mut zeros: Vec<f64> = if from > 2.0 * far {
        let k = ((from - (0.5 * nu - 0.25) * PI) / PI).floor() - 2.0;
        let start = polished(nu, mcmahon(nu, k.max(1.0)));
        vec![start]
    } else {
        // The zeros are more than 2.4 apart, and at least nu: from/2.4 of them can lie below.
        let below = (from / 2.4) as usize + 1;
        return bessel_zeros(nu, below + count)
            .iter()
            .copied()
            .filter(|zero| *zero > from)
            .take(count)
            .collect();
    };
    while let Some(&last) = zeros.last() {
        if zeros.iter().filter(|zero| **zero > from).count() >= count {
            break;
        }
        zeros.push(next_bessel_zero(nu, last));
    }
    zeros.retain(|zero| *zero > from);
    zeros
}

/// Expansion of McMahon for the k-th zero, good for zeros far above the order.
fn mcmahon(nu: f64, k: f64) -> f64 {
    let mu = 4.0 * nu * nu;
    let beta = (k + 0.5 * nu - 0.25) * PI;
    let b = 8.0 * beta;
    beta - (mu - 1.0) / b - 4.0 * (mu - 1.0) * (7.0 * mu - 31.0) / (3.0 * b * b * b)
}

fn first_bessel_zero(nu: f64) -> f64 {
    let start = if nu < -0.5 {
        // j_1^2 = 4 (nu+1) (1 + (nu+1)/2 - ...) near nu = -1.
        let n = nu + 1.0;
        2.0 * (n * (1.0 + n / 2.0 - n * n / 12.0)).sqrt()
    } else if nu < 1.0 {
        mcmahon(nu, 1.0)
    } else {
        let root = nu.cbrt();
        nu + 1.855_757_1 * root + 1.033_150 / root - 0.003_97 / nu - 0.0908 / (nu * root * root)
            + 0.043 / (nu * nu * root)
    };
    polished(nu, start)
}

/// The zero after a zero: about half a wavelength of the WKB phase on, and bracketed there.
fn next_bessel_zero(nu: f64, zero: f64) -> f64 {
    let excess = nu * nu - 0.25;
    let mut step = PI;
    for _ in 0..4 {
        let middle = zero + 0.5 * step;
        let square = 1.0 - excess / (middle * middle);
        step = if square > 0.05 {
            PI / square.sqrt()
        } else {
            2.0 * step
        };
    }
    let (mut low, mut high) = (zero + 0.8 * step.min(PI), zero + 1.35 * step);
    let mut sign = bessel_j(nu, low).signum();
    // A bracket without a change of sign is mended by walking; the zeros are more than 2.4 apart.
    while bessel_j(nu, high).signum() == sign {
        low = high;
        high += 0.5 * step;
        sign = bessel_j(nu, low).signum();
    }
    halley(nu, zero + step, low, high)
}

fn polished(nu: f64, start: f64) -> f64 {
    halley(nu, start, 0.0, f64::INFINITY)
}

/// Halley's method on J_nu, with the second derivative from Bessel's equation; bisection where a step leaves the bracket.
fn halley(nu: f64, start: f64, mut low: f64, mut high: f64) -> f64 {
    let mut x = start.clamp(low, high);
    let at_low = if high.is_finite() {
        bessel_j(nu, low)
    } else {
        0.0
    };
    for _ in 0..60 {
        let f = bessel_j(nu, x);
        if high.is_finite() && f != 0.0 {
            if f.signum() == at_low.signum() {
                low = x;
            } else {
                high = x;
            }
        }
        let slope = bessel_j_derivative(nu, x);
        let curvature = -slope / x - (1.0 - nu * nu / (x * x)) * f;
        let newton = f / slope;
        let step = newton / (1.0 - 0.5 * newton * curvature / slope);
        let next = x - step;
        if step.abs() <= 2.0 * f64::EPSILON * x {
            return next;
        }
        x = if next > low && next < high {
            next
        } else if high.is_finite() {
            0.5 * (low + high)
        } else {
            x - 0.5 * newton
        };
    }
    x
}

#[cfg(test)]
mod tests {
    use super::*;

    /// DLMF and mpmath at 30 digits.
    #[test]
    fn zeros_of_bessel_functions_are_right_to_roundoff() {
        for (nu, k, right) in KNOWN {
            let found = bessel_zeros(*nu, 64)[k - 1];
            let error = (found - right).abs() / right;
            assert!(error < 1e-15, "j_({nu}, {k}): {found} {right} {error:e}");
        }
    }

    #[test]
    fn zeros_of_every_order_interlace_and_none_is_missed() {
        for nu in [
            -0.9, -0.5, 0.0, 0.3, 1.0, 2.5, 10.0, 49.5, 150.0, 249.0, 999.0,
        ] {
            let (zeros, above) = (bessel_zeros(nu, 65), bessel_zeros(nu + 1.0, 64));
            for k in 0..64 {
                assert!(
                    zeros[k] < above[k] && above[k] < zeros[k + 1],
                    "nu = {nu}, zero {k}: {} {} {}",
                    zeros[k],
                    above[k],
                    zeros[k + 1]
                );
            }
            // One zero for each pi of phase: the count by McMahon's leading term.
            let far = bessel_zeros_beyond(nu, 1.0e4 + 3.0 * nu * nu, 2);
            assert!((far[1] - far[0] - PI).abs() < 0.05, "{nu}");
        }
        let beyond = bessel_zeros_beyond(0.0, 5.0, 3);
        assert_eq!(beyond[..], bessel_zeros(0.0, 4)[1..4]);
        let beyond = bessel_zeros_beyond(0.0, 1000.0, 1);
        assert!(beyond[0] > 1000.0 && beyond[0] < 1000.0 + PI);
    }

    const KNOWN: &[(f64, usize, f64)] = &[
        (0.0, 1, 2.404825557695773),
        (0.0, 2, 5.520078110286311),
        (0.0, 7, 21.21163662987926),
        (0.0, 64, 200.2771557933324),
        (1.0, 1, 3.8317059702075125),
        (1.0, 2, 7.015586669815619),
        (1.0, 7, 22.760084380592772),
        (1.0, 64, 201.84547015619088),
        (-0.5, 1, PI / 2.0),
        (-0.5, 2, 4.71238898038469),
        (-0.5, 7, 20.420352248333657),
        (-0.5, 64, 199.49113350295187),
        (0.25, 1, 2.7808877239949776),
        (0.25, 2, 5.906142698842492),
        (0.25, 7, 21.602784448913074),
        (0.25, 64, 200.66969792770007),
        (0.5, 1, PI),
        (0.5, 2, 2.0 * PI),
        (0.5, 7, 21.991148575128552),
        (0.5, 64, 201.06192982974676),
        (2.0, 1, 5.135622301840683),
        (2.0, 2, 8.417244140399864),
        (2.0, 7, 24.2701123135731),
        (2.0, 64, 203.40890647626307),
        (3.5, 1, 6.98793200050052),
        (3.5, 2, 10.417118547379365),
        (3.5, 7, 26.476763664539128),
        (3.5, 64, 205.74515617529514),
        (10.0, 1, 14.475500686554541),
        (10.0, 2, 18.43346366696658),
        (10.0, 7, 35.499909205373854),
        (10.0, 64, 215.7532893061297),
        (20.0, 1, 25.417140814072525),
        (20.0, 2, 29.961603791625155),
        (20.0, 7, 48.43423919520568),
        (20.0, 64, 230.8260118584906),
        (50.5, 1, 57.63868677030261),
        (50.5, 2, 63.344606951785735),
        (50.5, 7, 85.04450675837904),
        (50.5, 64, 274.9514270208664),
        (100.0, 1, 108.83616589840977),
        (100.0, 2, 115.73935123918876),
        (100.0, 7, 141.06584766556978),
        (100.0, 64, 342.65850308661356),
        (250.0, 1, 261.85451450578864),
        (250.0, 2, 270.9406710584493),
        (250.0, 7, 303.2164081978336),
        (250.0, 64, 533.2171962536489),
    ];
}
