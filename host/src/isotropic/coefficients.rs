//! Collision coefficients in closed form.
//!
//! A collision takes particles of the cells i, j to the cells k, l with k + l = i + j. Its coefficient
//!
//! ```text
//! B_ij^kl = area of { (x, y) in [-1, 1]^2 : E_i (1 - x^2) + E_j y^2 lies in cell k }, weighted with |sqrt(E_j) y - sqrt(E_i) x|^theta
//! ```
//!
//! depends, times r_i r_j (r = square root of the energy in cell widths), on two energies only: those at the two ends of the jump
//! that starts or ends in the lowest of the four cells. With P <= Q the speeds at these ends the density over energies is
//! `T(P, Q) = (2/theta) [(Q+P)^theta - (Q-P)^theta]`, and `2 ln[(Q+P)/(Q-P)]` for theta = 0.
//! [`Coefficients::jump`] is its integral over the cell at the far end; the correction averages it over both directions, [`Coefficients::symmetric`].
//!
//! Cells are counted from 0 here. Energies are in cell widths, so cell i reaches from i to i + 1 and has its centre at i + 1/2.
//! For theta > 0 everything here is in units of (sqrt(2 dE) / c_s)^theta.

use std::f64::consts::{FRAC_PI_4, PI, SQRT_2};

use rayon::prelude::*;

use super::{CollisionKernel, EnergyGrid};

/// Nodes and weights of the Gauss-Legendre rule with 8 points on [-1, 1], by half.
const GAUSS_8: [(f64, f64); 4] = [
    (0.183_434_642_495_649_8, 0.362_683_783_378_362),
    (0.525_532_409_916_329, 0.313_706_645_877_887_27),
    (0.796_666_477_413_626_7, 0.222_381_034_453_374_48),
    (0.960_289_856_497_536_3, 0.101_228_536_290_376_26),
];

/// The same with 4 points.
const GAUSS_4: [(f64, f64); 2] = [
    (0.339_981_043_584_856_26, 0.652_145_154_862_546_1),
    (0.861_136_311_594_052_6, 0.347_854_845_137_453_85),
];

/// Distance of cells beyond which quadrature is more accurate than a difference of antiderivatives.
const NEAR: usize = 4;

/// The collision coefficients of |g n|^theta.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Coefficients {
    theta: f64,
}

impl Coefficients {
    /// For the exponent `theta` >= 0.
    pub fn new(theta: f64) -> Self {
        Self { theta }
    }

    /// Half of the density T at speed x when the speed at the other end is a.
    fn half_density(self, x: f64, a: f64) -> f64 {
        let (p, q) = if x < a { (x, a) } else { (a, x) };
        let theta = self.theta;
        if theta == 0.0 {
            (2.0 * p / (q - p)).ln_1p()
        } else {
            // Q^theta [(1+z)^theta - (1-z)^theta] / theta, without cancellation for small z.
            let z = p / q;
            let (up, down) = (
                (theta * z.ln_1p()).exp_m1(),
                (theta * (-z).ln_1p()).exp_m1(),
            );
            q.powf(theta) * (up - down) / theta
        }
    }

    /// Antiderivative of half of T over the energy x^2.
    fn antiderivative(self, x: f64, a: f64) -> f64 {
        let theta = self.theta;
        let (sum, difference) = (x + a, x - a);
        // (power - 1) / theta, which tends to the logarithm.
        let log = |y: f64| {
            if theta == 0.0 {
                y.ln()
            } else {
                (theta * y.ln()).exp_m1() / theta
            }
        };
        let up = sum * (sum / (theta + 2.0) - a / (theta + 1.0));
        let down = difference * (difference / (theta + 2.0) + a / (theta + 1.0));
        let singular = if down == 0.0 {
            0.0
        } else {
            down * log(difference.abs())
        };
        2.0 * (2.0 * a * x / ((theta + 1.0) * (theta + 2.0)) + up * log(sum) - singular)
    }

