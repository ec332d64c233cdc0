//! Checks of the layers: modules use only modules above them in the tables of `ARCHITECTURE.md`, and no files use each other in a circle.
//!
//! An arrow leads from a file to the file that defines a name that it uses; a name that a module passes on is followed to where it is defined.

use std::collections::{BTreeMap, BTreeSet};
use std::fs;
use std::path::{Path, PathBuf};

use crate::workspace::root;

/// A module, as the names of its path: none for the root of the crate.
type Module = Vec<String>;

/// Names in a file.
#[derive(Default)]
struct Source {
    /// Paths that it brings into scope, under which names.
    uses: Vec<(Module, String)>,
    /// Paths in its code.
    paths: Vec<Module>,
    /// Those of `uses` that it does not only pass on to others.
    own: Vec<Module>,
    /// Names in its code that may be among those of `uses`.
    names: BTreeSet<String>,
    /// Items that it defines.
    items: BTreeSet<String>,
}

/// The words and signs of a text, without comments, literals, and what is compiled for tests only.
fn tokens(text: &str) -> Vec<String> {
    let mut tokens: Vec<String> = Vec::new();
    let mut rest = text;
    while let Some(c) = rest.chars().next() {
        let end = |pattern: &str| {
            rest.find(pattern)
                .map_or(rest.len(), |at| at + pattern.len())
        };
        let is_word = |c: char| c.is_alphanumeric() || c == '_';
        let raw = rest.strip_prefix('r').map(|r| r.trim_start_matches('#'));
        let skipped = if rest.starts_with("//") {
            rest.find('\n').unwrap_or(rest.len())
        } else if rest.starts_with("/*") {
            end("*/")
        } else if let Some(quoted) = raw.filter(|raw| raw.starts_with('"')) {
            let fence = "#".repeat(rest.len() - quoted.len() - 1);
            let close = format!("\"{fence}");
            let open = fence.len() + 2;
            let length = rest[open..].find(&close);
            length.map_or(rest.len(), |length| open + length + close.len())
        } else if c == '"' {
            let mut escaped = false;
            let length = rest[1..].find(|c| {
                let ends = c == '"' && !escaped;
                escaped = c == '\\' && !escaped;
                ends
            });
            let length = length.unwrap_or(rest.len() - 1);
            // `#[serde(with = "path")]` uses a module.
            if tokens.ends_with(&["with".to_owned(), "=".to_owned()]) {
                tokens.extend(self::tokens(&rest[1..length + 1]));
            }
            (length + 2).min(rest.len())
        } else if rest.starts_with("'\\") {
            3 + rest[3..].find('\'').map_or(0, |at| at + 1)
        } else if c == '\'' && rest.chars().nth(2) == Some('\'') {
            2 + rest.chars().nth(1).map_or(0, char::len_utf8)
        } else {
            let length = if is_word(c) {
                rest.find(|c| !is_word(c)).unwrap_or(rest.len())
            } else if rest.starts_with("::") {
                2
            } else {
                c.len_utf8()
            };
            if !c.is_whitespace() {
                tokens.push(rest[..length].to_owned());
            }
            length
        };
        rest = &rest[skipped..];
    }
    without_tests(&tokens)
}

/// Leaves out items with the attribute `#[cfg(test)]`.
fn without_tests(tokens: &[String]) -> Vec<String> {
    let attribute = ["#", "[", "cfg", "(", "test", ")", "]"];
    let mut kept = Vec::new();
    let mut at = 0;
    while at < tokens.len() {
        if !tokens[at..].iter().take(attribute.len()).eq(attribute) {
            kept.push(tokens[at].clone());
            at += 1;
            continue;
        }
        let mut depth = 0;
        while at < tokens.len() {
            let token = tokens[at].as_str();
            at += 1;
            match token {
                "{" => depth += 1,
                "}" if depth == 1 => break,
                "}" => depth -= 1,
                ";" if depth == 0 => break,
                _ => {}
            }
        }
    }
    kept
}

