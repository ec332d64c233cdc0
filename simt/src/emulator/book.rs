//! The book of accesses: one record an element, which finds every race in constant space.
//!
//! # When two accesses race
//!
//! An access is a read, a write or an atomic addition. Two accesses to one element *conflict* unless both are reads or
//! both are atomic. Access y is *ordered before* a later access x, written y -> x, if both are in the same block and
//!
//! - a block barrier lies between them (the block phase of y is smaller), or
//! - they are in the same block phase and the same warp, and a warp barrier lies between them (the warp phase of y is
//!   smaller), or
//! - they belong to the same thread.
//!
//! Two accesses race if they conflict and are not ordered. The relation -> is transitive: along a chain the block never
//! changes and the block phase never falls; if it rises anywhere, the ends are ordered by it. If it does not rise, the warp never
//! changes and the warp phase never falls; if that rises, the ends are ordered by it, and otherwise all links are of one
//! thread.
//!
//! # Stamps
//!
//! One clock counts upwards for as long as the process lives. It ticks when a launch, a block or a block phase starts
//! and at each warp barrier. A thread's *stamp* is the clock's value at the start of its warp phase with its own index below it. So
//! for the stamp s of an earlier access, seen by a thread of the block that runs now:
//!
//! | s | the earlier access was |
//! |---|---|
//! | below the start of the launch | in an earlier launch: ordered |
//! | below the start of the block | in another block: not ordered |
//! | below the start of the phase | in an earlier phase: ordered |
//! | another warp | in this phase, elsewhere: not ordered |
//! | below the own stamp's tick | in an earlier warp phase: ordered |
//! | the own tick | not ordered, unless it is of the same thread |
//!
//! Nothing is ever cleared: what is too old is recognised by its stamp. Shared memory dies with its block, so for it
//! everything below the start of the block counts as never having happened.
//!
//! # Why three stamps are enough
//!
//! Cut the accesses to an element into *groups*: a maximal run of reads, a maximal run of atomics, or a single write. Neighbouring
//! groups conflict. Suppose that no race was found so far; then each member of a group is ordered before each
//! member of the next, and by transitivity before all members of all later groups. Let x be the next access.
//!
//! *Claim 1: it suffices to compare x with the last group that it conflicts with*, which is the last group, or the one before
//! if x joins the last. For let y be in an earlier group and not ordered before x. No member z of the compared
//! group is ordered before x, or else y -> z -> x. So x races with z, and the comparison finds it. The record
//! therefore keeps the last group and the one before.
//!
//! *Claim 2: two members represent a whole group.* A write is alone. For a run of reads or atomics we keep two members such that any x
//! to come that is not ordered after some member is not ordered after one of the two. Blocks run one after another,
//! so x belongs to the block that runs now or to a later one.
//!
//! - A member of a block that has ended is not ordered before any x: it alone is enough, for the rest of the launch.
//! - Otherwise all members are of the current block. Any one of them is enough for x in later blocks. For x in the current block
//!   only members of the current phase count; when the first of these comes, it replaces what was kept.
//! - Two members of different warps in the current phase are enough: x differs in its warp from one of them.
//! - If all members of the phase are of one warp, any one is enough for x of other warps; for x of this warp only
//!   members of its current warp phase count, the first of which replaces what was kept, and two of different lanes are
//!   enough: x differs in its lane from one of them. A single lane is no danger to itself.
//!
//! The first of the two is in the latest block phase of its group, and in the latest warp phase in which its warp took part
//! there unless the second is of another warp.
//!
//! *Claim 3: once the next group has begun, the first alone represents the group before.* Let z be in the last group, y1 the
//! first stamp of the group before, y any other member, and x an access that is not ordered after y. If x is in a later
//! block, it is not ordered after y1 either. Otherwise, as y -> z and time goes forward, x, z and y are of one phase, so z
//! and y are of one warp, and so is y1, being of the latest phase and y1 -> z. If x is of another warp, it is not ordered after y1.
//! If it is of the same one, x, z and y are of one warp phase, hence z and y of one thread, which x is not of; and
//! y1, being of the latest warp phase, is of that thread too. So x is not ordered after y1.
//!
//! # Copies under way
//!
//! An asynchronous copy reads and writes at some time between its start s and its wait w, which are of one thread. Both are noted as accesses of
//! that thread. That leaves the accesses x in between, of which none may touch the destination and none change the
//! source. (An x before s that is ordered before s is ordered before all that follows; the same holds behind w.)
//!
//! *The destination* is held from s to w: a bit in the first stamp, with which [`Record::note`] reports any x. So the record at w is that at s.
//!
//! *The source* may be read. Suppose that the thread itself does not change it, and that no race was found. Then a change c by another thread is
//! ordered before s or s before c. If it is in another block, it is ordered neither way. So it is of the same block, and
//! its block phase, or in the same warp its warp phase, is smaller than that of s or greater: its tick is smaller than that of s
//! if it was made before, and greater if after. A change by the thread itself was made before s, and its tick is not greater. Ticks never
//! fall from group to group, and any change is in the last group or, if that is of reads, in the one before. So c exists exactly if the first stamp of
//! the last group of changes has a greater tick than s. That is [`Record::changed_after`].
//!
//! The tests at the end of this file compare the record with a search through the whole history.

