//! Finding the driver library, and its errors in plain words.
//!
//! cudarc's loader panics where the library or a function of it is missing. So [`probe`] checks first, with plain
//! `dlopen`, for a library that opens, is new enough, has every function that this crate calls and finds a device; only then
//! is cudarc touched.

use std::ffi::{c_int, c_uint};
use std::fmt;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::str::FromStr;
use std::sync::OnceLock;

use cudarc::driver::DriverError;
use libloading::Library;
use serde::de::Error as _;
use serde::{Deserialize, Deserializer, Serialize, Serializer};

use crate::error::{Error, Result};

/// A version of CUDA as the driver counts it: 13.0 is 13000.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct CudaVersion(pub(super) i32);

impl fmt::Display for CudaVersion {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}.{}", self.major(), self.minor())
    }
}

impl Serialize for CudaVersion {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.collect_str(self)
    }
}

impl FromStr for CudaVersion {
    type Err = Error;

    /// Reads `13.0`.
    fn from_str(text: &str) -> Result<Self> {
        let level = |text: &str| {
            let (major, minor) = text.split_once('.')?;
            let (major, minor) = (major.parse::<u16>().ok()?, minor.parse::<u8>().ok()?);
            (minor < 100).then(|| 1000 * i32::from(major) + 10 * i32::from(minor))
        };
        level(text)
            .map(Self)
            .ok_or_else(|| Error::input(format!("'{text}' is no version of CUDA; 13.0 is one")))
    }
}

impl<'de> Deserialize<'de> for CudaVersion {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        let text = String::deserialize(deserializer)?;
        text.parse().map_err(D::Error::custom)
    }
}

impl CudaVersion {
    /// The number before the point.
    pub const fn major(self) -> i32 {
        self.0 / 1000
    }

    /// The number after the point.
    pub const fn minor(self) -> i32 {
        self.0 % 1000 / 10
    }
}

/// The CUDA level whose functions this crate calls: the feature of cudarc in `Cargo.toml`.
const LEAST_VERSION: CudaVersion = CudaVersion(11040);

/// Every function of the driver that this crate calls, here or through cudarc.
const FUNCTIONS: [&str; 41] = [
    "cuInit",
    "cuDriverGetVersion",
    "cuGetErrorName",
    "cuGetErrorString",
    "cuDeviceGet",
    "cuDeviceGetCount",
    "cuDeviceGetName",
    "cuDeviceGetAttribute",
    "cuDeviceTotalMem_v2",
    "cuDevicePrimaryCtxRetain",
    "cuDevicePrimaryCtxRelease_v2",
    "cuCtxSetCurrent",
    "cuCtxEnablePeerAccess",
    "cuStreamCreate",
    "cuStreamCreateWithPriority",
    "cuStreamSynchronize",
    "cuStreamWaitEvent",
    "cuStreamDestroy_v2",
    "cuStreamBeginCapture_v2",
    "cuStreamEndCapture",
    "cuMemAlloc_v2",
    "cuMemFree_v2",
    "cuMemGetInfo_v2",
    "cuMemHostAlloc",
    "cuMemcpyHtoDAsync_v2",
    "cuMemcpyDtoHAsync_v2",
    "cuMemcpyDtoDAsync_v2",
    "cuMemcpyPeerAsync",
    "cuModuleLoadDataEx",
    "cuModuleGetFunction",
    "cuModuleUnload",
    "cuFuncGetAttribute",
    "cuFuncSetAttribute",
    "cuLaunchKernel",
    "cuEventCreate",
    "cuEventRecord",
    "cuEventSynchronize",
    "cuEventElapsedTime",
    "cuEventDestroy_v2",
    "cuGraphInstantiateWithFlags",
    "cuGraphLaunch",
];
/// The rest of them: what cleans up.
const CLEANING: [&str; 3] = ["cuGraphExecDestroy", "cuGraphDestroy", "cuMemFreeHost"];

/// The outcome of the search for the driver.
#[derive(Debug)]
pub(super) struct Probe {
    /// Names of the library in the order of the search.
    pub(super) tried: &'static [String],
    /// The one that was found, and its name.
    library: Option<(&'static str, &'static Library)>,
    /// The CUDA version that it supports.
    pub(super) version: Option<CudaVersion>,
    /// Devices that it lists.
    pub(super) devices: u32,
    /// Why it cannot be used, if so.
    pub(super) problem: Option<Problem>,
}

