//! Errors of the discretisation of a relaxation in energy space: the flags' grids, and the report.

use super::parameters::{Init, IsotropicArgs};
use crate::accuracy::{EXTENT, Quantity, Reached, SECONDS};
use crate::cli::failure::Failure;
use crate::cli::report::Report;
use crate::cli::verify::{Verified, reached, verified};
use crate::isotropic::OperatorConfig;
use crate::isotropic::errors::{Course, ROUNDOFF, Relaxations, Start};

/// A run, for repeats on other grids.
pub(super) struct Run<'a> {
    pub(super) parameters: &'a IsotropicArgs,
    pub(super) config: &'a OperatorConfig,
    /// The initial distribution.
    pub(super) f: &'a [f64],
    pub(super) course: Course,
}

impl Run<'_> {
    /// Does work with the run on other grids.
    fn with<R>(&self, work: impl FnOnce(&Relaxations) -> R) -> R {
        let init = &self.parameters.init;
        let sample = |config: &OperatorConfig| init.sample(config, None);
        work(&Relaxations {
            operator: self.config,
            integrator: self.parameters.integrator,
            start: match init {
                Init::File(_) => Start::Cells(self.f),
                _ => Start::Formula(&sample),
            },
            course: self.course,
            spectrum: self.parameters.spectrum,
        })
    }

    /// The grid that has the accuracy that is asked for, and the search.
    pub(super) fn refined(&self, accuracy: f64) -> Result<(IsotropicArgs, Reached), Failure> {
        self.with(|runs| {
            let mut search = reached("isotropic", runs, accuracy, self.quiet())?;
            let (cells, emax) = runs.ends(&search.grid);
            let mut on = self.parameters.clone();
            (on.cells, on.emax) = (Some(cells), Some(emax));
            if let Some((time, _)) = self.course {
                (on.until, on.steps) = (Some(time), None);
                on.dt = runs.step(&search.grid);
            }
            // By the counts of the run on it.
            search.grid[0] = cells;
            search.grid[1] = EXTENT;
            Ok((on, search))
        })
    }

    /// Estimates the errors of what was found, and reports them.
    pub(super) fn errors(
        &self,
        found: Vec<Quantity>,
        search: Option<&Reached>,
        report: &mut Report,
    ) -> Result<Verified, Failure> {
        let (args, quiet) = (&self.parameters.verify, self.quiet());
        let base = (found, ROUNDOFF);
        let errors = self.with(|runs: &Relaxations| {
            verified("isotropic", runs, args, search, base, SECONDS, quiet)
        })?;
        errors.report(report, search);
        Ok(errors)
    }

    fn quiet(&self) -> bool {
        self.parameters.common.quiet
    }
}
