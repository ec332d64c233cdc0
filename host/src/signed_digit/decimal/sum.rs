//! Sums and dot products of decimal numbers, from memory and from text.

use memchr::memchr_iter;
use rayon::prelude::*;
use serde::{Deserialize, Serialize};

use super::text::{Refusal, numbers, numbers_from, parse, same_lines};
use super::{Columns, Decimal, room_of};
use crate::compute::Resolved;
use crate::emulator::Emulator;
use crate::error::{Error, Result};
use crate::machine::Machine;
use crate::signed_digit::integer::{Integers, Resident, TextLines};
use crate::signed_digit::limb::{DIGITS, same_length};
use crate::signed_digit::lines::{cut, lines, tasks};
use crate::signed_digit::paper;

/// Numbers that one task sums.
const TASK: usize = 1 << 10;
/// Bytes of a text, or of a matrix, that are on a machine at a time.
const CHUNK: usize = 1 << 28;

/// A sum or a dot product, and over how many terms.
#[derive(Clone, Debug, Default, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[non_exhaustive]
pub struct Total {
    /// The exact value; 0 over no terms.
    pub value: Decimal,
    /// Numbers summed, or pairs multiplied.
    pub count: u64,
}

/// The exact sum.
///
/// On a machine the numbers are packed into a matrix if their exponents lie close enough together for that. Else they are summed on the CPU, where each takes
/// only its own digits' time. [`Resolved::Reference`] adds digit by digit (see [`paper`]).
///
/// # Errors
/// Where the exponents span more digits than the sum may have, or than fit into memory.
pub fn sum(numbers: &[Decimal], backend: &Resolved) -> Result<Decimal> {
    let given = room_of(numbers);
    let empty = || Columns::within(given);
    match (backend, Extent::of(numbers)) {
        (Resolved::Reference, _) => paper::sum_of_decimals(numbers),
        (Resolved::Emulator | Resolved::Cuda(_), Some(extent))
            if extent.is_dense(numbers.len()) =>
        {
            let mut columns = empty();
            for part in numbers.chunks(extent.rows()) {
                let part = Integers::aligned(part, extent.low, extent.width())?.sum(backend)?;
                columns.add(&part.shifted(extent.low))?;
            }
            Ok(columns.into_decimal())
        }
        _ => {
            let columns = numbers
                .par_chunks(TASK)
                .try_fold(empty, |mut columns, numbers| {
                    for number in numbers {
                        columns.add(number)?;
                    }
                    Ok::<_, Error>(columns)
                })
                .try_reduce(empty, Columns::merge)?;
            Ok(columns.into_decimal())
        }
    }
}

/// The exact dot product; where it is computed is chosen as in [`sum`].
///
/// # Errors
/// Where the vectors are of different lengths, or the exponents of the products span too many digits, as in [`sum`].
pub fn dot(x: &[Decimal], y: &[Decimal], backend: &Resolved) -> Result<Decimal> {
    same_length(x.len(), y.len())?;
    let given = room_of(x) + room_of(y);
    let empty = || Columns::within(given);
    match (backend, Extent::of(x), Extent::of(y)) {
        (Resolved::Reference, ..) => paper::dot_of_decimals(x, y),
        (Resolved::Emulator | Resolved::Cuda(_), Some(of_x), Some(of_y))
            if of_x.is_dense(x.len()) && of_y.is_dense(y.len()) =>
        {
            let rows = of_x.rows().min(of_y.rows());
            let mut columns = empty();
            for (x, y) in x.chunks(rows).zip(y.chunks(rows)) {
                let x = Integers::aligned(x, of_x.low, of_x.width())?;
                let y = Integers::aligned(y, of_y.low, of_y.width())?;
                columns.add(&x.dot(&y, backend)?.shifted(of_x.low + of_y.low))?;
            }
            Ok(columns.into_decimal())
        }
        _ => {
            let columns = (x.par_chunks(TASK), y.par_chunks(TASK))
                .into_par_iter()
                .try_fold(empty, |mut columns, (x, y)| {
                    for (x, y) in x.iter().zip(y) {
                        columns.add_product(x, y)?;
                    }
                    Ok::<_, Error>(columns)
                })
                .try_reduce(empty, Columns::merge)?;
            Ok(columns.into_decimal())
        }
    }
}

