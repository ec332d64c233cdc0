//! One suite for every backend of the collision wing: the same call, the same answer.

use rarefy::collision::{
    Evaluation, Integrator, Method, OperatorConfig, Order, Relaxation, RelaxationConfig,
    Scattering, Until, VelocityGrid, collide, initial,
};
use rarefy::{Backend, Compute, Precision};

use crate::support;

/// Where the kernels can run: always in the emulator, and on a GPU if there is one.
fn machines() -> Vec<Backend> {
    let mut machines = vec![Backend::Emulator];
    if support::device().is_some() {
        machines.push(Backend::Cuda);
    }
    machines
}

fn config(
    n: usize,
    gamma: f64,
    method: Method,
    precision: Precision,
    backend: Backend,
) -> OperatorConfig {
    let Ok(grid) = VelocityGrid::new(n, -4.0, 5.0) else {
        unreachable!("n is in range")
    };
    OperatorConfig {
        scattering: Scattering::Vhs {
            omega: 1.0 - gamma / 2.0,
        },
        sigma_t: 1.0,
        method,
        compute: Compute::new(backend).with_precision(precision),
        ..OperatorConfig::paper(grid)
    }
}

/// Reproducible values in (0, 1), one a cell, spread over six decades.
fn sample(cells: usize) -> Vec<f64> {
    let mut state = 0x9E37_79B9_7F4A_7C15_u64;
    let mut uniform = || {
        state ^= state << 13;
        state ^= state >> 7;
        state ^= state << 17;
        (state >> 11) as f64 / (1u64 << 53) as f64
    };
    (0..cells)
        .map(|_| uniform() * 10f64.powf(-6.0 * uniform()))
        .collect()
}

fn worst(a: &[f64], b: &[f64]) -> f64 {
    a.iter()
        .zip(b)
        .map(|(a, b)| (a - b).abs() / b.abs().max(f64::MIN_POSITIVE))
        .fold(0.0, f64::max)
}

/// Largest |a - b| over the largest |b|.
fn worst_of_largest(a: &[f64], b: &[f64]) -> f64 {
    let largest = b.iter().fold(0.0_f64, |most, b| most.max(b.abs()));
    let differences = a.iter().zip(b).map(|(a, b)| (a - b).abs());
    differences.fold(0.0, f64::max) / largest
}

fn check(config: &OperatorConfig, f: &[f64], expected: &Evaluation) {
    let found = collide(config, f).unwrap_or_else(|error| panic!("{config:?}: {error}"));
    let tolerance = if config.compute.precision == Precision::F64 {
        1e-12
    } else {
        1e-5
    };
    let what = format!(
        "{}, {:?}, {:?}, {}^3",
        config.compute.backend,
        config.method,
        config.compute.precision,
        config.grid.n()
    );
    // The terms of the second order are positive; in the fourth they may cancel.
    let gain = if config.order == Order::Second {
        worst(&found.gain, &expected.gain)
    } else {
        worst_of_largest(&found.gain, &expected.gain)
    };
    assert!(gain < tolerance, "{what}: gain is off by {gain:e}");
    let frequency = worst(&found.frequency, &expected.frequency);
    assert!(
        frequency < tolerance,
        "{what}: frequency is off by {frequency:e}"
    );
    assert_eq!(
        found.correction.status, expected.correction.status,
        "{what}"
    );
    for residual in found.correction.residuals {
        assert!(residual < 1e-14, "{what}: conserves to {residual:e} only");
    }
    let largest = expected
        .rate
        .iter()
        .fold(0.0_f64, |most, rate| most.max(rate.abs()));
    let rate = found
        .rate
        .iter()
        .zip(&expected.rate)
        .map(|(a, b)| (a - b).abs())
        .fold(0.0, f64::max)
        / largest;
    assert!(
        rate < 100.0 * tolerance,
        "{what}: the rate is off by {rate:e}"
    );
    let step = found.correction.largest_step / expected.correction.largest_step - 1.0;
    assert!(
        step.abs() < 100.0 * tolerance,
        "{what}: the largest step is off by {step:e}"
    );
}

