//! Holes of a few cells within bodies, closed off from all other gas.

use super::Space;
use crate::flow::space::Kind;

/// Cells of a hole that is no space to compute in: one about a corner of the grid has eight.
const FEW: usize = 8;

/// Makes solid each hole of a few cells that touches no side; the middle of the first one. A hole begins at one of the cut cells.
///
/// Its gas meets nothing but one wall, and its cells are too few for a flow.
pub(super) fn fill(space: &mut Space, cut: impl Iterator<Item = usize>) -> Option<[f64; 3]> {
    let mut first = None;
    for begin in cut {
        if space.kind[begin] == Kind::Solid {
            continue;
        }
        let Some(hole) = hole(space, begin) else {
            continue;
        };
        first.get_or_insert(space.centroid[begin]);
        for cell in hole {
            space.kind[cell] = Kind::Solid;
            space.volume[cell] = 0.0;
            space.open[cell] = [0.0; super::FACES];
        }
    }
    first
}

/// The cells of the hole about a cell; none where it is wide or touches a side.
fn hole(space: &Space, begin: usize) -> Option<Vec<usize>> {
    let counts = space.counts();
    let strides = [1, counts[0], counts[0] * counts[1]];
    let mut hole = vec![begin];
    let mut at = 0;
    while at < hole.len() {
        let cell = hole[at];
        for axis in 0..3 {
            let place = cell / strides[axis] % counts[axis];
            for (side, is_last) in [place == 0, place + 1 == counts[axis]]
                .into_iter()
                .enumerate()
            {
                if space.open[cell][2 * axis + side] <= 0.0 {
                    continue;
                }
                if is_last {
                    return None;
                }
                let next = match side {
                    0 => cell - strides[axis],
                    _ => cell + strides[axis],
                };
                if !hole.contains(&next) {
                    hole.push(next);
                }
            }
        }
        if hole.len() > FEW {
            return None;
        }
        at += 1;
    }
    Some(hole)
}
