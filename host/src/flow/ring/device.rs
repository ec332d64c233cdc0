//! Sweeps round an axis on a machine that runs kernels: buffers, launches, and the sums that come back.

use rarefy_kernels::flow::ring::layout::{QUADS, RingShape, code, ring, side, unit, wall};
use rarefy_kernels::flow::ring::sweep as kernels;
use rarefy_kernels::{Element, Quad, Real};

use super::sweep::families;
use crate::compute::Precision;
use crate::error::{Error, Result};
use crate::flow::rings::Rings;
use crate::flow::space::Kind;
use crate::flow::turn::Turn;
use crate::flow::volume::device::{SHARE_OF_MEMORY, emitted, quads, upload};
use crate::flow::volume::engine::Sweeps;
use crate::flow::volume::sweep::{Inflow, Input, Sweep, Swept};
use crate::machine::{Grid, Limits, Machine};
use crate::maxwellian::lanes::LANES;
use crate::memory_plan::{bytes_of, check_device, check_shared};

/// Threads of a block in the kernels with one thread an item.
const THREADS: u32 = 128;

/// Threads that a multiprocessor has the registers for, and a block at most, times the bytes of a number.
const THREADS_BY_BYTES: u32 = 2048;

/// Sides that a plane of rings has.
const SIDES: usize = 4;

/// Sweeps on a machine in a precision.
///
/// # Errors
/// Rows that close on themselves; too little memory; more cells than 32 bits count.
pub(in crate::flow) fn new<M: Machine + 'static>(
    machine: M,
    precision: Precision,
    sweep: &Sweep<'_>,
    input: &Input,
) -> Result<Box<dyn Sweeps>> {
    Ok(match precision {
        Precision::F32 => Box::new(RingSweeps::<M, f32>::new(machine, sweep, input)?),
        Precision::F64 => Box::new(RingSweeps::<M, f64>::new(machine, sweep, input)?),
    })
}

/// Sweeps on a machine.
pub(in crate::flow) struct RingSweeps<M: Machine, T: Real> {
    machine: M,
    shape: RingShape,
    blocks: u32,
    /// Given values, and outflow that is kept, of all sides.
    given: usize,
    kept: usize,
    buffers: Buffers<M, T>,
}

struct Buffers<M: Machine, T: Real> {
    cells: M::Buffer<Quad<T>>,
    rings: M::Buffer<Quad<T>>,
    codes: M::Buffer<u32>,
    walls: M::Buffer<Quad<T>>,
    emission: M::Buffer<Quad<T>>,
    sides: M::Buffer<u64>,
    shares: M::Buffer<T>,
    given: M::Buffer<T>,
    turn: M::Buffer<Quad<T>>,
    units: M::Buffer<u32>,
    pairs: M::Buffer<Quad<T>>,
    sums: M::Buffer<Quad<T>>,
    passing: M::Buffer<T>,
    kept: M::Buffer<T>,
    totals: M::Buffer<f64>,
}

impl<M: Machine, T: Real + Element> RingSweeps<M, T> {
    pub(in crate::flow) fn new(machine: M, sweep: &Sweep<'_>, input: &Input) -> Result<Self> {
        let limits = machine.limits()?;
        let plan = Plan::new(sweep, &limits, size_of::<T>() as u32);
        Self::planned(machine, sweep, input, plan)
    }

