//! The paper's arithmetic: digits that stay in their set, its example, both methods, and kernels with a thread a digit.

use proptest::prelude::*;
use rarefy::Backend;
use rarefy::compute::Resolved;
use rarefy::emulator::{Emulator, ThreadOrder};
use rarefy::machine::{Grid, Machine};
use rarefy::signed_digit::decimal::{self, Decimal};
use rarefy::signed_digit::paper::introduction::{VECTORS_DOT, dot_error, vectors};
use rarefy::signed_digit::paper::{
    self, DigitSet, Float, Method, ResidentDigits, Rows, SignedDigits, digit_count,
};
use rarefy_kernels::signed_digit::paper as kernels;

use crate::support;

const METHODS: [Method; 3] = [
    Method::First,
    Method::Second(Rows::PerColumn),
    Method::Second(Rows::PerPlace),
];

fn backends() -> Vec<Resolved> {
    let mut backends = vec![Resolved::Cpu, Resolved::Emulator];
    backends.extend(support::device().map(Resolved::Cuda));
    backends
}

fn number(text: &str) -> SignedDigits {
    SignedDigits::from_decimal(&text.parse().expect("a decimal number")).expect("a whole number")
}

fn value(digits: &[i8], radix: i64) -> i64 {
    digits
        .iter()
        .rev()
        .fold(0, |value, &digit| radix * value + i64::from(digit))
}

/// All pairs of adjacent digits of two numbers: digits that leave the set, of 13^4, under a threshold.
fn escapes(radix: i32, largest: i32, threshold: i32) -> usize {
    let transfer = |sum: i32| i32::from(sum >= threshold) - i32::from(sum <= -threshold);
    let mut count = 0;
    for (x1, y1) in pairs(largest) {
        for (x0, y0) in pairs(largest) {
            let (upper, lower) = (x1 + y1, x0 + y0);
            let digit = upper - radix * transfer(upper) + transfer(lower);
            count += usize::from(digit.abs() > largest);
        }
    }
    count
}

fn pairs(largest: i32) -> impl Iterator<Item = (i32, i32)> {
    (-largest..=largest).flat_map(move |x| (-largest..=largest).map(move |y| (x, y)))
}

#[test]
fn the_threshold_of_the_paper_lets_digits_escape_and_six_does_not() {
    assert_eq!(escapes(10, 6, 7), 294);
    assert_eq!(escapes(10, 6, 6), 0);
    // Every threshold of every set of radix 10: closed exactly where a digit set is accepted.
    for largest in 5..=9 {
        let right: Vec<i32> = (1..=2 * largest)
            .filter(|&t| escapes(10, largest, t) == 0)
            .collect();
        let accepted: Vec<i32> = (1..=2 * largest)
            .filter(|&t| DigitSet::new(10, largest, t).is_ok())
            .collect();
        let expected: Vec<i32> = match largest {
            5 => vec![],
            6 => vec![5, 6],
            7 => (4..=7).collect(),
            8 => (3..=8).collect(),
            _ => (2..=9).collect(),
        };
        assert_eq!(
            (&right, &accepted),
            (&expected, &expected),
            "digits up to {largest}"
        );
    }
    for radix in [3, 4, 5, 7, 16] {
        for largest in 1..radix {
            for threshold in 1..=2 * largest {
                assert_eq!(
                    DigitSet::new(radix, largest, threshold).is_ok(),
                    escapes(radix, largest, threshold) == 0,
                    "radix {radix}, digits up to {largest}, threshold {threshold}"
                );
            }
        }
    }
    let error = DigitSet::new(10, 6, 7)
        .expect_err("the paper's threshold")
        .to_string();
    assert!(
        error.starts_with("threshold: ") && error.contains("expected 5 to 6"),
        "{error}"
    );
    let error = DigitSet::new(10, 5, 5)
        .expect_err("too few digits")
        .to_string();
    assert!(error.contains("a largest digit from 6 to 9"), "{error}");
}

#[test]
fn all_pairs_of_two_digit_numbers_are_added_in_every_set() {
    for (radix, largest, threshold) in [
        (10, 6, 6),
        (10, 6, 5),
        (10, 9, 2),
        (10, 7, 4),
        (3, 2, 2),
        (16, 9, 8),
    ] {
        let set = DigitSet::new(radix, largest, threshold).expect("a closed set");
        for (x1, x0) in pairs(largest) {
            for (y1, y0) in pairs(largest) {
                let x =
                    SignedDigits::new(set, vec![x0 as i8, x1 as i8]).expect("digits of the set");
                let y =
                    SignedDigits::new(set, vec![y0 as i8, y1 as i8]).expect("digits of the set");
                let z = x.plus(&y).expect("one set");
                let sum = radix * (x1 + y1) + x0 + y0;
                assert_eq!(value(z.digits(), i64::from(radix)), i64::from(sum));
                assert!(
                    z.digits()
                        .iter()
                        .all(|digit| i32::from(*digit).abs() <= largest)
                );
                assert_eq!(z.sign(), sum.signum());
                let (sign, ordinary) = z.to_ordinary();
                let magnitude = ordinary
                    .iter()
                    .rev()
                    .fold(0, |value, &digit| radix * value + i32::from(digit));
                assert_eq!(sign * magnitude, sum);
            }
        }
    }
}

