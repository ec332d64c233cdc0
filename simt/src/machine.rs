//! The services of a machine that runs kernels: memory, copies and launches.
//!
//! `gpu::Device` and `emulator::Emulator` are the two machines. Code that launches kernels is generic over [`Machine`], so it runs on both.
//! Work that is passed to a machine may fail with the caller's own error, made of this crate's [`Error`] by `From`.

pub use crate::{DeviceMemory, Element, Kernel, Real};

use std::any::Any;
use std::ops::Range;
use std::time::{Duration, Instant};

use crate::error::{Error, Result};

/// How many blocks of how many threads a kernel is launched with.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct Grid {
    /// Blocks in the launch.
    pub blocks: u32,
    /// Threads in a block: a multiple of 32, at most 1024.
    pub threads: u32,
}

impl Grid {
    /// A single block of `threads`.
    pub fn one_block(threads: u32) -> Self {
        Self { blocks: 1, threads }
    }

    /// One thread for each of `items`, in blocks of `threads`.
    pub fn per_item(items: usize, threads: u32) -> Self {
        Self {
            blocks: u32::try_from(items.div_ceil(threads as usize)).unwrap_or(u32::MAX),
            threads,
        }
    }

    /// Refuses a shape that no machine launches, naming the kernel.
    ///
    /// # Errors
    /// A block that is not of 32, 64, ... 1024 threads; no blocks, or more than 2^31 - 1.
    pub fn check(self, kernel: &str) -> Result<()> {
        let Self { blocks, threads } = self;
        if threads == 0 || threads > 1024 || !threads.is_multiple_of(32) {
            return Err(Error::input(format!(
                "kernel {kernel} cannot be launched with {threads} threads a block; \
                 a block has a multiple of 32 threads, 32 to 1024"
            )));
        }
        if blocks == 0 || blocks > i32::MAX as u32 {
            return Err(Error::input(format!(
                "kernel {kernel} cannot be launched with {blocks} blocks; a launch has 1 to 2147483647"
            )));
        }
        Ok(())
    }
}

/// The resources of a machine, for planning before anything is allocated.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct Limits {
    /// Shared memory that one block may use, opt-in included.
    pub shared_bytes_per_block: usize,
    /// Shared memory of one multiprocessor.
    pub shared_bytes_per_multiprocessor: usize,
    /// Multiprocessors.
    pub multiprocessors: u32,
    /// Global memory that is free now.
    pub free_bytes: u64,
}

/// The properties by which a launch fills a machine.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct Multiprocessors {
    /// Multiprocessors.
    pub count: u32,
    /// Shared memory of one of them.
    pub shared_bytes: usize,
    /// Whether they add `f64` at half the speed of `f32`, not a small part of it.
    pub fast_doubles: bool,
}

/// A machine that runs kernels. Launches and copies take effect in the order of the calls.
///
/// A machine may be shared between threads, and its memory handed from one to another.
pub trait Machine: DeviceMemory + Send + Sync {
    /// The present resources of the machine.
    ///
    /// # Errors
    /// A machine that does not answer.
    fn limits(&self) -> Result<Limits>;
    /// Its multiprocessors. Unlike [`limits`](Self::limits) this asks no driver, which takes microseconds to count free memory.
    fn multiprocessors(&self) -> Multiprocessors;
    /// Memory for `len` elements, not initialised.
    ///
    /// # Errors
    /// [`Error::Memory`] where it does not fit; a refusal of the machine.
    fn allocate<T: Element>(&self, len: usize) -> Result<Self::Buffer<T>>;
    /// A buffer that holds a copy of `data`.
    ///
    /// # Errors
    /// As [`Machine::allocate`] and [`Machine::write`].
    fn upload<T: Element>(&self, data: &[T]) -> Result<Self::Buffer<T>> {
        let mut buffer = self.allocate(data.len())?;
        self.write(&mut buffer, data)?;
        Ok(buffer)
    }
    /// A buffer of `len` zeros.
    ///
    /// # Errors
    /// As [`Machine::allocate`].
    fn zeros<T: Element + Default>(&self, len: usize) -> Result<Self::Buffer<T>> {
        self.upload(&vec![T::default(); len])
    }
    /// Replaces the contents of a buffer by data of the same length.
    ///
    /// # Errors
    /// Data of another length; a refusal of the machine.
    fn write<T: Element>(&self, buffer: &mut Self::Buffer<T>, data: &[T]) -> Result<()>;
    /// Waits for earlier work and copies the contents of a buffer into `data`, of the same length.
    ///
    /// # Errors
    /// Data of another length; a fault of an earlier launch; in the emulator unwritten elements.
    fn read<T: Element>(&self, buffer: &Self::Buffer<T>, data: &mut [T]) -> Result<()>;
    /// Starts a kernel.
    ///
    /// # Errors
    /// A shape that [`Grid::check`] refuses; a kernel that cannot be loaded; in the emulator the fault of a kernel, [`Error::Fault`].
    fn launch<K: Kernel<Self>>(&self, grid: Grid, kernel: K) -> Result<()>
    where
        Self: Sized;
    /// Starts what `aside` and what `work` launch side by side, where the machine can; later calls take effect after both.
    ///
    /// Neither may write what the other reads or writes. `aside` makes no other calls than launches and, where the machine has them, posts, waits for posts, copies from
    /// them, and exchanges.
    ///
    /// # Errors
    /// Those of `aside` and `work`; a refusal of the machine.
    fn fork_join<E: From<Error>>(
        &self,
        aside: &mut dyn FnMut() -> Result<(), E>,
        work: &mut dyn FnMut() -> Result<(), E>,
    ) -> Result<(), E> {
        aside()?;
        work()
    }
    /// Waits until all earlier work is done.
    ///
    /// # Errors
    /// A fault of an earlier launch.
    fn synchronize(&self) -> Result<()>;

