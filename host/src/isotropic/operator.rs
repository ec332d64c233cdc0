//! The configuration of an operator.

use std::fmt;
use std::str::FromStr;

use serde::{Deserialize, Serialize};

use super::{EnergyGrid, Weights};
use crate::compute::{Compute, Precision};
use crate::error::{Error, Result};

/// How two particles, or two agents, share what they have.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase", tag = "law")]
#[non_exhaustive]
pub enum CollisionKernel {
    /// A gas whose collision rate grows as |g n|^theta, the paper's kernel: theta = 0 has a constant collision frequency, theta = 1 are hard
    /// spheres. The mean over directions is g^theta / (theta + 1): half of the rate of [`CollisionKernel::Isotropic`] with gamma = 1.
    Power {
        /// The exponent, at least 0.
        theta: f64,
    },
    /// A gas of isotropic scattering whose collision rate at unit density is g^gamma (variable hard spheres).
    Isotropic {
        /// The exponent, at least 0.
        gamma: f64,
    },
    /// Agents who split what they have together uniformly at random.
    Money,
    /// The same with the shares distributed so that the equilibrium is a gamma distribution.
    Gamma {
        /// Its shape, above 0; 1 is [`CollisionKernel::Money`].
        alpha: f64,
    },
    /// Agents who save a fixed share of what they have and split the rest as in [`CollisionKernel::Money`].
    Saving {
        /// The share, at least 0 and below 1.
        lambda: f64,
    },
}

impl CollisionKernel {
    /// Whether f is a distribution over velocities in three dimensions; otherwise it is the number of agents in each cell.
    pub fn is_gas(self) -> bool {
        matches!(self, Self::Power { .. } | Self::Isotropic { .. })
    }

    /// Checks the law's number.
    pub(super) fn validate(self) -> Result<()> {
        let (field, value, good, expected) = match self {
            Self::Power { theta } => (
                "theta",
                theta,
                theta >= 0.0,
                "a finite exponent of at least 0",
            ),
            Self::Isotropic { gamma } => {
                let good = (0.0..=4.0).contains(&gamma);
                ("gamma", gamma, good, "an exponent between 0 and 4")
            }
            Self::Money => return Ok(()),
            Self::Gamma { alpha } => {
                let good = alpha > 0.0 && alpha <= 50.0;
                ("alpha", alpha, good, "a shape above 0 and at most 50")
            }
            Self::Saving { lambda } => {
                let good = (0.0..1.0).contains(&lambda);
                (
                    "lambda",
                    lambda,
                    good,
                    "a saved share of at least 0 and below 1",
                )
            }
        };
        if good && value.is_finite() {
            Ok(())
        } else {
            Err(Error::invalid(field, value, expected))
        }
    }
}

impl fmt::Display for CollisionKernel {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Power { theta } => write!(f, "gas, theta = {theta}"),
            Self::Isotropic { gamma } => write!(f, "isotropic scattering, gamma = {gamma}"),
            Self::Money => write!(f, "money"),
            Self::Gamma { alpha } => write!(f, "gamma({alpha})"),
            Self::Saving { lambda } => write!(f, "saving({lambda})"),
        }
    }
}

/// How the coefficients of [`CollisionKernel::Power`] are kept and summed. All give the same result to roundoff.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
#[non_exhaustive]
pub enum Storage {
    /// Every coefficient, 2/3 M^3 of them, as in the paper.
    Full,
    /// One of each set of equal coefficients, 1/12 M^3 of them.
    Compact,
    /// The M^2/2 coefficients of jumps, in O(M^2) operations; for theta = 1 M of them.
    #[default]
    Pairs,
}

/// A time integrator; all are explicit.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
#[non_exhaustive]
pub enum Integrator {
    /// First order, one evaluation a step.
    Euler,
    /// Third order, three evaluations a step; keeps f >= 0 for the same steps as Euler (Shu and Osher).
    #[default]
    Ssprk3,
    /// Fourth order, four evaluations a step; nonnegativity is not guaranteed.
    Rk4,
}

impl FromStr for Integrator {
    type Err = Error;

    fn from_str(text: &str) -> Result<Self> {
        match text {
            "euler" => Ok(Self::Euler),
            "ssprk3" => Ok(Self::Ssprk3),
            "rk4" => Ok(Self::Rk4),
            _ => Err(Error::invalid(
                "integrator",
                format!("'{text}'"),
                "euler, ssprk3 or rk4",
            )),
        }
    }
}

/// The configuration of an operator.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct OperatorConfig {
    /// The energy grid.
    pub grid: EnergyGrid,
    /// The law of collisions.
    pub law: CollisionKernel,
    /// How coefficients are kept; laws other than [`CollisionKernel::Power`] have one way only.
    pub storage: Storage,
    /// Weights of the quadrature, and of the shares of [`CollisionKernel::Gamma`]; in sums the laws that are no gas weigh all cells alike.
    pub weights: Weights,
    /// Whether forward and backward collisions are made equally frequent, which conserves number and energy exactly.
    pub corrected: bool,
    /// Where to compute, and in which arithmetic with which coefficients.
    #[serde(flatten)]
    pub compute: Compute,
}

