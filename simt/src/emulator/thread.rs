//! One emulated GPU thread.

use std::cell::Cell;
use std::fmt;
use std::panic::Location;

use crate::memory::Atomic;
use crate::simt::Lane;
use crate::{Element, Real, Region, Simt, WARP};
use corosensei::Yielder;

use super::block::{Block, State};
use super::book::{self, ATOMIC, Now, READ, Record, WRITE};
use super::copies::{Pending, Run};
use crate::fault::{Access, Activity, Fault, FaultKind, Memory, OtherThread};

/// One thread of a launch on the emulator: the machine that kernels see there.
pub struct Thread<'a> {
    block: &'a Block<'a>,
    yielder: &'a Yielder<(), ()>,
    index: u32,
    /// Tick of the warp phase and index, as the book of accesses writes them.
    stamp: Cell<u64>,
    /// Whether it has copies under way.
    copies: Cell<bool>,
}

/// The target of a copy.
#[derive(Clone, Copy)]
enum Source<T> {
    /// The elements of a region from one on.
    Elements(Region<T>, usize),
    /// One value everywhere.
    Value(T),
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
            copies: Cell::new(false),
        }
    }

    /// Ends the kernel for this thread.
    #[inline(always)]
    pub(super) fn leave(&self) {
        if self.copies.get() {
            self.abandon_copies();
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

    /// The present, as the book of global or shared memory records it.
    #[inline(always)]
    fn now(&self, shared: bool) -> Now {
        let (block, phase) = self.block.starts();
        Now {
            forgotten: if shared {
                block
            } else {
                self.block.launch_start()
            },
            block,
            phase,
            own: self.stamp.get(),
        }
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
        // SAFETY: a region with a book comes from a buffer, which the launch borrows, or from `shared`; both point to as
        // many records as there are elements. Threads take turns on one CPU thread, and no reference to a record
        // outlives this call.
        let record = unsafe { &mut *record_of(region, index) };
        let now = self.now(shared != 0);
        let needed = if shared == 0 { 0 } else { now.block };
        if ACCESS != WRITE && !record.is_written_since(needed) {
            self.fail_access(FaultKind::Unwritten, region, index, location, None);
        }
        let rival = record.note::<ACCESS>(&now);
        if rival != 0 {
            let access = book::access_of(ACCESS);
            let kind = if book::is_held(rival) {
                FaultKind::CopyUnderWay { access }
            } else {
                let other = book::access_of(rival);
                FaultKind::Race { access, other }
            };
            self.fail_access(kind, region, index, location, Some(rival));
        }
        if ACCESS != READ && shared == 0 && self.copies.get() {
            self.check_own_sources(record, book::access_of(ACCESS), location);
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
        let other = rival.map(|stamp| {
            let thread = book::thread_of(stamp);
            let started = || {
                let copies = self.block.slot(thread).copies.borrow();
                Some(copies.to(record_of(region, index))?.location)
            };
            OtherThread {
                block: self.block.block_at(stamp),
                thread,
                location: book::is_held(stamp).then(started).flatten(),
            }
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

/// Where the record of an element lies.
#[inline(always)]
fn record_of<T>(region: Region<T>, index: usize) -> *mut Record {
    let shared = region.book.addr() & SHARED_TAG;
    let records: *mut Record = region.book.wrapping_byte_sub(shared).cast();
    records.wrapping_add(index)
}

/// Accesses to several elements.
impl Thread<'_> {
    /// Checks that an access to `count` elements from `index` on begins at a multiple of its size. Buffers do.
    #[inline(always)]
    fn check_alignment<T: Element>(
        &self,
        region: Region<T>,
        index: usize,
        count: usize,
        access: Access,
        location: &'static Location<'static>,
    ) {
        let start = if region.book.addr() & SHARED_TAG == 0 {
            0
        } else {
            self.block.shared_offset(region.pointer.addr())
        };
        let bytes = size_of::<T>();
        if !(start + index * bytes).is_multiple_of(count * bytes) {
            let kind = FaultKind::Misaligned { access, count };
            self.fail_access(kind, region, index, location, None);
        }
    }
}

/// Copies: see [`copies`](super::copies) for what is noted and when.
impl Thread<'_> {
    /// Starts a copy of `len` elements to those from `place` on.
    fn start_copy<T: Element>(
        &self,
        source: Source<T>,
        to: Region<T>,
        place: usize,
        len: usize,
        location: &'static Location<'static>,
    ) {
        if let Source::Elements(from, index) = source {
            self.check_alignment(from, index, len, Access::Read, location);
        }
        self.check_alignment(to, place, len, Access::Write, location);
        for k in 0..len {
            let value = match source {
                Source::Elements(from, index) => self.load_at(from, index + k, location),
                Source::Value(value) => value,
            };
            self.store_at(to, place + k, value, location);
            // SAFETY: the store has checked that there is such a record; no other reference to it exists.
            unsafe { (*record_of(to, place + k)).hold() };
        }
        let run = |region: Region<T>, index| Run {
            region: region.pointer.addr(),
            index,
            len,
            records: record_of(region, index),
        };
        self.copies.set(true);
        self.block
            .slot(self.index)
            .copies
            .borrow_mut()
            .start(Pending {
                from: match source {
                    Source::Elements(from, index) => Some(run(from, index)),
                    Source::Value(_) => None,
                },
                to: run(to, place),
                stamp: self.stamp.get(),
                location,
            });
    }

    /// Waits for all but the last `groups` groups of copies.
    fn finish_copies(&self, groups: usize) {
        let mut changed = None;
        {
            let mut copies = self.block.slot(self.index).copies.borrow_mut();
            for copy in copies.wait(groups) {
                let change = self.finish(&copy);
                changed = changed.or(change.map(|(index, stamp)| (copy, index, stamp)));
            }
            self.copies.set(copies.first().is_some());
        }
        if let Some((copy, index, stamp)) = changed {
            let writer = OtherThread {
                block: self.block.block_at(stamp),
                thread: book::thread_of(stamp),
                location: None,
            };
            self.fail_source(&copy, index, book::access_of(stamp), writer);
        }
    }

    /// Notes that a copy is done; the first element of its source that another thread has changed meanwhile, if there is one, and when.
    fn finish(&self, copy: &Pending) -> Option<(usize, u64)> {
        let now = self.now(true);
        for (record, _) in copy.to.elements() {
            // SAFETY: the copy's start has found the record; the launch borrows its book, and no other reference to it exists.
            unsafe { (*record).release(&now) };
        }
        // Without a barrier since the start, the note of that time still holds.
        if copy.stamp == now.own {
            return None;
        }
        let now = self.now(false);
        copy.from?.elements().find_map(|(record, index)| {
            // SAFETY: as above.
            let record = unsafe { &mut *record };
            let change = record.changed_after(copy.stamp);
            if change != 0 {
                return Some((index, change));
            }
            let rival = record.note::<READ>(&now);
            debug_assert!(rival == 0, "no change, no race");
            None
        })
    }

    /// Finds a copy of this thread's own that may still read the element that it changes.
    #[inline(never)]
    fn check_own_sources(
        &self,
        record: *const Record,
        access: Access,
        location: &'static Location<'static>,
    ) {
        let found = self.block.slot(self.index).copies.borrow().from(record);
        if let Some((copy, index)) = found {
            let writer = OtherThread {
                block: self.block.index(),
                thread: self.index,
                location: Some(location),
            };
            self.fail_source(&copy, index, access, writer);
        }
    }

    /// Reports that the source of a copy under way was changed.
    fn fail_source(&self, copy: &Pending, index: usize, access: Access, writer: OtherThread) -> ! {
        let memory = copy.from.map(|from| Memory::Global {
            view: self.block.view_at(from.region),
        });
        self.fail(
            FaultKind::CopySource { access },
            memory,
            Some(index),
            copy.location,
            Some(writer),
        )
    }

    /// Reports that the thread leaves with copies under way.
    #[cold]
    #[inline(never)]
    fn abandon_copies(&self) {
        let first = self.block.slot(self.index).copies.borrow().first();
        if let Some(copy) = first {
            let memory = Memory::Shared {
                offset: self.block.shared_offset(copy.to.region),
            };
            self.fail(
                FaultKind::CopyAbandoned,
                Some(memory),
                Some(copy.to.index),
                copy.location,
                None,
            );
        }
    }

    #[inline(always)]
    fn load_at<T: Element>(
        &self,
        region: Region<T>,
        index: usize,
        location: &'static Location<'static>,
    ) -> T {
        self.touch::<READ, T>(region, index, location);
        // SAFETY: `touch` has checked the index, and that the element was written.
        unsafe { region.pointer.add(index).read() }
    }

    #[inline(always)]
    fn store_at<T: Element>(
        &self,
        region: Region<T>,
        index: usize,
        value: T,
        location: &'static Location<'static>,
    ) {
        self.touch::<WRITE, T>(region, index, location);
        // SAFETY: `touch` has checked the index.
        unsafe { region.pointer.add(index).write(value) }
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
    fn copy_16<T: Real>(
        &self,
        from: Region<T>,
        index: usize,
        to: Region<T>,
        place: usize,
        there: bool,
    ) {
        let source = if there {
            Source::Elements(from, index)
        } else {
            Source::Value(T::ZERO)
        };
        self.start_copy(source, to, place, 16 / size_of::<T>(), Location::caller());
    }
    #[inline(always)]
    fn copy_async<T: Element, const N: usize>(
        &self,
        from: Region<T>,
        index: usize,
        to: Region<T>,
        place: usize,
    ) {
        let source = Source::Elements(from, index);
        self.start_copy(source, to, place, N, Location::caller());
    }
    #[inline(always)]
    fn end_copies(&self) {
        self.block.slot(self.index).copies.borrow_mut().end_group();
    }
    #[inline(always)]
    fn wait_copies(&self, pending: u32) {
        self.finish_copies(pending as usize);
    }

    #[inline(always)]
    fn load<T: Element>(&self, region: Region<T>, index: usize) -> T {
        self.load_at(region, index, Location::caller())
    }
    #[inline(always)]
    fn store<T: Element>(&self, region: Region<T>, index: usize, value: T) {
        self.store_at(region, index, value, Location::caller());
    }
    #[inline(always)]
    fn load_run<T: Element, const N: usize>(&self, region: Region<T>, index: usize) -> [T; N] {
        let location = Location::caller();
        self.check_alignment(region, index, N, Access::Read, location);
        std::array::from_fn(|k| self.load_at(region, index + k, location))
    }
    #[inline(always)]
    fn store_run<T: Element, const N: usize>(
        &self,
        region: Region<T>,
        index: usize,
        values: [T; N],
    ) {
        let location = Location::caller();
        self.check_alignment(region, index, N, Access::Write, location);
        for (k, value) in values.into_iter().enumerate() {
            self.store_at(region, index + k, value, location);
        }
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
    unsafe fn shared<T: Element>(&self, offset: usize, len: usize) -> Region<T> {
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
