//! Kernels of the BGK and Shakhov models in two dimensions of space: the pass that relaxes, streams and sums all populations.
//!
//! Its tables come from [`bgk_flow`](crate::bgk_flow), where the whole is explained. Populations beyond a face that mirrors lie in ghosts, which
//! [`ghosts_along_x()`](crate::bgk_flow::ghosts_along_x()) and [`ghosts_along_y()`](crate::bgk_flow::ghosts_along_y()) fill before the pass. What comes in from a wall or
//! an inflow is a column of the tables. So the pass knows no kinds of walls: a lane or a row beyond a face reads other places.
//!
//! A lane takes four cells (two in `f64`) by one access. Where rows are no whole accesses or molecules fly further than a cell in a step, it takes one.
//! The warps of a block march down the same rows side by side, each with molecules of its own, and add up their sums of a row before they go on to the next.
//! So a block keeps one sum of a cell, and not each warp one; that makes room for strips twice as high, of which fewer rows are read twice.
//!
//! Rows are counted from the face where the molecules of a group come in, so that going up and down is one code.

use crate::bgk_flow::block;
use crate::bgk_flow::layout::{
    FACE_WIDTH, FlowShape, Heat, PASS_SUMS_BGK, PASS_SUMS_SHAKHOV, axis, ceiling, face, limited,
    power_of_two, row, split,
};
use crate::bgk_flow::span::{folded_cell, folded_tiles, shift};
use crate::kernel;
use crate::math::{Real, quotient};
use crate::memory::{In, Out, Shared};
use crate::simt::{Simt, WARP};

/// Most threads of a block.
pub const MARCH_THREADS: u32 = 160;
/// Nodes of the innermost axis that a thread takes along: g and h, or two.
const INNER: usize = 2;
/// Neighbouring nodes of v_y that it takes along, in first order: there are registers enough.
const PAIR: usize = 2;

/// Most cells of a thread in a row: what 16 bytes hold.
#[inline(always)]
pub const fn plane_width(bytes: usize) -> u32 {
    if bytes == 4 { 4 } else { 2 }
}

/// How blocks share the work of a pass.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[repr(C)]
pub struct March {
    /// Rows of cells of a strip: an even number, and no more than there are.
    pub rows: u32,
    /// Warps of a block; each takes up one group of nodes at a time.
    pub warps: u32,
    /// Times that a block takes up as many groups as it has warps.
    pub batches: u32,
    /// Nodes of v_y that do not fly up; they come first.
    pub down: u32,
    /// Tiles that blocks take up side by side with the same nodes, so that these share the L2 cache with their tables.
    pub band: u32,
    /// 1 where a thread takes one cell and one v_y: rows are no whole accesses, or molecules fly further than a cell.
    pub narrow: u32,
}

impl March {
    /// Cells of a thread in a row.
    #[inline(always)]
    pub const fn width(&self, bytes: usize) -> u32 {
        if self.narrow != 0 {
            1
        } else {
            plane_width(bytes)
        }
    }
    /// Nodes of v_y that a thread takes along.
    #[inline(always)]
    const fn pair(&self, sloped: bool) -> u32 {
        if sloped || self.narrow != 0 {
            1
        } else {
            PAIR as u32
        }
    }
    /// Tiles of a plane of cells.
    #[inline(always)]
    pub const fn tiles(&self, shape: &FlowShape, bytes: usize, sloped: bool) -> u32 {
        let strips = quotient(shape.ny + self.rows - 1, self.rows);
        folded_tiles(shape.nx, strips, self.width(bytes), sloped)
    }
    /// Groups of nodes of one v_x that fly down, and that fly up.
    #[inline(always)]
    pub const fn groups(&self, shape: &FlowShape, sloped: bool) -> [u32; 2] {
        let pair = self.pair(sloped);
        let inner = quotient(shape.count_m + INNER as u32 - 1, INNER as u32);
        [
            quotient(self.down + pair - 1, pair) * inner,
            quotient(shape.count_y - self.down + pair - 1, pair) * inner,
        ]
    }
    /// Batches of those: molecules of a batch fly the same way.
    #[inline(always)]
    pub const fn batches_of(&self, shape: &FlowShape, sloped: bool) -> [u32; 2] {
        let [down, up] = self.groups(shape, sloped);
        [
            quotient(down + self.warps - 1, self.warps),
            quotient(up + self.warps - 1, self.warps),
        ]
    }
    /// Blocks that share the nodes of one v_x.
    #[inline(always)]
    pub const fn parts(&self, shape: &FlowShape, sloped: bool) -> u32 {
        let [down, up] = self.batches_of(shape, sloped);
        quotient(down + up + self.batches - 1, self.batches)
    }
    /// Words of shared memory for the sums of a row that the warps give to each other: of the row that is added up and of the next.
    #[inline(always)]
    pub const fn exchange(&self, shape: &FlowShape, bytes: usize) -> u32 {
        2 * shape.pass_sums() * self.warps * WARP * self.width(bytes)
    }
    /// Words for the sums of the batches before.
    #[inline(always)]
    pub const fn kept(&self, shape: &FlowShape, bytes: usize) -> u32 {
        if self.batches > 1 {
            shape.pass_sums() * self.rows * WARP * self.width(bytes)
        } else {
            0
        }
    }
    /// Words for the populations on their way.
    #[inline(always)]
    pub const fn staged(&self, bytes: usize, sloped: bool) -> u32 {
        if sloped {
            0
        } else {
            let nodes = (INNER * PAIR) as u32;
            STAGES * nodes * self.warps * WARP * self.width(bytes)
        }
    }
    /// Bytes of shared memory of a block.
    #[inline(always)]
    pub const fn shared_bytes(&self, shape: &FlowShape, bytes: usize, sloped: bool) -> usize {
        let sums = self.exchange(shape, bytes) + self.kept(shape, bytes);
        (sums + self.staged(bytes, sloped)) as usize * bytes
    }
}

