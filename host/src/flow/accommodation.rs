//! Reflection of molecules by walls, as a case has it.

use std::fmt;

use serde::de::value::MapAccessDeserializer;
use serde::de::{MapAccess, Visitor};
use serde::{Deserialize, Deserializer, Serialize, Serializer};

use crate::error::{Error, Result};

/// The reflection of molecules by a wall.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Accommodation {
    /// Maxwell's: this share is emitted anew, the rest is mirrored.
    Share(f64),
    /// The kernel of Cercignani and Lampis (1971).
    Scattering(Scattering),
}

/// Coefficients of the kernel of Cercignani and Lampis.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Scattering {
    /// Accommodation of the momentum along the wall.
    pub tangential: f64,
    /// Accommodation of the energy of the motion across the wall.
    pub normal: f64,
}

impl Default for Accommodation {
    fn default() -> Self {
        Self::Share(1.0)
    }
}

impl Accommodation {
    /// The share of Maxwell's diffuse part in what the sweep emits; a scattering wall emits its image alone.
    pub(super) fn diffuse(&self) -> f64 {
        match self {
            Self::Share(share) => *share,
            Self::Scattering(_) => 0.0,
        }
    }

    /// The hold on the gas along the wall, for the equations of the continuum.
    pub(super) fn grip(&self) -> f64 {
        match self {
            Self::Share(share) => *share,
            Self::Scattering(kernel) => kernel.tangential,
        }
    }

    /// The kernel of a scattering wall.
    pub(super) fn kernel(&self) -> Option<Scattering> {
        match self {
            Self::Share(_) => None,
            Self::Scattering(kernel) => Some(*kernel),
        }
    }

    /// Refuses shares out of range.
    ///
    /// # Errors
    /// The share and its range.
    pub(super) fn check(&self, expected: &str) -> Result<()> {
        let inside = |x: f64| x > 0.0 && x <= 1.0;
        match self {
            Self::Share(share) if !inside(*share) => {
                Err(Error::invalid("accommodation", *share, expected))
            }
            Self::Scattering(Scattering { tangential, .. })
                if !(*tangential > 0.0 && *tangential < 2.0) =>
            {
                Err(Error::invalid(
                    "accommodation.tangential",
                    *tangential,
                    "a number above 0 and below 2, such as 0.9",
                ))
            }
            Self::Scattering(Scattering { normal, .. }) if !inside(*normal) => Err(Error::invalid(
                "accommodation.normal",
                *normal,
                "a number above 0 and at most 1, such as 0.8",
            )),
            _ => Ok(()),
        }
    }
}

impl Serialize for Accommodation {
    fn serialize<S: Serializer>(&self, to: S) -> std::result::Result<S::Ok, S::Error> {
        match self {
            Self::Share(share) => share.serialize(to),
            Self::Scattering(kernel) => kernel.serialize(to),
        }
    }
}

impl<'de> Deserialize<'de> for Accommodation {
    fn deserialize<D: Deserializer<'de>>(from: D) -> std::result::Result<Self, D::Error> {
        struct Either;

        impl<'de> Visitor<'de> for Either {
            type Value = Accommodation;

            fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.write_str("a number, or { tangential, normal } of Cercignani and Lampis")
            }

            fn visit_f64<E>(self, value: f64) -> std::result::Result<Accommodation, E> {
                Ok(Accommodation::Share(value))
            }

            fn visit_i64<E>(self, value: i64) -> std::result::Result<Accommodation, E> {
                Ok(Accommodation::Share(value as f64))
            }

            fn visit_u64<E>(self, value: u64) -> std::result::Result<Accommodation, E> {
                Ok(Accommodation::Share(value as f64))
            }

            fn visit_map<A: MapAccess<'de>>(
                self,
                map: A,
            ) -> std::result::Result<Accommodation, A::Error> {
                Scattering::deserialize(MapAccessDeserializer::new(map))
                    .map(Accommodation::Scattering)
            }
        }

        from.deserialize_any(Either)
    }
}
