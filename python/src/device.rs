//! Arrays in the memory of a GPU, by DLPack or by `__cuda_array_interface__`: those of CuPy, PyTorch, JAX and Numba.

use std::ffi::{c_char, c_void};

use numpy::{IntoPyArray, PyArrayMethods};
use pyo3::exceptions::{PyTypeError, PyValueError};
use pyo3::prelude::*;
use pyo3::types::PyDict;
use rarefy::compute::Resolved;
use rarefy::gpu::{Device, DeviceBuffer};
use rarefy::machine::Machine;
use rarefy::signed_digit::float::{ExactAccumulator, Float, MachineAccumulator, machine_row_sums};
use rarefy::{Backend, Error, Precision};

use crate::arrays::{Terms, last_axis};
use crate::work::{compute, machine};

/// The driver's legacy default stream, which both protocols number so. All blocking streams are in order with it.
const LEGACY_STREAM: u64 = 1;

/// DLPack's number of CUDA devices.
const CUDA: i32 = 2;

/// The start of DLPack's `DLManagedTensor`.
#[repr(C)]
struct DlTensor {
    data: *mut c_void,
    device: [i32; 2],
    dimensions: i32,
    kind: u8,
    bits: u8,
    lanes: u16,
    shape: *const i64,
    strides: *const i64,
    byte_offset: u64,
}

/// DLPack's kind of floating-point numbers.
const FLOAT: u8 = 2;

/// A C-contiguous array of float32 or float64 in GPU memory.
pub(crate) struct DeviceArray {
    address: u64,
    shape: Vec<usize>,
    single: bool,
    /// The stream that fills it.
    stream: u64,
    /// Keeps the memory.
    _owner: Py<PyAny>,
}

/// An array of either protocol before its checks.
struct Described {
    address: u64,
    shape: Vec<usize>,
    /// In elements.
    strides: Option<Vec<i64>>,
    /// Whether the elements have 4 bytes.
    single: bool,
}

impl Described {
    /// Refuses layouts other than C's. Strides of axes with one element do not matter.
    fn checked(self, name: &str, stream: u64, owner: Py<PyAny>) -> PyResult<DeviceArray> {
        if let Some(strides) = &self.strides {
            let mut expected = 1;
            let mut contiguous = true;
            for (&n, &stride) in self.shape.iter().zip(strides).rev() {
                contiguous &= n <= 1 || stride == expected;
                expected *= n as i64;
            }
            if !contiguous && expected != 0 {
                return Err(PyValueError::new_err(format!(
                    "{name} is not C-contiguous (shape {:?}, strides in elements {strides:?}); cupy.ascontiguousarray({name}) or {name}.contiguous() copies it into that order",
                    self.shape
                )));
            }
        }
        Ok(DeviceArray {
            address: self.address,
            shape: self.shape,
            single: self.single,
            stream,
            _owner: owner,
        })
    }
}

fn wrong_dtype(name: &str, dtype: &str) -> PyErr {
    PyTypeError::new_err(format!(
        "{name} has dtype {dtype}; float32 or float64 is needed: {name}.astype('float64') of CuPy and JAX or {name}.double() of PyTorch converts it"
    ))
}

/// The array, if `x` is one in GPU memory.
pub(crate) fn device_array(name: &str, x: &Bound<'_, PyAny>) -> PyResult<Option<DeviceArray>> {
    if x.cast::<numpy::PyUntypedArray>().is_ok() {
        return Ok(None);
    }
    if let Some(place) = x.getattr_opt("__dlpack_device__")? {
        let (kind, _): (i32, i32) = place.call0()?.extract()?;
        return if kind == CUDA {
            by_dlpack(name, x).map(Some)
        } else {
            Ok(None)
        };
    }
    match x.getattr_opt("__cuda_array_interface__")? {
        Some(interface) => by_interface(name, x, &interface.cast_into::<PyDict>()?).map(Some),
        None => Ok(None),
    }
}

