//! Integrals between any limits, of any frequency, of complex amplitudes: sums of pieces.
//!
//! | integral | pieces |
//! |---|---|
//! | from below 0 | split at 0; the left side is that of g(-x), with the parity of the oscillator |
//! | of the frequency 0 | g itself with cosine and J_0; nothing with sine and with J_nu, nu > 0 |
//! | to a finite limit | the product of g and oscillator between intervals' bounds ([`definite`](super::definite)), or the difference of two infinite integrals |
//! | of an amplitude with factors cos(k x + c) | where that is not OK by itself: the sum over sums and differences of the frequencies ([`beats`](super::beats)) |
//! | of exp(i omega x), or a complex g | real and imaginary part, each with cosine and sine |
//!
//! The pieces meet the tolerance of the sum: where they cancel, they are computed once more.

use rarefy_kernels::longman::{Accelerator, Status};

use super::beats::{Tone, beats};
use super::definite::definite;
use super::driver::{Imaginary, Integral, Unproven};
use super::expression::{Evaluator, Expression, Factor, Harmonic, Program};
use super::integrand::Farsighted;
use super::integrate::{MOST_PHASE, Settings, oscillating};
use super::oscillator::Oscillator;
use super::proof::Proof;
use super::proof::function::encloses;
use crate::error::Result;

/// Phase from which on the difference of two infinite integrals is tried first, and the longest one that is integrated between its limits where
/// the difference has an error.
const LONG: f64 = 300.0;
const LONGEST: f64 = 2e4;

/// Names of the parameters of an oscillator within a program. No text can have them.
const FREQUENCY: &str = "frequency x";
const ORDER: &str = "order nu";

/// The oscillator of an integral.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) enum Wave {
    Real(Oscillator),
    /// exp(i omega x)
    Exp,
}

/// A real function on both sides of 0.
#[derive(Clone, Debug)]
struct Sides {
    right: Side,
    /// None if the function is too large on this side.
    left: Option<Side>,
    parity: Option<Parity>,
}

/// A function of positive numbers, and the terms of the products with cosines and sines in it.
#[derive(Clone, Debug)]
struct Side {
    expression: Expression,
    program: Program,
    terms: Vec<Term>,
    /// The same without cancellation or overflow, where identities fit.
    stable: Option<Box<Side>>,
}

/// An amplitude times cosines and sines.
#[derive(Clone, Debug)]
struct Term {
    side: Side,
    /// Whether it is the sine, its frequency and its phase.
    factors: Vec<(bool, Program, Program)>,
}

#[derive(Clone, Copy, Debug, PartialEq)]
enum Parity {
    Even,
    Odd,
}

/// An amplitude: its real part, and its imaginary one; none where that is 0.
#[derive(Clone, Debug)]
pub(super) struct Amplitudes {
    parts: [Option<Sides>; 2],
}

/// The integral of an amplitude times a real oscillator over a range of positive numbers.
#[derive(Clone, Copy, Debug)]
struct Piece<'a> {
    /// Whether it belongs to the imaginary part.
    imaginary: bool,
    factor: f64,
    side: &'a Side,
    /// None where the frequency is 0.
    wave: Option<Oscillator>,
    omega: f64,
    from: f64,
    to: f64,
}

/// The values of one integral.
#[derive(Clone, Copy, Debug)]
pub(super) struct Row<'a> {
    pub(super) names: &'a [String],
    pub(super) values: &'a [f64],
}

