//! The infinite duct: of circular section, a slit, or a rectangle, with its flow by a weak fall of the pressure and by one of the temperature.
//!
//! Nothing varies along the duct. With the perturbation phi of the local Maxwellian, v_p the speed across and $\langle\cdot\rangle$ the mean with $e^{-v_p^2}/\pi$, the functions
//! $F = \int v_z \varphi M_z\,dv_z$ and $H = \int v_z (v_z^2 - \tfrac32) \varphi M_z\,dv_z$ obey
//!
//! $$ v\cdot\nabla F + \delta F = \delta \left[u + \tfrac45 Q (v_p^2 - 1)\right] + \tfrac12 \left[X_P + X_T (v_p^2 - 1)\right] $$
//! $$ v\cdot\nabla H + \delta H = \tfrac65 \delta Q + \tfrac34 X_T, \qquad u = \langle F\rangle, \quad q = \tfrac12 \langle (v_p^2 - 1) F + H\rangle $$
//!
//! with $Q = (1 - \mathrm{Pr}) q$ of the Shakhov model. Diffuse walls emit neither. Along a ray both are integrals, so that u and q obey integral equations over the section, whose kernels
//! are those of `kernels.rs`. Molecules that rotate add a function E of their internal energy, with $Q_r$ and $\tfrac d4 X_T$ instead of $\tfrac35 Q$ and $\tfrac34 X_T$. Fields are even
//! polynomials, which collocation finds: errors fall faster than any power of their number.
//!
//! | file | holds |
//! |---|---|
//! | `kernels.rs` | integrals over the speeds |
//! | `shape.rs` | functions across the section |
//! | `rays.rs` | integrals over the section along rays |
//! | `round.rs` | those of a circle, whose rays are mirrored along chords of one length |
//! | `series.rs` | sums over many reflections |
//! | `images.rs` | those over its images in walls that mirror a part |
//! | `equations.rs` | the equations, and their solution |

mod equations;
mod images;
mod kernels;
mod rays;
mod round;
mod series;
mod shape;

use std::fmt;
use std::str::FromStr;

use serde::{Serialize, Serializer};

use crate::accuracy::{Axis, Quantity, Repeatable, SECONDS, Watch};
use crate::bgk::{Model, Rotation};
use crate::error::{Error, Result};
use equations::Gas;
use shape::Side;

/// Largest ratio of the sides of a rectangle.
const LONGEST: f64 = 100.0;
/// Least share of the molecules that walls emit diffusely.
const LEAST_SHARE: f64 = 0.01;
/// The same of a circle, along whose chords all reflections are summed.
const LEAST_SHARE_OF_CIRCLE: f64 = 1e-6;
/// Relative error of the kernels' table, of the rules and of the solution.
const FLOOR: f64 = 1e-9;
/// Order that is believed of errors that fall faster than any power.
const SPECTRAL: f64 = 6.0;
/// Ratio of the sides from which points crowd more at the ends of the longer one.
const LONG: f64 = 3.0;

/// The section of a duct, whose radius or smaller side has the length 1.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum DuctSection {
    /// A circle.
    Circle,
    /// Two parallel plates.
    Slit,
    /// A rectangle.
    Rectangle {
        /// The longer side over the smaller one, 1 to 100.
        ratio: f64,
    },
}

impl FromStr for DuctSection {
    type Err = Error;

    /// `circle`, `slit`, or `rectangle:RATIO`.
    fn from_str(text: &str) -> Result<Self> {
        let wrong = || {
            Error::invalid(
                "section",
                text,
                format!(
                    "circle, slit, or rectangle:RATIO with the longer side over the smaller one, 1 to {LONGEST}"
                ),
            )
        };
        match text {
            "circle" => return Ok(Self::Circle),
            "slit" => return Ok(Self::Slit),
            _ => {}
        }
        let ratio = text.strip_prefix("rectangle:").ok_or_else(wrong)?;
        let ratio: f64 = ratio.parse().map_err(|_| wrong())?;
        if !(1.0..=LONGEST).contains(&ratio) {
            return Err(wrong());
        }
        Ok(Self::Rectangle { ratio })
    }
}

impl fmt::Display for DuctSection {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Circle => f.write_str("circle"),
            Self::Slit => f.write_str("slit"),
            Self::Rectangle { ratio } => write!(f, "rectangle:{ratio}"),
        }
    }
}

impl Serialize for DuctSection {
    fn serialize<S: Serializer>(&self, serializer: S) -> std::result::Result<S::Ok, S::Error> {
        serializer.collect_str(self)
    }
}

/// Numbers of points by which the equations of a duct are solved.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct DuctGrid {
    /// Functions of the radius, or across the smaller side, 3 to 40. The longer side has more, by its length.
    pub functions: usize,
    /// Angles of each piece of the directions, 3 to 64.
    pub angles: usize,
    /// Points along a ray to the wall, 4 to 128.
    pub points: usize,
}

