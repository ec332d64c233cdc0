//! The CUDA device: memory, launches, graphs, errors; and what happens where there is none.
//!
//! Launches are tested with kernels of their own, written by hand in `gpu.ptx`, so that they run whatever PTX the build
//! embeds; the kernels of the collision integral are tested where it embeds them.

use std::fmt::Debug;
use std::fs;
use std::path::Path;
use std::process::Command;
use std::time::Duration;

use rarefy::gpu::ptx::{self, MODULES, PtxModule, PtxText};
use rarefy::gpu::{self, Device, DeviceBuffer, doctor};
use rarefy::machine::{Element, Grid, Machine};
use rarefy::signed_digit::float;
use rarefy::{Backend, Error, MachineError};
use rarefy_kernels::{Real, collision};

use self::kernels::{Pair, suite_axpy, suite_mixed, suite_reverse, suite_unknown};
use crate::support;

type Result<T, E = MachineError> = std::result::Result<T, E>;

#[allow(unreachable_pub, missing_docs, reason = "what the macro declares")]
pub(crate) mod kernels {
    use rarefy_kernels::kernel;

    kernel! {
        /// out[i] = a x[i] + y[i], one thread an element.
        pub fn suite_axpy<T: Real>(t, x: In<T>, y: In<T>, out: Out<T>; a: T) for f32, f64 {
            let i = t.global_idx();
            if i < out.len() {
                out.set(t, i, a.mul_add(x.get(t, i), y.get(t, i)));
            }
        }
    }

    kernel! {
        /// Reverses the first n elements, in one block.
        pub fn suite_reverse(t, x: InOut<u32>; n: u32) shared { tile: [u32; n] } {
            let mut k = t.thread_idx();
            while k < n {
                tile.set(t, k, x.get(t, k as usize));
                k += t.block_dim();
            }
            t.sync_threads();
            let mut k = t.thread_idx();
            while k < n {
                x.set(t, k as usize, tile.get(t, n - 1 - k));
                k += t.block_dim();
            }
        }
    }

    #[derive(Clone, Copy)]
    #[repr(C)]
    pub struct Pair {
        pub real: f64,
        pub count: u32,
    }

    kernel! {
        /// Writes its numbers, of all alignments, out one after another.
        pub fn suite_mixed(t, out: Out<f64>; small: u32, pair: Pair, middle: u32, large: f64) {
            if t.global_idx() == 0 {
                out.set(t, 0, f64::from(small));
                out.set(t, 1, pair.real);
                out.set(t, 2, f64::from(pair.count));
                out.set(t, 3, f64::from(middle));
                out.set(t, 4, large);
                out.set(t, 5, out.len() as f64);
            }
        }
    }

    kernel! {
        /// In no PTX.
        pub fn suite_unknown(t, x: In<f32>, out: Out<f32>) {
            out.set(t, 0, x.get(t, 0));
        }
    }
}

static HAND_WRITTEN: &[PtxModule] = &[
    PtxModule {
        wing: "suite",
        capability: 75,
        entries: &[
            "suite_axpy_f32",
            "suite_axpy_f64",
            "suite_reverse",
            "suite_mixed",
        ],
        text: PtxText::Plain(include_str!("gpu.ptx")),
    },
    PtxModule {
        wing: "suite",
        capability: 9990,
        entries: &["suite_unknown"],
        text: PtxText::Plain("no device is that new"),
    },
];

/// A device with the hand-written kernels.
pub(crate) fn hand_written() -> Option<Device> {
    support::available(Device::open(HAND_WRITTEN))
}

fn back<T: Element + Default>(device: &Device, buffer: &DeviceBuffer<T>) -> Vec<T> {
    let mut data = vec![T::default(); buffer.len()];
    device.read(buffer, &mut data).unwrap();
    data
}

// Without a device.

/// All searches for a device, as text. Run on its own this checks that nothing panics; the tests below run it again in
/// processes whose driver library is broken.
#[test]
fn looking_for_a_device_never_panics() {
    match gpu::open() {
        Ok(device) => println!("open: {device:?}"),
        Err(error) => println!("open: {error}"),
    }
    match Backend::Cuda.resolve() {
        Ok(taken) => println!("cuda: {}", taken.describe()),
        Err(error) => println!("cuda: {error}"),
    }
    match Backend::Auto.resolve() {
        Ok(taken) => println!("auto: {}", taken.describe()),
        Err(error) => println!("auto: {error}"),
    }
    let report = doctor::report();
    println!("{report}");
    serde_json::to_string(&report).unwrap();
}

#[test]
fn without_a_device_the_error_helps() {
    let error = match gpu::open() {
        Ok(device) => {
            println!("skipped: there is a GPU: {device:?}");
            return;
        }
        Err(error) => error,
    };
    let Error::Machine(MachineError::NoDevice(text)) = &error else {
        panic!("{error}");
    };
    assert!(text.contains("compute on the CPU"), "{text}");
    assert!(error.is_input());
    assert!(matches!(
        Backend::Cuda.resolve(),
        Err(Error::Machine(MachineError::NoDevice(_)))
    ));
    let taken = Backend::Auto.resolve().unwrap();
    assert_eq!(taken.backend(), Backend::Cpu);
    assert!(taken.describe().starts_with("CPU, "));
    assert!(!doctor::report().gpu_usable);
}

