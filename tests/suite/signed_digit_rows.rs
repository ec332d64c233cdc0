//! Exact sums of the rows of a matrix: the bits of the reference for each row, on every backend, for every shape.

use proptest::prelude::*;
use rarefy::emulator::{Emulator, ThreadOrder};
use rarefy::machine::{Grid, Machine};
use rarefy::signed_digit::float::{ExactEngine, Float, machine_row_sums, reference};
use rarefy::{Backend, Precision};
use rarefy_kernels::signed_digit::float as kernels;

use crate::signed_digit_float::{any_double, engines, mixed, singles};
use crate::support;

/// The sums of rows as the reference has them.
fn expected<T: Float, U: Float>(x: &[T], length: usize) -> Vec<U> {
    let rows = x.chunks(length);
    rows.map(|row| reference::sum(row).round()).collect()
}

#[track_caller]
fn same_bits<U: Float>(found: &[U], expected: &[U], what: &str) {
    assert_eq!(found.len(), expected.len(), "{what}");
    for (r, (found, expected)) in found.iter().zip(expected).enumerate() {
        assert_eq!(
            found.to_bits_u64(),
            expected.to_bits_u64(),
            "{what}, row {r}: {found}, expected {expected}"
        );
    }
}

/// Row sums by an engine, rounded to both types.
#[track_caller]
fn check<T: Float>(engine: &ExactEngine, x: &[T], length: usize) {
    let shape = [x.len() / length, length];
    let what = format!("{}, {} {shape:?}", engine.device(), T::NAME);
    let found: Vec<f64> = engine.row_sums(x, shape).unwrap();
    same_bits(&found, &expected(x, length), &what);
    let found: Vec<f32> = engine.row_sums(x, shape).unwrap();
    same_bits(&found, &expected(x, length), &format!("{what} to f32"));
}

#[test]
fn each_row_has_the_bits_of_its_sum() {
    let shapes = [
        [1, 1],
        [7, 1],
        [40, 1],
        [5, 2],
        [9, 3],
        [6, 5],
        [4, 7],
        [10, 9],
        [13, 33],
        [37, 100],
        [9, 129],
        [3, 1000],
        // Rows in parts.
        [3, 5001],
    ];
    for engine in engines() {
        for [rows, length] in shapes {
            let x = mixed(rows * length, &[]);
            check(&engine, &x, length);
            check(&engine, &singles(&x), length);
            // Numbers of similar size, whose digits are few, and sums that nearly cancel.
            let near: Vec<f64> = x
                .iter()
                .enumerate()
                .map(|(k, x)| {
                    let x = f64::from_bits(x.to_bits() >> 12 | 1023 << 52) - 1.0;
                    if k % 2 == 0 { x } else { -x }
                })
                .collect();
            check(&engine, &near, length);
            check(&engine, &singles(&near), length);
        }
    }
}

/// Rows whose numbers fit the windows, leave rests, outgrow them, or cancel: by one lane to 32, and in pieces.
#[test]
fn windows_lose_no_bit() {
    let two = |power: i32| 2f64.powi(power);
    let scales: [fn(usize) -> i32; 6] = [
        |_| 0,
        // Outliers to either side.
        |k| if k % 97 == 5 { -80 } else { 0 },
        |k| if k % 131 == 7 { 60 } else { 0 },
        // Larger and larger.
        |k| k as i32 % 500 - 250,
        |k| (k * 37 % 61) as i32 - 30,
        |k| -1010 - (k * 37 % 61) as i32,
    ];
    for engine in engines() {
        for scale in scales {
            let x: Vec<f64> = mixed(6000, &[])
                .iter()
                .enumerate()
                .map(|(k, x)| {
                    let fraction = f64::from_bits(x.to_bits() >> 12 | 1023 << 52) - 1.5;
                    fraction * two(scale(k))
                })
                .collect();
            // Half of the rows cancel down to a last bit.
            let mut pairs = x.clone();
            for pair in pairs.chunks_exact_mut(2).step_by(3) {
                pair[1] = -pair[0] * (1.0 + f64::EPSILON);
            }
            for x in [x, pairs] {
                for length in [2, 6, 15, 16, 17, 30, 100, 1000, 1500] {
                    let x = &x[..x.len() / length * length];
                    check(&engine, x, length);
                    check(
                        &engine,
                        &x.iter().map(|&x| x as f32).collect::<Vec<_>>(),
                        length,
                    );
                }
            }
        }
    }
}