/// An infinite duct.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Duct {
    /// The section.
    pub section: DuctSection,
    /// The relaxation model.
    pub model: Model,
    /// The rotation of the molecules, of the polyatomic model alone; without it the default.
    pub rotation: Option<Rotation>,
    /// Rarefaction parameter: the radius, or the smaller side, over l0 = mu0 v0/p0, 1e-9 to 300.
    pub delta: f64,
    /// Share of the molecules that the wall emits diffusely, 0.01 to 1; of a circle from 1e-6 on.
    pub accommodation: f64,
    /// The points of the solution; without them those of [`Duct::grid_of_default`].
    pub grid: Option<DuctGrid>,
}

/// The flow along a duct.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct DuctFlow {
    /// Mass flow over (area rho0 v0/2) for a unit fall of the pressure over the radius or the smaller side.
    pub g_p: f64,
    /// The same against a unit fall of the temperature.
    pub g_t: f64,
    /// The flow of heat by a fall of the pressure, which Onsager's relation makes `g_t`: the difference is an error of the solution.
    pub g_t_by_heat: f64,
}

impl Duct {
    /// Least and largest rarefaction parameter.
    pub const RAREFACTIONS: [f64; 2] = [1e-9, 300.0];
    /// Work of repeats that are made without being asked for.
    pub const PATIENCE: f64 = 4.0 * SECONDS;

    /// Gas of Shakhov's model between diffuse walls.
    pub fn new(section: DuctSection, delta: f64) -> Self {
        Self {
            section,
            model: Model::Shakhov,
            rotation: None,
            delta,
            accommodation: 1.0,
            grid: None,
        }
    }

    /// The points that suit the rarefaction: relative errors are some 1e-6, and 1e-5 for the thickest gas and for walls that mirror a part.
    pub fn grid_of_default(&self) -> DuctGrid {
        if self.section == DuctSection::Circle {
            // One row of points costs little.
            let (functions, angles, points) = match self.delta {
                delta if delta <= 50.0 => (12, 14, 24),
                _ => (18, 16, 36),
            };
            return DuctGrid {
                functions,
                angles,
                points,
            };
        }
        let (functions, points) = match self.delta {
            delta if delta <= 10.0 => (8, 16),
            delta if delta <= 50.0 => (10, 20),
            _ => (12, 24),
        };
        let is_easy = self.delta <= 50.0 && self.section != DuctSection::Slit;
        DuctGrid {
            functions,
            angles: if is_easy { 8 } else { 10 },
            points,
        }
    }

    fn own_grid(&self) -> DuctGrid {
        self.grid.unwrap_or_else(|| self.grid_of_default())
    }

    /// Refuses numbers out of their ranges.
    ///
    /// # Errors
    /// The number and its range.
    pub fn check(&self) -> Result<()> {
        let [thin, thick] = Self::RAREFACTIONS;
        if !(thin..=thick).contains(&self.delta) {
            return Err(Error::invalid(
                "delta",
                self.delta,
                format!("a number from {thin:e} to {thick}"),
            ));
        }
        let (least, sections) = match self.section {
            DuctSection::Circle => (LEAST_SHARE_OF_CIRCLE, "a circle"),
            _ => (LEAST_SHARE, "a slit or a rectangle"),
        };
        if !(least..=1.0).contains(&self.accommodation) {
            return Err(Error::invalid(
                "accommodation",
                self.accommodation,
                format!("a share from {least} to 1 for {sections}"),
            ));
        }
        if let DuctSection::Rectangle { ratio } = self.section
            && !(1.0..=LONGEST).contains(&ratio)
        {
            return Err(Error::invalid(
                "section",
                self.section,
                format!("a ratio from 1 to {LONGEST}, the longer side over the smaller one"),
            ));
        }
        let grid = self.own_grid();
        for (axis, count) in self.axes().iter().zip(counts(&grid)) {
            if !axis.range.contains(&count) {
                let [least, most] = [axis.range.start(), axis.range.end()];
                return Err(Error::invalid(
                    axis.name,
                    count,
                    format!("{least} to {most}"),
                ));
            }
        }
        self.rotation.map_or(Ok(()), |rotation| rotation.check())
    }

    /// Functions along the longer side.
    fn functions_along(&self, functions: usize) -> usize {
        match self.section {
            DuctSection::Circle | DuctSection::Slit => 1,
            DuctSection::Rectangle { ratio } => {
                functions + (0.25 * functions as f64 * ratio.ln()).round() as usize
            }
        }
    }

