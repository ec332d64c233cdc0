//! Compiles the device crate of rarefy to PTX, verifies the result and keeps it in step with its sources.
//!
//! The crate serves `build.rs`, which embeds PTX in the host library, and `cargo xtask ptx`, which writes, checks and
//! measures it. `docs/ptx.md` tells the whole story; the modules are its chapters:
//!
//! | module | content |
//! |---|---|
//! | [`source`] | the device crate: which wings declare which kernels, for which capabilities, and the hash of it all |
//! | [`toolchain`] | finding a Rust compiler and the LLVM tools that can make PTX, or saying what is missing |
//! | [`compile`] | from the crate to one PTX text per wing and capability |
//! | [`guard`] | what no PTX of rarefy may contain, as pure functions over the text |
//! | [`assembler`] | `ptxas`: does the PTX assemble, and with how many registers |
//! | [`budget`] | the registers, spills and stack that each kernel is allowed |
//! | [`manifest`] | the record next to the committed PTX |
//! | [`embed`] | what `build.rs` does |

pub mod assembler;
pub mod budget;
pub mod compile;
pub mod embed;
mod error;
pub mod guard;
pub mod manifest;
mod parallel;
mod recipe;
pub mod source;
pub mod toolchain;

pub use error::{Error, Result};

/// The script that installs all tools of this crate.
pub const INSTALL_SCRIPT: &str = "scripts/install-device-toolchain.sh";

/// SHA-256 of some bytes, in hexadecimal.
pub(crate) fn sha256(bytes: &[u8]) -> String {
    use sha2::Digest;
    use std::fmt::Write;
    sha2::Sha256::digest(bytes)
        .iter()
        .fold(String::new(), |mut hex, byte| {
            let _ = write!(hex, "{byte:02x}");
            hex
        })
}
