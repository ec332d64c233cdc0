//! A sweep of all velocities through space in upwind order; no distribution is stored.
//!
//! Lanes are velocities of one octant. A chunk of them visits the cells row by row and layer by layer: registers hold what passes along a row, arrays
//! what passes to the next row and to the next layer. A chunk sweeps the octants that are images of each other in single mirrors one after another, so that images need no
//! more memory than a side. Tasks have a fixed share of the chunks and sums of their own, which are added in order: the result does not depend on the number of threads.

#![allow(
    clippy::needless_range_loop,
    reason = "a lane index runs over several arrays at once, which the compiler makes vectors of"
)]

use std::sync::Arc;

use rayon::prelude::*;

use rarefy_kernels::flow::volume::cell;
use rarefy_kernels::flow::volume::gas as kernels;

use super::gas::{Coefficients, FREQUENCY, MOMENTS, UNKNOWNS};
use super::nodes::Nodes;
use super::reflection::Partial;
use super::space::{Kind, Space};
use crate::maxwellian::lanes::{Job, LANES, LaneReal, Lanes, on_widest};

/// Tasks of a sweep.
pub(in crate::flow) const TASKS: usize = 16;

/// Cells whose sums one thread adds at once, at least.
const CELLS: usize = 4096;

/// Sides of the domain: left, right, bottom, top, back, front.
pub(in crate::flow) const SIDES: usize = 6;

/// The inflow through a side.
#[derive(Clone, Debug)]
pub(in crate::flow) enum Inflow {
    /// The same Maxwellian through all faces.
    Same(Coefficients),
    /// A Maxwellian for each face.
    Faces(Vec<Coefficients>),
    /// A share of the Maxwellians, and for the rest given values `[face][node]`.
    Wall(Vec<Coefficients>, f64, Vec<f64>),
    /// The mirror image of what left in this sweep.
    Mirror,
    /// Given values `[face][node]`.
    Values(Vec<f64>),
    /// Rows along x close on themselves, with a jump from the lower to the upper side: linearised flows.
    Closed(Coefficients),
}

/// The state that a sweep starts from.
pub(in crate::flow) struct Input {
    /// Of each cell; devices that share the velocities share them.
    pub(in crate::flow) cells: Arc<Vec<Coefficients>>,
    /// Maxwellian of each facet.
    pub(in crate::flow) facets: Vec<Coefficients>,
    /// Images at the walls that mirror a part, `[place][node]`.
    pub(in crate::flow) images: Vec<f64>,
    /// The sides.
    pub(in crate::flow) sides: [Inflow; SIDES],
    /// Whether the equilibria of the cells have a drift: those of internal energy, nonlinear.
    pub(in crate::flow) drifts: bool,
}

/// The sums of a sweep.
#[derive(Clone, Debug)]
pub(in crate::flow) struct Swept {
    /// Sums of each cell, [`kernels::add_sums`].
    pub(in crate::flow) cells: Vec<[f64; UNKNOWNS]>,
    /// Moments a unit area of what arrives at each facet.
    pub(in crate::flow) facets: Vec<[f64; MOMENTS]>,
    /// Values `[place][node]` that arrive at the walls that mirror a part.
    pub(in crate::flow) arrived: Vec<f64>,
    /// Moments a unit area of what leaves and what enters through each face of each side.
    pub(in crate::flow) sides: [Vec<[[f64; MOMENTS]; 2]>; SIDES],
    /// Values `[face][node]` that leave through the sides that keep them.
    pub(in crate::flow) left: [Vec<f64>; SIDES],
}

impl Swept {
    /// Adds the sums of other velocities over cells, facets and faces.
    pub(in crate::flow) fn add(
        &mut self,
        cells: &[[f64; UNKNOWNS]],
        facets: &[[f64; MOMENTS]],
        sides: &[Vec<[[f64; MOMENTS]; 2]>; SIDES],
    ) {
        let cells = self.cells.par_iter_mut().zip(cells).with_min_len(CELLS);
        cells.for_each(|(to, from)| add(to, *from));
        for (to, from) in self.facets.iter_mut().zip(facets) {
            add(to, *from);
        }
        let faces = self.sides.iter_mut().flatten().flatten();
        for (to, from) in faces.zip(sides.iter().flatten().flatten()) {
            add(to, *from);
        }
    }
}

