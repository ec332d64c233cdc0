//! The sweep round an axis in plain loops, velocity by velocity: the equation as it is written.

use rarefy_kernels::flow::volume::cell;
use rarefy_kernels::flow::volume::gas as kernels;

use crate::error::{Error, Result};
use crate::flow::rings::Rings;
use crate::flow::space::Kind;
use crate::flow::turn::Turn;
use crate::flow::volume::sweep::{Inflow, Input, Sweep, Swept};
use crate::flow::volume::{FREQUENCY, equilibrium};
use crate::maxwellian::lanes::LANES;

/// Sweeps once.
///
/// # Errors
/// A space without rings.
pub(in crate::flow) fn run(sweep: &Sweep<'_>, input: &Input) -> Result<Swept> {
    let (Some(rings), Some(turn)) = (&sweep.space.rings, &sweep.nodes.turn) else {
        return Err(Error::Numerical(
            "a sweep of rings without rings".to_owned(),
        ));
    };
    let mut swept = sweep.empty();
    let first = sweep.nodes.first;
    // Of both signs along the axis first the one that leaves through a mirror, whose image the other takes in.
    let signs = if sweep.mirrors[0] { [1, 0] } else { [0, 1] };
    let mut images = vec![Vec::new(); first[2]];
    for sign in signs {
        for at in (first[sign]..first[sign + 1]).step_by(LANES * turn.len()) {
            for lane in 0..LANES {
                let mut pair = Pair {
                    sweep,
                    input,
                    rings,
                    turn,
                    sign,
                    first: at + lane,
                    between: vec![0.0; sweep.space.len()],
                    centre: Vec::new(),
                };
                pair.run(&mut images, &mut swept);
            }
        }
    }
    Ok(swept)
}

/// A velocity along the axis and a speed across it.
struct Pair<'a> {
    sweep: &'a Sweep<'a>,
    input: &'a Input,
    rings: &'a Rings,
    turn: &'a Turn,
    /// 0 for v_x > 0, 1 for v_x < 0.
    sign: usize,
    /// Its node of the first angle.
    first: usize,
    /// The function between the last angle and the next, in each ring.
    between: Vec<f64>,
    /// The function that arrives straight at the axis.
    centre: Vec<f64>,
}

/// One angle of a pair.
struct Angle {
    /// The node; that of the first angle for the direction straight to the axis.
    node: usize,
    v: [f64; 3],
    speed: f64,
    straight: bool,
    /// Coefficients towards the last angle and the next, over the weight.
    edges: [f64; 2],
}

