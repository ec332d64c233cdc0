//! A flow over processes of one host, each with an emulator: the bits of one process, and the end of all ranks when one ends early.
#![cfg(target_os = "linux")]

use std::fs;
use std::net::TcpListener;
use std::path::Path;
use std::process::{Child, Command, Output};
use std::thread::sleep;
use std::time::{Duration, Instant};

use crate::command::{done, ended, folder, listing, object, rarefy, refused, started, text};

/// A port that was free just now.
pub(crate) fn free_port() -> u16 {
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    listener.local_addr().unwrap().port()
}

/// Makes a command one of several ranks of this host.
pub(crate) fn place(command: &mut Command, rank: usize, ranks: usize, port: u16) {
    for (name, value) in [
        ("RAREFY_RANK", rank.to_string()),
        ("RAREFY_RANKS", ranks.to_string()),
        ("RAREFY_LOCAL_RANK", rank.to_string()),
        ("RAREFY_LOCAL_RANKS", ranks.to_string()),
        ("RAREFY_MEETING", format!("127.0.0.1:{port}")),
    ] {
        command.env(name, value);
    }
}

/// Makes a command one of several ranks of a step of Slurm, as if each had a host: the first of the list is this one.
pub(crate) fn srun(command: &mut Command, rank: usize, ranks: usize, job: u16) {
    for (name, value) in [
        ("SLURM_PROCID", rank.to_string()),
        ("SLURM_STEP_NUM_TASKS", ranks.to_string()),
        ("SLURM_LOCALID", "0".to_owned()),
        ("SLURM_STEP_TASKS_PER_NODE", format!("1(x{ranks})")),
        ("SLURM_STEP_NODELIST", format!("127.0.0.[1-{ranks}]")),
        ("SLURM_JOB_ID", job.to_string()),
        ("SLURM_NTASKS", ranks.to_string()),
        // A command with MPI would take it.
        ("RAREFY_TRANSPORT", "nccl".to_owned()),
    ] {
        command.env(name, value);
    }
}

pub(crate) fn words(line: &str) -> Vec<&str> {
    line.split_whitespace().collect()
}

/// Lines on standard error besides warnings, which rank 0 prints.
pub(crate) fn errors(output: &Output) -> Vec<&str> {
    let lines = text(&output.stderr).lines();
    lines
        .filter(|line| !line.starts_with("rarefy: warning: "))
        .collect()
}

/// The arrays and tables of a run.
pub(crate) fn results(folder: &Path) -> Vec<(String, Vec<u8>)> {
    let found: Vec<_> = (listing(folder).into_iter())
        .filter(|path| path.ends_with(".npy") || path.ends_with(".csv"))
        .map(|path| {
            let name = Path::new(&path).file_name().unwrap();
            let name = name.to_str().unwrap().to_owned();
            (name, fs::read(path).unwrap())
        })
        .collect();
    assert!(!found.is_empty());
    found
}

pub(crate) const LINE: &str =
    "shock --mach 2 --cells 40 --velocities 12 --reduced --steps 12 --backend emulator";
const PLANE: &str =
    "cavity --kn 0.5 --cells 12 --velocities 8 --reduced --steps 5 --backend emulator";

#[test]
fn processes_have_the_bits_of_one() {
    let folder = folder();
    for (k, (line, ranks)) in [
        (LINE.to_owned(), 2),
        (format!("{LINE} --precision f32 --scheme upwind"), 3),
        (PLANE.to_owned(), 2),
    ]
    .into_iter()
    .enumerate()
    {
        let alone = format!("{line} --quiet --out {k}-alone");
        done(folder.path(), &words(&alone));
        let several = format!("{line} --json --out {k}-several --devices {ranks} --processes");
        let output = done(folder.path(), &words(&several));
        assert_eq!(errors(&output), [""; 0]);
        let record = object(&output);
        assert_eq!(record["ranks"]["number"], ranks, "{}", record["ranks"]);
        assert_eq!(record["ranks"]["launcher"], "--processes");
        let [alone, several] =
            ["alone", "several"].map(|of| results(&folder.path().join(format!("{k}-{of}"))));
        assert!(alone == several, "{line}");
    }
}

