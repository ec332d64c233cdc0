//! Sweeps on a machine that runs kernels: the launches.

use std::sync::Arc;

use rarefy_kernels::bgk::steady::{
    self as kernels, LINE_THREADS, PLANE_LANES, PlaneShape, SteadyGas, side,
};
use rarefy_kernels::{Element, Quad, Real};

use super::cpu::CpuSweeps;
use super::engine::Sweeps;
use super::plan::{EAST, FUNCTIONS, INTERNAL, Plan, WEST};
use super::sums::{Sums, Swept, flux};
use crate::error::{Error, Result};
use crate::machine::{Grid, Limits, Machine};
use crate::memory_plan::{bytes_of, check_device, check_shared};

/// Threads of a block in the kernels with one thread an item.
const THREADS: u32 = 128;
/// Most rows of a rectangle, which are the threads of a block.
const MOST_ROWS: usize = 384;
/// Blocks that each multiprocessor is given to sweep, where there are velocities enough.
const BLOCKS_PER_MULTIPROCESSOR: usize = 3;

/// Sweeps on a machine. The closing sweep for stresses and walls, which is done once, is done by the CPU.
pub(super) struct MachineSweeps<M: Machine, T: Real> {
    machine: Arc<M>,
    plan: Plan,
    buffers: Buffers<M, T>,
    space: Space<M, T>,
    /// Sums and, on a rectangle, the mass that leaves each face, as they come from the machine.
    fetched: Vec<f64>,
    closing: CpuSweeps<f64>,
    recording: Recording<M::Graph>,
}

/// The buffers of a sweep in any space.
struct Buffers<M: Machine, T: Real> {
    gas: SteadyGas,
    x: M::Buffer<f64>,
    /// Numbers of each cell from the host, of molecules that rotate.
    cells: Option<M::Buffer<Quad<T>>>,
    fields: M::Buffer<Quad<T>>,
    nodes: M::Buffer<Quad<T>>,
    inverse: M::Buffer<T>,
    partials: M::Buffer<T>,
    leaving: M::Buffer<f64>,
    sums: M::Buffer<f64>,
}

/// Numbers in these buffers that depend on the dimensions of space.
struct Sizes {
    fields: usize,
    partials: usize,
    leaving: usize,
    sums: usize,
}

/// Whether the launches of an iteration are recorded yet.
enum Recording<G> {
    /// Nothing was launched: the first time loads the kernels.
    Never,
    /// They will be recorded next.
    Due,
    /// They are, if the machine records at all.
    Done(Option<G>),
}

/// Kernels and buffers by dimensions of space.
enum Space<M: Machine, T: Real> {
    Line(Line<M, T>),
    Plane(Box<Plane<M, T>>),
}

struct Line<M: Machine, T: Real> {
    entering: M::Buffer<T>,
    per_block: u32,
    blocks: u32,
}

struct Plane<M: Machine, T: Real> {
    shape: PlaneShape,
    emitted: M::Buffer<T>,
    sides: M::Buffer<f64>,
    blocks: M::Buffer<u32>,
    count: u32,
    first_block: M::Buffer<u32>,
    groups: M::Buffer<f64>,
    returned: M::Buffer<f64>,
    /// Where what returns begins among the unknowns.
    base: usize,
}

impl Sizes {
    /// Refuses a plan whose buffers do not fit into the memory of the machine.
    fn check<T: Real>(&self, plan: &Plan, limits: &Limits) -> Result<()> {
        Ok(check_device(
            limits,
            &format!(
                "a steady flow of {} cells and {} velocities",
                plan.layout.cells,
                plan.nodes.len()
            ),
            bytes_of::<T>((self.partials + 4 * plan.functions * self.fields) as u64)
                .saturating_add(bytes_of::<f64>(6 * plan.layout.len as u64)),
            "use fewer cells or velocities",
        )?)
    }
}

