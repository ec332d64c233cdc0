//! The multi-core path: relaxation, both shifts and the sums of a node in one visit, in place.
//!
//! A step does three things. Each cell's sums become the factors of its Maxwellian ([`Tables`]). The cells near the faces of space are relaxed once ahead of the rest, and for
//! the faces along y shifted along x, since the outflow through a wall determines its emission
//! ([`faces`]). Then the populations of each chunk of nodes are read, relaxed, shifted and written back row by row, and added to the
//! sums of the chunk ([`pass`]). Each population is read and written once.
//!
//! The chunks are the same whatever the number of threads and are added up in their order: two runs give the same bits.

mod face;
mod faces;
mod halo;
mod layout;
mod pass;
mod rows;
mod step;
mod sums;
mod tables;

use std::time::{Duration, Instant};

use rarefy_kernels::Real;
use rayon::prelude::*;

use super::engine::{
    Engine, FaceFlux, Rows, Saved, StepPlan, Work, initial_populations, nodes, other_problem,
    restore_by_rows,
};
use super::parts::Cut;
use super::relaxation::{Relaxations, fields, internal, relax_all, state, sum};
use super::rotating::Internal;
use crate::bgk::{DiscreteMaxwellian, Moments, Problem};
use crate::error::Result;
use crate::memory_plan::{bytes_of, check_host};
use crate::simd::on_widest;
use face::Face;
use halo::{Ends, Ghosts};
use layout::Layout;
use tables::Tables;

/// The time-dependent solver on all cores.
pub(super) struct CpuEngine<T> {
    name: String,
    layout: Layout<T>,
    f: Vec<T>,
    /// Sums over the nodes, `[sum][cell]`.
    sums: Vec<f64>,
    relaxations: Vec<Relaxations>,
    tables: Tables<T>,
    faces: [Vec<Face<T>>; 2],
    /// Sums of each chunk, then scratch of each.
    partial: Vec<Vec<T>>,
    fluxes: [FaceFlux; 4],
    step: u64,
    /// Where this is a rank's part of space.
    ends: Option<Ends>,
}

/// Refuses a problem whose populations, with as many bytes as `further`, main memory has no room for.
pub(super) fn check_room<T: Real>(problem: &Problem, further: u64) -> Result<()> {
    let (nodes, cells) = (problem.velocity.nodes(), problem.space.cells());
    let populations = (nodes as u64).saturating_mul(cells as u64);
    let needed = bytes_of::<T>(populations).saturating_add(further);
    Ok(check_host(
        &format!("a phase space of {nodes} x {cells} cells"),
        needed,
        "use fewer cells in space or velocity, a reduced velocity space, or f32",
    )?)
}

impl<T: Real> CpuEngine<T> {
    pub(super) fn new(name: String, problem: Problem, plan: StepPlan) -> Result<Self> {
        check_room::<T>(&problem, 0)?;
        let layout = Layout::<T>::new(problem, plan);
        let cells = layout.cells();
        let sums = bytes_of::<f64>((cells * layout.sums * layout.chunks()) as u64);
        check_room::<T>(&layout.problem, sums)?;
        let faces = face::prepare(&layout)?;
        let mut engine = Self {
            name,
            f: initial_populations(&layout.problem)?,
            sums: vec![0.0; cells * layout.sums],
            relaxations: Vec::new(),
            tables: Tables::new(&layout),
            faces,
            partial: vec![vec![T::ZERO; cells * layout.pass_sums()]; layout.chunks()],
            fluxes: Default::default(),
            step: 0,
            ends: None,
            layout,
        };
        engine.sum_up();
        Ok(engine)
    }

