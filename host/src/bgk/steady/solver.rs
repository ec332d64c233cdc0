//! The iteration towards a steady flow: sweep, correction, mixing, and when it is done.

mod ending;

use std::fmt;
use std::time::Instant;

use super::anderson::Anderson;
use super::checkpoint::Checkpoint;
use super::config::SteadyConfig;
use super::correction::Correction;
use super::engine::Sweeps;
use super::integral::IntegralSweeps;
use super::memory;
use super::plan::{Hold, Plan};
use super::problem::SteadyProblem;
use super::residuals::Roundoff;
use super::solution::Solution;
use super::start;
use super::sums::Swept;
use crate::compute::{Pool, Resolved};
use crate::error::{Error, Result};
use crate::run::{Ending, Run};
use crate::stop;

/// Mean free paths from wall to wall beyond which roundoff in f64 exceeds a hundredth of the fluxes.
const THICKEST: f64 = 1e12;

/// Mean free paths from wall to wall below which sweeps alone find a flow in few iterations.
const THIN: f64 = 10.0;

/// An iteration towards a steady flow.
pub struct SteadySolver {
    problem: SteadyProblem,
    config: SteadyConfig,
    plan: Plan,
    sweeps: Box<dyn Sweeps>,
    correction: Option<Correction>,
    pool: Pool,
    device: String,
    mixing: Anderson,
    x: Vec<f64>,
    y: Vec<f64>,
    /// The last state before its correction, of a flow that may go on without one.
    plain: Vec<f64>,
    residuals: Vec<f64>,
    spreads: Vec<f64>,
    /// Where the larger of change and spread was least, and what it was.
    least: (usize, f64),
    /// Roundoff of the last iteration.
    roundoff: Roundoff,
    seconds: f64,
}

impl fmt::Debug for SteadySolver {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("SteadySolver")
            .field("config", &self.config)
            .field("iterations", &self.residuals.len())
            .field("residual", &self.residuals.last())
            .field("device", &self.device)
            .finish_non_exhaustive()
    }
}

impl SteadySolver {
    /// Prepares a problem.
    ///
    /// # Errors
    /// A problem or configuration that is not acceptable, or a device that is not there.
    pub fn new(problem: impl Into<SteadyProblem>, config: &SteadyConfig) -> Result<Self> {
        let problem = problem.into();
        config.validate()?;
        let pool = config.compute.pool()?;
        pool.run(|| Self::prepare(problem, config, pool.clone()))
    }

    fn prepare(problem: SteadyProblem, config: &SteadyConfig, pool: Pool) -> Result<Self> {
        let (resolved, plan) = planned(&problem, config)?;
        let (sweeps, device) = match &problem.integral {
            Some(operator) => {
                let mut operator = operator.clone();
                operator.compute = config.compute;
                operator.spectral.mirrors = problem.mirrors();
                let sweeps = IntegralSweeps::new(&plan, &operator)?;
                let device = sweeps.device();
                (Box::new(sweeps) as Box<dyn Sweeps>, device)
            }
            None => {
                let device = resolved.describe();
                let sweeps = super::engine(&plan, config.compute.precision, resolved)?;
                (sweeps, device)
            }
        };
        let x = plan.start(&problem);
        let of_fluxes = sweeps.flux_roundoff(plan.thickness().max(1.0));
        let roundoff = Roundoff {
            change: sweeps.change_roundoff(),
            spread: of_fluxes,
            fluxes: of_fluxes,
        };
        Ok(Self {
            correction: Correction::new(&plan)?,
            mixing: Anderson::new(config.anderson_depth),
            y: x.clone(),
            x,
            plain: Vec::new(),
            config: *config,
            problem,
            plan,
            sweeps,
            pool,
            device,
            residuals: Vec::new(),
            spreads: Vec::new(),
            least: (0, f64::INFINITY),
            roundoff,
            seconds: 0.0,
        })
    }

    /// The device in words.
    pub fn device(&self) -> String {
        self.device.clone()
    }

    /// Residuals so far.
    pub fn residuals(&self) -> &[f64] {
        &self.residuals
    }

    /// One iteration; returns its change of the fields.
    ///
    /// # Errors
    /// A state without a positive density or temperature, or a fault of the device. After [`Error::Stopped`] the state is that of before.
    pub fn iterate(&mut self) -> Result<f64> {
        let pool = self.pool.clone();
        pool.run(|| self.iteration())
    }

