//! The isotropic Boltzmann equation in energy space: one core, all cores of the CPU, GPU; every storage; batches; economies.
//!
//! A row is one Euler step, which is one evaluation of the operator and an update. Times of the GPU are those of its own clock, without
//! copies; steps follow each other in recorded graphs. After criterion's report follow the tables of Aristov, Yastrebov and Stroganov (2020)
//! with their own numbers beside: memory (Table 1), time of 10 000 steps (Table 2), ratios (Table 3).

mod support;

use std::cell::RefCell;
use std::collections::BTreeMap;
use std::time::Duration;

use criterion::{BenchmarkId, Criterion};
use rarefy::isotropic::coefficients::Counts;
use rarefy::isotropic::{
    CollisionKernel, EnergyGrid, Integrator, OperatorConfig, Relaxation, RelaxationConfig, Storage,
    initial,
};
use rarefy::{Backend, Compute, Precision};

use support::passes_filter;

const SIZES: [usize; 6] = [128, 256, 512, 1024, 2048, 4096];

/// Sizes of the paper.
const PAPER: [usize; 3] = [128, 256, 512];

/// States of the batches, and their sizes; every core of the CPU takes the one with limits, and so do economies.
const BATCHES: [usize; 5] = [2, 16, 64, 256, 1024];
const BATCH_CELLS: [usize; 3] = [128, 512, 1024];
const CPU_BATCH: (usize, usize) = (256, 512);

/// Seconds for one step, by what was measured and M.
#[derive(Default)]
struct Measured(RefCell<BTreeMap<(String, usize), f64>>);

impl Measured {
    fn note(&self, what: &str, cells: usize, time: Duration, steps: u64) {
        let seconds = time.as_secs_f64() / steps as f64;
        let mut all = self.0.borrow_mut();
        let least = all.entry((what.to_owned(), cells)).or_insert(seconds);
        *least = least.min(seconds);
    }
    fn get(&self, what: &str, cells: usize) -> Option<f64> {
        self.0.borrow().get(&(what.to_owned(), cells)).copied()
    }
}

thread_local! {
    /// The run that is timed on one core.
    static ON_ONE_CORE: RefCell<Option<Relaxation>> = const { RefCell::new(None) };
}

/// A run of Euler steps from the exact solution.
fn run(
    cells: usize,
    theta: f64,
    backend: Backend,
    storage: Storage,
    precision: Precision,
    states: usize,
) -> rarefy::Result<Relaxation> {
    let grid = EnergyGrid::new(cells, 20.0)?;
    let operator = OperatorConfig {
        compute: Compute::new(backend).with_precision(precision),
        storage,
        ..OperatorConfig::new(grid, CollisionKernel::Power { theta })
    };
    let states: Vec<Vec<f64>> = (0..states)
        .map(|k| initial::bkw(&grid, 0.6 + 0.3 * k as f64 / states as f64))
        .collect();
    euler(operator, &states)
}

/// Euler's steps, whose time the rows are.
fn euler(operator: OperatorConfig, states: &[Vec<f64>]) -> rarefy::Result<Relaxation> {
    let config = RelaxationConfig {
        operator,
        integrator: Integrator::Euler,
        dt: Some(0.02),
        every: 1,
    };
    Relaxation::new(config, states)
}

/// The same for an economy, from a distribution of wealth around 1.
fn economy(
    cells: usize,
    law: CollisionKernel,
    backend: Backend,
    states: usize,
) -> rarefy::Result<Relaxation> {
    let grid = EnergyGrid::new(cells, 16.0)?;
    let operator = OperatorConfig {
        compute: backend.into(),
        ..OperatorConfig::new(grid, law)
    };
    let states: Vec<Vec<f64>> = (0..states)
        .map(|k| {
            let inverse_temperature = 3.0 + 3.0 * k as f64 / states as f64;
            let agents = grid.energies().into_iter();
            let agents: Vec<f64> = agents
                .map(|e| e * (-inverse_temperature * e).exp())
                .collect();
            let all: f64 = agents.iter().sum();
            agents.iter().map(|p| p / all).collect()
        })
        .collect();
    euler(operator, &states)
}

