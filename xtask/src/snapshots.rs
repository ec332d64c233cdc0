//! Outputs of the command as oracles of a change that promises the same bits: recorded before it, compared after it.

use std::collections::BTreeMap;
use std::env;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::time::Instant;

use anyhow::{Context, Result, ensure};
use clap::Args;
use serde_json::Value;

use crate::workspace::{root, target_dir};

/// Commands, one a line, behind the machines on which they run.
const COMMANDS: &str = include_str!("../snapshots.txt");

/// Keys of `run.json` that differ from run to run, or describe the files that are compared themselves.
const CHANGING: [&str; 3] = ["timings", "machine", "manifest"];

/// Files with times in them.
const UNCOMPARED: [&str; 1] = ["report.html"];

#[derive(Args)]
pub(crate) struct Arguments {
    /// The folder of the recorded outputs
    folder: PathBuf,
    /// Record the outputs; without it they are compared with recorded ones
    #[arg(long)]
    record: bool,
    /// The command; that of the tests without it
    #[arg(long)]
    program: Option<PathBuf>,
    /// Only commands that contain this
    #[arg(long, default_value = "")]
    only: String,
}

/// Records the outputs of all commands, or compares them with the recorded ones.
pub(crate) fn run(arguments: &Arguments) -> Result<()> {
    let program = match &arguments.program {
        Some(program) => program.clone(),
        None => target_dir().join("debug/rarefy"),
    };
    let program = fs::canonicalize(&program)
        .with_context(|| format!("{}: build the command first", program.display()))?;
    let mut compared = 0;
    let mut different = 0;
    for (line, machines) in commands()? {
        if !line.contains(&arguments.only) {
            continue;
        }
        for machine in machines {
            let start = Instant::now();
            let outputs = outputs(&program, line, machine)?;
            let seconds = start.elapsed().as_secs_f64();
            eprintln!("{seconds:6.1} s  {line} --backend {machine}");
            let folder = arguments.folder.join(name(line, machine));
            if arguments.record {
                write(&folder, &outputs)?;
                continue;
            }
            compared += 1;
            let differing = differences(&read(&folder)?, &outputs);
            if !differing.is_empty() {
                different += 1;
                println!("rarefy {line} --backend {machine}");
                for file in differing {
                    println!("    {file}");
                }
            }
        }
    }
    ensure!(
        different == 0,
        "{different} of {compared} commands differ from {}",
        arguments.folder.display()
    );
    Ok(())
}

/// Lines of the list with their machines.
fn commands() -> Result<Vec<(&'static str, Vec<&'static str>)>> {
    let lines = COMMANDS.lines().map(str::trim);
    lines
        .filter(|line| !line.is_empty() && !line.starts_with('#'))
        .map(|line| {
            let (machines, command) = line
                .split_once(": ")
                .with_context(|| format!("snapshots.txt: no machines before '{line}'"))?;
            Ok((command, machines.split_whitespace().collect()))
        })
        .collect()
}

/// A folder's name for a command on a machine.
fn name(line: &str, machine: &str) -> String {
    let plain = line.replace(|c: char| !c.is_ascii_alphanumeric() && c != '.', "-");
    format!("{plain}.{machine}")
}

/// Files by name; standard output and the end of the command are among them.
type Outputs = BTreeMap<String, Vec<u8>>;

