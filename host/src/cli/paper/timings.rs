//! `rarefy paper timings`: times that a bench printed, drawn as the papers draw theirs.

mod bgk;
mod collision;
mod longman;
mod signed_digit;
mod table;

use std::path::{Path, PathBuf};
use std::time::Instant;

use serde::Serialize;

use crate::cli::failure::Failure;
use crate::cli::options::{Common, without_effect};
use crate::cli::plot::Figure;
use crate::cli::report::Report;
use crate::cli::text::shown;
use crate::compute::{Backend, Precision};
use crate::error::{Error, Result};

const EXAMPLES: &str = "\
Examples:
  cargo bench --bench bgk > bgk.txt                  in a checkout, beside a GPU
  rarefy paper timings bgk.txt --out figures         figures 2 to 5 and 7 of the paper on the BGK equation
  rarefy paper timings longman.txt --out figures     figures 7 to 13 of the paper on Longman's method";

/// Draw what a bench printed: the papers' figures of times
///
/// The benches are `collision`, `bgk`, `longman` and `signed_digit` of `cargo bench --bench NAME` in a checkout; the tables say which one it was. Figure 11 of
/// Longman's method, of errors, is computed, by the kernels on --backend or by those in the emulator.
#[derive(Clone, Debug, Serialize, clap::Args)]
#[command(after_help = EXAMPLES)]
pub(super) struct TimingsArgs {
    /// Output of a bench
    #[arg(value_name = "FILE")]
    #[serde(serialize_with = "shown")]
    file: PathBuf,
    #[command(flatten)]
    #[serde(flatten)]
    common: Common,
}

/// The times of a bench.
#[derive(Debug, PartialEq)]
pub(in crate::cli) struct Times(Bench);

/// A bench and its times.
#[derive(Debug, PartialEq)]
enum Bench {
    Bgk(bgk::Times),
    Collision(collision::Times),
    Longman(longman::Times),
    SignedDigit(signed_digit::Times),
}

impl Times {
    /// Reads what a bench printed.
    pub(in crate::cli) fn read(path: &Path) -> Result<Self> {
        let text = table::text(path)?;
        let found = [
            bgk::Times::parse(&text).map(Bench::Bgk),
            collision::Times::parse(&text).map(Bench::Collision),
            longman::Times::parse(&text).map(Bench::Longman),
            signed_digit::Times::parse(&text).map(Bench::SignedDigit),
        ];
        let mut found = found.into_iter().flatten();
        match (found.next(), found.next()) {
            (Some(times), None) => Ok(Self(times)),
            (None, _) => Err(Error::file(
                path,
                "holds no table of times; what `cargo bench --bench NAME` prints is needed, NAME one of bgk, collision, longman and signed_digit",
            )),
            (Some(_), Some(_)) => Err(Error::file(
                path,
                "holds the tables of several benches; give one at a time, for their figures have the same names",
            )),
        }
    }

    /// Tables by the names of their files.
    pub(in crate::cli) fn tables(&self) -> Result<Vec<(&'static str, Vec<u8>)>> {
        Ok(match &self.0 {
            Bench::Bgk(times) => times.tables()?,
            Bench::Collision(_) => vec![],
            Bench::Longman(times) => vec![("times.csv", times.table()?)],
            Bench::SignedDigit(times) => vec![("times.csv", times.table()?)],
        })
    }

    /// Figures by the names of their files.
    pub(in crate::cli) fn figures(&self) -> Vec<(&'static str, Figure)> {
        match &self.0 {
            Bench::Bgk(times) => times.figures(),
            Bench::Collision(times) => vec![("timings.png", times.plot())],
            Bench::Longman(times) => times.figures(),
            Bench::SignedDigit(times) => times.figures(),
        }
    }

    /// The title of the record.
    fn title(&self) -> &'static str {
        match &self.0 {
            Bench::Bgk(_) => "Figures 2 to 5 and 7 of the paper on the BGK equation",
            Bench::Collision(_) => "Times of one collision integral",
            Bench::Longman(_) => "Figures 7 to 13 of the paper on Longman's method",
            Bench::SignedDigit(_) => "Figures 5 to 7 of the paper on signed digits",
        }
    }
}

/// Runs the command.
pub(super) fn run(args: &TimingsArgs) -> std::result::Result<(), Failure> {
    let common = &args.common;
    let begun = Instant::now();
    if common.out.is_none() {
        return Err(Failure::Usage(
            "timings draws plots: --out DIR is needed".into(),
        ));
    }
    let times = Times::read(&args.file)?;
    let computes = matches!(times.0, Bench::Longman(_));
    without_effect(
        "times that a bench printed",
        &[
            ("precision", common.precision != Precision::F64),
            ("backend", !computes && common.backend != Backend::Auto),
        ],
    )?;
    let mut report = Report::new("paper timings", args, common, begun);
    report.reads(&args.file);
    report.open_given()?;
    let errors = match computes {
        true => {
            let machine = common.compute().resolve()?;
            report.set("machine", machine.describe());
            Some(longman::Precisions::new(&machine)?)
        }
        false => None,
    };
    report.write(|out| {
        for (name, table) in times.tables()? {
            out.put(name, &table)?;
        }
        for (name, figure) in times.figures() {
            out.plot(name, figure);
        }
        if let Some(errors) = &errors {
            out.put("figure_11.csv", &errors.table()?)?;
            out.plot("figure_11.png", errors.figure());
        }
        Ok(())
    })?;
    report.finish(|total| format!("{} ({:.2} s)", times.title(), total.as_secs_f64()))
}
