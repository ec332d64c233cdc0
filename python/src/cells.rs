//! Collisions in the cells of a flow, whose distributions are in GPU memory.

use std::sync::Arc;

use pyo3::exceptions::{PyTypeError, PyValueError};
use pyo3::prelude::*;
use pyo3::types::PyDict;
use rarefy::Precision;
use rarefy::collision::{CellCollisions, Integrator, OperatorConfig};
use rarefy::gpu::{Device, DeviceBuffer};
use rarefy::machine::Real;

use crate::collision::{grid, operator};
use crate::config::named;
use crate::device::{device, device_array};
use crate::work::{Run, compute};

/// Distributions of cells that stay on a device, in one of both precisions.
trait Cells: Send {
    fn collide(
        &mut self,
        before: &DeviceBuffer<f64>,
        after: &mut DeviceBuffer<f64>,
    ) -> rarefy::Result<()>;
}

struct Typed<T: Real> {
    collisions: CellCollisions<Device, T>,
    integrator: Integrator,
}

impl<T: Real> Cells for Typed<T> {
    fn collide(
        &mut self,
        before: &DeviceBuffer<f64>,
        after: &mut DeviceBuffer<f64>,
    ) -> rarefy::Result<()> {
        self.collisions.collide(self.integrator, before, after)
    }
}

#[pyclass(name = "CellCollisions", module = "rarefy._rarefy", frozen)]
struct PyCellCollisions {
    run: Run<(Device, Box<dyn Cells>)>,
    shape: [usize; 4],
}

#[pymethods]
impl PyCellCollisions {
    #[new]
    fn new(
        py: Python<'_>,
        cells: usize,
        n: usize,
        bounds: (f64, f64),
        step: (f64, f64, String),
        given: &Bound<'_, PyDict>,
    ) -> PyResult<Self> {
        let (dt, largest, integrator) = step;
        let config = operator(grid((n, bounds.0, bounds.1))?, given)?;
        let integrator: Integrator = named(py, &integrator)?;
        for (name, value) in [("dt", dt), ("largest", largest)] {
            if !(value > 0.0 && value.is_finite()) {
                return Err(PyValueError::new_err(format!(
                    "{name} is {value}; a positive number is needed"
                )));
            }
        }
        if cells == 0
            || cells
                .checked_mul(n.pow(3))
                .is_none_or(|all| all > u32::MAX as usize)
        {
            return Err(PyValueError::new_err(format!(
                "cells is {cells}; from 1 on, and cells n^3 below 2^32, are needed"
            )));
        }
        fn typed<T: Real>(
            device: &Device,
            config: &OperatorConfig,
            integrator: Integrator,
            (cells, largest, dt): (usize, f64, f64),
        ) -> rarefy::Result<Box<dyn Cells>> {
            let machine = Arc::new(device.clone());
            let collisions = CellCollisions::<_, T>::new(machine, config, cells, largest, dt)?;
            Ok(Box::new(Typed {
                collisions,
                integrator,
            }))
        }
        let run = compute(py, || {
            let device = device()?;
            let numbers = (cells, largest, dt);
            let cells = match config.compute.precision {
                Precision::F32 => typed::<f32>(&device, &config, integrator, numbers)?,
                Precision::F64 => typed::<f64>(&device, &config, integrator, numbers)?,
            };
            Ok((device, cells))
        })?;
        Ok(Self {
            run: Run::new(run),
            shape: [cells, n, n, n],
        })
    }

    fn collide(&self, before: &Bound<'_, PyAny>, after: &Bound<'_, PyAny>) -> PyResult<()> {
        let array = |name: &str, x: &Bound<'_, PyAny>| {
            let found = device_array(name, x)?.ok_or_else(|| {
                PyTypeError::new_err(format!(
                    "{name} is not in GPU memory; an array of CuPy, PyTorch, JAX or Numba is needed there"
                ))
            })?;
            if found.is_single() {
                return Err(PyTypeError::new_err(format!(
                    "{name} has dtype float32; float64 is needed here"
                )));
            }
            if found.shape() != self.shape {
                return Err(PyValueError::new_err(format!(
                    "{name} has shape {:?}; {:?} is needed",
                    found.shape(),
                    self.shape
                )));
            }
            Ok(found)
        };
        let (old, new) = (array("before", before)?, array("after", after)?);
        if old.overlaps(&new) {
            return Err(PyValueError::new_err(
                "before and after have memory in common; two arrays are needed",
            ));
        }
        self.run.with(before.py(), |(device, cells)| {
            let (old, mut new) = (old.buffer(device)?, new.buffer(device)?);
            cells.collide(&old, &mut new)
        })
    }
}

pub(crate) fn register(m: &Bound<'_, PyModule>) -> PyResult<()> {
    m.add_class::<PyCellCollisions>()
}
