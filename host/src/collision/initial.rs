//! Initial distributions: Maxwellians, the paper's pair of them, and the exact solution of Bobylev, Krook and Wu.

use std::f64::consts::PI;

use serde::{Deserialize, Serialize};

use super::{Moments, VelocityGrid};
use crate::error::{Error, Result};

/// The Maxwellian of density n, mean velocity u and temperature T at the cell centres:
/// `n (2 pi T)^(-3/2) exp(-|xi - u|^2 / (2 T))`.
pub fn maxwellian(
    grid: &VelocityGrid,
    density: f64,
    velocity: [f64; 3],
    temperature: f64,
) -> Vec<f64> {
    let factor = density * (2.0 * PI * temperature).powf(-1.5);
    grid.sample(|xi| {
        let square: f64 = xi
            .iter()
            .zip(velocity)
            .map(|(xi, u)| (xi - u).powi(2))
            .sum();
        factor * (-square / (2.0 * temperature)).exp()
    })
}

/// Two Maxwellians of equal density and temperature that fly against each other along x: the paper's relaxation problem.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
pub struct TwoMaxwellians {
    /// Density of both together.
    pub density: f64,
    /// Speed of each along x, one in either direction.
    pub speed: f64,
    /// Temperature of each.
    pub temperature: f64,
}

impl Default for TwoMaxwellians {
    fn default() -> Self {
        Self {
            density: 1.0,
            speed: 1.5,
            temperature: 1.0,
        }
    }
}

impl TwoMaxwellians {
    /// The values at the cell centres, scaled so that the density on the grid is exact.
    pub fn sample(&self, grid: &VelocityGrid) -> Vec<f64> {
        let beam = |speed| maxwellian(grid, 0.5, [speed, 0.0, 0.0], self.temperature);
        let mut f: Vec<f64> = beam(self.speed)
            .iter()
            .zip(beam(-self.speed))
            .map(|(a, b)| a + b)
            .collect();
        let found = Moments::of(grid, &f).density;
        // A grid that lies beyond the tails of both holds nothing, which scaling would turn into NaN.
        let factor = if found > 0.0 {
            self.density / found
        } else {
            0.0
        };
        for f in &mut f {
            *f *= factor;
        }
        f
    }

    /// The temperature at the end of the relaxation, T + speed^2 / 3.
    pub fn equilibrium_temperature(&self) -> f64 {
        self.temperature + self.speed.powi(2) / 3.0
    }

    /// Boltzmann's H of the Maxwellian at the end of the relaxation.
    pub fn equilibrium_entropy(&self) -> f64 {
        let argument = 2.0 * PI * self.equilibrium_temperature();
        self.density * (self.density.ln() - 1.5 * (1.0 + argument.ln()))
    }
}

/// The exact solution of Bobylev, Krook and Wu for pseudo-Maxwell molecules (gamma = 0), density and temperature 1:
///
/// ```text
/// f = (2 pi K)^(-3/2) exp(-v^2 / 2K) [(5K - 3) / 2K + (1 - K) v^2 / 2K^2],     dK/dt = sigma_T (1 - K) / 6.
/// ```
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
#[serde(try_from = "Unchecked")]
pub struct Bkw {
    k: f64,
}

/// A state as a file may describe it.
#[derive(Deserialize)]
struct Unchecked {
    k: f64,
}

impl TryFrom<Unchecked> for Bkw {
    type Error = Error;

    fn try_from(state: Unchecked) -> Result<Self> {
        Self::new(state.k)
    }
}

impl Bkw {
    /// The state with the parameter `k`, from 3/5 (f vanishes at the origin) to 1 (Maxwellian).
    ///
    /// # Errors
    /// `k` outside [3/5, 1], where f would be negative.
    pub fn new(k: f64) -> Result<Self> {
        if (0.6..=1.0).contains(&k) {
            Ok(Self { k })
        } else {
            Err(Error::invalid(
                "k",
                k,
                "a parameter K of the Bobylev-Krook-Wu solution between 0.6 and 1",
            ))
        }
    }

    /// The parameter K.
    pub fn k(self) -> f64 {
        self.k
    }

    /// The state after the time `t`, for the total cross-section `sigma_t`.
    #[must_use]
    pub fn after(self, t: f64, sigma_t: f64) -> Self {
        Self {
            k: 1.0 - (1.0 - self.k) * (-sigma_t * t / 6.0).exp(),
        }
    }

    /// f at the cell centres.
    pub fn sample(self, grid: &VelocityGrid) -> Vec<f64> {
        grid.sample(|xi| self.gaussian(square(xi)) * self.polynomial(square(xi)))
    }

    /// df/dt, which the collision integral must equal, at the cell centres.
    pub fn derivative(self, grid: &VelocityGrid, sigma_t: f64) -> Vec<f64> {
        let k = self.k;
        grid.sample(|xi| {
            let v2 = square(xi);
            let of_gaussian = -1.5 / k + v2 / (2.0 * k * k);
            let of_polynomial =
                1.5 / (k * k) - v2 * (1.0 / (2.0 * k * k) + (1.0 - k) / (k * k * k));
            let by_k = self.gaussian(v2) * (of_gaussian * self.polynomial(v2) + of_polynomial);
            by_k * (1.0 - k) * sigma_t / 6.0
        })
    }

    /// The fourth moment int f v^4 = 15 K (2 - K).
    pub fn fourth(self) -> f64 {
        15.0 * self.k * (2.0 - self.k)
    }

    /// Its rate of change, 5 sigma_T (1 - K)^2.
    pub fn fourth_rate(self, sigma_t: f64) -> f64 {
        5.0 * sigma_t * (1.0 - self.k).powi(2)
    }

    fn gaussian(self, v2: f64) -> f64 {
        (2.0 * PI * self.k).powf(-1.5) * (-v2 / (2.0 * self.k)).exp()
    }

    fn polynomial(self, v2: f64) -> f64 {
        let k = self.k;
        (5.0 * k - 3.0) / (2.0 * k) + (1.0 - k) * v2 / (2.0 * k * k)
    }
}

fn square([x, y, z]: [f64; 3]) -> f64 {
    x * x + y * y + z * z
}
