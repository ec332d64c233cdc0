//! The BGK wing against exact results, results of the scheme on small grids, and converged shock waves and cavities.

use std::collections::BTreeMap;
use std::path::Path;

use rarefy::bgk::paper::SeparateKernels;
use rarefy::bgk::{
    Axis, Boundaries, Boundary, Cavity, Gas, Mach, Model, Moments, Problem, Scheme, Shock,
    Simulation, SimulationConfig, Space, State, VelocitySpace, Wall,
};
use rarefy::emulator::Emulator;

use rarefy::machine::Machine;
use rarefy::{Backend, Compute, Precision};
use rarefy_kernels::Real;
use serde_json::Value;

use crate::command::{done, object, refused};
use crate::support;

/// Every backend that can run here.
fn backends() -> Vec<Backend> {
    let mut backends = vec![Backend::Reference, Backend::Cpu, Backend::Emulator];
    if support::device().is_some() {
        backends.push(Backend::Cuda);
    }
    backends
}

fn data(name: &str) -> String {
    let path = support::in_repository("tests/data").join("bgk").join(name);
    std::fs::read_to_string(&path).unwrap_or_else(|error| panic!("{}: {error}", path.display()))
}

/// Columns of a table by their names.
fn table(name: &str) -> BTreeMap<String, Vec<f64>> {
    let text = data(name);
    let mut lines = text.lines();
    let names: Vec<&str> = lines.next().unwrap().split(',').collect();
    let mut columns: BTreeMap<String, Vec<f64>> = BTreeMap::new();
    for line in lines {
        for (name, value) in names.iter().zip(line.split(',')) {
            let column = columns.entry((*name).to_owned()).or_default();
            column.push(value.parse().unwrap());
        }
    }
    columns
}

fn close(what: &str, found: impl Iterator<Item = f64>, expected: &[f64], tolerance: f64) {
    let found: Vec<f64> = found.collect();
    assert_eq!(found.len(), expected.len(), "{what}");
    let worst =
        found
            .iter()
            .zip(expected)
            .map(|(a, b)| (a - b).abs())
            .fold(0.0, |worst: f64, error| {
                if error.is_nan() {
                    f64::NAN
                } else {
                    worst.max(error)
                }
            });
    assert!(worst <= tolerance, "{what}: off by {worst:e}");
}

fn number(case: &Value, key: &str) -> f64 {
    case[key].as_f64().unwrap_or_else(|| panic!("{key}"))
}

fn precisions(backend: Backend) -> Vec<(Precision, f64)> {
    match backend {
        Backend::Reference => vec![(Precision::F64, 1e-11)],
        _ => vec![(Precision::F64, 1e-11), (Precision::F32, 1e-5)],
    }
}

fn scheme(case: &Value) -> Scheme {
    if number(case, "order") == 1.0 {
        Scheme::Upwind
    } else {
        Scheme::VanLeer
    }
}

#[test]
fn the_schemes_shocks_are_reproduced() {
    let cases: Value = serde_json::from_str(&data("scheme_public.json")).unwrap();
    for (name, case) in cases.as_object().unwrap() {
        if !name.starts_with("shock") {
            continue;
        }
        let length = number(case, "L");
        let across = number(case, "nvt") as usize;
        let mut velocities = vec![number(case, "nvx") as usize];
        if across > 0 {
            velocities.extend([across, across]);
        }
        let shock = Shock {
            mach: Mach::new(number(case, "Ma")).unwrap(),
            cells: number(case, "nx") as usize,
            sides: [0.5 * length; 2],
            velocities,
            cut: number(case, "cut"),
            gas: Gas::default(),
            conservative: case["cons"].as_bool().unwrap(),
        };
        let expected = table(&format!("{name}.csv"));
        for backend in backends() {
            for (precision, tolerance) in precisions(backend) {
                let config = SimulationConfig {
                    scheme: scheme(case),
                    compute: Compute::new(backend).with_precision(precision),
                    ..SimulationConfig::new(shock.problem().unwrap(), number(case, "dt"))
                };
                let mut simulation = Simulation::new(config).unwrap();
                simulation.advance(number(case, "steps") as u64).unwrap();
                let moments = simulation.moments().unwrap();
                let column = |key: &str, of: fn(&Moments) -> f64| {
                    let what = format!("{name}, {backend}, {precision}: {key}");
                    close(&what, moments.iter().map(of), &expected[key], tolerance);
                };
                column("n", |m| m.density);
                column("u", |m| m.velocity[0]);
                column("T", |m| m.temperature);
                column("q", |m| m.heat_flux[0]);
                column("pxx", |m| m.pressure[0]);
            }
        }
    }
}

