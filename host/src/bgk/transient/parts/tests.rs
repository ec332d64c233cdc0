//! Parts against the whole: the same bits, with ghosts poisoned wherever nothing is sent.

use rarefy_kernels::Real;

use super::super::cpu::CpuEngine;
use super::super::gpu::MachineEngine;
use super::super::{Simulation, SimulationConfig};
use super::*;
use crate::bgk::{self, Axis, Gas, Model, Space, State, VelocitySpace, Wall};
use crate::compute::{Backend, Compute, Precision};
use crate::distributed::Threads;
use crate::emulator::Emulator;
use crate::machine::Machine;

/// Populations and fields after some steps.
type Outcome = (Vec<f64>, [Vec<f64>; 4]);

/// The engine of a whole, or of a part with poisoned ghosts.
type Make = fn(&Problem, StepPlan, Option<Cut>) -> Result<Box<dyn Engine>>;

fn on_cpu<T: Real>(problem: &Problem, plan: StepPlan, cut: Option<Cut>) -> Result<Box<dyn Engine>> {
    let name = String::new();
    Ok(match cut {
        None => Box::new(CpuEngine::<T>::new(name, problem.clone(), plan)?),
        Some(cut) => {
            let kept = Kept::on_cpu(problem);
            let engine = CpuEngine::<T>::of_part(name, problem, plan, cut.clone())?;
            Box::new(Parted::new(Box::new(engine.poisoned()), cut, kept, problem))
        }
    })
}

fn with_kernels<M: Machine + 'static, T: Real + Default>(
    machine: M,
    problem: &Problem,
    plan: StepPlan,
    cut: Option<Cut>,
) -> Result<Box<dyn Engine>> {
    let name = String::new();
    Ok(match cut {
        None => {
            let engine = MachineEngine::<M, T>::new(machine, name, problem.clone(), plan)?;
            Box::new(engine)
        }
        Some(cut) => {
            let kept = Kept::on_machine(problem);
            let engine = MachineEngine::<M, T>::of_part(machine, name, problem, plan, cut.clone())?;
            Box::new(Parted::new(Box::new(engine.poisoned()), cut, kept, problem))
        }
    })
}

fn emulated<T: Real + Default>(
    problem: &Problem,
    plan: StepPlan,
    cut: Option<Cut>,
) -> Result<Box<dyn Engine>> {
    with_kernels::<_, T>(Emulator::default(), problem, plan, cut)
}

/// All ranks on one GPU, each with a stream of its own.
fn on_gpu<T: Real + Default>(
    problem: &Problem,
    plan: StepPlan,
    cut: Option<Cut>,
) -> Result<Box<dyn Engine>> {
    with_kernels::<_, T>(crate::gpu::open()?, problem, plan, cut)
}

fn outcome(engine: Result<Box<dyn Engine>>) -> Result<Outcome> {
    let mut engine = engine?;
    engine.advance(3)?;
    // Leaves tables of ghosts behind that belong to no step.
    engine.moments()?;
    engine.advance(2)?;
    Ok((engine.save()?.populations, engine.fields()?))
}

fn on_all<R: Send>(ranks: usize, work: impl Fn(Arc<dyn Transport>) -> R + Sync) -> Vec<R> {
    Threads::on_all(ranks, |rank| work(Arc::new(rank)))
}

/// Results of each rank, with a cut that may be changed.
fn parted(
    make: Make,
    problem: &Problem,
    plan: StepPlan,
    [ranks, cycle]: [usize; 2],
    change: impl Fn(&mut Cut) + Sync,
) -> Vec<Result<Outcome>> {
    on_all(ranks, |transport| {
        let mut cut = Cut::new(problem, &plan, transport, Some(cycle))?;
        change(&mut cut);
        outcome(make(problem, plan, Some(cut)))
    })
}

fn stirred(
    space: Space,
    counts: &[usize],
    flow: usize,
    faces: Boundaries,
    model: Model,
) -> Problem {
    let axes = counts
        .iter()
        .map(|&n| Axis::uniform(n, -4.0, 4.0).expect("an axis"));
    let along_y = if flow == 2 { 0.1 } else { 0.0 };
    let state = |x: f64, y: f64| State {
        density: 1.0 + 0.1 * (40.0 * x + 3.0 * y).sin(),
        velocity: [0.2 * (30.0 * (x + y)).cos(), along_y * (50.0 * x).sin()],
        temperature: 1.0 + 0.1 * (20.0 * x - 60.0 * y).cos(),
    };
    let gas = Gas {
        frequency: 3.0,
        model,
        ..Gas::default()
    };
    let velocity = VelocitySpace::new(axes.collect(), flow).expect("velocities");
    Problem::new(space, velocity, gas, faces, state).expect("a problem")
}