impl<M: Machine, T: Real> Line<M, T> {
    fn new(machine: &M, plan: &Plan, limits: &Limits, wanted: usize) -> Result<(Self, Sizes)> {
        let (layout, nodes) = (plan.layout, plan.nodes.len());
        let per_block = nodes_per_block(plan, wanted);
        let blocks = nodes / per_block;
        let sizes = Sizes {
            fields: layout.cells,
            partials: blocks * 3 * plan.functions * layout.cells,
            leaving: plan.functions * nodes,
            sums: layout.components * layout.cells,
        };
        sizes.check::<T>(plan, limits)?;
        let line = Self {
            entering: machine.allocate(plan.functions * nodes)?,
            per_block: per_block as u32,
            blocks: blocks as u32,
        };
        Ok((line, sizes))
    }

    /// Launches the sweeps of a line.
    fn issue(&mut self, machine: &M, plan: &Plan, buffers: &mut Buffers<M, T>) -> Result<()> {
        let gas = buffers.gas;
        if buffers.cells.is_none() {
            machine.launch(
                Grid::per_item(plan.layout.cells, THREADS),
                kernels::steady_fields {
                    x: &buffers.x,
                    fields: &mut buffers.fields,
                    gas,
                },
            )?;
        }
        let fields = buffers.cells.as_ref().unwrap_or(&buffers.fields);
        let grid = Grid {
            blocks: self.blocks,
            threads: LINE_THREADS,
        };
        macro_rules! sweep {
            ($kernel:ident) => {
                machine.launch(
                    grid,
                    kernels::$kernel {
                        fields,
                        inverse_dx: &buffers.inverse,
                        nodes: &buffers.nodes,
                        entering: &self.entering,
                        partials: &mut buffers.partials,
                        leaving: &mut buffers.leaving,
                        gas,
                        per_block: self.per_block,
                    },
                )?
            };
        }
        match (plan.linear, plan.rotation.is_some()) {
            (false, false) => sweep!(steady_line),
            (true, false) => sweep!(steady_line_linear),
            (false, true) => sweep!(steady_line_rotating),
            (true, true) => sweep!(steady_line_rotating_linear),
        }
        Ok(machine.launch(
            Grid::per_item(plan.layout.components * plan.layout.cells, THREADS),
            kernels::steady_gather {
                partials: &buffers.partials,
                sums: &mut buffers.sums,
                gas,
                blocks: self.blocks,
            },
        )?)
    }
}

impl<M: Machine, T: Real> Plane<M, T> {
    fn new(machine: &M, plan: &Plan, limits: &Limits, wanted: usize) -> Result<(Self, Sizes)> {
        if plan.ny > MOST_ROWS {
            return Err(Error::invalid(
                "cells along y",
                plan.ny,
                format!("at most {MOST_ROWS} on a GPU: use fewer cells, or compute on the CPU"),
            ));
        }
        check_shared(
            limits,
            &format!("a sweep over {} rows of cells", plan.ny),
            3 * plan.functions
                * PLANE_LANES as usize
                * plan.ny.next_multiple_of(32)
                * size_of::<T>(),
            "compute on the CPU, in f32, or with fewer cells",
        )?;
        let shape = PlaneShape {
            nx: plan.nx as u32,
            ny: plan.ny as u32,
            rows: plan.ny.next_multiple_of(32) as u32,
            nodes: plan.nodes.len() as u32,
            lanes: PLANE_LANES,
        };
        let layout = plan.layout;
        let (blocks, first_block) = blocks(plan, wanted);
        let count = blocks.len() / 3;
        let places = shape.places() as usize;
        let sizes = Sizes {
            fields: 4 * places,
            partials: count * layout.components * places,
            leaving: count * (plan.nx + plan.ny),
            sums: layout.components * layout.cells + layout.faces[4],
        };
        sizes.check::<T>(plan, limits)?;
        let base = layout.faces_at() + layout.faces[4];
        let plane = Self {
            shape,
            emitted: machine.upload(&emitted(plan))?,
            sides: machine.upload(&sides(plan, base))?,
            blocks: machine.upload(&blocks)?,
            count: count as u32,
            first_block: machine.upload(&first_block)?,
            groups: machine.allocate(4 * layout.components * layout.cells)?,
            returned: machine.upload(&vec![0.0; (layout.len - base).max(1)])?,
            base,
        };
        Ok((plane, sizes))
    }

