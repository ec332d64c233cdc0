//! `cargo xtask bundle`: test and bench binaries in a folder that runs without Rust.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

use anyhow::{Context, Result, bail};
use serde_json::Value;

use crate::workspace::{self, cargo, root};

/// An executable that cargo built.
#[derive(Debug, PartialEq, Eq)]
struct Artifact {
    /// Name in the bundle.
    name: String,
    role: Role,
    path: PathBuf,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Role {
    Test,
    Bench,
    Command,
}

/// Folders of the repository that the tests read where they run.
const FOLDERS: [&str; 4] = [
    "tests/data",
    "tests/corpus",
    "examples/data",
    "docs/benchmarks",
];

/// The packed bundle's name in its folder.
const ARCHIVE: &str = "bundle.tar.gz";

pub(crate) fn run(out: &Path, pack: bool) -> Result<()> {
    let out = root().join(out);
    let mut artifacts = Vec::new();
    for arguments in [&["test", "--release"][..], &["bench"]] {
        let mut command = cargo();
        command.args(arguments).args([
            "--no-run",
            "--package",
            "rarefy",
            "--message-format=json-render-diagnostics",
        ]);
        let output = command
            .stderr(Stdio::inherit())
            .output()
            .context("cannot run cargo")?;
        if !output.status.success() {
            bail!("`cargo {}` failed", arguments.join(" "));
        }
        let found = executables(&String::from_utf8_lossy(&output.stdout))?;
        // Of cargo bench only the benches: it builds the unit tests as well, in the same profile.
        let benches_only = arguments == ["bench"];
        artifacts.extend(
            found
                .into_iter()
                .filter(|artifact| (artifact.role == Role::Bench) == benches_only),
        );
    }
    for role in [Role::Test, Role::Command] {
        if !artifacts.iter().any(|artifact| artifact.role == role) {
            bail!("cargo built no {role:?}");
        }
    }

    // Only what an earlier bundle is, so that a slip in --out removes nothing else.
    if out.exists() {
        if !out.join("run-all.sh").exists() && fs::read_dir(&out)?.next().is_some() {
            bail!("{} exists and is no bundle", out.display());
        }
        fs::remove_dir_all(&out)?;
    }
    fs::create_dir_all(&out)?;
    for Artifact { name, path, .. } in &artifacts {
        let to = out.join(name);
        fs::copy(path, &to).with_context(|| format!("copying {}", path.display()))?;
        let stripped = Command::new("strip")
            .arg(&to)
            .status()
            .is_ok_and(|status| status.success());
        if !stripped {
            println!("not stripped: {name}");
        }
    }
    for folder in FOLDERS {
        copy_tree(&root().join(folder), &out.join(folder))?;
    }
    let script = out.join("run-all.sh");
    fs::write(&script, run_all(&artifacts))?;
    make_executable(&script)?;

    for Artifact { name, .. } in &artifacts {
        println!(
            "{name}: {:.1} MiB",
            fs::metadata(out.join(name))?.len() as f64 / f64::from(1 << 20)
        );
    }
    if pack {
        self::pack(&out, &artifacts)?;
    }
    println!(
        "{} is ready; run-all.sh in it runs everything",
        out.display()
    );
    Ok(())
}

/// Leaves the script and one archive of everything else, a third of the size.
fn pack(out: &Path, artifacts: &[Artifact]) -> Result<()> {
    let mut packed: Vec<&str> = artifacts
        .iter()
        .map(|artifact| artifact.name.as_str())
        .collect();
    packed.extend(FOLDERS.map(top_of));
    workspace::run(
        Command::new("tar")
            .args(["--create", "--gzip", "--file", ARCHIVE])
            .args(&packed)
            .current_dir(out),
    )?;
    for name in packed {
        let path = out.join(name);
        if path.is_dir() {
            fs::remove_dir_all(path)?;
        } else {
            fs::remove_file(path)?;
        }
    }
    println!(
        "{ARCHIVE}: {:.1} MiB",
        fs::metadata(out.join(ARCHIVE))?.len() as f64 / f64::from(1 << 20)
    );
    Ok(())
}

/// The first folder of a path.
fn top_of(path: &str) -> &str {
    path.split('/').next().unwrap_or(path)
}

/// The executables that cargo's messages name.
fn executables(messages: &str) -> Result<Vec<Artifact>> {
    let mut artifacts = Vec::new();
    for line in messages.lines().filter(|line| line.starts_with('{')) {
        let message: Value = serde_json::from_str(line).context("a message of cargo")?;
        let Some(path) = message["executable"].as_str() else {
            continue;
        };
        let target = &message["target"];
        let name = target["name"].as_str().unwrap_or_default();
        let kind = target["kind"][0].as_str().unwrap_or_default();
        let is_test = message["profile"]["test"] == Value::Bool(true);
        let (name, role) = match kind {
            "bench" => (format!("bench-{name}"), Role::Bench),
            "bin" if !is_test => (name.to_owned(), Role::Command),
            // The command's own unit tests, examples and the build script stay at home.
            "lib" if is_test => ("test-unit".to_owned(), Role::Test),
            "test" => (format!("test-{name}"), Role::Test),
            _ => continue,
        };
        artifacts.push(Artifact {
            name,
            role,
            path: path.into(),
        });
    }
    Ok(artifacts)
}

/// The script that runs the bundle.
fn run_all(artifacts: &[Artifact]) -> String {
    let names = |role| {
        let names = artifacts
            .iter()
            .filter(|artifact| artifact.role == role)
            .map(|artifact| artifact.name.as_str());
        names.collect::<Vec<_>>().join(" ")
    };
    RUN_ALL
        .replace("@TESTS@", &names(Role::Test))
        .replace("@BENCHES@", &names(Role::Bench))
}

const RUN_ALL: &str = r#"#!/usr/bin/env bash
# Runs the tests and benches of rarefy on a machine with a GPU; needs no Rust. Made by `cargo xtask bundle`.
#   ./run-all.sh [tests|benches|all] [ARGUMENTS]    arguments go to every program, as in ./run-all.sh tests collision
set -u
here=$(cd "$(dirname "${BASH_SOURCE[0]}")" && pwd)
cd "$here"
[ -f bundle.tar.gz ] && { tar xzf bundle.tar.gz && rm bundle.tar.gz || exit 1; }
what=${1:-all}
[ $# -gt 0 ] && shift

# A test that finds no GPU fails; set RAREFY_REQUIRE_GPU=0 to let it pass.
export RAREFY_REQUIRE_GPU=${RAREFY_REQUIRE_GPU:-1}
# Where the tests find data, and the command under test.
export RAREFY_TEST_DATA=${RAREFY_TEST_DATA:-$here/tests/data}
export RAREFY_BIN=$here/rarefy
export CARGO_MANIFEST_DIR=$here
# Results of the benches.
export CRITERION_HOME=${CRITERION_HOME:-$here/criterion}

failed=()
run() {
    echo
    echo "== $*"
    "$@" || failed+=("$1")
}
if [ "$what" = tests ] || [ "$what" = all ]; then
    for test in @TESTS@; do run "./$test" "$@"; done
fi
if [ "$what" = benches ] || [ "$what" = all ]; then
    for bench in @BENCHES@; do run "./$bench" --bench "$@"; done
fi
echo
if [ ${#failed[@]} -gt 0 ]; then
    echo "== failed: ${failed[*]}"
    exit 1
fi
echo "== all passed"
"#;

fn copy_tree(from: &Path, to: &Path) -> Result<()> {
    fs::create_dir_all(to)?;
    for entry in fs::read_dir(from)? {
        let entry = entry?;
        let target = to.join(entry.file_name());
        if entry.file_type()?.is_dir() {
            copy_tree(&entry.path(), &target)?;
        } else {
            fs::copy(entry.path(), target)?;
        }
    }
    Ok(())
}

fn make_executable(path: &Path) -> Result<()> {
    #[cfg(unix)]
    {
        use std::os::unix::fs::PermissionsExt;
        fs::set_permissions(path, fs::Permissions::from_mode(0o755))?;
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    const MESSAGES: &str = r#"
{"reason":"compiler-artifact","target":{"kind":["lib"],"name":"rarefy"},"profile":{"test":false},"executable":null}
{"reason":"compiler-artifact","target":{"kind":["lib"],"name":"rarefy"},"profile":{"test":true},"executable":"/t/rarefy-1"}
{"reason":"compiler-artifact","target":{"kind":["bin"],"name":"rarefy"},"profile":{"test":true},"executable":"/t/rarefy-2"}
{"reason":"compiler-artifact","target":{"kind":["bin"],"name":"rarefy"},"profile":{"test":false},"executable":"/t/rarefy"}
{"reason":"compiler-artifact","target":{"kind":["test"],"name":"suite"},"profile":{"test":true},"executable":"/t/suite-1"}
{"reason":"compiler-artifact","target":{"kind":["bench"],"name":"collision"},"profile":{"test":true},"executable":"/t/collision-1"}
{"reason":"compiler-artifact","target":{"kind":["example"],"name":"relax"},"profile":{"test":false},"executable":"/t/relax"}
{"reason":"build-finished","success":true}
"#;

    #[test]
    fn tests_benches_and_the_command_are_found() {
        let found: Vec<_> = executables(MESSAGES)
            .unwrap()
            .into_iter()
            .map(|artifact| (artifact.name, artifact.role))
            .collect();
        let expected = [
            ("test-unit", Role::Test),
            ("rarefy", Role::Command),
            ("test-suite", Role::Test),
            ("bench-collision", Role::Bench),
        ];
        assert_eq!(found, expected.map(|(name, role)| (name.to_owned(), role)));
    }

    /// Folders that tests ask for, and other ways to find the repository, by their files.
    fn read_by(text: &str) -> (Vec<&str>, bool) {
        let calls = text.split("in_repository(\"").skip(1);
        let folders = calls.filter_map(|call| call.split('"').next());
        let other = text.contains("env!(\"CARGO_MANIFEST_DIR\")");
        (folders.collect(), other)
    }

    #[test]
    fn the_bundle_holds_what_the_tests_read() {
        let slip = "concat!(env!(\"CARGO_MANIFEST_DIR\"), in_repository(\"docs\")";
        assert_eq!(read_by(slip), (vec!["docs"], true));
        let mut asked = Vec::new();
        for folder in ["tests/suite", "host/src"] {
            for path in sources(&root().join(folder)) {
                let text = fs::read_to_string(&path).unwrap();
                let (folders, other) = read_by(&text);
                asked.extend(folders.iter().map(|&folder| folder.to_owned()));
                assert!(
                    !other || path.ends_with("tests/suite/support.rs"),
                    "{}: a path of this machine; `support::in_repository` finds it in a bundle too",
                    path.display()
                );
            }
        }
        asked.sort();
        asked.dedup();
        let mut packed = FOLDERS.to_vec();
        packed.sort_unstable();
        assert_eq!(asked, packed);
    }

    /// The Rust files of a folder and of those in it.
    fn sources(folder: &Path) -> Vec<PathBuf> {
        let entries = fs::read_dir(folder)
            .unwrap()
            .map(|entry| entry.unwrap().path());
        let (folders, files): (Vec<_>, Vec<_>) = entries.partition(|path| path.is_dir());
        let rust = |path: &PathBuf| path.extension().is_some_and(|ending| ending == "rs");
        let inner = folders.iter().flat_map(|folder| sources(folder));
        files.into_iter().filter(rust).chain(inner).collect()
    }

    #[test]
    fn the_script_names_every_program() {
        let script = run_all(&executables(MESSAGES).unwrap());
        assert!(
            script.contains("for test in test-unit test-suite; do"),
            "{script}"
        );
        assert!(
            script.contains("for bench in bench-collision; do"),
            "{script}"
        );
    }
}
