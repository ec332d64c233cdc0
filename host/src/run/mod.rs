//! Runs, and the one loop that takes all of them to an end.
//!
//! A [`Run`] advances by steps: of time, or of an iteration to a steady flow. [`drive`] takes it to a [`Goal`] and says by an [`Ending`] how it ended.
//! On the way an [`Observer`] records, shows, saves and stops the run; a closure is one.
//!
//! | run | residual | end of its own |
//! |---|---|---|
//! | [`collision::Relaxation`](crate::collision::Relaxation) | sum of abs(I) | [`Until`](crate::collision::Until) |
//! | [`isotropic::Relaxation`](crate::isotropic::Relaxation) | share of particles by which a state has changed in a unit of time, since it was last evaluated | none |
//! | [`isotropic::market::Market`](crate::isotropic::market::Market) | the same, of agents | none |
//! | [`bgk::Simulation`](crate::bgk::Simulation), [`bgk::boltzmann::Flow`](crate::bgk::boltzmann::Flow) | relative change of the fields in a unit of time, since it was last evaluated | none |
//! | [`bgk::steady::SteadySolver`](crate::bgk::steady::SteadySolver) | change of the fields in an iteration | convergence, by its configuration |
//!
//! ```
//! use std::ops::ControlFlow;
//! use rarefy::Backend;
//! use rarefy::collision::{OperatorConfig, Relaxation, RelaxationConfig, Until, VelocityGrid, initial};
//! use rarefy::run::{Ending, Goal, Now, drive, every};
//!
//! let grid = VelocityGrid::new(10, -6.0, 6.0)?;
//! let mut operator = OperatorConfig::new(grid);
//! operator.compute.backend = Backend::Cpu;
//! let config = RelaxationConfig::new(operator, Until::Equilibrium(1e-2));
//! let mut run = Relaxation::new(config, initial::TwoMaxwellians::default().sample(&grid))?;
//!
//! // To a time, with the entropy after each step.
//! let mut entropies = Vec::new();
//! let mut observer = every(1, |run: &mut Relaxation, _: &Now| {
//!     entropies.push(run.moments().entropy);
//!     Ok(ControlFlow::Continue(()))
//! });
//! assert_eq!(drive(&mut run, &Goal::time(0.5), &mut observer)?, Ending::Reached);
//! assert!(entropies.len() > 2 && entropies.is_sorted_by(|a, b| a >= b));
//!
//! // On to the equilibrium, which is the run's own end.
//! assert_eq!(drive(&mut run, &Goal::default(), &mut ())?, Ending::Steady);
//! # Ok::<(), rarefy::Error>(())
//! ```

mod driver;
mod fall;
mod goal;
mod interface;
mod pace;

pub use driver::{Every, Now, Observer, drive, every};
pub(crate) use fall::Fall;
pub use goal::{Goal, Residual, error_left};
pub use interface::{Ending, Run};
pub(crate) use interface::{HALVINGS, LEAST_PATIENCE};
