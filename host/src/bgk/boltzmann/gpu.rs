//! The line on a machine that runs kernels: distributions stay in its memory, and a step is one graph.

use std::sync::Arc;

use rarefy_kernels::Real;
use rarefy_kernels::boltzmann::{LineShape, stream_cells};

use super::config::LineConfig;
use super::engine::{Flow, shifts};
use crate::bgk::Scheme;
use crate::collision::{CellCollisions, Integrator};
use crate::error::Result;
use crate::machine::{Grid, Machine};

/// Threads of a block of the streaming kernel.
const THREADS: u32 = 256;

/// The distributions in the memory of a machine.
pub(super) struct MachineFlow<M: Machine, T: Real> {
    name: String,
    collisions: CellCollisions<M, T>,
    shape: LineShape,
    shifts: M::Buffer<f64>,
    ends: M::Buffer<f64>,
    f: M::Buffer<f64>,
    streamed: M::Buffer<f64>,
    values: usize,
    /// Whether the kernels have run once, and the step as a graph where the machine can record.
    warm: bool,
    graph: Option<M::Graph>,
}

impl<M: Machine + 'static, T: Real> MachineFlow<M, T> {
    pub(super) fn new(machine: M, name: String, config: &LineConfig) -> Result<Self> {
        let machine = Arc::new(machine);
        let (cells, nodes) = (config.space.nx(), config.grid.cells());
        let values = cells * nodes;
        let shifts: Vec<f64> = shifts(config)?
            .iter()
            .flat_map(|shift| {
                [
                    if shift.forward { 1.0 } else { -1.0 },
                    shift.courant.whole as f64,
                    shift.courant.fraction,
                ]
            })
            .collect();
        let largest = config.ends.iter().flatten().copied().fold(0.0, f64::max);
        Ok(Self {
            name,
            shape: LineShape {
                cells: cells as u32,
                nodes: nodes as u32,
                plane: (nodes / config.grid.n()) as u32,
                sloped: u32::from(config.scheme == Scheme::VanLeer),
            },
            shifts: machine.upload(&shifts)?,
            ends: machine.upload(&config.ends.concat())?,
            f: machine.upload(&config.initial)?,
            streamed: machine.allocate(values)?,
            values,
            collisions: CellCollisions::new(
                machine,
                &config.operator(),
                cells,
                largest,
                config.dt,
            )?,
            warm: false,
            graph: None,
        })
    }

    fn issue(&mut self) -> Result<()> {
        self.collisions.machine().launch(
            Grid::per_item(self.values, THREADS),
            stream_cells {
                from: &self.f,
                ends: &self.ends,
                shifts: &self.shifts,
                out: &mut self.streamed,
                shape: self.shape,
            },
        )?;
        self.collisions
            .collide(Integrator::Ssprk2, &self.streamed, &mut self.f)
    }
}

impl<M: Machine + 'static, T: Real> Flow for MachineFlow<M, T> {
    fn describe(&self) -> String {
        self.name.clone()
    }
    fn advance(&mut self, steps: u64) -> Result<()> {
        let machine = self.collisions.machine().clone();
        for _ in 0..steps {
            if self.warm && self.graph.is_none() {
                self.graph = machine.capture(&mut || self.issue())?;
            }
            match &self.graph {
                Some(graph) => machine.replay(graph)?,
                None => self.issue()?,
            }
            self.warm = true;
        }
        Ok(())
    }
    fn distributions(&mut self) -> Result<Vec<f64>> {
        let mut f = vec![0.0; self.values];
        self.collisions.machine().read(&self.f, &mut f)?;
        Ok(f)
    }
    fn restore(&mut self, f: &[f64]) -> Result<()> {
        let machine = self.collisions.machine().clone();
        Ok(machine.write(&mut self.f, f)?)
    }
}