#[test]
fn many_rows_are_summed_on_a_device() {
    let Some(_) = support::device() else { return };
    let engine = ExactEngine::new(Backend::Cuda).unwrap();
    for [rows, length] in [
        [100_000, 10],
        [20_000, 99],
        [7000, 1000],
        [1001, 10_001],
        [3, 1_000_003],
    ] {
        let x = mixed(rows * length, &[]);
        check(&engine, &x, length);
        check(&engine, &singles(&x), length);
    }
}

#[test]
fn special_values_belong_to_their_row() {
    let (nan, inf) = (f64::NAN, f64::INFINITY);
    let mut rows = vec![
        vec![nan],
        vec![inf],
        vec![-inf],
        vec![inf, -inf],
        vec![inf, nan],
        vec![-inf, 1.0, -inf],
        vec![0.0],
        vec![-0.0],
        vec![-0.0, 0.0],
        vec![1.0, -1.0],
        vec![-1.0, 1.0],
        vec![f64::MAX, f64::MAX, -f64::MAX],
        vec![f64::MAX, f64::MAX],
        vec![-f64::MAX, -f64::MAX],
        vec![f64::from_bits(1), -0.0],
    ];
    for length in [3, 50, 3000] {
        for row in &mut rows {
            row.resize(length, -0.0);
            // Elsewhere in the row as well.
            row.swap(0, length / 2);
        }
        let x = rows.concat();
        for engine in engines() {
            check(&engine, &x, length);
            check(&engine, &singles(&x), length);
        }
    }
}

/// Sums at the places where rounding changes.
#[test]
fn ties_and_ends_of_the_range_round_once() {
    let two = |power: i32| 2f64.powi(power);
    let least = f64::from_bits(1);
    let cases = [
        [1.0, two(-53), 0.0, 0.0],
        [1.0, two(-53), least, 0.0],
        [1.0, two(-53), -least, 0.0],
        [1.0 + two(-52), two(-53), 0.0, 0.0],
        [-1.0, -two(-53), least, 0.0],
        [-1.0, -two(-53), -least, 0.0],
        [1.0, -two(-54), 0.0, 0.0],
        [1.0, -two(-54), -least, 0.0],
        [1.0, -two(-54), least, 0.0],
        [two(31), two(-1), -least, 0.0],
        [two(32), -two(-20), least, -two(-1000)],
        [two(1023), two(1023), -two(969), 0.0],
        [two(1023), two(1023), -two(970), 0.0],
        [two(1023), two(1023), -two(970), -least],
        [f64::MAX, two(970), -least, 0.0],
        [-f64::MAX, -two(970), 0.0, 0.0],
        [f64::MAX, f64::MAX, -f64::MAX, least],
        [f64::MIN_POSITIVE, -least, 0.0, 0.0],
        [f64::MIN_POSITIVE, -f64::MIN_POSITIVE, least, least],
        // Halves between two numbers of f32, subnormal ones included, and its largest.
        [1.0, two(-24), 0.0, 0.0],
        [1.0, two(-24), -two(-200), 0.0],
        [1.0, two(-24), two(-200), 0.0],
        [two(-150), 0.0, 0.0, 0.0],
        [two(-150), two(-300), 0.0, 0.0],
        [3.0 * two(-150), -least, 0.0, 0.0],
        [two(128), -two(103), 0.0, 0.0],
        [two(128), -two(103), -least, 0.0],
        [two(-149), two(-1000), two(-1000), -two(-999)],
    ];
    let x = cases.concat();
    for engine in engines() {
        check(&engine, &x, 4);
        check(&engine, &singles(&x), 4);
    }
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(60))]

    #[test]
    fn rows_of_any_numbers_agree_with_the_reference(
        x in prop::collection::vec(any_double(), 1..200),
        length in 1_usize..24,
    ) {
        let engine = ExactEngine::new(Backend::Emulator).unwrap();
        let length = length.min(x.len());
        let x = &x[..x.len() / length * length];
        check(&engine, x, length);
        check(&engine, &singles(x), length);
        check(&ExactEngine::new(Backend::Cpu).unwrap(), x, length);
    }
}

