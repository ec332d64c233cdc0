//! The fourth order of the collision integral: its coefficients, its values on every path, what it costs in positivity.

use std::f64::consts::PI;

use rarefy::collision::coefficients::{OrbitTable, coefficient, omega};
use rarefy::collision::initial::{Bkw, TwoMaxwellians};
use rarefy::collision::paper::DirectLists;
use rarefy::collision::{
    CollisionOperator, CpuOperator, CpuReal, Integrator, Method, Moments, OperatorConfig, Order,
    Relaxation, RelaxationConfig, Scattering, Until, VelocityGrid, reference,
};
use rarefy::{Backend, Compute, Precision};

use crate::collision::{assert_relative, number, rows, splitmix};

fn gain<T: CpuReal>(n: usize, gamma: f64, method: Method, f: &[f64]) -> Vec<f64> {
    let mut gain = vec![f64::NAN; f.len()];
    CpuOperator::<T>::new(n, gamma, method, Order::Fourth).gain(f, &mut gain);
    gain
}

fn config(n: usize, half_width: f64) -> OperatorConfig {
    OperatorConfig {
        order: Order::Fourth,
        compute: Backend::Cpu.into(),
        ..OperatorConfig::paper(
            VelocityGrid::new(n, -half_width, half_width).expect("a valid grid"),
        )
    }
}

#[test]
fn coefficients_keep_the_whole_sphere() {
    for rho in [0, 1, 2, 3, 4, 5, 6, 8, 9, 11, 19, 25, 41] {
        let reach = f64::from(rho).sqrt() as i32 + 4;
        let mut sum = 0.0;
        for n in (0..(2 * reach + 1).pow(3)).map(|k| {
            let side = 2 * reach + 1;
            [k / (side * side), k / side % side, k % side].map(|n| n - reach)
        }) {
            // Parity classes as those of the displacement: one of the patterns with this many odd components.
            let pattern = match rho % 4 {
                0 => [0, 0, 0],
                1 => [0, 1, 0],
                2 => [1, 0, 1],
                _ => [1, 1, 1],
            };
            if (0..3).all(|a| n[a].rem_euclid(2) == pattern[a]) {
                sum += coefficient(Order::Fourth, rho, n);
            }
        }
        assert!((sum - 4.0 * PI).abs() < 1e-12, "rho {rho}: {sum}");
    }
    assert_eq!(coefficient(Order::Fourth, 0, [0; 3]), 5.0 * PI);
    assert_relative(
        coefficient(Order::Fourth, 0, [0, -2, 0]),
        -PI / 6.0,
        1e-15,
        "at rest",
    );
}

#[test]
fn the_table_and_the_lists_hold_every_coefficient() {
    let side = 9;
    let table = OrbitTable::of(side, Order::Fourth);
    let lists = DirectLists::new(side, Order::Fourth);
    assert_eq!(table.order(), Order::Fourth);
    let all = || (0..side.pow(3) as u32).map(|k| [k / 81, k / 9 % 9, k % 9]);
    for m in all().step_by(5) {
        let rho = m.iter().map(|m| m * m).sum();
        for n in all().filter(|n| [0, 1, 2].iter().all(|&a| n[a] % 2 == m[a] % 2)) {
            let exact = coefficient(Order::Fourth, rho, n.map(|n| n as i32));
            assert!((table.omega(rho, n) - exact).abs() < 1e-14, "{rho} {n:?}");
            let listed = lists
                .range(m, n[0])
                .find(|&e| lists.entries[e] == n[1] | n[2] << 16)
                .map_or(0.0, |e| lists.weights[e]);
            let half = |n: u32| if n == 0 { 0.5 } else { 1.0 };
            let weight = exact * if n[0] > 0 { 2.0 } else { 1.0 } * half(n[1]) * half(n[2]);
            assert!((listed - weight).abs() < 1e-14, "{rho} {n:?}");
        }
    }
    // The second order's table is another one, and is still itself.
    let second = OrbitTable::of(side, Order::Second);
    assert_relative(
        second.omega(14, [3, 2, 1]),
        omega(14, [1, 2, 3]),
        1e-14,
        "second order",
    );
    let ratio = table.nonzeros() as f64 / second.nonzeros() as f64;
    assert!((1.5..3.0).contains(&ratio), "{ratio}");
}