use crate::fault::Access;

/// Bits below the tick in a stamp: written, kind of access, held, thread.
const TICK_SHIFT: u32 = 14;
const THREAD_SHIFT: u32 = 4;
const LANE_BITS: u32 = 5;
const WARP_MASK: u64 = 31 << LANE_BITS;

/// The element holds a value. Kept in the first stamp of the last group.
const WRITTEN: u64 = 1;
const KIND: u64 = 3 << 1;
pub(super) const READ: u64 = 1 << 1;
pub(super) const WRITE: u64 = 2 << 1;
pub(super) const ATOMIC: u64 = 3 << 1;
/// A copy without a wait so far writes the element. Kept in the first stamp of the last group, which is of the thread that started it.
const HELD: u64 = 1 << 3;

/// The starts of what now runs, and the stamp of the thread that asks.
#[derive(Clone, Copy)]
pub(super) struct Now {
    /// Stamps below this are forgotten: the start of the launch, or for shared memory of the block.
    pub(super) forgotten: u64,
    pub(super) block: u64,
    pub(super) phase: u64,
    pub(super) own: u64,
}

/// A tick of the clock as the stamp of thread 0.
#[inline(always)]
pub(super) const fn stamp(tick: u64, thread: u32) -> u64 {
    tick << TICK_SHIFT | (thread as u64) << THREAD_SHIFT
}

/// The thread of a stamp.
pub(super) const fn thread_of(stamp: u64) -> u32 {
    (stamp >> THREAD_SHIFT) as u32 & 1023
}

/// The access of the thread of a stamp.
pub(super) const fn access_of(stamp: u64) -> Access {
    match stamp & KIND {
        READ => Access::Read,
        WRITE => Access::Write,
        _ => Access::Atomic,
    }
}

/// Whether a stamp is that of a copy under way.
pub(super) const fn is_held(stamp: u64) -> bool {
    stamp & HELD != 0
}

#[inline(always)]
const fn same_warp(a: u64, b: u64) -> bool {
    (a ^ b) >> THREAD_SHIFT & WARP_MASK == 0
}

impl Now {
    /// Whether an earlier access with this stamp is not ordered before one of the asking thread.
    #[inline(always)]
    const fn races(&self, earlier: u64) -> bool {
        if earlier < self.phase {
            earlier < self.block && earlier >= self.forgotten
        } else {
            let difference = (earlier ^ self.own) >> THREAD_SHIFT;
            difference & WARP_MASK != 0
                || (difference != 0 && difference >> (TICK_SHIFT - THREAD_SHIFT) == 0)
        }
    }
}

/// The history of one element: two stamps of the last group of accesses and one of the group before.
#[derive(Clone, Copy)]
pub(super) struct Record {
    last: [u64; 2],
    before: u64,
}

impl Record {
    /// The record of an untouched element; all bits zero.
    #[cfg(test)]
    const EMPTY: Self = Self {
        last: [0; 2],
        before: 0,
    };

    /// Notes that the host wrote the element.
    pub(super) const fn fill(&mut self) {
        self.last[0] |= WRITTEN;
    }

    /// Whether the element of global memory holds a value.
    #[inline(always)]
    pub(super) const fn is_written(&self) -> bool {
        self.last[0] & WRITTEN != 0
    }

    /// The same for shared memory, of which a block sees only what it wrote itself.
    #[inline(always)]
    pub(super) const fn is_written_since(&self, start: u64) -> bool {
        self.is_written() && self.last[0] >= start
    }

    /// Holds the element for a copy, the write of which the asking thread has just noted.
    pub(super) const fn hold(&mut self) {
        self.last[0] |= HELD;
    }

    /// Notes that the asking thread has waited for the copy for which the element was held.
    pub(super) const fn release(&mut self, now: &Now) {
        self.last[0] &= !HELD;
        let rival = self.note::<WRITE>(now);
        debug_assert!(rival == 0, "nobody touches a held element");
    }

    /// The stamp of the last write or atomic addition, if its tick is above that of the stamp `stamp`; or zero.
    pub(super) const fn changed_after(&self, stamp: u64) -> u64 {
        let change = if self.last[0] & KIND == READ {
            self.before
        } else {
            self.last[0]
        };
        if change >> TICK_SHIFT > stamp >> TICK_SHIFT {
            change
        } else {
            0
        }
    }

