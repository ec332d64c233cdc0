//! Data that a relaxation gathers besides the library's history, and the checkpoint of both.

use std::path::Path;

use serde::{Deserialize, Serialize};

use super::parameters::{RelaxArgs, Stop};
use crate::cli::checkpoint::{Arrays, Content, Stored};
use crate::cli::distribution::cross_sections;
use crate::cli::operator::Taken;
use crate::collision::{
    Checkpoint, Correction, Moments, Record, Relaxation, RelaxationConfig, VelocityGrid,
};
use crate::error::{Error, Result};

/// Most cross-sections kept; when there are more, every other one goes.
const KEPT: usize = 128;

/// Columns of `history.csv`, and of the history in a checkpoint.
pub(super) const COLUMNS: [&str; 21] = [
    "step",
    "time",
    "density",
    "ux",
    "uy",
    "uz",
    "temperature",
    "pxx",
    "pyy",
    "pzz",
    "pxy",
    "pxz",
    "pyz",
    "qx",
    "qy",
    "qz",
    "m4",
    "H",
    "min_f",
    "activity",
    "below_zero",
];

/// A row of the history in the order of [`COLUMNS`], without its step.
pub(super) fn row_of(record: &Record) -> Vec<f64> {
    let m = &record.moments;
    let mut row = vec![record.time, m.density];
    row.extend(m.velocity);
    row.push(m.temperature);
    row.extend(m.pressure);
    row.extend(m.heat_flux);
    row.extend([m.fourth, m.entropy, m.minimum, record.activity]);
    row.push(m.below_zero);
    row
}

fn record_of(row: &[f64]) -> Record {
    Record {
        step: row[0] as u64,
        time: row[1],
        moments: Moments {
            density: row[2],
            velocity: [row[3], row[4], row[5]],
            temperature: row[6],
            pressure: [row[7], row[8], row[9], row[10], row[11], row[12]],
            heat_flux: [row[13], row[14], row[15]],
            fourth: row[16],
            entropy: row[17],
            minimum: row[18],
            below_zero: row[20],
        },
        activity: row[19],
    }
}

/// Cross-sections at one time: along x and along y.
#[derive(Clone, Debug)]
pub(super) struct Sample {
    pub(super) step: u64,
    pub(super) time: f64,
    pub(super) sections: [Vec<f64>; 2],
}

impl Sample {
    pub(super) fn new(grid: &VelocityGrid, step: u64, time: f64, f: &[f64]) -> Self {
        Self {
            step,
            time,
            sections: cross_sections(grid, f),
        }
    }

    /// Sum of the differences to another sample.
    fn distance(&self, other: &Self) -> f64 {
        let pairs = self.sections.iter().flatten();
        pairs
            .zip(other.sections.iter().flatten())
            .map(|(a, b)| (a - b).abs())
            .sum()
    }
}

/// Data gathered in a run.
pub(super) struct State {
    pub(super) grid: VelocityGrid,
    pub(super) initial: Vec<f64>,
    pub(super) samples: Vec<Sample>,
    /// Steps between two samples.
    stride: u64,
    /// Largest residual of each invariant after the correction.
    pub(super) residuals: [f64; 5],
    /// Method of the collision integral, and its reason.
    pub(super) method: Taken,
    /// Warnings of the start.
    pub(super) warnings: Vec<String>,
}

impl State {
    /// Before the first step.
    pub(super) fn new(
        grid: VelocityGrid,
        initial: Vec<f64>,
        method: Taken,
        correction: &Correction,
    ) -> Self {
        let mut state = Self {
            grid,
            samples: vec![Sample::new(&grid, 0, 0.0, &initial)],
            initial,
            stride: 1,
            residuals: [0.0; 5],
            method,
            warnings: Vec::new(),
        };
        state.note(correction);
        state
    }

    /// After a step.
    pub(super) fn observe(&mut self, relaxation: &mut Relaxation) -> Result<()> {
        let step = relaxation.steps_taken();
        self.note(&relaxation.correction());
        if !step.is_multiple_of(self.stride) {
            return Ok(());
        }
        let f = relaxation.state()?;
        self.samples
            .push(Sample::new(&self.grid, step, relaxation.time(), &f));
        if self.samples.len() > KEPT {
            self.stride *= 2;
            let stride = self.stride;
            self.samples
                .retain(|sample| sample.step.is_multiple_of(stride));
        }
        Ok(())
    }

    fn note(&mut self, correction: &Correction) {
        for (largest, residual) in self.residuals.iter_mut().zip(correction.residuals) {
            *largest = largest.max(residual);
        }
    }

