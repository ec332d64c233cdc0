//! Messages between neighbouring ranks before a step: populations, tables and face columns near a cut.
//!
//! A rank keeps ghosts of its neighbours' cells beyond its cuts, as ordinary cells. A pass relaxes the populations that it reads, so it needs a ghost's
//! populations and its columns of the tables. Let w be the most whole cells that molecules travel in a step. Populations that fly in are sent w + 1 cells
//! deep, w + 2 with slopes. With slopes those that fly out are sent 1 cell deep, for the slope of the last own cell. Lines are cut along x, planes along y.
//!
//! A message holds in this order
//!
//! 1. populations that fly the way of the message, `[jx][jy][depth][m or place and m]`, `depth_in` cells or rows deep, then the others, `depth_out` deep;
//! 2. the tables of those `depth_in` cells, `[row][depth][place]`;
//! 3. in a plane the factors along v_x of the molecules that come in through the left and right faces of those rows, `[face][jx][depth]`. The density that
//!    a wall emits depends on all populations of its row, and only the owner has them;
//! 4. padding to whole packets.
//!
//! In a plane a thread copies a packet of 16 bytes, which rows hold whole. Its place costs several divisions, a share of which each word then pays.
//!
//! Molecules at rest count as those that fly low, as in the pass.

use super::layout::{FACE_WIDTH, FlowShape, row, split};
use crate::kernel;
use crate::math::Real;
use crate::memory::{In, Out};
use crate::simt::Simt;

/// Bytes of a packet, which memory moves in one access.
const PACKET_BYTES: u32 = 16;

/// Most words of a packet.
const LONGEST_PACKET: u32 = PACKET_BYTES / 4;

const fn words_of_packet<T>() -> u32 {
    PACKET_BYTES / size_of::<T>() as u32
}

/// The cuts of a rank and the depth of its ghosts.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[repr(C)]
pub struct Halo {
    /// The direction that is cut: 0 for a line, 1 for a plane.
    pub direction: u32,
    /// The first cell or row that the rank owns.
    pub first: u32,
    /// One past the last.
    pub end: u32,
    /// Nodes along that direction whose molecules fly low or rest; they come first.
    pub low: u32,
    /// Cells or rows of populations that fly in, and of tables.
    pub depth_in: u32,
    /// Cells or rows of populations that fly out.
    pub depth_out: u32,
    /// Bit 0 where there is a neighbour at the low side, bit 1 for the high one.
    pub sides: u32,
    /// Rows of the tables.
    pub rows: u32,
}

