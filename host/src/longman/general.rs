//! Integrals between any limits, of any frequency, of complex amplitudes: sums of pieces.
//!
//! | integral | pieces |
//! |---|---|
//! | from below 0 | split at 0; the left side is that of g(-x), with the parity of the oscillator |
//! | of the frequency 0 | g itself with cosine and J_0; nothing with sine and with J_nu, nu > 0 |
//! | to a finite limit | the product of g and oscillator between intervals' bounds ([`definite`](super::definite)), or the difference of two infinite integrals |
//! | of an amplitude with factors J_nu(k x) | where that is not OK by itself: the same between the lower limit and a place from which on Hankel's expansion is a sum of cosines and sines ([`products`](super::products)) |
//! | of an amplitude with factors cos(k x + c) | where that is not OK by itself: the sum over sums and differences of the frequencies ([`beats`](super::beats)) |
//! | of exp(i omega x), or a complex g | real and imaginary part, each with cosine and sine |
//!
//! The pieces meet the tolerance of the sum: where they cancel, they are computed once more.

use rarefy_kernels::longman::Status;

use super::driver::{Imaginary, Integral};
use super::expression::{Expression, Program};
use super::integrate::Settings;
use super::oscillator::Oscillator;
use super::pieces::{Piece, Row};
use super::products;
use super::sides::{Parity, Sides};
use super::split;
use crate::error::Result;

/// The oscillator of an integral.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) enum Wave {
    Real(Oscillator),
    /// exp(i omega x)
    Exp,
}

/// An amplitude: its real part, and its imaginary one; none where that is 0.
#[derive(Clone, Debug)]
pub(super) struct Amplitudes {
    parts: [Option<Sides>; 2],
}

impl Amplitudes {
    /// A real amplitude.
    pub(super) fn real(expression: Expression) -> Result<Self> {
        Ok(Self {
            parts: [Sides::new(expression)?, None],
        })
    }

    /// An amplitude in which `unit` is the imaginary unit.
    pub(super) fn complex(expression: &Expression, unit: &str) -> Result<Self> {
        let [real, imaginary] = expression.parts(unit)?;
        Ok(Self {
            parts: [Sides::new(real)?, Sides::new(imaginary)?],
        })
    }

    /// Programs of both parts.
    pub(super) fn programs(&self) -> impl Iterator<Item = &Program> {
        self.parts
            .iter()
            .flatten()
            .map(|sides| &sides.right.program)
    }

    /// Whether the amplitude has other forms.
    pub(super) fn has_forms(&self) -> bool {
        let right = self.parts.iter().flatten().map(|sides| &sides.right);
        right
            .into_iter()
            .any(|side| !side.products.is_empty() || side.stable.is_some() || side.breaks)
    }

    fn is_complex(&self) -> bool {
        self.parts[1].is_some()
    }

