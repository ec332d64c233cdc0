//! The collision kernel in Carleman's variables as a sum of products, and the transforms of its factors.
//!
//! With `t = |x| / R` and `t' = |y| / R` the kernel is `R^(gamma-1) Gamma(t, t')`,
//!
//! ```text
//! Gamma(t, t') = alpha (t^2 + t'^2)^((gamma-1)/2) (t'^2 / (t^2 + t'^2))^(alpha-1)  ~  sum_{k <= K} u_k(t) v_k(t'),
//! a_k(z) = 2 int_0^1 t u_k(t) cos(z t) dt,     b_k(z) = 2 pi int_0^1 t v_k(t) J0(z t) dt.
//! ```
//!
//! Hard spheres have Gamma = 1. Otherwise the singular vectors of the matrix `s_i Gamma(t_i, t_j) s_j` on Gauss-Legendre nodes give the factors, with the weight
//! `t^3 exp(-10 t^2)` inside `s^2`: collisions with x or y near 0 change nothing, so that their kernel may be wrong. The loss has the same factorised kernel.

use std::f64::consts::PI;

use nalgebra::DMatrix;

/// Nodes of the quadrature on (0, 1).
const NODES: usize = 160;
/// Distance of the values of the tables of a and b.
const SPACING: f64 = 1.0 / 40.0;
/// Values that an interpolation takes.
const STENCIL: usize = 6;

/// Nodes and weights of Gauss and Legendre's rule on (0, 1), by Newton's method.
fn gauss_legendre(count: usize) -> Vec<(f64, f64)> {
    let n = count as f64;
    let node = |i: usize| {
        let mut x = (PI * (i as f64 + 0.75) / (n + 0.5)).cos();
        let mut slope = 1.0;
        for _ in 0..8 {
            let (mut value, mut before) = (1.0, 0.0);
            for k in 0..count {
                let k = k as f64;
                (value, before) = (
                    ((2.0 * k + 1.0) * x * value - k * before) / (k + 1.0),
                    value,
                );
            }
            slope = n * (x * value - before) / (x * x - 1.0);
            x -= value / slope;
        }
        (0.5 * (1.0 - x), 1.0 / ((1.0 - x * x) * slope * slope))
    };
    (0..count).map(node).collect()
}

/// The factors of the kernel at the nodes.
struct Factors {
    nodes: Vec<(f64, f64)>,
    /// `[k][node]`.
    u: Vec<Vec<f64>>,
    v: Vec<Vec<f64>>,
}

impl Factors {
    fn new(gamma: f64, alpha: f64, rank: usize) -> Self {
        let nodes = gauss_legendre(NODES);
        if rank == 1 && alpha == 1.0 {
            let (u, v) = power_law(&nodes, gamma);
            return Self {
                nodes,
                u: vec![u],
                v: vec![v],
            };
        }
        let scales: Vec<f64> = nodes
            .iter()
            .map(|(t, w)| (w * t.powi(3) * (-10.0 * t * t).exp()).sqrt())
            .collect();
        let kernel = |i: usize, j: usize| {
            let [x, y] = [i, j].map(|i| nodes[i].0.powi(2));
            alpha * (x + y).powf(0.5 * (gamma - 1.0)) * (y / (x + y)).powf(alpha - 1.0)
        };
        let matrix = DMatrix::from_fn(NODES, NODES, |i, j| scales[i] * kernel(i, j) * scales[j]);
        let svd = matrix.svd(true, true);
        let mut u = Vec::new();
        let mut v = Vec::new();
        if let (Some(left), Some(right)) = (&svd.u, &svd.v_t) {
            for k in 0..rank {
                let root = svd.singular_values[k].sqrt();
                u.push(
                    (0..NODES)
                        .map(|i| left[(i, k)] * root / scales[i])
                        .collect(),
                );
                v.push(
                    (0..NODES)
                        .map(|j| right[(k, j)] * root / scales[j])
                        .collect(),
                );
            }
        }
        Self { nodes, u, v }
    }
}

