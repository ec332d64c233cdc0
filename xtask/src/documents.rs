//! Checks that documents name what the repository holds: examples, figures, dependencies. `scripts/check-documents.sh` checks prose and links.

use std::fs;

use crate::workspace::root;

#[test]
fn every_example_is_listed() {
    let list = fs::read_to_string(root().join("examples/README.md")).unwrap();
    for entry in fs::read_dir(root().join("examples")).unwrap() {
        let name = entry.unwrap().file_name().to_string_lossy().into_owned();
        let is_program = name.ends_with(".rs");
        assert!(
            !is_program || list.contains(&format!("]({name})")),
            "{name} is not in examples/README.md"
        );
    }
}

/// A command wrote each figure and table in the folders of `docs/`: a run of the command, or a bench on a machine with a GPU.
#[test]
fn every_figure_is_made_by_a_command() {
    let docs = root().join("docs");
    let files = crate::evidence::files();
    let made: Vec<_> = files
        .filter(|file| !file.starts_with("../"))
        .map(|file| docs.join(file))
        .collect();
    let mut found = 0;
    for folder in fs::read_dir(&docs).unwrap() {
        let folder = folder.unwrap().path();
        if !folder.is_dir()
            || ["benchmarks", "history", "schemas"]
                .iter()
                .any(|name| folder.ends_with(name))
        {
            continue;
        }
        for file in fs::read_dir(&folder).unwrap() {
            let file = file.unwrap().path();
            assert!(
                made.contains(&file),
                "`cargo xtask evidence` does not make {}",
                file.display()
            );
            found += 1;
        }
    }
    assert_eq!(
        found,
        made.len(),
        "a file of `cargo xtask evidence` is missing"
    );
}

#[test]
fn every_dependency_is_justified() {
    let architecture = fs::read_to_string(root().join("ARCHITECTURE.md")).unwrap();
    let ours = ["rarefy-kernels", "rarefy-simt", "ptx-builder"];
    for manifest in ["", "kernels-gpu", "ptx-builder", "simt", "xtask"] {
        let manifest = root().join(manifest).join("Cargo.toml");
        let text = fs::read_to_string(&manifest).unwrap();
        let mut names = Vec::new();
        let mut within = false;
        for line in text.lines() {
            if line.starts_with('[') {
                within = line.ends_with("dependencies]");
            } else if within && let Some((name, _)) = line.split_once(" = ") {
                names.push(name);
            }
        }
        assert!(!names.is_empty(), "{}", manifest.display());
        for name in names.into_iter().filter(|name| !ours.contains(name)) {
            assert!(
                architecture.contains(&format!("`{name}`")),
                "ARCHITECTURE.md does not say what {name} is for"
            );
        }
    }
}
