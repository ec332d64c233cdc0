//! The sweep in plain loops: one velocity after another, cell by cell in upwind order, with the values at all faces in arrays.

use rarefy_kernels::flow::volume::cell;
use rarefy_kernels::flow::volume::gas as kernels;

use super::gas::{FREQUENCY, equilibrium};
use super::space::{Kind, across};
use super::sweep::{Inflow, Input, Sweep, Swept, sides_of_octant};

/// Sweeps once.
pub(super) fn run(sweep: &Sweep<'_>, input: &Input) -> Swept {
    // Images need the outflow through mirrors.
    let with_mirrors = Sweep {
        kept: std::array::from_fn(|side| sweep.kept[side] || sweep.mirrors[side]),
        ..*sweep
    };
    let mut swept = with_mirrors.empty();
    for octant in sweep.families().into_iter().flatten() {
        for node in sweep.nodes.first[octant]..sweep.nodes.first[octant + 1] {
            let march = March {
                sweep: &with_mirrors,
                input,
                node,
                octant,
                v: sweep.nodes.velocity(node),
                weight: sweep.nodes.weight[node],
            };
            march.run(&mut swept);
        }
    }
    for side in 0..swept.left.len() {
        if !sweep.kept[side] {
            swept.left[side].clear();
        }
    }
    swept
}

/// One velocity on its way.
struct March<'a> {
    sweep: &'a Sweep<'a>,
    input: &'a Input,
    node: usize,
    octant: usize,
    v: [f64; 3],
    weight: f64,
}

/// Values at the faces across x, y and z: one more than cells along the axis.
type Faces = [Vec<f64>; 3];

