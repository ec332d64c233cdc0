//! The nodes of a warp during a sweep.

use super::super::layout::{FlowShape, axis, ceiling, face, split};
use super::column::{Column, wrapped};
use super::pass::Pass;
use crate::Pack;
use crate::math::Real;
use crate::simt::{Simt, WARP};

/// The nodes of a group, N of the innermost axis, and their previous row; with slopes also its difference from the one before, and the flux out of that.
pub(super) struct Group<T, const W: usize, const P: usize, const N: usize> {
    pub(super) jy: u32,
    pub(super) up: bool,
    /// The source row of row 0 of the sweep, counted from the face where the molecules come in; it may lie beyond that face.
    pub(super) start: i32,
    /// Whole cells that the molecules fly along y, in narrow lanes only.
    pub(super) whole: i32,
    /// The first and the last row beyond the faces: ghosts, or one that holds for all incoming molecules.
    pub(super) least: i32,
    pub(super) most: i32,
    /// Whether the face where the molecules come in mirrors a part of them: rows beyond it have no slopes.
    pub(super) mixed: bool,
    /// Offset and distance of rows, from that face on: of the populations of the first node, and of the entries of a row of the tables.
    pub(super) populations: [u32; 2],
    pub(super) entries: [u32; 2],
    /// `populations` of the own cell of a narrow lane, which also holds its rows beyond a face.
    pub(super) own: [u32; 2],
    /// The first entry of a row of the tables beyond that face, and beyond the opposite one.
    pub(super) beyond: [u32; 2],
    /// The distance to the populations of the second v_y, and to those of the second innermost node.
    pub(super) to_next_y: u32,
    pub(super) to_next: u32,
    /// Whether there is a second v_y, and a second node of the innermost axis.
    pub(super) both: bool,
    pub(super) two: bool,
    pub(super) vy: [T; P],
    /// The fraction of a cell that they travel along y.
    pub(super) along_y: [T; P],
    /// The nodes' weights in the mass, relative to the first node, and in the energy: in a full space v_z^2.
    pub(super) mass: T,
    pub(super) energy: [T; N],
    /// The nodes' arguments of Shakhov's polynomial.
    pub(super) argument: [T; N],
    pub(super) log_weight: [T; N],
    pub(super) before: [[Pack<T, W>; N]; P],
    pub(super) difference: [[Pack<T, W>; N]; P],
    pub(super) passed: [[Pack<T, W>; N]; P],
}

impl<T: Real, const W: usize, const P: usize, const N: usize> Group<T, W, P, N> {
    /// The j-th v_y; beyond the last the first, which then has no effect.
    #[inline(always)]
    pub(super) fn v_y(&self, j: usize) -> u32 {
        if j == 0 || !self.both {
            self.jy
        } else {
            self.jy + j as u32
        }
    }
    /// The source of the s-th row of the sweep, counted from the face where the molecules come in: below 0 beyond that face, from ny on beyond
    /// the opposite one.
    #[cfg_attr(target_arch = "nvptx64", inline(always))]
    pub(super) fn row(&self, shape: &FlowShape, s: u32) -> i32 {
        let (row, ny) = (self.start + s as i32, shape.ny as i32);
        let row = if shape.bottom != face::PERIODIC {
            row
        } else if W == 1 {
            wrapped(row, ny)
        } else {
            // A sweep reads so few rows beyond its strip that it crosses the end of space at most once.
            let row = if row < 0 { row + ny } else { row };
            if row >= ny { row - ny } else { row }
        };
        let row = if row < self.least { self.least } else { row };
        if row < self.most { row } else { self.most }
    }
    /// Offset of a row's populations at the sources of the lane's cells, of the j-th v_y and the k-th node of the innermost axis.
    #[inline(always)]
    pub(super) fn at(&self, shape: &FlowShape, row: i32, j: usize, k: usize) -> usize {
        if W == 1 && row as u32 >= shape.ny {
            return self.to(row, j, k);
        }
        let [first, distance] = self.populations;
        let to_next_y = if j == 0 { 0 } else { self.to_next_y };
        let to_next = match k {
            0 => 0,
            1 => self.to_next,
            _ => 2 * self.to_next,
        };
        first
            .wrapping_add((row as u32).wrapping_mul(distance))
            .wrapping_add(to_next_y)
            .wrapping_add(to_next) as usize
    }
    /// Offset of those at the lane's own cells.
    #[inline(always)]
    pub(super) fn to(&self, row: i32, j: usize, k: usize) -> usize {
        let [first, distance] = if W == 1 { self.own } else { self.populations };
        let to_next_y = if j == 0 { 0 } else { self.to_next_y };
        first
            .wrapping_add((row as u32).wrapping_mul(distance))
            .wrapping_add(to_next_y) as usize
            + k * WARP as usize
    }
}

