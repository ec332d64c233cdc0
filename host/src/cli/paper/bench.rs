//! `rarefy paper bench`: the papers' comparison of one core and a GPU, on the machine at hand.

use std::hint::black_box;
use std::time::{Duration, Instant};

use rayon::{ThreadPool, ThreadPoolBuilder};
use serde::Serialize;

use crate::bgk::{Scheme, Shock, Simulation, SimulationConfig};
use crate::cli::failure::Failure;
use crate::cli::options::Common;
use crate::cli::progress::Progress;
use crate::cli::report::Report;
use crate::cli::text::name_of;
use crate::collision::{
    CollisionOperator, Method, OperatorConfig, Part, VelocityGrid, initial::TwoMaxwellians,
};
use crate::compute::{Backend, Compute, Precision, Resolved};
use crate::error::{Error, Result};
use crate::gpu::Device;
use crate::isotropic::{self, CollisionKernel, EnergyGrid, Relaxation, RelaxationConfig, Storage};
use crate::longman::paper::{FixedBatch, Form, Functions, PaperRule, integrate_on_cpu};
use crate::machine::Machine;
use crate::signed_digit::float::{ExactAccumulator, Float, MachineAccumulator};
use crate::signed_digit::integer::{Integers, Resident};

const EXAMPLES: &str = "\
Examples:
  rarefy paper bench --quick            all five methods in less than a minute
  rarefy paper bench                    at the papers' sizes
  rarefy paper bench --out times        and times/bench.csv

More rows, and other libraries beside: cargo bench, in a checkout.";

/// Measure what one core, all cores and the GPU of this machine need for the same work
///
/// A table with a row or two for each of the five methods, and what the papers reported for their GPUs. Times are without copies
/// between host and device, the least of several. The CPU runs the same algorithm, in vector registers.
#[derive(Clone, Debug, Serialize, clap::Args)]
#[command(after_help = EXAMPLES)]
pub(super) struct BenchArgs {
    /// Smaller problems, which are over in less than a minute
    #[arg(long)]
    quick: bool,
    #[command(flatten)]
    #[serde(flatten)]
    common: Common,
}

/// A row of the table: seconds for some work, where it was measured.
#[derive(Clone, Debug, Serialize)]
struct Row {
    work: String,
    one_core_s: Option<f64>,
    all_cores_s: Option<f64>,
    gpu_s: Option<f64>,
    gpu_over_one_core: Option<f64>,
    /// The speedup of the paper's GPU.
    paper: &'static str,
}

/// Where a piece of work is measured.
enum Place<'a> {
    OneCore(&'a ThreadPool),
    AllCores,
    Gpu(&'a Device),
}

impl Place<'_> {
    fn backend(&self) -> Backend {
        match self {
            Self::OneCore(_) | Self::AllCores => Backend::Cpu,
            Self::Gpu(_) => Backend::Cuda,
        }
    }

    /// Runs `work` where it belongs: what it makes stays on these cores.
    fn run<T: Send>(&self, work: impl FnOnce() -> T + Send) -> T {
        match self {
            Self::OneCore(pool) => pool.install(work),
            _ => work(),
        }
    }
}

/// The measured work and its duration.
struct Plan {
    quick: bool,
    precision: Precision,
    time: Duration,
}

impl Plan {
    fn size(&self, quick: usize, full: usize) -> usize {
        if self.quick { quick } else { full }
    }

    /// Least seconds of one time, from runs of so many times.
    fn least(&self, mut run: impl FnMut(u32) -> Result<Duration>) -> Result<f64> {
        let first = run(1)?;
        let mut least = first.as_secs_f64();
        // As many at once as a fifth of the time allows, so that clocks and launches do not count.
        let share = self.time.as_secs_f64() / 5.0;
        let times = (share / least.max(1e-7)).clamp(1.0, 100_000.0) as u32;
        let start = Instant::now();
        while start.elapsed() < self.time {
            least = least.min(run(times)?.as_secs_f64() / f64::from(times));
        }
        Ok(least)
    }
}

