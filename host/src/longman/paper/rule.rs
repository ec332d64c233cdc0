//! The rule on the CPU, and its table of differences.

use std::f64::consts::PI;

use rarefy_kernels::longman::{FixedRule, MOST_AREAS, lanes_of};

use serde::{Deserialize, Serialize};

use crate::error::{Error, Result};
use crate::longman::accelerate;
use crate::longman::quadrature::{GAUSS_POINTS, gauss};

/// The oscillation of an integrand `e^(-lambda x) osc(omega x)`.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Wave {
    /// Cosine: zeros at (k + 1/2) pi / omega.
    #[default]
    Cos,
    /// Sine: zeros at k pi / omega, of which the first one counted is pi / omega.
    Sin,
}

/// Where the integral starts.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Start {
    /// At 0.
    #[default]
    Zero,
    /// At the first zero of the integrand, as for the paper's Fig. 11.
    FirstZero,
}

/// Fixed numbers of areas and nodes.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
pub struct PaperRule {
    /// Areas N, 1 to 64.
    pub areas: usize,
    /// Gauss nodes of an area, 2 to 64.
    pub nodes: usize,
    /// Panels of the head, 1 to 64, each with as many nodes.
    pub panels: usize,
    /// The oscillation.
    pub wave: Wave,
    /// The lower limit.
    pub start: Start,
}

impl Default for PaperRule {
    /// The paper's: N = 16, 8 nodes, one panel, cosine from 0.
    fn default() -> Self {
        Self {
            areas: 16,
            nodes: 8,
            panels: 1,
            wave: Wave::Cos,
            start: Start::Zero,
        }
    }
}

impl PaperRule {
    /// Refuses sizes out of range.
    ///
    /// # Errors
    /// Areas or panels outside 1..=64, nodes outside 2..=64.
    pub fn check(&self) -> Result<()> {
        for (what, value, most) in [
            ("areas", self.areas, MOST_AREAS as usize),
            ("panels of the head", self.panels, 64),
        ] {
            if value == 0 || value > most {
                return Err(Error::invalid(what, value, format!("1 to {most}")));
            }
        }
        if !GAUSS_POINTS.contains(&self.nodes) {
            return Err(Error::invalid(
                "nodes",
                self.nodes,
                format!(
                    "{} to {} Gauss nodes",
                    GAUSS_POINTS.start(),
                    GAUSS_POINTS.end()
                ),
            ));
        }
        Ok(())
    }

    /// The first zero, in half-periods.
    pub fn first(&self) -> f64 {
        match self.wave {
            Wave::Cos => 0.5,
            Wave::Sin => 1.0,
        }
    }

    /// Evaluations of the integrand for one integral.
    pub fn evaluations(&self) -> usize {
        let head = match self.start {
            Start::Zero => self.panels * self.nodes,
            Start::FirstZero => 0,
        };
        self.areas * self.nodes + head
    }

    /// The same for a launch of so many integrals.
    pub(super) fn for_kernels(&self, integrals: usize) -> FixedRule {
        let panels = match self.start {
            Start::Zero => self.panels,
            Start::FirstZero => 0,
        };
        FixedRule {
            integrals: u32::try_from(integrals).unwrap_or(u32::MAX),
            areas: self.areas as u32,
            nodes: self.nodes as u32,
            panels: panels as u32,
            columns: 0,
            lanes: lanes_of(self.areas as u32),
            first: self.first(),
            width: self.first() / self.panels as f64,
        }
    }

    /// The first `areas + 1` zeros.
    pub fn zeros(&self, omega: f64) -> Vec<f64> {
        (0..=self.areas)
            .map(|k| (k as f64 + self.first()) * PI / omega)
            .collect()
    }

    /// The table of `e^(-lambda x) osc(omega x)`.
    ///
    /// # Errors
    /// As [`check`](Self::check).
    pub fn table(&self, lambda: f64, omega: f64) -> Result<AreaTable> {
        self.check()?;
        let f = |x: f64| {
            let oscillation = match self.wave {
                Wave::Cos => (omega * x).cos(),
                Wave::Sin => (omega * x).sin(),
            };
            (-lambda * x).exp() * oscillation
        };
        let panels = match self.start {
            Start::Zero => self.panels,
            Start::FirstZero => 0,
        };
        Ok(AreaTable::new(&f, panels, self.zeros(omega), self.nodes))
    }

    /// The exact integral: `lambda / (lambda^2 + omega^2)` for the cosine from 0 (eq. 14) and its like.
    pub fn exact(&self, lambda: f64, omega: f64) -> f64 {
        let square = lambda * lambda + omega * omega;
        let start = self.first() * PI / omega;
        match (self.start, self.wave) {
            (Start::Zero, Wave::Cos) => lambda / square,
            (Start::Zero, Wave::Sin) => omega / square,
            // Both fall through their first zero.
            (Start::FirstZero, _) => -omega / square * (-lambda * start).exp(),
        }
    }
}

