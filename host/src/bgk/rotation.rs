//! Molecules that rotate: the model `polyatomic`, a Shakhov model with two temperatures and two heat fluxes.
//!
//! A second function E of the velocity holds the internal energy, in units of m v0^2/2 as the square of the velocity. With d internal degrees of freedom,
//! c = v - u and the brackets as sums over the velocities,
//!
//! ```text
//! (3/2) n T_t = <c^2 F>   (d/2) n T_r = <E>   q_t = <c c^2 F>/2   q_r = <c E>/2   T = (3 T_t + d T_r)/(3 + d)
//! T* = T_t + (T - T_t)/Z   T_r* = T_r + (T - T_r)/Z   (Q_t, Q_r) = (1 - A) (q_t, q_r)
//! S_F = M [1 + (8/5) Q_t.c/(n T*^2) (c^2/T* - 5/2)],   S_E = (d/2) T_r* S_F + 4 Q_r.c/(n T*) M
//! ```
//!
//! with the Maxwellian M of n, u and T*, and the frequency at T_t. After V. A. Rykov (1975) and L. Wu et al., J. Fluid Mech. 763 (2015) 24, with one
//! Maxwellian instead of two. Z is the time in which T_r relaxes to T, in mu/p. The linearised equation has `E = M0 (d/2 (1 + a) + b)` with the excess b:
//!
//! ```text
//! (d/2) T_r = <b>   q_r = <v b>/2   S_b = (d/2) T_r* + 4 Q_r.v
//! ```
//!
//! E streams as F does and meets it in the cells alone. So a sweep of E is one more sweep of the velocities, with another equilibrium.

use std::str::FromStr;

use serde::{Deserialize, Serialize};

use super::{Model, Species};
use crate::error::{Error, Result};

/// Share of the time Z mu/p in the time of relaxation by Jeans, which counts collisions of time pi mu/(4 p) and relaxes to T_t: Z = (pi/4) 3/(3 + d) Z_J.
fn share(freedom: f64) -> f64 {
    std::f64::consts::FRAC_PI_4 * 3.0 / (3.0 + freedom)
}

/// Collisions in which rotation relaxes, Z_J: a number, or one that grows with the temperature.
///
/// In files a number, `"parker:Z_INF,T_STAR"` or `"air"`.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
#[serde(try_from = "NumberOrText", into = "NumberOrText")]
pub enum RotationalCollisions {
    /// The same at any temperature.
    Constant(f64),
    /// `Z_inf/(1 + (pi^1.5/2) sqrt(T*/T) + (pi + pi^2/4) T*/T)`: J. G. Parker, Phys. Fluids 2 (1959) 449.
    Parker {
        /// The number at high temperature.
        z_inf: f64,
        /// The temperature T* in K.
        t_star: f64,
    },
    /// Nitrogen and oxygen by their shares of the molecules, each by Parker's formula.
    Air,
}

/// Collisions as a file has them.
#[derive(Serialize, Deserialize)]
#[serde(untagged)]
enum NumberOrText {
    Number(f64),
    Text(String),
}

impl TryFrom<NumberOrText> for RotationalCollisions {
    type Error = Error;

    fn try_from(from: NumberOrText) -> Result<Self> {
        match from {
            NumberOrText::Number(z) => Ok(Self::Constant(z)),
            NumberOrText::Text(text) => text.parse(),
        }
    }
}

impl FromStr for RotationalCollisions {
    type Err = Error;

    fn from_str(text: &str) -> Result<Self> {
        if text == "air" {
            return Ok(Self::Air);
        }
        if let Ok(z) = text.parse() {
            return Ok(Self::Constant(z));
        }
        let numbers = text.strip_prefix("parker:").and_then(|rest| {
            let (z_inf, t_star) = rest.split_once(',')?;
            let number = |text: &str| text.trim().parse::<f64>().ok();
            Some((number(z_inf)?, number(t_star)?))
        });
        match numbers {
            Some((z_inf, t_star)) => Ok(Self::Parker { z_inf, t_star }),
            None => Err(Error::invalid(
                "gas.z_rot",
                text,
                "a number of collisions, \"parker:Z_INF,T_STAR\" with T_STAR in K, or \"air\"",
            )),
        }
    }
}

