//! The paper's two kernels on a machine that runs kernels: streaming and collision apart, of first order on a line. They are the baseline of the
//! fused pass.

use std::time::Duration;

use rarefy_kernels::Real;
use rarefy_kernels::bgk::layout::{FlowShape, axis, face};
use rarefy_kernels::bgk::paper::two_kernel::{
    self as kernels, Order, PAIR_LEN, RESIDENT_IN_REGISTERS, RESIDENT_THREADS, STREAM_THREADS,
    collide_groups, resident_bytes,
};
use rarefy_kernels::bgk::sweep_1d::line_width;

use super::transient::initial_populations;
use super::{Boundary, Courant, DiscreteMaxwellian, Model, Problem, State, VelocitySpace};
use crate::error::{Error, Result};
use crate::machine::{Grid, Limits, Machine};

/// How long a machine takes to copy so many populations: what a pass that reads and writes each once cannot beat.
///
/// # Errors
/// Too little memory; a fault of the device.
pub fn time_copy<M: Machine, T: Real>(
    machine: &M,
    populations: usize,
    times: u32,
) -> Result<Duration> {
    let words = (populations * size_of::<T>()).div_ceil(16) * 4;
    let from = machine.upload(&vec![1_u32; words])?;
    let mut to = machine.allocate::<u32>(words)?;
    let mut copy = || {
        machine.launch(
            Grid::per_item(words / 16, 256),
            kernels::copy_populations {
                from: &from,
                to: &mut to,
            },
        )
    };
    copy()?;
    Ok(machine.time(&mut || (0..times).try_for_each(|_| copy()))?)
}

/// One of the paper's kernels.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum SeparateKernel {
    /// Streaming (algorithm 1).
    Streaming,
    /// Moments and relaxation (algorithm 2).
    Collision,
}

/// How a block of the collision kernel, which keeps all populations of its cells on the chip, shares them out.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct Resident {
    /// Threads on the cells of a node, of 16 bytes each.
    lanes: u32,
    /// Groups of nodes that a thread keeps in shared memory.
    staged: u32,
}

impl Resident {
    /// The quickest of those for which there is room, if any.
    fn new(shape: &FlowShape, bytes: usize, limits: &Limits) -> Option<Self> {
        let fits = |way: &Self| {
            resident_bytes(shape, way.lanes, way.staged, bytes) <= limits.shared_bytes_per_block
        };
        // Sums and constants of a tile take about as long as the populations of two lanes.
        let cost =
            |way: &Self| way.tiles(shape, bytes).div_ceil(at_a_time(limits)) * (way.lanes + 2);
        [2, 4, 8, 16]
            .into_iter()
            .map(|lanes| {
                let groups = collide_groups(shape).div_ceil(RESIDENT_THREADS / lanes);
                Self {
                    lanes,
                    staged: groups.saturating_sub(RESIDENT_IN_REGISTERS),
                }
            })
            .filter(fits)
            .min_by_key(cost)
    }

    /// Tiles of a row of cells.
    fn tiles(self, shape: &FlowShape, bytes: usize) -> u32 {
        shape.nx.div_ceil(self.lanes * line_width(bytes))
    }
}

/// Blocks that run at a time where each has a multiprocessor to itself; one on a machine that does not say.
fn at_a_time(limits: &Limits) -> u32 {
    limits.multiprocessors.max(1)
}

/// The nodes of all axes, with the distances that molecules travel in a step.
fn axes(problem: &Problem, dt: f64) -> Vec<f64> {
    let velocity = &problem.velocity;
    let courant = Courant::of_axis(velocity.x(), &problem.space, 0, dt);
    let mut axes = Vec::new();
    for (v, courant) in velocity.x().nodes().iter().zip(&courant) {
        axes.extend([*v, courant.whole as f64, courant.fraction, 0.0]);
    }
    for v in velocity.y_nodes() {
        axes.extend([*v, 0.0, 0.0, 0.0]);
    }
    for (m, inner) in velocity.inner().iter().enumerate() {
        let log = velocity.z().map_or(0.0, |z| z.weights()[m].log2());
        axes.extend([inner.mass, inner.energy, inner.energy, log]);
    }
    debug_assert_eq!(axes.len() % axis::LEN as usize, 0);
    axes
}