impl Sides {
    fn new(expression: Expression) -> Result<Option<Self>> {
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
}

impl Side {
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
            .any(|side| !side.terms.is_empty() || side.stable.is_some())
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
        Ok(Integral {
            imaginary: None,
            ..piece.better(found, row, settings)?
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
        let found = sum(&pieces, row, settings)?;
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

/// The sum of pieces, real and imaginary part apart.
fn sum(pieces: &[Piece<'_>], row: Row<'_>, settings: &Settings) -> Result<Integral> {
    let mut found = Vec::with_capacity(pieces.len());
    for piece in pieces {
        found.push(piece.integral(row, settings)?);
        if matches!(
            found.last().map(|f| f.status),
            Some(Status::PremiseViolated | Status::NotFinite | Status::InvalidArgument)
        ) {
            break;
        }
    }
    let total = total(pieces, &found, settings);
    if pieces.len() < 2 || total.status != Status::NotConverged || !total.value.is_finite() {
        return Ok(total);
    }
    // Pieces that cancel, or are small beside others, in the tolerance of the sum.
    let size = total.imaginary.map_or(0.0, |part| part.value);
    let wanted = settings.atol.max(settings.rtol * total.value.hypot(size));
    let share = 0.5 * wanted / pieces.len() as f64;
    let strict = |factor: f64| Settings {
        rtol: 0.0,
        atol: share / factor.abs().max(1.0),
        ..*settings
    };
    for (piece, found) in pieces.iter().zip(&mut found) {
        let error = piece.factor.abs() * found.error;
        if error > share && error < f64::INFINITY && wanted > 0.0 {
            let again = piece.integral(row, &strict(piece.factor))?;
            if again.error < found.error {
                *found = again;
            }
        }
    }
    Ok(self::total(pieces, &found, settings))
}

fn total(pieces: &[Piece<'_>], found: &[Integral], settings: &Settings) -> Integral {
    if let [one] = found
        && let [
            Piece {
                factor: 1.0,
                imaginary: false,
                ..
            },
        ] = pieces
    {
        return Integral {
            imaginary: Some(Imaginary::ZERO),
            ..*one
        };
    }
    let failed = |f: &&Integral| !matches!(f.status, Status::Ok | Status::NotConverged);
    if let Some(failed) = found.iter().find(failed) {
        return Integral::without_value(failed.status);
    }
    let (mut parts, mut size) = ([Imaginary::ZERO; 2], 0.0);
    let (mut proof, mut examined) = (Proof::Monotone, f64::INFINITY);
    for (piece, f) in pieces.iter().zip(found) {
        // Nothing is left of a piece with the factor 0 but that it exists.
        let part = &mut parts[usize::from(piece.imaginary)];
        if piece.factor == 0.0 {
            part.error += if f.error < f64::INFINITY {
                0.0
            } else {
                f64::INFINITY
            };
        } else {
            part.value += piece.factor * f.value;
            part.error += piece.factor.abs() * (f.error + f64::EPSILON * f.value.abs());
        }
        size += f.condition.min(f64::MAX) * f.value.abs();
        if !encloses(&piece.side.program) {
            proof = Proof::Sampled;
            examined = f64::min(examined, f.examined);
            // Of samples that are not OK nothing is known.
            if f.status != Status::Ok {
                part.error = f64::INFINITY;
            }
        }
    }
    for part in &mut parts {
        // The error of what is no number is none.
        if !(part.value.is_finite() && part.error < f64::INFINITY) {
            part.error = f64::INFINITY;
        }
    }
    let modulus = parts[0].value.hypot(parts[1].value);
    let wanted = settings.atol.max(settings.rtol * modulus);
    let error = parts[0].error.max(parts[1].error);
    let accelerator = found.iter().map(|f| f.accelerator);
    let ok = error < f64::INFINITY && error <= wanted;
    Integral {
        value: parts[0].value,
        error: parts[0].error,
        status: if ok { Status::Ok } else { Status::NotConverged },
        accelerator: accelerator
            .reduce(|a, b| if a == b { a } else { Accelerator::None })
            .unwrap_or(Accelerator::None),
        condition: if modulus > 0.0 {
            (size / modulus).max(1.0)
        } else {
            f64::NAN
        },
        proof: if ok { proof } else { Proof::None },
        examined: if ok { examined } else { 0.0 },
        unproven: found.iter().find_map(|f| f.unproven).filter(|_| !ok),
        imaginary: Some(parts[1]),
    }
}

impl Piece<'_> {
    fn values(&self, program: &Program, row: Row<'_>) -> Vec<f64> {
        let value = |name: &String| match name.as_str() {
            FREQUENCY => self.omega,
            ORDER => match self.wave {
                Some(Oscillator::BesselJ(nu)) => nu,
                _ => f64::NAN,
            },
            _ => {
                let place = row.names.iter().position(|known| known == name);
                place
                    .and_then(|place| row.values.get(place).copied())
                    .unwrap_or(f64::NAN)
            }
        };
        program.parameters().iter().map(value).collect()
    }

    fn integral(&self, row: Row<'_>, settings: &Settings) -> Result<Integral> {
        // Without an oscillator intervals would follow every wave.
        if self.wave.is_none() && self.to == f64::INFINITY {
            let summed = self.summed(row, settings)?;
            if let Some(found) = summed.filter(|found| found.error < f64::INFINITY) {
                return Ok(found);
            }
        }
        let found = self.direct(row, settings)?;
        self.better(found, row, settings)
    }

    /// The integral by other forms of the amplitude, where the form that it has leads to no value or to an error above the tolerance.
    fn better(&self, mut found: Integral, row: Row<'_>, settings: &Settings) -> Result<Integral> {
        let refused = |found: &Integral| found.status != Status::Ok;
        if let Some(side) = self.side.stable.as_deref().filter(|_| refused(&found)) {
            let again = Self { side, ..*self }.direct(row, settings)?;
            if again.error < found.error {
                found = again;
            }
        }
        if refused(&found)
            && self.to == f64::INFINITY
            && self.wave.is_some()
            && let Some(again) = self.summed(row, settings)?
            && again.error < found.error
        {
            found = again;
        }
        Ok(found)
    }

    /// The integral to infinity over sums and differences of the frequencies of an amplitude's cosines and sines and of the oscillator; none if there are none.
    ///
    /// The terms may be singular at 0 where their sum is not, so that they begin a half period beyond.
    fn summed(&self, row: Row<'_>, settings: &Settings) -> Result<Option<Integral>> {
        let own = match self.wave {
            None => None,
            Some(Oscillator::BesselJ(_)) => return Ok(None),
            Some(wave) => Some(Tone {
                sine: wave == Oscillator::Sin,
                frequency: self.omega,
                error: 0.0,
                phase: 0.0,
            }),
        };
        let (mut terms, mut fastest) = (Vec::new(), 0.0_f64);
        for term in &self.side.terms {
            let mut tones: Vec<Tone> = own.into_iter().collect();
            for (sine, frequency, phase) in &term.factors {
                let number = |program: &Program| {
                    Evaluator::<f64>::new(program, &self.values(program, row))
                        .map(|mut evaluator| evaluator.with_error(0.0))
                };
                let ((frequency, error), (phase, _)) = (number(frequency)?, number(phase)?);
                tones.push(Tone {
                    sine: *sine,
                    frequency,
                    error,
                    phase,
                });
            }
            let Some(beats) = beats(&tones) else {
                return Ok(None);
            };
            for beat in beats {
                fastest = fastest.max(beat.frequency);
                terms.push((&term.side, beat));
            }
        }
        if terms.is_empty() || !(fastest > 0.0 && fastest.is_finite()) {
            return Ok(None);
        }
        let begin = if self.from > 0.0 {
            self.from
        } else {
            std::f64::consts::PI / fastest
        };
        let mut pieces = Vec::new();
        if self.from < begin {
            pieces.push(Piece { to: begin, ..*self });
        }
        for (side, beat) in terms {
            let mut add = |factor: f64, wave: Option<Oscillator>| {
                if factor != 0.0 {
                    pieces.push(Piece {
                        imaginary: false,
                        factor,
                        side,
                        wave,
                        omega: beat.frequency,
                        from: begin,
                        to: f64::INFINITY,
                    });
                }
            };
            if beat.frequency == 0.0 {
                add(beat.cosine, None);
            } else {
                add(beat.cosine, Some(Oscillator::Cos));
                add(beat.sine, Some(Oscillator::Sin));
            }
        }
        for piece in &mut pieces {
            piece.imaginary = false;
        }
        if let Some(first) = pieces.first_mut().filter(|piece| piece.to < f64::INFINITY) {
            first.factor = 1.0;
        }
        Ok(Some(sum(&pieces, row, settings)?))
    }

    fn direct(&self, row: Row<'_>, settings: &Settings) -> Result<Integral> {
        let Some(oscillator) = self.wave else {
            let found = self.between(&self.side.program, row, 0.0, settings)?;
            return Ok(found.unwrap_or_else(|| unproven(f64::NAN)));
        };
        if self.to == f64::INFINITY {
            return self.beyond(oscillator, self.from, row, settings);
        }
        let phase = self.omega * (self.to - self.from);
        let possible = self.omega * self.to < MOST_PHASE;
        if !possible {
            return Ok(Integral::without_value(Status::InvalidArgument));
        }
        let far = if phase > LONG {
            Some(self.difference(oscillator, row, settings)?)
        } else {
            None
        };
        let enough = |found: &Integral| {
            found.status == Status::Ok || (phase > LONGEST && found.error < f64::INFINITY)
        };
        if let Some(found) = far.filter(enough) {
            return Ok(found);
        }
        let factor = match oscillator {
            Oscillator::Cos => Factor::Cos,
            Oscillator::Sin => Factor::Sin,
            Oscillator::BesselJ(_) => Factor::BesselJ,
        };
        let product = Program::compile(&self.side.expression.times(factor, FREQUENCY, ORDER))?;
        let near = self.between(&product, row, phase, settings)?;
        if let Some(near) =
            near.filter(|near| near.error < f64::INFINITY || near.status == Status::PremiseViolated)
        {
            return Ok(near);
        }
        match far {
            Some(found) => Ok(found),
            None => self.difference(oscillator, row, settings),
        }
    }

    fn between(
        &self,
        program: &Program,
        row: Row<'_>,
        phase: f64,
        settings: &Settings,
    ) -> Result<Option<Integral>> {
        let values = self.values(program, row);
        let tolerance = (settings.rtol, settings.atol);
        definite(program, &values, (self.from, self.to), phase, tolerance)
    }

    /// The integral to infinity.
    fn beyond(
        &self,
        oscillator: Oscillator,
        from: f64,
        row: Row<'_>,
        settings: &Settings,
    ) -> Result<Integral> {
        let values = self.values(&self.side.program, row);
        let g = Farsighted::<f64> {
            near: Evaluator::new(&self.side.program, &values)?,
            far: Evaluator::new(&self.side.program, &values)?,
        };
        let epsilons = self.side.program.epsilons().max(oscillator.epsilons());
        let settings = Settings {
            accuracy: settings.accuracy.or(Some(f64::EPSILON * epsilons)),
            roundoff: f64::EPSILON,
            ..*settings
        };
        oscillating(g, oscillator, self.omega, from, &settings)
    }

    /// The integral to infinity from the lower limit on less that from the upper limit on.
    fn difference(
        &self,
        oscillator: Oscillator,
        row: Row<'_>,
        settings: &Settings,
    ) -> Result<Integral> {
        let enclosed = encloses(&self.side.program);
        let settled = |found: &Integral| {
            found.status == Status::Ok || (found.status == Status::NotConverged && enclosed)
        };
        let first = self.beyond(oscillator, self.from, row, settings)?;
        if !settled(&first) {
            return Ok(unproven(f64::NAN));
        }
        let second = self.beyond(oscillator, self.to, row, settings)?;
        if !settled(&second) {
            return Ok(unproven(f64::NAN));
        }
        let value = first.value - second.value;
        let error = first.error + second.error + f64::EPSILON * first.value.abs();
        let ok = error <= settings.atol.max(settings.rtol * value.abs());
        Ok(Integral {
            value,
            error,
            status: if ok { Status::Ok } else { Status::NotConverged },
            condition: (first.value.abs() + second.value.abs()) / value.abs(),
            proof: if ok { first.proof } else { Proof::None },
            examined: if ok { first.examined } else { 0.0 },
            ..first
        })
    }
}

/// A value without an error to rely on.
fn unproven(value: f64) -> Integral {
    Integral {
        value,
        unproven: Some(Unproven::Range),
        ..Integral::without_value(Status::NotConverged)
    }
}
