//! Flows by the BGK or the Boltzmann equation, in time or steady: arguments, the loop over the steps, checkpoints, results.
//!
//! | part | what it does |
//! |---|---|
//! | `arguments` | flags of gas, units, run and velocities |
//! | `case` | what a flow is to the command, and what its run leaves |
//! | `cells` | cells that a flag names |
//! | `collisions` | flags of the collision integral |
//! | `course` | how a run went |
//! | `fields` | fields of the cells for VTK |
//! | `kept` | checkpoints |
//! | `series` | fields and distributions saved on the way |
//! | `time_loop`, `steady` | the steps in time, the iteration to the steady state |
//! | `solve` | a run from arguments to files |
//! | `verify` | the same flow on other cells and velocities |

mod arguments;
mod case;
mod cells;
mod collisions;
mod course;
mod fields;
mod kept;
mod series;
mod solve;
mod steady;
mod time_loop;
mod verify;

pub(super) use arguments::{
    ConductionArgs, Counts, FlowArgs, GasArgs, Interpolation, MODEL_MOLECULES, ReferenceArgs,
    SiArgs, rarefaction,
};
pub(super) use case::{Flow, Outcome, PreparedRun, Saved, SteadyCase};
pub(super) use collisions::{CollisionArgs, refused};
pub(super) use fields::image;
#[cfg(test)]
pub(super) use kept::resumed;
pub(super) use kept::{resumed_integral, resumed_model};
pub(super) use solve::{check, run};
pub(super) use steady::residual;
