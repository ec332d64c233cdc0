//! The copies that a thread has started and not yet waited for.
//!
//! A copy takes place at some time between its start and the wait that covers it, and the two ends of it are as if touched at both
//! times and at all times between. So the book notes the read of the source and the write of the destination twice, when
//! the copy starts and when it is waited for, which finds who touches them with no barrier before the one or behind the other; and
//! between the two
//!
//! - no thread may touch the destination. Its records are held: see [`Record::hold`].
//! - no thread may change the source. The thread's own changes are checked here as it makes them. Those of others are found
//!   at the wait, by the tick of the last change: see [`Record::changed_after`].
//!
//! A launch without faults therefore cannot tell when the values are moved, and they are moved at the start.

use std::collections::VecDeque;
use std::panic::Location;

use super::book::Record;

/// Consecutive elements of a region.
#[derive(Clone, Copy, Debug)]
pub(super) struct Run {
    /// Address at which the region starts.
    pub(super) region: usize,
    /// The first element.
    pub(super) index: usize,
    pub(super) len: usize,
    /// The record of the first element.
    pub(super) records: *mut Record,
}

impl Run {
    /// The records of the elements, and their indices in the region.
    pub(super) fn elements(self) -> impl Iterator<Item = (*mut Record, usize)> {
        (0..self.len).map(move |k| (self.records.wrapping_add(k), self.index + k))
    }

    /// The index in the region of the element with this record.
    fn index_of(&self, record: *const Record) -> Option<usize> {
        let bytes = record.addr().wrapping_sub(self.records.addr());
        let k = bytes / size_of::<Record>();
        (k < self.len).then_some(self.index + k)
    }
}

/// A copy that its thread has not waited for.
#[derive(Clone, Copy, Debug)]
pub(super) struct Pending {
    /// Nowhere if zeros are written.
    pub(super) from: Option<Run>,
    pub(super) to: Run,
    /// The thread's stamp at the start.
    pub(super) stamp: u64,
    /// Where it was started.
    pub(super) location: &'static Location<'static>,
}

/// The pending copies of one thread.
#[derive(Debug, Default)]
pub(super) struct Copies {
    /// In the order in which they were started.
    pending: VecDeque<Pending>,
    /// How many of them are in each of the groups that have ended.
    groups: VecDeque<usize>,
    /// How many are in none yet.
    open: usize,
}

impl Copies {
    pub(super) fn start(&mut self, copy: Pending) {
        self.pending.push_back(copy);
        self.open += 1;
    }

    pub(super) fn end_group(&mut self) {
        self.groups.push_back(std::mem::take(&mut self.open));
    }

    /// Takes out the groups before the last `groups`: their copies, oldest first. Copies in no group stay.
    pub(super) fn wait(&mut self, groups: usize) -> impl Iterator<Item = Pending> {
        let done = self.groups.len().saturating_sub(groups);
        let copies: usize = self.groups.drain(..done).sum();
        self.pending.drain(..copies)
    }

    pub(super) fn first(&self) -> Option<Pending> {
        self.pending.front().copied()
    }

    /// Forgets all, as a block's end does.
    pub(super) fn clear(&mut self) {
        self.pending.clear();
        self.groups.clear();
        self.open = 0;
    }

    /// The copy that will write the element with this record.
    pub(super) fn to(&self, record: *const Record) -> Option<Pending> {
        let writes = |copy: &&Pending| copy.to.index_of(record).is_some();
        self.pending.iter().find(writes).copied()
    }

    /// The copy that reads the element with this record, and the element.
    pub(super) fn from(&self, record: *const Record) -> Option<(Pending, usize)> {
        self.pending
            .iter()
            .find_map(|copy| Some((*copy, copy.from?.index_of(record)?)))
    }
}
