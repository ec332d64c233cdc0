//! The forms of the operator of economies: tables and launches.

use rarefy_kernels::isotropic::{
    self as kernels, COLLECT_THREADS, LAY_THREADS, LaneShape, SAVING_AGENTS, SAVING_CHUNK,
    SAVING_ROW, SAVING_THREADS, SAVING_WIDTH, SWEEP_THREADS, SavingShape, SweepShape, saving_bytes,
};
use rarefy_kernels::{Real, WARP};
use rayon::prelude::*;

use super::forms::{Work, per_warp};
use crate::error::Result;
use crate::isotropic::Weights;
use crate::isotropic::cpu::splitting_weights;
use crate::machine::{Grid, Limits, Machine};
use crate::memory_plan::check_shared;

/// Whether states lie along the lanes where agents split all they have. A walk along all cells takes longer than the two launches of each of a few states.
const fn many_splitting(cells: usize, states: usize) -> bool {
    states >= 4 && 64 * states > cells
}

/// The same where agents save: the work of a state grows with the square of its cells, a walk along them with their number.
const fn many_saving(cells: usize, states: usize) -> bool {
    states >= 20 && states * cells >= 24_576
}

/// Blocks of an economy with saving for each multiprocessor: of one state a few, which wait for their barriers in turn, of many states so many
/// that the last ones do not matter.
const SAVING_BLOCKS: [u32; 2] = [4, 32];

/// States along the lanes.
struct Lanes<M: Machine> {
    shape: LaneShape,
    lanes: M::Buffer<f64>,
    counts: M::Buffer<f64>,
}

impl<M: Machine> Lanes<M> {
    fn new(machine: &M, shape: LaneShape) -> Result<Self> {
        Ok(Self {
            shape,
            lanes: machine.allocate(lane_words(&shape))?,
            counts: machine.allocate(lane_words(&shape) / WARP as usize)?,
        })
    }

    fn lay<T: Real>(&mut self, work: &Work<'_, M, T>) -> Result<()> {
        Ok(work.machine.launch(
            Grid {
                blocks: self.shape.sets() * self.shape.rows / WARP,
                threads: LAY_THREADS,
            },
            kernels::lay_along_lanes {
                p: work.f,
                lanes: &mut self.lanes,
                counts: &mut self.counts,
                shape: self.shape,
            },
        )?)
    }
}

fn lane_shape(cells: usize, states: usize, pitch: usize) -> LaneShape {
    LaneShape::new(cells as u32, pitch as u32, states as u32)
}

/// The blocks of a launch that share the sums of so many groups of neighbouring cells or shells of all sets.
const fn of_lanes(groups: u32) -> Grid {
    Grid {
        blocks: groups,
        threads: kernels::LANE_WARPS * WARP,
    }
}

/// Numbers of all states along the lanes.
fn lane_words(shape: &LaneShape) -> usize {
    (shape.sets() * shape.rows * WARP) as usize
}

/// Sums of the products of all states, by shells.
fn shell_words(shape: &LaneShape) -> usize {
    (shape.sets() * shape.shells() * WARP) as usize
}

/// Agents who put their money together and split it.
pub(super) struct Splitting<M: Machine> {
    /// With zeros up to a multiple of the cells of a thread.
    weights: M::Buffer<f64>,
    norms: M::Buffer<f64>,
    shared: M::Buffer<f64>,
    lanes: Option<Lanes<M>>,
}

impl<M: Machine> Splitting<M> {
    /// Bytes beside the sums of flows.
    pub(super) fn bytes(cells: usize, states: usize, pitch: usize) -> u64 {
        let shape = lane_shape(cells, states, pitch);
        let words = if !many_splitting(cells, states) {
            2 * cells
        } else {
            shell_words(&shape) + lane_words(&shape) * 33 / 32
        };
        ((words + 4 * cells) * 8) as u64
    }

    pub(super) fn new(
        machine: &M,
        cells: usize,
        alpha: f64,
        weights: Weights,
        (states, pitch): (usize, usize),
    ) -> Result<Self> {
        let (mut weights, norms) = splitting_weights(cells, alpha, weights);
        let shape = lane_shape(cells, states, pitch);
        weights.resize(shape.shells() as usize / 2, 0.0);
        let many = many_splitting(cells, states);
        Ok(Self {
            weights: machine.upload(&weights)?,
            norms: machine.upload(&norms)?,
            shared: machine.allocate(if many {
                shell_words(&shape)
            } else {
                2 * cells - 1
            })?,
            lanes: many.then(|| Lanes::new(machine, shape)).transpose()?,
        })
    }

