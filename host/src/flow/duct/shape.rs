//! Functions across a section: even polynomials of stretched coordinates, for which walls are far away.

use crate::bgk::quadrature::Rule;
use crate::error::Result;

/// A direction across the section, from the middle to a wall.
#[derive(Clone, Debug)]
pub(super) struct Side {
    /// Distance of the wall from the middle; infinite where nothing varies.
    pub(super) half: f64,
    /// Whether this is the radius of a circle.
    pub(super) is_round: bool,
    /// Number of functions.
    pub(super) count: usize,
    /// How often the cubic is applied that stretches the coordinate.
    stretchings: u32,
    /// Places of collocation.
    pub(super) places: Vec<f64>,
    /// Mean of each function.
    pub(super) means: Vec<f64>,
}

/// A point of an integral across a section.
pub(super) struct Point {
    /// Its distance from the middle.
    pub(super) place: f64,
    pub(super) weight: f64,
    /// The functions there.
    pub(super) values: Vec<f64>,
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
            is_round: false,
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
            is_round: false,
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
        let rule = side.rule((degree / 2 + 1).min(crate::bgk::quadrature::MAX_NODES))?;
        for point in rule {
            for (mean, value) in side.means.iter_mut().zip(&point.values) {
                *mean += point.weight * value / (2.0 * half);
            }
        }
        Ok(side)
    }

    /// The radius of a circle, of length 1.
    ///
    /// # Errors
    /// As [`new`](Self::new).
    pub(super) fn radius(count: usize, stretchings: u32) -> Result<Self> {
        let mut side = Self::new(1.0, count, stretchings)?;
        side.is_round = true;
        // Rings have their lengths for weights, which are no polynomial across the axis.
        let degree = 2 * count + 2 * 3_usize.pow(stretchings);
        let rule = Rule::legendre(degree / 2 + 1)?;
        side.means.fill(0.0);
        let mut values = vec![0.0; count];
        for (x, weight) in rule.nodes.iter().zip(&rule.weights) {
            let t = 0.5 * (1.0 + x);
            side.polynomials(t, &mut values);
            let share = weight * side.slope(t) * side.stretched(t);
            for (mean, value) in side.means.iter_mut().zip(&values) {
                *mean += share * value;
            }
        }
        Ok(side)
    }

    /// Points of an integral from wall to wall, by Gauss's rule of the stretched coordinate.
    ///
    /// # Errors
    /// More points than a rule has.
    pub(super) fn rule(&self, points: usize) -> Result<Vec<Point>> {
        let rule = Rule::legendre(points)?;
        let pairs = rule.nodes.iter().zip(&rule.weights);
        let points = pairs.map(|(t, weight)| {
            let mut values = vec![0.0; self.count];
            self.polynomials(*t, &mut values);
            Point {
                place: self.half * self.stretched(*t),
                weight: self.half * self.slope(*t) * weight,
                values,
            }
        });
        Ok(points.collect())
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