#[test]
fn the_schemes_cavity_is_reproduced() {
    let cases: Value = serde_json::from_str(&data("scheme_public.json")).unwrap();
    let case = &cases["cavity_red"];
    let expected = table("cavity_red.csv");
    let half = number(case, "vmax");
    let axis = Axis::uniform(number(case, "nv") as usize, -half, half).unwrap();
    let cavity = Cavity {
        lid: number(case, "U"),
        conservative: false,
        ..Cavity::with_axes(
            number(case, "delta"),
            number(case, "N") as usize,
            vec![axis.clone(), axis],
        )
        .unwrap()
    };
    let dt = number(case, "dt");
    for backend in backends() {
        for (precision, tolerance) in precisions(backend) {
            let config = SimulationConfig {
                scheme: scheme(case),
                relaxed: false,
                compute: Compute::new(backend).with_precision(precision),
                ..SimulationConfig::new(cavity.problem().unwrap(), dt)
            };
            let mut simulation = Simulation::new(config).unwrap();
            simulation
                .advance((number(case, "tend") / dt).round() as u64)
                .unwrap();
            let moments = simulation.streamed_moments().unwrap();
            let column = |key: &str, of: fn(&Moments) -> f64| {
                let what = format!("{backend}, {precision}: {key}");
                close(&what, moments.iter().map(of), &expected[key], tolerance);
            };
            column("n", |m| m.density);
            column("ux", |m| m.velocity[0]);
            column("uy", |m| m.velocity[1]);
            column("T", |m| m.temperature);
            column("pxy", |m| m.pressure[2]);
            let fluxes = simulation.face_fluxes().unwrap();
            let results = cavity.results(&simulation.moments().unwrap(), &fluxes[3]);
            // The lid's speed is what these are divided by.
            let tolerance = tolerance / number(case, "U");
            for (found, key) in [
                (results.drag_wall, "D_wall"),
                (results.drag_cell, "D_cell"),
                (results.flow, "G"),
            ] {
                let error = (found - number(case, key)).abs();
                assert!(
                    error < tolerance,
                    "{backend}, {precision}: {key} off by {error:e}"
                );
            }
        }
    }
}

/// Shows the mass of the gas, in cells.
fn mass(moments: &[Moments]) -> f64 {
    moments.iter().map(|m| m.density).sum()
}

