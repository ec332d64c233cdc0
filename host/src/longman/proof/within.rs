//! Whether something hides between the nodes of the head and of the areas.
//!
//! Where |g^(m)(x)|/m! <= B for all x of a range, g differs by at most B d^m from its Taylor polynomial of degree m - 1 at a distance d. Half the distance
//! between neighbouring nodes, as d, bounds the height of all that the nodes do not know of. A range passes
//!
//! | if | since |
//! |---|---|
//! | that height, times the width of an area, is below the tolerance for some m | nothing higher hides |
//! | the coefficient x^m g^(m)/m! of the highest order is at most [`POWER`] times g | a peak of width w has (x/w)^m/(m/2)! times its height there: one narrower than x/20 is below 1e-12 of g |
//!
//! Ranges begin with all areas and are halved. An area that does not pass is divided into pieces that pass with the nodes of a panel of their own, and so steps,
//! kinks and narrow peaks are found. The head is divided down to where the rest, to the lower limit, is a power or below the tolerance as a whole. A piece that passes by
//! its height may be missing in the value, and is part of the error.

use super::function::Function;
use super::interval::Interval;
use super::jet::{Jet, Span, TERMS};
use crate::longman::oscillator::Oscillator;

/// Highest derivative that is asked for.
const ORDER: usize = TERMS - 1;

/// Largest coefficient of the highest order, in units of the function, of what changes no faster than a power.
const POWER: f64 = 1e3;

/// Ranges that are looked at for one integral.
const BUDGET: u32 = 1024;

/// Pieces of an area, or of the head, at most.
const PIECES: usize = 256;

/// Part of the tolerance of an area that each of its pieces may hide.
const SHARE: f64 = 0.125;

/// Width of a piece in units of its place and of the roundoff of x below which no more than a bound on the function is asked for.
const ROUNDOFF: f64 = 2.0;

/// Ratio of the ends of the ranges of a head that starts at 0, and the part of its width below which it may be singular.
const RATIO: f64 = 4.0;
const NEAREST: f64 = 1.0 / 4096.0;

/// The part of a head from which on bounds alone are asked for where they are small enough. The ratio of the ends of ranges near a singularity at first, and at
/// most.
const DEEP: f64 = 1e-12;
const WIDE: f64 = 65_536.0;
const SPARSE: f64 = 4_294_967_296.0;

/// Least x with all digits, about.
const LOWEST: f64 = 1e-290;

/// Longest step of tanh-sinh on the CPU.
pub(in crate::longman) const STEP: f64 = 0.125;

/// The nodes of an integral, by the phases of its boundaries and the frequencies that they have.
#[derive(Clone, Copy, Debug)]
pub(in crate::longman) struct Places<'a> {
    /// The lower limit.
    pub(in crate::longman) lower: f64,
    /// Phases of the boundaries.
    pub(in crate::longman) zeros: &'a [f64],
    /// One frequency, or those of many integrals.
    pub(in crate::longman) omega: Interval,
    /// Largest distance between neighbouring nodes of a panel, in units of its width.
    pub(in crate::longman) gap: f64,
    /// Longest step of tanh-sinh in the head.
    pub(in crate::longman) step: f64,
    /// Unit of roundoff of x.
    pub(in crate::longman) roundoff: f64,
    /// Power of x of the oscillator at 0, at most 1.
    pub(in crate::longman) rise: f64,
}

impl Places<'_> {
    /// The power of the phase that bounds an oscillator near 0: |J_nu(s)| <= (s/2)^nu/Gamma(nu + 1), at most twice s^nu below nu = 0.
    pub(in crate::longman) fn rise(oscillator: Oscillator) -> f64 {
        match oscillator {
            Oscillator::Cos => 0.0,
            Oscillator::Sin => 1.0,
            Oscillator::BesselJ(nu) => nu.min(1.0),
        }
    }

    /// Largest magnitude of the oscillator in a range of the head.
    fn wave(&self, low: f64, high: f64) -> f64 {
        if self.lower > 0.0 {
            1.0
        } else if self.rise >= 0.0 {
            (self.omega.hi * high).min(1.0).powf(self.rise)
        } else {
            (2.0 * (self.omega.lo * low).powf(self.rise)).max(1.0)
        }
    }

    /// The range of the areas from number i to before number j.
    fn range(&self, i: usize, j: usize) -> (f64, f64) {
        (self.zeros[i] / self.omega.hi, self.zeros[j] / self.omega.lo)
    }

    fn width(&self, k: usize) -> f64 {
        (self.zeros[k + 1] - self.zeros[k]) / self.omega.lo
    }
}

