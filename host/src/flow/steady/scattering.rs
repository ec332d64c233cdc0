//! Walls that scatter by the kernel of Cercignani and Lampis (1971).
//!
//! A molecule that arrives with the velocity v' leaves with v at the density R(v' -> v). In units of the wall's most probable speed, across the wall and along it:
//!
//! ```text
//! R_n = 2 v_n/a exp(-(v_n^2 + (1 - a) v_n'^2)/a) I_0(2 sqrt(1 - a) v_n v_n'/a)
//! R_t = exp(-(v_t - (1 - s) v_t')^2/(s (2 - s)))/sqrt(pi s (2 - s))
//! ```
//!
//! with a for the energy across the wall and s for the momentum along it. The third direction is integrated out: h keeps the share (1 - s)^2 of what arrives, and takes the
//! rest from the wall's temperature. On the nodes the kernel is a matrix. Its rows and columns are scaled by turns (R. Sinkhorn 1964) until each node's molecules
//! all leave, and the wall's Maxwellian stays itself. Scaling so leaves the matrix symmetric under the reversal of both velocities, so reciprocity holds as well.

use crate::error::{Error, Result};
use crate::flow::Scattering;
use crate::flow::face::Wall;
use crate::flow::gas::{Gas, equilibrium};
use crate::flow::nodes::Nodes;

/// Turns of the scaling.
const TURNS: usize = 500;

/// Relative misfit of the flux at which the scaling ends.
const SCALED: f64 = 1e-14;

/// Share of the molecules that the nodes may lose or gain before they are scaled.
const ROUGH: f64 = 0.05;

/// The kernel of a wall on the nodes.
#[derive(Clone, Debug)]
pub(in crate::flow) struct Kernel {
    arriving: Vec<usize>,
    leaving: Vec<usize>,
    /// Leaving molecules in units of f for a unit of f that arrives, `[leaving][arriving]`.
    matrix: Vec<f64>,
    /// Shares of the motion along z that stays, and of the part from the wall.
    keeps: f64,
    gives: f64,
    /// The wall's own perturbation of both functions, `[g, h][node]`; none of nonlinear flows.
    own: Vec<f64>,
    count: usize,
}