/// The fixed parts of a sweep.
pub(in crate::flow) struct Sweep<'a> {
    pub(in crate::flow) space: &'a Space,
    pub(in crate::flow) nodes: &'a Nodes,
    /// Whether the equation is linearised.
    pub(in crate::flow) linear: bool,
    /// Sides whose outflow is kept for the next sweep.
    pub(in crate::flow) kept: [bool; SIDES],
    /// Sides with a mirror that no other mirror faces.
    pub(in crate::flow) mirrors: [bool; SIDES],
    /// Walls of bodies that mirror a part.
    pub(in crate::flow) partial: &'a Partial,
}

/// Sides of inflow and of outflow along each axis, for the velocities of an octant.
pub(in crate::flow) fn sides_of_octant(octant: usize) -> [[usize; 3]; 2] {
    let low = |axis: usize| (octant >> axis) & 1;
    let entering = [0, 1, 2].map(|axis| 2 * axis + low(axis));
    [entering, entering.map(|side| side ^ 1)]
}

impl Sweep<'_> {
    /// Sets of octants that are each other's images in the single mirrors, those that leave through more mirrors first.
    pub(in crate::flow) fn families(&self) -> Vec<Vec<usize>> {
        let images: usize = (0..3)
            .filter(|axis| self.mirrors[2 * axis] || self.mirrors[2 * axis + 1])
            .map(|axis| 1 << axis)
            .sum();
        let leaves = |octant: usize| {
            let sides = sides_of_octant(octant)[1];
            sides.into_iter().filter(|side| self.mirrors[*side]).count()
        };
        let founders = (0..8).filter(|octant| octant & images == 0);
        let family = |founder: usize| {
            let mut members: Vec<usize> = (0..8)
                .filter(|octant| octant & !images == founder)
                .collect();
            members.sort_by_key(|octant| std::cmp::Reverse(leaves(*octant)));
            members
        };
        founders.map(family).collect()
    }

    /// Sweeps once.
    pub(in crate::flow) fn run(&self, input: &Input) -> Swept {
        let mut swept = self.empty();
        let families = self.families();
        let first = |octant: usize| self.nodes.first[octant];
        let units: Vec<(&[usize], usize)> = families
            .iter()
            .flat_map(|family| {
                let len = first(family[0] + 1) - first(family[0]);
                let firsts = (0..len).step_by(LANES);
                firsts.map(move |at| (family.as_slice(), at))
            })
            .collect();
        let parts = TASKS.min(units.len());
        // Rounds bound the memory: each task has sums of all cells.
        let round = rayon::current_num_threads().max(1);
        for begin in (0..parts).step_by(round) {
            let end = (begin + round).min(parts);
            let found: Vec<Found> = (begin..end)
                .into_par_iter()
                .map(|part| {
                    let range = part * units.len() / parts..(part + 1) * units.len() / parts;
                    let mut found = Found::new(self);
                    for (family, at) in &units[range] {
                        let mut images = Images::default();
                        for &octant in *family {
                            let chunk = Chunk {
                                first: first(octant) + at,
                                octant,
                            };
                            self.chunk(input, chunk, &mut images, &mut found);
                        }
                    }
                    found
                })
                .collect();
            for found in found {
                found.add_to(&mut swept, self.nodes.len());
            }
        }
        swept
    }

    fn chunk(&self, input: &Input, chunk: Chunk, images: &mut Images, found: &mut Found) {
        macro_rules! march {
            ($linear:literal) => {
                on_widest(March::<$linear> {
                    sweep: self,
                    input,
                    chunk,
                    images,
                    found,
                })
            };
        }
        match self.linear {
            true => march!(true),
            false => march!(false),
        }
    }

    /// Sums of nothing.
    pub(in crate::flow) fn empty(&self) -> Swept {
        let faces: [usize; SIDES] = std::array::from_fn(|side| self.space.faces(side));
        Swept {
            cells: vec![[0.0; UNKNOWNS]; self.space.len()],
            facets: vec![[0.0; MOMENTS]; self.space.facets.len()],
            arrived: vec![0.0; self.partial.facets.len() * self.nodes.len()],
            sides: faces.map(|count| vec![[[0.0; MOMENTS]; 2]; count]),
            left: std::array::from_fn(|side| match self.kept[side] {
                true => vec![0.0; faces[side] * self.nodes.len()],
                false => Vec::new(),
            }),
        }
    }
}

