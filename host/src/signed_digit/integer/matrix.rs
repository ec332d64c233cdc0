//! Many integers as a matrix with a row of balanced limbs for each.

use rarefy_kernels::Quad;
use rarefy_kernels::signed_digit::packed::SHORT_WIDTH;
use rayon::prelude::*;

use crate::error::{Error, Result};
use crate::memory_plan::{bytes_of, check_host};
use crate::signed_digit::decimal::{Columns, Decimal, numbers};
use crate::signed_digit::limb::RADIX;

/// A balanced limb is at most this in magnitude.
const HALF: i32 = (RADIX / 2) as i32;

/// Integers of any sign and length, packed: a matrix with a row of limbs for each, 0.444 bytes a digit.
///
/// All rows are as wide as the longest number needs.
#[derive(Clone, Debug, PartialEq)]
pub struct Integers {
    pub(super) limbs: Vec<Quad<i32>>,
    width: usize,
    len: usize,
    /// Whether the highest limbs are balanced too.
    pub(super) balanced: bool,
}

impl Integers {
    /// From whole numbers.
    ///
    /// # Errors
    /// A number that is not whole; a matrix that does not fit into memory.
    pub fn from_decimals(numbers: &[Decimal]) -> Result<Self> {
        if let Some(i) = numbers.iter().position(|number| !number.is_integer()) {
            return Err(Error::invalid(
                format!("number {}", i + 1),
                &numbers[i],
                "a whole number",
            ));
        }
        let top = numbers.iter().map(Decimal::top).max().unwrap_or(0);
        Self::aligned(numbers, 0, top.max(1) as u64)
    }

    /// From decimal numbers in units of 10^(9 base), which all of them must be multiples of, and with at most `width` limbs.
    pub(crate) fn aligned(numbers: &[Decimal], base: i64, width: u64) -> Result<Self> {
        let limbs = width.saturating_mul(numbers.len() as u64);
        check_host(
            &format!("a matrix of {} numbers of {width} limbs", numbers.len()),
            bytes_of::<i32>(limbs),
            "sum fewer numbers at a time",
        )?;
        Ok(Self::from_fn(numbers.len(), width as usize, |i, row| {
            let number = &numbers[i];
            let start = (number.scale() - base) as usize;
            if !number.is_zero() {
                row[start..start + number.limbs().len()].copy_from_slice(number.limbs());
            }
            number.is_negative()
        }))
    }

    /// From ordinary limbs: `fill` writes the magnitude of number i, the least limb first, over zeros, and says whether it is negative.
    ///
    /// It is called from many threads. A limb is below 10^9.
    pub fn from_fn(
        len: usize,
        width: usize,
        fill: impl Fn(usize, &mut [u32]) -> bool + Sync,
    ) -> Self {
        let width = width.max(1);
        let mut integers = Self::zeros(len, width);
        let rows = integers.limbs_mut();
        let balanced = rows[..len * width]
            .par_chunks_mut(width)
            .enumerate()
            .map_init(
                || vec![0; width],
                |magnitude, (i, row)| {
                    magnitude.fill(0);
                    let negative = fill(i, magnitude);
                    balance(magnitude, negative, row);
                    row[width - 1].abs() <= HALF
                },
            )
            .reduce(|| true, |a, b| a && b);
        integers.balanced = balanced;
        integers
    }

    /// From a text with one integer a line; blank lines are passed over.
    ///
    /// # Errors
    /// A line that is no number, or no whole one.
    pub fn from_text(text: &[u8]) -> Result<Self> {
        Self::from_decimals(&numbers(text)?)
    }

    fn zeros(len: usize, width: usize) -> Self {
        // The kernel for products of short rows takes two at a time.
        let rows = match width == SHORT_WIDTH as usize {
            true => len.next_multiple_of(2),
            false => len,
        };
        Self {
            limbs: vec![Quad::default(); (rows * width).div_ceil(4)],
            width,
            len,
            balanced: true,
        }
    }

    /// Numbers.
    pub fn len(&self) -> usize {
        self.len
    }

    /// Whether there are none.
    pub fn is_empty(&self) -> bool {
        self.len == 0
    }

    /// Limbs of a row.
    pub fn width(&self) -> usize {
        self.width
    }

    /// Bytes of the matrix.
    pub fn bytes(&self) -> u64 {
        bytes_of::<Quad<i32>>(self.limbs.len() as u64)
    }

    /// All limbs, row after row.
    pub(crate) fn limbs(&self) -> &[i32] {
        // SAFETY: a quad is four limbs without padding, aligned more strictly than a limb.
        let all = unsafe {
            std::slice::from_raw_parts(self.limbs.as_ptr().cast::<i32>(), 4 * self.limbs.len())
        };
        &all[..self.len * self.width]
    }

    fn limbs_mut(&mut self) -> &mut [i32] {
        let len = 4 * self.limbs.len();
        // SAFETY: as in `limbs`, and the borrow is exclusive.
        unsafe { std::slice::from_raw_parts_mut(self.limbs.as_mut_ptr().cast::<i32>(), len) }
    }

    /// Number `i`, if there is one.
    pub fn get(&self, i: usize) -> Option<Decimal> {
        let row = self.limbs().chunks(self.width).nth(i)?;
        let row: Vec<i64> = row.iter().map(|&limb| i64::from(limb)).collect();
        let mut columns = Columns::new(0, row.len());
        columns.add_columns(0, &row).ok()?;
        Some(columns.into_decimal())
    }

    /// The same numbers in rows that are at least as wide.
    pub(crate) fn widened(&self, width: usize) -> Self {
        let mut wide = Self::zeros(self.len, width.max(self.width));
        let wide_width = wide.width;
        let rows = wide.limbs_mut()[..self.len * wide_width].par_chunks_mut(wide_width);
        rows.zip(self.limbs().par_chunks(self.width))
            .for_each(|(wide, row)| wide[..row.len()].copy_from_slice(row));
        wide.balanced = self.balanced && wide_width == self.width;
        wide
    }

    /// Some of the numbers.
    pub(super) fn part(&self, range: std::ops::Range<usize>) -> Self {
        let mut part = Self::zeros(range.len(), self.width);
        let limbs = &self.limbs()[range.start * self.width..range.end * self.width];
        part.limbs_mut()[..limbs.len()].copy_from_slice(limbs);
        part
    }

    pub(super) fn decimals(&self) -> Vec<Decimal> {
        (0..self.len).filter_map(|i| self.get(i)).collect()
    }
}

/// From limbs 0..10^9 to balanced ones: the paper's carry-free conversion, with the radix 10^9. The highest limb takes what
/// the one below hands up, and hands nothing on.
fn balance(magnitude: &[u32], negative: bool, row: &mut [i32]) {
    let mut transfer = 0;
    let last = row.len() - 1;
    for (i, (limb, &digit)) in row.iter_mut().zip(magnitude).enumerate() {
        let mut value = digit as i32;
        let mut up = 0;
        if i < last && value >= HALF {
            value -= RADIX as i32;
            up = 1;
        }
        value += transfer;
        transfer = up;
        *limb = if negative { -value } else { value };
    }
}
