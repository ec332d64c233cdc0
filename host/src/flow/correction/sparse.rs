//! Sparse linear equations on a grid: LU factors by nested dissection and fronts (A. George 1973; I. S. Duff and J. K. Reid 1983).
//!
//! A line of groups of unknowns separates the grid in two halves, a line each of these separates them again, down to small parts. Unknowns are eliminated
//! part by part, separators last. A part with its separator's unknowns is a *front*, a dense matrix
//!
//! ```text
//! | A11 A12 |   | L11     | | U11 U12 |
//! | A21 A22 | = | L21  1  | |      S  |,     S = A22 - L21 U12,
//! ```
//!
//! of which A11 belongs to the unknowns of the part, A22 to those on its border. S is added to the front of the enclosing part. Rows are exchanged
//! within A11 alone. A grid of N x N groups with k unknowns each has factors of about 16 k^2 N^2 log2 N numbers, from 40 k^3 N^3 operations.

use nalgebra::{DMatrix, DMatrixView, DMatrixViewMut};
use rayon::prelude::*;

use super::dissection::Dissection;
use crate::error::{Error, Result};

/// Columns that are eliminated together.
const PANEL: usize = 64;

/// Columns of a front that one task updates.
const STRIP: usize = 128;

/// A coefficient: row, column and value. Coefficients of the same place add up.
pub(in crate::flow) type Entry = (u32, u32, f64);

/// The factors of a matrix.
pub(in crate::flow) struct Factors {
    /// Factors of the rows.
    scale: Vec<f64>,
    fronts: Vec<Eliminated>,
}

/// The factors of a front, column by column.
struct Eliminated {
    /// L11 and U11, and L21 below them.
    lower: Vec<f64>,
    /// U12.
    upper: Vec<f64>,
    /// The row that was exchanged with each.
    exchanged: Vec<u32>,
}

impl Factors {
    /// Factors of a matrix.
    ///
    /// # Errors
    /// A singular matrix.
    pub(in crate::flow) fn new(order: &Dissection, entries: &[Entry]) -> Result<Self> {
        let mut scale = vec![0.0; order.len()];
        for &(row, _, value) in entries {
            scale[row as usize] += value.abs();
        }
        for value in &mut scale {
            *value = if *value > 0.0 { 1.0 / *value } else { 1.0 };
        }
        // Coefficients belong to the front that eliminates the earlier of their unknowns.
        let mut of_front = vec![Vec::new(); order.fronts.len()];
        for &(row, column, value) in entries {
            let [at, beside] = [order.place[row as usize], order.place[column as usize]];
            let owner = order.owner[at.min(beside) as usize];
            of_front[owner as usize].push((at, beside, value * scale[row as usize]));
        }
        let mut fronts: Vec<Option<Eliminated>> = Vec::new();
        fronts.resize_with(order.fronts.len(), || None);
        let mut rests: Vec<Option<DMatrix<f64>>> = vec![None; order.fronts.len()];
        for level in order.levels.iter().rev() {
            let found: Vec<_> = level
                .par_iter()
                .map(|&at| eliminate(order, at, &of_front[at], &rests))
                .collect::<Result<_>>()?;
            for (&at, (eliminated, rest)) in level.iter().zip(found) {
                for &inner in &order.fronts[at].inside {
                    rests[inner] = None;
                }
                (fronts[at], rests[at]) = (Some(eliminated), Some(rest));
            }
        }
        let fronts = fronts.into_iter().flatten().collect();
        Ok(Self { scale, fronts })
    }

