//! The operator on a machine, by law and storage.

use rarefy_kernels::Real;
use rarefy_kernels::isotropic as kernels;

use super::economies::{Saving, Splitting};
use super::forms::{ITEM_THREADS, Pairs, Shells, Work, is_uniform, pair_shape};
use crate::error::Result;
use crate::isotropic::Weights;
use crate::isotropic::coefficients::Counts;
use crate::isotropic::paper::Stored;
use crate::isotropic::{CollisionKernel, OperatorConfig, Storage};
use crate::machine::{Grid, Limits, Machine};

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
    Pairs(Pairs<M, T>),
    Stored(Stored<M, T>),
    Shells(Shells<M, T>),
    Splitting(Splitting<M>),
    Saving(Saving<M>),
}

/// Form of the kernels for a configuration: without reciprocity no reduction by symmetry is possible.
fn storage(config: &OperatorConfig) -> Storage {
    if config.corrected {
        config.storage
    } else {
        Storage::Full
    }
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
            CollisionKernel::Power { .. } => match storage(config) {
                Storage::Pairs => {
                    let shape = pair_shape::<T>(config, states, pitch, limits);
                    let table = if is_uniform(config) {
                        cells
                    } else {
                        u64::from(shape.tile_start(shape.tiles))
                    };
                    table * size + 3 * sums * u64::from(shape.tiles)
                }
                stored => Stored::<M, T>::bytes(stored, config.grid.cells()) + 2 * sums,
            },
            CollisionKernel::Saving { lambda } => {
                let cells = config.grid.cells();
                Saving::<M>::bytes(lambda, cells, states, pitch, limits) + 2 * sums
            }
            CollisionKernel::Gamma { .. } | CollisionKernel::Money => {
                Splitting::<M>::bytes(config.grid.cells(), states, pitch) + 2 * sums
            }
            CollisionKernel::Isotropic { .. } => counts.pair * size + cells * cells * 8 + 2 * sums,
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
        let (form, table_len, sums) = match config.law {
            CollisionKernel::Power { theta } => match storage(config) {
                Storage::Pairs => {
                    let (pairs, len) = Pairs::new(machine, config, theta, states, pitch)?;
                    let sums = all * pairs.shape.tiles as usize;
                    (Form::Pairs(pairs), len, sums)
                }
                storage => {
                    let of = (cells, theta, config.corrected);
                    let (stored, len) = Stored::new(machine, storage, of)?;
                    (Form::Stored(stored), len, all)
                }
            },
            CollisionKernel::Isotropic { gamma } => {
                let (shells, len) = Shells::new(machine, cells, gamma)?;
                (Form::Shells(shells), len, all)
            }
            CollisionKernel::Saving { lambda } => {
                let saving = Saving::new(machine, cells, lambda, states, pitch)?;
                (Form::Saving(saving), 0, all)
            }
            CollisionKernel::Gamma { alpha } => {
                let splitting =
                    Splitting::new(machine, cells, alpha, config.weights, (states, pitch))?;
                (Form::Splitting(splitting), 0, all)
            }
            CollisionKernel::Money => {
                let splitting =
                    Splitting::new(machine, cells, 1.0, Weights::Center, (states, pitch))?;
                (Form::Splitting(splitting), 0, all)
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
            Form::Pairs(Pairs {
                shape, flux: None, ..
            }) => shape.tiles,
            _ => 0,
        }
    }

    /// Input of the stages.
    pub(super) fn sums(&self) -> (&M::Buffer<f64>, &M::Buffer<f64>) {
        match &self.form {
            Form::Pairs(Pairs {
                flux: Some(flux), ..
            }) => (flux, &self.fall),
            _ => (&self.rise, &self.fall),
        }
    }

    pub(super) fn table_bytes(&self) -> u64 {
        self.table_bytes
    }

    fn per_cell_of_all(&self) -> Grid {
        Grid::per_item((self.pitch * self.states) as usize, ITEM_THREADS)
    }

    /// Sums of flows of all states.
    pub(super) fn flows(
        &mut self,
        machine: &M,
        f: &M::Buffer<T>,
        above: &M::Buffer<T>,
    ) -> Result<()> {
        let work = Work {
            machine,
            f,
            above,
            cells: self.cells,
            pitch: self.pitch,
            states: self.states,
        };
        let (rise, fall) = (&mut self.rise, &mut self.fall);
        match &mut self.form {
            Form::Pairs(pairs) => pairs.flows(&work, rise, fall),
            Form::Stored(stored) => stored.flows(&work, rise),
            Form::Shells(shells) => shells.flows(&work, rise, 0),
            Form::Splitting(splitting) => splitting.flows(&work, rise),
            Form::Saving(saving) => saving.flows(&work, rise),
        }
    }

    /// Sums of frequencies of what moves, of all states.
    pub(super) fn frequencies(
        &mut self,
        machine: &M,
        f: &M::Buffer<T>,
        above: &M::Buffer<T>,
        frequency: &mut M::Buffer<f64>,
    ) -> Result<()> {
        let (cells, pitch, states) = (self.cells, self.pitch, self.states);
        let work = Work {
            machine,
            f,
            above,
            cells,
            pitch,
            states,
        };
        let (rise, fall) = (&mut self.rise, &mut self.fall);
        match &mut self.form {
            Form::Pairs(pairs) => pairs.frequencies(&work, rise, fall, frequency),
            Form::Stored(stored) => stored.frequencies(&work, rise, frequency),
            Form::Shells(shells) => shells.flows(&work, frequency, 1),
            // Each agent meets each other one at unit rate: the sum to the top from the first cell on.
            Form::Splitting(_) | Form::Saving(_) => Ok(machine.launch(
                work.per_cell_of_all(),
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
            Form::Pairs(Pairs {
                flux: Some(flux), ..
            }) => machine.read(flux, &mut values)?,
            Form::Pairs(Pairs { shape, .. }) => {
                let mut flux = machine.upload(&values)?;
                machine.launch(
                    self.per_cell_of_all(),
                    kernels::collect_tiles {
                        rise: &self.rise,
                        fall: &self.fall,
                        flux: &mut flux,
                        shape: *shape,
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
