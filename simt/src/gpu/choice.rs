//! The devices of the driver: their properties, the one that is taken, its start ahead of the first use.

use std::sync::{Mutex, MutexGuard, Once, PoisonError};
use std::thread;

use cudarc::driver::{result, sys};

use super::driver::{self, Driven, guard};
use super::ptx::{LEAST_CAPABILITY, capability_text};
use crate::error::{Error, Result};

/// The environment variable that picks a device.
pub(super) const DEVICE_VARIABLE: &str = "RAREFY_DEVICE";

/// The constant properties of a device.
#[derive(Clone, Debug)]
pub(super) struct Properties {
    pub(super) ordinal: u32,
    pub(super) name: String,
    /// Ten times the major number plus the minor.
    pub(super) capability: u32,
    pub(super) total_bytes: u64,
    pub(super) multiprocessors: u32,
    pub(super) shared_per_block: usize,
    pub(super) shared_per_multiprocessor: usize,
    pub(super) fast_doubles: bool,
}

impl Properties {
    /// Asks the driver, which [`driver::usable`] has found, about one of its devices.
    pub(super) fn of(ordinal: u32) -> Result<Self> {
        use sys::CUdevice_attribute_enum as Attribute;
        let action = "asking for the properties of a device";
        let device = device_handle(ordinal)?;
        let attribute = |attribute| -> Result<u32> {
            // SAFETY: the device was returned by the driver.
            let value =
                unsafe { result::device::get_attribute(device, attribute) }.during(action)?;
            Ok(u32::try_from(value).unwrap_or(0))
        };
        Ok(Self {
            ordinal,
            name: result::device::get_name(device).during(action)?,
            capability: 10 * attribute(Attribute::CU_DEVICE_ATTRIBUTE_COMPUTE_CAPABILITY_MAJOR)?
                + attribute(Attribute::CU_DEVICE_ATTRIBUTE_COMPUTE_CAPABILITY_MINOR)?,
            // SAFETY: the device was returned by the driver.
            total_bytes: unsafe { result::device::total_mem(device) }.during(action)? as u64,
            multiprocessors: attribute(Attribute::CU_DEVICE_ATTRIBUTE_MULTIPROCESSOR_COUNT)?,
            shared_per_block: attribute(
                Attribute::CU_DEVICE_ATTRIBUTE_MAX_SHARED_MEMORY_PER_BLOCK_OPTIN,
            )? as usize,
            shared_per_multiprocessor: attribute(
                Attribute::CU_DEVICE_ATTRIBUTE_MAX_SHARED_MEMORY_PER_MULTIPROCESSOR,
            )? as usize,
            // Two or three, or 32 and more.
            fast_doubles: (1..8).contains(&attribute(
                Attribute::CU_DEVICE_ATTRIBUTE_SINGLE_TO_DOUBLE_PRECISION_PERF_RATIO,
            )?),
        })
    }

    /// Those of the first supported device, or of the first in the variable `RAREFY_DEVICE`.
    pub(super) fn of_usual() -> Result<Self> {
        let named = ordinals_from_environment()?;
        let probe = driver::usable()?;
        if let Some([ordinal, ..]) = named.as_deref() {
            check_ordinal(*ordinal, probe.devices)?;
            return guard(|| Self::of(*ordinal));
        }
        guard(|| {
            let mut refused = Vec::new();
            for ordinal in 0..probe.devices {
                let properties = Self::of(ordinal)?;
                if properties.is_supported() {
                    return Ok(properties);
                }
                refused.push(properties.unsupported_text());
            }
            Err(Error::NoDevice(format!(
                "{}; compute on the CPU",
                refused.join("; ")
            )))
        })
    }

    pub(super) fn is_supported(&self) -> bool {
        self.capability >= LEAST_CAPABILITY
    }

    pub(super) fn unsupported_text(&self) -> String {
        format!(
            "device {} ({}) has compute capability {}, and rarefy needs {} or later",
            self.ordinal,
            self.name,
            capability_text(self.capability),
            capability_text(LEAST_CAPABILITY)
        )
    }
}

pub(super) fn device_handle(ordinal: u32) -> Result<sys::CUdevice> {
    result::device::get(i32::try_from(ordinal).unwrap_or(i32::MAX))
        .during_with(|| format!("opening device {ordinal}"))
}

