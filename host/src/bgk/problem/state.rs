//! A gas in local equilibrium.

use serde::{Deserialize, Serialize};

use crate::error::{Error, Result};

/// A gas in local equilibrium: density, mean velocity, temperature, in the units of this module.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
pub struct State {
    /// Density n.
    pub density: f64,
    /// Mean velocity (u_x, u_y).
    pub velocity: [f64; 2],
    /// Temperature T.
    pub temperature: f64,
}

impl State {
    /// Gas at rest at unit density and temperature.
    pub const REST: Self = Self {
        density: 1.0,
        velocity: [0.0; 2],
        temperature: 1.0,
    };

    /// A state that moves along x.
    pub fn along_x(density: f64, velocity: f64, temperature: f64) -> Self {
        Self {
            density,
            velocity: [velocity, 0.0],
            temperature,
        }
    }

    /// Checks that it is one.
    ///
    /// # Errors
    /// A density or temperature that is not positive, or a value that is not finite.
    pub fn validate(&self) -> Result<()> {
        let positive = |value: f64| value.is_finite() && value > 0.0;
        if !positive(self.density) {
            return Err(Error::invalid(
                "density",
                self.density,
                "a density that must be positive and finite",
            ));
        }
        if !positive(self.temperature) {
            return Err(Error::invalid(
                "temperature",
                self.temperature,
                "a temperature that must be positive and finite",
            ));
        }
        if !self.velocity.iter().all(|u| u.is_finite()) {
            return Err(Error::invalid(
                "velocity",
                format!("({}, {})", self.velocity[0], self.velocity[1]),
                "a finite mean velocity",
            ));
        }
        Ok(())
    }
}
