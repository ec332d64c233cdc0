//! Values on the walls in the order of the outlines, averaged over neighbouring segments.

use std::cmp::Ordering;

use super::body::Body;
use super::case::{Case, Side};
use super::findings::SurfacePoint;
use super::level::Place;
use super::outline::Outline;

/// A segment of a wall with its place on the outline of its body.
#[derive(Clone, Debug, PartialEq)]
#[non_exhaustive]
pub struct Segment {
    /// The curve of the outline, of which bodies of many circles have several.
    pub curve: usize,
    /// Arc length from the first point of the curve to the middle of the segment.
    pub arc: f64,
    /// Angle of the middle about the centre of the curve, in degrees from 0 to 360.
    pub angle: f64,
    /// The segment as the solver found it.
    pub raw: SurfacePoint,
    /// Pressure, shear, heat, slip and jump averaged by length over the segment and its two neighbours, and over more where these are slivers: a sliver of a cell has few digits.
    pub mean: [f64; 5],
}

impl Segment {
    /// Its ends.
    pub fn ends(&self) -> [[f64; 2]; 2] {
        let ([x, y], [nx, ny]) = (self.raw.point, self.raw.normal);
        let half = 0.5 * self.raw.length;
        [
            [x + half * ny, y - half * nx],
            [x - half * ny, y + half * nx],
        ]
    }

    /// Names of [`Segment::row`].
    pub const COLUMNS: [&'static str; 12] = [
        "arc", "angle", "x", "y", "normal_x", "normal_y", "length", "pressure", "shear", "heat",
        "slip", "jump",
    ];

    /// Its place, and the averaged values.
    pub fn row(&self) -> [f64; 12] {
        let SurfacePoint {
            point: [x, y],
            normal: [nx, ny],
            length,
            ..
        } = self.raw;
        let [pressure, shear, heat, slip, jump] = self.mean;
        [
            self.arc, self.angle, x, y, nx, ny, length, pressure, shear, heat, slip, jump,
        ]
    }

    fn values(&self) -> [f64; 5] {
        let raw = &self.raw;
        [raw.pressure, raw.shear, raw.heat, raw.slip, raw.jump]
    }
}

/// Outlines of the bodies of a case, with their images across periodic sides.
pub(super) struct Places<'a> {
    case: &'a Case,
    outlines: Vec<Vec<Outline>>,
    shifts: Vec<[f64; 2]>,
}

impl<'a> Places<'a> {
    /// Those of a resolved case.
    pub(super) fn new(case: &'a Case) -> Self {
        Self {
            case,
            outlines: case.bodies.iter().map(Body::outlines).collect(),
            shifts: shifts(case),
        }
    }

    /// The outline of a body next to a point, the point where it would be of the body itself, and its place.
    fn nearest(&self, body: usize, [x, y]: [f64; 2]) -> Option<(usize, [f64; 2], Place)> {
        let outlines = self.outlines.get(body)?;
        let places = self.shifts.iter().flat_map(|shift| {
            let point = [x - shift[0], y - shift[1]];
            let outlines = outlines.iter().enumerate();
            outlines.map(move |(k, outline)| (k, point, outline.place(point)))
        });
        places.min_by(|a, b| a.2.away.total_cmp(&b.2.away))
    }

    /// Arc length on the curve next to a point, and the length of that curve where it is closed and known.
    pub(super) fn of(&self, body: usize, point: [f64; 2]) -> (f64, Option<f64>) {
        match self.nearest(body, point) {
            Some((outline, _, place)) => (place.arc, self.outlines[body][outline].girth()),
            None => (0.0, None),
        }
    }

    fn segment(&self, raw: &SurfacePoint) -> Option<Segment> {
        let (outline, point, place) = self.nearest(raw.body, raw.point)?;
        let outlines = &self.outlines[raw.body];
        let before = outlines[..outline].iter().map(Outline::curves);
        let [x, y] = match &outlines[outline] {
            Outline::Circle(centre, _) => *centre,
            _ => self.case.bodies[raw.body].centre(),
        };
        let angle = (point[1] - y).atan2(point[0] - x).to_degrees();
        Some(Segment {
            curve: before.sum::<usize>() + place.curve,
            arc: place.arc,
            angle: angle.rem_euclid(360.0),
            raw: *raw,
            mean: [0.0; 5],
        })
    }
}

/// The segments of all bodies, along their outlines.
pub fn along_outlines(case: &Case, surface: &[SurfacePoint]) -> Vec<Segment> {
    let places = Places::new(case);
    let mut segments: Vec<Segment> = surface
        .iter()
        .filter_map(|raw| places.segment(raw))
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

/// Displacements of a body and of its images across periodic sides.
fn shifts(case: &Case) -> Vec<[f64; 2]> {
    let along = |side: &Side, [low, high]: [f64; 2]| match side {
        Side::Periodic { .. } => vec![0.0, low - high, high - low],
        _ => vec![0.0],
    };
    let x = along(&case.sides.left, case.domain.x);
    let y = along(&case.sides.bottom, case.domain.y);
    let shifts = x.iter().flat_map(|x| y.iter().map(move |y| [*x, *y]));
    shifts.collect()
}

/// Averages over neighbours along a curve, which is closed unless the domain cuts it.
fn average(segments: &mut [Segment]) {
    let count = segments.len();
    let touch = |a: &Segment, b: &Segment| {
        let (p, q) = (a.raw.point, b.raw.point);
        let apart = (p[0] - q[0]).hypot(p[1] - q[1]);
        apart <= a.raw.length + b.raw.length
    };
    let longest = segments.iter().map(|s| s.raw.length).fold(0.0, f64::max);
    let mean = |k: usize| {
        let mut sums = [0.0; 5];
        let mut long = 0.0;
        let mut take = |at: usize| {
            let segment = &segments[at];
            long += segment.raw.length;
            for (sum, value) in sums.iter_mut().zip(segment.values()) {
                *sum += segment.raw.length * value;
            }
            long
        };
        take(k);
        // The next segments on both sides, and those after them where slivers are among these.
        let mut ends = [Some(k), Some(k)];
        let mut left = count - 1;
        while left > 0 {
            let mut enough = true;
            for (end, step) in ends.iter_mut().zip([count - 1, 1]) {
                let next = end.map(|at| (at, (at + step) % count));
                *end = next
                    .filter(|&(at, next)| left > 0 && touch(&segments[at], &segments[next]))
                    .map(|(_, next)| next);
                if let Some(at) = *end {
                    left -= 1;
                    enough = take(at) >= 2.0 * longest;
                }
            }
            if enough {
                break;
            }
        }
        match long > 0.0 {
            true => sums.map(|sum| sum / long),
            false => segments[k].values(),
        }
    };
    let means: Vec<_> = (0..count).map(mean).collect();
    for (segment, mean) in segments.iter_mut().zip(means) {
        segment.mean = mean;
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    /// Segments of a circle of radius 1, shuffled, with the pressure 1 + cos and one sliver.
    fn circle(half: bool) -> (Case, Vec<SurfacePoint>) {
        let vacuum = json!({ "kind": "vacuum" });
        let case = json!({
            "gas": { "delta": 1 },
            "domain": { "x": [-2, 2], "y": [-2, 2], "h": 0.1 },
            "sides": { "left": vacuum, "right": vacuum, "bottom": vacuum, "top": vacuum },
            "body": [{ "shape": "circle", "radius": 1 }],
        });
        let case: Case = serde_json::from_value(case).expect("a case");
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
                    slip: 0.0,
                    jump: 0.0,
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
    }
}
