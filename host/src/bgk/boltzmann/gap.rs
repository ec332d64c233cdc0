//! The steady gas between two plates: sweeps around the collision integral, accelerated by the conservation laws.

use std::time::Instant;

use rayon::prelude::*;
use serde::{Deserialize, Serialize};

use super::config::{cross_section, velocity_space};
use super::gap_correction::{Laws, PlateLaw, correct};
use crate::bgk::equilibrium::{HeatTerm, heat_vector, unresolved};
use crate::bgk::steady::plates::{Drive, LEAST_DRIVE, MAX_CELLS, graded};
use crate::bgk::steady::{
    Anderson, Exchange, MOST_ROUNDOFF, PATIENCE, ROUNDOFF_PATIENCE, Solution, Status,
};
use crate::bgk::transient::{Node, nodes};
use crate::bgk::{Axis, DiscreteMaxwellian, FaceFlux, Gas, Moments, State, VelocitySpace};
use crate::collision::{CollisionOperator, Mirrors, OperatorConfig, VelocityGrid};
use crate::error::{Error, Result};

/// Cells whose integrals are evaluated together.
const TOGETHER: usize = 64;
/// Spread of the fluxes that roundoff explains, in units of the spread that counts as none, and the change of the fields in the same units.
const ROUNDOFF: f64 = 64.0;
const CHANGE_ROUNDOFF: f64 = 4.0;
/// Roundoff of a cell's state, whose sums have the size of the equilibrium, in units of the arithmetic's.
const STATE_ROUNDOFF: f64 = 32.0 * f64::EPSILON;
/// Earlier iterations that are mixed.
const DEPTH: usize = 6;

/// Least distance of plates with a force: the flow rate is over its square.
const THINNEST_CHANNEL: f64 = 1e-9;

/// Collisions of the molecules between plates.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
#[non_exhaustive]
pub enum GapCollisions {
    /// They relax, on velocities of one's own.
    Model(Gas, VelocitySpace),
    /// They collide, on the velocities of the operator's grid.
    Integral(OperatorConfig),
}

/// Gas between two diffusely reflecting plates at a distance delta, driven by them or by a force along them.
///
/// ```text
/// v_x df/dx + a df/dv_y = I(f, f),     a df/dv_y = -2 a (v_y - u_y)/T M
/// ```
///
/// The force acts on the local Maxwellian, which is exact to first order in a: give a small one. A pressure gradient along the plates does the same as `a = -(dp/dy)/rho`.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct PlatesConfig {
    /// Distance of the plates in l0: the rarefaction parameter.
    pub delta: f64,
    /// How the plates slide, or how warm they are; a drive of 0 for plates at rest.
    pub drive: Drive,
    /// Acceleration along y by a force, in units of v0^2/l0.
    pub force: f64,
    /// Collisions of the molecules.
    pub collisions: GapCollisions,
    /// Cells; they crowd towards the plates.
    pub cells: usize,
    /// Change of an iteration, and spread of the fluxes, at which the flow counts as steady.
    pub tolerance: f64,
    /// Most iterations, each with one integral in every cell.
    pub iterations: usize,
}

impl PlatesConfig {
    /// 60 cells, to a change of 1e-6 within 60 iterations.
    pub fn new(delta: f64, drive: Drive, collisions: GapCollisions) -> Self {
        Self {
            delta,
            drive,
            force: 0.0,
            collisions,
            cells: 60,
            tolerance: 1e-6,
            iterations: 60,
        }
    }

    /// Whether the gas moves along the plates.
    fn moves(&self) -> bool {
        matches!(self.drive, Drive::Couette(speed) if speed != 0.0) || self.force != 0.0
    }

    /// The operator with the symmetries of the flow, which save directions of the spectral method: f is even in v_z, and in a gas that does not move along y even in v_y and the
    /// same after their exchange.
    fn symmetric(&self, operator: &OperatorConfig) -> OperatorConfig {
        let mut operator = operator.clone();
        let grid = &operator.grid;
        if grid.min() == -grid.max() {
            operator.spectral.mirrors = if self.moves() {
                Mirrors {
                    z: true,
                    ..Mirrors::NONE
                }
            } else {
                Mirrors::ALL
            };
        }
        operator
    }

