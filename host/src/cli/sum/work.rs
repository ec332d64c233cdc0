//! The exact results of files.

use std::path::Path;

use num_bigint::BigInt;

use super::axis::{Sums, Task};
use super::complex;
use super::outcome::{Exact, Outcome};
use super::quantity::Quantity;
use crate::cli::ledger::{self, LedgerArgs};
use crate::cli::numbers::{self, Element, Fixed, Kind, Layout, Numbers};
use crate::cli::text::name_of;
use crate::compute::{Compute, Precision, Resolved};
use crate::error::{Error, Result};
use crate::signed_digit::decimal::{self, Decimal, Entry, Ledger, TextSum};
use crate::signed_digit::float::{ExactAccumulator, ExactEngine, Float};
use crate::signed_digit::statistics::{self, Ratio};

/// The work on the files of a command.
pub(super) struct Work<'a> {
    pub(super) quantity: Quantity,
    pub(super) axes: &'a [i64],
    pub(super) lost: u64,
    pub(super) offsets: Option<&'a Path>,
    pub(super) conjugate: bool,
    pub(super) weights: Option<&'a Path>,
    pub(super) by: Option<&'a str>,
    pub(super) flags: &'a LedgerArgs,
}

pub(super) fn sum(
    input: &Numbers,
    work: &Work<'_>,
    round: Precision,
    compute: Compute,
) -> Result<Outcome> {
    let quantity = work.quantity;
    if let Some(weights) = work.weights {
        return weighted_mean(input, &Numbers::open(weights)?, work, compute);
    }
    match input.kind() {
        Kind::Text => {
            if !work.axes.is_empty() || matches!(quantity, Quantity::Cumulative | Quantity::Offsets)
            {
                return Err(no_decimal(work));
            }
            let resolved = compute.resolve()?;
            let reader = work.flags.reader(work.by);
            if quantity == Quantity::Sum && reader == Ledger::default() && !input.is_table()? {
                let mut sum = TextSum::new(input.bytes());
                let mut foreign = false;
                let added = input.text_parts(|part| {
                    let is_line = |error: &Error| matches!(error, Error::Input { field, .. } if field.starts_with("line "));
                    let added = sum.add(part, &resolved);
                    added.inspect_err(|error| foreign = is_line(error))
                });
                match added {
                    Ok(()) => {
                        let total = sum.total();
                        return Ok(Outcome::decimal(total.value, total.count, &resolved));
                    }
                    // Perhaps the numbers are amounts.
                    Err(_) if foreign => {}
                    Err(error) => return Err(error),
                }
            }
            let entries = ledger::entries(input, &reader)?;
            let count = entries.iter().map(|entry| entry.numbers.len() as u64).sum();
            let of = |entry: &Entry| of_decimals(&entry.numbers, work, &resolved);
            let value = match entries.as_slice() {
                [entry] if work.by.is_none() => of(entry)?,
                _ => {
                    let values = entries.iter().map(of).collect::<Result<Vec<_>>>()?;
                    let by = work.by.map(str::to_owned);
                    Exact::Table(by, entries.into_iter().zip(values).collect())
                }
            };
            Ok(Outcome::exact(value, count, &resolved))
        }
        Kind::Array(layout) if layout.element.is_complex() => {
            complex::sum(&ExactEngine::new(compute)?, (input, layout), quantity)
        }
        Kind::Array(layout) if layout.element.is_float() => {
            let engine = ExactEngine::new(compute)?;
            let offsets = work.offsets.map(|path| Numbers::open(path)?.offsets());
            let offsets = offsets.transpose()?;
            let of_array = match quantity {
                Quantity::Cumulative | Quantity::Offsets => {
                    Some(Sums::of_runs((input, layout), offsets.as_deref())?)
                }
                _ if work.axes.is_empty() => None,
                _ => {
                    let task = Task {
                        quantity,
                        axes: work.axes,
                        lost: work.lost,
                        round,
                    };
                    Some(Sums::new(&engine, (input, layout), task)?)
                }
            };
            if let Some(sums) = of_array {
                return Ok(Outcome {
                    value: Exact::Rounded(sums),
                    count: layout.len() as u64,
                    machine: engine.device(),
                });
            }
            let of = |quantity| {
                if layout.element.is_single() {
                    sum_of::<f32>(&engine, (input, layout), quantity)
                } else {
                    sum_of::<f64>(&engine, (input, layout), quantity)
                }
            };
            if !matches!(quantity, Quantity::Var | Quantity::Std) {
                return Ok(Outcome::binary(of(quantity)?, &engine));
            }
            let (sum, squares) = (of(Quantity::Sum)?, of(Quantity::Squares)?);
            let ratio = statistics::variance_of_sums(&sum, &squares, work.lost);
            Ok(Outcome {
                value: Exact::Ratio(ratio, quantity == Quantity::Std),
                count: sum.count(),
                machine: engine.device(),
            })
        }
        Kind::Array(layout) => {
            // A backend that is not there is refused, though the CPU is as fast as the data come.
            compute.resolve()?;
            if !work.axes.is_empty() || matches!(quantity, Quantity::Cumulative | Quantity::Offsets)
            {
                return Err(no_decimal(work));
            }
            let sum = |magnitudes| decimal_of(input.sum_of_integers(layout, magnitudes)?);
            let squares = || decimal_of(input.dot_of_integers(layout, input, layout)?);
            let count = layout.len() as u64;
            let value = match quantity {
                Quantity::Abs => Exact::Decimal(sum(true)?),
                Quantity::Squares => Exact::Decimal(squares()?),
                Quantity::Norm => Exact::Ratio(Ratio::new(squares()?, 1.into()), true),
                Quantity::Mean => Exact::Ratio(Ratio::new(sum(false)?, count.into()), false),
                Quantity::Var | Quantity::Std => {
                    let sums = [sum(false)?, squares()?];
                    let ratio = statistics::variance_of_decimals(sums, count, work.lost)?;
                    Exact::Ratio(ratio, quantity == Quantity::Std)
                }
                _ => Exact::Decimal(sum(false)?),
            };
            Ok(Outcome::exact(value, count, &Resolved::Cpu))
        }
    }
}

