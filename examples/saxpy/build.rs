//! Compiles the kernels in `kernels/` to PTX and writes `ptx.rs` for the program to include.

use std::env;
use std::path::PathBuf;

fn main() -> Result<(), Box<dyn std::error::Error>> {
    println!("cargo::rerun-if-changed=kernels");
    let kernels = PathBuf::from(env::var("CARGO_MANIFEST_DIR")?).join("kernels");
    ptx_builder::embed::embed(&kernels, &PathBuf::from(env::var("OUT_DIR")?), false)?;
    Ok(())
}
