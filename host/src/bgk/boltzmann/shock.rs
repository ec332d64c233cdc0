//! A shock wave of the Boltzmann equation: its grid, the states at its ends, and where it starts from.

use nalgebra::{Matrix3, Vector3};
use serde::{Deserialize, Serialize};

use super::config::{FlowConfig, Stepping, cross_section, maxwellian, velocity_space};
use super::initial::Initial;
use crate::bgk::steady::Anderson;
use crate::bgk::transient::{Node, nodes};
use crate::bgk::{Boundaries, Boundary, Mach, Moments, Scheme, Shock, Space, State, VelocitySpace};
use crate::collision::initial;
use crate::collision::{
    CollisionOperator, CorrectionMethod, Evaluation, Method, Mirrors, OperatorConfig, Order,
    Scattering, Spectral, VelocityGrid,
};
use crate::compute::{Backend, Compute, Precision};
use crate::error::{Error, Result};

/// Iterations in which a state settles down; some thirty are needed.
const MOST_SETTLING: usize = 400;
/// The collision integral of a settled state, relative to the loss.
const SETTLED: f64 = 1e-12;
/// Accepted misfit where no smaller one is reached.
const NEARLY: f64 = 1e-6;
/// Growth of the collision integral over its least at which mixing has gone astray.
const LEAP: f64 = 3.0;
/// Relative difference of the fluxes at both ends.
const MATCHED: f64 = 1e-12;
/// Share of the longest step that keeps f >= 0 that is taken if no step is given.
const SAFETY: f64 = 0.8;

/// A shock wave at rest in a piece of a line, by the Boltzmann equation.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct ShockWave {
    /// Mach number.
    pub mach: Mach,
    /// Cells in space.
    pub cells: usize,
    /// Length of the upstream and of the downstream side, in l0.
    pub sides: [f64; 2],
    /// Velocity nodes along each axis.
    pub velocities: usize,
    /// Half-width of the velocity box about the mean velocities of both sides, in units of the square root of their temperatures.
    pub cut: f64,
    /// The scattering law.
    pub scattering: Scattering,
    /// How the collision integral is computed.
    pub method: Method,
    /// Order of the coefficients of the collision integral.
    pub order: Order,
    /// Directions, products and period of the spectral method; the degree that is not given follows from the Mach number.
    pub spectral: Spectral,
    /// The correction that makes the collision integral conservative.
    pub correction: CorrectionMethod,
    /// Interpolation of the shift.
    pub scheme: Scheme,
    /// How streaming and collisions make a step.
    pub stepping: Stepping,
    /// Time step; `None` for the longest with which no molecule passes more than a cell and f stays positive, or in penalised steps more than half a cell.
    pub dt: Option<f64>,
    /// Where to compute, and in which arithmetic gain and collision frequency.
    #[serde(flatten)]
    pub compute: Compute,
}

/// Findings of the preparation of a wave.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[non_exhaustive]
pub struct ShockStart {
    /// The thickness of the wave by the method of Mott-Smith (1951) with the moment of v_x^2, from which the run starts.
    pub mott_smith_thickness: f64,
    /// The downstream state that has the fluxes of the upstream one on this grid.
    pub downstream: State,
    /// The longest step for which collisions keep f >= 0.
    pub longest_step: f64,
}

impl ShockWave {
    /// Hard spheres by the method that [suits](Self::suited) both ends, with cells of 0.2 l0 and velocity cells of half the upstream thermal speed: the defaults of the command and of Python too.
    ///
    /// # Errors
    /// A Mach number that is not above 1.
    pub fn new(mach: f64) -> Result<Self> {
        let mach = Mach::new(mach)?;
        let cut = Self::CUT;
        let sides = Self::sides_of(mach);
        Self {
            mach,
            cells: (Self::CELLS * (sides[0] + sides[1])).ceil() as usize,
            sides,
            velocities: Self::nodes(mach, cut),
            cut,
            scattering: Scattering::HardSphere,
            method: Method::default(),
            order: Order::Fourth,
            spectral: Spectral::default(),
            correction: CorrectionMethod::Balanced,
            scheme: Scheme::VanLeer,
            stepping: Stepping::default(),
            dt: None,
            compute: Compute::default(),
        }
        .suited()
    }

