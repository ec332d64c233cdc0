//! Slices on one core of the CPU.
//!
//! Neighbouring addends often have neighbouring exponents, and then the same digits: an addition would wait for the store of the one before. So
//! four rows of digits take the addends in turn.

use super::accumulator::{ExactAccumulator, Special, carry};

/// Rows of digits side by side.
const ROWS: usize = 4;
/// Below this many addends the rows cost more than they save.
const FEW: usize = 192;

/// Digits of radix 2^32 for sums of `f64`; the lowest bit is worth 2^-1075, and the exponent's upper six bits name a digit.
const SUM_DIGITS: usize = 66;
/// Addends between two carries: each adds less than 2^53 to a digit.
const SUM_DEPOSITS: usize = 1 << 10;
/// The same for products of `f64`, whose lowest bit is worth 2^-2150, with less than 2^43 a product.
const DOT_DIGITS: usize = 132;
const DOT_DEPOSITS: usize = 1 << 16;

/// Adds the sum of a slice, or of its magnitudes.
pub(super) fn sum_f64<const MAGNITUDE: bool>(x: &[f64], to: &mut ExactAccumulator) {
    if x.len() < FEW {
        x.iter()
            .for_each(|x| to.add_number(if MAGNITUDE { x.abs() } else { *x }));
        return;
    }
    let mut rows = [[0_i64; SUM_DIGITS]; ROWS];
    for piece in x.chunks(ROWS * SUM_DEPOSITS) {
        if !note::<MAGNITUDE>(piece, to) {
            // Infinities and NaN: what is finite no longer matters.
            continue;
        }
        let (fours, rest) = piece.as_chunks::<ROWS>();
        for four in fours {
            for (row, x) in rows.iter_mut().zip(four) {
                deposit::<MAGNITUDE>(row, *x);
            }
        }
        for (row, x) in rows.iter_mut().zip(rest) {
            deposit::<MAGNITUDE>(row, *x);
        }
        rows.iter_mut().for_each(carry);
    }
    for row in rows {
        to.deposit_digits(row, 32, -1075);
    }
}

/// Notes count, signs and special values of a piece; whether all is finite.
fn note<const MAGNITUDE: bool>(piece: &[f64], to: &mut ExactAccumulator) -> bool {
    // Both loops are in vector registers: an exponent of all ones carries into the sign bit.
    let (mut carried, mut signs) = (0_u64, u64::MAX);
    for x in piece {
        let bits = x.to_bits();
        carried |= (bits & (u64::MAX >> 1)) + (1 << 52);
        signs &= bits;
    }
    let finite = carried >> 63 == 0;
    let mut special = Special {
        not_negative: MAGNITUDE || signs >> 63 == 0,
        ..Special::default()
    };
    if !finite {
        for x in piece.iter().filter(|x| !x.is_finite()) {
            special.note(if MAGNITUDE { x.abs() } else { *x });
        }
    }
    to.note(piece.len(), special);
    finite
}

/// Adds a finite number to a row.
#[inline(always)]
fn deposit<const MAGNITUDE: bool>(row: &mut [i64; SUM_DIGITS], x: f64) {
    let bits = x.to_bits();
    let biased = bits >> 52 & 0x7ff;
    let hidden = u64::from(biased != 0);
    let integer = bits & ((1 << 52) - 1) | hidden << 52;
    let sign = if MAGNITUDE { 0 } else { (bits as i64) >> 63 };
    let integer = (integer as i64 ^ sign) - sign;
    // Subnormal numbers have the exponent of the smallest normal ones.
    let exponent = biased + 1 - hidden;
    let shift = exponent % 32;
    let first = (exponent / 32) as usize;
    // A term is two digits: 32 bits that are not negative, and the rest with the sign.
    row[first] += integer << shift & 0xffff_ffff;
    row[first + 1] += integer >> (32 - shift);
}

/// Adds the dot product of two slices of one length.
pub(super) fn dot_f64(x: &[f64], y: &[f64], to: &mut ExactAccumulator) {
    if x.len() < FEW {
        x.iter()
            .zip(y)
            .for_each(|(x, y)| to.add_one_product(*x, *y));
        return;
    }
    let mut rows = [[0_i64; DOT_DIGITS]; ROWS];
    for (x, y) in x
        .chunks(ROWS * DOT_DEPOSITS)
        .zip(y.chunks(ROWS * DOT_DEPOSITS))
    {
        if !note_products(x, y, to) {
            continue;
        }
        let (x_fours, x_rest) = x.as_chunks::<ROWS>();
        let (y_fours, y_rest) = y.as_chunks::<ROWS>();
        for (x, y) in x_fours.iter().zip(y_fours) {
            for (row, (x, y)) in rows.iter_mut().zip(x.iter().zip(y)) {
                deposit_product(row, *x, *y);
            }
        }
        for (row, (x, y)) in rows.iter_mut().zip(x_rest.iter().zip(y_rest)) {
            deposit_product(row, *x, *y);
        }
        rows.iter_mut().for_each(carry);
    }
    for row in rows {
        to.deposit_digits(row, 32, -2150);
    }
}

