//! Bodies in space as signed distances, positive in the gas.

use crate::flow::outline::sin_cos;
use crate::flow::space::{Obstacle, Whole};
use crate::flow::volume::vector::{cross, dot, minus, norm, plus};
use crate::flow::volume::{Surface, VoxelWall};
use crate::flow::{Body, Shape};

/// Parts of a body up to which lines of the grid follow them.
const MOST_PARTS: usize = 32;

/// A body as the grid sees it: parts, and what is made of them.
#[derive(Clone, Debug)]
pub(in crate::flow) struct Solid {
    parts: Vec<Part>,
    whole: Whole,
    hollow: bool,
    /// Box outside of which its distance is at least that from the box.
    bounds: Option<[[f64; 3]; 2]>,
    /// The point that moments and rotation refer to.
    pub(in crate::flow) centre: [f64; 3],
}

/// A shape of its own.
#[derive(Clone, Debug)]
enum Part {
    /// A shape of the plane, which goes on along z without end.
    Plane(Obstacle),
    Sphere([f64; 3], f64),
    Block(Block),
    Frustum(Frustum),
    Surface(Surface),
    Voxels(VoxelWall),
    /// A file that holds nothing.
    Nothing,
}

/// A box, turned about z.
#[derive(Clone, Debug)]
struct Block {
    centre: [f64; 3],
    half: [f64; 3],
    sin: f64,
    cos: f64,
}

/// A cylinder or a cone: round about an axis, between two discs.
#[derive(Clone, Debug)]
struct Frustum {
    /// Middle of the first disc.
    base: [f64; 3],
    /// Unit vector from the first disc to the second.
    axis: [f64; 3],
    length: f64,
    radii: [f64; 2],
    bounds: [[f64; 3]; 2],
}

impl Solid {
    /// The solid that a body is.
    pub(in crate::flow) fn new(body: &Body) -> Self {
        let mut parts = Vec::new();
        let whole = Whole::new(&body.shape, &mut |shape| {
            parts.push(Part::new(shape)?);
            Some(parts.len() - 1)
        });
        let mut solid = Self {
            parts,
            whole,
            hollow: body.hollow,
            bounds: None,
            centre: body.shape.centre_in_space(),
        };
        if solid.is_exact() && !solid.hollow {
            solid.bounds = Some(body.bounds_in_space());
        }
        solid
    }

    /// A lower bound of the distance of a point.
    fn at_least(&self, point: [f64; 3]) -> f64 {
        let Some([low, high]) = self.bounds else {
            return f64::NEG_INFINITY;
        };
        let off = [0, 1, 2].map(|k| (low[k] - point[k]).max(point[k] - high[k]).max(0.0));
        match off {
            [0.0, 0.0, 0.0] => f64::NEG_INFINITY,
            // Roundoff leaves the nearest body in.
            _ => norm(off) * (1.0 - 1e-9) - 1e-300,
        }
    }

    /// Distance from the wall, positive in the gas.
    pub(in crate::flow) fn distance(&self, point: [f64; 3]) -> f64 {
        let outside = self
            .whole
            .distance(&|part: usize| self.parts[part].distance(point));
        if self.hollow { -outside } else { outside }
    }

    /// Whether its distance changes by no more than the distance of two points; that of samples may.
    pub(in crate::flow) fn is_exact(&self) -> bool {
        self.parts.iter().all(|part| match part {
            Part::Plane(obstacle) => obstacle.is_exact(),
            Part::Voxels(_) => false,
            _ => true,
        })
    }

    /// Lines that a grid should follow along x, y and z: ends, flat sides and corners; none of many parts.
    pub(in crate::flow) fn lines(&self) -> [Vec<f64>; 3] {
        let mut lines = [Vec::new(), Vec::new(), Vec::new()];
        if self.parts.len() > MOST_PARTS {
            return lines;
        }
        for part in &self.parts {
            for (all, more) in lines.iter_mut().zip(part.lines()) {
                all.extend(more);
            }
        }
        lines
    }
}

impl Part {
    /// The part that a shape is; none where it is made of several.
    fn new(shape: &Shape) -> Option<Self> {
        if shape.is_plane() {
            return Some(Self::Plane(Obstacle::of(shape)));
        }
        Some(match shape {
            Shape::Sphere { centre, radius } => Self::Sphere(*centre, *radius),
            Shape::Box {
                centre,
                size,
                angle,
            } => {
                let (sin, cos) = sin_cos(*angle);
                Self::Block(Block {
                    centre: *centre,
                    half: size.map(|side| 0.5 * side),
                    sin,
                    cos,
                })
            }
            Shape::Cylinder { ends, radius } => {
                Self::Frustum(Frustum::new(*ends, [*radius; 2], shape.bounds_in_space()))
            }
            Shape::Cone { ends, radii } => {
                Self::Frustum(Frustum::new(*ends, *radii, shape.bounds_in_space()))
            }
            Shape::Stl(stl) => stl.surface.clone().map_or(Self::Nothing, Self::Surface),
            Shape::Voxels(voxels) => voxels.wall.clone().map_or(Self::Nothing, Self::Voxels),
            _ => return None,
        })
    }

