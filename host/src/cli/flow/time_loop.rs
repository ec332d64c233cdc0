//! The loop over the steps of a run in time: progress, checkpoints, the end.

use std::path::PathBuf;
use std::time::Instant;

use serde::Serialize;

use super::arguments::TimeOptions;
use super::case::{Flow, Run, Snapshot};
use super::course::{Course, History};
use super::kept::{self, looked_as_array};
use super::series::Series;
use crate::bgk::{
    Boundaries, Boundary, FaceFlux, Moments, Simulation, SimulationConfig, Space, State,
    VelocitySpace,
};
use crate::cli::checkpoint::{Array, Arrays, Take};
use crate::cli::failure::Failure;
use crate::cli::interrupt;
use crate::cli::progress::Progress;
use crate::cli::ranks;
use crate::cli::report::Report;
use crate::cli::resume::{self, Pace};
use crate::error::Result;

/// Steps between two evaluations of the residual.
const LOOK: u64 = 50;

impl Run for Simulation {
    fn step(&self) -> u64 {
        self.steps_taken()
    }
    fn time(&self) -> f64 {
        self.time()
    }
    fn machine(&self) -> String {
        self.device()
    }
    fn advance(&mut self, steps: u64) -> Result<()> {
        self.advance(steps)
    }
    fn residual(&mut self) -> Result<f64> {
        self.residual()
    }
    fn space(&self) -> Space {
        self.config().problem.space
    }
    fn velocities(&self) -> Result<VelocitySpace> {
        Ok(self.config().problem.velocity.clone())
    }
    fn moments(&mut self) -> Result<Vec<Moments>> {
        self.moments()
    }
    fn distributions(&mut self, places: &[usize]) -> Result<Vec<f64>> {
        let populations = self.state()?;
        let problem = &self.config().problem;
        let (cells, velocity) = (problem.space.cells(), &problem.velocity);
        let [nx, ny, inner] = velocity.shape();
        let along = |m: usize| velocity.z().map_or(1.0, |z| z.weights()[m]);
        let mut found = Vec::with_capacity(places.len() * velocity.nodes());
        for place in places {
            for node in 0..nx * ny * inner {
                let weight = velocity.x().weights()[node / (ny * inner)]
                    * velocity.y_weights()[node / inner % ny]
                    * along(node % inner);
                found.push(populations[node * cells + place] / weight);
            }
        }
        Ok(found)
    }
    fn patience(&self) -> Option<u64> {
        let config = self.config();
        let problem = &config.problem;
        let frequency = problem.gas.frequency;
        patience(&problem.space, &problem.boundaries, frequency, config.dt)
    }
    fn save(&mut self) -> Result<Snapshot<'_>> {
        let several = ranks::are_several();
        let part = several.then(|| self.checkpoint_part()).transpose()?;
        let head = match several {
            true => self.checkpoint_head()?,
            false => self.checkpoint_without_populations()?,
        };
        let faces = head
            .faces
            .iter()
            .flat_map(FaceFlux::numbers)
            .collect::<Vec<f64>>();
        let mut arrays = Arrays::from([("faces".to_owned(), faces.into())]);
        if let Some(looked) = &head.looked {
            arrays.insert("looked".into(), looked_as_array(looked).into());
        }
        let part = part.map(|part| (part, head.config.symmetry_reduction));
        if !several {
            arrays.insert("extra".into(), head.extra.into());
            let count = self.config().populations();
            let pieces = Box::new(|take: &mut Take<'_>| self.visit_populations(take));
            arrays.insert("populations".into(), Array::Pieces(count, pieces));
        }
        Ok(Snapshot { arrays, part })
    }
}

/// Halvings of the slowest healthy residual without one of which a run has come as far as it can.
const HALVINGS: f64 = 5.0;
/// Fewest steps of patience: the first residuals vary.
const LEAST_PATIENCE: u64 = 2000;

