//! A flow in time whose space is cut into parts, one a rank.
//!
//! Each rank runs an engine on the cells of its [`Part`], ghosts included. A cut is a face where some gas comes in. It reaches ghosts alone before the
//! neighbours' cells are written over them. Lines are cut along x, planes along y. All ranks know all fields, and so take the same decisions.

use std::ops::Range;
use std::slice;
use std::sync::Arc;
use std::time::Duration;

use rarefy_kernels::bgk::equilibrium::KEPT;

use super::engine::{Engine, FaceFlux, Saved, StepPlan};
use super::pieces::{CheckpointPart, Piece};
use super::relaxation::sums_of;
use super::rotating::Internal;
use super::shift::{Courant, Scheme};
use crate::bgk::{Boundaries, Boundary, Moments, Problem};
use crate::distributed::{Part, Transport, put, values};
use crate::error::{Error, Result};

/// Ghosts of a line are at most this many times as deep as a step needs: so many steps pass between two messages.
const LONGEST_CYCLE: usize = 8;

/// Own cells of a rank of a line for each cell of depth of its ghosts, from which on ghosts cost little.
const CELLS_PER_GHOST: usize = 64;

/// The cuts of a rank's part, and how its ghosts keep up with the neighbours.
#[derive(Clone)]
pub(super) struct Cut {
    pub(super) part: Part,
    pub(super) transport: Arc<dyn Transport>,
    /// Cells of populations that fly in, and of those that fly out.
    pub(super) depth_in: usize,
    pub(super) depth_out: usize,
    /// Nodes along the direction of the cut whose molecules fly low or rest.
    pub(super) low: usize,
    /// Steps between two messages, and those taken since the last.
    pub(super) cycle: usize,
    since: usize,
}

impl Cut {
    /// The cut of a problem between the ranks of a transport, with a message in so many steps, or as seems best.
    pub(super) fn new(
        problem: &Problem,
        plan: &StepPlan,
        transport: Arc<dyn Transport>,
        cycle: Option<usize>,
    ) -> Result<Self> {
        let space = &problem.space;
        let direction = space.dimensions() - 1;
        let axis = &problem.velocity.axes()[direction];
        let farthest = Courant::of_axis(axis, space, direction, plan.dt)
            .iter()
            .map(|courant| courant.whole)
            .max()
            .unwrap_or(0);
        let slope = usize::from(plan.scheme == Scheme::VanLeer);
        let reach = farthest + 1 + slope;
        let all = [space.nx(), space.ny()][direction];
        let ranks = [transport.rank(), transport.ranks()];
        // Ghosts of rows are too many to be stepped along.
        let deepest = (all / ranks[1].max(1)) / (CELLS_PER_GHOST * reach);
        let cycle = cycle.unwrap_or(match (direction, deepest) {
            (1, _) | (_, 0 | 1) => 1,
            _ => LONGEST_CYCLE.min(deepest / 2 * 2),
        });
        let depth = cycle * reach;
        let periodic = problem.boundaries.along(direction)[0] == Boundary::Periodic;
        Ok(Self {
            part: Part::new(direction, all, ranks, depth, periodic)?,
            transport,
            depth_in: depth,
            depth_out: if cycle > 1 { depth } else { slope },
            low: axis.nodes().iter().filter(|v| **v <= 0.0).count(),
            cycle,
            since: 0,
        })
    }

    /// The next step is the first of a cycle.
    pub(super) fn begin(&mut self) {
        self.since = 0;
    }

    /// Whether ghosts are stale before the next step, which counts as taken.
    pub(super) fn is_due(&mut self) -> bool {
        let due = self.since == 0;
        self.since = (self.since + 1) % self.cycle;
        due
    }

    /// Steps until the next message; 0 before it.
    pub(super) fn steps_left(&self) -> u64 {
        match self.since {
            0 => 0,
            since => (self.cycle - since) as u64,
        }
    }

    /// Counts steps without a message.
    pub(super) fn skip(&mut self, steps: u64) {
        self.since = (self.since + steps as usize) % self.cycle;
    }

    /// Sends messages to the low and the high neighbour, and receives theirs, of so many bytes.
    pub(super) fn swap(&self, out: &[Vec<u8>; 2], bytes: [usize; 2]) -> Result<[Vec<u8>; 2]> {
        let mut into = bytes.map(|bytes| vec![0; bytes]);
        let [low, high] = &mut into;
        let out = [out[0].as_slice(), out[1].as_slice()];
        self.transport
            .swap(self.part.neighbours, out, [low, high])?;
        Ok(into)
    }

    /// Cells of a place along the cut direction: one of a line, a row of a plane.
    pub(super) fn run(&self, problem: &Problem) -> usize {
        match self.part.direction {
            0 => 1,
            _ => problem.space.nx(),
        }
    }