#[test]
fn conversions_of_all_small_numbers() {
    for set in [
        DigitSet::PAPER,
        DigitSet::new(7, 4, 4).expect("a closed set"),
    ] {
        let radix = set.radix() as u32;
        for n in 0..20_000u32 {
            let mut ordinary = Vec::new();
            let mut left = n;
            while left > 0 {
                ordinary.push((left % radix) as u8);
                left /= radix;
            }
            let positive =
                SignedDigits::from_ordinary(set, false, &ordinary).expect("digits of the radix");
            assert!(
                positive
                    .digits()
                    .iter()
                    .all(|digit| i32::from(*digit).abs() <= set.largest())
            );
            assert_eq!(value(positive.digits(), radix.into()), i64::from(n));
            assert_eq!(positive.to_ordinary(), (i32::from(n > 0), ordinary.clone()));
            assert_eq!(positive.to_decimal(), Decimal::from(u64::from(n)));
            let negative =
                SignedDigits::from_ordinary(set, true, &ordinary).expect("digits of the radix");
            assert_eq!(negative, positive.negated());
            assert_eq!(negative.to_ordinary().0, -i32::from(n > 0));
        }
    }
    assert!(SignedDigits::from_ordinary(DigitSet::PAPER, false, &[10]).is_err());
    assert!(SignedDigits::new(DigitSet::PAPER, vec![7]).is_err());
    assert!(SignedDigits::from_decimal(&"0.5".parse().expect("a number")).is_err());
}

#[test]
fn the_example_of_the_paper() {
    let numbers = ["556", "179", "979"].map(number);
    for backend in backends() {
        for method in METHODS {
            let sum = paper::sum(&numbers, method, &backend).expect("a sum");
            assert_eq!(
                sum.to_decimal().to_string(),
                "1714",
                "{method:?} on {}",
                backend.describe()
            );
        }
        // The paper's rule leaves a digit 7 in this one.
        for method in METHODS {
            let sum = paper::sum(&["66", "66", "6"].map(number), method, &backend).expect("a sum");
            assert_eq!(sum.to_decimal().to_string(), "138");
        }
        let none = paper::sum(&[], Method::First, &backend).expect("no sum");
        assert_eq!(none.to_decimal(), Decimal::ZERO);
    }
}

#[test]
fn kernels_convert_and_add_like_the_scalar_arithmetic() {
    fn check<M: Machine>(machine: &M) {
        let (count, width) = (7, 45);
        let mut state = 12345u32;
        let mut random = || {
            state = state.wrapping_mul(1_664_525).wrapping_add(1_013_904_223);
            state >> 16
        };
        let ordinary: Vec<u8> = (0..count * width).map(|_| (random() % 10) as u8).collect();
        let negative: Vec<u8> = (0..count).map(|_| (random() % 2) as u8).collect();
        let numbers: Vec<SignedDigits> = ordinary
            .chunks(width)
            .zip(&negative)
            .map(|(digits, &negative)| {
                SignedDigits::from_ordinary(DigitSet::PAPER, negative == 1, digits).expect("digits")
            })
            .collect();
        let row = |number: &SignedDigits, width: usize| {
            let mut row = number.digits().to_vec();
            row.resize(width, 0);
            row
        };

        let wide = width + 1;
        let mut digits = machine.allocate::<i8>(count * wide).expect("memory");
        machine
            .launch(
                Grid::per_item(count * wide, 64),
                kernels::to_signed_digits {
                    ordinary: &machine.upload(&ordinary).expect("memory"),
                    negative: &machine.upload(&negative).expect("memory"),
                    digits: &mut digits,
                    width: width as u32,
                },
            )
            .expect("a launch");
        let mut found = vec![0; count * wide];
        machine.read(&digits, &mut found).expect("a copy");
        let expected: Vec<i8> = numbers
            .iter()
            .flat_map(|number| row(number, wide))
            .collect();
        assert_eq!(found, expected);

        // Each number plus the next one.
        let others: Vec<i8> = (0..count)
            .flat_map(|i| row(&numbers[(i + 1) % count], wide))
            .collect();
        let mut sums = machine.allocate::<i8>(count * wide).expect("memory");
        machine
            .launch(
                Grid::per_item(count * wide, 64),
                kernels::add_digits {
                    x: &digits,
                    y: &machine.upload(&others).expect("memory"),
                    z: &mut sums,
                    width: wide as u32,
                },
            )
            .expect("a launch");
        machine.read(&sums, &mut found).expect("a copy");
        let sums_expected: Vec<SignedDigits> = (0..count)
            .map(|i| numbers[i].plus(&numbers[(i + 1) % count]).expect("one set"))
            .collect();
        let expected: Vec<i8> = sums_expected
            .iter()
            .flat_map(|number| row(number, wide))
            .collect();
        assert_eq!(found, expected);

        let mut out = machine.allocate::<u8>(count * wide).expect("memory");
        let mut sign = machine.allocate::<i32>(count).expect("memory");
        machine
            .launch(
                Grid::per_item(count * 32, 64),
                kernels::from_signed_digits {
                    digits: &sums,
                    ordinary: &mut out,
                    sign: &mut sign,
                    count: count as u32,
                    width: wide as u32,
                },
            )
            .expect("a launch");
        let mut found = vec![0u8; count * wide];
        let mut signs = vec![0; count];
        machine.read(&out, &mut found).expect("a copy");
        machine.read(&sign, &mut signs).expect("a copy");
        for ((found, sign), expected) in found.chunks(wide).zip(signs).zip(&sums_expected) {
            let (expected_sign, mut digits) = expected.to_ordinary();
            digits.resize(wide, 0);
            assert_eq!((sign, found), (expected_sign, digits.as_slice()));
        }
    }
    for order in [
        ThreadOrder::Ascending,
        ThreadOrder::Descending,
        ThreadOrder::Random(3),
    ] {
        check(&Emulator::new(order));
    }
    if let Some(device) = support::device() {
        check(&device);
    }
}