#[test]
fn a_checkpoint_of_processes_goes_on_in_one() {
    let folder = folder();
    let at = folder.path();
    done(at, &words(&format!("{LINE} --quiet --out whole")));
    let begun = LINE.replace("--steps 12", "--steps 8 --checkpoint-every 4");
    done(
        at,
        &words(&format!(
            "{begun} --quiet --out begun --devices 2 --processes"
        )),
    );
    for (k, more) in ["", "--devices 3 --processes"].into_iter().enumerate() {
        let own = at.join(format!("{k}"));
        fs::create_dir(&own).unwrap();
        for path in listing(&at.join("begun")) {
            let name = Path::new(&path).file_name().unwrap();
            if name.to_str().unwrap().starts_with("checkpoint") {
                fs::copy(&path, own.join(name)).unwrap();
            }
        }
        let line = format!(
            "shock --resume {k}/checkpoint.rarefy --steps 12 --backend emulator --quiet {more}"
        );
        done(at, &words(&line));
        assert!(results(&own) == results(&at.join("whole")), "{line}");
    }
}

/// Processes with a line of arguments each, started as a launcher starts them.
fn launched(at: &Path, lines: &[&str]) -> Vec<Output> {
    let port = free_port();
    let children: Vec<Child> = (lines.iter().enumerate())
        .map(|(rank, line)| {
            let mut command = rarefy(at, &words(line));
            place(&mut command, rank, lines.len(), port);
            started(&mut command)
        })
        .collect();
    children.into_iter().map(ended).collect()
}

/// A flow by the collision integral on the CPU, whose processes a launcher starts.
#[test]
fn the_collision_integral_has_the_bits_of_one_process() {
    let folder = folder();
    let at = folder.path();
    let line = "shock --mach 1.5 --collision boltzmann --method fast --cells 24 --velocities 10 --steps 6 --backend cpu --quiet";
    done(at, &words(&format!("{line} --out whole")));
    let begun = line.replace("--steps 6", "--steps 4 --checkpoint-every 2 --out run");
    let on = "shock --resume run/checkpoint.rarefy --steps 6 --quiet";
    for (lines, number) in [(begun.as_str(), 3), (on, 2)] {
        for output in launched(at, &vec![lines; number]) {
            assert!(output.status.success(), "{}", text(&output.stderr));
            assert_eq!(errors(&output), [""; 0]);
        }
    }
    assert!(results(&at.join("run")) == results(&at.join("whole")));
}

#[test]
fn bad_input_ends_all_processes_with_one_line() {
    let folder = folder();
    let at = folder.path();
    let other = LINE.replace("--steps 12", "--steps 13");
    for (lines, why) in [
        (
            [LINE, other.as_str()],
            "--steps is 13 on rank 1 and 12 on rank 0: all ranks need the same parameters",
        ),
        (
            [LINE.replace("40", "7").as_str(); 2],
            "ranks: 2 for 7 cells along x; expected fewer ranks",
        ),
        (
            ["relax --grid 6 --steps 1 --backend emulator"; 2],
            "this command runs on one rank, and there are 2",
        ),
        (
            ["couette --kn 1 --backend cpu"; 2],
            "this command runs on one rank, and there are 2",
        ),
        (["shock --mach -2"; 2], "--mach"),
    ] {
        let lines = lines.map(|line| format!("{line} --quiet --out no"));
        let outputs = launched(at, &[lines[0].as_str(), lines[1].as_str()]);
        let said: Vec<&str> = (outputs.iter()).flat_map(errors).collect();
        assert_eq!(said.len(), 1, "{said:?}");
        assert!(said[0].contains(why), "{said:?}");
        for output in &outputs {
            assert_eq!(output.status.code(), Some(2), "{said:?}");
        }
    }
}

