//! The operator in O(M^2), as derived at [`mod@super::pairs`], for batches: the states lie along the lanes.

use super::pairs::{Carry, PairShape};
use crate::kernel;
use crate::math::{Real, quotient};
use crate::memory::{In, Out, Shared};
use crate::simt::{Simt, WARP};

/// States of a block.
pub const BATCH_STATES: u32 = 16;

/// Neighbouring values of d of a thread.
const WIDTH: usize = 4;

/// Groups of so many values of d that make a tile: one for each half of a warp.
const GROUPS: u32 = WARP / WIDTH as u32;

/// Threads of a block of [`batch_flows()`].
pub const BATCH_THREADS: u32 = GROUPS * BATCH_STATES;

/// Rows between two barriers.
const CHUNK: u32 = 8;

/// Rows by which the last group is behind the first.
const LAG: u32 = WIDTH as u32 * (GROUPS - 1);

/// Rows that a ring holds: those between the first and the last group, those of this chunk and of the next.
const RING: u32 = (LAG + 2 * CHUNK).next_multiple_of(CHUNK);

/// Distance of two rows of f and its sums, in pairs: neighbouring cells and neighbouring states reach different banks.
const PAIR_PITCH: u32 = BATCH_STATES + 1;

/// Distance of two rows of sums: the same.
const SUM_PITCH: u32 = BATCH_STATES + 2;

/// Words of the shared arrays.
const LOWER: u32 = RING * PAIR_PITCH * 2;
const UPPER: u32 = 2 * CHUNK * PAIR_PITCH * 2;
const COEFFICIENTS: u32 = 2 * CHUNK * WARP;
const RISES: u32 = GROUPS * RING * SUM_PITCH;
const FALLS: u32 = 2 * GROUPS * CHUNK * SUM_PITCH;

/// Bytes of shared memory of a block, with numbers of `size` bytes.
pub const fn batch_bytes(size: u32) -> u32 {
    (LOWER + UPPER + COEFFICIENTS) * size + (RISES + FALLS) * 8
}

/// The data that the threads of a block share.
struct Room<'a, T: Real> {
    /// f of cell m and the sum above it, by rows m of a ring.
    lower: Shared<'a, T>,
    /// The same of the cells m + d that are new in each row: of this chunk and of the next.
    upper: Shared<'a, T>,
    /// Of the rows that each group is in: of this chunk and of the next.
    coefficients: Shared<'a, T>,
    /// The terms that each group adds to the cells m, by the time of the row.
    rises: Shared<'a, f64>,
    /// And to the cells m + d that it is through with: of this chunk and of the one before.
    falls: Shared<'a, f64>,
}

impl<T: Real> Clone for Room<'_, T> {
    #[inline(always)]
    fn clone(&self) -> Self {
        *self
    }
}
impl<T: Real> Copy for Room<'_, T> {}

/// The data that a thread brings from global memory for a chunk.
struct Delivery<T> {
    lower: [T; 2],
    upper: [T; 2],
    coefficients: [T; 2],
    /// The group of these coefficients is among its rows.
    begun: bool,
}

/// Where a thread fetches from and writes to: one cell of a chunk, of one state.
struct Porter<'a, T: Real> {
    table: In<'a, T>,
    f: In<'a, T>,
    above: In<'a, T>,
    rise: Out<'a, f64>,
    fall: Out<'a, f64>,
    uniform: bool,
    /// The smallest d of the tile.
    nearest: u32,
    /// Rows of the smallest d.
    rows: u32,
    /// Rows of the table that may be read.
    table_rows: u32,
    /// Where the tile's table begins.
    start: u32,
    /// Cell within the chunk, and state within the block.
    cell: u32,
    state: u32,
    /// Offset of the state, and of its sums.
    at: usize,
    out: usize,
    /// The state is not a mere filler.
    live: bool,
}

