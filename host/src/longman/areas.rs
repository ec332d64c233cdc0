//! The head and the areas of an integral, each with its error, whatever the integrand is given by.

use std::sync::Arc;

use rarefy_kernels::longman::decide::FarOut;
use rarefy_kernels::longman::functions::Functions;

use super::expression::Evaluator;
use super::oscillator::{DIVISIONS, Oscillator, PhaseTable, Start};
use super::quadrature::{Estimate, Kronrod, Node, has_pole, quadpack_error, tanh_sinh};

/// Values are nearer to the integrand's than this in units of its magnitude.
#[derive(Clone, Copy, Debug)]
pub(super) struct Accuracy {
    /// Relative error of the integrand.
    pub(super) relative: f64,
    /// Error of its argument, as a phase of half a cycle a unit.
    pub(super) argument: f64,
    /// Absolute error of the integrand.
    pub(super) absolute: f64,
    /// Unit of roundoff of x.
    pub(super) roundoff: f64,
    /// Whether the roundoff of the integrand is looked at in every node of an area, not in its middle alone.
    pub(super) thorough: bool,
}

/// A function of x that may know how far off its values are.
pub(super) trait Function {
    /// The value at x.
    fn at(&mut self, x: f64) -> f64;
    /// The value at x, and a bound on its roundoff; 0 where nothing is known of it.
    fn with_error(&mut self, x: f64) -> (f64, f64);
    /// Whether anything is known of it.
    fn knows_errors(&self) -> bool;
}

impl<F: FnMut(f64) -> f64> Function for F {
    fn at(&mut self, x: f64) -> f64 {
        self(x)
    }
    fn with_error(&mut self, x: f64) -> (f64, f64) {
        (self(x), 0.0)
    }
    fn knows_errors(&self) -> bool {
        false
    }
}

impl<T: Functions> Function for Evaluator<'_, T> {
    fn at(&mut self, x: f64) -> f64 {
        self.at(x)
    }
    fn with_error(&mut self, x: f64) -> (f64, f64) {
        self.with_error(x)
    }
    fn knows_errors(&self) -> bool {
        true
    }
}

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
}

impl Area {
    pub(super) fn error(&self) -> f64 {
        self.truncation + self.noise + self.slope + self.floor
    }
}

/// A head and areas in an order; the sum of all of them is the integral.
pub(super) trait Areas {
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
    /// An area, divided into `DIVISIONS[level]` panels.
    fn area(&mut self, k: usize, level: usize) -> Area;
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

/// How the integrand behaves at the lower end.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) enum Exponent {
    /// Unknown: looked for where the lower end is 0.
    Auto,
    /// f ~ (x - a)^-p, p < 1.
    Given(f64),
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
}

impl<G: Function> Areas for Oscillating<'_, G> {
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
        vanishes(self.amplitude, self.table.oscillator, last, noise)
    }

    fn head(&mut self, tolerance: f64) -> Area {
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
        let estimate = head_of(&mut f, width, tolerance, self.exponent, lower == 0.0);
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
            ..noisy(estimate, width / omega, self.accuracy, 0.0).rounded(rounding)
        }
    }

    fn area(&mut self, k: usize, level: usize) -> Area {
        let (low, high) = match (self.zeros.get(k), self.zeros.get(k + 1)) {
            (Some(&low), Some(&high)) => (low, high),
            _ => return Area::default(),
        };
        let panels = DIVISIONS[level];
        let sign = self.table.sign(low);
        let phase = match self.table.oscillator {
            // Of zeros far out the difference is coarse.
            Oscillator::Cos | Oscillator::Sin => std::f64::consts::PI,
            Oscillator::BesselJ(_) => high - low,
        };
        let (origin, width) = (low / self.omega, phase / self.omega);
        let index = self.offset + k;
        let (table, amplitude) = (&self.table, &mut self.amplitude);
        let mut rounding = Rounding::new(&table.kronrod, panels, self.accuracy);
        let mut gaps = Gaps::new();
        let (mut last, mut first) = (0.0, [(0.0, 0.0); 3]);
        let mut sum = kronrod_sum(&table.kronrod, panels, width, |panel, node, part| {
            let osc = sign * table.value(index, (low, high), level, panel, node);
            let value = rounding.at(*amplitude, node, osc, origin + part * width);
            gaps.look(value, if node == 0 { osc } else { 0.0 });
            if let (0, Some(place)) = (panel, first.get_mut(node)) {
                *place = (value, osc);
            }
            last = osc;
            osc * value
        });
        // The first node of the next area, which may be one panel.
        let nodes = &table.kronrod.rule.nodes;
        let gap = nodes.last().map_or(0.0, |last| 0.5 * (1.0 - last)) * width;
        // There the oscillation is larger than at the last node of a narrow panel.
        let beyond = amplitude.at(origin + width + gap);
        gaps.look_beyond(beyond, panels as f64 * last, panels as f64);
        if k == 0 {
            // The head ends with the boundary itself.
            gaps.before = [first[2].0, first[1].0, first[0].0];
            gaps.look_beyond(amplitude.at(origin), first[0].1, 1.0);
        }
        sum.error += gaps.missed * 2.0 * gap;
        Area {
            level,
            ..noisy(sum, width, self.accuracy, 0.0).rounded(rounding.of(width))
        }
    }
}

