//! Packed integers: every kernel against plain arithmetic, at widths and counts around the edges, in several orders of threads.

use proptest::prelude::*;
use rarefy::Backend;
use rarefy::compute::Resolved;
use rarefy::emulator::{Emulator, ThreadOrder};
use rarefy::machine::{Grid, Machine};
use rarefy::signed_digit::decimal::{self, Decimal};
use rarefy::signed_digit::integer::{Integers, Resident, ResidentPair, TextLines};
use rarefy_kernels::signed_digit::packed as kernels;

use crate::support;

/// Runs a check on the emulator, in several orders, and on a GPU if there is one.
macro_rules! on_machines {
    ($check:expr) => {
        for order in [
            ThreadOrder::Ascending,
            ThreadOrder::Descending,
            ThreadOrder::Random(11),
        ] {
            $check(&Emulator::new(order));
        }
        if let Some(device) = support::device() {
            $check(&device);
        }
    };
}

/// The generator of the public data: splitmix64.
struct SplitMix(u64);

impl SplitMix {
    fn next(&mut self) -> u64 {
        self.0 = self.0.wrapping_add(0x9E37_79B9_7F4A_7C15);
        let mut z = self.0;
        z = (z ^ (z >> 30)).wrapping_mul(0xBF58_476D_1CE4_E5B9);
        z = (z ^ (z >> 27)).wrapping_mul(0x94D0_49BB_1331_11EB);
        z ^ (z >> 31)
    }
}

/// Integers of the public data: as many as `len`, of `digits` digits, one limb a draw.
fn generated(seed: u64, len: usize, digits: usize) -> Integers {
    let width = digits.div_ceil(9);
    let mut random = SplitMix(seed);
    let top = 10u64.pow((digits - 9 * (width - 1)) as u32);
    let limbs: Vec<u32> = (0..len * width)
        .map(|i| {
            let modulus = if (i + 1) % width == 0 {
                top
            } else {
                1_000_000_000
            };
            (random.next() % modulus) as u32
        })
        .collect();
    Integers::from_fn(len, width, |i, row| {
        row.copy_from_slice(&limbs[i * width..][..width]);
        false
    })
}

/// Signed integers with `width` limbs, the extremes among them.
fn signed(seed: u64, len: usize, width: usize) -> Integers {
    Integers::from_fn(len, width, |i, row| {
        let mut random = SplitMix(seed.wrapping_mul(0x1234_5678_9ABC_DEF1) + i as u64 * 1000);
        match random.next() % 8 {
            0 => row.fill(999_999_999),
            1 => row.fill(500_000_000),
            2 => row.fill(499_999_999),
            3 => {}
            _ => row.fill_with(|| (random.next() % 1_000_000_000) as u32),
        }
        random.next().is_multiple_of(2)
    })
}

fn numbers(integers: &Integers) -> Vec<Decimal> {
    (0..integers.len())
        .filter_map(|i| integers.get(i))
        .collect()
}

fn expected_sum(integers: &Integers) -> Decimal {
    decimal::sum(&numbers(integers), &Resolved::Cpu).expect("a sum")
}

#[test]
fn integers_are_packed_and_unpacked() {
    for text in [
        "0",
        "-1",
        "499999999",
        "500000000",
        "-500000000",
        "999999999",
        "-999999999999999999",
        "1000000000",
        "123456789012345678901234567890",
    ] {
        let packed = Integers::from_text(text.as_bytes()).expect("a number");
        assert_eq!(packed.get(0).expect("one").to_string(), text);
        assert_eq!(packed.get(1), None);
    }
    let error = Integers::from_text(b"1\n2.5")
        .expect_err("a fraction")
        .to_string();
    assert_eq!(error, "number 2: 2.5; expected a whole number");
    let empty = Integers::from_text(b"\n").expect("no number");
    assert!(empty.is_empty());
    for backend in [Backend::Cpu, Backend::Reference, Backend::Emulator] {
        let backend = backend.resolve().expect("no device is needed");
        assert_eq!(empty.sum(&backend).expect("a sum"), Decimal::ZERO);
        assert_eq!(
            empty.dot(&empty, &backend).expect("a dot product"),
            Decimal::ZERO
        );
        assert_eq!(
            empty.segmented_sums(&[0, 0], &backend).expect("sums"),
            [Decimal::ZERO]
        );
        assert_eq!(empty.segmented_sums(&[], &backend).expect("sums"), []);
    }
}

