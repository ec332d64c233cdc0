//! Figures as PNG: curves on axes, with a legend beside them.
//!
//! plotters draws the lines at three times the size, which is averaged down for smooth edges; the text is set afterwards at the final
//! size from an embedded font, so that a figure looks the same on every machine.
//!
//! In every text but the title, which may hold names of files, `_` sets the next character, or the next group in braces, as a subscript.

use std::sync::OnceLock;

use ab_glyph::{Font, FontRef, Glyph, ScaleFont, point};
use plotters::prelude::*;

use crate::error::{Error, Result};

/// Width and height of a figure in pixels.
pub(super) const SIZE: (u32, u32) = (1200, 800);

/// Blue, vermillion, green, purple, orange, sky blue: distinct to every kind of colour vision (Okabe and Ito).
pub(super) const COLOURS: [RGBColor; 6] = [
    RGBColor(0, 114, 178),
    RGBColor(213, 94, 0),
    RGBColor(0, 158, 115),
    RGBColor(204, 121, 167),
    RGBColor(230, 159, 0),
    RGBColor(86, 180, 233),
];

const INK: RGBColor = RGBColor(38, 38, 38);
const GRID: RGBColor = RGBColor(226, 226, 226);
/// Least width beside the axes, for the legend.
const BESIDE: f64 = 246.0;
/// Distance of the legend from the axes.
const GAP: f64 = 28.0;
/// Width of a curve's sample in the legend, with its distance from the label.
const SAMPLE: f64 = 56.0;
/// Distance of the labels from the edge of the figure.
const MARGIN: f64 = 16.0;
/// The drawing is this many times larger than the figure.
const FINE: u32 = 3;

/// The colour of the `i`-th of `count` curves in a sequence: dark violet to yellowish green, evenly lighter (viridis).
pub(super) fn sequence(i: usize, count: usize) -> RGBColor {
    let place = 0.88 * i as f64 / (count.max(2) - 1) as f64;
    ViridisRGB.get_color(place)
}

/// How a curve is drawn.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Stroke {
    /// A line.
    Solid,
    /// A dashed line, for what is exact or a limit.
    Dashed,
    /// A line with a dot at each point.
    Dotted,
    /// A dot at each point.
    Points,
}

/// The scale of a panel's axes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Scale {
    Linear,
    /// Logarithmic on both axes; points that are not positive are left out.
    Logarithmic,
}

impl Scale {
    /// Where a value stands; not finite if it has no place.
    fn of(self, value: f64) -> f64 {
        match self {
            Self::Linear => value,
            Self::Logarithmic if value > 0.0 => value.log10(),
            Self::Logarithmic => f64::NAN,
        }
    }
}

/// A curve.
#[derive(Clone, Debug)]
pub(super) struct Curve {
    pub(super) label: String,
    pub(super) points: Vec<(f64, f64)>,
    pub(super) colour: RGBColor,
    pub(super) stroke: Stroke,
}

impl Curve {
    /// A solid line through points.
    pub(super) fn new(
        label: impl Into<String>,
        points: impl IntoIterator<Item = (f64, f64)>,
        colour: RGBColor,
    ) -> Self {
        Self {
            label: label.into(),
            points: points.into_iter().collect(),
            colour,
            stroke: Stroke::Solid,
        }
    }

    /// The same points with another stroke.
    pub(super) fn stroke(self, stroke: Stroke) -> Self {
        Self { stroke, ..self }
    }
}

/// Curves on a pair of axes.
#[derive(Clone, Debug)]
pub(super) struct Panel {
    /// Label of the horizontal axis.
    pub(super) x: String,
    /// Label of the vertical axis.
    pub(super) y: String,
    /// Range that the horizontal axis covers at least.
    reach: Option<(f64, f64)>,
    /// What the labels in the legend are, for example `time`; may be empty.
    legend: String,
    /// Scale of both axes.
    scale: Scale,
    pub(super) curves: Vec<Curve>,
}

