//! Closed surfaces of triangles: numbers of their corners, and checks of their edges.

use std::collections::HashMap;

/// A corner in space.
pub(super) type Vertex = [f32; 3];

/// An edge by the numbers of its ends.
pub(super) type Edge = (usize, usize);

/// Triangles by the numbers of their corners.
pub(super) struct Mesh {
    pub(super) vertices: Vec<Vertex>,
    pub(super) faces: Vec<[usize; 3]>,
}

/// The edges of a triangle, each with the smaller number first.
pub(super) fn edges(face: &[usize; 3]) -> [Edge; 3] {
    directed(face).map(|(a, b)| (a.min(b), a.max(b)))
}

/// The edges of a triangle in the sense of its corners.
fn directed(&[a, b, c]: &[usize; 3]) -> [Edge; 3] {
    [(a, b), (b, c), (c, a)]
}

impl Mesh {
    /// The surface of these triangles; equal corners have one number.
    ///
    /// # Errors
    /// One line: the first edge of an odd number of triangles.
    pub(super) fn closed(triangles: &[[Vertex; 3]]) -> Result<Self, String> {
        let mut numbers: HashMap<[u32; 3], usize> = HashMap::new();
        let mut vertices: Vec<Vertex> = Vec::new();
        let mut number = |vertex: &Vertex| {
            // Negative zero is zero.
            let bits = vertex.map(|x| (x + 0.0).to_bits());
            *numbers.entry(bits).or_insert_with(|| {
                vertices.push(*vertex);
                vertices.len() - 1
            })
        };
        let faces: Vec<[usize; 3]> = triangles
            .iter()
            .map(|triangle| [0, 1, 2].map(|k| number(&triangle[k])))
            // A triangle with two equal corners has no area.
            .filter(|[a, b, c]| a != b && b != c && c != a)
            .collect();
        let mesh = Self { vertices, faces };
        mesh.check_closed()?;
        Ok(mesh)
    }

    fn check_closed(&self) -> Result<(), String> {
        let counts = counts(self.faces.iter().flat_map(edges));
        let mut all = self.faces.iter().flat_map(edges);
        match all.find(|edge| counts[edge] % 2 == 1) {
            None if self.faces.is_empty() => Err("no triangle is in it".to_owned()),
            None => Ok(()),
            Some(edge) => {
                let [a, b] = self.ends(edge);
                let count = counts[&edge];
                let belongs = match count {
                    1 => "one triangle".to_owned(),
                    _ => format!("{count} triangles"),
                };
                Err(format!(
                    "the surface is not closed: the edge from {a} to {b} belongs to {belongs}; a closed one has two at each edge"
                ))
            }
        }
    }

    /// Whether the corners of all triangles go round in one sense, as seen from outside.
    ///
    /// # Errors
    /// One line: the first edge along which triangles go in one direction more often than in the other.
    pub(super) fn check_oriented(&self) -> Result<(), String> {
        let counts = counts(self.faces.iter().flat_map(directed));
        let mut all = self.faces.iter().flat_map(directed);
        match all.find(|&(a, b)| counts.get(&(b, a)) != counts.get(&(a, b))) {
            None => Ok(()),
            Some(edge) => {
                let [a, b] = self.ends(edge);
                Err(format!(
                    "the surface turns inside out at the edge from {a} to {b}: corners of all triangles must go round in one sense, as seen from outside"
                ))
            }
        }
    }

    /// The ends of an edge in words.
    fn ends(&self, (a, b): Edge) -> [String; 2] {
        [a, b].map(|k| {
            let [x, y, z] = self.vertices[k];
            format!("({x}, {y}, {z})")
        })
    }
}

fn counts(edges: impl Iterator<Item = Edge>) -> HashMap<Edge, usize> {
    let mut counts = HashMap::new();
    for edge in edges {
        *counts.entry(edge).or_default() += 1;
    }
    counts
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::flow::section::tests::cuboid;

    #[test]
    fn a_surface_that_turns_inside_out_is_refused_with_its_first_edge() {
        let mut surface = cuboid([0.0; 3], [1.0; 3]);
        assert!(Mesh::closed(&surface).unwrap().check_oriented().is_ok());
        surface[3].swap(0, 1);
        let error = Mesh::closed(&surface)
            .unwrap()
            .check_oriented()
            .unwrap_err();
        assert!(
            error.starts_with(
                "the surface turns inside out at the edge from (1, 1, 1) to (0, 0, 1)"
            ),
            "{error}"
        );
    }
}
