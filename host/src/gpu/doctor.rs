//! A report on driver and devices: present parts, missing parts, and remedies.
//!
//! ```
//! let report = rarefy::gpu::doctor::report();
//! println!("{report}");
//! ```

use rarefy_kernels::{Real, collision};
use rarefy_simt::Error as MachineError;
use rarefy_simt::gpu::doctor::{Build, Trial};

pub use rarefy_simt::gpu::doctor::{
    Check, DeviceReport, DoctorReport, DriverReport, HostReport, ModuleReport, NcclReport,
    PtxReport, VariantReport,
};

use super::ptx::{MODULES, SOURCE_HASH, TOOLCHAIN};
use crate::machine::{Element, Grid, Machine};
use rarefy_simt::gpu::Device;

/// Looks at everything. Works, and takes a moment, on any computer, with a GPU or without.
pub fn report() -> DoctorReport {
    rarefy_simt::gpu::doctor::report(&Build {
        version: env!("CARGO_PKG_VERSION"),
        threads: rayon::current_num_threads(),
        modules: MODULES,
        toolchain: TOOLCHAIN,
        source_hash: SOURCE_HASH,
        trials: &[
            Trial {
                what: "launch a kernel in f32",
                entry: "collect_f32",
                run: add_up::<f32>,
            },
            Trial {
                what: "launch a kernel in f64",
                entry: "collect_f64",
                run: add_up::<f64>,
            },
        ],
    })
}

/// Adds pairs of numbers on the device, with the kernel that collects the parts of collision integrals.
fn add_up<T: Real + Element>(device: &Device) -> Result<(), MachineError> {
    const PLANE: u32 = 100;
    let parts: Vec<T> = (0..2 * PLANE).map(|k| T::from_f64(f64::from(k))).collect();
    let buffer = device.upload(&parts)?;
    let first = device.upload(&[0_u32, 2])?;
    let mut out = device.allocate::<T>(PLANE as usize)?;
    device.launch(
        Grid::per_item(PLANE as usize, 64),
        collision::collect {
            buffer: &buffer,
            first: &first,
            out: &mut out,
            plane: PLANE,
        },
    )?;
    let mut sums = vec![T::from_f64(0.0); PLANE as usize];
    device.read(&out, &mut sums)?;
    let right = (0..PLANE)
        .zip(&sums)
        .all(|(k, sum)| sum.to_f64() == f64::from(2 * k + PLANE));
    if right {
        Ok(())
    } else {
        Err(MachineError::WrongNumbers)
    }
}