impl Panel {
    /// Curves on linear axes with these labels.
    pub(super) fn new(x: impl Into<String>, y: impl Into<String>, curves: Vec<Curve>) -> Self {
        Self {
            x: x.into(),
            y: y.into(),
            reach: None,
            legend: String::new(),
            scale: Scale::Linear,
            curves,
        }
    }

    /// The same with a range that the horizontal axis covers at least.
    pub(super) fn reach(self, reach: (f64, f64)) -> Self {
        let reach = Some(reach);
        Self { reach, ..self }
    }

    /// The same with a heading of the labels in the legend.
    pub(super) fn legend(self, legend: impl Into<String>) -> Self {
        let legend = legend.into();
        Self { legend, ..self }
    }

    /// The same on other axes.
    pub(super) fn scale(self, scale: Scale) -> Self {
        Self { scale, ..self }
    }
}

/// Panels above each other, under a title.
#[derive(Clone, Debug)]
pub(super) struct Figure {
    pub(super) title: String,
    pub(super) panels: Vec<Panel>,
}

impl Figure {
    /// The figure as a PNG file.
    pub(super) fn png(&self) -> Result<Vec<u8>> {
        let (width, height) = SIZE;
        let mut fine = vec![255u8; (width * FINE * height * FINE * 3) as usize];
        let mut texts = vec![Text::new(&self.title, 22.0, 40.0, 44.0).verbatim()];
        {
            let area = BitMapBackend::with_buffer(&mut fine, (width * FINE, height * FINE))
                .into_drawing_area();
            let top = 70.0;
            let legend = self.panels.iter().map(Panel::legend_width);
            // Half of the figure is left for the curves, whatever the labels are.
            let beside = legend.fold(BESIDE, f64::max).min(f64::from(width) / 2.0);
            let each = (f64::from(height) - top) / self.panels.len().max(1) as f64;
            for (i, panel) in self.panels.iter().enumerate() {
                let place = Frame {
                    left: 112.0,
                    right: f64::from(width) - beside,
                    top: top + i as f64 * each + 42.0,
                    bottom: top + (i + 1) as f64 * each - 78.0,
                };
                panel.draw(&area, &place, &mut texts).map_err(failed)?;
            }
            area.present().map_err(failed)?;
        }
        let mut pixels = averaged(&fine, width as usize, height as usize);
        for text in &texts {
            text.set(&mut pixels);
        }
        encoded(&pixels)
    }
}

fn failed(error: impl std::fmt::Display) -> Error {
    Error::Numerical(format!("a plot could not be drawn: {error}"))
}

/// Where the axes of a panel stand, in pixels of the figure.
struct Frame {
    left: f64,
    right: f64,
    top: f64,
    bottom: f64,
}

type Area<'a> = DrawingArea<BitMapBackend<'a>, plotters::coord::Shift>;
type Drawn<'a> =
    std::result::Result<(), DrawingAreaErrorKind<<BitMapBackend<'a> as DrawingBackend>::ErrorType>>;

impl Panel {
    /// Width that the legend takes beside the axes.
    fn legend_width(&self) -> f64 {
        let width = |text: &str| Text::new(text, 17.0, 0.0, 0.0).width();
        let labels = self.curves.iter().map(|c| SAMPLE + width(&c.label));
        GAP + labels.fold(width(&self.legend), f64::max) + MARGIN
    }

