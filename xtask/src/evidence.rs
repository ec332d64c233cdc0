//! `cargo xtask evidence`: the figures and tables of README and book, made anew by the commands that they show. `gallery.rs` has those of the
//! gallery, this file all others.

use std::path::{Path, PathBuf};
use std::process::Command;
use std::{fs, thread};

use anyhow::{Context, Result, ensure};

use crate::gallery::GALLERY;
use crate::gallery_page::{self, Time};
use crate::picture;
use crate::workspace::{cargo, root, run, target_dir};

/// One run of the command, and what the documents take of it.
struct Evidence {
    /// The run's name, and that of its folder while it works.
    name: &'static str,
    /// Arguments of `rarefy`; `--out` is added.
    arguments: &'static [&'static str],
    /// Files of the run, and where they go under `docs/`. The record of the run names its parameters and its machine.
    takes: &'static [(&'static str, &'static str)],
}

const EVIDENCE: &[Evidence] = &[
    Evidence {
        name: "rates",
        arguments: &["rates", "--convergence", "12,16,20,24,32"],
        takes: &[
            ("rates.csv", "rates/rates.csv"),
            ("rates.png", "rates/rates.png"),
            ("errors.csv", "rates/errors.csv"),
            ("errors.png", "rates/errors.png"),
            ("viscosity.png", "rates/viscosity.png"),
        ],
    },
    Evidence {
        name: "frontier",
        arguments: &[
            "paper",
            "frontier",
            "--convergence",
            "12,16,20",
            "--precision",
            "f32",
        ],
        takes: &[
            ("frontier.png", "figures/frontier.png"),
            ("frontier.csv", "figures/frontier.csv"),
            ("run.json", "figures/frontier.json"),
        ],
    },
    Evidence {
        name: "timings",
        arguments: &["paper", "timings", "docs/benchmarks/collision-h200.txt"],
        takes: &[("timings.png", "figures/timings.png")],
    },
    Evidence {
        name: "longman",
        arguments: &["paper", "timings", "docs/benchmarks/longman-h200.txt"],
        takes: &[
            ("times.csv", "longman/times.csv"),
            ("figure_7_8.png", "longman/figure_7_8.png"),
            ("figure_9.png", "longman/figure_9.png"),
            ("figure_10_12_13.png", "longman/figure_10_12_13.png"),
            ("figure_11.csv", "longman/figure_11.csv"),
            ("figure_11.png", "longman/figure_11.png"),
        ],
    },
    Evidence {
        name: "integers",
        arguments: &[
            "paper",
            "timings",
            "docs/benchmarks/signed_digit-integers-h200.txt",
        ],
        takes: &[
            ("figure_5.png", "signed-digit/figure_5.png"),
            ("figure_6.png", "signed-digit/figure_6.png"),
            ("figure_7.png", "signed-digit/figure_7.png"),
            ("packed.png", "signed-digit/packed.png"),
            ("times.csv", "signed-digit/times.csv"),
        ],
    },
    Evidence {
        name: "models",
        arguments: &["paper", "validate"],
        takes: &[
            ("plates.csv", "bgk/plates.csv"),
            ("cavities.csv", "bgk/cavities.csv"),
            ("centre_lines.csv", "bgk/centre_lines.csv"),
            ("centre_lines.png", "bgk/centre_lines.png"),
            ("shocks.csv", "bgk/shocks.csv"),
            ("profiles.csv", "bgk/profiles.csv"),
            ("rarefaction.csv", "bgk/rarefaction.csv"),
            ("shocks.png", "bgk/shocks.png"),
            ("models.csv", "bgk/models.csv"),
            ("models.png", "bgk/models.png"),
            ("run.json", "bgk/validate.json"),
        ],
    },
    Evidence {
        name: "speedups",
        arguments: &["paper", "timings", "docs/benchmarks/bgk-h200.txt"],
        takes: &[
            ("figures_line.csv", "bgk/figures_line.csv"),
            ("figures_plane.csv", "bgk/figures_plane.csv"),
            ("figure_2.png", "bgk/figure_2.png"),
            ("figure_3.png", "bgk/figure_3.png"),
            ("figure_4.png", "bgk/figure_4.png"),
            ("figure_5.png", "bgk/figure_5.png"),
            ("figure_7.png", "bgk/figure_7.png"),
        ],
    },
];

/// All files that are made, from `docs/` on.
#[cfg(test)]
pub(crate) fn files() -> impl Iterator<Item = &'static str> {
    let chapters = EVIDENCE.iter().flat_map(|evidence| evidence.takes);
    let gallery = GALLERY
        .iter()
        .flat_map(|shot| shot.also.iter().chain([&shot.picture]));
    let places = chapters.chain(gallery).map(|(_, place)| *place);
    places.chain([gallery_page::TIMES])
}

