//! The operator's kernels and their tables, by law and storage.

use rarefy_kernels::isotropic::{
    self as kernels, BATCH_STATES, BATCH_THREADS, COLLECT_THREADS, MOST_SEGMENTS, PairShape,
    SAVING_THREADS, STORED_THREADS, SavingShape, batch_bytes, quantity, saving_bytes, warp_bytes,
};
use rarefy_kernels::{Real, WARP};

use crate::error::Result;
use crate::isotropic::Weights;
use crate::isotropic::coefficients::{Coefficients, Counts};
use crate::isotropic::cpu::{shell_table, splitting_weights};
use crate::isotropic::tables::{CompactTable, FullTable, Jump, JumpRows};
use crate::isotropic::{Law, OperatorConfig, Storage};
use crate::machine::{Grid, Limits, Machine};
use crate::memory_plan::check_shared;

/// Threads of a block in the kernels with one warp, or one thread, an item.
const ITEM_THREADS: u32 = 128;

/// Tiles of jump pairs beyond which their sums are taken by a kernel of their own, spread over many blocks.
const MANY_TILES: u32 = 32;

/// Tiles of all states, for each multiprocessor, from which on the kernel for batches is the faster one: below, the walk of a block along all its
/// rows takes longer than what the machine has to do.
const BATCH_TILES: u32 = 12;

/// Blocks of an economy with saving for each multiprocessor: of one state a few, which wait for their barriers in turn, of many states so many
/// that the last ones do not matter.
const SAVING_BLOCKS: [u32; 2] = [4, 32];

/// The operator by its tables and buffers.
pub(super) struct Operator<M: Machine, T: Real> {
    cells: u32,
    pitch: u32,
    states: u32,
    form: Form<M, T>,
    /// Sums of flows: by tiles, or of each cell.
    rise: M::Buffer<f64>,
    fall: M::Buffer<f64>,
    table_bytes: u64,
}

enum Form<M: Machine, T: Real> {
    Pairs {
        table: M::Buffer<T>,
        flows: PairShape,
        /// If the kernel for batches is faster: how many of its blocks come in the order of their lengths.
        batch: Option<u32>,
        /// The sums over tiles, where there are many of them.
        flux: Option<M::Buffer<f64>>,
        /// For frequencies, whose two sides are computed one after the other.
        spare: M::Buffer<f64>,
    },
    Full {
        table: M::Buffer<T>,
        starts: M::Buffer<u64>,
        more: M::Buffer<f64>,
    },
    Compact {
        table: M::Buffer<T>,
        starts: M::Buffer<u64>,
        partners: M::Buffer<f64>,
    },
    Shells {
        table: M::Buffer<T>,
        starts: M::Buffer<u64>,
        partners: M::Buffer<f64>,
    },
    Splitting {
        weights: M::Buffer<f64>,
        norms: M::Buffer<f64>,
        shared: M::Buffer<f64>,
    },
    Saving {
        shape: SavingShape,
        /// What each set of agents brings to each cell.
        shares: M::Buffer<f64>,
    },
}

/// What form the kernels take for a configuration: without reciprocity nothing can be folded.
fn storage(config: &OperatorConfig) -> Storage {
    if config.corrected {
        config.storage
    } else {
        Storage::Full
    }
}

fn tiles(cells: usize) -> u32 {
    (cells - 1).div_ceil(WARP as usize) as u32
}

