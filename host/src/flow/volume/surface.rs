//! A closed surface of triangles as a signed distance.
//!
//! The distance is that of the nearest triangle. The sign is that of the normal at the nearest point: of the triangle, or at an edge the sum of both normals, or at a corner
//! the sum of all normals by the angles of their triangles there (J. A. Baerentzen, H. Aanaes 2005).

use std::collections::HashMap;
use std::sync::Arc;

use super::vector::{cross, dot, minus, norm, plus};
use crate::flow::mesh::{Edge, Mesh, Vertex, edges};
use crate::flow::space::{Extent, Tree};

/// A triangle whose height is below this share of its longest edge has no normal.
const FLAT: f64 = 1e-12;

/// Share of the surface that lies in one plane across an axis, from which on a grid should follow that plane.
const SIDE: f64 = 0.01;

/// The surface.
#[derive(Clone)]
pub(in crate::flow) struct Surface(Arc<Inner>);

struct Inner {
    points: Vec<[f64; 3]>,
    faces: Vec<Face>,
    /// Sums of the normals of the triangles at each corner, by their angles there.
    at_points: Vec<[f64; 3]>,
    tree: Tree<3>,
    bounds: [[f64; 3]; 2],
    centre: [f64; 3],
    /// Places of flat sides across each axis.
    sides: [Vec<f64>; 3],
    is_along_axes: bool,
}

/// A triangle.
struct Face {
    corners: [usize; 3],
    normal: [f64; 3],
    /// Sums of the normals of the triangles at each edge; the first edge goes from the first corner to the second.
    at_edges: [[f64; 3]; 3],
}

/// The part of a triangle next to a point.
enum Part {
    Inside,
    Edge(usize),
    Corner(usize),
}

impl Surface {
    /// The surface of triangles in units of a file, whose zero lies at an origin.
    ///
    /// # Errors
    /// One line: an edge at which the surface is not closed or turns inside out, or triangles around no volume.
    pub(in crate::flow) fn new(
        triangles: &[[Vertex; 3]],
        scale: f64,
        origin: [f64; 3],
    ) -> Result<Self, String> {
        let mesh = Mesh::closed(triangles)?;
        mesh.check_oriented()?;
        let place = |vertex: &Vertex| plus(origin, scale, vertex.map(f64::from));
        let points: Vec<[f64; 3]> = mesh.vertices.iter().map(place).collect();
        let (volume, centre) = volume_and_centre(&points, &mesh.faces);
        let bounds = bounds(&points);
        let size = norm(minus(bounds[1], bounds[0]));
        if volume.abs() < FLAT * size.powi(3) {
            return Err("the triangles enclose no volume".to_owned());
        }
        let outwards = mesh.faces.iter().map(|&[a, b, c]| match volume > 0.0 {
            true => [a, b, c],
            // Corners that go round clockwise as seen from outside.
            false => [a, c, b],
        });
        let faces: Vec<Face> = outwards
            .filter_map(|face| Face::new(face, &points))
            .collect();
        let mut inner = Inner {
            tree: Tree::new(
                &faces
                    .iter()
                    .map(|face| face.extent(&points))
                    .collect::<Vec<_>>(),
            ),
            at_points: vec![[0.0; 3]; points.len()],
            sides: sides(&points, &faces),
            is_along_axes: faces.iter().all(|face| face.axis(&points).is_some()),
            points,
            faces,
            bounds,
            centre,
        };
        inner.sum_normals();
        Ok(Self(Arc::new(inner)))
    }

    /// Distance of a point, negative inside.
    pub(in crate::flow) fn distance(&self, point: [f64; 3]) -> f64 {
        let inner = &*self.0;
        let away = |face: usize| inner.faces[face].nearest(point, &inner.points).0;
        let Some((face, least)) = inner.tree.nearest(point, away) else {
            return f64::INFINITY;
        };
        let face = &inner.faces[face];
        let (_, part, on) = face.nearest(point, &inner.points);
        let normal = match part {
            Part::Inside => face.normal,
            Part::Edge(k) => face.at_edges[k],
            Part::Corner(k) => inner.at_points[face.corners[k]],
        };
        least.copysign(dot(minus(point, on), normal))
    }

