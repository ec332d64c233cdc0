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
    /// The largest square in the middle.
    pub(super) fn square(self) -> Self {
        let (width, height) = (self.right - self.left, self.bottom - self.top);
        let (aside, above) = (0.5 * (width - height).max(0.0), (height - width).max(0.0));
        Self {
            left: self.left + aside,
            right: self.right - aside,
            top: self.top + above,
            ..self
        }
    }
}