/// Rows of populations of a warp in shared memory in first order: the one that is worked on and those on their way.
const STAGES: u32 = 3;

kernel! {
    /// One time step of first order: relaxation, streaming along x and y, and partial sums of all populations on a rectangle.
    ///
    /// **Block**: one tile of 31 spans of four cells (two in `f64`) by `rows` rows for one v_x and `batches` times as many groups of nodes as it has warps,
    /// each of two v_y and two nodes of the innermost axis.
    /// **Thread**: four cells of each row. It marches down the rows with the molecules of a group, of which it keeps the row before, and has the populations
    /// of the next two rows under way to shared memory. The lane at the upstream end only lends its cells.
    /// **Cost**: a population is read once from memory, the row before a strip once more, and written once, 8 bytes in `f32`. Partial sums are 3 words a
    /// cell for the populations of a block.
    /// **Shared memory**: see [`March::shared_bytes`].
    /// **No race**: each population and each partial sum has one writer. What warps give to each other lies in two halves that take turns with the rows: a
    /// barrier stands between the writing of a half and its reading, and the next row's before it is written again. Sums of the batches before are
    /// read and written between barriers by one warp.
    pub fn plane_march_upwind<T: Real>(
        t, f: In<T>, tables: In<T>, axes: In<T>, next: Out<T>, partial: Out<T>; shape: FlowShape, march: March, turned: u32,
    ) for f32, f64
    shared {
        exchange: [T; march.exchange(&shape, size_of::<T>())],
        kept: [T; march.kept(&shape, size_of::<T>())],
        stages: [T; march.staged(size_of::<T>(), false)],
    } {
        let memory = Memory { f, tables, axes, next, partial, exchange, kept, stages };
        Pass { t, memory, shape: &shape, march: &march, warp: t.shuffle(t.warp(), 0) }.run::<false, false, PAIR>(turned != 0);
    }
}

kernel! {
    /// The same step of second order with van Leer's slopes.
    ///
    /// As [`plane_march_upwind()`] with 30 spans, one v_y at a time, and the last value, difference and flux of each node kept; the populations of the next row
    /// are under way to registers, those of the one after that to the L2 cache.
    pub fn plane_march_van_leer<T: Real>(
        t, f: In<T>, tables: In<T>, axes: In<T>, next: Out<T>, partial: Out<T>; shape: FlowShape, march: March, turned: u32,
    ) for f32, f64
    shared {
        exchange: [T; march.exchange(&shape, size_of::<T>())],
        kept: [T; march.kept(&shape, size_of::<T>())],
        stages: [T; march.staged(size_of::<T>(), true)],
    } {
        let memory = Memory { f, tables, axes, next, partial, exchange, kept, stages };
        Pass { t, memory, shape: &shape, march: &march, warp: t.shuffle(t.warp(), 0) }.run::<true, false, 1>(turned != 0);
    }
}

kernel! {
    /// [`plane_march_upwind()`] for the Shakhov model: its polynomial at each cell, and the sums that its heat flux needs.
    pub fn plane_march_upwind_shakhov<T: Real>(
        t, f: In<T>, tables: In<T>, axes: In<T>, next: Out<T>, partial: Out<T>; shape: FlowShape, march: March, turned: u32,
    ) for f32, f64
    shared {
        exchange: [T; march.exchange(&shape, size_of::<T>())],
        kept: [T; march.kept(&shape, size_of::<T>())],
        stages: [T; march.staged(size_of::<T>(), false)],
    } {
        let memory = Memory { f, tables, axes, next, partial, exchange, kept, stages };
        Pass { t, memory, shape: &shape, march: &march, warp: t.shuffle(t.warp(), 0) }.run::<false, true, PAIR>(turned != 0);
    }
}

kernel! {
    /// [`plane_march_van_leer()`] for the Shakhov model.
    pub fn plane_march_van_leer_shakhov<T: Real>(
        t, f: In<T>, tables: In<T>, axes: In<T>, next: Out<T>, partial: Out<T>; shape: FlowShape, march: March, turned: u32,
    ) for f32, f64
    shared {
        exchange: [T; march.exchange(&shape, size_of::<T>())],
        kept: [T; march.kept(&shape, size_of::<T>())],
        stages: [T; march.staged(size_of::<T>(), true)],
    } {
        let memory = Memory { f, tables, axes, next, partial, exchange, kept, stages };
        Pass { t, memory, shape: &shape, march: &march, warp: t.shuffle(t.warp(), 0) }.run::<true, true, 1>(turned != 0);
    }
}

/// The tile and the chunk of nodes of this block.
///
/// As many tiles as find their tables in the L2 cache, a band, follow each other with the same nodes, so that what blocks read at the same time lies together: memory
/// gives short runs here and there at three quarters of its rate. Then come the next nodes, and after all nodes the next tiles.
#[cfg_attr(target_arch = "nvptx64", inline(always))]
fn tile_and_chunk<S: Simt>(t: &S, turned: bool, chunks: u32, band: u32) -> [u32; 2] {
    let tiles = quotient(t.grid_dim(), chunks);
    let (number, rest) = split(block(t, turned), band * chunks);
    let (first, left) = (number * band, tiles - number * band);
    let (chunk, tile) = split(rest, if left < band { left } else { band });
    [first + tile, chunk]
}