    /// The problem of the rank's cells and ghosts.
    pub(super) fn local(&self, problem: &Problem) -> Problem {
        let (part, run) = (&self.part, self.run(problem));
        let direction = part.direction;
        let first = part.own.start as f64 - part.ghosts[0] as f64;
        let initial: Vec<_> = (0..part.cells())
            .flat_map(|cell| &problem.initial[part.global(cell) * run..][..run])
            .copied()
            .collect();
        let mut faces = problem.boundaries.along(direction);
        let ends = [initial.first(), initial.last()];
        for (side, (face, end)) in faces.iter_mut().zip(ends).enumerate() {
            if let (Some(_), Some(state)) = (part.neighbours[side], end) {
                *face = Boundary::Inflow(*state);
            }
        }
        let boundaries = match direction {
            0 => Boundaries {
                left: faces[0],
                right: faces[1],
                ..problem.boundaries
            },
            _ => Boundaries {
                bottom: faces[0],
                top: faces[1],
                ..problem.boundaries
            },
        };
        Problem {
            space: problem.space.part(direction, first, part.cells()),
            boundaries,
            initial,
            ..problem.clone()
        }
    }

    /// Whether a face (left, right, bottom, top) is a cut.
    pub(super) fn cuts(&self, face: usize) -> bool {
        face / 2 == self.part.direction && self.part.neighbours[face % 2].is_some()
    }
}

/// State of an engine's cells besides populations, as in [`Saved::extra`]: rows of one number a cell, then so many numbers of each cell.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Kept {
    rows: usize,
    of_cell: usize,
}

impl Kept {
    /// On a machine that runs kernels: the sums, and the start of Newton's method.
    pub(super) fn on_machine(problem: &Problem) -> Self {
        Self {
            rows: sums_of(problem) + KEPT as usize,
            of_cell: 0,
        }
    }

    /// On the CPU: the sums, and from the first step on the Maxwellian's three parameters.
    pub(super) fn on_cpu(problem: &Problem) -> Self {
        Self {
            rows: sums_of(problem),
            of_cell: 3,
        }
    }
}

/// An engine of a rank's part, as the engine of the whole problem.
pub(super) struct Parted {
    engine: Box<dyn Engine>,
    cut: Cut,
    kept: Kept,
    /// Cells of a place along the cut direction.
    run: usize,
}

impl Parted {
    /// Of the engine of a rank's part, its state of cells, and the problem of all.
    pub(super) fn new(engine: Box<dyn Engine>, cut: Cut, kept: Kept, problem: &Problem) -> Self {
        let run = cut.run(problem);
        Self {
            engine,
            cut,
            kept,
            run,
        }
    }

    /// Cells of all ranks, and the rank's local ones.
    fn cells(&self) -> [usize; 2] {
        let part = &self.cut.part;
        [part.all * self.run, part.cells() * self.run]
    }

    /// The rank's own cells of one row of local cells.
    fn own<'a, V>(&self, row: &'a [V]) -> &'a [V] {
        let inner = self.cut.part.inner();
        &row[inner.start * self.run..inner.end * self.run]
    }

    /// Rows of all cells, of each rank's rows of local cells.
    fn gather(&self, rows: &[f64]) -> Result<Vec<f64>> {
        let [all, local] = self.cells();
        let mut bytes = Vec::new();
        for row in rows.chunks_exact(local) {
            put(&mut bytes, self.own(row).iter().copied());
        }
        let count = rows.len() / local.max(1);
        let parts = self.cut.transport.gather(&bytes)?;
        let parts: Vec<Vec<f64>> =
            (parts.iter().map(|part| values(part))).collect::<Result<_>>()?;
        if parts.iter().map(Vec::len).sum::<usize>() != count * all {
            return Err(Error::Numerical(
                "the ranks have different numbers of cells: all must run the same case".to_owned(),
            ));
        }
        let mut whole = Vec::with_capacity(count * all);
        for row in 0..count {
            for part in &parts {
                let own = part.len() / count;
                whole.extend_from_slice(&part[row * own..][..own]);
            }
        }
        Ok(whole)
    }

    /// Numbers of all cells, of those of the local ones.
    fn gather_all<const N: usize>(&self, local: Vec<[f64; N]>) -> Result<Vec<[f64; N]>> {
        let rows: Vec<f64> = (0..N)
            .flat_map(|k| local.iter().map(move |numbers| numbers[k]))
            .collect();
        let [all, _] = self.cells();
        let whole = self.gather(&rows)?;
        let of = |cell| std::array::from_fn(|k| whole[k * all + cell]);
        Ok((0..all).map(of).collect())
    }

    fn all_cells(&self) -> usize {
        self.cells()[0]
    }

    /// The cells of all that the local ones are, ghosts included.
    fn local_cells(&self) -> Vec<Range<usize>> {
        let (part, run) = (&self.cut.part, self.run);
        let mut ranges: Vec<Range<usize>> = Vec::new();
        for place in (0..part.cells()).map(|place| part.global(place)) {
            match ranges.last_mut() {
                Some(last) if last.end == place * run => last.end += run,
                _ => ranges.push(place * run..(place + 1) * run),
            }
        }
        ranges
    }
}

