//! The machine: buffers, copies, launches in the order of the calls.

use std::any::Any;
use std::collections::BTreeMap;
use std::fmt;
use std::marker::PhantomData;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError, Weak};
use std::thread::{self, ThreadId};

use crate::{DeviceMemory, Region};
use cudarc::driver::{result, sys};

use super::aside::Aside;
use super::choice::{
    DEVICE_VARIABLE, Properties, check_ordinal, device_handle, ordinals_from_environment,
};
use super::driver::{self, CudaVersion, Driven, driver_error, guard};
use super::modules::{Function, Loader};
use super::pool::{Mailbox, Pool};
use super::ptx::{self, PtxModule};
use super::staging::Staging;
use crate::error::{Error, Result};
use crate::machine::{Element, Grid};
use crate::memory_plan::{Memory, check_memory};

/// Bytes of a kernel's widest access: indices of whole accesses count from the beginning of an array.
const WIDEST: u64 = 16;

/// A CUDA device with a stream of its own.
///
/// A handle that is cheap to clone; clones share the stream, the loaded kernels and the buffers. Launches and copies
/// take effect in the order of the calls, also when they come from several threads. A device opened a second
/// time has another stream, and neither takes the other's buffers.
///
/// ```no_run
/// use rarefy_simt::gpu::Device;
/// use rarefy_simt::machine::Machine;
///
/// let device = Device::open(&[])?; // no kernels
/// let buffer = device.upload(&[1.0_f32, 2.0, 3.0])?;
/// let mut back = [0.0; 3];
/// device.read(&buffer, &mut back)?;
/// assert_eq!(back, [1.0, 2.0, 3.0]);
/// # Ok::<(), rarefy_simt::Error>(())
/// ```
#[derive(Clone)]
pub struct Device {
    pub(super) inner: Arc<Inner>,
}

impl fmt::Debug for Device {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Device")
            .field("properties", &self.inner.properties)
            .finish_non_exhaustive()
    }
}

/// The state that clones of a [`Device`] share.
pub(super) struct Inner {
    device: sys::CUdevice,
    pub(super) context: sys::CUcontext,
    pub(super) stream: sys::CUstream,
    pub(super) aside: Aside,
    pub(super) properties: Properties,
    version: CudaVersion,
    /// Every call that reaches the stream holds this lock, so that the order of the calls is the order of the work.
    ///
    /// Nothing that may be the last owner of an [`Allocation`] is dropped while it is held.
    state: Mutex<State>,
}

// SAFETY: the driver's handles may be used from any thread whose current context is the right one, which `Inner::lock`
// sees to; calls on the stream are serialised by the lock.
unsafe impl Send for Inner {}
// SAFETY: as above.
unsafe impl Sync for Inner {}

/// The state that changes while a device works.
pub(super) struct State {
    pub(super) loader: Loader,
    /// Live allocations by their address: what a launch may use and what a graph must keep.
    pub(super) allocations: BTreeMap<u64, Weak<Allocation>>,
    /// A graph is being recorded.
    pub(super) recording: Option<Recording>,
    /// The thread whose launches run beside the stream.
    pub(super) beside: Option<ThreadId>,
    /// Memory to free when the recording ends: addresses and bytes.
    pub(super) deferred: Vec<(u64, usize)>,
    /// Small pieces of memory that buffers have left.
    pub(super) pool: Pool,
    /// Page-locked memory for small copies to the host, from the first one on.
    pub(super) mailbox: Option<Mailbox>,
    /// The kernel launched last, for errors that show later.
    pub(super) last_entry: Option<&'static str>,
    /// Page-locked memory for large copies, from the first one on.
    pub(super) staging: Option<Staging>,
    /// Contexts of other devices whose memory this one has tried to reach.
    pub(super) peers: Vec<usize>,
}

/// A graph being recorded.
pub(super) struct Recording {
    thread: ThreadId,
    /// Memory that the launches use.
    pub(super) kept: Vec<Arc<Allocation>>,
    /// Communicators of exchanges.
    pub(super) links: Vec<Arc<dyn Any + Send + Sync>>,
}

