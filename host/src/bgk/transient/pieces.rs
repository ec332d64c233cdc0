//! The state of a run in pieces, each of some cells.

use std::ops::Range;

use crate::error::{Error, Result};

/// The piece of a checkpoint that one rank has: the state of its own cells.
#[derive(Clone, Debug, Default, PartialEq)]
#[non_exhaustive]
pub struct CheckpointPart {
    /// Steps taken.
    pub step: u64,
    /// Cells of all, in the order `[iy][ix]`.
    pub cells: Range<usize>,
    /// Populations of these cells, weights included, `[jx][jy][m][cell]`; none in a flow by the collision integral.
    pub populations: Vec<f64>,
    /// Further state of the backend: rows of one number a cell, then so many numbers of each cell. In a flow by the collision integral these are its distributions, `[cell][ix][iy][iz]`.
    pub extra: Vec<f64>,
    /// Number of these rows.
    pub rows: usize,
}

impl CheckpointPart {
    /// A piece after no steps.
    ///
    /// # Errors
    /// Populations or rows whose number is no multiple of the number of cells.
    pub fn new(
        cells: Range<usize>,
        populations: Vec<f64>,
        extra: Vec<f64>,
        rows: usize,
    ) -> Result<Self> {
        Piece::new(cells.clone(), &populations, &extra, rows)?;
        Ok(Self {
            step: 0,
            cells,
            populations,
            extra,
            rows,
        })
    }

    /// The state of some cells, in the order in which they are wanted, from the pieces that hold them.
    ///
    /// # Errors
    /// Cells that no piece holds; pieces of different problems or steps.
    pub fn select(parts: &[Self], wanted: &[Range<usize>]) -> Result<Self> {
        let pieces: Vec<Piece<'_>> = parts.iter().map(Self::piece).collect();
        Piece::select(&pieces, wanted)
    }

    fn piece(&self) -> Piece<'_> {
        Piece {
            step: self.step,
            cells: self.cells.clone(),
            populations: &self.populations,
            extra: &self.extra,
            rows: self.rows,
        }
    }
}

/// A [`CheckpointPart`] whose values are elsewhere.
pub(super) struct Piece<'a> {
    step: u64,
    cells: Range<usize>,
    populations: &'a [f64],
    extra: &'a [f64],
    rows: usize,
}

impl<'a> Piece<'a> {
    /// As [`CheckpointPart::new`].
    pub(super) fn new(
        cells: Range<usize>,
        populations: &'a [f64],
        extra: &'a [f64],
        rows: usize,
    ) -> Result<Self> {
        let count = cells.len();
        let fits = |values: &[f64]| count > 0 && values.len().is_multiple_of(count);
        if !(fits(populations) && fits(extra) && rows * count <= extra.len()) {
            return Err(Error::invalid(
                "checkpoint",
                format!("{} populations of {count} cells", populations.len()),
                "populations and state of each cell",
            ));
        }
        Ok(Self {
            step: 0,
            cells,
            populations,
            extra,
            rows,
        })
    }

    /// As [`CheckpointPart::select`].
    pub(super) fn select(parts: &[Self], wanted: &[Range<usize>]) -> Result<CheckpointPart> {
        let runs = runs(parts, wanted)?;
        let count = wanted.iter().map(ExactSizeIterator::len).sum();
        let shape = |part: &Self| {
            let cells = part.cells.len().max(1);
            [
                part.populations.len() / cells,
                part.rows,
                part.extra.len() / cells,
            ]
        };
        let [nodes, rows, numbers] = parts.first().map_or([0; 3], shape);
        let step = parts.first().map_or(0, |part| part.step);
        let same = |part: &Self| shape(part) == [nodes, rows, numbers] && part.step == step;
        if !parts.iter().all(same) {
            return Err(Error::invalid(
                "checkpoint",
                "pieces of different problems or steps",
                "pieces of one run",
            ));
        }
        let mut populations = Vec::with_capacity(nodes * count);
        let mut extra = Vec::with_capacity(numbers * count);
        for node in 0..nodes {
            for (part, run) in &runs {
                let row = &part.populations[node * part.cells.len()..];
                populations.extend_from_slice(&row[run.clone()]);
            }
        }
        for row in 0..rows {
            for (part, run) in &runs {
                let row = &part.extra[row * part.cells.len()..];
                extra.extend_from_slice(&row[run.clone()]);
            }
        }
        let of_cell = numbers - rows;
        for (part, run) in &runs {
            let of_cells = &part.extra[rows * part.cells.len()..];
            extra.extend_from_slice(&of_cells[run.start * of_cell..run.end * of_cell]);
        }
        Ok(CheckpointPart {
            step,
            cells: 0..count,
            populations,
            extra,
            rows,
        })
    }
}

