//! A flow over several ranks: each has the distributions of its own cells, and ghosts of its neighbours' cells.
//!
//! Lines are cut along x and planes along y. Collisions are those of the own cells alone, so ranks share the work without loss. A pass along the cut direction needs as many
//! of the neighbours' cells as molecules travel in a step, and one or two more for the slopes.

use std::ops::Range;
use std::sync::Arc;

use rarefy_kernels::boltzmann::{copy_values, end};

use super::config::FlowConfig;
use super::engine::{Engine, Pass, passes};
use crate::bgk::{Boundary, Courant, Scheme};
use crate::distributed::{Messages, Part, Team, Transport};
use crate::error::Result;
use crate::machine::{Grid, Machine};

/// Threads of a block of the copies.
const THREADS: u32 = 256;

/// The part of a rank, and its connection with the others.
pub(super) struct Cut {
    part: Part,
    transport: Arc<dyn Transport>,
    /// Values of all cells at a place along the direction of the cut.
    place: usize,
}

impl Cut {
    pub(super) fn new(config: &FlowConfig, transport: Arc<dyn Transport>) -> Result<Self> {
        let space = &config.space;
        let direction = space.dimensions() - 1;
        let fastest = config.velocity_space()?.axes()[direction].fastest();
        let farthest = Courant::new(fastest, config.dt, space.step(direction)).whole;
        let slope = usize::from(config.scheme == Scheme::VanLeer);
        let periodic = config.boundaries.along(direction)[0] == Boundary::Periodic;
        let all = [space.nx(), space.ny()][direction];
        let ranks = [transport.rank(), transport.ranks()];
        let beside = if direction == 0 { 1 } else { space.nx() };
        Ok(Self {
            part: Part::new(direction, all, ranks, farthest + 1 + slope, periodic)?,
            transport,
            place: beside * config.operator.grid.cells(),
        })
    }

    /// The rank's own values among those of all cells.
    pub(super) fn own(&self) -> Range<usize> {
        let Range { start, end } = self.part.own;
        start * self.place..end * self.place
    }

    /// The flow in the rank's own cells.
    pub(super) fn local(&self, config: &FlowConfig) -> FlowConfig {
        let own = &self.part.own;
        let first = own.start as f64;
        FlowConfig {
            space: config.space.part(self.part.direction, first, own.len()),
            operator: config.operator.clone(),
            incoming: config.incoming.clone(),
            initial: config.initial[self.own()].to_vec(),
            ..*config
        }
    }

    /// The passes of a step in the rank's own cells.
    pub(super) fn passes(&self, local: &FlowConfig) -> Result<Vec<Pass>> {
        let mut passes = passes(local)?;
        let [low, high] = self.part.neighbours.map(|rank| rank.is_some());
        let lines = &mut passes[self.part.direction].lines;
        lines.ghosts = self.depth() as u32;
        if low {
            lines.low = end::CUT;
        }
        if high {
            lines.high = end::CUT;
        }
        Ok(passes)
    }

    fn depth(&self) -> usize {
        self.part.ghosts[0].max(self.part.ghosts[1])
    }

    /// Whether a step can be recorded: the messages are then work of the device alone.
    pub(super) fn recordable(&self) -> bool {
        self.transport.link().is_some()
    }
}

/// The ghosts of a rank in the memory of its machine.
pub(super) struct Ghosts<M: Machine> {
    pub(super) cut: Cut,
    messages: Messages<M, f64>,
}

impl<M: Machine> Ghosts<M> {
    pub(super) fn new(machine: &M, cut: Cut) -> Result<Self> {
        let words = |rank: Option<usize>| match rank {
            Some(_) => (cut.depth() * cut.place) as u32,
            None => 0,
        };
        let words = cut.part.neighbours.map(words);
        Ok(Self {
            messages: Messages::new(machine, words, words)?,
            cut,
        })
    }

    /// The neighbours' cells, where a pass along this direction needs them. They are those of `from` on all ranks.
    pub(super) fn refresh(
        &mut self,
        machine: &M,
        direction: usize,
        from: &M::Buffer<f64>,
    ) -> Result<()> {
        let part = &self.cut.part;
        if part.direction != direction {
            return Ok(());
        }
        let count = (self.cut.depth() * self.cut.place) as u32;
        let last = (part.own.len() * self.cut.place) as u32 - count;
        let mut into = 0;
        for (rank, first) in part.neighbours.into_iter().zip([0, last]) {
            if rank.is_none() {
                continue;
            }
            let copy = copy_values {
                from,
                to: self.messages.slot(machine)?,
                first,
                into,
                count,
            };
            machine.launch(Grid::per_item(count as usize, THREADS), copy)?;
            into += count;
        }
        let neighbours = part.neighbours;
        (self.messages).exchange(machine, &*self.cut.transport, neighbours)
    }

