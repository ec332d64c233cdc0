//! The case: gas, domain, sides and bodies of a flow, declared once for the case file, the library and Python.
//!
//! Angles are in degrees, anticlockwise. In a linearised case temperatures, densities and velocities are perturbations.

use serde::{Deserialize, Deserializer, Serialize};

use crate::bgk::rotation::{self, Rotation, RotationGiven, RotationalCollisions};
use crate::bgk::{Model, Species, Units};
use crate::error::{Error, Result};
use crate::flow::accommodation::Accommodation;
use crate::flow::along::Along;
use crate::flow::body::Body;
use crate::flow::vector::Vector;

/// A steady flow past or through bodies: in a plane, round an axis, or, where the domain has a `z`, in space.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Case {
    /// The gas and its rarefaction.
    pub gas: GasOf,
    /// The rectangle, or the box in space, and its cells.
    #[serde(default)]
    pub domain: Domain,
    /// The discrete velocities; chosen from the case where it is silent.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub velocities: Option<Velocities>,
    /// The sides of the domain: four in a plane, six in space. Round an axis the one at r = 0 is left out.
    pub sides: Sides,
    /// Solid bodies, or hollow ones with gas inside.
    #[serde(default, rename = "body", skip_serializing_if = "Vec::is_empty")]
    pub bodies: Vec<Body>,
    /// The state from which the iteration starts; that of the first stream or reservoir without it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub start: Option<State>,
    /// The iteration.
    #[serde(default)]
    pub solver: Solver,
    /// The files that the command writes.
    #[serde(default)]
    pub output: Output,
}

impl Case {
    /// Whether the CPU alone has the flow: it closes the lines of linear flows between periodic sides, and mirrors a part at bodies in space or round an axis.
    pub fn needs_cpu(&self) -> bool {
        let (left, bottom) = (&self.sides.left, &self.sides.bottom);
        let is_periodic = |side: &Side| matches!(side, Side::Periodic { .. });
        // With three components of the velocity rows along x alone close on themselves.
        let closes = is_periodic(left) || (is_periodic(bottom) && !self.is_whole());
        let mirrors = |body: &Body| body.accommodation.diffuse() < 1.0;
        (self.gas.linear && closes) || (self.is_whole() && self.bodies.iter().any(mirrors))
    }

    /// Whether the flow is in space, not in a plane.
    pub fn is_in_space(&self) -> bool {
        self.domain.z.is_some()
    }

    /// Whether the flow is the same all round the x axis, with y the distance from it.
    pub fn is_round(&self) -> bool {
        self.domain.symmetry == Some(Symmetry::Axis)
    }

    /// Whether loads and flows are those of whole bodies, not of a unit of span.
    pub fn is_whole(&self) -> bool {
        self.is_in_space() || self.is_round()
    }

    /// Ends of the domain along x, y and, in space, z.
    pub(in crate::flow) fn ends(&self) -> Vec<[f64; 2]> {
        let domain = &self.domain;
        [domain.x, domain.y].into_iter().chain(domain.z).collect()
    }

    /// The sides that the case has, with their names.
    pub(crate) fn named_sides(&self) -> Vec<(&'static str, &Side)> {
        let sides = &self.sides;
        let all = [
            Some(&sides.left),
            Some(&sides.right),
            Some(&sides.bottom),
            Some(&sides.top),
            sides.back.as_ref(),
            sides.front.as_ref(),
        ];
        let named = SIDES.into_iter().zip(all);
        named
            .filter_map(|(name, side)| side.map(|side| (name, side)))
            .collect()
    }

    /// A gas in a domain with its sides, without bodies.
    pub fn new(gas: GasOf, domain: Domain, sides: Sides) -> Self {
        Self {
            gas,
            domain,
            velocities: None,
            sides,
            bodies: Vec::new(),
            start: None,
            solver: Solver::default(),
            output: Output::default(),
        }
    }
}

