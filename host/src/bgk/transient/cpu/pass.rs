//! The pass over a chunk of nodes.
//!
//! A line is relaxed, shifted and summed node by node. In a plane all nodes of a chunk sweep over the rows together, in the order in which molecules
//! meet them. A row is relaxed and shifted along x. With the preceding rows, which each node keeps, it determines the shift along y of the row before it.
//! A row's tables and sums therefore serve all nodes of the chunk from the cache, and memory delivers populations only.

use std::ops::Range;

use rarefy_kernels::Real;

use super::face::Face;
use super::layout::Layout;
use super::rows::{BLOCK, RowShift, Sums, add, pass_on, passing, prefetch};
use super::step::{Scratch, Step};
use crate::simd::Job;

/// Relaxes, shifts and sums the populations of the pairs from `first` on, in place.
pub(super) struct RunChunk<'a, T> {
    pub(super) step: &'a Step<'a, T>,
    pub(super) first: usize,
    pub(super) f: &'a mut [T],
    pub(super) faces: &'a [Vec<Face<T>>; 2],
    pub(super) sums: &'a mut [T],
}

impl<T: Real> Job for RunChunk<'_, T> {
    type Output = ();

    #[inline(always)]
    fn run<const FUSED: bool>(self) {
        let Self {
            step,
            first,
            f,
            faces,
            sums,
        } = self;
        let layout = step.layout;
        let mut scratch = Scratch::of_rows(layout);
        let per_pair = layout.shape[2] * layout.cells();
        if layout.problem.space.dimensions() == 1 {
            sums.fill(T::ZERO);
            for (offset, f) in f.chunks_exact_mut(per_pair).enumerate() {
                run_line(step, &faces[0], first + offset, f, sums, &mut scratch);
            }
        } else {
            // Pairs whose molecules fly up, and those whose fly down, march together.
            let up = |pair: usize| layout.problem.velocity.y_nodes()[pair % layout.shape[1]] > 0.0;
            let (mut begin, end) = (first, first + f.len() / per_pair);
            let mut rest = f;
            while begin < end {
                let next = (begin..end).find(|&p| up(p) != up(begin)).unwrap_or(end);
                let (now, later) = rest.split_at_mut((next - begin) * per_pair);
                March::new(step, faces, begin..next).run(now, sums, begin == first, &mut scratch);
                (begin, rest) = (next, later);
            }
        }
    }
}

/// A pair's populations on a line.
#[inline(always)]
fn run_line<T: Real>(
    step: &Step<'_, T>,
    faces: &[Face<T>],
    pair: usize,
    f: &mut [T],
    sums: &mut [T],
    scratch: &mut Scratch<T>,
) {
    let layout = step.layout;
    let [_, _, count_m] = layout.shape;
    let n = layout.nx;
    let first = &layout.nodes[pair * count_m];
    step.prepare([first.jx, first.jy], 0..n, scratch);
    let along_x = step.shift_x(first.jx, faces);
    for (m, f) in f.chunks_exact_mut(n).enumerate() {
        let node = pair * count_m + m;
        step.relax(node, 0..n, f, scratch);
        for (side, face) in faces.iter().enumerate() {
            face.fill(layout, node, 0, side, &mut scratch.row);
        }
        along_x.run(&scratch.row, &mut scratch.passes, f);
        let weights = layout.pass_weights(first.jy, m);
        (Sums {
            rows: sums,
            distance: n,
        })
        .gather(f, weights);
    }
}

/// The march of some pairs that share v_x and fly the same way along y. Rows are counted from the face where molecules come in, and beyond it backwards.
struct March<'a, T> {
    step: &'a Step<'a, T>,
    layout: &'a Layout<T>,
    faces_x: &'a [Face<T>],
    along_x: RowShift<T>,
    /// The faces where molecules come in and leave.
    entry: &'a Face<T>,
    exit: &'a Face<T>,
    pairs: Range<usize>,
    up: bool,
    /// Rows that each node keeps, and their distance.
    depth: usize,
    pitch: usize,
}