/// Reads a tree of `use` from `at` on, and returns where it ends.
fn read_use(
    tokens: &[String],
    mut at: usize,
    prefix: &[String],
    uses: &mut Vec<(Module, String)>,
) -> usize {
    let mut path = prefix.to_vec();
    let mut name = None;
    while let Some(token) = tokens.get(at) {
        match token.as_str() {
            "{" => {
                at += 1;
                while tokens.get(at).is_some_and(|token| token != "}") {
                    // A text that is no Rust must not hold up the reader.
                    at = read_use(tokens, at, &path, uses).max(at + 1);
                    if tokens.get(at).is_some_and(|token| token == ",") {
                        at += 1;
                    }
                }
                return at + 1;
            }
            "as" => {
                name = tokens.get(at + 1).cloned();
                at += 1;
            }
            "," | "}" | ";" => break,
            "::" => {}
            "self" if !path.is_empty() => {}
            word => path.push(word.to_owned()),
        }
        at += 1;
    }
    if let Some(last) = path.last() {
        let name = name.unwrap_or_else(|| last.clone());
        uses.push((path, name));
    }
    at
}

impl Source {
    fn read(text: &str) -> Self {
        let tokens = tokens(text);
        let is_word = |token: &String| token.starts_with(|c: char| c.is_alphabetic() || c == '_');
        let mut source = Self::default();
        let mut at = 0;
        while at < tokens.len() {
            let before = at.checked_sub(1).map_or("", |at| tokens[at].as_str());
            let after = tokens.get(at + 1).map_or("", String::as_str);
            // `impl Trait + use<>` brings nothing into scope.
            if tokens[at] == "use" && after != "<" {
                let first = source.uses.len();
                at = read_use(&tokens, at + 1, &[], &mut source.uses);
                if !["pub", ")"].contains(&before) {
                    let own = source.uses[first..].iter().map(|(path, _)| path.clone());
                    source.own.extend(own);
                }
                continue;
            }
            let defines = [
                "fn", "struct", "enum", "trait", "type", "const", "static", "mod", "union",
            ];
            if defines.contains(&before)
                || before == "!" && at > 1 && tokens[at - 2] == "macro_rules"
            {
                source.items.insert(tokens[at].clone());
            } else if is_word(&tokens[at]) && before != "." {
                let mut path = vec![tokens[at].clone()];
                let mut end = at + 1;
                while end + 1 < tokens.len() && tokens[end] == "::" && is_word(&tokens[end + 1]) {
                    path.push(tokens[end + 1].clone());
                    end += 2;
                }
                // `pub(in path)` uses nothing.
                let visibility =
                    before == "in" && at > 2 && tokens[at - 2] == "(" && tokens[at - 3] == "pub";
                let is_type = path[0].starts_with(char::is_uppercase);
                if !visibility {
                    if path.len() > 1 {
                        source.paths.push(path);
                    } else if is_type || ["(", "!"].contains(&after) {
                        source.names.insert(path.remove(0));
                    }
                }
                at = end;
                continue;
            }
            at += 1;
        }
        source
    }
}

/// The files of a crate.
struct Crate(BTreeMap<Module, Source>);

impl Crate {
    /// Reads the crate in a folder of sources. A program beside a library is its user, not a part of it.
    fn open(folder: &Path) -> Self {
        fn read(folder: &Path, module: &[String], files: &mut BTreeMap<Module, Source>) {
            for entry in fs::read_dir(folder).unwrap() {
                let path = entry.unwrap().path();
                let name = path.file_stem().unwrap().to_string_lossy().into_owned();
                let mut module = module.to_vec();
                if path.is_dir() {
                    module.push(name);
                    read(&path, &module, files);
                } else if path.extension().is_some_and(|extension| extension == "rs") {
                    if name == "main" && path.with_file_name("lib.rs").exists() {
                        continue;
                    }
                    if !["lib", "main", "mod"].contains(&name.as_str()) {
                        module.push(name);
                    }
                    files.insert(module, Source::read(&fs::read_to_string(&path).unwrap()));
                }
            }
        }
        let mut files = BTreeMap::new();
        read(folder, &[], &mut files);
        assert!(!files.is_empty(), "{}", folder.display());
        Self(files)
    }

    /// A path from the root of the crate on; `None` for those of other crates.
    fn absolute(&self, module: &[String], path: &[String]) -> Option<Module> {
        let supers = path.iter().take_while(|part| *part == "super").count();
        let join = |base: &[String], rest: &[String]| Some([base, rest].concat());
        match path.first()?.as_str() {
            "crate" => Some(path[1..].to_vec()),
            "self" => join(module, &path[1..]),
            "super" => join(
                &module[..module.len().checked_sub(supers)?],
                &path[supers..],
            ),
            first => {
                let child = [module, &[first.to_owned()]].concat();
                self.0.contains_key(&child).then_some(())?;
                join(module, path)
            }
        }
    }

