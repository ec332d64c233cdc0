//! Finding a Rust compiler and the LLVM tools that can make PTX, or saying what is missing.

use std::env;
use std::ffi::OsStr;
use std::path::{Path, PathBuf};
use std::process::Command;

use crate::error::{Error, Result};

/// First minor version of Rust 1 that compiles the kernels.
const LEAST_MINOR: u32 = 95;
/// The LLVM programs that a build runs.
const LLVM_TOOLS: [&str; 4] = ["llvm-link", "llvm-dis", "opt", "llc"];

/// A compiler, its cargo, and the LLVM tools of the compiler's LLVM.
#[derive(Clone, Debug)]
pub struct Toolchain {
    rustc: PathBuf,
    cargo: PathBuf,
    llvm: PathBuf,
    rustc_version: String,
    llvm_version: String,
}

impl Toolchain {
    /// Looks, in this order, at
    ///
    /// 1. `RAREFY_DEVICE_RUSTC`, with `RAREFY_DEVICE_CARGO` or the cargo next to it,
    /// 2. the distribution's `/usr/bin/rustc`, as Debian's package `rustc-web` installs it,
    /// 3. the nightly toolchains of rustup.
    ///
    /// Each needs the sources of `core` (`rust-web-src`, component `rust-src`) and LLVM tools of the major version that the
    /// compiler reports: in `RAREFY_LLVM_BIN`, in the toolchain (component `llvm-tools`), or in `/usr/lib/llvm-NN/bin`.
    pub fn find() -> Result<Self> {
        let variable = |name: &str| {
            env::var_os(name)
                .filter(|value| !value.is_empty())
                .map(PathBuf::from)
        };
        let llvm = variable("RAREFY_LLVM_BIN");
        if let Some(rustc) = variable("RAREFY_DEVICE_RUSTC") {
            let cargo =
                variable("RAREFY_DEVICE_CARGO").unwrap_or_else(|| rustc.with_file_name("cargo"));
            return Self::examine(rustc, cargo, llvm.as_deref())
                .map_err(|why| Error::NoToolchain { tried: vec![why] });
        }
        let mut tried = Vec::new();
        for rustc in [PathBuf::from("/usr/bin/rustc")]
            .into_iter()
            .chain(nightlies())
        {
            let cargo =
                variable("RAREFY_DEVICE_CARGO").unwrap_or_else(|| rustc.with_file_name("cargo"));
            match Self::examine(rustc, cargo, llvm.as_deref()) {
                Ok(found) => return Ok(found),
                Err(why) => tried.push(why),
            }
        }
        if tried.len() == 1 {
            tried.push("rustup has no nightly toolchain".to_owned());
        }
        Err(Error::NoToolchain { tried })
    }

    fn examine(
        rustc: PathBuf,
        cargo: PathBuf,
        llvm: Option<&Path>,
    ) -> std::result::Result<Self, String> {
        let name = rustc.display().to_string();
        let about = output(Command::new(&rustc).arg("-vV"))
            .ok_or_else(|| format!("{name} is not there or fails"))?;
        let field = |key: &str| {
            about
                .lines()
                .find_map(|line| line.strip_prefix(key))
                .map(str::trim)
        };
        let rustc_version = about.lines().next().unwrap_or_default().trim().to_owned();
        let release = field("release:").unwrap_or_default();
        let minor = release
            .split('.')
            .nth(1)
            .and_then(|minor| minor.parse::<u32>().ok())
            .unwrap_or(0);
        if minor < LEAST_MINOR {
            return Err(format!(
                "{name} is version {release}; the kernels need 1.{LEAST_MINOR} or later"
            ));
        }
        if output(Command::new(&cargo).arg("-V")).is_none() {
            return Err(format!(
                "{name} comes without a cargo ({} is not there or fails)",
                cargo.display()
            ));
        }
        let sysroot = output(Command::new(&rustc).args(["--print", "sysroot"])).unwrap_or_default();
        let sysroot = Path::new(sysroot.trim());
        if !sysroot
            .join("lib/rustlib/src/rust/library/core/src/lib.rs")
            .exists()
        {
            return Err(format!(
                "{name} lacks the sources of `core` (Debian: rust-web-src; rustup: component rust-src)"
            ));
        }

        let reported = field("LLVM version:").unwrap_or_default();
        let major = reported.split('.').next().unwrap_or_default();
        let own = sysroot
            .join("lib/rustlib")
            .join(field("host:").unwrap_or_default())
            .join("bin");
        let system = PathBuf::from(format!("/usr/lib/llvm-{major}/bin"));
        let places = llvm.map_or_else(|| vec![own, system], |llvm| vec![llvm.to_owned()]);
        for llvm in &places {
            let versions = LLVM_TOOLS.map(|tool| llvm_version(&llvm.join(tool)));
            if let Some(version) = versions[0].clone()
                && version.split('.').next() == Some(major)
                && versions.iter().all(Option::is_some)
            {
                let llvm = llvm.clone();
                return Ok(Self {
                    rustc,
                    cargo,
                    llvm,
                    rustc_version,
                    llvm_version: version,
                });
            }
        }
        let places = places
            .iter()
            .map(|path| path.display().to_string())
            .collect::<Vec<_>>()
            .join(" or ");
        Err(format!(
            "{name} needs the tools of LLVM {major} in {places} (Debian: llvm-{major}; rustup: component llvm-tools)"
        ))
    }

