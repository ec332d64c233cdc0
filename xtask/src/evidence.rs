//! `cargo xtask evidence`: the figures and tables of README and book, made anew by the commands that they show.

use std::fs;
use std::path::Path;

use anyhow::{Context, Result};

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
        name: "relaxation",
        arguments: &["relax", "--order", "2", "--correction", "paper"],
        takes: &[
            ("cross_section_x.png", "figures/relaxation.png"),
            ("cross_sections.csv", "figures/relaxation.csv"),
            ("run.json", "figures/relaxation.json"),
        ],
    },
    Evidence {
        name: "voucher",
        arguments: &["market", "--scenario", "voucher"],
        takes: &[
            ("distribution_P.png", "figures/voucher.png"),
            ("inequality.csv", "figures/voucher.csv"),
            ("run.json", "figures/voucher.json"),
        ],
    },
    Evidence {
        name: "shock",
        arguments: &["shock", "--mach", "3", "--reduced", "--steady"],
        takes: &[
            ("profile.png", "figures/shock.png"),
            ("profile.csv", "figures/shock.csv"),
            ("run.json", "figures/shock.json"),
        ],
    },
    Evidence {
        name: "shock-nitrogen",
        arguments: &[
            "shock",
            "--gas",
            "nitrogen",
            "--mach",
            "3",
            "--pressure",
            "10",
            "--temperature",
            "300",
        ],
        takes: &[("profile.png", "figures/shock-nitrogen.png")],
    },
    Evidence {
        name: "cavity",
        arguments: &["cavity", "--delta", "1", "--cells", "160", "--steady"],
        takes: &[
            ("streamlines.png", "figures/cavity.png"),
            ("vertical.csv", "figures/cavity_vertical.csv"),
            ("horizontal.csv", "figures/cavity_horizontal.csv"),
            ("run.json", "figures/cavity.json"),
        ],
    },
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
        name: "digits",
        arguments: &["paper", "digits"],
        takes: &[
            ("figure_2.csv", "signed-digit/figure_2.csv"),
            ("figure_2.png", "signed-digit/figure_2.png"),
            ("figure_3.csv", "signed-digit/figure_3.csv"),
            ("figure_3.png", "signed-digit/figure_3.png"),
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
    EVIDENCE
        .iter()
        .flat_map(|evidence| evidence.takes.iter().map(|(_, place)| *place))
}

/// Runs the commands whose names contain `only` and copies what the documents show. They run beside their results, so that
/// the records of the runs name no folder of this machine.
pub(crate) fn regenerate(only: &str) -> Result<()> {
    run(cargo().args(["build", "--release", "--bin", "rarefy"]))?;
    let command = target_dir().join("release").join("rarefy");
    for Evidence {
        name,
        arguments,
        takes,
    } in EVIDENCE
        .iter()
        .filter(|evidence| evidence.name.contains(only))
    {
        let place_of_runs = target_dir().join("evidence");
        let folder = place_of_runs.join(name);
        if folder.exists() {
            fs::remove_dir_all(&folder)?;
        }
        fs::create_dir_all(&place_of_runs)?;
        println!("== rarefy {}", arguments.join(" "));
        run(std::process::Command::new(&command)
            .args(arguments.iter().map(|argument| {
                if argument.starts_with("docs/") {
                    root().join(argument).into_os_string()
                } else {
                    argument.into()
                }
            }))
            .args(["--out", name, "--quiet"])
            .current_dir(&place_of_runs))?;
        for (file, place) in *takes {
            let to = root().join("docs").join(place);
            copy(&folder.join(file), &to)?;
        }
    }
    Ok(())
}

fn copy(from: &Path, to: &Path) -> Result<()> {
    if let Some(folder) = to.parent() {
        fs::create_dir_all(folder)?;
    }
    fs::copy(from, to).with_context(|| format!("{} to {}", from.display(), to.display()))?;
    println!("{}", to.strip_prefix(root()).unwrap_or(to).display());
    Ok(())
}
