//! Images of the section in walls that mirror a part: all but the nearest, whose rays are followed.
//!
//! Even fields go on through mirrors as periodic functions. With the sides W and H, and with p the mirrored share, the integral over the section is
//!
//! ```text
//! A_j f(x) = 1/pi sum_mn p^(|m| + |n|) int K_j(delta r)/r f(y) dy,   r = |y - x + (m W, n H)|
//! ```
//!
//! The sum over far images is a smooth function of y - x, however many there are. It is a table of Chebyshev's polynomials. Images beside the section (|m| > 1) have it over both
//! coordinates. Those above and below (|m| < 2, |n| > 1) have it over asinh of the first one: a long section has structure of the length H alone.

use std::f64::consts::{FRAC_PI_2, PI};

use nalgebra::{DMatrix, DMatrixView};
use rayon::prelude::*;

use super::kernels::{Kernels, REACH};
use super::rays::{NEAR, crowded};
use super::series::{integers, last};
use super::shape::Side;
use crate::error::Result;

/// Weight of an image below which it is left out, beside others of 1e-10 together.
const NOTHING: f64 = 1e-20;
/// Even polynomials across the smaller side.
const ACROSS: usize = 13;
/// Even polynomials along the longer side, of images beside the section.
const BESIDE: usize = 10;
/// Points of integrals along a side.
const POINTS: usize = 64;

/// A table in even polynomials of Chebyshev of two coordinates.
struct Table {
    /// Ranges of both coordinates.
    reach: [f64; 2],
    /// Coefficients for K_0, K_1 and K_2: a row for each polynomial of the first coordinate.
    of: [DMatrix<f64>; 3],
}

impl Table {
    /// Tabulates a function by its values on a quarter of the range.
    fn new(
        reach: [f64; 2],
        counts: [usize; 2],
        value: impl Fn([f64; 2]) -> [f64; 3] + Sync,
    ) -> Self {
        let places = counts.map(angles);
        let pairs: Vec<[f64; 2]> = (places[1].iter())
            .flat_map(|b| places[0].iter().map(move |a| [*a, *b]))
            .collect();
        let values: Vec<[f64; 3]> = pairs
            .par_iter()
            .map(|pair| value([0, 1].map(|axis| reach[axis] * pair[axis].cos())))
            .collect();
        let transforms = [0, 1].map(|axis| {
            let count = counts[axis];
            DMatrix::from_fn(count, count, |degree, at| {
                let share = if degree == 0 { 1.0 } else { 2.0 };
                share / count as f64 * (2.0 * degree as f64 * places[axis][at]).cos()
            })
        });
        let of = [0, 1, 2].map(|j| {
            let values = values.iter().map(|value| value[j]);
            let values = DMatrix::from_iterator(counts[0], counts[1], values);
            &transforms[0] * values * transforms[1].transpose()
        });
        Self { reach, of }
    }
}

/// Arguments of the cosine at the positive points of Chebyshev's even polynomials.
fn angles(count: usize) -> Vec<f64> {
    let step = FRAC_PI_2 / count as f64;
    (0..count).map(|k| (k as f64 + 0.5) * step).collect()
}

/// Chebyshev's polynomials of even degree.
fn polynomials(x: f64, values: &mut [f64]) {
    let y = 2.0 * x * x - 1.0;
    let (mut before, mut now) = (y, 1.0);
    for value in values {
        *value = now;
        (before, now) = (now, 2.0 * y * now - before);
    }
}

/// A side with the values of its functions at points of integrals.
struct Points {
    places: Vec<f64>,
    /// A row for each function, times the weights.
    weighted: DMatrix<f64>,
}

impl Points {
    fn new(side: &Side) -> Result<Self> {
        let rule = side.rule(POINTS)?;
        let weighted = rule.iter();
        let weighted = weighted.flat_map(|at| at.values.iter().map(|value| at.weight * value));
        Ok(Self {
            weighted: DMatrix::from_iterator(side.count, rule.len(), weighted),
            places: rule.iter().map(|at| at.place).collect(),
        })
    }

    /// Integrals of polynomials of the distance from a place, over `reach`, times each function: a row for each function.
    fn integrals(&self, from: f64, reach: f64, count: usize) -> DMatrix<f64> {
        let mut values = DMatrix::zeros(count, self.places.len());
        for (k, place) in self.places.iter().enumerate() {
            polynomials((place - from) / reach, values.column_mut(k).as_mut_slice());
        }
        &self.weighted * values.transpose()
    }
}

/// The far images of a section.
pub(super) struct Images {
    beside: Option<(Table, Points)>,
    above: Table,
    up: Points,
    crowded: Vec<[f64; 2]>,
    mirrored: f64,
}

