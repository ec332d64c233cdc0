//! The order in which the emulator lets threads and blocks run.

use serde::{Deserialize, Serialize};

/// The order in which the emulator runs blocks, warps and threads.
///
/// Threads of a block may run in any order between two barriers, so the results of a correct kernel are the
/// same in all of them, to the bit.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
#[non_exhaustive]
pub enum ThreadOrder {
    /// From the first to the last.
    #[default]
    Ascending,
    /// From the last to the first.
    Descending,
    /// Shuffled anew at every barrier; the same seed repeats the same orders.
    Random(u64),
}

/// Produces the orders of one launch.
pub(super) struct Sequence {
    order: ThreadOrder,
    state: u64,
}

impl Sequence {
    pub(super) const fn new(order: ThreadOrder) -> Self {
        let state = match order {
            ThreadOrder::Random(seed) => seed,
            _ => 0,
        };
        Self { order, state }
    }

    /// How many of a block's threads take turns between two steps of a warp. A random order mixes all of them; the others keep
    /// to one warp while it runs, whose stacks then stay in the cache.
    pub(super) const fn group(&self, threads: usize) -> usize {
        match self.order {
            ThreadOrder::Random(_) => threads,
            _ => 32,
        }
    }

    /// Puts ascending items into order.
    pub(super) fn arrange(&mut self, items: &mut [u32]) {
        match self.order {
            ThreadOrder::Ascending => {}
            ThreadOrder::Descending => items.reverse(),
            ThreadOrder::Random(_) => {
                for last in (1..items.len()).rev() {
                    let other = self.below(last as u64 + 1);
                    items.swap(last, other);
                }
            }
        }
    }

    /// A number in `0..bound`, `bound` at most 2^32 (splitmix64).
    fn below(&mut self, bound: u64) -> usize {
        self.state = self.state.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mut z = self.state;
        z = (z ^ z >> 30).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        z = (z ^ z >> 27).wrapping_mul(0x94d0_49bb_1331_11eb);
        z ^= z >> 31;
        (((z >> 32) * bound) >> 32) as usize
    }
}
