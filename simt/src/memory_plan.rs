//! Checking memory before anything is allocated.
//!
//! A problem that does not fit is refused at the door with how many bytes it needs, how many there are and what would make it
//! fit. The three memories are the GPU's ([`Limits::free_bytes`]), a block's shared memory
//! ([`Limits::shared_bytes_per_block`]) and the host's ([`host_memory`]).
//!
//! ```
//! use rarefy_simt::memory_plan::{Memory, bytes_of, check_memory};
//!
//! let needed = bytes_of::<f64>(1 << 40);
//! let error = check_memory("a grid of 2^40 cells", Memory::Device, needed, 80 << 30, "use fewer cells").unwrap_err();
//! assert_eq!(
//!     error.to_string(),
//!     "a grid of 2^40 cells needs 8.0 TiB of GPU memory and 80.0 GiB are available; use fewer cells"
//! );
//! ```

use std::fs;
use std::path::Path;

use crate::error::{Error, Result};
use crate::machine::Limits;

/// A kind of memory.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum Memory {
    /// Global memory of the GPU.
    Device,
    /// Shared memory of one block.
    Shared,
    /// The computer's main memory.
    Host,
}

impl Memory {
    /// Its name in messages.
    pub const fn name(self) -> &'static str {
        match self {
            Self::Device => "GPU memory",
            Self::Shared => "shared memory per block",
            Self::Host => "main memory",
        }
    }
}

/// Bytes of `len` elements; `u64::MAX` where that overflows, which fits nowhere.
pub const fn bytes_of<T>(len: u64) -> u64 {
    len.saturating_mul(size_of::<T>() as u64)
}

/// Checks that no more is needed than there is. `what` is the data, `remedy` what would make it fit.
///
/// # Errors
/// [`Error::Memory`] where it does not fit.
pub fn check_memory(
    what: &str,
    memory: Memory,
    needed: u64,
    available: u64,
    remedy: &str,
) -> Result<()> {
    if needed <= available {
        return Ok(());
    }
    Err(Error::Memory {
        what: what.to_owned(),
        memory: memory.name(),
        needed,
        available,
        remedy: remedy.to_owned(),
    })
}

/// Checks global memory of a machine.
///
/// # Errors
/// [`Error::Memory`] where it does not fit.
pub fn check_device(limits: &Limits, what: &str, needed: u64, remedy: &str) -> Result<()> {
    check_memory(what, Memory::Device, needed, limits.free_bytes, remedy)
}

/// Checks shared memory of one block.
///
/// # Errors
/// [`Error::Memory`] where it does not fit.
pub fn check_shared(limits: &Limits, what: &str, needed: usize, remedy: &str) -> Result<()> {
    check_memory(
        what,
        Memory::Shared,
        needed as u64,
        limits.shared_bytes_per_block as u64,
        remedy,
    )
}

/// Checks main memory. Where the system does not say how much there is, everything passes.
///
/// # Errors
/// [`Error::Memory`] where it does not fit.
pub fn check_host(what: &str, needed: u64, remedy: &str) -> Result<()> {
    match host_memory().available {
        Some(available) => check_memory(what, Memory::Host, needed, available, remedy),
        None => Ok(()),
    }
}

/// Main memory, as far as the system says.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, serde::Serialize, serde::Deserialize)]
#[non_exhaustive]
pub struct HostMemory {
    /// Bytes of the computer, or of this process's limits or control group where that is less.
    pub total: Option<u64>,
    /// Bytes that can be had without swapping, and without exceeding a limit.
    pub available: Option<u64>,
}

