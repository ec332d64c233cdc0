//! Replaying a recorded series of launches as one.

use std::fmt;
use std::ptr;
use std::sync::Arc;

use cudarc::driver::{result, sys};

use super::device::{Device, Inner, Recording};
use super::driver::{Driven, driver_error};
use crate::error::{Error, Result};

/// Launches and copies on a device, recorded by [`Device::capture`] to be started together.
///
/// A graph keeps the memory that its launches use, also when the buffers are dropped.
pub struct Graph {
    executable: sys::CUgraphExec,
    inner: Arc<Inner>,
    /// Memory and communicators. Dropped after the executable, by the destructor below and then by field order.
    _kept: Option<Recording>,
}

// SAFETY: the driver's graphs may be used from any thread, one at a time; calls on them hold the device's lock.
unsafe impl Send for Graph {}
// SAFETY: as above.
unsafe impl Sync for Graph {}

impl fmt::Debug for Graph {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Graph").finish_non_exhaustive()
    }
}

impl Graph {
    /// Starts everything that was recorded, in the recorded order, after all earlier work of the device.
    ///
    /// # Errors
    /// A refusal of the driver.
    pub fn launch(&self) -> Result<()> {
        let action = "launching a graph";
        let state = self.inner.lock()?;
        state.refuse_in_recording(action)?;
        // SAFETY: the executable is alive, and so is the memory that its launches use.
        unsafe { result::graph::launch(self.executable, self.inner.stream) }.during(action)
    }
}

impl Drop for Graph {
    fn drop(&mut self) {
        let _state = self.inner.lock_for_cleaning();
        self.inner.bind_for_cleaning();
        // SAFETY: made by `Device::capture` and destroyed here once; a running one is freed by the driver when done,
        // and the memory it uses is freed only after the stream's work.
        let _ = unsafe { result::graph::exec_destroy(self.executable) };
    }
}

/// Ends a recording also when the recorded code fails or panics.
struct Guard<'a> {
    inner: &'a Inner,
    ended: bool,
}

impl Guard<'_> {
    /// Ends the recording, and returns the graph (perhaps null) and all that it uses.
    fn end(&mut self) -> Result<(sys::CUgraph, Option<Recording>)> {
        self.ended = true;
        let mut state = self.inner.lock_for_cleaning();
        self.inner.bind_for_cleaning();
        let mut graph = ptr::null_mut();
        // SAFETY: the stream is the one on which `Device::capture` began; null is a place for the driver's answer.
        let code = unsafe { sys::cuStreamEndCapture(self.inner.stream, &raw mut graph) };
        let kept = state.recording.take();
        for (address, bytes) in std::mem::take(&mut state.deferred) {
            self.inner.free(&mut state, address, bytes);
        }
        // A buffer that a recording kept may be the last owner, whose destructor takes the lock.
        drop(state);
        code.result().during("ending the recording of a graph")?;
        Ok((graph, kept))
    }
}

impl Drop for Guard<'_> {
    fn drop(&mut self) {
        if !self.ended
            && let Ok((graph, _kept)) = self.end()
        {
            destroy(graph);
        }
    }
}

/// Makes a graph that can run. Launches of the side stream keep its priority, where the driver knows that: CUDA 11.7 or later.
fn instantiate(graph: sys::CUgraph) -> std::result::Result<sys::CUgraphExec, result::DriverError> {
    const USE_NODE_PRIORITY: sys::CUgraphInstantiate_flags = sys::CUgraphInstantiate_flags(8);
    const NONE: sys::CUgraphInstantiate_flags = sys::CUgraphInstantiate_flags(0);
    // SAFETY: the graph came from the recording that just ended, and the caller has made the context current.
    unsafe {
        result::graph::instantiate(graph, USE_NODE_PRIORITY)
            .or_else(|_| result::graph::instantiate(graph, NONE))
    }
}

/// Destroys a recorded graph after its last use.
fn destroy(graph: sys::CUgraph) {
    if !graph.is_null() {
        // SAFETY: the graph came from the end of a recording and is destroyed once.
        let _ = unsafe { result::graph::destroy(graph) };
    }
}

impl Device {
    /// Records the launches that `work` makes on this device, without running them.
    ///
    /// Kernels must have been loaded before: by [`prepare`](Self::prepare), or by running the same launches once. Work that a graph
    /// cannot hold (allocation, copies to and from the host, waiting, events) is an error inside `work`, and so is
    /// any use of this device by another thread meanwhile. When `work` fails, nothing stays recorded and its error is
    /// returned.
    ///
    /// A launch is recorded with the buffers and numbers that it has now: a time loop that exchanges two buffers records two
    /// steps.
    ///
    /// # Errors
    /// Those of `work`; what cannot be recorded.
    pub fn capture<E: From<Error>>(
        &self,
        work: impl FnOnce(&Self) -> Result<(), E>,
    ) -> Result<Graph, E> {
        let action = "recording a graph";
        {
            let mut state = self.inner.lock()?;
            state.refuse_in_recording(action)?;
            // Relaxed: what must not happen meanwhile is refused by the state itself, and other devices may work.
            // SAFETY: the stream is alive and not the default one.
            unsafe {
                result::stream::begin_capture(
                    self.inner.stream,
                    sys::CUstreamCaptureMode::CU_STREAM_CAPTURE_MODE_RELAXED,
                )
            }
            .during(action)?;
            state.recording = Some(Recording::new());
        }
        let mut guard = Guard {
            inner: &self.inner,
            ended: false,
        };
        work(self)?;
        let (graph, kept) = guard.end()?;
        if graph.is_null() {
            return Err(E::from(Error::Driver {
                action: action.to_owned(),
                reason: "the driver returned no graph".to_owned(),
            }));
        }
        let state = self.inner.lock();
        let executable = match &state {
            Ok(_) => instantiate(graph).map_err(|error| driver_error(action.to_owned(), error)),
            Err(_) => Err(Error::Driver {
                action: action.to_owned(),
                reason: "another thread began to record one".to_owned(),
            }),
        };
        destroy(graph);
        drop(state);
        Ok(Graph {
            executable: executable?,
            inner: self.inner.clone(),
            _kept: kept,
        })
    }
}