    /// The solution for a right side.
    pub(in crate::flow) fn solve(&self, order: &Dissection, right: &[f64]) -> Vec<f64> {
        let mut x = vec![0.0; right.len()];
        for (k, &place) in order.place.iter().enumerate() {
            x[place as usize] = self.scale[k] * right[k];
        }
        let mut beside = Vec::new();
        // Parts that no coefficient joins have no separator.
        let fronts = order.fronts.iter().zip(&self.fronts);
        let fronts = fronts.filter(|(front, _)| front.count > 0);
        for (front, factors) in fronts.clone() {
            let own = &mut x[front.first..][..front.count];
            for (k, &other) in factors.exchanged.iter().enumerate() {
                own.swap(k, other as usize);
            }
            beside.clear();
            beside.resize(front.border.len(), 0.0);
            for (k, column) in factors.lower.chunks_exact(front.size()).enumerate() {
                let (within, below) = column.split_at(front.count);
                let value = own[k];
                subtract(&mut own[k + 1..], &within[k + 1..], value);
                subtract(&mut beside, below, value);
            }
            for (&place, change) in front.border.iter().zip(&beside) {
                x[place as usize] += change;
            }
        }
        for (front, factors) in fronts.rev() {
            beside.clear();
            beside.extend(front.border.iter().map(|&place| x[place as usize]));
            let own = &mut x[front.first..][..front.count];
            for (&value, column) in beside.iter().zip(factors.upper.chunks_exact(front.count)) {
                subtract(own, column, value);
            }
            for (k, column) in factors.lower.chunks_exact(front.size()).enumerate().rev() {
                own[k] /= column[k];
                let value = own[k];
                subtract(&mut own[..k], &column[..k], value);
            }
        }
        order.place.iter().map(|&place| x[place as usize]).collect()
    }
}

/// Takes a multiple of a column from numbers.
fn subtract(from: &mut [f64], column: &[f64], factor: f64) {
    for (to, l) in from.iter_mut().zip(column) {
        *to -= l * factor;
    }
}

/// Assembles a front and eliminates its unknowns; yields the factors and S.
fn eliminate(
    order: &Dissection,
    at: usize,
    entries: &[Entry],
    rests: &[Option<DMatrix<f64>>],
) -> Result<(Eliminated, DMatrix<f64>)> {
    let front = &order.fronts[at];
    let (size, count) = (front.size(), front.count);
    let mut matrix = DMatrix::<f64>::zeros(size, size);
    for &(row, column, value) in entries {
        matrix[(front.row(row), front.row(column))] += value;
    }
    for &inner in &front.inside {
        let Some(rest) = &rests[inner] else { continue };
        let border = &order.fronts[inner].border;
        let rows: Vec<usize> = border.iter().map(|&place| front.row(place)).collect();
        for (&column, values) in rows.iter().zip(rest.column_iter()) {
            let mut to = matrix.column_mut(column);
            rows.iter()
                .zip(values.iter())
                .for_each(|(&row, value)| to[row] += value);
        }
    }
    let exchanged = factor(matrix.as_mut_slice(), size, count)?;
    let rest = matrix
        .view((count, count), (size - count, size - count))
        .into_owned();
    let eliminated = Eliminated {
        lower: matrix.as_slice()[..count * size].to_vec(),
        upper: matrix
            .view((0, count), (count, size - count))
            .iter()
            .copied()
            .collect(),
        exchanged,
    };
    Ok((eliminated, rest))
}

/// Eliminates the first `count` unknowns of a dense matrix, panel by panel; rows are exchanged among the first `count`.
fn factor(matrix: &mut [f64], size: usize, count: usize) -> Result<Vec<u32>> {
    let mut exchanged = Vec::with_capacity(count);
    for start in (0..count).step_by(PANEL) {
        let end = (start + PANEL).min(count);
        for k in start..end {
            let column = &matrix[k * size..(k + 1) * size];
            let pivot = (k..count)
                .max_by(|&a, &b| column[a].abs().total_cmp(&column[b].abs()))
                .unwrap_or(k);
            let value = column[pivot];
            if value == 0.0 || !value.is_finite() {
                return Err(Error::Numerical("a singular matrix".to_owned()));
            }
            exchanged.push(pivot as u32);
            if pivot != k {
                matrix
                    .chunks_exact_mut(size)
                    .for_each(|column| column.swap(k, pivot));
            }
            let (left, right) = matrix.split_at_mut((k + 1) * size);
            let column = &mut left[k * size..];
            column[k + 1..].iter_mut().for_each(|l| *l /= value);
            for other in right[..(end - k - 1) * size].chunks_exact_mut(size) {
                let factor = other[k];
                let pairs = other[k + 1..].iter_mut().zip(&column[k + 1..]);
                pairs.for_each(|(to, l)| *to -= l * factor);
            }
        }
        let (left, right) = matrix.split_at_mut(end * size);
        let panel = &left[start * size..];
        right
            .par_chunks_mut(STRIP * size)
            .for_each(|strip| update(strip, panel, size, start, end));
    }
    Ok(exchanged)
}

