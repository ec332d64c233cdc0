//! Lines along which a field takes a value.

/// The pieces of the line on which a field on the cells of a grid takes `level`, joined to polylines.
///
/// `values` are `[iy][ix]` at the centres `x`, `y`; between them the field is linear along the sides of the squares of four centres (marching
/// squares).
pub(super) fn contour(values: &[f64], x: &[f64], y: &[f64], level: f64) -> Vec<Vec<(f64, f64)>> {
    let nx = x.len();
    let at = |i: usize, j: usize| values[j * nx + i] - level;
    let mut pieces: Vec<[(f64, f64); 2]> = Vec::new();
    for j in 1..y.len() {
        for i in 1..nx {
            // Corners in turn, and where the sides between them cross the level.
            let corners = [(i - 1, j - 1), (i, j - 1), (i, j), (i - 1, j)];
            let crossings: Vec<(f64, f64)> = (0..4)
                .filter_map(|k| {
                    let (a, b) = (corners[k], corners[(k + 1) % 4]);
                    // A side is shared by two squares: both must find the same point to the bit.
                    let (a, b) = if a <= b { (a, b) } else { (b, a) };
                    let (low, high) = (at(a.0, a.1), at(b.0, b.1));
                    ((low < 0.0) != (high < 0.0)).then(|| {
                        let s = low / (low - high);
                        (
                            x[a.0] + s * (x[b.0] - x[a.0]),
                            y[a.1] + s * (y[b.1] - y[a.1]),
                        )
                    })
                })
                .collect();
            match crossings[..] {
                [a, b] => pieces.push([a, b]),
                // A saddle: the sides that meet at the first and third corners.
                [a, b, c, d] => pieces.extend([[a, d], [b, c]]),
                _ => {}
            }
        }
    }
    let mut lines = Vec::new();
    while let Some([a, b]) = pieces.pop() {
        let mut line = std::collections::VecDeque::from([a, b]);
        loop {
            let (first, last) = (line[0], line[line.len() - 1]);
            let next = pieces
                .iter()
                .position(|p| p.contains(&first) || p.contains(&last));
            let Some(next) = next else { break };
            let [a, b] = pieces.swap_remove(next);
            if a == last {
                line.push_back(b);
            } else if b == last {
                line.push_back(a);
            } else if a == first {
                line.push_front(b);
            } else {
                line.push_front(a);
            }
        }
        lines.push(line.into());
    }
    lines
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_circle_is_one_closed_line() {
        let x: Vec<f64> = (0..20).map(|i| f64::from(i) / 10.0 - 0.95).collect();
        let values: Vec<f64> = x
            .iter()
            .flat_map(|b| x.iter().map(move |a| a * a + b * b))
            .collect();
        let lines = contour(&values, &x, &x, 0.4);
        assert_eq!(lines.len(), 1);
        assert_eq!(lines[0].first(), lines[0].last());
        for (a, b) in &lines[0] {
            assert!((a.hypot(*b) - 0.4f64.sqrt()).abs() < 0.01);
        }
        assert!(contour(&values, &x, &x, 5.0).is_empty());
    }
}
