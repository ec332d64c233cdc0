//! The balanced correction: rates of the uncorrected sum, rest at every discrete Maxwellian, conservation; on every backend.

use rarefy::collision::initial::{Bkw, TwoMaxwellians, maxwellian};
use rarefy::collision::transport::{self, Flux};
use rarefy::collision::{
    CollisionOperator, CorrectionMethod, CorrectionStatus, Evaluation, Method, OperatorConfig,
    Order, Relaxation, RelaxationConfig, Scattering, Until, VelocityGrid, collide, collide_batch,
    discrete_maxwellian, reference,
};
use rarefy::{Backend, Compute, Precision};

use crate::collision::{assert_printed, norm};
use crate::support;

fn on(n: usize, half_width: f64) -> OperatorConfig {
    OperatorConfig {
        compute: Backend::Cpu.into(),
        ..OperatorConfig::new(VelocityGrid::new(n, -half_width, half_width).expect("a grid"))
    }
}

/// Beams off the centre and a hot part, which no symmetry helps.
fn mixture(grid: &VelocityGrid) -> Vec<f64> {
    let parts = [
        maxwellian(grid, 0.6, [1.2, -0.3, 0.2], 0.8),
        maxwellian(grid, 0.3, [-0.9, 0.5, 0.1], 1.3),
    ];
    let pairs = parts[0].iter().zip(&parts[1]);
    pairs.map(|(a, b)| a + b).collect()
}

/// Where kernels can run: in the emulator, and on a GPU if there is one.
fn machines() -> Vec<Backend> {
    let mut machines = vec![Backend::Emulator];
    machines.extend(support::device().map(|_| Backend::Cuda));
    machines
}

#[test]
fn rates_are_those_of_the_uncorrected_sum() {
    for (n, shear, heat) in [
        (12, "1.805169", "1.184590"),
        (16, "1.804619", "1.195644"),
        (20, "1.805006", "1.199989"),
    ] {
        for (flux, printed) in [(Flux::Shear, shear), (Flux::Heat, heat)] {
            let rate = transport::decay_rate(&on(n, 5.5), flux).expect("a rate");
            assert_printed(rate, printed, &format!("{flux:?}, {n}"));
            let none = OperatorConfig {
                correction: CorrectionMethod::None,
                ..on(n, 5.5)
            };
            let bare = transport::decay_rate(&none, flux).expect("a rate");
            assert!((rate / bare - 1.0).abs() < 1e-5, "{rate} {bare}");
        }
    }
}

#[test]
fn the_exact_solution_is_met_to_the_fourth_order() {
    let state = Bkw::new(0.65).expect("a valid K");
    let mut errors = Vec::new();
    for (n, second, fourth) in [
        (12, "1.2388e-1", "2.6464e-2"),
        (16, "8.6857e-2", "8.2428e-3"),
        (20, "6.2057e-2", "3.3512e-3"),
        (24, "4.5844e-2", "1.5998e-3"),
    ] {
        for (order, printed) in [(Order::Second, second), (Order::Fourth, fourth)] {
            let config = OperatorConfig {
                order,
                ..on(n, 5.0)
            };
            let error = transport::bkw_error(&config, state).expect("an error");
            assert_printed(error.relative, printed, &format!("order {order}, {n}"));
            if order == Order::Fourth {
                errors.push((n, error.relative));
            }
        }
    }
    let order = transport::observed_order(errors[2], errors[3]);
    assert!(order > 3.9, "{order}");
}