/// The paper's Table 1: boundaries, areas, differences; and the head.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[non_exhaustive]
pub struct AreaTable {
    /// Boundaries, one more than there are areas.
    pub zeros: Vec<f64>,
    /// Row r holds `Delta^r V_k`, k = 0, 1, ...; each row is one shorter than the one before it.
    pub differences: Vec<Vec<f64>>,
    /// The integral up to the first boundary.
    pub head: f64,
    /// The sign s of the first area.
    pub sign: f64,
}

impl AreaTable {
    /// The table of f, from 0 with so many panels of the head, or from the first boundary with none; by Gauss quadrature throughout.
    pub fn new(f: &dyn Fn(f64) -> f64, panels: usize, zeros: Vec<f64>, nodes: usize) -> Self {
        let rule = gauss(nodes);
        let integral = |from: f64, to: f64| {
            let (middle, half) = (0.5 * (from + to), 0.5 * (to - from));
            let terms = rule.nodes.iter().zip(&rule.weights);
            half * terms
                .map(|(node, weight)| weight * f(middle + half * node))
                .sum::<f64>()
        };
        let signed: Vec<f64> = zeros
            .windows(2)
            .map(|pair| integral(pair[0], pair[1]))
            .collect();
        let end = zeros.first().copied().unwrap_or(0.0);
        let at = |panel: usize| end * panel as f64 / panels as f64;
        let head = (0..panels)
            .map(|panel| integral(at(panel), at(panel + 1)))
            .sum();
        let mut differences: Vec<Vec<f64>> = vec![signed.iter().map(|area| area.abs()).collect()];
        while let Some(row) = differences.last()
            && row.len() > 1
        {
            let next = row.windows(2).map(|pair| pair[1] - pair[0]).collect();
            differences.push(next);
        }
        let sign = if signed.first().is_some_and(|area| *area < 0.0) {
            -1.0
        } else {
            1.0
        };
        Self {
            zeros,
            differences,
            head,
            sign,
        }
    }

    /// `Delta^r V_0`, r = 0, 1, ...
    pub fn column(&self) -> Vec<f64> {
        let first = self.differences.iter().filter_map(|row| row.first());
        first.copied().collect()
    }

    /// The integral by the first `terms` differences: head + s Euler's sum.
    pub fn value_of(&self, terms: usize) -> f64 {
        let column = self.column();
        let terms = terms.min(column.len());
        self.head + self.sign * accelerate::euler_sum(&column[..terms])
    }

    /// The integral by all differences.
    pub fn value(&self) -> f64 {
        self.value_of(self.differences.len())
    }

    /// Eq. (10) for the sum of `terms` differences, `2^-terms |Delta^terms V_0|`; needs one area more than terms.
    pub fn remainder_bound(&self, terms: usize) -> Option<f64> {
        let difference = self.differences.get(terms)?.first()?;
        Some(0.5_f64.powi(terms as i32) * difference.abs())
    }
}

/// Many integrals of `e^(-lambda_i x) osc(omega_i x)` on the CPU: the paper's serial program (section 2.2), in parallel if `parallel`.
///
/// The table of differences is replaced by its linear form, sum of c_k V_k, and the sines at the Gauss nodes are computed once.
///
/// # Errors
/// As [`PaperRule::check`]; lambda and omega of different numbers.
pub fn integrate_on_cpu(
    rule: &PaperRule,
    lambda: &[f64],
    omega: &[f64],
    parallel: bool,
) -> Result<Vec<f64>> {
    use rayon::prelude::*;
    rule.check()?;
    same_length(lambda, omega)?;
    let points = gauss(rule.nodes);
    let weights = accelerate::euler_weights(rule.areas);
    let first = rule.first();
    // Nodes in half-periods from the lower limit, and their weights, with the sine and the alternating sign in them.
    let mut terms = Vec::with_capacity(rule.evaluations());
    if rule.start == Start::Zero {
        let width = first / rule.panels as f64;
        for panel in 0..rule.panels {
            for (node, weight) in points.nodes.iter().zip(&points.weights) {
                let at = width * (panel as f64 + 0.5 + 0.5 * node);
                terms.push((
                    at * PI,
                    0.5 * width * PI * weight * ((first - at) * PI).sin(),
                ));
            }
        }
    }
    for (k, c) in weights.iter().enumerate() {
        let sign = if k % 2 == 0 { -1.0 } else { 1.0 };
        for (node, weight) in points.nodes.iter().zip(&points.weights) {
            let local = 0.5 + 0.5 * node;
            let phase = (k as f64 + first + local) * PI;
            terms.push((phase, sign * c * 0.5 * PI * weight * (local * PI).sin()));
        }
    }
    let one = |(lambda, omega): (&f64, &f64)| {
        let rate = -lambda / omega;
        let sum: f64 = terms
            .iter()
            .map(|(phase, weight)| weight * (rate * phase).exp())
            .sum();
        sum / omega
    };
    Ok(if parallel {
        lambda.par_iter().zip(omega).map(one).collect()
    } else {
        lambda.iter().zip(omega).map(one).collect()
    })
}

