//! The correction between two walls.
//!
//! On a line the corrected fluxes are constants, those of a force in a channel without what it brings in on the way. With the fluxes J of f at the faces, a cell's law `C - (J_- + J_+)/2 = -k (z_+ - z_-)/h`
//! and the walls' laws `C - J = -+ g z` determine the constant C and the face values z by one sum over the cells. First z is the tangential velocity
//! and C the shear stress, then z is the temperature and C the energy flux.
//!
//! A wall's law is the half-range balance of its outflow. Of the incoming molecules only the wall's density changes; the outgoing ones change
//! by the polynomial of Newton's and Fourier's law,
//!
//! ```text
//! f' / M = n'/n + 2 c.u'/T + T'/T (c^2/T - 3/2) + 4 c_x c_y s'/(n T^2) + (8/5) q' c_x (c^2/T - 5/2)/(n T^2)
//! ```
//!
//! which yields `g = (alpha / (2 - alpha)) n sqrt(T / pi)` for both laws, the temperature jump with the mass flux M of f beside it.

use std::f64::consts::PI;

use super::super::plan::{EAST, INTERNAL, Plan, WEST};
use super::super::sums::{Swept, flux};
use super::laws::{lag, transport};
use super::rotating::{Conduction, RotatingCell, add_internal, conduct, gained_internal};
use crate::bgk::Rotation;

/// The correction between two walls, or a wall and a mirror.
pub(in crate::bgk::steady) struct PlatesCorrection {
    /// Mass between the walls.
    mass: f64,
}

/// The gas at a wall, in the frame of the wall.
struct Wall {
    /// Sign of the fluxes into the gas: 1 on the left, -1 on the right.
    sign: f64,
    /// Tangential velocity of what the wall emits.
    velocity: f64,
    /// The law's factor g.
    conductance: f64,
    /// Fluxes of shear and energy about the wall's velocity and temperature, as the law has them, reckoned along x.
    fluxes: [f64; 2],
    /// That of internal energy.
    internal: f64,
    /// Density and temperature of the gas.
    gas: [f64; 2],
    /// The adjacent cell.
    cell: usize,
    face: usize,
}

/// A constant flux, and the values at the faces that drive it.
struct Line {
    constant: f64,
    faces: Vec<f64>,
}

/// The constant C and the face values z with `C = left - g_0 z_0`, `C = right + g_1 z_N` and `z_{i+1} = z_i - t_i (C - source_i)`.
///
/// Where neither wall exchanges anything the flux is the mean of both and z is left at zero.
fn constant_flux(left: f64, right: f64, conductance: [f64; 2], t: &[f64], source: &[f64]) -> Line {
    let resistance: f64 = t.iter().sum();
    let driven: f64 = t.iter().zip(source).map(|(t, s)| t * s).sum();
    let [g0, g1] = conductance;
    let (constant, first) = match (g0 > 0.0, g1 > 0.0) {
        (true, true) => {
            let constant = (left / g0 + right / g1 + driven) / (1.0 / g0 + 1.0 / g1 + resistance);
            (constant, (left - constant) / g0)
        }
        (true, false) => (right, (left - right) / g0),
        (false, true) => (left, (left - right) / g1 + resistance * left - driven),
        (false, false) => {
            let faces = vec![0.0; t.len() + 1];
            return Line {
                constant: 0.5 * (left + right),
                faces,
            };
        }
    };
    let mut faces = Vec::with_capacity(t.len() + 1);
    let mut value = first;
    faces.push(value);
    for (t, source) in t.iter().zip(source) {
        value -= t * (constant - source);
        faces.push(value);
    }
    Line { constant, faces }
}

impl PlatesCorrection {
    pub(super) fn new(mass: f64) -> Self {
        Self { mass }
    }

