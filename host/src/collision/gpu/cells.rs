//! Distributions of many cells that stay in the memory of a machine while collisions change them.

use std::fmt;
use std::sync::Arc;

use rarefy_kernels::Real;
use rarefy_kernels::boltzmann::copy_values;

use super::values::CELL_THREADS;
use super::{MachineEngine, together, working_scale};
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
        let mut engine = MachineEngine::new(machine, String::new(), config, items)?;
        engine.scales = vec![working_scale(&[largest]); items];
        let (machine, scales) = (engine.machine.clone(), engine.scales.clone());
        machine.write(&mut engine.scales_there, &scales)?;
        machine.write(&mut engine.control, &[0.0, step, 0.0])?;
        Ok(Self {
            engine,
            cells: cells as u32,
        })
    }

    /// The machine.
    pub fn machine(&self) -> &Arc<M> {
        &self.engine.machine
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
        let engine = &mut self.engine;
        let (items, nodes) = (engine.items as u32, engine.shape.cells);
        let count = items * nodes;
        let grid = Grid::per_item(count as usize, CELL_THREADS);
        let mut first = 0;
        while first < self.cells {
            // The last group overlaps the one before it, and computes the same values in the shared cells.
            let from = first.min(self.cells - items) * nodes;
            engine.machine.launch(
                grid,
                copy_values {
                    from: before,
                    to: &mut engine.f,
                    first: from,
                    into: 0,
                    count,
                },
            )?;
            engine.begin()?;
            for &keep in stages(integrator) {
                engine.evaluate()?;
                engine.stage(keep)?;
            }
            engine.machine.launch(
                grid,
                copy_values {
                    from: &engine.f,
                    to: after,
                    first: 0,
                    into: from,
                    count,
                },
            )?;
            first += items;
        }
        Ok(())
    }
}