impl From<RotationalCollisions> for NumberOrText {
    fn from(collisions: RotationalCollisions) -> Self {
        match collisions {
            RotationalCollisions::Constant(z) => Self::Number(z),
            RotationalCollisions::Parker { z_inf, t_star } => {
                Self::Text(format!("parker:{z_inf},{t_star}"))
            }
            RotationalCollisions::Air => Self::Text("air".to_owned()),
        }
    }
}

/// Parker's numbers of nitrogen (I. D. Boyd, 1990) and oxygen.
const NITROGEN: [f64; 2] = [23.3, 91.5];
const OXYGEN: [f64; 2] = [16.5, 113.5];

/// Share of nitrogen in air, without what is neither nitrogen nor oxygen.
const NITROGEN_IN_AIR: f64 = 0.79;

fn parker([z_inf, t_star]: [f64; 2], kelvin: f64) -> f64 {
    let pi = std::f64::consts::PI;
    let ratio = t_star / kelvin;
    z_inf / (1.0 + 0.5 * pi.powf(1.5) * ratio.sqrt() + (pi + 0.25 * pi * pi) * ratio)
}

impl RotationalCollisions {
    /// Those of nitrogen.
    pub const NITROGEN: Self = Self::Parker {
        z_inf: NITROGEN[0],
        t_star: NITROGEN[1],
    };
    /// Those of oxygen.
    pub const OXYGEN: Self = Self::Parker {
        z_inf: OXYGEN[0],
        t_star: OXYGEN[1],
    };

    /// Z_J at a temperature in K.
    pub fn at(&self, kelvin: f64) -> f64 {
        match *self {
            Self::Constant(z) => z,
            Self::Parker { z_inf, t_star } => parker([z_inf, t_star], kelvin),
            Self::Air => {
                let rate = NITROGEN_IN_AIR / parker(NITROGEN, kelvin)
                    + (1.0 - NITROGEN_IN_AIR) / parker(OXYGEN, kelvin);
                1.0 / rate
            }
        }
    }

    /// The same as `1/Z_J = a + b T^(-1/2) + c/T`: a, b and c.
    pub(crate) fn rates(&self) -> [f64; 3] {
        let pi = std::f64::consts::PI;
        let of = |[z_inf, t_star]: [f64; 2]| {
            let [root, whole] = [0.5 * pi.powf(1.5) * t_star.sqrt(), pi + 0.25 * pi * pi];
            [1.0, root, whole * t_star].map(|part| part / z_inf)
        };
        match *self {
            Self::Constant(z) => [1.0 / z, 0.0, 0.0],
            Self::Parker { z_inf, t_star } => of([z_inf, t_star]),
            Self::Air => {
                let (nitrogen, oxygen) = (of(NITROGEN), of(OXYGEN));
                let share = NITROGEN_IN_AIR;
                [0, 1, 2].map(|k| share * nitrogen[k] + (1.0 - share) * oxygen[k])
            }
        }
    }

    /// Whether the number depends on the temperature.
    pub fn varies(&self) -> bool {
        !matches!(self, Self::Constant(_))
    }
}

/// Rates S = rho D/mu at which internal energy of a gas diffuses.
const DIFFUSION: [f64; 2] = [0.5, 2.5];

/// The rotation of a gas's molecules.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct Rotation {
    /// Internal degrees of freedom d, any positive number: 2 of molecules of two atoms.
    pub freedom: f64,
    /// Collisions in which rotation relaxes.
    pub collisions: RotationalCollisions,
    /// Prandtl number at the temperature 1, gamma over the Eucken factor.
    pub prandtl: f64,
    /// The Eucken factors of translation and rotation; without them they follow from the Prandtl number.
    pub eucken: Option<[f64; 2]>,
    /// The temperature 1 in K; 273 where the gas is not given in SI units.
    pub kelvin: f64,
}