/// Where the nodes may miss something: ends of pieces that would not.
#[derive(Clone, Debug, Default, PartialEq)]
pub(in crate::longman) struct Hidden {
    /// Integral of what is nowhere higher than allowed, and may hide therefore.
    pub(in crate::longman) unseen: f64,
    /// Of the head: it is known below the first of them.
    pub(in crate::longman) head: Option<Vec<f64>>,
    /// Of areas, by number.
    pub(in crate::longman) areas: Vec<(usize, Vec<f64>)>,
}

impl Hidden {
    pub(in crate::longman) fn is_empty(&self) -> bool {
        self.head.is_none() && self.areas.is_empty()
    }
}

/// A look at the amplitude of one integral, or of many.
pub(in crate::longman) struct Look<'a, 'p> {
    g: &'a mut Function<'p>,
    places: Places<'a>,
    /// Error that an area may have.
    tolerance: f64,
    /// Error of an area that is asked for where it costs little.
    goal: f64,
    /// The error of all that passed.
    unseen: f64,
    spent: u32,
}

impl<'a, 'p> Look<'a, 'p> {
    /// `tolerance` is the error that an integral may have, and `goal` what is asked of ranges that are halved anyway.
    pub(in crate::longman) fn new(
        g: &'a mut Function<'p>,
        places: Places<'a>,
        (tolerance, goal): (f64, f64),
    ) -> Self {
        let areas = (places.zeros.len().max(2) - 1) as f64;
        Self {
            g,
            places,
            tolerance: tolerance / areas,
            goal: goal.min(tolerance) / areas,
            unseen: 0.0,
            spent: 0,
        }
    }

    /// A bound on what may hide, where area k has `panels(k)` of them; none if that is more than allowed somewhere.
    pub(in crate::longman) fn unseen(&mut self, panels: impl Fn(usize) -> usize) -> Option<f64> {
        let areas = self.suspects(panels, 1)?;
        let clear = areas.is_empty() && self.head()?.is_none();
        clear.then_some(self.unseen)
    }

    /// The places where something may hide; none if there is no end of them.
    pub(in crate::longman) fn hidden(&mut self, panels: impl Fn(usize) -> usize) -> Option<Hidden> {
        let mut hidden = Hidden {
            head: self.head()?,
            ..Hidden::default()
        };
        for k in self.suspects(panels, usize::MAX)? {
            let range = self.places.range(k, k + 1);
            hidden.areas.push((k, self.pieces(range, 0.0)?));
        }
        hidden.unseen = self.unseen;
        Some(hidden)
    }

    /// The first areas, at most `most`, of which not all is known.
    fn suspects(&mut self, panels: impl Fn(usize) -> usize, most: usize) -> Option<Vec<usize>> {
        let count = self.places.zeros.len() - 1;
        let mut found = Vec::new();
        let mut ranges = vec![(0, count)];
        while let Some((i, j)) = ranges.pop() {
            let half = (i..j)
                .map(|k| 0.5 * self.places.gap * self.places.width(k) / panels(k) as f64)
                .fold(0.0, f64::max);
            let width = (i..j).map(|k| self.places.width(k)).fold(0.0, f64::max);
            let (low, high) = self.places.range(i, j);
            let height = if low > 0.0 {
                self.height((low, high), half, 0.0)?
            } else {
                f64::INFINITY
            };
            let allowed = if j - i == 1 {
                self.tolerance
            } else {
                self.goal
            };
            if height * width <= allowed {
                self.unseen += height * width * (j - i) as f64;
                continue;
            }
            if j - i == 1 {
                found.push(i);
                if found.len() == most {
                    return Some(found);
                }
                continue;
            }
            let middle = (low.max(self.places.width(i)) * high).sqrt();
            let zeros = &self.places.zeros[i + 1..j - 1];
            let omega = self.places.omega.lo;
            let split = i + 1 + zeros.partition_point(|zero| zero / omega < middle);
            ranges.extend([(split, j), (i, split)]);
        }
        found.sort_unstable();
        Some(found)
    }