impl<'a, T: Real> March<'a, T> {
    fn new(step: &'a Step<'a, T>, faces: &'a [Vec<Face<T>>; 2], pairs: Range<usize>) -> Self {
        let layout = step.layout;
        let [_, count_y, _] = layout.shape;
        let up = layout.problem.velocity.y_nodes()[pairs.start % count_y] > 0.0;
        let whole = pairs
            .clone()
            .map(|pair| layout.courant[1][pair % count_y].whole);
        let [bottom, top] = [&faces[1][0], &faces[1][1]];
        let [entry, exit] = if up { [bottom, top] } else { [top, bottom] };
        Self {
            step,
            layout,
            faces_x: &faces[0],
            along_x: step.shift_x(pairs.start / count_y, &faces[0]),
            entry,
            exit,
            pairs,
            up,
            // The row itself, its neighbours, and those that molecules have passed before they come to the row.
            depth: whole.max().unwrap_or(0) + 3,
            pitch: layout.nx.next_multiple_of(BLOCK),
        }
    }

    /// Where the row `s` is in the plane.
    #[inline(always)]
    fn place(&self, s: usize) -> usize {
        if self.up { s } else { self.layout.ny - 1 - s }
    }

    /// The row `s` of the rows that a node keeps.
    #[inline(always)]
    fn kept<'k>(&self, rows: &'k [T], s: isize) -> &'k [T] {
        &rows[self.slot(s)..][..self.layout.nx]
    }

    #[inline(always)]
    fn kept_mut<'k>(&self, rows: &'k mut [T], s: isize) -> &'k mut [T] {
        &mut rows[self.slot(s)..][..self.layout.nx]
    }

    #[inline(always)]
    fn slot(&self, s: isize) -> usize {
        s.rem_euclid(self.depth as isize) as usize * self.pitch
    }

    /// Numbers that a node keeps: its rows, the inflow of its next row, and behind a periodic exit the first row.
    #[inline(always)]
    fn room(&self) -> usize {
        let extra = 1 + usize::from(self.exit.is_periodic());
        (self.depth + extra) * self.pitch
    }

    #[inline(always)]
    fn run(&self, f: &mut [T], sums: &mut [T], first_of_chunk: bool, scratch: &mut Scratch<T>) {
        let layout = self.layout;
        let ([_, count_y, count_m], cells) = (layout.shape, layout.cells());
        let (nx, ny) = (layout.nx, layout.ny);
        let room = self.room();
        let mut kept = vec![T::ZERO; self.pairs.len() * count_m * room];
        self.begin(f, &mut kept, scratch);
        // The sums of the row, close together: rows of planes would share their places in the cache.
        let count = layout.pass_sums();
        let mut of_row = vec![T::ZERO; count * self.pitch];
        for s in 0..=ny {
            of_row.fill(T::ZERO);
            for (offset, pair) in self.pairs.clone().enumerate() {
                let (jx, jy) = (pair / count_y, pair % count_y);
                if s < ny {
                    let source = self.place(s);
                    let cells = source * nx..(source + 1) * nx;
                    self.step.prepare([jx, jy], cells, scratch);
                }
                for m in 0..count_m {
                    let (node, at) = (pair * count_m + m, offset * count_m + m);
                    let f = &mut f[at * cells..][..cells];
                    let (rows, others) =
                        kept[at * room..][..room].split_at_mut(self.depth * self.pitch);
                    let (enters, first) = others.split_at_mut(self.pitch);
                    self.take_up(node, s, f, rows, first, scratch);
                    let mut sums = Sums {
                        rows: &mut of_row,
                        distance: self.pitch,
                    };
                    self.pass_on(jy, m, s, f, rows, &mut enters[..nx], &mut sums);
                }
            }
            if s > 0 {
                let here = self.place(s - 1) * nx;
                for (k, row) in of_row.chunks_exact(self.pitch).enumerate() {
                    let out = &mut sums[k * cells + here..][..nx];
                    if first_of_chunk {
                        out.copy_from_slice(&row[..nx]);
                    } else {
                        add(out, &row[..nx]);
                    }
                }
            }
        }
    }

    /// The rows beyond the face where molecules come in.
    #[inline(always)]
    fn begin(&self, f: &[T], kept: &mut [T], scratch: &mut Scratch<T>) {
        let layout = self.layout;
        let ([_, count_y, count_m], cells) = (layout.shape, layout.cells());
        let (nx, ny, room) = (layout.nx, layout.ny, self.room());
        let periodic = self.exit.is_periodic();
        for (offset, pair) in self.pairs.clone().enumerate() {
            let (jx, jy) = (pair / count_y, pair % count_y);
            for d in 0..layout.courant[1][jy].whole + 2 {
                // Of a period shorter than the way, the rows come round again.
                let source = self.place(ny - 1 - d % ny);
                if periodic {
                    let cells = source * nx..(source + 1) * nx;
                    self.step.prepare([jx, jy], cells, scratch);
                }
                for m in 0..count_m {
                    let (node, at) = (pair * count_m + m, offset * count_m + m);
                    let row = self.kept_mut(&mut kept[at * room..][..room], -1 - d as isize);
                    if periodic {
                        let f = &f[at * cells + source * nx..][..nx];
                        self.shifted(node, source, f, scratch, row);
                    } else {
                        self.entry.beyond(layout, node, d, row);
                    }
                }
            }
        }
    }

    /// A row of a node, relaxed and shifted along x.
    #[inline(always)]
    fn shifted(&self, node: usize, iy: usize, f: &[T], scratch: &mut Scratch<T>, out: &mut [T]) {
        let (step, faces) = (self.step, self.faces_x);
        step.shifted(&self.along_x, faces, node, iy, f, scratch, out);
    }

    /// Relaxes row `s` of a node, shifts it along x and keeps it. Behind the last row, keeps the row beyond the exit.
    #[inline(always)]
    fn take_up(
        &self,
        node: usize,
        s: usize,
        f: &[T],
        rows: &mut [T],
        first: &mut [T],
        scratch: &mut Scratch<T>,
    ) {
        let layout = self.layout;
        let (nx, ny) = (layout.nx, layout.ny);
        let periodic = self.exit.is_periodic();
        let row = self.kept_mut(rows, s as isize);
        if s < ny {
            let source = self.place(s);
            if s + 1 < ny {
                prefetch(&f[self.place(s + 1) * nx..][..nx]);
            }
            self.shifted(node, source, &f[source * nx..][..nx], scratch, row);
            if s == 0 && periodic {
                first[..nx].copy_from_slice(row);
            }
        } else if periodic {
            row.copy_from_slice(&first[..nx]);
        } else if self.exit.sloped() {
            self.exit.beyond(layout, node, 0, row);
        } else {
            // As the last row, so that this has no slope.
            rows.copy_within(
                self.slot(ny as isize - 1)..self.slot(ny as isize - 1) + nx,
                self.slot(ny as isize),
            );
        }
    }

    /// Shifts along y into the row before `s` and adds that row to the sums. At row 0 only its inflow is computed.
    #[inline(always)]
    #[allow(
        clippy::too_many_arguments,
        reason = "a node, its rows, and where they go"
    )]
    fn pass_on(
        &self,
        jy: usize,
        m: usize,
        s: usize,
        f: &mut [T],
        rows: &[T],
        enters: &mut [T],
        sums: &mut Sums<'_, T>,
    ) {
        let layout = self.layout;
        let courant = layout.courant[1][jy];
        let a = T::from_f64(courant.fraction);
        let q = s as isize - 1 - courant.whole as isize;
        let sloped = layout.sloped() && (q >= 0 || self.entry.sloped());
        let near = [q - 1, q, q + 1].map(|q| self.kept(rows, q));
        if s == 0 {
            let [before, cell, after] = near;
            passing(enters, cell, before, after, a, sloped);
            return;
        }
        let out = &mut f[self.place(s - 1) * layout.nx..][..layout.nx];
        let weights = layout.pass_weights(jy, m);
        pass_on(out, near, enters, a, sloped, sums, weights);
    }
}
