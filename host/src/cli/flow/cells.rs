//! Cells of space that a flag names.

use std::fmt;
use std::str::FromStr;

use crate::bgk::Space;
use crate::cli::text::kept_as_text;
use crate::error::{Error, Result};

/// Cells by their numbers along the axes, as `10,20` on a line or `3x5,3x6` on a rectangle.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(in crate::cli) struct Cells(Vec<Vec<usize>>);

kept_as_text!(Cells);

impl FromStr for Cells {
    type Err = &'static str;

    fn from_str(text: &str) -> Result<Self, Self::Err> {
        let cell = |text: &str| -> Option<Vec<usize>> {
            let numbers = text.trim().split('x').map(|n| n.parse().ok());
            numbers
                .collect::<Option<Vec<usize>>>()
                .filter(|cell| cell.len() <= 2)
        };
        let cells: Option<Vec<_>> = text.split(',').map(cell).collect();
        cells
            .map(Self)
            .ok_or("numbers of cells are needed, such as 10,20 on a line or 3x5,3x6 on a rectangle")
    }
}

impl fmt::Display for Cells {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let cell = |cell: &Vec<usize>| -> String {
            let numbers: Vec<String> = cell.iter().map(usize::to_string).collect();
            numbers.join("x")
        };
        let cells: Vec<String> = self.0.iter().map(cell).collect();
        f.write_str(&cells.join(","))
    }
}

impl Cells {
    /// The places of the cells in fields `[iy][ix]`.
    pub(super) fn places(&self, space: &Space) -> Result<Vec<usize>> {
        let (nx, ny) = (space.nx(), space.ny());
        let place = |cell: &Vec<usize>| match (&cell[..], space.dimensions()) {
            (&[ix], 1) if ix < nx => Ok(ix),
            (&[ix, iy], 2) if ix < nx && iy < ny => Ok(iy * nx + ix),
            (_, dimensions) => Err(Error::invalid(
                "save_f",
                Self(vec![cell.clone()]),
                match dimensions {
                    1 => format!("a number from 0 to {}", nx - 1),
                    _ => format!("a cell from 0x0 to {}x{}", nx - 1, ny - 1),
                },
            )),
        };
        self.0.iter().map(place).collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn cells_have_places_in_fields() {
        let line = Space::line(5, [0.0, 1.0]).expect("a line");
        let plane = Space::rectangle([5, 3], [0.0, 1.0], [0.0, 1.0]).expect("a rectangle");
        let places = |text: &str, space| text.parse::<Cells>().expect("cells").places(space);
        assert_eq!(places("0, 4", &line).expect("cells"), [0, 4]);
        assert_eq!(places("4x0,1x2", &plane).expect("cells"), [4, 11]);
        for (text, space) in [("5", &line), ("1x0", &line), ("1", &plane), ("0x3", &plane)] {
            assert!(places(text, space).is_err(), "{text}");
        }
        for text in ["", "1,", "-1", "1x2x3", "a"] {
            assert!(text.parse::<Cells>().is_err(), "{text}");
        }
        assert_eq!(
            "1x2,3x4".parse::<Cells>().expect("cells").to_string(),
            "1x2,3x4"
        );
    }
}