impl Kernel {
    /// The kernel of a wall with this normal into the gas.
    ///
    /// # Errors
    /// Velocities too coarse for it.
    pub(in crate::flow) fn new(
        gas: &Gas,
        nodes: &Nodes,
        wall: Wall,
        normal: [f64; 2],
        scattering: Scattering,
    ) -> Result<Self> {
        let count = nodes.len();
        let [nx, ny] = normal;
        let across = |m: usize| nodes.vx[m] * nx + nodes.vy[m] * ny;
        let counts = |&m: &usize| nodes.weight[m] > 0.0;
        let (arriving, leaving): (Vec<usize>, Vec<usize>) =
            (0..count).filter(counts).partition(|&m| across(m) < 0.0);
        // A linearised wall scatters at rest, and adds its own perturbation.
        let (temperature, velocity) = match gas.linear {
            true => (1.0, [0.0; 2]),
            false => (wall.temperature, wall.velocity),
        };
        let root = temperature.sqrt();
        let speed = velocity[1] * nx - velocity[0] * ny;
        let frame = |m: usize| {
            let along = nodes.vy[m] * nx - nodes.vx[m] * ny;
            [across(m).abs() / root, (along - speed) / root]
        };
        // The flux of the wall's Maxwellian at a node, and the volume of the node.
        let rest = |m: usize| {
            let [n, t] = frame(m);
            (-n * n - t * t).exp() / (std::f64::consts::PI * temperature)
        };
        let volume = |m: usize| match gas.linear {
            true => nodes.weight[m] / rest(m),
            false => nodes.weight[m],
        };
        let flux = |m: usize| volume(m) * rest(m) * across(m).abs();
        let inward: Vec<f64> = arriving.iter().map(|&m| flux(m)).collect();
        let mut outward: Vec<f64> = leaving.iter().map(|&m| flux(m)).collect();
        let total: f64 = inward.iter().sum();
        let balance = total / outward.iter().sum::<f64>();
        outward.iter_mut().for_each(|flux| *flux *= balance);
        let size = arriving.len();
        let mut joint = vec![0.0; size * leaving.len()];
        for (row, &i) in leaving.iter().enumerate() {
            let part = volume(i) / temperature;
            let to = frame(i);
            for (column, &j) in arriving.iter().enumerate() {
                joint[row * size + column] =
                    inward[column] * part * density(scattering, frame(j), to);
            }
        }
        let off: f64 = (0..size)
            .map(|column| {
                let leaves: f64 = joint.iter().skip(column).step_by(size).sum();
                (leaves - inward[column]).abs()
            })
            .sum();
        if off.is_nan() || off > ROUGH * total {
            let Scattering { tangential, normal } = scattering;
            return Err(Error::invalid(
                "accommodation",
                format!("{{ tangential = {tangential}, normal = {normal} }}"),
                format!(
                    "velocities that resolve it, which lose {:.0}% here: more angles and speeds, or a number, the share of Maxwell's reflection",
                    100.0 * off / total
                ),
            ));
        }
        scale(&mut joint, &inward, &outward);
        for (row, &i) in leaving.iter().enumerate() {
            let rate = nodes.weight[i] * across(i);
            for (column, &j) in arriving.iter().enumerate() {
                let entry = &mut joint[row * size + column];
                *entry *= nodes.weight[j] * -across(j) / inward[column] / rate;
            }
        }
        let keeps = (1.0 - scattering.tangential) * (1.0 - scattering.tangential);
        let mut own = Vec::new();
        if gas.linear {
            let c = gas.maxwellian(wall.state(0.0));
            own = vec![0.0; 2 * count];
            for m in 0..count {
                let [g, h] = equilibrium::<true>(&c, [nodes.vx[m], nodes.vy[m]], f64::exp);
                (own[m], own[count + m]) = (g, h);
            }
        }
        Ok(Self {
            arriving,
            leaving,
            matrix: joint,
            keeps,
            gives: 0.5 * temperature * (1.0 - keeps),
            own,
            count,
        })
    }

    /// Bytes of the matrix of a kernel on these nodes.
    pub(in crate::flow) fn bytes(nodes: &Nodes) -> usize {
        2 * nodes.count * nodes.count
    }

    /// Leaving molecules in both functions, `[g, h][node]`; zero for nodes that do not leave the wall.
    pub(in crate::flow) fn scattered(&self, arrived: &[f64]) -> Vec<f64> {
        let count = self.count;
        let own = |at: usize| self.own.get(at).copied().unwrap_or(0.0);
        let part = |q: usize| -> Vec<f64> {
            let nodes = self.arriving.iter();
            nodes
                .map(|&m| arrived[q * count + m] - own(q * count + m))
                .collect()
        };
        let (g, h) = (part(0), part(1));
        let h: Vec<f64> = h
            .iter()
            .zip(&g)
            .map(|(h, g)| self.keeps * h + self.gives * g)
            .collect();
        let mut image = vec![0.0; 2 * count];
        let rows = self.matrix.chunks_exact(self.arriving.len());
        for (&m, row) in self.leaving.iter().zip(rows) {
            let sum = |of: &[f64]| row.iter().zip(of).map(|(a, b)| a * b).sum::<f64>();
            image[m] = own(m) + sum(&g);
            image[count + m] = own(count + m) + sum(&h);
        }
        image
    }
}

/// The density of the kernel from one velocity across and along the wall to another, in the wall's units.
fn density(scattering: Scattering, [n, t]: [f64; 2], [to_n, to_t]: [f64; 2]) -> f64 {
    let (a, s) = (scattering.normal, scattering.tangential);
    let root = (1.0 - a).max(0.0).sqrt();
    // I_0(x) = exp(x) times a slow function: the exponents join to a square.
    let x = 2.0 * root * n * to_n / a;
    let off = to_n - root * n;
    let across = 2.0 * to_n / a * (-off * off / a).exp() * bessel(x);
    let width = s * (2.0 - s);
    let off = to_t - (1.0 - s) * t;
    across * (-off * off / width).exp() / (std::f64::consts::PI * width).sqrt()
}