    fn validate(&self) -> Result<()> {
        let (Drive::Couette(strength) | Drive::Fourier(strength)) = self.drive;
        for (field, value, good) in [
            ("delta", self.delta, self.delta > 0.0),
            ("drive", strength, true),
            ("force", self.force, true),
            ("tolerance", self.tolerance, self.tolerance > 0.0),
        ] {
            let positive = if field == "drive" || field == "force" {
                "a finite number"
            } else {
                "a positive finite number"
            };
            if !(value.is_finite() && good) {
                return Err(Error::invalid(field, value, positive));
            }
        }
        if self.force != 0.0 && self.delta < THINNEST_CHANNEL {
            let expected = format!("at least {THINNEST_CHANNEL:e} for a flow along a channel");
            return Err(Error::invalid(
                "delta",
                format!("{:e}", self.delta),
                expected,
            ));
        }
        if strength != 0.0 && strength.abs() < LEAST_DRIVE {
            let expected = format!("a drive of at least {LEAST_DRIVE:e}: less is lost in roundoff");
            return Err(Error::invalid("drive", format!("{strength:e}"), expected));
        }
        if !(4..=MAX_CELLS).contains(&self.cells) {
            let expected = format!("4 to {MAX_CELLS} cells between the plates");
            return Err(Error::invalid("cells", self.cells, expected));
        }
        Ok(())
    }
}

/// The collisions on their velocities.
enum Source {
    Model(Gas),
    Integral(Box<CollisionOperator>, f64),
}

/// The integral of each cell, and a frequency, both `[cell][node]`, of populations.
struct Integral {
    rate: Vec<f64>,
    frequency: Vec<f64>,
}

/// Results of a sweep.
struct Swept {
    /// `[cell][node]`.
    f: Vec<f64>,
    /// Fluxes along x through the faces.
    fluxes: Vec<FaceFlux>,
    /// Populations at the left and at the right plate.
    ends: [Vec<f64>; 2],
    /// Momentum along the plates and energy that the force brings into each cell, by the nodes' own sums.
    brought: Vec<[f64; 2]>,
}

impl Swept {
    /// The fluxes that are constant in a steady flow: without those that the force brings in on the way.
    fn constant_fluxes(&self) -> Vec<FaceFlux> {
        let mut fluxes = self.fluxes.clone();
        let mut brought = [0.0; 2];
        for (flux, [momentum, energy]) in fluxes.iter_mut().skip(1).zip(&self.brought) {
            brought[0] += momentum;
            brought[1] += energy;
            flux.momentum[1] -= brought[0];
            flux.energy -= brought[1];
        }
        fluxes
    }
}

/// A steady flow between plates under way.
///
/// An iteration evaluates the integral in every cell, sweeps `v_x df/dx + nu f = I + nu f_old` with diamond differences, solves the conservation laws for the remaining error with Newton's and Fourier's law,
/// as the [steady solver](crate::bgk::steady) of the models does, shifts the Maxwellian in f by the result, and mixes.
pub struct Plates {
    config: PlatesConfig,
    velocity: VelocitySpace,
    nodes: Vec<Node>,
    widths: Vec<f64>,
    source: Source,
    /// Exponent of the viscosity, and the Prandtl number.
    transport: [f64; 2],
    frequency: f64,
    /// Emission of the plates at unit density, and its mass in a unit of time.
    emitted: [Vec<f64>; 2],
    units: [f64; 2],
    walls: [State; 2],
    /// Populations of all cells, and then the densities of the plates.
    x: Vec<f64>,
    mixing: Anderson,
    residuals: Vec<f64>,
    spread: f64,
    /// Range of the fields.
    range: f64,
    /// The iteration after which the larger of change and spread was least, and what it was.
    least: (usize, f64),
    last: Option<Swept>,
    seconds: f64,
}

