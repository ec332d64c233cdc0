//! Molecules that rotate, as flags give them and records keep them.

use std::fmt;
use std::str::FromStr;

use serde_json::{Value, json};

use super::text::kept_as_text;
use crate::bgk::{Rotation, RotationalCollisions};
use crate::error::Error;

/// Eucken factors of translation and rotation.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) struct Eucken(pub(super) [f64; 2]);

kept_as_text!(Eucken);

impl FromStr for Eucken {
    type Err = &'static str;

    fn from_str(text: &str) -> Result<Self, Self::Err> {
        let factors = text.split_once(',').and_then(|(of_t, of_r)| {
            let factor = |text: &str| text.trim().parse::<f64>().ok().filter(|f| *f > 0.0);
            Some([factor(of_t)?, factor(of_r)?])
        });
        factors
            .map(Self)
            .ok_or("two positive numbers are needed, such as 2.32,1.40")
    }
}

impl fmt::Display for Eucken {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self([of_t, of_r]) = self;
        write!(f, "{of_t},{of_r}")
    }
}

/// Collisions in which rotation relaxes.
pub(super) fn collisions(text: &str) -> Result<RotationalCollisions, String> {
    text.parse().map_err(|error| match error {
        Error::Input { expected, .. } => format!("{expected} is needed"),
        other => other.to_string(),
    })
}

/// What a record has of a rotation, at the temperature 1.
pub(super) fn recorded(rotation: &Rotation) -> Value {
    let z = rotation.relaxation(1.0);
    json!({
        "collisions": rotation.collisions.at(rotation.kelvin),
        "relaxation_time": z,
        "heat_flux_rates": rotation.matrix(z),
        "eucken_factors": rotation.eucken_factors(z),
        "bulk_viscosity": rotation.bulk_viscosity(z),
    })
}
