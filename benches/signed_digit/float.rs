//! Sums and dot products of `f64` and `f32`, over uniform numbers and over numbers spread over +-30 and +-300 binades.

use std::hint::black_box;
use std::time::{Duration, Instant};

use criterion::measurement::WallTime;
use criterion::{BenchmarkGroup, BenchmarkId, Criterion};
use rarefy::gpu::{self, Device, DeviceBuffer};
use rarefy::machine::{Grid, Machine};
use rarefy::signed_digit::float::{
    ExactAccumulator, ExactEngine, Float, MachineAccumulator, machine_row_sums,
};
use rarefy::{Backend, Error, MachineError, Precision, Result};
use rarefy_kernels::signed_digit::float as kernels;
use rayon::prelude::*;

use super::Measured;

/// Elements of a vector.
const SIZES: [usize; 4] = [1_000_000, 10_000_000, 100_000_000, 1_000_000_000];
/// Elements of a matrix, and lengths of its rows.
const MATRIX: usize = 100_000_000;
const ROWS: [usize; 5] = [10, 100, 1000, 100_000, 10_000_000];
/// Largest vector that is summed on the CPU.
const MOST_ON_CPU: usize = 10_000_000;
/// Binades to either side over which numbers are spread.
const SPREADS: [u64; 3] = [0, 30, 300];
/// Bytes that buffers which are read in turn have at least: ten times a large cache.
const ROTATION: usize = 512 << 20;

/// Number k of a stream: uniform in [-1/2, 1/2) times a power of two.
fn number(k: u64, spread: u64) -> f64 {
    let mix = |mut z: u64| {
        z = z.wrapping_mul(0x9E37_79B9_7F4A_7C15);
        z = (z ^ z >> 30).wrapping_mul(0xBF58_476D_1CE4_E5B9);
        z = (z ^ z >> 27).wrapping_mul(0x94D0_49BB_1331_11EB);
        z ^ z >> 31
    };
    let uniform = (mix(2 * k + 1) >> 11) as f64 * 2f64.powi(-53) - 0.5;
    uniform * f64::from_bits((1023 - spread + mix(2 * k + 2) % (2 * spread + 1)) << 52)
}

fn vector(n: usize, spread: u64) -> Vec<f64> {
    (0..n as u64)
        .into_par_iter()
        .map(|k| number(k, spread))
        .collect()
}

/// The same in `f32`, spread over the range that it has.
fn singles(n: usize, spread: u64) -> Vec<f32> {
    let single = |k| number(k, spread.min(90)) as f32;
    (0..n as u64).into_par_iter().map(single).collect()
}

fn column(n: usize) -> String {
    format!("{:.0e}", n as f64)
}

fn spread_name(spread: u64) -> String {
    match spread {
        0 => "uniform".to_owned(),
        spread => format!("+-{spread} binades"),
    }
}

/// Measures `work`, which does something so many times and says how long it took.
fn bench(
    group: &mut BenchmarkGroup<'_, WallTime>,
    measured: &Measured,
    row: &str,
    n: usize,
    mut work: impl FnMut(u64) -> Duration,
) {
    group.bench_function(BenchmarkId::new(row, column(n)), |bencher| {
        bencher.iter_custom(|repetitions| {
            let time = work(repetitions);
            measured.note(row, &column(n), time, repetitions);
            time
        });
    });
}

/// Wall time of repetitions.
fn wall(repetitions: u64, mut work: impl FnMut()) -> Duration {
    let start = Instant::now();
    for _ in 0..repetitions {
        work();
    }
    start.elapsed()
}

pub(super) fn run(criterion: &mut Criterion) {
    let measured = Measured::default();
    let mut group = criterion.benchmark_group("signed_digit");
    if super::wanted("cpu ") {
        cpu(&mut group, &measured);
    }
    match gpu::open() {
        _ if !super::wanted("gpu ") => (),
        Ok(device) => gpu(&mut group, &measured, &device).expect("a working GPU"),
        Err(error) => println!("skipped: GPU: {error}"),
    }
    group.finish();
    report(&measured);
}