    pub(super) fn apply(&self, plan: &Plan, x: &[f64], swept: &Swept, y: &mut [f64]) {
        let gap = Gap::new(plan, x, swept, y);
        let shear = gap.shear();
        let energy = gap.energy(&shear);
        // Density, from a constant pressure and the mass that is there.
        let pressure = gap.pressure();
        let density = |cell: usize, face: usize, constant: f64| {
            let [n, _, t] = gap.about[cell];
            (2.0 * (pressure[face] + constant) - n * energy.line.faces[face]) / t
        };
        let (mut missing, mut per) = (self.mass - plan.mass(y), 0.0);
        for (cell, width) in plan.widths[0].iter().enumerate() {
            missing -= 0.5 * width * (density(cell, cell, 0.0) + density(cell, cell + 1, 0.0));
            per += 2.0 * width / gap.about[cell][2];
        }
        let constant = missing / per;
        let density = |cell: usize, face: usize| density(cell, face, constant);
        gap.correct_cells(y, &shear, &energy, density);
        gap.correct_walls(y, &shear, &energy, density);
    }
}

/// The gas between the plates, about which a correction is linear.
struct Gap<'a> {
    plan: &'a Plan,
    fluxes: &'a [[f64; flux::LEN]],
    /// Stress that a force has built up in each cell beside the constant one.
    built: Vec<f64>,
    /// Density, velocity along the walls and temperature of each cell.
    about: Vec<[f64; 3]>,
    /// Viscosity and heat conductivity of each cell.
    coefficients: Vec<[f64; 2]>,
    walls: [Wall; 2],
    /// Measured shear stress of each cell.
    stress: Vec<f64>,
    /// Change of each cell's heat flux across and along the gap by relaxation.
    lags: [Vec<f64>; 2],
    /// Laws of molecules that rotate.
    rotating: Option<Rotating<'a>>,
}

/// Molecules that rotate.
struct Rotating<'a> {
    rotation: &'a Rotation,
    cells: Vec<RotatingCell>,
}

/// The energy flux and the changes of temperature.
struct Energy {
    line: Line,
    /// Measured heat flux of each cell, and its corrected velocity along the walls.
    conduction: Vec<f64>,
    velocity: Vec<f64>,
    /// Changes of the temperature of rotation and the flux of internal energy at the faces, of molecules that rotate.
    rotating: Option<Conduction>,
}

impl<'a> Gap<'a> {
    fn new(plan: &'a Plan, x: &[f64], swept: &'a Swept, y: &[f64]) -> Self {
        let cells = plan.nx;
        let about: Vec<[f64; 3]> = (0..cells)
            .map(|cell| {
                let [n, _, u, t] = plan.primitive(y, cell);
                if plan.linear {
                    [1.0, 0.0, 1.0]
                } else {
                    [n, u, t]
                }
            })
            .collect();
        let mut gap = Self {
            plan,
            fluxes: &swept.fluxes,
            built: swept.built.clone(),
            coefficients: about.iter().map(|a| transport(plan, a[2])).collect(),
            walls: [WEST, EAST].map(|side| wall(plan, x, y, side, &about, swept)),
            about,
            stress: Vec::new(),
            lags: [4, 5].map(|k| (0..cells).map(|i| lag(plan, x, y, k, i)).collect()),
            rotating: None,
        };
        if let Some(rotation) = &plan.rotation {
            let of = |i: usize| {
                let passing = [gap.about[i][0], gap.mean(flux::MASS, i)];
                RotatingCell::new(plan, rotation, [x, y], &swept.fluxes, i, passing)
            };
            gap.rotating = Some(Rotating {
                rotation,
                cells: (0..cells).map(of).collect(),
            });
        }
        gap.stress = (0..cells)
            .map(|i| gap.mean(flux::SHEAR, i) - gap.about[i][1] * gap.mean(flux::MASS, i))
            .collect();
        gap.built.resize(cells, 0.0);
        gap
    }

    /// A measured flux of a cell.
    fn mean(&self, k: usize, cell: usize) -> f64 {
        0.5 * (self.fluxes[cell][k] + self.fluxes[cell + 1][k])
    }

    /// The constant flux, by the laws of both walls and the coefficient `k` of the cells: 0 for viscosity, 1 for heat conduction.
    fn constant(&self, at: impl Fn(&Wall) -> f64, k: usize, source: &[f64]) -> Line {
        let widths = self.plan.widths[0].iter().zip(&self.coefficients);
        let t: Vec<f64> = widths.map(|(width, c)| width / c[k]).collect();
        let conductance = [0, 1].map(|side: usize| self.walls[side].conductance);
        let [left, right] = [0, 1].map(|side: usize| at(&self.walls[side]));
        constant_flux(left, right, conductance, &t, source)
    }

