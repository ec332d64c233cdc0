//! Flows past and through bodies, from a case as a dictionary.

use std::path::PathBuf;

use numpy::{PyReadonlyArray2, PyUntypedArrayMethods};
use pyo3::prelude::*;
use pyo3::types::PyDict;
use rarefy::flow::{self, Case, Fields, Findings, Machine, Samples, Segment, Shape};

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
#[pyo3(signature = (case, observe=None, arrays=Vec::new(), folder=None))]
pub(super) fn flow_case<'py>(
    py: Python<'py>,
    case: &Bound<'py, PyAny>,
    observe: Option<Py<PyAny>>,
    arrays: Vec<(usize, PyReadonlyArray2<'py, f64>)>,
    folder: Option<PathBuf>,
) -> PyResult<Solved<'py>> {
    let mut case: Case = from_python(case)?;
    if let Some(folder) = &folder {
        case.relative_to(folder);
    }
    for (body, array) in arrays {
        let [ny, nx] = *array.shape() else {
            continue;
        };
        let values = array.as_array().iter().copied().collect();
        let samples = Samples::new(nx, ny, values).map_err(raise)?;
        if let Some(Shape::Mask(raster) | Shape::Distance(raster)) =
            case.bodies.get_mut(body).map(|body| &mut body.shape)
        {
            raster.samples = Some(samples);
        }
    }
    let case = case.resolve().map_err(raise)?;
    let mut stopped: Option<PyErr> = None;
    let found = compute(py, || {
        flow::solve(&case, Machine::Cpu, &mut |done, change| {
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
    let mut names = ["body", "curve"].repeat(7);
    names[2..].copy_from_slice(&Segment::COLUMNS);
    let names: [&str; 14] = std::array::from_fn(|k| names[k]);
    let rows = segments.iter().map(|segment| {
        let mut row = [0.0; 14];
        row[0] = segment.raw.body as f64;
        row[1] = segment.curve as f64;
        row[2..].copy_from_slice(&segment.row());
        row
    });
    columns(py, names, rows)
}