/// Runs [`looking_for_a_device_never_panics`] with files of a folder as driver library; returns what it prints.
fn look_with(folder: &Path, variables: &[(&str, &str)]) -> String {
    let output = Command::new(std::env::current_exe().unwrap())
        .args([
            "gpu::looking_for_a_device_never_panics",
            "--exact",
            "--nocapture",
        ])
        .env("LD_LIBRARY_PATH", folder)
        .env_remove("RAREFY_REQUIRE_GPU")
        .env_remove("RAREFY_DEVICE")
        .env_remove("CUDA_VISIBLE_DEVICES")
        .envs(variables.iter().copied())
        .output()
        .unwrap();
    let text = format!(
        "{}{}",
        String::from_utf8_lossy(&output.stdout),
        String::from_utf8_lossy(&output.stderr)
    );
    assert!(output.status.success(), "{text}");
    assert!(!text.contains("panicked"), "{text}");
    text
}

/// Compiles a library from C code into a folder; `false`, with a line that says so, without a C compiler.
#[cfg(target_os = "linux")]
pub(crate) fn compile(folder: &Path, library: &str, code: &str) -> bool {
    let source = folder.join("library.c");
    fs::write(&source, code).unwrap();
    let compiled = Command::new("cc")
        .args(["-O1", "-w", "-shared", "-fPIC", "-pthread", "-o"])
        .arg(folder.join(library))
        .arg(&source)
        .arg("-ldl")
        .status();
    match compiled {
        Ok(status) => {
            assert!(status.success(), "{code}");
            true
        }
        Err(error) => {
            println!("skipped: no C compiler `cc`: {error}");
            false
        }
    }
}

/// Output of [`looking_for_a_device_never_panics`] with a driver library made of this C code.
#[cfg(target_os = "linux")]
fn look_with_driver(code: &str) -> Option<String> {
    let folder = tempfile::tempdir().unwrap();
    compile(folder.path(), "libcuda.so", code).then(|| look_with(folder.path(), &[]))
}

/// A driver library that has every function, each returning 999 (unknown error) unless defined here.
#[cfg(target_os = "linux")]
pub(crate) fn complete_driver(defined: &str) -> String {
    let names = [
        "cuInit",
        "cuDriverGetVersion",
        "cuGetErrorName",
        "cuGetErrorString",
        "cuDeviceGet",
        "cuDeviceGetCount",
        "cuDeviceGetName",
        "cuDeviceGetAttribute",
        "cuDeviceTotalMem_v2",
        "cuDevicePrimaryCtxRetain",
        "cuDevicePrimaryCtxRelease_v2",
        "cuCtxSetCurrent",
        "cuStreamCreate",
        "cuStreamCreateWithPriority",
        "cuCtxEnablePeerAccess",
        "cuStreamSynchronize",
        "cuStreamWaitEvent",
        "cuStreamDestroy_v2",
        "cuStreamBeginCapture_v2",
        "cuStreamEndCapture",
        "cuMemAlloc_v2",
        "cuMemFree_v2",
        "cuMemGetInfo_v2",
        "cuMemHostAlloc",
        "cuMemFreeHost",
        "cuMemcpyHtoDAsync_v2",
        "cuMemcpyDtoHAsync_v2",
        "cuMemcpyDtoDAsync_v2",
        "cuMemcpyPeerAsync",
        "cuModuleLoadDataEx",
        "cuModuleGetFunction",
        "cuModuleUnload",
        "cuFuncGetAttribute",
        "cuFuncSetAttribute",
        "cuLaunchKernel",
        "cuEventCreate",
        "cuEventRecord",
        "cuEventSynchronize",
        "cuEventElapsedTime",
        "cuEventDestroy_v2",
        "cuGraphInstantiateWithFlags",
        "cuGraphLaunch",
        "cuGraphExecDestroy",
        "cuGraphDestroy",
    ];
    let rest: String = names
        .iter()
        .filter(|name| !defined.contains(&format!("{name}(")))
        .map(|name| format!("int {name}() {{ return 999; }}\n"))
        .collect();
    format!("{defined}\n{rest}")
}

#[cfg(target_os = "linux")]
#[test]
fn a_broken_driver_is_an_error_that_says_so() {
    const MODERN: &str = "int cuDriverGetVersion(int *v) { *v = 13000; return 0; }\n";
    let cases = [
        (
            "int nothing;".to_owned(),
            "it has no function cuDriverGetVersion",
        ),
        (
            "int cuDriverGetVersion(int *v) { *v = 10020; return 0; }".to_owned(),
            "supports CUDA 10.2, and rarefy needs 11.4",
        ),
        (MODERN.to_owned(), "it has no function cuInit"),
        (
            "int cuDriverGetVersion(int *v) { return 34; }".to_owned(),
            "stub for linking",
        ),
        (
            complete_driver(&format!("{MODERN}int cuInit(unsigned f) {{ return 100; }}")),
            "lists no device",
        ),
        (
            complete_driver(&format!("{MODERN}int cuInit(unsigned f) {{ return 803; }}")),
            "does not fit the kernel's NVIDIA module",
        ),
        (
            complete_driver(&format!(
                "{MODERN}int cuInit(unsigned f) {{ return 0; }}\nint cuDeviceGetCount(int *n) {{ *n = 0; return 0; }}"
            )),
            "lists no device",
        ),
        (
            complete_driver(&format!(
                "{MODERN}int cuInit(unsigned f) {{ return 0; }}\nint cuDeviceGetCount(int *n) {{ *n = 1; return 0; }}"
            )),
            "error 999",
        ),
    ];
    for (code, expected) in cases {
        let Some(text) = look_with_driver(&code) else {
            return;
        };
        for start in ["open: ", "cuda: "] {
            let line = text
                .lines()
                .find_map(|line| line.split_once(start))
                .unwrap()
                .1;
            assert!(line.contains(expected), "{expected} in {line}\n{code}");
        }
        assert!(text.contains("auto: CPU, "), "{text}");
        assert!(text.contains("no GPU can be used"), "{text}");
    }
}