    /// Pieces of a range that pass with nodes of their own.
    fn pieces(&mut self, (low, high): (f64, f64), shift: f64) -> Option<Vec<f64>> {
        let mut ends = vec![low];
        let mut ranges = vec![(low, high)];
        while let Some((from, to)) = ranges.pop() {
            let width = to - from;
            let distance = 0.5 * self.places.gap * width;
            let middle = 0.5 * (from + to);
            let last = width <= ROUNDOFF * self.places.roundoff * to;
            let most = if last {
                f64::MAX
            } else {
                SHARE * self.tolerance
            };
            if self.passes((from, to), distance, shift, most)? {
                ends.push(to);
                continue;
            }
            if last || ends.len() + ranges.len() > PIECES {
                return None;
            }
            ranges.extend([(middle, to), (from, middle)]);
        }
        Some(ends)
    }

    /// The pieces of the head, if something may hide there. Of many integrals it is the head of the widest.
    fn head(&mut self) -> Option<Option<Vec<f64>>> {
        let lower = self.places.lower;
        let end = self.places.zeros[0] / self.places.omega.lo;
        let width = end - lower;
        if width <= 0.0 {
            return Some(None);
        }
        // Distances between the nodes of tanh-sinh.
        let longest = self.places.step * width;
        let step = |x: f64| longest * tanh_sinh_speed(((x - lower) / width).clamp(1e-300, 1.0));
        let half = |(from, to): (f64, f64)| {
            let middle = (lower + 0.5 * width).clamp(from, to);
            0.5 * step(middle)
        };
        // Nearer places of a lower limit above 0 are not numbers.
        let nearest = (16.0 * lower * self.places.roundoff).max(LOWEST);
        let (mut to, mut ratio) = (end, WIDE);
        let mut hides = false;
        while to - lower > nearest {
            // Near a singularity at 0 powers of 1/x carry the sharper enclosures, over wide ranges.
            let singular = lower == 0.0 && to <= NEAREST * width;
            if singular {
                if self.ends(to)? {
                    break;
                }
                let from = (to / ratio).max(nearest);
                if self.passes_below((from, to), half((from, to)))? {
                    ratio = (ratio * ratio).min(SPARSE);
                    to = from;
                    continue;
                }
            } else if self.passes((lower, to), half((lower, to)), end, self.tolerance)? {
                break;
            }
            let from = lower + ((to - lower) / RATIO).max(nearest);
            let mut ranges = vec![(from, to)];
            while let Some((from, to)) = ranges.pop() {
                if self.passes((from, to), half((from, to)), end, self.tolerance)? {
                    continue;
                }
                ratio = RATIO;
                // Pieces shorter than the steps are apart are for a panel of their own.
                if to - from < 2.0 * half((from, to)) {
                    hides = true;
                    break;
                }
                let middle = 0.5 * (from + to);
                ranges.extend([(middle, to), (from, middle)]);
            }
            to = from;
        }
        if !hides {
            return Some(None);
        }
        self.pieces((to, end), end).map(Some)
    }

    /// Whether nothing higher than `most` over the width of a range hides at this distance from nodes, by powers of x or, with a shift, of x + shift. Where x
    /// is small beside the shift, those have the sharper enclosures.
    fn passes(
        &mut self,
        (low, high): (f64, f64),
        distance: f64,
        shift: f64,
        most: f64,
    ) -> Option<bool> {
        let width = high - low;
        let most = (most / width).min(f64::MAX);
        // Areas lie beyond.
        let wave = if high <= self.places.zeros[0] / self.places.omega.lo {
            self.places.wave(low, high)
        } else {
            1.0
        };
        let shifts = [0.0, shift]
            .into_iter()
            .take(if shift > 0.0 { 2 } else { 1 });
        for shift in shifts {
            if low + shift > 0.0 {
                let height = self.height((low, high), distance, shift)?;
                let height = if height > 0.0 { height * wave } else { height };
                if height <= most {
                    self.unseen += height * width;
                    return Some(true);
                }
            }
        }
        Some(false)
    }