/// The limbs that numbers span.
struct Extent {
    low: i64,
    high: i64,
    /// Limbs that the numbers have.
    limbs: u64,
}

impl Extent {
    /// Of those that are not zero; `None` if all are.
    fn of(numbers: &[Decimal]) -> Option<Self> {
        let mut nonzero = numbers.iter().filter(|number| !number.is_zero());
        let first = nonzero.next()?;
        let start = Self {
            low: first.scale(),
            high: first.top(),
            limbs: first.limbs().len() as u64,
        };
        Some(nonzero.fold(start, |extent, number| Self {
            low: extent.low.min(number.scale()),
            high: extent.high.max(number.top()),
            limbs: extent.limbs + number.limbs().len() as u64,
        }))
    }

    fn width(&self) -> u64 {
        self.low.abs_diff(self.high)
    }

    /// Whether rows of all limbs that the numbers span are not mostly zeros.
    fn is_dense(&self, rows: usize) -> bool {
        self.width().saturating_mul(rows as u64) <= 4 * self.limbs + 1024
    }

    /// Rows of a matrix of a moderate size.
    fn rows(&self) -> usize {
        ((CHUNK / 4) as u64 / self.width().max(1)).max(1) as usize
    }
}

/// The exact sum of a text with one number a line.
///
/// Lines that are blank are passed over. On a machine the digits of integers are packed there; of other numbers, here.
///
/// # Errors
/// A line that is no number, with its number; and as [`sum`].
pub fn sum_text(text: &[u8], backend: &Resolved) -> Result<Total> {
    let mut sum = TextSum::new(text.len() as u64);
    sum.add(text, backend)?;
    Ok(sum.total())
}

/// A sum of a text that arrives in parts.
#[derive(Debug)]
pub(crate) struct TextSum {
    /// Bytes of the text, no fewer than it has digits.
    given: u64,
    columns: Columns,
    /// Numbers summed, and lines that they were on.
    count: u64,
    lines: usize,
}

impl TextSum {
    /// The sum of none so far, of a text of so many bytes.
    pub(crate) fn new(bytes: u64) -> Self {
        Self {
            given: bytes,
            columns: Columns::within(bytes),
            count: 0,
            lines: 0,
        }
    }

    /// Adds the numbers of a part that ends with the end of a line.
    pub(crate) fn add(&mut self, part: &[u8], backend: &Resolved) -> Result<()> {
        let given = self.given;
        let empty = || Columns::within(given);
        let summed = match backend {
            Resolved::Reference => {
                let numbers = numbers_from(part, self.lines)?;
                let sum = sum(&numbers, backend)?;
                self.columns.add(&sum)?;
                self.count += numbers.len() as u64;
                self.lines += memchr_iter(b'\n', part).count();
                return Ok(());
            }
            Resolved::Cpu => sum_lines(part, &empty),
            Resolved::Emulator => sum_on(&Emulator::default(), part, &empty),
            Resolved::Cuda(device) => sum_on(device, part, &empty),
        };
        let (columns, count) = summed.map_err(|refusal| refusal.in_text(part, self.lines))?;
        self.columns = std::mem::take(&mut self.columns).merge(columns)?;
        self.count += count;
        self.lines += memchr_iter(b'\n', part).count();
        Ok(())
    }

    /// The sum.
    pub(crate) fn total(self) -> Total {
        Total {
            value: self.columns.into_decimal(),
            count: self.count,
        }
    }
}