impl std::fmt::Debug for Plates {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Plates")
            .field("iterations", &self.residuals.len())
            .finish_non_exhaustive()
    }
}

impl Plates {
    /// Prepares an iteration from the gas at rest.
    ///
    /// # Errors
    /// A configuration out of range; velocities that cannot hold the gas at the plates; a backend that is not there.
    pub fn new(config: PlatesConfig) -> Result<Self> {
        config.validate()?;
        let (velocity, source, transport, frequency) = match &config.collisions {
            GapCollisions::Model(gas, velocity) => {
                gas.validate()?;
                let transport = [gas.omega, gas.effective_prandtl()];
                (
                    velocity.clone(),
                    Source::Model(*gas),
                    transport,
                    gas.frequency,
                )
            }
            GapCollisions::Integral(operator) => {
                let velocity = velocity_space(&operator.grid, 0.0)?;
                let omega = 1.0 - 0.5 * operator.scattering.gamma();
                let volume = operator.grid.volume();
                let frequency = operator.sigma_t / cross_section(operator.scattering);
                let operator = Box::new(CollisionOperator::new(config.symmetric(operator))?);
                let source = Source::Integral(operator, volume);
                (velocity, source, [omega, 2.0 / 3.0], frequency)
            }
        };
        let walls = match config.drive {
            Drive::Couette(u) => [-0.5, 0.5].map(|share| State {
                velocity: [0.0, share * u],
                ..State::REST
            }),
            Drive::Fourier(dt) => [0.5, -0.5].map(|share| State {
                temperature: 1.0 + share * dt,
                ..State::REST
            }),
        };
        if config.moves() && velocity.flow() < 2 {
            return Err(Error::invalid(
                "velocity.flow",
                velocity.flow(),
                "2 for a gas that moves along the plates",
            ));
        }
        walls.iter().try_for_each(State::validate)?;
        let most = match &config.collisions {
            GapCollisions::Model(..) => Axis::MAX_NODES,
            GapCollisions::Integral(_) => VelocityGrid::MAX_N,
        };
        velocity.check_range_within(&walls, most)?;
        let nodes = nodes(&velocity);
        let emitted = emissions(&velocity, walls)?;
        let units = [0, 1].map(|side| outgoing(&nodes, &emitted[side], side == 0));
        let rest = DiscreteMaxwellian::conservative(&velocity, State::REST)?;
        let mut x = rest.populations(&velocity).repeat(config.cells);
        let mut densities = [0.0; 2];
        for (side, density) in densities.iter_mut().enumerate() {
            *density = outgoing(&nodes, &x[..nodes.len()], side == 1) / units[side];
        }
        x.extend(densities);
        Ok(Self {
            widths: graded(config.cells, config.delta),
            velocity,
            nodes,
            source,
            transport,
            frequency,
            emitted,
            units,
            walls,
            x,
            mixing: Anderson::new(DEPTH),
            residuals: Vec::new(),
            spread: f64::INFINITY,
            range: 1.0,
            least: (0, f64::INFINITY),
            last: None,
            seconds: 0.0,
            config,
        })
    }

