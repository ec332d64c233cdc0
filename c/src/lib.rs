//! Exact sums for programs in C; `include/rarefy.h` declares the functions.
//!
//! No panic crosses the boundary, and null pointers are refused with a status.

use std::panic::{AssertUnwindSafe, catch_unwind};
use std::ptr::null_mut;

use rarefy::signed_digit::float::ExactAccumulator;

/// A sum behind a pointer of C.
#[allow(non_camel_case_types)]
pub struct rarefy_sum(ExactAccumulator);

/// Statuses of the header.
const OK: i32 = 0;
const NULL: i32 = 1;
const ARRAY: i32 = 2;
const BYTES: i32 = 3;
const FAULT: i32 = 4;

/// The number that the header has.
const SUM_BYTES: usize = 1132;
const _: () = assert!(ExactAccumulator::BYTES == SUM_BYTES);

/// The status of work, a fault where it panics.
fn guarded(work: impl FnOnce() -> i32) -> i32 {
    // A panic may leave a sum half added, which the header says.
    catch_unwind(AssertUnwindSafe(work)).unwrap_or(FAULT)
}

/// An empty sum; null where it cannot be made.
#[unsafe(no_mangle)]
pub extern "C" fn rarefy_sum_new() -> *mut rarefy_sum {
    let make = || Box::into_raw(Box::new(rarefy_sum(ExactAccumulator::new())));
    catch_unwind(make).unwrap_or(null_mut())
}

/// Adds an array.
///
/// # Safety
/// `sum` is null or from [`rarefy_sum_new`] and not yet freed, and no other call uses it. `x` is null or has `count` numbers.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn rarefy_sum_add(sum: *mut rarefy_sum, x: *const f64, count: usize) -> i32 {
    guarded(|| {
        // SAFETY: the caller keeps the contract of the function.
        let Some(sum) = (unsafe { sum.as_mut() }) else {
            return NULL;
        };
        if count == 0 {
            return OK;
        }
        if x.is_null() {
            return NULL;
        }
        let bytes = count.checked_mul(size_of::<f64>());
        if !x.is_aligned() || bytes.is_none_or(|bytes| isize::try_from(bytes).is_err()) {
            return ARRAY;
        }
        // SAFETY: the pointer is aligned and not null, the length fits, and the caller's array has so many numbers.
        let x = unsafe { std::slice::from_raw_parts(x, count) };
        sum.0.add_slice(x);
        OK
    })
}

/// Adds another sum.
///
/// # Safety
/// Both pointers are as for [`rarefy_sum_add`]; they may be equal.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn rarefy_sum_merge(sum: *mut rarefy_sum, other: *const rarefy_sum) -> i32 {
    guarded(|| {
        // SAFETY: the caller keeps the contract; the copy ends this borrow before the next begins, as both may be the same sum.
        let Some(other) = (unsafe { other.as_ref() }).map(|other| other.0.clone()) else {
            return NULL;
        };
        // SAFETY: the caller keeps the contract of the function.
        let Some(sum) = (unsafe { sum.as_mut() }) else {
            return NULL;
        };
        sum.0.merge(&other);
        OK
    })
}

/// The rounded sum.
///
/// # Safety
/// `sum` is as for [`rarefy_sum_add`]. `value` is null or a number may be written there.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn rarefy_sum_round(sum: *const rarefy_sum, value: *mut f64) -> i32 {
    guarded(|| {
        // SAFETY: the caller keeps the contract of the function.
        let Some(sum) = (unsafe { sum.as_ref() }) else {
            return NULL;
        };
        if value.is_null() {
            return NULL;
        }
        // SAFETY: the pointer is not null, and the caller has room for a number there, perhaps unaligned.
        unsafe { value.write_unaligned(sum.0.round()) };
        OK
    })
}

/// The sum as bytes.
///
/// # Safety
/// `sum` is as for [`rarefy_sum_add`]. `bytes` is null or has room for the bytes of a saved sum.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn rarefy_sum_to_bytes(sum: *const rarefy_sum, bytes: *mut u8) -> i32 {
    guarded(|| {
        // SAFETY: the caller keeps the contract of the function.
        let Some(sum) = (unsafe { sum.as_ref() }) else {
            return NULL;
        };
        if bytes.is_null() {
            return NULL;
        }
        let saved = sum.0.to_bytes();
        // SAFETY: the pointer is not null, and the caller has room for these bytes; a new vector does not overlap them.
        unsafe { bytes.copy_from_nonoverlapping(saved.as_ptr(), SUM_BYTES) };
        OK
    })
}

/// Adds the sum that bytes hold.
///
/// # Safety
/// `sum` is as for [`rarefy_sum_add`]. `bytes` is null or has as many bytes as a saved sum.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn rarefy_sum_merge_bytes(sum: *mut rarefy_sum, bytes: *const u8) -> i32 {
    guarded(|| {
        // SAFETY: the caller keeps the contract of the function.
        let Some(sum) = (unsafe { sum.as_mut() }) else {
            return NULL;
        };
        if bytes.is_null() {
            return NULL;
        }
        // SAFETY: the pointer is not null, and the caller's array has so many bytes.
        let bytes = unsafe { std::slice::from_raw_parts(bytes, SUM_BYTES) };
        match ExactAccumulator::from_bytes(bytes) {
            Ok(other) => {
                sum.0.merge(&other);
                OK
            }
            Err(_) => BYTES,
        }
    })
}

/// Releases a sum.
///
/// # Safety
/// `sum` is as for [`rarefy_sum_add`], and is not used afterwards.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn rarefy_sum_free(sum: *mut rarefy_sum) {
    if sum.is_null() {
        return;
    }
    // SAFETY: `rarefy_sum_new` made the pointer from a box, and the caller frees it once.
    let release = || drop(unsafe { Box::from_raw(sum) });
    let _ = catch_unwind(release);
}