impl Probe {
    /// The name under which a library was found.
    pub(super) fn name(&self) -> Option<&'static str> {
        self.library.map(|(name, _)| name)
    }

    /// The identity of a device, the same in all processes, where the driver says it.
    pub(super) fn uuid(&self, ordinal: u32) -> Option<[u8; 16]> {
        type Asked = unsafe extern "C" fn(*mut [u8; 16], c_int) -> c_uint;
        let device = cudarc::driver::result::device::get(i32::try_from(ordinal).ok()?).ok()?;
        let (_, library) = self.library?;
        let mut uuid = [0; 16];
        // SAFETY: this is the signature in cuda.h; the driver is initialised, and the call writes 16 bytes.
        let code = unsafe {
            let call = library.get::<Asked>("cuDeviceGetUuid").ok()?;
            call(&raw mut uuid, device)
        };
        (code == 0).then_some(uuid)
    }

    /// Whether a device can read and write another's memory, where the driver says it.
    pub(super) fn reaches(&self, device: u32, other: u32) -> Option<bool> {
        type Asked = unsafe extern "C" fn(*mut c_int, c_int, c_int) -> c_uint;
        let of =
            |ordinal: u32| cudarc::driver::result::device::get(i32::try_from(ordinal).ok()?).ok();
        let (device, other) = (of(device)?, of(other)?);
        let (_, library) = self.library?;
        let mut can = 0;
        // SAFETY: this is the signature in cuda.h; the driver is initialised, and the call writes one integer.
        let code = unsafe {
            let call = library.get::<Asked>("cuDeviceCanAccessPeer").ok()?;
            call(&raw mut can, device, other)
        };
        (code == 0).then_some(can != 0)
    }
}

/// The fault and its remedy.
#[derive(Debug, Clone)]
pub(super) struct Problem {
    pub(super) what: String,
    pub(super) remedy: String,
}

impl Problem {
    fn new(what: impl Into<String>, remedy: impl Into<String>) -> Self {
        Self {
            what: what.into(),
            remedy: remedy.into(),
        }
    }
}

/// Looks for the driver, once a process.
pub(super) fn probe() -> &'static Probe {
    static PROBE: OnceLock<Probe> = OnceLock::new();
    PROBE.get_or_init(look)
}

/// The probe of a driver that works and lists a device, or [`Error::NoDevice`].
pub(super) fn usable() -> Result<&'static Probe> {
    let probe = probe();
    match &probe.problem {
        None => Ok(probe),
        Some(problem) => Err(Error::NoDevice(format!(
            "{}; {}",
            problem.what, problem.remedy
        ))),
    }
}

/// The library of the driver, opened and not yet started.
struct Found {
    /// Names in the order of the search.
    tried: Vec<String>,
    /// The library under the name that opened; otherwise why one that is there does not open.
    library: Result<(String, Library), Option<String>>,
}

/// Looks for the library, once a process.
fn found() -> &'static Found {
    static FOUND: OnceLock<Found> = OnceLock::new();
    FOUND.get_or_init(find)
}

/// Whether there is a library of the driver.
pub(super) fn is_there() -> bool {
    found().library.is_ok()
}

fn find() -> Found {
    let tried: Vec<String> = ["cuda", "nvcuda"]
        .iter()
        .flat_map(|name| cudarc::get_lib_name_candidates(name))
        .collect();
    // A file that is there and does not open says more than the names that are not there.
    let mut refusal = None;
    for name in &tried {
        // SAFETY: opening a library runs its initialisers; those of a CUDA driver have no precondition.
        match unsafe { Library::new(name) } {
            Ok(library) => {
                let library = Ok((name.clone(), library));
                return Found { tried, library };
            }
            Err(error) => {
                let text = std::error::Error::source(&error)
                    .map_or_else(|| error.to_string(), ToString::to_string);
                if !is_absence(&text, name) && refusal.is_none() {
                    refusal = Some(text);
                }
            }
        }
    }
    let library = Err(refusal);
    Found { tried, library }
}

fn look() -> Probe {
    let Found { tried, library } = found();
    let mut probe = Probe {
        tried,
        library: None,
        version: None,
        devices: 0,
        problem: None,
    };
    let examined = match library {
        Ok((name, library)) => {
            probe.library = Some((name, library));
            examine(library, name, &mut probe.version)
        }
        Err(Some(text)) => Err(Problem::new(
            format!("the CUDA driver library does not open: {text}"),
            "install the NVIDIA driver for this system again, or compute on the CPU",
        )),
        Err(None) => Err(Problem::new(
            format!(
                "no CUDA driver library: looked for {}, {} and {} other names on the library path",
                tried[0],
                tried
                    .iter()
                    .find(|name| name.ends_with(".1"))
                    .unwrap_or(&tried[0]),
                tried.len().saturating_sub(2)
            ),
            "install the NVIDIA driver (in a container, start it with the GPUs: --gpus all), or compute on the CPU",
        )),
    };
    match examined {
        Ok(devices) => probe.devices = devices,
        Err(problem) => probe.problem = Some(problem),
    }
    probe
}