impl Images {
    /// The images of a section in walls that mirror a share; none where molecules do not reach them.
    ///
    /// # Errors
    /// Rules of too many nodes.
    pub(super) fn new(
        sides: &[Side; 2],
        kernels: &Kernels,
        (delta, mirrored): (f64, f64),
    ) -> Result<Option<Self>> {
        let [wide, high] = [0, 1].map(|axis| 2.0 * sides[axis].half);
        if mirrored <= 0.0 || delta * high >= REACH || sides[1].is_round {
            return Ok(None);
        }
        let most = |size: f64| (REACH / (delta * size) + 2.0).min(last(mirrored)) as usize;
        let share = |n: f64| mirrored.powf(n) / PI;
        let near = NEAR as usize;
        let rows = integers(near + 1, most(high))?;
        let kernel = |square: f64, weight: f64, sums: &mut [f64; 3]| {
            let r = square.sqrt();
            let values = kernels.at(delta * r);
            for (sum, value) in sums.iter_mut().zip(values) {
                *sum += weight / r * value;
            }
        };
        // Along a slit K_j/r is integrated by trapezoids in asinh of the ratio of both distances.
        let endless = |distance: f64, weight: f64, sums: &mut [f64; 3]| {
            const STEP: f64 = 0.4;
            let end = (REACH / (delta * distance)).max(1.0).acosh() / STEP;
            for k in 0..=end as usize {
                let values = kernels.at(delta * distance * (STEP * k as f64).cosh());
                let part = if k == 0 { STEP } else { 2.0 * STEP };
                for (sum, value) in sums.iter_mut().zip(values) {
                    *sum += weight * part * value;
                }
            }
        };
        let is_slit = wide.is_infinite();
        let reach = if is_slit {
            1.0
        } else {
            (f64::from(NEAR + 1) * wide / high).asinh()
        };
        // The nearest singularity is pi/2 beside the real axis.
        let slope = FRAC_PI_2 / reach;
        let count = match is_slit {
            true => 1,
            false => (10.4 / (slope + (1.0 + slope * slope).sqrt()).ln()).ceil() as usize + 2,
        };
        let above = Table::new([reach, high], [count, ACROSS], |[w, up]| {
            let mut sums = [0.0; 3];
            for [n, weight] in &rows {
                for distance in [n * high + up, n * high - up] {
                    let weight = weight * share(*n);
                    if is_slit {
                        endless(distance, weight, &mut sums);
                    } else {
                        let along = high * w.sinh();
                        kernel(along * along + distance * distance, weight, &mut sums);
                    }
                }
            }
            sums
        });
        let beside = if is_slit {
            None
        } else {
            let columns = integers(near + 1, most(wide))?;
            let mut rows = integers(1, most(high))?;
            rows.insert(0, [0.0, 0.5]);
            let table = Table::new([wide, high], [BESIDE, ACROSS], |[along, up]| {
                let mut sums = [0.0; 3];
                for [m, of_column] in &columns {
                    for [n, of_row] in &rows {
                        let weight = of_column * of_row * share(m + n);
                        if weight < NOTHING {
                            break;
                        }
                        for x in [m * wide + along, m * wide - along] {
                            for y in [n * high + up, n * high - up] {
                                kernel(x * x + y * y, weight, &mut sums);
                            }
                        }
                    }
                }
                sums
            });
            Some((table, Points::new(&sides[0])?))
        };
        Ok(Some(Self {
            beside,
            above,
            up: Points::new(&sides[1])?,
            crowded: crowded(POINTS)?,
            mirrored,
        }))
    }

    /// Integrals of all functions from a point: a row for each function along the first side, and columns for K_0, K_1 and K_2 of those of the second one.
    pub(super) fn integrals(&self, sides: &[Side; 2], from: [f64; 2]) -> DMatrix<f64> {
        let [along, up] = sides;
        let mut found = DMatrix::zeros(along.count, 3 * up.count);
        let across = self.up.integrals(from[1], self.above.reach[1], ACROSS);
        if let Some((table, points)) = &self.beside {
            let beside = points.integrals(from[0], table.reach[0], BESIDE);
            for (j, of) in table.of.iter().enumerate() {
                let mut part = found.columns_mut(j * up.count, up.count);
                part += &beside * of * across.transpose();
            }
        }
        // The part of each polynomial of the first coordinate, integrated over the second one.
        let count = self.above.of[0].nrows();
        let mut stacked = DMatrix::zeros(count, 3 * up.count);
        for (j, of) in self.above.of.iter().enumerate() {
            stacked
                .columns_mut(j * up.count, up.count)
                .copy_from(&(of * across.transpose()));
        }
        if along.half.is_infinite() {
            return found + stacked;
        }
        found + self.weights(sides, from[0], count) * stacked
    }

    /// Integrals over the first coordinate of its functions times the polynomials of `above`, over the section and the images beside it.
    fn weights(&self, [along, up]: &[Side; 2], from: f64, count: usize) -> DMatrix<f64> {
        let [wide, high] = [along, up].map(|side| 2.0 * side.half);
        let mut sums = DMatrix::zeros(along.count, count);
        let mut values = vec![0.0; along.count];
        let mut factors = vec![0.0; count];
        for m in -NEAR..=NEAR {
            let middle = f64::from(m) * wide - from;
            let share = self.mirrored.powi(m.abs());
            let ends = [-1.0, 1.0].map(|end| ((middle + end * along.half) / high).asinh());
            for [place, weight] in &self.crowded {
                let w = ends[0] + (ends[1] - ends[0]) * place;
                let distance = high * w.sinh();
                along.functions(distance - middle, &mut values);
                polynomials(w / self.above.reach[0], &mut factors);
                let weight = share * weight * (ends[1] - ends[0]) * high * w.cosh();
                let [values, factors] =
                    [&values, &factors].map(|each| DMatrixView::from_slice(each, each.len(), 1));
                sums.ger(weight, &values.column(0), &factors.column(0), 1.0);
            }
        }
        sums
    }
}