    /// The engine of a rank's part of the problem of all.
    pub(super) fn of_part(name: String, whole: &Problem, plan: StepPlan, cut: Cut) -> Result<Self> {
        let mut engine = Self::new(name, cut.local(whole), plan)?;
        if cut.part.direction == 1 {
            engine.layout.count_rows(0, cut.part.inner(), cut.part.all);
        }
        engine.ends = Some(Ends::new(cut));
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

    /// Cuts the populations at the chunks' bounds.
    fn cut<'a>(layout: &Layout<T>, mut f: &'a mut [T]) -> Vec<&'a mut [T]> {
        let per_pair = layout.shape[2] * layout.cells();
        layout
            .bounds()
            .windows(2)
            .map(|w| {
                let (chunk, rest) = std::mem::take(&mut f).split_at_mut((w[1] - w[0]) * per_pair);
                f = rest;
                chunk
            })
            .collect()
    }

    /// The sums of the populations.
    fn sum_up(&mut self) {
        let layout = &self.layout;
        let bounds = layout.bounds();
        Self::cut(layout, &mut self.f)
            .into_par_iter()
            .zip(&mut self.partial)
            .enumerate()
            .for_each(|(chunk, (f, sums))| {
                on_widest(sums::SumChunk {
                    layout,
                    first: bounds[chunk],
                    f,
                    sums,
                });
            });
        sums::add_chunks(layout, &self.partial, &mut self.sums);
    }

    /// Factors of relaxation, from the sums.
    fn relax_all(&mut self) -> Result<()> {
        let Layout { problem, plan, .. } = &self.layout;
        relax_all(problem, plan, &self.sums, self.step, &mut self.relaxations)
    }

    fn one_step(&mut self) -> Result<()> {
        if let Some(ends) = &mut self.ends {
            let ghosts = Ghosts {
                f: &mut self.f,
                sums: &mut self.sums,
                relaxations: &mut self.relaxations,
            };
            ends.refresh(&self.layout, ghosts)?;
        }
        self.relax_all()?;
        let layout = &self.layout;
        self.tables.fill(layout, &self.relaxations);
        let step = step::Step {
            layout,
            tables: &self.tables,
        };
        self.fluxes = Default::default();
        for direction in 0..layout.problem.space.dimensions() {
            let (done, rest) = self.faces.split_at_mut(direction);
            faces::update(
                &step,
                direction,
                &self.f,
                done.first().map_or(&[], Vec::as_slice),
                &mut rest[0],
                &mut self.fluxes,
            );
            if let (0, Some(ends)) = (direction, &self.ends) {
                ends.refresh_walls(&mut self.faces[0])?;
            }
        }
        let bounds = layout.bounds();
        let faces = &self.faces;
        Self::cut(layout, &mut self.f)
            .into_par_iter()
            .zip(&mut self.partial)
            .enumerate()
            .for_each(|(chunk, (f, sums))| {
                on_widest(pass::RunChunk {
                    step: &step,
                    first: bounds[chunk],
                    f,
                    faces,
                    sums,
                });
            });
        sums::add_chunks(layout, &self.partial, &mut self.sums);
        self.step += 1;
        Ok(())
    }
}

impl<T: Real> Engine for CpuEngine<T> {
    fn describe(&self) -> String {
        self.name.clone()
    }

    fn advance(&mut self, steps: u64) -> Result<()> {
        if let Some(ends) = &mut self.ends {
            ends.cut.begin();
        }
        for _ in 0..steps {
            self.one_step()?;
        }
        Ok(())
    }

    fn fields(&mut self) -> Result<[Vec<f64>; 4]> {
        Ok(fields(&self.layout.problem, &self.sums))
    }

    fn moments(&mut self) -> Result<Vec<Moments>> {
        let states = fields(&self.layout.problem, &self.sums);
        let (problem, cells) = (&self.layout.problem, self.layout.cells());
        Ok(central_moments(problem, &states, |node, cell| {
            self.f[node * cells + cell].to_f64()
        }))
    }

    fn internal(&mut self) -> Result<Vec<Internal>> {
        let (problem, cells) = (&self.layout.problem, self.layout.cells());
        if !self.layout.rotates {
            return Ok(Vec::new());
        }
        let of = |cell| {
            let state = state(problem, &self.sums, cell);
            internal(&state, &self.sums, cells, cell)
        };
        Ok((0..cells).map(of).collect())
    }

    fn fluxes(&mut self) -> Result<[FaceFlux; 4]> {
        let mut fluxes = self.fluxes;
        if let Some(ends) = &self.ends {
            // Nothing is received through a cut.
            for (_, flux) in (fluxes.iter_mut().enumerate()).filter(|(k, _)| ends.cut.cuts(*k)) {
                *flux = FaceFlux::default();
            }
        }
        Ok(fluxes)
    }

    fn save(&mut self) -> Result<Saved> {
        Ok(Saved {
            step: self.step,
            populations: self.f.iter().map(|f| f.to_f64()).collect(),
            extra: self.extra()?,
        })
    }

    fn show(&mut self, work: &mut Work<'_>) -> Result<()> {
        work(&mut |node, row| {
            let f = &self.f[node * row.len()..][..row.len()];
            for (to, f) in row.iter_mut().zip(f) {
                *to = f.to_f64();
            }
            Ok(())
        })
    }

