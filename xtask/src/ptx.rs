//! `cargo xtask ptx`: the PTX of the kernels.

use std::collections::{BTreeMap, BTreeSet};
use std::fs;
use std::path::PathBuf;
use std::process::Command;

use anyhow::{Context, Result, bail};
use clap::Subcommand;
use ptx_builder::assembler::{Assembler, Usage, chosen, find_tool};
use ptx_builder::budget::{ARCHITECTURES, Budgets};
use ptx_builder::compile::PtxFile;
use ptx_builder::embed::{build, verify};
use ptx_builder::manifest::Manifest;
use ptx_builder::source::DeviceCrate;
use ptx_builder::toolchain::Toolchain;

use crate::workspace::{root, target_dir};

#[derive(Subcommand)]
pub(crate) enum Chore {
    /// Compile the kernels and write kernels-gpu/ptx
    Build,
    /// Compile the kernels and compare with kernels-gpu/ptx; assemble for every architecture; compare budgets
    Check,
    /// Rewrite kernels-gpu/budgets.toml from what the committed PTX uses
    Budget,
    /// Print the machine code of one kernel
    Sass {
        /// Entry point, such as collect_f32
        kernel: String,
        /// Compute capability, 90 for 9.0
        #[arg(long, default_value_t = 90)]
        arch: u32,
    },
}

type Usages = BTreeMap<u32, BTreeMap<String, Usage>>;

pub(crate) fn run(chore: &Chore) -> Result<()> {
    let krate = DeviceCrate::open(root().join("kernels-gpu"))?;
    match chore {
        Chore::Build => make(&krate),
        Chore::Check => check(&krate),
        Chore::Budget => renew_budgets(&krate),
        Chore::Sass { kernel, arch } => print_sass(&krate, kernel, *arch),
    }
}

/// Where intermediate files go.
fn work() -> PathBuf {
    target_dir().join("ptx")
}

fn make(krate: &DeviceCrate) -> Result<()> {
    let toolchain = Toolchain::find()?;
    let (manifest, files) = build(krate, &toolchain, &work())?;
    manifest.write(&krate.ptx_dir(), &files)?;
    println!("{}", manifest.toolchain());
    for file in &files {
        println!(
            "kernels-gpu/ptx/{}: {} kernels, {} bytes",
            file.name(),
            file.entries.len(),
            file.text.len()
        );
    }
    let assembler = match Assembler::find() {
        Ok(assembler) => assembler,
        Err(error) => {
            println!("not assembled: {error}");
            return Ok(());
        }
    };
    let usages = assembler.assemble_all(&files, &work())?;
    print_table(&usages);
    let mut budgets = Budgets::read(&krate.budgets_path())?;
    if budgets.follow(&usages) {
        budgets.write(&krate.budgets_path())?;
        println!("kernels-gpu/budgets.toml: took up new kernels, dropped removed ones");
    }
    compare_budgets(&budgets, &usages)
}

fn check(krate: &DeviceCrate) -> Result<()> {
    let (committed, files) = committed(krate)?;
    verify(krate, &files)?;
    println!(
        "committed PTX: {} files of the present sources, guards passed",
        files.len()
    );

    let toolchain = Toolchain::find()?;
    let (rebuilt, fresh) = build(krate, &toolchain, &work())?;
    if committed.made_by(&toolchain) {
        compare_bytes(&files, &fresh)?;
        println!("rebuilt with {}: the same bytes", rebuilt.toolchain());
    } else {
        compare_kernels(&files, &fresh)?;
        println!(
            "rebuilt with {}, committed from {}: the same kernels; bytes are compared only for one and the same compiler",
            rebuilt.toolchain(),
            committed.toolchain()
        );
    }

    let assembler = Assembler::find()?;
    let budgets = Budgets::read(&krate.budgets_path())?;
    let usages = assembler.assemble_all(&files, &work())?;
    compare_budgets(&budgets, &usages)?;
    if !committed.made_by(&toolchain) {
        compare_budgets(&budgets, &assembler.assemble_all(&fresh, &work())?)?;
    }
    let architectures: Vec<_> = usages
        .keys()
        .map(|architecture| format!("sm_{architecture}"))
        .collect();
    println!(
        "assembled by ptxas {} for {}: within the budgets",
        assembler.version()?,
        architectures.join(" ")
    );
    Ok(())
}

