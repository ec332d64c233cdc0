//! Fields without the zig-zag of the diamond scheme.
//!
//! A diamond cell fixes only the sum of what enters and leaves, so fields may alternate from cell to cell. On each line of cells let `S` replace a cell's
//! value by the mean of its two faces' values, those interpolated linearly between the cells, and at the ends extrapolated from the next two
//! faces. `S` is exact for linear fields and takes alternating ones away. The lines of both directions get `2 S - S^2`: on equal
//! cells that is `(-1, 4, 10, 4, -1)/16`, exact up to cubic fields. The total of the field is restored by a constant, of second order in the cells' width.

/// The field, `[iy][ix]`, without what alternates from cell to cell, with the same sum of volume times value.
///
/// `widths` are those of the columns and of the rows. Lines of fewer than three cells stay as they are.
///
/// # Panics
/// If the field has not one value a cell.
pub(super) fn smooth(widths: [&[f64]; 2], field: &[f64]) -> Vec<f64> {
    let [nx, ny] = widths.map(<[f64]>::len);
    assert_eq!(field.len(), nx * ny, "one value a cell");
    let mut smooth = field.to_vec();
    for row in smooth.chunks_exact_mut(nx) {
        smooth_line(widths[0], row);
    }
    let mut column = vec![0.0; ny];
    for i in 0..nx {
        (0..ny).for_each(|j| column[j] = smooth[j * nx + i]);
        smooth_line(widths[1], &mut column);
        (0..ny).for_each(|j| smooth[j * nx + i] = column[j]);
    }
    let volume: f64 = widths.iter().map(|w| w.iter().sum::<f64>()).product();
    let mut missing = 0.0;
    for (j, height) in widths[1].iter().enumerate() {
        for (i, width) in widths[0].iter().enumerate() {
            missing += width * height * (field[j * nx + i] - smooth[j * nx + i]);
        }
    }
    let constant = missing / volume;
    smooth.iter_mut().for_each(|value| *value += constant);
    smooth
}

/// `2 S - S^2` of a line.
fn smooth_line(widths: &[f64], line: &mut [f64]) {
    if line.len() < 3 {
        return;
    }
    let once = means_of_faces(widths, line);
    let twice = means_of_faces(widths, &once);
    for (value, (once, twice)) in line.iter_mut().zip(once.iter().zip(&twice)) {
        *value = 2.0 * once - twice;
    }
}

/// The mean of the values at both faces of each cell; three or more cells.
fn means_of_faces(widths: &[f64], line: &[f64]) -> Vec<f64> {
    let count = line.len();
    // The value between a cell and the next.
    let between = |i: usize| {
        (widths[i + 1] * line[i] + widths[i] * line[i + 1]) / (widths[i] + widths[i + 1])
    };
    // Half the difference of a cell's faces: that of the next cell at the ends, in proportion to the width.
    let half = |i: usize| 0.5 * (between(i) - between(i - 1)) / widths[i];
    (0..count)
        .map(|i| match i {
            0 => between(0) - half(1) * widths[0],
            _ if i == count - 1 => between(i - 1) + half(i - 1) * widths[i],
            _ => 0.5 * (between(i - 1) + between(i)),
        })
        .collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    const COLUMNS: [f64; 6] = [0.3, 0.5, 0.4, 0.2, 0.25, 0.6];
    const ROWS: [f64; 5] = [1.0, 0.8, 0.9, 1.3, 0.7];

    /// Values of a function at the centres of the cells.
    fn sampled(widths: [&[f64]; 2], value: impl Fn(f64, f64) -> f64) -> Vec<f64> {
        let centre = |d: usize, k: usize| widths[d][..k].iter().sum::<f64>() + 0.5 * widths[d][k];
        let (nx, ny) = (widths[0].len(), widths[1].len());
        (0..nx * ny)
            .map(|cell| value(centre(0, cell % nx), centre(1, cell / nx)))
            .collect()
    }

    fn total(widths: [&[f64]; 2], field: &[f64]) -> f64 {
        let nx = widths[0].len();
        let cells = field.iter().enumerate();
        cells
            .map(|(k, value)| value * widths[0][k % nx] * widths[1][k / nx])
            .sum()
    }

    #[test]
    fn linear_fields_stay_as_they_are_on_uneven_cells() {
        let widths: [&[f64]; 2] = [&COLUMNS, &ROWS];
        let field = sampled(widths, |x, y| 2.0 + x - 3.0 * y + 0.5 * x * y);
        for (found, value) in smooth(widths, &field).iter().zip(&field) {
            assert!((found - value).abs() < 1e-14, "{found} {value}");
        }
    }

    #[test]
    fn alternating_parts_vanish() {
        let widths: [&[f64]; 2] = [&[0.5; 8], &[0.2; 6]];
        let sign = |k: usize| if k.is_multiple_of(2) { 1.0 } else { -1.0 };
        let field: Vec<f64> = sampled(widths, |x, y| x - y)
            .iter()
            .enumerate()
            .map(|(cell, value)| {
                let (i, j) = (cell % 8, cell / 8);
                value
                    + 0.1 * sign(i) * (1.0 + j as f64)
                    + 0.2 * sign(j) * i as f64
                    + 0.3 * sign(i + j)
            })
            .collect();
        let expected = sampled(widths, |x, y| x - y);
        let off = (total(widths, &field) - total(widths, &expected)) / (4.0 * 1.2);
        for (found, value) in smooth(widths, &field).iter().zip(&expected) {
            assert!((found - value - off).abs() < 1e-14, "{found} {value}");
        }
    }

    #[test]
    fn the_total_is_kept_and_the_error_is_of_second_order() {
        let error = |count: usize| {
            let [columns, rows] = [1.0, 2.0].map(|length| {
                let widths = (0..count).map(|k| 1.0 + 0.5 * (k as f64 / count as f64));
                let sum: f64 = widths.clone().sum();
                widths.map(|w| w * length / sum).collect::<Vec<f64>>()
            });
            let widths: [&[f64]; 2] = [&columns, &rows];
            let field = sampled(widths, |x, y| (2.0 * x).sin() * y.exp());
            let found = smooth(widths, &field);
            let [before, after] = [&field, &found].map(|field| total(widths, field));
            assert!((after / before - 1.0).abs() < 1e-14);
            let off = found.iter().zip(&field).map(|(a, b)| (a - b).abs());
            off.fold(0.0, f64::max)
        };
        let [coarse, fine] = [error(20), error(40)];
        assert!(coarse < 0.03 && fine < coarse / 3.5, "{coarse} {fine}");
    }

    #[test]
    fn short_lines_keep_their_values() {
        let field = [1.0, 5.0, 2.0, 7.0];
        assert_eq!(smooth([&[1.0, 2.0], &[1.0, 1.0]], &field), field);
        let line = smooth([&[1.0; 4], &[1.0]], &[1.0, -1.0, 1.0, -1.0]);
        assert!(line.iter().all(|value| value.abs() < 1e-15), "{line:?}");
    }
}
