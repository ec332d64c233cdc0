//! The order of populations in the memory of a machine.

use rarefy_kernels::bgk_flow::FlowShape;
use rarefy_kernels::{Real, WARP};

/// Populations `[jx][jy][m][place]` in the order in which the kernels have them: `[jx][jy][place / 32][m][place % 32]`, and the zeros behind them.
pub(super) fn laid_out<T: Real>(shape: &FlowShape, f: &[T]) -> Vec<T> {
    let (tiles, nodes) = (shape.plane() / WARP, shape.count_m);
    let mut f = exchanged(f, [nodes, tiles]);
    f.resize(shape.populations(), T::ZERO);
    f
}

/// The same back.
pub(super) fn gathered<T: Real>(shape: &FlowShape, f: &[T]) -> Vec<T> {
    let (tiles, nodes) = (shape.plane() / WARP, shape.count_m);
    exchanged(f, [tiles, nodes])
}

/// Transposes the matrix of each pair (v_x, v_y), whose elements are the populations of a warp's cells.
fn exchanged<T: Real>(f: &[T], counts: [u32; 2]) -> Vec<T> {
    let [rows, columns] = counts.map(|count| count as usize);
    let run = WARP as usize;
    let mut turned = Vec::with_capacity(f.len() + run);
    for pair in f.chunks_exact(rows * columns * run) {
        for column in 0..columns {
            for row in 0..rows {
                turned.extend_from_slice(&pair[(row * columns + column) * run..][..run]);
            }
        }
    }
    turned
}
