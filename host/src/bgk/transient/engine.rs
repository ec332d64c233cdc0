//! The interface of a backend for the time-dependent solver.

use std::ops::Range;
use std::time::Duration;

use rarefy_kernels::Real;
use serde::{Deserialize, Serialize};

use super::pieces::CheckpointPart;
use super::rotating::Internal;
use super::shift::Scheme;
use crate::bgk::{DiscreteMaxwellian, Moments, Problem, VelocitySpace};
use crate::error::{Error, Result};

/// Flux received by the gas through a face of space, per unit of area and time: the mean over the face and over the last time step. Planes of
/// symmetry and periodic faces do not count.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize, Deserialize)]
#[non_exhaustive]
pub struct FaceFlux {
    /// Mass; 0 to roundoff at a wall.
    pub mass: f64,
    /// Momentum along x and y.
    pub momentum: [f64; 2],
    /// Energy, in rho0 v0^3.
    pub energy: f64,
}

impl FaceFlux {
    /// The flux as numbers.
    pub(crate) fn numbers(&self) -> [f64; 4] {
        let [x, y] = self.momentum;
        [self.mass, x, y, self.energy]
    }

    /// The flux of such numbers.
    pub(crate) fn from_numbers([mass, x, y, energy]: [f64; 4]) -> Self {
        Self {
            mass,
            momentum: [x, y],
            energy,
        }
    }
}

impl std::ops::AddAssign for FaceFlux {
    fn add_assign(&mut self, other: Self) {
        self.mass += other.mass;
        self.momentum[0] += other.momentum[0];
        self.momentum[1] += other.momentum[1];
        self.energy += other.energy;
    }
}

/// The refusal of a checkpoint with another number of populations.
pub(super) fn other_problem(found: usize, needed: usize) -> Error {
    Error::invalid(
        "checkpoint",
        format!("{found} populations of another problem"),
        format!("{needed} populations"),
    )
}

/// Takes a whole state up in an engine of so many nodes and cells that reads rows.
pub(super) fn restore_by_rows(
    engine: &mut dyn Engine,
    saved: &Saved,
    [nodes, cells]: [usize; 2],
) -> Result<()> {
    let populations = &saved.populations;
    if populations.len() != nodes * cells {
        return Err(other_problem(populations.len(), nodes * cells));
    }
    let state = Saved {
        step: saved.step,
        populations: Vec::new(),
        extra: saved.extra.clone(),
    };
    engine.restore_rows(state, [nodes, cells], &mut |node, row| {
        row.copy_from_slice(&populations[node * row.len()..][..row.len()]);
        Ok(())
    })
}

/// Parameters of a step, apart from the problem.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) struct StepPlan {
    /// Time step.
    pub(super) dt: f64,
    /// Interpolation of the shift.
    pub(super) scheme: Scheme,
    /// Whether the first step streams without relaxing first.
    pub(super) relaxed: bool,
}

/// A reader of populations: fills a row with all cells of a node.
pub(super) type Rows<'a> = dyn FnMut(usize, &mut [f64]) -> Result<()> + Send + 'a;

/// Work with such a reader.
pub(super) type Work<'a> = dyn FnMut(&mut Rows<'_>) -> Result<()> + Send + 'a;