    /// The half-width of the velocity box that is taken if none is given: 4.5 standard deviations of a velocity component.
    pub const CUT: f64 = 3.2;
    /// Cells for each l0 that are not given: the cost of the collision integral is in the cells.
    pub const CELLS: f64 = 5.0;
    /// Change of the fields in a unit of time at which a run in time ends by default.
    pub const RESIDUAL: f64 = 2e-5;

    /// Lengths upstream and downstream of the jump that are not given.
    pub fn sides_of(mach: Mach) -> [f64; 2] {
        [14.0, 10.0].map(|side: f64| mach.weak_sides().max(side))
    }

    /// The same by the spectral method with the paper's correction, or, where that has an [obstacle](Self::obstacle), by fast sums with the balanced one.
    ///
    /// # Errors
    /// Too few or too many velocities.
    pub fn suited(self) -> Result<Self> {
        let (method, correction) = match self.obstacle()? {
            None => (Method::Spectral, CorrectionMethod::Paper),
            Some(_) => (Method::Fast, CorrectionMethod::Balanced),
        };
        Ok(Self {
            method,
            correction,
            ..self
        })
    }

    /// The half-width of the cubic box that is needed with this cut.
    pub(in crate::bgk) fn half_width(mach: Mach, cut: f64) -> f64 {
        extent(mach, cut)[0]
    }

    /// Nodes along an axis for steps of half the upstream `sqrt(T)`, or the most there may be.
    pub fn nodes(mach: Mach, cut: f64) -> usize {
        let [half, _] = extent(mach, cut);
        let most = VelocityGrid::MAX_N / 2;
        2 * ((2.0 * half).ceil() as usize).min(most)
    }

    /// The spectral method's choices with the degree that a wave of this strength needs: 11 to Mach 1.7, 15 to 2.5, 17 to 3.5, 21 above leave 0.2% of the integral of a mixture of
    /// both ends. All distributions of a wave have all [`Mirrors`].
    pub fn chosen(&self) -> Spectral {
        let needed = [(1.7, 11), (2.5, 15), (3.5, 17)];
        let mach = self.mach.value();
        let degree = needed.into_iter().find(|(limit, _)| mach <= *limit);
        let degree = degree.map_or(21, |(_, degree)| degree);
        let spectral = Spectral {
            degree: self.spectral.degree.or(Some(degree)),
            mirrors: Mirrors::ALL,
            ..self.spectral
        };
        match self.method {
            Method::Spectral => spectral.resolved(self.velocities, self.scattering),
            _ => self.spectral,
        }
    }

    /// The collision integral in the units of this wing.
    fn operator(&self, grid: VelocityGrid, compute: Compute) -> OperatorConfig {
        OperatorConfig {
            scattering: self.scattering,
            sigma_t: cross_section(self.scattering),
            method: self.method,
            order: self.order,
            spectral: self.chosen(),
            correction: self.correction,
            compute,
            ..OperatorConfig::new(grid)
        }
    }

    /// The reason for which the spectral method does not suit both ends of the wave, if there is one; see [`Spectral::obstacle`].
    ///
    /// # Errors
    /// Too few or too many velocities.
    pub fn obstacle(&self) -> Result<Option<String>> {
        let [half, drift] = extent(self.mach, self.cut);
        let grid = VelocityGrid::new(self.velocities, -half, half)?;
        let ends = [self.mach.upstream(), self.mach.downstream()];
        let f: Vec<f64> = ends
            .iter()
            .flat_map(|end| {
                let velocity = [end.velocity[0] - drift, 0.0, 0.0];
                initial::maxwellian(&grid, end.density, velocity, 0.5 * end.temperature)
            })
            .collect();
        Ok(Spectral::obstacle(&grid, self.scattering, &f))
    }

