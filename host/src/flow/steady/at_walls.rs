//! The gas at the walls, from the molecules that arrive and those that leave.

use super::{Steady, reference};
use crate::flow::gas::equilibrium;
use crate::flow::machine::Machine;

/// Memory of the arriving molecules of all segments.
const MOST_BYTES: usize = 512 << 20;

impl Steady<'_> {
    /// Slip along `(-n_y, n_x)` and jump of temperature of each segment, by one more sweep; empty where that would take too much memory.
    pub(in crate::flow) fn at_walls(&self) -> Vec<[f64; 2]> {
        let problem = self.problem;
        let (nodes, gas) = (&problem.nodes, &problem.gas);
        let count = nodes.len();
        let segments = &problem.space.segments;
        if segments.is_empty() || segments.len().saturating_mul(16 * count) > MOST_BYTES {
            return Vec::new();
        }
        // Each segment keeps its arrivals as one that mirrors a part does.
        let mut mirrored = vec![0.0; 2 * count * segments.len()];
        let mut kept = Vec::with_capacity(segments.len());
        for (s, (share, place)) in problem.accommodation.iter().enumerate() {
            if let Some(place) = place {
                let image = &self.state.mirrored[2 * place * count..][..2 * count];
                mirrored[2 * s * count..][..2 * count].copy_from_slice(image);
            }
            kept.push((*share, Some(s)));
        }
        let (sweep, input) = self.parts_with(problem, &kept, segments.len(), mirrored.clone());
        let swept = match self.machine {
            Machine::Reference => reference::run(&sweep, &input),
            _ => sweep.run(&input),
        };
        let all = segments.iter().enumerate();
        all.map(|(s, segment)| {
            let (wall, [nx, ny]) = (problem.walls[s], segment.normal);
            let emitted = gas.maxwellian(wall.state(self.state.segments[s]));
            let share = problem.accommodation[s].0;
            let mut sums = [0.0; 3];
            let speed = wall.velocity[1] * nx - wall.velocity[0] * ny;
            for m in (0..count).filter(|&m| nodes.weight[m] > 0.0) {
                let v = [nodes.vx[m], nodes.vy[m]];
                let [g, h] = match v[0] * nx + v[1] * ny > 0.0 {
                    false => [0, 1].map(|q| swept.arrived[(2 * s + q) * count + m]),
                    true => {
                        let diffuse = match gas.linear {
                            true => equilibrium::<true>(&emitted, v, f64::exp),
                            false => equilibrium::<false>(&emitted, v, f64::exp),
                        };
                        [0, 1].map(|q| {
                            let image = mirrored[(2 * s + q) * count + m];
                            share * diffuse[q] + (1.0 - share) * image
                        })
                    }
                };
                let along = v[1] * nx - v[0] * ny;
                let square = v[0] * v[0] + v[1] * v[1];
                let weight = nodes.weight[m];
                sums[0] += weight * g;
                sums[1] += weight * along * g;
                sums[2] += weight * (square * g + h);
            }
            let [n, momentum, energy] = sums;
            if gas.linear {
                return [momentum - speed, energy / 1.5 - n - wall.temperature];
            }
            let slip = momentum / n;
            [
                slip - speed,
                (energy / n - slip * slip) / 1.5 - wall.temperature,
            ]
        })
        .collect()
    }
}