    /// Shear stress and velocity along the walls.
    fn shear(&self) -> Line {
        self.constant(|wall| wall.fluxes[0], 0, &self.stress)
    }

    /// The work of the stress, which moving gas carries.
    fn work(&self, shear: &Line) -> f64 {
        if self.plan.linear {
            0.0
        } else {
            shear.constant
        }
    }

    /// Energy flux and temperature.
    fn energy(&self, shear: &Line) -> Energy {
        let cells = self.plan.nx;
        let work = self.work(shear);
        let at = |wall: &Wall| wall.fluxes[1] + wall.velocity * work;
        let conduction: Vec<f64> = (0..cells)
            .map(|i| {
                let [_, u, t] = self.about[i];
                let stress = if self.plan.linear {
                    0.0
                } else {
                    self.stress[i] + self.built[i]
                };
                self.mean(flux::ENERGY, i)
                    - (1.25 * t + 0.5 * u * u) * self.mean(flux::MASS, i)
                    - u * stress
            })
            .collect();
        let velocity: Vec<f64> = (0..cells)
            .map(|i| self.about[i][1] + average(&shear.faces, i))
            .collect();
        let source: Vec<f64> = (0..cells)
            .map(|i| velocity[i] * (work + self.built[i]) + conduction[i] + self.lags[0][i])
            .collect();
        let Some(rotating) = &self.rotating else {
            return Energy {
                line: self.constant(at, 1, &source),
                conduction,
                velocity,
                rotating: None,
            };
        };
        let source: Vec<f64> = (rotating.cells.iter().zip(&source))
            .map(|(cell, source)| source + cell.conduction + cell.lags[0][0] + cell.lags[0][1])
            .collect();
        let laws = [0, 1].map(|side: usize| {
            let wall = &self.walls[side];
            [wall.conductance, at(wall) + wall.internal, wall.internal]
        });
        let (widths, freedom) = (&self.plan.widths[0], rotating.rotation.freedom);
        let found = conduct(freedom, &rotating.cells, widths, &source, laws);
        let faces = match &found {
            Some(found) => found.faces.iter().map(|face| face[0]).collect(),
            None => vec![0.0; cells + 1],
        };
        Energy {
            line: Line {
                constant: found.as_ref().map_or(0.0, |found| found.constant),
                faces,
            },
            conduction,
            velocity,
            rotating: found,
        }
    }

    /// Changes of the pressure at the faces that make the normal stress constant, up to a constant.
    fn pressure(&self) -> Vec<f64> {
        let momentum = || self.fluxes.iter().map(|f| f[flux::MOMENTUM]);
        let mean = momentum().sum::<f64>() / self.fluxes.len() as f64;
        momentum().map(|momentum| mean - momentum).collect()
    }

    /// Adds the changes to the moments of the cells.
    fn correct_cells(
        &self,
        y: &mut [f64],
        shear: &Line,
        energy: &Energy,
        density: impl Fn(usize, usize) -> f64,
    ) {
        let (plan, cells) = (self.plan, self.plan.nx);
        let work = self.work(shear);
        for cell in 0..cells {
            let n = 0.5 * (density(cell, cell) + density(cell, cell + 1));
            let change = [
                n,
                -self.mean(flux::MASS, cell) / self.about[cell][0],
                average(&shear.faces, cell),
                average(&energy.line.faces, cell),
            ];
            let thickness: f64 = plan.thickness();
            let thick = (thickness / (thickness + 3.0)).min(1.0);
            if let Some(rotating) = &self.rotating {
                let own = &rotating.cells[cell];
                let mut whole = [0.0; 2];
                if let Some(found) = &energy.rotating {
                    let flux = found.mean(2, cell);
                    let all = found.constant - energy.velocity[cell] * (work + self.built[cell]);
                    whole = [all - flux - energy.conduction[cell], flux - own.conduction];
                }
                let theta = (energy.rotating.as_ref()).map_or(0.0, |found| found.mean(1, cell));
                let [density, rotational] = if plan.linear {
                    [1.0, own.rotational + theta]
                } else {
                    [self.about[cell][0] + n, own.rotational + theta]
                };
                y[INTERNAL * cells + cell] =
                    plan.internal_energy(rotating.rotation, density, rotational);
                for (k, at) in [4, INTERNAL + 1].into_iter().enumerate() {
                    y[at * cells + cell] += whole[k];
                    y[(at + 1) * cells + cell] += own.lags[1][k] * thick;
                }
            } else if plan.shakhov {
                let along = self.lags[1][cell] * thick;
                y[4 * cells + cell] += energy.line.constant
                    - energy.velocity[cell] * (work + self.built[cell])
                    - energy.conduction[cell];
                y[5 * cells + cell] += along;
            }
            plan.add_primitive(y, cell, change);
        }
    }