    /// The integral of all cells.
    fn integral(&mut self) -> Result<Integral> {
        let size = self.nodes.len();
        let cells = self.config.cells;
        let f = &self.x[..cells * size];
        match &mut self.source {
            Source::Integral(operator, volume) => {
                let (mut rate, mut frequency) = (Vec::new(), Vec::new());
                for group in f.chunks(TOGETHER * size) {
                    let density: Vec<f64> = group.iter().map(|f| f / *volume).collect();
                    let evaluations = operator.evaluate_batch(&density);
                    // The caller has no distribution of its own: a cell's is too coarse for the operator.
                    let evaluations = evaluations.map_err(|error| match error {
                        Error::Input { .. } => Error::Numerical(format!(
                            "the gas between the plates is beyond the collision operator after {} iterations ({error}); use more velocities, a wider box, or a weaker drive",
                            self.residuals.len()
                        )),
                        other => other,
                    });
                    for evaluation in evaluations? {
                        rate.extend(evaluation.rate.iter().map(|rate| rate * *volume));
                        frequency.extend(evaluation.frequency);
                    }
                }
                Ok(Integral { rate, frequency })
            }
            Source::Model(gas) => {
                let (gas, velocity, nodes) = (*gas, &self.velocity, &self.nodes);
                let rates: Result<Vec<(Vec<f64>, f64)>> = f
                    .par_chunks_exact(size)
                    .map(|f| relaxation(&gas, velocity, nodes, f))
                    .collect();
                let rates = rates?;
                Ok(Integral {
                    frequency: rates
                        .iter()
                        .flat_map(|(_, nu)| std::iter::repeat_n(*nu, size))
                        .collect(),
                    rate: rates.into_iter().flat_map(|(rate, _)| rate).collect(),
                })
            }
        }
    }

    /// One sweep with diamond differences.
    fn sweep(&self, integral: &Integral) -> Result<Swept> {
        let (size, cells) = (self.nodes.len(), self.config.cells);
        let mut f = vec![0.0; cells * size];
        let mut fluxes = vec![FaceFlux::default(); cells + 1];
        let mut ends = [vec![0.0; size], vec![0.0; size]];
        let forces = if self.config.force == 0.0 {
            Vec::new()
        } else {
            let (velocity, nodes, force) = (&self.velocity, &self.nodes, self.config.force);
            let forces: Result<Vec<Vec<f64>>> = self.x[..cells * size]
                .par_chunks_exact(size)
                .map(|f| forced(velocity, nodes, force, f))
                .collect();
            forces?.concat()
        };
        let brought = forces.chunks_exact(size).zip(&self.widths);
        let brought = brought.map(|(forces, width)| {
            let pairs = self.nodes.iter().zip(forces);
            let carried = pairs.map(|(node, force)| node.carries(*force));
            carried.fold([0.0; 2], |[momentum, energy], flux| {
                [
                    momentum + width * flux.momentum[1],
                    energy + width * flux.energy,
                ]
            })
        });
        let brought = brought.collect();
        for side in 0..2 {
            let forward = side == 0;
            let density = self.x[cells * size + side];
            let mut edge: Vec<f64> = self.emitted[side].iter().map(|m| density * m).collect();
            let enters = |node: &Node| (node.v[0] > 0.0) == forward;
            let mut pass = |face: usize, edge: &[f64]| {
                for (node, f) in self.nodes.iter().zip(edge) {
                    if enters(node) {
                        fluxes[face] += node.carries(node.v[0] * f);
                    }
                }
                for (k, end) in [0, cells].into_iter().enumerate() {
                    if face == end {
                        for ((node, to), f) in self.nodes.iter().zip(&mut ends[k]).zip(edge) {
                            if enters(node) {
                                *to = *f;
                            }
                        }
                    }
                }
            };
            pass(if forward { 0 } else { cells }, &edge);
            for place in 0..cells {
                let cell = if forward { place } else { cells - 1 - place };
                let first = cell * size;
                for (k, node) in self.nodes.iter().enumerate() {
                    if !enters(node) {
                        continue;
                    }
                    let at = first + k;
                    let nu = integral.frequency[at].max(0.0);
                    let force = forces.get(at).copied().unwrap_or(0.0);
                    let source = nu * self.x[at] + integral.rate[at] + force;
                    let b = 2.0 * node.v[0].abs() / self.widths[cell];
                    let mean = (source + b * edge[k]) / (nu + b);
                    edge[k] = 2.0 * mean - edge[k];
                    f[at] = mean;
                }
                pass(if forward { cell + 1 } else { cell }, &edge);
            }
        }
        Ok(Swept {
            f,
            fluxes,
            ends,
            brought,
        })
    }