fn cpu(group: &mut BenchmarkGroup<'_, WallTime>, measured: &Measured) {
    let one = rayon::ThreadPoolBuilder::new().num_threads(1).build();
    let Ok(one) = one else {
        println!("skipped: one core");
        return;
    };
    for spread in SPREADS {
        let name = spread_name(spread);
        let all = vector(MOST_ON_CPU, spread);
        for n in SIZES.into_iter().filter(|&n| n <= MOST_ON_CPU) {
            let x = &all[..n];
            let y: Vec<f64> = x.iter().rev().copied().collect();
            let singles = singles(n, spread);
            let mut row = |what: &str, work: &mut (dyn FnMut() + Send)| {
                bench(
                    group,
                    measured,
                    &format!("cpu {what}, {name}"),
                    n,
                    |repetitions| wall(repetitions, &mut *work),
                );
            };
            row("naive sum f64, one core", &mut || {
                black_box(black_box(x).iter().sum::<f64>());
            });
            #[cfg(feature = "peers")]
            row("xsum small f64, one core", &mut || {
                use xsum::{Xsum, XsumSmall};
                let mut sum = XsumSmall::new();
                sum.add_list(black_box(x));
                black_box(sum.sum());
            });
            let exact = || black_box(ExactAccumulator::sum(black_box(x)).round::<f64>());
            row("exact sum f64, one core", &mut || {
                one.install(exact);
            });
            row("exact sum f64, all cores", &mut || {
                exact();
            });
            let exact = || black_box(ExactAccumulator::sum(black_box(&singles)).round::<f64>());
            row("exact sum f32, one core", &mut || {
                one.install(exact);
            });
            let exact = || {
                let sum = ExactAccumulator::dot(black_box(x), black_box(&y));
                black_box(sum.expect("one length").round::<f64>())
            };
            row("exact dot f64, one core", &mut || {
                one.install(exact);
            });
            row("exact dot f64, all cores", &mut || {
                exact();
            });
        }
    }
}

fn gpu(
    group: &mut BenchmarkGroup<'_, WallTime>,
    measured: &Measured,
    device: &Device,
) -> Result<()> {
    calls(group, measured, device)?;
    let engine = ExactEngine::new(Backend::Cuda)?;
    for spread in SPREADS {
        for n in SIZES {
            let limits = device.limits()?;
            let copies = (ROTATION / (8 * n)).max(1);
            // Twice as much for dot products, and half of it again for f32.
            if (8 * n * copies) as u64 * 3 > limits.free_bytes {
                println!("skipped: {n} elements: too little GPU memory");
                continue;
            }
            let name = spread_name(spread);
            let all = vector(n * copies, spread);
            let xs: Vec<_> = all
                .chunks(n)
                .map(|x| device.upload(x))
                .collect::<Result<_, MachineError>>()?;
            plain_f64(group, measured, device, &xs, n, &name)?;
            exact(
                group,
                measured,
                device,
                &xs,
                n,
                &format!("sum f64, {name}"),
                |sum, x| sum.add(x),
            )?;
            if n == MATRIX {
                rows(group, measured, device, &xs, &name)?;
                // Blocks of a multiprocessor, and their share of its cache.
                for blocks in [2, 3, 4, 5] {
                    let what = format!("sum f64 with {blocks} blocks a multiprocessor, {name}");
                    let blocks = blocks * limits.multiprocessors;
                    exact_on(
                        group,
                        measured,
                        device,
                        &xs,
                        n,
                        (&what, Some(blocks)),
                        |sum, x| sum.add(x),
                    )?;
                }
            }
            if n <= 100_000_000 {
                let x = &all[..n];
                bench(
                    group,
                    measured,
                    &format!("gpu sum f64 with upload, {name}"),
                    n,
                    |repetitions| {
                        wall(repetitions, || {
                            black_box(engine.sum(x).expect("a sum").round::<f64>());
                        })
                    },
                );
            }
            // Exponents of the two factors are independent: the second vector begins elsewhere.
            let rotated: Vec<f64> = all.par_iter().rev().copied().collect();
            let ys: Vec<_> = rotated
                .chunks(n)
                .map(|y| device.upload(y))
                .collect::<Result<_, MachineError>>()?;
            let both: Vec<_> = xs.into_iter().zip(ys).collect();
            exact(
                group,
                measured,
                device,
                &both,
                n,
                &format!("dot f64, {name}"),
                |sum, (x, y)| sum.add_products(x, y),
            )?;
            drop(both);
            drop((all, rotated));
            let singles = singles(n * copies, spread);
            let xs: Vec<_> = singles
                .chunks(n)
                .map(|x| device.upload(x))
                .collect::<Result<_, MachineError>>()?;
            plain_f32(group, measured, device, &xs, n, &name)?;
            exact(
                group,
                measured,
                device,
                &xs,
                n,
                &format!("sum f32, {name}"),
                |sum, x| sum.add(x),
            )?;
            exact(
                group,
                measured,
                device,
                &xs,
                n,
                &format!("dot f32 with itself, {name}"),
                |sum, x| sum.add_products(x, x),
            )?;
            if n == MATRIX {
                rows(group, measured, device, &xs, &name)?;
            }
        }
    }
    Ok(())
}

