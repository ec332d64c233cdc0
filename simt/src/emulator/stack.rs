//! Stacks for the emulated threads, shared by all emulators of the process.
//!
//! A stack with its guard page takes two of the system's memory mappings, of which Linux allows a process about 65000. Many
//! tests at once, each with blocks of up to 1024 threads, would run into that limit; so the process has one pool of at most
//! [`MOST_STACKS`], a launch takes all its stacks in one step, and waits while others hold them. A launch that
//! holds stacks never asks for more, so the waiting ends.

use std::sync::{Condvar, Mutex, MutexGuard, PoisonError};

use corosensei::stack::{DefaultStack, Stack};

use crate::error::{Error, Result};

/// Room for a kernel's locals, and for the report should it panic.
pub(super) const STACK_BYTES: usize = 256 << 10;

/// Stacks that the process has at most: sixteen blocks of the largest size at the same time.
const MOST_STACKS: usize = 16 * 1024;

struct Pool {
    idle: Vec<DefaultStack>,
    /// Stacks that exist, idle or not.
    made: usize,
}

static POOL: Mutex<Pool> = Mutex::new(Pool {
    idle: Vec::new(),
    made: 0,
});
static RETURNED: Condvar = Condvar::new();

fn pool() -> MutexGuard<'static, Pool> {
    // The pool is consistent between any two statements.
    POOL.lock().unwrap_or_else(PoisonError::into_inner)
}

/// The lowest address of each stack, where its guard page begins, and the one above its highest.
pub(super) type Bounds<'a> = &'a [(usize, usize)];

/// Stacks on loan from the pool.
pub(super) struct Stacks(pub(super) Vec<DefaultStack>);

impl Stacks {
    /// Takes this many stacks, at most 1024; waits until there are as many.
    pub(super) fn take(count: usize) -> Result<Self> {
        let mut pool = pool();
        while pool.idle.len() + (MOST_STACKS - pool.made) < count {
            pool = RETURNED.wait(pool).unwrap_or_else(PoisonError::into_inner);
        }
        let reused = count.min(pool.idle.len());
        let rest = pool.idle.len() - reused;
        let mut stacks = Self(pool.idle.split_off(rest));
        pool.made += count - reused;
        drop(pool);
        while stacks.0.len() < count {
            match DefaultStack::new(STACK_BYTES) {
                Ok(stack) => stacks.0.push(stack),
                Err(reason) => {
                    self::pool().made -= count - stacks.0.len();
                    return Err(Error::Memory {
                        what: format!("the emulator's stacks ({reason})"),
                        memory: "main memory",
                        needed: (count * STACK_BYTES) as u64,
                        available: (stacks.0.len() * STACK_BYTES) as u64,
                        remedy: "run fewer emulators at a time".into(),
                    });
                }
            }
        }
        Ok(stacks)
    }
}

impl Stacks {
    pub(super) fn bounds(&self) -> Vec<(usize, usize)> {
        let bounds = |stack: &DefaultStack| (stack.limit().get(), stack.base().get());
        self.0.iter().map(bounds).collect()
    }
}

impl Drop for Stacks {
    fn drop(&mut self) {
        pool().idle.append(&mut self.0);
        RETURNED.notify_all();
    }
}
