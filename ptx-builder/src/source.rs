//! The device crate: which wings declare which kernels, for which capabilities, and the hash of it all.

use std::collections::{BTreeMap, BTreeSet};
use std::fs;
use std::path::{Path, PathBuf};

use serde::Deserialize;

use crate::error::{Error, Result};
use crate::sha256;

/// LLVM IR for the one thing the kernels need and Rust cannot say: the address of dynamic shared memory.
pub const SHARED_MEMORY_IR: &str = include_str!("shared_memory.ll");

/// The kernels that become PTX together: those of one file or folder of the device crate.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Wing {
    /// `collision` for `src/collision.rs` and all of `src/collision/`; `bgk_steady` for `src/bgk/steady.rs` if `bgk` is split.
    pub name: String,
    /// For each compute capability that PTX is built for, 75 for 7.5, its entry points, sorted.
    pub entries: BTreeMap<u32, Vec<String>>,
}

/// The sources of the device crate.
#[derive(Clone, Debug)]
pub struct DeviceCrate {
    dir: PathBuf,
    package: String,
    wings: Vec<Wing>,
    launch: BTreeMap<String, LaunchBounds>,
    kernels_of: Vec<String>,
    /// Device code of the crates that this one depends on by a path: package, and file.
    foreign: Vec<(String, PathBuf)>,
}

/// Bounds of a kernel's launches, from which the assembler allocates the registers of a thread.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct LaunchBounds {
    /// Most threads of a block.
    pub threads: u32,
    /// Blocks that a multiprocessor should hold at a time.
    pub blocks: u32,
}

impl DeviceCrate {
    /// Reads the crate in `dir`: its `Cargo.toml` and the kernel declarations in `src`.
    ///
    /// The capabilities stand in `Cargo.toml`, so that one more is one line:
    ///
    /// ```toml
    /// [package.metadata.ptx]
    /// capabilities = [75]         # of every kernel
    /// split = ["bgk"]             # files and folders of src/bgk are wings of their own
    /// rooms = ["paper"]           # the wing of src/bgk/paper/scheme.rs is bgk_scheme
    /// kernels-of = ["rarefy-kernels"]   # in a crate of one's own that uses a crate with kernels
    /// [package.metadata.ptx.variants]
    /// speed_spectrum_f32 = [80]   # of one kernel, in addition
    /// [package.metadata.ptx.launch]
    /// speed_spectrum_f32 = { threads = 256, blocks = 3 }
    /// ```
    pub fn open(dir: impl AsRef<Path>) -> Result<Self> {
        let dir = dir.as_ref().to_owned();
        let path = dir.join("Cargo.toml");
        let text = fs::read_to_string(&path).map_err(Error::io(&path))?;
        let manifest: CargoManifest =
            toml::from_str(&text).map_err(|e| Error::malformed(&path, e))?;
        let foreign = foreign_sources(&dir, &manifest.dependencies)?;
        let Package {
            name: package,
            metadata,
        } = manifest.package;
        let Metadata { ptx } = metadata;

        let mut wings: BTreeMap<String, BTreeSet<String>> = BTreeMap::new();
        for file in source_files(&dir.join("src"))? {
            let text = fs::read_to_string(&file).map_err(Error::io(&file))?;
            let entries =
                declared_entries(&text).map_err(|problem| Error::malformed(&file, problem))?;
            if entries.is_empty() {
                continue;
            }
            let relative = file.strip_prefix(dir.join("src")).unwrap_or(&file);
            wings
                .entry(wing_of(relative, &ptx))
                .or_default()
                .extend(entries);
        }
        let declared: BTreeSet<&String> = wings.values().flatten().collect();
        let known = |name: &String| declared.contains(name);
        let unknown = |table: &str, name: Option<&String>| match name {
            Some(name) => {
                let problem = format!(
                    "[package.metadata.ptx.{table}] names the kernel {name}, which is not declared"
                );
                Err(Error::malformed(&path, problem))
            }
            None => Ok(()),
        };
        unknown("variants", ptx.variants.keys().find(|name| !known(name)))?;
        unknown("launch", ptx.launch.keys().find(|name| !known(name)))?;
        let wings = wings
            .into_iter()
            .map(|(name, declared)| {
                let mut entries: BTreeMap<u32, Vec<String>> = BTreeMap::new();
                for entry in declared {
                    let own = ptx.variants.get(&entry).into_iter().flatten();
                    let capabilities: BTreeSet<u32> =
                        ptx.capabilities.iter().chain(own).copied().collect();
                    for capability in capabilities {
                        entries.entry(capability).or_default().push(entry.clone());
                    }
                }
                Wing { name, entries }
            })
            .collect();
        Ok(Self {
            dir,
            package,
            wings,
            launch: ptx.launch,
            kernels_of: ptx.kernels_of,
            foreign,
        })
    }

