//! Runs that a checkpoint keeps, and that go on from it.

use std::path::{Path, PathBuf};

use clap::ArgMatches;
use serde::{Deserialize, Serialize};

use super::arguments::{MODEL_MOLECULES, TimeOptions};
use super::case::{Flow, PreparedRun, Saved, SavedState, Snapshot};
use super::course::History;
use crate::bgk::boltzmann::{self, FlowConfig, ShockStart};
use crate::bgk::{Checkpoint, FaceFlux, Looked, March, Simulation, SimulationConfig};
use crate::cli::checkpoint::{Array, Arrays, Content, LIST, Stored, Take};
use crate::cli::checkpoint_parts::{self, Listed, Parts};
use crate::cli::failure::Failure;
use crate::cli::operator::Taken;
use crate::cli::report::Report;
use crate::cli::{ranks, resume};
use crate::error::{Error, Result};
use crate::run::Run;

/// Contents of a subcommand's checkpoint besides the populations.
#[derive(Debug, Serialize, Deserialize)]
pub(in crate::cli) struct Kept<F> {
    parameters: F,
    machine: String,
    step: u64,
    /// The method of the collision integral that was taken and why.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    method: Option<Taken>,
    /// The files of several ranks.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    parts: Option<PartList>,
}

/// The files of the ranks that wrote a checkpoint.
#[derive(Debug, Serialize, Deserialize)]
struct PartList {
    files: Vec<Listed>,
    /// Whether mirror images were kept once.
    reduced: bool,
}

/// A run that is about to begin or go on, and its past.
pub(in crate::cli) struct Start {
    pub(in crate::cli) begun: PreparedRun,
    /// Its history.
    pub(in crate::cli) history: History,
    pub(in crate::cli) warning: Option<String>,
}

/// Takes a run of the model equations up again.
pub(in crate::cli) fn resumed_model(config: SimulationConfig, saved: Saved) -> Result<PreparedRun> {
    let mut checkpoint = Checkpoint {
        config,
        step: saved.step,
        populations: Vec::new(),
        extra: Vec::new(),
        looked: saved.looked,
        faces: saved.faces,
    };
    let transport = ranks::transport();
    let simulation = match saved.state {
        SavedState::Whole(mut stored) => {
            let expected = checkpoint.config.populations();
            let found = stored.length("populations").unwrap_or(0);
            if found != expected {
                return Err(Error::invalid(
                    "checkpoint",
                    format!("{found} populations of another problem"),
                    format!("{expected} populations"),
                ));
            }
            checkpoint.extra = stored.get("extra")?;
            Simulation::resume_rows(checkpoint, transport, move |node, row| {
                stored.read("populations", node * row.len(), row)
            })
        }
        SavedState::Parts(parts) => {
            checkpoint.config.symmetry_reduction &= parts.reduced;
            Simulation::resume_parts(checkpoint, transport, |wanted| parts.read(wanted))
        }
    };
    let run = simulation?.into();
    Ok(PreparedRun { run, wave: None })
}

/// Takes a run of the collision integral up again.
pub(in crate::cli) fn resumed_integral(
    config: FlowConfig,
    saved: Saved,
    wave: Option<ShockStart>,
) -> Result<PreparedRun> {
    let mut checkpoint = boltzmann::Checkpoint {
        config,
        step: saved.step,
        distributions: Vec::new(),
        looked: saved.looked,
    };
    let transport = ranks::transport();
    let flow = match saved.state {
        SavedState::Whole(mut stored) => {
            checkpoint.distributions = stored.get("populations")?;
            boltzmann::Flow::resume_over(checkpoint, transport)
        }
        SavedState::Parts(parts) => {
            boltzmann::Flow::resume_parts(checkpoint, transport, |wanted| parts.read(wanted))
        }
    };
    let run = flow?.into();
    Ok(PreparedRun { run, wave })
}