impl Default for Rotation {
    /// Two degrees of freedom that relax as those of nitrogen do at room temperature.
    fn default() -> Self {
        Self {
            freedom: 2.0,
            collisions: RotationalCollisions::Constant(5.5),
            prandtl: 0.72,
            eucken: None,
            kelvin: 273.0,
        }
    }
}

impl Species {
    /// The rotation of its molecules; none of single atoms.
    ///
    /// Prandtl numbers: viscosity and conductivity at 300 K and low pressure of E. W. Lemmon and R. T. Jacobsen (2004), and for hydrogen of CoolProp.
    /// Collisions of hydrogen: its bulk viscosity at 300 K. The temperature 1 is 300 K.
    pub fn rotation(self) -> Option<Rotation> {
        let (collisions, prandtl) = match self {
            Self::Nitrogen => (RotationalCollisions::NITROGEN, 0.716),
            Self::Oxygen => (RotationalCollisions::OXYGEN, 0.710),
            Self::Air => (RotationalCollisions::Air, 0.706),
            Self::Hydrogen => (RotationalCollisions::Constant(280.0), 0.692),
            _ => return None,
        };
        Some(Rotation {
            collisions,
            prandtl,
            kelvin: 300.0,
            ..Rotation::default()
        })
    }

    /// Temperatures in K between which its molecules rotate as the model has it: beyond them rotation freezes or vibration begins.
    pub fn rotates_alone(self) -> Option<[f64; 2]> {
        match self {
            Self::Nitrogen => Some([0.0, 600.0]),
            Self::Oxygen => Some([0.0, 400.0]),
            Self::Air => Some([0.0, 500.0]),
            Self::Hydrogen => Some([250.0, f64::INFINITY]),
            _ => None,
        }
    }
}

/// Rotation of a cell's molecules; of linearised flows perturbations.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize, Deserialize)]
#[non_exhaustive]
pub struct RotatingMoments {
    /// Temperature of translation T_t.
    pub temperature_translational: f64,
    /// Temperature of rotation T_r.
    pub temperature_rotational: f64,
    /// Heat flux of internal energy q_r, a part of the whole one.
    pub heat_flux_rotational: [f64; 2],
}

/// Numbers of a rotation as far as they are given.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct RotationGiven {
    pub(crate) species: Option<Species>,
    /// The temperature 1 in K.
    pub(crate) kelvin: Option<f64>,
    pub(crate) freedom: Option<f64>,
    pub(crate) collisions: Option<RotationalCollisions>,
    pub(crate) prandtl: Option<f64>,
    pub(crate) eucken: Option<[f64; 2]>,
}

impl RotationGiven {
    /// The rotation of the molecules of a model; none of single atoms. Numbers are not checked.
    ///
    /// # Errors
    /// Numbers without a rotation, a rotation of single atoms, collisions that depend on a temperature that is not given.
    pub(crate) fn rotation(&self, model: Model) -> Result<Option<Rotation>> {
        let own = self.species.and_then(Species::rotation);
        let keys = [
            ("internal_dof", self.freedom.is_some()),
            ("z_rot", self.collisions.is_some()),
            ("eucken", self.eucken.is_some()),
        ];
        if model != Model::Polyatomic {
            if let Some((key, _)) = keys.iter().find(|(_, given)| *given) {
                return Err(Error::invalid(
                    format!("gas.{key}"),
                    "a model without rotation",
                    "the model polyatomic, to which it belongs",
                ));
            }
            return match (self.species, own) {
                (Some(gas), Some(_)) => Err(Error::invalid(
                    "gas.model",
                    format!("a model of single atoms for {gas:?}").to_lowercase(),
                    "the model polyatomic, which this gas has by itself",
                )),
                _ => Ok(None),
            };
        }
        if let (Some(gas), None) = (self.species, own) {
            return Err(Error::invalid(
                "gas.model",
                format!("polyatomic for {gas:?}").to_lowercase(),
                "the model shakhov or bgk: single atoms do not rotate",
            ));
        }
        let own = own.unwrap_or_default();
        let own = match self.kelvin {
            Some(kelvin) if kelvin > 0.0 => own.at(kelvin),
            _ => own,
        };
        if self.collisions.is_some_and(|z| z.varies()) && self.kelvin.is_none() {
            return Err(Error::invalid(
                "gas.z_rot",
                "collisions that depend on the temperature",
                "a number, or a gas with pressure and temperature in SI units",
            ));
        }
        if let (Some(_), Some(prandtl)) = (self.eucken, self.prandtl) {
            return Err(Error::invalid(
                "gas.prandtl",
                prandtl,
                "no Prandtl number beside eucken, from which it follows",
            ));
        }
        let mut rotation = Rotation {
            freedom: self.freedom.unwrap_or(own.freedom),
            collisions: self.collisions.unwrap_or(own.collisions),
            prandtl: self.prandtl.unwrap_or(own.prandtl),
            eucken: self.eucken,
            kelvin: own.kelvin,
        };
        if self.eucken.is_some() {
            rotation.prandtl = rotation.prandtl_at(rotation.relaxation(1.0));
        }
        Ok(Some(rotation))
    }
}