    pub(super) fn flows<T: Real>(
        &mut self,
        work: &Work<'_, M, T>,
        flux: &mut M::Buffer<f64>,
    ) -> Result<()> {
        let Work {
            machine, f, cells, ..
        } = *work;
        if let Some(lanes) = &mut self.lanes {
            lanes.lay(work)?;
            let shape = lanes.shape;
            machine.launch(
                of_lanes(shape.sets() * shape.shells() / kernels::LANE_CELLS),
                kernels::split_products_of_lanes {
                    lanes: &lanes.lanes,
                    norms: &self.norms,
                    shared_out: &mut self.shared,
                    shape,
                },
            )?;
            return Ok(machine.launch(
                of_lanes(shape.sets() * shape.groups()),
                kernels::split_flows_of_lanes {
                    lanes: &lanes.lanes,
                    counts: &lanes.counts,
                    shared_in: &self.shared,
                    weights: &self.weights,
                    flux,
                    shape,
                },
            )?);
        }
        work.each_state(|base| {
            machine.launch(
                per_warp(2 * cells - 1),
                kernels::split_products {
                    p: f,
                    norms: &self.norms,
                    shared_out: &mut self.shared,
                    cells,
                    base,
                },
            )?;
            Ok(machine.launch(
                per_warp(cells),
                kernels::split_flows {
                    p: f,
                    shared_in: &self.shared,
                    weights: &self.weights,
                    flux: &mut *flux,
                    cells,
                    base,
                },
            )?)
        })
    }
}

/// Agents who save a part of their money.
pub(super) enum Saving<M: Machine> {
    /// Blocks share the agents of a state.
    Single {
        shape: SavingShape,
        /// Contribution of each set of agents to each cell.
        shares: M::Buffer<f64>,
    },
    /// States lie along the lanes.
    Many(Box<Sweeps<M>>),
}

/// Many states of agents who save.
pub(super) struct Sweeps<M: Machine> {
    lanes: Lanes<M>,
    shape: SweepShape,
    table: M::Buffer<f64>,
    falls: M::Buffer<u32>,
    shares: M::Buffer<f64>,
}

impl<M: Machine> Saving<M> {
    /// Bytes beside the sums of flows.
    pub(super) fn bytes(
        lambda: f64,
        cells: usize,
        states: usize,
        pitch: usize,
        limits: &Limits,
    ) -> u64 {
        if !many_saving(cells, states) {
            let shape = saving_shape(lambda, cells, states, pitch, limits);
            return (pitch * states * 8) as u64 * u64::from(shape.sets);
        }
        let table = SweepTable::words(cells);
        let shape = sweep_shape(lambda, lane_shape(cells, states, pitch));
        let words = lane_words(&shape.lanes) * 33 / 32 + share_words(&shape) + table + cells;
        words as u64 * 8
    }

    pub(super) fn new(
        machine: &M,
        cells: usize,
        lambda: f64,
        states: usize,
        pitch: usize,
    ) -> Result<Self> {
        if many_saving(cells, states) {
            let shape = sweep_shape(lambda, lane_shape(cells, states, pitch));
            let host = SweepTable::new(lambda, cells);
            return Ok(Self::Many(Box::new(Sweeps {
                lanes: Lanes::new(machine, shape.lanes)?,
                shape,
                table: machine.upload(&host.values)?,
                falls: machine.upload(&host.falls)?,
                shares: machine.allocate(share_words(&shape))?,
            })));
        }
        let limits = machine.limits()?;
        check_shared(
            &limits,
            &format!("an economy with saving on {cells} cells"),
            saving_bytes(cells as u32, false) as usize,
            "use fewer cells, or compute on the CPU",
        )?;
        let shape = saving_shape(lambda, cells, states, pitch, &limits);
        let shares = machine.allocate(pitch * states * shape.sets as usize)?;
        Ok(Self::Single { shape, shares })
    }

    pub(super) fn flows<T: Real>(
        &mut self,
        work: &Work<'_, M, T>,
        flux: &mut M::Buffer<f64>,
    ) -> Result<()> {
        let Work {
            machine,
            f,
            cells,
            states,
            ..
        } = *work;
        let (shape, shares) = match self {
            Self::Single { shape, shares } => (*shape, shares),
            Self::Many(sweeps) => return sweeps.flows(work, flux),
        };
        machine.launch(
            Grid {
                blocks: shape.sets * states,
                threads: saving_threads(cells),
            },
            kernels::saving_shares {
                p: f,
                shares: &mut *shares,
                shape,
            },
        )?;
        Ok(machine.launch(
            Grid {
                blocks: cells.div_ceil(WARP) * states,
                threads: COLLECT_THREADS,
            },
            kernels::collect_shares {
                p: f,
                shares,
                flux,
                shape,
            },
        )?)
    }
}

impl<M: Machine> Sweeps<M> {
    fn flows<T: Real>(&mut self, work: &Work<'_, M, T>, flux: &mut M::Buffer<f64>) -> Result<()> {
        self.lanes.lay(work)?;
        let Self {
            lanes: Lanes { lanes, counts, .. },
            shape,
            ..
        } = self;
        let shape = *shape;
        work.machine.launch(
            Grid {
                blocks: shape.lanes.sets() * shape.parts(),
                threads: SWEEP_THREADS,
            },
            kernels::saving_sweeps {
                lanes,
                table: &self.table,
                falls: &self.falls,
                shares: &mut self.shares,
                shape,
            },
        )?;
        Ok(work.machine.launch(
            of_lanes(shape.lanes.sets() * shape.lanes.groups()),
            kernels::collect_sweeps {
                lanes,
                counts,
                shares: &self.shares,
                flux,
                shape,
            },
        )?)
    }
}