/// Steps within which the residual of a healthy run halves, many times over; none where nothing bounds them.
///
/// Sound, or the slowest signal of the streams that come in, crosses the domain; shear diffuses across it between walls, which take up a
/// share of it only; and collisions take a time 1/nu.
pub(super) fn patience(
    space: &Space,
    boundaries: &Boundaries,
    frequency: f64,
    step: f64,
) -> Option<u64> {
    let length = (0..space.dimensions())
        .map(|d| space.bounds(d)[1] - space.bounds(d)[0])
        .fold(0.0, f64::max);
    let slowest_of = |state: &State| {
        let sound = (5.0 / 6.0 * state.temperature).sqrt();
        let flow = state.velocity[0].hypot(state.velocity[1]);
        [flow - sound, flow, flow + sound]
            .map(f64::abs)
            .into_iter()
            .filter(|speed| *speed > 1e-3 * sound)
            .fold(f64::INFINITY, f64::min)
    };
    let (mut slowest, mut share, mut closed) = (f64::INFINITY, 1.0_f64, false);
    for d in 0..space.dimensions() {
        for face in boundaries.along(d) {
            match face {
                Boundary::Inflow(state) => slowest = slowest.min(slowest_of(&state)),
                Boundary::Wall(wall) => {
                    closed = true;
                    share = share.min(wall.accommodation);
                }
                Boundary::Specular | Boundary::Periodic => closed = true,
            }
        }
    }
    if closed {
        slowest = slowest.min(slowest_of(&State::REST));
    }
    let crossing = length / slowest / share;
    // The slowest mode of a viscosity T / (2 nu) falls as exp(-pi^2 T t / (2 nu L^2)).
    let diffusion = if closed {
        2.0 * std::f64::consts::LN_2 * frequency * (length / std::f64::consts::PI).powi(2)
    } else {
        0.0
    };
    let time = crossing + diffusion + 1.0 / frequency;
    let steps = HALVINGS * time / step;
    (steps < 1e15).then(|| (steps as u64).max(LEAST_PATIENCE))
}

/// Relative error that the end of a run at this residual leaves: its rate of change, over the rate at which a healthy run settles.
pub(super) fn left<R: Run>(run: &R, residual: f64) -> f64 {
    let dt = run.time() / run.step().max(1) as f64;
    let steps = run.patience().unwrap_or(LEAST_PATIENCE) as f64;
    residual * steps * dt / HALVINGS
}

/// How a run in time ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "kebab-case")]
enum Status {
    /// The steps that were asked for are taken.
    Done,
    /// The residual that was asked for is reached.
    Converged,
    /// The residual no longer falls.
    Stalled,
    /// The steps ended before.
    Unfinished,
}

/// The last residual that was at most half of the one before it in this row, and when.
struct Fall {
    step: u64,
    residual: f64,
}

impl Fall {
    fn from(step: u64) -> Self {
        Self {
            step,
            residual: f64::INFINITY,
        }
    }

    /// Notes a residual; steps since one was half of those before.
    fn steps_without_half(&mut self, step: u64, residual: f64) -> u64 {
        if residual <= 0.5 * self.residual {
            *self = Self { step, residual };
        }
        step - self.step
    }
}

/// A run on its way.
struct TimeLoop<'a, F: Flow> {
    parameters: &'a F,
    end: TimeOptions,
    last_step: u64,
    simulation: &'a mut F::Run,
    history: History,
    residual: f64,
    fall: Fall,
    /// Whether the residual no longer falls.
    level: bool,
    /// Fields that are saved on the way.
    series: Option<Series>,
}

