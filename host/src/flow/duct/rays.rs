//! Rays from a point to the walls and on through the nearest images of the section, with the weights of an integral over them.
//!
//! Towards each wall the angle from its normal is the Gudermannian of w, in which the distance to the wall is d cosh w: however near the wall, the integrand is smooth in w.
//! Along a ray points crowd at both ends, where the kernels and the functions have their singularities.

use super::kernels::{Kernels, REACH, Values};
use super::series::{integers, last};
use super::shape::Side;
use crate::bgk::quadrature::Rule;
use crate::error::Result;

/// Widest piece of w of one rule.
pub(super) const WIDEST: f64 = 3.5;
/// Images on each side whose rays are followed.
pub(super) const NEAR: i32 = 1;
/// Ratio of the ends of a piece of w beyond the image of a corner.
const GROWTH: f64 = 4.0;
/// Width of pieces for which fewer angles suffice.
const NARROW: f64 = 0.5;

/// Three quarters of a number of points, rounded up.
fn fewer(count: usize) -> usize {
    (3 * count).div_ceil(4)
}

/// Samples of one product of matrices.
pub(super) const BLOCK: usize = 256;

/// A point of a ray with its weights for K_0, K_1 and K_2.
pub(super) struct Sample {
    pub(super) at: [f64; 2],
    pub(super) weights: [f64; 3],
}

/// Samples that wait for their turn, and what the walls absorb.
pub(super) struct Rays<'f> {
    samples: Vec<Sample>,
    /// The mean over all directions of the share of W_0, W_1, W_2 that walls absorb, or that leaves the nearest images.
    absorbed: [f64; 3],
    take: &'f mut dyn FnMut(&[Sample]),
}

impl Rays<'_> {
    pub(super) fn push(&mut self, at: [f64; 2], weights: [f64; 3]) {
        self.samples.push(Sample { at, weights });
        if self.samples.len() == BLOCK {
            (self.take)(&self.samples);
            self.samples.clear();
        }
    }

    /// Adds a share of W_0, W_1 and W_2 among the values of the kernels.
    pub(super) fn absorb(&mut self, share: f64, kernels: &Values) {
        for (sum, value) in self.absorbed.iter_mut().zip(&kernels[3..]) {
            *sum += share * value;
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
    /// Rules of wide pieces of w and of narrow ones.
    pub(super) angles: [Rule; 2],
    /// Points and weights of [0, 1], for the way to the first wall and for what follows.
    pub(super) along: [Vec<[f64; 2]>; 2],
    /// Chords of a circle after the first reflection, with the share of the molecules.
    pub(super) chords: Vec<[f64; 2]>,
}

/// A rule of [0, 1] whose points crowd at both ends.
pub(super) fn crowded(count: usize) -> Result<Vec<[f64; 2]>> {
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
        let mut chords = Vec::new();
        if sides[1].is_round && mirrored > 0.0 {
            chords = integers(0, last(mirrored) as usize)?;
            for [n, share] in &mut chords {
                *share *= mirrored.powf(*n + 1.0);
            }
        }
        Ok(Self {
            chords,
            sides,
            kernels,
            delta,
            mirrored,
            angles: [Rule::legendre(angles)?, Rule::legendre(fewer(angles))?],
            along: [crowded(along)?, crowded(fewer(along))?],
        })
    }

    /// Follows the rays of a point, whose samples `take` gets in blocks of at most [`BLOCK`]. Returns the means over all directions of W_0, W_1 and W_2 that
    /// walls absorb, or that leave the nearest images.
    pub(super) fn rays(&self, point: [f64; 2], take: &mut dyn FnMut(&[Sample])) -> [f64; 3] {
        let mut rays = Rays {
            samples: Vec::with_capacity(BLOCK),
            absorbed: [0.0; 3],
            take,
        };
        if self.sides[1].is_round {
            self.of_circle(point[1], &mut rays);
        } else {
            self.of_rectangle(point, &mut rays);
        }
        (rays.take)(&rays.samples);
        rays.absorbed
    }

    fn of_rectangle(&self, point: [f64; 2], rays: &mut Rays<'_>) {
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
                        let is_narrow = self.mirrored > 0.0 && width < NARROW;
                        let rule = &self.angles[usize::from(is_narrow)];
                        for piece in 0..pieces as usize {
                            let middle = pair[0] + (piece as f64 + 0.5) * width;
                            for (x, weight) in rule.nodes.iter().zip(&rule.weights) {
                                let w = middle + 0.5 * width * x;
                                let mut direction = [0.0; 2];
                                direction[axis] = towards / w.cosh();
                                direction[1 - axis] = aside * w.tanh();
                                let angle = 0.5 * width * weight / w.cosh();
                                self.trace(point, direction, angle, rays);
                            }
                        }
                    }
                }
            }
        }
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
            for i in 0..=NEAR {
                for j in 0..=NEAR {
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
        // Beyond the image of a corner a ray crosses the next wall at reach/tanh w: pieces grow with w.
        let mut at = breaks.get(1).copied().filter(|_| breaks.len() > 2);
        while let Some(w) = at.map(|w| GROWTH * w).filter(|w| *w < end.min(1.0)) {
            breaks.push(w);
            at = Some(w);
        }
        breaks.sort_by(f64::total_cmp);
        breaks
    }

    /// Follows a ray until its molecules have collided, the walls have absorbed them, or they leave the nearest images.
    fn trace(&self, from: [f64; 2], direction: [f64; 2], angle: f64, rays: &mut Rays<'_>) {
        let mut at = from;
        let mut heading = direction;
        let mut gone = 0.0;
        let mut share = 1.0;
        let most = REACH / self.delta;
        let scale = angle / std::f64::consts::PI;
        let mut crossed = [0; 2];
        loop {
            let ends = [0, 1].map(|axis| {
                let run = self.sides[axis].half - heading[axis].signum() * at[axis];
                match heading[axis] {
                    0.0 => f64::INFINITY,
                    speed => run.max(0.0) / speed.abs(),
                }
            });
            let wall = usize::from(ends[1] < ends[0]);
            let length = ends[wall].min(most - gone);
            let rule = &self.along[usize::from(crossed != [0, 0])];
            for [place, weight] in rule {
                let s = length * place;
                let kernels = self.kernels.at(self.delta * (gone + s));
                let weight = scale * share * length * weight;
                let along = [0, 1].map(|axis| at[axis] + s * heading[axis]);
                rays.push(along, [0, 1, 2].map(|j| weight * kernels[j]));
            }
            gone += length;
            if gone >= most {
                return;
            }
            let kernels = self.kernels.at(self.delta * gone);
            let is_last = self.mirrored == 0.0 || crossed[wall] == NEAR;
            let lost = if is_last { 1.0 } else { 1.0 - self.mirrored };
            rays.absorb(scale * share * lost, &kernels);
            if is_last {
                return;
            }
            crossed[wall] += 1;
            share *= self.mirrored;
            at = [0, 1].map(|axis| at[axis] + length * heading[axis]);
            at[wall] = self.sides[wall].half * heading[wall].signum();
            heading[wall] = -heading[wall];
        }
    }
}