    fn draw<'a>(&self, area: &Area<'a>, frame: &Frame, texts: &mut Vec<Text>) -> Drawn<'a> {
        let scaled = |&(x, y): &(f64, f64)| (self.scale.of(x), self.scale.of(y));
        let points = || {
            self.curves
                .iter()
                .flat_map(|c| c.points.iter().map(scaled))
                .filter(|(x, y)| x.is_finite() && y.is_finite())
        };
        let xs = Axis::tight(
            points().map(|p| p.0).chain(
                self.reach
                    .into_iter()
                    .flat_map(|(a, b)| [a, b].map(|x| self.scale.of(x))),
            ),
            10.0,
        );
        let ys = match self.scale {
            Scale::Linear => {
                Axis::rounded(points().map(|p| p.1), (frame.bottom - frame.top) / 70.0)
            }
            Scale::Logarithmic => Axis::tight(points().map(|p| p.1), 1.0).widened(0.04),
        };
        let px = |x: f64| frame.left + xs.place(x) * (frame.right - frame.left);
        let py = |y: f64| frame.bottom - ys.place(y) * (frame.bottom - frame.top);

        for (value, label) in xs.ticks_of(self.scale) {
            let x = px(value);
            line(area, &[(x, frame.top), (x, frame.bottom)], GRID, 1.0)?;
            line(
                area,
                &[(x, frame.bottom), (x, frame.bottom + 6.0)],
                INK,
                1.2,
            )?;
            texts.push(Text::new(&label, 17.0, x, frame.bottom + 26.0).at(0.5));
        }
        for (value, label) in ys.ticks_of(self.scale) {
            let y = py(value);
            line(area, &[(frame.left, y), (frame.right, y)], GRID, 1.0)?;
            line(area, &[(frame.left - 6.0, y), (frame.left, y)], INK, 1.2)?;
            texts.push(Text::new(&label, 17.0, frame.left - 12.0, y + 6.0).at(1.0));
        }
        let centre = (frame.left + frame.right) / 2.0;
        texts.push(Text::new(&self.x, 19.0, centre, frame.bottom + 58.0).at(0.5));
        texts.push(Text::new(&self.y, 19.0, frame.left - 6.0, frame.top - 16.0));

        for curve in &self.curves {
            let points: Vec<_> = curve.points.iter().map(scaled).collect();
            for run in points.split(|(x, y)| !(x.is_finite() && y.is_finite())) {
                let run: Vec<_> = run.iter().map(|&(x, y)| (px(x), py(y))).collect();
                curve.trace(area, &run)?;
            }
        }
        line(
            area,
            &[
                (frame.left, frame.top),
                (frame.left, frame.bottom),
                (frame.right, frame.bottom),
            ],
            INK,
            1.4,
        )?;

        let left = frame.right + GAP;
        let mut y = frame.top + 12.0;
        if !self.legend.is_empty() {
            texts.push(Text::new(&self.legend, 17.0, left, y + 6.0));
            y += 30.0;
        }
        // A curve in several pieces is named once.
        for curve in self.curves.iter().filter(|curve| !curve.label.is_empty()) {
            curve.trace(area, &[(left, y), (left + 22.0, y), (left + 44.0, y)])?;
            texts.push(Text::new(&curve.label, 17.0, left + SAMPLE, y + 6.0));
            y += 28.0;
        }
        Ok(())
    }
}

impl Curve {
    fn trace<'a>(&self, area: &Area<'a>, points: &[(f64, f64)]) -> Drawn<'a> {
        match self.stroke {
            Stroke::Dashed => {
                let style = stroke(self.colour, 2.4);
                let path = points.iter().copied().map(fine);
                area.draw(&plotters::element::DashedPathElement::new(
                    path,
                    10 * FINE,
                    6 * FINE,
                    style,
                ))?;
            }
            Stroke::Solid => line(area, points, self.colour, 2.6)?,
            Stroke::Dotted | Stroke::Points => {
                if self.stroke == Stroke::Dotted {
                    line(area, points, self.colour, 2.2)?;
                }
                for &at in points {
                    let size = 3.6 * f64::from(FINE);
                    area.draw(&Circle::new(fine(at), size as i32, self.colour.filled()))?;
                }
            }
        }
        Ok(())
    }
}

fn fine((x, y): (f64, f64)) -> (i32, i32) {
    let scale = f64::from(FINE);
    ((x * scale).round() as i32, (y * scale).round() as i32)
}

fn stroke(colour: RGBColor, width: f64) -> ShapeStyle {
    colour.stroke_width((width * f64::from(FINE)).round() as u32)
}

fn line<'a>(area: &Area<'a>, points: &[(f64, f64)], colour: RGBColor, width: f64) -> Drawn<'a> {
    let mut path: Vec<_> = points.iter().map(|&p| fine(p)).collect();
    path.dedup();
    let style = stroke(colour, width);
    if path.len() > 1 {
        area.draw(&PathElement::new(path, style))?;
    }
    Ok(())
}

