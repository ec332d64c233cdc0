//! Molecules that a wall mirrors: the part `1 - alpha` of Maxwell's boundary condition.
//!
//! At a wall along an axis the mirror image of a node is a node. At other walls the nodes lie on rings of one speed: the value at a mirror image is interpolated linearly
//! between the neighbouring angles of its ring, and each ring is scaled so that it keeps its flux (in the linearised equation a constant is added). The mirrored
//! part then carries no mass and no energy through the wall.

use crate::flow::gas::Gas;
use crate::flow::nodes::Nodes;

/// Flux of one ring into a wall and of its image out of it.
#[derive(Clone, Copy, Default)]
pub(super) struct Balance {
    arriving: f64,
    leaving: f64,
    weight: f64,
}

impl Balance {
    /// Adds a node that arrives; `weight` is its volume times its velocity into the wall.
    pub(super) fn arrives(&mut self, weight: f64, value: f64) {
        self.arriving += weight * value;
    }

    /// Adds a node that leaves.
    pub(super) fn leaves(&mut self, weight: f64, value: f64) {
        self.leaving += weight * value;
        self.weight += weight;
    }

    /// Corrects the image at a node so that the ring keeps its flux: by a factor, in the linearised equation by a constant.
    pub(super) fn correct(&self, gas: &Gas, image: &mut f64) {
        if gas.linear {
            *image += (self.arriving - self.leaving) / self.weight;
        } else if self.leaving > 0.0 {
            *image *= self.arriving / self.leaving;
        }
    }
}

/// The image of the outflow of one wall segment in both functions, `[g, h][node]`; zero for nodes that do not leave the wall.
pub(in crate::flow) fn mirrored(
    gas: &Gas,
    nodes: &Nodes,
    normal: [f64; 2],
    arrived: &[f64],
) -> Vec<f64> {
    let count = nodes.len();
    let mut image = vec![0.0; 2 * count];
    let speed = |m: usize| nodes.vx[m] * normal[0] + nodes.vy[m] * normal[1];
    let axis = (0..2).find(|&k| normal[1 - k].abs() < 1e-12 && nodes.is_symmetric(k));
    if let Some(axis) = axis {
        for m in (0..count).filter(|&m| speed(m) > 0.0) {
            let from = nodes.mirrored[axis][m];
            (image[m], image[count + m]) = (arrived[from], arrived[count + from]);
        }
        return image;
    }
    let wall = normal[1].atan2(normal[0]);
    for ring in &nodes.rings {
        let angles = &ring.angles;
        let size = angles.len();
        for q in 0..2 {
            let value = |k: usize| arrived[q * count + ring.nodes[k % size]];
            let arrives = |k: usize| speed(ring.nodes[k % size]) < 0.0;
            let mut balance = Balance::default();
            for (k, &m) in ring.nodes.iter().enumerate() {
                let normal_speed = speed(m);
                if normal_speed < 0.0 {
                    balance.arrives(-nodes.weight[m] * normal_speed, value(k));
                    continue;
                }
                // Angle of the image, between two nodes of the ring.
                let angle = (2.0 * wall + std::f64::consts::PI - angles[k])
                    .rem_euclid(std::f64::consts::TAU);
                let after = angles.partition_point(|a| *a <= angle);
                let before = after + size - 1;
                let gap = |a: f64| a.rem_euclid(std::f64::consts::TAU);
                let width = gap(angles[after % size] - angles[before % size]);
                let share = gap(angle - angles[before % size]) / width;
                let [a, b] = [
                    if arrives(before) { 1.0 - share } else { 0.0 },
                    if arrives(after) { share } else { 0.0 },
                ];
                let sum = a + b;
                let mean = match sum > 0.0 {
                    true => (a * value(before) + b * value(after)) / sum,
                    false => 0.0,
                };
                image[q * count + m] = mean;
                balance.leaves(nodes.weight[m] * normal_speed, mean);
            }
            let leaving = ring.nodes.iter().filter(|&&m| speed(m) >= 0.0);
            for &m in leaving {
                balance.correct(gas, &mut image[q * count + m]);
            }
        }
    }
    image
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::flow::nodes::polar;

    #[test]
    fn a_mirrored_maxwellian_is_itself_and_keeps_its_flux() {
        let list = polar(48, 6, 1.0, false, false).unwrap();
        let nodes = Nodes::new(&list, |_| false).unwrap();
        let gas = Gas {
            linear: false,
            delta: 1.0,
            omega: 0.74,
            prandtl: 1.0,
            rotation: None,
        };
        let count = nodes.len();
        for angle in [0.0_f64, 0.4, 1.1] {
            let normal = [angle.cos(), angle.sin()];
            // It streams along the wall, so the image is the same.
            let along = [-normal[1], normal[0]];
            let f = |m: usize| {
                let (cx, cy) = (nodes.vx[m] - 0.3 * along[0], nodes.vy[m] - 0.3 * along[1]);
                (-cx * cx - cy * cy).exp()
            };
            let arrived: Vec<f64> = (0..2 * count).map(|at| f(at % count)).collect();
            let image = mirrored(&gas, &nodes, normal, &arrived);
            let mut net = 0.0;
            for (m, &image) in image.iter().enumerate().take(count) {
                let speed = nodes.vx[m] * normal[0] + nodes.vy[m] * normal[1];
                let value = if speed > 0.0 { image } else { f(m) };
                net += nodes.weight[m] * speed * value;
                if speed > 0.0 && nodes.weight[m] > 0.0 {
                    assert!(
                        (image / f(m) - 1.0).abs() < 3e-2,
                        "{angle}: {}",
                        image / f(m)
                    );
                }
            }
            assert!(net.abs() < 1e-13, "{angle}: {net}");
        }
    }
}
