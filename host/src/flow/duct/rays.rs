//! Rays from a point to the walls and on to where they end, with the weights of an integral over the section.
//!
//! Towards each wall the angle from its normal is the Gudermannian of w, in which the distance to the wall is d cosh w: however near the wall, the integrand is smooth in w.
//! Along a ray points crowd at both ends, where the kernels and the functions have their singularities.

use super::kernels::{Kernels, REACH};
use super::shape::Side;
use crate::bgk::quadrature::Rule;
use crate::error::Result;

/// Widest piece of w of one rule.
const WIDEST: f64 = 3.5;
/// Share of the molecules below which a ray that mirrors reflect ends.
pub(super) const FAINT: f64 = 1e-7;
/// Reflections after which a ray is far from its point for the kernels.
const SHARP: usize = 2;
/// Reflections whose corners divide the angles.
const SEEN: i32 = 2;

/// Samples of one product of matrices.
pub(super) const BLOCK: usize = 256;

/// A point of a ray with its weights for K_0, K_1 and K_2.
pub(super) struct Sample {
    pub(super) at: [f64; 2],
    pub(super) weights: [f64; 3],
}

/// Samples that wait for their turn, and what the walls absorb.
struct Rays<'f> {
    samples: Vec<Sample>,
    /// The mean over all directions of the share of W_0, W_1, W_2 that the walls absorb.
    absorbed: [f64; 3],
    take: &'f mut dyn FnMut(&[Sample]),
}

impl Rays<'_> {
    fn push(&mut self, sample: Sample) {
        self.samples.push(sample);
        if self.samples.len() == BLOCK {
            (self.take)(&self.samples);
            self.samples.clear();
        }
    }
}

/// Rules of all rays of a section.
pub(super) struct Tracer<'a> {
    pub(super) sides: &'a [Side; 2],
    pub(super) kernels: &'a Kernels,
    pub(super) delta: f64,
    /// Share of the molecules that walls reflect as mirrors.
    pub(super) mirrored: f64,
    angles: Rule,
    /// Points and weights of [0, 1], for the first parts of a way and for those after some reflections.
    along: [Vec<[f64; 2]>; 2],
}

/// A rule of [0, 1] whose points crowd at both ends.
fn crowded(count: usize) -> Result<Vec<[f64; 2]>> {
    let rule = Rule::legendre(count)?;
    let pairs = rule.nodes.iter().zip(&rule.weights);
    Ok(pairs
        .map(|(x, weight)| {
            let (t, r) = (0.5 * (1.0 + x), 0.5 * (1.0 - x));
            let place = t * t * t * (10.0 - 15.0 * t + 6.0 * t * t);
            [place, 15.0 * weight * t * t * r * r]
        })
        .collect())
}

impl<'a> Tracer<'a> {
    pub(super) fn new(
        sides: &'a [Side; 2],
        kernels: &'a Kernels,
        (delta, mirrored): (f64, f64),
        (angles, along): (usize, usize),
    ) -> Result<Self> {
        Ok(Self {
            sides,
            kernels,
            delta,
            mirrored,
            angles: Rule::legendre(angles)?,
            along: [crowded(along)?, crowded((along / 2).max(4))?],
        })
    }

