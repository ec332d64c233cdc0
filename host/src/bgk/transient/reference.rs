//! The scheme, one operation after the other, in `f64`: relaxation, shift along x, shift along y, moments.
//!
//! ```text
//! relaxation   f = e^(-nu dt) f~ + (1 - e^(-nu dt)) M [+ (e^(-Pr nu dt) - e^(-nu dt)) (8/5) q.c/(n T^2) (|c|^2/T - 5/2) M]     (eq. 14)
//! shift        f~_i = f_p - a (f_p - f_(p-1)) - a(1-a)/2 (S_p - S_(p-1)),     p is k cells upstream of i                    (eqs. 12, 15)
//! ```
//!
//! with k + a = |v| dt/dx and van Leer's slopes S, which are left out in first order.
//!
//! **Ends of a row.** Cells beyond the end where molecules come in hold the incoming value: the Maxwellian of an inflow; at a wall `(1-alpha)` times the
//! mirror image plus `alpha rho_w M_w`; the mirror image at a plane of symmetry. rho_w makes inflow and outflow equal by the scheme's own sums, for every k.
//! Where molecules leave, the last cell is repeated, so its slope is 0; at a plane of symmetry it is mirrored.

use super::engine::{
    Engine, FaceFlux, Node, Saved, StepPlan, initial_populations, nodes, other_problem,
};
use super::rotating::{Internal, Relaxing, internal_vector, with_rotation};
use super::shift::{Courant, Scheme, van_leer};
use crate::bgk::equilibrium::{HeatTerm, heat_vector, unresolved};
use crate::bgk::{Boundary, DiscreteMaxwellian, Moments, Problem, State};
use crate::error::Result;

/// The reference solver.
pub(super) struct Reference {
    problem: Problem,
    plan: StepPlan,
    nodes: Vec<Node>,
    /// Populations after streaming, `[node][cell]`.
    f: Vec<f64>,
    moments: Vec<Moments>,
    /// Internal energy of the cells; none of single atoms.
    internal: Vec<Internal>,
    fluxes: [FaceFlux; 4],
    step: u64,
}

/// The populations beyond one end of all rows along a direction, and whether they have slopes.
struct Ghosts {
    /// `[node][row][depth]`, depth 0 next to the end.
    values: Vec<f64>,
    sloped: bool,
}

/// All rows along a direction, and how far the molecules of each node move along them.
struct Rows<'a> {
    direction: usize,
    rows: usize,
    length: usize,
    /// Cells beyond an end: two more than the longest shift reaches.
    depth: usize,
    /// `[node][row][cell]`.
    lines: &'a [f64],
    courant: &'a [Courant],
}

impl Rows<'_> {
    fn line(&self, node: usize, row: usize) -> &[f64] {
        &self.lines[(node * self.rows + row) * self.length..][..self.length]
    }

    /// The cell at a distance from the low (0) or the high (1) end. Beyond the opposite end the last cell is repeated.
    fn inside(&self, side: usize, node: usize, row: usize, d: usize) -> f64 {
        let d = d.min(self.length - 1);
        self.line(node, row)[if side == 0 { d } else { self.length - 1 - d }]
    }
}

impl Reference {
    pub(super) fn new(problem: Problem, plan: StepPlan) -> Result<Self> {
        let f = initial_populations(&problem)?;
        let mut reference = Self {
            nodes: nodes(&problem.velocity),
            moments: Vec::new(),
            internal: Vec::new(),
            fluxes: Default::default(),
            step: 0,
            problem,
            plan,
            f,
        };
        reference.sum_up();
        Ok(reference)
    }

    fn sum_up(&mut self) {
        let (cells, velocity) = (self.problem.space.cells(), &self.problem.velocity);
        let f = |node: usize, cell: usize| self.f[node * cells + cell];
        let moments = |cell| Moments::of(velocity, |node| f(node, cell));
        self.moments = (0..cells).map(moments).collect();
        if self.problem.gas.rotating().is_some() {
            let of = |(cell, m): (usize, &Moments)| {
                Internal::of(velocity, m.velocity, |node| f(node, cell))
            };
            self.internal = self.moments.iter().enumerate().map(of).collect();
        }
    }

