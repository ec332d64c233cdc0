//! The spectral sums on all cores, by fast transforms that leave out what is zero or not wanted.
//!
//! A task takes one transform of one distribution; sums over the directions have their order, so the bits do not depend on the number of threads. The planes at -l_x come
//! from those at l_x, as on the device (see `rarefy_kernels::collision::spectral_planes`).

use std::sync::Arc;

use num_complex::Complex;
use rarefy_kernels::Real;
use rayon::prelude::*;
use rustfft::{Fft, FftNum, FftPlanner};

use super::Mirrors;
use super::plan::Plan;
use crate::collision::OperatorConfig;
use crate::collision::sums::Sums;
use crate::simd::CpuReal;

/// Products whose values are kept until they are summed in their order.
const TOGETHER: usize = 16;

/// The operator on the CPU, in lattice units.
pub(in crate::collision) struct SpectralSums<T: FftNum> {
    n: usize,
    period: usize,
    mirrors: Mirrors,
    factors: Vec<f64>,
    /// As [`Plan::weights`] has them.
    weights: Vec<T>,
    forward: Arc<dyn Fft<T>>,
    inverse: Arc<dyn Fft<T>>,
}

impl<T: CpuReal + FftNum> SpectralSums<T> {
    /// Of a validated configuration.
    pub(in crate::collision) fn new(config: &OperatorConfig) -> Self {
        let plan = Plan::new(config);
        let mut planner = FftPlanner::new();
        Self {
            n: plan.n,
            period: plan.period,
            mirrors: plan.mirrors,
            factors: plan.factors(),
            weights: plan.weights(),
            forward: planner.plan_fft_forward(plan.period),
            inverse: planner.plan_fft_inverse(plan.period),
        }
    }

    /// fhat for half of the waves along x, `[l_x < P/2][l_z][l_y]`.
    fn spectrum(&self, f: &[f64]) -> Vec<Complex<T>> {
        let (n, p, half) = (self.n, self.period, self.period / 2);
        let zero = Complex::new(T::zero(), T::zero());
        let scale = 1.0 / p.pow(3) as f64;
        // Along x: [y][z][x].
        let mut lines = vec![zero; n * n * p];
        for (column, line) in lines.chunks_exact_mut(p).enumerate() {
            for (x, value) in line[..n].iter_mut().enumerate() {
                value.re = <T as Real>::from_f64(f[x * n * n + column] * scale);
            }
        }
        let mut scratch = vec![zero; self.forward.get_inplace_scratch_len()];
        self.forward.process_with_scratch(&mut lines, &mut scratch);
        let mut spectrum = vec![zero; half * p * p];
        let mut along_z = vec![zero; n * p];
        for (l_x, plane) in spectrum.chunks_exact_mut(p * p).enumerate() {
            // Along z: [y][z], then along y: [l_z][y].
            along_z.fill(zero);
            for y in 0..n {
                for z in 0..n {
                    along_z[y * p + z] = lines[(y * n + z) * p + l_x];
                }
            }
            self.forward
                .process_with_scratch(&mut along_z, &mut scratch);
            for (l_z, line) in plane.chunks_exact_mut(p).enumerate() {
                for (y, value) in line[..n].iter_mut().enumerate() {
                    *value = along_z[y * p + l_z];
                }
            }
            self.forward.process_with_scratch(plane, &mut scratch);
        }
        spectrum
    }

