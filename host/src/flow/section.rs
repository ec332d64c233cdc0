//! The section of a closed surface of triangles by a plane across z.
//!
//! A corner on the plane counts as above it. So each edge of the surface crosses the plane once or not at all, and the pieces of the triangles join
//! at the edges to closed curves, without a comparison of places.

use std::collections::HashMap;

pub(super) use super::mesh::Vertex;
use super::mesh::{Edge, Mesh, edges};

/// The closed curves in which a surface meets the plane, in units of the surface; without a plane the one at half its height.
///
/// # Errors
/// One line: an edge that does not belong to two triangles, or a plane that misses the surface.
pub(super) fn curves(
    triangles: &[[Vertex; 3]],
    z: Option<f64>,
) -> Result<Vec<Vec<[f64; 2]>>, String> {
    let Mesh { vertices, faces } = Mesh::closed(triangles)?;
    let heights = || vertices.iter().map(|vertex| f64::from(vertex[2]));
    let low = heights().fold(f64::INFINITY, f64::min);
    let high = heights().fold(f64::NEG_INFINITY, f64::max);
    let z = z.unwrap_or(0.5 * (low + high));
    let above = |k: usize| f64::from(vertices[k][2]) >= z;
    // The crossed edges of each crossed triangle, two of three.
    let mut joined: HashMap<Edge, Vec<(Edge, usize)>> = HashMap::new();
    let mut pieces = 0;
    let mut order = Vec::new();
    for face in &faces {
        let crossed: Vec<Edge> = edges(face)
            .into_iter()
            .filter(|&(a, b)| above(a) != above(b))
            .collect();
        if let [a, b] = crossed[..] {
            joined.entry(a).or_default().push((b, pieces));
            joined.entry(b).or_default().push((a, pieces));
            order.push(a);
            pieces += 1;
        }
    }
    if pieces == 0 {
        return Err(format!(
            "the plane z = {z} does not cut the surface; expected z between {low} and {high}, where it is"
        ));
    }
    let point = |(a, b): Edge| {
        let [p, q] = [vertices[a], vertices[b]].map(|v| v.map(f64::from));
        let t = (z - p[2]) / (q[2] - p[2]);
        [p[0] + t * (q[0] - p[0]), p[1] + t * (q[1] - p[1])]
    };
    let mut used = vec![false; pieces];
    let mut curves = Vec::new();
    for first in order {
        let mut curve: Vec<[f64; 2]> = Vec::new();
        let mut at = first;
        while let Some(&(next, piece)) = joined
            .get(&at)
            .and_then(|next| next.iter().find(|(_, piece)| !used[*piece]))
        {
            used[piece] = true;
            let here = point(at);
            if curve.last() != Some(&here) {
                curve.push(here);
            }
            at = next;
        }
        if curve.len() > 1 && curve.first() == curve.last() {
            curve.pop();
        }
        // A surface that only touches the plane leaves points and lines.
        if curve.len() > 2 {
            curves.push(without_straight(curve));
        }
    }
    if curves.is_empty() {
        return Err(format!(
            "the plane z = {z} only touches the surface; another z has a section"
        ));
    }
    Ok(curves)
}

/// A curve without the points that lie straight between their neighbours.
fn without_straight(curve: Vec<[f64; 2]>) -> Vec<[f64; 2]> {
    let count = curve.len();
    let bends = |k: usize| {
        let [a, b, c] = [k + count - 1, k, k + 1].map(|k| curve[k % count]);
        let (d, e) = ([b[0] - a[0], b[1] - a[1]], [c[0] - b[0], c[1] - b[1]]);
        let lengths = d[0].hypot(d[1]) * e[0].hypot(e[1]);
        (d[0] * e[1] - d[1] * e[0]).abs() > 1e-7 * lengths || d[0] * e[0] + d[1] * e[1] < 0.0
    };
    let kept: Vec<[f64; 2]> = (0..count).filter(|&k| bends(k)).map(|k| curve[k]).collect();
    if kept.len() > 2 { kept } else { curve }
}

#[cfg(test)]
pub(super) mod tests {
    use super::*;

    /// The triangles of a box.
    pub(in crate::flow) fn cuboid(low: Vertex, high: Vertex) -> Vec<[Vertex; 3]> {
        let corner = |k: usize| {
            let mut v = low;
            (0..3)
                .filter(|axis| k >> axis & 1 == 1)
                .for_each(|axis| v[axis] = high[axis]);
            v
        };
        let sides = [
            [0, 2, 3, 1],
            [4, 5, 7, 6],
            [0, 1, 5, 4],
            [2, 6, 7, 3],
            [0, 4, 6, 2],
            [1, 3, 7, 5],
        ];
        let halves = sides.iter().flat_map(|[a, b, c, d]| [[a, b, c], [a, c, d]]);
        halves.map(|half| half.map(|k| corner(*k))).collect()
    }

    #[test]
    fn a_box_has_a_rectangle_as_its_section() {
        let surface = cuboid([0.0, 0.0, 0.0], [2.0, 1.0, 3.0]);
        for z in [None, Some(0.5), Some(3.0)] {
            let curves = curves(&surface, z).expect("a section");
            assert_eq!(curves.len(), 1);
            let mut corners = curves[0].clone();
            corners.sort_by(|a, b| a[0].total_cmp(&b[0]).then(a[1].total_cmp(&b[1])));
            assert_eq!(corners, [[0.0, 0.0], [0.0, 1.0], [2.0, 0.0], [2.0, 1.0]]);
        }
        let error = curves(&surface, Some(3.5)).expect_err("above it");
        assert!(error.contains("between 0 and 3"), "{error}");
    }

    #[test]
    fn boxes_in_a_box_leave_curves_of_both() {
        let mut surface = cuboid([-1.0; 3], [1.0; 3]);
        surface.extend(cuboid([-0.5; 3], [0.5; 3]));
        assert_eq!(curves(&surface, Some(0.2)).expect("a section").len(), 2);
    }

    #[test]
    fn an_open_surface_is_refused_with_its_first_edge() {
        let mut surface = cuboid([0.0; 3], [1.0; 3]);
        surface.remove(11);
        let error = curves(&surface, None).expect_err("open");
        assert!(
            error.starts_with("the surface is not closed: the edge from (1, 0, 1) to (1, 1, 1) belongs to one triangle"),
            "{error}"
        );
        assert!(curves(&[], None).is_err());
    }
}
