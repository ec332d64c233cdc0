//! The operator in O(M^2): a jump m -> m + d of one particle meets the jumps j -> j - d of all partners at once.
//!
//! The coefficient of a collision depends, times the square roots of the energies, only on the jump that starts or ends in the lowest of
//! the four cells. So for each d, with `above[i]` the sum of f from cell i to the top,
//!
//! ```text
//! up    alpha = S(m, m+d) above[m+d+1] + u,                 u = sum over l < m of S(l, l+d) f_(l+d)
//! down  beta  = S(m, m+d) (above[m+1] - above[M-d]) + v,    v = sum over l < m of S(l, l+d) f_l
//! flow J(m, d) = f_(m+d) beta - f_m alpha   enters cell m and leaves cell m + d
//! ```
//!
//! The flows cancel in the sum over cells exactly, and for each d in the sum over m up to roundoff: number and energy are conserved.

use super::{TILE_PITCH, row_sum};
use crate::kernel;
use crate::math::{Real, quotient};
use crate::memory::{In, Out, Shared};
use crate::simt::{Simt, WARP};

/// Words of a tile of flows in shared memory.
const TILE_WORDS: u32 = WARP * TILE_PITCH;

/// The problem of [`pair_flows()`] and its kin.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[repr(C)]
pub struct PairShape {
    /// Cells M.
    pub cells: u32,
    /// Distance of two states: M + 64 at least, with zeros from M on.
    pub pitch: u32,
    /// Tiles of 32 values of d: (M - 1) / 32, rounded up.
    pub tiles: u32,
    /// Warps that share the rows of a tile, and make a block.
    pub segments: u32,
    /// States.
    pub states: u32,
    /// 1 if the coefficient depends on m only (theta = 1): the table then has M entries.
    pub uniform: u32,
}

impl PairShape {
    /// Where the table of a tile begins: tile k has `tiles - k` chunks of 32 rows of 32 entries, d along the lanes.
    #[inline(always)]
    pub const fn tile_start(&self, tile: u32) -> u32 {
        WARP * WARP * (tile * self.tiles - tile * tile.wrapping_sub(1) / 2)
    }
}

/// Quantity that a pass over the jumps puts into the cells m and m + d.
pub mod quantity {
    /// The flow J into m.
    pub const FLOW: u32 = 0;
    /// The frequency alpha of jumps from m to m + d; belongs to m.
    pub const RISE: u32 = 1;
    /// The frequency beta of jumps from m + d to m; belongs to m + d.
    pub const FALL: u32 = 2;
}

/// The rows of one tile that a warp walks through.
struct Walk<'a, T: Real> {
    table: In<'a, T>,
    f: In<'a, T>,
    above: In<'a, T>,
    shape: PairShape,
    /// This lane's d.
    d: u32,
    /// Offset of the state.
    at: usize,
    /// Where the tile's table begins.
    start: u32,
}

/// The sums u and v of a lane along its d, as f64 totals of whole chunks and in the working precision.
#[derive(Clone, Copy)]
pub(super) struct Carry<T> {
    total: [f64; 2],
    pub(super) now: [T; 2],
    /// Of the present chunk alone, where `now` is too coarse to be added up for long.
    part: [T; 2],
}

impl<T: Real> Carry<T> {
    #[inline(always)]
    pub(super) fn new(total: [f64; 2]) -> Self {
        Self {
            total,
            now: [T::from_f64(total[0]), T::from_f64(total[1])],
            part: [T::ZERO; 2],
        }
    }

    #[inline(always)]
    pub(super) fn add(&mut self, t: T, b: T, a: T) {
        self.now = [t.mul_add(b, self.now[0]), t.mul_add(a, self.now[1])];
        if size_of::<T>() == 4 {
            self.part = [t.mul_add(b, self.part[0]), t.mul_add(a, self.part[1])];
        }
    }

    /// At the end of a chunk: sums in f32 begin anew, so that their error does not grow with the number of rows.
    #[inline(always)]
    pub(super) fn settle(&mut self) {
        if size_of::<T>() == 4 {
            let more = [self.part[0].to_f64(), self.part[1].to_f64()];
            *self = Self::new([self.total[0] + more[0], self.total[1] + more[1]]);
        }
    }