/// The range of an axis, and the distance of its ticks.
struct Axis {
    min: f64,
    max: f64,
    step: f64,
}

impl Axis {
    /// From the smallest to the largest value.
    fn tight(values: impl Iterator<Item = f64>, ticks: f64) -> Self {
        let (min, max) = range(values);
        Self {
            min,
            max,
            step: nice((max - min) / ticks),
        }
    }

    /// From the tick at or below the smallest value to the tick at or above the largest.
    fn rounded(values: impl Iterator<Item = f64>, ticks: f64) -> Self {
        let (min, max) = range(values);
        let step = nice((max - min) / ticks);
        // A value that is a tick but for roundoff does not open another interval.
        Self {
            min: (min / step + 1e-9).floor() * step,
            max: (max / step - 1e-9).ceil() * step,
            step,
        }
    }

    /// With this share of its length added at both ends.
    fn widened(self, share: f64) -> Self {
        let more = share * (self.max - self.min);
        Self {
            min: self.min - more,
            max: self.max + more,
            ..self
        }
    }

    /// Ticks; on a logarithmic axis, which runs over exponents of ten, they are at round numbers.
    fn ticks_of(&self, scale: Scale) -> Vec<(f64, String)> {
        if scale == Scale::Linear {
            return self.ticks();
        }
        let (low, high) = (10f64.powf(self.min), 10f64.powf(self.max));
        // Within a decade the ticks of a linear axis; beyond, 1, 2 and 5 times powers of ten, or the powers alone.
        if high < 10.0 * low {
            let linear = Self {
                min: low,
                max: high,
                step: nice((high - low) / 6.0),
            };
            return linear
                .ticks()
                .into_iter()
                .map(|(value, label)| (value.log10(), label))
                .collect();
        }
        let factors: &[u32] = if high < 200.0 * low { &[1, 2, 5] } else { &[1] };
        let mut ticks = Vec::new();
        for exponent in self.min.floor() as i32..=self.max.ceil() as i32 {
            for &factor in factors {
                let place = f64::from(factor).log10() + f64::from(exponent);
                if (self.min..=self.max).contains(&place) {
                    let label = if (-2..4).contains(&exponent) {
                        format!("{}", f64::from(factor) * 10f64.powi(exponent))
                    } else {
                        format!("{factor}e{exponent}")
                    };
                    ticks.push((place, label.replace('-', "\u{2212}")));
                }
            }
        }
        ticks
    }

    fn place(&self, value: f64) -> f64 {
        (value - self.min) / (self.max - self.min)
    }

    fn ticks(&self) -> Vec<(f64, String)> {
        let first = (self.min / self.step - 1e-9).ceil() as i64;
        let last = (self.max / self.step + 1e-9).floor() as i64;
        let largest = self.min.abs().max(self.max.abs());
        let exponent = self.step.log10().floor();
        (first..=last)
            .map(|i| {
                let value = i as f64 * self.step;
                let label = if i == 0 {
                    "0".into()
                } else if (1e-3..1e6).contains(&largest) {
                    format!("{value:.*}", (-exponent).clamp(0.0, 9.0) as usize)
                } else {
                    let digits = ((value.abs() * (1.0 + 1e-9)).log10().floor() - exponent)
                        .clamp(0.0, 9.0) as usize;
                    format!("{value:.digits$e}")
                };
                (value, label.replace('-', "\u{2212}"))
            })
            .collect()
    }
}

/// Smallest and largest value, apart from each other even if all are the same.
fn range(values: impl Iterator<Item = f64>) -> (f64, f64) {
    let (min, max) = values.fold((f64::INFINITY, f64::NEG_INFINITY), |(a, b), v| {
        (a.min(v), b.max(v))
    });
    if min > max {
        return (0.0, 1.0);
    }
    let least = 1e-3 * min.abs().max(max.abs());
    if max - min > least {
        (min, max)
    } else {
        let middle = (min + max) / 2.0;
        let half = if middle == 0.0 {
            1.0
        } else {
            0.05 * middle.abs()
        };
        (middle - half, middle + half)
    }
}

