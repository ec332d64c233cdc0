//! The linear closure of a cut cell: outgoing values on the straight line through the inflow values.

/// Largest sum of the magnitudes of a row: more would amplify the inflow.
const MOST: f64 = 1.5;

/// An eigenvalue below this share of the other belongs to a direction in which no inflow differs.
const DEGENERATE: f64 = 1e-7;

/// Coefficients `c` of `f_o = f + sum_i c_oi (f_i - f)`, by quadrant of the velocity and by whether the wall lets out.
///
/// Rows are the outflow through the x face, the y face and the wall, columns the inflow through the same.
#[derive(Clone, Debug, Default)]
pub(in crate::flow) struct Closure(pub(in crate::flow) [[[[f64; 3]; 3]; 2]; 4]);

/// A face as the closure sees it: its middle from the centroid, and its length.
#[derive(Clone, Copy, Debug, Default)]
pub(in crate::flow) struct Face {
    pub(in crate::flow) middle: [f64; 2],
    pub(in crate::flow) length: f64,
}

impl Closure {
    /// The closures of a cell with these faces (west, east, south, north) and this wall.
    pub(in crate::flow) fn new(faces: [Face; 4], wall: Face) -> Self {
        let mut closure = Self::default();
        for quadrant in 0..4 {
            let (xi, xo) = if quadrant % 2 == 0 { (0, 1) } else { (1, 0) };
            let (yi, yo) = if quadrant < 2 { (2, 3) } else { (3, 2) };
            let none = Face::default();
            for out in [false, true] {
                let inflow = [faces[xi], faces[yi], if out { none } else { wall }];
                let outflow = [faces[xo], faces[yo], if out { wall } else { none }];
                closure.0[quadrant][usize::from(out)] = coefficients(inflow, outflow);
            }
        }
        closure
    }
}

/// Least squares of a line through the inflow values about the centroid, weighted by the faces' lengths.
fn coefficients(inflow: [Face; 3], outflow: [Face; 3]) -> [[f64; 3]; 3] {
    let mut c = [[0.0; 3]; 3];
    let [mut xx, mut xy, mut yy] = [0.0; 3];
    for face in inflow {
        let [x, y] = face.middle;
        xx += face.length * x * x;
        xy += face.length * x * y;
        yy += face.length * y * y;
    }
    let inverse = pseudo_inverse(xx, xy, yy);
    for (row, o) in c.iter_mut().zip(outflow) {
        if o.length <= 0.0 {
            continue;
        }
        for (entry, i) in row.iter_mut().zip(inflow) {
            let [x, y] = i.middle;
            let moved = [
                inverse[0] * x + inverse[1] * y,
                inverse[1] * x + inverse[2] * y,
            ];
            *entry = i.length * (o.middle[0] * moved[0] + o.middle[1] * moved[1]);
        }
    }
    let most = c
        .iter()
        .map(|row| row.iter().map(|x| x.abs()).sum::<f64>())
        .fold(0.0, f64::max);
    if most > MOST {
        c.iter_mut().flatten().for_each(|x| *x *= MOST / most);
    }
    c
}

/// Pseudo-inverse `[xx, xy, yy]` of a symmetric matrix without the directions of tiny eigenvalues.
fn pseudo_inverse(xx: f64, xy: f64, yy: f64) -> [f64; 3] {
    let mean = 0.5 * (xx + yy);
    let radius = (0.5 * (xx - yy)).hypot(xy);
    let large = mean + radius;
    if large <= 0.0 {
        return [0.0; 3];
    }
    // The smaller eigenvalue by the determinant, which keeps its digits.
    let small = (xx * yy - xy * xy) / large;
    // Unit vector of the larger eigenvalue.
    let angle = 0.5 * (2.0 * xy).atan2(xx - yy);
    let (sin, cos) = angle.sin_cos();
    let a = 1.0 / large;
    let b = if small > DEGENERATE * large {
        1.0 / small
    } else {
        0.0
    };
    [
        a * cos * cos + b * sin * sin,
        (a - b) * sin * cos,
        a * sin * sin + b * cos * cos,
    ]
}

#[cfg(test)]
mod tests {
    use super::*;

    fn face(middle: [f64; 2], length: f64) -> Face {
        Face { middle, length }
    }

    #[test]
    fn a_full_cell_has_the_diamond() {
        let closure = Closure::new(
            [
                face([-0.5, 0.0], 1.0),
                face([0.5, 0.0], 1.0),
                face([0.0, -0.5], 1.0),
                face([0.0, 0.5], 1.0),
            ],
            Face::default(),
        );
        for quadrant in closure.0 {
            for (a, row) in quadrant[0].iter().enumerate() {
                for (b, entry) in row.iter().enumerate() {
                    let expected = if a == b && a < 2 { -1.0 } else { 0.0 };
                    assert!((entry - expected).abs() < 1e-14, "{a} {b}: {entry}");
                }
            }
        }
    }

    #[test]
    fn a_linear_function_passes_a_cut_cell() {
        // The unit square without the triangle above x + y = 1.8.
        let volume = 1.0 - 0.02;
        let centroid = (0.5 - 0.02 * (0.8 + 0.4 / 3.0)) / volume;
        let at = |x: f64, y: f64| [x - centroid, y - centroid];
        let wall = face(at(0.9, 0.9), 0.2 * 2.0_f64.sqrt());
        let closure = Closure::new(
            [
                face(at(0.0, 0.5), 1.0),
                face(at(1.0, 0.4), 0.8),
                face(at(0.5, 0.0), 1.0),
                face(at(0.4, 1.0), 0.8),
            ],
            wall,
        );
        let f = |p: [f64; 2]| 0.3 * p[0] - 0.7 * p[1];
        // To the south west: in through the east, the north and the wall.
        let row = closure.0[3][0][0];
        let found = row[0] * f(at(1.0, 0.4)) + row[1] * f(at(0.4, 1.0)) + row[2] * f(wall.middle);
        assert!((found - f(at(0.0, 0.5))).abs() < 1e-14, "{found}");
    }
}
