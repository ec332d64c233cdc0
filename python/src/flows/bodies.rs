//! Flows past and through bodies, from a case as a dictionary.

use std::path::PathBuf;

use numpy::{PyReadonlyArrayDyn, PyUntypedArrayMethods};
use pyo3::prelude::*;
use pyo3::types::PyDict;
use rarefy::Compute;
use rarefy::accuracy::{Errors, Reached, Watch, search};
use rarefy::flow::{
    self, Case, FacetPoint, Fields, Findings, Grids, Machine, ResultErrors, Samples, Segment,
    Shape, VoxelSamples,
};

use crate::accuracy::{self, Signals, checked, most};
use crate::arrays::{columns, shaped};
use crate::config::{from_python, to_python};
use crate::errors::raise;
use crate::work::compute;

/// The case in full, its findings without arrays, fields, walls along their outlines, and errors.
type Solved<'py> = (
    Bound<'py, PyAny>,
    Bound<'py, PyAny>,
    Bound<'py, PyDict>,
    Bound<'py, PyDict>,
    Bound<'py, PyDict>,
);

/// Solves a case, on the grid that has an accuracy if one is asked for. `observe` sees the number and the change of each iteration.
#[pyfunction]
#[pyo3(signature = (case, observe=None, verify=None, accuracy=None, arrays=Vec::new(), folder=None, backend="auto", precision="f64", devices=None))]
#[allow(clippy::too_many_arguments, reason = "the keywords of Python")]
pub(super) fn flow_case<'py>(
    py: Python<'py>,
    case: &Bound<'py, PyAny>,
    observe: Option<Py<PyAny>>,
    verify: Option<bool>,
    accuracy: Option<f64>,
    arrays: Vec<(usize, PyReadonlyArrayDyn<'py, f64>)>,
    folder: Option<PathBuf>,
    backend: &str,
    precision: &str,
    devices: Option<&str>,
) -> PyResult<Solved<'py>> {
    let mut case: Case = from_python(case)?;
    if let Some(folder) = &folder {
        case.relative_to(folder);
    }
    for (body, array) in arrays {
        let Some(shape) = case.bodies.get_mut(body).map(|body| &mut body.shape) else {
            continue;
        };
        let values = array.as_array();
        match (shape, array.shape()) {
            (Shape::Mask(raster) | Shape::Distance(raster), &[ny, nx]) => {
                let samples = Samples::new(nx, ny, values.iter().copied().collect());
                raster.samples = Some(samples.map_err(raise)?);
            }
            (Shape::Voxels(voxels), &[nz, ny, nx]) => {
                let solid = values.iter().map(|value| *value != 0.0).collect();
                let samples = VoxelSamples::new([nx, ny, nz], solid);
                voxels.samples = Some(samples.map_err(raise)?);
            }
            _ => {}
        }
    }
    let case = case.resolve().map_err(raise)?;
    let accuracy = accuracy.map(checked).transpose()?;
    let chosen = Compute {
        backend: backend.parse().map_err(raise)?,
        precision: precision.parse().map_err(raise)?,
        devices: devices.map(str::parse).transpose().map_err(raise)?,
        ..Compute::default()
    };
    let (machine, _) = Machine::of(&case, &chosen).map_err(raise)?;
    let signals = Signals::default();
    let done = compute(py, || {
        solved(
            (&case, &machine),
            (verify, accuracy),
            &signals,
            &mut |done, change| {
                let seen = Python::attach(|py| {
                    py.check_signals()?;
                    match &observe {
                        Some(observe) => observe.call1(py, (done, change)).map(drop),
                        None => Ok(()),
                    }
                });
                let goes_on = seen.is_ok();
                if let Err(error) = seen {
                    signals.note(error);
                }
                goes_on
            },
        )
    })?;
    signals.check()?;
    let (case, found, errors, reached) = done;
    let walls = match case.is_in_space() {
        true => facets(py, &flow::smoothed(&found.facets))?,
        false => walls(py, &flow::along_outlines(&case, &found.surface))?,
    };
    Ok((
        to_python(py, &case)?,
        to_python(py, &found)?,
        fields(py, &found)?,
        walls,
        errors_of(py, &case, &found, errors, reached.as_ref())?,
    ))
}

