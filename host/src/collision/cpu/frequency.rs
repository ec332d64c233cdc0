//! The collision frequency: a convolution of f with 4 pi |m|^gamma, summed as it stands.

use rarefy_kernels::Real;
use rayon::prelude::*;

use super::super::coefficients::frequency_coefficients;
use super::simd::{Job, dispatch};

/// Cells along z that are summed at once; rows of the coefficients are padded by as many.
const BLOCK: usize = 32;

/// The coefficients `b[mx][my]`, each row unfolded along z: entry `n - 1 + m_z` for -(n-1) <= m_z <= n-1, then zeros.
pub(super) struct Frequency {
    n: usize,
    b: Vec<f64>,
}

impl Frequency {
    pub(super) fn new(n: usize, gamma: f64) -> Self {
        let b = frequency_coefficients(n, gamma)
            .chunks_exact(n)
            .flat_map(|row| {
                let unfolded = row[1..].iter().rev().chain(row);
                unfolded.copied().chain([0.0; BLOCK])
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
                dispatch(Row {
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

impl Job for Row<'_> {
    #[inline(always)]
    fn run<const FUSED: bool, const WIDE: bool>(self) {
        let mut first = 0;
        while first < self.out.len() {
            let part = &mut self.out[first..];
            let sums = match part.len() {
                0..=8 => block::<FUSED, 8>(self.plan, self.f, self.x, self.y, first),
                9..=16 => block::<FUSED, 16>(self.plan, self.f, self.x, self.y, first),
                17..=24 => block::<FUSED, 24>(self.plan, self.f, self.x, self.y, first),
                _ => block::<FUSED, BLOCK>(self.plan, self.f, self.x, self.y, first),
            };
            for (out, sum) in part.iter_mut().zip(sums) {
                *out = sum;
            }
            first += BLOCK;
        }
    }
}

/// The sums of the cells `first .. first + WIDTH` of the row (x, y); those past the end of the row mean nothing.
#[inline(always)]
fn block<const FUSED: bool, const WIDTH: usize>(
    plan: &Frequency,
    f: &[f64],
    x: usize,
    y: usize,
    first: usize,
) -> [f64; BLOCK] {
    let n = plan.n;
    let length = 2 * n - 1 + BLOCK;
    let mut total = [0.0; BLOCK];
    for jx in 0..n {
        let mut sum = [0.0; WIDTH];
        for jy in 0..n {
            let row = &plan.b[(x.abs_diff(jx) * n + y.abs_diff(jy)) * length..][..length];
            for (jz, &f) in f[(jx * n + jy) * n..][..n].iter().enumerate() {
                let b = &row[n - 1 + first - jz..][..WIDTH];
                for k in 0..WIDTH {
                    sum[k] = if FUSED {
                        Real::mul_add(b[k], f, sum[k])
                    } else {
                        b[k] * f + sum[k]
                    };
                }
            }
        }
        for k in 0..WIDTH {
            total[k] += sum[k];
        }
    }
    total
}
