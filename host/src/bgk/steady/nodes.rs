//! Discrete velocities: a list of nodes with their volumes.

use std::f64::consts::PI;

use serde::{Deserialize, Serialize};

use crate::bgk::VelocitySpace;
use crate::bgk::quadrature::Rule;
use crate::error::{Error, Result};

/// Discrete velocities: a list of nodes with their volumes.
///
/// Components that the nodes do not have are integrated out (C. K. Chu 1965): beside the distribution itself, the second moment
/// over the missing components is kept.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(try_from = "Unchecked")]
pub struct Nodes {
    pub(super) dimensions: usize,
    pub(super) velocities: Vec<[f64; 3]>,
    pub(super) measures: Vec<f64>,
}

/// Nodes as a file may describe them.
#[derive(Deserialize)]
struct Unchecked {
    dimensions: usize,
    velocities: Vec<[f64; 3]>,
    measures: Vec<f64>,
}

impl TryFrom<Unchecked> for Nodes {
    type Error = Error;

    fn try_from(nodes: Unchecked) -> Result<Self> {
        let Unchecked {
            dimensions,
            velocities,
            measures,
        } = nodes;
        let complete = (1..=3).contains(&dimensions)
            && !velocities.is_empty()
            && velocities.len() == measures.len();
        let finite = velocities.iter().all(|v| {
            v.iter().all(|part| part.is_finite())
                && v.iter().skip(dimensions).all(|&part| part == 0.0)
        });
        if !(complete && finite && measures.iter().all(|w| w.is_finite() && *w > 0.0)) {
            return Err(Error::invalid(
                "nodes",
                format!(
                    "{} velocities and {} volumes",
                    velocities.len(),
                    measures.len()
                ),
                "velocities of one to three finite components, and a positive volume for each",
            ));
        }
        Ok(Self {
            dimensions,
            velocities,
            measures,
        })
    }
}

impl Nodes {
    /// The nodes of a velocity space. Of v_z, along which nothing flows, one half is enough, with twice the volumes: only its square counts.
    pub fn of(space: &VelocitySpace) -> Self {
        let (mut velocities, mut measures) = (vec![[0.0; 3]], vec![1.0]);
        for (d, axis) in space.axes().iter().enumerate() {
            let half;
            let axis = if d == 2 {
                half = axis.half();
                &half
            } else {
                axis
            };
            let mut longer = Vec::with_capacity(velocities.len() * axis.len());
            let mut volumes = Vec::with_capacity(longer.capacity());
            for (v, volume) in velocities.iter().zip(&measures) {
                for (&node, &length) in axis.nodes().iter().zip(axis.weights()) {
                    let mut v = *v;
                    v[d] = node;
                    longer.push(v);
                    volumes.push(volume * length);
                }
            }
            (velocities, measures) = (longer, volumes);
        }
        Self {
            dimensions: space.axes().len(),
            velocities,
            measures,
        }
    }

    /// Directions in a plane at the midpoints of equal angles, with Gauss speeds.
    ///
    /// Where the gas is so thin that the corners of an enclosure can be seen from afar, what counts is the number of directions.
    ///
    /// # Errors
    /// Fewer than 2 angles or 3 speeds, or more speeds than a rule has.
    pub fn polar(angles_of_quadrant: usize, speeds: usize) -> Result<Self> {
        if angles_of_quadrant < 2 || speeds < 3 {
            return Err(Error::invalid(
                "nodes",
                format!("{angles_of_quadrant} angles a quadrant and {speeds} speeds"),
                "2 or more angles and 3 or more speeds: fewer are too few",
            ));
        }
        let radial = Rule::radial(speeds)?;
        let step = 0.5 * PI / angles_of_quadrant as f64;
        let (mut velocities, mut measures) = (Vec::new(), Vec::new());
        for quadrant in 0..4 {
            let (sx, sy) = [(1.0, 1.0), (-1.0, 1.0), (-1.0, -1.0), (1.0, -1.0)][quadrant];
            for angle in 0..angles_of_quadrant {
                let (sin, cos) = ((angle as f64 + 0.5) * step).sin_cos();
                for (&c, &w) in radial.nodes.iter().zip(&radial.weights) {
                    velocities.push([sx * c * cos, sy * c * sin, 0.0]);
                    measures.push(0.5 * w * (c * c).exp() * step);
                }
            }
        }
        Ok(Self {
            dimensions: 2,
            velocities,
            measures,
        })
    }

    /// How many nodes there are.
    pub fn len(&self) -> usize {
        self.velocities.len()
    }

    /// Never: nodes cannot be made without velocities.
    pub fn is_empty(&self) -> bool {
        self.velocities.is_empty()
    }

    /// Components that the nodes do not have.
    pub(super) fn internal(&self) -> f64 {
        (3 - self.dimensions) as f64
    }

