//! The spectral method: published values, exact productions, symmetries, and the same numbers on every backend.

use rarefy::collision::initial::{Bkw, TwoMaxwellians, maxwellian};
use rarefy::collision::transport::{self, Flux};
use rarefy::collision::{
    CollisionOperator, CorrectionMethod, CorrectionStatus, Evaluation, Integrator, OperatorConfig,
    Relaxation, RelaxationConfig, Scattering, Spectral, Until, VelocityGrid, collide_batch,
};
use rarefy::{Backend, Compute, Precision};

use crate::collision::norm;
use crate::support;

fn grid(n: usize, half_width: f64) -> VelocityGrid {
    VelocityGrid::new(n, -half_width, half_width).expect("a grid")
}

/// Degree, rank and period as the specification's tables name them.
fn given(degree: u8, rank: u8, period: u32) -> Spectral {
    Spectral {
        degree: Some(degree),
        rank: Some(rank),
        period: Some(period),
        ..Spectral::default()
    }
}

fn on(compute: impl Into<Compute>, grid: VelocityGrid, law: Scattering) -> OperatorConfig {
    OperatorConfig {
        compute: compute.into(),
        scattering: law,
        ..OperatorConfig::spectral(grid)
    }
}

fn evaluate(config: OperatorConfig, f: &[f64]) -> Evaluation {
    let mut operator = CollisionOperator::new(config).expect("an operator");
    operator.evaluate_any(f).expect("an evaluation")
}

/// Where kernels can run: in the emulator, and on a GPU if there is one.
fn machines() -> Vec<Backend> {
    let mut machines = vec![Backend::Emulator];
    machines.extend(support::device().map(|_| Backend::Cuda));
    machines
}

