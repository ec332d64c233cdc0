//! Sums of alternating series sum_k (-1)^k V_k from their first terms.
//!
//! Euler's transformation and that of H. Cohen, F. Rodriguez Villegas and D. Zagier (Experimental Mathematics 9 (2000) 3) are fixed linear
//! functionals, sum_k (-1)^k c_k V_k; [`euler_weights`] and [`cvz_weights`] are their c_k. Euler's is the better one for slowly decaying
//! exponentials, the other for powers. Levin's u transformation and Wynn's epsilon algorithm are nonlinear: more accurate with
//! few terms, but without a bound.

use std::sync::OnceLock;

use serde::{Deserialize, Serialize};

/// Most terms that are summed.
pub const MAX_TERMS: usize = 160;

/// Weights of Euler's transformation with n terms: c_k = 2^-n sum over j > k of C(n, j), so that their sum is n/2.
pub fn euler_weights(n: usize) -> Vec<f64> {
    let mut weights = vec![0.0; n];
    // C(n, j) 2^-n by the recurrence in j, in logarithms where 2^-n would be lost.
    let mut binomial = 0.5_f64.powi(n as i32);
    let mut tail = 0.0;
    for k in (0..n).rev() {
        // j = k + 1 runs down from n; C(n, n) first.
        tail += binomial;
        weights[k] = tail;
        binomial *= (k + 1) as f64 / (n - k) as f64;
    }
    weights
}

/// Weights of the algorithm of Cohen, Rodriguez Villegas and Zagier with n terms, which falls like 5.83^-n whatever the decay.
pub fn cvz_weights(n: usize) -> Vec<f64> {
    let power = (3.0 + 8f64.sqrt()).powi(n as i32);
    let d = 0.5 * (power + 1.0 / power);
    let (mut b, mut c) = (-1.0, -d);
    (0..n)
        .map(|k| {
            c = b - c;
            let (k, n) = (k as f64, n as f64);
            b *= (k + n) * (k - n) / ((k + 0.5) * (k + 1.0));
            c.abs() / d
        })
        .collect()
}

/// The weights with 0 to [`MAX_TERMS`] terms, computed once.
pub(super) struct Weights {
    euler: Vec<Vec<f64>>,
    cvz: Vec<Vec<f64>>,
}

impl Weights {
    pub(super) fn get() -> &'static Self {
        static WEIGHTS: OnceLock<Weights> = OnceLock::new();
        WEIGHTS.get_or_init(|| Self {
            euler: (0..=MAX_TERMS).map(euler_weights).collect(),
            cvz: (0..=MAX_TERMS).map(cvz_weights).collect(),
        })
    }

    pub(super) fn euler(&self, n: usize) -> &[f64] {
        self.euler.get(n).map_or(&[], Vec::as_slice)
    }

    pub(super) fn cvz(&self, n: usize) -> &[f64] {
        self.cvz.get(n).map_or(&[], Vec::as_slice)
    }
}

/// sum_k (-1)^k c_k V_k.
pub fn weighted(weights: &[f64], v: &[f64]) -> f64 {
    let mut sign = 1.0;
    let mut sum = 0.0;
    for (c, v) in weights.iter().zip(v) {
        sum += sign * c * v;
        sign = -sign;
    }
    sum
}

/// First entries of the difference table, Delta^r V_0 for r = 0, 1, ..., with Delta^(r+1) V_k = Delta^r V_(k+1) - Delta^r V_k.
pub fn differences(v: &[f64]) -> Vec<f64> {
    let mut row = v.to_vec();
    let mut first = Vec::with_capacity(v.len());
    while let Some(&head) = row.first() {
        first.push(head);
        row = row.windows(2).map(|pair| pair[1] - pair[0]).collect();
    }
    first
}

/// Euler's sum from the differences: sum_r (-1)^r 2^-(r+1) Delta^r V_0.
pub fn euler_sum(differences: &[f64]) -> f64 {
    let mut factor = 0.5;
    let mut sum = 0.0;
    for difference in differences {
        sum += factor * difference;
        factor *= -0.5;
    }
    sum
}

/// Remainder of Euler's sum with n terms, at most 2^-n |Delta^n V_0| where (-1)^n Delta^n V_k falls with k (eq. 10). The number n is one less than the
/// number of differences.
pub fn remainder_bound(differences: &[f64]) -> f64 {
    match differences.split_last() {
        Some((last, rest)) => 0.5_f64.powi(rest.len() as i32) * last.abs(),
        None => 0.0,
    }
}

/// A sum and what it is thought to be off by.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
#[non_exhaustive]
pub struct Accelerated {
    /// The sum.
    pub value: f64,
    /// Its error, from the change between neighbouring sums.
    pub error: f64,
}

/// Levin's u transformation of sum_k (-1)^k V_k; the order with the smallest change is taken.
pub fn levin_u(v: &[f64]) -> Accelerated {
    let mut sign = -1.0;
    levin(v.iter().map(|v| {
        sign = -sign;
        sign * v
    }))
}

/// The limit of a sequence v_0, v_1, ... by Levin's u transformation of its differences, which accelerates powers and exponentials alike.
pub fn limit(v: &[f64]) -> Accelerated {
    let rise = levin(v.windows(2).map(|pair| pair[1] - pair[0]));
    Accelerated {
        value: v.first().copied().unwrap_or(0.0) + rise.value,
        error: rise.error,
    }
}

