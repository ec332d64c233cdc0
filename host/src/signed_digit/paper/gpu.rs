//! The paper's methods with a thread a digit: the launches.

use std::fmt;

use rarefy_kernels::signed_digit::packed::clear_columns;
use rarefy_kernels::signed_digit::paper::{self as kernels, CHAIN_THREADS, DIGIT_THREADS};

use super::digits::{DigitSet, SignedDigits};
use super::rows::{Method, Rows, width};
use crate::error::{Error, Result};
use crate::machine::{Grid, Machine};
use crate::memory_plan::{check_device, check_shared};
use crate::signed_digit::limb::same_length;

/// Blocks of the column kernels that one multiprocessor is given.
const BLOCKS: u32 = 16;
/// Digits of a 64-bit column sum in redundant form, at most.
const MOST_PLACES: usize = 20;

/// The sum of numbers in the paper's digits.
pub(super) fn sum<M: Machine>(
    machine: &M,
    set: DigitSet,
    numbers: &[SignedDigits],
    method: Method,
) -> Result<SignedDigits> {
    check_set(set)?;
    let mut resident = ResidentDigits::new(machine, numbers)?;
    resident.sum(machine, method)
}

/// The dot product of numbers in the paper's digits.
pub(super) fn dot<M: Machine>(
    machine: &M,
    set: DigitSet,
    x: &[SignedDigits],
    y: &[SignedDigits],
    rows: Rows,
) -> Result<SignedDigits> {
    check_set(set)?;
    let mut resident = ResidentVectors::new(machine, x, y)?;
    resident.dot(machine, rows)
}

fn check_set(set: DigitSet) -> Result<()> {
    if set == DigitSet::PAPER {
        return Ok(());
    }
    Err(Error::invalid(
        "set of digits",
        set,
        format!("{}, which the kernels add", DigitSet::PAPER),
    ))
}

/// Digits of all numbers in rows of one width.
fn matrix(numbers: &[SignedDigits], width: usize) -> Vec<i8> {
    let mut digits = vec![0; numbers.len() * width];
    for (row, number) in digits.chunks_mut(width.max(1)).zip(numbers) {
        row[..number.digits().len()].copy_from_slice(number.digits());
    }
    digits
}

/// A count or a width that the kernels index with 32 bits.
fn index(what: &str, count: usize) -> Result<u32> {
    u32::try_from(count)
        .map_err(|_| Error::invalid(what, count, format!("at most {} at once", u32::MAX)))
}

/// Decimal digits of a count.
fn digits_in(count: usize) -> usize {
    count.checked_ilog10().map_or(1, |log| log as usize + 1)
}

/// Numbers in the paper's digits in the memory of a machine.
pub struct ResidentDigits<M: Machine> {
    digits: M::Buffer<i8>,
    count: usize,
    width: usize,
    columns: Columns<M>,
}

impl<M: Machine> fmt::Debug for ResidentDigits<M> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("ResidentDigits")
            .field("count", &self.count)
            .field("width", &self.width)
            .finish_non_exhaustive()
    }
}

impl<M: Machine> ResidentDigits<M> {
    /// Copies numbers to the machine.
    ///
    /// # Errors
    /// Where they do not fit.
    pub fn new(machine: &M, numbers: &[SignedDigits]) -> Result<Self> {
        let width = width(numbers).max(1);
        Self::from_matrix(machine, &matrix(numbers, width), width)
    }

    /// Copies a matrix of digits -6..6, one number of `width` digits after another, the least digit first.
    ///
    /// # Errors
    /// Where it does not fit, or does not consist of whole rows.
    pub fn from_matrix(machine: &M, digits: &[i8], width: usize) -> Result<Self> {
        if width == 0 || !digits.len().is_multiple_of(width) {
            return Err(Error::invalid(
                "digits",
                format!("{} digits", digits.len()),
                format!("whole rows of {width}"),
            ));
        }
        let count = digits.len() / width;
        check_device(
            &machine.limits()?,
            "a matrix of digits",
            digits.len() as u64,
            "sum fewer numbers at a time",
        )?;
        index("numbers", count)?;
        Ok(Self {
            digits: machine.upload(digits)?,
            count,
            width,
            // A number whose leading digit is at place m is larger than 10^m / 3 in magnitude, so one place more than the sum has is enough.
            columns: Columns::new(machine, width, width + digits_in(count) + 1, 6 * count)?,
        })
    }

