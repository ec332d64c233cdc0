//! Values on the walls in the order of the outlines, averaged over neighbouring segments.

use std::cmp::Ordering;

use crate::cli::output;
use crate::cli::vti::Lines;
use crate::error::Result;
use crate::flow::{Case, GasInSi, SurfacePoint};

/// A segment of a wall with its place on the outline of its body.
#[derive(Clone, Debug, PartialEq)]
pub(super) struct Segment {
    /// The curve of the outline, of which bodies of many circles have several.
    pub(super) curve: usize,
    /// Arc length from the first point of the curve to the middle of the segment.
    pub(super) arc: f64,
    /// Angle of the middle about the centre of the curve, in degrees from 0 to 360.
    pub(super) angle: f64,
    /// The segment as the solver found it.
    pub(super) raw: SurfacePoint,
    /// Pressure, shear and heat averaged by length over the segment and its two neighbours: a sliver of a cell has few digits.
    pub(super) mean: [f64; 3],
}

impl Segment {
    /// Its ends.
    fn ends(&self) -> [[f64; 2]; 2] {
        let ([x, y], [nx, ny]) = (self.raw.point, self.raw.normal);
        let half = 0.5 * self.raw.length;
        [
            [x + half * ny, y - half * nx],
            [x - half * ny, y + half * nx],
        ]
    }

    fn values(&self) -> [f64; 3] {
        [self.raw.pressure, self.raw.shear, self.raw.heat]
    }
}

/// The segments of all bodies, along their outlines.
pub(super) fn along_outlines(case: &Case, surface: &[SurfacePoint]) -> Vec<Segment> {
    let outlines: Vec<_> = case.bodies.iter().map(|body| body.outlines()).collect();
    let mut segments: Vec<Segment> = surface
        .iter()
        .filter_map(|raw| {
            let curves = outlines.get(raw.body)?;
            let places = curves
                .iter()
                .enumerate()
                .map(|(k, of)| (k, of.arc(raw.point)));
            // The curve next to the middle.
            let (curve, (arc, _)) = places.min_by(|a, b| a.1.1.total_cmp(&b.1.1))?;
            let [low, high] = match curves.len() {
                1 => [case.bodies[raw.body].centre(); 2],
                _ => curves[curve].bounds(),
            };
            let (x, y) = (0.5 * (low[0] + high[0]), 0.5 * (low[1] + high[1]));
            let angle = (raw.point[1] - y).atan2(raw.point[0] - x).to_degrees();
            Some(Segment {
                curve,
                arc,
                angle: angle.rem_euclid(360.0),
                raw: *raw,
                mean: [0.0; 3],
            })
        })
        .collect();
    let order = |a: &Segment, b: &Segment| -> Ordering {
        let curves = (a.raw.body, a.curve).cmp(&(b.raw.body, b.curve));
        curves.then(a.arc.total_cmp(&b.arc))
    };
    segments.sort_by(order);
    let curve = |a: &Segment, b: &Segment| (a.raw.body, a.curve) == (b.raw.body, b.curve);
    segments.chunk_by_mut(curve).for_each(average);
    segments
}

/// Averages over neighbours along a curve, which is closed unless the domain cuts it.
fn average(segments: &mut [Segment]) {
    let count = segments.len();
    let touch = |a: &Segment, b: &Segment| {
        let (p, q) = (a.raw.point, b.raw.point);
        let apart = (p[0] - q[0]).hypot(p[1] - q[1]);
        apart <= a.raw.length + b.raw.length
    };
    let mean = |k: usize| {
        let here = &segments[k];
        let around = [(k + count - 1) % count, (k + 1) % count];
        let around = around.into_iter().enumerate().filter(|&(side, other)| {
            // Two segments are each other's neighbours once.
            other != k && !(side == 1 && count == 2) && touch(here, &segments[other])
        });
        let taken = around.map(|(_, other)| other).chain([k]);
        let (mut sums, mut long) = ([0.0; 3], 0.0);
        for other in taken {
            let other = &segments[other];
            long += other.raw.length;
            for (sum, value) in sums.iter_mut().zip(other.values()) {
                *sum += other.raw.length * value;
            }
        }
        match long > 0.0 {
            true => sums.map(|sum| sum / long),
            false => here.values(),
        }
    };
    let means: Vec<_> = (0..count).map(mean).collect();
    for (segment, mean) in segments.iter_mut().zip(means) {
        segment.mean = mean;
    }
}

/// The table of the segments, with SI units in further columns where the case is in these.
pub(super) fn table(case: &Case, segments: &[Segment]) -> Result<Vec<u8>> {
    let mut columns = vec![
        "body",
        "curve",
        "arc",
        "angle",
        "x",
        "y",
        "normal_x",
        "normal_y",
        "length",
        "pressure",
        "shear",
        "heat",
        "pressure_raw",
        "shear_raw",
        "heat_raw",
    ];
    let si = case.gas.si.as_ref().map(scales).transpose()?;
    if si.is_some() {
        columns.extend([
            "arc_m",
            "x_m",
            "y_m",
            "pressure_pa",
            "shear_pa",
            "heat_w_m2",
        ]);
    }
    let rows = segments.iter().map(|segment| {
        let raw = &segment.raw;
        let [pressure, shear, heat] = segment.mean;
        let mut row = vec![
            case.bodies[raw.body].name.clone().unwrap_or_default(),
            (segment.curve + 1).to_string(),
        ];
        let mut numbers = vec![
            segment.arc,
            segment.angle,
            raw.point[0],
            raw.point[1],
            raw.normal[0],
            raw.normal[1],
            raw.length,
            pressure,
            shear,
            heat,
            raw.pressure,
            raw.shear,
            raw.heat,
        ];
        if let Some([long, force, power]) = si {
            numbers.extend([
                long * segment.arc,
                long * raw.point[0],
                long * raw.point[1],
                force * pressure,
                force * shear,
                power * heat,
            ]);
        }
        row.extend(numbers.into_iter().map(|number| number.to_string()));
        row
    });
    output::table(&columns, rows)
}

