//! The forms of the operator of gases: tables and launches of each law.

use rarefy_kernels::isotropic::{
    self as kernels, BATCH_STATES, BATCH_THREADS, MOST_SEGMENTS, PairShape, batch_bytes, quantity,
    warp_bytes,
};
use rarefy_kernels::{Real, WARP};

use crate::error::Result;
use crate::isotropic::coefficients::Coefficients;
use crate::isotropic::cpu::shell_table;
use crate::isotropic::tables::{Jump, JumpRows};
use crate::isotropic::{CollisionKernel, OperatorConfig};
use crate::machine::{Grid, Limits, Machine};

/// Threads of a block in the kernels with one warp, or one thread, an item.
pub(in crate::isotropic) const ITEM_THREADS: u32 = 128;

/// Tiles of jump pairs beyond which their sums are taken by a kernel of their own, spread over many blocks.
const MANY_TILES: u32 = 32;

/// Tiles of all states, for each multiprocessor, from which on the kernel for batches is the faster one. Below, the walk of a block along all its
/// rows takes longer than the work of the machine.
const BATCH_TILES: u32 = 12;

/// The distributions of all states that a pass reads.
pub(in crate::isotropic) struct Work<'a, M: Machine, T: Real> {
    pub(in crate::isotropic) machine: &'a M,
    pub(in crate::isotropic) f: &'a M::Buffer<T>,
    /// Their sums from each cell to the top.
    pub(in crate::isotropic) above: &'a M::Buffer<T>,
    pub(in crate::isotropic) cells: u32,
    pub(in crate::isotropic) pitch: u32,
    pub(in crate::isotropic) states: u32,
}

impl<M: Machine, T: Real> Work<'_, M, T> {
    pub(in crate::isotropic) fn per_cell_of_all(&self) -> Grid {
        Grid::per_item((self.pitch * self.states) as usize, ITEM_THREADS)
    }

    /// Launches for the first cell of each state.
    pub(in crate::isotropic) fn each_state(
        &self,
        launch: impl FnMut(u32) -> Result<()>,
    ) -> Result<()> {
        let mut bases = (0..self.states).map(|state| state * self.pitch);
        bases.try_for_each(launch)
    }
}

/// Pairs of jumps to and fro, in tiles.
pub(super) struct Pairs<M: Machine, T: Real> {
    table: M::Buffer<T>,
    pub(super) shape: PairShape,
    /// If the kernel for batches is faster: how many of its blocks come in the order of their lengths.
    batch: Option<u32>,
    /// The sums over tiles, where there are many of them.
    pub(super) flux: Option<M::Buffer<f64>>,
    /// For frequencies, whose two sides are computed one after the other.
    spare: M::Buffer<f64>,
}

impl<M: Machine, T: Real> Pairs<M, T> {
    /// The tables on a machine, and how many coefficients they have.
    pub(super) fn new(
        machine: &M,
        config: &OperatorConfig,
        theta: f64,
        states: usize,
        pitch: usize,
    ) -> Result<(Self, usize)> {
        let cells = config.grid.cells();
        let all = pitch * states;
        let limits = machine.limits()?;
        let shape = pair_shape::<T>(config, states, pitch, &limits);
        let host: Vec<T> = if is_uniform(config) {
            let values = (0..cells).map(Coefficients::hard_spheres);
            values.map(T::from_f64).collect()
        } else {
            tiled(cells, theta, &shape)
        };
        let pairs = Self {
            table: machine.upload(&host)?,
            shape,
            batch: batch_order::<T>(&shape, &limits),
            flux: if shape.tiles > MANY_TILES {
                Some(machine.upload(&vec![0.0; all])?)
            } else {
                None
            },
            spare: machine.allocate(all * shape.tiles as usize)?,
        };
        Ok((pairs, host.len()))
    }

    pub(super) fn flows(
        &mut self,
        work: &Work<'_, M, T>,
        rise: &mut M::Buffer<f64>,
        fall: &mut M::Buffer<f64>,
    ) -> Result<()> {
        let Work {
            machine, f, above, ..
        } = *work;
        let (table, shape) = (&self.table, self.shape);
        if let Some(order) = self.batch {
            machine.launch(
                batch_grid(&shape),
                kernels::batch_flows {
                    table,
                    f,
                    above,
                    rise: &mut *rise,
                    fall: &mut *fall,
                    shape,
                    order,
                },
            )?;
        } else {
            machine.launch(
                pair_grid(&shape),
                kernels::pair_flows {
                    table,
                    f,
                    above,
                    rise: &mut *rise,
                    fall: &mut *fall,
                    shape,
                },
            )?;
        }
        if let Some(flux) = &mut self.flux {
            machine.launch(
                work.per_cell_of_all(),
                kernels::collect_tiles {
                    rise,
                    fall,
                    flux,
                    shape,
                    plus: 0,
                },
            )?;
        }
        Ok(())
    }

    pub(super) fn frequencies(
        &mut self,
        work: &Work<'_, M, T>,
        rise: &mut M::Buffer<f64>,
        fall: &mut M::Buffer<f64>,
        frequency: &mut M::Buffer<f64>,
    ) -> Result<()> {
        let Work {
            machine, f, above, ..
        } = *work;
        let (table, shape, spare) = (&self.table, self.shape, &mut self.spare);
        let grid = pair_grid(&shape);
        machine.launch(
            grid,
            kernels::pair_frequencies {
                table,
                f,
                above,
                rise: &mut *spare,
                fall: &mut *fall,
                shape,
                what: quantity::FALL,
            },
        )?;
        machine.launch(
            grid,
            kernels::pair_frequencies {
                table,
                f,
                above,
                rise: &mut *rise,
                fall: spare,
                shape,
                what: quantity::RISE,
            },
        )?;
        Ok(machine.launch(
            work.per_cell_of_all(),
            kernels::collect_tiles {
                rise,
                fall,
                flux: frequency,
                shape,
                plus: 1,
            },
        )?)
    }
}

