//! Amplitudes that are known at points only.

use std::f64::consts::PI;

use serde::Serialize;

use crate::error::{Error, Result};

/// A cubic spline through points (x, g), twice continuously differentiable, its third derivative continuous at the second and the last but one
/// point ("not a knot"). Not a number outside the points: an integral that needs g there is not finite, never wrong.
///
/// ```
/// use rarefy::longman::sampled::Spline;
///
/// let x: Vec<f64> = (0..21).map(|i| f64::from(i) / 4.0).collect();
/// let g: Vec<f64> = x.iter().map(|x| (-x).exp()).collect();
/// let spline = Spline::new(&x, &g)?;
/// assert!((spline.at(1.1) - (-1.1_f64).exp()).abs() < 2e-5);
/// assert!(spline.at(5.1).is_nan());
/// # Ok::<(), rarefy::Error>(())
/// ```
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Spline {
    x: Vec<f64>,
    g: Vec<f64>,
    /// Second derivatives at the points.
    curvature: Vec<f64>,
}

impl Spline {
    /// Through at least four points with ascending x.
    ///
    /// # Errors
    /// Fewer points than four, other numbers of x than of g, x that does not ascend, or what is not finite.
    pub fn new(x: &[f64], g: &[f64]) -> Result<Self> {
        let n = x.len();
        if n != g.len() || n < 4 {
            return Err(Error::invalid(
                "samples",
                format!("{n} of x and {} of g", g.len()),
                "at least 4 points, each with x and g",
            ));
        }
        let finite = x.iter().chain(g).all(|value| value.is_finite());
        if !finite || !x.windows(2).all(|pair| pair[0] < pair[1]) {
            return Err(Error::invalid(
                "samples",
                "x that does not ascend, or what is not finite",
                "finite numbers with x ascending",
            ));
        }
        Ok(Self {
            curvature: curvature(x, g),
            x: x.to_vec(),
            g: g.to_vec(),
        })
    }

    /// The amplitude at x.
    pub fn at(&self, x: f64) -> f64 {
        let last = self.x.len() - 1;
        if !(x >= self.x[0] && x <= self.x[last]) {
            return f64::NAN;
        }
        let i = self.x.partition_point(|point| *point <= x).clamp(1, last) - 1;
        let h = self.x[i + 1] - self.x[i];
        let (a, b) = ((self.x[i + 1] - x) / h, (x - self.x[i]) / h);
        let bend = (a * a * a - a) * self.curvature[i] + (b * b * b - b) * self.curvature[i + 1];
        a * self.g[i] + b * self.g[i + 1] + bend * h * h / 6.0
    }
}

/// Second derivatives of the spline: a tridiagonal system after the two end conditions are put into its first and last row.
fn curvature(x: &[f64], g: &[f64]) -> Vec<f64> {
    let n = x.len();
    let h: Vec<f64> = x.windows(2).map(|pair| pair[1] - pair[0]).collect();
    let slope: Vec<f64> = g
        .windows(2)
        .zip(&h)
        .map(|(pair, h)| (pair[1] - pair[0]) / h)
        .collect();
    let inner = n - 2;
    let (mut below, mut diagonal, mut above, mut right) = (
        vec![0.0; inner],
        vec![0.0; inner],
        vec![0.0; inner],
        vec![0.0; inner],
    );
    for i in 0..inner {
        below[i] = h[i];
        diagonal[i] = 2.0 * (h[i] + h[i + 1]);
        above[i] = h[i + 1];
        right[i] = 6.0 * (slope[i + 1] - slope[i]);
    }
    // m_0 = m_1 + (m_1 - m_2) h_0/h_1, and the same at the other end.
    let ratio = h[0] / h[1];
    diagonal[0] += h[0] * (1.0 + ratio);
    above[0] -= h[0] * ratio;
    let ratio = h[n - 2] / h[n - 3];
    diagonal[inner - 1] += h[n - 2] * (1.0 + ratio);
    below[inner - 1] -= h[n - 2] * ratio;
    for i in 1..inner {
        let factor = below[i] / diagonal[i - 1];
        diagonal[i] -= factor * above[i - 1];
        right[i] -= factor * right[i - 1];
    }
    let mut m = vec![0.0; n];
    for i in (0..inner).rev() {
        let next = if i + 1 < inner {
            above[i] * m[i + 2]
        } else {
            0.0
        };
        m[i + 1] = (right[i] - next) / diagonal[i];
    }
    m[0] = m[1] + (m[1] - m[2]) * h[0] / h[1];
    m[n - 1] = m[n - 2] + (m[n - 2] - m[n - 3]) * h[n - 2] / h[n - 3];
    m
}