    /// A + i B of a product, or the frequency, in the cells of the grid.
    fn fields(&self, transform: usize, spectrum: &[Complex<T>]) -> Vec<Complex<T>> {
        let (n, p, half) = (self.n, self.period, self.period / 2);
        let zero = Complex::new(T::zero(), T::zero());
        let square = p * p;
        let weights = &self.weights[transform * 2 * half * square..][..2 * half * square];
        let mut scratch = vec![zero; self.inverse.get_inplace_scratch_len()];
        let mut plane = vec![zero; square];
        let mut along_z = vec![zero; n * p];
        // [y][z][l_x].
        let mut lines = vec![zero; n * n * p];
        for l_x in 0..half {
            let spectrum = &spectrum[l_x * square..][..square];
            let weights = &weights[2 * l_x * square..][..2 * square];
            for twin in 0..if l_x == 0 { 1 } else { 2 } {
                let pairs = spectrum.iter().zip(weights.chunks_exact(2));
                for (value, (s, pair)) in plane.iter_mut().zip(pairs) {
                    let (a, b) = (pair[0], if twin == 0 { pair[1] } else { -pair[1] });
                    *value = Complex::new(a * s.re - b * s.im, a * s.im + b * s.re);
                }
                // Along y: [l_z][y], then along z: [y][z].
                self.inverse.process_with_scratch(&mut plane, &mut scratch);
                for y in 0..n {
                    let line = &mut along_z[y * p..][..p];
                    for (l_z, value) in line.iter_mut().enumerate() {
                        *value = plane[l_z * p + y];
                    }
                }
                self.inverse
                    .process_with_scratch(&mut along_z, &mut scratch);
                let l = if twin == 0 { l_x } else { p - l_x };
                for y in 0..n {
                    for z in 0..n {
                        let value = along_z[y * p + z];
                        let value = if twin == 0 { value } else { value.conj() };
                        lines[(y * n + z) * p + l] = value;
                    }
                }
            }
        }
        self.inverse.process_with_scratch(&mut lines, &mut scratch);
        let mut fields = vec![zero; n.pow(3)];
        for (column, line) in lines.chunks_exact(p).enumerate() {
            for (x, &value) in line[..n].iter().enumerate() {
                fields[x * n * n + column] = value;
            }
        }
        fields
    }

    /// Sums a product of the fields over all directions.
    fn sum(
        &self,
        spectra: &[Vec<Complex<T>>],
        product: impl Fn(&[Vec<Complex<T>>], usize) -> T + Sync,
        gain: &mut [f64],
    ) {
        gain.fill(0.0);
        let products: Vec<usize> = (0..self.factors.len()).collect();
        for group in products.chunks(TOGETHER) {
            let values: Vec<Vec<T>> = group
                .par_iter()
                .map(|&index| {
                    let fields: Vec<_> = spectra.iter().map(|s| self.fields(index, s)).collect();
                    (0..gain.len()).map(|cell| product(&fields, cell)).collect()
                })
                .collect();
            for (&index, values) in group.iter().zip(values) {
                for (gain, value) in gain.iter_mut().zip(values) {
                    *gain += self.factors[index] * Real::to_f64(value);
                }
            }
        }
        self.mirrors.symmetrise(self.n, gain);
    }

    fn frequency_of(&self, spectrum: &[Complex<T>], frequency: &mut [f64]) {
        let fields = self.fields(self.factors.len(), spectrum);
        for (nu, field) in frequency.iter_mut().zip(fields) {
            *nu = Real::to_f64(field.re);
        }
        self.mirrors.symmetrise(self.n, frequency);
    }
}

/// A B of one distribution.
fn square<T: CpuReal + FftNum>(fields: &[Vec<Complex<T>>], cell: usize) -> T {
    let z = fields[0][cell];
    z.re * z.im
}

/// A_g B_m + A_m B_g of two.
fn bilinear<T: CpuReal + FftNum>(fields: &[Vec<Complex<T>>], cell: usize) -> T {
    let (g, m) = (fields[0][cell], fields[1][cell]);
    g.re * m.im + m.re * g.im
}

impl<T: CpuReal + FftNum> Sums for SpectralSums<T> {
    fn gain(&self, f: &[f64], gain: &mut [f64]) {
        self.sum(&[self.spectrum(f)], square, gain);
    }

    fn mixed_gain(&self, g: &[f64], m: &[f64], gain: &mut [f64]) {
        self.sum(&[self.spectrum(g), self.spectrum(m)], bilinear, gain);
    }

    fn frequency(&self, f: &[f64], frequency: &mut [f64]) {
        self.frequency_of(&self.spectrum(f), frequency);
    }

    fn gain_and_frequency(&self, f: &[f64], gain: &mut [f64], frequency: &mut [f64]) {
        let spectrum = [self.spectrum(f)];
        self.sum(&spectrum, square, gain);
        self.frequency_of(&spectrum[0], frequency);
    }

    fn mixed(&self, pair: [&[f64]; 2], gain: &mut [f64], frequencies: [&mut [f64]; 2]) {
        let spectra = pair.map(|f| self.spectrum(f));
        self.sum(&spectra, bilinear, gain);
        for (spectrum, frequency) in spectra.iter().zip(frequencies) {
            self.frequency_of(spectrum, frequency);
        }
    }
}
