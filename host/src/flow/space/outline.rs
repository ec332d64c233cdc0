//! Outlines of bodies as signed distances, positive in the gas.

use crate::flow::Shape;

/// Sides of the polygon that an ellipse is computed as; its area is 1e-5 too small.
const ELLIPSE_SIDES: usize = 720;

/// Points of an aerofoil on each surface.
const NACA_POINTS: usize = 80;

/// The sine of the least turn between two sides of a polygon that counts as a corner.
const CORNER_TURN: f64 = 0.3;

/// The outline of one body.
#[derive(Clone, Debug)]
pub(in crate::flow) struct Outline {
    form: Form,
    hollow: bool,
    /// The point that moments and rotation refer to.
    pub(in crate::flow) centre: [f64; 2],
}

#[derive(Clone, Debug)]
enum Form {
    Circles(Vec<[f64; 3]>),
    /// Corners, anticlockwise.
    Polygon(Vec<[f64; 2]>),
}

impl Outline {
    /// The outline of a shape, which has been checked.
    pub(in crate::flow) fn new(shape: &Shape, hollow: bool) -> Self {
        let (form, centre) = match shape {
            Shape::Circle { centre, radius } => (
                Form::Circles(vec![[centre[0], centre[1], *radius]]),
                *centre,
            ),
            Shape::Circles { circles } => {
                let count = circles.len() as f64;
                let mean = |k: usize| circles.iter().map(|c| c[k]).sum::<f64>() / count;
                (Form::Circles(circles.clone()), [mean(0), mean(1)])
            }
            Shape::Ellipse {
                centre,
                axes,
                angle,
            } => {
                let points = (0..ELLIPSE_SIDES).map(|k| {
                    let t = std::f64::consts::TAU * k as f64 / ELLIPSE_SIDES as f64;
                    [0.5 * axes[0] * t.cos(), 0.5 * axes[1] * t.sin()]
                });
                (polygon(points, *centre, *angle), *centre)
            }
            Shape::Rectangle {
                centre,
                size,
                angle,
            } => {
                let [a, b] = size.map(|s| 0.5 * s);
                let points = [[-a, -b], [a, -b], [a, b], [-a, b]].into_iter();
                (polygon(points, *centre, *angle), *centre)
            }
            Shape::Polygon { points } => {
                let count = points.len() as f64;
                let mean = |k: usize| points.iter().map(|p| p[k]).sum::<f64>() / count;
                let centre = [mean(0), mean(1)];
                (polygon(points.iter().copied(), [0.0; 2], 0.0), centre)
            }
            Shape::Naca {
                code,
                chord,
                centre,
                incidence,
            } => {
                let points = aerofoil(code).into_iter();
                let points = points.map(|p| p.map(|x| chord * x));
                (polygon(points, *centre, -incidence), *centre)
            }
        };
        Self {
            form,
            hollow,
            centre,
        }
    }

    /// Distance from the wall, positive in the gas.
    pub(in crate::flow) fn distance(&self, [x, y]: [f64; 2]) -> f64 {
        let outside = match &self.form {
            Form::Circles(circles) => circles
                .iter()
                .map(|[a, b, r]| (x - a).hypot(y - b) - r)
                .fold(f64::INFINITY, f64::min),
            Form::Polygon(points) => distance_of_polygon(points, [x, y]),
        };
        if self.hollow { -outside } else { outside }
    }

    /// Points with sharp turns of the outline.
    pub(in crate::flow) fn corners(&self) -> Vec<[f64; 2]> {
        let Form::Polygon(points) = &self.form else {
            return Vec::new();
        };
        let count = points.len();
        (0..count)
            .filter(|&k| {
                let [a, b, c] = [
                    points[(k + count - 1) % count],
                    points[k],
                    points[(k + 1) % count],
                ];
                let (d, e) = ([b[0] - a[0], b[1] - a[1]], [c[0] - b[0], c[1] - b[1]]);
                let lengths = d[0].hypot(d[1]) * e[0].hypot(e[1]);
                let cross = d[0] * e[1] - d[1] * e[0];
                let along = d[0] * e[0] + d[1] * e[1];
                cross.abs() > CORNER_TURN * lengths || along < 0.0
            })
            .map(|k| points[k])
            .collect()
    }

