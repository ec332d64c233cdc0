//! The collision operator by flags and in records.

use serde::{Deserialize, Serialize};

use super::options::Common;
use super::summary::Summary;
use super::text::{name_of, short};
use super::values::{degree, finite, named, order, period, positive, rank};
use crate::collision::spectral::directions;
use crate::collision::{
    CorrectionMethod, Method, OperatorConfig, Order, Scattering, Spectral, VelocityGrid,
};
use crate::error::Error;

/// The collision operator and its box. In full it is what records and checkpoints keep.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, clap::Args)]
#[serde(rename_all = "kebab-case")]
pub(super) struct OperatorArgs {
    /// Upper bound of the velocity box; collide needs it, as a file does not hold it [default of relax: 5 thermal speeds above the beams]
    #[arg(long, value_name = "V", value_parser = finite)]
    pub(super) vmax: Option<f64>,
    /// Lower bound of the velocity box [default: minus the upper]
    #[arg(long, value_name = "V", value_parser = finite)]
    pub(super) vmin: Option<f64>,
    /// Molecules: hard-sphere, maxwell, vhs:OMEGA with viscosity exponent OMEGA from 0.5 to 1, or vss:OMEGA,ALPHA for the spectral method [default: hard-sphere; maxwell for bkw]
    #[arg(long)]
    pub(super) molecules: Option<Scattering>,
    /// Total cross-section sigma_T = 4 pi C at unit relative speed
    #[arg(long, default_value_t = 1.0, value_parser = positive)]
    pub(super) sigma_t: f64,
    /// How the integral is computed: by sums over the nodes, fast or term by term; by transforms, accurate and fast where f is smooth; or as suits f [default: fast; auto for relax
    /// without --order and --correction]
    #[arg(long, value_parser = named::<Choice>(&METHODS))]
    method: Option<Choice>,
    /// Order of the sums' coefficients: 4, or 2 as in the paper, whose relaxation rates are far less accurate [default: 4]
    #[arg(long, value_parser = order())]
    order: Option<Order>,
    /// Spectral method: degree of the rule on the sphere, 5, 7, 9, 11, 15, 17 or 21 [default: 11 to 21, by the spread of f]
    #[arg(long, value_name = "DEGREE", value_parser = degree())]
    sphere: Option<u8>,
    /// Spectral method: products of the kernel, 1 to 8 [default: 1 for hard spheres, otherwise 2 or 3]
    #[arg(long, value_name = "K", value_parser = rank())]
    rank: Option<u8>,
    /// Spectral method: nodes of the padded array along an axis [default: the least from 1.5 N1 on]
    #[arg(long, value_name = "P", value_parser = period())]
    period: Option<u32>,
    /// Conservative correction: balanced keeps rates and equilibria; paper damps by the error of the grid [default: balanced; paper for the spectral method]
    #[arg(long, value_parser = named::<CorrectionMethod>(&CORRECTIONS))]
    correction: Option<CorrectionMethod>,
    /// The same as --correction none
    #[arg(long, conflicts_with = "correction")]
    no_correction: bool,
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

/// A method, and why it was taken.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub(super) struct Taken {
    pub(super) taken: Method,
    pub(super) because: String,
}

impl Choice {
    /// The method where `obstacle` says what is in the way of the transforms, if anything is.
    pub(super) fn method(self, obstacle: impl FnOnce() -> Option<String>) -> Taken {
        let (taken, because) = match self {
            Self::Direct => (Method::Direct, "chosen".into()),
            Self::Fast => (Method::Fast, "chosen".into()),
            Self::Spectral => (Method::Spectral, "chosen".into()),
            Self::Auto => match obstacle() {
                None => (
                    Method::Spectral,
                    "the box holds f, and f is smooth on the grid".into(),
                ),
                Some(obstacle) => (Method::Fast, obstacle),
            },
        };
        Taken { taken, because }
    }

    /// The method of a choice in full.
    pub(super) fn chosen(self) -> Method {
        match self {
            Self::Direct => Method::Direct,
            Self::Fast | Self::Auto => Method::Fast,
            Self::Spectral => Method::Spectral,
        }
    }

    /// Whether it may be the spectral method.
    fn may_be_spectral(self) -> bool {
        matches!(self, Self::Spectral | Self::Auto)
    }
}

impl From<Method> for Choice {
    fn from(method: Method) -> Self {
        match method {
            Method::Direct => Self::Direct,
            Method::Fast => Self::Fast,
            Method::Spectral => Self::Spectral,
        }
    }
}