#[cfg(target_os = "linux")]
#[test]
fn a_file_that_is_no_library_is_an_error_that_says_so() {
    let folder = tempfile::tempdir().unwrap();
    for name in ["libcuda.so", "libcuda.so.1"] {
        fs::write(folder.path().join(name), "this is no library".repeat(100)).unwrap();
    }
    let text = look_with(folder.path(), &[]);
    assert!(text.contains("does not open"), "{text}");
    assert!(text.contains("auto: CPU, "), "{text}");
}

/// The tests of devices, against a driver that runs the hand-written kernels on the host (`fake_driver.c`).
///
/// It cannot tell whether the GPU computes right, but locks, lifetimes, recordings and refusals it can.
#[cfg(target_os = "linux")]
#[test]
fn everything_works_on_a_driver_without_a_gpu() {
    let folder = tempfile::tempdir().unwrap();
    if !compile(folder.path(), "libcuda.so", include_str!("fake_driver.c")) {
        return;
    }
    let output = Command::new(std::env::current_exe().unwrap())
        .args([
            "--exact",
            "--nocapture",
            "gpu::buffers_of_all_types_round_trip",
            "gpu::large_copies_arrive_whole",
            "gpu::copies_between_different_lengths_are_refused",
            "gpu::too_much_memory_is_refused_with_both_numbers",
            "gpu::a_launch_computes",
            "gpu::arguments_of_all_alignments_arrive",
            "gpu::shared_memory_beyond_48_kib_is_opted_into",
            "gpu::shared_memory_beyond_48_kib_works_in_graphs",
            "gpu::wrong_launches_are_refused_by_name",
            "gpu::a_kernel_that_is_not_there_is_named",
            "gpu::ptx_that_the_driver_refuses_shows_its_log",
            "gpu::a_graph_replays_what_was_recorded",
            "gpu::a_graph_keeps_the_memory_that_it_uses",
            "gpu::a_failed_recording_leaves_the_device_working",
            "gpu::work_alongside_other_work_comes_before_what_follows",
            "gpu::time_is_measured",
            "devices::a_device_copies_from_another_of_the_process",
            "gpu::two_handles_keep_their_buffers_apart",
            "gpu::a_device_works_from_many_threads",
            "gpu::devices_that_are_not_there_are_refused",
            "gpu::auto_takes_the_device",
        ])
        .env("LD_LIBRARY_PATH", folder.path())
        .env("RAREFY_REQUIRE_GPU", "1")
        .env_remove("RAREFY_DEVICE")
        .env_remove("CUDA_VISIBLE_DEVICES")
        .output()
        .unwrap();
    let text = format!(
        "{}{}",
        String::from_utf8_lossy(&output.stdout),
        String::from_utf8_lossy(&output.stderr)
    );
    assert!(output.status.success(), "{text}");
    assert!(
        text.contains("21 passed") && text.contains("Fake GPU"),
        "{text}"
    );
}

#[test]
fn a_device_number_that_is_none_is_an_input_error() {
    let folder = tempfile::tempdir().unwrap();
    let text = look_with(folder.path(), &[("RAREFY_DEVICE", "first")]);
    assert!(text.contains("RAREFY_DEVICE=first is no device"), "{text}");
    // Asked for by hand, so not even `auto` may go on without it.
    assert!(text.contains("auto: RAREFY_DEVICE"), "{text}");
}

#[test]
fn launch_shapes_are_checked() {
    let check = |blocks, threads| Grid { blocks, threads }.check("some_kernel");
    for (blocks, threads) in [(1, 32), (1, 1024), (i32::MAX as u32, 96)] {
        check(blocks, threads).unwrap();
    }
    for (blocks, threads) in [(1, 0), (1, 1), (1, 33), (1, 1056), (0, 32), (1 << 31, 32)] {
        let error = check(blocks, threads).unwrap_err();
        assert!(error.to_string().contains("some_kernel"), "{error}");
    }
}

// On a device.

#[test]
fn large_copies_arrive_whole() {
    let Some(device) = support::device() else {
        return;
    };
    // Below and above the size from which on copies are staged, and with a last piece that is short.
    for len in [(16 << 20) - 3, 16 << 20, (67 << 20) + 5] {
        let data: Vec<u8> = (0..len).map(|i| (i ^ i >> 8 ^ i >> 16) as u8).collect();
        let mut buffer = device.upload(&data).unwrap();
        assert!(back(&device, &buffer) == data);
        // Into the same buffer, while work on it may go on.
        let other: Vec<u8> = data.iter().map(|byte| !byte).collect();
        device.write(&mut buffer, &other).unwrap();
        assert!(back(&device, &buffer) == other);
    }
}

