//! Homogeneous relaxation: a uniform gas away from equilibrium, and its exact moments.
//!
//! Density 1 and momentum 0 stay. In the units of this module, with the frequency $\nu = T_t^{1-\omega}$ and $d$ internal degrees of freedom,
//!
//! ```text
//! dT_t/dt = nu (T - T_t)/Z    dT_r/dt = nu (T - T_r)/Z    d(P_xx - T_t/2)/dt = -nu (P_xx - T_t/2)    d(q_t, q_r)/dt = -nu A (q_t, q_r)
//! ```
//!
//! (L. D. Landau and E. Teller, 1936). Single atoms have one temperature, which stays, and `dq/dt = -nu Pr q`. A step in time is exact where $\nu$, Z and A are the
//! same at all temperatures. [`ExactRelaxation`] integrates the equations where they are not.

use std::f64::consts::SQRT_2;

use serde::{Deserialize, Serialize};

use crate::bgk::{
    Axis, Boundaries, Boundary, Checkpoint, DiscreteMaxwellian, Gas, Moments, Problem,
    RotatingMoments, Simulation, SimulationConfig, Space, State, VelocitySpace,
};
use crate::compute::Compute;
use crate::error::{Error, Result};

/// Half-width of a velocity box that is not given, in sqrt(T): 7e-14 of the molecules are outside.
const REACH: f64 = 5.5;
/// Distance of its nodes, in sqrt(T).
const SPACING: f64 = 0.5;
/// Cells of the periodic line, which are all alike, and their width over the way of the fastest molecules in a step.
const CELLS: usize = 3;
const WIDTH: f64 = 100.0;
/// Steps over 1/nu that are not given: of single atoms, and the least and the most of molecules that rotate.
const STEP: f64 = 0.05;
const STEPS_OF_ROTATION: [f64; 2] = [0.01, 0.1];
/// Step of the integration of the exact equations, over 1/nu. The error of its fourth order is 1e-12.
const EXACT_STEP: f64 = 0.005;

/// The start of a relaxation, of density 1 and momentum 0.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
#[non_exhaustive]
pub enum HomogeneousStart {
    /// A Maxwellian of a temperature of translation, whose molecules rotate at another.
    Temperatures {
        /// T_t.
        translational: f64,
        /// T_r, that of translation for single atoms.
        rotational: f64,
    },
    /// Two Maxwellians of temperature 1 that move along x. Rotation has the temperature 1.
    Beams {
        /// Mean velocity of the first; the second one balances the momentum.
        speed: f64,
        /// Share of the molecules in the first, 1/2 of two beams that are alike.
        share: f64,
    },
}

impl HomogeneousStart {
    /// Shares of the molecules in the beams, and their mean velocities.
    fn beams(share: f64, speed: f64) -> [(f64, f64); 2] {
        [
            (share, speed),
            (1.0 - share, -speed * share / (1.0 - share)),
        ]
    }

    /// Refuses temperatures that are not positive, and beams without molecules.
    fn check(&self) -> Result<()> {
        match *self {
            Self::Temperatures {
                translational,
                rotational,
            } => match [translational, rotational]
                .iter()
                .find(|t| !(t.is_finite() && **t > 0.0))
            {
                Some(bad) => Err(Error::invalid("init", bad, "positive temperatures")),
                None => Ok(()),
            },
            Self::Beams { speed, share } => {
                if !speed.is_finite() {
                    return Err(Error::invalid("init", speed, "a finite speed of the beams"));
                }
                if !(share > 0.0 && share < 1.0) {
                    let expected = "a share of the first beam above 0 and below 1";
                    return Err(Error::invalid("init", share, expected));
                }
                Ok(())
            }
        }
    }
}

/// Moments of a homogeneous gas.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize, Deserialize)]
#[non_exhaustive]
pub struct HomogeneousMoments {
    /// Moments of both kinds of energy.
    pub moments: Moments,
    /// Those of rotation; none of single atoms.
    pub rotation: Option<RotatingMoments>,
}

impl HomogeneousMoments {
    /// The units of the collision integral's relaxations in this module's: of pressure and of heat flux.
    pub(crate) const THERMAL_UNITS: [f64; 2] = [2.0, 2.0 * SQRT_2];

    /// The same moments in the units of the collision integral's relaxations: velocities in $\sqrt{k T_0/m}$, so that the pressure is n T.
    pub fn in_thermal_units(&self) -> Self {
        let [pressure, heat_flux] = Self::THERMAL_UNITS;
        let mut same = *self;
        let all = &mut same.moments;
        all.velocity = all.velocity.map(|u| SQRT_2 * u);
        all.pressure = all.pressure.map(|p| pressure * p);
        all.heat_flux = all.heat_flux.map(|q| heat_flux * q);
        if let Some(of) = &mut same.rotation {
            of.heat_flux_rotational = of.heat_flux_rotational.map(|q| heat_flux * q);
        }
        same
    }