impl<T: Real> Porter<'_, T> {
    #[inline(always)]
    #[track_caller]
    fn pair<S: Simt>(&self, t: &S, cell: u32) -> [T; 2] {
        let at = self.at + cell as usize;
        [self.f.get(t, at), self.above.get(t, at + 1)]
    }

    #[inline(always)]
    #[track_caller]
    fn fetch<S: Simt>(&self, t: &S, chunk: u32) -> Delivery<T> {
        let first = chunk * CHUNK;
        let (row, two) = (t.thread_idx() / BATCH_STATES, t.thread_idx() % BATCH_STATES);
        // A group that has not begun is at a negative row, which is a huge one without sign.
        let m = (first + row).wrapping_sub(two / 2 * WIDTH as u32);
        let begun = m < self.table_rows;
        let m = if begun { m } else { 0 };
        let coefficients = if self.uniform {
            [self.table.get(t, m as usize); 2]
        } else {
            self.table
                .get_run(t, (self.start + m * WARP + 2 * two) as usize)
        };
        Delivery {
            lower: self.pair(t, first + self.cell),
            upper: self.pair(t, first + self.cell + self.nearest + WIDTH as u32 - 1),
            coefficients,
            begun,
        }
    }

    #[inline(always)]
    #[track_caller]
    fn store<S: Simt>(
        &self,
        t: &S,
        room: Room<'_, T>,
        delivery: Delivery<T>,
        chunk: u32,
        ring: u32,
    ) {
        let pair = |row: u32| ((row + self.cell) * PAIR_PITCH + self.state) * 2;
        let half = chunk % 2 * CHUNK;
        room.lower.set_run(t, pair(ring), delivery.lower);
        room.upper.set_run(t, pair(half), delivery.upper);
        let at = half * WARP + 2 * t.thread_idx();
        let values = if delivery.begun {
            delivery.coefficients
        } else {
            [T::ZERO; 2]
        };
        room.coefficients.set_run(t, at, values);
    }

    /// The sums that the groups left in the chunk before this one, for a cell of the rows and one of the cells above. The last group has only now
    /// been through the rows that the first one was in `LAG` rows ago.
    #[inline(always)]
    #[track_caller]
    fn gather<S: Simt>(
        &self,
        t: &S,
        room: Room<'_, T>,
        chunk: u32,
        ring: u32,
    ) -> [[f64; 2]; GROUPS as usize] {
        let half = (chunk + 1) % 2;
        let mut terms = [[0.0; 2]; GROUPS as usize];
        for k in 0..GROUPS as usize {
            let group = k as u32;
            let time = ring + (RING - CHUNK - LAG) + WIDTH as u32 * group + self.cell;
            // Once around the ring, at most.
            let time = if time < RING { time } else { time - RING };
            let rise = (group * RING + time) * SUM_PITCH + self.state;
            let fall = ((half * GROUPS + group) * CHUNK + self.cell) * SUM_PITCH + self.state;
            terms[k] = [room.rises.get(t, rise), room.falls.get(t, fall)];
        }
        terms
    }

    /// Writes the sums of what was gathered.
    #[inline(always)]
    #[track_caller]
    fn write<S: Simt>(&self, t: &S, chunk: u32, [rise, fall]: [f64; 2]) {
        // A row before the first has a huge number.
        let cell = (chunk * CHUNK + self.cell).wrapping_sub(CHUNK);
        let m = cell.wrapping_sub(LAG);
        if self.live && m < self.rows {
            self.rise.set(t, self.out + m as usize, rise);
        }
        if self.live && cell < self.rows {
            self.fall
                .set(t, self.out + (cell + self.nearest) as usize, fall);
        }
    }
}

/// Sums over the groups.
#[inline(always)]
fn sum_of_groups(x: [[f64; 2]; GROUPS as usize]) -> [f64; 2] {
    let mut sums = [0.0; 2];
    for k in 0..2 {
        sums[k] = ((x[0][k] + x[1][k]) + (x[2][k] + x[3][k]))
            + ((x[4][k] + x[5][k]) + (x[6][k] + x[7][k]));
    }
    sums
}

/// The state that a thread carries along its values of d.
struct Walker<T> {
    group: u32,
    state: u32,
    /// The sum beyond M - d.
    top: [T; WIDTH],
    carry: [Carry<T>; WIDTH],
    /// f and the sum above it, of the cells m + d: the one of the k-th d in row r at (k + r) % WIDTH.
    upper: [[T; 2]; WIDTH],
    /// The sums of these cells so far.
    fall: [f64; WIDTH],
}