    /// The same over a range of the head from 0, by powers of 1/x.
    fn passes_below(&mut self, (low, high): (f64, f64), distance: f64) -> Option<bool> {
        self.spend()?;
        let span = Span {
            start: high,
            ratio: (high / low).next_up(),
            order: ORDER,
        };
        let jet = self.g.below(&span);
        if is_power(jet) {
            return Some(true);
        }
        let height = least(jet, &span, distance, |m| jet.exponent() + m as f64);
        let unseen = height * self.places.wave(low, high) * (high - low);
        let passes = unseen <= self.tolerance;
        self.unseen += if passes { unseen } else { 0.0 };
        Some(passes)
    }

    /// Whether nothing hides from here down to 0: the function is a power there, or all of it is below the tolerance.
    fn ends(&mut self, to: f64) -> Option<bool> {
        self.spend()?;
        let span = Span {
            start: to,
            ratio: f64::INFINITY,
            order: ORDER,
        };
        let jet = self.g.below(&span);
        if jet.is_zero() || is_power(jet) {
            return Some(true);
        }
        // t^e from x = to/t on: its integral is that of x^-e, times the rise of the oscillator.
        let (mid, rad) = jet.coefficient(0);
        let rise = self.places.rise;
        let wave = if rise < 0.0 { 2.0 } else { 1.0 } * (self.places.omega.hi * to).powf(rise);
        let all = (mid.abs() + rad) * to * wave / (1.0 + rise - jet.exponent()).max(0.0);
        let most = SHARE * self.tolerance;
        if all <= most {
            self.unseen += all;
            return Some(true);
        }
        // So far down no range of it may count, if all are bounded.
        let width = self.places.zeros[0] / self.places.omega.lo;
        let (mut edge, mut sum) = (to, 0.0);
        while to < DEEP * width && edge > LOWEST {
            self.spend()?;
            let span = Span {
                start: edge,
                ratio: SPARSE,
                order: 0,
            };
            let wave = self.places.wave(edge / SPARSE, edge);
            sum += self.g.below(&span).values(&span).magnitude() * wave * edge;
            if sum.is_nan() || sum > most {
                return Some(false);
            }
            edge /= SPARSE;
        }
        let known = edge <= LOWEST;
        self.unseen += if known { sum } else { 0.0 };
        Some(known)
    }

    fn spend(&mut self) -> Option<()> {
        self.spent += 1;
        (self.spent <= BUDGET).then_some(())
    }

    /// A bound on the height of what the nodes at this distance or nearer do not know of.
    fn height(&mut self, (low, high): (f64, f64), distance: f64, shift: f64) -> Option<f64> {
        self.spend()?;
        let start = low + shift;
        let span = Span {
            start,
            ratio: ((high + shift) / start).next_up().max(1.0),
            order: ORDER,
        };
        let jet = match shift {
            0.0 => self.g.over(&span),
            shift => self.g.over_shifted(&span, shift),
        };
        Some(height(jet, &span, distance))
    }
}

/// Whether a function changes no faster than a power.
fn is_power(jet: &Jet) -> bool {
    let [(mid, rad), (high, more)] = [0, ORDER].map(|k| jet.coefficient(k));
    high.abs() + more <= POWER * (mid.abs() - rad)
}

fn height(jet: &Jet, span: &Span, distance: f64) -> f64 {
    if jet.is_zero() {
        return 0.0;
    }
    if is_power(jet) {
        return 0.0;
    }
    least(jet, span, distance, |m| jet.exponent() - m as f64)
}