fn renew_budgets(krate: &DeviceCrate) -> Result<()> {
    let (_, files) = committed(krate)?;
    let usages = Assembler::find()?.assemble_all(&files, &work())?;
    let mut budgets = Budgets::read(&krate.budgets_path())?;
    for overrun in budgets.compare(&usages) {
        println!("was: {overrun}");
    }
    budgets.renew(&usages);
    budgets.write(&krate.budgets_path())?;
    print_table(&usages);
    compare_budgets(&budgets, &usages)
        .context("an architecture without a row of its own exceeds the rows")
}

fn print_sass(krate: &DeviceCrate, kernel: &str, architecture: u32) -> Result<()> {
    let (_, files) = committed(krate)?;
    let Some(file) = chosen(&files, kernel, architecture) else {
        let known: BTreeSet<_> = files.iter().flat_map(|file| &file.entries).collect();
        let known: Vec<_> = known.into_iter().map(String::as_str).collect();
        bail!(
            "no kernel {kernel} for sm_{architecture}; there are {}",
            known.join(", ")
        );
    };
    fs::create_dir_all(work())?;
    let cubin = work().join(format!("{}.sass.cubin", file.wing));
    let usages = Assembler::find()?.assemble(&file.text, architecture, &cubin)?;
    let output = Command::new(find_tool("nvdisasm")?)
        .arg("-c")
        .arg(&cubin)
        .output()
        .context("nvdisasm")?;
    if !output.status.success() {
        bail!("nvdisasm: {}", String::from_utf8_lossy(&output.stderr));
    }
    let text = String::from_utf8_lossy(&output.stdout);
    let heading = format!(".section\t.text.{kernel},");
    let section = text
        .lines()
        .skip_while(|line| !line.trim().starts_with(&heading));
    let section: Vec<_> = section
        .enumerate()
        .take_while(|(i, line)| *i == 0 || !line.contains(".section"))
        .map(|x| x.1)
        .collect();
    if section.is_empty() {
        bail!("nvdisasm shows no section of {kernel}");
    }
    println!("{}", section.join("\n"));

    let mut counts: BTreeMap<&str, usize> = BTreeMap::new();
    for line in &section {
        // `/*0010*/  @P0 LDS.128 R4, [R2] ;`
        let Some((_, code)) = line.split_once("*/") else {
            continue;
        };
        let opcode = code
            .split_whitespace()
            .find(|word| !word.starts_with('@') && !word.starts_with('{'));
        if let Some(opcode) = opcode.and_then(|word| word.split(['.', ';']).next()) {
            *counts.entry(opcode).or_default() += 1;
        }
    }
    let mut counts: Vec<_> = counts.into_iter().collect();
    counts.sort_by_key(|&(opcode, count)| (usize::MAX - count, opcode));
    let counts: Vec<_> = counts
        .iter()
        .map(|(opcode, count)| format!("{count} {opcode}"))
        .collect();
    println!(
        "// {kernel} on sm_{architecture}: {:?}",
        usages.get(kernel).copied().unwrap_or_default()
    );
    println!("// {}", counts.join(", "));
    Ok(())
}

/// The committed PTX, provided it belongs to the present sources.
fn committed(krate: &DeviceCrate) -> Result<(Manifest, Vec<PtxFile>)> {
    const REMEDY: &str = "run `cargo xtask ptx build` and commit kernels-gpu/ptx";
    let manifest = Manifest::read(&krate.ptx_dir())?
        .with_context(|| format!("kernels-gpu/ptx has no manifest; {REMEDY}"))?;
    if manifest.source_hash != krate.source_hash()? {
        bail!("kernels-gpu/ptx was made from other sources; {REMEDY}");
    }
    let files = manifest.load(&krate.ptx_dir())?;
    Ok((manifest, files))
}