/// A function on [0, infinity) by Chebyshev polynomials in t = (x - scale)/(x + scale), which takes it to [-1, 1).
///
/// For amplitudes that are expensive, are smooth for all x > 0, and go to a constant or to a power series in 1/x: sampled once at
/// [`nodes`](Self::nodes), they serve any number of integrals.
///
/// ```
/// use rarefy::longman::sampled::Chebyshev;
///
/// let nodes = Chebyshev::nodes(40, 1.0);
/// let g: Vec<f64> = nodes.iter().map(|x| 1.0 / (1.0 + x * x)).collect();
/// let series = Chebyshev::new(&g, 1.0)?;
/// assert!((series.at(3.0) - 0.1).abs() < 1e-14);
/// assert!(series.accuracy() < 1e-11);
/// # Ok::<(), rarefy::Error>(())
/// ```
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Chebyshev {
    coefficients: Vec<f64>,
    scale: f64,
}

impl Chebyshev {
    /// Where to sample: `count` values of x.
    pub fn nodes(count: usize, scale: f64) -> Vec<f64> {
        (0..count)
            .map(|k| {
                // (1 + cos)/(1 - cos) is the squared cotangent of half the angle.
                let half = 0.5 * PI * (k as f64 + 0.5) / count as f64;
                scale / half.tan().powi(2)
            })
            .collect()
    }

    /// The series through the values at the nodes.
    ///
    /// # Errors
    /// Fewer values than two, or what is not finite; a scale that is not positive.
    pub fn new(g: &[f64], scale: f64) -> Result<Self> {
        if g.len() < 2 || !g.iter().all(|value| value.is_finite()) {
            return Err(Error::invalid(
                "samples",
                format!("{} values", g.len()),
                "2 or more values, all finite",
            ));
        }
        if !(scale > 0.0 && scale.is_finite()) {
            return Err(Error::invalid(
                "scale",
                scale,
                "a positive scale of a Chebyshev series",
            ));
        }
        let n = g.len();
        let coefficients = (0..n)
            .map(|j| {
                let terms = g.iter().enumerate().map(|(k, value)| {
                    // The angle modulo a full turn, exactly.
                    let turns = (j * (2 * k + 1)) % (4 * n);
                    value * (PI * turns as f64 / (2 * n) as f64).cos()
                });
                let factor = if j == 0 { 1.0 } else { 2.0 };
                factor * terms.sum::<f64>() / n as f64
            })
            .collect();
        Ok(Self {
            coefficients,
            scale,
        })
    }

    /// The amplitude at x >= 0.
    pub fn at(&self, x: f64) -> f64 {
        let t = (x - self.scale) / (x + self.scale);
        let (mut next, mut here) = (0.0, 0.0);
        for c in self.coefficients.iter().skip(1).rev() {
            (next, here) = (here, 2.0 * t * here - next + c);
        }
        self.coefficients[0] + t * here - next
    }

