//! Rays of a circular section: those that a wall mirrors run along chords of one length for ever.

use std::f64::consts::PI;

use super::kernels::REACH;
use super::rays::{Rays, Tracer, WIDEST};

/// Cosine of the angle from the radius below which directions are taken by the distance from the wall.
const ALONG: f64 = 0.5;

/// A direction from a point: cosine of the angle from the radius outwards, and the weight of the angle.
type Direction = [f64; 2];

impl Tracer<'_> {
    /// Directions on one side of the radius.
    ///
    /// With the cosine e sinh w, e = sqrt(1 - r^2)/r, the distance to the wall is sqrt(1 - r^2) exp(-w): smooth however near the wall.
    fn directions(&self, r: f64) -> Vec<Direction> {
        let rule = || self.angles[0].nodes.iter().zip(&self.angles[0].weights);
        let mut found = Vec::new();
        let steep = ALONG.acos();
        for (x, weight) in rule() {
            let cosine = (0.5 * steep * (1.0 + x)).cos();
            let weight = 0.5 * steep * weight;
            found.extend([[cosine, weight], [-cosine, weight]]);
        }
        let scale = ((1.0 - r) * (1.0 + r)).sqrt() / r;
        let end = (ALONG / scale).asinh();
        let pieces = (2.0 * end / WIDEST).ceil().max(1.0);
        let width = 2.0 * end / pieces;
        for piece in 0..pieces as usize {
            let middle = (piece as f64 + 0.5) * width - end;
            for (x, weight) in rule() {
                let w = middle + 0.5 * width * x;
                let cosine = scale * w.sinh();
                let slope = scale * w.cosh() / (1.0 - cosine * cosine).sqrt();
                found.push([cosine, 0.5 * width * weight * slope]);
            }
        }
        found
    }

    /// As [`rays`](Self::rays) from a distance to the axis of a circle of radius 1.
    pub(super) fn of_circle(&self, from: f64, rays: &mut Rays<'_>) {
        let most = REACH / self.delta;
        for [cosine, angle] in self.directions(from) {
            let scale = 2.0 * angle / PI;
            let inwards = from * cosine;
            let half = ((1.0 - from) * (1.0 + from) + inwards * inwards).sqrt();
            let wall = if cosine > 0.0 {
                (1.0 - from) * (1.0 + from) / (half + inwards)
            } else {
                half - inwards
            };
            // Distance to the axis at one from the middle of the chord.
            let nearest = from * from * (1.0 - cosine * cosine);
            let radius = |place: f64| (nearest + place * place).sqrt().min(1.0);
            let length = wall.min(most);
            for [place, weight] in &self.along[0] {
                let s = length * place;
                let kernels = self.kernels.at(self.delta * s);
                let weight = scale * length * weight;
                rays.push(
                    [0.0, radius(s + inwards)],
                    [0, 1, 2].map(|j| weight * kernels[j]),
                );
            }
            if wall >= most {
                continue;
            }
            let absorbed = scale * (1.0 - self.mirrored);
            rays.absorb(absorbed, &self.kernels.at(self.delta * wall));
            let length = (2.0 * half).min(most - wall);
            for [place, weight] in &self.along[1] {
                let s = length * place;
                let weight = scale * length * weight;
                let sums = self.over_chords(wall + s, 2.0 * half, weight);
                rays.push([0.0, radius(s - half)], [0, 1, 2].map(|j| sums[j]));
            }
            let sums = self.over_chords(wall + 2.0 * half, 2.0 * half, absorbed);
            rays.absorb(1.0, &sums);
        }
    }

    /// Kernels at a distance, and again after each chord, by the share that is mirrored.
    fn over_chords(&self, from: f64, chord: f64, weight: f64) -> [f64; 6] {
        let mut sums = [0.0; 6];
        for [n, share] in &self.chords {
            let distance = self.delta * (from + n * chord);
            if distance > REACH {
                break;
            }
            let kernels = self.kernels.at(distance);
            for (sum, kernel) in sums.iter_mut().zip(kernels) {
                *sum += weight * share * kernel;
            }
        }
        sums
    }
}
