//! Tanh-sinh quadrature (H. Takahasi and M. Mori, Publ. RIMS 9 (1974) 721), for ranges with singular ends.

use std::f64::consts::FRAC_PI_2;
use std::sync::OnceLock;

use super::{Estimate, has_pole};

/// Abscissas of tanh-sinh: the distance from the nearer end in units of the width, and the weight times dx/dt in the same units.
#[derive(Debug)]
struct TanhSinh {
    /// For each level the new points t > 0 (level 0: t = 0 too).
    levels: Vec<Vec<(f64, f64)>>,
}

/// Levels of tanh-sinh; the step of level l is 2^-l.
const LEVELS: usize = 9;

/// A node of [`tanh_sinh`]: its distances from both ends of the range.
#[derive(Clone, Copy, Debug, PartialEq)]
#[non_exhaustive]
pub struct Node {
    /// Distance from the lower end; exact if it is the smaller one.
    pub below: f64,
    /// Distance from the upper end; exact if it is the smaller one.
    pub above: f64,
    /// Its place among the nodes of [`tanh_sinh_nodes`].
    pub place: usize,
}

impl Node {
    fn new(near: f64, width: f64, side: usize, place: usize) -> Self {
        let (below, above) = if side == 0 {
            (near, width - near)
        } else {
            (width - near, near)
        };
        Self {
            below,
            above,
            place,
        }
    }
}

/// The nodes of the first levels in a range of this width, in the order of their places.
pub fn tanh_sinh_nodes(width: f64, levels: usize) -> Vec<Node> {
    let points = TanhSinh::get().levels.iter().take(levels).flatten();
    points
        .enumerate()
        .flat_map(|(i, &(distance, _))| {
            [0, 1].map(|side| Node::new(distance * width, width, side, 2 * i + side))
        })
        .collect()
}

impl TanhSinh {
    fn get() -> &'static Self {
        static TABLE: OnceLock<TanhSinh> = OnceLock::new();
        TABLE.get_or_init(|| {
            let levels = (0..LEVELS).map(|level| {
                let step = 0.5_f64.powi(level as i32);
                let (first, stride) = if level == 0 { (0, 1) } else { (1, 2) };
                (first..)
                    .step_by(stride)
                    .map(|k| f64::from(k) * step)
                    .map(|t| {
                        // The distance from the end: 1/(1 + e^(pi sinh t)).
                        let u = FRAC_PI_2 * t.sinh();
                        let distance = (-2.0 * u).exp() / (1.0 + (-2.0 * u).exp());
                        let weight = FRAC_PI_2 * t.cosh() * 2.0 * distance * (1.0 - distance);
                        (distance, weight)
                    })
                    .take_while(|(distance, _)| *distance > 1e-300)
                    .collect()
            });
            TanhSinh {
                levels: levels.collect(),
            }
        })
    }
}

/// cos(k pi/8).
const COSINES: [f64; 16] = {
    const C: f64 = 0.923_879_532_511_286_7;
    const D: f64 = std::f64::consts::FRAC_1_SQRT_2;
    const S: f64 = 0.382_683_432_365_089_8;
    [
        1.0, C, D, S, 0.0, -S, -D, -C, -1.0, -C, -D, -S, 0.0, S, D, C,
    ]
};

/// The terms of a trapezoidal sum, added up over every sixteenth node, each sum starting at another one.
///
/// A trapezoidal sum with step h misses an integral by the Fourier transform of the integrand at the frequency 1/h and its multiples. The difference of the sums
/// with steps h and 2h shows that at 1/(2h), but for one phase only: where the real part passes through zero two levels agree by
/// accident. The sums kept apart have a discrete Fourier transform, whose magnitude at m/(16h) does not depend on the phase. The missed part, at m = 16, is continued
/// from m = 3 .. 8.
#[derive(Clone, Copy, Debug, Default)]
struct Cosets([f64; 16]);

impl Cosets {
    /// Adds a term; the number of its node is counted from the middle, in steps of the present level.
    fn add(&mut self, node: i64, term: f64) {
        self.0[node.rem_euclid(16) as usize] += term;
    }