/// Rates of both heat fluxes over the collision frequency, `d(q_t, q_r)/dt = -nu A (q_t, q_r)`.
pub type Matrix = [[f64; 2]; 2];

impl Rotation {
    /// The time Z in which the rotational temperature relaxes to the temperature, in mu/p, at a temperature of translation.
    pub fn relaxation(&self, temperature: f64) -> f64 {
        share(self.freedom) * self.collisions.at(self.kelvin * temperature)
    }

    /// The rate 1/Z at a temperature of translation, `a + b T^(-1/2) + c/T`: a, b and c.
    pub(crate) fn rates_of_relaxation(&self) -> [f64; 3] {
        let [a, b, c] = self.collisions.rates();
        [a, b / self.kelvin.sqrt(), c / self.kelvin].map(|part| part / share(self.freedom))
    }

    /// The time Z above which no temperature turns negative, whatever the state.
    pub(crate) fn least_relaxation(&self) -> f64 {
        self.freedom.max(3.0) / (3.0 + self.freedom)
    }

    /// The time Z of a cell.
    ///
    /// Very cold gas of Parker's formula would take fewer collisions than keep both temperatures positive. It takes as many as do.
    pub(crate) fn relaxation_of(&self, temperature: f64) -> f64 {
        self.relaxation(temperature.max(f64::MIN_POSITIVE))
            .max(self.least_relaxation())
    }

    /// Rate of the internal energy that a cell gains, `nu n (T - T_r) d/(4 Z)`, over `nu n (T_t - T_r)`.
    pub(crate) fn exchange(&self, temperature: f64) -> f64 {
        0.75 * self.freedom / ((3.0 + self.freedom) * self.relaxation_of(temperature))
    }

    /// The matrix A at a relaxation time Z: E. A. Mason and L. Monchick, J. Chem. Phys. 36 (1962) 1622, to all orders in 1/Z.
    ///
    /// Internal energy diffuses at the rate S = rho D/mu, which the Prandtl number fixes and which is the same at all temperatures.
    pub fn matrix(&self, z: f64) -> Matrix {
        let d = self.freedom;
        let [tt, tr, rt, x] = self.rates(z);
        match self.eucken {
            Some([f_t, f_r]) => [
                [(5.0 - tr * d * f_r) / (3.0 * f_t), tr],
                [rt, (d - 3.0 * rt * f_t) / (d * f_r)],
            ],
            None => [[tt, tr], [rt, self.inverse_diffusion() + 0.5 * x]],
        }
    }

    /// The inverse of the matrix A at a temperature of translation.
    pub(crate) fn inverse_rates(&self, temperature: f64) -> Matrix {
        let [[tt, tr], [rt, rr]] = self.matrix(self.relaxation_of(temperature));
        let determinant = tt * rr - tr * rt;
        [[rr, -tr], [-rt, tt]].map(|row| row.map(|part| part / determinant))
    }

