//! The command, and its input and output files.

use std::fs;
use std::path::Path;
use std::process::{Child, Command, Output, Stdio};
use std::thread::sleep;
use std::time::{Duration, Instant};

use serde_json::Value;
use tempfile::TempDir;

/// The command, in a folder of its own. The test binary may have been carried to another machine; `RAREFY_BIN` then names the command.
pub(crate) fn rarefy(folder: &Path, arguments: &[&str]) -> Command {
    let binary = std::env::var_os("RAREFY_BIN").unwrap_or(env!("CARGO_BIN_EXE_rarefy").into());
    let mut command = Command::new(binary);
    command
        .current_dir(folder)
        .args(arguments)
        .stdin(Stdio::null());
    command
}

pub(crate) fn folder() -> TempDir {
    tempfile::tempdir().unwrap()
}

pub(crate) fn text(bytes: &[u8]) -> &str {
    std::str::from_utf8(bytes).unwrap()
}

/// Runs the command, which must succeed.
pub(crate) fn done(folder: &Path, arguments: &[&str]) -> Output {
    let output = rarefy(folder, arguments).output().unwrap();
    assert!(
        output.status.success(),
        "{arguments:?}: {}",
        text(&output.stderr)
    );
    output
}

/// Runs the command with so many KiB of addresses, by the shell.
#[cfg(target_os = "linux")]
pub(crate) fn with_memory(folder: &Path, kib: u32, arguments: &[&str]) -> Output {
    let command = rarefy(folder, arguments);
    let script = format!("ulimit -v {kib}; exec \"$@\"");
    Command::new("sh")
        .current_dir(folder)
        .args(["-c", &script, "sh"])
        .arg(command.get_program())
        .args(command.get_args())
        .stdin(Stdio::null())
        .output()
        .unwrap()
}

/// Runs the command, which must end before it has converged: exit code 1, and a last line on standard error that says so.
#[track_caller]
pub(crate) fn unconverged(folder: &Path, line: &str) -> Output {
    let arguments: Vec<&str> = line.split_whitespace().collect();
    let output = rarefy(folder, &arguments).output().unwrap();
    let stderr = text(&output.stderr);
    assert_eq!(output.status.code(), Some(1), "{line}: {stderr}");
    let last = stderr.lines().last().unwrap_or_default();
    assert!(
        last.starts_with("rarefy: error: NOT CONVERGED: "),
        "{line}: {stderr}"
    );
    output
}

/// Runs the command, which must refuse: exit code 2, one line on standard error that holds `why`, nothing on standard output, and no
/// file that was not there.
#[track_caller]
pub(crate) fn refused(folder: &Path, arguments: &[&str], why: &str) {
    let before = listing(folder);
    let output = rarefy(folder, arguments).output().unwrap();
    let stderr = text(&output.stderr);
    assert_eq!(output.status.code(), Some(2), "{arguments:?}: {stderr}");
    assert_eq!(stderr.lines().count(), 1, "{arguments:?}: {stderr}");
    assert!(
        stderr.starts_with("rarefy: error: "),
        "{arguments:?}: {stderr}"
    );
    assert!(stderr.contains(why), "{arguments:?}: {stderr}");
    assert_eq!(text(&output.stdout), "", "{arguments:?}");
    assert_eq!(listing(folder), before, "{arguments:?}");
}

/// Time after which something that a test waits for does not come any more.
const PATIENCE: Duration = Duration::from_secs(120);

/// Starts a process whose output a test will read.
#[track_caller]
pub(crate) fn started(command: &mut Command) -> Child {
    let command = command.stdout(Stdio::piped()).stderr(Stdio::piped());
    command.spawn().unwrap()
}

/// Waits for a process, which must end by itself.
#[track_caller]
pub(crate) fn ended(mut child: Child) -> Output {
    let begun = Instant::now();
    while child.try_wait().unwrap().is_none() {
        if begun.elapsed() > PATIENCE {
            child.kill().unwrap();
            let output = child.wait_with_output().unwrap();
            panic!("did not end: {}", text(&output.stderr));
        }
        sleep(Duration::from_millis(20));
    }
    child.wait_with_output().unwrap()
}

/// Runs the command until a file is there, and sends it Ctrl-C, on Unix.
#[track_caller]
pub(crate) fn interrupted(folder: &Path, arguments: &[&str], file: &str) -> Output {
    let child = started(&mut rarefy(folder, arguments));
    let begun = Instant::now();
    while !folder.join(file).exists() && begun.elapsed() < PATIENCE {
        sleep(Duration::from_millis(20));
    }
    let kill = Command::new("kill")
        .args(["-INT", &child.id().to_string()])
        .status();
    assert!(kill.unwrap().success());
    ended(child)
}

/// All that is below a folder.
pub(crate) fn listing(folder: &Path) -> Vec<String> {
    let mut found = Vec::new();
    for entry in fs::read_dir(folder).unwrap() {
        let path = entry.unwrap().path();
        found.push(path.display().to_string());
        if path.is_dir() {
            found.extend(listing(&path));
        }
    }
    found.sort();
    found
}

/// A .npy file as numpy writes it.
pub(crate) fn npy(descr: &str, fortran: bool, shape: &str, data: impl AsRef<[u8]>) -> Vec<u8> {
    let order = if fortran { "True" } else { "False" };
    let mut header =
        format!("{{'descr': '{descr}', 'fortran_order': {order}, 'shape': {shape}, }}");
    while (10 + header.len() + 1) % 64 != 0 {
        header.push(' ');
    }
    header.push('\n');
    let mut bytes = b"\x93NUMPY\x01\x00".to_vec();
    bytes.extend((header.len() as u16).to_le_bytes());
    bytes.extend(header.as_bytes());
    bytes.extend(data.as_ref());
    bytes
}

pub(crate) fn doubles(values: &[f64]) -> Vec<u8> {
    values.iter().flat_map(|v| v.to_le_bytes()).collect()
}

/// The data of a .npy file of doubles.
pub(crate) fn data(path: &Path) -> Vec<f64> {
    let bytes = fs::read(path).unwrap();
    let header = usize::from(u16::from_le_bytes([bytes[8], bytes[9]]));
    assert!(text(&bytes[10..10 + header]).contains("'<f8'"));
    bytes[10 + header..]
        .chunks_exact(8)
        .map(|b| f64::from_le_bytes(b.try_into().unwrap()))
        .collect()
}

/// The one JSON object on standard output.
pub(crate) fn object(output: &Output) -> Value {
    serde_json::from_slice(&output.stdout).expect("standard output is one JSON object")
}

/// The record that a command prints.
#[track_caller]
pub(crate) fn printed(folder: &Path, line: &str) -> Value {
    let arguments: Vec<&str> = line.split_whitespace().collect();
    object(&done(
        folder,
        &[&arguments[..], &["--json", "--quiet"]].concat(),
    ))
}

#[track_caller]
pub(crate) fn number(value: &Value) -> f64 {
    value.as_f64().unwrap()
}