#[test]
fn column_sums_at_all_widths() {
    fn check<M: Machine>(machine: &M) {
        for (len, width) in [
            (1, 1),
            (5, 1),
            (3000, 1),
            (700, 2),
            (1000, 3),
            (77, 4),
            (401, 6),
            (513, 23),
            (100, 25),
            (64, 100),
            (5, 257),
            (3, 1030),
            (2, 2051),
        ] {
            let integers = signed(len as u64, len, width);
            let mut resident = Resident::new(machine, &integers).expect("memory");
            let expected = expected_sum(&integers);
            assert_eq!(integers.sum(&Resolved::Cpu).expect("a sum"), expected);
            // The columns are cleared each time.
            for _ in 0..2 {
                assert_eq!(
                    resident.sum(machine).expect("a sum"),
                    expected,
                    "{len} of {width} limbs"
                );
            }
        }
    }
    on_machines!(check);
}

#[test]
fn dot_products_at_all_widths() {
    fn check<M: Machine>(machine: &M) {
        for (len, wx, wy) in [
            (1, 1, 1),
            (300, 1, 2),
            (65, 3, 3),
            (40, 4, 4),
            (33, 5, 6),
            (1, 6, 6),
            (300, 6, 6),
            (601, 6, 5),
            (20, 7, 9),
            (9, 30, 31),
            (7, 62, 62),
            (3, 128, 100),
            (2, 140, 140),
        ] {
            let (x, y) = (
                signed(len as u64, len, wx),
                signed(99 + len as u64, len, wy),
            );
            let expected =
                decimal::dot(&numbers(&x), &numbers(&y), &Resolved::Cpu).expect("a dot product");
            assert_eq!(x.dot(&y, &Resolved::Cpu).expect("a dot product"), expected);
            let mut resident = ResidentPair::new(machine, &x, &y).expect("memory");
            for _ in 0..2 {
                assert_eq!(
                    resident.dot(machine).expect("a dot product"),
                    expected,
                    "{len} of {wx} and {wy} limbs"
                );
            }
        }
        let (one, two) = (signed(1, 1, 2), signed(1, 2, 2));
        assert!(ResidentPair::new(machine, &one, &two).is_err_and(|error| error.is_input()));
    }
    on_machines!(check);
}

#[test]
fn columns_of_extreme_products_do_not_overflow() {
    fn check<M: Machine>(machine: &M) {
        for (len, width) in [(400, 6), (40, 8), (40, 36), (10, 64)] {
            // All limbs at their largest: half the radix, with a whole one on top, all products of one sign.
            let largest = Integers::from_fn(len, width, |_, row| {
                row.fill(500_000_000);
                row[..width - 1].fill(499_999_999);
                row[0] = 500_000_000;
                row[width - 1] = 999_999_999;
                false
            });
            let expected = decimal::dot(&numbers(&largest), &numbers(&largest), &Resolved::Cpu)
                .expect("a dot product");
            assert_eq!(
                largest
                    .dot(&largest, &Resolved::Cpu)
                    .expect("a dot product"),
                expected
            );
            let mut resident = ResidentPair::new(machine, &largest, &largest).expect("memory");
            assert_eq!(
                resident.dot(machine).expect("a dot product"),
                expected,
                "{len} of {width} limbs"
            );
        }
    }
    on_machines!(check);
}

