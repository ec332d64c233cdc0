//! The tables of a step: what relaxation needs of each cell.

#![allow(
    clippy::needless_range_loop,
    reason = "an index runs over several rows at once, which the compiler makes vectors of"
)]

use std::array::from_fn;

use rarefy_kernels::Real;
use rayon::prelude::*;

use super::super::relaxation::Relaxations;
use super::Layout;
use crate::maxwellian::TOGETHER;
use crate::maxwellian::lanes::{self, LaneReal};

/// Blocks of cells that are filled in one after the other.
const BLOCKS: usize = 4;

/// The factors of each cell's Maxwellian times the gain of relaxation, and the decay: rows of all cells.
pub(super) struct Tables<T> {
    rows: Vec<T>,
    cells: usize,
    /// The first rows of the factors along x and y and of the innermost ones.
    x: usize,
    y: usize,
    inner: usize,
}

/// Row of `e^(-nu dt)`.
const KEEP: usize = 0;
/// First row of the Shakhov model's polynomial, with the Maxwellian's share in its constant, and of the mean velocity:
/// `p_0, p_x, p_y, q_0, q_x, q_y, u_x, u_y`.
const HEAT: usize = 1;
/// These rows.
const HEAT_ROWS: usize = 8;
/// Rows of the vector g of the flux of internal energy over the internal energy a molecule, behind them.
const INTERNAL: usize = HEAT + HEAT_ROWS;

impl<T: Real> Tables<T> {
    pub(super) fn new(layout: &Layout<T>) -> Self {
        let ([nx, ny, nm], cells) = (layout.shape, layout.cells());
        let x = match (layout.shakhov, layout.rotates) {
            (_, true) => INTERNAL + 2,
            (true, false) => INTERNAL,
            (false, false) => HEAT,
        };
        Self {
            rows: vec![T::ZERO; (x + nx + ny + nm) * cells],
            cells,
            x,
            y: x + nx,
            inner: x + nx + ny,
        }
    }

    /// Those of a column of cells, of rows of `nx` cells.
    pub(super) fn column(&self, ix: usize, nx: usize) -> Self {
        // Of a large plane every number lies in a line of the cache of its own.
        let rows = self.rows.par_chunks_exact(self.cells.max(1));
        let columns: Vec<Vec<T>> = rows
            .map(|row| row.iter().skip(ix).step_by(nx).copied().collect())
            .collect();
        Self {
            rows: columns.concat(),
            cells: self.cells / nx,
            ..*self
        }
    }

    #[inline(always)]
    fn row(&self, row: usize) -> &[T] {
        &self.rows[row * self.cells..][..self.cells]
    }
    #[inline(always)]
    pub(super) fn keep(&self) -> &[T] {
        self.row(KEEP)
    }
    /// The rows of the Shakhov model's polynomial and of the mean velocity.
    #[inline(always)]
    pub(super) fn heat(&self) -> [&[T]; HEAT_ROWS] {
        from_fn(|k| self.row(HEAT + k))
    }
    /// The rows of the flux of internal energy.
    #[inline(always)]
    pub(super) fn internal(&self) -> [&[T]; 2] {
        from_fn(|k| self.row(INTERNAL + k))
    }
    #[inline(always)]
    pub(super) fn x(&self, j: usize) -> &[T] {
        self.row(self.x + j)
    }
    #[inline(always)]
    pub(super) fn y(&self, j: usize) -> &[T] {
        self.row(self.y + j)
    }
    #[inline(always)]
    pub(super) fn inner(&self, m: usize) -> &[T] {
        self.row(self.inner + m)
    }

    /// Fills the tables of a step.
    pub(super) fn fill(&mut self, layout: &Layout<T>, relaxations: &[Relaxations]) {
        let (x, y, inner) = (self.x, self.y, self.inner);
        columns(&mut self.rows, self.cells, BLOCKS * TOGETHER)
            .into_par_iter()
            .zip(relaxations.par_chunks(BLOCKS))
            .for_each(|(mut rows, relaxations)| {
                let (of_cells, factors) = rows.split_at_mut(x);
                let (of_x, rest) = factors.split_at_mut(y - x);
                let (of_y, of_inner) = rest.split_at_mut(inner - y);
                lanes::on_widest(Fill {
                    layout,
                    relaxations,
                    of_cells,
                    of_x,
                    of_y,
                    of_inner,
                });
            });
    }
}