fn by_dlpack(name: &str, x: &Bound<'_, PyAny>) -> PyResult<DeviceArray> {
    let stream = PyDict::new(x.py());
    stream.set_item("stream", LEGACY_STREAM)?;
    let capsule = x.call_method("__dlpack__", (), Some(&stream))?;
    const NAME: *const c_char = c"dltensor".as_ptr();
    // SAFETY: the function checks that the object is a capsule of this name.
    let tensor = unsafe { pyo3::ffi::PyCapsule_GetPointer(capsule.as_ptr(), NAME) };
    if tensor.is_null() {
        return Err(PyErr::fetch(x.py()));
    }
    // SAFETY: a capsule of this name holds a `DLManagedTensor`, which begins with a `DLTensor` and lives as long as the capsule.
    let tensor = unsafe { &*tensor.cast::<DlTensor>() };
    if tensor.kind != FLOAT || !matches!(tensor.bits, 32 | 64) || tensor.lanes != 1 {
        let dtype: String = x.getattr("dtype")?.str()?.extract()?;
        return Err(wrong_dtype(name, &dtype));
    }
    let dimensions = usize::try_from(tensor.dimensions).unwrap_or(0);
    let numbers = |start: *const i64| {
        if start.is_null() || dimensions == 0 {
            return None;
        }
        // SAFETY: the protocol has so many numbers at a pointer that is not null.
        Some(unsafe { std::slice::from_raw_parts(start, dimensions) }.to_vec())
    };
    let shape = numbers(tensor.shape).unwrap_or_default();
    Described {
        address: tensor.data as u64 + tensor.byte_offset,
        shape: shape.iter().map(|&n| n.max(0) as usize).collect(),
        strides: numbers(tensor.strides),
        single: tensor.bits == 32,
    }
    // The capsule's destructor releases the tensor, since nobody renames the capsule.
    .checked(name, LEGACY_STREAM, capsule.unbind())
}

fn by_interface(
    name: &str,
    x: &Bound<'_, PyAny>,
    interface: &Bound<'_, PyDict>,
) -> PyResult<DeviceArray> {
    let needed = |key: &str| {
        interface.get_item(key)?.ok_or_else(|| {
            PyTypeError::new_err(format!("{name}.__cuda_array_interface__ has no '{key}'"))
        })
    };
    let given = |key: &str| -> PyResult<_> {
        Ok(interface.get_item(key)?.filter(|value| !value.is_none()))
    };
    let dtype: String = needed("typestr")?.extract()?;
    let size: i64 = match dtype.as_str() {
        "<f4" => 4,
        "<f8" => 8,
        _ => return Err(wrong_dtype(name, &dtype)),
    };
    let strides: Option<Vec<i64>> = match given("strides")? {
        Some(strides) => Some(strides.extract()?),
        None => None,
    };
    let (address, _): (u64, bool) = needed("data")?.extract()?;
    let stream = match given("stream")? {
        Some(stream) => stream.extract()?,
        None => LEGACY_STREAM,
    };
    Described {
        address,
        shape: needed("shape")?.extract()?,
        strides: strides.map(|all| all.iter().map(|bytes| bytes / size).collect()),
        single: size == 4,
    }
    .checked(name, stream, x.clone().unbind())
}

/// The first CUDA device, or the one that the environment names.
pub(crate) fn device() -> rarefy::Result<Device> {
    match machine(Backend::Cuda)? {
        Resolved::Cuda(device) => Ok(device),
        _ => Err(Error::invalid(
            "array",
            "one in GPU memory",
            "an array of the host: no CUDA device can be used",
        )),
    }
}

impl DeviceArray {
    pub(crate) fn shape(&self) -> &[usize] {
        &self.shape
    }

    pub(crate) fn is_single(&self) -> bool {
        self.single
    }

    fn len(&self) -> usize {
        self.shape.iter().product()
    }

    /// Whether both have memory in common.
    pub(crate) fn overlaps(&self, other: &Self) -> bool {
        let end = |x: &Self| x.address + (x.len() * if x.single { 4 } else { 8 }) as u64;
        self.address < end(other) && other.address < end(self)
    }