impl Engine for Parted {
    fn describe(&self) -> String {
        let ranks = self.cut.transport.ranks();
        format!("{ranks} ranks, each {}", self.engine.describe())
    }

    fn advance(&mut self, steps: u64) -> Result<()> {
        self.engine.advance(steps)
    }

    fn fields(&mut self) -> Result<[Vec<f64>; 4]> {
        let local = self.engine.fields()?.concat();
        let [all, _] = self.cells();
        let whole = self.gather(&local)?;
        Ok([0, 1, 2, 3].map(|k| whole[k * all..][..all].to_vec()))
    }

    fn moments(&mut self) -> Result<Vec<Moments>> {
        let local = self.engine.moments()?;
        let whole = self.gather_all(local.iter().map(Moments::numbers).collect())?;
        Ok(whole.into_iter().map(Moments::from_numbers).collect())
    }

    fn internal(&mut self) -> Result<Vec<Internal>> {
        let local = self.engine.internal()?;
        if local.is_empty() {
            return Ok(Vec::new());
        }
        let whole = self.gather_all(local.iter().map(Internal::numbers).collect())?;
        Ok(whole.into_iter().map(Internal::from_numbers).collect())
    }

    fn fluxes(&mut self) -> Result<[FaceFlux; 4]> {
        let mut bytes = Vec::new();
        for flux in self.engine.fluxes()? {
            put(&mut bytes, flux.numbers());
        }
        let mut fluxes = [FaceFlux::default(); 4];
        for part in self.cut.transport.gather(&bytes)? {
            let numbers: Vec<f64> = values(&part)?;
            for (flux, of_face) in fluxes.iter_mut().zip(numbers.as_chunks().0) {
                *flux += FaceFlux::from_numbers(*of_face);
            }
        }
        Ok(fluxes)
    }

    fn save(&mut self) -> Result<Saved> {
        let own = self.save_part()?;
        let nodes = own.populations.len() / own.cells.len().max(1);
        let gather = |values: &[f64]| {
            let mut bytes = Vec::new();
            put(&mut bytes, values.iter().copied());
            self.cut.transport.gather(&bytes)
        };
        let (populations, extra) = (gather(&own.populations)?, gather(&own.extra)?);
        let mut parts = Vec::new();
        let mut first = 0;
        for (populations, extra) in populations.iter().zip(&extra) {
            let populations: Vec<f64> = values(populations)?;
            let end = first + populations.len() / nodes.max(1);
            let part = CheckpointPart::new(first..end, populations, values(extra)?, own.rows)?;
            parts.push(part);
            first = end;
        }
        let whole = CheckpointPart::select(&parts, slice::from_ref(&(0..self.all_cells())))?;
        Ok(Saved {
            step: own.step,
            populations: whole.populations,
            extra: whole.extra,
        })
    }

    fn restore(&mut self, saved: &Saved) -> Result<()> {
        let all = self.all_cells();
        let Kept { rows, of_cell } = self.kept;
        let known = [rows * all, (rows + of_cell) * all].contains(&saved.extra.len());
        // State of another kind of backend is of no use.
        let (extra, rows): (&[f64], usize) = match known {
            true => (&saved.extra, rows),
            false => (&[], 0),
        };
        let whole = Piece::new(0..all, &saved.populations, extra, rows)?;
        let wanted = Piece::select(&[whole], &self.local_cells())?;
        self.restore_wanted(&Saved {
            step: saved.step,
            populations: wanted.populations,
            extra: wanted.extra,
        })
    }

    fn save_part(&mut self) -> Result<CheckpointPart> {
        let saved = self.engine.save()?;
        let (part, run) = (&self.cut.part, self.run);
        let cells = part.cells() * run;
        let rows = self.kept.rows.min(saved.extra.len() / cells.max(1));
        let local = CheckpointPart::new(0..cells, saved.populations, saved.extra, rows)?;
        let inner = part.inner();
        let inner = inner.start * run..inner.end * run;
        Ok(CheckpointPart {
            step: saved.step,
            cells: part.own.start * run..part.own.end * run,
            ..CheckpointPart::select(&[local], &[inner])?
        })
    }

    fn wanted(&self) -> Option<Vec<Range<usize>>> {
        Some(self.local_cells())
    }

    fn restore_wanted(&mut self, saved: &Saved) -> Result<()> {
        self.engine.restore(saved)
    }

    fn time_steps(&mut self, steps: u32) -> Result<Duration> {
        self.engine.time_steps(steps)
    }
}

#[cfg(test)]
mod tests;
