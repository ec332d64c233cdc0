//! The BGK solver in time: the fused pass against the machine's copy speed, against the paper's two kernels, and against one core and all cores.
//!
//! Times of the GPU are those of its own clock, without copies between host and device. After criterion's report follow the tables: the cases of the fused pass, and
//! the paper's figures 2 to 5 and 7 (Frezzotti et al. 2009: a GTX 260 against one core of a Core 2 Quad Q9300) regenerated.

#[path = "bgk/sequential.rs"]
mod sequential;
mod support;

use std::cell::RefCell;
use std::collections::BTreeMap;
use std::time::{Duration, Instant};

use criterion::{BenchmarkGroup, BenchmarkId, Criterion, measurement::WallTime};
use rarefy::bgk::paper::{SeparateKernel, SeparateKernels, time_copy};
use rarefy::bgk::{
    Axis, Boundary, Cavity, Gas, Model, Problem, Scheme, Shock, Simulation, SimulationConfig, Wall,
};
use rarefy::gpu::{self, Device};
use rarefy::{Backend, Compute, Precision};

use sequential::Sequential;
use support::passes_filter;

/// Least seconds of one step, by the name of the measurement.
#[derive(Default)]
struct Measured(RefCell<BTreeMap<String, f64>>);

impl Measured {
    fn note(&self, what: &str, time: Duration, times: u64) {
        let seconds = time.as_secs_f64() / times as f64;
        let mut all = self.0.borrow_mut();
        let least = all.entry(what.to_owned()).or_insert(seconds);
        *least = least.min(seconds);
    }
    fn get(&self, what: &str) -> Option<f64> {
        self.0.borrow().get(what).copied()
    }
}

/// A case of the table.
struct Case {
    name: &'static str,
    problem: Problem,
    dt: f64,
}

fn shock(cells: usize, velocities: Vec<usize>) -> Option<Problem> {
    let shock = Shock {
        cells,
        // Cells of 0.1 l0 or less, so that most molecules travel less than a cell.
        sides: [0.05 * cells as f64; 2],
        velocities,
        ..Shock::new(1.5).ok()?
    };
    shock.problem().ok()
}

fn cavity(cells: usize, velocities: &[usize]) -> Option<Problem> {
    let axes = velocities
        .iter()
        .map(|&n| Axis::uniform(n, -4.5, 4.5))
        .collect::<Result<_, _>>()
        .ok()?;
    Cavity::with_axes(1.0, cells, axes).ok()?.problem().ok()
}

/// The cases of the table of the fused pass.
fn cases() -> Vec<Case> {
    let line = |name, cells, n| {
        Some(Case {
            name,
            problem: shock(cells, vec![n; 3])?,
            dt: 0.01,
        })
    };
    let plane = |name, cells: usize, velocities: &[usize]| {
        let problem = cavity(cells, velocities)?;
        Some(Case {
            name,
            problem,
            dt: 0.2 / cells as f64,
        })
    };
    let varied = |name, change: &dyn Fn(&mut Problem)| {
        let mut case = plane(name, 160, &[20, 20, 20])?;
        change(&mut case.problem);
        Some(case)
    };
    // Two functions of Shakhov's model beside the three of molecules that rotate, as nitrogen at room temperature.
    let of_model = |name, problem: Option<Problem>, dt, model| {
        let mut problem = problem?;
        problem.gas = Gas {
            model,
            ..problem.gas
        };
        if let Some(rotation) = problem.gas.rotating() {
            let velocity = problem.velocity.clone();
            problem.velocity = velocity.with_internal_energy(rotation.freedom).ok()?;
        }
        Some(Case { name, problem, dt })
    };
    let on_line = |name, model| of_model(name, shock(8192, vec![32; 2]), 0.01, model);
    let in_plane = |name, model| of_model(name, cavity(512, &[40, 40]), 0.2 / 512.0, model);
    [
        on_line("1D 8192 x 32^2 reduced Shakhov", Model::Shakhov),
        on_line("1D 8192 x 32^2 reduced polyatomic", Model::Polyatomic),
        in_plane("2D 512^2 x 40^2 reduced Shakhov", Model::Shakhov),
        in_plane("2D 512^2 x 40^2 reduced polyatomic", Model::Polyatomic),
        line("1D 8192 x 20^3", 8192, 20),
        line("1D 8192 x 32^3", 8192, 32),
        line("1D 8192 x 40^3", 8192, 40),
        plane("2D 160^2 x 20^3", 160, &[20, 20, 20]),
        plane("2D 160^2 x 20^2 reduced", 160, &[20, 20]),
        plane("2D 512^2 x 40^2 reduced", 512, &[40, 40]),
        varied("2D 160^2 x 20^3 mirrors", &|problem| {
            problem.boundaries.left = Boundary::Specular;
            problem.boundaries.bottom = Boundary::Specular;
        }),
        varied("2D 160^2 x 20^3 half mirrored", &|problem| {
            let half = Wall {
                accommodation: 0.5,
                ..Wall::diffuse(1.0)
            };
            problem.boundaries.left = Boundary::Wall(half);
            problem.boundaries.bottom = Boundary::Wall(half);
        }),
        varied("2D 160^2 x 20^3 Shakhov", &|problem| {
            problem.gas.model = Model::Shakhov;
        }),
    ]
    .into_iter()
    .flatten()
    .collect()
}