/// The pieces in which wanted cells lie, and where within them.
fn runs<'a>(
    parts: &'a [Piece<'a>],
    wanted: &[Range<usize>],
) -> Result<Vec<(&'a Piece<'a>, Range<usize>)>> {
    let mut runs = Vec::new();
    for range in wanted {
        let mut at = range.start;
        while at < range.end {
            let Some(part) = parts.iter().find(|part| part.cells.contains(&at)) else {
                return Err(Error::invalid(
                    "checkpoint",
                    format!("no piece with cell {at}"),
                    "pieces of all cells",
                ));
            };
            let end = range.end.min(part.cells.end);
            let first = part.cells.start;
            runs.push((part, at - first..end - first));
            at = end;
        }
    }
    Ok(runs)
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Two nodes, a row, and two numbers of each cell: cell, and in the first digit what it is.
    fn piece(cells: Range<usize>) -> CheckpointPart {
        let row = |digit: usize| cells.clone().map(move |cell| (100 * digit + cell) as f64);
        let populations = row(1).chain(row(2)).collect();
        let of_cells = cells.clone().flat_map(|cell| [400 + cell, 500 + cell]);
        let extra = row(3).chain(of_cells.map(|number| number as f64)).collect();
        CheckpointPart::new(cells.clone(), populations, extra, 1).unwrap()
    }

    #[test]
    fn cells_come_from_the_pieces_that_hold_them() {
        let pieces = [piece(0..3), piece(3..4), piece(4..9)];
        let whole = CheckpointPart::select(&pieces, &[0..9; 1]).unwrap();
        assert_eq!(whole, piece(0..9));
        // Ghosts beyond both ends of a ring.
        let wanted = [8..9, 0..4, 4..6];
        let part = CheckpointPart::select(&pieces, &wanted).unwrap();
        let cells = [8.0, 0.0, 1.0, 2.0, 3.0, 4.0, 5.0];
        assert_eq!(part.populations[..7], cells.map(|cell| 100.0 + cell));
        assert_eq!(part.extra[..7], cells.map(|cell| 300.0 + cell));
        assert_eq!(part.extra[7..11], [408.0, 508.0, 400.0, 500.0]);
        assert_eq!(CheckpointPart::select(&[whole], &wanted).unwrap(), part);
    }

    #[test]
    fn missing_cells_and_foreign_pieces_are_errors() {
        let text = |parts: &[CheckpointPart]| {
            CheckpointPart::select(parts, &[0..9; 1])
                .unwrap_err()
                .to_string()
        };
        assert!(text(&[piece(0..3), piece(4..9)]).contains("no piece with cell 3"));
        let foreign = CheckpointPart::new(3..9, vec![0.0; 6], vec![0.0; 18], 1).unwrap();
        assert!(text(&[piece(0..3), foreign]).contains("pieces of different problems"));
        let mut later = piece(3..9);
        later.step = 4;
        assert!(text(&[piece(0..3), later]).contains("pieces of different problems or steps"));
        assert!(CheckpointPart::new(0..3, vec![0.0; 7], Vec::new(), 0).is_err());
        assert!(CheckpointPart::new(0..3, vec![0.0; 6], vec![0.0; 3], 2).is_err());
    }
}