    /// The pieces of an integral, and whether it is complex; none if it has no meaning.
    fn pieces(
        &self,
        wave: Wave,
        omega: f64,
        (lower, upper): (f64, f64),
    ) -> Option<(Vec<Piece<'_>>, bool)> {
        let real = |wave| [(0, 0, wave, 1.0), (1, 1, wave, 1.0)];
        let (c, s) = (Oscillator::Cos, Oscillator::Sin);
        let turn = if omega < 0.0 { -1.0 } else { 1.0 };
        // Which part of the amplitude adds to which part of the integral, with which oscillator.
        let terms = match wave {
            Wave::Real(oscillator) => real(oscillator).to_vec(),
            Wave::Exp => vec![
                (0, 0, c, 1.0),
                (0, 1, s, turn),
                (1, 0, s, -turn),
                (1, 1, c, 1.0),
            ],
        };
        let mut pieces = Vec::new();
        for (part, into, oscillator, factor) in terms {
            let Some(sides) = &self.parts[part] else {
                continue;
            };
            let wave = match oscillator {
                _ if omega != 0.0 => Some(oscillator),
                Oscillator::Cos => None,
                Oscillator::BesselJ(nu) if nu < 0.0 => return None,
                Oscillator::BesselJ(0.0) => None,
                Oscillator::Sin | Oscillator::BesselJ(_) => continue,
            };
            let right = Piece {
                imaginary: into == 1,
                factor,
                side: &sides.right,
                wave,
                omega: omega.abs(),
                from: lower.max(0.0),
                to: upper,
                mirrored: false,
            };
            if lower >= 0.0 {
                pieces.push(right);
                continue;
            }
            // The oscillator of -x.
            let parity = match oscillator {
                Oscillator::Cos => 1.0,
                Oscillator::Sin => -1.0,
                Oscillator::BesselJ(nu) if nu != nu.floor() => return None,
                Oscillator::BesselJ(nu) if nu % 2.0 == 0.0 => 1.0,
                Oscillator::BesselJ(_) => -1.0,
            };
            let sides_parity = match sides.parity {
                Some(Parity::Even) => Some(parity),
                Some(Parity::Odd) => Some(-parity),
                None => None,
            };
            if let (true, Some(sign)) = (lower == -upper, sides_parity) {
                let factor = factor * (1.0 + sign);
                pieces.push(Piece { factor, ..right });
                continue;
            }
            if upper > 0.0 {
                pieces.push(right);
            }
            pieces.push(Piece {
                factor: factor * parity,
                side: sides.left.as_ref()?,
                from: (-upper).max(0.0),
                to: -lower,
                mirrored: true,
                ..right
            });
        }
        Some((pieces, self.is_complex() || wave == Wave::Exp))
    }

    /// The integral of a real amplitude from `lower` >= 0 to infinity by other forms of the amplitude, if that is better than what was found.
    ///
    /// # Errors
    /// As [`oscillating`].
    pub(super) fn better(
        &self,
        found: Integral,
        (oscillator, omega): (Oscillator, f64),
        row: Row<'_>,
        lower: f64,
        settings: &Settings,
    ) -> Result<Integral> {
        let pieces = self.pieces(Wave::Real(oscillator), omega, (lower, f64::INFINITY));
        let Some(([piece], false)) = pieces.as_ref().map(|(p, complex)| (&p[..], *complex)) else {
            return Ok(found);
        };
        let found = piece.other_forms(found, row, settings)?;
        let found = split::better(found, piece, row, settings)?;
        Ok(Integral {
            imaginary: None,
            ..products::better(std::slice::from_ref(piece), found, row, settings)?
        })
    }

    /// The integral between two limits.
    ///
    /// # Errors
    /// As [`oscillating`].
    pub(super) fn integral(
        &self,
        (wave, omega): (Wave, f64),
        row: Row<'_>,
        (lower, upper): (f64, f64),
        settings: &Settings,
    ) -> Result<Integral> {
        let invalid = Ok(Integral::without_value(Status::InvalidArgument));
        let (sign, limits) = if lower > upper {
            (-1.0, (upper, lower))
        } else {
            (1.0, (lower, upper))
        };
        let turned = wave == Wave::Exp || omega >= 0.0;
        let possible = !lower.is_nan() && !upper.is_nan() && omega.is_finite() && turned;
        if !possible || limits.0 == f64::INFINITY || limits.1 == f64::NEG_INFINITY {
            return invalid;
        }
        if let Wave::Real(oscillator) = wave
            && oscillator.check().is_err()
        {
            return invalid;
        }
        let Some((pieces, complex)) = self.pieces(wave, omega, limits) else {
            return invalid;
        };
        let pieces = if limits.0 == limits.1 {
            Vec::new()
        } else {
            pieces
        };
        let found = split::sum(&pieces, row, settings)?;
        let found = products::better(&pieces, found, row, settings)?;
        let scaled = |value: f64| if value == 0.0 { 0.0 } else { sign * value };
        let imaginary = found.imaginary.filter(|_| complex);
        Ok(Integral {
            value: scaled(found.value),
            imaginary: imaginary.map(|part| Imaginary {
                value: scaled(part.value),
                ..part
            }),
            ..found
        })
    }
}
