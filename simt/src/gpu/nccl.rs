//! Finding NCCL, the library that moves data between GPUs.
//!
//! It is opened at run time, and only where it is wanted. cudarc's bindings never search for `libnccl.so.2`, the name that packages install, and panic where
//! nothing opens. So this is a table of the few functions that are called, whose signatures are those of `nccl.h` since 2.14.

use std::env;
use std::ffi::{CStr, c_char, c_int, c_void};
use std::fs;
use std::path::PathBuf;
use std::sync::OnceLock;

use libloading::Library;

use crate::error::{Error, Result};

/// The variable that names the library's file, where it is not in a usual place.
const VARIABLE: &str = "RAREFY_NCCL";

/// The oldest version that has all functions which are called here, as NCCL counts: 2.14.0.
const LEAST_VERSION: c_int = 21400;

/// `ncclInt8`: messages are bytes.
pub(super) const BYTES: c_int = 0;

/// `ncclInProgress`: no error.
pub(super) const IN_PROGRESS: Code = 7;

/// The identity of a communicator, the same for all of its ranks.
#[repr(C)]
#[derive(Clone, Copy)]
pub(super) struct UniqueId(pub(super) [u8; 128]);

pub(super) type Code = c_int;
pub(super) type Handle = *mut c_void;

/// The functions, as long as the library is open, which is for ever.
#[derive(Clone, Copy)]
pub(super) struct Functions {
    error_string: unsafe extern "C" fn(Code) -> *const c_char,
    pub(super) unique_id: unsafe extern "C" fn(*mut UniqueId) -> Code,
    pub(super) init_rank: unsafe extern "C" fn(*mut Handle, c_int, UniqueId, c_int) -> Code,
    pub(super) destroy: unsafe extern "C" fn(Handle) -> Code,
    pub(super) async_error: unsafe extern "C" fn(Handle, *mut Code) -> Code,
    pub(super) group_start: unsafe extern "C" fn() -> Code,
    pub(super) group_end: unsafe extern "C" fn() -> Code,
    pub(super) send:
        unsafe extern "C" fn(*const c_void, usize, c_int, c_int, Handle, *mut c_void) -> Code,
    pub(super) receive:
        unsafe extern "C" fn(*mut c_void, usize, c_int, c_int, Handle, *mut c_void) -> Code,
}

/// The outcome of the search for the library.
pub(super) struct Probe {
    /// Names under which it was looked for, in this order.
    pub(super) tried: Vec<String>,
    /// The file that it was loaded from, or the name under which it opened.
    pub(super) library: Option<String>,
    /// Its version, such as `2.28.9`.
    pub(super) version: Option<String>,
    /// Why it cannot be used, if so.
    pub(super) problem: Option<String>,
    pub(super) functions: Option<Functions>,
    /// Keeps the library loaded as long as the process runs.
    _handle: Option<Library>,
}

/// Looks for the library, once a process.
pub(super) fn probe() -> &'static Probe {
    static PROBE: OnceLock<Probe> = OnceLock::new();
    PROBE.get_or_init(look)
}

fn look() -> Probe {
    let mut probe = Probe {
        tried: candidates(),
        library: None,
        version: None,
        problem: None,
        functions: None,
        _handle: None,
    };
    let mut refusal = None;
    for name in &probe.tried {
        // SAFETY: opening a library runs its initialisers; those of NCCL have no precondition.
        match unsafe { Library::new(name) } {
            Ok(library) => {
                probe.library = Some(loaded_from(name));
                probe._handle = Some(library);
                break;
            }
            // A file that is there and does not open says more than the names that are not there.
            Err(error) if refusal.is_none() && fs::exists(name).is_ok_and(|there| there) => {
                refusal = Some(
                    std::error::Error::source(&error)
                        .map_or_else(|| error.to_string(), ToString::to_string),
                );
            }
            Err(_) => {}
        }
    }
    let Some(library) = &probe._handle else {
        probe.problem = Some(match refusal {
            Some(text) => format!("the library does not open: {text}"),
            None => format!(
                "no libnccl.so.2; `pip install nvidia-nccl-cu13` brings one, and {VARIABLE} names its file"
            ),
        });
        return probe;
    };
    match examine(library, &mut probe.version) {
        Ok(functions) => probe.functions = Some(functions),
        Err(problem) => probe.problem = Some(problem),
    }
    probe
}