/// Small problems that together have every kind of boundary, of velocity space and of model.
pub(crate) fn assorted() -> Vec<(&'static str, Problem, f64)> {
    let axis = |n| Axis::uniform(n, -4.4, 4.4).unwrap();
    let shakhov = Gas {
        model: Model::Shakhov,
        ..Gas::default()
    };
    let wall = |temperature: f64, along: [f64; 2], accommodation: f64| {
        Boundary::Wall(Wall {
            temperature,
            velocity: along,
            accommodation,
        })
    };
    let lump = |x: f64, y: f64| State {
        density: 1.0 + 0.3 * (x - y).sin(),
        velocity: [0.1 * x.cos(), 0.2 * y.sin()],
        temperature: 1.0 + 0.2 * (x + 2.0 * y).cos(),
    };
    let line = |x: f64, _: f64| State {
        velocity: [0.1 * x.cos(), 0.0],
        ..lump(x, 0.3)
    };
    let tube = Space::line(37, [0.0, 4.0]).unwrap();
    let square = Space::rectangle([17, 9], [0.0, 2.0], [-0.5, 1.5]).unwrap();
    let periodic = Boundaries::line(Boundary::Periodic, Boundary::Periodic);
    let box_of = |left, right, bottom, top| Boundaries {
        left,
        right,
        bottom,
        top,
    };
    let still = wall(1.0, [0.0; 2], 1.0);
    vec![
        (
            "plates, reduced",
            Problem::new(
                tube,
                VelocitySpace::new(vec![axis(11)], 1).unwrap(),
                shakhov,
                Boundaries::line(wall(1.1, [0.0; 2], 1.0), wall(0.9, [0.0; 2], 0.6)),
                line,
            )
            .unwrap(),
            0.3,
        ),
        (
            "mirror and wall, full",
            Problem::new(
                tube,
                VelocitySpace::new(vec![axis(10), axis(9), axis(8)], 1).unwrap(),
                shakhov,
                Boundaries::line(Boundary::Specular, wall(1.2, [0.0; 2], 1.0)),
                line,
            )
            .unwrap(),
            0.1,
        ),
        (
            "periodic line",
            Problem::new(
                tube,
                VelocitySpace::new(vec![axis(12)], 1).unwrap(),
                Gas::default(),
                periodic,
                line,
            )
            .unwrap(),
            0.37,
        ),
        (
            "plates, reduced by v_z alone",
            Problem::new(
                tube,
                VelocitySpace::new(vec![axis(11), axis(9)], 1).unwrap(),
                shakhov,
                Boundaries::line(wall(1.1, [0.0; 2], 0.7), wall(0.9, [0.0; 2], 1.0)),
                line,
            )
            .unwrap(),
            0.3,
        ),
        (
            "sheared gas between plates",
            Problem::uniform(
                tube,
                VelocitySpace::new(vec![axis(10), axis(11)], 2).unwrap(),
                shakhov,
                Boundaries::line(wall(1.0, [0.0, -0.2], 1.0), wall(1.0, [0.0, 0.2], 0.8)),
                State::REST,
            )
            .unwrap(),
            0.09,
        ),
        (
            "cavity, reduced, partly smooth walls",
            Problem::new(
                square,
                VelocitySpace::new(vec![axis(10), axis(12)], 2).unwrap(),
                shakhov,
                box_of(
                    still,
                    wall(1.1, [0.0, 0.1], 0.7),
                    wall(0.9, [-0.1, 0.0], 0.5),
                    wall(1.0, [0.3, 0.0], 1.0),
                ),
                lump,
            )
            .unwrap(),
            0.06,
        ),
        (
            "channel of a full gas between smooth walls, some cells a step",
            Problem::new(
                square,
                VelocitySpace::new(vec![axis(8), axis(7), axis(7)], 2).unwrap(),
                Gas::default(),
                box_of(
                    wall(1.1, [0.0, 0.1], 0.4),
                    Boundary::Specular,
                    wall(0.9, [-0.1, 0.0], 0.7),
                    wall(1.0, [0.3, 0.0], 0.2),
                ),
                lump,
            )
            .unwrap(),
            0.09,
        ),
        (
            "cavity, full",
            Problem::new(
                square,
                VelocitySpace::new(vec![axis(8), axis(9), axis(8)], 2).unwrap(),
                Gas::default(),
                box_of(
                    still,
                    wall(1.1, [0.0, 0.1], 0.6),
                    wall(0.9, [0.0; 2], 0.4),
                    wall(1.0, [0.3, 0.0], 1.0),
                ),
                lump,
            )
            .unwrap(),
            0.02,
        ),
        (
            "box of a full gas with an inflow, whose fastest molecules cross a cell",
            Problem::new(
                Space::rectangle([20, 12], [0.0, 2.0], [-0.6, 0.6]).unwrap(),
                VelocitySpace::new(vec![axis(8), axis(9), axis(7)], 2).unwrap(),
                Gas::default(),
                box_of(
                    still,
                    Boundary::Inflow(State::along_x(1.1, -0.2, 0.9)),
                    wall(1.1, [0.0; 2], 1.0),
                    wall(1.0, [0.3, 0.0], 1.0),
                ),
                lump,
            )
            .unwrap(),
            0.1 / axis(9).fastest(),
        ),
        (
            "box of a full gas with an odd number of velocities on either side",
            Problem::new(
                square,
                VelocitySpace::new(vec![axis(8), axis(8), axis(14)], 2).unwrap(),
                Gas::default(),
                box_of(
                    still,
                    wall(1.1, [0.0, 0.1], 1.0),
                    Boundary::Specular,
                    wall(1.0, [0.3, 0.0], 1.0),
                ),
                lump,
            )
            .unwrap(),
            0.05,
        ),
        (
            "channel with an inflow and a mirror",
            Problem::new(
                square,
                VelocitySpace::new(vec![axis(10), axis(10)], 2).unwrap(),
                Gas {
                    frequency: 0.0,
                    ..Gas::default()
                },
                box_of(
                    Boundary::Inflow(State::along_x(1.0, 0.4, 1.0)),
                    Boundary::Inflow(State::along_x(0.8, 0.4, 1.0)),
                    Boundary::Specular,
                    wall(1.0, [0.0; 2], 1.0),
                ),
                lump,
            )
            .unwrap(),
            0.05,
        ),
        (
            "torus",
            Problem::new(
                square,
                VelocitySpace::new(vec![axis(8), axis(8), axis(8)], 2).unwrap(),
                shakhov,
                box_of(
                    Boundary::Periodic,
                    Boundary::Periodic,
                    Boundary::Periodic,
                    Boundary::Periodic,
                ),
                lump,
            )
            .unwrap(),
            0.04,
        ),
    ]
}

