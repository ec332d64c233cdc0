//! Sweeps on a machine that runs kernels: buffers, launches, and the sums that come back.

use rarefy_kernels::flow::layout::{MOST_LANES, PlaneShape, code, side, wall, work};
use rarefy_kernels::flow::plane as kernels;
use rarefy_kernels::{Element, Quad, Real};

use super::engine::Sweeps;
use super::sweep::{Inflow, Input, Sweep, Swept};
use crate::compute::Precision;
use crate::error::{Error, Result};
use crate::flow::gas::{Coefficients, DRIFT, FREQUENCY, MOMENTS, UNKNOWNS};
use crate::flow::space::Kind;
use crate::machine::{Grid, Limits, Machine};
use crate::maxwellian::lanes::LANES as CHUNK;
use crate::memory_plan::{bytes_of, check_device, check_shared};

/// Threads of a block in the kernels with one thread an item.
const THREADS: u32 = 128;

/// Shared memory of each block that the machine takes for itself.
const RESERVED: usize = 1024;

/// Share of the free memory that the blocks' sums may take.
const SHARE_OF_MEMORY: f64 = 0.5;

/// The division of a sweep among blocks.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct Plan {
    /// Rows of a strip, a thread each.
    rows: usize,
    strips: usize,
    /// Velocities that a thread carries.
    lanes: usize,
    /// Blocks that the machine runs at once.
    blocks: usize,
}

/// Costs of a sweep in one precision, from profiles by Nsight Compute of an H200.
struct Costs {
    /// Most threads of a block: with it all registers of a multiprocessor are taken.
    threads: usize,
    /// Instructions of a row and step, and of each of its velocities.
    instructions: [f64; 2],
    /// Cycles that an instruction takes of a warp, and more for each warp of a scheduler.
    cycles: [f64; 2],
}

const COSTS: [Costs; 2] = [
    Costs {
        threads: 512,
        instructions: [300.0, 100.0],
        cycles: [4.3, 0.5],
    },
    Costs {
        threads: 256,
        instructions: [330.0, 190.0],
        cycles: [4.3, 0.9],
    },
];

/// Bytes of partial sums that are added up in a cycle.
const ADDED: f64 = 930.0;

impl Plan {
    /// The division with the least cost. `stages` has the nodes of each quadrant of each stage, in numbers of `size` bytes.
    fn new(limits: &Limits, size: usize, [nx, ny]: [usize; 2], stages: &[Vec<usize>]) -> Self {
        let costs = &COSTS[usize::from(size > 4)];
        let multiprocessors = limits.multiprocessors.max(1) as usize;
        let mut best = (f64::INFINITY, None);
        for strips in ny.div_ceil(costs.threads)..=ny.div_ceil(32) {
            let rows = ny.div_ceil(strips).next_multiple_of(32);
            if rows * (strips - 1) >= ny {
                continue;
            }
            for lanes in (2..=MOST_LANES as usize).step_by(2) {
                let shared = shared_bytes(rows, lanes, size);
                if shared > limits.shared_bytes_per_block {
                    continue;
                }
                let by_memory = limits.shared_bytes_per_multiprocessor / (shared + RESERVED);
                let together = (costs.threads / rows).min(by_memory).max(1);
                let plan = Self {
                    rows,
                    strips,
                    lanes,
                    blocks: together * multiprocessors,
                };
                let cost = stages.iter().map(|counts| {
                    let per_block = plan.batches_of_a_block(counts);
                    let blocks = blocks_of(counts, lanes, per_block);
                    let steps = per_block * strips * (1 + nx.max(rows)) + rows;
                    let warps = (blocks.div_ceil(multiprocessors) * rows) as f64 / 128.0;
                    let of_step = costs.instructions[0] + costs.instructions[1] * lanes as f64;
                    let cycles = costs.cycles[0] + costs.cycles[1] * warps;
                    let sums = (blocks * nx * ny * UNKNOWNS * size) as f64 / ADDED;
                    steps as f64 * of_step * cycles + sums
                });
                let cost: f64 = cost.sum();
                if cost < best.0 {
                    best = (cost, Some(plan));
                }
            }
        }
        // Where no plan fits, the check of the memory says so.
        best.1.unwrap_or(Self {
            rows: 32,
            strips: ny.div_ceil(32),
            lanes: 2,
            blocks: multiprocessors,
        })
    }

