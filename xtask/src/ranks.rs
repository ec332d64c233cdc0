//! Runs over processes, by MPI: the command with the feature `mpi` under `mpirun`.

use std::env;
use std::fs;
use std::io;
use std::path::{Path, PathBuf};
use std::process::{Command, Output};

use anyhow::{Context, Result, ensure};

use crate::workspace::{QUICK_BUILD, cargo, run, target_dir};

/// Cases that run on one rank and on several: command, options, steps.
const CASES: [(&str, &str, u32); 5] = [
    ("shock", "--mach 2 --cells 64 --velocities 20x12x12", 30),
    (
        "shock",
        "--mach 2 --cells 64 --velocities 28 --reduced --scheme upwind --precision f32",
        60,
    ),
    (
        "cavity",
        "--kn 0.5 --cells 20 --velocities 12 --reduced",
        20,
    ),
    (
        "shock",
        "--mach 1.5 --collision boltzmann --method fast --cells 24 --velocities 10",
        6,
    ),
    (
        "cavity",
        "--kn 0.5 --collision boltzmann --method fast --cells 16 --velocities 6 --precision f32",
        6,
    ),
];

/// The cases whose checkpoints are resumed.
const RESUMED: [usize; 3] = [0, 3, 4];

/// Whether this computer has Open MPI, which may run more ranks than there are cores.
pub(crate) fn are_possible() -> bool {
    let says = |program: &str, argument: &str| {
        let output = Command::new(program).arg(argument).output();
        output.map_or(String::new(), |output| {
            String::from_utf8_lossy(&output.stdout).into_owned()
        })
    };
    says("mpirun", "--version").contains("Open MPI") && !says("mpicc", "-show").is_empty()
}

/// Builds the command with the feature `mpi`, and compares its runs.
pub(crate) fn build_and_compare() -> Result<()> {
    let target = target_dir();
    let mut command = cargo();
    command.args(["build", "--quiet", "--package", "rarefy", "--bin", "rarefy"]);
    command.args(["--features", "mpi", "--target-dir"]);
    command.arg(&target).envs(QUICK_BUILD);
    run(&mut command)?;
    compare(target.join("debug/rarefy"))
}

/// Compares runs of a command with the feature `mpi` on one, two and four ranks.
pub(crate) fn compare(program: PathBuf) -> Result<()> {
    let folder = env::temp_dir().join(format!("rarefy-ranks-{}", std::process::id()));
    fs::create_dir_all(&folder).with_context(|| format!("making {}", folder.display()))?;
    let ranks = Ranks {
        program,
        folder: folder.clone(),
    };
    let result = ranks.check();
    fs::remove_dir_all(&folder).with_context(|| format!("removing {}", folder.display()))?;
    result
}

struct Ranks {
    program: PathBuf,
    folder: PathBuf,
}

impl Ranks {
    fn check(&self) -> Result<()> {
        for case in 0..CASES.len() {
            self.compare(case)?;
        }
        for case in RESUMED {
            self.resume(case)?;
        }
        self.refuse()
    }

    /// A command under `mpirun`, with so many ranks for each line of arguments.
    fn start(&self, ranks: usize, lines: &[&str]) -> Command {
        let mut command = Command::new("mpirun");
        command.args(["--oversubscribe", "--bind-to", "none", "--quiet"]);
        for (i, line) in lines.iter().enumerate() {
            if i > 0 {
                command.arg(":");
            }
            command.args(["-n", &ranks.to_string()]).arg(&self.program);
            command.args(line.split_whitespace());
        }
        command.current_dir(&self.folder);
        command.env("RAYON_NUM_THREADS", "1");
        // mpirun refuses root, which containers are.
        command.env("OMPI_ALLOW_RUN_AS_ROOT", "1");
        command.env("OMPI_ALLOW_RUN_AS_ROOT_CONFIRM", "1");
        command
    }

    /// Arrays and history on two and four ranks are those of one, to the bit.
    fn compare(&self, case: usize) -> Result<()> {
        let (command, options, steps) = CASES[case];
        let line = |ranks: usize| {
            format!(
                "{command} {options} --steps {steps} --backend cpu --quiet --out {case}-{ranks}"
            )
        };
        let mut alone = Command::new(&self.program);
        alone.args(line(1).split_whitespace());
        alone.current_dir(&self.folder);
        run(&mut alone)?;
        let expected = results(&self.folder.join(format!("{case}-1")))?;
        for ranks in [2, 4] {
            self.done(ranks, &line(ranks))?;
            let found = results(&self.folder.join(format!("{case}-{ranks}")))?;
            same(&found, &expected)
                .with_context(|| format!("{command} {options} on {ranks} ranks"))?;
        }
        Ok(())
    }

