//! The direct method: the paper's sum, term by term, on all cores.
//!
//! The work is cut as on the GPU: a task has i_x and j_x fixed, goes through n_x >= 0, m_y and m_z, and sums a
//! plane of cells. For one displacement the coefficients are a short list of (|n_y|, |n_z|), the same for all cells of the window in which
//! i and j = i - m both lie in the grid. The cells are taken in blocks of 4 rows as long as a vector register, whose sums stay in registers.

use rayon::prelude::*;

use super::lists::DirectLists;
use crate::collision::Order;
use crate::collision::coefficients::speeds;
use crate::simd::{CpuReal, RegisterJob, Registers, Vector, on_registers};

/// Most cells of a block along z: those of a vector register.
const LANES: usize = 16;
/// Rows of a block.
const ROWS: usize = 4;

pub(in crate::collision) struct Direct<T> {
    n: usize,
    lists: DirectLists,
    weights: Vec<T>,
    speeds: Vec<f64>,
}

impl<T: CpuReal> Direct<T> {
    pub(in crate::collision) fn new(n: usize, gamma: f64, order: Order) -> Self {
        let lists = DirectLists::new(n, order);
        Self {
            n,
            weights: lists.weights.iter().map(|&w| T::from_f64(w)).collect(),
            lists,
            speeds: speeds(n, gamma),
        }
    }

    pub(in crate::collision) fn gain(&self, f: &[T], gain: &mut [f64]) {
        let planes = self.planes(f);
        self.sum(&[[&planes, &planes]], gain);
    }

    /// The sum with `g_k m_l + m_k g_l` in the place of `f_k f_l`.
    pub(in crate::collision) fn mixed_gain(&self, g: &[T], m: &[T], gain: &mut [f64]) {
        let (g, m) = (self.planes(g), self.planes(m));
        self.sum(&[[&g, &m], [&m, &g]], gain);
    }

    fn planes(&self, f: &[T]) -> Vec<Padded<T>> {
        let n = self.n;
        f.chunks_exact(n * n).map(|f| Padded::new(n, f)).collect()
    }

    /// The sum of the products of all pairs of distributions.
    fn sum(&self, pairs: &[[&[Padded<T>]; 2]], gain: &mut [f64]) {
        let n = self.n;
        // One row of planes at a time bounds the memory to n^3 partial sums.
        for (ix, out) in gain.chunks_exact_mut(n * n).enumerate() {
            let parts: Vec<Vec<f64>> = (0..n)
                .into_par_iter()
                .with_max_len(1)
                .map(|jx| {
                    let mut sums = vec![0.0; n * n];
                    for &planes in pairs {
                        on_registers(Task {
                            plan: self,
                            planes,
                            ix,
                            jx,
                            sums: &mut sums,
                        });
                    }
                    sums
                })
                .collect();
            out.fill(0.0);
            for part in &parts {
                for (out, part) in out.iter_mut().zip(part) {
                    *out += part;
                }
            }
        }
    }
}

/// A plane of f in a margin of zeros, `margin` cells wide on every side where k or l can leave the grid.
struct Padded<T> {
    margin: usize,
    stride: usize,
    values: Vec<T>,
}

impl<T: CpuReal> Padded<T> {
    fn new(n: usize, f: &[T]) -> Self {
        let margin = (n - 1) / 2;
        let stride = n + 2 * margin + LANES;
        let mut values = vec![T::ZERO; stride * (n + 2 * margin + ROWS)];
        for (y, row) in f.chunks_exact(n).enumerate() {
            values[(y + margin) * stride + margin..][..n].copy_from_slice(row);
        }
        Self {
            margin,
            stride,
            values,
        }
    }
}

struct Task<'a, T> {
    plan: &'a Direct<T>,
    planes: [&'a [Padded<T>]; 2],
    ix: usize,
    jx: usize,
    sums: &'a mut [f64],
}

