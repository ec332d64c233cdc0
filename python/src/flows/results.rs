//! Collisions and results that flows share.

use pyo3::exceptions::PyValueError;
use pyo3::prelude::*;
use pyo3::types::PyDict;
use rarefy::bgk::boltzmann::cross_section;
use rarefy::bgk::{Cavity, FaceFlux, Mach, Moments, RotatingMoments, ShockProfile, Space};
use rarefy::collision::{CorrectionMethod, Method, Mirrors, OperatorConfig, VelocityGrid};

use crate::accuracy::{Named, named};
use crate::arrays::{array, columns};
use crate::config::{to_python, with_given};
use crate::errors::raise;

/// The collision integral of molecules near rest that do not move along z, on the cube of `nodes` velocities along each axis up to `reach`. Their viscosity is that of the units.
pub(super) fn molecules(
    (nodes, reach): (usize, f64),
    given: &Bound<'_, PyDict>,
) -> PyResult<OperatorConfig> {
    let grid = VelocityGrid::new(nodes, -reach, reach).map_err(raise)?;
    // An order is one of the sums.
    let usual = match given.contains("order")? && !given.contains("method")? {
        true => OperatorConfig::new(grid),
        false => OperatorConfig {
            correction: CorrectionMethod::Balanced,
            ..OperatorConfig::spectral(grid)
        },
    };
    let mut operator = with_given(&usual, given)?;
    operator.sigma_t = cross_section(operator.scattering);
    if operator.method == Method::Spectral {
        operator.spectral.mirrors = Mirrors {
            z: true,
            ..Mirrors::NONE
        };
    }
    Ok(operator)
}

pub(super) fn shape(space: &Space) -> Vec<usize> {
    match space.dimensions() {
        1 => vec![space.nx()],
        _ => vec![space.ny(), space.nx()],
    }
}

/// Centres of the cells along x (0) or y (1).
pub(super) fn centres(space: &Space, direction: usize) -> PyResult<Vec<f64>> {
    let count = match direction {
        0 => space.nx(),
        1 => space.ny(),
        _ => return Err(PyValueError::new_err("the direction is 0 or 1")),
    };
    Ok((0..count).map(|i| space.centre(direction, i)).collect())
}

/// Fields under their names, with the shape of space.
pub(super) fn fields<'py>(
    py: Python<'py>,
    shape: &[usize],
    moments: &[Moments],
) -> PyResult<Bound<'py, PyDict>> {
    let names = [
        "density",
        "ux",
        "uy",
        "temperature",
        "pxx",
        "pyy",
        "pxy",
        "qx",
        "qy",
    ];
    let dict = columns(
        py,
        names,
        moments.iter().map(|m| {
            let ([ux, uy], [xx, yy, xy], [qx, qy]) = (m.velocity, m.pressure, m.heat_flux);
            [m.density, ux, uy, m.temperature, xx, yy, xy, qx, qy]
        }),
    )?;
    reshaped(&dict, &names, shape)?;
    Ok(dict)
}

/// Gives arrays of the cells of a rectangle its shape.
pub(super) fn reshaped(dict: &Bound<'_, PyDict>, names: &[&str], shape: &[usize]) -> PyResult<()> {
    if shape.len() > 1 {
        for &name in names {
            if let Some(flat) = dict.get_item(name)? {
                dict.set_item(name, flat.call_method1("reshape", (shape.to_vec(),))?)?;
            }
        }
    }
    Ok(())
}

/// The profile of a shock wave, and what is read off it.
pub(super) fn profile<'py>(
    py: Python<'py>,
    mach: Mach,
    space: &Space,
    moments: &[Moments],
) -> PyResult<Bound<'py, PyDict>> {
    let profile = ShockProfile::new(mach, space, moments).map_err(raise)?;
    let dict = columns(
        py,
        [
            "x",
            "density",
            "velocity",
            "temperature",
            "pxx",
            "heat_flux",
        ],
        profile.points.iter().map(|p| {
            [
                p.x,
                p.density,
                p.velocity,
                p.temperature,
                p.pxx,
                p.heat_flux,
            ]
        }),
    )?;
    let extremes = profile.extremes();
    let (fluxes, spread) = profile.fluxes();
    dict.set_item("mach", mach.value())?;
    dict.set_item("midpoint", profile.midpoint)?;
    dict.set_item("thickness", profile.thickness())?;
    dict.set_item("least_heat_flux", extremes.least_heat_flux)?;
    dict.set_item("largest_temperature", extremes.largest_temperature)?;
    dict.set_item("fluxes", fluxes)?;
    dict.set_item("flux_spread", spread)?;
    dict.set_item("upstream", to_python(py, &mach.upstream())?)?;
    dict.set_item("downstream", to_python(py, &mach.downstream())?)?;
    Ok(dict)
}

/// The quantities of a shock wave or a cavity whose errors are estimated.
pub(super) fn quantities(
    (mach, cavity): (Option<Mach>, Option<&Cavity>),
    space: Option<&Space>,
    moments: &[Moments],
    lid: &FaceFlux,
) -> PyResult<Vec<Named>> {
    let quantities = match (mach, cavity, space) {
        (Some(mach), _, Some(space)) => {
            let profile = ShockProfile::new(mach, space, moments).map_err(raise)?;
            profile.quantities()
        }
        (_, Some(cavity), _) => {
            let mut found = cavity.quantities(&cavity.results(moments, lid));
            // Heights are in l0 here.
            for height in found.iter_mut().filter(|q| q.name == "vortex_centre") {
                height.value *= cavity.delta;
                height.scale *= cavity.delta;
            }
            found
        }
        _ => Vec::new(),
    };
    Ok(named(quantities))
}

pub(super) fn no_shock() -> PyErr {
    PyValueError::new_err("the problem is no shock wave")
}

pub(super) fn no_cavity() -> PyErr {
    PyValueError::new_err("the problem is no cavity")
}

/// Drag and flow rate of a cavity, and its centre lines.
pub(super) fn cavity_results<'py>(
    py: Python<'py>,
    cavity: &Cavity,
    moments: &[Moments],
    lid: &FaceFlux,
) -> PyResult<Bound<'py, PyAny>> {
    let results = to_python(py, &cavity.results(moments, lid))?;
    let dict = results.cast_into::<PyDict>()?;
    for (name, (position, speed)) in [
        ("vertical", cavity.vertical(moments)),
        ("horizontal", cavity.horizontal(moments)),
    ] {
        dict.set_item(name, (array(py, position), array(py, speed)))?;
    }
    Ok(dict.into_any())
}

/// Rotation of the cells; nothing where the molecules do not rotate. A rectangle has both parts of the heat flux.
pub(super) fn rotation<'py>(
    py: Python<'py>,
    shape: &[usize],
    cells: &[RotatingMoments],
) -> PyResult<Bound<'py, PyDict>> {
    if cells.is_empty() {
        return Ok(PyDict::new(py));
    }
    let row = |m: &RotatingMoments| {
        let [x, y] = m.heat_flux_rotational;
        [m.temperature_translational, m.temperature_rotational, x, y]
    };
    let along = match shape.len() {
        1 => "heat_flux_rotational",
        _ => "qx_rotational",
    };
    let names = [
        "temperature_translational",
        "temperature_rotational",
        along,
        "qy_rotational",
    ];
    let dict = columns(py, names, cells.iter().map(row))?;
    if shape.len() == 1 {
        dict.del_item("qy_rotational")?;
    }
    reshaped(&dict, &names, shape)?;
    Ok(dict)
}
