//! The deterministic Boltzmann collision integral on a 3D velocity grid.

mod grid;
mod moments;
mod operator;
mod relaxation;
mod scattering;

pub use grid::VelocityGrid;
pub use moments::Moments;
pub use operator::{Correction, CorrectionStatus, Evaluation, Method, OperatorConfig};
pub use relaxation::{
    Checkpoint, Integrator, Record, Relaxation, RelaxationConfig, Until, collide,
};
pub use scattering::Scattering;