    /// The same terms under half the step.
    fn halve(&mut self) {
        let mut finer = [0.0; 16];
        for (r, sum) in self.0.iter().enumerate() {
            finer[2 * r % 16] += sum;
        }
        self.0 = finer;
    }

    fn frequency(&self, m: usize) -> f64 {
        let (mut real, mut imaginary) = (0.0, 0.0);
        for (r, sum) in self.0.iter().enumerate() {
            real += sum * COSINES[m * r % 16];
            imaginary += sum * COSINES[(m * r + 12) % 16];
        }
        real.hypot(imaginary)
    }

    /// The part that the sum misses; `magnitude` is the sum of the terms' magnitudes.
    fn missed(&self, magnitude: f64) -> f64 {
        let size = [3, 4, 5, 6, 7, 8].map(|m| self.frequency(m));
        let rate = |a: f64, b: f64| if a < b { a / b } else { 1.0 };
        // By pairs, as two singularities at the same distance may cancel at one frequency.
        let three = size[0].max(size[1]);
        let five = size[2].max(size[3]);
        let seven = size[4].max(size[5]);
        if seven <= 4.0 * f64::EPSILON * magnitude {
            return seven;
        }
        let single = rate(size[5], size[4]).max(rate(size[4], size[3]));
        let fall = rate(seven, five)
            .max(rate(five, three))
            .max(single * single);
        // From 7.5 to 16 are four pairs and more.
        let continued = 16.0 * seven * fall.powi(3);
        // A spectrum that falls no faster than a power is that of a step, which misses up to 1.02 of the largest term, or a kink, up to 0.28. A kink below
        // else there is may be as large as that.
        continued.max(if fall > 0.2 {
            1.5 * five.max(seven)
        } else {
            0.5 * seven
        })
    }
}

/// Integral of `f` over a range of this width by tanh-sinh, the step halved until the value settles to `tolerance` of its magnitude.
///
/// Values that are not finite are dropped at
/// the last nodes of either end, as an endpoint may be singular. Elsewhere they make the value not finite. The cut-off part
/// is added to the error.
pub fn tanh_sinh(width: f64, tolerance: f64, f: &mut impl FnMut(Node) -> f64) -> Estimate {
    let table = TanhSinh::get();
    let (mut sum, mut magnitude) = (0.0_f64, 0.0_f64);
    let mut cosets = Cosets::default();
    let mut previous = [f64::NAN; 2];
    let mut estimate = Estimate::default();
    // Distance from which on each end is cut off, because f is not finite nearer to it.
    let mut cut = [0.0_f64; 2];
    // Nearest distances that count.
    let mut nearest = [width; 2];
    let mut first = 0;
    // Side, distance from its end (negative at the upper one, so that both ascend), and the value there.
    let mut seen: Vec<(usize, f64, f64)> = Vec::new();
    for (level, points) in table.levels.iter().enumerate() {
        let step = 0.5_f64.powi(level as i32);
        cosets.halve();
        for (i, &(distance, weight)) in points.iter().enumerate() {
            let near = distance * width;
            let sides = if level == 0 && distance == 0.5 { 1 } else { 2 };
            // The first level has all numbers of nodes, each further one the odd ones.
            let number = if level == 0 { i } else { 2 * i + 1 } as i64;
            for (side, (cut, nearest)) in cut.iter_mut().zip(&mut nearest).enumerate().take(sides) {
                if near <= *cut {
                    continue;
                }
                let value = f(Node::new(near, width, side, 2 * (first + i) + side));
                if value.is_finite() {
                    seen.push((side, if side == 0 { near } else { -near }, value));
                    let term = weight * value;
                    cosets.add(if side == 0 { -number } else { number }, term);
                    sum += term;
                    magnitude += term.abs();
                    *nearest = nearest.min(near);
                } else if distance < 1e-8 {
                    *cut = near;
                } else {
                    return Estimate {
                        value: f64::NAN,
                        error: f64::INFINITY,
                        magnitude: f64::INFINITY,
                    };
                }
            }
        }
        first += points.len();
        let scale = step * width;
        let value = sum * scale;
        let size = magnitude * scale;
        let roundoff = f64::EPSILON * size;
        let missed = cosets.missed(magnitude) * scale;
        let [older, last] = previous;
        let change = (value - last).abs();
        let older_change = (last - older).abs();
        // The digits double with each level. The error of this value is less than the square of the last relative change, but not
        // believed to be less than a tenth of what a merely linear convergence would leave.
        let error = if level < 2 {
            f64::INFINITY
        } else if change <= roundoff {
            roundoff
        } else if change < older_change {
            (change * (change / older_change)).max(roundoff)
        } else {
            change
        };
        let end = ends(f, width, &nearest);
        estimate = Estimate {
            value,
            error: error.max(missed) + end,
            magnitude: size,
        };
        let settled = change <= roundoff.max(tolerance * size);
        if level >= 3 && settled && missed <= 100.0 * tolerance * size {
            break;
        }
        previous = [last, value];
    }
    let signs = |sign: f64| seen.iter().any(|seen| sign * seen.2 > 0.0);
    if signs(1.0) && signs(-1.0) && has_pole(&in_order(seen)) {
        estimate.error += 10.0 * estimate.magnitude;
    }
    estimate
}