#[test]
fn kernels_agree_with_the_reference() {
    for (n, gamma, order) in [
        (3, 1.0, Order::Second),
        (4, 0.0, Order::Second),
        (5, 0.5, Order::Second),
        (6, 1.0, Order::Second),
        (7, 0.0, Order::Second),
        (3, 0.5, Order::Fourth),
        (6, 0.0, Order::Fourth),
        (7, 1.0, Order::Fourth),
    ] {
        let f = sample(n * n * n);
        let config = |n, gamma, method, precision, backend| OperatorConfig {
            order,
            ..config(n, gamma, method, precision, backend)
        };
        let reference = config(n, gamma, Method::Direct, Precision::F64, Backend::Reference);
        let expected = collide(&reference, &f).expect("the reference runs everywhere");
        for backend in machines().into_iter().chain([Backend::Cpu]) {
            for method in [Method::Direct, Method::Fast] {
                for precision in [Precision::F32, Precision::F64] {
                    check(&config(n, gamma, method, precision, backend), &f, &expected);
                }
            }
        }
    }
}

#[test]
fn kernels_agree_with_the_cpu_on_real_grids() {
    if support::device().is_none() {
        return;
    }
    for (n, order) in [12, 16, 20, 24, 32, 33, 40]
        .into_iter()
        .flat_map(|n| [(n, Order::Second), (n, Order::Fourth)])
    {
        let f = sample(n * n * n);
        let config = |n, gamma, method, precision, backend| OperatorConfig {
            order,
            ..config(n, gamma, method, precision, backend)
        };
        let expected = collide(
            &config(n, 1.0, Method::Fast, Precision::F64, Backend::Cpu),
            &f,
        )
        .expect("the CPU runs everywhere");
        for precision in [Precision::F32, Precision::F64] {
            check(
                &config(n, 1.0, Method::Fast, precision, Backend::Cuda),
                &f,
                &expected,
            );
            if n <= 24 {
                check(
                    &config(n, 1.0, Method::Direct, precision, Backend::Cuda),
                    &f,
                    &expected,
                );
            }
        }
    }
}

/// The frequency is a convolution in the fast method: it must be right in each cell, not beside the largest one only.
#[test]
fn the_frequency_is_right_beside_a_peak() {
    for (n, gamma) in [
        (5, 1.0),
        (6, 0.5),
        (16, 1.0),
        (20, 1.0),
        (33, 1.0),
        (64, 1.0),
    ] {
        let cells = n * n * n;
        let spots = |spots: &[(usize, f64)]| {
            let mut f = vec![0.0; cells];
            for &(cell, value) in spots {
                f[cell] = value;
            }
            f
        };
        let distributions = [
            spots(&[(cells / 2, 2.0)]),
            spots(&[(cells / 2, 2.0), (1, 1e-30), (cells - 2, 3e-30)]),
            spots(&[(0, 1.0), (1, 0.5), (n, 0.9), (cells - 1, 1e-4)]),
        ];
        for f in &distributions {
            for precision in [Precision::F32, Precision::F64] {
                // The input of the machine in f32 is rounded; its sum is the standard.
                let seen = |&f: &f64| {
                    if precision == Precision::F32 {
                        f64::from(f as f32)
                    } else {
                        f
                    }
                };
                let f: Vec<f64> = f.iter().map(seen).collect();
                let mut expected = vec![0.0; cells];
                let sources = f.iter().enumerate().filter(|(_, f)| **f != 0.0);
                for (j, f) in sources {
                    for (i, nu) in expected.iter_mut().enumerate() {
                        let at = |cell: usize| [cell / (n * n), cell / n % n, cell % n];
                        let square = (0..3).map(|k| at(i)[k].abs_diff(at(j)[k]).pow(2));
                        let square = square.sum::<usize>() as f64;
                        *nu += if i == j {
                            0.0
                        } else {
                            f * square.powf(gamma / 2.0)
                        };
                    }
                }
                for backend in machines().into_iter().chain([Backend::Cpu]) {
                    if n > if backend == Backend::Cuda {
                        64
                    } else if backend == Backend::Cpu {
                        20
                    } else {
                        6
                    } {
                        continue;
                    }
                    // Cells of width 1 and sigma_T = 4 pi: the physical frequency is 4 pi times the sum.
                    let Ok(grid) = VelocityGrid::new(n, 0.0, n as f64) else {
                        unreachable!("n is in range")
                    };
                    let config = OperatorConfig {
                        grid,
                        sigma_t: 4.0 * std::f64::consts::PI,
                        ..config(n, gamma, Method::Fast, precision, backend)
                    };
                    let found = collide(&config, &f).expect("an evaluation");
                    let tolerance = if precision == Precision::F32 {
                        1e-6
                    } else {
                        1e-12
                    };
                    for (cell, (nu, sum)) in found.frequency.iter().zip(&expected).enumerate() {
                        let expected = 4.0 * std::f64::consts::PI * sum;
                        assert!(
                            (nu - expected).abs() <= tolerance * expected,
                            "{backend}, {precision}, {n}^3, cell {cell}: {nu:e} instead of {expected:e}"
                        );
                    }
                }
            }
        }
    }
}

