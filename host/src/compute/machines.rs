//! The machines of a computation: one, or several devices of the host.

use super::{Backend, Compute, Devices, Resolved};
use crate::error::{Error, Result};
use crate::gpu;

impl Compute {
    /// The same on so many devices.
    #[must_use]
    pub fn with_devices(self, devices: Devices) -> Self {
        Self {
            devices: Some(devices),
            ..self
        }
    }

    /// Opens the machine of a computation that has one.
    ///
    /// # Errors
    /// Those of [`Backend::resolve`]; several devices.
    pub fn resolve(&self) -> Result<Resolved> {
        let mut all = self.resolve_all()?;
        match (all.len(), all.pop()) {
            (1, Some(machine)) => Ok(machine),
            (several, _) => Err(Error::invalid(
                "devices",
                several,
                "1 device, for this computation cannot be divided",
            )),
        }
    }

    /// Begins to open the GPU that this may ask for, beside the work before it is needed.
    #[cfg(feature = "cli")]
    pub(crate) fn open_ahead(&self) {
        if matches!(self.backend, Backend::Auto | Backend::Cuda) {
            gpu::open_ahead();
        }
    }

    /// Opens the machines that share a computation: GPUs, or emulators. The CPU is one machine.
    ///
    /// # Errors
    /// Those of [`Backend::resolve`]; more devices than there are.
    pub fn resolve_all(&self) -> Result<Vec<Resolved>> {
        let wanted = match self.devices {
            None => return Ok(vec![self.backend.resolve()?]),
            Some(Devices::Number(number)) => {
                Devices::number(number)?;
                Some(number)
            }
            Some(Devices::All) => None,
        };
        let one = |backend: Backend| match wanted {
            None | Some(1) => Ok(vec![backend.resolve()?]),
            Some(number) => Err(Error::invalid(
                "devices",
                number,
                format!(
                    "1 device with the backend {backend}, whose cores a computation shares by threads"
                ),
            )),
        };
        let gpus = || -> Result<Vec<Resolved>> {
            let open = |ordinal| gpu::open_ordinal(ordinal).map(Resolved::Cuda);
            choose(wanted)?.into_iter().map(open).collect()
        };
        match self.backend {
            Backend::Cuda => gpus(),
            Backend::Auto => match gpus() {
                Err(error) if gpu::is_absent(&error) => one(Backend::Cpu),
                found => found,
            },
            Backend::Emulator => Ok((0..wanted.unwrap_or(1))
                .map(|_| Resolved::Emulator)
                .collect()),
            backend => one(backend),
        }
    }

    /// How many processes of this host share a computation, with a device each. None is opened.
    ///
    /// # Errors
    /// As [`Compute::resolve_all`].
    #[cfg(feature = "cli")]
    pub(crate) fn processes(&self) -> Result<usize> {
        let wanted = match self.devices {
            Some(Devices::Number(number)) => Some(number),
            Some(Devices::All) => None,
            None => Some(1),
        };
        match self.backend {
            Backend::Cuda => Ok(choose(wanted)?.len()),
            Backend::Auto => match choose(wanted) {
                Err(error) if gpu::is_absent(&error) => Ok(self.resolve_all()?.len()),
                found => Ok(found?.len()),
            },
            _ => Ok(self.resolve_all()?.len()),
        }
    }

    /// Opens the machine of a rank by its number among those of the host. Ranks of one process, `ranks` of them, have a GPU each. Processes take turns among
    /// the GPUs that they see, of which some launchers show each only its own.
    pub(crate) fn resolve_rank(&self, rank: usize, ranks: Option<usize>) -> Result<Resolved> {
        let open = || -> Result<Resolved> {
            let ordinals = choose(ranks)?;
            let ordinal = ordinals.get(rank % ordinals.len().max(1));
            gpu::open_ordinal(ordinal.copied().unwrap_or_default()).map(Resolved::Cuda)
        };
        match self.backend {
            Backend::Cuda => open(),
            Backend::Auto => match open() {
                // The ranks share the cores of the CPU.
                Err(error) if gpu::is_absent(&error) => Ok(Resolved::Cpu),
                found => found,
            },
            backend => backend.resolve(),
        }
    }
}

/// The ordinals of so many GPUs, or of all.
fn choose(wanted: Option<usize>) -> Result<Vec<u32>> {
    let choices = gpu::choices()?;
    let wanted = wanted.unwrap_or(choices.len());
    if wanted > choices.len() {
        let names: Vec<String> = choices
            .iter()
            .map(|(ordinal, name)| format!("{ordinal} ({name})"))
            .collect();
        return Err(Error::invalid(
            "devices",
            wanted,
            format!("at most {}: {}", choices.len(), names.join(", ")),
        ));
    }
    let ordinals = choices.into_iter().map(|(ordinal, _)| ordinal);
    Ok(ordinals.take(wanted).collect())
}

/// Some machines in words, such as `2 devices, each NVIDIA H200 (CUDA 13.0, compute capability 9.0)`.
pub(crate) fn describe_all(machines: &[Resolved]) -> String {
    match machines {
        [] => String::new(),
        [machine] => machine.describe(),
        [first, ..] => format!("{} devices, each {}", machines.len(), first.describe()),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_cpu_is_one_device() {
        let of = |backend, devices| Compute::new(backend).with_devices(devices).resolve_all();
        assert_eq!(of(Backend::Cpu, Devices::All).unwrap().len(), 1);
        assert_eq!(of(Backend::Emulator, Devices::Number(3)).unwrap().len(), 3);
        assert_eq!(
            of(Backend::Cpu, Devices::Number(2))
                .unwrap_err()
                .to_string(),
            "devices: 2; expected 1 device with the backend cpu, whose cores a computation shares by threads"
        );
        let error = Compute::new(Backend::Emulator)
            .with_devices(Devices::Number(2))
            .resolve();
        assert!(
            error
                .unwrap_err()
                .to_string()
                .starts_with("devices: 2; expected 1 device, ")
        );
    }
}