#[test]
fn buffers_of_all_types_round_trip() {
    let Some(device) = support::device() else {
        return;
    };
    fn check<T: Element + Default + PartialEq + Debug>(
        device: &Device,
        value: impl Fn(usize) -> T,
    ) {
        for len in [0, 1, 31, 4097, 1 << 20] {
            let data: Vec<T> = (0..len).map(&value).collect();
            let mut buffer = device.upload(&data).unwrap();
            assert_eq!(buffer.len(), len);
            assert_eq!(buffer.is_empty(), len == 0);
            assert!(back(device, &buffer) == data);
            let other: Vec<T> = (0..len).map(|k| value(k + 1)).collect();
            device.write(&mut buffer, &other).unwrap();
            assert!(back(device, &buffer) == other);
            let mut copy = device.allocate::<T>(len).unwrap();
            device.copy(&buffer, &mut copy).unwrap();
            drop(buffer);
            assert!(back(device, &copy) == other);
        }
    }
    check(&device, |k| k as u8);
    check(&device, |k| k as i8);
    check(&device, |k| k as u16);
    check(&device, |k| k as i16);
    check(&device, |k| k as u32 * 7);
    check(&device, |k| -(k as i32));
    check(&device, |k| k as u64 * 0x1_0000_0001);
    check(&device, |k| -(k as i64));
    check(&device, |k| k as f32 * 0.5);
    check(&device, |k| k as f64 / 3.0);
    check(&device, |k| [k as u32, 1, 2, 3]);
    check(&device, |k| [k as f64; 3]);
}

#[test]
fn copies_between_different_lengths_are_refused() {
    let Some(device) = support::device() else {
        return;
    };
    let mut buffer = device.upload(&[1.0_f64, 2.0]).unwrap();
    let mut longer = device.allocate(3).unwrap();
    for error in [
        device.write(&mut buffer, &[1.0; 3]).unwrap_err(),
        device.read(&buffer, &mut [0.0; 1]).unwrap_err(),
        device.copy(&buffer, &mut longer).unwrap_err(),
    ] {
        assert!(matches!(error, MachineError::Input(_)), "{error}");
    }
    assert_eq!(back(&device, &buffer), [1.0, 2.0]);
}

#[test]
fn too_much_memory_is_refused_with_both_numbers() {
    let Some(device) = support::device() else {
        return;
    };
    let free = device.limits().unwrap().free_bytes;
    assert!(free > 0 && free <= device.total_bytes());
    let cases = [
        (1 << 47, "1024.0 TiB"),
        (usize::MAX, "TiB"),
        (device.total_bytes() as usize / 8 + 1, "iB"),
    ];
    for (len, text) in cases {
        let error = device.allocate::<f64>(len).unwrap_err();
        let MachineError::Memory {
            needed, available, ..
        } = &error
        else {
            panic!("{error}");
        };
        assert!(*needed > *available && *available > 0, "{error}");
        assert!(error.to_string().contains(text), "{error}");
    }
    // The device works on.
    assert_eq!(back(&device, &device.upload(&[1_u32]).unwrap()), [1]);
}

fn axpy<T: Real + Element>(device: &Device, n: usize) -> Result<()> {
    let x: Vec<T> = (0..n).map(|k| T::from_f64(k as f64)).collect();
    let y: Vec<T> = (0..n).map(|k| T::from_f64(1.0 - k as f64)).collect();
    let (x, y) = (device.upload(&x)?, device.upload(&y)?);
    let mut out = device.allocate::<T>(n)?;
    let a = T::from_f64(3.0);
    device.launch(
        Grid::per_item(n.max(1), 128),
        suite_axpy {
            x: &x,
            y: &y,
            out: &mut out,
            a,
        },
    )?;
    let mut data = vec![T::ZERO; n];
    device.read(&out, &mut data)?;
    for (k, value) in data.iter().enumerate() {
        assert_eq!(value.to_f64(), 1.0 + 2.0 * k as f64, "element {k} of {n}");
    }
    Ok(())
}

#[test]
fn a_launch_computes() {
    let Some(device) = hand_written() else {
        return;
    };
    for n in [0, 1, 127, 128, 129, 100_000] {
        axpy::<f32>(&device, n).unwrap();
        axpy::<f64>(&device, n).unwrap();
    }
}

#[test]
fn arguments_of_all_alignments_arrive() {
    let Some(device) = hand_written() else {
        return;
    };
    let mut out = device.allocate::<f64>(6).unwrap();
    device
        .launch(
            Grid {
                blocks: 1,
                threads: 32,
            },
            suite_mixed {
                out: &mut out,
                small: 7,
                pair: Pair {
                    real: -2.5,
                    count: 11,
                },
                middle: u32::MAX,
                large: 1e300,
            },
        )
        .unwrap();
    let expected = [7.0, -2.5, 11.0, f64::from(u32::MAX), 1e300, 6.0];
    assert_eq!(back(&device, &out), expected);
}

fn reverse(device: &Device, x: &mut DeviceBuffer<u32>, n: u32) -> Result<()> {
    let grid = Grid {
        blocks: 1,
        threads: 256,
    };
    device.launch(grid, suite_reverse { x, n })
}

#[test]
fn shared_memory_beyond_48_kib_is_opted_into() {
    let Some(device) = hand_written() else {
        return;
    };
    let most = device.limits().unwrap().shared_bytes_per_block as u32 / 4 / 4 * 4;
    assert!(most > 12 << 10, "{most}");
    // Up and down again: the largest amount stays allowed.
    for n in [1, 1000, 12 << 10, (12 << 10) + 4, most, 14_000, 77] {
        let data: Vec<u32> = (0..n).map(|k| k * k).collect();
        let mut x = device.upload(&data).unwrap();
        reverse(&device, &mut x, n).unwrap();
        let reversed: Vec<u32> = data.into_iter().rev().collect();
        assert!(back(&device, &x) == reversed, "{n}");
    }
    let mut x = device.allocate(most as usize + 4).unwrap();
    let error = reverse(&device, &mut x, most + 4).unwrap_err();
    assert!(matches!(error, MachineError::Memory { .. }), "{error}");
    assert!(error.to_string().contains("suite_reverse"), "{error}");
    assert!(error.to_string().contains("shared memory"), "{error}");
}

