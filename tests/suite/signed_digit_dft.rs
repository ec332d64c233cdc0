//! The Fourier transform with exact sums: the paper's example and its errors, and the same digits on every backend.

use rarefy::Backend;
use rarefy::compute::Resolved;
use rarefy::signed_digit::decimal::Decimal;
use rarefy::signed_digit::dft::{Signal, Spectrum, Transform};
use rarefy::signed_digit::paper::introduction::{sequence, transform_error};

use crate::support;

fn backends() -> Vec<Resolved> {
    let mut backends: Vec<_> = [Backend::Reference, Backend::Cpu, Backend::Emulator]
        .map(|backend| backend.resolve().expect("no device is needed"))
        .into();
    backends.extend(support::device().map(Resolved::Cuda));
    backends
}

fn decimal(text: &str) -> Decimal {
    text.parse().expect("a decimal number")
}

/// The error there and back in percent, as the paper has it.
fn percent(transform: &Transform, x: &Signal, backend: &Resolved) -> f64 {
    let y = transform.forward(x, backend).expect("a transform");
    100.0
        * transform
            .inverse(&y, backend)
            .expect("a transform")
            .relative_error(x)
}

#[test]
fn the_errors_of_figure_3() {
    let n = 16;
    let exact = Transform::new(n, 30).expect("a table");
    // The nearest f64 to each cosine and sine, exactly.
    let fine = Transform::new(n, 60).expect("a table");
    let nearest = |table: &[Decimal]| -> Vec<Decimal> {
        table
            .iter()
            .map(|value| Decimal::from_f64(value.round_f64()).expect("finite"))
            .collect()
    };
    let double =
        Transform::with_table(nearest(fine.cosines()), nearest(fine.sines())).expect("a table");
    for (alpha, f32s, f64s, rounded) in [
        (0, 2.5e-4, 3.5e-12, 1.9e-14),
        (5, 7.4, 1.6e-7, 4.4e-9),
        (8, 150.0, 1.6e-4, 4.5e-6),
        (12, 150.0, 1.4, 1.2e-2),
        (15, 6e2, 1.3e3, 12.0),
    ] {
        let x = sequence(n, alpha);
        let backend = &Resolved::Cpu;
        let found = percent(&exact, &x, backend);
        assert!(
            (found / 5.7e-29 - 1.0).abs() < 0.02,
            "alpha 1e{alpha}: 30 digits give {found:e}"
        );

        // With y rounded to f64 in between, exact sums do not help.
        let y = double.forward(&x, backend).expect("a transform");
        let part = |i: usize| -> Vec<Decimal> {
            y.round_f64()
                .iter()
                .map(|y| Decimal::from_f64(y[i]).expect("finite"))
                .collect()
        };
        let y_rounded = Spectrum {
            scaled: Signal {
                re: part(0),
                im: part(1),
            },
            divisor: 1,
        };
        let back = double.inverse(&y_rounded, backend).expect("a transform");
        let of = |found: f64, expected: f64, what: &str| {
            let ratio = found / expected;
            assert!(
                (0.5..2.0).contains(&ratio),
                "alpha 1e{alpha}, {what}: {found:e}, expected about {expected:e}"
            );
        };
        of(100.0 * back.relative_error(&x), rounded, "y rounded");
        of(transform_error::<f32>(&x), f32s, "f32");
        of(transform_error::<f64>(&x), f64s, "f64");
    }
    // f64 cosines alone leave the error of f64 whatever alpha, if y is kept.
    for alpha in [0, 10, 20] {
        let found = percent(&double, &sequence(n, alpha), &Resolved::Cpu);
        assert!(
            (1e-14..2.3e-14).contains(&found),
            "alpha 1e{alpha}: {found:e}"
        );
    }
}

#[test]
fn digits_of_the_table_are_digits_of_the_result() {
    for n in [1, 2, 3, 6, 15, 16, 31] {
        let x = sequence(n, 20);
        for digits in [9, 25, 100, 300] {
            let transform = Transform::new(n, digits).expect("a table");
            let error = percent(&transform, &x, &Resolved::Cpu) / 100.0;
            // An odd number of points spreads alpha over all y, relative to which the error of the table counts.
            let spread = if n % 2 == 0 { 1.0 } else { 1e21 };
            assert!(
                error <= spread * n as f64 * 10f64.powi(2 - digits as i32),
                "{n} points, {digits} digits: {error:e}"
            );
        }
    }
}

#[test]
fn all_backends_give_the_same_digits() {
    for n in [1, 2, 5, 12] {
        let transform = Transform::new(n, 35).expect("a table");
        let real = sequence(n, 12);
        let complex = Signal {
            re: real.re.clone(),
            im: (0..n).map(|i| decimal(&format!("-{i}.5e-7"))).collect(),
        };
        for x in [real, complex] {
            let y = transform
                .forward(&x, &Resolved::Reference)
                .expect("a transform");
            let back = transform
                .inverse(&y, &Resolved::Reference)
                .expect("a transform");
            assert!(back.relative_error(&x) < 1e-18);
            for backend in backends() {
                let found = transform.forward(&x, &backend).expect("a transform");
                assert_eq!(found, y, "{n} points on {}", backend.describe());
                assert_eq!(
                    transform.inverse(&found, &backend).expect("a transform"),
                    back
                );
            }
            // Against the plain formula.
            for (k, [re, im]) in y.round_f64().into_iter().enumerate() {
                let mut sum = [0.0; 2];
                for j in 0..n {
                    let (s, c) = (std::f64::consts::TAU * (j * k % n) as f64 / n as f64).sin_cos();
                    let (a, b) = (
                        x.re[j].round_f64(),
                        x.im.get(j).map_or(0.0, Decimal::round_f64),
                    );
                    sum[0] += (a * c + b * s) / n as f64;
                    sum[1] += (b * c - a * s) / n as f64;
                }
                assert!(
                    (re - sum[0]).abs() < 1e-3 && (im - sum[1]).abs() < 1e-3,
                    "y_{k}: {re} {im}, {sum:?}"
                );
            }
        }
    }
}

#[test]
fn wrong_sizes_are_refused() {
    let refused = |result: rarefy::Result<Transform>| result.expect_err("a wrong size").to_string();
    assert!(refused(Transform::new(0, 30)).contains("1 to 16777216"));
    assert!(refused(Transform::new(4, 0)).contains("1 to 100000"));
    assert!(
        refused(Transform::with_table(vec![Decimal::ZERO], vec![]))
            .contains("as many sines as cosines")
    );
    let transform = Transform::new(4, 10).expect("a table");
    for backend in backends() {
        assert!(
            transform
                .forward(&sequence(3, 0), &backend)
                .is_err_and(|error| error.is_input())
        );
    }
    let far = Signal::real(["1e1000000000000", "1", "0", "0"].map(decimal).into());
    let error = transform
        .forward(&far, &Resolved::Cpu)
        .expect_err("too many digits");
    assert!(
        matches!(
            error,
            rarefy::Error::Machine(rarefy::MachineError::Memory { .. })
        ),
        "{error}"
    );
    let zero = Signal::real(vec![Decimal::ZERO; 4]);
    let y = transform
        .forward(&zero, &Resolved::Cpu)
        .expect("a transform");
    assert_eq!(y.relative_error(&zero), 0.0);
    assert_eq!(y.round_f64(), [[0.0; 2]; 4]);
    assert_eq!(y.rounded(20).re, zero.re);
}
