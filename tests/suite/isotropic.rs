//! The isotropic wing against reference values of an independent implementation, closed forms, and itself.

use proptest::prelude::*;
use rarefy::emulator::{Emulator, ThreadOrder};
use rarefy::isotropic::coefficients::{Coefficients, Counts, isotropic, reachable};
use rarefy::isotropic::initial::{self, bkw, equilibrium};
use rarefy::isotropic::{
    CollisionKernel, EnergyGrid, Integrator, Moments, OperatorConfig, Rates, Relaxation,
    RelaxationConfig, Storage, Weights, rates, spectrum,
};
use rarefy::machine::{Grid, Machine};
use rarefy::{Backend, Compute, Precision};
use rarefy_kernels::isotropic::{SavingShape, saving_shares};
use serde_json::Value;

use crate::round_trips::again;
use crate::support;

/// A file of reference values.
macro_rules! cases {
    ($name:literal) => {{
        let text = include_str!(concat!("../data/isotropic/", $name, ".json"));
        let value: Value = serde_json::from_str(text).expect("reference data");
        value
    }};
}

fn list(value: &Value) -> &[Value] {
    value.as_array().expect("a list")
}

fn number(value: &Value) -> f64 {
    value.as_f64().expect("a number")
}

fn whole(value: &Value) -> usize {
    value.as_u64().expect("a whole number") as usize
}

fn numbers(value: &Value) -> Vec<f64> {
    list(value).iter().map(number).collect()
}

fn grid(cells: usize, emax: f64) -> EnergyGrid {
    EnergyGrid::new(cells, emax).expect("a grid")
}

fn config(grid: EnergyGrid, law: CollisionKernel, compute: impl Into<Compute>) -> OperatorConfig {
    OperatorConfig {
        compute: compute.into(),
        ..OperatorConfig::new(grid, law)
    }
}

/// Where every method can run quickly: the CPU, the emulator, and a GPU if there is one.
fn machines() -> Vec<Backend> {
    let mut machines = vec![Backend::Cpu, Backend::Emulator];
    if support::device().is_some() {
        machines.push(Backend::Cuda);
    }
    machines
}

/// Largest |a - b|.
fn distance(a: &[f64], b: &[f64]) -> f64 {
    assert_eq!(a.len(), b.len());
    a.iter()
        .zip(b)
        .map(|(a, b)| (a - b).abs())
        .fold(0.0, f64::max)
}

fn largest(a: &[f64]) -> f64 {
    a.iter().fold(0.0, |most, a| most.max(a.abs()))
}

