//! Long ducts: the coefficients of their flows.

use pyo3::prelude::*;
use pyo3::types::PyDict;
use rarefy::accuracy::{Errors, Reached, SECONDS, search};
use rarefy::bgk::Rotation;
use rarefy::flow::{Duct, DuctFlow};

use crate::accuracy::{self, Signals, checked, most};
use crate::config::{from_python, named};
use crate::errors::raise;
use crate::work::compute;

/// G_P and G_T of a duct, and their errors.
#[pyfunction]
#[pyo3(signature = (delta, section, model, accommodation, rotation=None, verify=None, accuracy=None))]
#[allow(clippy::too_many_arguments, reason = "the keywords of Python")]
pub(super) fn duct_flow<'py>(
    py: Python<'py>,
    delta: f64,
    section: &str,
    model: &str,
    accommodation: f64,
    rotation: Option<&Bound<'py, PyAny>>,
    verify: Option<bool>,
    accuracy: Option<f64>,
) -> PyResult<([f64; 2], Bound<'py, PyDict>)> {
    let rotation: Option<Rotation> = rotation.map(from_python).transpose()?;
    let duct = Duct {
        model: named(py, model)?,
        rotation,
        accommodation,
        ..Duct::new(section.parse().map_err(raise)?, delta)
    };
    duct.check().map_err(raise)?;
    let accuracy = accuracy.map(checked).transpose()?;
    let signals = Signals::default();
    let done = compute(py, || solved(duct, (verify, accuracy), &signals))?;
    signals.check()?;
    let (found, errors, reached) = done;
    let errors = accuracy::found(py, errors, reached.as_ref())?;
    Ok(([found.g_p, found.g_t], errors))
}

/// The flow, its errors, and the end of a search.
fn solved(
    mut duct: Duct,
    (verify, accuracy): (Option<bool>, Option<f64>),
    signals: &Signals,
) -> rarefy::Result<(DuctFlow, Errors, Option<Reached>)> {
    let mut known = None;
    if let Some(accuracy) = accuracy {
        let reached = search(&duct, accuracy, signals)?;
        duct = duct.on(&reached.grid);
        known = Some((Errors::of_search(&duct, &reached, accuracy), reached));
    }
    let found = duct.solve()?;
    let (errors, reached) = match known {
        Some((errors, reached)) => (errors, Some(reached)),
        None if verify == Some(false) => (Errors::default(), None),
        None => {
            let base = (found.quantities(), found.floor());
            let most = most(verify, Duct::PATIENCE / SECONDS);
            (Errors::of_repeats(&duct, base, most, signals)?, None)
        }
    };
    Ok((found, errors, reached))
}
