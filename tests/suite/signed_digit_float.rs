//! Exact sums and dot products of floating-point numbers: published cases, an oracle of big rationals, and every order, grid and backend.

use num_bigint::{BigInt, Sign};
use proptest::prelude::*;
use rarefy::Backend;
use rarefy::emulator::{Emulator, ThreadOrder};
use rarefy::machine::{Grid, Machine};
use rarefy::signed_digit::float::{
    ExactAccumulator, ExactEngine, ExactSum, Float, MachineAccumulator, exact_dot, exact_mean,
    exact_norm, exact_sum, reference,
};
use rarefy_kernels::DeviceMemory;
use rarefy_kernels::signed_digit::float as kernels;
use serde_json::Value;

use crate::support;

/// Where sums can be made here.
pub(crate) fn engines() -> Vec<ExactEngine> {
    let mut backends = vec![Backend::Cpu, Backend::Reference, Backend::Emulator];
    if support::device().is_some() {
        backends.push(Backend::Cuda);
    }
    backends
        .into_iter()
        .map(|backend| ExactEngine::new(backend).expect("a backend that is there"))
        .collect()
}

fn cases(text: &str) -> Vec<Value> {
    serde_json::from_str(text).expect("a list of cases")
}

fn doubles(case: &Value, key: &str) -> Vec<f64> {
    let bits = |word: &Value| u64::from_str_radix(word.as_str().unwrap(), 16).unwrap();
    let words = case[key].as_array().unwrap();
    words
        .iter()
        .map(|word| f64::from_bits(bits(word)))
        .collect()
}

/// Compares with the bits of a case; any NaN is as good as another.
#[track_caller]
fn check_bits<T: Float>(found: T, case: &Value, key: &str, what: &str) {
    let expected = case[key].as_str().unwrap();
    if expected == "nan" {
        assert!(found.to_f64().is_nan(), "{what}: {found}");
    } else {
        let bits = u64::from_str_radix(expected, 16).unwrap();
        assert_eq!(found.to_bits_u64(), bits, "{what}: {found}");
    }
}

/// `num / 2^k` as a decimal number in full.
fn decimal(num: &BigInt, k: u32) -> String {
    let digits = (num.magnitude() * BigInt::from(5).pow(k).magnitude()).to_string();
    let digits = format!("{digits:0>width$}", width = k as usize + 1);
    let (whole, fraction) = digits.split_at(digits.len() - k as usize);
    let fraction = fraction.trim_end_matches('0');
    let sign = if num.sign() == Sign::Minus { "-" } else { "" };
    let point = if fraction.is_empty() { "" } else { "." };
    format!("{sign}{whole}{point}{fraction}")
}

#[track_caller]
fn check_exact(sum: &ExactAccumulator, case: &Value, what: &str) {
    if let Some(num) = case["exact_num"].as_str() {
        let k = case["exact_den_log2"].as_u64().unwrap();
        let expected = decimal(&num.parse().unwrap(), u32::try_from(k).unwrap());
        assert_eq!(sum.value().to_string(), expected, "{what}");
    }
}

#[test]
fn published_sums_come_out_to_the_bit() {
    let cases = cases(include_str!("../data/signed_digit/sd_public_f64_sum.json"));
    assert_eq!(cases.len(), 30);
    for engine in engines() {
        for case in &cases {
            let what = format!("{}, {}", engine.device(), case["id"]);
            let sum = engine.sum(&doubles(case, "x")).unwrap();
            check_bits::<f64>(sum.round(), case, "f64", &what);
            check_bits::<f32>(sum.round(), case, "f32", &what);
            check_exact(&sum, case, &what);
            assert_eq!(sum.count(), case["n"].as_u64().unwrap());
        }
    }
}

#[test]
fn published_dot_products_come_out_to_the_bit() {
    let cases = cases(include_str!("../data/signed_digit/sd_public_f64_dot.json"));
    assert_eq!(cases.len(), 11);
    for engine in engines() {
        for case in &cases {
            let what = format!("{}, {}", engine.device(), case["id"]);
            let sum = engine
                .dot(&doubles(case, "x"), &doubles(case, "y"))
                .unwrap();
            check_bits::<f64>(sum.round(), case, "f64", &what);
            check_exact(&sum, case, &what);
        }
    }
}

