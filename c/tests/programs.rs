//! Programs in C with the header, compiled with `cc` and `mpicc` and run.

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

/// Compiles a program of this crate with its header and its library. None without the compiler.
fn compiled(compiler: &str, source: &str, folder: &Path) -> Option<PathBuf> {
    let root = Path::new(env!("CARGO_MANIFEST_DIR"));
    let (program, library) = (folder.join("program"), library());
    let output = Command::new(compiler)
        .args(["-std=c99", "-Wall", "-Wextra", "-Werror", "-I"])
        .arg(root.join("include"))
        .arg(root.join(source))
        .arg("-o")
        .arg(&program)
        .arg("-L")
        .arg(&library)
        .args(["-lrarefy_c", "-lm"])
        .arg(format!("-Wl,-rpath,{}", library.display()))
        .output()
        .ok()?;
    let errors = String::from_utf8_lossy(&output.stderr);
    assert!(output.status.success(), "{errors}");
    Some(program)
}

#[test]
#[cfg(unix)]
fn a_program_in_c_sums_exactly() {
    let folder = tempfile::tempdir().expect("a folder");
    let program = compiled("cc", "tests/sums.c", folder.path()).expect("the compiler cc");
    let output = Command::new(&program).output().expect("the program");
    let lines = String::from_utf8_lossy(&output.stdout);
    assert!(
        output.status.success() && lines == "all checks passed\n",
        "{lines}"
    );
}

/// The sum of 1 - 1/2 + 1/3 - ... in doubles, by `math.fsum` of Python. Without Open MPI there is nothing to run.
#[test]
#[cfg(unix)]
fn a_sum_has_the_same_bits_on_any_number_of_ranks() {
    let folder = tempfile::tempdir().expect("a folder");
    let starter = Command::new("mpirun").arg("--version").output();
    let is_open =
        starter.is_ok_and(|said| String::from_utf8_lossy(&said.stdout).contains("Open MPI"));
    let program = match is_open {
        true => compiled("mpicc", "examples/mpi_sum.c", folder.path()),
        false => None,
    };
    let Some(program) = program else {
        println!("skipped: there is no Open MPI");
        return;
    };
    for ranks in ["1", "2", "4"] {
        let output = Command::new("mpirun")
            .args(["--allow-run-as-root", "--oversubscribe", "-n", ranks])
            .arg(&program)
            .output()
            .expect("mpirun");
        let sum = String::from_utf8_lossy(&output.stdout);
        let errors = String::from_utf8_lossy(&output.stderr);
        assert_eq!(sum, "0.69314668056019535\n", "{ranks} ranks: {errors}");
    }
}