impl March<'_> {
    fn run(&self, swept: &mut Swept) {
        let counts = self.sweep.space.counts();
        let mut faces: Faces = [0, 1, 2].map(|axis| {
            let mut counts = counts;
            counts[axis] += 1;
            vec![0.0; counts.iter().product()]
        });
        let [entering, leaving] = sides_of_octant(self.octant);
        for side in entering {
            for face in 0..self.sweep.space.faces(side) {
                let at = self.border_face(side, face);
                faces[side / 2][at] = self.inflow(side, face, swept);
            }
        }
        let upwind = |axis: usize| {
            let steps = 0..counts[axis];
            let place = move |step: usize| match (self.octant >> axis) & 1 {
                0 => step,
                _ => counts[axis] - 1 - step,
            };
            steps.map(place)
        };
        for z in upwind(2) {
            for y in upwind(1) {
                if let Inflow::Closed(jump) = &self.input.sides[0] {
                    let sign = self.v[0].signum();
                    let jump = sign * equilibrium(self.sweep.linear, jump, self.v);
                    // The outflow is affine in the inflow.
                    let out = |inflow: f64| {
                        let mut copy = faces.clone();
                        self.set_row_inflow(&mut copy, y, z, inflow);
                        for x in upwind(0) {
                            self.cell([x, y, z], &mut copy, None);
                        }
                        copy[0][self.border_face(leaving[0], z * counts[1] + y)]
                    };
                    let (without, with) = (out(0.0), out(1.0));
                    let inflow = (without + jump) / (1.0 - (with - without));
                    self.set_row_inflow(&mut faces, y, z, inflow);
                }
                for x in upwind(0) {
                    self.cell([x, y, z], &mut faces, Some(swept));
                }
            }
        }
        for (sides, enters) in [(entering, 1), (leaving, 0)] {
            for side in sides {
                for face in 0..self.sweep.space.faces(side) {
                    let value = faces[side / 2][self.border_face(side, face)];
                    let part = self.weight * self.v[side / 2].abs() * value;
                    let moments = &mut swept.sides[side][face][enters];
                    kernels::add_flux::<f64, false>(moments, self.v, part);
                    if enters == 0 && self.sweep.kept[side] {
                        swept.left[side][face * self.sweep.nodes.len() + self.node] = value;
                    }
                }
            }
        }
    }

    /// The place of the lower face of a cell across an axis; the upper one is a stride further.
    fn face_of(&self, axis: usize, cell: [usize; 3]) -> [usize; 2] {
        let mut counts = self.sweep.space.counts();
        counts[axis] += 1;
        let at = |cell: [usize; 3]| (cell[2] * counts[1] + cell[1]) * counts[0] + cell[0];
        let mut next = cell;
        next[axis] += 1;
        [at(cell), at(next)]
    }

    /// The place of a face of a side.
    fn border_face(&self, side: usize, face: usize) -> usize {
        let counts = self.sweep.space.counts();
        let axis = side / 2;
        let [fast, slow] = across(axis);
        let mut cell = [0; 3];
        cell[fast] = face % counts[fast];
        cell[slow] = face / counts[fast];
        cell[axis] = match side.is_multiple_of(2) {
            true => 0,
            false => counts[axis] - 1,
        };
        self.face_of(axis, cell)[side % 2]
    }

    fn set_row_inflow(&self, faces: &mut Faces, y: usize, z: usize, inflow: f64) {
        let row = z * self.sweep.space.counts()[1] + y;
        let side = sides_of_octant(self.octant)[0][0];
        faces[0][self.border_face(side, row)] = inflow;
    }

    fn inflow(&self, side: usize, face: usize, swept: &Swept) -> f64 {
        let nodes = self.sweep.nodes;
        let linear = self.sweep.linear;
        let value = |values: &[f64], node: usize| values[face * nodes.len() + node];
        match &self.input.sides[side] {
            Inflow::Same(c) => equilibrium(linear, c, self.v),
            Inflow::Faces(faces) => equilibrium(linear, &faces[face], self.v),
            Inflow::Wall(faces, share, values) => {
                let own = equilibrium(linear, &faces[face], self.v);
                share * own + (1.0 - share) * value(values, self.node)
            }
            Inflow::Values(values) => value(values, self.node),
            Inflow::Mirror => value(&swept.left[side], nodes.image(self.node, side / 2)),
            Inflow::Closed(_) => 0.0,
        }
    }

    /// Updates the outflow faces of a cell from its inflow faces; `swept` takes the sums, where there is one.
    fn cell(&self, place: [usize; 3], faces: &mut Faces, swept: Option<&mut Swept>) {
        let (space, linear) = (self.sweep.space, self.sweep.linear);
        let counts = space.counts();
        let k = (place[2] * counts[1] + place[1]) * counts[0] + place[0];
        let [entering, leaving] = sides_of_octant(self.octant);
        let of = |sides: [usize; 3]| {
            [0, 1, 2].map(|axis: usize| self.face_of(axis, place)[sides[axis] % 2])
        };
        let (from, to) = (of(entering), of(leaving));
        if space.kind[k] == Kind::Solid {
            (0..3).for_each(|axis| faces[axis][to[axis]] = 0.0);
            return;
        }
        let c = &self.input.cells[k];
        let nu = c[FREQUENCY] * space.volume[k];
        let local = equilibrium(linear, c, self.v);
        let source = nu * local;
        let inflow = [0, 1, 2].map(|axis: usize| faces[axis][from[axis]]);
        let through = |sides: [usize; 3]| {
            [0, 1, 2].map(|axis: usize| self.v[axis].abs() * space.open[k][sides[axis]])
        };
        let (into, out) = (through(entering), through(leaving));
        let mut arrives = None;
        let [f, x, y, z] = match space.kind[k] {
            Kind::Full if linear => cell::full::<f64, false, false>(source, nu, into, inflow),
            Kind::Full => cell::full::<f64, true, false>(source, nu, into, inflow),
            _ => {
                let s = space.facet[k] as usize;
                let facet = &space.facets[s];
                let mut emitted = equilibrium(linear, &self.input.facets[s], self.v);
                let mirrored = self.sweep.partial.place_of(s);
                let mirrored = mirrored.map(|at| at * self.sweep.nodes.len() + self.node);
                if let Some(at) = mirrored {
                    let share = self.sweep.partial.share[s];
                    emitted = share * emitted + (1.0 - share) * self.input.images[at];
                }
                let normal = cell::through(self.v, facet.normal.map(|part| facet.area * part));
                let closure = &space.closures[s].0[self.octant][usize::from(normal < 0.0)];
                let into = [into[0], into[1], into[2], normal.max(0.0)];
                let out = [out[0], out[1], out[2], (-normal).max(0.0)];
                let inflow = [inflow[0], inflow[1], inflow[2], emitted];
                let [f, x, y, z, wall] = match linear {
                    true => cell::cut::<f64, false, false>(source, nu, into, out, closure, inflow),
                    false => cell::cut::<f64, true, false>(source, nu, into, out, closure, inflow),
                };
                let part = self.weight * out[3] / facet.area * wall;
                arrives = Some((s, part, mirrored, wall));
                [f, x, y, z]
            }
        };
        for (axis, value) in [x, y, z].into_iter().enumerate() {
            faces[axis][to[axis]] = value;
        }
        let Some(swept) = swept else {
            return;
        };
        if let Some((s, part, mirrored, wall)) = arrives {
            kernels::add_flux::<f64, false>(&mut swept.facets[s], self.v, part);
            if let Some(at) = mirrored {
                swept.arrived[at] = wall;
            }
        }
        let about = match linear {
            true => [0.0; 3],
            false => [c[1], c[2], c[3]],
        };
        let own = [0, 1, 2].map(|axis: usize| self.v[axis] - about[axis]);
        kernels::add_sums::<f64, false>(&mut swept.cells[k], own, self.weight * (f - local));
    }
}