    /// Least and greatest coordinates.
    pub(in crate::flow) fn bounds(&self) -> [[f64; 3]; 2] {
        self.0.bounds
    }

    /// Centroid of the volume inside.
    pub(in crate::flow) fn centre(&self) -> [f64; 3] {
        self.0.centre
    }

    /// Places of flat sides across each axis.
    pub(in crate::flow) fn sides(&self) -> &[Vec<f64>; 3] {
        &self.0.sides
    }

    /// Whether all triangles lie across axes.
    pub(in crate::flow) fn is_along_axes(&self) -> bool {
        self.0.is_along_axes
    }
}

impl PartialEq for Surface {
    fn eq(&self, other: &Self) -> bool {
        let corners =
            |of: &Self| -> Vec<[usize; 3]> { of.0.faces.iter().map(|face| face.corners).collect() };
        self.0.points == other.0.points && corners(self) == corners(other)
    }
}

impl std::fmt::Debug for Surface {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "Surface[{}]", self.0.faces.len())
    }
}

impl Inner {
    /// Sums of normals at the edges and corners.
    fn sum_normals(&mut self) {
        let mut at_edges: HashMap<Edge, [f64; 3]> = HashMap::new();
        for face in &self.faces {
            for edge in edges(&face.corners) {
                let sum = at_edges.entry(edge).or_default();
                *sum = plus(*sum, 1.0, face.normal);
            }
            for k in 0..3 {
                let [here, next, last] =
                    [k, k + 1, k + 2].map(|k| self.points[face.corners[k % 3]]);
                let (a, b) = (minus(next, here), minus(last, here));
                let angle = norm(cross(a, b)).atan2(dot(a, b));
                let sum = &mut self.at_points[face.corners[k]];
                *sum = plus(*sum, angle, face.normal);
            }
        }
        for face in &mut self.faces {
            face.at_edges = edges(&face.corners).map(|edge| at_edges[&edge]);
        }
    }
}

impl Face {
    /// A triangle with its normal; none without a height.
    fn new(corners: [usize; 3], points: &[[f64; 3]]) -> Option<Self> {
        let [a, b, c] = corners.map(|k| points[k]);
        let [d, e, f] = [minus(b, a), minus(c, b), minus(a, c)];
        let twice = cross(d, e);
        let area = norm(twice);
        let longest = norm(d).max(norm(e)).max(norm(f));
        (area > FLAT * longest * longest).then(|| Self {
            corners,
            normal: twice.map(|x| x / area),
            at_edges: [[0.0; 3]; 3],
        })
    }

    fn extent(&self, points: &[[f64; 3]]) -> Extent<3> {
        (bounds(&self.corners.map(|k| points[k])), 0.0)
    }

    /// The axis that it lies across.
    fn axis(&self, points: &[[f64; 3]]) -> Option<usize> {
        let [a, b, c] = self.corners.map(|k| points[k]);
        (0..3).find(|&axis| a[axis] == b[axis] && b[axis] == c[axis])
    }

    fn area(&self, points: &[[f64; 3]]) -> f64 {
        let [a, b, c] = self.corners.map(|k| points[k]);
        0.5 * norm(cross(minus(b, a), minus(c, a)))
    }

    /// Distance of a point, the part of the triangle next to it, and the point there.
    fn nearest(&self, point: [f64; 3], points: &[[f64; 3]]) -> (f64, Part, [f64; 3]) {
        let corners = self.corners.map(|k| points[k]);
        let mut is_inside = true;
        let mut best = (f64::INFINITY, Part::Inside, point);
        for k in 0..3 {
            let (a, b) = (corners[k], corners[(k + 1) % 3]);
            let (edge, from) = (minus(b, a), minus(point, a));
            // Within the triangle a point is on the inner side of all edges.
            if dot(cross(self.normal, edge), from) >= 0.0 {
                continue;
            }
            is_inside = false;
            let share = dot(edge, from) / dot(edge, edge);
            let (part, on) = match share {
                s if s <= 0.0 => (Part::Corner(k), a),
                s if s >= 1.0 => (Part::Corner((k + 1) % 3), b),
                s => (Part::Edge(k), plus(a, s, edge)),
            };
            let away = norm(minus(point, on));
            if away < best.0 {
                best = (away, part, on);
            }
        }
        if is_inside {
            let height = dot(minus(point, corners[0]), self.normal);
            return (
                height.abs(),
                Part::Inside,
                plus(point, -height, self.normal),
            );
        }
        best
    }
}

