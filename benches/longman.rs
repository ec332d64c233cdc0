//! The paper's figures of time, Figs. 7 to 10, 12 and 13: M integrals of `e^(-lambda x) cos(omega x)` by N areas of 8 Gauss nodes and a head of 8.
//!
//! Times of the GPU are those of its own clock with the parameters in its memory, unless a row says "with transfers": then parameters go to the device
//! and values come back. Every integral has parameters of its own. After criterion's report follow tables beside the paper's numbers (Mesquita et al.
//! 2009, a GTX 280 against one core of an Athlon X2 at 2.6 GHz) and beside the bound of the unit that limits each mode.

use std::cell::RefCell;
use std::collections::BTreeMap;
use std::time::{Duration, Instant};

use criterion::measurement::WallTime;
use criterion::{BenchmarkGroup, BenchmarkId, Criterion};
use rarefy::Backend;
use rarefy::gpu::{self, Device};
use rarefy::longman::Task;
use rarefy::longman::expression::Program;
use rarefy::longman::gpu::batch::{Amplitude, Batch, BatchConfig, Interpret, Oscillation};
use rarefy::longman::paper::{FixedBatch, Form, Functions, PaperRule, integrate_on_cpu};
use rarefy_kernels::Real;

/// Numbers of areas of the paper's Fig. 9.
const AREAS: [usize; 4] = [8, 16, 24, 32];
/// Numbers of integrals: those of Figs. 7 to 9, the 50,000 of Figs. 8, 10 and 13, and today's.
const COUNTS: [usize; 9] = [1, 2, 5, 240, 720, 5_000, 50_000, 1_000_000, 10_000_000];

/// Seconds by what was measured, N and M.
#[derive(Default)]
struct Measured(RefCell<BTreeMap<(String, usize, usize), f64>>);

impl Measured {
    fn note(&self, what: &str, areas: usize, count: usize, time: Duration, repetitions: u64) {
        let seconds = time.as_secs_f64() / repetitions as f64;
        let mut all = self.0.borrow_mut();
        let least = all
            .entry((what.to_owned(), areas, count))
            .or_insert(seconds);
        *least = least.min(seconds);
    }

    fn get(&self, what: &str, areas: usize, count: usize) -> Option<f64> {
        let key = (what.to_owned(), areas, count);
        self.0.borrow().get(&key).copied()
    }
}

/// One measurement under criterion and in the tables: `run` does the work so many times and says how long that took.
fn measure(
    group: &mut BenchmarkGroup<'_, WallTime>,
    measured: &Measured,
    (what, areas, count): (&str, usize, usize),
    mut run: impl FnMut(u64) -> rarefy::Result<Duration>,
) {
    let id = BenchmarkId::new(format!("{what} N={areas}"), count);
    group.bench_function(id, |bencher| {
        bencher.iter_custom(|repetitions| {
            let time = run(repetitions).expect("a timing");
            measured.note(what, areas, count, time, repetitions);
            time
        });
    });
}

/// Lambda in 10^[-2, 0.3] and omega in 10^[0, 2].
fn parameters<T: Real>(count: usize) -> (Vec<T>, Vec<T>) {
    let mut state = 0x9E37_79B9_7F4A_7C15_u64;
    let mut uniform = || {
        state ^= state << 13;
        state ^= state >> 7;
        state ^= state << 17;
        (state >> 11) as f64 / (1u64 << 53) as f64
    };
    let mut draw = || {
        let lambda = T::from_f64(10f64.powf(-2.0 + 2.3 * uniform()));
        (lambda, T::from_f64(10f64.powf(2.0 * uniform())))
    };
    (0..count).map(|_| draw()).unzip()
}

fn main() {
    let mut criterion = Criterion::default()
        .sample_size(10)
        .warm_up_time(Duration::from_millis(100))
        .measurement_time(Duration::from_millis(300))
        .configure_from_args();
    let measured = Measured::default();
    let mut group = criterion.benchmark_group("longman");
    cpu(&mut group, &measured);
    #[cfg(feature = "peers")]
    libraries::run(&mut group, &measured);
    match gpu::open() {
        Ok(device) => {
            fixed::<f32>(&mut group, &measured, &device);
            fixed::<f64>(&mut group, &measured, &device);
            outcomes::<f32>(&mut group, &measured, &device);
            outcomes::<f64>(&mut group, &measured, &device);
        }
        Err(error) => println!("skipped: GPU: {error}"),
    }
    group.finish();
    report(&measured);
}

