//! The collision frequency as a convolution, by the padded transform of `rarefy_kernels::collision::convolve_waves`.

use rayon::prelude::*;

use super::super::coefficients::frequency_coefficients;
use super::super::waves::Waves;
use crate::simd::{RegisterJob, Registers, Vector, on_registers};

/// Numbers of a vector register at most; the rows of all arrays are whole multiples.
const GROUP: usize = 8;

/// The tables, and the cell lengths that go with them.
pub(super) struct Convolution {
    n: usize,
    /// Cells in half a row, the middle one included, and the same in whole groups.
    half: usize,
    half_row: usize,
    /// Cells or waves of a row in whole groups.
    row: usize,
    /// Numbers from one x to the next of the reduced f, and from one task's part of the spectrum to the next.
    folded_plane: usize,
    plane: usize,
    b: Vec<f64>,
    /// `[sine][k][j < half_row]`: the waves.
    back: Vec<f64>,
    /// `[sine][j < half][k < row]`: the same, transposed.
    forward: Vec<f64>,
    /// `[k_x][m][k_y]`.
    table: Vec<f64>,
}

impl Convolution {
    pub(super) fn new(n: usize, gamma: f64) -> Self {
        let waves = Waves::new(n, gamma);
        let [half, row, from_row] = [
            waves.shape.half(),
            waves.shape.row(),
            waves.shape.half_row(),
        ]
        .map(|len| len as usize);
        let half_row = half.next_multiple_of(GROUP);
        // An odd number of groups: planes that are read side by side then do not crowd the same lines of the cache.
        let odd_groups = |len: usize| (len.div_ceil(GROUP) | 1) * GROUP;
        let mut back = vec![0.0; 2 * row * half_row];
        let mut forward = vec![0.0; 2 * half * row];
        for (k, from) in waves.back.chunks_exact(from_row).enumerate() {
            back[k * half_row..][..half].copy_from_slice(&from[..half]);
            for (j, &wave) in from[..half].iter().enumerate() {
                forward[(k / row * half + j) * row + k % row] = wave;
            }
        }
        Self {
            n,
            half,
            half_row,
            row,
            folded_plane: odd_groups(half * row),
            plane: odd_groups(n * half_row),
            b: frequency_coefficients(n, gamma),
            back,
            forward,
            table: waves.table,
        }
    }

    /// `frequency_i = sum over j of b(i - j) f_j`; a task takes one wave along x and one parity along y.
    pub(super) fn sum(&self, f: &[f64], frequency: &mut [f64]) {
        let (n, half, row, half_row) = (self.n, self.half, self.row, self.half_row);
        let folded_plane = self.folded_plane;
        let peak = (0..f.len()).fold(0, |peak, cell| {
            if f[cell].abs() > f[peak].abs() {
                cell
            } else {
                peak
            }
        });
        let reduced = self.reduce(f, peak);
        // [wave][parity along y] [z][y < half_row]
        let mut spectrum = vec![0.0; (2 * n - 1) * 2 * self.plane];
        spectrum
            .par_chunks_exact_mut(self.plane)
            .enumerate()
            .for_each_init(
                || {
                    [
                        vec![0.0; folded_plane],
                        vec![0.0; n * row],
                        vec![0.0; n * row],
                    ]
                },
                |scratch, (task, out)| {
                    let (wave, sine_y) = (task / 2, task % 2);
                    let (sine_x, k_x) = if wave < n {
                        (0, wave)
                    } else {
                        (1, wave - n + 1)
                    };
                    let [along_x, rows, sums] = scratch;
                    // Over x: [y][z].
                    let quarter = half * folded_plane;
                    Product {
                        factors: Matrix {
                            values: &self.back[(sine_x * row + k_x) * half_row..],
                            steps: [0, 1],
                        },
                        inner: half,
                        rows: &reduced[(2 * sine_x + sine_y) * quarter..][..quarter],
                        out: along_x,
                        width: folded_plane,
                    }
                    .compute();
                    // Over y: [z][k].
                    Product {
                        factors: Matrix {
                            values: along_x,
                            steps: [1, row],
                        },
                        inner: half,
                        rows: &self.forward[sine_y * half * row..][..half * row],
                        out: rows,
                        width: row,
                    }
                    .compute();
                    // Along z, for each of them.
                    Product {
                        factors: Toeplitz {
                            table: &self.table[k_x * row * row..][..row * row],
                            width: row,
                        },
                        inner: n,
                        rows,
                        out: sums,
                        width: row,
                    }
                    .compute();
                    // Over the waves along y: [z][y].
                    Product {
                        factors: Matrix {
                            values: sums,
                            steps: [row, 1],
                        },
                        inner: n,
                        rows: &self.back[sine_y * row * half_row..][..n * half_row],
                        out: &mut out[..n * half_row],
                        width: half_row,
                    }
                    .compute();
                },
            );
        self.expand(f, peak, &spectrum, frequency);
    }

