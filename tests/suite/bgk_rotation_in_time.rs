//! Molecules that rotate, in steps of time: the reference, all cores, the kernels, ranks, and limits that are known.

use std::sync::Arc;
use std::thread;

use rarefy::bgk::{
    Axis, Boundaries, Boundary, Checkpoint, FaceFlux, Gas, Mach, Moments, Problem, RotatingMoments,
    Rotation, RotationalCollisions, Scheme, Shock, ShockProfile, Simulation, SimulationConfig,
    Space, Species, State, VelocitySpace, Wall,
};
use rarefy::distributed::{Threads, Transport};
use rarefy::{Backend, Compute, Precision};

use crate::bgk::assorted;
use crate::bgk_rotation::{frozen, gas, shakhov};
use crate::command::{done, folder, number, printed, refused};

/// The time Z in which rotation relaxes.
const Z: f64 = 2.667;

/// The assorted problems with at most two axes of velocity, in a gas.
fn reduced(gas: Gas) -> Vec<(&'static str, Problem, f64)> {
    let with = |problem: Problem| {
        let velocity = &problem.velocity;
        let axes = velocity.axes()[..velocity.axes().len().min(2)].to_vec();
        let frequency = problem.gas.frequency;
        Problem {
            velocity: VelocitySpace::new(axes, velocity.flow()).unwrap(),
            gas: Gas { frequency, ..gas },
            ..problem
        }
    };
    let all = assorted().into_iter();
    all.map(|(name, problem, dt)| (name, with(problem), dt))
        .collect()
}

fn config(problem: &Problem, dt: f64, compute: impl Into<Compute>) -> SimulationConfig {
    SimulationConfig {
        compute: compute.into(),
        ..SimulationConfig::new(problem.clone(), dt)
    }
}

/// Moments, rotation and fluxes after so many steps.
type Found = (Vec<Moments>, Vec<RotatingMoments>, [FaceFlux; 4]);

fn results(run: &mut Simulation) -> Found {
    let (moments, rotation) = (run.moments().unwrap(), run.rotation().unwrap());
    (moments, rotation, run.face_fluxes().unwrap())
}

fn after(config: SimulationConfig, steps: u64) -> Found {
    let mut run = Simulation::new(config).unwrap();
    run.advance(steps).unwrap();
    results(&mut run)
}

/// All numbers of the results, by their kinds.
fn numbers((moments, rotation, fluxes): &Found) -> Vec<f64> {
    let of = |m: &Moments| {
        let vectors = [m.velocity, m.heat_flux].concat();
        [vec![m.density, m.temperature], vectors, m.pressure.to_vec()].concat()
    };
    let own = |m: &RotatingMoments| {
        let [x, y] = m.heat_flux_rotational;
        vec![m.temperature_translational, m.temperature_rotational, x, y]
    };
    let flux = |f: &FaceFlux| vec![f.mass, f.momentum[0], f.momentum[1], f.energy];
    let parts = [
        moments.iter().flat_map(of).collect::<Vec<_>>(),
        rotation.iter().flat_map(own).collect(),
        fluxes.iter().flat_map(flux).collect(),
    ];
    parts.concat()
}

fn distance(a: &Found, b: &Found) -> f64 {
    let (a, b) = (numbers(a), numbers(b));
    assert_eq!(a.len(), b.len());
    let apart = a.iter().zip(&b).map(|(a, b)| (a - b).abs());
    apart.fold(0.0, f64::max)
}

#[test]
fn the_reference_and_all_cores_agree() {
    for conservative in [true, false] {
        for (name, problem, dt) in reduced(gas(Z)) {
            let problem = Problem {
                conservative,
                ..problem
            };
            let reference = after(config(&problem, dt, Backend::Reference), 25);
            let cores = after(config(&problem, dt, Backend::Cpu), 25);
            let apart = distance(&reference, &cores);
            assert!(apart < 1e-11, "{name}: {apart:e}");
            let single = Compute::new(Backend::Cpu).with_precision(Precision::F32);
            let apart = distance(&reference, &after(config(&problem, dt, single), 25));
            assert!(apart < 3e-4, "{name}, f32: {apart:e}");
        }
    }
}