    fn one_step(&mut self) -> Result<()> {
        if self.step > 0 || !self.plan.relaxed {
            self.relax()?;
        }
        self.fluxes = Default::default();
        for direction in 0..self.problem.space.dimensions() {
            self.stream(direction)?;
        }
        self.sum_up();
        self.step += 1;
        Ok(())
    }

    /// Relaxes each cell towards the equilibrium of its own moments.
    fn relax(&mut self) -> Result<()> {
        let Self { problem, plan, .. } = self;
        let cells = problem.space.cells();
        let inner = problem.velocity.inner();
        let (rotation, freedom) = (problem.gas.rotating(), problem.velocity.internal_freedom());
        for (cell, moments) in self.moments.iter().enumerate() {
            let mut state = moments.state();
            let nu = problem
                .gas
                .relaxation_frequency(state.density, state.temperature);
            let mut keep = (-nu * plan.dt).exp();
            let mut give = -(-nu * plan.dt).exp_m1();
            let keep_heat = (-problem.gas.effective_prandtl() * nu * plan.dt).exp();
            let mut rotating = None;
            if let (Some(rotation), Some(internal)) = (&rotation, self.internal.get(cell)) {
                let (gas, q) = (&problem.gas, moments.heat_flux);
                let of = Relaxing::new(gas, rotation, &state, q, internal, plan.dt)?;
                (keep, give, state.temperature) = (of.keep, of.give, of.temperatures[0]);
                rotating = Some(of);
            }
            let maxwellian =
                DiscreteMaxwellian::new(&problem.velocity, state, problem.conservative)?;
            let populations = maxwellian.populations(&problem.velocity);
            let g = match &rotating {
                Some(of) => heat_vector(&state, of.heat_fluxes[0], 1.0),
                None => heat_vector(&state, moments.heat_flux, keep_heat - keep),
            };
            let heat = if problem.conservative {
                HeatTerm::conservative(&problem.velocity, &maxwellian, g)
            } else {
                HeatTerm::sampled(g, state.temperature)
            };
            for (index, node) in self.nodes.iter().enumerate() {
                let c = [node.v[0] - state.velocity[0], node.v[1] - state.velocity[1]];
                let rest = unresolved(
                    &problem.velocity,
                    inner[node.m],
                    maxwellian.inverse_temperature,
                );
                let mut factor = give + heat.factor(c, rest);
                if let (1.0, Some(of)) = (node.internal, &rotating) {
                    // S_E = (d/2) T_r* S_F + g.c M, of the population (d/2) T* M.
                    let [t_star, r_star] = of.temperatures;
                    let g = internal_vector(&state, of.heat_fluxes[1]);
                    factor =
                        (r_star * factor + 2.0 / freedom * (g[0] * c[0] + g[1] * c[1])) / t_star;
                }
                let f = &mut self.f[index * cells + cell];
                *f = keep * *f + populations[index] * factor;
            }
        }
        Ok(())
    }

