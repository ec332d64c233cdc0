//! The PTX that this build embeds, and which variant of it a device takes.

pub use rarefy_simt::gpu::ptx::{LEAST_CAPABILITY, PtxModule, PtxText, capability_text, choose};

/// The file that `build.rs` wrote: `MODULES`, `TOOLCHAIN` (the compiler) and `SOURCE_HASH`.
#[allow(missing_docs, reason = "generated")]
mod embedded {
    use super::PtxModule;
    include!(concat!(env!("OUT_DIR"), "/ptx.rs"));
}
pub use embedded::{MODULES, SOURCE_HASH, TOOLCHAIN};
