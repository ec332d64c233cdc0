//! The conditions at the ends of space.

use serde::{Deserialize, Serialize};

use super::State;
use crate::error::{Error, Result};

/// The condition at one face of space.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
#[non_exhaustive]
pub enum Boundary {
    /// Molecules come in from a gas in equilibrium; those that leave are gone.
    Inflow(State),
    /// A wall: of the molecules that strike it the share `accommodation` comes back with the wall's velocity and temperature, the rest is mirrored
    /// (Maxwell's scattering kernel). No mass passes.
    Wall(Wall),
    /// A plane of symmetry, or a perfectly smooth wall: all molecules are mirrored.
    Specular,
    /// The outflow enters at the opposite face, which must be periodic too.
    Periodic,
}

/// A wall at rest in its normal direction.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
pub struct Wall {
    /// Temperature.
    pub temperature: f64,
    /// Velocity; its component normal to the wall is 0.
    pub velocity: [f64; 2],
    /// Accommodation coefficient, 0 to 1: the share of diffuse reflections.
    pub accommodation: f64,
}

impl Wall {
    /// A wall at this temperature, at rest and fully accommodating.
    pub fn diffuse(temperature: f64) -> Self {
        Self {
            temperature,
            velocity: [0.0; 2],
            accommodation: 1.0,
        }
    }

    /// The same wall, moving with this velocity.
    #[must_use]
    pub fn moving(self, velocity: [f64; 2]) -> Self {
        Self { velocity, ..self }
    }

    /// The state whose Maxwellian the wall sends back, at unit density.
    pub fn state(&self) -> State {
        State {
            density: 1.0,
            velocity: self.velocity,
            temperature: self.temperature,
        }
    }
}

/// The conditions at the faces of space. In one dimension those of y are not used.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
pub struct Boundaries {
    /// At the lowest x.
    pub left: Boundary,
    /// At the highest x.
    pub right: Boundary,
    /// At the lowest y.
    pub bottom: Boundary,
    /// At the highest y.
    pub top: Boundary,
}

impl Boundaries {
    /// The ends of a line.
    pub fn line(left: Boundary, right: Boundary) -> Self {
        Self {
            left,
            right,
            bottom: Boundary::Periodic,
            top: Boundary::Periodic,
        }
    }

    /// The low and the high face along x (0) or y (1).
    pub fn along(&self, direction: usize) -> [Boundary; 2] {
        if direction == 0 {
            [self.left, self.right]
        } else {
            [self.bottom, self.top]
        }
    }

    /// Checks the faces of a space of so many dimensions.
    pub(in crate::bgk) fn validate(&self, dimensions: usize) -> Result<()> {
        let names = [["left", "right"], ["bottom", "top"]];
        for (direction, names) in names.into_iter().enumerate().take(dimensions) {
            let faces = self.along(direction);
            for (face, name) in faces.iter().zip(names) {
                match face {
                    Boundary::Inflow(state) => state
                        .validate()
                        .map_err(|e| e.within(&format!("{name} boundary")))?,
                    Boundary::Wall(wall) => {
                        wall.state()
                            .validate()
                            .map_err(|e| e.within(&format!("{name} wall")))?;
                        if !(0.0..=1.0).contains(&wall.accommodation) {
                            return Err(Error::invalid(
                                format!("{name} wall accommodation"),
                                wall.accommodation,
                                "an accommodation coefficient between 0 and 1",
                            ));
                        }
                        if wall.velocity[direction] != 0.0 {
                            return Err(Error::invalid(
                                format!("{name} wall velocity"),
                                wall.velocity[direction],
                                "no normal velocity: a wall moves along itself only",
                            ));
                        }
                    }
                    Boundary::Specular | Boundary::Periodic => {}
                }
            }
            let periodic = faces.map(|face| face == Boundary::Periodic);
            if periodic[0] != periodic[1] {
                return Err(Error::invalid(
                    format!("{} and {} boundaries", names[0], names[1]),
                    "one that is periodic",
                    "both periodic, or none",
                ));
            }
        }
        Ok(())
    }

    /// Whether a face along this direction mirrors velocities, so that their axis must be symmetric.
    pub(in crate::bgk) fn mirrors(&self, direction: usize) -> bool {
        self.along(direction).iter().any(|face| match face {
            Boundary::Specular => true,
            Boundary::Wall(wall) => wall.accommodation < 1.0,
            Boundary::Inflow(_) | Boundary::Periodic => false,
        })
    }
}