/// Reproducible values in (0, 1), spread over six decades.
fn sample(cells: usize, seed: u64) -> Vec<f64> {
    let mut state = 0x9E37_79B9_7F4A_7C15_u64 ^ seed;
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

/// The state after so many steps.
fn run(
    operator: OperatorConfig,
    integrator: Integrator,
    dt: f64,
    steps: u64,
    f: &[f64],
) -> (Vec<f64>, Moments) {
    let config = RelaxationConfig {
        operator,
        integrator,
        dt: Some(dt),
        every: steps,
    };
    let mut run = Relaxation::new(config, &[f.to_vec()]).expect("a run");
    run.advance(steps).expect("steps");
    let moments = run.history(0).last().expect("a record").moments;
    let f = run.states().expect("the state").remove(0);
    (f, moments)
}

// Coefficients.

#[test]
fn coefficients_agree_with_the_reference_values() {
    for case in list(&cases!("bhat")) {
        let (cells, theta) = (whole(&case["M"]), number(&case["theta"]));
        let of = Coefficients::new(theta);
        for (name, corrected) in [("raw", false), ("corrected", true)] {
            let mut expected = numbers(&case[name]).into_iter();
            for i in 0..cells {
                for j in 0..cells {
                    let (first, last) = reachable(i, j, cells);
                    for k in first..=last {
                        let expected = expected.next().expect("a coefficient");
                        let found = of.value(i, j, k, corrected);
                        assert!(
                            (found - expected).abs() <= 1e-13 * expected,
                            "theta {theta}, {name}, {i} {j} -> {k}: {found} instead of {expected}"
                        );
                    }
                }
            }
            assert_eq!(expected.next(), None);
        }
    }
}

#[test]
fn coefficients_of_the_specification() {
    let close = |found: f64, expected: f64| {
        assert!(
            (found / expected - 1.0).abs() < 1e-13,
            "{found} instead of {expected}"
        );
    };
    let gas = Coefficients::new(0.0);
    close(gas.value(0, 0, 0, false), 4.0);
    close(gas.value(0, 1, 0, true), 2.650_715_717_300_171);
    close(gas.value(1, 5, 2, false), 0.733_111_314_360_666);
    close(gas.value(1, 5, 2, true), 0.732_591_752_967_679);
    close(gas.value(0, 6, 3, false), 0.442_591_608_471_859);
    close(gas.value(3, 3, 0, true), 0.222_467_704_072_715);
    let spheres = Coefficients::new(1.0);
    close(spheres.value(1, 5, 2, false), 0.852_802_865_422_441);
    close(spheres.value(1, 5, 2, true), 0.850_785_843_326_732);
    close(spheres.value(3, 3, 0, false), 0.380_952_380_952_381);
    close(spheres.value(3, 3, 0, true), 0.392_506_699_386_633);
}

#[test]
fn the_whole_square_of_directions_is_covered() {
    // Untruncated rows of theta = 0 sum to the area of [-1, 1]^2.
    let gas = Coefficients::new(0.0);
    for (i, j) in [(0, 0), (3, 11), (40, 2), (100, 130), (700, 5)] {
        let sum: f64 = (0..=i + j).map(|k| gas.value(i, j, k, false)).sum();
        assert!((sum - 4.0).abs() < 1e-12, "{i} {j}: {sum}");
    }
}

/// For even theta the density is a polynomial with positive coefficients: (4/theta) sum over odd j of C(theta, j) x^(j+2)/(j+2) a^(theta-j).
#[test]
fn coefficients_of_high_powers_agree_with_the_binomial_sum() {
    for theta in [2_i32, 8, 16, 40, 100] {
        let of = Coefficients::new(f64::from(theta));
        for (i, k) in (0..40).flat_map(|i| (0..40).map(move |k| (i, k))) {
            let a = (i as f64 + 0.5).sqrt();
            let (low, high) = ((k as f64).sqrt(), (k as f64 + 1.0).sqrt());
            let mut binomial = 1.0;
            let mut expected = 0.0;
            for j in 1..=theta {
                binomial *= f64::from(theta + 1 - j) / f64::from(j);
                if j % 2 == 1 {
                    let powers = high.powi(j + 2) - low.powi(j + 2);
                    expected += binomial * powers / f64::from(j + 2) * a.powi(theta - j);
                }
            }
            expected *= 4.0 / f64::from(theta);
            let found = of.jump(i, k);
            assert!(
                (found / expected - 1.0).abs() < 2e-13 * f64::from(theta).max(10.0),
                "theta {theta}, {i} to {k}: {found} instead of {expected}"
            );
        }
    }
}

#[test]
fn the_coefficients_are_continuous_in_theta() {
    for (i, k) in [(0, 0), (2, 5), (7, 7), (30, 3), (200, 203)] {
        let at = |theta| Coefficients::new(theta).symmetric(i, k);
        let mut before = at(0.0);
        for theta in [1e-9, 1e-6, 1e-3] {
            let value = at(theta);
            assert!(
                (value / before - 1.0).abs() < 20.0 * theta,
                "{i} {k} {theta}"
            );
            before = value;
        }
        let spheres = (at(1.0 - 1e-7) + at(1.0 + 1e-7)) / 2.0;
        assert!((at(1.0) / spheres - 1.0).abs() < 1e-11, "{i} {k}");
    }
}

#[test]
fn isotropic_coefficients_are_continuous_in_gamma() {
    for (s, least) in [(0, 0), (10, 5), (10, 1), (99, 49), (300, 3)] {
        for gamma in [0.0, 1.0] {
            let exact = isotropic(s, least, gamma);
            let near = if gamma == 0.0 { 1e-9 } else { gamma + 1e-9 };
            let found = isotropic(s, least, near);
            assert!(
                (found / exact - 1.0).abs() < 1e-7,
                "{s} {least} {gamma}: {found} {exact}"
            );
        }
        // gamma = 2: (2 delta - sin(pi/2 + 2 delta) cos ... ) in closed form.
        let delta = ((least as f64 + 0.5) / (s as f64 + 1.0)).sqrt().asin();
        let exact = 2.0 * (s as f64 + 1.0) * delta;
        let found = isotropic(s, least, 2.0);
        assert!(
            (found / exact - 1.0).abs() < 1e-12,
            "{s} {least}: {found} {exact}"
        );
    }
}

#[test]
fn counts_of_elements() {
    for case in list(&cases!("counts")) {
        let counts = Counts::of(whole(&case["M"]));
        let expected = |key: &str| case[key].as_u64().expect("a count");
        assert_eq!(counts.full, expected("full"));
        assert_eq!(counts.folded, expected("fold_ceil"));
        assert_eq!(counts.source_floor, expected("source_floor"));
        assert_eq!(counts.reciprocal, expected("recip"));
        assert_eq!(counts.reciprocal_strict, expected("recip_strict"));
        assert_eq!(counts.pair, expected("pair"));
    }
}

// Rates.

/// Asserts that two evaluations agree within `tolerance` of the largest gross rate.
#[track_caller]
fn assert_rates(found: &Rates, expected: &Rates, f: &[f64], tolerance: f64, what: &str) {
    let loss: Vec<f64> = f
        .iter()
        .zip(&expected.frequency)
        .map(|(f, nu)| f * nu)
        .collect();
    let gross = largest(&expected.gain).max(largest(&loss));
    let off = distance(&found.gain, &expected.gain) / gross;
    assert!(off < tolerance, "{what}: gain is off by {off:e}");
    let off = distance(&found.frequency, &expected.frequency) / largest(&expected.frequency);
    assert!(off < tolerance, "{what}: frequency is off by {off:e}");
    let off = distance(&found.rate, &expected.rate) / gross;
    assert!(off < tolerance, "{what}: rate is off by {off:e}");
    // On two cells every collision stays or exchanges.
    let off = (found.largest_frequency - expected.largest_frequency).abs();
    assert!(
        off <= tolerance * largest(&expected.frequency),
        "{what}: bound is off by {off:e}"
    );
    // The loss is nu f.
    for (i, f) in f.iter().enumerate() {
        let rate = found.gain[i] - found.frequency[i] * f;
        assert!(
            (rate - found.rate[i]).abs() < 10.0 * tolerance * gross,
            "{what}, cell {i}"
        );
    }
}

#[test]
fn rates_agree_with_the_reference_values() {
    for case in list(&cases!("rates")) {
        let grid = grid(whole(&case["M"]), number(&case["Emax"]));
        let law = CollisionKernel::Power {
            theta: number(&case["theta"]),
        };
        let f = numbers(&case["f"]);
        for (corrected, n, nu) in [
            (true, "N", "nu"),
            (false, "N_uncorrected", "nu_uncorrected"),
        ] {
            let (gain, frequency) = (numbers(&case[n]), numbers(&case[nu]));
            for backend in machines().into_iter().chain([Backend::Reference]) {
                for storage in [Storage::Pairs, Storage::Compact, Storage::Full] {
                    if backend == Backend::Emulator
                        && storage != Storage::Pairs
                        && grid.cells() > 64
                    {
                        continue;
                    }
                    let config = OperatorConfig {
                        storage,
                        corrected,
                        ..config(grid, law, backend)
                    };
                    let found = rates(&config, &f).expect("rates");
                    let gross = largest(&gain);
                    let off = distance(&found.gain, &gain) / gross;
                    assert!(
                        off < 1e-13,
                        "{backend} {storage:?} {corrected}: gain is off by {off:e}"
                    );
                    let off = distance(&found.frequency, &frequency) / largest(&frequency);
                    assert!(
                        off < 1e-13,
                        "{backend} {storage:?} {corrected}: frequency is off by {off:e}"
                    );
                    let net: Vec<f64> = (0..f.len())
                        .map(|i| gain[i] - frequency[i] * f[i])
                        .collect();
                    let off = distance(&found.rate, &net) / gross;
                    assert!(
                        off < 1e-13,
                        "{backend} {storage:?} {corrected}: rate is off by {off:e}"
                    );
                }
            }
        }
    }
}

#[test]
fn the_rate_check_of_the_specification() {
    let expected = [
        (
            0.0,
            [
                4.201292203411309,
                2.787913034092181,
                -9.485688835359916,
                -1.987098497888644,
                1.838309708132513,
                1.466775684555318,
                0.791834046413723,
                0.386662656643515,
            ],
        ),
        (
            1.0,
            [
                6.118575586977007,
                3.896289395544032,
                -12.780813637585506,
                -3.701196903918676,
                2.252351826458365,
                2.209410770257266,
                1.325213301609366,
                0.680169660658146,
            ],
        ),
    ];
    let grid = grid(8, 8.0);
    let f: Vec<f64> = (1..=8)
        .map(|i| 1.0 / (1.0 + (f64::from(i) - 3.0).powi(2)))
        .collect();
    for (theta, expected) in expected {
        let config = config(grid, CollisionKernel::Power { theta }, Backend::Reference);
        let found = rates(&config, &f).expect("rates");
        // F dE^(3/2) (sqrt(2 dE) / c_s)^theta with dE = 1.
        let scale = std::f64::consts::SQRT_2 * std::f64::consts::PI * 2f64.sqrt().powf(theta);
        for (i, expected) in expected.iter().enumerate() {
            let value = found.rate[i] * (i as f64 + 0.5).sqrt() / scale;
            assert!(
                (value - expected).abs() < 1e-13 * 13.0,
                "theta {theta}, cell {i}: {value}"
            );
        }
    }
}

#[test]
fn every_law_and_storage_agrees_with_the_definition() {
    for cells in [2, 3, 7, 33, 40, 70] {
        let grid = grid(cells, 0.25 * cells as f64);
        let f = sample(cells, cells as u64);
        let gas = |theta| CollisionKernel::Power { theta };
        for law in [
            gas(0.0),
            gas(0.5),
            gas(1.0),
            gas(2.0),
            CollisionKernel::Isotropic { gamma: 0.0 },
            CollisionKernel::Isotropic { gamma: 0.7 },
            CollisionKernel::Isotropic { gamma: 1.0 },
            CollisionKernel::Money,
            CollisionKernel::Gamma { alpha: 1.5 },
            CollisionKernel::Gamma { alpha: 0.5 },
            CollisionKernel::Saving { lambda: 0.0 },
            CollisionKernel::Saving { lambda: 0.6 },
        ] {
            for corrected in [true, false] {
                if !(corrected || matches!(law, CollisionKernel::Power { .. })) {
                    continue;
                }
                let of = |backend, storage, precision, weights| OperatorConfig {
                    storage,
                    corrected,
                    weights,
                    ..config(grid, law, Compute::new(backend).with_precision(precision))
                };
                for weights in [Weights::Center, Weights::Cell] {
                    let reference = of(Backend::Reference, Storage::Pairs, Precision::F64, weights);
                    let expected = rates(&reference, &f).expect("the reference");
                    for backend in machines() {
                        // Weights are the host's work, and thousands of threads are slow to emulate.
                        let emulated = backend == Backend::Emulator;
                        let many = [
                            CollisionKernel::Power { theta: 0.5 },
                            CollisionKernel::Power { theta: 2.0 },
                        ];
                        if emulated
                            && (weights == Weights::Cell || cells == 7 || many.contains(&law))
                        {
                            continue;
                        }
                        for storage in [Storage::Pairs, Storage::Compact, Storage::Full] {
                            let stored = storage != Storage::Pairs;
                            if stored && !matches!(law, CollisionKernel::Power { .. })
                                || emulated
                                    && stored
                                    && (cells > 40 || law == CollisionKernel::Power { theta: 1.0 })
                                || emulated && !corrected && storage != Storage::Full
                            {
                                continue;
                            }
                            for (precision, tolerance) in
                                [(Precision::F64, 1e-13), (Precision::F32, 1e-5)]
                            {
                                let config = of(backend, storage, precision, weights);
                                let found = rates(&config, &f).expect("rates");
                                let what = format!(
                                    "{backend}, {law}, {cells} cells, {storage:?}, {precision}, {corrected}"
                                );
                                assert_rates(&found, &expected, &f, tolerance, &what);
                            }
                        }
                    }
                }
            }
        }
    }
}

// Time.

fn scheme(value: &Value) -> Integrator {
    value
        .as_str()
        .expect("a name")
        .parse()
        .expect("an integrator")
}

#[test]
fn evolutions_agree_with_the_reference_values() {
    for case in list(&cases!("evolve")) {
        let grid = grid(whole(&case["M"]), number(&case["Emax"]));
        let law = CollisionKernel::Power {
            theta: number(&case["theta"]),
        };
        let (f0, expected) = (numbers(&case["f0"]), numbers(&case["f"]));
        let moments = &case["moments"];
        for backend in machines() {
            for storage in [Storage::Pairs, Storage::Compact, Storage::Full] {
                if backend == Backend::Emulator && storage != Storage::Pairs {
                    continue;
                }
                let config = OperatorConfig {
                    storage,
                    ..config(grid, law, backend)
                };
                let steps = case["steps"].as_u64().expect("a count");
                let (f, found) = run(
                    config,
                    scheme(&case["scheme"]),
                    number(&case["dt"]),
                    steps,
                    &f0,
                );
                let off = distance(&f, &expected) / largest(&expected);
                assert!(off < 1e-11, "{backend} {storage:?}: f is off by {off:e}");
                for (key, value) in [
                    ("n", found.number),
                    ("e", found.energy),
                    ("m2", found.second),
                    ("m3", found.third),
                    ("H", found.entropy),
                ] {
                    let expected = number(&moments[key]);
                    assert!(
                        (value / expected - 1.0).abs() < 1e-12,
                        "{backend} {storage:?}: {key} is {value}"
                    );
                }
            }
        }
    }
}

#[test]
fn the_exact_solution_is_approached_as_in_the_reference_values() {
    for case in list(&cases!("bkw")) {
        let grid = grid(whole(&case["M"]), number(&case["Emax"]));
        let (k0, end, dt) = (number(&case["K0"]), number(&case["t"]), number(&case["dt"]));
        let law = CollisionKernel::Power { theta: 0.0 };
        let steps = (end / dt).round() as u64;
        let exact = bkw(&grid, 1.0 - (1.0 - k0) * (-2.0 / 15.0 * end).exp());
        let expected = numbers(&case["f"]);
        for backend in machines().into_iter().filter(|b| *b != Backend::Emulator) {
            let operator = config(grid, law, backend);
            let measure = operator.measure();
            let (f, moments) = run(operator, Integrator::Rk4, dt, steps, &bkw(&grid, k0));
            let off = distance(&f, &expected) / largest(&expected);
            assert!(off < 1e-11, "{backend}: f is off by {off:e}");
            let error: f64 = (0..f.len())
                .map(|i| measure[i] * (f[i] - exact[i]).abs())
                .sum();
            assert!(
                (error / number(&case["L1"]) - 1.0).abs() < 1e-9,
                "{backend}: {error}"
            );
            assert!((moments.second / number(&case["m2"]) - 1.0).abs() < 1e-12);
        }
    }
}

#[test]
fn weights_of_cells_are_more_accurate() {
    let error = |cells, weights| {
        let grid = grid(cells, 30.0);
        let operator = OperatorConfig {
            weights,
            ..config(grid, CollisionKernel::Power { theta: 0.0 }, Backend::Cpu)
        };
        let exact = bkw(&grid, 1.0 - 0.4 * (-0.8f64).exp());
        let measure = operator.measure();
        let (f, _) = run(operator, Integrator::Rk4, 0.2, 30, &bkw(&grid, 0.6));
        (0..cells)
            .map(|i| measure[i] * (f[i] - exact[i]).abs())
            .sum::<f64>()
    };
    for (cells, center, cell) in [
        (120, 7.646e-3, 3.425e-3),
        (240, 3.276e-3, 1.283e-3),
        (480, 1.250e-3, 4.108e-4),
    ] {
        assert!((error(cells, Weights::Center) / center - 1.0).abs() < 1e-3);
        assert!((error(cells, Weights::Cell) / cell - 1.0).abs() < 1e-3);
    }
}

#[test]
fn isotropic_scattering_agrees_with_the_reference_values() {
    for case in list(&cases!("vhs")) {
        let cells = whole(&case["M"]);
        let grid = grid(cells, number(&case["Emax"]));
        let law = CollisionKernel::Isotropic {
            gamma: number(&case["gamma"]),
        };
        let expected = numbers(&case["f"]);
        let mut f: Vec<f64> = grid
            .energies()
            .iter()
            .map(|e| {
                (-((e - 1.2) / 0.4f64).powi(2)).exp() + 0.3 * (-((e - 4.0) / 0.7f64).powi(2)).exp()
            })
            .collect();
        let n = Moments::of(&config(grid, law, Backend::Cpu), &f).number;
        f.iter_mut().for_each(|f| *f /= n);
        for backend in machines() {
            let steps = case["steps"].as_u64().expect("a count");
            let (found, _) = run(
                config(grid, law, backend),
                scheme(&case["scheme"]),
                number(&case["dt"]),
                steps,
                &f,
            );
            let off = distance(&found, &expected) / largest(&expected);
            assert!(off < 1e-11, "{backend}, {law}: off by {off:e}");
        }
    }
}

#[test]
fn economies_agree_with_the_reference_values() {
    for case in list(&cases!("money")) {
        let cells = whole(&case["M"]);
        let par = number(&case["par"]);
        let law = match case["model"].as_str() {
            Some("uniform") => CollisionKernel::Money,
            Some("saving") => CollisionKernel::Saving { lambda: par },
            Some("gamma") => CollisionKernel::Gamma { alpha: par },
            other => panic!("unknown model {other:?}"),
        };
        let expected = numbers(&case["p"]);
        let mut p = vec![0.0; cells];
        p[whole(&case["i0"]) - 1] = 1.0;
        for backend in machines() {
            let steps = case["steps"].as_u64().expect("a count");
            let operator = config(grid(cells, cells as f64), law, backend);
            let (found, _) = run(
                operator,
                scheme(&case["scheme"]),
                number(&case["dt"]),
                steps,
                &p,
            );
            let off = distance(&found, &expected) / largest(&expected);
            assert!(off < 1e-11, "{backend}, {law}: off by {off:e}");
        }
    }
}

#[test]
fn number_and_energy_survive_ten_thousand_steps() {
    for (theta, dt) in [(0.0, 0.25), (1.0, 0.1)] {
        let grid = grid(64, 16.0);
        let f = initial::two_temperature(&grid, 0.4, 1.6, 0.5);
        let operator = config(grid, CollisionKernel::Power { theta }, Backend::Cpu);
        let start = Moments::of(&operator, &f);
        for integrator in [Integrator::Euler, Integrator::Ssprk3, Integrator::Rk4] {
            let (_, end) = run(operator.clone(), integrator, dt, 10_000, &f);
            let number = (end.number / start.number - 1.0).abs();
            let energy = (end.energy / start.energy - 1.0).abs();
            assert!(
                number <= 1e-13,
                "theta {theta}, {integrator:?}: number drifts by {number:e}"
            );
            assert!(
                energy <= 1e-11,
                "theta {theta}, {integrator:?}: energy drifts by {energy:e}"
            );
        }
    }
}

#[test]
fn entropy_falls_and_the_end_is_the_discrete_equilibrium() {
    let grid = grid(96, 16.0);
    for law in [
        CollisionKernel::Power { theta: 0.0 },
        CollisionKernel::Power { theta: 1.0 },
        CollisionKernel::Isotropic { gamma: 0.5 },
        CollisionKernel::Money,
    ] {
        let mut operator = config(grid, law, Backend::Cpu);
        operator.weights = Weights::Cell;
        let f: Vec<f64> = (0..96)
            .map(|i| {
                if i < 8 || (20..26).contains(&i) {
                    0.02
                } else {
                    1e-9
                }
            })
            .collect();
        let run_config = RelaxationConfig {
            operator: operator.clone(),
            integrator: Integrator::Ssprk3,
            dt: None,
            every: 1,
        };
        let mut run = Relaxation::new(run_config, &[f]).expect("a run");
        run.advance(200).expect("steps");
        for pair in run.history(0).windows(2) {
            let (a, b) = (pair[0].moments, pair[1].moments);
            assert!(b.minimum >= 0.0);
            if law.is_gas() {
                assert!(
                    b.entropy <= a.entropy + 1e-12 * a.entropy.abs(),
                    "{law}: H rises from {} to {}",
                    a.entropy,
                    b.entropy
                );
            }
        }
        run.advance(1000).expect("steps");
        let m = run.history(0).last().expect("a record").moments;
        let rest = equilibrium(&operator, m.number, m.energy)
            .expect("an equilibrium")
            .f;
        let f = run.states().expect("the state").remove(0);
        let measure = operator.measure();
        let off: f64 = (0..96).map(|i| measure[i] * (f[i] - rest[i]).abs()).sum();
        assert!(off < 1e-10 * m.number, "{law}: {off:e} from equilibrium");
    }
}

#[test]
fn moments_of_a_gas_of_maxwell_type_decay_as_they_must() {
    // m_2 = <E^2> / <E^2> of the Maxwellian: m_2 - 1 decays as exp(-4t/15).
    let grid = grid(384, 20.0);
    let operator = config(grid, CollisionKernel::Power { theta: 0.0 }, Backend::Cpu);
    let f = bkw(&grid, 0.65);
    let normal = |m: &Moments| m.second / m.energy.powi(2) * 0.6 - 1.0;
    let start = normal(&Moments::of(&operator, &f));
    let (_, end) = run(operator, Integrator::Rk4, 0.2, 15, &f);
    let rate = -(normal(&end) / start).ln() / 3.0;
    assert!((rate - 4.0 / 15.0).abs() < 3e-3, "{rate}");
}

#[test]
fn the_first_decay_rates_are_those_of_the_exact_operator() {
    let grid = grid(256, 20.0);
    let operator = config(grid, CollisionKernel::Power { theta: 0.0 }, Backend::Cpu);
    let rates = spectrum::decay_rates(&operator, 1.0, 1.5).expect("rates");
    assert!(
        rates[0].abs() < 1e-10 && rates[1].abs() < 1e-10,
        "{:?}",
        &rates[..2]
    );
    // lambda_k = 1 - 1/(2k+1) - (2k)!!/(2k+1)!!
    for (found, expected) in
        rates[2..5]
            .iter()
            .zip([4.0 / 15.0, 0.4, 1.0 - 1.0 / 9.0 - 384.0 / 945.0])
    {
        assert!(
            (found - expected).abs() < 8e-3 * expected,
            "{found} instead of {expected}"
        );
    }
    assert!(rates.last().is_some_and(|&most| most < 1.05));
    // Rates are proportional to the number: sampled at the centres, the Maxwellian of number 1 has 1.00147 on this grid.
    let maxwellian: Vec<f64> = (0..256)
        .map(|i| (2.0 * std::f64::consts::PI).powf(-1.5) * (-grid.energy(i)).exp())
        .collect();
    let moments = Moments::of(&operator, &maxwellian);
    let rates = spectrum::decay_rates(&operator, moments.number, moments.energy).expect("rates");
    for (found, expected) in rates[2..5].iter().zip([0.26674, 0.40053, 0.48580]) {
        assert!(
            (found - expected).abs() < 6e-6,
            "{found} instead of {expected}"
        );
    }
}

#[test]
fn states_of_a_batch_do_not_see_each_other() {
    let grid = grid(70, 14.0);
    let states: Vec<Vec<f64>> = (0..5)
        .map(|k| bkw(&grid, 0.62 + 0.07 * f64::from(k)))
        .collect();
    for backend in machines() {
        for (law, storage) in [
            (CollisionKernel::Power { theta: 0.0 }, Storage::Pairs),
            (CollisionKernel::Power { theta: 1.0 }, Storage::Pairs),
            (CollisionKernel::Power { theta: 0.0 }, Storage::Compact),
            (CollisionKernel::Gamma { alpha: 2.0 }, Storage::Pairs),
            (CollisionKernel::Saving { lambda: 0.4 }, Storage::Pairs),
        ] {
            let operator = OperatorConfig {
                storage,
                ..config(grid, law, backend)
            };
            let run_config = RelaxationConfig {
                operator: operator.clone(),
                integrator: Integrator::Ssprk3,
                dt: Some(0.02),
                every: 2,
            };
            let mut together = Relaxation::new(run_config.clone(), &states).expect("a run");
            together.advance(3).expect("steps");
            let all = together.states().expect("states");
            for (k, f) in states.iter().enumerate() {
                let mut alone =
                    Relaxation::new(run_config.clone(), std::slice::from_ref(f)).expect("a run");
                alone.advance(3).expect("steps");
                let one = alone.states().expect("a state").remove(0);
                assert!(
                    distance(&one, &all[k]) < 1e-14 * largest(&one),
                    "{backend}, {law}, state {k}"
                );
                assert_eq!(alone.history(0).len(), together.history(k).len());
                let (a, b) = (alone.history(0)[2], together.history(k)[2]);
                assert!((a.moments.third / b.moments.third - 1.0).abs() < 1e-13);
                assert!((a.largest_frequency / b.largest_frequency - 1.0).abs() < 1e-13);
            }
        }
    }
}

/// Shares almost all saved or all traded, ranges narrower than a cell or cut at both ends, and ends that coincide with edges of cells.
#[test]
fn saving_agrees_with_the_definition_for_all_shares() {
    for (cells, lambda) in [
        (2, 0.5),
        (31, 0.999_999),
        (32, 1e-9),
        (48, 0.25),
        (61, 0.97),
        (129, 1.0 / 3.0),
    ] {
        let f = sample(cells, 5);
        let law = CollisionKernel::Saving { lambda };
        let of = |backend| rates(&config(grid(cells, 7.0), law, backend), &f).expect("rates");
        let expected = of(Backend::Reference);
        for backend in machines() {
            let found = of(backend);
            // The widths of ranges have lost as many digits as are saved.
            let tolerance = 1e-13 + 1e-15 / (1.0 - lambda);
            let what = format!("{backend}, {law}, {cells} cells");
            assert_rates(&found, &expected, &f, tolerance, &what);
            let number: f64 = found.rate.iter().sum();
            assert!(
                number.abs() < 1e-14 * found.gain.iter().sum::<f64>(),
                "{what}: {number:e}"
            );
        }
    }
}

/// Where a block has no room for densities it computes them anew: to the same bits.
#[test]
fn saving_does_not_depend_on_the_room_of_a_block() {
    let (cells, pitch, sets) = (100, 128, 7);
    let mut p = sample(cells as usize, 3);
    p.resize(pitch as usize, 0.0);
    let shares = |roomy: u32| {
        let machine = Emulator::new(ThreadOrder::Random(3));
        let (p, len) = (machine.upload(&p).expect("agents"), (sets * pitch) as usize);
        let mut shares = machine.upload(&vec![0.0; len]).expect("room");
        let shape = SavingShape {
            lambda: 0.55,
            cells,
            pitch,
            sets,
            roomy,
        };
        let grid = Grid {
            blocks: sets,
            threads: 64,
        };
        let kernel = saving_shares {
            p: &p,
            shares: &mut shares,
            shape,
        };
        machine.launch(grid, kernel).expect("a launch");
        let mut values = vec![0.0; len];
        machine.read(&shares, &mut values).expect("shares");
        values
    };
    let roomy = shares(1);
    assert!(largest(&roomy) > 0.0 && roomy == shares(0));
}

/// So many states that they lie along the lanes, in blocks that are not all full, and more than there are multiprocessors.
#[test]
fn many_states_relax_as_on_the_cpu() {
    let cells = 138;
    let grid = grid(cells, 15.0);
    let states: Vec<Vec<f64>> = (0..440)
        .map(|k| {
            let rough = sample(cells, k);
            let smooth = bkw(&grid, 0.61 + 0.0008 * k as f64);
            let pairs = smooth.iter().zip(&rough);
            pairs.map(|(f, r)| f * (0.5 + r)).collect()
        })
        .collect();
    let relaxed = |backend: Backend, theta: f64, precision: Precision| {
        let operator = config(
            grid,
            CollisionKernel::Power { theta },
            Compute::new(backend).with_precision(precision),
        );
        let config = RelaxationConfig {
            operator,
            integrator: Integrator::Euler,
            dt: Some(0.1),
            every: 1,
        };
        let mut run = Relaxation::new(config, &states).expect("a run");
        run.advance(1).expect("a step");
        let rows: Vec<(f64, f64)> = (0..states.len())
            .map(|k| {
                let [before, after] = [0, 1].map(|row| run.history(k)[row]);
                let number = (after.moments.number / before.moments.number - 1.0).abs();
                (after.largest_frequency, number)
            })
            .collect();
        (run.states().expect("states"), rows)
    };
    for (theta, precision, tolerance) in [
        (0.5, Precision::F64, 1e-14),
        (1.0, Precision::F64, 1e-14),
        (0.0, Precision::F32, 3e-7),
    ] {
        let (expected, rows) = relaxed(Backend::Cpu, theta, Precision::F64);
        for backend in machines().into_iter().filter(|b| *b != Backend::Cpu) {
            let (found, found_rows) = relaxed(backend, theta, precision);
            for (k, (a, b)) in found.iter().zip(&expected).enumerate() {
                assert!(
                    distance(a, b) < tolerance * largest(b),
                    "{backend} {precision}, theta {theta}, state {k}: {:e}",
                    distance(a, b) / largest(b)
                );
                let (frequency, number) = found_rows[k];
                assert!((frequency / rows[k].0 - 1.0).abs() < 30.0 * tolerance);
                assert!(number < 1e-14, "{precision}: {number:e}");
            }
            if backend == Backend::Cuda {
                assert!(found == relaxed(backend, theta, precision).0, "other bits");
            }
        }
    }
}

/// So many economies that their states lie along the lanes, in sets that are not full, with sizes around those of tiles and blocks.
#[test]
fn many_economies_relax_as_on_the_cpu() {
    let splitting = [
        CollisionKernel::Money,
        CollisionKernel::Gamma { alpha: 0.5 },
        CollisionKernel::Gamma { alpha: 1.5 },
    ];
    let splitting = [2, 7, 44, 129].map(|cells| splitting.map(|law| (cells, 5, law)));
    let saving = [
        (64, 1e-9),
        (71, 0.9),
        (96, 0.75),
        (100, 0.6),
        (129, 1.0 / 3.0),
        (160, 0.0),
    ];
    let saving = saving.map(|(cells, lambda)| {
        let states = 24_600_usize.div_ceil(cells);
        (cells, states, CollisionKernel::Saving { lambda })
    });
    for (cells, states, law) in splitting.into_iter().flatten().chain(saving) {
        let states: Vec<Vec<f64>> = (0..states)
            .map(|k| sample(cells, 1 + 7 * k as u64))
            .collect();
        let all = states.iter().map(|f| f.iter().sum()).fold(0.0, f64::max);
        let relaxed = |backend: Backend, precision: Precision| {
            let operator = config(
                grid(cells, 7.0),
                law,
                Compute::new(backend).with_precision(precision),
            );
            let config = RelaxationConfig {
                operator,
                integrator: Integrator::Euler,
                dt: Some(0.2 / all),
                every: 1,
            };
            let mut run = Relaxation::new(config, &states).expect("a run");
            run.advance(1).expect("a step");
            run.states().expect("states")
        };
        let expected = relaxed(Backend::Cpu, Precision::F64);
        let lost = match law {
            CollisionKernel::Saving { lambda } => 1e-15 / (1.0 - lambda),
            _ => 0.0,
        };
        for backend in machines().into_iter().filter(|b| *b != Backend::Cpu) {
            for (precision, tolerance) in [(Precision::F64, 1e-14), (Precision::F32, 3e-7)] {
                let found = relaxed(backend, precision);
                let what = format!("{backend} {precision}, {law}, {cells} cells");
                for ((a, b), before) in found.iter().zip(&expected).zip(&states) {
                    let off = distance(a, b) / largest(b);
                    assert!(off < tolerance + lost, "{what}: off by {off:e}");
                    let number = a.iter().sum::<f64>() / before.iter().sum::<f64>() - 1.0;
                    assert!(number.abs() < 1e-14, "{what}: {number:e}");
                }
                if backend == Backend::Cuda {
                    assert!(found == relaxed(backend, precision), "{what}: other bits");
                }
            }
        }
    }
}

#[test]
fn two_runs_give_the_same_bits() {
    let grid = grid(150, 15.0);
    let f = bkw(&grid, 0.7);
    for backend in machines().into_iter().filter(|b| *b != Backend::Emulator) {
        for precision in [Precision::F32, Precision::F64] {
            for storage in [Storage::Pairs, Storage::Compact, Storage::Full] {
                let operator = OperatorConfig {
                    storage,
                    ..config(
                        grid,
                        CollisionKernel::Power { theta: 0.0 },
                        Compute::new(backend).with_precision(precision),
                    )
                };
                let once = run(operator.clone(), Integrator::Ssprk3, 0.2, 40, &f);
                assert!(
                    once == run(operator, Integrator::Ssprk3, 0.2, 40, &f),
                    "{backend} {precision} {storage:?}"
                );
            }
        }
    }
}

#[test]
fn a_resumed_relaxation_gives_the_same_bits() {
    let grid = grid(60, 15.0);
    let states = [bkw(&grid, 0.7), bkw(&grid, 0.9)];
    for backend in machines() {
        for precision in [Precision::F32, Precision::F64] {
            let operator = config(
                grid,
                CollisionKernel::Power { theta: 1.0 },
                Compute::new(backend).with_precision(precision),
            );
            let config = RelaxationConfig {
                operator,
                integrator: Integrator::Rk4,
                dt: None,
                every: 3,
            };
            let mut whole = Relaxation::new(config.clone(), &states).expect("a run");
            whole.advance(9).expect("steps");
            let mut part = Relaxation::new(config, &states).expect("a run");
            part.advance(6).expect("steps");
            let saved = part.checkpoint().expect("a checkpoint");
            let mut rest = Relaxation::resume(again(&saved)).expect("a run");
            rest.advance(3).expect("steps");
            assert!(
                rest.checkpoint().expect("a checkpoint")
                    == whole.checkpoint().expect("a checkpoint"),
                "{backend} {precision}"
            );
            let mut broken = saved;
            broken.step = 5;
            assert!(Relaxation::resume(broken).is_err());
        }
    }
}

#[test]
fn a_relaxation_in_parts_gives_the_same_records_and_bits() {
    let grid = grid(60, 15.0);
    let states = [bkw(&grid, 0.7), bkw(&grid, 0.9)];
    let steps = |run: &Relaxation| -> Vec<u64> {
        let rows = [0, 1].map(|state| run.history(state).iter().map(|row| row.step).collect());
        let [first, second]: [Vec<u64>; 2] = rows;
        assert_eq!(first, second);
        first
    };
    for backend in machines() {
        for precision in [Precision::F32, Precision::F64] {
            let operator = config(
                grid,
                CollisionKernel::Power { theta: 1.0 },
                Compute::new(backend).with_precision(precision),
            );
            let config = RelaxationConfig {
                every: 4,
                ..RelaxationConfig::new(operator)
            };
            let mut whole = Relaxation::new(config.clone(), &states).expect("a run");
            whole.advance(14).expect("steps");
            assert_eq!(steps(&whole), [0, 4, 8, 12, 14]);
            let mut part = Relaxation::new(config, &states).expect("a run");
            part.advance_part(2).expect("steps");
            assert_eq!(steps(&part), [0]);
            part.advance_part(5).expect("steps");
            assert_eq!((part.steps_taken(), steps(&part)), (7, vec![0, 4]));
            // Saved between two records.
            let saved = part.checkpoint().expect("a checkpoint");
            let mut rest = Relaxation::resume(again(&saved)).expect("a run");
            rest.advance_part(6).expect("steps");
            assert_eq!(steps(&rest), [0, 4, 8, 12]);
            rest.advance(1).expect("a step");
            assert!(
                rest.checkpoint().expect("a checkpoint")
                    == whole.checkpoint().expect("a checkpoint"),
                "{backend} {precision}"
            );
            // A record that was due is missing.
            let mut broken = saved;
            broken.step = 8;
            assert!(Relaxation::resume(broken).is_err());
        }
    }
}

#[test]
fn a_large_single_state_runs_on_the_machines() {
    // More tiles than the stages add up themselves, and several segments of rows.
    let grid = grid(1100, 30.0);
    let f = bkw(&grid, 0.7);
    let law = CollisionKernel::Power { theta: 1.0 };
    let expected = rates(&config(grid, law, Backend::Cpu), &f).expect("rates");
    let mut backends = machines();
    backends.retain(|b| *b == Backend::Cuda);
    for backend in backends {
        for precision in [Precision::F64, Precision::F32] {
            let config = config(grid, law, Compute::new(backend).with_precision(precision));
            let found = rates(&config, &f).expect("rates");
            let tolerance = if precision == Precision::F64 {
                1e-13
            } else {
                1e-5
            };
            assert_rates(&found, &expected, &f, tolerance, &found.device);
        }
    }
}

#[test]
fn what_is_no_distribution_is_refused() {
    let grid = grid(16, 8.0);
    let operator = config(grid, CollisionKernel::Power { theta: 0.0 }, Backend::Cpu);
    let refused = |f: &[f64], dt: f64, why: &str| {
        let config = RelaxationConfig {
            operator: operator.clone(),
            integrator: Integrator::Euler,
            dt: Some(dt),
            every: 1,
        };
        let error = Relaxation::new(config, &[f.to_vec()]).expect_err("a refusal");
        assert!(
            error.is_input() && error.to_string().contains(why),
            "{error}"
        );
    };
    let good = bkw(&grid, 0.8);
    let with = |value: f64| {
        let mut f = good.clone();
        f[3] = value;
        f
    };
    refused(&with(-1e-9), 0.1, "negative");
    refused(&with(f64::NAN), 0.1, "non-finite");
    refused(&with(f64::INFINITY), 0.1, "non-finite");
    refused(&[0.0; 16], 0.1, "zero everywhere");
    refused(&good[..15], 0.1, "15 values");
    refused(
        &good,
        5.0,
        "beyond positivity: this distribution allows at most",
    );
    refused(&good, 0.0, "positive");
    refused(&good, f64::NAN, "positive");
    for bad in [0.0, -1.0, f64::NAN, f64::INFINITY] {
        assert!(EnergyGrid::new(16, bad).is_err());
    }
    assert!(EnergyGrid::new(1, 8.0).is_err() && EnergyGrid::new(1 << 20, 8.0).is_err());
    for law in [
        CollisionKernel::Power { theta: -0.5 },
        CollisionKernel::Power { theta: f64::NAN },
        CollisionKernel::Saving { lambda: 1.0 },
        CollisionKernel::Gamma { alpha: 0.0 },
    ] {
        assert!(
            rates(&config(grid, law, Backend::Cpu), &good).is_err(),
            "{law}"
        );
    }
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(48))]

    #[test]
    fn rates_conserve_number_and_energy(cells in 2usize..90, theta in 0.0f64..3.0, seed in any::<u64>()) {
        let grid = grid(cells, 0.3 * cells as f64);
        let f = sample(cells, seed | 1);
        for law in [CollisionKernel::Power { theta }, CollisionKernel::Isotropic { gamma: theta }, CollisionKernel::Saving { lambda: theta / 3.1 }] {
            let config = config(grid, law, Backend::Cpu);
            let found = rates(&config, &f).expect("rates");
            let measure = config.measure();
            let gross: f64 = (0..cells).map(|i| measure[i] * found.gain[i]).sum();
            let number: f64 = (0..cells).map(|i| measure[i] * found.rate[i]).sum();
            let energy: f64 = (0..cells).map(|i| measure[i] * found.rate[i] * grid.energy(i)).sum();
            prop_assert!(number.abs() < 1e-14 * gross, "{law}: {number:e}");
            prop_assert!(energy.abs() < 1e-13 * gross * grid.emax(), "{law}: {energy:e}");
        }
    }
}