/// The case that was taken, its findings and their errors, and the end of a search.
fn solved(
    (case, machine): (&Case, &Machine),
    (verify, accuracy): (Option<bool>, Option<f64>),
    signals: &Signals,
    observe: &mut dyn FnMut(usize, f64) -> bool,
) -> rarefy::Result<(Case, Findings, Errors, Option<Reached>)> {
    let mut case = case.clone();
    let mut known = None;
    if let Some(accuracy) = accuracy {
        let grids = Grids::new(&case, machine)?.to_search(accuracy)?;
        let reached = search(&grids, accuracy, signals)?;
        case = grids.on(&reached.grid);
        let errors = Errors::of_search(&grids, &reached, accuracy);
        known = Some((errors, reached));
    }
    let grids = Grids::new(&case, machine)?;
    let found = grids.solve(observe)?;
    let (errors, reached) = match known {
        Some((errors, reached)) => (errors, Some(reached)),
        None if verify == Some(false) || signals.is_stopped() => (Errors::default(), None),
        None => {
            let share = if found.is_steady() { 1.0 } else { 0.0 };
            (grids.errors(&found, most(verify, share), signals)?, None)
        }
    };
    Ok((case, found, errors, reached))
}

/// Errors by the places of the results, the accuracy that was asked for, and warnings.
fn errors_of<'py>(
    py: Python<'py>,
    case: &Case,
    found: &Findings,
    errors: Errors,
    search: Option<&Reached>,
) -> PyResult<Bound<'py, PyDict>> {
    let all = ResultErrors::new(case, found, &errors.findings);
    let dict = accuracy::found(py, errors, search)?;
    dict.set_item("flows", [found.mass_flow(), found.energy_flow()])?;
    let Some(all) = all else {
        dict.set_item("discretisation_error", py.None())?;
        return Ok(dict);
    };
    let (bodies, sides) = (PyDict::new(py), PyDict::new(py));
    for (body, errors) in found.bodies.iter().zip(&all.bodies) {
        bodies.set_item(&body.name, to_python(py, errors)?)?;
    }
    for ((name, _), errors) in found.sides.iter().zip(&all.sides) {
        sides.set_item(name, to_python(py, errors)?)?;
    }
    let nested = PyDict::new(py);
    nested.set_item("bodies", bodies)?;
    nested.set_item("sides", sides)?;
    let passages = all.passages.iter().map(|errors| to_python(py, errors));
    nested.set_item("passages", passages.collect::<PyResult<Vec<_>>>()?)?;
    for (key, error) in &all.whole.0 {
        nested.set_item(key, to_python(py, error)?)?;
    }
    dict.set_item("discretisation_error", nested)?;
    Ok(dict)
}

/// Edges of the cells, and fields `[iy][ix]`, in space `[iz][iy][ix]`.
fn fields<'py>(py: Python<'py>, found: &Findings) -> PyResult<Bound<'py, PyDict>> {
    let all = &found.fields;
    let Fields { x, y, z, .. } = all;
    let mut shape = Vec::new();
    let dict = PyDict::new(py);
    for (name, edges) in [("z", z), ("y", y), ("x", x)] {
        if !edges.is_empty() {
            dict.set_item(name, shaped(py, edges.clone(), &[edges.len()])?)?;
            shape.push(edges.len() - 1);
        }
    }
    for (name, values) in [
        ("gas", &all.gas),
        ("density", &all.density),
        ("ux", &all.velocity_x),
        ("uy", &all.velocity_y),
        ("uz", &all.velocity_z),
        ("temperature", &all.temperature),
        ("temperature_translational", &all.temperature_translational),
        ("temperature_rotational", &all.temperature_rotational),
        ("qx_rotational", &all.heat_rotational[0]),
        ("qy_rotational", &all.heat_rotational[1]),
        ("qz_rotational", &all.heat_rotational[2]),
        ("qx", &all.heat_x),
        ("qy", &all.heat_y),
        ("qz", &all.heat_z),
    ] {
        if !values.is_empty() {
            dict.set_item(name, shaped(py, values.clone(), &shape)?)?;
        }
    }
    Ok(dict)
}

/// Facets in space, with means over their neighbours.
fn facets<'py>(py: Python<'py>, facets: &[FacetPoint]) -> PyResult<Bound<'py, PyDict>> {
    let names = [
        "body", "x", "y", "z", "normal_x", "normal_y", "normal_z", "area", "pressure", "shear_x",
        "shear_y", "shear_z", "heat",
    ];
    let rows = facets.iter().map(|facet| {
        let [x, y, z] = facet.point;
        let [nx, ny, nz] = facet.normal;
        let [sx, sy, sz] = facet.shear;
        let (area, pressure, heat) = (facet.area, facet.pressure, facet.heat);
        [
            facet.body as f64,
            x,
            y,
            z,
            nx,
            ny,
            nz,
            area,
            pressure,
            sx,
            sy,
            sz,
            heat,
        ]
    });
    columns(py, names, rows)
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
