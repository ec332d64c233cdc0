//! The time-dependent solver on a machine that runs kernels: the launches.
//!
//! A step is the pass, which reads and writes every population once, and a small kernel that makes the next tables from its partial sums. Walls add two to
//! four small kernels before the pass, which compute the emission of the walls. Populations alternate between two buffers, so two steps are recorded
//! as a graph and replayed.

mod faces;
mod halo;
mod launches;
mod layout;
mod results;
mod rotating;
mod shape;
mod share;
mod start;
mod steps;

use std::ops::Range;
use std::sync::Arc;
use std::time::Duration;

use rarefy_kernels::Real;
use rarefy_kernels::bgk::boundary::{Faces, leaving};
use rarefy_kernels::bgk::equilibrium::{self, Relaxing};
use rarefy_kernels::bgk::layout::FlowShape;
use rarefy_kernels::bgk::rotating::equilibrium_rotating;

use super::engine::{
    Engine, FaceFlux, Node, Rows, Saved, StepPlan, Work, nodes, other_problem, restore_by_rows,
};
use super::parts::Cut;
use super::relaxation::fields;
use super::rotating::Internal;
use super::shift::Scheme;
use crate::bgk::{Moments, Problem};
use crate::error::Result;
use crate::machine::{Grid, Limits, Machine};
use halo::Ends;
use launches::Arguments;
use layout::{gathered, laid_out};
use rotating::rotating;
use shape::{Division, face_partials, faces_of};
use share::Share;
use start::{Start, axes, later_steps, nodes_and_weights};

/// Newton steps for Maxwellians from a poor start.
const FIRST_STEPS: u32 = 12;

pub(super) struct MachineEngine<M: Machine, T: Real> {
    machine: Arc<M>,
    name: String,
    problem: Problem,
    plan: StepPlan,
    shape: FlowShape,
    nodes: Vec<Node>,
    /// Division of the pass's work among blocks; of a pass with Shakhov's sums; and the threads of the small kernel.
    share: Share,
    wide: Share,
    threads: u32,
    /// Rows of cells that are stepped: all but a rank's ghosts.
    rows: Range<u32>,
    f: [M::Buffer<T>; 2],
    /// The buffer of the present populations.
    now: usize,
    /// The tables of the coming step.
    tables: M::Buffer<T>,
    axes: M::Buffer<T>,
    /// The same for populations that do not move.
    still: M::Buffer<T>,
    nodes_weights: M::Buffer<f64>,
    state: M::Buffer<f64>,
    partial: M::Buffer<T>,
    faces: Faces,
    emissions: M::Buffer<f64>,
    face_partial: M::Buffer<f64>,
    face_sums: M::Buffer<f64>,
    /// Incoming molecules at unit density, for each face that is not mirrored or periodic.
    units: [Option<FaceFlux>; 4],
    /// Newton steps for Maxwellians whose correction was found in the step before.
    later_steps: u32,
    step: u64,
    graph: Option<M::Graph>,
    /// Whether the kernels of a step have been launched, so that they can be recorded.
    warm: bool,
    /// Where this is a rank's part of space.
    ends: Option<Ends<M, T>>,
}

/// Refuses a problem that does not fit into the memory of a machine.
pub(super) fn check_room<M: Machine, T: Real>(
    machine: &M,
    problem: &Problem,
    plan: &StepPlan,
) -> Result<()> {
    let limits = machine.limits()?;
    let division = divide::<T>(problem, plan, &limits)?;
    shape::check_room::<T>(problem, &division.shape, division.partials(), &limits)
}

/// The division of a problem that one machine computes.
fn divide<T: Real>(problem: &Problem, plan: &StepPlan, limits: &Limits) -> Result<Division> {
    let rows = 0..problem.space.ny() as u32;
    Division::new::<T>(
        (problem, rows),
        problem,
        plan,
        limits.shared_bytes_per_block,
    )
}

impl<M: Machine, T: Real + Default> MachineEngine<M, T> {
    pub(super) fn new(machine: M, name: String, problem: Problem, plan: StepPlan) -> Result<Self> {
        let division = divide::<T>(&problem, &plan, &machine.limits()?)?;
        Self::divided(machine, name, problem, plan, division)
    }