#[test]
fn groups_are_summed_apart() {
    for backend in [
        Backend::Cpu,
        Backend::Reference,
        Backend::Emulator,
        Backend::Cuda,
    ] {
        let backend = match (backend, support::device()) {
            (Backend::Cuda, None) => continue,
            (Backend::Cuda, Some(device)) => Resolved::Cuda(device),
            (backend, _) => backend.resolve().expect("no device is needed"),
        };
        for (len, width) in [
            (200, 1),
            (150, 5),
            (90, 16),
            (60, 17),
            (40, 31),
            (30, 32),
            (20, 33),
            (9, 100),
        ] {
            let integers = signed(7 * len as u64, len, width);
            let first = [0, 0, 1, 2, len / 2, len / 2, len - 1, len];
            let expected: Vec<Decimal> = first
                .windows(2)
                .map(|group| {
                    decimal::sum(&numbers(&integers)[group[0]..group[1]], &Resolved::Cpu)
                        .expect("a sum")
                })
                .collect();
            let found = integers.segmented_sums(&first, &backend).expect("sums");
            assert_eq!(
                found,
                expected,
                "{len} of {width} limbs on {}",
                backend.describe()
            );
        }
        let integers = signed(1, 4, 2);
        for wrong in [&[0, 5][..], &[2, 1]] {
            let error = integers
                .segmented_sums(wrong, &backend)
                .expect_err("no groups")
                .to_string();
            assert!(
                error.ends_with("; expected numbers that do not fall, and end at 4 at most"),
                "{error}"
            );
        }
    }
}

#[test]
fn carries_are_released_through_chains() {
    fn check<M: Machine>(machine: &M) {
        let width = 70;
        let mut rows = vec![vec![0i64; width]; 9];
        rows[1].fill(i64::MAX);
        rows[2].fill(i64::MIN);
        rows[3].fill(999_999_999);
        rows[3][0] = 1_000_000_000;
        rows[4].fill(-999_999_999);
        rows[4][0] = -1_000_000_000;
        // A borrow through all limbs.
        rows[5][0] = -1;
        rows[5][width - 1] = 1;
        rows[6][0] = 1;
        rows[6][width - 1] = -1;
        rows[7]
            .iter_mut()
            .enumerate()
            .for_each(|(i, c)| *c = if i % 2 == 0 { i64::MAX } else { i64::MIN });
        let mut random = SplitMix(5);
        rows[8].fill_with(|| random.next().cast_signed());
        let columns: Vec<i64> = rows.concat();
        let len = width + kernels::EXTRA_LIMBS as usize;
        let mut limbs = machine.allocate::<i32>(rows.len() * len).expect("memory");
        let mut sign = machine.allocate::<i32>(rows.len()).expect("memory");
        machine
            .launch(
                Grid::per_item(rows.len() * 32, 64),
                kernels::release_carries {
                    columns: &machine.upload(&columns).expect("memory"),
                    limbs: &mut limbs,
                    sign: &mut sign,
                    sums: rows.len() as u32,
                    width: width as u32,
                },
            )
            .expect("a launch");
        let mut found = vec![0; rows.len() * len];
        let mut signs = vec![0; rows.len()];
        machine.read(&limbs, &mut found).expect("a copy");
        machine.read(&sign, &mut signs).expect("a copy");
        for ((row, found), sign) in rows.iter().zip(found.chunks(len)).zip(signs) {
            let mut expected = Decimal::ZERO;
            for (i, &column) in row.iter().enumerate() {
                let power: Decimal = format!("1e{}", 9 * i).parse().expect("a power");
                expected = expected
                    .plus(&(&Decimal::from(column) * &power))
                    .expect("memory");
            }
            let mut value = String::from(if sign < 0 { "-0" } else { "0" });
            for limb in found.iter().rev() {
                assert!((0..1_000_000_000).contains(limb));
                value.push_str(&format!("{limb:09}"));
            }
            assert_eq!(value.parse::<Decimal>().expect("a number"), expected);
            assert_eq!(sign == 0, expected.is_zero());
        }
    }
    on_machines!(check);
}