/// The generator of the published large cases.
struct SplitMix(u64);

impl SplitMix {
    fn draw(&mut self) -> u64 {
        self.0 = self.0.wrapping_add(0x9E37_79B9_7F4A_7C15);
        let mut z = self.0;
        z = (z ^ z >> 30).wrapping_mul(0xBF58_476D_1CE4_E5B9);
        z = (z ^ z >> 27).wrapping_mul(0x94D0_49BB_1331_11EB);
        z ^ z >> 31
    }

    /// Uniform in [-1/2, 1/2) times a power of two with an exponent in [-spread, spread].
    fn vector(seed: u64, n: usize, spread: u64) -> Vec<f64> {
        let mut state = Self(seed);
        (0..n)
            .map(|_| {
                let u = (state.draw() >> 11) as f64 * 2f64.powi(-53) - 0.5;
                let e = (state.draw() % (2 * spread + 1)) as i32 - spread as i32;
                u * 2f64.powi(e)
            })
            .collect()
    }
}

#[test]
fn published_large_cases_come_out_to_the_bit() {
    let device = support::device().map(|_| ExactEngine::new(Backend::Cuda).unwrap());
    let cpu = ExactEngine::new(Backend::Cpu).unwrap();
    let mut checked = 0;
    for case in cases(include_str!(
        "../data/signed_digit/sd_public_generated.json"
    )) {
        let number = |key: &str| case[key].as_u64();
        let (Some(n), Some(spread)) = (number("n"), number("E")) else {
            continue;
        };
        let vector = |key| SplitMix::vector(number(key).unwrap(), n as usize, spread);
        for engine in [Some(&cpu), device.as_ref()].into_iter().flatten() {
            let what = format!("{}, {case}", engine.device());
            if case["kind"] == "sum" {
                let sum = engine.sum(&vector("seed")).unwrap();
                check_bits::<f64>(sum.round(), &case, "f64", &what);
                check_bits::<f32>(sum.round(), &case, "f32", &what);
            } else {
                let sum = engine.dot(&vector("seed_x"), &vector("seed_y")).unwrap();
                check_bits::<f64>(sum.round(), &case, "f64", &what);
            }
            checked += 1;
        }
    }
    assert!(checked >= 12, "{checked} cases");
}

/// Numbers of all kinds: bits at random, so that all exponents are equally likely, and the special ones.
pub(crate) fn any_double() -> impl Strategy<Value = f64> {
    prop_oneof![
        8 => any::<u64>().prop_map(f64::from_bits).prop_filter("finite", |x| x.is_finite()),
        4 => (-1000..1000_i32, -40..40_i32).prop_map(|(m, e)| f64::from(m) * 2f64.powi(e)),
        2 => (0_u64..1 << 54).prop_map(f64::from_bits),
        1 => Just(-0.0),
        1 => Just(f64::MAX),
        1 => Just(-f64::MAX),
    ]
}

fn any_single() -> impl Strategy<Value = f32> {
    prop_oneof![
        8 => any::<u32>().prop_map(f32::from_bits).prop_filter("finite", |x| x.is_finite()),
        2 => (-1000..1000_i16).prop_map(f32::from),
        2 => (0_u32..1 << 25).prop_map(f32::from_bits),
        1 => Just(-0.0),
        1 => Just(f32::MAX),
    ]
}

/// A finite number as `num / 2^1074`.
fn rational(x: f64) -> BigInt {
    let bits = x.to_bits();
    let (fraction, biased) = (bits & ((1 << 52) - 1), bits >> 52 & 0x7ff);
    let integer = if biased == 0 {
        fraction
    } else {
        fraction | 1 << 52
    };
    let value = BigInt::from(integer) << (biased.max(1) - 1);
    if x.is_sign_negative() { -value } else { value }
}

