//! The configuration of a run in time.

use serde::{Deserialize, Serialize};

use super::engine::StepPlan;
use super::shift::{Courant, Scheme, check_step};
use super::symmetry::SymmetryReduction;
use super::{cpu, gpu};
use crate::bgk::Problem;
use crate::compute::{Compute, engine_of};
use crate::error::{Error, Result};

/// The configuration of a [`Simulation`](super::Simulation).
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct SimulationConfig {
    /// The case.
    pub problem: Problem,
    /// Interpolation of the shift.
    pub scheme: Scheme,
    /// Time step dt. Any is stable; nu dt should be small, and at walls |v| dt below the width of a cell.
    pub dt: f64,
    /// Whether the initial state counts as relaxed, so that the first step streams at once. It makes a difference for Maxwellians that are not
    /// conservative: the first relaxation would turn them into those of their own moments.
    pub relaxed: bool,
    /// Whether populations that are mirror images of each other are kept once: along velocities along which nothing flows, f is even. It saves half of the time
    /// and memory in two dimensions of space with all velocities, three quarters in one. Populations that are not even, and the scalar reference, keep all.
    pub symmetry_reduction: bool,
    /// Where to compute. The precision is arithmetic and storage of the populations: 4 bytes in `f32`, 8 in `f64`; densities, velocities and temperatures are
    /// computed in f64 either way.
    #[serde(flatten)]
    pub compute: Compute,
}

impl SimulationConfig {
    /// Change of the fields in a unit of time at which a run ends by default.
    pub const RESIDUAL: f64 = 1e-6;
    /// Steps after which such a run ends at the latest.
    pub const MOST_STEPS: u64 = 1_000_000;

    /// A second-order run in f64 on the best machine there is. A reduced velocity space of molecules that rotate gets the function of their internal energy.
    pub fn new(mut problem: Problem, dt: f64) -> Self {
        if let Some(rotation) = problem.gas.rotating() {
            let space = problem.velocity.clone();
            // The check of the problem refuses what has none.
            if let Ok(space) = space.with_internal_energy(rotation.freedom) {
                problem.velocity = space;
            }
        }
        Self {
            problem,
            scheme: Scheme::default(),
            dt,
            relaxed: true,
            symmetry_reduction: true,
            compute: Compute::default(),
        }
    }

    /// Checks that the memory of the machine has room for the populations, without allocating them. Parts of several devices are checked in [`Simulation::new`](super::Simulation::new).
    ///
    /// # Errors
    /// [`Memory`](rarefy_simt::Error::Memory) with what is needed and what there is; a backend that is not there; as [`Simulation::new`](super::Simulation::new) on a GPU.
    pub fn check_room(&self) -> Result<()> {
        let mut machines = self.compute.resolve_all()?;
        let (Some(resolved), true) = (machines.pop(), machines.is_empty()) else {
            return Ok(());
        };
        let reduced = SymmetryReduction::of(&self.problem).filter(|_| self.symmetry_reduction);
        let problem = reduced.as_ref().map_or(&self.problem, |of| &of.1);
        engine_of! {
            resolved, self.compute.precision;
            reference => Ok(()),
            cpu<T> => cpu::check_room::<T>(problem, 0),
            kernels<T>(machine) => gpu::check_room::<_, T>(&machine, problem, &self.plan()),
        }
    }

    /// Checks what the types alone do not.
    ///
    /// # Errors
    /// Those of [`Problem::validate`]; a time step that is not positive, or in which the fastest molecules cross all of space.
    pub fn validate(&self) -> Result<()> {
        self.problem.validate()?;
        let Problem {
            space,
            velocity,
            gas,
            ..
        } = &self.problem;
        if let Some(rotation) = gas.rotating() {
            let freedom = velocity.internal_freedom();
            if velocity.is_reduced() && freedom != rotation.freedom {
                return Err(Error::invalid(
                    "velocity",
                    format!("a space for {freedom} internal degrees of freedom"),
                    format!("the {} of the gas", rotation.freedom),
                ));
            }
            velocity.clone().with_internal_energy(rotation.freedom)?;
        } else if velocity.internal_freedom() > 0.0 {
            return Err(Error::invalid(
                "model",
                "a gas of single atoms",
                "the model polyatomic for a velocity space with internal energy",
            ));
        }
        check_step(space, velocity, self.dt, self.compute.precision)
    }

    pub(super) fn plan(&self) -> StepPlan {
        StepPlan {
            dt: self.dt,
            scheme: self.scheme,
            relaxed: self.relaxed,
        }
    }

    /// Largest Courant number |v| dt / dx.
    pub fn courant(&self) -> f64 {
        let Problem {
            space, velocity, ..
        } = &self.problem;
        (0..space.dimensions())
            .map(|d| Courant::new(velocity.axes()[d].fastest(), self.dt, space.step(d)).distance())
            .fold(0.0, f64::max)
    }

    /// Phase-space cells, nodes in velocity times cells in space.
    pub fn populations(&self) -> usize {
        self.problem.velocity.nodes() * self.problem.space.cells()
    }
}
