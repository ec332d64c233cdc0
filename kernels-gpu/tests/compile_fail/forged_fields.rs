//! A region of any address and any book, field by field.

use rarefy_kernels::Region;

fn forge(pointer: *mut u64, book: *mut std::ffi::c_void) -> Region<u64> {
    Region { pointer, len: 1, book }
}

fn main() {}
