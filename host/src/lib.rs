//! Deterministic numerical methods of kinetic theory on the GPU, with kernels written in Rust.
//!
//! They are [`collision`], [`isotropic`], [`bgk`], [`flow`], [`longman`] and [`signed_digit`]. It runs on an NVIDIA
//! GPU, on all cores of the CPU, in a checking [`emulator`] of the GPU, or as a scalar reference. A [`Backend`] selects the machine, a
//! [`Precision`] the arithmetic. The same call returns the same result on each of them within the documented tolerance;
//! on one backend two runs return the same bits.
//!
//! ```
//! use rarefy::Backend;
//! use rarefy::collision::{OperatorConfig, VelocityGrid, collide, initial};
//!
//! let grid = VelocityGrid::new(10, -5.0, 5.0)?;
//! let mut config = OperatorConfig::new(grid); // hard spheres, balanced, f64, on the GPU if there is one
//! config.compute.backend = Backend::Cpu;
//!
//! let f = initial::maxwellian(&grid, 1.0, [0.3, 0.0, 0.0], 1.0);
//! let integral = collide(&config, &f)?;
//! println!("mass is conserved to {:e}", integral.correction.residuals[0]);
//! # assert!(integral.correction.residuals.iter().all(|r| *r < 1e-14));
//! # Ok::<(), rarefy::Error>(())
//! ```
//!
//! | module | content |
//! |---|---|
//! | [`collision`] | the collision integral, and relaxation to equilibrium |
//! | [`signed_digit`] | exact sums and dot products of binary and decimal numbers |
//! | [`isotropic`] | the isotropic equation in energy space in O(M^2), and economies as gases |
//! | [`bgk`] | the BGK and Shakhov models on phase-space grids |
//! | [`flow`] | steady flows past and through bodies in a plane, round an axis or in space |
//! | [`longman`] | infinite integrals of oscillating functions |
//! | [`run`] | one loop that takes every run to a time or to a steady state, with observers |
//! | [`accuracy`] | errors of a discretisation, and the grid that has an accuracy |
//! | [`compute`] | where to compute, in which precision, on how many threads |
//! | [`distributed`] | one computation on several ranks: parts of space and transports |
//! | [`machine`] | the host's interface of a machine that runs kernels: memory, copies, launches |
//! | [`gpu`] | that machine on a CUDA device; a report on driver and devices |
//! | [`emulator`] | that machine on the CPU, with every access checked |
//! | [`memory_plan`] | checking memory before anything is allocated |
//!
//! Kernels are in the crate [`rarefy_kernels`]; the machines that run them, and the macro [`kernel!`](rarefy_simt::kernel!) that declares kernels of your
//! own, in [`rarefy_simt`].
//!
//! # Features
//!
//! | feature | default | adds |
//! |---|---|---|
//! | `cli` | yes | the command `rarefy`, and the libraries that it reads, writes and plots with |
//! | `files` | by `cli` | bodies of flows from files: `.npy`, `.vti`, `.png`, `.csv`, `.stl` |
//! | `ndarray` | by `cli` | distributions, fields and populations as views of `ndarray` 0.17 ([`VelocityGrid`](collision::VelocityGrid), [`Space`](bgk::Space), [`Problem`](bgk::Problem)); exact sums over arrays ([`ExactAccumulator`](signed_digit::float::ExactAccumulator)) |
//! | `nalgebra` | yes | fields as views of `nalgebra` 0.35; exact sums over matrices and vectors |
//! | `mpi` | no | flows over processes on one or several hosts; needs an MPI library with its compiler `mpicc`, and libclang |
//! | `peers` | no | other libraries, for benches that compare with them; builds GMP, which takes a C compiler, `make` and `m4` |
//!
//! A program that only links the library does without the default: `rarefy = { version = "0.2", default-features = false }`.
//!
//! No CUDA is needed to build this crate or to run it on the CPU. The PTX of the kernels is embedded, and the driver is loaded
//! at run time. Errors are one type, [`Error`], with a [`MachineError`] inside where the machine refuses. Bad input, a missing GPU or too little memory is an error, never a panic.
//!
//! # Conventions
//!
//! **Configurations**, which callers make, have public fields and a constructor with the fields that have no default. The rest is assigned, or taken from
//! `..Config::new(...)`, which compiles after a field is added. The constructor of a solver checks them. **Results and
//! checkpoints**, which callers read, are `#[non_exhaustive]`, and so are enums except those that are closed by their meaning, such as [`Precision`].
//!
//! **Serde.** Configurations, results, checkpoints and exact numbers implement `Serialize` and `Deserialize`, without a
//! feature. Values that are read pass the checks of the constructors; numbers and names are those of the command's `run.json`.
//!
//! **Threads.** Configurations, results, tables and devices are `Send` and `Sync`. A solver with a state of its own is `Send` and computes through
//! `&mut self`: one thread at a time. A [`Machine`](machine::Machine) may be shared.

#![warn(missing_debug_implementations)]

pub mod accuracy;
pub mod bgk;
pub mod collision;
pub mod compute;
pub mod distributed;
mod error;
pub mod flow;
pub mod gpu;
pub mod isotropic;
pub mod longman;
mod maxwellian;
#[cfg(feature = "files")]
mod npy;
pub mod run;
mod serial;
pub mod signed_digit;
mod simd;
mod stop;
#[cfg(any(feature = "nalgebra", feature = "ndarray"))]
mod views;
#[cfg(feature = "files")]
mod vti;

#[cfg(feature = "cli")]
#[doc(hidden)]
pub mod cli;

pub use compute::{Backend, Compute, Devices, Precision};
pub use error::{Error, Result};
pub use rarefy_simt::Error as MachineError;
pub use rarefy_simt::{emulator, machine, memory_plan};

// The code in these texts is compiled and run with the tests.
#[cfg(doctest)]
mod texts {
    #[doc = include_str!("../../README.md")]
    struct Readme;
    #[doc = include_str!("../../docs/collision.md")]
    struct Collision;
    #[doc = include_str!("../../docs/isotropic.md")]
    struct Isotropic;
    #[doc = include_str!("../../docs/bgk.md")]
    struct Bgk;
    #[doc = include_str!("../../docs/bgk-steady.md")]
    struct BgkSteady;
    #[doc = include_str!("../../docs/library.md")]
    struct Library;
    #[doc = include_str!("../../docs/longman.md")]
    struct Longman;
    #[doc = include_str!("../../docs/signed-digit.md")]
    struct SignedDigit;
    #[doc = include_str!("../../docs/reproducible-sums.md")]
    struct ReproducibleSums;
    #[doc = include_str!("../../docs/emulator.md")]
    struct Emulator;
    #[doc = include_str!("../../docs/distributed.md")]
    struct Distributed;
    #[doc = include_str!("../../docs/writing-a-kernel.md")]
    struct WritingAKernel;
}
