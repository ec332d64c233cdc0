//! `rarefy market`: economies as gases of agents.

mod course;
mod parameters;
mod results;
mod verify;

use std::path::Path;
use std::time::Instant;

use super::failure::Failure;
use super::report::Report;
use super::steps;
use super::text::reason;
use crate::error::{Error, Result};
use crate::isotropic::market::{Histogram, Market, Start, suitable_grid};
use course::{clock_and_points, config, trade};
pub(super) use parameters::MarketArgs;
use results::{Outcome, rows};
use verify::Run;

/// Steps that a run takes at most: each has its row in memory and in history.csv.
const MOST_STEPS: f64 = 1e7;

/// Reads the rows of a histogram.
pub(super) fn read_histogram(path: &Path) -> Result<Histogram> {
    let refuse = |text: String| Error::file(path, text);
    let bytes = std::fs::read(path).map_err(|e| Error::file(path, reason(&e)))?;
    let mut reader = csv::ReaderBuilder::new()
        .trim(csv::Trim::All)
        .flexible(true)
        .comment(Some(b'#'))
        .from_reader(&bytes[..]);
    let header = reader.headers().map_err(|e| refuse(e.to_string()))?;
    if header.iter().ne(["x_lo", "x_hi", "share"]) {
        return Err(refuse(format!(
            "the first line must name the columns x_lo,x_hi,share; it is '{}'",
            header.iter().collect::<Vec<_>>().join(",")
        )));
    }
    let mut rows = Vec::new();
    for record in reader.records() {
        let record = record.map_err(|e| refuse(e.to_string()))?;
        let line = record.position().map_or(0, csv::Position::line);
        if record.len() != 3 {
            let count = record.len();
            return Err(refuse(format!(
                "line {line} has {count} values; expected 3: x_lo,x_hi,share"
            )));
        }
        let mut row = [0.0; 3];
        for (slot, text) in row.iter_mut().zip(record.iter()) {
            *slot = text
                .parse()
                .map_err(|_| refuse(format!("line {line}: '{text}' is not a number")))?;
        }
        rows.push(row);
    }
    Histogram::new(&rows).map_err(|e| refuse(e.to_string()))
}

/// Runs the command.
pub(super) fn run(args: &MarketArgs) -> std::result::Result<(), Failure> {
    let started = Instant::now();
    let common = &args.common;
    if args.scenario.is_none() && args.input.is_none() {
        return Err(Failure::Usage(
            "--scenario voucher or --input FILE is needed".into(),
        ));
    }
    let histogram = args.input.as_deref().map(read_histogram).transpose()?;
    let start = histogram.map_or(Start::Equal, Start::Histogram);
    let (cells, emax) = suitable_grid(args.mode.0, &start, args.cells, args.emax)?;
    let mut parameters = MarketArgs {
        cells: Some(cells),
        emax: Some(emax),
        ..args.clone()
    };
    let (clock, points) = clock_and_points(args);
    let mut report = Report::new("market", &parameters, common, started);
    args.input.iter().for_each(|path| report.reads(path));
    report.open()?;
    let mut market = Market::new(config(&parameters, start.clone())?)?;
    let end = points.last().copied().unwrap_or(0.0);
    let left = clock.time_to(end, market.history(0)[0].trade_rate);
    steps::bounded(("--dt", args.dt), [left, args.dt], MOST_STEPS)?;
    let mut search = None;
    if let Some(accuracy) = args.verify.accuracy {
        report.watch_for_signals();
        let whole = Run {
            args: &parameters,
            start: &start,
            time: left,
        };
        let (refined, found) = whole.refined(accuracy)?;
        (parameters, search) = (refined, Some(found));
        report.time("search", started.elapsed());
        report.set_parameters(&parameters);
        market = Market::new(config(&parameters, start.clone())?)?;
    }
    let operator = market.config().operator.clone();
    let shift = match &market.config().economies[..] {
        [Start::Histogram(histogram)] => {
            Some((histogram.mean(), histogram.shift_of_mean(&operator.grid)?))
        }
        _ => None,
    };
    for warning in market.warnings() {
        report.warn(warning.clone());
    }
    report.time("setup", started.elapsed());

    let (shown, history, spent) = trade(&mut market, (clock, points), common.quiet, &mut report)?;

    let rest = market.equilibrium(0)?;
    let rows = rows(&operator, clock, &shown, &rest);
    let whole = Run {
        args: &parameters,
        start: &start,
        time: market.time(),
    };
    let errors = whole.errors(&rows, search.as_ref(), &mut report)?;
    let outcome = Outcome {
        rows,
        errors,
        parameters: &parameters,
        config: &operator,
        clock,
        market: &market,
        shown: &shown,
        history: &history,
        equilibrium: &rest,
        shift,
    };
    outcome.report(&mut report);
    report.write(|out| outcome.write(out))?;
    report.finish(|total| outcome.summary(spent, total))
}
