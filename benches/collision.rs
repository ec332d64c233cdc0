//! The collision integral at the paper's grid and around it: one core, all cores of the CPU, GPU.
//!
//! Times of the GPU are those of its own clock, without copies, unless a row says otherwise. After criterion's report comes a table
//! with speedups beside the paper's (Aristov et al. 2011: 40 times at 20^3, a GTX 295 against one core of a Core 2 at 3 GHz).

mod support;

use std::cell::RefCell;
use std::collections::BTreeMap;
use std::time::{Duration, Instant};

use criterion::{BenchmarkId, Criterion};
use rarefy::collision::paper::{DirectLists, DirectTasks};
use rarefy::collision::{
    CollisionOperator, CorrectionMethod, CpuOperator, FrequencyWay, Integrator, Method,
    OperatorConfig, Order, Part, Relaxation, RelaxationConfig, Until, VelocityGrid, initial,
    reference,
};
use rarefy::{Backend, Compute, Precision};

use support::passes_filter;

const SIZES: [usize; 6] = [12, 16, 20, 24, 32, 64];

/// Seconds for one evaluation, by what was measured and N.
#[derive(Default)]
struct Measured(RefCell<BTreeMap<(String, usize), f64>>);

impl Measured {
    fn note(&self, what: &str, n: usize, time: Duration, repetitions: u64) {
        let seconds = time.as_secs_f64() / repetitions as f64;
        let mut all = self.0.borrow_mut();
        let least = all.entry((what.to_owned(), n)).or_insert(seconds);
        *least = least.min(seconds);
    }
    fn get(&self, what: &str, n: usize) -> Option<f64> {
        self.0.borrow().get(&(what.to_owned(), n)).copied()
    }
}

fn operator(
    n: usize,
    backend: Backend,
    method: Method,
    precision: Precision,
) -> rarefy::Result<(CollisionOperator, Vec<f64>)> {
    let grid = VelocityGrid::new(n, -6.5, 6.5)?;
    let config = OperatorConfig {
        compute: Compute::new(backend).with_precision(precision),
        method,
        ..OperatorConfig::paper(grid)
    };
    let f = initial::TwoMaxwellians::default().sample(&grid);
    let mut operator = CollisionOperator::new(config)?;
    operator.evaluate(&f)?;
    Ok((operator, f))
}

/// The collision frequency by either way, as rows name it.
const FREQUENCIES: [(&str, FrequencyWay); 2] = [
    ("frequency, direct sum", FrequencyWay::Sum),
    ("frequency, convolution", FrequencyWay::Convolution),
];

/// Largest N for which a measurement is over in a few seconds.
fn affordable(backend: Backend, method: Method) -> usize {
    match (backend, method) {
        (Backend::Cuda, Method::Fast) => 64,
        (Backend::Cuda, _) | (_, Method::Fast) => 32,
        _ => 24,
    }
}