#[test]
fn every_discrete_maxwellian_is_at_rest() {
    for (n, scattering) in [(9, Scattering::Maxwell), (12, Scattering::HardSphere)] {
        for order in [Order::Second, Order::Fourth] {
            for (precision, most) in [(Precision::F64, 1e-15), (Precision::F32, 1e-7)] {
                let config = OperatorConfig {
                    scattering,
                    order,
                    compute: Compute::new(Backend::Cpu).with_precision(precision),
                    ..on(n, 5.0)
                };
                let mut operator = CollisionOperator::new(config.clone()).expect("an operator");
                for (velocity, temperature) in [([0.0; 3], 1.0), ([0.4, -0.7, 0.2], 1.6)] {
                    let f = maxwellian(&config.grid, 1.3, velocity, temperature);
                    let m = discrete_maxwellian(&config.grid, &f).expect("a Maxwellian");
                    let evaluation = operator.evaluate(&m).expect("an evaluation");
                    assert_eq!(evaluation.correction.status, CorrectionStatus::Balanced);
                    let pairs = m.iter().zip(&evaluation.frequency);
                    let loss = norm(pairs.map(|(m, nu)| m * nu));
                    let size = norm(evaluation.rate.iter().copied()) / loss;
                    assert!(
                        size < most,
                        "{n} {order} {precision} {temperature}: {size:e}"
                    );
                }
            }
        }
    }
}

#[test]
fn mass_momentum_and_energy_are_conserved_to_roundoff() {
    for order in [Order::Second, Order::Fourth] {
        for precision in [Precision::F64, Precision::F32] {
            let config = OperatorConfig {
                order,
                compute: Compute::new(Backend::Cpu).with_precision(precision),
                ..on(12, 6.0)
            };
            let evaluation = collide(&config, &mixture(&config.grid)).expect("an evaluation");
            for residual in evaluation.correction.residuals {
                assert!(residual < 1e-15, "{order} {precision}: {residual:e}");
            }
        }
    }
}

fn differ(found: &Evaluation, expected: &Evaluation) -> f64 {
    let pairs = found.rate.iter().zip(&expected.rate);
    norm(pairs.map(|(a, b)| a - b)) / norm(expected.rate.iter().copied())
}

/// All backends, both methods; the distribution of a batch is that of a single evaluation to the bit.
#[test]
fn all_backends_agree() {
    for (n, order) in [(5, Order::Second), (6, Order::Fourth), (8, Order::Fourth)] {
        let grid = VelocityGrid::new(n, -4.5, 5.0).expect("a grid");
        let base = OperatorConfig {
            order,
            ..OperatorConfig::new(grid)
        };
        let f = mixture(&grid);
        let expected = reference::evaluate(&base, &f);
        let mut backends = vec![Backend::Cpu];
        // The emulator is slow.
        backends.extend(
            machines()
                .into_iter()
                .filter(|backend| n < 8 || *backend == Backend::Cuda),
        );
        for backend in backends {
            for method in [Method::Fast, Method::Direct] {
                for (precision, most) in [(Precision::F64, 1e-12), (Precision::F32, 2e-5)] {
                    let config = OperatorConfig {
                        compute: Compute::new(backend).with_precision(precision),
                        method,
                        ..base.clone()
                    };
                    let what = format!("{n}^3 {backend} {method:?} {precision}");
                    let found = collide(&config, &f).expect("an evaluation");
                    let off = differ(&found, &expected);
                    assert!(off < most, "{what}: {off:e}");
                    assert_eq!(found.correction.status, CorrectionStatus::Balanced);
                    let step = found.correction.largest_step / expected.correction.largest_step;
                    assert!((step - 1.0).abs() < most, "{what}: {step}");
                    for residual in found.correction.residuals {
                        assert!(residual < 1e-15, "{what}: {residual:e}");
                    }
                    for (cell, rate) in found.rate.iter().enumerate() {
                        let difference = found.gain[cell] - f[cell] * found.frequency[cell];
                        let size = (found.gain[cell].abs() + rate.abs()) * 1e-6;
                        assert!((difference - rate).abs() <= size, "{what}: {cell}");
                    }
                    let batch = [&f[..], &f.iter().rev().copied().collect::<Vec<_>>()].concat();
                    let both = collide_batch(&config, &batch).expect("evaluations");
                    assert!(both[0] == found, "{what}: in a batch");
                }
            }
        }
    }
}