/// The number of the form 1, 2 or 5 times a power of ten at or above `step`.
fn nice(step: f64) -> f64 {
    let power = 10f64.powf(step.log10().floor());
    let factor = [1.0, 2.0, 5.0, 10.0]
        .into_iter()
        .find(|f| f * power >= step * (1.0 - 1e-9));
    factor.unwrap_or(10.0) * power
}

/// A line of text on the figure.
struct Text {
    text: String,
    size: f32,
    x: f64,
    /// Of the baseline.
    y: f64,
    /// What part of the text stands left of `x`.
    anchor: f64,
    /// Whether `_` is a character like any other.
    verbatim: bool,
}

impl Text {
    fn new(text: &str, size: f32, x: f64, y: f64) -> Self {
        Self {
            text: text.into(),
            size,
            x,
            y,
            anchor: 0.0,
            verbatim: false,
        }
    }

    fn verbatim(self) -> Self {
        Self {
            verbatim: true,
            ..self
        }
    }

    fn at(self, anchor: f64) -> Self {
        Self { anchor, ..self }
    }

    /// The characters, and whether each is a subscript.
    fn characters(&self) -> Vec<(char, bool)> {
        let mut out = Vec::new();
        let mut text = self.text.chars();
        while let Some(c) = text.next() {
            match c {
                '_' if !self.verbatim => match text.next() {
                    Some('{') => {
                        out.extend(text.by_ref().take_while(|&c| c != '}').map(|c| (c, true)))
                    }
                    Some(c) => out.push((c, true)),
                    None => {}
                },
                c => out.push((c, false)),
            }
        }
        out
    }

    /// The glyphs from the origin on, and where they end.
    fn glyphs(&self) -> (Vec<Glyph>, f32) {
        let font = font();
        let mut glyphs = Vec::new();
        let mut x = 0.0;
        for (c, lowered) in self.characters() {
            let size = if lowered { 0.72 * self.size } else { self.size };
            // Sizes are of the em square, as in typography; ab_glyph scales the line height.
            let scale = font.pt_to_px_scale(size * 0.75).unwrap_or(size.into());
            let scaled = font.as_scaled(scale);
            let drop = if lowered { 0.22 * self.size } else { 0.0 };
            glyphs.push(
                font.glyph_id(c)
                    .with_scale_and_position(scale, point(x, drop)),
            );
            x += scaled.h_advance(font.glyph_id(c));
        }
        (glyphs, x)
    }

    fn width(&self) -> f64 {
        self.glyphs().1.into()
    }

    fn set(&self, pixels: &mut [u8]) {
        let font = font();
        let (glyphs, x) = self.glyphs();
        let (left, baseline) = (self.x as f32 - self.anchor as f32 * x, self.y as f32);
        for mut glyph in glyphs {
            glyph.position.x += left;
            glyph.position.y += baseline.round();
            let Some(outline) = font.outline_glyph(glyph) else {
                continue;
            };
            let corner = outline.px_bounds().min;
            outline.draw(|dx, dy, cover| {
                let (x, y) = (
                    corner.x as i64 + i64::from(dx),
                    corner.y as i64 + i64::from(dy),
                );
                if (0..i64::from(SIZE.0)).contains(&x) && (0..i64::from(SIZE.1)).contains(&y) {
                    let at = 3 * (y as usize * SIZE.0 as usize + x as usize);
                    for (channel, ink) in pixels[at..at + 3].iter_mut().zip([INK.0, INK.1, INK.2]) {
                        let cover = cover.clamp(0.0, 1.0);
                        let mixed = f32::from(*channel) * (1.0 - cover) + f32::from(ink) * cover;
                        *channel = mixed.round() as u8;
                    }
                }
            });
        }
    }
}

fn font() -> &'static FontRef<'static> {
    static FONT: OnceLock<FontRef<'static>> = OnceLock::new();
    FONT.get_or_init(|| {
        FontRef::try_from_slice(include_bytes!("../../assets/fonts/DejaVuSans-subset.ttf"))
            .expect("the embedded font is whole")
    })
}

