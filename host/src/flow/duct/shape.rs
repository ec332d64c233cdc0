//! Functions across a section: even polynomials of stretched coordinates, for which walls are far away.

use crate::bgk::quadrature::Rule;
use crate::error::Result;

/// A direction across the section, from the middle to a wall.
#[derive(Clone, Debug)]
pub(super) struct Side {
    /// Distance of the wall from the middle; infinite where nothing varies.
    pub(super) half: f64,
    /// Number of functions.
    pub(super) count: usize,
    /// How often the cubic is applied that stretches the coordinate.
    stretchings: u32,
    /// Places of collocation.
    pub(super) places: Vec<f64>,
    /// Mean of each function.
    pub(super) means: Vec<f64>,
}

/// The cubic that brings points of [-1, 1] near its ends.
fn cubic(t: f64) -> f64 {
    0.5 * t * (3.0 - t * t)
}

/// Its inverse.
fn inverse(x: f64) -> f64 {
    2.0 * ((x.clamp(-1.0, 1.0)).asin() / 3.0).sin()
}

impl Side {
    /// A direction in which the flow does not vary.
    pub(super) fn endless() -> Self {
        Self {
            half: f64::INFINITY,
            count: 1,
            stretchings: 0,
            places: vec![0.0],
            means: vec![1.0],
        }
    }

    /// A direction with so many functions.
    ///
    /// # Errors
    /// More functions than half of a rule's nodes.
    pub(super) fn new(half: f64, count: usize, stretchings: u32) -> Result<Self> {
        let nodes = Rule::legendre(2 * count)?.nodes;
        let mut side = Self {
            half,
            count,
            stretchings,
            places: Vec::new(),
            means: vec![0.0; count],
        };
        side.places = nodes[count..]
            .iter()
            .map(|t| half * side.stretched(*t))
            .collect();
        // Polynomials of the stretched coordinate, times its slope.
        let degree = 2 * count + 3_usize.pow(stretchings);
        let rule = Rule::legendre((degree / 2 + 1).min(crate::bgk::quadrature::MAX_NODES))?;
        let mut values = vec![0.0; count];
        for (t, weight) in rule.nodes.iter().zip(&rule.weights) {
            side.polynomials(*t, &mut values);
            let share = 0.5 * weight * side.slope(*t);
            for (mean, value) in side.means.iter_mut().zip(&values) {
                *mean += share * value;
            }
        }
        Ok(side)
    }

    fn stretched(&self, t: f64) -> f64 {
        (0..self.stretchings).fold(t, |t, _| cubic(t))
    }

    fn slope(&self, t: f64) -> f64 {
        let mut slope = 1.0;
        let mut t = t;
        for _ in 0..self.stretchings {
            slope *= 1.5 * (1.0 - t * t);
            t = cubic(t);
        }
        slope
    }

    /// The functions at a distance from the middle.
    pub(super) fn functions(&self, x: f64, values: &mut [f64]) {
        if self.count == 1 {
            values[0] = 1.0;
            return;
        }
        let t = (0..self.stretchings).fold(x / self.half, |t, _| inverse(t));
        self.polynomials(t, values);
    }

    /// Legendre polynomials of even degree.
    fn polynomials(&self, t: f64, values: &mut [f64]) {
        let (mut before, mut now) = (1.0, t);
        values[0] = 1.0;
        for (k, value) in values.iter_mut().enumerate().take(self.count).skip(1) {
            let n = (2 * k - 1) as f64;
            let even = ((2.0 * n + 1.0) * t * now - n * before) / (n + 1.0);
            let m = n + 1.0;
            let odd = ((2.0 * m + 1.0) * t * even - m * now) / (m + 1.0);
            *value = even;
            (before, now) = (even, odd);
        }
    }
}