    /// The module that defines what a path from the root names.
    fn defining(&self, path: &[String], depth: usize) -> Option<Module> {
        let known = (0..=path.len())
            .rev()
            .find(|&n| self.0.contains_key(&path[..n]))?;
        let (module, rest) = path.split_at(known);
        let Some(name) = rest.first().filter(|_| depth < 8) else {
            return Some(module.to_vec());
        };
        let source = &self.0[module];
        if !source.items.contains(name) {
            for (used, _) in source.uses.iter().filter(|(_, known)| known == name) {
                // A name of another crate.
                let mut target = self.absolute(module, used)?;
                if target != path {
                    target.extend_from_slice(&rest[1..]);
                    return self.defining(&target, depth + 1);
                }
            }
            for (used, _) in source.uses.iter().filter(|(_, known)| known == "*") {
                let target = self.absolute(module, &used[..used.len() - 1]);
                if let Some(mut target) = target
                    && self
                        .0
                        .get(&target)
                        .is_some_and(|source| source.items.contains(name))
                {
                    target.extend_from_slice(rest);
                    return self.defining(&target, depth + 1);
                }
            }
        }
        Some(module.to_vec())
    }

    /// The modules whose names each module uses.
    fn arrows(&self) -> BTreeMap<Module, BTreeSet<Module>> {
        let of = |(module, source): (&Module, &Source)| {
            let locals: BTreeMap<&String, Module> = source
                .uses
                .iter()
                .filter_map(|(path, name)| Some((name, self.absolute(module, path)?)))
                .collect();
            let in_code = source.paths.iter().filter_map(|path| {
                let local = locals.get(&path[0]);
                let local = local.map(|local| [local, &path[1..]].concat());
                local.or_else(|| self.absolute(module, path))
            });
            let named = source
                .names
                .iter()
                .filter_map(|name| locals.get(name).cloned());
            let own = source
                .own
                .iter()
                .filter_map(|path| self.absolute(module, path));
            // A module that is named in `use` counts where its names are used.
            let own = own.filter(|path| !self.0.contains_key(path));
            let used: BTreeSet<Module> = in_code
                .chain(named)
                .chain(own)
                .filter_map(|path| self.defining(&path, 0))
                .filter(|target| target != module)
                .collect();
            (module.clone(), used)
        };
        self.0.iter().map(of).collect()
    }
}

/// Groups of modules each of which reaches all others of its group.
fn circles(arrows: &BTreeMap<Module, BTreeSet<Module>>) -> Vec<BTreeSet<Module>> {
    let reached = |from: &Module| {
        let mut seen = BTreeSet::new();
        let mut next = vec![from];
        while let Some(module) = next.pop() {
            let new = arrows.get(module).into_iter().flatten();
            next.extend(new.filter(|target| seen.insert((*target).clone())));
        }
        seen
    };
    let reached: BTreeMap<&Module, BTreeSet<Module>> = arrows
        .keys()
        .map(|module| (module, reached(module)))
        .collect();
    let circle = |module: &Module| -> BTreeSet<Module> {
        let back = |other: &&Module| reached[*other].contains(module);
        reached[module].iter().filter(back).cloned().collect()
    };
    let found: BTreeSet<BTreeSet<Module>> = arrows.keys().map(circle).collect();
    found
        .into_iter()
        .filter(|circle| circle.len() > 1)
        .collect()
}

/// The folders of sources of all crates of the workspace.
fn sources() -> Vec<PathBuf> {
    let manifest = fs::read_to_string(root().join("Cargo.toml")).unwrap();
    let members = manifest.split("\nmembers = [").nth(1).unwrap();
    let members = members.split(']').next().unwrap().split(',');
    let names = members.map(|name| name.trim().trim_matches('"'));
    names
        .filter(|name| !name.is_empty())
        .map(|name| match name {
            "." => "host/src".into(),
            name => Path::new(name).join("src"),
        })
        .collect()
}

#[test]
fn no_files_use_each_other_in_a_circle() {
    let mut found = Vec::new();
    let folders = sources();
    assert!(folders.len() > 5, "{folders:?}");
    for folder in folders {
        for circle in circles(&Crate::open(&root().join(&folder)).arrows()) {
            let names: Vec<String> = circle.iter().map(|module| module.join("::")).collect();
            found.push(format!("{}: {}", folder.display(), names.join(", ")));
        }
    }
    assert!(found.is_empty(), "{found:#?}");
}