    /// The temperature of translation.
    pub fn translational(&self) -> f64 {
        let rotation = &self.rotation;
        rotation.map_or(self.moments.temperature, |of| of.temperature_translational)
    }

    /// How far the gas is from equilibrium: the largest of its differences of temperatures, stresses and heat fluxes over T, p and p sqrt(T).
    pub fn departure(&self) -> f64 {
        let Moments {
            density,
            temperature,
            pressure,
            heat_flux,
            ..
        } = self.moments;
        let whole = 0.5 * density * temperature;
        let of_rotation = self.rotation.map_or(0.0, |of| of.heat_flux_rotational[0]);
        let heat = [heat_flux[0] - of_rotation, of_rotation];
        let own = self.translational();
        let parts = [
            (own / temperature - 1.0).abs(),
            (pressure[0] - 0.5 * density * own).abs() / whole,
            heat[0].abs() / (whole * temperature.sqrt()),
            heat[1].abs() / (whole * temperature.sqrt()),
        ];
        parts.into_iter().fold(0.0, f64::max)
    }
}

/// A homogeneous gas that relaxes by a model.
///
/// ```
/// use rarefy::Backend;
/// use rarefy::bgk::{Gas, Homogeneous, HomogeneousStart, Model};
///
/// // Hot rotation of a gas at half its temperature.
/// let gas = Gas { model: Model::Polyatomic, ..Gas::default() };
/// let start = HomogeneousStart::Temperatures { translational: 1.0, rotational: 2.0 };
/// let case = Homogeneous::new(gas, start)?;
/// let mut run = case.begin(case.time_step(), Backend::Cpu)?;
/// run.advance(100)?;
/// let found = Homogeneous::moments(&mut run)?;
/// let exact = case.exact().at(run.time());
/// assert!((found.translational() - exact.translational()).abs() < 1e-5);
/// # Ok::<(), rarefy::Error>(())
/// ```
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Homogeneous {
    /// The gas.
    pub gas: Gas,
    /// The start.
    pub start: HomogeneousStart,
    /// Velocities along x; both others are integrated out.
    pub axis: Axis,
}

impl Homogeneous {
    /// Most velocity nodes that a gas gets by itself.
    pub const MOST_NODES: usize = 64;

    /// A gas with the velocities that suit its start.
    ///
    /// # Errors
    /// A temperature that is not positive, or a beam without molecules.
    pub fn new(gas: Gas, start: HomogeneousStart) -> Result<Self> {
        start.check()?;
        let (reach, nodes) = Self::velocities(&gas, &start);
        Self::with_axis(gas, start, Axis::uniform(nodes, -reach, reach)?)
    }

    /// A gas with velocities of one's own.
    ///
    /// # Errors
    /// Those of [`Self::new`], and two temperatures of single atoms.
    pub fn with_axis(gas: Gas, start: HomogeneousStart, axis: Axis) -> Result<Self> {
        start.check()?;
        if let HomogeneousStart::Temperatures {
            translational,
            rotational,
        } = start
            && gas.rotating().is_none()
            && translational != rotational
        {
            return Err(Error::invalid(
                "init",
                format!("temperatures {translational} and {rotational} of single atoms"),
                "beams, or the model polyatomic, whose molecules rotate",
            ));
        }
        Ok(Self { gas, start, axis })
    }

    /// Half-width of the box and number of nodes that suit a start.
    pub fn velocities(gas: &Gas, start: &HomogeneousStart) -> (f64, usize) {
        let [coldest, hottest] = extremes(gas, start);
        let mut reach = REACH * hottest.sqrt();
        if let HomogeneousStart::Beams { speed, share } = *start {
            for (_, speed) in HomogeneousStart::beams(share, speed) {
                reach = reach.max(speed.abs() + REACH);
            }
        }
        let pairs = (reach / (SPACING * coldest.sqrt())).ceil();
        let nodes = (2.0 * pairs).min(Self::MOST_NODES as f64);
        (reach, nodes as usize)
    }

    /// A time step that resolves the relaxation. Of single atoms any step is exact.
    pub fn time_step(&self) -> f64 {
        let ends = extremes(&self.gas, &self.start);
        let [_, hottest] = ends;
        let step = self.gas.rotating().map_or(STEP, |rotation| {
            let [least, most] = STEPS_OF_ROTATION;
            (least * rotation.relaxation_of(hottest).max(1.0)).min(most)
        });
        step / fastest(&self.gas, ends).max(f64::MIN_POSITIVE)
    }

