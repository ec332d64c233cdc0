//! The multi-core path: relaxation, both shifts and the sums of a node in one visit, in place.
//!
//! A step does three things. Each cell's sums become the factors of its Maxwellian ([`Tables`]). The cells near the faces of space are relaxed (and, for
//! the faces along y, shifted along x) once ahead of the rest, for what leaves through a wall decides what it sends back
//! ([`faces`]). Then every plane of populations, one for each node, is read, relaxed into a strip of scratch memory, shifted and
//! written back, and added to the sums of its chunk of nodes ([`pass`]); memory sees one read and one write of each population.
//!
//! The chunks are the same whatever the number of threads and are added up in their order: two runs give the same bits.

mod faces;
mod pass;
mod rows;
mod stored;

use std::time::{Duration, Instant};

use rarefy_kernels::Real;
use rarefy_kernels::bgk_flow::{PASS_SUMS_BGK, PASS_SUMS_SHAKHOV, seed};
use rayon::prelude::*;

use super::engine::{Engine, FaceFlux, Node, Saved, StepPlan, initial_populations, nodes};
use super::equilibrium::{Relaxation, fields, relaxations, state, sum, sums_of};
use super::lanes::{self, LANES, LaneReal};
use super::shift::Courant;
use super::storage::node_scales;
use super::{HeatTerm, Model, Moments, Problem, Scheme, State};
use crate::error::{Error, Result};
use crate::memory_plan::{bytes_of, check_host};
use faces::Face;
pub(super) use stored::Half;
use stored::Stored;

/// About as many chunks as the nodes are cut into.
const CHUNKS: usize = 64;
/// Cells whose sums are added up at a time.
const BLOCK: usize = 1024;

/// The time-dependent solver on all cores.
pub(super) struct CpuEngine<T, P> {
    name: String,
    layout: Layout<T>,
    f: Vec<P>,
    /// Sums over the nodes, `[sum][cell]`.
    sums: Vec<f64>,
    relaxations: Vec<Relaxation>,
    tables: Tables<T>,
    /// The tables that the populations deviate from, if they do, and the scales of the nodes.
    before: Tables<T>,
    scales: Vec<[f32; 2]>,
    faces: [Vec<Face<T>>; 2],
    /// Sums of each chunk, then scratch of each.
    partial: Vec<Vec<T>>,
    fluxes: [FaceFlux; 4],
    step: u64,
}

/// What does not change during a run.
pub(super) struct Layout<T> {
    pub(super) problem: Problem,
    pub(super) plan: StepPlan,
    pub(super) nodes: Vec<Node>,
    /// Whole cells and fractions that the nodes of an axis travel, and the room that takes beyond the ends, for each direction.
    pub(super) courant: [Vec<Courant>; 2],
    pub(super) pad: [usize; 2],
    /// Numbers of the nodes along v_x, v_y and m.
    pub(super) shape: [usize; 3],
    pub(super) nx: usize,
    pub(super) ny: usize,
    pub(super) shakhov: bool,
    /// What stands for the unresolved part of |c|^2 for each m: v_z^2, or a multiple of the table of h.
    pub(super) heat_argument: Vec<T>,
    /// What the populations of a node (v_y, m) are multiplied with in the sums of a chunk.
    weights: Vec<[T; PASS_SUMS_SHAKHOV as usize]>,
    pub(super) sums: usize,
}

/// The factors of each cell's Maxwellian, times what relaxation gives, and what else it needs, `[j][cell]`.
pub(super) struct Tables<T> {
    pub(super) keep: Vec<T>,
    /// What relaxation gives, where it does not stand in the factors along x.
    pub(super) give: Vec<T>,
    pub(super) x: Vec<T>,
    pub(super) y: Vec<T>,
    pub(super) inner: Vec<T>,
}