#[test]
fn wrong_launches_are_refused_by_name() {
    let Some(device) = hand_written() else {
        return;
    };
    let mut x = device.upload(&[1_u32, 2, 3]).unwrap();
    for (blocks, threads) in [(0, 32), (1, 0), (1, 48), (1, 2048)] {
        let error = device
            .launch(Grid { blocks, threads }, suite_reverse { x: &mut x, n: 3 })
            .unwrap_err();
        assert!(matches!(error, MachineError::Input(_)), "{error}");
        assert!(error.to_string().contains("suite_reverse"), "{error}");
    }
    reverse(&device, &mut x, 3).unwrap();
    assert_eq!(back(&device, &x), [3, 2, 1]);
}

#[test]
fn a_kernel_that_is_not_there_is_named() {
    let Some(embedded) = support::device() else {
        return;
    };
    let hand = hand_written().unwrap();
    for (device, text) in [
        (&embedded, "rarefy again"),
        (&hand, "compute capability 999.0"),
    ] {
        let x = device.upload(&[1.0_f32]).unwrap();
        let mut out = device.allocate(1).unwrap();
        let grid = Grid {
            blocks: 1,
            threads: 32,
        };
        let error = device
            .launch(
                grid,
                suite_unknown {
                    x: &x,
                    out: &mut out,
                },
            )
            .unwrap_err();
        assert!(error.to_string().contains("suite_unknown"), "{error}");
        assert!(error.to_string().contains(text), "{error}");
        let error = device.prepare(&["suite_unknown"]).unwrap_err();
        assert!(error.to_string().contains("suite_unknown"), "{error}");
    }
}

#[test]
fn ptx_that_the_driver_refuses_shows_its_log() {
    static BROKEN: &[PtxModule] = &[
        PtxModule {
            wing: "broken",
            capability: 75,
            entries: &["suite_axpy_f32"],
            text: PtxText::Plain(
                ".version 7.0\n.target sm_75\n.address_size 64\n.visible .entry suite_axpy_f32() { nonsense; }\n",
            ),
        },
        PtxModule {
            wing: "lying",
            capability: 75,
            entries: &["suite_axpy_f64"],
            text: PtxText::Plain(
                ".version 7.0\n.target sm_75\n.address_size 64\n.visible .entry other() { ret; }\n",
            ),
        },
    ];
    let Some(device) = support::available(Device::open(BROKEN)) else {
        return;
    };
    let error = device.prepare(&["suite_axpy_f32"]).unwrap_err();
    let text = error.to_string();
    assert!(
        text.contains("broken") && text.contains("7.5") && text.contains("nonsense"),
        "{text}"
    );
    let error = device.prepare(&["suite_axpy_f64"]).unwrap_err();
    assert!(error.to_string().contains("suite_axpy_f64"), "{error}");
    // A refused module does not harm the device.
    assert_eq!(back(&device, &device.upload(&[5_u8]).unwrap()), [5]);
}

#[test]
fn a_graph_replays_what_was_recorded() {
    let Some(device) = hand_written() else {
        return;
    };
    let n = 1000;
    let one = device.upload(&vec![1.0_f64; n]).unwrap();
    let mut a = device.upload(&vec![0.0_f64; n]).unwrap();
    let mut b = device.allocate::<f64>(n).unwrap();
    device.prepare(&["suite_axpy_f64"]).unwrap();
    let grid = Grid::per_item(n, 256);
    let graph = device
        .capture(|device| {
            device.launch(
                grid,
                suite_axpy {
                    x: &one,
                    y: &a,
                    out: &mut b,
                    a: 2.0,
                },
            )?;
            device.launch(
                grid,
                suite_axpy {
                    x: &one,
                    y: &b,
                    out: &mut a,
                    a: 0.5,
                },
            )
        })
        .unwrap();
    assert_eq!(back(&device, &a), vec![0.0; n], "recording runs nothing");
    for _ in 0..100 {
        graph.launch().unwrap();
    }
    assert_eq!(back(&device, &a), vec![250.0; n]);
    assert_eq!(back(&device, &b), vec![249.5; n]);
    // The host writes between replays, in the order of the calls.
    device.write(&mut a, &vec![-2.5; n]).unwrap();
    graph.launch().unwrap();
    assert_eq!(back(&device, &a), vec![0.0; n]);
}

/// The second half of a buffer plays an array of another library.
#[test]
fn memory_of_others_is_used_in_place() {
    let Some(device) = support::device() else {
        return;
    };
    let x: Vec<f64> = (0..1000).map(f64::from).collect();
    let whole = device.upload(&x).unwrap();
    let half = whole.address() + 500 * 8;
    {
        // SAFETY: the elements are those of `whole`, which lives longer and is used by nobody else meanwhile.
        let mut part = unsafe { device.borrow::<f64>(half, 500, Some(0)) }.unwrap();
        let mut sum = float::MachineAccumulator::new(&device).unwrap();
        sum.add(&part).unwrap();
        assert_eq!(sum.finish().unwrap().round::<f64>(), 374_750.0);
        device.write(&mut part, &[1.0; 500]).unwrap();
    }
    assert_eq!(back(&device, &whole)[499..502], [499.0, 1.0, 1.0]);
    for address in [0, half + 1, whole.address()] {
        // SAFETY: refused before any use.
        let refused = unsafe { device.borrow::<f64>(address, 1, None) };
        assert!(refused.is_err_and(|error| error.is_input()), "{address:#x}");
    }
}

