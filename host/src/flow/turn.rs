//! The angles between the radius and a velocity's part across an axis.

use std::f64::consts::FRAC_PI_2;

use crate::bgk::quadrature::Rule;
use crate::error::Result;

/// The angles of a half turn, from the direction to the axis to that away from it.
#[derive(Clone, Debug)]
pub(in crate::flow) struct Turn {
    /// Cosines, mu.
    pub(in crate::flow) cosine: Vec<f64>,
    /// Shares of the half turn: their sum is 1.
    pub(in crate::flow) weight: Vec<f64>,
    /// Coefficients alpha between the angles and at both ends, where they are 0: `alpha_(m+1) = alpha_m - w_m mu_m`.
    pub(in crate::flow) edge: Vec<f64>,
}

impl Turn {
    /// Gauss-Legendre points of both quarters.
    ///
    /// # Errors
    /// More angles than a rule has.
    pub(in crate::flow) fn new(angles: usize) -> Result<Self> {
        let rule = Rule::legendre(angles / 2)?;
        let quarter: Vec<(f64, f64)> = rule
            .nodes
            .iter()
            .zip(&rule.weights)
            .map(|(x, w)| ((FRAC_PI_2 * 0.5 * (x + 1.0)).cos(), 0.25 * w))
            .collect();
        // Both quarters have the same digits, so that each angle has a mirror image.
        let inwards = quarter.iter().map(|(cosine, w)| (-cosine, *w));
        let outwards = quarter.iter().rev().copied();
        let (cosine, weight): (Vec<f64>, Vec<f64>) = inwards.chain(outwards).unzip();
        let mut edge = vec![0.0];
        let mut sum = 0.0;
        for (mu, w) in cosine.iter().zip(&weight) {
            sum -= w * mu;
            edge.push(sum);
        }
        edge[cosine.len()] = 0.0;
        Ok(Self {
            cosine,
            weight,
            edge,
        })
    }

    /// Angles of the half turn.
    pub(in crate::flow) fn len(&self) -> usize {
        self.cosine.len()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn angles_balance_and_have_images() {
        let turn = Turn::new(16).unwrap();
        let sum: f64 = turn.weight.iter().sum();
        assert!((sum - 1.0).abs() < 1e-14, "{sum}");
        assert!(turn.edge.iter().all(|edge| *edge >= 0.0));
        let last = turn.edge[15] - turn.weight[15] * turn.cosine[15];
        assert!(last.abs() < 1e-15, "{last}");
        assert!((0..16).all(|m| turn.cosine[m] == -turn.cosine[15 - m]));
    }
}
