//! The law by which molecules scatter.

use std::fmt;
use std::str::FromStr;

use serde::{Deserialize, Serialize};

use crate::error::{Error, Result};

/// Isotropic scattering with the differential cross-section `g b db de = C g^gamma dOmega`.
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
}

impl Scattering {
    /// The exponent gamma of the relative speed.
    pub fn gamma(self) -> f64 {
        match self {
            Self::HardSphere => 1.0,
            Self::Maxwell => 0.0,
            Self::Vhs { omega } => 2.0 * (1.0 - omega),
        }
    }
}

impl fmt::Display for Scattering {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::HardSphere => f.write_str("hard-sphere"),
            Self::Maxwell => f.write_str("maxwell"),
            Self::Vhs { omega } => write!(f, "vhs:{omega}"),
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
        match text
            .strip_prefix("vhs:")
            .and_then(|omega| omega.parse().ok())
        {
            Some(omega) if (0.5..=1.0).contains(&omega) => Ok(Self::Vhs { omega }),
            _ => Err(Error::input(format!(
                "unknown scattering law '{text}'; use hard-sphere, maxwell, or vhs:OMEGA with OMEGA from 0.5 to 1"
            ))),
        }
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