/// Whether what the system says about a library means that there is none of this name.
///
/// A library that is there and lacks one that it needs differs by the name in the text.
fn is_absence(text: &str, name: &str) -> bool {
    let lower = text.to_lowercase();
    let absent = ["no such file", "could not be found", "not found"];
    text.contains(name) && absent.iter().any(|words| lower.contains(words)) || cfg!(windows)
}

/// Counts the devices of a library that opened, or says why it is of no use.
///
/// Calls go through `libloading` and return plain numbers: cudarc's error type is a Rust enum, which a library that
/// is no driver, or one newer than cudarc's list, could fill with a value that it does not have.
fn examine(
    library: &Library,
    name: &str,
    version: &mut Option<CudaVersion>,
) -> Result<u32, Problem> {
    const UPDATE: &str = "install a newer NVIDIA driver (470 or later), or compute on the CPU";
    let function = |symbol: &str| -> Result<(), Problem> {
        // SAFETY: only the presence of the symbol matters; it is not called through this type.
        match unsafe { library.get::<unsafe extern "C" fn()>(symbol) } {
            Ok(_) => Ok(()),
            Err(_) => Err(Problem::new(
                format!("{name} is no usable CUDA driver: it has no function {symbol}"),
                UPDATE,
            )),
        }
    };

    function("cuDriverGetVersion")?;
    let mut level: c_int = 0;
    // SAFETY: this is the signature in cuda.h; the call needs no initialised driver and writes one integer.
    let code = unsafe {
        library
            .get::<unsafe extern "C" fn(*mut c_int) -> c_uint>("cuDriverGetVersion")
            .map_or(c_uint::MAX, |call| call(&raw mut level))
    };
    if code != 0 {
        return Err(code_problem(name, "cuDriverGetVersion", code));
    }
    *version = Some(CudaVersion(level));
    if CudaVersion(level) < LEAST_VERSION {
        return Err(Problem::new(
            format!(
                "the driver {name} supports CUDA {}, and rarefy needs {LEAST_VERSION}",
                CudaVersion(level)
            ),
            UPDATE,
        ));
    }
    for symbol in FUNCTIONS.iter().chain(&CLEANING) {
        function(symbol)?;
    }

    // SAFETY: this is the signature in cuda.h, and 0 the only flag there is.
    let code = unsafe {
        library
            .get::<unsafe extern "C" fn(c_uint) -> c_uint>("cuInit")
            .map_or(c_uint::MAX, |call| call(0))
    };
    if code != 0 {
        return Err(code_problem(name, "cuInit", code));
    }
    let mut count: c_int = 0;
    // SAFETY: this is the signature in cuda.h; the driver is initialised, and the call writes one integer.
    let code = unsafe {
        library
            .get::<unsafe extern "C" fn(*mut c_int) -> c_uint>("cuDeviceGetCount")
            .map_or(c_uint::MAX, |call| call(&raw mut count))
    };
    match (code, u32::try_from(count)) {
        (0, Ok(count)) if count > 0 => Ok(count),
        (0, _) => Err(code_problem(name, "cuDeviceGetCount", NO_DEVICE)),
        (code, _) => Err(code_problem(name, "cuDeviceGetCount", code)),
    }
}

const NO_DEVICE: c_uint = 100;

/// The meaning of a driver's error code before any device is open.
fn code_problem(name: &str, call: &str, code: c_uint) -> Problem {
    match code {
        34 => Problem::new(
            format!("{name} is the CUDA toolkit's stub for linking, not a driver"),
            "take the toolkit's folder `stubs` off LD_LIBRARY_PATH, and install the NVIDIA driver, or compute on the CPU",
        ),
        NO_DEVICE if std::env::var_os("CUDA_VISIBLE_DEVICES").is_some() => Problem::new(
            format!("the driver {name} lists no device"),
            "CUDA_VISIBLE_DEVICES is set and may hide it; unset it, or compute on the CPU",
        ),
        NO_DEVICE => Problem::new(
            format!("the driver {name} lists no device"),
            "see whether `nvidia-smi` lists one (a container must be started with the GPUs: --gpus all), or compute on the CPU",
        ),
        802 => Problem::new(
            format!("the driver {name} says that the system is not ready yet (error 802)"),
            "start the NVIDIA fabric manager, or compute on the CPU",
        ),
        803 | 804 => Problem::new(
            format!(
                "the driver library {name} does not fit the kernel's NVIDIA module (error {code})"
            ),
            "restart the machine after the driver's update, take a compatibility libcuda off LD_LIBRARY_PATH, or compute on the CPU",
        ),
        _ => Problem::new(
            format!("{call} of the driver {name} returned error {code}"),
            "see whether `nvidia-smi` works; restart the machine or install the driver again, or compute on the CPU",
        ),
    }
}