    /// First line of `rustc -vV`.
    pub fn rustc_version(&self) -> &str {
        &self.rustc_version
    }
    /// Version of the LLVM tools.
    pub fn llvm_version(&self) -> &str {
        &self.llvm_version
    }

    /// The program `tool` of LLVM.
    pub(crate) fn llvm(&self, tool: &str) -> Command {
        clean(&self.llvm.join(tool))
    }
    /// This toolchain's cargo, free of what an outer cargo or rustup put in the environment.
    pub(crate) fn cargo(&self) -> Command {
        let mut command = clean(&self.cargo);
        // The target is unstable; this lets a released compiler build it. Empty wrappers overrule configured ones.
        command
            .env("RUSTC", &self.rustc)
            .env("RUSTC_BOOTSTRAP", "1");
        command
            .env("RUSTC_WRAPPER", "")
            .env("RUSTC_WORKSPACE_WRAPPER", "");
        command
    }
}

/// A command without the variables by which an outer cargo, clippy or rustup would steer it.
///
/// Kept are the places of things (`CARGO_HOME`) and how the network is reached.
fn clean(program: &Path) -> Command {
    const KEPT: [&str; 7] = [
        "CARGO_HOME",
        "RUSTUP_HOME",
        "CARGO_NET_",
        "CARGO_HTTP_",
        "CARGO_REGISTRY_",
        "CARGO_REGISTRIES_",
        "CARGO_SOURCE_",
    ];
    const CLEARED: [&str; 10] = [
        "OUT_DIR",
        "TARGET",
        "HOST",
        "PROFILE",
        "OPT_LEVEL",
        "DEBUG",
        "NUM_JOBS",
        "CLIPPY_ARGS",
        "CLIPPY_CONF_DIR",
        "LD_LIBRARY_PATH",
    ];
    let mut command = Command::new(program);
    for (name, _) in env::vars_os() {
        let text = name.to_string_lossy();
        let steers = ["CARGO", "RUST", "DEP_"]
            .iter()
            .any(|prefix| text.starts_with(prefix));
        let kept = KEPT.iter().any(|prefix| text.starts_with(prefix));
        if steers && !kept || CLEARED.contains(&&*text) {
            command.env_remove(name);
        }
    }
    command
}

/// Runs a command; its standard output if it succeeds.
fn output(command: &mut Command) -> Option<String> {
    let output = command
        .env_remove("RUSTUP_TOOLCHAIN")
        .env_remove("LD_LIBRARY_PATH")
        .output()
        .ok()?;
    output
        .status
        .success()
        .then(|| String::from_utf8_lossy(&output.stdout).into_owned())
}

fn llvm_version(tool: &Path) -> Option<String> {
    let text = output(Command::new(tool).arg("--version"))?;
    let version = text
        .split("LLVM version ")
        .nth(1)?
        .split_whitespace()
        .next()?;
    Some(version.to_owned())
}

/// The compilers of rustup's nightly toolchains, latest first.
fn nightlies() -> Vec<PathBuf> {
    let home = env::var_os("RUSTUP_HOME").map(PathBuf::from);
    let home = home.or_else(|| env::home_dir().map(|home| home.join(".rustup")));
    let Some(entries) = home.and_then(|home| home.join("toolchains").read_dir().ok()) else {
        return Vec::new();
    };
    let is_nightly = |name: &OsStr| name.to_string_lossy().starts_with("nightly");
    let mut found: Vec<_> = entries
        .flatten()
        .filter(|entry| is_nightly(&entry.file_name()))
        .map(|e| e.path())
        .collect();
    found.sort();
    found.reverse();
    found
        .into_iter()
        .map(|path| path.join("bin/rustc"))
        .collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_absent_compiler_is_named_with_the_script() {
        let why =
            Toolchain::examine("/nowhere/rustc".into(), "/nowhere/cargo".into(), None).unwrap_err();
        let message = Error::NoToolchain { tried: vec![why] }.to_string();
        assert!(message.contains("/nowhere/rustc"), "{message}");
        assert!(message.contains(crate::INSTALL_SCRIPT), "{message}");
    }

    #[test]
    fn nothing_of_an_outer_cargo_reaches_a_command() {
        // Cargo itself sets these while it runs this test.
        assert!(env::var_os("CARGO_MANIFEST_DIR").is_some());
        let command = clean(Path::new("tool"));
        assert!(
            command
                .get_envs()
                .any(|(name, value)| name == "CARGO_MANIFEST_DIR" && value.is_none())
        );
        assert!(!command.get_envs().any(|(name, _)| name == "CARGO_HOME"));
    }
}
