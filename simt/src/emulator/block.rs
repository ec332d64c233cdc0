//! The block that runs, as its threads share it: their states, shared memory, the clock.

use std::cell::{Cell, RefCell};
use std::panic::Location;

use super::book::{self, Record};
use super::copies::Copies;
use super::memory::Zeroed;
use super::statistics::Counts;
use crate::fault::{Activity, Fault, FaultKind};
use crate::machine::Grid;
use crate::simt::WARP;

/// The activity of a thread.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum State {
    Runnable,
    Stopped(Activity),
    Faulted,
}

/// One thread as the scheduler sees it.
pub(super) struct Slot {
    pub(super) state: Cell<State>,
    /// Where it stopped.
    pub(super) location: Cell<&'static Location<'static>>,
    /// The word that it passes in an exchange, and then the one that it receives.
    pub(super) word: Cell<u32>,
    pub(super) source: Cell<u32>,
    /// Its copies under way.
    pub(super) copies: RefCell<Copies>,
}

impl Slot {
    pub(super) fn stands_in(
        &self,
        activity: Activity,
        location: &'static Location<'static>,
    ) -> bool {
        let own = self.location.get();
        self.state.get() == State::Stopped(activity)
            && (std::ptr::eq(own, location) || own == location)
    }

    pub(super) fn activity(&self) -> Option<Activity> {
        match self.state.get() {
            State::Stopped(activity) => Some(activity),
            State::Runnable | State::Faulted => None,
        }
    }
}

/// The shared memory of a block, with one record a byte: arrays do not overlap, so the records from an array's first
/// byte on, one an element, belong to it alone.
pub(super) struct SharedMemory {
    /// In units of 16 bytes, for the alignment.
    data: Zeroed<u128>,
    book: Zeroed<Record>,
}

impl SharedMemory {
    pub(super) const fn empty() -> Self {
        Self {
            data: Zeroed::empty(),
            book: Zeroed::empty(),
        }
    }

    pub(super) fn reserve(&mut self, bytes: usize) -> crate::Result<()> {
        if self.book.len < bytes {
            self.data = Zeroed::new(bytes.div_ceil(size_of::<u128>()))?;
            self.book = Zeroed::new(bytes)?;
        }
        Ok(())
    }
}

/// An array that threads asked for.
#[derive(Clone, Copy, PartialEq, Eq)]
struct SharedArray {
    offset: usize,
    bytes: usize,
    element: usize,
}

/// The state that the threads of the running block share.
pub(super) struct Block<'a> {
    pub(super) entry: &'static str,
    pub(super) grid: Grid,
    pub(super) counts: Counts,
    /// Addresses of the views that the kernel was launched with.
    views: &'a [usize],
    shared: &'a SharedMemory,
    shared_bytes: usize,
    arrays: RefCell<Vec<SharedArray>>,
    pub(super) index: Cell<u32>,
    pub(super) tick: Cell<u64>,
    launch_start: u64,
    pub(super) block_start: Cell<u64>,
    pub(super) phase_start: Cell<u64>,
    pub(super) warp_ticks: Vec<Cell<u64>>,
    pub(super) slots: Vec<Slot>,
    /// When each block so far started.
    pub(super) history: RefCell<Vec<(u64, u32)>>,
    pub(super) fault: Cell<Option<Box<Fault>>>,
}

impl<'a> Block<'a> {
    /// Prepares a launch that starts at `tick`.
    pub(super) fn new(
        entry: &'static str,
        grid: Grid,
        views: &'a [usize],
        shared: &'a SharedMemory,
        shared_bytes: usize,
        tick: u64,
    ) -> Self {
        let slot = || Slot {
            state: Cell::new(State::Runnable),
            location: Cell::new(Location::caller()),
            word: Cell::new(0),
            source: Cell::new(0),
            copies: RefCell::default(),
        };
        Self {
            entry,
            grid,
            counts: Counts::default(),
            views,
            shared,
            shared_bytes,
            arrays: RefCell::default(),
            index: Cell::new(0),
            tick: Cell::new(tick),
            launch_start: book::stamp(tick, 0),
            block_start: Cell::new(0),
            phase_start: Cell::new(0),
            warp_ticks: (0..grid.threads / WARP).map(|_| Cell::new(0)).collect(),
            slots: (0..grid.threads).map(|_| slot()).collect(),
            history: RefCell::default(),
            fault: Cell::new(None),
        }
    }

    #[inline(always)]
    pub(super) fn index(&self) -> u32 {
        self.index.get()
    }
    #[inline(always)]
    pub(super) fn slot(&self, thread: u32) -> &Slot {
        &self.slots[thread as usize]
    }
    #[inline(always)]
    pub(super) fn launch_start(&self) -> u64 {
        self.launch_start
    }
    /// Stamps at which the block and its current phase started.
    #[inline(always)]
    pub(super) fn starts(&self) -> (u64, u64) {
        (self.block_start.get(), self.phase_start.get())
    }
    /// The stamp of a thread in its current warp phase.
    #[inline]
    pub(super) fn stamp_of(&self, thread: u32) -> u64 {
        book::stamp(self.warp_ticks[(thread / WARP) as usize].get(), thread)
    }
    /// The clock's last tick.
    pub(super) fn tick(&self) -> u64 {
        self.tick.get()
    }

    /// The block in which a stamp of this launch was made.
    pub(super) fn block_at(&self, stamp: u64) -> u32 {
        let history = self.history.borrow();
        let next = history.partition_point(|&(start, _)| start <= stamp);
        history[..next]
            .last()
            .map_or(self.index(), |&(_, block)| block)
    }

    /// Position of the view that starts at an address.
    pub(super) fn view_at(&self, address: usize) -> Option<usize> {
        self.views.iter().position(|&view| view == address)
    }

    /// First byte, in shared memory, of the array that starts at an address.
    pub(super) fn shared_offset(&self, address: usize) -> usize {
        address - self.shared.data.pointer.addr().get()
    }

    /// Where an array of shared memory and its records lie.
    pub(super) fn shared_array(
        &self,
        offset: usize,
        len: usize,
        element: usize,
        alignment: usize,
    ) -> Result<(*mut u8, *mut Record), FaultKind> {
        let reserved = self.shared_bytes;
        let bytes = len.saturating_mul(element);
        let array = SharedArray {
            offset,
            bytes,
            element,
        };
        let end = offset.saturating_add(bytes);
        let mut arrays = self.arrays.borrow_mut();
        if !arrays.contains(&array) {
            let overlaps =
                |other: &SharedArray| offset < other.offset + other.bytes && other.offset < end;
            if !offset.is_multiple_of(alignment)
                || end > reserved
                || (bytes > 0 && arrays.iter().any(overlaps))
            {
                return Err(FaultKind::SharedLayout {
                    offset,
                    bytes,
                    reserved,
                });
            }
            arrays.push(array);
        }
        // The memory holds at least the reserved bytes, and an array's end was found to be among them.
        let data = self.shared.data.pointer.as_ptr().cast::<u8>();
        Ok((
            data.wrapping_add(offset),
            self.shared.book.pointer.as_ptr().wrapping_add(offset),
        ))
    }

    /// Leaves a fault for the scheduler to find.
    pub(super) fn report(&self, fault: Fault) {
        self.fault.set(Some(Box::new(fault)));
    }
}
