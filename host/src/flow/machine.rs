//! The machines of a sweep.

use crate::compute::{Backend, Precision, Resolved};
use crate::error::{Error, Result};
use crate::flow::Case;
use crate::gpu::Device;

/// The code that sweeps the velocities.
#[derive(Clone, Debug, Default)]
pub enum Machine {
    /// All cores of the CPU, eight velocities in a vector register, in f64.
    #[default]
    Cpu,
    /// Plain loops in f64, the reference of all tests.
    Reference,
    /// A GPU, in f32 or f64. Corrections and mixing stay on the CPU.
    Cuda(Device, Precision),
    /// The GPU's kernels on the CPU, with every access to memory checked.
    Emulator(Precision),
}

impl Machine {
    /// The machine of a backend for a case: the CPU for [`Backend::Auto`] where it alone has the case.
    ///
    /// # Errors
    /// Those of [`Backend::resolve`] and of [`Machine::new`].
    pub fn of(case: &Case, backend: Backend, precision: Precision) -> Result<(Self, Resolved)> {
        let resolved = match backend {
            Backend::Auto if case.needs_cpu() => Resolved::Cpu,
            backend => backend.resolve()?,
        };
        Ok((Self::new(&resolved, precision)?, resolved))
    }

    /// The machine that a backend has become.
    ///
    /// # Errors
    /// [`Error::Input`] for f32 on a CPU.
    pub fn new(resolved: &Resolved, precision: Precision) -> Result<Self> {
        match resolved {
            Resolved::Cuda(device) => Ok(Self::Cuda(device.clone(), precision)),
            Resolved::Emulator => Ok(Self::Emulator(precision)),
            Resolved::Cpu | Resolved::Reference if precision == Precision::F32 => {
                Err(Error::invalid(
                    "precision",
                    "f32",
                    "f64 for flows past bodies on a CPU; a GPU sweeps in f32 too",
                ))
            }
            Resolved::Cpu => Ok(Self::Cpu),
            Resolved::Reference => Ok(Self::Reference),
        }
    }
}