/// `exp(-x) I_0(x)` (M. Abramowitz, I. A. Stegun 1964, 9.8.1 and 9.8.2), to 2e-7.
fn bessel(x: f64) -> f64 {
    let series = |t: f64, c: &[f64]| c.iter().rev().fold(0.0, |sum, c| sum * t + c);
    if x < 3.75 {
        let t = (x / 3.75) * (x / 3.75);
        let c = [
            1.0, 3.5156229, 3.0899424, 1.2067492, 0.2659732, 0.0360768, 0.0045813,
        ];
        return (-x).exp() * series(t, &c);
    }
    let c = [
        0.39894228,
        0.01328592,
        0.00225319,
        -0.00157565,
        0.00916281,
        -0.02057706,
        0.02635537,
        -0.01647633,
        0.00392377,
    ];
    series(3.75 / x, &c) / x.sqrt()
}

/// Scales rows and columns by turns until they have these sums.
fn scale(joint: &mut [f64], columns: &[f64], rows: &[f64]) {
    let size = columns.len();
    for _ in 0..TURNS {
        for (row, wanted) in joint.chunks_exact_mut(size).zip(rows) {
            let sum: f64 = row.iter().sum();
            if sum > 0.0 {
                row.iter_mut().for_each(|x| *x *= wanted / sum);
            }
        }
        let mut sums = vec![0.0; size];
        for row in joint.chunks_exact(size) {
            sums.iter_mut().zip(row).for_each(|(sum, x)| *sum += x);
        }
        let mut worst = 0.0_f64;
        let factors: Vec<f64> = sums
            .iter()
            .zip(columns)
            .map(|(sum, wanted)| match *sum > 0.0 {
                true => {
                    worst = worst.max((sum / wanted - 1.0).abs());
                    wanted / sum
                }
                false => 1.0,
            })
            .collect();
        for row in joint.chunks_exact_mut(size) {
            row.iter_mut().zip(&factors).for_each(|(x, f)| *x *= f);
        }
        if worst < SCALED {
            return;
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::flow::nodes::polar;

    fn kernel(angle: f64, [tangential, normal]: [f64; 2], linear: bool) -> (Gas, Nodes, Kernel) {
        let list = polar(48, 8, 1.0, false, linear).expect("nodes");
        let nodes = Nodes::new(&list, |_| false).expect("nodes");
        let gas = Gas {
            linear,
            delta: 1.0,
            omega: 0.74,
            prandtl: 1.0,
            rotation: None,
        };
        let wall = Wall {
            temperature: if linear { 0.0 } else { 1.1 },
            velocity: [0.0; 2],
        };
        let scattering = Scattering { tangential, normal };
        let (sin, cos) = angle.sin_cos();
        let kernel = Kernel::new(&gas, &nodes, wall, [cos, sin], scattering).expect("a kernel");
        (gas, nodes, kernel)
    }

    #[test]
    fn kernels_are_reciprocal_and_keep_the_walls_maxwellian() {
        for linear in [false, true] {
            for (angle, shares) in [(0.0, [0.6, 0.8]), (0.7, [1.3, 0.3]), (2.0, [0.4, 1.0])] {
                let (gas, nodes, kernel) = kernel(angle, shares, linear);
                let count = nodes.len();
                let c = gas.maxwellian(match linear {
                    true => [1.0, 0.0, 0.0, 0.0],
                    false => [1.0, 0.0, 0.0, 1.1],
                });
                let at = |m: usize| {
                    let v = [nodes.vx[m], nodes.vy[m]];
                    match linear {
                        true => equilibrium::<true>(&c, v, f64::exp),
                        false => equilibrium::<false>(&c, v, f64::exp),
                    }
                };
                let mut rest = vec![0.0; 2 * count];
                for m in 0..count {
                    [rest[m], rest[count + m]] = at(m);
                }
                let image = kernel.scattered(&rest);
                for &m in &kernel.leaving {
                    for at in [m, count + m] {
                        let off = (image[at] / rest[at] - 1.0).abs();
                        // Both half fluxes of the nodes agree to their own accuracy.
                        assert!(off < 2e-3, "{angle}: {off}");
                    }
                }
                // Any molecules: as many leave as arrive.
                let (sin, cos) = angle.sin_cos();
                let speed = |m: usize| nodes.weight[m] * (nodes.vx[m] * cos + nodes.vy[m] * sin);
                let some: Vec<f64> = (0..2 * count)
                    .map(|at| rest[at] * (1.5 + (at as f64).sin()))
                    .collect();
                let image = kernel.scattered(&some);
                let arrives: f64 = kernel.arriving.iter().map(|&m| -speed(m) * some[m]).sum();
                let leaves: f64 = kernel.leaving.iter().map(|&m| speed(m) * image[m]).sum();
                assert!((leaves / arrives - 1.0).abs() < 1e-12, "{leaves} {arrives}");
                // Reciprocity: the flux from one velocity to another, and of both reversed.
                let reverse = |m: usize| nodes.mirrored[0][nodes.mirrored[1][m]];
                let size = kernel.arriving.len();
                let place = |of: &[usize], m: usize| of.iter().position(|&k| k == m);
                let joint = |row: usize, column: usize| {
                    let (i, j) = (kernel.leaving[row], kernel.arriving[column]);
                    kernel.matrix[row * size + column] * speed(i) * at(j)[0]
                };
                let mut checked = 0;
                for row in (0..kernel.leaving.len()).step_by(7) {
                    for column in (0..size).step_by(5) {
                        let back = place(&kernel.arriving, reverse(kernel.leaving[row]));
                        let to = place(&kernel.leaving, reverse(kernel.arriving[column]));
                        let (Some(back), Some(to)) = (back, to) else {
                            continue;
                        };
                        let (a, b) = (joint(row, column), joint(to, back));
                        assert!((a - b).abs() < 1e-9 * (a + b) + 1e-300, "{a} {b}");
                        checked += 1;
                    }
                }
                assert!(checked > 100);
            }
        }
    }

    #[test]
    fn complete_accommodation_emits_the_walls_maxwellian() {
        let (gas, nodes, kernel) = kernel(0.3, [1.0, 1.0], false);
        let count = nodes.len();
        let stream = gas.maxwellian([1.0, 0.2, -0.3, 0.8]);
        let wall = gas.maxwellian([1.0, 0.0, 0.0, 1.1]);
        let mut arrived = vec![0.0; 2 * count];
        for m in 0..count {
            let v = [nodes.vx[m], nodes.vy[m]];
            [arrived[m], arrived[count + m]] = equilibrium::<false>(&stream, v, f64::exp);
        }
        let image = kernel.scattered(&arrived);
        let ratios: Vec<f64> = kernel
            .leaving
            .iter()
            .map(|&m| {
                let v = [nodes.vx[m], nodes.vy[m]];
                image[m] / equilibrium::<false>(&wall, v, f64::exp)[0]
            })
            .collect();
        assert!(ratios.iter().all(|r| (r / ratios[0] - 1.0).abs() < 1e-9));
    }

    #[test]
    fn kernels_that_the_nodes_miss_are_refused() {
        let list = polar(16, 3, 1.0, false, true).expect("nodes");
        let nodes = Nodes::new(&list, |_| false).expect("nodes");
        let gas = Gas {
            linear: true,
            delta: 1.0,
            omega: 0.74,
            prandtl: 1.0,
            rotation: None,
        };
        let wall = Wall {
            temperature: 0.0,
            velocity: [0.0; 2],
        };
        let scattering = Scattering {
            tangential: 0.02,
            normal: 0.02,
        };
        let error = Kernel::new(&gas, &nodes, wall, [1.0, 0.0], scattering).expect_err("coarse");
        assert!(
            error.to_string().contains("more angles and speeds"),
            "{error}"
        );
    }
}
