//! A report of what is there, what works, what is missing and how to get it.
//!
//! ```
//! use rarefy_simt::gpu::doctor::{Build, report};
//!
//! // A program without kernels: the report shows the driver and its devices.
//! let build = Build { version: "1.0", threads: 1, modules: &[], toolchain: "", source_hash: "", trials: &[] };
//! println!("{}", report(&build));
//! ```

use std::fmt;
use std::fs;
use std::sync::mpsc;
use std::thread;
use std::time::Duration;

use serde::{Deserialize, Serialize};

use super::choice::Properties;
use super::device::{Device, variants};
use super::driver::{self, CudaVersion, guard};
use super::ptx::{self, LEAST_CAPABILITY, PtxModule, capability_text};
use super::{communicator, nccl};
use crate::error::{Error, Result, bytes};
use crate::machine::Machine;
use crate::memory_plan::{HostMemory, host_memory};

/// Time for an exchange by NCCL.
const PATIENCE: Duration = Duration::from_secs(60);

/// A program's part of the report: its PTX, and kernels to try.
#[derive(Clone, Copy, Debug)]
pub struct Build {
    /// Version of the program.
    pub version: &'static str,
    /// Threads that its computations on the CPU use.
    pub threads: usize,
    /// The PTX that it embeds, and the compiler and the hash of the sources that it came from.
    pub modules: &'static [PtxModule],
    /// The compiler that made the PTX.
    pub toolchain: &'static str,
    /// Hash of the sources that the PTX was made from.
    pub source_hash: &'static str,
    /// Kernels to try on each device.
    pub trials: &'static [Trial],
}

/// A kernel that shows whether a device computes.
#[derive(Clone, Copy, Debug)]
pub struct Trial {
    /// The report's line, such as `launch a kernel in f32`.
    pub what: &'static str,
    /// Entry point, which a device may lack.
    pub entry: &'static str,
    /// Launches it and checks the result; [`Error::WrongNumbers`] where that is wrong.
    pub run: fn(&Device) -> Result<()>,
}

/// The state of everything that a program on a GPU needs.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[non_exhaustive]
pub struct DoctorReport {
    /// Version of rarefy.
    pub version: String,
    /// Whether computations can run on a GPU.
    pub gpu_usable: bool,
    /// The driver library.
    pub driver: DriverReport,
    /// The devices that the driver lists.
    pub devices: Vec<DeviceReport>,
    /// The library that moves data between GPUs.
    #[serde(default)]
    pub nccl: NcclReport,
    /// The PTX in this build.
    pub ptx: PtxReport,
    /// The computer itself.
    pub host: HostReport,
    /// Remedies of all that is missing, a line each.
    pub advice: Vec<String>,
}

/// The driver library.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[non_exhaustive]
pub struct DriverReport {
    /// The name under which it was found.
    pub library: Option<String>,
    /// Its names in the order of the search.
    pub tried: Vec<String>,
    /// The CUDA version that it supports.
    pub cuda: Option<CudaVersion>,
    /// Why it cannot be used.
    pub problem: Option<String>,
}

/// NCCL, the library that moves data between GPUs. Computations on one GPU do without.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[non_exhaustive]
pub struct NcclReport {
    /// The file from which it was loaded.
    pub library: Option<String>,
    /// The names under which it was looked for, in this order.
    pub tried: Vec<String>,
    /// Its version, such as `2.28.9`.
    pub version: Option<String>,
    /// An exchange of the first device with itself, where there is a device.
    pub self_test: Option<Check>,
    /// Why it cannot be used.
    pub problem: Option<String>,
}

/// A device and what was tried on it.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[non_exhaustive]
pub struct DeviceReport {
    /// Its number in the driver's list: what `RAREFY_DEVICE` takes.
    pub ordinal: u32,
    /// Its name.
    pub name: String,
    /// Its compute capability, such as `9.0`.
    pub capability: String,
    /// Whether that is supported.
    pub supported: bool,
    /// All its memory, in bytes.
    pub memory_total: u64,
    /// The part that is free, in bytes.
    pub memory_free: Option<u64>,
    /// Multiprocessors.
    pub multiprocessors: u32,
    /// Shared memory that a block can have, in bytes.
    pub shared_per_block: usize,
    /// The other devices whose memory it can reach.
    #[serde(default)]
    pub reaches: Vec<u32>,
    /// The PTX that it takes for each wing.
    pub variants: Vec<VariantReport>,
    /// The checks that were tried.
    pub self_test: Vec<Check>,
    /// Why it cannot be used.
    pub problem: Option<String>,
}

