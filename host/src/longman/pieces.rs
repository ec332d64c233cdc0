//! Pieces of an integral: an amplitude times a real oscillator over a range of positive numbers; and their sums.

use rarefy_kernels::longman::{Accelerator, Status};

use super::beats::{Tone, beats};
use super::definite::definite;
use super::driver::{Imaginary, Integral, Unproven};
use super::expression::{Evaluator, Expression, Factor, Kind, Program};
use super::integrand::Farsighted;
use super::integrate::{MOST_PHASE, Settings, oscillating};
use super::oscillator::Oscillator;
use super::proof::Proof;
use super::proof::function::encloses;
use super::sides::{self, Side, Term};
use crate::error::Result;

/// Phase from which on the difference of two infinite integrals is tried first, and the longest one that is integrated between its limits where
/// the difference has an error.
const LONG: f64 = 300.0;
pub(super) const LONGEST: f64 = 2e4;

/// Names of the parameters of an oscillator within a program. No text can have them.
const FREQUENCY: &str = "frequency x";
const ORDER: &str = "order nu";

/// The integral of an amplitude times a real oscillator over a range of positive numbers.
#[derive(Clone, Copy, Debug)]
pub(super) struct Piece<'a> {
    /// Whether it belongs to the imaginary part.
    pub(super) imaginary: bool,
    pub(super) factor: f64,
    pub(super) side: &'a Side,
    /// None where the frequency is 0.
    pub(super) wave: Option<Oscillator>,
    pub(super) omega: f64,
    pub(super) from: f64,
    pub(super) to: f64,
    /// Whether x is the negative of the integral's.
    pub(super) mirrored: bool,
}

/// The values of one integral.
#[derive(Clone, Copy, Debug)]
pub(super) struct Row<'a> {
    pub(super) names: &'a [String],
    pub(super) values: &'a [f64],
}

/// A way to the integral of a piece.
pub(super) type Way = fn(&Piece<'_>, Row<'_>, &Settings) -> Result<Integral>;

/// The integral of a piece over its range as a whole.
pub(super) fn whole(piece: &Piece<'_>, row: Row<'_>, settings: &Settings) -> Result<Integral> {
    piece.integral(row, settings)
}

/// The sum of pieces, real and imaginary part apart, each by the same way.
pub(super) fn sum(
    pieces: &[Piece<'_>],
    row: Row<'_>,
    settings: &Settings,
    integral: Way,
) -> Result<Integral> {
    let mut found = Vec::with_capacity(pieces.len());
    for piece in pieces {
        found.push(integral(piece, row, settings)?);
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
            let again = integral(piece, row, &strict(piece.factor))?;
            if again.error < found.error {
                *found = again;
            }
        }
    }
    Ok(self::total(pieces, &found, settings))
}

