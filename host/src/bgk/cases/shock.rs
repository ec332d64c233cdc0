//! The plane shock wave: jump conditions, the problem, and what is read off its profile.

use serde::{Deserialize, Serialize};

use crate::bgk::{
    Axis, Boundaries, Boundary, FaceFlux, Gas, Moments, Problem, Space, State, VelocitySpace,
};
use crate::error::{Error, Result};

/// A shock's Mach number, above 1, in a gas of single atoms or of [molecules that rotate](Mach::of).
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
#[serde(try_from = "f64", into = "f64")]
pub struct Mach {
    number: f64,
    /// Internal degrees of freedom.
    freedom: f64,
}

impl Mach {
    /// Largest Mach number that is taken.
    pub const MAX: f64 = 100.0;

    /// A Mach number.
    ///
    /// # Errors
    /// A number that is not above 1, or above [`Mach::MAX`].
    pub fn new(mach: f64) -> Result<Self> {
        if mach > 1.0 && mach <= Self::MAX {
            Ok(Self {
                number: mach,
                freedom: 0.0,
            })
        } else {
            Err(Error::invalid(
                "mach",
                mach,
                format!("a Mach number above 1 (and at most {})", Self::MAX),
            ))
        }
    }

    /// The number.
    pub fn value(self) -> f64 {
        self.number
    }

    /// The same Mach number in a gas, whose internal energy decides the states on both sides.
    #[must_use]
    pub fn of(self, gas: &Gas) -> Self {
        Self {
            freedom: gas.rotating().map_or(0.0, |rotation| rotation.freedom),
            ..self
        }
    }

    /// The upstream state: unit density and temperature, moving along x (eq. 19).
    pub fn upstream(self) -> State {
        let half_ratio = 0.5 * (5.0 + self.freedom) / (3.0 + self.freedom);
        State::along_x(1.0, self.number * half_ratio.sqrt(), 1.0)
    }

    /// The downstream state by the Rankine-Hugoniot conditions (eq. 18, for any ratio of the specific heats).
    pub fn downstream(self) -> State {
        let (square, d) = (self.number * self.number, self.freedom);
        // The ratio (5 + d)/(3 + d) of the specific heats, with all terms over 2.
        let density = (4.0 + d) * square / (square + 3.0 + d);
        let temperature =
            ((5.0 + d) * square - 1.0) * (square + 3.0 + d) / ((4.0 + d) * (4.0 + d) * square);
        State::along_x(density, self.upstream().velocity[0] / density, temperature)
    }
}

/// Length of the downstream tail of a weak shock in l0, times the Mach number less 1: three times its thickness.
const DOWNSTREAM_TAIL: f64 = 7.0;

/// Lengths of relaxation that a domain holds downstream: rotation is then within less than a thousandth of its end.
const RELAXED: f64 = 9.0;
/// The longest tail of a relaxation that a domain is made for, in l0.
const LONGEST: f64 = 600.0;

impl Mach {
    /// How far upstream fast molecules run ahead of a shock of the models, in l0.
    fn upstream_tail(self, gas: &Gas) -> f64 {
        4.0 * self.number + 5.0 * dispersion(gas) / (self.number - 1.0)
    }

    /// Whole lengths in l0 upstream and downstream of the jump that hold the wave of the models to about a thousandth of the jump. The thickness of weak shocks is about 2.3 l0 over the Mach number
    /// less 1, and more where the bulk viscosity adds to it. Rotation relaxes downstream in the time Z.
    pub(crate) fn tails(self, gas: &Gas) -> [f64; 2] {
        let after = self.of(gas).downstream();
        let frequency = gas.relaxation_frequency(after.density, after.temperature);
        let relaxed = gas.rotating().map_or(0.0, |rotation| {
            let length = rotation.relaxation(after.temperature) * after.velocity[0] / frequency;
            (RELAXED * length).min(LONGEST)
        });
        let downstream = DOWNSTREAM_TAIL * dispersion(gas) / (self.number - 1.0);
        [self.upstream_tail(gas), downstream.max(relaxed)].map(f64::ceil)
    }

    /// Whole length in l0 on either side of the jump that holds a weak wave by the collision integral, by Mott-Smith's thickness.
    pub(crate) fn weak_sides(self) -> f64 {
        (SYMMETRIC_TAIL / (self.number - 1.0)).ceil()
    }
}

