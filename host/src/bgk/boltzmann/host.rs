//! The flow on the host: streaming by all cores, collisions by the CPU's or the reference operator.

use std::ops::Range;

use rarefy_kernels::boltzmann::CELL_WORDS;
use rarefy_kernels::collision::PENALTY;
use rayon::prelude::*;

use super::config::{FlowConfig, Stepping};
use super::engine::{Engine, FEWER, Pass, copies, passes, stages};
use super::ranks::Cut;
use crate::collision::{
    CellStage, CollisionOperator, Evaluation, VelocityGrid, discrete_maxwellian,
};
use crate::error::Result;
use crate::memory_plan::check_host;

/// Cells whose integrals are evaluated together: enough for all cores, and little memory.
const TOGETHER: usize = 64;

/// Refuses a flow whose distributions do not fit into main memory.
pub(super) fn check_room(config: &FlowConfig) -> Result<()> {
    let (what, bytes) = copies(
        config,
        match config.stepping {
            Stepping::Split => 2,
            Stepping::Penalised => 4,
        },
    )?;
    Ok(check_host(&what, bytes, FEWER)?)
}

/// The distributions in the memory of the host.
pub(super) struct HostFlow {
    operator: CollisionOperator,
    grid: VelocityGrid,
    stepping: Stepping,
    step: f64,
    passes: Vec<Pass>,
    cut: Option<Cut>,
    f: Vec<f64>,
    streamed: Vec<f64>,
}

impl HostFlow {
    /// Of the whole flow, or of the part of a rank.
    pub(super) fn new(config: &FlowConfig, cut: Option<Cut>) -> Result<Self> {
        check_room(config)?;
        let f = config.made(0..config.space.cells())?;
        Ok(Self {
            operator: CollisionOperator::new(config.operator.clone())?,
            grid: config.operator.grid,
            stepping: config.stepping,
            step: config.dt,
            passes: match &cut {
                Some(cut) => cut.passes(config)?,
                None => passes(config)?,
            },
            cut,
            streamed: vec![0.0; f.len()],
            f,
        })
    }

    /// Shift by shift; the result is in `streamed`.
    fn stream(&mut self) -> Result<()> {
        for (direction, pass) in self.passes.iter().enumerate() {
            if direction > 0 {
                std::mem::swap(&mut self.f, &mut self.streamed);
            }
            let ghosts = Cut::ghosts(self.cut.as_ref(), direction, &self.f)?;
            let densities = pass.densities(&self.f);
            pass.stream([&self.f, &ghosts], &densities, &mut self.streamed);
        }
        Ok(())
    }

    /// Heun's method in the form that keeps f >= 0: `f = (f0 + E(E(f0))) / 2`, E being Euler's step.
    fn collide(&mut self) -> Result<()> {
        let nodes = self.grid.cells();
        let step = self.step;
        let mut now = Vec::new();
        // `f` stays until all cells have collided.
        for start in self.streamed.chunks_mut(TOGETHER * nodes) {
            now.resize(start.len(), 0.0);
            for keep in [0.0, 0.5] {
                let rates = self.operator.evaluate_batch(match keep {
                    0.0 => &*start,
                    _ => &now,
                })?;
                let cells = now
                    .par_chunks_exact_mut(nodes)
                    .zip(start.par_chunks_exact(nodes));
                cells.zip(&rates).for_each(|((f, start), evaluation)| {
                    for ((f, start), rate) in f.iter_mut().zip(start).zip(&evaluation.rate) {
                        let now = if keep == 0.0 { *start } else { *f };
                        let euler = step.mul_add(*rate, now);
                        *f = f64::mul_add(keep, start - euler, euler);
                    }
                });
            }
            start.copy_from_slice(&now);
        }
        std::mem::swap(&mut self.f, &mut self.streamed);
        Ok(())
    }

    /// A step with implicit relaxation.
    fn penalised(&mut self) -> Result<()> {
        let nodes = self.grid.cells();
        let cells = self.f.len() / nodes;
        let (mut explicit, mut betas) = (vec![0.0; self.f.len()], vec![0.0; cells]);
        let mut now = self.f.clone();
        for stage in stages(self.step) {
            for (direction, pass) in self.passes.iter().enumerate() {
                let ghosts = Cut::ghosts(self.cut.as_ref(), direction, &now)?;
                let densities = pass.densities(&now);
                pass.stream([&now, &ghosts], &densities, &mut self.streamed);
            }
            for first in (0..cells).step_by(TOGETHER) {
                let count = TOGETHER.min(cells - first);
                let range = first * nodes..(first + count) * nodes;
                let evaluations = self.operator.evaluate_batch(&now[range.clone()])?;
                let all = now[range.clone()]
                    .par_chunks_exact_mut(nodes)
                    .zip(self.f[range.clone()].par_chunks_exact(nodes))
                    .zip(self.streamed[range.clone()].par_chunks_exact(nodes))
                    .zip(explicit[range].par_chunks_exact_mut(nodes))
                    .zip(&mut betas[first..first + count])
                    .zip(&evaluations);
                all.for_each(
                    |(((((f, start), transport), explicit), beta), evaluation)| {
                        let cell = Cell {
                            grid: &self.grid,
                            stage,
                            start,
                            transport,
                            evaluation,
                        };
                        cell.advance(f, explicit, beta);
                    },
                );
            }
        }
        self.f = now;
        Ok(())
    }
}