#[test]
fn modules_use_modules_above_them() {
    let architecture = fs::read_to_string(root().join("ARCHITECTURE.md")).unwrap();
    let mut tables = 0;
    for part in architecture.split("## Layers of `").skip(1) {
        let (folder, text) = part.split_once('`').unwrap();
        let table = text.split("| module | what it is | uses |").nth(1).unwrap();
        let table = table
            .lines()
            .skip(2)
            .take_while(|line| line.starts_with('|'));
        check_table(&root().join(folder), table);
        tables += 1;
    }
    assert_eq!(tables, 2, "tables of layers");
}

/// Compares the rows of a table with the arrows between the modules of a crate's root.
fn check_table<'a>(folder: &Path, table: impl Iterator<Item = &'a str>) {
    let mut used: BTreeMap<String, BTreeSet<String>> = BTreeMap::new();
    for (module, targets) in Crate::open(folder).arrows() {
        let Some(module) = module.first() else {
            continue;
        };
        let targets = targets.iter().filter_map(|target| target.first());
        let others = targets.filter(|target| *target != module).cloned();
        used.entry(module.clone()).or_default().extend(others);
    }
    let mut above: BTreeSet<String> = BTreeSet::new();
    for row in table {
        let cells: Vec<_> = row.split('|').map(str::trim).collect();
        let (module, uses) = (cells[1].trim_matches('`'), cells[3]);
        let listed: BTreeSet<String> = uses
            .split(", ")
            .map(|name| name.trim_matches('`').to_owned())
            .filter(|name| !name.is_empty())
            .collect();
        assert_eq!(used.get(module), Some(&listed), "{module}");
        let below: Vec<_> = listed.difference(&above).collect();
        assert!(below.is_empty(), "{module} uses {below:?} from below");
        above.insert(module.to_owned());
    }
    let known: BTreeSet<String> = used.into_keys().collect();
    assert_eq!(
        known,
        above,
        "modules of {} in ARCHITECTURE.md",
        folder.display()
    );
}

/// A crate of these files.
fn sample(files: &[(&str, &str)]) -> Crate {
    let module = |name: &str| {
        name.split("::")
            .filter(|part| !part.is_empty())
            .map(str::to_owned)
            .collect()
    };
    Crate(
        files
            .iter()
            .map(|(name, text)| (module(name), Source::read(text)))
            .collect(),
    )
}

#[test]
fn a_circle_is_found() {
    let root = ("", "mod a; mod b; mod c;");
    let one = sample(&[
        root,
        (
            "a",
            "use crate::b::Thing; pub struct Part; fn f(_: Thing) {}",
        ),
        ("b", "pub struct Thing(super::a::Part);"),
        ("c", "fn g() { crate::a::f() }"),
    ]);
    let found = circles(&one.arrows());
    assert_eq!(found.len(), 1);
    let names: Vec<String> = found[0].iter().map(|module| module.join("::")).collect();
    assert_eq!(names, ["a", "b"]);

    let passed_on = sample(&[
        ("", "mod a; mod b; pub use b::Thing;"),
        ("a", "use crate::Thing; pub struct Part(Thing);"),
        (
            "b",
            "use crate::a; pub struct Thing; fn h(part: a::Part) -> a::Part { part }",
        ),
    ]);
    assert_eq!(
        circles(&passed_on.arrows()).len(),
        1,
        "through a name that is passed on"
    );

    let whole_and_part = sample(&[
        ("", "mod room; pub use room::Whole;"),
        ("room", "mod part; pub struct Whole(part::Part);"),
        ("room::part", "pub struct Part; fn f(_: super::Whole) {}"),
    ]);
    assert_eq!(
        circles(&whole_and_part.arrows()).len(),
        1,
        "of a file and one in its folder"
    );
}

#[test]
fn comments_tests_and_names_that_are_only_passed_on_make_no_circle() {
    let free = sample(&[
        ("", "mod a; mod b; pub use a::Part; pub use b::*;"),
        ("a", "use crate::Thing; pub struct Part(Thing);"),
        (
            "b",
            "//! use crate::a::Part;\n/* crate::a */ pub struct Thing; const TEXT: &str = \"crate::a::Part\";\
             #[cfg(test)] mod tests { use crate::a::Part; }",
        ),
    ]);
    assert!(circles(&free.arrows()).is_empty());
}
