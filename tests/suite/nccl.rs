//! NCCL as `rarefy doctor` finds and tries it, and between ranks: a library in C that needs no GPU, and the real one where there is one.
#![cfg(target_os = "linux")]

use std::fs;
use std::path::Path;
use std::process::{Command, Output};

use rarefy::distributed::{Place, Processes, Transport};
use rarefy::gpu::doctor::{self, DoctorReport, NcclReport};
use rarefy::machine::Machine;

use crate::command::{done, ended, folder, rarefy, started, text};
use crate::gpu::compile;
use crate::processes::{free_port, place, results, srun, words};
use crate::support;

/// The findings of the doctor on NCCL, with the libraries of a folder and these variables.
fn examined(libraries: &Path, variables: &[(&str, &str)]) -> NcclReport {
    let mut command = rarefy(libraries, &["doctor", "--json"]);
    command
        .env("LD_LIBRARY_PATH", libraries)
        .env_remove("RAREFY_NCCL")
        .env_remove("RAREFY_DEVICE")
        .env_remove("CUDA_VISIBLE_DEVICES")
        .envs(variables.iter().copied());
    let output = command.output().unwrap();
    assert!(output.status.success(), "{}", text(&output.stderr));
    let report: DoctorReport = serde_json::from_str(text(&output.stdout)).unwrap();
    report.nccl
}

/// A folder with this NCCL and a driver that needs no GPU.
fn libraries(nccl: &str) -> Option<tempfile::TempDir> {
    let dir = folder();
    let driver = compile(dir.path(), "libcuda.so", include_str!("fake_driver.c"));
    (driver && compile(dir.path(), "libnccl.so.2", nccl)).then_some(dir)
}

#[test]
fn a_library_that_works_is_tried() {
    let Some(dir) = libraries(include_str!("fake_nccl.c")) else {
        return;
    };
    let found = examined(dir.path(), &[]);
    assert_eq!(found.version.as_deref(), Some("2.28.9"));
    let file = dir.path().join("libnccl.so.2");
    assert_eq!(found.library.as_deref(), file.to_str());
    assert_eq!(found.problem, None);
    let check = found.self_test.unwrap();
    assert!(check.ok, "{check:?}");
    assert_eq!(check.what, "exchange numbers on device 0");
    // Numbers that arrive changed, and a refusal.
    for (variable, problem) in [
        (
            "FAKE_NCCL_WRONG",
            "the device returns other numbers than it should",
        ),
        (
            "FAKE_NCCL_REFUSES",
            "NCCL: connecting the ranks: a refusal of the fake",
        ),
    ] {
        let check = examined(dir.path(), &[(variable, "1")]).self_test.unwrap();
        assert!(!check.ok);
        assert_eq!(check.problem.as_deref(), Some(problem));
    }
}

#[test]
fn libraries_of_no_use_are_named_with_the_reason() {
    let Some(dir) = libraries(include_str!("fake_nccl.c")) else {
        return;
    };
    let of = |variables: &[(&str, &str)]| {
        let found = examined(dir.path(), variables);
        assert!(found.self_test.is_none(), "{found:?}");
        found.problem.unwrap()
    };
    assert_eq!(
        of(&[("FAKE_NCCL_VERSION", "21305")]),
        "version 2.13.5 is too old: 2.14.0 or later is needed"
    );
    assert_eq!(
        of(&[("FAKE_NCCL_VERSION", "2708")]),
        "version 2.7 is too old: 2.14.0 or later is needed"
    );
    let broken = dir.path().join("broken.so");
    fs::write(&broken, "this is no library".repeat(100)).unwrap();
    let line = of(&[("RAREFY_NCCL", broken.to_str().unwrap())]);
    assert!(line.starts_with("the library does not open: "), "{line}");
    assert_eq!(
        of(&[("RAREFY_NCCL", "/nowhere/libnccl.so.2")]),
        "no libnccl.so.2; `pip install nvidia-nccl-cu13` brings one, and RAREFY_NCCL names its file"
    );
    let without = format!("#define WITHOUT_SEND\n{}", include_str!("fake_nccl.c"));
    if let Some(dir) = libraries(&without) {
        let problem = examined(dir.path(), &[]).problem;
        assert_eq!(
            problem.as_deref(),
            Some("it has no function ncclSend: not a usable NCCL")
        );
    }
}

#[test]
fn packages_of_python_and_of_nvidia_are_looked_into() {
    let Some(dir) = libraries(include_str!("fake_nccl.c")) else {
        return;
    };
    let elsewhere = folder();
    if let Some(library) = examined(elsewhere.path(), &[]).library {
        println!("skipped: the loader finds {library} before any package");
        return;
    }
    let file = "lib/python3.12/site-packages/nvidia/nccl/lib/libnccl.so.2";
    for (variable, place) in [
        ("VIRTUAL_ENV", file),
        ("CONDA_PREFIX", file),
        ("NCCL_HOME", "lib/libnccl.so.2"),
        ("NVHPC_ROOT", "comm_libs/nccl/lib/libnccl.so.2"),
    ] {
        let root = elsewhere.path().join(variable);
        let to = root.join(place);
        fs::create_dir_all(to.parent().unwrap()).unwrap();
        fs::copy(dir.path().join("libnccl.so.2"), &to).unwrap();
        let found = examined(elsewhere.path(), &[(variable, root.to_str().unwrap())]);
        assert_eq!(found.library.as_deref(), to.to_str(), "{variable}");
        assert_eq!(found.version.as_deref(), Some("2.28.9"));
    }
}

