//! The collision integral at the paper's grid and around it: scalar reference, all cores of the CPU, GPU.
//!
//! Times of the GPU are those of its own clock, without copies, unless a row says otherwise. After criterion's report stands a table
//! with speedups beside the paper's (Aristov et al. 2011: 40 times at 20^3, a GTX 295 against one core of a Core 2 at 3 GHz).

use std::cell::RefCell;
use std::collections::BTreeMap;
use std::time::{Duration, Instant};

use criterion::{BenchmarkId, Criterion};
use rarefy::collision::{
    CollisionOperator, Method, OperatorConfig, Order, Part, VelocityGrid, initial, reference,
};
use rarefy::{Backend, Precision};

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
        backend,
        method,
        precision,
        ..OperatorConfig::new(grid)
    };
    let f = initial::TwoMaxwellians::default().sample(&grid);
    let mut operator = CollisionOperator::new(config)?;
    operator.evaluate(&f)?;
    Ok((operator, f))
}

/// Largest N for which a measurement is over in a few seconds.
fn affordable(backend: Backend, method: Method) -> usize {
    match (backend, method) {
        (Backend::Cuda, Method::Fast) => 64,
        (Backend::Cuda, Method::Direct) => 32,
        (_, Method::Fast) => 32,
        (_, Method::Direct) => 20,
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
    for n in SIZES.into_iter().filter(|&n| n <= 24) {
        group.bench_function(BenchmarkId::new("scalar f64, one cell", n), |bencher| {
            let grid = VelocityGrid::new(n, -6.5, 6.5).expect("a grid");
            let f = initial::TwoMaxwellians::default().sample(&grid);
            let cell = [n / 2, n / 3, n / 4];
            bencher.iter_custom(|repetitions| {
                let start = Instant::now();
                for _ in 0..repetitions {
                    std::hint::black_box(reference::gain_at(n, 1.0, Order::Second, &f, cell));
                }
                start.elapsed()
            });
            // The whole integral, from a sample of cells: the plain sum takes minutes at 20^3.
            let start = Instant::now();
            let cells: Vec<[usize; 3]> =
                (0..32).map(|k| [k * 7 % n, k * 5 % n, k * 3 % n]).collect();
            for &cell in &cells {
                std::hint::black_box(reference::gain_at(n, 1.0, Order::Second, &f, cell));
            }
            let whole = start
                .elapsed()
                .mul_f64(n.pow(3) as f64 / cells.len() as f64);
            measured.note("scalar f64", n, whole, 1);
        });
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
    group.finish();
    report(&measured);
}

/// Floating-point work of the direct sum: terms of the half-space with a nonzero coefficient.
fn direct_terms(n: usize) -> f64 {
    match n {
        12 => 0.5 * 4.387e8,
        16 => 0.5 * 4.775e9,
        20 => 0.5 * 2.851e10,
        24 => 0.5 * 1.227e11,
        32 => 0.5 * 1.227e12,
        _ => f64::NAN,
    }
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
    ratio("scalar f64", "cpu direct f64");
    ratio("scalar f64", "cuda direct f32");
    ratio("cpu direct f32", "cpu fast f32");
    ratio("cpu direct f64", "cpu fast f64");
    ratio("cpu direct f32", "cuda direct f32");
    ratio("cuda direct f32 gain", "cuda fast f32 gain");
    ratio("cuda direct f64 gain", "cuda fast f64 gain");
    ratio("cpu fast f64", "cuda fast f64");
    println!(
        "\nDirect kernel: shared-memory loads a second, two for each term of the half-space (an H200 can do 8.4e12)\n"
    );
    for n in SIZES {
        if let Some(seconds) = measured.get("cuda direct f32 gain", n) {
            println!("{n}^3: {:.3e}", 2.0 * direct_terms(n) / seconds);
        }
    }
}
