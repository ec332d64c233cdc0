//! The flags of `rarefy rates`.

use std::fmt;
use std::str::FromStr;

use serde::{Deserialize, Serialize};

use crate::cli::operator::CORRECTIONS;
use crate::cli::options::Common;
use crate::cli::text::kept_as_text;
use crate::cli::values::{cells, named, order};
use crate::cli::verify::VerifyArgs;
use crate::collision::{CorrectionMethod, Method, Order, Scattering};
use crate::error::Result;

const EXAMPLES: &str = "\
Examples:
  rarefy rates --grid 16                                both orders, all corrections
  rarefy rates --convergence 12,16,20,24 --out rates    tables and plots against the number of cells
  rarefy rates --grid 24 --order 4 --molecules maxwell  one order, other molecules
  rarefy rates --convergence 12,16,20,24 --method all   the spectral method beside both orders";

/// Compare relaxation rates, viscosity and errors of the discrete collision operator with exact values
///
/// Decay rates of shear stress and heat flux and the viscosity are those of the linearised operator at density and temperature 1, with each
/// correction; errors are at the exact solution of Bobylev, Krook and Wu (pseudo-Maxwell molecules) and
/// at the Maxwellian.
#[derive(Clone, Debug, Serialize, clap::Args)]
#[serde(rename_all = "kebab-case")]
#[command(after_help = EXAMPLES)]
pub(in crate::cli) struct RatesArgs {
    #[command(flatten)]
    #[serde(flatten)]
    pub(super) grids: Grids,
    /// Order of the gain's coefficients [default: both]
    #[arg(long, value_parser = order())]
    pub(super) order: Option<Order>,
    /// Conservative correction [default: all three]
    #[arg(long, value_parser = named::<CorrectionMethod>(&CORRECTIONS))]
    pub(super) correction: Option<CorrectionMethod>,
    /// Molecules: hard-sphere, maxwell, vhs:OMEGA with viscosity exponent OMEGA from 0.5 to 1, or vss:OMEGA,ALPHA for the spectral method
    #[arg(long, default_value = "hard-sphere")]
    pub(super) molecules: Scattering,
    /// How the integral is computed: by sums over the nodes, which agree to roundoff, by the spectral method, or by sums and spectrally side by side
    #[arg(long, default_value = "fast", value_parser = named::<Methods>(&["direct", "fast", "spectral", "all"]))]
    pub(super) method: Methods,
    #[command(flatten)]
    #[serde(flatten)]
    pub(super) verify: VerifyArgs,
    #[command(flatten)]
    #[serde(flatten)]
    pub(super) common: Common,
}

/// The methods that are compared.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub(super) enum Methods {
    Direct,
    Fast,
    Spectral,
    All,
}

impl Methods {
    /// The method of the sums, and whether there is the spectral one.
    pub(super) fn parts(self) -> (Option<Method>, bool) {
        match self {
            Self::Direct => (Some(Method::Direct), false),
            Self::Fast => (Some(Method::Fast), false),
            Self::Spectral => (None, true),
            Self::All => (Some(Method::Fast), true),
        }
    }
}

/// The grids that are measured on.
#[derive(Clone, Debug, Serialize, clap::Args)]
pub(in crate::cli) struct Grids {
    /// Cells along an axis, 3 to 64 [default: 20, unless there is --convergence]
    #[arg(long, value_name = "N1", value_parser = cells)]
    grid: Option<usize>,
    /// Several numbers of cells, as 12,16,20,24, for tables and plots of convergence
    #[arg(long, value_name = "LIST")]
    convergence: Option<Sizes>,
}

impl Grids {
    /// The same with the default of an open number.
    pub(in crate::cli) fn full(&self) -> Self {
        Self {
            grid: self.grid.or(self.convergence.is_none().then_some(20)),
            convergence: self.convergence.clone(),
        }
    }

    /// All numbers of cells, in ascending order.
    pub(in crate::cli) fn sizes(&self) -> Vec<usize> {
        let Self { grid, convergence } = self.full();
        let mut sizes = convergence.map_or(vec![], |sizes| sizes.0);
        sizes.extend(grid);
        sizes.sort_unstable();
        sizes.dedup();
        sizes
    }
}

/// A list of numbers of cells.
#[derive(Clone, Debug, PartialEq)]
struct Sizes(Vec<usize>);

kept_as_text!(Sizes);

impl FromStr for Sizes {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, Self::Err> {
        let sizes: std::result::Result<Vec<usize>, String> =
            text.split(',').map(|size| cells(size.trim())).collect();
        let mut sizes = sizes
            .map_err(|why| format!("a list such as 12,16,20,24 is needed, and in it {why}"))?;
        sizes.sort_unstable();
        sizes.dedup();
        Ok(Self(sizes))
    }
}

impl fmt::Display for Sizes {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let sizes: Vec<_> = self.0.iter().map(usize::to_string).collect();
        f.write_str(&sizes.join(","))
    }
}