/// Where no Maxwellian has the moments of f, the integral is the uncorrected one, and says so.
#[test]
fn without_a_maxwellian_the_integral_is_left_alone() {
    let mut backends = vec![Backend::Cpu];
    backends.extend(machines());
    for backend in backends {
        let config = OperatorConfig {
            compute: backend.into(),
            ..on(6, 4.0)
        };
        let mut f = vec![0.0; config.grid.cells()];
        f[100] = 1.0;
        assert_eq!(discrete_maxwellian(&config.grid, &f), None);
        let found = collide(&config, &f).expect("an evaluation");
        assert_eq!(found.correction.status, CorrectionStatus::Singular);
        let none = OperatorConfig {
            correction: CorrectionMethod::None,
            ..config.clone()
        };
        let bare = collide(&none, &f).expect("an evaluation");
        for (found, bare) in found.rate.iter().zip(&bare.rate) {
            assert!((found - bare).abs() < 1e-13, "{backend}: {found} {bare}");
        }
    }
}

/// A shear of 1e-6 decays in f32 over ten relaxation times with the right rate, far below the roundoff of f32. The stress of Maxwell molecules decays as one exponential.
#[test]
fn f32_resolves_deviations_of_a_millionth() {
    let config = OperatorConfig {
        compute: Compute::new(Backend::Cpu).with_precision(Precision::F32),
        scattering: Scattering::Maxwell,
        ..on(12, 5.5)
    };
    let grid = config.grid;
    let m = maxwellian(&grid, 1.0, [0.0; 3], 1.0);
    let phi = grid.sample(|[x, y, _]| x * y);
    let f = m.iter().zip(&phi).map(|(m, phi)| m * (1.0 + 1e-6 * phi));
    let exact = transport::exact_decay_rate(config.scattering, 1.0, Flux::Shear);
    let config = RelaxationConfig {
        dt: Some(0.1),
        ..RelaxationConfig::new(config, Until::Time(10.0 / exact))
    };
    let mut run = Relaxation::new(config, f.collect()).expect("a run");
    run.advance(u64::MAX).expect("steps");
    let rows = run.history();
    let first = rows[0].moments.pressure[3];
    assert!((first - 1e-6).abs() < 1e-8);
    // From the start, and over the last tenth of the run.
    for from in [0, rows.len() * 9 / 10] {
        let (before, after) = (rows[from], rows[rows.len() - 1]);
        let decay = before.moments.pressure[3] / after.moments.pressure[3];
        let rate = decay.ln() / (after.time - before.time);
        assert!((rate / exact - 1.0).abs() < 0.01, "{rate} of {exact}");
    }
}

#[test]
fn limited_runs_stay_above_zero_and_conserve() {
    // Coarse for its beams, so that something is below zero without the limiter.
    let grid = VelocityGrid::new(10, -6.5, 6.5).expect("a grid");
    let beams = TwoMaxwellians {
        speed: 2.2,
        ..TwoMaxwellians::default()
    };
    let f = beams.sample(&grid);
    let run = |backend: Backend, limited: bool, steps: u64| {
        let operator = OperatorConfig {
            compute: backend.into(),
            order: Order::Fourth,
            ..OperatorConfig::new(grid)
        };
        let config = RelaxationConfig {
            limited,
            ..RelaxationConfig::new(operator, Until::Steps(steps))
        };
        let mut run = Relaxation::new(config, f.clone()).expect("a run");
        run.advance(u64::MAX).expect("steps");
        run.history().to_vec()
    };
    let free = run(Backend::Cpu, false, 4);
    let below = free.iter().map(|row| row.moments.below_zero);
    assert!(below.fold(0.0, f64::max) > 0.0);
    let limited = run(Backend::Cpu, true, 4);
    let (first, last) = (limited[0].moments, limited[4].moments);
    for row in &limited {
        assert!(row.moments.minimum >= 0.0 && row.moments.below_zero == 0.0);
    }
    assert!((last.density / first.density - 1.0).abs() < 1e-14);
    assert!((last.temperature / first.temperature - 1.0).abs() < 1e-14);
    for backend in machines() {
        // An emulated step takes seconds.
        let steps = if backend == Backend::Emulator { 1 } else { 4 };
        for (row, expected) in run(backend, true, steps).iter().zip(&limited) {
            assert!(row.moments.minimum >= 0.0);
            let off = row.moments.entropy / expected.moments.entropy - 1.0;
            assert!(off.abs() < 1e-12, "{backend}: {off:e}");
        }
    }
}
