//! Populations in 16 bits: against full storage, to the same bits, and where they are refused.

use rarefy::bgk::{
    Axis, Boundaries, Boundary, Gas, Moments, Problem, Scheme, Simulation, SimulationConfig, Space,
    State, Storage, VelocitySpace, Wall,
};
use rarefy::{Backend, Precision};

use crate::bgk::assorted;
use crate::command::{done, object, refused};
use crate::support;

/// Every backend that has such storage and can run here.
fn backends() -> Vec<Backend> {
    let mut backends = vec![Backend::Cpu, Backend::Emulator];
    if support::device().is_some() {
        backends.push(Backend::Cuda);
    }
    backends
}

fn config(problem: &Problem, dt: f64, scheme: Scheme, backend: Backend) -> SimulationConfig {
    SimulationConfig {
        scheme,
        backend,
        precision: Precision::F32,
        storage: Storage::Bits16,
        relaxed: false,
        ..SimulationConfig::new(problem.clone(), dt)
    }
}

fn largest(a: &[Moments], b: &[Moments], of: impl Fn(&Moments) -> f64) -> f64 {
    assert_eq!(a.len(), b.len());
    a.iter().zip(b).fold(0.0, |most, (a, b)| {
        let error = (of(a) - of(b)).abs();
        if error.is_nan() {
            f64::NAN
        } else {
            f64::max(most, error)
        }
    })
}

/// Differences of n, u, T, P and q.
fn differences(a: &[Moments], b: &[Moments]) -> f64 {
    let each: [fn(&Moments) -> f64; 9] = [
        |m| m.density,
        |m| m.velocity[0],
        |m| m.velocity[1],
        |m| m.temperature,
        |m| m.pressure[0],
        |m| m.pressure[1],
        |m| m.pressure[2],
        |m| m.heat_flux[0],
        |m| m.heat_flux[1],
    ];
    each.into_iter()
        .map(|of| largest(a, b, of))
        .fold(
            0.0,
            |most, e| if e.is_nan() { f64::NAN } else { most.max(e) },
        )
}

#[test]
fn every_kind_of_problem_is_right_to_a_few_parts_in_ten_thousand_and_goes_on_to_the_same_bits() {
    for (name, problem, dt) in assorted() {
        for scheme in [Scheme::Upwind, Scheme::VanLeer] {
            let full = SimulationConfig {
                precision: Precision::F64,
                storage: Storage::Full,
                ..config(&problem, dt, scheme, Backend::Cpu)
            };
            let mut exact = Simulation::new(full).unwrap();
            exact.advance(5).unwrap();
            let expected = exact.moments().unwrap();
            for backend in backends() {
                let what = format!("{name}, {scheme:?}, {backend}");
                let config = config(&problem, dt, scheme, backend);
                let mut simulation = Simulation::new(config.clone()).unwrap();
                simulation.advance(3).unwrap();
                let checkpoint = simulation.checkpoint().unwrap();
                simulation.advance(2).unwrap();
                let found = simulation.moments().unwrap();
                let error = differences(&found, &expected);
                // Rounding errors of 5 steps; the largest is 6e-5, and 1e-7 would be none at all.
                assert!(error < 2e-4 && error > 1e-6, "{what}: {error:e}");
                if !name.contains("inflow") {
                    for flux in simulation.face_fluxes().unwrap() {
                        // The walls' densities are f32 on the CPU.
                        assert!(flux.mass.abs() < 1e-7, "{what}: {flux:?}");
                    }
                    let mass = |m: &[Moments]| m.iter().map(|m| m.density).sum::<f64>();
                    let drift = mass(&found) / mass(&expected) - 1.0;
                    assert!(drift.abs() < 1e-5, "{what}: {drift:e}");
                }
                let mut resumed = Simulation::resume(checkpoint).unwrap();
                resumed.advance(2).unwrap();
                assert!(resumed.moments().unwrap() == found, "{what}");
                assert!(
                    resumed.populations().unwrap() == simulation.populations().unwrap(),
                    "{what}"
                );
            }
        }
    }
}

