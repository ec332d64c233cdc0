//! Commands that end while the driver of the GPU starts beside them.
#![cfg(target_os = "linux")]

use crate::command::{ended, folder, rarefy, started, text};
use crate::gpu::{compile, complete_driver};

/// A driver that never starts, and whose exit handler never ends.
const STUCK: &str = "
#include <unistd.h>
int cuDriverGetVersion(int *version) { *version = 13000; return 0; }
int cuInit(unsigned flags) { for (;;) pause(); }
__attribute__((destructor)) static void leave(void) { for (;;) pause(); }
";

#[test]
fn a_refusal_does_not_wait_for_the_driver() {
    let dir = folder();
    if !compile(dir.path(), "libcuda.so", &complete_driver(STUCK)) {
        return;
    }
    let line = "shock --collision boltzmann --mach 2 --cells 20 --velocities 12 --dt 100 --out run";
    let arguments: Vec<&str> = line.split_whitespace().collect();
    let mut command = rarefy(dir.path(), &arguments);
    let output = ended(started(command.env("LD_LIBRARY_PATH", dir.path())));
    let stderr = text(&output.stderr);
    assert_eq!(output.status.code(), Some(2), "{stderr}");
    assert!(stderr.starts_with("rarefy: error: --dt: 100; "), "{stderr}");
}
