//! Sweeps on a machine that runs kernels: buffers, launches, and the sums that come back.

use rarefy_kernels::flow::volume::layout::{QUADS, VolumeShape, border, code, ranges, wall, work};
use rarefy_kernels::flow::volume::sweep::{self as kernels, SideShape};
use rarefy_kernels::{Element, Quad, Real, WARP};

use super::engine::Sweeps;
use super::gas::{Coefficients, DRIFT, FREQUENCY, MOMENTS, UNKNOWNS};
use super::nodes::{Half, Nodes};
use super::space::Kind;
use super::sweep::{Inflow, Input, SIDES, Sweep, Swept, sides_of_octant};
use crate::compute::Precision;
use crate::error::{Error, Result};
use crate::machine::{Grid, Limits, Machine};
use crate::memory_plan::{bytes_of, check_device, check_shared};

/// Threads of a block in the kernels with one thread an item.
const THREADS: u32 = 128;

/// Longest side of a tile.
const LONGEST: u32 = 64;

/// Cost of a column at the rim of a tile, over the work of a column: values that cross the rim pass through memory.
/// On an H200 tiles of 32, 64 and 256 columns take 2.4e-4, 1.8e-4 and 1.1e-4 ms a cell, in a sweep of 13,824 velocities.
const RIM: f64 = 10.0;

/// Threads that a multiprocessor has the registers for: each takes as many as there are. Twice as many in f32 were 1.5 times slower: each carries a third of the velocities.
const THREADS_PER_MULTIPROCESSOR: u32 = 256;

/// Shared memory of each block that the machine takes for itself, and that of the lists of velocities.
const RESERVED: usize = 1024 + 8192;

/// Most batches of a block: their list is in shared memory.
const MOST_BATCHES: usize = 128;

/// Bytes of shared memory with the places of a block's sides.
const SHARED_BORDERS: usize = 3 * border::LEN as usize * size_of::<u64>();

/// Share of the free memory that the blocks' sums may take.
pub(in crate::flow) const SHARE_OF_MEMORY: f64 = 0.5;

/// Numbers of the coefficients of a cell: those without the drift of internal energy.
const NUMBERS: usize = 9;

/// Sweeps on a machine in a precision.
///
/// # Errors
/// Those of [`DeviceSweeps::new`].
pub(super) fn new<M: Machine + 'static>(
    machine: M,
    precision: Precision,
    sweep: &Sweep<'_>,
    sides: &[Inflow; SIDES],
) -> Result<Box<dyn Sweeps>> {
    Ok(match precision {
        Precision::F32 => Box::new(DeviceSweeps::<M, f32>::new(machine, sweep, sides)?),
        Precision::F64 => Box::new(DeviceSweeps::<M, f64>::new(machine, sweep, sides)?),
    })
}

/// Sweeps on a machine.
struct DeviceSweeps<M: Machine, T: Real> {
    machine: M,
    shape: VolumeShape,
    launches: Vec<Launch>,
    sides: Sides,
    buffers: Buffers<M, T>,
}

/// Blocks that are launched together.
#[derive(Default)]
struct Launch {
    first: usize,
    count: usize,
    octants: Vec<usize>,
}

/// Drifts of internal energy, of the cells and in the order of each octant.
struct Drifts<M: Machine, T: Real> {
    cells: M::Buffer<f64>,
    places: M::Buffer<Quad<T>>,
}

struct Buffers<M: Machine, T: Real> {
    /// From the first sweep of internal energy on.
    drifts: Option<Drifts<M, T>>,
    coefficients: M::Buffer<f64>,
    widths: M::Buffer<f64>,
    fields: M::Buffer<Quad<T>>,
    codes: M::Buffer<u32>,
    pairs: M::Buffer<Quad<T>>,
    heights: M::Buffer<T>,
    velocities: M::Buffer<Quad<T>>,
    nodes: M::Buffer<u32>,
    places: M::Buffer<u32>,
    images: M::Buffer<u32>,
    walls: M::Buffer<Quad<T>>,
    emission: M::Buffer<Quad<T>>,
    blocks: M::Buffer<u32>,
    borders: M::Buffer<u64>,
    ranges: M::Buffer<u32>,
    sums: M::Buffer<T>,
    arrivals: M::Buffer<T>,
    passing: M::Buffer<T>,
    given: M::Buffer<T>,
    kept: M::Buffer<T>,
    cells: M::Buffer<f64>,
    facets: M::Buffer<f64>,
    faces: M::Buffer<f64>,
}

/// The division of space among threads.
#[derive(Clone, Copy)]
struct Plan {
    /// Columns of a tile along y and z.
    tile: [u32; 2],
    /// Packs of velocities that a thread carries at once, at most.
    packs: usize,
    /// Blocks that fill the machine.
    blocks: usize,
}

impl Plan {
    /// The division with the least cost.
    fn new(limits: &Limits, counts: [u32; 3]) -> Self {
        let [nx, ny, nz] = counts;
        let all = THREADS_PER_MULTIPROCESSOR;
        let cost = |[lanes, rows]: [u32; 2]| {
            let threads = lanes * rows;
            // A block takes the whole share of the registers.
            let share = all / at_once([lanes, rows]);
            let tiles = u64::from(ny.div_ceil(lanes)) * u64::from(nz.div_ceil(rows));
            let steps = tiles * u64::from(nx.max(lanes + rows));
            let rim = f64::from(lanes + rows) / f64::from(threads);
            steps as f64 * f64::from(share) * (1.0 + RIM * rim)
        };
        // A block has whole warps.
        let tiles = (1..=LONGEST).flat_map(|lanes| {
            let rows = 1..=LONGEST.min(all / lanes);
            rows.map(move |rows| [lanes, rows])
        });
        let tiles = tiles.filter(|[lanes, rows]| (lanes * rows).is_multiple_of(WARP));
        let tile = tiles.min_by(|a, b| cost(*a).total_cmp(&cost(*b)));
        Self::with_tile(limits, tile.unwrap_or([8, 4]))
    }

    fn with_tile(limits: &Limits, [lanes, rows]: [u32; 2]) -> Self {
        let at_once = at_once([lanes, rows]) as usize;
        let part = (limits.shared_bytes_per_multiprocessor / at_once).saturating_sub(RESERVED);
        let most = limits.shared_bytes_per_block.saturating_sub(RESERVED);
        let room = part.min(most);
        let slots = empty_shape([1; 3], [lanes, rows]).slots() as usize;
        Self {
            tile: [lanes, rows],
            packs: (room / (16 * slots)).max(1),
            blocks: at_once * limits.multiprocessors.max(1) as usize,
        }
    }
}