/// Names of the methods.
pub(super) const METHODS: [&str; 4] = ["direct", "fast", "spectral", "auto"];
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

    /// The method by flags: `usual` where none of them says it. Those of the sums take the sums, as they did before there was another method.
    fn choice(&self, usual: Choice) -> Choice {
        let sums = self.order.is_some() || self.correction.is_some() || self.no_correction;
        let transforms = self.sphere.is_some() || self.rank.is_some() || self.period.is_some();
        match self.method {
            Some(choice) => choice,
            None if sums || usual == Choice::Fast => Choice::Fast,
            None if transforms => Choice::Spectral,
            None => usual,
        }
    }

    /// Refuses options that the method does not have.
    fn validate(&self, choice: Choice) -> Result<(), Error> {
        let spectral = [
            ("sphere", self.sphere.is_some()),
            ("rank", self.rank.is_some()),
            ("period", self.period.is_some()),
        ];
        let other = spectral.into_iter().find(|(_, given)| *given);
        match (choice, self.order, other) {
            (Choice::Spectral, Some(_), _) => Err(Error::invalid(
                "--order",
                "given with --method spectral",
                "--sphere there: --order belongs to the sums over the nodes",
            )),
            (Choice::Direct | Choice::Fast, _, Some((name, _))) => Err(Error::invalid(
                format!("--{name}"),
                "given with sums over the nodes",
                "--order there, or --method spectral",
            )),
            _ => Ok(()),
        }
    }

    /// How far below zero a given distribution may reach, as a share of its largest value.
    pub(super) fn tolerated_negative(&self, usual: Choice) -> f64 {
        let method = if self.choice(usual).may_be_spectral() {
            Method::Spectral
        } else {
            Method::Fast
        };
        let order = self.order.unwrap_or(Order::Fourth);
        OperatorConfig::tolerated_by(method, order, self.correction(method))
    }

    /// The molecules.
    pub(super) fn molecules(&self) -> Scattering {
        self.molecules.unwrap_or(Scattering::HardSphere)
    }

    /// The grid of the box, whose upper bound is `vmax` where the flags say none.
    pub(super) fn grid(&self, cells: usize, vmax: f64) -> Result<VelocityGrid, Error> {
        let vmax = self.vmax.unwrap_or(vmax);
        VelocityGrid::new(cells, self.vmin.unwrap_or(-vmax), vmax)
    }

    /// In full, and the reason for the method, for the distributions `f` on a grid, which determine the degree of the sphere where none is given; `usual` are molecules and method where
    /// none are given.
    pub(super) fn resolved(
        &self,
        grid: &VelocityGrid,
        usual: (Scattering, Choice),
        f: &[f64],
    ) -> Result<(Self, Taken), Error> {
        let choice = self.choice(usual.1);
        self.validate(choice)?;
        let molecules = self.molecules.unwrap_or(usual.0);
        let taken = choice.method(|| Spectral::obstacle(grid, molecules, f));
        let method = taken.taken;
        let chosen = match method {
            Method::Spectral => self
                .spectral()
                .suited(grid, f)
                .resolved(grid.n(), molecules),
            _ => Spectral::default(),
        };
        let correction = self.correction(method);
        let full = Self {
            vmin: Some(grid.min()),
            vmax: Some(grid.max()),
            molecules: Some(molecules),
            sigma_t: self.sigma_t,
            method: Some(method.into()),
            order: (method != Method::Spectral).then(|| self.order.unwrap_or(Order::Fourth)),
            sphere: chosen.degree,
            rank: chosen.rank,
            period: chosen.period,
            correction: Some(correction),
            no_correction: correction == CorrectionMethod::None,
        };
        Ok((full, taken))
    }

    /// An operator in full in a box with these ends; on the spectral method's sphere with a rule of this degree, and with the usual period.
    pub(super) fn on(&self, [low, high]: [f64; 2], degree: Option<u8>) -> Self {
        Self {
            vmin: Some(low),
            vmax: Some(high),
            sphere: degree,
            period: None,
            ..self.clone()
        }
    }

    fn spectral(&self) -> Spectral {
        Spectral {
            degree: self.sphere,
            rank: self.rank,
            period: self.period,
            ..Spectral::default()
        }
    }

    /// The method of an operator in full.
    fn chosen(&self) -> Method {
        self.method.map_or(Method::Fast, Choice::chosen)
    }

    /// The library's configuration of an operator in full.
    pub(super) fn config(&self, cells: usize, common: &Common) -> Result<OperatorConfig, Error> {
        let method = self.chosen();
        Ok(OperatorConfig {
            scattering: self.molecules(),
            sigma_t: self.sigma_t,
            method,
            order: self.order.unwrap_or(Order::Fourth),
            spectral: self.spectral(),
            correction: self.correction(method),
            compute: common.compute(),
            ..OperatorConfig::new(self.grid(cells, f64::NAN)?)
        })
    }

    /// The way in which the integral is computed, in words.
    pub(super) fn way(&self) -> String {
        match (self.sphere, self.rank, self.period) {
            (Some(degree), Some(rank), Some(period)) if self.chosen() == Method::Spectral => {
                format!(
                    "spectral: degree {degree}, {} directions, rank {rank}, period {period}",
                    directions(degree)
                )
            }
            _ => format!(
                "{} sum of order {}",
                name_of(&self.chosen()),
                self.order.unwrap_or(Order::Fourth)
            ),
        }
    }

    /// The first rows of a summary: what was done, with what molecules, and where.
    pub(super) fn summary(&self, work: &str, config: &OperatorConfig, machine: &str) -> Summary {
        let grid = &config.grid;
        let correction = match config.correction {
            CorrectionMethod::None => "uncorrected".into(),
            method => format!("{method} correction"),
        };
        Summary::new(format!(
            "{work} on {}^3 velocities in [{}, {}]^3",
            grid.n(),
            short(grid.min()),
            short(grid.max())
        ))
        .row(
            "molecules",
            format!(
                "{}, sigma_T = {}; {}, {correction}",
                config.scattering,
                short(self.sigma_t),
                self.way()
            ),
        )
        .row(
            "backend",
            format!("{machine}, {}", name_of(&config.compute.precision)),
        )
    }
}
