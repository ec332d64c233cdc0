//! Distributions of many cells that stay in the memory of a machine while collisions change them.

use std::fmt;
use std::sync::Arc;

use rarefy_kernels::Real;
use rarefy_kernels::boltzmann::copy_values;
use rarefy_kernels::collision::{
    self as kernels, BALANCE_WORDS, GridShape, SHARE_THREADS, StageWeights,
};

use super::correction::{SumsBy, sharing};
use super::values::CELL_THREADS;
use super::{Conservation, MachineEngine, together, working_scale};
use crate::collision::integrator::stages;
use crate::collision::{Integrator, OperatorConfig};
use crate::error::Result;
use crate::machine::{Grid, Machine};

/// Collisions in a number of cells of space, each with a distribution, all in the memory of a machine. A solver of the Boltzmann equation
/// in space and time uses it, with its own streaming between the collisions.
///
/// As many distributions are evaluated together as memory allows.
pub struct CellCollisions<M: Machine, T: Real> {
    engine: MachineEngine<M, T>,
    cells: u32,
    /// Buffers of stages with implicit relaxation, once there is one.
    penalty: Option<Penalty<M>>,
}

/// Sums of the distributions of a group, by several blocks each, and the rate of relaxation of every cell.
struct Penalty<M: Machine> {
    blocks: u32,
    sharing: u32,
    parts: M::Buffer<f64>,
    rates: M::Buffer<f64>,
}

/// The weights of a stage with implicit relaxation, times the time step: of the explicit parts of the stage before and of this one, of the relaxation of this one, and of that of the
/// stage it leads to. The first stage of a step has nothing before it.
#[derive(Clone, Copy, Debug, PartialEq)]
#[allow(clippy::exhaustive_structs, reason = "a stage has these weights")]
pub struct CellStage {
    /// Of the explicit part of the stage before.
    pub before: f64,
    /// Of the explicit part of this stage.
    pub now: f64,
    /// Of the relaxation of this stage.
    pub relaxing: f64,
    /// Of the relaxation of the stage that is sought.
    pub implicit: f64,
}

impl<M: Machine, T: Real> fmt::Debug for CellCollisions<M, T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("CellCollisions")
            .field("cells", &self.cells)
            .finish_non_exhaustive()
    }
}