/// The words of a cell, as [`Engine::sums`] has them.
fn words(grid: &VelocityGrid, f: &[f64]) -> [f64; CELL_WORDS as usize] {
    let (n, centre) = (grid.n(), 0.5 * (grid.min() + grid.max()));
    let v = |j: usize| grid.centre(j) - centre;
    let mut words = [0.0; CELL_WORDS as usize];
    [words[5], words[6]] = [f64::INFINITY, f64::NEG_INFINITY];
    for (k, &f) in f.iter().enumerate() {
        let [x, y, z] = [v(k / (n * n)), v(k / n % n), v(k % n)];
        let terms = [1.0, x, y, z, x * x + y * y + z * z];
        for (word, term) in words.iter_mut().zip(terms) {
            *word += f * term;
        }
        words[5] = words[5].min(f);
        words[6] = words[6].max(f);
    }
    words
}

/// A stage of a penalised step in one cell.
struct Cell<'a> {
    grid: &'a VelocityGrid,
    stage: CellStage,
    /// The distribution before the step.
    start: &'a [f64],
    transport: &'a [f64],
    evaluation: &'a Evaluation,
}

impl Cell<'_> {
    /// Takes f from its stage to the next; `explicit` has the explicit part of the first stage, and `beta` the rate of relaxation.
    fn advance(&self, f: &mut [f64], explicit: &mut [f64], beta: &mut f64) {
        let stage = self.stage;
        let first = stage.before == 0.0;
        let maxwellian = discrete_maxwellian(self.grid, f);
        if first {
            *beta = PENALTY / self.evaluation.correction.largest_step;
        }
        // Without a Maxwellian all is explicit.
        let usable = maxwellian.is_some() && *beta > 0.0 && beta.is_finite();
        if first && !usable {
            *beta = 0.0;
        }
        let rate = if usable { *beta } else { 0.0 };
        for (k, f) in f.iter_mut().enumerate() {
            let relaxing = match &maxwellian {
                Some(maxwellian) => rate * (maxwellian[k] - *f),
                None => 0.0,
            };
            let e = self.transport[k] + self.evaluation.rate[k] - relaxing;
            let mut sum = self.start[k] + (stage.now * e + stage.relaxing * relaxing);
            if first {
                explicit[k] = e;
            } else {
                sum += stage.before * explicit[k];
            }
            *f = sum;
        }
        if let Some(maxwellian) = discrete_maxwellian(self.grid, f) {
            let z = stage.implicit * *beta;
            for (f, m) in f.iter_mut().zip(maxwellian) {
                *f = (*f + z * m) / (1.0 + z);
            }
        }
    }
}

impl Engine for HostFlow {
    fn describe(&self) -> String {
        self.operator.device()
    }
    fn advance(&mut self, steps: u64) -> Result<()> {
        for _ in 0..steps {
            match self.stepping {
                Stepping::Split => {
                    // Streaming in several directions leaves no state of before.
                    let before = (self.passes.len() > 1).then(|| self.f.clone());
                    self.stream()?;
                    if let (Err(error), before) = (self.collide(), before) {
                        self.f = before.unwrap_or(std::mem::take(&mut self.f));
                        return Err(error);
                    }
                }
                Stepping::Penalised => self.penalised()?,
            }
        }
        Ok(())
    }
    fn at_once(&self) -> u64 {
        1
    }
    fn own(&self) -> Range<usize> {
        match &self.cut {
            Some(cut) => cut.own(),
            None => 0..self.f.len(),
        }
    }
    fn distributions(&mut self) -> Result<Vec<f64>> {
        Ok(self.f.clone())
    }
    fn sums(&mut self) -> Result<Vec<f64>> {
        let cells = self.f.par_chunks_exact(self.grid.cells());
        Ok(cells.flat_map_iter(|f| words(&self.grid, f)).collect())
    }
    fn restore(&mut self, f: &[f64]) -> Result<()> {
        self.f.copy_from_slice(f);
        Ok(())
    }
}