/// The gas of a case.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
#[serde(try_from = "GasInFile", into = "GasInFile")]
pub struct GasOf {
    /// The relaxation model.
    pub model: Model,
    /// Rarefaction parameter of the length 1: that length over l0.
    pub delta: f64,
    /// Exponent of the viscosity.
    pub omega: f64,
    /// Prandtl number.
    pub prandtl: f64,
    /// The rotation of the molecules, of the polyatomic model alone.
    pub rotation: Option<Rotation>,
    /// The linearised equation, whose values are perturbations.
    pub linear: bool,
    /// The gas in SI units, of which `delta` follows.
    pub si: Option<GasInSi>,
}

impl GasOf {
    /// Speed of sound at temperature 1, over v0: the root of half of the ratio of the specific heats.
    pub fn sound(&self) -> f64 {
        let ratio = match &self.rotation {
            Some(rotation) => rotation.heat_ratio(),
            None => 5.0 / 3.0,
        };
        (0.5 * ratio).sqrt()
    }

    /// The warning of a gas with such a range of temperatures, over that of the case, in which its molecules do not rotate alone.
    pub(in crate::flow) fn beyond_rotation(&self, range: [f64; 2]) -> Option<String> {
        let si = self.si?;
        // Perturbations are small.
        let range = if self.linear { [1.0; 2] } else { range };
        rotation::beyond(si.gas, range.map(|t| si.temperature * t))
    }

    /// A gas of the Shakhov model and the usual viscosity.
    pub fn new(delta: f64) -> Self {
        Self {
            model: MODEL,
            delta,
            omega: OMEGA,
            prandtl: PRANDTL,
            rotation: None,
            linear: false,
            si: None,
        }
    }
}

/// A gas at a pressure and a temperature, and the length 1 of the case in SI units.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct GasInSi {
    /// The species.
    pub gas: Species,
    /// Pressure in Pa of the reference state.
    pub pressure: f64,
    /// Temperature in K of the reference state.
    pub temperature: f64,
    /// The length 1 of the case in m.
    pub length: f64,
}

impl GasInSi {
    /// The units of the case in SI units.
    ///
    /// # Errors
    /// A value that is not positive and finite.
    pub fn units(&self) -> Result<Units> {
        if !(self.length.is_finite() && self.length > 0.0) {
            return Err(Error::invalid(
                "length",
                self.length,
                "a positive length in m",
            ));
        }
        Units::new(self.gas, self.pressure, self.temperature)
    }
}

/// The gas as a case file has it: with `delta`, or in SI units.
#[derive(Clone, Copy, Debug, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
struct GasInFile {
    /// That of the species without it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    model: Option<Model>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    delta: Option<f64>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    gas: Option<Species>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pressure: Option<f64>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    temperature: Option<f64>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    length: Option<f64>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    omega: Option<f64>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    prandtl: Option<f64>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    internal_dof: Option<f64>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    z_rot: Option<RotationalCollisions>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    eucken: Option<[f64; 2]>,
    #[serde(default)]
    linear: bool,
}

impl TryFrom<GasInFile> for GasOf {
    type Error = Error;

    fn try_from(file: GasInFile) -> Result<Self> {
        let parts = [
            ("gas", file.gas.is_some()),
            ("pressure", file.pressure.is_some()),
            ("temperature", file.temperature.is_some()),
            ("length", file.length.is_some()),
        ];
        let names = |given: bool| {
            let names = parts.iter().filter(|part| part.1 == given);
            names.map(|part| part.0).collect::<Vec<_>>().join(", ")
        };
        let si = match (file.gas, file.pressure, file.temperature, file.length) {
            (Some(gas), Some(pressure), Some(temperature), Some(length)) => Some(GasInSi {
                gas,
                pressure,
                temperature,
                length,
            }),
            (None, None, None, None) => None,
            _ => {
                return Err(Error::invalid(
                    "gas",
                    format!("{} without {}", names(true), names(false)),
                    "gas, pressure, temperature and length together, or delta alone",
                ));
            }
        };
        let delta = match (si, file.delta) {
            (Some(si), None) => si.length / si.units().map_err(|e| e.within("gas"))?.length_m,
            (None, Some(delta)) => delta,
            (Some(_), Some(delta)) => {
                return Err(Error::invalid(
                    "gas.delta",
                    delta,
                    "no delta beside a gas in SI units, from which it follows",
                ));
            }
            (None, None) => {
                return Err(Error::invalid(
                    "gas.delta",
                    "none",
                    "delta, or gas, pressure, temperature and length in SI units",
                ));
            }
        };
        let own = match file.gas.and_then(|gas| gas.rotation()) {
            Some(_) => Model::Polyatomic,
            None => MODEL,
        };
        let model = file.model.unwrap_or(own);
        if let (Model::Bgk, Some(prandtl)) = (model, file.prandtl)
            && prandtl != 1.0
        {
            return Err(Error::invalid(
                "gas.prandtl",
                prandtl,
                "model = \"shakhov\": the Prandtl number of BGK is 1",
            ));
        }
        let given = RotationGiven {
            species: file.gas,
            kelvin: file.temperature,
            freedom: file.internal_dof,
            collisions: file.z_rot,
            prandtl: file.prandtl,
            eucken: file.eucken,
        };
        let rotation = given.rotation(model)?;
        let usual = match (model, rotation) {
            (Model::Bgk, _) => 1.0,
            (_, Some(rotation)) => rotation.prandtl,
            _ => PRANDTL,
        };
        let omega = si.map_or(OMEGA, |si| si.gas.omega());
        Ok(Self {
            model,
            delta,
            omega: file.omega.unwrap_or(omega),
            prandtl: file.prandtl.unwrap_or(usual),
            rotation,
            linear: file.linear,
            si,
        })
    }
}