/// Room on either side of a weak shock by the collision integral in l0, times the Mach number less 1.
const SYMMETRIC_TAIL: f64 = 3.7;

/// By how much bulk viscosity disperses a weak shock.
///
/// Viscosity and conduction of single atoms disperse it as `4/3 mu + ... = 2.3 mu`, to which the bulk viscosity adds.
fn dispersion(gas: &Gas) -> f64 {
    gas.rotating().map_or(1.0, |rotation| {
        1.0 + rotation.bulk_viscosity(rotation.relaxation(1.0)) / 2.3
    })
}

impl TryFrom<f64> for Mach {
    type Error = Error;

    fn try_from(mach: f64) -> Result<Self> {
        Self::new(mach)
    }
}

impl From<Mach> for f64 {
    fn from(mach: Mach) -> Self {
        mach.number
    }
}

/// Steps of a profile that are tolerated, as a share of the jump, and the cells that smear them.
const TOLERATED_STAIR: f64 = 0.02;
const SMEARED: f64 = 3.0;

/// A shock wave at rest in a piece of a line.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Shock {
    /// Mach number.
    pub mach: Mach,
    /// Cells in space.
    pub cells: usize,
    /// Length of the upstream and of the downstream side, in l0; the initial jump is between them.
    pub sides: [f64; 2],
    /// Velocity nodes along x, and along y and z where these are resolved.
    pub velocities: Vec<usize>,
    /// Half-width of the velocity box about the mean velocities of both sides, in units of the square root of their temperatures.
    pub cut: f64,
    /// The gas.
    pub gas: Gas,
    /// Whether Maxwellians have exact moments on the nodes.
    pub conservative: bool,
}

/// Distance of velocity nodes that are not given, in units of the upstream sqrt(T).
const SPACING: f64 = 0.55;

impl From<Mach> for Shock {
    /// As [`Shock::new`].
    fn from(mach: Mach) -> Self {
        Self::of(mach, Gas::default())
    }
}

impl Shock {
    /// Cells in which the upwind scheme has the thickness within about one per cent, in l0.
    const UPWIND: f64 = 0.05;

    /// The shock of a gas, as [`Shock::new`].
    pub fn of(mach: Mach, gas: Gas) -> Self {
        let [upstream, downstream] = mach.tails(&gas);
        let sides = [upstream.max(40.0), downstream.max(20.0)];
        let mach = mach.of(&gas);
        let [along, _] = Self::nodes(mach, Self::CUT);
        Self {
            mach,
            cells: (Self::CELLS * (sides[0] + sides[1])).ceil() as usize,
            sides,
            velocities: vec![along],
            cut: Self::CUT,
            gas,
            conservative: true,
        }
    }

    /// The Mach number in this gas.
    pub fn mach_of_gas(&self) -> Mach {
        self.mach.of(&self.gas)
    }

    /// Half-width of the velocity box that is not given.
    pub const CUT: f64 = 4.5;
    /// Cells for each l0 that are not given.
    pub const CELLS: f64 = 10.0;

    /// A BGK shock with a reduced velocity space: the defaults of the command and of Python too. Cells have 0.1 l0, and velocities are 0.55 of the upstream sqrt(T) apart, with room for the
    /// fast molecules far upstream. The thickness of the steady wave is right to 0.2%.
    ///
    /// # Errors
    /// A Mach number that is not above 1.
    pub fn new(mach: f64) -> Result<Self> {
        Ok(Mach::new(mach)?.into())
    }

    /// Velocity nodes along x and across that are not given, for a half-width `cut` of the box.
    pub fn nodes(mach: Mach, cut: f64) -> [usize; 2] {
        let even = |width: f64| 2 * (0.5 * width / SPACING).ceil() as usize;
        let [low, high] = velocity_range(mach, cut);
        [
            even(high - low),
            even(2.0 * cut * mach.downstream().temperature.sqrt()),
        ]
    }

    /// A time step that is not given: the relaxation frequency times the step is at most a quarter, as the tables of the documentation were measured.
    pub fn time_step(&self) -> f64 {
        let after = self.mach_of_gas().downstream();
        let fastest = self
            .gas
            .relaxation_frequency(after.density, after.temperature);
        (0.25 / fastest).min(0.05)
    }

