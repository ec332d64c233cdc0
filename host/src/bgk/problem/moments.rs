//! Moments of a distribution at one point of space.

use serde::{Deserialize, Serialize};

use super::{State, VelocitySpace};

/// Moments of a distribution, in the units of this module: `n = sum f`, `n u = sum v f`, `(3/2) n T = sum |c|^2 f`, `P_ij = sum c_i c_j f`,
/// `q_i = (1/2) sum c_i |c|^2 f`, with c = v - u.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize, Deserialize)]
#[non_exhaustive]
pub struct Moments {
    /// Density n.
    pub density: f64,
    /// Mean velocity (u_x, u_y).
    pub velocity: [f64; 2],
    /// Temperature T.
    pub temperature: f64,
    /// Pressure tensor: P_xx, P_yy, P_xy. The trace is (3/2) n T.
    pub pressure: [f64; 3],
    /// Heat flux (q_x, q_y).
    pub heat_flux: [f64; 2],
}

impl Moments {
    /// The moments as numbers.
    pub(in crate::bgk) fn numbers(&self) -> [f64; 9] {
        let [ux, uy] = self.velocity;
        let [xx, yy, xy] = self.pressure;
        let [qx, qy] = self.heat_flux;
        [self.density, ux, uy, self.temperature, xx, yy, xy, qx, qy]
    }

    /// The moments of such numbers.
    pub(in crate::bgk) fn from_numbers(
        [density, ux, uy, temperature, xx, yy, xy, qx, qy]: [f64; 9],
    ) -> Self {
        Self {
            density,
            velocity: [ux, uy],
            temperature,
            pressure: [xx, yy, xy],
            heat_flux: [qx, qy],
        }
    }

    /// Density, mean velocity and temperature.
    pub fn state(&self) -> State {
        State {
            density: self.density,
            velocity: self.velocity,
            temperature: self.temperature,
        }
    }

    /// Moments of the populations `f(node)` of a velocity space, weights included, node by node.
    ///
    /// Where y is integrated out, `P_yy` is the mean of the pressures along the missing axes.
    pub fn of(space: &VelocitySpace, f: impl Fn(usize) -> f64) -> Self {
        let [_, ny, nm] = space.shape();
        let (vx, vy, inner) = (space.x().nodes(), space.y_nodes(), space.inner());
        let flows_along_y = space.flow() == 2;
        let each = |visit: &mut dyn FnMut(f64, f64, f64, f64)| {
            for (jx, &vx) in vx.iter().enumerate() {
                for (jy, &vy) in vy.iter().enumerate() {
                    for (m, inner) in inner.iter().enumerate() {
                        let f = f((jx * ny + jy) * nm + m);
                        visit(vx, vy, inner.mass * f, inner.energy * f);
                    }
                }
            }
        };
        let mut sums = [0.0; 3];
        each(&mut |vx, vy, mass, _| {
            sums[0] += mass;
            sums[1] += vx * mass;
            sums[2] += vy * mass;
        });
        let density = sums[0];
        let velocity = [
            sums[1] / density,
            if flows_along_y {
                sums[2] / density
            } else {
                0.0
            },
        ];
        let mut pressure = [0.0; 3];
        let mut unresolved = 0.0;
        let mut heat_flux = [0.0; 2];
        each(&mut |vx, vy, mass, energy| {
            let c = [vx - velocity[0], vy - velocity[1]];
            pressure[0] += c[0] * c[0] * mass;
            pressure[1] += c[1] * c[1] * mass;
            pressure[2] += c[0] * c[1] * mass;
            unresolved += energy;
            let square = (c[0] * c[0] + c[1] * c[1]) * mass + energy;
            heat_flux[0] += 0.5 * c[0] * square;
            heat_flux[1] += 0.5 * c[1] * square;
        });
        let temperature = (pressure[0] + pressure[1] + unresolved) * 2.0 / (3.0 * density);
        if space.axes().len() == 1 {
            pressure[1] = 0.5 * unresolved;
        }
        Self {
            density,
            velocity,
            temperature,
            pressure,
            heat_flux,
        }
    }
}
