//! The spectral kernels with constants for their periods.

use rarefy::collision::initial::maxwellian;
use rarefy::collision::{
    CollisionOperator, CorrectionMethod, Evaluation, OperatorConfig, Spectral, VelocityGrid,
};
use rarefy::{Backend, Compute, Precision};

use crate::collision::norm;
use crate::support;

/// A distribution that no symmetry helps.
fn mixture(grid: &VelocityGrid) -> Vec<f64> {
    let parts = [
        maxwellian(grid, 0.6, [1.2, -0.3, 0.2], 0.8),
        maxwellian(grid, 0.3, [-0.9, 0.5, 0.1], 1.3),
    ];
    let pairs = parts[0].iter().zip(&parts[1]);
    pairs.map(|(a, b)| a + b).collect()
}

fn evaluate(config: OperatorConfig, f: &[f64]) -> Evaluation {
    let mut operator = CollisionOperator::new(config).expect("an operator");
    operator.evaluate_any(f).expect("an evaluation")
}

/// Kernels of a period against the CPU, in both precisions and with both corrections.
fn check(backend: Backend, (n, period): (usize, u32), precisions: &[Precision]) {
    let grid = VelocityGrid::new(n, -4.0, 5.0).expect("a grid");
    let f = mixture(&grid);
    for correction in [CorrectionMethod::Paper, CorrectionMethod::Balanced] {
        let config = OperatorConfig {
            spectral: Spectral {
                degree: Some(5),
                period: Some(period),
                ..Spectral::default()
            },
            correction,
            compute: Backend::Cpu.into(),
            ..OperatorConfig::spectral(grid)
        };
        let exact = evaluate(config.clone(), &f);
        for &precision in precisions {
            let tolerance = match precision {
                Precision::F64 => 1e-12,
                _ => 1e-5,
            };
            let found = evaluate(
                OperatorConfig {
                    compute: Compute::new(backend).with_precision(precision),
                    ..config.clone()
                },
                &f,
            );
            for (name, found, exact) in [
                ("gain", &found.gain, &exact.gain),
                ("frequency", &found.frequency, &exact.frequency),
                ("rate", &found.rate, &exact.rate),
            ] {
                let differences = found.iter().zip(exact).map(|(a, b)| a - b);
                let share = norm(differences) / norm(exact.iter().copied());
                assert!(
                    share < tolerance,
                    "{name} on {backend:?}, {precision:?}, n {n}, P {period}, {correction}: {share:e}"
                );
            }
            let residuals = found.correction.residuals;
            assert!(residuals.iter().all(|r| *r < 1e-14), "{residuals:?}");
        }
    }
}

#[test]
fn kernels_of_short_periods_have_the_integral() {
    let both = [Precision::F32, Precision::F64];
    check(Backend::Emulator, (12, 18), &[Precision::F32]);
    for period in [24, 30, 36] {
        check(Backend::Emulator, (4, period), &both);
    }
}

#[test]
fn kernels_of_long_periods_have_the_integral() {
    for period in [48, 72, 96] {
        check(Backend::Emulator, (6, period), &[Precision::F64]);
    }
}

#[test]
fn kernels_of_all_periods_have_the_integral_on_a_gpu() {
    let both = [Precision::F32, Precision::F64];
    if support::device().is_some() {
        for (n, period) in [
            (12, 18),
            (16, 24),
            (20, 30),
            (24, 36),
            (32, 48),
            (33, 48),
            (48, 72),
            (50, 72),
            (64, 96),
        ] {
            check(Backend::Cuda, (n, period), &both);
        }
    }
}