impl<T: Real> Layout<T> {
    fn new(problem: Problem, plan: StepPlan) -> Self {
        let space = &problem.space;
        let velocity = &problem.velocity;
        let shape = velocity.shape();
        let courant = [0, 1].map(|direction| {
            if direction < space.dimensions() {
                Courant::of_axis(&velocity.axes()[direction], space, direction, plan.dt)
            } else {
                Vec::new()
            }
        });
        let pad = [0, 1].map(|d: usize| {
            let most = courant[d].iter().map(|c| c.whole).max();
            most.map_or(0, |most| most + 2)
        });
        // Where axes are integrated out, it comes from the table of h: K/(2c) for g, K/(2c) (1 + 2/K) for h.
        let integrated = velocity.integrated() as f64;
        let heat_argument = match velocity.z() {
            Some(z) => z.nodes().iter().map(|v| T::from_f64(v * v)).collect(),
            None => [1.0, 1.0 + 2.0 / integrated].map(T::from_f64).to_vec(),
        };
        let nodes = nodes(&problem);
        let weights = nodes[..shape[1] * shape[2]]
            .iter()
            .map(|node| {
                let (vy, mass) = (node.v[1], node.mass);
                let rest = vy * vy * mass + node.energy;
                [mass, vy * mass, rest, vy * rest, vy * vy * mass].map(T::from_f64)
            })
            .collect();
        Self {
            nodes,
            weights,
            courant,
            pad,
            shape,
            nx: space.nx(),
            ny: space.ny(),
            shakhov: problem.gas.model == Model::Shakhov,
            heat_argument,
            sums: sums_of(&problem),
            problem,
            plan,
        }
    }

    pub(super) fn cells(&self) -> usize {
        self.nx * self.ny
    }
    pub(super) fn sloped(&self) -> bool {
        self.plan.scheme == Scheme::VanLeer
    }
    /// Pairs (j_x, j_y).
    pub(super) fn pairs(&self) -> usize {
        self.shape[0] * self.shape[1]
    }
    /// Chunks that share the pairs of one v_x.
    fn parts(&self) -> usize {
        CHUNKS.div_ceil(self.shape[0]).min(self.shape[1])
    }
    fn chunks(&self) -> usize {
        self.shape[0] * self.parts()
    }
    /// The v_x of a chunk.
    pub(super) fn velocity_of(&self, chunk: usize) -> f64 {
        self.problem.velocity.x().nodes()[chunk / self.parts()]
    }
    /// Sums of a chunk for each cell: of f, v_y f and the energy that is not v_x's; for Shakhov also of v_y times that energy, and of v_y^2 f.
    fn pass_sums(&self) -> usize {
        (if self.shakhov {
            PASS_SUMS_SHAKHOV
        } else {
            PASS_SUMS_BGK
        }) as usize
    }
    /// What the populations of a node are multiplied with in these.
    pub(super) fn pass_weights(&self, jy: usize, m: usize) -> &[T] {
        &self.weights[jy * self.shape[2] + m][..self.pass_sums()]
    }
    /// The first pair of each chunk, and one past the last.
    fn bounds(&self) -> Vec<usize> {
        let (parts, count_y) = (self.parts(), self.shape[1]);
        (0..=self.chunks())
            .map(|c| c / parts * count_y + c % parts * count_y / parts)
            .collect()
    }
}

impl<T: Real> Tables<T> {
    fn empty() -> Self {
        Self {
            keep: Vec::new(),
            give: Vec::new(),
            x: Vec::new(),
            y: Vec::new(),
            inner: Vec::new(),
        }
    }

    /// The Maxwellian of a node in a cell.
    pub(super) fn maxwellian(&self, [jx, jy, m]: [usize; 3], cells: usize, cell: usize) -> T {
        self.x[jx * cells + cell] * self.y[jy * cells + cell] * self.inner[m * cells + cell]
    }

    /// The products of its factors along x and y in all cells.
    pub(super) fn multiply(&self, jx: usize, jy: usize, out: &mut [T]) {
        let n = out.len();
        let (x, y) = (&self.x[jx * n..][..n], &self.y[jy * n..][..n]);
        for i in 0..n {
            out[i] = x[i] * y[i];
        }
    }