/// Length 1 of a case in m, units of stresses in Pa and of heat fluxes in W/m^2.
fn scales(si: &GasInSi) -> Result<[f64; 3]> {
    let units = si.units()?;
    Ok([si.length, units.pressure_pa, units.heat_flux_w_m2])
}

/// The walls for VTK.
pub(super) fn lines(segments: &[Segment]) -> Vec<u8> {
    let scalar = |value: fn(&Segment) -> f64| segments.iter().map(value).collect::<Vec<f64>>();
    Lines {
        ends: segments.iter().map(Segment::ends).collect(),
        scalars: vec![
            ("body", scalar(|s| (s.raw.body + 1) as f64)),
            ("pressure", scalar(|s| s.mean[0])),
            ("shear", scalar(|s| s.mean[1])),
            ("heat", scalar(|s| s.mean[2])),
            ("pressure_raw", scalar(|s| s.raw.pressure)),
            ("shear_raw", scalar(|s| s.raw.shear)),
            ("heat_raw", scalar(|s| s.raw.heat)),
        ],
        vectors: vec![(
            "normal",
            segments
                .iter()
                .map(|s| [s.raw.normal[0], s.raw.normal[1], 0.0])
                .collect(),
        )],
    }
    .encode()
}

/// Ends of the segments of all walls, as lines of a plot.
pub(super) fn walls(segments: &[Segment]) -> impl Iterator<Item = Vec<(f64, f64)>> + '_ {
    segments
        .iter()
        .map(|segment| segment.ends().map(|[x, y]| (x, y)).to_vec())
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Segments of a circle of radius 1, shuffled, with the pressure 1 + cos and one sliver.
    fn circle(half: bool) -> (Case, Vec<SurfacePoint>) {
        let case = super::super::file::parsed(
            "gas = { delta = 1 }\n\
             domain = { x = [-2, 2], y = [-2, 2], h = 0.1 }\n\
             [sides]\n\
             left = { kind = \"vacuum\" }\nright = { kind = \"vacuum\" }\n\
             top = { kind = \"vacuum\" }\nbottom = { kind = \"vacuum\" }\n\
             [[body]]\nshape = \"circle\"\nradius = 1\n",
            |_| {},
        )
        .expect("a case");
        let count = if half { 30 } else { 60 };
        let step = std::f64::consts::TAU / 60.0;
        let mut points: Vec<SurfacePoint> = (0..count)
            .map(|k| {
                let (sin, cos) = (step * (f64::from(k) + 0.5)).sin_cos();
                SurfacePoint {
                    body: 0,
                    point: [cos, sin],
                    normal: [cos, sin],
                    length: step,
                    pressure: 1.0 + cos,
                    shear: 0.0,
                    heat: f64::from(k),
                }
            })
            .collect();
        points.sort_by(|a, b| a.point[0].total_cmp(&b.point[0]));
        (case, points)
    }

    #[test]
    fn segments_follow_the_outline() {
        let (case, points) = circle(false);
        let segments = along_outlines(&case, &points);
        assert_eq!(segments.len(), 60);
        for (k, segment) in segments.iter().enumerate() {
            assert_eq!(segment.raw.heat, k as f64);
            assert!((segment.angle - 6.0 * (k as f64 + 0.5)).abs() < 1e-9);
            assert!((segment.arc - segment.angle.to_radians()).abs() < 1e-12);
        }
        // The first segment has the last one as a neighbour.
        assert!((segments[0].mean[2] - 20.0).abs() < 1e-12);
        assert!((segments[30].mean[2] - 30.0).abs() < 1e-12);
        let (case, points) = circle(true);
        let segments = along_outlines(&case, &points);
        assert!((segments[0].mean[2] - 0.5).abs() < 1e-12);
    }

    #[test]
    fn slivers_hardly_count() {
        let (case, mut points) = circle(false);
        let at = points
            .iter()
            .position(|point| point.heat == 10.0)
            .expect("a segment");
        points[at].length = 1e-6;
        points[at].heat = 1e4;
        let segments = along_outlines(&case, &points);
        let sliver = segments
            .iter()
            .find(|s| s.raw.heat == 1e4)
            .expect("a segment");
        assert!((sliver.mean[2] - 10.0).abs() < 0.1, "{:?}", sliver.mean);
        let table = String::from_utf8(table(&case, &segments).expect("a table")).expect("a text");
        assert!(table.starts_with("body,curve,arc,angle,x,y,normal_x,"));
        assert_eq!(table.lines().count(), 61);
    }
}
