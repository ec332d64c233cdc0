//! `ptxas`: does the PTX assemble, and with how many registers.

use std::collections::BTreeMap;
use std::env;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

use crate::compile::{PtxFile, run};
use crate::error::{Error, Result};
use crate::parallel::in_parallel;

/// First compute capability that rarefy supports.
pub const LEAST_CAPABILITY: u32 = 75;

/// Resources of one kernel on one architecture.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Usage {
    /// Registers of a thread.
    pub registers: u32,
    /// Bytes spilled: stores and loads together.
    pub spill: u32,
    /// Bytes of stack frame of a thread.
    pub stack: u32,
    /// Bytes of static shared memory of a block. Dynamic shared memory is the launch's.
    pub shared: u32,
    /// Barriers of a block.
    pub barriers: u32,
}

/// NVIDIA's assembler. The build does not need it; the checks do.
#[derive(Clone, Debug)]
pub struct Assembler {
    path: PathBuf,
}

impl Assembler {
    /// Finds `ptxas`; see [`find_tool`].
    pub fn find() -> Result<Self> {
        Ok(Self {
            path: find_tool("ptxas")?,
        })
    }

    /// The version, `V13.0.88`.
    pub fn version(&self) -> Result<String> {
        let text = run(Command::new(&self.path).arg("--version"), "ptxas --version")?;
        let version = text
            .split_whitespace()
            .find(|word| word.starts_with('V') && word.contains('.'));
        Ok(version.unwrap_or("unknown").to_owned())
    }

    /// The architectures from 7.5 on that this assembler knows, ascending, without those that are for one family only.
    pub fn architectures(&self) -> Result<Vec<u32>> {
        let help = run(Command::new(&self.path).arg("--help"), "ptxas --help")?;
        let found = architectures(&help);
        if found.is_empty() {
            return Err(Error::malformed(
                &self.path,
                "its help names no architecture",
            ));
        }
        Ok(found)
    }

    /// Assembles PTX for an architecture; what each of its kernels uses. The cubin is left in `cubin`.
    pub fn assemble(
        &self,
        ptx: &str,
        architecture: u32,
        cubin: &Path,
    ) -> Result<BTreeMap<String, Usage>> {
        let source = cubin.with_extension("ptx");
        fs::write(&source, ptx).map_err(Error::io(&source))?;
        let mut command = Command::new(&self.path);
        command
            .arg(format!("-arch=sm_{architecture}"))
            .arg("-v")
            .arg(&source)
            .arg("-o")
            .arg(cubin);
        Ok(usage(&run(
            &mut command,
            &format!("assembling for sm_{architecture}"),
        )?))
    }

    /// Assembles a set of PTX files for every architecture, for each kernel the file that the loader would choose. The
    /// result maps architecture and kernel to its use. Intermediate files go to `work`.
    pub fn assemble_all(
        &self,
        files: &[PtxFile],
        work: &Path,
    ) -> Result<BTreeMap<u32, BTreeMap<String, Usage>>> {
        fs::create_dir_all(work).map_err(Error::io(work))?;
        let mut all: BTreeMap<u32, BTreeMap<String, Usage>> = BTreeMap::new();
        let architectures = self.architectures()?;
        let runs: Vec<_> = architectures
            .into_iter()
            .flat_map(|architecture| {
                let chosen = files.iter().map(move |file| {
                    (
                        architecture,
                        file,
                        chosen_entries(files, file, architecture),
                    )
                });
                chosen.filter(|(_, _, entries)| !entries.is_empty())
            })
            .collect();
        let usages = in_parallel(runs, |(architecture, file, entries)| {
            let cubin = work.join(format!("{}.on_{architecture}.cubin", file.name()));
            let mut usage = self.assemble(&file.text, architecture, &cubin)?;
            usage.retain(|kernel, _| entries.contains(&kernel));
            Ok((architecture, usage))
        })?;
        for (architecture, usage) in usages {
            all.entry(architecture).or_default().extend(usage);
        }
        Ok(all)
    }
}

