//! Several devices of one host: the bits of one, in the order of the items. Emulators are as many devices as a test wants.

use std::fs;

use rarefy::bgk::{
    Axis, Boundaries, Boundary, Checkpoint, Gas, Problem, Simulation, SimulationConfig, Space,
    State, VelocitySpace, Wall,
};
use rarefy::collision::{OperatorConfig, VelocityGrid, collide_batch, initial};
use rarefy::isotropic::{self, CollisionKernel, EnergyGrid};
use rarefy::longman::Task;
use rarefy::machine::Machine;
use rarefy::signed_digit::float::ExactEngine;
use rarefy::{Backend, Compute, Devices, Precision};

use crate::command::{done, folder, rarefy, refused, text};
use crate::support;

fn emulators(number: usize) -> Compute {
    Compute::new(Backend::Emulator).with_devices(Devices::Number(number))
}

#[test]
fn a_device_copies_from_another_of_the_process() {
    let (Some(first), Some(second)) = (support::device(), support::device()) else {
        return;
    };
    let numbers: Vec<f64> = (0..1000).map(f64::from).collect();
    let buffer = first.upload(&numbers).unwrap();
    let post = Machine::post(&first, &buffer).unwrap().expect("a post");
    let copied = std::thread::scope(|scope| {
        let copy = scope.spawn(|| {
            let mut into = second.upload(&[0.0; 500]).unwrap();
            Machine::copy_from(&second, &post, 300..600, &mut into, 100).unwrap();
            let refused = Machine::copy_from(&second, &post, 900..1001, &mut into, 0);
            let text = refused.unwrap_err().to_string();
            assert!(
                text.contains("elements 900..1001 of 1000 do not fit 500"),
                "{text}"
            );
            assert!(Machine::copy_from(&second, &post, 0..300, &mut into, 201).is_err());
            let mark = Machine::post(&second, &into).unwrap().expect("a mark");
            Machine::wait_for(&first, &mark).unwrap();
            let mut back = [0.0; 500];
            second.read(&into, &mut back).unwrap();
            back
        });
        copy.join().unwrap()
    });
    assert_eq!(copied[100..400], numbers[300..600]);
    assert!(
        copied[..100]
            .iter()
            .chain(&copied[400..])
            .all(|x| *x == 0.0)
    );
}

/// A stirred line or plane between walls.
fn flow(plane: bool) -> Problem {
    let axis = |n| Axis::uniform(n, -4.0, 4.0).unwrap();
    let wall = |speed| Boundary::Wall(Wall::diffuse(1.1).moving([0.0, speed]));
    let (space, axes, flow) = if plane {
        (
            Space::rectangle([8, 13], [0.0, 1.0], [0.0, 1.6]),
            vec![axis(6), axis(6)],
            2,
        )
    } else {
        (
            Space::line(33, [0.0, 1.0]),
            vec![axis(6), axis(6), axis(6)],
            1,
        )
    };
    let mut boundaries = Boundaries::line(wall(0.0), Boundary::Specular);
    if plane {
        boundaries.bottom = wall(0.0);
        boundaries.top = Boundary::Wall(Wall::diffuse(1.0).moving([0.3, 0.0]));
    }
    let state = |x: f64, y: f64| State {
        density: 1.0 + 0.1 * (9.0 * x + 3.0 * y).sin(),
        velocity: [0.2 * (7.0 * x).cos(), 0.0],
        temperature: 1.0 + 0.1 * (5.0 * y).cos(),
    };
    let velocity = VelocitySpace::new(axes, flow).unwrap();
    Problem::new(space.unwrap(), velocity, Gas::default(), boundaries, state).unwrap()
}

#[test]
fn flows_over_devices_are_those_of_one() {
    for plane in [false, true] {
        let run = |devices: usize, from: Option<Checkpoint>| {
            let mut config = SimulationConfig::new(flow(plane), 0.02);
            config.compute = emulators(devices).with_precision(Precision::F32);
            let mut simulation = match from {
                None => Simulation::new(config).unwrap(),
                Some(mut checkpoint) => {
                    checkpoint.config.compute = config.compute;
                    Simulation::resume(checkpoint).unwrap()
                }
            };
            let name = match devices {
                1 => "emulator".to_owned(),
                _ => format!("{devices} ranks, each emulator"),
            };
            assert_eq!(simulation.device(), name);
            simulation.advance(2).unwrap();
            let half = simulation.checkpoint().unwrap();
            simulation.advance(3).unwrap();
            (
                half,
                simulation.checkpoint().unwrap(),
                simulation.moments().unwrap(),
            )
        };
        let (half, end, moments) = run(1, None);
        for devices in [2, 3] {
            let (same_half, same_end, same_moments) = run(devices, None);
            assert_eq!(
                (same_half.populations, &same_half.extra),
                (half.populations.clone(), &half.extra)
            );
            assert_eq!(
                (&same_end.populations, &same_moments),
                (&end.populations, &moments)
            );
        }
        // Any number of devices goes on with any checkpoint.
        let (_, from_one, _) = run(3, Some(half));
        let (two, _, _) = run(2, None);
        let (_, from_two, _) = run(1, Some(two));
        assert_eq!(from_one.populations, from_two.populations);
    }
}

#[test]
fn batches_over_devices_are_those_of_one() {
    let grid = VelocityGrid::new(6, -5.0, 5.0).unwrap();
    let f: Vec<f64> = (0..5)
        .flat_map(|k| {
            initial::Bkw::new(0.6 + 0.08 * f64::from(k))
                .unwrap()
                .sample(&grid)
        })
        .collect();
    let collided = |devices: usize| {
        let config = OperatorConfig {
            compute: emulators(devices),
            ..OperatorConfig::new(grid)
        };
        collide_batch(&config, &f).unwrap()
    };
    let expected = collided(1);
    assert!(collided(2) == expected && collided(3) == expected && collided(7) == expected);
}

