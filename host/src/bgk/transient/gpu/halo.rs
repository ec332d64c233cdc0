//! The cuts of a rank's part: its exchange with the neighbours before a step.

use std::ops::Range;

use rarefy_kernels::Real;
use rarefy_kernels::bgk::halo::{
    Halo, halo_pack, halo_pack_kept, halo_unpack, halo_unpack_kept, kept_words,
};
use rarefy_kernels::bgk::layout::FlowShape;

use super::super::parts::Cut;
use crate::distributed::Messages;
use crate::error::Result;
use crate::machine::{Grid, Machine};

/// Threads of a block of the copies.
const THREADS: u32 = 128;

/// The cuts of a machine's engine, and the buffers of its messages.
pub(super) struct Ends<M: Machine, T: Real> {
    pub(super) cut: Cut,
    halo: Halo,
    messages: Messages<M, T>,
    /// The f64 state of cells, so many numbers each, where ghosts take several steps.
    kept: Option<(u32, Messages<M, f64>)>,
    /// Whether all ghosts are made unusable before they are written over.
    #[cfg(test)]
    pub(super) poisoned: bool,
}

/// The buffers of an engine that ghosts are part of.
pub(super) struct Ghosts<'a, M: Machine, T: Real> {
    pub(super) f: &'a mut M::Buffer<T>,
    pub(super) tables: &'a mut M::Buffer<T>,
    pub(super) state: &'a mut M::Buffer<f64>,
}

impl<M: Machine, T: Real + Default> Ends<M, T> {
    /// For cells with so many numbers of f64 state.
    pub(super) fn new(machine: &M, shape: &FlowShape, cut: Cut, rows: u32) -> Result<Self> {
        let inner = cut.part.inner();
        let bit = |side: usize| u32::from(cut.part.neighbours[side].is_some()) << side;
        let halo = Halo {
            direction: cut.part.direction as u32,
            first: inner.start as u32,
            end: inner.end as u32,
            low: cut.low as u32,
            depth_in: cut.depth_in as u32,
            depth_out: cut.depth_out as u32,
            sides: bit(0) | bit(1),
            rows: shape.rows(),
        };
        let kept = if cut.cycle > 1 {
            let words = [kept_words(&halo, rows); 2];
            Some((rows, Messages::new(machine, words, words)?))
        } else {
            None
        };
        Ok(Self {
            messages: Messages::new(machine, halo.sent(shape), halo.received(shape))?,
            halo,
            kept,
            cut,
            #[cfg(test)]
            poisoned: false,
        })
    }

    /// The rows of cells that count at the left and right faces of this part, and their number on all ranks.
    pub(super) fn rows(&self) -> (Range<usize>, usize) {
        match self.cut.part.direction {
            0 => (0..1, 1),
            _ => (self.cut.part.inner(), self.cut.part.all),
        }
    }

    /// Whether kernels carry the messages: those of a link, which find no room beside the blocks of a pass that came before them.
    pub(super) fn by_kernels(&self) -> bool {
        self.cut.transport.link().is_some()
    }

    /// How many of the next steps a graph can hold. Only messages through a link are work of the device alone.
    pub(super) fn recordable(&self, steps: u64) -> u64 {
        match (self.cut.cycle, self.cut.transport.link()) {
            (1, Some(_)) => steps,
            _ => steps.min(self.cut.steps_left()),
        }
    }

    /// Rows of a plane next to the cuts, strips of so many rows, and all other rows. The messages may fly while a pass steps these. `None` where that is of no use: where there are few rows;
    /// where ghost columns mirror molecules of ghosts; where messages go through the host.
    pub(super) fn inner_and_edges(
        &self,
        shape: &FlowShape,
        strip: u32,
    ) -> Option<(Range<u32>, Vec<Range<u32>>)> {
        let Halo {
            direction,
            first,
            end,
            depth_in,
            ..
        } = self.halo;
        let transport = &self.cut.transport;
        let edges = [0, 1].map(|side| if self.halo.has(side) { strip } else { 0 });
        let inner = first + edges[0]..end.saturating_sub(edges[1]);
        let apart = direction == 1
            && shape.ghost_columns == 0
            && strip >= depth_in
            && inner.len() as u32 >= strip
            && (transport.in_one_process() || transport.link().is_some());
        let edges = [first..inner.start, inner.end..end].into_iter();
        apart.then(|| (inner, edges.filter(|edge| !edge.is_empty()).collect()))
    }

    /// Makes ghosts unusable that the next refreshment writes over.
    #[cfg(test)]
    pub(super) fn poison(
        &self,
        machine: &M,
        shape: &FlowShape,
        ghosts: Ghosts<'_, M, T>,
    ) -> Result<()> {
        match self.poisoned && self.cut.steps_left() == 0 {
            true => poison::ghosts(machine, shape, &self.cut, ghosts),
            false => Ok(()),
        }
    }

