//! Symmetries of the distributions of flows, and the directions that they save.

use serde::{Deserialize, Serialize};

use super::sphere::Direction;
use crate::collision::VelocityGrid;
use crate::error::{Error, Result};

/// How far a distribution may be from its images, as a share of its largest value: roundoff of f32.
const ASYMMETRY: f64 = 1e-6;

/// Symmetries about the middle of the velocity box that every given distribution has.
///
/// Directions that are images of each other have mirrored fields, so the spectral method takes one of each orbit with the solid angle of all, and then averages
/// the gain over the images of each velocity. The result is that of all directions to roundoff; at degree 17 all three symmetries leave 12 transforms of 55. A
/// shock wave has all three, Couette flow between plates normal to x that move along y is even in v_z, heat conduction between them has all three, a plane flow in x and y is even
/// in v_z.
///
/// ```
/// use rarefy::collision::{Mirrors, OperatorConfig, VelocityGrid};
///
/// let mut config = OperatorConfig::spectral(VelocityGrid::new(16, -5.5, 5.5)?);
/// config.spectral.mirrors = Mirrors { z: true, ..Mirrors::NONE };
/// # Ok::<(), rarefy::Error>(())
/// ```
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(default)]
pub struct Mirrors {
    /// f is even in v_y.
    pub y: bool,
    /// f is even in v_z.
    pub z: bool,
    /// f stays when v_y and v_z are exchanged. With one of the mirrors this implies the other one.
    pub exchange: bool,
}

/// A map of velocities onto each other: v_y and v_z change their signs, and then their places.
#[derive(Clone, Copy, Debug)]
struct Map {
    y: bool,
    z: bool,
    exchange: bool,
}

impl Map {
    fn of_direction(self, [x, y, z]: [f64; 3]) -> [f64; 3] {
        let y = if self.y { -y } else { y };
        let z = if self.z { -z } else { z };
        if self.exchange { [x, z, y] } else { [x, y, z] }
    }

    fn of_cell(self, n: usize, cell: usize) -> usize {
        let (x, y, z) = (cell / (n * n), cell / n % n, cell % n);
        let y = if self.y { n - 1 - y } else { y };
        let z = if self.z { n - 1 - z } else { z };
        let (y, z) = if self.exchange { (z, y) } else { (y, z) };
        (x * n + y) * n + z
    }
}

impl Mirrors {
    /// No symmetry: any distribution.
    pub const NONE: Self = Self {
        y: false,
        z: false,
        exchange: false,
    };

    /// All of them, as in flows along x without shear.
    pub const ALL: Self = Self {
        y: true,
        z: true,
        exchange: true,
    };

    /// Whether there is none.
    pub fn is_none(&self) -> bool {
        *self == Self::NONE
    }

    /// The same with the mirror that follows from the others.
    pub(in crate::collision) fn closed(self) -> Self {
        let both = self.exchange && (self.y || self.z);
        Self {
            y: self.y || both,
            z: self.z || both,
            ..self
        }
    }

    /// The maps of the group.
    fn group(self) -> Vec<Map> {
        let Self { y, z, exchange } = self.closed();
        let mut group = vec![Map {
            y: false,
            z: false,
            exchange: false,
        }];
        let mut double = |change: fn(Map) -> Map| {
            let images: Vec<Map> = group.iter().copied().map(change).collect();
            group.extend(images);
        };
        if y {
            double(|map| Map { y: true, ..map });
        }
        if z {
            double(|map| Map { z: true, ..map });
        }
        if exchange {
            double(|map| Map {
                exchange: true,
                ..map
            });
        }
        group
    }

    /// One direction of each orbit of the group and of `e -> -e`, with the solid angle of all.
    pub(super) fn reduced(self, mut directions: Vec<Direction>) -> Vec<Direction> {
        let group = self.group();
        let mut reduced = Vec::new();
        while let Some(&Direction { e, .. }) = directions.first() {
            let images: Vec<[f64; 3]> = group.iter().map(|map| map.of_direction(e)).collect();
            let belongs = |other: &Direction| {
                images.contains(&other.e) || images.contains(&other.e.map(|component| -component))
            };
            let (orbit, rest): (Vec<_>, Vec<_>) = directions.into_iter().partition(belongs);
            let weight = orbit.iter().map(|direction| direction.weight).sum();
            reduced.push(Direction { e, weight });
            directions = rest;
        }
        reduced
    }

    /// Gives all images of a cell the mean of their values.
    pub(super) fn symmetrise(self, n: usize, values: &mut [f64]) {
        if self.is_none() {
            return;
        }
        let group = self.group();
        for cell in 0..values.len() {
            let images = || group.iter().map(|map| map.of_cell(n, cell));
            // The first cell of each orbit.
            if images().all(|image| image >= cell) {
                let sum: f64 = images().map(|image| values[image]).sum();
                let mean = sum / group.len() as f64;
                images().for_each(|image| values[image] = mean);
            }
        }
    }

    /// Checks that `f` has the symmetries.
    pub(in crate::collision) fn check(self, grid: &VelocityGrid, f: &[f64]) -> Result<()> {
        if self.is_none() {
            return Ok(());
        }
        let n = grid.n();
        let largest = f.iter().fold(0.0_f64, |most, f| most.max(f.abs()));
        for map in self.group() {
            for (cell, value) in f.iter().enumerate() {
                let image = f[map.of_cell(n, cell)];
                if (value - image).abs() > ASYMMETRY * largest {
                    return Err(Error::invalid(
                        "distribution",
                        format!(
                            "{value:e} at f[{}][{}][{}] and {image:e} at its image",
                            cell / (n * n),
                            cell / n % n,
                            cell % n
                        ),
                        "the symmetries of `spectral.mirrors`",
                    ));
                }
            }
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::super::sphere::{DEGREES, half_sphere};
    use super::*;

    /// Directions that are left of the rules of degree 9 to 21, without a symmetry, with both mirrors, and with the exchange too.
    #[test]
    fn orbits_have_the_known_numbers() {
        let both = Mirrors {
            exchange: false,
            ..Mirrors::ALL
        };
        let known = [
            (Mirrors::NONE, [19, 25, 43, 55, 85]),
            (both, [10, 10, 16, 19, 28]),
            (Mirrors::ALL, [6, 7, 10, 12, 17]),
        ];
        for (mirrors, numbers) in known {
            for (degree, number) in DEGREES[2..].iter().zip(numbers) {
                let reduced = mirrors.reduced(half_sphere(*degree));
                assert_eq!(reduced.len(), number, "degree {degree}, {mirrors:?}");
                let total: f64 = reduced.iter().map(|direction| direction.weight).sum();
                assert!((total / std::f64::consts::TAU - 1.0).abs() < 1e-14);
            }
        }
    }

    #[test]
    fn means_over_images_are_even_and_keep_the_sum() {
        let n = 5;
        let values: Vec<f64> = (0..n * n * n).map(|k| (1.7 * k as f64).sin()).collect();
        for mirrors in [
            Mirrors {
                y: true,
                ..Mirrors::NONE
            },
            Mirrors {
                exchange: true,
                ..Mirrors::NONE
            },
            Mirrors {
                z: true,
                exchange: true,
                ..Mirrors::NONE
            },
        ] {
            let mut means = values.clone();
            mirrors.symmetrise(n, &mut means);
            for map in mirrors.group() {
                for cell in 0..values.len() {
                    assert!(means[cell] == means[map.of_cell(n, cell)]);
                }
            }
            let change = means.iter().sum::<f64>() - values.iter().sum::<f64>();
            assert!(change.abs() < 1e-13);
        }
    }
}