    fn iteration(&mut self) -> Result<f64> {
        let started = Instant::now();
        if self.residuals.is_empty() {
            self.begin()?;
        }
        let mut swept = self.sweep()?;
        if !self.plan.is_admissible(&self.y) && self.leave_correction() {
            swept = self.sweep()?;
        }
        if !self.plan.is_admissible(&self.y) {
            return Err(Error::Numerical(format!(
                "the state after {} iterations has no positive density and temperature everywhere; use {}",
                self.residuals.len() + 1,
                self.remedy()
            )));
        }
        if self.may_leave_correction() {
            self.plain.clone_from(&self.y);
        }
        let renewed = self.correct(&swept)?;
        self.plan.join_energy(&mut swept);
        let unit = self.sweeps.flux_roundoff(1.0);
        let change = self.plan.residual(unit, &self.x, &self.y);
        let tolerance = self.config.tolerance();
        // Fluxes that are roundoff themselves are compared with numbers of which roundoff is the tolerance.
        let floor = 0.125 * self.sweeps.change_roundoff() / tolerance;
        let mut spread = self.plan.flux_spread(&swept, floor);
        let thickness = self.plan.thickness().max(1.0);
        let of_fluxes = self.sweeps.flux_roundoff(thickness);
        let own = [self.sweeps.change_roundoff(), of_fluxes];
        self.roundoff = self.plan.roundoff(unit, own, &self.y, &swept);
        let settled = change <= tolerance.max(self.roundoff.change);
        if self.plan.dimensions == 2 {
            if let Some(sums) = &swept.closing {
                spread = self.plan.imbalance(&self.x, sums, floor);
            } else if settled {
                let sums = self.sweeps.output(&self.y)?;
                spread = self.plan.imbalance(&self.y, &sums, floor);
            }
        }
        self.residuals.push(change);
        self.spreads.push(spread);
        self.note_least();
        if renewed {
            self.mixing.clear();
        }
        if self.status().is_some_and(Ending::is_done) {
            self.x.copy_from_slice(&self.y);
        } else {
            self.mixing.mix(&mut self.x, &self.y);
            if !self.plan.is_admissible(&self.x) {
                self.x.copy_from_slice(&self.y);
                self.mixing.clear();
            }
        }
        let is_thin = self.plan.thickness() < THIN;
        if is_thin && self.status() == Some(Ending::Stalled) {
            self.leave_correction();
        }
        self.seconds += started.elapsed().as_secs_f64();
        Ok(change)
    }

    /// One sweep through the gas `x`; `y` has the state after it.
    fn sweep(&mut self) -> Result<Swept> {
        let mut swept = self.sweeps.iterate(&self.x, &mut self.y)?;
        self.plan.without_force(&mut swept);
        self.plan.update(&self.x, &swept, &mut self.y);
        Ok(swept)
    }

    /// Whether the flow, between plates under a strong drive, may go on without a correction. Others have checkpoints, which do not keep that.
    fn may_leave_correction(&self) -> bool {
        let is_model = self.problem.integral.is_none();
        let is_closed = self.plan.dimensions == 1 && matches!(self.plan.hold, Hold::Mass(_));
        is_model && is_closed && !self.plan.linear && self.correction.is_some()
    }

    /// Goes on without the correction from the last state before it: fluid equations do not hold in thin gas that differs much from a Maxwellian, and sweeps alone find its flow.
    fn leave_correction(&mut self) -> bool {
        if !self.may_leave_correction() || self.plain.is_empty() {
            return false;
        }
        self.correction = None;
        self.x = std::mem::take(&mut self.plain);
        self.plan.constrain(&mut self.x);
        self.mixing.clear();
        self.least = (self.residuals.len(), f64::INFINITY);
        true
    }