    /// The fewest batches of a block with which the machine runs all blocks of a stage at once.
    fn batches_of_a_block(&self, counts: &[usize]) -> usize {
        let total: usize = counts.iter().map(|nodes| nodes.div_ceil(self.lanes)).sum();
        let mut batches = total.div_ceil(self.blocks).max(1);
        // Each quadrant has a block.
        let least = counts.iter().filter(|&&nodes| nodes > 0).count();
        while blocks_of(counts, self.lanes, batches) > self.blocks.max(least) {
            batches += 1;
        }
        batches
    }
}

/// Blocks of a stage with so many batches each.
fn blocks_of(counts: &[usize], lanes: usize, batches: usize) -> usize {
    let blocks = counts
        .iter()
        .map(|nodes| nodes.div_ceil(lanes).div_ceil(batches));
    blocks.sum()
}

/// Shared memory of a block: two functions of each velocity.
fn shared_bytes(rows: usize, lanes: usize, size: usize) -> usize {
    2 * lanes * (3 * rows + 2) * size
}

/// Sweeps on a machine in a precision.
///
/// # Errors
/// Those of [`DeviceSweeps::new`].
pub(super) fn new<M: Machine + 'static>(
    machine: M,
    precision: Precision,
    sweep: &Sweep<'_>,
    sides: &[Inflow; 4],
) -> Result<Box<dyn Sweeps>> {
    Ok(match precision {
        Precision::F32 => Box::new(DeviceSweeps::<M, f32>::new(machine, sweep, sides)?),
        Precision::F64 => Box::new(DeviceSweeps::<M, f64>::new(machine, sweep, sides)?),
    })
}

/// Sweeps on a machine.
struct DeviceSweeps<M: Machine, T: Real> {
    machine: M,
    shape: PlaneShape,
    launches: Vec<Launch>,
    carried: Carried,
    sizes: Sizes,
    buffers: Buffers<M, T>,
}

/// Blocks that are launched together.
struct Launch {
    first: u32,
    count: u32,
}

/// Offsets of what sides and walls carry from sweep to sweep.
#[derive(Default)]
struct Carried {
    /// Inflow of each side.
    values: [Option<usize>; 4],
    /// Outflow of each side.
    records: [Option<usize>; 4],
    mirrored: usize,
    arrived: usize,
    len: usize,
}

#[derive(Clone, Copy)]
struct Sizes {
    cells: usize,
    segments: usize,
    faces: usize,
    loose: usize,
    nodes: usize,
}

/// Drifts of internal energy, of the cells and in the order of each quadrant.
struct Drifts<M: Machine, T: Real> {
    cells: M::Buffer<f64>,
    places: M::Buffer<Quad<T>>,
}

struct Buffers<M: Machine, T: Real> {
    /// From the first sweep of internal energy on.
    drifts: Option<Drifts<M, T>>,
    coefficients: M::Buffer<f64>,
    fields: M::Buffer<Quad<T>>,
    codes: M::Buffer<u32>,
    widths: M::Buffer<T>,
    nodes: M::Buffer<Quad<T>>,
    walls: M::Buffer<T>,
    emission: M::Buffer<Quad<T>>,
    sides: M::Buffer<f64>,
    images: M::Buffer<u32>,
    blocks: M::Buffer<u32>,
    ranges: M::Buffer<u32>,
    sums: M::Buffer<T>,
    arrivals: M::Buffer<T>,
    faces: M::Buffer<T>,
    passing: M::Buffer<Quad<T>>,
    carried: M::Buffer<T>,
    cells: M::Buffer<f64>,
    totals: M::Buffer<f64>,
}

/// A buffer of at least one element, which no machine refuses.
fn upload<M: Machine, E: Element + Default>(machine: &M, data: &[E]) -> Result<M::Buffer<E>> {
    match data.is_empty() {
        true => Ok(machine.upload(&[E::default()])?),
        false => Ok(machine.upload(data)?),
    }
}

