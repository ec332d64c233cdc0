//! The error of a discretisation, and the grid that has an accuracy: for any method whose grid is a list of counts.
//!
//! A value v(n) on a grid of n cells along an axis approaches the exact value like $n^{-p}$, with the order p of the scheme. A repeat on m cells therefore estimates the error on n:
//!
//! $$ e = F \\, \frac{|v(m) - v(n)|}{|(n/m)^p - 1|} $$
//!
//! Coarser repeats (m < n) cost less than the run; finer ones (m > n) are surer where n is small. F = 1.25 is the safety factor (P. J. Roache, J. Fluids Eng. 116 (1994) 405). Two coarser
//! repeats that approach from one side show the order themselves, and a lower one than p counts. Two that do not leave the larger of both estimates. Quantities
//! of layers that the cells do not resolve have the order [`Axis::in_layers`] at most. Errors of several axes add up, with that of the iteration.
//!
//! | symbol | code |
//! |---|---|
//! | n | a count of a grid, `&[usize]` with one count for each [`Axis`] |
//! | p, the least m | [`Axis::order`], [`Axis::shares`] |
//! | v | [`Quantity`] |
//! | e of each axis, and their sum | [`Estimate`] |
//!
//! [`verify`] repeats a run, [`reach`] refines until an accuracy is reached. Both know the method only by a closure from a grid to its quantities. A method implements [`Repeatable`], and
//! [`search`] and [`Errors`] have the choice whether repeats are made, their texts and their records.
//!
//! ```
//! use std::convert::Infallible;
//! use rarefy::accuracy::{Axis, Quantity, verify};
//!
//! // The midpoint rule for the integral of exp from 0 to 1.
//! let mut integral = |grid: &[usize]| {
//!     let h = 1.0 / grid[0] as f64;
//!     let sum: f64 = (0..grid[0]).map(|i| h * ((i as f64 + 0.5) * h).exp()).sum();
//!     Ok::<_, Infallible>(Some(vec![Quantity::new("integral", sum)]))
//! };
//! let cells = Axis::new("cells", 2.0, 2..=1000);
//! let base = integral(&[20])?.unwrap_or_default();
//! let found = verify(&[cells], &[20], base, 1e-15, &mut integral)?;
//! let truth = 1.0_f64.exp() - 1.0;
//! let error = (found[0].quantity.value - truth).abs();
//! assert!(error < found[0].error.total && found[0].error.total < 2.0 * error);
//! assert_eq!(found[0].to_string(), "integral 1.7181 +- 0.0003 (cells 3e-4)");
//! # Ok::<(), Infallible>(())
//! ```

mod estimate;
mod reach;
mod repeats;
mod text;

use std::ops::RangeInclusive;

use serde::ser::SerializeMap;
use serde::{Serialize, Serializer};

pub use estimate::{repeats, verify};
pub use reach::{Reached, reach};
pub use repeats::{
    Accuracy, EXTENT, Errors, MOST_STEPS, Repeatable, SECONDS, Setting, Settings, Taken, Unwatched,
    Watch, Watched, extent, scaled, search, steps,
};
pub use text::warning;

/// The least order that repeats may show: slower ones are no convergence.
const LEAST_ORDER: f64 = 0.5;

/// A run on a grid: its quantities, or none where the grid has no result.
pub type Repeat<'a, E> = dyn FnMut(&[usize]) -> Result<Option<Vec<Quantity>>, E> + 'a;

/// A number that a run finds.
#[derive(Clone, Debug, PartialEq)]
pub struct Quantity {
    /// Its key among the results.
    pub name: String,
    /// Its value on a grid.
    pub value: f64,
    /// The size that its error compares with.
    pub scale: f64,
    /// Whether an accuracy is asked of it, and a warning given.
    pub sought: bool,
    /// Whether layers decide it that the cells may not resolve: then no order above [`Axis::in_layers`] is believed.
    pub in_layers: bool,
}

impl Quantity {
    /// A quantity whose error compares with itself.
    pub fn new(name: impl Into<String>, value: f64) -> Self {
        Self {
            name: name.into(),
            value,
            scale: value.abs(),
            sought: true,
            in_layers: false,
        }
    }

    /// The same with another size to compare with, for one that may be near zero.
    #[must_use]
    pub fn of_scale(self, scale: f64) -> Self {
        Self { scale, ..self }
    }

    /// The same for one that layers decide, if they do.
    #[must_use]
    pub fn in_layers(self, in_layers: bool) -> Self {
        Self { in_layers, ..self }
    }

    /// The same for a quantity of which no accuracy is asked.
    #[must_use]
    pub fn aside(self) -> Self {
        Self {
            sought: false,
            ..self
        }
    }
}