    /// The engine of a rank's part of the problem of all.
    pub(super) fn of_part(
        machine: M,
        name: String,
        whole: &Problem,
        plan: StepPlan,
        cut: Cut,
    ) -> Result<Self> {
        let limits = machine.limits()?;
        let problem = cut.local(whole);
        // The ghosts of a line are stepped along, those of a plane not.
        let rows = match cut.part.direction {
            0 => 0..1,
            _ => cut.part.inner().start as u32..cut.part.inner().end as u32,
        };
        let shared = limits.shared_bytes_per_block;
        let division = Division::new::<T>((&problem, rows), whole, &plan, shared)?;
        let mut engine = Self::divided(machine, name, problem, plan, division)?;
        engine.later_steps = later_steps(size_of::<T>(), whole)?;
        for (face, unit) in engine.units.iter_mut().enumerate() {
            unit.take_if(|_| cut.cuts(face));
        }
        let rows = engine.state_rows() as u32;
        engine.ends = Some(Ends::new(&*engine.machine, &engine.shape, cut, rows)?);
        Ok(engine)
    }

    /// The same with ghosts that are unusable before they are written over.
    #[cfg(test)]
    pub(super) fn poisoned(mut self) -> Self {
        if let Some(ends) = &mut self.ends {
            ends.poisoned = true;
        }
        self
    }

    fn divided(
        machine: M,
        name: String,
        problem: Problem,
        plan: StepPlan,
        division: Division,
    ) -> Result<Self> {
        let limits = machine.limits()?;
        let partial = division.partials();
        let Division {
            shape,
            share,
            wide,
            threads,
            rows,
        } = division;
        shape::check_room::<T>(&problem, &shape, partial, &limits)?;
        let nodes = nodes(&problem.velocity);
        let start = Start::new(&problem, &plan, &shape, &nodes)?;
        let faces = faces_of(&shape, plan.scheme == Scheme::VanLeer, start.walls);
        let axes = |moving| axes::<T>(&problem, plan.dt, moving, share.wide_lanes());
        let of_faces = (leaving::LEN * 2 * (shape.nx + shape.ny)) as usize;
        let mut engine = Self {
            name,
            shape,
            nodes,
            share,
            wide,
            threads,
            // The sums of ghosts that are not stepped are read, to no effect.
            partial: match rows.len() == shape.ny as usize {
                true => machine.allocate(partial)?,
                false => machine.zeros(partial)?,
            },
            rows,
            f: [
                machine.allocate(shape.words())?,
                machine.allocate(shape.words())?,
            ],
            now: 0,
            tables: machine.upload(&start.tables)?,
            axes: machine.upload(&axes(true))?,
            still: machine.upload(&axes(false))?,
            nodes_weights: machine.upload(&nodes_and_weights(&problem.velocity))?,
            state: machine.upload(&start.state)?,
            faces,
            emissions: machine.upload(&start.emissions)?,
            face_partial: machine.allocate(face_partials(&shape, &faces))?,
            face_sums: machine.upload(&vec![0.0; of_faces])?,
            units: start.units,
            later_steps: later_steps(size_of::<T>(), &problem)?,
            step: 0,
            graph: None,
            warm: false,
            ends: None,
            machine: Arc::new(machine),
            problem,
            plan,
        };
        engine.begin()?;
        Ok(engine)
    }

    fn relaxing(&self, dt: f64, chunks: u32, steps: u32) -> Relaxing {
        let gas = &self.problem.gas;
        let conservative = self.problem.conservative;
        Relaxing {
            dt,
            omega: gas.omega,
            prandtl: gas.prandtl,
            frequency: gas.frequency,
            conservative: u32::from(conservative),
            steps: if conservative { steps } else { 0 },
            chunks,
            parts: self.share.parts,
            threads: self.threads,
            low: 0,
        }
    }

    /// The launch of the small kernel, and its rule: for all cells, or for those that a pass has summed.
    fn summed(&self, rule: Relaxing) -> (Grid, Relaxing) {
        let rows = match rule.chunks {
            0 => 0..self.shape.ny,
            _ => self.rows.clone(),
        };
        let grid = Grid {
            blocks: rows.len() as u32 * self.shape.pitch / 32,
            threads: rule.threads,
        };
        let low = rows.start;
        (grid, Relaxing { low, ..rule })
    }

    /// Division of the work of a pass over this shape. A pass with Shakhov's sums may divide it otherwise than the others.
    fn share_of(&self, shape: &FlowShape) -> Share {
        if shape.shakhov == self.shape.shakhov {
            self.share
        } else {
            self.wide
        }
    }

    /// Chunks of partial sums of a pass.
    fn chunks(&self) -> u32 {
        self.shape.count_x * self.share.parts
    }