    /// `plain` are the factors of the Maxwellian alone, with what relaxation gives beside them.
    fn fill(&mut self, layout: &Layout<T>, relaxations: &[Relaxation], plain: bool) {
        let cells = layout.cells();
        let space = &layout.problem.velocity;
        let row = |table: &mut Vec<T>,
                   rows: usize,
                   value: &(dyn Fn(&Relaxation, usize) -> f64 + Sync)| {
            table.resize(rows * cells, T::ZERO);
            table
                .par_chunks_mut(cells)
                .enumerate()
                .for_each(|(j, row)| {
                    for (out, relaxation) in row.iter_mut().zip(relaxations) {
                        *out = T::from_f64(value(relaxation, j));
                    }
                });
        };
        row(&mut self.keep, 1, &|r, _| r.keep);
        if plain {
            row(&mut self.give, 1, &|r, _| r.give);
        }
        // BGK gives the same share of the Maxwellian at all nodes of a cell; Shakhov's factor comes later.
        let shared = !layout.shakhov && !plain;
        let along = |table: &mut Vec<T>, nodes: &[f64], weights: &[f64], d: Option<usize>| {
            table.resize(nodes.len() * cells, T::ZERO);
            let rows = table.par_chunks_mut(cells).zip(nodes).zip(weights);
            rows.for_each(|((out, v), weight)| {
                let of = |r: &Relaxation| {
                    let m = &r.maxwellian;
                    let (mean, slope) = d.map_or((0.0, 0.0), |d| (m.state.velocity[d], m.slope[d]));
                    let w = v - mean;
                    let share = if shared { r.give } else { 1.0 };
                    let factor = if d == Some(0) {
                        share * m.amplitude
                    } else {
                        1.0
                    };
                    (weight * factor, w * (slope - m.steepness * w))
                };
                lanes::on_widest(Exponentials {
                    out,
                    relaxations,
                    of,
                });
            });
        };
        along(&mut self.x, space.x().nodes(), space.x().weights(), Some(0));
        match space.axes().get(1) {
            Some(axis) => along(&mut self.y, axis.nodes(), axis.weights(), Some(1)),
            None => row(&mut self.y, 1, &|_, _| 1.0),
        }
        match space.z() {
            Some(z) => along(&mut self.inner, z.nodes(), z.weights(), None),
            None => {
                let integrated = space.integrated() as f64;
                row(&mut self.inner, layout.shape[2], &|r, m| match m {
                    0 => 1.0,
                    _ => integrated / (2.0 * r.maxwellian.steepness),
                });
            }
        }
    }
}

/// `a exp(b)` in a row of cells, of what `of` says of their relaxations: (a, b).
struct Exponentials<'a, T, F> {
    out: &'a mut [T],
    relaxations: &'a [Relaxation],
    of: F,
}

impl<T: Real, F: Fn(&Relaxation) -> (f64, f64)> lanes::Job for Exponentials<'_, T, F> {
    type Output = ();

    #[inline(always)]
    fn run<const FUSED: bool>(self) {
        let blocks = self.out.chunks_mut(LANES);
        for (out, relaxations) in blocks.zip(self.relaxations.chunks(LANES)) {
            let (mut factor, mut exponent) = ([0.0; LANES], [0.0; LANES]);
            for (l, relaxation) in relaxations.iter().enumerate() {
                (factor[l], exponent[l]) = (self.of)(relaxation);
            }
            let exponential = f64::exp_lanes::<FUSED>(exponent);
            for (l, out) in out.iter_mut().enumerate() {
                *out = T::from_f64(factor[l] * exponential[l]);
            }
        }
    }
}

