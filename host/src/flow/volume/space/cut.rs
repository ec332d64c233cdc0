//! Cut cells of space from a signed distance: kinds, volumes, open faces and facets of walls.
//!
//! The normal and the area of a facet follow from the open faces, `N A = (A_E - A_W, A_N - A_S, A_F - A_B)`, so that a uniform stream stays uniform
//! and mass is conserved to roundoff whatever the cell's form is.

use std::collections::VecDeque;

use rayon::prelude::*;

use super::closure::{Closure, Face};
use super::form::{Form, Signs, ambiguous};
use super::solid::Solids;
use super::{FACES, Facet, Kind, Space, distances, pockets};
use crate::error::{Error, Result};
use crate::flow::space::{OFF_ENDS, ON_WALL, root};
use crate::flow::volume::vector::{minus, norm, plus};

/// Share of an edge from a corner on a wall, at which it is seen whether the edge runs along that wall.
const PROBE: f64 = 1e-3;

/// A point of an edge is on a wall if it is nearer to it than this share of a corner's distance that counts as none.
const ALONG: f64 = 1e-6;

/// The grid of these edges with the cells that the bodies cut.
///
/// # Errors
/// A body that cuts no cell, and a domain without gas.
pub(in crate::flow) fn build(edges: [Vec<f64>; 3], bodies: &Solids) -> Result<Space> {
    let widths = edges.iter().flat_map(|edges| edges.windows(2));
    let least = widths.fold(f64::INFINITY, |least, pair| least.min(pair[1] - pair[0]));
    let mut corners = Corners::new(&edges, bodies, ON_WALL * least);
    let filled = corners.fill_ambiguous();
    let (kind, volume, open, centroid) = corners.plain_cells();
    let mut space = Space {
        facet: vec![u32::MAX; kind.len()],
        kind,
        volume,
        open,
        centroid,
        facets: Vec::new(),
        closures: Vec::new(),
        rings: None,
        warnings: Vec::new(),
        edges: edges.clone(),
    };
    let cut = corners.cut_cells(&mut space.kind);
    for of in &cut {
        space.volume[of.cell] = of.volume;
        space.open[of.cell] = of.open;
        space.centroid[of.cell] = of.centroid;
    }
    let hole = pockets::fill(&mut space, cut.iter().map(|of| of.cell));
    let kept: Vec<CutCell> = cut
        .into_iter()
        .filter(|of| space.kind[of.cell] != Kind::Solid)
        .collect();
    space.closures = kept.par_iter().map(CutCell::closure).collect();
    for (number, of) in kept.into_iter().enumerate() {
        space.facet[of.cell] = number as u32;
        space.facets.push(of.facet);
    }
    check(&space, bodies, least)?;
    warn(&mut space, filled, hole, least);
    Ok(space)
}

/// The last share of an edge that is solid, from a solid end on to a gas one, by halving.
fn end_of_solid(is_gas: impl Fn(f64) -> bool) -> f64 {
    let [mut low, mut high] = [0.0, 1.0];
    while high - low > 1e-14 {
        let middle = 0.5 * (low + high);
        *(if is_gas(middle) { &mut high } else { &mut low }) = middle;
    }
    low.clamp(OFF_ENDS, 1.0 - OFF_ENDS)
}

/// Refuses a domain without gas, and bodies that cut no cell.
fn check(space: &Space, bodies: &Solids, least: f64) -> Result<()> {
    if !space.kind.iter().any(|kind| *kind != Kind::Solid) {
        return Err(Error::invalid(
            "body",
            "all of the domain is solid",
            "bodies that leave gas in the domain; `hollow = true` puts the gas inside of one",
        ));
    }
    let mut has_facets = vec![false; bodies.solids.len()];
    for facet in &space.facets {
        has_facets[facet.body] = true;
    }
    match has_facets.iter().position(|has| !has) {
        Some(body) => Err(Error::invalid(
            format!("body {}", body + 1),
            "no cell is cut by it",
            format!("a body in the domain that is wider than its cells, which are {least} here"),
        )),
        None => Ok(()),
    }
}

/// Warns of gaps and holes that the grid closes.
fn warn(space: &mut Space, filled: Option<Filled>, hole: Option<[f64; 3]>, least: f64) {
    if let Some(Filled {
        first: [a, b, c],
        count,
    }) = filled
    {
        let more = match count {
            1 => String::new(),
            _ => format!("; {count} corners of cells are closed in this way"),
        };
        space.warnings.push(format!(
            "two walls pass through the cell at ({a:.4}, {b:.4}, {c:.4}), whose gap is closed; cells of {:.2e} would resolve it{more}",
            0.5 * least
        ));
    }
    if let Some([a, b, c]) = hole {
        space.warnings.push(format!(
            "a hole of a few cells at ({a:.4}, {b:.4}, {c:.4}) is closed off from all other gas and is taken as solid; cells of {:.2e} would resolve it, a body without it needs none",
            0.25 * least
        ));
    }
}

/// Corners that were made solid: the middle of the first of their cells, and their number.
struct Filled {
    first: [f64; 3],
    count: usize,
}