/// Eight velocities of an octant.
#[derive(Clone, Copy)]
struct Chunk {
    first: usize,
    octant: usize,
}

/// Outflow of earlier octants of a chunk through mirrors, by octant and axis, `[face][lane]`.
#[derive(Default)]
struct Images([[Vec<Lanes<f64>>; 3]; 8]);

/// The sums of one task.
pub(in crate::flow) struct Found {
    pub(in crate::flow) cells: Vec<[f64; UNKNOWNS]>,
    pub(in crate::flow) facets: Vec<[f64; MOMENTS]>,
    pub(in crate::flow) sides: [Vec<[[f64; MOMENTS]; 2]>; SIDES],
    /// Outflow of a chunk through a side: first node, side, `[face]`.
    pub(in crate::flow) left: Vec<(usize, usize, Vec<Lanes<f64>>)>,
    /// Arrivals of a chunk at the walls that mirror a part: first node, `[place]`.
    pub(in crate::flow) arrived: Vec<(usize, Vec<Lanes<f64>>)>,
}

impl Found {
    pub(in crate::flow) fn new(sweep: &Sweep<'_>) -> Self {
        let Swept {
            cells,
            facets,
            sides,
            ..
        } = Sweep {
            kept: [false; SIDES],
            partial: &Partial::default(),
            ..*sweep
        }
        .empty();
        Self {
            cells,
            facets,
            sides,
            left: Vec::new(),
            arrived: Vec::new(),
        }
    }

    /// Adds what enters or leaves through a face of a side.
    #[inline(always)]
    fn cross<const FUSED: bool>(
        &mut self,
        velocity: &Velocities,
        (side, face): (usize, usize),
        enters: bool,
        values: &Lanes<f64>,
    ) {
        let moments = velocity.moments::<FUSED>(values, side / 2);
        add(&mut self.sides[side][face][usize::from(enters)], moments);
    }

    pub(in crate::flow) fn add_to(self, swept: &mut Swept, nodes: usize) {
        swept.add(&self.cells, &self.facets, &self.sides);
        for (first, side, values) in self.left {
            for (face, lanes) in values.iter().enumerate() {
                swept.left[side][face * nodes + first..][..LANES].copy_from_slice(lanes);
            }
        }
        for (first, values) in self.arrived {
            for (place, lanes) in values.iter().enumerate() {
                swept.arrived[place * nodes + first..][..LANES].copy_from_slice(lanes);
            }
        }
    }
}

/// The march of one chunk through all cells.
struct March<'a, const LINEAR: bool> {
    sweep: &'a Sweep<'a>,
    input: &'a Input,
    chunk: Chunk,
    images: &'a mut Images,
    found: &'a mut Found,
}

pub(in crate::flow) const NOTHING: Lanes<f64> = [0.0; LANES];