    /// The run in time, with all cells of a periodic line alike.
    ///
    /// # Errors
    /// As [`Simulation::new`]; velocities that do not hold the start.
    pub fn config(&self, dt: f64, compute: impl Into<Compute>) -> Result<SimulationConfig> {
        let length = CELLS as f64 * WIDTH * self.axis.fastest() * dt;
        let velocity = VelocitySpace::new(vec![self.axis.clone()], 1)?;
        let state = |temperature| State::along_x(1.0, 0.0, temperature);
        let [coldest, hottest] = extremes(&self.gas, &self.start);
        velocity.check_range_within(&[state(coldest), state(hottest)], Self::MOST_NODES)?;
        if let HomogeneousStart::Beams { speed, share } = self.start {
            let beams = HomogeneousStart::beams(share, speed);
            let beams = beams.map(|(_, speed)| State::along_x(1.0, speed, 1.0));
            velocity.check_range_within(&beams, Self::MOST_NODES)?;
        }
        let problem = Problem::uniform(
            Space::line(CELLS, [0.0, length])?,
            velocity,
            self.gas,
            Boundaries::line(Boundary::Periodic, Boundary::Periodic),
            state(extremes(&self.gas, &self.start)[1]),
        )?;
        Ok(SimulationConfig {
            relaxed: false,
            compute: compute.into(),
            ..SimulationConfig::new(problem, dt)
        })
    }

    /// The run at its start.
    ///
    /// # Errors
    /// As [`Homogeneous::config`].
    pub fn begin(&self, dt: f64, compute: impl Into<Compute>) -> Result<Simulation> {
        let config = self.config(dt, compute)?;
        let velocity = &config.problem.velocity;
        let maxwellian = |density: f64, speed: f64, temperature: f64| {
            let state = State::along_x(density, speed, temperature);
            Ok::<_, Error>(DiscreteMaxwellian::new(velocity, state, true)?.populations(velocity))
        };
        let f = match self.start {
            HomogeneousStart::Temperatures {
                translational,
                rotational,
            } => {
                let functions = velocity.shape()[2];
                let mut f = maxwellian(1.0, 0.0, translational)?;
                // The last of three functions is the internal energy.
                let internal = f.iter_mut().skip(2).step_by(functions);
                if functions > 2 {
                    internal.for_each(|energy| *energy *= rotational / translational);
                }
                f
            }
            HomogeneousStart::Beams { speed, share } => {
                let [first, second] = HomogeneousStart::beams(share, speed);
                let mut f = maxwellian(first.0, first.1, 1.0)?;
                let other = maxwellian(second.0, second.1, 1.0)?;
                f.iter_mut().zip(other).for_each(|(f, other)| *f += other);
                f
            }
        };
        let mut run = Simulation::new(config)?;
        let populations = f.into_iter().flat_map(|f| [f; CELLS]);
        Simulation::resume(Checkpoint {
            populations: populations.collect(),
            extra: Vec::new(),
            ..run.checkpoint_head()?
        })
    }

    /// The moments of a run now.
    ///
    /// # Errors
    /// A fault of the device; a state that is no longer one.
    pub fn moments(run: &mut Simulation) -> Result<HomogeneousMoments> {
        let (moments, rotation) = run.rotating_moments(0.0)?;
        match moments.first() {
            Some(moments) => Ok(HomogeneousMoments {
                moments: *moments,
                rotation: rotation.first().copied(),
            }),
            None => Err(Error::Numerical("a gas without cells".into())),
        }
    }

    /// The first step after which the exact moments are as near to equilibrium as this share of the start's [departure](HomogeneousMoments::departure); none of so many.
    pub fn steps_to_equilibrium(&self, dt: f64, share: f64, most: u64) -> Option<u64> {
        let mut exact = self.exact();
        let goal = share * exact.at(0.0).departure();
        (0..=most).find(|step| exact.at(*step as f64 * dt).departure() <= goal)
    }

    /// The exact moments, at the start.
    pub fn exact(&self) -> ExactRelaxation {
        let (translational, variance, heat_flux) = match self.start {
            HomogeneousStart::Temperatures { translational, .. } => (translational, 0.0, 0.0),
            HomogeneousStart::Beams { speed, share } => {
                let beams = HomogeneousStart::beams(share, speed);
                let mean = |power| beams.iter().map(|(n, u)| n * u.powi(power)).sum::<f64>();
                (1.0 + mean(2) / 1.5, mean(2), 0.5 * mean(3))
            }
        };
        let rotational = match self.start {
            HomogeneousStart::Temperatures { rotational, .. } => rotational,
            HomogeneousStart::Beams { .. } => 1.0,
        };
        let rotation = self.gas.rotating();
        ExactRelaxation {
            gas: self.gas,
            temperature: rotation.map_or(translational, |of| {
                of.temperature(translational, rotational)
            }),
            time: 0.0,
            // P_xx is 1/2 and the variance of the beams, of which T_t/2 has a third.
            unknowns: [translational, variance / 1.5, heat_flux, 0.0],
        }
    }
}