/// Sums a text on a machine, part by part.
fn sum_on<M: Machine>(
    machine: &M,
    text: &[u8],
    empty: &(dyn Fn() -> Columns + Sync),
) -> std::result::Result<(Columns, u64), Refusal> {
    let mut columns = empty();
    let mut count = 0;
    for part in cut(text, CHUNK) {
        if u32::try_from(part.len()).is_err() {
            // One line of gigabytes.
            let (others, more) = sum_lines(part, empty)?;
            columns = columns.merge(others)?;
            count += more;
            continue;
        }
        let lines = TextLines::of(part)?;
        // A few long lines among short ones would make a matrix of zeros.
        let digits = lines
            .width()
            .saturating_mul(DIGITS)
            .saturating_mul(lines.len());
        let packed = match digits <= 4 * part.len() + 1024 {
            true => Resident::from_text(machine, part, &lines)?,
            false => None,
        };
        match packed {
            Some(mut resident) => {
                resident.add_to(machine, &mut columns)?;
                count += lines.len() as u64;
            }
            None => {
                let (others, more) = sum_lines(part, empty)?;
                columns = columns.merge(others)?;
                count += more;
            }
        }
    }
    Ok((columns, count))
}

/// Sums a text on the CPU.
fn sum_lines(
    text: &[u8],
    empty: &(dyn Fn() -> Columns + Sync),
) -> std::result::Result<(Columns, u64), Refusal> {
    tasks(text)
        .into_par_iter()
        .try_fold(
            || (empty(), 0),
            |(mut columns, mut count), task| {
                for line in lines(task) {
                    columns.add(&parse(line).map_err(Refusal::Text)?)?;
                    count += 1;
                }
                Ok((columns, count))
            },
        )
        .try_reduce(
            || (empty(), 0),
            |(columns, count), (others, more)| Ok((columns.merge(others)?, count + more)),
        )
}

/// The exact dot product of two texts with one number a line each: numbers on the same lines are multiplied.
///
/// # Errors
/// As [`sum_text`] and [`dot`]; a line that is blank in one text only.
pub fn dot_text(x: &[u8], y: &[u8], backend: &Resolved) -> Result<Total> {
    same_lines(x, y)?;
    let (x, y) = (numbers(x)?, numbers(y)?);
    Ok(Total {
        value: dot(&x, &y, backend)?,
        count: x.len() as u64,
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn texts_are_summed_line_by_line() {
        let total = sum_text(b"1\n\n 2.5 \r\n-0.25e1\n+4", &Resolved::Cpu).unwrap();
        assert_eq!((total.value.to_string().as_str(), total.count), ("5", 4));
        assert_eq!(sum_text(b"", &Resolved::Cpu).unwrap(), Total::default());
        let error = sum_text(b"1\n\n2\nthree\nfour\n", &Resolved::Cpu).unwrap_err();
        assert!(
            error
                .to_string()
                .starts_with("line 4: `three`; expected a decimal number"),
            "{error}"
        );
        // Larger than a task, with the fault far down.
        let mut text = "12345678901234567890\n".repeat(30_000);
        let total = sum_text(text.as_bytes(), &Resolved::Cpu).unwrap();
        assert_eq!(total.count, 30_000);
        assert_eq!(
            total.value.to_string(),
            (12345678901234567890u128 * 30_000).to_string()
        );
        text.push_str("1e\n");
        let error = sum_text(text.as_bytes(), &Resolved::Cpu)
            .unwrap_err()
            .to_string();
        assert!(
            error.starts_with("line 30001: `1e`; expected a decimal number"),
            "{error}"
        );
    }

    #[test]
    fn dot_products_of_texts() {
        let dot = |x: &[u8], y: &[u8]| dot_text(x, y, &Resolved::Cpu);
        let total = dot(b"1e10\n-3\n\n0.5\n\n", b"1e-10\n4\n \r\n2").unwrap();
        assert_eq!((total.value.to_string().as_str(), total.count), ("-10", 3));
        // Without the blank lines -3 would be multiplied by 4, and 0.5 by 2.
        for (x, y, blank) in [
            ("1\n-3\n0.5", "1\n4\n\n2", "second"),
            ("1\n2\n\n3\n4", "1\n2\n3\n\n4", "first"),
        ] {
            let error = dot(x.as_bytes(), y.as_bytes()).unwrap_err().to_string();
            let expected = format!(
                "line 3: blank in the {blank} text only; expected numbers on the same lines of both"
            );
            assert_eq!(error, expected);
        }
        let error = dot_text(b"1\n2", b"1", &Resolved::Cpu).unwrap_err();
        assert_eq!(
            error.to_string(),
            "x and y: 2 and 1 elements; expected two vectors of one length"
        );
    }
}
