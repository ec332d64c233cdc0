//! Gauss rules of the weights that occur in kinetic theory, computed to roundoff.
//!
//! A rule with `n` nodes integrates polynomials up to degree `2n - 1` against its weight exactly. The recurrence of the orthogonal
//! polynomials comes from the discretised Stieltjes procedure (W. Gautschi, *Orthogonal Polynomials: Computation and
//! Approximation*, 2004, section 2.2): inner products are sums over a composite Gauss-Legendre rule that is far finer than the
//! result. Unlike moments, these sums lose no digits. Nodes and weights are the eigenvalues and the first components of the
//! eigenvectors of the Jacobi matrix (G. H. Golub and J. H. Welsch, 1969).
//!
//! Enclosures need rules of a *half* axis. A wall emits and receives different functions of the normal velocity, and a rule of the whole axis
//! meets the jump between them.

use nalgebra::{DMatrix, SymmetricEigen};

use super::Axis;
use crate::error::{Error, Result};

impl Axis {
    /// Half-range Gauss-Hermite with `n` nodes on either half axis, graded towards v = 0 as in
    /// [`Rule::graded_half_hermite`]: for the direction normal to walls.
    ///
    /// # Errors
    /// Fewer than 3 nodes, more than a rule has, or a grading beyond 1 to 4.
    pub fn half_range(n: usize, grading: u32) -> Result<Self> {
        if n < 3 {
            return Err(Error::invalid(
                "n",
                n,
                "3 or more velocities on a half axis: fewer are too few",
            ));
        }
        Self::both_halves(&Rule::graded_half_hermite(n, grading)?.unweighted())
    }

    /// As [`half_range`](Self::half_range), a Gauss rule of the mean of Maxwellians at temperatures from `cold` to `hot`: for gas between walls that is much colder or hotter than T = 1.
    ///
    /// Seven temperatures in geometric progression are enough for ratios of hundreds. With 20 nodes the flux of each Maxwellian in between is right to 1e-4 at a ratio of 15, with 40 at 200.
    ///
    /// # Errors
    /// As [`half_range`](Self::half_range); temperatures that are not positive and finite, or not in order.
    pub fn half_range_between(n: usize, grading: u32, [cold, hot]: [f64; 2]) -> Result<Self> {
        if n < 3 {
            return Err(Error::invalid(
                "n",
                n,
                "3 or more velocities on a half axis: fewer are too few",
            ));
        }
        if !(cold > 0.0 && hot >= cold && hot.is_finite()) {
            return Err(Error::invalid(
                "temperatures",
                format!("{cold} to {hot}"),
                "positive and finite temperatures, the lower one first",
            ));
        }
        Self::both_halves(&Rule::half_between(n, grading, [cold, hot])?)
    }

    /// A rule of v > 0 and its mirror image.
    fn both_halves(half: &Rule) -> Result<Self> {
        let below = half.nodes.iter().rev().map(|v| -v);
        let nodes = below.chain(half.nodes.iter().copied()).collect();
        let below = half.weights.iter().rev().copied();
        let weights = below.chain(half.weights.iter().copied()).collect();
        Self::new(nodes, weights)
    }

    /// Gauss-Hermite with `n` nodes on the whole axis: for directions along which nothing streams.
    ///
    /// # Errors
    /// Fewer than 3 nodes, or more than a rule has.
    pub fn hermite(n: usize) -> Result<Self> {
        if n < 3 {
            return Err(Error::invalid(
                "n",
                n,
                "3 or more velocities along an axis: fewer are too few",
            ));
        }
        let rule = Rule::hermite(n)?.unweighted();
        Self::new(rule.nodes, rule.weights)
    }
}

/// Nodes and weights of a rule; the nodes ascend.
#[derive(Clone, Debug, PartialEq)]
#[non_exhaustive]
pub struct Rule {
    /// Where the integrand is taken.
    pub nodes: Vec<f64>,
    /// With what weight; the weight function is in it.
    pub weights: Vec<f64>,
}

/// Most nodes of a rule.
pub const MAX_NODES: usize = 128;

/// Maxwellians whose mean is the weight of a rule between two temperatures.
const TEMPERATURES: usize = 7;