/// Notes count, signs and special values of products; whether all factors are finite.
fn note_products(x: &[f64], y: &[f64], to: &mut ExactAccumulator) -> bool {
    let (mut carried, mut signs) = (0_u64, u64::MAX);
    for (x, y) in x.iter().zip(y) {
        let (a, b) = (x.to_bits(), y.to_bits());
        carried |= (a & (u64::MAX >> 1)) + (1 << 52);
        carried |= (b & (u64::MAX >> 1)) + (1 << 52);
        signs &= a ^ b;
    }
    let finite = carried >> 63 == 0;
    let mut special = Special {
        not_negative: signs >> 63 == 0,
        ..Special::default()
    };
    if !finite {
        let pairs = x.iter().zip(y);
        for (x, y) in pairs.filter(|(x, y)| !x.is_finite() || !y.is_finite()) {
            special.note(x * y);
        }
    }
    to.note(x.len(), special);
    finite
}

/// Adds the product of two finite numbers to a row.
#[inline(always)]
fn deposit_product(row: &mut [i64; DOT_DIGITS], x: f64, y: f64) {
    let (a, b) = (x.to_bits(), y.to_bits());
    let (a_biased, b_biased) = (a >> 52 & 0x7ff, b >> 52 & 0x7ff);
    let (a_hidden, b_hidden) = (u64::from(a_biased != 0), u64::from(b_biased != 0));
    let a_integer = a & ((1 << 52) - 1) | a_hidden << 52;
    let b_integer = b & ((1 << 52) - 1) | b_hidden << 52;
    let sign = ((a ^ b) as i64) >> 63;
    let product = i128::from((a_integer as i64 ^ sign) - sign) * i128::from(b_integer as i64);
    let exponent = a_biased + b_biased + 2 - a_hidden - b_hidden;
    let (low, high) = (product as u64, (product >> 64) as i64);
    let shift = exponent % 32;
    let first = (exponent / 32) as usize;
    let w0 = low << shift;
    let w1 = (high << shift) as u64 | low >> 1 >> (63 - shift);
    let w2 = high >> 1 >> (63 - shift);
    let row = &mut row[first..first + 4];
    row[0] += i64::from(w0 as u32);
    row[1] += (w0 >> 32) as i64;
    row[2] += i64::from(w1 as u32);
    row[3] += (w2 << 32) + (w1 >> 32) as i64;
}

/// Bins of a sum of `f32`: one an exponent, so that an addend needs no shift. Its integer has 24 bits, which leaves room for 2^39 of them.
const BINS: usize = 256;

/// Adds the sum of a slice, or of its magnitudes.
pub(super) fn sum_f32<const MAGNITUDE: bool>(x: &[f32], to: &mut ExactAccumulator) {
    if x.len() < 2 * BINS {
        x.iter()
            .for_each(|x| to.add_number(f64::from(if MAGNITUDE { x.abs() } else { *x })));
        return;
    }
    let mut rows = [[0_i64; BINS]; ROWS];
    for piece in x.chunks(ROWS * SUM_DEPOSITS) {
        let (mut carried, mut signs) = (0_u32, u32::MAX);
        for x in piece {
            let bits = x.to_bits();
            carried |= (bits & (u32::MAX >> 1)) + (1 << 23);
            signs &= bits;
        }
        let mut special = Special {
            not_negative: MAGNITUDE || signs >> 31 == 0,
            ..Special::default()
        };
        if carried >> 31 == 1 {
            for x in piece.iter().filter(|x| !x.is_finite()) {
                special.note(f64::from(if MAGNITUDE { x.abs() } else { *x }));
            }
        }
        to.note(piece.len(), special);
        let (fours, rest) = piece.as_chunks::<ROWS>();
        for four in fours {
            for (row, x) in rows.iter_mut().zip(four) {
                deposit_f32::<MAGNITUDE>(row, *x);
            }
        }
        for (row, x) in rows.iter_mut().zip(rest) {
            deposit_f32::<MAGNITUDE>(row, *x);
        }
    }
    for row in &rows {
        // Subnormal numbers have the exponent of the smallest normal ones.
        to.deposit_digits([row[0] + row[1]], 1, -149);
        to.deposit_digits(row[2..BINS - 1].iter().copied(), 1, -148);
    }
}

/// Adds a number to its bin.
#[inline(always)]
fn deposit_f32<const MAGNITUDE: bool>(row: &mut [i64; BINS], x: f32) {
    let bits = x.to_bits();
    let biased = bits >> 23 & 0xff;
    let integer = bits & ((1 << 23) - 1) | u32::from(biased != 0) << 23;
    let sign = if MAGNITUDE { 0 } else { (bits as i32) >> 31 };
    row[biased as usize] += i64::from((integer as i32 ^ sign) - sign);
}

/// Adds the dot product of two slices of one length: products of two `f32` are exact in `f64`.
pub(super) fn dot_f32(x: &[f32], y: &[f32], to: &mut ExactAccumulator) {
    let mut products = [0.0; ROWS * SUM_DEPOSITS];
    for (x, y) in x.chunks(products.len()).zip(y.chunks(products.len())) {
        let products = &mut products[..x.len()];
        for (product, (x, y)) in products.iter_mut().zip(x.iter().zip(y)) {
            *product = f64::from(*x) * f64::from(*y);
        }
        sum_f64::<false>(products, to);
    }
}
