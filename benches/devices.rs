//! Several GPUs of a host against one, in one run: flows by the models and by the collision integral, and exact sums.
//!
//! `cargo bench --bench devices` takes two GPUs, and four and eight where there are as many. Ranks are threads whose devices copy from each other, and processes whose
//! messages NCCL carries: the bench starts itself for these. A row has the time of a step on one GPU, and the efficiency of P of them, `T_1/(P T_P)`; where the problem
//! grows with P it is `T_1/T_P`. The column `alone` has the efficiency without messages: one GPU computes a P-th of the cells between walls. Arguments choose rows by parts of
//! their names.

mod support;

use std::env;
use std::process::{Command, Stdio};
use std::sync::{Arc, Barrier};
use std::time::Instant;

use rarefy::bgk::boltzmann::{Flow, FlowConfig};
use rarefy::bgk::{
    Axis, Boundaries, Boundary, Problem, Scheme, Simulation, SimulationConfig, Space, State,
    VelocitySpace, Wall,
};
use rarefy::collision::VelocityGrid;
use rarefy::distributed::{Place, Processes};
use rarefy::gpu;
use rarefy::machine::Machine;
use rarefy::signed_digit::float::MachineAccumulator;
use rarefy::{Backend, Compute, Devices, Precision, Result};

use support::passes_filter;

/// The variable that names the row of a process.
const ROW: &str = "RAREFY_BENCH_ROW";
/// Measurements, of which the least counts.
const TIMES: usize = 3;

/// A flow of the table.
struct Row {
    name: &'static str,
    flow: Kind,
    /// Cells along x and y; 1 along y on a line.
    cells: [usize; 2],
    velocities: &'static [usize],
    reduced: bool,
}

#[derive(Clone, Copy, PartialEq)]
enum Kind {
    Model,
    Integral,
}

const fn row(
    name: &'static str,
    flow: Kind,
    cells: [usize; 2],
    velocities: &'static [usize],
    reduced: bool,
) -> Row {
    Row {
        name,
        flow,
        cells,
        velocities,
        reduced,
    }
}

const ROWS: [Row; 10] = [
    row(
        "plane 512^2 x 40^2 reduced",
        Kind::Model,
        [512, 512],
        &[40, 40],
        true,
    ),
    row(
        "plane 160^2 x 20^3 all kept",
        Kind::Model,
        [160, 160],
        &[20, 20, 20],
        false,
    ),
    row(
        "plane 160^2 x 20^3 folded",
        Kind::Model,
        [160, 160],
        &[20, 20, 20],
        true,
    ),
    row(
        "plane 600^2 x 24^3 folded",
        Kind::Model,
        [600, 600],
        &[24, 24, 24],
        true,
    ),
    row(
        "line 8192 x 32^3 all kept",
        Kind::Model,
        [8192, 1],
        &[32, 32, 32],
        false,
    ),
    row(
        "line 8192 x 32^3 folded",
        Kind::Model,
        [8192, 1],
        &[32, 32, 32],
        true,
    ),
    row(
        "line 8192 x 20^3 all kept",
        Kind::Model,
        [8192, 1],
        &[20, 20, 20],
        false,
    ),
    row(
        "line 8192 x 20^3 folded",
        Kind::Model,
        [8192, 1],
        &[20, 20, 20],
        true,
    ),
    row(
        "integral, line 120 x 16^3",
        Kind::Integral,
        [120, 1],
        &[16],
        false,
    ),
    row(
        "integral, plane 64^2 x 16^3",
        Kind::Integral,
        [64, 64],
        &[16],
        false,
    ),
];

impl Row {
    /// The same with so many times the cells along the cut.
    fn grown(&self, by: usize) -> Self {
        let [nx, ny] = self.cells;
        let cells = if ny == 1 { [nx * by, 1] } else { [nx, ny * by] };
        Self { cells, ..*self }
    }

    /// A part of the cells along the cut, the size that a rank has.
    fn part(&self, ranks: usize) -> Self {
        let [nx, ny] = self.cells;
        let cells = if ny == 1 {
            [nx / ranks, 1]
        } else {
            [nx, ny / ranks]
        };
        Self { cells, ..*self }
    }

    /// Gas between walls, one of which moves and is hotter. Cells and steps are such that most molecules travel less than a cell.
    fn space(&self) -> Result<(Space, Boundaries, f64)> {
        let [nx, ny] = self.cells;
        let speed = if ny == 1 { 0.0 } else { 0.1 };
        let (still, moving) = (
            Boundary::Wall(Wall::diffuse(1.0)),
            Boundary::Wall(Wall::diffuse(1.1).moving([speed, 0.0])),
        );
        let length = |n: usize| [0.0, 0.1 * n as f64];
        let dt = 0.02;
        Ok(match ny {
            1 => (
                Space::line(nx, length(nx))?,
                Boundaries::line(still, moving),
                dt,
            ),
            _ => (
                Space::rectangle([nx, ny], length(nx), length(ny))?,
                Boundaries {
                    left: still,
                    right: still,
                    bottom: still,
                    top: moving,
                },
                0.5 * dt,
            ),
        })
    }