/// The values seen, from one end to the other.
fn in_order(mut seen: Vec<(usize, f64, f64)>) -> Vec<f64> {
    seen.sort_by(|a, b| a.0.cmp(&b.0).then(a.1.total_cmp(&b.1)));
    seen.into_iter().map(|(.., value)| value).collect()
}

/// The part between the ends and the last nodes, if f behaves as a power there: the integral of d^-p up to d is d f(d)/(1-p), and without bound from p = 1 on.
fn ends(f: &mut impl FnMut(Node) -> f64, width: f64, nearest: &[f64; 2]) -> f64 {
    let mut missing = 0.0;
    for (side, &near) in nearest.iter().enumerate() {
        let mut area = |near: f64| f(Node::new(near, width, side, usize::MAX)).abs() * near;
        let (here, further) = (area(near), area(16.0 * near));
        if here.is_finite() && further.is_finite() && here > 0.0 {
            let power = (further / here).ln() / 16f64.ln();
            // A logarithm beside the power halves it.
            missing += 2.0 * here / power.max(f64::EPSILON);
        }
    }
    missing
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn tanh_sinh_integrates_singular_ends_and_tells_its_error() {
        type Case = (&'static str, f64, fn(f64, f64) -> f64, f64);
        let cases: [Case; 6] = [
            ("x^-1/2", 1.0, |x, _| 1.0 / x.sqrt(), 2.0),
            ("x^-0.9", 1.0, |x, _| x.powf(-0.9), 10.0),
            ("ln x", 2.0, |x, _| x.ln(), 2.0 * 2f64.ln() - 2.0),
            ("exp", 3.0, |x, _| x.exp(), 3f64.exp() - 1.0),
            (
                "both ends",
                1.0,
                |x, y| 1.0 / (x * y).sqrt(),
                std::f64::consts::PI,
            ),
            ("steep", 40.0, |x, _| (-20.0 * x).exp(), 0.05),
        ];
        for (name, width, f, right) in cases {
            let found = tanh_sinh(width, 1e-15, &mut |node| f(node.below, node.above));
            let error = (found.value - right).abs();
            assert!(error <= 4e-15 * right.abs(), "{name}: {error:e}");
            assert!(
                found.error < 1e-13 * right.abs(),
                "{name}: {:e}",
                found.error
            );
        }
        // 1e-300^0.03 = 0.1%: honest about what no f64 can resolve.
        let found = tanh_sinh(1.0, 1e-15, &mut |node| node.below.powf(-0.97));
        let error = (found.value - 1.0 / 0.03).abs();
        assert!(
            error < found.error && found.error < 1e-6,
            "{error:e} {:e}",
            found.error
        );
    }
}