/// Least and greatest coordinates.
fn bounds(points: &[[f64; 3]]) -> [[f64; 3]; 2] {
    let mut bounds = [[f64::INFINITY; 3], [f64::NEG_INFINITY; 3]];
    for point in points {
        for axis in 0..3 {
            bounds[0][axis] = bounds[0][axis].min(point[axis]);
            bounds[1][axis] = bounds[1][axis].max(point[axis]);
        }
    }
    bounds
}

/// Volume inside of triangles, positive where their corners go round anticlockwise as seen from outside, and its centroid.
fn volume_and_centre(points: &[[f64; 3]], faces: &[[usize; 3]]) -> (f64, [f64; 3]) {
    let origin = points[faces[0][0]];
    let (mut volume, mut moment) = (0.0, [0.0; 3]);
    for face in faces {
        let [a, b, c] = face.map(|k| minus(points[k], origin));
        let part = dot(a, cross(b, c)) / 6.0;
        volume += part;
        moment = plus(moment, 0.25 * part, plus(plus(a, 1.0, b), 1.0, c));
    }
    (volume, plus(origin, 1.0 / volume, moment))
}

/// Places of flat sides across each axis that hold a good share of the surface.
fn sides(points: &[[f64; 3]], faces: &[Face]) -> [Vec<f64>; 3] {
    let mut areas = [(); 3].map(|()| HashMap::<u64, f64>::new());
    let mut whole = 0.0;
    for face in faces {
        let area = face.area(points);
        whole += area;
        if let Some(axis) = face.axis(points) {
            let place = points[face.corners[0]][axis];
            *areas[axis].entry(place.to_bits()).or_default() += area;
        }
    }
    areas.map(|areas| {
        let large = areas.into_iter().filter(|(_, area)| *area > SIDE * whole);
        let mut places: Vec<f64> = large.map(|(bits, _)| f64::from_bits(bits)).collect();
        places.sort_by(f64::total_cmp);
        places
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::flow::section::tests::cuboid;

    #[test]
    fn distances_of_a_box_are_those_of_its_faces_edges_and_corners() {
        let mut triangles = cuboid([0.0; 3], [1.0, 2.0, 3.0]);
        for _ in 0..2 {
            let surface = Surface::new(&triangles, 1.0, [0.5, 0.0, 0.0]).expect("a box");
            for (point, distance) in [
                ([1.0, 1.0, 1.5], -0.5),
                ([1.3, 1.1, 2.9], -0.1),
                ([2.0, 0.5, 0.5], 0.5),
                ([1.8, 2.4, 1.0], 0.5),
                ([0.3, -0.1, 3.2], 0.3),
                ([0.5, 0.0, 0.0], 0.0),
            ] {
                let found = surface.distance(point);
                assert!((found - distance).abs() < 1e-14, "{point:?}: {found}");
            }
            let centre = surface.centre();
            assert!(norm(minus(centre, [1.0, 1.0, 1.5])) < 1e-14, "{centre:?}");
            assert_eq!(surface.sides()[2], [0.0, 3.0]);
            assert!(surface.is_along_axes());
            // The same inside out is turned.
            triangles
                .iter_mut()
                .for_each(|triangle| triangle.swap(0, 1));
        }
    }

    #[test]
    fn surfaces_without_volume_are_refused() {
        let mut flat = vec![[[0.0; 3], [1.0, 0.0, 0.0], [0.0, 1.0, 0.0]]; 2];
        flat[1].swap(0, 1);
        let error = Surface::new(&flat, 1.0, [0.0; 3]).expect_err("flat");
        assert!(error.contains("no volume"), "{error}");
        let mut open = cuboid([0.0; 3], [1.0; 3]);
        open.pop();
        let error = Surface::new(&open, 1.0, [0.0; 3]).expect_err("open");
        assert!(error.contains("is not closed: the edge from"), "{error}");
    }
}
