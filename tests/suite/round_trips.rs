//! Configurations, results and checkpoints go through serde and come back as they were; what is wrong is refused.

use std::fmt::Debug;

use rarefy::bgk::{
    self, Axis, Boundaries, Boundary, Gas, Problem, Simulation, SimulationConfig, Space, State,
    VelocitySpace, Wall, boltzmann, steady,
};
use rarefy::collision::{self, Scattering, Until, VelocityGrid};
use rarefy::emulator::{Emulator, ThreadOrder};
use rarefy::gpu::doctor;
use rarefy::isotropic::{self, CollisionKernel, EnergyGrid};
use rarefy::signed_digit::{decimal, dft, float, paper};
use rarefy::{Backend, Precision, longman, memory_plan};
use serde::Serialize;
use serde::de::DeserializeOwned;
use serde_json::json;

/// Writes a value and reads it.
#[track_caller]
pub(crate) fn again<T: Serialize + DeserializeOwned>(value: &T) -> T {
    let text = serde_json::to_string(value).unwrap();
    serde_json::from_str(&text).unwrap_or_else(|error| panic!("{error}: {text}"))
}

#[track_caller]
fn comes_back<T: Serialize + DeserializeOwned + PartialEq + Debug>(value: &T) {
    assert_eq!(again(value), *value);
}

/// Puts `new` at a place of a value, given as a JSON pointer, and expects that it is no longer read.
#[track_caller]
fn refused<T: Serialize + DeserializeOwned + Debug>(
    value: &T,
    place: &str,
    new: serde_json::Value,
) {
    let mut json = serde_json::to_value(value).unwrap();
    *json.pointer_mut(place).unwrap() = new;
    serde_json::from_value::<T>(json).unwrap_err();
}

#[test]
fn what_is_common_comes_back() {
    for backend in Backend::ALL {
        comes_back(&backend);
    }
    for precision in Precision::ALL {
        comes_back(&precision);
    }
    comes_back(&memory_plan::host_memory());
    comes_back(&doctor::report());
    for order in [
        ThreadOrder::Ascending,
        ThreadOrder::Descending,
        ThreadOrder::Random(7),
    ] {
        comes_back(&order);
    }
    comes_back(&Emulator::default().last_launch());
}

#[test]
fn versions_of_cuda_are_text() {
    let version: rarefy::gpu::CudaVersion = "12.8".parse().unwrap();
    assert_eq!((version.major(), version.minor()), (12, 8));
    assert_eq!(serde_json::to_value(version).unwrap(), json!("12.8"));
    comes_back(&version);
    for wrong in ["", "12", "12.", "12.x", "-1.0", "12.100"] {
        wrong.parse::<rarefy::gpu::CudaVersion>().unwrap_err();
    }
}

#[test]
fn the_collision_wing_comes_back() {
    let grid = VelocityGrid::new(6, -5.0, 5.0).unwrap();
    let operator = collision::OperatorConfig {
        scattering: Scattering::Vhs { omega: 0.74 },
        compute: Backend::Cpu.into(),
        ..collision::OperatorConfig::paper(grid)
    };
    let f = collision::initial::TwoMaxwellians::default().sample(&grid);
    comes_back(&collision::collide(&operator, &f).unwrap());
    comes_back(&collision::transport::Study::of(&operator, 6).unwrap());
    for until in [
        Until::Steps(3),
        Until::Time(0.25),
        Until::Equilibrium(0.125),
    ] {
        comes_back(&collision::RelaxationConfig::new(operator.clone(), until));
    }
    let config = collision::RelaxationConfig::new(operator.clone(), Until::Steps(4));
    let mut run = collision::Relaxation::new(config, f).unwrap();
    run.advance(2).unwrap();
    let saved = run.checkpoint().unwrap();
    comes_back(&saved);
    // It goes on to the same bits, too.
    let mut resumed = collision::Relaxation::resume(again(&saved)).unwrap();
    run.advance(2).unwrap();
    resumed.advance(2).unwrap();
    assert_eq!(run.state().unwrap(), resumed.state().unwrap());

    let bkw = collision::initial::Bkw::new(0.75).unwrap();
    comes_back(&bkw);
    refused(&bkw, "/k", json!(0.5));
    refused(&operator, "/grid/n", json!(2));
    refused(&operator, "/grid/max", json!(-6.0));
    refused(&operator, "/scattering", json!("vhs:2"));
    let mut timeless = saved;
    timeless.time = f64::NAN;
    collision::Relaxation::resume(timeless).unwrap_err();
}