/// What a launch reads and writes.
#[derive(Clone, Copy)]
struct Memory<'a, T: Real> {
    f: In<'a, T>,
    tables: In<'a, T>,
    axes: In<'a, T>,
    next: Out<'a, T>,
    partial: Out<'a, T>,
    exchange: Shared<'a, T>,
    kept: Shared<'a, T>,
    stages: Shared<'a, T>,
}

struct Pass<'a, S, T: Real> {
    t: &'a S,
    memory: Memory<'a, T>,
    shape: &'a FlowShape,
    march: &'a March,
    /// The number of the warp, from its first lane: so the compiler knows that the lanes have it in common.
    warp: u32,
}

/// The `W` neighbouring cells of a thread along x, and what meets them: always as many neighbours in memory, so that one access reads them.
struct Column<T, const W: usize> {
    /// The first of the cells, perhaps beyond the ends of the row.
    cell: i32,
    /// Whether the lane gives its cells out.
    gives: bool,
    /// Whether the cells lie beyond the end where molecules leave: then there is no slope.
    flat: bool,
    /// The end whose ghosts these are: 1 left, 2 right, 0 where they are cells.
    ghosts: u32,
    /// Where in its row of cells or ghosts the access begins.
    first: u32,
    /// The first entry of a row of the tables in row 0 of the cells, and the distance of rows.
    columns: [u32; 2],
    jx: u32,
    vx: T,
    forward: bool,
    /// Lowest row of the strip, and how many of the rows are given out by the strip below.
    low: u32,
    skipped: u32,
    /// The fraction of a cell that the molecules travel along x, and the rest of it, 0 beyond a wall that mirrors a part: there are no slopes.
    fraction: T,
    rest: T,
    /// Place of the block's partial sums.
    chunk: u32,
}

/// The place of a cell in a row whose ends are the same.
#[cfg_attr(target_arch = "nvptx64", inline(always))]
fn around(place: i32, n: i32) -> i32 {
    // Divided unsigned, which cannot fail on the device: `n` copies make any distance positive.
    let turns = quotient(place.unsigned_abs(), n as u32) as i32 + 1;
    let place = (place + turns * n) as u32;
    (place - quotient(place, n as u32) * n as u32) as i32
}

impl<T: Real, const W: usize> Column<T, W> {
    /// The cells of this lane in a tile of strips laid end to end.
    #[cfg_attr(target_arch = "nvptx64", inline(always))]
    fn new<S: Simt>(
        t: &S,
        [tile, rows, chunk]: [u32; 3],
        shape: &FlowShape,
        jx: u32,
        [vx, whole, fraction]: [T; 3],
        forward: bool,
        sloped: bool,
    ) -> Self {
        let strips = ceiling(shape.ny, rows);
        let (cell, gives, strip) = folded_cell::<S, W>(t, tile, strips, shape.nx, forward, sloped);
        let (nx, width) = (shape.nx as i32, W as i32);
        // Whole cells are flown by narrow lanes alone.
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
            around(from, nx)
        } else if below {
            from + nx
        } else {
            from - nx
        };
        // Of cells that count for nothing the access stays within the row.
        let place = if place < nx { place } else { nx - width };
        let place = if place < 0 { 0 } else { place as u32 };
        let of_face = mirrors || (enters && kind == face::TABLE);
        let ghost = if below {
            shape.ghost_columns as i32 + from
        } else {
            from - nx
        };
        // The last strip has as many rows as the others: some it shares with the one below.
        let (low, most) = (strip * rows, shape.ny.max(rows) - rows);
        #[allow(
            clippy::implicit_saturating_sub,
            reason = "a choice like the others here"
        )]
        let skipped = if low > most { low - most } else { 0 };
        Self {
            cell,
            gives,
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
            low: low - skipped,
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

    /// The first of the cells, for a lane that gives them out.
    #[inline(always)]
    fn gives_to(&self) -> u32 {
        if self.gives { self.cell as u32 } else { 0 }
    }
}

/// A batch of groups, one a warp.
#[derive(Clone, Copy)]
struct Batch {
    /// Groups, perhaps fewer than warps.
    groups: u32,
    up: bool,
    /// Whether a batch came before, and whether one follows.
    later: bool,
    more: bool,
}

/// The nodes of a group, and the row of them that was last looked at: with slopes also its difference from the one before, and what passed on from that.
struct Group<T, const W: usize, const P: usize> {
    jy: u32,
    up: bool,
    /// The row that row 0 of the march takes from, counted from the face where the molecules come in; perhaps beyond it.
    start: i32,
    /// Whole cells that the molecules travel along y, by narrow lanes alone.
    whole: i32,
    /// The rows beyond the faces that there are: ghosts, or what comes in altogether.
    least: i32,
    most: i32,
    /// Whether the face where the molecules come in mirrors a part of them: rows beyond it have no slopes.
    mixed: bool,
    /// Where the row at that face has its first population of the first node, and its first entry of a row of the tables; and the distances to the next row.
    populations: [u32; 2],
    entries: [u32; 2],
    /// `populations` of the cell that a narrow lane writes; rows beyond a face are read there too.
    own: [u32; 2],
    /// The first entry of a row of the tables for what lies beyond that face, and beyond the opposite one.
    beyond: [u32; 2],
    /// The distance to the populations of the second v_y, and to those of the second innermost node.
    to_next_y: u32,
    to_next: u32,
    /// Whether there is a second v_y, and a second node of the innermost axis.
    both: bool,
    two: bool,
    vy: [T; P],
    /// The fraction of a cell that they travel along y.
    along_y: [T; P],
    /// What populations of the nodes add to the mass, but for the first, which add themselves, and to the energy: in a full space v_z^2.
    mass: T,
    energy: [T; INNER],
    /// What Shakhov's polynomial has of the nodes.
    argument: [T; INNER],
    log_weight: [T; INNER],
    before: [[[T; W]; INNER]; P],
    difference: [[[T; W]; INNER]; P],
    passed: [[[T; W]; INNER]; P],
}

