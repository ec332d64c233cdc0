//! Errors of the discretisation of a market: the same trade on other cells, to another end of wealth, and in other steps.

use serde_json::{Value, json};

use super::course::{clock_and_points, config, shown};
use super::parameters::MarketArgs;
use super::results::{Row, rows};
use crate::accuracy::{Axis, Quantity, Reached};
use crate::cli::failure::Failure;
use crate::cli::report::Report;
use crate::cli::verify::{EXTENT, Repeatable, SECONDS, Verified, extent, reached, verified};
use crate::compute::Backend;
use crate::error::Result;
use crate::isotropic::market::{Market, Start};
use crate::isotropic::{EnergyGrid, Integrator};

/// Order of the cells: that of the square root of E in the first of a gas; the share below half of the mean is no smoother for other laws.
const CELLS: f64 = 1.5;
/// Order of the steps: that of the value traded, which the trapezoidal rule integrates; of Euler's method the first.
const STEPS: f64 = 2.0;
/// Count of the steps: those of the run are so many.
const OWN_STEPS: usize = 1024;
/// Relative error by roundoff.
const ROUNDOFF: f64 = 1e-13;

/// A market on other grids.
pub(super) struct Repeats<'a> {
    /// The run in full.
    pub(super) args: &'a MarketArgs,
    pub(super) start: &'a Start,
    /// Time to the last point of the clock, about.
    pub(super) time: f64,
}

impl Repeatable for Repeats<'_> {
    fn axes(&self) -> Vec<Axis> {
        let order = match self.args.integrator {
            Integrator::Euler => 1.0,
            Integrator::Ssprk3 | Integrator::Rk4 => STEPS,
        };
        vec![
            Axis {
                shares: vec![0.5, 0.25],
                sure: 128,
                ..Axis::new(
                    "cells",
                    CELLS,
                    EnergyGrid::MIN_CELLS..=EnergyGrid::MAX_CELLS,
                )
            },
            extent("emax", false),
            Axis {
                sure: 0,
                on_coarser: true,
                ..Axis::new("dt", order, 1..=OWN_STEPS << 12)
            },
        ]
    }

    fn grid(&self) -> Vec<usize> {
        vec![self.args.cells.unwrap_or(0), EXTENT, OWN_STEPS]
    }

    fn work(&self, grid: &[usize]) -> f64 {
        let on = on(self.args, grid);
        let cells = on.cells.unwrap_or(0) as f64;
        // Four stages, and the value traded; a tenth of an update of a flow for each pair of cells.
        0.5 * cells * cells * self.time / on.dt
    }

    fn tolerance(&self) -> f64 {
        ROUNDOFF
    }

    fn repeat(&self, grid: &[usize]) -> Result<Option<Vec<Quantity>>> {
        let on = on(self.args, grid);
        let mut config = config(&on, self.start.clone())?;
        let backend = &mut config.operator.compute.backend;
        if let Backend::Reference | Backend::Emulator = backend {
            *backend = Backend::Cpu;
        }
        let operator = config.operator.clone();
        let mut market = Market::new(config)?;
        let (clock, points) = clock_and_points(self.args);
        let Some(shown) = shown(&mut market, (clock, points))? else {
            return Ok(None);
        };
        let rest = market.equilibrium(0)?;
        let rows = rows(&operator, clock, &shown, &rest);
        Ok(Some(quantities(&rows)))
    }

    fn named(&self, grid: &[usize]) -> Vec<(&'static str, Value)> {
        let on = on(self.args, grid);
        vec![
            ("cells", json!(on.cells)),
            ("emax", json!(on.emax)),
            ("dt", json!(on.dt)),
        ]
    }
}

/// The market on another grid: cells up to the end that `args` has, the extent of the grid in parts of it, and steps.
fn on(args: &MarketArgs, grid: &[usize]) -> MarketArgs {
    let emax = args.emax.unwrap_or(0.0);
    // Cells keep their width.
    let cells = (grid[0] * grid[1]).div_ceil(EXTENT);
    let mut on = args.clone();
    on.cells = Some(cells);
    on.emax = Some(emax * cells as f64 / grid[0] as f64);
    on.dt = args.dt * OWN_STEPS as f64 / grid[2] as f64;
    on
}

/// The columns of the last row; those of the rows before it with their place.
pub(super) fn quantities(rows: &[Row]) -> Vec<Quantity> {
    let last = rows.len().saturating_sub(1);
    let mut found: Vec<Quantity> = Vec::new();
    for (k, row) in rows.iter().enumerate() {
        for quantity in row.quantities() {
            if k == last {
                found.push(quantity);
            } else {
                let name = format!("rows[{k}].{}", quantity.name);
                found.push(Quantity { name, ..quantity }.aside());
            }
        }
    }
    found
}

/// The arguments with the grid that has the accuracy that they ask for, and the search.
pub(super) fn refined(
    repeats: &Repeats,
    accuracy: f64,
) -> std::result::Result<(MarketArgs, Reached), Failure> {
    let quiet = repeats.args.common.quiet;
    let mut search = reached("market", repeats, accuracy, quiet)?;
    let on = on(repeats.args, &search.grid);
    // By the counts of the run on it.
    search.grid = vec![on.cells.unwrap_or(0), EXTENT, OWN_STEPS];
    Ok((on, search))
}

/// Estimates the errors of what was found, and reports them.
pub(super) fn errors(
    repeats: &Repeats,
    rows: &[Row],
    search: Option<&Reached>,
    report: &mut Report,
) -> std::result::Result<Verified, Failure> {
    let args = &repeats.args.verify;
    let quiet = repeats.args.common.quiet;
    let base = (quantities(rows), ROUNDOFF);
    let errors = verified("market", repeats, args, search, base, SECONDS, quiet)?;
    errors.report(report, search);
    Ok(errors)
}