#[test]
fn the_trade_volume_is_that_of_the_definition() {
    use rarefy::isotropic::coefficients::PairTables;
    use rarefy::isotropic::market::TradeVolume;
    use rarefy::isotropic::reference::probability;

    let cells = 23;
    let tables = PairTables::new(cells, 0.5, true);
    for law in [
        CollisionKernel::Power { theta: 0.5 },
        CollisionKernel::Money,
        CollisionKernel::Gamma { alpha: 1.7 },
        CollisionKernel::Saving { lambda: 0.3 },
    ] {
        let volume =
            TradeVolume::new(&config(grid(cells, 5.0), law, Backend::Cpu)).expect("a volume");
        for i in 0..cells {
            for j in 0..cells {
                let (_, last) = reachable(i, j, cells);
                let expected: f64 = (i + 1..=last)
                    .map(|k| {
                        let rate = match law {
                            CollisionKernel::Power { .. } => tables.product(i, j, k),
                            _ => probability(law, cells, i, j, k),
                        };
                        (k - i) as f64 * rate
                    })
                    .sum();
                let found = volume.coefficient(i, j);
                assert!(
                    (found - expected).abs() < 1e-12 * (1.0 + expected),
                    "{law}, {i} {j}: {found} instead of {expected}"
                );
            }
        }
    }
}

