//! A sweep of all velocities through space in upwind order; no distribution is stored.
//!
//! Lanes are velocities of one quadrant. A chunk of them visits the cells line by line; registers hold what passes along a line, an array what passes
//! to the next line. A periodic line is closed exactly: its outflow is affine in its inflow, `out = b + t in`, so that `in = (b + jump)/(1 - t)`.
//! Tasks have a fixed share of the chunks and sums of their own, which are added in order: the result does not depend on the number of threads.

#![allow(
    clippy::needless_range_loop,
    reason = "a lane index runs over several arrays at once, which the compiler makes vectors of"
)]

use rayon::prelude::*;

use rarefy_kernels::flow::cell::{self, Fluxes};
use rarefy_kernels::flow::gas as kernels;

use crate::flow::gas::{Coefficients, FREQUENCY, MOMENTS, UNKNOWNS, add, flux};
use crate::flow::nodes::{Chunk, Nodes};
use crate::flow::space::{Kind, Space};
use crate::maxwellian::lanes::{Job, LANES, LaneReal, Lanes, on_widest};

/// Tasks of a stage.
const TASKS: usize = 16;

/// Factor of the damping of the lagged direction behind a periodic border.
pub(super) const DAMPING: f64 = 30.0;

/// The inflow through a side.
#[derive(Clone, Debug)]
pub(in crate::flow) enum Inflow {
    /// A Maxwellian for each face.
    Faces(Vec<Coefficients>),
    /// A Maxwellian for each face, and the mirror image of what left in the last sweep.
    Wall {
        /// The Maxwellians.
        faces: Vec<Coefficients>,
        /// Their share.
        accommodation: f64,
        /// The images `[face][g, h][node]`.
        mirrored: Vec<f64>,
    },
    /// The mirror image of what left in this sweep.
    Mirror,
    /// Given values `[face][g, h][node]`.
    Values(Vec<f64>),
    /// Lines of these nodes close on themselves with a jump; the others have values.
    Closed {
        /// The jump from the lower to the upper side.
        jump: Coefficients,
        /// Values `[face][g, h][node]` of nodes that march across; empty if none do.
        values: Vec<f64>,
    },
}

/// The state that a sweep starts from.
pub(in crate::flow) struct Input {
    /// Of each cell.
    pub(in crate::flow) cells: Vec<Coefficients>,
    /// Maxwellian of each segment.
    pub(in crate::flow) segments: Vec<Coefficients>,
    /// Images of the outflow at segments with partial accommodation, `[segment][g, h][node]`.
    pub(in crate::flow) mirrored: Vec<f64>,
    /// The sides left, right, bottom and top.
    pub(in crate::flow) sides: [Inflow; 4],
    /// Whether the equilibria of the cells have a drift: those of internal energy, nonlinear.
    pub(in crate::flow) drifts: bool,
}

/// The sums of a sweep.
#[derive(Clone, Debug)]
pub(in crate::flow) struct Swept {
    /// Sums of each cell.
    pub(in crate::flow) cells: Vec<[f64; UNKNOWNS]>,
    /// Moments a unit length of what arrives at each segment.
    pub(in crate::flow) segments: Vec<[f64; MOMENTS]>,
    /// Moments a unit length of what leaves and what enters through each face of each side.
    pub(in crate::flow) sides: [Vec<[[f64; MOMENTS]; 2]>; 4],
    /// Values `[face][g, h][node]` that leave through sides that need them.
    pub(in crate::flow) left: [Vec<f64>; 4],
    /// Values `[segment][g, h][node]` that arrive at segments with partial accommodation.
    pub(in crate::flow) arrived: Vec<f64>,
}

impl Swept {
    /// Adds the sums of other velocities over cells, segments and faces.
    pub(super) fn add(
        &mut self,
        cells: &[[f64; UNKNOWNS]],
        segments: &[[f64; MOMENTS]],
        sides: &[Vec<[[f64; MOMENTS]; 2]>; 4],
    ) {
        fn add_all<const N: usize>(to: &mut [[f64; N]], from: &[[f64; N]]) {
            for (to, from) in to.iter_mut().zip(from) {
                add(to, *from);
            }
        }
        add_all(&mut self.cells, cells);
        add_all(&mut self.segments, segments);
        for (to, from) in self.sides.iter_mut().zip(sides) {
            add_all(to.as_flattened_mut(), from.as_flattened());
        }
    }
}