impl<const LINEAR: bool> Job for March<'_, LINEAR> {
    type Output = ();

    #[inline(always)]
    fn run<const FUSED: bool>(self) {
        let Self {
            sweep,
            input,
            chunk,
            images,
            found,
        } = self;
        let space = sweep.space;
        let counts = space.counts();
        let [nx, ny, nz] = counts;
        let velocity = Velocities::new(sweep.nodes, chunk.first);
        let [entering, leaving] = sides_of_octant(chunk.octant);
        let inflow = Incoming {
            input,
            images: &*images,
            chunk,
            velocity: &velocity,
            nodes: sweep.nodes.len(),
        };
        // The place of a step along an axis.
        let place = |axis: usize, step: usize| match (chunk.octant >> axis) & 1 {
            0 => step,
            _ => counts[axis] - 1 - step,
        };
        let mut jump = None;
        if let Inflow::Closed(from) = &input.sides[0] {
            let mut values = velocity.equilibrium::<LINEAR, FUSED>(from);
            let sign = 1.0 - 2.0 * (chunk.octant & 1) as f64;
            for l in 0..LANES {
                values[l] *= sign;
            }
            jump = Some(values);
        }
        let widths: [Vec<f64>; 3] = [0, 1, 2].map(|axis: usize| {
            let edges = space.edges[axis].windows(2);
            edges.map(|pair| pair[1] - pair[0]).collect()
        });
        let mut out: [Vec<Lanes<f64>>; 3] = [0, 1, 2].map(|axis: usize| {
            let side = leaving[axis];
            match sweep.kept[side] || sweep.mirrors[side] {
                true => vec![NOTHING; space.faces(side)],
                false => Vec::new(),
            }
        });
        // Closures and iterators would be compiled for processors without wide registers.
        let mut to_layer = vec![NOTHING; nx * ny];
        for face in 0..nx * ny {
            let values = inflow.through::<LINEAR, FUSED>(entering[2], face);
            to_layer[face] = values;
            found.cross::<FUSED>(&velocity, (entering[2], face), true, &values);
        }
        let mut arrived = vec![NOTHING; sweep.partial.facets.len()];
        let mut to_row = vec![NOTHING; nx];
        let mut saved = vec![NOTHING; if jump.is_some() { 2 * nx } else { 0 }];
        for step_z in 0..nz {
            let z = place(2, step_z);
            for x in 0..nx {
                let face = z * nx + x;
                to_row[x] = inflow.through::<LINEAR, FUSED>(entering[1], face);
                found.cross::<FUSED>(&velocity, (entering[1], face), true, &to_row[x]);
            }
            for step_y in 0..ny {
                let y = place(1, step_y);
                let row = z * ny + y;
                let layer = &mut to_layer[y * nx..][..nx];
                let mut going = match jump {
                    None => inflow.through::<LINEAR, FUSED>(entering[0], row),
                    Some(_) => NOTHING,
                };
                let mut without = NOTHING;
                if jump.is_some() {
                    saved[..nx].copy_from_slice(&to_row);
                    saved[nx..].copy_from_slice(layer);
                }
                let passes = if jump.is_some() { 3 } else { 1 };
                for pass in 0..passes {
                    let counts = pass + 1 == passes;
                    if let (Some(jump), 1..) = (&jump, pass) {
                        to_row.copy_from_slice(&saved[..nx]);
                        layer.copy_from_slice(&saved[nx..]);
                        if pass == 1 {
                            without = going;
                            going = [1.0; LANES];
                        } else {
                            // The outflow is affine in the inflow: `out = without + slope in`.
                            for l in 0..LANES {
                                let slope = going[l] - without[l];
                                going[l] = (without[l] + jump[l]) / (1.0 - slope);
                            }
                        }
                    }
                    if counts {
                        found.cross::<FUSED>(&velocity, (entering[0], row), true, &going);
                    }
                    for step_x in 0..nx {
                        let x = place(0, step_x);
                        let k = row * nx + x;
                        if space.kind[k] == Kind::Solid {
                            (going, to_row[x], layer[x]) = (NOTHING, NOTHING, NOTHING);
                            continue;
                        }
                        let c = &input.cells[k];
                        let nu = c[FREQUENCY] * space.volume[k];
                        let local = velocity.equilibrium::<LINEAR, FUSED>(c);
                        let into = [going, to_row[x], layer[x]];
                        let f;
                        if space.kind[k] == Kind::Full {
                            let [dx, dy, dz] = [widths[0][x], widths[1][y], widths[2][z]];
                            let areas = [dy * dz, dx * dz, dx * dy];
                            [f, going, to_row[x], layer[x]] =
                                velocity.full::<LINEAR, FUSED>(areas, nu, &local, &into);
                        } else {
                            let s = space.facet[k] as usize;
                            let facet = &space.facets[s];
                            let mut open = [[0.0; 3]; 2];
                            for axis in 0..3 {
                                open[0][axis] = space.open[k][entering[axis]];
                                open[1][axis] = space.open[k][leaving[axis]];
                            }
                            let place = sweep.partial.place_of(s);
                            let mut wall = velocity.equilibrium::<LINEAR, FUSED>(&input.facets[s]);
                            if let Some(place) = place {
                                let image =
                                    &input.images[place * sweep.nodes.len() + chunk.first..];
                                add_image(&mut wall, sweep.partial.share[s], image);
                            }
                            let behind = Behind {
                                open,
                                wall: [
                                    facet.area * facet.normal[0],
                                    facet.area * facet.normal[1],
                                    facet.area * facet.normal[2],
                                ],
                                closures: &space.closures[s].0[chunk.octant],
                                emitted: &wall,
                            };
                            let arriving;
                            [f, going, to_row[x], layer[x], arriving] =
                                velocity.cut::<LINEAR, FUSED>(&behind, nu, &local, &into);
                            if counts {
                                let moments = velocity.arriving::<FUSED>(&arriving, facet.normal);
                                add(&mut found.facets[s], moments);
                                if let Some(place) = place {
                                    arrived[place] = arriving;
                                }
                            }
                        }
                        if counts {
                            let about = kernels::about::<f64, LINEAR>(c);
                            let sums = velocity.sums::<FUSED>(about, &f, &local);
                            add(&mut found.cells[k], sums);
                        }
                    }
                }
                found.cross::<FUSED>(&velocity, (leaving[0], row), false, &going);
                if let Some(values) = out[0].get_mut(row) {
                    *values = going;
                }
            }
            for x in 0..nx {
                let face = z * nx + x;
                found.cross::<FUSED>(&velocity, (leaving[1], face), false, &to_row[x]);
                if let Some(to) = out[1].get_mut(face) {
                    *to = to_row[x];
                }
            }
        }
        for face in 0..nx * ny {
            found.cross::<FUSED>(&velocity, (leaving[2], face), false, &to_layer[face]);
        }
        if !out[2].is_empty() {
            out[2] = to_layer;
        }
        for (axis, values) in out.into_iter().enumerate() {
            let side = leaving[axis];
            if sweep.mirrors[side] {
                images.0[chunk.octant][axis] = values;
            } else if sweep.kept[side] {
                found.left.push((chunk.first, side, values));
            }
        }
        if !arrived.is_empty() {
            found.arrived.push((chunk.first, arrived));
        }
    }
}

