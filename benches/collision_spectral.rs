//! The spectral method beside the sums over the nodes: times of one evaluation and of a batch, correction included.
//!
//! Times of the GPU are those of its own clock, without copies. `benches/peers/spectral_cufft.py` times the same algorithm on cuFFT.

mod support;

use std::cell::RefCell;
use std::collections::BTreeMap;
use std::time::{Duration, Instant};

use criterion::{BenchmarkId, Criterion};
use rarefy::collision::{
    CollisionOperator, CorrectionMethod, Mirrors, OperatorConfig, Part, Scattering, Spectral,
    VelocityGrid, initial,
};
use rarefy::{Backend, Compute, Precision};

const SIZES: [usize; 7] = [12, 16, 20, 24, 32, 48, 64];
const BATCH: usize = 64;

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

/// A row: its name, the operator, distributions together, sizes, and the part that is timed.
struct Row {
    name: String,
    config: fn(VelocityGrid) -> OperatorConfig,
    items: usize,
    largest: usize,
    part: Part,
}

fn spectral(grid: VelocityGrid) -> OperatorConfig {
    OperatorConfig {
        spectral: Spectral {
            degree: Some(11),
            ..Spectral::default()
        },
        ..OperatorConfig::spectral(grid)
    }
}

fn maxwell(grid: VelocityGrid) -> OperatorConfig {
    OperatorConfig {
        scattering: Scattering::Maxwell,
        ..spectral(grid)
    }
}

/// A cell of a shock wave at Mach 3.
fn shock(grid: VelocityGrid) -> OperatorConfig {
    OperatorConfig {
        spectral: Spectral {
            degree: Some(17),
            mirrors: Mirrors::ALL,
            ..Spectral::default()
        },
        ..spectral(grid)
    }
}

/// The same with all directions.
fn shock_of_all(grid: VelocityGrid) -> OperatorConfig {
    let mut config = shock(grid);
    config.spectral.mirrors = Mirrors::NONE;
    config
}

fn balanced(grid: VelocityGrid) -> OperatorConfig {
    OperatorConfig {
        correction: CorrectionMethod::Balanced,
        ..spectral(grid)
    }
}

fn rows() -> Vec<Row> {
    let row = |name: &str, config, items, largest, part| Row {
        name: name.into(),
        config,
        items,
        largest,
        part,
    };
    vec![
        row("spectral", spectral, 1, 64, Part::All),
        row("spectral, transforms", spectral, 1, 64, Part::Gain),
        row("spectral, correction", spectral, 1, 64, Part::Correction),
        row("spectral Maxwell", maxwell, 1, 64, Part::All),
        row("spectral balanced", balanced, 1, 64, Part::All),
        row("spectral batch", spectral, BATCH, 32, Part::All),
        row(
            "spectral batch, transforms",
            spectral,
            BATCH,
            32,
            Part::Gain,
        ),
        row("spectral balanced batch", balanced, BATCH, 32, Part::All),
        row(
            "spectral balanced batch, transforms",
            balanced,
            BATCH,
            32,
            Part::Gain,
        ),
        row("spectral Maxwell batch", maxwell, BATCH, 32, Part::All),
        row("spectral shock of 120", shock, 120, 24, Part::All),
        row(
            "spectral shock of 120, transforms",
            shock,
            120,
            24,
            Part::Gain,
        ),
        row(
            "spectral shock of 120, all directions",
            shock_of_all,
            120,
            24,
            Part::All,
        ),
        row("order 2", OperatorConfig::paper, 1, 32, Part::All),
        row("order 4 balanced", OperatorConfig::new, 1, 32, Part::All),
        row("order 2 batch", OperatorConfig::paper, BATCH, 20, Part::All),
    ]
}

/// An operator that has evaluated pairs of beams.
fn operator(
    row: &Row,
    backend: Backend,
    precision: Precision,
    n: usize,
) -> rarefy::Result<CollisionOperator> {
    let grid = VelocityGrid::new(n, -6.5, 6.5)?;
    let config = OperatorConfig {
        compute: Compute::new(backend).with_precision(precision),
        ..(row.config)(grid)
    };
    let beams = |k: usize| initial::TwoMaxwellians {
        speed: 1.0 + k as f64 / row.items as f64,
        ..initial::TwoMaxwellians::default()
    };
    let f: Vec<f64> = (0..row.items)
        .flat_map(|k| beams(k).sample(&grid))
        .collect();
    let mut operator = CollisionOperator::new(config)?;
    if row.items == 1 {
        operator.evaluate(&f)?;
    } else {
        operator.evaluate_batch(&f)?;
    }
    Ok(operator)
}