    pub(in crate::flow) fn planned(
        machine: M,
        sweep: &Sweep<'_>,
        input: &Input,
        plan: Plan,
    ) -> Result<Self> {
        let (Some(rings), Some(turn)) = (&sweep.space.rings, &sweep.nodes.turn) else {
            return Err(Error::Numerical(
                "a sweep of rings without rings".to_owned(),
            ));
        };
        if matches!(input.sides[0], Inflow::Closed(_)) {
            return Err(Error::invalid(
                "backend",
                "a GPU for a linear flow between periodic sides",
                "`cpu`, which closes its rows",
            ));
        }
        sweep.partial.check_device()?;
        let limits = machine.limits()?;
        let work = Work::new(sweep);
        let shape = shape(sweep, turn, &work, &plan, &limits, size_of::<T>())?;
        let sides = Sides::new(sweep, input);
        // One block has the memory, or the check says what is missing.
        let of_block = bytes_of::<T>(4 * u64::from(shape.sums()) + u64::from(shape.kept()));
        let room = SHARE_OF_MEMORY * limits.free_bytes as f64 / of_block as f64;
        let blocks = plan.blocks.min(shape.units).min(room as u32).max(1);
        let numbers = (4 * (QUADS + ring::LEN) + 1) * sweep.space.len()
            + 4 * (wall::LEN + QUADS) * sweep.space.facets.len()
            + sides.given
            + sides.kept;
        check_device(
            &limits,
            &format!(
                "a flow of {} x {} rings and {} velocities",
                shape.nx, shape.nr, sweep.nodes.count
            ),
            bytes_of::<T>(numbers as u64)
                + u64::from(blocks) * of_block
                + bytes_of::<f64>(4 * u64::from(shape.sums())),
            "use fewer cells, or compute on the CPU",
        )?;
        let all = blocks as usize;
        let shares = sides.shares.map(T::from_f64);
        let buffers = Buffers {
            cells: machine.allocate(QUADS * sweep.space.len())?,
            rings: machine.upload(&records::<T>(sweep, rings))?,
            codes: machine.upload(&codes(sweep))?,
            walls: upload(&machine, &walls::<T>(sweep, rings))?,
            emission: machine.allocate(QUADS * sides.emissions.max(1))?,
            sides: machine.upload(&sides.records)?,
            shares: machine.upload(&shares)?,
            given: machine.allocate(sides.given.max(1))?,
            turn: machine.upload(&angles::<T>(turn))?,
            units: machine.upload(&work.units)?,
            pairs: machine.upload(&work.pairs::<T>(sweep, turn))?,
            sums: machine.allocate(all * shape.sums() as usize)?,
            passing: machine.allocate(all * shape.kept() as usize)?,
            // No outflow is at the nodes that enter.
            kept: machine.upload(&vec![T::ZERO; sides.kept.max(1)])?,
            totals: machine.allocate(4 * shape.sums() as usize)?,
        };
        Ok(Self {
            machine,
            shape,
            blocks,
            given: sides.given,
            kept: sides.kept,
            buffers,
        })
    }

    /// Writes the state that a sweep starts from.
    fn write(&mut self, input: &Input) -> Result<()> {
        let (machine, buffers) = (&self.machine, &mut self.buffers);
        let cells: Vec<Quad<T>> = input.cells.iter().flat_map(quads::<T>).collect();
        machine.write(&mut buffers.cells, &cells)?;
        let sides = input.sides[..SIDES].iter().flat_map(emitted);
        let emission: Vec<Quad<T>> = input
            .facets
            .iter()
            .chain(sides)
            .flat_map(quads::<T>)
            .collect();
        if !emission.is_empty() {
            machine.write(&mut buffers.emission, &emission)?;
        }
        if self.given > 0 {
            let given = input.sides[..SIDES].iter().flat_map(given);
            let given: Vec<T> = given.map(|value| T::from_f64(*value)).collect();
            machine.write(&mut buffers.given, &given)?;
        }
        Ok(())
    }

