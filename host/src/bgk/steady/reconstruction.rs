//! Fields of a rectangle without the alternating errors of diamond differences.

use super::problem::{Closure, SteadyProblem};
use super::solution::Solution;
use crate::bgk::Moments;

/// Density, momentum, energy, momentum flux (xx, yy, xy) and heat flux of a cell: all that a reconstruction takes for densities.
type Densities = [f64; 9];

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
        if problem.dimensions != 2 || closure != Closure::Diamond {
            return self.cells.clone();
        }
        let [nx, ny] = [0, 1].map(|d| problem.widths[d].len());
        let mut fields: Vec<Densities> = (self.cells.iter())
            .map(|m| densities(m, problem.linear))
            .collect();
        for iy in 0..ny {
            smooth(&mut fields, iy * nx, 1, &problem.widths[0]);
        }
        for ix in 0..nx {
            smooth(&mut fields, ix, nx, &problem.widths[1]);
        }
        let found: Vec<Moments> = fields.iter().map(|w| moments(w, problem.linear)).collect();
        let is_gas = |m: &Moments| m.density > 0.0 && m.temperature > 0.0;
        if problem.linear || found.iter().all(is_gas) {
            found
        } else {
            self.cells.clone()
        }
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

fn densities(m: &Moments, linear: bool) -> Densities {
    let (n, [ux, uy], t) = (m.density, m.velocity, m.temperature);
    let ([pxx, pyy, pxy], [qx, qy]) = (m.pressure, m.heat_flux);
    if linear {
        return [n, ux, uy, t, pxx, pyy, pxy, qx, qy];
    }
    let energy = n * (ux * ux + uy * uy + 1.5 * t);
    let [xx, yy, xy] = [pxx + n * ux * ux, pyy + n * uy * uy, pxy + n * ux * uy];
    [n, n * ux, n * uy, energy, xx, yy, xy, qx, qy]
}

fn moments(&[n, mx, my, e, xx, yy, xy, qx, qy]: &Densities, linear: bool) -> Moments {
    let heat_flux = [qx, qy];
    if linear {
        return Moments {
            density: n,
            velocity: [mx, my],
            temperature: e,
            pressure: [xx, yy, xy],
            heat_flux,
        };
    }
    let (ux, uy) = (mx / n, my / n);
    Moments {
        density: n,
        velocity: [ux, uy],
        temperature: (e / n - ux * ux - uy * uy) / 1.5,
        pressure: [xx - n * ux * ux, yy - n * uy * uy, xy - n * ux * uy],
        heat_flux,
    }
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
                let mut sums = [0.0; 9];
                for m in cells {
                    let w = densities(m, problem.linear);
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
        let of = |value: f64| [value; 9];
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