    fn config(&self, compute: Compute) -> Result<SimulationConfig> {
        let (space, boundaries, dt) = self.space()?;
        let axes = self.velocities.iter().map(|&n| Axis::uniform(n, -4.5, 4.5));
        let velocity = VelocitySpace::new(axes.collect::<Result<_>>()?, space.dimensions())?;
        let gas = rarefy::bgk::Gas::default();
        let problem = Problem::uniform(space, velocity, gas, boundaries, State::REST)?;
        Ok(SimulationConfig {
            scheme: Scheme::VanLeer,
            symmetry_reduction: self.reduced,
            compute,
            ..SimulationConfig::new(problem, dt)
        })
    }

    /// Seconds of a step.
    fn seconds(&self, compute: Compute) -> Result<f64> {
        match self.flow {
            Kind::Model => of_steps(Simulation::new(self.config(compute)?)?),
            Kind::Integral => of_integrals(Flow::new(self.flow_config(compute)?)?),
        }
    }

    /// Seconds of a step of ranks in processes.
    fn seconds_over(&self, ranks: Arc<Processes>) -> Result<f64> {
        match self.flow {
            Kind::Model => of_steps(Simulation::over(self.config(on(None))?, ranks)?),
            Kind::Integral => of_integrals(Flow::over(self.flow_config(on(None))?, ranks)?),
        }
    }

    fn flow_config(&self, compute: Compute) -> Result<FlowConfig> {
        let (space, boundaries, dt) = self.space()?;
        let grid = VelocityGrid::new(self.velocities[0], -4.5, 4.5)?;
        let mut config = FlowConfig::new(space, grid, boundaries, dt, |_, _| State::REST)?;
        config.operator.compute = compute;
        Ok(config)
    }
}

/// Seconds of a step by the collision integral.
fn of_integrals(mut flow: Flow) -> Result<f64> {
    flow.advance(4)?;
    let mut steps = |steps: u64| -> Result<f64> {
        // The distributions that are read wait for the steps.
        flow.state()?;
        let start = Instant::now();
        flow.advance(steps)?;
        flow.state()?;
        Ok(start.elapsed().as_secs_f64())
    };
    let mut least = f64::INFINITY;
    for _ in 0..TIMES {
        let [few, many] = [steps(20)?, steps(120)?];
        least = least.min((many - few) / 100.0);
    }
    Ok(least)
}

/// Seconds of a step of a simulation.
fn of_steps(mut simulation: Simulation) -> Result<f64> {
    let some = simulation.time_steps(64)?.as_secs_f64() / 64.0;
    // A whole number of the cycles of lines, and the same on all ranks.
    let steps = if some < 1e-3 { 2048 } else { 256 };
    let mut least = f64::INFINITY;
    for _ in 0..TIMES {
        let time = simulation.time_steps(steps)?.as_secs_f64();
        least = least.min(time / f64::from(steps));
    }
    Ok(least)
}

/// A rank of a row over processes: rank 0 prints the seconds of a step.
fn rank(name: &str) -> Result<()> {
    let (name, by) = name.rsplit_once('*').expect("a row and its growth");
    let by = by.parse().expect("a number");
    let row = ROWS.iter().find(|row| row.name == name).expect("a row");
    let place = Place::from_environment()?.expect("a rank");
    let first = place.rank == 0;
    let ranks = Arc::new(Processes::start(&place)?);
    let seconds = row.grown(by).seconds_over(ranks)?;
    if first {
        println!("{seconds:e}");
    }
    Ok(())
}

/// The seconds of a step on processes of this bench; `None` where they fail, which they say themselves.
fn over_processes(row: &Row, by: usize, ranks: usize) -> Option<f64> {
    let meeting = std::net::TcpListener::bind("127.0.0.1:0").ok()?;
    let address = meeting.local_addr().ok()?.to_string();
    drop(meeting);
    let start = |rank: usize| {
        let mut command = Command::new(env::current_exe().ok()?);
        command.env(ROW, format!("{}*{by}", row.name));
        for (name, value) in [
            ("RAREFY_RANK", rank),
            ("RAREFY_RANKS", ranks),
            ("RAREFY_LOCAL_RANK", rank),
            ("RAREFY_LOCAL_RANKS", ranks),
        ] {
            command.env(name, value.to_string());
        }
        command.env("RAREFY_MEETING", &address);
        command.env("NCCL_NVLS_ENABLE", "0");
        command.stdout(Stdio::piped()).spawn().ok()
    };
    let all: Vec<_> = (0..ranks).map(start).collect::<Option<_>>()?;
    let mut outputs = all.into_iter().map(|child| child.wait_with_output());
    let first = outputs.next()?.ok()?;
    for other in outputs {
        other.ok()?;
    }
    // NCCL writes lines of its own.
    let text = String::from_utf8_lossy(&first.stdout);
    text.lines().rev().find_map(|line| line.trim().parse().ok())
}