    /// Launches the sweeps of a rectangle.
    fn issue(&mut self, machine: &M, plan: &Plan, buffers: &mut Buffers<M, T>) -> Result<()> {
        let (gas, shape) = (buffers.gas, self.shape);
        let places = 4 * shape.places() as usize;
        match &buffers.cells {
            None => machine.launch(
                Grid::per_item(places, THREADS),
                kernels::steady_plane_fields {
                    x: &buffers.x,
                    fields: &mut buffers.fields,
                    gas,
                    shape,
                },
            )?,
            Some(cells) => machine.launch(
                Grid::per_item(places, THREADS),
                kernels::steady_plane_rotating_fields {
                    cells,
                    fields: &mut buffers.fields,
                    shape,
                },
            )?,
        }
        let grid = Grid {
            blocks: self.count,
            threads: shape.rows,
        };
        macro_rules! sweep {
            ($kernel:ident) => {
                machine.launch(
                    grid,
                    kernels::$kernel {
                        fields: &buffers.fields,
                        inverse: &buffers.inverse,
                        nodes: &buffers.nodes,
                        emitted: &self.emitted,
                        x: &buffers.x,
                        sides: &self.sides,
                        blocks: &self.blocks,
                        partials: &mut buffers.partials,
                        leaving: &mut buffers.leaving,
                        returned: &mut self.returned,
                        gas,
                        shape,
                    },
                )?
            };
        }
        match (plan.linear, plan.rotation.is_some()) {
            (false, false) => sweep!(steady_plane),
            (true, false) => sweep!(steady_plane_linear),
            (false, true) => sweep!(steady_plane_rotating),
            (true, true) => sweep!(steady_plane_rotating_linear),
        }
        machine.launch(
            Grid::per_item(plan.layout.components * places, THREADS),
            kernels::steady_plane_gather {
                partials: &buffers.partials,
                first_block: &self.first_block,
                groups: &mut self.groups,
                gas,
                shape,
            },
        )?;
        let sums = plan.layout.components * plan.layout.cells + plan.layout.faces[4];
        Ok(machine.launch(
            Grid::per_item(sums, THREADS),
            kernels::steady_plane_total {
                groups: &self.groups,
                leaving: &buffers.leaving,
                first_block: &self.first_block,
                sums: &mut buffers.sums,
                gas,
                shape,
            },
        )?)
    }
}

impl<M: Machine, T: Real> MachineSweeps<M, T> {
    pub(super) fn new(machine: M, plan: &Plan) -> Result<Self> {
        if plan.force != 0.0 {
            return Err(Error::invalid(
                "force",
                plan.force,
                "0 on a GPU: compute a flow by a force on the CPU",
            ));
        }
        let limits = machine.limits()?;
        let wanted = BLOCKS_PER_MULTIPROCESSOR * limits.multiprocessors.max(1) as usize;
        let (space, sizes) = if plan.dimensions == 1 {
            let (line, sizes) = Line::new(&machine, plan, &limits, wanted)?;
            (Space::Line(line), sizes)
        } else {
            let (plane, sizes) = Plane::new(&machine, plan, &limits, wanted)?;
            (Space::Plane(Box::new(plane)), sizes)
        };
        let to = T::from_f64;
        let nodes: Vec<Quad<T>> = plan.nodes.iter().map(|node| Quad(node.map(to))).collect();
        let inverse: Vec<T> = plan.inverse.iter().flatten().map(|&w| to(w)).collect();
        let layout = plan.layout;
        let buffers = Buffers {
            gas: SteadyGas {
                half_d: 0.5 * plan.velocity_dimensions as f64,
                half_k: 0.5 * plan.internal,
                shakhov: plan.shakhov_factor,
                omega: plan.omega,
                frequency: plan.frequency,
                cells: layout.cells as u32,
                components: layout.components as u32,
                linear: u32::from(plan.linear),
                diamond: u32::from(plan.diamond),
            },
            x: machine.allocate(layout.len)?,
            cells: match plan.rotation {
                Some(_) => Some(machine.allocate(FUNCTIONS * layout.cells)?),
                None => None,
            },
            fields: machine.allocate(plan.functions * sizes.fields)?,
            nodes: machine.upload(&nodes)?,
            inverse: machine.upload(&inverse)?,
            partials: machine.allocate(sizes.partials)?,
            leaving: machine.allocate(sizes.leaving)?,
            sums: machine.allocate(sizes.sums)?,
        };
        Ok(Self {
            buffers,
            space,
            fetched: vec![0.0; sizes.sums],
            closing: CpuSweeps::new(plan),
            recording: Recording::Never,
            plan: plan.clone(),
            machine: Arc::new(machine),
        })
    }