#[test]
fn work_alongside_other_work_comes_before_what_follows() {
    let Some(device) = hand_written() else {
        return;
    };
    let n = 1 << 20;
    let one = device.upload(&vec![1.0_f64; n]).unwrap();
    let zero = device.upload(&vec![0.0_f64; n]).unwrap();
    let [mut a, mut b, mut sum] = [(); 3].map(|()| device.allocate::<f64>(n).unwrap());
    device.prepare(&["suite_axpy_f64"]).unwrap();
    let axpy = |x: &DeviceBuffer<f64>, y: &DeviceBuffer<f64>, out: &mut DeviceBuffer<f64>, a| {
        device.launch(Grid::per_item(n, 256), suite_axpy { x, y, out, a })
    };
    let mut work = || {
        device.fork_join(&mut || axpy(&one, &zero, &mut a, 2.0), &mut || {
            axpy(&one, &zero, &mut b, 3.0)
        })?;
        axpy(&a, &b, &mut sum, 10.0)
    };
    work().unwrap();
    let graph = device.capture(|_| work()).unwrap();
    assert_eq!(back(&device, &sum), vec![23.0; n]);
    device.write(&mut sum, &vec![0.0; n]).unwrap();
    graph.launch().unwrap();
    assert_eq!(back(&device, &sum), vec![23.0; n]);

    // One inside another is as right, and nothing but launches goes aside.
    device
        .fork_join(&mut || axpy(&one, &zero, &mut a, 4.0), &mut || {
            device.fork_join(&mut || axpy(&one, &zero, &mut b, 5.0), &mut || {
                axpy(&one, &one, &mut sum, 1.0)
            })
        })
        .unwrap();
    assert_eq!(back(&device, &a), vec![4.0; n]);
    assert_eq!(back(&device, &b), vec![5.0; n]);
    let error = device
        .fork_join(&mut || device.synchronize(), &mut || Ok(()))
        .unwrap_err();
    assert!(
        error
            .to_string()
            .contains("can launch kernels and exchange data with other devices only"),
        "{error}"
    );

    // A fault on either side, also while recording, leaves the device working.
    let mine = || Err(Error::Numerical("mine".into()));
    for recording in [false, true] {
        for aside in [false, true] {
            let mut failing = || {
                device.fork_join(
                    &mut || {
                        axpy(&one, &zero, &mut a, 6.0)?;
                        if aside { mine() } else { Ok(()) }
                    },
                    &mut || mine(),
                )
            };
            let error = if recording {
                device.capture(|_| failing()).map(|_| ()).unwrap_err()
            } else {
                failing().unwrap_err()
            };
            assert!(error.to_string().contains("mine"), "{error}");
            device.synchronize().unwrap();
        }
    }
    graph.launch().unwrap();
    assert_eq!(back(&device, &sum), vec![23.0; n]);
}

#[test]
fn a_graph_keeps_the_memory_that_it_uses() {
    let Some(device) = hand_written() else {
        return;
    };
    let n = 1 << 16;
    let x = device.upload(&vec![1.0_f32; n]).unwrap();
    let y = device.upload(&vec![2.0_f32; n]).unwrap();
    let mut middle = device.allocate::<f32>(n).unwrap();
    let mut out = device.allocate::<f32>(n).unwrap();
    device.prepare(&["suite_axpy_f32"]).unwrap();
    let grid = Grid::per_item(n, 256);
    let graph = device
        .capture(|device| {
            let a = 3.0;
            let first = suite_axpy {
                x: &x,
                y: &y,
                out: &mut middle,
                a,
            };
            device.launch(grid, first)?;
            // A kernel and not a copy: initcheck reads the source of a graph's copy before the graph has written it.
            let second = suite_axpy {
                x: &middle,
                y: &middle,
                out: &mut out,
                a: 0.0,
            };
            device.launch(grid, second)
        })
        .unwrap();
    drop((x, y, middle));
    // Were the memory free, these would take it.
    let taken: Vec<_> = (0..8)
        .map(|_| device.upload(&vec![-1.0_f32; n]).unwrap())
        .collect();
    graph.launch().unwrap();
    assert_eq!(back(&device, &out), vec![5.0; n]);
    for buffer in &taken {
        assert_eq!(back(&device, buffer), vec![-1.0; n]);
    }
    // Dropping everything while the graph may still run.
    graph.launch().unwrap();
    drop((graph, out, taken));
    device.synchronize().unwrap();
}