/// Means over squares of FINE x FINE pixels.
fn averaged(fine: &[u8], width: usize, height: usize) -> Vec<u8> {
    let k = FINE as usize;
    let mut out = Vec::with_capacity(width * height * 3);
    for y in 0..height {
        for x in 0..width {
            for channel in 0..3 {
                let mut sum = 0u32;
                for dy in 0..k {
                    for dx in 0..k {
                        sum +=
                            u32::from(fine[3 * ((y * k + dy) * width * k + x * k + dx) + channel]);
                    }
                }
                out.push((sum / (FINE * FINE)) as u8);
            }
        }
    }
    out
}

fn encoded(pixels: &[u8]) -> Result<Vec<u8>> {
    let mut bytes = Vec::new();
    let mut encoder = png::Encoder::new(&mut bytes, SIZE.0, SIZE.1);
    encoder.set_color(png::ColorType::Rgb);
    encoder.set_depth(png::BitDepth::Eight);
    let mut writer = encoder.write_header().map_err(failed)?;
    writer.write_image_data(pixels).map_err(failed)?;
    writer.finish().map_err(failed)?;
    Ok(bytes)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn ticks_are_round_numbers() {
        let labels =
            |axis: Axis| -> Vec<String> { axis.ticks().into_iter().map(|t| t.1).collect() };
        let axis = Axis::rounded([0.0, 0.0317].into_iter(), 7.0);
        assert_eq!(
            labels(axis),
            [
                "0", "0.005", "0.010", "0.015", "0.020", "0.025", "0.030", "0.035"
            ]
        );
        let axis = Axis::tight([-6.175, 6.175].into_iter(), 10.0);
        assert_eq!(
            labels(axis),
            ["\u{2212}6", "\u{2212}4", "\u{2212}2", "0", "2", "4", "6"]
        );
        let axis = Axis::rounded([2e-7, 9e-7].into_iter(), 5.0);
        assert_eq!(
            labels(axis),
            [
                "2e\u{2212}7",
                "4e\u{2212}7",
                "6e\u{2212}7",
                "8e\u{2212}7",
                "1.0e\u{2212}6"
            ]
        );
    }

    fn panel(label: &str, points: Vec<(f64, f64)>) -> Panel {
        Panel::new(
            "x",
            "y_{ab}",
            vec![Curve::new(label, points, COLOURS[0]).stroke(Stroke::Dashed)],
        )
    }

    #[test]
    fn a_long_label_stays_off_the_edge() {
        let ink = |label: &str| {
            let figure = Figure {
                title: "t".into(),
                panels: vec![panel(label, vec![(0.0, 0.0), (1.0, 1.0)])],
            };
            let bytes = figure.png().unwrap();
            let mut reader = png::Decoder::new(std::io::Cursor::new(bytes))
                .read_info()
                .unwrap();
            let mut pixels = vec![0; (3 * SIZE.0 * SIZE.1) as usize];
            reader.next_frame(&mut pixels).unwrap();
            let column = |x: u32| {
                let rows = (0..SIZE.1).map(move |y| (y * SIZE.0 + x) as usize);
                rows.flat_map(|at| pixels[3 * at..3 * at + 3].to_vec())
                    .any(|part| part < 250)
            };
            (0..SIZE.0).rev().find(|&x| column(x)).unwrap()
        };
        for label in [
            "a",
            "delta = 0.1, known",
            "a label that is longer than all others",
        ] {
            let last = ink(label);
            assert!(last < SIZE.0 - 12, "{label}: ink at {last}");
        }
    }

    #[test]
    fn degenerate_figures_are_drawn() {
        for points in [
            vec![],
            vec![(1.0, 1.0)],
            vec![(0.0, f64::NAN), (1.0, 0.0), (2.0, 0.0)],
        ] {
            let figure = Figure {
                title: "t".into(),
                panels: vec![panel("a", points)],
            };
            assert!(figure.png().unwrap().starts_with(b"\x89PNG"));
        }
    }
}
