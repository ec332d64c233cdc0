//! The emulator's memory: data, and beside it the book of accesses.

use std::alloc::{Layout, alloc_zeroed, dealloc};
use std::fmt;
use std::ptr::NonNull;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

use crate::{Element, Region};

use super::book::Record;
use crate::error::{Error, Result};

/// Memory of an [`Emulator`](super::Emulator), with a record of the accesses to each element.
pub struct Buffer<T> {
    data: Zeroed<T>,
    book: Zeroed<Record>,
    account: Arc<Account>,
}

impl<T: Element> Buffer<T> {
    pub(super) fn new(len: usize, account: &Arc<Account>) -> Result<Self> {
        let bytes = (len as u64).saturating_mul(size_of::<T>() as u64);
        account.take(bytes)?;
        // The account is settled when the buffer goes, also if it never comes to be.
        let mut buffer = Self {
            data: Zeroed::empty(),
            book: Zeroed::empty(),
            account: Arc::clone(account),
        };
        match Zeroed::new(len) {
            Ok(data) => buffer.data = data,
            Err(error) => {
                account.give(bytes);
                return Err(error);
            }
        }
        buffer.book = Zeroed::new(len)?;
        Ok(buffer)
    }

    /// Elements in the buffer.
    pub fn len(&self) -> usize {
        self.data.len
    }

    /// Whether the buffer has no elements.
    pub fn is_empty(&self) -> bool {
        self.data.len == 0
    }

    pub(super) fn region(&self) -> Region<T> {
        Region {
            pointer: self.data.pointer.as_ptr(),
            len: self.data.len,
            book: self.book.pointer.as_ptr().cast(),
        }
    }

    pub(super) fn write(&mut self, data: &[T]) -> Result<()> {
        self.check_length(data.len())?;
        // SAFETY: both sides hold this many elements; the exclusive borrow keeps kernels away, and `data` cannot overlap
        // with memory that this buffer owns.
        unsafe {
            self.data
                .pointer
                .copy_from_nonoverlapping(NonNull::from(data).cast(), data.len())
        };
        for index in 0..self.book.len {
            // SAFETY: in bounds, and borrowed exclusively.
            unsafe { self.book.pointer.add(index).as_mut() }.fill();
        }
        Ok(())
    }

    /// Copies the contents; or returns the index of the first unwritten element.
    pub(super) fn read(&self, data: &mut [T]) -> Result<Option<usize>> {
        self.check_length(data.len())?;
        for index in 0..self.book.len {
            // SAFETY: in bounds; launches are synchronous, so no kernel writes now.
            if !unsafe { self.book.pointer.add(index).as_ref() }.is_written() {
                return Ok(Some(index));
            }
        }
        // SAFETY: both sides hold this many elements, all bit patterns are values, and `data` is borrowed exclusively.
        unsafe {
            NonNull::from(data)
                .cast()
                .copy_from_nonoverlapping(self.data.pointer, self.data.len)
        };
        Ok(None)
    }

    fn check_length(&self, len: usize) -> Result<()> {
        if len == self.data.len {
            Ok(())
        } else {
            Err(Error::input(format!(
                "a copy of {len} elements to or from a buffer of {}",
                self.data.len
            )))
        }
    }
}

impl<T> Drop for Buffer<T> {
    fn drop(&mut self) {
        self.account.give((self.data.len * size_of::<T>()) as u64);
    }
}

impl<T> fmt::Debug for Buffer<T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Buffer")
            .field("len", &self.data.len)
            .finish_non_exhaustive()
    }
}

/// How much of the emulated device's memory is free.
pub(super) struct Account {
    free: AtomicU64,
}

impl Account {
    pub(super) fn new(bytes: u64) -> Arc<Self> {
        Arc::new(Self {
            free: AtomicU64::new(bytes),
        })
    }

    pub(super) fn free(&self) -> u64 {
        self.free.load(Ordering::Relaxed)
    }

    fn take(&self, bytes: u64) -> Result<()> {
        self.free
            .fetch_update(Ordering::Relaxed, Ordering::Relaxed, |free| {
                free.checked_sub(bytes)
            })
            .map(drop)
            .map_err(|available| Error::Memory {
                what: "a buffer".into(),
                memory: "the emulator's global memory",
                needed: bytes,
                available,
                remedy: "choose a smaller problem".into(),
            })
    }

    fn give(&self, bytes: u64) {
        self.free.fetch_add(bytes, Ordering::Relaxed);
    }
}

/// Memory of its own, all bits zero, reached through pointers only: kernels change it behind shared borrows.
pub(super) struct Zeroed<T> {
    pub(super) pointer: NonNull<T>,
    pub(super) len: usize,
}

// SAFETY: it owns the memory behind its pointer alone.
unsafe impl<T: Send> Send for Zeroed<T> {}

impl<T> Zeroed<T> {
    pub(super) const fn empty() -> Self {
        Self {
            pointer: NonNull::dangling(),
            len: 0,
        }
    }

    pub(super) fn new(len: usize) -> Result<Self> {
        let refused = || Error::Memory {
            what: "the emulator's memory and its book of accesses".into(),
            memory: "main memory",
            needed: (len as u64).saturating_mul(size_of::<T>() as u64),
            available: 0,
            remedy: "choose a smaller problem".into(),
        };
        let layout = Layout::array::<T>(len).map_err(|_| refused())?;
        if layout.size() == 0 {
            return Ok(Self {
                pointer: NonNull::dangling(),
                len,
            });
        }
        // SAFETY: the size is not zero.
        let pointer = NonNull::new(unsafe { alloc_zeroed(layout) }.cast()).ok_or_else(refused)?;
        Ok(Self { pointer, len })
    }
}

impl<T> Drop for Zeroed<T> {
    fn drop(&mut self) {
        if let Ok(layout) = Layout::array::<T>(self.len)
            && layout.size() > 0
        {
            // SAFETY: allocated in `new` with this layout.
            unsafe { dealloc(self.pointer.as_ptr().cast(), layout) };
        }
    }
}