impl Pair<'_> {
    /// Visits the direction straight to the axis and all angles. `images` has what left through a mirror across the axis, by node and row, the straight
    /// direction before the first angle.
    fn run(&mut self, images: &mut [Vec<f64>], swept: &mut Swept) {
        let nodes = self.sweep.nodes;
        let [_, y, z] = nodes.velocity(self.first);
        let speed = y.hypot(z);
        let mut all = vec![Angle {
            node: self.first,
            v: [nodes.v[0][self.first], -speed, 0.0],
            speed,
            straight: true,
            edges: [0.0; 2],
        }];
        all.extend((0..self.turn.len()).map(|m| {
            let node = self.first + m * LANES;
            Angle {
                node,
                v: nodes.velocity(node),
                speed,
                straight: false,
                edges: [0, 1].map(|k: usize| self.turn.edge[m + k] / self.turn.weight[m]),
            }
        }));
        let image = match nodes.is_symmetric(0) {
            true => std::mem::take(&mut images[nodes.image(self.first, 0)]),
            false => Vec::new(),
        };
        let mut left = Vec::new();
        for (step, angle) in all.iter().enumerate() {
            let rows = self.sweep.space.faces(self.sign);
            let image = image.get(step * rows..).unwrap_or(&[]);
            left.extend(self.angle(angle, image, swept));
        }
        images[self.first] = left;
    }

    /// One angle: returns what leaves along the axis, row by row.
    fn angle(&mut self, angle: &Angle, image: &[f64], swept: &mut Swept) -> Vec<f64> {
        let [nx, nr, _] = self.sweep.space.counts();
        let inwards = angle.v[1] < 0.0;
        let (from, to) = (self.sign, 1 - self.sign);
        let (below, above) = if inwards { (3, 2) } else { (2, 3) };
        let mut across: Vec<f64> = match !inwards && self.rings.has_axis {
            true => self.centre.clone(),
            false => (0..nx)
                .map(|x| self.inflow(angle, below, x, image))
                .collect(),
        };
        for (x, value) in across.iter().enumerate() {
            self.cross(angle, (below, x), true, *value, swept);
        }
        let mut out = vec![0.0; nr];
        let rows: Vec<usize> = match inwards {
            true => (0..nr).rev().collect(),
            false => (0..nr).collect(),
        };
        for r in rows {
            let mut along = self.inflow(angle, from, r, image);
            if let Inflow::Closed(jump) = &self.input.sides[0] {
                let sign = 1.0 - 2.0 * self.sign as f64;
                let jump = sign * equilibrium(self.sweep.linear, jump, angle.v);
                // The outflow is affine in the inflow.
                let [without, with] = [0.0, 1.0].map(|inflow| {
                    let (mut along, mut across) = (inflow, across.clone());
                    self.row(angle, r, &mut along, &mut across, None);
                    along
                });
                along = (without + jump) / (1.0 - (with - without));
            }
            self.cross(angle, (from, r), true, along, swept);
            let next = self.row(angle, r, &mut along, &mut across, Some(swept));
            self.between[r * nx..][..nx].copy_from_slice(&next);
            self.cross(angle, (to, r), false, along, swept);
            out[r] = along;
        }
        for (x, value) in across.iter().enumerate() {
            self.cross(angle, (above, x), false, *value, swept);
        }
        if angle.straight {
            self.centre = across;
        }
        out
    }

    fn inflow(&self, angle: &Angle, side: usize, face: usize, image: &[f64]) -> f64 {
        let linear = self.sweep.linear;
        let value = |values: &[f64]| values[face * self.sweep.nodes.len() + angle.node];
        match &self.input.sides[side] {
            Inflow::Same(c) => equilibrium(linear, c, angle.v),
            Inflow::Faces(faces) => equilibrium(linear, &faces[face], angle.v),
            Inflow::Wall(faces, share, values) => {
                let own = equilibrium(linear, &faces[face], angle.v);
                share * own + (1.0 - share) * value(values)
            }
            Inflow::Values(values) => value(values),
            Inflow::Mirror if side < 2 => image[face],
            Inflow::Mirror | Inflow::Closed(_) => 0.0,
        }
    }

    /// Adds what crosses a face of a side. The half turn has no swirl.
    fn cross(
        &self,
        angle: &Angle,
        (side, face): (usize, usize),
        enters: bool,
        value: f64,
        swept: &mut Swept,
    ) {
        if angle.straight {
            return;
        }
        let nodes = self.sweep.nodes;
        let v = angle.v;
        let part = nodes.weight[angle.node] * v[side / 2].abs() * value;
        let moments = &mut swept.sides[side][face][usize::from(enters)];
        kernels::add_flux::<f64, false>(moments, v, part);
        moments[3] = 0.0;
        if !enters && self.sweep.kept[side] {
            swept.left[side][face * nodes.len() + angle.node] = value;
        }
    }

    /// Updates the outflow along and across the axis of a row of rings from its inflow. Returns the function towards the next angle.
    fn row(
        &self,
        angle: &Angle,
        r: usize,
        along: &mut f64,
        across: &mut [f64],
        mut swept: Option<&mut Swept>,
    ) -> Vec<f64> {
        let nx = across.len();
        let mut next = vec![0.0; nx];
        for step in 0..nx {
            let x = if self.sign == 0 { step } else { nx - 1 - step };
            let k = r * nx + x;
            if !self.sweep.space.is_gas(k) {
                (*along, across[x]) = (0.0, 0.0);
                continue;
            }
            let values = [*along, across[x], self.between[k]];
            [*along, across[x], next[x]] = self.ring(angle, k, values, swept.as_deref_mut());
        }
        next
    }

    /// A ring: outflow along the axis, across it and to the next angle. `swept` takes the sums, where there is one.
    fn ring(
        &self,
        angle: &Angle,
        k: usize,
        values: [f64; 3],
        swept: Option<&mut Swept>,
    ) -> [f64; 3] {
        let (space, rings, linear) = (self.sweep.space, self.rings, self.sweep.linear);
        let [vx, vr, _] = angle.v;
        let (volume, open) = match angle.straight {
            true => (rings.area[k], rings.open[k]),
            false => {
                let [west, east, south, north, ..] = space.open[k];
                (space.volume[k], [west, east, south, north])
            }
        };
        let (from, to) = (self.sign, 1 - self.sign);
        let (below, above) = if vr < 0.0 { (3, 2) } else { (2, 3) };
        let turn = angle.edges.map(|edge| angle.speed * rings.area[k] * edge);
        let into = [vx.abs() * open[from], vr.abs() * open[below], turn[0]];
        let out = [vx.abs() * open[to], vr.abs() * open[above], turn[1]];
        let c = &self.input.cells[k];
        let nu = c[FREQUENCY] * volume;
        let local = equilibrium(linear, c, angle.v);
        let source = nu * local;
        let cut = |c: &[[f64; 4]; 4], wall: [f64; 2], emitted: f64| {
            let into = [into[0], into[1], into[2], wall[0]];
            let out = [out[0], out[1], out[2], wall[1]];
            let inflow = [values[0], values[1], values[2], emitted];
            match linear {
                true => cell::cut::<f64, false, false>(source, nu, into, out, c, inflow),
                false => cell::cut::<f64, true, false>(source, nu, into, out, c, inflow),
            }
        };
        let mut arrives = None;
        let [f, x, r, next, _] = match space.kind[k] {
            Kind::Full => {
                // The diamond in all three.
                let mut c = [[0.0; 4]; 4];
                (0..3).for_each(|k| c[k][k] = -1.0);
                cut(&c, [0.0; 2], 0.0)
            }
            _ => {
                let s = space.facet[k] as usize;
                let facet = &space.facets[s];
                let wall = match angle.straight {
                    true => rings.walls[s],
                    false => [0, 1].map(|k: usize| facet.area * facet.normal[k]),
                };
                let mut emitted = equilibrium(linear, &self.input.facets[s], angle.v);
                let mirrored = self.sweep.partial.place_of(s);
                let mirrored = mirrored.map(|at| at * self.sweep.nodes.len() + angle.node);
                if let Some(at) = mirrored {
                    let share = self.sweep.partial.share[s];
                    emitted = share * emitted + (1.0 - share) * self.input.images[at];
                }
                let flux = cell::through([vx, vr, 0.0], [wall[0], wall[1], 0.0]);
                let octant = self.sign + if vr < 0.0 { 2 } else { 0 };
                let closure = &space.closures[s].0[octant][usize::from(flux < 0.0)];
                let found = cut(closure, [flux.max(0.0), (-flux).max(0.0)], emitted);
                arrives = Some((
                    s,
                    (-flux).max(0.0) / facet.area * found[4],
                    mirrored,
                    found[4],
                ));
                found
            }
        };
        if angle.straight {
            return [x, r, f];
        }
        if let Some(swept) = swept {
            let weight = self.sweep.nodes.weight[angle.node];
            if let Some((s, part, mirrored, wall)) = arrives {
                kernels::add_flux::<f64, false>(&mut swept.facets[s], angle.v, weight * part);
                swept.facets[s][3] = 0.0;
                if let Some(at) = mirrored {
                    swept.arrived[at] = wall;
                }
            }
            let about = match linear {
                true => [0.0; 3],
                false => [c[1], c[2], c[3]],
            };
            let own = [0, 1, 2].map(|axis: usize| angle.v[axis] - about[axis]);
            let sums = &mut swept.cells[k];
            kernels::add_sums::<f64, false>(sums, own, weight * (f - local));
            (sums[3], sums[7]) = (0.0, 0.0);
        }
        [x, r, next]
    }
}
