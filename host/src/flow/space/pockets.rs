//! Holes of a few cells within bodies, closed off from all other gas.

use super::{CellOf, FACES, Kind};

/// Cells of a hole that is no space to compute in: one about a corner of the grid has four.
const FEW: usize = 4;

/// Makes solid each hole of a few cells that touches no side; the middle of the first one.
///
/// Its gas meets nothing but one wall, and its cells are too few for a flow.
pub(super) fn fill(nx: usize, cells: &mut [CellOf]) -> Option<[f64; 2]> {
    let ny = cells.len() / nx;
    let mut first = None;
    let mut seen = vec![false; cells.len()];
    for begin in 0..cells.len() {
        // A hole begins at a cut cell.
        let starts = matches!(cells[begin].kind, Kind::Cut | Kind::Corner);
        if !starts || seen[begin] {
            continue;
        }
        let mut hole = vec![begin];
        let mut at = 0;
        let mut touches = false;
        while at < hole.len() && hole.len() <= FEW && !touches {
            let (i, j) = (hole[at] % nx, hole[at] / nx);
            let beyond = [
                (i > 0).then(|| hole[at] - 1),
                (i + 1 < nx).then(|| hole[at] + 1),
                (j > 0).then(|| hole[at] - nx),
                (j + 1 < ny).then(|| hole[at] + nx),
            ];
            for (face, beyond) in beyond.into_iter().enumerate() {
                if cells[hole[at]].open[face] <= 0.0 {
                    continue;
                }
                match beyond {
                    None => touches = true,
                    Some(next) if !hole.contains(&next) => hole.push(next),
                    Some(_) => {}
                }
            }
            at += 1;
        }
        if touches || hole.len() > FEW {
            continue;
        }
        first.get_or_insert(cells[begin].centroid);
        for &cell in &hole {
            seen[cell] = true;
            let cell = &mut cells[cell];
            cell.kind = Kind::Solid;
            cell.volume = 0.0;
            cell.open = [0.0; FACES];
            cell.segments.clear();
            cell.crowded = false;
        }
    }
    first
}