/// The shells of isotropic scattering, stored once for both partners.
pub(super) struct Shells<M: Machine, T: Real> {
    table: M::Buffer<T>,
    starts: M::Buffer<u64>,
    partners: M::Buffer<f64>,
}

impl<M: Machine, T: Real> Shells<M, T> {
    /// The tables on a machine, and how many coefficients they have.
    pub(super) fn new(machine: &M, cells: usize, gamma: f64) -> Result<(Self, usize)> {
        let (starts, values) = shell_table::<T>(cells, gamma);
        let starts: Vec<u64> = starts.iter().map(|&start| start as u64).collect();
        let shells = Self {
            table: machine.upload(&values)?,
            starts: machine.upload(&starts)?,
            partners: machine.allocate(cells * cells)?,
        };
        Ok((shells, values.len()))
    }

    /// The flows, or the `frequencies`.
    pub(super) fn flows(
        &mut self,
        work: &Work<'_, M, T>,
        out: &mut M::Buffer<f64>,
        frequencies: u32,
    ) -> Result<()> {
        let cells = work.cells;
        work.each_state(|base| {
            work.machine.launch(
                Grid {
                    blocks: 2 * cells - 1,
                    threads: WARP,
                },
                kernels::shell_flows {
                    table: &self.table,
                    starts: &self.starts,
                    f: work.f,
                    flows: &mut self.partners,
                    cells,
                    base,
                    frequencies,
                },
            )?;
            gather(work, &self.partners, out, base, frequencies)
        })
    }
}

fn tiles(cells: usize) -> u32 {
    (cells - 1).div_ceil(WARP as usize) as u32
}

/// How warps share the jump pairs of so many states.
pub(super) fn pair_shape<T: Real>(
    config: &OperatorConfig,
    states: usize,
    pitch: usize,
    limits: &Limits,
) -> PairShape {
    let cells = config.grid.cells();
    let tiles = tiles(cells);
    // Warps that a block has shared memory for.
    let room = limits.shared_bytes_per_block as u32 / warp_bytes(size_of::<T>() as u32);
    // As many warps as fill the machine.
    let wanted = (16 * limits.multiprocessors.max(1)).div_ceil(states as u32 * tiles);
    let most = room.min(MOST_SEGMENTS).min(tiles).max(1);
    PairShape {
        cells: cells as u32,
        pitch: pitch as u32,
        tiles,
        segments: wanted.clamp(1, most),
        states: states as u32,
        uniform: u32::from(is_uniform(config)),
    }
}

/// Whether enough states lie along the lanes to fill the machine. If so, how many of the blocks come in the order of their lengths: all of them,
/// or those that find a multiprocessor of their own, if the others are at once put beside them.
fn batch_order<T: Real>(shape: &PairShape, limits: &Limits) -> Option<u32> {
    let processors = limits.multiprocessors.max(1);
    let fits = batch_bytes(size_of::<T>() as u32) as usize <= limits.shared_bytes_per_block;
    let fills = shape.states * shape.tiles >= BATCH_TILES * processors;
    let blocks = batch_grid(shape).blocks;
    (fits && fills).then_some(if blocks <= 2 * processors {
        processors.min(blocks)
    } else {
        blocks
    })
}

pub(super) fn is_uniform(config: &OperatorConfig) -> bool {
    matches!(config.law, CollisionKernel::Power { theta: 1.0 })
}

/// The blocks of a pass over the jump pairs: tiles by states.
fn pair_grid(shape: &PairShape) -> Grid {
    Grid {
        blocks: shape.tiles * shape.states,
        threads: shape.segments * WARP,
    }
}

/// The same for batches: tiles by sets of states.
fn batch_grid(shape: &PairShape) -> Grid {
    Grid {
        blocks: shape.tiles * shape.states.div_ceil(BATCH_STATES),
        threads: BATCH_THREADS,
    }
}

/// A warp an item.
pub(super) fn per_warp(items: u32) -> Grid {
    Grid::per_item(items as usize * WARP as usize, ITEM_THREADS)
}

/// Sums over the partners of each cell.
pub(in crate::isotropic) fn gather<M: Machine, T: Real>(
    work: &Work<'_, M, T>,
    flows: &M::Buffer<f64>,
    flux: &mut M::Buffer<f64>,
    base: u32,
    weighted: u32,
) -> Result<()> {
    Ok(work.machine.launch(
        per_warp(work.cells),
        kernels::gather_partners {
            flows,
            f: work.f,
            flux,
            cells: work.cells,
            base,
            weighted,
        },
    )?)
}

/// The coefficients of jumps in tiles of 32 values of d: rows of m, d along the lanes, zeros where m + d is beyond the grid.
fn tiled<T: Real>(cells: usize, theta: f64, shape: &PairShape) -> Vec<T> {
    let rows = JumpRows::new(cells, theta, Jump::Both);
    let lanes = WARP as usize;
    let mut values = vec![T::ZERO; shape.tile_start(shape.tiles) as usize];
    for m in 0..cells {
        for (at, &value) in rows.row(m, 1).iter().enumerate() {
            let (tile, lane) = (at / lanes, at % lanes);
            values[shape.tile_start(tile as u32) as usize + m * lanes + lane] = T::from_f64(value);
        }
    }
    values
}
