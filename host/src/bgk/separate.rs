//! The paper's two kernels on a machine that runs kernels: streaming and collision apart, of first order on a line. What the fused pass is measured
//! against.

use std::time::Duration;

use rarefy_kernels::Real;
use rarefy_kernels::bgk_flow::{FlowShape, axis, face};
use rarefy_kernels::bgk_separate::{self as kernels, STREAM_THREADS};

use super::engine::initial_populations;
use super::shift::Courant;
use super::{Boundary, DiscreteMaxwellian, Model, Problem, State};
use crate::error::{Error, Result};
use crate::machine::{Grid, Machine};

/// Threads of a block of the collision kernel: the work of a cell is long, and there are few of them.
const COLLIDE_THREADS: u32 = 64;

/// One of the paper's kernels.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum SeparateKernel {
    /// Streaming (algorithm 1).
    Streaming,
    /// Moments and relaxation (algorithm 2).
    Collision,
}

/// A shock wave, or another line of gas between two inflows, by the paper's two kernels.
#[derive(Debug)]
pub struct SeparateKernels<M: Machine, T: Real> {
    machine: M,
    shape: FlowShape,
    dt: f64,
    omega: f64,
    f: M::Buffer<T>,
    axes: M::Buffer<T>,
    weights: M::Buffer<T>,
    incoming: M::Buffer<T>,
    fields: M::Buffer<f64>,
}

impl<M: Machine, T: Real> SeparateKernels<M, T> {
    /// Prepares a run from the problem's initial state.
    ///
    /// # Errors
    /// A problem other than a BGK gas on a line between two inflows; too little memory.
    pub fn new(machine: M, problem: &Problem, dt: f64) -> Result<Self> {
        let ends = [problem.boundaries.left, problem.boundaries.right];
        let states: Vec<State> = ends
            .iter()
            .filter_map(|end| match end {
                Boundary::Inflow(state) => Some(*state),
                _ => None,
            })
            .collect();
        if problem.space.dimensions() != 1
            || states.len() != 2
            || problem.gas.model != Model::Bgk
            || problem.gas.frequency != 1.0
        {
            return Err(Error::input(
                "the separate kernels compute a BGK gas on a line between two inflows",
            ));
        }
        let velocity = &problem.velocity;
        let [count_x, count_y, count_m] = velocity.shape().map(|n| n as u32);
        let nx = problem.space.nx() as u32;
        let shape = FlowShape {
            nx,
            ny: 1,
            pitch: nx,
            count_x,
            count_y,
            count_m,
            integrated: velocity.integrated() as u32,
            flow: 1,
            shakhov: 0,
            left: face::TABLE,
            right: face::TABLE,
            bottom: face::PERIODIC,
            top: face::PERIODIC,
        };
        let courant = Courant::of_axis(velocity.x(), &problem.space, 0, dt);
        let mut axes = Vec::with_capacity(shape.axis_entries() as usize);
        for (v, courant) in velocity.x().nodes().iter().zip(&courant) {
            axes.extend([*v, courant.whole as f64, courant.fraction, 0.0]);
        }
        for v in velocity.y_nodes() {
            axes.extend([*v, 0.0, 0.0, 0.0]);
        }
        for (m, inner) in velocity.inner().iter().enumerate() {
            let log = velocity.z().map_or(0.0, |z| z.weights()[m].log2());
            axes.extend([inner.mass, inner.energy, inner.energy, log]);
        }
        debug_assert_eq!(axes.len() % axis::LEN as usize, 0);
        let weights: Vec<f64> = velocity
            .x()
            .weights()
            .iter()
            .flat_map(|wx| velocity.y_weights().iter().map(move |wy| wx * wy))
            .collect();
        let incoming: Vec<f64> = states
            .iter()
            .flat_map(|state| DiscreteMaxwellian::sampled(velocity, *state).populations(velocity))
            .collect();
        let upload = |values: Vec<f64>| {
            let values: Vec<T> = values.into_iter().map(T::from_f64).collect();
            machine.upload(&values)
        };
        Ok(Self {
            f: upload(initial_populations(problem)?)?,
            axes: upload(axes)?,
            weights: upload(weights)?,
            incoming: upload(incoming)?,
            fields: machine.allocate(3 * nx as usize)?,
            shape,
            dt,
            omega: problem.gas.omega,
            machine,
        })
    }

    fn launch(&mut self, kernel: SeparateKernel) -> Result<()> {
        match kernel {
            SeparateKernel::Streaming => {
                let shape = self.shape;
                self.machine.launch(
                    Grid {
                        blocks: shape.count_x * shape.count_y * shape.count_m,
                        threads: STREAM_THREADS,
                    },
                    kernels::stream_line {
                        incoming: &self.incoming,
                        axes: &self.axes,
                        f: &mut self.f,
                        shape,
                    },
                )
            }
            SeparateKernel::Collision => self.machine.launch(
                Grid::per_item(self.shape.nx as usize, COLLIDE_THREADS),
                kernels::collide_line {
                    axes: &self.axes,
                    weights: &self.weights,
                    f: &mut self.f,
                    fields: &mut self.fields,
                    shape: self.shape,
                    dt: self.dt,
                    omega: self.omega,
                },
            ),
        }
    }

    /// Takes time steps.
    ///
    /// # Errors
    /// A fault of the device.
    pub fn advance(&mut self, steps: u64) -> Result<()> {
        for _ in 0..steps {
            self.launch(SeparateKernel::Streaming)?;
            self.launch(SeparateKernel::Collision)?;
        }
        Ok(())
    }

    /// n, u and T of each cell after the last step.
    ///
    /// # Errors
    /// A fault of the device.
    pub fn fields(&self) -> Result<[Vec<f64>; 3]> {
        let n = self.shape.nx as usize;
        let mut fields = vec![0.0; 3 * n];
        self.machine.read(&self.fields, &mut fields)?;
        Ok([0, 1, 2].map(|k| fields[k * n..][..n].to_vec()))
    }

    /// How long the machine takes for a kernel, so many times over.
    ///
    /// # Errors
    /// A fault of the device.
    pub fn time(&mut self, kernel: SeparateKernel, times: u32) -> Result<Duration>
    where
        M: Clone,
    {
        self.launch(kernel)?;
        let machine = self.machine.clone();
        machine.time(&mut || {
            for _ in 0..times {
                self.launch(kernel)?;
            }
            Ok(())
        })
    }
}
