//! Operations of a backend on a line, and the shifts of its streaming.

use super::config::LineConfig;
use crate::bgk::Courant;
use crate::error::Result;

/// Distributions of a line of cells on some machine, and the means to move them on in time. Between calls they are those after collisions.
pub(super) trait Flow: Send {
    /// The machine in words.
    fn describe(&self) -> String;
    /// Takes so many time steps: streaming, then collisions.
    fn advance(&mut self, steps: u64) -> Result<()>;
    /// The distributions, `[cell][ix][iy][iz]`.
    fn distributions(&mut self) -> Result<Vec<f64>>;
    /// Replaces them.
    fn restore(&mut self, f: &[f64]) -> Result<()>;
}

/// Data for streaming the molecules of one v_x.
#[derive(Clone, Copy, Debug)]
pub(super) struct Shift {
    pub(super) forward: bool,
    pub(super) courant: Courant,
}

/// The shifts of all v_x.
pub(super) fn shifts(config: &LineConfig) -> Result<Vec<Shift>> {
    let space = config.velocity_space()?;
    let courant = Courant::of_axis(space.x(), &config.space, 0, config.dt);
    let nodes = space.x().nodes().iter();
    Ok(nodes
        .zip(courant)
        .map(|(v, courant)| Shift {
            forward: *v > 0.0,
            courant,
        })
        .collect())
}
