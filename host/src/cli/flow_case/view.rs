//! A view of walls in space: a quantity on the facets that are seen, with lines along the flow.

use plotters::style::RGBColor;

use super::results::Outcome;
use super::slices::ends;
use crate::cli::plot::{Curve, Figure, Map, Panel, Stroke, round_levels};
use crate::flow::{FacetPoint, Fields, Side};

/// Samples along the longer side of a view.
const SAMPLES: usize = 420;
/// Azimuth and height of the eye, in degrees: to the left of the stream and above.
const AZIMUTH: f64 = -125.0;
const HEIGHT: f64 = 20.0;
/// Lines along the flow.
const LINES: usize = 14;

/// The view's axes: to the right, upwards, and towards the eye. Above is y.
struct Eye([[f64; 3]; 3]);

impl Eye {
    fn new() -> Self {
        let (sin, cos) = AZIMUTH.to_radians().sin_cos();
        let (up, level) = HEIGHT.to_radians().sin_cos();
        // The eye turns in the x-z plane.
        let right = [-sin, 0.0, cos];
        let towards = [level * cos, up, level * sin];
        let above = [-up * cos, level, -up * sin];
        Self([right, above, towards])
    }

    /// A point's place in the view, and how near it is.
    fn place(&self, point: [f64; 3]) -> [f64; 3] {
        self.0
            .map(|axis| axis[0] * point[0] + axis[1] * point[1] + axis[2] * point[2])
    }
}

/// A facet in the view.
struct Seen {
    corners: Vec<[f64; 3]>,
    value: f64,
}

/// A quantity on the walls, the images at mirrors included.
pub(super) fn figure(
    outcome: &Outcome,
    what: &str,
    legend: &str,
    value: fn(&FacetPoint) -> f64,
) -> Option<Figure> {
    let eye = Eye::new();
    let images = images(outcome);
    let mut seen = Vec::new();
    for facet in &outcome.facets {
        for image in &images {
            let corners = facet.corners.iter();
            let corners = corners.map(|corner| eye.place(image.of(*corner)));
            seen.push(Seen {
                corners: corners.collect(),
                value: value(facet),
            });
        }
    }
    let mut reach = [[f64::INFINITY, f64::NEG_INFINITY]; 2];
    for corner in seen.iter().flat_map(|facet| &facet.corners) {
        for (ends, place) in reach.iter_mut().zip(corner) {
            *ends = [ends[0].min(*place), ends[1].max(*place)];
        }
    }
    let long = (reach[0][1] - reach[0][0]).max(reach[1][1] - reach[1][0]);
    if !(long > 0.0 && long.is_finite()) {
        return None;
    }
    let around = 0.45 * long;
    let reach = reach.map(|[low, high]| [low - around, high + around]);
    let sample = (long + 2.0 * around) / SAMPLES as f64;
    let centres = reach.map(|[low, high]| {
        let count = ((high - low) / sample).ceil() as usize;
        let places = (0..count).map(|k| low + (k as f64 + 0.5) * sample);
        places.collect::<Vec<f64>>()
    });
    let (values, shares) = painted(&seen, &centres, sample);
    let in_view = ends(&shares, &values);
    let levels = round_levels(in_view.into_iter().flatten(), 10.0);
    let map = Map::on([&centres[0], &centres[1]], values, levels);
    let map = map.within(shares).on_nothing();
    let curves = lines(outcome, &eye, &images, around)
        .into_iter()
        .map(|points| Curve::new("", points, RGBColor(120, 120, 120)).stroke(Stroke::Thin));
    let mut curves: Vec<Curve> = curves.collect();
    if let Some(first) = curves.first_mut() {
        first.label = "streamlines".into();
    }
    let range = |axis: usize| (reach[axis][0], reach[axis][1]);
    Some(Figure {
        title: format!("{what}, {}", outcome.named()),
        panels: vec![
            Panel::new("seen from the left of the stream and above", "", curves)
                .over_rectangle(map, [range(0), range(1)])
                .legend(legend),
        ],
    })
}

/// The values seen at each sample, and whether a facet is there: the nearest one wins.
fn painted(seen: &[Seen], centres: &[Vec<f64>; 2], sample: f64) -> (Vec<f64>, Vec<f64>) {
    let (nx, ny) = (centres[0].len(), centres[1].len());
    let mut values = vec![0.0; nx * ny];
    let mut shares = vec![0.0; nx * ny];
    let mut depth = vec![f64::NEG_INFINITY; nx * ny];
    let low = [0, 1].map(|axis: usize| centres[axis].first().copied().unwrap_or(0.0));
    for facet in seen {
        // A fan of triangles.
        for k in 1..facet.corners.len().saturating_sub(1) {
            let triangle = [facet.corners[0], facet.corners[k], facet.corners[k + 1]];
            let reach = |axis: usize, count: usize| {
                let places = triangle.map(|corner| (corner[axis] - low[axis]) / sample);
                let least = places.into_iter().fold(f64::INFINITY, f64::min).floor();
                let most = places.into_iter().fold(f64::NEG_INFINITY, f64::max).ceil();
                (least.max(0.0) as usize)..(most.max(0.0) as usize + 1).min(count)
            };
            for j in reach(1, ny) {
                for i in reach(0, nx) {
                    let Some(near) = depth_at(&triangle, [centres[0][i], centres[1][j]]) else {
                        continue;
                    };
                    let at = j * nx + i;
                    if near > depth[at] {
                        (depth[at], values[at], shares[at]) = (near, facet.value, 1.0);
                    }
                }
            }
        }
    }
    (values, shares)
}

