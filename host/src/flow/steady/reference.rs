//! The sweep in plain loops: one velocity after another, cell by cell in upwind order.

use rarefy_kernels::flow::cell::{self, Fluxes};

use super::engine::Sweeps;
use super::sweep::{DAMPING, Inflow, Input, Sweep, Swept};
use crate::error::Result;
use crate::flow::gas::{Coefficients, FREQUENCY, MOMENTS, add, equilibrium, flux, sums};
use crate::flow::space::{Kind, Segment};
use crate::maxwellian::lanes::LANES;

/// Both functions of a node.
type Pair = [f64; 2];

/// Sweeps in plain loops.
pub(super) struct Loops;

impl Sweeps for Loops {
    fn run(&mut self, sweep: &Sweep<'_>, input: &Input) -> Result<Swept> {
        Ok(run(sweep, input))
    }
}

/// Sweeps once.
pub(super) fn run(sweep: &Sweep<'_>, input: &Input) -> Swept {
    let mut swept = sweep.empty();
    for stage in &sweep.stages {
        for chunk in &sweep.nodes.chunks {
            if !stage.contains(&chunk.quadrant) {
                continue;
            }
            for node in chunk.first..chunk.first + LANES {
                let march = March {
                    sweep,
                    input,
                    node,
                    quadrant: chunk.quadrant,
                    v: [sweep.nodes.vx[node], sweep.nodes.vy[node]],
                    weight: sweep.nodes.weight[node],
                };
                if sweep.linear {
                    march.run::<true, false>(chunk.columns, &mut swept);
                } else {
                    march.run::<false, true>(chunk.columns, &mut swept);
                }
            }
        }
    }
    swept
}

/// One velocity on its way.
struct March<'a> {
    sweep: &'a Sweep<'a>,
    input: &'a Input,
    node: usize,
    quadrant: usize,
    v: [f64; 2],
    weight: f64,
}

