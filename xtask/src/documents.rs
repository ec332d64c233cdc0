//! Checks that the documents hold together: every page is in the book, every link leads somewhere.

use std::fs;
use std::path::{Path, PathBuf};

use crate::workspace::root;

fn pages(folder: &Path) -> Vec<PathBuf> {
    let entries = fs::read_dir(folder).unwrap();
    let mut pages: Vec<_> = entries
        .map(|entry| entry.unwrap().path())
        .filter(|path| path.extension().is_some_and(|extension| extension == "md"))
        .collect();
    pages.sort();
    pages
}

/// What `](...)` holds in a text, code blocks left out.
fn links(text: &str) -> Vec<String> {
    let mut fenced = false;
    let mut found = Vec::new();
    for line in text.lines() {
        if line.trim_start().starts_with("```") {
            fenced = !fenced;
        } else if !fenced {
            let targets = line
                .split("](")
                .skip(1)
                .filter_map(|rest| rest.split(')').next());
            found.extend(targets.map(str::to_owned));
        }
    }
    found
}

/// The anchor that Markdown makes of a heading.
fn anchor(heading: &str) -> String {
    let kept = heading.trim().to_lowercase();
    let kept = kept
        .chars()
        .filter(|c| c.is_alphanumeric() || matches!(c, ' ' | '-' | '_'));
    kept.map(|c| if c == ' ' { '-' } else { c }).collect()
}

#[test]
fn every_page_is_in_the_book() {
    let docs = root().join("docs");
    let book = links(&fs::read_to_string(docs.join("SUMMARY.md")).unwrap());
    for page in pages(&docs) {
        let name = page.file_name().unwrap().to_string_lossy().into_owned();
        assert!(
            name == "SUMMARY.md" || book.contains(&name),
            "{name} is not in docs/SUMMARY.md"
        );
    }
}

#[test]
fn every_link_leads_somewhere() {
    let mut checked = 0;
    let folders = [".", "docs", "examples"];
    for page in folders
        .iter()
        .flat_map(|folder| pages(&root().join(folder)))
    {
        let text = fs::read_to_string(&page).unwrap();
        for link in links(&text).iter().filter(|link| !link.contains("://")) {
            let (path, place) = link.split_once('#').unwrap_or((link, ""));
            let target = if path.is_empty() {
                page.clone()
            } else {
                page.parent().unwrap().join(path)
            };
            assert!(target.exists(), "{}: {link} leads nowhere", page.display());
            if !place.is_empty() {
                let headings = fs::read_to_string(&target).unwrap();
                let known = headings
                    .lines()
                    .filter_map(|line| line.strip_prefix('#'))
                    .any(|heading| anchor(heading.trim_start_matches('#')) == place);
                assert!(
                    known,
                    "{}: {} has no heading #{place}",
                    page.display(),
                    target.display()
                );
            }
            checked += 1;
        }
    }
    assert!(checked > 20, "{checked} links found");
}

#[test]
fn every_example_is_listed() {
    let list = links(&fs::read_to_string(root().join("examples/README.md")).unwrap());
    for entry in fs::read_dir(root().join("examples")).unwrap() {
        let name = entry.unwrap().file_name().to_string_lossy().into_owned();
        let is_program = name.ends_with(".rs");
        assert!(
            !is_program || list.contains(&name),
            "{name} is not in examples/README.md"
        );
    }
}

/// What lies in a folder of `docs/` was written by a command: a run of the command, or a bench on a machine with a GPU.
#[test]
fn every_figure_is_made_by_a_command() {
    let docs = root().join("docs");
    let made: Vec<_> = crate::evidence::files()
        .map(|file| docs.join(file))
        .collect();
    let mut found = 0;
    for folder in fs::read_dir(&docs).unwrap() {
        let folder = folder.unwrap().path();
        if !folder.is_dir() || folder.ends_with("benchmarks") {
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
