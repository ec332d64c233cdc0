//! Ctrl-C, SIGTERM and SIGHUP, whenever they come: exit code 1, one line, and no file that is not a result.

use std::path::Path;
use std::process::{Child, Command, Output};
use std::thread::sleep;
use std::time::{Duration, Instant};

use crate::command::{ended, folder, listing, rarefy, started, text};

/// Sends a signal to the command a little after it has locked its folder.
#[track_caller]
fn signalled(at: &Path, line: &str, lock: &str, signal: &str) -> Output {
    let arguments: Vec<&str> = line.split_whitespace().collect();
    let child = started(&mut rarefy(at, &arguments));
    let begun = Instant::now();
    while !at.join(lock).exists() && begun.elapsed() < Duration::from_secs(60) {
        sleep(Duration::from_millis(5));
    }
    sleep(Duration::from_millis(200));
    send(signal, &child);
    ended(child)
}

#[track_caller]
fn send(signal: &str, to: &Child) {
    let kill = Command::new("kill")
        .args([signal, &to.id().to_string()])
        .status();
    assert!(kill.unwrap().success());
}

#[test]
fn work_of_all_kinds_ends_at_a_signal_with_a_line_and_without_a_lock() {
    for (line, signal, end) in [
        (
            "couette --delta 1 --collision boltzmann --velocities 40 --until-residual 1e-15 --backend cpu",
            "-INT",
            "",
        ),
        (
            "couette --delta 1000 --cells 2000 --velocities 64x64 --until-residual 1e-16 --backend reference",
            "-TERM",
            "",
        ),
        (
            "rates --convergence 24,32,40 --method direct --backend cpu",
            "-INT",
            "interrupted; nothing is saved",
        ),
        ("paper validate", "-TERM", "interrupted; nothing is saved"),
        ("paper bench", "-INT", "interrupted; nothing is saved"),
        (
            "market --scenario voucher --cells 128 --dt 0.00001 --backend cpu",
            "-INT",
            "nothing is saved, for 'rarefy market' has no checkpoints",
        ),
    ] {
        let folder = folder();
        let at = folder.path();
        let command = match line {
            _ if line.starts_with("paper") => line.replace(' ', "-"),
            _ => line.split(' ').next().unwrap().into(),
        };
        let lock = format!("rarefy-out/{command}/.rarefy.lock");
        let output = signalled(at, &format!("{line} --quiet"), &lock, signal);
        let stderr = text(&output.stderr);
        assert_eq!(output.status.code(), Some(1), "{line}: {stderr}");
        let last = stderr.lines().last().unwrap_or_default();
        assert!(
            last.starts_with("rarefy: error: interrupted") && last.ends_with(end),
            "{line}: {stderr}"
        );
        assert!(last.contains("nothing is saved"), "{line}: {stderr}");
        assert_eq!(listing(at), Vec::<String>::new(), "{line}");
    }
}

/// A folder that was there before stays.
#[test]
fn a_signal_leaves_the_folder_of_the_user() {
    let folder = folder();
    let at = folder.path();
    std::fs::create_dir(at.join("mine")).unwrap();
    let line = "rates --convergence 24,32,40 --method direct --backend cpu --quiet --out mine";
    let output = signalled(at, line, "mine/.rarefy.lock", "-INT");
    assert_eq!(output.status.code(), Some(1));
    assert_eq!(listing(at), [at.join("mine").display().to_string()]);
}

/// `nohup` has a command ignore SIGHUP; without it the signal interrupts.
#[cfg(unix)]
#[test]
fn a_run_that_ignores_the_end_of_its_terminal_goes_on() {
    for (ignored, code) in [("trap '' HUP; ", 0), ("", 1)] {
        let folder = folder();
        let at = folder.path();
        let line = "shock --mach 2 --cells 400 --reduced --steps 20000 --out run --quiet";
        let arguments: Vec<&str> = line.split(' ').collect();
        let command = rarefy(at, &arguments);
        let child = started(
            Command::new("sh")
                .current_dir(at)
                .args(["-c", &format!("{ignored}exec \"$@\""), "sh"])
                .arg(command.get_program())
                .args(command.get_args()),
        );
        let begun = Instant::now();
        while !at.join("run/.rarefy.lock").exists() && begun.elapsed() < Duration::from_secs(60) {
            sleep(Duration::from_millis(5));
        }
        let kill = Command::new("kill")
            .args(["-HUP", &child.id().to_string()])
            .status();
        assert!(kill.unwrap().success());
        let output = ended(child);
        let stderr = text(&output.stderr);
        assert_eq!(output.status.code(), Some(code), "{ignored}: {stderr}");
        assert_eq!(at.join("run/run.json").exists(), code == 0, "{stderr}");
    }
}

