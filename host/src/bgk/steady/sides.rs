//! The sides of space: the molecules that come in through them, leave and return.

use super::plan::{EAST, FUNCTIONS, Plan, SOUTH, Side, WEST, upward};
use super::problem::SteadyProblem;
use super::sums::leaving;
use crate::bgk::Boundary;
use crate::bgk::problem::not_symmetric;
use crate::error::{Error, Result};

impl Plan {
    /// Makes the strength of the stream at a side an unknown.
    ///
    /// Two streams and the position of the wave between them are one condition too many for the conservation laws of a finite domain.
    pub(super) fn free_stream(&mut self, side: usize) {
        if let Some(s) = &mut self.sides[side] {
            std::mem::swap(&mut s.a, &mut s.b);
            s.rate.swap(0, 1);
            s.free = true;
        }
    }

    pub(super) fn side(
        &self,
        problem: &SteadyProblem,
        side: usize,
        boundary: Boundary,
    ) -> Result<Side> {
        let count = self.nodes.len();
        let mut prepared = Side {
            share: 1.0,
            tight: false,
            free: false,
            a: std::array::from_fn(|_| vec![0.0; count]),
            b: std::array::from_fn(|_| vec![0.0; count]),
            rate: [0.0; 2],
            returned: None,
            offset: 0,
            wall: None,
        };
        let (state, emits) = match boundary {
            Boundary::Specular => {
                prepared.share = 0.0;
                prepared.returned = Some((side, true));
                return Ok(prepared);
            }
            Boundary::Periodic => {
                prepared.share = 0.0;
                prepared.returned = Some((side ^ 1, false));
                return Ok(prepared);
            }
            Boundary::Inflow(state) => (state, false),
            Boundary::Wall(wall) => {
                prepared.share = wall.accommodation;
                if wall.accommodation < 1.0 {
                    prepared.returned = Some((side, true));
                }
                prepared.tight = true;
                prepared.wall = Some([wall.temperature, wall.velocity[1 - side / 2]]);
                (wall.state(), true)
            }
        };
        let given = &problem.incoming[side];
        // Parameters of the sampled Maxwellian; an inflow has exact moments on the nodes.
        let [n, ux, uy, t] = if self.linear || emits || !given.is_empty() {
            [
                state.density,
                state.velocity[0],
                state.velocity[1],
                state.temperature,
            ]
        } else {
            problem.nodes.matched(
                "an inflow",
                state.density,
                state.velocity,
                state.temperature,
            )?
        };
        let half_k = 0.5 * self.internal;
        let half_d = self.rotation.map_or(0.0, |rotation| 0.5 * rotation.freedom);
        for (j, &[vx, vy, vz2, weight]) in self.nodes.iter().enumerate() {
            let square = vx * vx + vy * vy + vz2;
            let own = if self.linear {
                let tau = t - 1.0;
                let first = (n - 1.0) + 2.0 * (ux * vx + uy * vy) + tau * (square + half_k - 1.5);
                [
                    first,
                    half_k * (first + tau),
                    half_d * (state.temperature - 1.0),
                ]
            } else {
                let c2 = (vx - ux).powi(2) + (vy - uy).powi(2) + vz2;
                let d = 0.5 * self.velocity_dimensions as f64;
                let maxwellian = n * (std::f64::consts::PI * t).powf(-d) * (-c2 / t).exp();
                let first = given.get(self.places[j]).copied().unwrap_or(maxwellian);
                [
                    first,
                    half_k * t * first,
                    half_d * state.temperature * first,
                ]
            };
            let unit = if self.linear { [1.0, half_k, 0.0] } else { own };
            for k in 0..FUNCTIONS {
                if emits {
                    prepared.a[k][j] = unit[k];
                }
                if self.linear || !emits {
                    prepared.b[k][j] = own[k];
                }
            }
            let normal = if side < 2 { vx } else { vy };
            if (normal >= 0.0) == side.is_multiple_of(2) {
                let across = self.speeds[j][side / 2].abs();
                prepared.rate[0] += weight * across * prepared.a[0][j];
                prepared.rate[1] += weight * across * prepared.b[0][j];
            }
        }
        if emits && prepared.rate[0] <= 0.0 {
            return Err(Error::invalid(
                "nodes",
                "no velocity from a wall into the gas",
                "velocities on both sides of 0",
            ));
        }
        Ok(prepared)
    }

    pub(super) fn check_mirror(&self, direction: usize) -> Result<()> {
        let refused = || not_symmetric(direction);
        for group in 0..4 {
            let other = group ^ (1 << direction);
            let of = |group: usize| &self.nodes[self.groups[group]..self.groups[group + 1]];
            if of(group).len() != of(other).len() {
                return Err(refused());
            }
            for (p, q) in of(group).iter().zip(of(other)) {
                let mut mirrored = *q;
                mirrored[direction] = -mirrored[direction];
                let near = |k: usize| (p[k] - mirrored[k]).abs() <= 1e-12 * (1.0 + p[k].abs());
                if !(0..4).all(near) {
                    return Err(refused());
                }
            }
        }
        Ok(())
    }

