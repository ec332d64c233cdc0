//! One emulated GPU thread.

use std::cell::Cell;
use std::fmt;
use std::panic::Location;

use corosensei::Yielder;
use rarefy_kernels::memory::Atomic;
use rarefy_kernels::simt::Lane;
use rarefy_kernels::{Element, Region, Simt, WARP};

use super::block::{Block, State};
use super::book::{self, ATOMIC, Now, READ, Record, WRITE};
use super::fault::{Activity, Fault, FaultKind, Memory, OtherThread};

/// One thread of a launch on the emulator: the machine that kernels see there.
pub struct Thread<'a> {
    block: &'a Block<'a>,
    yielder: &'a Yielder<(), ()>,
    index: u32,
    /// Tick of the warp phase and index, as the book of accesses writes them.
    stamp: Cell<u64>,
}

impl fmt::Debug for Thread<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Thread")
            .field("index", &self.index)
            .finish_non_exhaustive()
    }
}

/// Set in a region's pointer to its records if the memory is shared; records are aligned, so the bit is free.
const SHARED_TAG: usize = 1;

impl<'a> Thread<'a> {
    pub(super) fn new(block: &'a Block<'a>, yielder: &'a Yielder<(), ()>, index: u32) -> Self {
        Self {
            block,
            yielder,
            index,
            stamp: Cell::new(block.stamp_of(index)),
        }
    }

    /// Waits until the scheduler has found everybody who takes part.
    ///
    /// Inlined into the kernel, with all that calls it: a `ret` after a switch returns to where the processor does not expect
    /// it, as its stack of return addresses belongs to another thread by then. That costs 30 ns a switch instead of 10.
    #[inline(always)]
    fn wait(&self, activity: Activity, location: &'static Location<'static>) {
        let slot = self.block.slot(self.index);
        slot.location.set(location);
        slot.state.set(State::Stopped(activity));
        self.yielder.suspend(());
        self.stamp.set(self.block.stamp_of(self.index));
    }

    #[inline(always)]
    fn exchange(&self, word: u32, source: u32, location: &'static Location<'static>) -> u32 {
        if source >= WARP {
            self.fail(
                FaultKind::InactiveLane { source },
                None,
                None,
                location,
                None,
            );
        }
        let slot = self.block.slot(self.index);
        slot.word.set(word);
        slot.source.set(source);
        self.wait(Activity::Shuffle, location);
        slot.word.get()
    }

    /// Checks an access to element `index` and enters it in the book.
    #[inline(always)]
    fn touch<const ACCESS: u64, T: Element>(
        &self,
        region: Region<T>,
        index: usize,
        location: &'static Location<'static>,
    ) {
        if index >= region.len {
            let kind = FaultKind::OutOfBounds {
                access: book::access_of(ACCESS),
                len: region.len,
            };
            self.fail_access(kind, region, index, location, None);
        }
        if region.book.is_null() {
            self.fail_access(FaultKind::ForeignMemory, region, index, location, None);
        }
        let block = self.block;
        let shared = region.book.addr() & SHARED_TAG;
        let records: *mut Record = region.book.wrapping_byte_sub(shared).cast();
        // SAFETY: a region with a book comes from a buffer, which the launch borrows, or from `shared`; both point to as
        // many records as there are elements. Threads take turns on one CPU thread, and no reference to a record
        // outlives this call.
        let record = unsafe { &mut *records.add(index) };
        let (block_start, phase) = block.starts();
        let (forgotten, needed) = if shared == 0 {
            (block.launch_start(), 0)
        } else {
            (block_start, block_start)
        };
        if ACCESS != WRITE && !record.is_written_since(needed) {
            self.fail_access(FaultKind::Unwritten, region, index, location, None);
        }
        let rival = record.note::<ACCESS>(&Now {
            forgotten,
            block: block_start,
            phase,
            own: self.stamp.get(),
        });
        if rival != 0 {
            let kind = FaultKind::Race {
                access: book::access_of(ACCESS),
                other: book::access_of(rival),
            };
            self.fail_access(kind, region, index, location, Some(rival));
        }
        block.counts.add::<ACCESS>(shared, size_of::<T>());
    }

