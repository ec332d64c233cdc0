//! The collision integral on the CPU: against closed forms, against values of an independent implementation, and against itself.

use std::f64::consts::PI;

use proptest::prelude::*;
use rarefy::collision::CpuReal;
use rarefy::collision::coefficients::{OrbitTable, omega};
use rarefy::collision::initial::{Bkw, TwoMaxwellians, maxwellian};
use rarefy::collision::paper::{DirectLists, DirectTasks};
use rarefy::collision::{
    CorrectionMethod, CorrectionStatus, CpuOperator, Evaluation, FrequencyWay, Method, Moments,
    OperatorConfig, Order, Scattering, VelocityGrid, reference,
};

/// Rows of a table of reference values, as printed.
pub(crate) fn rows(table: &'static str) -> impl Iterator<Item = Vec<&'static str>> {
    let lines = table.lines().filter(|line| !line.starts_with('#'));
    lines.skip(1).map(|line| line.split(',').collect())
}

pub(crate) fn number(printed: &str) -> f64 {
    printed.parse().expect("a number in the table")
}

/// Asserts that a value agrees with a printed one to one unit of its last digit.
#[track_caller]
pub(crate) fn assert_printed(value: f64, printed: &str, what: &str) {
    let (mantissa, exponent) = printed.split_once('e').unwrap_or((printed, "0"));
    let decimals = mantissa
        .split_once('.')
        .map_or(0, |(_, digits)| digits.len()) as i32;
    let unit = 10f64.powi(exponent.parse::<i32>().expect("an exponent") - decimals);
    assert!(
        (value - number(printed)).abs() <= unit,
        "{what}: {value:e} instead of {printed}"
    );
}

#[track_caller]
pub(crate) fn assert_relative(value: f64, expected: f64, tolerance: f64, what: &str) {
    assert!(
        (value - expected).abs() <= tolerance * expected.abs(),
        "{what}: {value:e} instead of {expected:e}"
    );
}

/// Uniform random numbers in [0, 1) by splitmix64, one for each cell in storage order.
pub(crate) fn splitmix(n: usize, seed: u64) -> Vec<f64> {
    let mut state = seed;
    (0..n.pow(3))
        .map(|_| {
            state = state.wrapping_add(0x9E37_79B9_7F4A_7C15);
            let mut z = state;
            z = (z ^ (z >> 30)).wrapping_mul(0xBF58_476D_1CE4_E5B9);
            z = (z ^ (z >> 27)).wrapping_mul(0x94D0_49BB_1331_11EB);
            z ^= z >> 31;
            (z >> 11) as f64 * 2f64.powi(-53)
        })
        .collect()
}

fn gain<T: CpuReal>(n: usize, gamma: f64, method: Method, f: &[f64]) -> Vec<f64> {
    let mut gain = vec![f64::NAN; f.len()];
    CpuOperator::<T>::new(n, gamma, method, Order::Second).gain(f, &mut gain);
    gain
}

fn frequency(n: usize, gamma: f64, f: &[f64]) -> Vec<f64> {
    let mut frequency = vec![f64::NAN; f.len()];
    CpuOperator::<f64>::new(n, gamma, Method::Fast, Order::Second).frequency(f, &mut frequency);
    frequency
}

fn evaluate(config: &OperatorConfig, f: &[f64]) -> Evaluation {
    let (n, gamma) = (config.grid.n(), config.scattering.gamma());
    let gain = gain::<f64>(n, gamma, Method::Fast, f);
    Evaluation::from_lattice(config, f, gain, frequency(n, gamma, f))
}

/// The paper's correction or none.
fn paper(corrected: bool) -> CorrectionMethod {
    if corrected {
        CorrectionMethod::Paper
    } else {
        CorrectionMethod::None
    }
}

fn config(n: usize, half_width: f64, scattering: Scattering, corrected: bool) -> OperatorConfig {
    let grid = VelocityGrid::new(n, -half_width, half_width).expect("a valid grid");
    OperatorConfig {
        scattering,
        correction: paper(corrected),
        ..OperatorConfig::paper(grid)
    }
}

/// A configuration in which lattice units are physical units.
fn lattice(n: usize, scattering: Scattering) -> OperatorConfig {
    OperatorConfig {
        scattering,
        sigma_t: 4.0 * PI,
        ..OperatorConfig::paper(VelocityGrid::new(n, 0.0, n as f64).expect("a valid grid"))
    }
}

fn scattering(gamma: f64) -> Scattering {
    Scattering::Vhs {
        omega: 1.0 - gamma / 2.0,
    }
}

fn largest_difference(a: &[f64], b: &[f64]) -> f64 {
    a.iter()
        .zip(b)
        .map(|(a, b)| (a - b).abs())
        .fold(0.0, f64::max)
}

/// Largest |a - b| / |b|.
fn largest_relative(a: &[f64], b: &[f64]) -> f64 {
    a.iter()
        .zip(b)
        .map(|(a, b)| ((a - b) / b).abs())
        .fold(0.0, f64::max)
}

pub(crate) fn norm(values: impl IntoIterator<Item = f64>) -> f64 {
    values
        .into_iter()
        .map(|value| value * value)
        .sum::<f64>()
        .sqrt()
}

fn loss(evaluation: &Evaluation, f: &[f64]) -> Vec<f64> {
    evaluation
        .frequency
        .iter()
        .zip(f)
        .map(|(nu, f)| nu * f)
        .collect()
}

mod coefficients {
    use super::*;

    #[test]
    fn solid_angles_have_their_known_values() {
        for (rho, n, value) in [
            (1, [1, 0, 0], 2.0 * PI),
            (3, [1, 1, 1], PI / 2.0),
            (2, [1, 1, 0], 2.221441469079183),
            (4, [0, 0, 2], 1.1025711968650627),
            (9, [1, 2, 0], 0.4982944788060899),
            (14, [1, 2, 3], 0.3524669954443407),
            (25, [3, 4, 0], 0.2030806323665326),
            (2883, [31, 31, 31], 0.0018024984093227558),
            (0, [0, 0, 0], 4.0 * PI),
        ] {
            let found = omega(rho, n);
            assert!((found - value).abs() < 1e-14, "{rho} {n:?}: {found}");
            let [x, y, z] = n;
            assert_eq!(omega(rho, [-x, y, -z]), found, "signs do not matter");
            assert!(
                (omega(rho, [z, x, y]) - found).abs() < 1e-14,
                "nor does the order"
            );
        }
        // Empty, tangent to a face, tangent to an edge: exactly nothing.
        for (rho, n) in [
            (4, [0, 0, 0]),
            (9, [1, 4, 0]),
            (25, [5, 4, 0]),
            (0, [2, 0, 0]),
        ] {
            assert_eq!(omega(rho, n), 0.0, "{rho} {n:?}");
        }
    }

    #[test]
    fn the_cubes_partition_the_sphere() {
        for n in [8usize, 16, 32] {
            let table = OrbitTable::of(n, Order::Second);
            for c in 0..4 {
                let class = table.class(c);
                // A sphere of radius sqrt(rho) <= n - 2 stays within the cubes of the table.
                for r in (0..class.radii()).filter(|&r| (class.rho(r) as usize) < (n - 2).pow(2)) {
                    let mut sum = 0.0;
                    for orbit in class.orbits() {
                        let band = class.band(orbit);
                        let Some(omega) = r
                            .checked_sub(orbit.first as usize)
                            .and_then(|r| band.get(r))
                        else {
                            continue;
                        };
                        sum += omega * images(orbit.n, c);
                    }
                    let rho = class.rho(r);
                    assert!((sum - 4.0 * PI).abs() < 1e-12, "n {n}, rho {rho}: {sum}");
                }
            }
        }
    }

    /// Number of n in an orbit: signs, times permutations of the components of equal parity.
    fn images([a, b, c]: [u32; 3], class: u32) -> f64 {
        let signs = [a, b, c].iter().filter(|&&n| n > 0).count();
        let orders = match class {
            1 | 2 => 1 + usize::from(b != c),
            _ if a == b && b == c => 1,
            _ if a == b || b == c => 3,
            _ => 6,
        };
        ((1 << signs) * orders) as f64
    }

    #[test]
    fn the_table_has_its_known_size() {
        for row in rows(include_str!("../data/collision/orbits.csv")) {
            let n = number(row[0]) as usize;
            let table = OrbitTable::of(n, Order::Second);
            let classes = [0, 1, 2, 3].map(|c| table.class(c));
            let mut bands = Vec::new();
            for (c, class) in classes.iter().enumerate() {
                assert_eq!(
                    class.orbits().len() as f64,
                    number(row[1 + c]),
                    "orbits, {n} {c}"
                );
                assert_eq!(
                    class.orbits().iter().map(|o| o.count).sum::<u32>() as usize,
                    class.omega().len()
                );
                bands.extend(class.orbits().iter().map(|orbit| orbit.count));
                let squares = class
                    .orbits()
                    .iter()
                    .map(|o| o.n.iter().map(|n| n * n).sum::<u32>());
                assert!(squares.is_sorted(), "orbits are sorted");
            }
            assert_eq!(classes[0].radii() as f64, number(row[5]));
            assert_eq!(classes[3].radii() as f64, number(row[6]));
            assert_eq!(table.nonzeros() as f64, number(row[7]), "nonzeros, {n}");
            assert_printed(
                table.nonzeros() as f64 / bands.len() as f64,
                row[8],
                "mean band",
            );
            assert_eq!(
                bands.iter().max().copied().map(f64::from),
                Some(number(row[9]))
            );
        }
    }

    #[test]
    fn the_table_equals_the_closed_form() {
        let n = 9;
        let table = OrbitTable::of(n, Order::Second);
        let all = || (0..n.pow(3) as u32).map(|k| [k / 81, k / 9 % 9, k % 9]);
        for m in all().step_by(7) {
            let rho = m.iter().map(|m| m * m).sum();
            for n in all().filter(|n| [0, 1, 2].iter().all(|&a| n[a] % 2 == m[a] % 2)) {
                let difference = table.omega(rho, n) - omega(rho, n.map(|n| n as i32));
                assert!(difference.abs() < 1e-14, "{rho} {n:?}");
            }
        }
    }

    #[test]
    fn the_direct_lists_hold_each_coefficient_with_its_weight() {
        for n in [3u32, 6, 7] {
            let lists = DirectLists::new(n as usize, Order::Second);
            let mut total = 0;
            for k in 0..n.pow(3) {
                let m @ [mx, my, mz] = [k / (n * n), k / n % n, k % n];
                let rho = mx * mx + my * my + mz * mz;
                for nx in (mx % 2..n).step_by(2) {
                    let mut expected = Vec::new();
                    for ny in (my % 2..n).step_by(2) {
                        for nz in (mz % 2..n).step_by(2) {
                            let omega = omega(rho, [nx, ny, nz].map(|n| n as i32));
                            if omega > 0.0 {
                                let half = |n: u32| if n == 0 { 0.5 } else { 1.0 };
                                let twice = if nx > 0 { 2.0 } else { 1.0 };
                                expected.push((ny | nz << 16, omega * twice * half(ny) * half(nz)));
                            }
                        }
                    }
                    let range = lists.range(m, nx);
                    assert_eq!(range.len(), expected.len(), "{m:?} {nx}");
                    total += range.len();
                    for (e, (entry, weight)) in range.zip(expected) {
                        assert_eq!(lists.entries[e], entry);
                        assert!((lists.weights[e] - weight).abs() < 1e-13);
                    }
                }
            }
            assert!(total >= lists.entries.len() && lists.offsets.is_sorted());
            assert_eq!(
                lists.offsets.len() as u32,
                8 * lists.shape.radii * lists.shape.halves + 1
            );
        }
    }

    #[test]
    fn the_direct_tasks_cover_every_block_once() {
        for n in [3u32, 8, 11] {
            let tasks = DirectTasks::new(&DirectLists::new(n as usize, Order::Second));
            let mut slots: Vec<_> = tasks
                .tasks
                .iter()
                .map(|&[ix, jx, nx, slot]| (slot, ix, jx, nx))
                .collect();
            slots.sort_unstable();
            let mut expected = Vec::new();
            for ix in 0..n {
                assert_eq!(tasks.first[ix as usize] as usize, expected.len());
                for jx in 0..n {
                    for nx in 0..n {
                        let s = ix + jx;
                        if (s + nx) % 2 == 0 && nx <= s && (s + nx) / 2 < n {
                            expected.push((expected.len() as u32, ix, jx, nx));
                        }
                    }
                }
            }
            assert_eq!(slots, expected);
            assert_eq!(tasks.first[n as usize] as usize, expected.len());
        }
    }
}

mod gain_and_frequency {
    use super::*;

    #[test]
    fn values_of_an_independent_implementation() {
        for row in rows(include_str!("../data/collision/splitmix.csv")) {
            let (n, seed, gamma) = (
                number(row[0]) as usize,
                number(row[1]) as u64,
                number(row[2]),
            );
            let f = splitmix(n, seed);
            assert_relative(f[0], number(row[3]), 1e-15, "the random numbers");
            let check = |gain: &[f64], tolerance: f64, what: &str| {
                let cell = (n + 2) * n + 3;
                assert_relative(gain[0], number(row[4]), tolerance, what);
                assert_relative(gain[cell], number(row[5]), tolerance, what);
                assert_relative(gain.iter().sum(), number(row[6]), tolerance, what);
            };
            let fast = gain::<f64>(n, gamma, Method::Fast, &f);
            check(&fast, 1e-12, "fast f64");
            let single = gain::<f32>(n, gamma, Method::Fast, &f);
            check(&single, 1e-5, "fast f32");
            assert!(largest_relative(&single, &fast) < 1e-5);
            if n <= 10 {
                check(
                    &gain::<f64>(n, gamma, Method::Direct, &f),
                    1e-12,
                    "direct f64",
                );
                check(
                    &gain::<f32>(n, gamma, Method::Direct, &f),
                    1e-5,
                    "direct f32",
                );
            }
            if n <= 8 {
                check(
                    &reference::gain(n, gamma, Order::Second, &f),
                    1e-12,
                    "reference",
                );
            }

            let config = lattice(n, scattering(gamma));
            let evaluation = evaluate(&config, &f);
            assert_relative(
                loss(&evaluation, &f).iter().sum(),
                number(row[7]),
                1e-12,
                "loss",
            );
            assert_eq!(evaluation.correction.status, CorrectionStatus::Loss);
            let largest = evaluation.rate.iter().fold(0.0f64, |a, b| a.max(b.abs()));
            let difference = evaluation.rate[(n + 2) * n + 3] - number(row[8]);
            assert!(
                difference.abs() < 1e-10 * largest,
                "corrected integral, {n}"
            );
            assert!(evaluation.correction.residuals.iter().all(|&r| r < 1e-15));
        }
    }

    #[test]
    fn all_methods_agree() {
        for n in [1, 2, 3, 5, 6, 9] {
            for gamma in [0.0, 0.5, 1.0] {
                let f = splitmix(n, 100 + n as u64);
                let fast = gain::<f64>(n, gamma, Method::Fast, &f);
                let direct = gain::<f64>(n, gamma, Method::Direct, &f);
                if n == 1 && gamma > 0.0 {
                    assert_eq!((fast, direct), (vec![0.0], vec![0.0]));
                    continue;
                }
                assert!(largest_relative(&fast, &direct) < 1e-13, "{n} {gamma}");
                if n <= 6 {
                    let reference = reference::gain(n, gamma, Order::Second, &f);
                    assert!(largest_relative(&fast, &reference) < 1e-13, "{n} {gamma}");
                }
                let nu = reference::frequency(n, gamma, &f);
                assert!(largest_relative(&frequency(n, gamma, &f), &nu) < 1e-13);
                for method in [Method::Fast, Method::Direct] {
                    let single = gain::<f32>(n, gamma, method, &f);
                    assert!(
                        largest_relative(&single, &fast) < 1e-5,
                        "{n} {gamma} {method:?}"
                    );
                }
            }
        }
    }

    #[test]
    fn the_frequency_is_right_at_every_width_of_its_blocks() {
        // One block, a full one, and two: the sum of nu has a closed form in the sums over displacements.
        for n in [8, 13, 24, 32, 33, 40] {
            let grid = VelocityGrid::new(n, 0.0, n as f64).expect("a valid grid");
            let spike = grid.index(n - 1, n / 2, 1);
            let mut f = vec![0.0; grid.cells()];
            f[spike] = 2.0;
            let operator = CpuOperator::<f64>::new(n, 1.0, Method::Fast, Order::Second);
            for way in [FrequencyWay::Sum, FrequencyWay::Convolution] {
                let mut frequency = vec![f64::NAN; f.len()];
                operator.frequency_by(way, &f, &mut frequency);
                for (cell, nu) in frequency.into_iter().enumerate() {
                    let [a, b] = [cell, spike].map(|cell| grid.velocity(cell));
                    let distance = norm([0, 1, 2].map(|k| a[k] - b[k]));
                    assert!((nu - 8.0 * PI * distance).abs() < 1e-11, "{n} {cell}");
                }
            }
        }
    }

    /// In f32 the products of the tails lie far below the least number that f32 can represent.
    #[test]
    fn single_precision_does_not_lose_the_tails() {
        let grid = VelocityGrid::new(12, -9.0, 9.0).expect("a valid grid");
        for density in [1e-30, 1.0, 1e30] {
            let f = maxwellian(&grid, density, [0.0; 3], 1.0);
            let single = gain::<f32>(12, 1.0, Method::Fast, &f);
            let double = gain::<f64>(12, 1.0, Method::Fast, &f);
            assert!(largest_relative(&single, &double) < 1e-5, "{density}");
        }
    }

    #[test]
    fn bits_do_not_depend_on_the_number_of_threads() {
        let pool = |threads| {
            rayon::ThreadPoolBuilder::new()
                .num_threads(threads)
                .build()
                .expect("a thread pool")
        };
        for (n, method) in [(9, Method::Direct), (9, Method::Fast), (16, Method::Fast)] {
            let f = splitmix(n, 11);
            let run = |threads| {
                pool(threads).install(|| {
                    (
                        gain::<f64>(n, 0.5, method, &f),
                        gain::<f32>(n, 0.5, method, &f),
                    )
                })
            };
            let one = run(1);
            assert_eq!(one, run(2), "{method:?}");
            assert_eq!(one, run(3), "{method:?}");
        }
    }

    proptest! {
        #![proptest_config(ProptestConfig::with_cases(24))]

        #[test]
        fn the_gain_turns_with_the_distribution(n in 3usize..9, seed: u64, turn in 0usize..48, gamma in 0.0..=1.0) {
            let f = splitmix(n, seed);
            let turned = turned(n, turn, &f);
            for method in [Method::Fast, Method::Direct] {
                let expected = self::turned(n, turn, &gain::<f64>(n, gamma, method, &f));
                prop_assert!(largest_relative(&gain::<f64>(n, gamma, method, &turned), &expected) < 1e-13);
            }
        }

        #[test]
        fn the_gain_is_quadratic_and_positive(n in 3usize..9, seed: u64, factor in 1e-3..1e3) {
            // Three quarters of the cells are empty.
            let f: Vec<f64> = splitmix(n, seed).iter().map(|f| (f - 0.75).max(0.0)).collect();
            let scaled: Vec<f64> = f.iter().map(|f| factor * f).collect();
            let gain = gain::<f64>(n, 1.0, Method::Fast, &f);
            prop_assert!(gain.iter().all(|&gain| gain >= 0.0));
            let more = super::gain::<f64>(n, 1.0, Method::Fast, &scaled);
            for (gain, more) in gain.iter().zip(more) {
                let difference: f64 = gain * factor * factor - more;
                prop_assert!(difference.abs() <= 1e-13 * more);
            }
        }

        #[test]
        fn the_correction_conserves(n in 3usize..9, seed: u64, gamma in 0.0..=1.0, shift in -20.0..20.0) {
            let f = splitmix(n, seed);
            let grid = VelocityGrid::new(n, shift, shift + 3.0).expect("a valid grid");
            let config = OperatorConfig { scattering: scattering(gamma), ..OperatorConfig::paper(grid) };
            let evaluation = evaluate(&config, &f);
            let correction = evaluation.correction;
            prop_assert_eq!(correction.status, CorrectionStatus::Loss);
            prop_assert!(correction.residuals.iter().all(|&r| r < 1e-15), "{:?}", correction.residuals);
            // A step just within the bound keeps f positive.
            let dt = 0.999 * correction.largest_step;
            prop_assert!(f.iter().zip(&evaluation.rate).all(|(f, rate)| f + dt * rate >= 0.0));
        }
    }

    /// The distribution after one of the 48 symmetries of the cube.
    fn turned(n: usize, turn: usize, f: &[f64]) -> Vec<f64> {
        const ORDERS: [[usize; 3]; 6] = [
            [0, 1, 2],
            [0, 2, 1],
            [1, 0, 2],
            [1, 2, 0],
            [2, 0, 1],
            [2, 1, 0],
        ];
        let order = ORDERS[turn / 8];
        (0..n.pow(3))
            .map(|cell| {
                let i = [cell / (n * n), cell / n % n, cell % n];
                let [x, y, z] = [0, 1, 2].map(|a| {
                    let i = i[order[a]];
                    if turn >> a & 1 == 1 { n - 1 - i } else { i }
                });
                f[(x * n + y) * n + z]
            })
            .collect()
    }
}

mod correction {
    use super::*;

    /// Distributions on 6^3 cells that live on a sphere, a plane, and on two cells.
    fn degenerate() -> [Vec<f64>; 3] {
        let empty = vec![0.0; 216];
        let cell = |x: usize, y: usize, z: usize| (x * 6 + y) * 6 + z;
        let mut vertices = empty.clone();
        for (k, [x, y, z]) in [
            [1, 1, 1],
            [4, 1, 1],
            [1, 4, 1],
            [1, 1, 4],
            [4, 4, 1],
            [4, 1, 4],
        ]
        .into_iter()
        .enumerate()
        {
            vertices[cell(x, y, z)] = 1.0 + 0.3 * k as f64;
        }
        let mut plane = empty.clone();
        for (k, f) in splitmix(6, 3)[..36].iter().enumerate() {
            plane[cell(2, k / 6, k % 6)] = *f;
        }
        let mut two = empty;
        two[cell(1, 2, 3)] = 1.0;
        two[cell(4, 2, 1)] = 2.0;
        [vertices, plane, two]
    }

    #[test]
    fn where_the_loss_cannot_be_corrected_the_gain_is_too() {
        for law in [Scattering::Maxwell, Scattering::HardSphere] {
            for (case, f) in degenerate().into_iter().enumerate() {
                let evaluation = evaluate(&lattice(6, law), &f);
                let correction = evaluation.correction;
                assert_eq!(
                    correction.status,
                    CorrectionStatus::LossAndGain,
                    "{law} {case}"
                );
                assert!(
                    correction.residuals.iter().all(|&r| r <= 2e-16),
                    "{:?}",
                    correction.residuals
                );
                assert!(evaluation.rate.iter().all(|rate| rate.is_finite()));
                let dt = 0.999 * correction.largest_step;
                assert!(!dt.is_nan());
                if dt > 0.0 && dt.is_finite() {
                    assert!(
                        f.iter()
                            .zip(&evaluation.rate)
                            .all(|(f, rate)| f + dt * rate >= 0.0)
                    );
                }
            }
        }
    }

    #[test]
    fn where_nothing_can_be_corrected_the_integral_is_left_alone() {
        let mut single = vec![0.0; 216];
        single[100] = 3.0;
        let empty = vec![0.0; 216];
        for law in [Scattering::Maxwell, Scattering::HardSphere] {
            for f in [&single, &empty] {
                let evaluation = evaluate(&lattice(6, law), f);
                let correction = evaluation.correction;
                assert_eq!(correction.status, CorrectionStatus::Singular);
                assert!(
                    evaluation.rate.iter().all(|rate| rate.abs() < 1e-14),
                    "nothing collides"
                );
                assert!(correction.residuals.iter().all(|r| !r.is_nan()));
                assert!(correction.largest_step > 0.0);
            }
        }
        // Nothing moves in an empty box: any step will do.
        let evaluation = evaluate(&lattice(6, Scattering::HardSphere), &empty);
        assert_eq!(evaluation.correction.largest_step, f64::INFINITY);
    }

    #[test]
    fn without_correction_the_rate_is_gain_minus_loss() {
        let config = OperatorConfig {
            correction: CorrectionMethod::None,
            ..lattice(6, Scattering::HardSphere)
        };
        let f = splitmix(6, 9);
        let evaluation = evaluate(&config, &f);
        assert_eq!(evaluation.correction.status, CorrectionStatus::Off);
        assert_eq!(evaluation.correction.delta, [0.0; 5]);
        for (cell, loss) in loss(&evaluation, &f).into_iter().enumerate() {
            assert_eq!(evaluation.rate[cell], evaluation.gain[cell] - loss);
        }
        let slow = reference::evaluate(&config, &f);
        assert!(largest_relative(&slow.gain, &evaluation.gain) < 1e-13);
        assert!(largest_relative(&slow.frequency, &evaluation.frequency) < 1e-13);
    }
}

mod accuracy {
    use super::*;

    #[test]
    fn the_box_must_hold_the_tails() {
        for row in rows(include_str!("../data/collision/truncation.csv")) {
            let half_width = number(row[0]);
            let config = config(
                (4.0 * half_width) as usize,
                half_width,
                Scattering::HardSphere,
                true,
            );
            let f = maxwellian(&config.grid, 1.0, [0.0; 3], 1.0);
            let evaluation = evaluate(&config, &f);
            let loss = loss(&evaluation, &f);
            let energy = |values: &[f64]| -> f64 {
                let squares =
                    (0..values.len()).map(|cell| norm(config.grid.velocity(cell)).powi(2));
                values
                    .iter()
                    .zip(squares)
                    .map(|(value, square)| value * square)
                    .sum()
            };
            let total = |values: &[f64]| values.iter().sum::<f64>();
            let magnitude = |values: &[f64]| values.iter().map(|value| value.abs()).sum::<f64>();
            assert_printed(Moments::of(&config.grid, &f).density, row[1], "mass");
            assert_printed(
                total(&evaluation.gain) / total(&loss),
                row[2],
                "mass of the gain",
            );
            assert_printed(
                energy(&evaluation.gain) / energy(&loss),
                row[3],
                "energy of the gain",
            );
            assert_printed(
                magnitude(&evaluation.rate) / magnitude(&loss),
                row[4],
                "L1 of I",
            );
        }
    }

    #[test]
    fn maxwellians_are_nearly_stationary() {
        for row in rows(include_str!("../data/collision/equilibrium.csv")) {
            let n = number(row[0]) as usize;
            for (law, first) in [(Scattering::HardSphere, 1), (Scattering::Maxwell, 4)] {
                for (corrected, column) in [(false, first), (true, first + 1)] {
                    let config = config(n, 5.0, law, corrected);
                    let f = maxwellian(&config.grid, 1.0, [0.0; 3], 1.0);
                    let evaluation = evaluate(&config, &f);
                    let loss = loss(&evaluation, &f);
                    let ratio = norm(evaluation.rate.iter().copied()) / norm(loss.iter().copied());
                    assert_printed(ratio, row[column], &format!("L2, {n} {law} {corrected}"));
                    if law == Scattering::HardSphere {
                        assert_printed(
                            loss.iter().sum::<f64>() * config.grid.volume(),
                            row[3],
                            "collision rate",
                        );
                    }
                }
            }
        }
    }

    #[test]
    fn shear_and_heat_decay_at_their_known_rates() {
        let stress: fn([f64; 3]) -> f64 = |[x, y, _]| x * y;
        let heat: fn([f64; 3]) -> f64 = |[x, y, z]| 0.5 * x * (x * x + y * y + z * z - 5.0);
        for row in rows(include_str!("../data/collision/rates.csv")) {
            let n = number(row[0]) as usize;
            for (column, law, corrected, shape, size) in [
                (1, Scattering::Maxwell, false, stress, 0.05),
                (2, Scattering::Maxwell, true, stress, 0.05),
                (3, Scattering::Maxwell, true, heat, 0.02),
                (4, Scattering::HardSphere, false, stress, 0.05),
                (5, Scattering::HardSphere, true, stress, 0.05),
                (6, Scattering::HardSphere, true, heat, 0.02),
            ] {
                let config = config(n, 5.5, law, corrected);
                let phi = config.grid.sample(shape);
                let m = maxwellian(&config.grid, 1.0, [0.0; 3], 1.0);
                let rate = |sign: f64| {
                    let f: Vec<f64> = m
                        .iter()
                        .zip(&phi)
                        .map(|(m, phi)| m * (1.0 + sign * size * phi))
                        .collect();
                    evaluate(&config, &f).rate
                };
                let [up, down] = [rate(1.0), rate(-1.0)];
                let mut numerator = 0.0;
                let mut denominator = 0.0;
                for cell in 0..m.len() {
                    numerator -= phi[cell] * (up[cell] - down[cell]) / 2.0;
                    denominator += phi[cell] * size * phi[cell] * m[cell];
                }
                assert_printed(
                    numerator / denominator,
                    row[column],
                    &format!("rate, {n} {column}"),
                );
            }
        }
    }

    #[test]
    fn the_exact_solution_evolves_as_it_should() {
        let state = Bkw::new(0.65).expect("a valid K");
        for row in rows(include_str!("../data/collision/bkw.csv")) {
            let n = number(row[0]) as usize;
            for (corrected, column) in [(false, 1), (true, 2)] {
                let config = config(n, 5.0, Scattering::Maxwell, corrected);
                let evaluation = evaluate(&config, &state.sample(&config.grid));
                let exact = state.derivative(&config.grid, 1.0);
                let error = norm(
                    evaluation
                        .rate
                        .iter()
                        .zip(&exact)
                        .map(|(rate, exact)| rate - exact),
                );
                assert_printed(
                    error / norm(exact.iter().copied()),
                    row[column],
                    &format!("L2, {n}"),
                );
                if corrected {
                    let fourth = Moments::of(&config.grid, &evaluation.rate).fourth;
                    assert_printed(fourth, row[3], "rate of the fourth moment");
                }
            }
        }
    }

    #[test]
    fn the_exact_solution_is_consistent() {
        let grid = VelocityGrid::new(40, -8.0, 8.0).expect("a valid grid");
        let state = Bkw::new(0.65).expect("a valid K");
        let moments = Moments::of(&grid, &state.sample(&grid));
        assert!((moments.density - 1.0).abs() < 1e-10);
        assert!((moments.temperature - 1.0).abs() < 1e-10);
        assert!((moments.fourth - state.fourth()).abs() < 1e-8);
        assert!((state.fourth_rate(1.0) - 0.6125).abs() < 1e-15);
        // The derivative is that of the time law.
        let dt = 1e-4;
        let [before, after] = [-dt, dt].map(|t| state.after(t, 2.0).sample(&grid));
        let exact = state.derivative(&grid, 2.0);
        for cell in 0..exact.len() {
            let difference = (after[cell] - before[cell]) / (2.0 * dt) - exact[cell];
            assert!(difference.abs() < 1e-9);
        }
        assert!(Bkw::new(0.59).is_err() && Bkw::new(f64::NAN).is_err());
    }

    #[test]
    fn two_maxwellians_relax_as_computed_independently() {
        let config = config(16, 6.5, Scattering::HardSphere, true);
        let problem = TwoMaxwellians::default();
        assert_eq!(problem.equilibrium_temperature(), 1.75);
        assert_printed(
            problem.equilibrium_entropy(),
            "-5.096239",
            "H at equilibrium",
        );
        let mut f = problem.sample(&config.grid);
        let start = Moments::of(&config.grid, &f);
        assert_printed(start.entropy, "-4.78361982", "H at first");
        assert_printed(start.pressure[0], "3.249993", "P_xx at first");
        let mut entropy = start.entropy;
        for _ in 0..10 {
            let dt = 0.05;
            let slope = evaluate(&config, &f).rate;
            let euler: Vec<f64> = f
                .iter()
                .zip(&slope)
                .map(|(f, slope)| f + dt * slope)
                .collect();
            let second = evaluate(&config, &euler).rate;
            for (cell, f) in f.iter_mut().enumerate() {
                *f += 0.5 * dt * (slope[cell] + second[cell]);
            }
            let moments = Moments::of(&config.grid, &f);
            assert!(moments.entropy < entropy && moments.minimum >= 0.0);
            entropy = moments.entropy;
        }
        let end = Moments::of(&config.grid, &f);
        assert_printed(end.entropy, "-5.06255026", "H at t = 1/2");
        assert_printed(end.pressure[0], "2.189638", "P_xx at t = 1/2");
        assert!((end.density - 1.0).abs() < 1e-14);
        assert!(end.velocity.iter().all(|u| u.abs() < 1e-14));
        assert!((end.temperature - start.temperature).abs() < 1e-13);
    }

    #[test]
    fn moments_of_a_moving_maxwellian() {
        let grid = VelocityGrid::new(40, -7.0, 9.0).expect("a valid grid");
        let u = [0.5, 1.0, 1.5];
        let moments = Moments::of(&grid, &maxwellian(&grid, 2.0, u, 1.2));
        let close =
            |a: f64, b: f64| assert!((a - b).abs() < 1e-8 * (1.0 + b.abs()), "{a} instead of {b}");
        close(moments.density, 2.0);
        close(moments.temperature, 1.2);
        (0..3).for_each(|a| close(moments.velocity[a], u[a]));
        (0..6).for_each(|a| close(moments.pressure[a], if a < 3 { 2.4 } else { 0.0 }));
        (0..3).for_each(|a| close(moments.heat_flux[a], 0.0));
        // int f |xi|^4 = n (u^4 + 10 u^2 T + 15 T^2); H = n (ln n - 3/2 (1 + ln 2 pi T)).
        close(
            moments.fourth,
            2.0 * (3.5f64.powi(2) + 10.0 * 3.5 * 1.2 + 15.0 * 1.44),
        );
        close(
            moments.entropy,
            2.0 * (2f64.ln() - 1.5 * (1.0 + (2.4 * PI).ln())),
        );
        let nothing = Moments::of(&grid, &vec![0.0; grid.cells()]);
        assert_eq!(nothing, Moments::default());
    }

    #[test]
    fn single_precision_is_near_enough_on_smooth_distributions() {
        for n in [16, 24, 32] {
            let grid = VelocityGrid::new(n, -5.0, 5.0).expect("a valid grid");
            let f = maxwellian(&grid, 1.0, [0.3, -0.2, 0.1], 1.0);
            let double = gain::<f64>(n, 1.0, Method::Fast, &f);
            let single = gain::<f32>(n, 1.0, Method::Fast, &f);
            let error = largest_relative(&single, &double);
            assert!(error < 1e-5, "{n}: {error:e}");
            let largest = double.iter().copied().fold(0.0, f64::max);
            assert!(largest_difference(&single, &double) < 1e-5 * largest);
        }
    }
}
