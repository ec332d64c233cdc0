//! The cells of a lane along x, in strips of rows laid end to end.

use super::super::layout::{FACE_WIDTH, FlowShape, ceiling, face, split};
use super::pass::{PlaneSweep, halo_lanes};
use crate::math::{Real, quotient};
use crate::simt::{Simt, WARP};

/// The `W` neighbouring cells of a thread along x, and the place that their molecules come from. That place has as many neighbours in memory, so one access reads it.
pub(super) struct Column<T, const W: usize> {
    /// The first of the cells, perhaps beyond the ends of the row.
    pub(super) cell: i32,
    /// Whether the lane owns its cells: it writes them.
    pub(super) owns: bool,
    /// Whether the cells lie beyond the end where molecules leave, where there is no slope.
    pub(super) flat: bool,
    /// The end whose ghosts the access reads: 1 left, 2 right, 0 for cells.
    pub(super) ghosts: u32,
    /// Offset of the access in its row of cells or ghosts.
    pub(super) first: u32,
    /// The first entry of a row of the tables in row 0 of the cells, and the distance of rows.
    pub(super) columns: [u32; 2],
    pub(super) jx: u32,
    pub(super) vx: T,
    pub(super) forward: bool,
    /// Lowest row of the strip, and the number of its rows that belong to the strip below.
    pub(super) low: u32,
    pub(super) skipped: u32,
    /// The fraction of a cell that the molecules fly along x, and 1 less that; 0 beyond a wall that mirrors a part, where there are no slopes.
    pub(super) fraction: T,
    pub(super) rest: T,
    /// Place of the block's partial sums.
    pub(super) chunk: u32,
}

/// The place of a cell in a periodic row.
#[cfg_attr(target_arch = "nvptx64", inline(always))]
pub(super) fn wrapped(place: i32, n: i32) -> i32 {
    // An unsigned division cannot fail on the device: adding `n` copies makes any distance positive.
    let turns = quotient(place.unsigned_abs(), n as u32) as i32 + 1;
    let place = (place + turns * n) as u32;
    (place - quotient(place, n as u32) * n as u32) as i32
}

impl<T: Real, const W: usize> Column<T, W> {
    /// The cells of this lane in a tile of strips laid end to end.
    #[cfg_attr(target_arch = "nvptx64", inline(always))]
    pub(super) fn new<S: Simt>(
        t: &S,
        [tile, chunk, jx]: [u32; 3],
        shape: &FlowShape,
        sweep: &PlaneSweep,
        [vx, whole, fraction]: [T; 3],
        forward: bool,
        sloped: bool,
    ) -> Self {
        let rows = sweep.rows;
        let strips = ceiling(sweep.stepped, rows);
        let (cell, owns, strip) = strip_cell::<S, W>(t, tile, strips, shape.nx, forward, sloped);
        let (nx, width) = (shape.nx as i32, W as i32);
        // Only narrow lanes have molecules that fly whole cells.
        let whole = if W == 1 { whole.to_f64() as i32 } else { 0 };
        let from = if forward { cell - whole } else { cell + whole };
        let (below, above) = (from < 0, from >= nx);
        let (side, kind) = if below {
            (1, shape.left)
        } else {
            (2, shape.right)
        };
        let outside = below || above;
        let enters = if forward { below } else { above };
        let mixed = kind == face::MIXED && enters;
        let mirrors = outside && (kind == face::MIRROR || mixed);
        let flat = outside && !enters && (kind == face::TABLE || kind == face::MIXED);
        let place = if kind != face::PERIODIC || !outside {
            from
        } else if W == 1 {
            wrapped(from, nx)
        } else if below {
            from + nx
        } else {
            from - nx
        };
        // Cells without effect must stay within the row.
        let place = if place < nx { place } else { nx - width };
        let place = if place < 0 { 0 } else { place as u32 };
        let of_face = mirrors || (enters && kind == face::TABLE);
        let ghost = if below {
            shape.ghost_columns as i32 + from
        } else {
            from - nx
        };
        // All strips have the same number of rows; the last one overlaps the strip below.
        let (low, most) = (strip * rows, sweep.stepped.max(rows) - rows);
        #[allow(
            clippy::implicit_saturating_sub,
            reason = "a choice like the others here"
        )]
        let skipped = if low > most { low - most } else { 0 };
        Self {
            cell,
            owns,
            flat,
            ghosts: if mirrors { side } else { 0 },
            first: if mirrors {
                ghost as u32
            } else {
                shape.in_row(place)
            },
            columns: if of_face {
                [shape.face_columns(side - 1), FACE_WIDTH]
            } else {
                [place, shape.pitch]
            },
            jx,
            vx,
            forward,
            low: sweep.low + low - skipped,
            skipped,
            fraction,
            rest: if mirrors && mixed {
                T::ZERO
            } else {
                T::ONE - fraction
            },
            chunk,
        }
    }

    /// The first cell of an owner lane; any cell for a halo lane.
    #[inline(always)]
    pub(super) fn own_cell(&self) -> u32 {
        if self.owns { self.cell as u32 } else { 0 }
    }
}

/// The first cell of this lane in a tile of strips of `nx` cells laid end to end, whether the lane owns its cells, and the strip.
#[cfg_attr(target_arch = "nvptx64", inline(always))]
pub(super) fn strip_cell<S: Simt, const W: usize>(
    t: &S,
    tile: u32,
    strips: u32,
    nx: u32,
    forward: bool,
    sloped: bool,
) -> (i32, bool, u32) {
    let (lane, halo_lanes) = (t.lane(), halo_lanes(sloped, W as u32));
    let spans = ceiling(nx, W as u32);
    let lead = match (sloped, forward) {
        (false, false) => 0,
        (true, true) if W == 1 => 2,
        _ => 1,
    };
    let (strip, place) = split(tile * (WARP - halo_lanes) + lane, spans + halo_lanes);
    let owns = lane >= lead
        && lane < lead + WARP - halo_lanes
        && place >= lead
        && place < lead + spans
        && strip < strips;
    let strip = if strip < strips { strip } else { strips - 1 };
    ((place as i32 - lead as i32) * W as i32, owns, strip)
}