/// Runs the command.
pub(super) fn run(args: &BenchArgs) -> std::result::Result<(), Failure> {
    let common = &args.common;
    let begun = Instant::now();
    let device = match common.backend {
        Backend::Auto | Backend::Cuda => match common.compute().resolve()? {
            Resolved::Cuda(device) => Some(device),
            _ => None,
        },
        Backend::Cpu => None,
        other => {
            return Err(Failure::Usage(format!(
                "paper bench measures the CPU and the GPU; --backend {} is neither",
                name_of(&other)
            )));
        }
    };
    let mut report = Report::new("paper bench", args, common, begun);
    report.open()?;
    let plan = Plan {
        quick: args.quick,
        precision: common.precision,
        time: Duration::from_millis(if args.quick { 300 } else { 1500 }),
    };
    let one = ThreadPoolBuilder::new()
        .num_threads(1)
        .build()
        .map_err(|error| Error::Numerical(format!("no thread for one core: {error}")))?;
    let mut progress = Progress::new("bench", common.quiet);
    let works: [Work; 7] = [
        collision_direct,
        collision_fast,
        isotropic_step,
        flow_step,
        integrals,
        exact_sum,
        integer_sum,
    ];
    let mut rows = Vec::new();
    for (i, work) in works.iter().enumerate() {
        progress.update(i as f64 / works.len() as f64, || format!("row {}", i + 1));
        let (name, paper) = work(&plan, None)?.name;
        let at = |place: Place<'_>| Ok::<_, Error>(work(&plan, Some(place))?.seconds);
        let one_core_s = at(Place::OneCore(&one))?;
        let gpu_s = match &device {
            Some(device) => at(Place::Gpu(device))?,
            None => None,
        };
        rows.push(Row {
            work: name,
            one_core_s,
            all_cores_s: at(Place::AllCores)?,
            gpu_s,
            gpu_over_one_core: one_core_s.zip(gpu_s).map(|(core, gpu)| core / gpu),
            paper,
        });
    }
    progress.finish();
    let machines = [
        Some(Resolved::Cpu.describe()),
        device.map(|device| Resolved::Cuda(device).describe()),
    ];
    let machines: Vec<String> = machines.into_iter().flatten().collect();
    report.set("machine", machines.join("; "));
    report.set("machines", &machines);
    report.set("rows", &rows);
    report.write(|out| out.records("bench.csv", &rows))?;
    report.finish(|total| summary(&rows, &machines, common.precision, total))
}

fn summary(rows: &[Row], machines: &[String], precision: Precision, total: Duration) -> String {
    let mut lines = vec![
        format!(
            "{}, {}, {:.0} s",
            machines.join("; "),
            name_of(&precision),
            total.as_secs_f64()
        ),
        format!(
            "\n{:<58}{:>12}{:>12}{:>12}{:>10}   {}",
            "", "one core", "all cores", "GPU", "ratio", "the paper's ratio"
        ),
    ];
    let time = |seconds: Option<f64>| seconds.map_or("-".into(), in_units);
    for row in rows {
        lines.push(format!(
            "{:<58}{:>12}{:>12}{:>12}{:>10}   {}",
            row.work,
            time(row.one_core_s),
            time(row.all_cores_s),
            time(row.gpu_s),
            row.gpu_over_one_core
                .map_or("-".into(), |ratio| format!("{ratio:.0}")),
            row.paper
        ));
    }
    lines.push("\nratio: one core over the GPU".into());
    if machines.len() == 1 {
        lines.push("no GPU was measured; rarefy doctor says what is missing".into());
    }
    lines.join("\n")
}

/// A time in the unit that suits it.
fn in_units(seconds: f64) -> String {
    let (factor, unit) = match seconds {
        s if s >= 1.0 => (1.0, "s"),
        s if s >= 1e-3 => (1e3, "ms"),
        _ => (1e6, "us"),
    };
    format!("{:.3} {unit}", seconds * factor)
}