fn line(cells: usize, ends: [Boundary; 2], model: Model) -> Problem {
    let space = Space::line(cells, [0.0, 1.0]).expect("cells");
    stirred(
        space,
        &[7, 7, 8],
        1,
        Boundaries::line(ends[0], ends[1]),
        model,
    )
}

fn plane(faces: Boundaries, model: Model, along_z: usize) -> Problem {
    plane_of([12, 21], faces, model, along_z)
}

fn plane_of([nx, ny]: [usize; 2], faces: Boundaries, model: Model, along_z: usize) -> Problem {
    let space = Space::rectangle([nx, ny], [0.0, 1.0], [0.0, ny as f64 / nx as f64]);
    stirred(space.expect("cells"), &[7, 7, along_z], 2, faces, model)
}

/// A step in which the fastest molecules fly over so many whole cells of a width, and a part of one.
fn plan(whole: usize, width: f64, sloped: bool) -> StepPlan {
    StepPlan {
        dt: (whole as f64 + 0.7) * width / 4.0,
        scheme: if sloped {
            Scheme::VanLeer
        } else {
            Scheme::Upwind
        },
        relaxed: false,
    }
}

fn wall(accommodation: f64, speed: [f64; 2]) -> Boundary {
    Boundary::Wall(Wall {
        accommodation,
        ..Wall::diffuse(1.2).moving(speed)
    })
}

const INFLOW: Boundary = Boundary::Inflow(State {
    density: 1.0,
    velocity: [-0.3, 0.0],
    temperature: 1.2,
});

fn same(make: Make, problem: &Problem, plan: StepPlan, [ranks, cycle]: [usize; 2], what: &str) {
    let expected = outcome(make(problem, plan, None)).expect("steps of the whole");
    for found in parted(make, problem, plan, [ranks, cycle], |_| ()) {
        let found = found.unwrap_or_else(|error| panic!("{what}: {error}"));
        let others: Vec<_> = (found.0.iter().zip(&expected.0).enumerate())
            .filter(|(_, (found, expected))| found != expected)
            .map(|(index, values)| {
                (
                    index / problem.space.cells(),
                    index % problem.space.cells(),
                    values,
                )
            })
            .collect();
        assert!(
            others.is_empty() && found == expected,
            "{what}: {} populations have other bits, such as (node, cell, values) {:?}",
            others.len(),
            &others[..others.len().min(40)]
        );
    }
}

fn lines_are_the_whole(make: Make) {
    let periodic = [Boundary::Periodic; 2];
    let half = wall(0.4, [0.0, 0.0]);
    let (bgk, shakhov) = (Model::Bgk, Model::Shakhov);
    for (ends, model, whole, sloped, split) in [
        ([INFLOW, wall(1.0, [0.0; 2])], bgk, 0, true, [2, 1]),
        ([INFLOW, wall(1.0, [0.0; 2])], bgk, 0, false, [3, 1]),
        ([half, Boundary::Specular], bgk, 0, true, [3, 1]),
        ([half, INFLOW], shakhov, 1, true, [2, 1]),
        ([wall(1.0, [0.0; 2]), half], bgk, 1, false, [3, 1]),
        ([Boundary::Specular, INFLOW], shakhov, 2, false, [2, 1]),
        ([half, wall(1.0, [0.0; 2])], shakhov, 2, true, [3, 1]),
        (periodic, bgk, 0, true, [2, 1]),
        (periodic, shakhov, 2, true, [2, 1]),
        (periodic, bgk, 1, false, [3, 1]),
        ([half, Boundary::Specular], bgk, 0, true, [2, 4]),
        ([INFLOW, half], shakhov, 0, true, [3, 4]),
        (periodic, bgk, 0, true, [3, 4]),
        (periodic, shakhov, 0, false, [2, 4]),
    ] {
        let problem = line(37, ends, model);
        let plan = plan(whole, problem.space.step(0), sloped);
        let what = format!("{ends:?} {model:?} w = {whole} {sloped} {split:?}");
        same(make, &problem, plan, split, &what);
    }
}

/// A part of the cases of a test.
#[derive(Clone, Copy)]
enum Cases {
    All,
    Even,
    Odd,
}

impl Cases {
    fn take(self, place: usize) -> bool {
        match self {
            Self::All => true,
            Self::Even => place.is_multiple_of(2),
            Self::Odd => !place.is_multiple_of(2),
        }
    }
}

