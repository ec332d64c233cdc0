//! Errors of the discretisation of a market: the flags' grids, the rows at the points of the clock, and the report.

use super::course::{clock_and_points, config, shown};
use super::parameters::MarketArgs;
use super::results::{Row, rows};
use crate::accuracy::{EXTENT, Quantity, Reached, SECONDS, Watch};
use crate::cli::failure::Failure;
use crate::cli::report::Report;
use crate::cli::verify::{Verified, reached, verified};
use crate::error::Result;
use crate::isotropic::market::errors::{Markets, OWN_STEPS, ROUNDOFF};
use crate::isotropic::market::{Market, Start};

/// A run, for repeats on other grids.
pub(super) struct Run<'a> {
    /// The run in full.
    pub(super) args: &'a MarketArgs,
    pub(super) start: &'a Start,
    /// Time to the last point of the clock, about.
    pub(super) time: f64,
}

impl Run<'_> {
    /// Does work with the run on other grids.
    fn with<R>(
        &self,
        work: impl FnOnce(&Markets) -> std::result::Result<R, Failure>,
    ) -> std::result::Result<R, Failure> {
        let (clock, points) = clock_and_points(self.args);
        let course = |market: &mut Market, watch: &dyn Watch| -> Result<Option<Vec<Quantity>>> {
            let Some(shown) = shown(market, (clock, points), watch)? else {
                return Ok(None);
            };
            let rest = market.equilibrium(0)?;
            let rows = rows(&market.config().operator, clock, &shown, &rest);
            Ok(Some(quantities(&rows)))
        };
        work(&Markets {
            config: &config(self.args, self.start.clone())?,
            emax: self.args.emax.unwrap_or(0.0),
            dt: self.args.dt,
            time: self.time,
            course: &course,
        })
    }

    /// The arguments with the grid that has the accuracy that they ask for, and the search.
    pub(super) fn refined(
        &self,
        accuracy: f64,
    ) -> std::result::Result<(MarketArgs, Reached), Failure> {
        self.with(|markets| {
            let quiet = self.args.common.quiet;
            let mut search = reached("market", markets, accuracy, quiet)?;
            let (cells, emax, dt) = markets.settings(&search.grid);
            let mut on = self.args.clone();
            (on.cells, on.emax, on.dt) = (Some(cells), Some(emax), dt);
            // By the counts of the run on it.
            search.grid = vec![cells, EXTENT, OWN_STEPS];
            Ok((on, search))
        })
    }

    /// Estimates the errors of what was found, and reports them.
    pub(super) fn errors(
        &self,
        rows: &[Row],
        search: Option<&Reached>,
        report: &mut Report,
    ) -> std::result::Result<Verified, Failure> {
        let (args, quiet) = (&self.args.verify, self.args.common.quiet);
        let base = (quantities(rows), ROUNDOFF);
        let errors =
            self.with(|markets| verified("market", markets, args, search, base, SECONDS, quiet))?;
        errors.report(report, search);
        Ok(errors)
    }
}

/// The columns of the last row; those of the rows before it with their place.
fn quantities(rows: &[Row]) -> Vec<Quantity> {
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