    /// A way around a state that is no gas.
    fn remedy(&self) -> &'static str {
        let wave = matches!(self.plan.hold, Hold::Position(_));
        match self.plan.dimensions {
            _ if self.problem.integral.is_some() || self.problem.force != 0.0 => {
                "more velocities, or a weaker drive"
            }
            1 if wave && self.plan.rotation.is_some() => "finer cells, or a lower Mach number",
            1 if wave => "steps in time, which find this wave, or a lower Mach number",
            1 => "finer cells, or a weaker drive",
            _ => "the upwind closure, or finer cells",
        }
    }

    /// Begins with the model's flow instead of the given start, if the model finds one.
    fn begin(&mut self) -> Result<()> {
        let Some((problem, config)) = start::of_model(&self.problem, &self.config) else {
            return Ok(());
        };
        let found = Self::new(problem, &config).and_then(|mut model| {
            while model.status().is_none() {
                stop::check()?;
                model.iterate()?;
            }
            Ok(model.x)
        });
        let fields = match found {
            Ok(fields) => fields,
            Err(Error::Stopped) => return Err(Error::Stopped),
            Err(_) => return Ok(()),
        };
        let mut x = self.x.clone();
        x[..fields.len()].copy_from_slice(&fields);
        if self.sweeps.populate(&mut x) && self.plan.is_admissible(&x) {
            self.x = x;
        }
        Ok(())
    }

    /// Adds the correction by the conservation laws to the moments of the last sweep: less of it where the state would not be a gas.
    ///
    /// Returns whether earlier iterations are of another map from now on.
    fn correct(&mut self, swept: &Swept) -> Result<bool> {
        let mut renewed = false;
        let iteration = self.residuals.len() + 1;
        if let Some(correction) = &mut self.correction {
            // The populations follow the fields when they are swept.
            let y = &mut self.y[..self.plan.layout.populations];
            let moments = y.to_vec();
            renewed = correction.apply(&self.plan, &self.x, swept, y, iteration)?;
            let mut share = self.plan.gentle_share(&moments, y);
            let corrected = y.to_vec();
            loop {
                if share < 1.0 {
                    // The next iteration is cut at another share, or not at all.
                    renewed = true;
                    blend(&moments, &corrected, share, y);
                }
                if share == 0.0 || self.plan.is_admissible(y) {
                    break;
                }
                renewed = true;
                share = if share > 0.1 { 0.5 * share } else { 0.0 };
            }
        }
        self.plan.constrain(&mut self.y);
        Ok(renewed)
    }

    /// Iterates so many times, or fewer where the iteration ends before; returns how many it took.
    ///
    /// # Errors
    /// As [`SteadySolver::iterate`].
    pub fn advance(&mut self, iterations: usize) -> Result<usize> {
        for done in 0..iterations {
            if self.status().is_some() {
                return Ok(done);
            }
            self.iterate()?;
        }
        Ok(iterations)
    }

    /// Iterates to the end.
    ///
    /// # Errors
    /// As [`SteadySolver::iterate`].
    pub fn solve(&mut self) -> Result<Solution> {
        while self.status().is_none() {
            self.iterate()?;
        }
        self.solution()
    }

    /// Everything that is needed to go on later to the same bits.
    pub fn checkpoint(&self) -> Checkpoint {
        let [values, mixed] = self.mixing.kept().map(<[_]>::concat);
        Checkpoint {
            problem: self.problem.clone(),
            config: self.config,
            unknowns: self.x.clone(),
            residuals: self.residuals.clone(),
            values,
            mixed,
            spreads: self.spreads.clone(),
            correction: self
                .correction
                .as_ref()
                .map_or(Vec::new(), Correction::kept),
        }
    }

    /// Continues an iteration from a checkpoint.
    ///
    /// # Errors
    /// As [`SteadySolver::new`]; unknowns of another problem, or not those of a gas.
    pub fn resume(checkpoint: Checkpoint) -> Result<Self> {
        let Checkpoint {
            problem,
            config,
            unknowns,
            residuals,
            values,
            mixed,
            spreads,
            correction,
        } = checkpoint;
        let mut solver = Self::new(problem, &config)?;
        let count = solver.x.len();
        let fits = unknowns.len() == count
            && values.len() == mixed.len()
            && values.len().is_multiple_of(count)
            && values.len() / count <= config.anderson_depth + 1
            && spreads.len() == residuals.len();
        if !fits {
            return Err(Error::invalid(
                "checkpoint",
                format!("{} unknowns of another problem", unknowns.len()),
                format!("{count} unknowns"),
            ));
        }
        let finite = [&unknowns, &values, &mixed, &correction]
            .into_iter()
            .flatten()
            .all(|value| value.is_finite());
        if !(finite && solver.plan.is_admissible(&unknowns)) {
            return Err(Error::invalid(
                "checkpoint",
                "no state of a gas",
                "finite values, and positive densities and temperatures",
            ));
        }
        if let Some(kept) = &mut solver.correction {
            kept.restore(&solver.plan, &correction)?;
        }
        let rows = |all: Vec<f64>| all.chunks_exact(count).map(<[f64]>::to_vec).collect();
        solver.mixing.restore(rows(values), rows(mixed));
        solver.x = unknowns;
        for (residual, spread) in residuals.into_iter().zip(spreads) {
            solver.residuals.push(residual);
            solver.spreads.push(spread);
            solver.note_least();
        }
        Ok(solver)
    }

    /// The present flow.
    ///
    /// # Errors
    /// A fault of the device.
    pub fn solution(&mut self) -> Result<Solution> {
        let pool = self.pool.clone();
        let sums = pool.run(|| self.sweeps.output(&self.x))?;
        let cells = self.plan.moments(&self.x, &sums);
        let rotation = self.plan.rotating_moments(&self.x);
        let is_model = self.problem.integral.is_none();
        Ok(Solution {
            negative_equilibrium: is_model
                .then(|| self.plan.negative_equilibrium(&cells, &rotation))
                .flatten(),
            cells,
            rotation,
            exchange: [0, 1, 2, 3].map(|side| self.plan.received(&self.x, &sums, side)),
            status: self.status().unwrap_or(Ending::Unfinished),
            residuals: self.residuals.clone(),
            flux_spread: self.spreads.last().copied().unwrap_or(f64::INFINITY),
            error_estimate: self.error_estimate(),
            flux_roundoff: self.roundoff.fluxes,
            downstream_excess: self.plan.downstream_excess(&self.x),
            seconds: self.seconds,
            device: self.device.clone(),
        })
    }

    /// The reduced flow rate along a channel by a force, `G = u / (a delta)` with the mean velocity u: `delta/6 + sigma + ...` in thick gas.
    pub fn flow_rate(&self) -> Option<f64> {
        (self.plan.force != 0.0).then(|| self.plan.flow_rate(&self.x))
    }

    /// The problem.
    pub fn problem(&self) -> &SteadyProblem {
        &self.problem
    }

    /// How it is solved.
    pub fn config(&self) -> &SteadyConfig {
        &self.config
    }
}

