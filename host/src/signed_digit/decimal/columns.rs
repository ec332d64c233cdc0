//! Column sums of radix 10^9, and the one carry pass at their end.
//!
//! A column takes 128 bits. Its terms are below 10^9 (a limb of a number), below 10^18 (a product of two limbs) or below
//! 2^96 (a column sum of another accumulator). At least 2^31 terms fit, and 1.7e20 terms of the first two kinds.

use std::ops::Mul;

use super::Decimal;
use crate::error::Result;
use crate::memory_plan::check_host;
use crate::signed_digit::limb::{DIGITS, RADIX, check_span};

/// Columns for which no one asks whether there is memory.
const UNCHECKED: u64 = 1 << 16;
/// Bytes that a column takes until its digits are written: itself twice while the row is widened, its limb, and its nine digits.
const BYTES: u64 = 2 * 16 + 4 + 9;

/// Sums of limbs, one a position; the value is sum over i of columns\[i\] 10^(9 (base + i)).
///
/// It widens at both ends as numbers arrive.
#[derive(Clone, Debug, Default)]
pub(crate) struct Columns {
    base: i64,
    columns: Vec<i128>,
    /// Digits of all terms that are to come, where they bound the width.
    given: Option<u64>,
}

impl Columns {
    /// Zero, for positions from `base` on.
    pub(crate) fn new(base: i64, len: usize) -> Self {
        Self {
            base,
            columns: vec![0; len],
            given: None,
        }
    }

    /// Zero, as wide as a sum of terms of so many digits in all may become.
    pub(crate) fn within(given: u64) -> Self {
        Self {
            given: Some(given),
            ..Self::default()
        }
    }

    /// Makes room for the positions from `low` to below `high`; refuses what memory cannot hold.
    pub(crate) fn reserve(&mut self, low: i64, high: i64) -> Result<()> {
        if self.columns.is_empty() {
            self.base = low;
        }
        let top = self.base + self.columns.len() as i64;
        if self.base <= low && high <= top {
            return Ok(());
        }
        let (mut low, mut high) = (low.min(self.base), high.max(top));
        let needed = low.abs_diff(high);
        if needed > UNCHECKED {
            if let Some(given) = self.given {
                check_span(needed.saturating_mul(DIGITS as u64), given)?;
            }
            check_host(
                &format!(
                    "an exact sum of {} digits",
                    needed.saturating_mul(DIGITS as u64)
                ),
                needed.saturating_mul(BYTES),
                "numbers whose exponents lie closer together need less",
            )?;
        } else {
            // Exponents that fall or rise one by one must not move all columns each time.
            let more = self.columns.len() as i64 / 2;
            low -= if low < self.base { more } else { 0 };
            high += if high > top { more } else { 0 };
        }
        let front = (self.base - low) as usize;
        self.columns.splice(0..0, std::iter::repeat_n(0, front));
        self.columns.resize(low.abs_diff(high) as usize, 0);
        self.base = low;
        Ok(())
    }

    /// Adds a number.
    pub(crate) fn add(&mut self, number: &Decimal) -> Result<()> {
        if number.is_zero() {
            return Ok(());
        }
        self.reserve(number.scale(), number.top())?;
        let start = (number.scale() - self.base) as usize;
        let columns = self.columns[start..].iter_mut().zip(number.limbs());
        if number.is_negative() {
            columns.for_each(|(column, &limb)| *column -= i128::from(limb));
        } else {
            columns.for_each(|(column, &limb)| *column += i128::from(limb));
        }
        Ok(())
    }

    /// Adds the product of two numbers.
    pub(crate) fn add_product(&mut self, x: &Decimal, y: &Decimal) -> Result<()> {
        if x.is_zero() || y.is_zero() {
            return Ok(());
        }
        self.reserve(x.scale() + y.scale(), x.top() + y.top())?;
        self.deposit_product(x, y);
        Ok(())
    }

    /// Adds the product of two numbers, for all of whose limbs there is room: partial products at p + q (eq. 16).
    pub(super) fn deposit_product(&mut self, x: &Decimal, y: &Decimal) {
        if x.is_zero() || y.is_zero() {
            return;
        }
        let start = (x.scale() + y.scale() - self.base) as usize;
        let negative = x.is_negative() != y.is_negative();
        for (p, &a) in x.limbs().iter().enumerate() {
            let columns = self.columns[start + p..].iter_mut().zip(y.limbs());
            let a = u64::from(a);
            if negative {
                columns.for_each(|(column, &b)| *column -= i128::from(a * u64::from(b)));
            } else {
                columns.for_each(|(column, &b)| *column += i128::from(a * u64::from(b)));
            }
        }
    }

    /// Adds column sums, the first of which is at position `base`.
    pub(crate) fn add_columns<T: Into<i128> + Copy>(
        &mut self,
        base: i64,
        columns: &[T],
    ) -> Result<()> {
        if columns.is_empty() {
            return Ok(());
        }
        self.reserve(base, base + columns.len() as i64)?;
        let start = (base - self.base) as usize;
        for (column, &value) in self.columns[start..].iter_mut().zip(columns) {
            *column += value.into();
        }
        Ok(())
    }

