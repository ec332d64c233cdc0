//! The machine on a GPU: every operation is one PTX instruction, or a few.

use core::arch::{asm, nvptx};

#[cfg(target_feature = "sm_80")]
use crate::math::Real;
use crate::memory::{Atomic, Element, Region};
use crate::simt::{Lane, Simt};

unsafe extern "C" {
    /// Start of the block's dynamic shared memory.
    ///
    /// Rust has no way to name an `addrspace(3)` global, so the build links a few lines of LLVM IR
    /// that define this function; inlined, it lets the optimiser see that the address is shared.
    fn rarefy_shared_memory() -> *mut u8;
}

/// Words that memory moves in one access of 16 bytes.
#[repr(C, align(16))]
#[derive(Clone, Copy)]
struct Aligned16<T>(T);

/// Words that memory moves in one access of 8 bytes.
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

/// An exchange with the lane so many below or above: where that number is known, no register holds the number of the lane.
macro_rules! shuffle_by {
    ($direction:literal, $clamp:literal, $word:expr, $delta:expr) => {{
        let received: u32;
        // SAFETY: all lanes of the warp take part; the emulator checks that.
        unsafe {
            asm!(
                concat!("shfl.sync.", $direction, ".b32 {received}, {word}, {delta}, ", $clamp, ", 0xffffffff;"),
                received = out(reg32) received,
                word = in(reg32) $word,
                delta = in(reg32) $delta,
                options(nomem),
            );
        }
        received
    }};
}

/// The address of shared memory in its own state space.
#[cfg(target_feature = "sm_80")]
#[inline(always)]
fn shared_address<T>(pointer: *mut T) -> u32 {
    let address: u64;
    // SAFETY: an address is converted.
    unsafe {
        asm!(
            "cvta.to.shared.u64 {address}, {pointer};",
            address = out(reg64) address,
            pointer = in(reg64) pointer,
            options(pure, nomem, nostack, preserves_flags),
        );
    }
    address as u32
}

/// Starts a copy of so many bytes from global to shared memory.
#[cfg(target_feature = "sm_80")]
macro_rules! global_copy {
    ($copy:literal, $bytes:literal, $from:expr, $index:expr, $to:expr, $place:expr) => {
        // SAFETY: as for `load_run` and `store_run`. The address of shared memory has 32 bits, so that what is constant in it becomes part of the
        // instruction.
        unsafe {
            asm!(
                concat!(
                    "{{ .reg .b64 f; cvta.to.global.u64 f, {from}; ", $copy, " [{to}], [f], ", $bytes, "; }}"
                ),
                from = in(reg64) $from.pointer.add($index),
                to = in(reg32) shared_address($to.pointer).wrapping_add(($place * size_of::<T>()) as u32),
                options(nostack, preserves_flags),
            );
        }
    };
}

/// `a b + c` of 16 x 8 and 8 x 8 matrices whose elements the tensor cores read as numbers of 11 bits, ignoring the rest.
#[cfg(target_feature = "sm_80")]
#[inline(always)]
fn multiply_short(a: [f32; 4], b: [f32; 2], c: [f32; 4]) -> [f32; 4] {
    let mut d = [0.0; 4];
    let [d0, d1, d2, d3] = &mut d;
    // SAFETY: arithmetic on registers, with all lanes of the warp.
    unsafe {
        asm!(
            "mma.sync.aligned.m16n8k8.row.col.f32.tf32.tf32.f32 {{{d0}, {d1}, {d2}, {d3}}}, {{{a0}, {a1}, {a2}, {a3}}}, {{{b0}, {b1}}}, {{{c0}, {c1}, {c2}, {c3}}};",
            d0 = out(reg32) *d0, d1 = out(reg32) *d1, d2 = out(reg32) *d2, d3 = out(reg32) *d3,
            a0 = in(reg32) a[0].to_bits(), a1 = in(reg32) a[1].to_bits(), a2 = in(reg32) a[2].to_bits(), a3 = in(reg32) a[3].to_bits(),
            b0 = in(reg32) b[0].to_bits(), b1 = in(reg32) b[1].to_bits(),
            c0 = in(reg32) c[0], c1 = in(reg32) c[1], c2 = in(reg32) c[2], c3 = in(reg32) c[3],
            options(pure, nomem, nostack, preserves_flags),
        );
    }
    d
}