    /// At most `count` samples from first to last, so that equally much happens between two of them.
    pub(super) fn chosen(&self, last: Sample, count: usize) -> Vec<Sample> {
        let mut samples = self.samples.clone();
        if samples.last().is_some_and(|s| s.step < last.step) {
            samples.push(last);
        }
        let mut way = vec![0.0];
        for pair in samples.windows(2) {
            way.push(way[way.len() - 1] + pair[0].distance(&pair[1]));
        }
        let length = way[way.len() - 1];
        let mut places: Vec<usize> = (0..count)
            .map(|i| {
                let goal = length * i as f64 / (count - 1) as f64;
                let off = |place: &usize| (way[*place] - goal).abs();
                (0..samples.len())
                    .min_by(|a, b| off(a).total_cmp(&off(b)))
                    .unwrap_or(0)
            })
            .collect();
        places.push(samples.len() - 1);
        places.dedup();
        if places.len() > count {
            places.remove(count - 1);
        }
        places.into_iter().map(|i| samples[i].clone()).collect()
    }
}

/// Header of the checkpoint.
#[derive(Debug, Serialize, Deserialize)]
pub(super) struct Header {
    parameters: RelaxArgs,
    config: RelaxationConfig,
    machine: String,
    step: u64,
    time: f64,
    rows: usize,
    samples: usize,
    stride: u64,
    method: Taken,
    warnings: Vec<String>,
}

/// The content of a checkpoint file.
pub(super) fn checkpoint(
    parameters: &RelaxArgs,
    state: &State,
    relaxation: &mut Relaxation,
) -> Result<Content<'static, Header>> {
    let Checkpoint {
        config,
        step,
        time,
        history,
        f,
    } = relaxation.checkpoint()?;
    let header = Header {
        parameters: parameters.clone(),
        config,
        machine: relaxation.device(),
        step,
        time,
        rows: history.len(),
        samples: state.samples.len(),
        stride: state.stride,
        method: state.method.clone(),
        warnings: state.warnings.clone(),
    };
    let rows = history.iter().flat_map(|record| {
        let mut row = vec![record.step as f64];
        row.extend(row_of(record));
        row
    });
    let samples = state.samples.iter().flat_map(|sample| {
        let mut row = vec![sample.step as f64, sample.time];
        row.extend(sample.sections.iter().flatten());
        row
    });
    let arrays = Arrays::from([
        ("f".into(), f.into()),
        ("f_initial".into(), state.initial.clone().into()),
        ("history".into(), rows.collect::<Vec<f64>>().into()),
        (
            "cross_sections".into(),
            samples.collect::<Vec<f64>>().into(),
        ),
        ("residuals".into(), state.residuals.to_vec().into()),
    ]);
    Ok(Content::new("relax", header, arrays))
}

/// A checkpoint file, read and checked.
pub(in crate::cli) struct Saved {
    pub(super) parameters: RelaxArgs,
    pub(super) version: String,
    pub(super) machine: String,
    checkpoint: Checkpoint,
    state: State,
}

impl Saved {
    pub(in crate::cli) fn read(path: &Path) -> Result<Self> {
        let mut content = Stored::<Header>::open(path, "relax")?;
        // The header's grid has not been through VelocityGrid::new.
        let grid = content.state.parameters.config()?.operator.grid;
        let n = grid.n();
        if grid != content.state.config.operator.grid {
            return Err(Error::file(
                path,
                "the checkpoint contradicts itself: two grids",
            ));
        }
        let f = content.take("f", grid.cells())?;
        let initial = content.take("f_initial", grid.cells())?;
        let residuals = content.take("residuals", 5)?;
        let (rows, samples) = (content.state.rows, content.state.samples);
        let columns = COLUMNS.len();
        let history = content.take("history", rows.saturating_mul(columns))?;
        let sections = content.take("cross_sections", samples.saturating_mul(2 + 2 * n))?;
        let header = content.state;
        Ok(Self {
            parameters: header.parameters,
            version: content.version,
            machine: header.machine,
            checkpoint: Checkpoint {
                config: header.config,
                step: header.step,
                time: header.time,
                history: history.chunks_exact(columns).map(record_of).collect(),
                f,
            },
            state: State {
                grid,
                initial,
                samples: sections
                    .chunks_exact(2 + 2 * n)
                    .map(|row| Sample {
                        step: row[0] as u64,
                        time: row[1],
                        sections: [row[2..2 + n].to_vec(), row[2 + n..].to_vec()],
                    })
                    .collect(),
                stride: header.stride.max(1),
                residuals: std::array::from_fn(|i| residuals[i]),
                method: header.method,
                warnings: header.warnings,
            },
        })
    }

    /// Refuses an end that lies before the checkpoint.
    pub(super) fn check_end(&self, path: &Path) -> Result<()> {
        let Checkpoint { step, time, .. } = self.checkpoint;
        match (self.parameters.steps, self.parameters.until) {
            (Some(steps), _) if steps < step => Err(Error::file(
                path,
                format!("the checkpoint is at step {step}, past --steps {steps}"),
            )),
            (_, Some(Stop::Time(end))) if end < time => Err(Error::file(
                path,
                format!("the checkpoint is at time {time}, past --until {end}"),
            )),
            _ => Ok(()),
        }
    }

    /// The library's part, with the end that `parameters` has now, and the command's part.
    pub(super) fn split(mut self) -> (Checkpoint, State) {
        self.checkpoint.config.until = self.parameters.until();
        (self.checkpoint, self.state)
    }
}
