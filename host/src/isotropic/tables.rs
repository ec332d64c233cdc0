//! The coefficients of the jumps of [`CollisionKernel::Power`](super::CollisionKernel::Power), laid out for the loops and kernels that read them.

use rayon::prelude::*;

use super::coefficients::Coefficients;

/// The direction of a jump between the cells m and m + d.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Jump {
    /// The mean of both.
    Both,
    /// From m to m + d.
    Up,
    /// From m + d to m.
    Down,
}

/// The coefficients of the jumps m -> m + d by rows of m: entry d - 1 of row m, which has `cells - 1 - m` entries.
pub(super) struct JumpRows {
    cells: usize,
    values: Vec<f64>,
}

impl JumpRows {
    pub(super) fn new(cells: usize, theta: f64, jump: Jump) -> Self {
        let of = Coefficients::new(theta);
        let mut values = vec![0.0; cells * (cells - 1) / 2];
        let mut rows = Vec::with_capacity(cells);
        let mut rest = &mut values[..];
        for m in 0..cells {
            let (row, more) = rest.split_at_mut(cells - 1 - m);
            rows.push(row);
            rest = more;
        }
        rows.into_par_iter().enumerate().for_each(|(m, row)| {
            for (d, value) in (1..).zip(row) {
                *value = match jump {
                    Jump::Both => of.symmetric(m, m + d),
                    Jump::Up => of.jump(m, m + d),
                    Jump::Down => of.jump(m + d, m),
                };
            }
        });
        Self { cells, values }
    }

    /// The entries of row m for the jumps from `d` on.
    pub(super) fn row(&self, m: usize, d: usize) -> &[f64] {
        let start = row_start(self.cells, m);
        &self.values[start + d - 1..start + self.cells - 1 - m]
    }

    pub(super) fn into_values(self) -> Vec<f64> {
        self.values
    }
}

/// The place of row m in a triangle of rows with `cells - 1 - m` entries.
pub(super) fn row_start(cells: usize, m: usize) -> usize {
    m * (cells - 1) - m * m.saturating_sub(1) / 2
}

/// The reduced cells of a shell: the first, and how many.
pub(super) fn reduced(s: usize, cells: usize) -> (usize, usize) {
    let first = s.saturating_sub(cells - 1);
    (first, s / 2 + 1 - first)
}
