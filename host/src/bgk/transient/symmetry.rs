//! Populations that are mirror images of each other, kept once.
//!
//! Nothing flows along v_z, and on a line mostly not along v_y. States and boundaries are even in these velocities, and so is f at all times. The scheme
//! uses only the square of such a velocity, so one half of the axis with twice the weights has the same sums. That is half of the populations in two
//! dimensions of space and a quarter in one, in as much less time and memory. The public interface has all populations.

use std::ops::Range;
use std::time::Duration;

use super::engine::{Engine, FaceFlux, Rows, Saved, Work, other_problem};
use super::pieces::CheckpointPart;
use super::rotating::Internal;
use crate::bgk::{Moments, Problem, VelocitySpace};
use crate::error::Result;
use crate::memory_plan::{bytes_of, check_host};

/// Which populations are kept of those that a problem has.
#[derive(Clone, Debug, PartialEq)]
pub(super) struct SymmetryReduction {
    all: VelocitySpace,
    halved: VelocitySpace,
    cells: usize,
}

impl SymmetryReduction {
    /// The reduction of a problem, and the problem of what is kept; none where every population counts.
    pub(super) fn of(problem: &Problem) -> Option<(Self, Problem)> {
        let halved = problem.velocity.halved();
        if problem.velocity.shape() == halved.shape() {
            return None;
        }
        let reduction = Self {
            all: problem.velocity.clone(),
            halved: halved.clone(),
            cells: problem.space.cells(),
        };
        let problem = Problem {
            velocity: halved,
            ..problem.clone()
        };
        Some((reduction, problem))
    }

    /// Whether v_y is reduced.
    fn along_y(&self) -> bool {
        self.all.shape()[1] != self.halved.shape()[1]
    }

    /// For each node, in the order of the layout: the number of the kept node that represents it, and its share in that node's population.
    ///
    /// It is computed each time: a list for all nodes can exceed the memory that the populations are checked against.
    fn kept(&self) -> impl Iterator<Item = (usize, f64)> {
        let (shape, kept) = (self.all.shape(), self.halved.shape());
        // The place on a half axis, and the share: a velocity of 0 has no mirror image.
        let along = move |axis: usize, j: usize| {
            let (n, half) = (shape[axis], kept[axis]);
            if n == half {
                return (j, 1.0);
            }
            let place = j.max(n - 1 - j) - n / 2;
            (place, if j == n - 1 - j { 1.0 } else { 0.5 })
        };
        let rows = (0..shape[0]).flat_map(move |jx| (0..shape[1]).map(move |jy| (jx, jy)));
        rows.flat_map(move |(jx, jy)| {
            let (y, of_y) = along(1, jy);
            (0..shape[2]).map(move |m| {
                let (z, of_z) = along(2, m);
                (self.halved.index(jx, y, z), of_y * of_z)
            })
        })
    }

    /// The mirror image of a node that is kept: along halved axes the one with a velocity of at least 0.
    fn representative(&self, node: usize) -> usize {
        let (shape, kept) = (self.all.shape(), self.halved.shape());
        let along = |axis: usize, j: usize| match shape[axis] == kept[axis] {
            true => j,
            false => j.max(shape[axis] - 1 - j),
        };
        let (jx, jy, m) = (
            node / (shape[1] * shape[2]),
            node / shape[2] % shape[1],
            node % shape[2],
        );
        (jx * shape[1] + along(1, jy)) * shape[2] + along(2, m)
    }

    /// Whether populations are even to the bit, so that nothing is lost by keeping them once.
    pub(super) fn suits(&self, rows: &mut Rows<'_>) -> Result<bool> {
        let [mut row, mut image] = [(); 2].map(|()| vec![0.0; self.cells]);
        for node in 0..self.all.nodes() {
            let other = self.representative(node);
            if other != node {
                rows(node, &mut row)?;
                rows(other, &mut image)?;
                if row != image {
                    return Ok(false);
                }
            }
        }
        Ok(true)
    }

