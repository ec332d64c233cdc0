//! Fields as filled bands between round levels.

use plotters::prelude::*;

use super::axis::{Axis, round_levels};
use super::mark::{Frame, Mark};
use super::style::{BODY, COLOURS, INK, sequence};
use super::text::Text;

/// Width and height of the samples of a map, in pixels.
const SAMPLE: f64 = 2.0;
/// Height of a band in the scale beside a map.
const STEP: f64 = 26.0;
/// Width of that scale.
const WIDTH: f64 = 30.0;

/// A field on the cells of a rectangle.
#[derive(Clone, Debug)]
pub(in crate::cli) struct Map {
    /// Centres of the cells along x and y.
    centres: [Vec<f64>; 2],
    /// `[iy][ix]`.
    values: Vec<f64>,
    /// Levels between the bands, and their texts.
    levels: Vec<(f64, String)>,
    /// Whether zero has no colour, and the signs have one each.
    signed: bool,
    /// Share of each cell that has the field, if some lack it.
    shares: Option<Vec<f64>>,
    /// Whether the rest is left blank.
    blank: bool,
}

impl Map {
    /// A field `[iy][ix]` at these centres, with about so many bands between round levels.
    pub(in crate::cli) fn new(centres: &[f64], values: Vec<f64>, bands: f64) -> Self {
        let levels = round_levels(values.iter().copied(), bands);
        Self::with_levels(centres, values, levels)
    }

    /// The same with bands between these levels.
    pub(in crate::cli) fn with_levels(
        centres: &[f64],
        values: Vec<f64>,
        levels: Vec<(f64, String)>,
    ) -> Self {
        Self::on([centres, centres], values, levels)
    }

    /// A field `[iy][ix]` at centres along x and y, with bands between these levels.
    pub(in crate::cli) fn on(
        centres: [&[f64]; 2],
        values: Vec<f64>,
        levels: Vec<(f64, String)>,
    ) -> Self {
        Self {
            centres: centres.map(<[f64]>::to_vec),
            values,
            levels,
            signed: false,
            shares: None,
            blank: false,
        }
    }

    /// The same where these shares of the cells are at least a half; bodies are there elsewhere.
    pub(in crate::cli) fn within(self, shares: Vec<f64>) -> Self {
        let shares = Some(shares);
        Self { shares, ..self }
    }

    /// The same with nothing where the shares are less than a half.
    pub(in crate::cli) fn on_nothing(self) -> Self {
        let blank = true;
        Self { blank, ..self }
    }

    /// The same in two colours, one for each sign.
    pub(in crate::cli) fn signed(self) -> Self {
        let signed = true;
        Self { signed, ..self }
    }

    /// Texts of the levels.
    pub(super) fn labels(&self) -> impl Iterator<Item = &str> {
        self.levels.iter().map(|(_, label)| label.as_str())
    }

    /// Bands, from the lowest up.
    fn bands(&self) -> usize {
        self.levels.len() + 1
    }

    fn colour(&self, band: usize) -> RGBColor {
        if !self.signed {
            return sequence(band, self.bands());
        }
        let level = |k: usize| self.levels.get(k).map(|(value, _)| *value);
        // The middle of a band; those at the ends are as wide as their neighbours.
        let middle = match (band.checked_sub(1).and_then(level), level(band)) {
            (Some(low), Some(high)) => 0.5 * (low + high),
            (Some(low), None) => low + 0.5 * self.step(),
            (None, Some(high)) => high - 0.5 * self.step(),
            (None, None) => 0.0,
        };
        let largest = self
            .levels
            .iter()
            .map(|(value, _)| value.abs())
            .fold(0.0, f64::max);
        let share =
            (middle / (largest + 0.5 * self.step()).max(f64::MIN_POSITIVE)).clamp(-1.0, 1.0);
        let end = COLOURS[usize::from(share > 0.0)];
        let mixed = |part: u8| (255.0 + share.abs() * (f64::from(part) - 255.0)).round() as u8;
        RGBColor(mixed(end.0), mixed(end.1), mixed(end.2))
    }

