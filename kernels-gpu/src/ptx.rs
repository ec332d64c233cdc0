//! The machine on a GPU: every operation is one PTX instruction, or a few.

use core::arch::{asm, nvptx};

use crate::memory::{Atomic, Element, Region};
use crate::simt::Simt;

unsafe extern "C" {
    /// Start of the block's dynamic shared memory.
    ///
    /// Rust has no way to name an `addrspace(3)` global, so the build links a few lines of LLVM IR
    /// that define this function; inlined, it lets the optimiser see that the address is shared.
    fn rarefy_shared_memory() -> *mut u8;
}

/// What memory moves in one access of 16 bytes.
#[repr(C, align(16))]
#[derive(Clone, Copy)]
struct Aligned16<T>(T);

/// What memory moves in one access of 8 bytes.
#[repr(C, align(8))]
#[derive(Clone, Copy)]
struct Aligned8<T>(T);

/// Loads 8 or 16 bytes by one instruction, whatever the compiler thinks of it.
macro_rules! global_run {
    ($load:literal, $region:expr, $index:expr) => {
        // SAFETY: the emulator has checked that this kernel stays within its views; allocations are aligned to 256 bytes, and the index is a
        // multiple of the run. The words that are read are those of the result.
        unsafe {
            let run = $region.pointer.add($index);
            if size_of::<[T; N]>() == 16 {
                let (a, b, c, d): (u32, u32, u32, u32);
                asm!(
                    concat!(
                        "{{ .reg .b64 p; cvta.to.global.u64 p, {run}; ",
                        $load,
                        ".v4.b32 {{ {a}, {b}, {c}, {d} }}, [p]; }}"
                    ),
                    run = in(reg64) run,
                    a = out(reg32) a,
                    b = out(reg32) b,
                    c = out(reg32) c,
                    d = out(reg32) d,
                    options(pure, readonly, nostack, preserves_flags),
                );
                core::mem::transmute_copy(&[a, b, c, d])
            } else {
                let (a, b): (u32, u32);
                asm!(
                    concat!(
                        "{{ .reg .b64 p; cvta.to.global.u64 p, {run}; ",
                        $load,
                        ".v2.b32 {{ {a}, {b} }}, [p]; }}"
                    ),
                    run = in(reg64) run,
                    a = out(reg32) a,
                    b = out(reg32) b,
                    options(pure, readonly, nostack, preserves_flags),
                );
                core::mem::transmute_copy(&[a, b])
            }
        }
    };
}

/// A thread of a real GPU. It has no state: the hardware's special registers hold it all.
#[derive(Clone, Copy)]
pub struct Gpu;

impl Simt for Gpu {
    #[inline(always)]
    fn thread_idx(&self) -> u32 {
        // SAFETY: reads a special register.
        unsafe { nvptx::_thread_idx_x() as u32 }
    }
    #[inline(always)]
    fn block_dim(&self) -> u32 {
        // SAFETY: reads a special register.
        unsafe { nvptx::_block_dim_x() as u32 }
    }
    #[inline(always)]
    fn block_idx(&self) -> u32 {
        // SAFETY: reads a special register.
        unsafe { nvptx::_block_idx_x() as u32 }
    }
    #[inline(always)]
    fn grid_dim(&self) -> u32 {
        // SAFETY: reads a special register.
        unsafe { nvptx::_grid_dim_x() as u32 }
    }
    #[inline(always)]
    fn sync_threads(&self) {
        // SAFETY: kernels reach every barrier with all threads of the block; the emulator checks that.
        unsafe { nvptx::_syncthreads() }
    }
    #[inline(always)]
    fn sync_warp(&self) {
        // SAFETY: as above, for the lanes of a warp. The clobbered memory orders their accesses.
        unsafe { asm!("bar.warp.sync 0xffffffff;") }
    }
    #[inline(always)]
    fn pin_accesses(&self) {
        // SAFETY: no instruction at all; the memory that it might touch, by its options, is what pins the accesses.
        unsafe { asm!("", options(nostack, preserves_flags)) }
    }
    #[inline(always)]
    fn shuffle_word(&self, word: u32, source: u32) -> u32 {
        let received: u32;
        // SAFETY: all lanes of the warp take part; the emulator checks that.
        unsafe {
            asm!(
                "shfl.sync.idx.b32 {received}, {word}, {source}, 0x1f, 0xffffffff;",
                received = out(reg32) received,
                word = in(reg32) word,
                source = in(reg32) source,
                options(nomem),
            );
        }
        received
    }
    #[inline(always)]
    fn ballot(&self, predicate: bool) -> u32 {
        let mask: u32;
        // SAFETY: all lanes of the warp take part; the emulator checks that.
        unsafe {
            asm!(
                "{{ .reg .pred p; setp.ne.u32 p, {bit}, 0; vote.sync.ballot.b32 {mask}, p, 0xffffffff; }}",
                bit = in(reg32) u32::from(predicate),
                mask = out(reg32) mask,
                options(nomem),
            );
        }
        mask
    }