/// The paper's serial program, on one core and on all, and this package's driver.
fn cpu(group: &mut BenchmarkGroup<'_, WallTime>, measured: &Measured) {
    for (what, parallel) in [("one core f64", false), ("all cores f64", true)] {
        for areas in AREAS {
            for count in [1, 2, 5, 50_000] {
                if parallel && count < 50_000 {
                    continue;
                }
                let rule = PaperRule {
                    areas,
                    ..PaperRule::default()
                };
                let (lambda, omega) = parameters::<f64>(count);
                measure(group, measured, (what, areas, count), |repetitions| {
                    let start = Instant::now();
                    for _ in 0..repetitions {
                        std::hint::black_box(integrate_on_cpu(&rule, &lambda, &omega, parallel)?);
                    }
                    Ok(start.elapsed())
                });
            }
        }
    }
    let what = "one core f64 with error estimate";
    let (lambda, omega) = parameters::<f64>(1000);
    let amplitude = |x: f64, p: &[f64]| (-p[0] * x).exp();
    let task = Task::function(amplitude, "cos", "omega", &["lambda"]).expect("a task");
    let integrals = task
        .integrals()
        .column("lambda", &lambda)
        .column("omega", &omega);
    let integrals = integrals.compute(Backend::Reference);
    measure(group, measured, (what, 32, 1000), |repetitions| {
        let start = Instant::now();
        for _ in 0..repetitions {
            std::hint::black_box(integrals.integrate()?);
        }
        Ok(start.elapsed())
    });
}

/// Boost's Ooura quadrature and GSL's qawf on this machine, where a C++ compiler and their headers are: on Debian the packages g++, libboost-dev and
/// libgsl-dev.
#[cfg(feature = "peers")]
mod libraries {
    use std::path::Path;
    use std::process::Command;

    use super::*;

    /// Integrals of so many pairs of lambda and omega; how many failed.
    type Integrate = unsafe extern "C" fn(*const f64, *const f64, usize, f64, *mut f64) -> i32;

    const COUNT: usize = 1000;

    /// The library, compiled with a definition and arguments for the linker.
    fn compile(folder: &Path, name: &str, link: &[&str]) -> Result<libloading::Library, String> {
        let source = folder.join("peers.cpp");
        std::fs::write(&source, include_str!("longman_peers.cpp")).map_err(|e| e.to_string())?;
        let compiler = std::env::var("CXX").unwrap_or_else(|_| "c++".into());
        let made = folder.join(format!("lib{name}.so"));
        let done = Command::new(&compiler)
            .args(["-O3", "-march=native", "-std=c++17", "-shared", "-fPIC"])
            .arg(format!("-D{name}"))
            .arg(&source)
            .arg("-o")
            .arg(&made)
            .args(link)
            .output()
            .map_err(|error| format!("the compiler {compiler}: {error}"))?;
        if !done.status.success() {
            let text = String::from_utf8_lossy(&done.stderr);
            let error = text.lines().find(|line| line.contains("error"));
            return Err(error.unwrap_or("the compiler failed").to_owned());
        }
        // SAFETY: the file was just made from the source beside this one, which runs nothing when it is loaded.
        unsafe { libloading::Library::new(&made) }.map_err(|error| error.to_string())
    }

    pub(super) fn run(group: &mut BenchmarkGroup<'_, WallTime>, measured: &Measured) {
        let folder = match tempfile::tempdir() {
            Ok(folder) => folder,
            Err(error) => return println!("skipped: Boost, GSL: {error}"),
        };
        let (lambda, omega) = parameters::<f64>(COUNT);
        for (name, what, link, tolerances) in [
            ("BOOST", "Boost ooura_fourier_cos", &[][..], &[1e-10][..]),
            (
                "GSL",
                "GSL qawf",
                &["-lgsl", "-lgslcblas", "-lm"],
                &[1e-10, 1e-14],
            ),
        ] {
            let library = match compile(folder.path(), name, link) {
                Ok(library) => library,
                Err(error) => {
                    println!("skipped: {what}: {error}");
                    continue;
                }
            };
            // SAFETY: both variants of the source declare the function with this signature.
            let integrate = match unsafe { library.get::<Integrate>(b"integrate") } {
                Ok(integrate) => integrate,
                Err(error) => {
                    println!("skipped: {what}: {error}");
                    continue;
                }
            };
            for &tolerance in tolerances {
                let mut values = vec![0.0; COUNT];
                let mut failed = 0;
                let row = format!("{what}, tolerance {tolerance:e}");
                measure(group, measured, (&row, 0, COUNT), |repetitions| {
                    let start = Instant::now();
                    for _ in 0..repetitions {
                        let (l, w) = (lambda.as_ptr(), omega.as_ptr());
                        // SAFETY: the three arrays have COUNT elements.
                        failed = unsafe { integrate(l, w, COUNT, tolerance, values.as_mut_ptr()) };
                    }
                    Ok(start.elapsed())
                });
                let worst = values.iter().zip(lambda.iter().zip(&omega));
                let worst = worst.map(|(value, (l, w))| (value * (l * l + w * w) / l - 1.0).abs());
                println!(
                    "{row}: largest relative error {:.1e}, {failed} of {COUNT} failed",
                    worst.fold(0.0, f64::max)
                );
            }
        }
    }
}

