//! Sums and dot products of complex numbers, part by part.

use super::outcome::{Exact, Outcome};
use super::quantity::Quantity;
use crate::cli::numbers::{Layout, Numbers};
use crate::cli::text::name_of;
use crate::error::{Error, Result};
use crate::signed_digit::float::{ExactAccumulator, ExactEngine};

/// Elements that are in memory at a time.
const PIECE: usize = 1 << 20;

/// Numbers that remain when real and imaginary parts are separate arrays.
const REAL: &str = "real ones; numpy: f.real and f.imag are two arrays of them";

/// Refuses complex numbers among the factors of a mode.
pub(super) fn refuse(mode: &str, inputs: &[&Numbers]) -> Result<()> {
    match inputs.iter().find(|input| input.is_complex()) {
        None => Ok(()),
        Some(_) => Err(Error::invalid(mode, "complex numbers", REAL)),
    }
}

/// The sum or the mean of an array of complex numbers, or their norm.
pub(super) fn sum(
    engine: &ExactEngine,
    (input, layout): (&Numbers, &Layout),
    quantity: Quantity,
) -> Result<Outcome> {
    let mut sums = [ExactAccumulator::new(), ExactAccumulator::new()];
    for range in pieces(layout) {
        let parts = input.parts(layout, range)?;
        for (sum, part) in sums.iter_mut().zip(&parts) {
            sum.merge(&match quantity {
                Quantity::Sum | Quantity::Mean => engine.sum(part)?,
                Quantity::Norm => engine.sum_of_squares(part)?,
                _ => {
                    let mode = format!("--{}", name_of(&quantity));
                    return Err(Error::invalid(mode, "complex numbers", REAL));
                }
            });
        }
    }
    let [mut re, im] = sums;
    let value = if quantity == Quantity::Norm {
        re.merge(&im);
        Exact::Binary(re)
    } else {
        Exact::Complex(Box::new([re, im]))
    };
    Ok(outcome(value, layout, engine))
}

/// The sum of products x y, or of conj(x) y. A real factor multiplies both parts of the other.
pub(super) fn dot(
    engine: &ExactEngine,
    (x, of_x): (&Numbers, &Layout),
    (y, of_y): (&Numbers, &Layout),
    conjugate: bool,
) -> Result<Outcome> {
    let (mut re, mut im) = (ExactAccumulator::new(), ExactAccumulator::new());
    for range in pieces(of_x) {
        let [a, mut b] = x.parts(of_x, range.clone())?;
        let [c, d] = y.parts(of_y, range)?;
        if conjugate {
            b.iter_mut().for_each(|b| *b = -*b);
        }
        re.merge(&engine.dot(&a, &c)?);
        if of_y.element.is_complex() {
            im.merge(&engine.dot(&a, &d)?);
        }
        if of_x.element.is_complex() {
            im.merge(&engine.dot(&b, &c)?);
        }
        if of_x.element.is_complex() && of_y.element.is_complex() {
            b.iter_mut().for_each(|b| *b = -*b);
            re.merge(&engine.dot(&b, &d)?);
        }
    }
    Ok(outcome(Exact::Complex(Box::new([re, im])), of_x, engine))
}

fn outcome(value: Exact, layout: &Layout, engine: &ExactEngine) -> Outcome {
    Outcome {
        value,
        count: layout.len() as u64,
        machine: engine.device(),
    }
}

fn pieces(layout: &Layout) -> impl Iterator<Item = std::ops::Range<usize>> {
    let len = layout.len();
    (0..len)
        .step_by(PIECE)
        .map(move |first| first..(first + PIECE).min(len))
}