    /// The nodes that represent the kept ones, with the share of each in its population.
    fn representatives(&self) -> Vec<(usize, f64)> {
        let mut of_kept = vec![(0, 1.0); self.halved.nodes()];
        for (node, (kept, share)) in self.kept().enumerate() {
            // The last one has the velocities from 0 on.
            of_kept[kept] = (node, share);
        }
        of_kept
    }

    /// The kept part of all populations.
    fn join(&self, populations: &[f64]) -> Vec<f64> {
        // Of all cells, or of those of a rank.
        let cells = populations.len() / self.all.nodes();
        let mut kept = vec![0.0; self.halved.nodes() * cells];
        for ((node, share), f) in self.kept().zip(populations.chunks_exact(cells.max(1))) {
            for (kept, f) in kept[node * cells..].iter_mut().zip(f) {
                *kept = f / share;
            }
        }
        kept
    }

    /// The same state with the kept part of its populations.
    fn joined(&self, saved: &Saved) -> Saved {
        Saved {
            step: saved.step,
            populations: self.join(&saved.populations),
            extra: saved.extra.clone(),
        }
    }

    /// Refuses all populations of so many cells where memory has no room for them: they are more than the engine ever had.
    fn check_room(&self, cells: usize) -> Result<()> {
        let all = self.all.nodes() * cells;
        check_host(
            &format!("all {all} populations, mirror images too,"),
            bytes_of::<f64>(all as u64),
            "use fewer cells in space or velocity",
        )?;
        Ok(())
    }

    /// All populations of those that are kept.
    fn spread(&self, kept: &[f64]) -> Vec<f64> {
        let cells = kept.len() / self.halved.nodes();
        self.kept()
            .flat_map(|(node, share)| kept[node * cells..][..cells].iter().map(move |f| share * f))
            .collect()
    }
}

/// An engine for the populations that are kept.
pub(super) struct Reduced {
    pub(super) engine: Box<dyn Engine>,
    pub(super) reduction: SymmetryReduction,
}

impl Engine for Reduced {
    fn describe(&self) -> String {
        self.engine.describe()
    }

    fn advance(&mut self, steps: u64) -> Result<()> {
        self.engine.advance(steps)
    }

    fn fields(&mut self) -> Result<[Vec<f64>; 4]> {
        self.engine.fields()
    }

    fn moments(&mut self) -> Result<Vec<Moments>> {
        let mut all = self.engine.moments()?;
        if self.reduction.along_y() {
            for moments in &mut all {
                // The part that is odd in v_y.
                moments.pressure[2] = 0.0;
                moments.heat_flux[1] = 0.0;
            }
        }
        Ok(all)
    }

    fn internal(&mut self) -> Result<Vec<Internal>> {
        let mut all = self.engine.internal()?;
        if self.reduction.along_y() {
            for internal in &mut all {
                internal.heat_flux[1] = 0.0;
            }
        }
        Ok(all)
    }

    fn fluxes(&mut self) -> Result<[FaceFlux; 4]> {
        let mut fluxes = self.engine.fluxes()?;
        if self.reduction.along_y() {
            for flux in &mut fluxes {
                flux.momentum[1] = 0.0;
            }
        }
        Ok(fluxes)
    }

    fn save(&mut self) -> Result<Saved> {
        self.reduction.check_room(self.reduction.cells)?;
        let saved = self.engine.save()?;
        Ok(Saved {
            populations: self.reduction.spread(&saved.populations),
            ..saved
        })
    }

    fn show(&mut self, work: &mut Work<'_>) -> Result<()> {
        let kept: Vec<(usize, f64)> = self.reduction.kept().collect();
        self.engine.show(&mut |rows| {
            work(&mut |node, row| {
                let (place, share) = kept[node];
                rows(place, row)?;
                row.iter_mut().for_each(|f| *f *= share);
                Ok(())
            })
        })
    }

    fn extra(&mut self) -> Result<Vec<f64>> {
        self.engine.extra()
    }

    fn restore(&mut self, saved: &Saved) -> Result<()> {
        self.engine.restore(&self.reduction.joined(saved))
    }

