//! Streaming in place (algorithm 1).

use super::Order;
use crate::bgk::layout::{FlowShape, axis, ceiling, split};
use crate::kernel;
use crate::math::quotient;

/// Threads of a block of [`stream_line()`].
pub const STREAM_THREADS: u32 = 256;

/// Populations of a tile that one thread moves.
const STREAM_CELLS: u32 = 4;

/// Most nodes of a block.
const STREAM_NODES: u32 = 4;

/// Words before the cells of each node in shared memory: one for the cell before the first, the others to put nodes into different banks.
const STREAM_BEFORE: u32 = 8;

/// Words of a tile in shared memory.
const STREAM_TILE: u32 = STREAM_CELLS * STREAM_THREADS + STREAM_NODES * STREAM_BEFORE;

/// A cell of a row, which may lie beyond its ends, and the offset of its population.
#[derive(Clone, Copy)]
struct Spot {
    ix: i32,
    at: u32,
}

kernel! {
    /// Streams the populations of a few nodes in place (algorithm 1).
    ///
    /// **Block**: as many neighbouring nodes of the innermost axis as fill lines of memory; all fly equally far. It walks over their rows tile by tile from
    /// the downstream end. Each thread loads the populations `k` cells upstream of its own four. The tile lies in shared memory with one cell more, and is
    /// written back after a barrier. `incoming[side][node]` comes in at the ends. In the paper a block has one node and a thread one cell; four cells keep four
    /// times the bytes in flight, and the next tile's loads overlap.
    /// **Cost**: 8 bytes a population in `f32`, a barrier a tile.
    /// **No race**: a tile is written after a barrier that follows its loads, and no later tile, farther upstream, reads it. Tiles alternate between two places of
    /// shared memory, so that a barrier separates the readers of one from the next writers there.
    pub fn stream_line<T: Real>(t, incoming: In<T>, axes: In<T>, f: InOut<T>; shape: FlowShape, order: Order) for f32, f64
    shared { tiles: [T; 2 * STREAM_TILE] } {
        let together = order.together(size_of::<T>());
        let (pair, group) = split(t.block_idx(), ceiling(shape.count_m, together));
        let (jx, _) = split(pair, shape.count_y);
        let of = |k: u32| axes.get(t, (shape.axis_x(jx) + k) as usize);
        let forward = of(axis::VELOCITY) > T::ZERO;
        let whole = of(axis::WHOLE).to_f64() as i32;
        let fraction = of(axis::FRACTION);
        // Threads follow the order of memory: neighbouring cells, then the nodes, then the next cells.
        let (rest, within) = split(t.thread_idx(), order.cells);
        let (run, own_node) = split(rest, together);
        let own_cell = (run * order.cells + within) as i32;
        let m = group * together + own_node;
        // A surplus node has no cells.
        let (m, cells) = if m < shape.count_m { (m, shape.nx) } else { (0, 0) };
        let side = if forward { 0 } else { shape.count_x * shape.count_y * shape.count_m };
        let enters = incoming.get(t, (side + pair * shape.count_m + m) as usize);
        let each = quotient(STREAM_THREADS, together);
        // Places are counted from the end where molecules come in, where lines of memory begin.
        let far = (order.whole(shape.nx) - 1) as i32;
        let spot = |place: i32| {
            let ix = if forward { place } else { far - place };
            Spot { ix, at: order.place(&shape, [pair, m], ix as u32) }
        };
        // The distance of places in memory is even across whole blocks.
        let (on, apart) = if forward { (1, shape.count_m as i32) } else { (-1, -(shape.count_m as i32)) };
        let later = |spot: Spot, places: i32| Spot {
            ix: spot.ix + on * places,
            at: spot.at.wrapping_add((apart * places) as u32),
        };
        let load = |spot: Spot| {
            let mut value = enters;
            if (spot.ix as u32) < cells {
                value = f.get(t, spot.at as usize);
            }
            value
        };
        let (here, source) = (spot(own_cell), spot(own_cell - whole));
        let load_tile = |first: i32| {
            let mut values = [T::ZERO; STREAM_CELLS as usize];
            for c in 0..STREAM_CELLS {
                values[c as usize] = load(later(source, first + (c * each) as i32));
            }
            let before = if own_cell == 0 { load(spot(first - whole - 1)) } else { T::ZERO };
            (values, before)
        };
        let size = (STREAM_CELLS * each) as i32;
        let own = own_node * (STREAM_CELLS * each + STREAM_BEFORE) + STREAM_BEFORE + own_cell as u32;
        let mut first = quotient(far as u32, size as u32) as i32 * size;
        let mut tile = 0;
        let mut ahead = load_tile(first);
        while first >= 0 {
            // This shuffle hides the value from the optimiser, so addresses are recomputed and hold no registers.
            let begin = t.shuffle(first, 0);
            let (values, before) = ahead;
            for c in 0..STREAM_CELLS {
                tiles.set(t, tile + own + c * each, values[c as usize]);
            }
            if own_cell == 0 {
                tiles.set(t, tile + own - 1, before);
            }
            if first > 0 {
                ahead = load_tile(begin - size);
            }
            t.sync_threads();
            for c in 0..STREAM_CELLS {
                let target = later(here, begin + (c * each) as i32);
                if (target.ix as u32) < cells {
                    let own = tile + own + c * each;
                    let (value, before) = (tiles.get(t, own), tiles.get(t, own - 1));
                    f.set(t, target.at as usize, fraction.mul_add(before - value, value));
                }
            }
            tile = STREAM_TILE - tile;
            first -= size;
        }
    }
}