/// A quantity of decimal numbers.
fn of_decimals(numbers: &[Decimal], work: &Work<'_>, resolved: &Resolved) -> Result<Exact> {
    let root = work.quantity == Quantity::Std;
    Ok(match work.quantity {
        Quantity::Abs => {
            let magnitudes: Vec<_> = numbers.iter().map(Decimal::abs).collect();
            Exact::Decimal(decimal::sum(&magnitudes, resolved)?)
        }
        Quantity::Squares => Exact::Decimal(decimal::dot(numbers, numbers, resolved)?),
        Quantity::Norm => {
            let squares = decimal::dot(numbers, numbers, resolved)?;
            Exact::Ratio(Ratio::new(squares, 1.into()), true)
        }
        Quantity::Mean => Exact::Ratio(statistics::decimal_mean(numbers, resolved)?, false),
        Quantity::Var | Quantity::Std => Exact::Ratio(
            statistics::decimal_variance(numbers, work.lost, resolved)?,
            root,
        ),
        _ => Exact::Decimal(decimal::sum(numbers, resolved)?),
    })
}

/// The sum of products with the weights, divided by the sum of these.
fn weighted_mean(
    x: &Numbers,
    weights: &Numbers,
    work: &Work<'_>,
    compute: Compute,
) -> Result<Outcome> {
    complex::refuse("--weights", &[x, weights])?;
    let products = dot(x, weights, work, compute)?;
    let total = Work {
        quantity: Quantity::Sum,
        weights: None,
        ..*work
    };
    let total = sum(weights, &total, Precision::F64, compute)?;
    let exact = |value: &Exact| match value {
        Exact::Decimal(value) => Some(value.clone()),
        Exact::Binary(sum) => sum.value().to_decimal(),
        _ => None,
    };
    let (Some(above), Some(below)) = (exact(&products.value), exact(&total.value)) else {
        return Err(Error::invalid(
            "weights",
            "numbers or weights that are not finite",
            "finite ones",
        ));
    };
    Ok(Outcome {
        value: Exact::Ratio(Ratio::new(above, below), false),
        ..products
    })
}

fn decimal_of(value: BigInt) -> Result<Decimal> {
    value.to_string().parse()
}

fn sum_of<T: Float + Fixed>(
    engine: &ExactEngine,
    (input, layout): (&Numbers, &Layout),
    quantity: Quantity,
) -> Result<ExactAccumulator> {
    let mut sum = ExactAccumulator::new();
    input.pieces::<T>(layout, |x| {
        sum.merge(&match quantity {
            Quantity::Abs => engine.magnitude_sum(x)?,
            Quantity::Squares | Quantity::Norm => engine.sum_of_squares(x)?,
            _ => engine.sum(x)?,
        });
        Ok(())
    })?;
    Ok(sum)
}