impl<F: Flow> TimeLoop<'_, F> {
    fn save(&mut self, report: &mut Report) -> Result<Option<PathBuf>> {
        let (machine, step) = (self.simulation.machine(), self.simulation.step());
        let Self {
            parameters,
            simulation,
            history,
            ..
        } = self;
        kept::save(report, *parameters, machine, step, || {
            let mut saved = simulation.save()?;
            let rows = history.iter();
            let rows = rows.flat_map(|&(step, time, residual)| [step as f64, time, residual]);
            let rows: Vec<f64> = rows.collect();
            saved.arrays.insert("history".into(), rows.into());
            Ok(saved)
        })
    }

    /// Saves fields and distributions where they are due.
    fn save_series(&mut self, report: &mut Report) -> Result<()> {
        let over = self.is_over();
        match &mut self.series {
            Some(series) => series.save(self.simulation, over, report),
            None => Ok(()),
        }
    }

    fn is_reached(&self) -> bool {
        let until = self.end.until_residual;
        until.is_some_and(|until| self.residual <= until)
    }

    fn is_over(&self) -> bool {
        self.simulation.step() >= self.last_step || self.is_reached() || self.level
    }

    /// Steps to take at once: to the next look, checkpoint or end, or for a second.
    fn part(&self, pace: &Pace) -> u64 {
        // Residuals are looked at in multiples of their distance, whatever the run was interrupted at.
        let now = self.simulation.step();
        let next = self.last_step.min((now / LOOK + 1) * LOOK);
        let next = next.min(now.saturating_add(pace.steps()));
        let next = match &self.series {
            Some(series) => next.min(series.next(now)),
            None => next,
        };
        let every = self.end.checkpoint_every;
        every.map_or(next, |every| next.min((now / every + 1) * every)) - now
    }

    /// Notes the residual.
    fn look(&mut self) -> Result<()> {
        let Self { simulation, .. } = self;
        self.residual = simulation.residual()?;
        let (step, time) = (simulation.step(), simulation.time());
        self.history.push((step, time, self.residual));
        let still = self.fall.steps_without_half(step, self.residual);
        let patience = simulation.patience();
        self.level =
            self.end.until_residual.is_some() && patience.is_some_and(|patience| still >= patience);
        Ok(())
    }

    fn show(&self, progress: &mut Progress) {
        let (step, time) = (self.simulation.step(), self.simulation.time());
        let done = match (
            self.end.steps,
            self.end.until_residual,
            self.history.first(),
        ) {
            (Some(steps), _, _) => step as f64 / steps as f64,
            // Residuals fall about exponentially.
            (None, Some(until), Some(&(_, _, first))) => {
                (self.residual / first).ln() / (until / first).ln()
            }
            _ => 0.0,
        };
        progress.update(done, || match self.history.last() {
            Some((.., residual)) => format!("step {step}, t = {time:.3}, residual {residual:.2e}"),
            None => format!("step {step}, t = {time:.3}"),
        });
    }

    /// Reports how the run ended.
    fn report_convergence(&self, report: &mut Report) {
        let status = match (self.end.until_residual, self.is_reached(), self.level) {
            (None, ..) => Status::Done,
            (Some(_), true, _) => Status::Converged,
            (Some(_), false, true) => Status::Stalled,
            (Some(_), false, false) => Status::Unfinished,
        };
        report.set("status", status);
        let (steps, residual) = (self.simulation.step(), self.residual);
        let until = self.end.until_residual.unwrap_or_default();
        match status {
            Status::Done | Status::Converged => {}
            Status::Stalled => report.not_converged(format!(
                "after {steps} steps the residual no longer falls: it is {residual:.2e}, and {until:e} was asked for"
            )),
            Status::Unfinished => report.not_converged(format!(
                "after {steps} steps the residual is {residual:.2e}, and {until:e} was asked for; more --steps may do"
            )),
        }
    }
}