/// Adds the molecules that a wall mirrors to those that it emits.
#[inline(always)]
pub(in crate::flow) fn add_image(wall: &mut Lanes<f64>, share: f64, image: &[f64]) {
    for l in 0..LANES {
        wall[l] = share * wall[l] + (1.0 - share) * image[l];
    }
}

/// The inflow through the sides at a chunk's velocities.
struct Incoming<'a> {
    input: &'a Input,
    images: &'a Images,
    chunk: Chunk,
    velocity: &'a Velocities,
    nodes: usize,
}

impl Incoming<'_> {
    #[inline(always)]
    fn through<const LINEAR: bool, const FUSED: bool>(
        &self,
        side: usize,
        face: usize,
    ) -> Lanes<f64> {
        match &self.input.sides[side] {
            Inflow::Mirror => {
                let axis = side / 2;
                self.images.0[self.chunk.octant ^ (1 << axis)][axis][face]
            }
            inflow => {
                let at = face * self.nodes + self.chunk.first;
                self.velocity.inflow::<LINEAR, FUSED>(inflow, face, at)
            }
        }
    }
}

/// A cut cell as the velocities of an octant see it.
struct Behind<'a> {
    /// Open areas of the faces of inflow and of outflow.
    open: [[f64; 3]; 2],
    /// Area of the facet times its normal.
    wall: [f64; 3],
    /// Closures where the wall lets in, and where it lets out.
    closures: &'a [[[f64; 4]; 4]; 2],
    /// Molecules that the wall lets in.
    emitted: &'a Lanes<f64>,
}