    /// Launches the sweeps at the unknowns on the machine.
    fn issue(&mut self) -> Result<()> {
        let (plan, buffers) = (&self.plan, &mut self.buffers);
        match &mut self.space {
            Space::Line(line) => line.issue(&self.machine, plan, buffers),
            Space::Plane(plane) => plane.issue(&self.machine, plan, buffers),
        }
    }

    /// Starts the sweeps: as a graph from the second time on, since the first one loads the kernels.
    fn start(&mut self) -> Result<()> {
        match std::mem::replace(&mut self.recording, Recording::Due) {
            Recording::Never => self.issue(),
            Recording::Due => {
                let machine = self.machine.clone();
                let graph = machine.capture(&mut || self.issue())?;
                self.recording = Recording::Done(graph);
                self.start()
            }
            Recording::Done(None) => {
                self.recording = Recording::Done(None);
                self.issue()
            }
            Recording::Done(Some(graph)) => {
                self.machine.replay(&graph)?;
                self.recording = Recording::Done(Some(graph));
                Ok(())
            }
        }
    }

    fn fetch<E: Element + Default>(&self, buffer: &M::Buffer<E>, len: usize) -> Result<Vec<E>> {
        let mut data = vec![E::default(); len];
        self.machine.read(buffer, &mut data)?;
        Ok(data)
    }
}

impl<M: Machine, T: Real> Sweeps for MachineSweeps<M, T> {
    fn iterate(&mut self, x: &[f64], y: &mut [f64]) -> Result<Swept> {
        self.machine.write(&mut self.buffers.x, x)?;
        if let Some(cells) = &mut self.buffers.cells {
            self.machine.write(cells, &cell_numbers(&self.plan, x))?;
        }
        let mut came = Vec::new();
        if let Space::Line(line) = &mut self.space {
            came = entering_line(&self.plan, x);
            let values: Vec<T> = came.iter().copied().map(T::from_f64).collect();
            self.machine.write(&mut line.entering, &values)?;
        }
        self.start()?;
        self.machine.read(&self.buffers.sums, &mut self.fetched)?;
        let cells = self.plan.layout.components * self.plan.layout.cells;
        let (sums, left) = self.fetched.split_at(cells);
        let sums = sums.to_vec();
        Ok(match &self.space {
            Space::Line(_) => {
                let count = self.plan.functions * self.plan.nodes.len();
                let leaving = self.fetch(&self.buffers.leaving, count)?;
                Swept {
                    left: left_line(&self.plan, &leaving, y).to_vec(),
                    fluxes: fluxes_line(&self.plan, x, &came, &leaving, &sums),
                    sums,
                    ..Swept::default()
                }
            }
            Space::Plane(plane) => {
                if y.len() > plane.base {
                    self.machine.read(&plane.returned, &mut y[plane.base..])?;
                }
                Swept {
                    left: left.to_vec(),
                    sums,
                    fluxes: Vec::new(),
                    ..Swept::default()
                }
            }
        })
    }