/// Blocks of a tile that a multiprocessor runs at once.
fn at_once([lanes, rows]: [u32; 2]) -> u32 {
    (THREADS_PER_MULTIPROCESSOR / (lanes * rows)).max(1)
}

/// A shape without velocities.
fn empty_shape([nx, ny, nz]: [u32; 3], [lanes, rows]: [u32; 2]) -> VolumeShape {
    VolumeShape {
        nx,
        ny,
        nz,
        lanes,
        rows,
        width: 1,
        packs: 1,
        heights: 0,
        batches: 0,
        facets: 0,
        first_block: 0,
    }
}

/// A buffer of at least one element, which no machine refuses.
pub(in crate::flow) fn upload<M: Machine, E: Element + Default>(
    machine: &M,
    data: &[E],
) -> Result<M::Buffer<E>> {
    match data.is_empty() {
        true => Ok(machine.upload(&[E::default()])?),
        false => Ok(machine.upload(data)?),
    }
}

impl<M: Machine, T: Real + Element> DeviceSweeps<M, T> {
    /// Lays out a space, its velocities and its sides.
    ///
    /// # Errors
    /// Rows that close on themselves; too little memory; more cells than 32 bits count.
    fn new(machine: M, sweep: &Sweep<'_>, sides: &[Inflow; SIDES]) -> Result<Self> {
        let limits = machine.limits()?;
        let counts = sweep.space.counts().map(|n| n as u32);
        Self::planned(machine, sweep, sides, Plan::new(&limits, counts))
    }

    fn planned(machine: M, sweep: &Sweep<'_>, sides: &[Inflow; SIDES], plan: Plan) -> Result<Self> {
        sweep.partial.check_device()?;
        let limits = machine.limits()?;
        let (space, nodes) = (sweep.space, sweep.nodes);
        let counts = space.counts();
        let [nx, ny, nz] = counts;
        let width = 16 / size_of::<T>();
        let shape = empty_shape(counts.map(|n| n as u32), plan.tile);
        let padded = [nx, ny.next_multiple_of(plan.tile[0] as usize), nz];
        let places = padded
            .iter()
            .fold(1, |all: usize, n| all.saturating_mul(*n));
        if places.saturating_mul(8 * UNKNOWNS) > u32::MAX as usize {
            return Err(Error::invalid(
                "domain",
                format!("{nx} x {ny} x {nz} cells"),
                "at most 67 million cells on a GPU",
            ));
        }
        let batches = Batches::new(nodes, width, plan.packs);
        let mut shape = VolumeShape {
            width: width as u32,
            heights: batches.heights as u32,
            facets: space.facets.len() as u32,
            ..shape
        };
        let sizes = Sizes::new(sweep, &shape);
        let room = SHARE_OF_MEMORY * limits.free_bytes as f64;
        let room = room / bytes_of::<T>(sizes.of_block as u64) as f64;
        let divided = Divided::new(sweep, &batches, plan, plan.blocks.min(room as usize));
        (shape.packs, shape.batches) = (divided.packs as u32, divided.batches as u32);
        check_shared(
            &limits,
            &format!("a sweep of tiles of {} columns", shape.threads()),
            (shape.exchanged() + shape.table() + 4 * shape.batches) as usize * size_of::<T>()
                + SHARED_BORDERS,
            "compute on the CPU, or in f32",
        )?;
        let count = divided.most;
        let sides = Sides::new(sweep, &batches, sides, count * shape.passed() as usize)?;
        let numbers =
            count * sizes.of_block + sizes.fixed + sides.passing + sides.given + sides.kept;
        check_device(
            &limits,
            &format!(
                "a flow of {nx} x {ny} x {nz} cells and {} velocities",
                nodes.count
            ),
            bytes_of::<T>(numbers as u64) + bytes_of::<f64>(sizes.doubles as u64),
            "use fewer cells, or compute on the CPU",
        )?;
        let widths: Vec<f64> = space
            .edges
            .iter()
            .flat_map(|edges| edges.windows(2).map(|pair| pair[1] - pair[0]))
            .collect();
        let buffers = Buffers {
            drifts: None,
            coefficients: machine.allocate(NUMBERS * space.len())?,
            widths: machine.upload(&widths)?,
            fields: machine.allocate((8 * QUADS) as usize * places)?,
            codes: machine.upload(&codes(sweep, &shape))?,
            pairs: upload(&machine, &batches.pairs::<T>())?,
            heights: upload(&machine, &batches.table::<T>(nodes, width))?,
            velocities: upload(&machine, &batches.velocities::<T>(nodes))?,
            nodes: upload(&machine, &batches.nodes)?,
            places: upload(&machine, &batches.places(nodes))?,
            images: upload(&machine, &batches.images())?,
            walls: upload(&machine, &walls::<T>(sweep))?,
            emission: machine.allocate(QUADS as usize * sides.emissions.max(1))?,
            blocks: upload(&machine, &divided.blocks)?,
            borders: machine.upload(&sides.borders(&batches))?,
            ranges: upload(&machine, &divided.ranges)?,
            sums: machine.allocate((count * UNKNOWNS * places).max(1))?,
            arrivals: machine.allocate((count * MOMENTS * space.facets.len()).max(1))?,
            passing: machine.allocate(sides.passing.max(1))?,
            given: machine.allocate(sides.given.max(1))?,
            kept: machine.allocate(sides.kept.max(1))?,
            cells: machine.allocate(UNKNOWNS * space.len())?,
            // The first launch sets them; a compiler may read them before it knows that.
            facets: machine.upload(&vec![0.0; (MOMENTS * space.facets.len()).max(1)])?,
            faces: machine.allocate(4 * MOMENTS * shape.faces() as usize)?,
        };
        Ok(Self {
            machine,
            shape,
            launches: divided.launches,
            sides,
            buffers,
        })
    }

