//! End to end: small device crates with a planted fault, compiled by the real toolchain, must be refused.
//!
//! A guard must find the output of this compiler for faulty Rust, not an assumed output.

use std::fs;
use std::path::{Path, PathBuf};

use ptx_builder::Error;
use ptx_builder::embed::build;
use ptx_builder::guard::FaultKind;
use ptx_builder::source::DeviceCrate;
use ptx_builder::toolchain::Toolchain;

const MANIFEST: &str = r#"
[package]
name = "faulty"
edition = "2024"
[lib]
path = "src/lib.rs"
[package.metadata.ptx]
capabilities = [75]
[workspace]
"#;

const PRELUDE: &str = r#"
#![no_std]
#![feature(abi_ptx, stdarch_nvptx)]
#![allow(unused, internal_features)]
use core::arch::nvptx::_thread_idx_x as thread;
macro_rules! kernel {
    (pub fn $name:ident($($argument:ident: $ty:ty),*) $body:block) => {
        #[unsafe(no_mangle)]
        pub unsafe extern "ptx-kernel" fn $name($($argument: $ty),*) { unsafe { $body } }
    };
}
#[panic_handler]
fn panic(_: &core::panic::PanicInfo<'_>) -> ! { loop {} }
"#;

/// One place for all crates, so that `core` is compiled once.
fn work() -> PathBuf {
    Path::new(env!("CARGO_TARGET_TMPDIR")).join("faulty")
}

/// The faults that compiling a crate with this code brings up.
fn faults(toolchain: &Toolchain, code: &str) -> Result<(), Vec<FaultKind>> {
    let dir = tempfile::tempdir().expect("a folder for the crate");
    fs::create_dir(dir.path().join("src")).expect("a folder for the source");
    fs::write(dir.path().join("Cargo.toml"), MANIFEST).expect("a manifest");
    fs::write(dir.path().join("src/lib.rs"), PRELUDE.to_owned() + code).expect("a source");
    let krate = DeviceCrate::open(dir.path()).expect("a device crate");
    match build(&krate, toolchain, &work()) {
        Ok(_) => Ok(()),
        Err(Error::Refused { faults, .. }) => {
            Err(faults.into_iter().map(|fault| fault.kind).collect())
        }
        Err(error) => panic!("{error}"),
    }
}

#[test]
fn faulty_kernels_are_refused() {
    let toolchain = match Toolchain::find() {
        Ok(toolchain) => toolchain,
        Err(error) => return eprintln!("skipped: {error}"),
    };
    let refused = |code: &str| faults(&toolchain, code).expect_err(code);

    let sound =
        "kernel! { pub fn sound(x: *mut f32, len: usize) { *x.add(thread() as usize) += 1.0; } }";
    assert_eq!(faults(&toolchain, sound), Ok(()));

    // Indexing that can panic; this crate's handler is an endless loop, which the optimiser may inline.
    let found = refused(
        "kernel! { pub fn panics(x: *mut f32, len: usize) {
            let x = core::slice::from_raw_parts_mut(x, len);
            x[thread() as usize] += 1.0;
        } }",
    );
    let panics = |kind: &FaultKind| {
        matches!(
            kind,
            FaultKind::Call
                | FaultKind::Function(_)
                | FaultKind::Panic(_)
                | FaultKind::Abort(_)
                | FaultKind::EndlessLoop
        )
    };
    assert!(found.iter().any(panics), "{found:?}");

    // Division that can panic.
    let found = refused(
        "kernel! { pub fn divides(x: *mut u32, y: u32) { *x.add(thread() as usize) /= y; } }",
    );
    assert!(found.iter().any(panics), "{found:?}");

    // A function that is not inlined.
    let found = refused(
        "#[inline(never)] fn helper(x: *mut f32) { unsafe { core::ptr::write_volatile(x, 1.0) } }
         kernel! { pub fn calls(x: *mut f32) { helper(x); helper(x.add(thread() as usize)); } }",
    );
    assert!(
        found
            .iter()
            .any(|kind| matches!(kind, FaultKind::Function(_))),
        "{found:?}"
    );

    // An array that is indexed at run time.
    let found = refused(
        "kernel! { pub fn spills(x: *mut u32, n: u32) {
            let mut a = [0u32; 64];
            let mut i = 0;
            while i < n { *a.get_unchecked_mut((*x.add(i as usize) % 64) as usize) += i; i += 1; }
            *x = *a.get_unchecked((n % 64) as usize);
        } }",
    );
    assert!(
        found
            .iter()
            .any(|kind| matches!(kind, FaultKind::LocalMemory { .. })),
        "{found:?}"
    );

    // A pointer that comes out of memory has lost its state space.
    let found = refused(
        "kernel! { pub fn generic(x: *const *mut f32) { **x.add(thread() as usize) = 1.0; } }",
    );
    assert!(
        found
            .iter()
            .any(|kind| matches!(kind, FaultKind::GenericAccess(_))),
        "{found:?}"
    );

    a_kernel_that_no_declaration_names_is_refused(&toolchain);
}

/// Not a test of its own, since it would compile `core` once more.
fn a_kernel_that_no_declaration_names_is_refused(toolchain: &Toolchain) {
    let dir = tempfile::tempdir().expect("a folder for the crate");
    fs::create_dir(dir.path().join("src")).expect("a folder for the source");
    fs::write(dir.path().join("Cargo.toml"), MANIFEST).expect("a manifest");
    let stray = "
        kernel! { pub fn declared(x: *mut f32) { *x = 1.0; } }
        #[unsafe(no_mangle)] pub unsafe extern \"ptx-kernel\" fn stray(x: *mut f32) { unsafe { *x = 2.0; } }";
    fs::write(dir.path().join("src/lib.rs"), PRELUDE.to_owned() + stray).expect("a source");
    let krate = DeviceCrate::open(dir.path()).expect("a device crate");
    let error = build(&krate, toolchain, &work()).expect_err("a stray kernel");
    assert!(
        matches!(&error, Error::Entries { unexpected, .. } if unexpected == &["stray"]),
        "{error}"
    );
}