impl<T: Real, const W: usize, const P: usize> Group<T, W, P> {
    /// The j-th v_y; beyond the last the first, which then counts for nothing.
    #[inline(always)]
    fn v_y(&self, j: usize) -> u32 {
        if j == 0 || !self.both {
            self.jy
        } else {
            self.jy + j as u32
        }
    }
    /// The row that the s-th row of the march takes from, counted from the face where the molecules come in: below 0 beyond that face, from ny on beyond
    /// the opposite one.
    #[cfg_attr(target_arch = "nvptx64", inline(always))]
    fn row(&self, shape: &FlowShape, s: u32) -> i32 {
        let (row, ny) = (self.start + s as i32, shape.ny as i32);
        let row = if shape.bottom != face::PERIODIC {
            row
        } else if W == 1 {
            around(row, ny)
        } else {
            // A march looks at so few rows beyond its strip that it meets an end of space once.
            let row = if row < 0 { row + ny } else { row };
            if row >= ny { row - ny } else { row }
        };
        let row = if row < self.least { self.least } else { row };
        if row < self.most { row } else { self.most }
    }
    /// Where a row has the first population of the lane's cells, of the j-th v_y and the k-th node of the innermost axis.
    #[inline(always)]
    fn at(&self, shape: &FlowShape, row: i32, j: usize, k: usize) -> usize {
        if W == 1 && row as u32 >= shape.ny {
            return self.to(row, j, k);
        }
        let [first, distance] = self.populations;
        let to_next_y = if j == 0 { 0 } else { self.to_next_y };
        let to_next = if k == 0 { 0 } else { self.to_next };
        first
            .wrapping_add((row as u32).wrapping_mul(distance))
            .wrapping_add(to_next_y)
            .wrapping_add(to_next) as usize
    }
    /// Where a row has those of the lane's own cells, which it gives out.
    #[inline(always)]
    fn to(&self, row: i32, j: usize, k: usize) -> usize {
        let [first, distance] = if W == 1 { self.own } else { self.populations };
        let to_next_y = if j == 0 || W == 1 { 0 } else { self.to_next_y };
        first
            .wrapping_add((row as u32).wrapping_mul(distance))
            .wrapping_add(to_next_y) as usize
            + k * WARP as usize
    }
}

/// Sums that a pass leaves in a cell.
#[inline(always)]
const fn pass_sums<const SHAKHOV: bool>() -> u32 {
    if SHAKHOV {
        PASS_SUMS_SHAKHOV
    } else {
        PASS_SUMS_BGK
    }
}

/// A row of a strip that a march gives out.
#[derive(Clone, Copy)]
struct Given {
    /// Its number in the order of the march.
    r: u32,
    /// The half of the exchange that its sums lie in.
    half: u32,
    /// Counted from the face where the molecules come in.
    row: i32,
}