    /// Writes the state that a sweep starts from.
    fn write(&mut self, sweep: &Sweep<'_>, input: &Input) -> Result<()> {
        let (machine, buffers) = (&self.machine, &mut self.buffers);
        let mut coefficients = Vec::with_capacity(NUMBERS * input.cells.len());
        for (c, volume) in input.cells.iter().zip(&sweep.space.volume) {
            let mut c = *c;
            c[FREQUENCY] *= volume;
            coefficients.extend_from_slice(&c[..NUMBERS]);
        }
        machine.write(&mut buffers.coefficients, &coefficients)?;
        if input.drifts {
            let drifts = match &mut buffers.drifts {
                Some(drifts) => drifts,
                none => none.insert(Drifts {
                    cells: machine.allocate(3 * input.cells.len())?,
                    places: machine.allocate(8 * self.shape.places() as usize)?,
                }),
            };
            let cells = input.cells.iter().flat_map(|c| &c[DRIFT..]);
            let cells: Vec<f64> = cells.copied().collect();
            machine.write(&mut drifts.cells, &cells)?;
        }
        let sides = input.sides.iter().flat_map(emitted);
        let all = input.facets.iter().chain(sides);
        let emission: Vec<Quad<T>> = all.flat_map(quads::<T>).collect();
        if !emission.is_empty() {
            machine.write(&mut buffers.emission, &emission)?;
        }
        if self.sides.given > 0 {
            let mut given = Vec::with_capacity(self.sides.given);
            for side in &input.sides {
                if let Inflow::Wall(.., values) | Inflow::Values(values) = side {
                    given.extend(values.iter().map(|value| T::from_f64(*value)));
                }
            }
            machine.write(&mut buffers.given, &given)?;
        }
        Ok(())
    }

    /// Lays out the inflow of the sides.
    fn launch_inflow(&mut self, linear: bool) -> Result<()> {
        let buffers = &mut self.buffers;
        for (side, share) in self.sides.shapes.iter().zip(self.sides.shares) {
            if side.rows > 0 {
                self.machine.launch(
                    Grid::per_item((side.rows * side.velocities) as usize, THREADS),
                    kernels::flow_volume_inflow {
                        emission: &buffers.emission,
                        velocities: &buffers.velocities,
                        nodes: &buffers.nodes,
                        given: &buffers.given,
                        passing: &mut buffers.passing,
                        side: *side,
                        linear: u32::from(linear),
                        share: T::from_f64(share),
                    },
                )?;
            }
        }
        Ok(())
    }

    /// Adds up what crosses the sides, and orders the outflow that is kept.
    fn launch_sides(&mut self, kept: &[bool; SIDES]) -> Result<()> {
        let buffers = &mut self.buffers;
        for (side, kept) in self.sides.shapes.iter().zip(kept) {
            self.machine.launch(
                Grid::per_item(32 * side.faces as usize, THREADS),
                kernels::flow_volume_sides {
                    velocities: &buffers.velocities,
                    images: &buffers.images,
                    passing: &buffers.passing,
                    totals: &mut buffers.faces,
                    side: *side,
                },
            )?;
            if *kept {
                self.machine.launch(
                    Grid::per_item((side.faces * side.nodes) as usize, THREADS),
                    kernels::flow_volume_outflow {
                        velocities: &buffers.velocities,
                        places: &buffers.places,
                        passing: &buffers.passing,
                        kept: &mut buffers.kept,
                        side: *side,
                    },
                )?;
            }
        }
        Ok(())
    }

    /// Launches the sweeps, and the sums over the blocks of each launch.
    fn launch(&mut self, sweep: &Sweep<'_>, drifts: bool) -> Result<()> {
        self.launch_inflow(sweep.linear)?;
        let (machine, buffers, shape) = (&self.machine, &mut self.buffers, self.shape);
        let places = shape.places() as usize;
        machine.launch(
            Grid::per_item(8 * places, THREADS),
            kernels::flow_volume_fields {
                coefficients: &buffers.coefficients,
                widths: &buffers.widths,
                fields: &mut buffers.fields,
                shape,
            },
        )?;
        let drifts = match (drifts, &mut buffers.drifts) {
            (true, Some(drifts)) => {
                machine.launch(
                    Grid::per_item(8 * places, THREADS),
                    kernels::flow_volume_drifts {
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
                        blocks: $launch.count as u32,
                        threads: shape.threads(),
                    },
                    kernels::$kernel {
                        fields: &buffers.fields,
                        $($drifts: $drifts,)?
                        codes: &buffers.codes,
                        pairs: &buffers.pairs,
                        heights: &buffers.heights,
                        walls: &buffers.walls,
                        emission: &buffers.emission,
                        blocks: &buffers.blocks,
                        borders: &buffers.borders,
                        sums: &mut buffers.sums,
                        arrivals: &mut buffers.arrivals,
                        passing: &mut buffers.passing,
                        shape: VolumeShape {
                            first_block: $launch.first as u32,
                            ..shape
                        },
                    },
                )?
            };
        }
        let mut fresh = 1;
        for (at, launch) in self.launches.iter().enumerate() {
            match (sweep.linear, drifts) {
                (true, _) => sweep!(flow_volume_linear, launch),
                (false, None) => sweep!(flow_volume, launch),
                (false, Some(drifts)) => sweep!(flow_volume_internal, launch, drifts),
            }
            for octant in &launch.octants {
                machine.launch(
                    Grid::per_item(places, THREADS),
                    kernels::flow_volume_cells {
                        partials: &buffers.sums,
                        codes: &buffers.codes,
                        ranges: &buffers.ranges,
                        cells: &mut buffers.cells,
                        shape,
                        launch: at as u32,
                        octant: *octant as u32,
                        fresh,
                    },
                )?;
                fresh = 0;
            }
            if shape.facets > 0 {
                machine.launch(
                    Grid::per_item(MOMENTS * shape.facets as usize, THREADS),
                    kernels::flow_volume_facets {
                        arrivals: &buffers.arrivals,
                        ranges: &buffers.ranges,
                        totals: &mut buffers.facets,
                        shape,
                        launch: at as u32,
                    },
                )?;
            }
        }
        self.launch_sides(&sweep.kept)
    }