impl<M: Machine, T: Real + Element> DeviceSweeps<M, T> {
    /// Lays out a space, its velocities and its sides.
    ///
    /// # Errors
    /// Lines that close on themselves; too little memory.
    fn new(machine: M, sweep: &Sweep<'_>, sides: &[Inflow; 4]) -> Result<Self> {
        let limits = machine.limits()?;
        let (space, nodes) = (sweep.space, sweep.nodes);
        let (nx, ny) = (space.nx(), space.ny());
        let stages: Vec<Vec<usize>> = sweep
            .stages
            .iter()
            .map(|stage| stage.iter().map(|&q| nodes_of(sweep, q)).collect())
            .collect();
        let plan = Plan::new(&limits, size_of::<T>(), [nx, ny], &stages);
        let mut shape = PlaneShape {
            nx: nx as u32,
            ny: ny as u32,
            rows: plan.rows as u32,
            strips: plan.strips as u32,
            nodes: nodes.len() as u32,
            lanes: plan.lanes as u32,
            segments: space.segments.len() as u32,
            mirrored: 0,
            arrived: 0,
            first_block: 0,
        };
        check_shared(
            &limits,
            &format!("a sweep over strips of {} rows", plan.rows),
            shared_bytes(plan.rows, plan.lanes, size_of::<T>()),
            "compute on the CPU, or in f32",
        )?;
        let sizes = Sizes {
            cells: space.len(),
            segments: space.segments.len(),
            faces: 2 * (nx + ny),
            loose: sweep.loose,
            nodes: nodes.len(),
        };
        let carried = Carried::new(sweep, sides, sizes)?;
        (shape.mirrored, shape.arrived) = (carried.mirrored as u32, carried.arrived as u32);
        // The partial sums of a block.
        let of_block = UNKNOWNS * shape.places() as usize
            + MOMENTS * (sizes.segments + sizes.faces)
            + 2 * plan.lanes * nx;
        let room =
            SHARE_OF_MEMORY * limits.free_bytes as f64 / bytes_of::<T>(of_block as u64) as f64;
        let plan = Plan {
            blocks: plan.blocks.min(room as usize).max(1),
            ..plan
        };
        let (blocks, ranges, launches) = divided(sweep, &plan);
        let count = blocks.len() / work::LEN;
        // Eight numbers and a code of each place of four quadrants; coefficients and sums of each cell.
        let fixed = 4 * 9 * shape.places() as usize + 16 * sizes.cells;
        check_device(
            &limits,
            &format!("a flow of {nx} x {ny} cells and {} velocities", nodes.count),
            bytes_of::<T>((count * of_block + fixed + carried.len) as u64),
            "use fewer cells, or compute on the CPU",
        )?;
        if carried.len > u32::MAX as usize / 2 {
            return Err(Error::Numerical(
                "the sides and walls that mirror carry more values than a GPU can index; compute on the CPU".to_owned(),
            ));
        }
        let to = T::from_f64;
        let widths: Vec<T> = [&space.x, &space.y]
            .into_iter()
            .flat_map(|edges| edges.windows(2).map(|pair| to(pair[1] - pair[0])))
            .collect();
        let list: Vec<Quad<T>> = (0..nodes.len())
            .map(|m| {
                Quad([
                    to(nodes.vx[m]),
                    to(nodes.vy[m]),
                    to(nodes.weight[m]),
                    T::ZERO,
                ])
            })
            .collect();
        let images: Vec<u32> = nodes
            .mirrored
            .iter()
            .flatten()
            .map(|&m| if m == usize::MAX { 0 } else { m as u32 })
            .collect();
        let buffers = Buffers {
            drifts: None,
            coefficients: machine.allocate(DRIFT * sizes.cells)?,
            fields: machine.upload(&vec![Quad([T::ZERO; 4]); 8 * shape.places() as usize])?,
            codes: machine.upload(&codes(sweep, &shape))?,
            widths: machine.upload(&widths)?,
            nodes: machine.upload(&list)?,
            walls: upload(&machine, &walls::<T>(sweep))?,
            emission: machine.allocate(2 * (sizes.segments + sizes.faces))?,
            sides: machine.upload(&carried.sides(sides))?,
            images: machine.upload(&images)?,
            blocks: machine.upload(&blocks)?,
            ranges: machine.upload(&ranges)?,
            sums: machine.allocate(count * UNKNOWNS * shape.places() as usize)?,
            arrivals: machine.allocate((count * MOMENTS * sizes.segments).max(1))?,
            faces: machine.allocate(count * 2 * MOMENTS * (nx + ny))?,
            passing: machine.allocate(count * plan.lanes / 2 * nx)?,
            carried: machine.upload(&vec![T::ZERO; carried.len.max(1)])?,
            cells: machine.allocate(UNKNOWNS * sizes.cells)?,
            totals: machine.allocate(MOMENTS * sizes.segments + 2 * MOMENTS * sizes.faces)?,
        };
        Ok(Self {
            machine,
            shape,
            launches,
            carried,
            sizes,
            buffers,
        })
    }