/// A march over a plane keeps partial sums from step to step, which a checkpoint has not, and which looking at the moments takes the place of.
#[test]
fn every_kind_of_problem_goes_on_to_the_same_bits_from_a_checkpoint_and_when_looked_at() {
    for (name, problem, dt) in assorted() {
        for backend in backends() {
            for (precision, _) in precisions(backend) {
                let scheme = match precision {
                    Precision::F32 => Scheme::Upwind,
                    _ => Scheme::VanLeer,
                };
                let what = format!("{name}, {scheme:?}, {backend}, {precision}");
                let begin = || {
                    let config = SimulationConfig {
                        scheme,
                        compute: Compute::new(backend).with_precision(precision),
                        relaxed: false,
                        ..SimulationConfig::new(problem.clone(), dt)
                    };
                    let mut simulation = Simulation::new(config).unwrap();
                    simulation.advance(1).unwrap();
                    simulation
                };
                let end = |mut simulation: Simulation| {
                    simulation.advance(1).unwrap();
                    simulation.state().unwrap()
                };
                let mut kept = begin();
                let checkpoint = kept.checkpoint().unwrap();
                let expected = end(kept);
                let resumed = end(Simulation::resume(checkpoint).unwrap());
                assert!(resumed == expected, "{what}: from a checkpoint");
                let mut looked_at = begin();
                looked_at.moments().unwrap();
                looked_at.face_fluxes().unwrap();
                assert!(end(looked_at) == expected, "{what}: looked at");
            }
        }
    }
}

#[test]
fn all_backends_agree_on_every_kind_of_problem() {
    for (name, problem, dt) in assorted() {
        let velocity = &problem.velocity;
        let reductions: &[bool] = match velocity.axes().len() > velocity.flow() {
            true => &[true, false],
            false => &[true],
        };
        let schemes = [Scheme::Upwind, Scheme::VanLeer].into_iter();
        // The nodes that a symmetry saves do not know the scheme: one of them computes all.
        let runs = schemes.flat_map(|scheme| reductions.iter().map(move |&r| (scheme, r)));
        for (scheme, symmetry_reduction) in
            runs.filter(|&(scheme, reduced)| reduced || scheme == Scheme::VanLeer)
        {
            let run = |backend, precision| {
                let config = SimulationConfig {
                    scheme,
                    compute: Compute::new(backend).with_precision(precision),
                    symmetry_reduction,
                    relaxed: false,
                    ..SimulationConfig::new(problem.clone(), dt)
                };
                let mut simulation = Simulation::new(config).unwrap();
                // The second step starts from the result of the first.
                simulation.advance(2).unwrap();
                (
                    simulation.moments().unwrap(),
                    simulation.face_fluxes().unwrap(),
                )
            };
            let (expected, fluxes) = run(Backend::Reference, Precision::F64);
            for backend in backends() {
                for (precision, tolerance) in precisions(backend) {
                    let (found, found_fluxes) = run(backend, precision);
                    let tolerance = 10.0 * tolerance;
                    let what = format!(
                        "{name}, {scheme:?}, {backend}, {precision}, symmetry reduction: {symmetry_reduction}"
                    );
                    let column = |key: &str, of: fn(&Moments) -> f64| {
                        let expected: Vec<f64> = expected.iter().map(of).collect();
                        close(
                            &format!("{what}: {key}"),
                            found.iter().map(of),
                            &expected,
                            tolerance,
                        );
                    };
                    column("n", |m| m.density);
                    column("ux", |m| m.velocity[0]);
                    column("uy", |m| m.velocity[1]);
                    column("T", |m| m.temperature);
                    column("Pxx", |m| m.pressure[0]);
                    column("Pyy", |m| m.pressure[1]);
                    column("Pxy", |m| m.pressure[2]);
                    column("qx", |m| m.heat_flux[0]);
                    column("qy", |m| m.heat_flux[1]);
                    for (found, expected) in found_fluxes.iter().zip(&fluxes) {
                        let parts = |f: &rarefy::bgk::FaceFlux| {
                            [f.mass, f.momentum[0], f.momentum[1], f.energy]
                        };
                        close(
                            &format!("{what}: faces"),
                            parts(found).into_iter(),
                            &parts(expected),
                            tolerance,
                        );
                    }
                    // The emulator is slow, and the test above compares two of its runs.
                    assert!(
                        backend == Backend::Emulator || found == run(backend, precision).0,
                        "{what}: two runs differ"
                    );
                }
            }
        }
    }
}