/// How populations are computed and stored: name, bytes, precision.
const KINDS: [(&str, usize, Precision); 2] =
    [("f32", 4, Precision::F32), ("f64", 8, Precision::F64)];

/// With all populations kept.
fn config(case: &Case, scheme: Scheme, precision: Precision, backend: Backend) -> SimulationConfig {
    SimulationConfig {
        scheme,
        compute: Compute::new(backend).with_precision(precision),
        symmetry_reduction: false,
        ..SimulationConfig::new(case.problem.clone(), case.dt)
    }
}

/// A scheme, and whether populations are kept once that are mirror images of each other.
#[derive(Clone, Copy)]
struct Way {
    scheme: Scheme,
    reduced: bool,
}

impl Way {
    /// All ways of a problem: velocities along which nothing flows are reduced by symmetry.
    fn all(problem: &Problem) -> impl Iterator<Item = Self> {
        let velocity = &problem.velocity;
        let reductions: &[bool] = match velocity.axes().len() > velocity.flow() {
            true => &[false, true],
            false => &[false],
        };
        [Scheme::Upwind, Scheme::VanLeer]
            .into_iter()
            .flat_map(move |scheme| {
                reductions
                    .iter()
                    .map(move |&reduced| Self { scheme, reduced })
            })
    }

    /// The name of a measurement.
    fn measurement(self, machine: &str, kind: &str) -> String {
        let (scheme, reduced) = self.names();
        format!("{machine} {scheme} {kind}{reduced}")
    }

    fn names(self) -> (&'static str, &'static str) {
        let scheme = match self.scheme {
            Scheme::Upwind => "upwind",
            _ => "vanleer",
        };
        (scheme, if self.reduced { " reduced" } else { "" })
    }
}

/// Times steps of a simulation under criterion.
fn bench_steps(
    group: &mut BenchmarkGroup<'_, WallTime>,
    measured: &Measured,
    name: &str,
    what: &str,
    simulation: &mut Simulation,
) {
    let key = format!("{name} {what}");
    group.bench_function(BenchmarkId::new(what, name), |bencher| {
        bencher.iter_custom(|times| {
            let steps = u32::try_from(times).unwrap_or(u32::MAX);
            let time = simulation.time_steps(steps).expect("steps");
            measured.note(&key, time, times);
            time
        });
    });
}

/// Cells along x of the figures.
const FIGURE_CELLS: [usize; 6] = [128, 512, 1024, 2048, 4096, 8192];
/// Nodes along each velocity axis of the figures.
const FIGURE_GRIDS: [usize; 2] = [12, 20];

