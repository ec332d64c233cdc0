//! Errors of the library as exceptions: the library's line, in the class that Python uses for such a fault.

use pyo3::create_exception;
use pyo3::exceptions::{PyArithmeticError, PyMemoryError, PyOSError, PyRuntimeError, PyValueError};
use pyo3::prelude::*;
use rarefy::{Error, MachineError};

create_exception!(
    rarefy,
    DeviceError,
    PyRuntimeError,
    "No GPU can be used, or it failed; the text names the cause and the remedy."
);
create_exception!(
    rarefy,
    NumericalError,
    PyArithmeticError,
    "The computation cannot go on: the state became unusable in a way that only running it shows."
);

/// The exception for an error of the library.
pub(crate) fn raise(error: Error) -> PyErr {
    let text = error.to_string();
    match error {
        Error::File { .. } => PyOSError::new_err(text),
        Error::Numerical(_) => NumericalError::new_err(text),
        Error::Machine(MachineError::Memory { .. }) => PyMemoryError::new_err(text),
        Error::Machine(MachineError::Input(_)) => PyValueError::new_err(text),
        Error::Machine(_) => DeviceError::new_err(text),
        _ => PyValueError::new_err(text),
    }
}

pub(crate) fn register(m: &Bound<'_, PyModule>) -> PyResult<()> {
    m.add("DeviceError", m.py().get_type::<DeviceError>())?;
    m.add("NumericalError", m.py().get_type::<NumericalError>())
}
