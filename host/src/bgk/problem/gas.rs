//! The gas: its relaxation model and its viscosity law.

use serde::{Deserialize, Serialize};

use super::model::Model;
use crate::bgk::Rotation;
use crate::collision::Scattering;
use crate::error::{Error, Result};

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
    /// The rotation of the molecules of the model polyatomic; without it the usual one.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub rotation: Option<Rotation>,
}

impl Default for Gas {
    fn default() -> Self {
        Self {
            model: Model::Bgk,
            prandtl: 2.0 / 3.0,
            omega: 0.74,
            frequency: 1.0,
            rotation: None,
        }
    }
}

/// Mean free path of molecules in l0, at the reference state: `alpha (5-2 omega) (7-2 omega) / (2.5 sqrt(pi) (alpha+1) (alpha+2))` with the exponents of viscosity and scattering.
///
/// Hard spheres have 0.903, argon as variable hard spheres (omega = 0.81) 0.684. G. A. Bird, *Molecular Gas Dynamics and the Direct Simulation of Gas Flows* (1994), eqs. 4.65 and 4.66.
pub fn mean_free_path(molecules: Scattering) -> f64 {
    let (omega, alpha) = match molecules {
        Scattering::Vhs { omega } => (omega, 1.0),
        Scattering::Vss { omega, alpha } => (omega, alpha),
        other => (1.0 - 0.5 * other.gamma(), 1.0),
    };
    let softness = alpha / ((alpha + 1.0) * (alpha + 2.0));
    softness * (5.0 - 2.0 * omega) * (7.0 - 2.0 * omega) / (2.5 * std::f64::consts::PI.sqrt())
}

impl Gas {
    /// Relaxation frequency at a density and a temperature.
    pub fn relaxation_frequency(&self, density: f64, temperature: f64) -> f64 {
        self.frequency * density * temperature.powf(1.0 - self.omega)
    }

    /// The Prandtl number of the model: 1 for BGK.
    pub fn effective_prandtl(&self) -> f64 {
        match (self.model, self.rotating()) {
            (Model::Bgk, _) => 1.0,
            (_, Some(rotation)) => rotation.prandtl,
            (_, None) => self.prandtl,
        }
    }

    /// The rotation of the molecules; none of single atoms.
    pub fn rotating(&self) -> Option<Rotation> {
        (self.model == Model::Polyatomic).then(|| self.rotation.unwrap_or_default())
    }

    /// Ratio of the specific heats.
    pub fn heat_ratio(&self) -> f64 {
        self.rotating()
            .map_or(5.0 / 3.0, |rotation| rotation.heat_ratio())
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
        match (self.model, &self.rotation) {
            (Model::Polyatomic, Some(rotation)) => rotation.check(),
            (_, None) => Ok(()),
            (_, Some(_)) => Err(Error::invalid(
                "rotation",
                "a rotation of the molecules",
                "the model polyatomic, whose molecules rotate",
            )),
        }
    }

    /// Refuses molecules that rotate.
    pub(crate) fn refuse_rotation(&self, of: &str) -> Result<()> {
        match self.rotating() {
            None => Ok(()),
            Some(_) => Err(Error::invalid(
                "model",
                "polyatomic",
                format!(
                    "single atoms for {of}, as of argon; a relaxation model has molecules that rotate"
                ),
            )),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn mean_free_paths_are_those_of_bird() {
        for (molecules, path) in [
            (Scattering::HardSphere, 0.902703),
            (Scattering::Vhs { omega: 0.81 }, 0.683963),
            (Scattering::Maxwell, 0.564190),
            (
                Scattering::Vss {
                    omega: 0.81,
                    alpha: 1.4,
                },
                0.704080,
            ),
        ] {
            let found = mean_free_path(molecules);
            assert!((found - path).abs() < 2e-6, "{molecules:?}: {found}");
        }
    }
}