/// How warps share the jump pairs of so many states.
fn pair_shape<T: Real>(
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

/// Whether states enough lie along the lanes to fill the machine, and if so, how many of the blocks come in the order of their lengths: all of them,
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

fn is_uniform(config: &OperatorConfig) -> bool {
    matches!(config.law, Law::Power { theta: 1.0 })
}

impl<M: Machine, T: Real> Operator<M, T> {
    /// Bytes that the operator needs on the machine.
    pub(super) fn bytes(
        config: &OperatorConfig,
        states: usize,
        pitch: usize,
        limits: &Limits,
    ) -> u64 {
        let cells = config.grid.cells() as u64;
        let size = size_of::<T>() as u64;
        let counts = Counts::of(cells as usize);
        let sums = (pitch * states * 8) as u64;
        match config.law {
            Law::Power { .. } => match storage(config) {
                Storage::Full => counts.full * size + cells * cells * 8 + 2 * sums,
                Storage::Compact => {
                    (counts.reciprocal + counts.reciprocal / 4 + 64 * 1024) * size
                        + cells * cells * 8
                        + 2 * sums
                }
                Storage::Pairs => {
                    let shape = pair_shape::<T>(config, states, pitch, limits);
                    let table = if is_uniform(config) {
                        cells
                    } else {
                        u64::from(shape.tile_start(shape.tiles))
                    };
                    table * size + 3 * sums * u64::from(shape.tiles)
                }
            },
            Law::Saving { lambda } => {
                let shape = saving_shape(lambda, config.grid.cells(), states, pitch, limits);
                sums * (u64::from(shape.sets) + 2)
            }
            _ => counts.pair * size + cells * cells * 8 + 2 * sums,
        }
    }

    pub(super) fn new(
        machine: &M,
        config: &OperatorConfig,
        states: usize,
        pitch: usize,
    ) -> Result<Self> {
        let cells = config.grid.cells();
        let all = pitch * states;
        let zeros = vec![0.0; all];
        let (form, table_len, sums) = match config.law {
            Law::Power { theta } => match storage(config) {
                Storage::Full => {
                    let host = FullTable::<T>::new(cells, theta, config.corrected);
                    let form = Form::Full {
                        table: machine.upload(&host.values)?,
                        starts: machine.upload(&host.starts)?,
                        more: machine.allocate(3 * cells)?,
                    };
                    (form, host.values.len(), all)
                }
                Storage::Compact => {
                    let host = CompactTable::<T>::new(cells, theta);
                    let form = Form::Compact {
                        table: machine.upload(&host.values)?,
                        starts: machine.upload(&host.starts)?,
                        partners: machine.allocate(cells * cells)?,
                    };
                    (form, host.values.len(), all)
                }
                Storage::Pairs => {
                    let uniform = is_uniform(config);
                    let limits = machine.limits()?;
                    let shape = pair_shape::<T>(config, states, pitch, &limits);
                    let host = if uniform {
                        let values = (0..cells).map(Coefficients::hard_spheres);
                        values.map(T::from_f64).collect()
                    } else {
                        tiled::<T>(cells, theta, &shape)
                    };
                    let sums = all * shape.tiles as usize;
                    let form = Form::Pairs {
                        table: machine.upload(&host)?,
                        flows: shape,
                        batch: batch_order::<T>(&shape, &limits),
                        flux: if shape.tiles > MANY_TILES {
                            Some(machine.upload(&zeros)?)
                        } else {
                            None
                        },
                        spare: machine.allocate(sums)?,
                    };
                    (form, host.len(), sums)
                }
            },
            Law::Isotropic { gamma } => {
                let (starts, values) = shell_table::<T>(cells, gamma);
                let starts: Vec<u64> = starts.iter().map(|&start| start as u64).collect();
                let form = Form::Shells {
                    table: machine.upload(&values)?,
                    starts: machine.upload(&starts)?,
                    partners: machine.allocate(cells * cells)?,
                };
                (form, values.len(), all)
            }
            Law::Saving { lambda } => {
                let limits = machine.limits()?;
                check_shared(
                    &limits,
                    &format!("an economy with saving on {cells} cells"),
                    saving_bytes(cells as u32, false) as usize,
                    "use fewer cells, or compute on the CPU",
                )?;
                let shape = saving_shape(lambda, cells, states, pitch, &limits);
                let form = Form::Saving {
                    shape,
                    shares: machine.allocate(all * shape.sets as usize)?,
                };
                (form, 0, all)
            }
            Law::Money | Law::Gamma { .. } => {
                let (alpha, weights) = match config.law {
                    Law::Gamma { alpha } => (alpha, config.weights),
                    _ => (1.0, Weights::Center),
                };
                let (weights, norms) = splitting_weights(cells, alpha, weights);
                let form = Form::Splitting {
                    weights: machine.upload(&weights)?,
                    norms: machine.upload(&norms)?,
                    shared: machine.allocate(2 * cells - 1)?,
                };
                (form, 0, all)
            }
        };
        Ok(Self {
            cells: cells as u32,
            pitch: pitch as u32,
            states: states as u32,
            form,
            rise: machine.allocate(sums)?,
            fall: machine.allocate(sums)?,
            table_bytes: (table_len * size_of::<T>()) as u64,
        })
    }

    /// Tiles that the stages of a step have to add up; 0 if the sums are those of the cells.
    pub(super) fn tiles(&self) -> u32 {
        match &self.form {
            Form::Pairs {
                flows, flux: None, ..
            } => flows.tiles,
            _ => 0,
        }
    }

    /// What the stages read.
    pub(super) fn sums(&self) -> (&M::Buffer<f64>, &M::Buffer<f64>) {
        match &self.form {
            Form::Pairs {
                flux: Some(flux), ..
            } => (flux, &self.fall),
            _ => (&self.rise, &self.fall),
        }
    }

    pub(super) fn table_bytes(&self) -> u64 {
        self.table_bytes
    }

    fn per_cell_of_all(&self) -> Grid {
        Grid::per_item((self.pitch * self.states) as usize, ITEM_THREADS)
    }

    /// A warp an item.
    fn per_warp(items: u32) -> Grid {
        Grid::per_item(items as usize * WARP as usize, ITEM_THREADS)
    }

    /// Sums of flows of all states.
    pub(super) fn flows(
        &mut self,
        machine: &M,
        work: &M::Buffer<T>,
        above: &M::Buffer<T>,
    ) -> Result<()> {
        let (cells, pitch, states) = (self.cells, self.pitch, self.states);
        match &mut self.form {
            Form::Pairs {
                table,
                flows,
                batch,
                flux,
                ..
            } => {
                let shape = *flows;
                let (rise, fall) = (&mut self.rise, &mut self.fall);
                if let Some(order) = *batch {
                    machine.launch(
                        batch_grid(&shape),
                        kernels::batch_flows {
                            table,
                            f: work,
                            above,
                            rise,
                            fall,
                            shape,
                            order,
                        },
                    )?;
                } else {
                    machine.launch(
                        pair_grid(&shape),
                        kernels::pair_flows {
                            table,
                            f: work,
                            above,
                            rise,
                            fall,
                            shape,
                        },
                    )?;
                }
                if let Some(flux) = flux {
                    machine.launch(
                        Grid::per_item((pitch * states) as usize, ITEM_THREADS),
                        kernels::collect_tiles {
                            rise: &self.rise,
                            fall: &self.fall,
                            flux,
                            shape,
                            plus: 0,
                        },
                    )?;
                }
                Ok(())
            }
            Form::Full {
                table,
                starts,
                more,
            } => Ok((0..states).try_for_each(|state| {
                machine.launch(
                    Grid {
                        blocks: cells,
                        threads: STORED_THREADS,
                    },
                    kernels::full_flows {
                        table,
                        starts,
                        f: work,
                        flux: &mut self.rise,
                        more,
                        cells,
                        base: state * pitch,
                        detailed: 0,
                    },
                )
            })?),
            Form::Compact {
                table,
                starts,
                partners,
            } => (0..states).try_for_each(|state| {
                let base = state * pitch;
                machine.launch(
                    Grid {
                        blocks: 2 * cells - 1,
                        threads: STORED_THREADS,
                    },
                    kernels::compact_flows {
                        table,
                        starts,
                        f: work,
                        flows: partners,
                        cells,
                        base,
                        frequencies: 0,
                    },
                )?;
                gather(machine, partners, work, &mut self.rise, cells, base, 0)
            }),
            Form::Shells {
                table,
                starts,
                partners,
            } => (0..states).try_for_each(|state| {
                let base = state * pitch;
                machine.launch(
                    Grid {
                        blocks: 2 * cells - 1,
                        threads: WARP,
                    },
                    kernels::shell_flows {
                        table,
                        starts,
                        f: work,
                        flows: partners,
                        cells,
                        base,
                        frequencies: 0,
                    },
                )?;
                gather(machine, partners, work, &mut self.rise, cells, base, 0)
            }),
            Form::Splitting {
                weights,
                norms,
                shared,
            } => Ok((0..states).try_for_each(|state| {
                let base = state * pitch;
                machine.launch(
                    Self::per_warp(2 * cells - 1),
                    kernels::split_products {
                        p: work,
                        norms,
                        shared_out: shared,
                        cells,
                        base,
                    },
                )?;
                machine.launch(
                    Self::per_warp(cells),
                    kernels::split_flows {
                        p: work,
                        shared_in: shared,
                        weights,
                        flux: &mut self.rise,
                        cells,
                        base,
                    },
                )
            })?),
            Form::Saving { shape, shares } => {
                machine.launch(
                    Grid {
                        blocks: shape.sets * states,
                        threads: saving_threads(cells),
                    },
                    kernels::saving_shares {
                        p: work,
                        shares: &mut *shares,
                        shape: *shape,
                    },
                )?;
                Ok(machine.launch(
                    Grid {
                        blocks: cells.div_ceil(WARP) * states,
                        threads: COLLECT_THREADS,
                    },
                    kernels::collect_shares {
                        p: work,
                        shares,
                        flux: &mut self.rise,
                        shape: *shape,
                    },
                )?)
            }
        }
    }

    /// Sums of frequencies of what moves, of all states.
    pub(super) fn frequencies(
        &mut self,
        machine: &M,
        work: &M::Buffer<T>,
        above: &M::Buffer<T>,
        frequency: &mut M::Buffer<f64>,
    ) -> Result<()> {
        let (cells, pitch, states) = (self.cells, self.pitch, self.states);
        let all_cells = self.per_cell_of_all();
        match &mut self.form {
            Form::Pairs {
                table,
                flows,
                spare,
                ..
            } => {
                let shape = *flows;
                let grid = pair_grid(&shape);
                let (rise, fall) = (&mut self.rise, &mut self.fall);
                machine.launch(
                    grid,
                    kernels::pair_frequencies {
                        table,
                        f: work,
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
                        f: work,
                        above,
                        rise: &mut *rise,
                        fall: spare,
                        shape,
                        what: quantity::RISE,
                    },
                )?;
                Ok(machine.launch(
                    all_cells,
                    kernels::collect_tiles {
                        rise,
                        fall,
                        flux: frequency,
                        shape,
                        plus: 1,
                    },
                )?)
            }
            Form::Full {
                table,
                starts,
                more,
            } => Ok((0..states).try_for_each(|state| {
                machine.launch(
                    Grid {
                        blocks: cells,
                        threads: STORED_THREADS,
                    },
                    kernels::full_flows {
                        table,
                        starts,
                        f: work,
                        flux: &mut self.rise,
                        more: &mut *more,
                        cells,
                        base: state * pitch,
                        detailed: 1,
                    },
                )?;
                machine.launch(
                    Grid::per_item(cells as usize, ITEM_THREADS),
                    kernels::place_values {
                        values: more,
                        out: &mut *frequency,
                        count: cells,
                        base: state * pitch,
                    },
                )
            })?),
            Form::Compact {
                table,
                starts,
                partners,
            } => (0..states).try_for_each(|state| {
                let base = state * pitch;
                machine.launch(
                    Grid {
                        blocks: 2 * cells - 1,
                        threads: STORED_THREADS,
                    },
                    kernels::compact_flows {
                        table,
                        starts,
                        f: work,
                        flows: partners,
                        cells,
                        base,
                        frequencies: 1,
                    },
                )?;
                gather(machine, partners, work, frequency, cells, base, 1)
            }),
            Form::Shells {
                table,
                starts,
                partners,
            } => (0..states).try_for_each(|state| {
                let base = state * pitch;
                machine.launch(
                    Grid {
                        blocks: 2 * cells - 1,
                        threads: WARP,
                    },
                    kernels::shell_flows {
                        table,
                        starts,
                        f: work,
                        flows: partners,
                        cells,
                        base,
                        frequencies: 1,
                    },
                )?;
                gather(machine, partners, work, frequency, cells, base, 1)
            }),
            // Each agent meets each other one at unit rate: the sum to the top from the first cell on.
            Form::Splitting { .. } | Form::Saving { .. } => Ok(machine.launch(
                all_cells,
                kernels::count_agents {
                    above,
                    frequency,
                    cells,
                    pitch,
                    states,
                },
            )?),
        }
    }

    /// Sums of flows of the first state, fetched.
    pub(super) fn flux(&mut self, machine: &M) -> Result<Vec<f64>> {
        let all = (self.pitch * self.states) as usize;
        let mut values = vec![0.0; all];
        match &self.form {
            Form::Pairs {
                flux: Some(flux), ..
            } => machine.read(flux, &mut values)?,
            Form::Pairs { flows, .. } => {
                let mut flux = machine.upload(&values)?;
                machine.launch(
                    self.per_cell_of_all(),
                    kernels::collect_tiles {
                        rise: &self.rise,
                        fall: &self.fall,
                        flux: &mut flux,
                        shape: *flows,
                        plus: 0,
                    },
                )?;
                machine.read(&flux, &mut values)?;
            }
            _ => {
                let mut flux = machine.upload(&values)?;
                machine.launch(
                    Grid::per_item(self.cells as usize, ITEM_THREADS),
                    kernels::place_values {
                        values: &self.rise,
                        out: &mut flux,
                        count: self.cells,
                        base: 0,
                    },
                )?;
                machine.read(&flux, &mut values)?;
            }
        }
        values.truncate(self.cells as usize);
        Ok(values)
    }
}

/// Threads for the agents of a cell: four cells a thread, as long as a block has so many.
fn saving_threads(cells: u32) -> u32 {
    (cells / 4)
        .next_multiple_of(WARP)
        .clamp(WARP, SAVING_THREADS)
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

fn gather<M: Machine, T: Real>(
    machine: &M,
    flows: &M::Buffer<f64>,
    f: &M::Buffer<T>,
    flux: &mut M::Buffer<f64>,
    cells: u32,
    base: u32,
    weighted: u32,
) -> Result<()> {
    Ok(machine.launch(
        Grid::per_item(cells as usize * WARP as usize, ITEM_THREADS),
        kernels::gather_partners {
            flows,
            f,
            flux,
            cells,
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