    #[inline(always)]
    fn finished(&self) -> [f64; 2] {
        if size_of::<T>() == 4 {
            self.total
        } else {
            [self.now[0].to_f64(), self.now[1].to_f64()]
        }
    }
}

/// Rows whose coefficients are loaded together.
const AHEAD: usize = 8;

impl<T: Real> Walk<'_, T> {
    /// The coefficients of `AHEAD` rows from `m` on.
    #[inline(always)]
    #[track_caller]
    fn coefficients<S: Simt>(&self, t: &S, m: u32) -> [T; AHEAD] {
        let mut values = [T::ZERO; AHEAD];
        if self.shape.uniform == 0 {
            let at = (self.start + m * WARP + t.lane()) as usize;
            for k in 0..AHEAD {
                values[k] = self.table.get(t, at + k * WARP as usize);
            }
        } else {
            for k in 0..AHEAD {
                values[k] = self.table.get_or(t, m as usize + k, T::ZERO);
            }
        }
        values
    }

    /// Adds the rows of a chunk to u and v alone.
    #[inline(always)]
    #[track_caller]
    fn skim<S: Simt>(&self, t: &S, chunk: u32, carry: &mut Carry<T>) {
        let mut m = chunk * WARP;
        while m < (chunk + 1) * WARP {
            let values = self.coefficients(t, m);
            for k in 0..AHEAD {
                let row = m + k as u32;
                let a = self.f.get(t, self.at + row as usize);
                let b = self.f.get(t, self.at + (row + self.d) as usize);
                carry.add(values[k], b, a);
            }
            m += AHEAD as u32;
        }
        carry.settle();
    }

    /// Puts the quantity of the 32 x 32 jumps of a chunk into the tile, row m along the rows.
    #[inline(always)]
    #[track_caller]
    #[allow(clippy::too_many_arguments, reason = "views of one kernel")]
    fn fill<S: Simt>(
        &self,
        t: &S,
        chunk: u32,
        what: u32,
        top: T,
        carry: &mut Carry<T>,
        tiles: Shared<'_, T>,
        own: u32,
    ) {
        let mut m = chunk * WARP;
        let mut to = own + t.lane();
        while m < (chunk + 1) * WARP {
            let values = self.coefficients(t, m);
            for k in 0..AHEAD {
                let row = m + k as u32;
                let inside = row + self.d < self.shape.cells;
                let low = self.at + row as usize;
                let high = low + self.d as usize;
                let a = self.f.get(t, low);
                let b = self.f.get(t, high);
                let here = self.above.get(t, low + 1);
                let beyond = self.above.get(t, high + 1);
                let [u, v] = carry.now;
                let alpha = values[k].mul_add(beyond, u);
                let beta = values[k].mul_add(here - top, v);
                let value = if what == quantity::FLOW {
                    b.mul_add(beta, -(a * alpha))
                } else if what == quantity::RISE {
                    alpha
                } else {
                    beta
                };
                let value = if inside { value } else { T::ZERO };
                tiles.set(t, to, value);
                carry.add(values[k], b, a);
                to += TILE_PITCH;
            }
            m += AHEAD as u32;
        }
        carry.settle();
    }
}

/// Sums along the antidiagonals of a tile. Lane l sums what belongs to the cells l and l + 32 from the tile's first on: it starts from
/// what the chunk before left for cell l, and returns the whole sum of cell l and what it has of cell l + 32.
#[inline(always)]
#[track_caller]
fn antidiagonal_sums<S: Simt, T: Real>(
    t: &S,
    tile: Shared<'_, T>,
    at: u32,
    left: f64,
) -> (f64, f64) {
    let lane = t.lane();
    let mut sum = left;
    let mut whole = 0.0;
    for r in 0..WARP {
        let c = lane.wrapping_sub(r) % WARP;
        sum += tile.get(t, at + r * TILE_PITCH + c).to_f64();
        let done = r == lane;
        whole = if done { sum } else { whole };
        sum = if done { 0.0 } else { sum };
    }
    (whole, sum)
}

/// Most segments of a launch: the assembler shares the registers out for so many warps.
pub const MOST_SEGMENTS: u32 = 12;

/// Bytes of shared memory that a warp needs, with numbers of `size` bytes.
pub const fn warp_bytes(size: u32) -> u32 {
    TILE_WORDS * size + 2 * WARP * 8
}