/// The emulator is slow: `cases` are those that it takes.
fn planes_are_the_whole(make: Make, along_z: usize, cases: Cases) {
    let walls = Boundaries {
        left: wall(1.0, [0.0; 2]),
        right: wall(1.0, [0.0, 0.2]),
        bottom: wall(1.0, [0.0; 2]),
        top: wall(1.0, [0.5, 0.0]),
    };
    let halves = Boundaries {
        left: wall(0.4, [0.0, 0.2]),
        top: wall(0.6, [0.3, 0.0]),
        right: INFLOW,
        ..walls
    };
    let mixed = Boundaries {
        left: Boundary::Specular,
        right: wall(0.3, [0.0; 2]),
        bottom: wall(0.5, [0.0; 2]),
        top: Boundary::Specular,
    };
    let ring = Boundaries {
        bottom: Boundary::Periodic,
        top: Boundary::Periodic,
        ..walls
    };
    let torus = Boundaries {
        left: Boundary::Periodic,
        right: Boundary::Periodic,
        ..ring
    };
    let (bgk, shakhov) = (Model::Bgk, Model::Shakhov);
    for (faces, model, whole, sloped, ranks) in [
        (walls, bgk, 0, true, 2),
        (walls, bgk, 0, false, 3),
        (walls, shakhov, 1, true, 2),
        (halves, bgk, 0, true, 3),
        (halves, shakhov, 2, true, 2),
        (mixed, bgk, 0, true, 2),
        (mixed, shakhov, 0, false, 3),
        (mixed, bgk, 1, true, 3),
        (ring, bgk, 0, true, 2),
        (ring, bgk, 2, false, 3),
        (torus, shakhov, 1, true, 2),
    ]
    .into_iter()
    .enumerate()
    .filter(|(k, _)| cases.take(*k))
    .map(|(_, case)| case)
    {
        let problem = plane(faces, model, along_z);
        let plan = plan(whole, problem.space.step(0), sloped);
        let what = format!("{faces:?} {model:?} w = {whole} {sloped} {ranks}");
        same(make, &problem, plan, [ranks, 1], &what);
    }
}

/// Planes with room for strips next to the cuts and rows between them.
fn high_planes_are_the_whole(make: Make, cases: Cases) {
    let walls = Boundaries {
        left: wall(1.0, [0.0; 2]),
        right: wall(1.0, [0.0, 0.2]),
        bottom: wall(1.0, [0.0; 2]),
        top: wall(0.6, [0.5, 0.0]),
    };
    let ring = Boundaries {
        left: INFLOW,
        bottom: Boundary::Periodic,
        top: Boundary::Periodic,
        ..walls
    };
    let (bgk, shakhov) = (Model::Bgk, Model::Shakhov);
    for (faces, model, whole, sloped, rows, ranks) in [
        (walls, bgk, 0, true, 40, 2),
        (walls, shakhov, 1, true, 41, 2),
        (walls, shakhov, 0, false, 74, 3),
        (ring, bgk, 0, true, 72, 3),
        (ring, bgk, 2, false, 72, 2),
    ]
    .into_iter()
    .enumerate()
    .filter(|(k, _)| cases.take(*k))
    .map(|(_, case)| case)
    {
        let problem = plane_of([8, rows], faces, model, 7);
        let plan = plan(whole, problem.space.step(0), sloped);
        let what = format!("{faces:?} {model:?} w = {whole} {sloped} {rows} {ranks}");
        same(make, &problem, plan, [ranks, 1], &what);
    }
}

#[test]
fn high_planes_in_the_emulator_are_the_whole() {
    high_planes_are_the_whole(emulated::<f64>, Cases::Even);
    high_planes_are_the_whole(emulated::<f32>, Cases::Odd);
}

#[test]
fn lines_on_the_cpu_are_the_whole() {
    lines_are_the_whole(on_cpu::<f64>);
    lines_are_the_whole(on_cpu::<f32>);
}

#[test]
fn planes_on_the_cpu_are_the_whole() {
    planes_are_the_whole(on_cpu::<f64>, 7, Cases::All);
    planes_are_the_whole(on_cpu::<f32>, 7, Cases::All);
}

#[test]
fn lines_in_the_emulator_are_the_whole_in_f64() {
    lines_are_the_whole(emulated::<f64>);
}

#[test]
fn lines_in_the_emulator_are_the_whole_in_f32() {
    lines_are_the_whole(emulated::<f32>);
}

#[test]
fn planes_in_the_emulator_are_the_whole_in_f64() {
    planes_are_the_whole(emulated::<f64>, 8, Cases::Even);
}

