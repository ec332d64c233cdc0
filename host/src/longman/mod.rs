//! Longman (temporary heading)
pub mod accelerate;
mod areas;
mod driver;
pub mod expression;
pub mod family;
pub mod gpu;
mod integrate;
mod launch;
pub mod oscillator;
pub mod paper;
pub mod quadrature;
pub mod special;
mod task;
pub mod zeros;

pub use driver::Integral;
pub use integrate::{AREAS, Boundaries, Settings, integrate_between, integrate_oscillating};
pub use oscillator::Oscillator;
pub use rarefy_kernels::longman::{Accelerator, Status};
pub use task::Task;