    /// One iteration; returns the largest change of density, velocity or temperature over the range of the fields.
    ///
    /// # Errors
    /// A fault of the device; a gas that is no longer in a state.
    pub fn iterate(&mut self) -> Result<f64> {
        let started = Instant::now();
        let size = self.nodes.len();
        let integral = self.integral()?;
        let swept = self.sweep(&integral)?;
        let states = self.states(&swept.f)?;
        let before = self.states(&self.x[..self.config.cells * size])?;
        let fluxes = swept.constant_fluxes();
        let [omega, prandtl] = self.transport;
        let laws = Laws {
            widths: &self.widths,
            fluxes: &fluxes,
            stress: &swept.fluxes,
            states: &states,
            omega,
            prandtl,
            frequency: self.frequency,
            mass: self.config.delta,
            plates: [0, 1].map(|side| PlateLaw {
                temperature: self.walls[side].temperature,
                velocity: self.walls[side].velocity[1],
            }),
        };
        let (corrected, changes) = correct(&laws);
        corrected.iter().try_for_each(State::validate)?;
        let velocity = &self.velocity;
        let mut y = swept.f.clone();
        y.par_chunks_exact_mut(size)
            .zip(states.par_iter().zip(&corrected))
            .try_for_each(|(f, (old, new))| -> Result<()> {
                let of = |state: &State| {
                    let maxwellian = DiscreteMaxwellian::conservative(velocity, *state)?;
                    Ok::<_, Error>(maxwellian.populations(velocity))
                };
                for ((f, new), old) in f.iter_mut().zip(of(new)?).zip(of(old)?) {
                    *f += new - old;
                }
                Ok(())
            })?;
        let ends = swept.ends.iter().zip(changes).zip(self.units);
        for (side, ((end, change), unit)) in ends.enumerate() {
            let out = outgoing(&self.nodes, end, side == 1);
            y.push((out + change) / unit);
        }
        let (residual, range) = change(&before, &corrected);
        self.range = range;
        self.spread = self.spread_of(&fluxes);
        self.mixing.mix(&mut self.x, &y);
        self.last = Some(swept);
        self.residuals.push(residual);
        let size = residual.max(self.spread);
        if size < self.least.1 {
            self.least = (self.residuals.len(), size);
        }
        self.seconds += started.elapsed().as_secs_f64();
        Ok(residual)
    }

    fn states(&self, f: &[f64]) -> Result<Vec<State>> {
        let velocity = &self.velocity;
        let states: Vec<State> = f
            .par_chunks_exact(self.nodes.len())
            .map(|f| Moments::of(velocity, |node| f[node]).state())
            .collect();
        let bad = states.iter().find_map(|state| state.validate().err());
        match bad {
            Some(error) => Err(Error::Numerical(format!(
                "the gas between the plates is no longer in a state after {} iterations: {error}",
                self.residuals.len()
            ))),
            None => Ok(states),
        }
    }

    /// The spread over the faces of the flux that the plates drive, over its size; of the stress that a force builds up over that at the plates.
    fn spread_of(&self, fluxes: &[FaceFlux]) -> f64 {
        let driven = |flux: &FaceFlux| match self.config.drive {
            Drive::Couette(_) => flux.momentum[1],
            Drive::Fourier(_) => flux.energy,
        };
        let (mut low, mut high) = (f64::INFINITY, f64::NEG_INFINITY);
        for flux in fluxes {
            low = low.min(driven(flux));
            high = high.max(driven(flux));
        }
        (high - low) / high.abs().max(low.abs())
    }

    /// Change of the fields that roundoff explains: the arithmetic's over the range of the fields, and of fluxes that thick gas adds up.
    fn change_roundoff(&self, floor: f64) -> f64 {
        let of_states = STATE_ROUNDOFF / self.range;
        of_states.max(CHANGE_ROUNDOFF * floor).min(MOST_ROUNDOFF)
    }