    /// Launches the sweep, and the sums over its blocks.
    fn launch(&mut self, linear: bool, drifts: bool) -> Result<()> {
        let (machine, buffers, shape) = (&self.machine, &mut self.buffers, self.shape);
        macro_rules! sweep {
            ($kernel:ident) => {
                machine.launch(
                    Grid {
                        blocks: self.blocks,
                        threads: shape.handed().next_multiple_of(32),
                    },
                    kernels::$kernel {
                        cells: &buffers.cells,
                        rings: &buffers.rings,
                        codes: &buffers.codes,
                        walls: &buffers.walls,
                        emission: &buffers.emission,
                        sides: &buffers.sides,
                        shares: &buffers.shares,
                        given: &buffers.given,
                        turn: &buffers.turn,
                        units: &buffers.units,
                        pairs: &buffers.pairs,
                        sums: &mut buffers.sums,
                        passing: &mut buffers.passing,
                        kept: &mut buffers.kept,
                        shape,
                    },
                )?
            };
        }
        match (linear, drifts) {
            (true, _) => sweep!(flow_ring_linear),
            (false, false) => sweep!(flow_ring),
            (false, true) => sweep!(flow_ring_internal),
        }
        machine.launch(
            Grid::per_item(shape.sums() as usize, THREADS),
            kernels::flow_ring_total {
                sums: &buffers.sums,
                totals: &mut buffers.totals,
                items: shape.sums(),
                blocks: self.blocks,
            },
        )?;
        Ok(())
    }

    /// Fetches the sums.
    fn read(&self, sweep: &Sweep<'_>) -> Result<Swept> {
        let mut totals = vec![0.0; 4 * self.shape.sums() as usize];
        self.machine.read(&self.buffers.totals, &mut totals)?;
        let mut all = totals.chunks_exact(4);
        let mut next = || all.next().unwrap_or(&[0.0; 4]);
        let mut swept = sweep.empty();
        for cell in &mut swept.cells {
            let ([n, x, r, energy], [q_x, q_r, ..]) = (quad(next()), quad(next()));
            *cell = [n, x, r, 0.0, energy, q_x, q_r, 0.0];
        }
        for facet in &mut swept.facets {
            *facet = moments(next());
        }
        for face in swept.sides[..SIDES].iter_mut().flatten().flatten() {
            *face = moments(next());
        }
        if self.kept > 0 {
            let mut kept = vec![T::ZERO; self.kept];
            self.machine.read(&self.buffers.kept, &mut kept)?;
            let left = swept.left[..SIDES].iter_mut().flatten();
            for (to, value) in left.zip(kept) {
                *to = value.to_f64();
            }
        }
        Ok(swept)
    }
}

impl<M: Machine, T: Real + Element> Sweeps for RingSweeps<M, T> {
    fn run(&mut self, sweep: &Sweep<'_>, input: &Input) -> Result<Swept> {
        self.write(input)?;
        self.launch(sweep.linear, input.drifts)?;
        self.read(sweep)
    }

    fn unit(&self) -> f64 {
        T::EPSILON.to_f64()
    }
}

fn quad(values: &[f64]) -> [f64; 4] {
    std::array::from_fn(|k| values.get(k).copied().unwrap_or(0.0))
}

/// Moments of a flux, which has no swirl.
fn moments(values: &[f64]) -> [f64; 5] {
    let [mass, x, r, energy] = quad(values);
    [mass, x, r, 0.0, energy]
}

/// The division of a sweep among threads.
#[derive(Clone, Copy)]
pub(in crate::flow) struct Plan {
    /// Rows that a block sweeps at once.
    pub(in crate::flow) rows: u32,
    /// Groups of directions of a quarter turn.
    pub(in crate::flow) groups: u32,
    /// Blocks, at most.
    pub(in crate::flow) blocks: u32,
}

impl Plan {
    /// The division with the fewest steps among those that have all units at once on the machine, where it has the threads.
    fn new(sweep: &Sweep<'_>, limits: &Limits, size: u32) -> Self {
        let [nx, nr, _] = sweep.space.counts().map(|n| n as u32);
        let angles = sweep.nodes.turn.as_ref().map_or(2, Turn::len);
        let together = families(sweep.mirrors)[0].len();
        let units = (sweep.nodes.len() / (angles * together)) as u32;
        let directions = angles as u32 / 2 + 1;
        let machine = limits.multiprocessors.max(1);
        let most = THREADS_BY_BYTES / size;
        let room = (most / units.div_ceil(machine).max(1)).max(32);
        let mut best = (u64::MAX, [32, 1]);
        for rows in (32..=room.min(nr.next_multiple_of(32))).step_by(32) {
            let groups = (room / rows).min(directions);
            let steps = nr.div_ceil(rows) * (nx + rows + groups - 2);
            let cost = u64::from(steps) * u64::from(directions.div_ceil(groups));
            if cost < best.0 {
                best = (cost, [rows, groups]);
            }
        }
        let (_, [rows, groups]) = best;
        Self {
            rows,
            groups,
            blocks: machine * (most / (rows * groups)),
        }
    }
}

