//! Plain data in device memory, and where it lies.

/// Plain data that may live in device memory: every bit pattern of its size is a value.
///
/// # Safety
/// The type has no padding, no invalid bit patterns and no pointers.
pub unsafe trait Element: Copy + Send + Sync + 'static {}

macro_rules! element {
    ($($t:ty)*) => {$(
        // SAFETY: a primitive number.
        unsafe impl Element for $t {}
    )*};
}
element! { u8 i8 u16 i16 u32 i32 u64 i64 f32 f64 }

// SAFETY: an array of plain data is plain data.
unsafe impl<T: Element, const N: usize> Element for [T; N] {}

/// Four values that memory moves in one access, or two for 64-bit values: aligned to 16 bytes.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
#[repr(C, align(16))]
pub struct Quad<T>(pub [T; 4]);

// SAFETY: four values of 4 or 8 bytes fill the type, whose size is a multiple of 16 bytes either way.
unsafe impl<T: Word> Element for Quad<T> {}

/// Plain data of 4 or 8 bytes.
///
/// # Safety
/// The size is 4 or 8 bytes.
pub unsafe trait Word: Element {}

macro_rules! word {
    ($($t:ty)*) => {$(
        // SAFETY: of 4 or 8 bytes.
        unsafe impl Word for $t {}
    )*};
}
word! { u32 i32 u64 i64 f32 f64 }

/// Integers that memory can add to in one indivisible step.
///
/// There is no floating-point member: the order of such additions differs from run to run, and every
/// result of rarefy is reproducible to the bit.
pub trait Atomic: Element {
    /// Adds `value` to the place `pointer`.
    ///
    /// # Safety
    /// `pointer` is valid for reads and writes of one element by this thread.
    #[cfg(target_arch = "nvptx64")]
    #[doc(hidden)]
    unsafe fn fetch_add(pointer: *mut Self, value: Self) -> Self;
    /// Wrapping sum, as memory computes it.
    #[doc(hidden)]
    fn wrapping_sum(self, other: Self) -> Self;
}

macro_rules! atomic {
    ($($t:ty: $instruction:literal, $register:ident;)*) => {$(
        impl Atomic for $t {
            #[cfg(target_arch = "nvptx64")]
            #[inline(always)]
            unsafe fn fetch_add(pointer: *mut Self, value: Self) -> Self {
                let old: $t;
                // SAFETY: the caller vouches for the pointer; generic addressing covers both spaces.
                unsafe {
                    core::arch::asm!(
                        concat!($instruction, " {old}, [{pointer}], {value};"),
                        old = out($register) old,
                        pointer = in(reg64) pointer,
                        value = in($register) value,
                    );
                }
                old
            }
            fn wrapping_sum(self, other: Self) -> Self {
                self.wrapping_add(other)
            }
        }
    )*};
}
atomic! {
    u32: "atom.add.u32", reg32;
    i32: "atom.add.s32", reg32;
    u64: "atom.add.u64", reg64;
}

/// A pointer, a length, and for the emulator where the book of accesses to this memory is kept.
///
/// Only unsafe code makes one, and answers for all of its copies: the memory is there as long as a thread uses them.
#[doc(hidden)]
pub struct Region<T> {
    pub(crate) pointer: *mut T,
    pub(crate) len: usize,
    /// First of `len` records of the emulator; null on a GPU, where the field does not exist.
    #[cfg(not(target_arch = "nvptx64"))]
    #[cfg_attr(
        not(feature = "emulator"),
        allow(dead_code, reason = "only the emulator has records")
    )]
    pub(crate) book: *mut core::ffi::c_void,
}

impl<T> Clone for Region<T> {
    #[inline(always)]
    fn clone(&self) -> Self {
        *self
    }
}
impl<T> Copy for Region<T> {}

impl<T: Element> Region<T> {
    /// A region that no emulator watches.
    ///
    /// # Safety
    /// `pointer` is valid for reads and writes of `len` elements by the threads that use the region or a copy of it, as long as they do.
    #[inline(always)]
    pub const unsafe fn new(pointer: *mut T, len: usize) -> Self {
        Self {
            pointer,
            len,
            #[cfg(not(target_arch = "nvptx64"))]
            book: core::ptr::null_mut(),
        }
    }

    /// The address of the first element.
    #[inline(always)]
    pub fn address(self) -> u64 {
        self.pointer as u64
    }

    /// Number of elements.
    #[inline(always)]
    #[allow(
        clippy::len_without_is_empty,
        reason = "a kernel has no use for an empty one"
    )]
    pub const fn len(self) -> usize {
        self.len
    }
}
