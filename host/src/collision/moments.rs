//! Moments of a distribution.

use std::f64::consts::PI;

use serde::{Deserialize, Serialize};

use super::VelocityGrid;

/// Moments of a distribution: sums over the cells times their volume h^3. Mass of a molecule and Boltzmann's constant are 1.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize, Deserialize)]
#[non_exhaustive]
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
    /// Integral of -f over the cells with f < 0: the mass below zero.
    pub below_zero: f64,
}

impl Moments {
    /// H of the Maxwellian with this density and temperature: n (ln n - 3/2 (1 + ln 2 pi T)).
    pub fn entropy_at_rest(density: f64, temperature: f64) -> f64 {
        density * (density.ln() - 1.5 * (1.0 + (2.0 * PI * temperature).ln()))
    }

    /// The moments of `f`, N^3 values on `grid`.
    ///
    /// Sums run along z, then y, then x, in this fixed order. Without mass, velocity and temperature are 0.
    ///
    /// # Panics
    /// If there are fewer values than cells.
    pub fn of(grid: &VelocityGrid, f: &[f64]) -> Self {
        let volume = grid.volume();
        let [mass, px, py, pz, fourth, entropy, below] = grid.sum(|cell, [x, y, z]| {
            let f = f[cell];
            let square = x * x + y * y + z * z;
            let entropy = if f > 0.0 { f * f.ln() } else { 0.0 };
            let fourth = f * square * square;
            [f, f * x, f * y, f * z, fourth, entropy, (-f).max(0.0)]
        });
        let per_mass = |moment: f64| if mass == 0.0 { 0.0 } else { moment / mass };
        let velocity = [px, py, pz].map(per_mass);

        let central = grid.sum(|cell, xi| {
            let f = f[cell];
            let [x, y, z] = [0, 1, 2].map(|a| xi[a] - velocity[a]);
            let half = 0.5 * f * (x * x + y * y + z * z);
            [
                f * x * x,
                f * y * y,
                f * z * z,
                f * x * y,
                f * x * z,
                f * y * z,
                half * x,
                half * y,
                half * z,
            ]
        });
        let [xx, yy, zz, xy, xz, yz, qx, qy, qz] = central.map(|moment| moment * volume);
        Self {
            density: mass * volume,
            velocity,
            temperature: per_mass((xx + yy + zz) / (3.0 * volume)),
            pressure: [xx, yy, zz, xy, xz, yz],
            heat_flux: [qx, qy, qz],
            fourth: fourth * volume,
            entropy: entropy * volume,
            minimum: f.iter().copied().fold(f64::INFINITY, f64::min),
            below_zero: below * volume,
        }
    }
}