    /// Reports a fault of an access and never comes back.
    #[cold]
    #[inline(never)]
    fn fail_access<T>(
        &self,
        kind: FaultKind,
        region: Region<T>,
        index: usize,
        location: &'static Location<'static>,
        rival: Option<u64>,
    ) -> ! {
        let memory = if region.book.addr() & SHARED_TAG == 0 {
            Memory::Global {
                view: self.block.view_at(region.pointer.addr()),
            }
        } else {
            Memory::Shared {
                offset: self.block.shared_offset(region.pointer.addr()),
            }
        };
        let other = rival.map(|stamp| OtherThread {
            block: self.block.block_at(stamp),
            thread: book::thread_of(stamp),
            location: None,
        });
        self.fail(kind, Some(memory), Some(index), location, other)
    }

    /// Reports a fault and never comes back: the scheduler unwinds this thread instead of resuming it.
    #[cold]
    fn fail(
        &self,
        kind: FaultKind,
        memory: Option<Memory>,
        index: Option<usize>,
        location: &'static Location<'static>,
        other: Option<OtherThread>,
    ) -> ! {
        self.block.report(Fault {
            kind,
            kernel: self.block.entry,
            block: self.block.index(),
            thread: self.index,
            memory,
            index,
            location: Some(location),
            other,
        });
        self.block.slot(self.index).state.set(State::Faulted);
        loop {
            self.yielder.suspend(());
        }
    }
}

impl Simt for Thread<'_> {
    #[inline(always)]
    fn thread_idx(&self) -> u32 {
        self.index
    }
    #[inline(always)]
    fn block_dim(&self) -> u32 {
        self.block.grid.threads
    }
    #[inline(always)]
    fn block_idx(&self) -> u32 {
        self.block.index()
    }
    #[inline(always)]
    fn grid_dim(&self) -> u32 {
        self.block.grid.blocks
    }

    #[inline(always)]
    fn sync_threads(&self) {
        self.wait(Activity::Barrier, Location::caller());
    }
    #[inline(always)]
    fn sync_warp(&self) {
        self.wait(Activity::WarpBarrier, Location::caller());
    }
    #[inline(always)]
    fn shuffle_word(&self, word: u32, source: u32) -> u32 {
        self.exchange(word, source, Location::caller())
    }
    #[inline(always)]
    fn ballot(&self, predicate: bool) -> u32 {
        let slot = self.block.slot(self.index);
        slot.word.set(u32::from(predicate));
        self.wait(Activity::Ballot, Location::caller());
        slot.word.get()
    }
    // The provided method passes a closure, in which the caller's location would be lost.
    #[inline(always)]
    fn shuffle<T: Lane>(&self, value: T, source: u32) -> T {
        let location = Location::caller();
        value.map_words(|word| self.exchange(word, source, location))
    }

    #[inline(always)]
    fn load<T: Element>(&self, region: Region<T>, index: usize) -> T {
        self.touch::<READ, T>(region, index, Location::caller());
        // SAFETY: `touch` has checked the index, and that the element was written.
        unsafe { region.pointer.add(index).read() }
    }
    #[inline(always)]
    fn store<T: Element>(&self, region: Region<T>, index: usize, value: T) {
        self.touch::<WRITE, T>(region, index, Location::caller());
        // SAFETY: `touch` has checked the index.
        unsafe { region.pointer.add(index).write(value) }
    }
    #[inline(always)]
    fn atomic_add<T: Atomic>(&self, region: Region<T>, index: usize, value: T) -> T {
        self.touch::<ATOMIC, T>(region, index, Location::caller());
        // SAFETY: `touch` has checked the index, and that the element was written.
        unsafe {
            let place = region.pointer.add(index);
            let old = place.read();
            place.write(old.wrapping_sum(value));
            old
        }
    }
    fn shared<T: Element>(&self, offset: usize, len: usize) -> Region<T> {
        match self
            .block
            .shared_array(offset, len, size_of::<T>(), align_of::<T>())
        {
            Ok((pointer, records)) => Region {
                pointer: pointer.cast(),
                len,
                book: records.wrapping_byte_add(SHARED_TAG).cast(),
            },
            Err(kind) => self.fail(kind, None, None, Location::caller(), None),
        }
    }
}
