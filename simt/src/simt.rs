//! The machine that kernels are written against.
//!
//! [`Simt`] is what one GPU thread can see and do: where it is in the block and the grid, barriers,
//! warp exchanges, and memory. Kernels never touch memory through this trait directly; they use
//! the typed views of [`memory`](crate::memory), which call the primitives here.

use crate::element::{Atomic, Element, Region};
pub use crate::lane::{Lane, WARP};
use crate::math::Real;

/// One thread of a launch: its position, its barriers and its access to memory.
///
/// Grids and blocks are one-dimensional; a kernel with a natural shape of more dimensions takes its
/// index apart itself, which keeps the mapping in one visible place.
///
/// The warp operations exchange values among all lanes of the warp: every lane must call them.
/// The emulator reports a lane that does not.
pub trait Simt {
    /// Index of this thread in its block, `0..block_dim()`.
    fn thread_idx(&self) -> u32;
    /// Threads in a block.
    fn block_dim(&self) -> u32;
    /// Index of this block in the grid, `0..grid_dim()`.
    fn block_idx(&self) -> u32;
    /// Blocks in the grid.
    fn grid_dim(&self) -> u32;

    /// Index of this thread in the whole launch.
    #[inline(always)]
    fn global_idx(&self) -> usize {
        self.block_idx() as usize * self.block_dim() as usize + self.thread_idx() as usize
    }
    /// Threads in the whole launch: the stride of a grid-stride loop.
    #[inline(always)]
    fn global_dim(&self) -> usize {
        self.grid_dim() as usize * self.block_dim() as usize
    }
    /// Index of this thread in its warp, `0..32`.
    #[inline(always)]
    fn lane(&self) -> u32 {
        self.thread_idx() % WARP
    }
    /// Index of this thread's warp in its block.
    #[inline(always)]
    fn warp(&self) -> u32 {
        self.thread_idx() / WARP
    }
    /// Warps in a block; block sizes of rarefy's kernels are multiples of 32.
    #[inline(always)]
    fn warps(&self) -> u32 {
        self.block_dim() / WARP
    }

    /// Waits until every thread of the block is here, and makes their writes visible to one another.
    #[track_caller]
    fn sync_threads(&self);
    /// The same for the lanes of one warp.
    #[track_caller]
    fn sync_warp(&self);
    /// Keeps the compiler from moving accesses to memory from one side of this call to the other: for loads that shall be under way while
    /// arithmetic goes on. It orders nothing between threads.
    #[inline(always)]
    fn pin_accesses(&self) {}
    /// The word that lane `source` passes in this same exchange.
    #[track_caller]
    fn shuffle_word(&self, word: u32, source: u32) -> u32;
    /// A mask with bit `l` set where lane `l` passes `true`.
    #[track_caller]
    fn ballot(&self, predicate: bool) -> u32;

    /// The value that lane `source` passes in this same exchange.
    #[inline(always)]
    #[track_caller]
    fn shuffle<T: Lane>(&self, value: T, source: u32) -> T {
        value.map_words(|word| self.shuffle_word(word, source))
    }
    /// The value of the lane whose index differs from this one's in the bits of `mask`.
    #[inline(always)]
    #[track_caller]
    fn shuffle_xor<T: Lane>(&self, value: T, mask: u32) -> T {
        self.shuffle(value, (self.lane() ^ mask) % WARP)
    }
    /// The value of the lane `delta` below; the lowest `delta` lanes get their own value back.
    #[inline(always)]
    #[track_caller]
    fn shuffle_up<T: Lane>(&self, value: T, delta: u32) -> T {
        let lane = self.lane();
        self.shuffle(value, if lane < delta { lane } else { lane - delta })
    }
    /// The value of the lane `delta` above; the topmost `delta` lanes get their own value back.
    #[inline(always)]
    #[track_caller]
    fn shuffle_down<T: Lane>(&self, value: T, delta: u32) -> T {
        let source = self.lane() + delta;
        self.shuffle(value, if source < WARP { source } else { self.lane() })
    }

    /// `c + a b`, where a is a 16 x 8 K matrix, b an 8 K x 8 and c a 16 x 8 matrix, all spread over the lanes of the warp.
    ///
    /// With g = lane / 4 and t = lane % 4, the lane holds of each 8 columns of a the elements (g, t), (g + 8, t), (g, t + 4), (g + 8, t + 4), of the same 8
    /// rows of b (t, g) and (t + 4, g), of c and of the result (g, 2 t), (g, 2 t + 1), (g + 8, 2 t), (g + 8, 2 t + 1).
    ///
    /// Tensor cores of compute capability 8.0 and later do it in a few instructions. In `f32` they take each factor as two numbers of 11 bits
    /// and leave out the product of the two lower ones: a product is right to 2^-20, the sum of the 8 K is cut off, and c is added as `+` does.
    /// Elsewhere the lanes exchange their elements.
    #[inline(always)]
    #[track_caller]
    fn multiply_tiles<T: Real, const K: usize>(
        &self,
        a: [[T; 4]; K],
        b: [[T; 2]; K],
        c: [T; 4],
    ) -> [T; 4] {
        let (row, column) = (self.lane() / 4, self.lane() % 4 * 2);
        let mut c = c;
        let mut k = 0;
        while k < 8 * K {
            let (a, b) = (a[k / 8], b[k / 8]);
            let (half, within) = (k % 8 / 4, k as u32 % 4);
            let upper = self.shuffle(a[2 * half], row * 4 + within);
            let lower = self.shuffle(a[2 * half + 1], row * 4 + within);
            let left = self.shuffle(b[half], column * 4 + within);
            let right = self.shuffle(b[half], (column + 1) * 4 + within);
            c = [
                upper.mul_add(left, c[0]),
                upper.mul_add(right, c[1]),
                lower.mul_add(left, c[2]),
                lower.mul_add(right, c[3]),
            ];
            k += 1;
        }
        c
    }