    /// Fetches the sums.
    fn read(&self, sweep: &Sweep<'_>) -> Result<Swept> {
        let (machine, buffers) = (&self.machine, &self.buffers);
        let mut swept = sweep.empty();
        let mut cells = vec![0.0; UNKNOWNS * swept.cells.len()];
        machine.read(&buffers.cells, &mut cells)?;
        for (to, from) in swept.cells.iter_mut().zip(cells.chunks_exact(UNKNOWNS)) {
            to.copy_from_slice(from);
        }
        let mut faces = vec![0.0; 4 * MOMENTS * self.shape.faces() as usize];
        machine.read(&buffers.faces, &mut faces)?;
        let sides = swept.sides.iter_mut().flatten().flatten();
        for (to, from) in sides.zip(faces.chunks_exact(MOMENTS)) {
            to.copy_from_slice(from);
        }
        if !swept.facets.is_empty() {
            let mut facets = vec![0.0; MOMENTS * swept.facets.len()];
            machine.read(&buffers.facets, &mut facets)?;
            for (to, from) in swept.facets.iter_mut().zip(facets.chunks_exact(MOMENTS)) {
                to.copy_from_slice(from);
            }
        }
        if self.sides.kept > 0 {
            let mut kept = vec![T::ZERO; self.sides.kept];
            machine.read(&buffers.kept, &mut kept)?;
            let all = swept.left.iter_mut().flatten();
            for (to, value) in all.zip(kept) {
                *to = value.to_f64();
            }
        }
        Ok(swept)
    }
}

impl<M: Machine, T: Real + Element> Sweeps for DeviceSweeps<M, T> {
    fn run(&mut self, sweep: &Sweep<'_>, input: &Input) -> Result<Swept> {
        self.write(sweep, input)?;
        self.launch(sweep, input.drifts)?;
        self.read(sweep)
    }

    fn unit(&self) -> f64 {
        T::EPSILON.to_f64()
    }
}

/// Numbers in memory.
struct Sizes {
    /// Partial sums of a block, without the values that pass from tile to tile.
    of_block: usize,
    /// Numbers of the working precision.
    fixed: usize,
    /// Numbers of f64.
    doubles: usize,
}

impl Sizes {
    fn new(sweep: &Sweep<'_>, shape: &VolumeShape) -> Self {
        let places = shape.places() as usize;
        let (facets, faces) = (sweep.space.facets.len(), shape.faces() as usize);
        // Twelve numbers and a code of each place of eight octants.
        let fields = 8 * (4 * QUADS as usize + 1) * places;
        Self {
            of_block: UNKNOWNS * places + MOMENTS * facets,
            fixed: fields + 4 * (wall::LEN + QUADS as usize) * facets + 24 * faces,
            doubles: (NUMBERS + UNKNOWNS) * sweep.space.len() + MOMENTS * (facets + 4 * faces),
        }
    }
}

/// Batches of velocities: one (v_x, v_y), and the v_z of a half axis or a part of them, filled up to packs.
struct Batches {
    /// Velocities along x and y, volume across, and first pack in the table of velocities along z.
    pairs: Vec<[f64; 4]>,
    /// The node of each velocity, `u32::MAX` for those that fill up.
    nodes: Vec<u32>,
    /// The first batch of each octant, and the end.
    first: [usize; 9],
    /// The first velocity of each octant, and the end.
    start: [usize; 9],
    /// Packs of a batch, by half of the axis along z.
    packs: [usize; 2],
    /// Packs of the longer half.
    heights: usize,
    /// Velocities of a pack.
    width: usize,
}

impl Batches {
    /// Batches of at most `most` packs of `width` velocities.
    fn new(nodes: &Nodes, width: usize, most: usize) -> Self {
        let [_, _, along] = &nodes.axes;
        // A long half axis is cut into equal parts.
        let divided = |half: &Half| {
            let all = half.v.len().div_ceil(width).max(1);
            let packs = all.div_ceil(all.div_ceil(most));
            (packs, all.div_ceil(packs))
        };
        let parts = [divided(&along[0]), divided(&along[1])];
        let longest = parts.iter().map(|(packs, parts)| packs * parts).max();
        let mut batches = Self {
            pairs: Vec::new(),
            nodes: Vec::new(),
            first: [0; 9],
            start: [0; 9],
            packs: parts.map(|(packs, _)| packs),
            heights: longest.unwrap_or(1),
            width,
        };
        for octant in 0..8 {
            let z = &along[octant >> 2];
            let (packs, parts) = parts[octant >> 2];
            let parts = if z.v.is_empty() { 0 } else { parts };
            let mut node = nodes.first[octant];
            for [(vx, wx), (vy, wy)] in nodes.pairs(octant) {
                for part in 0..parts {
                    batches.pairs.push([vx, vy, wx * wy, (part * packs) as f64]);
                    let places = part * packs * width..(part + 1) * packs * width;
                    batches.nodes.extend(places.map(|k| match k < z.v.len() {
                        true => (node + k) as u32,
                        false => u32::MAX,
                    }));
                }
                node += z.v.len();
            }
            batches.first[octant + 1] = batches.pairs.len();
            batches.start[octant + 1] = batches.nodes.len();
        }
        batches
    }

    /// Velocities in the order of batches.
    fn len(&self) -> usize {
        self.nodes.len()
    }

    fn pairs<T: Real>(&self) -> Vec<Quad<T>> {
        let quad = |pair: &[f64; 4]| Quad(pair.map(T::from_f64));
        self.pairs.iter().map(quad).collect()
    }

    /// Velocities along z and their widths, `[half][pack][v, w]`; those that fill up have no width.
    fn table<T: Real>(&self, nodes: &Nodes, width: usize) -> Vec<T> {
        let mut table = Vec::new();
        for half in &nodes.axes[2] {
            for pack in 0..self.heights {
                let places = pack * width..(pack + 1) * width;
                let last = half.v.last().copied().unwrap_or(1.0);
                let v = |k: usize| half.v.get(k).copied().unwrap_or(last);
                let w = |k: usize| half.w.get(k).copied().unwrap_or(0.0);
                table.extend(places.clone().map(|k| T::from_f64(v(k))));
                table.extend(places.map(|k| T::from_f64(w(k))));
            }
        }
        table
    }

    /// Velocities and their volumes; those that fill up repeat the one before without volume.
    fn velocities<T: Real>(&self, nodes: &Nodes) -> Vec<Quad<T>> {
        let mut last = [0.0; 3];
        let quad = |node: &u32| {
            let mut weight = 0.0;
            if *node != u32::MAX {
                (last, weight) = (nodes.velocity(*node as usize), nodes.weight[*node as usize]);
            }
            let [x, y, z] = last;
            Quad([x, y, z, weight].map(T::from_f64))
        };
        self.nodes.iter().map(quad).collect()
    }

