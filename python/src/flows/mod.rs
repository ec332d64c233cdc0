//! Flows: problems, solutions in time, and steady ones.

mod bodies;
mod duct;
mod homogeneous;
mod problem;
mod results;
mod steady;
mod transient;

use pyo3::prelude::*;
use rarefy::bgk::{Cavity, SimulationConfig, Species, Units};

use crate::config::to_python;
use crate::errors::raise;

/// The units of flows in SI units, for a gas at a pressure in Pa and a temperature in K.
#[pyfunction]
fn units<'py>(
    py: Python<'py>,
    species: &str,
    pressure: f64,
    temperature: f64,
) -> PyResult<(Bound<'py, PyAny>, f64)> {
    let species: Species = crate::config::named(py, species)?;
    let units = Units::new(species, pressure, temperature).map_err(raise)?;
    Ok((to_python(py, &units)?, species.omega()))
}

pub(crate) fn register(m: &Bound<'_, PyModule>) -> PyResult<()> {
    m.add_class::<problem::PyProblem>()?;
    m.add_class::<transient::PySimulation>()?;
    m.add_class::<steady::PySteady>()?;
    m.add("CAVITY_NODES", Cavity::NODES)?;
    m.add("CAVITY_REACH", Cavity::REACH)?;
    m.add("MOST_STEPS", SimulationConfig::MOST_STEPS)?;
    m.add_function(wrap_pyfunction!(steady::gradient, m)?)?;
    m.add_function(wrap_pyfunction!(steady::directions, m)?)?;
    m.add_function(wrap_pyfunction!(bodies::flow_case, m)?)?;
    m.add_function(wrap_pyfunction!(duct::duct_flow, m)?)?;
    m.add_function(wrap_pyfunction!(homogeneous::relax_model, m)?)?;
    m.add_function(wrap_pyfunction!(steady::velocities_of_plates, m)?)?;
    m.add_function(wrap_pyfunction!(units, m)?)
}