    /// f reduced by the symmetry of the waves about the centres of x and y, `[sine along x][sine along y][x < half] [y < half][z < row]`; without one cell.
    fn reduce(&self, f: &[f64], peak: usize) -> Vec<f64> {
        let (n, half, row) = (self.n, self.half, self.row);
        let quarter = half * self.folded_plane;
        let mut reduced = vec![0.0; 4 * quarter];
        let value = |cell: usize| if cell == peak { 0.0 } else { f[cell] };
        // The middle cell is its own image and counts once.
        let weight = |i: usize| if 2 * i + 1 == n { 0.5 } else { 1.0 };
        for x in 0..half {
            for y in 0..half {
                let weight = weight(x) * weight(y);
                let at = |x: usize, y: usize| (x * n + y) * n;
                let (mx, my) = (n - 1 - x, n - 1 - y);
                for z in 0..n {
                    let [a, b, c, d] = [at(x, y), at(x, my), at(mx, y), at(mx, my)]
                        .map(|line| value(line + z) * weight);
                    let to = x * self.folded_plane + y * row + z;
                    reduced[to] = (a + b) + (c + d);
                    reduced[quarter + to] = (a - b) + (c - d);
                    reduced[2 * quarter + to] = (a + b) - (c + d);
                    reduced[3 * quarter + to] = (a - b) - (c - d);
                }
            }
        }
        reduced
    }

    /// Sums over the waves along x, unfolds, and adds the term of the cell left out.
    fn expand(&self, f: &[f64], peak: usize, spectrum: &[f64], frequency: &mut [f64]) {
        let (n, half, row, half_row) = (self.n, self.half, self.row, self.half_row);
        let peak_at = [peak / (n * n), peak / n % n, peak % n];
        let width = 2 * self.plane;
        let (cosines, sines) = spectrum.split_at(n * width);
        // The parts even and odd along x, of the planes x < half: a task takes four planes of one of them.
        let mut parts = vec![0.0; 2 * half * width];
        let (even, odd) = parts.split_at_mut(half * width);
        for (out, first, rows, inner) in [
            (&mut *even, 0, cosines, n),
            (&mut *odd, row + 1, sines, n - 1),
        ] {
            out.par_chunks_mut(4 * width)
                .enumerate()
                .for_each(|(chunk, out)| {
                    Product {
                        factors: Matrix {
                            values: &self.back[first * half_row + 4 * chunk..],
                            steps: [1, half_row],
                        },
                        inner,
                        rows,
                        out,
                        width,
                    }
                    .compute();
                });
        }
        frequency
            .par_chunks_exact_mut(n * n)
            .enumerate()
            .for_each(|(x, plane)| {
                // A cell past the middle is the mirror image of one before it.
                let image = |i: usize| {
                    if n - 1 - i < i {
                        (n - 1 - i, -1.0)
                    } else {
                        (i, 1.0)
                    }
                };
                let (from_x, sign_x) = image(x);
                let even = &even[from_x * width..][..width];
                let odd = &odd[from_x * width..][..width];
                let mx = x.abs_diff(peak_at[0]);
                for (y, line) in plane.chunks_exact_mut(n).enumerate() {
                    let (from_y, sign_y) = image(y);
                    let my = y.abs_diff(peak_at[1]);
                    for (z, out) in line.iter_mut().enumerate() {
                        let at = z * half_row + from_y;
                        let of = |at: usize| even[at] + sign_x * odd[at];
                        let sum = of(at) + sign_y * of(self.plane + at);
                        let mz = z.abs_diff(peak_at[2]);
                        *out = sum + self.b[(mx * n + my) * n + mz] * f[peak];
                    }
                }
            });
    }
}

/// `out[i][c] = sum over j < inner of factors(i, j, c) rows[j][c]`, all rows of one width, a multiple of [`GROUP`].
struct Product<'a, F> {
    factors: F,
    inner: usize,
    rows: &'a [f64],
    out: &'a mut [f64],
    width: usize,
}

