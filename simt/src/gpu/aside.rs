//! A second stream, for work that runs beside the first one's.

use cudarc::driver::result::{self, DriverError, event, stream};
use cudarc::driver::sys;

/// The priority of the second stream, which the driver takes to the highest that there is: its few blocks start as soon as one of the main stream's ends.
const PRIORITY: i32 = -100;

/// A stream, and the events that tie it to the main one. A recording follows the events, so a graph has the same branches.
pub(super) struct Aside {
    pub(super) stream: sys::CUstream,
    forked: sys::CUevent,
    done: sys::CUevent,
}

impl Aside {
    /// # Safety
    /// The device's context is current.
    pub(super) unsafe fn new() -> Result<Self, DriverError> {
        let flags = sys::CUevent_flags::CU_EVENT_DISABLE_TIMING;
        let side = stream::create_with_priority(stream::StreamKind::NonBlocking, PRIORITY)?;
        let events = event::create(flags).and_then(|forked| match event::create(flags) {
            Ok(done) => Ok((forked, done)),
            Err(error) => {
                // SAFETY: created above, and not handed to anyone.
                let _ = unsafe { event::destroy(forked) };
                Err(error)
            }
        });
        match events {
            Ok((forked, done)) => Ok(Self {
                stream: side,
                forked,
                done,
            }),
            Err(error) => {
                // SAFETY: created above, and not handed to anyone.
                let _ = unsafe { stream::destroy(side) };
                Err(error)
            }
        }
    }

    /// Later launches here come after the work of `main` so far.
    ///
    /// # Safety
    /// Both streams are alive, and their context is current.
    pub(super) unsafe fn fork(&self, main: sys::CUstream) -> Result<(), DriverError> {
        // SAFETY: as the caller promises.
        unsafe { self.tie(main, self.forked, self.stream) }
    }

    /// Later launches on `main` come after the work here so far.
    ///
    /// # Safety
    /// Both streams are alive, and their context is current.
    pub(super) unsafe fn join(&self, main: sys::CUstream) -> Result<(), DriverError> {
        // SAFETY: as the caller promises.
        unsafe { self.tie(self.stream, self.done, main) }
    }

    unsafe fn tie(
        &self,
        first: sys::CUstream,
        event: sys::CUevent,
        second: sys::CUstream,
    ) -> Result<(), DriverError> {
        // SAFETY: as the caller promises; the event is ours.
        unsafe {
            event::record(event, first)?;
            let flags = sys::CUevent_wait_flags::CU_EVENT_WAIT_DEFAULT;
            stream::wait_event(second, event, flags)
        }
    }

    /// # Safety
    /// Called once, with the context current.
    pub(super) unsafe fn destroy(&self) {
        // SAFETY: created by `new`, and destroyed once.
        unsafe {
            let _ = result::stream::synchronize(self.stream);
            let _ = event::destroy(self.forked);
            let _ = event::destroy(self.done);
            let _ = stream::destroy(self.stream);
        }
    }
}