    /// Conductivities of translation and rotation, `(q_t, q_r) = -mu K (grad T_t, grad T_r)`: `K = A^-1 diag(5, d)/4`.
    pub(crate) fn conduction(&self, temperature: f64) -> Matrix {
        let inverse = self.inverse_rates(temperature);
        inverse.map(|[from_t, from_r]| [1.25 * from_t, 0.25 * self.freedom * from_r])
    }

    /// `A_tt`, `A_tr` and `A_rt` at a relaxation time Z, which follow from d alone, and x = 3/((3 + d) Z).
    fn rates(&self, z: f64) -> [f64; 4] {
        let d = self.freedom;
        let x = 3.0 / ((3.0 + d) * z);
        [
            2.0 / 3.0 + 5.0 * d / 18.0 * x,
            -5.0 / 6.0 * x,
            -d / 6.0 * x,
            x,
        ]
    }

    /// 1/S, from the Prandtl number at the temperature 1.
    fn inverse_diffusion(&self) -> f64 {
        let d = self.freedom;
        let [tt, tr, rt, x] = self.rates(self.relaxation(1.0));
        let f = (5.0 + d) / self.prandtl;
        (d * tt - d * tr - 5.0 * rt + f * tr * rt) / (f * tt - 5.0) - 0.5 * x
    }

    /// The Prandtl numbers of all admitted rates of diffusion.
    fn prandtl_range(&self) -> [f64; 2] {
        let z = self.relaxation(1.0);
        let [tt, tr, rt, x] = self.rates(z);
        let d = self.freedom;
        let ends = DIFFUSION.map(|diffusion| {
            let rr = 1.0 / diffusion + 0.5 * x;
            let determinant = tt * rr - tr * rt;
            let [f_t, f_r] = [rr * 5.0 - tr * d, tt * d - rt * 5.0];
            (5.0 + d) * determinant / (f_t + f_r)
        });
        [ends[0].min(ends[1]), ends[0].max(ends[1])]
    }

    /// The Prandtl number at a relaxation time Z.
    pub fn prandtl_at(&self, z: f64) -> f64 {
        let [f_t, f_r] = self.eucken_factors(z);
        (5.0 + self.freedom) / (3.0 * f_t + self.freedom * f_r)
    }

    /// The same gas with another temperature in K as the temperature 1.
    #[must_use]
    pub fn at(self, kelvin: f64) -> Self {
        if kelvin == self.kelvin {
            return self;
        }
        Self {
            prandtl: self.prandtl_at(self.relaxation(kelvin / self.kelvin)),
            kelvin,
            ..self
        }
    }

    /// The Eucken factors of translation and rotation at a relaxation time Z: conductivities over those of `mu c_v`.
    pub fn eucken_factors(&self, z: f64) -> [f64; 2] {
        let [[tt, tr], [rt, rr]] = self.matrix(z);
        let determinant = tt * rr - tr * rt;
        let d = self.freedom;
        [
            (rr * 5.0 - tr * d) / (3.0 * determinant),
            (tt * d - rt * 5.0) / (d * determinant),
        ]
    }

    /// Bulk viscosity over viscosity at a relaxation time Z.
    pub fn bulk_viscosity(&self, z: f64) -> f64 {
        2.0 * self.freedom * z / (3.0 * (3.0 + self.freedom))
    }

    /// Ratio of the specific heats.
    pub fn heat_ratio(&self) -> f64 {
        (5.0 + self.freedom) / (3.0 + self.freedom)
    }

    /// The temperature of translation and rotation together.
    pub fn temperature(&self, translational: f64, rotational: f64) -> f64 {
        (3.0 * translational + self.freedom * rotational) / (3.0 + self.freedom)
    }

