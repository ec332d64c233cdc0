//! The pages of the gallery, made from its table: `docs/gallery.md`, and the pictures of the book's first page.

use std::collections::BTreeMap;
use std::fmt::Write;
use std::fs;
use std::path::Path;

use anyhow::{Context, Result};

use crate::gallery::{GALLERY, HOME, Shot};
use crate::workspace::root;

/// Processor time of each run, from `docs/` on.
pub(crate) const TIMES: &str = "gallery/times.csv";

const PAGE: &str = "docs/gallery.md";
const FIRST_PAGE: &str = "docs/README.md";

/// Lines of the first page between which its pictures are.
const BEGIN: &str = "<!-- gallery: `cargo xtask evidence` writes these lines -->\n";
const END: &str = "<!-- end of the gallery -->\n";

const HEADER: &str = "name,processor_s,machine";

/// Processor time of a run and the machine that ran it.
#[derive(Clone)]
pub(crate) struct Time {
    pub(crate) seconds: f64,
    pub(crate) machine: String,
}

/// Times of the runs by their names.
pub(crate) type Times = BTreeMap<String, Time>;

/// The times that are in the repository.
pub(crate) fn times() -> Result<Times> {
    let path = root().join("docs").join(TIMES);
    let text = match fs::read_to_string(&path) {
        Err(error) if error.kind() == std::io::ErrorKind::NotFound => return Ok(Times::new()),
        text => text.with_context(|| format!("reading {}", path.display()))?,
    };
    let row = |line: &str| {
        let (name, rest) = line.split_once(',')?;
        let (seconds, machine) = rest.split_once(',')?;
        let seconds = seconds.parse().ok()?;
        let machine = machine.trim_matches('"').to_owned();
        Some((name.to_owned(), Time { seconds, machine }))
    };
    let rows = text.lines().filter(|line| *line != HEADER);
    rows.map(|line| row(line).with_context(|| format!("{TIMES}: {line}; expected {HEADER}")))
        .collect()
}

/// Writes the times and both pages.
pub(crate) fn write(times: &Times) -> Result<()> {
    let mut table = format!("{HEADER}\n");
    // In the order of the gallery; runs that it has no longer are dropped.
    for shot in &GALLERY {
        if let Some(Time { seconds, machine }) = times.get(shot.name) {
            writeln!(table, "{},{seconds:.2},\"{machine}\"", shot.name)?;
        }
    }
    fs::write(root().join("docs").join(TIMES), table)?;
    fs::write(root().join(PAGE), page(times)?)?;
    let path = root().join(FIRST_PAGE);
    let first = fs::read_to_string(&path)?;
    fs::write(path, first_page(&first, times)?)?;
    Ok(())
}

/// The command as one types it in a shell. `collide` alone has no folder of its own where none is named.
fn command(shot: &Shot) -> String {
    let quoted = |word: &&str| {
        if word.contains(['*', '(', '^', ' ']) {
            format!("'{word}'")
        } else {
            (*word).to_owned()
        }
    };
    let mut words: Vec<String> = shot.arguments.iter().map(quoted).collect();
    if shot.arguments[0] == "collide" {
        words.extend(["--out".to_owned(), shot.name.to_owned()]);
    }
    format!("rarefy {}", words.join(" "))
}

fn time<'a>(shot: &Shot, times: &'a Times) -> Result<&'a Time> {
    let name = shot.name;
    let time = times.get(name);
    time.with_context(|| format!("{TIMES} has no time; run `cargo xtask evidence {name}`"))
}

/// Two digits: the machine had other work too.
fn rounded(seconds: f64) -> String {
    match seconds {
        100.0.. => format!("{:.0}", (seconds / 10.0).round() * 10.0),
        10.0.. => format!("{seconds:.0}"),
        _ => format!("{:.1}", seconds.max(0.1)),
    }
}

/// The text of `docs/gallery.md`.
fn page(times: &Times) -> Result<String> {
    let mut text = format!(
        "\
# Gallery

{} runs, each with picture, command and time. The commands run in the root of the checkout. Grids are coarse, so that a run takes seconds. Most commands print the error of their
results; `--verify` adds it where a run has none by default. Flows past bodies link their case file, other runs the chapter of their flags.

`cargo xtask evidence` makes the pictures and this page from the table `xtask/src/gallery.rs`. Pictures in `docs/gallery` and `examples/flow` have half the width and height of the command's.

Times are of the processor, of all threads together. On two free cores a run takes half of that time at least. Times on a GPU are in [benchmarks](benchmarks.md).
",
        GALLERY.len()
    );
    let mut group = "";
    for shot in &GALLERY {
        if group != shot.group {
            group = shot.group;
            writeln!(text, "\n## {group}")?;
        }
        let Time { seconds, machine } = time(shot, times)?;
        let (link, target) = shot.source;
        let Shot { title, caption, .. } = shot;
        write!(
            text,
            "
### {title}

![{title}]({})

{caption}

```sh
{}
```

Processor time {} s ({machine}); [{link}]({target}).
",
            shot.picture.1,
            command(shot),
            rounded(*seconds),
        )?;
    }
    Ok(text)
}