    /// Starts the kernels of a sum.
    ///
    /// # Errors
    /// A fault of the device.
    pub fn launch(&mut self, machine: &M, method: Method) -> Result<()> {
        let (count, width) = (self.count as u32, index("digits", self.width)?);
        match method {
            Method::First => self.columns.chain(machine, &self.digits, count, width),
            Method::Second(rows) => {
                self.columns.clear(machine)?;
                let tiles = width.div_ceil(DIGIT_THREADS);
                let groups = (machine.limits()?.multiprocessors.max(1) * BLOCKS / tiles)
                    .clamp(1, count.div_ceil(8).max(1));
                machine.launch(
                    Grid {
                        blocks: groups * tiles,
                        threads: DIGIT_THREADS,
                    },
                    kernels::digit_columns {
                        numbers: &self.digits,
                        columns: &mut self.columns.sums,
                        count,
                        width,
                        tiles,
                    },
                )?;
                self.columns.rows(machine, rows)
            }
        }
    }

    /// The sum.
    ///
    /// # Errors
    /// A fault of the device.
    pub fn sum(&mut self, machine: &M, method: Method) -> Result<SignedDigits> {
        self.launch(machine, method)?;
        self.columns.read(machine)
    }
}

/// Two vectors of numbers in the paper's digits in the memory of a machine.
pub struct ResidentVectors<M: Machine> {
    x: M::Buffer<i8>,
    y: M::Buffer<i8>,
    pairs: usize,
    widths: [usize; 2],
    columns: Columns<M>,
}

impl<M: Machine> fmt::Debug for ResidentVectors<M> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("ResidentVectors")
            .field("pairs", &self.pairs)
            .field("widths", &self.widths)
            .finish_non_exhaustive()
    }
}

impl<M: Machine> ResidentVectors<M> {
    /// Copies two vectors to the machine.
    ///
    /// # Errors
    /// Where they are of different lengths, or do not fit.
    pub fn new(machine: &M, x: &[SignedDigits], y: &[SignedDigits]) -> Result<Self> {
        same_length(x.len(), y.len())?;
        let widths = [width(x).max(1), width(y).max(1)];
        Self::from_matrices(
            machine,
            &matrix(x, widths[0]),
            &matrix(y, widths[1]),
            widths,
        )
    }

    /// Copies two matrices of digits -6..6 with rows of these widths.
    ///
    /// # Errors
    /// Where they are of different lengths, do not fit, or do not consist of whole rows.
    pub fn from_matrices(machine: &M, x: &[i8], y: &[i8], widths: [usize; 2]) -> Result<Self> {
        let [x_width, y_width] = widths;
        if x_width == 0
            || y_width == 0
            || !x.len().is_multiple_of(x_width)
            || !y.len().is_multiple_of(y_width)
        {
            return Err(Error::invalid(
                "x and y",
                format!("{} and {} digits", x.len(), y.len()),
                format!("whole rows of {x_width} and {y_width}"),
            ));
        }
        same_length(x.len() / x_width, y.len() / y_width)?;
        let pairs = x.len() / x_width;
        check_device(
            &machine.limits()?,
            "two matrices of digits",
            (x.len() + y.len()) as u64,
            "multiply fewer pairs at a time",
        )?;
        index("pairs", pairs)?;
        let width = x_width + y_width;
        Ok(Self {
            x: machine.upload(x)?,
            y: machine.upload(y)?,
            pairs,
            widths,
            columns: Columns::new(
                machine,
                width,
                width + digits_in(pairs) + 1,
                36 * pairs * x_width.min(y_width),
            )?,
        })
    }