/// Largest M that is over in a few seconds and fits.
fn affordable(backend: Backend, storage: Storage) -> usize {
    match (backend, storage) {
        (_, Storage::Pairs) => 4096,
        (Backend::Cuda, _) => 1024,
        _ => 512,
    }
}

fn main() {
    let mut criterion = Criterion::default()
        .sample_size(10)
        .warm_up_time(Duration::from_millis(100))
        .measurement_time(Duration::from_millis(500))
        .configure_from_args();
    let measured = Measured::default();
    let mut group = criterion.benchmark_group("isotropic");
    let mut bench = |what: &str, cells: usize, time: &mut dyn FnMut(u64) -> Duration| {
        group.bench_function(BenchmarkId::new(what, cells), |bencher| {
            bencher.iter_custom(|steps| {
                let time = time(steps);
                measured.note(what, cells, time, steps);
                time
            });
        });
    };
    let storages = [Storage::Full, Storage::Compact, Storage::Pairs];
    match rayon::ThreadPoolBuilder::new().num_threads(1).build() {
        Ok(pool) => {
            for storage in storages {
                let what = format!("one core {storage:?} f64").to_lowercase();
                for cells in sizes(Backend::Cpu, storage, &what) {
                    // The run lives in the pool's thread, which its work must not leave.
                    let made = pool.install(|| {
                        let made = run(cells, 0.0, Backend::Cpu, storage, Precision::F64, 1);
                        made.map(|run| ON_ONE_CORE.set(Some(run)))
                    });
                    if let Err(error) = made {
                        println!("skipped: {what} {cells}: {error}");
                        continue;
                    }
                    bench(&what, cells, &mut |steps| {
                        pool.install(|| {
                            ON_ONE_CORE.with_borrow_mut(|run| {
                                let run = run.as_mut().expect("made above");
                                run.time_steps(steps).expect("a timing")
                            })
                        })
                    });
                    pool.install(|| ON_ONE_CORE.set(None));
                }
            }
        }
        Err(error) => println!("skipped: one core: {error}"),
    }
    let mut bench_run = |what: &str, cells: usize, run: rarefy::Result<Relaxation>| match run {
        Ok(mut run) => bench(what, cells, &mut |steps| {
            run.time_steps(steps).expect("a timing")
        }),
        Err(error) => println!("skipped: {what} {cells}: {error}"),
    };

    for backend in [Backend::Cpu, Backend::Cuda] {
        for storage in storages {
            for precision in [Precision::F32, Precision::F64] {
                let what = format!("{backend} {storage:?} {precision}").to_lowercase();
                for cells in sizes(backend, storage, &what) {
                    bench_run(
                        &what,
                        cells,
                        run(cells, 0.0, backend, storage, precision, 1),
                    );
                }
            }
        }
        // Hard spheres have no table.
        let what = format!("{backend} pairs f64 theta 1");
        for cells in sizes(backend, Storage::Pairs, &what) {
            let made = run(cells, 1.0, backend, Storage::Pairs, Precision::F64, 1);
            bench_run(&what, cells, made);
        }
        for (name, law) in [
            ("money", CollisionKernel::Money),
            ("saving 0.5", CollisionKernel::Saving { lambda: 0.5 }),
            ("saving 0.95", CollisionKernel::Saving { lambda: 0.95 }),
        ] {
            let what = format!("{backend} {name} f64");
            for cells in sizes(backend, Storage::Pairs, &what) {
                bench_run(&what, cells, economy(cells, law, backend, 1));
            }
            let what = format!("{what} batch of {}", CPU_BATCH.0);
            if passes_filter(&format!("isotropic/{what}")) {
                let (states, cells) = CPU_BATCH;
                bench_run(&what, cells, economy(cells, law, backend, states));
            }
        }
        for precision in [Precision::F32, Precision::F64] {
            for states in BATCHES {
                let what = format!("{backend} pairs {precision} batch of {states}");
                for cells in BATCH_CELLS {
                    let too_long = backend == Backend::Cpu && (states, cells) != CPU_BATCH;
                    if passes_filter(&format!("isotropic/{what}")) && !too_long {
                        let made = run(cells, 0.0, backend, Storage::Pairs, precision, states);
                        bench_run(&what, cells, made);
                    }
                }
            }
        }
    }
    group.finish();
    report(&measured);
}

