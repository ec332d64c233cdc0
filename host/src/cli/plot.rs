//! Figures as PNG and SVG: curves and filled maps on axes, with a legend beside them.
//!
//! A figure is laid out once, as marks in pixels. [`raster`] draws them at three times the size, averages for smooth edges, and sets the text from an embedded
//! font, so that a figure is the same on every machine; [`svg`] writes them as vectors.
//!
//! In every text but the title, which may hold names of files, `_` sets the next character, or the next group in braces, as a subscript.

mod axis;
mod map;
mod mark;
mod raster;
mod style;
mod svg;
mod text;

use std::ops::Deref;

use plotters::prelude::*;

use crate::error::Result;
use axis::Axis;
pub(super) use axis::{Scale, round_levels};
pub(super) use map::Map;
use mark::{Frame, Mark};
pub(super) use style::{COLOURS, sequence};
use style::{GRID, INK, SIZE};
pub(super) use svg::escaped;
use text::Text;

/// Least width beside the axes, for the legend.
const BESIDE: f64 = 246.0;
/// Distance of the legend from the axes.
const GAP: f64 = 28.0;
/// Width of a curve's sample in the legend, with its distance from the label.
const SAMPLE: f64 = 56.0;
/// Distance of the labels from the edge of the figure.
const MARGIN: f64 = 16.0;
/// Size of the labels of ticks, and the least gap between two below an axis.
const TICK: f32 = 17.0;
const LABEL_GAP: f64 = 8.0;

/// How a curve is drawn.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Stroke {
    /// A line.
    Solid,
    /// A thin line, for contours on a map.
    Thin,
    /// A dashed line, for what is exact or a limit.
    Dashed,
    /// A line with a dot at each point.
    Dotted,
    /// A dot at each point.
    Points,
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
    /// The quantity of the labels in the legend, for example `time`; may be empty.
    legend: String,
    /// Scales of the horizontal and of the vertical axis.
    scales: [Scale; 2],
    /// Filled bands below the curves.
    map: Option<Map>,
    /// Ranges of both axes, on which a length then is as long.
    equal: Option<[(f64, f64); 2]>,
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
            scales: [Scale::Linear; 2],
            map: None,
            equal: None,
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

    /// The same on axes of one range and one scale, over a map.
    pub(super) fn over(self, map: Map, reach: (f64, f64)) -> Self {
        self.over_rectangle(map, [reach; 2])
    }

    /// The same on axes of these ranges and one scale, over a map.
    pub(super) fn over_rectangle(self, map: Map, ranges: [(f64, f64); 2]) -> Self {
        Self {
            reach: Some(ranges[0]),
            map: Some(map),
            equal: Some(ranges),
            ..self
        }
    }

    /// The same with both axes of this scale.
    pub(super) fn scale(self, scale: Scale) -> Self {
        let scales = [scale; 2];
        Self { scales, ..self }
    }

    /// The same with a linear vertical axis over a logarithmic one.
    pub(super) fn logarithmic_across(self) -> Self {
        let scales = [Scale::Logarithmic, Scale::Linear];
        Self { scales, ..self }
    }

    /// The same with a logarithmic vertical axis over a linear one.
    pub(super) fn semilogarithmic(self) -> Self {
        let scales = [Scale::Linear, Scale::Logarithmic];
        Self { scales, ..self }
    }
}

/// Panels above each other, under a title.
#[derive(Clone, Debug)]
pub(super) struct Figure {
    pub(super) title: String,
    pub(super) panels: Vec<Panel>,
}

/// A figure in both formats; as bytes it is the PNG file.
#[derive(Debug)]
pub(super) struct Picture {
    png: Vec<u8>,
    pub(super) svg: String,
}

impl Deref for Picture {
    type Target = [u8];

    fn deref(&self) -> &[u8] {
        &self.png
    }
}

impl Figure {
    /// The figure as the bytes of a PNG file, with the same as SVG.
    pub(super) fn png(&self) -> Result<Picture> {
        let marks = self.marks();
        Ok(Picture {
            png: raster::png(&marks)?,
            svg: svg::svg(&marks),
        })
    }