fn modes<T: Real>() -> &'static [(Functions, &'static str)] {
    if T::NAME == "f32" {
        &[
            (Functions::Hardware, "f32 hardware"),
            (Functions::Software, "f32"),
        ]
    } else {
        &[(Functions::Software, "f64")]
    }
}

/// The paper's kernel and its fast form.
fn fixed<T: Real>(group: &mut BenchmarkGroup<'_, WallTime>, measured: &Measured, device: &Device) {
    for (functions, mode) in modes::<T>() {
        for (form, form_name) in [(Form::Table, "table"), (Form::Warp, "warp")] {
            for areas in AREAS {
                for count in COUNTS {
                    // A block an integral at ten million takes its time, and shows nothing new.
                    let of_figures = areas == 16 || [1, 5, 50_000].contains(&count);
                    if !of_figures || (form == Form::Table && count > 1_000_000) {
                        continue;
                    }
                    let rule = PaperRule {
                        areas,
                        ..PaperRule::default()
                    };
                    let (lambda, omega) = parameters::<T>(count);
                    let ready = FixedBatch::from_columns(device, &rule, &lambda, &omega).and_then(
                        |mut batch| {
                            batch.launch(device, form, *functions)?;
                            Ok(batch)
                        },
                    );
                    let mut batch = match ready {
                        Ok(batch) => batch,
                        Err(error) => {
                            println!("skipped: {form_name} {mode} {count}: {error}");
                            continue;
                        }
                    };
                    let what = format!("{form_name} {mode}");
                    measure(group, measured, (&what, areas, count), |repetitions| {
                        device.time(|| {
                            (0..repetitions)
                                .try_for_each(|_| batch.launch(device, form, *functions))
                        })
                    });
                    let what = format!("{form_name} {mode} with transfers");
                    let mut values = vec![T::ZERO; count];
                    measure(group, measured, (&what, areas, count), |repetitions| {
                        let start = Instant::now();
                        for _ in 0..repetitions {
                            batch.set_parameters(device, &lambda, &omega)?;
                            batch.launch(device, form, *functions)?;
                            batch.read_values(device, &mut values)?;
                        }
                        Ok(start.elapsed())
                    });
                }
            }
        }
    }
}

/// Value, error estimate and status of every integral, from host memory to host memory: a named amplitude, and the same as an expression.
fn outcomes<T: Interpret>(
    group: &mut BenchmarkGroup<'_, WallTime>,
    measured: &Measured,
    device: &Device,
) {
    let count = 1_000_000;
    let (lambda, omega) = parameters::<f64>(count);
    let columns = [lambda];
    let config = BatchConfig {
        relative: if T::NAME == "f32" { 1e-4 } else { 1e-10 },
        ..BatchConfig::new(Oscillation::Cos)
    };
    let (batch, program) = match (
        Batch::<_, T>::new(device, &config),
        Program::parse("exp(-l*x)"),
    ) {
        (Ok(batch), Ok(program)) => (batch, program),
        (Err(error), _) | (_, Err(error)) => {
            println!("skipped: outcomes: {error}");
            return;
        }
    };
    for (name, amplitude) in [
        ("named", Amplitude::Damped),
        ("expression", Amplitude::Program(&program)),
    ] {
        let what = format!("outcomes {name} {} with transfers", T::NAME);
        let mut decided = 0;
        measure(group, measured, (&what, 24, count), |repetitions| {
            let start = Instant::now();
            for _ in 0..repetitions {
                let outcomes = batch.integrate(amplitude, &omega, &columns)?;
                decided = outcomes.iter().flatten().count();
            }
            Ok(start.elapsed())
        });
        println!("{what}: {decided} of {count} are decided on the device");
    }
}

/// Integrals a second that the limiting unit of an H200 allows at N = 16 with 136 nodes: a special function a node; about 28
/// instructions in single precision; 22 double-precision ones.
const BOUNDS: [(&str, f64); 3] = [
    ("warp f32 hardware", 3.1e10),
    ("warp f32", 8.8e9),
    ("warp f64", 5.6e9),
];

