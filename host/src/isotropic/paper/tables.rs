//! The stored coefficients, laid out for the loops and kernels that read them.

use rarefy_kernels::Real;
use rayon::prelude::*;

use crate::isotropic::coefficients::{PairTables, reachable};
use crate::isotropic::tables::{Jump, JumpRows, reduced};

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
