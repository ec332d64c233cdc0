//! The relaxation models.

use serde::{Deserialize, Serialize};

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
    /// Molecules that rotate: a Shakhov model with two temperatures and two heat fluxes, [`Rotation`](crate::bgk::Rotation).
    Polyatomic,
}

impl Model {
    /// The name in a sentence.
    pub fn written(self) -> &'static str {
        match self {
            Self::Bgk => "BGK",
            Self::Shakhov => "Shakhov",
            Self::Polyatomic => "polyatomic",
        }
    }
}
