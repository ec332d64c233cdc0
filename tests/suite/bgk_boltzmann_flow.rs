//! Flows between walls by the Boltzmann equation: streaming, both kinds of steps, conservation.

use rarefy::bgk::boltzmann::{Flow, FlowConfig, Initial, Stepping};
use rarefy::bgk::{
    Boundaries, Boundary, Gas, Moments, Problem, Scheme, Simulation, SimulationConfig, Space,
    State, Wall,
};
use rarefy::collision::{CorrectionMethod, Method, Mirrors, OperatorConfig, VelocityGrid};
use rarefy::{Backend, Precision};

use crate::support;

/// A rectangle with one face of each kind that molecules come back from, or a line between two of them.
fn boundaries(dimensions: usize) -> Boundaries {
    let sliding = Wall {
        accommodation: 0.7,
        ..Wall::diffuse(1.2).moving([0.0, 0.3])
    };
    let line = Boundaries::line(Boundary::Wall(sliding), Boundary::Wall(Wall::diffuse(0.9)));
    match dimensions {
        1 => line,
        _ => Boundaries {
            bottom: Boundary::Specular,
            top: Boundary::Wall(Wall::diffuse(1.0).moving([0.2, 0.0])),
            ..line
        },
    }
}

/// A gas at no rest, with cells of which molecules cross up to two in a step of 0.1.
fn config(dimensions: usize, stepping: Stepping, step: f64) -> FlowConfig {
    let grid = VelocityGrid::new(8, -4.0, 4.0).unwrap();
    config_on(grid, [5, 4], (dimensions, stepping, step))
}

/// The same on other nodes and cells.
fn config_on(
    grid: VelocityGrid,
    cells: [usize; 2],
    (dimensions, stepping, step): (usize, Stepping, f64),
) -> FlowConfig {
    let space = match dimensions {
        1 => Space::line(cells[0], [0.0, 1.0]).unwrap(),
        _ => Space::rectangle(cells, [0.0, 1.0], [0.0, 1.2]).unwrap(),
    };
    let state = |x: f64, y: f64| State {
        density: 1.0 + 0.2 * x - 0.1 * y,
        velocity: [0.2 * x, 0.1 - 0.1 * y],
        temperature: 1.0 + 0.1 * x,
    };
    let mut config = FlowConfig::new(space, grid, boundaries(dimensions), step, state).unwrap();
    config.operator.method = Method::Fast;
    config.operator.correction = CorrectionMethod::Balanced;
    config.stepping = stepping;
    config.operator.compute.backend = Backend::Cpu;
    config
}

/// The distributions of all cells at the start.
fn start(config: &FlowConfig) -> Vec<f64> {
    config.distributions(0..config.space.cells()).unwrap()
}

fn after(config: &FlowConfig, steps: u64) -> Vec<f64> {
    let mut flow = Flow::new(config.clone()).unwrap();
    flow.advance(steps).unwrap();
    flow.state().unwrap()
}

