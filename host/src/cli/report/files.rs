//! The tables, arrays and plots of a run.

use std::mem::take;
use std::path::PathBuf;

use rayon::prelude::*;
use serde::Serialize;

use super::{Artefact, Report};
use crate::cli::npy;
use crate::cli::output;
use crate::cli::plot::Figure;
use crate::compute::Precision;
use crate::error::Result;
use crate::gpu::close_ahead;

impl Report {
    /// Writes the results of a run that has a folder.
    pub(in crate::cli) fn write(
        &mut self,
        results: impl FnOnce(&mut Output) -> Result<()>,
    ) -> Result<()> {
        self.watch_for_signals();
        if self.case.is_none() {
            // The context closes while plots are drawn. In a sweep the next case needs it.
            close_ahead();
        }
        match self.folder.clone().filter(|_| !self.mute) {
            Some(folder) => {
                let mut output = Output {
                    report: self,
                    folder,
                    figures: Vec::new(),
                };
                results(&mut output)?;
                output.draw()
            }
            None => Ok(()),
        }
    }
}

/// Where the results of a run go: tables, arrays and plots in its folder.
pub(in crate::cli) struct Output<'a> {
    report: &'a mut Report,
    folder: PathBuf,
    /// Plots by their names.
    figures: Vec<(String, Figure)>,
}

impl Output<'_> {
    /// A file.
    pub(in crate::cli) fn put(
        &mut self,
        name: &str,
        bytes: &(impl Artefact + ?Sized),
    ) -> Result<()> {
        self.report.stage(&self.folder.join(name), bytes)
    }

    /// A table with these columns.
    pub(in crate::cli) fn table(
        &mut self,
        name: &str,
        columns: &[&str],
        rows: impl IntoIterator<Item = impl Serialize>,
    ) -> Result<()> {
        self.put(name, &output::table(columns, rows)?)
    }

    /// A table with a column for each field of a record.
    pub(in crate::cli) fn records(&mut self, name: &str, rows: &[impl Serialize]) -> Result<()> {
        self.put(name, &output::records(rows)?)
    }

    /// An array.
    pub(in crate::cli) fn array(
        &mut self,
        name: &str,
        shape: &[usize],
        values: &[f64],
        precision: Precision,
    ) -> Result<()> {
        self.put(name, &npy::encode(shape, values, precision))
    }

    /// The places of a grid along an axis, beside the arrays on it.
    pub(in crate::cli) fn grid(&mut self, name: &str, places: &[f64]) -> Result<()> {
        self.array(name, &[places.len()], places, Precision::F64)
    }

    /// A plot, as PNG and SVG.
    pub(in crate::cli) fn plot(&mut self, name: &str, figure: Figure) {
        self.figures.push((name.to_owned(), figure));
    }

    /// Draws the plots, all at once: they take longer than a short run on a GPU.
    fn draw(&mut self) -> Result<()> {
        let figures = take(&mut self.figures);
        let pictures: Vec<_> = figures
            .par_iter()
            .map(|(_, figure)| figure.png())
            .collect::<Result<_>>()?;
        for ((name, _), picture) in figures.iter().zip(&pictures) {
            self.put(name, picture)?;
        }
        Ok(())
    }
}
