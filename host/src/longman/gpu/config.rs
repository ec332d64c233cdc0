//! Configurations of a batch: the oscillation, the areas, the accuracy.

use serde::{Deserialize, Serialize};

use crate::error::{Error, Result};
use crate::longman::zeros::MAX_BESSEL_ORDER;

/// The oscillator of an amplitude g(x).
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
#[non_exhaustive]
pub enum Oscillation {
    /// cos(omega x)
    Cos,
    /// sin(omega x)
    Sin,
    /// J_nu(omega x), nu > -1
    Bessel(f64),
    /// Nothing: the amplitude is the whole integrand, and its areas lie between these boundaries, in units of 1 / omega.
    Boundaries {
        /// The lower limit.
        start: f64,
        /// The boundaries, ascending, one more than there are areas; none below the lower limit.
        at: Vec<f64>,
    },
}

impl Oscillation {
    /// Refuses orders and boundaries out of range.
    ///
    /// # Errors
    /// Orders and boundaries out of range.
    pub fn check(&self, areas: usize) -> Result<()> {
        match self {
            Self::Cos | Self::Sin => Ok(()),
            Self::Bessel(nu) if *nu > -1.0 && *nu <= MAX_BESSEL_ORDER => Ok(()),
            Self::Bessel(nu) => Err(Error::invalid(
                "order",
                nu,
                format!("an order of the Bessel function above -1, up to {MAX_BESSEL_ORDER}"),
            )),
            Self::Boundaries { start, at } => {
                let ascending = at.windows(2).all(|pair| pair[0] < pair[1])
                    && at.iter().all(|x| x.is_finite())
                    && at.first().is_some_and(|first| start <= first)
                    && start.is_finite();
                if ascending && at.len() > areas {
                    Ok(())
                } else {
                    Err(Error::invalid(
                        "boundaries",
                        areas,
                        format!(
                            "boundaries that ascend from the lower limit on, {} for so many areas",
                            areas + 1
                        ),
                    ))
                }
            }
        }
    }
}

/// Settings shared by all integrals.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct BatchConfig {
    /// The oscillation.
    pub oscillation: Oscillation,
    /// Areas N, 8 to 64.
    pub areas: usize,
    /// Relative tolerance.
    pub relative: f64,
    /// Absolute tolerance.
    pub absolute: f64,
    /// Accuracy of the integrand in units of the machine epsilon.
    pub accuracy: f64,
}

impl BatchConfig {
    /// 24 areas, relative tolerance 1e-10, an integrand accurate to 4 units, or 16 with a Bessel function.
    pub fn new(oscillation: Oscillation) -> Self {
        let accuracy = match oscillation {
            Oscillation::Bessel(_) => 16.0,
            _ => 4.0,
        };
        Self {
            oscillation,
            areas: 24,
            relative: 1e-10,
            absolute: 0.0,
            accuracy,
        }
    }

    /// Refuses what no launch can do.
    ///
    /// # Errors
    /// A number of areas outside 8..=64; tolerances or an accuracy below 0 or not finite; as [`Oscillation::check`].
    pub fn check(&self) -> Result<()> {
        if !(8..=64).contains(&self.areas) {
            return Err(Error::invalid("areas", self.areas, "8 to 64 areas"));
        }
        for (what, value) in [
            ("relative tolerance", self.relative),
            ("absolute tolerance", self.absolute),
            ("accuracy of the integrand", self.accuracy),
        ] {
            if !(value.is_finite() && value >= 0.0) {
                return Err(Error::invalid(what, value, "a number of at least 0"));
            }
        }
        self.oscillation.check(self.areas)
    }
}