    /// Warnings: choices that cost accuracy.
    pub fn warnings(&self, start: &ShockStart) -> Vec<String> {
        let mut warnings = Vec::new();
        // There 1% of the jump is left in the profile of Mott-Smith.
        let room = 1.2 * start.mott_smith_thickness;
        if self.sides.iter().any(|side| *side < room) {
            warnings.push(format!(
                "the domain cuts the wave: {:.1} l0 upstream and {:.1} downstream of the jump where {room:.0} are needed on either side; use a longer domain",
                self.sides[0], self.sides[1]
            ));
        }
        let width = (self.sides[0] + self.sides[1]) / self.cells as f64;
        if width > 0.41 {
            warnings.push(format!(
                "cells of {width:.3} l0 are wide for a shock; 0.2 l0 or less resolve it"
            ));
        }
        let [half, _] = extent(self.mach, self.cut);
        let spacing = 2.0 * half / self.velocities as f64;
        if spacing > 0.6 {
            let most = Self::nodes(self.mach, self.cut);
            let remedy = if most > self.velocities {
                let finer = 2.0 * half / most as f64;
                format!("{most} velocities along an axis give {finer:.1}")
            } else {
                "use a lower Mach number".into()
            };
            warnings.push(format!(
                "the velocity spacing {spacing:.3} is coarse for the collision integral at the upstream temperature: rates are off by some percent; {remedy}"
            ));
        }
        let nodal = self.method != Method::Spectral;
        if nodal && self.order == Order::Second && self.correction == CorrectionMethod::Paper {
            warnings.push(format!(
                "in second order with the paper's correction the gas relaxes about {:.0}% too fast on this grid; the fourth order does so within a few percent",
                // Section of the rates in the documentation: 12% at 0.55 standard deviations, as the square of the step.
                12.0 * (spacing * std::f64::consts::SQRT_2 / 0.55).powi(2)
            ));
        }
        warnings
    }

