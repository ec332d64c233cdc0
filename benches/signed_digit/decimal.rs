//! Sums and dot products of big integers: the paper's figures 5, 6 and 7, packed limbs, and GMP.
//!
//! The paper compares a GPU that works digit by digit with a CPU that works digit by digit. Its tables are printed here, and beside them what packed
//! limbs and GMP take for the same numbers.

use std::hint::black_box;
use std::time::{Duration, Instant};

use criterion::measurement::WallTime;
use criterion::{BenchmarkGroup, BenchmarkId, Criterion};
use rarefy::compute::Resolved;
use rarefy::gpu::{self, Device};
use rarefy::signed_digit::decimal;
use rarefy::signed_digit::integer::{Integers, Resident, ResidentPair};
use rarefy::signed_digit::paper::{Method, ResidentDigits, ResidentVectors, Rows};
use rayon::prelude::*;

use super::Measured;

/// Numbers that are summed, as in the paper.
const COUNTS: [usize; 3] = [10_000, 100_000, 1_000_000];
/// Their digits.
const DIGITS: [usize; 5] = [50, 200, 450, 800, 900];
/// Digits of the factors of dot products: the paper's, and long ones.
const FACTORS: [usize; 2] = [50, 550];
/// Bytes that matrices which are read in turn have at least: ten times a large cache.
const ROTATION: usize = 512 << 20;
/// Steps of the first method that a bench is worth waiting for.
const MOST_CHAINED: usize = 100_000;
/// Longer work is not repeated often.
const LONG: Duration = Duration::from_millis(40);
/// Digits of a text that is parsed.
const MOST_TEXT: usize = 100_000_000;

/// Ordinary digits of `k` numbers, the least first.
fn random_digits(seed: u64, k: usize, digits: usize) -> Vec<u8> {
    let mut all = vec![0; k * digits];
    all.par_chunks_mut(digits).enumerate().for_each(|(i, row)| {
        let mut state = seed ^ (i as u64).wrapping_mul(0x9E37_79B9_7F4A_7C15);
        for digit in row {
            state = state
                .wrapping_mul(6_364_136_223_846_793_005)
                .wrapping_add(1_442_695_040_888_963_407);
            *digit = ((state >> 33) % 10) as u8;
        }
    });
    all
}

/// The same in limbs of radix 10^9.
fn packed(digits: &[u8], width: usize) -> Integers {
    Integers::from_fn(digits.len() / width, width.div_ceil(9), |i, row| {
        for (limb, digits) in row.iter_mut().zip(digits[i * width..][..width].chunks(9)) {
            *limb = digits
                .iter()
                .rev()
                .fold(0, |value, &digit| 10 * value + u32::from(digit));
        }
        false
    })
}

/// The same in digits -6..6, one more of each number.
fn redundant(digits: &[u8], width: usize) -> Vec<i8> {
    let up = |digit: u8| i8::from(digit >= 6);
    let rows = digits.par_chunks(width).flat_map_iter(|row| {
        (0..=width).map(move |i| {
            let here = row.get(i).copied().unwrap_or(0);
            let below = if i > 0 { row[i - 1] } else { 0 };
            here as i8 - 10 * up(here) + up(below)
        })
    });
    rows.collect()
}

/// The paper's sum on a CPU: number after number, digit after digit, with a carry.
fn add_digit_by_digit(digits: &[u8], width: usize) -> Vec<u8> {
    let mut sum = vec![0u8; width + 10];
    for row in digits.chunks(width) {
        let mut carry = 0;
        for (total, &digit) in sum.iter_mut().zip(row) {
            let value = *total + digit + carry;
            carry = u8::from(value >= 10);
            *total = value - 10 * carry;
        }
        for total in &mut sum[width..] {
            if carry == 0 {
                break;
            }
            let value = *total + carry;
            carry = u8::from(value >= 10);
            *total = value - 10 * carry;
        }
    }
    sum
}

/// The same for a dot product: every digit of one factor times every digit of the other, with carries.
fn multiply_digit_by_digit(x: &[u8], y: &[u8], width: usize) -> Vec<u8> {
    let mut sum = vec![0u8; 2 * width + 10];
    for (x, y) in x.chunks(width).zip(y.chunks(width)) {
        for (p, &a) in x.iter().enumerate() {
            let mut carry = 0;
            for (total, &b) in sum[p..].iter_mut().zip(y) {
                let value = *total + a * b + carry;
                carry = value / 10;
                *total = value % 10;
            }
            for total in &mut sum[p + width..] {
                if carry == 0 {
                    break;
                }
                let value = *total + carry;
                carry = value / 10;
                *total = value % 10;
            }
        }
    }
    sum
}