    /// Distance of a point, negative inside.
    fn distance(&self, point: [f64; 3]) -> f64 {
        match self {
            Self::Plane(obstacle) => obstacle.distance([point[0], point[1]]),
            Self::Sphere(centre, radius) => norm(minus(point, *centre)) - radius,
            Self::Block(block) => block.distance(point),
            Self::Frustum(frustum) => frustum.distance(point),
            Self::Surface(surface) => surface.distance(point),
            Self::Voxels(wall) => wall.distance(point),
            Self::Nothing => f64::INFINITY,
        }
    }

    /// Ends, flat sides and corners along each axis.
    fn lines(&self) -> [Vec<f64>; 3] {
        let ends = |[low, high]: [[f64; 3]; 2]| [0, 1, 2].map(|k| vec![low[k], high[k]]);
        match self {
            Self::Plane(obstacle) => {
                let [x, y] = obstacle.lines();
                [x, y, Vec::new()]
            }
            Self::Sphere(centre, radius) => {
                ends([-1.0, 1.0].map(|side| plus(*centre, side, [*radius; 3])))
            }
            Self::Block(block) => block.lines(),
            Self::Frustum(frustum) => ends(frustum.bounds),
            Self::Surface(surface) => {
                let mut lines = ends(surface.bounds());
                for (all, more) in lines.iter_mut().zip(surface.sides()) {
                    all.extend(more);
                }
                lines
            }
            Self::Voxels(_) | Self::Nothing => [Vec::new(), Vec::new(), Vec::new()],
        }
    }
}

impl Block {
    fn distance(&self, point: [f64; 3]) -> f64 {
        let [x, y, z] = minus(point, self.centre);
        let own = [self.cos * x + self.sin * y, self.cos * y - self.sin * x, z];
        let off = [0, 1, 2].map(|k| own[k].abs() - self.half[k]);
        match off[0].max(off[1]).max(off[2]) {
            inside if inside <= 0.0 => inside,
            _ => norm(off.map(|x| x.max(0.0))),
        }
    }

    fn lines(&self) -> [Vec<f64>; 3] {
        let [a, b, c] = self.half;
        let corners = [[-a, -b], [a, -b], [a, b], [-a, b]];
        let (sin, cos) = (self.sin, self.cos);
        let [x, y, z] = self.centre;
        [
            corners.map(|[a, b]| x + cos * a - sin * b).to_vec(),
            corners.map(|[a, b]| y + sin * a + cos * b).to_vec(),
            vec![z - c, z + c],
        ]
    }
}

impl Frustum {
    fn new([a, b]: [[f64; 3]; 2], radii: [f64; 2], bounds: [[f64; 3]; 2]) -> Self {
        let along = minus(b, a);
        let length = norm(along);
        Self {
            base: a,
            axis: along.map(|x| x / length),
            length,
            radii,
            bounds,
        }
    }

    /// In the half plane of the axis and the point, the distance from the three lines of the outline.
    fn distance(&self, point: [f64; 3]) -> f64 {
        let from = minus(point, self.base);
        let along = dot(from, self.axis);
        let off = norm(cross(from, self.axis));
        let [a, b] = self.radii;
        // The discs.
        let beyond = |along: f64, radius: f64| along.hypot((off - radius).max(0.0));
        let discs = beyond(along, a).min(beyond(along - self.length, b));
        // The side.
        let slope = [self.length, b - a];
        let long = slope[0].hypot(slope[1]);
        let share = (along * slope[0] + (off - a) * slope[1]) / (long * long);
        let height = ((off - a) * slope[0] - along * slope[1]) / long;
        let side = match share {
            s if s < 0.0 => along.hypot(off - a),
            s if s > 1.0 => (along - self.length).hypot(off - b),
            _ => height.abs(),
        };
        let is_inside = along > 0.0 && along < self.length && height < 0.0;
        let least = discs.min(side);
        if is_inside { -least } else { least }
    }
}

/// All bodies of a case with their periodic images.
#[derive(Clone, Debug)]
pub(in crate::flow) struct Solids {
    pub(in crate::flow) solids: Vec<Solid>,
    /// Displacements of the images, the body itself included.
    pub(in crate::flow) shifts: Vec<[f64; 3]>,
}

