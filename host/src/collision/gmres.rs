//! GMRES (Saad and Schultz 1986), without restarts: for operators that are cheap to apply a few dozen times.

use crate::error::Result;

/// Result of [`gmres`].
pub(super) struct Solution {
    /// The approximate solution of A x = b.
    pub(super) x: Vec<f64>,
    /// |b - A x| / |b|.
    pub(super) residual: f64,
    /// How often A was applied.
    pub(super) iterations: usize,
}

/// Minimises |b - A x| over the Krylov spaces of A and b, until it is at most `tolerance * |b|` or `most` vectors are in use.
///
/// Sums run in a fixed order, so the same input yields the same bits.
pub(super) fn gmres(
    mut apply: impl FnMut(&[f64]) -> Result<Vec<f64>>,
    b: &[f64],
    tolerance: f64,
    most: usize,
) -> Result<Solution> {
    let size = norm(b);
    let mut basis: Vec<Vec<f64>> = vec![b.iter().map(|b| b / size).collect()];
    // Column k of the Hessenberg matrix, turned into the triangular factor by the rotations.
    let mut columns: Vec<Vec<f64>> = Vec::new();
    let mut rotations: Vec<[f64; 2]> = Vec::new();
    let mut rest = vec![size];
    let mut residual = 1.0;
    while size > 0.0 && residual > tolerance && columns.len() < most {
        let mut next = apply(&basis[basis.len() - 1])?;
        let before = norm(&next);
        let mut column = vec![0.0; basis.len()];
        // Once more: the second pass removes what roundoff left of the first.
        for _ in 0..2 {
            for (entry, v) in column.iter_mut().zip(&basis) {
                let part = dot(&next, v);
                *entry += part;
                for (next, v) in next.iter_mut().zip(v) {
                    *next -= part * v;
                }
            }
        }
        let height = norm(&next);
        for (k, [c, s]) in rotations.iter().enumerate() {
            let below = if k + 1 < column.len() {
                column[k + 1]
            } else {
                0.0
            };
            let upper = column[k];
            column[k] = c * upper + s * below;
            if k + 1 < column.len() {
                column[k + 1] = c * below - s * upper;
            }
        }
        let last = column.len() - 1;
        let length = column[last].hypot(height);
        if length <= f64::EPSILON * before {
            break;
        }
        let [c, s] = [column[last] / length, height / length];
        column[last] = length;
        rotations.push([c, s]);
        columns.push(column);
        let old = rest[last];
        rest[last] = c * old;
        rest.push(-s * old);
        residual = (s * old).abs() / size;
        if height <= f64::EPSILON * before {
            break;
        }
        basis.push(next.iter().map(|v| v / height).collect());
    }

    let count = columns.len();
    let mut weights = vec![0.0; count];
    for row in (0..count).rev() {
        let known: f64 = (row + 1..count).map(|k| columns[k][row] * weights[k]).sum();
        weights[row] = (rest[row] - known) / columns[row][row];
    }
    let mut x = vec![0.0; b.len()];
    for (weight, v) in weights.iter().zip(&basis) {
        for (x, v) in x.iter_mut().zip(v) {
            *x += weight * v;
        }
    }
    Ok(Solution {
        x,
        residual: if size > 0.0 { residual } else { 0.0 },
        iterations: count,
    })
}

fn dot(a: &[f64], b: &[f64]) -> f64 {
    a.iter().zip(b).map(|(a, b)| a * b).sum()
}

fn norm(a: &[f64]) -> f64 {
    dot(a, a).sqrt()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_small_system_is_solved() {
        // Not symmetric; eigenvalues 1 to 12.
        let n = 12;
        let apply = |x: &[f64]| -> Result<Vec<f64>> {
            Ok((0..n)
                .map(|i| (i + 1) as f64 * x[i] + if i + 1 < n { 0.7 * x[i + 1] } else { 0.0 })
                .collect())
        };
        let expected: Vec<f64> = (0..n).map(|i| (i as f64).cos()).collect();
        let b = apply(&expected).unwrap();
        let found = gmres(apply, &b, 1e-13, 40).unwrap();
        assert!(found.residual <= 1e-13 && found.iterations <= n);
        for (found, expected) in found.x.iter().zip(&expected) {
            assert!((found - expected).abs() < 1e-12);
        }
        let rough = gmres(apply, &b, 1e-13, 4).unwrap();
        let image = apply(&rough.x).unwrap();
        let left: Vec<f64> = b.iter().zip(image).map(|(b, a)| b - a).collect();
        assert!((norm(&left) / norm(&b) - rough.residual).abs() < 1e-13);
        let nothing = gmres(apply, &[0.0; 12], 1e-13, 40).unwrap();
        assert_eq!((nothing.x, nothing.residual), (vec![0.0; n], 0.0));
    }
}