/// Without collisions the steps are those of the models' solver, at walls and mirrors too, however many cells molecules pass.
#[test]
fn streaming_is_that_of_the_models() {
    for (dimensions, scheme, step) in [
        (1, Scheme::VanLeer, 0.1),
        (2, Scheme::VanLeer, 0.1),
        (2, Scheme::Upwind, 0.04),
    ] {
        // Between the walls of a rectangle molecules of an even number of nodes have other speeds.
        let nodes = if dimensions == 1 { 8 } else { 9 };
        let grid = VelocityGrid::new(nodes, -4.0, 4.0).unwrap();
        let mut config = config_on(grid, [5, 4], (dimensions, Stepping::Split, step));
        config.scheme = scheme;
        config.operator.sigma_t = 1e-30;
        let velocity = config.velocity_space().unwrap();
        let volume = config.operator.grid.volume();
        let nodes = config.operator.grid.cells();
        let states: Vec<State> = start(&config)
            .chunks_exact(nodes)
            .map(|f| Moments::of(&velocity, |node| volume * f[node]).state())
            .collect();
        let problem = Problem {
            space: config.space,
            velocity,
            gas: Gas {
                frequency: 0.0,
                ..Gas::default()
            },
            boundaries: config.boundaries,
            conservative: true,
            initial: states,
        };
        let mut simulation = Simulation::new(SimulationConfig {
            scheme,
            compute: Backend::Reference.into(),
            ..SimulationConfig::new(problem, step)
        })
        .unwrap();
        simulation.advance(3).unwrap();
        let expected = simulation.state().unwrap();
        let found = after(&config, 3);
        let cells = config.space.cells();
        let largest = expected.iter().copied().fold(0.0, f64::max);
        for (cell, f) in found.chunks_exact(nodes).enumerate() {
            for (node, f) in f.iter().enumerate() {
                let expected = expected[node * cells + cell];
                let error = (f * volume - expected).abs() / largest;
                assert!(error < 1e-13, "{dimensions}, {scheme:?}: {error:e}");
            }
        }
        // The faces exchange the same as in the next step of the models' solver.
        let look = Flow::new(FlowConfig {
            initial: Initial::Distributions(found),
            ..config
        })
        .unwrap()
        .look()
        .unwrap();
        simulation.advance(1).unwrap();
        for (found, expected) in look.faces.iter().zip(simulation.face_fluxes().unwrap()) {
            assert!((found.mass - expected.mass).abs() < 1e-13);
            assert!((found.momentum[0] - expected.momentum[0]).abs() < 1e-13);
            assert!((found.momentum[1] - expected.momentum[1]).abs() < 1e-13);
            assert!((found.energy - expected.energy).abs() < 1e-13);
        }
    }
}

#[test]
fn every_backend_takes_the_same_steps() {
    let mut backends = vec![Backend::Cpu, Backend::Emulator];
    if support::device().is_some() {
        backends.push(Backend::Cuda);
    }
    for (dimensions, stepping, step) in [
        (2, Stepping::Split, 0.1),
        (2, Stepping::Penalised, 0.02),
        (1, Stepping::Penalised, 0.04),
    ] {
        // The emulator needs seconds for a step on these few nodes.
        let grid = VelocityGrid::new(6, -3.0, 3.0).unwrap();
        let config = config_on(grid, [4, 3], (dimensions, stepping, step));
        let with = |backend, precision| {
            let mut config = config.clone();
            config.operator.compute.backend = backend;
            config.operator.compute.precision = precision;
            config
        };
        for &backend in &backends {
            let emulated = backend == Backend::Emulator;
            let steps = if emulated { 1 } else { 3 };
            let expected = after(&with(Backend::Reference, Precision::F64), steps);
            let largest = expected.iter().copied().fold(0.0, f64::max);
            for (precision, tolerance) in [(Precision::F64, 1e-13), (Precision::F32, 2e-6)] {
                // A rectangle has all kernels of a line, so each precision is emulated on one of them.
                if emulated && (precision == Precision::F32) != (dimensions == 1) {
                    continue;
                }
                let config = with(backend, precision);
                let found = after(&config, steps);
                let worst = found
                    .iter()
                    .zip(&expected)
                    .fold(0.0, |worst: f64, (a, b)| worst.max((a - b).abs()));
                assert!(
                    worst <= tolerance * largest,
                    "{dimensions}, {stepping:?}, {backend}, {precision}: off by {:e}",
                    worst / largest
                );
                if !emulated {
                    assert_eq!(found, after(&config, steps), "{backend}: other bits");
                }
            }
        }
    }
}

/// Sums over all cells: mass, momentum along x and y, energy.
fn content(config: &FlowConfig, f: &[f64]) -> [f64; 4] {
    let grid = config.operator.grid;
    let mut sums = [0.0; 4];
    for f in f.chunks_exact(grid.cells()) {
        for (k, f) in f.iter().enumerate() {
            let [x, y, z] = grid.velocity(k);
            let carried = [1.0, x, y, 0.5 * (x * x + y * y + z * z)];
            for (sum, value) in sums.iter_mut().zip(carried) {
                *sum += value * f;
            }
        }
    }
    sums
}

