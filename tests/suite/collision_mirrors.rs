//! Symmetric distributions: fewer directions have the integral of all.

use rarefy::collision::initial::maxwellian;
use rarefy::collision::{
    CollisionOperator, CorrectionMethod, Evaluation, Mirrors, OperatorConfig, Scattering, Spectral,
    VelocityGrid,
};
use rarefy::{Backend, Compute, Precision};

use crate::collision::norm;
use crate::support;

/// The symmetries of shock waves and heat conduction, of plane flows, and others.
fn symmetries() -> [Mirrors; 5] {
    let none = Mirrors::NONE;
    [
        Mirrors { z: true, ..none },
        Mirrors { y: true, ..none },
        Mirrors {
            y: true,
            z: true,
            ..none
        },
        Mirrors {
            exchange: true,
            ..none
        },
        Mirrors::ALL,
    ]
}

/// Two Maxwellians that move in all directions, and the mean with their images.
fn symmetric(grid: &VelocityGrid, mirrors: Mirrors) -> Vec<f64> {
    let signs = |mirror: bool| if mirror { vec![1.0, -1.0] } else { vec![1.0] };
    let middle = 0.5 * (grid.min() + grid.max());
    let mut sum = vec![0.0; grid.cells()];
    for y in signs(mirrors.y) {
        for z in signs(mirrors.z) {
            for exchanged in [false, mirrors.exchange] {
                for (u, temperature) in [([-0.7, 0.9, 0.3], 0.8), ([0.8, -0.2, -1.1], 1.1)] {
                    let (u_y, u_z) = if exchanged {
                        (u[2], u[1])
                    } else {
                        (u[1], u[2])
                    };
                    let u = [u[0] + middle, y * u_y + middle, z * u_z + middle];
                    let part = maxwellian(grid, 1.0, u, temperature);
                    sum.iter_mut()
                        .zip(part)
                        .for_each(|(sum, part)| *sum += part);
                }
            }
        }
    }
    sum
}

fn evaluate(config: OperatorConfig, f: &[f64]) -> Evaluation {
    let mut operator = CollisionOperator::new(config).expect("an operator");
    operator.evaluate_any(f).expect("an evaluation")
}

/// The reduced integral on a backend against all directions on the CPU, for all symmetries and corrections.
fn check(backend: Backend, (n, degree): (usize, u8), law: Scattering) {
    let grid = VelocityGrid::new(n, -4.0, 5.0).expect("a grid");
    for mirrors in symmetries() {
        let f = symmetric(&grid, mirrors);
        for correction in [CorrectionMethod::Paper, CorrectionMethod::Balanced] {
            let all = OperatorConfig {
                spectral: Spectral {
                    degree: Some(degree),
                    ..Spectral::default()
                },
                scattering: law,
                correction,
                compute: Backend::Cpu.into(),
                ..OperatorConfig::spectral(grid)
            };
            let expected = evaluate(all.clone(), &f);
            for (precision, tolerance) in [(Precision::F64, 1e-12), (Precision::F32, 1e-5)] {
                let reduced = OperatorConfig {
                    spectral: Spectral {
                        mirrors,
                        ..all.spectral
                    },
                    compute: Compute::new(backend).with_precision(precision),
                    ..all.clone()
                };
                let found = evaluate(reduced, &f);
                for (name, found, expected) in [
                    ("gain", &found.gain, &expected.gain),
                    ("frequency", &found.frequency, &expected.frequency),
                    ("rate", &found.rate, &expected.rate),
                ] {
                    let differences = found.iter().zip(expected).map(|(a, b)| a - b);
                    let share = norm(differences) / norm(expected.iter().copied());
                    assert!(
                        share < tolerance,
                        "{name} on {backend:?}, {precision:?}, n {n}, {mirrors:?}, {correction}: {share:e}"
                    );
                }
            }
        }
    }
}

#[test]
fn one_direction_of_each_orbit_has_the_integral_of_all() {
    check(Backend::Cpu, (7, 15), Scattering::HardSphere);
    check(Backend::Cpu, (8, 11), Scattering::Vhs { omega: 0.74 });
}

#[test]
fn the_reference_takes_one_direction_of_each_orbit_too() {
    // Its precision is always f64.
    check(Backend::Reference, (4, 7), Scattering::HardSphere);
}

#[test]
fn kernels_take_one_direction_of_each_orbit_too() {
    check(Backend::Emulator, (5, 9), Scattering::HardSphere);
    if support::device().is_some() {
        check(Backend::Cuda, (5, 9), Scattering::HardSphere);
        check(Backend::Cuda, (16, 15), Scattering::Vhs { omega: 0.74 });
        check(Backend::Cuda, (24, 17), Scattering::HardSphere);
    }
}

#[test]
fn batches_have_the_bits_of_single_evaluations() {
    let grid = VelocityGrid::new(6, -4.5, 4.5).expect("a grid");
    let items: Vec<f64> = (1..=3)
        .flat_map(|k| {
            let f = symmetric(&grid, Mirrors::ALL);
            f.into_iter().map(move |f| f * f64::from(k))
        })
        .collect();
    for backend in [Backend::Cpu, Backend::Emulator] {
        let config = OperatorConfig {
            spectral: Spectral {
                degree: Some(9),
                mirrors: Mirrors::ALL,
                ..Spectral::default()
            },
            compute: backend.into(),
            ..OperatorConfig::spectral(grid)
        };
        let mut operator = CollisionOperator::new(config).expect("an operator");
        let batch = operator.evaluate_batch(&items).expect("a batch");
        for (f, together) in items.chunks_exact(grid.cells()).zip(batch) {
            assert!(
                together == operator.evaluate(f).expect("an evaluation"),
                "{backend:?}: a batch has other bits"
            );
        }
    }
}

#[test]
fn a_distribution_without_the_symmetry_is_refused() {
    let grid = VelocityGrid::new(8, -4.0, 4.0).expect("a grid");
    let even_in_z = Mirrors {
        z: true,
        ..Mirrors::NONE
    };
    let f = symmetric(&grid, even_in_z);
    let with = |mirrors| OperatorConfig {
        spectral: Spectral {
            degree: Some(11),
            mirrors,
            ..Spectral::default()
        },
        compute: Backend::Cpu.into(),
        ..OperatorConfig::spectral(grid)
    };
    let refused = |config: OperatorConfig| {
        let mut operator = CollisionOperator::new(config).expect("an operator");
        operator.evaluate(&f).expect_err("no symmetry").to_string()
    };
    let message = refused(with(Mirrors::ALL));
    assert!(message.contains("at its image"), "{message}");
    // The sums over the nodes have no use for symmetries, and take any f.
    let nodal = OperatorConfig {
        spectral: with(Mirrors::ALL).spectral,
        compute: Backend::Cpu.into(),
        ..OperatorConfig::new(grid)
    };
    evaluate(nodal, &f);
    evaluate(with(even_in_z), &f);
}