impl From<GasOf> for GasInFile {
    fn from(gas: GasOf) -> Self {
        Self {
            model: Some(gas.model),
            delta: gas.si.is_none().then_some(gas.delta),
            gas: gas.si.map(|si| si.gas),
            pressure: gas.si.map(|si| si.pressure),
            temperature: gas.si.map(|si| si.temperature),
            length: gas.si.map(|si| si.length),
            omega: Some(gas.omega),
            prandtl: match (gas.model, gas.rotation) {
                (Model::Bgk, _)
                | (
                    _,
                    Some(Rotation {
                        eucken: Some(_), ..
                    }),
                ) => None,
                _ => Some(gas.prandtl),
            },
            internal_dof: gas.rotation.map(|rotation| rotation.freedom),
            z_rot: gas.rotation.map(|rotation| rotation.collisions),
            eucken: gas.rotation.and_then(|rotation| rotation.eucken),
            linear: gas.linear,
        }
    }
}

/// The model of single atoms without a name.
const MODEL: Model = Model::Shakhov;
/// Exponent of the viscosity of a gas without a name.
const OMEGA: f64 = 0.74;
/// Prandtl number of a monatomic gas.
const PRANDTL: f64 = 2.0 / 3.0;

/// The rectangle, or the box in space, and its cells: uniform, or a uniform core with cells that grow outwards.
///
/// An infinite end, as those that a file leaves out, is a far field whose place is chosen from bodies and stream. So is an infinite `h`.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Domain {
    /// Its ends along x.
    #[serde(default = "everywhere", deserialize_with = "range")]
    pub x: [f64; 2],
    /// Its ends along y.
    #[serde(default = "everywhere", deserialize_with = "range")]
    pub y: [f64; 2],
    /// Its ends along z: the flow is in space. In a plane without it; `[-inf, inf]` in space has its ends chosen.
    #[serde(
        default,
        skip_serializing_if = "Option::is_none",
        deserialize_with = "maybe_range"
    )]
    pub z: Option<[f64; 2]>,
    /// The symmetry of a flow round an axis: x runs along the axis, y is the distance from it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub symmetry: Option<Symmetry>,
    /// Width of the cells, in the core where there is one.
    #[serde(default = "infinite", skip_serializing_if = "is_infinite")]
    pub h: f64,
    /// Ends of the core along x, y and, in space, z; the whole domain without it.
    #[serde(
        default,
        skip_serializing_if = "Option::is_none",
        deserialize_with = "maybe_ranges"
    )]
    pub core: Option<Vec<[f64; 2]>>,
    /// Ratio of the widths of neighbouring cells outside the core.
    #[serde(default = "one")]
    pub growth: f64,
    /// Widest cell.
    #[serde(default = "infinite", skip_serializing_if = "is_infinite")]
    pub largest: f64,
}

