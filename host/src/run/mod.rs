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
//! use rarefy::bgk::{Shock, Simulation};
//! use rarefy::run::{Ending, Goal, Now, drive};
//!
//! let mut config = Shock::new(2.0)?.config()?;
//! config.compute.backend = Backend::Cpu;
//! # let config = {
//! #     use rarefy::bgk::{Boundaries, Boundary, Gas, Problem, SimulationConfig, Space, State, VelocitySpace, Wall, Axis};
//! #     let walls = [1.0, 1.2].map(|t| Boundary::Wall(Wall::diffuse(t)));
//! #     let velocity = VelocitySpace::new(vec![Axis::uniform(12, -4.5, 4.5)?], 1)?;
//! #     let problem = Problem::uniform(Space::line(20, [0.0, 1.0])?, velocity, Gas::default(), Boundaries::line(walls[0], walls[1]), State::REST)?;
//! #     let mut config = SimulationConfig::new(problem, 0.05);
//! #     config.compute.backend = Backend::Cpu;
//! #     config
//! # };
//! let mut run = Simulation::new(config)?;
//!
//! // To a time, with a look at the gas on the way.
//! let mut hottest = Vec::new();
//! let ending = drive(&mut run, &Goal::time(1.0), &mut |run: &mut Simulation, now: &Now| {
//!     let states = run.states()?;
//!     hottest.push((now.time, states.iter().map(|s| s.temperature).fold(0.0, f64::max)));
//!     Ok(ControlFlow::Continue(()))
//! })?;
//! assert_eq!(ending, Ending::Reached);
//!
//! // And on until it is steady.
//! let ending = drive(&mut run, &Goal::steady(1e-4), &mut ())?;
//! assert_eq!(ending, Ending::Steady);
//! # Ok::<(), rarefy::Error>(())
//! ```

mod driver;
mod fall;
mod goal;
mod interface;
mod pace;

pub use driver::{Now, Observer, drive, every};
pub(crate) use fall::Fall;
pub(crate) use goal::error_left;
pub use goal::{Goal, Residual};
pub use interface::{Ending, Run};
pub(crate) use interface::{HALVINGS, LEAST_PATIENCE};