/// The upper 11 bits of a number, rounded, and the rest.
#[cfg(target_feature = "sm_80")]
#[inline(always)]
fn split_rounded(value: f32) -> [f32; 2] {
    let upper = f32::from_bits(value.to_bits().wrapping_add(0x1000) & 0xffff_e000);
    [upper, value - upper]
}

/// The upper 11 bits of a number, cut off, and the rest.
#[cfg(target_feature = "sm_80")]
#[inline(always)]
fn split_cut(value: f32) -> [f32; 2] {
    let upper = f32::from_bits(value.to_bits() & 0xffff_e000);
    [upper, value - upper]
}

/// `a b` in `f32`, over K columns of matrices. With the upper parts rounded on one side, the lower parts have either sign there, and the products of two
/// lower parts, which are left out, cancel on average. The small products come first.
#[cfg(target_feature = "sm_80")]
#[inline(always)]
fn multiply_single<const K: usize>(a: [[f32; 4]; K], b: [[f32; 2]; K]) -> [f32; 4] {
    let (a, b) = (a.map(|a| a.map(split_cut)), b.map(|b| b.map(split_rounded)));
    let mut sum = [0.0; 4];
    let parts = [[1, 0], [0, 1], [0, 0]];
    let mut part = 0;
    while part < 3 {
        let [of_a, of_b] = parts[part];
        let mut k = 0;
        while k < K {
            sum = multiply_short(a[k].map(|a| a[of_a]), b[k].map(|b| b[of_b]), sum);
            k += 1;
        }
        part += 1;
    }
    sum
}

/// In `f64`, rounded as a chain of fused multiply-adds is.
#[cfg(target_feature = "sm_90")]
#[inline(always)]
fn multiply_double(a: [f64; 4], b: [f64; 2], c: [f64; 4]) -> [f64; 4] {
    let mut d = [0.0; 4];
    let [d0, d1, d2, d3] = &mut d;
    // SAFETY: arithmetic on registers, with all lanes of the warp.
    unsafe {
        asm!(
            "mma.sync.aligned.m16n8k8.row.col.f64.f64.f64.f64 {{{d0}, {d1}, {d2}, {d3}}}, {{{a0}, {a1}, {a2}, {a3}}}, {{{b0}, {b1}}}, {{{c0}, {c1}, {c2}, {c3}}};",
            d0 = out(reg64) *d0, d1 = out(reg64) *d1, d2 = out(reg64) *d2, d3 = out(reg64) *d3,
            a0 = in(reg64) a[0], a1 = in(reg64) a[1], a2 = in(reg64) a[2], a3 = in(reg64) a[3],
            b0 = in(reg64) b[0], b1 = in(reg64) b[1],
            c0 = in(reg64) c[0], c1 = in(reg64) c[1], c2 = in(reg64) c[2], c3 = in(reg64) c[3],
            options(pure, nomem, nostack, preserves_flags),
        );
    }
    d
}