    /// Writes the state that a sweep starts from.
    fn write(&mut self, sweep: &Sweep<'_>, input: &Input) -> Result<()> {
        let (machine, buffers) = (&self.machine, &mut self.buffers);
        let mut coefficients = Vec::with_capacity(DRIFT * self.sizes.cells);
        for (cell, c) in input.cells.iter().enumerate() {
            let mut c = *c;
            c[FREQUENCY] *= sweep.space.volume[cell];
            coefficients.extend_from_slice(&c[..DRIFT]);
        }
        machine.write(&mut buffers.coefficients, &coefficients)?;
        if input.drifts {
            let drifts = match &mut buffers.drifts {
                Some(drifts) => drifts,
                none => none.insert(Drifts {
                    cells: machine.allocate(2 * self.sizes.cells)?,
                    places: machine.allocate(4 * self.shape.places() as usize)?,
                }),
            };
            let cells = input.cells.iter().flat_map(|c| &c[DRIFT..]);
            let cells: Vec<f64> = cells.copied().collect();
            machine.write(&mut drifts.cells, &cells)?;
        }
        let nothing = [0.0; 10];
        let faces = input.sides.iter().enumerate().flat_map(|(k, side)| {
            let faces = match side {
                Inflow::Faces(faces) | Inflow::Wall { faces, .. } => faces.as_slice(),
                _ => &[],
            };
            (0..sweep.faces(k)).map(move |face| *faces.get(face).unwrap_or(&nothing))
        });
        let emission: Vec<Quad<T>> = input
            .segments
            .iter()
            .copied()
            .chain(faces)
            .flat_map(|c| halves::<T>(&c))
            .collect();
        machine.write(&mut buffers.emission, &emission)?;
        if self.carried.len > 0 {
            let mut carried = vec![T::ZERO; self.carried.len];
            let mut put = |at: usize, values: &[f64]| {
                for (to, value) in carried[at..].iter_mut().zip(values) {
                    *to = T::from_f64(*value);
                }
            };
            for (at, side) in self.carried.values.iter().zip(&input.sides) {
                if let (
                    Some(at),
                    Inflow::Wall {
                        mirrored: values, ..
                    }
                    | Inflow::Values(values),
                ) = (at, side)
                {
                    put(*at, values);
                }
            }
            put(self.carried.mirrored, &input.mirrored);
            machine.write(&mut buffers.carried, &carried)?;
        }
        Ok(())
    }