    /// Adds the changes to the densities of the walls and to the molecules that they send back.
    fn correct_walls(
        &self,
        y: &mut [f64],
        shear: &Line,
        energy: &Energy,
        density: impl Fn(usize, usize) -> f64,
    ) {
        let plan = self.plan;
        let work = self.work(shear);
        let line = &energy.line;
        for (side, wall) in [WEST, EAST].into_iter().zip(&self.walls) {
            let f = &self.fluxes[wall.face];
            let [n, t] = wall.gas;
            let change = [
                density(wall.cell, wall.face),
                -f[flux::MASS] / n,
                shear.faces[wall.face],
                line.faces[wall.face],
            ];
            // Outgoing mass of the closure's polynomial.
            let mass = (t / PI).sqrt() * 0.5 * (change[0] + 0.5 * n * change[3] / t)
                + 0.5 * wall.sign * f[flux::MASS];
            if let Some(s) = plan.sides[side].as_ref().filter(|s| s.tight) {
                y[plan.layout.faces_at() + plan.layout.faces[side]] += mass / s.rate[0];
            }
            let about = &self.about[wall.cell];
            let internal = energy.rotating.as_ref().map(|found| found.faces[wall.face]);
            let heat = line.constant
                - internal.map_or(0.0, |[.., flux]| flux)
                - wall.velocity * work
                - (f[flux::ENERGY] - wall.velocity * f[flux::SHEAR])
                + 1.25 * t * f[flux::MASS];
            let stress = shear.constant - f[flux::SHEAR] + wall.velocity * f[flux::MASS];
            let molecules = add_outgoing(plan, y, side, about, change, stress, heat);
            if let (Some(rotating), Some([_, theta, flux])) = (&self.rotating, internal) {
                let t_r = rotating.cells[wall.cell].rotational;
                let carried = match plan.linear {
                    true => 0.0,
                    false => 0.25 * rotating.rotation.freedom * t_r * f[flux::MASS],
                };
                let heat = flux - (f[flux::INTERNAL] - carried);
                add_internal(plan, y, side, about, [t_r, theta, heat], &molecules);
            }
        }
    }
}

/// The value of a cell from those of its faces.
fn average(faces: &[f64], cell: usize) -> f64 {
    0.5 * (faces[cell] + faces[cell + 1])
}

/// The gas at a wall and what the wall's law needs.
fn wall(plan: &Plan, x: &[f64], y: &[f64], side: usize, about: &[[f64; 3]], swept: &Swept) -> Wall {
    let (cell, face, sign) = if side == WEST {
        (0, 0, 1.0)
    } else {
        (plan.nx - 1, plan.nx, -1.0)
    };
    let [n, u, t] = about[cell];
    let s = plan.sides[side].as_ref();
    let accommodation = s.map_or(0.0, |s| s.share);
    let [temperature, velocity] = match s.and_then(|s| s.wall) {
        Some(_) if plan.linear => [1.0, 0.0],
        Some(wall) => wall,
        None => [t, u],
    };
    let f = &swept.fluxes[face];
    let mut internal = match &plan.rotation {
        Some(rotation) if !plan.linear => {
            f[flux::INTERNAL] - 0.25 * rotation.freedom * temperature * f[flux::MASS]
        }
        _ => f[flux::INTERNAL],
    };
    let mut fluxes = [
        f[flux::SHEAR] - velocity * f[flux::MASS],
        f[flux::ENERGY] - velocity * f[flux::SHEAR]
            + (0.5 * velocity * velocity - temperature) * f[flux::MASS],
    ];
    if let Some(Exchanged {
        emitted,
        outgoing,
        gained,
    }) = exchanged(plan, x, y, side, [temperature, velocity])
    {
        let mirrored = (1.0 - accommodation) / (2.0 - accommodation);
        internal += sign * 2.0 * mirrored * gained_internal(plan, x, y, side, temperature);
        for k in 0..2 {
            if plan.force == 0.0 {
                // The same without the measured fluxes, whose roundoff a law of little accommodation multiplies by 1/alpha.
                let share = emitted[k] - outgoing[k] + mirrored * gained[k];
                fluxes[k] = sign * accommodation * share;
            } else {
                fluxes[k] += sign * 2.0 * mirrored * gained[k];
            }
        }
    }
    Wall {
        sign,
        velocity,
        conductance: accommodation / (2.0 - accommodation) * n * (t / PI).sqrt(),
        fluxes,
        internal,
        gas: [n, t],
        cell,
        face,
    }
}