    /// Refuses numbers that are no gas's, by the names of their keys.
    ///
    /// # Errors
    /// Degrees of freedom that are not positive, a relaxation that leaves a temperature negative, heat fluxes that would grow.
    pub fn check(&self) -> Result<()> {
        let wrong = |key: &str, value: f64, expected: String| {
            Err(Error::invalid(format!("gas.{key}"), value, expected))
        };
        if !(self.freedom.is_finite() && self.freedom > 0.0) {
            let expected = "a positive number of degrees of freedom, 2 of two atoms";
            return wrong("internal_dof", self.freedom, expected.to_owned());
        }
        if !(self.prandtl.is_finite() && self.prandtl > 0.0) {
            let expected = "a positive Prandtl number, such as 0.72 of nitrogen";
            return wrong("prandtl", self.prandtl, expected.to_owned());
        }
        let least = self.least_relaxation() / share(self.freedom);
        let collisions = match self.collisions {
            RotationalCollisions::Parker { t_star, .. } if t_star < 0.0 => f64::NAN,
            of => of.at(self.kelvin),
        };
        if !(collisions.is_finite() && collisions > least) {
            if self.collisions.varies() && collisions > 0.0 {
                return Err(Error::invalid(
                    "gas.temperature",
                    self.kelvin,
                    format!(
                        "warmer gas, or a number for z_rot: rotation relaxes in {collisions:.3} collisions there, where the model needs {least:.3}"
                    ),
                ));
            }
            return wrong(
                "z_rot",
                collisions,
                format!(
                    "more than {least:.3} collisions, with which no temperature turns negative"
                ),
            );
        }
        let [[tt, tr], [rt, rr]] = self.matrix(self.relaxation(1.0));
        let good = tt + rr > 0.0 && tt * rr - tr * rt > 0.0 && rr.is_finite();
        let diffusion = 1.0 / (rr + 0.6 * tr);
        if !good || !(DIFFUSION[0]..=DIFFUSION[1]).contains(&diffusion) {
            return match self.eucken {
                Some([f_t, f_r]) => Err(Error::invalid(
                    "gas.eucken",
                    format!("[{f_t}, {f_r}]"),
                    "Eucken factors of a gas, such as [2.32, 1.40] of nitrogen",
                )),
                None => {
                    let [low, high] = self.prandtl_range();
                    let expected = format!(
                        "a Prandtl number from {low:.4} to {high:.4}, with which internal energy of {} degrees of freedom diffuses as in a gas",
                        self.freedom
                    );
                    wrong("prandtl", self.prandtl, expected)
                }
            };
        }
        Ok(())
    }
}

/// The state to which a cell's molecules and their internal energy relax.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Relaxed<const W: usize, const E: usize> {
    /// Density, momentum, energy of translation at T*, and Q_t.
    pub(crate) molecules: [f64; W],
    /// Internal energy at T_r*, and Q_r.
    pub(crate) internal: [f64; E],
    /// The temperature of translation, which the frequency has.
    pub(crate) translational: f64,
}

/// Square of the mean velocity of a cell, zero in the linearised equation.
fn square(linear: bool, w: &[f64]) -> f64 {
    let axes = w.len() / 2 - 1;
    match linear {
        true => 0.0,
        false => w[1..=axes].iter().map(|m| (m / w[0]) * (m / w[0])).sum(),
    }
}

/// Temperatures of translation and rotation of a cell in space or in a plane, or their perturbations: `w` has density, momentum, energy of translation and heat flux,
/// `e` internal energy and its flux.
pub(crate) fn temperatures(rotation: &Rotation, linear: bool, w: &[f64], e: &[f64]) -> [f64; 2] {
    let (energy, half) = (w[w.len() / 2], 0.5 * rotation.freedom);
    match linear {
        true => [energy / 1.5 - w[0], e[0] / half],
        false => [
            (energy / w[0] - square(linear, w)) / 1.5,
            e[0] / (w[0] * half),
        ],
    }
}