impl Halo {
    /// Words of a place of the cut: one on a line; in a plane a row of populations of a pair and all of its innermost nodes.
    const fn run(&self, shape: &FlowShape) -> u32 {
        if self.direction == 0 {
            1
        } else {
            shape.pitch * shape.count_m
        }
    }
    /// Places of the tables at one distance from the cut.
    const fn places(&self, shape: &FlowShape) -> u32 {
        if self.direction == 0 { 1 } else { shape.pitch }
    }
    /// Nodes along the cut direction, and lines of them.
    const fn nodes(&self, shape: &FlowShape) -> [u32; 2] {
        if self.direction == 0 {
            [shape.count_x, shape.count_y * shape.count_m]
        } else {
            [shape.count_y, shape.count_x]
        }
    }
    /// Words of populations that fly the way of a message to the low (0) or the high (1) side, and of the others.
    const fn populations(&self, shape: &FlowShape, way: u32) -> [u32; 2] {
        let [count, lines] = self.nodes(shape);
        let with = if way == 0 { self.low } else { count - self.low };
        let run = lines * self.run(shape);
        [
            with * run * self.depth_in,
            (count - with) * run * self.depth_out,
        ]
    }
    /// Words of the tables in a message.
    const fn tables(&self, shape: &FlowShape) -> u32 {
        self.rows * self.depth_in * self.places(shape)
    }
    /// Words of face columns in a message.
    const fn columns(&self, shape: &FlowShape) -> u32 {
        if self.direction == 0 {
            0
        } else {
            2 * shape.count_x * self.depth_in
        }
    }
    /// Words of a message to the low (0) or the high (1) side before its face columns: in a plane whole packets.
    const fn words_in_rows(&self, shape: &FlowShape, way: u32) -> u32 {
        let [with, others] = self.populations(shape, way);
        with + others + self.tables(shape)
    }
    /// Words of a message to the low (0) or the high (1) side, with its padding.
    pub const fn words(&self, shape: &FlowShape, way: u32) -> u32 {
        self.written(shape, way).next_multiple_of(LONGEST_PACKET)
    }
    /// Words that a thread copies.
    pub const fn packet<T>(&self) -> u32 {
        if self.direction == 0 {
            1
        } else {
            words_of_packet::<T>()
        }
    }
    /// Whether there is a neighbour at a side.
    pub const fn has(&self, side: u32) -> bool {
        (self.sides >> side) & 1 != 0
    }
    /// Words of a message that are not padding.
    const fn written(&self, shape: &FlowShape, way: u32) -> u32 {
        self.words_in_rows(shape, way) + self.columns(shape)
    }
    /// Words of the messages to both neighbours: the low one's comes first.
    pub const fn sent(&self, shape: &FlowShape) -> [u32; 2] {
        [
            if self.has(0) { self.words(shape, 0) } else { 0 },
            if self.has(1) { self.words(shape, 1) } else { 0 },
        ]
    }
    /// Words of the messages from both: molecules from the low side fly high.
    pub const fn received(&self, shape: &FlowShape) -> [u32; 2] {
        [
            if self.has(0) { self.words(shape, 1) } else { 0 },
            if self.has(1) { self.words(shape, 0) } else { 0 },
        ]
    }

    /// The ghost, or the own cell, at the distance d from the cut at a side.
    #[inline(always)]
    const fn near(&self, side: u32, d: u32, ghost: bool) -> u32 {
        if side == 0 {
            if ghost {
                self.first.wrapping_sub(1 + d)
            } else {
                self.first + d
            }
        } else if ghost {
            self.end + d
        } else {
            self.end.wrapping_sub(1 + d)
        }
    }
}

/// The place of a word of a message.
#[derive(Clone, Copy)]
struct Word {
    /// Whether it is a population, or an entry of the tables.
    population: bool,
    at: u32,
    /// Equal entries of the tables that it is copied to.
    copies: u32,
}

impl Word {
    #[inline(always)]
    const fn population(at: u32) -> Self {
        Self {
            population: true,
            at,
            copies: 1,
        }
    }
    #[inline(always)]
    const fn table(at: u32, copies: u32) -> Self {
        Self {
            population: false,
            at,
            copies,
        }
    }
}

/// A rank's end of a cut.
#[derive(Clone, Copy)]
struct End<'a> {
    shape: &'a FlowShape,
    halo: &'a Halo,
    side: u32,
    /// The side that the message flies to.
    way: u32,
    /// Whether these are the ghosts beyond the cut, or the rank's own cells.
    ghost: bool,
}