    /// The nodes along x: the midpoints of cells that cover both equilibria.
    fn axes(&self) -> Result<Vec<Axis>> {
        if !(self.cut.is_finite() && self.cut > 0.0) {
            return Err(Error::invalid(
                "cut",
                self.cut,
                "a positive and finite half-width of the velocity box",
            ));
        }
        let [low, high] = velocity_range(self.mach_of_gas(), self.cut);
        let across = self.cut * self.mach_of_gas().downstream().temperature.sqrt();
        self.velocities
            .iter()
            .enumerate()
            .map(|(d, &n)| match d {
                0 => Axis::uniform(n, low, high),
                _ => Axis::uniform(n, -across, across),
            })
            .collect()
    }

    /// The problem: upstream state for x < 0, downstream state beyond.
    ///
    /// # Errors
    /// Those of [`Problem::validate`].
    pub fn problem(&self) -> Result<Problem> {
        let (before, after) = (
            self.mach_of_gas().upstream(),
            self.mach_of_gas().downstream(),
        );
        let [left, right] = self.sides;
        if !(left > 0.0 && right > 0.0) {
            return Err(Error::invalid(
                "sides",
                format!("{left} upstream and {right} downstream"),
                "room on both sides of a shock",
            ));
        }
        let mut problem = Problem::new(
            Space::line(self.cells, [-left, right])?,
            VelocitySpace::new(self.axes()?, 1)?,
            self.gas,
            Boundaries::line(Boundary::Inflow(before), Boundary::Inflow(after)),
            |x, _| if x < 0.0 { before } else { after },
        )?;
        problem.conservative = self.conservative;
        Ok(problem)
    }

    /// The range of v_x that both equilibria need with this half-width.
    pub fn range(&self, cut: f64) -> [f64; 2] {
        velocity_range(self.mach_of_gas(), cut)
    }

    /// That range for any Mach number.
    pub(in crate::bgk) fn velocities_of(mach: Mach, cut: f64) -> [f64; 2] {
        velocity_range(mach, cut)
    }

    /// How long the upstream side must be for the temperature at its end to be within about a thousandth of the jump. The relaxation frequency
    /// of these models does not grow with speed, and fast molecules run far ahead of the shock. From computed profiles of Mach 1.2 to 5.
    pub fn tail(&self) -> f64 {
        self.mach.upstream_tail(&self.gas)
    }

    /// Whether the profile at an early time is a staircase: the jump of the start travels with each velocity node, until molecules collide.
    ///
    /// Between two nodes the density is off by half of what one of them carries, times the share `exp(-t)` of molecules that have not collided. A few cells smear steps that are close together.
    pub fn ray_warning(&self, time: f64) -> Option<String> {
        let [low, high] = velocity_range(self.mach_of_gas(), self.cut);
        let nodes = *self.velocities.first()? as f64;
        let apart = (high - low) / nodes;
        let cell = (self.sides[0] + self.sides[1]) / self.cells as f64;
        let uncollided = (-self.gas.frequency * time).exp();
        let height = uncollided * self.stair();
        let smeared = apart * time / (SMEARED * cell);
        (height > TOLERATED_STAIR && smeared > 1.0).then(|| {
            let needed = nodes * smeared.min(height / TOLERATED_STAIR);
            format!(
                "ray effect: at the time {time:.2} the velocity nodes have carried the initial jump {:.2} l0 apart and {:.0}% of the molecules have not collided: the density has steps of {:.0}% of its jump; use \
                 {} velocity nodes along x, or a later time",
                apart * time,
                100.0 * uncollided,
                100.0 * height,
                2.0 * (0.5 * needed).ceil()
            )
        })
    }

    /// Half of the largest step of the density between two nodes that carry the initial jump, as a share of that jump.
    fn stair(&self) -> f64 {
        let (before, after) = (
            self.mach_of_gas().upstream(),
            self.mach_of_gas().downstream(),
        );
        let [low, high] = velocity_range(self.mach_of_gas(), self.cut);
        let nodes = self.velocities.first().copied().unwrap_or(1);
        let apart = (high - low) / nodes as f64;
        let carried = |state: &State, v: f64| {
            let t = state.temperature;
            state.density * (-(v - state.velocity[0]).powi(2) / t).exp()
                / (std::f64::consts::PI * t).sqrt()
        };
        let step = |j: usize| {
            let v = low + (j as f64 + 0.5) * apart;
            apart * (carried(&before, v) - carried(&after, v)).abs()
        };
        let largest = (0..nodes).map(step).fold(0.0, f64::max);
        0.5 * largest / (after.density - before.density)
    }