#[test]
fn digits_are_packed_from_text() {
    fn check<M: Machine>(machine: &M) {
        let text = b"12345678901234567890\n-7\n\n+500000000\r\n  -499999999500000000 \n0\n-00000000000000000000000000001\n999999999999999999999999999";
        let lines = TextLines::of(text).expect("a short text");
        assert_eq!((lines.len(), lines.width()), (7, 4));
        let expected = decimal::sum_text(text, &Resolved::Cpu).expect("a sum");
        let mut resident = Resident::from_text(machine, text, &lines)
            .expect("memory")
            .expect("integers");
        assert_eq!(resident.sum(machine).expect("a sum"), expected.value);
        for wrong in [
            "12\n1x\n",
            "1234567890123456789012345678.5\n1\n",
            "-\n5",
            "1e3\n2",
            "12 34",
        ] {
            let lines = TextLines::of(wrong.as_bytes()).expect("a short text");
            assert!(
                Resident::from_text(machine, wrong.as_bytes(), &lines)
                    .expect("memory")
                    .is_none(),
                "{wrong}"
            );
        }
        let none = TextLines::of(b" \n\n").expect("a short text");
        assert!(none.is_empty());
        let mut resident = Resident::from_text(machine, b"", &none)
            .expect("memory")
            .expect("no integers");
        assert_eq!(resident.sum(machine).expect("a sum"), Decimal::ZERO);
    }
    on_machines!(check);
}

#[test]
fn public_generated_integers() {
    let text = include_str!("../data/signed_digit/sd_public_generated.json");
    let cases: Vec<serde_json::Value> = serde_json::from_str(text).expect("a list of cases");
    let mut backends = vec![Resolved::Cpu];
    backends.extend(support::device().map(Resolved::Cuda));
    for case in cases {
        let number = |key: &str| case[key].as_u64().unwrap_or_default();
        let (len, digits) = (number("k") as usize, number("digits") as usize);
        for backend in &backends {
            let (found, expected) = match case["kind"].as_str() {
                Some("isum") => (
                    generated(number("seed"), len, digits).sum(backend),
                    &case["sum"],
                ),
                Some("idot") => {
                    let [x, y] =
                        ["seed_x", "seed_y"].map(|key| generated(number(key), len, digits));
                    (x.dot(&y, backend), &case["dot"])
                }
                _ => continue,
            };
            let found = found.expect("a value").to_string();
            assert_eq!(
                found,
                expected.as_str().unwrap_or_default(),
                "{case} on {}",
                backend.describe()
            );
        }
    }
}