/// JSON has no infinity.
#[test]
fn a_step_without_a_bound_comes_back() {
    let grid = VelocityGrid::new(4, -4.0, 4.0).unwrap();
    let config = collision::OperatorConfig {
        correction: collision::CorrectionMethod::None,
        ..collision::OperatorConfig::paper(grid)
    };
    let nothing = vec![0.0; grid.cells()];
    let evaluation = collision::reference::evaluate(&config, &nothing);
    assert_eq!(evaluation.correction.largest_step, f64::INFINITY);
    comes_back(&evaluation);
}

#[test]
fn the_isotropic_wing_comes_back() {
    let grid = EnergyGrid::new(16, 8.0).unwrap();
    for law in [
        CollisionKernel::Power { theta: 0.5 },
        CollisionKernel::Isotropic { gamma: 1.0 },
        CollisionKernel::Money,
        CollisionKernel::Gamma { alpha: 2.0 },
        CollisionKernel::Saving { lambda: 0.25 },
    ] {
        let mut operator = isotropic::OperatorConfig::new(grid, law);
        operator.compute.backend = Backend::Cpu;
        let f = isotropic::initial::maxwellian(&grid, 1.0);
        comes_back(&isotropic::rates(&operator, &f).unwrap());
        let config = isotropic::RelaxationConfig::new(operator);
        comes_back(&config);
        let mut run = isotropic::Relaxation::new(config, &[f]).unwrap();
        run.advance(3).unwrap();
        assert_eq!(run.history(0).len(), 4);
        comes_back(&run.checkpoint().unwrap());
    }
    let gas = isotropic::OperatorConfig::new(grid, CollisionKernel::Power { theta: 0.5 });
    comes_back(&isotropic::initial::equilibrium(&gas, 1.0, 1.5).unwrap());
    comes_back(&isotropic::coefficients::Counts::of(16));
    refused(&gas, "/grid/cells", json!(0));
    let histogram = isotropic::market::Histogram::new(&[[0.0, 1.0, 3.0], [1.0, 2.5, 4.0]]).unwrap();
    comes_back(&histogram);
    refused(&histogram, "/0/1", json!(2.0));
}

fn plates() -> Problem {
    Problem::uniform(
        Space::line(12, [0.0, 2.0]).unwrap(),
        VelocitySpace::new(vec![Axis::uniform(16, -4.5, 4.5).unwrap()], 1).unwrap(),
        Gas::default(),
        Boundaries::line(
            Boundary::Wall(Wall::diffuse(1.0)),
            Boundary::Wall(Wall::diffuse(1.1)),
        ),
        State::REST,
    )
    .unwrap()
}

#[test]
fn the_bgk_wing_comes_back() {
    let problem = plates();
    let config = SimulationConfig {
        compute: Backend::Cpu.into(),
        ..SimulationConfig::new(problem.clone(), 0.01)
    };
    comes_back(&config);
    let mut run = Simulation::new(config).unwrap();
    run.advance(3).unwrap();
    comes_back(&run.moments().unwrap());
    comes_back(&run.face_fluxes().unwrap());
    let saved = run.checkpoint().unwrap();
    comes_back(&saved);
    let mut resumed = Simulation::resume(again(&saved)).unwrap();
    run.advance(3).unwrap();
    resumed.advance(3).unwrap();
    assert_eq!(run.state().unwrap(), resumed.state().unwrap());

    let shock = bgk::Shock::new(2.0).unwrap();
    comes_back(&shock);
    comes_back(&bgk::Cavity::new(1.0, 8, &[8, 8]).unwrap());
    comes_back(&bgk::Units::new(bgk::Species::Argon, 100.0, 300.0).unwrap());
    comes_back(&boltzmann::ShockWave::new(1.5).unwrap());
    refused(&problem, "/space/dimensions", json!(3));
    refused(&shock, "/mach", json!(0.5));
}

