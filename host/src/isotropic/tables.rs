//! The stored forms of the coefficients of [`CollisionKernel::Power`](super::CollisionKernel::Power), laid out for the loops and kernels that read them.

use rarefy_kernels::Real;
use rayon::prelude::*;

use super::coefficients::{Coefficients, PairTables, reachable};

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

/// Every coefficient G = r_i r_j B_ij^kl: k fastest, then j, then i.
pub(super) struct FullTable<T> {
    /// Where the row of (i, j) begins, at `i * cells + j`; one more for the end.
    pub(super) starts: Vec<u64>,
    pub(super) values: Vec<T>,
}

impl<T: Real> FullTable<T> {
    pub(super) fn new(cells: usize, theta: f64, corrected: bool) -> Self {
        let tables = PairTables::new(cells, theta, corrected);
        let mut starts = Vec::with_capacity(cells * cells + 1);
        let mut start = 0;
        for i in 0..cells {
            for j in 0..cells {
                starts.push(start);
                let (first, last) = reachable(i, j, cells);
                start += (last - first + 1) as u64;
            }
        }
        starts.push(start);
        let mut values = vec![T::ZERO; start as usize];
        let mut slabs = Vec::with_capacity(cells);
        let mut rest = &mut values[..];
        for i in 0..cells {
            let length = starts[(i + 1) * cells] - starts[i * cells];
            let (slab, more) = rest.split_at_mut(length as usize);
            slabs.push(slab);
            rest = more;
        }
        slabs.into_par_iter().enumerate().for_each(|(i, slab)| {
            let mut slots = slab.iter_mut();
            for j in 0..cells {
                let (first, last) = reachable(i, j, cells);
                for (k, slot) in (first..=last).zip(&mut slots) {
                    *slot = T::from_f64(tables.product(i, j, k));
                }
            }
        });
        Self { starts, values }
    }
}

/// Side of the square tiles of [`CompactTable`].
pub(super) const TILE: usize = 32;

/// One of each set of equal coefficients. It has for each shell s = i + j the strict upper triangle of a symmetric matrix over the reduced
/// cells a = min(i, j), in tiles of 32 x 32 with zeros elsewhere.
///
/// Of the tiles (A, B), A <= B, of a shell those of one A follow each other; b runs fastest within a tile.
pub(super) struct CompactTable<T> {
    /// Where the tiles of each shell begin, and the end.
    pub(super) starts: Vec<u64>,
    pub(super) values: Vec<T>,
}

/// The reduced cells of a shell: the first, and how many.
pub(super) fn reduced(s: usize, cells: usize) -> (usize, usize) {
    let first = s.saturating_sub(cells - 1);
    (first, s / 2 + 1 - first)
}

impl<T: Real> CompactTable<T> {
    pub(super) fn new(cells: usize, theta: f64) -> Self {
        let rows = JumpRows::new(cells, theta, Jump::Both);
        let shells = 2 * cells - 1;
        let mut starts = Vec::with_capacity(shells + 1);
        let mut start = 0;
        for s in 0..shells {
            starts.push(start);
            let tiles = reduced(s, cells).1.div_ceil(TILE) as u64;
            start += tiles * (tiles + 1) / 2 * (TILE * TILE) as u64;
        }
        starts.push(start);
        let mut values = vec![T::ZERO; start as usize];
        let mut parts = Vec::with_capacity(shells);
        let mut rest = &mut values[..];
        for s in 0..shells {
            let (part, more) = rest.split_at_mut((starts[s + 1] - starts[s]) as usize);
            parts.push(part);
            rest = more;
        }
        parts.into_par_iter().enumerate().for_each(|(s, part)| {
            let (first, count) = reduced(s, cells);
            let tiles = count.div_ceil(TILE);
            let mut tile = 0;
            for ta in 0..tiles {
                for tb in ta..tiles {
                    for a in ta * TILE..count.min((ta + 1) * TILE) {
                        for b in (tb * TILE).max(a + 1)..count.min((tb + 1) * TILE) {
                            let (low, high) = (first + a, first + b);
                            // The mean over both particles of the partner's cells b and s - b.
                            let near = rows.row(low, high - low)[0];
                            let far = rows.row(low, s - high - low)[0];
                            part[tile * TILE * TILE + a % TILE * TILE + b % TILE] =
                                T::from_f64(0.5 * (near + far));
                        }
                    }
                    tile += 1;
                }
            }
        });
        Self { starts, values }
    }
}