/// The same for capability 8.0, which has a smaller tile.
#[cfg(all(target_feature = "sm_80", not(target_feature = "sm_90")))]
#[inline(always)]
fn multiply_double(a: [f64; 4], b: [f64; 2], c: [f64; 4]) -> [f64; 4] {
    let quarter = |a: f64, b: f64, c: [f64; 2]| {
        let (d0, d1): (f64, f64);
        // SAFETY: arithmetic on registers, with all lanes of the warp.
        unsafe {
            asm!(
                "mma.sync.aligned.m8n8k4.row.col.f64.f64.f64.f64 {{{d0}, {d1}}}, {{{a}}}, {{{b}}}, {{{c0}, {c1}}};",
                d0 = out(reg64) d0, d1 = out(reg64) d1, a = in(reg64) a, b = in(reg64) b, c0 = in(reg64) c[0], c1 = in(reg64) c[1],
                options(pure, nomem, nostack, preserves_flags),
            );
        }
        [d0, d1]
    };
    let upper = quarter(a[2], b[1], quarter(a[0], b[0], [c[0], c[1]]));
    let lower = quarter(a[3], b[1], quarter(a[1], b[0], [c[2], c[3]]));
    [upper[0], upper[1], lower[0], lower[1]]
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
    fn shuffle_up<T: Lane>(&self, value: T, delta: u32) -> T {
        value.map_words(|word| shuffle_by!("up", "0", word, delta))
    }
    #[inline(always)]
    fn shuffle_down<T: Lane>(&self, value: T, delta: u32) -> T {
        value.map_words(|word| shuffle_by!("down", "0x1f", word, delta))
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

    #[cfg(target_feature = "sm_80")]
    #[inline(always)]
    fn multiply_tiles<T: Real, const K: usize>(
        &self,
        a: [[T; 4]; K],
        b: [[T; 2]; K],
        c: [T; 4],
    ) -> [T; 4] {
        use core::mem::transmute_copy;
        // SAFETY: `Real` is f32 or f64, and the size tells which.
        unsafe {
            if size_of::<T>() == 4 {
                // The tensor cores cut sums off; the addition to `c` is rounded.
                let sum: [T; 4] = transmute_copy(&multiply_single::<K>(
                    transmute_copy(&a),
                    transmute_copy(&b),
                ));
                [c[0] + sum[0], c[1] + sum[1], c[2] + sum[2], c[3] + sum[3]]
            } else {
                let mut sum = transmute_copy(&c);
                let mut k = 0;
                while k < K {
                    sum = multiply_double(transmute_copy(&a[k]), transmute_copy(&b[k]), sum);
                    k += 1;
                }
                transmute_copy(&sum)
            }
        }
    }

    #[cfg(target_feature = "sm_80")]
    #[inline(always)]
    fn copy_16<T: Real>(
        &self,
        from: Region<T>,
        index: usize,
        to: Region<T>,
        place: usize,
        there: bool,
    ) {
        // SAFETY: as for `load_run` and `store_run`. Where nothing is read the source counts as zeros.
        unsafe {
            asm!(
                "{{ .reg .b64 p; cvta.to.global.u64 p, {from}; cp.async.cg.shared.global [{to}], [p], 16, {bytes}; }}",
                from = in(reg64) from.pointer.wrapping_add(index),
                to = in(reg32) shared_address(to.pointer).wrapping_add((place * size_of::<T>()) as u32),
                bytes = in(reg32) if there { 16 } else { 0 },
                options(nostack, preserves_flags),
            );
        }
    }
    #[cfg(target_feature = "sm_80")]
    #[inline(always)]
    fn copy_async<T: Element, const N: usize>(
        &self,
        from: Region<T>,
        index: usize,
        to: Region<T>,
        place: usize,
    ) {
        // Only what fills 16 bytes can pass the L1 cache by.
        match size_of::<[T; N]>() {
            16 => global_copy!("cp.async.cg.shared.global", "16", from, index, to, place),
            8 => global_copy!("cp.async.ca.shared.global", "8", from, index, to, place),
            _ => global_copy!("cp.async.ca.shared.global", "4", from, index, to, place),
        }
    }
    #[cfg(target_feature = "sm_80")]
    #[inline(always)]
    fn end_copies(&self) {
        // SAFETY: marks where a group ends.
        unsafe { asm!("cp.async.commit_group;", options(nostack, preserves_flags)) }
    }
    #[cfg(target_feature = "sm_80")]
    #[inline(always)]
    fn wait_copies(&self, pending: u32) {
        // SAFETY: waits; the memory that it might touch, by its options, orders accesses behind it.
        unsafe {
            match pending {
                0 => asm!("cp.async.wait_group 0;", options(nostack, preserves_flags)),
                1 => asm!("cp.async.wait_group 1;", options(nostack, preserves_flags)),
                2 => asm!("cp.async.wait_group 2;", options(nostack, preserves_flags)),
                _ => asm!("cp.async.wait_group 3;", options(nostack, preserves_flags)),
            }
        }
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
    fn prefetch<T: Element>(&self, region: Region<T>, index: usize) {
        // SAFETY: a hint, which changes no memory.
        unsafe {
            asm!(
                "{{ .reg .b64 p; cvta.to.global.u64 p, {place}; prefetch.global.L2 [p]; }}",
                place = in(reg64) region.pointer.wrapping_add(index),
                options(nostack, preserves_flags, readonly),
            );
        }
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
    unsafe fn shared<T: Element>(&self, offset: usize, len: usize) -> Region<T> {
        // SAFETY: the launch reserves the bytes that `SharedLayout` counts, aligned to 16.
        unsafe { Region::new(rarefy_shared_memory().add(offset).cast(), len) }
    }
}

unsafe extern "C" {
    /// Defined nowhere, so that no optimisation can hide a panic path from the guard that refuses it.
    fn rarefy_kernel_can_panic() -> !;
}

/// A kernel must not panic; should a panic path survive into the PTX, the build's guard refuses it.
#[panic_handler]
fn panic(_: &core::panic::PanicInfo<'_>) -> ! {
    // SAFETY: never assembled, let alone called.
    unsafe { rarefy_kernel_can_panic() }
}