    /// The time step of the relaxation at the start of the next step.
    fn next_dt(&self) -> f64 {
        if self.step == 0 && self.plan.relaxed {
            0.0
        } else {
            self.plan.dt
        }
    }

    fn equilibrium(&mut self, rule: Relaxing) -> Result<()> {
        let (grid, rule) = self.summed(rule);
        let (partial, axes) = (&self.partial, &self.nodes_weights);
        let (state, tables) = (&mut self.state, &mut self.tables);
        let shape = self.shape;
        macro_rules! launch {
            ($kernel:ident) => {
                Ok(self.machine.launch(
                    grid,
                    equilibrium::$kernel {
                        partial,
                        axes,
                        state,
                        tables,
                        shape,
                        rule,
                    },
                )?)
            };
        }
        if let Some(rotation) = self.problem.gas.rotating() {
            let rotation = rotating(&rotation);
            let kernel = equilibrium_rotating {
                partial,
                axes,
                state,
                tables,
                shape,
                rule,
                rotation,
            };
            return Ok(self.machine.launch(grid, kernel)?);
        }
        if shape.shakhov == 0 {
            launch!(equilibrium)
        } else {
            launch!(equilibrium_shakhov)
        }
    }

    /// Tables of the Maxwellians of the cells' sums alone.
    fn maxwellians(&mut self) -> Result<()> {
        // An infinite step has decay 0 and gain 1: the Maxwellian alone.
        self.equilibrium(Relaxing {
            frequency: 1.0,
            ..self.relaxing(1e12, 0, FIRST_STEPS)
        })
    }

    /// The populations of the initial state, their sums, and the tables of the first step.
    fn begin(&mut self) -> Result<()> {
        self.maxwellians()?;
        // Both buffers: margins of the second are read before they are ever written.
        for f in &mut self.f {
            self.machine.launch(
                Grid::per_item(
                    (self.shape.rows_of_pair() * self.shape.pitch * self.shape.count_m) as usize,
                    128,
                ),
                equilibrium::fill {
                    tables: &self.tables,
                    f,
                    shape: self.shape,
                },
            )?;
        }
        self.sum_up()
    }

    /// The sums of the present populations, and the tables of the next step.
    fn sum_up(&mut self) -> Result<()> {
        let shape = self.shape;
        self.equilibrium(Relaxing {
            dt: 0.0,
            ..self.relaxing(0.0, 0, 0)
        })?;
        self.refresh_all_ghosts()?;
        self.pass(true, shape)?;
        self.now = 1 - self.now;
        let rule = self.relaxing(self.next_dt(), self.chunks(), FIRST_STEPS);
        self.equilibrium(rule)
    }

    /// One pass from the present buffer to the other; populations that do not move are only summed.
    fn pass(&mut self, still: bool, shape: FlowShape) -> Result<()> {
        let rows = self.rows.clone();
        self.pass_over(&rows, self.share_of(&shape), still, shape)
    }

    /// The pass over some rows of a plane; over all cells of a line.
    fn pass_over(
        &mut self,
        rows: &Range<u32>,
        share: Share,
        still: bool,
        shape: FlowShape,
    ) -> Result<()> {
        let sloped = self.plan.scheme == Scheme::VanLeer;
        let share = share.over(rows, &shape, size_of::<T>(), sloped);
        let blocks = share.blocks(&shape);
        let [first, second] = &mut self.f;
        let (f, next) = if self.now == 0 {
            (&*first, second)
        } else {
            (&*second, first)
        };
        let arguments = Arguments {
            f,
            tables: &self.tables,
            axes: if still { &self.still } else { &self.axes },
            next,
            partial: &mut self.partial,
            shape,
            groups: share.groups,
            // Alternating orders, so that a pass starts with the populations that the one before wrote last.
            reversed: self.now as u32,
            sweep: share.sweep,
        };
        launches::pass(&*self.machine, sloped, blocks, arguments)
    }

    /// Restores the tables of the coming step from the sums of the state. After a plane sweep
    /// [`sum_faces`](Self::sum_faces) needs the partial sums too; they are the same bits that the step before left.
    fn make_ready(&mut self) -> Result<()> {
        if self.share.sweep.is_some() {
            self.equilibrium(self.relaxing(0.0, 0, 0))?;
            self.refresh_all_ghosts()?;
            self.pass(true, self.shape)?;
        }
        self.equilibrium(self.relaxing(self.next_dt(), 0, 0))
    }
}