#[test]
fn the_order_of_threads_does_not_matter() {
    let x = mixed(9 * 333, &[]);
    for order in [ThreadOrder::Descending, ThreadOrder::Random(5)] {
        for length in [333, 9 * 333] {
            let machine = Emulator::new(order);
            let buffer = machine.upload(&x).unwrap();
            let mut found = vec![0.0; x.len() / length];
            let mut sums = machine.allocate::<f64>(found.len()).unwrap();
            machine_row_sums::<_, f64>(&machine, &buffer, Precision::F64, &mut sums).unwrap();
            machine.read(&sums, &mut found).unwrap();
            same_bits(&found, &expected(&x, length), &format!("{order:?}"));
        }
    }
}

/// One block sums rows in turn, of more terms than a digit takes between two carries of a thread.
fn check_long<M: Machine>(machine: &M) {
    let length = 8 * 1100 * 2 + 3;
    let terms = |r: usize| {
        (0..length).map(move |k| match (k + r) % 3 {
            0 => -2f64.powi(52),
            _ => 1.5 * 2f64.powi(52 - 32 * (r as i32 % 3)),
        })
    };
    let x: Vec<f64> = (0..9).flat_map(terms).collect();
    let buffer = machine.upload(&x).unwrap();
    let mut sums = machine.allocate::<f64>(9).unwrap();
    let left = machine.zeros::<u32>(1).unwrap();
    let grid = Grid::one_block(kernels::ROW_THREADS);
    let launch = kernels::row_sums_f64 {
        x: &buffer,
        sums: &mut sums,
        count: &left,
        left: &left,
        length: length as u64,
        single: 0,
        all: 1,
    };
    machine.launch(grid, launch).unwrap();
    let mut found = vec![0.0; 9];
    machine.read(&sums, &mut found).unwrap();
    same_bits(&found, &expected(&x, length), "long rows");
}

#[test]
fn threads_carry_in_time() {
    check_long(&Emulator::default());
    if let Some(device) = support::device() {
        check_long(&device);
    }
}

#[test]
fn rows_larger_than_the_machine_go_through_it_in_pieces() {
    let x = mixed(5000, &[]);
    for backend in [
        Some(Backend::Emulator),
        support::device().map(|_| Backend::Cuda),
    ]
    .into_iter()
    .flatten()
    {
        let engine = ExactEngine::new(backend).unwrap();
        let engine = engine.with_piece_bytes(8 * 1300);
        // Some rows at a time, and rows of which none fits at once.
        for length in [100, 2500] {
            check(&engine, &x, length);
            check(&engine, &singles(&x), length);
        }
    }
}

#[test]
fn shapes_without_elements_and_wrong_shapes() {
    for engine in engines() {
        let what = engine.device();
        let none: Vec<f64> = engine.row_sums::<f64, f64>(&[], [0, 5]).unwrap();
        assert!(none.is_empty(), "{what}");
        let zeros: Vec<f64> = engine.row_sums::<f32, f64>(&[], [3, 0]).unwrap();
        same_bits(&zeros, &[0.0; 3], &what);
        for shape in [[2, 2], [0, 3], [usize::MAX, 2]] {
            let error = engine.row_sums::<f64, f64>(&[1.0; 3], shape).unwrap_err();
            let expected = format!("x: 3 elements; expected {} rows of {}", shape[0], shape[1]);
            assert_eq!(error.to_string(), expected, "{what}");
        }
    }
    let machine = Emulator::default();
    let x = machine.upload(&[1.0; 3]).unwrap();
    let mut sums = machine.allocate::<f64>(2).unwrap();
    machine_row_sums::<_, f64>(&machine, &x, Precision::F64, &mut sums).unwrap_err();
}