/// The fixed parts of a sweep.
pub(in crate::flow) struct Sweep<'a> {
    pub(in crate::flow) space: &'a Space,
    pub(in crate::flow) nodes: &'a Nodes,
    /// Accommodation of each segment, and its place among those with less than 1.
    pub(in crate::flow) accommodation: &'a [(f64, Option<usize>)],
    /// Segments with an accommodation of less than 1.
    pub(in crate::flow) loose: usize,
    /// Whether the equation is linearised.
    pub(in crate::flow) linear: bool,
    /// Sides whose outflow is kept.
    pub(in crate::flow) kept: [bool; 4],
    /// Quadrants in the order of their stages: those that leave through a mirror precede their images.
    pub(in crate::flow) stages: Vec<Vec<usize>>,
}

impl Sweep<'_> {
    /// Sweeps once.
    pub(super) fn run(&self, input: &Input) -> Swept {
        let mut swept = self.empty();
        for stage in &self.stages {
            let chunks: Vec<&Chunk> = self
                .nodes
                .chunks
                .iter()
                .filter(|chunk| stage.contains(&chunk.quadrant))
                .collect();
            let parts = TASKS.min(chunks.len());
            let earlier = &swept;
            let found: Vec<Found> = (0..parts)
                .into_par_iter()
                .map(|k| {
                    let range = k * chunks.len() / parts..(k + 1) * chunks.len() / parts;
                    let mut found = Found::new(self);
                    for chunk in &chunks[range] {
                        if self.linear {
                            self.chunk::<true, false>(input, earlier, chunk, &mut found);
                        } else {
                            self.chunk::<false, true>(input, earlier, chunk, &mut found);
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

    fn chunk<const LINEAR: bool, const SOFT: bool>(
        &self,
        input: &Input,
        earlier: &Swept,
        chunk: &Chunk,
        found: &mut Found,
    ) {
        on_widest(March::<LINEAR, SOFT> {
            sweep: self,
            input,
            earlier,
            chunk,
            found,
        });
    }

    /// Faces of a side.
    pub(super) fn faces(&self, side: usize) -> usize {
        if side < 2 {
            self.space.ny()
        } else {
            self.space.nx()
        }
    }

    /// Sums of nothing.
    pub(super) fn empty(&self) -> Swept {
        let faces = [0, 1, 2, 3].map(|side| self.faces(side));
        Swept {
            cells: vec![[0.0; UNKNOWNS]; self.space.len()],
            segments: vec![[0.0; MOMENTS]; self.space.segments.len()],
            sides: faces.map(|count| vec![[[0.0; MOMENTS]; 2]; count]),
            left: std::array::from_fn(|side| match self.kept[side] {
                true => vec![0.0; faces[side] * 2 * self.nodes.len()],
                false => Vec::new(),
            }),
            arrived: vec![0.0; self.loose * 2 * self.nodes.len()],
        }
    }
}

/// The sums of one task.
struct Found {
    cells: Vec<[f64; UNKNOWNS]>,
    segments: Vec<[f64; MOMENTS]>,
    sides: [Vec<[[f64; MOMENTS]; 2]>; 4],
    /// Outflow of a chunk through a side: first node, side, `[face][g, h][lane]`.
    left: Vec<(usize, usize, Vec<f64>)>,
    /// Arrivals of a chunk at segments with partial accommodation: first node, `[segment][g, h][lane]`.
    arrived: Vec<(usize, Vec<f64>)>,
}

impl Found {
    fn new(sweep: &Sweep<'_>) -> Self {
        Self {
            cells: vec![[0.0; UNKNOWNS]; sweep.space.len()],
            segments: vec![[0.0; MOMENTS]; sweep.space.segments.len()],
            sides: [0, 1, 2, 3].map(|side| vec![[[0.0; MOMENTS]; 2]; sweep.faces(side)]),
            left: Vec::new(),
            arrived: Vec::new(),
        }
    }

    fn add_to(self, swept: &mut Swept, nodes: usize) {
        swept.add(&self.cells, &self.segments, &self.sides);
        let scatter = |to: &mut [f64], first: usize, values: &[f64]| {
            for (row, lanes) in values.chunks_exact(LANES).enumerate() {
                to[row * nodes + first..][..LANES].copy_from_slice(lanes);
            }
        };
        for (first, side, values) in self.left {
            scatter(&mut swept.left[side], first, &values);
        }
        for (first, values) in self.arrived {
            scatter(&mut swept.arrived, first, &values);
        }
    }
}

/// Both functions of eight nodes.
type Pair = [Lanes<f64>; 2];

const NOTHING: Pair = [[0.0; LANES]; 2];

/// The march of one chunk through all cells.
struct March<'a, const LINEAR: bool, const SOFT: bool> {
    sweep: &'a Sweep<'a>,
    input: &'a Input,
    earlier: &'a Swept,
    chunk: &'a Chunk,
    found: &'a mut Found,
}

impl<const LINEAR: bool, const SOFT: bool> Job for March<'_, LINEAR, SOFT> {
    type Output = ();

    #[inline(always)]
    fn run<const FUSED: bool>(self) {
        let Self {
            sweep,
            input,
            earlier,
            chunk,
            found,
        } = self;
        let (space, nodes) = (sweep.space, sweep.nodes);
        let (nx, ny) = (space.nx(), space.ny());
        let part = |from: &[f64]| -> Lanes<f64> { std::array::from_fn(|l| from[chunk.first + l]) };
        let velocity = Velocities {
            x: part(&nodes.vx),
            y: part(&nodes.vy),
            weight: part(&nodes.weight),
        };
        let (east, north) = (chunk.quadrant & 1 == 0, chunk.quadrant & 2 == 0);
        // Sides of inflow and outflow along x and y.
        let sides_in = [usize::from(!east), 2 + usize::from(!north)];
        let sides_out = [usize::from(east), 2 + usize::from(north)];
        let columns = chunk.columns;
        // Along a line, and across lines.
        let (along, across) = if columns { (1, 0) } else { (0, 1) };
        let (lines, length) = if columns { (nx, ny) } else { (ny, nx) };
        let (forward_line, forward_cell) = if columns {
            (east, north)
        } else {
            (north, east)
        };
        let lagged = [0, 2].map(|side| matches!(input.sides[side], Inflow::Closed { .. }));
        let both = lagged[0] && lagged[1];

        let here = Here {
            sweep,
            input,
            earlier,
            chunk,
            velocity: &velocity,
        };
        let closed = match &input.sides[2 * along] {
            Inflow::Closed { jump, .. } => {
                let jump = velocity.equilibrium::<LINEAR, FUSED>(jump);
                let sign = if forward_cell { 1.0 } else { -1.0 };
                Some(jump.map(|part| part.map(|value| sign * value)))
            }
            _ => None,
        };

        let mut passing = vec![NOTHING; length];
        for (cell, values) in passing.iter_mut().enumerate() {
            let face = if forward_cell {
                cell
            } else {
                length - 1 - cell
            };
            *values = here.inflow::<LINEAR, FUSED>(sides_in[across], face);
        }
        for (cell, values) in passing.iter().enumerate() {
            let face = if forward_cell {
                cell
            } else {
                length - 1 - cell
            };
            let moments = velocity.moments(values, across);
            add(&mut found.sides[sides_in[across]][face][1], moments);
        }
        let mut saved = if closed.is_some() {
            passing.clone()
        } else {
            Vec::new()
        };
        let mut outflow = [Vec::new(), Vec::new()];
        for axis in 0..2 {
            if sweep.kept[sides_out[axis]] {
                outflow[axis] = vec![0.0; sweep.faces(sides_out[axis]) * 2 * LANES];
            }
        }
        let keep = |to: &mut Vec<f64>, face: usize, values: &Pair| {
            if !to.is_empty() {
                to[2 * face * LANES..][..LANES].copy_from_slice(&values[0]);
                to[(2 * face + 1) * LANES..][..LANES].copy_from_slice(&values[1]);
            }
        };

        let mut arrived = vec![0.0; sweep.loose * 2 * LANES];
        let mut to_wall = |s: usize, values: &Pair| {
            if let Some(place) = sweep.accommodation[s].1 {
                for (q, lanes) in values.iter().enumerate() {
                    arrived[(2 * place + q) * LANES..][..LANES].copy_from_slice(lanes);
                }
            }
        };

        for line in 0..lines {
            let o = if forward_line { line } else { lines - 1 - line };
            let first_line = line == 0;
            let mut going = match closed {
                None => here.inflow::<LINEAR, FUSED>(sides_in[along], o),
                Some(_) => NOTHING,
            };
            if closed.is_some() {
                saved.copy_from_slice(&passing);
            }
            let mut without = NOTHING;
            let passes = if closed.is_some() { 3 } else { 1 };
            for pass in 0..passes {
                let counts = pass + 1 == passes;
                if let Some(jump) = &closed {
                    if pass > 0 {
                        passing.copy_from_slice(&saved);
                    }
                    if pass == 1 {
                        without = going;
                        going = [[1.0; LANES]; 2];
                    } else if pass == 2 {
                        for k in 0..2 {
                            for l in 0..LANES {
                                let slope = going[k][l] - without[k][l];
                                going[k][l] = (without[k][l] + jump[k][l]) / (1.0 - slope);
                            }
                        }
                    }
                }
                if counts {
                    let moments = velocity.moments(&going, along);
                    add(&mut found.sides[sides_in[along]][o][1], moments);
                }
                for step in 0..length {
                    let at = if forward_cell {
                        step
                    } else {
                        length - 1 - step
                    };
                    let (i, j) = if columns { (o, at) } else { (at, o) };
                    let k = j * nx + i;
                    let kind = space.kind[k];
                    if kind == Kind::Solid {
                        going = NOTHING;
                        passing[step] = NOTHING;
                        continue;
                    }
                    let coefficients = &input.cells[k];
                    let volume = space.volume[k];
                    let nu = coefficients[FREQUENCY] * volume;
                    let local = velocity.equilibrium::<LINEAR, FUSED>(coefficients);
                    let (x, y) = match columns {
                        false => (going, passing[step]),
                        true => (passing[step], going),
                    };
                    let (mut f, mut fx, mut fy) = (NOTHING, NOTHING, NOTHING);
                    match kind {
                        Kind::Full => {
                            let [dx, dy] = space.widths(i, j);
                            let damped = (both && first_line).then_some(across);
                            [f, fx, fy] =
                                velocity.full::<SOFT, FUSED>([dx, dy], nu, damped, local, x, y);
                        }
                        Kind::Cut => {
                            let s = space.first[k];
                            let segment = &space.segments[s];
                            let open = &space.open[k];
                            let wall = here.wall_emission::<LINEAR, FUSED>(s);
                            let closures = &space.closures[s].0[chunk.quadrant];
                            let (wx, wy) = (
                                segment.length * segment.normal[0],
                                segment.length * segment.normal[1],
                            );
                            let mut arriving = NOTHING;
                            for l in 0..LANES {
                                let (ax, ay) = (velocity.x[l].abs(), velocity.y[l].abs());
                                let normal =
                                    cell::through([velocity.x[l], velocity.y[l]], [wx, wy]);
                                let flux = Fluxes {
                                    x_in: ax * open[sides_in[0]],
                                    y_in: ay * open[sides_in[1]],
                                    wall_in: normal.max(0.0),
                                    x_out: ax * open[sides_out[0]],
                                    y_out: ay * open[sides_out[1]],
                                    wall_out: (-normal).max(0.0),
                                };
                                let c = &closures[usize::from(normal < 0.0)];
                                let source = [nu * local[0][l], nu * local[1][l]];
                                let inflow = [0, 1].map(|q| [x[q][l], y[q][l], wall[q][l]]);
                                let found =
                                    cell::cut::<f64, SOFT, FUSED>(source, nu, flux, c, inflow);
                                for q in 0..2 {
                                    [f[q][l], fx[q][l], fy[q][l], arriving[q][l]] = found[q];
                                }
                            }
                            if counts {
                                to_wall(s, &arriving);
                                let moments = velocity.arriving(&arriving, segment.normal);
                                add(&mut found.segments[s], moments);
                            }
                        }
                        Kind::Corner => {
                            let s = space.first[k];
                            let open = &space.open[k];
                            let pair = [&space.segments[s], &space.segments[s + 1]];
                            let walls = [
                                here.wall_emission::<LINEAR, FUSED>(s),
                                here.wall_emission::<LINEAR, FUSED>(s + 1),
                            ];
                            for l in 0..LANES {
                                let (ax, ay) = (velocity.x[l].abs(), velocity.y[l].abs());
                                let v = [velocity.x[l], velocity.y[l]];
                                let normal = pair.map(|segment| {
                                    let length = segment.length;
                                    cell::through(v, segment.normal.map(|part| length * part))
                                });
                                let out = ax * open[sides_out[0]]
                                    + ay * open[sides_out[1]]
                                    + (-normal[0]).max(0.0)
                                    + (-normal[1]).max(0.0);
                                let into = [
                                    ax * open[sides_in[0]],
                                    ay * open[sides_in[1]],
                                    normal[0].max(0.0),
                                    normal[1].max(0.0),
                                ];
                                for q in 0..2 {
                                    let inflow = [x, y, walls[0], walls[1]].map(|part| part[q][l]);
                                    let source = nu * local[q][l];
                                    f[q][l] =
                                        cell::corner::<f64, FUSED>(source, nu, into, out, inflow);
                                }
                            }
                            (fx, fy) = (f, f);
                            if counts {
                                for (s, segment) in [s, s + 1].into_iter().zip(pair) {
                                    to_wall(s, &f);
                                    let moments = velocity.arriving(&f, segment.normal);
                                    add(&mut found.segments[s], moments);
                                }
                            }
                        }
                        Kind::Solid => {}
                    }
                    if counts {
                        let part = velocity.sums::<LINEAR, FUSED>(coefficients, &f, &local);
                        add(&mut found.cells[k], part);
                    }
                    (going, passing[step]) = if columns { (fy, fx) } else { (fx, fy) };
                }
            }
            let moments = velocity.moments(&going, along);
            add(&mut found.sides[sides_out[along]][o][0], moments);
            keep(&mut outflow[along], o, &going);
        }
        for (step, values) in passing.iter().enumerate() {
            let face = if forward_cell {
                step
            } else {
                length - 1 - step
            };
            let moments = velocity.moments(values, across);
            add(&mut found.sides[sides_out[across]][face][0], moments);
            keep(&mut outflow[across], face, values);
        }
        if !arrived.is_empty() {
            found.arrived.push((chunk.first, arrived));
        }
        for (axis, values) in outflow.into_iter().enumerate() {
            if !values.is_empty() {
                found.left.push((chunk.first, sides_out[axis], values));
            }
        }
    }
}

/// A chunk at sides and walls.
struct Here<'a> {
    sweep: &'a Sweep<'a>,
    input: &'a Input,
    earlier: &'a Swept,
    chunk: &'a Chunk,
    velocity: &'a Velocities,
}

impl Here<'_> {
    /// Values of the chunk's nodes in a row.
    #[inline(always)]
    fn load(&self, values: &[f64], row: usize) -> Lanes<f64> {
        let first = row * self.sweep.nodes.len() + self.chunk.first;
        std::array::from_fn(|l| values[first + l])
    }

    /// A share of a Maxwellian, and the rest of an image.
    #[inline(always)]
    fn mixed(&self, alpha: f64, own: Pair, values: &[f64], row: usize) -> Pair {
        let image = [self.load(values, row), self.load(values, row + 1)];
        let mut pair = own;
        for q in 0..2 {
            for l in 0..LANES {
                pair[q][l] = alpha * own[q][l] + (1.0 - alpha) * image[q][l];
            }
        }
        pair
    }

    /// The inflow through a face of a side.
    #[inline(always)]
    fn inflow<const LINEAR: bool, const FUSED: bool>(&self, side: usize, face: usize) -> Pair {
        match &self.input.sides[side] {
            Inflow::Faces(faces) => self.velocity.equilibrium::<LINEAR, FUSED>(&faces[face]),
            Inflow::Wall {
                faces,
                accommodation,
                mirrored,
            } => {
                let own = self.velocity.equilibrium::<LINEAR, FUSED>(&faces[face]);
                self.mixed(*accommodation, own, mirrored, 2 * face)
            }
            Inflow::Values(values) | Inflow::Closed { values, .. } => {
                [self.load(values, 2 * face), self.load(values, 2 * face + 1)]
            }
            Inflow::Mirror => {
                let nodes = self.sweep.nodes;
                let first = self.chunk.first;
                let images = &nodes.mirrored[side / 2][first..first + LANES];
                let left = &self.earlier.left[side];
                let of = |k: usize| -> Lanes<f64> {
                    std::array::from_fn(|l| left[(2 * face + k) * nodes.len() + images[l]])
                };
                [of(0), of(1)]
            }
        }
    }

    /// The emission of a wall, and its images of the arrivals.
    #[inline(always)]
    fn wall_emission<const LINEAR: bool, const FUSED: bool>(&self, s: usize) -> Pair {
        let own = self
            .velocity
            .equilibrium::<LINEAR, FUSED>(&self.input.segments[s]);
        match self.sweep.accommodation[s] {
            (alpha, Some(place)) => self.mixed(alpha, own, &self.input.mirrored, 2 * place),
            _ => own,
        }
    }
}

/// Eight velocities and their volumes.
struct Velocities {
    x: Lanes<f64>,
    y: Lanes<f64>,
    weight: Lanes<f64>,
}

impl Velocities {
    /// A full cell: value, and outflow through the x and y faces. The direction across lines may be damped behind a periodic border.
    #[inline(always)]
    fn full<const SOFT: bool, const FUSED: bool>(
        &self,
        [dx, dy]: [f64; 2],
        nu: f64,
        damped: Option<usize>,
        local: Pair,
        x: Pair,
        y: Pair,
    ) -> [Pair; 3] {
        let mut all = [NOTHING; 3];
        let mut factors = [[1.0; LANES]; 2];
        if let Some(across) = damped {
            for l in 0..LANES {
                let flux = [self.x[l].abs() * dy, self.y[l].abs() * dx];
                let rest = nu + flux[1 - across];
                factors[across][l] = (DAMPING * flux[across] / rest).min(1.0);
            }
        }
        for l in 0..LANES {
            let flux = [self.x[l].abs() * dy, self.y[l].abs() * dx];
            let source = [nu * local[0][l], nu * local[1][l]];
            let inflow = [[x[0][l], y[0][l]], [x[1][l], y[1][l]]];
            let factors = [factors[0][l], factors[1][l]];
            let found = cell::full::<f64, SOFT, FUSED>(source, nu, flux, factors, inflow);
            for k in 0..3 {
                all[k][0][l] = found[0][k];
                all[k][1][l] = found[1][k];
            }
        }
        all
    }

    #[inline(always)]
    fn equilibrium<const LINEAR: bool, const FUSED: bool>(&self, c: &Coefficients) -> Pair {
        let mut pair = NOTHING;
        for l in 0..LANES {
            let exponential = |x: f64| x.exp_fast::<FUSED>();
            let v = [self.x[l], self.y[l]];
            let [g, h] = kernels::equilibrium::<f64, LINEAR, true, FUSED>(c, v, exponential);
            pair[0][l] = g;
            pair[1][l] = h;
        }
        pair
    }

    /// Sums over the lanes of what the cell keeps.
    #[inline(always)]
    fn sums<const LINEAR: bool, const FUSED: bool>(
        &self,
        c: &Coefficients,
        f: &Pair,
        local: &Pair,
    ) -> [f64; UNKNOWNS] {
        let mut parts = [[0.0; LANES]; UNKNOWNS];
        for l in 0..LANES {
            let mut part = [0.0; UNKNOWNS];
            kernels::add_sums::<f64, LINEAR, FUSED>(
                &mut part,
                c,
                [self.x[l], self.y[l]],
                self.weight[l],
                [f[0][l], f[1][l]],
                [local[0][l], local[1][l]],
            );
            for k in 0..UNKNOWNS {
                parts[k][l] = part[k];
            }
        }
        parts.map(total)
    }

    /// Moments through a face across an axis.
    #[inline(always)]
    fn moments(&self, f: &Pair, axis: usize) -> [f64; MOMENTS] {
        let speed = if axis == 0 { &self.x } else { &self.y };
        self.weighed(f, &speed.map(f64::abs))
    }

    /// Moments of what arrives at a segment.
    #[inline(always)]
    fn arriving(&self, f: &Pair, normal: [f64; 2]) -> [f64; MOMENTS] {
        let mut speed = [0.0; LANES];
        for l in 0..LANES {
            speed[l] = (-(self.x[l] * normal[0] + self.y[l] * normal[1])).max(0.0);
        }
        self.weighed(f, &speed)
    }

    #[inline(always)]
    fn weighed(&self, f: &Pair, speed: &Lanes<f64>) -> [f64; MOMENTS] {
        let mut parts = [[0.0; LANES]; MOMENTS];
        for l in 0..LANES {
            let part = self.weight[l] * speed[l];
            let moments = flux([self.x[l], self.y[l]], part, [f[0][l], f[1][l]]);
            for k in 0..MOMENTS {
                parts[k][l] = moments[k];
            }
        }
        parts.map(total)
    }
}

/// The sum of all lanes, by halves.
#[inline(always)]
fn total(x: Lanes<f64>) -> f64 {
    let half = [x[0] + x[4], x[1] + x[5], x[2] + x[6], x[3] + x[7]];
    (half[0] + half[2]) + (half[1] + half[3])
}
