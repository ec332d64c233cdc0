//! The scalar reference: eqs. (8)-(10) of Aristov et al. (2011) in loops, one term after the other, in f64.

use super::balanced::Balance;
use super::coefficients::{OrbitTable, frequency_coefficients, speeds};
use super::sums::Sums;
use super::{Evaluation, OperatorConfig, Order};

/// The inverse collision integral in lattice units (eq. 10, first sum):
/// `gain_i = sum over j and n of |m|^gamma omega(|m|^2, n) f_k f_l`, m = i - j, k = (i+j+n)/2, l = (i+j-n)/2,
/// with the coefficients omega of the given order.
///
/// `f` holds n^3 values. About n^8 operations: for n up to about 12.
///
/// # Panics
/// If there are fewer values than cells.
pub fn gain(n: usize, gamma: f64, order: Order, f: &[f64]) -> Vec<f64> {
    let table = OrbitTable::of(n, order);
    let speeds = speeds(n, gamma);
    let product = |k: usize, l: usize| f[k] * f[l];
    let gains = cells(n).map(|i| cell_gain(&table, &speeds, product, i));
    gains.collect()
}

/// The bilinear sum of two distributions in lattice units, with `g_k m_l + m_k g_l` in the place of the `f_k f_l` of [`gain`]: what the balanced correction is made of.
///
/// # Panics
/// If there are fewer values than cells.
pub fn mixed_gain(n: usize, gamma: f64, order: Order, g: &[f64], m: &[f64]) -> Vec<f64> {
    let table = OrbitTable::of(n, order);
    let speeds = speeds(n, gamma);
    let product = |k: usize, l: usize| g[k] * m[l] + m[k] * g[l];
    let gains = cells(n).map(|i| cell_gain(&table, &speeds, product, i));
    gains.collect()
}

/// The inverse collision integral of one cell i alone, in lattice units.
///
/// # Panics
/// If there are fewer values than cells, or `i` is no cell.
pub fn gain_at(n: usize, gamma: f64, order: Order, f: &[f64], i: [usize; 3]) -> f64 {
    let product = |k: usize, l: usize| f[k] * f[l];
    cell_gain(&OrbitTable::of(n, order), &speeds(n, gamma), product, i)
}

fn cell_gain(
    table: &OrbitTable,
    speeds: &[f64],
    product: impl Fn(usize, usize) -> f64,
    i: [usize; 3],
) -> f64 {
    let n = table.n();
    let cell = |i: [usize; 3]| (i[0] * n + i[1]) * n + i[2];
    let mut gain = 0.0;
    for j in cells(n) {
        let m = [0, 1, 2].map(|a| i[a].abs_diff(j[a]) as u32);
        let rho = m.iter().map(|m| m * m).sum::<u32>();
        // k runs over all cells whose partner l = i + j - k lies in the grid; n = k - l.
        let [x, y, z] = [0, 1, 2].map(|a| {
            let s = i[a] + j[a];
            s.saturating_sub(n - 1)..=s.min(n - 1)
        });
        let mut sum = 0.0;
        for kx in x.clone() {
            for ky in y.clone() {
                for kz in z.clone() {
                    let k = [kx, ky, kz];
                    let l = [0, 1, 2].map(|a| i[a] + j[a] - k[a]);
                    let displacement = [0, 1, 2].map(|a| k[a].abs_diff(l[a]) as u32);
                    sum += table.omega(rho, displacement) * product(cell(k), cell(l));
                }
            }
        }
        gain += speeds[rho as usize] * sum;
    }
    gain
}

/// The collision frequency in lattice units (eq. 10, last sum): `nu_i = 4 pi sum over j of |i-j|^gamma f_j`.
pub fn frequency(n: usize, gamma: f64, f: &[f64]) -> Vec<f64> {
    let b = frequency_coefficients(n, gamma);
    cells(n)
        .map(|i| {
            cells(n)
                .zip(f)
                .map(|(j, f)| {
                    let [x, y, z] = [0, 1, 2].map(|a| i[a].abs_diff(j[a]));
                    b[(x * n + y) * n + z] * f
                })
                .sum()
        })
        .collect()
}

/// The collision integral of `f` in physical units, with the conservative correction if the configuration asks for it.
///
/// Method, precision and backend of the configuration are not looked at.
///
/// # Panics
/// If there are fewer values than cells.
pub fn evaluate(config: &OperatorConfig, f: &[f64]) -> Evaluation {
    let mut evaluation = Evaluation::empty(config.grid.cells());
    let (sums, mut balance) = (ReferenceSums::new(config), Balance::default());
    super::evaluate::evaluate(config, &sums, f, &mut balance, &mut evaluation);
    evaluation
}

/// The scalar reference as an operator on the host.
pub(super) struct ReferenceSums {
    n: usize,
    gamma: f64,
    order: Order,
}

impl ReferenceSums {
    pub(super) fn new(config: &OperatorConfig) -> Self {
        Self {
            n: config.grid.n(),
            gamma: config.scattering.gamma(),
            order: config.order,
        }
    }
}

impl Sums for ReferenceSums {
    fn gain(&self, f: &[f64], out: &mut [f64]) {
        out.copy_from_slice(&gain(self.n, self.gamma, self.order, f));
    }
    fn mixed_gain(&self, g: &[f64], m: &[f64], out: &mut [f64]) {
        out.copy_from_slice(&mixed_gain(self.n, self.gamma, self.order, g, m));
    }
    fn frequency(&self, f: &[f64], out: &mut [f64]) {
        out.copy_from_slice(&frequency(self.n, self.gamma, f));
    }
}

/// All cells in storage order.
fn cells(n: usize) -> impl Iterator<Item = [usize; 3]> {
    (0..n.pow(3)).map(move |cell| [cell / (n * n), cell / n % n, cell % n])
}