impl<S: Simt, T: Real> Pass<'_, S, T> {
    #[cfg_attr(target_arch = "nvptx64", inline(always))]
    #[cfg_attr(not(target_arch = "nvptx64"), track_caller)]
    fn run<const SLOPED: bool, const SHAKHOV: bool, const P: usize>(&self, turned: bool) {
        let Self {
            t, shape, march, ..
        } = *self;
        let parts = march.parts(shape, SLOPED);
        let [tile, chunk] = tile_and_chunk(t, turned, shape.count_x * parts, march.band);
        let (jx, part) = split(chunk, parts);
        let forward = self.of_x(jx, axis::VELOCITY) > T::ZERO;
        if march.narrow != 0 {
            self.tile::<SLOPED, SHAKHOV, 0, 1, P>(tile, jx, part, chunk, forward);
            return;
        }
        // Decided at compile time, so that no other width is compiled.
        if const { plane_width(size_of::<T>()) == 4 } {
            if forward {
                self.tile::<SLOPED, SHAKHOV, 1, 4, P>(tile, jx, part, chunk, true);
            } else {
                self.tile::<SLOPED, SHAKHOV, -1, 4, P>(tile, jx, part, chunk, false);
            }
        } else if forward {
            self.tile::<SLOPED, SHAKHOV, 1, 2, P>(tile, jx, part, chunk, true);
        } else {
            self.tile::<SLOPED, SHAKHOV, -1, 2, P>(tile, jx, part, chunk, false);
        }
    }

    #[inline(always)]
    #[cfg_attr(not(target_arch = "nvptx64"), track_caller)]
    fn of_x(&self, jx: u32, entry: u32) -> T {
        self.memory
            .axes
            .get(self.t, (self.shape.axis_x(jx) + entry) as usize)
    }

    /// The nodes of a block on one tile.
    #[cfg_attr(target_arch = "nvptx64", inline(always))]
    #[cfg_attr(not(target_arch = "nvptx64"), track_caller)]
    fn tile<
        const SLOPED: bool,
        const SHAKHOV: bool,
        const DIRECTION: i32,
        const W: usize,
        const P: usize,
    >(
        &self,
        tile: u32,
        jx: u32,
        part: u32,
        chunk: u32,
        forward: bool,
    ) {
        let Self {
            t, shape, march, ..
        } = *self;
        let along_x = [
            self.of_x(jx, axis::VELOCITY),
            self.of_x(jx, axis::WHOLE),
            self.of_x(jx, axis::FRACTION),
        ];
        let place = [tile, march.rows, chunk];
        let column = Column::<T, W>::new(t, place, shape, jx, along_x, forward, SLOPED);
        let [down, up] = march.batches_of(shape, SLOPED);
        let groups = march.groups(shape, SLOPED);
        let first = part * march.batches;
        let end = if first + march.batches < down + up {
            first + march.batches
        } else {
            down + up
        };
        let mut batch = first;
        while batch < end {
            let flies_up = batch >= down;
            let (number, all) = if flies_up {
                (batch - down, groups[1])
            } else {
                (batch, groups[0])
            };
            let from = number * march.warps;
            let left = all - from;
            self.march::<SLOPED, SHAKHOV, DIRECTION, W, P>(
                &column,
                from + self.warp,
                Batch {
                    groups: if left < march.warps {
                        left
                    } else {
                        march.warps
                    },
                    up: flies_up,
                    later: batch > first,
                    more: batch + 1 < end,
                },
            );
            batch += 1;
        }
    }

    /// Marches down the rows with the groups of a batch.
    #[cfg_attr(target_arch = "nvptx64", inline(always))]
    #[cfg_attr(not(target_arch = "nvptx64"), track_caller)]
    fn march<
        const SLOPED: bool,
        const SHAKHOV: bool,
        const DIRECTION: i32,
        const W: usize,
        const P: usize,
    >(
        &self,
        column: &Column<T, W>,
        number: u32,
        batch: Batch,
    ) {
        let Self {
            t, shape, march, ..
        } = *self;
        // Row 0 of the march lies so many rows upstream of the first that is given out; with slopes one more follows the last.
        let (lead, behind) = if SLOPED { (2, 1) } else { (1, 0) };
        let last = march.rows + lead + behind;
        // A warp too many goes along with the first group, and writes nothing.
        let works = self.warp < batch.groups;
        let number = if works { number } else { number - self.warp };
        let mut group = self.group::<SLOPED, W, P>(column, number, batch.up, lead);
        // Of the sums of a row, counted on over the rows, the next that falls to this warp.
        let mut turn = self.warp;
        let first = group.row(shape, 0);
        let mut ahead = Ahead {
            row: first,
            next: group.row(shape, 1),
            f: [[[T::ZERO; W]; INNER]; P],
            taken: 0,
        };
        if SLOPED {
            ahead.f = self.load(&group, first);
        } else {
            self.copy(&group, first, 0, true);
            self.copy(&group, ahead.next, 1, true);
        }
        let mut row = self.look::<SHAKHOV, W, P>(column, &group, first);
        let mut s = 0;
        while s < lead + behind {
            let post =
                self.arrive::<SLOPED, SHAKHOV, W, P>(column, &group, &row, &mut ahead, s, last);
            self.stream::<SLOPED, DIRECTION, W, P>(column, &mut group, s, row.outside, post);
            s += 1;
            row = self.look::<SHAKHOV, W, P>(column, &group, ahead.row);
        }
        let sums = pass_sums::<SHAKHOV>();
        while s < last {
            // Two, so that what is kept of a row need not change its registers.
            let mut half = 0;
            while half < 2 {
                let post =
                    self.arrive::<SLOPED, SHAKHOV, W, P>(column, &group, &row, &mut ahead, s, last);
                let out = self.stream::<SLOPED, DIRECTION, W, P>(
                    column,
                    &mut group,
                    s,
                    row.outside,
                    post,
                );
                let given = Given {
                    r: s - lead - behind,
                    half,
                    row: group.start + if W == 1 { group.whole } else { 0 } + (s - behind) as i32,
                };
                self.give::<SHAKHOV, W, P>(column, &group, given, out, works);
                // While the warps wait for each other and add up, the tables of the next row are under way.
                row = self.look::<SHAKHOV, W, P>(column, &group, ahead.row);
                t.sync_threads();
                while turn < sums {
                    self.add_up::<SHAKHOV, W>(column, batch, given, turn);
                    turn += march.warps;
                }
                turn -= sums;
                s += 1;
                half += 1;
            }
        }
    }

    /// The group of this number among those that fly up or down.
    #[cfg_attr(target_arch = "nvptx64", inline(always))]
    #[cfg_attr(not(target_arch = "nvptx64"), track_caller)]
    fn group<const SLOPED: bool, const W: usize, const P: usize>(
        &self,
        column: &Column<T, W>,
        number: u32,
        up: bool,
        lead: u32,
    ) -> Group<T, W, P> {
        let Self {
            t, shape, march, ..
        } = *self;
        let axes = self.memory.axes;
        let (pair, inner) = split(number, ceiling(shape.count_m, INNER as u32));
        let (first, end) = if up {
            (march.down, shape.count_y)
        } else {
            (0, march.down)
        };
        let taken = if W == 1 { 1 } else { P as u32 };
        let (jy, m) = (first + pair * taken, inner * INNER as u32);
        let both = P == 1 || (W > 1 && jy + 1 < end);
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
            shape.ny as i32 - (march.rows + column.low) as i32
        };
        let whole = if W == 1 {
            axes.get(t, (shape.axis_y(jy) + axis::WHOLE) as usize)
                .to_f64() as i32
        } else {
            0
        };
        // Beyond a face along y stands the column of the cell itself, or of the nearest, which does not come from elsewhere along x.
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
            // What comes in from a wall or an inflow is the same in all rows beyond it.
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
            energy: [T::ZERO; INNER],
            argument: [T::ZERO; INNER],
            log_weight: [T::ZERO; INNER],
            before: [[[T::ZERO; W]; INNER]; P],
            difference: [[[T::ZERO; W]; INNER]; P],
            passed: [[[T::ZERO; W]; INNER]; P],
        };
        let mut j = 0;
        while j < P {
            let node = shape.axis_y(group.v_y(j));
            let of_y = |e: u32| axes.get(t, (node + e) as usize);
            group.vy[j] = of_y(axis::VELOCITY);
            group.along_y[j] = of_y(axis::FRACTION);
            j += 1;
        }
        let mut k = 0;
        while k < INNER {
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
            k += 1;
        }
        group
    }

    /// The lane's place in shared memory for the k-th population of a row.
    #[inline(always)]
    fn stage<const P: usize>(&self, stage: u32, k: usize) -> u32 {
        ((stage * (INNER * P) as u32 + k as u32) * self.march.warps + self.warp) * WARP
            + self.t.lane()
    }

    /// The populations of a row.
    #[cfg_attr(target_arch = "nvptx64", inline(always))]
    #[cfg_attr(not(target_arch = "nvptx64"), track_caller)]
    fn load<const W: usize, const P: usize>(
        &self,
        group: &Group<T, W, P>,
        row: i32,
    ) -> [[[T; W]; INNER]; P] {
        let mut values = [[[T::ZERO; W]; INNER]; P];
        let mut n = 0;
        while n < P * INNER {
            let (j, k) = (n / INNER, n % INNER);
            values[j][k] = self
                .memory
                .f
                .get_once(self.t, group.at(self.shape, row, j, k));
            n += 1;
        }
        values
    }

    /// Announces the populations of a row.
    #[cfg_attr(target_arch = "nvptx64", inline(always))]
    #[cfg_attr(not(target_arch = "nvptx64"), track_caller)]
    fn announce<const W: usize, const P: usize>(&self, group: &Group<T, W, P>, row: i32) {
        let mut n = 0;
        while n < P * INNER {
            let (j, k) = (n / INNER, n % INNER);
            self.memory
                .f
                .prefetch(self.t, group.at(self.shape, row, j, k));
            n += 1;
        }
    }

    /// Copies the populations of a row to shared memory, while the thread goes on; nothing of a row that is not there.
    #[cfg_attr(target_arch = "nvptx64", inline(always))]
    #[cfg_attr(not(target_arch = "nvptx64"), track_caller)]
    fn copy<const W: usize, const P: usize>(
        &self,
        group: &Group<T, W, P>,
        row: i32,
        stage: u32,
        there: bool,
    ) {
        if there {
            let mut n = 0;
            while n < P * INNER {
                let (j, k) = (n / INNER, n % INNER);
                let to = self.stage::<P>(stage, n) * W as u32;
                let at = group.at(self.shape, row, j, k);
                self.memory
                    .f
                    .copy_to::<W, _>(self.t, at, self.memory.stages, to);
                n += 1;
            }
        }
        self.t.end_copies();
    }

    /// What the tables have for a row of cells, or for what lies beyond a face.
    #[cfg_attr(target_arch = "nvptx64", inline(always))]
    #[cfg_attr(not(target_arch = "nvptx64"), track_caller)]
    fn look<const SHAKHOV: bool, const W: usize, const P: usize>(
        &self,
        column: &Column<T, W>,
        group: &Group<T, W, P>,
        row: i32,
    ) -> Row<T, W, P> {
        let Self { t, shape, .. } = *self;
        let tables = self.memory.tables;
        let [first, distance] = group.entries;
        let [entering, leaving] = group.beyond;
        let outside = row as u32 >= shape.ny;
        let at = if !outside {
            first.wrapping_add((row as u32).wrapping_mul(distance))
        } else if row < 0 {
            entering
        } else {
            leaving
        };
        let entries =
            |row: u32| -> [T; W] { tables.get_whole(t, (row * shape.columns() + at) as usize) };
        let mut y = [[T::ZERO; W]; P];
        let mut j = 0;
        while j < P {
            y[j] = entries(shape.row_y() + group.v_y(j));
            j += 1;
        }
        let mut heat = [[T::ZERO; W]; HEAT_ROWS];
        if SHAKHOV {
            let mut k = 0;
            while k < HEAT_ROWS {
                heat[k] = entries(row::HEAT + k as u32);
                k += 1;
            }
        }
        Row {
            outside,
            keep: entries(row::KEEP),
            steep: entries(shape.row_of_inner()),
            x: entries(row::X + column.jx),
            y,
            heat,
        }
    }

    /// The relaxed populations of the s-th row, of `last`; those of the next rows are called for meanwhile.
    #[cfg_attr(target_arch = "nvptx64", inline(always))]
    #[cfg_attr(not(target_arch = "nvptx64"), track_caller)]
    fn arrive<const SLOPED: bool, const SHAKHOV: bool, const W: usize, const P: usize>(
        &self,
        column: &Column<T, W>,
        group: &Group<T, W, P>,
        row: &Row<T, W, P>,
        ahead: &mut Ahead<T, W, P>,
        s: u32,
        last: u32,
    ) -> [[[T; W]; INNER]; P] {
        let t = self.t;
        // The last rows are called for again in place of rows that nobody looks at.
        let there = |s: u32| if s < last { s } else { last - 1 };
        ahead.row = ahead.next;
        ahead.next = group.row(self.shape, there(s + 2));
        if SLOPED {
            let post = self.relax::<SHAKHOV, W, P>(column, group, row, ahead.f);
            // After the tables have been looked at, whose registers are free now.
            t.pin_accesses();
            ahead.f = self.load(group, ahead.row);
            self.announce(group, ahead.next);
            return post;
        }
        let mut f = ahead.f;
        let free = if ahead.taken == 0 {
            STAGES - 1
        } else {
            ahead.taken - 1
        };
        self.copy(group, ahead.next, free, s + 2 < last);
        t.wait_copies(STAGES - 1);
        let mut n = 0;
        while n < P * INNER {
            let at = self.stage::<P>(ahead.taken, n) * W as u32;
            f[n / INNER][n % INNER] = self.memory.stages.get_run(t, at);
            n += 1;
        }
        ahead.taken = if ahead.taken + 1 < STAGES {
            ahead.taken + 1
        } else {
            0
        };
        self.relax::<SHAKHOV, W, P>(column, group, row, f)
    }

    /// Relaxes the populations of a row of the march.
    #[cfg_attr(target_arch = "nvptx64", inline(always))]
    fn relax<const SHAKHOV: bool, const W: usize, const P: usize>(
        &self,
        column: &Column<T, W>,
        group: &Group<T, W, P>,
        row: &Row<T, W, P>,
        f: [[[T; W]; INNER]; P],
    ) -> [[[T; W]; INNER]; P] {
        let mut factors = [[T::ONE; W]; INNER];
        if self.shape.integrated > 0 {
            factors[1] = row.steep;
        } else {
            let mut k = 0;
            while k < INNER {
                let mut w = 0;
                while w < W {
                    let exponent = group.energy[k].mul_add(row.steep[w], group.log_weight[k]);
                    factors[k][w] = power_of_two(exponent);
                    w += 1;
                }
                k += 1;
            }
        }
        let mut post = f;
        let mut j = 0;
        while j < P {
            let mut w = 0;
            while w < W {
                let maxwellian = row.x[w] * row.y[j][w];
                let (mut constant, mut slope) = (maxwellian, T::ZERO);
                if SHAKHOV {
                    let heat = Heat::of(|k| row.heat[(k - row::HEAT) as usize][w], column.vx);
                    let (alpha, beta) = heat.at(group.vy[j]);
                    constant = alpha * maxwellian;
                    slope = beta * maxwellian;
                    if self.shape.integrated > 0 {
                        slope *= row.steep[w];
                    }
                }
                let mut k = 0;
                while k < INNER {
                    let share = if SHAKHOV {
                        slope.mul_add(group.argument[k], constant)
                    } else {
                        constant
                    };
                    post[j][k][w] = row.keep[w].mul_add(f[j][k][w], share * factors[k][w]);
                    k += 1;
                }
                w += 1;
            }
            j += 1;
        }
        post
    }

    /// Shifts a row of the march, perhaps one from beyond a face along y, along x and then along y: what comes of it and the rows before.
    #[cfg_attr(target_arch = "nvptx64", inline(always))]
    #[cfg_attr(not(target_arch = "nvptx64"), track_caller)]
    fn stream<const SLOPED: bool, const DIRECTION: i32, const W: usize, const P: usize>(
        &self,
        column: &Column<T, W>,
        group: &mut Group<T, W, P>,
        s: u32,
        outside: bool,
        post: [[[T; W]; INNER]; P],
    ) -> [[[T; W]; INNER]; P] {
        // What comes from beyond a face along y stays where it is along x.
        let a = if outside { T::ZERO } else { column.fraction };
        // Where the direction is known nobody looks for the neighbours.
        let mut lanes = [0; 2];
        if DIRECTION == 0 {
            let lane = self.t.lane();
            let (below, above) = (lane.wrapping_sub(1) % WARP, (lane + 1) % WARP);
            lanes = if column.forward {
                [below, above]
            } else {
                [above, below]
            };
        }
        // Whether the row before lies beyond a wall that mirrors a part.
        let image = group.mixed && group.start + s as i32 <= 0;
        let mut out = post;
        let mut n = 0;
        while n < P * INNER {
            let (j, k) = (n / INNER, n % INNER);
            let z = shift::<S, T, W, SLOPED, DIRECTION>(
                self.t,
                post[j][k],
                [a, column.rest],
                if DIRECTION == 0 {
                    column.forward
                } else {
                    DIRECTION > 0
                },
                lanes,
                column.flat,
                |_| false,
            );
            let b = group.along_y[j];
            let d = if image { T::ZERO } else { T::ONE - b };
            let mut w = 0;
            while w < W {
                let before = group.before[j][k][w];
                if SLOPED {
                    let ahead = z[w] - before;
                    let half = limited(group.difference[j][k][w], ahead);
                    let passes = d.mul_add(half, before);
                    out[j][k][w] = b.mul_add(group.passed[j][k][w] - passes, before);
                    group.passed[j][k][w] = passes;
                    group.difference[j][k][w] = ahead;
                } else {
                    out[j][k][w] = b.mul_add(before - z[w], z[w]);
                }
                group.before[j][k][w] = z[w];
                w += 1;
            }
            n += 1;
        }
        out
    }

    /// Writes a row that a march gives out, and lays its sums where the other warps see them.
    #[cfg_attr(target_arch = "nvptx64", inline(always))]
    #[cfg_attr(not(target_arch = "nvptx64"), track_caller)]
    fn give<const SHAKHOV: bool, const W: usize, const P: usize>(
        &self,
        column: &Column<T, W>,
        group: &Group<T, W, P>,
        given: Given,
        out: [[[T; W]; INNER]; P],
        works: bool,
    ) {
        let t = self.t;
        if works && self.gives(column, group.up, given) {
            let mut n = 0;
            while n < P * INNER {
                let (j, k) = (n / INNER, n % INNER);
                if (j == 0 || group.both) && (k == 0 || group.two) {
                    let at = group.to(given.row, j, k);
                    self.memory.next.set_run(t, at, out[j][k]);
                }
                n += 1;
            }
        }
        let mut sums = [[T::ZERO; W]; PASS_SUMS_SHAKHOV as usize];
        let mut j = 0;
        while j < P {
            if j == 0 || group.both {
                let vy = group.vy[j];
                let mut w = 0;
                while w < W {
                    let [first, other] = [out[j][0][w], out[j][1][w]];
                    let zeroth = group.mass.mul_add(other, first);
                    let second = group.energy[0].mul_add(first, group.energy[1] * other);
                    let rest = (vy * vy).mul_add(zeroth, second);
                    if j == 0 {
                        [sums[0][w], sums[1][w], sums[2][w]] = [zeroth, vy * zeroth, rest];
                    } else {
                        sums[0][w] += zeroth;
                        sums[1][w] = vy.mul_add(zeroth, sums[1][w]);
                        sums[2][w] += rest;
                    }
                    if SHAKHOV {
                        sums[3][w] = vy.mul_add(rest, sums[3][w]);
                        sums[4][w] = (vy * vy).mul_add(zeroth, sums[4][w]);
                    }
                    w += 1;
                }
            }
            j += 1;
        }
        let first = self.exchanged::<SHAKHOV, W>(given.half, self.warp);
        let mut k = 0;
        while k < pass_sums::<SHAKHOV>() as usize {
            let at = k * WARP as usize * W;
            self.memory.exchange.set_run_near(t, first, at, sums[k]);
            k += 1;
        }
    }

    /// The number in its strip of a row that a march gives out.
    #[inline(always)]
    fn row_of(&self, up: bool, given: Given) -> u32 {
        if up {
            given.r
        } else {
            self.march.rows - 1 - given.r
        }
    }

    /// Whether the lane writes a row.
    #[inline(always)]
    fn gives<const W: usize>(&self, column: &Column<T, W>, up: bool, given: Given) -> bool {
        // Narrow lanes take up planes of a single row too.
        let there = W > 1 || (given.row as u32) < self.shape.ny;
        column.gives && there && self.row_of(up, given) >= column.skipped
    }

    /// Where a warp lays the sums of this lane's cells.
    #[inline(always)]
    fn exchanged<const SHAKHOV: bool, const W: usize>(&self, half: u32, warp: u32) -> u32 {
        let sums = pass_sums::<SHAKHOV>();
        ((half * self.march.warps + warp) * sums * WARP + self.t.lane()) * W as u32
    }

    /// Adds the k-th sums of the warps in a row, in the order of the warps, to those of the batches before.
    #[cfg_attr(target_arch = "nvptx64", inline(always))]
    #[cfg_attr(not(target_arch = "nvptx64"), track_caller)]
    fn add_up<const SHAKHOV: bool, const W: usize>(
        &self,
        column: &Column<T, W>,
        batch: Batch,
        given: Given,
        k: u32,
    ) {
        let Self {
            t, shape, march, ..
        } = *self;
        let Memory {
            exchange,
            kept,
            partial,
            ..
        } = self.memory;
        let first = self.exchanged::<SHAKHOV, W>(given.half, 0) + k * WARP * W as u32;
        let mut sum: [T; W] = exchange.get_run(t, first);
        // Without a loop, of which the compiler would make many.
        let mut warp = 1;
        while warp < MARCH_THREADS / WARP {
            if warp < batch.groups {
                let at = (warp * pass_sums::<SHAKHOV>() * WARP) as usize * W;
                let other: [T; W] = exchange.get_run_near(t, first, at);
                let mut w = 0;
                while w < W {
                    sum[w] += other[w];
                    w += 1;
                }
            }
            warp += 1;
        }
        let row = self.row_of(batch.up, given);
        let at = ((k * march.rows + row) * WARP + t.lane()) * W as u32;
        if batch.later {
            let before: [T; W] = kept.get_run(t, at);
            let mut w = 0;
            while w < W {
                sum[w] += before[w];
                w += 1;
            }
        }
        if batch.more {
            kept.set_run(t, at, sum);
        }
        // Two stores that became one would go to an address of either memory.
        t.pin_accesses();
        if !batch.more && self.gives(column, batch.up, given) {
            let place = (column.low + row) * shape.pitch + column.gives_to();
            let at = (column.chunk * pass_sums::<SHAKHOV>() + k) * shape.plane() + place;
            partial.set_run(t, at as usize, sum);
        }
    }
}

/// What a march has under way.
struct Ahead<T, const W: usize, const P: usize> {
    /// The next two rows of cells, counted from the face where the molecules come in.
    row: i32,
    next: i32,
    /// With slopes its populations.
    f: [[[T; W]; INNER]; P],
    /// In first order the place in shared memory of those of this row.
    taken: u32,
}

/// What the tables have for a row of the march: what is kept of the populations, the steepness or the table of h, and the Maxwellian's factors along x
/// and y.
struct Row<T, const W: usize, const P: usize> {
    /// Whether it lies beyond a face.
    outside: bool,
    keep: [T; W],
    steep: [T; W],
    x: [T; W],
    y: [[T; W]; P],
    /// Shakhov's polynomial and the mean velocity.
    heat: [[T; W]; HEAT_ROWS],
}

/// Rows of the tables for Shakhov's polynomial and the mean velocity.
const HEAT_ROWS: usize = (row::X - row::HEAT) as usize;
