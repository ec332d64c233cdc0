//! Flows by the BGK equation, in time or steady: arguments, the loop over the steps, checkpoints, results.
//!
//! | part | what it does |
//! |---|---|
//! | `arguments` | flags of gas, units, run and velocities |
//! | `case` | what a flow is to the command, and what its run leaves |
//! | `course` | how a run went |
//! | `kept` | checkpoints |
//! | `time_loop`, `steady` | the loop over steps, the iteration to the steady state |
//! | `solve` | a run from arguments to files |

mod arguments;
mod case;
mod course;
mod kept;
mod solve;
mod steady;
mod time_loop;

pub(super) use arguments::{Counts, FlowArgs, GasArgs, Interpolation, OMEGA, SiArgs, rarefaction};
pub(super) use case::{Flow, Outcome, Run, Saved};
pub(super) use kept::resume_simulation;
#[cfg(test)]
pub(super) use kept::resumed;
pub(super) use solve::run;
pub(super) use steady::residual;

/// Residual to which a run in time goes that is given no end.
pub(super) const RESIDUAL: f64 = 1e-6;