#[test]
fn planes_in_the_emulator_are_the_whole_in_f32() {
    planes_are_the_whole(emulated::<f32>, 7, Cases::Odd);
}

#[test]
fn lines_and_planes_on_a_gpu_are_the_whole() {
    if let Err(error) = crate::gpu::open() {
        assert!(std::env::var_os("RAREFY_REQUIRE_GPU").is_none(), "{error}");
        println!("skipped: {error}");
        return;
    }
    lines_are_the_whole(on_gpu::<f64>);
    lines_are_the_whole(on_gpu::<f32>);
    planes_are_the_whole(on_gpu::<f64>, 7, Cases::All);
    planes_are_the_whole(on_gpu::<f32>, 8, Cases::All);
    high_planes_are_the_whole(on_gpu::<f64>, Cases::All);
    high_planes_are_the_whole(on_gpu::<f32>, Cases::All);
}

#[test]
fn less_than_the_depths_is_wrong() {
    let ends = [INFLOW, wall(0.4, [0.0; 2])];
    let of_line = line(37, ends, Model::Bgk);
    let of_plane = plane(Boundaries::line(ends[0], ends[1]), Model::Bgk, 7);
    for make in [on_cpu::<f32>, on_cpu::<f64>, emulated::<f64>] {
        for problem in [&of_line, &of_plane] {
            for whole in [0, 1] {
                let plan = plan(whole, problem.space.step(0), true);
                let expected = outcome(make(problem, plan, None)).expect("steps");
                let changes: [fn(&mut Cut); 2] = [|cut| cut.depth_in -= 1, |cut| cut.depth_out = 0];
                for change in changes {
                    let found = parted(make, problem, plan, [2, 1], change);
                    assert!(found.iter().all(|found| !is(found, &expected)));
                }
            }
        }
        // Ghosts as deep as four steps need, stepped along for five.
        let plan = plan(0, of_line.space.step(0), true);
        let expected = outcome(make(&of_line, plan, None)).expect("steps");
        let found = parted(make, &of_line, plan, [2, 2], |cut| cut.cycle = 3);
        assert!(found.iter().all(|found| !is(found, &expected)));
    }
}

fn is(found: &Result<Outcome>, expected: &Outcome) -> bool {
    found.as_ref().is_ok_and(|found| found == expected)
}

fn config(problem: Problem, backend: Backend, precision: Precision) -> SimulationConfig {
    let step = plan(0, problem.space.step(0), true).dt;
    let mut config = SimulationConfig::new(problem, step);
    config.compute = Compute::new(backend).with_precision(precision);
    config
}

