//! CUDA devices with the kernels of this build: opening one, the PTX, a report.
//!
//! The driver is loaded at run time, so one binary runs with and without a GPU. Nothing here panics where there is no
//! driver, an old one, or no device: [`open`] returns [`Error::NoDevice`](rarefy_simt::Error::NoDevice) with what was
//! looked for and what to do.
//!
//! ```no_run
//! use rarefy::gpu;
//! use rarefy::machine::Machine;
//!
//! let device = gpu::open()?;
//! let buffer = device.upload(&[1.0_f32, 2.0, 3.0])?;
//! let mut back = [0.0; 3];
//! device.read(&buffer, &mut back)?;
//! assert_eq!(back, [1.0, 2.0, 3.0]);
//! # Ok::<(), rarefy::Error>(())
//! ```
//!
//! Arrays that another library has on the device are used where they are: [`Device::borrow`] makes a buffer of an address, and a
//! [`MachineAccumulator`](crate::signed_digit::float::MachineAccumulator) sums buffers, [`CellCollisions`](crate::collision::CellCollisions) lets the distributions in them
//! collide. Their results are at [`DeviceBuffer::address`].

pub mod doctor;
pub mod ptx;

pub use rarefy_simt::gpu::{Communicator, CudaVersion, Device, DeviceBuffer, Event, Graph};

use rarefy_simt::Error as MachineError;

use crate::error::{Error, Result};

/// The first device that rarefy supports, or the first whose number the variable `RAREFY_DEVICE` holds.
///
/// # Errors
/// [`NoDevice`](rarefy_simt::Error::NoDevice) or [`Driver`](rarefy_simt::Error::Driver) where there is none that can be used; a RAREFY_DEVICE
/// that names none.
pub fn open() -> Result<Device> {
    Ok(Device::open(ptx::MODULES)?)
}

/// The devices that a computation on several can take, by their numbers in the driver's list and their names: those that rarefy supports, or those in the
/// variable `RAREFY_DEVICE`, such as `0,2`. `0x2` is device 0 for two ranks.
///
/// # Errors
/// As [`open`].
pub fn choices() -> Result<Vec<(u32, String)>> {
    Ok(Device::choices()?)
}

/// The device with this number in the driver's list, which starts at 0.
///
/// # Errors
/// [`NoDevice`](rarefy_simt::Error::NoDevice) or [`Driver`](rarefy_simt::Error::Driver) where there is none that can be used.
pub fn open_ordinal(ordinal: u32) -> Result<Device> {
    Ok(Device::open_ordinal(ordinal, ptx::MODULES)?)
}

/// Numbers of the driver's queues to a device for launches and copies, by the variables that it reads when it starts. With its usual 8 of each, start and end of a
/// process take 0.1 s longer. The second stream of a [`Device`] has another priority, and so a queue of its own.
#[cfg(feature = "cli")]
const QUEUES: [&str; 2] = [
    "CUDA_DEVICE_MAX_CONNECTIONS",
    "CUDA_DEVICE_MAX_COPY_CONNECTIONS",
];

/// Has the driver make only the queues that one device needs, unless the user says how many, or a thread that may read the variables runs.
#[cfg(feature = "cli")]
pub(crate) fn make_few_queues() {
    if !is_alone() {
        return;
    }
    for variable in QUEUES {
        if std::env::var_os(variable).is_none() {
            // SAFETY: the process has no other thread, or a system on which threads may set variables.
            unsafe { std::env::set_var(variable, "1") };
        }
    }
}

/// Whether this thread may set variables: where Linux counts no other, and on Windows.
#[cfg(feature = "cli")]
fn is_alone() -> bool {
    cfg!(windows) || std::fs::read_dir("/proc/self/task").is_ok_and(|threads| threads.count() == 1)
}

/// Begins to open the device of [`open`] on a thread of its own. End the process by [`quit`] from here on.
#[cfg(feature = "cli")]
pub(crate) fn open_ahead() {
    if cfg!(unix) {
        rarefy_simt::gpu::open_ahead();
    }
}

#[cfg(feature = "cli")]
pub(crate) use rarefy_simt::gpu::close_ahead;

/// Ends the process without its exit handlers: those of the driver wait for work that may never be done, and for its start.
#[cfg(unix)]
pub(crate) fn quit(code: u8) -> ! {
    unsafe extern "C" {
        fn _exit(code: std::ffi::c_int) -> !;
    }
    // SAFETY: the call ends the process, whatever its threads do.
    unsafe { _exit(std::ffi::c_int::from(code)) }
}

/// Ends the process.
#[cfg(not(unix))]
pub(crate) fn quit(code: u8) -> ! {
    std::process::exit(i32::from(code))
}

/// Whether an error says that no GPU can be used.
pub(crate) fn is_absent(error: &Error) -> bool {
    matches!(
        error,
        Error::Machine(MachineError::NoDevice(_) | MachineError::Driver { .. })
    )
}