#[test]
fn walls_keep_mass_and_periodic_faces_all() {
    for (stepping, step) in [(Stepping::Split, 0.1), (Stepping::Penalised, 0.02)] {
        let mut config = config(2, stepping, step);
        config.operator.compute.precision = Precision::F32;
        let before = content(&config, &start(&config));
        let now = content(&config, &after(&config, 4));
        assert!((now[0] / before[0] - 1.0).abs() < 1e-13, "{stepping:?}");
        assert!((now[3] / before[3] - 1.0).abs() > 1e-4, "{stepping:?}");
        let all = Boundary::Periodic;
        config.boundaries = Boundaries {
            left: all,
            right: all,
            bottom: all,
            top: all,
        };
        let now = content(&config, &after(&config, 4));
        for (now, before) in now.iter().zip(before) {
            assert!((now - before).abs() < 1e-12 * before.abs(), "{stepping:?}");
        }
    }
}

/// Kernels and host sum the fields of a residual for themselves; those of a look are other sums. The box moves.
#[test]
fn a_residual_is_that_of_the_moments() {
    for backend in [Backend::Cpu, Backend::Emulator] {
        let mut config = config(1, Stepping::Penalised, 0.02);
        config.operator.compute.backend = backend;
        config.boundaries = Boundaries::line(Boundary::Periodic, Boundary::Periodic);
        config.drift = 0.3;
        let phase = |x: f64| std::f64::consts::TAU * x;
        let state = |x: f64, _: f64| State {
            density: 1.0 + 0.2 * phase(x).sin(),
            velocity: [0.4, 0.1 * phase(x).cos()],
            temperature: 1.0 + 0.1 * phase(x).cos(),
        };
        config.start(state).unwrap();
        let mut flow = Flow::new(config).unwrap();
        let mut fields = |steps: u64| {
            flow.advance(steps).unwrap();
            let residual = flow.residual().unwrap();
            let states: Vec<State> = flow.moments().unwrap().iter().map(Moments::state).collect();
            (residual, states)
        };
        let (first, before) = fields(1);
        let (residual, now) = fields(2);
        let change = |of: &[fn(&State) -> f64]| {
            let pairs = || {
                of.iter()
                    .flat_map(|of| before.iter().zip(&now).map(|(a, b)| (of(a), of(b))))
            };
            let difference: f64 = pairs().map(|(a, b)| (b - a).powi(2)).sum();
            let size: f64 = pairs().map(|(_, b)| b * b).sum();
            (difference / size).sqrt() / 0.04
        };
        let expected = change(&[|s| s.density])
            .max(change(&[|s| s.velocity[0], |s| s.velocity[1]]))
            .max(change(&[|s| s.temperature]));
        assert!(first.is_infinite());
        assert!(
            (residual / expected - 1.0).abs() < 1e-10,
            "{backend:?}: {residual}, {expected}"
        );
    }
}

#[test]
fn a_penalised_run_goes_on_from_its_checkpoint_to_the_same_bits() {
    let mut whole = Flow::new(config(2, Stepping::Penalised, 0.02)).unwrap();
    whole.advance(1).unwrap();
    let text = serde_json::to_string(&whole.checkpoint().unwrap()).unwrap();
    let mut resumed = Flow::resume(serde_json::from_str(&text).unwrap()).unwrap();
    whole.advance(1).unwrap();
    resumed.advance(1).unwrap();
    assert_eq!(whole.state().unwrap(), resumed.state().unwrap());
}

/// A wave of temperature and shear in a periodic line of so many l0, by the spectral integral.
fn wave(length: f64, stepping: Stepping, step: f64) -> FlowConfig {
    let state = |x: f64, _: f64| {
        let phase = std::f64::consts::TAU * x / length;
        State {
            density: 1.0 - 0.1 * phase.sin(),
            velocity: [0.0, 0.2 * phase.cos()],
            temperature: 1.0 + 0.1 * phase.sin(),
        }
    };
    let periodic = Boundary::Periodic;
    let mut config = FlowConfig::new(
        Space::line(8, [0.0, length]).unwrap(),
        VelocityGrid::new(12, -4.0, 4.0).unwrap(),
        Boundaries::line(periodic, periodic),
        step,
        state,
    )
    .unwrap();
    config.operator = OperatorConfig {
        correction: CorrectionMethod::Balanced,
        compute: Backend::Cpu.into(),
        ..config.operator
    };
    config.operator.spectral.degree = Some(7);
    config.stepping = stepping;
    config
}