impl<T: Real> Walker<T> {
    /// Row `R` of a chunk: what enters cell m, and what leaves the cell above that leaves the window. With `EDGE` the grid ends after `left` rows.
    #[inline(always)]
    #[track_caller]
    fn row<const R: usize, const EDGE: bool, S: Simt>(
        &mut self,
        t: &S,
        room: Room<'_, T>,
        half: u32,
        lower: u32,
        left: u32,
    ) -> [f64; 2] {
        let r = R as u32;
        let pair = |row: u32| (row * PAIR_PITCH + self.state) * 2;
        let [a, here]: [T; 2] = room.lower.get_run(t, pair(lower + r % WIDTH as u32));
        let newest = (R + WIDTH - 1) % WIDTH;
        self.upper[newest] = room.upper.get_run(t, pair(half * CHUNK + r));
        let at = (half * CHUNK + r) * WARP + self.group * WIDTH as u32;
        let [t0, t1]: [T; 2] = room.coefficients.get_run(t, at);
        let [t2, t3]: [T; 2] = room.coefficients.get_run(t, at + 2);
        let coefficients = [t0, t1, t2, t3];
        let mut flows = [0.0; WIDTH];
        for k in 0..WIDTH {
            let column = (R + k) % WIDTH;
            let [b, beyond] = self.upper[column];
            let [u, v] = self.carry[k].now;
            let alpha = coefficients[k].mul_add(beyond, u);
            let beta = coefficients[k].mul_add(here - self.top[k], v);
            let flow = b.mul_add(beta, -(a * alpha));
            let inside = !EDGE || r + (k as u32) < left;
            flows[k] = if inside { flow.to_f64() } else { 0.0 };
            self.fall[column] = if column == newest {
                flows[k]
            } else {
                self.fall[column] + flows[k]
            };
            self.carry[k].add(coefficients[k], b, a);
        }
        [
            (flows[0] + flows[1]) + (flows[2] + flows[3]),
            self.fall[R % WIDTH],
        ]
    }

    /// Leaves the sums of the rows of a chunk for [`Porter::gather()`].
    #[inline(always)]
    #[track_caller]
    fn leave<S: Simt>(
        &self,
        t: &S,
        room: Room<'_, T>,
        chunk: u32,
        ring: u32,
        sums: [[f64; 2]; CHUNK as usize],
    ) {
        let rise = (self.group * RING + ring) * SUM_PITCH + self.state;
        let fall = (chunk % 2 * GROUPS + self.group) * CHUNK * SUM_PITCH + self.state;
        for r in 0..CHUNK as usize {
            room.rises.set(t, rise + r as u32 * SUM_PITCH, sums[r][0]);
            room.falls.set(t, fall + r as u32 * SUM_PITCH, sums[r][1]);
        }
    }

    /// The rows of a chunk. Meanwhile the porter gathers what was left in the one before; the sums are returned. Nothing is stored before
    /// all is loaded: the compiler does not know that they are different places, and would wait in each row.
    #[inline(always)]
    #[track_caller]
    fn rows<const EDGE: bool, S: Simt>(
        &mut self,
        t: &S,
        room: Room<'_, T>,
        porter: &Porter<'_, T>,
        chunk: u32,
        ring: u32,
        left: u32,
    ) -> [f64; 2] {
        let half = chunk % 2;
        let behind = self.group * WIDTH as u32;
        let place = |row: u32| (if row < behind { row + RING } else { row }) - behind;
        let (one, two) = (place(ring), place(ring + WIDTH as u32));
        let terms = porter.gather(t, room, chunk, ring);
        let sums = [
            self.row::<0, EDGE, S>(t, room, half, one, left),
            self.row::<1, EDGE, S>(t, room, half, one, left),
            self.row::<2, EDGE, S>(t, room, half, one, left),
            self.row::<3, EDGE, S>(t, room, half, one, left),
            self.row::<4, EDGE, S>(t, room, half, two, left),
            self.row::<5, EDGE, S>(t, room, half, two, left),
            self.row::<6, EDGE, S>(t, room, half, two, left),
            self.row::<7, EDGE, S>(t, room, half, two, left),
        ];
        self.leave(t, room, chunk, ring, sums);
        // As often as where one warp has one state.
        if size_of::<T>() == 4 && ((chunk + 1) * CHUNK).is_multiple_of(WARP) {
            for k in 0..WIDTH {
                self.carry[k].settle();
            }
        }
        sum_of_groups(terms)
    }
}

