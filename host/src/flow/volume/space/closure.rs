//! The linear closure of a cut cell of space: outgoing values on the straight line through the inflow values.

use nalgebra::Matrix3;

use crate::flow::volume::vector::dot;

/// Largest sum of the magnitudes of a row: more would amplify the inflow.
const MOST: f64 = 1.5;

/// An eigenvalue below this share of the largest belongs to a direction in which no inflow differs.
const DEGENERATE: f64 = 1e-7;

/// Above this share of the largest the least eigenvalue leaves the plain inverse its digits.
const PLAIN: f64 = 1e-3;

/// Coefficients `c` of `f_o = f + sum_i c_oi (f_i - f)`, by octant of the velocity and by whether the wall lets out.
///
/// Octants: bit 0 for v_x < 0, bit 1 for v_y < 0, bit 2 for v_z < 0. Rows are the outflow through the x, y and z faces and the wall, columns the inflow through the same.
#[derive(Clone, Debug)]
pub(in crate::flow) struct Closure(pub(in crate::flow) Box<[[[[f64; 4]; 4]; 2]; 8]>);

/// A face as the closure sees it.
#[derive(Clone, Copy, Debug, Default)]
pub(in crate::flow) struct Face {
    /// Its middle from the centroid of the cell.
    pub(in crate::flow) middle: [f64; 3],
    /// Its area.
    pub(in crate::flow) area: f64,
}

impl Closure {
    /// The closures of a cell with these faces (west, east, south, north, back, front) and this wall.
    pub(in crate::flow) fn new(faces: [Face; 6], wall: Face) -> Self {
        let mut closure = Self(Box::new([[[[0.0; 4]; 4]; 2]; 8]));
        let none = Face::default();
        for (octant, of_octant) in closure.0.iter_mut().enumerate() {
            let sides = [0, 1, 2].map(|axis| octant >> axis & 1);
            let [x, y, z] = [0, 1, 2].map(|axis| faces[2 * axis + sides[axis]]);
            let [to_x, to_y, to_z] = [0, 1, 2].map(|axis| faces[2 * axis + 1 - sides[axis]]);
            for (out, of_wall) in of_octant.iter_mut().enumerate() {
                let [from, to] = if out == 1 { [none, wall] } else { [wall, none] };
                *of_wall = coefficients([x, y, z, from], [to_x, to_y, to_z, to]);
            }
        }
        closure
    }
}

/// Least squares of a line through the inflow values about the centroid, weighted by the faces' areas.
fn coefficients(inflow: [Face; 4], outflow: [Face; 4]) -> [[f64; 4]; 4] {
    let mut matrix = [[0.0; 3]; 3];
    for face in inflow {
        for (row, a) in matrix.iter_mut().zip(face.middle) {
            for (entry, b) in row.iter_mut().zip(face.middle) {
                *entry += face.area * a * b;
            }
        }
    }
    let inverse = pseudo_inverse(matrix);
    // The pseudo-inverse times each inflow's middle and area.
    let moved = inflow.map(|face| inverse.map(|row| face.area * dot(row, face.middle)));
    let mut c = outflow.map(|face| match face.area > 0.0 {
        true => moved.map(|moved| dot(face.middle, moved)),
        false => [0.0; 4],
    });
    let sums = c.iter().map(|row| row.iter().map(|x| x.abs()).sum::<f64>());
    let most = sums.fold(0.0, f64::max);
    if most > MOST {
        c.iter_mut().flatten().for_each(|x| *x *= MOST / most);
    }
    c
}