#[test]
fn resident_digits_are_summed_again_and_again() {
    fn check<M: Machine>(machine: &M) {
        let numbers: Vec<SignedDigits> = (0..50)
            .map(|i| number(&format!("{}", (i - 20) * 1_234_567_890_123i64)))
            .collect();
        let mut resident = ResidentDigits::new(machine, &numbers).expect("memory");
        let expected = (0..50)
            .map(|i| (i - 20) * 1_234_567_890_123i64)
            .sum::<i64>();
        for method in METHODS.into_iter().chain(METHODS) {
            assert_eq!(
                resident.sum(machine, method).expect("a sum").to_decimal(),
                Decimal::from(expected)
            );
        }
    }
    check(&Emulator::new(ThreadOrder::Random(5)));
    if let Some(device) = support::device() {
        check(&device);
    }
    let odd = paper::sum(
        &[SignedDigits::zero(
            DigitSet::new(10, 7, 5).expect("a closed set"),
        )],
        Method::First,
        &Resolved::Emulator,
    );
    assert!(odd.is_err_and(|error| error.to_string().contains("digits -6..6 of radix 10")));
}

#[test]
fn digit_counts_of_sums() {
    for (mantissa, exponent, n, digits) in [
        (3, 2, 9, 8),
        (3, 2, 10, 8),
        (7, 38, 1000, 86),
        (16, 308, 1_000_000, 638),
    ] {
        assert_eq!(digit_count(mantissa, exponent, n), digits);
    }
    assert_eq!(digit_count(3, 2, 1), 7);
    // The bound is reached: 9 numbers of 3 digits, exponents -2 and 2.
    let numbers: Vec<Float> = (0..9)
        .map(|i| {
            Float::from_decimal(
                &if i == 0 { "999e-2" } else { "999e2" }
                    .parse()
                    .expect("a number"),
            )
        })
        .collect();
    let sum = Float::sum(&numbers, Method::First, &Resolved::Cpu).expect("a sum");
    assert_eq!(sum.to_decimal().to_string(), "799209.99");
}

#[test]
fn the_dot_product_of_figure_2_is_exact_for_all_parameters() {
    let expected = Decimal::from(VECTORS_DOT);
    for alpha in -60..=60 {
        for beta in -60..=60 {
            let [x, y] = vectors(alpha, beta);
            assert_eq!(
                decimal::dot(&x, &y, &Resolved::Cpu).expect("a dot product"),
                expected
            );
        }
    }
    for backend in backends() {
        for (alpha, beta) in [(1, 1), (1, 21), (-60, 60), (7, -13)] {
            let [x, y] =
                vectors(alpha, beta).map(|x| x.iter().map(Float::from_decimal).collect::<Vec<_>>());
            for rows in [Rows::PerColumn, Rows::PerPlace] {
                let dot = Float::dot(&x, &y, rows, &backend).expect("a dot product");
                assert_eq!(
                    dot.to_decimal(),
                    expected,
                    "{alpha}, {beta}, {rows:?} on {}",
                    backend.describe()
                );
            }
        }
    }
}