/// Of the files that have a kernel the one for the highest capability that the architecture has.
pub fn chosen<'a>(files: &'a [PtxFile], kernel: &str, architecture: u32) -> Option<&'a PtxFile> {
    files
        .iter()
        .filter(|file| file.capability <= architecture)
        .filter(|file| file.entries.iter().any(|entry| entry == kernel))
        .max_by_key(|file| file.capability)
}

/// The kernels of a file that an architecture takes from it.
fn chosen_entries<'a>(files: &[PtxFile], file: &'a PtxFile, architecture: u32) -> Vec<&'a String> {
    let of_this = |entry: &&String| {
        chosen(files, entry, architecture).is_some_and(|found| std::ptr::eq(found, file))
    };
    file.entries.iter().filter(of_this).collect()
}

/// Finds a tool of the CUDA binaries: in `RAREFY_<TOOL>`, on the `PATH`, under `CUDA_HOME` and `CUDA_PATH`, where
/// `scripts/install-device-toolchain.sh` puts it, and in Python's packages `nvidia-cuda-*`.
pub fn find_tool(tool: &'static str) -> Result<PathBuf> {
    let variable = |name: &str| {
        env::var_os(name)
            .filter(|value| !value.is_empty())
            .map(PathBuf::from)
    };
    let own = format!("RAREFY_{}", tool.to_uppercase());
    if let Some(path) = variable(&own) {
        let missing = || Error::NoTool {
            tool,
            places: vec![format!("{own}={}", path.display())],
        };
        return if path.is_file() {
            Ok(path)
        } else {
            Err(missing())
        };
    }
    let path = env::var_os("PATH").unwrap_or_default();
    let on_path = env::split_paths(&path).map(|dir| dir.join(tool));
    let toolkits = ["CUDA_HOME", "CUDA_PATH"]
        .into_iter()
        .filter_map(variable)
        .map(|home| home.join("bin").join(tool));
    let installed = installed_tools()
        .into_iter()
        .map(|dir| dir.join("nvidia/cu13/bin").join(tool));
    let mut candidates = on_path
        .chain(toolkits)
        .chain(installed)
        .chain([Path::new("/usr/local/cuda/bin").join(tool)]);
    if let Some(path) = candidates.find(|path| path.is_file()) {
        return Ok(path);
    }
    python_tool(tool).ok_or_else(|| Error::NoTool {
        tool,
        places: [
            "PATH",
            "CUDA_HOME",
            "the install script's folder",
            "Python's packages",
        ]
        .map(String::from)
        .to_vec(),
    })
}

/// Where the install script puts the tools: `RAREFY_DEVICE_TOOLS`, or a folder of the user's data.
fn installed_tools() -> Option<PathBuf> {
    let data = || {
        let data = env::var_os("XDG_DATA_HOME")
            .filter(|value| !value.is_empty())
            .map(PathBuf::from);
        data.or_else(|| Some(env::home_dir()?.join(".local/share")))
            .map(|data| data.join("rarefy/device-tools"))
    };
    env::var_os("RAREFY_DEVICE_TOOLS")
        .filter(|value| !value.is_empty())
        .map(PathBuf::from)
        .or_else(data)
}

fn python_tool(tool: &str) -> Option<PathBuf> {
    let script = "import nvidia.cu13 as m; print(*m.__path__, sep='\\n')";
    let output = Command::new("python3").args(["-c", script]).output().ok()?;
    let text = String::from_utf8(output.stdout).ok()?;
    text.lines()
        .map(|dir| Path::new(dir).join("bin").join(tool))
        .find(|path| path.is_file())
}

/// The architectures in the help text of `ptxas`.
fn architectures(help: &str) -> Vec<u32> {
    let names = help.split(|c: char| !(c.is_alphanumeric() || c == '_'));
    let numbers = names.filter_map(|name| name.strip_prefix("sm_")?.parse().ok());
    let mut found: Vec<u32> = numbers
        .filter(|&number| number >= LEAST_CAPABILITY)
        .collect();
    found.sort_unstable();
    found.dedup();
    found
}

