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
use crate::distributed::{Messages, Part, Team, Transport, put, swap_values, values};
use crate::error::Result;
use crate::machine::{Grid, Machine};

/// Threads of a block of the copies.
const THREADS: u32 = 256;

/// The part of a rank, and its connection with the others.
#[derive(Clone)]
pub(super) struct Cut {
    part: Part,
    transport: Arc<dyn Transport>,
    /// Cells at a place along the direction of the cut, and values of all of them.
    beside: usize,
    place: usize,
}

impl Cut {
    /// The part of this rank; none where it has all.
    pub(super) fn new(config: &FlowConfig, transport: Arc<dyn Transport>) -> Result<Option<Self>> {
        if transport.ranks() == 1 {
            return Ok(None);
        }
        let space = &config.space;
        let direction = space.dimensions() - 1;
        let fastest = config.velocity_space()?.axes()[direction].fastest();
        let farthest = Courant::new(fastest, config.dt, space.step(direction)).whole;
        let slope = usize::from(config.scheme == Scheme::VanLeer);
        let periodic = config.boundaries.along(direction)[0] == Boundary::Periodic;
        let all = [space.nx(), space.ny()][direction];
        let ranks = [transport.rank(), transport.ranks()];
        let beside = if direction == 0 { 1 } else { space.nx() };
        Ok(Some(Self {
            part: Part::new(direction, all, ranks, farthest + 1 + slope, periodic)?,
            transport,
            beside,
            place: beside * config.operator.grid.cells(),
        }))
    }

    /// Ranks of all.
    pub(super) fn ranks(&self) -> usize {
        self.transport.ranks()
    }

    /// The rank's own cells among all, `[iy][ix]`.
    pub(super) fn cells(&self) -> Range<usize> {
        let Range { start, end } = self.part.own;
        start * self.beside..end * self.beside
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
            initial: (config.initial).of_cells(self.cells(), config.operator.grid.cells()),
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

    /// The ghosts of a rank whose cells are in the memory of the host, as [`Lines::ghost`](rarefy_kernels::boltzmann::Lines::ghost) has them. A pass along another direction, and the whole, need none.
    pub(super) fn ghosts(cut: Option<&Self>, direction: usize, from: &[f64]) -> Result<Vec<f64>> {
        let Some(cut) = cut.filter(|cut| cut.part.direction == direction) else {
            return Ok(Vec::new());
        };
        let count = cut.depth() * cut.place;
        let neighbours = cut.part.neighbours;
        let own = [&from[..count], &from[from.len() - count..]];
        let out = [0, 1].map(|side| match neighbours[side] {
            Some(_) => own[side],
            None => &[],
        });
        swap_values(&*cut.transport, neighbours, out, out.map(<[f64]>::len))
    }

    /// The numbers of all ranks, one after the other.
    pub(super) fn gather(&self, own: &[f64]) -> Result<Vec<f64>> {
        let mut bytes = Vec::new();
        put(&mut bytes, own.iter().copied());
        let parts = self.transport.gather(&bytes)?;
        let parts: Vec<Vec<f64>> =
            (parts.iter().map(|part| values(part))).collect::<Result<_>>()?;
        Ok(parts.concat())
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
    fn own(&self) -> Range<usize> {
        let ends = self.engines().map(|engine| engine.own().end);
        0..ends.max().unwrap_or(0)
    }
    fn distributions(&mut self) -> Result<Vec<f64>> {
        // Parts are freed one after the other.
        let mut all = Vec::with_capacity(self.own().len());
        for part in self.each(|engine| engine.distributions())? {
            all.extend(part);
        }
        Ok(all)
    }
    fn sums(&mut self) -> Result<Vec<f64>> {
        Ok(self.each(|engine| engine.sums())?.concat())
    }
    fn restore(&mut self, f: &[f64]) -> Result<()> {
        self.all(|engine| engine.restore(&f[engine.own()]))
    }
}

#[cfg(test)]
mod tests;
