//! A GPU that is lost in the middle of the work: every call after it is an error, and a command ends in one line.
//!
//! `lost_device.c` wraps the driver, the real one or that of `fake_driver.c`.
#![cfg(all(target_os = "linux", target_env = "gnu"))]

use std::fs;
use std::path::{Path, PathBuf};
use std::process::{Command, Output};

use rarefy::MachineError;
use rarefy::gpu::Device;
use rarefy::machine::{Grid, Machine};

use crate::command::{done, ended, folder, rarefy, started, text};
use crate::gpu::kernels::suite_axpy;
use crate::gpu::{compile, hand_written};
use crate::support;

/// How many launches the device takes before it is lost.
const LEFT: &str = "LAUNCHES_LEFT";

/// The library that loses the device, compiled into a folder.
fn loser(folder: &Path) -> Option<PathBuf> {
    compile(folder, "liblost.so", include_str!("lost_device.c")).then(|| folder.join("liblost.so"))
}

/// Loses its device where [`LEFT`] says after how many launches: the tests below run it so in processes of their own.
#[test]
fn all_calls_on_a_lost_device_are_errors() {
    let Some(left) = std::env::var_os(LEFT) else {
        return;
    };
    let left: u32 = left.to_str().unwrap().parse().unwrap();
    let Some(device) = hand_written() else {
        return;
    };
    let one = device.upload(&vec![1.0_f64; 1000]).unwrap();
    let mut out = device.upload(&vec![0.0_f64; 1000]).unwrap();
    // Long enough to be copied through page-locked memory by several threads.
    let bytes = vec![7_u8; 20 << 20];
    let mut large = device.upload(&bytes).unwrap();
    device.prepare(&["suite_axpy_f64"]).unwrap();
    let mut launch = |device: &Device| {
        device.launch(
            Grid::per_item(1000, 128),
            suite_axpy {
                x: &one,
                y: &one,
                out: &mut out,
                a: 2.0,
            },
        )
    };
    // Recording takes a launch, and replaying another.
    let graph = (left >= 2).then(|| {
        let graph = device.capture(&mut launch).unwrap();
        graph.launch().unwrap();
        graph
    });
    let mut taken = if graph.is_some() { 2 } else { 0 };
    let first = loop {
        match launch(&device).and_then(|()| device.synchronize()) {
            Ok(()) => taken += 1,
            Err(error) => break error,
        }
    };
    assert_eq!(taken, left, "{first}");
    let refused = |call: &str, outcome: Result<(), MachineError>| match outcome {
        Err(MachineError::Driver { .. }) => {}
        other => panic!("{call}: {other:?}"),
    };
    refused("the launch that loses it", Err(first));
    if let Some(graph) = &graph {
        refused("replaying", graph.launch());
    }
    refused("launching", launch(&device));
    refused("recording", device.capture(&mut launch).map(drop));
    refused("waiting", device.synchronize());
    refused("reading", device.read(&out, &mut vec![0.0; 1000]));
    refused("writing", device.write(&mut out, &vec![0.0; 1000]));
    refused("a large write", device.write(&mut large, &bytes));
    refused("a large read", device.read(&large, &mut bytes.clone()));
    refused("allocating", device.allocate::<f64>(1000).map(drop));
    refused("uploading", device.upload(&[1.0_f64]).map(drop));
    refused("asking for memory", device.limits().map(drop));
    refused("timing", device.time(|| Ok(())).map(drop));
    // Dropped objects call the device as well, without an answer.
    drop((graph, one, out, large, device));
    println!("lost after {taken} launches");
}

/// Runs [`all_calls_on_a_lost_device_are_errors`] with a device that is lost after so many launches.
fn lose(folder: &Path, loser: &Path, left: u32) {
    let mut command = Command::new(std::env::current_exe().unwrap());
    command
        .args([
            "lost_device::all_calls_on_a_lost_device_are_errors",
            "--exact",
            "--nocapture",
        ])
        .env("LD_LIBRARY_PATH", folder)
        .env("LD_PRELOAD", loser)
        .env(LEFT, left.to_string())
        .env("RAREFY_REQUIRE_GPU", "1");
    let output = ended(started(&mut command));
    let (stdout, stderr) = (text(&output.stdout), text(&output.stderr));
    assert!(output.status.success(), "{left}: {stdout}{stderr}");
    let line = format!("lost after {left} launches");
    assert!(stdout.contains(&line), "{left}: {stdout}{stderr}");
}

