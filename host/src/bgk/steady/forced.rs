//! Sweeps with a force along the walls of a line, exact at any strength.
//!
//! A force a along y needs no derivative of f. Moments over the velocities across the line,
//!
//! ```text
//! F_m = int v_y^m f dv_y dv_z,     Z_m = int v_y^m v_z^2 f dv_y dv_z,
//!
//! v_x dF_m/dx = nu (S_m - F_m) + m a F_(m-1),     v_x dZ_m/dx = nu (SZ_m - Z_m) + m a Z_(m-1)
//! ```
//!
//! form a closed chain, since `v_y^m a df/dv_y` is `-m a F_(m-1)` after an integration by parts. F_0 to F_2 and Z_0 determine the equilibrium of the BGK model, F_3 and Z_1 the heat flux along the walls.
//! Those of the equilibrium are known in closed form. Only v_x has nodes; those of the problem along y and z carry its weights alone.
//!
//! Molecules that rotate have two moments more, `E_m = int v_y^m E dv_y dv_z` of their [internal energy](super::internal), in the same chain: E_0, and E_1 for its heat flux along the walls.

use std::f64::consts::PI;

use rayon::prelude::*;

use super::engine::Sweeps;
use super::plan::{COEFFICIENTS, EAST, INTERNAL, Plan, WEST};
use super::sums::{Sums, Swept, add, flux, leaving};
use crate::error::{Error, Result};

/// Parts that the velocities are divided into, each with sums of its own.
const TASKS: usize = 16;

/// F_0, F_1, F_2, Z_0, F_3 and Z_1 of a velocity v_x.
type Moments = [f64; 6];

/// Effect of the force over a: the moment below, and how many times it counts.
const BELOW: [(usize, f64); 6] = [(0, 0.0), (0, 1.0), (1, 2.0), (3, 0.0), (2, 3.0), (3, 1.0)];

/// E_0 and E_1 of a velocity v_x.
type Internal = [f64; 2];

/// Velocities v_x with the moments of the others.
pub(super) struct ForcedSweeps {
    plan: Plan,
    /// v_x and its weight.
    nodes: Vec<[f64; 2]>,
    /// Molecules that the walls emit per unit of their density, at each node.
    emitted: [Vec<Moments>; 2],
    /// Mass that the walls emit on the problem's nodes, over that on these.
    rates: [f64; 2],
}

/// Sums of a part of the velocities.
struct Part {
    /// `[cell][component]`.
    cells: Vec<f64>,
    fluxes: Vec<[f64; flux::LEN]>,
    brought: Vec<[f64; 2]>,
    leaving: [[f64; leaving::LEN]; 2],
}

/// Moments of a distribution with the velocity u along y from those about it.
fn about_zero(u: f64, m: Moments) -> Moments {
    let [m0, m1, m2, z0, m3, z1] = m;
    [
        m0,
        u * m0 + m1,
        u * (u * m0 + 2.0 * m1) + m2,
        z0,
        u * (u * (u * m0 + 3.0 * m1) + 3.0 * m2) + m3,
        u * z0 + z1,
    ]
}

/// The Maxwellian of density n at the velocity v_x, without the other velocities.
fn gaussian(vx: f64, n: f64, c: &[f64; COEFFICIENTS]) -> f64 {
    let [_, ux, _, inverse, ..] = *c;
    let cx = vx - ux;
    n * (inverse / PI).sqrt() * (-cx * cx * inverse).exp()
}

/// Moments of the local equilibrium around the Maxwellian `g` at the velocity v_x.
fn equilibrium(vx: f64, g: f64, c: &[f64; COEFFICIENTS]) -> Moments {
    let [_, ux, uy, inverse, kx, ky, ..] = *c;
    let t = 1.0 / inverse;
    let cx = vx - ux;
    let a = cx * cx * inverse;
    // The Shakhov factor 1 + k.c (c^2/T - 5/2), averaged over the Gaussian of the velocities across.
    let p = kx * cx;
    let m = [
        1.0 + p * (a - 1.5),
        0.5 * t * ky * (a - 0.5),
        0.5 * t * (1.0 + p * (a - 0.5)),
        0.5 * t * (1.0 + p * (a - 0.5)),
        0.75 * t * t * ky * (a + 0.5),
        0.25 * t * t * ky * (a + 0.5),
    ];
    about_zero(uy, m.map(|m| g * m))
}

/// Moments of the equilibrium of internal energy, around the Maxwellian `g` and the moments `s` of that of the molecules.
fn internal_equilibrium(vx: f64, g: f64, s: &Moments, c: &[f64; COEFFICIENTS]) -> Internal {
    let [_, ux, uy, inverse, .., half, kx, ky] = *c;
    let across = kx * (vx - ux);
    [
        half * s[0] + g * across,
        half * s[1] + g * (uy * across + 0.5 * ky / inverse),
    ]
}