    /// Notes an access of the asking thread; returns the stamp of an earlier access that races with it or of the copy for which the element is held,
    /// or zero.
    #[inline(always)]
    pub(super) const fn note<const ACCESS: u64>(&mut self, now: &Now) -> u64 {
        // The same thread again, and no other in between.
        if self.last[0] == now.own | ACCESS | WRITTEN {
            return 0;
        }
        self.note_other::<ACCESS>(now)
    }

    #[inline]
    const fn note_other<const ACCESS: u64>(&mut self, now: &Now) -> u64 {
        let [first, second] = self.last;
        let own = now.own | ACCESS;
        // Reads and atomics presuppose a value, so whatever was accessed is written afterwards.
        if first < now.forgotten {
            self.last = [own | WRITTEN, 0];
            self.before = 0;
            return 0;
        }
        if is_held(first) {
            return first;
        }
        if ACCESS == WRITE || first & KIND != ACCESS {
            if now.races(first) {
                return first;
            }
            if now.races(second) {
                return second;
            }
            self.before = first;
            self.last = [own | WRITTEN, 0];
            return 0;
        }
        if now.races(self.before) {
            return self.before;
        }
        if first < now.phase {
            if first >= now.block {
                self.last = [own | WRITTEN, 0];
            }
        } else if !same_warp(first, own) {
            if second == 0 || same_warp(first, second) {
                self.last[1] = own;
            }
        } else if second == 0 || same_warp(first, second) {
            if first >> TICK_SHIFT != own >> TICK_SHIFT {
                self.last = [own | WRITTEN, 0];
            } else if second == 0 && thread_of(first) != thread_of(own) {
                self.last[1] = own;
            }
        }
        0
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    #[derive(Clone, Copy, Debug)]
    enum Step {
        Touch {
            thread: u32,
            access: u64,
        },
        /// Starts a copy, if none is under way.
        Copy {
            thread: u32,
        },
        /// Waits for the copy, if one is under way.
        Wait,
        WarpBarrier {
            warp: u32,
        },
        BlockBarrier,
        NextBlock,
        NextLaunch,
    }

    #[derive(Clone, Copy)]
    struct Past {
        launch: u32,
        block: u32,
        phase: u32,
        warp_phase: u32,
        thread: u32,
        access: u64,
    }

    impl Past {
        fn races_with(&self, x: &Self) -> bool {
            let conflict = self.access == WRITE || self.access != x.access;
            let ordered = self.launch != x.launch
                || self.block == x.block
                    && (self.phase < x.phase
                        || self.thread == x.thread
                        || self.thread / 32 == x.thread / 32 && self.warp_phase < x.warp_phase);
            conflict && !ordered
        }
    }

    fn step() -> impl Strategy<Value = Step> {
        let thread = prop::sample::select(vec![0, 1, 2, 32, 33, 64]);
        let access = prop_oneof![4 => Just(READ), 1 => Just(WRITE), 2 => Just(ATOMIC)];
        prop_oneof![
            12 => (thread.clone(), access).prop_map(|(thread, access)| Step::Touch { thread, access }),
            2 => thread.prop_map(|thread| Step::Copy { thread }),
            2 => Just(Step::Wait),
            3 => (0..3u32).prop_map(|warp| Step::WarpBarrier { warp }),
            2 => Just(Step::BlockBarrier),
            1 => Just(Step::NextBlock),
            1 => Just(Step::NextLaunch),
        ]
    }

    /// The access of a copy to the element.
    #[derive(Clone, Copy, Debug, PartialEq)]
    enum End {
        /// The element is of global memory and copied from.
        Source,
        /// It is of shared memory and copied to.
        Destination,
    }

    /// One element, the clock, and all that happened.
    struct Model {
        end: End,
        record: Record,
        history: Vec<Past>,
        /// The copy under way: its thread, the stamp at its start, and how long the history was then.
        copy: Option<(u32, u64, usize)>,
        tick: u64,
        /// Ticks at which the launch, the block, the phase and the warp phases started.
        starts: [u64; 3],
        warps: [u64; 3],
        /// How many of them there were.
        launches: u32,
        blocks: u32,
        phases: u32,
        counts: [u32; 3],
    }

    impl Model {
        fn new(end: End) -> Self {
            let mut record = Record::EMPTY;
            record.fill();
            Self {
                end,
                record,
                history: Vec::new(),
                copy: None,
                tick: 1,
                starts: [1; 3],
                warps: [1; 3],
                launches: 0,
                blocks: 0,
                phases: 0,
                counts: [0; 3],
            }
        }

        fn now(&self, thread: u32) -> Now {
            let [launch, block, phase] = self.starts.map(|tick| stamp(tick, 0));
            Now {
                forgotten: if self.end == End::Source {
                    launch
                } else {
                    block
                },
                block,
                phase,
                own: stamp(self.warps[(thread / 32) as usize], thread),
            }
        }

        fn access(&self, thread: u32, access: u64) -> Past {
            Past {
                launch: self.launches,
                block: self.blocks,
                phase: self.phases,
                warp_phase: self.counts[(thread / 32) as usize],
                thread,
                access,
            }
        }

        /// Notes an access; true if it is a fault.
        fn touch(&mut self, thread: u32, access: u64) -> Result<bool, TestCaseError> {
            let now = self.now(thread);
            let x = self.access(thread, access);
            let forgotten = |y: &Past| self.end == End::Destination && y.block != x.block;
            let races = |y: &&Past| !forgotten(y) && y.races_with(&x);
            let expected = self.history.iter().any(|y| races(&y));
            let rival = match access {
                READ => self.record.note::<READ>(&now),
                WRITE => self.record.note::<WRITE>(&now),
                _ => self.record.note::<ATOMIC>(&now),
            };
            if self.end == End::Destination
                && let Some((owner, start, _)) = self.copy
            {
                prop_assert!(is_held(rival));
                prop_assert_eq!(rival >> THREAD_SHIFT, start >> THREAD_SHIFT);
                prop_assert_eq!(thread_of(rival), owner);
                return Ok(true);
            }
            prop_assert!(!is_held(rival));
            prop_assert_eq!(rival != 0, expected);
            let is_rival = |y: &Past| y.thread == thread_of(rival) && y.access == rival & KIND;
            prop_assert!(!expected || self.history.iter().filter(races).any(is_rival));
            self.history.push(x);
            // The thread itself checks its own changes.
            let changes_source =
                access != READ && self.copy.is_some_and(|(owner, ..)| owner == thread);
            Ok(expected || changes_source)
        }

        /// Waits for the copy; true if its source was changed.
        fn wait(&mut self) -> Result<bool, TestCaseError> {
            let Some((thread, start, length)) = self.copy.take() else {
                return Ok(false);
            };
            let now = self.now(thread);
            if self.end == End::Destination {
                self.record.release(&now);
                self.history.push(self.access(thread, WRITE));
                return Ok(false);
            }
            let between = &self.history[length..];
            let expected = between.iter().any(|y| y.access != READ);
            let change = self.record.changed_after(start);
            prop_assert_eq!(change != 0, expected);
            if expected {
                prop_assert!(
                    between
                        .iter()
                        .any(|y| y.access == change & KIND && y.thread == thread_of(change))
                );
                return Ok(true);
            }
            // A change that nothing orders behind the wait would have been found.
            prop_assert_eq!(self.record.note::<READ>(&now), 0);
            self.history.push(self.access(thread, READ));
            Ok(false)
        }

        /// Takes a step; true if it is a fault.
        fn take(&mut self, step: Step) -> Result<bool, TestCaseError> {
            match step {
                Step::Touch { thread, access } => return self.touch(thread, access),
                Step::Copy { thread } => {
                    if self.copy.is_none() {
                        let access = if self.end == End::Source { READ } else { WRITE };
                        if self.touch(thread, access)? {
                            return Ok(true);
                        }
                        if self.end == End::Destination {
                            self.record.hold();
                        }
                        self.copy = Some((thread, self.now(thread).own, self.history.len()));
                    }
                }
                Step::Wait => return self.wait(),
                Step::WarpBarrier { warp } => {
                    self.tick += 1;
                    self.warps[warp as usize] = self.tick;
                    self.counts[warp as usize] += 1;
                }
                Step::BlockBarrier | Step::NextBlock | Step::NextLaunch => {
                    self.tick += 1;
                    self.phases += 1;
                    self.starts[2] = self.tick;
                    self.warps = [self.tick; 3];
                    if !matches!(step, Step::BlockBarrier) {
                        // With a copy under way a thread does not leave; but what it holds must not outlast its block.
                        self.copy = None;
                        self.starts[1] = self.tick;
                        self.blocks += 1;
                    }
                    if matches!(step, Step::NextLaunch) {
                        self.starts[0] = self.tick;
                        self.launches += 1;
                    }
                }
            }
            Ok(false)
        }
    }

    proptest! {
        #![proptest_config(ProptestConfig::with_cases(20_000))]
        /// The record reports a fault exactly when the whole history holds one.
        #[test]
        fn record_agrees_with_the_history(
            end in prop_oneof![Just(End::Source), Just(End::Destination)],
            steps in prop::collection::vec(step(), 1..40),
        ) {
            let mut model = Model::new(end);
            for step in steps {
                if model.take(step)? {
                    break;
                }
            }
        }
    }
}