/// `Gamma ~ c (t t')^(-p/2)`, p = 1 - gamma: exact for hard spheres; otherwise it keeps the viscosity cross-section, by `c = B(2, 2) / B(2 - p/4, 2 - p/4)`.
fn power_law(nodes: &[(f64, f64)], gamma: f64) -> (Vec<f64>, Vec<f64>) {
    let p = 1.0 - gamma;
    let beta = |x: f64| libm::tgamma(x).powi(2) / libm::tgamma(2.0 * x);
    let c = beta(2.0) / beta(2.0 - 0.25 * p);
    let factor: Vec<f64> = nodes.iter().map(|(t, _)| t.powf(-0.5 * p)).collect();
    (factor.iter().map(|f| c * f).collect(), factor)
}

/// Multipliers of the lines and of the discs, for each product of the kernel.
#[derive(Debug)]
pub(super) struct Multipliers {
    /// `[k][i]`, at `(i - STENCIL / 2) SPACING`.
    a: Vec<Vec<f64>>,
    b: Vec<Vec<f64>>,
}

impl Multipliers {
    /// For arguments up to `largest`.
    pub(super) fn new(gamma: f64, alpha: f64, rank: usize, largest: f64) -> Self {
        let count = (largest / SPACING).ceil() as usize + 2 * STENCIL;
        let at = |i: usize| (i as f64 - (STENCIL / 2) as f64) * SPACING;
        let closed = gamma == 1.0 && alpha == 1.0;
        let factors = Factors::new(gamma, alpha, rank);
        let products = factors.u.len();
        let mut a = vec![vec![0.0; count]; products];
        let mut b = a.clone();
        for i in 0..count {
            let z = at(i);
            if closed {
                (a[0][i], b[0][i]) = hard_spheres(z);
                continue;
            }
            for (node, &(t, w)) in factors.nodes.iter().enumerate() {
                let (line, disc) = (
                    2.0 * w * t * (z * t).cos(),
                    2.0 * PI * w * t * libm::j0(z * t),
                );
                for k in 0..products {
                    a[k][i] += line * factors.u[k][node];
                    b[k][i] += disc * factors.v[k][node];
                }
            }
        }
        Self { a, b }
    }

    /// Products of the kernel.
    pub(super) fn rank(&self) -> usize {
        self.a.len()
    }

    /// `a_k(s)` and `b_k(p)`.
    pub(super) fn at(&self, k: usize, s: f64, p: f64) -> (f64, f64) {
        (interpolate(&self.a[k], s), interpolate(&self.b[k], p))
    }
}

/// `a = 2 sinc z - sinc^2 (z/2)` and `b = 2 pi J1(z) / z`.
fn hard_spheres(z: f64) -> (f64, f64) {
    let sinc = |z: f64| if z == 0.0 { 1.0 } else { z.sin() / z };
    let b = if z == 0.0 {
        PI
    } else {
        2.0 * PI * libm::j1(z) / z
    };
    (2.0 * sinc(z) - sinc(0.5 * z).powi(2), b)
}

/// Lagrange's interpolation by [`STENCIL`] values around the argument: right to 1e-12.
fn interpolate(table: &[f64], z: f64) -> f64 {
    let place = z / SPACING;
    let first = place.floor() as usize + 1;
    let x = place - place.floor() + (STENCIL / 2 - 1) as f64;
    // Of the values at first .. first + STENCIL: arguments 0 .. STENCIL, x lies in the middle.
    // 1 / prod over j of (i - j).
    const SCALES: [f64; STENCIL] = [
        -1.0 / 120.0,
        1.0 / 24.0,
        -1.0 / 12.0,
        1.0 / 12.0,
        -1.0 / 24.0,
        1.0 / 120.0,
    ];
    let values = &table[first..first + STENCIL];
    let mut below = [1.0; STENCIL];
    let mut above = [1.0; STENCIL];
    for i in 1..STENCIL {
        below[i] = below[i - 1] * (x - (i - 1) as f64);
        let j = STENCIL - 1 - i;
        above[j] = above[j + 1] * (x - (j + 1) as f64);
    }
    let terms = 0..STENCIL;
    terms
        .map(|i| SCALES[i] * below[i] * above[i] * values[i])
        .sum()
}