    /// Starts a copy of the 16 bytes from element `index` of global memory on to element `place` of shared memory, or writes zeros there where not
    /// `there`; both are multiples of 16 bytes.
    ///
    /// The copy is done when [`wait_copies`](Self::wait_copies) says so, for the thread that started it, and for the others a barrier later: until then no thread
    /// touches the destination or changes the source, which the emulator checks. Capability 8.0 and later copy past the registers while the thread goes
    /// on; elsewhere the copy is done at once.
    #[doc(hidden)]
    #[inline(always)]
    #[track_caller]
    fn copy_16<T: Real>(
        &self,
        from: Region<T>,
        index: usize,
        to: Region<T>,
        place: usize,
        there: bool,
    ) {
        let mut values = [T::ZERO; 4];
        if size_of::<T>() == 4 {
            if there {
                values = self.load_run(from, index);
            }
            self.store_run(to, place, values);
        } else {
            if there {
                [values[0], values[1]] = self.load_run(from, index);
            }
            self.store_run(to, place, [values[0], values[1]]);
        }
    }
    /// Starts a copy, as [`copy_16`](Self::copy_16) does, of `N` consecutive elements that fill 4, 8 or 16 bytes; both indices are multiples of `N`.
    #[doc(hidden)]
    #[inline(always)]
    #[track_caller]
    fn copy_async<T: Element, const N: usize>(
        &self,
        from: Region<T>,
        index: usize,
        to: Region<T>,
        place: usize,
    ) {
        if N == 1 {
            self.store(to, place, self.load(from, index));
        } else {
            self.store_run(to, place, self.load_run::<T, N>(from, index));
        }
    }
    /// Ends a group of copies, those that this thread has started since the last group ended: perhaps none.
    #[inline(always)]
    fn end_copies(&self) {}
    /// Waits until at most the last `pending` groups of this thread's copies, 0 to 3, are under way. It does not wait for copies whose group has not ended.
    ///
    /// A thread waits for all of its copies before it leaves the kernel.
    #[inline(always)]
    fn wait_copies(&self, pending: u32) {
        let _ = pending;
    }

    /// Reads element `index` of a region of global or shared memory.
    #[doc(hidden)]
    #[track_caller]
    fn load<T: Element>(&self, region: Region<T>, index: usize) -> T;
    /// Reads the element `offset` away from element `centre`.
    ///
    /// On a GPU the address of the centre is an invariant of its own, so that each offset costs one addition.
    #[doc(hidden)]
    #[inline(always)]
    #[track_caller]
    fn load_near<T: Element>(&self, region: Region<T>, centre: usize, offset: i32) -> T {
        self.load(region, centre.wrapping_add_signed(offset as isize))
    }
    /// Reads `N` consecutive elements in one access: `index` is a multiple of `N`, and the elements fill 8 or 16 bytes.
    #[doc(hidden)]
    #[inline(always)]
    #[track_caller]
    fn load_run<T: Element, const N: usize>(&self, region: Region<T>, index: usize) -> [T; N] {
        let mut values = [self.load(region, index); N];
        let mut k = 1;
        while k < N {
            values[k] = self.load(region, index + k);
            k += 1;
        }
        values
    }
    /// The same from global memory, in one access that no compiler takes apart, as it may where it finds only some of the elements used
    /// or the same elements read another way.
    #[doc(hidden)]
    #[inline(always)]
    #[track_caller]
    fn load_whole<T: Element, const N: usize>(&self, region: Region<T>, index: usize) -> [T; N] {
        self.load_run(region, index)
    }
    /// The same for elements without another reader nearby: they leave the nearest cache to others.
    #[doc(hidden)]
    #[inline(always)]
    #[track_caller]
    fn load_once<T: Element, const N: usize>(&self, region: Region<T>, index: usize) -> [T; N] {
        self.load_run(region, index)
    }
    /// Asks for the 128 bytes around element `index` of global memory to be brought into the cache that all blocks share.
    #[doc(hidden)]
    #[inline(always)]
    fn prefetch<T: Element>(&self, region: Region<T>, index: usize) {
        let _ = (region, index);
    }
    /// Writes element `index` of a region of global or shared memory.
    #[doc(hidden)]
    #[track_caller]
    fn store<T: Element>(&self, region: Region<T>, index: usize, value: T);
    /// Writes `N` consecutive elements in one access, as [`load_run`](Self::load_run) reads them.
    #[doc(hidden)]
    #[inline(always)]
    #[track_caller]
    fn store_run<T: Element, const N: usize>(
        &self,
        region: Region<T>,
        index: usize,
        values: [T; N],
    ) {
        let mut k = 0;
        while k < N {
            self.store(region, index + k, values[k]);
            k += 1;
        }
    }
    /// Writes the element `offset` away from element `centre`.
    #[doc(hidden)]
    #[inline(always)]
    #[track_caller]
    fn store_near<T: Element>(&self, region: Region<T>, centre: usize, offset: i32, value: T) {
        self.store(region, centre.wrapping_add_signed(offset as isize), value);
    }
    /// Adds to element `index` as one indivisible step and returns what was there before.
    #[doc(hidden)]
    #[track_caller]
    fn atomic_add<T: Atomic>(&self, region: Region<T>, index: usize, value: T) -> T;
    /// `len` elements of the block's shared memory from byte `offset` on.
    ///
    /// # Safety
    /// The launch reserves these bytes, and the region and its copies are used in this launch only.
    #[doc(hidden)]
    #[track_caller]
    unsafe fn shared<T: Element>(&self, offset: usize, len: usize) -> Region<T>;
}