#[test]
fn the_errors_of_figure_2_in_floating_point() {
    let single = |beta| {
        let [x, y] = vectors(1, beta);
        dot_error::<f32>(&x, &y)
    };
    let double = |beta| {
        let [x, y] = vectors(1, beta);
        dot_error::<f64>(&x, &y)
    };
    let close = |found: f64, expected: f64| (found - expected).abs() <= 0.05 * expected;
    for (beta, expected) in [
        (6, 0.0),
        (8, 0.16),
        (10, 27.0),
        (14, 100.0),
        (16, 7.6e5),
        (18, 100.0),
        (20, 100.0),
        (21, 100.0),
    ] {
        assert!(
            close(single(beta), expected),
            "f32, beta {beta}: {}",
            single(beta)
        );
    }
    for (beta, expected) in [
        (6, 0.0),
        (14, 0.0),
        (16, 0.023),
        (18, 4.5),
        (20, 30.0),
        (21, 100.0),
    ] {
        assert!(
            close(double(beta), expected),
            "f64, beta {beta}: {}",
            double(beta)
        );
    }
    assert!((1..9).all(|beta| single(beta) <= 1.0) && single(9) > 1.0);
    assert!((1..18).all(|beta| double(beta) <= 1.0) && double(18) > 1.0);
}

/// Whole numbers of up to 60 digits.
fn whole() -> impl Strategy<Value = String> {
    "-?[0-9]{1,60}"
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 24, ..ProptestConfig::default() })]

    #[test]
    fn both_methods_give_the_exact_sum(texts in prop::collection::vec(whole(), 0..40)) {
        let numbers: Vec<SignedDigits> = texts.iter().map(|text| number(text)).collect();
        let decimals: Vec<Decimal> = texts.iter().map(|text| text.parse().expect("a number")).collect();
        let expected = decimal::sum(&decimals, &Resolved::Cpu).expect("a sum");
        for backend in backends() {
            for method in METHODS {
                let sum = paper::sum(&numbers, method, &backend).expect("a sum");
                prop_assert!(sum.digits().iter().all(|digit| digit.abs() <= 6));
                prop_assert_eq!(&sum.to_decimal(), &expected);
            }
        }
        prop_assert_eq!(decimal::sum(&decimals, &Resolved::Reference).expect("a sum"), expected);
    }

    #[test]
    fn products_and_dot_products_are_exact(pairs in prop::collection::vec((whole(), whole()), 0..12)) {
        let (x, y): (Vec<_>, Vec<_>) = pairs.iter().map(|(x, y)| (number(x), number(y))).unzip();
        let decimals: Vec<[Decimal; 2]> =
            pairs.iter().map(|(x, y)| [x, y].map(|text| text.parse().expect("a number"))).collect();
        let mut expected = Decimal::ZERO;
        for ((x, y), [a, b]) in x.iter().zip(&y).zip(&decimals) {
            let product = a * b;
            prop_assert_eq!(&x.times(y).expect("one set").to_decimal(), &product);
            expected = expected.plus(&product).expect("memory");
        }
        for backend in backends() {
            for rows in [Rows::PerColumn, Rows::PerPlace] {
                let dot = paper::dot(&x, &y, rows, &backend).expect("a dot product");
                prop_assert_eq!(&dot.to_decimal(), &expected);
            }
        }
    }

    #[test]
    fn decimal_floats_are_exact(terms in prop::collection::vec((-99_999i64..99_999, -30i64..30), 1..20)) {
        let decimals: Vec<Decimal> = terms.iter().map(|(k, t)| format!("{k}e{t}").parse().expect("a number")).collect();
        let floats: Vec<Float> = decimals.iter().map(Float::from_decimal).collect();
        let expected = decimal::sum(&decimals, &Resolved::Cpu).expect("a sum");
        for backend in backends() {
            for method in METHODS {
                let sum = Float::sum(&floats, method, &backend).expect("a sum");
                prop_assert_eq!(sum.to_decimal(), expected.clone());
            }
        }
        let product = floats[0].times(&floats[terms.len() - 1]).expect("one set");
        prop_assert_eq!(product.to_decimal(), &decimals[0] * &decimals[terms.len() - 1]);
        let difference = floats[0].plus(&floats[0].negated()).expect("memory");
        prop_assert_eq!(difference.to_decimal(), Decimal::ZERO);
    }
}

#[test]
fn backends_of_the_paper_are_named() {
    // `Backend::Auto` resolves to one of those that the methods know.
    let backend = Backend::Auto.resolve().expect("a backend");
    let sum = paper::sum(&[number("-12")], Method::First, &backend).expect("a sum");
    assert_eq!(sum.to_decimal().to_string(), "-12");
}