/// Main memory that this process can have: what Linux calls available, or what its control groups and its own limits (`ulimit -v`,
/// `ulimit -d`) leave where that is less.
pub fn host_memory() -> HostMemory {
    let meminfo = fs::read_to_string("/proc/meminfo").unwrap_or_default();
    let groups = fs::read_to_string("/proc/self/cgroup").unwrap_or_default();
    let mut memory = HostMemory {
        total: meminfo_field(&meminfo, "MemTotal"),
        available: meminfo_field(&meminfo, "MemAvailable"),
    };
    if let Some((limit, left)) = control_group(Path::new("/sys/fs/cgroup"), &groups) {
        memory.total = memory.total.map(|total| total.min(limit));
        memory.available = memory.available.map(|available| available.min(left));
    }
    let limits = fs::read_to_string("/proc/self/limits").unwrap_or_default();
    let status = fs::read_to_string("/proc/self/status").unwrap_or_default();
    if let Some((limit, left)) = process_limit(&limits, &status) {
        memory.total = Some(memory.total.map_or(limit, |total| total.min(limit)));
        memory.available = Some(memory.available.map_or(left, |there| there.min(left)));
    }
    memory
}

/// The tightest limit of this process on its addresses or its data, and what is left of it: (bytes, bytes).
///
/// `limits` is the text of `/proc/self/limits`, `status` that of `/proc/self/status`.
fn process_limit(limits: &str, status: &str) -> Option<(u64, u64)> {
    let of = |name: &str, used: &str| -> Option<(u64, u64)> {
        let line = limits.lines().find_map(|line| line.strip_prefix(name))?;
        // The soft limit is the first number; one that does not hold is called unlimited.
        let limit: u64 = line.split_whitespace().next()?.parse().ok()?;
        let used = meminfo_field(status, used).unwrap_or(0);
        Some((limit, limit.saturating_sub(used)))
    };
    let both = [
        of("Max address space", "VmSize"),
        of("Max data size", "VmData"),
    ];
    let both = both.into_iter().flatten();
    both.reduce(|a, b| (a.0.min(b.0), a.1.min(b.1)))
}

/// A field of `/proc/meminfo`, in bytes.
fn meminfo_field(meminfo: &str, field: &str) -> Option<u64> {
    let line = meminfo
        .lines()
        .find_map(|line| line.strip_prefix(field)?.strip_prefix(':'))?;
    let kib: u64 = line.trim().strip_suffix("kB")?.trim().parse().ok()?;
    kib.checked_mul(1024)
}