    /// Shifts all populations along a direction, in place.
    fn stream(&mut self, direction: usize) -> Result<()> {
        let space = self.problem.space;
        let all = space.cells();
        let (length, rows) = match direction {
            0 => (space.nx(), space.ny()),
            _ => (space.ny(), space.nx()),
        };
        let at = |row: usize, i: usize| match direction {
            0 => row * length + i,
            _ => i * rows + row,
        };
        let courant: Vec<Courant> = self
            .nodes
            .iter()
            .map(|node| Courant::new(node.v[direction], self.plan.dt, space.step(direction)))
            .collect();
        let depth = courant.iter().map(|c| c.whole).max().unwrap_or(0) + 2;
        let lines: Vec<f64> = (0..self.nodes.len())
            .flat_map(|node| {
                let f = &self.f;
                (0..rows).flat_map(move |row| (0..length).map(move |i| f[node * all + at(row, i)]))
            })
            .collect();
        let all_rows = Rows {
            direction,
            rows,
            length,
            depth,
            lines: &lines,
            courant: &courant,
        };
        let (low, high) = (self.ghosts(&all_rows, 0)?, self.ghosts(&all_rows, 1)?);

        let width = space.step(direction);
        for (index, node) in self.nodes.iter().enumerate() {
            let forward = node.v[direction] > 0.0;
            let Courant { whole, fraction } = courant[index];
            for row in 0..rows {
                // Downstream is to the right: rows of molecules that go the other way are turned round.
                let (upstream, downstream) = if forward {
                    (&low, &high)
                } else {
                    (&high, &low)
                };
                let ghost = |g: &Ghosts, d: usize| g.values[(index * rows + row) * depth + d];
                let mut cells: Vec<f64> = (0..depth).rev().map(|d| ghost(upstream, d)).collect();
                let inside = all_rows.line(index, row);
                if forward {
                    cells.extend(inside);
                } else {
                    cells.extend(inside.iter().rev());
                }
                cells.extend((0..depth).map(|d| ghost(downstream, d)));
                let slope = |p: usize| {
                    let in_ghosts = (p < depth && !upstream.sloped)
                        || (p >= depth + length && !downstream.sloped);
                    if self.plan.scheme == Scheme::Upwind || in_ghosts {
                        0.0
                    } else {
                        van_leer(2.0, cells[p] - cells[p - 1], cells[p + 1] - cells[p])
                    }
                };
                // Flux through the face upstream of cell p in the fraction of a cell.
                let passes =
                    |p: usize| fraction * cells[p] + 0.5 * fraction * (1.0 - fraction) * slope(p);
                for i in 0..length {
                    let p = i + depth - whole;
                    let value = cells[p] - passes(p) + passes(p - 1);
                    let i = if forward { i } else { length - 1 - i };
                    self.f[index * all + at(row, i)] = value;
                }
                // Outflow through the ends, in cells of population.
                let come: f64 = passes(depth - 1 - whole)
                    + (0..whole).map(|m| cells[depth - 1 - m]).sum::<f64>();
                let last = depth + length - 1;
                let left: f64 =
                    passes(last - whole) + (0..whole).map(|m| cells[last - m]).sum::<f64>();
                let scale = width / (self.plan.dt * rows as f64);
                for (ghosts, amount) in [(upstream, come), (downstream, -left)] {
                    if !ghosts.sloped {
                        let side = usize::from(std::ptr::eq(ghosts, &high));
                        self.fluxes[2 * direction + side] += node.carries(amount * scale);
                    }
                }
            }
        }
        Ok(())
    }

    /// The cells beyond the low (0) or the high (1) end of the rows along a direction.
    fn ghosts(&self, all: &Rows<'_>, side: usize) -> Result<Ghosts> {
        let &Rows {
            direction,
            rows,
            length,
            depth,
            ..
        } = all;
        let shape = self.problem.velocity.shape();
        let boundary = self.problem.boundaries.along(direction)[side];
        let comes_in = |node: &Node| (node.v[direction] > 0.0) == (side == 0);
        let inside = |node: usize, row: usize, d: usize| all.inside(side, node, row, d);
        let mirror_image =
            |node: &Node, row: usize, d: usize| inside(node.mirrored(shape, direction), row, d);
        let mut values = vec![0.0; self.nodes.len() * rows * depth];
        let mut fill = |value: &dyn Fn(usize, &Node, usize, usize) -> f64| {
            for (index, node) in self.nodes.iter().enumerate() {
                for row in 0..rows {
                    for d in 0..depth {
                        values[(index * rows + row) * depth + d] = value(index, node, row, d);
                    }
                }
            }
        };
        let mirrors = match boundary {
            Boundary::Specular => true,
            Boundary::Wall(wall) => wall.accommodation == 0.0,
            _ => false,
        };
        match boundary {
            Boundary::Periodic => fill(&|index, _, row, d| {
                let d = d % length;
                all.line(index, row)[if side == 0 { length - 1 - d } else { d }]
            }),
            _ if mirrors => fill(&|_, node, row, d| mirror_image(node, row, d)),
            Boundary::Inflow(state) => {
                let incoming = self.emitted(state)?;
                fill(&|index, node, row, _| {
                    if comes_in(node) {
                        incoming[index]
                    } else {
                        inside(index, row, 0)
                    }
                });
            }
            Boundary::Wall(wall) => {
                let emitted = self.emitted(wall.state())?;
                let alpha = wall.accommodation;
                let densities: Vec<f64> = (0..rows)
                    .map(|row| self.wall_density(all, side, row, alpha, &emitted))
                    .collect();
                fill(&|index, node, row, d| {
                    if comes_in(node) {
                        (1.0 - alpha) * mirror_image(node, row, d) + densities[row] * emitted[index]
                    } else {
                        inside(index, row, 0)
                    }
                });
            }
            Boundary::Specular => {}
        }
        Ok(Ghosts {
            values,
            sloped: mirrors || boundary == Boundary::Periodic,
        })
    }

