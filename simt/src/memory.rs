//! Typed views of global and shared memory.
//!
//! A view is a pointer and a length. On a GPU an access through it is one load or store without a
//! bounds check; in the emulator the same access is checked for bounds, initialisation and
//! races. Kernels have no other way to reach memory, so the emulator sees everything they do.
//!
//! | view | memory | may |
//! |---|---|---|
//! | [`In`] | global | read |
//! | [`Out`] | global | write |
//! | [`InOut`] | global | read, write, add atomically |
//! | [`Shared`] | shared by the block | read, write, add atomically |
//!
//! Safety model: the methods are safe to call in a kernel body because the body is reached only through
//! an entry point whose launch is bounds-planned by the host, and because every kernel runs in the emulator's tests
//! before it runs on a device. Where an index may legitimately fall outside, [`In::get_or`] checks it on both machines.

use core::marker::PhantomData;

pub use crate::element::{Atomic, Element, Quad, Region, Word};
use crate::math::Real;
use crate::simt::Simt;

macro_rules! view {
    ($(#[$doc:meta])* $name:ident) => {
        $(#[$doc])*
        pub struct $name<'a, T: Element> {
            region: Region<T>,
            lifetime: PhantomData<&'a T>,
        }

        impl<T: Element> Clone for $name<'_, T> {
            #[inline(always)]
            fn clone(&self) -> Self {
                *self
            }
        }
        impl<T: Element> Copy for $name<'_, T> {}

        impl<T: Element> $name<'_, T> {
            /// Wraps the memory that a launch passed to an entry point.
            ///
            /// # Safety
            /// The region is valid, for the accesses that this view allows, as long as the view lives.
            #[doc(hidden)]
            #[inline(always)]
            pub const unsafe fn from_region(region: Region<T>) -> Self {
                Self { region, lifetime: PhantomData }
            }
        }
    };
}

view! {
    /// Global memory that the kernel only reads.
    In
}
view! {
    /// Global memory that the kernel only writes.
    Out
}
view! {
    /// Global memory that the kernel reads and writes.
    InOut
}
view! {
    /// Memory shared by the threads of a block. Undefined at the start of a block.
    Shared
}

impl<'a, T: Element> Shared<'a, T> {
    /// `len` elements from byte `offset` on, as long as the thread is there.
    ///
    /// # Safety
    /// The launch reserves these bytes.
    #[doc(hidden)]
    #[inline(always)]
    #[track_caller]
    pub unsafe fn of<S: Simt>(t: &'a S, offset: usize, len: usize) -> Self {
        // SAFETY: the view lives no longer than the thread, and the block outlives its threads.
        unsafe { Self::from_region(t.shared(offset, len)) }
    }
}

macro_rules! readable_global {
    ($($name:ident)*) => {$(
        #[allow(clippy::len_without_is_empty, reason = "an empty view has no use in a kernel")]
        impl<T: Element> $name<'_, T> {
            /// Element `index`.
            #[inline(always)]
            #[track_caller]
            pub fn get<S: Simt>(self, t: &S, index: usize) -> T {
                t.load(self.region, index)
            }
            /// The `N` elements from `index` on in one access; `index` is a multiple of `N`, and `N` elements fill 8 or 16 bytes.
            #[inline(always)]
            #[track_caller]
            pub fn get_run<const N: usize, S: Simt>(self, t: &S, index: usize) -> [T; N] {
                t.load_run(self.region, index)
            }
            /// The same as one access that the compiler must not split.
            #[inline(always)]
            #[track_caller]
            pub fn get_whole<const N: usize, S: Simt>(self, t: &S, index: usize) -> [T; N] {
                t.load_whole(self.region, index)
            }
            /// The same for elements without another reader nearby: they leave the L1 cache to others.
            #[inline(always)]
            #[track_caller]
            pub fn get_once<const N: usize, S: Simt>(self, t: &S, index: usize) -> [T; N] {
                t.load_once(self.region, index)
            }
            /// Starts to copy the `N` elements from `index` on to `place` of shared memory: see [`Simt::wait_copies`]. They fill 4, 8 or 16
            /// bytes, and both places are multiples of `N`.
            #[inline(always)]
            #[track_caller]
            pub fn copy_to<const N: usize, S: Simt>(self, t: &S, index: usize, to: Shared<'_, T>, place: u32) {
                t.copy_async::<T, N>(self.region, index, to.region, place as usize);
            }
            /// Starts to load the 128 bytes around element `index` to the L2 cache.
            #[inline(always)]
            pub fn prefetch<S: Simt>(self, t: &S, index: usize) {
                t.prefetch(self.region, index);
            }
            /// The element `offset` away from element `centre`: for many offsets from a few centres.
            #[inline(always)]
            #[track_caller]
            pub fn get_near<S: Simt>(self, t: &S, centre: usize, offset: i32) -> T {
                t.load_near(self.region, centre, offset)
            }
            /// Element `index`, or `default` where the view has none.
            #[inline(always)]
            #[track_caller]
            pub fn get_or<S: Simt>(self, t: &S, index: usize, default: T) -> T {
                if index < self.region.len { t.load(self.region, index) } else { default }
            }
            /// Elements in the view.
            #[inline(always)]
            pub fn len(self) -> usize {
                self.region.len
            }
        }
    )*};
}
readable_global! { In InOut }