/// `num / 2^k` rounded by comparing with the neighbours of a first guess: slow, and unlike the code that it checks.
fn nearest<T: Float>(num: &BigInt, k: u64) -> T {
    // All numbers of the type in order, by their bits.
    let at = |bits: u64| rational(T::from_bits_u64(bits).to_f64()) << (k - 1074);
    let magnitude = BigInt::from(num.magnitude().clone());
    let (mut low, mut high) = (0_u64, T::INFINITY_BITS);
    while high - low > 1 {
        let middle = low + (high - low) / 2;
        if at(middle) <= magnitude {
            low = middle
        } else {
            high = middle
        }
    }
    // Infinity replaces the next number.
    let above = if high == T::INFINITY_BITS {
        let ulp = at(low) - at(low - 1);
        at(low) + ulp
    } else {
        at(high)
    };
    let (down, up) = (&magnitude - at(low), above - &magnitude);
    let up_wins = up < down || up == down && low % 2 == 1;
    let bits = if up_wins { high } else { low };
    T::from_bits_u64(if num.sign() == Sign::Minus {
        bits | T::SIGN_BIT
    } else {
        bits
    })
}

fn same<T: Float>(a: T, b: T) -> bool {
    a.to_bits_u64() == b.to_bits_u64()
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(200))]

    #[test]
    fn sums_agree_with_rationals(x in prop::collection::vec(any_double(), 1..40)) {
        let exact: BigInt = x.iter().map(|x| rational(*x)).sum();
        let sum = ExactAccumulator::sum(&x);
        prop_assert_eq!(sum.value().to_string(), decimal(&exact, 1074));
        if exact.sign() != Sign::NoSign {
            prop_assert!(same(sum.round::<f64>(), nearest(&exact, 1074)));
            prop_assert!(same(sum.round::<f32>(), nearest(&exact, 1074)));
            let scaled: BigInt = exact << 1200;
            // The quotient, cut far below any unit in the last place, and whether anything was cut.
            let n = x.len();
            let cut = i32::from(&scaled % n != BigInt::ZERO);
            let sticky = if scaled.sign() == Sign::Minus { -cut } else { cut };
            let quotient: BigInt = (&scaled / n) * 2 + sticky;
            prop_assert!(same(exact_mean::<f64>(&x), nearest(&quotient, 1074 + 1201)));
        }
    }

    #[test]
    fn dot_products_agree_with_rationals(pairs in prop::collection::vec((any_double(), any_double()), 1..40)) {
        let (x, y): (Vec<f64>, Vec<f64>) = pairs.into_iter().unzip();
        let exact: BigInt = x.iter().zip(&y).map(|(x, y)| rational(*x) * rational(*y)).sum();
        let dot = ExactAccumulator::dot(&x, &y).unwrap();
        prop_assert_eq!(dot.value().to_string(), decimal(&exact, 2148));
        if exact.sign() != Sign::NoSign {
            prop_assert!(same(dot.round::<f64>(), nearest(&exact, 2148)));
            prop_assert!(same(dot.round::<f32>(), nearest(&exact, 2148)));
        }
    }

    #[test]
    fn norms_agree_with_rationals(x in prop::collection::vec(any_double(), 1..20), y in prop::collection::vec(any_single(), 1..20)) {
        // The norm is the number whose square, with half a unit to either side, encloses the sum of squares.
        let exact: BigInt = x.iter().map(|x| rational(*x).pow(2)).sum();
        let root: BigInt = (&exact << 400_u32).sqrt();
        let sticky = BigInt::from(i32::from(root.pow(2) != &exact << 400_u32));
        if exact.sign() != Sign::NoSign {
            prop_assert!(same(exact_norm(&x), nearest::<f64>(&((root << 1) + sticky), 1074 + 201)));
        }
        let exact: BigInt = y.iter().map(|y| rational(f64::from(*y)).pow(2)).sum();
        let root: BigInt = (&exact << 400_u32).sqrt();
        let sticky = BigInt::from(i32::from(root.pow(2) != &exact << 400_u32));
        if exact.sign() != Sign::NoSign {
            prop_assert!(same(exact_norm(&y), nearest::<f32>(&((root << 1) + sticky), 1074 + 201)));
        }
    }

    #[test]
    fn order_and_grouping_do_not_matter(
        x in prop::collection::vec(any_double(), 0..600),
        shuffled in any::<prop::sample::Index>(),
        cut in any::<prop::sample::Index>(),
    ) {
        let sum = ExactAccumulator::sum(&x);
        let mut other = x.clone();
        if !other.is_empty() {
            other.rotate_left(shuffled.index(x.len()));
            other.reverse();
        }
        let (a, b) = other.split_at(cut.index(x.len() + 1));
        let mut merged: ExactSum = a.iter().collect();
        merged.merge(&ExactAccumulator::from_bytes(&b.iter().collect::<ExactSum>().to_bytes()).unwrap());
        prop_assert!(sum == merged);
        prop_assert!(sum == reference::sum(&other));
        let mut one_by_one = ExactAccumulator::new();
        other.iter().for_each(|x| one_by_one += *x);
        prop_assert!(sum == one_by_one);
        let json = serde_json::to_string(&sum).unwrap();
        prop_assert!(sum == serde_json::from_str::<ExactAccumulator>(&json).unwrap());
        // An addend that is subtracted again leaves no trace.
        x.iter().for_each(|x| one_by_one -= *x);
        prop_assert!(one_by_one.value().is_zero());
    }

    #[test]
    fn slices_of_every_kind_agree_with_the_reference(
        x in prop::collection::vec(any_double(), 0..800),
        y in prop::collection::vec(any_double(), 800),
        a in prop::collection::vec(any_single(), 0..1600),
        b in prop::collection::vec(any_single(), 1600),
        special in prop::option::of((any::<prop::sample::Index>(), prop::sample::select(vec![f64::NAN, f64::INFINITY, f64::NEG_INFINITY]))),
    ) {
        let (mut x, mut a) = (x, a);
        if let Some((at, value)) = special {
            if !x.is_empty() { let n = x.len(); x[at.index(n)] = value; }
            if !a.is_empty() { let n = a.len(); a[at.index(n)] = value as f32; }
        }
        let (y, b) = (&y[..x.len()], &b[..a.len()]);
        let engine = ExactEngine::new(Backend::Cpu).unwrap();
        prop_assert!(engine.sum(&x).unwrap() == reference::sum(&x));
        prop_assert!(engine.sum(&a).unwrap() == reference::sum(&a));
        prop_assert!(engine.magnitude_sum(&x).unwrap() == reference::magnitude_sum(&x));
        prop_assert!(engine.magnitude_sum(&a).unwrap() == reference::magnitude_sum(&a));
        prop_assert!(engine.dot(&x, y).unwrap() == reference::dot(&x, y).unwrap());
        prop_assert!(engine.dot(&a, b).unwrap() == reference::dot(&a, b).unwrap());
    }
}