/// The PTX that a device takes for a wing.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[non_exhaustive]
pub struct VariantReport {
    /// The wing.
    pub wing: String,
    /// The variant's compute capability.
    pub capability: String,
    /// Whether the driver compiles and loads it.
    pub loads: bool,
    /// The objection of the driver.
    pub problem: Option<String>,
}

/// Something that was tried.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[non_exhaustive]
pub struct Check {
    /// The check in words.
    pub what: String,
    /// Whether it worked.
    pub ok: bool,
    /// Why not.
    pub problem: Option<String>,
}

impl Check {
    fn of(what: &str, result: Result<()>) -> Self {
        Self {
            what: what.to_owned(),
            ok: result.is_ok(),
            problem: result.err().map(|error| error.to_string()),
        }
    }
}

/// The PTX in this build.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[non_exhaustive]
pub struct PtxReport {
    /// The compiler that it came from.
    pub toolchain: String,
    /// Hash of the sources that it came from.
    pub source_hash: String,
    /// The modules.
    pub modules: Vec<ModuleReport>,
}

/// A PTX module.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[non_exhaustive]
pub struct ModuleReport {
    /// Whose kernels it holds.
    pub wing: String,
    /// Least compute capability that runs it.
    pub capability: String,
    /// Kernels in it.
    pub kernels: usize,
    /// Bytes of text; 0 where it cannot be unpacked.
    pub bytes: usize,
}

/// The computer itself.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[non_exhaustive]
pub struct HostReport {
    /// The processor's name.
    pub processor: Option<String>,
    /// Threads that computations on the CPU use.
    pub threads: usize,
    /// Main memory.
    pub memory: HostMemory,
}

/// Looks at everything. Works, and takes a moment, on any computer, with a GPU or without.
pub fn report(build: &Build) -> DoctorReport {
    let probe = driver::probe();
    let mut advice = Vec::new();
    if let Some(problem) = &probe.problem {
        advice.push(problem.remedy.clone());
    }
    let ptx = PtxReport {
        toolchain: build.toolchain.to_owned(),
        source_hash: build.source_hash.to_owned(),
        modules: build
            .modules
            .iter()
            .map(|module| ModuleReport {
                wing: module.wing.to_owned(),
                capability: capability_text(module.capability),
                kernels: module.entries.len(),
                bytes: module.text().map_or(0, |text| text.len()),
            })
            .collect(),
    };
    if build.modules.is_empty() {
        advice.push(
            "this build embeds no PTX: build rarefy from a complete source tree to use a GPU"
                .to_owned(),
        );
    }
    let devices: Vec<_> = (0..probe.devices)
        .map(|ordinal| examine(build, ordinal, &mut advice))
        .collect();
    let works = |device: &DeviceReport| {
        device.supported
            && device.problem.is_none()
            && device.self_test.iter().all(|check| check.ok)
            && !device.variants.is_empty()
            && device.variants.iter().all(|variant| variant.loads)
    };
    DoctorReport {
        version: build.version.to_owned(),
        gpu_usable: devices.iter().any(works),
        driver: DriverReport {
            library: probe.name().map(str::to_owned),
            tried: probe.tried.to_vec(),
            cuda: probe.version,
            problem: probe.problem.as_ref().map(|problem| problem.what.clone()),
        },
        nccl: examine_nccl(&devices),
        devices,
        ptx,
        host: HostReport {
            processor: processor(),
            threads: build.threads,
            memory: host_memory(),
        },
        advice,
    }
}

/// Looks for NCCL, and tries it on the first device that is supported.
fn examine_nccl(devices: &[DeviceReport]) -> NcclReport {
    let probe = nccl::probe();
    let mut report = NcclReport {
        library: probe.library.clone(),
        tried: probe.tried.clone(),
        version: probe.version.clone(),
        self_test: None,
        problem: probe.problem.clone(),
    };
    let sound = |device: &&DeviceReport| device.supported && device.problem.is_none();
    if let (Some(device), None) = (devices.iter().find(sound), &report.problem) {
        let ordinal = device.ordinal;
        let outcome =
            in_time(move || guard(|| communicator::try_out(&Device::open_ordinal(ordinal, &[])?)));
        let what = format!("exchange numbers on device {ordinal}");
        report.self_test = Some(Check::of(&what, outcome));
    }
    report
}