/// Runs the commands whose names contain `only` and copies what the documents show; `pages` writes the gallery's pages alone. Runs
/// of the gallery are of the CPU, and their times are kept.
pub(crate) fn regenerate(only: &str, program: Option<&Path>) -> Result<()> {
    let mut times = gallery_page::times()?;
    if only != "pages" {
        let chapters = EVIDENCE.iter().filter(|run| run.name.contains(only));
        let gallery = GALLERY.iter().filter(|shot| shot.name.contains(only));
        let (chapters, gallery): (Vec<_>, Vec<_>) = (chapters.collect(), gallery.collect());
        ensure!(
            chapters.len() + gallery.len() > 0,
            "{only}: expected a part of the name of a run in xtask/src/evidence.rs or gallery.rs, or `pages`"
        );
        let command = match program {
            Some(program) => fs::canonicalize(program)
                .with_context(|| format!("{}: build the command first", program.display()))?,
            None => {
                run(cargo().args(["build", "--release", "--bin", "rarefy"]))?;
                target_dir().join("release").join("rarefy")
            }
        };
        for Evidence {
            name,
            arguments,
            takes,
        } in chapters
        {
            let folder = results(&command, name, arguments, &[])?;
            for (file, place) in *takes {
                copy(&folder.join(file), place)?;
            }
        }
        for shot in gallery {
            let before = processor_seconds()?;
            let folder = results(&command, shot.name, shot.arguments, &["--backend", "cpu"])?;
            let seconds = processor_seconds()? - before;
            let machine = processor()?;
            times.insert(shot.name.to_owned(), Time { seconds, machine });
            for (file, place) in shot.also.iter().chain([&shot.picture]) {
                copy(&folder.join(file), place)?;
            }
        }
    }
    gallery_page::write(&times)
}

/// Runs the command, and returns the folder of its results. It runs beside that folder, so that the record of the run names no folder of
/// this machine.
fn results(command: &Path, name: &str, arguments: &[&str], further: &[&str]) -> Result<PathBuf> {
    let place_of_runs = target_dir().join("evidence");
    let folder = place_of_runs.join(name);
    if folder.exists() {
        fs::remove_dir_all(&folder)?;
    }
    fs::create_dir_all(&place_of_runs)?;
    println!("== rarefy {}", arguments.join(" "));
    run(Command::new(command)
        .args(arguments.iter().map(|argument| {
            if argument.starts_with("docs/") || argument.starts_with("examples/") {
                root().join(argument).into_os_string()
            } else {
                argument.into()
            }
        }))
        .args(further)
        .args(["--out", name, "--quiet"])
        .current_dir(&place_of_runs))?;
    Ok(folder)
}

/// Copies a file of a run to its place from `docs/` on, pictures of the gallery at half their size.
fn copy(from: &Path, place: &str) -> Result<()> {
    let to = root().join("docs").join(place);
    if let Some(folder) = to.parent() {
        fs::create_dir_all(folder)?;
    }
    if gallery_page::is_halved(place) {
        picture::halve(from, &to)?;
    } else {
        fs::copy(from, &to).with_context(|| format!("{} to {}", from.display(), to.display()))?;
    }
    match place.strip_prefix("../") {
        Some(place) => println!("{place}"),
        None => println!("docs/{place}"),
    }
    Ok(())
}

/// Processor time of all programs that this one has run, by Linux.
fn processor_seconds() -> Result<f64> {
    let path = "/proc/self/stat";
    let text = fs::read_to_string(path).with_context(|| format!("reading {path}"))?;
    processor_seconds_in(&text).with_context(|| format!("{path}: {text}"))
}

/// `cutime` and `cstime` of proc(5), the 16th and the 17th field; the second one is a name that may have blanks and parentheses.
fn processor_seconds_in(stat: &str) -> Option<f64> {
    const TICKS_A_SECOND: f64 = 100.0;
    let (_, fields) = stat.rsplit_once(')')?;
    let mut fields = fields.split_whitespace().skip(13);
    let ticks = fields.next()?.parse::<f64>().ok()? + fields.next()?.parse::<f64>().ok()?;
    Some(ticks / TICKS_A_SECOND)
}

/// The processor of this machine by Linux, and the number of its cores.
fn processor() -> Result<String> {
    let path = "/proc/cpuinfo";
    let text = fs::read_to_string(path).with_context(|| format!("reading {path}"))?;
    let mut lines = text.lines();
    let name = lines.find_map(|line| line.strip_prefix("model name")?.split_once(": "));
    let (_, name) = name.with_context(|| format!("{path} has no model name"))?;
    Ok(format!(
        "{name}, {} cores",
        thread::available_parallelism()?
    ))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn processor_time_is_read_behind_a_name_with_parentheses() {
        let stat = "7 (a) b) S 1 7 7 0 -1 4194560 100 200 0 0 11 12 1250 250 20 0 1 0 5";
        assert_eq!(processor_seconds_in(stat), Some(15.0));
        assert_eq!(processor_seconds_in("7 (a) S 1"), None);
    }
}
