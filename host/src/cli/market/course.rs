//! The course of an economy in time.

use super::parameters::{Clock, MarketArgs};
use super::results::{Sample, Step};
use crate::cli::failure::Failure;
use crate::cli::interrupt;
use crate::cli::progress::Progress;
use crate::error::{Error, Result};
use crate::isotropic::market::{Market, MarketConfig, Start};

/// Days that are shown if none are asked for.
const DAYS: [f64; 5] = [100.0, 250.0, 500.0, 1000.0, 2000.0];

/// Times that are shown of a run without days.
const TIMES: [f64; 5] = [0.5, 1.0, 2.0, 5.0, 20.0];

/// Steps to the last of the points, with progress; returns the states at the points, and the history.
pub(super) fn trade(
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
pub(super) fn clock_and_points(args: &MarketArgs) -> (Clock, &[f64]) {
    match (&args.days, &args.times, args.scenario) {
        (Some(days), _, _) => (Clock::Days, &days.0[..]),
        (None, Some(times), _) => (Clock::Encounters, &times.0[..]),
        (None, None, Some(_)) => (Clock::Days, &DAYS[..]),
        (None, None, None) => (Clock::Encounters, &TIMES[..]),
    }
}

/// The library's configuration of a run whose grid is known.
pub(super) fn config(args: &MarketArgs, start: Start) -> Result<MarketConfig> {
    let (cells, emax) = (args.cells.unwrap_or(0), args.emax.unwrap_or(0.0));
    let mut config = MarketConfig::on_grid(args.mode.0, start, cells, emax)?;
    config.operator.compute = args.common.compute();
    config.integrator = args.integrator;
    config.dt = Some(args.dt);
    Ok(config)
}
