//! The rows of digits that column sums form: steps 3 to 5 of the second method.

use super::digits::{DigitSet, SignedDigits, same_set};
use crate::error::Result;

/// How a group of numbers is summed (section IV).
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum Method {
    /// One number after another is added, without a carry: k - 1 additions.
    First,
    /// The digits of each column are added up as machine integers; their digits form rows, which are added as in the first method.
    Second(Rows),
}

/// Which rows the column sums of the second method form.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum Rows {
    /// A row for each column, with all digits of its sum: d rows, as in the paper.
    PerColumn,
    /// A row for each place of the column sums: row j holds digit j of every sum. A few rows, however many columns there are.
    PerPlace,
}

/// Digits of the longest number.
pub(super) fn width(numbers: &[SignedDigits]) -> usize {
    numbers
        .iter()
        .map(|number| number.digits().len())
        .max()
        .unwrap_or(0)
}

/// Adds a_p b_q to column p + q, for all p and q.
pub(super) fn partial_products(x: &[i8], y: &[i8], columns: &mut [i64]) {
    for (p, &a) in x.iter().enumerate() {
        for (column, &b) in columns[p..].iter_mut().zip(y) {
            *column += i64::from(a) * i64::from(b);
        }
    }
}

/// Steps 3 to 5 of the second method: the digits of the column sums form rows, which are added one by one.
pub(super) fn rows_of(set: DigitSet, columns: &[i64], rows: Rows) -> SignedDigits {
    let sums: Vec<Vec<i8>> = columns.iter().map(|&sum| set.digits_of(sum)).collect();
    let mut total = SignedDigits::zero(set);
    match rows {
        Rows::PerColumn => {
            for (place, sum) in sums.iter().enumerate() {
                let mut row = vec![0; place];
                row.extend_from_slice(sum);
                total = total.plus_digits(&row);
            }
        }
        Rows::PerPlace => {
            let places = sums.iter().map(Vec::len).max().unwrap_or(0);
            for place in 0..places {
                let mut row = vec![0; place];
                row.extend(sums.iter().map(|sum| sum.get(place).copied().unwrap_or(0)));
                total = total.plus_digits(&row);
            }
        }
    }
    total
}

impl SignedDigits {
    /// The product: partial products (eq. 16) by columns, then the second method.
    ///
    /// # Errors
    /// Numbers of different digit sets.
    pub fn times(&self, other: &Self) -> Result<Self> {
        same_set(self.set(), other.set())?;
        let mut columns = vec![0; self.digits().len() + other.digits().len()];
        partial_products(self.digits(), other.digits(), &mut columns);
        Ok(rows_of(self.set(), &columns, Rows::PerPlace))
    }
}
