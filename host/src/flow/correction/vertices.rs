//! Averages over the vertices of cells, which take out what jumps from cell to cell.
//!
//! Both sides of a plate without thickness have vertices of their own: averages do not pass through walls.

use super::fluxes::{PARTS, State};

/// The vertices of the cells with gas.
pub(in crate::flow) struct Vertices {
    /// The place of each in the grid.
    place: Vec<[u32; 2]>,
    /// The four of each cell.
    of_cell: Vec<[usize; 4]>,
    /// Volume of each cell.
    volume: Vec<f64>,
    /// Volume of the cells about each vertex.
    about: Vec<f64>,
}

/// The corners of a cell: those at its lower and upper end along each axis.
const CORNERS: [[usize; 2]; 4] = [[0, 0], [1, 0], [0, 1], [1, 1]];

/// Neighbours at a vertex, by the corners that they have there: the cell before a face, the one behind it, and the axis across the face.
const NEIGHBOURS: [[usize; 3]; 4] = [[1, 0, 0], [3, 2, 0], [2, 0, 1], [3, 1, 1]];

impl Vertices {
    /// The vertices of these cells of a grid with so many columns and rows, which have these volumes; those on periodic sides are one.
    ///
    /// `is_open` has for each of them whether gas passes its upper face along an axis. A vertex is one for all cells that are joined about it.
    pub(in crate::flow) fn new(
        [nx, ny]: [usize; 2],
        cells: &[usize],
        volume: &[f64],
        periodic: [bool; 2],
        is_open: impl Fn(usize, usize) -> bool,
    ) -> Self {
        let wrap = |at: usize, count: usize, on: bool| if on && at == count { 0 } else { at };
        // The cells about each point of the grid, by the corner that they have there.
        let mut about_point = vec![[None; 4]; (nx + 1) * (ny + 1)];
        for (k, &cell) in cells.iter().enumerate() {
            for (corner, [a, b]) in CORNERS.into_iter().enumerate() {
                let column = wrap(cell % nx + a, nx, periodic[0]);
                let row = wrap(cell / nx + b, ny, periodic[1]);
                about_point[row * (nx + 1) + column][corner] = Some(k);
            }
        }
        let mut found = Self {
            place: Vec::new(),
            of_cell: vec![[0; 4]; cells.len()],
            volume: volume.to_vec(),
            about: Vec::new(),
        };
        for (point, around) in about_point.into_iter().enumerate() {
            // Each cell is of its own group until a face joins it to another.
            let mut group = [0, 1, 2, 3];
            for [before, behind, axis] in NEIGHBOURS {
                if let (Some(k), Some(_)) = (around[before], around[behind])
                    && is_open(k, axis)
                {
                    let [to, from] = [group[before], group[behind]];
                    group
                        .iter_mut()
                        .for_each(|of| *of = if *of == from { to } else { *of });
                }
            }
            let mut vertex = [None; 4];
            for (corner, k) in around.into_iter().enumerate() {
                let Some(k) = k else { continue };
                let number = *vertex[group[corner]].get_or_insert_with(|| {
                    let place = [point % (nx + 1), point / (nx + 1)];
                    found.place.push(place.map(|at| at as u32));
                    found.about.push(0.0);
                    found.about.len() - 1
                });
                found.of_cell[k][corner] = number;
                found.about[number] += volume[k];
            }
        }
        found
    }

    /// The vertices of each cell by numbers without gaps, and the position of each in half cells.
    pub(in crate::flow) fn numbered(&self) -> (Vec<[usize; 4]>, Vec<[u32; 2]>) {
        let positions = self.place.iter().map(|place| place.map(|at| 2 * at));
        (self.of_cell.clone(), positions.collect())
    }

    /// Replaces a share of each cell's amount, which is kept in total: a quarter goes to each vertex, and from there to its cells by their volume.
    pub(in crate::flow) fn spread(&self, amounts: &mut [State], share: &[f64]) {
        let mut at = vec![[0.0; PARTS]; self.about.len()];
        for ((vertices, amount), share) in self.of_cell.iter().zip(&*amounts).zip(share) {
            for &vertex in vertices {
                (0..PARTS).for_each(|c| at[vertex][c] += 0.25 * share * amount[c]);
            }
        }
        for (k, amount) in amounts.iter_mut().enumerate() {
            amount.iter_mut().for_each(|value| *value *= 1.0 - share[k]);
            for &vertex in &self.of_cell[k] {
                let part = self.volume[k] / self.about[vertex];
                (0..PARTS).for_each(|c| amount[c] += part * at[vertex][c]);
            }
        }
    }

    /// Replaces a share of each cell's value by the mean of its vertices.
    pub(in crate::flow) fn smooth(&self, values: &mut [State], share: &[f64]) {
        let mut at = vec![[0.0; PARTS]; self.about.len()];
        for ((vertices, value), volume) in self.of_cell.iter().zip(&*values).zip(&self.volume) {
            for &vertex in vertices {
                let part = volume / self.about[vertex];
                (0..PARTS).for_each(|c| at[vertex][c] += part * value[c]);
            }
        }
        for (k, value) in values.iter_mut().enumerate() {
            for c in 0..PARTS {
                let mean: f64 = self.of_cell[k].iter().map(|&vertex| at[vertex][c]).sum();
                value[c] += share[k] * (0.25 * mean - value[c]);
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Two columns of two cells, with a plate between those of the lower row.
    fn beside_a_plate() -> Vertices {
        let is_open = |cell: usize, axis: usize| axis == 1 || cell >= 2;
        Vertices::new([2, 2], &[0, 1, 2, 3], &[1.0; 4], [false; 2], is_open)
    }

    #[test]
    fn a_plate_has_vertices_on_both_sides() {
        let found = beside_a_plate();
        let [low_left, low_right, top_left, top_right] = found.of_cell[..] else {
            panic!("{:?}", found.of_cell);
        };
        // At its foot they are two, at its end one for all cells about it.
        assert_ne!(low_left[1], low_right[0]);
        assert_eq!(low_left[3], low_right[2]);
        assert_eq!(low_left[3], top_left[1]);
        assert_eq!(low_left[3], top_right[0]);
        let (_, positions) = found.numbered();
        assert_eq!(positions.len(), 10);
        assert_eq!(positions[low_left[1]], positions[low_right[0]]);
    }

    #[test]
    fn averages_do_not_pass_a_plate() {
        let is_shut = |cell: usize, axis: usize| axis == 1 && cell < 2;
        let whole = Vertices::new([2, 2], &[0, 1, 2, 3], &[1.0; 4], [false; 2], is_shut);
        let mut values = [0.0, 1.0, 0.0, 1.0].map(|value| [value; PARTS]);
        whole.smooth(&mut values, &[1.0; 4]);
        assert_eq!(values.map(|value| value[0]), [0.0, 1.0, 0.0, 1.0]);
        let mut values = [4.0, 0.0, 0.0, 0.0].map(|value| [value; PARTS]);
        beside_a_plate().spread(&mut values, &[1.0; 4]);
        let total: f64 = values.iter().map(|value| value[0]).sum();
        assert!((total - 4.0).abs() < 1e-14);
        // The right one gains at the end of the plate alone.
        assert!((values[1][0] - 0.25).abs() < 1e-14, "{values:?}");
    }
}