/// A gas whose molecules fly up more than down, and to one side more than to the other, though as a whole it rests in these directions.
#[test]
fn populations_that_are_not_even_are_all_kept() {
    let axis = |n| Axis::uniform(n, -4.4, 4.4).unwrap();
    let velocity = VelocitySpace::new(vec![axis(10), axis(8), axis(7)], 1).unwrap();
    let problem = Problem::uniform(
        Space::line(4, [0.0, 1.0]).unwrap(),
        velocity,
        Gas::default(),
        Boundaries::line(Boundary::Periodic, Boundary::Periodic),
        State::REST,
    )
    .unwrap();
    let (dt, steps, cells) = (0.1, 4, problem.space.cells());
    for backend in backends() {
        let config = SimulationConfig {
            compute: backend.into(),
            relaxed: false,
            ..SimulationConfig::new(problem.clone(), dt)
        };
        let mut start = Simulation::new(config).unwrap().checkpoint().unwrap();
        assert_eq!(start.populations.len(), problem.velocity.nodes() * cells);
        let even = start.populations.clone();
        let odd = |jy: usize, m: usize| {
            let sign = |j: usize, n: usize| (2 * j as i32 - (n as i32 - 1)).signum();
            0.1 * f64::from(sign(jy, 8) + 2 * sign(m, 7))
        };
        for (node, f) in start.populations.chunks_exact_mut(cells).enumerate() {
            let share = odd(node / 7 % 8, node % 7);
            f.iter_mut().for_each(|f| *f *= 1.0 + share);
        }
        let mut run = Simulation::resume(start.clone()).unwrap();
        run.advance(steps).unwrap();
        let (left, found) = (
            (-dt * steps as f64).exp(),
            run.checkpoint().unwrap().populations,
        );
        let expected: Vec<f64> = even
            .iter()
            .enumerate()
            .map(|(at, f)| f * (1.0 + left * odd(at / cells / 7 % 8, at / cells % 7)))
            .collect();
        let what = format!("{backend}: what is odd decays with the collision frequency");
        close(&what, found.iter().copied(), &expected, 1e-14);

        // Even ones are kept once and look as if all were there.
        start.populations = even.clone();
        start.extra.clear();
        let mut run = Simulation::resume(start).unwrap();
        run.advance(steps).unwrap();
        let found = run.state().unwrap();
        close(&format!("{backend}"), found.into_iter(), &even, 1e-14);
    }
}

#[test]
fn closed_vessels_keep_their_mass_at_any_courant_number() {
    for (name, problem, dt) in assorted() {
        if name.contains("inflow") {
            continue;
        }
        for factor in [1.0, 5.0, 11.0] {
            let courant = SimulationConfig::new(problem.clone(), factor * dt).courant();
            if courant > 10.0 {
                continue;
            }
            for scheme in [Scheme::Upwind, Scheme::VanLeer] {
                for backend in backends() {
                    let config = SimulationConfig {
                        scheme,
                        compute: backend.into(),
                        ..SimulationConfig::new(problem.clone(), factor * dt)
                    };
                    let mut simulation = Simulation::new(config).unwrap();
                    let before = mass(&simulation.moments().unwrap());
                    // An emulated step takes as long as ten others.
                    let steps = if backend == Backend::Emulator { 1 } else { 4 };
                    simulation.advance(steps).unwrap();
                    let after = mass(&simulation.moments().unwrap());
                    let error = (after / before - 1.0).abs();
                    assert!(
                        error < 1e-14,
                        "{name}, Courant number {courant}, {scheme:?}, {backend}: {error:e}"
                    );
                    for flux in simulation.face_fluxes().unwrap() {
                        assert!(flux.mass.abs() < 1e-14, "{name}, {backend}: {flux:?}");
                    }
                }
            }
        }
    }
}