impl OperatorConfig {
    /// Jump pairs, corrected, weights at cell centres, f64, on the best machine there is.
    pub fn new(grid: EnergyGrid, law: CollisionKernel) -> Self {
        Self {
            grid,
            law,
            storage: Storage::default(),
            weights: Weights::default(),
            corrected: true,
            compute: Compute::default(),
        }
    }

    /// The weight w_i of each cell.
    pub fn weight(&self, i: usize) -> f64 {
        if self.law.is_gas() {
            self.weights.weight(i)
        } else {
            1.0
        }
    }

    /// The number of particles, or agents, of each cell at f = 1.
    pub fn measure(&self) -> Vec<f64> {
        let scale = if self.law.is_gas() {
            self.grid.number_scale()
        } else {
            1.0
        };
        (0..self.grid.cells())
            .map(|i| scale * self.weight(i))
            .collect()
    }

    /// Checks what the types alone do not.
    ///
    /// # Errors
    /// Parameters of the law out of range, or beyond the range of the precision; an uncorrected form of a law that has none.
    pub fn validate(&self) -> Result<()> {
        self.law.validate()?;
        if let CollisionKernel::Power { theta } = self.law {
            // The fastest collision is of two particles of the highest energy, with (2 sqrt(M))^theta in cell units.
            let largest = match self.compute.precision {
                Precision::F32 => f64::from(f32::MAX),
                Precision::F64 => f64::MAX,
            };
            // The rest of the range is for sums, and for products with f.
            let limit = 0.8 * largest.ln() / (4.0 * self.grid.cells() as f64).sqrt().ln();
            if theta > limit {
                return Err(Error::invalid(
                    "theta",
                    theta,
                    format!(
                        "an exponent up to {limit:.1}, for which the rates of {} cells are in the range of {}",
                        self.grid.cells(),
                        self.compute.precision
                    ),
                ));
            }
        }
        if let CollisionKernel::Gamma { alpha } = self.law {
            // Sums of products of two weights, the largest of which is at one end.
            let cells = self.grid.cells();
            let largest = [0, cells - 1].map(|i| self.weights.share(alpha, i).ln());
            if 2.0 * largest[0].max(largest[1]) + (cells as f64).ln() > 0.98 * f64::MAX.ln() {
                return Err(Error::invalid(
                    "alpha",
                    alpha,
                    format!(
                        "a shape nearer to 1, or fewer cells than {cells}, for shares in the range of f64"
                    ),
                ));
            }
        }
        if !self.corrected && !matches!(self.law, CollisionKernel::Power { .. }) {
            return Err(Error::invalid(
                "corrected",
                false,
                "true: only the coefficients of a gas with exponent theta have an uncorrected form",
            ));
        }
        Ok(())
    }

    /// Checks that `f` is a distribution on the grid: of its size, finite, nonnegative, with some mass.
    ///
    /// # Errors
    /// Values of another number, not finite, negative, zero everywhere or too large for their products.
    pub fn validate_distribution(&self, f: &[f64]) -> Result<()> {
        let cells = self.grid.cells();
        if f.len() != cells {
            return Err(Error::invalid(
                "distribution",
                format!("{} values", f.len()),
                format!("{cells} values, one for each cell of the grid"),
            ));
        }
        let wrong = |what: &str, bad: &dyn Fn(f64) -> bool| match f.iter().position(|&v| bad(v)) {
            Some(i) => Err(Error::invalid(
                "distribution",
                format!(
                    "{} {what} values, the first {} in cell {i} (counted from 0)",
                    f.iter().filter(|&&v| bad(v)).count(),
                    f[i]
                ),
                "finite values of at least 0",
            )),
            None => Ok(()),
        };
        wrong("non-finite", &|v| !v.is_finite())?;
        wrong("negative", &|v| v < 0.0)?;
        let sum: f64 = f.iter().sum();
        if sum == 0.0 {
            return Err(Error::invalid(
                "distribution",
                "zero everywhere",
                "some mass",
            ));
        }
        if !sum.is_finite() || !(sum * sum).is_finite() {
            return Err(Error::invalid(
                "distribution",
                format!("values with the sum {sum:e}"),
                "a sum below 1e154, for finite products",
            ));
        }
        Ok(())
    }
}

/// One evaluation of the operator, in physical units.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[non_exhaustive]
pub struct Rates {
    /// Gain N_i: the part of df/dt from collisions that lead into cell i, those that stay in it or exchange included.
    pub gain: Vec<f64>,
    /// Frequency nu_i of collisions of a particle in cell i, those that stay in it or exchange included; the loss is nu_i f_i.
    pub frequency: Vec<f64>,
    /// df/dt = N - nu f.
    pub rate: Vec<f64>,
    /// The largest frequency without collisions that stay or exchange: an explicit Euler step up to its inverse keeps f >= 0.
    pub largest_frequency: f64,
    /// Whether the grid is too narrow or too coarse for the distribution, and the one that would do.
    pub warnings: Vec<String>,
    /// Where they were computed.
    pub device: String,
}

impl Rates {
    /// Largest time step that keeps f >= 0.
    pub fn largest_step(&self) -> f64 {
        if self.largest_frequency > 0.0 {
            1.0 / self.largest_frequency
        } else {
            f64::INFINITY
        }
    }
}