impl Rule {
    /// The integral of `f` times the weight function.
    pub fn integrate(&self, f: impl Fn(f64) -> f64) -> f64 {
        let terms = self.nodes.iter().zip(&self.weights);
        terms.map(|(&x, &w)| w * f(x)).sum()
    }

    /// The rule with its weight exp(-v^2) / sqrt(pi) taken out, for integrands that contain a Maxwellian.
    fn unweighted(self) -> Self {
        let pairs = self.nodes.iter().zip(&self.weights);
        let weights = pairs
            .map(|(v, w)| w * std::f64::consts::PI.sqrt() * (v * v).exp())
            .collect();
        Self { weights, ..self }
    }

    /// Gauss-Legendre: weight 1 on [-1, 1].
    ///
    /// # Errors
    /// No nodes, or more than [`MAX_NODES`].
    pub fn legendre(n: usize) -> Result<Self> {
        check(n)?;
        // The recurrence is known in closed form.
        let off = (1..n).map(|k| {
            let k = k as f64;
            k / (4.0 * k * k - 1.0).sqrt()
        });
        Ok(from_jacobi(&vec![0.0; n], &off.collect::<Vec<_>>(), 2.0))
    }

    /// Sums over `length` integers about their middle, by the recurrence of the discrete polynomials of Chebyshev.
    ///
    /// # Errors
    /// No nodes, more than [`MAX_NODES`], or more than integers.
    pub(crate) fn of_integers(length: usize, n: usize) -> Result<Self> {
        check(n)?;
        if n > length {
            return Err(Error::invalid(
                "nodes",
                n,
                format!("at most {length} nodes for as many integers"),
            ));
        }
        let off = (1..n).map(|k| {
            let (k, length) = (k as f64, length as f64);
            let square = (length * length - k * k) / (4.0 * k * k - 1.0);
            0.5 * k * square.sqrt()
        });
        let off: Vec<f64> = off.collect();
        Ok(from_jacobi(&vec![0.0; n], &off, length as f64))
    }

    /// Gauss-Hermite: weight exp(-v^2) / sqrt(pi) on the whole axis.
    ///
    /// # Errors
    /// No nodes, or more than [`MAX_NODES`].
    pub fn hermite(n: usize) -> Result<Self> {
        check(n)?;
        let off: Vec<f64> = (1..n).map(|k| (k as f64 / 2.0).sqrt()).collect();
        Ok(from_jacobi(&vec![0.0; n], &off, 1.0))
    }

    /// Half-range Gauss-Hermite: weight exp(-v^2) / sqrt(pi) on v > 0, so that the weights sum to 1/2.
    ///
    /// # Errors
    /// No nodes, or more than [`MAX_NODES`].
    pub fn half_hermite(n: usize) -> Result<Self> {
        Self::graded_half_hermite(n, 1)
    }

    /// As [`half_hermite`](Self::half_hermite), Gauss in `s` with `v = s^grading`: nodes crowd towards v = 0.
    ///
    /// Near a wall a distribution varies with the normal velocity like exp(-x / v), and molecules that graze the wall decide how fast
    /// a rule converges. With `n` nodes it integrates polynomials of `v` up to degree `(2n - 1) / grading` exactly.
    ///
    /// # Errors
    /// No nodes, or more than [`MAX_NODES`]; a grading beyond 1 to 4.
    pub fn graded_half_hermite(n: usize, grading: u32) -> Result<Self> {
        check(n)?;
        check_grading(grading)?;
        let power = grading as i32;
        let p = f64::from(grading);
        // exp(-8.5^2) is 4e-32; polynomials of the highest degree need a little more room.
        let reach = (8.5 + 0.06 * n as f64).powf(1.0 / p);
        let density = |s: f64| {
            let v = s.powi(power);
            p * s.powi(power - 1) * (-v * v).exp() / std::f64::consts::PI.sqrt()
        };
        let mut rule = stieltjes(n, 0.0, reach, density)?;
        // Weights sum to 1/2 exactly but for the last digits of the eigenvectors.
        let sum: f64 = rule.weights.iter().sum();
        rule.weights.iter_mut().for_each(|w| *w *= 0.5 / sum);
        rule.nodes.iter_mut().for_each(|s| *s = s.powi(power));
        Ok(rule)
    }