impl Default for Domain {
    /// Ends and cells that are chosen.
    fn default() -> Self {
        Self {
            x: everywhere(),
            y: everywhere(),
            z: None,
            symmetry: None,
            h: infinite(),
            core: None,
            growth: one(),
            largest: infinite(),
        }
    }
}

/// A symmetry of the domain.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Symmetry {
    /// The flow is the same all round the x axis and does not swirl.
    Axis,
}

/// Two numbers and no more: serde would leave out what follows.
fn pair<E: serde::de::Error>(numbers: &[f64]) -> std::result::Result<[f64; 2], E> {
    <[f64; 2]>::try_from(numbers).map_err(|_| {
        E::invalid_length(
            numbers.len(),
            &"two numbers, the lower end and the upper one",
        )
    })
}

fn range<'de, D: Deserializer<'de>>(deserializer: D) -> std::result::Result<[f64; 2], D::Error> {
    pair(&Vec::deserialize(deserializer)?)
}

fn maybe_range<'de, D: Deserializer<'de>>(
    deserializer: D,
) -> std::result::Result<Option<[f64; 2]>, D::Error> {
    let numbers = Option::<Vec<f64>>::deserialize(deserializer)?;
    numbers.map(|numbers| pair(&numbers)).transpose()
}

fn maybe_ranges<'de, D: Deserializer<'de>>(
    deserializer: D,
) -> std::result::Result<Option<Vec<[f64; 2]>>, D::Error> {
    let rows = Option::<Vec<Vec<f64>>>::deserialize(deserializer)?;
    rows.map(|rows| rows.iter().map(|row| pair(row)).collect())
        .transpose()
}

fn everywhere() -> [f64; 2] {
    [f64::NEG_INFINITY, f64::INFINITY]
}

fn one() -> f64 {
    1.0
}

fn is_zero(x: &f64) -> bool {
    *x == 0.0
}

fn is_one(x: &f64) -> bool {
    *x == 1.0
}

fn rest() -> Along {
    Along::Same(0.0)
}

fn infinite() -> f64 {
    f64::INFINITY
}

fn is_infinite(x: &f64) -> bool {
    x.is_infinite()
}

/// The discrete velocities: in the plane, where the third component is integrated out, or with all three components.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
#[serde(try_from = "VelocitiesOfFile")]
#[serde(tag = "kind", rename_all = "lowercase")]
pub enum Velocities {
    /// Gauss speeds in many directions.
    Polar {
        /// Directions of a whole turn, a multiple of 4.
        angles: usize,
        /// Speeds.
        speeds: usize,
        /// Temperature whose speeds the rule integrates.
        temperature: f64,
        /// Directions denser towards the axes: thin gas in a channel flows along it.
        graded: bool,
    },
    /// A uniform grid over all states of the case.
    Uniform {
        /// Width of a cell over the square root of the lowest temperature.
        step: f64,
        /// Reach beyond each state in the square root of its temperature.
        reach: f64,
        /// Directions of a half turn about the axis, even; used round an axis alone.
        #[serde(skip_serializing_if = "is_half_turn")]
        angles: usize,
    },
    /// Round an axis: Gauss points along it, Gauss speeds across, and directions about it.
    Axis {
        /// Directions of a half turn about the axis, even.
        angles: usize,
        /// Speeds across the axis.
        speeds: usize,
        /// Points above zero along the axis, and as many below.
        axial: usize,
        /// Temperature of the Maxwellian that the rules are made for.
        temperature: f64,
    },
    /// Gauss points along each axis of space.
    Gauss {
        /// Points above zero along an axis, and as many below.
        points: usize,
        /// Temperature of the Maxwellian that the rule is made for.
        temperature: f64,
    },
}

/// Directions of a half turn that a case without a number has.
pub(in crate::flow) const HALF_TURN: usize = 24;

fn is_half_turn(angles: &usize) -> bool {
    *angles == HALF_TURN
}

/// Velocities as a file may give them: `kind` is `polar` where it has angles or speeds, `axis` where it has `axial`.
#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct VelocitiesOfFile {
    kind: Option<VelocityKind>,
    axial: Option<usize>,
    angles: Option<usize>,
    speeds: Option<usize>,
    temperature: Option<f64>,
    graded: Option<bool>,
    step: Option<f64>,
    reach: Option<f64>,
    points: Option<usize>,
}