fn main() {
    let mut criterion = Criterion::default()
        .sample_size(10)
        .warm_up_time(Duration::from_millis(100))
        .measurement_time(Duration::from_millis(300))
        .configure_from_args();
    let measured = Measured::default();
    let mut group = criterion.benchmark_group("collision_spectral");
    for precision in [Precision::F32, Precision::F64] {
        for row in rows() {
            let what = format!("cuda {precision} {}", row.name);
            for n in SIZES.into_iter().filter(|&n| n <= row.largest) {
                if !support::passes_filter(&what) {
                    continue;
                }
                let mut operator = match operator(&row, Backend::Cuda, precision, n) {
                    Ok(ready) => ready,
                    Err(error) => {
                        println!("skipped: {what} {n}^3: {error}");
                        continue;
                    }
                };
                group.bench_function(BenchmarkId::new(&what, n), |bencher| {
                    bencher.iter_custom(|repetitions| {
                        let repetitions = u32::try_from(repetitions).unwrap_or(u32::MAX);
                        let time = if row.items == 1 {
                            operator.time_evaluations(row.part, repetitions)
                        } else {
                            operator.time_batches(row.part, repetitions)
                        };
                        let time = time.expect("a timing");
                        measured.note(&what, n, time, u64::from(repetitions));
                        time
                    });
                });
            }
        }
    }
    if let Ok(pool) = rayon::ThreadPoolBuilder::new().num_threads(1).build() {
        for precision in [Precision::F32, Precision::F64] {
            for row in rows()
                .into_iter()
                .filter(|row| row.items == 1 && row.part == Part::All)
            {
                let what = format!("one core {precision} {}", row.name);
                for n in SIZES.into_iter().filter(|&n| n <= row.largest.min(32)) {
                    if !support::passes_filter(&what) {
                        continue;
                    }
                    let Ok(mut operator) = operator(&row, Backend::Cpu, precision, n) else {
                        continue;
                    };
                    group.bench_function(BenchmarkId::new(&what, n), |bencher| {
                        bencher.iter_custom(|repetitions| {
                            let start = Instant::now();
                            let times = u32::try_from(repetitions).unwrap_or(u32::MAX);
                            pool.install(|| operator.time_evaluations(Part::All, times))
                                .expect("a timing");
                            let time = start.elapsed();
                            measured.note(&what, n, time, repetitions);
                            time
                        });
                    });
                }
            }
        }
    }
    group.finish();
    report(&measured);
}

/// Milliseconds that were asked of an H200, for each of the sizes.
const TARGETS: [(&str, [f64; 7]); 4] = [
    (
        "cuda f32 spectral",
        [0.018, 0.020, 0.024, 0.028, 0.045, 0.10, 0.25],
    ),
    (
        "cuda f64 spectral",
        [0.020, 0.024, 0.030, 0.036, 0.065, 0.17, 0.45],
    ),
    (
        "cuda f32 spectral batch",
        [f64::NAN, 0.16, 0.32, 0.55, 1.3, f64::NAN, f64::NAN],
    ),
    (
        // Half of a step of 1.2 ms, which has two.
        "cuda f32 spectral shock of 120",
        [
            f64::NAN,
            f64::NAN,
            f64::NAN,
            0.6,
            f64::NAN,
            f64::NAN,
            f64::NAN,
        ],
    ),
];

fn report(measured: &Measured) {
    let mut names: Vec<String> = measured
        .0
        .borrow()
        .keys()
        .map(|(what, _)| what.clone())
        .collect();
    names.dedup();
    let heads: Vec<String> = SIZES.iter().map(|n| format!(" {n}^3 |")).collect();
    println!("\nOne evaluation, or one batch of {BATCH}, milliseconds (least of all samples)\n");
    println!("| |{}\n|---|{}", heads.concat(), "---|".repeat(SIZES.len()));
    for what in &names {
        let times = SIZES.map(|n| match measured.get(what, n) {
            Some(seconds) => format!(" {:.4} |", seconds * 1e3),
            None => " |".into(),
        });
        println!("| {what} |{}", times.concat());
    }
    println!("\nTarget over measured, on an H200\n");
    println!("| |{}\n|---|{}", heads.concat(), "---|".repeat(SIZES.len()));
    for (what, targets) in TARGETS {
        let shares = SIZES
            .iter()
            .zip(targets)
            .map(|(&n, target)| match measured.get(what, n) {
                Some(seconds) if target.is_finite() => {
                    format!(" {:.2} |", target / (seconds * 1e3))
                }
                _ => " |".into(),
            });
        println!("| {what} |{}", shares.collect::<String>());
    }
}
