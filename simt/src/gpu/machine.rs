//! A device as the [`Machine`] of code that launches kernels.

use std::any::Any;
use std::marker::PhantomData;
use std::ops::Range;
use std::ptr;
use std::sync::Arc;
use std::thread;
use std::time::Duration;

use cudarc::driver::{result, sys};

use super::arguments::Arena;
use super::communicator::Communicator;
use super::device::{Allocation, Device, DeviceBuffer, Inner, same_length};
use super::driver::{Driven, driver_error};
use super::graph::Graph;
use super::pool::{self, Mailbox};
use super::post::Post;
use super::staging::{self, Staging, Target};
use crate::error::{Error, Result};
use crate::machine::{Element, Grid, Kernel, Limits, Machine, Multiprocessors};
use crate::memory_plan::{Memory, check_memory};

/// Puts the side stream's work in front of what follows on the main one, also when the work that was started fails.
struct Rejoin<'a> {
    inner: &'a Inner,
    joined: bool,
}

impl Rejoin<'_> {
    fn join(&mut self) -> std::result::Result<(), result::DriverError> {
        self.joined = true;
        let mut state = self.inner.lock_for_cleaning();
        self.inner.bind_for_cleaning();
        state.beside = None;
        // SAFETY: the streams live as long as `inner`, and the lock is held.
        unsafe { self.inner.aside.join(self.inner.stream) }
    }
}

impl Drop for Rejoin<'_> {
    fn drop(&mut self) {
        if !self.joined {
            // The error of the work itself is the one to report.
            let _ = self.join();
        }
    }
}

impl Machine for Device {
    type Graph = Graph;
    type Post = Post;

    fn capture<E: From<Error>>(
        &self,
        work: &mut dyn FnMut() -> Result<(), E>,
    ) -> Result<Option<Graph>, E> {
        Self::capture(self, |_| work()).map(Some)
    }

    fn replay(&self, graph: &Graph) -> Result<()> {
        graph.launch()
    }

    fn post<T: Element>(&self, buffer: &DeviceBuffer<T>) -> Result<Option<Post>> {
        Self::post(self, buffer).map(Some)
    }

    fn wait_for(&self, post: &Post) -> Result<()> {
        Self::wait_for(self, post)
    }

    fn copy_from<T: Element>(
        &self,
        post: &Post,
        from: Range<usize>,
        buffer: &mut DeviceBuffer<T>,
        at: usize,
    ) -> Result<()> {
        Self::copy_from(self, post, from, buffer, at)
    }

    fn exchange<T: Element>(
        &self,
        link: &dyn Any,
        neighbours: [Option<usize>; 2],
        out: (&DeviceBuffer<T>, [Range<usize>; 2]),
        into: (&mut DeviceBuffer<T>, [Range<usize>; 2]),
    ) -> Result<bool> {
        match link.downcast_ref::<Communicator>() {
            Some(link) => link.swap(self, neighbours, out, into).map(|()| true),
            None => Ok(false),
        }
    }

    fn time<E: From<Error>>(&self, work: &mut dyn FnMut() -> Result<(), E>) -> Result<Duration, E> {
        Self::time(self, work)
    }

    fn fork_join<E: From<Error>>(
        &self,
        aside: &mut dyn FnMut() -> Result<(), E>,
        work: &mut dyn FnMut() -> Result<(), E>,
    ) -> Result<(), E> {
        let action = "running work alongside other work";
        {
            let mut state = self.inner.lock()?;
            if state.beside.is_some() {
                // One inside another, or in another thread: one after the other is as right.
                drop(state);
                aside()?;
                return work();
            }
            // SAFETY: the streams live as long as `inner`, and the lock is held.
            unsafe { self.inner.aside.fork(self.inner.stream) }.during(action)?;
            state.beside = Some(thread::current().id());
        }
        let mut rejoin = Rejoin {
            inner: &self.inner,
            joined: false,
        };
        aside()?;
        self.inner.lock()?.beside = None;
        work()?;
        Ok(rejoin.join().during(action)?)
    }

    fn limits(&self) -> Result<Limits> {
        let _state = self.inner.lock()?;
        let (free, _) = result::mem_get_info().during("asking for free memory")?;
        let properties = &self.inner.properties;
        Ok(Limits {
            shared_bytes_per_block: properties.shared_per_block,
            shared_bytes_per_multiprocessor: properties.shared_per_multiprocessor,
            multiprocessors: properties.multiprocessors,
            free_bytes: free as u64,
        })
    }