/// A cell behind a facet.
struct CutCell {
    cell: usize,
    volume: f64,
    open: [f64; FACES],
    /// Centroids of the open parts of the faces.
    middles: [[f64; 3]; FACES],
    centroid: [f64; 3],
    facet: Facet,
}

impl CutCell {
    fn closure(&self) -> Closure {
        let face = |middle: [f64; 3], area: f64| Face {
            middle: minus(middle, self.centroid),
            area,
        };
        let faces = std::array::from_fn(|k| face(self.middles[k], self.open[k]));
        Closure::new(faces, face(self.facet.point, self.facet.area))
    }
}

/// Kinds, volumes, open faces and centroids of all cells.
type Plain = (Vec<Kind>, Vec<f64>, Vec<[f64; FACES]>, Vec<[f64; 3]>);

/// Signed distances at the corners of the cells.
struct Corners<'a> {
    edges: &'a [Vec<f64>; 3],
    bodies: &'a Solids,
    phi: Vec<f64>,
    /// The distance of a corner that is made solid.
    solid: f64,
}

impl<'a> Corners<'a> {
    fn new(edges: &'a [Vec<f64>; 3], bodies: &'a Solids, on_wall: f64) -> Self {
        let mut phi = distances::at_corners(edges, bodies);
        phi.par_iter_mut().for_each(|phi| {
            if phi.abs() < on_wall {
                *phi = -on_wall;
            }
        });
        Self {
            edges,
            bodies,
            phi,
            solid: -on_wall,
        }
    }

    /// Cells along each axis.
    fn counts(&self) -> [usize; 3] {
        [0, 1, 2].map(|axis| self.edges[axis].len() - 1)
    }

    /// Distances between the numbers of neighbouring corners.
    fn strides(&self) -> [usize; 3] {
        let [nx, ny, _] = self.counts();
        [1, nx + 1, (nx + 1) * (ny + 1)]
    }

    /// Places of a cell along the axes.
    fn place(&self, cell: usize) -> [usize; 3] {
        let [nx, ny, _] = self.counts();
        [cell % nx, cell / nx % ny, cell / (nx * ny)]
    }

    /// Numbers of the corners of a cell.
    fn of_cell(&self, [i, j, k]: [usize; 3]) -> [usize; 8] {
        let [_, row, plane] = self.strides();
        let first = k * plane + j * row + i;
        std::array::from_fn(|corner| {
            first + (corner & 1) + (corner >> 1 & 1) * row + (corner >> 2) * plane
        })
    }

    /// The corners of a cell that are gas.
    fn signs(&self, place: [usize; 3]) -> Signs {
        let corners = self.of_cell(place).into_iter().enumerate();
        corners.fold(0, |signs, (bit, corner)| {
            signs | Signs::from(self.phi[corner] > 0.0) << bit
        })
    }

    fn middle(&self, place: [usize; 3]) -> [f64; 3] {
        [0, 1, 2].map(|axis| {
            let edges = &self.edges[axis];
            0.5 * (edges[place[axis]] + edges[place[axis] + 1])
        })
    }

    /// Cells with gas and solid corners, in their order.
    fn mixed(&self) -> Vec<usize> {
        let [nx, ny, nz] = self.counts();
        let planes = (0..nz).into_par_iter();
        planes
            .flat_map_iter(|k| {
                let cells = (0..nx * ny).map(move |cell| k * nx * ny + cell);
                cells.filter(|&cell| !matches!(self.signs(self.place(cell)), 0 | Signs::MAX))
            })
            .collect()
    }

    /// Makes corners solid until the wall in each cell is one facet.
    ///
    /// On a face with gas at two opposite corners alone it is the corner nearest to the wall; where the gas or the solid of a cell falls apart, of all gas corners.
    fn fill_ambiguous(&mut self) -> Option<Filled> {
        let mut filled: Option<Filled> = None;
        let counts = self.counts();
        let mut work = VecDeque::from(self.mixed());
        while let Some(cell) = work.pop_front() {
            let place = self.place(cell);
            while let Some(candidates) = ambiguous(self.signs(place)) {
                let corners = self.of_cell(place);
                let candidates = (0..8).filter(|bit| candidates >> bit & 1 == 1);
                let nearest = candidates
                    .min_by(|&a, &b| self.phi[corners[a]].total_cmp(&self.phi[corners[b]]));
                let Some(bit) = nearest else {
                    break;
                };
                let first = filled.get_or_insert_with(|| Filled {
                    first: self.middle(place),
                    count: 0,
                });
                first.count += 1;
                self.phi[corners[bit]] = self.solid;
                // The cells around that corner have changed.
                let at = [0, 1, 2].map(|axis| place[axis] + (bit >> axis & 1));
                for around in 0..8 {
                    let there =
                        [0, 1, 2].map(|axis| (at[axis] + (around >> axis & 1)).wrapping_sub(1));
                    if (0..3).all(|axis| there[axis] < counts[axis]) {
                        work.push_back((there[2] * counts[1] + there[1]) * counts[0] + there[0]);
                    }
                }
            }
        }
        filled
    }