    /// Work recorded once, to be run again at the cost of one launch.
    type Graph: Send;
    /// Records the launches that `work` makes, without running them; `None` on a machine that cannot record.
    ///
    /// Run the same launches once beforehand: kernels are not loaded while recording.
    ///
    /// # Errors
    /// Those of `work`; what cannot be recorded.
    fn capture<E: From<Error>>(
        &self,
        work: &mut dyn FnMut() -> Result<(), E>,
    ) -> Result<Option<Self::Graph>, E> {
        let _ = work;
        Ok(None)
    }
    /// Starts recorded work.
    ///
    /// # Errors
    /// A refusal of the machine.
    fn replay(&self, graph: &Self::Graph) -> Result<()>;
    /// A mark behind all earlier work, with the contents that a buffer then has. Machines of other threads of the process wait for it and copy from it.
    type Post: Send + Sync + 'static;
    /// Posts a buffer. Later work must not change it before the readers are done. `None` on a machine whose memory others cannot reach.
    ///
    /// # Errors
    /// A refusal of the machine.
    fn post<T: Element>(&self, buffer: &Self::Buffer<T>) -> Result<Option<Self::Post>> {
        let _ = buffer;
        Ok(None)
    }
    /// Lets later work of this machine wait for another's post. The host does not wait.
    ///
    /// # Errors
    /// A refusal of the machine.
    fn wait_for(&self, post: &Self::Post) -> Result<()>;
    /// Copies the elements `from` of a posted buffer to those of `buffer` from `at` on, once the post is there. The host does not wait; `post` must
    /// live until the copy is done.
    ///
    /// # Errors
    /// Elements that either buffer lacks; a refusal of the machine.
    fn copy_from<T: Element>(
        &self,
        post: &Self::Post,
        from: Range<usize>,
        buffer: &mut Self::Buffer<T>,
        at: usize,
    ) -> Result<()>;
    /// Sends elements of `out` to the low and the high neighbour of this rank, and receives theirs into `into`, through a link between machines of several
    /// processes, such as a `Communicator` of devices. `false` on a machine that has no links of this kind. The host does not wait.
    ///
    /// # Errors
    /// Elements that a buffer lacks; a refusal of the link.
    fn exchange<T: Element>(
        &self,
        link: &dyn Any,
        neighbours: [Option<usize>; 2],
        out: (&Self::Buffer<T>, [Range<usize>; 2]),
        into: (&mut Self::Buffer<T>, [Range<usize>; 2]),
    ) -> Result<bool> {
        let _ = (link, neighbours, out, into);
        Ok(false)
    }
    /// How long the machine takes for what `work` starts.
    ///
    /// # Errors
    /// Those of `work`; a refusal of the machine.
    fn time<E: From<Error>>(&self, work: &mut dyn FnMut() -> Result<(), E>) -> Result<Duration, E> {
        self.synchronize()?;
        let start = Instant::now();
        work()?;
        self.synchronize()?;
        Ok(start.elapsed())
    }
}