/// The sizes to be measured.
fn sizes(backend: Backend, storage: Storage, what: &str) -> Vec<usize> {
    if !passes_filter(&format!("isotropic/{what}")) {
        return Vec::new();
    }
    let most = affordable(backend, storage);
    SIZES.into_iter().filter(|&cells| cells <= most).collect()
}

fn heading(title: &str, columns: &[String]) {
    println!("\n{title}\n");
    println!("| | {} |", columns.join(" | "));
    println!("|---|{}", "---|".repeat(columns.len()));
}

fn row(name: &str, values: impl Iterator<Item = Option<String>>) {
    let values: Vec<_> = values.map(Option::unwrap_or_default).collect();
    println!("| {name} | {} |", values.join(" | "));
}

/// Bounds of the rows of the GPU: operations of the pipe of the precision (9 for each jump and state, a multiply-add is one), the table from L2, in batches
/// shared memory, through which a jump moves 3 to 4 words, or none of them, where a step of two or three small kernels is shorter than their
/// launches and barriers.
fn limits(measured: &Measured) {
    println!(
        "\n| pairs on the GPU | operations, share of the peak | table, TB/s of about 5.5 from L2 | the limit |\n|---|---|---|---|"
    );
    let row = |name: &str, cells: usize, states: usize, double: bool| {
        let Some(seconds) = measured.get(name, cells) else {
            return;
        };
        let jumps = Counts::of(cells).pair as f64;
        let lanes = if double { 64.0 } else { 128.0 };
        let share = 9.0 * jumps * states as f64 / seconds / (132.0 * lanes * 1.98e9);
        // The states of a batch share what they read.
        let read = if states > 1 {
            0.0
        } else {
            jumps / seconds / 1e12
        };
        let read = if double { 8.0 } else { 4.0 } * read;
        let limit = if share.max(read / 5.5) < 0.1 {
            "latency"
        } else if states > 1 {
            "shared memory, then latency"
        } else if share >= read / 5.5 {
            "arithmetic, then latency"
        } else {
            "L2, then latency"
        };
        println!(
            "| {name}, M = {cells} | {:.1}% | {read:.2} | {limit} |",
            100.0 * share
        );
    };
    for cells in [128, 256, 512, 1024, 2048, 4096] {
        row("cuda pairs f64", cells, 1, true);
        row("cuda pairs f32", cells, 1, false);
    }
    for precision in ["f64", "f32"] {
        for states in BATCHES {
            for cells in BATCH_CELLS {
                let name = format!("cuda pairs {precision} batch of {states}");
                row(&name, cells, states, precision == "f64");
            }
        }
    }
    println!();
}