    /// How the iteration ended, if it did.
    pub fn status(&self) -> Option<Status> {
        let residual = *self.residuals.last()?;
        let floor = 16.0 * f64::EPSILON * self.config.delta.max(1.0);
        let tolerance = self.config.tolerance;
        if residual <= tolerance && self.spread <= tolerance.max(floor) {
            Some(Status::Converged)
        } else if residual <= tolerance.max(self.change_roundoff(floor))
            && self.spread <= (ROUNDOFF * floor).min(MOST_ROUNDOFF).max(tolerance)
            && self.residuals.len() - self.least.0 >= ROUNDOFF_PATIENCE
        {
            Some(Status::AtRoundoff)
        } else if self.residuals.len() >= self.config.iterations {
            Some(Status::Unfinished)
        } else if self.residuals.len() - self.least.0 > PATIENCE {
            Some(Status::Stalled)
        } else {
            None
        }
    }

    /// Iterates to the end.
    ///
    /// # Errors
    /// As [`Plates::iterate`].
    pub fn solve(&mut self) -> Result<Solution> {
        while self.status().is_none() {
            self.iterate()?;
        }
        self.solution()
    }

    /// The flow as the last sweep has it.
    ///
    /// # Errors
    /// No iteration yet.
    pub fn solution(&self) -> Result<Solution> {
        let Some(swept) = &self.last else {
            return Err(Error::invalid(
                "iterations",
                0,
                "at least one before a solution",
            ));
        };
        let size = self.nodes.len();
        let cells = swept.f.chunks_exact(size);
        let exchange = |side: usize| vec![self.exchange(swept, side)];
        let residual = self.residuals.last().copied().unwrap_or(f64::INFINITY);
        Ok(Solution {
            cells: cells
                .map(|f| Moments::of(&self.velocity, |node| f[node]))
                .collect(),
            exchange: [exchange(0), exchange(1), Vec::new(), Vec::new()],
            status: self.status().unwrap_or(Status::Unfinished),
            residuals: self.residuals.clone(),
            flux_spread: self.spread,
            error_estimate: residual.max(self.spread),
            flux_roundoff: f64::EPSILON * self.config.delta.max(1.0),
            downstream_excess: None,
            seconds: self.seconds,
            device: self.device(),
        })
    }

    fn exchange(&self, swept: &Swept, side: usize) -> Exchange {
        let (sign, face) = [(-1.0, 0), (1.0, self.config.cells)][side];
        let flux = swept.fluxes[face];
        let gas = Moments::of(&self.velocity, |node| swept.ends[side][node]);
        let shear = sign * flux.momentum[1];
        Exchange {
            mass: sign * flux.mass,
            pressure: flux.momentum[0],
            shear,
            heat: sign * flux.energy,
            work: self.walls[side].velocity[1] * shear,
            density: gas.density,
            velocity: gas.velocity[1],
            temperature: gas.temperature,
        }
    }

    /// The reduced flow rate of a flow that a force drives, `G = u / (a delta)` with the mean velocity u: `delta/6 + sigma + ...` in thick gas.
    pub fn flow_rate(&self) -> Option<f64> {
        let swept = self.last.as_ref().filter(|_| self.config.force != 0.0)?;
        let size = self.nodes.len();
        let cells = swept.f.chunks_exact(size).zip(&self.widths);
        let flow = cells.map(|(f, width)| {
            let momentum = f
                .iter()
                .zip(&self.nodes)
                .map(|(f, node)| node.carries(*f).momentum[1]);
            width * momentum.sum::<f64>()
        });
        Some(flow.sum::<f64>() / (self.config.delta * self.config.delta * self.config.force))
    }

    /// The centres of the cells, from -delta/2 to delta/2.
    pub fn centres(&self) -> Vec<f64> {
        let mut low = -0.5 * self.config.delta;
        let widths = self.widths.iter();
        widths
            .map(|width| {
                low += width;
                low - 0.5 * width
            })
            .collect()
    }

    /// Changes of the iterations so far; each took one integral in every cell.
    pub fn residuals(&self) -> &[f64] {
        &self.residuals
    }

