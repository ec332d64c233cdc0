//! Fields of a rectangle without the alternating errors of diamond differences.

use super::problem::{Closure, SteadyProblem};
use super::solution::Solution;
use crate::bgk::{Moments, RotatingMoments, Rotation};

/// Density, momentum, energy, momentum flux (xx, yy, xy) and heat flux of a cell: all that a reconstruction takes for densities. The last three are `n T_r` and the heat flux of
/// internal energy, of molecules that rotate; the energy is then that of translation.
type Densities = [f64; 12];

impl Solution {
    /// Moments of each cell without the alternating errors of diamond differences.
    ///
    /// Behind a jump, as at the corners of a sliding lid, a diamond cell's mean alternates from cell to cell along a molecule's way. In each direction the
    /// reconstruction subtracts `D'D w / 16` from every density w, D its second differences. That removes the alternation, changes
    /// smooth fields by terms of fourth order (second at walls), and keeps their sums and first moments over each row and column.
    ///
    /// On a line and with upwind differences nothing alternates, and the cells are returned unchanged. So are they where the
    /// reconstruction would have no positive density or temperature.
    pub fn reconstructed(&self, problem: &SteadyProblem, closure: Closure) -> Vec<Moments> {
        self.smoothed(problem, closure).0
    }

    /// The same of the rotation of each cell; empty where the molecules do not rotate.
    pub fn reconstructed_rotation(
        &self,
        problem: &SteadyProblem,
        closure: Closure,
    ) -> Vec<RotatingMoments> {
        self.smoothed(problem, closure).1
    }

    fn smoothed(
        &self,
        problem: &SteadyProblem,
        closure: Closure,
    ) -> (Vec<Moments>, Vec<RotatingMoments>) {
        let unchanged = || (self.cells.clone(), self.rotation.clone());
        if problem.dimensions != 2 || closure != Closure::Diamond {
            return unchanged();
        }
        let [nx, ny] = [0, 1].map(|d| problem.widths[d].len());
        let mut fields: Vec<Densities> = (self.cells.iter().enumerate())
            .map(|(cell, m)| densities(m, self.rotation.get(cell), problem.linear))
            .collect();
        for iy in 0..ny {
            smooth(&mut fields, iy * nx, 1, &problem.widths[0]);
        }
        for ix in 0..nx {
            smooth(&mut fields, ix, nx, &problem.widths[1]);
        }
        let rotation = problem.gas.rotating().filter(|_| !self.rotation.is_empty());
        let mut found: (Vec<Moments>, Vec<RotatingMoments>) = (fields.iter())
            .map(|w| moments(w, rotation.as_ref(), problem.linear))
            .unzip();
        let is_gas = |m: &Moments| m.density > 0.0 && m.temperature > 0.0;
        let turns = |own: &RotatingMoments| {
            own.temperature_translational > 0.0 && own.temperature_rotational > 0.0
        };
        let (rotates, cells) = (rotation.is_some(), &found.0);
        if !problem.linear && !(cells.iter().all(is_gas) && (!rotates || found.1.iter().all(turns)))
        {
            return unchanged();
        }
        if !rotates {
            found.1.clear();
        }
        found
    }
}

/// Subtracts `D'D w / 16` along a row of cells, `stride` apart from `first` on. Where widths differ, from the contents of the cells by the
/// smallest width of those that exchange.
fn smooth(fields: &mut [Densities], first: usize, stride: usize, widths: &[f64]) {
    let row: Vec<Densities> = (0..widths.len())
        .map(|i| fields[first + i * stride])
        .collect();
    for (i, three) in row.windows(3).enumerate() {
        let narrowest = widths[i..i + 3]
            .iter()
            .copied()
            .fold(f64::INFINITY, f64::min);
        for (k, weight) in [1.0, -2.0, 1.0].into_iter().enumerate() {
            let share = weight * narrowest / (16.0 * widths[i + k]);
            let cell = &mut fields[first + (i + k) * stride];
            for (component, value) in cell.iter_mut().enumerate() {
                let [a, b, c] = [0, 1, 2].map(|j| three[j][component]);
                *value -= share * (a - 2.0 * b + c);
            }
        }
    }
}