impl ForcedSweeps {
    /// # Errors
    /// Sides that are no walls with full accommodation.
    pub(super) fn new(plan: &Plan) -> Result<Self> {
        let across = -0.5 * (plan.velocity_dimensions as f64 - 1.0);
        let mut nodes: Vec<[f64; 2]> = Vec::new();
        // Nodes of a group are sorted by |v_x|.
        for &[vx, vy, vz2, w] in plan.nodes.iter().filter(|node| node[3] > 0.0) {
            let weight = w * PI.powf(across) * (-vy * vy - vz2).exp();
            match nodes.last_mut().filter(|last| last[0] == vx) {
                Some(last) => last[1] += weight,
                None => nodes.push([vx, weight]),
            }
        }
        let (mut emitted, mut rates) = ([Vec::new(), Vec::new()], [1.0; 2]);
        for side in [WEST, EAST] {
            let Some((s, [t, u])) = plan.sides[side]
                .as_ref()
                .and_then(|s| Some((s, s.wall?)))
                .filter(|(s, _)| s.share == 1.0)
            else {
                return Err(Error::invalid(
                    "force",
                    plan.force,
                    "0, or two walls that reflect diffusely with full accommodation",
                ));
            };
            let mut still = [0.0; COEFFICIENTS];
            (still[2], still[3]) = (u, 1.0 / t);
            emitted[side] = nodes
                .iter()
                .map(|&[vx, _]| equilibrium(vx, gaussian(vx, 1.0, &still), &still))
                .collect();
            let inwards = nodes.iter().zip(&emitted[side]);
            let rate: f64 = inwards
                .filter(|([vx, _], _)| (*vx >= 0.0) == (side == WEST))
                .map(|([vx, w], m)| w * vx.abs() * m[0])
                .sum();
            rates[side] = s.rate[0] / rate;
        }
        Ok(Self {
            plan: plan.clone(),
            nodes,
            emitted,
            rates,
        })
    }

    /// Sweeps all velocities; the sums of a cell are those of [`Swept`], or with `OUTPUT` those of [`Sums`].
    fn sweep<const OUTPUT: bool>(&self, x: &[f64]) -> Part {
        let plan = &self.plan;
        let coefficients = plan.coefficients(x);
        let count = self.nodes.len();
        let tasks = TASKS.min(count);
        let parts: Vec<Part> = (0..tasks)
            .into_par_iter()
            .map(|task| {
                let mut part = self.nothing::<OUTPUT>();
                for node in task * count / tasks..(task + 1) * count / tasks {
                    self.sweep_node::<OUTPUT>(x, &coefficients, node, &mut part);
                }
                part
            })
            .collect();
        let mut all = self.nothing::<OUTPUT>();
        for part in &parts {
            add(&mut all.cells, &part.cells);
            add(all.fluxes.as_flattened_mut(), part.fluxes.as_flattened());
            add(all.brought.as_flattened_mut(), part.brought.as_flattened());
            add(all.leaving.as_flattened_mut(), part.leaving.as_flattened());
        }
        all
    }

    fn nothing<const OUTPUT: bool>(&self) -> Part {
        let layout = &self.plan.layout;
        let components = if OUTPUT { 5 } else { layout.components };
        Part {
            cells: vec![0.0; components * layout.cells],
            fluxes: self.plan.no_fluxes(),
            brought: vec![[0.0; 2]; layout.cells],
            leaving: [[0.0; leaving::LEN]; 2],
        }
    }

    /// Internal energy that a wall emits at a node.
    fn emitted_internal(&self, from: usize, emitted: &Moments) -> Internal {
        let wall = self.plan.sides[from].as_ref().and_then(|side| side.wall);
        let (Some(rotation), Some([temperature, _])) = (&self.plan.rotation, wall) else {
            return [0.0; 2];
        };
        let half = 0.5 * rotation.freedom * temperature;
        [half * emitted[0], half * emitted[1]]
    }

