//! Streaming of distributions on the velocity grid of the [collision integral](crate::collision), on a line of cells.
//!
//! Distributions lie `[cell][ix][iy][iz]`, `iz` fastest, as the collision kernels take them, in f64. The scheme is that of the BGK wing (A. Frezzotti,
//! G. P. Ghiroldi and L. Gibelli, 2009, arXiv:0903.4044, eqs. 12 and 15): a shift by `k` whole cells, and the fraction `a` of a cell with or without van Leer's slopes.

use crate::bgk::sweep::limited;
use crate::kernel;
use crate::math::{Real, quotient};

/// A line of cells, each with a distribution.
#[derive(Clone, Copy, Debug, PartialEq)]
#[repr(C)]
pub struct LineShape {
    /// Cells of the line.
    pub cells: u32,
    /// Nodes of a distribution.
    pub nodes: u32,
    /// Nodes of the same v_x.
    pub plane: u32,
    /// 1 with van Leer's slopes, 0 without.
    pub sloped: u32,
}

/// Index of the three numbers kept for each v_x.
pub mod courant {
    /// 1 for molecules that move to the right, -1 for the others.
    pub const DIRECTION: usize = 0;
    /// Whole cells of the shift, k.
    pub const WHOLE: usize = 1;
    /// The fraction left over, a.
    pub const FRACTION: usize = 2;
    /// Entries.
    pub const LEN: usize = 3;
}

kernel! {
    /// `out` = `from`, shifted by |v| dt: `f_p - a (f_p - f_(p-1)) - a(1-a)/2 (S_p - S_(p-1))`, p being k cells upstream. One thread a value.
    ///
    /// `ends[side][node]` comes in at the left (0) and the right (1) end; where molecules leave, the last cell is repeated. `shifts` has the entries of
    /// [`courant`] for each v_x. Neighbouring threads have neighbouring nodes, so all loads are coalesced; of the four or two values that a thread
    /// reads all but one are in the cache, as neighbouring cells have read or will read them. 16 bytes a value. Nothing is written that is read.
    pub fn stream_cells(t, from: In<f64>, ends: In<f64>, shifts: In<f64>, out: Out<f64>; shape: LineShape) {
        let item = t.global_idx() as u32;
        if item >= shape.cells * shape.nodes {
            return;
        }
        let cell = quotient(item, shape.nodes);
        let node = item - cell * shape.nodes;
        let shift = quotient(node, shape.plane) as usize * courant::LEN;
        let forward = shifts.get(t, shift + courant::DIRECTION) > 0.0;
        let whole = shifts.get(t, shift + courant::WHOLE) as i32;
        let a = shifts.get(t, shift + courant::FRACTION);
        // Places are counted from the end where molecules come in.
        let last = shape.cells as i32 - 1;
        let load = |place: i32| {
            if place < 0 {
                let side = if forward { 0 } else { shape.nodes };
                ends.get(t, (side + node) as usize)
            } else {
                let place = if place < last { place } else { last };
                let cell = if forward { place } else { last - place };
                from.get(t, cell as usize * shape.nodes as usize + node as usize)
            }
        };
        let cell = cell as i32;
        let p = if forward { cell - whole } else { last - cell - whole };
        let (here, before) = (load(p), load(p - 1));
        let mut value = Real::mul_add(a, before - here, here);
        if shape.sloped != 0 {
            let (first, after) = (load(p - 2), load(p + 1));
            let middle = here - before;
            let halves = limited(middle, after - here) - limited(before - first, middle);
            value = Real::mul_add(-a * (1.0 - a), halves, value);
        }
        out.set(t, item as usize, value);
    }
}

kernel! {
    /// Copies `count` values from one place to another, one thread a value, 16 bytes each.
    pub fn copy_values(t, from: In<f64>, to: Out<f64>; first: u32, into: u32, count: u32) {
        let k = t.global_idx() as u32;
        if k < count {
            let value = from.get(t, (first + k) as usize);
            to.set(t, (into + k) as usize, value);
        }
    }
}