/// Numbers over the whole range, with subnormal ones, zeros and, if asked for, special ones among them.
pub(crate) fn mixed(n: usize, specials: &[f64]) -> Vec<f64> {
    let mut state = SplitMix(42);
    let mut x: Vec<f64> = (0..n)
        .map(|k| {
            let bits = state.draw();
            match k % 11 {
                3 => f64::from_bits(bits >> 14),
                5 => 0.0 * (k as f64 - 100.0),
                _ if bits >> 52 & 0x7ff == 0x7ff => 1.0,
                _ => f64::from_bits(bits),
            }
        })
        .collect();
    for (k, special) in specials.iter().enumerate() {
        x[(n - 1) * (k + 1) / specials.len()] = *special;
    }
    x
}

/// Sums, sums of magnitudes and dot products with one grid on a machine, against the CPU.
fn check_machine<M: Machine, T: Float>(machine: &M, blocks: Option<u32>, x: &[T], y: &[T]) {
    let accumulate = |work: &mut dyn FnMut(&mut MachineAccumulator<'_, M>)| {
        let mut sum = MachineAccumulator::new(machine).unwrap();
        if let Some(blocks) = blocks {
            sum = sum.with_blocks(blocks);
        }
        work(&mut sum);
        sum.finish().unwrap()
    };
    let (x_buffer, y_buffer) = (machine.upload(x).unwrap(), machine.upload(y).unwrap());
    let what = format!("{} {}, {blocks:?} blocks", x.len(), T::NAME);
    let mut expected = ExactAccumulator::new();
    expected.add_slice(x);
    let found = accumulate(&mut |sum| sum.add(&x_buffer).unwrap());
    assert!(
        found == expected,
        "{what}: {found:?}, expected {expected:?}"
    );
    let mut magnitudes = ExactAccumulator::new();
    magnitudes.add_magnitudes(x);
    let found = accumulate(&mut |sum| sum.add_magnitudes(&x_buffer).unwrap());
    assert!(
        found == magnitudes,
        "{what}: {found:?}, expected {magnitudes:?}"
    );
    expected.add_products(x, y).unwrap();
    expected.add_slice(y);
    expected.add_squares(y);
    let found = accumulate(&mut |sum| {
        sum.add(&y_buffer).unwrap();
        sum.add_products(&x_buffer, &y_buffer).unwrap();
        sum.add(&x_buffer).unwrap();
        sum.add_products(&y_buffer, &y_buffer).unwrap();
    });
    assert!(
        found == expected,
        "{what}: {found:?}, expected {expected:?}"
    );
}

