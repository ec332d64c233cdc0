//! Constants of a run: the nodes, their shifts, and their chunks.

use std::ops::Range;

use rarefy_kernels::Real;
use rarefy_kernels::bgk::layout::{PASS_SUMS_BGK, PASS_SUMS_SHAKHOV};

use super::super::engine::{Node, StepPlan, nodes};
use super::super::relaxation::sums_of;
use super::super::shift::{Courant, Scheme};
use crate::bgk::{Model, Problem};

/// Number of chunks of nodes on a line and in a plane. In a plane each costs a pass over tables and sums of many cells.
const CHUNKS: [usize; 2] = [64, 32];

/// Sums of a chunk where the molecules rotate.
const PASS_SUMS_ROTATING: usize = PASS_SUMS_SHAKHOV as usize + 2;

/// Constants of a run.
pub(super) struct Layout<T> {
    pub(super) problem: Problem,
    pub(super) plan: StepPlan,
    pub(super) nodes: Vec<Node>,
    /// Whole cells and fractions that the nodes of an axis travel, and the room that takes beyond the ends, for each direction.
    pub(super) courant: [Vec<Courant>; 2],
    pub(super) pad: [usize; 2],
    /// Numbers of the nodes along v_x, v_y and m.
    pub(super) shape: [usize; 3],
    pub(super) nx: usize,
    pub(super) ny: usize,
    /// Whether the equilibrium has a third moment.
    pub(super) shakhov: bool,
    /// Whether the molecules rotate: E is the last function of a node.
    pub(super) rotates: bool,
    /// The unresolved part of |c|^2 for each m: v_z^2, or a multiple of the table of h.
    pub(super) heat_argument: Vec<T>,
    /// Weights of the populations of a node (v_y, m) in the sums of a chunk.
    weights: Vec<[T; PASS_SUMS_ROTATING]>,
    pub(super) sums: usize,
    /// Rows of cells at the faces along x and y whose fluxes count here, and all rows there that the mean is taken over.
    pub(super) counted: [Range<usize>; 2],
    pub(super) face_rows: [usize; 2],
}

impl<T: Real> Layout<T> {
    pub(super) fn new(problem: Problem, plan: StepPlan) -> Self {
        let space = &problem.space;
        let velocity = &problem.velocity;
        let shape = velocity.shape();
        let courant = [0, 1].map(|direction| {
            if direction < space.dimensions() {
                Courant::of_axis(&velocity.axes()[direction], space, direction, plan.dt)
            } else {
                Vec::new()
            }
        });
        let pad = [0, 1].map(|d: usize| {
            let most = courant[d].iter().map(|c| c.whole).max();
            most.map_or(0, |most| most + 2)
        });
        // Where axes are integrated out, it comes from the table of h: K/(2c) for g, K/(2c) (1 + 2/K) for h.
        let integrated = velocity.integrated() as f64;
        let heat_argument = match velocity.z() {
            Some(z) => z.nodes().iter().map(|v| T::from_f64(v * v)).collect(),
            // That of E is g's.
            None => [1.0, 1.0 + 2.0 / integrated, 1.0].map(T::from_f64)[..shape[2]].to_vec(),
        };
        let nodes = nodes(&problem.velocity);
        let weights = nodes[..shape[1] * shape[2]]
            .iter()
            .map(|node| {
                let (vy, mass) = (node.v[1], node.mass);
                let rest = vy * vy * mass + node.energy;
                let internal = node.internal;
                let of_f = [mass, vy * mass, rest, vy * rest, vy * vy * mass];
                let mut weights = [T::ZERO; PASS_SUMS_ROTATING];
                for (to, weight) in weights
                    .iter_mut()
                    .zip(of_f.into_iter().chain([internal, vy * internal]))
                {
                    *to = T::from_f64(weight);
                }
                weights
            })
            .collect();
        Self {
            nodes,
            weights,
            courant,
            pad,
            shape,
            nx: space.nx(),
            ny: space.ny(),
            shakhov: problem.gas.model != Model::Bgk,
            rotates: problem.gas.model == Model::Polyatomic,
            heat_argument,
            sums: sums_of(&problem),
            counted: [0..space.ny(), 0..space.nx()],
            face_rows: [space.ny(), space.nx()],
            problem,
            plan,
        }
    }

    /// Of the rows at the faces along a direction, only some of `all` count.
    pub(super) fn count_rows(&mut self, direction: usize, counted: Range<usize>, all: usize) {
        self.counted[direction] = counted;
        self.face_rows[direction] = all;
    }
    pub(super) fn cells(&self) -> usize {
        self.nx * self.ny
    }
    pub(super) fn sloped(&self) -> bool {
        self.plan.scheme == Scheme::VanLeer
    }
    /// Pairs (j_x, j_y).
    pub(super) fn pairs(&self) -> usize {
        self.shape[0] * self.shape[1]
    }
    /// Chunks that share the pairs of one v_x.
    fn parts(&self) -> usize {
        let wanted = CHUNKS[self.problem.space.dimensions() - 1];
        wanted.div_ceil(self.shape[0]).min(self.shape[1])
    }
    pub(super) fn chunks(&self) -> usize {
        self.shape[0] * self.parts()
    }
    /// The v_x of a chunk.
    pub(super) fn velocity_of(&self, chunk: usize) -> f64 {
        self.problem.velocity.x().nodes()[chunk / self.parts()]
    }
    /// Sums of a chunk for each cell: of f, v_y f and the energy that is not v_x's; for Shakhov also of v_y times that energy, and of v_y^2 f; where the molecules rotate, of E and v_y E.
    pub(super) fn pass_sums(&self) -> usize {
        match (self.shakhov, self.rotates) {
            (_, true) => PASS_SUMS_ROTATING,
            (true, false) => PASS_SUMS_SHAKHOV as usize,
            (false, false) => PASS_SUMS_BGK as usize,
        }
    }
    /// Weights of the populations of a node in these.
    pub(super) fn pass_weights(&self, jy: usize, m: usize) -> &[T] {
        &self.weights[jy * self.shape[2] + m][..self.pass_sums()]
    }
    /// The first pair of each chunk, and one past the last.
    pub(super) fn bounds(&self) -> Vec<usize> {
        let (parts, count_y) = (self.parts(), self.shape[1]);
        (0..=self.chunks())
            .map(|c| c / parts * count_y + c % parts * count_y / parts)
            .collect()
    }
}
