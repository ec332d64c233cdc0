//! Tells the build script of `rarefy`, as `DEP_RAREFY_KERNELS_DIR`, where this crate and its PTX lie.

fn main() {
    println!("cargo::rerun-if-changed=build.rs");
    println!(
        "cargo::metadata=dir={}",
        std::env::var("CARGO_MANIFEST_DIR").unwrap_or_default()
    );
}