/// The nodes and the weight of each pair of velocities along x and y.
fn pairs(velocity: &VelocitySpace) -> Vec<f64> {
    let mut pairs = Vec::new();
    for (vx, wx) in velocity.x().nodes().iter().zip(velocity.x().weights()) {
        for (vy, wy) in velocity.y_nodes().iter().zip(velocity.y_weights()) {
            pairs.extend([*vx, *vy, wx * wy, 0.0]);
        }
    }
    debug_assert_eq!(pairs.len() % PAIR_LEN as usize, 0);
    pairs
}

/// A shock wave, or another line of gas between two inflows, by the paper's two kernels.
#[derive(Debug)]
pub struct SeparateKernels<M: Machine, T: Real> {
    machine: M,
    shape: FlowShape,
    order: Order,
    at_once: Resident,
    /// Blocks of the collision that run at a time.
    at_a_time: u32,
    dt: f64,
    omega: f64,
    f: M::Buffer<T>,
    axes: M::Buffer<T>,
    pairs: M::Buffer<T>,
    incoming: M::Buffer<T>,
    fields: M::Buffer<f64>,
}

impl<M: Machine, T: Real> SeparateKernels<M, T> {
    /// Prepares a run from the problem's initial state.
    ///
    /// # Errors
    /// A problem other than a BGK gas on a line between two inflows; too little memory; more velocities than a block's shared memory has room for.
    pub fn new(machine: M, problem: &Problem, dt: f64) -> Result<Self> {
        let ends = [problem.boundaries.left, problem.boundaries.right];
        let states: Vec<State> = ends
            .iter()
            .filter_map(|end| match end {
                Boundary::Inflow(state) => Some(*state),
                _ => None,
            })
            .collect();
        if problem.space.dimensions() != 1
            || states.len() != 2
            || problem.gas.model != Model::Bgk
            || problem.gas.frequency != 1.0
        {
            return Err(Error::invalid(
                "problem",
                "another gas, space or boundary",
                "a BGK gas on a line between two inflows",
            ));
        }
        let velocity = &problem.velocity;
        let [count_x, count_y, count_m] = velocity.shape().map(|n| n as u32);
        let nx = problem.space.nx() as u32;
        let limits = machine.limits()?;
        let mut shape = FlowShape {
            nx,
            ny: 1,
            pitch: nx,
            count_x,
            count_y,
            count_m,
            integrated: velocity.integrated() as u32,
            flow: 1,
            shakhov: 0,
            left: face::TABLE,
            right: face::TABLE,
            bottom: face::PERIODIC,
            top: face::PERIODIC,
            ghost_columns: 0,
            ghost_rows: 0,
        };
        let at_once = Resident::new(&shape, size_of::<T>(), &limits).ok_or_else(|| {
            Error::invalid(
                "velocity",
                format!("{} nodes", velocity.nodes()),
                format!(
                    "fewer velocities or f32: {} bytes of shared memory a block hold all populations of a few cells",
                    limits.shared_bytes_per_block
                ),
            )
        })?;
        let order = Order {
            cells: at_once.lanes * line_width(size_of::<T>()),
        };
        shape.pitch = order.whole(nx);
        let incoming: Vec<f64> = states
            .iter()
            .flat_map(|state| DiscreteMaxwellian::sampled(velocity, *state).populations(velocity))
            .collect();
        let upload = |values: Vec<f64>| {
            let values: Vec<T> = values.into_iter().map(T::from_f64).collect();
            machine.upload(&values)
        };
        let rows = initial_populations(problem)?;
        let mut f = vec![0.0; velocity.nodes() * shape.pitch as usize];
        for (node, row) in rows.chunks_exact(nx as usize).enumerate() {
            let (pair, m) = (node as u32 / count_m, node as u32 % count_m);
            // The padding of a row is relaxed with it: a gas like the last cell's.
            for ix in 0..shape.pitch {
                let value = row[ix.min(nx - 1) as usize];
                f[order.place(&shape, [pair, m], ix) as usize] = value;
            }
        }
        Ok(Self {
            at_once,
            order,
            at_a_time: at_a_time(&limits),
            f: upload(f)?,
            axes: upload(axes(problem, dt))?,
            pairs: upload(pairs(&problem.velocity))?,
            incoming: upload(incoming)?,
            fields: machine.allocate(3 * nx as usize)?,
            shape,
            dt,
            omega: problem.gas.omega,
            machine,
        })
    }

