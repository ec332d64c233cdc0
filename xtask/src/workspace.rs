//! Where the repository lies, and how chores run other programs in it.

use std::env;
use std::path::{Path, PathBuf};
use std::process::Command;

use anyhow::{Context, Result, bail};

/// Compiles in a fraction of the time, for programs that hardly run.
pub(crate) const QUICK_BUILD: [(&str, &str); 2] = [
    ("CARGO_PROFILE_DEV_DEBUG", "false"),
    ("CARGO_PROFILE_DEV_OPT_LEVEL", "0"),
];

/// Root of the repository.
pub(crate) fn root() -> &'static Path {
    Path::new(env!("CARGO_MANIFEST_DIR"))
        .parent()
        .unwrap_or(Path::new("."))
}

/// Cargo's folder for what it builds.
pub(crate) fn target_dir() -> PathBuf {
    root().join(env::var_os("CARGO_TARGET_DIR").unwrap_or_else(|| "target".into()))
}

/// The cargo that runs this program, in the root of the repository.
pub(crate) fn cargo() -> Command {
    let mut command = Command::new(env::var_os("CARGO").unwrap_or_else(|| "cargo".into()));
    command.current_dir(root());
    // Variables that cargo sets for this program are not meant for its inner cargo.
    for (name, _) in env::vars_os() {
        let text = name.to_string_lossy();
        if text.starts_with("CARGO_PKG_") || text.starts_with("CARGO_MANIFEST_") {
            command.env_remove(name);
        }
    }
    command
}

/// Runs a command and insists that it succeeds.
pub(crate) fn run(command: &mut Command) -> Result<()> {
    let name = command.get_program().to_owned();
    let status = command
        .status()
        .with_context(|| format!("cannot run {}", name.display()))?;
    if !status.success() {
        let arguments: Vec<_> = command
            .get_args()
            .map(|argument| argument.to_string_lossy())
            .collect();
        let program = Path::new(&name)
            .file_name()
            .unwrap_or(&name)
            .display()
            .to_string();
        bail!("`{program} {}` failed ({status})", arguments.join(" "));
    }
    Ok(())
}
