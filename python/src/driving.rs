//! Runs that a call takes to their end, with progress and a stop at Ctrl-C.

use std::ops::ControlFlow;
use std::time::Duration;

use pyo3::prelude::*;
use pyo3::types::PyList;
use rarefy::Result;
use rarefy::run::{self, Ending, Goal, Now, Observer, Residual};

use crate::config::to_python;
use crate::work::{Run, caught};

/// Time after which Python should see Ctrl-C.
const PATIENCE: Duration = Duration::from_millis(100);

/// The last step, the residual, and the steps between two residuals; each may be left out.
pub(crate) type Ends = (Option<u64>, Option<f64>, Option<u64>);

/// Shows the share of the way, keeps residuals, and lets Python see signals.
struct Watcher {
    show: Py<PyAny>,
    seen: Py<PyList>,
    raised: Option<PyErr>,
}

impl<R: ?Sized> Observer<R> for Watcher {
    fn patience(&self) -> Duration {
        PATIENCE
    }

    fn see(&mut self, _: &mut R, now: &Now) -> Result<ControlFlow<Ending>> {
        let seen = Python::attach(|py| {
            if let Some(residual) = now.residual {
                let row = (now.step, now.time, residual);
                self.seen.bind(py).append(row)?;
            }
            let share = if now.ending.is_some() { 1.0 } else { now.share };
            self.show.call1(py, (share,))?;
            py.check_signals()
        });
        self.raised = seen.err();
        Ok(match self.raised {
            None => ControlFlow::Continue(()),
            Some(_) => ControlFlow::Break(Ending::Interrupted),
        })
    }
}

/// Takes a run to its own end or to that of `ends`, and returns the name of how it ended. `seen` has its earlier residuals, and the new ones after the call, as step, time and
/// residual. `show` takes the share of the way. Other threads may use the run between two of its steps.
pub(crate) fn drive<'py, T: run::Run + Send>(
    run: &Run<T>,
    py: Python<'py>,
    (steps, residual, every): Ends,
    seen: Py<PyList>,
    show: Py<PyAny>,
) -> PyResult<Bound<'py, PyAny>> {
    let before: Vec<(u64, f64, f64)> = seen.extract(py)?;
    let rows = before.into_iter();
    let goal = Goal {
        steps,
        residual,
        every,
        before: rows
            .map(|(step, time, value)| Residual { step, time, value })
            .collect(),
        ..Goal::default()
    };
    let mut watcher = Watcher {
        show,
        seen,
        raised: None,
    };
    let mut shared = run;
    let ending = caught(py, || run::drive(&mut shared, &goal, &mut watcher))?;
    match watcher.raised {
        Some(raised) => Err(raised),
        None => to_python(py, &ending),
    }
}