impl<T: Real, P: Stored<T>> CpuEngine<T, P> {
    pub(super) fn new(name: String, problem: Problem, plan: StepPlan) -> Result<Self> {
        let layout = Layout::<T>::new(problem, plan);
        let (nodes, cells) = (layout.nodes.len(), layout.cells());
        let needed = bytes_of::<P>((nodes * cells) as u64)
            .saturating_add(bytes_of::<f64>(
                (cells * layout.sums * layout.chunks()) as u64,
            ))
            // The populations of the initial state are made in f64.
            .saturating_add(bytes_of::<f64>((nodes * cells) as u64));
        check_host(
            &format!("a phase space of {nodes} x {cells} cells"),
            needed,
            "use fewer cells in space or velocity, a reduced velocity space, or f32",
        )?;
        let f = initial_populations(&layout.problem)?;
        let faces = faces::prepare(&layout)?;
        let scales = if P::DEVIATIONS {
            node_scales(&layout.problem, &layout.nodes)
        } else {
            Vec::new()
        };
        let mut engine = Self {
            name,
            f: Vec::new(),
            sums: vec![0.0; cells * layout.sums],
            relaxations: Vec::new(),
            tables: Tables::empty(),
            before: Tables::empty(),
            scales,
            faces,
            partial: vec![vec![T::ZERO; cells * layout.pass_sums()]; layout.chunks()],
            fluxes: Default::default(),
            step: 0,
            layout,
        };
        engine.take(&f)?;
        Ok(engine)
    }

    /// Takes populations up, and sums them.
    fn take(&mut self, populations: &[f64]) -> Result<()> {
        let mut f: Vec<T> = populations.iter().map(|f| T::from_f64(*f)).collect();
        self.sum_up(&mut f);
        self.relaxations.clear();
        if P::DEVIATIONS {
            // They deviate from the Maxwellians of their own sums.
            let layout = &self.layout;
            self.relaxations =
                relaxations(&layout.problem, &layout.plan, &self.sums, &[], self.step)?;
            self.tables.fill(layout, &self.relaxations, true);
        }
        self.put(populations);
        Ok(())
    }

    /// Stores populations, rounded to the nearest.
    fn put(&mut self, populations: &[f64]) {
        let cells = self.layout.cells();
        self.f = populations
            .par_iter()
            .enumerate()
            .map(|(at, &f)| P::of(f, || self.of_population(at / cells, at % cells)))
            .collect();
    }

    /// What a population deviates from, and its scale.
    fn of_population(&self, node: usize, cell: usize) -> (f64, [f32; 2]) {
        let (tables, cells) = (&self.tables, self.layout.cells());
        let n = &self.layout.nodes[node];
        let of = |table: &[T], j: usize| table[j * cells + cell].to_f64();
        let maxwellian = of(&tables.x, n.jx) * of(&tables.y, n.jy) * of(&tables.inner, n.m);
        (maxwellian, self.scales[node])
    }

    /// Cuts the populations at the chunks' bounds.
    fn cut<'a, F>(layout: &Layout<T>, mut f: &'a mut [F]) -> Vec<&'a mut [F]> {
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

    /// The sums of these populations.
    fn sum_up(&mut self, f: &mut [T]) {
        let layout = &self.layout;
        let bounds = layout.bounds();
        Self::cut(layout, f)
            .into_par_iter()
            .zip(&mut self.partial)
            .enumerate()
            .for_each(|(chunk, (f, sums))| pass::sum_chunk(layout, bounds[chunk], f, sums));
        self.add_chunks();
    }

    fn add_chunks(&mut self) {
        let (layout, partial) = (&self.layout, &self.partial);
        let cells = layout.cells();
        let blocks: Vec<Vec<f64>> = (0..cells.div_ceil(BLOCK))
            .into_par_iter()
            .map(|block| {
                let first = block * BLOCK;
                pass::add_chunks(layout, partial, first, BLOCK.min(cells - first))
            })
            .collect();
        for (block, sums) in blocks.iter().enumerate() {
            let len = sums.len() / layout.sums;
            for (row, sums) in sums.chunks_exact(len).enumerate() {
                self.sums[row * cells + block * BLOCK..][..len].copy_from_slice(sums);
            }
        }
    }

    fn one_step(&mut self) -> Result<()> {
        let layout = &self.layout;
        self.relaxations = relaxations(
            &layout.problem,
            &layout.plan,
            &self.sums,
            &self.relaxations,
            self.step,
        )?;
        if P::DEVIATIONS {
            std::mem::swap(&mut self.tables, &mut self.before);
        }
        self.tables.fill(layout, &self.relaxations, P::DEVIATIONS);
        let scales: Vec<[T; 2]> = self
            .scales
            .iter()
            .map(|scale| scale.map(|s| T::from_f64(f64::from(s))))
            .collect();
        let heat: Vec<[T; 8]> = if layout.shakhov {
            pass::heat_terms(&self.relaxations)
        } else {
            Vec::new()
        };
        let step = pass::Step {
            layout,
            tables: &self.tables,
            before: &self.before,
            scales: &scales,
            seed: seed(self.step as u32),
            heat: &heat,
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
        }
        let bounds = layout.bounds();
        let faces = &self.faces;
        Self::cut(layout, &mut self.f)
            .into_par_iter()
            .zip(&mut self.partial)
            .enumerate()
            .for_each(|(chunk, (f, sums))| {
                pass::run_chunk(&step, bounds[chunk], f, faces, sums);
            });
        self.add_chunks();
        self.step += 1;
        Ok(())
    }
}

