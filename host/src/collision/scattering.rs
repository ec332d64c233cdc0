//! The law by which molecules scatter.

use std::fmt;
use std::str::FromStr;

use serde::{Deserialize, Serialize};

use crate::error::{Error, Result};

/// The differential cross-section `g b db de = C g^gamma B(chi) dOmega` of a collision that turns the relative velocity by chi; the scattering is isotropic, B = 1, but for
/// variable soft spheres.
///
/// C = sigma_T / (4 pi), where sigma_T is the total cross-section at unit relative speed (for hard spheres of diameter d it is pi d^2 at
/// any speed).
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(try_from = "String", into = "String")]
#[non_exhaustive]
pub enum Scattering {
    /// Hard spheres: gamma = 1.
    #[default]
    HardSphere,
    /// Pseudo-Maxwell molecules: gamma = 0.
    Maxwell,
    /// Variable hard spheres with viscosity exponent omega in [1/2, 1]: gamma = 2 (1 - omega).
    Vhs {
        /// Exponent of the temperature in the viscosity.
        omega: f64,
    },
    /// Variable soft spheres (Koura and Matsumoto 1991): `B = alpha cos^(2 (alpha-1)) (chi/2)`, whose mean over the sphere is 1, and gamma = 2 (1 - omega). Only the
    /// spectral method takes them.
    Vss {
        /// Exponent of the temperature in the viscosity.
        omega: f64,
        /// Exponent of the scattering, from 1, which is isotropic, to 2.
        alpha: f64,
    },
}

impl Scattering {
    /// The exponent gamma of the relative speed.
    pub fn gamma(self) -> f64 {
        match self {
            Self::HardSphere => 1.0,
            Self::Maxwell => 0.0,
            Self::Vhs { omega } | Self::Vss { omega, .. } => 2.0 * (1.0 - omega),
        }
    }

    /// The exponent alpha of the scattering: 1 where it is isotropic.
    pub fn alpha(self) -> f64 {
        match self {
            Self::Vss { alpha, .. } => alpha,
            _ => 1.0,
        }
    }

    /// Checks the exponents.
    pub(super) fn validate(self) -> Result<()> {
        let omega = match self {
            Self::Vhs { omega } | Self::Vss { omega, .. } => omega,
            _ => 0.5,
        };
        if !(0.5..=1.0).contains(&omega) {
            return Err(Error::invalid(
                "omega",
                omega,
                "a viscosity exponent that lies between 0.5 and 1",
            ));
        }
        let alpha = self.alpha();
        if !(1.0..=2.0).contains(&alpha) {
            return Err(Error::invalid(
                "alpha",
                alpha,
                "a scattering exponent that lies between 1 and 2",
            ));
        }
        Ok(())
    }
}

impl fmt::Display for Scattering {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::HardSphere => f.write_str("hard-sphere"),
            Self::Maxwell => f.write_str("maxwell"),
            Self::Vhs { omega } => write!(f, "vhs:{omega}"),
            Self::Vss { omega, alpha } => write!(f, "vss:{omega},{alpha}"),
        }
    }
}

impl FromStr for Scattering {
    type Err = Error;

    fn from_str(text: &str) -> Result<Self> {
        match text {
            "hard-sphere" => return Ok(Self::HardSphere),
            "maxwell" => return Ok(Self::Maxwell),
            _ => {}
        }
        let unknown = || {
            Error::invalid(
                "scattering",
                format!("unknown law '{text}'"),
                "a scattering law: hard-sphere, maxwell, vhs:OMEGA, or vss:OMEGA,ALPHA with OMEGA from 0.5 to 1 and ALPHA from 1 to 2",
            )
        };
        let number = |text: &str| text.parse::<f64>().map_err(|_| unknown());
        let law = if let Some(omega) = text.strip_prefix("vhs:") {
            Self::Vhs {
                omega: number(omega)?,
            }
        } else if let Some((omega, alpha)) = text
            .strip_prefix("vss:")
            .and_then(|both| both.split_once(','))
        {
            Self::Vss {
                omega: number(omega)?,
                alpha: number(alpha)?,
            }
        } else {
            return Err(unknown());
        };
        law.validate().map_err(|_| unknown())?;
        Ok(law)
    }
}

impl TryFrom<String> for Scattering {
    type Error = Error;

    fn try_from(text: String) -> Result<Self> {
        text.parse()
    }
}

impl From<Scattering> for String {
    fn from(law: Scattering) -> Self {
        law.to_string()
    }
}
