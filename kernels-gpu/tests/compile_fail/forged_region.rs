//! A region of any address, made without unsafe code.

use rarefy_kernels::Region;
use rarefy_kernels::Simt;

fn read_anywhere<S: Simt>(t: &S, address: *mut u64) -> u64 {
    t.load(Region::new(address, 1), 0)
}

fn main() {}
