//! The extension module behind the Python package `rarefy`: arrays, configurations, errors and threads cross here, and nothing is computed.
//!
//! Names and defaults are the library's: a configuration is serialised, what the caller gave is put into it, and it is read back, which checks it.

mod accumulator;
mod accuracy;
mod arrays;
mod cells;
mod collision;
mod config;
mod decimals;
mod device;
mod driving;
mod errors;
mod flows;
mod isotropic;
mod longman;
mod sums;
mod work;

use std::ffi::OsString;

use pyo3::prelude::*;
use rarefy::gpu::doctor;

/// Devices, driver and kernels, as the command `rarefy doctor` reports them: the report for people, and as data.
#[pyfunction(name = "doctor")]
fn doctor_report(py: Python<'_>) -> PyResult<(String, Py<PyAny>)> {
    let report = work::compute(py, || Ok(doctor::report()))?;
    let data = config::to_python(py, &report)?;
    Ok((report.to_string(), data.unbind()))
}

/// Runs the command with these arguments, of which the first is its name, and ends the process.
#[pyfunction]
fn command(py: Python<'_>, arguments: Vec<OsString>) {
    py.detach(|| rarefy::cli::main_with(arguments))
}

#[pymodule]
fn _rarefy(m: &Bound<'_, PyModule>) -> PyResult<()> {
    m.add("__version__", env!("CARGO_PKG_VERSION"))?;
    errors::register(m)?;
    m.add_function(wrap_pyfunction!(doctor_report, m)?)?;
    m.add_function(wrap_pyfunction!(work::enter, m)?)?;
    m.add_function(wrap_pyfunction!(command, m)?)?;
    sums::register(m)?;
    accumulator::register(m)?;
    decimals::register(m)?;
    longman::register(m)?;
    accuracy::register(m)?;
    collision::register(m)?;
    cells::register(m)?;
    isotropic::register(m)?;
    flows::register(m)
}