    /// A warning of cells in which steps in time by the upwind scheme widen the wave by more than about one per cent.
    pub fn upwind_warning(&self) -> Option<String> {
        let step = self.width();
        (step > Self::UPWIND).then(|| {
            format!(
                "cells of {step:.3} l0 are wide for the upwind scheme; in cells of {} l0 it widens a wave of Mach 2 by 1%, in cells of 0.1 l0 by 3%",
                Self::UPWIND
            )
        })
    }

    /// Width of the cells in l0.
    fn width(&self) -> f64 {
        (self.sides[0] + self.sides[1]) / self.cells as f64
    }

    /// Warnings: choices that cost accuracy.
    pub fn warnings(&self) -> Vec<String> {
        let mut warnings = Vec::new();
        let tail = self.tail();
        if self.sides[0] < tail {
            warnings.push(format!(
                "the domain cuts the upstream tail of the shock: {:.2} l0 are upstream of the jump, and fast molecules reach {tail:.0} l0; use a longer domain, or more of it upstream",
                self.sides[0]
            ));
        }
        let step = self.width();
        if step > 0.25 {
            warnings.push(format!(
                "cells of {step:.3} l0 are wide for a shock; 0.1 l0 or less resolve it"
            ));
        }
        let [low, high] = velocity_range(self.mach_of_gas(), self.cut);
        let spacing = (high - low) / self.velocities.first().map_or(1.0, |&n| n as f64);
        if spacing > 0.8 {
            warnings.push(format!(
                "the velocity spacing {spacing:.3} along v_x is coarse for the upstream temperature; 0.6 or less is accurate"
            ));
        }
        warnings
    }
}

/// The velocities that both equilibria need.
fn velocity_range(mach: Mach, cut: f64) -> [f64; 2] {
    let (before, after) = (mach.upstream(), mach.downstream());
    let spread = cut * after.temperature.sqrt();
    let (u1, u2) = (before.velocity[0], after.velocity[0]);
    [(u1 - cut).min(u2 - spread), (u1 + cut).max(u2 + spread)]
}

/// A point of a shock's profile.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
#[non_exhaustive]
pub struct ShockPoint {
    /// Position, from where the density is half-way between both sides.
    pub x: f64,
    /// Density n.
    pub density: f64,
    /// Velocity u.
    pub velocity: f64,
    /// Temperature T.
    pub temperature: f64,
    /// Pressure P_xx.
    pub pxx: f64,
    /// Heat flux q_x.
    pub heat_flux: f64,
}

impl ShockPoint {
    /// The point at `x` with these moments.
    pub fn new(x: f64, moments: &Moments) -> Self {
        Self {
            x,
            density: moments.density,
            velocity: moments.velocity[0],
            temperature: moments.temperature,
            pxx: moments.pressure[0],
            heat_flux: moments.heat_flux[0],
        }
    }

    /// Mass, momentum and energy flux: `n u`, `n u^2 + P_xx` and `n u (u^2/2 + 3T/4) + u P_xx + q`.
    pub fn fluxes(&self) -> [f64; 3] {
        self.fluxes_with(0.0)
    }

    /// The same of molecules with so many internal degrees of freedom, whose energy is `(3 + d) T/4`.
    fn fluxes_with(&self, freedom: f64) -> [f64; 3] {
        let Self {
            density,
            velocity,
            temperature,
            pxx,
            heat_flux,
            ..
        } = *self;
        [
            density * velocity,
            density * velocity * velocity + pxx,
            density
                * velocity
                * (0.5 * velocity * velocity + (0.75 + 0.25 * freedom) * temperature)
                + velocity * pxx
                + heat_flux,
        ]
    }
}

/// Extremes of a shock's profile.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
#[non_exhaustive]
pub struct ShockExtremes {
    /// The heat flux at its lowest.
    pub least_heat_flux: f64,
    /// The temperature at its highest, as a share of the jump: above 1 where it overshoots.
    pub largest_temperature: f64,
}