/// Flow between plates that slide: rounding to the nearest would stop it, for a step changes populations by less than the storage can tell.
#[test]
fn small_steps_are_not_lost() {
    let (cells, steps) = (20, 1600);
    let wall = |u: f64| Boundary::Wall(Wall::diffuse(1.0).moving([0.0, u]));
    let problem = Problem::uniform(
        Space::line(cells, [0.0, 1.0]).unwrap(),
        VelocitySpace::new(vec![Axis::half_range(6, 1).unwrap(); 2], 2).unwrap(),
        Gas::default(),
        Boundaries::line(wall(-0.05), wall(0.05)),
        State::REST,
    )
    .unwrap();
    let stress = |precision, storage| {
        let config = SimulationConfig {
            precision,
            storage,
            ..config(&problem, 0.005, Scheme::VanLeer, Backend::Cpu)
        };
        let mut simulation = Simulation::new(config).unwrap();
        simulation.advance(steps).unwrap();
        let moments = simulation.moments().unwrap();
        moments.iter().map(|m| m.pressure[2]).sum::<f64>() / cells as f64
    };
    let known = stress(Precision::F64, Storage::Full);
    let found = stress(Precision::F32, Storage::Bits16);
    assert!(
        (found / known - 1.0).abs() < 1e-3,
        "{found:e} where f64 has {known:e}"
    );
}

#[test]
fn a_run_may_go_on_on_another_backend() {
    let (name, problem, dt) = assorted().swap_remove(4);
    let start = config(&problem, dt, Scheme::VanLeer, Backend::Cpu);
    let mut simulation = Simulation::new(start).unwrap();
    simulation.advance(3).unwrap();
    let checkpoint = simulation.checkpoint().unwrap();
    simulation.advance(3).unwrap();
    let expected = simulation.moments().unwrap();
    for backend in backends() {
        let mut checkpoint = checkpoint.clone();
        checkpoint.config.backend = backend;
        let mut other = Simulation::resume(checkpoint).unwrap();
        other.advance(3).unwrap();
        let error = differences(&other.moments().unwrap(), &expected);
        assert!(error < 2e-4, "{name}, {backend}: {error:e}");
    }
}

#[test]
fn the_command_stores_in_16_bits_and_says_where_it_cannot() {
    let folder = tempfile::tempdir().unwrap();
    let folder = folder.path();
    fn with<'a>(rest: &[&'a str]) -> Vec<&'a str> {
        let common = [
            "shock",
            "--mach",
            "2",
            "--nx",
            "80",
            "--reduced",
            "--json",
            "--quiet",
        ];
        common.into_iter().chain(rest.iter().copied()).collect()
    }
    let sixteen = ["--storage", "16", "--precision", "f32", "--backend", "cpu"];
    let whole = with(&[&sixteen[..], &["--steps", "40"]].concat());
    let whole = object(&done(folder, &whole));
    assert_eq!(whole["parameters"]["storage"], "16");
    let part = with(
        &[
            &sixteen[..],
            &["--steps", "17", "--checkpoint-every", "17", "--out", "part"],
        ]
        .concat(),
    );
    done(folder, &part);
    let rest = [
        "shock",
        "--resume",
        "part/checkpoint.rarefy",
        "--steps",
        "40",
        "--json",
        "--quiet",
    ];
    let rest = object(&done(folder, &rest));
    assert_eq!(whole["result"], rest["result"]);
    for (arguments, why) in [
        (with(&["--storage", "16"]), "--precision f32"),
        (
            with(&[
                "--storage",
                "16",
                "--precision",
                "f32",
                "--backend",
                "reference",
            ]),
            "reference",
        ),
        (
            with(&["--storage", "16", "--precision", "f32", "--steady"]),
            "--steady",
        ),
        (with(&["--storage", "8"]), "16"),
        (
            vec!["shock", "--collision", "boltzmann", "--storage", "16"],
            "--storage",
        ),
        (
            vec![
                "shock",
                "--resume",
                "part/checkpoint.rarefy",
                "--storage",
                "full",
            ],
            "contradicts",
        ),
    ] {
        refused(folder, &arguments, why);
    }
}
