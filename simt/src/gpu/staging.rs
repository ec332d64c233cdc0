//! Fast copies from ordinary memory to a device.
//!
//! A device copies by itself from page-locked memory only; from other memory the driver does it in steps, at a fraction of the bus's speed. Here a few
//! threads, each with two pieces of page-locked memory, fill one piece while the device fetches the other.

use std::thread;

use cudarc::driver::{DriverError, result, sys};

/// Bytes from which on staging pays.
pub(super) const WORTHWHILE: usize = 16 << 20;
/// Bytes of a piece.
const PIECE: usize = 4 << 20;
/// Pieces of a thread: one is filled, one fetched.
const PIECES: usize = 2;
/// Threads: memory is no faster with more.
const THREADS: usize = 8;

/// Page-locked memory, kept for the next copy.
pub(super) struct Staging {
    threads: Vec<[Piece; PIECES]>,
}

/// A piece of page-locked memory, and the mark behind the last copy from it.
#[derive(Clone, Copy)]
struct Handles {
    memory: *mut u8,
    fetched: sys::CUevent,
}

// SAFETY: the memory is one thread's at a time, and the driver's events may be used from any thread.
unsafe impl Send for Handles {}

/// Owns them.
struct Piece(Handles);

impl Drop for Piece {
    fn drop(&mut self) {
        // SAFETY: both were made by `Piece::new` and are released here once, after the work that uses them: every copy ends with a wait. The context
        // is current, as the owner sees to.
        unsafe {
            let _ = result::event::destroy(self.0.fetched);
            let _ = result::free_host(self.0.memory.cast());
        }
    }
}

impl Piece {
    /// The context is current.
    fn new() -> Result<Self, DriverError> {
        let fetched = result::event::create(sys::CUevent_flags::CU_EVENT_DEFAULT)?;
        // SAFETY: the memory is written before it is read.
        match unsafe { result::malloc_host(PIECE, 0) } {
            Ok(memory) => Ok(Self(Handles {
                memory: memory.cast(),
                fetched,
            })),
            Err(error) => {
                // SAFETY: made above, and not used.
                let _ = unsafe { result::event::destroy(fetched) };
                Err(error)
            }
        }
    }
}

/// The device as a thread needs it.
#[derive(Clone, Copy)]
pub(super) struct Target {
    pub(super) context: sys::CUcontext,
    pub(super) stream: sys::CUstream,
    /// Where the bytes go.
    pub(super) address: u64,
}

// SAFETY: the driver's handles may be used from any thread; the caller of `Staging::copy` holds the device's lock meanwhile.
unsafe impl Send for Target {}

impl Staging {
    /// Page-locked memory for the current context.
    pub(super) fn new() -> Result<Self, DriverError> {
        let count = thread::available_parallelism()
            .map_or(1, usize::from)
            .min(THREADS);
        let threads = (0..count).map(|_| Ok([Piece::new()?, Piece::new()?]));
        Ok(Self {
            threads: threads.collect::<Result<_, DriverError>>()?,
        })
    }

    /// Starts copies of all bytes. They are out of `bytes` when this returns, but not all at the device.
    ///
    /// # Safety
    /// As many bytes from the target's address on belong to the device; its handles are alive, and nothing else uses its stream meanwhile.
    pub(super) unsafe fn copy(&mut self, target: Target, bytes: &[u8]) -> Result<(), DriverError> {
        let count = self.threads.len();
        thread::scope(|scope| {
            let workers: Vec<_> = self
                .threads
                .iter()
                .enumerate()
                .map(|(first, pieces)| {
                    let pieces = pieces.each_ref().map(|piece| piece.0);
                    let parts = bytes.chunks(PIECE).enumerate().skip(first).step_by(count);
                    // SAFETY: the caller vouches for the target.
                    scope.spawn(move || unsafe { fetch(target, pieces, parts) })
                })
                .collect();
            workers.into_iter().try_for_each(|worker| {
                let panicked = DriverError(sys::CUresult::CUDA_ERROR_UNKNOWN);
                worker.join().unwrap_or(Err(panicked))
            })
        })
    }
}

/// Copies the parts of one thread, by turns through its pieces.
///
/// # Safety
/// As [`Staging::copy`]; the pieces are this thread's.
unsafe fn fetch<'a>(
    target: Target,
    pieces: [Handles; PIECES],
    parts: impl Iterator<Item = (usize, &'a [u8])>,
) -> Result<(), DriverError> {
    // SAFETY: the caller vouches for the context.
    unsafe { result::ctx::set_current(target.context)? };
    for (turn, (i, part)) in parts.enumerate() {
        let Handles { memory, fetched } = pieces[turn % PIECES];
        // SAFETY: a piece has room for a part, and is not written before its last copy is over; the address is within the target.
        unsafe {
            if turn >= PIECES {
                result::event::synchronize(fetched)?;
            }
            std::ptr::copy_nonoverlapping(part.as_ptr(), memory, part.len());
            let staged = std::slice::from_raw_parts(memory, part.len());
            result::memcpy_htod_async(target.address + (i * PIECE) as u64, staged, target.stream)?;
            result::event::record(fetched, target.stream)?;
        }
    }
    Ok(())
}