/// Refuses columns of parameters of different lengths, and integrals that are none.
pub(super) fn same_length(lambda: &[f64], omega: &[f64]) -> Result<()> {
    if lambda.len() != omega.len() || lambda.is_empty() {
        return Err(Error::invalid(
            "lambda and omega",
            format!("{} and {} values", lambda.len(), omega.len()),
            "one of each for every integral, at least one",
        ));
    }
    if let Some(omega) = omega.iter().find(|w| !(w.is_finite() && **w > 0.0)) {
        return Err(Error::invalid(
            "omega",
            omega,
            "a frequency: a positive number",
        ));
    }
    if let Some(lambda) = lambda.iter().find(|l| !(l.is_finite() && **l >= 0.0)) {
        return Err(Error::invalid(
            "lambda",
            lambda,
            "a number of at least 0, which damps",
        ));
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn close(found: f64, expected: f64, digits: f64) {
        assert!(
            (found - expected).abs() <= digits * expected.abs(),
            "{found:e}, expected {expected:e}"
        );
    }

    #[test]
    fn the_papers_table_1_and_eq_16_come_out() {
        let rule = PaperRule {
            areas: 7,
            nodes: 16,
            ..PaperRule::default()
        };
        let table = rule.table(0.5, 10.0).unwrap();
        let areas = [
            0.17102709,
            0.14616590,
            0.12491864,
            0.10675997,
            0.091240913,
            0.077977769,
            0.066642609,
        ];
        for (found, expected) in table.differences[0].iter().zip(areas) {
            close(*found, expected, 5e-8);
        }
        let column = [
            0.17102709,
            -0.024861181,
            0.0036139208,
            -5.2533399e-4,
            7.636465e-5,
            -1.1100671e-5,
            1.613638e-6,
        ];
        for (found, expected) in table.column().iter().zip(column) {
            close(*found, expected, 3e-7);
        }
        close(table.head, 0.097203516247, 1e-10);
        assert_eq!(table.sign, -1.0);
        close(table.value(), 0.00498753216015484, 1e-13);
        let exact = rule.exact(0.5, 10.0);
        close(exact, 0.004987531172069825, 1e-15);
        close(table.value() - exact, 9.88e-10, 1e-3);
        // Hard-coded signs, as in the paper's eq. (13): wrong for this integrand.
        let euler = table.head - table.value();
        close(table.head + euler, 0.18942, 1e-4);
    }

    #[test]
    fn the_sign_is_that_of_the_first_area() {
        for (wave, start) in [
            (Wave::Cos, Start::Zero),
            (Wave::Sin, Start::Zero),
            (Wave::Cos, Start::FirstZero),
            (Wave::Sin, Start::FirstZero),
        ] {
            let rule = PaperRule {
                areas: 24,
                nodes: 16,
                panels: 2,
                wave,
                start,
            };
            let value = rule.table(0.3, 4.0).unwrap().value();
            close(value, rule.exact(0.3, 4.0), 1e-13);
            let fast = integrate_on_cpu(&rule, &[0.3], &[4.0], false).unwrap();
            close(fast[0], value, 1e-13);
        }
        // A first area that is positive: -cos.
        let rule = PaperRule::default();
        let f = |x: f64| -(-0.5 * x).exp() * (10.0 * x).cos();
        let table = AreaTable::new(&f, 1, rule.zeros(10.0), 8);
        assert_eq!(table.sign, 1.0);
        close(table.value(), -rule.exact(0.5, 10.0), 1e-10);
    }

    #[test]
    fn the_bound_of_eq_10_exceeds_the_error_by_its_known_ratio() {
        let rule = PaperRule {
            areas: 17,
            nodes: 16,
            start: Start::FirstZero,
            ..PaperRule::default()
        };
        let table = rule.table(0.5, 10.0).unwrap();
        let exact = rule.exact(0.5, 10.0);
        for (terms, bound) in [(2, 9.0e-4), (4, 4.8e-6), (6, 2.5e-8), (8, 1.3e-10)] {
            let found = table.remainder_bound(terms).unwrap();
            close(found, bound, 0.05);
            // 1/(1+q) for areas that fall like q^k.
            let ratio = (table.value_of(terms) - exact).abs() / found;
            close(ratio, 0.539189, 1e-4);
        }
        assert_eq!(table.remainder_bound(17), None);
    }

    #[test]
    fn sizes_and_parameters_are_checked() {
        let rule = PaperRule::default();
        for bad in [
            PaperRule { areas: 0, ..rule },
            PaperRule { areas: 65, ..rule },
            PaperRule { nodes: 1, ..rule },
            PaperRule { panels: 0, ..rule },
        ] {
            assert!(bad.table(0.5, 10.0).is_err(), "{bad:?}");
        }
        let refused = |l: &[f64], w: &[f64]| integrate_on_cpu(&rule, l, w, false).is_err();
        assert!(refused(&[], &[]) && refused(&[1.0], &[1.0, 2.0]));
        assert!(refused(&[1.0], &[0.0]) && refused(&[f64::NAN], &[1.0]));
        assert!(refused(&[-1.0], &[1.0]) && refused(&[1.0], &[f64::INFINITY]));
    }
}
