//! Counts of what a launch did.

use std::cell::Cell;

use serde::{Deserialize, Serialize};

use super::book::{ATOMIC, READ, WRITE};

/// The counts of one launch over all its threads.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[non_exhaustive]
pub struct Statistics {
    /// Accesses to global memory.
    pub global: Accesses,
    /// Accesses to shared memory.
    pub shared: Accesses,
    /// Block barriers, each counted once a block.
    pub barriers: u64,
    /// Warp barriers, ballots and words shuffled, each counted once a warp.
    pub warp_operations: u64,
}

/// Accesses to one kind of memory.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[non_exhaustive]
pub struct Accesses {
    /// Elements read.
    pub loads: u64,
    /// Bytes read.
    pub load_bytes: u64,
    /// Elements written.
    pub stores: u64,
    /// Bytes written.
    pub store_bytes: u64,
    /// Atomic additions.
    pub atomics: u64,
}

/// The same while the launch runs.
#[derive(Default)]
pub(super) struct Counts {
    accesses: [[Cell<u64>; 3]; 2],
    bytes: [[Cell<u64>; 3]; 2],
    barriers: Cell<u64>,
    warp_operations: Cell<u64>,
}

#[inline(always)]
fn increase(cell: &Cell<u64>, by: u64) {
    cell.set(cell.get().wrapping_add(by));
}

#[inline(always)]
const fn row(access: u64) -> usize {
    match access {
        READ => 0,
        WRITE => 1,
        _ => 2,
    }
}

impl Counts {
    /// Counts an access to global memory, or to shared memory if `shared` is 1.
    #[inline(always)]
    pub(super) fn add<const ACCESS: u64>(&self, shared: usize, bytes: usize) {
        increase(&self.accesses[shared & 1][const { row(ACCESS) }], 1);
        increase(&self.bytes[shared & 1][const { row(ACCESS) }], bytes as u64);
    }

    pub(super) fn barrier(&self) {
        increase(&self.barriers, 1);
    }

    pub(super) fn warp_operation(&self) {
        increase(&self.warp_operations, 1);
    }

    pub(super) fn total(&self) -> Statistics {
        let of = |shared: usize| Accesses {
            loads: self.accesses[shared][row(READ)].get(),
            load_bytes: self.bytes[shared][row(READ)].get(),
            stores: self.accesses[shared][row(WRITE)].get(),
            store_bytes: self.bytes[shared][row(WRITE)].get(),
            atomics: self.accesses[shared][row(ATOMIC)].get(),
        };
        Statistics {
            global: of(0),
            shared: of(1),
            barriers: self.barriers.get(),
            warp_operations: self.warp_operations.get(),
        }
    }
}