    /// Launches the sweeps of all stages, and the sums over their blocks.
    fn launch(&mut self, linear: bool, drifts: bool) -> Result<()> {
        let (machine, buffers, shape) = (&self.machine, &mut self.buffers, self.shape);
        let places = shape.places() as usize;
        machine.launch(
            Grid::per_item(4 * places, THREADS),
            kernels::flow_fields {
                coefficients: &buffers.coefficients,
                fields: &mut buffers.fields,
                shape,
            },
        )?;
        let drifts = match (drifts, &mut buffers.drifts) {
            (true, Some(drifts)) => {
                machine.launch(
                    Grid::per_item(4 * places, THREADS),
                    kernels::flow_drifts {
                        drifts: &drifts.cells,
                        to: &mut drifts.places,
                        shape,
                    },
                )?;
                Some(&drifts.places)
            }
            _ => None,
        };
        macro_rules! sweep {
            ($kernel:ident, $launch:ident $(, $drifts:ident)?) => {
                machine.launch(
                    Grid {
                        blocks: $launch.count,
                        threads: shape.rows,
                    },
                    kernels::$kernel {
                        fields: &buffers.fields,
                        $($drifts: $drifts,)?
                        codes: &buffers.codes,
                        widths: &buffers.widths,
                        nodes: &buffers.nodes,
                        walls: &buffers.walls,
                        emission: &buffers.emission,
                        sides: &buffers.sides,
                        images: &buffers.images,
                        blocks: &buffers.blocks,
                        sums: &mut buffers.sums,
                        arrivals: &mut buffers.arrivals,
                        faces: &mut buffers.faces,
                        passing: &mut buffers.passing,
                        carried: &mut buffers.carried,
                        shape: PlaneShape {
                            first_block: $launch.first,
                            ..shape
                        },
                    },
                )?
            };
        }
        for launch in &self.launches {
            match (linear, drifts) {
                (true, _) => sweep!(flow_plane_linear, launch),
                (false, None) => sweep!(flow_plane, launch),
                (false, Some(drifts)) => sweep!(flow_plane_internal, launch, drifts),
            }
        }
        for quadrant in 0..4 {
            machine.launch(
                Grid::per_item(shape.places() as usize, THREADS),
                kernels::flow_cells {
                    partials: &buffers.sums,
                    codes: &buffers.codes,
                    ranges: &buffers.ranges,
                    cells: &mut buffers.cells,
                    shape,
                    quadrant,
                },
            )?;
        }
        let moments = MOMENTS * (self.sizes.segments + 2 * self.sizes.faces);
        Ok(machine.launch(
            Grid::per_item(moments, THREADS),
            kernels::flow_borders {
                arrivals: &buffers.arrivals,
                faces: &buffers.faces,
                ranges: &buffers.ranges,
                totals: &mut buffers.totals,
                shape,
            },
        )?)
    }

    /// Fetches the sums.
    fn read(&self, sweep: &Sweep<'_>) -> Result<Swept> {
        let (machine, buffers, sizes) = (&self.machine, &self.buffers, self.sizes);
        let mut swept = sweep.empty();
        let mut cells = vec![0.0; UNKNOWNS * sizes.cells];
        machine.read(&buffers.cells, &mut cells)?;
        for (to, from) in swept.cells.iter_mut().zip(cells.chunks_exact(UNKNOWNS)) {
            to.copy_from_slice(from);
        }
        let mut totals = vec![0.0; MOMENTS * (sizes.segments + 2 * sizes.faces)];
        machine.read(&buffers.totals, &mut totals)?;
        let mut rows = totals.chunks_exact(MOMENTS);
        let sides = swept.sides.iter_mut().flatten().flatten();
        for to in swept.segments.iter_mut().chain(sides) {
            if let Some(from) = rows.next() {
                to.copy_from_slice(from);
            }
        }
        if self.carried.len > 0 {
            let mut carried = vec![T::ZERO; self.carried.len];
            machine.read(&buffers.carried, &mut carried)?;
            let get = |to: &mut [f64], at: usize| {
                for (to, value) in to.iter_mut().zip(&carried[at..]) {
                    *to = value.to_f64();
                }
            };
            for (at, left) in self.carried.records.iter().zip(&mut swept.left) {
                if let Some(at) = at {
                    get(left, *at);
                }
            }
            get(&mut swept.arrived, self.carried.arrived);
        }
        Ok(swept)
    }
}

impl<M: Machine, T: Real + Element> Sweeps for DeviceSweeps<M, T> {
    fn run(&mut self, sweep: &Sweep<'_>, input: &Input) -> Result<Swept> {
        self.write(sweep, input)?;
        self.launch(sweep.linear, input.drifts)?;
        self.read(sweep)
    }

    fn unit(&self) -> f64 {
        T::EPSILON.to_f64()
    }
}