#[test]
fn inequality_of_known_distributions() {
    use rarefy::isotropic::market::{Histogram, gini, lorenz, total_variation};

    // An exponential distribution has the Gini coefficient 1/2, a gamma distribution of shape 3/2 has 0.4244.
    let fine = grid(4000, 40.0);
    let of = |shape: f64| -> Vec<f64> {
        fine.energies()
            .iter()
            .map(|e| e.powf(shape - 1.0) * (-e).exp())
            .collect()
    };
    assert!((gini(&fine, &of(1.0)) - 0.5).abs() < 1e-4);
    assert!((gini(&fine, &of(1.5)) - 0.4244).abs() < 1e-4);
    let one: Vec<f64> = (0..4000).map(|i| f64::from(u8::from(i == 99))).collect();
    assert!(gini(&fine, &one).abs() < 1e-12);
    let curve = lorenz(&fine, &of(1.0));
    assert_eq!((curve[0], curve[4000].0), ((0.0, 0.0), 1.0));
    assert!(
        curve
            .windows(2)
            .all(|w| w[0].0 <= w[1].0 && w[0].1 <= w[1].1 && w[1].1 <= w[1].0 + 1e-12)
    );
    assert!((total_variation(&[0.5, 0.5, 0.0], &[0.0, 0.5, 0.5]) - 0.5).abs() < 1e-15);

    let histogram = Histogram::new(&[[0.0, 1.0, 3.0], [1.0, 3.0, 1.0]]).expect("a histogram");
    assert!((histogram.mean() - 0.875).abs() < 1e-15);
    let cells = histogram.rebin(&grid(4, 4.0)).expect("a distribution");
    assert_eq!(cells, [0.75, 0.125, 0.125, 0.0]);
    assert!((histogram.in_units_of_the_mean().mean() - 1.0).abs() < 1e-15);
}