impl Recording {
    pub(super) fn new() -> Self {
        Self {
            thread: thread::current().id(),
            kept: Vec::new(),
            links: Vec::new(),
        }
    }
}

impl State {
    /// Refuses what a graph cannot hold.
    pub(super) fn refuse_in_recording(&self, action: &str) -> Result<()> {
        if self.is_beside() {
            return Err(Error::Driver {
                action: action.to_owned(),
                reason: "what runs alongside other work can launch kernels and exchange data with other devices only; do this before or after".to_owned(),
            });
        }
        self.refuse_in_graph(action)
    }

    /// Refuses what no recording holds, but what runs alongside other work may do.
    pub(super) fn refuse_in_graph(&self, action: &str) -> Result<()> {
        match self.recording {
            None => Ok(()),
            Some(_) => Err(Error::Driver {
                action: action.to_owned(),
                reason: "a graph is being recorded, which can hold launches and copies on the device only; do this before or after Device::capture"
                    .to_owned(),
            }),
        }
    }

    /// Whether this thread's launches run beside the stream.
    pub(super) fn is_beside(&self) -> bool {
        self.beside == Some(thread::current().id())
    }

    /// The name of the work whose failure a later call reports.
    pub(super) fn waiting_text(&self) -> String {
        match self.last_entry {
            Some(entry) => format!("waiting for the device (kernel launched last: `{entry}`)"),
            None => "waiting for the device".to_owned(),
        }
    }
}

impl Inner {
    /// Takes the lock and makes the device's context the calling thread's.
    pub(super) fn lock(&self) -> Result<MutexGuard<'_, State>> {
        let state = self.lock_for_cleaning();
        // SAFETY: the context is retained as long as `self` lives.
        unsafe { result::ctx::set_current(self.context) }.during("switching to the device")?;
        match &state.recording {
            Some(recording) if recording.thread != thread::current().id() => Err(Error::Driver {
                action: "using the device".to_owned(),
                reason: "another thread is recording a graph on it; open a device of its own for each thread"
                    .to_owned(),
            }),
            _ => Ok(state),
        }
    }

    /// The lock alone, for destructors, which must work whatever the state is.
    pub(super) fn lock_for_cleaning(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Makes the device's context the calling thread's, for destructors.
    pub(super) fn bind_for_cleaning(&self) {
        // An error here shows again in the call that follows, whose own error is of no use to a destructor.
        // SAFETY: the context is retained as long as `self` lives.
        let _ = unsafe { result::ctx::set_current(self.context) };
    }

    /// Where the calling thread's launches go.
    pub(super) fn stream_of(&self, state: &State) -> sys::CUstream {
        if state.is_beside() {
            self.aside.stream
        } else {
            self.stream
        }
    }

    pub(super) fn wait(&self, state: &State) -> Result<()> {
        // SAFETY: the stream lives as long as `self`.
        unsafe { result::stream::synchronize(self.stream) }.during_with(|| state.waiting_text())
    }

    /// Waits for all work before memory goes back to its owner. A recording has none under way that could use it.
    fn finish(&self, recording: bool) {
        if !recording {
            // Errors of earlier work show in the calls that report them; a destructor has nobody to tell.
            // SAFETY: the streams live as long as `self`.
            unsafe {
                let _ = result::stream::synchronize(self.stream);
                let _ = result::stream::synchronize(self.aside.stream);
            }
        }
    }

    /// Frees memory once the work that uses it is done, or keeps it for the next buffer of its size. The context is current, and no graph is being recorded.
    pub(super) fn free(&self, state: &mut State, address: u64, bytes: usize) {
        self.finish(false);
        for address in state.pool.keep(address, bytes) {
            // A destructor cannot return an error.
            // SAFETY: the address was allocated by this device, its last owner is gone, and no work uses it.
            let _ = unsafe { result::free_sync(address) };
        }
    }
}