    /// Whether dependencies declare kernels of their own (`kernels-of` in `Cargo.toml`), which the PTX of this crate leaves out.
    pub fn has_foreign_kernels(&self) -> bool {
        !self.kernels_of.is_empty()
    }
    /// Where the crate lies.
    pub fn dir(&self) -> &Path {
        &self.dir
    }
    /// Name of the package.
    pub fn package(&self) -> &str {
        &self.package
    }
    /// The wings, sorted by name.
    pub fn wings(&self) -> &[Wing] {
        &self.wings
    }
    /// Bounds of the launches of an entry, if any.
    pub fn launch_bounds(&self, entry: &str) -> Option<LaunchBounds> {
        self.launch.get(entry).copied()
    }
    /// Where the committed PTX lies.
    pub fn ptx_dir(&self) -> PathBuf {
        self.dir.join("ptx")
    }
    /// Where the budgets of the kernels lie.
    pub fn budgets_path(&self) -> PathBuf {
        self.dir.join("budgets.toml")
    }
    /// Files of other crates that decide on the PTX: device code of the crates that this one depends on by a path.
    ///
    /// All sources of such a crate count, or those that its `Cargo.toml` lists where other code is in it too:
    ///
    /// ```toml
    /// [package.metadata.ptx]
    /// sources = ["src/memory.rs"]
    /// ```
    pub fn foreign_sources(&self) -> impl Iterator<Item = &Path> {
        self.foreign.iter().map(|(_, file)| file.as_path())
    }
    /// Whether this is an unpacked package of a registry, whose files cannot have been edited.
    pub fn is_packed(&self) -> bool {
        ["Cargo.toml.orig", ".cargo-ok", ".cargo-checksum.json"]
            .iter()
            .any(|name| self.dir.join(name).exists())
    }

    /// Hash of everything that decides what the PTX is, apart from the compiler: sources, those of
    /// [other crates](Self::foreign_sources) included, `Cargo.toml`, the LLVM IR linked in, and the flags of the compilation. Line endings
    /// do not count.
    pub fn source_hash(&self) -> Result<String> {
        let mut message = Vec::new();
        let mut add = |name: &str, content: &str| {
            let content = content.replace("\r\n", "\n");
            message.extend(format!("{name}\n{}\n", content.len()).bytes());
            message.extend(content.bytes());
        };
        add("recipe", &crate::recipe::recipe());
        add("shared_memory.ll", SHARED_MEMORY_IR);
        let mut files = vec![self.dir.join("Cargo.toml")];
        files.extend(source_files(&self.dir.join("src"))?);
        for file in files {
            let relative = file.strip_prefix(&self.dir).unwrap_or(&file);
            let name = relative
                .iter()
                .map(|part| part.to_string_lossy())
                .collect::<Vec<_>>()
                .join("/");
            add(&name, &fs::read_to_string(&file).map_err(Error::io(&file))?);
        }
        for (package, file) in &self.foreign {
            let name = file.file_name().unwrap_or_default().to_string_lossy();
            let text = fs::read_to_string(file).map_err(Error::io(file))?;
            add(&format!("{package}/{name}"), &text);
        }
        Ok(sha256(&message))
    }
}

#[derive(Deserialize)]
struct CargoManifest {
    package: Package,
    #[serde(default)]
    dependencies: BTreeMap<String, toml::Value>,
}

#[derive(Deserialize)]
struct Package {
    name: String,
    metadata: Metadata,
}