fn report(measured: &Measured) {
    let rows: Vec<String> = {
        let all = measured.0.borrow();
        let mut rows: Vec<String> = all.keys().map(|(what, _)| what.clone()).collect();
        rows.dedup();
        rows
    };
    let all: Vec<String> = SIZES.iter().map(usize::to_string).collect();
    heading("One Euler step, microseconds (least of all samples)", &all);
    for what in &rows {
        row(
            what,
            SIZES
                .iter()
                .map(|&m| Some(format!("{:.2}", measured.get(what, m)? * 1e6))),
        );
    }

    let few: Vec<String> = PAPER.iter().map(usize::to_string).collect();
    let mib = |bytes: u64| Some(format!("{:.2}", bytes as f64 / (1u64 << 20) as f64));
    heading("Table 1. Coefficients in f64, MiB", &few);
    row(
        "paper, without optimisation (8 M^3 bytes)",
        ["16", "128", "1000"].map(|v| Some(v.into())).into_iter(),
    );
    row(
        "paper, with optimisation (a sixth of it)",
        ["2.7", "21.3", "170.7"].map(|v| Some(v.into())).into_iter(),
    );
    row("full", PAPER.iter().map(|&m| mib(8 * Counts::of(m).full)));
    row(
        "folded as the paper meant",
        PAPER.iter().map(|&m| mib(8 * Counts::of(m).folded)),
    );
    row(
        "compact",
        PAPER
            .iter()
            .map(|&m| mib(8 * Counts::of(m).reciprocal_strict)),
    );
    row("pairs", PAPER.iter().map(|&m| mib(8 * Counts::of(m).pair)));

    heading("Table 2. Time of 10 000 Euler steps in f64, seconds", &few);
    let paper = [
        ("paper CPU/\u{2212}, one thread", [13.38, 95.277, 705.18]),
        ("paper GPU/\u{2212} (*)", [0.096, 0.531, 3.01]),
        ("paper CPU/+", [43.506, 340.26, 2704.23]),
        ("paper GPU/+ (*)", [0.088, 1.84, 19.62]),
    ];
    for (name, seconds) in paper {
        row(name, seconds.iter().map(|s| Some(s.to_string())));
    }
    for place in ["one core", "cpu", "cuda"] {
        for storage in ["full", "compact", "pairs"] {
            let what = format!("{place} {storage} f64");
            row(
                &what,
                PAPER
                    .iter()
                    .map(|&m| Some(format!("{:.4}", measured.get(&what, m)? * 1e4))),
            );
        }
    }
    println!(
        "\n(*) A GTX 1080 Ti moves 484 GB/s; these times at 10 000 steps imply 1.2 to 2.4 TB/s for GPU/\u{2212}, and for GPU/+ at M = 128 more \
         than its f64 peak. They fit about 1000 steps, or timing without waiting, and are no baseline. CPU/\u{2212} is plausible."
    );

    heading("Table 3. Ratios", &few);
    let ratio = |name: &str, slow: &str, fast: &str| {
        row(
            name,
            PAPER.iter().map(|&m| {
                Some(format!(
                    "{:.2}",
                    measured.get(slow, m)? / measured.get(fast, m)?
                ))
            }),
        );
    };
    row(
        "paper: CPU/\u{2212} over GPU/\u{2212} (*)",
        ["139", "179", "234"].map(|v| Some(v.into())).into_iter(),
    );
    ratio(
        "full: one core over GPU",
        "one core full f64",
        "cuda full f64",
    );
    row(
        "paper: GPU/+ over GPU/\u{2212} (*)",
        ["0.92", "3.47", "6.51"].map(|v| Some(v.into())).into_iter(),
    );
    ratio(
        "compact over full on the GPU",
        "cuda compact f64",
        "cuda full f64",
    );
    ratio(
        "pairs: one core over GPU",
        "one core pairs f64",
        "cuda pairs f64",
    );
    ratio(
        "one core: full over pairs",
        "one core full f64",
        "one core pairs f64",
    );
    ratio("GPU: full over pairs", "cuda full f64", "cuda pairs f64");

    limits(measured);
    for (storage, elements) in [
        ("full", Counts::of(512).full),
        ("compact", Counts::of(512).reciprocal_strict),
    ] {
        if let Some(seconds) = measured.get(&format!("cuda {storage} f64"), 512) {
            println!(
                "{storage} f64 at M = 512 reads its table at {:.2} TB/s",
                8e-12 * elements as f64 / seconds
            );
        }
    }
}
