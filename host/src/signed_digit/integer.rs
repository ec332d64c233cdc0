//! Many big integers: sums and dot products without a carry until the end.
//!
//! [`Integers`] holds them as rows of limbs of radix 10^9,
//!
//! ```text
//! x = sum over i of d_i 10^(9 i),     |d_i| <= 5e8,     |d_top| <= 10^9,
//! ```
//!
//! which is the paper's redundant representation with a wide digit. A sum adds limbs column by column in 64-bit integers, with no carry at all (the second
//! method, eq. 14, before its rows are formed); a dot product adds the partial products at p + q (eq. 16) in the same way. One carry pass
//! per result makes ordinary digits of it. Signs are the signs of the limbs.
//!
//! ```
//! use rarefy::Backend;
//! use rarefy::signed_digit::integer::Integers;
//!
//! let backend = Backend::Cpu.resolve()?;
//! let x = Integers::from_text(b"99999999999999999999\n-1\n1000000000000000000000\n")?;
//! assert_eq!(x.sum(&backend)?.to_string(), "1099999999999999999998");
//! assert_eq!(x.dot(&x, &backend)?.to_string(), "1009999999999999999999800000000000000000002");
//! # Ok::<(), rarefy::Error>(())
//! ```
//!
//! **Bounds.** A column takes 9.2e9 limbs, and 36 products before its upper half is set aside; longer sums are split there, so no number of terms
//! overflows.

pub(crate) mod cpu;
mod gpu;

use rarefy_kernels::Quad;
use rarefy_kernels::signed_digit::packed::SHORT_WIDTH;
use rayon::prelude::*;

use super::decimal::{Columns, Decimal, numbers, same_length};
use super::radix10;
use crate::backend::Resolved;
use crate::emulator::Emulator;
use crate::error::{Error, Result};
use crate::memory_plan::{bytes_of, check_host};
pub(crate) use gpu::joined;
pub use gpu::{Resident, ResidentPair, TextLines};

/// Radix of a limb.
pub(crate) const RADIX: i64 = rarefy_kernels::signed_digit::packed::RADIX;
/// Decimal digits of a limb.
pub(crate) const DIGITS: usize = rarefy_kernels::signed_digit::packed::DIGITS as usize;
/// A balanced limb is at most this in magnitude.
const HALF: i32 = (RADIX / 2) as i32;

/// The value of at most nine digits.
pub(crate) fn limb_of(digits: &[u8]) -> u32 {
    if let [first @ .., last] = digits
        && let Ok(eight) = <[u8; 8]>::try_from(first)
    {
        return 10 * value_of_eight(eight) + u32::from(last - b'0');
    }
    digits
        .iter()
        .fold(0, |value, c| 10 * value + u32::from(c - b'0'))
}

/// The value of eight digits, in three multiplications: pairs become numbers, then fours, then all eight, side by side in one word.
fn value_of_eight(digits: [u8; 8]) -> u32 {
    const LANES: u64 = 0x0000_00FF_0000_00FF;
    let ones = u64::from_le_bytes(digits) - 0x3030_3030_3030_3030;
    let pairs = ones.wrapping_mul(10) + (ones >> 8);
    let upper = (pairs & LANES).wrapping_mul(100 + (1_000_000 << 32));
    let lower = (pairs >> 16 & LANES).wrapping_mul(1 + (10_000 << 32));
    (upper.wrapping_add(lower) >> 32) as u32
}

/// How many digits a text begins with.
pub(crate) fn leading_digits(text: &[u8]) -> usize {
    let mut eights = text.chunks_exact(8);
    let mut count = 0;
    for eight in &mut eights {
        let word = u64::from_le_bytes(eight.try_into().unwrap_or_default());
        // A digit is 0x30 to 0x39: its upper half is 3, also when 6 is added.
        let upper = |word: u64| word & 0xF0F0_F0F0_F0F0_F0F0;
        let threes = 0x3030_3030_3030_3030;
        if upper(word) != threes || upper(word + 0x0606_0606_0606_0606) != threes {
            break;
        }
        count += 8;
    }
    count
        + text[count..]
            .iter()
            .take_while(|c| c.is_ascii_digit())
            .count()
}