#[test]
fn the_folder_of_rank_0_is_that_of_all() {
    let folder = folder();
    let own = ["one", "two"].map(|name| folder.path().join(name));
    let port = free_port();
    let children = [0, 1].map(|rank| {
        fs::create_dir(&own[rank]).unwrap();
        let mut command = rarefy(&own[rank], &words(&format!("{LINE} --quiet --out run")));
        place(&mut command, rank, 2, port);
        started(&mut command)
    });
    for output in children.map(ended) {
        assert!(output.status.success(), "{}", text(&output.stderr));
    }
    assert!(own[0].join("run/run.json").exists() && !own[1].join("run").exists());
}

#[test]
fn options_that_processes_cannot_have_are_refused() {
    let folder = folder();
    for (line, why) in [
        (format!("{LINE} --processes"), "--devices"),
        (
            "couette --kn 1 --devices 2 --processes".to_owned(),
            "--processes: only flows in time by 'rarefy shock' and 'rarefy cavity' run over processes",
        ),
        (
            format!("{LINE} --devices 2 --processes --mach 1.5,2").replace("--mach 2 ", ""),
            "--processes: a list of values runs in one process",
        ),
        (
            format!("{LINE} --devices 2 --processes").replace("emulator", "cpu"),
            "expected 1 device with the backend cpu",
        ),
    ] {
        refused(folder.path(), &words(&line), why);
    }
    let line = format!("{LINE} --devices 2 --processes");
    let mut command = rarefy(folder.path(), &words(&line));
    command.envs([("RANK", "1"), ("WORLD_SIZE", "4")]);
    let output = ended(started(&mut command));
    assert_eq!(output.status.code(), Some(2));
    assert_eq!(
        text(&output.stderr).trim(),
        "rarefy: error: --processes starts all processes of a run, and torchrun started this one as rank 1 of 4; leave it and --devices out"
    );
}

/// The processes that a process has started.
pub(crate) fn children_of(process: u32) -> Vec<u32> {
    let list = fs::read_to_string(format!("/proc/{process}/task/{process}/children"));
    let list = list.unwrap_or_default();
    list.split_whitespace()
        .map(|id| id.parse().unwrap())
        .collect()
}

/// A run of three processes that would last for hours, once it has a checkpoint.
pub(crate) fn long_run(at: &Path) -> (Child, Vec<u32>) {
    let line = LINE.replace("--steps 12", "--steps 100000000 --checkpoint-every 1");
    let line = format!("{line} --quiet --out long --devices 3 --processes");
    let child = started(&mut rarefy(at, &words(&line)));
    let begun = Instant::now();
    while !at.join("long/checkpoint.rarefy").exists() {
        assert!(begun.elapsed() < Duration::from_secs(120), "no checkpoint");
        sleep(Duration::from_millis(20));
    }
    let ranks = children_of(child.id());
    assert_eq!(ranks.len(), 3);
    (child, ranks)
}

pub(crate) fn send(signal: &str, process: u32) {
    let sent = Command::new("kill")
        .args([signal, &process.to_string()])
        .status();
    assert!(sent.unwrap().success());
}

#[test]
fn a_process_that_is_killed_ends_all_with_one_line() {
    let folder = folder();
    for (killed, line) in [
        (2, "rarefy: error: rank 2 ended before the others"),
        (0, "rarefy: error: rank 1: rank 0 ended before the others"),
    ] {
        let (child, ranks) = long_run(folder.path());
        send("-KILL", ranks[killed]);
        let output = ended(child);
        assert_eq!(output.status.code(), Some(1));
        assert_eq!(errors(&output), [line]);
        assert!(
            ranks
                .iter()
                .all(|rank| !Path::new(&format!("/proc/{rank}")).exists())
        );
        fs::remove_dir_all(folder.path().join("long")).unwrap();
    }
}

#[test]
fn a_signal_stops_all_processes_at_the_same_step() {
    let folder = folder();
    let (child, _) = long_run(folder.path());
    send("-TERM", child.id());
    let output = ended(child);
    let said = errors(&output);
    assert_eq!(output.status.code(), Some(1), "{said:?}");
    assert_eq!(said.len(), 1, "{said:?}");
    assert!(said[0].contains("interrupted after "), "{said:?}");
    let line = "shock --resume long/checkpoint.rarefy --steps 1 --quiet";
    // The checkpoint is whole: it is refused only for having more steps.
    refused(folder.path(), &words(line), "step");
}