#[cfg(test)]
mod tests {
    use super::*;

    /// `T(z, z') = sum_k a_k(z) b_k(z')`, computed independently with the nodes' sums in double precision.
    #[test]
    fn factorised_kernels_have_the_published_values() {
        let cases: [(f64, f64, usize, [f64; 4]); 6] = [
            (
                0.0,
                1.0,
                2,
                [
                    3.362829435548,
                    1.686269293733,
                    -3.949859497999e-1,
                    -9.653040717826e-4,
                ],
            ),
            (
                0.0,
                1.0,
                3,
                [
                    3.442066574659,
                    1.712880192947,
                    -3.968866039582e-1,
                    5.714248733317e-4,
                ],
            ),
            (
                0.52,
                1.0,
                2,
                [
                    3.222499128433,
                    1.502902970948,
                    -3.550085651933e-1,
                    1.514015144688e-3,
                ],
            ),
            (
                0.52,
                1.0,
                1,
                [
                    3.317570926946,
                    1.555351598060,
                    -3.693418680895e-1,
                    3.886361170374e-3,
                ],
            ),
            (
                0.0,
                1.0,
                1,
                [
                    3.662370006542,
                    1.851067394114,
                    -4.345071594645e-1,
                    6.672545088466e-3,
                ],
            ),
            (
                0.38,
                1.4,
                3,
                [
                    3.331800752842,
                    1.521066114459,
                    -2.417740908329e-1,
                    8.307605702729e-4,
                ],
            ),
        ];
        for (gamma, alpha, rank, values) in cases {
            let multipliers = Multipliers::new(gamma, alpha, rank, 21.0);
            let points = [(0.0, 0.0), (1.0, 2.0), (5.0, 3.0), (20.0, 10.0)];
            for ((s, p), expected) in points.into_iter().zip(values) {
                let sum: f64 = (0..rank)
                    .map(|k| {
                        let (a, b) = multipliers.at(k, s, p);
                        a * b
                    })
                    .sum();
                assert!(
                    (sum - expected).abs() < 3e-11,
                    "gamma {gamma}, alpha {alpha}, rank {rank}, ({s}, {p}): {sum} for {expected}"
                );
            }
        }
    }

    #[test]
    fn hard_spheres_have_closed_forms() {
        let table = Multipliers::new(1.0, 1.0, 1, 100.0);
        for z in [0.0, 1e-9, 0.3, 7.77, 99.99] {
            let (a, b) = table.at(0, z, z);
            let (closed_a, closed_b) = hard_spheres(z);
            assert!(
                (a - closed_a).abs() < 1e-12 && (b - closed_b).abs() < 1e-12,
                "{z}"
            );
        }
    }

    #[test]
    fn singular_values_fall_as_published() {
        for (gamma, alpha, expected) in [
            (
                0.0,
                1.0,
                [9.1032895735e-3, 6.5664758496e-4, 1.1026637336e-4],
            ),
            (
                0.52,
                1.0,
                [6.5335508660e-3, 2.0918699388e-4, 2.7025088924e-5],
            ),
            (
                0.38,
                1.4,
                [7.4547283230e-3, 6.4592710410e-4, 1.0942144376e-4],
            ),
        ] {
            let factors = Factors::new(gamma, alpha, 3);
            for (k, expected) in expected.into_iter().enumerate() {
                // |u_k| in the weighted norm is the root of the singular value.
                let norm: f64 = factors
                    .nodes
                    .iter()
                    .zip(&factors.u[k])
                    .map(|((t, w), u)| w * t.powi(3) * (-10.0 * t * t).exp() * u * u)
                    .sum();
                assert!(
                    (norm / expected - 1.0).abs() < 1e-9,
                    "{gamma} {alpha} {k}: {norm}"
                );
            }
        }
    }
}