    fn sweep_node<const OUTPUT: bool>(
        &self,
        x: &[f64],
        coefficients: &[[f64; COEFFICIENTS]],
        node: usize,
        part: &mut Part,
    ) {
        let plan = &self.plan;
        let cells = plan.layout.cells;
        let components = part.cells.len() / cells;
        let [vx, w] = self.nodes[node];
        let east = vx >= 0.0;
        let (from, to) = if east { (WEST, EAST) } else { (EAST, WEST) };
        let rho = x[plan.layout.faces_at() + plan.layout.faces[from]];
        let factor = if plan.diamond { 2.0 } else { 1.0 };
        let mut beside = self.emitted[from][node].map(|m| rho * m);
        let mut carried = self.emitted_internal(from, &beside);
        let first = if east { 0 } else { cells };
        pass(&mut part.fluxes[first], [vx, w], &beside, &carried);
        for step in 0..cells {
            let cell = if east { step } else { cells - 1 - step };
            let c = &coefficients[cell];
            let g = gaussian(vx, x[cell], c);
            let s = equilibrium(vx, g, c);
            let (nu, b) = (c[6], factor * vx.abs() * plan.inverse[0][cell]);
            let mut f = [0.0; 6];
            for (k, (below, times)) in BELOW.into_iter().enumerate() {
                let push = times * plan.force * f[below];
                f[k] = (nu * s[k] + push + b * beside[k]) / (nu + b);
            }
            for (beside, f) in beside.iter_mut().zip(f) {
                *beside = if plan.diamond { 2.0 * f - *beside } else { f };
            }
            let sums = &mut part.cells[cell * components..][..components];
            let terms = if OUTPUT {
                stresses(vx, &f, c)
            } else {
                defects(vx, &f, &s, c)
            };
            for (sum, term) in sums.iter_mut().zip(terms) {
                *sum += w * term;
            }
            part.brought[cell][0] += plan.force * w * f[0];
            part.brought[cell][1] += plan.force * w * f[1];
            let onward = cell + usize::from(east);
            let s = internal_equilibrium(vx, g, &s, c);
            let first = (nu * s[0] + b * carried[0]) / (nu + b);
            let second = (nu * s[1] + plan.force * first + b * carried[1]) / (nu + b);
            for (carried, e) in carried.iter_mut().zip([first, second]) {
                *carried = if plan.diamond { 2.0 * e - *carried } else { e };
            }
            let heat = [(vx - c[1]) * first, second - c[2] * first].map(|q| 0.5 * w * q);
            if let Some(sums) = sums.get_mut(INTERNAL..) {
                add(sums, &[w * (first - s[0]), heat[0], heat[1]]);
            }
            pass(&mut part.fluxes[onward], [vx, w], &beside, &carried);
        }
        let square = vx * vx * beside[0] + beside[2] + beside[3];
        let speed = vx.abs();
        let left = &mut part.leaving[to];
        for (k, term) in [
            (leaving::MASS, speed * beside[0]),
            (leaving::NORMAL, vx * vx * beside[0]),
            (leaving::TANGENTIAL, speed * beside[1]),
            (leaving::ENERGY, 0.5 * speed * square),
            (leaving::DENSITY, beside[0]),
            (leaving::DRIFT, beside[1]),
            (leaving::SQUARE, square),
            (leaving::INTERNAL, 0.5 * speed * carried[0]),
            (leaving::INTERNAL_DENSITY, carried[0]),
        ] {
            left[k] += w * term;
        }
    }

    /// `[component][cell]` of the sums of the cells.
    fn turned(&self, sums: &[f64]) -> Vec<f64> {
        let cells = self.plan.layout.cells;
        let components = sums.len() / cells;
        (0..sums.len())
            .map(|at| sums[(at % cells) * components + at / cells])
            .collect()
    }
}

/// Adds what the molecules of a node carry through a face.
fn pass(sums: &mut [f64; flux::LEN], [vx, w]: [f64; 2], f: &Moments, e: &Internal) {
    let through = w * vx;
    sums[flux::MASS] += through * f[0];
    sums[flux::MOMENTUM] += through * vx * f[0];
    sums[flux::SHEAR] += through * f[1];
    sums[flux::ENERGY] += 0.5 * through * (vx * vx * f[0] + f[2] + f[3]);
    sums[flux::INTERNAL] += 0.5 * through * e[0];
}

/// Heat flux of a node along x and y but for its weight, about the mean velocity.
fn heat(vx: f64, f: &Moments, c: &[f64; COEFFICIENTS]) -> [f64; 2] {
    let cx = vx - c[1];
    let [_, about1, about2, z0, about3, z1] = about_zero(-c[2], *f);
    let across = cx * cx * f[0] + about2 + z0;
    let along = cx * cx * about1 + about3 + z1;
    [0.5 * cx * across, 0.5 * along]
}

/// Terms of the sums of an iteration: (f - S) (1, v_x, v_y, |v|^2), and the heat flux.
fn defects(vx: f64, f: &Moments, s: &Moments, c: &[f64; COEFFICIENTS]) -> [f64; 6] {
    let d: [f64; 4] = std::array::from_fn(|k| f[k] - s[k]);
    let [qx, qy] = heat(vx, f, c);
    [d[0], vx * d[0], d[1], vx * vx * d[0] + d[2] + d[3], qx, qy]
}

/// Terms of P_xx, P_xy, P_yy, q_x and q_y.
fn stresses(vx: f64, f: &Moments, c: &[f64; COEFFICIENTS]) -> [f64; 6] {
    let cx = vx - c[1];
    let [_, about1, about2, ..] = about_zero(-c[2], *f);
    let [qx, qy] = heat(vx, f, c);
    [cx * cx * f[0], cx * about1, about2, qx, qy, 0.0]
}

impl Sweeps for ForcedSweeps {
    fn iterate(&mut self, x: &[f64], _: &mut [f64]) -> Result<Swept> {
        let swept = self.sweep::<false>(x);
        let left = [WEST, EAST].map(|side| self.rates[side] * swept.leaving[side][leaving::MASS]);
        Ok(Swept {
            sums: self.turned(&swept.cells),
            left: left.to_vec(),
            fluxes: swept.fluxes,
            brought: swept.brought,
            ..Swept::default()
        })
    }

    fn output(&mut self, x: &[f64]) -> Result<Sums> {
        let swept = self.sweep::<true>(x);
        Ok(Sums {
            cells: self.turned(&swept.cells),
            faces: swept.leaving.as_flattened().to_vec(),
        })
    }
}