/// The paper's two kernels and the fused pass take the same steps, with all populations of a block on the chip, in registers or in shared memory too. More
/// than it has room for are refused.
#[test]
fn the_papers_kernels_take_the_same_steps() {
    for (cells, velocities, dt) in [
        (300, vec![14], 0.3),
        (301, vec![13, 8, 9], 0.05),
        (39, vec![18, 19, 17], 0.05),
        (11, vec![32, 32, 33], 0.05),
    ] {
        let shock = Shock {
            cells,
            sides: [15.0; 2],
            velocities,
            conservative: false,
            ..Shock::new(1.5).unwrap()
        };
        let problem = shock.problem().unwrap();
        let config = SimulationConfig {
            scheme: Scheme::Upwind,
            compute: Backend::Cpu.into(),
            ..SimulationConfig::new(problem.clone(), dt)
        };
        let mut simulation = Simulation::new(config).unwrap();
        simulation.advance(3).unwrap();
        let states = simulation.states().unwrap();
        let compare = |[n, u, t]: [Vec<f64>; 3], tolerance: f64| {
            close("n", states.iter().map(|s| s.density), &n, tolerance);
            close("u", states.iter().map(|s| s.velocity[0]), &u, tolerance);
            close("T", states.iter().map(|s| s.temperature), &t, tolerance);
        };
        let emulated = three_steps::<_, f64>(Emulator::default(), &problem, dt);
        assert_eq!(emulated.is_some(), cells > 11);
        let on_device = support::device().map(|device| {
            [
                three_steps::<_, f64>(device.clone(), &problem, dt).map(|fields| (fields, 1e-12)),
                three_steps::<_, f32>(device, &problem, dt).map(|fields| (fields, 1e-5)),
            ]
        });
        let emulated = emulated.map(|fields| (fields, 1e-12));
        for (fields, tolerance) in emulated
            .into_iter()
            .chain(on_device.into_iter().flatten().flatten())
        {
            compare(fields, tolerance);
        }
    }
}

/// Density, velocity and temperature after three steps by the paper's kernels; none where the chip has no room for so many velocities.
fn three_steps<M: Machine, T: Real>(
    machine: M,
    problem: &Problem,
    dt: f64,
) -> Option<[Vec<f64>; 3]> {
    match SeparateKernels::<M, T>::new(machine, problem, dt) {
        Ok(mut separate) => {
            separate.advance(3).unwrap();
            Some(separate.fields().unwrap())
        }
        Err(error) => {
            assert!(error.to_string().contains("fewer velocities"), "{error}");
            None
        }
    }
}

/// The command, run in a folder; it must succeed.
fn run(folder: &Path, arguments: &[&str]) -> Value {
    object(&done(folder, arguments))
}

#[test]
fn rarefy_shock_writes_what_it_promises_and_goes_on_to_the_same_bits() {
    let folder = tempfile::tempdir().unwrap();
    let folder = folder.path();
    let common = [
        "shock",
        "--mach",
        "1.5",
        "--cells",
        "160",
        "--length",
        "32",
        "--reduced",
        "--json",
        "--quiet",
        "--overwrite",
    ];
    for (backend, precision) in [
        ("cpu", "f64"),
        ("cpu", "f32"),
        ("emulator", "f32"),
        ("reference", "f64"),
    ] {
        let with = |rest: &[&str]| {
            let mut all = common.to_vec();
            all.extend(["--backend", backend, "--precision", precision]);
            all.extend(rest);
            run(folder, &all)
        };
        let whole = with(&["--steps", "60", "--out", "whole"]);
        with(&["--steps", "23", "--checkpoint-every", "10", "--out", "part"]);
        let resumed = run(
            folder,
            &[
                "shock",
                "--resume",
                "part/checkpoint.rarefy",
                "--steps",
                "60",
                "--json",
                "--quiet",
                "--out",
                "rest",
                "--overwrite",
            ],
        );
        assert_eq!(whole["result"], resumed["result"], "{backend}, {precision}");
        let read = |name: &str| std::fs::read_to_string(folder.join(name)).unwrap();
        assert_eq!(
            read("whole/profile.csv"),
            read("rest/profile.csv"),
            "{backend}, {precision}"
        );
        // Its history is that of the whole run, whatever step it was saved at.
        assert_eq!(
            read("whole/history.csv"),
            read("rest/history.csv"),
            "{backend}, {precision}"
        );
        assert!(
            read("whole/profile.csv").starts_with("x,density,velocity,temperature,pxx,heat_flux\n")
        );
        assert_eq!(whole["parameters"]["backend"], backend);
        for file in ["profile.png", "history.csv", "run.json"] {
            assert!(folder.join("whole").join(file).exists(), "{file}");
        }
    }
}

#[test]
fn rarefy_cavity_writes_what_it_promises() {
    let folder = tempfile::tempdir().unwrap();
    let folder = folder.path();
    let report = run(
        folder,
        &[
            "cavity",
            "--delta",
            "1",
            "--cells",
            "16",
            "--velocities",
            "12x12",
            "--vmax",
            "3.2",
            "--reduced",
            "--scheme",
            "upwind",
            "--no-correction",
            "--dt",
            "0.03",
            "--steps",
            "20",
            "--backend",
            "cpu",
            "--out",
            "cavity",
            "--json",
            "--quiet",
        ],
    );
    let cases: Value = serde_json::from_str(&data("scheme_public.json")).unwrap();
    for (key, expected) in [("D_wall", "D_wall"), ("D_cell", "D_cell"), ("G", "G")] {
        let error = (number(&report["result"], key) - number(&cases["cavity_red"], expected)).abs();
        assert!(error < 1e-9, "{key}: {error:e}");
    }
    assert!(number(&report["conservation"], "mass_drift").abs() < 1e-13 + 1e-4);
    for file in [
        "density.npy",
        "temperature.npy",
        "velocity.npy",
        "heat_flux.npy",
        "pxy.npy",
        "fields.vti",
        "vertical.csv",
        "horizontal.csv",
        "profiles.png",
        "streamlines.png",
        "temperature.png",
        "run.json",
    ] {
        assert!(folder.join("cavity").join(file).exists(), "{file}");
    }
}

