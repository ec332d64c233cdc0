//! Streaming of distributions on the velocity grid of the [collision integral](crate::collision), along the lines of cells of one direction of space.
//!
//! Distributions lie `[cell][ix][iy][iz]`, `iz` fastest, as the collision kernels take them, in f64. The scheme is that of the BGK wing (A. Frezzotti,
//! G. P. Ghiroldi and L. Gibelli, 2009, arXiv:0903.4044, eqs. 12 and 15): a shift by `k` whole cells, and the fraction `a` of a cell with or without van Leer's slopes;
//! or, for a method of lines, the rate of change by the same slopes.

use crate::bgk::sweep::limited;
use crate::collision::GridShape;
use crate::collision::reduce::{block_combine, block_sum, scratch_words};
use crate::kernel;
use crate::math::{Real, quotient};
use crate::memory::In;
use crate::simt::Simt;

/// Kinds of ends of the lines.
pub mod end {
    /// The incoming distribution is given.
    pub const STREAM: u32 = 0;
    /// A wall: it sends back a Maxwellian of its temperature and velocity, with a density of its own for each line, and mirrors the rest.
    pub const WALL: u32 = 1;
    /// Molecules are mirrored.
    pub const MIRROR: u32 = 2;
    /// Leaving molecules come in at the other end.
    pub const PERIODIC: u32 = 3;
    /// The cells of a neighbouring rank follow, of which copies are kept as ghosts.
    pub const CUT: u32 = 4;
}

/// Results of a pass.
pub mod write {
    /// The shifted distributions.
    pub const SHIFTED: u32 = 0;
    /// Rates of change.
    pub const RATES: u32 = 1;
    /// The sum of the rates of change and of those that are there.
    pub const MORE_RATES: u32 = 2;
}

/// The lines of cells along a direction of space, and what a pass along them does.
#[derive(Clone, Copy, Debug, PartialEq)]
#[repr(C)]
pub struct Lines {
    /// Share of the molecules that a wall at the low end mirrors.
    pub low_mirrors: f64,
    /// The same at the high end.
    pub high_mirrors: f64,
    /// Cells of a line.
    pub length: u32,
    /// Cells from one of a line to the next.
    pub distance: u32,
    /// All cells.
    pub cells: u32,
    /// Nodes of a distribution.
    pub nodes: u32,
    /// Nodes along an axis.
    pub count: u32,
    /// Nodes one after the other with the same velocity along the lines.
    pub run: u32,
    /// Kind of the low end, as in [`end`].
    pub low: u32,
    /// Kind of the high end.
    pub high: u32,
    /// 1 with van Leer's slopes, 0 without.
    pub sloped: u32,
    /// As in [`mod@write`].
    pub write: u32,
    /// Ghosts of a line beyond an end that is a cut.
    pub ghosts: u32,
}

impl Lines {
    /// Lines beside each other.
    #[inline(always)]
    pub fn rows(&self) -> u32 {
        quotient(self.cells, self.length)
    }

    /// The first value of a node in the ghosts beyond an end: the `d`-th place from the low (0) or the high (1) end. Ghosts lie `[end][place][line][node]`, places ascending.
    #[inline(always)]
    pub fn ghost(&self, side: u32, d: u32, row: u32) -> u32 {
        let place = if side == 0 { self.ghosts - 1 - d } else { d };
        let before = if side == 1 && self.low == end::CUT {
            self.ghosts
        } else {
            0
        };
        (before + place) * self.rows() * self.nodes + row * self.nodes
    }

    /// The cell at a place of a line.
    #[inline(always)]
    pub fn cell(&self, row: u32, place: u32) -> u32 {
        let beside = quotient(row, self.distance);
        (beside * self.length + place) * self.distance + row - beside * self.distance
    }
}

/// Index of the numbers kept for each velocity along the lines.
pub mod courant {
    /// 1 for molecules that move up, -1 for the others.
    pub const DIRECTION: usize = 0;
    /// Whole cells of the shift, k.
    pub const WHOLE: usize = 1;
    /// The fraction left over, a; for rates the cells passed in a unit of time.
    pub const FRACTION: usize = 2;
    /// The share of half a slope that passes: 1 - a; for rates 1.
    pub const REST: usize = 3;
    /// Entries.
    pub const LEN: usize = 4;
}