/// Populations on some machine and the means to move them on in time.
///
/// Between calls the populations are those after streaming; a step relaxes them with their own moments and then streams.
pub(super) trait Engine: Send {
    /// The machine in words.
    fn describe(&self) -> String;
    /// Takes so many time steps.
    fn advance(&mut self, steps: u64) -> Result<()>;
    /// Density, mean velocity and temperature of each cell, as n, u_x, u_y, T in turn: cheap, from what a step computes anyway.
    fn fields(&mut self) -> Result<[Vec<f64>; 4]>;
    /// All moments of each cell, of the populations as they are: of translation, without internal energy.
    fn moments(&mut self) -> Result<Vec<Moments>>;
    /// Internal energy of each cell; none of single atoms.
    fn internal(&mut self) -> Result<Vec<Internal>> {
        Ok(Vec::new())
    }
    /// Flux through the four faces (left, right, bottom, top) in the last step.
    fn fluxes(&mut self) -> Result<[FaceFlux; 4]>;
    /// Everything that a later start to the same bits needs.
    fn save(&mut self) -> Result<Saved>;
    /// Takes that up again.
    fn restore(&mut self, saved: &Saved) -> Result<()>;
    /// Hands a reader of the populations to `work`: all cells of one node at a time, so that no copy of all is needed.
    fn show(&mut self, work: &mut Work<'_>) -> Result<()> {
        let populations = self.save()?.populations;
        work(&mut |node, row| {
            row.copy_from_slice(&populations[node * row.len()..][..row.len()]);
            Ok(())
        })
    }
    /// State of the engine's own kind, as in [`Saved::extra`].
    fn extra(&mut self) -> Result<Vec<f64>> {
        Ok(self.save()?.extra)
    }
    /// Takes a state up whose populations, of so many nodes and cells, are read node by node. `saved` has none.
    fn restore_rows(&mut self, saved: Saved, size: [usize; 2], rows: &mut Rows<'_>) -> Result<()> {
        let [nodes, cells] = size;
        let mut populations = vec![0.0; nodes * cells];
        for (node, row) in populations.chunks_exact_mut(cells.max(1)).enumerate() {
            rows(node, row)?;
        }
        self.restore(&Saved {
            populations,
            ..saved
        })
    }
    /// The state of the cells that this rank owns, where there are several ranks.
    fn save_part(&mut self) -> Result<CheckpointPart> {
        Err(Error::invalid(
            "ranks",
            1,
            "several ranks for parts of a checkpoint; one takes a whole checkpoint",
        ))
    }
    /// The cells of all whose state this rank needs; none where it needs all.
    fn wanted(&self) -> Option<Vec<Range<usize>>> {
        None
    }
    /// Takes up the state of the wanted cells.
    fn restore_wanted(&mut self, saved: &Saved) -> Result<()> {
        self.restore(saved)
    }
    /// How long the machine takes for so many steps, without copies between host and machine.
    fn time_steps(&mut self, steps: u32) -> Result<Duration>;
}

/// The state of an engine.
#[derive(Clone, Debug, Default, PartialEq)]
pub(super) struct Saved {
    /// Steps taken.
    pub(super) step: u64,
    /// Populations, weights included, `[jx][jy][m][iy][ix]`.
    pub(super) populations: Vec<f64>,
    /// State of the engine's own kind.
    pub(super) extra: Vec<f64>,
}

/// The populations of the initial state.
pub(in crate::bgk) fn initial_populations<T: Real>(problem: &Problem) -> Result<Vec<T>> {
    let (cells, velocity) = (problem.space.cells(), &problem.velocity);
    let mut populations = vec![T::ZERO; velocity.nodes() * cells];
    let mut first = 0;
    for alike in problem.initial.chunk_by(PartialEq::eq) {
        let maxwellian = DiscreteMaxwellian::new(velocity, alike[0], problem.conservative)?;
        for (node, value) in maxwellian.populations(velocity).into_iter().enumerate() {
            populations[node * cells + first..][..alike.len()].fill(T::from_f64(value));
        }
        first += alike.len();
    }
    Ok(populations)
}

/// The velocities and the inner weights of a node of the layout.
#[derive(Clone, Copy, Debug)]
pub(in crate::bgk) struct Node {
    pub(in crate::bgk) jx: usize,
    pub(in crate::bgk) jy: usize,
    pub(in crate::bgk) m: usize,
    pub(in crate::bgk) v: [f64; 2],
    pub(in crate::bgk) mass: f64,
    pub(in crate::bgk) energy: f64,
    pub(in crate::bgk) internal: f64,
}

/// All nodes in the order of the layout.
pub(in crate::bgk) fn nodes(space: &VelocitySpace) -> Vec<Node> {
    let inner = space.inner();
    let mut nodes = Vec::with_capacity(space.nodes());
    for (jx, &vx) in space.x().nodes().iter().enumerate() {
        for (jy, &vy) in space.y_nodes().iter().enumerate() {
            for (m, inner) in inner.iter().enumerate() {
                nodes.push(Node {
                    jx,
                    jy,
                    m,
                    v: [vx, vy],
                    mass: inner.mass,
                    energy: inner.energy,
                    internal: inner.internal,
                });
            }
        }
    }
    nodes
}

impl Node {
    /// Moments of a population `f` of this node.
    pub(in crate::bgk) fn carries(&self, f: f64) -> FaceFlux {
        let [vx, vy] = self.v;
        FaceFlux {
            mass: self.mass * f,
            momentum: [vx * self.mass * f, vy * self.mass * f],
            energy: 0.5 * ((vx * vx + vy * vy) * self.mass + (self.energy + self.internal)) * f,
        }
    }

    /// The node with the velocity mirrored along a direction.
    pub(in crate::bgk) fn mirrored(&self, shape: [usize; 3], direction: usize) -> usize {
        let [nx, ny, nm] = shape;
        let (jx, jy) = match direction {
            0 => (nx - 1 - self.jx, self.jy),
            _ => (self.jx, ny - 1 - self.jy),
        };
        (jx * ny + jy) * nm + self.m
    }
}