    fn marks(&self) -> Vec<Mark> {
        let (width, height) = SIZE;
        let title = Text::new(&self.title, 22.0, 40.0, 44.0).verbatim();
        let mut marks = vec![Mark::Text(title)];
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
            panel.draw(place, &mut marks);
        }
        marks
    }
}

impl Panel {
    /// Width that the legend takes beside the axes.
    fn legend_width(&self) -> f64 {
        let width = |text: &str| Text::new(text, 17.0, 0.0, 0.0).width();
        let labels = self.curves.iter().map(|c| SAMPLE + width(&c.label));
        let map = self.map.iter().flat_map(Map::labels);
        let labels = labels.chain(map.map(|label| SAMPLE + width(label)));
        GAP + labels.fold(width(&self.legend), f64::max) + MARGIN
    }

    fn draw(&self, frame: Frame, marks: &mut Vec<Mark>) {
        let frame = match self.equal {
            Some([(left, right), (low, high)]) => frame.fitted((right - left) / (high - low)),
            None => frame,
        };
        let longest = (frame.right - frame.left).max(frame.bottom - frame.top);
        // Ticks along a side of a map, whose longer one has ten.
        let count = |long: f64| 10.0 * long / longest;
        let [across, upwards] = self.scales;
        let scaled = |&(x, y): &(f64, f64)| (across.of(x), upwards.of(y));
        let points = || {
            self.curves
                .iter()
                .flat_map(|c| c.points.iter().map(scaled))
                .filter(|(x, y)| x.is_finite() && y.is_finite())
        };
        let reach = || {
            let ends = self.reach.into_iter().flat_map(|(a, b)| [a, b]);
            ends.map(|x| across.of(x))
        };
        let mut ticks = match self.equal {
            Some(_) => count(frame.right - frame.left),
            None => 10.0,
        };
        let with = |ticks| Axis::tight(points().map(|p| p.0).chain(reach()), ticks);
        let mut xs = with(ticks);
        while ticks > 2.0 && is_crowded(&xs.ticks_of(across), &xs, frame.right - frame.left) {
            ticks *= 0.7;
            xs = with(ticks);
        }
        let ys = match (self.equal, upwards) {
            (Some([_, (low, high)]), _) => {
                let ends = points().map(|p| p.1).chain([low, high]);
                Axis::tight(ends, count(frame.bottom - frame.top))
            }
            (None, Scale::Linear) => {
                Axis::rounded(points().map(|p| p.1), (frame.bottom - frame.top) / 70.0)
            }
            (None, Scale::Logarithmic) => Axis::tight(points().map(|p| p.1), 1.0).widened(0.04),
        };
        let px = |x: f64| frame.left + xs.place(x) * (frame.right - frame.left);
        let py = |y: f64| frame.bottom - ys.place(y) * (frame.bottom - frame.top);
        let tick = |points: [(f64, f64); 2], colour, width| Mark::line(&points, colour, width);
        if let Some(map) = &self.map {
            map.draw(&frame, (&xs, &ys), marks);
        }

        for (value, label) in xs.ticks_of(across) {
            let x = px(value);
            if self.map.is_none() {
                marks.push(tick([(x, frame.top), (x, frame.bottom)], GRID, 1.0));
            }
            marks.push(tick([(x, frame.bottom), (x, frame.bottom + 6.0)], INK, 1.2));
            marks.push(Mark::Text(
                Text::new(&label, TICK, x, frame.bottom + 26.0).at(0.5),
            ));
        }
        for (value, label) in ys.ticks_of(upwards) {
            let y = py(value);
            if self.map.is_none() {
                marks.push(tick([(frame.left, y), (frame.right, y)], GRID, 1.0));
            }
            marks.push(tick([(frame.left - 6.0, y), (frame.left, y)], INK, 1.2));
            marks.push(Mark::Text(
                Text::new(&label, TICK, frame.left - 12.0, y + 6.0).at(1.0),
            ));
        }
        let centre = (frame.left + frame.right) / 2.0;
        marks.push(Mark::Text(
            Text::new(&self.x, 19.0, centre, frame.bottom + 58.0).at(0.5),
        ));
        marks.push(Mark::Text(Text::new(
            &self.y,
            19.0,
            frame.left - 6.0,
            frame.top - 16.0,
        )));

        for curve in &self.curves {
            let points: Vec<_> = curve.points.iter().map(scaled).collect();
            for run in points.split(|(x, y)| !(x.is_finite() && y.is_finite())) {
                let run: Vec<_> = run.iter().map(|&(x, y)| (px(x), py(y))).collect();
                curve.trace(&run, marks);
            }
        }
        let mut outline = vec![
            (frame.left, frame.top),
            (frame.left, frame.bottom),
            (frame.right, frame.bottom),
        ];
        if self.equal.is_some() {
            outline.extend([(frame.right, frame.top), (frame.left, frame.top)]);
        }
        marks.push(Mark::line(&outline, INK, 1.4));

        let left = frame.right + GAP;
        let mut y = frame.top + 12.0;
        if !self.legend.is_empty() {
            marks.push(Mark::Text(Text::new(&self.legend, 17.0, left, y + 6.0)));
            y += 30.0;
        }
        // A curve in several pieces is named once.
        for curve in self.curves.iter().filter(|curve| !curve.label.is_empty()) {
            curve.trace(&[(left, y), (left + 22.0, y), (left + 44.0, y)], marks);
            marks.push(Mark::Text(Text::new(
                &curve.label,
                17.0,
                left + SAMPLE,
                y + 6.0,
            )));
            y += 28.0;
        }
        if let Some(map) = &self.map {
            map.draw_scale((left, y), marks);
        }
    }
}

