//! The sums over the grid that an operator on the host provides.

use super::FrequencyWay;

/// The sums over the grid, in lattice units.
pub(super) trait Sums: Send + Sync {
    /// The inverse collision integral of `f`.
    fn gain(&self, f: &[f64], gain: &mut [f64]);
    /// The same sum with `g_k m_l + m_k g_l` in the place of `f_k f_l`.
    fn mixed_gain(&self, g: &[f64], m: &[f64], gain: &mut [f64]);
    /// The collision frequency of `f`.
    fn frequency(&self, f: &[f64], frequency: &mut [f64]);
    /// The same by one of two ways, where there are two.
    fn frequency_by(&self, _way: FrequencyWay, f: &[f64], frequency: &mut [f64]) {
        self.frequency(f, frequency);
    }
    /// Gain and frequency of `f`, where they have work in common.
    fn gain_and_frequency(&self, f: &[f64], gain: &mut [f64], frequency: &mut [f64]) {
        self.gain(f, gain);
        self.frequency(f, frequency);
    }
    /// The bilinear gain and both frequencies, where they have work in common.
    fn mixed(&self, [g, m]: [&[f64]; 2], gain: &mut [f64], [of_g, of_m]: [&mut [f64]; 2]) {
        self.mixed_gain(g, m, gain);
        self.frequency(g, of_g);
        self.frequency(m, of_m);
    }
}
