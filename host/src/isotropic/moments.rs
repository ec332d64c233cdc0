//! Moments of a distribution over energies.

use serde::{Deserialize, Serialize};

use super::OperatorConfig;

/// Moments of a distribution: integrals over the number of particles n_i = 2^(5/2) pi dE^(3/2) w_i f_i of each cell.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize, Deserialize)]
#[non_exhaustive]
pub struct Moments {
    /// Number n.
    pub number: f64,
    /// Energy e: sum of n_i E_i.
    pub energy: f64,
    /// Sum of n_i E_i^2.
    pub second: f64,
    /// Sum of n_i E_i^3.
    pub third: f64,
    /// H = sum of n_i ln f_i over the cells with f > 0.
    pub entropy: f64,
    /// Smallest f.
    pub minimum: f64,
}

impl Moments {
    /// The moments of `f`, each sum compensated.
    pub fn of(config: &OperatorConfig, f: &[f64]) -> Self {
        Self::with(&config.measure(), config, f)
    }

    /// The same where the measure is at hand.
    pub(super) fn with(measure: &[f64], config: &OperatorConfig, f: &[f64]) -> Self {
        let mut sums = [Sum::default(); 5];
        let mut minimum = f64::INFINITY;
        for (i, (&f, measure)) in f.iter().zip(measure).enumerate() {
            let energy = config.grid.energy(i);
            let number = measure * f;
            sums[0].add(number);
            sums[1].add(number * energy);
            sums[2].add(number * energy * energy);
            sums[3].add(number * energy * energy * energy);
            if f > 0.0 {
                sums[4].add(number * f.ln());
            }
            // A NaN must not be lost.
            if f < minimum || f.is_nan() {
                minimum = f;
            }
        }
        let [number, energy, second, third, entropy] = sums.map(|s| s.sum);
        Self {
            number,
            energy,
            second,
            third,
            entropy,
            minimum,
        }
    }
}

/// A compensated sum.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Sum {
    pub(super) sum: f64,
    carry: f64,
}

impl Sum {
    pub(super) fn add(&mut self, value: f64) {
        let term = value - self.carry;
        let next = self.sum + term;
        self.carry = (next - self.sum) - term;
        self.sum = next;
    }
}