impl Carried {
    fn new(sweep: &Sweep<'_>, sides: &[Inflow; 4], sizes: Sizes) -> Result<Self> {
        let mut carried = Self::default();
        for (k, inflow) in sides.iter().enumerate() {
            let len = 2 * sweep.faces(k) * sizes.nodes;
            if sweep.kept[k] {
                carried.records[k] = Some(carried.len);
                carried.len += len;
            }
            match inflow {
                Inflow::Faces(_) => {}
                // The image is of what has left in this sweep.
                Inflow::Mirror => carried.values[k] = carried.records[k],
                Inflow::Wall { .. } | Inflow::Values(_) => {
                    carried.values[k] = Some(carried.len);
                    carried.len += len;
                }
                Inflow::Closed { .. } => {
                    return Err(Error::invalid(
                        "sides",
                        "periodic ones of a linear flow",
                        "the CPU, which closes their lines exactly",
                    ));
                }
            }
        }
        let walls = 2 * sizes.loose * sizes.nodes;
        (carried.mirrored, carried.arrived) = (carried.len, carried.len + walls);
        carried.len += 2 * walls;
        Ok(carried)
    }

    /// The records of the sides.
    fn sides(&self, inflow: &[Inflow; 4]) -> Vec<f64> {
        let offset = |at: Option<usize>| at.map_or(-1.0, |at| at as f64);
        let mut sides = vec![0.0; 4 * side::LEN];
        for (k, inflow) in inflow.iter().enumerate() {
            let record = &mut sides[k * side::LEN..][..side::LEN];
            record[side::SHARE] = match inflow {
                Inflow::Faces(_) => 1.0,
                Inflow::Wall { accommodation, .. } => *accommodation,
                _ => 0.0,
            };
            record[side::VALUES] = offset(self.values[k]);
            record[side::MIRRORS] = f64::from(u8::from(matches!(inflow, Inflow::Mirror)));
            record[side::RECORD] = offset(self.records[k]);
        }
        sides
    }
}

/// Both halves of coefficients in the working precision.
fn halves<T: Real>(c: &Coefficients) -> [Quad<T>; 2] {
    let c = c.map(T::from_f64);
    [
        Quad([c[0], c[1], c[2], c[3]]),
        Quad([c[4], c[5], c[6], c[7]]),
    ]
}

/// The codes of the cells in the order of each quadrant.
fn codes(sweep: &Sweep<'_>, shape: &PlaneShape) -> Vec<u32> {
    let space = sweep.space;
    let places = shape.places();
    let mut codes = vec![code::NOTHING; 4 * places as usize];
    for quadrant in 0..4 {
        for cell in 0..space.len() {
            let segment = |s: usize, corner: u32| code::CUT + 2 * s as u32 + corner;
            let place = quadrant * places + shape.place_of(quadrant, cell as u32);
            codes[place as usize] = match space.kind[cell] {
                Kind::Solid => code::NOTHING,
                Kind::Full => code::FULL,
                Kind::Cut => segment(space.first[cell], 0),
                Kind::Corner => segment(space.first[cell], 1),
            };
        }
    }
    codes
}

/// The records of the segments.
fn walls<T: Real>(sweep: &Sweep<'_>) -> Vec<T> {
    let space = sweep.space;
    let mut walls = vec![T::ZERO; wall::LEN * space.segments.len()];
    let all = walls.chunks_exact_mut(wall::LEN);
    for (s, (record, segment)) in all.zip(&space.segments).enumerate() {
        let (accommodation, place) = sweep.accommodation[s];
        let mut put = |at: usize, value: f64| record[at] = T::from_f64(value);
        for (k, open) in space.open[segment.cell].iter().enumerate() {
            put(wall::OPEN + k, *open);
        }
        for (k, part) in segment.normal.iter().enumerate() {
            put(wall::NORMAL + k, segment.length * part);
        }
        put(wall::ACCOMMODATION, accommodation);
        put(wall::PLACE, place.unwrap_or(0) as f64);
        put(
            wall::INVERSE,
            if segment.length > 0.0 {
                segment.length.recip()
            } else {
                0.0
            },
        );
        let closure = space.closures[s].0.iter().flatten().flatten().flatten();
        for (k, c) in closure.enumerate() {
            put(wall::CLOSURE + k, *c);
        }
    }
    walls
}