#[test]
fn values_of_an_independent_implementation() {
    for row in rows(include_str!("../data/collision/splitmix.csv")) {
        let (n, seed, gamma) = (
            number(row[0]) as usize,
            number(row[1]) as u64,
            number(row[2]),
        );
        if row[9].is_empty() {
            continue;
        }
        let f = splitmix(n, seed);
        let check = |gain: &[f64], tolerance: f64, what: &str| {
            let value = gain[(n + 2) * n + 3];
            assert_relative(value, number(row[9]), tolerance, &format!("{what}, {n}"));
        };
        check(&gain::<f64>(n, gamma, Method::Fast, &f), 1e-12, "fast f64");
        check(&gain::<f32>(n, gamma, Method::Fast, &f), 1e-5, "fast f32");
        if n <= 10 {
            check(&gain::<f64>(n, gamma, Method::Direct, &f), 1e-12, "direct");
            check(
                &gain::<f32>(n, gamma, Method::Direct, &f),
                1e-5,
                "direct f32",
            );
        }
        if n <= 8 {
            check(
                &reference::gain(n, gamma, Order::Fourth, &f),
                1e-12,
                "reference",
            );
            for method in [Method::Fast, Method::Direct] {
                for (precision, tolerance) in [(Precision::F64, 1e-12), (Precision::F32, 1e-5)] {
                    let scattering = Scattering::Vhs {
                        omega: 1.0 - gamma / 2.0,
                    };
                    let grid = VelocityGrid::new(n, 0.0, n as f64).expect("a valid grid");
                    let mut operator = CollisionOperator::new(OperatorConfig {
                        scattering,
                        sigma_t: 4.0 * PI,
                        method,
                        compute: Compute::new(Backend::Emulator).with_precision(precision),
                        order: Order::Fourth,
                        ..OperatorConfig::paper(grid)
                    })
                    .expect("the emulator runs everywhere");
                    let found = operator.evaluate(&f).expect("an evaluation");
                    check(&found.gain, tolerance, &format!("emulator, {method:?}"));
                }
            }
        }
    }
}

#[test]
fn all_methods_agree() {
    for n in [1, 2, 3, 5, 6, 9] {
        for gamma in [0.0, 0.5, 1.0] {
            let f = splitmix(n, 200 + n as u64);
            let fast = gain::<f64>(n, gamma, Method::Fast, &f);
            let direct = gain::<f64>(n, gamma, Method::Direct, &f);
            let largest = fast.iter().fold(0.0_f64, |most, v| most.max(v.abs()));
            let close = |other: &[f64], tolerance: f64| {
                fast.iter()
                    .zip(other)
                    .all(|(a, b)| (a - b).abs() <= tolerance * largest)
            };
            assert!(close(&direct, 1e-13), "{n} {gamma}");
            assert!(close(&gain::<f32>(n, gamma, Method::Fast, &f), 1e-5));
            if n <= 6 {
                let reference = reference::gain(n, gamma, Order::Fourth, &f);
                assert!(close(&reference, 1e-13), "{n} {gamma}");
            }
        }
    }
}

/// The gain dips below zero in the tails, by as much as documented.
#[test]
fn traces_of_negative_values_are_small_and_do_no_harm() {
    let state = Bkw::new(0.65).expect("a valid K");
    for (n, dip) in [(16, -5e-9), (20, -2e-11)] {
        let mut operator = CollisionOperator::new(OperatorConfig {
            scattering: Scattering::Maxwell,
            ..config(n, 5.0)
        })
        .expect("an operator");
        let f = state.sample(&operator.config().grid);
        let gain = operator.evaluate(&f).expect("an evaluation").gain;
        let least = gain.iter().copied().fold(f64::INFINITY, f64::min);
        assert!(
            least < 0.0 && (0.75..1.25).contains(&(least / dip)),
            "{n}: {least:e}"
        );
    }

    // A run that has come to negative values goes on from its checkpoint to the same bits; its end is accepted as input.
    let config = RelaxationConfig {
        operator: config(10, 6.5),
        integrator: Integrator::Ssprk2,
        dt: Some(0.05),
        until: Until::Steps(20),
        limited: false,
    };
    let f = TwoMaxwellians::default().sample(&config.operator.grid);
    let mut straight = Relaxation::new(config.clone(), f).expect("a run");
    straight.advance(10).expect("ten steps");
    let checkpoint = straight.checkpoint().expect("a checkpoint");
    let least = Moments::of(&config.operator.grid, &checkpoint.f).minimum;
    assert!(least < 0.0, "{least:e}");
    let mut resumed = Relaxation::resume(checkpoint.clone()).expect("a run");
    straight.advance(10).expect("ten more");
    resumed.advance(10).expect("ten more");
    assert_eq!(straight.state().expect("f"), resumed.state().expect("f"));
    let last = straight.history().last().expect("a row").moments;
    assert!((last.density - 1.0).abs() < 1e-13);
    Relaxation::new(config.clone(), checkpoint.f.clone()).expect("small traces are no mistake");

    // The second order makes none and takes none; the fourth takes no large ones.
    let mut second = config.clone();
    second.operator.order = Order::Second;
    let refused = Relaxation::new(second, checkpoint.f.clone()).expect_err("refused");
    assert!(refused.is_input() && refused.to_string().contains("negative"));
    let mut wrong = checkpoint.f;
    wrong[0] = -0.01 * wrong.iter().copied().fold(0.0, f64::max);
    let refused = Relaxation::new(config, wrong).expect_err("refused");
    assert!(
        refused.to_string().contains("this scheme tolerates"),
        "{refused}"
    );
}

#[test]
fn the_order_is_read_and_written_as_a_number() {
    let config = config(8, 5.0);
    let text = serde_json::to_string(&config).expect("plain data");
    assert!(text.contains("\"order\":4"), "{text}");
    assert_eq!(
        serde_json::from_str::<OperatorConfig>(&text).expect("itself"),
        config
    );
    assert!(serde_json::from_str::<Order>("3").is_err());
    assert_eq!("4".parse::<Order>().expect("an order"), Order::Fourth);
}