impl Run for SteadySolver {
    fn steps_taken(&self) -> u64 {
        self.residuals.len() as u64
    }
    fn time(&self) -> f64 {
        0.0
    }
    fn advance(&mut self, steps: u64) -> Result<()> {
        let steps = usize::try_from(steps).unwrap_or(usize::MAX);
        self.advance(steps).map(drop)
    }
    fn residual(&mut self) -> Result<f64> {
        Ok(self.residuals.last().copied().unwrap_or(f64::INFINITY))
    }
    fn state(&mut self) -> Result<Vec<f64>> {
        Ok(self.x.clone())
    }
    fn steps_to(&self, _: f64) -> Option<u64> {
        None
    }
    fn end(&self) -> Option<Ending> {
        self.status()
    }
    fn progress(&self) -> f64 {
        // Residuals fall about exponentially.
        let [first, last] = [self.residuals.first(), self.residuals.last()];
        let [first, last] = [first, last].map(|of| of.copied().unwrap_or(1.0).ln());
        ((last - first) / (self.config.tolerance().ln() - first)).clamp(0.0, 1.0)
    }
}

/// The machine and the plan of a problem that it can solve.
fn planned(problem: &SteadyProblem, config: &SteadyConfig) -> Result<(Resolved, Plan)> {
    // The collision integral opens its device itself; the sweeps around it are on the CPU.
    let resolved = match (&problem.integral, config.compute.devices) {
        (Some(_), None) => Resolved::Cpu,
        (Some(_), Some(_)) => config.compute.resolve().map(|_| Resolved::Cpu)?,
        (None, _) => config.compute.resolve()?,
    };
    let keeps_sums = problem.integral.is_none() && matches!(resolved, Resolved::Cpu);
    memory::check(problem, config, keeps_sums)?;
    let plan = Plan::new(problem, config.closure)?;
    if plan.thickness() > THICKEST {
        return Err(Error::invalid(
            "rarefaction",
            format!("{:.1e} mean free paths", plan.thickness()),
            format!("gas at most {THICKEST:e} mean free paths thick, the limit of the arithmetic"),
        ));
    }
    Ok((resolved, plan))
}

/// Refuses what [`SteadySolver::new`] refuses, without the solver.
#[cfg(feature = "cli")]
pub(crate) fn check(problem: &SteadyProblem, config: &SteadyConfig) -> Result<()> {
    config.validate()?;
    let (resolved, plan) = planned(problem, config)?;
    match resolved {
        Resolved::Cpu | Resolved::Reference => Ok(()),
        // Without stored distributions its buffers are small, and are allocated to see whether they fit.
        machine => super::engine(&plan, config.compute.precision, machine).map(drop),
    }
}

/// The point at a share of the way from one vector to another.
fn blend(from: &[f64], to: &[f64], share: f64, out: &mut [f64]) {
    for ((out, from), to) in out.iter_mut().zip(from).zip(to) {
        // Not `share * (to - from)` where `to` may not be finite.
        *out = if share == 0.0 {
            *from
        } else {
            from + share * (to - from)
        };
    }
}

/// The steady flow of a problem, which may be one of a transient solver too.
///
/// # Errors
/// As [`SteadySolver::new`] and [`SteadySolver::iterate`].
pub fn solve(problem: impl Into<SteadyProblem>, config: &SteadyConfig) -> Result<Solution> {
    SteadySolver::new(problem, config)?.solve()
}