fn states(config: &FlowConfig, steps: u64) -> Vec<State> {
    let mut flow = Flow::new(config.clone()).unwrap();
    flow.advance(steps).unwrap();
    let look = flow.look().unwrap();
    look.moments.iter().map(Moments::state).collect()
}

fn difference(a: &[State], b: &[State]) -> f64 {
    a.iter().zip(b).fold(0.0, |worst: f64, (a, b)| {
        worst
            .max((a.density - b.density).abs())
            .max((a.velocity[1] - b.velocity[1]).abs())
            .max((a.temperature - b.temperature).abs())
    })
}

/// A look and the distributions are of the same moment, though stresses are those of the next step's collisions.
#[test]
fn a_look_has_the_densities_of_the_distributions() {
    for stepping in [Stepping::Split, Stepping::Penalised] {
        let mut flow = Flow::new(wave(6.0, stepping, 0.04)).unwrap();
        flow.advance(2).unwrap();
        let volume = flow.config().operator.grid.volume();
        let size = flow.config().operator.grid.cells();
        let densities: Vec<f64> = flow
            .state()
            .unwrap()
            .chunks_exact(size)
            .map(|f| volume * f.iter().sum::<f64>())
            .collect();
        let moments = flow.look().unwrap().moments;
        for (density, moments) in densities.iter().zip(moments) {
            assert!((density - moments.density).abs() < 1e-13, "{stepping:?}");
        }
    }
}

/// The step is not bound by collisions: in thick gas it is as accurate with `beta dt` of 50 as with short ones, and in thin gas the error falls with its square.
#[test]
fn penalised_steps_are_of_second_order_and_outgrow_the_collision_time() {
    let of = |steps: u64| states(&wave(6.0, Stepping::Penalised, 0.64 / steps as f64), steps);
    let (fine, half, whole) = (of(32), of(8), of(4));
    let order = (difference(&whole, &fine) / difference(&half, &fine)).log2();
    assert!((1.7..2.6).contains(&order), "order {order}");
    // 2000 mean free paths: a step of 15 collision times crosses a quarter of a cell.
    let of = |steps: u64| {
        states(
            &wave(2000.0, Stepping::Penalised, 60.0 / steps as f64),
            steps,
        )
    };
    let (fine, coarse) = (of(16), of(4));
    let moved = difference(&fine, &states(&wave(2000.0, Stepping::Penalised, 1.0), 0));
    let error = difference(&coarse, &fine) / moved;
    assert!(error < 0.02, "{error}");
}

#[test]
fn bad_flows_are_refused() {
    let refused = |change: &dyn Fn(&mut FlowConfig), why: &str| {
        let mut config = config(2, Stepping::Penalised, 0.02);
        change(&mut config);
        let message = Flow::new(config).unwrap_err().to_string();
        assert!(message.contains(why), "{message}");
    };
    refused(
        &|c| c.dt = 0.1,
        "for which streaming in penalised steps is stable",
    );
    refused(&|c| c.dt = f64::NAN, "positive and finite");
    refused(&|c| c.drift = 0.3, "0 where a face mirrors");
    refused(
        &|c| c.incoming[0] = start(c)[..512].to_vec(),
        "only where the boundary is an inflow",
    );
    let of_values = |c: &FlowConfig, first: f64, count: usize| {
        let mut f = start(c);
        f[0] = first;
        f.truncate(count);
        Initial::Distributions(f)
    };
    refused(
        &|c| c.initial = of_values(c, f64::INFINITY, usize::MAX),
        "finite values",
    );
    refused(
        &|c| c.initial = of_values(c, 1.0, 7),
        "initial: 7; expected 10240 values",
    );
    refused(
        &|c| c.initial = Initial::States(vec![State::REST; 7]),
        "initial: 7; expected 20 values",
    );
    refused(
        &|c| c.initial = Initial::Shares(vec![0.5; 20]),
        "shares of distributions that are not given",
    );
    let hot = State {
        temperature: 100.0,
        ..State::REST
    };
    refused(&|c| c.start(|_, _| hot).unwrap(), "temperature");
    refused(
        &|c| c.operator.grid = VelocityGrid::new(8, -4.0, 4.1).unwrap(),
        "symmetric about its centre",
    );
}