/// A rank of its own on a GPU, where there are a GPU and the library.
#[test]
fn a_device_exchanges_with_itself() {
    if support::device().is_none() {
        return;
    }
    let found = doctor::report().nccl;
    match (found.problem, found.self_test) {
        (None, Some(check)) => {
            assert!(check.ok, "{check:?}");
            println!("NCCL {:?} of {:?}", found.version, found.library);
        }
        (problem, _) => println!("skipped: {problem:?}"),
    }
}

/// A rank of [`ranks_exchange_between_devices`], in a process of its own.
#[test]
fn one_of_several_ranks() {
    let Some(place) = Place::from_environment().unwrap() else {
        return;
    };
    let Place { rank, ranks, .. } = place;
    let transport = Processes::start(&place).unwrap();
    let device = rarefy::gpu::open().unwrap();
    if let Err(why) = transport.connect(Some(&device)) {
        println!("refused: {why}");
        return;
    }
    let link = transport.link().expect("a link");
    let numbers = |rank: usize, round: usize| -> Vec<f64> {
        (0..100)
            .map(|k| (1000 * rank + 100 * round + k) as f64 / 7.0)
            .collect()
    };
    // In rings of two both messages of a rank fly to the same one.
    let line = [
        rank.checked_sub(1),
        Some(rank + 1).filter(|next| *next < ranks),
    ];
    let ring = [(rank + ranks - 1) % ranks, (rank + 1) % ranks].map(Some);
    for (round, neighbours) in [line, ring, ring, line].into_iter().enumerate() {
        let out = device.upload(&numbers(rank, round)).unwrap();
        let mut into = device.upload(&[-1.0; 100]).unwrap();
        let (sent, received) = ([0..40, 40..100], [0..60, 60..100]);
        let exchanged = device
            .exchange(link, neighbours, (&out, sent), (&mut into, received))
            .unwrap();
        assert!(exchanged);
        let mut found = [0.0; 100];
        device.read(&into, &mut found).unwrap();
        let from = |neighbour: Option<usize>, range: std::ops::Range<usize>| match neighbour {
            Some(rank) => numbers(rank, round)[range].to_vec(),
            None => vec![-1.0; range.len()],
        };
        let expected = [from(neighbours[0], 40..100), from(neighbours[1], 0..40)].concat();
        assert_eq!(found.to_vec(), expected);
    }
    assert!(transport.describe().starts_with("NCCL "));
    if std::env::var_os("RANKS_WAIT").is_some() {
        // Until the watch ends this process.
        std::thread::sleep(std::time::Duration::from_secs(60));
    }
    transport.barrier().unwrap();
    println!("exchanged");
}

/// The output of ranks that each run a test of this binary, with the libraries of a folder.
fn ranks_with(libraries: &Path, ranks: usize, variables: &[(&str, &str)]) -> Vec<Output> {
    ranks_of(place, libraries, ranks, variables)
}

/// The same of a launcher.
fn ranks_of(
    launcher: fn(&mut Command, usize, usize, u16),
    libraries: &Path,
    ranks: usize,
    variables: &[(&str, &str)],
) -> Vec<Output> {
    let port = free_port();
    let meeting = folder();
    let children: Vec<_> = (0..ranks)
        .map(|rank| {
            let mut command = Command::new(std::env::current_exe().unwrap());
            command.args(["nccl::one_of_several_ranks", "--exact", "--nocapture"]);
            launcher(&mut command, rank, ranks, port);
            command
                .env("LD_LIBRARY_PATH", libraries)
                .env("FAKE_NCCL_FOLDER", meeting.path())
                .env_remove("RAREFY_NCCL")
                .env_remove("RAREFY_DEVICE")
                .env_remove("CUDA_VISIBLE_DEVICES")
                .envs(variables.iter().copied());
            started(&mut command)
        })
        .collect();
    children.into_iter().map(ended).collect()
}

#[test]
fn ranks_exchange_between_devices() {
    let Some(dir) = libraries(include_str!("fake_nccl.c")) else {
        return;
    };
    type Launcher = fn(&mut Command, usize, usize, u16);
    for (launcher, ranks) in [(place as Launcher, 2), (place, 3), (srun, 2)] {
        for output in ranks_of(launcher, dir.path(), ranks, &[]) {
            assert!(output.status.success(), "{}", text(&output.stderr));
            assert!(
                text(&output.stdout).contains("exchanged"),
                "{}",
                text(&output.stdout)
            );
        }
    }
}