#[test]
fn a_relaxation_agrees_on_all_backends_and_repeats_to_the_bit() {
    let run = |backend, precision, method| {
        let grid = VelocityGrid::new(6, -6.5, 6.5).expect("a grid");
        let operator = OperatorConfig {
            compute: Compute::new(backend).with_precision(precision),
            method,
            ..OperatorConfig::paper(grid)
        };
        let config = RelaxationConfig {
            operator,
            integrator: Integrator::Ssprk3,
            dt: None,
            until: Until::Steps(4),
            limited: false,
        };
        let f = initial::TwoMaxwellians::default().sample(&grid);
        let mut run = Relaxation::new(config, f).expect("a run");
        while !run.is_done() {
            run.step().expect("a step");
        }
        let last = *run.history().last().expect("a row");
        (run.state().expect("the distribution"), last)
    };
    let (expected, row) = run(Backend::Reference, Precision::F64, Method::Direct);
    for backend in machines().into_iter().chain([Backend::Cpu]) {
        for (precision, tolerance) in [(Precision::F64, 1e-11), (Precision::F32, 1e-4)] {
            for method in [Method::Direct, Method::Fast] {
                let (f, last) = run(backend, precision, method);
                let error = worst(&f, &expected);
                assert!(
                    error < tolerance,
                    "{backend}, {precision}, {method:?}: {error:e}"
                );
                assert!((last.moments.density - row.moments.density).abs() < 1e-13);
                assert!((last.moments.temperature - row.moments.temperature).abs() < 1e-13);
                assert!((last.moments.entropy - row.moments.entropy).abs() < 100.0 * tolerance);
                assert!((last.activity / row.activity - 1.0).abs() < 100.0 * tolerance);
                let (again, _) = run(backend, precision, method);
                assert!(
                    f == again,
                    "{backend}, {precision}, {method:?}: two runs differ"
                );
            }
        }
    }
}

#[test]
fn degenerate_distributions_get_the_same_status_on_all_backends() {
    let n = 6;
    let at = |cells: &[[usize; 3]]| {
        let mut f = vec![0.0; n * n * n];
        for [x, y, z] in cells {
            f[(x * n + y) * n + z] = 1.0 + 0.1 * (x + 2 * y + 3 * z) as f64;
        }
        f
    };
    let corners = at(&[
        [0, 2, 2],
        [5, 2, 2],
        [2, 0, 2],
        [2, 5, 2],
        [2, 2, 0],
        [2, 2, 5],
    ]);
    let plane: Vec<f64> = sample(n * n * n)
        .iter()
        .enumerate()
        .map(|(cell, &f)| if cell / (n * n) == 2 { f } else { 0.0 })
        .collect();
    for f in [
        corners,
        plane,
        at(&[[1, 1, 1], [3, 3, 3]]),
        at(&[[2, 3, 4]]),
    ] {
        for gamma in [0.0, 1.0] {
            let reference = config(n, gamma, Method::Direct, Precision::F64, Backend::Reference);
            let expected = collide(&reference, &f).expect("the reference");
            for backend in machines() {
                let found = collide(&config(n, gamma, Method::Fast, Precision::F64, backend), &f)
                    .expect("a machine");
                assert_eq!(
                    found.correction.status, expected.correction.status,
                    "{backend}, gamma {gamma}"
                );
                assert!(found.rate.iter().all(|rate| rate.is_finite()));
                for (found, expected) in found
                    .correction
                    .residuals
                    .iter()
                    .zip(expected.correction.residuals)
                {
                    assert!(
                        *found < 1e-13_f64.max(2.0 * expected),
                        "{backend}: {found:e}, expected {expected:e}"
                    );
                }
            }
        }
    }
}