/// The molecules of one node on one line. Places are counted from the end where they come in.
#[derive(Clone, Copy)]
struct Beam<'a> {
    lines: Lines,
    from: In<'a, f64>,
    ghosts: In<'a, f64>,
    row: u32,
    node: u32,
    /// The node with the opposite velocity along the line.
    opposite: u32,
    /// The first value of the cell where the molecules come in, and from a cell to the next.
    entry: u32,
    stride: i32,
    forward: bool,
    whole: i32,
    fraction: f64,
    rest: f64,
}

impl<'a> Beam<'a> {
    #[inline(always)]
    #[track_caller]
    fn of<S: Simt>(
        t: &S,
        lines: Lines,
        [from, ghosts]: [In<'a, f64>; 2],
        shifts: In<'a, f64>,
        (row, node): (u32, u32),
    ) -> Self {
        let runs = quotient(node, lines.run);
        let j = runs - quotient(runs, lines.count) * lines.count;
        let at = j as usize * courant::LEN;
        let forward = shifts.get(t, at + courant::DIRECTION) > 0.0;
        let entry = lines.cell(row, if forward { 0 } else { lines.length - 1 });
        let stride = (lines.distance * lines.nodes) as i32;
        Self {
            lines,
            from,
            ghosts,
            row,
            node,
            opposite: (node + (lines.count - 1 - j) * lines.run) - j * lines.run,
            entry: entry * lines.nodes,
            stride: if forward { stride } else { -stride },
            forward,
            whole: shifts.get(t, at + courant::WHOLE) as i32,
            fraction: shifts.get(t, at + courant::FRACTION),
            rest: shifts.get(t, at + courant::REST),
        }
    }

    /// Kind of the end where they come in, and of the end where they leave.
    #[inline(always)]
    fn ends(&self) -> [u32; 2] {
        let Lines { low, high, .. } = self.lines;
        if self.forward {
            [low, high]
        } else {
            [high, low]
        }
    }

    /// The first value of the cell at a place on the line.
    #[inline(always)]
    fn value(&self, place: i32) -> u32 {
        self.entry.wrapping_add_signed(place * self.stride)
    }

    /// The value of a node in the cell at a place.
    #[inline(always)]
    #[track_caller]
    fn inside<S: Simt>(&self, t: &S, node: u32, place: i32) -> f64 {
        let last = self.lines.length as i32 - 1;
        let place = if place < last { place } else { last };
        let place = if place > 0 { place } else { 0 };
        self.from.get(t, (self.value(place) + node) as usize)
    }

    /// The value in the `d`-th ghost beyond the end where the molecules come in, or leave.
    #[inline(always)]
    #[track_caller]
    fn ghost<S: Simt>(&self, t: &S, leaves: bool, d: i32) -> f64 {
        let side = u32::from(self.forward == leaves);
        let first = self.lines.ghost(side, d as u32, self.row);
        self.ghosts.get(t, (first + self.node) as usize)
    }

    /// The value at a place; a stream or a wall sends `comes` in, without the share that a wall mirrors.
    #[inline(always)]
    #[track_caller]
    fn at<S: Simt>(&self, t: &S, comes: f64, place: i32) -> f64 {
        let length = self.lines.length as i32;
        let [enters, leaves] = self.ends();
        if place < 0 {
            if enters == end::STREAM {
                comes
            } else if enters == end::PERIODIC {
                self.inside(t, self.node, place + length)
            } else if enters == end::CUT {
                self.ghost(t, false, -1 - place)
            } else {
                let image = self.inside(t, self.opposite, -1 - place);
                if enters == end::MIRROR {
                    image
                } else {
                    let share = if self.forward {
                        self.lines.low_mirrors
                    } else {
                        self.lines.high_mirrors
                    };
                    Real::mul_add(share, image, comes)
                }
            }
        } else if place >= length {
            if leaves == end::MIRROR {
                self.inside(t, self.opposite, 2 * length - 1 - place)
            } else if leaves == end::PERIODIC {
                self.inside(t, self.node, place - length)
            } else if leaves == end::CUT {
                self.ghost(t, true, place - length)
            } else {
                let last = self.inside(t, self.node, length - 1);
                if self.lines.write == write::SHIFTED {
                    last
                } else {
                    let before = self.inside(t, self.node, length - 2);
                    (2.0 * last - before).max(0.0)
                }
            }
        } else {
            self.inside(t, self.node, place)
        }
    }

    /// Half of van Leer's slope at a place, of the values before it, there and after it.
    #[inline(always)]
    fn slope(&self, place: i32, [before, here, after]: [f64; 3]) -> f64 {
        let [enters, _] = self.ends();
        let flat = place < 0 && (enters == end::STREAM || enters == end::WALL);
        if flat {
            0.0
        } else {
            limited(here - before, after - here)
        }
    }
}

/// Cells of a line that a thread of [`stream_cells()`] takes up one after the other.
pub const CELLS_OF_A_THREAD: u32 = 8;

impl Lines {
    /// Threads of [`stream_cells()`].
    pub const fn threads(&self) -> u32 {
        self.cells / self.length * self.length.div_ceil(CELLS_OF_A_THREAD) * self.nodes
    }
}

kernel! {
    /// `out` = `from`, shifted by |v| dt: `f_p - a (f_p - f_(p-1)) - a(1-a)/2 (S_p - S_(p-1))`, p being k cells upstream; or its rate of change.
    ///
    /// `comes[end][node]` comes in at the low (0) and the high (1) end, at walls times `densities[end][line]`; where molecules leave, the last cell is repeated, and for rates
    /// extrapolated. Beyond a cut lie `ghosts`, as [`Lines::ghost`] has them. `shifts` has the entries of [`courant`] for each velocity along the lines. A thread follows the molecules of a node through
    /// [`CELLS_OF_A_THREAD`] cells, so it reads a value once, and neighbouring threads have neighbouring nodes, so all loads are coalesced. 16 bytes a value. Nothing is written that is read by another thread.
    pub fn stream_cells(t, from: In<f64>, ghosts: In<f64>, comes: In<f64>, densities: In<f64>, shifts: In<f64>, out: InOut<f64>; lines: Lines) {
        let item = t.global_idx() as u32;
        let pieces = (lines.length - 1) / CELLS_OF_A_THREAD + 1;
        let piece_of_row = quotient(item, lines.nodes);
        let node = item - piece_of_row * lines.nodes;
        let row = quotient(piece_of_row, pieces);
        if row >= lines.rows() {
            return;
        }
        let piece = piece_of_row - row * pieces;
        let beam = Beam::of(t, lines, [from, ghosts], shifts, (row, node));
        let side = if beam.forward { 0 } else { 1 };
        let mut enters = comes.get(t, (side * lines.nodes + node) as usize);
        if beam.ends()[0] == end::WALL {
            enters *= densities.get(t, (side * lines.rows() + row) as usize);
        }
        let mut place = piece * CELLS_OF_A_THREAD;
        let after_last = place + CELLS_OF_A_THREAD;
        let after_last = if after_last < lines.length { after_last } else { lines.length };
        let a = beam.fraction;
        let mut p = place as i32 - beam.whole;
        let mut before = beam.at(t, enters, p - 1);
        let mut here = beam.at(t, enters, p);
        let mut slope = 0.0;
        if lines.sloped != 0 {
            slope = beam.slope(p - 1, [beam.at(t, enters, p - 2), before, here]);
        }
        while place < after_last {
            let to = (beam.value(place as i32) + node) as usize;
            let base = if lines.write == write::SHIFTED {
                here
            } else if lines.write == write::RATES {
                0.0
            } else {
                out.get(t, to)
            };
            let after = beam.at(t, enters, p + 1);
            let mut value = Real::mul_add(a, before - here, base);
            if lines.sloped != 0 {
                let next = beam.slope(p, [before, here, after]);
                value = Real::mul_add(-a * beam.rest, next - slope, value);
                slope = next;
            }
            out.set(t, to, value);
            (before, here) = (here, after);
            place += 1;
            p += 1;
        }
    }
}

/// Threads of a block of [`wall_densities()`].
pub const WALL_THREADS: u32 = 256;

kernel! {
    /// The densities with which walls send molecules back: as much mass returns on each line as leaves by the scheme's own sums.
    ///
    /// Block `end rows + row`; its threads own nodes in steps of the block. `units` has the mass that unit density sends in at each end. 8 (k + 3) bytes read for each node that leaves.
    pub fn wall_densities(t, from: In<f64>, shifts: In<f64>, units: In<f64>, densities: Out<f64>; lines: Lines)
    shared { scratch: [f64; scratch_words(2)] } {
        let high = t.block_idx() >= lines.rows();
        let row = if high { t.block_idx() - lines.rows() } else { t.block_idx() };
        let (kind, share) = if high { (lines.high, lines.high_mirrors) } else { (lines.low, lines.low_mirrors) };
        if kind != end::WALL {
            return;
        }
        let mut sums = [0.0; 2];
        let mut node = t.thread_idx();
        while node < lines.nodes {
            // No ghosts are read: a wall is no cut.
            let beam = Beam::of(t, lines, [from, from], shifts, (row, node));
            if beam.forward == high {
                let last = lines.length as i32 - 1;
                let mut m = 0;
                while m < beam.whole {
                    sums[0] += beam.inside(t, node, last - m);
                    m += 1;
                }
                let p = last - beam.whole;
                let here = beam.inside(t, node, p);
                sums[0] += beam.fraction * here;
                if lines.sloped != 0 {
                    let around = [beam.inside(t, node, p - 1), here, beam.at(t, 0.0, p + 1)];
                    sums[1] += beam.fraction * beam.rest * beam.slope(p, around);
                }
            }
            node += t.block_dim();
        }
        let [flat, slopes] = block_sum(t, sums, scratch);
        if t.thread_idx() == 0 {
            let unit = units.get(t, if high { 1 } else { 0 });
            densities.set(t, t.block_idx() as usize, ((1.0 - share) * flat + slopes) / unit);
        }
    }
}

/// Words of a cell that [`sums_of_cells()`] leaves: sums of f, f v and f |v|^2, the least and the largest value.
pub const CELL_WORDS: u32 = 7;

kernel! {
    /// Sums of f, of f v and of f |v|^2 in each cell of space, v being the velocity from the middle of the box, and the range of f. A sum shows values that are not finite.
    ///
    /// A block a cell, 8 bytes read a value.
    pub fn sums_of_cells(t, f: In<f64>, words: Out<f64>; shape: GridShape)
    shared { scratch: [f64; scratch_words(5)] } {
        let first = t.block_idx() as usize * shape.cells as usize;
        let middle = shape.middle();
        let mut sums = [0.0; 5];
        let mut range = [f64::NEG_INFINITY; 2];
        let mut node = t.thread_idx();
        while node < shape.cells {
            let value = f.get(t, first + node as usize);
            let xi = shape.velocity(node);
            let v = [xi[0] - middle, xi[1] - middle, xi[2] - middle];
            sums[0] += value;
            sums[1] += value * v[0];
            sums[2] += value * v[1];
            sums[3] += value * v[2];
            sums[4] += value * (v[0] * v[0] + v[1] * v[1] + v[2] * v[2]);
            range = [range[0].max(-value), range[1].max(value)];
            node += t.block_dim();
        }
        let [below, above] = block_combine(t, range, scratch, |a, b| if a > b { a } else { b });
        let sums = block_sum(t, sums, scratch);
        if t.thread_idx() == 0 {
            let line = (t.block_idx() * CELL_WORDS) as usize;
            for k in 0..5 {
                words.set(t, line + k, sums[k]);
            }
            words.set(t, line + 5, -below);
            words.set(t, line + 6, above);
        }
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