/// Integers of any sign and length, packed: a matrix with a row of limbs for each, 0.444 bytes a digit.
///
/// All rows are as wide as the longest number needs.
#[derive(Clone, Debug, PartialEq)]
pub struct Integers {
    limbs: Vec<Quad<i32>>,
    width: usize,
    len: usize,
    /// Whether the highest limbs are balanced too.
    balanced: bool,
}

impl Integers {
    /// From whole numbers.
    ///
    /// # Errors
    /// A number that is not whole; a matrix that does not fit into memory.
    pub fn from_decimals(numbers: &[Decimal]) -> Result<Self> {
        if let Some(i) = numbers.iter().position(|number| !number.is_integer()) {
            return Err(Error::input(format!(
                "number {} is no whole number: {}",
                i + 1,
                numbers[i]
            )));
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

    /// The exact sum.
    ///
    /// # Errors
    /// A sum that does not fit into memory; a fault of the device.
    pub fn sum(&self, backend: &Resolved) -> Result<Decimal> {
        match backend {
            Resolved::Cpu => Ok(decimal(cpu::column_sums(self))),
            Resolved::Reference => self.reference_sum(),
            Resolved::Emulator => gpu::sum(&Emulator::default(), self),
            Resolved::Cuda(device) => gpu::sum(device, self),
        }
    }

    /// The exact dot product with as many other numbers.
    ///
    /// # Errors
    /// Vectors of different lengths; a sum that does not fit into memory; a fault of the device.
    pub fn dot(&self, other: &Self, backend: &Resolved) -> Result<Decimal> {
        same_length(self.len, other.len)?;
        match backend {
            Resolved::Cpu => Ok(decimal(cpu::product_columns(self, other))),
            Resolved::Reference => self.reference_dot(other),
            Resolved::Emulator => gpu::dot(&Emulator::default(), self, other),
            Resolved::Cuda(device) => gpu::dot(device, self, other),
        }
    }

    /// The exact sums of groups of consecutive numbers: sum s is over the numbers from `first[s]` to below `first[s + 1]`.
    ///
    /// # Errors
    /// Where `first` falls, or leaves the range of the numbers.
    pub fn segmented_sums(&self, first: &[usize], backend: &Resolved) -> Result<Vec<Decimal>> {
        let rising = first.windows(2).all(|pair| pair[0] <= pair[1]);
        if !rising || first.last().is_some_and(|&last| last > self.len) {
            return Err(Error::input(format!(
                "the first numbers of groups must not fall, and end at {} at most",
                self.len
            )));
        }
        if first.len() < 2 {
            return Ok(Vec::new());
        }
        match backend {
            Resolved::Cpu => Ok(first
                .par_windows(2)
                .map(|group| decimal(cpu::column_sums_of(self, group[0]..group[1])))
                .collect()),
            Resolved::Reference => first
                .windows(2)
                .map(|group| self.part(group[0]..group[1]).reference_sum())
                .collect(),
            Resolved::Emulator => gpu::segmented_sums(&Emulator::default(), self, first),
            Resolved::Cuda(device) => gpu::segmented_sums(device, self, first),
        }
    }

    /// Some of the numbers.
    fn part(&self, range: std::ops::Range<usize>) -> Self {
        let mut part = Self::zeros(range.len(), self.width);
        let limbs = &self.limbs()[range.start * self.width..range.end * self.width];
        part.limbs_mut()[..limbs.len()].copy_from_slice(limbs);
        part
    }

    /// Digit by digit, by the paper's first method.
    fn reference_sum(&self) -> Result<Decimal> {
        radix10::sum_of_decimals(&self.decimals())
    }

    /// Digit by digit, by partial products and the paper's second method.
    fn reference_dot(&self, other: &Self) -> Result<Decimal> {
        radix10::dot_of_decimals(&self.decimals(), &other.decimals())
    }

    fn decimals(&self) -> Vec<Decimal> {
        (0..self.len).filter_map(|i| self.get(i)).collect()
    }
}

/// From column sums of any length.
fn decimal(columns: Vec<i128>) -> Decimal {
    Columns::from(columns).into_decimal()
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
