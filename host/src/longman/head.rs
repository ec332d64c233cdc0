//! The head: from the lower limit to the first boundary, where the integrand may be singular.

use super::quadrature::{Estimate, Node, tanh_sinh};

/// How the integrand behaves at the lower end.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) enum Exponent {
    /// Unknown: looked for where the lower end is 0.
    Auto,
    /// f ~ (x - a)^-p, p < 1.
    Given(f64),
}

/// The roundoff of an integrand's values in a head, by the trapezoidal rule after the substitution of tanh-sinh. `f` returns magnitudes and, if it knows them, `errors`.
///
/// Towards the lower end cancellation may leave nothing but roundoff. There f is between 0 and four times a power of the distance, -0.9 or the previous one,
/// through its last value with digits.
pub(super) fn head_rounding(
    errors: bool,
    width: f64,
    mut f: impl FnMut(Node) -> (f64, f64),
) -> f64 {
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
            // The quadrature accounts for the part that it leaves out.
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

/// Nearest distance from a singular end, in units of the width, at which f is evaluated under the substitution below: the first of these
/// where f is a number, as factors of f may overflow nearer.
const NEAREST: [f64; 3] = [1e-280, 1e-140, 1e-90];

/// Integral over the head. Where f ~ d^-p at its lower end with p > 1/2, the distance d is replaced by t^(1/(1-p)), which leaves an
/// integrand without the singularity. Without it nothing nearer than 1e-300 would count, which for p = 0.97 is 1e-9 of the integral.
pub(super) fn head_of(
    f: &mut impl FnMut(Node) -> f64,
    width: f64,
    tolerance: f64,
    exponent: Exponent,
    from_zero: bool,
) -> Estimate {
    let mut at = |part: f64| {
        f(Node {
            below: part * width,
            above: width - part * width,
            place: usize::MAX,
        })
    };
    let nearest = NEAREST
        .into_iter()
        .find(|part| at(*part).is_finite())
        .unwrap_or(NEAREST[0]);
    let (p, rounding) = match exponent {
        Exponent::Given(p) => (p, 0.0),
        Exponent::Auto if from_zero => (power_at_zero(&mut at, nearest), 2.0 * f64::EPSILON),
        Exponent::Auto => (0.0, 0.0),
    };
    if p <= 0.5 {
        return tanh_sinh(width, tolerance, f);
    }
    let rest = 1.0 - p;
    // Nearer than the nearest d the power p continues f, which may have another one.
    let [near, far] = [nearest, nearest.sqrt()].map(&mut at);
    let found = -2.0 * (near / far).ln() / nearest.ln();
    let continued =
        near.abs() * nearest * width * (1.0 / rest - 1.0 / (1.0 - found).max(0.0)).abs();
    let mut estimate = tanh_sinh(width.powf(rest), tolerance, &mut |node: Node| {
        // d = width t^(1/rest), from the end that is nearer.
        let total = node.below + node.above;
        let logarithm = if node.below <= node.above {
            (node.below / total).ln()
        } else {
            (-node.above / total).ln_1p()
        } / rest;
        let node = Node {
            below: width * logarithm.exp().max(nearest),
            above: -width * logarithm.exp_m1(),
            place: usize::MAX,
        };
        f(node) * node.below.powf(p) / rest
    });
    estimate.error += rounding / rest * estimate.magnitude;
    if !continued.is_nan() {
        estimate.error += continued;
    }
    estimate
}

/// p if f ~ d^-p over many decades near 0, else 0; `f` takes d in units of the width.
fn power_at_zero(f: &mut impl FnMut(f64) -> f64, nearest: f64) -> f64 {
    let [a, b, c] = [0.9, 0.7, 0.5].map(|part| f(nearest.powf(part)));
    let decades = -0.2 * nearest.ln();
    let (near, far) = ((a / b).ln() / decades, (b / c).ln() / decades);
    if (near - far).abs() < 1e-12 && near > 0.5 && near < 1.0 - 1e-8 {
        near
    } else {
        0.0
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const WIDTH: f64 = 2.0;

    /// The integral of d^-p, and of d^-(p+1) sin d with an amplitude that overflows, and the largest relative error.
    fn powers(p: f64, exponent: Exponent) -> [(Estimate, f64); 2] {
        let mut plain = |node: Node| node.below.powf(-p);
        let mut steep = |node: Node| node.below.powf(-p - 1.0) * node.below.sin();
        let rest = 1.0 - p;
        let exact = WIDTH.powf(rest) / rest;
        // sin d/d is 1 but for a sum that does not depend on the power near p = 1.
        let terms = (1..20).scan(1.0, |factor, k| {
            let k = f64::from(k);
            *factor *= -WIDTH * WIDTH / (2.0 * k * (2.0 * k + 1.0));
            Some(*factor * WIDTH.powf(rest) / (2.0 * k + rest))
        });
        let sum: f64 = terms.sum();
        [
            (head_of(&mut plain, WIDTH, 1e-15, exponent, true), exact),
            (
                head_of(&mut steep, WIDTH, 1e-15, exponent, true),
                exact + sum,
            ),
        ]
    }

    #[test]
    fn powers_near_one_are_integrated() {
        for rest in [0.4, 0.1, 0.03, 0.02, 0.015, 1e-2, 1e-3, 1e-4, 1e-5, 1e-6] {
            // A number of which one more is a number too.
            let p = (2.0 - rest) - 1.0;
            for exponent in [Exponent::Auto, Exponent::Given(p)] {
                for (found, exact) in powers(p, exponent) {
                    // The integrand's own roundoff is counted elsewhere.
                    let error = (found.value - exact).abs() - 8.0 * f64::EPSILON * exact;
                    assert!(error <= found.error, "{rest} {found:?} {exact}");
                    let most = 1e-13 + 1e-15 / rest;
                    assert!(found.error <= most * exact, "{rest} {found:?} {exact}");
                }
            }
        }
    }

    #[test]
    fn other_powers_than_given_are_part_of_the_error() {
        for (p, given) in [(0.99, 0.9), (0.99, 0.999), (0.97, 0.6), (0.9999, 0.99)] {
            for (found, exact) in powers(p, Exponent::Given(given)) {
                let error = (found.value - exact).abs();
                assert!(error <= found.error, "{p} {given} {found:?} {exact}");
            }
        }
        // Without an integral there is no bound.
        for p in [1.0 - 1e-9, 1.0, 1.2] {
            let found = &powers(p, Exponent::Auto)[0].0;
            assert!(found.error > 1e8, "{p} {found:?}");
        }
    }
}