/// Words of shared memory of a block: tiles, carries, and what one segment leaves to the next.
const fn tile_words(shape: &PairShape) -> u32 {
    shape.segments * TILE_WORDS
}
const fn carry_words(shape: &PairShape) -> u32 {
    shape.segments * 2 * WARP
}

/// The body of both kernels.
#[inline(always)]
#[track_caller]
#[allow(clippy::too_many_arguments, reason = "views of one kernel")]
fn sweep<S: Simt, T: Real>(
    t: &S,
    table: In<'_, T>,
    f: In<'_, T>,
    above: In<'_, T>,
    rise: Out<'_, f64>,
    fall: Out<'_, f64>,
    shape: PairShape,
    what: u32,
    flows: Shared<'_, T>,
    carries: Shared<'_, f64>,
) {
    let segment = t.warp();
    let tile = quotient(t.block_idx(), shape.states);
    let state = t.block_idx() - tile * shape.states;

    let d = 1 + tile * WARP + t.lane();
    let at = state as usize * shape.pitch as usize;
    let out = (state * shape.tiles + tile) as usize * shape.pitch as usize;
    let walk = Walk {
        table,
        f,
        above,
        shape,
        d,
        at,
        start: shape.tile_start(tile),
    };
    // Lanes whose d is M or more have no jumps.
    let top = if d < shape.cells {
        above.get(t, at + (shape.cells - d) as usize)
    } else {
        T::ZERO
    };

    // This warp's chunks of rows.
    let chunks = shape.tiles - tile;
    let segments = if shape.segments < chunks {
        shape.segments
    } else {
        chunks
    };
    // A warp without work has no rows, and goes the same way through all barriers: under conditions of a warp's own the compiler
    // makes two of one barrier.
    let works = segment < segments;
    let (first, last) = if works {
        let first = quotient(segment * chunks, segments);
        (first, quotient((segment + 1) * chunks, segments))
    } else {
        (0, 0)
    };
    let own = segment * TILE_WORDS;
    let slot = |w: u32, k: u32| (w * 2 + k) * WARP + t.lane();

    // u and v at the first row of each segment.
    let mut carry = Carry::new([0.0; 2]);
    if shape.segments > 1 {
        // Nobody starts behind the last segment.
        let end = if segment + 1 < segments { last } else { first };
        for chunk in first..end {
            walk.skim(t, chunk, &mut carry);
        }
        let sums = carry.finished();
        carries.set(t, slot(segment, 0), sums[0]);
        carries.set(t, slot(segment, 1), sums[1]);
        t.sync_threads();
        let mut sums = [0.0; 2];
        for w in 0..segment {
            sums[0] += carries.get(t, slot(w, 0));
            sums[1] += carries.get(t, slot(w, 1));
        }
        carry = Carry::new(sums);
        t.sync_threads();
    }

    // Sums for cells above the present chunk, and those of the first chunk, which lack the share of the segment before.
    let mut left = 0.0;
    let mut begun = 0.0;
    for chunk in first..last {
        walk.fill(t, chunk, what, top, &mut carry, flows, own);
        t.sync_warp();
        let m = (chunk * WARP + t.lane()) as usize;
        let sum = row_sum(t, flows, own);
        let (whole, more) = antidiagonal_sums(t, flows, own, left);
        left = more;
        rise.set(t, out + m, sum);
        if chunk > first || first == 0 {
            fall.set(t, out + m + 1 + (tile * WARP) as usize, whole);
        } else {
            begun = whole;
        }
        t.sync_warp();
    }
    if shape.segments > 1 {
        carries.set(t, slot(segment, 0), left);
        t.sync_threads();
        if works && segment > 0 {
            let m = (first * WARP + t.lane() + 1 + tile * WARP) as usize;
            fall.set(t, out + m, begun + carries.get(t, slot(segment - 1, 0)));
        }
    }
}