/// Multipliers of the rows of a [`Product`].
trait Factors {
    /// Whether there are factors for so many rows of the result, `inner` rows each, of this width.
    fn reach(&self, count: usize, inner: usize, width: usize) -> bool;
    /// Those of the columns from `column` on, as many as fill a register.
    ///
    /// # Safety
    /// The processor has the vector unit, and the factors [reach](Self::reach) there.
    unsafe fn at<R: Registers>(&self, i: usize, j: usize, column: usize) -> R::F64;
}

/// A matrix, `values[i steps[0] + j steps[1]]`: one factor for a row.
struct Matrix<'a> {
    values: &'a [f64],
    steps: [usize; 2],
}

impl Factors for Matrix<'_> {
    fn reach(&self, count: usize, inner: usize, _: usize) -> bool {
        (count - 1) * self.steps[0] + (inner - 1) * self.steps[1] < self.values.len()
    }
    #[inline(always)]
    unsafe fn at<R: Registers>(&self, i: usize, j: usize, _: usize) -> R::F64 {
        // SAFETY: by the caller's word the factor is there, and the vector unit.
        unsafe {
            let factor = self
                .values
                .as_ptr()
                .add(i * self.steps[0] + j * self.steps[1]);
            R::F64::splat(*factor)
        }
    }
}

/// A Toeplitz matrix for each column, `table[|i - j|][c]`.
struct Toeplitz<'a> {
    table: &'a [f64],
    width: usize,
}

impl Factors for Toeplitz<'_> {
    fn reach(&self, count: usize, inner: usize, width: usize) -> bool {
        width == self.width && count.max(inner) * width <= self.table.len()
    }
    #[inline(always)]
    unsafe fn at<R: Registers>(&self, i: usize, j: usize, column: usize) -> R::F64 {
        // SAFETY: a distance of rows is less than their number; by the caller's word that row of the table is there, and the vector unit.
        unsafe {
            let row = self.table.as_ptr().add(i.abs_diff(j) * self.width);
            R::F64::load(row.add(column))
        }
    }
}

impl<F: Factors> Product<'_, F> {
    fn compute(self) {
        let count = self.out.len() / self.width;
        assert!(
            self.factors.reach(count, self.inner, self.width)
                && self.inner * self.width <= self.rows.len()
                && self.width.is_multiple_of(GROUP)
        );
        on_registers(self);
    }

    /// ROWS rows of the result from row `first` on, a few registers of each at a time.
    ///
    /// # Safety
    /// The processor has the vector unit, and the rows are there; `compute` has checked the rest.
    #[inline(always)]
    unsafe fn block<R: Registers, const ROWS: usize>(&mut self, first: usize) {
        let mut column = 0;
        while column < self.width {
            // SAFETY: factors, rows and results are within the slices by what `compute` asserts and the caller vouches for.
            // A register has LANES numbers, which divides GROUP and with it the width.
            unsafe {
                let mut sums = [R::F64::splat(0.0); ROWS];
                for j in 0..self.inner {
                    let line = R::F64::load(self.rows.as_ptr().add(j * self.width + column));
                    for (i, sum) in sums.iter_mut().enumerate() {
                        *sum = line.mul_add(self.factors.at::<R>(first + i, j, column), *sum);
                    }
                }
                for (i, sum) in sums.into_iter().enumerate() {
                    sum.store(self.out.as_mut_ptr().add((first + i) * self.width + column));
                }
            }
            column += R::F64::LANES;
        }
    }
}

impl<F: Factors> RegisterJob for Product<'_, F> {
    type Output = ();

    #[inline(always)]
    unsafe fn run<R: Registers>(mut self) {
        let count = self.out.len() / self.width;
        let mut first = 0;
        // SAFETY: this job's own condition; the rows from `first` on are there.
        unsafe {
            while first + 4 <= count {
                self.block::<R, 4>(first);
                first += 4;
            }
            while first < count {
                self.block::<R, 1>(first);
                first += 1;
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::super::super::waves::tests::{check, distributions};
    use super::*;

    #[test]
    fn the_convolution_is_the_sum() {
        for n in [3, 4, 7, 8, 10, 16, 20] {
            let gammas = if n <= 10 {
                vec![0.0, 0.5, 1.0]
            } else {
                vec![1.0]
            };
            for gamma in gammas {
                let convolution = Convolution::new(n, gamma);
                let few = if n <= 10 { 8 } else { 2 };
                for (k, f) in distributions(n).iter().take(few).enumerate() {
                    let mut found = vec![0.0; f.len()];
                    convolution.sum(f, &mut found);
                    check(n, gamma, f, &found, 1e-13, &format!("distribution {k}"));
                }
            }
        }
    }
}