fn on(devices: Option<usize>) -> Compute {
    Compute {
        devices: devices.map(Devices::Number),
        ..Compute::new(Backend::Cuda).with_precision(Precision::F32)
    }
}

/// Seconds of an exact sum of so many doubles, which the devices hold in equal parts.
fn sum(numbers: usize, devices: usize) -> Result<f64> {
    let barrier = Barrier::new(devices);
    let part = numbers / devices;
    let one = |ordinal: usize| -> Result<f64> {
        let device = gpu::open_ordinal(ordinal as u32)?;
        let mut x = device.allocate::<f64>(part)?;
        let numbers: Vec<f64> = (0..part)
            .map(|k| {
                f64::from_bits(
                    (0x3ff0 << 48) | (k as u64).wrapping_mul(0x9e37_79b9_7f4a_7c15) >> 12,
                ) - 1.5
            })
            .collect();
        device.write(&mut x, &numbers)?;
        drop(numbers);
        let mut least = f64::INFINITY;
        for _ in 0..=TIMES {
            barrier.wait();
            let start = Instant::now();
            let mut sum = MachineAccumulator::new(&device)?;
            sum.add(&x)?;
            std::hint::black_box(sum.finish()?.round::<f64>());
            least = least.min(start.elapsed().as_secs_f64());
        }
        Ok(least)
    };
    std::thread::scope(|scope| {
        let all: Vec<_> = (0..devices)
            .map(|ordinal| scope.spawn(move || one(ordinal)))
            .collect();
        let mut slowest = 0.0f64;
        for thread in all {
            slowest = slowest.max(thread.join().expect("a thread")?);
        }
        Ok(slowest)
    })
}

fn main() -> Result<()> {
    if let Ok(name) = env::var(ROW) {
        return rank(&name);
    }
    let found = match gpu::choices() {
        Ok(found) => found.len(),
        Err(error) => {
            println!("skipped: GPUs: {error}");
            return Ok(());
        }
    };
    if found < 2 {
        println!("skipped: {found} GPU; two are needed");
        return Ok(());
    }
    println!(
        "{:<34} {:>10} {:>4} {:>9} {:>9} {:>9}",
        "row", "T_1 in us", "P", "threads", "NCCL", "alone"
    );
    let text = |value: Option<f64>| value.map_or("-".to_owned(), |value| format!("{value:.3}"));
    for row in ROWS.iter().filter(|row| passes_filter(row.name)) {
        let one = row.seconds(on(None))?;
        for ranks in [2, 4, 8].into_iter().filter(|ranks| *ranks <= found) {
            for by in [1, ranks] {
                let grown = row.grown(by);
                // The share of the work of each.
                let share = (by as f64 / ranks as f64) * one;
                let threads = grown.seconds(on(Some(ranks)));
                if let Err(why) = &threads {
                    println!("{}: {why}", row.name);
                }
                let nccl = over_processes(row, by, ranks);
                // A problem that grows has parts of the size of the whole.
                let alone = if by > 1 {
                    None
                } else {
                    Some(row.part(ranks).seconds(on(None))?)
                };
                let name = if by > 1 {
                    format!("{}, grown", row.name)
                } else {
                    row.name.to_owned()
                };
                let [threads, nccl, alone] =
                    [threads.ok(), nccl, alone].map(|time| text(time.map(|t| share / t)));
                println!(
                    "{name:<34} {:>10.1} {ranks:>4} {threads:>9} {nccl:>9} {alone:>9}",
                    one * 1e6
                );
            }
        }
    }
    let numbers = 5_000_000_000;
    if passes_filter("exact sum") {
        let one = sum(numbers, 1)?;
        for devices in [2, 4, 8].into_iter().filter(|devices| *devices <= found) {
            let several = sum(numbers, devices)?;
            let efficiency = text(Some(one / (devices as f64 * several)));
            println!(
                "{:<34} {:>10.1} {devices:>4} {efficiency:>9} {:>9} {:>9}",
                format!("exact sum of {numbers:e}"),
                one * 1e6,
                "-",
                "-"
            );
        }
    }
    Ok(())
}
