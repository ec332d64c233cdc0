//! Moments of a distribution.

use serde::{Deserialize, Serialize};

/// Moments of a distribution: sums over the cells times their volume h^3. Mass of a molecule and Boltzmann's constant are 1.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct Moments {
    /// Number density n = int f.
    pub density: f64,
    /// Mean velocity u = int f xi / n.
    pub velocity: [f64; 3],
    /// Temperature T = int f |xi - u|^2 / (3 n).
    pub temperature: f64,
    /// Pressure tensor int f (xi - u)(xi - u): xx, yy, zz, xy, xz, yz.
    pub pressure: [f64; 6],
    /// Heat flux int f (xi - u) |xi - u|^2 / 2.
    pub heat_flux: [f64; 3],
    /// Fourth moment int f |xi|^4, about the origin.
    pub fourth: f64,
    /// Boltzmann's H = int f ln f over the cells with f > 0.
    pub entropy: f64,
    /// Smallest value of f.
    pub minimum: f64,
}
