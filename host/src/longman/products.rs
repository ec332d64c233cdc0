//! Integrals to infinity of products of Bessel functions, or of a Bessel function and a cosine, of multiples of x or of sqrt(x^2 + z^2).
//!
//! From some c on the product is a sum of cosines and sines over sums and differences of the frequencies, each with an amplitude in powers of 1/x
//! ([`hankel`](super::hankel)); a difference of 0 is an integral without an oscillator. The parts are integrals like any other. Up to c the product is enclosed.
//!
//! With the factors G, |G| <= M (x/c)^e, of a term, e < 0, and t = x/c the estimate contains
//!
//! | error | bound |
//! |---|---|
//! | rest r t^-m of the expansion | r M c/(m - 1 - e) |
//! | error d of coefficient k > 0 | d M c/(k - 1 - e) |
//! | error d of coefficient 0 | d (\|G(c)\| + int \|G'\|)/omega, or that of k > 0 where omega = 0 |
//! | error d of omega, F = x A of the amplitude A | d (\|F(c)\|/omega + (\|F'(c)\| + int \|F''\|)/omega^2) |
//!
//! the last two by integration by parts.

use rarefy_kernels::longman::Status;

use super::driver::{Imaginary, Integral};
use super::expression::Kind;
use super::hankel::{Product, begin, product};
use super::integrate::Settings;
use super::oscillator::Oscillator;
use super::pieces::{NOTHING, Piece, Row, judged, total};
use super::proof::Proof;
use super::proof::function::Function;
use super::proof::interval::Interval;
use super::proof::jet::{Jet, Span};
use super::sides::{Side, Term};
use super::split;
use crate::error::Result;

/// Longest phase of all factors together up to where they are expanded.
const LONGEST: f64 = 1e5;