    /// The populations of the Maxwellian of a boundary.
    fn emitted(&self, state: State) -> Result<Vec<f64>> {
        let Problem { velocity, .. } = &self.problem;
        let maxwellian = DiscreteMaxwellian::new(velocity, state, self.problem.conservative)?;
        Ok(maxwellian.populations(velocity))
    }

    /// The density with which a wall emits at the end of a row: as much mass comes back as leaves.
    fn wall_density(
        &self,
        all: &Rows<'_>,
        side: usize,
        row: usize,
        alpha: f64,
        emitted: &[f64],
    ) -> f64 {
        let (direction, courant) = (all.direction, all.courant);
        let shape = self.problem.velocity.shape();
        let (mut out, mut back, mut unit) = (0.0, 0.0, 0.0);
        for (index, node) in self.nodes.iter().enumerate() {
            let Courant { whole, fraction } = courant[index];
            if (node.v[direction] > 0.0) == (side == 0) {
                let image = |d| all.inside(side, node.mirrored(shape, direction), row, d);
                back += node.mass * ((0..whole).map(image).sum::<f64>() + fraction * image(whole));
                unit += node.mass * courant[index].distance() * emitted[index];
            } else {
                let cell = |d: usize| all.inside(side, index, row, d);
                let slope = if self.plan.scheme == Scheme::Upwind || whole == 0 {
                    0.0
                } else {
                    van_leer(
                        2.0,
                        cell(whole) - cell(whole + 1),
                        cell(whole - 1) - cell(whole),
                    )
                };
                out += node.mass
                    * ((0..whole).map(cell).sum::<f64>()
                        + fraction * cell(whole)
                        + 0.5 * fraction * (1.0 - fraction) * slope);
            }
        }
        (out - (1.0 - alpha) * back) / unit
    }
}

impl Engine for Reference {
    fn describe(&self) -> String {
        "scalar reference".into()
    }
    fn advance(&mut self, steps: u64) -> Result<()> {
        for _ in 0..steps {
            self.one_step()?;
        }
        Ok(())
    }
    fn fields(&mut self) -> Result<[Vec<f64>; 4]> {
        let mut moments = self.moments.clone();
        if let Some(rotation) = self.problem.gas.rotating() {
            for (moments, internal) in moments.iter_mut().zip(&self.internal) {
                with_rotation(&rotation, moments, internal);
            }
        }
        let each = |of: fn(&Moments) -> f64| moments.iter().map(of).collect();
        Ok([
            each(|m| m.density),
            each(|m| m.velocity[0]),
            each(|m| m.velocity[1]),
            each(|m| m.temperature),
        ])
    }
    fn internal(&mut self) -> Result<Vec<Internal>> {
        Ok(self.internal.clone())
    }
    fn moments(&mut self) -> Result<Vec<Moments>> {
        Ok(self.moments.clone())
    }
    fn fluxes(&mut self) -> Result<[FaceFlux; 4]> {
        Ok(self.fluxes)
    }
    fn save(&mut self) -> Result<Saved> {
        Ok(Saved {
            step: self.step,
            populations: self.f.clone(),
            extra: Vec::new(),
        })
    }
    fn restore(&mut self, saved: &Saved) -> Result<()> {
        if saved.populations.len() != self.f.len() {
            return Err(other_problem(saved.populations.len(), self.f.len()));
        }
        self.f.clone_from(&saved.populations);
        self.step = saved.step;
        self.sum_up();
        Ok(())
    }
    fn time_steps(&mut self, steps: u32) -> Result<std::time::Duration> {
        let start = std::time::Instant::now();
        self.advance(u64::from(steps))?;
        Ok(start.elapsed())
    }
}