/// The command under `srun`, which connects ranks where it finds GPUs and NCCL, and computes on the CPU all the same.
#[test]
fn ranks_of_a_step_of_slurm_have_the_bits_of_one() {
    let Some(dir) = libraries(include_str!("fake_nccl.c")) else {
        return;
    };
    let line =
        "shock --mach 2 --cells 40 --velocities 12 --reduced --steps 12 --backend cpu --quiet";
    done(dir.path(), &words(&format!("{line} --out alone")));
    let (line, job) = (format!("{line} --out several"), free_port());
    let ranks = [0, 1].map(|rank| {
        let mut command = rarefy(dir.path(), &words(&line));
        srun(&mut command, rank, 2, job);
        command
            .env("LD_LIBRARY_PATH", dir.path())
            .env_remove("RAREFY_NCCL")
            .env_remove("RAREFY_DEVICE")
            .env_remove("CUDA_VISIBLE_DEVICES");
        started(&mut command)
    });
    for output in ranks.map(ended) {
        assert!(output.status.success(), "{}", text(&output.stderr));
    }
    let [alone, several] = ["alone", "several"].map(|of| dir.path().join(of));
    let record = fs::read_to_string(several.join("run.json")).unwrap();
    let record: serde_json::Value = serde_json::from_str(&record).unwrap();
    assert_eq!(record["ranks"]["number"], 2);
    assert_eq!(record["ranks"]["launcher"], "srun");
    assert!(results(&alone) == results(&several));
}

#[test]
fn devices_that_cannot_be_connected_are_refused_on_all_ranks() {
    let Some(dir) = libraries(include_str!("fake_nccl.c")) else {
        return;
    };
    for (variables, why) in [
        (
            ("FAKE_GPU_SHARED", "1"),
            "refused: ranks: 0 and 1 on one GPU; expected a GPU for each, as NCCL needs it; start as many ranks as there are GPUs",
        ),
        (
            ("FAKE_NCCL_VERSION", "21305"),
            "refused: NCCL: rank 0: version 2.13.5 is too old: 2.14.0 or later is needed; expected version 2.14 or later for each rank",
        ),
    ] {
        for output in ranks_with(dir.path(), 2, &[variables]) {
            assert!(output.status.success(), "{}", text(&output.stderr));
            assert!(
                text(&output.stdout).contains(why),
                "{}",
                text(&output.stdout)
            );
        }
    }
    // A refusal or a fault of NCCL itself ends all ranks, with one line.
    for (variable, why) in [
        (
            "FAKE_NCCL_REFUSES",
            "NCCL: connecting the ranks: a refusal of the fake",
        ),
        (
            "FAKE_NCCL_BREAKS",
            "NCCL: exchanging data: an error of the fake",
        ),
    ] {
        let waits = [(variable, "1"), ("RANKS_WAIT", "1")];
        let outputs = ranks_with(dir.path(), 2, &waits);
        let lines: Vec<&str> = (outputs.iter())
            .flat_map(|output| text(&output.stderr).lines())
            .filter(|line| line.starts_with("rarefy: error: "))
            .collect();
        assert!(outputs.iter().all(|output| output.status.code() == Some(1)));
        assert_eq!(lines.len(), 1, "{lines:?}");
        assert!(lines[0].ends_with(why), "{lines:?}");
    }
}

#[test]
fn the_command_refuses_processes_without_a_device_for_each() {
    let Some(dir) = libraries(include_str!("fake_nccl.c")) else {
        return;
    };
    let line = "shock --mach 2 --cells 64 --velocities 12 --reduced --steps 4 --backend cuda --quiet --out run --devices 2 --processes";
    let arguments: Vec<&str> = line.split_whitespace().collect();
    for (variables, why) in [
        (
            [("RAREFY_DEVICE", "0x2"), ("FAKE_GPU_SHARED", "1")],
            "ranks: 0 and 1 on one GPU; expected a GPU for each, as NCCL needs it",
        ),
        (
            [("RAREFY_DEVICE", "0x2"), ("RAREFY_NCCL", "/nowhere")],
            "NCCL: rank 0: no libnccl.so.2; `pip install nvidia-nccl-cu13` brings one, and RAREFY_NCCL names its file; expected",
        ),
        (
            [("RAREFY_DEVICE", "0"), ("FAKE_GPU_SHARED", "1")],
            "--devices: 2; expected at most 1: 0 (Fake GPU)",
        ),
    ] {
        let mut command = rarefy(dir.path(), &arguments);
        command
            .env("LD_LIBRARY_PATH", dir.path())
            .env_remove("CUDA_VISIBLE_DEVICES")
            .envs(variables);
        let output = ended(started(&mut command));
        let said = text(&output.stderr);
        assert_eq!(output.status.code(), Some(2), "{said}");
        assert!(said.contains(why), "{said}");
        assert_eq!(said.lines().count(), 1, "{said}");
    }
}