/// Sums of the rows of matrices, over buffers in turn.
fn rows<T: Float>(
    group: &mut BenchmarkGroup<'_, WallTime>,
    measured: &Measured,
    device: &Device,
    buffers: &[DeviceBuffer<T>],
    name: &str,
) -> Result<()> {
    for length in ROWS {
        let rows = MATRIX / length;
        let mut sums = device.allocate::<f64>(rows)?;
        let mut next = 0;
        let mut launch = |repetitions: u64| {
            device.time(&mut || {
                for _ in 0..repetitions {
                    next = (next + 1) % buffers.len();
                    machine_row_sums(device, &buffers[next], Precision::F64, &mut sums)?;
                }
                Ok::<_, Error>(())
            })
        };
        launch(1)?;
        let what = format!("gpu sums of rows of {length} {}, {name}", T::NAME);
        bench(group, measured, &what, MATRIX, |repetitions| {
            launch(repetitions).expect("a timing")
        });
    }
    Ok(())
}

/// Whole calls on an array that is in GPU memory: an accumulator, its sum and the rounded result.
fn calls(
    group: &mut BenchmarkGroup<'_, WallTime>,
    measured: &Measured,
    device: &Device,
) -> Result<()> {
    for n in [1000, 1_000_000] {
        let x = device.upload(&vector(n, SPREADS[0]))?;
        let call = || -> Result<f64> {
            let mut sum = MachineAccumulator::new(device)?;
            sum.add(&x)?;
            Ok(sum.finish()?.round())
        };
        call()?;
        bench(group, measured, "gpu sum f64, a call", n, |repetitions| {
            wall(repetitions, || {
                black_box(call().expect("a sum"));
            })
        });
    }
    Ok(())
}

