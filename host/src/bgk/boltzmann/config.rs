//! The definition of a line of gas between two streams.

use serde::{Deserialize, Serialize};

use crate::bgk::{Axis, Courant, Scheme, Space, VelocitySpace};
use crate::collision::transport::{Flux, exact_decay_rate};
use crate::collision::{
    CorrectionMethod, Method, OperatorConfig, Order, Scattering, Spectral, VelocityGrid,
};
use crate::compute::Compute;
use crate::error::{Error, Result};

/// Index of a distribution's side: what comes in from the left, and from the right.
pub(super) const SIDES: usize = 2;

/// The total cross-section at unit relative speed, in the units of [`bgk`](crate::bgk). The shear stress of the gas at n0 and T0 then decays with the rate
/// nu0 = 1 in the first approximation of Chapman and Enskog, so its viscosity is `p0/nu0`.
///
/// ```
/// use rarefy::bgk::boltzmann::cross_section;
/// use rarefy::collision::Scattering;
///
/// // The mean free path of hard spheres is 8/(5 sqrt(pi)).
/// let path = 1.0 / (2f64.sqrt() * cross_section(Scattering::HardSphere));
/// assert!((path - 0.902703333676410).abs() < 1e-14);
/// ```
pub fn cross_section(scattering: Scattering) -> f64 {
    // The variance of a velocity component at T0 is 1/2.
    let rate =
        exact_decay_rate(scattering, 1.0, Flux::Shear) * 0.5f64.powf(0.5 * scattering.gamma());
    1.0 / rate
}

/// A line of gas between two streams, and how it is computed.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct LineConfig {
    /// Cells in space; one dimension.
    pub space: Space,
    /// The velocity grid, its box symmetric about 0.
    pub grid: VelocityGrid,
    /// The velocity along x of the centre of the box.
    pub drift: f64,
    /// The scattering law; [`cross_section`] says how often molecules collide.
    pub scattering: Scattering,
    /// How the collision integral is computed.
    #[serde(default)]
    pub method: Method,
    /// Order of the coefficients of the collision integral.
    pub order: Order,
    /// Directions, products and period of the spectral method.
    #[serde(default)]
    pub spectral: Spectral,
    /// The conservative correction of the collision integral.
    #[serde(default = "paper")]
    pub correction: CorrectionMethod,
    /// Interpolation of the shift.
    pub scheme: Scheme,
    /// Time step dt.
    #[serde(rename = "step")]
    pub dt: f64,
    /// Where to compute, and in which arithmetic gain and collision frequency; distributions and all else are f64.
    #[serde(flatten)]
    pub compute: Compute,
    /// The distributions that come in at the left and at the right end, `[ix][iy][iz]`, in units of n0/v0^3.
    pub ends: [Vec<f64>; SIDES],
    /// The distribution of each cell at the start, `[cell][ix][iy][iz]`.
    pub initial: Vec<f64>,
}

/// The correction of configurations that do not say which.
pub(super) fn paper() -> CorrectionMethod {
    CorrectionMethod::Paper
}

impl LineConfig {
    /// The velocity space of the BGK wing with the same nodes.
    ///
    /// # Errors
    /// A velocity that is not finite.
    pub fn velocity_space(&self) -> Result<VelocitySpace> {
        velocity_space(&self.grid, self.drift)
    }

    /// The collision integral's configuration.
    pub fn operator(&self) -> OperatorConfig {
        operator(
            &self.grid,
            self.scattering,
            (self.method, self.order, self.spectral, self.correction),
            self.compute,
        )
    }

    /// Checks the parts and that they belong together.
    ///
    /// # Errors
    /// Space of two dimensions; a box that is not symmetric; a step that is none or in which molecules cross all of space; distributions of wrong length or
    /// with values that are none.
    pub fn validate(&self) -> Result<()> {
        if self.space.dimensions() != 1 {
            return Err(Error::invalid(
                "space",
                "two dimensions",
                "a line, on which the collision integral is computed",
            ));
        }
        if self.grid.min() != -self.grid.max() {
            return Err(Error::invalid(
                "grid",
                format!("[{}, {}]", self.grid.min(), self.grid.max()),
                "a velocity box of a line that is symmetric about its centre",
            ));
        }
        if !(self.dt.is_finite() && self.dt > 0.0) {
            return Err(Error::invalid(
                "dt",
                self.dt,
                "a time step that must be positive and finite",
            ));
        }
        let (cells, nodes) = (self.space.nx(), self.grid.cells());
        let fastest = self.velocity_space()?.x().fastest();
        let most = Courant::new(fastest, self.dt, self.space.step(0)).distance();
        if most + 2.0 > cells as f64 {
            return Err(Error::invalid(
                "dt",
                self.dt,
                format!(
                    "a smaller time step: the fastest molecules cross {most:.1} cells, of {cells} there are, and two less than all is the limit"
                ),
            ));
        }
        if u32::try_from(cells as u64 * nodes as u64).is_err() {
            return Err(Error::invalid(
                "space",
                format!("{cells} cells with {nodes} velocities each"),
                "at most 2^32 values; use fewer",
            ));
        }
        let wrong = |what: &str, found: usize, expected: usize| {
            Error::invalid(what, found, format!("{expected} values"))
        };
        for end in &self.ends {
            if end.len() != nodes {
                return Err(wrong("the distribution of a stream", end.len(), nodes));
            }
        }
        if self.initial.len() != cells * nodes {
            return Err(wrong(
                "the initial state",
                self.initial.len(),
                cells * nodes,
            ));
        }
        let mut values = self.ends.iter().chain([&self.initial]).flatten();
        if let Some(bad) = values.find(|f| !f.is_finite()) {
            return Err(Error::invalid("distributions", bad, "finite values"));
        }
        Ok(())
    }
}

/// The velocity space of the BGK wing with the nodes of a grid whose box moves along x.
pub(super) fn velocity_space(grid: &VelocityGrid, drift: f64) -> Result<VelocitySpace> {
    let (n, half) = (grid.n(), grid.max());
    let across = Axis::uniform(n, -half, half)?;
    let along = Axis::uniform(n, drift - half, drift + half)?;
    VelocitySpace::new(vec![along, across.clone(), across], 1)
}

/// The collision integral in the units of this wing.
pub(super) fn operator(
    grid: &VelocityGrid,
    scattering: Scattering,
    (method, order, spectral, correction): (Method, Order, Spectral, CorrectionMethod),
    compute: Compute,
) -> OperatorConfig {
    OperatorConfig {
        scattering,
        sigma_t: cross_section(scattering),
        method,
        order,
        spectral,
        correction,
        compute,
        ..OperatorConfig::new(*grid)
    }
}