/// Takes the steps of a run, with progress, checkpoints, and a stop at Ctrl-C. `history` is what it went through before.
pub(in crate::cli) fn drive<F: Flow>(
    parameters: &F,
    simulation: &mut F::Run,
    history: History,
    quiet: bool,
    report: &mut Report,
) -> std::result::Result<Course, Failure> {
    let end = parameters.time_options().clone();
    report.watch_for_signals();
    let first_step = simulation.step();
    let mut fall = Fall::from(0);
    for &(step, _, residual) in &history {
        fall.steps_without_half(step, residual);
    }
    let mut time_loop = TimeLoop {
        parameters,
        end: end.clone(),
        last_step: end
            .steps
            .unwrap_or(SimulationConfig::MOST_STEPS)
            .max(first_step),
        series: Series::of(parameters, simulation, report)?,
        simulation,
        residual: history.last().map_or(f64::INFINITY, |row| row.2),
        history,
        fall,
        level: false,
    };
    time_loop.save_series(report)?;
    let mut progress = Progress::new(F::COMMAND, quiet || !ranks::is_first());
    let started = Instant::now();
    let mut kept = false;
    let mut pace = Pace::new();
    let looked = |run: &TimeLoop<'_, F>| run.history.last().is_some_and(|row| row.0 == first_step);
    if first_step > 0 && first_step == time_loop.last_step && !looked(&time_loop) {
        // The checkpoint at the end of a run is from before its last residual.
        time_loop.look().map_err(|error| report.broken_off(error))?;
        kept = true;
    }
    while !time_loop.is_over() {
        let part = time_loop.part(&pace);
        let (stop, part) = ranks::next(interrupt::asked(), part)?;
        if stop {
            progress.finish();
            let after = format!("{} steps", time_loop.simulation.step());
            let stopped = resume::stopped(F::COMMAND, &after, time_loop.save(report));
            return ranks::agreed(Err(stopped));
        }
        let advancing = Instant::now();
        let advanced = time_loop.simulation.advance(part);
        advanced.map_err(|error| report.broken_off(error))?;
        pace.learn(part, advancing.elapsed());
        let now = time_loop.simulation.step();
        // A run resumed between two evaluations does not evaluate there, so it equals an uninterrupted one.
        let (between, last) = (!now.is_multiple_of(LOOK), now == time_loop.last_step);
        if between && last && end.checkpoint_every.is_some() {
            let saved = time_loop.save(report);
            report.saved_at_the_end(saved)?;
            kept = true;
        }
        if !between || last {
            time_loop.look().map_err(|error| report.broken_off(error))?;
        }
        let every = end.checkpoint_every;
        if !time_loop.is_over() && every.is_some_and(|every| now.is_multiple_of(every)) {
            let saved = time_loop.save(report);
            report.saved(saved)?;
        }
        time_loop.save_series(report)?;
        time_loop.show(&mut progress);
    }
    progress.finish();
    let steps = time_loop.simulation.step();
    let spent = (started.elapsed(), steps - first_step);
    report.time("steps", spent.0);
    if spent.1 > 0 {
        report.time("step", spent.0.div_f64(spent.1 as f64));
    }
    if end.checkpoint_every.is_some() && !kept {
        let saved = time_loop.save(report);
        report.saved_at_the_end(saved)?;
    }
    time_loop.report_convergence(report);
    Ok(Course {
        steps,
        time: time_loop.simulation.time(),
        residual: time_loop.residual,
        converged: end.until_residual.map(|_| time_loop.is_reached()),
        history: time_loop.history,
        spent,
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_residual_that_no_longer_halves_has_levelled_off() {
        let mut fall = Fall::from(50);
        assert_eq!(fall.steps_without_half(100, 1.0), 0);
        // It falls, but slowly, until it has halved.
        assert_eq!(fall.steps_without_half(150, 0.8), 50);
        assert_eq!(fall.steps_without_half(200, 0.6), 100);
        assert_eq!(fall.steps_without_half(250, 0.5), 0);
        // From here it is level, whatever its noise.
        for (step, residual) in [(300, 0.4), (350, 0.26), (400, 0.9), (450, 0.3)] {
            assert_eq!(fall.steps_without_half(step, residual), step - 250);
        }
        assert_eq!(fall.steps_without_half(500, 0.25), 0);
        // NaN is no fall.
        assert_eq!(fall.steps_without_half(550, f64::NAN), 50);
    }

    #[test]
    fn a_run_is_waited_for_as_long_as_signals_take() {
        let patience = |problem: &crate::bgk::Problem, step| {
            patience(&problem.space, &problem.boundaries, 1.0, step)
        };
        let of = |mach: f64| {
            let shock = crate::bgk::Shock::new(mach).expect("a shock");
            patience(&shock.problem().expect("a problem"), 0.05).expect("steps")
        };
        // The weaker the wave, the slower the sound that runs against the stream behind it.
        assert!(of(1.1) > 3 * of(1.5) && of(1.5) > of(3.0));
        let cavity = |delta: f64, accommodation: f64| {
            let cavity = crate::bgk::Cavity {
                accommodation,
                ..crate::bgk::Cavity::new(delta, 10, &[12, 12]).expect("a cavity")
            };
            patience(&cavity.problem().expect("a problem"), 0.01)
        };
        let steps = |delta, accommodation| cavity(delta, accommodation).expect("steps");
        // In a dense gas shear diffuses: four times as long for twice the side.
        assert!(steps(200.0, 1.0) > 3 * steps(100.0, 1.0));
        assert!(steps(1.0, 0.1) > steps(1.0, 1.0));
        // Without friction at the walls nothing settles.
        assert_eq!(cavity(1.0, 0.0), None);
    }
}
