//! Messages between the machines of neighbouring ranks.

use std::ops::Range;
use std::sync::Arc;

use rarefy_kernels::Real;

use super::{Parcel, Transport, put, values};
use crate::error::{Error, Result};
use crate::machine::Machine;

/// The ranks at the low and at the high side.
type Neighbours = [Option<usize>; 2];

/// The buffers of the messages to and from both neighbours; the low one's comes first.
///
/// Machines of one process copy from each other's buffers, and devices of several exchange through a link. Messages alternate between two buffers: the neighbours may still copy from the other.
pub(crate) struct Messages<M: Machine, T: Real> {
    sent: [M::Buffer<T>; 2],
    pub(crate) received: M::Buffer<T>,
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
    /// For so many words to, and from, each side.
    pub(crate) fn new(machine: &M, to: [u32; 2], from: [u32; 2]) -> Result<Self> {
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

    /// Words to both neighbours.
    pub(crate) fn sent_words(&self) -> usize {
        (self.to[0] + self.to[1]) as usize
    }

    /// Words from both.
    pub(crate) fn received_words(&self) -> usize {
        (self.from[0] + self.from[1]) as usize
    }

    /// The buffer of the next message, free once the neighbours' copies from it are done.
    pub(crate) fn slot(&mut self, machine: &M) -> Result<&mut M::Buffer<T>> {
        for mark in &mut self.copied[self.next] {
            if let Some(mark) = mark.take() {
                machine.wait_for(&mark)?;
            }
        }
        Ok(&mut self.sent[self.next])
    }

    /// Sends the packed message to both neighbours, and receives theirs.
    pub(crate) fn exchange(
        &mut self,
        machine: &M,
        transport: &dyn Transport,
        neighbours: Neighbours,
    ) -> Result<()> {
        if transport.in_one_process()
            && let Some(post) = machine.post(&self.sent[self.next])?
        {
            self.hand(machine, transport, neighbours, Arc::new(post))
        } else if self.through_the_link(machine, transport, neighbours)? {
            Ok(())
        } else {
            self.through_the_host(machine, transport, neighbours)
        }
    }

    /// Between the devices of several processes; `false` where these are not connected.
    fn through_the_link(
        &mut self,
        machine: &M,
        transport: &dyn Transport,
        neighbours: Neighbours,
    ) -> Result<bool> {
        let Some(link) = transport.link() else {
            return Ok(false);
        };
        let sides = |words: [u32; 2]| {
            let [low, high] = words.map(|words| words as usize);
            [0..low, low..low + high]
        };
        let out = (&self.sent[self.next], sides(self.to));
        let into = (&mut self.received, sides(self.from));
        Ok(machine.exchange(link, neighbours, out, into)?)
    }

    fn hand(
        &mut self,
        machine: &M,
        transport: &dyn Transport,
        neighbours: Neighbours,
        post: Arc<M::Post>,
    ) -> Result<()> {
        let [low, high] = self.to.map(|words| words as usize);
        let out = [0..low, low..low + high].map(|words| Posted {
            post: post.clone(),
            words,
            collected: self.collected.clone(),
        });
        let out = out.map(|posted| Some(Box::new(posted) as Parcel));
        let into = transport.hand(neighbours, out)?;
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

    fn through_the_host(
        &mut self,
        machine: &M,
        transport: &dyn Transport,
        neighbours: Neighbours,
    ) -> Result<()> {
        let mut words = vec![T::ZERO; self.sent_words()];
        machine.read(&self.sent[self.next], &mut words)?;
        let (low, high) = words.split_at(self.to[0] as usize);
        let from = self.from.map(|words| words as usize);
        let words = swap_values(transport, neighbours, [low, high], from)?;
        Ok(machine.write(&mut self.received, &words)?)
    }
}

/// Sends numbers to both neighbours, and returns so many from each, those of the low one first.
pub(crate) fn swap_values<T: Real>(
    transport: &dyn Transport,
    neighbours: Neighbours,
    out: [&[T]; 2],
    from: [usize; 2],
) -> Result<Vec<T>> {
    let out = out.map(|numbers| {
        let mut bytes = Vec::new();
        put(&mut bytes, numbers.iter().copied());
        bytes
    });
    let mut into = from.map(|numbers| vec![0; numbers * size_of::<T>()]);
    let [low, high] = &mut into;
    transport.swap(neighbours, [&out[0], &out[1]], [low, high])?;
    let [low, high] = into;
    let mut numbers: Vec<T> = values(&low)?;
    numbers.extend(values::<T>(&high)?);
    Ok(numbers)
}