/// The shape of a sweep, with as many rows at once as shared memory has room for.
fn shape(
    sweep: &Sweep<'_>,
    turn: &Turn,
    work: &Work,
    plan: &Plan,
    limits: &Limits,
    size: usize,
) -> Result<RingShape> {
    let [nx, nr, _] = sweep.space.counts().map(|n| n as u32);
    let mut shape = RingShape {
        nx,
        nr,
        angles: turn.len() as u32,
        stride: LANES as u32,
        nodes: sweep.nodes.len() as u32,
        facets: sweep.space.facets.len() as u32,
        units: (work.units.len() / unit::LEN) as u32,
        rows: plan.rows,
        groups: plan.groups,
        has_axis: u32::from(sweep.space.rings.as_ref().is_some_and(|r| r.has_axis)),
    };
    let bytes = |shape: &RingShape| (3 * shape.slots() + 2 * shape.handed()) as usize * size;
    while shape.rows > 32 && bytes(&shape) > limits.shared_bytes_per_block {
        shape.rows -= 32;
    }
    check_shared(
        limits,
        &format!("a sweep of {} angles", shape.angles),
        bytes(&shape),
        "use fewer angles, or compute on the CPU",
    )?;
    let sums = u64::from(nx) * u64::from(nr) * 2
        + u64::from(shape.facets)
        + 4 * (u64::from(nx) + u64::from(nr));
    if 4 * sums > u64::from(u32::MAX) {
        return Err(Error::invalid(
            "domain",
            format!("{nx} x {nr} rings"),
            "at most 500 million rings on a GPU",
        ));
    }
    Ok(shape)
}

/// Pairs of a velocity along the axis and a speed across it, divided into units.
struct Work {
    units: Vec<u32>,
}

impl Work {
    fn new(sweep: &Sweep<'_>) -> Self {
        let first = sweep.nodes.first;
        let angles = sweep.nodes.turn.as_ref().map_or(1, Turn::len);
        let mut units = Vec::new();
        for family in families(sweep.mirrors) {
            let [start, end] = [first[family[0]], first[family[0] + 1]];
            for eight in (0..end - start).step_by(LANES * angles) {
                for lane in 0..LANES {
                    let node = |sign: usize| (first[sign] + eight + lane) as u32;
                    let nodes = [family[0], family[family.len() - 1]].map(node);
                    units.extend([family.len() as u32, family[0] as u32]);
                    units.extend(nodes);
                }
            }
        }
        Self { units }
    }

    /// Velocity along the axis, speed and volume of both signs of each unit.
    fn pairs<T: Real>(&self, sweep: &Sweep<'_>, turn: &Turn) -> Vec<Quad<T>> {
        let nodes = sweep.nodes;
        let pair = |node: &u32| {
            let node = *node as usize;
            let [x, y, z] = nodes.velocity(node);
            let volume = nodes.weight[node] / turn.weight[0];
            Quad([x, y.hypot(z), volume, 0.0].map(T::from_f64))
        };
        let units = self.units.chunks_exact(unit::LEN);
        units
            .flat_map(|unit| unit[unit::NODE..].iter().map(pair))
            .collect()
    }
}

/// Cosine, sine and weight of each angle, and the coefficients towards the last angle and the next over the weight.
fn angles<T: Real>(turn: &Turn) -> Vec<Quad<T>> {
    let of = |m: usize| {
        let (mu, w) = (turn.cosine[m], turn.weight[m]);
        let own = [mu, (1.0 - mu * mu).sqrt(), w, 0.0];
        let edges = [turn.edge[m] / w, turn.edge[m + 1] / w, 0.0, 0.0];
        [own, edges].map(|numbers| Quad(numbers.map(T::from_f64)))
    };
    (0..turn.len()).flat_map(of).collect()
}