    /// Gauss in `s` with `v = s^grading` of the mean of half-range Maxwellians at temperatures between two, this weight taken out.
    fn half_between(n: usize, grading: u32, [cold, hot]: [f64; 2]) -> Result<Self> {
        check(n)?;
        check_grading(grading)?;
        let step = (hot / cold).ln() / (TEMPERATURES - 1) as f64;
        let temperatures = (0..TEMPERATURES).map(|k| cold * (k as f64 * step).exp());
        let temperatures: Vec<f64> = temperatures.collect();
        let weight = |v: f64| {
            let terms = temperatures.iter();
            terms
                .map(|t| (-v * v / t).exp() / (std::f64::consts::PI * t).sqrt())
                .sum::<f64>()
                / TEMPERATURES as f64
        };
        let power = grading as i32;
        let p = f64::from(grading);
        let reach = ((8.5 + 0.06 * n as f64) * hot.sqrt()).powf(1.0 / p);
        let density = |s: f64| p * s.powi(power - 1) * weight(s.powi(power));
        let mut rule = stieltjes(n, 0.0, reach, density)?;
        let sum: f64 = rule.weights.iter().sum();
        rule.nodes.iter_mut().for_each(|s| *s = s.powi(power));
        for (w, v) in rule.weights.iter_mut().zip(&rule.nodes) {
            *w *= 0.5 / sum / weight(*v);
        }
        Ok(rule)
    }

    /// Speeds in a plane: weight 2 c exp(-c^2) on c > 0, so that the weights sum to 1.
    ///
    /// # Errors
    /// No nodes, or more than [`MAX_NODES`].
    pub fn radial(n: usize) -> Result<Self> {
        check(n)?;
        let reach = 8.5 + 0.06 * n as f64;
        let mut rule = stieltjes(n, 0.0, reach, |c| 2.0 * c * (-c * c).exp())?;
        let sum: f64 = rule.weights.iter().sum();
        rule.weights.iter_mut().for_each(|w| *w /= sum);
        Ok(rule)
    }
}

fn check(n: usize) -> Result<()> {
    if n == 0 || n > MAX_NODES {
        return Err(Error::invalid(
            "nodes",
            n,
            format!("1 to {MAX_NODES} nodes of a Gauss rule"),
        ));
    }
    Ok(())
}

fn check_grading(grading: u32) -> Result<()> {
    if !(1..=4).contains(&grading) {
        return Err(Error::invalid(
            "grading",
            grading,
            "1 to 4, by which a half-range rule can be graded",
        ));
    }
    Ok(())
}

/// The Gauss rule of a smooth density on [a, b], by the discretised Stieltjes procedure.
fn stieltjes(n: usize, a: f64, b: f64, density: impl Fn(f64) -> f64) -> Result<Rule> {
    const PANELS: usize = 96;
    let fine = Rule::legendre(24)?;
    let width = (b - a) / PANELS as f64;
    let mut points = Vec::with_capacity(PANELS * fine.nodes.len());
    let mut masses = Vec::with_capacity(points.capacity());
    for panel in 0..PANELS {
        for (&x, &w) in fine.nodes.iter().zip(&fine.weights) {
            let point = a + (panel as f64 + 0.5 * (x + 1.0)) * width;
            points.push(point);
            masses.push(0.5 * width * w * density(point));
        }
    }
    let total: f64 = masses.iter().sum();
    let (mut diagonal, mut off) = (Vec::with_capacity(n), Vec::with_capacity(n));
    // Values of two consecutive orthonormal polynomials at the points.
    let mut before = vec![0.0; points.len()];
    let mut now = vec![total.sqrt().recip(); points.len()];
    let mut beta = 0.0;
    for _ in 0..n {
        let alpha: f64 = (points.iter().zip(&masses).zip(&now))
            .map(|((x, m), p)| m * x * p * p)
            .sum();
        diagonal.push(alpha);
        for ((x, before), now) in points.iter().zip(&mut before).zip(&now) {
            *before = (x - alpha) * now - beta * *before;
        }
        beta = (masses.iter().zip(&before))
            .map(|(m, p)| m * p * p)
            .sum::<f64>()
            .sqrt();
        before.iter_mut().for_each(|p| *p /= beta);
        off.push(beta);
        std::mem::swap(&mut before, &mut now);
    }
    off.truncate(n.saturating_sub(1));
    Ok(from_jacobi(&diagonal, &off, total))
}