/// The report of `ptxas -v` on each kernel.
fn usage(output: &str) -> BTreeMap<String, Usage> {
    let mut all = BTreeMap::new();
    let mut name = None;
    for line in output.lines() {
        if let Some((_, rest)) = line.split_once("Compiling entry function '") {
            name = rest.split('\'').next().map(str::to_owned);
            if let Some(name) = &name {
                all.insert(name.clone(), Usage::default());
            }
        }
        let Some(usage) = name.as_ref().and_then(|name| all.get_mut(name)) else {
            continue;
        };
        let number_before = |words: &str| {
            let at = line.find(words)?;
            line[..at]
                .trim_end()
                .rsplit(' ')
                .next()?
                .parse::<u32>()
                .ok()
        };
        if let Some(stack) = number_before("bytes stack frame") {
            usage.stack = stack;
            let spilled = |what| number_before(what).unwrap_or(0);
            usage.spill = spilled("bytes spill stores") + spilled("bytes spill loads");
        }
        if let Some(registers) = number_before("registers") {
            usage.registers = registers;
            usage.barriers = number_before("barriers").unwrap_or(0);
            usage.shared = number_before("bytes smem").unwrap_or(0);
        }
    }
    all
}

#[cfg(test)]
mod tests {
    use super::*;

    const OUTPUT: &str = "\
ptxas info    : 0 bytes gmem
ptxas info    : Compiling entry function 'a_f64' for 'sm_75'
ptxas info    : Function properties for a_f64
    8 bytes stack frame, 12 bytes spill stores, 20 bytes spill loads
ptxas info    : Used 72 registers, used 1 barriers, 8 bytes cumulative stack size, 1024 bytes smem, 480 bytes cmem[0]
ptxas info    : Compile time = 48.219 ms
ptxas info    : Compiling entry function 'b' for 'sm_75'
ptxas info    : Function properties for b
    0 bytes stack frame, 0 bytes spill stores, 0 bytes spill loads
ptxas info    : Used 46 registers, used 0 barriers, 404 bytes cmem[0]
";

    #[test]
    fn the_report_of_the_assembler_is_read() {
        let all = usage(OUTPUT);
        assert_eq!(
            all["a_f64"],
            Usage {
                registers: 72,
                spill: 32,
                stack: 8,
                shared: 1024,
                barriers: 1
            }
        );
        assert_eq!(
            all["b"],
            Usage {
                registers: 46,
                ..Usage::default()
            }
        );
    }

    #[test]
    fn architectures_of_one_family_are_left_out() {
        let help = "values: 'compute_90','lto_90','sm_100','sm_100a','sm_100f','sm_70',\n 'sm_75','sm_90','sm_90a'. sm_XY sm_75";
        assert_eq!(architectures(help), [75, 90, 100]);
    }

    #[test]
    fn the_best_variant_of_each_kernel_is_chosen() {
        let file = |capability, entries: &[&str]| PtxFile {
            wing: "w".into(),
            capability,
            entries: entries.iter().map(ToString::to_string).collect(),
            text: String::new(),
        };
        let files = [file(75, &["k", "l"]), file(90, &["k"])];
        let name = |kernel, architecture| Some(chosen(&files, kernel, architecture)?.name());
        assert_eq!(name("k", 70), None);
        assert_eq!(name("none", 90), None);
        assert_eq!(name("k", 89).as_deref(), Some("w.sm_75.ptx"));
        assert_eq!(name("k", 120).as_deref(), Some("w.sm_90.ptx"));
        assert_eq!(name("l", 120).as_deref(), Some("w.sm_75.ptx"));
        assert_eq!(chosen_entries(&files, &files[0], 120), ["l"]);
    }
}