#[test]
fn a_failed_recording_leaves_the_device_working() {
    let Some(device) = hand_written() else {
        return;
    };
    let mut x = device.upload(&[1_u32, 2, 3]).unwrap();
    let unused = device.upload(&[9_u32]).unwrap();

    // Not loaded yet.
    let error = device
        .capture(|device| reverse(device, &mut x, 3))
        .unwrap_err();
    assert!(error.to_string().contains("Device::prepare"), "{error}");

    device.prepare(&["suite_reverse"]).unwrap();
    // Operations that a graph cannot hold.
    type Work<'a> = &'a dyn Fn(&Device) -> Result<()>;
    let refusals: [Work<'_>; 6] = [
        &|device| device.allocate::<f32>(1).map(|_| ()),
        &|device| device.read(&unused, &mut [0]),
        &|device| device.synchronize(),
        &|device| device.prepare(&["suite_mixed"]),
        &|device| device.event()?.record(),
        &|device| device.capture(|_| Ok(())).map(|_| ()),
    ];
    for refusal in refusals {
        let error = device
            .capture(|device| {
                reverse(device, &mut x, 3)?;
                refusal(device)
            })
            .unwrap_err();
        assert!(error.to_string().contains("being recorded"), "{error}");
        assert_eq!(back(&device, &x), [1, 2, 3]);
    }

    // An error and a panic of the caller's own.
    let error = device
        .capture(|device| {
            reverse(device, &mut x, 3)?;
            Err(Error::Numerical("mine".into()))
        })
        .unwrap_err();
    assert_eq!(error.to_string(), "mine");
    let panicked = std::panic::catch_unwind(std::panic::AssertUnwindSafe(|| {
        let _ = device.capture::<MachineError>(|_| panic!("on purpose, in a test"));
    }));
    assert!(panicked.is_err());
    assert_eq!(back(&device, &x), [1, 2, 3]);

    // A buffer dropped during a recording is freed after it; a graph of nothing is one.
    let mut unused = Some(unused);
    let graph = device
        .capture(|_| {
            drop(unused.take());
            Ok::<_, MachineError>(())
        })
        .unwrap();
    graph.launch().unwrap();

    // Other threads are kept out meanwhile, and other devices are not.
    let other = hand_written().unwrap();
    let graph = device
        .capture(|device| {
            let intruder = device.clone();
            let refused = std::thread::spawn(move || intruder.synchronize())
                .join()
                .unwrap();
            assert!(refused.unwrap_err().to_string().contains("another thread"));
            axpy::<f32>(&other, 100)?;
            reverse(device, &mut x, 3)
        })
        .unwrap();
    graph.launch().unwrap();
    assert_eq!(back(&device, &x), [3, 2, 1]);
}

#[test]
fn shared_memory_beyond_48_kib_works_in_graphs() {
    let Some(device) = hand_written() else {
        return;
    };
    let n = 14_000;
    let data: Vec<u32> = (0..n).collect();
    let mut x = device.upload(&data).unwrap();
    // Loaded by a launch that needs less: recording may not opt in.
    reverse(&device, &mut x, 10).unwrap();
    device.write(&mut x, &data).unwrap();
    let error = device
        .capture(|device| reverse(device, &mut x, n))
        .unwrap_err();
    assert!(error.to_string().contains("shared memory"), "{error}");
    device.prepare(&["suite_reverse"]).unwrap();
    let graph = device.capture(|device| reverse(device, &mut x, n)).unwrap();
    graph.launch().unwrap();
    let reversed: Vec<u32> = data.into_iter().rev().collect();
    assert_eq!(back(&device, &x), reversed);
}

#[test]
fn time_is_measured() {
    let Some(device) = support::device() else {
        return;
    };
    let source = device.upload(&vec![1.0_f32; 1 << 24]).unwrap();
    let mut target = device.allocate::<f32>(1 << 24).unwrap();
    let mut copies = |count: usize| {
        device
            .time(|| {
                for _ in 0..count {
                    device.copy(&source, &mut target)?;
                }
                Ok::<_, MachineError>(())
            })
            .unwrap()
    };
    // That the clock runs is all that a test can say: how fast is for the benches.
    assert!(copies(100) > Duration::ZERO);

    let start = device.event().unwrap();
    let stop = device.event().unwrap();
    assert!(start.elapsed_ms(&stop).is_err(), "neither was recorded");
    start.record().unwrap();
    stop.record().unwrap();
    assert!(start.elapsed_ms(&stop).unwrap() >= 0.0);
    let failed = device
        .time(|| Err(Error::Numerical("mine".into())))
        .unwrap_err();
    assert_eq!(failed.to_string(), "mine");
}

#[test]
fn two_handles_keep_their_buffers_apart() {
    let (Some(one), Some(two)) = (hand_written(), hand_written()) else {
        return;
    };
    axpy::<f64>(&one, 1000).unwrap();
    axpy::<f64>(&two, 1000).unwrap();
    let x = one.upload(&[1.0_f32; 32]).unwrap();
    let y = one.upload(&[1.0_f32; 32]).unwrap();
    let mut out = two.allocate::<f32>(32).unwrap();
    let grid = Grid::per_item(32, 32);
    let mixed = suite_axpy {
        x: &x,
        y: &y,
        out: &mut out,
        a: 1.0,
    };
    let error = one.launch(grid, mixed).unwrap_err();
    assert!(
        error.to_string().contains("another device handle"),
        "{error}"
    );
    assert!(one.copy(&x, &mut out).is_err());
    assert!(two.read(&x, &mut [0.0; 32]).is_err());
    // A clone is the same device.
    assert_eq!(back(&one.clone(), &x), [1.0; 32]);
    // A buffer outlives the handles.
    let clone = one.clone();
    drop((one, clone));
    drop(x);
    drop(two);
    drop((y, out));
}

#[test]
fn a_device_works_from_many_threads() {
    let Some(device) = hand_written() else {
        return;
    };
    std::thread::scope(|scope| {
        for n in 1..9 {
            let device = &device;
            scope.spawn(move || {
                for _ in 0..20 {
                    axpy::<f32>(device, 1000 * n).unwrap();
                    axpy::<f64>(device, 500 * n).unwrap();
                }
            });
        }
    });
}

