//! The gas: its relaxation model and its viscosity law.

use serde::{Deserialize, Serialize};

use crate::error::{Error, Result};

/// The model of the collision integral.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
#[non_exhaustive]
pub enum Model {
    /// Bhatnagar, Gross and Krook, and Welander: relaxation to the local Maxwellian; the Prandtl number is 1.
    #[default]
    Bgk,
    /// Shakhov: relaxation to a Maxwellian with the heat flux's third moment, for any Prandtl number, 2/3 for a monatomic gas.
    Shakhov,
}

/// The gas: relaxation model, Prandtl number, viscosity law, and how often its molecules collide.
///
/// The relaxation frequency is `nu = p / mu`, matched to the viscosity mu ~ T^omega, hence `nu = frequency * n T^(1-omega)`.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
pub struct Gas {
    /// The relaxation model.
    pub model: Model,
    /// Prandtl number of the Shakhov model; the BGK model has 1 for any value here.
    pub prandtl: f64,
    /// Exponent of the viscosity.
    pub omega: f64,
    /// Relaxation frequency at unit density and temperature: 1 in the units of this module, 0 for a gas without collisions.
    pub frequency: f64,
}

impl Default for Gas {
    fn default() -> Self {
        Self {
            model: Model::Bgk,
            prandtl: 2.0 / 3.0,
            omega: 0.74,
            frequency: 1.0,
        }
    }
}

impl Gas {
    /// Relaxation frequency at a density and a temperature.
    pub fn relaxation_frequency(&self, density: f64, temperature: f64) -> f64 {
        self.frequency * density * temperature.powf(1.0 - self.omega)
    }

    /// The Prandtl number of the model: 1 for BGK.
    pub fn effective_prandtl(&self) -> f64 {
        match self.model {
            Model::Bgk => 1.0,
            Model::Shakhov => self.prandtl,
        }
    }

    /// Checks what the types alone do not.
    ///
    /// # Errors
    /// A Prandtl number, exponent or frequency out of range.
    pub fn validate(&self) -> Result<()> {
        if !(self.prandtl > 0.0 && self.prandtl <= 1.0) {
            return Err(Error::invalid(
                "prandtl",
                self.prandtl,
                "a Prandtl number above 0 and at most at 1",
            ));
        }
        if !(0.0..=1.5).contains(&self.omega) {
            return Err(Error::invalid(
                "omega",
                self.omega,
                "a viscosity exponent between 0 and 1.5",
            ));
        }
        if !(self.frequency >= 0.0 && self.frequency.is_finite()) {
            return Err(Error::invalid(
                "frequency",
                self.frequency,
                "a relaxation frequency that is finite and not negative",
            ));
        }
        Ok(())
    }
}