impl Drop for Inner {
    fn drop(&mut self) {
        self.bind_for_cleaning();
        let state = self.state.get_mut().unwrap_or_else(PoisonError::into_inner);
        // SAFETY: buffers, events and graphs hold an `Arc` of this, so none is left; stream and context were
        // made by `open_with` and are released here once.
        unsafe {
            let _ = result::stream::synchronize(self.stream);
            state.staging = None;
            state.mailbox = None;
            for address in state.pool.drain() {
                let _ = result::free_sync(address);
            }
            state.loader.unload();
            self.aside.destroy();
            let _ = result::stream::destroy(self.stream);
            let _ = result::primary_ctx::release(self.device);
        }
    }
}

/// Memory on a device. When the last buffer or graph that uses it is gone, it is freed, or given back to its owner.
pub(super) struct Allocation {
    pub(super) address: u64,
    /// The bytes to free; `None` if another library owns the memory.
    pub(super) owned: Option<usize>,
    pub(super) inner: Arc<Inner>,
}

impl Drop for Allocation {
    fn drop(&mut self) {
        let mut state = self.inner.lock_for_cleaning();
        // Another buffer may have borrowed the same memory since.
        let gone = |known: &Weak<Self>| known.strong_count() == 0;
        if state.allocations.get(&self.address).is_some_and(gone) {
            state.allocations.remove(&self.address);
        }
        match self.owned {
            None => {
                self.inner.bind_for_cleaning();
                self.inner.finish(state.recording.is_some());
            }
            Some(bytes) if state.recording.is_some() => state.deferred.push((self.address, bytes)),
            Some(bytes) => {
                self.inner.bind_for_cleaning();
                self.inner.free(&mut state, self.address, bytes);
            }
        }
    }
}

/// Elements in a device's memory. Freed, after the work that uses it, when dropped.
pub struct DeviceBuffer<T> {
    pub(super) allocation: Arc<Allocation>,
    pub(super) len: usize,
    pub(super) elements: PhantomData<T>,
}

impl<T> DeviceBuffer<T> {
    /// Elements in the buffer.
    pub fn len(&self) -> usize {
        self.len
    }

    /// Whether it has none.
    pub fn is_empty(&self) -> bool {
        self.len == 0
    }

    /// Bytes that the elements take.
    pub fn bytes(&self) -> usize {
        self.len * size_of::<T>()
    }

    /// Where the elements are in the device's memory, for libraries that share it.
    pub fn address(&self) -> u64 {
        self.allocation.address
    }
}

impl<T> fmt::Debug for DeviceBuffer<T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("DeviceBuffer")
            .field("address", &format_args!("{:#x}", self.allocation.address))
            .field("len", &self.len)
            .finish()
    }
}

impl Device {
    /// The first supported device, or the first whose number the variable `RAREFY_DEVICE` holds, for kernels in these PTX modules.
    ///
    /// # Errors
    /// [`Error::NoDevice`] or [`Error::Driver`] where there is none that can be used; a RAREFY_DEVICE that names none.
    pub fn open(modules: &'static [PtxModule]) -> Result<Self> {
        let properties = Properties::of_usual()?;
        guard(|| Self::open_with(properties, modules))
    }

    /// Numbers and names of the devices that a computation on several can take: those in the variable `RAREFY_DEVICE`, such as `0,2`, or all supported
    /// ones. `0x2` is device 0 twice.
    ///
    /// # Errors
    /// As [`Device::open`].
    pub fn choices() -> Result<Vec<(u32, String)>> {
        let probe = driver::usable()?;
        let named = ordinals_from_environment()?;
        let chosen = named.is_some();
        let ordinals = named.unwrap_or_else(|| (0..probe.devices).collect());
        guard(|| {
            let mut choices = Vec::new();
            for ordinal in ordinals {
                check_ordinal(ordinal, probe.devices)?;
                let properties = Properties::of(ordinal)?;
                if chosen || properties.is_supported() {
                    choices.push((ordinal, properties.name));
                }
            }
            if choices.is_empty() {
                return Err(Error::NoDevice(
                    "no device of the driver is supported; see `rarefy doctor`".to_owned(),
                ));
            }
            Ok(choices)
        })
    }