#[derive(Deserialize)]
struct Metadata {
    ptx: PtxMetadata,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct PtxMetadata {
    capabilities: Vec<u32>,
    #[serde(default)]
    variants: BTreeMap<String, Vec<u32>>,
    #[serde(default)]
    split: Vec<String>,
    #[serde(default)]
    rooms: Vec<String>,
    #[serde(default)]
    launch: BTreeMap<String, LaunchBounds>,
    #[serde(default, rename = "kernels-of")]
    kernels_of: Vec<String>,
}

/// A crate that device code depends on, as far as its `Cargo.toml` matters here.
#[derive(Deserialize)]
struct Dependency {
    package: DependencyPackage,
    #[serde(default)]
    dependencies: BTreeMap<String, toml::Value>,
}

#[derive(Deserialize)]
struct DependencyPackage {
    name: String,
    #[serde(default)]
    metadata: DependencyMetadata,
}

#[derive(Default, Deserialize)]
struct DependencyMetadata {
    #[serde(default)]
    ptx: DependencyPtx,
}

#[derive(Default, Deserialize)]
struct DependencyPtx {
    sources: Option<Vec<PathBuf>>,
}

/// Device code of the crates that `dependencies` name by a path from `dir`, and of theirs, sorted.
fn foreign_sources(
    dir: &Path,
    dependencies: &BTreeMap<String, toml::Value>,
) -> Result<Vec<(String, PathBuf)>> {
    let mut found = BTreeSet::new();
    for dependency in dependencies.values() {
        let Some(path) = dependency.get("path").and_then(toml::Value::as_str) else {
            continue;
        };
        let dir = dir.join(path);
        let manifest = dir.join("Cargo.toml");
        let text = fs::read_to_string(&manifest).map_err(Error::io(&manifest))?;
        let Dependency {
            package,
            dependencies,
        } = toml::from_str(&text).map_err(|e| Error::malformed(&manifest, e))?;
        let files = match package.metadata.ptx.sources {
            Some(files) => files.iter().map(|file| dir.join(file)).collect(),
            None => source_files(&dir.join("src"))?,
        };
        found.extend(files.into_iter().map(|file| (package.name.clone(), file)));
        found.extend(foreign_sources(&dir, &dependencies)?);
    }
    Ok(found.into_iter().collect())
}

/// The wing of a source file whose path is relative to `src`: the name of its module at the top, and below a split one also that of the next
/// that is no room.
fn wing_of(relative: &Path, ptx: &PtxMetadata) -> String {
    let modules = relative.iter().map(|part| {
        let stem = Path::new(part).file_stem().unwrap_or_default();
        stem.to_string_lossy().into_owned()
    });
    let mut modules = modules.filter(|part| !ptx.rooms.contains(part));
    let top = modules.next().unwrap_or_default();
    match modules.next() {
        Some(part) if ptx.split.contains(&top) => format!("{top}_{part}"),
        _ => top,
    }
}

/// Every `.rs` file under `dir`, sorted.
fn source_files(dir: &Path) -> Result<Vec<PathBuf>> {
    let mut files = Vec::new();
    for entry in fs::read_dir(dir).map_err(Error::io(dir))? {
        let path = entry.map_err(Error::io(dir))?.path();
        if path.is_dir() {
            files.extend(source_files(&path)?);
        } else if path.extension().is_some_and(|extension| extension == "rs") {
            files.push(path);
        }
    }
    files.sort();
    Ok(files)
}

/// The entry points that the `kernel!` declarations of a source text make.
///
/// `pub fn name<T: Real>(...) for f32, f64` makes `name_f32` and `name_f64`, `pub fn name(...)` makes `name`. The
/// compiled crate is compared with this list, so a declaration that is misread cannot go unnoticed.
pub fn declared_entries(source: &str) -> std::result::Result<Vec<String>, String> {
    let code = without_comments(source);
    let mut entries = Vec::new();
    let mut rest = code.as_str();
    while let Some(at) = rest.find("kernel!") {
        let before = rest[..at].chars().next_back();
        rest = &rest[at + "kernel!".len()..];
        if before.is_some_and(|c| c.is_alphanumeric() || c == '_')
            || !rest.trim_start().starts_with('{')
        {
            continue;
        }
        let function = rest.find("pub fn ").ok_or("a kernel! without `pub fn`")?;
        rest = &rest[function + "pub fn ".len()..];
        let end = rest
            .find(['<', '('])
            .ok_or("a kernel! without a list of arguments")?;
        let name = rest[..end].trim();
        let generic = rest[end..].starts_with('<');
        let open = rest
            .find('(')
            .ok_or_else(|| format!("kernel {name} has no list of arguments"))?;
        let close = matching(&rest[open..], '(', ')')
            .ok_or_else(|| format!("kernel {name}: `(` without `)`"))?;
        rest = &rest[open + close + 1..];
        if generic {
            let types = rest.trim_start().strip_prefix("for ");
            let types = types.ok_or_else(|| {
                format!("kernel {name} is generic but lists no types after `for`")
            })?;
            let end = types.find('{').unwrap_or(types.len());
            let types = types[..end].trim().trim_end_matches("shared").trim();
            let (types, names) = match types.split_once(" each ") {
                Some((types, each)) => (types, names_of_each(name, each)?),
                None => (types, vec![name.to_owned()]),
            };
            for ty in types.split(',') {
                entries.extend(names.iter().map(|name| format!("{name}_{}", ty.trim())));
            }
        } else {
            entries.push(name.to_owned());
        }
    }
    Ok(entries)
}

/// The names of entries, without their types, of a kernel with constants: `number.field in 8, 16 or any`.
fn names_of_each(name: &str, each: &str) -> std::result::Result<Vec<String>, String> {
    let (_, values) = each
        .split_once(" in ")
        .ok_or_else(|| format!("kernel {name}: `each` without `in`"))?;
    let (values, any) = match values.split_once(" or any") {
        Some((values, _)) => (values, Some(name.to_owned())),
        None => (values, None),
    };
    let names = values
        .split(',')
        .map(|value| format!("{name}_{}", value.trim()));
    Ok(names.chain(any).collect())
}

/// Index of the bracket that closes the one `text` begins with.
fn matching(text: &str, open: char, close: char) -> Option<usize> {
    let mut depth = 0;
    for (index, c) in text.char_indices() {
        if c == open {
            depth += 1;
        } else if c == close {
            depth -= 1;
            if depth == 0 {
                return Some(index);
            }
        }
    }
    None
}

/// Rust source with its comments blanked and its string literals emptied.
fn without_comments(source: &str) -> String {
    let mut code = String::with_capacity(source.len());
    let mut rest = source;
    while let Some(c) = rest.chars().next() {
        let skipped = if rest.starts_with("//") {
            rest.find('\n').unwrap_or(rest.len())
        } else if rest.starts_with("/*") {
            rest.find("*/").map_or(rest.len(), |end| end + 2)
        } else if c == '"' {
            let mut escaped = false;
            let end = rest[1..].find(|c| {
                let ends = c == '"' && !escaped;
                escaped = c == '\\' && !escaped;
                ends
            });
            end.map_or(rest.len(), |end| end + 2)
        } else if rest.starts_with("'\"'") {
            3
        } else {
            code.push(c);
            rest = &rest[c.len_utf8()..];
            continue;
        };
        code.push(' ');
        rest = &rest[skipped..];
    }
    code
}

#[cfg(test)]
mod tests {
    use super::*;