fn main() {
    let mut criterion = Criterion::default()
        .sample_size(10)
        .warm_up_time(Duration::from_millis(300))
        .measurement_time(Duration::from_secs(1))
        .configure_from_args();
    let measured = Measured::default();

    let mut group = criterion.benchmark_group("collision");
    // The plain formula, every coefficient looked up, zero or not: from a sample of cells, as the whole takes minutes at 20^3.
    let what = "scalar reference f64, from 16 cells";
    for n in SIZES
        .into_iter()
        .filter(|&n| n <= 24 && passes_filter(what))
    {
        let Ok(grid) = VelocityGrid::new(n, -6.5, 6.5) else {
            continue;
        };
        let f = initial::TwoMaxwellians::default().sample(&grid);
        let start = Instant::now();
        for k in 0..16 {
            let cell = [k * 7 % n, k * 5 % n, k * 3 % n];
            std::hint::black_box(reference::gain_at(n, 1.0, Order::Second, &f, cell));
        }
        let whole = start.elapsed().mul_f64(n.pow(3) as f64 / 16.0);
        measured.note(what, n, whole, 1);
    }
    // The paper's algorithm on one core, as in the paper's comparison; in vector registers, which its CPU had too.
    match rayon::ThreadPoolBuilder::new().num_threads(1).build() {
        Ok(pool) => {
            for method in [Method::Direct, Method::Fast] {
                for n in SIZES
                    .into_iter()
                    .filter(|&n| n <= affordable(Backend::Cpu, method))
                {
                    let Ok(grid) = VelocityGrid::new(n, -6.5, 6.5) else {
                        continue;
                    };
                    let f = initial::TwoMaxwellians::default().sample(&grid);
                    let (mut gain, mut frequency) = (f.clone(), f.clone());
                    let operator =
                        pool.install(|| CpuOperator::<f64>::new(n, 1.0, method, Order::Second));
                    let what = format!("one core {method:?} f64").to_lowercase();
                    let mut run = |repetitions: u64| {
                        let start = Instant::now();
                        pool.install(|| {
                            for _ in 0..repetitions {
                                operator.gain_and_frequency(&f, &mut gain, &mut frequency);
                            }
                        });
                        let time = start.elapsed();
                        measured.note(&what, n, time, repetitions);
                        time
                    };
                    // Work of seconds is measured once: criterion would take ten samples and more.
                    if method == Method::Direct && n > 16 {
                        if passes_filter(&what) {
                            run(1);
                        }
                    } else {
                        group.bench_function(BenchmarkId::new(&what, n), |bencher| {
                            bencher.iter_custom(&mut run);
                        });
                    }
                }
            }
            for (name, way) in FREQUENCIES {
                let what = format!("one core f64 {name}");
                for n in SIZES {
                    let Ok(grid) = VelocityGrid::new(n, -6.5, 6.5) else {
                        continue;
                    };
                    let f = initial::TwoMaxwellians::default().sample(&grid);
                    let mut frequency = f.clone();
                    // Its tables are made where the filter lets the row through.
                    let mut operator = None;
                    let mut run = |repetitions: u64| {
                        let operator = operator.get_or_insert_with(|| {
                            let operator =
                                CpuOperator::<f64>::new(n, 1.0, Method::Fast, Order::Second);
                            operator.frequency_by(way, &f, &mut frequency);
                            operator
                        });
                        let start = Instant::now();
                        pool.install(|| {
                            for _ in 0..repetitions {
                                operator.frequency_by(way, &f, &mut frequency);
                            }
                        });
                        let time = start.elapsed();
                        measured.note(&what, n, time, repetitions);
                        time
                    };
                    if way == FrequencyWay::Sum && n > 32 {
                        if passes_filter(&what) {
                            run(1);
                        }
                    } else {
                        group.bench_function(BenchmarkId::new(&what, n), |bencher| {
                            bencher.iter_custom(&mut run);
                        });
                    }
                }
            }
        }
        Err(error) => println!("skipped: one core: {error}"),
    }
    for backend in [Backend::Cpu, Backend::Cuda] {
        for method in [Method::Direct, Method::Fast] {
            for precision in [Precision::F32, Precision::F64] {
                for n in SIZES
                    .into_iter()
                    .filter(|&n| n <= affordable(backend, method))
                {
                    let (mut operator, f) = match operator(n, backend, method, precision) {
                        Ok(ready) => ready,
                        Err(error) => {
                            println!("skipped: {backend} {method:?} {precision} {n}^3: {error}");
                            continue;
                        }
                    };
                    let what = format!("{backend} {method:?} {precision}").to_lowercase();
                    for (name, part) in [
                        ("", Part::All),
                        (" gain", Part::Gain),
                        (" frequency", Part::Frequency),
                        (" correction", Part::Correction),
                    ] {
                        if part != Part::All && backend != Backend::Cuda {
                            continue;
                        }
                        let what = format!("{what}{name}");
                        group.bench_function(BenchmarkId::new(&what, n), |bencher| {
                            bencher.iter_custom(|repetitions| {
                                let repetitions = u32::try_from(repetitions).unwrap_or(u32::MAX);
                                let time = operator
                                    .time_evaluations(part, repetitions)
                                    .expect("a timing");
                                measured.note(&what, n, time, u64::from(repetitions));
                                time
                            });
                        });
                    }
                    for (name, way) in FREQUENCIES {
                        if method != Method::Fast {
                            continue;
                        }
                        let what = format!("{backend} {precision} {name}");
                        group.bench_function(BenchmarkId::new(&what, n), |bencher| {
                            bencher.iter_custom(|repetitions| {
                                let repetitions = u32::try_from(repetitions).unwrap_or(u32::MAX);
                                let time = operator
                                    .time_evaluations(Part::FrequencyBy(way), repetitions)
                                    .expect("a timing");
                                measured.note(&what, n, time, u64::from(repetitions));
                                time
                            });
                        });
                    }
                    if backend == Backend::Cuda {
                        let what = format!("{what} with transfers");
                        group.bench_function(BenchmarkId::new(&what, n), |bencher| {
                            bencher.iter_custom(|repetitions| {
                                let start = Instant::now();
                                for _ in 0..repetitions {
                                    operator.evaluate(&f).expect("an evaluation");
                                }
                                let time = start.elapsed();
                                measured.note(&what, n, time, repetitions);
                                time
                            });
                        });
                    }
                }
            }
        }
    }
    for backend in [Backend::Cpu, Backend::Cuda] {
        for precision in [Precision::F32, Precision::F64] {
            for n in [12, 16, 20] {
                let what = format!("{backend} fast {precision} batch of {BATCH}");
                let mut operator = match batch(n, backend, precision) {
                    Ok(ready) => ready,
                    Err(error) => {
                        println!("skipped: {what} {n}^3: {error}");
                        continue;
                    }
                };
                let [sum, convolution] =
                    FREQUENCIES.map(|(name, way)| (format!(" {name}"), Part::FrequencyBy(way)));
                let whole = (String::new(), Part::All);
                let gain = (" gain".to_owned(), Part::Gain);
                for (name, part) in [whole, gain, sum, convolution] {
                    if part != Part::All && backend != Backend::Cuda {
                        continue;
                    }
                    let what = format!("{what}{name}");
                    group.bench_function(BenchmarkId::new(&what, n), |bencher| {
                        bencher.iter_custom(|repetitions| {
                            let repetitions = u32::try_from(repetitions).unwrap_or(u32::MAX);
                            let time = operator.time_batches(part, repetitions).expect("a timing");
                            measured.note(&what, n, time, u64::from(repetitions));
                            time
                        });
                    });
                }
            }
        }
    }
    for precision in [Precision::F32, Precision::F64] {
        for (n, items, correction) in corrected_rows() {
            let what = corrected_row(precision, items, correction);
            let mut operator = match corrected(n, items, precision, correction) {
                Ok(ready) => ready,
                Err(error) => {
                    println!("skipped: {what} {n}^3: {error}");
                    continue;
                }
            };
            group.bench_function(BenchmarkId::new(&what, n), |bencher| {
                bencher.iter_custom(|repetitions| {
                    let repetitions = u32::try_from(repetitions).unwrap_or(u32::MAX);
                    let time = operator
                        .time_batches(Part::All, repetitions)
                        .expect("a timing");
                    measured.note(&what, n, time, u64::from(repetitions));
                    time
                });
            });
        }
    }
    group.finish();
    for precision in [Precision::F32, Precision::F64] {
        let what = format!("cuda {precision} relaxation, {STEPS} steps from the start");
        if passes_filter(&what) {
            // The first run loads the kernels, as a command would; both count, the lesser is kept.
            for _ in 0..2 {
                match relaxation(32, precision) {
                    Ok(time) => measured.note(&what, 32, time, 1),
                    Err(error) => println!("skipped: {what}: {error}"),
                }
            }
        }
    }
    report(&measured);
    report_targets(&measured);
}