#[test]
fn a_driver_without_a_gpu_loses_its_device() {
    let dir = folder();
    let fake = include_str!("fake_driver.c");
    let Some(loser) = loser(dir.path()) else {
        return;
    };
    if compile(dir.path(), "libcuda.so", fake) {
        for left in [0, 1, 2, 3, 10] {
            lose(dir.path(), &loser, left);
        }
    }
}

#[test]
fn a_device_is_lost() {
    if support::device().is_none() {
        return;
    }
    let dir = folder();
    if let Some(loser) = loser(dir.path()) {
        for left in [0, 1, 2, 3, 10] {
            lose(dir.path(), &loser, left);
        }
    }
}

/// Runs a command on the GPU, which is lost after so many launches.
fn without_its_device(folder: &Path, arguments: &[&str], loser: &Path, left: u32) -> Output {
    let mut command = rarefy(folder, arguments);
    command.env("LD_PRELOAD", loser).env(LEFT, left.to_string());
    ended(started(&mut command))
}

/// Commands end in one line that names the driver, and what they have saved by then is read again, on the CPU too.
#[test]
fn commands_end_in_one_line_when_the_device_is_lost() {
    if support::device().is_none() {
        return;
    }
    let tools = folder();
    let Some(loser) = loser(tools.path()) else {
        return;
    };
    // All of them would go on for longer than anybody waits.
    let end = ["--steps", "100000000", "--checkpoint-every", "2"];
    for case in [
        &["relax", "--grid", "12"][..],
        &["shock", "--cells", "60", "--reduced"],
        &[
            "cavity",
            "--delta",
            "1",
            "--cells",
            "16",
            "--velocities",
            "8x8x8",
        ],
        &["isotropic", "--cells", "128", "--every", "7"],
    ] {
        let command = case[0];
        let mut saved = 0;
        for left in [1, 2, 5, 20, 100, 1000] {
            let dir = folder();
            let arguments = [case, &end, &["--out", "out", "--quiet"]].concat();
            let output = without_its_device(dir.path(), &arguments, &loser, left);
            let stderr = text(&output.stderr);
            let told = format!("{command}, {left} launches: {stderr}");
            assert_eq!(output.status.code(), Some(1), "{told}");
            assert!(output.stdout.is_empty(), "{told}");
            let (errors, others): (Vec<_>, Vec<_>) = stderr
                .lines()
                .partition(|line| line.starts_with("rarefy: error: "));
            let warnings = others
                .iter()
                .all(|line| line.starts_with("rarefy: warning: "));
            assert!(warnings, "{told}");
            assert!(
                matches!(&errors[..], [line] if line.contains("CUDA driver: ") && line.contains("may be lost")),
                "{told}"
            );
            if !dir.path().join("out/checkpoint.rarefy").exists() {
                continue;
            }
            saved += 1;
            let again = format!("goes on: rarefy {command} --resume out/checkpoint.rarefy");
            assert!(stderr.trim_end().ends_with(&again), "{told}");
            let resume = [command, "--resume", "out/checkpoint.rarefy", "--steps"];
            let step = step_of(dir.path(), &[&resume[..], &["1"]].concat());
            let further = (step + 2).to_string();
            let arguments = [
                &resume[..],
                &[&further, "--out", "rest", "--quiet", "--overwrite"],
            ]
            .concat();
            done(dir.path(), &arguments);
            let on_the_cpu = rarefy(dir.path(), &arguments)
                .env("CUDA_VISIBLE_DEVICES", "-1")
                .output()
                .unwrap();
            let stderr = text(&on_the_cpu.stderr);
            assert!(on_the_cpu.status.success(), "{told}{stderr}");
            assert!(stderr.contains("the bits may differ"), "{told}{stderr}");
            let run = fs::read_to_string(dir.path().join("rest/run.json")).unwrap();
            assert!(run.contains("\"CPU, "), "{told}{run}");
        }
        assert!(saved > 0, "{command} was lost before every checkpoint");
    }
}

/// The step of a checkpoint, of a run that is asked to end earlier.
fn step_of(folder: &Path, arguments: &[&str]) -> u64 {
    let output = rarefy(folder, arguments).output().unwrap();
    let stderr = text(&output.stderr);
    let rest = stderr
        .split_once("at step ")
        .unwrap_or_else(|| panic!("{stderr}"))
        .1;
    let digits = rest.split(|c: char| !c.is_ascii_digit()).next();
    digits.unwrap().parse().unwrap()
}