/// The profile of a shock wave.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[non_exhaustive]
pub struct ShockProfile {
    /// Mach number.
    pub mach: Mach,
    /// The cells, in order.
    pub points: Vec<ShockPoint>,
    /// Where in the domain the density is half-way.
    pub midpoint: f64,
}

impl ShockProfile {
    /// The profile of the moments of a line of cells. The Mach number is that [of the gas](Mach::of).
    ///
    /// # Errors
    /// Another number of moments than cells; a density that does not cross the mean of both sides.
    pub fn new(mach: Mach, space: &Space, moments: &[Moments]) -> Result<Self> {
        if moments.len() != space.nx() {
            return Err(Error::invalid(
                "moments",
                moments.len(),
                format!("as many moments as the line has cells, {}", space.nx()),
            ));
        }
        let middle = 0.5 * (mach.upstream().density + mach.downstream().density);
        let x: Vec<f64> = (0..space.nx()).map(|i| space.centre(0, i)).collect();
        let n: Vec<f64> = moments.iter().map(|m| m.density).collect();
        let crossing = (1..n.len())
            .find(|&i| n[i - 1] < middle && n[i] >= middle)
            .ok_or_else(|| {
                Error::Numerical(
                    "the shock has left the domain: the density does not cross the mean of both sides; use a longer domain, a smaller time step or fewer steps"
                        .into(),
                )
            })?;
        let midpoint = interpolate_inverse(&x, &n, crossing, middle);
        let points = moments
            .iter()
            .zip(&x)
            .map(|(moments, x)| ShockPoint::new(x - midpoint, moments))
            .collect();
        Ok(Self {
            mach,
            points,
            midpoint,
        })
    }

    /// Fewest cells with a thickness.
    pub(crate) const FEWEST_CELLS: usize = 7;

    /// The maximum-slope density thickness `(n2 - n1) / max dn/dx`, in l0; NaN of fewer than seven cells.
    ///
    /// The slope is that of the fourth-order polynomial through five cells, at its largest within the cells around the steepest.
    pub fn thickness(&self) -> f64 {
        let n: Vec<f64> = self.points.iter().map(|p| p.density).collect();
        if n.len() < Self::FEWEST_CELLS {
            return f64::NAN;
        }
        let step = self.step();
        let jump = self.mach.downstream().density - self.mach.upstream().density;
        // Third-order accurate derivatives at the faces: (27 (n1 - n0) - (n2 - n-1)) / 24 h; a parabola through the largest three.
        let slopes: Vec<f64> = (2..n.len() - 1)
            .map(|i| (27.0 * (n[i] - n[i - 1]) - (n[i + 1] - n[i - 2])) / (24.0 * step))
            .collect();
        let steepest = (0..slopes.len())
            .max_by(|&a, &b| slopes[a].total_cmp(&slopes[b]))
            .unwrap_or(0);
        let largest = match (
            steepest.checked_sub(1).map(|i| slopes[i]),
            slopes.get(steepest + 1),
        ) {
            (Some(before), Some(after)) => {
                let here = slopes[steepest];
                let curvature = before - 2.0 * here + after;
                let slope = 0.5 * (after - before);
                if curvature < 0.0 {
                    here - 0.5 * slope * slope / curvature
                } else {
                    here
                }
            }
            _ => slopes[steepest],
        };
        jump / largest
    }

    fn step(&self) -> f64 {
        (self.points[self.points.len() - 1].x - self.points[0].x) / (self.points.len() - 1) as f64
    }

    /// Mass, momentum and energy flux far upstream, and how far each varies over the profile, relative to it.
    pub fn fluxes(&self) -> ([f64; 3], [f64; 3]) {
        let before = self.mach.upstream();
        let exact = ShockPoint {
            x: 0.0,
            density: before.density,
            velocity: before.velocity[0],
            temperature: before.temperature,
            pxx: 0.5 * before.density * before.temperature,
            heat_flux: 0.0,
        }
        .fluxes_with(self.mach.freedom);
        let mut spread = [0.0; 3];
        for (k, spread) in spread.iter_mut().enumerate() {
            let (mut low, mut high) = (f64::INFINITY, f64::NEG_INFINITY);
            for point in &self.points {
                let flux = point.fluxes_with(self.mach.freedom)[k];
                low = low.min(flux);
                high = high.max(flux);
            }
            *spread = (high - low) / exact[k];
        }
        (exact, spread)
    }