impl End<'_> {
    /// The end that the word `index` of both messages belongs to, and its number in that message.
    #[cfg_attr(target_arch = "nvptx64", inline(always))]
    fn of<'a>(
        shape: &'a FlowShape,
        halo: &'a Halo,
        index: u32,
        ghost: bool,
    ) -> Option<(End<'a>, u32)> {
        let [low, high] = if ghost {
            halo.received(shape)
        } else {
            halo.sent(shape)
        };
        let side = u32::from(index >= low);
        let word = if side == 0 { index } else { index - low };
        let end = End {
            shape,
            halo,
            side,
            way: if ghost { 1 - side } else { side },
            ghost,
        };
        if side == 1 && word >= high {
            None
        } else {
            Some((end, word))
        }
    }

    #[cfg_attr(target_arch = "nvptx64", inline(always))]
    fn word(&self, index: u32) -> Word {
        let Self {
            shape, halo, way, ..
        } = *self;
        let [with, others] = halo.populations(shape, way);
        let mut index = index;
        if index < with {
            return Word::population(self.population(index, way, halo.depth_in));
        }
        index -= with;
        if index < others {
            return Word::population(self.population(index, 1 - way, halo.depth_out));
        }
        index -= others;
        if index < halo.tables(shape) {
            let (rest, at) = split(index, halo.places(shape));
            let (row, d) = split(rest, halo.depth_in);
            return Word::table(row * shape.columns() + self.place(d) + at, 1);
        }
        index -= halo.tables(shape);
        let (rest, d) = split(index, halo.depth_in);
        let (face, jx) = split(rest, shape.count_x);
        let column = shape.face_columns(face) + FACE_WIDTH * halo.near(self.side, d, self.ghost);
        Word::table((row::X + jx) * shape.columns() + column, FACE_WIDTH)
    }

    /// The place of the plane of cells at the distance d from the cut; in a plane the first of a row.
    #[cfg_attr(target_arch = "nvptx64", inline(always))]
    fn place(&self, d: u32) -> u32 {
        self.halo.near(self.side, d, self.ghost) * self.halo.places(self.shape)
    }

    /// The address of the population `index` among those that fly one way and are `depth` deep.
    #[cfg_attr(target_arch = "nvptx64", inline(always))]
    fn population(&self, index: u32, way: u32, depth: u32) -> u32 {
        let Self { shape, halo, .. } = *self;
        let [count, _] = halo.nodes(shape);
        let (first, nodes) = if way == 0 {
            (0, halo.low)
        } else {
            (halo.low, count - halo.low)
        };
        let (rest, at) = split(index, halo.run(shape));
        let (line, d) = split(rest, depth);
        if halo.direction == 0 {
            let (j, inner) = split(line, shape.count_y * shape.count_m);
            let (jy, m) = split(inner, shape.count_m);
            shape.population([first + j, jy, m], halo.near(self.side, d, self.ghost))
        } else {
            let (jx, j) = split(line, nodes);
            let pair = jx * shape.count_y + first + j;
            shape.row_start(pair, 0, halo.near(self.side, d, self.ghost)) + at
        }
    }
}

/// Copies a packet, the `N` words from `index` on of the messages, from a rank's cells.
#[inline(always)]
fn pack_packet<const N: usize, S: Simt, T: Real>(
    t: &S,
    (f, tables): (In<'_, T>, In<'_, T>),
    messages: Out<'_, T>,
    word: Word,
    index: u32,
) {
    let values: [T; N] = if word.population {
        f.get_run(t, word.at as usize)
    } else {
        tables.get_run(t, word.at as usize)
    };
    messages.set_run(t, index as usize, values);
}

/// Copies a packet to a rank's ghosts.
#[inline(always)]
fn unpack_packet<const N: usize, S: Simt, T: Real>(
    t: &S,
    messages: In<'_, T>,
    (f, tables): (Out<'_, T>, Out<'_, T>),
    word: Word,
    index: u32,
) {
    let values: [T; N] = messages.get_run(t, index as usize);
    if word.population {
        f.set_run(t, word.at as usize, values);
    } else {
        tables.set_run(t, word.at as usize, values);
    }
}

