//! How far an iteration is from the steady flow: the change of the fields, and the balance of what must be conserved.

use super::plan::{EAST, Plan, WEST};
use super::sums::{Sums, Swept, flux};

/// Relative roundoff of the fields that the laws of a line find from the fluxes, in units of the arithmetic's and of the mean free paths from wall to wall.
const LINE: f64 = 4.0;
/// The same in the linearised equation, whose sums are of the size of the drive.
const LINEAR: f64 = 1.0 / 16.0;
/// The same of the velocities along a channel.
const CHANNEL: f64 = 64.0;
/// Roundoff of the fields between walls that mirror all molecules, in units of the arithmetic's, beyond that between others.
const MIRRORED: f64 = 28.0;
/// Roundoff that all faces of a line have alike, in units of that of f64: the closing sweep adds up in f64, and their spread does not see it.
const BIAS: f64 = 64.0;

/// Roundoff of the fluxes by the arithmetic of a collision integral, in units of it and of the mean free paths from wall to wall.
const INTEGRAL: f64 = 4.0;

/// Range of nonlinear fields that is roundoff of f64.
const FLAT: f64 = 1e-13;
/// The same of gas that exchanges nothing with its sides, in units of the arithmetic's roundoff.
const IDLE: f64 = 512.0;

/// Relative roundoff of an iteration.
#[derive(Clone, Copy, Debug)]
pub(super) struct Roundoff {
    /// Of the change of the fields.
    pub(super) change: f64,
    /// Of the spread of the fluxes.
    pub(super) spread: f64,
    /// Of the fluxes themselves.
    pub(super) fluxes: f64,
}

impl Plan {
    /// Whether the molecules collide, and do not relax: their sweeps are in f64.
    fn collides(&self) -> bool {
        self.layout.populations < self.layout.len
    }

    /// Whether a model's gas is between two walls, which alone drive it.
    pub(super) fn is_gap(&self) -> bool {
        let wall = |side: usize| self.sides[side].as_ref().is_some_and(|s| s.wall.is_some());
        self.dimensions == 1 && self.force == 0.0 && !self.collides() && wall(WEST) && wall(EAST)
    }

    /// The largest share of molecules that a wall mirrors.
    pub(super) fn mirrored_by_walls(&self) -> f64 {
        let walls = self.sides.iter().flatten().filter(|s| s.wall.is_some());
        walls.fold(0.0, |most, s| most.max(1.0 - s.share))
    }

    /// Whether a line has walls that differ and exchange momentum and energy with the gas.
    fn is_driven(&self) -> bool {
        let wall = |side: usize| {
            let exchanges = self.sides[side].as_ref().filter(|s| s.share > 0.0);
            exchanges.and_then(|s| s.wall)
        };
        let walls = wall(WEST).zip(wall(EAST));
        self.dimensions == 1 && walls.is_some_and(|(west, east)| west != east)
    }

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

    /// The range of the field that varies most.
    fn range(&self, y: &[f64]) -> f64 {
        let fields = y.chunks_exact(self.layout.cells);
        let ranges = fields.take(self.layout.components).map(|field| {
            let low = field.iter().copied().fold(f64::INFINITY, f64::min);
            let high = field.iter().copied().fold(f64::NEG_INFINITY, f64::max);
            high - low
        });
        ranges.fold(0.0, f64::max)
    }

    /// The range of the fields over the difference of the walls, at most 1.
    pub(super) fn share_of_walls(&self, x: &[f64]) -> f64 {
        let wall = |side: usize| self.sides[side].as_ref().and_then(|s| s.wall);
        let Some((west, east)) = wall(WEST).zip(wall(EAST)) else {
            return 1.0;
        };
        let apart = (west[0] - east[0]).abs().max((west[1] - east[1]).abs());
        if apart > 0.0 {
            (self.range(x) / apart).min(1.0)
        } else {
            1.0
        }
    }