    /// The identity of the device, the same in all processes of a host and different on each; none where the driver does not say it.
    pub fn uuid(&self) -> Option<[u8; 16]> {
        driver::probe().uuid(self.inner.properties.ordinal)
    }

    /// The device with this number in the driver's list, which starts at 0, for kernels in these PTX modules.
    ///
    /// # Errors
    /// [`Error::NoDevice`] or [`Error::Driver`] where there is none that can be used.
    pub fn open_ordinal(ordinal: u32, modules: &'static [PtxModule]) -> Result<Self> {
        let probe = driver::usable()?;
        check_ordinal(ordinal, probe.devices)?;
        guard(|| Self::open_with(Properties::of(ordinal)?, modules))
    }

    /// Elements in memory of this device that another library owns, as a buffer: nothing is copied, and nothing is freed when it is dropped.
    ///
    /// Work that was given to `stream`, a `CUstream` of the driver, is done before this returns; `None` waits for none. Dropping the buffer waits for the work that uses it.
    ///
    /// # Errors
    /// A null address or one that is no multiple of 16 bytes, memory of the host or of another device, or an address that this device's own buffer
    /// has; a fault of the device; a recording under way.
    ///
    /// # Safety
    /// From `address` on there are `len` elements in the primary context of this device. They live until the buffer and all recordings that use it are
    /// dropped. Others neither write them meanwhile, nor read them where the buffer is written. `stream` is a live stream of that context, or 0 for its
    /// default stream.
    pub unsafe fn borrow<T: Element>(
        &self,
        address: u64,
        len: usize,
        stream: Option<u64>,
    ) -> Result<DeviceBuffer<T>> {
        // Dropped after `state`, whose lock its destructor takes.
        let known: Option<Arc<Allocation>>;
        let mut state = self.inner.lock()?;
        state.refuse_in_recording("taking up memory of another library")?;
        known = state.allocations.get(&address).and_then(Weak::upgrade);
        let own = known.as_ref().is_some_and(|known| known.owned.is_some());
        if own || address == 0 || !address.is_multiple_of(WIDEST) {
            return Err(Error::input(format!(
                "memory at {address:#x} is no array of another library: it must begin at a multiple of {WIDEST} bytes, as a copy of a slice does, and be no buffer of this device"
            )));
        }
        self.check_owner(address)?;
        if let Some(stream) = stream {
            // SAFETY: the caller vouches for the stream; the context is current.
            unsafe { result::stream::synchronize(stream as sys::CUstream) }
                .during("waiting for the work of another library")?;
        }
        let allocation = known.unwrap_or_else(|| {
            Arc::new(Allocation {
                address,
                owned: None,
                inner: self.inner.clone(),
            })
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

    /// Refuses memory of the host and of other devices.
    fn check_owner(&self, address: u64) -> Result<()> {
        let mut ordinal = -1_i32;
        // SAFETY: the attribute is an integer, for which `ordinal` has room; the driver refuses addresses that it does not know.
        let found = unsafe {
            sys::cuPointerGetAttribute(
                (&raw mut ordinal).cast(),
                sys::CUpointer_attribute::CU_POINTER_ATTRIBUTE_DEVICE_ORDINAL,
                address,
            )
        };
        let here = self.inner.properties.ordinal;
        let place = match found.result() {
            Err(_) => "no memory that the driver knows".to_owned(),
            Ok(()) if u32::try_from(ordinal) != Ok(here) => format!("memory of device {ordinal}"),
            Ok(()) => return Ok(()),
        };
        Err(Error::input(format!(
            "the address {address:#x} is in {place}; copy the array to device {here}"
        )))
    }

    fn open_with(properties: Properties, modules: &'static [PtxModule]) -> Result<Self> {
        if !properties.is_supported() {
            return Err(Error::NoDevice(format!(
                "{}; choose another with {DEVICE_VARIABLE}, or compute on the CPU",
                properties.unsupported_text()
            )));
        }
        let action = || {
            format!(
                "opening device {} ({})",
                properties.ordinal, properties.name
            )
        };
        let device = device_handle(properties.ordinal)?;
        // SAFETY: the device was returned by the driver; `Inner::drop` releases the context.
        let context = unsafe { result::primary_ctx::retain(device) }.during_with(action)?;
        let streams = {
            // SAFETY: the context was just retained.
            unsafe { result::ctx::set_current(context) }.and_then(|()| {
                let stream = result::stream::create(result::stream::StreamKind::NonBlocking)?;
                // SAFETY: the context is current.
                match unsafe { Aside::new() } {
                    Ok(aside) => Ok((stream, aside)),
                    Err(error) => {
                        // SAFETY: created above, and not handed to anyone.
                        let _ = unsafe { result::stream::destroy(stream) };
                        Err(error)
                    }
                }
            })
        };
        let (stream, aside) = match streams {
            Ok(streams) => streams,
            Err(error) => {
                // SAFETY: retained above, and not handed to anyone.
                let _ = unsafe { result::primary_ctx::release(device) };
                return Err(driver_error(action(), error));
            }
        };
        let loader = Loader::new(modules, properties.capability);
        Ok(Self {
            inner: Arc::new(Inner {
                device,
                context,
                stream,
                aside,
                properties,
                version: driver::usable()?.version.unwrap_or(CudaVersion(0)),
                state: Mutex::new(State {
                    loader,
                    allocations: BTreeMap::new(),
                    recording: None,
                    beside: None,
                    deferred: Vec::new(),
                    pool: Pool::default(),
                    mailbox: None,
                    last_entry: None,
                    staging: None,
                    peers: Vec::new(),
                }),
            }),
        })
    }

    /// The device's number in the driver's list.
    pub fn ordinal(&self) -> u32 {
        self.inner.properties.ordinal
    }

    /// The device's name, such as `NVIDIA H200`.
    pub fn name(&self) -> &str {
        &self.inner.properties.name
    }

    /// Compute capability, ten times the major number plus the minor: 90 is 9.0.
    pub fn capability(&self) -> u32 {
        self.inner.properties.capability
    }

    /// The CUDA version that the driver supports.
    pub fn cuda_version(&self) -> CudaVersion {
        self.inner.version
    }

    /// All global memory of the device, in use or not.
    pub fn total_bytes(&self) -> u64 {
        self.inner.properties.total_bytes
    }

    /// Loads kernels before their first launch, and lets them use all the shared memory that a block can have.
    ///
    /// Without this a kernel is loaded (and its PTX compiled) when it is launched first. A kernel must be loaded before it
    /// is recorded in a [graph](Self::capture).
    ///
    /// # Errors
    /// A kernel that is not in the embedded PTX, or that the driver does not load.
    pub fn prepare(&self, entries: &[&'static str]) -> Result<()> {
        let mut state = self.inner.lock()?;
        state.refuse_in_recording("loading kernels")?;
        for entry in entries {
            let function = state.loader.function(entry)?;
            let most = self
                .inner
                .properties
                .shared_per_block
                .saturating_sub(function.static_shared);
            state.loader.allow_shared(entry, most)?;
        }
        Ok(())
    }

    /// Has the driver compile all kernels of one of the embedded modules, by its index.
    pub(super) fn check_module(&self, index: usize) -> Result<()> {
        let state = self.inner.lock()?;
        state.refuse_in_recording("loading a module")?;
        state.loader.check(index)
    }

    /// Copies the contents of one buffer to another of the same length, on the device. A graph can hold it.
    ///
    /// # Errors
    /// Buffers of different lengths, or of another device; a refusal of the driver.
    pub fn copy<T: Element>(
        &self,
        source: &DeviceBuffer<T>,
        target: &mut DeviceBuffer<T>,
    ) -> Result<()> {
        let action = "copying on the device";
        same_length(action, source.len, target.len)?;
        let mut state = self.inner.lock()?;
        self.keep(&mut state, source.allocation.address, action)?;
        self.keep(&mut state, target.allocation.address, action)?;
        if source.is_empty() {
            return Ok(());
        }
        // SAFETY: both buffers hold that many bytes and are different, since one is borrowed exclusively; their memory
        // is freed only after the stream's work, and recordings keep it.
        unsafe {
            result::memcpy_dtod_async(
                target.allocation.address,
                source.allocation.address,
                source.bytes(),
                self.inner.stream_of(&state),
            )
        }
        .during(action)
    }

    /// Checks that memory is this device's and alive; a recording keeps it.
    pub(super) fn keep(&self, state: &mut State, address: u64, action: &str) -> Result<()> {
        let Some(allocation) = state.allocations.get(&address) else {
            return Err(Error::input(format!(
                "{action}: a buffer was allocated by another device handle; allocate it on the one that uses it"
            )));
        };
        if let Some(recording) = &mut state.recording {
            // The caller borrows the buffer, so this owner is not the last one to go.
            recording.kept.extend(allocation.upgrade());
        }
        Ok(())
    }

    /// Loads a kernel for a launch, or says why it cannot be launched like this.
    pub(super) fn function_for(
        &self,
        state: &mut State,
        entry: &'static str,
        grid: Grid,
        shared: usize,
    ) -> Result<Function> {
        let recording = state.recording.is_some();
        let unprepared = || {
            Error::Driver {
            action: format!("recording kernel `{entry}` in a graph"),
            reason: "it is not loaded yet, or not for this much shared memory; call Device::prepare with its name, \
                     or run the same launches once, before Device::capture"
                .to_owned(),
        }
        };
        let function = match state.loader.loaded(entry) {
            Some(function) => function,
            None if recording => return Err(unprepared()),
            None => state.loader.function(entry)?,
        };
        if grid.threads > function.most_threads {
            return Err(Error::input(format!(
                "kernel {entry} cannot be launched with {} threads a block; its registers allow {} on this device",
                grid.threads, function.most_threads
            )));
        }
        check_memory(
            &format!("kernel {entry}"),
            Memory::Shared,
            shared.saturating_add(function.static_shared) as u64,
            self.inner.properties.shared_per_block as u64,
            "make the problem smaller, or compute on the CPU",
        )?;
        if shared > function.allowed_shared {
            if recording {
                return Err(unprepared());
            }
            state.loader.allow_shared(entry, shared)?;
        }
        Ok(function)
    }
}

/// Refuses copies between different lengths.
pub(super) fn same_length(action: &str, source: usize, target: usize) -> Result<()> {
    if source == target {
        return Ok(());
    }
    Err(Error::input(format!(
        "{action}: {source} elements do not fit {target}; both must have one length"
    )))
}

// SAFETY: a buffer owns its allocation.
unsafe impl DeviceMemory for Device {
    type Buffer<T: Element> = DeviceBuffer<T>;

    fn len<T: Element>(buffer: &DeviceBuffer<T>) -> usize {
        buffer.len
    }

    unsafe fn region<T: Element>(buffer: &DeviceBuffer<T>) -> Region<T> {
        // An address of the device: the host never follows it.
        let pointer = std::ptr::without_provenance_mut(buffer.allocation.address as usize);
        // SAFETY: the threads that use it run on the device, while the caller borrows the buffer.
        unsafe { Region::new(pointer, buffer.len) }
    }
}

/// Which variants of a wing's kernels a device of this capability takes: capabilities, ascending, each with the
/// index of its module.
pub(super) fn variants(modules: &[PtxModule], wing: &str, capability: u32) -> BTreeMap<u32, usize> {
    modules
        .iter()
        .filter(|module| module.wing == wing)
        .flat_map(|module| module.entries)
        .filter_map(|entry| ptx::choose(modules, entry, capability))
        .map(|index| (modules[index].capability, index))
        .collect()
}
