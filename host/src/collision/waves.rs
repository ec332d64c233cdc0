//! Tables of the padded transform by which the collision frequency is a convolution; `rarefy_kernels::collision::convolve_waves` says how.

use std::f64::consts::PI;

use rarefy_kernels::collision::ConvolutionShape;

use super::coefficients::frequency_coefficients;

/// Two ways to the collision frequency.
#[doc(hidden)]
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum FrequencyWay {
    /// The sum over all pairs of cells, as the paper has it.
    Sum,
    /// A convolution by a padded transform.
    Convolution,
}

/// The waves of both kinds and the transformed coefficients; zero where an index is past the grid or the waves.
pub(super) struct Waves {
    pub(super) shape: ConvolutionShape,
    /// `[sine][j][k]`: what a half row is summed with, half of the wave at the middle cell, which the reduction by symmetry counts twice.
    pub(super) forward: Vec<f64>,
    /// `[sine][k][j]`: the waves.
    pub(super) back: Vec<f64>,
    /// `[k_x][m][k_y]`: 4 pi |m|^gamma transformed along x and y, for k_x < N, with the factors of the way back.
    pub(super) table: Vec<f64>,
}

impl Waves {
    pub(super) fn new(n: usize, gamma: f64) -> Self {
        let shape = ConvolutionShape {
            n: n as u32,
            columns: 0,
        };
        let [half, row, half_row] =
            [shape.half(), shape.row(), shape.half_row()].map(|len| len as usize);
        let period = 2 * n - 1;
        let mut forward = vec![0.0; 2 * half_row * row];
        let mut back = forward.clone();
        for sine in 0..2 {
            for k in 0..n {
                for j in 0..half {
                    // 2 pi k (j - (N-1)/2) / P, reduced in integers.
                    let turns = (k * (2 * period + 2 * j + 1 - n)) % (2 * period);
                    let angle = PI * turns as f64 / period as f64;
                    let wave = if sine == 0 { angle.cos() } else { angle.sin() };
                    // Half way through a turn the sine is 0, which pi in f64 does not give.
                    let wave = if sine == 1 && turns.is_multiple_of(period) {
                        0.0
                    } else {
                        wave
                    };
                    let middle = 2 * j + 1 == n;
                    forward[(sine * half_row + j) * row + k] =
                        if middle { wave / 2.0 } else { wave };
                    back[(sine * row + k) * half_row + j] = wave;
                }
            }
        }
        Self {
            table: table(n, gamma, row),
            shape,
            forward,
            back,
        }
    }
}

/// Twice the value of an index with both signs, once the value of an index without.
fn images(index: usize) -> f64 {
    if index == 0 { 1.0 } else { 2.0 }
}

/// The coefficients summed with cosines along x, then along y.
fn table(n: usize, gamma: f64, row: usize) -> Vec<f64> {
    let period = 2 * n - 1;
    let cosine = |k: usize, m: usize| (2.0 * PI * (k * m % period) as f64 / period as f64).cos();
    let scale = |k: usize| images(k) / period as f64;
    let b = frequency_coefficients(n, gamma);
    // [k_y] of each m_y.
    let along_y: Vec<f64> = (0..n * n)
        .map(|at| {
            let (m, k) = (at / n, at % n);
            images(m) * scale(k) * cosine(k, m)
        })
        .collect();
    let mut table = vec![0.0; n * row * row];
    let mut plane = vec![0.0; n * n];
    for (k, table) in table.chunks_exact_mut(row * row).enumerate() {
        plane.fill(0.0);
        for (m, b) in b.chunks_exact(n * n).enumerate() {
            let weight = images(m) * scale(k) * cosine(k, m);
            for (sum, b) in plane.iter_mut().zip(b) {
                *sum += weight * b;
            }
        }
        for (waves, line) in along_y.chunks_exact(n).zip(plane.chunks_exact(n)) {
            for (table, &value) in table.chunks_exact_mut(row).zip(line) {
                for (sum, wave) in table.iter_mut().zip(waves) {
                    *sum += wave * value;
                }
            }
        }
    }
    table
}

#[cfg(test)]
pub(super) mod tests {
    use super::super::reference;

    /// Distributions that try the convolution: smooth ones and such with little beside one cell, or nothing.
    pub(in super::super) fn distributions(n: usize) -> Vec<Vec<f64>> {
        let cells = n.pow(3);
        let centre = (n as f64 - 1.0) / 2.0;
        let smooth = (0..cells).map(|cell| {
            let at = [cell / (n * n), cell / n % n, cell % n];
            let square = at.map(|i| (i as f64 - centre).powi(2)).iter().sum::<f64>();
            (-72.0 * square / (n * n) as f64).exp()
        });
        let mut state = 1u64;
        let mut uniform = || {
            state = state
                .wrapping_mul(6_364_136_223_846_793_005)
                .wrapping_add(1);
            (state >> 11) as f64 / (1u64 << 53) as f64
        };
        let rough: Vec<f64> = (0..cells)
            .map(|_| uniform() * 10f64.powf(-6.0 * uniform()))
            .collect();
        let spots = |spots: &[(usize, f64)]| {
            let mut f = vec![0.0; cells];
            for &(cell, value) in spots {
                f[cell] = value;
            }
            f
        };
        let middle = cells / 2;
        vec![
            smooth.collect(),
            rough
                .iter()
                .enumerate()
                .map(|(cell, f)| if cell == n + 1 { 3.0 } else { f * 1e-20 })
                .collect(),
            rough,
            spots(&[(middle, 2.0)]),
            spots(&[(middle, 2.0), (1, 1e-30), (cells - 2, 3e-30)]),
            spots(&[(0, 1.0), (1, 1.0), (n, 0.9), (n * n, 0.8)]),
            spots(&[
                (cells - 1, 1.0),
                (cells - 2, 0.5),
                (cells - 1 - n, 0.7),
                (0, 1e-4),
            ]),
            spots(&[]),
        ]
    }

    /// Checks each frequency against the plain sum, relative to itself.
    pub(in super::super) fn check(
        n: usize,
        gamma: f64,
        f: &[f64],
        found: &[f64],
        tolerance: f64,
        what: &str,
    ) {
        let expected = reference::frequency(n, gamma, f);
        for (cell, (found, expected)) in found.iter().zip(&expected).enumerate() {
            let error = (found - expected).abs();
            assert!(
                error <= tolerance * expected,
                "{what}, {n}^3, gamma {gamma}, cell {cell}: {found:e} instead of {expected:e}"
            );
        }
    }
}
