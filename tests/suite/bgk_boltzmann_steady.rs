//! The steady solver around the collision integral: lines and rectangles between walls, and shock waves.

use rarefy::bgk::boltzmann::{Flow, FlowConfig, GapCollisions, PlatesConfig, ShockWave, Stepping};
use rarefy::bgk::steady::plates::{Drive, graded};
use rarefy::bgk::steady::{Solution, SteadyConfig, SteadyProblem, SteadySolver, solve};
use rarefy::bgk::{Axis, Boundaries, Boundary, Cavity, Moments, ShockProfile, Space, State, Wall};
use rarefy::collision::{CorrectionMethod, Method, OperatorConfig, Spectral, VelocityGrid};
use rarefy::run::Ending;
use rarefy::{Backend, Precision};

fn wall(temperature: f64, velocity: [f64; 2]) -> Boundary {
    Boundary::Wall(Wall::diffuse(temperature).moving(velocity))
}

/// Hard spheres on 10^3 velocities.
fn flow(space: Space, boundaries: Boundaries) -> FlowConfig {
    let grid = VelocityGrid::new(10, -4.0, 4.0).unwrap();
    let mut flow = FlowConfig::new(space, grid, boundaries, 0.01, |_, _| State::REST).unwrap();
    flow.operator.spectral.degree = Some(7);
    flow.operator.correction = CorrectionMethod::Balanced;
    flow
}

fn to(tolerance: f64) -> SteadyConfig {
    SteadyConfig {
        rtol: Some(tolerance),
        iterations: 60,
        compute: Backend::Cpu.into(),
        ..SteadyConfig::default()
    }
}

/// Plates of the same cells by the solver for plates.
fn plates(operator: &OperatorConfig, delta: f64, drive: Drive, cells: usize) -> Solution {
    let mut operator = operator.clone();
    operator.compute = Backend::Cpu.into();
    let mut config = PlatesConfig::new(delta, drive, GapCollisions::Integral(operator));
    config.cells = cells;
    config.tolerance = 1e-7;
    let solution = config.solver().unwrap().solve().unwrap();
    assert_eq!(solution.status, Ending::Steady);
    solution
}

#[test]
fn faces_that_are_no_walls_are_refused() {
    let boundaries = Boundaries {
        left: Boundary::Specular,
        right: Boundary::Specular,
        bottom: wall(1.1, [0.0; 2]),
        top: wall(0.9, [0.0; 2]),
    };
    let space = Space::rectangle([2, 4], [0.0, 2.0], [0.0, 10.0]).unwrap();
    let error = flow(space, boundaries).steady().unwrap_err().to_string();
    assert!(
        error.starts_with("left: Specular; expected a wall"),
        "{error}"
    );
    // Streams need no wall only where both ends of a line have one.
    let stream = Boundary::Inflow(State::along_x(1.0, 0.3, 1.0));
    for (left, right, field) in [
        (stream, wall(1.0, [0.0; 2]), "left: Inflow"),
        (wall(1.0, [0.0; 2]), stream, "right: Inflow"),
        (Boundary::Periodic, Boundary::Periodic, "left: Periodic"),
    ] {
        let space = Space::line(4, [0.0, 1.0]).unwrap();
        let config = flow(space, Boundaries::line(left, right));
        let error = config.steady().unwrap_err().to_string();
        assert!(error.starts_with(field), "{error}");
    }
}

/// A shock wave of hard spheres on a coarse grid.
fn wave(mach: f64) -> ShockWave {
    ShockWave {
        cells: 20,
        sides: [8.0, 8.0],
        velocities: 10,
        method: Method::Spectral,
        spectral: Spectral {
            degree: Some(7),
            ..Spectral::default()
        },
        correction: CorrectionMethod::Balanced,
        compute: Backend::Cpu.into(),
        ..ShockWave::new(mach).unwrap()
    }
}

