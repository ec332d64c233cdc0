//! Measuring time on the device.

use std::fmt;
use std::sync::Arc;
use std::time::Duration;

use cudarc::driver::{result, sys};

use super::device::{Device, Inner};
use super::driver::Driven;
use crate::error::{Error, Result};

/// A mark in the order of a device's work.
pub struct Event {
    handle: sys::CUevent,
    inner: Arc<Inner>,
}

// SAFETY: the driver's events may be used from any thread; calls on them hold the device's lock.
unsafe impl Send for Event {}
// SAFETY: as above.
unsafe impl Sync for Event {}

impl fmt::Debug for Event {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Event").finish_non_exhaustive()
    }
}

impl Event {
    /// Puts the mark behind all work so far. An event may be recorded again, which moves it.
    ///
    /// # Errors
    /// A refusal of the driver.
    pub fn record(&self) -> Result<()> {
        let action = "recording an event";
        let state = self.inner.lock()?;
        state.refuse_in_graph(action)?;
        // SAFETY: the event is alive, and the stream belongs to the same context.
        unsafe { result::event::record(self.handle, self.inner.stream_of(&state)) }.during(action)
    }

    /// Waits for `stop`, and returns the milliseconds of device time from this mark to that one.
    ///
    /// Both must have been recorded. The resolution is half a microsecond.
    ///
    /// # Errors
    /// Events that were not recorded; a refusal of the driver.
    pub fn elapsed_ms(&self, stop: &Self) -> Result<f32> {
        let action = "measuring time between events";
        if !Arc::ptr_eq(&self.inner, &stop.inner) {
            return Err(Error::input(format!(
                "{action}: they belong to different device handles"
            )));
        }
        let state = self.inner.lock()?;
        state.refuse_in_recording(action)?;
        // SAFETY: both events are alive and of one context.
        unsafe {
            result::event::synchronize(stop.handle).during(action)?;
            result::event::elapsed(self.handle, stop.handle).during(action)
        }
    }
}

impl Event {
    pub(super) fn handle(&self) -> sys::CUevent {
        self.handle
    }
}

impl Drop for Event {
    fn drop(&mut self) {
        let _state = self.inner.lock_for_cleaning();
        self.inner.bind_for_cleaning();
        // SAFETY: the event was made by `Device::event` and is destroyed here once.
        let _ = unsafe { result::event::destroy(self.handle) };
    }
}

impl Device {
    /// A mark that is not in the order of work yet: [`Event::record`] puts it there.
    ///
    /// # Errors
    /// A refusal of the driver.
    pub fn event(&self) -> Result<Event> {
        self.event_with(sys::CUevent_flags::CU_EVENT_DEFAULT)
    }

    /// A mark that others wait for, and that measures no time.
    pub(super) fn untimed_event(&self) -> Result<Event> {
        self.event_with(sys::CUevent_flags::CU_EVENT_DISABLE_TIMING)
    }

    fn event_with(&self, flags: sys::CUevent_flags) -> Result<Event> {
        let _state = self.inner.lock()?;
        let handle = result::event::create(flags).during("creating an event")?;
        Ok(Event {
            handle,
            inner: self.inner.clone(),
        })
    }

    /// Device time that work takes: from the end of all earlier work to the end of what `work` starts.
    ///
    /// Time in which the device waits for the host to launch counts, so put enough work between the marks, or a graph.
    ///
    /// # Errors
    /// Those of `work`; a refusal of the driver.
    pub fn time<E: From<Error>>(
        &self,
        work: impl FnOnce() -> Result<(), E>,
    ) -> Result<Duration, E> {
        let (start, stop) = (self.event()?, self.event()?);
        start.record()?;
        work()?;
        stop.record()?;
        let milliseconds = start.elapsed_ms(&stop)?;
        Ok(Duration::from_secs_f64(
            f64::from(milliseconds.max(0.0)) * 1e-3,
        ))
    }
}