    const SOURCE: &str = r#"
        //! kernel! { pub fn in_a_comment(t) {} }
        /* kernel! { pub fn in_another(t) {} } */
        const TEXT: &str = "kernel! { pub fn in_a_string(t) {} }";
        macro_rules! other_kernel { () => {} }
        kernel! {
            /// Says `pub fn nonsense<T>()`.
            pub fn generic<T: Real>(t, x: In<[T; 2]>, out: Out<T>; shape: (u32, u32),) for f32, f64
            shared { tile: [T; n * n] } { body(); }
        }
        kernel! { pub fn plain(t, x: In<u32>) { } }
        crate::kernel! { pub fn single<T: Real>(t, x: In<T>) for f64 { } }
        kernel! { pub fn of_sizes<T: Real>(t, x: In<T>; shape: Shape) for f32 each shape.n in 8, 16 { } }
        kernel! {
            pub fn of_any<T: Real>(t, x: In<T>; shape: Shape) for f32, f64
            each shape.n in 4 or any
            shared { tile: [T; shape.n] } { }
        }
    "#;

    #[test]
    fn declarations_are_read_from_code_only() {
        let entries = declared_entries(SOURCE).unwrap();
        assert_eq!(
            entries,
            [
                "generic_f32",
                "generic_f64",
                "plain",
                "single_f64",
                "of_sizes_8_f32",
                "of_sizes_16_f32",
                "of_any_4_f32",
                "of_any_f32",
                "of_any_4_f64",
                "of_any_f64",
            ]
        );
    }

    #[test]
    fn a_generic_kernel_without_types_or_values_is_reported() {
        for fault in ["", "for f32 each shape.n of 3"] {
            let source = format!("kernel! {{ pub fn lost<T: Real>(t, x: In<T>) {fault} {{ }} }}");
            let error = declared_entries(&source).unwrap_err();
            assert!(error.contains("lost"), "{error}");
        }
    }

    fn write_crate(dir: &Path, metadata: &str) {
        fs::create_dir_all(dir.join("src")).unwrap();
        let manifest = format!("[package]\nname = \"k\"\n[package.metadata.ptx]\n{metadata}\n");
        fs::write(dir.join("Cargo.toml"), manifest).unwrap();
        fs::write(dir.join("src/lib.rs"), "pub mod a;").unwrap();
        fs::write(
            dir.join("src/a.rs"),
            "kernel! { pub fn plain(t, x: In<u32>) { } }",
        )
        .unwrap();
    }