/// The largest frequency between two temperatures.
fn fastest(gas: &Gas, ends: [f64; 2]) -> f64 {
    let [a, b] = ends.map(|temperature| gas.relaxation_frequency(1.0, temperature));
    a.max(b)
}

/// The coldest and the hottest temperature of translation, those of the beams included.
fn extremes(gas: &Gas, start: &HomogeneousStart) -> [f64; 2] {
    let (of_translation, of_rotation, coldest) = match *start {
        HomogeneousStart::Temperatures {
            translational,
            rotational,
        } => (translational, rotational, f64::INFINITY),
        HomogeneousStart::Beams { speed, share } => {
            let beams = HomogeneousStart::beams(share, speed);
            let variance: f64 = beams.iter().map(|(n, u)| n * u * u).sum();
            (1.0 + variance / 1.5, 1.0, 1.0)
        }
    };
    let end = gas.rotating().map_or(of_translation, |rotation| {
        rotation.temperature(of_translation, of_rotation)
    });
    [
        coldest.min(of_translation).min(end),
        of_translation.max(end),
    ]
}

/// The exact moments of a relaxation, which go on in time.
#[derive(Clone, Debug, PartialEq)]
pub struct ExactRelaxation {
    gas: Gas,
    /// T, which stays.
    temperature: f64,
    time: f64,
    /// T_t, P_xx - T_t/2, q_t and q_r.
    unknowns: [f64; 4],
}

impl ExactRelaxation {
    /// The moments at a time, not before the last one.
    pub fn at(&mut self, time: f64) -> HomogeneousMoments {
        let left = (time - self.time).max(0.0);
        if left > 0.0 {
            match self.gas.rotating() {
                None => self.decay(left),
                Some(_) => self.integrate(left),
            }
            self.time = time;
        }
        self.now()
    }

    fn now(&self) -> HomogeneousMoments {
        let [own, stress, q_t, q_r] = self.unknowns;
        let rotation = self.gas.rotating();
        HomogeneousMoments {
            moments: Moments {
                density: 1.0,
                velocity: [0.0; 2],
                temperature: self.temperature,
                pressure: [0.5 * own + stress, 0.5 * (own - stress), 0.0],
                heat_flux: [q_t + q_r, 0.0],
            },
            rotation: rotation.map(|rotation| RotatingMoments {
                temperature_translational: own,
                temperature_rotational: own
                    + (1.0 + 3.0 / rotation.freedom) * (self.temperature - own),
                heat_flux_rotational: [q_r, 0.0],
            }),
        }
    }

    /// Single atoms, whose frequency stays.
    fn decay(&mut self, time: f64) {
        let [own, stress, q, _] = &mut self.unknowns;
        let tau = time * self.gas.relaxation_frequency(1.0, *own);
        *stress *= (-tau).exp();
        *q *= (-self.gas.effective_prandtl() * tau).exp();
    }

    /// Runge and Kutta's method of fourth order, in steps that are short beside 1/nu.
    fn integrate(&mut self, time: f64) {
        let frequency = fastest(&self.gas, [self.unknowns[0], self.temperature]);
        let steps = (time * frequency / EXACT_STEP).ceil().max(1.0);
        let h = time / steps;
        let moved = |from: [f64; 4], by: [f64; 4], h: f64| {
            let mut to = from;
            to.iter_mut().zip(by).for_each(|(to, by)| *to += h * by);
            to
        };
        for _ in 0..steps as u64 {
            let y = self.unknowns;
            let a = self.rates(y);
            let b = self.rates(moved(y, a, 0.5 * h));
            let c = self.rates(moved(y, b, 0.5 * h));
            let d = self.rates(moved(y, c, h));
            let mean = [0, 1, 2, 3].map(|k| (a[k] + 2.0 * (b[k] + c[k]) + d[k]) / 6.0);
            self.unknowns = moved(y, mean, h);
        }
    }

    fn rates(&self, [own, stress, q_t, q_r]: [f64; 4]) -> [f64; 4] {
        let Some(rotation) = self.gas.rotating() else {
            return [0.0; 4];
        };
        let frequency = self.gas.relaxation_frequency(1.0, own);
        let z = rotation.relaxation_of(own);
        let [[tt, tr], [rt, rr]] = rotation.matrix(z);
        [
            (self.temperature - own) / z,
            -stress,
            -(tt * q_t + tr * q_r),
            -(rt * q_t + rr * q_r),
        ]
        .map(|rate| frequency * rate)
    }
}