    #[inline(always)]
    fn load<T: Element>(&self, region: Region<T>, index: usize) -> T {
        // SAFETY: the emulator has checked that this kernel stays within its views.
        unsafe { *region.pointer.add(index) }
    }
    #[inline(always)]
    fn load_near<T: Element>(&self, region: Region<T>, centre: usize, offset: i32) -> T {
        // SAFETY: the emulator has checked that this kernel stays within its views.
        unsafe { *region.pointer.add(centre).offset(offset as isize) }
    }
    #[inline(always)]
    fn load_run<T: Element, const N: usize>(&self, region: Region<T>, index: usize) -> [T; N] {
        // SAFETY: the emulator has checked that this kernel stays within its views; allocations are aligned to 256 bytes,
        // and the index is a multiple of the run.
        unsafe {
            let run = region.pointer.add(index);
            if size_of::<[T; N]>() == 16 {
                (*run.cast::<Aligned16<[T; N]>>()).0
            } else {
                (*run.cast::<Aligned8<[T; N]>>()).0
            }
        }
    }
    #[inline(always)]
    fn load_whole<T: Element, const N: usize>(&self, region: Region<T>, index: usize) -> [T; N] {
        global_run!("ld.global", region, index)
    }
    #[inline(always)]
    fn load_once<T: Element, const N: usize>(&self, region: Region<T>, index: usize) -> [T; N] {
        global_run!("ld.global.cs", region, index)
    }
    #[inline(always)]
    fn store<T: Element>(&self, region: Region<T>, index: usize, value: T) {
        // SAFETY: the emulator has checked that this kernel stays within its views.
        unsafe { *region.pointer.add(index) = value }
    }
    #[inline(always)]
    fn store_run<T: Element, const N: usize>(
        &self,
        region: Region<T>,
        index: usize,
        values: [T; N],
    ) {
        // SAFETY: as for `load_run`.
        unsafe {
            let run = region.pointer.add(index);
            if size_of::<[T; N]>() == 16 {
                *run.cast::<Aligned16<[T; N]>>() = Aligned16(values);
            } else {
                *run.cast::<Aligned8<[T; N]>>() = Aligned8(values);
            }
        }
    }
    #[inline(always)]
    fn store_near<T: Element>(&self, region: Region<T>, centre: usize, offset: i32, value: T) {
        // SAFETY: the emulator has checked that this kernel stays within its views.
        unsafe { *region.pointer.add(centre).offset(offset as isize) = value }
    }
    #[inline(always)]
    fn atomic_add<T: Atomic>(&self, region: Region<T>, index: usize, value: T) -> T {
        // SAFETY: the emulator has checked that this kernel stays within its views.
        unsafe { T::fetch_add(region.pointer.add(index), value) }
    }
    #[inline(always)]
    fn shared<T: Element>(&self, offset: usize, len: usize) -> Region<T> {
        // SAFETY: the launch reserves the bytes that `SharedLayout` counts, aligned to 16.
        Region::new(unsafe { rarefy_shared_memory().add(offset).cast() }, len)
    }
}