/// The problems that are checked on the kernels, and both whose molecules fly less than a cell in a step: a plane whose lanes have several cells, and a cavity of nitrogen.
fn for_kernels() -> Vec<(&'static str, Problem, f64)> {
    let nitrogen = Gas {
        rotation: Species::Nitrogen.rotation(),
        ..gas(Z)
    };
    let axes = [9, 10].map(|n| Axis::uniform(n, -4.4, 4.4).unwrap());
    let wall = |speed: f64, accommodation| {
        Boundary::Wall(Wall {
            accommodation,
            ..Wall::diffuse(1.1).moving([speed, 0.0])
        })
    };
    let square = Space::rectangle([12, 7], [0.0, 1.0], [0.0, 1.0]).unwrap();
    let stirred = |x: f64, y: f64| State {
        density: 1.0 + 0.1 * (4.0 * x + 3.0 * y).sin(),
        velocity: [0.2 * (3.0 * y).cos(), 0.1 * (5.0 * x).sin()],
        temperature: 1.0 + 0.1 * (2.0 * x - 6.0 * y).cos(),
    };
    let plane = |boundaries| {
        let velocity = VelocitySpace::new(axes.to_vec(), 2).unwrap();
        Problem::new(square, velocity, nitrogen, boundaries, stirred).unwrap()
    };
    let still = Boundaries {
        left: wall(0.0, 1.0),
        right: Boundary::Inflow(State::along_x(1.0, -0.3, 1.2)),
        bottom: wall(0.0, 1.0),
        top: wall(0.4, 1.0),
    };
    let mirrors = Boundaries {
        left: Boundary::Specular,
        bottom: wall(0.1, 0.4),
        ..still
    };
    let mut all = reduced(gas(Z));
    all.push(("wide lanes between walls", plane(still), 0.015));
    all.push(("wide lanes beside mirrors", plane(mirrors), 0.015));
    all
}

/// Emulated kernels have the reference's results, and fluxes through faces.
fn kernels_agree(precision: Precision, scheme: Scheme, steps: u64) {
    let tolerance = match precision {
        Precision::F64 => 1e-11,
        _ => 3e-4,
    };
    for conservative in [true, false] {
        for (name, problem, dt) in for_kernels() {
            let problem = Problem {
                conservative,
                ..problem
            };
            let of = |compute: Compute| SimulationConfig {
                scheme,
                ..config(&problem, dt, compute)
            };
            let reference = after(of(Backend::Reference.into()), steps);
            let kernels = Compute::new(Backend::Emulator).with_precision(precision);
            let apart = distance(&reference, &after(of(kernels), steps));
            assert!(
                apart < tolerance,
                "{name}, {precision:?}, {scheme:?}: {apart:e}"
            );
        }
    }
}

#[test]
fn the_reference_and_the_kernels_agree_in_f64() {
    kernels_agree(Precision::F64, Scheme::VanLeer, 8);
}

#[test]
fn the_reference_and_the_kernels_agree_in_f32() {
    kernels_agree(Precision::F32, Scheme::VanLeer, 8);
}

#[test]
fn the_reference_and_the_kernels_agree_in_first_order() {
    kernels_agree(Precision::F64, Scheme::Upwind, 3);
    kernels_agree(Precision::F32, Scheme::Upwind, 3);
}

/// Rotation that never relaxes leaves the others those of Shakhov's model.
#[test]
fn frozen_rotation_leaves_the_model_of_shakhov() {
    let never = Gas {
        rotation: frozen().rotation.map(|rotation| Rotation {
            collisions: RotationalCollisions::Constant(1e12),
            ..rotation
        }),
        ..frozen()
    };
    let both = reduced(never).into_iter().zip(reduced(shakhov()));
    for ((name, rotating, dt), (_, single, _)) in both {
        let (moments, rotation, _) = after(config(&rotating, dt, Backend::Cpu), 25);
        let (expected, none, _) = after(config(&single, dt, Backend::Cpu), 25);
        assert!(none.is_empty());
        for ((m, own), expected) in moments.iter().zip(&rotation).zip(&expected) {
            let pairs = [
                (m.density, expected.density),
                (m.velocity[0], expected.velocity[0]),
                (own.temperature_translational, expected.temperature),
                (m.pressure[0], expected.pressure[0]),
                (m.pressure[2], expected.pressure[2]),
                (
                    m.heat_flux[0] - own.heat_flux_rotational[0],
                    expected.heat_flux[0],
                ),
            ];
            for (found, expected) in pairs {
                assert!(
                    (found - expected).abs() < 1e-10,
                    "{name}: {found} {expected}"
                );
            }
        }
    }
}