/// Decades beyond the last area at which kernels and the CPU look whether the amplitude vanishes; those of `f32` end sooner.
const DECADES: [i32; 6] = [0, 6, 12, 24, 48, 96];

/// Whether g(x) osc(omega x) goes to zero, from g many decades beyond `last`: a constant below a visible decay shows there, and nowhere else as
/// surely. None where g is no number so far out.
///
/// Nor is a value of use that is nothing but roundoff, unless it is below `noise`.
fn vanishes(g: &mut impl Function, oscillator: Oscillator, last: f64, noise: f64) -> Option<bool> {
    // Bessel functions fall like x^-1/2 themselves.
    let own = match oscillator {
        Oscillator::BesselJ(_) => 0.5,
        Oscillator::Cos | Oscillator::Sin => 0.0,
    };
    let mut size = |decades: f64| {
        let (value, error) = g.with_error(last * 10f64.powf(decades));
        let size = value.abs();
        // A zero without any bound is one that numbers too large to be numbers left.
        let overflow = size == 0.0 && error == f64::INFINITY;
        let known = size.is_finite() && (overflow || error <= noise.max(0.01 * size));
        known.then(|| size * 10f64.powf(-own * decades))
    };
    let mut far = FarOut::NEW;
    for decades in DECADES {
        match size(f64::from(decades)) {
            Some(size) => far.look(size),
            None => break,
        }
    }
    far.vanishes().or_else(|| {
        // As far as it goes. A constant below shows where the fall by decades all but ends; other amplitudes may still do anything.
        let reach = (1..=32).rev().map(|quarters| 0.25 * f64::from(quarters));
        let mut looks = reach.filter_map(|reach| {
            let places = [0.25 * reach, 0.5 * reach, reach - 0.25, reach];
            let [Some(near), Some(middle), Some(before), Some(end)] = places.map(&mut size) else {
                return None;
            };
            let fall = (near / middle).ln() / (0.25 * reach);
            Some((end, fall, (before / end).ln() / 0.25))
        });
        let (end, fall, last) = looks.next()?;
        (end > 0.0 && fall > 0.0 && last.abs() < 0.2 * fall).then_some(false)
    })
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

impl<F: Function> Areas for Plain<'_, F> {
    fn roundoff(&self) -> f64 {
        self.accuracy.roundoff
    }

    fn distance(&self, k: usize) -> f64 {
        distance(&self.boundaries, k)
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
        let sum = kronrod_sum(&self.kronrod, panels, width, |_, node, part| {
            rounding.at(*integrand, node, 1.0, low + part * width)
        });
        Area {
            level,
            ..noisy(sum, width, self.accuracy, high.abs() / width).rounded(rounding.of(width))
        }
    }
}

fn distance(boundaries: &[f64], k: usize) -> f64 {
    match boundaries.get(k..k + 2) {
        Some(&[low, high]) => high.abs() / (high - low),
        _ => 0.0,
    }
}

/// The error that the integrand's error makes; `cycles` is the number of half cycles up to the area.
///
/// An exponential function multiplies the roundoff of its argument by that argument: by the logarithm of what it gives.
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
    }
}