#[test]
fn single_precision_conserves_number_to_roundoff() {
    let grid = grid(48, 16.0);
    let f = initial::two_temperature(&grid, 0.4, 1.6, 0.5);
    for backend in machines() {
        for (theta, dt) in [(0.0, 0.25), (1.0, 0.1)] {
            let operator = config(
                grid,
                CollisionKernel::Power { theta },
                Compute::new(backend).with_precision(Precision::F32),
            );
            let start = Moments::of(&operator, &f);
            let (_, end) = run(operator, Integrator::Euler, dt, 40, &f);
            let number = (end.number / start.number - 1.0).abs();
            let energy = (end.energy / start.energy - 1.0).abs();
            assert!(number < 1e-14, "{backend}: {number:e}");
            assert!(energy < 2e-6, "{backend}: {energy:e}");
        }
    }
}

#[test]
fn economies_go_on_to_the_same_bits() {
    use rarefy::isotropic::market::{Histogram, Market, MarketConfig, Start};

    let histogram = Histogram::new(&[[0.0, 1.0, 3.0], [1.0, 3.0, 1.0]]).expect("a histogram");
    for backend in [Backend::Cpu, Backend::Emulator] {
        let law = CollisionKernel::Saving { lambda: 0.3 };
        let mut config = MarketConfig::on_grid(law, Start::Histogram(histogram.clone()), 48, 8.0)
            .expect("a configuration");
        config.operator.compute = Compute::new(backend);
        config.economies.push(Start::Equal);
        config.dt = Some(0.05);
        config.every = 3;
        let start = || Market::new(config.clone()).expect("a market");
        let mut whole = start();
        whole.advance(12).expect("steps");
        // Divided between two records.
        let mut divided = start();
        divided.advance_part(4).expect("steps");
        let checkpoint = divided.checkpoint().expect("a checkpoint");
        let text = serde_json::to_string(&checkpoint).expect("a text");
        let mut divided =
            Market::resume(serde_json::from_str(&text).expect("a checkpoint")).expect("a market");
        divided.advance(8).expect("steps");
        assert_eq!(
            whole.states().expect("states"),
            divided.states().expect("states")
        );
        for economy in 0..2 {
            let history = whole.history(economy);
            assert_eq!(history, divided.history(economy), "{backend}");
            assert_eq!(history.len(), 5);
            let (first, last) = (history[0], history[4]);
            assert!((last.moments.energy / first.moments.energy - 1.0).abs() < 1e-12);
            assert!(last.traded > 0.0 && last.time == 12.0 * 0.05);
            // An economy alone has the same bits.
            let mut alone = config.clone();
            alone.economies = vec![config.economies[economy].clone()];
            let mut alone = Market::new(alone).expect("a market");
            alone.run_until(0.6).expect("steps");
            assert_eq!(alone.history(0), history, "{backend}");
        }
        let gini = whole.inequality().expect("coefficients");
        assert_eq!(gini[1], whole.history(1)[4].gini);
        assert!(whole.history(1)[0].gini < 0.1 && gini[1] > whole.history(1)[0].gini);
        let mut other = checkpoint.clone();
        other.histories.pop();
        assert!(Market::resume(other).is_err());
        assert!(whole.equilibrium(2).is_err());
    }
}
