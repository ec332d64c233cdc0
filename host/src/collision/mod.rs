//! The deterministic Boltzmann collision integral on a 3D velocity grid.

pub mod coefficients;
mod correction;
mod cpu;
mod grid;
pub mod initial;
mod moments;
mod operator;
pub mod reference;
mod relaxation;
mod scattering;

pub use cpu::{CpuOperator, CpuReal};
pub use grid::VelocityGrid;
pub use moments::Moments;
pub use operator::{Correction, CorrectionStatus, Evaluation, Method, OperatorConfig};
pub use relaxation::{
    Checkpoint, Integrator, Record, Relaxation, RelaxationConfig, Until, collide,
};
pub use scattering::Scattering;
