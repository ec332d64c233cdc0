//! From the device crate to one PTX text per wing and capability.
//!
//! The steps are those of `docs/ptx.md`: cargo to LLVM bitcode, `llvm-link` with the definition of shared memory,
//! `opt` with everything but a wing's entries internal, `llc`. Neither paths nor times reach the result: the same
//! sources and the same compiler give the same bytes in every checkout.

use std::collections::BTreeSet;
use std::fs;
use std::path::Path;
use std::process::Command;

use crate::error::{Error, Result};
use crate::parallel::in_parallel;
use crate::recipe::{CARGO_ARGUMENTS, PASSES, PROFILE, RUSTC_ARGUMENTS, TARGET, UNROLL};
use crate::source::{DeviceCrate, LaunchBounds, SHARED_MEMORY_IR};
use crate::toolchain::Toolchain;

/// The PTX of one wing for one compute capability.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct PtxFile {
    /// Name of the wing.
    pub wing: String,
    /// Compute capability, 75 for 7.5.
    pub capability: u32,
    /// Entry points, sorted.
    pub entries: Vec<String>,
    /// The PTX.
    pub text: String,
}

impl PtxFile {
    /// Name of the file: `collision.sm_75.ptx`.
    pub fn name(&self) -> String {
        format!("{}.sm_{}.ptx", self.wing, self.capability)
    }
}

/// Compiles every wing for every capability. Intermediate files go to `work`.
///
/// The result is not verified yet; see [`guard`](crate::guard).
pub fn compile(krate: &DeviceCrate, toolchain: &Toolchain, work: &Path) -> Result<Vec<PtxFile>> {
    let declared: BTreeSet<String> = krate
        .wings()
        .iter()
        .flat_map(|wing| wing.entries.values().flatten().cloned())
        .collect();
    let capabilities: BTreeSet<u32> = krate
        .wings()
        .iter()
        .flat_map(|wing| wing.entries.keys().copied())
        .collect();
    let mut files = Vec::new();
    for capability in capabilities {
        let work = work.join(format!("sm_{capability}"));
        let linked = link(krate, toolchain, capability, &work)?;
        let mut compiled = compiled_entries(toolchain, &linked, &work)?;
        if krate.has_foreign_kernels() {
            compiled.retain(|entry| declared.contains(entry));
        }
        if compiled != declared {
            return Err(Error::Entries {
                missing: declared.difference(&compiled).cloned().collect(),
                unexpected: compiled.difference(&declared).cloned().collect(),
            });
        }
        let wings = krate
            .wings()
            .iter()
            .filter_map(|wing| Some((&wing.name, wing.entries.get(&capability)?)));
        files.extend(in_parallel(wings, |(wing, entries)| {
            let text = generate(toolchain, &linked, wing, entries, capability, &work)?;
            let text = with_launch_bounds(text, |entry| krate.launch_bounds(entry));
            Ok(PtxFile {
                wing: wing.clone(),
                capability,
                entries: entries.clone(),
                text,
            })
        })?);
    }
    files.sort_by_key(PtxFile::name);
    Ok(files)
}

/// Compiles the crate and links the definition of shared memory; the path of the bitcode.
fn link(
    krate: &DeviceCrate,
    toolchain: &Toolchain,
    capability: u32,
    work: &Path,
) -> Result<std::path::PathBuf> {
    fs::create_dir_all(work).map_err(Error::io(work))?;
    let mut cargo = toolchain.cargo();
    cargo
        .current_dir(krate.dir())
        .args(CARGO_ARGUMENTS)
        .arg("--manifest-path")
        .arg(krate.dir().join("Cargo.toml"))
        .arg("--target-dir")
        .arg(work)
        .arg("--")
        .args(RUSTC_ARGUMENTS)
        .envs(PROFILE)
        // Of every crate, `core` included: functions of different target CPUs do not inline into each other.
        .env(
            "RUSTFLAGS",
            format!("-Ctarget-cpu=sm_{capability} -Cllvm-args={UNROLL}"),
        );
    run(
        &mut cargo,
        &format!("compiling {} for sm_{capability}", krate.package()),
    )?;

    let bitcode = format!(
        "{TARGET}/release/deps/{}.bc",
        krate.package().replace('-', "_")
    );
    let shared_memory = work.join("shared_memory.ll");
    fs::write(&shared_memory, SHARED_MEMORY_IR).map_err(Error::io(&shared_memory))?;
    let linked = work.join("linked.bc");
    let mut llvm_link = toolchain.llvm("llvm-link");
    llvm_link
        .arg(work.join(bitcode))
        .arg(&shared_memory)
        .arg("-o")
        .arg(&linked);
    run(&mut llvm_link, "linking the definition of shared memory")?;
    Ok(linked)
}