/// Eight velocities and their volumes.
pub(in crate::flow) struct Velocities {
    pub(in crate::flow) v: [Lanes<f64>; 3],
    weight: Lanes<f64>,
}

impl Velocities {
    pub(in crate::flow) fn new(nodes: &Nodes, first: usize) -> Self {
        let part = |from: &[f64]| -> Lanes<f64> { std::array::from_fn(|l| from[first + l]) };
        Self {
            v: [0, 1, 2].map(|axis: usize| part(&nodes.v[axis])),
            weight: part(&nodes.weight),
        }
    }

    #[inline(always)]
    pub(in crate::flow) fn at(&self, l: usize) -> [f64; 3] {
        [self.v[0][l], self.v[1][l], self.v[2][l]]
    }

    #[inline(always)]
    pub(in crate::flow) fn equilibrium<const LINEAR: bool, const FUSED: bool>(
        &self,
        c: &Coefficients,
    ) -> Lanes<f64> {
        let mut all = NOTHING;
        for l in 0..LANES {
            let exponential = |x: f64| x.exp_fast::<FUSED>();
            all[l] = kernels::equilibrium::<f64, LINEAR, true, FUSED>(c, self.at(l), exponential);
        }
        all
    }

    /// The inflow through a face from what is known before the sweep; `at` is the place of the first node among given values. A mirror and closed rows have
    /// nothing yet.
    #[inline(always)]
    pub(in crate::flow) fn inflow<const LINEAR: bool, const FUSED: bool>(
        &self,
        inflow: &Inflow,
        face: usize,
        at: usize,
    ) -> Lanes<f64> {
        let mut lanes = NOTHING;
        match inflow {
            Inflow::Same(c) => return self.equilibrium::<LINEAR, FUSED>(c),
            Inflow::Faces(faces) => return self.equilibrium::<LINEAR, FUSED>(&faces[face]),
            Inflow::Wall(faces, share, values) => {
                let own = self.equilibrium::<LINEAR, FUSED>(&faces[face]);
                lanes.copy_from_slice(&values[at..][..LANES]);
                for l in 0..LANES {
                    lanes[l] = share * own[l] + (1.0 - share) * lanes[l];
                }
            }
            Inflow::Values(values) => lanes.copy_from_slice(&values[at..][..LANES]),
            Inflow::Mirror | Inflow::Closed(_) => {}
        }
        lanes
    }

    /// A full cell with faces of these areas: value, and outflow along x, y and z.
    #[inline(always)]
    fn full<const LINEAR: bool, const FUSED: bool>(
        &self,
        areas: [f64; 3],
        nu: f64,
        local: &Lanes<f64>,
        inflow: &[Lanes<f64>; 3],
    ) -> [Lanes<f64>; 4] {
        let mut all = [NOTHING; 4];
        for l in 0..LANES {
            let v = self.at(l);
            let flux = [
                v[0].abs() * areas[0],
                v[1].abs() * areas[1],
                v[2].abs() * areas[2],
            ];
            let into = [inflow[0][l], inflow[1][l], inflow[2][l]];
            let source = nu * local[l];
            let found = match LINEAR {
                true => cell::full::<f64, false, FUSED>(source, nu, flux, into),
                false => cell::full::<f64, true, FUSED>(source, nu, flux, into),
            };
            for k in 0..4 {
                all[k][l] = found[k];
            }
        }
        all
    }

