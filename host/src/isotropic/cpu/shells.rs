//! Isotropic scattering in O(M^2). The coefficient depends on the shell s = i + j and the lowest of the four cells, so two running sums a
//! shell suffice. They are y_a = sum over b <= a of h_b mu_b (p_b - p_a) + h_a sum over b > a of mu_b (p_b - p_a), p_a = f_a f_(s-a).

use rarefy_kernels::Real;
use rayon::prelude::*;

use super::operator::{Operator, Sums, finish, parts_for, split, sum_of_parts};
use crate::isotropic::Rates;
use crate::isotropic::coefficients::isotropic;
use crate::isotropic::tables::reduced;

/// The coefficients of each shell by its lowest cell.
pub(super) struct Shells<T> {
    cells: usize,
    starts: Vec<usize>,
    values: Vec<T>,
    divisors: Vec<f64>,
    parts: Vec<std::ops::Range<usize>>,
}

/// Coefficients h of isotropic scattering: of each shell s those of its reduced cells, and where each shell begins.
pub(in crate::isotropic) fn shell_table<T: Real>(cells: usize, gamma: f64) -> (Vec<usize>, Vec<T>) {
    let shells = 2 * cells - 1;
    let mut starts = vec![0; shells + 1];
    for s in 0..shells {
        starts[s + 1] = starts[s] + reduced(s, cells).1;
    }
    let rows: Vec<Vec<T>> = (0..shells)
        .into_par_iter()
        .map(|s| {
            let (first, count) = reduced(s, cells);
            (first..first + count)
                .map(|a| T::from_f64(isotropic(s, a, gamma)))
                .collect()
        })
        .collect();
    (starts, rows.concat())
}

impl<T: Real> Shells<T> {
    pub(super) fn new(cells: usize, gamma: f64, divisors: Vec<f64>) -> Self {
        let (starts, values) = shell_table(cells, gamma);
        Self {
            cells,
            starts,
            values,
            divisors,
            parts: split(0..2 * cells - 1, parts_for(cells * cells / 2), |s| {
                reduced(s, cells).1 as u64
            }),
        }
    }

    fn sums(&self, f: &[f64], detailed: bool) -> Sums {
        let cells = self.cells;
        sum_of_parts(cells, detailed, &self.parts, |shells, sums| {
            let mut p_above = Vec::new();
            for s in shells {
                let (first, count) = reduced(s, cells);
                let h = &self.values[self.starts[s]..][..count];
                let product = |a: usize| f[first + a] * f[s - first - a];
                let many = |a: usize| if 2 * (first + a) == s { 1.0 } else { 2.0 };
                // Sums over b > a of mu_b p_b, from the top: differences would lose the small ones.
                p_above.clear();
                p_above.resize(count, 0.0);
                for a in (1..count).rev() {
                    p_above[a - 1] = p_above[a] + many(a) * product(a);
                }
                let mut m_above: f64 = (0..count).map(many).sum();
                // Over b < a: of h_b mu_b and h_b mu_b p_b.
                let (mut m_below, mut p_below) = (0.0, 0.0);
                for a in 0..count {
                    let (p, h, m) = (product(a), h[a].to_f64(), many(a));
                    m_above -= m;
                    let (i, j) = (first + a, s - first - a);
                    let gain = p_below + h * p_above[a];
                    let rate = m_below + h * m_above;
                    m_below += h * m;
                    p_below += h * m * p;
                    let mut put = |i: usize, j: usize| {
                        sums.flux[i] += gain - rate * p;
                        if detailed {
                            sums.gain[i] += gain;
                            sums.frequency[i] += rate * f[j];
                        }
                    };
                    put(i, j);
                    if i != j {
                        put(j, i);
                    }
                }
            }
        })
    }
}

impl<T: Real> Operator for Shells<T> {
    fn rate(&self, f: &[f64], rate: &mut [f64]) {
        let sums = self.sums(f, false);
        for ((rate, flux), divisor) in rate.iter_mut().zip(&sums.flux).zip(&self.divisors) {
            *rate = divisor * flux;
        }
    }

    fn rates(&self, f: &[f64]) -> Rates {
        let mut rates = finish(&self.sums(f, true), f, &self.divisors, None);
        // Collisions that keep or exchange energies: b = a.
        for s in 0..2 * self.cells - 1 {
            let (first, count) = reduced(s, self.cells);
            for (a, h) in (first..first + count).zip(&self.values[self.starts[s]..]) {
                let (i, j) = (a, s - a);
                let h = h.to_f64();
                if i == j {
                    rates.frequency[i] += self.divisors[i] * h * f[i];
                    rates.gain[i] += self.divisors[i] * h * f[i] * f[i];
                } else {
                    for (i, j) in [(i, j), (j, i)] {
                        rates.frequency[i] += self.divisors[i] * 2.0 * h * f[j];
                        rates.gain[i] += self.divisors[i] * 2.0 * h * f[i] * f[j];
                    }
                }
            }
        }
        rates
    }

    fn table_bytes(&self) -> u64 {
        size_of_val(&self.values[..]) as u64
    }
}
