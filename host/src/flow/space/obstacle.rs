//! Bodies as signed distances, positive in the gas.

use crate::flow::Body;
use crate::flow::outline::{Outline, edges};

/// The sine of the least turn between two edges of a polygon that counts as a corner.
const CORNER_TURN: f64 = 0.3;

/// A body as the grid sees it.
#[derive(Clone, Debug)]
pub(in crate::flow) struct Obstacle {
    curves: Vec<Outline>,
    hollow: bool,
    /// The point that moments and rotation refer to.
    pub(in crate::flow) centre: [f64; 2],
}

impl Obstacle {
    /// The obstacle that a body is.
    pub(in crate::flow) fn new(body: &Body) -> Self {
        Self {
            curves: body.outlines(),
            hollow: body.hollow,
            centre: body.centre(),
        }
    }

    /// Distance from the wall, positive in the gas.
    pub(in crate::flow) fn distance(&self, point: [f64; 2]) -> f64 {
        let curves = self.curves.iter().map(|curve| distance(curve, point));
        let outside = curves.fold(f64::INFINITY, f64::min);
        if self.hollow { -outside } else { outside }
    }

    /// Points with sharp turns of the outline.
    pub(in crate::flow) fn corners(&self) -> Vec<[f64; 2]> {
        let mut corners = Vec::new();
        for curve in &self.curves {
            let Outline::Polygon(points) = curve else {
                continue;
            };
            let before = points.iter().cycle().skip(points.len().saturating_sub(1));
            for (a, (b, c)) in before.zip(edges(points)) {
                let (d, e) = ([b[0] - a[0], b[1] - a[1]], [c[0] - b[0], c[1] - b[1]]);
                let lengths = d[0].hypot(d[1]) * e[0].hypot(e[1]);
                let cross = d[0] * e[1] - d[1] * e[0];
                let along = d[0] * e[0] + d[1] * e[1];
                if cross.abs() > CORNER_TURN * lengths || along < 0.0 {
                    corners.push(b);
                }
            }
        }
        corners
    }

    /// Lines that a grid should follow: corners and extreme points; none for many circles.
    pub(in crate::flow) fn lines(&self) -> [Vec<f64>; 2] {
        let [curve] = self.curves.as_slice() else {
            return [Vec::new(), Vec::new()];
        };
        let corners = self.corners();
        let [low, high] = curve.bounds();
        [0, 1].map(|axis| {
            let mut lines: Vec<f64> = corners.iter().map(|corner| corner[axis]).collect();
            lines.extend([low[axis], high[axis]]);
            lines
        })
    }
}

/// Distance of a point from a curve, negative inside.
fn distance(curve: &Outline, [x, y]: [f64; 2]) -> f64 {
    let points = match curve {
        Outline::Circle([a, b], radius) => return (x - a).hypot(y - b) - radius,
        Outline::Polygon(points) => points,
    };
    let mut least = f64::INFINITY;
    let mut inside = false;
    for ([x1, y1], [x2, y2]) in edges(points) {
        let (ex, ey) = (x2 - x1, y2 - y1);
        let along = (x - x1) * ex + (y - y1) * ey;
        let share = match ex * ex + ey * ey {
            0.0 => 0.0,
            square => (along / square).clamp(0.0, 1.0),
        };
        let (dx, dy) = (x - x1 - share * ex, y - y1 - share * ey);
        least = least.min(dx * dx + dy * dy);
        if (y1 > y) != (y2 > y) && x < ex * (y - y1) / ey + x1 {
            inside = !inside;
        }
    }
    if inside { -least.sqrt() } else { least.sqrt() }
}

/// All bodies of a case with their periodic images.
#[derive(Clone, Debug)]
pub(in crate::flow) struct Bodies {
    pub(in crate::flow) obstacles: Vec<Obstacle>,
    /// Displacements of the images, the body itself included.
    pub(in crate::flow) shifts: Vec<[f64; 2]>,
}

impl Bodies {
    /// Distance from one body and its images.
    pub(in crate::flow) fn distance_of(&self, body: usize, [x, y]: [f64; 2]) -> f64 {
        let obstacle = &self.obstacles[body];
        let images = self.shifts.iter();
        images
            .map(|[a, b]| obstacle.distance([x - a, y - b]))
            .fold(f64::INFINITY, f64::min)
    }

    /// Distance from the nearest wall, positive in the gas; infinite without bodies.
    pub(in crate::flow) fn distance(&self, point: [f64; 2]) -> f64 {
        let bodies = 0..self.obstacles.len();
        bodies
            .map(|body| self.distance_of(body, point))
            .fold(f64::INFINITY, f64::min)
    }

    /// The body whose wall is nearest.
    pub(in crate::flow) fn nearest(&self, point: [f64; 2]) -> usize {
        let away = |&body: &usize| self.distance_of(body, point).abs();
        let bodies = 0..self.obstacles.len();
        bodies
            .min_by(|a, b| away(a).total_cmp(&away(b)))
            .unwrap_or(0)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn obstacle(text: &str) -> Obstacle {
        Obstacle::new(&toml::from_str(text).expect("a body"))
    }

    #[test]
    fn distances_are_those_of_the_shapes() {
        // Turned by a right angle it reaches from 0.5 to 1.5 and from -1 to 1.
        let rectangle =
            obstacle("shape = \"rectangle\"\ncentre = [1.0, 0.0]\nsize = [2.0, 1.0]\nangle = 90.0");
        assert!((rectangle.distance([2.0, 0.0]) - 0.5).abs() < 1e-15);
        assert!((rectangle.distance([1.0, 0.0]) + 0.5).abs() < 1e-15);
        assert!((rectangle.distance([1.8, 1.4]) - 0.5).abs() < 1e-12);
        assert_eq!(rectangle.corners().len(), 4);
        let hollow = obstacle("shape = \"circle\"\nradius = 1.0\nhollow = true");
        assert!((hollow.distance([0.0, 0.25]) - 0.75).abs() < 1e-15);
    }
}