/// Energy of translation and of rotation together, of n(u^2 + (3 + d) T/2).
fn energy(moments: &[Moments]) -> f64 {
    let of = |m: &Moments| {
        let [x, y] = m.velocity;
        m.density * (x * x + y * y + 2.5 * m.temperature)
    };
    moments.iter().map(of).sum()
}

#[test]
fn periodic_gas_keeps_its_mass_and_energy() {
    for (name, problem, dt) in reduced(gas(Z)) {
        if !["periodic line", "torus"].contains(&name) {
            continue;
        }
        let mut run = Simulation::new(config(&problem, dt, Backend::Cpu)).unwrap();
        let before = run.streamed_moments().unwrap();
        run.advance(200).unwrap();
        let after = run.streamed_moments().unwrap();
        let mass = |of: &[Moments]| of.iter().map(|m| m.density).sum::<f64>();
        assert!((mass(&after) / mass(&before) - 1.0).abs() < 1e-13, "{name}");
        assert!(
            (energy(&after) / energy(&before) - 1.0).abs() < 1e-13,
            "{name}"
        );
        let changed = distance(
            &(before, Vec::new(), Default::default()),
            &(after, Vec::new(), Default::default()),
        );
        assert!(changed > 0.05, "{name}: {changed}");
    }
}

/// Uniform gas whose temperatures differ relaxes as Landau and Teller have it, on coarse velocities too and in steps of any length.
#[test]
fn uniform_gas_relaxes_by_the_formula_of_landau_and_teller() {
    for (nodes, steps) in [(12, 1), (12, 30), (26, 7)] {
        let gas = Gas {
            omega: 1.0,
            ..gas(Z)
        };
        let hot = State {
            temperature: 2.0,
            ..State::REST
        };
        let problem = Problem::uniform(
            Space::line(3, [0.0, 200.0]).unwrap(),
            VelocitySpace::new(vec![Axis::uniform(nodes, -5.4, 5.4).unwrap()], 1).unwrap(),
            gas,
            Boundaries::line(Boundary::Periodic, Boundary::Periodic),
            hot,
        )
        .unwrap();
        for backend in [Backend::Cpu, Backend::Reference, Backend::Emulator] {
            let config = SimulationConfig {
                relaxed: false,
                ..config(&problem, 3.0 / steps as f64, backend)
            };
            let mut start: Checkpoint = Simulation::new(config).unwrap().checkpoint().unwrap();
            // The last of three functions of a node is the internal energy: from T_r = 2 to 1/2.
            start.extra.clear();
            for (place, f) in start.populations.iter_mut().enumerate() {
                *f *= if place / 3 % 3 == 2 { 0.25 } else { 1.0 };
            }
            let mut run = Simulation::resume(start).unwrap();
            let before = run.streamed_moments().unwrap()[1].temperature;
            assert!((before - 1.4).abs() < 1e-12, "{before}");
            run.advance(steps).unwrap();
            let populations = run.state().unwrap();
            let density: f64 = populations.iter().skip(1).step_by(9).sum();
            let internal: f64 = populations.iter().skip(7).step_by(9).sum();
            let rotational = internal / density;
            let left = (-3.0 / Z).exp();
            assert!(
                (rotational - (1.4 - 0.9 * left)).abs() < 1e-12,
                "{backend}, {nodes} nodes, {steps} steps: {rotational}"
            );
            let all = run.streamed_moments().unwrap()[1].temperature;
            assert!((all - 1.4).abs() < 1e-12, "{all}");
        }
    }
}

#[test]
fn ranks_and_checkpoints_have_the_bits_of_one_run() {
    ranks_and_checkpoints(Backend::Cpu, 20);
    ranks_and_checkpoints(Backend::Emulator, 7);
}

