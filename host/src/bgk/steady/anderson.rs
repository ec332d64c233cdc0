//! Anderson mixing: the fixed point of a map from the last few of its values.
//!
//! With residuals `r_k = g(x_k) - x_k`, the next point is `sum a_k g(x_k)` with the weights `a_k`, of sum 1, for which `|sum a_k r_k|` is
//! least (D. G. Anderson 1965; H. F. Walker and P. Ni, SIAM J. Numer. Anal. 49 (2011) 1715). For a linear map this is GMRES in
//! disguise, so the number of iterations grows like the square root of what plain iteration needs.

use rayon::prelude::*;

/// Numbers of a vector from which on several cores share the work.
const MANY: usize = 16384;

/// Residuals that are combinations of newer ones to this relative accuracy are left out.
const INDEPENDENCE: f64 = 1e-11;

/// The last few values of a map and their residuals.
pub(crate) struct Anderson {
    depth: usize,
    /// Newest first.
    values: Vec<Vec<f64>>,
    residuals: Vec<Vec<f64>>,
    /// Inner products of the residuals, row by row.
    products: Vec<Vec<f64>>,
}

impl Anderson {
    /// Mixes the newest value with up to `depth` older ones; none for plain iteration.
    pub(crate) fn new(depth: usize) -> Self {
        Self {
            depth,
            values: Vec::new(),
            residuals: Vec::new(),
            products: Vec::new(),
        }
    }

    /// The values and the residuals that are kept, newest first.
    pub(super) fn kept(&self) -> [&[Vec<f64>]; 2] {
        [&self.values, &self.residuals]
    }

    /// Takes up what [`Anderson::kept`] gave; it mixes on to the same bits.
    pub(super) fn restore(&mut self, values: Vec<Vec<f64>>, residuals: Vec<Vec<f64>>) {
        // Each product was taken with the newer residual on the left.
        let product = |i: usize, j: usize| dot(&residuals[i.min(j)], &residuals[i.max(j)]);
        self.products = (0..residuals.len())
            .map(|i| (0..residuals.len()).map(|j| product(i, j)).collect())
            .collect();
        self.values = values;
        self.residuals = residuals;
    }

    /// Forgets all values.
    pub(crate) fn clear(&mut self) {
        self.values.clear();
        self.residuals.clear();
        self.products.clear();
    }

    /// The point to go on from, after `x` gave `y`. `x` is overwritten with it.
    pub(crate) fn mix(&mut self, x: &mut [f64], y: &[f64]) {
        if self.depth == 0 {
            x.copy_from_slice(y);
            return;
        }
        let (mut residual, mut value) = if self.values.len() > self.depth {
            self.products.iter_mut().for_each(|row| {
                row.pop();
            });
            self.products.pop();
            let oldest = (self.residuals.pop(), self.values.pop());
            (oldest.0.unwrap_or_default(), oldest.1.unwrap_or_default())
        } else {
            (Vec::new(), Vec::new())
        };
        residual.clear();
        residual.extend(y.iter().zip(x.iter()).map(|(y, x)| y - x));
        value.clear();
        value.extend_from_slice(y);
        self.residuals.insert(0, residual);
        self.values.insert(0, value);
        let newest = &self.residuals[0];
        let row: Vec<f64> = if y.len() < MANY {
            self.residuals.iter().map(|r| dot(newest, r)).collect()
        } else {
            let residuals = self.residuals.par_iter();
            residuals.map(|r| dot(newest, r)).collect()
        };
        for (older, product) in self.products.iter_mut().zip(&row[1..]) {
            older.insert(0, *product);
        }
        self.products.insert(0, row);

        let weights = weights(&self.products);
        x.par_chunks_mut(MANY).enumerate().for_each(|(chunk, x)| {
            x.fill(0.0);
            for (weight, value) in weights.iter().zip(&self.values) {
                if *weight != 0.0 {
                    for (x, value) in x.iter_mut().zip(&value[chunk * MANY..]) {
                        *x += weight * value;
                    }
                }
            }
        });
    }
}