/// The tightest limit that control groups set on this process, and what is left: (bytes, bytes).
///
/// `mount` is where the groups' files are, `membership` the text of `/proc/self/cgroup`. A limit on any ancestor
/// counts. Page cache that can be dropped counts as left.
fn control_group(mount: &Path, membership: &str) -> Option<(u64, u64)> {
    // Limits larger than this are the way of version 1 to say that there is none.
    const NO_LIMIT: u64 = 1 << 60;
    let number = |path: &Path| fs::read_to_string(path).ok()?.trim().parse::<u64>().ok();
    let mut tightest: Option<(u64, u64)> = None;
    for line in membership.lines() {
        let mut fields = line.splitn(3, ':').skip(1);
        let (Some(controllers), Some(group)) = (fields.next(), fields.next()) else {
            continue;
        };
        let (root, limit, usage, cache) = if controllers.is_empty() {
            (
                mount.to_owned(),
                "memory.max",
                "memory.current",
                "inactive_file ",
            )
        } else if controllers.split(',').any(|name| name == "memory") {
            (
                mount.join("memory"),
                "memory.limit_in_bytes",
                "memory.usage_in_bytes",
                "total_inactive_file ",
            )
        } else {
            continue;
        };
        let group = Path::new(group.trim_start_matches('/'));
        for ancestor in group.ancestors() {
            let folder = root.join(ancestor);
            let Some(bytes) = number(&folder.join(limit)).filter(|&bytes| bytes < NO_LIMIT) else {
                continue;
            };
            let used = number(&folder.join(usage)).unwrap_or(0);
            let reclaimable = fs::read_to_string(folder.join("memory.stat"))
                .ok()
                .and_then(|stat| {
                    let value = stat.lines().find_map(|line| line.strip_prefix(cache))?;
                    value.trim().parse::<u64>().ok()
                })
                .unwrap_or(0);
            let left = bytes.saturating_sub(used.saturating_sub(reclaimable));
            let (least, least_left) = tightest.unwrap_or((u64::MAX, u64::MAX));
            tightest = Some((least.min(bytes), least_left.min(left)));
        }
    }
    tightest
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn meminfo_is_read_in_bytes() {
        let text = "MemTotal:       16384 kB\nMemFree: 1 kB\nMemAvailable:    8192 kB\n";
        assert_eq!(meminfo_field(text, "MemTotal"), Some(16 << 20));
        assert_eq!(meminfo_field(text, "MemAvailable"), Some(8 << 20));
        assert_eq!(meminfo_field(text, "Mem"), None);
        assert_eq!(meminfo_field("", "MemTotal"), None);
        assert_eq!(meminfo_field("MemTotal: many kB", "MemTotal"), None);
    }

    fn group(root: &Path, path: &str, files: &[(&str, &str)]) {
        let folder = root.join(path);
        fs::create_dir_all(&folder).unwrap();
        for (name, text) in files {
            fs::write(folder.join(name), text).unwrap();
        }
    }

    #[test]
    fn the_tightest_control_group_counts() {
        let root = tempfile::tempdir().unwrap();
        group(root.path(), "", &[("memory.stat", "")]);
        group(
            root.path(),
            "job",
            &[
                ("memory.max", "1000\n"),
                ("memory.current", "900\n"),
                ("memory.stat", "anon 600\ninactive_file 300\n"),
            ],
        );
        group(
            root.path(),
            "job/step",
            &[("memory.max", "max\n"), ("memory.current", "100\n")],
        );
        assert_eq!(
            control_group(root.path(), "0::/job/step\n"),
            Some((1000, 400))
        );
        assert_eq!(control_group(root.path(), "0::/other\n"), None);
        assert_eq!(control_group(root.path(), "nonsense"), None);
    }

    #[test]
    fn version_1_groups_are_read_too() {
        let root = tempfile::tempdir().unwrap();
        group(
            root.path(),
            "memory",
            &[
                ("memory.limit_in_bytes", "5000"),
                ("memory.usage_in_bytes", "2000"),
            ],
        );
        let membership = "4:cpu,cpuacct:/a\n7:memory:/docker/abc\n";
        assert_eq!(control_group(root.path(), membership), Some((5000, 3000)));
        group(
            root.path(),
            "memory",
            &[("memory.limit_in_bytes", "9223372036854771712")],
        );
        assert_eq!(control_group(root.path(), membership), None);
    }

    #[test]
    fn limits_of_the_process_count() {
        let status = "Name:\trarefy\nVmSize:\t    3072 kB\nVmData:\t    1024 kB\n";
        let limits = |data: &str, addresses: &str| {
            format!(
                "Limit                     Soft Limit           Hard Limit           Units\n\
                 Max data size             {data:<20} unlimited            bytes\n\
                 Max address space         {addresses:<20} unlimited            bytes\n"
            )
        };
        let of = |data: &str, addresses: &str| process_limit(&limits(data, addresses), status);
        assert_eq!(of("unlimited", "unlimited"), None);
        assert_eq!(of("unlimited", "4194304"), Some((4 << 20, 1 << 20)));
        assert_eq!(of("1572864", "unlimited"), Some((1536 << 10, 512 << 10)));
        assert_eq!(of("1572864", "4194304"), Some((1536 << 10, 512 << 10)));
        // Use beyond a limit leaves nothing.
        assert_eq!(of("unlimited", "1024"), Some((1024, 0)));
        assert_eq!(process_limit("", ""), None);
    }

    #[test]
    fn what_overflows_does_not_fit() {
        assert_eq!(bytes_of::<f64>(u64::MAX / 2), u64::MAX);
        check_memory("x", Memory::Host, 5, 5, "").unwrap();
        let error = check_memory("x", Memory::Shared, 6, 5, "do y").unwrap_err();
        assert_eq!(
            error.to_string(),
            "x needs 6 B of shared memory per block and 5 B are available; do y"
        );
    }
}
