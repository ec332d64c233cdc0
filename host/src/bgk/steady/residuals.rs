//! How far an iteration is from the steady flow: the change of the fields, and the balance of what must be conserved.

use super::plan::{EAST, Plan, WEST};
use super::sums::{Sums, Swept, flux};

impl Plan {
    /// The share of a correction that changes no cell's density or temperature by more than half: far from the solution the linear laws
    /// behind it overshoot.
    pub(super) fn gentle_share(&self, moments: &[f64], corrected: &[f64]) -> f64 {
        if self.linear {
            return 1.0;
        }
        let mut most = 0.0_f64;
        for cell in 0..self.layout.cells {
            let [n, _, _, t] = self.primitive(moments, cell);
            let [m, _, _, s] = self.primitive(corrected, cell);
            let change = (m / n - 1.0).abs().max((s / t - 1.0).abs());
            if change.is_nan() {
                return 0.0;
            }
            most = most.max(change);
        }
        0.5 / most.max(0.5)
    }

    /// The largest change of an unknown, relative to the range of the fields.
    pub(super) fn residual(&self, x: &[f64], y: &[f64]) -> f64 {
        let cells = self.layout.cells;
        let mut range = 0.0_f64;
        for k in 0..self.layout.components {
            let part = &y[k * cells..(k + 1) * cells];
            let low = part.iter().copied().fold(f64::INFINITY, f64::min);
            let high = part.iter().copied().fold(f64::NEG_INFINITY, f64::max);
            range = range.max(high - low);
        }
        let change = (x.iter().zip(y)).fold(0.0_f64, |most, (x, y)| most.max((y - x).abs()));
        // Fields that are flat but for roundoff are compared with unity; linearised ones have no unity.
        let flat = if self.linear { 0.0 } else { 1e-13 };
        if range > flat { change / range } else { change }
    }

    /// The largest spread over the faces of a line of a flux that must be constant, relative to its size; infinite on a rectangle.
    pub(super) fn flux_spread(&self, swept: &Swept, floor: f64) -> f64 {
        let fluxes = &swept.fluxes;
        let (Some(first), Some(last)) = (fluxes.first(), fluxes.last()) else {
            return f64::INFINITY;
        };
        let largest = |k: usize| fluxes.iter().fold(0.0_f64, |most, f| most.max(f[k].abs()));
        let spread = |k: usize| {
            let low = fluxes
                .iter()
                .fold(f64::INFINITY, |least, f| least.min(f[k]));
            let high = fluxes
                .iter()
                .fold(f64::NEG_INFINITY, |most, f| most.max(f[k]));
            high - low
        };
        let velocity = |side: usize| {
            let wall = self.sides[side].as_ref().and_then(|s| s.wall);
            wall.map_or(0.0, |[_, velocity]| velocity)
        };
        // Walls at rest with each other take up as much energy as the work of the stress on them.
        let work = (velocity(WEST) * first[flux::SHEAR]).abs()
            + (velocity(EAST) * last[flux::SHEAR]).abs();
        let scale = largest(flux::SHEAR)
            .max(largest(flux::ENERGY))
            .max(if self.linear { 0.0 } else { work });
        let mut most = [flux::MASS, flux::SHEAR, flux::ENERGY]
            .into_iter()
            .map(spread)
            .fold(0.0, f64::max)
            / scale.max(floor);
        let momentum = largest(flux::MOMENTUM);
        if !self.linear && momentum > 0.0 {
            most = most.max(spread(flux::MOMENTUM) / momentum);
        }
        most
    }

    /// Mass, momentum and energy that all sides of a rectangle receive together, relative to the sum of their sizes; and the largest mass
    /// that passes a wall.
    pub(super) fn imbalance(&self, x: &[f64], sums: &Sums, floor: f64) -> f64 {
        let (mut total, mut size) = ([0.0_f64; 4], [0.0_f64; 4]);
        let mut through = 0.0_f64;
        for side in 0..2 * self.dimensions {
            let exchange = self.exchange(x, sums, side);
            let (normal, along) = (1 + side / 2, 2 - side / 2);
            let sign = if side.is_multiple_of(2) { -1.0 } else { 1.0 };
            let pressure =
                exchange.iter().map(|e| e.pressure).sum::<f64>() / exchange.len().max(1) as f64;
            let tight = self.sides[side].as_ref().is_some_and(|s| s.tight);
            for (face, e) in exchange.iter().enumerate() {
                let width = self.widths[1 - side / 2][face];
                let mut add = |k: usize, value: f64, part: f64| {
                    total[k] += width * value;
                    size[k] += width * part.abs();
                };
                add(0, e.mass, e.mass);
                add(normal, sign * e.pressure, e.pressure - pressure);
                add(along, e.shear, e.shear);
                add(3, e.heat, e.heat);
                if tight {
                    through = through.max(e.mass.abs() * width);
                }
            }
        }
        let around: f64 = (0..2 * self.dimensions)
            .flat_map(|side| &self.widths[1 - side / 2])
            .sum();
        let exchanged = size[1].max(size[2]).max(size[3]).max(floor * around);
        let off = total
            .into_iter()
            .fold(through, |most, total| most.max(total.abs()));
        off / exchanged
    }
}
