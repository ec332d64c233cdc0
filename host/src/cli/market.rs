//! `rarefy market`: economies as gases of agents.

mod parameters;
mod results;

use std::path::Path;
use std::time::Instant;

use super::failure::Failure;
use super::progress::Progress;
use super::report::Report;
use super::text::reason;
use crate::error::{Error, Result};
use crate::isotropic::market::{Histogram, TradeVolume, grid_around_one, suitable_grid};
use crate::isotropic::{
    CollisionKernel, EnergyGrid, OperatorConfig, Relaxation, RelaxationConfig, Weights, initial,
};
use parameters::Clock;
pub(super) use parameters::MarketArgs;
use results::{Outcome, Sample, Shift, Step};

/// Days that are shown if none are asked for.
const DAYS: [f64; 5] = [100.0, 250.0, 500.0, 1000.0, 2000.0];

/// Times that are shown of a run without days.
const TIMES: [f64; 5] = [0.5, 1.0, 2.0, 5.0, 20.0];

/// Reads the rows of a histogram.
pub(super) fn read_histogram(path: &Path) -> Result<Histogram> {
    let refuse = |text: String| Error::file(path, text);
    let bytes = std::fs::read(path).map_err(|e| Error::file(path, reason(&e)))?;
    let mut reader = csv::ReaderBuilder::new()
        .trim(csv::Trim::All)
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

/// Cells and largest wealth, as asked for or as the law needs them, and the operator.
fn operator(
    args: &MarketArgs,
    histogram: Option<&Histogram>,
) -> Result<(usize, f64, OperatorConfig)> {
    let law = args.mode.0;
    let weights = match law {
        // The weight has an integrable pole at 0 below the shape 1.
        CollisionKernel::Gamma { .. } => Weights::Cell,
        _ => Weights::Center,
    };
    // A histogram that reaches further than usual is refused unless a grid for it is asked for.
    let least = histogram.map_or(0.0, |h| h.in_units_of_the_mean().end().min(16.0));
    let (cells, emax) = suitable_grid(law, weights, args.cells, args.emax, least)?;
    let grid = match histogram {
        None => grid_around_one(cells, emax)?,
        Some(_) => EnergyGrid::new(cells, emax)?,
    };
    let config = OperatorConfig {
        compute: args.common.compute(),
        weights,
        ..OperatorConfig::new(grid, law)
    };
    Ok((cells, emax, config))
}

/// The initial distribution, and the shift of a histogram.
fn initial_state(
    config: &OperatorConfig,
    histogram: Option<Histogram>,
) -> Result<(Vec<f64>, Option<Shift>)> {
    let measure = config.measure();
    // Agents of each cell, then the state that the law works on.
    let (agents, shift): (Vec<f64>, _) = match histogram {
        None => {
            let f = initial::delta(config, 1.0)?;
            (f.iter().zip(&measure).map(|(f, m)| f * m).collect(), None)
        }
        Some(histogram) => {
            let mean = histogram.mean();
            let agents = histogram.in_units_of_the_mean().rebin(&config.grid)?;
            let cells = agents.iter().enumerate();
            let centred: f64 = cells.map(|(i, p)| p * config.grid.energy(i)).sum();
            (agents, Some((mean, centred - 1.0)))
        }
    };
    let f = agents.iter().zip(&measure).map(|(p, m)| p / m).collect();
    Ok((f, shift))
}

/// Steps to the last of the points, with progress; returns the states at the points, and the history.
fn trade(
    run: &mut Relaxation,
    volume: &TradeVolume,
    f: Vec<f64>,
    (clock, points): (Clock, &[f64]),
    quiet: bool,
) -> Result<(Vec<Sample>, Vec<Step>)> {
    let RelaxationConfig {
        operator, dt: step, ..
    } = run.config().clone();
    let mut progress = Progress::new("market", quiet);
    let last_point = points.last().copied().unwrap_or(0.0);
    let mut ahead = points.iter().copied().peekable();
    let mut before = Sample {
        reading: 0.0,
        time: 0.0,
        volume: 0.0,
        volume_rate: volume.rate(&f),
        f,
    };
    let mut shown = vec![before.clone()];
    let mut history = vec![before.summary(&operator)];
    while let Some(&next) = ahead.peek() {
        run.advance(1)?;
        let f = run.states()?.remove(0);
        let volume_rate = volume.rate(&f);
        let dt = step.unwrap_or_default();
        let traded = before.volume + dt * (before.volume_rate + volume_rate) / 2.0;
        let after = Sample {
            reading: clock.reading(run.time(), traded),
            time: run.time(),
            volume: traded,
            volume_rate,
            f,
        };
        if after.reading <= before.reading {
            return Err(Error::Numerical(format!(
                "no more value is traded at time {}; day {next} is never reached",
                run.time()
            )));
        }
        while let Some(point) = ahead.next_if(|&point| point <= after.reading) {
            shown.push(before.between(&after, point));
        }
        history.push(after.summary(&operator));
        progress.update(after.reading / last_point, || {
            let (name, reading, time) = (clock.name(), after.reading, after.time);
            format!("{name} {reading:.1}, t = {time:.2}")
        });
        before = after;
    }
    progress.finish();
    Ok((shown, history))
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
    let (cells, emax, config) = operator(args, histogram.as_ref())?;
    let (f, shift) = initial_state(&config, histogram)?;
    let (clock, points) = match (&args.days, &args.times, args.scenario) {
        (Some(days), _, _) => (Clock::Days, &days.0[..]),
        (None, Some(times), _) => (Clock::Encounters, &times.0[..]),
        (None, None, Some(_)) => (Clock::Days, &DAYS[..]),
        (None, None, None) => (Clock::Encounters, &TIMES[..]),
    };
    let parameters = MarketArgs {
        cells: Some(cells),
        emax: Some(emax),
        ..args.clone()
    };
    let mut report = Report::new("market", &parameters, common, started);
    args.input.iter().for_each(|path| report.reads(path));
    report.open()?;
    let volume = TradeVolume::new(&config)?;
    let mut run = Relaxation::new(
        RelaxationConfig {
            operator: config.clone(),
            integrator: args.integrator,
            dt: Some(args.dt),
            every: 1,
        },
        std::slice::from_ref(&f),
    )?;
    for warning in run.warnings() {
        report.warn(warning.clone());
    }
    report.time("setup", started.elapsed());

    let stepping = Instant::now();
    let (shown, history) = trade(&mut run, &volume, f, (clock, points), common.quiet)?;
    let spent = stepping.elapsed();
    report.time("steps", spent);

    let moments = run.history(0)[0].moments;
    let rest = initial::equilibrium(&config, moments.number, moments.energy)?;
    let outcome = Outcome {
        parameters: &parameters,
        config: &config,
        clock,
        run: &run,
        shown: &shown,
        history: &history,
        equilibrium: &rest,
        shift,
    };
    outcome.report(&mut report);
    report.write(|out| outcome.write(out))?;
    report.finish(|total| outcome.summary(spent, total))
}
