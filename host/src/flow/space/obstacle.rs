//! Bodies as signed distances, positive in the gas.

use super::nearest::{Extent, Tree};
use crate::flow::level::Level;
use crate::flow::outline::{Outline, edges};
use crate::flow::{Body, Shape};

/// The sine of the least turn between two edges of a polygon that counts as a corner.
const CORNER_TURN: f64 = 0.3;

/// Parts and corners of a body up to which lines of the grid follow them.
const MOST_PARTS: usize = 32;
const MOST_CORNERS: usize = 256;

/// A body as the grid sees it: parts with smooth walls or corners, and what is made of them.
#[derive(Clone, Debug)]
pub(in crate::flow) struct Obstacle {
    parts: Vec<Part>,
    whole: Whole,
    hollow: bool,
    /// Points with sharp turns of the outlines.
    corners: Vec<[f64; 2]>,
    /// The point that moments and rotation refer to.
    pub(in crate::flow) centre: [f64; 2],
}

/// A shape of parts.
#[derive(Clone, Debug)]
pub(in crate::flow) enum Whole {
    /// One part, by its number.
    Part(usize),
    /// All of several.
    Union(Vec<Self>),
    /// The first of several without the others.
    Difference(Vec<Self>),
}

/// A shape of its own.
#[derive(Clone, Debug)]
enum Part {
    /// All points in any of the circles.
    Circles(Vec<([f64; 2], f64)>, Tree<2>),
    /// All points within an odd number of closed curves, by their edges.
    Polygons(Vec<[[f64; 2]; 2]>, Tree<2>),
    Level(Level),
}

impl Obstacle {
    /// The obstacle that a body is.
    pub(in crate::flow) fn new(body: &Body) -> Self {
        Self {
            hollow: body.hollow,
            ..Self::of(&body.shape)
        }
    }

    /// The obstacle of a shape with the gas around it.
    pub(in crate::flow) fn of(shape: &Shape) -> Self {
        let mut parts = Vec::new();
        let whole = Whole::new(shape, &mut |shape| {
            let is_whole = !matches!(shape, Shape::Union { .. } | Shape::Difference { .. });
            is_whole.then(|| {
                parts.push(Part::new(shape.outlines()));
                parts.len() - 1
            })
        });
        Self {
            parts,
            whole,
            hollow: false,
            corners: shape.outlines().iter().flat_map(corners).collect(),
            centre: shape.centre(),
        }
    }

    /// Whether its distance changes by no more than the distance of two points; that of samples may.
    pub(in crate::flow) fn is_exact(&self) -> bool {
        !self.parts.iter().any(|part| matches!(part, Part::Level(_)))
    }

    /// Distance from the wall, positive in the gas.
    pub(in crate::flow) fn distance(&self, point: [f64; 2]) -> f64 {
        let outside = self.whole.distance(&|part| self.distance_of(part, point));
        if self.hollow { -outside } else { outside }
    }

    /// Distance from the wall of a part, positive outside of it.
    fn distance_of(&self, part: usize, point: [f64; 2]) -> f64 {
        self.parts[part].distance(point)
    }

    /// Points with sharp turns of the outline.
    pub(in crate::flow) fn corners(&self) -> &[[f64; 2]] {
        &self.corners
    }

    /// Lines that a grid should follow: corners and extreme points; none for many curves.
    pub(in crate::flow) fn lines(&self) -> [Vec<f64>; 2] {
        if self.parts.len() > MOST_PARTS || self.corners.len() > MOST_CORNERS {
            return [Vec::new(), Vec::new()];
        }
        [0, 1].map(|axis| {
            let mut lines: Vec<f64> = self.corners.iter().map(|corner| corner[axis]).collect();
            for part in &self.parts {
                lines.extend(part.ends(axis));
            }
            lines
        })
    }
}

impl Whole {
    /// The parts of a shape. `part` makes one and returns its number, or nothing where the shape is to be taken apart.
    pub(in crate::flow) fn new(
        shape: &Shape,
        part: &mut impl FnMut(&Shape) -> Option<usize>,
    ) -> Self {
        if let Some(number) = part(shape) {
            return Self::Part(number);
        }
        let mut all = |of: &[Shape]| of.iter().map(|shape| Self::new(shape, part)).collect();
        match shape {
            Shape::Difference { of } => Self::Difference(all(of)),
            Shape::Union { of } => Self::Union(all(of)),
            _ => Self::Union(Vec::new()),
        }
    }

    /// Distance from the wall by the distances of the parts, positive outside.
    pub(in crate::flow) fn distance(&self, of_part: &impl Fn(usize) -> f64) -> f64 {
        let least = |of: &[Self]| {
            let distances = of.iter().map(|whole| whole.distance(of_part));
            distances.fold(f64::INFINITY, f64::min)
        };
        match self {
            Self::Part(part) => of_part(*part),
            Self::Union(of) => least(of),
            Self::Difference(of) => match &of[..] {
                [first, others @ ..] => first.distance(of_part).max(-least(others)),
                [] => f64::INFINITY,
            },
        }
    }
}

