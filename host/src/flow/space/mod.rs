//! Space: a Cartesian grid whose cells bodies cut, each with a volume, open faces and segments of walls.

mod axis;
mod closure;
mod cut;
mod nearest;
mod obstacle;
mod pockets;

pub(in crate::flow) use axis::edges;
pub(in crate::flow) use closure::Closure;
pub(in crate::flow) use cut::{OFF_ENDS, ON_WALL, area_and_centroid, build, root};
pub(in crate::flow) use nearest::{Extent, Tree};
pub(in crate::flow) use obstacle::{Bodies, Obstacle, PartOf, Whole};

/// The faces of a cell, in this order everywhere: west, east, south, north.
pub(in crate::flow) const FACES: usize = 4;

/// The part of a cell that bodies leave.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(in crate::flow) enum Kind {
    /// All of it.
    Full,
    /// A part behind one segment of a wall.
    Cut,
    /// A part behind two segments that meet at a corner.
    Corner,
    /// Nothing.
    Solid,
}

/// A straight piece of a wall in a cell.
#[derive(Clone, Debug)]
pub(in crate::flow) struct Segment {
    /// Its cell.
    pub(in crate::flow) cell: usize,
    /// Its length.
    pub(in crate::flow) length: f64,
    /// Unit normal into the gas.
    pub(in crate::flow) normal: [f64; 2],
    /// Its middle.
    pub(in crate::flow) point: [f64; 2],
    /// The body that it belongs to.
    pub(in crate::flow) body: usize,
}

/// A cell on its own.
struct CellOf {
    kind: Kind,
    volume: f64,
    open: [f64; FACES],
    /// Middles of the open parts of the faces.
    middles: [[f64; 2]; FACES],
    centroid: [f64; 2],
    segments: Vec<Segment>,
    /// Whether corners of bodies were left out.
    crowded: bool,
}

/// Cells row by row along x: cell (i, j) is `j * nx + i`.
#[derive(Clone, Debug)]
pub(in crate::flow) struct Space {
    /// Edges of the cells along x.
    pub(in crate::flow) x: Vec<f64>,
    /// Edges of the cells along y.
    pub(in crate::flow) y: Vec<f64>,
    /// The kind of each cell.
    pub(in crate::flow) kind: Vec<Kind>,
    /// Volume of the gas.
    pub(in crate::flow) volume: Vec<f64>,
    /// Open length of each face.
    pub(in crate::flow) open: Vec<[f64; FACES]>,
    /// Middles of the open parts of the faces.
    pub(in crate::flow) middles: Vec<[[f64; 2]; FACES]>,
    /// Centroid of the gas.
    pub(in crate::flow) centroid: Vec<[f64; 2]>,
    /// Segments of all cells, those of one cell together.
    pub(in crate::flow) segments: Vec<Segment>,
    /// The first segment of a cut cell; `usize::MAX` for others.
    pub(in crate::flow) first: Vec<usize>,
    /// Linear closures of the cells with one segment; those of corners are empty.
    pub(in crate::flow) closures: Vec<Closure>,
    /// Faults of the grid that the flow survives, each with a remedy.
    pub(in crate::flow) warnings: Vec<String>,
}

impl Space {
    /// Cells along x.
    pub(in crate::flow) fn nx(&self) -> usize {
        self.x.len() - 1
    }

    /// Cells along y.
    pub(in crate::flow) fn ny(&self) -> usize {
        self.y.len() - 1
    }

    /// All cells, solid ones included.
    pub(in crate::flow) fn len(&self) -> usize {
        self.kind.len()
    }

    /// Widths of cell (i, j).
    pub(in crate::flow) fn widths(&self, i: usize, j: usize) -> [f64; 2] {
        [self.x[i + 1] - self.x[i], self.y[j + 1] - self.y[j]]
    }

    /// Whether a cell holds gas.
    pub(in crate::flow) fn is_gas(&self, cell: usize) -> bool {
        self.kind[cell] != Kind::Solid
    }

    /// Segments of a cell, none or one or two.
    pub(in crate::flow) fn segments_of(&self, cell: usize) -> std::ops::Range<usize> {
        let first = self.first[cell];
        match self.kind[cell] {
            Kind::Cut => first..first + 1,
            Kind::Corner => first..first + 2,
            Kind::Full | Kind::Solid => 0..0,
        }
    }

    /// Cells along a side: left, right, bottom, top.
    pub(in crate::flow) fn border(&self, side: usize) -> Vec<usize> {
        let (nx, ny) = (self.nx(), self.ny());
        match side {
            0 => (0..ny).map(|j| j * nx).collect(),
            1 => (0..ny).map(|j| j * nx + nx - 1).collect(),
            2 => (0..nx).collect(),
            _ => (0..nx).map(|i| (ny - 1) * nx + i).collect(),
        }
    }
}