/// The integral with its pieces of products by their expansions, if that is better than what was found.
pub(super) fn better(
    pieces: &[Piece<'_>],
    found: Integral,
    row: Row<'_>,
    settings: &Settings,
) -> Result<Integral> {
    if matches!(found.status, Status::Ok | Status::InvalidArgument) {
        return Ok(found);
    }
    let expanded: Vec<_> = pieces
        .iter()
        .map(|piece| expanded(piece, row))
        .collect::<Result<_>>()?;
    if expanded.iter().all(Option::is_none) {
        return Ok(found);
    }
    let mut integrals = Vec::with_capacity(pieces.len());
    for (piece, expanded) in pieces.iter().zip(&expanded) {
        integrals.push(match expanded {
            Some(expanded) => match expanded.integral(piece, row, settings)? {
                // It is enclosed whatever its status, which that of a sum is to know.
                Some(integral) if pieces.len() > 1 => Integral {
                    proof: Proof::Monotone,
                    ..integral
                },
                Some(integral) => integral,
                None => return Ok(found),
            },
            None => split::integral(piece, row, settings)?,
        });
    }
    let again = total(pieces, &integrals, settings);
    let best = again.status == Status::Ok || again.error < found.error;
    Ok(if best { again } else { found })
}

/// A product from a place on.
struct Expanded {
    start: f64,
    phase: f64,
    parts: Vec<Part>,
    /// Bound on what the parts are off by.
    error: f64,
}

/// An amplitude times an oscillator, none for the frequency 0.
struct Part {
    side: Side,
    wave: Option<Oscillator>,
    omega: f64,
}

/// Largest values of a function t^e h_k(x) and of its coefficients.
struct Sizes {
    exponent: f64,
    most: [f64; 3],
}

impl Sizes {
    fn of(jet: &Jet) -> Option<Self> {
        let most = [0, 1, 2].map(|k| {
            let (mid, rad) = jet.coefficient(k);
            mid.abs() + rad
        });
        let known = most.iter().all(|m| m.is_finite());
        known.then_some(Self {
            exponent: jet.exponent(),
            most,
        })
    }

    /// Integral of |f| (c/x)^power from c on; none if that may be infinite.
    fn integral(&self, c: f64, power: f64) -> Option<f64> {
        let room = power - 1.0 - self.exponent;
        (room > 0.0).then(|| self.most[0] * c / room)
    }
}

fn expanded(piece: &Piece<'_>, row: Row<'_>) -> Result<Option<Expanded>> {
    let products = &piece.side.products;
    let bends = |term: &Term| {
        let mut factors = term.factors.iter();
        factors.any(|factor| matches!(factor.kind, Kind::Bessel(_)) || factor.bend.is_some())
    };
    let own_bessel = matches!(piece.wave, Some(Oscillator::BesselJ(_)));
    if piece.to < f64::INFINITY
        || !(products.iter().any(bends) || own_bessel && !products.is_empty())
    {
        return Ok(None);
    }
    let (mut start, mut phase) = (piece.from, 0.0_f64);
    let mut terms = Vec::with_capacity(products.len());
    for term in products {
        let tones = piece.tones(term, row)?;
        for tone in &tones {
            let Some(begin) = begin(tone) else {
                return Ok(None);
            };
            start = start.max(begin);
        }
        phase = phase.max(tones.iter().map(|tone| tone.frequency.abs()).sum());
        terms.push((term, tones));
    }
    phase *= start;
    if !(phase <= LONGEST && start > 0.0) {
        return Ok(None);
    }
    let mut expanded = Expanded {
        start,
        phase,
        parts: Vec::new(),
        error: 0.0,
    };
    for (term, tones) in &terms {
        let Some(product) = product(tones, start) else {
            return Ok(None);
        };
        if !expanded.add(piece, term, &product, row)? {
            return Ok(None);
        }
    }
    Ok(Some(expanded))
}

impl Expanded {
    /// Adds the parts of a term, and their errors; false if these have no bound.
    fn add(
        &mut self,
        piece: &Piece<'_>,
        term: &Term,
        product: &Product,
        row: Row<'_>,
    ) -> Result<bool> {
        let c = self.start;
        let span = Span {
            start: c,
            ratio: f64::INFINITY,
            order: 2,
        };
        let sizes = |side: &Side, moment: bool| {
            let values = piece.values(&side.program, row);
            let points: Vec<Interval> = values.iter().map(|v| Interval::point(*v)).collect();
            let mut function = Function::new(&side.program, &points)?;
            let jet = function.over(&span);
            if moment {
                Sizes::of(&Jet::variable(&span).times(jet, &span))
            } else {
                Sizes::of(jet)
            }
        };
        let amplitude = &term.side.expression;
        let side = |coefficients: &[f64]| {
            Side::plain(amplitude.with_series(product.halves, c, coefficients))
        };
        let Some(front) = sizes(&side(&[1.0])?, false) else {
            return Ok(false);
        };
        let mut error = front
            .integral(c, product.power as f64)
            .map(|i| i * product.rest);
        for beat in &product.beats {
            let omega = beat.frequency;
            for (k, off) in product.errors.iter().enumerate() {
                let weight = match (k, omega > 0.0) {
                    (0, true) => {
                        let falls = front.exponent < 0.0;
                        falls.then(|| (front.most[0] + front.most[1] / -front.exponent) / omega)
                    }
                    // Of a term that is exactly zero nothing is off.
                    (0, false) if beat.cosine.first() == Some(&0.0) => Some(0.0),
                    _ => front.integral(c, k as f64),
                };
                error = error
                    .zip(weight)
                    .map(|(sum, weight)| sum + 2.0 * off * weight);
            }
            let waves = [
                (&beat.cosine, Oscillator::Cos),
                (&beat.sine, Oscillator::Sin),
            ];
            for (coefficients, wave) in waves {
                let vanishes = coefficients.iter().all(|c| *c == 0.0);
                if vanishes || (omega == 0.0 && wave == Oscillator::Sin) {
                    continue;
                }
                let side = side(coefficients)?;
                if omega > 0.0 {
                    let off = beat.error + 2.0 * f64::EPSILON * omega;
                    let Some(Sizes { exponent, most }) = sizes(&side, true) else {
                        return Ok(false);
                    };
                    let bent = most[1] / c + 2.0 * most[2] / (c * (1.0 - exponent));
                    let slope = most[0] / omega + bent / omega / omega;
                    error = error
                        .filter(|_| exponent < 1.0)
                        .map(|error| error + off * slope);
                }
                self.parts.push(Part {
                    side,
                    wave: (omega > 0.0).then_some(wave),
                    omega,
                });
            }
        }
        self.error += error.unwrap_or(f64::INFINITY);
        Ok(self.error < f64::INFINITY)
    }

    fn integral(
        &self,
        piece: &Piece<'_>,
        row: Row<'_>,
        settings: &Settings,
    ) -> Result<Option<Integral>> {
        let program = match piece.wave {
            None => piece.side.program.clone(),
            Some(oscillator) => piece.whole(oscillator)?,
        };
        let head = Piece {
            to: self.start,
            ..*piece
        };
        let parts = self.parts.iter().map(|part| Piece {
            imaginary: false,
            factor: 1.0,
            side: &part.side,
            wave: part.wave,
            omega: part.omega,
            from: self.start,
            to: f64::INFINITY,
            mirrored: piece.mirrored,
        });
        let parts: Vec<Piece<'_>> = parts.collect();
        let attempt = |settings: &Settings| -> Result<Option<Integral>> {
            let tail = split::sum(&parts, row, settings)?;
            let head = if head.from < head.to {
                head.between(&program, row, self.phase, settings)?
            } else {
                Some(NOTHING)
            };
            let known = |f: &Integral| {
                matches!(f.status, Status::Ok | Status::NotConverged) && f.error < f64::INFINITY
            };
            let Some(head) = head.filter(|head| known(head) && known(&tail)) else {
                return Ok(None);
            };
            Ok(Some(self.joined(head, tail, settings)))
        };
        let Some(found) = attempt(settings)? else {
            return Ok(None);
        };
        let wanted = settings.atol.max(settings.rtol * found.value.abs());
        if found.status == Status::Ok || wanted == 0.0 {
            return Ok(Some(found));
        }
        // Both in the tolerance of the sum.
        let strict = Settings {
            rtol: 0.0,
            atol: 0.4 * wanted,
            ..*settings
        };
        let again = attempt(&strict)?.filter(|again| again.error < found.error);
        Ok(Some(again.map_or(found, |again| judged(again, settings))))
    }

    /// The sum of what is below and beyond the start.
    fn joined(&self, head: Integral, tail: Integral, settings: &Settings) -> Integral {
        let value = head.value + tail.value;
        let rounding = f64::EPSILON * (head.value.abs() + tail.value.abs());
        let size = |f: &Integral| {
            if f.value == 0.0 {
                0.0
            } else {
                f.condition.min(f64::MAX) * f.value.abs()
            }
        };
        let found = Integral {
            value,
            error: head.error + tail.error + self.error + rounding,
            condition: (size(&head) + size(&tail)) / value.abs(),
            accelerator: tail.accelerator,
            imaginary: Some(Imaginary::ZERO),
            ..NOTHING
        };
        judged(found, settings)
    }
}
