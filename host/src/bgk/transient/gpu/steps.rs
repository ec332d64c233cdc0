//! The launches of steps, recorded two at a time, and the messages of ranks between them.

use std::cell::RefCell;

use rarefy_kernels::Real;

use super::MachineEngine;
use super::halo::{Ends, Ghosts};
use crate::error::Result;
use crate::machine::Machine;

impl<M: Machine, T: Real + Default> MachineEngine<M, T> {
    /// Works on a rank's cuts and ghosts, where there are any.
    pub(super) fn at_cuts(
        &mut self,
        work: impl FnOnce(&mut Ends<M, T>, &M, Ghosts<'_, M, T>) -> Result<()>,
    ) -> Result<()> {
        let Some(ends) = &mut self.ends else {
            return Ok(());
        };
        let ghosts = Ghosts {
            f: &mut self.f[self.now],
            tables: &mut self.tables,
            state: &mut self.state,
        };
        work(ends, &self.machine, ghosts)
    }

    /// Updates the ghosts of a rank's part where they are stale.
    pub(super) fn refresh_ghosts(&mut self) -> Result<()> {
        let shape = self.shape;
        self.at_cuts(|ends, machine, ghosts| ends.refresh(machine, shape, ghosts))
    }

    /// Makes ghosts unusable before they are refreshed.
    #[cfg(test)]
    pub(super) fn poison_ghosts(&mut self) -> Result<()> {
        let shape = self.shape;
        self.at_cuts(|ends, machine, ghosts| ends.poison(machine, &shape, ghosts))
    }

    /// Updates the ghosts whatever their age. The next step is the first of a cycle.
    pub(super) fn refresh_all_ghosts(&mut self) -> Result<()> {
        self.begin_cycle();
        #[cfg(test)]
        self.poison_ghosts()?;
        self.refresh_ghosts()?;
        self.begin_cycle();
        Ok(())
    }

    /// The outflow through the faces of this mask, and the pass. Rows away from the cuts need no ghosts: they are stepped while the messages fly.
    ///
    /// The blocks of those rows keep all multiprocessors busy for long, so a message is packed and sent before them. Packing runs beside the sums of the
    /// bottom and top faces, which a message does not hold; kernels that carry it start before these.
    fn faces_and_pass(&mut self, mask: u32) -> Result<()> {
        let shape = self.shape;
        // A wall's emission is part of the message.
        self.sum_faces_along_x(mask)?;
        let strip = self.share.sweep.map_or(0, |sweep| sweep.rows);
        let apart = (self.ends.as_ref()).and_then(|ends| ends.inner_and_edges(&shape, strip));
        let Some((inner, edges)) = apart else {
            self.sum_faces_along_y(mask)?;
            self.refresh_ghosts()?;
            if self.share.sweep.is_some() {
                self.fill_ghosts()?;
            }
            return self.pass(false, shape);
        };
        let packed = self.ends.as_ref().is_some_and(Ends::by_kernels);
        if packed {
            self.at_cuts(|ends, machine, ghosts| ends.pack(machine, shape, ghosts))?;
        }
        let machine = self.machine.clone();
        let engine = RefCell::new(self);
        machine.fork_join(
            &mut || {
                let mut engine = engine.borrow_mut();
                if !packed {
                    engine.at_cuts(|ends, machine, ghosts| ends.pack(machine, shape, ghosts))?;
                }
                engine.at_cuts(|ends, machine, ghosts| ends.exchange(machine, shape, ghosts))?;
                // Their blocks are the last of the step: lower strips make them short.
                let share = engine.share.with_half_strips();
                edges
                    .iter()
                    .try_for_each(|rows| engine.pass_over(rows, share, false, shape))
            },
            &mut || {
                let mut engine = engine.borrow_mut();
                engine.sum_faces_along_y(mask)?;
                engine.fill_ghosts()?;
                let share = engine.share;
                engine.pass_over(&inner, share, false, shape)
            },
        )
    }

    pub(super) fn begin_cycle(&mut self) {
        if let Some(ends) = &mut self.ends {
            ends.cut.begin();
        }
    }

    pub(super) fn issue_step(&mut self, mask: u32) -> Result<()> {
        #[cfg(test)]
        self.poison_ghosts()?;
        self.faces_and_pass(mask)?;
        self.now = 1 - self.now;
        self.equilibrium(self.relaxing(self.plan.dt, self.chunks(), self.later_steps))
    }

    /// Advances without the fluxes through faces, except where walls need them.
    pub(super) fn issue_steps(&mut self, mut steps: u64) -> Result<()> {
        while steps > 0 {
            let recordable = (self.ends.as_ref()).map_or(steps, |ends| ends.recordable(steps));
            if recordable >= 2 && self.now == 0 && self.warm {
                if self.graph.is_none() {
                    let machine = self.machine.clone();
                    let walls = self.faces.walls;
                    let cut = self.ends.as_ref().map(|ends| ends.cut.clone());
                    self.graph = machine.capture(&mut || {
                        self.issue_step(walls)?;
                        self.issue_step(walls)
                    })?;
                    // Recorded, but not taken yet.
                    if let (Some(ends), Some(cut)) = (&mut self.ends, cut) {
                        ends.cut = cut;
                    }
                }
                if let Some(graph) = &self.graph {
                    self.machine.replay(graph)?;
                    if let Some(ends) = &mut self.ends {
                        ends.cut.skip(2);
                    }
                    self.step += 2;
                    steps -= 2;
                    continue;
                }
            }
            self.issue_step(self.faces.walls)?;
            self.step += 1;
            steps -= 1;
            self.warm = true;
        }
        Ok(())
    }
}