    /// Interior fluxes are integrals of the cells' sums, which lose another factor of the thickness. Linearised sums have the size of the drive and lose a small part of it: twice as much as
    /// plates 30 to 3000 mean free paths apart do, on 100 to 1600 cells.
    fn flux_roundoff(&self, thickness: f64) -> f64 {
        let lost = match self.plan.linear {
            true => 1.0 + (thickness - 1.0).max(0.0) / 64.0,
            false => thickness.max(1.0),
        };
        T::EPSILON.to_f64() * thickness * lost
    }

    fn unit(&self) -> f64 {
        T::EPSILON.to_f64()
    }

    fn output(&mut self, x: &[f64]) -> Result<Sums> {
        self.closing.output(x)
    }
}

/// Nodes that a block of the line sweep owns: as many as leave every multiprocessor the wanted number of blocks, dividing both directions.
fn nodes_per_block(plan: &Plan, wanted: usize) -> usize {
    let [east, west] = [0, 1].map(|g| plan.groups[g + 1] - plan.groups[g]);
    let (mut a, mut b) = (east, west);
    while b > 0 {
        (a, b) = (b, a % b);
    }
    let fits = |n: &usize| a.is_multiple_of(*n) && plan.nodes.len() / n >= wanted;
    (1..=a).rev().find(fits).unwrap_or(1)
}

/// Inflow of a line at each node, `[function][node]`.
fn entering_line(plan: &Plan, x: &[f64]) -> Vec<f64> {
    let count = plan.nodes.len();
    let mut values = vec![0.0; plan.functions * count];
    for node in 0..count {
        let side = if plan.group(node) == 0 { WEST } else { EAST };
        let f = plan.incoming(x, side, 0, node);
        for (values, f) in values.chunks_exact_mut(count).zip(f) {
            values[node] = f;
        }
    }
    values
}

/// A node's functions out of `[function][node]`.
fn functions_of(values: &[f64], count: usize, node: usize) -> [f64; FUNCTIONS] {
    std::array::from_fn(|k| values.get(k * count + node).copied().unwrap_or(0.0))
}

/// The numbers that the equilibria of molecules that rotate are evaluated from, `[cell][3]`.
fn cell_numbers<T: Real>(plan: &Plan, x: &[f64]) -> Vec<Quad<T>> {
    let coefficients = plan.coefficients(x);
    let quads = coefficients.iter().flat_map(|c| {
        let number = |k: usize| T::from_f64(c.get(k).copied().unwrap_or(0.0));
        [0, 4, 8].map(|first| Quad([0, 1, 2, 3].map(|k| number(first + k))))
    });
    quads.collect()
}

/// The fluxes through all faces of a line: at both ends from what enters and leaves, between them by the balance of each cell,
/// `F_out - F_in = -h nu sum (f - S) (...)`.
fn fluxes_line(
    plan: &Plan,
    x: &[f64],
    came: &[f64],
    leaving: &[f64],
    sums: &[f64],
) -> Vec<[f64; flux::LEN]> {
    let (count, cells) = (plan.nodes.len(), plan.layout.cells);
    let mut ends = [[0.0; flux::LEN]; 2];
    for node in 0..count {
        let (enters, leaves) = if plan.group(node) == 0 {
            (WEST, EAST)
        } else {
            (EAST, WEST)
        };
        plan.add_fluxes(&mut ends[enters], node, functions_of(came, count, node));
        plan.add_fluxes(&mut ends[leaves], node, functions_of(leaving, count, node));
    }
    let [west, east] = ends;
    let mut fluxes = Vec::with_capacity(cells + 1);
    fluxes.push(west);
    let mut now = west;
    for (cell, c) in plan.coefficients(x).iter().enumerate() {
        let factor = plan.widths[0][cell] * c[6];
        for (k, flux) in now.iter_mut().enumerate() {
            let (of, share) = match k {
                flux::ENERGY => (k, 0.5),
                flux::INTERNAL if plan.rotation.is_some() => (INTERNAL, 0.5),
                flux::INTERNAL => continue,
                _ => (k, 1.0),
            };
            *flux -= factor * share * sums[of * cells + cell];
        }
        fluxes.push(now);
    }
    // Roundoff of the integral, spread over the line.
    let length: f64 = plan.widths[0].iter().sum();
    let mut place = 0.0;
    for (face, fluxes) in fluxes.iter_mut().enumerate().skip(1) {
        place += plan.widths[0][face - 1] / length;
        for (k, flux) in fluxes.iter_mut().enumerate() {
            *flux += place * (east[k] - now[k]);
        }
    }
    fluxes
}

