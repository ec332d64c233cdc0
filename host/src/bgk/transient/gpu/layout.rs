//! The order of populations in the memory of a machine.

use rarefy_kernels::bgk::layout::FlowShape;
use rarefy_kernels::{Real, WARP};

/// Populations `[jx][jy][m][place]` in the order of the kernels: `[jx][jy][place / 32][m][place % 32]`, and zeros for ghosts.
pub(super) fn laid_out<T: Real>(shape: &FlowShape, f: &[T]) -> Vec<T> {
    let (tiles, nodes) = (shape.plane() / WARP, shape.count_m);
    let mut words = vec![T::ZERO; shape.words()];
    let of_pair = (shape.plane() * nodes) as usize;
    for (pair, f) in exchanged(f, [nodes, tiles])
        .chunks_exact(of_pair)
        .enumerate()
    {
        words[shape.row_start(pair as u32, 0, 0) as usize..][..of_pair].copy_from_slice(f);
    }
    words
}

/// The inverse of that order.
pub(super) fn gathered<T: Real>(shape: &FlowShape, f: &[T]) -> Vec<T> {
    let (tiles, nodes) = (shape.plane() / WARP, shape.count_m);
    let of_pair = (shape.plane() * nodes) as usize;
    let cells: Vec<T> = (0..shape.count_x * shape.count_y)
        .flat_map(|pair| &f[shape.row_start(pair, 0, 0) as usize..][..of_pair])
        .copied()
        .collect();
    exchanged(&cells, [tiles, nodes])
}

/// Transposes the matrix of each pair (v_x, v_y), whose elements are the populations of a warp's cells.
fn exchanged<T: Real>(f: &[T], counts: [u32; 2]) -> Vec<T> {
    let [rows, columns] = counts.map(|count| count as usize);
    let run = WARP as usize;
    let mut reversed = Vec::with_capacity(f.len() + run);
    for pair in f.chunks_exact(rows * columns * run) {
        for column in 0..columns {
            for row in 0..rows {
                reversed.extend_from_slice(&pair[(row * columns + column) * run..][..run]);
            }
        }
    }
    reversed
}