#[test]
fn bad_input_is_refused_in_one_line() {
    let folder = tempfile::tempdir().unwrap();
    let folder = folder.path();
    run(
        folder,
        &[
            "shock",
            "--mach",
            "2",
            "--cells",
            "60",
            "--reduced",
            "--steps",
            "2",
            "--checkpoint-every",
            "1",
            "--backend",
            "cpu",
            "--out",
            "saved",
            "--json",
            "--quiet",
        ],
    );
    for (arguments, why) in [
        (&["shock", "--mach", "1"][..], "above 1"),
        (&["shock", "--mach", "nan"], "finite"),
        (&["shock", "--velocities", "8", "--reduced"], "too coarse"),
        (&["shock", "--vmax", "2", "--reduced"], "too narrow"),
        (&["shock", "--dt", "100", "--reduced"], "smaller time step"),
        (
            &["shock", "--dt", "1e-300", "--reduced"],
            "expected at least",
        ),
        (
            &["cavity", "--dt", "1e-300", "--reduced"],
            "expected at least",
        ),
        (
            &["cavity", "--dt", "1e-9", "--precision", "f32", "--reduced"],
            "expected at least",
        ),
        (
            &["shock", "--model", "bgk", "--prandtl", "0.6"],
            "--model shakhov",
        ),
        (&["shock", "--length", "10", "--upstream", "12"], "shorter"),
        (
            &["shock", "--gas", "argon", "--pressure", "10"],
            "--temperature",
        ),
        (&["cavity", "--delta", "0"], "positive"),
        (&["cavity", "--delta", "-1"], "positive"),
        (&["cavity", "--accommodation", "1.5"], "between 0 and 1"),
        (&["cavity", "--vmax", "2", "--reduced"], "too narrow"),
        (
            &["cavity", "--resume", "saved/checkpoint.rarefy"],
            "rarefy shock",
        ),
        (
            &[
                "shock",
                "--resume",
                "saved/checkpoint.rarefy",
                "--mach",
                "3",
            ],
            "as the checkpoint's run has",
        ),
        (
            &["shock", "--resume", "saved/checkpoint.rarefy"],
            "later --steps",
        ),
    ] {
        refused(folder, arguments, why);
    }
}