fn ranks_and_checkpoints(backend: Backend, steps: u64) {
    for (name, problem, dt) in reduced(gas(Z)) {
        let config = config(&problem, dt, backend);
        let expected = numbers(&after(config.clone(), steps));
        let mut begun = Simulation::new(config.clone()).unwrap();
        begun.advance(3).unwrap();
        let mut resumed = Simulation::resume(begun.checkpoint().unwrap()).unwrap();
        resumed.advance(steps - 3).unwrap();
        assert!(
            numbers(&results(&mut resumed)) == expected,
            "{name}, resumed"
        );
        // A rank of a plane has a strip of at least its ghosts.
        if problem.space.dimensions() == 2 && name != "torus" {
            continue;
        }
        let ranks = thread::scope(|scope| {
            let start = |rank: Threads| {
                let config = config.clone();
                scope.spawn(move || {
                    let transport: Arc<dyn Transport> = Arc::new(rank);
                    let mut run = Simulation::over(config, transport).unwrap();
                    run.advance(steps).unwrap();
                    results(&mut run)
                })
            };
            let ranks: Vec<_> = Threads::all(2).into_iter().map(start).collect();
            let ended = ranks.into_iter().map(|rank| rank.join().unwrap());
            ended.collect::<Vec<Found>>()
        });
        for (moments, rotation, _) in ranks {
            let found = numbers(&(moments, rotation, Default::default()));
            let cells = found.len() - 16;
            assert!(found[..cells] == expected[..cells], "{name}, two ranks");
        }
    }
}

/// The wave that is left in time is the steady one of the specification's table.
#[test]
fn a_shock_in_time_has_the_thickness_of_the_steady_one() {
    let mut shock = Shock::of(Mach::new(1.5).unwrap(), gas(Z));
    shock.sides = [25.0, 25.0];
    shock.cells = 400;
    let dt = 0.1;
    let mut run = Simulation::new(config(&shock.problem().unwrap(), dt, Backend::Cpu)).unwrap();
    run.advance(1500).unwrap();
    let residual = run.residual().and_then(|_| {
        run.advance(50)?;
        run.residual()
    });
    assert!(residual.unwrap() < 1e-4);
    let moments = run.moments().unwrap();
    let space = run.config().problem.space;
    let profile = ShockProfile::new(shock.mach_of_gas(), &space, &moments).unwrap();
    let thickness = profile.thickness();
    assert!((thickness / 6.3821 - 1.0).abs() < 5e-3, "{thickness}");
    // Mass, momentum and energy, the internal one too, are constant along the wave.
    let (_, spread) = profile.fluxes();
    assert!(spread.iter().all(|spread| *spread < 5e-3), "{spread:?}");
}

/// The command has columns of both temperatures in time too, and says what it has not.
#[test]
fn the_command_steps_in_time() {
    let dir = folder();
    let line = "shock --mach 2 --gas nitrogen --pressure 10 --temperature 300 --in-time --steps 300 --cells 150 --backend cpu --quiet --no-verify --out wave";
    done(dir.path(), &line.split_whitespace().collect::<Vec<_>>());
    let record = std::fs::read_to_string(dir.path().join("wave/run.json")).unwrap();
    assert!(!record.contains("vibrate"));
    let profile = std::fs::read_to_string(dir.path().join("wave/profile.csv")).unwrap();
    let head = profile.lines().next().unwrap();
    for column in [
        "temperature_translational",
        "temperature_rotational",
        "heat_flux_rotational",
    ] {
        assert!(head.contains(column), "{head}");
    }
    let line = "shock --mach 4 --gas nitrogen --pressure 10 --temperature 300 --in-time --steps 20 --cells 150 --backend cpu --no-verify";
    let warnings = &printed(dir.path(), line)["warnings"];
    assert!(warnings.to_string().contains("vibrate"), "{warnings}");
    let line = "cavity --gas nitrogen --pressure 10 --temperature 300 --size 1e-3 --in-time --reduced --cells 10 --velocities 10 --steps 40 --backend cpu --no-verify";
    let record = printed(dir.path(), line);
    assert!(number(&record["result"]["D"]) > 0.0);
    let line = "shock --mach 2 --model polyatomic --in-time --steps 3 --cells 150 --backend emulator --no-verify";
    assert_eq!(printed(dir.path(), line)["status"], "done");
    let line = "shock --mach 2 --model polyatomic --in-time --steps 2 --checkpoint-every 1 --cells 150 --backend cpu --no-verify --quiet --out saved";
    done(dir.path(), &line.split_whitespace().collect::<Vec<_>>());
    for (flag, kept) in [
        ("--z-rot 3", "5.5"),
        ("--internal-dof 3", "2.0"),
        ("--prandtl 0.7", "0.72"),
        ("--model bgk", "polyatomic"),
    ] {
        let line = format!("shock --resume saved/checkpoint.rarefy --steps 4 {flag}");
        let why = format!("expected {kept}, as the checkpoint's run has");
        let words = line.split_whitespace().collect::<Vec<_>>();
        refused(dir.path(), &words, &why);
    }
    let line =
        "shock --mach 2 --model polyatomic --in-time --velocities 20x12x12 --backend emulator";
    refused(
        dir.path(),
        &line.split_whitespace().collect::<Vec<_>>(),
        "velocities: three axes for molecules that rotate; expected a reduced velocity space, of one or two axes",
    );
}

