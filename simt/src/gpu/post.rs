//! Buffers that devices of other threads copy from, and the marks that they wait for.

use std::fmt;
use std::ops::Range;
use std::sync::Arc;

use cudarc::driver::sys::CUresult::{
    CUDA_ERROR_PEER_ACCESS_ALREADY_ENABLED, CUDA_ERROR_PEER_ACCESS_UNSUPPORTED, CUDA_SUCCESS,
};
use cudarc::driver::{result, sys};

use super::device::{Allocation, Device, DeviceBuffer, State};
use super::driver::{Driven, driver_error};
use super::event::Event;
use crate::error::{Error, Result};
use crate::machine::Element;

/// A mark in the order of a device's work, and a buffer whose contents are complete there.
pub struct Post {
    event: Event,
    allocation: Arc<Allocation>,
    bytes: usize,
}

impl fmt::Debug for Post {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Post")
            .field("bytes", &self.bytes)
            .finish_non_exhaustive()
    }
}

impl Device {
    pub(super) fn post<T: Element>(&self, buffer: &DeviceBuffer<T>) -> Result<Post> {
        let event = self.untimed_event()?;
        event.record()?;
        Ok(Post {
            event,
            allocation: buffer.allocation.clone(),
            bytes: buffer.bytes(),
        })
    }

    pub(super) fn wait_for(&self, post: &Post) -> Result<()> {
        let action = "waiting for another device";
        let state = self.inner.lock()?;
        state.refuse_in_graph(action)?;
        // SAFETY: both are alive; a stream may wait for events of other contexts.
        unsafe {
            result::stream::wait_event(
                self.inner.stream_of(&state),
                post.event.handle(),
                sys::CUevent_wait_flags::CU_EVENT_WAIT_DEFAULT,
            )
        }
        .during(action)
    }

    pub(super) fn copy_from<T: Element>(
        &self,
        post: &Post,
        from: Range<usize>,
        buffer: &mut DeviceBuffer<T>,
        at: usize,
    ) -> Result<()> {
        let action = "copying from another device";
        let size = size_of::<T>();
        let (count, there) = (from.len(), post.bytes / size);
        if from.end > there || at.saturating_add(count) > buffer.len {
            return Err(Error::input(format!(
                "{action}: elements {}..{} of {there} do not fit {} elements from {at} on",
                from.start, from.end, buffer.len
            )));
        }
        self.wait_for(post)?;
        if count == 0 {
            return Ok(());
        }
        let mut state = self.inner.lock()?;
        self.keep(&mut state, buffer.allocation.address, action)?;
        let target = buffer.allocation.address + (at * size) as u64;
        let source = post.allocation.address + (from.start * size) as u64;
        let (own, other) = (self.inner.context, post.allocation.inner.context);
        self.reach(&mut state, other)?;
        let stream = self.inner.stream_of(&state);
        // SAFETY: both ranges lie in live memory of their contexts. The stream waits for the source's writers, and the caller keeps the post until the copy is done.
        unsafe {
            if own == other {
                result::memcpy_dtod_async(target, source, count * size, stream)
            } else {
                sys::cuMemcpyPeerAsync(target, own, source, other, count * size, stream).result()
            }
        }
        .during(action)
    }

    /// Lets this device read another's memory directly, where the hardware can. Else the driver copies through the host's memory.
    fn reach(&self, state: &mut State, other: sys::CUcontext) -> Result<()> {
        let key = other as usize;
        if other == self.inner.context || state.peers.contains(&key) {
            return Ok(());
        }
        // SAFETY: both contexts are alive, and this device's is current.
        match unsafe { sys::cuCtxEnablePeerAccess(other, 0) } {
            CUDA_SUCCESS
            | CUDA_ERROR_PEER_ACCESS_ALREADY_ENABLED
            | CUDA_ERROR_PEER_ACCESS_UNSUPPORTED => {
                state.peers.push(key);
                Ok(())
            }
            code => Err(driver_error(
                "reaching another device".to_owned(),
                result::DriverError(code),
            )),
        }
    }
}
