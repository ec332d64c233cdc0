//! Flows past and through bodies, from a case as a dictionary.

use pyo3::prelude::*;
use pyo3::types::PyDict;
use rarefy::{Backend, Precision};
use rarefy::flow::{self, Case, Fields, Findings, Machine, Segment};

use crate::arrays::{columns, shaped};
use crate::config::{from_python, to_python};
use crate::errors::raise;
use crate::work::compute;

/// The case in full, its findings without arrays, fields, and walls along their outlines. `observe` sees the number and the change of each iteration.
type Solved<'py> = (
    Bound<'py, PyAny>,
    Bound<'py, PyAny>,
    Bound<'py, PyDict>,
    Bound<'py, PyDict>,
);

#[pyfunction]
#[pyo3(signature = (case, observe=None, backend="auto", precision="f64"))]
pub(super) fn flow_case<'py>(
    py: Python<'py>,
    case: &Bound<'py, PyAny>,
    observe: Option<Py<PyAny>>,
    backend: &str,
    precision: &str,
) -> PyResult<Solved<'py>> {
    let case: Case = from_python(case)?;
    let case = case.resolve().map_err(raise)?;
    let backend: Backend = backend.parse().map_err(raise)?;
    let precision: Precision = precision.parse().map_err(raise)?;
    let (machine, _) = Machine::of(&case, backend, precision).map_err(raise)?;
    let mut stopped: Option<PyErr> = None;
    let found = compute(py, || {
        flow::solve(&case, &machine, &mut |done, change| {
            let seen = Python::attach(|py| {
                py.check_signals()?;
                match &observe {
                    Some(observe) => observe.call1(py, (done, change)).map(drop),
                    None => Ok(()),
                }
            });
            stopped = seen.err();
            stopped.is_none()
        })
    })?;
    if let Some(error) = stopped {
        return Err(error);
    }
    let segments = flow::along_outlines(&case, &found.surface);
    Ok((
        to_python(py, &case)?,
        to_python(py, &found)?,
        fields(py, &found)?,
        walls(py, &segments)?,
    ))
}

/// Edges of the cells, and fields `[iy][ix]`.
fn fields<'py>(py: Python<'py>, found: &Findings) -> PyResult<Bound<'py, PyDict>> {
    let Fields { x, y, .. } = &found.fields;
    let shape = [y.len().saturating_sub(1), x.len().saturating_sub(1)];
    let all = &found.fields;
    let dict = PyDict::new(py);
    for (name, edges) in [("x", x), ("y", y)] {
        dict.set_item(name, shaped(py, edges.clone(), &[edges.len()])?)?;
    }
    for (name, values) in [
        ("gas", &all.gas),
        ("density", &all.density),
        ("ux", &all.velocity_x),
        ("uy", &all.velocity_y),
        ("temperature", &all.temperature),
        ("qx", &all.heat_x),
        ("qy", &all.heat_y),
    ] {
        dict.set_item(name, shaped(py, values.clone(), &shape)?)?;
    }
    Ok(dict)
}

fn walls<'py>(py: Python<'py>, segments: &[Segment]) -> PyResult<Bound<'py, PyDict>> {
    let [arc, angle, x, y, nx, ny, length, pressure, shear, heat] = Segment::COLUMNS;
    let names = [
        "body", "curve", arc, angle, x, y, nx, ny, length, pressure, shear, heat,
    ];
    let rows = segments.iter().map(|segment| {
        let mut row = [0.0; 12];
        row[0] = segment.raw.body as f64;
        row[1] = segment.curve as f64;
        row[2..].copy_from_slice(&segment.row());
        row
    });
    columns(py, names, rows)
}
