//! Distributions to start from, and equilibria.

use std::f64::consts::PI;

use serde::{Deserialize, Serialize};

use super::inequality::shape as law_shape;
use super::{CollisionKernel, EnergyGrid, OperatorConfig};
use crate::error::{Error, Result};

/// The Maxwellian of number 1: (2 pi T)^(-3/2) exp(-E / T).
pub fn maxwellian(grid: &EnergyGrid, temperature: f64) -> Vec<f64> {
    let amplitude = (2.0 * PI * temperature).powf(-1.5);
    let at = |i| amplitude * (-grid.energy(i) / temperature).exp();
    (0..grid.cells()).map(at).collect()
}

/// The exact solution of Bobylev, Krook and Wu of number 1 and temperature 1, as long as 3/5 <= K <= 1:
/// f = (2 pi K)^(-3/2) exp(-E/K) [(5K - 3)/(2K) + (1 - K) E / K^2].
///
/// For a rate that does not depend on the speed, K = 1 - (1 - K0) exp(-lambda t).
pub fn bkw(grid: &EnergyGrid, k: f64) -> Vec<f64> {
    let amplitude = (2.0 * PI * k).powf(-1.5);
    let at = |i| {
        let energy = grid.energy(i);
        let shape = (5.0 * k - 3.0) / (2.0 * k) + (1.0 - k) * energy / (k * k);
        amplitude * (-energy / k).exp() * shape
    };
    (0..grid.cells()).map(at).collect()
}

/// The rate lambda with which [`bkw`] relaxes, where it is an exact solution: 2/15 for theta = 0, 1/6 for isotropic scattering with
/// gamma = 0, at number 1.
pub fn bkw_rate(law: CollisionKernel) -> Option<f64> {
    match law {
        CollisionKernel::Power { theta: 0.0 } => Some(2.0 / 15.0),
        CollisionKernel::Isotropic { gamma: 0.0 } => Some(1.0 / 6.0),
        _ => None,
    }
}

/// All particles at the energy `energy`, number 1: in one cell if it is a centre, else in the two cells whose centres are around it, in
/// shares that keep the energy.
///
/// # Errors
/// An energy that is not on the grid, or not between two centres.
pub fn delta(config: &OperatorConfig, energy: f64) -> Result<Vec<f64>> {
    let grid = &config.grid;
    let cells = grid.cells();
    if !(energy > 0.0 && energy < grid.emax()) {
        return Err(Error::invalid(
            "energy",
            energy,
            format!("an energy above 0 and below E_max = {}", grid.emax()),
        ));
    }
    // In cells from the first centre on; roundoff does not part the particles of a centre.
    let place = energy / grid.width() - 0.5;
    let nearest = place.round();
    let place = if (place - nearest).abs() < 1e-9 * place.abs().max(1.0) {
        nearest
    } else {
        place
    };
    if !(0.0..=cells as f64 - 1.0).contains(&place) {
        let (first, last) = (grid.energy(0), grid.energy(cells - 1));
        let expected = if place < 0.0 {
            let least = (0.5 * grid.emax() / energy).ceil();
            let end = grid.emax();
            format!(
                "an energy from the first centre of a cell on, {first}; this one takes at least {least} cells up to {end}"
            )
        } else {
            format!(
                "an energy up to the last centre of a cell, {last}; this one takes a larger highest energy"
            )
        };
        return Err(Error::invalid("energy", energy, expected));
    }
    let mut f = vec![0.0; cells];
    let (cell, upper) = (place.floor() as usize, place.fract());
    let measure = config.measure();
    f[cell] = (1.0 - upper) / measure[cell];
    if upper > 0.0 {
        f[cell + 1] = upper / measure[cell + 1];
    }
    Ok(f)
}

/// A mixture of two Maxwellians: a share of the particles has the first temperature, the others the second; number 1.
pub fn two_temperature(grid: &EnergyGrid, first: f64, second: f64, share: f64) -> Vec<f64> {
    let pairs = maxwellian(grid, first)
        .into_iter()
        .zip(maxwellian(grid, second));
    pairs.map(|(a, b)| share * a + (1.0 - share) * b).collect()
}

/// The equilibrium of a law with the number and the energy of a distribution: w_i q^i times a constant, with the temperature solved
/// from the sums over the grid.
///
/// Of [`CollisionKernel::Saving`], whose equilibrium has no closed form, this is the gamma distribution of shape (1 + 2 lambda) / (1 - lambda).
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[non_exhaustive]
pub struct Equilibrium {
    /// The distribution.
    pub f: Vec<f64>,
    /// Its temperature: f falls as exp(-E / T). Negative where the energy is above that of a uniform distribution.
    pub temperature: f64,
}

/// Solves for the equilibrium.
///
/// # Errors
/// Number or energy that no positive distribution on the grid has.
pub fn equilibrium(config: &OperatorConfig, number: f64, energy: f64) -> Result<Equilibrium> {
    let grid = &config.grid;
    let cells = grid.cells();
    let measure = config.measure();
    let mean = energy / number / grid.width();
    // The factor of exp(-E/T) in f, as a logarithm: the shapes of agents who save almost all are in the hundreds. The peak is near the mean.
    let peak = (law_shape(config.law) - 1.0) * mean.ln();
    let shape: Vec<f64> = (0..cells)
        .map(|i| match config.law {
            CollisionKernel::Gamma { alpha } => config.weights.share(alpha, i).ln(),
            CollisionKernel::Saving { .. } => {
                (law_shape(config.law) - 1.0) * (i as f64 + 0.5).ln() - peak
            }
            _ => 0.0,
        })
        .collect();
    if !(number > 0.0 && mean >= 0.5 && mean <= cells as f64 - 0.5) {
        return Err(Error::invalid(
            "number and energy",
            format!("{number} and {energy}"),
            "a positive number, and an energy that a distribution on this grid can have",
        ));
    }
    // Mean energy in cell widths as a function of b = dE / T; it falls with b. Exponents are kept at or below zero.
    let weights = |b: f64| {
        let log = |i: usize| shape[i] - b * i as f64;
        let lift = (0..cells).map(log).fold(f64::NEG_INFINITY, f64::max);
        let weight = |i: usize| (log(i) - lift).exp();
        (0..cells).map(weight).collect::<Vec<f64>>()
    };
    let mean_of = |b: f64| {
        let (mut n, mut e) = (0.0, 0.0);
        for (i, weight) in weights(b).iter().enumerate() {
            let w = weight * measure[i];
            n += w;
            e += w * (i as f64 + 0.5);
        }
        e / n
    };
    let steepest = 40f64.max(2.0 * law_shape(config.law) / mean);
    let (mut low, mut high) = (-40.0, steepest);
    for _ in 0..200 {
        let middle = (low + high) / 2.0;
        if mean_of(middle) > mean {
            low = middle;
        } else {
            high = middle;
        }
    }
    let b = (low + high) / 2.0;
    let mut f = weights(b);
    let sum: f64 = f.iter().zip(&measure).map(|(f, m)| f * m).sum();
    f.iter_mut().for_each(|f| *f *= number / sum);
    Ok(Equilibrium {
        f,
        temperature: grid.width() / b,
    })
}