    /// Before a step: updates the ghosts where they are stale.
    pub(super) fn refresh(
        &mut self,
        machine: &M,
        shape: FlowShape,
        ghosts: Ghosts<'_, M, T>,
    ) -> Result<()> {
        if !self.cut.is_due() {
            return Ok(());
        }
        let Ghosts { f, tables, state } = ghosts;
        self.pack(machine, shape, Ghosts { f, tables, state })?;
        self.exchange(machine, shape, Ghosts { f, tables, state })
    }

    /// The launch of the copies of so many words of populations and tables.
    fn grid(&self, words: usize) -> Grid {
        Grid::per_item(words.div_ceil(self.halo.packet::<T>() as usize), THREADS)
    }

    /// Packs all messages, so that they fly together.
    pub(super) fn pack(
        &mut self,
        machine: &M,
        shape: FlowShape,
        Ghosts { f, tables, state }: Ghosts<'_, M, T>,
    ) -> Result<()> {
        let halo = self.halo;
        let grid = self.grid(self.messages.sent_words());
        let pack = halo_pack {
            f: &*f,
            tables: &*tables,
            messages: self.messages.slot(machine)?,
            shape,
            halo,
        };
        machine.launch(grid, pack)?;
        let Some((rows, messages)) = &mut self.kept else {
            return Ok(());
        };
        let grid = Grid::per_item(messages.sent_words(), THREADS);
        let pack = halo_pack_kept {
            state: &*state,
            messages: messages.slot(machine)?,
            shape,
            halo,
            rows: *rows,
        };
        Ok(machine.launch(grid, pack)?)
    }

    /// Exchanges the packed messages with the neighbours, and writes theirs into the ghosts.
    pub(super) fn exchange(
        &mut self,
        machine: &M,
        shape: FlowShape,
        Ghosts { f, tables, state }: Ghosts<'_, M, T>,
    ) -> Result<()> {
        let (halo, neighbours) = (self.halo, self.cut.part.neighbours);
        let transport = &*self.cut.transport;
        self.messages.exchange(machine, transport, neighbours)?;
        if let Some((_, messages)) = &mut self.kept {
            messages.exchange(machine, transport, neighbours)?;
        }
        let unpack = halo_unpack {
            messages: &self.messages.received,
            f,
            tables,
            shape,
            halo,
        };
        machine.launch(self.grid(self.messages.received_words()), unpack)?;
        let Some((rows, messages)) = &self.kept else {
            return Ok(());
        };
        let unpack = halo_unpack_kept {
            messages: &messages.received,
            state,
            shape,
            halo,
            rows: *rows,
        };
        let grid = Grid::per_item(messages.received_words(), THREADS);
        Ok(machine.launch(grid, unpack)?)
    }
}

#[cfg(test)]
mod poison {
    use rarefy_kernels::bgk::layout::{FACE_WIDTH, row};

    use super::*;

    /// Overwrites all populations and tables of ghosts with NaN. In a plane, populations become enormous.
    ///
    /// A plane sweep multiplies some populations by 0, so they must be finite: the second node of an odd last pair, which is one of the next row, and
    /// populations beyond faces.
    pub(super) fn ghosts<M: Machine, T: Real + Default>(
        machine: &M,
        shape: &FlowShape,
        cut: &Cut,
        ghosts: Ghosts<'_, M, T>,
    ) -> Result<()> {
        let columns = shape.columns();
        let mut f = vec![T::ZERO; shape.words()];
        let mut tables = vec![T::ZERO; (shape.rows() * columns) as usize];
        machine.read(ghosts.f, &mut f)?;
        machine.read(ghosts.tables, &mut tables)?;
        let nan = T::from_f64(f64::NAN);
        let population = match cut.part.direction {
            0 => nan,
            _ => T::from_f64(1e9),
        };
        let nodes = || {
            let pairs =
                (0..shape.count_x).flat_map(|jx| (0..shape.count_y).map(move |jy| (jx, jy)));
            pairs.flat_map(|(jx, jy)| (0..shape.count_m).map(move |m| [jx, jy, m]))
        };
        for side in 0..2 {
            for d in 0..cut.part.ghosts[side] {
                let cell = cut.part.near(side, d, true) as u32;
                let (iy, xs) = match cut.part.direction {
                    0 => (0, cell..cell + 1),
                    _ => (cell, 0..shape.nx),
                };
                for ix in xs {
                    for row in 0..shape.rows() {
                        tables[(row * columns + iy * shape.pitch + ix) as usize] = nan;
                    }
                    for [jx, jy, m] in nodes() {
                        let pair = jx * shape.count_y + jy;
                        f[(shape.row_start(pair, m, iy) + shape.in_row(ix)) as usize] = population;
                    }
                }
                if cut.part.direction == 1 {
                    for (face, jx) in
                        (0..2).flat_map(|face| (0..shape.count_x).map(move |jx| (face, jx)))
                    {
                        let column = shape.face_columns(face) + FACE_WIDTH * cell;
                        let first = ((row::X + jx) * columns + column) as usize;
                        tables[first..][..FACE_WIDTH as usize].fill(nan);
                    }
                }
            }
        }
        machine.write(ghosts.f, &f)?;
        machine.write(ghosts.tables, &tables)?;
        Ok(())
    }
}