    fn sides(&self, functions: usize) -> Result<[Side; 2]> {
        let along = match self.section {
            DuctSection::Circle => return Ok([Side::endless(), Side::radius(functions, 1)?]),
            DuctSection::Slit => Side::endless(),
            DuctSection::Rectangle { ratio } => {
                let stretchings = if ratio >= LONG { 2 } else { 1 };
                Side::new(0.5 * ratio, self.functions_along(functions), stretchings)?
            }
        };
        Ok([along, Side::new(0.5, functions, 1)?])
    }

    fn gas(&self) -> Gas {
        let (kept, freedom) = match self.model {
            Model::Bgk => ([[0.0; 2]; 2], None),
            Model::Polyatomic => {
                let rotation = self.rotation.unwrap_or_default();
                let [[tt, tr], [rt, rr]] = rotation.matrix(rotation.relaxation(1.0));
                ([[1.0 - tt, -tr], [-rt, 1.0 - rr]], Some(rotation.freedom))
            }
            _ => ([[1.0 / 3.0, 0.0], [0.0; 2]], None),
        };
        Gas {
            delta: self.delta,
            kept,
            freedom,
        }
    }

    /// Solves the equations of the duct.
    ///
    /// # Errors
    /// Those of [`Duct::check`]; [`Error::Numerical`] for a singular system.
    pub fn solve(&self) -> Result<DuctFlow> {
        self.check()?;
        let DuctGrid {
            functions,
            angles,
            points,
        } = self.own_grid();
        let sides = self.sides(functions)?;
        let mirrored = 1.0 - self.accommodation;
        let means = equations::means(&self.gas(), mirrored, &sides, (angles, points))?;
        let [by_pressure, by_temperature] = means.velocity;
        let [moving, rotating] = means.heat[0];
        let found = DuctFlow {
            g_p: 2.0 * by_pressure,
            g_t: -2.0 * by_temperature,
            g_t_by_heat: -4.0 * (moving + rotating),
        };
        let is_sound = found.g_p.is_finite() && found.g_t.is_finite() && found.g_p > 0.0;
        if !is_sound {
            return Err(Error::Numerical(format!(
                "the duct of delta {} has no flow on {functions} functions",
                self.delta
            )));
        }
        Ok(found)
    }

    /// The same duct on other points.
    #[must_use]
    pub fn on(&self, counts: &[usize]) -> Self {
        let own = self.own_grid();
        let count = |k: usize, own| counts.get(k).copied().unwrap_or(own);
        Self {
            grid: Some(DuctGrid {
                functions: count(0, own.functions),
                angles: count(1, own.angles),
                points: count(2, own.points),
            }),
            ..*self
        }
    }
}

fn counts(grid: &DuctGrid) -> [usize; 3] {
    [grid.functions, grid.angles, grid.points]
}

impl DuctFlow {
    /// The quantities that have an error, by their keys.
    pub fn quantities(&self) -> Vec<Quantity> {
        vec![
            Quantity::new("g_p", self.g_p),
            Quantity::new("g_t", self.g_t),
        ]
    }

    /// The relative error that is left on the finest points: Onsager's relation shows it.
    pub fn floor(&self) -> f64 {
        ((self.g_t_by_heat - self.g_t) / self.g_t).abs().max(FLOOR)
    }
}

impl Repeatable for Duct {
    fn axes(&self) -> Vec<Axis> {
        // Errors fall faster than any power.
        let axis = |name, order, range| Axis {
            shares: vec![0.75],
            sure: 0,
            ..Axis::new(name, order, range)
        };
        vec![
            axis("functions", SPECTRAL, 3..=40),
            Axis {
                on_coarser: true,
                ..axis("angles", SPECTRAL, 3..=64)
            },
            Axis {
                on_coarser: true,
                ..axis("points", SPECTRAL, 4..=128)
            },
        ]
    }

    fn grid(&self) -> Vec<usize> {
        counts(&self.own_grid()).to_vec()
    }

    fn work(&self, grid: &[usize]) -> f64 {
        let [functions, angles, points] = [0, 1, 2].map(|k| grid[k] as f64);
        let unknowns = functions * self.functions_along(grid[0]) as f64;
        // The section, and its nearest images with their share of the corners.
        let parts = if self.accommodation < 1.0 { 6.0 } else { 1.0 };
        // Directions towards the four walls, each in a few pieces.
        let rays = unknowns * 16.0 * angles;
        rays * points * parts * (100.0 + 3.0 * unknowns) + unknowns.powi(3)
    }

    fn tolerance(&self) -> f64 {
        FLOOR
    }

    fn repeat(&self, grid: &[usize], _: &dyn Watch) -> Result<Option<Vec<Quantity>>> {
        Ok(Some(self.on(grid).solve()?.quantities()))
    }
}

#[cfg(test)]
mod tests;