/// Weights of sum 1 that make the combination of vectors with these inner products least.
///
/// The products are scaled to a unit diagonal and factored (Cholesky); a vector that depends on earlier ones gets no weight.
fn weights(products: &[Vec<f64>]) -> Vec<f64> {
    let count = products.len();
    let mut weights = vec![0.0; count];
    let scale: Vec<f64> = (0..count)
        .map(|k| {
            let size = products[k][k].sqrt();
            if size > 0.0 { 1.0 / size } else { 0.0 }
        })
        .collect();
    if scale[0] == 0.0 {
        weights[0] = 1.0;
        return weights;
    }
    let mut used: Vec<usize> = Vec::new();
    let mut factor: Vec<Vec<f64>> = Vec::new();
    for k in 0..count {
        let mut row: Vec<f64> = Vec::with_capacity(used.len() + 1);
        for (i, &j) in used.iter().enumerate() {
            let known: f64 = row.iter().zip(&factor[i]).map(|(a, b)| a * b).sum();
            row.push((products[k][j] * scale[k] * scale[j] - known) / factor[i][i]);
        }
        let left = products[k][k] * scale[k] * scale[k] - row.iter().map(|a| a * a).sum::<f64>();
        if left > INDEPENDENCE {
            row.push(left.sqrt());
            factor.push(row);
            used.push(k);
        }
    }
    // A z = 1 in the scaled unknowns.
    let mut z: Vec<f64> = used.iter().map(|&k| scale[k]).collect();
    for i in 0..z.len() {
        let known: f64 = (0..i).map(|j| factor[i][j] * z[j]).sum();
        z[i] = (z[i] - known) / factor[i][i];
    }
    for i in (0..z.len()).rev() {
        let known: f64 = (i + 1..z.len()).map(|j| factor[j][i] * z[j]).sum();
        z[i] = (z[i] - known) / factor[i][i];
    }
    let sum: f64 = z.iter().zip(&used).map(|(z, &k)| z * scale[k]).sum();
    for (z, &k) in z.iter().zip(&used) {
        weights[k] = z * scale[k] / sum;
    }
    weights
}

fn dot(a: &[f64], b: &[f64]) -> f64 {
    // Blocks of a fixed size, so that the compiler may use vector registers and long sums stay accurate.
    let mut sum = 0.0;
    for (a, b) in a.chunks(64).zip(b.chunks(64)) {
        let mut part = [0.0; 8];
        for (a, b) in a.chunks(8).zip(b.chunks(8)) {
            for (part, (a, b)) in part.iter_mut().zip(a.iter().zip(b)) {
                *part += a * b;
            }
        }
        sum += part.iter().sum::<f64>();
    }
    sum
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_slow_linear_map_converges_in_few_iterations() {
        // Eigenvalues up to 0.999: plain iteration would take about 20000 steps.
        let n = 40;
        let rate = |k: usize| 0.999 * (k as f64 / (n - 1) as f64).powi(2);
        let map = |x: &[f64]| -> Vec<f64> { (0..n).map(|k| rate(k) * x[k] + 1.0).collect() };
        let mut anderson = Anderson::new(8);
        let mut x = vec![0.0; n];
        let mut iterations = 0;
        loop {
            let y = map(&x);
            let off = y
                .iter()
                .zip(&x)
                .fold(0.0, |m: f64, (y, x)| m.max((y - x).abs()));
            if off < 1e-10 {
                break;
            }
            anderson.mix(&mut x, &y);
            iterations += 1;
            assert!(iterations < 400);
        }
        for (k, x) in x.iter().enumerate() {
            assert!((x * (1.0 - rate(k)) - 1.0).abs() < 1e-9);
        }
        let mut plain = Anderson::new(0);
        let y = map(&x);
        plain.mix(&mut x, &y);
        assert_eq!(x, y);
    }

    #[test]
    fn equal_residuals_do_no_harm() {
        let mut anderson = Anderson::new(3);
        let mut x = vec![0.0, 0.0];
        for _ in 0..5 {
            let y = vec![x[0] + 1.0, x[1]];
            anderson.mix(&mut x, &y);
            assert!(x.iter().all(|x| x.is_finite()));
        }
        let y = x.clone();
        anderson.mix(&mut x, &y);
        assert_eq!(x, y);
    }
}