#[test]
fn ranks_know_the_same_as_one_and_resume_each_others_checkpoints() {
    let walls = Boundaries {
        left: wall(0.7, [0.0, 0.2]),
        right: wall(1.0, [0.0; 2]),
        bottom: wall(1.0, [0.0; 2]),
        top: INFLOW,
    };
    let ends = [wall(0.7, [0.0; 2]), INFLOW];
    for problem in [line(40, ends, Model::Shakhov), plane(walls, Model::Bgk, 7)] {
        for (backend, precision) in [
            (Backend::Cpu, Precision::F64),
            (Backend::Cpu, Precision::F32),
            (Backend::Emulator, Precision::F32),
        ] {
            let config = config(problem.clone(), backend, precision);
            let run = |transport: Arc<dyn Transport>| {
                let mut simulation = Simulation::over(config.clone(), transport.clone()).unwrap();
                let infinite = simulation.residual().unwrap();
                simulation.advance(3).unwrap();
                let checkpoint = simulation.checkpoint().unwrap();
                simulation.advance(2).unwrap();
                let residual = simulation.residual().unwrap();
                assert!(infinite.is_infinite() && residual > 0.0);
                let fluxes = simulation.face_fluxes().unwrap();
                let end = simulation.checkpoint().unwrap();
                (
                    residual,
                    fluxes,
                    simulation.moments().unwrap(),
                    checkpoint,
                    end,
                )
            };
            let alone = on_all(1, run).remove(0);
            // Fluxes are sums over the ranks, and agree up to roundoff.
            let bare = |saved: &bgk::Checkpoint| bgk::Checkpoint {
                faces: alone.3.faces,
                ..saved.clone()
            };
            for ranks in [2, 3] {
                for found in on_all(ranks, run) {
                    assert_eq!(found.0.to_bits(), alone.0.to_bits());
                    for (found, alone) in found.1.iter().zip(&alone.1) {
                        let of = |flux: &FaceFlux| {
                            [flux.mass, flux.momentum[0], flux.momentum[1], flux.energy]
                        };
                        for (a, b) in of(found).into_iter().zip(of(alone)) {
                            assert!((a - b).abs() < 1e-12, "{a} {b}");
                        }
                    }
                    assert!(found.2 == alone.2);
                    assert!(bare(&found.3) == alone.3 && bare(&found.4) == bare(&alone.4));
                }
                let resumed = on_all(ranks, |transport| {
                    let checkpoint = alone.3.clone();
                    let mut simulation = Simulation::resume_over(checkpoint, transport).unwrap();
                    simulation.advance(2).unwrap();
                    simulation.checkpoint().unwrap().populations
                });
                assert!(
                    resumed
                        .iter()
                        .all(|populations| *populations == alone.4.populations)
                );
            }
            // Each of three ranks keeps its own cells; one, two and four go on from them.
            let parts = on_all(3, |transport| {
                let mut simulation = Simulation::over(config.clone(), transport).unwrap();
                simulation.residual().unwrap();
                simulation.advance(3).unwrap();
                let head = simulation.checkpoint_head().unwrap();
                (head, simulation.checkpoint_part().unwrap())
            });
            let (heads, parts): (Vec<_>, Vec<_>) = parts.into_iter().unzip();
            assert!(heads.iter().all(|head| *head == heads[0] && head.step == 3));
            for ranks in [1, 2, 4] {
                let ends = on_all(ranks, |transport| {
                    let read = |wanted: &[Range<usize>]| {
                        let overlaps = |part: &&CheckpointPart| {
                            let (a, b) = (part.cells.start, part.cells.end);
                            wanted.iter().any(|range| range.start < b && a < range.end)
                        };
                        Ok(parts.iter().filter(overlaps).cloned().collect())
                    };
                    let head = heads[0].clone();
                    let mut simulation = Simulation::resume_parts(head, transport, read).unwrap();
                    simulation.advance(2).unwrap();
                    let residual = simulation.residual().unwrap();
                    assert_eq!(residual.to_bits(), alone.0.to_bits());
                    simulation.checkpoint().unwrap()
                });
                assert!(ends.iter().all(|end| bare(end) == bare(&alone.4)));
            }
        }
    }
}

#[test]
fn too_many_ranks_threads_and_other_backends_are_refused() {
    let problem = line(20, [INFLOW; 2], Model::Bgk);
    let refusal = |ranks: usize, backend: Backend, threads: Option<usize>| {
        let texts = on_all(ranks, |transport| {
            let mut config = config(problem.clone(), backend, Precision::F64);
            config.compute.threads = threads;
            let error = Simulation::over(config, transport).err();
            error.map(|error| error.to_string()).unwrap_or_default()
        });
        texts[0].clone()
    };
    let text = refusal(6, Backend::Cpu, None);
    let why = "ranks: 6 for 20 cells along x; expected fewer ranks: each needs 4 cells";
    assert!(text.contains(why), "{text}");
    assert!(refusal(2, Backend::Cpu, Some(1)).contains("share the threads of their process"));
    let text = refusal(2, Backend::Reference, None);
    assert!(
        text.contains("backend: reference; expected auto, cuda, cpu or emulator"),
        "{text}"
    );
}

#[test]
fn a_rank_that_ends_ends_the_others() {
    let problem = line(20, [INFLOW; 2], Model::Bgk);
    let config = config(problem, Backend::Cpu, Precision::F64);
    let errors = on_all(2, |transport| {
        let rank = transport.rank();
        let mut simulation = Simulation::over(config.clone(), transport).unwrap();
        (rank == 1).then(|| simulation.advance(5).unwrap_err().to_string())
    });
    assert_eq!(errors[1].as_deref(), Some("rank 0 ended before this one"));
}

#[test]
fn long_lines_have_long_cycles() {
    let of = |problem: &Problem, ranks: usize| {
        let plan = plan(0, problem.space.step(0), true);
        let rank = Arc::new(Threads::all(ranks).remove(0));
        let cut = Cut::new(problem, &plan, rank, None).unwrap();
        (cut.cycle, cut.depth_in, cut.depth_out)
    };
    let long = |cells: usize| line(cells, [INFLOW; 2], Model::Bgk);
    assert_eq!(of(&long(4096), 2), (8, 16, 16));
    assert_eq!(of(&long(1100), 2), (4, 8, 8));
    assert_eq!(of(&long(600), 2), (2, 4, 4));
    assert_eq!(of(&long(100), 2), (1, 2, 1));
    let faces = Boundaries::line(INFLOW, INFLOW);
    assert_eq!(of(&plane(faces, Model::Bgk, 7), 3), (1, 2, 1));
}