const SHOCK: &str =
    "shock --mach 2 --cells 4000 --reduced --steps 1000000 --out run --quiet --backend cpu";

/// `timeout` signals a process and its group within a millisecond; signals of batch systems end as SIGTERM does.
#[test]
fn a_run_that_is_signalled_twice_at_once_keeps_its_checkpoint() {
    for signal in ["-TERM", "-INT", "-USR1", "-XCPU"] {
        let folder = folder();
        let at = folder.path();
        let arguments: Vec<&str> = SHOCK.split(' ').collect();
        let child = started(&mut rarefy(at, &arguments));
        let begun = Instant::now();
        while !at.join("run/.rarefy.lock").exists() && begun.elapsed() < Duration::from_secs(60) {
            sleep(Duration::from_millis(5));
        }
        sleep(Duration::from_millis(300));
        send(signal, &child);
        send("-TERM", &child);
        let output = ended(child);
        let stderr = text(&output.stderr);
        assert_eq!(output.status.code(), Some(1), "{signal}: {stderr}");
        let line = "go on with: rarefy shock --resume run/checkpoint.rarefy";
        assert!(stderr.trim_end().ends_with(line), "{signal}: {stderr}");
        let run = at.join("run");
        let there =
            [run.clone(), run.join("checkpoint.rarefy")].map(|path| path.display().to_string());
        assert_eq!(listing(at), there, "{signal}");
    }
}

/// A file beyond the limit of the shell is an error of its write.
#[test]
fn files_that_are_too_large_are_errors() {
    let folder = folder();
    let at = folder.path();
    let line =
        "shock --mach 2 --cells 400 --reduced --steps 4 --checkpoint-every 2 --out run --quiet";
    let arguments: Vec<&str> = line.split(' ').collect();
    let command = rarefy(at, &arguments);
    let output = Command::new("sh")
        .current_dir(at)
        .args(["-c", "ulimit -f 64; exec \"$@\"", "sh"])
        .arg(command.get_program())
        .args(command.get_args())
        .output()
        .unwrap();
    let stderr = text(&output.stderr);
    assert_eq!(output.status.code(), Some(2), "{stderr}");
    assert!(
        stderr.contains("no checkpoint, and the run goes on") && stderr.contains("file too large"),
        "{stderr}"
    );
    let files = listing(&at.join("run"));
    assert!(
        files.iter().all(|name| !name.contains(".rarefy")),
        "{files:?}"
    );
    assert!(at.join("run/run.json").exists());
}

/// The integrals of all cells take long; a signal ends them at the next cell, with the state from before.
#[test]
fn a_signal_ends_a_step_of_the_integral_at_a_cell() {
    for mode in ["--steady", "--steps 1000"] {
        let folder = folder();
        let at = folder.path();
        let line = format!(
            "cavity --delta 1 --cells 16 --velocities 16 --collision boltzmann --backend reference --threads 1 --quiet --out run {mode}"
        );
        let arguments: Vec<&str> = line.split_whitespace().collect();
        let child = started(&mut rarefy(at, &arguments));
        let begun = Instant::now();
        while !at.join("run/.rarefy.lock").exists() && begun.elapsed() < Duration::from_secs(60) {
            sleep(Duration::from_millis(5));
        }
        sleep(Duration::from_millis(1500));
        let signalled = Instant::now();
        send("-TERM", &child);
        let output = ended(child);
        let took = signalled.elapsed();
        let stderr = text(&output.stderr);
        assert_eq!(output.status.code(), Some(1), "{mode}: {stderr}");
        assert!(
            stderr.contains("rarefy: error: interrupted"),
            "{mode}: {stderr}"
        );
        // A step takes more than twice as long.
        assert!(took < Duration::from_secs(5), "{mode}: {took:?}");
    }
}