/// Cuts rows of so many cells into blocks of cells: for each block its parts of all rows.
pub(super) fn columns<T>(rows: &mut [T], cells: usize, block: usize) -> Vec<Vec<&mut [T]>> {
    let mut columns = Vec::new();
    columns.resize_with(cells.div_ceil(block), Vec::new);
    for row in rows.chunks_exact_mut(cells) {
        for (column, part) in columns.iter_mut().zip(row.chunks_mut(block)) {
            column.push(part);
        }
    }
    columns
}

/// The tables of some cells.
struct Fill<'a, 'b, T> {
    layout: &'a Layout<T>,
    relaxations: &'a [Relaxations],
    of_cells: &'a mut [&'b mut [T]],
    of_x: &'a mut [&'b mut [T]],
    of_y: &'a mut [&'b mut [T]],
    of_inner: &'a mut [&'b mut [T]],
}

impl<T: Real> lanes::Job for Fill<'_, '_, T> {
    type Output = ();

    #[inline(always)]
    fn run<const FUSED: bool>(self) {
        let Self {
            layout,
            relaxations,
            of_cells,
            of_x,
            of_y,
            of_inner,
        } = self;
        let space = &layout.problem.velocity;
        let none = [0.0; TOGETHER];
        for (k, r) in relaxations.iter().enumerate() {
            let m = &r.maxwellians;
            let here = k * TOGETHER..k * TOGETHER + m.cells;
            put(&mut of_cells[KEEP][here.clone()], &r.keep);
            if layout.shakhov {
                let mut terms = [none; HEAT_ROWS];
                for (i, heat) in r.heat.iter().enumerate() {
                    let ([px, py], [qx, qy]) = (heat.linear, heat.cubic);
                    let constant = r.give[i] + heat.constant;
                    let of_cell = [constant, px, py, heat.square, qx, qy];
                    for (term, value) in terms.iter_mut().zip(of_cell) {
                        term[i] = value;
                    }
                }
                terms[6..].copy_from_slice(&m.velocity);
                for (row, term) in of_cells[HEAT..].iter_mut().zip(&terms) {
                    put(&mut row[here.clone()], term);
                }
            }
            let mut of_internal = none;
            if layout.rotates {
                let mut g = [none; 2];
                for (i, (energy, vector)) in r.internal.iter().enumerate() {
                    of_internal[i] = *energy;
                    // Nothing relaxes yet where nothing is known of it.
                    let energy = energy.max(f64::MIN_POSITIVE);
                    [g[0][i], g[1][i]] = vector.map(|g| g / energy);
                }
                for (row, g) in of_cells[INTERNAL..].iter_mut().zip(&g) {
                    put(&mut row[here.clone()], g);
                }
            }
            let (one, mut share) = ([1.0; TOGETHER], m.amplitude);
            // The BGK share of the Maxwellian is the same at all nodes of a cell; Shakhov's factor comes later.
            if !layout.shakhov {
                for i in 0..m.cells {
                    share[i] *= r.give[i];
                }
            }
            let tables = [&mut *of_x, &mut *of_y, &mut *of_inner];
            for ((d, rows), axis) in tables.into_iter().enumerate().zip(space.axes()) {
                let [mean, slope] = m.along(space, d);
                let factor = if d == 0 { &share } else { &one };
                let nodes = axis.nodes().iter().zip(axis.weights());
                for (out, (v, weight)) in rows.iter_mut().zip(nodes) {
                    let out = &mut out[here.clone()];
                    let n = out.len();
                    let (mean, slope, factor) = (&mean[..n], &slope[..n], &factor[..n]);
                    let inverse_temperature = &m.inverse_temperature[..n];
                    for i in 0..n {
                        let w = v - mean[i];
                        let exponent = w * (slope[i] - inverse_temperature[i] * w);
                        let value = weight * factor[i] * exponent.exp_fast::<FUSED>();
                        out[i] = T::from_f64(value);
                    }
                }
            }
            if space.axes().len() < 2 {
                put(&mut of_y[0][here.clone()], &one);
            }
            if space.z().is_none() {
                let integrated = space.integrated() as f64;
                let mut of_h = none;
                for i in 0..m.cells {
                    of_h[i] = integrated / (2.0 * m.inverse_temperature[i]);
                }
                put(&mut of_inner[0][here.clone()], &one);
                put(&mut of_inner[1][here.clone()], &of_h);
                if layout.rotates {
                    put(&mut of_inner[2][here], &of_internal);
                }
            }
        }
    }
}

#[inline(always)]
fn put<T: Real>(out: &mut [T], values: &[f64]) {
    for (out, value) in out.iter_mut().zip(values) {
        *out = T::from_f64(*value);
    }
}
