//! The head and the areas of an integral, which are its half-cycle integrals, each with its error.

use std::sync::Arc;

use super::far::{amplitude_vanishes, integrand_vanishes};
use super::head::{Exponent, head_of, head_rounding};
use super::integrand::{Accuracy, Function};
use super::oscillator::{DIVISIONS, Oscillator, PhaseTable, Start};
use super::panels::{Place, Rounding, kronrod_sum, resolved};
use super::quadrature::{Estimate, Kronrod, Node};

/// Fewest and most areas.
pub const AREAS: std::ops::RangeInclusive<usize> = 8..=64;

/// One area with what is known of its error.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Area {
    pub(super) value: f64,
    /// Error of the quadrature.
    pub(super) truncation: f64,
    /// Error that the integrand's own error makes.
    pub(super) noise: f64,
    /// Error that rounding its abscissas makes.
    pub(super) slope: f64,
    /// Error that an absolute error of the integrand makes, and its roundoff where that is more than `noise`.
    pub(super) floor: f64,
    /// Level of division that it was computed with.
    pub(super) level: usize,
    /// Integral of the integrand's magnitude.
    pub(super) magnitude: f64,
}

impl Area {
    pub(super) fn error(&self) -> f64 {
        self.truncation + self.noise + self.slope + self.floor
    }
}

/// Level of an area that is divided where it is not smooth.
pub(super) const RESOLVED: usize = DIVISIONS.len();

/// A head and areas in an order; the sum of all of them is the integral.
pub(super) trait HalfCycles {
    /// Unit of roundoff of the abscissas.
    fn roundoff(&self) -> f64;
    /// How far out an area lies, in units of its width.
    fn distance(&self, k: usize) -> f64;
    /// Whether the integrand vanishes far out, where that can be seen; areas below `negligible` are nothing.
    fn vanishes(&mut self, _negligible: f64) -> Option<bool> {
        None
    }
    /// The head, computed to this relative accuracy.
    fn head(&mut self, tolerance: f64) -> Area;
    /// The head with panels between these places, the last of which is its end.
    fn head_with(&mut self, tolerance: f64, _places: &[f64]) -> Area {
        self.head(tolerance)
    }
    /// An area, divided into `DIVISIONS[level]` panels.
    fn area(&mut self, k: usize, level: usize) -> Area;
    /// An area that the largest number of panels does not resolve to within `target`. It is divided where it is not smooth, from panels with these ends on, as parts of its width.
    fn resolve(&mut self, k: usize, area: Area, target: f64, ends: &[f64]) -> Area;
}

/// g(x) osc(omega x) from a on.
pub(super) struct Oscillating<'a, G> {
    pub(super) amplitude: &'a mut G,
    pub(super) omega: f64,
    pub(super) lower: f64,
    pub(super) accuracy: Accuracy,
    pub(super) exponent: Exponent,
    table: Arc<PhaseTable>,
    zeros: Vec<f64>,
    offset: usize,
    start: Start,
}

impl<'a, G: Function> Oscillating<'a, G> {
    pub(super) fn new(
        amplitude: &'a mut G,
        (oscillator, omega): (Oscillator, f64),
        lower: f64,
        (areas, points): (usize, usize),
        accuracy: Accuracy,
        exponent: Exponent,
    ) -> Self {
        let start = Start::new(oscillator, omega, lower);
        let from = start.phase;
        let zeros = oscillator.zeros_beyond(from, areas + 1);
        let mut offset = 0;
        let table = match oscillator {
            Oscillator::BesselJ(nu) => {
                // Areas that lie in the table of phase 0 are taken from there.
                let areas = areas.min(*AREAS.end());
                let table = PhaseTable::get(oscillator, points, areas);
                if from > 0.0 {
                    let first = zeros.first().copied().unwrap_or(f64::INFINITY);
                    let all = super::zeros::bessel_zeros(nu, areas + 1);
                    offset = all
                        .iter()
                        .position(|zero| *zero == first)
                        .unwrap_or(usize::MAX / 2);
                }
                table
            }
            Oscillator::Cos | Oscillator::Sin => PhaseTable::get(oscillator, points, 0),
        };
        Self {
            amplitude,
            omega,
            lower,
            accuracy,
            exponent,
            table,
            zeros,
            offset,
            start,
        }
    }