pub(super) fn total(pieces: &[Piece<'_>], found: &[Integral], settings: &Settings) -> Integral {
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
        return Integral {
            unproven: failed.unproven,
            ..Integral::without_value(failed.status)
        };
    }
    let (mut parts, mut size) = ([Imaginary::ZERO; 2], 0.0);
    let (mut proof, mut examined) = (Proof::Monotone, f64::INFINITY);
    for (piece, f) in pieces.iter().zip(found) {
        // Nothing is left of a piece with the factor 0 but that it exists, of which an estimate above the value is no sign.
        let part = &mut parts[usize::from(piece.imaginary)];
        if piece.factor == 0.0 {
            let exists = f.status == Status::Ok || f.error < f.value.abs();
            part.error += if exists { 0.0 } else { f64::INFINITY };
        } else {
            part.value += piece.factor * f.value;
            part.error += piece.factor.abs() * (f.error + f64::EPSILON * f.value.abs());
        }
        size += f.condition.min(f64::MAX) * f.value.abs();
        if f.proof != Proof::Monotone && !encloses(&piece.side.program) {
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
    pub(super) fn values(&self, program: &Program, row: Row<'_>) -> Vec<f64> {
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

    /// The integral of the range as a whole.
    pub(super) fn integral(&self, row: Row<'_>, settings: &Settings) -> Result<Integral> {
        // Without an oscillator intervals would follow every wave.
        if self.wave.is_none() && self.to == f64::INFINITY {
            let summed = self.summed(row, settings)?;
            if let Some(found) = summed.filter(|found| found.error < f64::INFINITY) {
                return Ok(found);
            }
        }
        let found = self.direct(row, settings)?;
        self.other_forms(found, row, settings)
    }

    /// The integral by other forms of the amplitude, where the form that it has leads to no value or to an error above the tolerance.
    pub(super) fn other_forms(
        &self,
        mut found: Integral,
        row: Row<'_>,
        settings: &Settings,
    ) -> Result<Integral> {
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

    /// The oscillator and the factors of a term.
    pub(super) fn tones(&self, term: &Term, row: Row<'_>) -> Result<Vec<Tone>> {
        let own = self.wave.map(|wave| {
            let (order, quarters) = match wave {
                Oscillator::Cos => (None, 0.0),
                Oscillator::Sin => (None, 1.0),
                Oscillator::BesselJ(nu) => (Some(nu), 0.0),
            };
            Tone {
                order,
                quarters,
                ..Tone::cosine(self.omega)
            }
        });
        let number = |program: &Program| {
            Evaluator::<f64>::new(program, &self.values(program, row))
                .map(|mut evaluator| evaluator.with_error(0.0))
        };
        let factor = |factor: &sides::Factor| {
            let ((frequency, error), (phase, _)) =
                (number(&factor.frequency)?, number(&factor.phase)?);
            let (order, quarters) = match &factor.kind {
                Kind::Cos => (None, 0.0),
                Kind::Sin => (None, 1.0),
                Kind::Bessel(order) => (Some(number(order)?.0), 0.0),
            };
            // A bend that is not known to nearly all digits is none.
            let (bend, off) = factor.bend.as_ref().map_or(Ok((0.0, 0.0)), number)?;
            let known = off <= 8.0 * f64::EPSILON * bend.abs();
            Ok(Tone {
                order,
                frequency,
                error: if known { error } else { f64::INFINITY },
                phase,
                quarters,
                bend,
            })
        };
        let factors = term.factors.iter().map(factor);
        own.into_iter().map(Ok).chain(factors).collect()
    }

    /// The integral to infinity over sums and differences of the frequencies of an amplitude's cosines and sines and of the oscillator; none if there are none.
    ///
    /// The terms may be singular at 0 where their sum is not, so that they begin a half period beyond.
    fn summed(&self, row: Row<'_>, settings: &Settings) -> Result<Option<Integral>> {
        if matches!(self.wave, Some(Oscillator::BesselJ(_))) {
            return Ok(None);
        }
        let (mut terms, mut fastest) = (Vec::new(), 0.0_f64);
        for term in &self.side.terms {
            let Some(beats) = beats(&self.tones(term, row)?) else {
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
            pieces.push(Piece {
                imaginary: false,
                factor: 1.0,
                to: begin,
                ..*self
            });
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
                        mirrored: self.mirrored,
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
        Ok(Some(sum(
            &pieces,
            row,
            settings,
            |piece, row, settings| piece.integral(row, settings),
        )?))
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
        let product = self.whole(oscillator)?;
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

    /// The amplitude times the oscillator.
    pub(super) fn product(&self, oscillator: Oscillator) -> Expression {
        let factor = match oscillator {
            Oscillator::Cos => Factor::Cos,
            Oscillator::Sin => Factor::Sin,
            Oscillator::BesselJ(_) => Factor::BesselJ,
        };
        self.side.expression.times(factor, FREQUENCY, ORDER)
    }

    /// Its program.
    pub(super) fn whole(&self, oscillator: Oscillator) -> Result<Program> {
        Program::compile(&self.product(oscillator))
    }

    pub(super) fn between(
        &self,
        program: &Program,
        row: Row<'_>,
        phase: f64,
        settings: &Settings,
    ) -> Result<Option<Integral>> {
        let values = self.values(program, row);
        let tolerance = (settings.rtol, settings.atol);
        definite(
            program,
            (&values, &[]),
            (self.from, self.to),
            phase,
            tolerance,
        )
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

/// The integral of nothing.
pub(super) const NOTHING: Integral = Integral {
    value: 0.0,
    error: 0.0,
    status: Status::Ok,
    accelerator: Accelerator::None,
    ..Integral::without_value(Status::Ok)
};

/// With the status that value and error have.
pub(super) fn judged(found: Integral, settings: &Settings) -> Integral {
    let ok = found.error <= settings.atol.max(settings.rtol * found.value.abs());
    Integral {
        status: if ok { Status::Ok } else { Status::NotConverged },
        // Both parts are enclosed.
        proof: if ok { Proof::Monotone } else { Proof::None },
        examined: if ok { f64::INFINITY } else { 0.0 },
        ..found
    }
}