/// A row's name and what the paper found, or a time at a place.
struct Told {
    name: (String, &'static str),
    seconds: Option<f64>,
}

/// Measures a row at a place, or only says what it is.
type Work = fn(&Plan, Option<Place<'_>>) -> Result<Told>;

fn printed_row(
    name: String,
    paper: &'static str,
    place: Option<Place<'_>>,
    measure: impl FnOnce(&Place<'_>) -> Result<f64>,
) -> Result<Told> {
    Ok(Told {
        name: (name, paper),
        seconds: place.as_ref().map(measure).transpose()?,
    })
}

fn collision(plan: &Plan, place: &Place<'_>, n: usize, method: Method) -> Result<f64> {
    place.run(|| {
        let grid = VelocityGrid::new(n, -6.5, 6.5)?;
        let mut operator = CollisionOperator::new(OperatorConfig {
            compute: Compute::new(place.backend()).with_precision(plan.precision),
            method,
            ..OperatorConfig::paper(grid)
        })?;
        operator.evaluate(&TwoMaxwellians::default().sample(&grid))?;
        plan.least(|times| operator.time_evaluations(Part::All, times))
    })
}

fn collision_direct(plan: &Plan, place: Option<Place<'_>>) -> Result<Told> {
    let n = plan.size(12, 20);
    let name = format!("collision integral, {n}^3 velocities, the paper's sum");
    printed_row(name, "40 at 20^3 (GTX 295)", place, |place| {
        collision(plan, place, n, Method::Direct)
    })
}

fn collision_fast(plan: &Plan, place: Option<Place<'_>>) -> Result<Told> {
    let n = plan.size(16, 32);
    let name = format!("collision integral, {n}^3 velocities, restructured");
    printed_row(name, "", place, |place| {
        collision(plan, place, n, Method::Fast)
    })
}

fn isotropic_step(plan: &Plan, place: Option<Place<'_>>) -> Result<Told> {
    let cells = plan.size(256, 1024);
    let name = format!("isotropic equation, a step at M = {cells}");
    printed_row(name, "", place, |place| {
        place.run(|| {
            let grid = EnergyGrid::new(cells, 20.0)?;
            let operator = isotropic::OperatorConfig {
                compute: Compute::new(place.backend()).with_precision(plan.precision),
                storage: Storage::Pairs,
                ..isotropic::OperatorConfig::new(grid, CollisionKernel::Power { theta: 0.0 })
            };
            let config = RelaxationConfig {
                operator,
                integrator: isotropic::Integrator::Euler,
                dt: Some(0.02),
                every: 1,
            };
            let mut run = Relaxation::new(config, &[isotropic::initial::bkw(&grid, 0.6)])?;
            plan.least(|times| run.time_steps(u64::from(times)))
        })
    })
}

fn flow_step(plan: &Plan, place: Option<Place<'_>>) -> Result<Told> {
    let (cells, nodes) = (plan.size(256, 2048), plan.size(16, 20));
    let name = format!("BGK equation, a step of {cells} x {nodes}^3 cells");
    printed_row(name, "", place, |place| {
        place.run(|| {
            let shock = Shock {
                cells,
                sides: [0.05 * cells as f64; 2],
                velocities: vec![nodes; 3],
                ..Shock::new(1.5)?
            };
            let mut simulation = Simulation::new(SimulationConfig {
                scheme: Scheme::Upwind,
                compute: Compute::new(place.backend()).with_precision(plan.precision),
                ..SimulationConfig::new(shock.problem()?, 0.01)
            })?;
            plan.least(|times| simulation.time_steps(times))
        })
    })
}

fn integrals(plan: &Plan, place: Option<Place<'_>>) -> Result<Told> {
    let count = plan.size(5000, 50_000);
    let name = format!("{count} oscillating integrals, 16 areas of 8 nodes");
    printed_row(name, "55 in f64, 888 in f32 (GTX 280)", place, |place| {
        // Decay from 0.01 to 2 and frequencies from 1 to 100.
        let spread =
            |i: usize, low: f64, high: f64| low * (high / low).powf(i as f64 / count as f64);
        let lambda: Vec<f64> = (0..count).map(|i| spread(i, 0.01, 2.0)).collect();
        let omega: Vec<f64> = (0..count).rev().map(|i| spread(i, 1.0, 100.0)).collect();
        let rule = PaperRule {
            areas: 16,
            ..PaperRule::default()
        };
        match (place, plan.precision) {
            (Place::Gpu(device), Precision::F64) => {
                let mut batch = FixedBatch::from_columns(*device, &rule, &lambda, &omega)?;
                plan.least(|times| {
                    device.time(|| {
                        (0..times)
                            .try_for_each(|_| batch.launch(device, Form::Warp, Functions::Software))
                    })
                })
            }
            (Place::Gpu(device), Precision::F32) => {
                let single = |values: &[f64]| values.iter().map(|&x| x as f32).collect::<Vec<_>>();
                let (lambda, omega) = (single(&lambda), single(&omega));
                let mut batch = FixedBatch::from_columns(*device, &rule, &lambda, &omega)?;
                plan.least(|times| {
                    device.time(|| {
                        (0..times)
                            .try_for_each(|_| batch.launch(device, Form::Warp, Functions::Hardware))
                    })
                })
            }
            _ => {
                let parallel = matches!(place, Place::AllCores);
                place.run(|| {
                    plan.least(|times| {
                        let start = Instant::now();
                        for _ in 0..times {
                            black_box(integrate_on_cpu(&rule, &lambda, &omega, parallel)?);
                        }
                        Ok(start.elapsed())
                    })
                })
            }
        }
    })
}

fn exact_sum(plan: &Plan, place: Option<Place<'_>>) -> Result<Told> {
    let count = plan.size(10_000_000, 100_000_000);
    let name = format!("exact sum of {count} numbers");
    // From 2^-30 to 2^30, with both signs.
    let number = |i: usize| {
        let mixed = (i as u64).wrapping_mul(0x9E37_79B9_7F4A_7C15);
        let sign = if mixed >> 63 == 0 { 1.0 } else { -1.0 };
        sign * (1.0 + i as f64 / count as f64) * 2f64.powi((mixed >> 40) as i32 % 61 - 30)
    };
    printed_row(name, "", place, |place| match plan.precision {
        Precision::F32 => sum_of(plan, place, (0..count).map(|i| number(i) as f32).collect()),
        Precision::F64 => sum_of(plan, place, (0..count).map(number).collect()),
    })
}

fn sum_of<T: Float>(plan: &Plan, place: &Place<'_>, x: Vec<T>) -> Result<f64> {
    if let Place::Gpu(device) = place {
        let x = device.upload(&x)?;
        let mut sum = MachineAccumulator::new(*device)?;
        sum.add(&x)?;
        return plan.least(|times| device.time(|| (0..times).try_for_each(|_| sum.add(&x))));
    }
    place.run(|| {
        plan.least(|times| {
            let start = Instant::now();
            for _ in 0..times {
                black_box(ExactAccumulator::sum(black_box(&x)));
            }
            Ok(start.elapsed())
        })
    })
}

fn integer_sum(plan: &Plan, place: Option<Place<'_>>) -> Result<Told> {
    let (count, digits) = (plan.size(100_000, 1_000_000), 900);
    let name = format!("sum of {count} integers of {digits} digits, packed");
    printed_row(name, "3 to 4, digit by digit", place, |place| {
        let numbers = Integers::from_fn(count, digits / 9, |i, limbs| {
            for (k, limb) in limbs.iter_mut().enumerate() {
                let mixed = (i * limbs_of(digits) + k) as u64;
                *limb = (mixed.wrapping_mul(0x9E37_79B9_7F4A_7C15) >> 35) as u32;
            }
            false
        });
        if let Place::Gpu(device) = place {
            let mut resident = Resident::new(*device, &numbers)?;
            return plan.least(|times| {
                device.time(|| (0..times).try_for_each(|_| resident.launch(device)))
            });
        }
        place.run(|| {
            plan.least(|times| {
                let start = Instant::now();
                for _ in 0..times {
                    black_box(numbers.sum(&Resolved::Cpu)?);
                }
                Ok(start.elapsed())
            })
        })
    })
}

/// Limbs of nine digits.
fn limbs_of(digits: usize) -> usize {
    digits.div_ceil(9)
}