#[test]
fn devices_that_are_not_there_are_refused() {
    if support::device().is_none() {
        return;
    }
    let error = gpu::open_ordinal(1000).unwrap_err();
    assert!(
        matches!(error, Error::Machine(MachineError::Input(_))),
        "{error}"
    );
    assert!(error.to_string().contains("device 1000"), "{error}");
    let device = gpu::open_ordinal(0).unwrap();
    assert_eq!(device.ordinal(), 0);
    let folder = tempfile::tempdir().unwrap();
    let path = std::env::var("LD_LIBRARY_PATH").unwrap_or_default();
    let text = look_with(
        folder.path(),
        &[("LD_LIBRARY_PATH", &path), ("RAREFY_DEVICE", "1000")],
    );
    assert!(text.contains("auto: device 1000 was asked for"), "{text}");
    let text = look_with(
        folder.path(),
        &[("LD_LIBRARY_PATH", &path), ("CUDA_VISIBLE_DEVICES", "-1")],
    );
    assert!(text.contains("CUDA_VISIBLE_DEVICES is set"), "{text}");
    assert!(text.contains("auto: CPU, "), "{text}");
}

#[test]
fn auto_takes_the_device() {
    let Some(device) = support::device() else {
        return;
    };
    let taken = Backend::Auto.resolve().unwrap();
    assert_eq!(taken.backend(), Backend::Cuda);
    let text = taken.describe();
    println!("{text}");
    assert!(text.contains(device.name()) && text.contains("compute capability"));
    assert!(device.cuda_version() >= "11.4".parse().unwrap());
    assert!(device.capability() >= ptx::LEAST_CAPABILITY);
}

#[test]
fn the_doctor_examines_the_device() {
    let Some(device) = support::device() else {
        return;
    };
    let report = doctor::report();
    println!("{report}");
    let found = report
        .devices
        .iter()
        .find(|found| found.ordinal == device.ordinal())
        .unwrap();
    assert!(found.supported);
    assert_eq!(found.name, device.name());
    assert!(found.problem.is_none());
    assert!(!found.self_test.is_empty());
    assert!(found.self_test.iter().all(|check| check.ok), "{report}");
    for variant in &found.variants {
        assert!(variant.loads, "{report}");
    }
    assert_eq!(report.gpu_usable, !MODULES.is_empty(), "{report}");
}

/// The collision kernels on a small grid against plain loops in f64.
fn collision_frequency_on<T: Real + Element>(device: &Device, tolerance: f64) {
    const N: usize = 5;
    const PLANE: usize = N * N;
    let f: Vec<f64> = (0..N * PLANE)
        .map(|k| f64::from((k * 37 % 101) as u32) / 101.0)
        .collect();
    let mut b = vec![0.0; N * PLANE];
    for (k, value) in b.iter_mut().enumerate() {
        let (mx, my, mz) = (k / PLANE, k / N % N, k % N);
        *value = ((mx * mx + my * my + mz * mz) as f64).sqrt();
    }

    let upload = |data: &[f64]| {
        let data: Vec<T> = data.iter().map(|&value| T::from_f64(value)).collect();
        device.upload(&data).unwrap()
    };
    let (f_on_device, b_on_device) = (upload(&f), upload(&b));
    let mut buffer = device.allocate::<T>(N * N * PLANE).unwrap();
    device
        .launch(
            Grid {
                blocks: (N * N) as u32,
                threads: 32,
            },
            collision::collision_frequency {
                f: &f_on_device,
                b: &b_on_device,
                buffer: &mut buffer,
                n: N as u32,
            },
        )
        .unwrap();
    let first: Vec<u32> = (0..=N).map(|ix| (ix * N) as u32).collect();
    let first = device.upload(&first).unwrap();
    let mut out = device.allocate::<T>(N * PLANE).unwrap();
    device
        .launch(
            Grid::per_item(N * PLANE, 64),
            collision::collect {
                buffer: &buffer,
                first: &first,
                out: &mut out,
                plane: PLANE as u32,
            },
        )
        .unwrap();
    let mut result = vec![T::ZERO; N * PLANE];
    device.read(&out, &mut result).unwrap();

    let cell = |x: usize, y: usize, z: usize| (x * N + y) * N + z;
    for (i, value) in result.iter().enumerate() {
        let (ix, iy, iz) = (i / PLANE, i / N % N, i % N);
        let mut sum = 0.0;
        for jx in 0..N {
            for jy in 0..N {
                for jz in 0..N {
                    let m = cell(ix.abs_diff(jx), iy.abs_diff(jy), iz.abs_diff(jz));
                    sum += b[m] * f[cell(jx, jy, jz)];
                }
            }
        }
        let difference = (value.to_f64() - sum).abs();
        assert!(
            difference <= tolerance * sum,
            "cell {i}: {} and {sum}",
            value.to_f64()
        );
    }
}

#[test]
fn embedded_collision_kernels_agree_with_plain_loops() {
    let Some(device) = support::device() else {
        return;
    };
    if ptx::choose(MODULES, "collision_frequency_f64", device.capability()).is_none() {
        println!("skipped: this build embeds no PTX of the collision kernels");
        return;
    }
    collision_frequency_on::<f32>(&device, 1e-5);
    collision_frequency_on::<f64>(&device, 1e-14);
}