    /// Starts the kernels of the dot product.
    ///
    /// # Errors
    /// A fault of the device.
    pub fn launch(&mut self, machine: &M, rows: Rows) -> Result<()> {
        self.columns.clear(machine)?;
        let pairs = self.pairs as u32;
        let [x_width, y_width] = [
            index("digits", self.widths[0])?,
            index("digits", self.widths[1])?,
        ];
        let tiles = (x_width + y_width).div_ceil(DIGIT_THREADS);
        let groups =
            (machine.limits()?.multiprocessors.max(1) * BLOCKS / tiles).clamp(1, pairs.max(1));
        machine.launch(
            Grid {
                blocks: groups * tiles,
                threads: DIGIT_THREADS,
            },
            kernels::product_columns {
                x: &self.x,
                y: &self.y,
                columns: &mut self.columns.sums,
                pairs,
                x_width,
                y_width,
                tiles,
            },
        )?;
        self.columns.rows(machine, rows)
    }

    /// The dot product.
    ///
    /// # Errors
    /// A fault of the device.
    pub fn dot(&mut self, machine: &M, rows: Rows) -> Result<SignedDigits> {
        self.launch(machine, rows)?;
        self.columns.read(machine)
    }
}

/// Column sums, and the digits that become of them.
struct Columns<M: Machine> {
    sums: M::Buffer<u64>,
    count: usize,
    /// Rows of the second method by place.
    places: usize,
    rows: Option<(Rows, M::Buffer<i8>)>,
    digits: M::Buffer<i8>,
    width: usize,
}

impl<M: Machine> Columns<M> {
    /// For `count` columns, whose sums are at most `largest` in magnitude and make a number of `width` digits.
    fn new(machine: &M, count: usize, width: usize, largest: usize) -> Result<Self> {
        check_shared(
            &machine.limits()?,
            &format!("a sum of {width} digits by carry-free additions in one block"),
            2 * width,
            "compute on the CPU, or packed integers",
        )?;
        Ok(Self {
            sums: machine.allocate(count)?,
            count,
            rows: None,
            // The redundant form may have one digit more.
            places: (digits_in(largest) + 1).min(MOST_PLACES).min(width),
            digits: machine.allocate(width)?,
            width,
        })
    }

    fn clear(&mut self, machine: &M) -> Result<()> {
        Ok(machine.launch(
            Grid::per_item(self.count, DIGIT_THREADS),
            clear_columns {
                columns: &mut self.sums,
            },
        )?)
    }

    /// The first method over rows of digits.
    fn chain(
        &mut self,
        machine: &M,
        numbers: &M::Buffer<i8>,
        count: u32,
        width: u32,
    ) -> Result<()> {
        chain(machine, numbers, count, width, &mut self.digits, self.width)
    }

    /// From column sums to rows, and from rows to their sum.
    fn rows(&mut self, machine: &M, rows: Rows) -> Result<()> {
        let count = match rows {
            Rows::PerColumn => self.count,
            Rows::PerPlace => self.places,
        };
        if self.rows.as_ref().is_none_or(|(kind, _)| *kind != rows) {
            index("digits of rows", count * self.width)?;
            self.rows = Some((rows, machine.allocate(count * self.width)?));
        }
        let Some((_, buffer)) = &mut self.rows else {
            return Ok(());
        };
        machine.launch(
            Grid::per_item(count * self.width, DIGIT_THREADS),
            kernels::column_rows {
                columns: &self.sums,
                rows: buffer,
                count: self.count as u32,
                width: self.width as u32,
                by_place: u32::from(rows == Rows::PerPlace),
            },
        )?;
        chain(
            machine,
            buffer,
            count as u32,
            self.width as u32,
            &mut self.digits,
            self.width,
        )
    }

    fn read(&self, machine: &M) -> Result<SignedDigits> {
        let mut digits = vec![0; self.width];
        machine.read(&self.digits, &mut digits)?;
        SignedDigits::new(DigitSet::PAPER, digits)
    }
}

fn chain<M: Machine>(
    machine: &M,
    numbers: &M::Buffer<i8>,
    count: u32,
    width: u32,
    sum: &mut M::Buffer<i8>,
    sum_width: usize,
) -> Result<()> {
    let threads = (sum_width as u32).next_multiple_of(32).min(CHAIN_THREADS);
    Ok(machine.launch(
        Grid::one_block(threads),
        kernels::sum_one_by_one {
            numbers,
            sum,
            count,
            width,
            sum_width: sum_width as u32,
        },
    )?)
}
