//! Size and colours of figures.

use plotters::prelude::*;

/// Width and height of a figure in pixels.
pub(in crate::cli) const SIZE: (u32, u32) = (1200, 800);

/// Blue, vermillion, green, purple, orange, sky blue: distinct to every kind of colour vision (Okabe and Ito).
pub(in crate::cli) const COLOURS: [RGBColor; 6] = [
    RGBColor(0, 114, 178),
    RGBColor(213, 94, 0),
    RGBColor(0, 158, 115),
    RGBColor(204, 121, 167),
    RGBColor(230, 159, 0),
    RGBColor(86, 180, 233),
];

pub(super) const INK: RGBColor = RGBColor(38, 38, 38);
/// Bodies on a map.
pub(super) const BODY: RGBColor = RGBColor(196, 196, 196);
pub(super) const GRID: RGBColor = RGBColor(226, 226, 226);

/// The colour of the `i`-th of `count` curves in a sequence: dark violet to yellowish green, evenly lighter (viridis).
pub(in crate::cli) fn sequence(i: usize, count: usize) -> RGBColor {
    let place = 0.88 * i as f64 / (count.max(2) - 1) as f64;
    ViridisRGB.get_color(place)
}
