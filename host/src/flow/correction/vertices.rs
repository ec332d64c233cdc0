//! Averages over the vertices of cells, which take out what jumps from cell to cell.

use super::fluxes::{PARTS, State};

/// The vertices of the cells with gas.
pub(in crate::flow) struct Vertices {
    /// Columns of the grid.
    columns: usize,
    /// The four of each cell.
    of_cell: Vec<[usize; 4]>,
    /// Volume of each cell.
    volume: Vec<f64>,
    /// Volume of the cells about each vertex.
    about: Vec<f64>,
}

impl Vertices {
    /// The vertices of these cells of a grid with so many columns and rows, which have these volumes; those on periodic sides are one.
    pub(in crate::flow) fn new(
        [nx, ny]: [usize; 2],
        cells: &[usize],
        volume: &[f64],
        periodic: [bool; 2],
    ) -> Self {
        let wrap = |at: usize, count: usize, on: bool| if on && at == count { 0 } else { at };
        let of_cell: Vec<[usize; 4]> = cells
            .iter()
            .map(|&cell| {
                let (i, j) = (cell % nx, cell / nx);
                [(0, 0), (1, 0), (0, 1), (1, 1)].map(|(a, b)| {
                    wrap(j + b, ny, periodic[1]) * (nx + 1) + wrap(i + a, nx, periodic[0])
                })
            })
            .collect();
        let mut about = vec![0.0; (nx + 1) * (ny + 1)];
        for (vertices, volume) in of_cell.iter().zip(volume) {
            vertices.iter().for_each(|&vertex| about[vertex] += volume);
        }
        Self {
            columns: nx,
            of_cell,
            volume: volume.to_vec(),
            about,
        }
    }

    /// The vertices of each cell by numbers without gaps, and the position of each in half cells.
    pub(in crate::flow) fn numbered(&self) -> (Vec<[usize; 4]>, Vec<[u32; 2]>) {
        let across = self.columns + 1;
        let mut numbers = vec![usize::MAX; self.about.len()];
        let mut positions = Vec::new();
        let of_cell = self.of_cell.iter().map(|vertices| {
            vertices.map(|vertex| {
                if numbers[vertex] == usize::MAX {
                    numbers[vertex] = positions.len();
                    positions.push([vertex % across, vertex / across].map(|k| 2 * k as u32));
                }
                numbers[vertex]
            })
        });
        (of_cell.collect(), positions)
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
