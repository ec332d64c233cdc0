//! Errors of the discretisation of a relaxation: the flags' grids, and the report.

use super::parameters::{RelaxArgs, Stop};
use crate::accuracy::{EXTENT, Reached, SECONDS};
use crate::cli::distribution::Init;
use crate::cli::failure::Failure;
use crate::cli::interrupt::Signals;
use crate::cli::report::Report;
use crate::cli::verify::{Verified, reached, verified};
use crate::collision::errors::{Relaxations, count, floor, nearest, quantities};
use crate::collision::{Record, Relaxation, RelaxationConfig, VelocityGrid};
use crate::error::Error;
use crate::run::{self, Ending, Goal};

/// Does work with a run to this time, in so many steps, on other grids.
fn with<R>(
    (parameters, config): (&RelaxArgs, &RelaxationConfig),
    (time, steps): (f64, usize),
    work: impl FnOnce(&Relaxations) -> R,
) -> R {
    let tolerated = config.operator.tolerated_negative();
    let start = |grid: &VelocityGrid| parameters.init.sample(grid, tolerated);
    work(&Relaxations {
        config,
        start: &start,
        time,
        steps,
    })
}

/// The arguments with the grid that has the accuracy that they ask for, and the search. The run ends at the time at which it ends on the first grid.
pub(super) fn refined(
    parameters: &RelaxArgs,
    accuracy: f64,
) -> Result<(RelaxArgs, Reached), Failure> {
    if let Init::File(path) = &parameters.init {
        let why = "an array on one grid, which another grid does not have: leave --accuracy out";
        return Err(Error::file(path, why).into());
    }
    let config = parameters.config()?;
    let f =
        (parameters.init).sample(&config.operator.grid, config.operator.tolerated_negative())?;
    let mut run = Relaxation::new(config.clone(), f)?;
    if run::drive(&mut run, &Goal::default(), &mut Signals)? == Ending::Interrupted {
        return Err(Failure::Interrupted {
            after: "on the first grid of the search".into(),
            rest: "nothing is saved, for a search has no checkpoints".into(),
        });
    }
    let (time, steps) = (run.time(), count(run.steps_taken()));
    let quiet = parameters.common.quiet;
    with((parameters, &config), (time, steps), |runs| {
        let mut search = reached("relax", runs, accuracy, quiet)?;
        let (n, ends) = runs.bounds(&search.grid);
        let steps_of = runs.steps_of(&search.grid);
        let degree = runs.is_spectral().then(|| nearest(search.grid[2]));
        let mut on = parameters.clone();
        on.grid = Some(n);
        on.operator = on.operator.on(ends, degree.map(|degree| degree as u8));
        if steps_of != steps {
            on.dt = Some(time / steps_of as f64);
        }
        (on.until, on.steps) = (Some(Stop::Time(time)), None);
        // By the counts of the run on it.
        search.grid[0] = n;
        search.grid[1] = EXTENT;
        if let Some(degree) = degree {
            search.grid[2] = degree;
        }
        Ok((on, search))
    })
}

/// Estimates the errors of what was found, and reports them.
pub(super) fn errors(
    (parameters, config): (&RelaxArgs, &RelaxationConfig),
    history: &[Record],
    search: Option<&Reached>,
    report: &mut Report,
) -> Result<Verified, Failure> {
    if let Init::File(_) = parameters.init {
        return Ok(Verified::not_here(
            "not estimated, for an array is known on one grid alone",
        ));
    }
    let (Some(last), Some(found)) = (history.last(), quantities(history)) else {
        return Err(Error::Numerical("a relaxation without records".into()).into());
    };
    if last.step == 0 {
        return Ok(Verified::default());
    }
    // A search counts the steps of its first grid.
    let steps = search.and_then(|search| search.grid.last().copied());
    let steps = steps.unwrap_or(count(last.step));
    let (args, quiet) = (&parameters.verify, parameters.common.quiet);
    let errors = with((parameters, config), (last.time, steps), |runs| {
        let base = (found, floor(&config.operator));
        verified("relax", runs, args, search, base, SECONDS, quiet)
    })?;
    errors.report(report, search);
    Ok(errors)
}