impl Area {
    /// With the roundoff of the integrand's values, where that is more than what is assumed of any integrand.
    fn rounded(mut self, rounding: f64) -> Self {
        let more = (rounding - self.noise).max(0.0);
        self.floor += if more < UNBOUNDED { more } else { UNBOUNDED };
        self
    }
}

/// Steps of an amplitude between the last node of a panel and the first of the next one, where no rule sees them: a change there that is
/// larger than those between the nodes before.
struct Gaps {
    before: [f64; 3],
    /// Sum of the steps times the oscillation.
    missed: f64,
}

impl Gaps {
    const fn new() -> Self {
        Self {
            before: [f64::NAN; 3],
            missed: 0.0,
        }
    }

    /// The amplitude at the next node; `oscillation` is 0 where no gap lies before it.
    fn look(&mut self, value: f64, oscillation: f64) {
        if oscillation != 0.0 {
            self.look_beyond(value, oscillation, 1.0);
        }
        let [_, b, c] = self.before;
        self.before = [b, c, value];
    }

    /// The amplitude beyond a gap that is up to `wider` times as wide as those between panels are.
    fn look_beyond(&mut self, value: f64, oscillation: f64, wider: f64) {
        let [a, b, c] = self.before;
        let step = (value - c).abs();
        if step > wider * (c - b).abs().max(0.5 * (b - a).abs()) {
            self.missed += step * oscillation.abs();
        }
    }
}

/// The roundoff of an integrand's values in an area.
struct Rounding<'a> {
    weights: &'a [f64],
    panels: usize,
    thorough: bool,
    sum: f64,
}

impl<'a> Rounding<'a> {
    fn new(kronrod: &'a Kronrod, panels: usize, accuracy: Accuracy) -> Self {
        Self {
            weights: &kronrod.rule.weights,
            panels,
            thorough: accuracy.thorough,
            sum: 0.0,
        }
    }

    /// The value of `f` at x, which is node number `node` of a panel and is multiplied by `factor`.
    fn at(&mut self, f: &mut impl Function, node: usize, factor: f64, x: f64) -> f64 {
        // The weights of a rule sum up to 2.
        let weight = match (self.thorough, node == self.weights.len() / 2) {
            (true, _) => self.weights[node],
            (false, true) => 2.0,
            (false, false) => return f.at(x),
        };
        let (value, error) = f.with_error(x);
        self.sum += weight * factor.abs() * error;
        value
    }

    /// Integral of the error over a range of this width.
    fn of(&self, width: f64) -> f64 {
        0.5 * width / self.panels as f64 * self.sum
    }
}

/// Largest error that is told: of values of which nothing is known.
const UNBOUNDED: f64 = 1e300;

/// The roundoff of an integrand's values in a head, whose `f` gives magnitudes and, if it knows them, `errors`: by the trapezoidal rule after the substitution of tanh-sinh.
///
/// Towards the lower end, where cancellation may leave nothing but roundoff, f is between 0 and four times what a power of the distance, -0.9 or what it was
/// before, makes of its last value with digits.
fn head_rounding(errors: bool, width: f64, mut f: impl FnMut(Node) -> (f64, f64)) -> f64 {
    const STEP: f64 = 0.25;
    if !errors {
        return 0.0;
    }
    let (mut sum, mut known) = (0.0, [(f64::NAN, 0.0); 2]);
    for j in -14..=24 {
        let t = -STEP * f64::from(j);
        let u = std::f64::consts::PI * t.abs().sinh();
        let near = (-u).exp() / (1.0 + (-u).exp());
        let weight = STEP * std::f64::consts::PI * t.cosh() * near * (1.0 - near) * width;
        let (below, above) = if t < 0.0 {
            (near * width, (1.0 - near) * width)
        } else {
            ((1.0 - near) * width, near * width)
        };
        let (size, mut error) = f(Node {
            below,
            above,
            place: usize::MAX,
        });
        if size.is_nan() || size == f64::INFINITY {
            // What the quadrature leaves out it accounts for.
            continue;
        }
        if error <= 0.1 * size {
            known = [(below, size), known[0]];
        } else {
            let [(here, last), (before, earlier)] = known;
            let slope = (last / earlier).ln() / (before / here).ln();
            let power = if slope > 0.85 { slope + 0.1 } else { 0.9 };
            if power < 1.0 && last > 0.0 {
                error = error.min(size + 4.0 * last * (here / below).powf(power));
            }
        }
        sum += weight * error;
    }
    // Bumps as narrow as the steps are seen to half their size.
    2.0 * sum
}