#[test]
fn texts_are_summed_on_machines() {
    let mut random = SplitMix(3);
    let mut text = String::new();
    for i in 0..300 {
        let digits = 1 + random.next() % 60;
        let sign = if random.next().is_multiple_of(2) {
            "-"
        } else {
            ""
        };
        text.push_str(sign);
        (0..digits).for_each(|_| text.push(char::from(b'0' + (random.next() % 10) as u8)));
        text.push_str(if i % 50 == 0 { "\n\n" } else { "\n" });
    }
    let fractions = text.replace("\n\n", ".5\n");
    let wide = format!("{text}1e300\n-2e-300\n");
    let mut backends: Vec<Resolved> = vec![Resolved::Emulator, Resolved::Reference];
    backends.extend(support::device().map(Resolved::Cuda));
    for text in [&text, &fractions, &wide] {
        let expected = decimal::sum_text(text.as_bytes(), &Resolved::Cpu).expect("a sum");
        let squares = decimal::dot_text(text.as_bytes(), text.as_bytes(), &Resolved::Cpu)
            .expect("a dot product");
        for backend in &backends {
            assert_eq!(
                decimal::sum_text(text.as_bytes(), backend).expect("a sum"),
                expected
            );
            assert_eq!(
                decimal::dot_text(text.as_bytes(), text.as_bytes(), backend)
                    .expect("a dot product"),
                squares
            );
        }
    }
    for backend in &backends {
        let error = decimal::sum_text(b"1\n2\n\n3,5\n", backend)
            .expect_err("no number")
            .to_string();
        assert!(
            error.starts_with("line 4: `3,5`; expected a decimal number"),
            "{error}"
        );
        let error = decimal::sum_text(b"1e1000000000000\n1", backend).expect_err("too many digits");
        let error = error.to_string();
        assert!(
            error.starts_with("exact result: 10000000000") && error.contains("lie too far apart"),
            "{error}"
        );
    }
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 32, ..ProptestConfig::default() })]

    #[test]
    fn sums_do_not_depend_on_the_order(texts in prop::collection::vec("-?[0-9]{1,30}(\\.[0-9]{1,12})?(e-?[0-9]{1,2})?", 1..40), seed: u64) {
        let numbers: Vec<Decimal> = texts.iter().map(|text| text.parse().expect("a number")).collect();
        let mut shuffled = numbers.clone();
        let mut random = SplitMix(seed);
        for i in (1..shuffled.len()).rev() {
            shuffled.swap(i, (random.next() % (i as u64 + 1)) as usize);
        }
        let expected = decimal::sum(&numbers, &Resolved::Reference).expect("a sum");
        for backend in [Resolved::Cpu, Resolved::Emulator] {
            prop_assert_eq!(&decimal::sum(&shuffled, &backend).expect("a sum"), &expected);
        }
        // Taken away again, one after the other, nothing is left.
        let mut rest = expected;
        for number in shuffled {
            rest = rest.plus(&-number).expect("memory");
        }
        prop_assert_eq!(rest, Decimal::ZERO);
    }

    #[test]
    fn big_integers_agree_with_another_library(pairs in prop::collection::vec(("-?[0-9]{1,200}", "-?[0-9]{1,200}"), 1..10)) {
        let big = |text: &str| text.parse::<num_bigint::BigInt>().expect("an integer");
        let lines = |which: fn(&(String, String)) -> &str| {
            let lines: Vec<&str> = pairs.iter().map(which).collect();
            Integers::from_text(lines.join("\n").as_bytes()).expect("integers")
        };
        let (x, y) = (lines(|pair| &pair.0), lines(|pair| &pair.1));
        let sum: num_bigint::BigInt = pairs.iter().map(|pair| big(&pair.0)).sum();
        let dot: num_bigint::BigInt = pairs.iter().map(|pair| big(&pair.0) * big(&pair.1)).sum();
        for backend in [Resolved::Cpu, Resolved::Emulator, Resolved::Reference] {
            prop_assert_eq!(x.sum(&backend).expect("a sum").to_string(), sum.to_string());
            prop_assert_eq!(x.dot(&y, &backend).expect("a dot product").to_string(), dot.to_string());
        }
    }

    #[test]
    fn rounding_agrees_with_big_integers(mantissa: u64, exponent in -1140i16..1000, nudge in -1i64..=1) {
        // A number with its last bits around a tie, and a nudge far below.
        let exact = Decimal::from_binary(false, &[mantissa as u32, (mantissa >> 32) as u32], exponent);
        let tiny = Decimal::from_binary(nudge < 0, &[nudge.unsigned_abs() as u32], exponent - 1000);
        let exponent = i64::from(exponent);
        let number = exact.plus(&tiny).expect("memory");
        let mut integer = num_bigint::BigInt::from(mantissa) << 1000;
        integer += nudge;
        prop_assert_eq!(number.round_f64().to_bits(), rounded(&integer, exponent - 1000, 53, -1074).to_bits());
        let single = rounded(&integer, exponent - 1000, 24, -149);
        let single = if single > f64::from(f32::MAX) { f64::INFINITY } else { single };
        prop_assert_eq!(f64::from(number.round_f32()), single);
    }
}

/// The integer times 2^exponent, rounded to nearest even with `bits` bits and no bit below 2^least.
fn rounded(integer: &num_bigint::BigInt, exponent: i64, bits: i64, least: i64) -> f64 {
    use num_bigint::BigInt;
    if *integer <= BigInt::ZERO {
        return 0.0;
    }
    let lsb = (exponent + integer.bits() as i64 - bits).max(least);
    let cut = (lsb - exponent).max(0) as u64;
    let kept: BigInt = integer >> cut;
    let rest: BigInt = integer - (&kept << cut);
    let half = if cut > 0 {
        BigInt::from(1) << (cut - 1)
    } else {
        BigInt::from(1)
    };
    let up = cut > 0 && (rest > half || rest == half && kept.bit(0));
    let kept: BigInt = kept + u8::from(up);
    let mantissa: u64 = kept.try_into().expect("64 bits");
    // In two steps, as a power below 2^-1022 is inexact only in the product.
    let lsb = if cut > 0 { lsb } else { exponent };
    mantissa as f64 * 2f64.powi((lsb / 2) as i32) * 2f64.powi((lsb - lsb / 2) as i32)
}
