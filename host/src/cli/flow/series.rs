//! Fields and distributions of a run in time, saved on the way.

use std::collections::BTreeSet;
use std::path::Path;

use super::case::Flow;
use super::fields;
use crate::bgk::{March, Units, VelocitySpace};
use crate::cli::names::SERIES;
use crate::cli::npy;
use crate::cli::report::Report;
use crate::cli::rotation;
use crate::cli::vti;
use crate::compute::Precision;
use crate::error::Result;
use crate::run::Run;

/// The list of its fields with their times, as ParaView opens it.
const COLLECTION: &str = "fields.pvd";

/// Fields and distributions that a run saves.
pub(super) struct Series {
    every: Option<u64>,
    /// Cells of which the distribution is saved.
    places: Vec<usize>,
    units: Option<Units>,
    dt: f64,
    /// The steps of saved fields.
    steps: BTreeSet<u64>,
    /// The step of the last save.
    saved: Option<u64>,
}

impl Series {
    /// The series that the flags of a flow in full ask for; none without them, or without a folder.
    pub(super) fn of<F: Flow>(flow: &F, run: &March, report: &mut Report) -> Result<Option<Self>> {
        let options = flow.time_options();
        if options.save_every.is_none() && options.save_f.is_none() {
            return Ok(None);
        }
        let Some(folder) = report.folder() else {
            return Ok(None);
        };
        let folder = folder.join(SERIES);
        let places = match &options.save_f {
            Some(cells) => cells.places(&run.space())?,
            None => Vec::new(),
        };
        report.make_series(&folder)?;
        // The files of a run that goes on are its own; others may have stayed from another run.
        let steps = match run.steps_taken() {
            0 => BTreeSet::new(),
            now => earlier(&folder, now, report),
        };
        if !places.is_empty() {
            let velocity = run.velocities()?;
            for (name, axis) in ["vx", "vy", "vz"].iter().zip(velocity.axes()) {
                for (what, values) in [("grid", axis.nodes()), ("weights", axis.weights())] {
                    let array = npy::encode(&[axis.len()], values, Precision::F64);
                    report.write_now(&folder.join(format!("{what}_{name}.npy")), &array)?;
                }
            }
        }
        Ok(Some(Self {
            every: options.save_every,
            places,
            units: flow.si().units()?,
            dt: options.dt.unwrap_or(f64::NAN),
            steps,
            saved: None,
        }))
    }

    /// The next step at which there is something to save.
    pub(super) fn next(&self, step: u64) -> u64 {
        self.every.map_or(u64::MAX, |every| {
            (step / every).saturating_add(1).saturating_mul(every)
        })
    }

    /// Saves the state of the run if this is a step for it, or its end.
    pub(super) fn save(
        &mut self,
        run: &mut March,
        at_the_end: bool,
        report: &mut Report,
    ) -> Result<()> {
        let step = run.steps_taken();
        let due = self.every.is_some_and(|every| step.is_multiple_of(every));
        if !(due || at_the_end) || self.saved == Some(step) {
            return Ok(());
        }
        self.saved = Some(step);
        let Some(folder) = report.folder().map(|folder| folder.join(SERIES)) else {
            return Ok(());
        };
        if self.every.is_some() {
            let moments = run.moments()?;
            let mut image = fields::image(&run.space(), &moments, self.units.as_ref());
            rotation::add_fields(&mut image, &run.rotation()?, self.units.as_ref());
            report.write_now(&folder.join(fields_of(step)), &image.encode())?;
            self.collect(&folder, step, report)?;
        }
        if !self.places.is_empty() {
            let velocity = run.velocities()?;
            let f = run.distributions(&self.places)?;
            let shape = [&[self.places.len()], &shape(&velocity)[..]].concat();
            let array = npy::encode(&shape, &f, Precision::F64);
            report.write_now(&folder.join(format!("f-{step:08}.npy")), &array)?;
        }
        Ok(())
    }

    /// Lists the fields with their times.
    fn collect(&mut self, folder: &Path, step: u64, report: &mut Report) -> Result<()> {
        self.steps.insert(step);
        let time = self.units.as_ref().map_or(1.0, |units| units.time_s) * self.dt;
        let members = self.steps.iter().map(|step| {
            let file = format!("{SERIES}/{}", fields_of(*step));
            (*step as f64 * time, file)
        });
        let beside = folder.with_file_name(COLLECTION);
        report.write_now(&beside, &vti::collection(members))
    }
}

/// The file of the fields of a step.
fn fields_of(step: u64) -> String {
    format!("fields-{step:08}.vti")
}

/// The steps up to `now` whose fields the run has written before. Its fields and distributions are listed as results.
fn earlier(folder: &Path, now: u64, report: &mut Report) -> BTreeSet<u64> {
    let mut steps = BTreeSet::new();
    let names = report
        .written()
        .filter_map(|name| name.strip_prefix(SERIES)?.strip_prefix('/'));
    let names: Vec<String> = names.map(str::to_owned).collect();
    for name in names {
        let step = |start: &str, end: &str| -> Option<u64> {
            let digits = name.strip_prefix(start)?.strip_suffix(end)?;
            digits.parse().ok().filter(|step| *step <= now)
        };
        let fields = step("fields-", ".vti");
        if fields.or_else(|| step("f-", ".npy")).is_some() {
            report.lists(&folder.join(&name));
        }
        steps.extend(fields);
    }
    steps
}

/// Shape of a distribution: nodes along v_x, v_y and v_z, or two functions in the place of velocities that are integrated out.
fn shape(velocity: &VelocitySpace) -> Vec<usize> {
    let mut shape: Vec<usize> = velocity.axes().iter().map(|axis| axis.len()).collect();
    if velocity.is_reduced() {
        shape.push(velocity.shape()[2]);
    }
    shape
}