    /// The place of each node; that of the one before for nodes that fill up, which have its velocity.
    fn places(&self, nodes: &Nodes) -> Vec<u32> {
        let mut places = vec![u32::MAX; nodes.len()];
        for (place, node) in self.nodes.iter().enumerate() {
            if let Some(to) = places.get_mut(*node as usize) {
                *to = place as u32;
            }
        }
        let mut last = 0;
        for place in &mut places {
            match *place {
                u32::MAX => *place = last,
                there => last = there,
            }
        }
        places
    }

    /// From a place of an octant to that of the mirror image across an axis, where the axis is symmetric.
    fn shift(&self, octant: usize, axis: usize) -> i64 {
        self.start[octant ^ (1 << axis)] as i64 - self.start[octant] as i64
    }

    /// The mirror image of each place across x, y and z, where the axis is symmetric.
    fn images(&self) -> Vec<u32> {
        let mut images = Vec::with_capacity(3 * self.len());
        for axis in 0..3 {
            for (octant, ends) in self.start.windows(2).enumerate() {
                let image = |place: usize| (place as i64 + self.shift(octant, axis)) as u32;
                images.extend((ends[0]..ends[1]).map(image));
            }
        }
        images
    }
}

/// The division of the batches among blocks, and of these among launches.
#[derive(Default)]
struct Divided {
    blocks: Vec<u32>,
    ranges: Vec<u32>,
    launches: Vec<Launch>,
    /// Blocks of the largest launch.
    most: usize,
    /// Packs that a thread carries at once.
    packs: usize,
    /// Batches of a block, at most.
    batches: usize,
}

impl Divided {
    /// About `most` blocks to a launch; the k-th octants of all families are one.
    fn new(sweep: &Sweep<'_>, batches: &Batches, plan: Plan, most: usize) -> Self {
        let mut divided = Self {
            packs: 1,
            ..Self::default()
        };
        let families = sweep.families();
        let stages = families.iter().map(Vec::len).max().unwrap_or(0);
        for stage in 0..stages {
            let octants = families.iter().filter_map(|family| family.get(stage));
            let octants = octants.copied();
            divided.add_launch(octants.collect(), batches, plan, most);
        }
        divided
    }

    fn add_launch(&mut self, octants: Vec<usize>, batches: &Batches, plan: Plan, most: usize) {
        let of = |octant: usize| batches.first[octant + 1] - batches.first[octant];
        let packs = |octant: usize| batches.packs[octant >> 2];
        // One block too many would wait until all others are done.
        let most = most.max(octants.len());
        let total: usize = octants.iter().map(|&q| of(q) * packs(q)).sum();
        let parts = |per_block: usize| {
            octants
                .iter()
                .map(move |&q| (of(q) * packs(q)).div_ceil(per_block))
        };
        let mut per_block = total.div_ceil(most).max(1);
        while parts(per_block).sum::<usize>() > most {
            per_block += 1;
        }
        let mut ranges = vec![0; ranges::LEN as usize];
        let mut launch = Launch {
            first: self.blocks.len() / work::LEN,
            ..Launch::default()
        };
        for octant in octants.iter().copied().filter(|&q| of(q) > 0) {
            ranges[2 * octant] = launch.count as u32;
            let (mut first, mut left) = (batches.first[octant], of(octant));
            // Blocks of an octant differ by one batch at most.
            let most = left.div_ceil(MOST_BATCHES);
            let mut parts = (left * packs(octant)).div_ceil(per_block).max(most);
            parts = parts.min(left);
            while left > 0 {
                let take = left.div_ceil(parts);
                let fit = (plan.packs / packs(octant)).max(1);
                // Passes of about equal size.
                let together = take.div_ceil(take.div_ceil(fit));
                let mut record = [0; work::LEN];
                record[work::FIRST] = first as u32;
                record[work::BATCHES] = take as u32;
                record[work::OCTANT] = octant as u32;
                record[work::PACKS] = packs(octant) as u32;
                record[work::TOGETHER] = together as u32;
                let before = first - batches.first[octant];
                let place = batches.start[octant] + before * packs(octant) * batches.width;
                record[work::PLACE] = place as u32;
                self.blocks.extend(record);
                self.packs = self.packs.max(together * packs(octant));
                self.batches = self.batches.max(take);
                first += take;
                left -= take;
                parts -= 1;
                launch.count += 1;
            }
            ranges[2 * octant + 1] = launch.count as u32;
            launch.octants.push(octant);
        }
        if launch.count > 0 {
            ranges[ranges::COUNT] = launch.count as u32;
            self.most = self.most.max(launch.count);
            self.ranges.extend(ranges);
            self.launches.push(launch);
        }
    }
}

/// The sides and their values in memory.
struct Sides {
    shapes: [SideShape; SIDES],
    /// Shares of the inflow that are Maxwellian.
    shares: [f64; SIDES],
    /// Maxwellians of facets and sides.
    emissions: usize,
    /// Values that pass tiles and sides.
    passing: usize,
    /// Given values.
    given: usize,
    /// Values that are kept.
    kept: usize,
}

impl Sides {
    /// The values of sides are behind those that pass from tile to tile.
    fn new(
        sweep: &Sweep<'_>,
        batches: &Batches,
        inflow: &[Inflow; SIDES],
        tiles: usize,
    ) -> Result<Self> {
        let nodes = sweep.nodes.len();
        let mut sides = Self {
            shapes: [SideShape::default(); SIDES],
            shares: [0.0; SIDES],
            emissions: sweep.space.facets.len(),
            passing: tiles,
            given: 0,
            kept: 0,
        };
        let mut total = 0;
        for (k, inflow) in inflow.iter().enumerate() {
            let faces = sweep.space.faces(k);
            let (share, rows, given) = match inflow {
                Inflow::Same(_) => (1.0, 1, false),
                Inflow::Faces(_) => (1.0, faces, false),
                Inflow::Wall(_, share, _) => (*share, faces, true),
                Inflow::Values(_) => (0.0, faces, true),
                Inflow::Mirror => (0.0, 0, false),
                Inflow::Closed(_) => {
                    return Err(Error::invalid(
                        "sides",
                        "periodic ones of a linear flow",
                        "the CPU, which closes their rows exactly",
                    ));
                }
            };
            if faces.saturating_mul(batches.len().max(nodes)) > i32::MAX as usize {
                return Err(Error::invalid(
                    "domain",
                    format!("a side of {faces} faces with {nodes} velocities"),
                    "at most 2.1e9 values on a side on a GPU",
                ));
            }
            sides.shares[k] = share;
            sides.shapes[k] = SideShape {
                inflow: sides.passing as u64,
                outflow: (sides.passing + rows * batches.len()) as u64,
                given: sides.given as u64,
                kept: sides.kept as u64,
                side: k as u32,
                rows: rows as u32,
                faces: faces as u32,
                velocities: batches.len() as u32,
                nodes: nodes as u32,
                first: sides.emissions as u32,
                total,
                mirrors: u32::from(matches!(inflow, Inflow::Mirror)),
            };
            sides.passing += (rows + faces) * batches.len();
            sides.given += if given { faces * nodes } else { 0 };
            sides.kept += if sweep.kept[k] { faces * nodes } else { 0 };
            sides.emissions += emitted(inflow).len();
            total += faces as u32;
        }
        Ok(sides)
    }