/// Nodes of a quadrant: whole chunks of the CPU.
fn nodes_of(sweep: &Sweep<'_>, quadrant: usize) -> usize {
    let chunks = sweep.nodes.chunks.iter();
    CHUNK * chunks.filter(|chunk| chunk.quadrant == quadrant).count()
}

/// Records of blocks, their ranges by quadrant and their number, and the launches in the order of the stages.
fn divided(sweep: &Sweep<'_>, plan: &Plan) -> (Vec<u32>, Vec<u32>, Vec<Launch>) {
    let chunks = &sweep.nodes.chunks;
    let mut blocks = Vec::new();
    let mut ranges = vec![0; 9];
    let mut launches = Vec::new();
    for stage in &sweep.stages {
        let counts: Vec<usize> = stage.iter().map(|&q| nodes_of(sweep, q)).collect();
        let per_block = plan.batches_of_a_block(&counts);
        let before = blocks.len() / work::LEN;
        for (&q, nodes) in stage.iter().zip(&counts) {
            let mut of = chunks.iter().filter(|chunk| chunk.quadrant == q);
            let mut first = of.next().map_or(0, |chunk| chunk.first);
            let (mut left, mut rest) = (nodes.div_ceil(plan.lanes), *nodes);
            ranges[2 * q] = (blocks.len() / work::LEN) as u32;
            // Blocks of a quadrant differ by one batch at most.
            let mut parts = left.div_ceil(per_block);
            while left > 0 {
                let take = left.div_ceil(parts);
                let nodes = rest.min(take * plan.lanes);
                let mut record = [0; work::LEN];
                record[work::FIRST] = first as u32;
                record[work::NODES] = nodes as u32;
                record[work::BATCHES] = take as u32;
                record[work::QUADRANT] = q as u32;
                blocks.extend(record);
                first += nodes;
                rest -= nodes;
                left -= take;
                parts -= 1;
            }
            ranges[2 * q + 1] = (blocks.len() / work::LEN) as u32;
        }
        let count = (blocks.len() / work::LEN - before) as u32;
        if count > 0 {
            launches.push(Launch {
                first: before as u32,
                count,
            });
        }
    }
    ranges[8] = (blocks.len() / work::LEN) as u32;
    (blocks, ranges, launches)
}

#[cfg(test)]
mod tests {
    use super::*;

    /// An H200.
    const LIMITS: Limits = Limits {
        shared_bytes_per_block: 232_448,
        shared_bytes_per_multiprocessor: 233_472,
        multiprocessors: 132,
        free_bytes: 1 << 36,
    };

    #[test]
    fn plans_fit_the_machine() {
        for size in [4, 8] {
            for n in [1, 9, 40, 100, 512, 1000] {
                for counts in [vec![16; 4], vec![144; 4], vec![528; 4], vec![3456; 4]] {
                    let stages = [counts[..2].to_vec(), counts[2..].to_vec()];
                    for stages in [vec![counts], stages.to_vec()] {
                        let plan = Plan::new(&LIMITS, size, [n, n], &stages);
                        let shared = shared_bytes(plan.rows, plan.lanes, size);
                        assert!(shared <= LIMITS.shared_bytes_per_block, "{plan:?}");
                        assert!(plan.rows * plan.strips >= n && plan.rows.is_multiple_of(32));
                        for counts in &stages {
                            let batches = plan.batches_of_a_block(counts);
                            assert!(blocks_of(counts, plan.lanes, batches) <= plan.blocks);
                        }
                    }
                }
            }
        }
    }

    /// Eight velocities a thread would leave 36 of 132 multiprocessors without a block.
    #[test]
    fn a_plan_leaves_few_multiprocessors_idle() {
        let stages = [vec![576; 4]];
        let plan = Plan::new(&LIMITS, 4, [1024; 2], &stages);
        let batches = plan.batches_of_a_block(&stages[0]);
        assert!(blocks_of(&stages[0], plan.lanes, batches) > 120, "{plan:?}");
    }
}