/// The text of the first page with the pictures between its two comments made anew.
fn first_page(text: &str, times: &Times) -> Result<String> {
    let missing = || format!("{FIRST_PAGE} has no lines {BEGIN}and {END}");
    let (before, rest) = text.split_once(BEGIN).with_context(missing)?;
    let (_, after) = rest.split_once(END).with_context(missing)?;
    Ok(format!(
        "{before}{BEGIN}\n{}\n{END}{after}",
        pictures(times)?
    ))
}

/// A table of the six pictures, two a row.
fn pictures(times: &Times) -> Result<String> {
    let mut text = String::new();
    for (row, names) in HOME.chunks(2).enumerate() {
        let mut images = String::from("|");
        let mut words = String::from("|");
        for name in names {
            let shot = GALLERY.iter().find(|shot| shot.name == *name);
            let shot = shot.with_context(|| format!("the gallery has no {name}"))?;
            let Time { seconds, machine } = time(shot, times)?;
            write!(images, " ![{}]({}) |", shot.title, shot.picture.1)?;
            let (command, seconds) = (command(shot), rounded(*seconds));
            write!(words, " `{command}`: {seconds} s ({machine}) |")?;
        }
        writeln!(text, "{images}")?;
        if row == 0 {
            writeln!(text, "|---|---|")?;
        }
        writeln!(text, "{words}")?;
    }
    Ok(text)
}

/// Whether a picture is shown at half its size.
pub(crate) fn is_halved(place: &str) -> bool {
    Path::new(place).starts_with("gallery") || Path::new(place).starts_with("../examples")
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;

    use super::*;

    /// Most bytes of a picture of the gallery alone.
    const MOST_BYTES: u64 = 120_000;

    #[test]
    fn both_pages_are_those_of_the_table() {
        let times = times().unwrap();
        let read = |page: &str| fs::read_to_string(root().join(page)).unwrap();
        assert!(
            read(PAGE) == page(&times).unwrap(),
            "{PAGE} differs from xtask/src/gallery.rs; run `cargo xtask evidence pages`"
        );
        let first = read(FIRST_PAGE);
        assert!(
            first == first_page(&first, &times).unwrap(),
            "{FIRST_PAGE} differs from xtask/src/gallery.rs; run `cargo xtask evidence pages`"
        );
        // A caption that changes, and a time, change the page.
        let mut other = times.clone();
        other.get_mut("sphere").unwrap().seconds += 100.0;
        assert!(page(&other).unwrap() != page(&times).unwrap());
        other.remove("sphere");
        assert!(page(&other).is_err());
    }

    #[test]
    fn every_run_has_its_picture_and_a_place_of_its_own() {
        let mut names = BTreeSet::new();
        let mut groups = vec![""];
        for shot in &GALLERY {
            assert!(names.insert(shot.name), "two runs {}", shot.name);
            if groups.last() != Some(&shot.group) {
                assert!(!groups.contains(&shot.group), "{} is divided", shot.group);
                groups.push(shot.group);
            }
            let place = shot.picture.1;
            let path = root().join("docs").join(place);
            let bytes = fs::read(&path).unwrap_or_else(|error| panic!("{place}: {error}"));
            assert!(bytes.starts_with(b"\x89PNG"), "{place}");
            if is_halved(place) {
                let size = bytes.len() as u64;
                assert!(size < MOST_BYTES, "{place}: {size} bytes");
            }
            let ends = shot.caption.matches(". ").count();
            assert!(shot.caption.ends_with('.') && ends == 0, "{}", shot.caption);
            let case = shot.arguments.iter().find(|word| word.ends_with(".toml"));
            if let Some(case) = case {
                assert_eq!(shot.source, ("case file", format!("../{case}").as_str()));
            }
        }
        for name in HOME {
            assert!(names.contains(name), "{name}");
        }
    }

    #[test]
    fn commands_are_quoted_for_a_shell_where_it_would_change_them() {
        let hankel = GALLERY.iter().find(|shot| shot.name == "hankel").unwrap();
        assert_eq!(
            command(hankel),
            "rarefy longman --amplitude 'x*exp(-x)' --oscillator bessel:0 --frequency-range 0.01:100:log:200"
        );
        let collide = GALLERY.iter().find(|shot| shot.name == "collide").unwrap();
        assert!(command(collide).ends_with(" --vmax 6 --out collide"));
    }

    #[test]
    fn times_have_two_digits() {
        let of = [0.02, 0.24, 4.21, 27.38, 165.5].map(rounded);
        assert_eq!(of, ["0.1", "0.2", "4.2", "27", "170"]);
    }
}