pub(crate) fn singles(x: &[f64]) -> Vec<f32> {
    // The upper half of the bits: all exponents, as in the original.
    let single = |x: &f64| f32::from_bits((x.to_bits() >> 32) as u32);
    let replace = |x: f32| if x.is_finite() { x } else { 1.5 };
    x.iter()
        .map(|x| {
            if x.is_finite() {
                replace(single(x))
            } else {
                *x as f32
            }
        })
        .collect()
}

fn check_grids<M: Machine>(machine: &M, sizes: &[usize], blocks: &[Option<u32>]) {
    for &n in sizes {
        let (x, y) = (mixed(n, &[]), mixed(2 * n, &[]).split_off(n));
        for &blocks in blocks {
            check_machine(machine, blocks, &x, &y);
            check_machine(machine, blocks, &singles(&x), &singles(&y));
        }
    }
}

#[test]
fn kernels_give_the_same_bits_for_each_grid_and_size() {
    // A tile is 1024 numbers of f64, 512 pairs; 2048 and 1024 of f32.
    let emulator = Emulator::new(ThreadOrder::Random(3));
    check_grids(&emulator, &[1, 31, 511, 1024], &[None]);
    check_grids(&emulator, &[5000], &[None, Some(1), Some(2), Some(7)]);
    if let Some(device) = support::device() {
        let sizes = [1, 1023, 1025, 10_000, 123_456, 1_000_003];
        check_grids(
            &device,
            &sizes,
            &[None, Some(1), Some(3), Some(132), Some(5000)],
        );
        check_grids(&device, &[20_000_001], &[None]);
    }
}

/// Digits of a result with carries, and its flags.
fn carried(words: &[u64], layout: kernels::Layout) -> (Vec<i128>, Vec<bool>) {
    let (digits, flags) = words.split_at(layout.digits as usize);
    let mut carry = 0;
    let mut carried: Vec<i128> = digits
        .iter()
        .map(|&digit| {
            let sum = i128::from(digit as i64) + carry;
            carry = sum >> layout.digit_bits;
            sum - (carry << layout.digit_bits)
        })
        .collect();
    carried.push(carry);
    (carried, flags.iter().map(|&flag| flag != 0).collect())
}

