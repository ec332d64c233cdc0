//! GPU kernels in Rust on a stable compiler, race-checked in `cargo test` without a GPU.
//!
//! A kernel is a plain generic function over [`Simt`], one thread's view of a GPU. The [`kernel!`] macro declares it once; from that one
//! declaration come the PTX entry, the entry of the emulator, and a launch structure whose argument types the compiler checks.
//!
//! ```
//! use rarefy_simt::emulator::Emulator;
//! use rarefy_simt::kernel;
//! use rarefy_simt::machine::{Grid, Machine};
//!
//! kernel! {
//!     /// y[i] += a x[i], one thread an element.
//!     pub fn saxpy(t, x: In<f32>, y: InOut<f32>; a: f32) {
//!         let i = t.global_idx();
//!         if i < y.len() {
//!             y.set(t, i, a * x.get(t, i) + y.get(t, i));
//!         }
//!     }
//! }
//!
//! let machine = Emulator::default();
//! let x = machine.upload(&[1.0, 2.0, 3.0])?;
//! let mut y = machine.upload(&[10.0, 20.0, 30.0])?;
//! machine.launch(Grid::per_item(3, 32), saxpy { x: &x, y: &mut y, a: 2.0 })?;
//! let mut sums = [0.0; 3];
//! machine.read(&y, &mut sums)?;
//! assert_eq!(sums, [12.0, 24.0, 36.0]);
//! # Ok::<(), rarefy_simt::Error>(())
//! ```
//!
//! The emulator checks every access. A kernel in which each thread reads its neighbour's sum races, and the launch returns the fault:
//!
//! ```
//! # use rarefy_simt::emulator::{Emulator, FaultKind};
//! # use rarefy_simt::{Error, kernel};
//! # use rarefy_simt::machine::{Grid, Machine};
//! kernel! {
//!     /// y[i] += y[i + 1]: a race.
//!     pub fn add_next(t, y: InOut<f32>) {
//!         let i = t.global_idx();
//!         if i + 1 < y.len() {
//!             y.set(t, i, y.get(t, i) + y.get(t, i + 1));
//!         }
//!     }
//! }
//!
//! let machine = Emulator::default();
//! let mut y = machine.upload(&[1.0; 64])?;
//! let Err(Error::Fault(fault)) = machine.launch(Grid::one_block(64), add_next { y: &mut y }) else {
//!     panic!("the race is not found");
//! };
//! assert!(matches!(fault.kind, FaultKind::Race { .. }));
//! # Ok::<(), Error>(())
//! ```
//!
//! | module | content |
//! |---|---|
//! | [`simt`] | the machine that kernels are written against |
//! | [`memory`] | typed views of global and shared memory |
//! | [`Pack`] | a vector of a few numbers of one thread |
//! | [`math`] | the arithmetic that a kernel may ask for, in `f32` and `f64` |
//! | [`mod@kernel`] | the declaration of a kernel, and the code that it generates |
//! | [`machine`] | memory, copies and launches, as the host sees them |
//! | [`memory_plan`] | checking memory before anything is allocated |
//! | [`emulator`] | that machine on the CPU, watching every access |
//! | [`gpu`] | that machine on a CUDA device; a report on driver and devices |
//!
//! # Features
//!
//! | feature | default | adds |
//! |---|---|---|
//! | `emulator` | yes | the machine on the CPU |
//! | `cuda` | yes | the machine on a CUDA device; the driver is loaded at run time |
//! | `std` | by both | machines, memory planning and errors |
//!
//! Device code depends on this crate with `default-features = false` and is `no_std`. The crate `ptx-builder` compiles it to PTX in a build script.
#![cfg_attr(not(feature = "std"), no_std)]
#![cfg_attr(
    target_arch = "nvptx64",
    feature(abi_ptx, stdarch_nvptx, asm_experimental_arch, core_intrinsics),
    allow(internal_features)
)]

#[cfg(not(target_arch = "nvptx64"))]
extern crate std;

mod element;
#[cfg(feature = "emulator")]
pub mod emulator;
#[cfg(feature = "std")]
mod error;
#[cfg(feature = "std")]
mod fault;
#[cfg(feature = "cuda")]
pub mod gpu;
pub mod kernel;
mod lane;
#[cfg(feature = "std")]
pub mod machine;
pub mod math;
pub mod memory;
#[cfg(feature = "std")]
pub mod memory_plan;
mod pack;
#[cfg(target_arch = "nvptx64")]
pub mod ptx;
pub mod simt;

#[cfg(feature = "std")]
pub use error::{Error, Result};
pub use kernel::{Arguments, DeviceMemory, Kernel};
pub use math::Real;
pub use memory::{Element, In, InOut, Out, Quad, Region, Shared};
pub use pack::{Operand, Pack};
pub use simt::{Lane, Simt, WARP};

#[doc(hidden)]
pub use pastey;

// The code in the README is compiled and run with the tests.
#[cfg(all(doctest, feature = "emulator"))]
#[doc = include_str!("../README.md")]
struct Readme;
