//! The flow on a machine that runs kernels: distributions stay in its memory, and a step is one graph.

use std::ops::Range;
use std::sync::Arc;

use rarefy_kernels::Real;
use rarefy_kernels::boltzmann::{
    CELL_WORDS, WALL_THREADS, copy_values, end, stream_cells, sums_of_cells, wall_densities,
};

use super::config::{FlowConfig, Stepping};
use super::engine::{Engine, FEWER, Pass, copies, passes, stages};
use super::ranks::{Cut, Ghosts};
use crate::collision::{CellCollisions, Integrator};
use crate::error::Result;
use crate::machine::{Grid, Machine};
use crate::memory_plan::check_device;

/// Threads of a block of the kernels for streaming and sums.
const THREADS: u32 = 256;

/// Values of the start that the host makes at a time: 64 MiB.
const PIECE: usize = 1 << 23;

/// A pass, and its tables in the memory of a machine.
struct There<M: Machine> {
    pass: Pass,
    shifts: M::Buffer<f64>,
    comes: M::Buffer<f64>,
    units: M::Buffer<f64>,
    densities: M::Buffer<f64>,
}

impl<M: Machine> There<M> {
    fn new(machine: &M, pass: Pass) -> Result<Self> {
        let shifts = pass.shifts.iter().flat_map(|shift| {
            [
                if shift.forward { 1.0 } else { -1.0 },
                shift.whole as f64,
                shift.fraction,
                shift.rest,
            ]
        });
        let shifts: Vec<f64> = shifts.collect();
        let rows = pass.lines.rows() as usize;
        Ok(Self {
            shifts: machine.upload(&shifts)?,
            comes: machine.upload(&pass.comes.concat())?,
            units: machine.upload(&pass.units)?,
            densities: machine.upload(&vec![0.0; 2 * rows])?,
            pass,
        })
    }

    /// Streams all distributions, or finds their rates of change.
    fn stream(
        &mut self,
        machine: &M,
        from: &M::Buffer<f64>,
        ghosts: &M::Buffer<f64>,
        out: &mut M::Buffer<f64>,
    ) -> Result<()> {
        let lines = self.pass.lines;
        if lines.low == end::WALL || lines.high == end::WALL {
            machine.launch(
                Grid {
                    blocks: 2 * lines.rows(),
                    threads: WALL_THREADS,
                },
                wall_densities {
                    from,
                    shifts: &self.shifts,
                    units: &self.units,
                    densities: &mut self.densities,
                    lines,
                },
            )?;
        }
        Ok(machine.launch(
            Grid::per_item(lines.threads() as usize, THREADS),
            stream_cells {
                from,
                ghosts,
                comes: &self.comes,
                densities: &self.densities,
                shifts: &self.shifts,
                out,
                lines,
            },
        )?)
    }
}

/// Distributions that a penalised step needs besides.
struct Penalised<B> {
    stage: B,
    explicit: B,
    next: B,
}

/// Refuses a flow whose distributions do not fit into the memory of a machine.
pub(super) fn check_room<M: Machine>(machine: &M, config: &FlowConfig) -> Result<()> {
    let (what, bytes) = copies(
        config,
        match config.stepping {
            Stepping::Split => 2,
            Stepping::Penalised => 5,
        },
    )?;
    Ok(check_device(&machine.limits()?, &what, bytes, FEWER)?)
}

/// Makes the distributions at the start piece by piece in the memory of a machine; returns the largest value besides.
fn start<M: Machine>(machine: &M, config: &FlowConfig) -> Result<(M::Buffer<f64>, f64)> {
    let (cells, nodes) = (config.space.cells(), config.operator.grid.cells());
    let mut f = machine.allocate(cells * nodes)?;
    let mut largest = 0.0;
    let together = (PIECE / nodes).max(1);
    for first in (0..cells).step_by(together) {
        let piece = config.made(first..cells.min(first + together))?;
        largest = piece.iter().copied().fold(largest, f64::max);
        let copy = copy_values {
            from: &machine.upload(&piece)?,
            to: &mut f,
            first: 0,
            into: (first * nodes) as u32,
            count: piece.len() as u32,
        };
        machine.launch(Grid::per_item(piece.len(), THREADS), copy)?;
    }
    Ok((f, largest))
}

/// The distributions in the memory of a machine.
pub(super) struct MachineFlow<M: Machine, T: Real> {
    name: String,
    collisions: CellCollisions<M, T>,
    passes: Vec<There<M>>,
    step: f64,
    f: M::Buffer<f64>,
    streamed: M::Buffer<f64>,
    penalised: Option<Penalised<M::Buffer<f64>>>,
    sums: M::Buffer<f64>,
    /// The rank's own values among those of all.
    own: Range<usize>,
    ghosts: Option<Ghosts<M>>,
    /// In the place of ghosts where there are none.
    no_ghosts: M::Buffer<f64>,
    /// Whether the kernels have run once, and the step as a graph where the machine can record.
    warm: bool,
    graph: Option<M::Graph>,
}

