//! The machines of a sweep.

use crate::compute::{Backend, Compute, Devices, Precision, Resolved};
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
    /// GPUs that share the velocities, in f32 or f64. Corrections and mixing stay on the CPU.
    Cuda(Vec<Device>, Precision),
    /// The GPU's kernels on the CPU, with every access to memory checked: so many emulators that share the velocities.
    Emulator(usize, Precision),
}

impl Machine {
    /// The machine of a case: the CPU for [`Backend::Auto`] where it alone has the case. Threads are those of the caller.
    ///
    /// # Errors
    /// Those of [`Compute::resolve_all`] and of [`Machine::new`]; several devices for a case that the CPU alone has.
    pub fn of(case: &Case, compute: &Compute) -> Result<(Self, Vec<Resolved>)> {
        let mut compute = *compute;
        if compute.backend == Backend::Auto && case.needs_cpu() {
            if let Some(Devices::Number(devices @ 2..)) = compute.devices {
                return Err(Error::invalid(
                    "devices",
                    devices,
                    "1 device, for this flow stays on the CPU: it is linear and periodic, or a body mirrors a part of the molecules",
                ));
            }
            compute.backend = Backend::Cpu;
        }
        let resolved = compute.resolve_all()?;
        Ok((Self::new(&resolved, compute.precision)?, resolved))
    }

    /// The machine that a computation has become: one, or several GPUs or emulators.
    ///
    /// # Errors
    /// [`Error::Input`] for f32 on a CPU.
    pub fn new(resolved: &[Resolved], precision: Precision) -> Result<Self> {
        match resolved {
            [Resolved::Cpu | Resolved::Reference] if precision == Precision::F32 => {
                Err(Error::invalid(
                    "precision",
                    "f32",
                    "f64 for flows past bodies on a CPU; a GPU sweeps in f32 too",
                ))
            }
            [Resolved::Cpu] => Ok(Self::Cpu),
            [Resolved::Reference] => Ok(Self::Reference),
            [Resolved::Emulator, ..] => Ok(Self::Emulator(resolved.len(), precision)),
            all => {
                let devices = all.iter().filter_map(|machine| match machine {
                    Resolved::Cuda(device) => Some(device.clone()),
                    _ => None,
                });
                Ok(Self::Cuda(devices.collect(), precision))
            }
        }
    }
}
