//! The packages as somebody gets them who has no checkout: packed, unpacked elsewhere, and tested there.

use std::path::{Path, PathBuf};
use std::process::Command;
use std::{env, fs};

use anyhow::{Context, Result, bail};

use crate::workspace::{cargo, root, run, target_dir};

/// Packs all crates and runs the tests of the packages in a workspace of their own.
pub(crate) fn test() -> Result<()> {
    forget_packages()?;
    let target = target_dir();
    let mut command = cargo();
    command.args(["package", "--workspace", "--exclude", "xtask"]);
    command.args(["--exclude", "rarefy-c", "--exclude", "rarefy-python"]);
    command.args(["--allow-dirty", "--no-verify", "--quiet"]);
    run(&mut command)?;

    // Not below the checkout, of whose workspace and toolchain it would be a part.
    let folder = env::temp_dir().join(format!("rarefy-packages-{}", std::process::id()));
    fs::create_dir_all(&folder).with_context(|| format!("making {}", folder.display()))?;
    let result = test_in(&folder, &target);
    fs::remove_dir_all(&folder).with_context(|| format!("removing {}", folder.display()))?;
    result
}

fn test_in(folder: &Path, target: &Path) -> Result<()> {
    let packed = target.join("package");
    let mut names = Vec::new();
    for entry in fs::read_dir(&packed).with_context(|| format!("reading {}", packed.display()))? {
        let path = entry?.path();
        if path.extension().is_some_and(|end| end == "crate") {
            let mut command = Command::new("tar");
            command.arg("xzf").arg(&path).arg("-C").arg(folder);
            run(&mut command)?;
            names.push(
                path.file_stem()
                    .unwrap_or_default()
                    .to_string_lossy()
                    .into_owned(),
            );
        }
    }
    names.sort();
    if names.is_empty() {
        bail!("no packages in {}", packed.display());
    }
    // They name each other by version, as from a registry.
    let mut manifest = String::from("[workspace]\nresolver = \"3\"\nmembers = [\n");
    let mut patches = String::from("[patch.crates-io]\n");
    for name in &names {
        manifest += &format!("    \"{name}\",\n");
        let (crate_name, _) = name
            .rsplit_once('-')
            .context("a package without a version")?;
        patches += &format!("{crate_name} = {{ path = \"{name}\" }}\n");
    }
    let profile = "[profile.dev]\nopt-level = 2\n";
    let manifest = format!("{manifest}]\n\n{profile}\n{patches}");
    fs::write(folder.join("Cargo.toml"), manifest)?;
    let lock = "Cargo.lock";
    fs::copy(root().join(lock), folder.join(lock))?;
    let toolchain = "rust-toolchain.toml";
    fs::copy(root().join(toolchain), folder.join(toolchain))?;
    println!("testing {} in {}", names.join(", "), folder.display());
    let mut command = cargo();
    command.args(["test", "--workspace", "--target-dir"]);
    command.arg(target.join("packages")).current_dir(folder);
    command.env("CARGO_PROFILE_DEV_DEBUG", "false");
    run(&mut command)
}

/// Removes what `cargo package` unpacked of this workspace's crates before: it never unpacks the same version twice, so that a
/// package would be built against the sources that another one had when it was first packaged here.
fn forget_packages() -> Result<()> {
    let Some(home) = env::var_os("CARGO_HOME")
        .map(PathBuf::from)
        .or_else(|| Some(env::home_dir()?.join(".cargo")))
    else {
        return Ok(());
    };
    let sources = home.join("registry/src");
    // Registries have the name of their host in front; the one in the target folder, which has no host, begins with this sign.
    let unnamed = "-";
    forget_compiled(&sources.join(unnamed))?;
    if !sources.is_dir() {
        return Ok(());
    }
    for entry in fs::read_dir(&sources).with_context(|| format!("reading {}", sources.display()))? {
        let entry = entry?;
        if entry.file_name().to_string_lossy().starts_with(unnamed) {
            let path = entry.path();
            fs::remove_dir_all(&path).with_context(|| format!("removing {}", path.display()))?;
        }
    }
    Ok(())
}

/// Lets cargo compile the crates anew whose folders begin like this: it takes a version of a registry for unchanged, whatever its sources.
fn forget_compiled(sources: &Path) -> Result<()> {
    let debug = target_dir().join("debug");
    let sources = sources.to_string_lossy();
    let files = |folder: &str| fs::read_dir(debug.join(folder)).into_iter().flatten();
    let mut hashes = Vec::new();
    for entry in files("deps") {
        let path = entry?.path();
        let is_list = path.extension().is_some_and(|extension| extension == "d");
        if is_list && fs::read_to_string(&path).is_ok_and(|list| list.contains(&*sources)) {
            let name = path.file_stem().unwrap_or_default().to_string_lossy();
            hashes.extend(name.rsplit_once('-').map(|(_, hash)| hash.to_owned()));
        }
    }
    for entry in files(".fingerprint") {
        let path = entry?.path();
        if hashes
            .iter()
            .any(|hash| path.to_string_lossy().ends_with(hash))
        {
            fs::remove_dir_all(&path).with_context(|| format!("removing {}", path.display()))?;
        }
    }
    Ok(())
}