/// Distributions of a batch.
const BATCH: usize = 64;
/// Time steps, of two evaluations each, of the relaxation that is timed.
const STEPS: u64 = 200;

/// The corrections that are compared in fourth order.
const CORRECTIONS: [CorrectionMethod; 3] = [
    CorrectionMethod::None,
    CorrectionMethod::Paper,
    CorrectionMethod::Balanced,
];

/// Grids, distributions and corrections of the comparison.
fn corrected_rows() -> impl Iterator<Item = (usize, usize, CorrectionMethod)> {
    let grids = [
        (12, 1),
        (16, 1),
        (20, 1),
        (24, 1),
        (32, 1),
        (16, BATCH),
        (20, BATCH),
        (32, BATCH),
    ];
    let rows = grids.map(|(n, items)| CORRECTIONS.map(|correction| (n, items, correction)));
    rows.into_iter().flatten()
}

fn corrected_row(precision: Precision, items: usize, correction: CorrectionMethod) -> String {
    format!("cuda order 4 {precision} {items} {correction}")
}

/// An operator of the fourth order on the GPU with a correction.
fn corrected(
    n: usize,
    items: usize,
    precision: Precision,
    correction: CorrectionMethod,
) -> rarefy::Result<CollisionOperator> {
    let config = OperatorConfig {
        compute: Compute::new(Backend::Cuda).with_precision(precision),
        correction,
        ..OperatorConfig::new(VelocityGrid::new(n, -6.5, 6.5)?)
    };
    evaluated(config, items)
}