    fn launch(&mut self, kernel: SeparateKernel) -> Result<()> {
        match kernel {
            SeparateKernel::Streaming => {
                let Self { shape, order, .. } = *self;
                let groups = shape.count_m.div_ceil(order.together(size_of::<T>()));
                Ok(self.machine.launch(
                    Grid {
                        blocks: shape.count_x * shape.count_y * groups,
                        threads: STREAM_THREADS,
                    },
                    kernels::stream_line {
                        incoming: &self.incoming,
                        axes: &self.axes,
                        f: &mut self.f,
                        shape,
                        order,
                    },
                )?)
            }
            SeparateKernel::Collision => self.collide(),
        }
    }

    fn collide(&mut self) -> Result<()> {
        let Self {
            shape, dt, omega, ..
        } = *self;
        let way = self.at_once;
        Ok(self.machine.launch(
            Grid {
                blocks: way.tiles(&shape, size_of::<T>()).min(self.at_a_time),
                threads: RESIDENT_THREADS,
            },
            kernels::collide_resident {
                axes: &self.axes,
                pairs: &self.pairs,
                f: &mut self.f,
                fields: &mut self.fields,
                shape,
                dt,
                omega,
                lanes: way.lanes,
                staged: way.staged,
            },
        )?)
    }

    /// Takes time steps.
    ///
    /// # Errors
    /// A fault of the device.
    pub fn advance(&mut self, steps: u64) -> Result<()> {
        for _ in 0..steps {
            self.launch(SeparateKernel::Streaming)?;
            self.launch(SeparateKernel::Collision)?;
        }
        Ok(())
    }

    /// n, u and T of each cell after the last step.
    ///
    /// # Errors
    /// A fault of the device.
    pub fn fields(&self) -> Result<[Vec<f64>; 3]> {
        let n = self.shape.nx as usize;
        let mut fields = vec![0.0; 3 * n];
        self.machine.read(&self.fields, &mut fields)?;
        Ok([0, 1, 2].map(|k| fields[k * n..][..n].to_vec()))
    }

    /// How long the machine takes for so many time steps.
    ///
    /// # Errors
    /// A fault of the device.
    pub fn time_steps(&mut self, steps: u32) -> Result<Duration>
    where
        M: Clone,
    {
        self.advance(1)?;
        let machine = self.machine.clone();
        machine.time(&mut || self.advance(u64::from(steps)))
    }