    /// A cell with a facet: value, outflow along x, y and z, and arrivals at the wall.
    #[inline(always)]
    fn cut<const LINEAR: bool, const FUSED: bool>(
        &self,
        behind: &Behind<'_>,
        nu: f64,
        local: &Lanes<f64>,
        inflow: &[Lanes<f64>; 3],
    ) -> [Lanes<f64>; 5] {
        let mut all = [NOTHING; 5];
        for l in 0..LANES {
            let v = self.at(l);
            let normal = cell::through(v, behind.wall);
            let [open_in, open_out] = behind.open;
            let (mut into, mut out) = ([0.0; 4], [0.0; 4]);
            for k in 0..3 {
                into[k] = v[k].abs() * open_in[k];
                out[k] = v[k].abs() * open_out[k];
            }
            (into[3], out[3]) = (normal.max(0.0), (-normal).max(0.0));
            let c = &behind.closures[usize::from(normal < 0.0)];
            let values = [inflow[0][l], inflow[1][l], inflow[2][l], behind.emitted[l]];
            let source = nu * local[l];
            let found = match LINEAR {
                true => cell::cut::<f64, false, FUSED>(source, nu, into, out, c, values),
                false => cell::cut::<f64, true, FUSED>(source, nu, into, out, c, values),
            };
            for k in 0..5 {
                all[k][l] = found[k];
            }
        }
        all
    }

    /// Sums over the lanes of what the cell keeps.
    #[inline(always)]
    pub(in crate::flow) fn sums<const FUSED: bool>(
        &self,
        about: [f64; 3],
        f: &Lanes<f64>,
        local: &Lanes<f64>,
    ) -> [f64; UNKNOWNS] {
        let mut parts = [NOTHING; UNKNOWNS];
        for l in 0..LANES {
            let v = self.at(l);
            let c = [v[0] - about[0], v[1] - about[1], v[2] - about[2]];
            let mut part = [0.0; UNKNOWNS];
            kernels::add_sums::<f64, FUSED>(&mut part, c, self.weight[l] * (f[l] - local[l]));
            for k in 0..UNKNOWNS {
                parts[k][l] = part[k];
            }
        }
        totals(&parts)
    }

    /// Moments through a face across an axis.
    #[inline(always)]
    pub(in crate::flow) fn moments<const FUSED: bool>(
        &self,
        f: &Lanes<f64>,
        axis: usize,
    ) -> [f64; MOMENTS] {
        let mut speed = self.v[axis];
        for l in 0..LANES {
            speed[l] = speed[l].abs();
        }
        self.weighed::<FUSED>(f, &speed)
    }

    /// Moments of what arrives at a facet.
    #[inline(always)]
    pub(in crate::flow) fn arriving<const FUSED: bool>(
        &self,
        f: &Lanes<f64>,
        normal: [f64; 3],
    ) -> [f64; MOMENTS] {
        let mut speed = NOTHING;
        for l in 0..LANES {
            let v = self.at(l);
            speed[l] = (-(v[0] * normal[0] + v[1] * normal[1] + v[2] * normal[2])).max(0.0);
        }
        self.weighed::<FUSED>(f, &speed)
    }

    #[inline(always)]
    fn weighed<const FUSED: bool>(&self, f: &Lanes<f64>, speed: &Lanes<f64>) -> [f64; MOMENTS] {
        let mut parts = [NOTHING; MOMENTS];
        for l in 0..LANES {
            let mut part = [0.0; MOMENTS];
            let through = self.weight[l] * speed[l] * f[l];
            kernels::add_flux::<f64, FUSED>(&mut part, self.at(l), through);
            for k in 0..MOMENTS {
                parts[k][l] = part[k];
            }
        }
        totals(&parts)
    }
}

#[inline(always)]
pub(in crate::flow) fn add<const N: usize>(to: &mut [f64; N], part: [f64; N]) {
    for k in 0..N {
        to[k] += part[k];
    }
}

/// The sums over the lanes.
#[inline(always)]
fn totals<const N: usize>(parts: &[Lanes<f64>; N]) -> [f64; N] {
    let mut sums = [0.0; N];
    for k in 0..N {
        sums[k] = total(parts[k]);
    }
    sums
}

/// The sum of all lanes, by halves.
#[inline(always)]
fn total(x: Lanes<f64>) -> f64 {
    let half = [x[0] + x[4], x[1] + x[5], x[2] + x[6], x[3] + x[7]];
    (half[0] + half[2]) + (half[1] + half[3])
}