    /// Lines that a grid should follow: corners, or the extreme points of a smooth outline.
    pub(in crate::flow) fn lines(&self) -> [Vec<f64>; 2] {
        match &self.form {
            Form::Circles(circles) if circles.len() == 1 => {
                let [a, b, r] = circles[0];
                [vec![a - r, a + r], vec![b - r, b + r]]
            }
            Form::Circles(_) => [Vec::new(), Vec::new()],
            Form::Polygon(points) => {
                let corners = self.corners();
                [0, 1].map(|axis| {
                    let of = |points: &[[f64; 2]]| points.iter().map(|p| p[axis]).collect();
                    let mut lines: Vec<f64> = of(&corners);
                    let all: Vec<f64> = of(points);
                    lines.push(all.iter().copied().fold(f64::INFINITY, f64::min));
                    lines.push(all.iter().copied().fold(f64::NEG_INFINITY, f64::max));
                    lines
                })
            }
        }
    }
}

/// A polygon turned by an angle in degrees, moved to its centre, and ordered anticlockwise.
fn polygon(points: impl Iterator<Item = [f64; 2]>, centre: [f64; 2], angle: f64) -> Form {
    let (sin, cos) = turn(angle);
    let mut points: Vec<[f64; 2]> = points
        .map(|[x, y]| [centre[0] + cos * x - sin * y, centre[1] + sin * x + cos * y])
        .collect();
    let count = points.len();
    let area: f64 = (0..count)
        .map(|k| {
            let (p, q) = (points[k], points[(k + 1) % count]);
            p[0] * q[1] - q[0] * p[1]
        })
        .sum();
    if area < 0.0 {
        points.reverse();
    }
    Form::Polygon(points)
}

/// Sine and cosine of degrees, exact for multiples of 90.
pub(in crate::flow) fn turn(degrees: f64) -> (f64, f64) {
    let quarter = degrees / 90.0;
    if quarter == quarter.round() {
        match (quarter as i64).rem_euclid(4) {
            0 => (0.0, 1.0),
            1 => (1.0, 0.0),
            2 => (0.0, -1.0),
            _ => (-1.0, 0.0),
        }
    } else {
        degrees.to_radians().sin_cos()
    }
}

/// Signed distance of a point from a polygon, negative inside.
fn distance_of_polygon(points: &[[f64; 2]], [x, y]: [f64; 2]) -> f64 {
    let mut least = f64::INFINITY;
    let mut inside = false;
    for (k, &[x1, y1]) in points.iter().enumerate() {
        let [x2, y2] = points[(k + 1) % points.len()];
        let (ex, ey) = (x2 - x1, y2 - y1);
        let t = (((x - x1) * ex + (y - y1) * ey) / (ex * ex + ey * ey)).clamp(0.0, 1.0);
        let (dx, dy) = (x - x1 - t * ex, y - y1 - t * ey);
        least = least.min(dx * dx + dy * dy);
        if (y1 > y) != (y2 > y) && x < ex * (y - y1) / ey + x1 {
            inside = !inside;
        }
    }
    if inside { -least.sqrt() } else { least.sqrt() }
}