/// The steady wave is that of steps in time, which take a hundred times as many integrals, and its fluxes are those of the streams.
#[test]
fn a_shock_wave_is_that_in_time() {
    let mut wave = wave(1.5);
    wave.stepping = Stepping::Penalised;
    let (config, _) = wave.line().unwrap();
    let found = solve(config.steady().unwrap(), &to(1e-6)).unwrap();
    assert_eq!(found.status, Ending::Steady);
    assert!(found.residuals.len() <= 25, "{}", found.residuals.len());
    assert!(found.flux_spread < 1e-6, "{}", found.flux_spread);
    let profile = |cells: &[Moments]| ShockProfile::new(wave.mach, &config.space, cells).unwrap();
    let steady = profile(&found.cells);
    let (exact, pointwise) = steady.fluxes();
    assert!(pointwise.iter().all(|off| *off < 1e-6), "{pointwise:?}");
    let [left, right, ..] = found.received();
    for (came, left) in [
        (left.mass, -right.mass),
        (left.momentum[0], -right.momentum[0]),
        (left.energy, -right.energy),
    ] {
        assert!((left / came - 1.0).abs() < 1e-6, "{came}, {left}");
    }
    assert!((left.energy / exact[2] - 1.0).abs() < 1e-3);

    let mut flow = Flow::new(config.clone()).unwrap();
    flow.advance(400).unwrap();
    let in_time = profile(&flow.look().unwrap().moments);
    let least = |p: &ShockProfile| p.extremes().least_heat_flux;
    // Van Leer's slopes and diamond differences are 1.6% apart on cells of 0.8 l0; docs/flows-boltzmann.md has 0.7 and 0.1% on cells of 0.67 and 0.33 l0.
    let thicknesses = [steady.thickness(), in_time.thickness()];
    let off = thicknesses[0] / thicknesses[1] - 1.0;
    assert!(off.abs() < 0.02, "{thicknesses:?}");
    let off = least(&steady) / least(&in_time) - 1.0;
    assert!(off.abs() < 0.02, "{off}");
}

/// Every kind of wave takes few integrals: weak and strong, by sums over the nodes, of other molecules, and in f32.
#[test]
fn shock_waves_converge_in_few_integrals() {
    let weak = ShockWave {
        sides: [20.0, 20.0],
        ..wave(1.2)
    };
    let sums = ShockWave {
        method: Method::Fast,
        velocities: 8,
        cut: 3.0,
        ..wave(1.5)
    };
    let soft = ShockWave {
        scattering: "vss:0.81,1.4".parse().unwrap(),
        ..wave(1.5)
    };
    let strong = ShockWave {
        velocities: 16,
        sides: [6.0, 4.0],
        ..wave(3.0)
    };
    for (name, wave, precision) in [
        ("weak", weak, Precision::F64),
        ("sums", sums, Precision::F64),
        ("soft", soft, Precision::F64),
        ("strong", strong, Precision::F32),
    ] {
        let (line, _) = wave.line().unwrap();
        let config = SteadyConfig {
            rtol: (precision == Precision::F64).then_some(1e-6),
            iterations: 60,
            compute: wave.compute.with_precision(precision),
            ..SteadyConfig::default()
        };
        let found = solve(line.steady().unwrap(), &config).unwrap();
        println!("{name}: {}", found.residuals.len());
        assert_eq!(found.status, Ending::Steady, "{name}");
        assert!(found.residuals.len() <= 30, "{name}");
    }
}

/// Streams that the sweeps cannot take are refused.
#[test]
fn streams_that_do_not_fit_are_refused() {
    let (mut line, _) = wave(1.5).line().unwrap();
    line.incoming[0][0] += 0.01;
    let error = line.steady().unwrap_err().to_string();
    assert!(error.contains("even in v_z"), "{error}");
    let (line, _) = wave(1.5).line().unwrap();
    let refused = |change: fn(&mut SteadyProblem), part: &str| {
        let mut problem = line.steady().unwrap();
        change(&mut problem);
        let error = SteadySolver::new(problem, &to(1e-6))
            .unwrap_err()
            .to_string();
        assert!(error.contains(part), "{error}");
    };
    refused(
        |problem| problem.incoming[1].truncate(3),
        "one at each node",
    );
    refused(
        |problem| problem.incoming[2] = problem.incoming[1].clone(),
        "bottom",
    );
    refused(
        |problem| problem.boundaries.right = wall(1.0, [0.0; 2]),
        "right",
    );
}

/// On a line, too, the solver finds what that for plates does.
#[test]
fn a_line_has_the_stress_of_plates() {
    let (delta, cells) = (3.0, 10);
    let boundaries = Boundaries::line(wall(1.0, [0.0, -0.1]), wall(1.0, [0.0, 0.1]));
    let config = flow(Space::line(cells, [0.0, delta]).unwrap(), boundaries);
    let line = plates(&config.operator, delta, Drive::Couette(0.2), cells);
    let mut problem = config.steady().unwrap();
    problem.widths[0] = graded(cells, delta);
    let found = solve(problem, &to(1e-7)).unwrap();
    assert_eq!(found.status, Ending::Steady);
    assert!(found.residuals.len() <= 40, "{}", found.residuals.len());
    let [shear, of_plates] = [&found, &line].map(|of| of.exchange[0][0].shear);
    assert!(
        (shear / of_plates - 1.0).abs() < 1e-4,
        "{shear}, {of_plates}"
    );
}