    /// How long the machine takes for a kernel, so many times over.
    ///
    /// # Errors
    /// A fault of the device.
    pub fn time(&mut self, kernel: SeparateKernel, times: u32) -> Result<Duration>
    where
        M: Clone,
    {
        self.launch(kernel)?;
        let machine = self.machine.clone();
        machine.time(&mut || {
            for _ in 0..times {
                self.launch(kernel)?;
            }
            Ok(())
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::bgk::Shock;
    use crate::emulator::Emulator;

    #[test]
    fn a_block_with_several_tiles_does_what_several_blocks_do() {
        let shock = Shock {
            cells: 21,
            velocities: vec![18, 19, 17],
            conservative: false,
            ..Shock::new(1.5).unwrap()
        };
        let populations = |multiprocessors: Option<u32>| {
            let problem = shock.problem().unwrap();
            let mut kernels =
                SeparateKernels::<_, f32>::new(Emulator::default(), &problem, 0.05).unwrap();
            let way = kernels.at_once;
            assert!(way.staged > 0);
            if let Some(multiprocessors) = multiprocessors {
                kernels.at_a_time = multiprocessors;
            }
            kernels.advance(2).unwrap();
            let mut f = vec![0.0; kernels.f.len()];
            kernels.machine.read(&kernels.f, &mut f).unwrap();
            (f, kernels.fields().unwrap())
        };
        let all = populations(None);
        assert!(all.0.iter().all(|f| f.is_finite()));
        for multiprocessors in [1, 2] {
            assert!(populations(Some(multiprocessors)) == all);
        }
    }

    fn line(nx: u32, counts: [u32; 3]) -> FlowShape {
        let [count_x, count_y, count_m] = counts;
        FlowShape {
            nx,
            ny: 1,
            pitch: nx.next_multiple_of(32),
            count_x,
            count_y,
            count_m,
            integrated: 0,
            flow: 1,
            shakhov: 0,
            left: face::TABLE,
            right: face::TABLE,
            bottom: face::PERIODIC,
            top: face::PERIODIC,
            ghost_columns: 0,
            ghost_rows: 0,
        }
    }

    #[test]
    fn streaming_moves_several_tiles_of_several_nodes_both_ways() {
        let machine = Emulator::default();
        // The last group has two nodes of four, and the last of three tiles is not full.
        let shape = line(601, [2, 1, 6]);
        let order = Order { cells: 8 };
        assert_eq!(order.together(size_of::<f32>()), 4);
        // v_x, whole cells and the fraction of one.
        let nodes = [(-1.0_f32, 3, 0.25_f32), (1.0, 2, 0.75)];
        let mut axes = vec![0.0_f32; shape.axis_entries() as usize];
        for (jx, (v, whole, fraction)) in nodes.into_iter().enumerate() {
            let node = &mut axes[shape.axis_x(jx as u32) as usize..];
            node[axis::VELOCITY as usize] = v;
            node[axis::WHOLE as usize] = whole as f32;
            node[axis::FRACTION as usize] = fraction;
        }
        let incoming: Vec<f32> = (0..24_u8).map(|node| 10.0 + f32::from(node)).collect();
        let before = |pair: u32, m: u32, ix: i32| {
            if (0..601).contains(&ix) {
                ((1 + ix) as f32 * (1 + pair * 6 + m) as f32).sin()
            } else {
                let side = if ix < 0 { 0 } else { 12 };
                incoming[(side + pair * 6 + m) as usize]
            }
        };
        let places = || (0..2).flat_map(|pair| (0..6).map(move |m| (pair, m)));
        let mut f = vec![0.0; 12 * shape.pitch as usize];
        for (pair, m) in places() {
            for ix in 0..601 {
                f[order.place(&shape, [pair, m], ix) as usize] = before(pair, m, ix as i32);
            }
        }
        let mut moved = machine.upload(&f).unwrap();
        machine
            .launch(
                Grid {
                    blocks: 2 * 2,
                    threads: STREAM_THREADS,
                },
                kernels::stream_line {
                    incoming: &machine.upload(&incoming).unwrap(),
                    axes: &machine.upload(&axes).unwrap(),
                    f: &mut moved,
                    shape,
                    order,
                },
            )
            .unwrap();
        machine.read(&moved, &mut f).unwrap();
        for (pair, m) in places() {
            let (v, whole, fraction) = nodes[pair as usize];
            let upstream = if v > 0.0 { -1 } else { 1 };
            for ix in 0..601 {
                let from = |cells: i32| before(pair, m, ix as i32 + upstream * cells);
                let (here, next) = (from(whole), from(whole + 1));
                let expected = fraction.mul_add(next - here, here);
                let at = order.place(&shape, [pair, m], ix) as usize;
                assert_eq!(f[at], expected, "pair {pair}, node {m}, cell {ix}");
            }
        }
    }

    #[test]
    fn rows_are_wide_where_there_is_room_and_no_multiprocessor_idles() {
        let shape = |nx: u32, n: u32| line(nx, [n; 3]);
        let h200 = Limits {
            shared_bytes_per_block: 232_448,
            shared_bytes_per_multiprocessor: 233_472,
            multiprocessors: 132,
            free_bytes: 1 << 37,
        };
        let turing = Limits {
            shared_bytes_per_block: 64 * 1024,
            shared_bytes_per_multiprocessor: 64 * 1024,
            multiprocessors: 40,
            free_bytes: 1 << 34,
        };
        let way = |nx, n, bytes, limits| {
            Resident::new(&shape(nx, n), bytes, limits).map(|way| (way.lanes, way.staged))
        };
        assert_eq!(way(8192, 20, 4, &h200), Some((2, 4)));
        assert_eq!(way(8192, 12, 4, &h200), Some((8, 3)));
        assert_eq!(way(1024, 12, 4, &h200), Some((2, 0)));
        assert_eq!(way(8192, 32, 4, &h200), None);
        assert_eq!(way(128, 20, 4, &h200), Some((2, 4)));
        assert_eq!(way(8192, 20, 4, &turing), None);
        assert_eq!(way(8192, 12, 4, &turing), Some((4, 0)));
    }
}
