//! The work of `build.rs`: decide which PTX the host library embeds, and write the Rust that embeds it.

use std::env;
use std::fmt::Write as _;
use std::fs;
use std::io::Write as _;
use std::path::{Path, PathBuf};

use flate2::Compression;
use flate2::write::DeflateEncoder;

use crate::budget::Budgets;
use crate::compile::{PtxFile, compile};
use crate::error::{Error, Result};
use crate::guard::inspect;
use crate::manifest::Manifest;
use crate::source::DeviceCrate;
use crate::toolchain::Toolchain;

/// Where the embedded PTX came from.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Origin {
    /// The committed files, which belong to the sources.
    Committed,
    /// The committed files, without a look at the sources.
    Unchecked,
    /// A fresh compilation, because the sources have changed.
    Rebuilt,
}

/// Compiles the kernels and inspects the result.
pub fn build(
    krate: &DeviceCrate,
    toolchain: &Toolchain,
    work: &Path,
) -> Result<(Manifest, Vec<PtxFile>)> {
    let hash = krate.source_hash()?;
    let files = compile(krate, toolchain, work)?;
    verify(krate, &files)?;
    Ok((Manifest::new(hash, toolchain, &files), files))
}

/// Inspects PTX with the [guards](crate::guard).
pub fn verify(krate: &DeviceCrate, files: &[PtxFile]) -> Result<()> {
    let budgets = Budgets::read(&krate.budgets_path())?;
    for file in files {
        let faults = inspect(&file.text, &file.entries, |entry| budgets.local(entry));
        if !faults.is_empty() {
            return Err(Error::Refused {
                file: file.name(),
                faults,
            });
        }
    }
    Ok(())
}

/// Chooses the PTX of the device crate in `dir`, and writes `ptx.rs` and the deflated PTX that it names to `out`.
///
/// The committed PTX is taken where its manifest records the hash of the sources, where the crate comes from a registry,
/// and where `trust` says so. Otherwise the kernels are compiled, if there is a toolchain for it.
pub fn embed(dir: &Path, out: &Path, trust: bool) -> Result<Origin> {
    let krate = DeviceCrate::open(dir)?;
    let committed = Manifest::read(&krate.ptx_dir())?;
    let hash = krate.source_hash()?;
    let trust = trust || krate.is_packed();
    let (manifest, folder, origin) = match committed {
        Some(manifest) if manifest.source_hash == hash => {
            (manifest, krate.ptx_dir(), Origin::Committed)
        }
        Some(manifest) if trust => (manifest, krate.ptx_dir(), Origin::Unchecked),
        _ => {
            let folder = out.join("ptx");
            let manifest = rebuild(&krate, &hash, &folder, &out.join("ptx-build"))?;
            (manifest, folder, Origin::Rebuilt)
        }
    };
    for file in manifest.load(&folder)? {
        deflate(&file.text, &deflated(out, &file.name()))?;
    }
    let path = out.join("ptx.rs");
    fs::write(&path, rust_source(&manifest, out)).map_err(Error::io(&path))?;
    Ok(origin)
}

/// Path of the DEFLATE stream of a file of PTX.
fn deflated(out: &Path, name: &str) -> PathBuf {
    out.join(format!("{name}.deflate"))
}

/// PTX repeats itself: a stream has a tenth of the text's size, and unpacks in milliseconds.
fn deflate(text: &str, path: &Path) -> Result<()> {
    let mut encoder = DeflateEncoder::new(Vec::new(), Compression::default());
    encoder
        .write_all(text.as_bytes())
        .and_then(|()| encoder.finish())
        .and_then(|stream| fs::write(path, stream))
        .map_err(Error::io(path))
}

fn rebuild(krate: &DeviceCrate, hash: &str, folder: &Path, work: &Path) -> Result<Manifest> {
    // An earlier run of the same build may have compiled these very sources.
    if let Ok(Some(manifest)) = Manifest::read(folder)
        && manifest.source_hash == hash
        && manifest
            .load(folder)
            .is_ok_and(|files| verify(krate, &files).is_ok())
    {
        return Ok(manifest);
    }
    let toolchain = Toolchain::find()?;
    let (manifest, files) = build(krate, &toolchain, work)?;
    manifest.write(folder, &files)?;
    Ok(manifest)
}

/// The Rust that a program includes, next to `rarefy_simt::gpu::ptx::PtxModule` in scope.
fn rust_source(manifest: &Manifest, out: &Path) -> String {
    let mut source = String::new();
    let _ = writeln!(
        source,
        "/// The PTX of every wing, once for each compute capability it was built for."
    );
    let _ = writeln!(source, "pub static MODULES: &[PtxModule] = &[");
    for file in &manifest.files {
        let _ = writeln!(
            source,
            "    PtxModule::deflated({:?}, {}, &{:?}, include_bytes!({:?})),",
            file.wing,
            file.capability,
            file.entries,
            deflated(out, &file.name).display().to_string()
        );
    }
    let _ = writeln!(source, "];");
    let _ = writeln!(source, "/// The compiler that made the PTX.");
    let _ = writeln!(
        source,
        "pub static TOOLCHAIN: &str = {:?};",
        manifest.toolchain()
    );
    let _ = writeln!(
        source,
        "/// Hash of the sources that the PTX was made from."
    );
    let _ = writeln!(
        source,
        "pub static SOURCE_HASH: &str = {:?};",
        manifest.source_hash
    );
    source
}