kernel! {
    /// Copies this rank's cells near the cuts into one message after the other.
    ///
    /// **Thread**: a packet of a plane, a word of a line. Consecutive threads read consecutive packets. On a line each word costs a sector of 32 bytes; there are few.
    /// **No race**: a thread alone writes its words of the messages.
    pub fn halo_pack<T: Real>(t, f: In<T>, tables: In<T>, messages: Out<T>; shape: FlowShape, halo: Halo) for f32, f64 {
        let packet = halo.packet::<T>();
        let index = packet * t.global_idx() as u32;
        if let Some((end, first)) = End::of(&shape, &halo, index, false) {
            if packet > 1 && first < halo.words_in_rows(&shape, end.way) {
                let word = end.word(first);
                if size_of::<T>() == 4 {
                    pack_packet::<4, _, _>(t, (f, tables), messages, word, index);
                } else {
                    pack_packet::<2, _, _>(t, (f, tables), messages, word, index);
                }
            } else {
                let mut k = 0;
                while k < packet && first + k < halo.written(&shape, end.way) {
                    let word = end.word(first + k);
                    let value = if word.population {
                        f.get(t, word.at as usize)
                    } else {
                        tables.get(t, word.at as usize)
                    };
                    messages.set(t, (index + k) as usize, value);
                    k += 1;
                }
            }
        }
    }
}

kernel! {
    /// Writes the neighbours' messages into the ghosts and their columns of the tables.
    ///
    /// **Thread**: a packet of a plane, a word of a line. **No race**: ghosts at the two ends are different cells, and each of their words comes once.
    pub fn halo_unpack<T: Real>(t, messages: In<T>, f: Out<T>, tables: Out<T>; shape: FlowShape, halo: Halo) for f32, f64 {
        let packet = halo.packet::<T>();
        let index = packet * t.global_idx() as u32;
        if let Some((end, first)) = End::of(&shape, &halo, index, true) {
            if packet > 1 && first < halo.words_in_rows(&shape, end.way) {
                let word = end.word(first);
                if size_of::<T>() == 4 {
                    unpack_packet::<4, _, _>(t, messages, (f, tables), word, index);
                } else {
                    unpack_packet::<2, _, _>(t, messages, (f, tables), word, index);
                }
            } else {
                let mut k = 0;
                while k < packet && first + k < halo.written(&shape, end.way) {
                    let value = messages.get(t, (index + k) as usize);
                    let word = end.word(first + k);
                    if word.population {
                        f.set(t, word.at as usize, value);
                    } else {
                        let mut copy = 0;
                        while copy < word.copies {
                            tables.set(t, (word.at + copy) as usize, value);
                            copy += 1;
                        }
                    }
                    k += 1;
                }
            }
        }
    }
}

/// Words of one side's message of the cells' f64 state, `rows` numbers each.
pub const fn kept_words(halo: &Halo, rows: u32) -> u32 {
    rows * halo.depth_in
}

/// The address of the word `index` of both sides' messages in the rows of a line's cells.
#[cfg_attr(target_arch = "nvptx64", inline(always))]
fn kept_word(shape: &FlowShape, halo: &Halo, rows: u32, index: u32, ghost: bool) -> Option<usize> {
    let (side, word) = split(index, kept_words(halo, rows));
    if side > 1 || !halo.has(side) {
        return None;
    }
    let (row, d) = split(word, halo.depth_in);
    Some((row * shape.plane() + halo.near(side, d, ghost)) as usize)
}

kernel! {
    /// Copies the sums and the Maxwellians of a line's cells near the cuts. Ghosts need them to take several steps by themselves.
    ///
    /// **Thread**: a word, of both sides whether there is a neighbour or not. **No race**: a thread alone writes its word.
    pub fn halo_pack_kept(t, state: In<f64>, messages: Out<f64>; shape: FlowShape, halo: Halo, rows: u32) {
        let index = t.global_idx() as u32;
        if let Some(at) = kept_word(&shape, &halo, rows, index, false) {
            messages.set(t, index as usize, state.get(t, at));
        }
    }
}

kernel! {
    /// Writes them into the rows of the ghosts. **Thread**, **no race**: as in [`halo_pack_kept()`].
    pub fn halo_unpack_kept(t, messages: In<f64>, state: Out<f64>; shape: FlowShape, halo: Halo, rows: u32) {
        let index = t.global_idx() as u32;
        if let Some(at) = kept_word(&shape, &halo, rows, index, true) {
            state.set(t, at, messages.get(t, index as usize));
        }
    }
}