#[test]
fn steady_flows_come_back() {
    let case = steady::SteadyProblem::from(&plates());
    let config = steady::SteadyConfig {
        compute: Backend::Cpu.into(),
        iterations: 12,
        ..steady::SteadyConfig::default()
    };
    comes_back(&case);
    comes_back(&config);
    comes_back(&steady::plates::Resolution::default());
    comes_back(&steady::plates::Drive::Fourier(0.25));
    let mut solver = steady::SteadySolver::new(case.clone(), &config).unwrap();
    for _ in 0..3 {
        solver.iterate().unwrap();
    }
    let saved = solver.checkpoint();
    comes_back(&saved);
    let mut resumed = steady::SteadySolver::resume(again(&saved)).unwrap();
    solver.solve().unwrap();
    resumed.solve().unwrap();
    let solution = solver.solution().unwrap();
    comes_back(&solution);
    assert_eq!(solution.cells, resumed.solution().unwrap().cells);

    refused(&case, "/nodes/dimensions", json!(0));
    refused(&case, "/nodes/measures", json!([1.0]));
    refused(&case, "/nodes/velocities/0", json!([0.0, 1.0, 0.0]));
}

#[test]
fn the_longman_wing_comes_back() {
    let task = longman::Task::oscillating("exp(-p*x)", "bessel:0", "w", &[]).unwrap();
    let settings = longman::Settings {
        areas: Some(24),
        ..longman::Settings::for_precision(Precision::F32)
    };
    comes_back(&settings);
    for row in [[0.5, 2.0], [0.5, -2.0]] {
        let found = crate::longman::one(&task, &row, &settings, Precision::F64);
        // Not a number is not equal to itself, and is the same text again.
        let text = serde_json::to_string(&found).unwrap();
        let read: longman::Integral = serde_json::from_str(&text).unwrap();
        assert_eq!(format!("{read:?}"), format!("{found:?}"));
        refused(&found, "/status", json!("FINE"));
    }
    for oscillator in [
        longman::Oscillator::Cos,
        longman::Oscillator::Sin,
        longman::Oscillator::BesselJ(0.5),
    ] {
        comes_back(&oscillator);
        refused(&oscillator, "", json!("bessel:-2"));
    }
    comes_back(&longman::Boundaries::Points(vec![1.0, 2.0]));
    let rule = longman::paper::PaperRule::default();
    comes_back(&rule);
    comes_back(&rule.table(0.5, 10.0).unwrap());
    comes_back(&longman::gpu::batch::BatchConfig::new(
        longman::gpu::batch::Oscillation::Bessel(1.0),
    ));
}

#[test]
fn exact_numbers_come_back() {
    let number: decimal::Decimal = "-123456789012345678901234567890.5e-40".parse().unwrap();
    comes_back(&number);
    assert_eq!(
        serde_json::to_value(&number).unwrap(),
        json!(number.to_string())
    );
    refused(&number, "", json!("one"));
    let backend = Backend::Cpu.resolve().unwrap();
    comes_back(&decimal::sum_text(b"1e40\n0.1\n", &backend).unwrap());
    let signal = dft::Signal::real(vec![number.clone(), 3.into(), 0.into()]);
    comes_back(&signal);
    let transform = dft::Transform::new(3, 20).unwrap();
    comes_back(&transform.forward(&signal, &backend).unwrap());
    let sum = float::ExactAccumulator::sum(&[1e300, 0.1, -1e300]);
    comes_back(&sum);
    comes_back(&sum.value());
    refused(&sum.value(), "/magnitude", json!([1, 0]));
    refused(&sum.value(), "/kind", json!("nan"));

    let float = paper::Float::from_decimal(&number);
    comes_back(&float);
    comes_back(float.digits());
    refused(&float, "/digits/set/threshold", json!(0));
    refused(&float, "/digits/digits/0", json!(7));
    refused(&float, "/exponent", json!(i64::MAX));
}

#[test]
fn numbers_with_an_exponent_are_decimal() {
    let hexadecimal = paper::DigitSet::new(16, 10, 8).unwrap();
    let digits = paper::SignedDigits::from_ordinary(hexadecimal, false, &[15, 1]).unwrap();
    paper::Float::new(digits, 0).unwrap_err();
    let two = paper::SignedDigits::new(paper::DigitSet::PAPER, vec![2]).unwrap();
    let tiny = paper::Float::new(two.clone(), -2_000_000_000_000_000).unwrap();
    assert!(tiny.times(&tiny).is_err());
    let hundreds = paper::Float::new(two, 2).unwrap();
    assert_eq!(hundreds.to_decimal(), 200.into());
}
