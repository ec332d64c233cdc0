//! Integrals over the speeds across a duct, as functions of the optical distance.
//!
//! With the speed v across the duct and the distance x in free paths,
//!
//! ```text
//! K_j(x) = int (v^2 - 1)^j exp(-v^2 - x/v) dv,   W_j(x) = int (v^2 - 1)^j v exp(-v^2 - x/v) dv,   j = 0, 1, 2
//! ```
//!
//! over v > 0, so that W_j' = -K_j. They are combinations of Abramowitz' functions T_n.

/// Distance in free paths beyond which the kernels are below 1e-11.
pub(super) const REACH: f64 = 50.0;
/// Least distance of the table; the kernels change by 1e-12 below it.
const LEAST: f64 = 1e-14;
/// Spacing of the table in the logarithm of the distance.
const SPACING: f64 = 0.02;
/// Neighbours of an interpolation.
const POINTS: usize = 6;

/// K_0, K_1, K_2, W_0, W_1, W_2.
pub(super) type Values = [f64; 6];

/// A table over the logarithm of the distance.
pub(super) struct Kernels {
    values: Vec<Values>,
}

impl Kernels {
    pub(super) fn new() -> Self {
        let count = ((REACH / LEAST).ln() / SPACING).ceil() as usize + POINTS;
        let values = (0..count).map(|k| exact(LEAST * (k as f64 * SPACING).exp()));
        Self {
            values: values.collect(),
        }
    }

    /// The values at a distance, by polynomials of degree five in its logarithm.
    pub(super) fn at(&self, x: f64) -> Values {
        if x > REACH {
            return [0.0; 6];
        }
        let place = (x.max(LEAST) / LEAST).ln() / SPACING;
        let last = self.values.len() - POINTS;
        let first = (place as usize).saturating_sub(POINTS / 2 - 1).min(last);
        let t = place - first as f64;
        let [a, b, c, d, e, f] = [t, t - 1.0, t - 2.0, t - 3.0, t - 4.0, t - 5.0];
        let (ab, ef) = (a * b, e * f);
        let (abc, def) = (ab * c, d * ef);
        let weights = [
            -b * c * def / 120.0,
            a * c * def / 24.0,
            -ab * def / 12.0,
            abc * ef / 12.0,
            -abc * d * f / 24.0,
            abc * d * e / 120.0,
        ];
        let near = &self.values[first..first + POINTS];
        let mut sums = [0.0; 6];
        for (values, weight) in near.iter().zip(weights) {
            for (sum, value) in sums.iter_mut().zip(values) {
                *sum += weight * value;
            }
        }
        sums
    }
}

/// The values at a distance, by trapezoids in ln v, which converge exponentially.
fn exact(x: f64) -> Values {
    const STEP: f64 = 0.125;
    // Slower molecules collide before, and faster ones are too few.
    let first = ((x / 700.0).ln() / STEP).max(-40.0 / STEP) as i32;
    let mut sums = [0.0; 6];
    for k in first..=(2.0 / STEP) as i32 {
        let v = (STEP * f64::from(k)).exp();
        let mut term = STEP * v * (-v * v - x / v).exp();
        for j in 0..3 {
            sums[j] += term;
            sums[3 + j] += term * v;
            term *= v * v - 1.0;
        }
    }
    sums
}