fn column(k: usize) -> String {
    format!("{:.0e}", k as f64)
}

/// The measured work, and the time above which a run is measured once only.
struct Bench<'a, 'b> {
    group: &'a mut BenchmarkGroup<'b, WallTime>,
    measured: &'a Measured,
}

impl Bench<'_, '_> {
    fn run(&mut self, row: &str, k: usize, mut work: impl FnMut(u64) -> Duration) {
        if !super::wanted(row) {
            return;
        }
        // The first time warms up. Long work is measured three times; the samples would take dozens.
        if work(1) > LONG {
            for _ in 0..3 {
                self.measured.note(row, &column(k), work(1), 1);
            }
            return;
        }
        self.group
            .bench_function(BenchmarkId::new(row, column(k)), |bencher| {
                bencher.iter_custom(|repetitions| {
                    let time = work(repetitions);
                    self.measured.note(row, &column(k), time, repetitions);
                    time
                });
            });
    }

    /// Wall time of `work`.
    fn wall(&mut self, row: &str, k: usize, mut work: impl FnMut()) {
        self.run(row, k, |repetitions| {
            let start = Instant::now();
            (0..repetitions).for_each(|_| work());
            start.elapsed()
        });
    }

    /// Wall time of one call.
    fn once(&mut self, row: &str, k: usize, work: impl FnOnce()) {
        if super::wanted(row) {
            let start = Instant::now();
            work();
            self.measured.note(row, &column(k), start.elapsed(), 1);
        }
    }
}

pub(super) fn run(criterion: &mut Criterion) {
    let measured = Measured::default();
    let mut group = criterion.benchmark_group("signed_digit");
    let device = match gpu::open() {
        Ok(device) => Some(device),
        Err(error) => {
            println!("skipped: GPU: {error}");
            None
        }
    };
    let one = rayon::ThreadPoolBuilder::new().num_threads(1).build();
    let Ok(one) = one else {
        println!("skipped: one core");
        return;
    };
    let mut bench = Bench {
        group: &mut group,
        measured: &measured,
    };
    for digits in DIGITS {
        for k in COUNTS
            .into_iter()
            .filter(|_| super::wanted(&format!("sum of {digits} digits")))
        {
            sums(&mut bench, device.as_ref(), &one, k, digits);
        }
    }
    for digits in FACTORS {
        for k in COUNTS
            .into_iter()
            .filter(|_| super::wanted(&format!("dot of {digits} digits")))
        {
            // 100 long factors are a million digits: their products take as long as those of the short ones.
            let k = if digits > 50 { k / 100 } else { k };
            dots(&mut bench, device.as_ref(), &one, k, digits);
        }
    }
    group.finish();
    report(&measured);
}