    /// The Maxwellian of density 1 of the components that the nodes have, at node `j`.
    pub(super) fn maxwellian(&self, j: usize, velocity: [f64; 2], temperature: f64) -> f64 {
        let [vx, vy, vz] = self.velocities[j];
        let c2 = (vx - velocity[0]).powi(2) + (vy - velocity[1]).powi(2) + vz * vz;
        (PI * temperature).powf(-0.5 * self.dimensions as f64) * (-c2 / temperature).exp()
    }

    /// Density, velocity and temperature of the sampled Maxwellian of density 1.
    fn sampled(&self, velocity: [f64; 2], temperature: f64) -> [f64; 4] {
        let mut sums = [0.0; 4];
        for (j, ([vx, vy, vz], w)) in self.velocities.iter().zip(&self.measures).enumerate() {
            let g = w * self.maxwellian(j, velocity, temperature);
            sums[0] += g;
            sums[1] += g * vx;
            sums[2] += g * vy;
            sums[3] += g * (vx * vx + vy * vy + vz * vz + 0.5 * self.internal() * temperature);
        }
        sums
    }

    /// Refuses nodes that cannot hold a gas of this velocity and temperature, and says which side fails.
    pub(in crate::bgk) fn check(
        &self,
        what: &str,
        velocity: [f64; 2],
        temperature: f64,
    ) -> Result<()> {
        let [n, mx, my, e] = self.sampled(velocity, temperature);
        let u2 = (mx * mx + my * my) / (n * n);
        let t = (e / n - u2) / 1.5;
        let off = (n - 1.0).abs().max((t / temperature - 1.0).abs());
        if off.is_finite() && off < 0.1 {
            return Ok(());
        }
        // Too coarse a grid makes the density wrong either way; too narrow a one always loses some.
        let widest = |axis: usize| {
            let reach = |sign: f64| {
                self.velocities
                    .iter()
                    .map(|v| match axis {
                        2 => v[2].abs(),
                        _ => sign * (v[axis] - velocity[axis]),
                    })
                    .fold(f64::NEG_INFINITY, f64::max)
            };
            reach(1.0).min(reach(-1.0))
        };
        let narrow = (0..self.dimensions).any(|axis| widest(axis) < 2.5 * temperature.sqrt());
        Err(if narrow {
            Error::invalid(
                "nodes",
                format!("velocities too narrow for {what} at temperature {temperature:.4}"),
                format!(
                    "a reach of about {:.2} either side of its velocity",
                    4.5 * temperature.sqrt()
                ),
            )
        } else {
            too_coarse(what, temperature)
        })
    }

    /// Parameters (density, velocity, temperature) whose sampled Maxwellian has exactly these moments.
    pub(in crate::bgk) fn matched(
        &self,
        what: &str,
        density: f64,
        velocity: [f64; 2],
        temperature: f64,
    ) -> Result<[f64; 4]> {
        self.check(what, velocity, temperature)?;
        let energy = |u: [f64; 2], t: f64| u[0] * u[0] + u[1] * u[1] + 1.5 * t;
        let wanted = [1.0, velocity[0], velocity[1], energy(velocity, temperature)];
        let mut held = wanted;
        for _ in 0..200 {
            let u = [held[1] / held[0], held[2] / held[0]];
            let t = (held[3] / held[0] - u[0] * u[0] - u[1] * u[1]) / 1.5;
            if !(t > 0.0 && held[0] > 0.0) {
                break;
            }
            let sums = self.sampled(u, t).map(|sum| sum * held[0]);
            let off: [f64; 4] = std::array::from_fn(|k| wanted[k] - sums[k]);
            if off.iter().all(|off| off.abs() < 4e-15 * wanted[3].max(1.0)) {
                return Ok([density * held[0], u[0], u[1], t]);
            }
            held = std::array::from_fn(|k| held[k] + off[k]);
        }
        let u = [held[1] / held[0], held[2] / held[0]];
        let t = (held[3] / held[0] - u[0] * u[0] - u[1] * u[1]) / 1.5;
        let sums = self.sampled(u, t).map(|sum| sum * held[0]);
        if (0..4).all(|k| (wanted[k] - sums[k]).abs() < 1e-11 * wanted[3].max(1.0)) {
            return Ok([density * held[0], u[0], u[1], t]);
        }
        Err(too_coarse(what, temperature))
    }
}

/// No discrete Maxwellian has the moments of this gas.
fn too_coarse(what: &str, temperature: f64) -> Error {
    Error::invalid(
        "nodes",
        format!(
            "velocities too coarse for a discrete Maxwellian of {what} at temperature {temperature:.4}"
        ),
        format!("a spacing of at most {:.3}", 0.6 * temperature.sqrt()),
    )
}
