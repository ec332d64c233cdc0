//! The GPU on a CPU, watching every access.
//!
//! [`Emulator`] is a [`Machine`] like a GPU: it holds buffers and launches kernels. Each GPU thread runs as a coroutine, and
//! a barrier, a shuffle or a ballot is a switch between coroutines; so any kernel runs here unchanged, at
//! its real block size, on a computer without a GPU. Meanwhile the emulator checks what a GPU would not, and a launch
//! returns the first [`Fault`] with kernel, block, thread, element and source line:
//!
//! | fault | found when |
//! |---|---|
//! | [`OutOfBounds`](FaultKind::OutOfBounds) | an index is not in the view |
//! | [`Unwritten`](FaultKind::Unwritten) | unwritten global or shared memory is read |
//! | [`Race`](FaultKind::Race) | two threads touch an element with no barrier between them, one writes, not both are atomic |
//! | [`CopyUnderWay`](FaultKind::CopyUnderWay) | an element is touched to which an asynchronous copy is under way: its thread has not waited for it |
//! | [`CopySource`](FaultKind::CopySource) | an element is changed from which an asynchronous copy is under way |
//! | [`CopyAbandoned`](FaultKind::CopyAbandoned) | a thread leaves the kernel with a copy under way |
//! | [`Barrier`](FaultKind::Barrier) | a thread does not reach a block barrier where others wait |
//! | [`WarpOperation`](FaultKind::WarpOperation) | a lane takes no part in a warp barrier, shuffle or ballot of its warp |
//! | [`InactiveLane`](FaultKind::InactiveLane) | a shuffle names a lane that takes no part, or none at all |
//! | [`ForeignMemory`](FaultKind::ForeignMemory), [`SharedLayout`](FaultKind::SharedLayout) | memory is not the emulator's, or not reserved |
//! | [`Panic`](FaultKind::Panic) | the kernel panics |
//! | [`UnwrittenCopy`](FaultKind::UnwrittenCopy) | the host reads unwritten elements back |
//!
//! The race check misses none and invents none, in constant space an element; `book.rs` has the proof. It holds for the
//! accesses of one run: what a kernel does not do with these data is not seen. A kernel
//! that waits for a value that another thread will write runs forever, as threads switch at barriers only.
//!
//! A thread that overflows its stack of 256 KiB ends the process with one line, which names kernel, block and thread.
//!
//! A book of 24 bytes an element lies beside the data, so a buffer of `f32` takes seven times its size.

#![warn(missing_debug_implementations)]

mod block;
mod book;
mod copies;
mod memory;
mod order;
mod overflow;
mod scheduler;
mod stack;
mod statistics;
mod thread;

use std::fmt;
use std::ops::Range;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::thread::ThreadId;

use crate::{Arguments, DeviceMemory, Element, Kernel, Region};

pub use self::memory::Buffer;
pub use self::order::ThreadOrder;
pub use self::statistics::{Accesses, Statistics};
pub use self::thread::Thread;
pub use crate::fault::{Access, Activity, Fault, FaultKind, Memory, OtherThread};

use self::block::{Block, SharedMemory};
use self::memory::Account;
use self::order::Sequence;
use self::stack::Stacks;
use crate::error::{Error, Result};
use crate::machine::{Grid, Limits, Machine, Multiprocessors};

/// Shared memory of a block, as on an H200.
const SHARED_BYTES_PER_BLOCK: usize = 232_448;
const SHARED_BYTES_PER_MULTIPROCESSOR: usize = 233_472;
const MULTIPROCESSORS: u32 = 132;
const GLOBAL_BYTES: u64 = 4 << 30;

/// The last tick that any finished launch of this process used. A buffer may move from one emulator to another; its book must
/// then look old there.
static LAST_TICK: AtomicU64 = AtomicU64::new(0);

/// A machine that runs kernels on the CPU and checks every access; see the [module](self).
///
/// Launches from several threads run one after the other.
pub struct Emulator {
    order: ThreadOrder,
    account: Arc<Account>,
    shared: Mutex<SharedMemory>,
    /// The thread whose launch runs.
    runs: Mutex<Option<ThreadId>>,
    last: Mutex<Statistics>,
}

/// Marks that a launch has ended, also where it panics.
struct Running<'a>(&'a Mutex<Option<ThreadId>>);

impl Drop for Running<'_> {
    fn drop(&mut self) {
        *locked(self.0) = None;
    }
}

/// Nothing that is locked here is left half-changed by a panic.
fn locked<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

impl Emulator {
    /// An emulator that runs threads in this order.
    pub fn new(order: ThreadOrder) -> Self {
        Self {
            order,
            account: Account::new(GLOBAL_BYTES),
            shared: Mutex::new(SharedMemory::empty()),
            runs: Mutex::default(),
            last: Mutex::default(),
        }
    }

    /// The same with another amount of global memory, which counts the data but not the books. Buffers made before do not count.
    #[must_use]
    pub fn with_global_bytes(mut self, bytes: u64) -> Self {
        self.account = Account::new(bytes);
        self
    }

    /// The order in which threads run.
    pub fn order(&self) -> ThreadOrder {
        self.order
    }

    /// The counts of the last launch, up to its fault if it had one.
    pub fn last_launch(&self) -> Statistics {
        *locked(&self.last)
    }
}

impl Default for Emulator {
    fn default() -> Self {
        Self::new(ThreadOrder::default())
    }
}