impl March<'_> {
    fn run<const LINEAR: bool, const SOFT: bool>(&self, columns: bool, swept: &mut Swept) {
        let space = self.sweep.space;
        let counts = [space.nx(), space.ny()];
        // Lines lie along one axis and follow each other across it.
        let along = usize::from(columns);
        let across = 1 - along;
        let order = |axis: usize, step: usize| match self.v[axis] > 0.0 {
            true => step,
            false => counts[axis] - 1 - step,
        };
        let closed = match &self.input.sides[2 * along] {
            Inflow::Closed { jump, .. } => {
                let sign = self.v[along].signum();
                Some(self.equilibrium::<LINEAR>(jump).map(|part| sign * part))
            }
            _ => None,
        };
        let both =
            closed.is_some() && matches!(self.input.sides[2 * across], Inflow::Closed { .. });
        // By place along the line: what passes to the next one.
        let mut passing: Vec<Pair> = (0..counts[along])
            .map(|place| self.inflow::<LINEAR>(across, place, swept))
            .collect();
        for (place, pair) in passing.iter().enumerate() {
            self.cross(swept, across, place, pair, true);
        }
        for step in 0..counts[across] {
            let line = order(across, step);
            let damped = both && step == 0;
            let inflow = match closed {
                None => self.inflow::<LINEAR>(along, line, swept),
                Some(jump) => {
                    // The outflow is affine in the inflow.
                    let out = |inflow| {
                        let mut copy = passing.clone();
                        self.line::<LINEAR, SOFT>(columns, line, damped, inflow, &mut copy, None)
                    };
                    let (without, with) = (out([0.0; 2]), out([1.0; 2]));
                    [0, 1].map(|q| (without[q] + jump[q]) / (1.0 - (with[q] - without[q])))
                }
            };
            self.cross(swept, along, line, &inflow, true);
            let out = self.line::<LINEAR, SOFT>(
                columns,
                line,
                damped,
                inflow,
                &mut passing,
                Some(&mut *swept),
            );
            self.cross(swept, along, line, &out, false);
        }
        for (place, pair) in passing.iter().enumerate() {
            self.cross(swept, across, place, pair, false);
        }
    }

    /// Marches along a line; what leaves it. `swept` takes the sums, where there is one.
    fn line<const LINEAR: bool, const SOFT: bool>(
        &self,
        columns: bool,
        line: usize,
        damped: bool,
        inflow: Pair,
        passing: &mut [Pair],
        mut swept: Option<&mut Swept>,
    ) -> Pair {
        let space = self.sweep.space;
        let count = passing.len();
        let along = usize::from(columns);
        let mut going = inflow;
        for step in 0..count {
            let at = if self.v[along] > 0.0 {
                step
            } else {
                count - 1 - step
            };
            let (i, j) = if columns { (line, at) } else { (at, line) };
            let k = j * space.nx() + i;
            if space.kind[k] == Kind::Solid {
                going = [0.0; 2];
                passing[at] = [0.0; 2];
                continue;
            }
            let (x, y) = if columns {
                (passing[at], going)
            } else {
                (going, passing[at])
            };
            let c = &self.input.cells[k];
            let local = self.equilibrium::<LINEAR>(c);
            let nu = c[FREQUENCY] * space.volume[k];
            let source = local.map(|s| nu * s);
            let (f, fx, fy) = match space.kind[k] {
                Kind::Full => {
                    let [dx, dy] = space.widths(i, j);
                    let flux = [self.v[0].abs() * dy, self.v[1].abs() * dx];
                    let mut theta = [1.0; 2];
                    if damped {
                        theta[1 - along] =
                            (DAMPING * flux[1 - along] / (nu + flux[along])).min(1.0);
                    }
                    let inflow = [0, 1].map(|q| [x[q], y[q]]);
                    let found = cell::full::<f64, SOFT, false>(source, nu, flux, theta, inflow);
                    let part = |k: usize| [found[0][k], found[1][k]];
                    (part(0), part(1), part(2))
                }
                Kind::Cut => {
                    let s = space.first[k];
                    let normal = self.normal(&space.segments[s]);
                    let wall = self.emitted::<LINEAR>(s);
                    let flux = self.fluxes(&space.open[k], normal);
                    let closure = &space.closures[s].0[self.quadrant][usize::from(normal < 0.0)];
                    let inflow = [0, 1].map(|q| [x[q], y[q], wall[q]]);
                    let found = cell::cut::<f64, SOFT, false>(source, nu, flux, closure, inflow);
                    let part = |k: usize| [found[0][k], found[1][k]];
                    if let Some(swept) = &mut swept {
                        self.arrive(swept, s, part(3));
                    }
                    (part(0), part(1), part(2))
                }
                _ => {
                    let s = space.first[k];
                    let walls = [s, s + 1].map(|s| self.emitted::<LINEAR>(s));
                    let normals = [s, s + 1].map(|s| self.normal(&space.segments[s]));
                    let faces = self.fluxes(&space.open[k], 0.0);
                    let [mut into, mut out] = [source, [nu + faces.x_out + faces.y_out; 2]];
                    for q in 0..2 {
                        into[q] += faces.x_in * x[q] + faces.y_in * y[q];
                        for (normal, wall) in normals.into_iter().zip(walls) {
                            into[q] += normal.max(0.0) * wall[q];
                            out[q] += (-normal).max(0.0);
                        }
                    }
                    let f = [into[0] / out[0], into[1] / out[1]];
                    if let Some(swept) = &mut swept {
                        self.arrive(swept, s, f);
                        self.arrive(swept, s + 1, f);
                    }
                    (f, f, f)
                }
            };
            if let Some(swept) = &mut swept {
                let part = sums::<LINEAR>(c, self.v, self.weight, f, local);
                add(&mut swept.cells[k], part);
            }
            (going, passing[at]) = if columns { (fy, fx) } else { (fx, fy) };
        }
        going
    }

    fn equilibrium<const LINEAR: bool>(&self, c: &Coefficients) -> Pair {
        equilibrium::<LINEAR>(c, self.v, f64::exp)
    }

    /// Velocity through a segment into the gas, times its length.
    fn normal(&self, segment: &Segment) -> f64 {
        let normal = segment.normal.map(|part| segment.length * part);
        cell::through(self.v, normal)
    }

    fn fluxes(&self, open: &[f64; 4], normal: f64) -> Fluxes<f64> {
        let side = |axis: usize, out: bool| {
            let upper = (self.v[axis] > 0.0) == out;
            self.v[axis].abs() * open[2 * axis + usize::from(upper)]
        };
        Fluxes {
            x_in: side(0, false),
            y_in: side(1, false),
            wall_in: normal.max(0.0),
            x_out: side(0, true),
            y_out: side(1, true),
            wall_out: (-normal).max(0.0),
        }
    }

    fn emitted<const LINEAR: bool>(&self, s: usize) -> Pair {
        let pair = self.equilibrium::<LINEAR>(&self.input.segments[s]);
        let (alpha, Some(place)) = self.sweep.accommodation[s] else {
            return pair;
        };
        let image = |q: usize| self.value(&self.input.mirrored, place, q);
        [0, 1].map(|q| alpha * pair[q] + (1.0 - alpha) * image(q))
    }

    fn arrive(&self, swept: &mut Swept, s: usize, f: Pair) {
        let [nx, ny] = self.sweep.space.segments[s].normal;
        let speed = (-(self.v[0] * nx + self.v[1] * ny)).max(0.0);
        add(&mut swept.segments[s], self.moments(speed, &f));
        if let Some(place) = self.sweep.accommodation[s].1 {
            self.store(&mut swept.arrived, place, f);
        }
    }

    /// The inflow through a face along an axis.
    fn inflow<const LINEAR: bool>(&self, axis: usize, face: usize, swept: &Swept) -> Pair {
        let side = 2 * axis + usize::from(self.v[axis] < 0.0);
        let of = |values: &[f64]| [0, 1].map(|q| self.value(values, face, q));
        match &self.input.sides[side] {
            Inflow::Faces(faces) => self.equilibrium::<LINEAR>(&faces[face]),
            Inflow::Values(values) | Inflow::Closed { values, .. } => of(values),
            Inflow::Wall {
                faces,
                accommodation,
                mirrored,
            } => {
                let (pair, image) = (self.equilibrium::<LINEAR>(&faces[face]), of(mirrored));
                [0, 1].map(|q| accommodation * pair[q] + (1.0 - accommodation) * image[q])
            }
            Inflow::Mirror => {
                let image = self.sweep.nodes.mirrored[axis][self.node];
                let count = self.sweep.nodes.len();
                [0, 1].map(|q| swept.left[side][(2 * face + q) * count + image])
            }
        }
    }

    /// Adds what crosses a face of the side of inflow or outflow along an axis.
    fn cross(&self, swept: &mut Swept, axis: usize, face: usize, f: &Pair, enters: bool) {
        let upper = (self.v[axis] > 0.0) != enters;
        let side = 2 * axis + usize::from(upper);
        let moments = self.moments(self.v[axis].abs(), f);
        add(&mut swept.sides[side][face][usize::from(enters)], moments);
        if !enters && self.sweep.kept[side] {
            self.store(&mut swept.left[side], face, *f);
        }
    }

    fn moments(&self, speed: f64, f: &Pair) -> [f64; MOMENTS] {
        flux(self.v, self.weight * speed, *f)
    }

    fn value(&self, values: &[f64], row: usize, q: usize) -> f64 {
        values[(2 * row + q) * self.sweep.nodes.len() + self.node]
    }

    fn store(&self, values: &mut [f64], row: usize, f: Pair) {
        let count = self.sweep.nodes.len();
        for (q, value) in f.into_iter().enumerate() {
            values[(2 * row + q) * count + self.node] = value;
        }
    }
}
