//! The Python package: its wheel is built, installed into a virtual environment, and tested there.
//!
//! With `RAREFY_MODULE`, the path of a module that is built already, the package is put together from that.

use std::path::{Path, PathBuf};
use std::process::Command;
use std::{env, fs};

use anyhow::{Context, Result, bail};

use crate::workspace::{cargo, root, run, target_dir};

/// A wheel that is tested, not shipped: compiled faster than it runs. Optimisation across the parts of a crate, which Cargo has by default, takes part of the time of the compiler
/// and makes these tests no faster.
const QUICK_WHEEL: [(&str, &str); 3] = [
    ("CARGO_PROFILE_DEV_DEBUG", "false"),
    ("CARGO_PROFILE_DEV_LTO", "off"),
    ("CARGO_PROFILE_DEV_OPT_LEVEL", "1"),
];

/// The file of the extension module among what cargo builds.
pub(crate) const MODULE: &str = "lib_rarefy.so";

/// Tests the package as it is installed.
pub(crate) fn check() -> Result<()> {
    let manifest = root().join("python/Cargo.toml");
    let mut command = cargo();
    command.args(["fmt", "--check", "--manifest-path"]);
    command.arg(&manifest);
    run(&mut command)?;
    let folder = target_dir().join("python");
    let python = environment(&folder)?;
    match env::var_os("RAREFY_MODULE") {
        Some(module) => put_together(&python, Path::new(&module))?,
        None => {
            let wheel = wheel(&python, &manifest, &folder)?;
            let mut command = pip(&python);
            command.args(["--force-reinstall", "--no-deps"]).arg(&wheel);
            run(&mut command)?;
        }
    }
    // Elsewhere than beside the sources, which have no extension module.
    let tests = root().join("python/tests");
    let package = root().join("python");
    let mut command = Command::new(&python);
    command.args(["-m", "mypy"]).current_dir(&package);
    run(&mut command)?;
    let mut command = Command::new(&python);
    command.args([
        "-m",
        "pytest",
        "-q",
        "--doctest-modules",
        "--import-mode=importlib",
    ]);
    command
        .args(["-p", "no:cacheprovider", "--rootdir"])
        .arg(&tests);
    command.arg(&tests).args(["--pyargs", "rarefy"]);
    command.current_dir(&folder);
    run(&mut command)
}

/// The interpreter of a virtual environment with what building and testing takes.
fn environment(folder: &Path) -> Result<PathBuf> {
    let venv = folder.join("venv");
    let python = venv.join("bin/python");
    if !python.exists() {
        fs::create_dir_all(folder).with_context(|| format!("making {}", folder.display()))?;
        let system = env::var_os("PYTHON").unwrap_or_else(|| "python3".into());
        let mut command = Command::new(system);
        command.args(["-m", "venv"]).arg(&venv);
        run(&mut command)?;
    }
    let mut command = pip(&python);
    command.arg("-r");
    command.arg(root().join("python/requirements-test.txt"));
    run(&mut command)?;
    Ok(python)
}

fn pip(python: &Path) -> Command {
    let mut command = Command::new(python);
    command.args(["-m", "pip", "--quiet", "--disable-pip-version-check"]);
    command.arg("install");
    command
}

/// Puts the package and the module into the virtual environment.
fn put_together(python: &Path, module: &Path) -> Result<()> {
    let script = "import shutil, sys, sysconfig; place = sysconfig.get_path('platlib') + '/rarefy'; \
        shutil.rmtree(place, ignore_errors=True); shutil.copytree(sys.argv[1], place); \
        shutil.copy(sys.argv[2], place + '/_rarefy.abi3.so')";
    let mut command = Command::new(python);
    command.args(["-c", script]);
    command.arg(root().join("python/package/rarefy"));
    command.arg(module);
    run(&mut command)
}

/// Builds the wheel.
fn wheel(python: &Path, manifest: &Path, folder: &Path) -> Result<PathBuf> {
    let wheels = folder.join("wheels");
    if wheels.exists() {
        fs::remove_dir_all(&wheels).with_context(|| format!("removing {}", wheels.display()))?;
    }
    let mut command = Command::new(python);
    command.args(["-m", "maturin", "build", "--quiet", "--profile", "dev"]);
    command.arg("--manifest-path").arg(manifest);
    command.arg("--out").arg(&wheels);
    command.env("CARGO_TARGET_DIR", folder.join("build"));
    command.envs(QUICK_WHEEL);
    run(&mut command)?;
    let mut found = Vec::new();
    for entry in fs::read_dir(&wheels).with_context(|| format!("reading {}", wheels.display()))? {
        found.push(entry?.path());
    }
    match found.as_slice() {
        [wheel] => Ok(wheel.clone()),
        _ => bail!("{} wheels in {}", found.len(), wheels.display()),
    }
}