impl fmt::Debug for Emulator {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Emulator")
            .field("order", &self.order)
            .finish_non_exhaustive()
    }
}

// SAFETY: a buffer owns its memory and its book, in which every access is checked.
unsafe impl DeviceMemory for Emulator {
    type Buffer<T: Element> = Buffer<T>;

    fn len<T: Element>(buffer: &Buffer<T>) -> usize {
        buffer.len()
    }

    unsafe fn region<T: Element>(buffer: &Buffer<T>) -> Region<T> {
        buffer.region()
    }
}

impl Machine for Emulator {
    type Graph = std::convert::Infallible;
    type Post = std::convert::Infallible;

    fn wait_for(&self, post: &Self::Post) -> Result<()> {
        match *post {}
    }

    fn copy_from<T: Element>(
        &self,
        post: &Self::Post,
        _: Range<usize>,
        _: &mut Buffer<T>,
        _: usize,
    ) -> Result<()> {
        match *post {}
    }

    fn replay(&self, graph: &Self::Graph) -> Result<()> {
        match *graph {}
    }

    fn limits(&self) -> Result<Limits> {
        Ok(Limits {
            shared_bytes_per_block: SHARED_BYTES_PER_BLOCK,
            shared_bytes_per_multiprocessor: SHARED_BYTES_PER_MULTIPROCESSOR,
            multiprocessors: MULTIPROCESSORS,
            free_bytes: self.account.free(),
        })
    }

    fn multiprocessors(&self) -> Multiprocessors {
        Multiprocessors {
            count: MULTIPROCESSORS,
            shared_bytes: SHARED_BYTES_PER_MULTIPROCESSOR,
            fast_doubles: true,
        }
    }

    fn allocate<T: Element>(&self, len: usize) -> Result<Buffer<T>> {
        Buffer::new(len, &self.account)
    }

    fn write<T: Element>(&self, buffer: &mut Buffer<T>, data: &[T]) -> Result<()> {
        buffer.write(data)
    }

    /// An unwritten element is a [`Fault`].
    fn read<T: Element>(&self, buffer: &Buffer<T>, data: &mut [T]) -> Result<()> {
        match buffer.read(data)? {
            None => Ok(()),
            Some(index) => Err(Error::Fault(Box::new(Fault {
                kind: FaultKind::UnwrittenCopy,
                kernel: "",
                block: 0,
                thread: 0,
                memory: None,
                index: Some(index),
                location: None,
                other: None,
            }))),
        }
    }

    /// Runs the kernel to its end, or to its first fault. After a fault the contents of the buffers are what the kernel left.
    fn launch<K: Kernel<Self>>(&self, grid: Grid, kernel: K) -> Result<()> {
        let mut views = Views(Vec::new());
        kernel.arguments(&mut views);
        let body = |thread: &Thread<'_>| kernel.run(thread);
        self.start(kernel.entry(), grid, kernel.shared_bytes(), &views, &body)
    }

    fn synchronize(&self) -> Result<()> {
        Ok(())
    }
}

impl Emulator {
    /// Launches the kernel of this name, whose threads run `body`. It is compiled once for all kernels.
    fn start(
        &self,
        entry: &'static str,
        grid: Grid,
        shared_bytes: usize,
        views: &Views,
        body: &dyn Fn(&Thread<'_>),
    ) -> Result<()> {
        check_launch(entry, grid, shared_bytes)?;
        let this = std::thread::current().id();
        if *locked(&self.runs) == Some(this) {
            return Err(Error::input(format!(
                "kernel {entry}: launched while another kernel runs"
            )));
        }
        let mut shared = locked(&self.shared);
        *locked(&self.runs) = Some(this);
        let _running = Running(&self.runs);
        shared.reserve(shared_bytes)?;
        let mut stacks = Stacks::take(grid.threads as usize)?;

        let tick = LAST_TICK.load(Ordering::Relaxed) + 1;
        let block = Block::new(entry, grid, &views.0, &shared, shared_bytes, tick);
        let bounds = stacks.bounds();
        let _watch = overflow::watch(&bounds, &block);
        let mut sequence = Sequence::new(self.order);
        let run = |index| block.run(index, body, &mut stacks.0, &mut sequence);
        let result = match self.order {
            ThreadOrder::Ascending => (0..grid.blocks).try_for_each(run),
            ThreadOrder::Descending => (0..grid.blocks).rev().try_for_each(run),
            ThreadOrder::Random(_) => {
                let mut blocks: Vec<u32> = (0..grid.blocks).collect();
                Sequence::new(self.order).arrange(&mut blocks);
                blocks.into_iter().try_for_each(run)
            }
        };
        LAST_TICK.fetch_max(block.tick(), Ordering::Relaxed);
        *locked(&self.last) = block.counts.total();
        Ok(result?)
    }
}

fn check_launch(entry: &str, grid: Grid, shared_bytes: usize) -> Result<()> {
    grid.check(entry)?;
    if shared_bytes > SHARED_BYTES_PER_BLOCK {
        return Err(Error::input(format!(
            "kernel {entry}: a block needs {shared_bytes} bytes of shared memory, and there are {SHARED_BYTES_PER_BLOCK}"
        )));
    }
    Ok(())
}

/// The addresses of a kernel's views, so that a fault can say which one it concerns.
struct Views(Vec<usize>);

impl Arguments for Views {
    fn region(&mut self, address: u64, _len: u64) {
        self.0.push(address as usize);
    }
    fn value<T: Copy + 'static>(&mut self, _value: &T) {}
}