/// An operator that has evaluated a batch of different pairs of Maxwellians.
fn batch(n: usize, backend: Backend, precision: Precision) -> rarefy::Result<CollisionOperator> {
    let config = OperatorConfig {
        compute: Compute::new(backend).with_precision(precision),
        ..OperatorConfig::paper(VelocityGrid::new(n, -6.5, 6.5)?)
    };
    evaluated(config, BATCH)
}

fn evaluated(config: OperatorConfig, items: usize) -> rarefy::Result<CollisionOperator> {
    let grid = config.grid;
    let f: Vec<f64> = (0..items)
        .flat_map(|k| {
            let beams = initial::TwoMaxwellians {
                speed: 1.0 + k as f64 / items as f64,
                ..initial::TwoMaxwellians::default()
            };
            beams.sample(&grid)
        })
        .collect();
    let mut operator = CollisionOperator::new(config)?;
    operator.evaluate_batch(&f)?;
    Ok(operator)
}

/// Wall time of two Maxwellians relaxing on the GPU, tables and the device's start included.
fn relaxation(n: usize, precision: Precision) -> rarefy::Result<Duration> {
    let start = Instant::now();
    let grid = VelocityGrid::new(n, -6.5, 6.5)?;
    let operator = OperatorConfig {
        compute: Compute::new(Backend::Cuda).with_precision(precision),
        ..OperatorConfig::paper(grid)
    };
    let config = RelaxationConfig {
        integrator: Integrator::Ssprk2,
        dt: Some(0.02),
        ..RelaxationConfig::new(operator, Until::Steps(STEPS))
    };
    let mut run = Relaxation::new(config, initial::TwoMaxwellians::default().sample(&grid))?;
    while !run.is_done() {
        run.advance(STEPS)?;
    }
    run.state()?;
    Ok(start.elapsed())
}

/// Aims on an H200: milliseconds, or how many times faster than another row.
fn report_targets(measured: &Measured) {
    println!("\nTargets on an H200\n");
    println!("| | N | measured | target | target over measured |\n|---|---|---|---|---|");
    let relaxation =
        |precision| format!("cuda {precision} relaxation, {STEPS} steps from the start");
    for (what, n, limit) in [
        ("cuda fast f32".to_owned(), 20, 0.08),
        ("cuda fast f32".to_owned(), 32, 0.8),
        ("cuda fast f32".to_owned(), 64, 90.0),
        ("cuda fast f64".to_owned(), 32, 1.2),
        (format!("cuda fast f32 batch of {BATCH}"), 16, 1.0),
        (relaxation(Precision::F32), 32, 1000.0),
        (relaxation(Precision::F64), 32, 1000.0),
    ] {
        if let Some(seconds) = measured.get(&what, n) {
            let time = seconds * 1e3;
            println!(
                "| {what} | {n} | {time:.4} ms | {limit} ms | {:.2} |",
                limit / time
            );
        }
    }
    for (slow, fast, n, least) in [
        ("cuda direct f32 gain", "cuda fast f32 gain", 24, 100.0),
        ("cuda direct f32 gain", "cuda fast f32 gain", 32, 100.0),
        ("cpu direct f32", "cpu fast f32", 20, 50.0),
        ("cpu direct f64", "cpu fast f64", 20, 50.0),
    ] {
        if let (Some(slow_time), Some(time)) = (measured.get(slow, n), measured.get(fast, n)) {
            let ratio = slow_time / time;
            println!(
                "| {fast} over {slow} | {n} | {ratio:.1} times | {least} times | {:.2} |",
                ratio / least
            );
        }
    }
    println!("\nTime in fourth order over that with the paper's correction\n");
    println!("| | N | none | balanced | target |\n|---|---|---|---|---|");
    for precision in [Precision::F32, Precision::F64] {
        for (n, items, correction) in corrected_rows() {
            let time = |correction| measured.get(&corrected_row(precision, items, correction), n);
            let all = CORRECTIONS.map(time);
            if let (CorrectionMethod::Paper, [Some(none), Some(paper), Some(balanced)]) =
                (correction, all)
            {
                println!(
                    "| {precision}, {items} | {n} | {:.3} | {:.3} | 1.15 |",
                    none / paper,
                    balanced / paper
                );
            }
        }
    }
    for precision in [Precision::F32, Precision::F64] {
        for n in [12, 16, 20] {
            let alone = measured.get(&format!("cuda fast {precision}"), n);
            let together = measured.get(&format!("cuda fast {precision} batch of {BATCH}"), n);
            if let (Some(alone), Some(together)) = (alone, together) {
                println!(
                    "\n{BATCH} distributions of {n}^3 in {precision} together: {:.1} times faster than one after the other",
                    BATCH as f64 * alone / together
                );
            }
        }
    }
}