fn cavity(delta: f64, lid: f64) -> SteadyProblem {
    let mut cavity = Cavity::new(delta, 8, &[10, 10, 10]).unwrap();
    cavity.lid = lid;
    let problem = cavity.problem().unwrap();
    flow(problem.space, problem.boundaries).steady().unwrap()
}

/// Cavities take few integrals, and their walls exchange no mass and as much energy as the lid's work, slow and fast.
#[test]
fn cavities_converge_in_few_integrals_and_conserve() {
    for (delta, lid) in [(0.3, 0.02), (10.0, 0.02), (10.0, 0.4)] {
        let found = solve(cavity(delta, lid), &to(1e-6)).unwrap();
        assert_eq!(found.status, Ending::Steady, "{delta}, {lid}");
        assert!(found.residuals.len() <= 45, "{}", found.residuals.len());
        let (mut heat, mut drag, mut exchanged) = (0.0, 0.0, 0.0);
        for face in found.exchange.iter().flatten() {
            assert!(face.mass.abs() < 1e-5 * lid, "{}", face.mass);
            heat += face.heat;
            exchanged += face.heat.abs();
        }
        for face in &found.exchange[3] {
            drag += -2.0 * face.shear / lid / 8.0;
        }
        assert!(heat.abs() < 1e-4 * exchanged.max(lid * lid), "{heat}");
        assert!((0.3..0.8).contains(&drag), "{drag}");
        let mass: f64 = found.cells.iter().map(|m| m.density).sum();
        assert!((mass / 64.0 - 1.0).abs() < 1e-12);
    }
}

/// Thin gas has the drag of any molecules. Midpoints alone make it 7% too high on these nodes, since f jumps at the walls.
#[test]
fn the_drag_of_thin_gas_is_that_of_half_range_nodes() {
    let (delta, cells) = (0.1, 6);
    let half_range = vec![Axis::half_range(24, 2).unwrap(); 2];
    let model = Cavity::with_axes(delta, cells, half_range).unwrap();
    let model = SteadyProblem::from(&model.problem().unwrap());
    let axes = vec![Axis::uniform(12, -4.0, 4.0).unwrap(); 3];
    let problem = Cavity::with_axes(delta, cells, axes).unwrap();
    let [found, right] = {
        let problem = problem.problem().unwrap();
        let grid = VelocityGrid::new(12, -4.0, 4.0).unwrap();
        let mut config = flow(problem.space, problem.boundaries);
        config.operator = OperatorConfig {
            grid,
            ..config.operator
        };
        [config.steady().unwrap(), model].map(|problem| {
            let solution = solve(problem, &to(1e-6)).unwrap();
            assert_eq!(solution.status, Ending::Steady);
            let lid = &solution.exchange[3];
            let shear = lid.iter().map(|face| face.shear).sum::<f64>() / lid.len() as f64;
            // No wall gains or loses molecules.
            let leak = solution.exchange.iter().flatten();
            let leak = leak.fold(0.0, |most: f64, face| most.max(face.mass.abs()));
            assert!(leak < 1e-6, "{leak}");
            -2.0 * shear / 0.02
        })
    };
    assert!((found / right - 1.0).abs() < 0.02, "{found}, {right}");
}

#[test]
fn an_iteration_goes_on_to_the_same_bits() {
    let (line, _) = wave(1.5).line().unwrap();
    for problem in [cavity(5.0, 0.02), line.steady().unwrap()] {
        let mut whole = SteadySolver::new(problem, &to(1e-6)).unwrap();
        whole.advance(3).unwrap();
        let text = serde_json::to_string(&whole.checkpoint()).unwrap();
        let mut resumed = SteadySolver::resume(serde_json::from_str(&text).unwrap()).unwrap();
        whole.advance(2).unwrap();
        resumed.advance(2).unwrap();
        assert_eq!(whole.residuals(), resumed.residuals());
        assert_eq!(whole.checkpoint(), resumed.checkpoint());
    }
}

#[test]
fn problems_that_have_no_integral_are_refused() {
    let refused = |change: fn(&mut SteadyProblem), part: &str| {
        let mut problem = cavity(1.0, 0.02);
        change(&mut problem);
        let error = SteadySolver::new(problem, &to(1e-6))
            .unwrap_err()
            .to_string();
        assert!(error.contains(part), "{error}");
    };
    refused(|problem| problem.linear = true, "not linearised");
    refused(
        |problem| {
            if let Some(operator) = &mut problem.integral {
                operator.grid = VelocityGrid::new(12, -4.0, 4.0).unwrap();
            }
        },
        "grid",
    );
}