/// An exact kernel over buffers in turn.
fn exact<B>(
    group: &mut BenchmarkGroup<'_, WallTime>,
    measured: &Measured,
    device: &Device,
    buffers: &[B],
    n: usize,
    what: &str,
    add: impl Fn(&mut MachineAccumulator<'_, Device>, &B) -> Result<()>,
) -> Result<()> {
    exact_on(group, measured, device, buffers, n, (what, None), add)
}

/// The same with a number of blocks.
fn exact_on<B>(
    group: &mut BenchmarkGroup<'_, WallTime>,
    measured: &Measured,
    device: &Device,
    buffers: &[B],
    n: usize,
    (what, blocks): (&str, Option<u32>),
    add: impl Fn(&mut MachineAccumulator<'_, Device>, &B) -> Result<()>,
) -> Result<()> {
    let mut sum = MachineAccumulator::new(device)?;
    if let Some(blocks) = blocks {
        sum = sum.with_blocks(blocks);
    }
    add(&mut sum, &buffers[0])?;
    let mut next = 0;
    bench(group, measured, &format!("gpu {what}"), n, |repetitions| {
        device
            .time(&mut || {
                for _ in 0..repetitions {
                    next = (next + 1) % buffers.len();
                    add(&mut sum, &buffers[next])?;
                }
                Ok::<_, Error>(())
            })
            .expect("a timing")
    });
    Ok(())
}

macro_rules! plain {
    ($name:ident, $t:ty, $kernel:ident) => {
        /// The ordinary sum over buffers in turn.
        fn $name(
            group: &mut BenchmarkGroup<'_, WallTime>,
            measured: &Measured,
            device: &Device,
            buffers: &[DeviceBuffer<$t>],
            n: usize,
            name: &str,
        ) -> Result<()> {
            let grid = Grid {
                blocks: device.limits()?.multiprocessors * 8,
                threads: kernels::PLAIN_THREADS,
            };
            let warps = (grid.blocks * grid.threads / rarefy_kernels::WARP) as usize;
            let mut out = device.allocate::<$t>(warps)?;
            let mut next = 0;
            let mut launch = |repetitions: u64| {
                device.time(&mut || {
                    for _ in 0..repetitions {
                        next = (next + 1) % buffers.len();
                        let x = &buffers[next];
                        device.launch(grid, kernels::$kernel { x, out: &mut out })?;
                    }
                    Ok::<_, MachineError>(())
                })
            };
            launch(1)?;
            let what = format!(
                "gpu plain sum {}, {name}",
                <$t as rarefy_kernels::Real>::NAME
            );
            bench(group, measured, &what, n, |repetitions| {
                launch(repetitions).expect("a timing")
            });
            Ok(())
        }
    };
}
plain!(plain_f64, f64, plain_sum_f64);
plain!(plain_f32, f32, plain_sum_f32);

fn report(measured: &Measured) {
    let columns: Vec<String> = SIZES.into_iter().map(column).collect();
    let elements = |column: &str| column.parse::<f64>().unwrap_or(0.0);
    measured.table(
        "CPU, milliseconds (least of all samples)",
        "cpu ",
        &columns,
        |_, _, seconds| format!("{:.3}", seconds * 1e3),
    );
    measured.table(
        "CPU, 10^9 elements or pairs a second",
        "cpu ",
        &columns,
        |_, column, seconds| format!("{:.3}", elements(column) / seconds / 1e9),
    );
    measured.table(
        "GPU, milliseconds (least of all samples)",
        "gpu ",
        &columns,
        |_, _, seconds| format!("{:.4}", seconds * 1e3),
    );
    measured.table(
        "GPU, 10^9 elements or pairs a second",
        "gpu ",
        &columns,
        |_, column, seconds| format!("{:.1}", elements(column) / seconds / 1e9),
    );
    measured.table(
        "GPU, bytes read in a second as a fraction of those of the plain f64 sum of as many elements",
        "gpu ",
        &columns,
        |row, column, seconds| {
            let spread = row.split_once(", ").map_or("", |(_, spread)| spread);
            let plain = measured.get(&format!("gpu plain sum f64, {spread}"), column);
            let bytes = if row.starts_with("gpu dot f64") {
                2.0
            } else if row.contains("f32") {
                0.5
            } else {
                1.0
            };
            plain.map_or(String::new(), |plain| format!("{:.3}", bytes * plain / seconds))
        },
    );
    println!(
        "\nf32 takes half the bytes; a dot product of a vector with itself reads it once from memory."
    );
}