    /// Places of inflow and outflow in the direction of each octant.
    fn borders(&self, batches: &Batches) -> Vec<u64> {
        let mut all = Vec::new();
        for octant in 0..8 {
            let [entering, leaving] = sides_of_octant(octant);
            for axis in 0..3 {
                let (from, to) = (&self.shapes[entering[axis]], &self.shapes[leaving[axis]]);
                let velocities = u64::from(from.velocities);
                let mut record = [0; border::LEN as usize];
                let (inflow, stride) = match from.mirrors {
                    0 => (from.inflow, if from.rows > 1 { velocities } else { 0 }),
                    _ => {
                        let shift = batches.shift(octant, axis);
                        (from.outflow.wrapping_add_signed(shift), velocities)
                    }
                };
                record[border::INFLOW as usize] = inflow;
                record[(border::INFLOW + border::STRIDE) as usize] = stride;
                record[border::OUTFLOW as usize] = to.outflow;
                record[(border::OUTFLOW + border::STRIDE) as usize] = velocities;
                all.extend(record);
            }
        }
        all
    }
}

/// Maxwellians of a side.
pub(in crate::flow) fn emitted(inflow: &Inflow) -> &[Coefficients] {
    match inflow {
        Inflow::Same(c) => std::slice::from_ref(c),
        Inflow::Faces(faces) | Inflow::Wall(faces, ..) => faces,
        _ => &[],
    }
}

/// Coefficients in the working precision, filled up to quadruples.
pub(in crate::flow) fn quads<T: Real>(c: &Coefficients) -> [Quad<T>; QUADS as usize] {
    let number = |k: usize| T::from_f64(c.get(k).copied().unwrap_or(0.0));
    [0, 4, 8].map(|k| Quad([number(k), number(k + 1), number(k + 2), number(k + 3)]))
}

/// The codes of the cells in the order of each octant.
fn codes(sweep: &Sweep<'_>, shape: &VolumeShape) -> Vec<u32> {
    let space = sweep.space;
    let places = shape.places() as usize;
    let mut codes = vec![code::NOTHING; 8 * places];
    for octant in 0..8 {
        let codes = &mut codes[octant * places..][..places];
        for cell in 0..space.len() as u32 {
            let (row, x) = (cell / shape.nx, cell % shape.nx);
            let place = shape.place_of(octant as u32, [x, row % shape.ny, row / shape.ny]);
            codes[place as usize] = match space.kind[cell as usize] {
                Kind::Solid => code::NOTHING,
                Kind::Full => code::FULL,
                Kind::Cut | Kind::Corner => code::CUT + space.facet[cell as usize],
            };
        }
    }
    codes
}

