//! The collision frequency: a convolution of f with 4 pi |m|^gamma, summed directly. The direct method and small grids take it.

use rayon::prelude::*;

use super::super::coefficients::frequency_coefficients;
use crate::simd::{RegisterJob, Registers, Vector, on_registers};

/// Most cells along z that are summed at once; rows of the coefficients are padded by as many.
const PAD: usize = 64;

/// The coefficients `b[mx][my]`, each row expanded along z: entry `n - 1 + m_z` for -(n-1) <= m_z <= n-1, then zeros.
pub(super) struct Frequency {
    n: usize,
    b: Vec<f64>,
}

impl Frequency {
    pub(super) fn new(n: usize, gamma: f64) -> Self {
        let b = frequency_coefficients(n, gamma)
            .chunks_exact(n)
            .flat_map(|row| {
                let expanded = row[1..].iter().rev().chain(row);
                expanded.copied().chain([0.0; PAD])
            })
            .collect();
        Self { n, b }
    }

    /// `frequency_i = sum over j of b(i - j) f_j`; a task sums one row of cells along z.
    pub(super) fn sum(&self, f: &[f64], frequency: &mut [f64]) {
        frequency
            .par_chunks_exact_mut(self.n)
            .enumerate()
            .for_each(|(row, out)| {
                on_registers(Row {
                    plan: self,
                    f,
                    x: row / self.n,
                    y: row % self.n,
                    out,
                });
            });
    }
}

struct Row<'a> {
    plan: &'a Frequency,
    f: &'a [f64],
    x: usize,
    y: usize,
    out: &'a mut [f64],
}

impl RegisterJob for Row<'_> {
    type Output = ();

    #[inline(always)]
    unsafe fn run<R: Registers>(mut self) {
        let mut first = 0;
        while first < self.out.len() {
            let left = self.out.len() - first;
            // SAFETY: this job's own condition.
            first += unsafe {
                match left.div_ceil(R::F64::LANES) {
                    1 => self.block::<R, 1>(first),
                    2 => self.block::<R, 2>(first),
                    3 => self.block::<R, 3>(first),
                    4 => self.block::<R, 4>(first),
                    5 => self.block::<R, 5>(first),
                    6 => self.block::<R, 6>(first),
                    7 => self.block::<R, 7>(first),
                    _ => self.block::<R, 8>(first),
                }
            };
        }
    }
}

impl Row<'_> {
    /// Sums the cells from `first` on, C registers of them, and returns how many that were.
    ///
    /// # Safety
    /// The processor has the vector unit.
    #[inline(always)]
    unsafe fn block<R: Registers, const C: usize>(&mut self, first: usize) -> usize {
        let n = self.plan.n;
        let length = 2 * n - 1 + PAD;
        let mut out = [0.0; PAD];
        for jx in 0..n {
            // SAFETY: the caller vouches for the vector unit.
            let mut sums = unsafe { [R::F64::splat(0.0); C] };
            for jy in 0..n {
                let mx = self.x.abs_diff(jx);
                let my = self.y.abs_diff(jy);
                let row = &self.plan.b[(mx * n + my) * length..][..length];
                for (jz, &f) in self.f[(jx * n + jy) * n..][..n].iter().enumerate() {
                    // SAFETY: jz < n and first < n, so this block of at most PAD numbers starts at 2 n - 2 at most
                    // and lies within the row's 2 n - 1 + PAD. The caller vouches for the vector unit.
                    unsafe {
                        let b = row.as_ptr().add(n - 1 + first - jz);
                        let f = R::F64::splat(f);
                        for (c, sum) in sums.iter_mut().enumerate() {
                            *sum = R::F64::load(b.add(c * R::F64::LANES)).mul_add(f, *sum);
                        }
                    }
                }
            }
            for (c, sum) in sums.into_iter().enumerate() {
                // SAFETY: C <= 8 registers of at most 8 numbers are PAD at most. The caller vouches for the vector unit.
                unsafe { sum.add_to(out.as_mut_ptr().add(c * R::F64::LANES)) };
            }
        }
        for (to, sum) in self.out[first..]
            .iter_mut()
            .zip(out)
            .take(C * R::F64::LANES)
        {
            *to = sum;
        }
        C * R::F64::LANES
    }
}