/// The least bound on the height by the coefficients of all orders; `power` is that of t in coefficient m over x^m.
fn least(jet: &Jet, span: &Span, distance: f64, power: impl Fn(usize) -> f64) -> f64 {
    let part = distance / span.start;
    let bounds = (0..=ORDER).map(|m| {
        let (mid, rad) = jet.coefficient(m);
        // The largest power of the range.
        (mid.abs() + rad) * span.power(power(m)).hi * part.powi(m as i32)
    });
    bounds.fold(
        f64::INFINITY,
        |least, bound| {
            if bound < least { bound } else { least }
        },
    )
}

/// Distance between neighbouring nodes of tanh-sinh at a part d of the width, in units of the width and of the step.
fn tanh_sinh_speed(d: f64) -> f64 {
    let t = (((1.0 - d) / d).max(f64::MIN_POSITIVE).ln() / std::f64::consts::PI).asinh();
    std::f64::consts::PI * t.cosh() * d * (1.0 - d)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::longman::expression::Program;
    use crate::longman::quadrature::Kronrod;

    fn hidden(amplitude: &str, lower: f64) -> Option<Hidden> {
        let program = Program::parse(amplitude).unwrap();
        let mut g = Function::new(&program, &[]).unwrap();
        let zeros = Oscillator::Cos.zeros_beyond(lower, 65);
        let places = Places {
            lower,
            zeros: &zeros,
            omega: Interval::ONE,
            gap: Kronrod::new(7).gap(),
            step: STEP,
            roundoff: f64::EPSILON,
            rise: 0.0,
        };
        Look::new(&mut g, places, (1e-11, 1e-11)).hidden(|_| 1)
    }

    #[test]
    fn smooth_amplitudes_hide_nothing() {
        for amplitude in [
            "1/(1+x)",
            "exp(-x)",
            "exp(-x/50)",
            "x^(-0.5)",
            "exp(-x)/sqrt(x)",
            "x/(x^2+9)",
            "x^(-0.9)*exp(-x/10)",
            "ln(2+x)/(1+x)",
            "x*exp(-sqrt(x^2+1))/sqrt(x^2+1)",
        ] {
            for lower in [0.0, 0.3, 40.0] {
                let found = hidden(amplitude, lower).unwrap();
                // Over the wide ranges of the first areas enclosures are not sharp.
                let few = |(k, ends): &(usize, Vec<f64>)| *k < 2 && ends.len() <= 3;
                let clear = found.head.is_none() && found.areas.iter().all(few);
                assert!(clear, "{amplitude} from {lower}: {found:?}");
            }
        }
    }

    #[test]
    fn peaks_steps_and_kinks_are_in_pieces_of_their_own() {
        for (feature, width) in [
            ("1e-3*exp(-((x-62.8)/0.01)^2)", 0.2),
            ("exp(-((x-62.8)/1e-5)^2)", 1e-3),
            ("1e-4/((x-62.8)^2+1e-6)", 0.02),
            ("sign(x-62.8)", 1e-10),
            ("abs(x-62.8)", 1e-3),
        ] {
            let found = hidden(&format!("1/(1+x)+{feature}"), 0.0).unwrap();
            // The zeros are (k + 1/2) pi; the wings of a peak reach into the neighbours.
            let near = found.areas.iter().all(|(k, _)| (18..=20).contains(k));
            assert!(near && found.head.is_none(), "{feature}: {found:?}");
            let area = found.areas.iter().find(|(k, _)| *k == 19);
            let (_, ends) = area.unwrap();
            let piece = ends.windows(2).find(|ends| ends[1] > 62.8).unwrap();
            assert!(piece[1] - piece[0] < width, "{feature}: {piece:?}");
        }
        let head = hidden("1/(1+x)+exp(-((x-0.7)/1e-3)^2)", 0.0).unwrap().head;
        let ends = head.unwrap();
        let piece = ends.windows(2).find(|ends| ends[1] > 0.7).unwrap();
        assert!(piece[1] - piece[0] < 0.02, "{piece:?}");
        // A pole ends nowhere.
        assert_eq!(hidden("1/(x-62.8)", 0.0), None);
    }
}