/// Against the converged profiles, at the resolution and tolerance of their documentation.
#[test]
fn shock_profiles_are_the_converged_ones() {
    let tables: Value = serde_json::from_str(&data("shock_public.json")).unwrap();
    for (name, table) in tables.as_object().unwrap() {
        let mach = number(table, "Ma");
        let mut shock = Shock {
            cells: 400,
            sides: [28.0, 12.0],
            ..Shock::new(mach).unwrap()
        };
        if number(table, "Pr") < 1.0 {
            shock.gas.model = Model::Shakhov;
        }
        let config = SimulationConfig {
            compute: Backend::Cpu.into(),
            ..SimulationConfig::new(shock.problem().unwrap(), 0.05)
        };
        let mut simulation = Simulation::new(config).unwrap();
        simulation.advance(1200).unwrap();
        let space = simulation.config().problem.space;
        let profile =
            rarefy::bgk::ShockProfile::new(shock.mach, &space, &simulation.moments().unwrap())
                .unwrap();
        let column = |key: &str| -> Vec<f64> {
            let values = table[key].as_array().unwrap();
            values.iter().map(|v| v.as_f64().unwrap()).collect()
        };
        let (x, n, tt) = (column("x"), column("N"), column("TT"));
        for ((x, n), tt) in x.iter().zip(n).zip(tt) {
            let [found_n, found_tt, _] = profile.at(*x);
            assert!(
                (found_n - n).abs() < 0.002,
                "{name}: N({x}) = {found_n}, not {n}"
            );
            assert!(
                (found_tt - tt).abs() < 0.002,
                "{name}: TT({x}) = {found_tt}, not {tt}"
            );
        }
        // Positions outside the profile's own interpolation; between cells of 0.1 l0 straight lines are good to 1e-3.
        let least = number(table, "q_min_fine");
        let after = shock.mach.downstream();
        let before = shock.mach.upstream();
        let jump = after.velocity[0] - before.velocity[0];
        let (q, u, pxx) = (column("q"), column("U"), column("pxx"));
        for (k, x) in x.iter().enumerate() {
            let last = profile.points.len() - 1;
            let i = profile.points.partition_point(|p| p.x < *x).clamp(1, last);
            let (a, b) = (&profile.points[i - 1], &profile.points[i]);
            let share = (x - a.x) / (b.x - a.x);
            let at = |of: fn(&rarefy::bgk::ShockPoint) -> f64| of(a) + share * (of(b) - of(a));
            for (what, found, expected, scale) in [
                ("q", profile.at(*x)[2], q[k], least.abs()),
                (
                    "U",
                    (at(|p| p.velocity) - before.velocity[0]) / jump,
                    u[k],
                    1.0,
                ),
                (
                    "pxx",
                    at(|p| p.pxx),
                    pxx[k],
                    after.density * after.temperature,
                ),
            ] {
                assert!(
                    (found - expected).abs() < 0.004 * scale,
                    "{name}: {what}({x}) = {found}, not {expected}"
                );
            }
        }
        let extremes = profile.extremes();
        assert!(
            (extremes.least_heat_flux / least - 1.0).abs() < 0.005,
            "{name}: {extremes:?}"
        );
        // As for the temperature anywhere.
        assert!(
            (extremes.largest_temperature - number(table, "Tmax_norm")).abs() < 0.002,
            "{name}: {extremes:?}"
        );
        let thickness = number(table, "thickness_l0");
        let error = (profile.thickness() / thickness - 1.0).abs();
        assert!(error < 0.005, "{name}: thickness off by {error}");
    }
}

/// A uniform gas stays as it is, whatever the time step; without collisions a jump spreads as the error function.
#[test]
fn equilibrium_stays_and_free_flight_is_exact() {
    let state = State {
        density: 1.3,
        velocity: [0.4, -0.2],
        temperature: 0.9,
    };
    let axis = Axis::uniform(16, -5.0, 5.0).unwrap();
    let periodic = Boundary::Periodic;
    for dt in [0.01, 0.7] {
        let problem = Problem::uniform(
            Space::rectangle([12, 12], [0.0, 6.0], [0.0, 6.0]).unwrap(),
            VelocitySpace::new(vec![axis.clone(), axis.clone()], 2).unwrap(),
            Gas::default(),
            Boundaries {
                left: periodic,
                right: periodic,
                bottom: periodic,
                top: periodic,
            },
            state,
        )
        .unwrap();
        for backend in backends() {
            let config = SimulationConfig {
                compute: backend.into(),
                ..SimulationConfig::new(problem.clone(), dt)
            };
            let mut simulation = Simulation::new(config).unwrap();
            simulation.advance(4).unwrap();
            for found in simulation.states().unwrap() {
                assert!(
                    (found.density - 1.3).abs() < 1e-13,
                    "{backend}, {dt}: {found:?}"
                );
                assert!((found.velocity[0] - 0.4).abs() < 1e-13);
                assert!((found.velocity[1] + 0.2).abs() < 1e-13);
                assert!((found.temperature - 0.9).abs() < 1e-13);
            }
        }
    }
    let (left, right) = (State::along_x(1.0, 0.0, 1.0), State::along_x(0.4, 0.0, 1.5));
    let problem = Problem::new(
        Space::line(400, [-10.0, 10.0]).unwrap(),
        VelocitySpace::new(vec![Axis::uniform(200, -6.0, 6.0).unwrap()], 1).unwrap(),
        Gas {
            frequency: 0.0,
            ..Gas::default()
        },
        Boundaries::line(Boundary::Inflow(left), Boundary::Inflow(right)),
        |x, _| if x < 0.0 { left } else { right },
    )
    .unwrap();
    let mut simulation = Simulation::new(SimulationConfig {
        compute: Backend::Cpu.into(),
        ..SimulationConfig::new(problem, 0.05)
    })
    .unwrap();
    simulation.advance(40).unwrap();
    for (i, found) in simulation.states().unwrap().iter().enumerate() {
        let x = -10.0 + (i as f64 + 0.5) * 0.05;
        let exact = 0.5 * libm::erfc(x / 2.0) + 0.2 * libm::erfc(-x / (2.0 * 1.5f64.sqrt()));
        assert!(
            (found.density - exact).abs() < 2e-3,
            "n({x}) = {}, not {exact}",
            found.density
        );
    }
}