/// Frequencies and decays of the three slow modes of a wave, of equal samples of its amplitude after collisions have left no others: two of sound, one of heat.
///
/// Each sample is a combination of the three before it, whose polynomial has the modes as roots.
fn modes(samples: &[f64], apart: f64) -> ([f64; 2], f64) {
    use nalgebra::{Matrix3, Vector3};
    let (mut left, mut right) = (Matrix3::zeros(), Vector3::zeros());
    for four in samples.windows(4) {
        let row = Vector3::new(four[2], four[1], four[0]);
        left += row * row.transpose();
        right += row * four[3];
    }
    let [a, b, c] = left.lu().solve(&right).unwrap().into();
    let of = |x: f64| ((x - a) * x - b) * x - c;
    // The mode of heat is the real root; the other two are those of the quotient.
    let (mut low, mut high) = (0.0, 1.0);
    assert!(of(low) < 0.0 && of(high) > 0.0);
    for _ in 0..60 {
        let middle = 0.5 * (low + high);
        if of(middle) < 0.0 {
            low = middle;
        } else {
            high = middle;
        }
    }
    let (sum, product) = (a - low, c / low);
    let angle = (0.5 * sum / product.sqrt()).acos();
    (
        [angle / apart, -0.5 * product.ln() / apart],
        -low.ln() / apart,
    )
}

/// Sound between periodic ends has the speed and the decay of the specification's eigenvalues at the wave number 0.2.
#[test]
fn sound_has_the_speed_and_the_decay_of_the_eigenvalues() {
    let (k, cells) = (0.2, 320);
    let length = 2.0 * std::f64::consts::PI / k;
    let problem = Problem::new(
        Space::line(cells, [0.0, length]).unwrap(),
        VelocitySpace::new(vec![Axis::uniform(24, -4.8, 4.8).unwrap()], 1).unwrap(),
        gas(Z),
        Boundaries::line(Boundary::Periodic, Boundary::Periodic),
        |x, _| State::along_x(1.0, 1e-3 * (k * x).sin(), 1.0),
    )
    .unwrap();
    let (dt, steps) = (0.1, 20);
    let mut run = Simulation::new(config(&problem, dt, Backend::Cpu)).unwrap();
    run.advance(150).unwrap();
    let samples: Vec<f64> = (0..40)
        .map(|_| {
            run.advance(steps).unwrap();
            let states = run.states().unwrap();
            let of = |(cell, state): (usize, &State)| {
                let x = problem.space.centre(0, cell);
                (state.density - 1.0) * (k * x).cos()
            };
            states.iter().enumerate().map(of).sum()
        })
        .collect();
    let ([frequency, decay], _) = modes(&samples, dt * steps as f64);
    let speed = frequency / k / 0.836660;
    assert!((speed - 1.01195).abs() < 1e-3, "{speed}");
    assert!((decay / 0.024813 - 1.0).abs() < 0.02, "{decay}");
}