    /// Mass, momentum and energy that pass the faces between cells in a step: their means, and how far each varies relative to its mean.
    ///
    /// They are the fluxes of the scheme itself: what came in at the left end, less what the cells up to the face kept. `before` and `after` are
    /// the cells' states around the step, `left` is what came in, `rate` is dx/dt.
    pub fn face_fluxes(
        &self,
        before: &[State],
        after: &[State],
        left: &FaceFlux,
        rate: f64,
    ) -> ([f64; 3], [f64; 3]) {
        let content = |s: &State| {
            let u = s.velocity[0];
            [
                s.density,
                s.density * u,
                s.density * (0.5 * u * u + 0.75 * s.temperature),
            ]
        };
        let mut flux = [left.mass, left.momentum[0], left.energy];
        let (mut low, mut high, mut sum) = (flux, flux, flux);
        for (before, after) in before.iter().zip(after) {
            let (before, after) = (content(before), content(after));
            for k in 0..3 {
                flux[k] -= rate * (after[k] - before[k]);
                low[k] = low[k].min(flux[k]);
                high[k] = high[k].max(flux[k]);
                sum[k] += flux[k];
            }
        }
        let count = (before.len() + 1) as f64;
        let mean = sum.map(|sum| sum / count);
        let mut spread = [0.0; 3];
        for k in 0..3 {
            spread[k] = (high[k] - low[k]) / mean[k];
        }
        (mean, spread)
    }

    /// Extremes of the profile.
    pub fn extremes(&self) -> ShockExtremes {
        let (before, after) = (self.mach.upstream(), self.mach.downstream());
        let least = |of: &dyn Fn(&ShockPoint) -> f64| {
            self.points.iter().map(of).fold(f64::INFINITY, f64::min)
        };
        ShockExtremes {
            least_heat_flux: least(&|p| p.heat_flux),
            largest_temperature: -least(&|p| {
                -(p.temperature - before.temperature) / (after.temperature - before.temperature)
            }),
        }
    }

    /// Normalised density N and temperature TT, and the heat flux, at a position, by cubic interpolation; NaN of fewer than four cells.
    pub fn at(&self, x: f64) -> [f64; 3] {
        if self.points.len() < 4 {
            return [f64::NAN; 3];
        }
        let (before, after) = (self.mach.upstream(), self.mach.downstream());
        let first = self.points[0].x;
        let place = ((x - first) / self.step()).max(0.0);
        let i = (place as usize).clamp(1, self.points.len() - 3);
        let s = place - i as f64;
        let mut value = [0.0; 3];
        for (weight, point) in lagrange(s).iter().zip(&self.points[i - 1..]) {
            value[0] +=
                weight * (point.density - before.density) / (after.density - before.density);
            value[1] += weight * (point.temperature - before.temperature)
                / (after.temperature - before.temperature);
            value[2] += weight * point.heat_flux;
        }
        value
    }
}

/// Weights of Lagrange's polynomial through four cells, at the share `s` of the way from the second to the third.
fn lagrange(s: f64) -> [f64; 4] {
    [
        -s * (s - 1.0) * (s - 2.0) / 6.0,
        (s + 1.0) * (s - 1.0) * (s - 2.0) / 2.0,
        -(s + 1.0) * s * (s - 2.0) / 2.0,
        (s + 1.0) * s * (s - 1.0) / 6.0,
    ]
}

/// Where a rising function of the cells' values takes `level` between the cells `i - 1` and `i`: cubic interpolation, solved by bisection.
fn interpolate_inverse(x: &[f64], values: &[f64], i: usize, level: f64) -> f64 {
    let h = x[i] - x[i - 1];
    let (a, b) = (values[i - 1], values[i]);
    if i < 2 || i + 1 >= values.len() {
        return x[i - 1] + h * (level - a) / (b - a);
    }
    let at = |s: f64| -> f64 {
        let terms = lagrange(s).into_iter().zip(&values[i - 2..]);
        terms.map(|(weight, value)| weight * value).sum()
    };
    let (mut low, mut high) = (0.0, 1.0);
    for _ in 0..60 {
        let middle = 0.5 * (low + high);
        if at(middle) < level {
            low = middle;
        } else {
            high = middle;
        }
    }
    x[i - 1] + h * 0.5 * (low + high)
}