/// The result of a library that might wait for ever.
fn in_time(work: impl FnOnce() -> Result<()> + Send + 'static) -> Result<()> {
    let (done, result) = mpsc::channel();
    // Without a thread there is no result.
    let _ = thread::Builder::new().spawn(move || done.send(work()));
    result.recv_timeout(PATIENCE).unwrap_or_else(|_| {
        Err(Error::Nccl {
            action: "trying it out".to_owned(),
            reason: format!("no result within {} s", PATIENCE.as_secs()),
        })
    })
}

/// The processor's name, where the system tells it.
fn processor() -> Option<String> {
    let text = fs::read_to_string("/proc/cpuinfo").ok()?;
    let line = text.lines().find(|line| line.starts_with("model name"))?;
    Some(line.split_once(':')?.1.trim().to_owned())
}

/// Looks at a device that the driver lists and tries what computations need.
fn examine(build: &Build, ordinal: u32, advice: &mut Vec<String>) -> DeviceReport {
    let mut report = DeviceReport {
        ordinal,
        name: "unknown".to_owned(),
        capability: "unknown".to_owned(),
        supported: false,
        memory_total: 0,
        memory_free: None,
        multiprocessors: 0,
        shared_per_block: 0,
        reaches: Vec::new(),
        variants: Vec::new(),
        self_test: Vec::new(),
        problem: None,
    };
    if let Err(error) = guard(|| try_out(build, &mut report, advice)) {
        advice.push(format!("device {ordinal}: {error}"));
        report.problem = Some(error.to_string());
    }
    report
}

fn try_out(build: &Build, report: &mut DeviceReport, advice: &mut Vec<String>) -> Result<()> {
    let ordinal = report.ordinal;
    let properties = Properties::of(ordinal)?;
    report.capability = capability_text(properties.capability);
    report.supported = properties.is_supported();
    report.memory_total = properties.total_bytes;
    report.multiprocessors = properties.multiprocessors;
    report.shared_per_block = properties.shared_per_block;
    report.name = properties.name;
    let probe = driver::probe();
    report.reaches = (0..probe.devices)
        .filter(|&other| other != ordinal && probe.reaches(ordinal, other) == Some(true))
        .collect();
    if !report.supported {
        advice.push(format!(
            "device {ordinal} is too old for the kernels, which need compute capability {}; compute on the CPU",
            capability_text(LEAST_CAPABILITY)
        ));
        return Ok(());
    }
    let device = Device::open_ordinal(ordinal, build.modules)?;
    report.memory_free = Some(device.limits()?.free_bytes);

    let mut wings: Vec<_> = build.modules.iter().map(|module| module.wing).collect();
    wings.sort_unstable();
    wings.dedup();
    for wing in wings {
        for (capability, index) in variants(build.modules, wing, device.capability()) {
            let outcome = device.check_module(index);
            if let Err(error) = &outcome {
                advice.push(format!("device {ordinal}, wing {wing}: {error}"));
            }
            report.variants.push(VariantReport {
                wing: wing.to_owned(),
                capability: capability_text(capability),
                loads: outcome.is_ok(),
                problem: outcome.err().map(|error| error.to_string()),
            });
        }
    }

    report.self_test.push(Check::of(
        "copy to the device and back",
        round_trip(&device),
    ));
    for trial in build.trials {
        if ptx::choose(build.modules, trial.entry, device.capability()).is_some() {
            let check = Check::of(trial.what, (trial.run)(&device));
            report.self_test.push(check);
        }
    }
    for check in report.self_test.iter().filter(|check| !check.ok) {
        advice.push(format!(
            "device {ordinal} fails to {}: see whether `nvidia-smi` reports errors, and restart the machine",
            check.what
        ));
    }
    Ok(())
}

/// Copies a few numbers to the device and back.
fn round_trip(device: &Device) -> Result<()> {
    let data: Vec<u64> = (0..4096_u64)
        .map(|k| k.wrapping_mul(0x9e37_79b9_7f4a_7c15))
        .collect();
    let buffer = device.upload(&data)?;
    let mut back = vec![0; data.len()];
    device.read(&buffer, &mut back)?;
    if back == data {
        Ok(())
    } else {
        Err(Error::WrongNumbers)
    }
}

impl fmt::Display for DoctorReport {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let mark = |ok| if ok { "ok" } else { "FAILS" };
        writeln!(f, "rarefy {}", self.version)?;