/// The rule whose orthonormal polynomials have this recurrence, with weights of this sum.
fn from_jacobi(diagonal: &[f64], off: &[f64], total: f64) -> Rule {
    let n = diagonal.len();
    let mut jacobi = DMatrix::<f64>::zeros(n, n);
    for (k, &alpha) in diagonal.iter().enumerate() {
        jacobi[(k, k)] = alpha;
    }
    for (k, &beta) in off.iter().enumerate() {
        jacobi[(k, k + 1)] = beta;
        jacobi[(k + 1, k)] = beta;
    }
    let eigenvalues = SymmetricEigen::new(jacobi).eigenvalues;
    let mut nodes: Vec<f64> = eigenvalues.iter().copied().collect();
    nodes.sort_by(f64::total_cmp);
    // Polished by Newton on the recurrence, and weighted by the Christoffel numbers 1 / sum p_k^2, which keep their relative
    // accuracy where an eigenvector's first component is tiny.
    let mut weights = Vec::with_capacity(n);
    for node in &mut nodes {
        for _ in 0..2 {
            let (value, slope, _) = polynomials(diagonal, off, *node);
            if slope != 0.0 && (value / slope).is_finite() {
                *node -= value / slope;
            }
        }
        weights.push(total / polynomials(diagonal, off, *node).2);
    }
    if diagonal.iter().all(|&alpha| alpha == 0.0) {
        symmetrise(&mut nodes, &mut weights);
    }
    Rule { nodes, weights }
}

/// Value and slope of the polynomial of degree n, but for a factor, and the sum of the squares of those below, at `x`; p_0 = 1.
fn polynomials(diagonal: &[f64], off: &[f64], x: f64) -> (f64, f64, f64) {
    let (mut before, mut now) = (0.0, 1.0);
    let (mut slope_before, mut slope) = (0.0, 0.0);
    let mut squares = 0.0;
    for (k, &alpha) in diagonal.iter().enumerate() {
        squares += now * now;
        let below = if k == 0 { 0.0 } else { off[k - 1] };
        let above = off.get(k).copied().unwrap_or(1.0);
        let next = ((x - alpha) * now - below * before) / above;
        let slope_next = (now + (x - alpha) * slope - below * slope_before) / above;
        (before, now) = (now, next);
        (slope_before, slope) = (slope, slope_next);
    }
    (now, slope, squares)
}