    /// Adds the column sums of another accumulator.
    pub(crate) fn merge(mut self, other: Self) -> Result<Self> {
        if self.columns.len() < other.columns.len() {
            return other.merge(self);
        }
        self.add_columns(other.base, &other.columns)?;
        Ok(self)
    }

    /// The value: one pass of carries from the least column up, and for a negative sum a second one.
    pub(crate) fn into_decimal(self) -> Decimal {
        const R: i128 = RADIX as i128;
        let mut limbs = Vec::with_capacity(self.columns.len() + 5);
        let mut carry = 0i128;
        for &column in &self.columns {
            let value = column + carry;
            limbs.push(value.rem_euclid(R) as u32);
            carry = value.div_euclid(R);
        }
        // Floor division ends at 0, or at -1 for ever.
        while carry != 0 && carry != -1 {
            limbs.push(carry.rem_euclid(R) as u32);
            carry = carry.div_euclid(R);
        }
        let negative = carry == -1;
        if negative {
            complement(&mut limbs);
        }
        Decimal::from_limbs(negative, limbs, self.base)
    }
}

impl From<Vec<i128>> for Columns {
    /// Columns from the position 0 on.
    fn from(columns: Vec<i128>) -> Self {
        Self {
            columns,
            ..Self::default()
        }
    }
}

impl Decimal {
    /// The sum, exactly.
    ///
    /// # Errors
    /// Exponents so far apart that the digits do not fit into memory.
    pub fn plus(&self, other: &Self) -> Result<Self> {
        let mut columns = Columns::within(self.room() + other.room());
        columns.add(self)?;
        columns.add(other)?;
        Ok(columns.into_decimal())
    }
}

impl Mul for &Decimal {
    type Output = Decimal;

    fn mul(self, other: Self) -> Decimal {
        let mut columns = Columns::new(
            self.scale() + other.scale(),
            self.limbs().len() + other.limbs().len(),
        );
        columns.deposit_product(self, other);
        columns.into_decimal()
    }
}

/// 10^(9 len) minus the number.
fn complement(limbs: &mut Vec<u32>) {
    const R: u32 = RADIX as u32;
    let mut borrow = false;
    for limb in limbs.iter_mut() {
        let value = *limb + u32::from(borrow);
        borrow = value > 0;
        *limb = if borrow { R - value } else { 0 };
    }
    if !borrow {
        // The limbs were all zero: the number is exactly -10^(9 len).
        limbs.push(1);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn room_grows_at_both_ends() {
        let mut sums = Columns::default();
        for scale in [0, 5, -3, 9, -20, 2] {
            let one = Decimal::from_limbs(false, vec![1], scale);
            sums.add(&one).unwrap();
            sums.add(&one).unwrap();
        }
        let mut expected = Columns::new(-20, 30);
        for scale in [0, 5, -3, 9, -20, 2] {
            expected.add_columns(scale, &[2i64]).unwrap();
        }
        assert_eq!(sums.into_decimal(), expected.into_decimal());
        let far = Decimal::from_limbs(false, vec![1], 1 << 50);
        let mut sums = Columns::default();
        sums.add(&far).unwrap();
        let error = sums.add(&Decimal::from(1)).unwrap_err().to_string();
        assert!(error.contains("main memory and"), "{error}");
        // Ten million digits, and sixteen for each of the terms.
        let mut sums = Columns::within(18);
        sums.add(&Decimal::from(1)).unwrap();
        let at = |scale| Decimal::from_limbs(false, vec![1], scale);
        sums.add(&at(1_111_142)).unwrap();
        let error = sums.add(&at(1_111_143)).unwrap_err().to_string();
        assert_eq!(
            error,
            "exact result: 10000296 digits; expected at most 10000288 from these numbers, whose exponents lie too far apart"
        );
    }

    #[test]
    fn carries_and_borrows_run_through() {
        let value = |columns: &[i64]| {
            let mut sums = Columns::new(0, columns.len());
            sums.add_columns(0, columns).unwrap();
            sums.into_decimal().to_string()
        };
        assert_eq!(value(&[]), "0");
        assert_eq!(value(&[0, 0]), "0");
        assert_eq!(value(&[-1]), "-1");
        assert_eq!(value(&[0, -1]), "-1000000000");
        assert_eq!(value(&[1, -1]), "-999999999");
        assert_eq!(value(&[-1, 0, 1]), "999999999999999999");
        assert_eq!(value(&[1_000_000_000, 999_999_999]), "1000000000000000000");
        assert_eq!(value(&[i64::MIN]), i64::MIN.to_string());
        assert_eq!(
            value(&[i64::MAX, -1]),
            (i64::MAX - 1_000_000_000).to_string()
        );
        assert_eq!(
            value(&[0, 0, -1_000_000_000]),
            format!("-1{}", "0".repeat(27))
        );
    }
}