    pub(crate) fn sum(&self, py: Python<'_>, terms: Terms) -> PyResult<ExactAccumulator> {
        if self.len() == 0 {
            return Ok(ExactAccumulator::new());
        }
        compute(py, || {
            let device = device()?;
            if self.single {
                self.add::<f32>(&device, terms)
            } else {
                self.add::<f64>(&device, terms)
            }
        })
    }

    /// The sums along the last axis, as an array of NumPy.
    pub(crate) fn row_sums<'py>(
        &self,
        py: Python<'py>,
        axis: isize,
    ) -> PyResult<Bound<'py, PyAny>> {
        let axes = self.shape.len() as isize;
        if axes == 0 || axis != -1 && axis != axes - 1 {
            return Err(PyValueError::new_err(format!(
                "axis {axis} is not the last of x, which has shape {:?}; of arrays in GPU memory the last is summed: cupy.moveaxis or torch.movedim, and a copy, make it so",
                self.shape
            )));
        }
        let (_, others) = last_axis(&self.shape);
        let sums = |round| compute(py, || self.rounded_rows(&device()?, round));
        if self.single {
            let sums: Vec<f32> = sums(Precision::F32)?
                .into_iter()
                .map(|x| x as f32)
                .collect();
            return Ok(sums.into_pyarray(py).reshape(others)?.into_any());
        }
        Ok(sums(Precision::F64)?
            .into_pyarray(py)
            .reshape(others)?
            .into_any())
    }

    fn rounded_rows(&self, device: &Device, round: Precision) -> rarefy::Result<Vec<f64>> {
        let (_, others) = last_axis(&self.shape);
        let mut found = vec![0.0; others.iter().product()];
        if self.len() > 0 {
            let mut sums = device.allocate::<f64>(found.len())?;
            if self.single {
                machine_row_sums(device, &self.buffer::<f32>(device)?, round, &mut sums)?;
            } else {
                machine_row_sums(device, &self.buffer::<f64>(device)?, round, &mut sums)?;
            }
            device.read(&sums, &mut found)?;
        }
        Ok(found)
    }

    pub(crate) fn dot(&self, py: Python<'_>, other: &Self) -> PyResult<ExactAccumulator> {
        if self.single != other.single {
            return Err(PyTypeError::new_err(
                "one of x and y is float32 and the other float64; both need one dtype",
            ));
        }
        if self.len() == 0 {
            return Ok(ExactAccumulator::new());
        }
        compute(py, || {
            let device = device()?;
            if self.single {
                self.multiply::<f32>(&device, other)
            } else {
                self.multiply::<f64>(&device, other)
            }
        })
    }

    fn add<T: Float>(&self, device: &Device, terms: Terms) -> rarefy::Result<ExactAccumulator> {
        let x = self.buffer::<T>(device)?;
        let mut sum = MachineAccumulator::new(device)?;
        match terms {
            Terms::Values => sum.add(&x)?,
            Terms::Magnitudes => sum.add_magnitudes(&x)?,
            Terms::Squares => sum.add_products(&x, &x)?,
        }
        sum.finish()
    }

    fn multiply<T: Float>(
        &self,
        device: &Device,
        other: &Self,
    ) -> rarefy::Result<ExactAccumulator> {
        let (x, y) = (self.buffer::<T>(device)?, other.buffer::<T>(device)?);
        let mut sum = MachineAccumulator::new(device)?;
        sum.add_products(&x, &y)?;
        sum.finish()
    }

    /// The array as a buffer of the library. `T` must be its type.
    pub(crate) fn buffer<T: rarefy::machine::Element>(
        &self,
        device: &Device,
    ) -> rarefy::Result<DeviceBuffer<T>> {
        // SAFETY: the owner keeps the memory and its stream longer than the buffer lives, whose destructor waits for the device. By the protocols nobody
        // writes the array meanwhile.
        Ok(unsafe { device.borrow(self.address, self.len(), Some(self.stream)) }?)
    }
}