    /// Integral of half of T over energies from `low` to `high` cells, with the other end at the centre of cell `i`.
    fn over(self, low: f64, high: f64, i: usize, far: bool) -> f64 {
        let a = (i as f64 + 0.5).sqrt();
        let (from, to) = (low.sqrt(), high.sqrt());
        if self.theta == 1.0 {
            // T = 4 P: 2 min(x, a) integrated over x^2, in differences that cancel exactly.
            let below = |u: f64, v: f64| {
                let (u2, v2) = (u * u, v * v);
                4.0 / 3.0 * (v2 * v2 * v2 - u2 * u2 * u2) / (u2 * u + v2 * v)
            };
            return if to <= a {
                4.0 / 3.0 * (high * high * high - low * low * low) / (low * from + high * to)
            } else if from >= a {
                2.0 * a * (high - low)
            } else {
                below(from, a) + 2.0 * a * (high - (i as f64 + 0.5))
            };
        }
        if !far {
            return self.antiderivative(to, a) - self.antiderivative(from, a);
        }
        let integrand = |x: f64| 2.0 * x * self.half_density(x, a);
        // The rule converges like (distance of the singularity over half the interval, doubled)^-2n, and where the power is high, if
        // it grows by no more than about e in a panel.
        let growth = self.theta * (to - from) / (from + a);
        let panels = (growth / 3.0).ceil().max(1.0) as u32;
        let half = (to - from) / (2.0 * f64::from(panels));
        (0..panels)
            .map(|panel| {
                let centre = from + half * f64::from(2 * panel + 1);
                let pair = |(node, weight): &(f64, f64)| {
                    weight * (integrand(centre - half * node) + integrand(centre + half * node))
                };
                let sum: f64 = if (centre - a).abs() > 50.0 * half * self.theta.max(1.0) {
                    GAUSS_4.iter().map(pair).sum()
                } else {
                    GAUSS_8.iter().map(pair).sum()
                };
                half * sum
            })
            .sum()
    }

    /// C(i, k): from the centre of cell i into cell k.
    pub fn jump(self, i: usize, k: usize) -> f64 {
        self.over(k as f64, k as f64 + 1.0, i, i.abs_diff(k) > NEAR)
    }

    /// H(i, k): from the centre of cell i into the lower half of cell k.
    fn lower_half(self, i: usize, k: usize) -> f64 {
        self.over(k as f64, k as f64 + 0.5, i, i.abs_diff(k) > NEAR)
    }

    /// S(i, k) = (C(i, k) + C(k, i)) / 2: the corrected coefficient, for which forward and backward collisions are equally frequent.
    pub fn symmetric(self, i: usize, k: usize) -> f64 {
        if self.theta == 1.0 && i != k {
            return Self::hard_spheres(i.min(k));
        }
        0.5 * (self.jump(i, k) + self.jump(k, i))
    }

    /// S(m, m + d) for theta = 1, which does not depend on d.
    pub fn hard_spheres(m: usize) -> f64 {
        let (low, high) = (m as f64, m as f64 + 1.0);
        let cell = (high * high * high - low * low * low) / (high * high.sqrt() + low * low.sqrt());
        (low + 0.5).sqrt() + 2.0 / 3.0 * cell
    }

    /// X(i, j): the particles exchange their cells.
    pub fn exchange(self, i: usize, j: usize) -> f64 {
        self.lower_half(i, j) + self.lower_half(j, i)
    }

    /// G = r_i r_j B_ij^kl for k + l = i + j, corrected or not.
    pub fn product(self, i: usize, j: usize, k: usize, corrected: bool) -> f64 {
        let l = i + j - k;
        let end = |i, k| {
            if corrected {
                self.symmetric(i, k)
            } else {
                self.jump(i, k)
            }
        };
        if k == j {
            self.exchange(i, j)
        } else if i.min(k) < j.min(l) {
            end(i, k)
        } else {
            end(j, l)
        }
    }

    /// B_ij^kl, corrected or not.
    pub fn value(self, i: usize, j: usize, k: usize, corrected: bool) -> f64 {
        self.product(i, j, k, corrected) / ((i as f64 + 0.5).sqrt() * (j as f64 + 0.5).sqrt())
    }
}

/// The cells that a particle of cell i can have after a collision with one of cell j on a grid of `cells`: first and last.
pub fn reachable(i: usize, j: usize, cells: usize) -> (usize, usize) {
    let s = i + j;
    (s.saturating_sub(cells - 1), s.min(cells - 1))
}

/// All coefficients of a grid that depend on two cells, from which those of four are looked up.
#[derive(Clone, Debug)]
pub struct PairTables {
    cells: usize,
    /// Row i: the jump i -> k, averaged with k -> i if corrected.
    jump: Vec<f64>,
    /// Row i: the exchange of i and j.
    exchange: Vec<f64>,
}

impl PairTables {
    /// The tables for `cells` cells.
    pub fn new(cells: usize, theta: f64, corrected: bool) -> Self {
        let of = Coefficients::new(theta);
        let table = |entry: &(dyn Fn(usize, usize) -> f64 + Sync)| {
            let mut table = vec![0.0; cells * cells];
            table
                .par_chunks_exact_mut(cells)
                .enumerate()
                .for_each(|(i, row)| {
                    for (k, value) in row.iter_mut().enumerate() {
                        *value = entry(i, k);
                    }
                });
            table
        };
        Self {
            cells,
            jump: if corrected {
                table(&|i, k| of.symmetric(i, k))
            } else {
                table(&|i, k| of.jump(i, k))
            },
            exchange: table(&|i, j| of.exchange(i, j)),
        }
    }

