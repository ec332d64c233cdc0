//! Equations of the faces of a line, eliminated from left to right.
//!
//! A row holds the unknowns of two neighbouring faces and those that all rows share. Orthogonal reflections remove the unknowns of a face from the rows that hold
//! them. Growing modes do not disturb them. The rows that are left hold those of the next face. The shared unknowns are columns that all rows carry.

/// An equation, with `L` unknowns of a face and `S` shared ones.
#[derive(Clone, Copy, Debug)]
pub(super) struct Row<const L: usize, const S: usize> {
    /// Coefficients of a face.
    pub(super) own: [f64; L],
    /// Coefficients of the next face.
    pub(super) next: [f64; L],
    /// Coefficients of the shared unknowns.
    pub(super) shared: [f64; S],
    /// The right side.
    pub(super) right: f64,
}

impl<const L: usize, const S: usize> Default for Row<L, S> {
    fn default() -> Self {
        Self {
            own: [0.0; L],
            next: [0.0; L],
            shared: [0.0; S],
            right: 0.0,
        }
    }
}

impl<const L: usize, const S: usize> Row<L, S> {
    /// The coefficients, and the right side as the last entry.
    fn entries(&mut self) -> impl Iterator<Item = &mut f64> {
        let own = self.own.iter_mut().chain(&mut self.next);
        own.chain(&mut self.shared).chain([&mut self.right])
    }

    /// Divides the equation by its largest coefficient.
    fn scale(&mut self) {
        let coefficients = self.own.iter().chain(&self.next).chain(&self.shared);
        let largest = coefficients.fold(0.0_f64, |most, v| most.max(v.abs()));
        if largest > 0.0 {
            self.entries().for_each(|v| *v /= largest);
        }
    }

    /// Changes each entry by that of another row.
    fn change(&mut self, mut other: Self, by: impl Fn(f64) -> f64) {
        for (value, other) in self.entries().zip(other.entries()) {
            *value += by(*other);
        }
    }
}

/// The elimination of a line.
pub(super) struct Elimination<const L: usize, const S: usize> {
    rows: Vec<Row<L, S>>,
    triangles: Vec<[Row<L, S>; L]>,
}

impl<const L: usize, const S: usize> Elimination<L, S> {
    pub(super) fn new(faces: usize) -> Self {
        Self {
            rows: Vec::with_capacity(2 * L + S),
            triangles: Vec::with_capacity(faces),
        }
    }

    /// Adds equations of the present face, and of the next one.
    pub(super) fn add(&mut self, rows: impl IntoIterator<Item = Row<L, S>>) {
        self.rows.extend(rows);
    }

    /// Eliminates the unknowns of the present face, and goes on to the next one. None where they are not determined.
    pub(super) fn advance(&mut self) -> Option<()> {
        let rows = &mut self.rows;
        if rows.len() < L {
            return None;
        }
        rows.iter_mut().for_each(Row::scale);
        for column in 0..L {
            let rows = &mut rows[column..];
            let norm = rows
                .iter()
                .map(|row| row.own[column].powi(2))
                .sum::<f64>()
                .sqrt();
            if !(norm > 0.0 && norm.is_finite()) {
                return None;
            }
            let diagonal = norm.copysign(-rows[0].own[column]);
            let mut reflection: Vec<f64> = rows.iter().map(|row| row.own[column]).collect();
            reflection[0] -= diagonal;
            let square: f64 = reflection.iter().map(|v| v * v).sum();
            let mut along = Row::default();
            for (row, v) in rows.iter().zip(&reflection) {
                along.change(*row, |value| value * v);
            }
            for (row, v) in rows.iter_mut().zip(&reflection) {
                row.change(along, |along| -(2.0 * along / square * v));
            }
        }
        let mut triangle = [Row::default(); L];
        for (kept, row) in triangle.iter_mut().zip(rows.drain(..L)) {
            *kept = row;
        }
        self.triangles.push(triangle);
        for row in rows.iter_mut() {
            row.own = std::mem::replace(&mut row.next, [0.0; L]);
        }
        Some(())
    }

    /// The unknowns of all faces and the shared ones, after the last face. None where they are not determined.
    pub(super) fn solve(self) -> Option<(Vec<[f64; L]>, [f64; S])> {
        let rows = self.rows.get(..S)?;
        let matrix = nalgebra::DMatrix::from_fn(S, S, |i, j| rows[i].shared[j]);
        let right = nalgebra::DVector::from_fn(S, |i, _| rows[i].right);
        let found = matrix.full_piv_lu().solve(&right)?;
        let shared: [f64; S] = std::array::from_fn(|k| found[k]);
        let mut next = [0.0; L];
        let mut faces = vec![[0.0; L]; self.triangles.len()];
        for (face, rows) in faces.iter_mut().zip(&self.triangles).rev() {
            let mut own = [0.0; L];
            for (column, row) in rows.iter().enumerate().rev() {
                let known = |entries: &[f64], values: &[f64]| -> f64 {
                    entries.iter().zip(values).map(|(a, b)| a * b).sum()
                };
                let value = row.right
                    - known(&row.own[column + 1..], &own[column + 1..])
                    - known(&row.next, &next)
                    - known(&row.shared, &shared);
                own[column] = value / row.own[column];
            }
            (*face, next) = (own, own);
        }
        let finite = faces.iter().flatten().chain(&shared).all(|v| v.is_finite());
        finite.then_some((faces, shared))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Heat conduction through cells of unit width, with one flux that is the same at all faces.
    #[test]
    fn a_line_of_cells_has_a_straight_profile() {
        let cells = 10;
        let mut line = Elimination::<1, 1>::new(cells + 1);
        line.add([Row {
            own: [1.0],
            right: 3.0,
            ..Row::default()
        }]);
        for _ in 0..cells {
            line.add([Row {
                own: [1.0],
                next: [-1.0],
                shared: [-2.0],
                right: 0.0,
            }]);
            line.advance().unwrap();
        }
        line.add([Row {
            own: [1.0],
            right: 1.0,
            ..Row::default()
        }]);
        line.advance().unwrap();
        let (faces, [flux]) = line.solve().unwrap();
        assert!((flux - 0.1).abs() < 1e-14);
        for (k, [value]) in faces.iter().enumerate() {
            assert!((value - (3.0 - 0.2 * k as f64)).abs() < 1e-13);
        }
        let mut open = Elimination::<1, 1>::new(1);
        assert!(open.advance().is_none());
    }
}