/// Other libraries on integrals of `e^(-lambda x) cos(omega x)` with the parameters of [`parameters`]: microseconds an integral and the largest relative
/// error, on one thread of a 2-core Xeon virtual machine.
const PEERS: [(&str, f64, &str); 7] = [
    ("Boost ooura_fourier_cos", 1.4, "7e-12"),
    ("serial, N = 16, 8 nodes", 1.5, "3e-6"),
    ("serial, N = 32, 8 nodes", 3.0, "6e-11"),
    ("GSL qawf, epsabs 1e-10", 36.0, "2e-9"),
    ("GSL qawf, epsabs 1e-14", 73.0, "1e-9"),
    ("SciPy quad, weight='cos'", 28.0, "2e-8"),
    ("mpmath quadosc, 15 digits", 29_600.0, "3e-16"),
];

fn peers(measured: &Measured) {
    println!(
        "\nMicroseconds an integral, beside other libraries (theirs measured on another machine)\n"
    );
    println!("| | us | relative error |\n|---|---|---|");
    for (name, time, error) in PEERS {
        println!("| {name} | {time} | {error} |");
    }
    for (what, areas, count, error) in [
        ("Boost ooura_fourier_cos, tolerance 1e-10", 0, 1000, ""),
        ("GSL qawf, tolerance 1e-10", 0, 1000, ""),
        ("GSL qawf, tolerance 1e-14", 0, 1000, ""),
        ("one core f64", 16, 50_000, ""),
        (
            "one core f64 with error estimate",
            32,
            1000,
            "estimated, 1e-10",
        ),
        (
            "outcomes named f64 with transfers",
            24,
            1_000_000,
            "estimated, 1e-10",
        ),
        ("warp f64", 16, 10_000_000, ""),
    ] {
        if let Some(seconds) = measured.get(what, areas, count) {
            let time = seconds / count as f64 * 1e6;
            println!("| here: {what}, N = {areas} | {time:.6} | {error} |");
        }
    }
}

fn report(measured: &Measured) {
    peers(measured);
    let all: Vec<((String, usize, usize), f64)> = {
        let all = measured.0.borrow();
        all.iter().map(|(key, time)| (key.clone(), *time)).collect()
    };
    let counts: Vec<usize> = {
        let mut counts: Vec<usize> = all.iter().map(|((_, _, m), _)| *m).collect();
        counts.sort_unstable();
        counts.dedup();
        counts
    };
    println!("\nTime of M integrals in microseconds (least of all samples)\n");
    print!("| | N |");
    counts.iter().for_each(|m| print!(" M = {m} |"));
    print!("\n|---|---|");
    counts.iter().for_each(|_| print!("---|"));
    println!();
    let mut rows: Vec<(&str, usize)> = all.iter().map(|((w, n, _), _)| (&w[..], *n)).collect();
    rows.dedup();
    for (what, areas) in rows {
        print!("| {what} | {areas} |");
        for &count in &counts {
            match measured.get(what, areas, count) {
                Some(seconds) => print!(" {:.2} |", seconds * 1e6),
                None => print!(" |"),
            }
        }
        println!();
    }

    println!("\n50,000 integrals, N = 16, beside the paper's\n");
    println!("| | here, ms | the paper, ms | ratio |\n|---|---|---|---|");
    for (what, paper) in [
        ("one core f64", 2243.0),
        ("table f32 hardware with transfers", 6.508),
        ("warp f32 hardware with transfers", 6.508),
        ("table f64 with transfers", 40.848),
        ("warp f64 with transfers", 40.848),
    ] {
        if let Some(seconds) = measured.get(what, 16, 50_000) {
            let here = seconds * 1e3;
            println!("| {what} | {here:.4} | {paper} | {:.1} |", paper / here);
        }
    }
    println!(
        "\n(the paper's CPU needs 5780 ms in single precision: 888 times its GPU; 55 times in double)\n"
    );
    for (slow, fast) in [
        ("one core f64", "all cores f64"),
        ("one core f64", "table f32 hardware with transfers"),
        ("one core f64", "warp f32 hardware with transfers"),
        ("one core f64", "warp f64 with transfers"),
        ("all cores f64", "warp f64 with transfers"),
        ("table f32 hardware", "warp f32 hardware"),
        ("table f64", "warp f64"),
    ] {
        if let (Some(a), Some(b)) = (
            measured.get(slow, 16, 50_000),
            measured.get(fast, 16, 50_000),
        ) {
            println!("{fast} over {slow}: {:.1}", a / b);
        }
    }

    println!("\nIntegrals a second, N = 16, and the share of an H200's bound\n");
    println!("| | M | 1/s | share |\n|---|---|---|---|");
    for (what, bound) in BOUNDS {
        for count in [1_000_000, 10_000_000] {
            if let Some(seconds) = measured.get(what, 16, count) {
                let rate = count as f64 / seconds;
                println!(
                    "| {what} | {count} | {rate:.2e} | {:.0}% |",
                    100.0 * rate / bound
                );
            }
        }
    }
}
