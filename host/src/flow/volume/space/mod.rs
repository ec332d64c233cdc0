//! Space: a Cartesian grid whose cells bodies cut, each with a volume, open faces and at most one facet of a wall.

mod closure;
mod cut;
mod distances;
mod form;
mod pockets;
mod solid;

pub(in crate::flow) use closure::Closure;
pub(in crate::flow) use cut::build;
pub(in crate::flow) use solid::{Solid, Solids};

pub(in crate::flow) use crate::flow::rings::Rings;
pub(in crate::flow) use crate::flow::space::Kind;

/// The faces of a cell, in this order everywhere: west, east, south, north, back, front; back has the lower z.
pub(in crate::flow) const FACES: usize = 6;

/// A plane piece of a wall in a cell.
#[derive(Clone, Debug)]
pub(in crate::flow) struct Facet {
    /// Its cell.
    pub(in crate::flow) cell: usize,
    /// Its area.
    pub(in crate::flow) area: f64,
    /// Unit normal into the gas.
    pub(in crate::flow) normal: [f64; 3],
    /// Mean of the points where the wall crosses edges of the cell.
    pub(in crate::flow) point: [f64; 3],
    /// The body that it belongs to.
    pub(in crate::flow) body: usize,
    /// These points in order round the normal.
    pub(in crate::flow) corners: Vec<[f64; 3]>,
}

/// Cells along x, then y, then z: cell (i, j, k) is `(k ny + j) nx + i`.
#[derive(Clone, Debug)]
pub(in crate::flow) struct Space {
    /// Edges of the cells along x, y and z.
    pub(in crate::flow) edges: [Vec<f64>; 3],
    /// The kind of each cell: full, cut or solid.
    pub(in crate::flow) kind: Vec<Kind>,
    /// Volume of the gas.
    pub(in crate::flow) volume: Vec<f64>,
    /// Open area of each face.
    pub(in crate::flow) open: Vec<[f64; FACES]>,
    /// Centroid of the gas.
    pub(in crate::flow) centroid: Vec<[f64; 3]>,
    /// Facets in the order of their cells.
    pub(in crate::flow) facets: Vec<Facet>,
    /// The facet of a cut cell; `u32::MAX` for others.
    pub(in crate::flow) facet: Vec<u32>,
    /// Linear closures of the cells with a facet, in their order.
    pub(in crate::flow) closures: Vec<Closure>,
    /// The plane that turns round an axis, of cells that are rings.
    pub(in crate::flow) rings: Option<Rings>,
    /// Faults of the grid that the flow survives, each with a remedy.
    pub(in crate::flow) warnings: Vec<String>,
}

impl Space {
    /// Cells along x, y and z.
    pub(in crate::flow) fn counts(&self) -> [usize; 3] {
        [0, 1, 2].map(|axis: usize| self.edges[axis].len() - 1)
    }

    /// All cells, solid ones included.
    pub(in crate::flow) fn len(&self) -> usize {
        self.kind.len()
    }

    /// Whether a cell holds gas.
    pub(in crate::flow) fn is_gas(&self, cell: usize) -> bool {
        self.kind[cell] != Kind::Solid
    }

    /// Faces of a side: left, right, bottom, top, back, front.
    pub(in crate::flow) fn faces(&self, side: usize) -> usize {
        let [a, b] = across(side / 2).map(|axis| self.counts()[axis]);
        a * b
    }

    /// The least open area of the layers of cells across an axis.
    pub(in crate::flow) fn narrowest(&self, axis: usize) -> f64 {
        let counts = self.counts();
        let stride: usize = counts[..axis].iter().product();
        let mut areas = vec![0.0; counts[axis]];
        for (cell, open) in self.open.iter().enumerate() {
            areas[cell / stride % counts[axis]] += open[2 * axis + 1];
        }
        areas.into_iter().fold(f64::INFINITY, f64::min)
    }

    /// Cells along a side, in the order of its faces: the lower of the two axes across it runs faster.
    pub(in crate::flow) fn border(&self, side: usize) -> Vec<usize> {
        let counts = self.counts();
        let axis = side / 2;
        let [fast, slow] = across(axis);
        let strides = [1, counts[0], counts[0] * counts[1]];
        let first = match side % 2 {
            0 => 0,
            _ => (counts[axis] - 1) * strides[axis],
        };
        let row = |b: usize| (0..counts[fast]).map(move |a| (a, b));
        let faces = (0..counts[slow]).flat_map(row);
        faces
            .map(|(a, b)| first + a * strides[fast] + b * strides[slow])
            .collect()
    }
}

/// The two axes across an axis, the lower one first.
pub(in crate::flow) fn across(axis: usize) -> [usize; 2] {
    match axis {
        0 => [1, 2],
        1 => [0, 2],
        _ => [0, 1],
    }
}

#[cfg(test)]
mod tests;
