//! Ranks that exchange data between GPUs by NCCL.

use std::ffi::{c_int, c_void};
use std::fmt;
use std::ops::Range;
use std::sync::{Arc, Mutex, PoisonError};

use super::device::{Device, DeviceBuffer};
use super::nccl::{BYTES, Functions, Handle, IN_PROGRESS, UniqueId, probe};
use crate::error::{Error, Result};
use crate::machine::{Element, Machine};

/// The ranks of a computation on several GPUs, one a process, connected by NCCL.
///
/// All ranks make the same calls in the same order. The device of a rank waits for ever for a rank that ended, so whoever starts the ranks must end the
/// others. A [`Graph`](super::Graph) keeps the communicators of the exchanges that it holds.
#[derive(Debug)]
pub struct Communicator {
    inner: Arc<Link>,
}

/// A communicator of NCCL, as long as the last owner lives.
pub(super) struct Link {
    functions: Functions,
    handle: Handle,
    /// NCCL takes calls from any thread, one at a time.
    calls: Mutex<()>,
    device: Device,
    rank: usize,
    ranks: usize,
}

// SAFETY: NCCL's calls may come from any thread, one at a time, which the lock sees to. Only the question for errors goes without, as NCCL allows.
unsafe impl Send for Link {}
// SAFETY: as above.
unsafe impl Sync for Link {}

impl fmt::Debug for Link {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Link")
            .field("rank", &self.rank)
            .field("ranks", &self.ranks)
            .field("device", &self.device)
            .finish_non_exhaustive()
    }
}

fn functions() -> Result<Functions> {
    let probe = probe();
    probe.functions.ok_or_else(|| Error::Nccl {
        action: "opening the library".to_owned(),
        reason: probe.problem.clone().unwrap_or_default(),
    })
}

impl Communicator {
    /// The name and version of the library, such as `NCCL 2.28.9`.
    ///
    /// # Errors
    /// A library that is not there or too old.
    pub fn library() -> Result<String> {
        functions()?;
        let version = probe().version.as_deref().unwrap_or_default();
        Ok(format!("NCCL {version}"))
    }

    /// A new identity, which rank 0 makes and passes on to the others.
    ///
    /// # Errors
    /// A library that is not there or too old; its own refusal.
    pub fn identity() -> Result<[u8; 128]> {
        let functions = functions()?;
        let mut id = UniqueId([0; 128]);
        // SAFETY: the call writes one identity.
        let code = unsafe { (functions.unique_id)(&raw mut id) };
        functions.check("making an identity", code)?;
        Ok(id.0)
    }

    /// Connects this rank with the others, each on a device of its own. It waits for all of them.
    ///
    /// # Errors
    /// As [`Communicator::identity`]; two ranks on one device.
    pub fn new(device: &Device, identity: [u8; 128], [rank, ranks]: [usize; 2]) -> Result<Self> {
        let functions = functions()?;
        let number = |value: usize| {
            c_int::try_from(value).map_err(|_| Error::input(format!("{value} ranks are too many")))
        };
        let (own, all) = (number(rank)?, number(ranks)?);
        let mut handle = std::ptr::null_mut();
        let code = {
            let _state = device.inner.lock()?;
            // SAFETY: the device's context is current, and the call writes one handle.
            unsafe { (functions.init_rank)(&raw mut handle, all, UniqueId(identity), own) }
        };
        functions.check("connecting the ranks", code)?;
        Ok(Self {
            inner: Arc::new(Link {
                functions,
                handle,
                calls: Mutex::new(()),
                device: device.clone(),
                rank,
                ranks,
            }),
        })
    }

    /// Whether NCCL has seen no fault, such as a network that broke. It may be asked while another thread waits within NCCL.
    ///
    /// # Errors
    /// The fault in NCCL's words.
    pub fn failure(&self) -> Result<()> {
        let Link {
            functions, handle, ..
        } = &*self.inner;
        let mut fault = 0;
        // SAFETY: the handle is alive, and the call writes one code.
        let code = unsafe { (functions.async_error)(*handle, &raw mut fault) };
        functions.check("asking for errors", code)?;
        match fault {
            IN_PROGRESS => Ok(()),
            fault => functions.check("exchanging data", fault),
        }
    }

    /// Sends elements of `out` to the low and the high neighbour, and receives theirs into `into`, in the order of the work of `device`. The host does not wait.
    /// A recording can hold it once the same neighbours have exchanged before.
    ///
    /// # Errors
    /// Elements that a buffer lacks; a refusal of the library.
    pub fn swap<T: Element>(
        &self,
        device: &Device,
        neighbours: [Option<usize>; 2],
        (out, sent): (&DeviceBuffer<T>, [Range<usize>; 2]),
        (into, received): (&mut DeviceBuffer<T>, [Range<usize>; 2]),
    ) -> Result<()> {
        let [to_low, to_high] = sent.map(|range| part(out, range));
        let [from_low, from_high] = received.map(|range| part(into, range));
        // Of two messages to one rank the order decides.
        let sends = [(neighbours[1], to_high?), (neighbours[0], to_low?)];
        let receives = [(neighbours[0], from_low?), (neighbours[1], from_high?)];
        let among = |(rank, bytes): (Option<usize>, Bytes)| rank.map(|rank| (rank, bytes));
        let sends: Vec<_> = sends.into_iter().filter_map(among).collect();
        let receives: Vec<_> = receives.into_iter().filter_map(among).collect();
        let buffers = [out.allocation.address, into.allocation.address];
        self.group(device, buffers, &sends, &receives)
    }