/// Takes the unknowns `start..end`, eliminated in a panel, out of later columns.
fn update(strip: &mut [f64], panel: &[f64], size: usize, start: usize, end: usize) {
    for column in strip.chunks_exact_mut(size) {
        for k in start..end {
            let value = column[k];
            let l = &panel[(k - start) * size..][k + 1..end];
            column[k + 1..end]
                .iter_mut()
                .zip(l)
                .for_each(|(to, l)| *to -= l * value);
        }
    }
    let columns = strip.len() / size;
    let below = size - end;
    if below == 0 {
        return;
    }
    let upper =
        DMatrixView::from_slice_with_strides(&strip[start..], end - start, columns, 1, size)
            .into_owned();
    let lower = DMatrixView::from_slice_with_strides(&panel[end..], below, end - start, 1, size);
    let mut rest =
        DMatrixViewMut::from_slice_with_strides_mut(&mut strip[end..], below, columns, 1, size);
    rest.gemm(-1.0, &lower, &upper, 1.0);
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A grid of groups with three unknowns and zeros on the diagonal, periodic along x.
    fn grid(nx: u32, ny: u32, joined: bool, random: &mut dyn FnMut() -> f64) -> Vec<Entry> {
        let mut entries = Vec::new();
        for c in 0..nx * ny {
            let (i, j) = (c % nx, c / nx);
            let mut beside = vec![c];
            if joined {
                beside.extend([j * nx + (i + 1) % nx, j * nx + (i + nx - 1) % nx]);
                beside.extend((j > 0).then(|| c - nx));
                beside.extend((j + 1 < ny).then(|| c + nx));
            }
            for other in beside {
                for a in 0..3 {
                    for b in 0..3 {
                        let value = match c == other {
                            true if (a + 1) % 3 == b => 8.0 + random(),
                            true if a == b => continue,
                            _ => random(),
                        };
                        entries.push((3 * c + a, 3 * other + b, value));
                    }
                }
            }
        }
        entries
    }

    #[test]
    fn factors_solve_the_equations_of_a_grid() {
        let (nx, ny) = (23, 17);
        let mut state = 1_u64;
        let mut random = || {
            state = state
                .wrapping_mul(6_364_136_223_846_793_005)
                .wrapping_add(1);
            (state >> 40) as f64 / f64::from(1 << 23) - 1.0
        };
        let group: Vec<u32> = (0..3 * nx * ny).map(|k| k / 3).collect();
        let positions: Vec<[u32; 2]> = (0..nx * ny).map(|c| [c % nx, c / nx]).collect();
        for joined in [true, false] {
            let mut entries = grid(nx, ny, joined, &mut random);
            let pairs = entries.iter().map(|&(row, column, _)| (row, column));
            let order = Dissection::new(&group, &positions, pairs);
            let right: Vec<f64> = group.iter().map(|_| random()).collect();
            let rest = |x: Vec<f64>| {
                let mut rest = right.clone();
                for &(row, column, value) in &entries {
                    rest[row as usize] -= value * x[column as usize];
                }
                rest.iter()
                    .fold(0.0_f64, |most, value| most.max(value.abs()))
            };
            let factors = Factors::new(&order, &entries).unwrap();
            let exact = rest(factors.solve(&order, &right));
            assert!(exact < 1e-11, "{exact}");
            entries.retain(|&(row, _, _)| row != 100);
            assert!(Factors::new(&order, &entries).is_err());
        }
    }
}