/// The mass that leaves both ends of a line; what returns goes into `y`.
fn left_line(plan: &Plan, leaving: &[f64], y: &mut [f64]) -> [f64; 2] {
    let count = plan.nodes.len();
    let mut left = [0.0; 2];
    for (node, &[v, _, _, weight]) in plan.nodes.iter().enumerate() {
        let side = if plan.group(node) == 0 { EAST } else { WEST };
        left[side] += weight * v.abs() * leaving[node];
        if let Some(offset) = plan.record(side) {
            for k in 0..plan.functions {
                y[offset + k * count + node] = leaving[k * count + node];
            }
        }
    }
    left
}

/// The blocks of the plane sweep: first node, batches and direction of each; and the first block of each direction, with the end.
fn blocks(plan: &Plan, wanted: usize) -> (Vec<u32>, [u32; 5]) {
    let lanes = PLANE_LANES as usize;
    let batches = plan.nodes.len() / lanes;
    let (mut blocks, mut first) = (Vec::new(), [0; 5]);
    for group in 0..4 {
        let mine = (plan.groups[group + 1] - plan.groups[group]) / lanes;
        let share = (wanted * mine / batches.max(1))
            .clamp(1, mine.max(1))
            .min(mine);
        for k in 0..share {
            let [from, to] = [k, k + 1].map(|k| k * mine / share);
            let node = plan.groups[group] + from * lanes;
            blocks.extend([node as u32, (to - from) as u32, group as u32]);
        }
        first[group + 1] = (blocks.len() / 3) as u32;
    }
    (blocks, first)
}

/// Emission of the sides, `[side][a_1, a_2, b_1, b_2][node]`; of molecules that rotate a_3 and b_3 too.
fn emitted<T: Real>(plan: &Plan) -> Vec<T> {
    let count = plan.nodes.len();
    let functions = plan.functions;
    let mut table = vec![T::ZERO; 8 * functions * count];
    let rows = table.chunks_exact_mut(2 * functions * count);
    for (rows, s) in rows.zip(&plan.sides) {
        let Some(s) = s else { continue };
        let lists = s.a[..functions].iter().chain(&s.b[..functions]);
        for (row, list) in rows.chunks_exact_mut(count).zip(lists) {
            for (to, &value) in row.iter_mut().zip(list) {
                *to = T::from_f64(value);
            }
        }
    }
    table
}