    /// Relative roundoff of fields and fluxes by an arithmetic of this unit, where sums of numbers of the size of the drive have the relative roundoff `own`. Populations of
    /// the nonlinear equation are of the size of the equilibrium, however small the drive is.
    pub(super) fn roundoff(&self, unit: f64, own: [f64; 2], y: &[f64], swept: &Swept) -> Roundoff {
        // The laws of a line pass roundoff of the fluxes, which thick gas adds up, on to the fields.
        let factor = match self.dimensions {
            1 if self.force != 0.0 => CHANNEL,
            1 if self.linear => LINEAR,
            1 if self.is_gap() => LINE,
            _ => 0.0,
        };
        let thickness = self.thickness().max(1.0);
        let change = own[0].max(factor * unit * thickness);
        let [share, terms] = if self.collides() {
            [INTEGRAL, 0.0]
        } else {
            [1.0, 0.5 * unit]
        };
        let bias = BIAS * f64::EPSILON;
        let [spread, fluxes] = [own[1], (share * own[1]).max(bias * thickness)];
        let scale = if self.dimensions == 1 {
            self.flux_scale(swept)
        } else {
            0.0
        };
        if self.linear {
            // Thin gas has fields that vary less than the walls.
            let range = self.range(y);
            let thin = if self.is_gap() && range > 0.0 {
                4.0 * unit * scale / range
            } else {
                0.0
            };
            return Roundoff {
                change: change.max(thin),
                spread,
                fluxes,
            };
        }
        // Terms of the sums, over their range and over the flux.
        let of = |part: f64, size: f64| if size > FLAT { part / size } else { 0.0 };
        let mirrored = if self.is_gap() {
            self.mirrored_by_walls()
        } else {
            0.0
        };
        Roundoff {
            change: change.max(of((4.0 + MIRRORED * mirrored) * unit, self.range(y))),
            spread: spread.max(of(4.0 * unit, scale)),
            // The flow rate is no flux.
            fluxes: if self.force != 0.0 {
                own[1]
            } else if self.is_driven() {
                fluxes.max((terms + 4.0 * bias) / scale)
            } else {
                fluxes
            },
        }
    }

    /// Whether no side exchanges momentum or energy with the gas: a steady one is uniform.
    fn is_idle(&self) -> bool {
        self.sides.iter().flatten().all(|s| s.share == 0.0)
    }

    /// The largest change of an unknown, relative to the range of the fields, for an arithmetic of this `unit`.
    pub(super) fn residual(&self, unit: f64, x: &[f64], y: &[f64]) -> f64 {
        let range = self.range(y);
        let change = (x.iter().zip(y)).fold(0.0_f64, |most, (x, y)| most.max((y - x).abs()));
        // Fields that are flat but for roundoff are compared with unity; linearised ones have no unity.
        let flat = match (self.linear, self.is_idle()) {
            (true, _) => 0.0,
            (false, true) => FLAT.max(IDLE * unit),
            (false, false) => FLAT,
        };
        if range > flat { change / range } else { change }
    }

    /// The size of the fluxes on a line that a drive causes.
    fn flux_scale(&self, swept: &Swept) -> f64 {
        let fluxes = &swept.fluxes;
        let (Some(first), Some(last)) = (fluxes.first(), fluxes.last()) else {
            return 0.0;
        };
        let largest = |k: usize| fluxes.iter().fold(0.0_f64, |most, f| most.max(f[k].abs()));
        let velocity = |side: usize| {
            let wall = self.sides[side].as_ref().and_then(|s| s.wall);
            wall.map_or(0.0, |[_, velocity]| velocity)
        };
        // Walls at rest with each other take up as much energy as the work of the stress on them.
        let work = (velocity(WEST) * first[flux::SHEAR]).abs()
            + (velocity(EAST) * last[flux::SHEAR]).abs();
        largest(flux::SHEAR)
            .max(largest(flux::ENERGY))
            .max(if self.linear { 0.0 } else { work })
    }

    /// The largest spread over the faces of a line of a flux that must be constant, relative to its size; infinite on a rectangle.
    pub(super) fn flux_spread(&self, swept: &Swept, floor: f64) -> f64 {
        let fluxes = &swept.fluxes;
        if fluxes.is_empty() {
            return f64::INFINITY;
        }
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
        let mut most = [flux::MASS, flux::SHEAR, flux::ENERGY]
            .into_iter()
            .map(spread)
            .fold(0.0, f64::max)
            / self.flux_scale(swept).max(floor);
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