/// Sums and dot products by windows and by digits alone, of numbers that fit, leave rests, outgrow the window, or have products beyond the range.
#[test]
fn windows_and_digits_alone_agree() {
    let machine = Emulator::default();
    let scales: [fn(usize) -> i32; 6] = [
        |_| 0,
        |k| if k % 97 == 5 { -80 } else { 0 },
        |k| if k % 1031 == 7 { 60 } else { 0 },
        |k| (k / 50) as i32 % 500 - 250,
        |k| (k * 37 % 61) as i32 - 30,
        |k| (k * 37 % 1400) as i32 - 700,
    ];
    for scale in scales {
        let of = |seed: usize| -> Vec<f64> {
            let bits = mixed(7001 + seed, &[]).split_off(seed);
            let number = |(k, x): (usize, &f64)| {
                let fraction = f64::from_bits(x.to_bits() >> 12 | 1023 << 52) - 1.5;
                fraction * 2f64.powi(scale(k))
            };
            bits.iter().enumerate().map(number).collect()
        };
        let (x, y) = (of(0), of(9));
        let single = |x: &f64| (*x as f32).clamp(-f32::MAX, f32::MAX);
        let [x32, y32] = [&x, &y].map(|x| {
            let x: Vec<f32> = x.iter().map(single).collect();
            machine.upload(&x).unwrap()
        });
        let [x, y] = [&x, &y].map(|x| machine.upload(x).unwrap());
        type Words = <Emulator as DeviceMemory>::Buffer<u64>;
        let check = |layout: kernels::Layout, launch: &dyn Fn(u32, &mut Words)| {
            let [windows, digits] = [1, 0].map(|windows| {
                let len = (layout.digits + kernels::flag::LEN) as usize;
                let mut result = machine.zeros(len).unwrap();
                launch(windows, &mut result);
                let mut words = vec![0; len];
                machine.read(&result, &mut words).unwrap();
                carried(&words, layout)
            });
            assert_eq!(windows, digits);
        };
        macro_rules! agree {
            ($kernel:ident, $layout:ident, $threads:ident, $($x:ident: $value:expr),*) => {
                check(kernels::$layout, &|windows, result| {
                    let grid = Grid { blocks: 2, threads: kernels::$threads };
                    machine.launch(grid, kernels::$kernel { $($x: $value,)* result, windows }).unwrap();
                });
            };
        }
        agree!(exact_sum_f64, SUM_F64, SUM_THREADS_F64, x: &x);
        agree!(exact_magnitude_sum_f64, SUM_F64, SUM_THREADS_F64, x: &x);
        agree!(exact_sum_f32, SUM_F32, SUM_THREADS_F32, x: &x32);
        agree!(exact_magnitude_sum_f32, SUM_F32, SUM_THREADS_F32, x: &x32);
        agree!(exact_dot_f64, DOT_F64, DOT_THREADS_F64, x: &x, y: &y);
        agree!(exact_dot_f32, DOT_F32, DOT_THREADS_F32, x: &x32, y: &y32);
    }
}

#[test]
fn a_thread_carries_in_time() {
    // One block: each of its threads takes more than the 1024 largest terms that a digit can hold between two carries.
    let x = vec![f64::MAX; 64 * 1024 * 2 + 5];
    let machine = Emulator::default();
    let buffer = machine.upload(&x).unwrap();
    let mut sum = MachineAccumulator::new(&machine).unwrap().with_blocks(1);
    sum.add(&buffer).unwrap();
    assert!(sum.finish().unwrap() == ExactAccumulator::sum(&x));
    // And with both signs, at the place where a term fills its digit most.
    let x: Vec<f64> = (0..64 * 1100)
        .map(|k| {
            if k % 3 == 0 {
                -2f64.powi(52)
            } else {
                1.5 * 2f64.powi(52)
            }
        })
        .collect();
    let buffer = machine.upload(&x).unwrap();
    let mut sum = MachineAccumulator::new(&machine).unwrap().with_blocks(1);
    sum.add(&buffer).unwrap();
    assert!(sum.finish().unwrap() == ExactAccumulator::sum(&x));
}

