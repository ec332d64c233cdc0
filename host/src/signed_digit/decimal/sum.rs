//! Sums and dot products of decimal numbers, from memory and from text.

use memchr::memchr;
use rayon::prelude::*;

use super::text::{Fault, parse};
use super::{Columns, Decimal};
use crate::backend::Resolved;
use crate::error::{Error, Result};

/// Numbers, or bytes of text, that one task sums.
const TASK: usize = 1 << 10;
const TASK_BYTES: usize = 1 << 18;

/// A sum or a dot product, and over how many terms.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Total {
    /// The exact value; 0 over no terms.
    pub value: Decimal,
    /// Numbers summed, or pairs multiplied.
    pub count: u64,
}

/// The exact sum.
///
/// # Errors
/// Where the exponents span so many digits that they do not fit into memory.
pub fn sum(numbers: &[Decimal], _backend: &Resolved) -> Result<Decimal> {
    let columns = numbers
        .par_chunks(TASK)
        .try_fold(Columns::default, |mut columns, numbers| {
            for number in numbers {
                columns.add(number)?;
            }
            Ok::<_, Error>(columns)
        })
        .try_reduce(Columns::default, Columns::merge)?;
    Ok(columns.into_decimal())
}

/// The exact dot product.
///
/// # Errors
/// Where the vectors are of different lengths, or the exponents of the products span more digits than fit into memory.
pub fn dot(x: &[Decimal], y: &[Decimal], _backend: &Resolved) -> Result<Decimal> {
    same_length(x.len(), y.len())?;
    let columns = (x.par_chunks(TASK), y.par_chunks(TASK))
        .into_par_iter()
        .try_fold(Columns::default, |mut columns, (x, y)| {
            for (x, y) in x.iter().zip(y) {
                columns.add_product(x, y)?;
            }
            Ok::<_, Error>(columns)
        })
        .try_reduce(Columns::default, Columns::merge)?;
    Ok(columns.into_decimal())
}

/// The exact sum of a text with one number a line.
///
/// Lines that are blank are passed over.
///
/// # Errors
/// A line that is no number, with its number; and as [`sum`].
pub fn sum_text(text: &[u8], _backend: &Resolved) -> Result<Total> {
    let summed = tasks(text)
        .into_par_iter()
        .try_fold(
            || (Columns::default(), 0),
            |(mut columns, mut count), task| {
                for line in lines(task) {
                    columns.add(&parse(line).map_err(Refusal::Text)?)?;
                    count += 1;
                }
                Ok::<_, Refusal>((columns, count))
            },
        )
        .try_reduce(
            || (Columns::default(), 0),
            |(columns, count), (others, more)| Ok((columns.merge(others)?, count + more)),
        );
    match summed {
        Ok((columns, count)) => Ok(Total {
            value: columns.into_decimal(),
            count,
        }),
        Err(refusal) => Err(refusal.in_text(text)),
    }
}

/// The exact dot product of two texts with one number a line each.
///
/// # Errors
/// As [`sum_text`] and [`dot`].
pub fn dot_text(x: &[u8], y: &[u8], backend: &Resolved) -> Result<Total> {
    let (x, y) = (numbers(x)?, numbers(y)?);
    Ok(Total {
        value: dot(&x, &y, backend)?,
        count: x.len() as u64,
    })
}

/// The numbers of a text with one number a line.
pub(crate) fn numbers(text: &[u8]) -> Result<Vec<Decimal>> {
    let parts: std::result::Result<Vec<Vec<_>>, _> = tasks(text)
        .into_par_iter()
        .map(|task| lines(task).map(parse).collect())
        .collect();
    match parts {
        Ok(parts) => Ok(parts.into_iter().flatten().collect()),
        Err(fault) => Err(Refusal::Text(fault).in_text(text)),
    }
}

/// Refuses vectors of different lengths.
pub(crate) fn same_length(x: usize, y: usize) -> Result<()> {
    if x == y {
        return Ok(());
    }
    Err(Error::input(format!(
        "a dot product needs two vectors of one length; the first has {x} numbers, the second {y}"
    )))
}

/// Why a task of many could not go on.
enum Refusal {
    /// A line is no number; which one, the whole text tells.
    Text(Fault),
    Library(Error),
}

impl From<Error> for Refusal {
    fn from(error: Error) -> Self {
        Self::Library(error)
    }
}

impl Refusal {
    /// The error, with the first line that is no number.
    fn in_text(self, text: &[u8]) -> Error {
        let fault = match self {
            Self::Library(error) => return error,
            Self::Text(fault) => fault,
        };
        for (i, line) in text.split(|&c| c == b'\n').enumerate() {
            if !line.trim_ascii().is_empty()
                && let Err(fault) = parse(line)
            {
                return fault.error(line, Some(i + 1));
            }
        }
        fault.error(b"", None)
    }
}

/// Cuts a text into parts that end with a line's end.
fn tasks(text: &[u8]) -> Vec<&[u8]> {
    let mut tasks = Vec::with_capacity(text.len() / TASK_BYTES + 1);
    let mut rest = text;
    while rest.len() > TASK_BYTES {
        let end = memchr(b'\n', &rest[TASK_BYTES..]).map_or(rest.len(), |end| TASK_BYTES + end + 1);
        let (task, after) = rest.split_at(end);
        tasks.push(task);
        rest = after;
    }
    tasks.push(rest);
    tasks
}

/// The lines of a text that are not blank.
pub(crate) fn lines(text: &[u8]) -> impl Iterator<Item = &[u8]> {
    let mut rest = Some(text);
    std::iter::from_fn(move || {
        let text = rest?;
        let end = memchr(b'\n', text);
        rest = end.map(|end| &text[end + 1..]);
        Some(&text[..end.unwrap_or(text.len())])
    })
    .filter(|line| !line.trim_ascii().is_empty())
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
                .starts_with("line 4: `three` is no decimal number"),
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
            error.starts_with("line 30001: `1e` is no decimal number"),
            "{error}"
        );
    }

    #[test]
    fn dot_products_of_texts() {
        let total = dot_text(b"1e10\n-3\n0.5", b"1e-10\n4\n\n2", &Resolved::Cpu).unwrap();
        assert_eq!((total.value.to_string().as_str(), total.count), ("-10", 3));
        let error = dot_text(b"1\n2", b"1", &Resolved::Cpu).unwrap_err();
        assert_eq!(
            error.to_string(),
            "a dot product needs two vectors of one length; the first has 2 numbers, the second 1"
        );
    }
}