/// The state of a run for a checkpoint.
pub(super) fn snapshot(run: &mut March) -> Result<Snapshot<'_>> {
    let several = ranks::are_several();
    let mut arrays = Arrays::new();
    let (looked, part) = match run {
        March::Model(run) => {
            let part = several.then(|| run.checkpoint_part()).transpose()?;
            let head = match several {
                true => run.checkpoint_head()?,
                false => run.checkpoint_without_populations()?,
            };
            let faces: Vec<f64> = head.faces.iter().flat_map(FaceFlux::numbers).collect();
            arrays.insert("faces".into(), faces.into());
            if !several {
                arrays.insert("extra".into(), head.extra.into());
                let count = run.config().populations();
                let pieces = Box::new(|take: &mut Take<'_>| run.visit_populations(take));
                arrays.insert("populations".into(), Array::Pieces(count, pieces));
            }
            let part = part.map(|part| (part, head.config.symmetry_reduction));
            (head.looked, part)
        }
        March::Integral(run) => {
            let part = several.then(|| run.checkpoint_part()).transpose()?;
            if !several {
                arrays.insert("populations".into(), run.state()?.into());
            }
            (run.checkpoint_head().looked, part.map(|part| (part, false)))
        }
    };
    if let Some(looked) = &looked {
        arrays.insert("looked".into(), looked_as_array(looked).into());
    }
    Ok(Snapshot { arrays, part })
}

/// Starts a run afresh.
pub(in crate::cli) fn fresh<F: Flow>(parameters: &F) -> std::result::Result<Start, Failure> {
    let mut begun = ranks::agreed(parameters.begin().map_err(Failure::from))?;
    // The first residual is reckoned from the start.
    begun.run.residual()?;
    Ok(Start {
        begun,
        history: Vec::new(),
        warning: None,
    })
}

/// Takes a run up again. `wanted` is what the flags of this call say; a flag on the command line that says otherwise than the checkpoint is refused.
pub(in crate::cli) fn resumed<F: Flow>(
    path: &Path,
    wanted: &F,
    options: &TimeOptions,
    given: &ArgMatches,
) -> std::result::Result<(F, Start), Failure> {
    let restored = restored(path, wanted, options, given).map_err(Failure::from);
    let (parameters, mut start, looked) = ranks::agreed(restored)?;
    if !looked {
        start.begun.run.residual()?;
    }
    Ok((parameters, start))
}

/// The run of a checkpoint, and whether its residual was looked at.
fn restored<F: Flow>(
    path: &Path,
    wanted: &F,
    options: &TimeOptions,
    given: &ArgMatches,
) -> Result<(F, Start, bool)> {
    let (parameters, mut content) = reopened(path, wanted, options, given)?;
    let history = content.stored.find("history")?.unwrap_or_default();
    let looked = content.stored.find("looked")?.unwrap_or_default();
    // The collision integral has them at any time.
    let faces = content.stored.find("faces")?.unwrap_or_default();
    let faces: Vec<FaceFlux> = (faces.as_chunks().0.iter().copied())
        .map(FaceFlux::from_numbers)
        .collect();
    let (machine, version) = (
        content.stored.state.machine.clone(),
        content.stored.version.clone(),
    );
    let (mut kept, stored) = content.stored.with(());
    let state = match kept.parts.take() {
        Some(PartList { files, reduced }) => SavedState::Parts(Parts {
            checkpoint: path.to_path_buf(),
            command: F::COMMAND,
            listed: files,
            reduced,
        }),
        None => SavedState::Whole(stored),
    };
    let begun = parameters.resume(Saved {
        step: kept.step,
        state,
        looked: looked_from(&looked),
        faces: faces.try_into().unwrap_or_default(),
    })?;
    let history = history
        .chunks_exact(3)
        .map(|row| (row[0] as u64, row[1], row[2]))
        .collect();
    let warning = resume::elsewhere(&version, &machine, &begun.run.device());
    let end = parameters.time_options();
    let step = begun.run.steps_taken();
    if let Some(steps) = end.steps
        && (steps < step || end.until_residual.is_none())
    {
        resume::check_end(path, step, steps, "--steps")?;
    }
    let start = Start {
        begun,
        history,
        warning,
    };
    Ok((parameters, start, !looked.is_empty()))
}

/// A look at the fields as one array: the step, then field after field.
fn looked_as_array(looked: &Looked) -> Vec<f64> {
    let fields = looked.fields.iter().flatten();
    std::iter::once(looked.step as f64)
        .chain(fields.copied())
        .collect()
}

