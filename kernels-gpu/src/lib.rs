//! Device code of [rarefy](https://docs.rs/rarefy), written once in Rust.
//!
//! Every kernel is a plain generic function over [`Simt`], the machine that it runs on. Two machines of the crate
//! [`rarefy_simt`] implement that trait: `ptx::Gpu`, which compiles to single PTX instructions, and the checking emulator,
//! which runs each GPU thread as a coroutine and watches every memory access. The [`kernel!`] macro declares a kernel
//! once and derives from that one declaration the PTX entry, the entry that the emulator runs, and a launch structure
//! whose argument types the compiler checks.
//!
//! The crate knows nothing of the host: no driver, no buffers, no allocation.
//!
//! | module | content |
//! |---|---|
//! | [`simt`], [`memory`], [`math`], [`mod@kernel`] | the machine, views of memory, arithmetic and the declaration, of [`rarefy_simt`] |
//! | [`bgk`] | kernels of the BGK and Shakhov models, in time and steady |
//! | [`boltzmann`] | streaming on the grid of the collision integral |
//! | [`collision`] | kernels of the deterministic Boltzmann collision integral |
//! | [`signed_digit`] | kernels of exact sums and dot products |
//! | [`flow`] | sweeps of steady flows past bodies |
//! | [`isotropic`] | kernels of the isotropic Boltzmann equation in energy space |
//! | [`longman`] | infinite integrals of oscillating functions |
#![no_std]
#![allow(
    clippy::needless_range_loop,
    reason = "an index reads like the formula"
)]
#![cfg_attr(
    target_arch = "nvptx64",
    feature(abi_ptx, core_intrinsics),
    allow(internal_features)
)]

#[cfg(not(target_arch = "nvptx64"))]
extern crate std;

pub mod bgk;
pub mod boltzmann;
pub mod collision;
pub mod flow;
pub mod isotropic;
pub mod longman;
pub mod signed_digit;

pub use rarefy_simt::{Arguments, DeviceMemory, Kernel};
pub use rarefy_simt::{Element, In, InOut, Out, Quad, Real, Region, Shared};
pub use rarefy_simt::{Lane, Simt, WARP};
pub use rarefy_simt::{Operand, Pack};
pub use rarefy_simt::{kernel, math, memory, simt};
