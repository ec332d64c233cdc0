//! The flags and the parameters of the collision operator.

use serde::{Deserialize, Serialize};

use super::options::Common;
use super::text::{name_of, short};
use super::values::{named, order, positive};
use crate::backend::{Backend, Precision};
use crate::collision::{CorrectionMethod, Method, OperatorConfig, Order, Scattering, VelocityGrid};
use crate::error::Error;

/// Flags of the subcommands that evaluate the collision integral.
#[derive(Clone, Debug, clap::Args)]
pub(super) struct OperatorArgs {
    /// Total cross-section sigma_T = 4 pi C at unit relative speed
    #[arg(long, default_value_t = 1.0, value_parser = positive)]
    pub(super) sigma_t: f64,
    /// How the gain is summed; both agree to roundoff
    #[arg(long, default_value = "fast", value_parser = named::<Method>(&["direct", "fast"]))]
    pub(super) method: Method,
    /// Order of the gain's coefficients: 4, or 2 as in the paper, whose relaxation rates are far less accurate
    #[arg(long, default_value = "4", value_parser = order())]
    pub(super) order: Order,
    /// What makes the integral conservative: balanced keeps rates and equilibria, paper damps by the error of the grid
    #[arg(long, default_value = "balanced", value_parser = named::<CorrectionMethod>(&CORRECTIONS))]
    correction: CorrectionMethod,
    /// The same as --correction none
    #[arg(long, conflicts_with = "correction")]
    pub(super) no_correction: bool,
}

/// Names of the corrections.
pub(super) const CORRECTIONS: [&str; 3] = ["balanced", "paper", "none"];

impl OperatorArgs {
    /// What makes the integral conservative.
    pub(super) fn correction(&self) -> CorrectionMethod {
        if self.no_correction {
            CorrectionMethod::None
        } else {
            self.correction
        }
    }

    /// How far below zero a given distribution may reach, as a share of its largest value.
    pub(super) fn tolerated_negative(&self) -> f64 {
        OperatorConfig::tolerated_by(self.order, self.correction())
    }
}

/// The correction of a record that does not say which: the paper's, unless there was none.
fn recorded() -> CorrectionMethod {
    CorrectionMethod::Paper
}

/// The order of a record that does not say which.
fn second() -> Order {
    Order::Second
}

/// What determines the collision operator besides the number of cells, by the names of the flags.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub(super) struct Operator {
    pub(super) vmin: f64,
    pub(super) vmax: f64,
    pub(super) model: Scattering,
    pub(super) sigma_t: f64,
    pub(super) method: Method,
    #[serde(default = "second")]
    pub(super) order: Order,
    #[serde(default = "recorded")]
    correction: CorrectionMethod,
    no_correction: bool,
    pub(super) backend: Backend,
    pub(super) precision: Precision,
}

impl Operator {
    /// What the flags say about a grid's operator.
    pub(super) fn new(
        grid: &VelocityGrid,
        model: Scattering,
        args: &OperatorArgs,
        common: &Common,
    ) -> Self {
        Self {
            vmin: grid.min(),
            vmax: grid.max(),
            model,
            sigma_t: args.sigma_t,
            method: args.method,
            order: args.order,
            correction: args.correction(),
            no_correction: args.correction() == CorrectionMethod::None,
            backend: common.backend,
            precision: common.precision,
        }
    }

    /// The library's configuration, with this many cells along an axis.
    pub(super) fn config(&self, cells: usize) -> Result<OperatorConfig, Error> {
        Ok(OperatorConfig {
            grid: VelocityGrid::new(cells, self.vmin, self.vmax)?,
            scattering: self.model,
            sigma_t: self.sigma_t,
            method: self.method,
            order: self.order,
            precision: self.precision,
            correction: self.correction(),
            backend: self.backend,
        })
    }

    fn correction(&self) -> CorrectionMethod {
        if self.no_correction {
            CorrectionMethod::None
        } else {
            self.correction
        }
    }

    /// The first lines of a summary: what was done, with what molecules, and where.
    pub(super) fn summary(&self, work: &str, cells: usize, machine: &str) -> String {
        let Self {
            vmin,
            vmax,
            model,
            sigma_t,
            order,
            ..
        } = self;
        let (method, precision) = (name_of(&self.method), name_of(&self.precision));
        let correction = match self.correction() {
            CorrectionMethod::None => "uncorrected".into(),
            method => format!("{method} correction"),
        };
        format!(
            "{work} on {cells}^3 velocities in [{}, {}]^3\n  \
               molecules     {model}, sigma_T = {}; {method} sum of order {order}, {correction}\n  \
               backend       {machine}, {precision}",
            short(*vmin),
            short(*vmax),
            short(*sigma_t)
        )
    }
}