fn sums(
    bench: &mut Bench<'_, '_>,
    device: Option<&Device>,
    one: &rayon::ThreadPool,
    k: usize,
    digits: usize,
) {
    let row = |what: &str| format!("sum of {digits} digits: {what}");
    let ordinary = random_digits(1, k, digits);
    let numbers = packed(&ordinary, digits);
    bench.once(&row("digit by digit, one core"), k, || {
        black_box(add_digit_by_digit(black_box(&ordinary), digits));
    });
    bench.wall(&row("packed, one core"), k, || {
        one.install(|| black_box(numbers.sum(&Resolved::Cpu).expect("a sum")));
    });
    bench.wall(&row("packed, all cores"), k, || {
        black_box(numbers.sum(&Resolved::Cpu).expect("a sum"));
    });
    #[cfg(feature = "peers")]
    {
        let big = big_integers(&ordinary, digits);
        bench.wall(&row("rug (GMP), one core"), k, || {
            let mut sum = rug::Integer::new();
            black_box(&big).iter().for_each(|number| sum += number);
            black_box(sum);
        });
    }
    let text = if k * digits <= MOST_TEXT {
        text_of(&ordinary, digits)
    } else {
        Vec::new()
    };
    if !text.is_empty() {
        bench.wall(&row("text, all cores"), k, || {
            black_box(decimal::sum_text(&text, &Resolved::Cpu).expect("a sum"));
        });
    }
    let Some(device) = device else {
        return;
    };
    let resolved = Resolved::Cuda(device.clone());
    let copies = (ROTATION / numbers.bytes().max(1) as usize).clamp(1, 64);
    let resident: rarefy::Result<Vec<_>> = (0..copies)
        .map(|_| Resident::new(device, &numbers))
        .collect();
    match resident {
        Ok(mut resident) => {
            bench.run(&row("packed, GPU, resident"), k, |repetitions| {
                let time = device.time(|| {
                    (0..repetitions as usize).try_for_each(|i| resident[i % copies].launch(device))
                });
                time.expect("a timing")
            });
        }
        Err(error) => println!("skipped: {k} of {digits} digits: {error}"),
    }
    bench.wall(&row("packed, GPU, with upload"), k, || {
        black_box(numbers.sum(&resolved).expect("a sum"));
    });
    if !text.is_empty() {
        bench.wall(&row("text, GPU, with upload"), k, || {
            black_box(decimal::sum_text(&text, &resolved).expect("a sum"));
        });
    }
    let matrix = redundant(&ordinary, digits);
    for (what, method) in [
        ("first method, GPU", Method::First),
        (
            "second method, rows by column, GPU",
            Method::Second(Rows::PerColumn),
        ),
        (
            "second method, rows by place, GPU",
            Method::Second(Rows::PerPlace),
        ),
    ] {
        if method == Method::First && k > MOST_CHAINED {
            continue;
        }
        match ResidentDigits::from_matrix(device, &matrix, digits + 1) {
            Ok(mut resident) => bench.run(&row(what), k, |repetitions| {
                let time = device
                    .time(|| (0..repetitions).try_for_each(|_| resident.launch(device, method)));
                time.expect("a timing")
            }),
            Err(error) => println!("skipped: {what}, {k} of {digits} digits: {error}"),
        }
        // As in the paper's figures: copies both ways included.
        bench.wall(&row(&format!("{what}, with copies")), k, || {
            let sum = ResidentDigits::from_matrix(device, &matrix, digits + 1)
                .and_then(|mut resident| resident.sum(device, method));
            black_box(sum.expect("a sum"));
        });
    }
}

fn dots(
    bench: &mut Bench<'_, '_>,
    device: Option<&Device>,
    one: &rayon::ThreadPool,
    k: usize,
    digits: usize,
) {
    let row = |what: &str| format!("dot of {digits} digits: {what}");
    let (dx, dy) = (random_digits(2, k, digits), random_digits(3, k, digits));
    let (x, y) = (packed(&dx, digits), packed(&dy, digits));
    bench.once(&row("digit by digit, one core"), k, || {
        black_box(multiply_digit_by_digit(black_box(&dx), &dy, digits));
    });
    bench.wall(&row("packed, one core"), k, || {
        one.install(|| black_box(x.dot(&y, &Resolved::Cpu).expect("a dot product")));
    });
    bench.wall(&row("packed, all cores"), k, || {
        black_box(x.dot(&y, &Resolved::Cpu).expect("a dot product"));
    });
    #[cfg(feature = "peers")]
    {
        let (x, y) = (big_integers(&dx, digits), big_integers(&dy, digits));
        bench.wall(&row("rug (GMP), one core"), k, || {
            let mut sum = rug::Integer::new();
            black_box(&x).iter().zip(&y).for_each(|(x, y)| sum += x * y);
            black_box(sum);
        });
    }
    let Some(device) = device else {
        return;
    };
    let resolved = Resolved::Cuda(device.clone());
    let copies = (ROTATION / (2 * x.bytes()).max(1) as usize).clamp(1, 64);
    let resident: rarefy::Result<Vec<_>> = (0..copies)
        .map(|_| ResidentPair::new(device, &x, &y))
        .collect();
    match resident {
        Ok(mut resident) => bench.run(&row("packed, GPU, resident"), k, |repetitions| {
            let time = device.time(|| {
                (0..repetitions as usize).try_for_each(|i| resident[i % copies].launch(device))
            });
            time.expect("a timing")
        }),
        Err(error) => println!("skipped: {k} pairs of {digits} digits: {error}"),
    }
    bench.wall(&row("packed, GPU, with upload"), k, || {
        black_box(x.dot(&y, &resolved).expect("a dot product"));
    });
    let widths = [digits + 1; 2];
    let (mx, my) = (redundant(&dx, digits), redundant(&dy, digits));
    match ResidentVectors::from_matrices(device, &mx, &my, widths) {
        Ok(mut resident) => bench.run(&row("partial products of digits, GPU"), k, |repetitions| {
            let time = device.time(|| {
                (0..repetitions).try_for_each(|_| resident.launch(device, Rows::PerPlace))
            });
            time.expect("a timing")
        }),
        Err(error) => println!("skipped: {k} pairs of {digits} digits: {error}"),
    }
    bench.wall(
        &row("partial products of digits, GPU, with copies"),
        k,
        || {
            let dot = ResidentVectors::from_matrices(device, &mx, &my, widths)
                .and_then(|mut resident| resident.dot(device, Rows::PerPlace));
            black_box(dot.expect("a dot product"));
        },
    );
}