/// Noise by SplitMix64: `(z >> 11) 2^-53` in storage order.
fn noise(cells: usize, seed: u64) -> Vec<f64> {
    let mut state = seed;
    let mut next = || {
        state = state.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mut z = state;
        z = (z ^ (z >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        z = (z ^ (z >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        ((z ^ (z >> 31)) >> 11) as f64 * 2f64.powi(-53)
    };
    (0..cells).map(|_| next()).collect()
}

/// n, P, degree, rank, gamma, alpha, seed; gain at (0,0,0) and (1,2,3), sums of gain and loss, I at (1,2,3). Computed independently, in NumPy.
type Row = (usize, u32, u8, u8, f64, f64, u64, [f64; 5]);
#[allow(clippy::excessive_precision, reason = "digits as computed")]
const TABLE: [Row; 11] = [
    (
        4,
        6,
        5,
        1,
        1.0,
        1.0,
        1,
        [
            2.94343268223930e2,
            8.56080367261200e2,
            4.92236499069222e4,
            6.05333646172183e4,
            -4.11868408051643e2,
        ],
    ),
    (
        5,
        8,
        9,
        1,
        1.0,
        1.0,
        2,
        [
            1.65952042553631e2,
            1.38205517287189e3,
            9.36758118831740e4,
            1.19273074376849e5,
            -1.20258024987367e3,
        ],
    ),
    (
        8,
        12,
        11,
        1,
        1.0,
        1.0,
        3,
        [
            5.79719740401668e1,
            9.09665307163631e2,
            3.08973941400332e5,
            4.08913683367234e5,
            5.14429580754455e2,
        ],
    ),
    (
        9,
        16,
        11,
        1,
        1.0,
        1.0,
        4,
        [
            1.09932822812272e2,
            1.05955027276238e3,
            6.52727158170582e5,
            8.28081802655179e5,
            -1.94889160670165e2,
        ],
    ),
    (
        8,
        12,
        7,
        2,
        0.0,
        1.0,
        3,
        [
            2.70377030499024e1,
            1.66428927769280e2,
            6.43364588558758e4,
            7.72387576604885e4,
            8.74709163227744e1,
        ],
    ),
    (
        8,
        12,
        11,
        2,
        0.52,
        1.0,
        3,
        [
            2.74093782497094e1,
            4.15242258272382e2,
            1.41000786180860e5,
            1.81367283108550e5,
            2.35623173726433e2,
        ],
    ),
    (
        8,
        12,
        11,
        1,
        0.52,
        1.0,
        3,
        [
            2.97366938733436e1,
            4.27014989601755e2,
            1.46745170410225e5,
            1.87368601439029e5,
            2.41100781409427e2,
        ],
    ),
    (
        8,
        12,
        9,
        3,
        0.38,
        1.4,
        3,
        [
            3.00858820632642e1,
            3.27125416549673e2,
            1.15066043477370e5,
            1.46379785837094e5,
            1.81095407520230e2,
        ],
    ),
    (
        10,
        16,
        15,
        3,
        0.0,
        1.0,
        5,
        [
            1.43284881996042e1,
            1.58897790263299e2,
            1.38058496059352e5,
            1.68926770047457e5,
            -1.31144116015736e2,
        ],
    ),
    (
        16,
        24,
        11,
        1,
        1.0,
        1.0,
        6,
        [
            5.38063977040643e1,
            2.82431838139986e2,
            2.54727484695349e6,
            3.38444822890328e6,
            1.08686219991365e2,
        ],
    ),
    (
        16,
        24,
        11,
        3,
        0.0,
        1.0,
        6,
        [
            1.04529304997787e1,
            6.51548478356860e1,
            5.17895635649342e5,
            6.51094613447190e5,
            2.81013633997243e1,
        ],
    ),
];

fn check_row(backend: Backend, precision: Precision, row: &Row) {
    let &(n, period, degree, rank, gamma, alpha, seed, expected) = row;
    let omega = 1.0 - 0.5 * gamma;
    let law = if alpha == 1.0 {
        Scattering::Vhs { omega }
    } else {
        Scattering::Vss { omega, alpha }
    };
    let config = OperatorConfig {
        spectral: given(degree, rank, period),
        ..on(
            Compute::new(backend).with_precision(precision),
            grid(n, 5.0),
            law,
        )
    };
    let f = noise(n.pow(3), seed);
    let result = evaluate(config, &f);
    let cell = (n + 2) * n + 3;
    let volume = grid(n, 5.0).volume();
    let loss: f64 = f.iter().zip(&result.frequency).map(|(f, nu)| f * nu).sum();
    let found = [
        result.gain[0],
        result.gain[cell],
        result.gain.iter().sum(),
        loss,
        result.rate[cell],
    ];
    let (relative, least) = match precision {
        Precision::F64 => (1e-9, 0.0),
        _ => (1e-5, 2e-6 * result.gain[cell].abs()),
    };
    for (k, (found, expected)) in found.into_iter().zip(expected).enumerate() {
        let error = (found - expected).abs();
        assert!(
            error <= relative * expected.abs() + least,
            "{backend:?} {precision:?}, n {n}, P {period}, degree {degree}, rank {rank}, value {k}: {found:e} for {expected:e} (volume {volume})"
        );
    }
    assert!(result.correction.residuals.iter().all(|r| *r < 2e-15));
}

#[test]
fn noise_has_the_published_integral() {
    for row in &TABLE {
        check_row(Backend::Cpu, Precision::F64, row);
        check_row(Backend::Cpu, Precision::F32, row);
    }
    for row in TABLE.iter().filter(|row| row.1 <= 12) {
        check_row(Backend::Reference, Precision::F64, row);
    }
}

#[test]
fn kernels_have_the_published_integral() {
    for backend in machines() {
        let most = if backend == Backend::Emulator { 12 } else { 24 };
        for row in TABLE.iter().filter(|row| row.1 <= most) {
            check_row(backend, Precision::F64, row);
            check_row(backend, Precision::F32, row);
        }
    }
}

/// Two beams of unit temperature at +-1.5.
fn beams(grid: &VelocityGrid) -> Vec<f64> {
    let [a, b] = [1.5, -1.5].map(|u| maxwellian(grid, 0.5, [u, 0.0, 0.0], 1.0));
    a.iter().zip(&b).map(|(a, b)| a + b).collect()
}

/// d Pxx/dt and the total loss of the beams; the first one to so many digits as the table has.
#[test]
fn beams_have_the_exact_production_of_stress() {
    for (law, rank, found, exact, loss) in [
        (
            Scattering::HardSphere,
            1,
            -3.48710857,
            -3.48804926,
            2.9590371,
        ),
        (
            Scattering::Vhs { omega: 0.74 },
            3,
            -1.6539,
            -1.65423951,
            1.7114190,
        ),
        (Scattering::Maxwell, 3, -0.74989, -0.75, 1.0),
        (
            Scattering::Vss {
                omega: 0.81,
                alpha: 1.4,
            },
            3,
            -1.3735,
            -1.37375891,
            1.4717957,
        ),
    ] {
        let grid = grid(16, 6.5);
        let f = beams(&grid);
        let config = OperatorConfig {
            spectral: given(11, rank, 24),
            ..on(Backend::Cpu, grid, law)
        };
        let result = evaluate(config, &f);
        let volume = grid.volume();
        let sum = |values: &dyn Fn(usize) -> f64| (0..f.len()).map(values).sum::<f64>() * volume;
        let production = sum(&|k| result.rate[k] * grid.velocity(k)[0].powi(2));
        let across = sum(&|k| result.rate[k] * grid.velocity(k)[1].powi(2));
        assert!(
            (production / found - 1.0).abs() < 6e-5,
            "{law}: {production}"
        );
        assert!(
            (production / exact - 1.0).abs() < 4e-4,
            "{law}: {production}"
        );
        assert!((across / production + 0.5).abs() < 1e-9, "{law}: {across}");
        let total = sum(&|k| f[k] * result.frequency[k]);
        assert!((total / loss - 1.0).abs() < 4e-3, "{law}: {total}");
    }
}

#[test]
fn the_exact_solution_is_met_spectrally() {
    for (n, period, degree, rank, bare, corrected) in [
        (12, 18, 11, 3, 1.2717e-2, 1.4057e-2),
        (16, 24, 9, 2, 4.8270e-4, 5.4982e-4),
        (16, 24, 11, 3, 3.3954e-4, 3.4560e-4),
        (20, 30, 11, 3, 6.9298e-5, 6.8748e-5),
        (20, 30, 11, 1, 7.4259e-5, f64::NAN),
    ] {
        for (correction, expected) in [
            (CorrectionMethod::None, bare),
            (CorrectionMethod::Paper, corrected),
        ] {
            let config = OperatorConfig {
                spectral: given(degree, rank, period),
                correction,
                ..on(Backend::Cpu, grid(n, 5.0), Scattering::Maxwell)
            };
            let found = transport::bkw_error(&config, Bkw::new(0.65).expect("a state"))
                .expect("an error")
                .relative;
            assert!(
                expected.is_nan() || (found / expected - 1.0).abs() < 2e-3,
                "{n} {degree} {rank} {correction}: {found:e} for {expected:e}"
            );
        }
    }
}

#[test]
fn rates_and_equilibrium_are_those_of_the_tables() {
    for (law, rank, shear, heat, equilibrium) in [
        (Scattering::HardSphere, 1, 1.805051, 1.204624, 2.46e-6),
        (
            Scattering::Vhs { omega: 0.74 },
            2,
            0.965432,
            0.644139,
            1.57e-6,
        ),
        (Scattering::Maxwell, 3, 0.499953, 0.333523, 1.04e-6),
    ] {
        let config = OperatorConfig {
            spectral: given(11, rank, 24),
            correction: CorrectionMethod::None,
            ..on(Backend::Cpu, grid(16, 5.5), law)
        };
        for (flux, expected) in [(Flux::Shear, shear), (Flux::Heat, heat)] {
            let rate = transport::decay_rate(&config, flux).expect("a rate");
            assert!(
                (rate / expected - 1.0).abs() < 2e-6,
                "{law} {flux:?}: {rate}"
            );
        }
        let found = transport::equilibrium_error(&config).expect("an error");
        assert!((found / equilibrium - 1.0).abs() < 0.01, "{law}: {found:e}");
    }
}

/// Continuous values at nodes of 20 cells in [-6.5, 6.5], right to 1e-9.
#[test]
fn the_integral_of_beams_is_the_continuous_one() {
    let grid = grid(20, 6.5);
    let f = beams(&grid);
    for (law, rank, values, size) in [
        (
            Scattering::HardSphere,
            1,
            [
                6.163168e-5,
                -2.982602325e-2,
                -1.179003579e-2,
                9.939775041e-3,
                -4.62125005e-4,
                1.4535301e-5,
            ],
            2.253720697e-1,
        ),
        (
            Scattering::Maxwell,
            4,
            [
                1.703520e-5,
                -8.162459e-3,
                -2.443326e-3,
                2.470235e-3,
                -7.50779e-5,
                6.014e-7,
            ],
            5.629858e-2,
        ),
    ] {
        let config = OperatorConfig {
            spectral: given(21, rank, 30),
            ..on(Backend::Cpu, grid, law)
        };
        let result = evaluate(config, &f);
        let places = [
            [10, 10, 10],
            [12, 10, 10],
            [14, 11, 10],
            [10, 13, 10],
            [16, 12, 9],
            [5, 10, 14],
        ];
        for ([x, y, z], expected) in places.into_iter().zip(values) {
            let found = result.rate[grid.index(x, y, z)];
            assert!(
                (found - expected).abs() < 1e-5 * size * 3.0,
                "{law} {x} {y} {z}: {found:e} for {expected:e}"
            );
        }
        let found = norm(result.rate.iter().copied());
        assert!((found / size - 1.0).abs() < 1e-4, "{law}: {found}");
    }
}

/// A distribution that no symmetry helps.
fn mixture(grid: &VelocityGrid) -> Vec<f64> {
    let parts = [
        maxwellian(grid, 0.6, [1.2, -0.3, 0.2], 0.8),
        maxwellian(grid, 0.3, [-0.9, 0.5, 0.1], 1.3),
    ];
    let pairs = parts[0].iter().zip(&parts[1]);
    pairs.map(|(a, b)| a + b).collect()
}

#[test]
fn the_sums_keep_the_symmetries_of_the_cube() {
    let grid = grid(8, 5.0);
    let f = noise(grid.cells(), 9);
    let config = on(Backend::Cpu, grid, Scattering::HardSphere);
    let straight = evaluate(config.clone(), &f);
    let most = straight
        .gain
        .iter()
        .fold(0.0_f64, |most, g| most.max(g.abs()));
    // Exchanges of axes, and inversion.
    let images: [fn([usize; 3]) -> [usize; 3]; 3] = [
        |[x, y, z]| [y, x, z],
        |[x, y, z]| [z, x, y],
        |[x, y, z]| [7 - x, 7 - y, 7 - z],
    ];
    for image in images {
        let place = |k: usize| {
            let [x, y, z] = image([k / 64, k / 8 % 8, k % 8]);
            grid.index(x, y, z)
        };
        let mut moved = vec![0.0; f.len()];
        (0..f.len()).for_each(|k| moved[place(k)] = f[k]);
        let result = evaluate(config.clone(), &moved);
        for k in 0..f.len() {
            assert!((result.gain[place(k)] - straight.gain[k]).abs() < 1e-12 * most);
            let nu = straight.frequency[k];
            assert!((result.frequency[place(k)] - nu).abs() < 1e-12 * nu.abs());
        }
    }
    let twice: Vec<f64> = f.iter().map(|f| 4.0 * f).collect();
    let result = evaluate(config, &twice);
    assert!(
        result
            .gain
            .iter()
            .zip(&straight.gain)
            .all(|(a, b)| *a == 16.0 * b)
    );
}

#[test]
fn every_size_agrees_between_backends() {
    // Each length of transforms once, odd and even grids; the largest on a GPU alone.
    for n in [
        4, 5, 6, 7, 9, 11, 13, 15, 19, 21, 24, 27, 32, 37, 42, 48, 53, 63,
    ] {
        let grid = VelocityGrid::new(n, -4.0, 5.0).expect("a grid");
        let f = mixture(&grid);
        for backend in machines() {
            if backend == Backend::Emulator && n > 9 {
                continue;
            }
            for correction in [CorrectionMethod::Paper, CorrectionMethod::Balanced] {
                let config = OperatorConfig {
                    spectral: Spectral {
                        degree: Some(5),
                        ..Spectral::default()
                    },
                    correction,
                    ..on(Backend::Cpu, grid, Scattering::HardSphere)
                };
                let exact = evaluate(config.clone(), &f);
                for (precision, tolerance) in [(Precision::F64, 1e-12), (Precision::F32, 1e-5)] {
                    let result = evaluate(
                        OperatorConfig {
                            compute: Compute::new(backend).with_precision(precision),
                            ..config.clone()
                        },
                        &f,
                    );
                    for (name, found, expected) in [
                        ("rate", &result.rate, &exact.rate),
                        ("gain", &result.gain, &exact.gain),
                        ("frequency", &result.frequency, &exact.frequency),
                    ] {
                        let most = exact
                            .gain
                            .iter()
                            .chain(expected)
                            .fold(0.0_f64, |m, v| m.max(v.abs()));
                        for (found, expected) in found.iter().zip(expected) {
                            assert!(
                                (found - expected).abs() <= tolerance * most,
                                "{n} {backend:?} {precision:?} {correction} {name}: {found:e} for {expected:e}"
                            );
                        }
                    }
                    assert!(
                        result.correction.residuals.iter().all(|r| *r < 1e-14),
                        "{n} {backend:?} {:?}",
                        result.correction
                    );
                }
            }
        }
    }
}

#[test]
fn a_batch_has_the_bits_of_single_evaluations() {
    let grid = grid(6, 4.5);
    let mut states = vec![mixture(&grid), beams(&grid)];
    states.push(Bkw::new(0.7).expect("a state").sample(&grid));
    states.push(mixture(&grid).iter().map(|f| 1e-12 * f).collect());
    for backend in machines().into_iter().chain([Backend::Cpu]) {
        for correction in [CorrectionMethod::Paper, CorrectionMethod::Balanced] {
            let config = OperatorConfig {
                spectral: given(7, 1, 10),
                correction,
                ..on(backend, grid, Scattering::HardSphere)
            };
            let mut operator = CollisionOperator::new(config.clone()).expect("an operator");
            let all = collide_batch(&config, &states.concat()).expect("a batch");
            for (f, together) in states.iter().zip(all) {
                assert!(
                    operator.evaluate(f).expect("an evaluation") == together,
                    "{backend:?} {correction}"
                );
            }
        }
    }
}

#[test]
fn the_balanced_form_rests_at_maxwellians_and_resolves_small_deviations() {
    let grid = grid(12, 5.5);
    let still = maxwellian(&grid, 1.0, [0.1, -0.2, 0.3], 1.0);
    for precision in [Precision::F64, Precision::F32] {
        let config = OperatorConfig {
            correction: CorrectionMethod::Balanced,
            ..on(
                Compute::new(Backend::Cpu).with_precision(precision),
                grid,
                Scattering::HardSphere,
            )
        };
        let result = evaluate(config.clone(), &still);
        assert_eq!(result.correction.status, CorrectionStatus::Balanced);
        let loss = still.iter().zip(&result.frequency).map(|(f, nu)| f * nu);
        let loss = norm(loss);
        assert!(
            norm(result.rate.iter().copied()) < 1e-14 * loss,
            "{precision:?}: {:e}",
            norm(result.rate.iter().copied()) / loss
        );
        // A shear of 1e-5 of the density has the rate of one of 1e-2.
        let rate = |amplitude: f64| {
            let phi = |k: usize| {
                let [x, y, _] = grid.velocity(k);
                x * y
            };
            let base = maxwellian(&grid, 1.0, [0.0; 3], 1.0);
            let f: Vec<f64> = (0..base.len())
                .map(|k| base[k] * (1.0 + amplitude * phi(k)))
                .collect();
            let result = evaluate(config.clone(), &f);
            let change: f64 = (0..f.len()).map(|k| phi(k) * result.rate[k]).sum();
            let stress: f64 = (0..f.len()).map(|k| phi(k) * (f[k] - base[k])).sum();
            -change / stress
        };
        assert!(
            (rate(1e-5) / rate(1e-2) - 1.0).abs() < 1e-4,
            "{precision:?}: {} {}",
            rate(1e-5),
            rate(1e-2)
        );
    }
}

#[test]
fn sums_that_hardly_conserve_are_warned_of() {
    for (n, half_width, period, warned) in [
        (16, 6.5, None, false),
        (16, 4.5, None, true),
        (10, 6.5, None, true),
    ] {
        let grid = grid(n, half_width);
        let mut config = on(Backend::Cpu, grid, Scattering::HardSphere);
        config.spectral.period = period;
        let mut operator = CollisionOperator::new(config).expect("an operator");
        let result = operator.evaluate(&beams(&grid)).expect("an evaluation");
        let found = result
            .warnings
            .iter()
            .any(|w| w.contains("miss conservation"));
        assert_eq!(
            found, warned,
            "{n} {period:?}: {:?} {:?}",
            result.warnings, result.correction
        );
    }
}

#[test]
fn wrong_choices_are_refused_with_the_right_ones() {
    let refused = |change: &dyn Fn(&mut OperatorConfig), part: &str| {
        let mut config = on(Backend::Cpu, grid(8, 5.0), Scattering::HardSphere);
        change(&mut config);
        let error = CollisionOperator::new(config)
            .expect_err("refused")
            .to_string();
        assert!(error.contains(part) && !error.contains('\n'), "{error}");
    };
    refused(&|c| c.spectral.degree = Some(13), "5, 7, 9, 11, 15, 17, 21");
    refused(&|c| c.spectral.rank = Some(2), "single product");
    refused(&|c| c.spectral.rank = Some(0), "1 to 8");
    refused(&|c| c.spectral.period = Some(8), "10, 12, 16");
    refused(&|c| c.spectral.period = Some(14), "10, 12, 16");
    let soft = Scattering::Vss {
        omega: 0.81,
        alpha: 1.4,
    };
    refused(
        &|c| (c.scattering, c.spectral.rank) = (soft, Some(1)),
        "2 products",
    );
    let nodal = OperatorConfig {
        scattering: soft,
        compute: Backend::Cpu.into(),
        ..OperatorConfig::new(grid(8, 5.0))
    };
    let error = CollisionOperator::new(nodal)
        .expect_err("refused")
        .to_string();
    assert!(error.contains("spectral method"), "{error}");
}

/// H and Pxx of two beams of hard spheres in [-6.5, 6.5]^3 at t = 0.5, 1, 2, 3 by Heun's method with dt = 0.05: computed independently, in NumPy.
#[test]
fn two_beams_relax_as_published() {
    for (n, degree, expected) in [
        (
            12,
            11,
            [
                [-5.05988583, 2.233016],
                [-5.09211352, 1.910140],
                [-5.09625923, 1.768270],
                [-5.09630055, 1.752142],
            ],
        ),
        (
            16,
            9,
            [
                [-5.05740167, 2.231982],
                [-5.09101590, 1.909349],
                [-5.09612486, 1.768069],
                [-5.09623286, 1.752105],
            ],
        ),
        (
            16,
            11,
            [
                [-5.05738333, 2.232014],
                [-5.09101201, 1.909359],
                [-5.09612668, 1.768070],
                [-5.09623276, 1.752105],
            ],
        ),
    ] {
        let grid = grid(n, 6.5);
        let operator = OperatorConfig {
            spectral: Spectral {
                degree: Some(degree),
                ..Spectral::default()
            },
            ..on(Backend::Cpu, grid, Scattering::HardSphere)
        };
        let config = RelaxationConfig {
            dt: Some(0.05),
            integrator: Integrator::Ssprk2,
            ..RelaxationConfig::new(operator, Until::Steps(60))
        };
        let f = TwoMaxwellians::default().sample(&grid);
        let mut run = Relaxation::new(config, f).expect("a run");
        while !run.is_done() {
            run.step().expect("a step");
        }
        let history = run.history();
        for (row, expected) in [10, 20, 40, 60].into_iter().zip(expected) {
            let moments = history[row].moments;
            let [entropy, stress] = expected;
            assert!(
                (moments.entropy - entropy).abs() < 2e-8,
                "{n} {degree}, step {row}: H {}",
                moments.entropy
            );
            assert!(
                (moments.pressure[0] - stress).abs() < 1.5e-6,
                "{n} {degree}, step {row}: Pxx {}",
                moments.pressure[0]
            );
        }
        for pair in history.windows(2) {
            assert!(pair[1].moments.entropy < pair[0].moments.entropy);
        }
        let [first, last] = [history[0].moments, history[60].moments];
        assert!((last.density - first.density).abs() < 1e-14);
        assert!((last.temperature / first.temperature - 1.0).abs() < 1e-13);
    }
}
