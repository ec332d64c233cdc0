//! The marks of a figure.

use plotters::prelude::RGBColor;

use super::text::Text;

/// A part of a figure, in pixels.
pub(super) enum Mark {
    Line {
        points: Vec<(f64, f64)>,
        colour: RGBColor,
        width: f64,
        dashed: bool,
    },
    Dot {
        at: (f64, f64),
        colour: RGBColor,
    },
    /// Boxes of one colour: left, top, right, bottom.
    Boxes {
        boxes: Vec<[f64; 4]>,
        colour: RGBColor,
    },
    Text(Text),
}

impl Mark {
    pub(super) fn line(points: &[(f64, f64)], colour: RGBColor, width: f64) -> Self {
        Self::Line {
            points: points.to_vec(),
            colour,
            width,
            dashed: false,
        }
    }
}

/// Places of the axes of a panel, in pixels of the figure.
pub(super) struct Frame {
    pub(super) left: f64,
    pub(super) right: f64,
    pub(super) top: f64,
    pub(super) bottom: f64,
}

impl Frame {
    /// The largest frame in the middle of the upper part whose width is this many times its height.
    pub(super) fn fitted(self, ratio: f64) -> Self {
        let (width, height) = (self.right - self.left, self.bottom - self.top);
        let wide = width.min(ratio * height);
        let (aside, above) = (0.5 * (width - wide), (height - wide / ratio).max(0.0));
        Self {
            left: self.left + aside,
            right: self.right - aside,
            bottom: self.bottom - above,
            ..self
        }
    }
}