    /// The first boundary and the last one, in phase.
    pub(super) fn ends(&self) -> (f64, f64) {
        let end = |zero: Option<&f64>| zero.copied().unwrap_or(0.0);
        (end(self.zeros.first()), end(self.zeros.last()))
    }
}

impl<G: Function> HalfCycles for Oscillating<'_, G> {
    fn roundoff(&self) -> f64 {
        self.accuracy.roundoff
    }

    fn distance(&self, k: usize) -> f64 {
        distance(&self.zeros, k)
    }

    fn vanishes(&mut self, negligible: f64) -> Option<bool> {
        if self.accuracy.absolute > 0.0 {
            return None;
        }
        let last = self.zeros.last().copied().unwrap_or(1.0) / self.omega;
        let noise = negligible * self.omega;
        amplitude_vanishes(self.amplitude, self.table.oscillator, last, noise)
    }

    fn head(&mut self, tolerance: f64) -> Area {
        self.head_with(tolerance, &[])
    }

    fn head_with(&mut self, tolerance: f64, places: &[f64]) -> Area {
        let accuracy = self.accuracy;
        let Self {
            amplitude,
            omega,
            lower,
            table,
            zeros,
            start,
            ..
        } = self;
        let (omega, lower) = (*omega, *lower);
        let Some(&first) = zeros.first() else {
            return Area::default();
        };
        let width = start.to(first, table.oscillator);
        if width.is_nan() || width <= 0.0 {
            return Area::default();
        }
        let end = first / omega;
        // Rounding x where the amplitude changes fast at the lower end.
        let step = width / omega / 1024.0;
        let change = (amplitude.at(lower + step) / amplitude.at(lower))
            .ln()
            .abs();
        let slope = 0.5 * self.accuracy.roundoff * (lower / step) * change;
        // Near the lower end x = a + d, near the upper one x = x_1 - d.
        let place = |node: Node| {
            if node.below <= node.above {
                lower + node.below / omega
            } else {
                end - node.above / omega
            }
        };
        let mut f = |node: Node| amplitude.at(place(node)) * table.head(start, first, node) / omega;
        // Tanh-sinh up to the first of the places.
        let mut roundoff = 0.0_f64;
        let near = places.first().map_or(width, |x| (x - lower) * omega);
        let rest = width - near;
        let mut estimate = if rest > 0.0 {
            let mut f = |node: Node| {
                f(Node {
                    above: node.above + rest,
                    place: usize::MAX,
                    ..node
                })
            };
            head_of(&mut f, near, tolerance, self.exponent, lower == 0.0)
        } else {
            head_of(&mut f, width, tolerance, self.exponent, lower == 0.0)
        };
        if rest > 0.0 {
            let ends: Vec<f64> = places
                .iter()
                .map(|x| ((x - lower) * omega - near) / rest)
                .collect();
            let target = tolerance * estimate.magnitude;
            let (panels, noise) = resolved(
                &table.kronrod,
                (&ends, rest),
                accuracy,
                target,
                |part, bound| {
                    let below = near + part * rest;
                    let node = Node {
                        below,
                        above: width - below,
                        place: usize::MAX,
                    };
                    let factor = table.head(start, first, node) / omega;
                    value_at(*amplitude, place(node), factor, bound)
                },
            );
            estimate.value += panels.value;
            estimate.error += panels.error;
            estimate.magnitude += panels.magnitude;
            roundoff = noise;
        }
        let known = amplitude.knows_errors();
        let rounding = head_rounding(known, width, |node| {
            let (value, error) = amplitude.with_error(place(node));
            let factor = (table.head(start, first, node) / omega).abs();
            (factor * value.abs(), factor * error)
        });
        Area {
            slope: if lower > 0.0 && slope.is_finite() {
                slope * estimate.magnitude
            } else {
                0.0
            },
            ..noisy(estimate, width / omega, self.accuracy, 0.0).rounded(rounding.max(roundoff))
        }
    }

    fn area(&mut self, k: usize, level: usize) -> Area {
        let (low, high) = match (self.zeros.get(k), self.zeros.get(k + 1)) {
            (Some(&low), Some(&high)) => (low, high),
            _ => return Area::default(),
        };
        let panels = DIVISIONS[level];
        let sign = self.table.sign(low);
        let phase = self.table.phase((low, high));
        let (origin, width) = (low / self.omega, phase / self.omega);
        let index = self.offset + k;
        let (table, amplitude) = (&self.table, &mut self.amplitude);
        let mut rounding = Rounding::new(&table.kronrod, panels, self.accuracy);
        let (lower, accuracy) = (self.lower, self.accuracy);
        let sum = kronrod_sum(&table.kronrod, (panels, width), accuracy, |place, part| {
            let x = origin + part * width;
            match place {
                Place::Node { panel, node } => {
                    let osc = sign * table.value(index, (low, high), level, panel, node);
                    osc * rounding.at(*amplitude, node, osc, x)
                }
                Place::Beyond if x < lower => f64::NAN,
                Place::Beyond => {
                    sign * table.beyond(index, (low, high), level, part) * amplitude.at(x)
                }
            }
        });
        Area {
            level,
            ..noisy(sum, width, self.accuracy, 0.0).rounded(rounding.of(width))
        }
    }

    fn resolve(&mut self, k: usize, area: Area, target: f64, ends: &[f64]) -> Area {
        let (low, high) = match (self.zeros.get(k), self.zeros.get(k + 1)) {
            (Some(&low), Some(&high)) => (low, high),
            _ => return area,
        };
        let (table, lower) = (&self.table, self.lower);
        let sign = table.sign(low);
        let phase = table.phase((low, high));
        let (origin, width) = (low / self.omega, phase / self.omega);
        let amplitude = &mut self.amplitude;
        let sum = resolved(
            &table.kronrod,
            (ends, width),
            self.accuracy,
            target,
            |part, bound| {
                let x = origin + part * width;
                if x < lower {
                    return (f64::NAN, 0.0);
                }
                let factor = sign * table.at((low, high), part);
                value_at(*amplitude, x, factor, bound)
            },
        );
        area.resolved(sum)
    }
}