fn densities(m: &Moments, own: Option<&RotatingMoments>, linear: bool) -> Densities {
    let (n, [ux, uy]) = (m.density, m.velocity);
    let t = own.map_or(m.temperature, |own| own.temperature_translational);
    let own = own.copied().unwrap_or_default();
    let ([pxx, pyy, pxy], [qx, qy]) = (m.pressure, m.heat_flux);
    let (t_r, [rx, ry]) = (own.temperature_rotational, own.heat_flux_rotational);
    if linear {
        return [n, ux, uy, t, pxx, pyy, pxy, qx, qy, t_r, rx, ry];
    }
    let energy = n * (ux * ux + uy * uy + 1.5 * t);
    let [xx, yy, xy] = [pxx + n * ux * ux, pyy + n * uy * uy, pxy + n * ux * uy];
    [
        n,
        n * ux,
        n * uy,
        energy,
        xx,
        yy,
        xy,
        qx,
        qy,
        n * t_r,
        rx,
        ry,
    ]
}

fn moments(
    &[n, mx, my, e, xx, yy, xy, qx, qy, internal, rx, ry]: &Densities,
    rotation: Option<&Rotation>,
    linear: bool,
) -> (Moments, RotatingMoments) {
    let ([ux, uy], t, pressure, t_r) = match linear {
        true => ([mx, my], e, [xx, yy, xy], internal),
        false => {
            let (ux, uy) = (mx / n, my / n);
            let pressure = [xx - n * ux * ux, yy - n * uy * uy, xy - n * ux * uy];
            let t = (e / n - ux * ux - uy * uy) / 1.5;
            ([ux, uy], t, pressure, internal / n)
        }
    };
    let moments = Moments {
        density: n,
        velocity: [ux, uy],
        temperature: rotation.map_or(t, |rotation| rotation.temperature(t, t_r)),
        pressure,
        heat_flux: [qx, qy],
    };
    let own = RotatingMoments {
        temperature_translational: t,
        temperature_rotational: t_r,
        heat_flux_rotational: [rx, ry],
    };
    (moments, own)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::bgk::Cavity;
    use crate::bgk::steady::{Nodes, SteadyConfig, solve};

    fn problem(lid: Option<f64>) -> SteadyProblem {
        let mut cavity = Cavity::new(1.0, 24, &[8, 8]).unwrap();
        cavity.lid = lid.unwrap_or(1.0);
        let mut problem = SteadyProblem::from(&cavity.problem().unwrap());
        problem.nodes = Nodes::polar(32, 5).unwrap();
        problem.linear = lid.is_none();
        problem
    }

    /// The largest alternating part of u_x along the rows of the middle, a quarter of the side off all walls.
    fn alternating(cells: &[Moments], n: usize) -> f64 {
        let mut most = 0.0_f64;
        for iy in n / 4..3 * n / 4 {
            for ix in n / 4..3 * n / 4 {
                for stride in [1, n] {
                    let u = |k: usize| cells[iy * n + ix + k * stride - 2 * stride].velocity[0];
                    let fourth = u(0) - 4.0 * u(1) + 6.0 * u(2) - 4.0 * u(3) + u(4);
                    most = most.max(fourth.abs() / 16.0);
                }
            }
        }
        most
    }

    #[test]
    fn what_alternates_goes_and_conserved_sums_stay() {
        for lid in [None, Some(0.3)] {
            let problem = problem(lid);
            let solution = solve(&problem, &SteadyConfig::default()).unwrap();
            let found = solution.reconstructed(&problem, Closure::Diamond);
            let [before, after] = [&solution.cells, &found].map(|cells| alternating(cells, 24));
            assert!(after < 0.25 * before, "{before} {after}");
            let sums = |cells: &[Moments]| {
                let mut sums = [0.0; 12];
                for m in cells {
                    let w = densities(m, None, problem.linear);
                    sums.iter_mut().zip(w).for_each(|(sum, w)| *sum += w);
                }
                sums
            };
            for (before, after) in sums(&solution.cells).into_iter().zip(sums(&found)) {
                assert!((before - after).abs() < 1e-10, "{before} {after}");
            }
        }
    }

    #[test]
    fn uneven_cells_keep_their_contents_and_flat_fields() {
        let widths = [1.0, 2.0, 0.5, 3.0, 1.0];
        let of = |value: f64| [value; 12];
        let mut fields: Vec<Densities> = [1.0, 3.0, 2.0, 7.0, 4.0].map(of).to_vec();
        let content = |fields: &[Densities]| -> f64 {
            (fields.iter().zip(widths)).map(|(w, h)| h * w[0]).sum()
        };
        let before = content(&fields);
        smooth(&mut fields, 0, 1, &widths);
        assert!((content(&fields) - before).abs() < 1e-14);
        assert!((fields[1][0] - 3.0).abs() > 1e-3);
        let mut flat = vec![of(2.5); 5];
        smooth(&mut flat, 0, 1, &widths);
        assert_eq!(flat, vec![of(2.5); 5]);
    }
}