#[test]
fn states_over_devices_are_those_of_one() {
    let grid = EnergyGrid::new(24, 12.0).unwrap();
    let states: Vec<Vec<f64>> = [0.6, 0.65, 0.7, 0.75, 0.8]
        .iter()
        .map(|k| isotropic::initial::bkw(&grid, *k))
        .collect();
    for precision in [Precision::F64, Precision::F32] {
        let run = |devices: usize| {
            let mut operator =
                isotropic::OperatorConfig::new(grid, CollisionKernel::Power { theta: 0.5 });
            operator.compute = emulators(devices).with_precision(precision);
            let config = isotropic::RelaxationConfig {
                every: 2,
                ..isotropic::RelaxationConfig::new(operator)
            };
            let mut run = isotropic::Relaxation::new(config, &states).unwrap();
            run.advance(5).unwrap();
            let histories: Vec<_> = (0..states.len()).map(|k| run.history(k).to_vec()).collect();
            (run.time_step(), run.states().unwrap(), histories)
        };
        let expected = run(1);
        for devices in [2, 3, 8] {
            assert!(run(devices) == expected, "{devices} devices in {precision}");
        }
    }
}

#[test]
fn integrals_over_devices_are_those_of_one() {
    let task = Task::oscillating("exp(-l*x)", "cos", "w", &[]).unwrap();
    let rates: Vec<f64> = (0..70).map(|k| 0.1 + 0.05 * f64::from(k)).collect();
    let run = |devices: usize| {
        let integrals = task.integrals().column("l", &rates[..]).column("w", &[2.0]);
        integrals.compute(emulators(devices)).integrate().unwrap()
    };
    let expected = run(1);
    assert_eq!(expected.len(), rates.len());
    assert!(run(2) == expected && run(3) == expected);
}

#[test]
fn sums_over_devices_are_those_of_one() {
    let x: Vec<f64> = (0..3001)
        .map(|k| f64::from(k).sin() * 10f64.powi(k % 60 - 30))
        .collect();
    let y: Vec<f64> = x.iter().rev().copied().collect();
    let of = |devices: usize| {
        let engine = ExactEngine::new(emulators(devices))
            .unwrap()
            .with_piece_bytes(4096);
        (
            engine.sum(&x).unwrap(),
            engine.dot(&x, &y).unwrap(),
            engine.sum_of_squares(&x).unwrap(),
            engine.sum(&x[..1]).unwrap(),
        )
    };
    let expected = of(1);
    assert_eq!(expected.0.count(), 3001);
    assert!(of(2) == expected && of(3) == expected);
    assert!(
        ExactEngine::new(emulators(3))
            .unwrap()
            .device()
            .starts_with("3 devices, each emulator")
    );
}

#[test]
fn the_command_divides_a_flow_and_a_batch() {
    let folder = folder();
    let shock =
        "shock --mach 1.5 --cells 40 --velocities 12x8x8 --steps 4 --backend emulator --quiet";
    for (devices, out) in [("1", "one"), ("2", "two")] {
        let line = format!("{shock} --devices {devices} --out {out}");
        let arguments: Vec<&str> = line.split_whitespace().collect();
        let output = rarefy(folder.path(), &arguments).output().unwrap();
        assert!(
            matches!(output.status.code(), Some(0 | 1)),
            "{}",
            text(&output.stderr)
        );
    }
    let read = |out: &str| fs::read(folder.path().join(out).join("profile.csv")).unwrap();
    assert_eq!(read("one"), read("two"));
    let record: serde_json::Value =
        serde_json::from_slice(&fs::read(folder.path().join("two/run.json")).unwrap()).unwrap();
    assert!(
        record["machine"]
            .to_string()
            .contains("2 ranks, each emulator"),
        "{record}"
    );
    assert!(
        record["parameters"].to_string().contains("\"devices\":2"),
        "{record}"
    );

    fs::write(folder.path().join("rows.csv"), "l,w\n1,2\n2,3\n0.5,1\n").unwrap();
    let table = |devices: &str| {
        let line = format!(
            "longman --amplitude exp(-l*x) --oscillator cos --frequency w --input rows.csv --output - --backend emulator --devices {devices}"
        );
        done(folder.path(), &line.split_whitespace().collect::<Vec<_>>()).stdout
    };
    assert_eq!(table("1"), table("3"));
}

#[test]
fn what_cannot_be_divided_is_refused_in_one_line() {
    let folder = folder();
    let refuse = |line: &str, why: &str| {
        refused(
            folder.path(),
            &line.split_whitespace().collect::<Vec<_>>(),
            why,
        );
    };
    let shock = "shock --mach 1.5 --velocities 12x8x8 --steps 2";
    refuse(
        &format!("{shock} --devices 2 --backend cpu"),
        "--devices: 2; expected 1 device with the backend cpu",
    );
    refuse(
        &format!("{shock} --devices 0"),
        "a number between 1 and 64, or all",
    );
    refuse(
        &format!("{shock} --devices some"),
        "a number between 1 and 64, or all",
    );
    refuse(
        &format!("{shock} --cells 20 --devices 9 --backend emulator"),
        "9 for 20 cells along x; expected fewer ranks",
    );
    refuse(
        "cavity --steady --cells 10 --devices 2 --backend emulator",
        "--devices: 2; expected 1 device",
    );
    refuse(
        "shock --mach 2 --steady --collision boltzmann --devices 2 --backend emulator",
        "--devices: 2; expected 1 device",
    );
    refuse(
        "relax --grid 6 --devices 2 --backend emulator",
        "--devices: 2; expected 1 device",
    );
}
