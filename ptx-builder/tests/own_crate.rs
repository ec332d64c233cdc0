//! A device crate of a user's own, with kernels made of those of `rarefy-kernels`, compiles to PTX that holds its own kernels only.

use std::path::Path;

use ptx_builder::embed::build;
use ptx_builder::source::DeviceCrate;
use ptx_builder::toolchain::Toolchain;

#[test]
fn a_crate_that_uses_rarefys_kernels_compiles_to_its_own_entries() {
    let Ok(toolchain) = Toolchain::find() else {
        println!("skipped: no device toolchain");
        return;
    };
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("..");
    let krate = DeviceCrate::open(root.join("examples/own_integrand/kernels")).expect("the crate");
    let work = Path::new(env!("CARGO_TARGET_TMPDIR")).join("own");
    let (_, files) = build(&krate, &toolchain, &work).expect("PTX");
    let entries: Vec<&[String]> = files.iter().map(|file| &file.entries[..]).collect();
    assert_eq!(entries, [["integrate_ring_f32", "integrate_ring_f64"]]);
    assert!(files[0].text.contains(".entry integrate_ring_f64"));
    assert!(!files[0].text.contains("integrate_damped"));
}
