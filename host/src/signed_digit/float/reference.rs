//! The scalar reference: a sum in one long binary number, as it is done by hand.
//!
//! A two's complement number of 4416 bits takes each addend at its place, and a carry goes as far as it must. There are no redundant digits here,
//! so nothing of the method that it checks.

use super::accumulator::{ExactAccumulator, Special, UNIT, WORD, WORDS};
use super::format::Float;
use crate::error::Result;
use crate::signed_digit::limb::same_length;

/// The exact sum of a slice, one number after the other.
pub fn sum<T: Float>(x: &[T]) -> ExactAccumulator {
    let mut sum = LongNumber::new();
    for x in x {
        sum.add_product(x.to_f64(), 1.0);
    }
    sum.accumulator()
}

/// The exact sum of the magnitudes of a slice.
pub fn magnitude_sum<T: Float>(x: &[T]) -> ExactAccumulator {
    let mut sum = LongNumber::new();
    for x in x {
        sum.add_product(x.to_f64().abs(), 1.0);
    }
    sum.accumulator()
}

/// The exact dot product of two slices of one length, one product after the other.
///
/// # Errors
/// Slices of different lengths.
pub fn dot<T: Float>(x: &[T], y: &[T]) -> Result<ExactAccumulator> {
    same_length(x.len(), y.len())?;
    let mut sum = LongNumber::new();
    for (x, y) in x.iter().zip(y) {
        sum.add_product(x.to_f64(), y.to_f64());
    }
    Ok(sum.accumulator())
}

struct LongNumber {
    /// Two's complement, lowest word first; the lowest bit is worth 2^UNIT.
    words: [u32; WORDS],
    count: usize,
    special: Special,
}

impl LongNumber {
    fn new() -> Self {
        Self {
            words: [0; WORDS],
            count: 0,
            special: Special::default(),
        }
    }

    fn add_product(&mut self, x: f64, y: f64) {
        let negative = x.is_sign_negative() != y.is_sign_negative();
        self.count += 1;
        self.special.not_negative |= !negative;
        if !x.is_finite() || !y.is_finite() {
            self.special.note(x * y);
            return;
        }
        let ((a, i), (b, j)) = (integer_and_exponent(x), integer_and_exponent(y));
        let product = u128::from(a) * u128::from(b);
        let place = (i + j - UNIT) as usize;
        for bit in (0..128).filter(|bit| product >> bit & 1 == 1) {
            self.add_bit(place + bit, negative);
        }
    }

    /// Adds or subtracts 2^place, in units.
    fn add_bit(&mut self, place: usize, negative: bool) {
        let mut carry = 1_u32 << (place % WORD);
        for word in &mut self.words[place / WORD..] {
            let (sum, more) = if negative {
                word.overflowing_sub(carry)
            } else {
                word.overflowing_add(carry)
            };
            *word = sum;
            if !more {
                return;
            }
            carry = 1;
        }
    }

    fn accumulator(&self) -> ExactAccumulator {
        let below_zero = self.words[WORDS - 1] >> (WORD - 1) == 1;
        let mut words = self.words.map(i64::from);
        if below_zero {
            let mut carry = true;
            for (negated, word) in words.iter_mut().zip(self.words) {
                let magnitude;
                (magnitude, carry) = (!word).overflowing_add(u32::from(carry));
                *negated = -i64::from(magnitude);
            }
        }
        let mut sum = ExactAccumulator::new();
        sum.deposit_digits(words, WORD as u32, UNIT);
        sum.note(self.count, self.special);
        sum
    }
}

/// Magnitude of a finite number as `integer 2^exponent`.
fn integer_and_exponent(x: f64) -> (u64, i32) {
    let bits = x.to_bits();
    let fraction = bits & ((1 << 52) - 1);
    match (bits >> 52 & 0x7ff) as i32 {
        0 => (fraction, -1074),
        biased => (fraction | 1 << 52, biased - 1075),
    }
}
