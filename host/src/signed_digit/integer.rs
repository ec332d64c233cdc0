//! Many big integers: sums and dot products without a carry until the end.
//!
//! [`Integers`] holds them as rows of limbs of radix 10^9,
//!
//! ```text
//! x = sum over i of d_i 10^(9 i),     |d_i| <= 5e8,     |d_top| <= 10^9,
//! ```
//!
//! which is the paper's redundant representation with a wide digit. A sum adds limbs column by column in 64-bit integers, with no carry at all (the second
//! method, eq. 14, before its rows are formed). A dot product adds the partial products at p + q (eq. 16) in the same way. One carry pass
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
//! **Bounds.** A column takes 9.2e9 limbs, and 36 products before its upper half is set aside. Longer sums are split there, so no number of terms
//! overflows.

pub(crate) mod cpu;
mod gpu;
mod matrix;

use rayon::prelude::*;

use super::decimal::{Columns, Decimal};
use super::limb::same_length;
use super::paper;
use crate::compute::Resolved;
use crate::emulator::Emulator;
use crate::error::{Error, Result};
pub(crate) use gpu::joined;
pub use gpu::{Resident, ResidentPair, TextLines};
pub use matrix::Integers;

impl Integers {
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
        same_length(self.len(), other.len())?;
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
        let falls = first.windows(2).find(|pair| pair[0] > pair[1]);
        let beyond = first.last().filter(|&&last| last > self.len());
        if let Some(wrong) = falls.map(|pair| &pair[1]).or(beyond) {
            return Err(Error::invalid(
                "first",
                wrong,
                format!(
                    "numbers that do not fall, and end at {} at most",
                    self.len()
                ),
            ));
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

    /// Digit by digit, by the paper's first method.
    fn reference_sum(&self) -> Result<Decimal> {
        paper::sum_of_decimals(&self.decimals())
    }

    /// Digit by digit, by partial products and the paper's second method.
    fn reference_dot(&self, other: &Self) -> Result<Decimal> {
        paper::dot_of_decimals(&self.decimals(), &other.decimals())
    }
}

/// From column sums of any length.
fn decimal(columns: Vec<i128>) -> Decimal {
    Columns::from(columns).into_decimal()
}
