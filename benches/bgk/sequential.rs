//! The paper's step on one core, the loops as they come: what its speedups are measured against.

use rarefy::bgk::{Boundary, Courant, DiscreteMaxwellian, Problem};
use rarefy_kernels::Real;

/// Velocity, quadrature weight and shift of a node.
type SequentialNode = ([f64; 3], f64, Courant);

/// The paper's step on one core, the loops as they come: what its speedups are measured against.
pub(super) struct Sequential<T> {
    f: Vec<T>,
    nx: usize,
    nodes: Vec<SequentialNode>,
    incoming: [Vec<T>; 2],
    row: Vec<T>,
    dt: f64,
    omega: f64,
}

impl<T: Real> Sequential<T> {
    /// Prepares a run of a BGK gas between two inflows with a full velocity space; none of another problem.
    pub(super) fn new(problem: &Problem, dt: f64) -> Option<Self> {
        let velocity = &problem.velocity;
        let (Boundary::Inflow(left), Boundary::Inflow(right), Some(z)) = (
            problem.boundaries.left,
            problem.boundaries.right,
            velocity.z(),
        ) else {
            return None;
        };
        let courant = Courant::of_axis(velocity.x(), &problem.space, 0, dt);
        let mut nodes = Vec::with_capacity(velocity.nodes());
        for (jx, vx) in velocity.x().nodes().iter().enumerate() {
            for (jy, vy) in velocity.y_nodes().iter().enumerate() {
                for (jz, vz) in z.nodes().iter().enumerate() {
                    let weight =
                        velocity.x().weights()[jx] * velocity.y_weights()[jy] * z.weights()[jz];
                    nodes.push(([*vx, *vy, *vz], weight, courant[jx]));
                }
            }
        }
        let incoming = [left, right].map(|state| {
            DiscreteMaxwellian::sampled(velocity, state)
                .populations(velocity)
                .into_iter()
                .map(T::from_f64)
                .collect()
        });
        Some(Self {
            f: start(problem).ok()?.into_iter().map(T::from_f64).collect(),
            nx: problem.space.nx(),
            nodes,
            incoming,
            row: vec![T::ZERO; problem.space.nx()],
            dt,
            omega: problem.gas.omega,
        })
    }

    /// Streams all populations.
    pub(super) fn stream(&mut self) {
        let n = self.nx;
        for (
            node,
            (
                v,
                _,
                Courant {
                    whole, fraction, ..
                },
            ),
        ) in self.nodes.iter().enumerate()
        {
            let f = &mut self.f[node * n..][..n];
            self.row.copy_from_slice(f);
            let row = &self.row;
            let a = T::from_f64(*fraction);
            let enters = self.incoming[usize::from(v[0] < 0.0)][node];
            let k = *whole;
            if v[0] > 0.0 {
                f[..k].fill(enters);
                for i in k..n {
                    let before = if i > k { row[i - k - 1] } else { enters };
                    f[i] = row[i - k] - a * (row[i - k] - before);
                }
            } else {
                for i in 0..n {
                    let here = if i + k < n { row[i + k] } else { enters };
                    let before = if i + k + 1 < n {
                        row[i + k + 1]
                    } else {
                        enters
                    };
                    f[i] = here - a * (here - before);
                }
            }
        }
    }

    /// Moments and relaxation of all cells.
    pub(super) fn collide(&mut self) {
        let n = self.nx;
        let mut sums = vec![[0.0_f64; 3]; n];
        for (node, (v, ..)) in self.nodes.iter().enumerate() {
            let square = v[0] * v[0] + v[1] * v[1] + v[2] * v[2];
            for (sum, f) in sums.iter_mut().zip(&self.f[node * n..]) {
                let f = f.to_f64();
                sum[0] += f;
                sum[1] += v[0] * f;
                sum[2] += square * f;
            }
        }
        let cells: Vec<[T; 5]> = sums
            .iter()
            .map(|[density, momentum, energy]| {
                let u = momentum / density;
                let t = (energy / density - u * u) / 1.5;
                let nu = density * t.powf(1.0 - self.omega);
                let keep = (-nu * self.dt).exp();
                let amplitude = (1.0 - keep) * density * (std::f64::consts::PI * t).powf(-1.5);
                [keep, amplitude, u, 1.0 / t, 0.0].map(T::from_f64)
            })
            .collect();
        for (node, (v, weight, _)) in self.nodes.iter().enumerate() {
            let (vx, rest) = (T::from_f64(v[0]), T::from_f64(v[1] * v[1] + v[2] * v[2]));
            let weight = T::from_f64(*weight);
            for (f, [keep, amplitude, u, inverse, _]) in self.f[node * n..].iter_mut().zip(&cells) {
                let c = vx - *u;
                *f = *keep * *f + weight * *amplitude * (-(c * c + rest) * *inverse).exp();
            }
        }
    }
}

/// The populations of the initial state.
fn start(problem: &Problem) -> rarefy::Result<Vec<f64>> {
    let (cells, velocity) = (problem.space.cells(), &problem.velocity);
    let mut populations = vec![0.0; velocity.nodes() * cells];
    for (cell, state) in problem.initial.iter().enumerate() {
        let maxwellian = DiscreteMaxwellian::new(velocity, *state, problem.conservative)?;
        for (node, value) in maxwellian.populations(velocity).iter().enumerate() {
            populations[node * cells + cell] = *value;
        }
    }
    Ok(populations)
}