    /// The device in words.
    pub fn device(&self) -> String {
        match &self.source {
            Source::Integral(operator, _) => operator.device(),
            Source::Model(_) => "CPU".into(),
        }
    }
}

/// Emission of both plates at unit density.
fn emissions(velocity: &VelocitySpace, walls: [State; 2]) -> Result<[Vec<f64>; 2]> {
    let [left, right] = walls.map(|wall| {
        let maxwellian = DiscreteMaxwellian::conservative(velocity, wall)?;
        Ok::<_, Error>(maxwellian.populations(velocity))
    });
    Ok([left?, right?])
}

/// The mass that molecules to the right, or to the left, carry in a unit of time.
fn outgoing(nodes: &[Node], f: &[f64], forward: bool) -> f64 {
    let pairs = nodes.iter().zip(f);
    let those = pairs.filter(|(node, _)| (node.v[0] > 0.0) == forward);
    those.map(|(node, f)| node.mass * node.v[0].abs() * f).sum()
}

/// Effect of a force in one cell, of the local Maxwellian.
fn forced(velocity: &VelocitySpace, nodes: &[Node], force: f64, f: &[f64]) -> Result<Vec<f64>> {
    let state = Moments::of(velocity, |node| f[node]).state();
    let maxwellian = DiscreteMaxwellian::conservative(velocity, state)?;
    let m = maxwellian.populations(velocity);
    let u = state.velocity[1];
    let slopes = nodes.iter().zip(m).map(|(node, m)| (node.v[1] - u) * m);
    let slopes: Vec<f64> = slopes.collect();
    // The slope is -2 (v_y - u_y)/T M; on the nodes the momentum is to be that of the force exactly.
    let pairs = nodes.iter().zip(&slopes);
    let brought: f64 = pairs.map(|(node, f)| node.carries(*f).momentum[1]).sum();
    let scale = force * state.density / brought;
    Ok(slopes.into_iter().map(|slope| scale * slope).collect())
}

/// `nu (S - f)` of a model in one cell, and nu.
fn relaxation(
    gas: &Gas,
    velocity: &VelocitySpace,
    nodes: &[Node],
    f: &[f64],
) -> Result<(Vec<f64>, f64)> {
    let moments = Moments::of(velocity, |node| f[node]);
    let state = moments.state();
    let nu = gas.relaxation_frequency(state.density, state.temperature);
    let maxwellian = DiscreteMaxwellian::conservative(velocity, state)?;
    let share = 1.0 - gas.effective_prandtl();
    let vector = heat_vector(&state, moments.heat_flux, share);
    let heat = HeatTerm::conservative(velocity, &maxwellian, vector);
    let inner = velocity.inner();
    let populations = maxwellian.populations(velocity);
    let rates = nodes.iter().zip(populations).zip(f).map(|((node, m), f)| {
        let c = [node.v[0] - state.velocity[0], node.v[1] - state.velocity[1]];
        let rest = unresolved(velocity, inner[node.m], maxwellian.inverse_temperature);
        nu * (m * (1.0 + heat.factor(c, rest)) - f)
    });
    Ok((rates.collect(), nu))
}

/// The largest change of density, velocity or temperature, over the range of the one that varies most, and that range.
fn change(before: &[State], after: &[State]) -> (f64, f64) {
    let fields: [fn(&State) -> f64; 3] = [|s| s.density, |s| s.velocity[1], |s| s.temperature];
    let (mut most, mut range) = (0.0_f64, 0.0_f64);
    for field in fields {
        let values = || after.iter().map(field);
        let high = values().fold(f64::NEG_INFINITY, f64::max);
        let low = values().fold(f64::INFINITY, f64::min);
        range = range.max(high - low);
        for (before, after) in before.iter().zip(after) {
            most = most.max((field(after) - field(before)).abs());
        }
    }
    // Fields that are flat but for roundoff are compared with unity.
    let range = if range > 1e-13 { range } else { 1.0 };
    (most / range, range)
}