impl<M: Machine + 'static, T: Real> CellCollisions<M, T> {
    /// Prepares collisions in so many cells, in steps of `step`. No distribution should have values much above `largest`.
    ///
    /// # Errors
    /// A wrong configuration; too little memory.
    pub fn new(
        machine: Arc<M>,
        config: &OperatorConfig,
        cells: usize,
        largest: f64,
        step: f64,
    ) -> Result<Self> {
        config.validate()?;
        let items = together::<M, T>(&machine, config, cells)?;
        let mut engine =
            MachineEngine::with_sums(machine, String::new(), config, items, SumsBy::FewBlocks)?;
        engine.scales = vec![working_scale(&[largest]); items];
        let (machine, scales) = (engine.machine.clone(), engine.scales.clone());
        machine.write(&mut engine.scales_there, &scales)?;
        machine.write(&mut engine.control, &[0.0, step, 0.0])?;
        Ok(Self {
            engine,
            cells: cells as u32,
            penalty: None,
        })
    }

    /// The machine.
    pub fn machine(&self) -> &Arc<M> {
        &self.engine.machine
    }

    /// The velocity grid.
    pub(crate) fn shape(&self) -> GridShape {
        self.engine.shape
    }

    /// Copies the distributions of all cells.
    ///
    /// # Errors
    /// A fault of the device.
    pub fn copy(&self, from: &M::Buffer<f64>, to: &mut M::Buffer<f64>) -> Result<()> {
        let count = self.cells * self.engine.shape.cells;
        let copy = copy_values {
            from,
            to,
            first: 0,
            into: 0,
            count,
        };
        let grid = Grid::per_item(count as usize, CELL_THREADS);
        Ok(self.engine.machine.launch(grid, copy)?)
    }

    /// The groups that are evaluated together: the first cell of each. The last group overlaps the one before it, and finds the same values for the cells that both have.
    fn groups(&self) -> impl Iterator<Item = u32> + use<M, T> {
        let (cells, items) = (self.cells, self.engine.items as u32);
        let groups = (0..cells).step_by(items as usize);
        groups.map(move |first| first.min(cells - items))
    }

    /// Copies a group's distributions to the operator.
    fn load(&mut self, from: &M::Buffer<f64>, first: u32) -> Result<()> {
        let engine = &mut self.engine;
        let nodes = engine.shape.cells;
        let count = engine.items as u32 * nodes;
        let copy = copy_values {
            from,
            to: &mut engine.f,
            first: first * nodes,
            into: 0,
            count,
        };
        let grid = Grid::per_item(count as usize, CELL_THREADS);
        engine.machine.launch(grid, copy)?;
        engine.begin()
    }

    /// Lets the distributions `before`, `[cell][ix][iy][iz]`, collide for the time of a step; `after` receives them. Only launches, so that it may be recorded.
    ///
    /// # Errors
    /// A fault of the device.
    pub fn collide(
        &mut self,
        integrator: Integrator,
        before: &M::Buffer<f64>,
        after: &mut M::Buffer<f64>,
    ) -> Result<()> {
        for first in self.groups() {
            self.load(before, first)?;
            let engine = &mut self.engine;
            for &keep in stages(integrator) {
                engine.evaluate()?;
                engine.stage(keep)?;
            }
            let nodes = engine.shape.cells;
            let count = engine.items as u32 * nodes;
            engine.machine.launch(
                Grid::per_item(count as usize, CELL_THREADS),
                copy_values {
                    from: &engine.f,
                    to: after,
                    first: 0,
                    into: first * nodes,
                    count,
                },
            )?;
        }
        Ok(())
    }

    /// Takes the distributions `now` of all cells through a stage with implicit relaxation; `out` receives the next ones. `at` are those before the step and their rates of change by streaming,
    /// and `explicit` keeps what the first stage leaves for the second. Only launches, so that it may be recorded.
    ///
    /// # Errors
    /// Too little memory at the first call; a fault of the device.
    pub fn stage(
        &mut self,
        stage: CellStage,
        now: &M::Buffer<f64>,
        at: [&M::Buffer<f64>; 2],
        explicit: &mut M::Buffer<f64>,
        out: &mut M::Buffer<f64>,
    ) -> Result<()> {
        let (shape, items) = (self.engine.shape, self.engine.items);
        let mut penalty = match self.penalty.take() {
            Some(penalty) => penalty,
            None => {
                let machine = &self.engine.machine;
                let blocks = SumsBy::FewBlocks.blocks(shape.cells, 1);
                Penalty {
                    blocks,
                    sharing: sharing(&**machine, items, blocks),
                    parts: machine.allocate(items * (blocks * BALANCE_WORDS) as usize)?,
                    rates: machine.allocate(self.cells as usize)?,
                }
            }
        };
        let (blocks, sharing) = (penalty.blocks, penalty.sharing);
        let grid_of = |blocks: u32| Grid {
            blocks: items as u32 * blocks,
            threads: SHARE_THREADS,
        };
        let grid = grid_of(blocks);
        let [start, transport] = at;
        for first in self.groups() {
            let engine = &mut self.engine;
            let per_cell = engine.cell_grid();
            let load = kernels::begin_step {
                f: now,
                scales: &engine.scales_there,
                start: &mut engine.f,
                work: &mut engine.work,
                first: first * shape.cells,
                cells: shape.cells,
                items: items as u32,
            };
            engine.machine.launch(per_cell, load)?;
            engine.evaluate()?;
            let machine = &engine.machine;
            let weights = StageWeights {
                before: stage.before,
                now: stage.now,
                relaxing: stage.relaxing,
                implicit: stage.implicit,
                blocks,
                sharing,
                first,
            };
            let sum = |f: &M::Buffer<f64>, parts: &mut M::Buffer<f64>| {
                let sum = kernels::sum_state {
                    f,
                    parts,
                    shape,
                    blocks,
                };
                machine.launch(grid, sum)
            };
            let parts = match &engine.conservation {
                Conservation::Balanced(balance) => balance.sums_of_state(),
                Conservation::Paper(_) => {
                    sum(&engine.f, &mut penalty.parts)?;
                    &penalty.parts
                }
            };
            let of_stage = kernels::explicit_stage {
                f: &engine.f,
                start,
                transport,
                rate: &engine.rate,
                summaries: &engine.summary,
                parts,
                penalties: &mut penalty.rates,
                explicit: &mut *explicit,
                out: &mut engine.start,
                shape,
                weights,
            };
            machine.launch(grid_of(sharing), of_stage)?;
            sum(&engine.start, &mut penalty.parts)?;
            let solve = kernels::implicit_stage {
                sums: &engine.start,
                parts: &penalty.parts,
                penalties: &penalty.rates,
                out: &mut *out,
                shape,
                weights,
            };
            machine.launch(grid_of(sharing), solve)?;
        }
        self.penalty = Some(penalty);
        Ok(())
    }
}