#[test]
fn special_values_are_found_wherever_they_are() {
    let nan = f64::NAN;
    let inf = f64::INFINITY;
    let mut lists = vec![
        vec![nan],
        vec![inf],
        vec![-inf],
        vec![inf, -inf],
        vec![inf, inf, nan],
        vec![-inf, -inf],
    ];
    lists.push(Vec::new());
    let machine = Emulator::default();
    let device = support::device();
    for specials in lists {
        for n in [40, 2500] {
            let (x, y) = (mixed(n, &specials), mixed(2 * n, &[]).split_off(n));
            check_machine(&machine, None, &x, &y);
            check_machine(&machine, Some(2), &singles(&y), &singles(&x));
            if let Some(device) = &device {
                check_machine(device, None, &x, &y);
                check_machine(device, Some(2), &singles(&y), &singles(&x));
            }
        }
    }
    for engine in engines() {
        let negative_zeros = vec![-0.0; 3000];
        let bits = |x: &[f64]| engine.sum(x).unwrap().round::<f64>().to_bits();
        assert_eq!(bits(&negative_zeros), (-0.0_f64).to_bits());
        assert_eq!(bits(&[negative_zeros.clone(), vec![0.0]].concat()), 0);
        assert_eq!(bits(&[]), 0);
        let dot = |x: &[f64], y: &[f64]| engine.dot(x, y).unwrap().round::<f64>();
        assert_eq!(
            dot(&negative_zeros, &vec![1.0; 3000]).to_bits(),
            (-0.0_f64).to_bits()
        );
        assert_eq!(dot(&negative_zeros, &negative_zeros).to_bits(), 0);
        assert!(dot(&[0.0, 1.0], &[inf, 1.0]).is_nan());
        assert!(dot(&[inf, 1.0], &[1.0, -inf]).is_nan());
        assert_eq!(dot(&[inf, 1.0], &[-1.0, -inf]), -inf);
        // A product that overflows in floating point is finite here.
        assert_eq!(dot(&[1e300, 1.0, 1e300], &[1e300, 1.0, -1e300]), 1.0);
        assert_eq!(dot(&[1e300], &[1e300]), inf);
    }
}

#[test]
fn the_sign_of_a_nan_is_no_part_of_a_sum() {
    // A processor may give the product of a NaN and a negative number either sign, and nobody can rely on it.
    let (x, y) = ([f32::NAN], [-1.5_f32]);
    let expected = reference::dot(&x, &y).unwrap();
    for engine in engines() {
        let what = engine.device();
        assert!(engine.dot(&x, &y).unwrap() == expected, "{what}");
        for n in [1, 300, 5000] {
            let mut terms = vec![-1.0; n];
            for nan in [f64::NAN, -f64::NAN] {
                terms[n / 2] = nan;
                let sum = engine.sum(&terms).unwrap();
                assert!(sum == reference::sum(&terms), "{what}, {n}");
                terms[n / 2] = -nan;
                assert!(sum == engine.sum(&terms).unwrap(), "{what}, {n}");
                let dot = engine.dot(&terms, &vec![1.0; n]).unwrap();
                assert!(
                    dot == engine.dot(&terms, &vec![-1.0; n]).unwrap(),
                    "{what}, {n}"
                );
                let (terms, ones) = (singles(&terms), vec![-1.0; n]);
                let dot = engine.dot(&terms, &ones).unwrap();
                assert!(dot == reference::dot(&ones, &terms).unwrap(), "{what}, {n}");
            }
        }
    }
}

#[test]
fn data_larger_than_the_machine_go_through_it_in_pieces() {
    let x = mixed(5000, &[]);
    let y = mixed(10_000, &[]).split_off(5000);
    for backend in [
        Some(Backend::Emulator),
        support::device().map(|_| Backend::Cuda),
    ]
    .into_iter()
    .flatten()
    {
        let engine = ExactEngine::new(backend)
            .unwrap()
            .with_piece_bytes(8 * 1300);
        assert!(engine.sum(&x).unwrap() == ExactAccumulator::sum(&x));
        assert!(engine.dot(&x, &y).unwrap() == ExactAccumulator::dot(&x, &y).unwrap());
        assert!(
            engine.sum_of_squares(&singles(&x)).unwrap()
                == reference::dot(&singles(&x), &singles(&x)).unwrap()
        );
    }
}

#[test]
fn long_slices_on_all_cores_give_the_bits_of_one() {
    let x = SplitMix::vector(7, 1_000_000, 200);
    let y = SplitMix::vector(8, 1_000_000, 200);
    let one = rayon::ThreadPoolBuilder::new()
        .num_threads(1)
        .build()
        .unwrap();
    let three = rayon::ThreadPoolBuilder::new()
        .num_threads(3)
        .build()
        .unwrap();
    let all = |pool: &rayon::ThreadPool| {
        pool.install(|| {
            let mut sum = ExactAccumulator::sum(&x);
            sum.add_products(&x, &y).unwrap();
            sum.add_magnitudes(&y);
            sum.add_slice(&singles(&y));
            sum
        })
    };
    assert!(all(&one) == all(&three));
}