/// The ordinals in `RAREFY_DEVICE`, if that is set: numbers with commas between them. `0x2` is device 0 twice.
pub(super) fn ordinals_from_environment() -> Result<Option<Vec<u32>>> {
    match std::env::var(DEVICE_VARIABLE) {
        Ok(text) if text.trim().is_empty() => Ok(None),
        Ok(text) => ordinals_of(&text).map(Some),
        Err(std::env::VarError::NotPresent) => Ok(None),
        Err(std::env::VarError::NotUnicode(_)) => Err(Error::input(format!(
            "{DEVICE_VARIABLE} is not text; give the number of a device, such as 0"
        ))),
    }
}

/// Refuses a number that is not in the driver's list.
pub(super) fn check_ordinal(ordinal: u32, devices: u32) -> Result<()> {
    if ordinal < devices {
        return Ok(());
    }
    Err(Error::input(format!(
        "device {ordinal} was asked for, and the driver lists {devices}, counted from 0; see `rarefy doctor`"
    )))
}

fn ordinals_of(text: &str) -> Result<Vec<u32>> {
    let wrong = || {
        Error::input(format!(
            "{DEVICE_VARIABLE}={text} is no device; give its number in the list of `rarefy doctor`, such as 0"
        ))
    };
    let mut ordinals = Vec::new();
    for item in text.split(',') {
        let (ordinal, times) = item.split_once('x').unwrap_or((item, "1"));
        let ordinal: u32 = ordinal.trim().parse().map_err(|_| wrong())?;
        let times: u8 = times.trim().parse().map_err(|_| wrong())?;
        if ordinals.contains(&ordinal) {
            return Err(Error::input(format!(
                "{DEVICE_VARIABLE}={text} has device {ordinal} twice, and each rank takes a device of its own; {ordinal}x2 shares one between two ranks"
            )));
        }
        ordinals.extend(std::iter::repeat_n(ordinal, usize::from(times)));
    }
    if ordinals.is_empty() {
        return Err(wrong());
    }
    Ok(ordinals)
}

/// Begins to open the device of [`Device::open`](super::Device::open), on a thread of its own: driver and context take about 0.2 s to start. Later calls wait for them.
///
/// The context is kept until [`close_ahead`], or until the process ends. While the thread works, exit handlers of the driver may wait for it or fail: leave the process without them,
/// by `_exit`.
pub fn open_ahead() {
    static BEGUN: Once = Once::new();
    BEGUN.call_once(|| {
        if driver::is_there() {
            // Without a thread the driver starts at its first use. Errors show there too.
            drop(thread::Builder::new().spawn(retain_usual));
        }
    });
}

/// Closes what [`open_ahead`] opened, on a thread of its own. The context goes with the last [`Device`](super::Device) that has it.
pub fn close_ahead() {
    if let Some(device) = opened().take() {
        let release = move || {
            // SAFETY: `retain_usual` has retained the context, which is released once.
            let _ = unsafe { result::primary_ctx::release(device) };
        };
        // Without a thread it is released when the process ends.
        drop(thread::Builder::new().spawn(release));
    }
}

/// The device whose context is kept.
fn opened() -> MutexGuard<'static, Option<sys::CUdevice>> {
    static OPENED: Mutex<Option<sys::CUdevice>> = Mutex::new(None);
    OPENED.lock().unwrap_or_else(PoisonError::into_inner)
}

/// Makes the context of the usual device.
fn retain_usual() {
    let device = Properties::of_usual().and_then(|properties| {
        guard(|| {
            let device = device_handle(properties.ordinal)?;
            // SAFETY: the device was returned by the driver.
            unsafe { result::primary_ctx::retain(device) }.during("starting the driver")?;
            Ok(device)
        })
    });
    *opened() = device.ok();
}

#[cfg(test)]
mod tests {
    use super::ordinals_of;

    #[test]
    fn a_list_of_devices_has_each_once_or_says_how_often() {
        assert_eq!(ordinals_of(" 2 ").unwrap(), [2]);
        assert_eq!(ordinals_of("1,0").unwrap(), [1, 0]);
        assert_eq!(ordinals_of("0x2, 3").unwrap(), [0, 0, 3]);
        for wrong in ["first", "1,", "0x", "-1", "0x0"] {
            let text = ordinals_of(wrong).unwrap_err().to_string();
            assert!(
                text.contains(&format!("RAREFY_DEVICE={wrong} is no device")),
                "{text}"
            );
        }
        let text = ordinals_of("0,1,0").unwrap_err().to_string();
        assert!(text.contains("has device 0 twice"), "{text}");
    }
}
