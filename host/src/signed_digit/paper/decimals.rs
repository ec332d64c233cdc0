//! Sums of decimal numbers, digit by digit.

use super::digits::DigitSet;
use super::float::Float;
use super::rows::{Rows, partial_products, rows_of};
use crate::error::Result;
use crate::signed_digit::decimal::{Decimal, room_of};
use crate::signed_digit::limb::{check_budget, same_length};

/// The exact sum of decimal numbers, digit by digit with the first method, in the paper's floating-point format.
pub(crate) fn sum_of_decimals(numbers: &[Decimal]) -> Result<Decimal> {
    let mut low = i64::MAX;
    let mut high = i64::MIN;
    for number in numbers.iter().filter(|number| !number.is_zero()) {
        low = low.min(number.scale());
        high = high.max(number.top());
    }
    check_budget(low, high, room_of(numbers))?;
    let mut sum = Float::zero();
    for number in numbers {
        sum = sum.plus(&Float::from_decimal(number))?;
    }
    Ok(sum.to_decimal())
}

/// The exact dot product of decimal numbers, digit by digit.
pub(crate) fn dot_of_decimals(x: &[Decimal], y: &[Decimal]) -> Result<Decimal> {
    same_length(x.len(), y.len())?;
    let pairs = || {
        x.iter()
            .zip(y)
            .filter(|(x, y)| !x.is_zero() && !y.is_zero())
    };
    let low = pairs()
        .map(|(x, y)| x.scale() + y.scale())
        .min()
        .unwrap_or(0);
    let high = pairs().map(|(x, y)| x.top() + y.top()).max().unwrap_or(0);
    check_budget(low, high, room_of(x) + room_of(y))?;
    // Digits of radix 10^9 hold nine of these; a redundant number may have one more.
    let mut columns = vec![0i64; 9 * (high - low) as usize + 2];
    for (x, y) in pairs() {
        let (x, y) = (Float::from_decimal(x), Float::from_decimal(y));
        let start = (x.exponent() + y.exponent() - 9 * low) as usize;
        partial_products(
            x.digits().digits(),
            y.digits().digits(),
            &mut columns[start..],
        );
    }
    let digits = rows_of(DigitSet::PAPER, &columns, Rows::PerPlace);
    Ok(Float::of(digits, 9 * low).to_decimal())
}