    /// Prepares a run: the states at both ends, the start by Mott-Smith, the step.
    ///
    /// The states are those in which the collision integral of this grid vanishes, from Maxwellians by steps in time with Anderson mixing. The downstream one
    /// is changed by Newton's method until it has the fluxes of the upstream one. Between them lies `f = f1 + s (f2 - f1)`, whose fluxes are the same
    /// in each cell; `s = 1 / (1 + exp(-4 x / L))` has the thickness L for which the balance of v_x^2 holds in the middle.
    /// Ranks of one flow prepare the same run, each by itself, and hand it to [`Flow::over`](super::Flow::over).
    ///
    /// # Errors
    /// Sides, grids or steps that are none or too coarse; a step in which collisions would make f negative.
    pub fn line(&self) -> Result<(FlowConfig, ShockStart)> {
        if !(self
            .sides
            .iter()
            .all(|side| side.is_finite() && *side > 0.0))
        {
            return Err(Error::invalid(
                "sides",
                format!(
                    "{} upstream and {} downstream",
                    self.sides[0], self.sides[1]
                ),
                "room on both sides of a shock",
            ));
        }
        if !(self.cut.is_finite() && self.cut > 0.0) {
            return Err(Error::invalid(
                "cut",
                self.cut,
                "a positive and finite half-width of the velocity box",
            ));
        }
        let space = Space::line(self.cells, [-self.sides[0], self.sides[1]])?;
        let [half, drift] = extent(self.mach, self.cut);
        let grid = VelocityGrid::new(self.velocities, -half, half)?;
        let velocity = velocity_space(&grid, drift)?;
        let ends = [self.mach.upstream(), self.mach.downstream()];
        velocity.check_range_within(&ends, VelocityGrid::MAX_N)?;
        // The start is the same on every backend.
        let mut gas = Discrete::new(self, grid, velocity)?;
        let [upstream, downstream] = gas.ends(self.mach)?;

        let middle: Vec<f64> = upstream
            .iter()
            .zip(&downstream)
            .map(|(a, b)| 0.5 * (a + b))
            .collect();
        let at_middle = gas.evaluate(&middle)?;
        let square = |f: &[f64], power: i32| -> f64 {
            let terms = gas.nodes.iter().zip(f);
            terms.map(|(node, f)| node.v[0].powi(power) * f).sum()
        };
        let thickness =
            (square(&downstream, 3) - square(&upstream, 3)) / square(&at_middle.rate, 2);
        if !(thickness.is_finite() && thickness > 0.0) {
            return Err(Error::Numerical(format!(
                "no wave was found between the two streams on this grid (thickness {thickness}); use more velocities"
            )));
        }
        let mut longest = at_middle.correction.largest_step;
        for end in [&upstream, &downstream] {
            longest = longest.min(gas.evaluate(end)?.correction.largest_step);
        }
        let split = self.stepping == Stepping::Split;
        let crossing = space.step(0) / gas.velocity.x().fastest();
        let usual = match self.stepping {
            Stepping::Split => (SAFETY * longest).min(crossing),
            Stepping::Penalised => 0.5 * crossing,
        };
        let step = self.dt.unwrap_or(usual);
        if !(step.is_finite() && step > 0.0) {
            return Err(Error::invalid(
                "dt",
                step,
                "a time step that must be positive and finite",
            ));
        }
        if split && step > longest {
            return Err(Error::invalid(
                "dt",
                step,
                format!(
                    "a time step of at most {longest:.4}, which leaves no negative populations; one that is not given is {usual:.4}"
                ),
            ));
        }
        let shares =
            (0..self.cells).map(|i| 1.0 / (1.0 + (-4.0 * space.centre(0, i) / thickness).exp()));
        let start = ShockStart {
            mott_smith_thickness: thickness,
            downstream: gas.moments(&downstream).state(),
            longest_step: longest,
        };
        let [left, right] =
            [&upstream, &downstream].map(|end| Boundary::Inflow(gas.moments(end).state()));
        let config = FlowConfig {
            space,
            operator: self.operator(grid, self.compute),
            drift,
            boundaries: Boundaries::line(left, right),
            incoming: [upstream, downstream, Vec::new(), Vec::new()],
            scheme: self.scheme,
            stepping: self.stepping,
            dt: step,
            initial: Initial::Shares(shares.collect()),
        };
        Ok((config, start))
    }
}

/// Half-width of the cubic box that both streams need, and its centre along x.
fn extent(mach: Mach, cut: f64) -> [f64; 2] {
    let [low, high] = Shock::velocities_of(mach, cut);
    let across = cut * mach.downstream().temperature.sqrt();
    let half = across.max(0.5 * (high - low));
    [half, 0.5 * (low + high)]
}

/// The gas of the discrete collision integral.
struct Discrete {
    operator: CollisionOperator,
    velocity: VelocitySpace,
    nodes: Vec<Node>,
    volume: f64,
}

impl Discrete {
    fn new(wave: &ShockWave, grid: VelocityGrid, velocity: VelocitySpace) -> Result<Self> {
        let compute = Compute {
            backend: Backend::Cpu,
            devices: None,
            ..wave.compute.with_precision(Precision::F64)
        };
        let config = wave.operator(grid, compute);
        Ok(Self {
            operator: CollisionOperator::new(config)?,
            nodes: nodes(&velocity),
            velocity,
            volume: grid.volume(),
        })
    }

    fn evaluate(&mut self, f: &[f64]) -> Result<Evaluation> {
        self.operator.evaluate_any(f)
    }

    fn moments(&self, f: &[f64]) -> Moments {
        Moments::of(&self.velocity, |node| self.volume * f[node])
    }

    fn maxwellian(&self, state: State) -> Result<Vec<f64>> {
        maxwellian(&self.operator.config().grid, &self.velocity, state)
    }

    /// Mass, momentum and energy that pass in a unit of time.
    fn fluxes(&self, f: &[f64]) -> Vector3<f64> {
        let mut sums = Vector3::zeros();
        for (node, f) in self.nodes.iter().zip(f) {
            let carried = node.carries(node.v[0] * f * self.volume);
            sums += Vector3::new(carried.mass, carried.momentum[0], carried.energy);
        }
        sums
    }