    fn multiprocessors(&self) -> Multiprocessors {
        Multiprocessors {
            count: self.inner.properties.multiprocessors,
            shared_bytes: self.inner.properties.shared_per_multiprocessor,
            fast_doubles: self.inner.properties.fast_doubles,
        }
    }

    fn allocate<T: Element>(&self, len: usize) -> Result<DeviceBuffer<T>> {
        let needed = (len as u64).saturating_mul(size_of::<T>() as u64);
        let what = || format!("a buffer of {len} elements");
        let remedy = "free memory on the device, or make the problem smaller";
        let total = self.total_bytes();
        let mut state = self.inner.lock()?;
        state.refuse_in_recording("allocating memory")?;
        let too_much =
            |available: u64| check_memory(&what(), Memory::Device, needed, available, remedy);
        let free = || result::mem_get_info().map_or(total, |(free, _)| free as u64);
        if needed > total {
            too_much(free().min(total))?;
        }
        // A view of no elements still has an address.
        let bytes = pool::capacity(usize::try_from(needed).unwrap_or(usize::MAX).max(16));
        let address = match state.pool.take(bytes) {
            Some(address) => Ok(address),
            // SAFETY: the context is current; the memory is owned by the allocation below.
            None => match unsafe { result::malloc_sync(bytes) } {
                Err(error) if error.0 == sys::CUresult::CUDA_ERROR_OUT_OF_MEMORY => {
                    for address in state.pool.drain() {
                        // SAFETY: allocated by this device; no work uses pieces of the pool.
                        let _ = unsafe { result::free_sync(address) };
                    }
                    // SAFETY: as above.
                    unsafe { result::malloc_sync(bytes) }
                }
                other => other,
            },
        };
        let address = match address {
            Ok(address) => address,
            Err(error) if error.0 == sys::CUresult::CUDA_ERROR_OUT_OF_MEMORY => {
                too_much(free())?;
                // There is enough, but not in one piece.
                return Err(Error::Memory {
                    what: format!("{} in one piece", what()),
                    memory: Memory::Device.name(),
                    needed,
                    available: free(),
                    remedy: format!("the free memory is in smaller pieces; {remedy}"),
                });
            }
            Err(error) => return Err(driver_error(format!("allocating {}", what()), error)),
        };
        let allocation = Arc::new(Allocation {
            address,
            owned: Some(bytes),
            inner: self.inner.clone(),
        });
        state
            .allocations
            .insert(address, Arc::downgrade(&allocation));
        Ok(DeviceBuffer {
            allocation,
            len,
            elements: PhantomData,
        })
    }

    fn zeros<T: Element + Default>(&self, len: usize) -> Result<DeviceBuffer<T>> {
        let buffer = self.allocate(len)?;
        let state = self.inner.lock()?;
        // SAFETY: the buffer has that many bytes, and all bits 0 are the default of a number; it is freed only after the stream's work.
        unsafe {
            result::memset_d8_async(
                buffer.allocation.address,
                0,
                buffer.bytes(),
                self.inner.stream,
            )
        }
        .during("clearing memory")?;
        drop(state);
        Ok(buffer)
    }

    fn write<T: Element>(&self, buffer: &mut DeviceBuffer<T>, data: &[T]) -> Result<()> {
        let action = "copying to the device";
        same_length(action, data.len(), buffer.len)?;
        let mut state = self.inner.lock()?;
        state.refuse_in_recording(action)?;
        self.keep(&mut state, buffer.allocation.address, action)?;
        if data.is_empty() {
            return Ok(());
        }
        let address = buffer.allocation.address;
        if size_of_val(data) >= staging::WORTHWHILE && state.staging.is_none() {
            // Without page-locked memory the driver's own way remains.
            state.staging = Staging::new().ok();
        }
        let staging = state
            .staging
            .as_mut()
            .filter(|_| size_of_val(data) >= staging::WORTHWHILE);
        // SAFETY: buffer and data have one length and no padding; the wait below ends all use of the data, whatever the copy said. The lock is held.
        let copied = unsafe {
            match staging {
                Some(staging) => {
                    let bytes = std::slice::from_raw_parts(data.as_ptr().cast(), size_of_val(data));
                    let target = Target {
                        context: self.inner.context,
                        stream: self.inner.stream,
                        address,
                    };
                    staging.copy(target, bytes)
                }
                None => result::memcpy_htod_async(address, data, self.inner.stream),
            }
        };
        let waited = self.inner.wait(&state);
        copied.during(action)?;
        waited
    }

