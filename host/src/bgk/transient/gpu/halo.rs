//! The cuts of a rank's part: its exchange with the neighbours before a step.

use std::ops::Range;
use std::sync::Arc;

use rarefy_kernels::Real;
use rarefy_kernels::bgk::halo::{
    Halo, halo_pack, halo_pack_kept, halo_unpack, halo_unpack_kept, kept_words,
};
use rarefy_kernels::bgk::layout::FlowShape;

use super::super::parts::Cut;
use crate::distributed::{Parcel, put, values};
use crate::error::{Error, Result};
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
        };
        let kept = if cut.cycle > 1 {
            let words = [kept_words(&halo, rows); 2];
            Some((rows, Messages::new(machine, words, words)?))
        } else {
            None
        };
        Ok(Self {
            messages: Messages::new(machine, halo.sent(shape), halo.received(shape))?,
            kept,
            halo,
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

    /// How many of the next steps a graph can hold. Only messages through a link are work of the device alone.
    pub(super) fn recordable(&self, steps: u64) -> u64 {
        match (self.cut.cycle, self.cut.transport.link()) {
            (1, Some(_)) => steps,
            _ => steps.min(self.cut.steps_left()),
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
        #[cfg(test)]
        let ghosts = match self.poisoned {
            true => poison::ghosts(machine, &shape, &self.cut, ghosts)?,
            false => ghosts,
        };
        let Ghosts { f, tables, state } = ghosts;
        let (halo, messages) = (self.halo, &mut self.messages);
        let grid = |words: usize| Grid::per_item(words, THREADS);
        let words = messages.sent_words();
        let pack = halo_pack {
            f: &*f,
            tables: &*tables,
            messages: messages.slot(machine)?,
            shape,
            halo,
        };
        machine.launch(grid(words), pack)?;
        messages.exchange(machine, &self.cut)?;
        let unpack = halo_unpack {
            messages: &messages.received,
            f,
            tables,
            shape,
            halo,
        };
        machine.launch(grid(messages.received_words()), unpack)?;
        let Some((rows, messages)) = &mut self.kept else {
            return Ok(());
        };
        let words = messages.sent_words();
        let pack = halo_pack_kept {
            state: &*state,
            messages: messages.slot(machine)?,
            shape,
            halo,
            rows: *rows,
        };
        machine.launch(grid(words), pack)?;
        messages.exchange(machine, &self.cut)?;
        let unpack = halo_unpack_kept {
            messages: &messages.received,
            state,
            shape,
            halo,
            rows: *rows,
        };
        Ok(machine.launch(grid(words), unpack)?)
    }
}

/// The buffers of the messages to and from both neighbours; the low one's comes first.
///
/// Machines of one process copy from each other's buffers, and devices of several exchange through a link. Messages alternate between two buffers: the neighbours may still copy from the other.
struct Messages<M: Machine, T: Real> {
    sent: [M::Buffer<T>; 2],
    received: M::Buffer<T>,
    /// Words to, and from, each side.
    to: [u32; 2],
    from: [u32; 2],
    /// The buffer of the next message.
    next: usize,
    /// Marks of the neighbours behind their copies from each buffer.
    copied: [[Option<Arc<M::Post>>; 2]; 2],
    /// The mark behind this rank's last copies.
    collected: Option<Arc<M::Post>>,
    /// The neighbours' buffers from which copies may be under way.
    sources: [[Option<Arc<M::Post>>; 2]; 2],
}

/// A message in the memory of a machine, handed to a neighbour.
struct Posted<P> {
    post: Arc<P>,
    words: Range<usize>,
    /// The mark behind the copies from the receiver's last message.
    collected: Option<Arc<P>>,
}

impl<M: Machine, T: Real + Default> Messages<M, T> {
    fn new(machine: &M, to: [u32; 2], from: [u32; 2]) -> Result<Self> {
        let zeros = |words: [u32; 2]| vec![T::ZERO; (words[0] + words[1]) as usize];
        Ok(Self {
            sent: [machine.upload(&zeros(to))?, machine.upload(&zeros(to))?],
            received: machine.upload(&zeros(from))?,
            to,
            from,
            next: 0,
            copied: [[None, None], [None, None]],
            collected: None,
            sources: [[None, None], [None, None]],
        })
    }

    fn sent_words(&self) -> usize {
        (self.to[0] + self.to[1]) as usize
    }

    fn received_words(&self) -> usize {
        (self.from[0] + self.from[1]) as usize
    }

    /// The buffer of the next message, free once the neighbours' copies from it are done.
    fn slot(&mut self, machine: &M) -> Result<&mut M::Buffer<T>> {
        for mark in &mut self.copied[self.next] {
            if let Some(mark) = mark.take() {
                machine.wait_for(&mark)?;
            }
        }
        Ok(&mut self.sent[self.next])
    }

    /// Sends the packed message to both neighbours, and receives theirs.
    fn exchange(&mut self, machine: &M, cut: &Cut) -> Result<()> {
        if cut.transport.in_one_process()
            && let Some(post) = machine.post(&self.sent[self.next])?
        {
            self.hand(machine, cut, Arc::new(post))
        } else if self.through_the_link(machine, cut)? {
            Ok(())
        } else {
            self.through_the_host(machine, cut)
        }
    }

    /// Between the devices of several processes; `false` where these are not connected.
    fn through_the_link(&mut self, machine: &M, cut: &Cut) -> Result<bool> {
        let Some(link) = cut.transport.link() else {
            return Ok(false);
        };
        let sides = |words: [u32; 2]| {
            let [low, high] = words.map(|words| words as usize);
            [0..low, low..low + high]
        };
        let out = (&self.sent[self.next], sides(self.to));
        let into = (&mut self.received, sides(self.from));
        Ok(machine.exchange(link, cut.part.neighbours, out, into)?)
    }

    fn hand(&mut self, machine: &M, cut: &Cut, post: Arc<M::Post>) -> Result<()> {
        let neighbours = cut.part.neighbours;
        let [low, high] = self.to.map(|words| words as usize);
        let out = [0..low, low..low + high].map(|words| Posted {
            post: post.clone(),
            words,
            collected: self.collected.clone(),
        });
        let out = out.map(|posted| Some(Box::new(posted) as Parcel));
        let into = cut.transport.hand(neighbours, out)?;
        let (this, before) = (self.next, 1 - self.next);
        let mut at = 0;
        for (side, parcel) in into.into_iter().enumerate() {
            let words = self.from[side] as usize;
            let Some(rank) = neighbours[side] else {
                at += words;
                continue;
            };
            let posted = parcel.and_then(|parcel| parcel.downcast::<Posted<M::Post>>().ok());
            let posted = posted.filter(|posted| posted.words.len() == words);
            let Some(posted) = posted else {
                return Err(Error::Numerical(format!(
                    "rank {rank} sent another message than expected: all ranks must run the same case"
                )));
            };
            let Posted {
                post,
                words: from,
                collected,
            } = *posted;
            machine.copy_from(&post, from, &mut self.received, at)?;
            self.copied[before][side] = collected;
            self.sources[this][side] = Some(post);
            at += words;
        }
        self.collected = machine.post(&self.received)?.map(Arc::new);
        self.next = before;
        Ok(())
    }

    fn through_the_host(&mut self, machine: &M, cut: &Cut) -> Result<()> {
        let mut words = vec![T::ZERO; self.sent_words()];
        machine.read(&self.sent[self.next], &mut words)?;
        let (low, high) = words.split_at(self.to[0] as usize);
        let out = [low, high].map(|words| {
            let mut bytes = Vec::new();
            put(&mut bytes, words.iter().copied());
            bytes
        });
        let bytes = self.from.map(|words| words as usize * size_of::<T>());
        let [low, high] = cut.swap(&out, bytes)?;
        let mut words: Vec<T> = values(&low)?;
        words.extend(values::<T>(&high)?);
        Ok(machine.write(&mut self.received, &words)?)
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
    pub(super) fn ghosts<'a, M: Machine, T: Real + Default>(
        machine: &M,
        shape: &FlowShape,
        cut: &Cut,
        ghosts: Ghosts<'a, M, T>,
    ) -> Result<Ghosts<'a, M, T>> {
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
        Ok(ghosts)
    }
}