impl Curve {
    fn trace(&self, points: &[(f64, f64)], marks: &mut Vec<Mark>) {
        let width = match self.stroke {
            Stroke::Dashed => 2.4,
            Stroke::Solid => 2.6,
            Stroke::Dotted => 2.2,
            Stroke::Thin => 1.3,
            Stroke::Points => 0.0,
        };
        if width > 0.0 {
            marks.push(Mark::Line {
                points: points.to_vec(),
                colour: self.colour,
                width,
                dashed: self.stroke == Stroke::Dashed,
            });
        }
        if let Stroke::Dotted | Stroke::Points = self.stroke {
            let colour = self.colour;
            marks.extend(points.iter().map(|&at| Mark::Dot { at, colour }));
        }
    }
}

/// Whether labels below an axis of this length come too near to each other.
fn is_crowded(ticks: &[(f64, String)], axis: &Axis, length: f64) -> bool {
    let half = |label: &str| 0.5 * Text::new(label, TICK, 0.0, 0.0).width();
    ticks.windows(2).any(|pair| {
        let apart = (axis.place(pair[1].0) - axis.place(pair[0].0)) * length;
        half(&pair[0].1) + half(&pair[1].1) + LABEL_GAP > apart
    })
}

#[cfg(test)]
mod tests {
    use super::*;

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
            let bytes = figure.png().unwrap().to_vec();
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
            let picture = figure.png().unwrap();
            assert!(picture.starts_with(b"\x89PNG"));
            assert!(picture.svg.starts_with("<svg ") && !picture.svg.contains("NaN"));
        }
    }

    #[test]
    fn a_map_is_square_and_has_round_levels() {
        let x: Vec<f64> = (0..20).map(|i| (f64::from(i) + 0.5) / 20.0).collect();
        let values = x.iter().flat_map(|b| x.iter().map(move |a| a - b));
        let map = Map::new(&x, values.collect(), 7.0).signed();
        assert!(map.labels().any(|label| label == "0.5"));
        let figure = Figure {
            title: "a < b & c".into(),
            panels: vec![Panel::new("x_0", "y", vec![]).over(map, (0.0, 1.0))],
        };
        let outline = figure.marks().into_iter().find_map(|mark| match mark {
            Mark::Line { points, .. } if points.len() == 5 => Some(points),
            _ => None,
        });
        let outline = outline.unwrap();
        let (width, height) = (outline[2].0 - outline[0].0, outline[1].1 - outline[0].1);
        assert!((width - height).abs() < 1e-9, "{width} {height}");
        let svg = figure.png().unwrap().svg;
        assert!(svg.contains("a &lt; b &amp; c") && svg.contains("<tspan"));
    }
}