/// The state to which a cell relaxes.
pub(crate) fn relaxed<const W: usize, const E: usize>(
    rotation: &Rotation,
    linear: bool,
    w: &[f64; W],
    e: &[f64; E],
) -> Relaxed<W, E> {
    let axes = W / 2 - 1;
    let [t, t_r] = temperatures(rotation, linear, w, e);
    let common = rotation.temperature(t, t_r);
    let z = rotation.relaxation_of(if linear { 1.0 } else { t });
    let [[tt, tr], [rt, rr]] = rotation.matrix(z);
    let (mut molecules, mut internal) = (*w, *e);
    let [t_star, r_star] = [t + (common - t) / z, t_r + (common - t_r) / z];
    (molecules[1 + axes], internal[0]) = match linear {
        true => (1.5 * (w[0] + t_star), 0.5 * rotation.freedom * r_star),
        false => (
            w[0] * (square(linear, w) + 1.5 * t_star),
            0.5 * rotation.freedom * w[0] * r_star,
        ),
    };
    for k in 0..axes {
        let (q_t, q_r) = (w[2 + axes + k], e[1 + k]);
        molecules[2 + axes + k] = (1.0 - tt) * q_t - tr * q_r;
        internal[1 + k] = (1.0 - rr) * q_r - rt * q_t;
    }
    Relaxed {
        molecules,
        internal,
        translational: t,
    }
}

/// The internal energy after a sweep, from the one to which a cell relaxed: `sums` are those of `E - S_E` and of `c (E - S_E)`.
pub(crate) fn swept<const E: usize>(relaxed: &[f64; E], sums: [f64; E]) -> [f64; E] {
    let mut next = *relaxed;
    next[0] += sums[0];
    for k in 1..E {
        next[k] += 0.5 * sums[k];
    }
    next
}

/// The warning of a gas that is outside of the temperatures in K at which its molecules rotate alone.
pub(crate) fn beyond(species: Species, [least, most]: [f64; 2]) -> Option<String> {
    let [low, high] = species.rotates_alone()?;
    if most > high {
        return Some(format!(
            "the gas is up to {most:.0} K hot: above {high} K its molecules vibrate too, which the model leaves out"
        ));
    }
    (least < low).then(|| {
        format!(
            "the gas is down to {least:.0} K cold: below {low} K its molecules rotate less, which the model leaves out"
        )
    })
}

/// Flux of internal energy from a wall of a temperature, for density 1 and for density 0, from the fluxes of mass of both.
///
/// In the linearised equation the molecules carry that of the Maxwellian at rest too.
pub(crate) fn emitted(
    rotation: &Rotation,
    linear: bool,
    temperature: f64,
    unit: f64,
    base: f64,
) -> [f64; 2] {
    let half = 0.5 * rotation.freedom;
    match linear {
        true => [half * unit, half * (base + temperature * unit)],
        false => [half * temperature * unit, 0.0],
    }
}