kernel! {
    /// The results of [`pair_flows()`](super::pair_flows()) for many states.
    ///
    /// **Block**: a tile of 32 values of d, and [`BATCH_STATES`] states. Of the `order` blocks the first have the longest tiles, and the rest the shortest
    /// first: where two blocks share a multiprocessor, a long one meets a short one. **Thread**: one state and four neighbouring
    /// values of d. It walks through the rows m, with u, v, and a window of the cells m + d in registers, so that a row of
    /// four jumps needs one cell m and one cell m + d more; what the four bring to cell m is one sum, and what they take from
    /// cell m + d is complete when it leaves the window.
    ///
    /// **Groups** of threads with the same d are four rows behind each other, so that all of them meet the same cells m + d at the same time.
    /// They walk in chunks of 8 rows. The data of the next chunk is loaded at the start of a chunk, as 64 consecutive bytes of each state, and put
    /// into shared memory at its end; the sums of the chunk before are added up over the groups, in fixed order, and written. There is one
    /// barrier a chunk: whatever is written lies in another half, or in another part of a ring, than what is read.
    ///
    /// **Cost** of four jumps of a thread: 7 operations each in the precision of T, 8 additions in f64; 6 accesses to shared
    /// memory, and 1/8 of 6 loads from L2, 3 stores to shared memory, and 16 loads and 14 additions of sums. Shared memory: 93 KiB in f64.
    pub fn batch_flows<T: Real>(
        t, table: In<T>, f: In<T>, above: In<T>, rise: Out<f64>, fall: Out<f64>; shape: PairShape, order: u32,
    ) for f32, f64
    shared {
        lower: [T; LOWER], upper: [T; UPPER], coefficients: [T; COEFFICIENTS], rises: [f64; RISES], falls: [f64; FALLS],
    } {
        let room = Room { lower, upper, coefficients, rises, falls };
        let block = t.block_idx();
        let item = if block < order { block } else { order + (t.grid_dim() - 1 - block) };
        let sets = shape.states.div_ceil(BATCH_STATES);
        let tile = quotient(item, sets);
        let first_state = (item - tile * sets) * BATCH_STATES;
        let nearest = 1 + tile * WARP;
        let rows = shape.cells - nearest;
        let chunks = rows.div_ceil(CHUNK);

        // As a porter, a thread has consecutive cells beside it; as a walker, consecutive states.
        let (cell, state) = (t.thread_idx() % CHUNK, t.thread_idx() / CHUNK);
        let of_batch = first_state + state;
        let live = of_batch < shape.states;
        let of_batch = if live { of_batch } else { shape.states - 1 };
        let porter = Porter {
            table, f, above, rise, fall,
            uniform: shape.uniform != 0,
            nearest,
            rows,
            table_rows: if shape.uniform != 0 { shape.cells } else { chunks * CHUNK },
            start: shape.tile_start(tile),
            cell,
            state,
            at: of_batch as usize * shape.pitch as usize,
            out: (of_batch * shape.tiles + tile) as usize * shape.pitch as usize,
            live,
        };
        let (group, state) = (t.thread_idx() / BATCH_STATES, t.thread_idx() % BATCH_STATES);
        let of_batch = first_state + state;
        let at = (if of_batch < shape.states { of_batch } else { shape.states - 1 }) as usize * shape.pitch as usize;
        let mut walker = Walker {
            group,
            state,
            top: [T::ZERO; WIDTH],
            carry: [Carry::new([0.0; 2]); WIDTH],
            upper: [[T::ZERO; 2]; WIDTH],
            fall: [0.0; WIDTH],
        };
        for k in 0..WIDTH {
            let d = nearest + group * WIDTH as u32 + k as u32;
            if d < shape.cells {
                walker.top[k] = above.get(t, at + (shape.cells - d) as usize);
            }
            // The window before the first row; its last place is filled by it.
            if k + 1 < WIDTH {
                let cell = at + nearest as usize + k;
                walker.upper[k] = [f.get(t, cell), above.get(t, cell + 1)];
            }
        }

        // Before the first row there is nothing.
        let mut k = t.thread_idx();
        while k < RISES {
            rises.set(t, k, 0.0);
            k += BATCH_THREADS;
        }
        let mut k = t.thread_idx();
        while k < FALLS {
            falls.set(t, k, 0.0);
            k += BATCH_THREADS;
        }
        let mut k = CHUNK * PAIR_PITCH * 2 + t.thread_idx();
        while k < LOWER {
            lower.set(t, k, T::ZERO);
            k += BATCH_THREADS;
        }
        let delivery = porter.fetch(t, 0);
        porter.store(t, room, delivery, 0, 0);

        // Chunks whose cells are all on the grid, those at its edge, and those in which the last group is brought to its end.
        let inner = rows.saturating_sub(WIDTH as u32 - 1) / CHUNK;
        let mut chunk = 0;
        let mut ring = 0;
        while chunk < chunks {
            t.sync_threads();
            let next = if ring + CHUNK < RING { ring + CHUNK } else { 0 };
            let delivery = porter.fetch(t, chunk + 1);
            let sums = if chunk < inner {
                walker.rows::<false, _>(t, room, &porter, chunk, ring, 0)
            } else {
                walker.rows::<true, _>(t, room, &porter, chunk, ring, rows - chunk * CHUNK)
            };
            porter.write(t, chunk, sums);
            porter.store(t, room, delivery, chunk + 1, next);
            ring = next;
            chunk += 1;
        }
        let last = (rows + LAG).div_ceil(CHUNK);
        while chunk <= last {
            t.sync_threads();
            porter.write(t, chunk, sum_of_groups(porter.gather(t, room, chunk, ring)));
            walker.leave(t, room, chunk, ring, [[0.0; 2]; CHUNK as usize]);
            ring = if ring + CHUNK < RING { ring + CHUNK } else { 0 };
            chunk += 1;
        }
    }
}