/// Outline of an aerofoil of the four-digit series with chord 1 about its middle, from the tail over the nose.
///
/// E. N. Jacobs, K. E. Ward and R. M. Pinkerton, NACA Report 460 (1933).
fn aerofoil(code: &str) -> Vec<[f64; 2]> {
    let digit = |k: usize| code.as_bytes().get(k).map_or(0.0, |b| f64::from(b - b'0'));
    let (camber, place) = (digit(0) / 100.0, digit(1) / 10.0);
    let thickness = (10.0 * digit(2) + digit(3)) / 100.0;
    let x: Vec<f64> = (0..NACA_POINTS)
        .map(|k| 0.5 * (1.0 - (std::f64::consts::PI * k as f64 / (NACA_POINTS - 1) as f64).cos()))
        .collect();
    let half = |x: f64| {
        let polynomial = x * (-0.1260 + x * (-0.3516 + x * (0.2843 - 0.1036 * x)));
        5.0 * thickness * (0.2969 * x.sqrt() + polynomial)
    };
    let line = |x: f64| {
        if place == 0.0 {
            0.0
        } else if x < place {
            camber / (place * place) * (2.0 * place * x - x * x)
        } else {
            let rest = 1.0 - place;
            camber / (rest * rest) * (1.0 - 2.0 * place + 2.0 * place * x - x * x)
        }
    };
    let upper = x.iter().rev().map(|&x| [x - 0.5, line(x) + half(x)]);
    let lower = x[1..x.len() - 1].iter();
    let lower = lower.map(|&x| [x - 0.5, line(x) - half(x)]);
    upper.chain(lower).collect()
}

/// All bodies of a case with their periodic images.
#[derive(Clone, Debug)]
pub(in crate::flow) struct Bodies {
    pub(in crate::flow) outlines: Vec<Outline>,
    /// Displacements of the images, the body itself included.
    pub(in crate::flow) shifts: Vec<[f64; 2]>,
}

impl Bodies {
    /// Distance from one body and its images.
    pub(in crate::flow) fn distance_of(&self, body: usize, [x, y]: [f64; 2]) -> f64 {
        let outline = &self.outlines[body];
        self.shifts
            .iter()
            .map(|[a, b]| outline.distance([x - a, y - b]))
            .fold(f64::INFINITY, f64::min)
    }

    /// Distance from the nearest wall, positive in the gas; infinite without bodies.
    pub(in crate::flow) fn distance(&self, point: [f64; 2]) -> f64 {
        (0..self.outlines.len())
            .map(|body| self.distance_of(body, point))
            .fold(f64::INFINITY, f64::min)
    }

    /// The body whose wall is nearest.
    pub(in crate::flow) fn nearest(&self, point: [f64; 2]) -> usize {
        let mut nearest = (f64::INFINITY, 0);
        for body in 0..self.outlines.len() {
            let distance = self.distance_of(body, point).abs();
            if distance < nearest.0 {
                nearest = (distance, body);
            }
        }
        nearest.1
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn distances_are_those_of_the_shapes() {
        let square = Outline::new(
            &Shape::Rectangle {
                centre: [1.0, 0.0],
                size: [2.0, 1.0],
                angle: 90.0,
            },
            false,
        );
        // Turned by a right angle it reaches from 0.5 to 1.5 and from -1 to 1.
        assert!((square.distance([2.0, 0.0]) - 0.5).abs() < 1e-15);
        assert!((square.distance([1.0, 0.0]) + 0.5).abs() < 1e-15);
        assert!((square.distance([1.5 + 0.3, 1.0 + 0.4]) - 0.5).abs() < 1e-12);
        assert_eq!(square.corners().len(), 4);
        let wing = Outline::new(
            &Shape::Naca {
                code: "0012".to_owned(),
                chord: 1.0,
                centre: [0.0; 2],
                incidence: 0.0,
            },
            false,
        );
        // Its greatest thickness is 12% of the chord, at 30% of it.
        assert!((wing.distance([-0.2, 0.06]) + 0.0).abs() < 5e-4);
        let hollow = Outline::new(
            &Shape::Circle {
                centre: [0.0; 2],
                radius: 1.0,
            },
            true,
        );
        assert!((hollow.distance([0.0, 0.25]) - 0.75).abs() < 1e-15);
    }
}