        writeln!(f, "\nDriver")?;
        match (&self.driver.library, &self.driver.cuda) {
            (Some(library), Some(cuda)) => writeln!(f, "  {library}, CUDA {cuda}")?,
            (Some(library), None) => writeln!(f, "  {library}")?,
            (None, _) => {}
        }
        if let Some(problem) = &self.driver.problem {
            writeln!(f, "  {problem}")?;
        }

        writeln!(f, "\nDevices")?;
        if self.devices.is_empty() {
            writeln!(f, "  none")?;
        }
        for device in &self.devices {
            let DeviceReport { ordinal, name, .. } = device;
            writeln!(
                f,
                "  {ordinal}: {name}, compute capability {}{}",
                device.capability,
                if device.supported {
                    ""
                } else {
                    " (not supported)"
                }
            )?;
            let free = device
                .memory_free
                .map(|free| format!(", {} free", bytes(free)))
                .unwrap_or_default();
            writeln!(
                f,
                "     {}{free}; {} multiprocessors, {} of shared memory per block",
                bytes(device.memory_total),
                device.multiprocessors,
                bytes(device.shared_per_block as u64)
            )?;
            if !device.reaches.is_empty() {
                let others: Vec<String> = device.reaches.iter().map(u32::to_string).collect();
                writeln!(f, "     reaches the memory of {}", others.join(", "))?;
            }
            for variant in &device.variants {
                writeln!(
                    f,
                    "     {:<14} PTX for {}: {}",
                    variant.wing,
                    variant.capability,
                    variant.problem.as_deref().unwrap_or("loads")
                )?;
            }
            for check in &device.self_test {
                write!(f, "     {}: {}", check.what, mark(check.ok))?;
                match &check.problem {
                    Some(problem) => writeln!(f, ": {problem}")?,
                    None => writeln!(f)?,
                }
            }
            if let Some(problem) = &device.problem {
                writeln!(f, "     {problem}")?;
            }
        }

        writeln!(f, "\nNCCL")?;
        let NcclReport {
            library, version, ..
        } = &self.nccl;
        if let Some(library) = library {
            let version = version.as_deref().unwrap_or("of unknown version");
            writeln!(f, "  {library}, {version}")?;
        }
        if let Some(problem) = &self.nccl.problem {
            writeln!(f, "  {problem}")?;
        }
        if let Some(Check { what, ok, problem }) = &self.nccl.self_test {
            let problem = problem.as_deref().map(|text| format!(": {text}"));
            writeln!(f, "  {what}: {}{}", mark(*ok), problem.unwrap_or_default())?;
        }

        writeln!(f, "\nPTX in this build")?;
        writeln!(f, "  from {}", self.ptx.toolchain)?;
        if !self.ptx.source_hash.is_empty() {
            writeln!(f, "  sources {}", self.ptx.source_hash)?;
        }
        for module in &self.ptx.modules {
            writeln!(
                f,
                "  {:<14} for compute capability {} and later: {} kernels, {}",
                module.wing,
                module.capability,
                module.kernels,
                bytes(module.bytes as u64)
            )?;
        }

        writeln!(f, "\nComputer")?;
        if let Some(processor) = &self.host.processor {
            writeln!(f, "  {processor}")?;
        }
        write!(f, "  {} threads", self.host.threads)?;
        if let (Some(total), Some(available)) = (self.host.memory.total, self.host.memory.available)
        {
            write!(
                f,
                "; {} of main memory, {} available",
                bytes(total),
                bytes(available)
            )?;
        }
        writeln!(f)?;

        let verdict = if self.gpu_usable {
            "Computations take the GPU."
        } else {
            "Computations take the CPU: no GPU can be used."
        };
        write!(f, "\n{verdict}")?;
        for line in &self.advice {
            write!(f, "\n- {line}")?;
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_report_is_complete_without_a_gpu() {
        let build = Build {
            version: "0.1",
            threads: 2,
            modules: &[],
            toolchain: "rustc",
            source_hash: "",
            trials: &[],
        };
        let report = report(&build);
        let text = report.to_string();
        for part in [
            "rarefy 0.",
            "Driver",
            "Devices",
            "NCCL",
            "PTX",
            "Computer",
            "threads",
        ] {
            assert!(text.contains(part), "{part} in:\n{text}");
        }
        let json = serde_json::to_value(&report).unwrap();
        assert!(json["driver"]["tried"].as_array().unwrap().len() > 4);
        if !report.gpu_usable {
            assert!(!report.advice.is_empty(), "{text}");
        }
    }
}