/// The records of the rings.
fn records<T: Real>(sweep: &Sweep<'_>, rings: &Rings) -> Vec<Quad<T>> {
    let space = sweep.space;
    let of = |cell: usize| {
        let [west, east, south, north, ..] = space.open[cell];
        let plane = &rings.open[cell];
        let size = [space.volume[cell], rings.area[cell], 0.0, 0.0];
        let plane = [plane[0], plane[1], plane[2], plane[3]];
        [[west, east, south, north], plane, size].map(|numbers| Quad(numbers.map(T::from_f64)))
    };
    (0..space.len()).flat_map(of).collect()
}

fn codes(sweep: &Sweep<'_>) -> Vec<u32> {
    let kinds = sweep.space.kind.iter().zip(&sweep.space.facet);
    kinds
        .map(|(kind, facet)| match kind {
            Kind::Solid => code::NOTHING,
            Kind::Full => code::FULL,
            Kind::Cut | Kind::Corner => code::CUT + facet,
        })
        .collect()
}

/// The records of the facets.
fn walls<T: Real>(sweep: &Sweep<'_>, rings: &Rings) -> Vec<Quad<T>> {
    let space = sweep.space;
    let mut walls = Vec::with_capacity(wall::LEN * space.facets.len());
    let facets = space.facets.iter().zip(&space.closures).zip(&rings.walls);
    for ((facet, closure), plane) in facets {
        let mut put = |numbers: [f64; 4]| walls.push(Quad(numbers.map(T::from_f64)));
        let [x, r] = [0, 1].map(|k: usize| facet.area * facet.normal[k]);
        let inverse = if facet.area > 0.0 {
            facet.area.recip()
        } else {
            0.0
        };
        put([x, r, plane[0], plane[1]]);
        put([inverse, 0.0, 0.0, 0.0]);
        let rows = closure.0[..4].iter().flatten().flatten();
        rows.for_each(|row| put(*row));
    }
    walls
}

/// Given values of a side, `[face][node]`.
fn given(inflow: &Inflow) -> &[f64] {
    match inflow {
        Inflow::Wall(.., values) | Inflow::Values(values) => values,
        _ => &[],
    }
}

/// The sides as the kernels see them.
struct Sides {
    records: Vec<u64>,
    /// Share of the inflow that is Maxwellian.
    shares: [f64; SIDES],
    /// Maxwellians of facets and sides.
    emissions: usize,
    /// Given values, and outflow that is kept.
    given: usize,
    kept: usize,
}

impl Sides {
    fn new(sweep: &Sweep<'_>, input: &Input) -> Self {
        let mut sides = Self {
            records: Vec::with_capacity(SIDES * side::LEN),
            shares: [0.0; SIDES],
            emissions: sweep.space.facets.len(),
            given: 0,
            kept: 0,
        };
        for at in 0..SIDES {
            let inflow = &input.sides[at];
            let mut record = [0; side::LEN];
            (record[side::GIVEN], record[side::KEPT]) = (side::NONE, side::NONE);
            record[side::FIRST] = sides.emissions as u64;
            sides.emissions += emitted(inflow).len();
            (record[side::STRIDE], sides.shares[at]) = match inflow {
                Inflow::Same(_) => (0, 1.0),
                Inflow::Faces(_) => (1, 1.0),
                Inflow::Wall(_, share, _) => (1, *share),
                _ => (0, 0.0),
            };
            if !given(inflow).is_empty() {
                record[side::GIVEN] = sides.given as u64;
                sides.given += given(inflow).len();
            }
            if sweep.kept[at] {
                record[side::KEPT] = sides.kept as u64;
                sides.kept += sweep.space.faces(at) * sweep.nodes.len();
            }
            record[side::MIRRORS] = u64::from(at < 2 && matches!(inflow, Inflow::Mirror));
            sides.records.extend(record);
        }
        sides
    }
}
