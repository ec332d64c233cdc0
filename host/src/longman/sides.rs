//! Functions on both sides of 0, and the other forms that they have.

use super::expression::{Expression, Harmonic, Program};
use crate::error::Result;

/// A real function on both sides of 0.
#[derive(Clone, Debug)]
pub(super) struct Sides {
    pub(super) right: Side,
    /// None if the function is too large on this side.
    pub(super) left: Option<Side>,
    pub(super) parity: Option<Parity>,
}

/// A function of positive numbers, and the terms of the products with cosines and sines in it.
#[derive(Clone, Debug)]
pub(super) struct Side {
    pub(super) expression: Expression,
    pub(super) program: Program,
    pub(super) terms: Vec<Term>,
    /// The same without cancellation or overflow, where identities fit.
    pub(super) stable: Option<Box<Side>>,
}

/// An amplitude times cosines and sines.
#[derive(Clone, Debug)]
pub(super) struct Term {
    pub(super) side: Side,
    /// Whether it is the sine, its frequency and its phase.
    pub(super) factors: Vec<(bool, Program, Program)>,
}

#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) enum Parity {
    Even,
    Odd,
}

impl Sides {
    pub(super) fn new(expression: Expression) -> Result<Option<Self>> {
        if expression.is_zero() {
            return Ok(None);
        }
        let parity = if expression.is_even() {
            Some(Parity::Even)
        } else if expression.is_odd() {
            Some(Parity::Odd)
        } else {
            None
        };
        Ok(Some(Self {
            left: Side::new(expression.reflected()).ok(),
            right: Side::new(expression)?,
            parity,
        }))
    }
}

impl Side {
    fn new(expression: Expression) -> Result<Self> {
        let harmonics = expression.harmonics();
        let terms: Result<Vec<Term>> = harmonics.into_iter().map(Term::new).collect();
        Ok(Self {
            stable: Self::stable(&expression),
            program: Program::compile(&expression)?,
            terms: terms.unwrap_or_default(),
            expression,
        })
    }

    fn stable(expression: &Expression) -> Option<Box<Self>> {
        let expression = expression.stable()?;
        let program = Program::compile(&expression).ok()?;
        Some(Box::new(Self {
            expression,
            program,
            terms: Vec::new(),
            stable: None,
        }))
    }
}

impl Term {
    fn new(harmonic: Harmonic) -> Result<Self> {
        let factors = harmonic.factors.iter().map(|factor| {
            let frequency = Program::compile(&factor.frequency)?;
            Ok((factor.sine, frequency, Program::compile(&factor.phase)?))
        });
        Ok(Self {
            factors: factors.collect::<Result<_>>()?,
            side: Side {
                program: Program::compile(&harmonic.amplitude)?,
                stable: Side::stable(&harmonic.amplitude),
                expression: harmonic.amplitude,
                terms: Vec::new(),
            },
        })
    }
}
