//! A program in C with the header, compiled with `cc` and run.

use std::env;
use std::path::{Path, PathBuf};
use std::process::Command;

// Links the crate, which is thereby built for C too.
use rarefy_c as _;

/// The folder of the newest library for C beside this test.
fn library() -> PathBuf {
    let test = env::current_exe().expect("the path of the test");
    let deps = test.parent().expect("its folder");
    let name = format!(
        "{}rarefy_c{}",
        env::consts::DLL_PREFIX,
        env::consts::DLL_SUFFIX
    );
    let folders = [deps, deps.parent().expect("the folder of the build")];
    let built = |folder: &&Path| {
        folder
            .join(&name)
            .metadata()
            .and_then(|file| file.modified())
            .ok()
    };
    let found = folders.into_iter().filter(|folder| built(folder).is_some());
    let newest = found.max_by_key(built).expect("the library for C");
    newest.to_owned()
}

#[test]
#[cfg(unix)]
fn a_program_in_c_sums_exactly() {
    let root = Path::new(env!("CARGO_MANIFEST_DIR"));
    let folder = tempfile::tempdir().expect("a folder");
    let (program, library) = (folder.path().join("sums"), library());
    let compiled = Command::new("cc")
        .args([
            "-std=c99",
            "-Wall",
            "-Wextra",
            "-Wpedantic",
            "-Werror",
            "-I",
        ])
        .arg(root.join("include"))
        .arg(root.join("tests/sums.c"))
        .arg("-o")
        .arg(&program)
        .arg("-L")
        .arg(&library)
        .args(["-lrarefy_c", "-lm"])
        .arg(format!("-Wl,-rpath,{}", library.display()))
        .output()
        .expect("the compiler cc");
    assert!(
        compiled.status.success(),
        "{}",
        String::from_utf8_lossy(&compiled.stderr)
    );
    let output = Command::new(&program).output().expect("the program");
    let lines = String::from_utf8_lossy(&output.stdout);
    assert!(
        output.status.success() && lines == "all checks passed\n",
        "{lines}"
    );
}