/// f(x) from a on, between given boundaries.
pub(super) struct Plain<'a, F> {
    pub(super) integrand: &'a mut F,
    pub(super) lower: f64,
    pub(super) boundaries: Vec<f64>,
    pub(super) kronrod: Arc<Kronrod>,
    pub(super) accuracy: Accuracy,
    pub(super) exponent: Exponent,
}

impl<F: Function> HalfCycles for Plain<'_, F> {
    fn roundoff(&self) -> f64 {
        self.accuracy.roundoff
    }

    fn distance(&self, k: usize) -> f64 {
        distance(&self.boundaries, k)
    }

    fn vanishes(&mut self, negligible: f64) -> Option<bool> {
        if self.accuracy.absolute > 0.0 {
            return None;
        }
        let range = (self.lower, &self.boundaries[..]);
        integrand_vanishes(self.integrand, range, negligible)
    }

    fn head(&mut self, tolerance: f64) -> Area {
        let Some(&first) = self.boundaries.first() else {
            return Area::default();
        };
        let (lower, integrand) = (self.lower, &mut self.integrand);
        if first <= lower {
            return Area::default();
        }
        let width = first - lower;
        let place = |node: Node| {
            if node.below <= node.above {
                lower + node.below
            } else {
                first - node.above
            }
        };
        let mut f = |node: Node| integrand.at(place(node));
        let estimate = head_of(&mut f, width, tolerance, self.exponent, lower == 0.0);
        let known = integrand.knows_errors();
        let rounding = head_rounding(known, width, |node| {
            let (value, error) = integrand.with_error(place(node));
            (value.abs(), error)
        });
        noisy(estimate, width, self.accuracy, first.abs() / width).rounded(rounding)
    }

    fn area(&mut self, k: usize, level: usize) -> Area {
        let (low, high) = match (self.boundaries.get(k), self.boundaries.get(k + 1)) {
            (Some(&low), Some(&high)) => (low, high),
            _ => return Area::default(),
        };
        let (width, integrand) = (high - low, &mut self.integrand);
        let panels = DIVISIONS[level];
        let mut rounding = Rounding::new(&self.kronrod, panels, self.accuracy);
        let (lower, accuracy) = (self.lower, self.accuracy);
        let sum = kronrod_sum(&self.kronrod, (panels, width), accuracy, |place, part| {
            let x = low + part * width;
            match place {
                Place::Node { node, .. } => rounding.at(*integrand, node, 1.0, x),
                Place::Beyond if x < lower => f64::NAN,
                Place::Beyond => integrand.at(x),
            }
        });
        Area {
            level,
            ..noisy(sum, width, self.accuracy, high.abs() / width).rounded(rounding.of(width))
        }
    }

    fn resolve(&mut self, k: usize, area: Area, target: f64, ends: &[f64]) -> Area {
        let (low, high) = match (self.boundaries.get(k), self.boundaries.get(k + 1)) {
            (Some(&low), Some(&high)) => (low, high),
            _ => return area,
        };
        let (lower, width, integrand) = (self.lower, high - low, &mut self.integrand);
        let sum = resolved(
            &self.kronrod,
            (ends, width),
            self.accuracy,
            target,
            |part, bound| {
                let x = low + part * width;
                if x < lower {
                    return (f64::NAN, 0.0);
                }
                value_at(*integrand, x, 1.0, bound)
            },
        );
        area.resolved(sum)
    }
}