    #[test]
    fn capabilities_of_one_kernel_add_to_the_common_ones() {
        let dir = tempfile::tempdir().unwrap();
        write_crate(dir.path(), "capabilities = [75]\nvariants.plain = [90, 80]");
        let other = "kernel! { pub fn other(t, x: In<u32>) { } }";
        fs::create_dir(dir.path().join("src/a")).unwrap();
        fs::write(dir.path().join("src/a/part.rs"), other).unwrap();
        let krate = DeviceCrate::open(dir.path()).unwrap();
        let [both, plain] = [&["other", "plain"][..], &["plain"]]
            .map(|e| e.iter().map(ToString::to_string).collect());
        let wing = Wing {
            name: "a".into(),
            entries: BTreeMap::from([(75, both), (80, Vec::clone(&plain)), (90, plain)]),
        };
        assert_eq!(krate.wings(), [wing]);
    }

    #[test]
    fn modules_of_a_split_module_are_wings() {
        let ptx: PtxMetadata =
            toml::from_str("capabilities = [75]\nsplit = ['b']\nrooms = ['paper']").unwrap();
        let wing = |path: &str| wing_of(Path::new(path), &ptx);
        assert_eq!(wing("a.rs"), "a");
        assert_eq!(wing("a/part.rs"), "a");
        assert_eq!(wing("b.rs"), "b");
        assert_eq!(wing("b/part.rs"), "b_part");
        assert_eq!(wing("b/part/piece.rs"), "b_part");
        assert_eq!(wing("a/paper.rs"), "a");
        assert_eq!(wing("b/paper/part.rs"), "b_part");
        assert_eq!(wing("b/paper/part/piece.rs"), "b_part");
    }

    #[test]
    fn launch_bounds_of_an_unknown_kernel_are_reported() {
        let dir = tempfile::tempdir().unwrap();
        write_crate(
            dir.path(),
            "capabilities = [75]\nlaunch.none = { threads = 256, blocks = 2 }",
        );
        let error = DeviceCrate::open(dir.path()).unwrap_err().to_string();
        assert!(error.contains("the kernel none"), "{error}");
    }

    #[test]
    fn capabilities_of_an_unknown_kernel_are_reported() {
        let dir = tempfile::tempdir().unwrap();
        write_crate(dir.path(), "capabilities = [75]\nvariants.none = [90]");
        let error = DeviceCrate::open(dir.path()).unwrap_err().to_string();
        assert!(error.contains("the kernel none"), "{error}");
    }

    #[test]
    fn the_hash_sees_device_code_of_other_crates() {
        let dir = tempfile::tempdir().unwrap();
        let [own, other] = ["own", "other"].map(|name| dir.path().join(name));
        write_crate(
            &own,
            "capabilities = [75]\n[dependencies]\nother = { path = \"../other\" }",
        );
        write_crate(&other, "sources = [\"src/a.rs\"]");
        let hash = || DeviceCrate::open(&own).unwrap().source_hash().unwrap();
        let first = hash();
        fs::write(other.join("src/host.rs"), "// the host's\n").unwrap();
        assert_eq!(first, hash(), "a file that is not listed");
        fs::write(other.join("src/a.rs"), "// changed\n").unwrap();
        let second = hash();
        assert_ne!(first, second, "a file that is listed");
        write_crate(&other, "");
        let third = hash();
        assert_ne!(second, third, "all files without a list");
        fs::write(other.join("src/host.rs"), "// changed\n").unwrap();
        assert_ne!(third, hash(), "any file without a list");
        fs::remove_file(other.join("Cargo.toml")).unwrap();
        let error = DeviceCrate::open(&own).unwrap_err().to_string();
        assert!(error.contains("Cargo.toml"), "{error}");
    }

    #[test]
    fn the_hash_sees_every_change_but_line_endings() {
        let dir = tempfile::tempdir().unwrap();
        write_crate(dir.path(), "capabilities = [75]");
        let hash = || {
            DeviceCrate::open(dir.path())
                .unwrap()
                .source_hash()
                .unwrap()
        };
        let first = hash();
        assert_eq!(first, hash());

        fs::write(dir.path().join("src/b.rs"), "// one\n").unwrap();
        let second = hash();
        assert_ne!(first, second, "a new file");
        fs::write(dir.path().join("src/b.rs"), "// one\r\n").unwrap();
        assert_eq!(second, hash(), "line endings");
        fs::write(dir.path().join("src/b.rs"), "// two\n").unwrap();
        assert_ne!(second, hash(), "a change");
        let third = hash();
        write_crate(dir.path(), "capabilities = [75, 80]");
        assert_ne!(third, hash(), "Cargo.toml");
    }
}