    /// A checkpoint of four ranks goes on on one, two and four, to the bits of one rank.
    fn resume(&self, case: usize) -> Result<()> {
        let (command, options, steps) = CASES[case];
        let begun = format!("--steps {} --checkpoint-every {}", steps / 3, steps / 6);
        let kept = format!("{case}-kept");
        self.done(
            4,
            &format!("{command} {options} {begun} --backend cpu --quiet --out {kept}"),
        )?;
        let saved: Vec<_> = fs::read_dir(self.folder.join(kept))?.collect::<io::Result<_>>()?;
        let expected = results(&self.folder.join(format!("{case}-1")))?;
        for ranks in [1, 2, 4] {
            let name = format!("{case}-resumed-{ranks}");
            let folder = self.folder.join(&name);
            fs::create_dir(&folder)?;
            for file in &saved {
                let name = file.file_name();
                if name.to_string_lossy().starts_with("checkpoint") {
                    fs::copy(file.path(), folder.join(name))?;
                }
            }
            let line =
                format!("{command} --resume {name}/checkpoint.rarefy --steps {steps} --quiet");
            self.done(ranks, &line)?;
            same(&results(&folder)?, &expected)
                .with_context(|| format!("{command} resumed on {ranks} ranks"))?;
        }
        Ok(())
    }

    /// Runs a line on some ranks and insists that it succeeds.
    fn done(&self, ranks: usize, line: &str) -> Result<()> {
        let output = said(&mut self.start(ranks, &[line]))?;
        ensure!(output.status.success(), "{line}: {}", error_of(&output));
        Ok(())
    }

    /// Wrong use ends all ranks, with one line of rarefy.
    fn refuse(&self) -> Result<()> {
        let case = "--mach 2 --cells 40 --velocities 12 --reduced --backend cpu --quiet --out no";
        let of = |options: &str| format!("shock {case} {options}");
        for (lines, expected) in [
            (
                vec![of("--steps 1"), of("--steps 2")],
                "--steps is 2 on rank 1 and 1 on rank 0",
            ),
            (vec![of("--steps 1 --cels 8")], "unexpected argument"),
            (vec![of("--steady")], "a steady flow runs on one rank"),
            (
                vec![format!(
                    "cavity --kn 1 --cells 5 --steps 1 --backend cpu --out no"
                )],
                "2 for 5 cells along y",
            ),
            (
                vec![format!(
                    "cavity --kn 1 --collision boltzmann --cells 6 --velocities 8 --steps 1 --backend cpu --out no"
                )],
                "2 for 6 cells along y",
            ),
            (
                vec!["cavity --kn 1 --collision boltzmann --steady --out no".to_owned()],
                "a steady flow runs on one rank",
            ),
            (
                vec!["couette --kn 1 --collision boltzmann --out no".to_owned()],
                "this command runs on one rank",
            ),
            (
                vec!["relax --backend cpu".to_owned()],
                "this command runs on one rank",
            ),
        ] {
            let lines: Vec<&str> = lines.iter().map(String::as_str).collect();
            let output = said(&mut self.start(2 / lines.len(), &lines))?;
            let error = error_of(&output);
            let said: Vec<_> = error
                .lines()
                .filter(|line| line.contains("rarefy:"))
                .collect();
            ensure!(
                output.status.code() == Some(2) && said.len() == 1 && said[0].contains(expected),
                "expected '{expected}' and exit code 2: {:?}, {error}",
                output.status
            );
            ensure!(
                !self.folder.join("no").exists(),
                "a refused run left a folder"
            );
        }
        Ok(())
    }
}

fn said(command: &mut Command) -> Result<Output> {
    command.output().context("cannot run mpirun")
}

fn error_of(output: &Output) -> String {
    String::from_utf8_lossy(&output.stderr).into_owned()
}

/// Insists on the same files with the same bytes.
fn same(found: &[File], expected: &[File]) -> Result<()> {
    ensure!(
        found.len() == expected.len(),
        "other files than on one rank"
    );
    for ((name, found), (_, expected)) in found.iter().zip(expected) {
        ensure!(found == expected, "{name} differs from that of one rank");
    }
    Ok(())
}

/// A file's name and bytes.
type File = (String, Vec<u8>);

/// The arrays and tables of a run, by their names.
fn results(folder: &Path) -> Result<Vec<File>> {
    let mut files = Vec::new();
    for entry in fs::read_dir(folder).with_context(|| format!("reading {}", folder.display()))? {
        let path = entry?.path();
        let name = path.file_name().unwrap_or_default().to_string_lossy();
        if name.ends_with(".npy") || name.ends_with(".csv") {
            files.push((name.into_owned(), fs::read(&path)?));
        }
    }
    ensure!(files.len() > 1, "no results in {}", folder.display());
    files.sort();
    Ok(files)
}