impl<S: Simt, T: Real> Pass<'_, S, T> {
    /// The group of this number among those that fly up or down.
    #[cfg_attr(target_arch = "nvptx64", inline(always))]
    #[track_caller]
    pub(super) fn group<const SLOPED: bool, const W: usize, const P: usize, const N: usize>(
        &self,
        column: &Column<T, W>,
        number: u32,
        up: bool,
        lead: u32,
    ) -> Group<T, W, P, N> {
        let Self {
            t, shape, sweep, ..
        } = *self;
        let axes = self.memory.axes;
        let (pair, inner) = split(number, ceiling(shape.count_m, N as u32));
        let (first, end) = if up {
            (sweep.down, shape.count_y)
        } else {
            (0, sweep.down)
        };
        let (jy, m) = (first + pair * P as u32, inner * N as u32);
        let both = P == 1 || jy + 1 < end;
        let two = m + 1 < shape.count_m;
        // From the face where the molecules come in on.
        let towards = |first: u32, distance: u32| {
            if up {
                [first, distance]
            } else {
                [
                    first + (shape.ny - 1) * distance,
                    0_u32.wrapping_sub(distance),
                ]
            }
        };
        let pair = column.jx * shape.count_y + jy;
        let low = if up {
            column.low as i32
        } else {
            shape.ny as i32 - (sweep.rows + column.low) as i32
        };
        let whole = if W == 1 {
            axes.get(t, (shape.axis_y(jy) + axis::WHOLE) as usize)
                .to_f64() as i32
        } else {
            0
        };
        // Rows beyond a face along y use the column of the cell itself, or of the nearest cell.
        let most = (shape.pitch - W as u32) as i32;
        let own = if column.cell < most {
            column.cell
        } else {
            most
        };
        let own = if own < 0 { 0 } else { own as u32 };
        let [first_column, distance] = column.columns;
        // Ghosts of rows lie apart from the cells.
        let [first, of_row, of_pair, of_inner] = if column.ghosts != 0 {
            let of_row = shape.ghost_columns * shape.count_m;
            let first = shape.ghosts_of_row(column.ghosts - 1, pair, m) + column.first;
            [first, of_row, of_row * shape.ny, shape.ghost_columns]
        } else {
            let of_row = shape.pitch * shape.count_m;
            let first = shape.row_start(pair, m, 0) + column.first;
            [first, of_row, of_row * shape.rows_of_pair(), WARP]
        };
        let (enters, leaves) = if up {
            (shape.bottom, shape.top)
        } else {
            (shape.top, shape.bottom)
        };
        let mirrors = enters == face::MIRROR || enters == face::MIXED;
        let beyond = |top: bool| shape.face_columns(if top { 3 } else { 2 }) + own;
        let ny = shape.ny as i32;
        let mut group = Group {
            jy,
            up,
            start: low - lead as i32 - whole,
            whole,
            // All rows beyond a wall or an inflow are the same.
            least: if enters == face::PERIODIC {
                0
            } else if mirrors {
                -(shape.ghost_rows as i32)
            } else {
                -1
            },
            most: if SLOPED && leaves == face::MIRROR {
                ny
            } else {
                ny - 1
            },
            mixed: enters == face::MIXED,
            populations: towards(first, of_row),
            entries: towards(first_column, distance),
            own: towards(
                shape.row_start(pair, m, 0) + shape.in_row(own),
                shape.pitch * shape.count_m,
            ),
            beyond: [beyond(!up), beyond(up)],
            to_next_y: if both { of_pair } else { 0 },
            to_next: of_inner,
            both,
            two,
            vy: [T::ZERO; P],
            along_y: [T::ZERO; P],
            mass: T::ZERO,
            energy: [T::ZERO; N],
            argument: [T::ZERO; N],
            log_weight: [T::ZERO; N],
            before: [[Pack::ZERO; N]; P],
            difference: [[Pack::ZERO; N]; P],
            passed: [[Pack::ZERO; N]; P],
        };
        for j in 0..P {
            let node = shape.axis_y(group.v_y(j));
            let of_y = |e: u32| axes.get(t, (node + e) as usize);
            group.vy[j] = of_y(axis::VELOCITY);
            group.along_y[j] = of_y(axis::FRACTION);
        }
        for k in 0..N {
            let node = shape.axis_m(if k == 0 || two { m + k as u32 } else { m });
            let of_m = |e: u32| axes.get(t, (node + e) as usize);
            if k == 0 || two {
                group.energy[k] = of_m(axis::WHOLE);
            }
            if k > 0 && two {
                group.mass = of_m(axis::VELOCITY);
            }
            group.argument[k] = of_m(axis::FRACTION);
            group.log_weight[k] = of_m(axis::LOG_WEIGHT);
        }
        group
    }
}
