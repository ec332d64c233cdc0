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
//! *Claim 2: two members stand for a whole group.* A write is alone. For a run of reads or atomics we keep two members such that any x
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
//! *Claim 3: once the next group has begun, the first alone stands for the group before.* Let z be in the last group, y1 the
//! first stamp of the group before, y any other member, and x an access that is not ordered after y. If x is in a later
//! block, it is not ordered after y1 either. Otherwise, as y -> z and time goes forward, x, z and y are of one phase, so z
//! and y are of one warp, and so is y1, being of the latest phase and y1 -> z. If x is of another warp, it is not ordered after y1.
//! If it is of the same one, x, z and y are of one warp phase, hence z and y of one thread, which x is not of; and
//! y1, being of the latest warp phase, is of that thread too. So x is not ordered after y1.
//!
//! The test at the end of this file compares the record with a search through the whole history.

use super::fault::Access;

/// Bits below the tick in a stamp: written, kind of access, thread.
const TICK_SHIFT: u32 = 13;
const THREAD_SHIFT: u32 = 3;
const LANE_BITS: u32 = 5;
const WARP_MASK: u64 = 31 << LANE_BITS;

/// The element holds a value. Kept in the first stamp of the last group.
const WRITTEN: u64 = 1;
const KIND: u64 = 3 << 1;
pub(super) const READ: u64 = 1 << 1;
pub(super) const WRITE: u64 = 2 << 1;
pub(super) const ATOMIC: u64 = 3 << 1;

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

/// What the thread of a stamp did.
pub(super) const fn access_of(stamp: u64) -> Access {
    match stamp & KIND {
        READ => Access::Read,
        WRITE => Access::Write,
        _ => Access::Atomic,
    }
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

/// What happened to one element: two stamps of the last group of accesses and one of the group before.
#[derive(Clone, Copy)]
pub(super) struct Record {
    last: [u64; 2],
    before: u64,
}

impl Record {
    /// The record of an element that nobody touched; all bits zero.
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

    /// Notes an access of the asking thread; returns the stamp of an earlier access that races with it, or zero.
    #[inline(always)]
    pub(super) const fn note<const ACCESS: u64>(&mut self, now: &Now) -> u64 {
        // The same thread again, and nobody in between.
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
        Touch { thread: u32, access: u64 },
        WarpBarrier { warp: u32 },
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
            12 => (thread, access).prop_map(|(thread, access)| Step::Touch { thread, access }),
            3 => (0..3u32).prop_map(|warp| Step::WarpBarrier { warp }),
            2 => Just(Step::BlockBarrier),
            1 => Just(Step::NextBlock),
            1 => Just(Step::NextLaunch),
        ]
    }

    proptest! {
        #![proptest_config(ProptestConfig::with_cases(20_000))]
        /// The record reports a race exactly when the whole history holds one.
        #[test]
        fn record_agrees_with_the_history(steps in prop::collection::vec(step(), 1..40)) {
            let mut record = Record::EMPTY;
            record.fill();
            let mut history: Vec<Past> = Vec::new();
            let (mut tick, mut launch, mut block, mut phase) = (1, 1, 1, 1);
            let mut warps = [1; 3];
            let (mut launches, mut blocks, mut phases, mut warp_phases) = (0, 0, 0, 0);
            let mut counts = [0; 3];
            for step in steps {
                match step {
                    Step::Touch { thread, access } => {
                        let warp = (thread / 32) as usize;
                        let now = Now {
                            forgotten: stamp(launch, 0),
                            block: stamp(block, 0),
                            phase: stamp(phase, 0),
                            own: stamp(warps[warp], thread),
                        };
                        let x = Past {
                            launch: launches, block: blocks, phase: phases, warp_phase: counts[warp], thread, access,
                        };
                        let expected = history.iter().any(|y| y.races_with(&x));
                        let rival = match access {
                            READ => record.note::<READ>(&now),
                            WRITE => record.note::<WRITE>(&now),
                            _ => record.note::<ATOMIC>(&now),
                        };
                        prop_assert_eq!(rival != 0, expected);
                        if expected {
                            prop_assert!(history.iter().any(|y| y.races_with(&x)
                                && y.thread == thread_of(rival) && y.access == rival & KIND));
                            break;
                        }
                        history.push(x);
                    }
                    Step::WarpBarrier { warp } => {
                        tick += 1;
                        warps[warp as usize] = tick;
                        warp_phases += 1;
                        counts[warp as usize] = warp_phases;
                    }
                    later => {
                        tick += 1;
                        phase = tick;
                        phases += 1;
                        warps = [tick; 3];
                        if !matches!(later, Step::BlockBarrier) {
                            block = tick;
                            blocks += 1;
                        }
                        if matches!(later, Step::NextLaunch) {
                            launch = tick;
                            launches += 1;
                        }
                    }
                }
            }
        }
    }
}
