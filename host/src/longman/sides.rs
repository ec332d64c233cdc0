//! Functions on both sides of 0, and the other forms that they have.

use super::expression::{Expression, Harmonic, Kind, Program, Waves};
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
    /// The same with Bessel functions among the factors.
    pub(super) products: Vec<Term>,
    /// The same without cancellation or overflow, where identities fit.
    pub(super) stable: Option<Box<Side>>,
    /// Whether it may be singular, or have a kink, inside a range.
    pub(super) breaks: bool,
}

/// An amplitude times cosines, sines and Bessel functions.
#[derive(Clone, Debug)]
pub(super) struct Term {
    pub(super) side: Side,
    pub(super) factors: Vec<Factor>,
}

/// cos(frequency sqrt(x^2 + bend) + phase), or the like.
#[derive(Clone, Debug)]
pub(super) struct Factor {
    pub(super) kind: Kind<Program>,
    pub(super) frequency: Program,
    pub(super) phase: Program,
    /// None of an argument that is linear in x.
    pub(super) bend: Option<Program>,
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
        let terms = |waves: Waves| {
            let harmonics = expression.harmonics(waves).into_iter();
            harmonics.map(Term::new).collect::<Result<Vec<Term>>>()
        };
        Ok(Self {
            stable: Self::stable(&expression),
            program: Program::compile(&expression)?,
            terms: terms(Waves::Trigonometric).unwrap_or_default(),
            products: terms(Waves::All).unwrap_or_default(),
            breaks: expression.may_break(),
            expression,
        })
    }

    /// An expression that has no other forms.
    pub(super) fn plain(expression: Expression) -> Result<Self> {
        Ok(Self {
            program: Program::compile(&expression)?,
            terms: Vec::new(),
            products: Vec::new(),
            stable: None,
            breaks: false,
            expression,
        })
    }

    fn stable(expression: &Expression) -> Option<Box<Self>> {
        Self::plain(expression.stable()?).ok().map(Box::new)
    }
}

impl Term {
    fn new(harmonic: Harmonic) -> Result<Self> {
        let factors = harmonic.factors.into_iter().map(|factor| {
            Ok(Factor {
                kind: match factor.kind {
                    Kind::Cos => Kind::Cos,
                    Kind::Sin => Kind::Sin,
                    Kind::Bessel(order) => Kind::Bessel(Program::compile(&order)?),
                },
                frequency: Program::compile(&factor.frequency)?,
                phase: Program::compile(&factor.phase)?,
                bend: match factor.bend.is_zero() {
                    true => None,
                    false => Some(Program::compile(&factor.bend)?),
                },
            })
        });
        Ok(Self {
            factors: factors.collect::<Result<_>>()?,
            side: Side {
                stable: Side::stable(&harmonic.amplitude),
                ..Side::plain(harmonic.amplitude)?
            },
        })
    }
}
