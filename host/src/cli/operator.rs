//! The flags and the parameters of the collision operator.

use serde::{Deserialize, Serialize};

use super::options::Common;
use super::text::{name_of, short};
use super::values::{degree, named, order, period, positive, rank};
use crate::collision::spectral::directions;
use crate::collision::{
    CorrectionMethod, Method, OperatorConfig, Order, Scattering, Spectral, VelocityGrid,
};
use crate::compute::{Backend, Compute, Precision};
use crate::error::Error;

/// Flags of the subcommands that evaluate the collision integral.
#[derive(Clone, Debug, clap::Args)]
pub(super) struct OperatorArgs {
    /// Total cross-section sigma_T = 4 pi C at unit relative speed
    #[arg(long, default_value_t = 1.0, value_parser = positive)]
    pub(super) sigma_t: f64,
    /// How the integral is computed: by sums over the nodes, fast or term by term; by transforms, accurate and fast where f is smooth; or as suits f
    #[arg(long, default_value = "fast", value_parser = named::<Choice>(&["direct", "fast", "spectral", "auto"]))]
    pub(super) method: Choice,
    /// Order of the sums' coefficients: 4, or 2 as in the paper, whose relaxation rates are far less accurate [default: 4]
    #[arg(long, value_parser = order())]
    pub(super) order: Option<Order>,
    /// Spectral method: degree of the rule on the sphere, 5, 7, 9, 11, 15, 17 or 21 [default: 11 to 21, by the spread of f]
    #[arg(long, value_name = "DEGREE", value_parser = degree())]
    pub(super) sphere: Option<u8>,
    /// Spectral method: products of the kernel, 1 to 8 [default: 1 for hard spheres, otherwise 2 or 3]
    #[arg(long, value_name = "K", value_parser = rank())]
    pub(super) rank: Option<u8>,
    /// Spectral method: nodes of the padded array along an axis [default: the least from 1.5 N1 on]
    #[arg(long, value_name = "P", value_parser = period())]
    pub(super) period: Option<u32>,
    /// Conservative correction: balanced keeps rates and equilibria; paper damps by the error of the grid [default: balanced; paper for the spectral method]
    #[arg(long, value_parser = named::<CorrectionMethod>(&CORRECTIONS))]
    correction: Option<CorrectionMethod>,
    /// The same as --correction none
    #[arg(long, conflicts_with = "correction")]
    pub(super) no_correction: bool,
}

/// The value of `--method`.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub(super) enum Choice {
    Direct,
    Fast,
    Spectral,
    Auto,
}

impl Choice {
    /// The method for distributions `f` on a grid.
    fn method(self, grid: &VelocityGrid, model: Scattering, f: &[f64]) -> Method {
        match self {
            Self::Direct => Method::Direct,
            Self::Fast => Method::Fast,
            Self::Spectral => Method::Spectral,
            Self::Auto if Spectral::suits(grid, model, f) => Method::Spectral,
            Self::Auto => Method::Fast,
        }
    }

    /// Whether it may be the spectral method.
    fn may_be_spectral(self) -> bool {
        matches!(self, Self::Spectral | Self::Auto)
    }
}

/// Names of the methods of a wave.
pub(super) const METHODS: [&str; 3] = ["direct", "fast", "spectral"];
/// Names of the corrections.
pub(super) const CORRECTIONS: [&str; 3] = ["balanced", "paper", "none"];

impl OperatorArgs {
    /// The conservative correction.
    fn correction(&self, method: Method) -> CorrectionMethod {
        match (self.correction, method) {
            _ if self.no_correction => CorrectionMethod::None,
            (Some(correction), _) => correction,
            (None, Method::Spectral) => CorrectionMethod::Paper,
            (None, _) => CorrectionMethod::Balanced,
        }
    }

    /// The correction as far as the flags alone say it.
    pub(super) fn given_correction(&self) -> Option<CorrectionMethod> {
        let none = self.no_correction.then_some(CorrectionMethod::None);
        none.or(self.correction)
    }

    /// Refuses options that the method does not have.
    pub(super) fn validate(&self) -> Result<(), Error> {
        let spectral = [
            ("sphere", self.sphere.is_some()),
            ("rank", self.rank.is_some()),
            ("period", self.period.is_some()),
        ];
        let other = spectral.into_iter().find(|(_, given)| *given);
        match (self.method, self.order, other) {
            (Choice::Spectral, Some(_), _) => Err(Error::input(
                "--order belongs to the sums over the nodes; the spectral method has --sphere",
            )),
            (Choice::Direct | Choice::Fast, _, Some((name, _))) => Err(Error::input(format!(
                "--{name} belongs to --method spectral; the sums over the nodes have --order"
            ))),
            _ => Ok(()),
        }
    }

