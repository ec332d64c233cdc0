//! How an isotropic relaxation goes into a checkpoint and back.

use std::path::Path;

use serde::{Deserialize, Serialize};

use super::parameters::IsotropicArgs;
use crate::cli::checkpoint::{Arrays, Content, Stored};
use crate::error::{Error, Result};
use crate::isotropic::{Checkpoint, Moments, Record, Relaxation, RelaxationConfig};

/// Most states shown between the first and the last one.
const SHOWN: usize = 5;

/// A state at a time.
#[derive(Clone)]
pub(super) struct Snapshot {
    pub(super) time: f64,
    pub(super) f: Vec<f64>,
}

/// The next step after `done` whose state is kept: that of a record, and these steps double. They do not depend on the end of the run, for a resumed run may have another.
pub(super) fn next_kept(done: u64, every: u64) -> Option<u64> {
    let records = (done / every + 1).checked_next_power_of_two()?;
    records.checked_mul(every)
}

/// States to show: the first, the last, and the latest few in the first three quarters of the time between.
pub(super) fn shown(kept: &[Snapshot], last: Snapshot) -> Vec<Snapshot> {
    let between = kept.iter().skip(1);
    let between: Vec<_> = between
        .filter(|state| state.time <= 0.75 * last.time)
        .collect();
    let first = kept.iter().take(1);
    let few = &between[between.len().saturating_sub(SHOWN)..];
    let shown = first.chain(few.iter().copied()).cloned();
    shown.chain([last]).collect()
}

/// Numbers of a row of the history.
const COLUMNS: usize = 9;

fn row_of(record: &Record) -> [f64; COLUMNS] {
    let m = &record.moments;
    [
        record.step as f64,
        record.time,
        m.number,
        m.energy,
        m.second,
        m.third,
        m.entropy,
        m.minimum,
        record.largest_frequency,
    ]
}

fn record_of(row: &[f64]) -> Record {
    Record {
        step: row[0] as u64,
        time: row[1],
        moments: Moments {
            number: row[2],
            energy: row[3],
            second: row[4],
            third: row[5],
            entropy: row[6],
            minimum: row[7],
        },
        largest_frequency: row[8],
    }
}

/// Header of the checkpoint.
#[derive(Debug, Serialize, Deserialize)]
pub(super) struct Header {
    parameters: IsotropicArgs,
    config: RelaxationConfig,
    machine: String,
    time_step: f64,
    step: u64,
    rows: usize,
    snapshots: usize,
    warnings: Vec<String>,
}

/// The content of a checkpoint file.
pub(super) fn checkpoint(
    parameters: &IsotropicArgs,
    run: &mut Relaxation,
    snapshots: &[Snapshot],
    warnings: &[String],
) -> Result<Content<'static, Header>> {
    let Checkpoint {
        config,
        time_step,
        step,
        states,
        histories,
    } = run.checkpoint()?;
    let history: Vec<f64> = histories.iter().flatten().flat_map(row_of).collect();
    let header = Header {
        parameters: parameters.clone(),
        config,
        machine: run.device(),
        time_step,
        step,
        rows: history.len() / COLUMNS,
        snapshots: snapshots.len(),
        warnings: warnings.to_vec(),
    };
    let arrays = Arrays::from([
        ("f".into(), states.concat().into()),
        ("history".into(), history.into()),
        (
            "times".into(),
            snapshots
                .iter()
                .map(|s| s.time)
                .collect::<Vec<f64>>()
                .into(),
        ),
        (
            "snapshots".into(),
            snapshots
                .iter()
                .flat_map(|s| s.f.iter().copied())
                .collect::<Vec<f64>>()
                .into(),
        ),
    ]);
    Ok(Content::new("isotropic", header, arrays))
}

/// A checkpoint file, read and checked.
pub(in crate::cli) struct Saved {
    pub(super) parameters: IsotropicArgs,
    pub(super) version: String,
    pub(super) machine: String,
    pub(super) checkpoint: Checkpoint,
    pub(super) snapshots: Vec<Snapshot>,
    pub(super) warnings: Vec<String>,
}

impl Saved {
    pub(in crate::cli) fn read(path: &Path) -> Result<Self> {
        let mut content = Stored::<Header>::open(path, "isotropic")?;
        // The header's grid has not been through EnergyGrid::new.
        let operator = content.state.parameters.operator()?;
        if operator != content.state.config.operator {
            return Err(Error::file(
                path,
                "the checkpoint contradicts itself: two operators",
            ));
        }
        let cells = operator.grid.cells();
        let (rows, shown) = (content.state.rows, content.state.snapshots);
        let f = content.take("f", cells)?;
        let history = content.take("history", rows.saturating_mul(COLUMNS))?;
        let times = content.take("times", shown)?;
        let states = content.take("snapshots", shown.saturating_mul(cells))?;
        let header = content.state;
        if rows == 0 || shown == 0 || header.parameters.checkpoint_every == Some(0) {
            return Err(Error::file(
                path,
                "the checkpoint lacks its initial state or its steps between two checkpoints",
            ));
        }
        Ok(Self {
            parameters: header.parameters,
            version: content.version,
            machine: header.machine,
            warnings: header.warnings,
            checkpoint: Checkpoint {
                config: header.config,
                time_step: header.time_step,
                step: header.step,
                states: vec![f],
                histories: vec![history.chunks_exact(COLUMNS).map(record_of).collect()],
            },
            snapshots: times
                .into_iter()
                .zip(states.chunks_exact(cells))
                .map(|(time, f)| Snapshot {
                    time,
                    f: f.to_vec(),
                })
                .collect(),
        })
    }
}

/// The checkpoint of a small run.
#[cfg(test)]
pub(in crate::cli) fn example() -> Vec<u8> {
    let parameters: IsotropicArgs = serde_json::from_value(serde_json::json!({
        "cells": 8, "emax": 8.0, "theta": 0.0, "init": "bkw:0.6", "integrator": "euler", "steps": 2, "storage": "pairs",
        "weights": "center", "no-correction": false, "rates-only": false, "backend": "reference", "precision": "f64",
    }))
    .expect("parameters");
    let operator = parameters.operator().expect("an operator");
    let f = crate::isotropic::initial::bkw(&operator.grid, 0.6);
    let config = RelaxationConfig {
        operator,
        integrator: parameters.integrator,
        dt: None,
        every: 1,
    };
    let mut run = Relaxation::new(config, std::slice::from_ref(&f)).expect("a run");
    run.advance(2).expect("steps");
    checkpoint(&parameters, &mut run, &[Snapshot { time: 0.0, f }], &[])
        .expect("a checkpoint")
        .encode()
}
