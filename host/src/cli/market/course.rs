//! The course of an economy in time.

use std::ops::ControlFlow;
use std::time::Duration;

use super::parameters::{Clock, MarketArgs};
use super::results::{Sample, Step};
use crate::accuracy::{Watch, Watched};
use crate::cli::drive::{self, CommandObserver};
use crate::cli::failure::Failure;
use crate::cli::report::Report;
use crate::error::{Error, Result};
use crate::isotropic::market::{Market, MarketConfig, Start};
use crate::run::{self, Ending, Goal, Now};

/// Days that are shown if none are asked for.
const DAYS: [f64; 5] = [100.0, 250.0, 500.0, 1000.0, 2000.0];

/// Times that are shown of a run without days.
const TIMES: [f64; 5] = [0.5, 1.0, 2.0, 5.0, 20.0];

/// An economy on its way to the last of the points.
struct MarketObserver<'a> {
    clock: Clock,
    /// The points that are still ahead.
    ahead: &'a [f64],
    /// The last point.
    last: f64,
    /// The state after the last step, those at the points so far, and the history.
    before: Sample,
    shown: Vec<Sample>,
    history: Vec<Step>,
}

fn sample(market: &mut Market, clock: Clock) -> Result<(Sample, Step)> {
    let f = market.states()?.remove(0);
    Sample::new(market.history(0), f, clock)
}

impl CommandObserver<Market> for MarketObserver<'_> {
    /// Points lie between two steps.
    fn next(&self, _: &Market) -> u64 {
        1
    }

    fn record(&mut self, market: &mut Market, now: &Now) -> Result<ControlFlow<Ending>> {
        let (after, step) = sample(market, self.clock)?;
        let next = self.ahead.first().copied().unwrap_or(self.last);
        if after.reading <= self.before.reading {
            return Err(Error::Numerical(format!(
                "no more value is traded at time {}; day {next} is never reached",
                now.time
            )));
        }
        while let Some((&point, ahead)) = self.ahead.split_first()
            && point <= after.reading
        {
            self.shown.push(self.before.between(&after, point));
            self.ahead = ahead;
        }
        self.history.push(step);
        self.before = after;
        Ok(match self.ahead {
            [] => ControlFlow::Break(Ending::Reached),
            _ => ControlFlow::Continue(()),
        })
    }

    fn stopped(&mut self, _: &mut Market, _: &mut Report) -> Failure {
        let (name, reading, last) = (self.clock.name(), self.before.reading, self.last);
        Failure::Interrupted {
            after: format!("at {name} {reading:.1} of {last}"),
            rest: "nothing is saved, for 'rarefy market' has no checkpoints".into(),
        }
    }

    fn progress(&self, _: &Market, now: &Now) -> (f64, String) {
        let (name, reading, time) = (self.clock.name(), self.before.reading, now.time);
        let text = format!("{name} {reading:.1}, t = {time:.2}");
        (reading / self.last, text)
    }
}

impl<'a> MarketObserver<'a> {
    fn new(market: &mut Market, (clock, points): (Clock, &'a [f64])) -> Result<Self> {
        let (before, step) = sample(market, clock)?;
        Ok(Self {
            clock,
            ahead: points,
            last: points.last().copied().unwrap_or(0.0),
            shown: vec![before.clone()],
            before,
            history: vec![step],
        })
    }

    /// The economy itself has no end.
    fn goal(&self) -> Goal {
        match self.ahead {
            [] => Goal::steps(0),
            _ => Goal::default(),
        }
    }
}

/// Steps to the last of the points, with progress; returns the states at the points, the history, and the time that it took.
pub(super) fn trade(
    market: &mut Market,
    (clock, points): (Clock, &[f64]),
    quiet: bool,
    report: &mut Report,
) -> std::result::Result<(Vec<Sample>, Vec<Step>, Duration), Failure> {
    let mut observer = MarketObserver::new(market, (clock, points))?;
    let driving = ("market", None, quiet);
    let completed = drive::drive(market, &observer.goal(), &mut observer, driving, report)?;
    report.time("steps", completed.spent);
    Ok((observer.shown, observer.history, completed.spent))
}

/// The states at the points, without a word; none if the work is stopped.
pub(super) fn shown(
    market: &mut Market,
    (clock, points): (Clock, &[f64]),
    watch: &dyn Watch,
) -> Result<Option<Vec<Sample>>> {
    let mut observer = MarketObserver::new(market, (clock, points))?;
    let goal = observer.goal();
    let see = |market: &mut Market, now: &Now| match now.step {
        0 => Ok(ControlFlow::Continue(())),
        _ => observer.record(market, now),
    };
    let ending = run::drive(market, &goal, &mut run::every(1, (Watched(watch), see)))?;
    Ok((ending != Ending::Interrupted).then_some(observer.shown))
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
