//! Memory that is kept between short computations, whose time allocation would exceed.

use std::collections::BTreeMap;

use cudarc::driver::DriverError;
use cudarc::driver::result;

/// The largest piece whose size is a power of two.
const SMALL: usize = 64 << 10;
/// Bytes of all pieces together. To allocate and free a large one takes as long as a kernel that reads hundreds of megabytes.
const MOST: usize = 64 << 20;
/// The smallest piece: what the driver aligns to.
const SMALLEST: usize = 256;

/// The bytes to allocate for so many: small pieces come in powers of two, so that later buffers fit them.
pub(super) const fn capacity(bytes: usize) -> usize {
    if bytes > SMALL {
        return bytes;
    }
    let bytes = bytes.next_power_of_two();
    if bytes < SMALLEST { SMALLEST } else { bytes }
}

/// Pieces of device memory that no work uses, by their size.
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

    /// Keeps a piece. Returns those to be freed: larger ones for which no room is left, or the piece itself.
    pub(super) fn keep(&mut self, address: u64, bytes: usize) -> Vec<u64> {
        if bytes > MOST {
            return vec![address];
        }
        let mut freed = Vec::new();
        while self.bytes + bytes > MOST {
            let Some((size, pieces)) = self.pieces.pop_last() else {
                break;
            };
            self.bytes -= size * pieces.len();
            freed.extend(pieces);
        }
        self.bytes += bytes;
        self.pieces.entry(bytes).or_default().push(address);
        freed
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
            [1, 256, 257, 4000, SMALL, SMALL + 1].map(capacity),
            [256, 256, 512, 4096, SMALL, SMALL + 1]
        );
        assert_eq!(pool.take(256), None);
        assert!(pool.keep(7, 256).is_empty() && pool.keep(8, 512).is_empty());
        assert_eq!(
            [pool.take(512), pool.take(512), pool.take(256)],
            [Some(8), None, Some(7)]
        );
        assert_eq!(pool.keep(9, MOST + 1), [9], "a piece that exceeds the pool");
    }

    #[test]
    fn large_pieces_make_room_for_others() {
        let mut pool = Pool::default();
        let half = MOST / 2;
        assert!(pool.keep(1, half).is_empty() && pool.keep(2, half - 256).is_empty());
        assert!(pool.keep(3, 256).is_empty(), "the pool is full now");
        assert_eq!(pool.keep(4, 256), [1], "the largest piece goes");
        assert_eq!(pool.keep(5, MOST), [2, 3, 4], "all go");
        assert_eq!(pool.take(half), None);
        assert_eq!(pool.take(MOST), Some(5));
        assert_eq!(pool.bytes, 0);
        let kept: Vec<u64> = (0..3)
            .flat_map(|address| pool.keep(address, half))
            .collect();
        assert_eq!(kept, [0, 1], "pieces of one size go together");
        assert_eq!(pool.drain().count(), 1);
    }
}
