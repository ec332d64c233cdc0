//! The parameters of a launch in the layout that the driver wants: one pointer to each value.

use std::ffi::c_void;
use std::mem::MaybeUninit;

use crate::Arguments;

/// Bytes of the parameters of one kernel that every device takes.
const LIMIT: usize = 4096;

/// The strictest alignment that a value gets.
const ALIGNMENT: usize = 64;

/// A piece of the arena. Its alignment is what values inside can rely on.
#[derive(Clone, Copy)]
#[repr(C, align(64))]
struct Chunk([MaybeUninit<u8>; ALIGNMENT]);

/// Values of any type one after another, each at its alignment.
///
/// Growing moves the bytes, so places are kept as offsets until [`pointers`](Self::pointers) is called.
#[derive(Default)]
pub(super) struct Arena {
    chunks: Vec<Chunk>,
    used: usize,
    offsets: Vec<usize>,
    regions: Vec<u64>,
}

impl Arena {
    /// Memory addresses among the arguments.
    pub(super) fn regions(&self) -> &[u64] {
        &self.regions
    }

    /// Whether the parameters are more than a kernel can take.
    pub(super) fn is_too_large(&self) -> bool {
        self.used > LIMIT
    }

    /// One pointer to each value, in the order in which they were pushed; valid until the arena changes or goes.
    pub(super) fn pointers(&mut self) -> Vec<*mut c_void> {
        let start = self.chunks.as_mut_ptr().cast::<u8>();
        self.offsets
            .iter()
            // SAFETY: `push` reserved the bytes from each offset on inside the chunks.
            .map(|&offset| unsafe { start.add(offset) }.cast())
            .collect()
    }

    fn push<T: Copy>(&mut self, value: &T) {
        let alignment = align_of::<T>().min(ALIGNMENT);
        let offset = self.used.next_multiple_of(alignment);
        self.used = offset + size_of::<T>();
        let chunks = self.used.div_ceil(ALIGNMENT).max(1);
        if chunks > self.chunks.len() {
            self.chunks
                .resize(chunks, Chunk([MaybeUninit::uninit(); ALIGNMENT]));
        }
        // SAFETY: source and target are `size_of::<T>()` bytes of different allocations, the target within the
        // chunks by the resize above. Both sides are `MaybeUninit`, so padding inside the value may be copied.
        unsafe {
            std::ptr::copy_nonoverlapping(
                std::ptr::from_ref(value).cast::<MaybeUninit<u8>>(),
                self.chunks
                    .as_mut_ptr()
                    .cast::<MaybeUninit<u8>>()
                    .add(offset),
                size_of::<T>(),
            );
        }
        self.offsets.push(offset);
    }
}

impl Arguments for Arena {
    fn region(&mut self, address: u64, len: u64) {
        self.regions.push(address);
        self.push(&address);
        self.push(&len);
    }

    fn value<T: Copy + 'static>(&mut self, value: &T) {
        self.push(value);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[derive(Clone, Copy, Debug, PartialEq)]
    #[repr(C)]
    struct Padded {
        small: u8,
        large: f64,
        last: u16,
    }

    #[derive(Clone, Copy, Debug, PartialEq)]
    #[repr(C, align(32))]
    struct Wide([u64; 4]);

    /// Reads argument `index` back as the driver does, checking its alignment on the way.
    fn back<T: Copy>(pointers: &[*mut c_void], index: usize) -> T {
        let pointer = pointers[index].cast::<T>();
        assert!(pointer.is_aligned(), "argument {index}");
        // SAFETY: the tests push a `T` as this argument.
        unsafe { pointer.read() }
    }

    #[test]
    fn values_are_aligned_and_in_order() {
        let padded = Padded {
            small: 7,
            large: -2.5,
            last: 9,
        };
        let wide = Wide([1, 2, 3, 4]);
        let mut arena = Arena::default();
        arena.value(&1_u8);
        arena.region(0x7f00_1234_5600, 42);
        arena.value(&2_u16);
        arena.value(&padded);
        arena.value(&3_u8);
        arena.value(&wide);
        arena.value(&1.5_f32);
        arena.value(&[5_u32, 6, 7]);
        assert_eq!(arena.regions(), [0x7f00_1234_5600]);
        let pointers = arena.pointers();
        assert_eq!(pointers.len(), 9);
        assert_eq!(back::<u8>(&pointers, 0), 1);
        assert_eq!(back::<u64>(&pointers, 1), 0x7f00_1234_5600);
        assert_eq!(back::<u64>(&pointers, 2), 42);
        assert_eq!(back::<u16>(&pointers, 3), 2);
        assert_eq!(back::<Padded>(&pointers, 4), padded);
        assert_eq!(back::<u8>(&pointers, 5), 3);
        assert_eq!(back::<Wide>(&pointers, 6), wide);
        assert_eq!(back::<f32>(&pointers, 7), 1.5);
        assert_eq!(back::<[u32; 3]>(&pointers, 8), [5, 6, 7]);
    }

    #[test]
    fn growing_keeps_earlier_values() {
        let mut arena = Arena::default();
        for k in 0..500_u64 {
            arena.value(&(k as u8));
            arena.value(&(k * k));
        }
        assert!(arena.is_too_large());
        let pointers = arena.pointers();
        for k in 0..500 {
            assert_eq!(back::<u8>(&pointers, 2 * k), k as u8);
            assert_eq!(back::<u64>(&pointers, 2 * k + 1), (k * k) as u64);
        }
    }

    #[test]
    fn a_kernel_may_have_no_arguments() {
        let mut arena = Arena::default();
        assert!(arena.pointers().is_empty());
        arena.value(&());
        assert_eq!(arena.pointers().len(), 1);
        assert!(!arena.is_too_large());
    }
}
