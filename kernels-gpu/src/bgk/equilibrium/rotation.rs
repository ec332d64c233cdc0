//! Relaxation of molecules that rotate: temperatures and heat fluxes of the equilibrium to which a cell relaxes in a step.

use super::super::exponential::exponential;
use super::sums::less_than_one;
use crate::math::Real;

/// The rotation of a gas's molecules.
///
/// In a step of the time `tau = nu dt` the temperatures of translation and rotation relax to their common one T at the rate 1/Z, and both heat
/// fluxes at the rates of a matrix A. The equilibrium is such that a cell follows these laws exactly, with `e = exp(-tau)`:
///
/// ```text
/// r = (exp(-tau/Z) - e)/(1 - e)   T* = T + (T_t - T) r   T_r* = T + (T_r - T) r   (Q_t, Q_r) = (exp(-A tau) - e)/(1 - e) (q_t, q_r)
/// ```
///
/// The frequency is that of T_t half-way through the step.
#[derive(Clone, Copy, Debug, PartialEq)]
#[repr(C)]
pub struct Rotating {
    /// Internal degrees of freedom d.
    pub freedom: f64,
    /// `1/Z = a + b T_t^(-1/2) + c/T_t`: a constant number of collisions, or Parker's formula of one gas or of a mixture.
    pub rates: [f64; 3],
    /// The largest 1/Z that leaves both temperatures positive.
    pub fastest: f64,
    /// The matrix A, row by row, at 1/Z = 0. Its eigenvalues are real.
    pub matrix: [f64; 4],
    /// Its growth with 1/Z.
    pub growth: [f64; 4],
}

/// The relaxation of a cell in a step.
pub(super) struct Relaxed {
    /// `e^(-tau)` and `1 - e^(-tau)`.
    pub(super) decay: f64,
    pub(super) gain: f64,
    /// T* and T_r*.
    pub(super) temperatures: [f64; 2],
    /// `(exp(-A tau) - e)(q_t, q_r)`, along x and y.
    pub(super) heat: [[f64; 2]; 2],
}

impl Rotating {
    /// The relaxation of a cell with these temperatures and heat fluxes of translation and rotation. `time_at` is nu dt at a temperature of translation.
    #[cfg_attr(target_arch = "nvptx64", inline(always))]
    pub(super) fn relaxed(
        &self,
        time_at: impl Fn(f64) -> f64,
        [t_t, t_r]: [f64; 2],
        [q_t, q_r]: [[f64; 2]; 2],
    ) -> Relaxed {
        let common = (3.0 * t_t + self.freedom * t_r) / (3.0 + self.freedom);
        let root = 1.0 / Real::sqrt(t_t);
        let [a, b, c] = self.rates;
        let rate = (a + root * (b + root * c)).min(self.fastest);
        let half = common + (t_t - common) * exponential(-0.5 * time_at(t_t) * rate);
        let time = time_at(half);
        let decay = exponential(-time);
        let gain = less_than_one(time, decay);
        let lost = less_than_one(time * rate, exponential(-time * rate));
        let share = if gain > 0.0 {
            (gain - lost) / gain
        } else {
            1.0 - rate
        };
        let mut matrix = self.matrix;
        for k in 0..4 {
            matrix[k] += rate * self.growth[k];
        }
        let [tt, tr, rt, rr] = exponential_of(matrix, time);
        let of = |d: usize| {
            (
                tt * q_t[d] + tr * q_r[d] - decay * q_t[d],
                rt * q_t[d] + rr * q_r[d] - decay * q_r[d],
            )
        };
        let (along_x, along_y) = (of(0), of(1));
        Relaxed {
            decay,
            gain,
            temperatures: [
                common + (t_t - common) * share,
                common + (t_r - common) * share,
            ],
            heat: [[along_x.0, along_y.0], [along_x.1, along_y.1]],
        }
    }
}

/// `exp(-A t)` of a matrix with the real eigenvalues `m - s` and `m + s`: `e^(-m t) (cosh(s t) - sinh(s t)/s (A - m))`.
#[cfg_attr(target_arch = "nvptx64", inline(always))]
fn exponential_of([a, b, c, d]: [f64; 4], t: f64) -> [f64; 4] {
    let (mean, half) = (0.5 * (a + d), 0.5 * (a - d));
    let s = Real::sqrt((half * half + b * c).max(0.0));
    let slow = exponential(-(mean - s) * t);
    let distance = 2.0 * s * t;
    let ratio = exponential(-distance);
    // Of equal eigenvalues, or in no time, the limit.
    let sine = if distance > 0.0 {
        slow * less_than_one(distance, ratio) / (2.0 * s)
    } else {
        slow * t
    };
    let cosine = 0.5 * slow * (1.0 + ratio);
    [
        cosine - sine * half,
        -sine * b,
        -sine * c,
        cosine + sine * half,
    ]
}

#[cfg(test)]
mod tests {
    use super::exponential_of;

    #[test]
    fn exponentials_of_matrices_are_those_of_their_series() {
        for (a, t) in [
            ([0.79, -0.19, -0.075, 0.91], 1.0),
            ([0.79, -0.19, -0.075, 0.91], 2.5),
            ([0.79, -1e-9, -1e-9, 0.79], 0.5),
            ([0.7, 0.4, 0.0, 0.7], 1.5),
            ([0.7, -0.2, -0.1, 0.9], 0.0),
        ] {
            let mut term = [1.0, 0.0, 0.0, 1.0];
            let mut series = term;
            for k in 1..60 {
                let of = |i: usize, j: usize| term[2 * i] * a[j] + term[2 * i + 1] * a[2 + j];
                let next = [of(0, 0), of(0, 1), of(1, 0), of(1, 1)];
                term = next.map(|value| -t / f64::from(k) * value);
                for (sum, term) in series.iter_mut().zip(term) {
                    *sum += term;
                }
            }
            for (found, series) in exponential_of(a, t).into_iter().zip(series) {
                assert!((found - series).abs() < 1e-15, "{a:?}: {found} {series}");
            }
        }
        // After a long time nothing is left.
        for left in exponential_of([0.79, -0.19, -0.075, 0.91], 1e12) {
            assert!(left.abs() < 1e-280, "{left:e}");
        }
    }
}
