//! Integrals of amplitudes with integrable singularities, kinks or steps inside the range.
//!
//! The range is divided at the places where the amplitude is singular or has a kink (`expression::breaks`, [`roots`](super::roots)), as |x - c|^-q, ln |x^2 - a^2| and max(0, 1 - x) have. On both sides of
//! a place c the integrand is a function of y = |x - c|, whose power at y = 0 intervals enclose ([`definite`]). So an integral that diverges there is
//! found too. The tail is Longman's from a few periods beyond the last place on. Cosine and sine far out have the phase of that place apart:
//!
//! ```text
//! int_(c+d)^inf g(x) cos(omega x) dx = cos(omega c) int_d^inf g(c+y) cos(omega y) dy - sin(omega c) int_d^inf g(c+y) sin(omega y) dy.
//! ```
//!
//! Where the quadrature of a singular head has a large error, the range from 0 on is a part like the others.
//!
//! A place is known to within its rounding. The distances from it are exact; ends of ranges between two places are not, which adds the
//! rounding times the integrand there to the error.

use super::definite::definite;
use super::driver::{Integral, Unproven};
use super::expression::{Evaluator, Expression, Location, PLACE, Program};
use super::integrate::Settings;
use super::oscillator::Oscillator;
use super::pieces::{self, LONGEST, NOTHING, Piece, Row, judged};
use super::proof::function::Function;
use super::proof::interval::Interval;
use super::proof::jet::Span;
use super::roots::{Zero, zeros};
use super::sides::Side;
use crate::error::Result;
use rarefy_kernels::longman::{Accelerator, Status};

/// Phases from the last place to where the tail begins: at least, and at most where the place is far from 0.
const NEAR_TAIL: f64 = 4.0 * std::f64::consts::PI;
const FAR_TAIL: f64 = 16.0 * std::f64::consts::PI;

/// A place of one integral, and the integrand as a function of the distance.
struct Place {
    at: f64,
    error: f64,
    above: Program,
    below: Program,
    /// The amplitude alone above the place.
    amplitude: Expression,
}

/// A part of the range.
enum Range<'a> {
    /// Of x.
    Plain(f64, f64),
    /// Of the distance from a place, above or below it.
    From(&'a Place, bool, f64, f64),
}

/// The parts of a range.
struct Ranges<'a> {
    list: Vec<Range<'a>>,
    /// Ends that are rounded: the place and by how much.
    rounded: Vec<(f64, f64)>,
    /// Ranges at a limit that is a rounded place, of which both sides may be in error.
    edges: Vec<(&'a Place, f64)>,
}

/// The integral of a piece, divided at its places where the whole has no value or an error above the tolerance.
pub(super) fn integral(piece: &Piece<'_>, row: Row<'_>, settings: &Settings) -> Result<Integral> {
    better(piece.integral(row, settings)?, piece, row, settings)
}