    fn extra(&mut self) -> Result<Vec<f64>> {
        // Newton's method starts from the last Maxwellians, whose parameters therefore belong to the state.
        let mut extra = self.sums.clone();
        let all = self.relaxations.iter();
        let maxwellians = all.flat_map(|r| (0..r.maxwellians.cells).map(|i| r.maxwellians.get(i)));
        for m in maxwellians {
            extra.extend([m.slope[0], m.slope[1], m.inverse_temperature]);
        }
        Ok(extra)
    }

    fn restore(&mut self, saved: &Saved) -> Result<()> {
        let cells = self.layout.cells();
        let size = [self.f.len() / cells, cells];
        restore_by_rows(self, saved, size)
    }

    fn restore_rows(
        &mut self,
        saved: Saved,
        [nodes, all]: [usize; 2],
        rows: &mut Rows<'_>,
    ) -> Result<()> {
        let (cells, sums) = (self.layout.cells(), self.sums.len());
        if (nodes * all, all) != (self.f.len(), cells) {
            return Err(other_problem(nodes * all, self.f.len()));
        }
        self.step = saved.step;
        let mut row = vec![0.0; cells];
        for (node, to) in self.f.chunks_exact_mut(cells).enumerate() {
            rows(node, &mut row)?;
            for (to, f) in to.iter_mut().zip(&row) {
                *to = T::from_f64(*f);
            }
        }
        let begun = saved.extra.len() == sums + 3 * cells;
        if !(begun || saved.extra.len() == sums) {
            // Of another backend: the bits cannot be the same.
            self.sum_up();
            self.relaxations.clear();
            return Ok(());
        }
        self.sums.copy_from_slice(&saved.extra[..sums]);
        let problem = &self.layout.problem;
        let maxwellian = |cell: usize| {
            let m = &saved.extra[sums + 3 * cell..][..3];
            let before = state(problem, &self.sums, cell);
            let mut maxwellian = DiscreteMaxwellian::sampled(&problem.velocity, before);
            maxwellian.slope = [m[0], m[1]];
            maxwellian.inverse_temperature = m[2];
            maxwellian
        };
        // Before the first step there are none.
        self.relaxations = if begun {
            Relaxations::starting(problem, maxwellian)
        } else {
            Vec::new()
        };
        Ok(())
    }

    fn time_steps(&mut self, steps: u32) -> Result<Duration> {
        let start = Instant::now();
        self.advance(u64::from(steps))?;
        Ok(start.elapsed())
    }
}

/// All moments of populations `f(node, cell)` whose density and mean velocity are known, taken about that velocity.
fn central_moments(
    problem: &Problem,
    fields: &[Vec<f64>; 4],
    f: impl Fn(usize, usize) -> f64 + Sync,
) -> Vec<Moments> {
    const BLOCK: usize = 256;
    let cells = problem.space.cells();
    let nodes = nodes(&problem.velocity);
    let one_axis = problem.velocity.axes().len() == 1;
    let [density, ux, uy, _] = fields;
    let blocks: Vec<Vec<Moments>> = (0..cells.div_ceil(BLOCK))
        .into_par_iter()
        .map(|block| {
            let range = block * BLOCK..((block + 1) * BLOCK).min(cells);
            let mut sums = vec![[0.0; 6]; range.len()];
            for (index, node) in nodes.iter().enumerate() {
                let (ux, uy) = (&ux[range.clone()], &uy[range.clone()]);
                for (i, sums) in sums.iter_mut().enumerate() {
                    let f = f(index, range.start + i);
                    let c = [node.v[0] - ux[i], node.v[1] - uy[i]];
                    let (mass, energy) = (node.mass * f, node.energy * f);
                    let square = (c[0] * c[0] + c[1] * c[1]) * mass + energy;
                    sums[0] += c[0] * c[0] * mass;
                    sums[1] += c[1] * c[1] * mass;
                    sums[2] += c[0] * c[1] * mass;
                    sums[3] += energy;
                    sums[4] += 0.5 * c[0] * square;
                    sums[5] += 0.5 * c[1] * square;
                }
            }
            range
                .zip(sums)
                .map(|(cell, [xx, yy, xy, rest, qx, qy])| Moments {
                    density: density[cell],
                    velocity: [ux[cell], uy[cell]],
                    temperature: (xx + yy + rest) / (1.5 * density[cell]),
                    pressure: [xx, if one_axis { 0.5 * rest } else { yy }, xy],
                    heat_flux: [qx, qy],
                })
                .collect()
        })
        .collect();
    blocks.into_iter().flatten().collect()
}

// The sums' names are used by the pass.
const _: () = assert!(sum::SHAKHOV == 9 && sum::BGK == 4);
