//! The history of a relaxation by a model, and its checkpoint.

use std::path::Path;

use serde::{Deserialize, Serialize};

use super::parameters::ModelRelaxation;
use crate::bgk::{
    Checkpoint, Homogeneous, HomogeneousMoments, Moments, RotatingMoments, Simulation,
};
use crate::cli::checkpoint::{Arrays, Content, Stored};
use crate::cli::resume;
use crate::error::{Error, Result};

/// The moments after a step.
#[derive(Clone, Copy, Debug)]
pub(super) struct Record {
    pub(super) step: u64,
    pub(super) time: f64,
    pub(super) of: HomogeneousMoments,
}

/// Numbers of a record in a checkpoint: step and time, moments, and those of rotation, which are not numbers for single atoms.
const NUMBERS: usize = 14;

impl Record {
    /// Of a run now.
    pub(super) fn now(run: &mut Simulation) -> Result<Self> {
        Ok(Self {
            step: run.steps_taken(),
            time: run.time(),
            of: Homogeneous::moments(run)?,
        })
    }

    fn numbers(&self) -> [f64; NUMBERS] {
        let Moments {
            density,
            velocity: [ux, uy],
            temperature,
            pressure: [xx, yy, xy],
            heat_flux: [qx, qy],
        } = self.of.moments;
        let [own, other, q] = self.of.rotation.map_or([f64::NAN; 3], |of| {
            [
                of.temperature_translational,
                of.temperature_rotational,
                of.heat_flux_rotational[0],
            ]
        });
        [
            self.step as f64,
            self.time,
            density,
            ux,
            uy,
            temperature,
            xx,
            yy,
            xy,
            qx,
            qy,
            own,
            other,
            q,
        ]
    }

    fn of_numbers(row: &[f64]) -> Self {
        let mut of = HomogeneousMoments::default();
        let moments = &mut of.moments;
        (moments.density, moments.velocity) = (row[2], [row[3], row[4]]);
        moments.temperature = row[5];
        moments.pressure = [row[6], row[7], row[8]];
        moments.heat_flux = [row[9], row[10]];
        of.rotation = (!row[11].is_nan()).then(|| RotatingMoments {
            temperature_translational: row[11],
            temperature_rotational: row[12],
            heat_flux_rotational: [row[13], 0.0],
        });
        Self {
            step: row[0] as u64,
            time: row[1],
            of,
        }
    }
}

/// Header of the checkpoint.
#[derive(Debug, Serialize, Deserialize)]
pub(super) struct Header {
    parameters: ModelRelaxation,
    /// The library's checkpoint, without its arrays. Checkpoints of the integral have none.
    simulation: Checkpoint,
    machine: String,
    rows: usize,
}

/// The content of a checkpoint file.
pub(super) fn checkpoint(
    parameters: &ModelRelaxation,
    history: &[Record],
    run: &mut Simulation,
) -> Result<Content<'static, Header>> {
    let mut simulation = run.checkpoint()?;
    let populations = std::mem::take(&mut simulation.populations);
    let extra = std::mem::take(&mut simulation.extra);
    let rows: Vec<f64> = history.iter().flat_map(Record::numbers).collect();
    let header = Header {
        parameters: parameters.clone(),
        simulation,
        machine: run.device(),
        rows: history.len(),
    };
    let arrays = Arrays::from([
        ("f".into(), populations.into()),
        ("extra".into(), extra.into()),
        ("history".into(), rows.into()),
    ]);
    Ok(Content::new("relax", header, arrays))
}

/// Whether a checkpoint of `relax` is of a model.
pub(in crate::cli) fn is_checkpoint(path: &Path) -> Result<bool> {
    let header = Stored::<serde_json::Value>::open(path, "relax")?.state;
    Ok(header.get("simulation").is_some())
}

/// A checkpoint file, read and checked.
pub(in crate::cli) struct Saved {
    pub(super) parameters: ModelRelaxation,
    version: String,
    machine: String,
    simulation: Checkpoint,
    history: Vec<Record>,
}

impl Saved {
    pub(in crate::cli) fn read(path: &Path) -> Result<Self> {
        let mut content = Stored::<Header>::open(path, "relax")?;
        let rows = content.state.rows.saturating_mul(NUMBERS);
        let history = content.take("history", rows)?;
        let (populations, extra) = (content.get("f")?, content.get("extra")?);
        let mut header = content.state;
        header.parameters.resolve_gas()?;
        let case = header.parameters.case()?;
        let config = &header.simulation.config;
        let same = config.problem.gas == case.gas && config.dt == header.parameters.dt();
        let history: Vec<Record> = history
            .chunks_exact(NUMBERS)
            .map(Record::of_numbers)
            .collect();
        let ends = history.last().map(|last| last.step) == Some(header.simulation.step);
        if !(same && ends) {
            let why = "the checkpoint contradicts itself: two gases, two time steps, or a history that ends elsewhere";
            return Err(Error::file(path, why));
        }
        Ok(Self {
            parameters: header.parameters,
            version: content.version,
            machine: header.machine,
            simulation: Checkpoint {
                populations,
                extra,
                ..header.simulation
            },
            history,
        })
    }

    /// Steps taken.
    pub(super) fn step(&self) -> u64 {
        self.simulation.step
    }

    /// The run, its history, and a warning if its bits may differ.
    pub(super) fn begin(self) -> Result<(Simulation, Vec<Record>, Option<String>)> {
        let run = Simulation::resume(self.simulation)?;
        let warning = resume::elsewhere(&self.version, &self.machine, &run.device());
        Ok((run, self.history, warning))
    }
}