fn main() {
    let mut criterion = Criterion::default()
        .sample_size(10)
        .warm_up_time(Duration::from_millis(200))
        .measurement_time(Duration::from_millis(500))
        .configure_from_args();
    let measured = Measured::default();
    let device = gpu::open()
        .map_err(|error| println!("skipped: the GPU: {error}"))
        .ok();
    let cases = cases();

    let mut group = criterion.benchmark_group("bgk");
    for case in &cases {
        for (kind, _, precision) in KINDS {
            for way in Way::all(&case.problem) {
                let what = way.measurement("cuda", kind);
                if device.is_none() || !passes_filter(&format!("bgk/{what}/{}", case.name)) {
                    continue;
                }
                let config = SimulationConfig {
                    symmetry_reduction: way.reduced,
                    ..config(case, way.scheme, precision, Backend::Cuda)
                };
                match Simulation::new(config) {
                    Ok(mut simulation) => {
                        bench_steps(&mut group, &measured, case.name, &what, &mut simulation);
                    }
                    Err(error) => println!("skipped: {} {what}: {error}", case.name),
                }
            }
        }
    }
    // Smaller cases on the CPU: they are over in seconds, and larger than any cache.
    let cpu_cases = [
        shock(2048, vec![20; 3]).map(|problem| Case {
            name: "1D 2048 x 20^3",
            problem,
            dt: 0.01,
        }),
        cavity(160, &[20, 20]).map(|problem| Case {
            name: "2D 160^2 x 20^2 reduced",
            problem,
            dt: 0.00125,
        }),
    ];
    for case in cpu_cases.iter().flatten() {
        for threads in [1, 0] {
            let Ok(pool) = rayon::ThreadPoolBuilder::new().num_threads(threads).build() else {
                continue;
            };
            let cores = if threads == 1 {
                "one core"
            } else {
                "all cores"
            };
            for (kind, _, precision) in KINDS {
                for way in Way::all(&case.problem) {
                    let what = way.measurement(cores, kind);
                    if !passes_filter(&format!("bgk/{what}/{}", case.name)) {
                        continue;
                    }
                    let key = format!("{} {what}", case.name);
                    group.bench_function(BenchmarkId::new(&what, case.name), |bencher| {
                        bencher.iter_custom(|times| {
                            // A simulation lives in the pool that it is made in.
                            let steps = u32::try_from(times).unwrap_or(u32::MAX);
                            let config = SimulationConfig {
                                symmetry_reduction: way.reduced,
                                ..config(case, way.scheme, precision, Backend::Cpu)
                            };
                            let time = pool
                                .install(|| Simulation::new(config)?.time_steps(steps))
                                .expect("steps");
                            measured.note(&key, time, times);
                            time
                        });
                    });
                }
            }
        }
    }
    group.finish();

    if let Some(device) = &device {
        report_fused(&cases, &measured, device);
    }
    report_cpu(&cpu_cases, &measured);
    if passes_filter("bgk/figures") {
        figures(device.as_ref());
    }
}

fn updates(problem: &Problem) -> usize {
    problem.velocity.nodes() * problem.space.cells()
}

fn report_fused(cases: &[Case], measured: &Measured, device: &Device) {
    println!(
        "\nThe fused pass: one step, and its share of the speed at which the same machine copies as many bytes; reduced: with populations kept once that are mirror images of each other, as by default, against a copy of all of them\n"
    );
    println!("| case | scheme | us a step | cell updates/s | TB/s | of a copy |");
    println!("|---|---|---|---|---|---|");
    for case in cases {
        for (precision, bytes, ..) in KINDS {
            let of = |way: Way| {
                let what = format!("{} {}", case.name, way.measurement("cuda", precision));
                Some((way.names(), measured.get(&what)?))
            };
            let mut rows = Way::all(&case.problem).filter_map(of).peekable();
            if rows.peek().is_none() {
                continue;
            }
            let count = updates(&case.problem);
            let copy = match bytes {
                2 => time_copy::<_, f32>(device, count.div_ceil(2), 20),
                4 => time_copy::<_, f32>(device, count, 20),
                _ => time_copy::<_, f64>(device, count, 20),
            };
            let Ok(copy) = copy else { continue };
            for ((scheme, reduced), seconds) in rows {
                println!(
                    "| {} {precision} | {scheme}{reduced} | {:.1} | {:.3e} | {:.3} | {:.1}% |",
                    case.name,
                    seconds * 1e6,
                    count as f64 / seconds,
                    2.0 * (bytes * count) as f64 / seconds / 1e12,
                    copy.as_secs_f64() / 20.0 / seconds * 100.0
                );
            }
        }
    }
}

fn report_cpu(cases: &[Option<Case>], measured: &Measured) {
    println!("\nThe same on the CPU\n");
    println!("| case | on | ms a step | cell updates/s | GB/s |");
    println!("|---|---|---|---|---|");
    for case in cases.iter().flatten() {
        for cores in ["one core", "all cores"] {
            for way in Way::all(&case.problem) {
                let (scheme, reduced) = way.names();
                for (precision, bytes, ..) in KINDS {
                    let what = format!("{} {}", case.name, way.measurement(cores, precision));
                    let Some(seconds) = measured.get(&what) else {
                        continue;
                    };
                    let count = updates(&case.problem) as f64;
                    println!(
                        "| {} {precision} {scheme}{reduced} | {cores} | {:.2} | {:.3e} | {:.2} |",
                        case.name,
                        seconds * 1e3,
                        count / seconds,
                        2.0 * bytes as f64 * count / seconds / 1e9
                    );
                }
            }
        }
    }
    println!(
        "\nall cores copy {:.1} GB/s (read and written)",
        cpu_copy() / 1e9
    );
}