/// Shear and energy that molecules carry through the face of a wall, about its velocity and temperature.
struct Exchanged {
    /// Those that the wall emits, at full accommodation.
    emitted: [f64; 2],
    /// Those that leave the gas now.
    outgoing: [f64; 2],
    /// Those that leave it now, less those that were mirrored.
    gained: [f64; 2],
}

/// The molecules at a wall that mirrors some of them; none at another wall.
fn exchanged(
    plan: &Plan,
    x: &[f64],
    y: &[f64],
    side: usize,
    [temperature, velocity]: [f64; 2],
) -> Option<Exchanged> {
    let offset = plan.record(side)?;
    let s = plan.sides[side].as_ref()?;
    let rho = x[plan.layout.faces_at() + plan.layout.faces[side]];
    let count = plan.nodes.len();
    let mut sums = Exchanged {
        emitted: [0.0; 2],
        outgoing: [0.0; 2],
        gained: [0.0; 2],
    };
    for (node, &[vx, vy, vz2, w]) in plan.nodes.iter().enumerate() {
        let vy = vy - velocity;
        let square = vx * vx + vy * vy + vz2;
        let add = |to: &mut [f64; 2], of: &dyn Fn(usize) -> f64| {
            let [first, second] = [0, 1].map(|k| w * vx.abs() * of(k));
            to[0] += vy * first;
            to[1] += 0.5 * (square * first + second) - temperature * first;
        };
        if plan.leaves(side, node) {
            let at = |k: usize| offset + k * count + node;
            add(&mut sums.outgoing, &|k| y[at(k)]);
            add(&mut sums.gained, &|k| y[at(k)] - x[at(k)]);
        } else {
            add(&mut sums.emitted, &|k| s.a[k][node] * rho + s.b[k][node]);
        }
    }
    Some(sums)
}

/// Adds the closure's polynomial to the outgoing molecules that a side sends back. Returns these, before and after.
fn add_outgoing(
    plan: &Plan,
    y: &mut [f64],
    side: usize,
    about: &[f64; 3],
    change: [f64; 4],
    stress: f64,
    heat: f64,
) -> Vec<[f64; 2]> {
    let count = plan.nodes.len();
    let Some(offset) = plan.record(side) else {
        return Vec::new();
    };
    let mut molecules = vec![[0.0; 2]; count];
    let [n, u, t] = *about;
    let q = [1.6 * heat, 0.0];
    let (before, after) = if plan.linear {
        (plan.local([0.0; 4], [0.0; 2]), plan.local(change, q))
    } else {
        let old = [n, 0.0, u, t];
        let new = std::array::from_fn(|k| old[k] + change[k]);
        (plan.local(old, [0.0; 2]), plan.local(new, q))
    };
    for node in (0..count).filter(|&node| plan.leaves(side, node)) {
        let [vx, vy, ..] = plan.nodes[node];
        let old = plan.equilibrium(&before, node);
        let new = plan.equilibrium(&after, node);
        let shear = 4.0 * vx * (vy - u) * stress / (n * t * t);
        let half_k = 0.5 * plan.internal;
        let weight = if plan.linear {
            [1.0, half_k]
        } else {
            [old[0], old[1]]
        };
        for k in 0..2 {
            y[offset + k * count + node] += new[k] - old[k] + shear * weight[k];
        }
        molecules[node] = [old[0], new[0] + shear * weight[0]];
    }
    molecules
}