/// Pseudo-inverse of a symmetric matrix without the directions of tiny eigenvalues.
fn pseudo_inverse(m: [[f64; 3]; 3]) -> [[f64; 3]; 3] {
    let trace = m[0][0] + m[1][1] + m[2][2];
    if trace <= 0.0 {
        return [[0.0; 3]; 3];
    }
    let minor = |a: usize, b: usize| {
        let [c, d] = [(a + 1) % 3, (a + 2) % 3];
        let [e, f] = [(b + 1) % 3, (b + 2) % 3];
        m[c][e] * m[d][f] - m[c][f] * m[d][e]
    };
    let minors = [0, 1, 2].map(|a| [0, 1, 2].map(|b| minor(a, b)));
    let determinant = dot(m[0], minors[0]);
    // The product of the two larger eigenvalues is at most the square of half the trace.
    if 4.0 * determinant > PLAIN * trace * trace * trace {
        return minors.map(|row| row.map(|entry| entry / determinant));
    }
    // The unit of the trace keeps the iteration away from the ends of the numbers' range.
    let scaled = Matrix3::from_fn(|a, b| m[a][b] / trace);
    let eigen = scaled.symmetric_eigen();
    let largest = eigen.eigenvalues.max();
    let mut inverse = [[0.0; 3]; 3];
    for (value, vector) in eigen
        .eigenvalues
        .iter()
        .zip(eigen.eigenvectors.column_iter())
    {
        if *value > DEGENERATE * largest {
            for (a, row) in inverse.iter_mut().enumerate() {
                for (b, entry) in row.iter_mut().enumerate() {
                    *entry += vector[a] * vector[b] / (value * trace);
                }
            }
        }
    }
    inverse
}

#[cfg(test)]
mod tests {
    use super::*;

    fn face(middle: [f64; 3], area: f64) -> Face {
        Face { middle, area }
    }

    /// Faces of a cell of these widths, from its centre.
    fn whole(widths: [f64; 3]) -> [Face; 6] {
        std::array::from_fn(|k| {
            let axis = k / 2;
            let mut middle = [0.0; 3];
            middle[axis] = if k % 2 == 0 { -0.5 } else { 0.5 } * widths[axis];
            face(middle, widths.iter().product::<f64>() / widths[axis])
        })
    }

    #[test]
    fn a_full_cell_has_the_diamond() {
        let closure = Closure::new(whole([1.0, 0.5, 1e-3]), Face::default());
        for octant in closure.0.iter() {
            for (a, row) in octant[0].iter().enumerate() {
                for (b, entry) in row.iter().enumerate() {
                    let expected = if a == b && a < 3 { -1.0 } else { 0.0 };
                    assert!((entry - expected).abs() < 1e-14, "{a} {b}: {entry}");
                }
            }
        }
    }

    #[test]
    fn a_linear_function_passes_a_cut_cell() {
        // The unit cube without the corner beyond x + y + z = 2.5, of which each face loses a triangle.
        let lost = 0.5_f64.powi(3) / 6.0;
        let centroid = (0.5 - lost * (1.0 - 0.5 / 4.0)) / (1.0 - lost);
        let at = |p: [f64; 3]| p.map(|x| x - centroid);
        let open = 1.0 - 0.125;
        let middle = (0.5 - 0.125 * (1.0 - 0.5 / 3.0)) / open;
        let faces = [
            face(at([0.0, 0.5, 0.5]), 1.0),
            face(at([1.0, middle, middle]), open),
            face(at([0.5, 0.0, 0.5]), 1.0),
            face(at([middle, 1.0, middle]), open),
            face(at([0.5, 0.5, 0.0]), 1.0),
            face(at([middle, middle, 1.0]), open),
        ];
        let wall = face(at([1.0 - 0.5 / 3.0; 3]), 0.125 * 3.0_f64.sqrt());
        let closure = Closure::new(faces, wall);
        let f = |face: &Face| dot([0.3, -0.7, 1.1], face.middle);
        // Towards all lower sides, from the upper ones and the wall.
        let rows = closure.0[7][0];
        for (axis, row) in rows.iter().take(3).enumerate() {
            let inflow = [&faces[1], &faces[3], &faces[5], &wall];
            let found: f64 = row.iter().zip(inflow).map(|(c, face)| c * f(face)).sum();
            assert!((found - f(&faces[2 * axis])).abs() < 1e-13, "{found}");
        }
    }

    #[test]
    fn directions_without_inflow_are_left_out() {
        let plate = pseudo_inverse([[2.0, 0.0, 0.0], [0.0, 4.0, 0.0], [0.0, 0.0, 1e-8]]);
        assert!((plate[0][0] - 0.5).abs() < 1e-14 && (plate[1][1] - 0.25).abs() < 1e-14);
        assert_eq!(plate[2][2], 0.0);
        let weak = pseudo_inverse([[1.0, 0.0, 0.0], [0.0, 1.0, 0.0], [0.0, 0.0, 1e-5]]);
        assert!((weak[2][2] - 1e5).abs() < 1e-4, "{weak:?}");
    }
}