kernel! {
    /// Flows J of all jumps, summed over tiles of 32 values of d: `rise[tile][m]` is the sum of what enters cell m from above, `fall[tile][i]` of what
    /// leaves cell i downwards. For one state, or few.
    ///
    /// **Block**: tile `block / states` of one state, longest tiles first. Its `segments` warps share the rows m. **Lane** l of a warp owns
    /// d = 1 + 32 tile + l and walks through the rows, with u and v in registers: no scan along m, and the table is read as
    /// consecutive words. With more than one segment the warps first add up u and v of their rows, and start from the sum over the segments before.
    ///
    /// **Sums.** The flows of 32 rows go to a tile in shared memory of the warp's own; then lane l sums row l (cell m), and antidiagonals l and
    /// l + 32 (cells m + d, of which 32 are complete and 32 are carried to the next chunk). Each word of the output is written once, by one
    /// thread; the order of all sums is fixed.
    ///
    /// **Cost** of 32 jumps: 7 multiply-adds and 2 additions a lane, one word of the table, 4 words of f and its sums from L1, 3 accesses to shared
    /// memory: about 24 instructions, of which 9 take the f64 pipe two cycles each. Shared memory: 1056 numbers of the type and 64 of f64 a warp.
    pub fn pair_flows<T: Real>(
        t, table: In<T>, f: In<T>, above: In<T>, rise: Out<f64>, fall: Out<f64>; shape: PairShape,
    ) for f32, f64
    shared { flows: [T; tile_words(&shape)], carries: [f64; carry_words(&shape)] } {
        sweep::<_, T>(t, table, f, above, rise, fall, shape, quantity::FLOW, flows, carries);
    }
}

kernel! {
    /// The same pass for another [`quantity`]: of frequencies only the side counts that the quantity belongs to.
    pub fn pair_frequencies<T: Real>(
        t, table: In<T>, f: In<T>, above: In<T>, rise: Out<f64>, fall: Out<f64>; shape: PairShape, what: u32,
    ) for f32, f64
    shared { flows: [T; tile_words(&shape)], carries: [f64; carry_words(&shape)] } {
        sweep::<_, T>(t, table, f, above, rise, fall, shape, what, flows, carries);
    }
}

/// Sum over the tiles that reach a cell: of `rise`, whose tile k has the rows below M - 1 - 32 k, and of `fall`, which has the cells from 1 + 32 k on.
#[inline(always)]
#[track_caller]
#[allow(clippy::too_many_arguments, reason = "views of one kernel")]
pub(crate) fn tile_sums<S: Simt>(
    t: &S,
    rise: In<'_, f64>,
    fall: In<'_, f64>,
    state: u32,
    cell: u32,
    cells: u32,
    pitch: u32,
    tiles: u32,
) -> (f64, f64) {
    let base = state as usize * (tiles * pitch) as usize + cell as usize;
    // Tiles with 1 + 32 k < M - cell, and with 1 + 32 k <= cell.
    let rises = (cells - 1 - cell).div_ceil(WARP);
    let falls = cell.div_ceil(WARP);
    (
        strided_sum(t, rise, base, rises, pitch),
        strided_sum(t, fall, base, falls, pitch),
    )
}

/// In eight sums, whose loads are under way together.
#[inline(always)]
#[track_caller]
pub(super) fn strided_sum<S: Simt>(
    t: &S,
    values: In<'_, f64>,
    base: usize,
    count: u32,
    stride: u32,
) -> f64 {
    let mut sums = [0.0; 8];
    let mut k = 0;
    while k < count {
        for lane in 0..8 {
            let at = k + lane as u32;
            // Rows beyond the last one repeat the first word and are dropped: no branch between the loads.
            let inside = at < count;
            let row = if inside { at } else { 0 };
            let value = values.get(t, base + (row * stride) as usize);
            sums[lane] += if inside { value } else { 0.0 };
        }
        k += 8;
    }
    ((sums[0] + sums[1]) + (sums[2] + sums[3])) + ((sums[4] + sums[5]) + (sums[6] + sums[7]))
}

kernel! {
    /// Adds up the tiles of [`pair_flows()`], one thread a cell: `flux[state][i] = sum of rise - sum of fall`, or with `plus` their sum.
    pub fn collect_tiles(t, rise: In<f64>, fall: In<f64>, flux: Out<f64>; shape: PairShape, plus: u32) {
        let at = t.global_idx() as u32;
        let state = quotient(at, shape.pitch);
        let cell = at - state * shape.pitch;
        if state < shape.states && cell < shape.cells {
            let (rise, fall) = tile_sums(t, rise, fall, state, cell, shape.cells, shape.pitch, shape.tiles);
            flux.set(t, at as usize, if plus == 0 { rise - fall } else { rise + fall });
        }
    }
}