/// Makes a rule of an even weight even to the last bit.
fn symmetrise(nodes: &mut [f64], weights: &mut [f64]) {
    let n = nodes.len();
    for k in 0..n / 2 {
        let node = 0.5 * (nodes[n - 1 - k] - nodes[k]);
        let weight = 0.5 * (weights[n - 1 - k] + weights[k]);
        (nodes[k], nodes[n - 1 - k]) = (-node, node);
        (weights[k], weights[n - 1 - k]) = (weight, weight);
    }
    if n % 2 == 1 {
        nodes[n / 2] = 0.0;
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Integral of v^k exp(-v^2) / sqrt(pi) over v > 0.
    fn half_moment(k: i32) -> f64 {
        libm::tgamma(f64::from(k + 1) / 2.0) / (2.0 * std::f64::consts::PI.sqrt())
    }

    #[test]
    fn rules_integrate_their_polynomials_to_roundoff() {
        for n in [1, 2, 4, 7, 12, 20, 40] {
            let half = Rule::half_hermite(n).unwrap();
            let graded = Rule::graded_half_hermite(n, 2).unwrap();
            let radial = Rule::radial(n).unwrap();
            let whole = Rule::hermite(n).unwrap();
            let legendre = Rule::legendre(n).unwrap();
            for k in 0..(2 * n as i32).min(60) {
                let at = format!("{n} nodes, power {k}");
                let close = |found: f64, exact: f64| {
                    assert!((found / exact - 1.0).abs() < 2e-13, "{at}: {found} {exact}");
                };
                close(half.integrate(|v| v.powi(k)), half_moment(k));
                close(
                    radial.integrate(|v| v.powi(k)),
                    libm::tgamma(1.0 + f64::from(k) / 2.0),
                );
                if 2 * k < 2 * n as i32 {
                    close(graded.integrate(|v| v.powi(k)), half_moment(k));
                }
                if k % 2 == 0 {
                    close(whole.integrate(|v| v.powi(k)), 2.0 * half_moment(k));
                    close(
                        legendre.integrate(|v| v.powi(k)),
                        2.0 / (f64::from(k) + 1.0),
                    );
                }
            }
            for rule in [&half, &graded, &radial, &whole, &legendre] {
                assert!(rule.nodes.windows(2).all(|pair| pair[0] < pair[1]));
                assert!(rule.weights.iter().all(|&w| w > 0.0));
            }
        }
    }

    #[test]
    fn rules_between_temperatures_integrate_cold_and_hot_gas() {
        let root = std::f64::consts::PI.sqrt();
        for (n, range, accuracy) in [
            (20, [1.0, 4.6], 1e-6),
            (20, [1.0, 15.4], 1e-4),
            (28, [1.0, 19.0], 1e-5),
            (40, [0.01, 1.99], 1e-5),
        ] {
            let axis = Axis::half_range_between(n, 2, range).unwrap();
            assert!(axis.is_symmetric());
            for step in 0..9 {
                let t = range[0] * (range[1] / range[0]).powf(f64::from(step) / 8.0);
                for k in 0..5 {
                    let sum: f64 = (axis.nodes().iter().zip(axis.weights()))
                        .filter(|(v, _)| **v > 0.0)
                        .map(|(v, w)| w * v.powi(k) * (-v * v / t).exp() / (root * t.sqrt()))
                        .sum();
                    let exact = half_moment(k) * t.powf(0.5 * f64::from(k));
                    let error = (sum / exact - 1.0).abs();
                    assert!(error < accuracy, "{n} nodes, T = {t}, power {k}: {error:e}");
                }
            }
        }
        assert!(Axis::half_range_between(20, 2, [2.0, 1.0]).is_err());
        assert!(Axis::half_range_between(20, 2, [0.0, 1.0]).is_err());
    }

    #[test]
    fn known_nodes_are_found() {
        // Two nodes of the half range in closed form: roots of the quadratic orthogonal to 1 and v.
        let m = |k| half_moment(k);
        let determinant = m(0) * m(2) - m(1) * m(1);
        let b = (m(1) * m(2) - m(0) * m(3)) / determinant;
        let c = (m(1) * m(3) - m(2) * m(2)) / determinant;
        let root = (b * b / 4.0 - c).sqrt();
        let rule = Rule::half_hermite(2).unwrap();
        assert!((rule.nodes[0] - (-b / 2.0 - root)).abs() < 1e-14);
        assert!((rule.nodes[1] - (-b / 2.0 + root)).abs() < 1e-14);
        let three = Rule::hermite(3).unwrap();
        assert_eq!(three.nodes[1], 0.0);
        assert!((three.nodes[2] - 1.5_f64.sqrt()).abs() < 1e-15);
        assert!((three.weights[1] - 2.0 / 3.0).abs() < 1e-15);
    }

    #[test]
    fn sums_over_integers_are_exact() {
        let rule = Rule::of_integers(32, 6).unwrap();
        for power in 0..12 {
            let sum: f64 = (0..32).map(|k| (f64::from(k) - 14.5).powi(power)).sum();
            let found = rule.integrate(|x| (x + 1.0).powi(power));
            assert!((found / sum - 1.0).abs() < 1e-12, "{power}: {found} {sum}");
        }
        assert!(Rule::of_integers(4, 5).is_err());
    }

    #[test]
    fn impossible_rules_are_refused() {
        let error = Rule::half_hermite(0).unwrap_err();
        assert_eq!(
            error.to_string(),
            "nodes: 0; expected 1 to 128 nodes of a Gauss rule"
        );
        assert!(Rule::radial(129).is_err());
        assert!(Rule::graded_half_hermite(8, 0).is_err());
    }
}