    /// Whether molecules of this node leave through a side.
    pub(super) fn leaves(&self, side: usize, node: usize) -> bool {
        upward(self.group(node), side / 2) == (side % 2 == 1)
    }

    /// The node whose outgoing molecules come in at `node` of `side`.
    pub(super) fn partner(&self, side: usize, node: usize, mirrored: bool) -> usize {
        if !mirrored {
            return node;
        }
        let group = self.group(node);
        self.groups[group ^ (1 << (side / 2))] + node - self.groups[group]
    }

    /// Inflow at a node of a side.
    pub(super) fn incoming(
        &self,
        x: &[f64],
        side: usize,
        face: usize,
        node: usize,
    ) -> [f64; FUNCTIONS] {
        let mut values = [0.0; FUNCTIONS];
        let Some(s) = &self.sides[side] else {
            return values;
        };
        let faces = self.layout.faces;
        let rho = x[self.layout.faces_at() + faces[side] + face];
        for (k, value) in values.iter_mut().take(self.functions).enumerate() {
            *value = s.share * (s.a[k][node] * rho + s.b[k][node]);
            if let Some((_, mirrored)) = s.returned {
                let count = faces[side + 1] - faces[side];
                let at = (k * count + face) * self.nodes.len() + self.partner(side, node, mirrored);
                *value += (1.0 - s.share) * x[s.offset + at];
            }
        }
        values
    }

    /// Where outgoing molecules of a side are to be recorded: the offset in the vector of unknowns.
    pub(super) fn record(&self, side: usize) -> Option<usize> {
        self.sides
            .iter()
            .flatten()
            .find(|s| s.returned.is_some_and(|(from, _)| from == side))
            .map(|s| s.offset)
    }

    /// Where the internal energy of these molecules is to be recorded.
    pub(super) fn record_internal(&self, side: usize) -> Option<usize> {
        let faces = self.layout.faces[side + 1] - self.layout.faces[side];
        let offset = self.record(side).filter(|_| self.rotation.is_some())?;
        Some(offset + 2 * faces * self.nodes.len())
    }

    /// The cell behind a boundary face.
    pub(super) fn boundary_cell(&self, side: usize, face: usize) -> usize {
        match side {
            WEST => face * self.nx,
            EAST => face * self.nx + self.nx - 1,
            SOUTH => face,
            _ => (self.ny - 1) * self.nx + face,
        }
    }

    /// Adds what the molecules of a node carry through a face of space.
    pub(super) fn add_leaving(
        &self,
        sums: &mut [f64],
        side: usize,
        node: usize,
        f: [f64; FUNCTIONS],
    ) {
        let [vx, vy, vz2, w] = self.nodes[node];
        let (normal, tangential) = if side < 2 { (vx, vy) } else { (vy, vx) };
        let across = self.speeds[node][side / 2].abs();
        let square = vx * vx + vy * vy + vz2;
        let energy = w * (square * f[0] + f[1]);
        let mut add = |k: usize, value: f64| sums[k] += value;
        add(leaving::MASS, w * across * f[0]);
        add(leaving::NORMAL, w * across * normal.abs() * f[0]);
        add(leaving::TANGENTIAL, w * across * tangential * f[0]);
        add(leaving::ENERGY, 0.5 * across * energy);
        add(leaving::DENSITY, w * f[0]);
        add(leaving::DRIFT, w * tangential * f[0]);
        add(leaving::SQUARE, energy);
        add(leaving::INTERNAL, 0.5 * across * w * f[2]);
        add(leaving::INTERNAL_DENSITY, w * f[2]);
    }

    /// The unknowns beyond both ends of a line between two streams, with exact discrete moments: the first four, and internal energy.
    pub(super) fn ends(&self) -> [[f64; 5]; 2] {
        [WEST, EAST].map(|side| {
            let mut sums = [0.0; 5];
            if let Some(s) = &self.sides[side] {
                for (j, &[vx, vy, vz2, w]) in self.nodes.iter().enumerate() {
                    let emitted = if s.free { &s.a } else { &s.b };
                    let (g, h) = (w * emitted[0][j], w * emitted[1][j]);
                    sums[0] += g;
                    sums[1] += vx * g;
                    sums[2] += vy * g;
                    sums[3] += (vx * vx + vy * vy + vz2) * g + h;
                    sums[4] += w * emitted[2][j];
                }
            }
            sums
        })
    }
}
