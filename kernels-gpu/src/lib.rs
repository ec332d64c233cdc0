//! Device code of [rarefy](https://docs.rs/rarefy), written once in Rust.
//!
//! Every kernel is a plain generic function over [`Simt`], the machine that it runs on. Two machines
//! implement that trait: `ptx::Gpu`, which compiles to single PTX instructions, and the checking emulator of the
//! host crate, which runs each GPU thread as a coroutine and watches every memory access. The
//! [`kernel!`] macro declares a kernel once and derives from that one declaration the PTX entry, the
//! entry that the emulator runs, and a launch structure whose argument types the compiler checks.
//!
//! The crate knows nothing of the host: no driver, no buffers, no allocation.
//!
//! | module | content |
//! |---|---|
//! | [`simt`] | the machine that kernels are written against |
//! | [`memory`] | typed views of global and shared memory |
//! | [`math`] | the arithmetic that a kernel may ask for, in `f32` and `f64` |
//! | [`mod@kernel`] | the declaration of a kernel, and what it generates |
//! | [`bgk`] | steady flows of the BGK and Shakhov models |
//! | [`bgk_flow`], [`bgk_line`], [`bgk_plane`], [`bgk_march`] | the same models in time |
//! | [`bgk_separate`] | the BGK model with streaming and collision apart |
//! | [`boltzmann`] | streaming on the grid of the collision integral |
//! | [`collision`] | kernels of the deterministic Boltzmann collision integral |
//! | [`signed_digit`] | kernels of exact sums and dot products |
//! | [`isotropic`] | kernels of the isotropic Boltzmann equation in energy space |
//! | [`longman`] | infinite integrals of oscillating functions |
#![no_std]
#![cfg_attr(
    target_arch = "nvptx64",
    feature(abi_ptx, stdarch_nvptx, asm_experimental_arch, core_intrinsics),
    allow(internal_features)
)]

#[cfg(not(target_arch = "nvptx64"))]
extern crate std;

pub mod bgk;
pub mod bgk_flow;
pub mod bgk_line;
pub mod bgk_march;
pub mod bgk_plane;
pub mod bgk_separate;
pub mod boltzmann;
pub mod collision;
pub mod isotropic;
pub mod kernel;
pub mod longman;
pub mod math;
pub mod memory;
#[cfg(target_arch = "nvptx64")]
pub mod ptx;
pub mod signed_digit;
pub mod simt;

pub use kernel::{Arguments, DeviceMemory, Kernel};
pub use math::Real;
pub use memory::{Element, In, InOut, Out, Quad, Region, Shared};
pub use simt::{Lane, Simt, WARP};

#[doc(hidden)]
pub use pastey;

#[cfg(target_arch = "nvptx64")]
unsafe extern "C" {
    /// Defined nowhere, so that no optimisation can hide a panic path from the guard that refuses it.
    fn rarefy_kernel_can_panic() -> !;
}

/// A kernel must not panic; should a panic path survive into the PTX, the build's guard refuses it.
#[cfg(target_arch = "nvptx64")]
#[panic_handler]
fn panic(_: &core::panic::PanicInfo<'_>) -> ! {
    // SAFETY: never assembled, let alone called.
    unsafe { rarefy_kernel_can_panic() }
}