/// How near a triangle is at a place of the view; none beside it.
fn depth_at([a, b, c]: &[[f64; 3]; 3], place: [f64; 2]) -> Option<f64> {
    let cross = |p: &[f64; 3], q: &[f64; 3], r: [f64; 2]| {
        (q[0] - p[0]) * (r[1] - p[1]) - (q[1] - p[1]) * (r[0] - p[0])
    };
    let whole = cross(a, b, [c[0], c[1]]);
    if whole == 0.0 {
        return None;
    }
    let shares = [
        cross(b, c, place) / whole,
        cross(c, a, place) / whole,
        cross(a, b, place) / whole,
    ];
    // A little beyond the edges, so that neighbours leave no gap.
    let inside = shares.iter().all(|share| *share >= -0.02);
    inside.then(|| shares[0] * a[2] + shares[1] * b[2] + shares[2] * c[2])
}

/// A mirror image of space, or space itself.
struct Image([Option<f64>; 3]);

impl Image {
    fn of(&self, mut point: [f64; 3]) -> [f64; 3] {
        for (place, mirror) in point.iter_mut().zip(self.0) {
            if let Some(mirror) = mirror {
                *place = 2.0 * mirror - *place;
            }
        }
        point
    }
}

/// The images that complete bodies at mirrors.
fn images(outcome: &Outcome) -> Vec<Image> {
    let fields = &outcome.found.fields;
    let sides = outcome.case.named_sides();
    let is_mirror = |k: usize| matches!(sides.get(k), Some((_, Side::Mirror)));
    let mut images = vec![Image([None; 3])];
    for (axis, edges) in [&fields.x, &fields.y, &fields.z].into_iter().enumerate() {
        let place = match (is_mirror(2 * axis), is_mirror(2 * axis + 1)) {
            (true, false) => edges.first(),
            (false, true) => edges.last(),
            _ => None,
        };
        if let Some(place) = place {
            let more: Vec<Image> = images
                .iter()
                .map(|Image(mirrors)| {
                    let mut mirrors = *mirrors;
                    mirrors[axis] = Some(*place);
                    Image(mirrors)
                })
                .collect();
            images.extend(more);
        }
    }
    images
}

/// Lines along the flow about the walls, in the view.
fn lines(outcome: &Outcome, eye: &Eye, images: &[Image], around: f64) -> Vec<Vec<(f64, f64)>> {
    let fields = &outcome.found.fields;
    let corners = outcome.facets.iter().flat_map(|facet| &facet.corners);
    let mut ends = [[f64::INFINITY, f64::NEG_INFINITY]; 3];
    for corner in corners {
        for (ends, place) in ends.iter_mut().zip(corner) {
            *ends = [ends[0].min(*place), ends[1].max(*place)];
        }
    }
    let widths = ends.map(|[low, high]| high - low);
    let long = widths.into_iter().fold(0.0, f64::max);
    let mut all = Vec::new();
    // Seeds on a ring about the bodies, upstream of them.
    let count = LINES.div_ceil(images.len());
    for k in 0..count {
        let turn = std::f64::consts::TAU * (k as f64 + 0.5) / count as f64;
        let (sin, cos) = turn.sin_cos();
        let place = |axis: usize, part: f64| {
            let [low, high] = ends[axis];
            0.5 * (low + high) + 0.45 * part * (high - low)
        };
        let seed = [ends[0][0] - 0.6 * around, place(1, cos), place(2, sin)];
        let line = trace(
            fields,
            seed,
            4e-3 * (long + around),
            ends[0][1] + 0.8 * around,
        );
        if line.len() > 2 {
            for image in images {
                let points = line.iter().map(|point| {
                    let [x, y, _] = eye.place(image.of(*point));
                    (x, y)
                });
                all.push(points.collect());
            }
        }
    }
    all
}

/// A line along the velocities from a point, up to a place along x.
fn trace(fields: &Fields, seed: [f64; 3], step: f64, end: f64) -> Vec<[f64; 3]> {
    let edges = [&fields.x, &fields.y, &fields.z];
    let counts = edges.map(|edges| edges.len().saturating_sub(1));
    let direction = |point: [f64; 3]| {
        let mut cell = [0; 3];
        for axis in 0..3 {
            let after = edges[axis].partition_point(|edge| *edge <= point[axis]);
            if after == 0 || after > counts[axis] {
                return None;
            }
            cell[axis] = after - 1;
        }
        let at = (cell[2] * counts[1] + cell[1]) * counts[0] + cell[0];
        let velocity = [
            fields.velocity_x[at],
            fields.velocity_y[at],
            fields.velocity_z[at],
        ];
        let speed = velocity.iter().map(|v| v * v).sum::<f64>().sqrt();
        (fields.gas[at] > 0.3 && speed > 0.0).then(|| velocity.map(|part| part / speed))
    };
    let moved = |point: [f64; 3], along: [f64; 3], by: f64| -> [f64; 3] {
        std::array::from_fn(|k| point[k] + by * along[k])
    };
    let mut points = vec![seed];
    let mut at = seed;
    for _ in 0..1500 {
        let Some(first) = direction(at) else { break };
        let Some(middle) = direction(moved(at, first, 0.5 * step)) else {
            break;
        };
        at = moved(at, middle, step);
        points.push(at);
        if at[0] > end {
            break;
        }
    }
    points
}