/// Shared-memory loads of the direct kernel, counted from its lists: eight a lane for each entry and each 32 cells of a window, lanes past
/// the window's end included.
fn direct_loads(n: usize) -> f64 {
    let lists = DirectLists::new(n, Order::Second);
    let tasks = DirectTasks::new(&lists);
    let mut by_task = BTreeMap::new();
    let mut loads = 0.0;
    for &[ix, jx, nx, _] in &tasks.tasks {
        let mx = ix.abs_diff(jx);
        loads += *by_task.entry((mx, nx)).or_insert_with(|| {
            let mut sum = 0.0;
            for my in 0..n as u32 {
                for mz in 0..n as u32 {
                    let cells = (n as u32 - my) * (n as u32 - mz);
                    let signs = (1 + u32::from(my > 0)) * (1 + u32::from(mz > 0));
                    let entries = lists.range([mx, my, mz], nx).len();
                    sum += f64::from(signs * cells.div_ceil(32) * 32) * entries as f64 * 8.0;
                }
            }
            sum
        });
    }
    loads
}

fn report(measured: &Measured) {
    let rows: Vec<String> = {
        let all = measured.0.borrow();
        let mut rows: Vec<String> = all.keys().map(|(what, _)| what.clone()).collect();
        rows.sort();
        rows.dedup();
        rows
    };
    println!("\nOne evaluation of the collision integral, milliseconds (least of all samples)\n");
    print!("| |");
    SIZES.iter().for_each(|n| print!(" {n}^3 |"));
    print!("\n|---|");
    SIZES.iter().for_each(|_| print!("---|"));
    println!();
    for row in &rows {
        print!("| {row} |");
        for n in SIZES {
            match measured.get(row, n) {
                Some(seconds) => print!(" {:.4} |", seconds * 1e3),
                None => print!(" |"),
            }
        }
        println!();
    }
    let ratio = |slow: &str, fast: &str| {
        print!("| {fast} over {slow} |");
        for n in SIZES {
            match (measured.get(slow, n), measured.get(fast, n)) {
                (Some(slow), Some(fast)) => print!(" {:.1} |", slow / fast),
                _ => print!(" |"),
            }
        }
        println!();
    };
    println!("\nSpeedups (the paper: 40 at 20^3, GPU over one core)\n");
    print!("| |");
    SIZES.iter().for_each(|n| print!(" {n}^3 |"));
    print!("\n|---|");
    SIZES.iter().for_each(|_| print!("---|"));
    println!();
    ratio("one core direct f64", "cpu direct f64");
    ratio("one core direct f64", "cuda direct f32");
    ratio("one core direct f64", "cuda direct f64");
    ratio("one core direct f64", "one core fast f64");
    ratio("cpu direct f32", "cpu fast f32");
    ratio("cpu direct f64", "cpu fast f64");
    ratio("cpu direct f32", "cuda direct f32");
    ratio("cuda direct f32 gain", "cuda fast f32 gain");
    ratio("cuda direct f64 gain", "cuda fast f64 gain");
    ratio("cpu fast f64", "cuda fast f64");
    for alone in ["one core f64", "cuda f32", "cuda f64"] {
        let [sum, convolution] = FREQUENCIES.map(|(name, _)| format!("{alone} {name}"));
        ratio(&sum, &convolution);
    }
    println!(
        "\nDirect kernel in f32: shared-memory loads a second, lanes past the end of a window included\n\
         (an H200 at 1.98 GHz does 132 x 32 x 1.98e9 = 8.4e12)\n"
    );
    for n in SIZES {
        if let Some(seconds) = measured.get("cuda direct f32 gain", n) {
            println!("{n}^3: {:.2e}", direct_loads(n) / seconds);
        }
    }
}