fn compare_kernels(committed: &[PtxFile], fresh: &[PtxFile]) -> Result<()> {
    let kernels = |files: &[PtxFile]| {
        files
            .iter()
            .map(|file| (file.name(), file.entries.clone()))
            .collect::<Vec<_>>()
    };
    if kernels(committed) != kernels(fresh) {
        bail!(
            "committed {:?}\nbut the sources make {:?}",
            kernels(committed),
            kernels(fresh)
        );
    }
    Ok(())
}

fn compare_bytes(committed: &[PtxFile], fresh: &[PtxFile]) -> Result<()> {
    compare_kernels(committed, fresh)?;
    for (old, new) in committed.iter().zip(fresh) {
        if old.text == new.text {
            continue;
        }
        let mut lines = old.text.lines().zip(new.text.lines()).enumerate();
        let place = lines.find(|(_, (old, new))| old != new);
        let place = place.map_or_else(
            || "one is longer".to_owned(),
            |(index, (old, new))| {
                format!(
                    "line {}:\n  committed: {old}\n  rebuilt:   {new}",
                    index + 1
                )
            },
        );
        bail!(
            "{} differs from a rebuild by the same compiler, {place}\nRun `cargo xtask ptx build` and commit.",
            old.name()
        );
    }
    Ok(())
}

fn compare_budgets(budgets: &Budgets, usages: &Usages) -> Result<()> {
    let overruns = budgets.compare(usages);
    if overruns.is_empty() {
        return Ok(());
    }
    let lines: Vec<_> = overruns
        .iter()
        .map(|overrun| format!("\n  - {overrun}"))
        .collect();
    bail!(
        "kernels-gpu/budgets.toml does not hold:{}\nIf that is meant, run `cargo xtask ptx budget` and commit.",
        lines.concat()
    )
}

fn print_table(usages: &Usages) {
    println!(
        "{:<44} {:>6} {:>9} {:>6} {:>6} {:>7}",
        "kernel", "arch", "registers", "spill", "stack", "shared"
    );
    for architecture in ARCHITECTURES {
        for (kernel, usage) in usages.get(&architecture).into_iter().flatten() {
            let Usage {
                registers,
                spill,
                stack,
                shared,
                ..
            } = usage;
            println!(
                "{kernel:<44} {:>6} {registers:>9} {spill:>6} {stack:>6} {shared:>7}",
                format!("sm_{architecture}")
            );
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn file(text: &str, entries: &[&str]) -> PtxFile {
        let entries = entries.iter().map(|entry| (*entry).to_owned()).collect();
        PtxFile {
            wing: "w".into(),
            capability: 75,
            entries,
            text: text.into(),
        }
    }

    #[test]
    fn a_changed_byte_is_found_and_shown() {
        assert!(compare_bytes(&[file("a\nb\n", &["k"])], &[file("a\nb\n", &["k"])]).is_ok());
        let error = compare_bytes(&[file("a\nb\n", &["k"])], &[file("a\nc\n", &["k"])])
            .unwrap_err()
            .to_string();
        assert!(
            error.contains("line 2") && error.contains("committed: b"),
            "{error}"
        );
        let error = compare_bytes(&[file("a\n", &["k"])], &[file("a\nc\n", &["k"])])
            .unwrap_err()
            .to_string();
        assert!(error.contains("longer"), "{error}");
    }

    #[test]
    fn a_missing_kernel_is_found() {
        let error = compare_kernels(&[file("", &["k", "lost"])], &[file("", &["k"])])
            .unwrap_err()
            .to_string();
        assert!(error.contains("lost"), "{error}");
    }

    #[test]
    fn an_overrun_names_the_remedy() {
        let usages = BTreeMap::from([(75, BTreeMap::from([("k".to_owned(), Usage::default())]))]);
        let error = compare_budgets(&Budgets::default(), &usages)
            .unwrap_err()
            .to_string();
        assert!(error.contains("ptx budget"), "{error}");
    }
}