/// Bytes read and written in a second when all cores copy memory much larger than the caches.
fn cpu_copy() -> f64 {
    use rayon::prelude::*;
    let words = 1 << 26;
    let from = vec![1.0_f32; words];
    let mut to = vec![0.0_f32; words];
    let mut best = f64::INFINITY;
    for _ in 0..5 {
        let start = Instant::now();
        to.par_chunks_mut(1 << 16)
            .zip(from.par_chunks(1 << 16))
            .for_each(|(to, from)| to.copy_from_slice(from));
        best = best.min(start.elapsed().as_secs_f64());
        std::hint::black_box(&to);
    }
    2.0 * 4.0 * words as f64 / best
}

/// Seconds that `work` takes, the least of three.
fn least(mut work: impl FnMut()) -> f64 {
    (0..3)
        .map(|_| {
            let start = Instant::now();
            work();
            start.elapsed().as_secs_f64()
        })
        .fold(f64::INFINITY, f64::min)
}

/// The paper's figures: speedups of streaming (2), collision (3) and the whole step (5) over one core; shares of the two in the time of the GPU (4); time for one
/// phase-space cell (7). The last columns are the fused pass.
fn figures(device: Option<&Device>) {
    println!("\nFigures 2 to 5 and 7 of the paper, in f32: ns for one phase-space cell and step\n");
    println!(
        "| velocities | cells | one core: streaming | collision | GPU: streaming | collision | speedup: streaming (fig. 2) | collision (fig. 3) | step (fig. 5) | share of streaming (fig. 4) | GPU step (fig. 7) | fused | separate over fused |"
    );
    println!("|---|---|---|---|---|---|---|---|---|---|---|---|---|");
    for n in FIGURE_GRIDS {
        for cells in FIGURE_CELLS {
            let Some(problem) = shock(cells, vec![n; 3]) else {
                continue;
            };
            let dt = 0.01;
            let count = updates(&problem) as f64;
            let Some(mut sequential) = Sequential::<f32>::new(&problem, dt) else {
                continue;
            };
            let stream = least(|| sequential.stream()) * 1e9 / count;
            let collide = least(|| sequential.collide()) * 1e9 / count;
            print!("| {n}^3 | {cells} | {stream:.3} | {collide:.3} |");
            let gpu = device.and_then(|device| {
                let mut separate =
                    SeparateKernels::<_, f32>::new(device.clone(), &problem, dt).ok()?;
                let each = |time: Duration| time.as_secs_f64() / 50.0 * 1e9 / count;
                let mut time = |kernel| separate.time(kernel, 50).ok().map(each);
                let parts = [
                    time(SeparateKernel::Streaming)?,
                    time(SeparateKernel::Collision)?,
                ];
                // One after the other each finds some of what the other left in the cache.
                let step = each(separate.time_steps(50).ok()?);
                let case = Case {
                    name: "",
                    problem: problem.clone(),
                    dt,
                };
                let mut simulation =
                    Simulation::new(config(&case, Scheme::Upwind, Precision::F32, Backend::Cuda))
                        .ok()?;
                let fused = simulation.time_steps(100).ok()?.as_secs_f64() / 100.0 * 1e9 / count;
                Some((parts, step, fused))
            });
            match gpu {
                Some(([s, c], step, fused)) => println!(
                    " {s:.5} | {c:.5} | {:.0} | {:.0} | {:.0} | {:.0}% | {step:.5} | {fused:.5} | {:.2} |",
                    stream / s,
                    collide / c,
                    (stream + collide) / step,
                    s / step * 100.0,
                    step / fused
                ),
                None => println!(),
            }
        }
    }
    println!("\nFigure 7, two dimensions: the fused pass, 20^3 velocities, f32\n");
    println!("| cells | ns for one phase-space cell and step |");
    println!("|---|---|");
    for cells in [16, 32, 64, 96, 128, 160] {
        let Some(problem) = cavity(cells, &[20, 20, 20]) else {
            continue;
        };
        let case = Case {
            name: "",
            dt: 0.2 / cells as f64,
            problem,
        };
        let time = device.and_then(|_| {
            let mut simulation =
                Simulation::new(config(&case, Scheme::Upwind, Precision::F32, Backend::Cuda))
                    .ok()?;
            Some(simulation.time_steps(50).ok()?.as_secs_f64() / 50.0)
        });
        if let Some(time) = time {
            println!(
                "| {cells}^2 | {:.5} |",
                time * 1e9 / updates(&case.problem) as f64
            );
        }
    }
}