impl<M: Machine + 'static, T: Real> MachineFlow<M, T> {
    /// Of the whole flow, or of the part of a rank.
    pub(super) fn new(
        machine: M,
        name: String,
        config: &FlowConfig,
        cut: Option<Cut>,
    ) -> Result<Self> {
        let machine = Arc::new(machine);
        let (cells, nodes) = (config.space.cells(), config.operator.grid.cells());
        let values = cells * nodes;
        let own = cut.as_ref().map_or(0..values, Cut::own);
        check_room(&*machine, config)?;
        let passes = match &cut {
            Some(cut) => cut.passes(config)?,
            None => passes(config)?,
        };
        let (f, largest) = start(&*machine, config)?;
        // All ranks scale alike, for the same bits.
        let of_ranks = match &cut {
            Some(cut) => cut.gather(&[largest])?,
            None => vec![largest],
        };
        let comes = passes.iter().flat_map(|pass| pass.comes.iter().flatten());
        let largest = comes.chain(&of_ranks).copied().fold(0.0, f64::max);
        let penalised = match config.stepping {
            Stepping::Split => None,
            Stepping::Penalised => Some(Penalised {
                stage: machine.allocate(values)?,
                explicit: machine.allocate(values)?,
                next: machine.allocate(values)?,
            }),
        };
        Ok(Self {
            name,
            passes: passes
                .into_iter()
                .map(|pass| There::new(&*machine, pass))
                .collect::<Result<_>>()?,
            step: config.dt,
            f,
            streamed: machine.allocate(values)?,
            penalised,
            sums: machine.allocate(cells * CELL_WORDS as usize)?,
            own,
            ghosts: match cut {
                Some(cut) => Some(Ghosts::new(&*machine, cut)?),
                None => None,
            },
            no_ghosts: machine.upload(&[0.0])?,
            collisions: CellCollisions::new(machine, &config.operator, cells, largest, config.dt)?,
            warm: false,
            graph: None,
        })
    }

    fn issue(&mut self) -> Result<()> {
        let machine = self.collisions.machine().clone();
        let (ghosts, no_ghosts) = (&mut self.ghosts, &self.no_ghosts);
        let mut stream = |pass: &mut There<M>, direction, from: &M::Buffer<f64>, out: &mut _| {
            let beyond = match ghosts.as_mut() {
                Some(ghosts) => {
                    ghosts.refresh(&machine, direction, from)?;
                    ghosts.values()
                }
                None => no_ghosts,
            };
            pass.stream(&machine, from, beyond, out)
        };
        let Some(penalised) = &mut self.penalised else {
            for (direction, pass) in self.passes.iter_mut().enumerate() {
                // Along y what was shifted along x is shifted back to where it came from.
                match direction {
                    0 => stream(pass, direction, &self.f, &mut self.streamed)?,
                    _ => stream(pass, direction, &self.streamed, &mut self.f)?,
                }
            }
            let heun = Integrator::Ssprk2;
            return match self.passes.len() {
                1 => (self.collisions).collide(heun, &self.streamed, &mut self.f),
                _ => {
                    (self.collisions).collide(heun, &self.f, &mut self.streamed)?;
                    self.collisions.copy(&self.streamed, &mut self.f)
                }
            };
        };
        for (number, stage) in stages(self.step).into_iter().enumerate() {
            let Penalised {
                stage: middle,
                explicit,
                next,
            } = penalised;
            let (now, out) = match number {
                0 => (&self.f, middle),
                _ => (&*middle, next),
            };
            for (direction, pass) in self.passes.iter_mut().enumerate() {
                stream(pass, direction, now, &mut self.streamed)?;
            }
            let at = [&self.f, &self.streamed];
            self.collisions.stage(stage, now, at, explicit, out)?;
        }
        self.collisions.copy(&penalised.next, &mut self.f)
    }
}

impl<M: Machine + 'static, T: Real> Engine for MachineFlow<M, T> {
    fn describe(&self) -> String {
        self.name.clone()
    }
    fn advance(&mut self, steps: u64) -> Result<()> {
        let machine = self.collisions.machine().clone();
        for _ in 0..steps {
            let recordable = (self.ghosts.as_ref()).is_none_or(|ghosts| ghosts.cut.recordable());
            if self.warm && self.graph.is_none() && recordable {
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
    fn own(&self) -> Range<usize> {
        self.own.clone()
    }
    fn distributions(&mut self) -> Result<Vec<f64>> {
        let mut f = vec![0.0; self.own.len()];
        self.collisions.machine().read(&self.f, &mut f)?;
        Ok(f)
    }
    fn sums(&mut self) -> Result<Vec<f64>> {
        let machine = self.collisions.machine().clone();
        let shape = self.collisions.shape();
        let cells = self.own.len() / shape.cells as usize;
        let sum = sums_of_cells {
            f: &self.f,
            words: &mut self.sums,
            shape,
        };
        let grid = Grid {
            blocks: cells as u32,
            threads: THREADS,
        };
        machine.launch(grid, sum)?;
        let mut words = vec![0.0; cells * CELL_WORDS as usize];
        machine.read(&self.sums, &mut words)?;
        Ok(words)
    }
    fn restore(&mut self, f: &[f64]) -> Result<()> {
        let machine = self.collisions.machine().clone();
        Ok(machine.write(&mut self.f, f)?)
    }
}
