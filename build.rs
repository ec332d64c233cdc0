//! Embeds the PTX. STUB of the `gpu` branch: it embeds no module, so that the loader compiles.

use std::{env, error::Error, fs, path::Path};

fn main() -> Result<(), Box<dyn Error>> {
    println!("cargo::rerun-if-changed=build.rs");
    let out = env::var_os("OUT_DIR").ok_or("cargo sets OUT_DIR")?;
    fs::write(
        Path::new(&out).join("ptx.rs"),
        "pub static MODULES: &[PtxModule] = &[];\n\
         pub static TOOLCHAIN: &str = \"none: this build embeds no PTX\";\n\
         pub static SOURCE_HASH: &str = \"\";\n",
    )?;
    Ok(())
}