/// Adds to moments of a flux of molecules, of which the first is the mass and the last twice the energy, the flux of their internal energy.
pub(crate) fn add_flux<const M: usize>(
    rotation: &Rotation,
    linear: bool,
    moments: &mut [f64; M],
    internal: &[f64; M],
) {
    moments[M - 1] += internal[0];
    if linear {
        moments[M - 1] += 0.5 * rotation.freedom * moments[0];
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The gas of the tables: d = 2, Z = 2.667, S = 1.26.
    fn tabled() -> Rotation {
        let z = 2.667 / share(2.0);
        let mut rotation = Rotation {
            collisions: RotationalCollisions::Constant(z),
            ..Rotation::default()
        };
        rotation.prandtl = 1.4 / 1.951_951;
        rotation
    }

    #[test]
    fn the_matrix_has_the_factors_of_transport_theory() {
        let rotation = tabled();
        let z = rotation.relaxation(1.0);
        assert!((z - 2.667).abs() < 1e-12);
        let expected = [[0.791_651_0, -0.187_476_6], [-0.074_990_6, 0.906_136_7]];
        for (found, expected) in rotation.matrix(z).iter().zip(expected) {
            for (found, expected) in found.iter().zip(expected) {
                assert!((found - expected).abs() < 2e-6, "{found} {expected}");
            }
        }
        let [f_t, f_r] = rotation.eucken_factors(z);
        assert!((f_t - 2.325_106).abs() < 2e-6 && (f_r - 1.392_220).abs() < 3e-6);
        assert!((rotation.bulk_viscosity(z) - 0.7112).abs() < 1e-4);
        // The factors give the matrix back.
        let given = Rotation {
            eucken: Some([f_t, f_r]),
            ..rotation
        };
        for (a, b) in given.matrix(z).iter().zip(rotation.matrix(z)) {
            assert!((a[0] - b[0]).abs() < 1e-12 && (a[1] - b[1]).abs() < 1e-12);
        }
        // Mason and Monchick's factors, whose numbers of collisions are Jeans's.
        let diffusion = 1.0 / (rotation.matrix(z)[1][1] - 0.3 / z);
        let jeans = z / share(2.0);
        let (pi, a) = (std::f64::consts::PI, 2.5 - diffusion);
        let b = jeans + 2.0 / pi * (5.0 / 3.0 + diffusion);
        let exact = [
            2.5 * (1.0 - 2.0 / pi * (2.0 / 3.0) * a / b),
            diffusion * (1.0 + 2.0 / pi * a / b),
        ];
        assert!((f_t - exact[0]).abs() < 1e-12, "{f_t} {exact:?}");
        assert!((f_r - exact[1]).abs() < 1e-12, "{f_r} {exact:?}");
    }

    #[test]
    fn species_relax_at_the_rates_of_their_formulas() {
        let z = |collisions: RotationalCollisions| {
            let rotation = Rotation {
                collisions,
                ..Rotation::default()
            };
            Rotation {
                kelvin: 300.0,
                ..rotation
            }
            .relaxation(1.0)
        };
        assert!((z(RotationalCollisions::NITROGEN) - 2.585).abs() < 1e-3);
        assert!((z(RotationalCollisions::OXYGEN) - 1.608).abs() < 1e-3);
        assert!((z(RotationalCollisions::Air) - 2.292).abs() < 2e-3);
    }

    /// Internal energy of nitrogen diffuses at the rate 1.269, of air at 1.335.
    #[test]
    fn the_rate_of_diffusion_is_the_same_at_all_temperatures() {
        for (species, diffusion) in [(Species::Nitrogen, 1.269), (Species::Air, 1.335)] {
            let own = species.rotation().unwrap();
            for kelvin in [100.0, 300.0, 900.0] {
                let there = own.at(kelvin);
                assert!((1.0 / there.inverse_diffusion() - diffusion).abs() < 1e-3);
                let z = own.relaxation(kelvin / 300.0);
                assert!((there.relaxation(1.0) - z).abs() < 1e-12 * z);
                assert!((there.prandtl - own.prandtl_at(z)).abs() < 1e-14);
                for (a, b) in there.matrix(z).iter().zip(own.matrix(z)) {
                    assert!((a[0] - b[0]).abs() < 1e-13 && (a[1] - b[1]).abs() < 1e-13);
                }
            }
            assert!((own.at(100.0).prandtl - own.prandtl).abs() > 1e-3);
        }
    }

    /// Mass, momentum and the energy of both kinds together stay; the heat fluxes shrink by A.
    #[test]
    fn relaxation_keeps_the_whole_energy() {
        let rotation = tabled();
        for linear in [false, true] {
            let w = [1.3, 0.5, -0.2, 2.9, 0.03, -0.02];
            let e = [0.8, 0.01, 0.02];
            let to = relaxed(&rotation, linear, &w, &e);
            let whole = |w: &[f64; 6], e: &[f64; 3]| w[3] + e[0];
            let left = whole(&to.molecules, &to.internal) - whole(&w, &e);
            assert!(left.abs() < 1e-14, "{left}");
            assert_eq!(to.molecules[..3], w[..3]);
            let [t, t_r] = temperatures(&rotation, linear, &w, &e);
            let [a, b] = temperatures(&rotation, linear, &to.molecules, &to.internal);
            let mean = rotation.temperature(t, t_r);
            assert!((a - mean - (t - mean) * (1.0 - 1.0 / 2.667)).abs() < 1e-14);
            assert!((b - mean - (t_r - mean) * (1.0 - 1.0 / 2.667)).abs() < 1e-14);
        }
    }
}