/// A flow of hard spheres by the spectral integral on few velocities, with fewer directions where it has mirrors.
fn spectral(
    space: Space,
    boundaries: Boundaries,
    mirrors: Mirrors,
    state: impl Fn(f64, f64) -> State,
) -> FlowConfig {
    let grid = VelocityGrid::new(12, -4.0, 4.0).unwrap();
    let mut config = FlowConfig::new(space, grid, boundaries, 1.0, state).unwrap();
    config.operator.correction = CorrectionMethod::Balanced;
    config.operator.spectral.degree = Some(7);
    config.operator.spectral.mirrors = mirrors;
    config.operator.compute.backend = Backend::Cpu;
    config
}

/// Takes a flow to a time in penalised steps of a share of the crossing time, or in split ones as short as collisions want.
fn until(mut config: FlowConfig, stepping: Stepping, share: f64, time: f64) -> Vec<Moments> {
    let most = match stepping {
        Stepping::Penalised => share * config.crossing_step().unwrap(),
        _ => share * config.crossing_step().unwrap().min(0.2),
    };
    let steps = (time / most).ceil();
    (config.stepping, config.dt) = (stepping, time / steps);
    let mut flow = Flow::new(config).unwrap();
    flow.advance(steps as u64).unwrap();
    flow.look().unwrap().moments
}

/// The density of Euler's shock tube at `x/t` for a ratio of specific heats of 5/3, both gases at rest: `[density, pressure]` left and right.
fn riemann([left, right]: [[f64; 2]; 2], speed: f64) -> f64 {
    let gamma = 5.0 / 3.0_f64;
    let sound = |[n, p]: [f64; 2]| (gamma * p / n).sqrt();
    // A rarefaction on the left, a shock on the right.
    let push = |p: f64| {
        let rare = 2.0 * sound(left) / (gamma - 1.0)
            * (1.0 - (p / left[1]).powf((gamma - 1.0) / (2.0 * gamma)));
        let (a, b) = (
            2.0 / ((gamma + 1.0) * right[0]),
            (gamma - 1.0) / (gamma + 1.0) * right[1],
        );
        let shock = (p - right[1]) * (a / (p + b)).sqrt();
        (rare, rare - shock)
    };
    let (mut low, mut high) = (right[1], left[1]);
    for _ in 0..100 {
        let middle = 0.5 * (low + high);
        if push(middle).1 > 0.0 {
            low = middle;
        } else {
            high = middle;
        }
    }
    let (p, u) = (low, push(low).0);
    let behind = left[0] * (p / left[1]).powf(1.0 / gamma);
    let ratio = (gamma - 1.0) / (gamma + 1.0);
    let front = right[0] * (p / right[1] + ratio) / (ratio * p / right[1] + 1.0);
    let shock = u * front / (front - right[0]);
    let a = sound(left);
    let tail = u - a * (p / left[1]).powf((gamma - 1.0) / (2.0 * gamma));
    if speed < -a {
        left[0]
    } else if speed < tail {
        left[0] * (2.0 / (gamma + 1.0) - ratio * speed / a).powf(2.0 / (gamma - 1.0))
    } else if speed < u {
        behind
    } else if speed < shock {
        front
    } else {
        right[0]
    }
}