    /// The size of the last coefficients: what is cut off is about as large where the series converges. For
    /// [`Settings::absolute_accuracy`](crate::longman::Settings::absolute_accuracy).
    pub fn accuracy(&self) -> f64 {
        let n = self.coefficients.len();
        let last = self.coefficients.iter().skip(n - (n / 4).max(1));
        let largest = self
            .coefficients
            .iter()
            .fold(0.0_f64, |m, c| m.max(c.abs()));
        last.fold(0.0_f64, |m, c| m.max(c.abs())) + 4.0 * f64::EPSILON * largest
    }
}

/// An amplitude that is known at points, and how it goes between them; for [`Task::sampled`](crate::longman::Task::sampled).
///
/// ```
/// use rarefy::longman::sampled::Samples;
/// use rarefy::longman::{Status, Task};
///
/// let x: Vec<f64> = (0..6000).map(|i| f64::from(i) * 0.01).collect();
/// let g: Vec<f64> = x.iter().map(|x| (-x).exp()).collect();
/// let task = Task::sampled(Samples::cubic(&x, &g)?, "cos", "w", &[])?;
/// let found = task.integrals().column("w", &[3.0]).tolerance(1e-5).integrate()?;
/// assert_eq!(found[0].status, Status::Ok);
/// assert!((found[0].value - 0.1).abs() <= found[0].error);
/// # Ok::<(), rarefy::Error>(())
/// ```
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Samples {
    between: Between,
    accuracy: f64,
    reach: f64,
}

#[derive(Clone, Debug, PartialEq, Serialize)]
#[serde(rename_all = "lowercase")]
enum Between {
    Cubic(Spline),
    Chebyshev(Chebyshev),
}

/// Fewest points of a spline whose accuracy can be seen.
const FEWEST: usize = 8;

impl Samples {
    /// A cubic spline through at least eight points with ascending x, nothing beyond them.
    ///
    /// Its accuracy is seen at every second point, by a spline through the others: the error falls with the fourth power of the distance, but is
    /// believed to be no less than a quarter of that.
    ///
    /// # Errors
    /// As [`Spline::new`]; fewer points than eight.
    pub fn cubic(x: &[f64], g: &[f64]) -> Result<Self> {
        let spline = Spline::new(x, g)?;
        if x.len() < FEWEST {
            return Err(Error::invalid(
                "samples",
                format!("{} points", x.len()),
                format!("at least {FEWEST} points"),
            ));
        }
        let last = x.len() - 1;
        let kept = |values: &[f64]| -> Vec<f64> {
            let inner = values.iter().copied().step_by(2);
            let end = (last % 2 == 1).then_some(values[last]);
            inner.chain(end).collect()
        };
        let coarse = Spline::new(&kept(x), &kept(g))?;
        let error = x
            .iter()
            .zip(g)
            .map(|(x, g)| (coarse.at(*x) - g).abs())
            .fold(0.0, f64::max);
        let largest = g.iter().fold(0.0_f64, |m, g| m.max(g.abs()));
        Ok(Self {
            accuracy: 0.25 * error + 4.0 * f64::EPSILON * largest,
            reach: x[last],
            between: Between::Cubic(spline),
        })
    }

    /// A [`Chebyshev`] series through its nodes for some scale: the points must be those, in either order.
    ///
    /// # Errors
    /// Points that are no nodes of such a series, fewer than two of them, or not finite.
    pub fn chebyshev(x: &[f64], g: &[f64]) -> Result<Self> {
        let mut points: Vec<(f64, f64)> = x.iter().copied().zip(g.iter().copied()).collect();
        let numbers = x.len() == g.len() && points.iter().all(|(x, _)| x.is_finite() && *x > 0.0);
        if !numbers || points.len() < 2 {
            return Err(Error::invalid(
                "samples",
                format!("{} of x and {} of g", x.len(), g.len()),
                "2 or more points of a Chebyshev series, each with x > 0 and g",
            ));
        }
        points.sort_by(|a, b| b.0.total_cmp(&a.0));
        let unit = Chebyshev::nodes(points.len(), 1.0);
        // The first and the last node are reciprocals of one another in units of the scale.
        let scale = (points[0].0 * points[points.len() - 1].0).sqrt();
        for (k, ((x, _), node)) in points.iter().zip(&unit).enumerate() {
            if (x / (scale * node) - 1.0).abs() > 1e-9 {
                return Err(Error::invalid(
                    "samples",
                    format!("x = {x:?}"),
                    format!(
                        "nodes s cot(pi (k + 1/2)/{})^2 of a Chebyshev series of {} points, k = 0, 1, ...; with s = {scale:?} number {k} is {:?}",
                        2 * points.len(),
                        points.len(),
                        scale * node
                    ),
                ));
            }
        }
        let g: Vec<f64> = points.iter().map(|(_, g)| *g).collect();
        let series = Chebyshev::new(&g, scale)?;
        Ok(Self {
            accuracy: series.accuracy(),
            reach: f64::INFINITY,
            between: Between::Chebyshev(series),
        })
    }