/// The records of the facets.
fn walls<T: Real>(sweep: &Sweep<'_>) -> Vec<Quad<T>> {
    let space = sweep.space;
    let mut walls = Vec::with_capacity(wall::LEN * space.facets.len());
    for (facet, closure) in space.facets.iter().zip(&space.closures) {
        let [west, east, south, north, back, front] = space.open[facet.cell];
        let [x, y, z] = facet.normal.map(|part| facet.area * part);
        let inverse = if facet.area > 0.0 {
            facet.area.recip()
        } else {
            0.0
        };
        let mut put = |numbers: [f64; 4]| walls.push(Quad(numbers.map(T::from_f64)));
        put([west, east, south, north]);
        put([back, front, inverse, 0.0]);
        put([x, y, z, 0.0]);
        closure
            .0
            .iter()
            .flatten()
            .flatten()
            .for_each(|row| put(*row));
    }
    walls
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;

    use super::super::parts;
    use super::super::reference;
    use super::super::reflection::Partial;
    use super::super::space::{Closure, FACES, Facet, Space, across};
    use super::*;
    use crate::emulator::Emulator;

    /// Numbers between 0 and 1 in a fixed order.
    struct Numbers(u64);

    impl Numbers {
        fn next(&mut self) -> f64 {
            self.0 = self
                .0
                .wrapping_mul(6_364_136_223_846_793_005)
                .wrapping_add(1_442_695_040_888_963_407);
            (self.0 >> 11) as f64 / (1_u64 << 53) as f64
        }
        fn within(&mut self, low: f64, high: f64) -> f64 {
            low + (high - low) * self.next()
        }
    }

    /// Stretched cells, a solid block, and cut cells on its upper side in z with walls of any tilt. Its facets balance nothing.
    fn space(counts: [usize; 3], numbers: &mut Numbers) -> Space {
        let edges = counts.map(|n| {
            let mut edges = vec![0.0];
            for k in 0..n {
                edges.push(edges[k] + numbers.within(0.1, 0.3));
            }
            edges
        });
        let [nx, ny, nz] = counts;
        let len = nx * ny * nz;
        let mut space = Space {
            edges,
            kind: vec![Kind::Full; len],
            volume: vec![0.0; len],
            open: vec![[0.0; FACES]; len],
            centroid: vec![[0.0; 3]; len],
            facets: Vec::new(),
            facet: vec![u32::MAX; len],
            closures: Vec::new(),
            rings: None,
            warnings: Vec::new(),
        };
        for cell in 0..len {
            let place = [cell % nx, cell / nx % ny, cell / nx / ny];
            let d = [0, 1, 2].map(|axis: usize| {
                let edges = &space.edges[axis];
                edges[place[axis] + 1] - edges[place[axis]]
            });
            space.volume[cell] = d[0] * d[1] * d[2];
            for axis in 0..3 {
                let [a, b] = across(axis);
                space.open[cell][2 * axis] = d[a] * d[b];
                space.open[cell][2 * axis + 1] = d[a] * d[b];
            }
            let beside =
                place[0] >= nx / 3 && place[0] <= nx / 2 && place[1] >= 1 && place[1] <= ny / 2;
            if beside && place[2] == nz / 2 {
                space.kind[cell] = Kind::Solid;
            } else if beside && place[2] == nz / 2 + 1 {
                space.kind[cell] = Kind::Cut;
                space.volume[cell] *= numbers.within(0.3, 0.9);
                for open in &mut space.open[cell] {
                    *open *= numbers.within(0.2, 1.0);
                }
                space.facet[cell] = space.facets.len() as u32;
                let normal = [numbers.within(-1.0, 1.0), numbers.within(-1.0, 1.0), 1.0];
                let size = normal.iter().map(|x| x * x).sum::<f64>().sqrt();
                space.facets.push(Facet {
                    cell,
                    area: d[0] * d[1] * numbers.within(0.5, 1.0),
                    normal: normal.map(|x| x / size),
                    point: [0.0; 3],
                    body: 0,
                    corners: Vec::new(),
                });
                let mut closure = Closure(Box::new([[[[0.0; 4]; 4]; 2]; 8]));
                for c in closure.0.iter_mut().flatten().flatten().flatten() {
                    *c = numbers.within(-0.8, 0.2);
                }
                space.closures.push(closure);
            }
        }
        space
    }

    /// Coefficients of a gas near rest, or of perturbations.
    fn coefficients(numbers: &mut Numbers) -> Coefficients {
        let mut any = |size: f64| numbers.within(-size, size);
        let [u, k] = [
            [any(0.5), any(0.5), any(0.5)],
            [any(0.1), any(0.1), any(0.1)],
        ];
        let n = numbers.within(0.1, 0.3);
        let (inverse, nu) = (numbers.within(0.7, 1.3), numbers.within(0.5, 3.0));
        [
            n, u[0], u[1], u[2], inverse, k[0], k[1], k[2], nu, 0.0, 0.0, 0.0,
        ]
    }

    fn cells(space: &Space, numbers: &mut Numbers) -> Arc<Vec<Coefficients>> {
        let cells = space.kind.iter().map(|_| coefficients(numbers));
        Arc::new(cells.collect())
    }

    fn half(v: &[f64]) -> Half {
        Half {
            v: v.to_vec(),
            w: v.iter().map(|v| 0.3 + 0.1 * v.abs()).collect(),
        }
    }

    fn below(half: &Half) -> Half {
        Half {
            v: half.v.iter().map(|v| -v).collect(),
            w: half.w.clone(),
        }
    }

    /// Copies the last node of each octant to the padding behind it, which has its velocity.
    fn fill_padding(nodes: &Nodes, values: &mut [f64]) {
        for face in values.chunks_exact_mut(nodes.len()) {
            for (octant, ends) in nodes.first.windows(2).enumerate() {
                let height = nodes.axes[2][octant >> 2].v.len();
                let end = ends[0] + nodes.pieces[octant].len() * height;
                let last = face[end - 1];
                face[end..ends[1]].fill(last);
            }
        }
    }

    /// The largest difference of any number of two results, over their size.
    fn difference(a: &Swept, b: &Swept) -> f64 {
        let flat = |swept: &Swept| {
            let sides = swept.sides.iter().flatten().flatten().flatten();
            let all = swept
                .cells
                .iter()
                .flatten()
                .chain(swept.facets.iter().flatten());
            let all = all.chain(sides).chain(swept.left.iter().flatten());
            all.copied().collect::<Vec<f64>>()
        };
        let (a, b) = (flat(a), flat(b));
        assert_eq!(a.len(), b.len());
        let each = a
            .iter()
            .zip(&b)
            .map(|(a, b)| (a - b).abs() / (1.0 + b.abs()));
        each.fold(0.0, |most, x| if x <= most { most } else { x })
    }

    struct Problem {
        space: Space,
        nodes: Nodes,
        linear: bool,
        kept: [bool; SIDES],
        mirrors: [bool; SIDES],
        partial: Partial,
        input: Input,
    }

    impl Problem {
        fn sweep(&self) -> Sweep<'_> {
            Sweep {
                space: &self.space,
                nodes: &self.nodes,
                linear: self.linear,
                kept: self.kept,
                mirrors: self.mirrors,
                partial: &self.partial,
            }
        }

        /// The difference of the kernels from plain loops in two sweeps, in tiles of a size or of the planner's.
        fn difference<T: Real + Element>(&self, tile: Option<[u32; 2]>, packs: usize) -> f64 {
            let sweep = self.sweep();
            let machine = Emulator::default();
            let limits = machine.limits().unwrap();
            let counts = self.space.counts().map(|n| n as u32);
            let mut plan = Plan::new(&limits, counts);
            if let Some(tile) = tile {
                plan = Plan::with_tile(&limits, tile);
            }
            plan.packs = plan.packs.min(packs);
            plan.blocks = plan.blocks.min(9);
            let sides = &self.input.sides;
            let mut engine = DeviceSweeps::<_, T>::planned(machine, &sweep, sides, plan).unwrap();
            let expected = reference::run(&sweep, &self.input);
            let differences = [(); 2].map(|()| {
                let found = engine.run(&sweep, &self.input).unwrap();
                difference(&found, &expected)
            });
            differences[0].max(differences[1])
        }
    }

    /// A stream past a body with mirrors below and behind, and uneven velocities along x.
    fn mirrored() -> Problem {
        let mut numbers = Numbers(7);
        let space = space([7, 6, 5], &mut numbers);
        let across = half(&[0.2, 0.7, 1.6]);
        let along = half(&[0.1, 0.4, 0.9, 1.5, 2.3]);
        let nodes = Nodes::new([
            [half(&[0.3, 1.1, 2.4]), half(&[-0.5, -1.4])],
            [across.clone(), below(&across)],
            [along.clone(), below(&along)],
        ]);
        let stream = coefficients(&mut numbers);
        let mut sides = [(); SIDES].map(|()| Inflow::Same(stream));
        sides[1] = Inflow::Faces(
            (0..space.faces(1))
                .map(|_| coefficients(&mut numbers))
                .collect(),
        );
        sides[2] = Inflow::Mirror;
        sides[4] = Inflow::Mirror;
        let input = Input {
            cells: cells(&space, &mut numbers),
            facets: space
                .facets
                .iter()
                .map(|_| coefficients(&mut numbers))
                .collect(),
            images: Vec::new(),
            sides,
            drifts: false,
        };
        Problem {
            space,
            nodes,
            linear: false,
            kept: [false, true, false, false, true, false],
            mirrors: [false, false, true, false, true, false],
            partial: Partial::default(),
            input,
        }
    }

    /// The linearised equation with given values at sides, and walls of which one mirrors a part.
    fn linear() -> Problem {
        let mut numbers = Numbers(11);
        let space = space([5, 9, 4], &mut numbers);
        let nodes = Nodes::new([
            [half(&[0.3, 1.1]), half(&[-0.5, -1.4])],
            [half(&[0.2, 0.7, 1.6]), half(&[-0.9])],
            [
                half(&[0.1, 0.4, 0.9]),
                half(&[-0.2, -0.6, -1.2, -1.7, -2.0, -2.4]),
            ],
        ]);
        let mut values = |side: usize| {
            let len = space.faces(side) * nodes.len();
            let mut values: Vec<f64> = (0..len).map(|_| numbers.next()).collect();
            fill_padding(&nodes, &mut values);
            values
        };
        let values = [0, 1, 2, 3, 4, 5].map(&mut values);
        let [left, right, bottom, _, back, front] = values;
        let mut faces = |side: usize| {
            let len = space.faces(side);
            (0..len)
                .map(|_| coefficients(&mut numbers))
                .collect::<Vec<_>>()
        };
        let (bottom_faces, top_faces) = (faces(2), faces(3));
        let sides = [
            Inflow::Values(left),
            Inflow::Values(right),
            Inflow::Wall(bottom_faces, 0.8, bottom),
            Inflow::Faces(top_faces),
            Inflow::Values(back),
            Inflow::Values(front),
        ];
        let input = Input {
            cells: cells(&space, &mut numbers),
            facets: space
                .facets
                .iter()
                .map(|_| coefficients(&mut numbers))
                .collect(),
            images: Vec::new(),
            sides,
            drifts: false,
        };
        Problem {
            space,
            nodes,
            linear: true,
            kept: [true; SIDES],
            mirrors: [false; SIDES],
            partial: Partial::default(),
            input,
        }
    }

    /// The same for internal energy.
    fn internal() -> Problem {
        let mut problem = mirrored();
        let mut numbers = Numbers(11);
        for c in Arc::make_mut(&mut problem.input.cells) {
            c[DRIFT..].fill_with(|| numbers.within(-0.3, 0.3));
        }
        problem.input.drifts = true;
        problem
    }

    #[test]
    fn sums_of_kernels_are_those_of_loops() {
        for problem in [mirrored(), linear(), internal()] {
            assert!(problem.space.facets.len() > 2);
            for (tile, packs) in [
                (None, 8),
                (Some([8, 4]), 2),
                (Some([16, 2]), 3),
                (Some([4, 8]), 1),
            ] {
                let apart = problem.difference::<f64>(tile, packs);
                assert!(apart < 1e-12, "{tile:?} {packs}: {apart:e}");
            }
            let apart = problem.difference::<f32>(None, 8);
            assert!(apart < 2e-5, "{apart:e}");
        }
    }

    /// Mirrors, given values, walls of which one mirrors a part, and uneven velocities. Three devices of `linear` have octants without velocities.
    #[test]
    fn devices_share_the_velocities() {
        for problem in [mirrored(), linear(), internal()] {
            let sweep = problem.sweep();
            let expected = reference::run(&sweep, &problem.input);
            for devices in [1, 2, 3] {
                let emulators = (0..devices).map(|_| Emulator::default()).collect();
                let engine = parts::over(emulators, Precision::F64, &sweep, &problem.input);
                let mut engine = engine.unwrap();
                let [found, again] = [(); 2].map(|()| engine.run(&sweep, &problem.input).unwrap());
                let apart = difference(&found, &expected);
                assert!(apart < 1e-12, "{devices}: {apart:e}");
                assert_eq!(difference(&found, &again), 0.0, "{devices}");
            }
        }
    }

    #[test]
    fn every_batch_has_a_block() {
        let problem = linear();
        let batches = Batches::new(&problem.nodes, 2, 2);
        let plan = Plan {
            tile: [8, 4],
            packs: 2,
            blocks: 5,
        };
        let divided = Divided::new(&problem.sweep(), &batches, plan, 5);
        let mut seen = vec![0; batches.pairs.len()];
        for block in divided.blocks.chunks_exact(work::LEN) {
            let octant = block[work::OCTANT] as usize;
            for k in block[work::FIRST]..block[work::FIRST] + block[work::BATCHES] {
                assert!((batches.first[octant]..batches.first[octant + 1]).contains(&(k as usize)));
                seen[k as usize] += 1;
            }
        }
        assert!(seen.iter().all(|count| *count == 1), "{seen:?}");
    }

    #[test]
    fn blocks_have_whole_warps_and_fill_the_machine() {
        let limits = Emulator::default().limits().unwrap();
        for n in [1, 7, 16, 33, 64, 97, 128, 129, 300] {
            let Plan { tile, packs, .. } = Plan::new(&limits, [n, n, n.min(40)]);
            let threads = tile[0] * tile[1];
            assert!(threads.is_multiple_of(WARP) && threads <= THREADS_PER_MULTIPROCESSOR);
            assert!(packs > 0);
            // Small tiles are slow: what crosses their rims passes through memory.
            assert!(n < 64 || threads >= 128, "{n}: {tile:?}");
        }
    }

    #[test]
    fn rows_that_close_are_refused() {
        let mut problem = linear();
        problem.input.sides[0] = Inflow::Closed([0.0; 12]);
        let sides = &problem.input.sides;
        let refused = new(Emulator::default(), Precision::F64, &problem.sweep(), sides);
        assert!(refused.is_err_and(|error| error.to_string().contains("CPU")));
    }
}