/// An axis of a grid: cells of space, velocities, or the extent of a box as a count.
#[derive(Clone, Debug, PartialEq)]
pub struct Axis {
    /// Its name in estimates.
    pub name: &'static str,
    /// The order p with which errors fall with the count.
    pub order: f64,
    /// The least order that repeats may show: slower ones are taken for it.
    pub least: f64,
    /// The order that is believed of quantities that layers decide which the counts may not resolve.
    pub in_layers: f64,
    /// Counts that the method takes.
    pub range: RangeInclusive<usize>,
    /// A count is a multiple of this.
    pub step: usize,
    /// Coarser repeats, as shares of the count, the finest first.
    pub shares: Vec<f64>,
    /// The count from which coarser repeats estimate the error; below it a repeat of twice the count does.
    pub sure: usize,
    /// Whether coarser repeats are made beside a finer one too, for results whose errors may change their sign with the count.
    pub coarser_too: bool,
    /// Whether repeats along this axis are made on the first coarser grid of the first axis, which saves most of their cost.
    pub on_coarser: bool,
}

impl Axis {
    /// Order of the errors of midpoints of a velocity box beside walls.
    pub const MIDPOINTS: f64 = 2.0;
    /// Order that is believed of Gauss rules, whose errors fall faster.
    pub const GAUSS: f64 = 4.0;

    /// Cells of space with errors of second order. Of fewer than 16 a finer repeat is made, for two coarser ones may agree by chance.
    pub fn cells(range: RangeInclusive<usize>) -> Self {
        Self {
            shares: vec![0.5, 0.25],
            sure: 16,
            ..Self::new("cells", 2.0, range)
        }
    }

    /// Velocities with errors of this order, repeated on coarser cells.
    pub fn velocities(order: f64, range: RangeInclusive<usize>, step: usize) -> Self {
        Self {
            step,
            shares: vec![0.7, 0.5],
            sure: 12,
            on_coarser: true,
            ..Self::new("velocities", order, range)
        }
    }

    /// An axis of one repeat on half its count, for counts from 8 on.
    pub fn new(name: &'static str, order: f64, range: RangeInclusive<usize>) -> Self {
        Self {
            name,
            order,
            least: LEAST_ORDER.min(order),
            in_layers: order,
            range,
            step: 1,
            shares: vec![0.5],
            sure: 8,
            coarser_too: false,
            on_coarser: false,
        }
    }

    /// The least count of this axis that is at least `wanted`, as far as its range has one.
    fn fitted(&self, wanted: f64) -> usize {
        let step = self.step.max(1);
        let most = self.range.end() / step * step;
        let count = (wanted / step as f64).ceil() * step as f64;
        (count.min(most as f64) as usize).max(*self.range.start())
    }

    /// Counts of coarser repeats, the finest first.
    fn coarser(&self, count: usize) -> Vec<usize> {
        let step = self.step.max(1);
        let mut counts: Vec<usize> = Vec::new();
        for share in &self.shares {
            let found = (share * count as f64 / step as f64).round() as usize * step;
            let last = counts.last().copied().unwrap_or(count);
            if found < last && self.range.contains(&found) {
                counts.push(found);
            }
        }
        counts
    }

    /// Whether coarser repeats would not be sure, or there are none.
    fn is_small(&self, count: usize) -> bool {
        count < self.sure || self.coarser(count).is_empty()
    }

    /// The count of a finer repeat.
    fn finer(&self, count: usize) -> Option<usize> {
        Some(self.fitted(2.0 * count as f64)).filter(|finer| *finer > count)
    }
}

/// The estimated error of a quantity.
#[derive(Clone, Debug, PartialEq)]
pub struct Estimate {
    /// The sum of the parts; infinite where one is unknown.
    pub total: f64,
    /// The error along each axis, and that of the iteration; infinite where no repeat has a result.
    pub parts: Vec<(&'static str, f64)>,
}

impl Serialize for Estimate {
    /// An object of `total` and the parts; null where one is unknown.
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let mut map = serializer.serialize_map(Some(self.parts.len() + 1))?;
        let known = |error: f64| error.is_finite().then_some(error);
        map.serialize_entry("total", &known(self.total))?;
        for (name, error) in &self.parts {
            map.serialize_entry(name, &known(*error))?;
        }
        map.end()
    }
}

/// A quantity with its error.
#[derive(Clone, Debug, PartialEq)]
pub struct Finding {
    /// The value on the grid of the run.
    pub quantity: Quantity,
    /// Its estimated error.
    pub error: Estimate,
}

impl Finding {
    /// The error relative to the scale of the quantity.
    pub fn relative(&self) -> f64 {
        share(self.error.total, self.quantity.scale)
    }

    /// Whether an accuracy is asked of the quantity and missed.
    pub fn misses(&self, accuracy: f64) -> bool {
        self.quantity.sought && self.relative() > accuracy
    }
}

/// An error relative to a scale: none is none of anything.
fn share(error: f64, scale: f64) -> f64 {
    if error == 0.0 { 0.0 } else { error / scale }
}

#[cfg(test)]
mod tests;