    /// The amplitude at x; not a number where nothing is known.
    pub fn at(&self, x: f64) -> f64 {
        match &self.between {
            Between::Cubic(spline) => spline.at(x),
            Between::Chebyshev(series) => series.at(x),
        }
    }

    /// How far off it is thought to be between the points, absolutely.
    pub fn accuracy(&self) -> f64 {
        self.accuracy
    }

    /// Up to where it is known.
    pub fn reach(&self) -> f64 {
        self.reach
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::longman::integrate::oscillating;
    use crate::longman::{Oscillator, Settings, Status};

    #[test]
    fn a_spline_is_exact_for_cubics() {
        let f = |x: f64| 1.0 - 2.0 * x + 0.5 * x * x - 0.1 * x * x * x;
        let x = [0.0, 0.3, 1.0, 1.2, 2.5, 4.0];
        let spline = Spline::new(&x, &x.map(f)).unwrap();
        for i in 0..=40 {
            let x = f64::from(i) / 10.0;
            assert!((spline.at(x) - f(x)).abs() < 1e-13, "{x}");
        }
        assert!(Spline::new(&[0.0, 1.0, 1.0, 2.0], &[0.0; 4]).is_err());
        assert!(Spline::new(&[0.0, 1.0, 2.0, f64::NAN], &[0.0; 4]).is_err());
        assert!(Spline::new(&[0.0, 1.0, 2.0], &[0.0; 3]).is_err());
    }

    #[test]
    fn sampled_amplitudes_integrate_to_their_accuracy() {
        let exact = 0.5 * PI * (-3.0_f64).exp();
        let nodes = Chebyshev::nodes(60, 1.0);
        let g: Vec<f64> = nodes.iter().map(|x| 1.0 / (1.0 + x * x)).collect();
        let series = Chebyshev::new(&g, 1.0).unwrap();
        let settings = Settings {
            absolute_accuracy: series.accuracy(),
            ..Settings::default()
        };
        let found = oscillating(|x| series.at(x), Oscillator::Cos, 3.0, 0.0, &settings).unwrap();
        let error = (found.value - exact).abs();
        assert!(error <= found.error && error < 1e-12, "{found:?} {error:e}");

        let x: Vec<f64> = (0..4000).map(|i| f64::from(i) * 0.02).collect();
        let g: Vec<f64> = x.iter().map(|x| (-x).exp()).collect();
        let spline = Spline::new(&x, &g).unwrap();
        let settings = Settings {
            rtol: 1e-5,
            accuracy: Some(1e-8),
            ..Settings::default()
        };
        let found = oscillating(|x| spline.at(x), Oscillator::Sin, 2.0, 0.0, &settings).unwrap();
        assert_eq!(found.status, Status::Ok);
        assert!((found.value - 0.4).abs() < 1e-7, "{found:?}");
        // The frequency is so low that the samples end too early.
        let found = oscillating(|x| spline.at(x), Oscillator::Sin, 0.1, 0.0, &settings).unwrap();
        assert_eq!(found.status, Status::NotFinite);
    }
}