#[test]
fn saved_sums_that_are_none_are_refused() {
    let mut sum = ExactAccumulator::sum(&[1.0, f64::INFINITY]);
    sum.merge(&ExactAccumulator::sum(&[-2.5_f32]));
    let bytes = sum.to_bytes();
    assert_eq!(bytes.len(), ExactAccumulator::BYTES);
    assert!(ExactAccumulator::from_bytes(&bytes).unwrap() == sum);
    for (at, byte) in [(0, 0), (27, 0xff), (35, 0x7f)] {
        let mut wrong = bytes.clone();
        wrong[at] = byte;
        let error = ExactAccumulator::from_bytes(&wrong)
            .unwrap_err()
            .to_string();
        assert!(error.contains("bytes of a saved exact sum"), "{error}");
    }
    // Counts, flags and digits that no addends make.
    for (changes, why) in [
        (&[(28, 1)][..], "a sum of no addends"),
        (&[(27, 8)], "a sum of no addends"),
        (&[(19, 1), (27, 1)], "a sum that is not finite"),
        (&[(19, 1), (27, 10), (28, 1)], "a sum that is not finite"),
        (&[(19, 1), (28, 1)], "a positive sum of negative addends"),
        (
            &[(19, 1), (27, 8), (28 + 8 * 137, 1)],
            "a sum beyond that of so many",
        ),
        (&[(27, 16)], "flags 0x10"),
    ] {
        let mut wrong = ExactAccumulator::new().to_bytes();
        changes.iter().for_each(|&(at, byte)| wrong[at] = byte);
        let error = ExactAccumulator::from_bytes(&wrong)
            .unwrap_err()
            .to_string();
        assert!(error.starts_with(&format!("bytes: {why}")), "{error}");
    }
    // The largest product, whose sum is the largest of one addend.
    let mut largest = ExactAccumulator::new();
    largest.add_product(f64::MAX, f64::MAX);
    assert!(ExactAccumulator::from_bytes(&largest.to_bytes()).unwrap() == largest);
    ExactAccumulator::from_bytes(&bytes[1..]).unwrap_err();
    ExactAccumulator::from_bytes(&bytes[..100]).unwrap_err();
    serde_json::from_str::<ExactAccumulator>("[1, 2, 3]").unwrap_err();
}

#[test]
fn small_functions_round_once() {
    assert_eq!(exact_sum::<f32>(&[]), 0.0);
    assert_eq!(exact_sum(&[1.0_f32, 1e30, -1e30]), 1.0);
    assert!(exact_mean::<f64>(&[]).is_nan());
    assert_eq!(exact_mean(&[f64::MAX, f64::MAX]), f64::MAX);
    assert_eq!(
        exact_norm(&[3.0 * 2f64.powi(600), 2f64.powi(602)]),
        5.0 * 2f64.powi(600)
    );
    assert_eq!(
        exact_norm(&[f64::from_bits(3), f64::from_bits(4)]),
        f64::from_bits(5)
    );
    assert_eq!(exact_norm::<f64>(&[]), 0.0);
    assert_eq!(exact_norm(&[f64::NEG_INFINITY, 1.0]), f64::INFINITY);
    assert!(exact_norm(&[f64::NAN]).is_nan());
    assert!(
        ExactAccumulator::sum(&[-1.0])
            .value()
            .sqrt::<f64>()
            .is_nan()
    );
    let error = exact_dot(&[1.0], &[]).unwrap_err().to_string();
    assert_eq!(
        error,
        "x and y: 1 and 0 elements; expected two vectors of one length"
    );
    assert_eq!(
        format!("{:.3}", ExactAccumulator::sum(&[0.1, 12.0]).value()),
        "12.100"
    );
    assert_eq!(ExactAccumulator::sum(&[-0.0]).value().to_string(), "0");
    assert_eq!(
        ExactAccumulator::sum(&[-1e22, 0.5]).value().to_string(),
        "-9999999999999999999999.5"
    );
}