impl Solids {
    /// Distance from one body and its images.
    pub(in crate::flow) fn distance_of(&self, body: usize, point: [f64; 3]) -> f64 {
        self.lower(f64::INFINITY, body, point)
    }

    /// Distance from the nearest wall, positive in the gas; infinite without bodies.
    pub(in crate::flow) fn distance(&self, point: [f64; 3]) -> f64 {
        let bodies = 0..self.solids.len();
        bodies.fold(f64::INFINITY, |least, body| self.lower(least, body, point))
    }

    /// The lesser of a distance and that from one body and its images, of which those that are too far away are left out.
    fn lower(&self, least: f64, body: usize, point: [f64; 3]) -> f64 {
        let solid = &self.solids[body];
        self.shifts.iter().fold(least, |least, shift| {
            let point = minus(point, *shift);
            match solid.at_least(point) < least {
                true => least.min(solid.distance(point)),
                false => least,
            }
        })
    }

    /// The body whose wall is nearest.
    pub(in crate::flow) fn nearest_body(&self, point: [f64; 3]) -> usize {
        let bodies = self.solids.len();
        if bodies == 1 {
            return 0;
        }
        let away = |body: usize| self.distance_of(body, point).abs();
        let all = (0..bodies).map(|body| (body, away(body)));
        all.min_by(|a, b| a.1.total_cmp(&b.1))
            .map_or(0, |(body, _)| body)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn solid(text: &str) -> Solid {
        Solid::new(&toml::from_str(text).expect("a body"))
    }

    /// Checks distances at points.
    fn check(solid: &Solid, distances: &[([f64; 3], f64)]) {
        for &(point, distance) in distances {
            let found = solid.distance(point);
            assert!((found - distance).abs() < 1e-12, "{point:?}: {found}");
        }
    }

    #[test]
    fn distances_are_those_of_the_solids() {
        let turned =
            "shape = \"box\"\ncentre = [1.0, 0.0, 0.0]\nsize = [2.0, 1.0, 4.0]\nangle = 90.0";
        check(
            &solid(turned),
            &[
                ([1.0, 0.0, 0.0], -0.5),
                ([2.0, 0.0, 1.0], 0.5),
                ([1.8, 1.4, 1.0], 0.5),
                ([1.8, 1.0, 2.4], 0.5),
            ],
        );
        let cylinder =
            "shape = \"cylinder\"\nends = [[0.0, 0.0, 0.0], [2.0, 0.0, 0.0]]\nradius = 0.5";
        check(
            &solid(cylinder),
            &[
                ([1.0, 0.1, 0.0], -0.4),
                ([0.1, 0.0, 0.1], -0.1),
                ([1.0, 0.0, 1.0], 0.5),
                ([2.3, 0.0, 0.9], 0.5),
                ([-1.0, 0.2, 0.2], 1.0),
            ],
        );
        let hollow = "shape = \"sphere\"\nradius = 1.0\nhollow = true";
        check(
            &solid(hollow),
            &[([0.0, 0.0, 0.25], 0.75), ([2.0, 0.0, 0.0], -1.0)],
        );
    }

    #[test]
    fn a_cone_has_a_tip_and_a_slanted_side() {
        // The side falls by 3 on 4, from the radius 3 to the tip.
        let cone =
            "shape = \"cone\"\nends = [[0.0, 0.0, 0.0], [0.0, 0.0, 4.0]]\nradii = [3.0, 0.0]";
        check(
            &solid(cone),
            &[
                ([0.0, 0.0, 5.0], 1.0),
                ([1.5 + 0.8, 0.0, 2.0 + 0.6], 1.0),
                ([1.5 - 0.4, 0.0, 2.0 - 0.3], -0.5),
                ([0.0, 1.0, 0.2], -0.2),
                ([0.0, 1.0, -0.5], 0.5),
                ([0.0, 4.0, -1.0], 2.0_f64.sqrt()),
            ],
        );
    }

    #[test]
    fn shapes_of_the_plane_join_those_of_space() {
        // A plate with a round hole through it, and a ball in the hole.
        let plate = solid(
            "shape = \"union\"
            of = [
                { shape = \"difference\", of = [
                    { shape = \"box\", size = [4.0, 4.0, 1.0] },
                    { shape = \"circle\", radius = 1.0 },
                ] },
                { shape = \"sphere\", radius = 0.5 },
            ]",
        );
        check(
            &plate,
            &[
                ([0.0, 0.0, 0.0], -0.5),
                ([0.75, 0.0, 0.0], 0.25),
                ([1.5, 0.0, 0.0], -0.5),
                ([0.0, 0.0, 3.0], 2.5),
            ],
        );
        assert_eq!(plate.lines()[2], [-0.5, 0.5, -0.5, 0.5]);
    }
}