macro_rules! writable_global {
    ($($name:ident)*) => {$(
        impl<T: Element> $name<'_, T> {
            /// Writes element `index`.
            #[inline(always)]
            #[track_caller]
            pub fn set<S: Simt>(self, t: &S, index: usize, value: T) {
                t.store(self.region, index, value);
            }
            /// Writes the `N` elements from `index` on in one access; `index` is a multiple of `N`, and `N` elements fill 8 or 16 bytes.
            #[inline(always)]
            #[track_caller]
            pub fn set_run<const N: usize, S: Simt>(self, t: &S, index: usize, values: [T; N]) {
                t.store_run(self.region, index, values);
            }
            /// Writes the element `offset` away from element `centre`.
            #[inline(always)]
            #[track_caller]
            pub fn set_near<S: Simt>(self, t: &S, centre: usize, offset: i32, value: T) {
                t.store_near(self.region, centre, offset, value);
            }
        }
    )*};
}
writable_global! { Out InOut }

#[allow(
    clippy::len_without_is_empty,
    reason = "an empty view has no use in a kernel"
)]
impl<T: Element> Out<'_, T> {
    /// Elements in the view.
    #[inline(always)]
    pub fn len(self) -> usize {
        self.region.len
    }
}

impl<T: Atomic> InOut<'_, T> {
    /// Adds to element `index` in one indivisible step; returns what was there before.
    #[inline(always)]
    #[track_caller]
    pub fn atomic_add<S: Simt>(self, t: &S, index: usize, value: T) -> T {
        t.atomic_add(self.region, index, value)
    }
}

impl<T: Real> Shared<'_, T> {
    /// Starts a copy of 16 bytes from element `index` of global memory on to element `place` here, or writes zeros where not `there`: see
    /// [`Simt::wait_copies`]. Both are multiples of 16 bytes.
    #[inline(always)]
    #[track_caller]
    pub fn copy_16<S: Simt>(self, t: &S, place: u32, from: In<T>, index: usize, there: bool) {
        t.copy_16(from.region, index, self.region, place as usize, there);
    }
}

// Shared memory is at most 227 KiB, so 32-bit indices reach all of it at half the integer cost.
impl<T: Element> Shared<'_, T> {
    /// Element `index`.
    #[inline(always)]
    #[track_caller]
    pub fn get<S: Simt>(self, t: &S, index: u32) -> T {
        t.load(self.region, index as usize)
    }
    /// Writes element `index`.
    #[inline(always)]
    #[track_caller]
    pub fn set<S: Simt>(self, t: &S, index: u32, value: T) {
        t.store(self.region, index as usize, value);
    }
    /// The `N` elements from `index` on in one access; `index` is a multiple of `N`, and `N` elements fill 8 or 16 bytes.
    #[inline(always)]
    #[track_caller]
    pub fn get_run<const N: usize, S: Simt>(self, t: &S, index: u32) -> [T; N] {
        t.load_run(self.region, index as usize)
    }
    /// The `N` elements from `index + offset` on in one access: for many constant offsets from one index.
    #[inline(always)]
    #[track_caller]
    pub fn get_run_near<const N: usize, S: Simt>(self, t: &S, index: u32, offset: usize) -> [T; N] {
        t.load_run(self.region, index as usize + offset)
    }
    /// Writes `N` elements from `index + offset` on in one access.
    #[inline(always)]
    #[track_caller]
    pub fn set_run_near<const N: usize, S: Simt>(
        self,
        t: &S,
        index: u32,
        offset: usize,
        values: [T; N],
    ) {
        t.store_run(self.region, index as usize + offset, values);
    }
    /// Writes `N` elements from `index` on in one access, as [`get_run`](Self::get_run) reads them.
    #[inline(always)]
    #[track_caller]
    pub fn set_run<const N: usize, S: Simt>(self, t: &S, index: u32, values: [T; N]) {
        t.store_run(self.region, index as usize, values);
    }
}

impl<T: Atomic> Shared<'_, T> {
    /// Adds to element `index` in one indivisible step; returns what was there before.
    #[inline(always)]
    #[track_caller]
    pub fn atomic_add<S: Simt>(self, t: &S, index: u32, value: T) -> T {
        t.atomic_add(self.region, index as usize, value)
    }
}

/// Lays arrays out one after another in shared memory, each aligned to 16 bytes so that the widest
/// accesses stay possible.
#[doc(hidden)]
#[derive(Clone, Copy, Default)]
pub struct SharedLayout {
    bytes: usize,
}

impl SharedLayout {
    #[inline(always)]
    pub const fn new() -> Self {
        Self { bytes: 0 }
    }
    /// Reserves `len` elements and returns the byte offset of the first.
    #[inline(always)]
    pub const fn reserve<T>(&mut self, len: usize) -> usize {
        let offset = self.bytes;
        self.bytes = (offset + len * size_of::<T>() + 15) & !15;
        offset
    }
    #[inline(always)]
    pub const fn bytes(self) -> usize {
        self.bytes
    }
}