fn looked_from(array: &[f64]) -> Option<Looked> {
    let (step, fields) = array.split_first()?;
    let cells = fields.len() / 4;
    Some(Looked {
        step: *step as u64,
        fields: [0, 1, 2, 3].map(|k| fields[k * cells..(k + 1) * cells].to_vec()),
    })
}

/// A checkpoint, and the parameters of its run with the end that the flags of this call give it.
pub(in crate::cli) fn reopened<F: Flow>(
    path: &Path,
    wanted: &F,
    options: &TimeOptions,
    given: &ArgMatches,
) -> Result<(F, Reopened<F>)> {
    let stored = Stored::<Kept<F>>::open(path, F::COMMAND)?;
    let mut parameters = stored.state.parameters.clone();
    let until_residual = parameters.time_options().until_residual;
    resume::refuse_contradictions(&parameters, wanted, &FREE, given)?;
    parameters.time_options_mut().renew(options);
    let devices = wanted.common().devices;
    let common = &mut parameters.shared_mut().common;
    common.devices = devices.or(common.devices);
    common.threads = wanted.common().threads;
    parameters.collisions_mut().taken = stored.state.method.clone();
    // A checkpoint has the numbers of a rotation; the rotation follows from them again.
    let relaxes = !parameters.collisions().is_boltzmann();
    let si = *parameters.si();
    let gas = &mut parameters.shared_mut().gas;
    *gas = gas.resolved(&si, MODEL_MOLECULES, relaxes)?;
    let reopened = Reopened {
        until_residual,
        stored,
    };
    Ok((parameters, reopened))
}

/// The content of a checkpoint.
pub(in crate::cli) struct Reopened<F> {
    /// The residual to which the run was to go.
    pub(in crate::cli) until_residual: Option<f64>,
    stored: Stored<Kept<F>>,
}

impl<F> Reopened<F> {
    /// Takes an array out; an error if the checkpoint has none of this name.
    pub(in crate::cli) fn take(&mut self, name: &str) -> Result<Vec<f64>> {
        self.stored.get(name)
    }

    /// A warning if the checkpoint was written by another program or on another machine.
    pub(in crate::cli) fn elsewhere(&self, here: &str) -> Option<String> {
        resume::elsewhere(&self.stored.version, &self.stored.state.machine, here)
    }
}

/// The parameters of the run that a checkpoint is of.
pub(in crate::cli) fn parameters_of<F: Flow>(path: &Path) -> Result<F> {
    Ok(Stored::<Kept<F>>::open(path, F::COMMAND)?.state.parameters)
}

/// Flags that a resumed run may give anew.
const FREE: [&str; 9] = [
    "steps",
    "until-residual",
    "checkpoint-every",
    "save-every",
    "save-f",
    "devices",
    "verify",
    "no-verify",
    "accuracy",
];

/// Writes a checkpoint of a run. Each of several ranks writes a part; the checkpoint, which lists them, is renamed last.
pub(super) fn save<'a, F: Flow>(
    report: &mut Report,
    parameters: &F,
    machine: String,
    step: u64,
    snapshot: impl FnOnce() -> Result<Snapshot<'a>>,
) -> Result<Option<PathBuf>> {
    report.checkpoint(|path| {
        let Snapshot { arrays, part } = snapshot()?;
        let mut kept = Kept {
            parameters: parameters.clone(),
            machine,
            step,
            method: parameters.collisions().taken.clone(),
            parts: None,
        };
        let Some((part, reduced)) = part else {
            return Ok(Content::new(F::COMMAND, kept, arrays));
        };
        let rank = ranks::transport().rank();
        let written = checkpoint_parts::write(path, F::COMMAND, rank, part);
        let files = ranks::together(written, path)?;
        kept.parts = Some(PartList { files, reduced });
        Ok(Content::new(F::COMMAND, kept, arrays).of_kind(LIST))
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_look_is_kept_as_an_array() {
        let looked = Looked {
            step: 37,
            fields: [
                vec![1.0, 2.0],
                vec![3.0, 4.0],
                vec![5.0, 6.0],
                vec![7.0, 8.0],
            ],
        };
        assert_eq!(looked_from(&looked_as_array(&looked)), Some(looked));
        assert_eq!(looked_from(&[]), None);
    }
}
