//! The head: from the lower limit to the first boundary, where the integrand may be singular.

use super::areas::Exponent;
use super::quadrature::{Estimate, Node, tanh_sinh};

/// The roundoff of an integrand's values in a head, whose `f` gives magnitudes and, if it knows them, `errors`: by the trapezoidal rule after the substitution of tanh-sinh.
///
/// Towards the lower end, where cancellation may leave nothing but roundoff, f is between 0 and four times what a power of the distance, -0.9 or what it was
/// before, makes of its last value with digits.
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

/// Nearest distance from a singular end at which f is evaluated under the substitution below.
const NEAREST: f64 = 1e-280;

/// Integral over the head. Where f ~ d^-p at its lower end with p > 1/2, the distance d is replaced by t^(1/(1-p)), which leaves an
/// integrand without the singularity; without it nothing nearer than 1e-300 would count, which for p = 0.97 is 1e-9 of the integral.
pub(super) fn head_of(
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