    fn restore_rows(
        &mut self,
        saved: Saved,
        [nodes, cells]: [usize; 2],
        rows: &mut Rows<'_>,
    ) -> Result<()> {
        let all = self.reduction.all.nodes();
        if nodes != all {
            return Err(other_problem(nodes * cells, all * cells));
        }
        let kept = self.reduction.representatives();
        self.engine
            .restore_rows(saved, [kept.len(), cells], &mut |place, row| {
                let (node, share) = kept[place];
                rows(node, row)?;
                row.iter_mut().for_each(|f| *f /= share);
                Ok(())
            })
    }

    fn save_part(&mut self) -> Result<CheckpointPart> {
        let part = self.engine.save_part()?;
        self.reduction.check_room(part.cells.len())?;
        Ok(CheckpointPart {
            populations: self.reduction.spread(&part.populations),
            ..part
        })
    }

    fn wanted(&self) -> Option<Vec<Range<usize>>> {
        self.engine.wanted()
    }

    fn restore_wanted(&mut self, saved: &Saved) -> Result<()> {
        self.engine.restore_wanted(&self.reduction.joined(saved))
    }

    fn time_steps(&mut self, steps: u32) -> Result<Duration> {
        self.engine.time_steps(steps)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::bgk::{Axis, Boundaries, Boundary, Gas, Space, State};

    fn problem(counts: [usize; 3], flow: usize) -> Problem {
        let axes = counts.map(|n| Axis::uniform(n, -4.0, 4.0).unwrap());
        Problem::uniform(
            Space::line(5, [0.0, 1.0]).unwrap(),
            VelocitySpace::new(axes.to_vec(), flow).unwrap(),
            Gas::default(),
            Boundaries::line(Boundary::Specular, Boundary::Specular),
            State::REST,
        )
        .unwrap()
    }

    fn suits(reduction: &SymmetryReduction, populations: &[f64]) -> bool {
        let mut rows = |node: usize, row: &mut [f64]| {
            row.copy_from_slice(&populations[node * row.len()..][..row.len()]);
            Ok(())
        };
        reduction.suits(&mut rows).unwrap()
    }

    #[test]
    fn what_is_kept_has_the_same_sums() {
        for (counts, flow, nodes) in [
            ([10, 8, 12], 1, 10 * 4 * 6),
            ([10, 9, 12], 1, 10 * 5 * 6),
            ([10, 8, 11], 2, 10 * 8 * 6),
        ] {
            let problem = problem(counts, flow);
            let (reduction, reduced) = SymmetryReduction::of(&problem).unwrap();
            assert_eq!(reduced.velocity.nodes(), nodes);
            let of = |problem: &Problem| super::super::engine::initial_populations(problem);
            let (all, kept) = (of(&problem).unwrap(), of(&reduced).unwrap());
            assert!(suits(&reduction, &all));
            // The Maxwellians come from different sums, which differ by roundoff.
            for (joined, kept) in reduction.join(&all).iter().zip(&kept) {
                approx::assert_relative_eq!(joined, kept, max_relative = 1e-13);
            }
            assert_eq!(reduction.join(&reduction.spread(&kept)), kept);
            let mass: f64 = all.iter().sum();
            approx::assert_relative_eq!(kept.iter().sum::<f64>(), mass, max_relative = 1e-13);
        }
    }

    #[test]
    fn populations_that_are_not_even_do_not_suit() {
        let problem = problem([10, 8, 12], 1);
        let (reduction, _) = SymmetryReduction::of(&problem).unwrap();
        let mut all = super::super::engine::initial_populations(&problem).unwrap();
        for node in [0, 11, 12 * 8 - 1] {
            all[node * 5] *= 1.0 + f64::EPSILON;
            assert!(!suits(&reduction, &all));
            all[node * 5] /= 1.0 + f64::EPSILON;
        }
        assert!(suits(&reduction, &all));
    }

    #[test]
    fn planes_without_v_z_keep_all_populations() {
        let axes = vec![Axis::uniform(8, -4.0, 4.0).unwrap(); 2];
        let velocity = VelocitySpace::new(axes, 2).unwrap();
        let problem = Problem {
            velocity,
            ..problem([8, 8, 8], 2)
        };
        assert!(SymmetryReduction::of(&problem).is_none());
    }
}