/// Levin's u transformation with remainders (n+1) a_n, by the recurrence for its numerator and denominator (E. J. Weniger, Comput. Phys. Rep. 10
/// (1989) 189, with beta = 1).
fn levin(terms: impl Iterator<Item = f64>) -> Accelerated {
    let mut partial = 0.0;
    let mut numerators: Vec<f64> = Vec::new();
    let mut denominators: Vec<f64> = Vec::new();
    let mut sums: Vec<f64> = Vec::new();
    for (n, term) in terms.enumerate() {
        partial += term;
        let end = n as f64 + 1.0;
        let remainder = end * end * term;
        if remainder == 0.0 {
            return Accelerated {
                value: partial,
                error: 0.0,
            };
        }
        numerators.push(partial / remainder);
        denominators.push(1.0 / remainder);
        let mut scale = 1.0 / end;
        for k in (0..n).rev() {
            let factor = (k as f64 + 1.0) * scale;
            numerators[k] = numerators[k + 1] - factor * numerators[k];
            denominators[k] = denominators[k + 1] - factor * denominators[k];
            scale *= (end - 1.0) / end;
        }
        sums.push(if denominators[0] == 0.0 {
            partial
        } else {
            numerators[0] / denominators[0]
        });
    }
    steadiest(&sums)
}

/// Wynn's epsilon algorithm on the partial sums; the diagonal entry with the smallest change is taken.
pub fn wynn_epsilon(v: &[f64]) -> Accelerated {
    let mut partial = 0.0;
    let mut column: Vec<f64> = Vec::with_capacity(v.len());
    let mut sums = Vec::with_capacity(v.len());
    for (n, &v) in v.iter().enumerate() {
        partial += if n % 2 == 0 { v } else { -v };
        column.push(partial);
        let mut below = 0.0;
        for j in (0..n).rev() {
            let difference = column[j + 1] - column[j];
            let up = if difference == 0.0 {
                // Converged: the neighbour is the limit already.
                1e300
            } else {
                below + 1.0 / difference
            };
            below = column[j];
            column[j] = up;
        }
        sums.push(if n % 2 == 0 {
            column[0]
        } else {
            column.get(1).copied().unwrap_or(partial)
        });
    }
    steadiest(&sums)
}

/// The sum with the smallest change to both neighbours before it.
fn steadiest(sums: &[f64]) -> Accelerated {
    let mut best = Accelerated {
        value: sums.last().copied().unwrap_or(0.0),
        error: f64::INFINITY,
    };
    for three in sums.windows(3) {
        let error = (three[2] - three[1]).abs().max((three[1] - three[0]).abs());
        if error < best.error {
            best = Accelerated {
                value: three[2],
                error,
            };
        }
    }
    best
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn weights_of_euler_are_the_linear_form_of_the_difference_table() {
        for n in [1, 2, 7, 16, 33, 64, 160] {
            let weights = euler_weights(n);
            assert!((weights.iter().sum::<f64>() - n as f64 / 2.0).abs() < 1e-13 * n as f64);
            let last = 0.5_f64.powi(n as i32);
            assert_eq!(weights[n - 1], last);
            assert!((weights[0] - (1.0 - last)).abs() < 1e-15 * n as f64);
            let v: Vec<f64> = (0..n).map(|k| 1.0 / (k as f64 + 1.0)).collect();
            let serial = euler_sum(&differences(&v));
            assert!((weighted(&weights, &v) - serial).abs() < 1e-15 * n as f64);
        }
    }

    #[test]
    fn ln_2_and_a_geometric_series_converge_at_their_rates() {
        let ln2 = std::f64::consts::LN_2;
        let v: Vec<f64> = (0..40).map(|k| 1.0 / (k as f64 + 1.0)).collect();
        for (n, euler, cvz) in [(8, 2e-3, 4e-7), (16, 3e-6, 1e-13), (24, 1e-8, 4e-16)] {
            assert!((weighted(&euler_weights(n), &v) - ln2).abs() < euler, "{n}");
            assert!((weighted(&cvz_weights(n), &v) - ln2).abs() < cvz, "{n}");
        }
        for (found, right) in [(levin_u(&v[..14]), ln2), (wynn_epsilon(&v[..20]), ln2)] {
            assert!((found.value - right).abs() < 1e-13, "{found:?}");
        }
        // Limits of sequences: powers and exponentials above a constant.
        for (v, right) in [
            (
                (0..24)
                    .map(|k| 0.25 + 1.0 / (f64::from(k) + 3.0))
                    .collect::<Vec<f64>>(),
                0.25,
            ),
            ((0..24).map(|k| 0.25 + 0.8_f64.powi(k)).collect(), 0.25),
            (
                (0..24).map(|k| (f64::from(k) + 2.5).powf(-0.1)).collect(),
                0.0,
            ),
        ] {
            let found = limit(&v);
            assert!((found.value - right).abs() < 1e-5, "{found:?} {right}");
        }
        let q: f64 = 0.9;
        let v: Vec<f64> = (0..20).map(|k| q.powi(k)).collect();
        let n = 6;
        let found = weighted(&euler_weights(n), &v);
        let error = (found - 1.0 / (1.0 + q)).abs();
        // For a geometric series the bound is the error times 1 + q.
        let bound = remainder_bound(&differences(&v[..=n]));
        assert!((error * (1.0 + q) - bound).abs() < 1e-3 * bound + 1e-16);
        assert!((wynn_epsilon(&v).value - 1.0 / (1.0 + q)).abs() < 1e-14);
    }
}