/// A line for each number.
fn text_of(digits: &[u8], width: usize) -> Vec<u8> {
    let mut text = Vec::with_capacity(digits.len() / width * (width + 1));
    for row in digits.chunks(width) {
        text.extend(row.iter().rev().map(|digit| b'0' + digit));
        text.push(b'\n');
    }
    text
}

#[cfg(feature = "peers")]
fn big_integers(digits: &[u8], width: usize) -> Vec<rug::Integer> {
    digits
        .par_chunks(width)
        .map(|row| {
            let text: Vec<u8> = row.iter().rev().map(|digit| b'0' + digit).collect();
            rug::Integer::from(rug::Integer::parse(text).expect("digits"))
        })
        .collect()
}

fn report(measured: &Measured) {
    let counts: Vec<String> = COUNTS.into_iter().map(column).collect();
    let milliseconds = |_: &str, _: &str, seconds: f64| format!("{:.4}", seconds * 1e3);
    for digits in DIGITS {
        let prefix = format!("sum of {digits} digits: ");
        measured.table(
            &format!("Sums of k numbers of {digits} digits, milliseconds"),
            &prefix,
            &counts,
            milliseconds,
        );
    }
    for digits in FACTORS {
        let prefix = format!("dot of {digits} digits: ");
        let counts: Vec<String> = COUNTS
            .into_iter()
            .map(|k| column(if digits > 50 { k / 100 } else { k }))
            .collect();
        measured.table(
            &format!("Dot products of k pairs of {digits} digits, milliseconds"),
            &prefix,
            &counts,
            milliseconds,
        );
    }
    let ratios = |title: &str, what: &str, slow: &str, fast: &str, sizes: &[usize]| {
        println!("\n{title}\n\n| digits | {} |", counts.join(" | "));
        println!("|---|{}", "---|".repeat(counts.len()));
        for digits in sizes {
            let cells = counts.iter().map(|k| {
                let of = |row: &str| measured.get(&format!("{what} of {digits} digits: {row}"), k);
                match (of(slow), of(fast)) {
                    (Some(slow), Some(fast)) => format!("{:.1}", slow / fast),
                    _ => String::new(),
                }
            });
            println!("| {digits} | {} |", cells.collect::<Vec<_>>().join(" | "));
        }
    };
    let scalar = "digit by digit, one core";
    ratios(
        "Figure 5: T_cpu / T_gpu of the first method, copies included (the paper: above 1 from 400 digits on)",
        "sum",
        scalar,
        "first method, GPU, with copies",
        &DIGITS,
    );
    ratios(
        "Figure 6: T_cpu / T_gpu of the second method, copies included (the paper: 3 to 4 at 800 to 900 digits)",
        "sum",
        scalar,
        "second method, rows by column, GPU, with copies",
        &DIGITS,
    );
    ratios(
        "Figure 7: T_cpu / T_gpu of dot products, copies included",
        "dot",
        scalar,
        "partial products of digits, GPU, with copies",
        &FACTORS[..1],
    );
    let gmp = "rug (GMP), one core";
    ratios(
        "GMP over packed limbs on the GPU, resident",
        "sum",
        gmp,
        "packed, GPU, resident",
        &DIGITS,
    );
    ratios(
        "GMP over packed limbs on the GPU, with upload",
        "sum",
        gmp,
        "packed, GPU, with upload",
        &DIGITS,
    );
    ratios(
        "GMP over packed limbs on the GPU, resident: dot products",
        "dot",
        gmp,
        "packed, GPU, resident",
        &FACTORS[..1],
    );
    ratios(
        "GMP over packed limbs on one core",
        "sum",
        gmp,
        "packed, one core",
        &DIGITS,
    );
    println!("\nPacked limbs on the GPU, resident: GB read a second");
    for digits in DIGITS {
        for k in COUNTS {
            let row = format!("sum of {digits} digits: packed, GPU, resident");
            if let Some(seconds) = measured.get(&row, &column(k)) {
                let bytes = 4.0 * digits.div_ceil(9) as f64 * k as f64;
                println!(
                    "{digits} digits, {}: {:.0}",
                    column(k),
                    bytes / seconds / 1e9
                );
            }
        }
    }
}