/// The whole build script of the host library; `Err` holds what to tell the developer.
///
/// The device crate says where it lies through `links = "rarefy_kernels"`, so this works in the workspace and with
/// packages from a registry.
pub fn build_script() -> std::result::Result<(), String> {
    let variable = |name: &str| env::var_os(name).map(PathBuf::from);
    let dir =
        variable("DEP_RAREFY_KERNELS_DIR").ok_or("rarefy-kernels did not say where it lies")?;
    let out = variable("OUT_DIR").ok_or("OUT_DIR is not set: not a build script")?;
    for part in ["src", "ptx", "Cargo.toml", "budgets.toml"] {
        // A path that does not exist would run the script on every build.
        let path = dir.join(part);
        if path.exists() {
            println!("cargo::rerun-if-changed={}", path.display());
        }
    }
    // A crate that cannot be read is reported below.
    for file in DeviceCrate::open(&dir)
        .iter()
        .flat_map(DeviceCrate::foreign_sources)
    {
        println!("cargo::rerun-if-changed={}", file.display());
    }
    for name in [
        "RAREFY_SKIP_PTX_CHECK",
        "RAREFY_DEVICE_RUSTC",
        "RAREFY_DEVICE_CARGO",
        "RAREFY_LLVM_BIN",
        "DOCS_RS",
    ] {
        println!("cargo::rerun-if-env-changed={name}");
    }
    let set = |name| env::var_os(name).is_some_and(|value| !value.is_empty() && value != "0");
    match embed(&dir, &out, set("RAREFY_SKIP_PTX_CHECK") || set("DOCS_RS")) {
        Ok(Origin::Rebuilt) => {
            println!(
                "cargo::warning=the kernels have changed since the PTX in kernels-gpu/ptx was made; compiled them anew for \
                 this build. Run `cargo xtask ptx build` and commit kernels-gpu/ptx."
            );
            Ok(())
        }
        Ok(Origin::Committed | Origin::Unchecked) => Ok(()),
        Err(error @ Error::NoToolchain { .. }) => Err(format!(
            "the kernels have changed since the PTX in kernels-gpu/ptx was made, and must be compiled anew.\n{error}\n\
             (RAREFY_SKIP_PTX_CHECK=1 embeds the PTX as it is.)"
        )),
        Err(error) => Err(error.to_string()),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::manifest::tests::sample;

    fn device_crate(dir: &Path) -> DeviceCrate {
        fs::create_dir_all(dir.join("src")).unwrap();
        let manifest = "[package]\nname = \"k\"\n[package.metadata.ptx]\ncapabilities = [75]\n";
        fs::write(dir.join("Cargo.toml"), manifest).unwrap();
        fs::write(
            dir.join("src/w.rs"),
            "kernel! { pub fn k(t, x: In<u32>) { } }",
        )
        .unwrap();
        DeviceCrate::open(dir).unwrap()
    }

    #[test]
    fn committed_ptx_of_these_sources_is_embedded() {
        let (dir, out) = (tempfile::tempdir().unwrap(), tempfile::tempdir().unwrap());
        let krate = device_crate(dir.path());
        let (manifest, files) = sample(&krate.source_hash().unwrap());
        manifest.write(&krate.ptx_dir(), &files).unwrap();
        assert_eq!(
            embed(dir.path(), out.path(), false).unwrap(),
            Origin::Committed
        );
        let source = fs::read_to_string(out.path().join("ptx.rs")).unwrap();
        for part in [
            "PtxModule::deflated(\"w\", 75, &[\"k\"], ",
            "w.sm_75.ptx.deflate",
            "TOOLCHAIN",
            "SOURCE_HASH",
        ] {
            assert!(source.contains(part), "{part} in {source}");
        }
    }

    #[test]
    fn stale_ptx_is_embedded_only_on_request_or_from_a_package() {
        let (dir, out) = (tempfile::tempdir().unwrap(), tempfile::tempdir().unwrap());
        let krate = device_crate(dir.path());
        let (manifest, files) = sample("the hash of other sources");
        manifest.write(&krate.ptx_dir(), &files).unwrap();
        // The crate is no real one: without or with a toolchain, compiling it fails.
        assert!(embed(dir.path(), out.path(), false).is_err());
        assert_eq!(
            embed(dir.path(), out.path(), true).unwrap(),
            Origin::Unchecked
        );
        fs::write(dir.path().join("Cargo.toml.orig"), "").unwrap();
        assert_eq!(
            embed(dir.path(), out.path(), false).unwrap(),
            Origin::Unchecked
        );
    }

    #[test]
    fn a_committed_file_that_was_edited_is_refused() {
        let (dir, out) = (tempfile::tempdir().unwrap(), tempfile::tempdir().unwrap());
        let krate = device_crate(dir.path());
        let (manifest, files) = sample(&krate.source_hash().unwrap());
        manifest.write(&krate.ptx_dir(), &files).unwrap();
        fs::write(krate.ptx_dir().join("w.sm_75.ptx"), "edited").unwrap();
        assert!(matches!(
            embed(dir.path(), out.path(), true),
            Err(Error::Malformed { .. })
        ));
    }
}