/// Names of all kernels in a bitcode file.
fn compiled_entries(toolchain: &Toolchain, linked: &Path, work: &Path) -> Result<BTreeSet<String>> {
    let path = work.join("linked.ll");
    run(
        toolchain.llvm("llvm-dis").arg(linked).arg("-o").arg(&path),
        "disassembling the bitcode",
    )?;
    let text = fs::read_to_string(&path).map_err(Error::io(&path))?;
    let definitions = text
        .lines()
        .filter(|line| line.starts_with("define ") && line.contains(" ptx_kernel "));
    Ok(definitions
        .filter_map(|line| Some(line.split_once('@')?.1.split_once('(')?.0.to_owned()))
        .collect())
}

/// Writes the launch bounds of each entry behind its parameters, where PTX wants them; rustc cannot.
fn with_launch_bounds(text: String, bounds: impl Fn(&str) -> Option<LaunchBounds>) -> String {
    let mut out = String::with_capacity(text.len());
    let mut open = None;
    for line in text.lines() {
        if let Some((_, rest)) = line.split_once(".entry ") {
            open = bounds(rest.split('(').next().unwrap_or_default().trim());
        }
        if line == "{"
            && let Some(LaunchBounds { threads, blocks }) = open.take()
        {
            out.push_str(&format!(
                ".maxntid {threads}, 1, 1\n.minnctapersm {blocks}\n"
            ));
        }
        out.push_str(line);
        out.push('\n');
    }
    out
}

/// Optimises and compiles what some entries of a wing need.
fn generate(
    toolchain: &Toolchain,
    linked: &Path,
    wing: &str,
    entries: &[String],
    capability: u32,
    work: &Path,
) -> Result<String> {
    let cpu = format!("-mcpu=sm_{capability}");
    let optimised = work.join(format!("{wing}.bc"));
    let mut opt = toolchain.llvm("opt");
    opt.args([&cpu, UNROLL]).arg(format!("-passes={PASSES}"));
    opt.arg(format!(
        "-internalize-public-api-list={}",
        entries.join(",")
    ));
    run(
        opt.arg(linked).arg("-o").arg(&optimised),
        &format!("optimising {wing}"),
    )?;

    let path = work.join(format!("{wing}.ptx"));
    let mut llc = toolchain.llvm("llc");
    run(
        llc.args(["-O3", &cpu]).arg(&optimised).arg("-o").arg(&path),
        &format!("generating PTX of {wing}"),
    )?;
    let text = fs::read_to_string(&path).map_err(Error::io(&path))?;
    let heading = format!(
        "// rarefy: {wing} for compute capability sm_{capability}. Made by `cargo xtask ptx build`.\n"
    );
    Ok(heading + &without_comments(&text))
}

/// PTX without LLVM's comments, trailing blanks and empty lines at the start.
fn without_comments(text: &str) -> String {
    let lines = text.lines().filter_map(|line| {
        let code = line.split("//").next().unwrap_or_default().trim_end();
        // A line that was nothing but a comment goes; one that was empty stays.
        (!code.is_empty() || line.trim().is_empty()).then_some(code)
    });
    let mut text: String = lines
        .skip_while(|line| line.is_empty())
        .flat_map(|line| [line, "\n"])
        .collect();
    text.truncate(text.trim_end().len());
    text + "\n"
}

pub(crate) fn run(command: &mut Command, what: &str) -> Result<String> {
    let failed = |output: String| Error::Command {
        what: what.to_owned(),
        output,
    };
    let program = command.get_program().to_owned();
    let output = command
        .output()
        .map_err(|e| failed(format!("{}: {e}", program.display())))?;
    let stdout = String::from_utf8_lossy(&output.stdout).into_owned();
    let stderr = String::from_utf8_lossy(&output.stderr);
    if output.status.success() {
        Ok(stdout + &stderr)
    } else {
        Err(failed(format!("{stdout}{stderr}")))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn comments_go_and_code_stays() {
        let text = "//\n// LLVM\n//\n\n.version 6.3\n\n\tld.global.b32 \t%r1, [%rd1]; // x\n// %bb.0:\n}\n  // -- End\n\n\n";
        assert_eq!(
            without_comments(text),
            ".version 6.3\n\n\tld.global.b32 \t%r1, [%rd1];\n}\n"
        );
    }

    #[test]
    fn a_failing_command_shows_what_it_printed() {
        let error = run(
            Command::new("sh").args(["-c", "echo reason >&2; exit 3"]),
            "testing",
        )
        .unwrap_err();
        let message = error.to_string();
        assert!(
            message.contains("testing") && message.contains("reason"),
            "{message}"
        );
    }

    #[test]
    fn launch_bounds_stand_between_parameters_and_body() {
        let text = ".visible .entry a(\n\t.param .u64 p\n)\n{\n\tret;\n}\n.visible .entry b()\n{\n\tret;\n}\n";
        let bounds = |entry: &str| {
            (entry == "a").then_some(LaunchBounds {
                threads: 384,
                blocks: 2,
            })
        };
        let out = with_launch_bounds(text.to_owned(), bounds);
        let expected = text.replacen(")\n{", ")\n.maxntid 384, 1, 1\n.minnctapersm 2\n{", 1);
        assert_eq!(out, expected);
    }
}