/// factor f(x), and the bound on its roundoff if that is asked for.
fn value_at(f: &mut impl Function, x: f64, factor: f64, bound: bool) -> (f64, f64) {
    if bound {
        let (value, error) = f.with_error(x);
        (factor * value, factor.abs() * error)
    } else {
        (factor * f.at(x), 0.0)
    }
}

fn distance(boundaries: &[f64], k: usize) -> f64 {
    match boundaries.get(k..k + 2) {
        Some(&[low, high]) => high.abs() / (high - low),
        _ => 0.0,
    }
}

/// The error due to the integrand's error; `cycles` is the number of half cycles up to the area.
///
/// An exponential function multiplies the roundoff of its argument by that argument, the logarithm of its value.
fn noisy(sum: Estimate, width: f64, accuracy: Accuracy, cycles: f64) -> Area {
    let logarithm = (sum.magnitude / width).ln().abs();
    let exponential = if logarithm.is_finite() {
        accuracy.roundoff * logarithm
    } else {
        0.0
    };
    Area {
        value: sum.value,
        truncation: sum.error,
        noise: (accuracy.relative + accuracy.argument * cycles + exponential) * sum.magnitude,
        slope: 0.0,
        floor: accuracy.absolute * width,
        level: 0,
        magnitude: sum.magnitude,
    }
}

impl Area {
    /// With another quadrature, and the roundoff of its values.
    fn resolved(self, (sum, rounding): (Estimate, f64)) -> Self {
        Self {
            value: sum.value,
            truncation: sum.error,
            level: RESOLVED,
            magnitude: sum.magnitude,
            floor: self.floor.max(bounded(rounding - self.noise)),
            ..self
        }
    }

    /// With the roundoff of the integrand's values, where that is more than what is assumed of any integrand.
    fn rounded(mut self, rounding: f64) -> Self {
        self.floor += bounded((rounding - self.noise).max(0.0));
        self
    }
}

/// Largest reported error: of values of which nothing is known.
const UNBOUNDED: f64 = 1e300;

fn bounded(error: f64) -> f64 {
    if error < UNBOUNDED { error } else { UNBOUNDED }
}