impl<M: Machine + 'static, T: Real + Default> Engine for MachineEngine<M, T> {
    fn describe(&self) -> String {
        self.name.clone()
    }

    fn advance(&mut self, steps: u64) -> Result<()> {
        if steps == 0 {
            return Ok(());
        }
        self.begin_cycle();
        self.issue_steps(steps - 1)?;
        self.issue_step(self.open_faces())?;
        self.step += 1;
        Ok(())
    }

    fn fields(&mut self) -> Result<[Vec<f64>; 4]> {
        Ok(fields(&self.problem, &self.own_sums()?))
    }

    fn moments(&mut self) -> Result<Vec<Moments>> {
        self.all_moments()
    }

    fn internal(&mut self) -> Result<Vec<Internal>> {
        self.all_internal()
    }

    fn fluxes(&mut self) -> Result<[FaceFlux; 4]> {
        self.received()
    }

    fn save(&mut self) -> Result<Saved> {
        let cells = self.shape.nx as usize * self.shape.ny as usize;
        let mut populations = vec![0.0; self.nodes.len() * cells];
        self.show(&mut |rows| {
            let mut all = populations.chunks_exact_mut(cells).enumerate();
            all.try_for_each(|(node, row)| rows(node, row))
        })?;
        Ok(Saved {
            step: self.step,
            populations,
            extra: self.extra()?,
        })
    }

    fn show(&mut self, work: &mut Work<'_>) -> Result<()> {
        let mut f = vec![T::ZERO; self.shape.words()];
        self.machine.read(&self.f[self.now], &mut f)?;
        let padded = gathered(&self.shape, &f);
        drop(f);
        let (nx, pitch) = (self.shape.nx as usize, self.shape.pitch as usize);
        let plane = self.shape.plane() as usize;
        work(&mut |node, row| {
            let of_node = padded[node * plane..][..plane].chunks_exact(pitch);
            for (to, from) in row.chunks_exact_mut(nx).zip(of_node) {
                for (to, f) in to.iter_mut().zip(from) {
                    *to = f.to_f64();
                }
            }
            Ok(())
        })
    }

    fn extra(&mut self) -> Result<Vec<f64>> {
        Ok(self.compact(&self.read_state(&self.state, self.state_rows())?))
    }

    fn restore(&mut self, saved: &Saved) -> Result<()> {
        let cells = self.shape.nx as usize * self.shape.ny as usize;
        let size = [self.nodes.len(), cells];
        restore_by_rows(self, saved, size)
    }

    fn restore_rows(
        &mut self,
        saved: Saved,
        [nodes, all]: [usize; 2],
        rows: &mut Rows<'_>,
    ) -> Result<()> {
        let (nx, pitch) = (self.shape.nx as usize, self.shape.pitch as usize);
        let (cells, plane) = (nx * self.shape.ny as usize, self.shape.plane() as usize);
        if [nodes, all] != [self.nodes.len(), cells] {
            return Err(other_problem(nodes * all, self.nodes.len() * cells));
        }
        self.step = saved.step;
        let mut f = vec![T::ZERO; nodes * plane];
        let mut row = vec![0.0; cells];
        for (node, of_node) in f.chunks_exact_mut(plane).enumerate() {
            rows(node, &mut row)?;
            let lines = of_node.chunks_exact_mut(pitch);
            for (to, from) in lines.zip(row.chunks_exact(nx)) {
                for (to, f) in to.iter_mut().zip(from) {
                    *to = T::from_f64(*f);
                }
            }
        }
        let f = laid_out(&self.shape, &f);
        self.machine.write(&mut self.f[self.now], &f)?;
        let same = saved.extra.len() == self.state_rows() * cells;
        if same {
            let padded: Vec<f64> = (saved.extra.chunks_exact(nx))
                .flat_map(|row| {
                    let rest = std::iter::repeat_n(0.0, pitch - nx);
                    row.iter().copied().chain(rest)
                })
                .collect();
            self.machine.write(&mut self.state, &padded)?;
            self.make_ready()
        } else {
            // The bits cannot be the same.
            self.sum_up()
        }
    }

    fn time_steps(&mut self, steps: u32) -> Result<Duration> {
        // Kernels are loaded and the graph is recorded before the clock starts.
        self.begin_cycle();
        self.issue_steps(4 + self.now as u64)?;
        let machine = self.machine.clone();
        machine.time(&mut || self.issue_steps(u64::from(steps)))
    }
}