/// Runs code that calls cudarc for the first time; should its loader panic all the same, that becomes an error.
pub(super) fn guard<T>(action: impl FnOnce() -> Result<T>) -> Result<T> {
    catch_unwind(AssertUnwindSafe(action)).unwrap_or_else(|panic| {
        let text = panic
            .downcast_ref::<String>()
            .map(String::as_str)
            .or_else(|| panic.downcast_ref::<&str>().copied())
            .unwrap_or("unknown");
        Err(Error::NoDevice(format!(
            "the CUDA driver could not be loaded: {text}; install a newer NVIDIA driver, or compute on the CPU"
        )))
    })
}

/// Turns the driver's errors into this crate's.
pub(super) trait Driven<T> {
    /// Says what was being done.
    fn during(self, action: &str) -> Result<T>;
    /// The same with a text that is only built when needed.
    fn during_with(self, action: impl FnOnce() -> String) -> Result<T>;
}

impl<T> Driven<T> for Result<T, DriverError> {
    fn during(self, action: &str) -> Result<T> {
        self.map_err(|error| driver_error(action.to_owned(), error))
    }

    fn during_with(self, action: impl FnOnce() -> String) -> Result<T> {
        self.map_err(|error| driver_error(action(), error))
    }
}

/// An [`Error::Driver`] with the driver's own words and, where there is one, the remedy.
pub(super) fn driver_error(action: String, error: DriverError) -> Error {
    Error::Driver {
        action,
        reason: reason(error),
    }
}

/// The driver's own words for an error, and the remedy where there is one.
pub(super) fn reason(error: DriverError) -> String {
    // Neither `Debug` nor a `match` by name: the code may be newer than cudarc's list.
    let code = error.0 as u32;
    let name = error.error_name().map_or_else(
        |_| format!("error {code}"),
        |name| name.to_string_lossy().into_owned(),
    );
    let text = error.error_string().map_or_else(
        |_| "no description".to_owned(),
        |text| text.to_string_lossy().into_owned(),
    );
    let remedy = match code {
        2 => "; free memory on the device, or make the problem smaller",
        46 | 201 => "; another process may hold the device in exclusive mode: see nvidia-smi",
        209 | 222 => "; the driver is older than this build's PTX: install a newer NVIDIA driver",
        218 => "; the PTX does not fit this device: report this with the output of `rarefy doctor`",
        700 | 714..=719 => {
            "; an earlier launch may be at fault (CUDA_LAUNCH_BLOCKING=1 or compute-sanitizer tells which), and this process can no longer use the device"
        }
        999 => "; the device may be lost: see nvidia-smi, and start again",
        _ => "",
    };
    format!("{text} ({name}){remedy}")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn versions_read_as_people_write_them() {
        assert_eq!(CudaVersion(11040).to_string(), "11.4");
        assert_eq!(CudaVersion(13000).to_string(), "13.0");
        assert_eq!(CudaVersion(12080).to_string(), "12.8");
        assert!(CudaVersion(11030) < LEAST_VERSION);
    }

    #[test]
    fn codes_before_any_device_say_what_to_do() {
        assert!(code_problem("x", "cuInit", 34).what.contains("stub"));
        assert!(code_problem("x", "cuInit", 100).what.contains("no device"));
        assert!(code_problem("x", "cuInit", 803).remedy.contains("restart"));
        assert!(code_problem("x", "cuInit", 4711).what.contains("4711"));
    }

    #[test]
    fn a_missing_library_is_told_from_a_broken_one() {
        let glibc = "libcuda.so: cannot open shared object file: No such file or directory";
        let musl = "Error loading shared library libcuda.so: No such file or directory";
        assert!(is_absence(glibc, "libcuda.so") && is_absence(musl, "libcuda.so"));
        if cfg!(not(windows)) {
            assert!(!is_absence("libcuda.so: invalid ELF header", "libcuda.so"));
            let needed = "libnvidia.so: cannot open shared object file: No such file or directory";
            assert!(!is_absence(needed, "libcuda.so"));
        }
    }

    #[test]
    fn a_panic_of_the_loader_becomes_an_error() {
        let error = guard::<()>(|| panic!("Missing symbol cuSomething")).unwrap_err();
        assert!(matches!(&error, Error::NoDevice(text) if text.contains("cuSomething")));
    }
}