fn sweep_shape(lambda: f64, lanes: LaneShape) -> SweepShape {
    SweepShape {
        lambda,
        lanes,
        last_bin: Ends::new(lambda, lanes.cells as usize).bins[lanes.cells as usize - 1],
    }
}

fn share_words(shape: &SweepShape) -> usize {
    (shape.lanes.sets() * shape.parts()) as usize * (shape.lanes.cells * WARP) as usize
}

/// Upper ends of the ranges, less i.
struct Ends {
    /// h_j.
    heights: Vec<f64>,
    /// The cells in which they lie: from one j to the next they are the same or one higher.
    bins: Vec<u32>,
}

impl Ends {
    fn new(lambda: f64, cells: usize) -> Self {
        let height = |j: usize| (1.0 - lambda) * j as f64 + (1.0 - 0.5 * lambda);
        let heights: Vec<f64> = (0..cells).map(height).collect();
        let mut bin = 0;
        let next = |height: &f64| {
            if *height > f64::from(bin) + 1.0 {
                bin += 1;
            }
            bin
        };
        let bins = heights.iter().map(next).collect();
        Self { heights, bins }
    }
}

/// The factors of all pairs of cells: groups of neighbouring i, rows of j.
struct SweepTable {
    values: Vec<f64>,
    /// One word for each chunk of j, from the highest on.
    falls: Vec<u32>,
}

impl SweepTable {
    fn words(cells: usize) -> usize {
        let rows = cells.next_multiple_of(SAVING_CHUNK as usize);
        cells.next_multiple_of(SAVING_AGENTS as usize) / SAVING_WIDTH as usize
            * rows
            * SAVING_ROW as usize
    }

    fn new(lambda: f64, cells: usize) -> Self {
        let (width, row) = (SAVING_WIDTH as usize, SAVING_ROW as usize);
        let chunk = SAVING_CHUNK as usize;
        let rows = cells.next_multiple_of(chunk);
        let ends = Ends::new(lambda, cells);
        let mut values = vec![0.0; Self::words(cells)];
        let groups = values.par_chunks_exact_mut(rows * row).enumerate();
        groups.for_each(|(group, values)| {
            for (j, values) in values.chunks_exact_mut(row).take(cells).enumerate() {
                for k in 0..width.min(cells.saturating_sub(group * width)) {
                    let (inverse, part) = ends.factors(lambda, group * width + k, j);
                    values[k] = inverse;
                    values[width + k] = part;
                }
            }
        });
        let falls = (0..rows / chunk).map(|at| {
            let highest = rows - 1 - at * chunk;
            let falls = |q: usize| {
                let j = highest - q;
                j + 1 < cells && ends.bins[j] < ends.bins[j + 1]
            };
            (0..chunk).fold(0, |word, q| word | u32::from(falls(q)) << q)
        });
        Self {
            values,
            falls: falls.collect(),
        }
    }
}

impl Ends {
    /// The inverse width of the range of an agent of cell i after one of cell j, and the part of the range in its last cell.
    fn factors(&self, lambda: f64, i: usize, j: usize) -> (f64, f64) {
        let (height, bin) = (self.heights[j], self.bins[j] as usize);
        let top = self.heights.len() as f64;
        let own = lambda * (i as f64 + 0.5);
        // Positive even where the traded share is lost to rounding.
        let reach = ((i as f64 - own) + height).max(own * f64::EPSILON);
        let above = i as f64 + height > top;
        let below = (i + j + 1) as f64 - top > own;
        let width = match (above, below) {
            (false, false) => reach,
            (true, false) => top - own,
            (false, true) => height + (top - 1.0 - j as f64),
            (true, true) => 2.0 * top - (i + j + 1) as f64,
        };
        let within = if i + bin >= self.heights.len() {
            0.0
        } else if bin == 0 && own >= i as f64 {
            reach
        } else {
            height - bin as f64
        };
        (1.0 / width, within / width)
    }
}

/// How the blocks share the agents of an economy with saving.
fn saving_shape(
    lambda: f64,
    cells: usize,
    states: usize,
    pitch: usize,
    limits: &Limits,
) -> SavingShape {
    let (cells, states) = (cells as u32, states as u32);
    let [few, many] = SAVING_BLOCKS;
    let blocks = limits.multiprocessors.max(1) * (few * states).min(many);
    let sets = blocks.div_ceil(states);
    let roomy = saving_bytes(cells, true) as usize <= limits.shared_bytes_per_block;
    SavingShape {
        lambda,
        cells,
        pitch: pitch as u32,
        sets: sets.clamp(1, cells),
        roomy: u32::from(roomy),
    }
}

/// Threads for the agents of a cell: four cells a thread, as long as a block has so many.
fn saving_threads(cells: u32) -> u32 {
    (cells / 4)
        .next_multiple_of(WARP)
        .clamp(WARP, SAVING_THREADS)
}