/// Kronrod sum over a range in equal panels; `f` is given the panel, the node, and the part of the range below the node.
fn kronrod_sum(
    kronrod: &Kronrod,
    panels: usize,
    width: f64,
    mut f: impl FnMut(usize, usize, f64) -> f64,
) -> Estimate {
    let (nodes, weights, gauss) = (&kronrod.rule.nodes, &kronrod.rule.weights, &kronrod.gauss);
    let scale = 0.5 * width / panels as f64;
    let mut values = vec![0.0; nodes.len()];
    let mut total = Estimate::default();
    for panel in 0..panels {
        let (mut fine, mut coarse, mut magnitude) = (0.0, 0.0, 0.0);
        for (node, value) in values.iter_mut().enumerate() {
            let part = (panel as f64 + 0.5 * (1.0 + nodes[node])) / panels as f64;
            *value = f(panel, node, part);
            fine += weights[node] * *value;
            coarse += gauss[node] * *value;
            magnitude += weights[node] * value.abs();
        }
        let mean = 0.5 * fine;
        let terms = values.iter().zip(weights);
        let deviation: f64 = terms.map(|(value, w)| w * (value - mean).abs()).sum();
        total.value += scale * fine;
        total.magnitude += scale * magnitude;
        let difference = quadpack_error(
            scale * coarse,
            scale * fine,
            scale * magnitude,
            scale * deviation,
        );
        total.error += difference.max(scale * kronrod.smoothness(&values));
        if has_pole(&values) {
            total.error += 10.0 * scale * magnitude;
        }
    }
    total
}

/// Nearest distance from a singular end at which f is evaluated under the substitution below.
const NEAREST: f64 = 1e-280;

/// Integral over the head. Where f ~ d^-p at its lower end with p > 1/2, the distance d is replaced by t^(1/(1-p)), which leaves an
/// integrand without the singularity; without it nothing nearer than 1e-300 would count, which for p = 0.97 is 1e-9 of the integral.
fn head_of(
    f: &mut impl FnMut(Node) -> f64,
    width: f64,
    tolerance: f64,
    exponent: Exponent,
    from_zero: bool,
) -> Estimate {
    let at = |f: &mut dyn FnMut(Node) -> f64, below: f64| {
        f(Node {
            below,
            above: width - below,
            place: usize::MAX,
        })
    };
    let p = match exponent {
        Exponent::Given(p) => p,
        Exponent::Auto if from_zero => power_at_zero(&mut |d| at(f, d * width)),
        Exponent::Auto => 0.0,
    };
    if p <= 0.5 {
        return tanh_sinh(width, tolerance, f);
    }
    let rest = 1.0 - p;
    tanh_sinh(width.powf(rest), tolerance, &mut |node: Node| {
        // Near the upper end the distance from it decides: 1 - (1 - u)^(1/rest), u the part above.
        let total = node.below + node.above;
        let node = if node.below <= node.above {
            let below = node.below.powf(1.0 / rest).max(NEAREST * width);
            Node {
                below,
                above: width - below,
                place: usize::MAX,
            }
        } else {
            let above = -width * ((-node.above / total).ln_1p() / rest).exp_m1();
            Node {
                below: width - above,
                above,
                place: usize::MAX,
            }
        };
        f(node) * node.below.powf(p) / rest
    })
}

/// p if f ~ d^-p over a hundred decades near 0, else 0.
fn power_at_zero(f: &mut impl FnMut(f64) -> f64) -> f64 {
    let [a, b, c] = [1e-250, 1e-200, 1e-150].map(|d| f(d).abs().ln());
    let decades = 50.0 * std::f64::consts::LN_10;
    let (near, far) = ((a - b) / decades, (b - c) / decades);
    if (near - far).abs() < 1e-12 && near > 0.5 && near < 1.0 - 1e-4 {
        near
    } else {
        0.0
    }
}