    /// The ghosts, as the kernel takes them.
    pub(super) fn values(&self) -> &M::Buffer<f64> {
        &self.messages.received
    }
}

impl Engine for Team<dyn Engine> {
    fn describe(&self) -> String {
        let ranks = self.engines().count();
        let first = self.engines().next().map(Engine::describe);
        format!("{ranks} ranks, each {}", first.unwrap_or_default())
    }
    fn advance(&mut self, steps: u64) -> Result<()> {
        self.all(|engine| engine.advance(steps))
    }
    fn distributions(&mut self) -> Result<Vec<f64>> {
        Ok(self.each(|engine| engine.distributions())?.concat())
    }
    fn restore(&mut self, f: &[f64]) -> Result<()> {
        self.all(|engine| engine.restore(f))
    }
}

#[cfg(test)]
mod tests {
    use super::super::{Flow, Stepping};
    use super::*;
    use crate::bgk::{Boundaries, Space, State, Wall};
    use crate::collision::VelocityGrid;
    use crate::compute::{Backend, Compute, Devices, Precision};

    fn wave(x: f64, y: f64) -> State {
        State {
            density: 1.0 + 0.2 * (3.0 * x + 2.0 * y).sin(),
            velocity: [0.2 * (5.0 * y).cos(), 0.1 * (4.0 * x).sin()],
            temperature: 1.0 + 0.1 * (4.0 * x - 3.0 * y).cos(),
        }
    }

    /// Distributions after some steps on so many emulators.
    fn after(mut config: FlowConfig, devices: usize) -> Vec<f64> {
        config.operator.compute.devices = Some(Devices::Number(devices));
        let mut flow = Flow::new(config).expect("a flow");
        flow.advance(2).expect("steps");
        let kept = flow.checkpoint().expect("a checkpoint");
        flow.advance(1).expect("a step");
        let state = flow.state().expect("distributions");
        let mut resumed = Flow::resume(kept).expect("a resumed flow");
        resumed.advance(1).expect("a step");
        assert_eq!(resumed.state().expect("distributions"), state);
        state
    }

    fn config(space: Space, boundaries: Boundaries, dt: f64) -> FlowConfig {
        let grid = VelocityGrid::new(6, -3.0, 3.0).expect("a grid");
        let mut config = FlowConfig::new(space, grid, boundaries, dt, wave).expect("a flow");
        config.operator.compute = Compute::new(Backend::Emulator).with_precision(Precision::F32);
        config
    }

    /// On a line the fastest molecules fly further than a cell.
    #[test]
    fn ranks_have_the_bits_of_one() {
        let wall = |t: f64, along| Boundary::Wall(Wall::diffuse(t).moving(along));
        let ends = Boundaries::line(wall(1.0, [0.0, 0.0]), wall(1.2, [0.0, 0.3]));
        let ring = Boundaries::line(Boundary::Periodic, Boundary::Periodic);
        let line = |cells| Space::line(cells, [0.0, 1.0]).expect("cells");
        let box_of_walls = Boundaries {
            left: wall(1.0, [0.0, 0.0]),
            right: Boundary::Specular,
            bottom: wall(0.9, [0.0, 0.0]),
            top: wall(1.0, [0.4, 0.0]),
        };
        let plane = Space::rectangle([4, 9], [0.0, 1.0], [0.0, 2.0]).expect("cells");
        let long = config(line(16), ends, 0.04);
        let mut upwind = config(line(13), ring, 0.04);
        upwind.scheme = Scheme::Upwind;
        let square = config(plane, box_of_walls, 0.02);
        let mut penalised = config(line(12), ends, 0.02);
        penalised.stepping = Stepping::Penalised;
        for (config, most) in [(long, 3), (upwind, 3), (square, 2), (penalised, 2)] {
            let alone = after(config.clone(), 1);
            for devices in 2..=most {
                assert!(after(config.clone(), devices) == alone, "{devices} ranks");
            }
        }
    }

    #[test]
    fn too_many_ranks_are_refused() {
        let ends = Boundaries::line(Boundary::Specular, Boundary::Specular);
        let mut config = config(Space::line(8, [0.0, 1.0]).expect("cells"), ends, 0.02);
        config.operator.compute.devices = Some(Devices::Number(3));
        let error = Flow::new(config).expect_err("too few cells").to_string();
        assert!(
            error.starts_with("ranks: 3 for 8 cells along x; expected "),
            "{error}"
        );
    }
}
