//! The head and the areas of an integral, each with its error, whatever the integrand is given by.

use std::sync::Arc;

use rarefy_kernels::longman::decide::FarOut;

use super::oscillator::{DIVISIONS, Oscillator, PhaseTable, Start};
use super::quadrature::{Estimate, Kronrod, Node, quadpack_error, tanh_sinh};

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
    /// Error that an absolute error of the integrand makes.
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
    /// Whether the integrand vanishes far out, where that can be seen.
    fn vanishes(&mut self) -> Option<bool> {
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

impl<'a, G: FnMut(f64) -> f64> Oscillating<'a, G> {
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

impl<G: FnMut(f64) -> f64> Areas for Oscillating<'_, G> {
    fn roundoff(&self) -> f64 {
        self.accuracy.roundoff
    }

    fn distance(&self, k: usize) -> f64 {
        distance(&self.zeros, k)
    }

    fn vanishes(&mut self) -> Option<bool> {
        if self.accuracy.absolute > 0.0 {
            return None;
        }
        let last = self.zeros.last().copied().unwrap_or(1.0) / self.omega;
        vanishes(self.amplitude, self.table.oscillator, last)
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
        let change = (amplitude(lower + step) / amplitude(lower)).ln().abs();
        let slope = 0.5 * self.accuracy.roundoff * (lower / step) * change;
        let mut f = |node: Node| {
            // Near the lower end x = a + d, near the upper one x = x_1 - d.
            let x = if node.below <= node.above {
                lower + node.below / omega
            } else {
                end - node.above / omega
            };
            amplitude(x) * table.head(start, first, node) / omega
        };
        let estimate = head_of(&mut f, width, tolerance, self.exponent, lower == 0.0);
        Area {
            slope: if lower > 0.0 && slope.is_finite() {
                slope * estimate.magnitude
            } else {
                0.0
            },
            ..noisy(estimate, width / omega, self.accuracy, 0.0)
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
        let sum = kronrod_sum(&table.kronrod, panels, width, |panel, node, part| {
            let osc = sign * table.value(index, (low, high), level, panel, node);
            amplitude(origin + part * width) * osc
        });
        Area {
            level,
            ..noisy(sum, width, self.accuracy, 0.0)
        }
    }
}

/// Decades beyond the last area at which kernels and the CPU look whether the amplitude vanishes; those of `f32` end sooner.
const DECADES: [i32; 6] = [0, 6, 12, 24, 48, 96];

/// Whether g(x) osc(omega x) goes to zero, from g many decades beyond `last`: a constant below a visible decay shows there, and nowhere else as
/// surely. None where g is no number so far out.
fn vanishes(g: &mut impl FnMut(f64) -> f64, oscillator: Oscillator, last: f64) -> Option<bool> {
    // Bessel functions fall like x^-1/2 themselves.
    let own = match oscillator {
        Oscillator::BesselJ(_) => 0.5,
        Oscillator::Cos | Oscillator::Sin => 0.0,
    };
    let mut far = FarOut::NEW;
    for decades in DECADES {
        let size = g(last * 10f64.powi(decades)).abs();
        if !size.is_finite() {
            break;
        }
        far.look(size * 10f64.powf(-own * f64::from(decades)));
    }
    far.vanishes()
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

impl<F: FnMut(f64) -> f64> Areas for Plain<'_, F> {
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
        let mut f = |node: Node| {
            integrand(if node.below <= node.above {
                lower + node.below
            } else {
                first - node.above
            })
        };
        let estimate = head_of(
            &mut f,
            first - lower,
            tolerance,
            self.exponent,
            lower == 0.0,
        );
        noisy(
            estimate,
            first - lower,
            self.accuracy,
            first.abs() / (first - lower),
        )
    }

    fn area(&mut self, k: usize, level: usize) -> Area {
        let (low, high) = match (self.boundaries.get(k), self.boundaries.get(k + 1)) {
            (Some(&low), Some(&high)) => (low, high),
            _ => return Area::default(),
        };
        let (width, integrand) = (high - low, &mut self.integrand);
        let sum = kronrod_sum(&self.kronrod, DIVISIONS[level], width, |_, _, part| {
            integrand(low + part * width)
        });
        Area {
            level,
            ..noisy(sum, width, self.accuracy, high.abs() / width)
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

/// Kronrod sum over a range in equal panels; `f` is given the panel, the node, and the part of the range below the node.
fn kronrod_sum(
    kronrod: &Kronrod,
    panels: usize,
    width: f64,
    mut f: impl FnMut(usize, usize, f64) -> f64,
) -> Estimate {
    let Rule3 {
        nodes,
        weights,
        gauss,
    } = Rule3::of(kronrod);
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
        total.error += quadpack_error(
            scale * coarse,
            scale * fine,
            scale * magnitude,
            scale * deviation,
        );
    }
    total
}

struct Rule3<'a> {
    nodes: &'a [f64],
    weights: &'a [f64],
    gauss: &'a [f64],
}

impl<'a> Rule3<'a> {
    fn of(kronrod: &'a Kronrod) -> Self {
        Self {
            nodes: &kronrod.rule.nodes,
            weights: &kronrod.rule.weights,
            gauss: &kronrod.gauss,
        }
    }
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