/// The sum of such integrals, real and imaginary part apart.
pub(super) fn sum(pieces: &[Piece<'_>], row: Row<'_>, settings: &Settings) -> Result<Integral> {
    pieces::sum(pieces, row, settings, integral)
}

/// The integral by places, where `found` has no value or an error above the tolerance.
pub(super) fn better(
    found: Integral,
    piece: &Piece<'_>,
    row: Row<'_>,
    settings: &Settings,
) -> Result<Integral> {
    if found.status == Status::Ok {
        return Ok(found);
    }
    let again = match by_places(piece, row, settings)? {
        None if has_weak_head(&found, piece.from)
            && piece.to == f64::INFINITY
            && piece.wave.is_some() =>
        {
            Split::new(piece, &[], None, row)?.integral(settings)?
        }
        again => again,
    };
    let Some(again) = again else {
        return Ok(found);
    };
    Ok(match again.unproven {
        None if again.error < found.error => again,
        // The status is that of the first attempt, whose own reason is better than that places are not known.
        Some(reason)
            if found.error == f64::INFINITY
                && (found.status == Status::NotConverged || reason != Unproven::Place) =>
        {
            Integral {
                unproven: again.unproven,
                ..found
            }
        }
        _ => found,
    })
}

/// Whether intervals from 0 on may do better than the quadrature of the head: a value that does not cancel has a large error.
pub(super) fn has_weak_head(found: &Integral, from: f64) -> bool {
    const CANCELS: f64 = 1e4;
    from == 0.0
        && found.status == Status::NotConverged
        && found.error < f64::INFINITY
        && found.condition < CANCELS
}

/// The integral of a piece by its places; none where it has none in the range.
fn by_places(piece: &Piece<'_>, row: Row<'_>, settings: &Settings) -> Result<Option<Integral>> {
    if !piece.side.breaks {
        return Ok(None);
    }
    let Known {
        places,
        hidden,
        kinks,
    } = places(piece, row)?;
    let inside =
        |place: &&Place| place.at + place.error >= piece.from && place.at - place.error <= piece.to;
    let last = places.iter().rfind(inside);
    let unknown = Integral {
        unproven: Some(Unproven::Place),
        ..Integral::without_value(Status::NotConverged)
    };
    if last.is_none() && !kinks {
        return Ok(hidden.then_some(unknown));
    }
    let division = Split::new(piece, &places, last, row)?;
    let found = division.integral(settings)?;
    if found.is_some() || !hidden {
        return Ok(found);
    }
    if kinks {
        // Steps and kinks anywhere, if there is next to nothing far out.
        let all = Range::Plain(piece.from, piece.to);
        let found = division.part(&all, (settings.rtol, settings.atol))?;
        if found.error < f64::INFINITY {
            return Ok(Some(found));
        }
    }
    Ok(Some(unknown))
}

/// The places of a piece.
struct Known {
    /// In ascending order, each once.
    places: Vec<Place>,
    /// Whether there may be others, and whether these may be steps or kinks.
    hidden: bool,
    kinks: bool,
}

fn places(piece: &Piece<'_>, row: Row<'_>) -> Result<Known> {
    let amplitude = &piece.side.expression;
    let product = match piece.wave {
        None => amplitude.clone(),
        Some(oscillator) => piece.product(oscillator),
    };
    let (plain, whole) = (amplitude.breaks(), product.breaks());
    let mut kinks = plain.unknown || whole.unknown;
    let mut hidden = kinks;
    let mut found: Vec<Place> = Vec::new();
    for (plain, whole) in plain.known.into_iter().zip(whole.known) {
        let zeros = match &whole.location {
            Location::At(place) => {
                let place = Program::compile(place)?;
                let values = piece.values(&place, row);
                let (at, error) = Evaluator::<f64>::new(&place, &values)?.with_error(0.0);
                vec![Zero { at, error }]
            }
            Location::Zeros(function) => {
                let function = Program::compile(function)?;
                // Those next to the range count, too.
                let range = (0.5 * piece.from, 2.0 * piece.to);
                let zeros = zeros(&function, &piece.values(&function, row), range)?;
                hidden |= !zeros.complete;
                kinks |= !zeros.complete && whole.kink;
                zeros.found
            }
        };
        let sides = [&whole.above, &whole.below].map(Program::compile);
        let [above, below] = sides;
        let (above, below) = (above?, below?);
        for Zero { at, error } in zeros {
            if !(at > 0.0 && at < f64::INFINITY && error < at) {
                continue;
            }
            if found
                .iter()
                .any(|other| other.at == at && other.error == 0.0 && error == 0.0)
            {
                continue;
            }
            found.push(Place {
                at,
                error,
                above: above.clone(),
                below: below.clone(),
                amplitude: match whole.location {
                    Location::At(_) => plain.above.clone(),
                    Location::Zeros(_) => amplitude.shifted(at),
                },
            });
        }
    }
    found.sort_by(|a, b| a.at.total_cmp(&b.at));
    Ok(Known {
        places: found,
        hidden,
        kinks,
    })
}

/// A piece that is divided.
struct Split<'p, 'a> {
    piece: &'p Piece<'p>,
    row: Row<'p>,
    ranges: Ranges<'a>,
    last: Option<&'a Place>,
    /// Where the tail begins; none of a range without one.
    tail: Option<f64>,
    whole: Program,
}

impl<'p, 'a> Split<'p, 'a> {
    fn new(
        piece: &'p Piece<'p>,
        places: &'a [Place],
        last: Option<&'a Place>,
        row: Row<'p>,
    ) -> Result<Self> {
        let infinite = piece.to == f64::INFINITY;
        let after = last.map_or(piece.from, |place| place.at.max(piece.from));
        let tail = (infinite && piece.wave.is_some()).then(|| {
            let near = (NEAR_TAIL / piece.omega).max(f64::min(0.5 * after, FAR_TAIL / piece.omega));
            // Places beyond the tail's begin do not exist, but one below the lower limit may be near.
            after + near
        });
        let whole = match piece.wave {
            None => piece.side.program.clone(),
            Some(oscillator) => Program::compile(&piece.product(oscillator))?,
        };
        Ok(Self {
            piece,
            row,
            ranges: ranges(places, piece.from, tail.unwrap_or(piece.to)),
            last,
            tail,
            whole,
        })
    }

    /// None if some part has no bound.
    fn integral(&self, settings: &Settings) -> Result<Option<Integral>> {
        let length = self.tail.unwrap_or(self.piece.to) - self.piece.from;
        if self.piece.wave.is_some() && self.piece.omega * length > LONGEST {
            return Ok(None);
        }
        let Some(found) = self.attempt(settings)? else {
            return Ok(None);
        };
        let wanted = settings.atol.max(settings.rtol * found.value.abs());
        let refused = found.status == Status::NotConverged && found.error < f64::INFINITY;
        if !refused || wanted == 0.0 {
            return Ok(Some(found));
        }
        // All parts in the tolerance of the sum.
        let parts = (self.ranges.list.len() + 2) as f64;
        let strict = Settings {
            rtol: 0.0,
            atol: 0.5 * wanted / parts,
            ..*settings
        };
        let again = self.attempt(&strict)?;
        let again = again.filter(|again| again.error < found.error);
        Ok(Some(again.map_or(found, |again| judged(again, settings))))
    }

    fn attempt(&self, settings: &Settings) -> Result<Option<Integral>> {
        let mut found = NOTHING;
        let mut size = 0.0;
        let mut add = |part: Integral| {
            found.value += part.value;
            found.error += part.error + f64::EPSILON * part.value.abs();
            if part.value != 0.0 {
                size += part.condition.min(f64::MAX) * part.value.abs();
            }
        };
        let tolerance = (settings.rtol, settings.atol);
        for range in &self.ranges.list {
            let part = self.part(range, tolerance)?;
            if let Some(Unproven::Singular { .. }) = part.unproven {
                return Ok(Some(part));
            }
            if part.error.is_nan() || part.error == f64::INFINITY {
                return Ok(None);
            }
            add(part);
        }
        let mut accelerator = Accelerator::None;
        if let Some(begin) = self.tail {
            let tail = match self.tail(begin, settings)? {
                Some(tail) => tail,
                // Without a bound on derivatives a decay may suffice.
                None => self.part(&Range::Plain(begin, f64::INFINITY), tolerance)?,
            };
            if tail.error.is_nan() || tail.error == f64::INFINITY {
                return Ok(None);
            }
            accelerator = tail.accelerator;
            add(tail);
        }
        for (at, by) in &self.ranges.rounded {
            found.error += by * self.most(*at)?;
        }
        for (place, width) in &self.ranges.edges {
            for above in [true, false] {
                let part = self.part(&Range::From(place, above, 0.0, *width), tolerance)?;
                found.error += part.value.abs() + part.error;
            }
        }
        found.condition = size / found.value.abs();
        found.accelerator = accelerator;
        if !found.error.is_finite() {
            return Ok(None);
        }
        Ok(Some(judged(found, settings)))
    }

    /// The magnitude of amplitude and product at a place.
    fn most(&self, at: f64) -> Result<f64> {
        let mut most = 0.0_f64;
        for program in [&self.piece.side.program, &self.whole] {
            let values = self.piece.values(program, self.row);
            let (value, error) = Evaluator::<f64>::new(program, &values)?.with_error(at);
            most = most.max(value.abs() + error);
        }
        Ok(if most.is_nan() { f64::INFINITY } else { most })
    }

    fn part(&self, range: &Range<'_>, tolerance: (f64, f64)) -> Result<Integral> {
        let (program, limits) = match range {
            Range::Plain(low, high) => (&self.whole, (*low, *high)),
            Range::From(place, above, low, high) => {
                let program = if *above { &place.above } else { &place.below };
                (program, (*low, *high))
            }
        };
        let mut values = self.piece.values(program, self.row);
        let mut rounding = vec![0.0; values.len()];
        if let Range::From(place, ..) = range
            && let Some(slot) = program.parameters().iter().position(|name| name == PLACE)
        {
            (values[slot], rounding[slot]) = (place.at, place.error);
        }
        let phase = match self.piece.wave {
            Some(_) => (self.piece.omega * (limits.1 - limits.0)).min(LONGEST),
            None => 0.0,
        };
        let found = definite(program, (&values, &rounding), limits, phase, tolerance)?;
        let Some(found) = found else {
            return Ok(Integral::without_value(Status::NotConverged));
        };
        let Range::From(place, ..) = range else {
            return Ok(found);
        };
        // Intervals about a place diverge there.
        Ok(match found.unproven {
            Some(Unproven::Singular { exponent, .. }) => Integral {
                unproven: Some(Unproven::Singular {
                    place: if self.piece.mirrored {
                        -place.at
                    } else {
                        place.at
                    },
                    exponent,
                }),
                ..found
            },
            _ => found,
        })
    }

    /// Whether the amplitude is zero from `begin` on.
    fn vanishes(&self, begin: f64) -> bool {
        let program = &self.piece.side.program;
        let values = self.piece.values(program, self.row);
        let points: Vec<Interval> = values.iter().map(|v| Interval::point(*v)).collect();
        let span = Span {
            start: begin,
            ratio: f64::INFINITY,
            order: 0,
        };
        let function = Function::new(program, &points);
        function.is_some_and(|mut function| function.over(&span).is_zero())
    }

    /// The integral from `begin` on.
    fn tail(&self, begin: f64, settings: &Settings) -> Result<Option<Integral>> {
        let piece = Piece {
            imaginary: false,
            factor: 1.0,
            from: begin,
            ..*self.piece
        };
        let known = |found: &Integral| {
            let status = matches!(found.status, Status::Ok | Status::NotConverged);
            status && found.error < f64::INFINITY && found.unproven.is_none()
        };
        if self.vanishes(begin) {
            return Ok(Some(NOTHING));
        }
        let found = piece.integral(self.row, settings)?;
        if found.status == Status::Ok {
            return Ok(Some(found));
        }
        let plain = Some(found).filter(known);
        let Some(place) = self.last.filter(|place| place.at < begin) else {
            return Ok(plain);
        };
        let (omega, phase) = (self.piece.omega, self.piece.omega * place.at);
        // cos(omega c + omega y) = cos(omega c) cos(omega y) - sin(omega c) sin(omega y)
        let (cos, sin) = match self.piece.wave {
            Some(Oscillator::Cos) => (phase.cos(), -phase.sin()),
            Some(Oscillator::Sin) => (phase.sin(), phase.cos()),
            _ => return Ok(plain),
        };
        let side = Side::plain(place.amplitude.clone())?;
        let parts = [(cos, Oscillator::Cos), (sin, Oscillator::Sin)].map(|(factor, wave)| Piece {
            factor,
            side: &side,
            wave: Some(wave),
            from: begin - place.at,
            ..piece
        });
        let mut found = pieces::sum(&parts, self.row, settings, pieces::whole)?;
        // The factors have the error of the phase, and the begin the rounding of a difference.
        let rounding = 2.0 * f64::EPSILON * (1.0 + phase) + omega * place.error;
        let mut both = 0.0;
        for part in &parts {
            let part = part.integral(self.row, settings)?;
            both += part.value.abs() + part.error;
        }
        let by = 2.0 * (place.error + f64::EPSILON * begin);
        found.error += rounding * both + by * self.most(begin)?;
        let shifted = Some(found)
            .filter(known)
            .map(|found| judged(found, settings));
        Ok(match (plain, shifted) {
            (Some(a), Some(b)) => Some(if b.error < a.error { b } else { a }),
            (a, b) => a.or(b),
        })
    }
}

/// The ranges between limits: about each place as far as half of the way to the next one. Of places beyond the limits those nearer than the next one
/// inside count.
fn ranges(places: &[Place], from: f64, to: f64) -> Ranges<'_> {
    let mut ranges = Ranges {
        list: Vec::new(),
        rounded: Vec::new(),
        edges: Vec::new(),
    };
    let inside: Vec<&Place> = places
        .iter()
        .filter(|place| place.at > from && place.at < to)
        .collect();
    let first = inside.first().map_or(to, |place| place.at);
    let last = inside.last().map_or(from, |place| place.at);
    let below = places.iter().rev().find(|place| place.at <= from);
    let below = below.filter(|place| from > 0.0 && from - place.at < first - from);
    let above = places.iter().find(|place| place.at >= to);
    let above = above.filter(|place| place.at - to < to - last);
    let mut ends: Vec<(f64, Option<&Place>)> = vec![(from, below)];
    ends.extend(inside.iter().map(|place| (place.at, Some(*place))));
    ends.push((to, above));
    // A rounded place may lie on either side of a limit that has its number.
    for (limit, place) in [(from, below), (to, above)] {
        if let Some(place) = place.filter(|place| place.at == limit && place.error > 0.0) {
            ranges.edges.push((place, 4.0 * place.error));
        }
    }
    for pair in ends.windows(2) {
        let [(low, left), (high, right)] = [pair[0], pair[1]];
        let middle = if high < f64::INFINITY {
            low + 0.5 * (high - low)
        } else {
            (2.0 * low).max(1.0)
        };
        ranges.add(left, true, (low, middle));
        if middle < high {
            ranges.add(right, false, (middle, high));
        }
    }
    ranges
}

impl<'a> Ranges<'a> {
    /// A range of x about a place above or below which it lies, or of x where there is none.
    fn add(&mut self, place: Option<&'a Place>, above: bool, (low, high): (f64, f64)) {
        let Some(place) = place else {
            self.list.push(Range::Plain(low, high));
            return;
        };
        let (near, far) = if above { (low, high) } else { (high, low) };
        let distance = |x: f64| if above { x - place.at } else { place.at - x };
        // Of numbers within a factor of 2 the difference is exact.
        let is_exact = |x: f64| place.error == 0.0 && place.at.max(x) <= 2.0 * place.at.min(x);
        let rounding = |x: f64| 2.0 * (place.error + f64::EPSILON * (x.abs() + place.at));
        let mut begin = distance(near).max(0.0);
        if begin <= 2.0 * place.error && near != place.at {
            begin = 0.0;
            self.edges.push((place, 4.0 * place.error));
        } else if near != place.at && !is_exact(near) {
            self.rounded.push((near, rounding(near)));
        }
        if far < f64::INFINITY && !is_exact(far) {
            self.rounded.push((far, rounding(far)));
        }
        self.list
            .push(Range::From(place, above, begin, distance(far)));
    }
}
