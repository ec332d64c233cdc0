//! `rarefy market`: economies as gases of agents.

mod parameters;
mod results;
mod verify;

use std::path::Path;
use std::time::Instant;

use super::failure::Failure;
use super::interrupt;
use super::progress::Progress;
use super::report::Report;
use super::steps;
use super::text::reason;
use crate::error::{Error, Result};
use crate::isotropic::market::{Histogram, Market, MarketConfig, Start, suitable_grid};
use parameters::Clock;
pub(super) use parameters::MarketArgs;
use results::{Outcome, Sample, Step, rows};
use verify::Repeats;

/// Days that are shown if none are asked for.
const DAYS: [f64; 5] = [100.0, 250.0, 500.0, 1000.0, 2000.0];

/// Steps that a run takes at most: each has its row in memory and in history.csv.
const MOST_STEPS: f64 = 1e7;

/// Times that are shown of a run without days.
const TIMES: [f64; 5] = [0.5, 1.0, 2.0, 5.0, 20.0];

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

/// Steps to the last of the points, with progress; returns the states at the points, and the history.
fn trade(
    market: &mut Market,
    (clock, points): (Clock, &[f64]),
    quiet: bool,
) -> std::result::Result<(Vec<Sample>, Vec<Step>), Failure> {
    let sample = |market: &mut Market| -> Result<(Sample, Step)> {
        let f = market.states()?.remove(0);
        Sample::new(market.history(0), f, clock)
    };
    let mut progress = Progress::new("market", quiet);
    let last_point = points.last().copied().unwrap_or(0.0);
    let mut ahead = points.iter().copied().peekable();
    let (mut before, step) = sample(market)?;
    let mut shown = vec![before.clone()];
    let mut history = vec![step];
    while let Some(&next) = ahead.peek() {
        if interrupt::asked() {
            progress.finish();
            let (name, reading) = (clock.name(), before.reading);
            return Err(Failure::Interrupted {
                after: format!("at {name} {reading:.1} of {last_point}"),
                rest: "nothing is saved, for 'rarefy market' has no checkpoints".into(),
            });
        }
        market.advance(1)?;
        let (after, step) = sample(market)?;
        if after.reading <= before.reading {
            return Err(Error::Numerical(format!(
                "no more value is traded at time {}; day {next} is never reached",
                market.time()
            ))
            .into());
        }
        while let Some(point) = ahead.next_if(|&point| point <= after.reading) {
            shown.push(before.between(&after, point));
        }
        history.push(step);
        progress.update(after.reading / last_point, || {
            let (name, reading, time) = (clock.name(), after.reading, after.time);
            format!("{name} {reading:.1}, t = {time:.2}")
        });
        before = after;
    }
    progress.finish();
    Ok((shown, history))
}

/// The clock of a run, and the readings at which the economy is shown.
fn clock_and_points(args: &MarketArgs) -> (Clock, &[f64]) {
    match (&args.days, &args.times, args.scenario) {
        (Some(days), _, _) => (Clock::Days, &days.0[..]),
        (None, Some(times), _) => (Clock::Encounters, &times.0[..]),
        (None, None, Some(_)) => (Clock::Days, &DAYS[..]),
        (None, None, None) => (Clock::Encounters, &TIMES[..]),
    }
}

/// The library's configuration of a run whose grid is known.
fn config(args: &MarketArgs, start: Start) -> Result<MarketConfig> {
    let (cells, emax) = (args.cells.unwrap_or(0), args.emax.unwrap_or(0.0));
    let mut config = MarketConfig::on_grid(args.mode.0, start, cells, emax)?;
    config.operator.compute = args.common.compute();
    config.integrator = args.integrator;
    config.dt = Some(args.dt);
    Ok(config)
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
        let repeats = Repeats {
            args: &parameters,
            start: &start,
            time: left,
        };
        let (refined, found) = verify::refined(&repeats, accuracy)?;
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

    let stepping = Instant::now();
    report.watch_for_signals();
    let (shown, history) = trade(&mut market, (clock, points), common.quiet)?;
    let spent = stepping.elapsed();
    report.time("steps", spent);

    let rest = market.equilibrium(0)?;
    let rows = rows(&operator, clock, &shown, &rest);
    let repeats = Repeats {
        args: &parameters,
        start: &start,
        time: market.time(),
    };
    let errors = verify::errors(&repeats, &rows, search.as_ref(), &mut report)?;
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
