//! Memory that is kept between short computations, whose time allocation would exceed.

use std::collections::BTreeMap;

use cudarc::driver::DriverError;
use cudarc::driver::result;

/// The largest piece that a pool keeps.
const LARGEST: usize = 64 << 10;
/// Bytes of all pieces together.
const MOST: usize = 4 << 20;
/// The smallest piece: what the driver aligns to.
const SMALLEST: usize = 256;

/// The bytes to allocate for so many: small pieces come in powers of two, so that later buffers fit them.
pub(super) const fn capacity(bytes: usize) -> usize {
    if bytes > LARGEST {
        return bytes;
    }
    let bytes = bytes.next_power_of_two();
    if bytes < SMALLEST { SMALLEST } else { bytes }
}

/// Small pieces of device memory that no work uses, by their size.
#[derive(Debug, Default)]
pub(super) struct Pool {
    pieces: BTreeMap<usize, Vec<u64>>,
    bytes: usize,
}

impl Pool {
    /// A piece of this [`capacity`].
    pub(super) fn take(&mut self, bytes: usize) -> Option<u64> {
        let address = self.pieces.get_mut(&bytes)?.pop()?;
        self.bytes -= bytes;
        Some(address)
    }

    /// Keeps a piece, or declines.
    pub(super) fn keep(&mut self, address: u64, bytes: usize) -> bool {
        let kept = bytes <= LARGEST && self.bytes + bytes <= MOST;
        if kept {
            self.bytes += bytes;
            self.pieces.entry(bytes).or_default().push(address);
        }
        kept
    }

    /// Hands out all pieces, to be freed.
    pub(super) fn drain(&mut self) -> impl Iterator<Item = u64> + use<> {
        self.bytes = 0;
        std::mem::take(&mut self.pieces).into_values().flatten()
    }
}

/// Page-locked memory in which small results arrive without a detour of the driver.
pub(super) struct Mailbox(*mut u8);

// SAFETY: the memory may be used from any thread; the owner of the mailbox holds the device's lock.
unsafe impl Send for Mailbox {}

impl Mailbox {
    /// The most bytes that fit.
    pub(super) const BYTES: usize = 16 << 10;

    /// Memory for the current context.
    pub(super) fn new() -> Result<Self, DriverError> {
        // SAFETY: the context is current; the memory is filled below, and freed when the mailbox is dropped.
        let memory = unsafe { result::malloc_host(Self::BYTES, 0) }?.cast::<u8>();
        // SAFETY: there are as many bytes.
        unsafe { memory.write_bytes(0, Self::BYTES) };
        Ok(Self(memory))
    }

    /// The first so many bytes, at most [`Mailbox::BYTES`].
    pub(super) fn bytes(&mut self, count: usize) -> &mut [u8] {
        // SAFETY: there are at least as many bytes, all of them initialised, and the borrow is exclusive.
        unsafe { std::slice::from_raw_parts_mut(self.0, count.min(Self::BYTES)) }
    }
}

impl Drop for Mailbox {
    fn drop(&mut self) {
        // SAFETY: allocated in `new`, freed once, and no copy is under way: every copy is waited for.
        let _ = unsafe { result::free_host(self.0.cast()) };
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_piece_serves_the_buffers_of_its_size_again() {
        let mut pool = Pool::default();
        assert_eq!(
            [1, 256, 257, 4000, LARGEST, LARGEST + 1].map(capacity),
            [256, 256, 512, 4096, LARGEST, LARGEST + 1]
        );
        assert_eq!(pool.take(256), None);
        assert!(pool.keep(7, 256) && pool.keep(8, 512));
        assert_eq!(
            [pool.take(512), pool.take(512), pool.take(256)],
            [Some(8), None, Some(7)]
        );
        assert!(!pool.keep(9, LARGEST + 1), "a large piece");
        let kept = (0..1000).filter(|&address| pool.keep(address, LARGEST));
        assert_eq!(kept.count(), MOST / LARGEST, "too many pieces");
        assert_eq!(pool.drain().count(), MOST / LARGEST);
        assert_eq!(pool.take(LARGEST), None);
    }
}
