//! The PTX that the library embeds, as the build script left it.

use std::collections::BTreeSet;

use ptx_builder::guard::inspect;
use rarefy::Result;
use rarefy::gpu::ptx::{MODULES, SOURCE_HASH, TOOLCHAIN};
use rarefy::machine::{Grid, Machine};
use rarefy_kernels::collision::{SPECTRAL_PERIODS, collect};

#[test]
fn every_module_passes_the_guards() {
    assert!(!MODULES.is_empty());
    for module in MODULES {
        let entries: Vec<_> = module
            .entries
            .iter()
            .map(|&entry| entry.to_owned())
            .collect();
        // The build has checked local memory against the budgets, which do not travel with a bundle.
        let faults = inspect(&module.text().unwrap(), &entries, |_| u64::MAX);
        assert!(
            faults.is_empty(),
            "{} for sm_{}: {faults:?}",
            module.wing,
            module.capability
        );
    }
}

#[test]
fn the_loader_finds_something_for_every_supported_device() {
    let wings: BTreeSet<_> = MODULES.iter().map(|module| module.wing).collect();
    for wing in wings {
        let least = MODULES
            .iter()
            .filter(|module| module.wing == wing)
            .map(|module| module.capability)
            .min();
        assert_eq!(least, Some(75), "{wing}");
    }
}

#[test]
fn every_period_of_the_spectral_method_has_its_kernels() {
    let entries: BTreeSet<_> = MODULES.iter().flat_map(|module| module.entries).collect();
    for period in SPECTRAL_PERIODS {
        for precision in ["f32", "f64"] {
            let entry = format!("spectral_planes_{period}_{precision}");
            assert!(entries.contains(&entry.as_str()), "{entry}");
        }
    }
}

#[test]
fn every_module_says_for_which_device_it_is() {
    for module in MODULES {
        let target = format!(".target sm_{}\n", module.capability);
        assert!(
            module.text().unwrap().contains(&target),
            "{} for sm_{}",
            module.wing,
            module.capability
        );
    }
}

#[test]
fn an_entry_belongs_to_one_wing() {
    let mut owners = BTreeSet::new();
    for module in MODULES {
        owners.extend(module.entries.iter().map(|&entry| (entry, module.wing)));
    }
    let entries: BTreeSet<_> = owners.iter().map(|(entry, _)| entry).collect();
    assert_eq!(entries.len(), owners.len(), "{owners:?}");
}

#[test]
fn modules_hold_no_path_of_the_machine_that_made_them() {
    for module in MODULES {
        let text = module.text().unwrap();
        let code = text.lines().filter(|line| !line.starts_with("//"));
        let mut paths = code.filter(|line| line.contains('/') || line.contains(".rs"));
        assert_eq!(paths.next(), None, "{}", module.wing);
    }
}

#[test]
fn the_origin_of_the_modules_is_known() {
    assert!(
        TOOLCHAIN.starts_with("rustc ") && TOOLCHAIN.contains("LLVM"),
        "{TOOLCHAIN}"
    );
    assert_eq!(SOURCE_HASH.len(), 64);
}

/// The launch from which those of `kernels-gpu/tests/compile_fail` deviate. The element type follows from the
/// buffers, whatever the machine.
#[allow(dead_code, reason = "that it compiles is the test")]
fn accepted_launch<M: Machine>(
    machine: &M,
    parts: &M::Buffer<f32>,
    first: &M::Buffer<u32>,
    sums: &mut M::Buffer<f32>,
) -> Result<()> {
    let kernel = collect {
        buffer: parts,
        first,
        out: sums,
        plane: 100,
    };
    Ok(machine.launch(Grid::per_item(1000, 128), kernel)?)
}