    fn read<T: Element>(&self, buffer: &DeviceBuffer<T>, data: &mut [T]) -> Result<()> {
        let action = "copying from the device";
        same_length(action, buffer.len, data.len())?;
        let mut state = self.inner.lock()?;
        state.refuse_in_recording(action)?;
        self.keep(&mut state, buffer.allocation.address, action)?;
        if data.is_empty() {
            return self.inner.wait(&state);
        }
        let bytes = buffer.bytes();
        if bytes <= Mailbox::BYTES && state.mailbox.is_none() {
            // Without page-locked memory the driver's own way remains.
            state.mailbox = Mailbox::new().ok();
        }
        let mailbox = state.mailbox.as_mut().filter(|_| bytes <= Mailbox::BYTES);
        let landing = match mailbox {
            Some(mailbox) => mailbox.bytes(bytes),
            // SAFETY: every bit pattern is an element, so that bytes may be written.
            None => unsafe { std::slice::from_raw_parts_mut(data.as_mut_ptr().cast(), bytes) },
        };
        // SAFETY: buffer and landing place have one length, and the wait below ends all use of the place, whatever the copy said. The lock is held.
        let copied = unsafe {
            result::memcpy_dtoh_async(landing, buffer.allocation.address, self.inner.stream)
        };
        let waited = self.inner.wait(&state);
        copied.during_with(|| format!("{action}, after {}", state.waiting_text()))?;
        waited?;
        if let Some(mailbox) = state.mailbox.as_mut().filter(|_| bytes <= Mailbox::BYTES) {
            let landed = mailbox.bytes(bytes);
            // SAFETY: both have that many bytes, apart from each other, and every bit pattern is an element.
            unsafe { ptr::copy_nonoverlapping(landed.as_ptr(), data.as_mut_ptr().cast(), bytes) };
        }
        Ok(())
    }

    fn launch<K: Kernel<Self>>(&self, grid: Grid, kernel: K) -> Result<()> {
        let mut arguments = Arena::default();
        kernel.arguments(&mut arguments);
        self.start(kernel.entry(), grid, kernel.shared_bytes(), arguments)
    }

    fn synchronize(&self) -> Result<()> {
        let state = self.inner.lock()?;
        state.refuse_in_recording("waiting for the device")?;
        self.inner.wait(&state)
    }
}

impl Device {
    /// Launches the kernel of this name with its arguments. It is compiled once for all kernels.
    fn start(
        &self,
        entry: &'static str,
        grid: Grid,
        shared: usize,
        mut arguments: Arena,
    ) -> Result<()> {
        grid.check(entry)?;
        if arguments.is_too_large() {
            return Err(Error::input(format!(
                "kernel {entry} has more than 4096 bytes of arguments; pass tables as buffers"
            )));
        }
        let mut state = self.inner.lock()?;
        for &address in arguments.regions() {
            self.keep(&mut state, address, entry)?;
        }
        let function = self.function_for(&mut state, entry, grid, shared)?;
        let mut pointers = arguments.pointers();
        // SAFETY: the arguments are those that the kernel's one declaration lists, in its order, and live until the call
        // returns, which copies them; the buffers among them belong to this device, and are freed only after the
        // stream's work; kernels stay inside their views (checked in the emulator).
        unsafe {
            result::launch_kernel(
                function.handle,
                (grid.blocks, 1, 1),
                (grid.threads, 1, 1),
                u32::try_from(shared).unwrap_or(u32::MAX),
                self.inner.stream_of(&state),
                &mut pointers,
            )
        }
        .during_with(|| {
            format!(
                "launching kernel `{entry}` with {} blocks of {} threads and {shared} bytes of shared memory",
                grid.blocks, grid.threads
            )
        })?;
        state.last_entry = Some(entry);
        Ok(())
    }
}