    /// Cells by their corners alone: those that a wall passes through count as cut, with all of their volume.
    fn plain_cells(&self) -> Plain {
        let [nx, ny, nz] = self.counts();
        let cell = |cell: usize| {
            let place = self.place(cell);
            let [x, y, z] = self.widths(place);
            let centroid = self.middle(place);
            let open = [y * z, z * x, x * y];
            let kind = match self.signs(place) {
                0 => return (Kind::Solid, (0.0, ([0.0; FACES], centroid))),
                Signs::MAX => Kind::Full,
                _ => Kind::Cut,
            };
            let open = std::array::from_fn(|k| open[k / 2]);
            (kind, (x * y * z, (open, centroid)))
        };
        let cells = (0..nx * ny * nz).into_par_iter().map(cell);
        let (kind, (volume, (open, centroid))) = cells.unzip();
        (kind, volume, open, centroid)
    }

    fn widths(&self, place: [usize; 3]) -> [f64; 3] {
        [0, 1, 2].map(|axis| {
            let edges = &self.edges[axis];
            edges[place[axis] + 1] - edges[place[axis]]
        })
    }

    /// The cells behind facets, in their order. A cell of which the wall cuts off too little for a facet becomes a full one.
    fn cut_cells(&self, kind: &mut [Kind]) -> Vec<CutCell> {
        let crossings = self.crossings();
        let mixed = self.mixed();
        let cells = mixed.par_iter();
        let cut: Vec<CutCell> = cells
            .filter_map(|&cell| self.cut_cell(cell, &crossings))
            .collect();
        mixed.iter().for_each(|&cell| kind[cell] = Kind::Full);
        cut.iter().for_each(|of| kind[of.cell] = Kind::Cut);
        cut
    }

    /// The edges along each axis that the wall crosses, by the number of their lower corner, and the share of their length at which it does.
    fn crossings(&self) -> [Vec<(usize, f64)>; 3] {
        let strides = self.strides();
        let counts = self.counts();
        [0, 1, 2].map(|axis| {
            let planes = (0..=counts[2] - usize::from(axis == 2)).into_par_iter();
            planes
                .flat_map_iter(|plane| {
                    let corners = (0..strides[2]).map(move |corner| plane * strides[2] + corner);
                    corners.filter_map(|low| {
                        let place = low / strides[axis] % (counts[axis] + 1);
                        let phi = [self.phi[low], *self.phi.get(low + strides[axis])?];
                        let is_crossed = place < counts[axis] && (phi[0] > 0.0) != (phi[1] > 0.0);
                        is_crossed.then(|| (low, self.crossing(low, axis, phi)))
                    })
                })
                .collect()
        })
    }

    /// Where the wall crosses an edge.
    fn crossing(&self, low: usize, axis: usize, phi: [f64; 2]) -> f64 {
        let strides = self.strides();
        let counts = self.counts();
        let place = [0, 1, 2].map(|axis| low / strides[axis] % (counts[axis] + 1));
        let begin = [0, 1, 2].map(|axis| self.edges[axis][place[axis]]);
        let width = self.edges[axis][place[axis] + 1] - begin[axis];
        let distance = |t: f64| {
            let mut point = begin;
            point[axis] += t * width;
            self.bodies.distance(point)
        };
        // A corner on a wall is solid, and so is an edge from it as far as it runs along that wall.
        if phi[0].min(phi[1]) == self.solid {
            let from = if phi[0] > 0.0 { 1.0 } else { 0.0 };
            let is_gas = |t: f64| distance((t - from).abs()) > ALONG * -self.solid;
            if !is_gas(PROBE) && !is_gas(2.0 * PROBE) {
                return (end_of_solid(is_gas) - from).abs();
            }
        }
        root(phi, distance)
    }

    /// The part of a cell in front of its facet; none where the facet is nothing.
    fn cut_cell(&self, cell: usize, crossings: &[Vec<(usize, f64)>; 3]) -> Option<CutCell> {
        let place = self.place(cell);
        let lower = [0, 1, 2].map(|axis| self.edges[axis][place[axis]]);
        let widths = self.widths(place);
        let corners = self.of_cell(place);
        let share = |corner: usize, axis: usize| {
            let of_axis = &crossings[axis];
            let found = of_axis.binary_search_by_key(&corners[corner], |(low, _)| *low);
            found.map_or(0.5, |at| of_axis[at].1)
        };
        let form = Form::new(self.signs(place), widths, share);
        let at = |p: [f64; 3]| plus(lower, 1.0, p);
        let vector = form.facet()?;
        let area = norm(vector);
        let point = at(form.point);
        Some(CutCell {
            cell,
            volume: form.volume,
            open: form.open,
            middles: form.middles.map(at),
            centroid: at(form.centroid),
            facet: Facet {
                cell,
                area,
                normal: vector.map(|part| part / area),
                point,
                body: self.bodies.nearest_body(point),
                corners: form.line.into_iter().map(at).collect(),
            },
        })
    }
}
