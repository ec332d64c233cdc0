//! The deterministic Boltzmann collision integral on a 3D velocity grid.

pub mod coefficients;
mod correction;
mod cpu;
mod engine;
mod gmres;
mod gpu;
mod grid;
mod host;
pub mod initial;
mod moments;
mod operator;
pub mod reference;
mod relaxation;
mod scattering;
mod spectrum_plan;
pub mod transport;

pub use cpu::{CpuOperator, CpuReal};
#[doc(hidden)]
pub use engine::Part;
pub use grid::VelocityGrid;
pub use moments::Moments;
pub use operator::{Correction, CorrectionStatus, Evaluation, Method, OperatorConfig, Order};
pub use relaxation::{
    Checkpoint, CollisionOperator, Integrator, Record, Relaxation, RelaxationConfig, Until, collide,
};
pub use scattering::Scattering;