impl<T: CpuReal> RegisterJob for Task<'_, T> {
    type Output = ();

    #[inline(always)]
    unsafe fn run<R: Registers>(self) {
        let n = self.plan.n;
        let length = T::Of::<R>::LANES;
        let mx = self.ix.abs_diff(self.jx);
        let s = self.ix + self.jx;
        let mut terms = Vec::new();
        // n_x <= min(s, 2 (n-1) - s) keeps k_x and l_x in the grid.
        for nx in (s % 2..=s.min(2 * (n - 1) - s)).step_by(2) {
            let first = &self.planes[0][(s + nx) / 2];
            let second = &self.planes[1][(s - nx) / 2];
            let (margin, stride) = (first.margin, first.stride);
            for (my, mz) in (0..n).flat_map(|my| (0..n).map(move |mz| (my, mz))) {
                let m = [mx, my, mz].map(|m| m as u32);
                let range = self.plan.lists.range(m, nx as u32);
                if range.is_empty() {
                    continue;
                }
                terms.clear();
                terms.extend(range.map(|e| {
                    let entry = self.plan.lists.entries[e];
                    let (ny, nz) = ((entry & 0xffff) as usize, (entry >> 16) as usize);
                    // Cell p of the window has s = 2 p + |m|, so k = p + (|m| + n)/2 and l = p + (|m| - n)/2.
                    // Both parities agree, and n - |m| <= N - 1 makes (n - |m|)/2 <= margin: no difference is negative.
                    Term {
                        above_y: (margin + (my + ny) / 2) * stride,
                        below_y: (2 * margin + my - ny) / 2 * stride,
                        above_z: margin + (mz + nz) / 2,
                        below_z: (2 * margin + mz - nz) / 2,
                        weight: self.plan.weights[e],
                    }
                }));
                let window = Window {
                    first: &first.values,
                    second: &second.values,
                    stride,
                    terms: &terms,
                };
                let speed = self.plan.speeds[mx * mx + my * my + mz * mz];
                let (height, width) = (n - my, n - mz);
                for to_y in [my, 0].into_iter().take(1 + usize::from(my > 0)) {
                    for to_z in [mz, 0].into_iter().take(1 + usize::from(mz > 0)) {
                        for y in (0..height).step_by(ROWS) {
                            for z in (0..width).step_by(length) {
                                // SAFETY: this job's own condition.
                                let block = unsafe { window.sum::<R>(y, z) };
                                for (row, sums) in block.iter().enumerate().take(height - y) {
                                    let cell = (y + row + to_y) * n + z + to_z;
                                    let out = &mut self.sums[cell..][..length.min(width - z)];
                                    for (out, sum) in out.iter_mut().zip(sums) {
                                        *out += speed * sum.to_f64();
                                    }
                                }
                            }
                        }
                    }
                }
            }
        }
    }
}

/// Offsets into the padded planes, and the weight, of four products that differ in the signs of n_y and n_z.
#[derive(Clone, Copy)]
struct Term<T> {
    above_y: usize,
    below_y: usize,
    above_z: usize,
    below_z: usize,
    weight: T,
}

/// Data shared by the sums for one displacement.
struct Window<'a, T> {
    first: &'a [T],
    second: &'a [T],
    stride: usize,
    terms: &'a [Term<T>],
}

impl<T: CpuReal> Window<'_, T> {
    /// The sums over n for the cells from (y, z) on, a register's worth in each row; those past the window mean nothing.
    ///
    /// No load leaves the padded planes. A cell of the window has y <= N - 1 - |m_y|, and k_y - y <= (|m_y| + N - 1)/2, so
    /// k_y <= N - 1 + margin. In the padded plane that is row N - 1 + 2 margin at most, and ROWS - 1 more for rows past the
    /// window: below the N + 2 margin + ROWS rows there are. Along z the same bound with LANES - 1 stays within the stride.
    ///
    /// # Safety
    /// The processor has the vector unit, and (y, z) lies in the window.
    #[inline(always)]
    unsafe fn sum<R: Registers>(&self, y: usize, z: usize) -> [[T; LANES]; ROWS] {
        // SAFETY: in bounds by the argument above; the caller vouches for the vector unit.
        unsafe {
            let mut sums = [T::Of::<R>::splat(T::ZERO); ROWS];
            let load = |plane: &[T], at: usize| {
                debug_assert!(at + T::Of::<R>::LANES <= plane.len());
                T::Of::<R>::load(plane.as_ptr().add(at))
            };
            for term in self.terms {
                let weight = T::Of::<R>::splat(term.weight);
                for (row, sum) in sums.iter_mut().enumerate() {
                    let at = (y + row) * self.stride + z;
                    let kk = at + term.above_y + term.above_z;
                    let kl = at + term.above_y + term.below_z;
                    let lk = at + term.below_y + term.above_z;
                    let ll = at + term.below_y + term.below_z;
                    let products = load(self.first, kk).mul(load(self.second, ll));
                    let products = load(self.first, ll).mul_add(load(self.second, kk), products);
                    let products = load(self.first, lk).mul_add(load(self.second, kl), products);
                    let products = load(self.first, kl).mul_add(load(self.second, lk), products);
                    *sum = weight.mul_add(products, *sum);
                }
            }
            let mut out = [[T::ZERO; LANES]; ROWS];
            for (out, sum) in out.iter_mut().zip(sums) {
                sum.store(out.as_mut_ptr());
            }
            out
        }
    }
}