    fn step(&self) -> f64 {
        match &self.levels[..] {
            [a, b, ..] => b.0 - a.0,
            _ => 0.0,
        }
    }

    /// The cells before and after a place along an axis, and the share of the second.
    fn between(&self, axis: usize, place: f64) -> (usize, usize, f64) {
        let centres = &self.centres[axis];
        let after = centres.partition_point(|&centre| centre < place);
        let last = centres.len() - 1;
        match after {
            0 => (0, 0, 0.0),
            after if after > last => (last, last, 0.0),
            after => {
                let (a, b) = (centres[after - 1], centres[after]);
                (after - 1, after, (place - a) / (b - a))
            }
        }
    }

    /// The band at a place, or the one after the last within a body; the field is bilinear between centres and constant beyond them.
    fn band(&self, x: f64, (j, k, up): (usize, usize, f64)) -> usize {
        let n = self.centres[0].len();
        let (a, b, right) = self.between(0, x);
        let value = |values: &[f64]| {
            let row = |j: usize| {
                let (left, beside) = (values[j * n + a], values[j * n + b]);
                left + right * (beside - left)
            };
            row(j) + up * (row(k) - row(j))
        };
        if self
            .shares
            .as_ref()
            .is_some_and(|shares| value(shares) < 0.5)
        {
            return self.bands();
        }
        let value = value(&self.values);
        self.levels.partition_point(|(level, _)| *level <= value)
    }

    /// Fills the frame: boxes along rows, one for each run of samples in a band.
    pub(super) fn draw(&self, frame: &Frame, (xs, ys): (&Axis, &Axis), marks: &mut Vec<Mark>) {
        if self.centres.iter().any(Vec::is_empty) {
            return;
        }
        // The last ones are within bodies.
        let mut boxes: Vec<Vec<[f64; 4]>> = vec![Vec::new(); self.bands() + 1];
        let (width, height) = (frame.right - frame.left, frame.bottom - frame.top);
        let (columns, rows) = ((width / SAMPLE) as usize, (height / SAMPLE) as usize);
        let (wide, high) = (width / columns as f64, height / rows as f64);
        for row in 0..rows {
            let top = frame.top + row as f64 * high;
            // The same number as the top of the next row: roundoff would leave gaps.
            let bottom = frame.top + (row + 1) as f64 * high;
            let share = (frame.bottom - top - 0.5 * high) / height;
            let place = self.between(1, ys.value(share));
            let band = |column: usize| {
                let share = (column as f64 + 0.5) / columns as f64;
                self.band(xs.value(share), place)
            };
            let mut begin = 0;
            let mut here = band(0);
            for column in 1..=columns {
                let next = if column < columns {
                    band(column)
                } else {
                    usize::MAX
                };
                if next != here {
                    let edge = |column: usize| frame.left + column as f64 * wide;
                    boxes[here].push([edge(begin), top, edge(column), bottom]);
                    (begin, here) = (column, next);
                }
            }
        }
        for (band, boxes) in boxes.into_iter().enumerate() {
            let is_body = band == self.bands();
            if is_body && (boxes.is_empty() || self.blank) {
                continue;
            }
            let colour = if is_body { BODY } else { self.colour(band) };
            marks.push(Mark::Boxes { boxes, colour });
        }
    }

    /// The bands above each other, the highest first, with the levels between them.
    pub(super) fn draw_scale(&self, (left, top): (f64, f64), marks: &mut Vec<Mark>) {
        let bands = self.bands();
        for band in 0..bands {
            let above = top + (bands - 1 - band) as f64 * STEP;
            marks.push(Mark::Boxes {
                boxes: vec![[left, above, left + WIDTH, above + STEP]],
                colour: self.colour(band),
            });
            if let Some((_, label)) = self.levels.get(band) {
                marks.push(Mark::line(
                    &[(left, above), (left + WIDTH + 6.0, above)],
                    INK,
                    1.0,
                ));
                let text = Text::new(label, 17.0, left + WIDTH + 14.0, above + 6.0);
                marks.push(Mark::Text(text));
            }
        }
    }
}