    /// Follows the rays of a point, whose samples `take` gets in blocks of at most [`BLOCK`]. Returns the means over all directions of W_0, W_1 and W_2 that the walls absorb.
    pub(super) fn rays(&self, point: [f64; 2], take: &mut dyn FnMut(&[Sample])) -> [f64; 3] {
        let mut rays = Rays {
            samples: Vec::with_capacity(BLOCK),
            absorbed: [0.0; 3],
            take,
        };
        for axis in 0..2 {
            for towards in [-1.0, 1.0] {
                let distance = self.sides[axis].half - towards * point[axis];
                if !distance.is_finite() {
                    continue;
                }
                for aside in [-1.0, 1.0] {
                    let reach = self.sides[1 - axis].half - aside * point[1 - axis];
                    let breaks = self.breaks(axis, [distance, reach]);
                    for pair in breaks.windows(2) {
                        let pieces = ((pair[1] - pair[0]) / WIDEST).ceil().max(1.0);
                        let width = (pair[1] - pair[0]) / pieces;
                        for piece in 0..pieces as usize {
                            let middle = pair[0] + (piece as f64 + 0.5) * width;
                            for (x, weight) in self.angles.nodes.iter().zip(&self.angles.weights) {
                                let w = middle + 0.5 * width * x;
                                let mut direction = [0.0; 2];
                                direction[axis] = towards / w.cosh();
                                direction[1 - axis] = aside * w.tanh();
                                let angle = 0.5 * width * weight / w.cosh();
                                self.trace(point, direction, angle, &mut rays);
                            }
                        }
                    }
                }
            }
        }
        (rays.take)(&rays.samples);
        rays.absorbed
    }

    /// Ends of the pieces of w towards a wall at a distance, up to a corner at `reach` aside; images of the corners in walls that are mirrors lie between.
    fn breaks(&self, axis: usize, [distance, reach]: [f64; 2]) -> Vec<f64> {
        if !reach.is_finite() {
            // Directions beyond have nothing to add at all.
            let far = 1e14 / (self.delta * distance).min(1.0);
            return vec![0.0, far.asinh()];
        }
        let end = (reach / distance).asinh();
        let mut breaks = vec![0.0, end];
        if self.mirrored > 0.0 {
            let [deep, wide] = [2.0 * self.sides[axis].half, 2.0 * self.sides[1 - axis].half];
            for i in 0..=SEEN {
                for j in 0..=SEEN - i {
                    let lateral = reach + f64::from(j) * wide;
                    let w = (lateral / (distance + f64::from(i) * deep)).asinh();
                    if w > 1e-9 && w < end - 1e-9 {
                        breaks.push(w);
                    }
                }
            }
        }
        breaks.sort_by(f64::total_cmp);
        breaks.dedup_by(|a, b| *a - *b < 1e-9);
        breaks
    }

    /// Follows a ray until its molecules have collided, or the walls have absorbed them.
    fn trace(&self, from: [f64; 2], direction: [f64; 2], angle: f64, rays: &mut Rays<'_>) {
        let mut at = from;
        let mut heading = direction;
        let mut gone = 0.0;
        let mut share = 1.0;
        let most = REACH / self.delta;
        let scale = angle / std::f64::consts::PI;
        for reflections in 0.. {
            let rule = &self.along[usize::from(reflections > SHARP)];
            let ends = [0, 1].map(|axis| {
                let run = self.sides[axis].half - heading[axis].signum() * at[axis];
                match heading[axis] {
                    0.0 => f64::INFINITY,
                    speed => run.max(0.0) / speed.abs(),
                }
            });
            let wall = usize::from(ends[1] < ends[0]);
            let length = ends[wall].min(most - gone);
            for [place, weight] in rule {
                let s = length * place;
                let kernels = self.kernels.at(self.delta * (gone + s));
                let weight = scale * share * length * weight;
                let along = [0, 1].map(|axis| at[axis] + s * heading[axis]);
                rays.push(Sample {
                    at: along,
                    weights: [0, 1, 2].map(|j| weight * kernels[j]),
                });
            }
            gone += length;
            if gone >= most {
                return;
            }
            let kernels = self.kernels.at(self.delta * gone);
            for j in 0..3 {
                rays.absorbed[j] += scale * share * (1.0 - self.mirrored) * kernels[3 + j];
            }
            share *= self.mirrored;
            if share < FAINT {
                return;
            }
            at = [0, 1].map(|axis| at[axis] + length * heading[axis]);
            at[wall] = self.sides[wall].half * heading[wall].signum();
            heading[wall] = -heading[wall];
        }
    }
}