    /// Messages that fly at the same time, from and to parts of two buffers of a device.
    fn group(
        &self,
        device: &Device,
        buffers: [u64; 2],
        sends: &[(usize, Bytes)],
        receives: &[(usize, Bytes)],
    ) -> Result<()> {
        let action = "exchanging data";
        let Link {
            functions, handle, ..
        } = &*self.inner;
        let _one_call = self
            .inner
            .calls
            .lock()
            .unwrap_or_else(PoisonError::into_inner);
        let mut state = device.inner.lock()?;
        for buffer in buffers {
            device.keep(&mut state, buffer, action)?;
        }
        if let Some(recording) = &mut state.recording {
            recording.links.push(self.inner.clone());
        }
        let stream = device.inner.stream_of(&state).cast();
        let messages = || -> Result<()> {
            for &(rank, (address, bytes)) in sends {
                let from = address as *const c_void;
                // SAFETY: the context is current; so many bytes of a live buffer begin there, which is freed only after the stream's work.
                let code =
                    unsafe { (functions.send)(from, bytes, BYTES, rank as c_int, *handle, stream) };
                functions.check(action, code)?;
            }
            for &(rank, (address, bytes)) in receives {
                let to = address as *mut c_void;
                // SAFETY: as above; nobody else uses that buffer, which the caller borrows to write.
                let code = unsafe {
                    (functions.receive)(to, bytes, BYTES, rank as c_int, *handle, stream)
                };
                functions.check(action, code)?;
            }
            Ok(())
        };
        // SAFETY: the group is ended whatever its calls return.
        functions.check(action, unsafe { (functions.group_start)() })?;
        let started = messages();
        // SAFETY: a group was started.
        let ended = functions.check(action, unsafe { (functions.group_end)() });
        started.and(ended)
    }
}

/// Bytes in a device's memory: address and number.
type Bytes = (u64, usize);

fn part<T: Element>(buffer: &DeviceBuffer<T>, range: Range<usize>) -> Result<Bytes> {
    if range.end > buffer.len || range.start > range.end {
        return Err(Error::input(format!(
            "exchanging data: elements {}..{} of {}",
            range.start, range.end, buffer.len
        )));
    }
    let size = size_of::<T>();
    let address = buffer.allocation.address + (range.start * size) as u64;
    Ok((address, range.len() * size))
}

impl Drop for Link {
    fn drop(&mut self) {
        // All work that uses it must be done; errors here are of no use to anybody.
        let _ = self.device.synchronize();
        let _state = self.device.inner.lock_for_cleaning();
        self.device.inner.bind_for_cleaning();
        // SAFETY: the handle came from `ncclCommInitRank` and is not used again.
        unsafe { (self.functions.destroy)(self.handle) };
    }
}

/// Sends numbers through NCCL from a device to itself, as it does alone and within a recording.
///
/// # Errors
/// A library that is not there or too old; [`Error::WrongNumbers`] where others arrive than were sent.
pub(super) fn try_out(device: &Device) -> Result<()> {
    let communicator = Communicator::new(device, Communicator::identity()?, [0, 1])?;
    let numbers = |seed: u32| -> Vec<u8> {
        let number = |k: u32| (k * 37 % 251 + seed) as u8;
        (0..1 << 16).map(number).collect()
    };
    let (mut out, mut into) = (device.upload(&numbers(0))?, device.upload(&numbers(9))?);
    let length = out.len();
    let third = length / 3;
    // A ring of one: a message flies out at one side and in at the other.
    let exchange = |out: &DeviceBuffer<u8>, into: &mut DeviceBuffer<u8>| {
        let sent = [0..third, third..length];
        let received = [0..length - third, length - third..length];
        communicator.swap(device, [Some(0); 2], (out, sent), (into, received))
    };
    let check = |into: &DeviceBuffer<u8>, sent: Vec<u8>| {
        let mut back = vec![0; length];
        device.read(into, &mut back)?;
        if back == [&sent[third..], &sent[..third]].concat() {
            Ok(())
        } else {
            Err(Error::WrongNumbers)
        }
    };
    exchange(&out, &mut into)?;
    check(&into, numbers(0))?;
    let graph = device.capture(|_| exchange(&out, &mut into))?;
    for seed in 1..3 {
        device.write(&mut out, &numbers(seed))?;
        graph.launch()?;
        check(&into, numbers(seed))?;
    }
    Ok(())
}
