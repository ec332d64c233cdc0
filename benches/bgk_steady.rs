//! Steady flows: time of one iteration and of a whole solution, on one core, all cores and the GPU.
//!
//! `cargo bench --bench bgk_steady`; the table at the end also has the time of one cell and velocity.

use std::cell::RefCell;
use std::collections::BTreeMap;
use std::hint::black_box;
use std::time::{Duration, Instant};

use criterion::{BenchmarkId, Criterion};
use rarefy::bgk::steady::plates::{Drive, Resolution, plates};
use rarefy::bgk::steady::{Nodes, SteadyConfig, SteadyProblem, SteadySolver};
use rarefy::bgk::{Cavity, Gas, Mach, Model, Shock};
use rarefy::{Backend, Compute, Precision, Result};

/// A case to time: name, case, residual to go to in f64.
type Subject = (&'static str, SteadyProblem, f64);

fn cavity(
    delta: f64,
    n: usize,
    angles: usize,
    speeds: usize,
    linear: bool,
) -> Result<SteadyProblem> {
    let mut case = SteadyProblem::from(&Cavity::new(delta, n, &[32, 32])?.problem()?);
    case.nodes = Nodes::polar(angles, speeds)?;
    case.linear = linear;
    Ok(case)
}

fn subjects() -> Result<Vec<Subject>> {
    let full = Shock {
        velocities: vec![32, 28, 28],
        cells: 512,
        sides: [80.0, 30.0],
        ..Shock::new(3.0)?
    };
    let between = |delta: f64, drive: Drive| {
        let resolution = Resolution::default();
        plates(delta, drive, Gas::default(), 1.0, resolution, true)
    };
    let long = Shock {
        cells: 1100,
        sides: [80.0, 30.0],
        ..Shock::new(3.0)?
    };
    let fine = Shock {
        cells: 6000,
        ..long.clone()
    };
    let of = |model: Model| Gas {
        model,
        ..Gas::default()
    };
    let wave = |model: Model| -> Result<SteadyProblem> {
        let shock = Shock {
            cells: 1100,
            ..Shock::of(Mach::new(1.5)?, of(model))
        };
        Ok(SteadyProblem::from(&shock.problem()?))
    };
    let driven = |model: Model| -> Result<SteadyProblem> {
        let mut case = cavity(10.0, 100, 24, 12, false)?;
        case.gas = Gas {
            frequency: case.gas.frequency,
            ..of(model)
        };
        Ok(case)
    };
    Ok(vec![
        (
            "shock Ma 1.5, 1100 cells, Shakhov",
            wave(Model::Shakhov)?,
            1e-6,
        ),
        (
            "shock Ma 1.5, 1100 cells, polyatomic",
            wave(Model::Polyatomic)?,
            1e-6,
        ),
        (
            "cavity delta 10, 100^2 x 24x12 polar, Shakhov",
            driven(Model::Shakhov)?,
            1e-6,
        ),
        (
            "cavity delta 10, 100^2 x 24x12 polar, polyatomic",
            driven(Model::Polyatomic)?,
            1e-6,
        ),
        (
            "shock Ma 3, 1100 x 32",
            SteadyProblem::from(&long.problem()?),
            1e-6,
        ),
        (
            "shock Ma 3, 512 x 32x28x28",
            SteadyProblem::from(&full.problem()?),
            1e-6,
        ),
        (
            "shock Ma 3, 6000 x 32",
            SteadyProblem::from(&fine.problem()?),
            1e-9,
        ),
        (
            "couette delta 10, 200 x 40x8",
            between(10.0, Drive::Couette(1.0))?,
            1e-9,
        ),
        (
            "couette delta 10000, 200 x 40x8",
            between(1e4, Drive::Couette(1.0))?,
            1e-9,
        ),
        (
            "fourier delta 300, 200 x 40x8",
            between(300.0, Drive::Fourier(1.0))?,
            1e-9,
        ),
        (
            "cavity delta 1, 160^2 x 48x14 polar, linear",
            cavity(1.0, 160, 48, 14, true)?,
            1e-6,
        ),
        (
            "cavity delta 1, 160^2 x 48x14 polar",
            cavity(1.0, 160, 48, 14, false)?,
            1e-6,
        ),
        (
            "cavity delta 10, 160^2 x 24x12 polar, linear",
            cavity(10.0, 160, 24, 12, true)?,
            1e-6,
        ),
        (
            "cavity delta 300, 160^2 x 24x12 polar, linear",
            cavity(300.0, 160, 24, 12, true)?,
            1e-9,
        ),
    ])
}

/// Least seconds of each row, and the number of iterations of a whole solution.
type Table = RefCell<BTreeMap<(usize, String), (f64, usize)>>;

fn main() {
    let mut criterion = Criterion::default()
        .sample_size(10)
        .warm_up_time(Duration::from_millis(200))
        .measurement_time(Duration::from_millis(600))
        .configure_from_args();
    let subjects = match subjects() {
        Ok(subjects) => subjects,
        Err(error) => {
            println!("no subjects: {error}");
            return;
        }
    };
    let table = Table::default();
    let mut group = criterion.benchmark_group("bgk_steady");
    for (k, (name, case, goal)) in subjects.iter().enumerate() {
        for (backend, threads) in [(Backend::Cpu, 1), (Backend::Cpu, 0), (Backend::Cuda, 0)] {
            // Three-dimensional velocities and fine cavities take minutes on one core.
            let heavy = case.nodes.len() * case.initial.len() > 2_000_000;
            if heavy && threads == 1 {
                continue;
            }
            let Ok(pool) = rayon::ThreadPoolBuilder::new().num_threads(threads).build() else {
                continue;
            };
            for precision in [Precision::F32, Precision::F64] {
                let config = SteadyConfig {
                    rtol: Some(if precision == Precision::F64 {
                        *goal
                    } else {
                        1e-5
                    }),
                    compute: Compute::new(backend).with_precision(precision),
                    ..SteadyConfig::default()
                };
                let cores = match (backend, threads) {
                    (Backend::Cuda, _) => "cuda",
                    (_, 1) => "one core",
                    _ => "all cores",
                };
                let what = format!("{cores} {precision}");
                // Never done: every iteration is mixed.
                let timed = SteadyConfig {
                    rtol: Some(1e-300),
                    ..config
                };
                // A solver stays on the thread that made it. The first iterations load and record the kernels.
                let iterate = |repetitions: u64| -> Result<Duration> {
                    let mut solver = SteadySolver::new(case.clone(), &timed)?;
                    for _ in 0..3 {
                        solver.iterate()?;
                    }
                    let started = Instant::now();
                    for _ in 0..repetitions {
                        black_box(solver.iterate()?);
                    }
                    Ok(started.elapsed())
                };
                if let Err(error) = pool.install(|| iterate(1)) {
                    println!("skipped: {name}, {what}: {error}");
                    continue;
                }
                group.bench_function(BenchmarkId::new(*name, &what), |bencher| {
                    bencher.iter_custom(|repetitions| {
                        let time = pool
                            .install(|| iterate(repetitions))
                            .expect("the iterations went well before");
                        let each = time.as_secs_f64() / repetitions as f64;
                        let mut table = table.borrow_mut();
                        let entry = table.entry((k, what.clone())).or_insert((each, 0));
                        entry.0 = entry.0.min(each);
                        time
                    });
                });
                if !table.borrow().contains_key(&(k, what.clone())) {
                    continue;
                }
                // A whole solution once: criterion would take ten.
                let whole = pool.install(|| -> Result<(f64, usize)> {
                    let mut solver = SteadySolver::new(case.clone(), &config)?;
                    let started = Instant::now();
                    solver.solve()?;
                    Ok((started.elapsed().as_secs_f64(), solver.residuals().len()))
                });
                if let Ok((seconds, iterations)) = whole {
                    let key = (k, format!("{what}, whole solution"));
                    table.borrow_mut().insert(key, (seconds, iterations));
                }
            }
        }
    }
    group.finish();
    println!(
        "\n| case | on | ms an iteration | ns a cell and velocity | s to the goal | iterations |"
    );
    println!("|---|---|---|---|---|---|");
    let table = table.borrow();
    for ((k, what), (seconds, _)) in table.iter().filter(|row| row.1.1 == 0) {
        let (name, case, ..) = &subjects[*k];
        let updates = (case.nodes.len() * case.initial.len()) as f64;
        let whole = table.get(&(*k, format!("{what}, whole solution")));
        let (whole, iterations) = whole.map_or(("".into(), "".into()), |(s, n)| {
            (format!("{s:.3}"), n.to_string())
        });
        println!(
            "| {name} | {what} | {:.3} | {:.4} | {whole} | {iterations} |",
            seconds * 1e3,
            seconds * 1e9 / updates
        );
    }
}