    /// Lets a distribution settle down to where the collision integral vanishes; its mass, momentum and energy stay.
    fn settle(&mut self, mut f: Vec<f64>) -> Result<Vec<f64>> {
        let mut mixing = Anderson::new(12);
        let mut best = (f64::INFINITY, f.clone());
        // Steps that are yet to be taken without mixing.
        let mut plain = 0;
        for _ in 0..MOST_SETTLING {
            let evaluation = self.evaluate(&f)?;
            let rate: f64 = evaluation.rate.iter().map(|rate| rate.abs()).sum();
            let loss = f.iter().zip(&evaluation.frequency);
            let loss: f64 = loss.map(|(f, nu)| (f * nu).abs()).sum();
            let size = rate / loss;
            if size < best.0 {
                best = (size, f.clone());
            }
            if size <= SETTLED {
                break;
            }
            if plain == 0 && size > LEAP * best.0 {
                // Mixing leapt too far, as it can where cells are wide: on from the best state by steps in time.
                f.clone_from(&best.1);
                mixing = Anderson::new(4);
                plain = 20;
                continue;
            }
            let step = SAFETY * evaluation.correction.largest_step;
            let next: Vec<f64> = f
                .iter()
                .zip(&evaluation.rate)
                .map(|(f, rate)| step.mul_add(*rate, *f))
                .collect();
            if plain > 0 {
                plain -= 1;
                f = next;
            } else {
                mixing.mix(&mut f, &next);
            }
        }
        let (size, mut f) = best;
        if size > NEARLY {
            return Err(Error::Numerical(format!(
                "the collision integral of this grid does not vanish at any state near a Maxwellian (relative size {size:.1e} at the least); use more velocities"
            )));
        }
        if self.operator.config().tolerated_negative() == 0.0 {
            // Mixing leaves roundoff below zero.
            f.iter_mut().for_each(|f| *f = f.max(0.0));
        }
        Ok(f)
    }

    /// The states of both streams, with equal fluxes.
    fn ends(&mut self, mach: Mach) -> Result<[Vec<f64>; 2]> {
        let upstream = self.maxwellian(mach.upstream())?;
        let upstream = self.settle(upstream)?;
        let wanted = self.fluxes(&upstream);
        let mut state = mach.downstream();
        let mut downstream = self.maxwellian(state)?;
        for _ in 0..12 {
            downstream = self.settle(downstream)?;
            let missing = wanted - self.fluxes(&downstream);
            if missing.amax() <= MATCHED * wanted.amax() {
                return Ok([upstream, downstream]);
            }
            let change = jacobian(state).lu().solve(&missing);
            let Some(change) = change.filter(|c| c.iter().all(|c| c.is_finite())) else {
                break;
            };
            let next = State::along_x(
                state.density + change[0],
                state.velocity[0] + change[1],
                state.temperature + change[2],
            );
            next.validate()?;
            let (old, new) = (self.maxwellian(state)?, self.maxwellian(next)?);
            for ((f, old), new) in downstream.iter_mut().zip(&old).zip(&new) {
                *f += new - old;
            }
            state = next;
        }
        Err(Error::Numerical(
            "no downstream state has the fluxes of the upstream one on this grid; use more velocities, or a Mach number farther from 1"
                .into(),
        ))
    }
}

/// The derivatives of the fluxes of a gas in equilibrium with respect to n, u and T.
fn jacobian(state: State) -> Matrix3<f64> {
    let State {
        density: n,
        velocity: [u, _],
        temperature: t,
    } = state;
    Matrix3::new(
        u,
        n,
        0.0,
        u * u + 0.5 * t,
        2.0 * n * u,
        0.5 * n,
        u * (0.5 * u * u + 1.25 * t),
        n * (1.5 * u * u + 1.25 * t),
        1.25 * n * u,
    )
}