#[derive(Clone, Copy, PartialEq, Deserialize)]
#[serde(rename_all = "lowercase")]
enum VelocityKind {
    Polar,
    Uniform,
    Gauss,
    Axis,
}

impl TryFrom<VelocitiesOfFile> for Velocities {
    type Error = String;

    fn try_from(file: VelocitiesOfFile) -> Result<Self, String> {
        use VelocityKind::{Axis, Gauss, Polar, Uniform};
        let kind = file.kind.unwrap_or(
            match (file.points.is_some(), file.angles.or(file.speeds).is_some()) {
                _ if file.axial.is_some() => Axis,
                _ if file.step.or(file.reach).is_some() => Uniform,
                (true, _) => Gauss,
                (_, true) => Polar,
                _ if file.temperature.is_some() || file.graded.is_some() => Polar,
                _ => Uniform,
            },
        );
        let keys: [(&str, bool, &[VelocityKind]); 8] = [
            ("angles", file.angles.is_some(), &[Polar, Uniform, Axis]),
            ("speeds", file.speeds.is_some(), &[Polar, Axis]),
            ("axial", file.axial.is_some(), &[Axis]),
            ("graded", file.graded.is_some(), &[Polar]),
            (
                "temperature",
                file.temperature.is_some(),
                &[Polar, Gauss, Axis],
            ),
            ("step", file.step.is_some(), &[Uniform]),
            ("reach", file.reach.is_some(), &[Uniform]),
            ("points", file.points.is_some(), &[Gauss]),
        ];
        let other = keys
            .iter()
            .find(|(_, given, of)| *given && !of.contains(&kind));
        if let Some((key, ..)) = other {
            let name = match kind {
                Polar => "polar",
                Uniform => "uniform",
                Gauss => "gauss",
                Axis => "axis",
            };
            return Err(format!(
                "`{key}` belongs to another kind of velocities than `{name}`"
            ));
        }
        let temperature = file.temperature.unwrap_or(1.0);
        Ok(match kind {
            Polar => Self::Polar {
                angles: file.angles.unwrap_or(48),
                speeds: file.speeds.unwrap_or(10),
                temperature,
                graded: file.graded.unwrap_or(false),
            },
            Uniform => Self::Uniform {
                step: file.step.unwrap_or(0.7),
                reach: file.reach.unwrap_or(3.4),
                angles: file.angles.unwrap_or(HALF_TURN),
            },
            Axis => Self::Axis {
                angles: file.angles.unwrap_or(HALF_TURN),
                speeds: file.speeds.unwrap_or(12),
                axial: file.axial.unwrap_or(8),
                temperature,
            },
            Gauss => Self::Gauss {
                points: file.points.unwrap_or(8),
                temperature,
            },
        })
    }
}

/// The sides of the domain.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Sides {
    /// At the least x.
    pub left: Side,
    /// At the greatest x.
    pub right: Side,
    /// At the least y; where that is the axis of the flow it is left out.
    #[serde(default = "axis", skip_serializing_if = "is_axis")]
    pub bottom: Side,
    /// At the greatest y.
    pub top: Side,
    /// At the least z, in space.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub back: Option<Side>,
    /// At the greatest z, in space.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub front: Option<Side>,
}

fn axis() -> Side {
    Side::Axis
}

fn is_axis(side: &Side) -> bool {
    *side == Side::Axis
}