/// Where the library may be: the one that the variable names, or else the loader's own, then those of Python's and NVIDIA's packages.
fn candidates() -> Vec<String> {
    if let Some(path) = env::var_os(VARIABLE).filter(|path| !path.is_empty()) {
        return vec![path.to_string_lossy().into_owned()];
    }
    let mut names = vec!["libnccl.so.2".to_owned(), "libnccl.so".to_owned()];
    let folder = |variable: &str| env::var_os(variable).map(PathBuf::from);
    let mut folders = Vec::new();
    for prefix in ["VIRTUAL_ENV", "CONDA_PREFIX"]
        .into_iter()
        .filter_map(folder)
    {
        let entries = fs::read_dir(prefix.join("lib")).into_iter().flatten();
        let mut pythons: Vec<_> = entries
            .filter_map(|entry| Some(entry.ok()?.path()))
            .filter(|path| {
                let name = path.file_name().unwrap_or_default().to_string_lossy();
                name.starts_with("python3")
            })
            .collect();
        pythons.sort();
        let within = |python: &PathBuf| python.join("site-packages/nvidia/nccl/lib");
        folders.extend(pythons.iter().map(within));
    }
    folders.extend(folder("NCCL_HOME").map(|home| home.join("lib")));
    folders.extend(folder("NVHPC_ROOT").map(|root| root.join("comm_libs/nccl/lib")));
    names.extend(
        folders
            .iter()
            .map(|folder| folder.join("libnccl.so.2").to_string_lossy().into_owned()),
    );
    names
}

/// The file of a library that the loader found by its name.
fn loaded_from(name: &str) -> String {
    let maps = fs::read_to_string("/proc/self/maps").unwrap_or_default();
    let file = name.rsplit('/').next().unwrap_or(name);
    maps.lines()
        .filter_map(|line| line.find('/').map(|at| &line[at..]))
        .find(|path| {
            path.rsplit('/')
                .next()
                .is_some_and(|last| last.starts_with(file))
        })
        .unwrap_or(name)
        .to_owned()
}

/// A version as people write it.
fn version_text(version: c_int) -> String {
    format!(
        "{}.{}.{}",
        version / 10000,
        version % 10000 / 100,
        version % 100
    )
}

/// The functions of a library that opened, or why it is of no use.
fn examine(library: &Library, version: &mut Option<String>) -> Result<Functions, String> {
    macro_rules! function {
        ($name:literal) => {
            // SAFETY: the type is that of the field or variable that takes it, which has the signature in nccl.h.
            *unsafe { library.get($name) }
                .map_err(|_| format!("it has no function {}: not a usable NCCL", $name))?
        };
    }
    let get_version: unsafe extern "C" fn(*mut c_int) -> Code = function!("ncclGetVersion");
    let mut number = 0;
    // SAFETY: the call has no precondition and writes one integer.
    let code = unsafe { get_version(&raw mut number) };
    if code != 0 {
        return Err(format!("ncclGetVersion returned error {code}"));
    }
    // Before 2.9 a version was counted otherwise, in smaller numbers.
    *version = Some(match number {
        10000.. => version_text(number),
        _ => format!("{}.{}", number / 1000, number % 1000 / 100),
    });
    if number < LEAST_VERSION {
        return Err(format!(
            "version {} is too old: {} or later is needed",
            version.as_deref().unwrap_or_default(),
            version_text(LEAST_VERSION)
        ));
    }
    Ok(Functions {
        error_string: function!("ncclGetErrorString"),
        unique_id: function!("ncclGetUniqueId"),
        init_rank: function!("ncclCommInitRank"),
        destroy: function!("ncclCommDestroy"),
        async_error: function!("ncclCommGetAsyncError"),
        group_start: function!("ncclGroupStart"),
        group_end: function!("ncclGroupEnd"),
        send: function!("ncclSend"),
        receive: function!("ncclRecv"),
    })
}

impl Functions {
    /// Turns NCCL's codes into errors with its own words.
    pub(super) fn check(&self, action: &str, code: Code) -> Result<()> {
        if code == 0 {
            return Ok(());
        }
        // SAFETY: the call has no precondition; it returns text that is never freed, or null.
        let text = unsafe { (self.error_string)(code) };
        let reason = if text.is_null() {
            format!("error {code}")
        } else {
            // SAFETY: text of NCCL ends in 0.
            unsafe { CStr::from_ptr(text) }
                .to_string_lossy()
                .into_owned()
        };
        Err(Error::Nccl {
            action: action.to_owned(),
            reason,
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn versions_read_as_people_write_them() {
        assert_eq!(version_text(22809), "2.28.9");
        assert_eq!(version_text(LEAST_VERSION), "2.14.0");
    }

    #[test]
    fn the_loaders_own_names_come_first() {
        if env::var_os(VARIABLE).is_none() {
            assert_eq!(candidates()[..2], ["libnccl.so.2", "libnccl.so"]);
        }
    }
}