/// Runs a command in an empty folder with the examples' data.
fn outputs(program: &Path, line: &str, machine: &str) -> Result<Outputs> {
    let folder = env::temp_dir().join(format!("rarefy-snapshots-{}", std::process::id()));
    fs::create_dir_all(&folder)?;
    let data = root().join("examples/data");
    for entry in fs::read_dir(&data)? {
        let entry = entry?;
        fs::copy(entry.path(), folder.join(entry.file_name()))?;
    }
    let mut command = Command::new(program);
    command.args(line.split_whitespace());
    command.args([
        "--backend",
        machine,
        "--threads",
        "2",
        "--quiet",
        "--out",
        "out",
    ]);
    let output = command.current_dir(&folder).output()?;
    let mut outputs = Outputs::new();
    let end = format!(
        "{}\n{}",
        output.status,
        String::from_utf8_lossy(&output.stderr)
    );
    outputs.insert("end".to_owned(), end.into_bytes());
    outputs.insert("stdout".to_owned(), output.stdout);
    let written = folder.join("q.npy");
    if written.exists() {
        outputs.insert("q.npy".to_owned(), fs::read(written)?);
    }
    let out = folder.join("out");
    if out.is_dir() {
        collect(&out, "", &mut outputs)?;
    }
    fs::remove_dir_all(&folder)?;
    Ok(outputs)
}

/// Adds the files below a folder, each in the form that is compared. That form of a recorded file is the file.
fn collect(folder: &Path, prefix: &str, outputs: &mut Outputs) -> Result<()> {
    for entry in fs::read_dir(folder)? {
        let path = entry?.path();
        let name = path.file_name().unwrap_or_default().to_string_lossy();
        let key = format!("{prefix}{name}");
        if path.is_dir() {
            collect(&path, &format!("{key}/"), outputs)?;
        } else if !UNCOMPARED.contains(&name.as_ref()) {
            let bytes = fs::read(&path)?;
            let bytes = match name.ends_with("run.json") {
                true => steady_part(&bytes).with_context(|| format!("reading {key}"))?,
                false => bytes,
            };
            outputs.insert(key, bytes);
        }
    }
    Ok(())
}

/// A record without the keys that differ from run to run.
fn steady_part(record: &[u8]) -> Result<Vec<u8>> {
    let mut value: Value = serde_json::from_slice(record)?;
    remove(&mut value);
    Ok(serde_json::to_vec_pretty(&value)?)
}

fn remove(value: &mut Value) {
    match value {
        Value::Object(map) => {
            for key in CHANGING {
                map.remove(key);
            }
            map.values_mut().for_each(remove);
        }
        Value::Array(values) => values.iter_mut().for_each(remove),
        _ => {}
    }
}

fn write(folder: &Path, outputs: &Outputs) -> Result<()> {
    if folder.exists() {
        fs::remove_dir_all(folder)?;
    }
    for (name, bytes) in outputs {
        let path = folder.join(name);
        if let Some(parent) = path.parent() {
            fs::create_dir_all(parent)?;
        }
        fs::write(&path, bytes).with_context(|| format!("writing {}", path.display()))?;
    }
    Ok(())
}

fn read(folder: &Path) -> Result<Outputs> {
    ensure!(folder.is_dir(), "{} is not recorded", folder.display());
    let mut outputs = Outputs::new();
    collect(folder, "", &mut outputs)?;
    Ok(outputs)
}

/// A line for each file that differs, with the first differing line of a text.
fn differences(expected: &Outputs, found: &Outputs) -> Vec<String> {
    let mut lines = Vec::new();
    for (name, bytes) in expected {
        match found.get(name) {
            None => lines.push(format!("{name}: missing")),
            Some(now) if now != bytes => lines.push(format!("{name}: {}", first(bytes, now))),
            Some(_) => {}
        }
    }
    let new = found.keys().filter(|name| !expected.contains_key(*name));
    lines.extend(new.map(|name| format!("{name}: new")));
    lines
}

/// The first line in which two texts differ.
fn first(before: &[u8], now: &[u8]) -> String {
    let (Ok(before), Ok(now)) = (std::str::from_utf8(before), std::str::from_utf8(now)) else {
        return "other bytes".to_owned();
    };
    let pair = before.lines().zip(now.lines()).find(|(a, b)| a != b);
    match pair {
        Some((a, b)) => format!("'{}', was '{}'", b.trim(), a.trim()),
        None => "longer or shorter".to_owned(),
    }
}