impl<T: Real, P: Stored<T>> Engine for CpuEngine<T, P> {
    fn describe(&self) -> String {
        self.name.clone()
    }

    fn advance(&mut self, steps: u64) -> Result<()> {
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
        let mut moments = central_moments(problem, &states, |node, cell| {
            self.f[node * cells + cell].exactly(|| self.of_population(node, cell))
        });
        if P::DEVIATIONS {
            // Sums are taken before populations are rounded.
            for (moments, temperature) in moments.iter_mut().zip(&states[3]) {
                moments.temperature = *temperature;
            }
        }
        Ok(moments)
    }

    fn fluxes(&mut self) -> Result<[FaceFlux; 4]> {
        Ok(self.fluxes)
    }

    fn save(&mut self) -> Result<Saved> {
        // Newton's method starts from the last Maxwellians, whose parameters therefore belong to the state; from all of them populations may deviate.
        let mut extra = self.sums.clone();
        for relaxation in &self.relaxations {
            let m = &relaxation.maxwellian;
            extra.extend([m.slope[0], m.slope[1], m.steepness]);
            if P::DEVIATIONS {
                let [ux, uy] = m.state.velocity;
                extra.extend([m.amplitude, m.state.density, ux, uy, m.state.temperature]);
            }
        }
        let cells = self.layout.cells();
        Ok(Saved {
            step: self.step,
            populations: self
                .f
                .iter()
                .enumerate()
                .map(|(at, f)| f.exactly(|| self.of_population(at / cells, at % cells)))
                .collect(),
            extra,
        })
    }

    fn restore(&mut self, saved: &Saved) -> Result<()> {
        let (cells, sums) = (self.layout.cells(), self.sums.len());
        if saved.populations.len() != self.f.len() {
            return Err(Error::input(
                "the checkpoint is of another problem: it has another number of populations",
            ));
        }
        self.step = saved.step;
        let each = if P::DEVIATIONS { 8 } else { 3 };
        let begun = saved.extra.len() == sums + each * cells;
        if !(begun || saved.extra.len() == sums && !P::DEVIATIONS) {
            // Of another backend: the bits cannot be the same.
            return self.take(&saved.populations);
        }
        self.sums.copy_from_slice(&saved.extra[..sums]);
        let problem = &self.layout.problem;
        self.relaxations = saved.extra[sums..]
            .chunks_exact(each)
            .enumerate()
            .map(|(cell, m)| {
                let before = match m {
                    &[_, _, _, _, density, ux, uy, temperature] => State {
                        density,
                        velocity: [ux, uy],
                        temperature,
                    },
                    _ => state(problem, &self.sums, cell),
                };
                let mut maxwellian = super::DiscreteMaxwellian::sampled(&problem.velocity, before);
                maxwellian.slope = [m[0], m[1]];
                maxwellian.steepness = m[2];
                if let Some(amplitude) = m.get(3) {
                    maxwellian.amplitude = *amplitude;
                }
                Relaxation {
                    maxwellian,
                    keep: 1.0,
                    give: 0.0,
                    heat: HeatTerm::default(),
                }
            })
            .collect();
        if P::DEVIATIONS {
            self.tables.fill(&self.layout, &self.relaxations, true);
        }
        self.put(&saved.populations);
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
    let nodes = nodes(problem);
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