/// The gas behind a side, or the wall on it.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(tag = "kind", rename_all = "lowercase", deny_unknown_fields)]
pub enum Side {
    /// A stream of any Mach number: what comes in is its Maxwellian.
    Stream(Stream),
    /// Gas at rest.
    Reservoir(Reservoir),
    /// Two reservoirs left and right of (or below and above) a point.
    Split {
        /// The point.
        #[serde(default)]
        at: f64,
        /// The gas before the point.
        left: Reservoir,
        /// The gas behind it.
        right: Reservoir,
    },
    /// A given pressure behind a subsonic outflow.
    Outlet {
        /// The pressure.
        pressure: f64,
    },
    /// A given flow of mass into the domain.
    Inflow {
        /// Mass in a unit of time, in n0 v0 and the unit length; below zero the side takes gas out.
        mass_flow: f64,
        /// Temperature of the gas: 1, or 0 in linearised cases, without it.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        temperature: Option<f64>,
    },
    /// Nothing comes in.
    Vacuum,
    /// The flow continues as its mirror image.
    Mirror,
    /// The axis of a flow round it, at y = 0, which a file leaves out.
    #[serde(skip)]
    Axis,
    /// The flow continues at the opposite side.
    Periodic {
        /// Fall of the density from the lower to the upper side, linearised cases.
        #[serde(default)]
        jump: f64,
        /// Fall of the temperature at constant pressure, linearised cases.
        #[serde(default)]
        jump_temperature: f64,
        /// Density at the upper side over that at the lower one, nonlinear cases.
        #[serde(default = "one", skip_serializing_if = "is_one")]
        factor: f64,
    },
    /// A wall along the side.
    Wall {
        /// Its temperature: 1, or 0 in linearised cases, without it.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        temperature: Option<Along>,
        /// Its velocity along the side, towards greater coordinates.
        #[serde(default = "rest")]
        velocity: Along,
        /// Reflection of the molecules: all are emitted anew without it.
        #[serde(default)]
        accommodation: Accommodation,
    },
}

/// A uniform stream.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Stream {
    /// Speed over v0; or give `mach`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub speed_ratio: Option<f64>,
    /// Speed over the speed of sound at T0.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub mach: Option<f64>,
    /// Direction in the x-y plane, from the x axis.
    #[serde(default)]
    pub angle: f64,
    /// Direction out of the x-y plane, towards greater z.
    #[serde(default, skip_serializing_if = "is_zero")]
    pub elevation: f64,
    /// Density: 1, or 0 in linearised cases, without it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub density: Option<f64>,
    /// Temperature: 1, or 0 in linearised cases, without it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub temperature: Option<f64>,
}

/// Gas at rest.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Reservoir {
    /// Density; or give `pressure`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub density: Option<f64>,
    /// Pressure, n T.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub pressure: Option<f64>,
    /// Temperature: 1, or 0 in linearised cases, without it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub temperature: Option<f64>,
}

/// A uniform state.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct State {
    /// Density.
    pub density: f64,
    /// Mean velocity.
    pub velocity: Vector,
    /// Temperature.
    pub temperature: f64,
}

/// The iteration.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub struct Solver {
    /// Largest change of density, velocity and temperature in an iteration over the range of each, at which the flow is steady.
    pub tolerance: f64,
    /// Earlier iterates that Anderson mixing uses.
    pub depth: usize,
    /// Most iterations.
    pub iterations: usize,
    /// Corrections by the equations of the continuum.
    pub acceleration: Acceleration,
}

/// Corrections of the iteration.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Acceleration {
    /// Those that suit the gas: none where it is thin.
    #[default]
    Auto,
    /// None: mixing alone.
    None,
}

impl Default for Solver {
    fn default() -> Self {
        Self {
            tolerance: 1e-6,
            depth: 10,
            iterations: 1000,
            acceleration: Acceleration::Auto,
        }
    }
}

/// The files of a run by the command, beside its record.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub struct Output {
    /// Values on the walls: `surface.csv`, `walls.vtp`.
    pub surface: bool,
    /// Fields of the cells for VTK.
    pub fields: bool,
    /// Plots.
    pub plots: bool,
}

impl Default for Output {
    fn default() -> Self {
        Self {
            surface: true,
            fields: true,
            plots: true,
        }
    }
}

impl Side {
    /// Whether gas passes freely: a given state, a pressure or a vacuum is beyond the side.
    pub(in crate::flow) fn is_open(&self) -> bool {
        matches!(
            self,
            Self::Stream(_)
                | Self::Reservoir(_)
                | Self::Split { .. }
                | Self::Outlet { .. }
                | Self::Vacuum
        )
    }
}

/// Names of the sides in their order.
pub(in crate::flow) const SIDES: [&str; 6] = ["left", "right", "bottom", "top", "back", "front"];

/// The sides of a case in a plane in the order of their names.
pub(in crate::flow) fn sides_of(case: &Case) -> [&Side; 4] {
    let sides = &case.sides;
    [&sides.left, &sides.right, &sides.bottom, &sides.top]
}
