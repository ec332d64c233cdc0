//! The spectral sums with plain sums over waves for transforms, one axis after the other, in f64.

use std::f64::consts::TAU;

use num_complex::Complex64;

use super::plan::Plan;
use crate::collision::OperatorConfig;
use crate::collision::sums::Sums;

/// The scalar reference as an operator on the host: about 4 M P^4 multiply-adds for M transforms of P^3 nodes.
pub(in crate::collision) struct SpectralReference {
    plan: Plan,
}

impl SpectralReference {
    /// Of a validated configuration.
    pub(in crate::collision) fn new(config: &OperatorConfig) -> Self {
        Self {
            plan: Plan::new(config),
        }
    }

    /// `X_n = sum_l x_l e^(sign 2 pi i l n / P)` along one axis of an array of P^3 numbers.
    fn along(&self, axis: usize, sign: f64, x: &[Complex64]) -> Vec<Complex64> {
        let p = self.plan.period;
        let stride = p.pow(2 - axis as u32);
        let roots: Vec<Complex64> = (0..p)
            .map(|k| Complex64::from_polar(1.0, sign * TAU * k as f64 / p as f64))
            .collect();
        (0..p.pow(3))
            .map(|place| {
                let n = place / stride % p;
                let line = place - n * stride;
                let terms = 0..p;
                terms.map(|l| x[line + l * stride] * roots[l * n % p]).sum()
            })
            .collect()
    }

    /// fhat, `[l_x][l_y][l_z]`.
    fn spectrum(&self, f: &[f64]) -> Vec<Complex64> {
        let (n, p) = (self.plan.n, self.plan.period);
        let mut padded = vec![Complex64::ZERO; p.pow(3)];
        for (cell, &f) in f.iter().enumerate() {
            let [x, y, z] = [cell / (n * n), cell / n % n, cell % n];
            padded[(x * p + y) * p + z].re = f / p.pow(3) as f64;
        }
        (0..3).fold(padded, |x, axis| self.along(axis, -1.0, &x))
    }

    /// A + i B of a product, or the frequency, in the cells of the grid.
    fn fields(&self, index: usize, spectrum: &[Complex64]) -> Vec<Complex64> {
        let (n, p) = (self.plan.n, self.plan.period);
        let weighted = spectrum.iter().enumerate().map(|(place, &value)| {
            let waves = [place / (p * p), place / p % p, place % p].map(|l| self.plan.wave(l));
            let [Some(x), Some(y), Some(z)] = waves else {
                return Complex64::ZERO;
            };
            let (a, b) = self.plan.multiplier(index, [x, y, z]);
            value * Complex64::new(a, b)
        });
        let all = (0..3).fold(weighted.collect(), |x: Vec<_>, axis| {
            self.along(axis, 1.0, &x)
        });
        let cells = 0..n.pow(3);
        cells
            .map(|cell| all[(cell / (n * n) * p + cell / n % n) * p + cell % n])
            .collect()
    }

    /// The gain that a product of fields has in each cell.
    fn sum(&self, spectra: &[Vec<Complex64>], product: impl Fn(&[Complex64]) -> f64) -> Vec<f64> {
        let mut gain = vec![0.0; self.plan.n.pow(3)];
        for (index, factor) in self.plan.factors().into_iter().enumerate() {
            let fields: Vec<_> = spectra.iter().map(|s| self.fields(index, s)).collect();
            for (cell, gain) in gain.iter_mut().enumerate() {
                let here: Vec<Complex64> = fields.iter().map(|field| field[cell]).collect();
                *gain += factor * product(&here);
            }
        }
        self.plan.mirrors.symmetrise(self.plan.n, &mut gain);
        gain
    }
}

impl Sums for SpectralReference {
    fn gain(&self, f: &[f64], gain: &mut [f64]) {
        let sum = self.sum(&[self.spectrum(f)], |z| z[0].re * z[0].im);
        gain.copy_from_slice(&sum);
    }

    fn mixed_gain(&self, g: &[f64], m: &[f64], gain: &mut [f64]) {
        let spectra = [self.spectrum(g), self.spectrum(m)];
        let sum = self.sum(&spectra, |z| z[0].re * z[1].im + z[1].re * z[0].im);
        gain.copy_from_slice(&sum);
    }

    fn frequency(&self, f: &[f64], frequency: &mut [f64]) {
        let fields = self.fields(self.plan.products(), &self.spectrum(f));
        for (nu, field) in frequency.iter_mut().zip(fields) {
            *nu = field.re;
        }
        self.plan.mirrors.symmetrise(self.plan.n, frequency);
    }
}