impl Part {
    /// The part that outlines of one kind make.
    fn new(outlines: Vec<Outline>) -> Self {
        let mut circles = Vec::new();
        let mut lines = Vec::new();
        for outline in outlines {
            match outline {
                Outline::Level(level) => return Self::Level(level),
                Outline::Circle(centre, radius) => circles.push((centre, radius)),
                Outline::Polygon(points) => lines.extend(edges(&points).map(|(a, b)| [a, b])),
            }
        }
        if !circles.is_empty() {
            let extent = |&([x, y], r): &([f64; 2], f64)| ([[x - r, y - r], [x + r, y + r]], r);
            let extents: Vec<Extent<2>> = circles.iter().map(extent).collect();
            return Self::Circles(circles, Tree::new(&extents));
        }
        let extent = |[a, b]: &[[f64; 2]; 2]| {
            let low = [a[0].min(b[0]), a[1].min(b[1])];
            ([low, [a[0].max(b[0]), a[1].max(b[1])]], 0.0)
        };
        let extents: Vec<Extent<2>> = lines.iter().map(extent).collect();
        Self::Polygons(lines, Tree::new(&extents))
    }

    /// Distance of a point, negative inside.
    fn distance(&self, point: [f64; 2]) -> f64 {
        let [x, y] = point;
        match self {
            Self::Level(level) => level.distance(point),
            Self::Circles(circles, tree) => tree.least(point, |k| {
                let ([a, b], radius) = circles[k];
                (x - a).hypot(y - b) - radius
            }),
            Self::Polygons(lines, tree) => {
                let away = |k: usize| {
                    let [[x1, y1], [x2, y2]] = lines[k];
                    let (ex, ey) = (x2 - x1, y2 - y1);
                    let along = (x - x1) * ex + (y - y1) * ey;
                    let share = match ex * ex + ey * ey {
                        0.0 => 0.0,
                        square => (along / square).clamp(0.0, 1.0),
                    };
                    let (dx, dy) = (x - x1 - share * ex, y - y1 - share * ey);
                    (dx * dx + dy * dy).sqrt()
                };
                let least = tree.least(point, away);
                let mut inside = false;
                tree.along_ray(point, |k| {
                    let [[x1, y1], [x2, y2]] = lines[k];
                    if (y1 > y) != (y2 > y) && x < (x2 - x1) * (y - y1) / (y2 - y1) + x1 {
                        inside = !inside;
                    }
                });
                if inside { -least } else { least }
            }
        }
    }

    /// Extreme coordinates along an axis of one curve; none of many.
    fn ends(&self, axis: usize) -> Vec<f64> {
        match self {
            Self::Circles(circles, _) => match circles[..] {
                [(centre, radius)] => vec![centre[axis] - radius, centre[axis] + radius],
                _ => Vec::new(),
            },
            Self::Polygons(lines, _) => {
                let along = lines.iter().map(|[a, _]| a[axis]);
                let low = along.clone().fold(f64::INFINITY, f64::min);
                vec![low, along.fold(f64::NEG_INFINITY, f64::max)]
            }
            Self::Level(_) => Vec::new(),
        }
    }
}

/// Points with sharp turns of an outline.
fn corners(outline: &Outline) -> Vec<[f64; 2]> {
    let Outline::Polygon(points) = outline else {
        return Vec::new();
    };
    let mut corners = Vec::new();
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
    corners
}

/// A part of a body.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(in crate::flow) struct PartOf {
    pub(in crate::flow) body: usize,
    part: usize,
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

    /// The body and its part whose wall is nearest.
    pub(in crate::flow) fn nearest(&self, point: [f64; 2]) -> PartOf {
        let bodies = self.obstacles.iter().enumerate();
        let all = bodies.flat_map(|(body, obstacle)| {
            (0..obstacle.parts.len()).map(move |part| PartOf { body, part })
        });
        let away = |of: &PartOf| self.distance_of_part(*of, point).abs();
        all.min_by(|a, b| away(a).total_cmp(&away(b)))
            .unwrap_or(PartOf { body: 0, part: 0 })
    }

    /// Distance from one part of a body and its images, positive outside of it.
    pub(in crate::flow) fn distance_of_part(&self, of: PartOf, [x, y]: [f64; 2]) -> f64 {
        let obstacle = &self.obstacles[of.body];
        let images = self.shifts.iter();
        let least = images
            .map(|[a, b]| obstacle.distance_of(of.part, [x - a, y - b]))
            .fold(f64::INFINITY, f64::min);
        if obstacle.hollow { -least } else { least }
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
        // A ring of which a quarter is missing.
        let ring = obstacle(
            "shape = \"difference\"
            of = [
                { shape = \"circle\", radius = 2.0 },
                { shape = \"circle\", radius = 1.0 },
                { shape = \"rectangle\", centre = [2.0, 2.0], size = [4.0, 4.0] },
            ]",
        );
        for (point, distance) in [
            ([-1.5, 0.0], -0.5),
            ([0.0, -2.5], 0.5),
            ([0.0, 0.0], 1.0),
            ([1.0, 1.0], 1.0),
        ] {
            let found = ring.distance(point);
            assert!((found - distance).abs() < 1e-12, "{point:?}: {found}");
        }
        let both = obstacle(
            "shape = \"union\"
            of = [{ shape = \"circle\", radius = 1.0 }, { shape = \"rectangle\", centre = [1.0, 0.0], size = [2.0, 0.5] }]",
        );
        assert!((both.distance([3.0, 0.0]) - 1.0).abs() < 1e-12 && both.distance([1.5, 0.0]) < 0.0);
        assert!((both.distance([0.0, -2.0]) - 1.0).abs() < 1e-12);
    }
}