    /// G = r_i r_j B_ij^kl for k + l = i + j.
    pub fn product(&self, i: usize, j: usize, k: usize) -> f64 {
        let (l, m) = (i + j - k, self.cells);
        if k == j {
            self.exchange[i * m + j]
        } else if i.min(k) < j.min(l) {
            self.jump[i * m + k]
        } else {
            self.jump[j * m + l]
        }
    }

    /// The jump i -> k.
    pub fn jump(&self, i: usize, k: usize) -> f64 {
        self.jump[i * self.cells + k]
    }

    /// The exchange of i and j.
    pub fn exchange(&self, i: usize, j: usize) -> f64 {
        self.exchange[i * self.cells + j]
    }
}

/// The coefficient h of isotropic scattering with a rate that grows as g^gamma, for the shell i + j = s and the lowest of the four cells
/// `least`, in units of sqrt(dE)^gamma. It is h = 1/2 integral over [-delta, delta] of (2 sqrt(S) sin(pi/4 + phi))^gamma, S = s + 1,
/// sin(delta) = sqrt((least + 1/2) / S).
pub fn isotropic(s: usize, least: usize, gamma: f64) -> f64 {
    let energy = s as f64 + 1.0;
    let lowest = least as f64 + 0.5;
    if gamma == 0.0 {
        return (lowest / energy).sqrt().asin();
    }
    if gamma == 1.0 {
        return (2.0 * lowest).sqrt();
    }
    let delta = (lowest / energy).sqrt().min(1.0).asin();
    let integrand = |phi: f64| {
        let sine = (FRAC_PI_4 + phi).sin().max(0.0);
        (2.0 * energy.sqrt() * sine).powf(gamma)
    };
    graded(integrand, delta) / 2.0
}

/// Integral over [-delta, delta] of a function with a branch point at -pi/4, by panels that halve towards it.
fn graded(function: impl Fn(f64) -> f64, delta: f64) -> f64 {
    let gap = (FRAC_PI_4 - delta).max(0.0);
    let panel = |low: f64, high: f64| {
        let (centre, half) = ((low + high) / 2.0, (high - low) / 2.0);
        let pair = |(node, weight): &(f64, f64)| {
            let at = |x: f64| function(centre + x * half - delta);
            weight * (at(*node) + at(-*node))
        };
        half * GAUSS_8.iter().map(pair).sum::<f64>()
    };
    // Offsets from the lower end. The rest is smooth once it is short beside its distance from the branch point.
    let (mut sum, mut high) = (0.0, 2.0 * delta);
    while high > gap && high > 1e-16 {
        sum += panel(high / 2.0, high);
        high /= 2.0;
    }
    sum + panel(0.0, high)
}

/// Elements of the stored forms for `cells` cells.
#[derive(Clone, Copy, Debug, PartialEq, Eq, serde::Serialize, serde::Deserialize)]
#[non_exhaustive]
pub struct Counts {
    /// All (i, j, k).
    pub full: u64,
    /// One of (i, j), (j, i) and one of k, l: the valid form of the paper's folding.
    pub folded: u64,
    /// The paper's formula, which drops the middle element of each odd row.
    pub source_floor: u64,
    /// With reciprocity too, diagonal included.
    pub reciprocal: u64,
    /// The same without the diagonal, which cancels.
    pub reciprocal_strict: u64,
    /// Jump pairs.
    pub pair: u64,
}

impl Counts {
    /// Counts shell by shell.
    pub fn of(cells: usize) -> Self {
        let m = cells as u64;
        let mut counts = Self {
            full: 0,
            folded: 0,
            source_floor: 0,
            reciprocal: 0,
            reciprocal_strict: 0,
            pair: m * (m - 1) / 2,
        };
        for s in 0..2 * m - 1 {
            let length = (s + 1).min(2 * m - 1 - s);
            let half = length.div_ceil(2);
            counts.full += length * length;
            counts.folded += half * half;
            // The paper sums floor(M_ij / 2) over i >= j.
            counts.source_floor += half * (length / 2);
            counts.reciprocal += half * (half + 1) / 2;
            counts.reciprocal_strict += half * (half - 1) / 2;
        }
        counts
    }
}

/// Factor of the lattice sums: F dE^(3/2) (sqrt(2 dE) / c_s)^theta, or its counterpart for isotropic scattering.
///
/// With a^2 c_s = 1 / (2 pi), c_s = 1.
pub(super) fn rate_scale(grid: &EnergyGrid, law: CollisionKernel) -> f64 {
    match law {
        CollisionKernel::Power { theta } => {
            SQRT_2 * PI * grid.scale() * (2.0 * grid.width()).sqrt().powf(theta)
        }
        CollisionKernel::Isotropic { gamma } => {
            grid.number_scale() * grid.width().sqrt().powf(gamma)
        }
        CollisionKernel::Money | CollisionKernel::Gamma { .. } | CollisionKernel::Saving { .. } => {
            1.0
        }
    }
}
