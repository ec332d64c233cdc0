//! The multi-core path.
//!
//! Both methods give the same bits whatever the number of threads: work is cut into parts that do not depend on it, each
//! part is summed in a fixed order, and so are the parts.

mod direct;
mod fast;
mod frequency;
mod simd;

use rarefy_kernels::Real;

use super::Method;
use direct::Direct;
use fast::Fast;
use frequency::Frequency;

/// The collision operator in lattice units on all cores of the CPU.
///
/// `T` is the arithmetic of the products and of the sums over n; the sums over j and the collision frequency, which are cheap, are f64.
pub struct CpuOperator<T> {
    n: usize,
    gain: Gain<T>,
    frequency: Frequency,
}

enum Gain<T> {
    Direct(Direct<T>),
    Fast(Fast<T>),
}

impl<T: Real> CpuOperator<T> {
    /// Prepares tables for a grid of n^3 cells and the exponent `gamma` of the relative speed.
    pub fn new(n: usize, gamma: f64, method: Method) -> Self {
        Self {
            n,
            gain: match method {
                Method::Direct => Gain::Direct(Direct::new(n, gamma)),
                Method::Fast => Gain::Fast(Fast::new(n, gamma)),
            },
            frequency: Frequency::new(n, gamma),
        }
    }

    /// Computes the gain and the collision frequency of `f` in lattice units; all three hold n^3 values.
    pub fn gain_and_frequency(&self, f: &[f64], gain: &mut [f64], frequency: &mut [f64]) {
        self.gain(f, gain);
        self.frequency(f, frequency);
    }

    /// Computes the gain alone.
    pub fn gain(&self, f: &[f64], gain: &mut [f64]) {
        assert_eq!(f.len(), self.n.pow(3), "one value of f per cell");
        assert_eq!(gain.len(), f.len(), "one value of the gain per cell");
        // The gain is quadratic in f. A power of two brings the largest f to about 2^40: products of the tails then do not
        // underflow in f32, and the largest sum, below (2^41)^2 n^3 4 pi sqrt(3) n <= 2^111 for n <= 64, does not overflow.
        let largest = f.iter().copied().fold(0.0, f64::max);
        let exponent = if largest.is_normal() {
            40 - largest.log2().floor() as i32
        } else {
            0
        };
        let scaled: Vec<T> = f.iter().map(|&f| T::from_f64(scale(f, exponent))).collect();
        match &self.gain {
            Gain::Direct(direct) => direct.gain(&scaled, gain),
            Gain::Fast(fast) => fast.gain(&scaled, gain),
        }
        for gain in gain {
            *gain = scale(scale(*gain, -exponent), -exponent);
        }
    }

    /// Computes the collision frequency alone.
    pub fn frequency(&self, f: &[f64], frequency: &mut [f64]) {
        assert_eq!(f.len(), self.n.pow(3), "one value of f per cell");
        assert_eq!(
            frequency.len(),
            f.len(),
            "one value of the frequency per cell"
        );
        self.frequency.sum(f, frequency);
    }
}

/// `value * 2^exponent`, in two steps so that the factor itself stays in range.
fn scale(value: f64, exponent: i32) -> f64 {
    let half = exponent / 2;
    value * 2f64.powi(half) * 2f64.powi(exponent - half)
}