/// A shock runs into thinner gas, from free flight to Euler's equations, with steps as long as streaming allows.
#[test]
fn a_shock_tube_is_asymptotic_preserving() {
    let states = [[1.0, 1.0], [0.5, 0.9]].map(|[n, t]| State::along_x(n, 0.0, t));
    let run = |delta: f64, cells: usize, stepping, share| -> Vec<f64> {
        let ends = states.map(Boundary::Inflow);
        let tube = spectral(
            Space::line(cells, [-0.5 * delta, 0.5 * delta]).unwrap(),
            Boundaries::line(ends[0], ends[1]),
            Mirrors::ALL,
            |x, _| states[usize::from(x > 0.0)],
        );
        let moments = until(tube, stepping, share, 0.25 * delta);
        moments.iter().map(|m| m.density).collect()
    };
    let mean_error = |found: &[f64], expected: &[f64]| {
        let pairs = found.iter().zip(expected);
        pairs.map(|(a, b)| (a - b).abs()).sum::<f64>() / found.len() as f64
    };
    for delta in [0.1, 10.0, 100.0] {
        let found = run(delta, 20, Stepping::Penalised, 0.9);
        let error = mean_error(&found, &run(delta, 20, Stepping::Split, 1.0));
        println!("tube {delta}: {error:e}");
        assert!(error < 0.006, "delta {delta}: {error}");
    }
    // A step of a hundred collisions: the error is that of the cells alone.
    let ends = states.map(|s| [s.density, 0.5 * s.density * s.temperature]);
    let errors = [20, 40].map(|cells: usize| {
        let found = run(1000.0, cells, Stepping::Penalised, 0.9);
        let centres = (0..cells).map(|i| ((i as f64 + 0.5) / cells as f64 - 0.5) / 0.25);
        let expected: Vec<f64> = centres.map(|speed| riemann(ends, speed)).collect();
        mean_error(&found, &expected)
    });
    println!("Euler: {errors:?}");
    assert!(
        errors[0] < 0.03 && errors[1] < 0.65 * errors[0],
        "{errors:?}"
    );
}

/// The stress of Couette flow, from free flight to the Navier-Stokes equations: steps of many collisions find the viscosity too.
#[test]
fn couette_flow_is_asymptotic_preserving() {
    let stress = |delta: f64, stepping, share, time| {
        let walls = [-0.1, 0.1].map(|u| Boundary::Wall(Wall::diffuse(1.0).moving([0.0, u])));
        let couette = spectral(
            Space::line(10, [0.0, delta]).unwrap(),
            Boundaries::line(walls[0], walls[1]),
            Mirrors {
                z: true,
                ..Mirrors::NONE
            },
            |x, _| State {
                density: 1.0,
                velocity: [0.0, 0.2 * (x - 0.5 * delta) / (delta + 2.0)],
                temperature: 1.0,
            },
        );
        let moments = until(couette, stepping, share, time);
        moments[3..7].iter().map(|m| m.pressure[2]).sum::<f64>() / 4.0
    };
    // A velocity profile of this slip has a stress in proportion to 1/(delta + 2).
    let mut thick = f64::NAN;
    for delta in [0.1, 10.0] {
        let long = stress(delta, Stepping::Penalised, 0.9, delta);
        let short = stress(delta, Stepping::Penalised, 0.3, delta);
        let split = stress(delta, Stepping::Split, 1.0, delta);
        println!("couette {delta}: {long} {short} {split}");
        assert!(
            (long / short - 1.0).abs() < 0.002,
            "delta {delta}: {long}, {short}"
        );
        assert!(
            (long / split - 1.0).abs() < 0.03,
            "delta {delta}: {long}, {split}"
        );
        thick = long * (delta + 2.0);
    }
    // Until the middle feels the walls the profile stays. Its stress is that of the viscosity of these nodes, 3% above that of the first approximation.
    for delta in [100.0, 1000.0] {
        let found = stress(delta, Stepping::Penalised, 0.9, delta) * (delta + 2.0);
        println!("couette {delta}: {found} {thick}");
        assert!(
            (found / thick - 1.0).abs() < 0.01,
            "delta {delta}: {found}, {thick}"
        );
        assert!(
            (found / -0.1016 - 1.0).abs() < 0.04,
            "delta {delta}: {found}"
        );
    }
}
