//! From pascals, kelvins and metres to the units of this module.

use serde::{Deserialize, Serialize};

use crate::error::{Error, Result};

/// A gas whose viscosity is known.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
#[non_exhaustive]
pub enum Species {
    /// Helium.
    Helium,
    /// Neon.
    Neon,
    /// Argon.
    Argon,
    /// Krypton.
    Krypton,
    /// Xenon.
    Xenon,
    /// Nitrogen, whose molecules rotate, as do those that follow.
    Nitrogen,
    /// Oxygen.
    Oxygen,
    /// Air, as one gas.
    Air,
    /// Hydrogen.
    Hydrogen,
}

/// Boltzmann's constant, J/K.
const BOLTZMANN: f64 = 1.380_649e-23;
/// Temperature at which the viscosities are given, K.
const REFERENCE: f64 = 273.0;

impl Species {
    /// The names.
    #[cfg(feature = "cli")]
    pub(crate) const NAMES: [&str; 9] = [
        "helium", "neon", "argon", "krypton", "xenon", "nitrogen", "oxygen", "air", "hydrogen",
    ];

    /// Mass of a molecule in kg, viscosity at 273 K in Pa s, and the exponent of its growth with temperature: G. A. Bird, *Molecular Gas Dynamics and the
    /// Direct Simulation of Gas Flows* (1994), appendix A.
    fn data(self) -> (f64, f64, f64) {
        match self {
            Self::Helium => (6.65e-27, 1.865e-5, 0.66),
            Self::Neon => (33.5e-27, 2.975e-5, 0.66),
            Self::Argon => (66.3e-27, 2.117e-5, 0.81),
            Self::Krypton => (139.1e-27, 2.328e-5, 0.80),
            Self::Xenon => (218.0e-27, 2.107e-5, 0.85),
            Self::Nitrogen => (46.5e-27, 1.656e-5, 0.74),
            Self::Oxygen => (53.12e-27, 1.919e-5, 0.77),
            Self::Air => (48.1e-27, 1.719e-5, 0.77),
            Self::Hydrogen => (3.34e-27, 0.845e-5, 0.67),
        }
    }

    /// Exponent of the viscosity.
    pub fn omega(self) -> f64 {
        self.data().2
    }
}

/// The units of this module in SI units, for a gas at a pressure and a temperature.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
#[non_exhaustive]
pub struct Units {
    /// l0, in m.
    pub length_m: f64,
    /// `v0 = sqrt(2 R T0)`, in m/s.
    pub velocity_m_s: f64,
    /// `1/nu0`, in s.
    pub time_s: f64,
    /// rho0, in kg/m^3.
    pub density_kg_m3: f64,
    /// T0, in K.
    pub temperature_k: f64,
    /// `rho0 v0^2` = 2 p0, in Pa: the unit of the pressure tensor.
    pub pressure_pa: f64,
    /// `rho0 v0^3`, in W/m^2: the unit of the heat flux.
    pub heat_flux_w_m2: f64,
}

impl Units {
    /// The units of a gas whose reference state is at this pressure and temperature.
    ///
    /// # Errors
    /// A pressure or temperature that is not positive and finite.
    pub fn new(species: Species, pressure_pa: f64, temperature_k: f64) -> Result<Self> {
        for (value, what) in [(pressure_pa, "pressure"), (temperature_k, "temperature")] {
            if !(value.is_finite() && value > 0.0) {
                return Err(Error::invalid(
                    what,
                    value,
                    "a number that must be positive and finite",
                ));
            }
        }
        let (mass, viscosity, omega) = species.data();
        let velocity = (2.0 * BOLTZMANN * temperature_k / mass).sqrt();
        let viscosity = viscosity * (temperature_k / REFERENCE).powf(omega);
        let density = mass * pressure_pa / (BOLTZMANN * temperature_k);
        let time = viscosity / pressure_pa;
        Ok(Self {
            length_m: velocity * time,
            velocity_m_s: velocity,
            time_s: time,
            density_kg_m3: density,
            temperature_k,
            pressure_pa: density * velocity * velocity,
            heat_flux_w_m2: density * velocity.powi(3),
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn argon_at_standard_conditions() {
        let units = Units::new(Species::Argon, 101_325.0, 273.0).unwrap();
        // Mean free path of hard spheres of this viscosity: 0.9027 l0 = 16 mu / (5 rho sqrt(2 pi R T)) = 63.5 nm.
        assert!(
            (0.9027 * units.length_m - 6.36e-8).abs() < 0.01e-8,
            "{units:?}"
        );
        assert!((units.velocity_m_s - 337.2).abs() < 0.2);
        assert!((units.pressure_pa - 2.0 * 101_325.0).abs() < 1e-6);
        assert!(Units::new(Species::Argon, -1.0, 273.0).is_err());
    }
}
