//! The multi-core path.
//!
//! Both methods give the same bits whatever the number of threads: work is cut into parts that do not depend on it, each
//! part is summed in a fixed order, and so are the parts.

mod convolution;
mod fast;
mod frequency;

use std::fmt;
use std::sync::OnceLock;

use super::operator::scale;
use super::paper::Direct;
use super::{FrequencyWay, Method, Order};
pub use crate::simd::CpuReal;
use convolution::Convolution;
use fast::Fast;
use frequency::Frequency;

/// Least N at which the convolution is faster than the sum: on one core 1.4 times there, 18 times at N = 16, a hundred times at N = 32.
const LEAST_CONVOLUTION: usize = 6;

/// The collision operator in lattice units on all cores of the CPU.
///
/// `T` is the arithmetic of the products and of the sums over n. The sums over j and the collision frequency, which are cheap, are f64.
pub struct CpuOperator<T> {
    n: usize,
    gamma: f64,
    gain: Gain<T>,
    way: FrequencyWay,
    sum: OnceLock<Frequency>,
    convolution: OnceLock<Convolution>,
}

impl<T> fmt::Debug for CpuOperator<T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("CpuOperator")
            .field("n", &self.n)
            .finish_non_exhaustive()
    }
}

enum Gain<T> {
    Direct(Box<Direct<T>>),
    Fast(Box<Fast<T>>),
}

impl<T: CpuReal> CpuOperator<T> {
    /// Prepares tables for a grid of n^3 cells, the exponent `gamma` of the relative speed, and coefficients of the given order. The sums over the nodes are meant: a spectral
    /// method counts as the fast one.
    pub fn new(n: usize, gamma: f64, method: Method, order: Order) -> Self {
        let operator = Self {
            n,
            gamma,
            gain: match method {
                Method::Direct => Gain::Direct(Box::new(Direct::new(n, gamma, order))),
                Method::Fast | Method::Spectral => Gain::Fast(Box::new(Fast::new(n, gamma, order))),
            },
            way: way(n, method),
            sum: OnceLock::new(),
            convolution: OnceLock::new(),
        };
        match operator.way {
            FrequencyWay::Sum => _ = operator.frequency_sum(),
            FrequencyWay::Convolution => _ = operator.frequency_convolution(),
        }
        operator
    }

    fn frequency_sum(&self) -> &Frequency {
        self.sum.get_or_init(|| Frequency::new(self.n, self.gamma))
    }

    fn frequency_convolution(&self) -> &Convolution {
        let new = || Convolution::new(self.n, self.gamma);
        self.convolution.get_or_init(new)
    }

    /// Computes the gain and the collision frequency of `f` in lattice units; all three hold n^3 values.
    ///
    /// # Panics
    /// If a slice does not have N^3 values.
    pub fn gain_and_frequency(&self, f: &[f64], gain: &mut [f64], frequency: &mut [f64]) {
        self.gain(f, gain);
        self.frequency(f, frequency);
    }

    /// Computes the gain alone. Values beyond the range of f64, of f above some 1e150, are infinite.
    ///
    /// # Panics
    /// If a slice does not have N^3 values.
    pub fn gain(&self, f: &[f64], gain: &mut [f64]) {
        assert_eq!(gain.len(), f.len(), "one value of the gain per cell");
        let (scaled, exponent) = self.scaled(f);
        match &self.gain {
            Gain::Direct(direct) => direct.gain(&scaled, gain),
            Gain::Fast(fast) => fast.gain(&scaled, gain),
        }
        for gain in gain {
            *gain = scale(scale(*gain, -exponent), -exponent);
        }
    }

    /// Computes the bilinear sum of two distributions, with `g_k m_l + m_k g_l` in the place of the `f_k f_l` of the gain.
    ///
    /// # Panics
    /// If a slice does not have N^3 values.
    pub fn mixed_gain(&self, g: &[f64], m: &[f64], gain: &mut [f64]) {
        assert_eq!(gain.len(), g.len(), "one value of the gain per cell");
        let [(g, first), (m, second)] = [g, m].map(|f| self.scaled(f));
        match &self.gain {
            Gain::Direct(direct) => direct.mixed_gain(&g, &m, gain),
            Gain::Fast(fast) => fast.mixed_gain(&g, &m, gain),
        }
        for gain in gain {
            *gain = scale(scale(*gain, -first), -second);
        }
    }