    /// How far below zero a given distribution may reach, as a share of its largest value.
    pub(super) fn tolerated_negative(&self) -> f64 {
        let method = if self.method.may_be_spectral() {
            Method::Spectral
        } else {
            Method::Fast
        };
        let order = self.order.unwrap_or(Order::Fourth);
        OperatorConfig::tolerated_by(method, order, self.correction(method))
    }
}

/// The correction of a record that does not say which: the paper's, unless there was none.
fn recorded() -> CorrectionMethod {
    CorrectionMethod::Paper
}

/// Parameters of the collision operator besides the number of cells, by the names of the flags.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub(super) struct Operator {
    pub(super) vmin: f64,
    pub(super) vmax: f64,
    pub(super) model: Scattering,
    pub(super) sigma_t: f64,
    pub(super) method: Method,
    /// Records of the sums that do not say it have the second.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(super) order: Option<Order>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    sphere: Option<u8>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    rank: Option<u8>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    period: Option<u32>,
    #[serde(default = "recorded")]
    correction: CorrectionMethod,
    no_correction: bool,
    pub(super) backend: Backend,
    pub(super) precision: Precision,
}

impl Operator {
    /// The operator of the flags on a grid; the default degree of the sphere follows from the distributions `f`.
    pub(super) fn new(
        grid: &VelocityGrid,
        model: Scattering,
        args: &OperatorArgs,
        common: &Common,
        f: &[f64],
    ) -> Result<Self, Error> {
        args.validate()?;
        let given = Spectral {
            degree: args.sphere,
            rank: args.rank,
            period: args.period,
        };
        let method = args.method.method(grid, model, f);
        let chosen = match method {
            Method::Spectral => given.suited(grid, f).resolved(grid.n(), model),
            _ => Spectral::default(),
        };
        let correction = args.correction(method);
        Ok(Self {
            vmin: grid.min(),
            vmax: grid.max(),
            model,
            sigma_t: args.sigma_t,
            method,
            order: (method != Method::Spectral).then(|| args.order.unwrap_or(Order::Fourth)),
            sphere: chosen.degree,
            rank: chosen.rank,
            period: chosen.period,
            correction,
            no_correction: correction == CorrectionMethod::None,
            backend: common.backend,
            precision: common.precision,
        })
    }

    /// The library's configuration, with this many cells along an axis.
    pub(super) fn config(&self, cells: usize) -> Result<OperatorConfig, Error> {
        Ok(OperatorConfig {
            scattering: self.model,
            sigma_t: self.sigma_t,
            method: self.method,
            order: self.order.unwrap_or(Order::Second),
            spectral: Spectral {
                degree: self.sphere,
                rank: self.rank,
                period: self.period,
            },
            compute: Compute::new(self.backend).with_precision(self.precision),
            correction: self.correction(),
            ..OperatorConfig::new(VelocityGrid::new(cells, self.vmin, self.vmax)?)
        })
    }

    fn correction(&self) -> CorrectionMethod {
        if self.no_correction {
            CorrectionMethod::None
        } else {
            self.correction
        }
    }

    /// The way in which the integral is computed, in words.
    fn way(&self) -> String {
        match (self.sphere, self.rank, self.period) {
            (Some(degree), Some(rank), Some(period)) if self.method == Method::Spectral => {
                format!(
                    "spectral: degree {degree}, {} directions, rank {rank}, period {period}",
                    directions(degree)
                )
            }
            _ => format!(
                "{} sum of order {}",
                name_of(&self.method),
                self.order.unwrap_or(Order::Second)
            ),
        }
    }

    /// The first lines of a summary: what was done, with what molecules, and where.
    pub(super) fn summary(&self, work: &str, cells: usize, machine: &str) -> String {
        let Self {
            vmin,
            vmax,
            model,
            sigma_t,
            ..
        } = self;
        let (way, precision) = (self.way(), name_of(&self.precision));
        let correction = match self.correction() {
            CorrectionMethod::None => "uncorrected".into(),
            method => format!("{method} correction"),
        };
        format!(
            "{work} on {cells}^3 velocities in [{}, {}]^3\n  \
               molecules     {model}, sigma_T = {}; {way}, {correction}\n  \
               backend       {machine}, {precision}",
            short(*vmin),
            short(*vmax),
            short(*sigma_t)
        )
    }
}