fn dot_of<T: Float + Fixed>(
    engine: &ExactEngine,
    x: (&Numbers, &Layout),
    y: (&Numbers, &Layout),
) -> Result<ExactAccumulator> {
    let mut sum = ExactAccumulator::new();
    Numbers::pairs::<T>(x, y, |x, y| {
        sum.merge(&engine.dot(x, y)?);
        Ok(())
    })?;
    Ok(sum)
}

fn no_decimal(work: &Work<'_>) -> Error {
    let name = match work.quantity {
        _ if !work.axes.is_empty() => "axis".to_owned(),
        quantity => name_of(&quantity),
    };
    Error::invalid(
        format!("--{name}"),
        "integers or decimal numbers",
        ".npy arrays of floating-point numbers, for whose sums alone it is there",
    )
}

pub(super) fn dot(x: &Numbers, y: &Numbers, work: &Work<'_>, compute: Compute) -> Result<Outcome> {
    match (x.kind(), y.kind()) {
        (Kind::Array(a), Kind::Array(b)) => {
            numbers::check_pairing((x, a), (y, b))?;
            if a.element.is_integer() && b.element.is_integer() {
                compute.resolve()?;
                let value = decimal_of(x.dot_of_integers(a, y, b)?)?;
                return Ok(Outcome::decimal(value, a.len() as u64, &Resolved::Cpu));
            }
            let engine = ExactEngine::new(compute)?;
            if a.element.is_complex() || b.element.is_complex() {
                return complex::dot(&engine, (x, a), (y, b), work.conjugate);
            }
            let sum = match (a.element, b.element) {
                (a_element, b_element) if a_element.is_single() && b_element.is_single() => {
                    dot_of::<f32>(&engine, (x, a), (y, b))?
                }
                (Element::F64, Element::F64) => dot_of::<f64>(&engine, (x, a), (y, b))?,
                _ => dot_of_mixed(&engine, (x, a), (y, b))?,
            };
            Ok(Outcome::binary(sum, &engine))
        }
        (Kind::Text, Kind::Text) => {
            let resolved = compute.resolve()?;
            let reader = work.flags.reader(None);
            let (of_x, of_y) = (ledger::column(x, &reader)?, ledger::column(y, &reader)?);
            if of_x.column.is_some() == of_y.column.is_some() {
                ledger::check_lines(&of_x, &of_y).map_err(|error| y.in_file(error))?;
            }
            pairs(&of_x, &of_y, &resolved)
        }
        _ => Err(Error::invalid(
            "files",
            "a .npy array and text",
            "two arrays or two texts",
        )),
    }
}

/// The dot product of two columns of one table.
pub(super) fn dot_of_columns(x: &Numbers, work: &Work<'_>, compute: Compute) -> Result<Outcome> {
    let resolved = compute.resolve()?;
    let entries = ledger::entries(x, &work.flags.reader(None))?;
    let [of_x, of_y] = entries.as_slice() else {
        return Err(Error::invalid("column", entries.len(), "two columns"));
    };
    ledger::check_lines(of_x, of_y).map_err(|error| x.in_file(error))?;
    pairs(of_x, of_y, &resolved)
}

fn pairs(x: &Entry, y: &Entry, resolved: &Resolved) -> Result<Outcome> {
    let value = decimal::dot(&x.numbers, &y.numbers, resolved)?;
    Ok(Outcome::decimal(value, x.numbers.len() as u64, resolved))
}

/// Elements of two types, in `f64` piece by piece.
fn dot_of_mixed(
    engine: &ExactEngine,
    x: (&Numbers, &Layout),
    y: (&Numbers, &Layout),
) -> Result<ExactAccumulator> {
    const PIECE: usize = 1 << 22;
    let mut sum = ExactAccumulator::new();
    for first in (0..x.1.len()).step_by(PIECE) {
        let range = first..(first + PIECE).min(x.1.len());
        let (x, y) = (x.0.as_f64(x.1, range.clone())?, y.0.as_f64(y.1, range)?);
        sum.merge(&engine.dot(&x, &y)?);
    }
    Ok(sum)
}