    /// The values times a power of two that brings the largest to about 2^40, and its exponent. Products of the tails then do not
    /// underflow in f32, and the largest sum, below (2^41)^2 n^3 4 pi sqrt(3) n <= 2^111 for n <= 64, does not overflow.
    fn scaled(&self, f: &[f64]) -> (Vec<T>, i32) {
        assert_eq!(f.len(), self.n.pow(3), "one value of f per cell");
        let largest = f.iter().fold(0.0, |most: f64, f| most.max(f.abs()));
        let exponent = if largest.is_normal() {
            40 - largest.log2().floor() as i32
        } else {
            0
        };
        let scaled = f.iter().map(|&f| T::from_f64(scale(f, exponent)));
        (scaled.collect(), exponent)
    }

    /// Computes the collision frequency alone.
    ///
    /// # Panics
    /// If a slice does not have N^3 values.
    pub fn frequency(&self, f: &[f64], frequency: &mut [f64]) {
        self.frequency_by(self.way, f, frequency);
    }

    /// Computes the collision frequency by one of two ways.
    ///
    /// # Panics
    /// If a slice does not have N^3 values.
    #[doc(hidden)]
    pub fn frequency_by(&self, way: FrequencyWay, f: &[f64], frequency: &mut [f64]) {
        assert_eq!(f.len(), self.n.pow(3), "one value of f per cell");
        assert_eq!(
            frequency.len(),
            f.len(),
            "one value of the frequency per cell"
        );
        match way {
            FrequencyWay::Sum => self.frequency_sum().sum(f, frequency),
            FrequencyWay::Convolution => self.frequency_convolution().sum(f, frequency),
        }
    }
}

/// The way that the fast method takes; the direct method is the paper's, whose frequency is the sum.
fn way(n: usize, method: Method) -> FrequencyWay {
    if method == Method::Fast && n >= LEAST_CONVOLUTION {
        FrequencyWay::Convolution
    } else {
        FrequencyWay::Sum
    }
}

#[cfg(test)]
mod tests {
    use std::sync::atomic::Ordering;

    use super::*;
    use crate::simd;

    fn run<T: CpuReal>(n: usize, method: Method, best: u8) -> Vec<f64> {
        simd::BEST.store(best, Ordering::SeqCst);
        let f: Vec<f64> = (0..n.pow(3))
            .map(|cell| 1.0 + (cell as f64 * 0.7).sin())
            .collect();
        let mut gain = vec![0.0; f.len()];
        let mut frequency = vec![0.0; f.len()];
        CpuOperator::<T>::new(n, 1.0, method, Order::Second).gain_and_frequency(
            &f,
            &mut gain,
            &mut frequency,
        );
        simd::BEST.store(2, Ordering::SeqCst);
        gain.extend(frequency);
        gain
    }

    /// Most machines lack the widest registers; on one that has them the other variants would go untested.
    #[test]
    fn every_kind_of_register_gives_the_same_sums() {
        for n in [5, 9, 17] {
            let methods = [Method::Fast, Method::Direct];
            for method in methods.into_iter().take(if n < 10 { 2 } else { 1 }) {
                let double = run::<f64>(n, method, 2);
                for best in [0, 1, 2] {
                    let compare = |values: Vec<f64>, tolerance: f64| {
                        for (value, expected) in values.iter().zip(&double) {
                            assert!(
                                (value - expected).abs() <= tolerance * expected,
                                "{n} {method:?} {best}"
                            );
                        }
                    };
                    compare(run::<f64>(n, method, best), 1e-13);
                    compare(run::<f32>(n, method, best), 1e-5);
                }
            }
        }
        // More than one block of cells in a row.
        let f: Vec<f64> = (0..33usize.pow(3)).map(|cell| (cell % 7) as f64).collect();
        let frequency = |best| {
            simd::BEST.store(best, Ordering::SeqCst);
            let mut out = vec![0.0; f.len()];
            Frequency::new(33, 0.5).sum(&f, &mut out);
            simd::BEST.store(2, Ordering::SeqCst);
            out
        };
        let [portable, narrow, wide] = [0, 1, 2].map(frequency);
        for cell in 0..f.len() {
            assert!((portable[cell] - wide[cell]).abs() <= 1e-13 * wide[cell]);
            assert!((narrow[cell] - wide[cell]).abs() <= 1e-13 * wide[cell]);
        }
    }
}