/// The table that describes the sides of space; what returns is recorded from `base` on.
fn sides(plan: &Plan, base: usize) -> Vec<f64> {
    let mut table = vec![0.0; 4 * side::LEN];
    for (which, row) in table.chunks_exact_mut(side::LEN).enumerate() {
        let Some(s) = &plan.sides[which] else {
            continue;
        };
        row[side::SHARE] = s.share;
        row[side::DENSITY] = (plan.layout.faces_at() + plan.layout.faces[which]) as f64;
        row[side::RETURNED] = if s.returned.is_some() {
            s.offset as f64
        } else {
            -1.0
        };
        row[side::RECORD] = plan.record(which).map_or(-1.0, |at| (at - base) as f64);
        for group in 0..4 {
            let first = plan.groups[group];
            let partner = match s.returned {
                Some((_, mirrored)) if first < plan.groups[group + 1] => {
                    plan.partner(which, first, mirrored)
                }
                _ => first,
            };
            row[side::SHIFT + group] = partner as f64 - first as f64;
        }
    }
    table
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::bgk::steady::{Closure, SteadyProblem};
    use crate::bgk::{
        Axis, Boundaries, Boundary, Gas, Model, Problem, Space, Species, State, VelocitySpace, Wall,
    };
    use crate::emulator::{Emulator, ThreadOrder};

    /// A line and a rectangle of a gas between walls that mirror a part, stirred a little.
    fn problems(gas: Gas) -> Vec<SteadyProblem> {
        let axes = [8, 8].map(|n| Axis::uniform(n, -4.2, 4.2).expect("an axis"));
        let wall = |speed: f64, accommodation| {
            Boundary::Wall(Wall {
                accommodation,
                ..Wall::diffuse(1.1).moving([speed, 0.0])
            })
        };
        let stirred = |x: f64, y: f64| State {
            density: 1.0 + 0.05 * (4.0 * x + 3.0 * y).sin(),
            velocity: [0.0, 0.05 * (5.0 * x).sin()],
            temperature: 1.0 + 0.05 * (2.0 * x - 6.0 * y).cos(),
        };
        let velocity = VelocitySpace::new(axes.to_vec(), 2).expect("velocities");
        let line = Problem::new(
            Space::line(37, [0.0, 2.0]).expect("cells"),
            velocity.clone(),
            gas,
            Boundaries::line(wall(0.0, 0.6), wall(0.0, 1.0)),
            |x, _| stirred(x, 0.0),
        );
        let plane = Problem::new(
            Space::rectangle([11, 9], [0.0, 2.0], [0.0, 2.0]).expect("cells"),
            velocity,
            gas,
            Boundaries {
                left: wall(0.0, 1.0),
                right: wall(0.0, 0.4),
                bottom: Boundary::Specular,
                top: wall(0.2, 1.0),
            },
            stirred,
        );
        let steady = |problem: Result<Problem>| SteadyProblem::from(&problem.expect("a problem"));
        [line, plane].map(steady).into()
    }

    /// Sums and returning molecules of three iterations with the threads of a block in an order, in bits.
    fn swept<T: Real>(plan: &Plan, start: &[f64], order: ThreadOrder) -> Vec<u64> {
        let mut sweeps = MachineSweeps::<_, T>::new(Emulator::new(order), plan).expect("sweeps");
        let (mut x, mut all) = (start.to_vec(), Vec::new());
        for _ in 0..3 {
            let mut y = x.clone();
            let found = sweeps.iterate(&x, &mut y).expect("an iteration");
            all.extend(found.sums.iter().chain(&found.left).chain(&y).copied());
            all.extend(found.fluxes.into_iter().flatten());
            x = y;
        }
        all.into_iter().map(f64::to_bits).collect()
    }

    fn order_of_threads_does_not_matter<T: Real>() {
        let nitrogen = Gas {
            model: Model::Polyatomic,
            rotation: Species::Nitrogen.rotation(),
            frequency: 2.0,
            ..Gas::default()
        };
        let shakhov = Gas {
            model: Model::Shakhov,
            rotation: None,
            ..nitrogen
        };
        for (gas, linear) in [
            (nitrogen, false),
            (nitrogen, true),
            (shakhov, false),
            (shakhov, true),
        ] {
            for mut problem in problems(gas) {
                problem.linear = linear;
                let plan = Plan::new(&problem, Closure::Diamond).expect("a plan");
                let start = plan.start(&problem);
                let usual = swept::<T>(&plan, &start, ThreadOrder::Ascending);
                for order in [
                    ThreadOrder::Descending,
                    ThreadOrder::Random(5),
                    ThreadOrder::Random(7),
                ] {
                    let found = swept::<T>(&plan, &start, order);
                    let what = (gas.model, linear, plan.dimensions, order);
                    assert!(found == usual, "{what:?}");
                }
            }
        }
    }

    #[test]
    fn threads_in_any_order_have_the_same_bits() {
        order_of_threads_does_not_matter::<f64>();
        order_of_threads_does_not_matter::<f32>();
    }
}
