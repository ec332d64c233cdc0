//! Steady flows without a stored distribution: source iteration, accelerated.
//!
//! At given fields the stationary equation `v.grad f = nu (S - f)` is solved for each discrete velocity by one sweep through the cells in
//! upwind order,
//!
//! ```text
//! f_P = (nu S + sum_i b_i f_in,i) / (nu + sum_i b_i),      upwind:  b_i = |v_i|/dx_i,   f_out,i = f_P
//!                                                          diamond: b_i = 2 |v_i|/dx_i, f_out,i = 2 f_P - f_in,i
//! ```
//!
//! and only its moments are kept, which give the next fields. Fields, wall densities and, at mirroring boundaries, what returns are
//! one vector of unknowns and one iteration a map of it; Anderson mixing finds the fixed point.
//!
//! **Conservation.** The unknowns `W` parametrise the local equilibrium, and an iteration adds to them the moments of `f - S`, summed over
//! the nodes. At the fixed point these vanish, so that S has exactly the discrete moments of f and mass, momentum and energy fluxes
//! through all faces balance to roundoff whatever the quadrature: the conservative discrete Maxwellian without a Newton iteration of its
//! own.
//!
//! **What is left open.** Where no mass passes any boundary the total mass is that of the start. A wave between two parallel streams may stand
//! anywhere: it is kept where the mass of the start puts it.
//!
//! **Linearised.** With `f = M0 (1 + h)`, M0 the Maxwellian at rest with density and temperature 1, and all second-order terms dropped:
//!
//! ```text
//! S = rho + 2 u.v + tau (|v|^2 - 3/2) + (1-Pr) (8/5) q.v (|v|^2 - 5/2)
//! ```
//!
//! Boundaries and results are then perturbations per unit of whatever drives the flow: a wall at temperature `1 + tau` stands for `tau`.
//!
//! **Source.** In neutron transport this is source iteration with diamond differences: E. E. Lewis and W. F. Miller, *Computational Methods
//! of Neutron Transport* (1984), chapters 2 and 3. For kinetic models on GPUs without a stored distribution: L. Zhu and others, Comput. Phys.
//! Commun. 245 (2019) 106861. The mixing: D. G. Anderson, J. ACM 12 (1965) 547.

mod anderson;
mod correction;
mod cpu;
mod fit;
mod gpu;
mod memory;
mod nodes;
mod plan;
mod reconstruction;
mod sweeps;

use std::fmt;
use std::time::Instant;

use serde::{Deserialize, Serialize};

pub(super) use self::anderson::Anderson;
use self::correction::Correction;
use self::cpu::CpuSweeps;
use self::gpu::MachineSweeps;
pub use self::nodes::Nodes;
use self::plan::{EAST, Plan, WEST, leaving};
use self::sweeps::{ReferenceSweeps, Sums, Sweeps, Swept, flux};
pub use super::cases::plates;
use super::{Boundaries, Boundary, Gas, Moments, Problem, State};
use crate::backend::{Backend, Precision, Resolved, engine_of};
use crate::error::{Error, Result};

/// How what leaves a cell follows from what is in it.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
#[non_exhaustive]
pub enum Closure {
    /// What leaves is the mean of the cell: first order, positive.
    Upwind,
    /// The mean of the cell is that of what enters and what leaves: second order; may ring where a cell is many mean free paths of a slow
    /// molecule thick and the equilibrium is rough.
    #[default]
    Diamond,
}

/// A steady problem: cells of any widths, velocities of any quadrature.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Case {
    /// 1 or 2.
    pub dimensions: usize,
    /// Widths of the columns, and of the rows (one row on a line).
    pub widths: [Vec<f64>; 2],
    /// The lowest x and y.
    pub origin: [f64; 2],
    /// Discrete velocities.
    pub nodes: Nodes,
    /// The gas.
    pub gas: Gas,
    /// Conditions at the faces of space.
    pub boundaries: Boundaries,
    /// What the iteration starts from, `[iy][ix]`; its mass counts where the boundaries leave the mass open.
    pub initial: Vec<State>,
    /// Whether the equation is linearised about rest at density and temperature 1.
    pub linear: bool,
}

impl From<&Problem> for Case {
    /// The steady flow of a problem.
    fn from(problem: &Problem) -> Self {
        let space = &problem.space;
        let cells = [space.nx(), space.ny()];
        Self {
            dimensions: space.dimensions(),
            widths: [0, 1].map(|d| vec![space.step(d); cells[d]]),
            origin: [0, 1].map(|d| space.bounds(d)[0]),
            nodes: Nodes::of(&problem.velocity),
            gas: problem.gas,
            boundaries: problem.boundaries,
            initial: problem.initial.clone(),
            linear: false,
        }
    }
}

/// Most cells, so that the kernels' indices fit 32 bits.
const MOST_CELLS: usize = 1 << 26;

impl Case {
    /// Centres of the columns (0) or rows (1).
    ///
    /// # Panics
    /// If the direction is neither.
    pub fn centres(&self, direction: usize) -> Vec<f64> {
        let mut low = self.origin[direction];
        let widths = self.widths[direction].iter();
        widths
            .map(|width| {
                let centre = low + 0.5 * width;
                low += width;
                centre
            })
            .collect()
    }

    /// Checks the parts and that they belong together.
    ///
    /// # Errors
    /// Widths or states that are none, velocities that do not fit them, boundaries out of range.
    pub fn validate(&self) -> Result<()> {
        let fine = |w: &f64| w.is_finite() && *w > 0.0;
        if !(1..=2).contains(&self.dimensions)
            || self
                .widths
                .iter()
                .any(|w| w.is_empty() || !w.iter().all(fine))
            || (self.dimensions == 1 && self.widths[1].len() != 1)
        {
            return Err(Error::input(
                "space has one or two dimensions, and every cell a positive width",
            ));
        }
        let cells = self.widths[0].len() * self.widths[1].len();
        if cells > MOST_CELLS || self.initial.len() != cells {
            return Err(Error::input(format!(
                "the initial state has {} cells where space has {cells} (at most {MOST_CELLS})",
                self.initial.len()
            )));
        }
        self.gas.validate()?;
        if self.gas.frequency == 0.0 {
            return Err(Error::input(
                "a steady flow without collisions is not found by this iteration; use a small positive frequency",
            ));
        }
        self.boundaries.validate(self.dimensions)?;
        if self.nodes.dimensions < self.dimensions {
            return Err(Error::input(
                "in two dimensions the gas moves along two velocity axes; the velocities have one",
            ));
        }
        for state in &self.initial {
            state.validate()?;
        }
        if self.linear {
            return self.nodes.check("the gas at rest", [0.0; 2], 1.0);
        }
        let mut known: Vec<(&str, State)> = vec![("the gas at the start", self.initial[0])];
        for direction in 0..self.dimensions {
            for face in self.boundaries.along(direction) {
                match face {
                    Boundary::Inflow(state) => known.push(("an inflow", state)),
                    Boundary::Wall(wall) => known.push(("a wall", wall.state())),
                    Boundary::Specular | Boundary::Periodic => {}
                }
            }
        }
        for (what, state) in known {
            self.nodes
                .matched(what, 1.0, state.velocity, state.temperature)?;
        }
        Ok(())
    }
}

/// How to solve.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub struct Config {
    /// The closure of the sweeps.
    pub closure: Closure,
    /// Done when no unknown changes by more than this in an iteration, relative to the range of the fields, and the fluxes that must be
    /// constant vary by no more, relative to their size. `None`: 1e-9 in f64, 1e-5 in f32.
    pub tolerance: Option<f64>,
    /// Most iterations.
    pub iterations: usize,
    /// How many earlier iterations are mixed with the newest; 0 for plain source iteration.
    pub depth: usize,
    /// Arithmetic of the sweeps; the unknowns are f64 in either.
    pub precision: Precision,
    /// Where to compute.
    pub backend: Backend,
}

impl Default for Config {
    fn default() -> Self {
        Self {
            closure: Closure::Diamond,
            tolerance: None,
            iterations: 1000,
            depth: 10,
            precision: Precision::F64,
            backend: Backend::Auto,
        }
    }
}

impl Config {
    /// The tolerance that holds.
    pub fn tolerance(&self) -> f64 {
        self.tolerance.unwrap_or(match self.precision {
            Precision::F64 => 1e-9,
            Precision::F32 => 1e-5,
        })
    }

    /// Checks what the types alone do not.
    ///
    /// # Errors
    /// A tolerance outside of 0 to 1, or more than 32 earlier iterations.
    pub fn validate(&self) -> Result<()> {
        let tolerance = self.tolerance();
        if !(tolerance > 0.0 && tolerance < 1.0) {
            return Err(Error::input(format!(
                "the residual to reach lies above 0 and below 1; {tolerance} was given"
            )));
        }
        if self.depth > 32 {
            return Err(Error::input(format!(
                "at most 32 earlier iterations are mixed; {} were asked for",
                self.depth
            )));
        }
        Ok(())
    }
}

/// What a boundary and the gas exchange at a face, and the gas there.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize, Deserialize)]
#[non_exhaustive]
pub struct Exchange {
    /// Mass that leaves the gas, net.
    pub mass: f64,
    /// Momentum normal to the face that the boundary receives: the pressure on it.
    pub pressure: f64,
    /// Tangential momentum that the boundary receives.
    pub shear: f64,
    /// Energy that the boundary receives, the work of the stress on a moving wall included.
    pub heat: f64,
    /// Work of the stress on a moving wall: its velocity times the shear. `heat - work` is what the gas conducts into the wall.
    #[serde(default)]
    pub work: f64,
    /// Density of the gas at the face.
    pub density: f64,
    /// Its tangential velocity.
    pub velocity: f64,
    /// Its temperature.
    pub temperature: f64,
}

/// How an iteration ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
#[non_exhaustive]
pub enum Status {
    /// The change and the spread of the fluxes reached the tolerance.
    Converged,
    /// Neither falls any further, and both are as small as roundoff allows, but above the tolerance.
    AtRoundoff,
    /// They did not reach it within the iterations allowed.
    Unfinished,
    /// They no longer fall: the result is not the steady flow.
    Stalled,
}

impl Status {
    /// Whether the result is the steady flow, to the tolerance or to roundoff.
    pub fn is_done(self) -> bool {
        matches!(self, Self::Converged | Self::AtRoundoff)
    }
}

/// A steady flow; in the linear case all values are perturbations.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[non_exhaustive]
pub struct Solution {
    /// Moments of each cell, `[iy][ix]`.
    pub cells: Vec<Moments>,
    /// Exchange at the left, right, bottom and top face of space, face by face; empty where there is none.
    pub exchange: [Vec<Exchange>; 4],
    /// How the iteration ended.
    pub status: Status,
    /// Change of each iteration: the largest change of an unknown, over the range of the fields.
    pub residuals: Vec<f64>,
    /// Spread of the fluxes that must be constant, relative to their size, in the last iteration.
    pub flux_spread: f64,
    /// Estimate of the relative error, the largest of three: the change over 1 less the rate at which it falls, the spread of the fluxes, and roundoff.
    pub error_estimate: f64,
    /// Relative roundoff of the fluxes: the arithmetic's unit times the mean free paths from wall to wall.
    #[serde(default)]
    pub flux_roundoff: f64,
    /// In a shock wave, the strength of the downstream stream less 1: what the domain cuts off.
    pub downstream_excess: Option<f64>,
    /// Seconds that the iterations took.
    pub seconds: f64,
    /// Where it was computed.
    pub machine: String,
}

/// Everything that an iteration needs to go on to the same bits.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[non_exhaustive]
pub struct Checkpoint {
    /// The case.
    pub case: Case,
    /// How it is iterated.
    pub config: Config,
    /// All unknowns.
    pub unknowns: Vec<f64>,
    /// Residual of each iteration.
    pub residuals: Vec<f64>,
    /// What the earlier iterations that are mixed gave, newest first, one after the other.
    pub values: Vec<f64>,
    /// By how much each of them had changed.
    pub mixed: Vec<f64>,
    /// Spread of the fluxes in each iteration.
    #[serde(default)]
    pub spreads: Vec<f64>,
    /// On a rectangle, whether the last correction was cut off, then the unknowns about which its operator was factored, if not at rest.
    #[serde(default)]
    pub correction: Vec<f64>,
}

/// Iterations without a new least residual after which an iteration with a correction counts as stalled.
const PATIENCE: usize = 30;
/// The same without a correction, where residuals rise for long before they fall.
const PLAIN_PATIENCE: usize = 150;
/// The same where roundoff is reached.
const ROUNDOFF_PATIENCE: usize = 5;

/// Spread of the fluxes that roundoff explains, in units of the roundoff of one.
const LEVEL: f64 = 8.0;
/// Spread of the fluxes beyond which a result is none, however large roundoff is.
const MOST_ROUNDOFF: f64 = 1e-2;

/// Mean free paths from wall to wall beyond which roundoff in f64 exceeds [`MOST_ROUNDOFF`] of the fluxes.
const THICKEST: f64 = 1e12;

/// An iteration towards a steady flow.
pub struct Solver {
    case: Case,
    config: Config,
    plan: Plan,
    sweeps: Box<dyn Sweeps>,
    correction: Option<Correction>,
    machine: String,
    mixing: Anderson,
    x: Vec<f64>,
    y: Vec<f64>,
    residuals: Vec<f64>,
    spreads: Vec<f64>,
    /// Where the larger of change and spread was least, and what it was.
    least: (usize, f64),
    seconds: f64,
}

impl fmt::Debug for Solver {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Solver")
            .field("config", &self.config)
            .field("iterations", &self.residuals.len())
            .field("residual", &self.residuals.last())
            .field("machine", &self.machine)
            .finish_non_exhaustive()
    }
}

impl Solver {
    /// Prepares a case.
    ///
    /// # Errors
    /// A case or configuration that is not acceptable, or a device that is not there.
    pub fn new(case: Case, config: &Config) -> Result<Self> {
        config.validate()?;
        let resolved = config.backend.resolve()?;
        memory::check(&case, config, matches!(resolved, Resolved::Cpu))?;
        let plan = Plan::new(&case, config.closure)?;
        if plan.thickness() > THICKEST {
            return Err(Error::input(format!(
                "gas {:.1e} mean free paths thick is beyond the arithmetic; {THICKEST:e} is the limit",
                plan.thickness()
            )));
        }
        let machine = resolved.describe();
        let sweeps: Box<dyn Sweeps> = engine_of! {
            resolved, config.precision;
            reference => Box::new(ReferenceSweeps { plan: plan.clone() }),
            cpu<T> => Box::new(CpuSweeps::<T>::new(&plan)),
            kernels<T>(machine) => Box::new(MachineSweeps::<_, T>::new(machine, &plan)?),
        };
        let x = plan.start(&case);
        Ok(Self {
            correction: Correction::new(&plan)?,
            mixing: Anderson::new(config.depth),
            y: x.clone(),
            x,
            config: *config,
            case,
            plan,
            sweeps,
            machine,
            residuals: Vec::new(),
            spreads: Vec::new(),
            least: (0, f64::INFINITY),
            seconds: 0.0,
        })
    }

    /// The machine in words.
    pub fn machine(&self) -> String {
        self.machine.clone()
    }

    /// Residuals so far.
    pub fn residuals(&self) -> &[f64] {
        &self.residuals
    }

    /// How the iteration ended, if it has.
    pub fn status(&self) -> Option<Status> {
        let done = self.residuals.len();
        let last = |values: &[f64]| values.last().copied().unwrap_or(f64::INFINITY);
        let (change, spread) = (last(&self.residuals), last(&self.spreads));
        let tolerance = self.config.tolerance();
        if change <= tolerance && spread <= tolerance {
            return Some(Status::Converged);
        }
        let flux_roundoff = (LEVEL * self.flux_roundoff()).min(MOST_ROUNDOFF);
        let since = done - self.least.0;
        let settled = change <= self.sweeps.change_roundoff().max(tolerance);
        let level = flux_roundoff.max(tolerance);
        if settled && spread <= level && since >= ROUNDOFF_PATIENCE {
            return Some(Status::AtRoundoff);
        }
        let patience = if self.correction.is_some() {
            PATIENCE
        } else {
            PLAIN_PATIENCE
        };
        if done >= self.config.iterations {
            Some(Status::Unfinished)
        } else if since > patience {
            Some(Status::Stalled)
        } else {
            None
        }
    }

    /// One iteration; returns its change of the fields.
    ///
    /// # Errors
    /// A state without a positive density or temperature, or a fault of the device.
    pub fn step(&mut self) -> Result<f64> {
        let started = Instant::now();
        let swept = self.sweeps.iterate(&self.x, &mut self.y)?;
        self.plan.update(&self.x, &swept, &mut self.y);
        if !self.plan.is_admissible(&self.y) {
            return Err(Error::Numerical(format!(
                "the state after {} iterations has no positive density and temperature everywhere; use the upwind closure, or finer cells",
                self.residuals.len() + 1
            )));
        }
        let renewed = self.correct(&swept)?;
        let change = self.plan.residual(&self.x, &self.y);
        let tolerance = self.config.tolerance();
        // Fluxes that are roundoff themselves are compared with numbers of which roundoff is the tolerance.
        let floor = 0.125 * self.sweeps.change_roundoff() / tolerance;
        let mut spread = self.plan.flux_spread(&swept, floor);
        let settled = change <= tolerance.max(self.sweeps.change_roundoff());
        if self.plan.dimensions == 2 && settled {
            let sums = self.sweeps.output(&self.y)?;
            spread = self.plan.imbalance(&self.y, &sums, floor);
        }
        self.residuals.push(change);
        self.spreads.push(spread);
        self.note_least();
        if renewed {
            self.mixing.clear();
        }
        if self.status().is_some_and(Status::is_done) {
            self.x.copy_from_slice(&self.y);
        } else {
            self.mixing.mix(&mut self.x, &self.y);
            if !self.plan.is_admissible(&self.x) {
                self.x.copy_from_slice(&self.y);
                self.mixing.clear();
            }
        }
        self.seconds += started.elapsed().as_secs_f64();
        Ok(change)
    }

    /// Adds the correction by the conservation laws to the moments of the last sweep: less of it where the state would not be a gas.
    ///
    /// Returns whether earlier iterations are of another map from now on.
    fn correct(&mut self, swept: &Swept) -> Result<bool> {
        let mut renewed = false;
        let iteration = self.residuals.len() + 1;
        if let Some(correction) = &mut self.correction {
            let moments = self.y.clone();
            renewed = correction.apply(&self.plan, &self.x, swept, &mut self.y, iteration)?;
            let mut share = self.plan.gentle_share(&moments, &self.y);
            let corrected = self.y.clone();
            loop {
                if share < 1.0 {
                    blend(&moments, &corrected, share, &mut self.y);
                }
                if share == 0.0 || self.plan.is_admissible(&self.y) {
                    break;
                }
                renewed = true;
                share = if share > 0.1 { 0.5 * share } else { 0.0 };
            }
        }
        self.plan.constrain(&mut self.y);
        Ok(renewed)
    }

    /// Notes the iteration at which the larger of change and spread was least.
    fn note_least(&mut self) {
        let done = self.residuals.len();
        let spread = self.spreads[done - 1];
        let size = if spread.is_finite() {
            self.residuals[done - 1].max(spread)
        } else {
            self.residuals[done - 1]
        };
        if size < self.least.1 {
            self.least = (done, size);
        }
    }

    /// The relative error to expect, the largest of three: the change over 1 less the rate at which changes fall, the spread of the fluxes, and the
    /// arithmetic's unit times the mean free paths from wall to wall.
    fn error_estimate(&self) -> f64 {
        let Some(&last) = self.residuals.last() else {
            return f64::INFINITY;
        };
        let earlier = self.residuals.len() - 1;
        let rate = |span: usize| {
            let before = self.residuals[earlier - span];
            (last / before).powf(1.0 / span as f64)
        };
        // The last iterations say it best, until residuals are roundoff and fall no further.
        let change = [earlier.min(5), earlier]
            .into_iter()
            .filter(|&span| span > 0)
            .map(rate)
            .find(|rate| *rate < 1.0)
            .map_or(f64::INFINITY, |rate| last / (1.0 - rate));
        // Fluxes are no better known than they vary, and than the arithmetic adds them up through the gas.
        let spread = self.spreads.last().copied().filter(|s| s.is_finite());
        change.max(spread.unwrap_or(0.0)).max(self.flux_roundoff())
    }

    /// Relative roundoff of the fluxes.
    fn flux_roundoff(&self) -> f64 {
        self.sweeps.flux_roundoff(self.plan.thickness().max(1.0))
    }

    /// Iterates to the end.
    ///
    /// # Errors
    /// As [`Solver::step`].
    pub fn run(&mut self) -> Result<Status> {
        loop {
            if let Some(status) = self.status() {
                return Ok(status);
            }
            self.step()?;
        }
    }

    /// Everything that is needed to go on later to the same bits.
    pub fn checkpoint(&self) -> Checkpoint {
        let [values, mixed] = self.mixing.kept().map(<[_]>::concat);
        Checkpoint {
            case: self.case.clone(),
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
    /// As [`Solver::new`]; unknowns of another case, or not those of a gas.
    pub fn resume(checkpoint: Checkpoint) -> Result<Self> {
        let Checkpoint {
            case,
            config,
            unknowns,
            residuals,
            values,
            mixed,
            spreads,
            correction,
        } = checkpoint;
        let mut solver = Self::new(case, &config)?;
        let count = solver.x.len();
        let fits = unknowns.len() == count
            && values.len() == mixed.len()
            && values.len().is_multiple_of(count)
            && values.len() / count <= config.depth + 1
            && spreads.len() == residuals.len();
        if !fits {
            return Err(Error::input(format!(
                "the checkpoint is of another problem: it holds {} unknowns where this one has {count}",
                unknowns.len()
            )));
        }
        let finite = [&unknowns, &values, &mixed, &correction]
            .into_iter()
            .flatten()
            .all(|value| value.is_finite());
        if !(finite && solver.plan.is_admissible(&unknowns)) {
            return Err(Error::input(
                "the checkpoint holds no state of a gas: a density or temperature is not positive, or a value not finite",
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

    /// The flow as it stands.
    ///
    /// # Errors
    /// A fault of the device.
    pub fn solution(&mut self) -> Result<Solution> {
        let sums = self.sweeps.output(&self.x)?;
        Ok(Solution {
            cells: self.plan.moments(&self.x, &sums),
            exchange: [0, 1, 2, 3].map(|side| self.plan.exchange(&self.x, &sums, side)),
            status: self.status().unwrap_or(Status::Unfinished),
            residuals: self.residuals.clone(),
            flux_spread: self.spreads.last().copied().unwrap_or(f64::INFINITY),
            error_estimate: self.error_estimate(),
            flux_roundoff: self.flux_roundoff(),
            downstream_excess: self.plan.downstream_excess(&self.x),
            seconds: self.seconds,
            machine: self.machine.clone(),
        })
    }

    /// The case.
    pub fn case(&self) -> &Case {
        &self.case
    }

    /// How it is solved.
    pub fn config(&self) -> &Config {
        &self.config
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

/// The steady flow of a case.
///
/// # Errors
/// As [`Solver::new`] and [`Solver::step`].
pub fn solve(case: &Case, config: &Config) -> Result<Solution> {
    let mut solver = Solver::new(case.clone(), config)?;
    solver.run()?;
    solver.solution()
}

impl Plan {
    /// The share of a correction that changes no cell's density or temperature by more than half: far from the solution the linear laws
    /// behind it overshoot.
    fn gentle_share(&self, moments: &[f64], corrected: &[f64]) -> f64 {
        if self.linear {
            return 1.0;
        }
        let mut most = 0.0_f64;
        for cell in 0..self.layout.cells {
            let [n, _, _, t] = self.primitive(moments, cell);
            let [m, _, _, s] = self.primitive(corrected, cell);
            let change = (m / n - 1.0).abs().max((s / t - 1.0).abs());
            if change.is_nan() {
                return 0.0;
            }
            most = most.max(change);
        }
        0.5 / most.max(0.5)
    }

    /// The largest change of an unknown, relative to the range of the fields.
    fn residual(&self, x: &[f64], y: &[f64]) -> f64 {
        let cells = self.layout.cells;
        let mut range = 0.0_f64;
        for k in 0..self.layout.components {
            let part = &y[k * cells..(k + 1) * cells];
            let low = part.iter().copied().fold(f64::INFINITY, f64::min);
            let high = part.iter().copied().fold(f64::NEG_INFINITY, f64::max);
            range = range.max(high - low);
        }
        let change = (x.iter().zip(y)).fold(0.0_f64, |most, (x, y)| most.max((y - x).abs()));
        // Fields that are flat but for roundoff are compared with unity; linearised ones have no unity.
        let flat = if self.linear { 0.0 } else { 1e-13 };
        if range > flat { change / range } else { change }
    }

    /// The largest spread over the faces of a line of a flux that must be constant, relative to its size; infinite on a rectangle.
    fn flux_spread(&self, swept: &Swept, floor: f64) -> f64 {
        let fluxes = &swept.fluxes;
        let (Some(first), Some(last)) = (fluxes.first(), fluxes.last()) else {
            return f64::INFINITY;
        };
        let largest = |k: usize| fluxes.iter().fold(0.0_f64, |most, f| most.max(f[k].abs()));
        let spread = |k: usize| {
            let low = fluxes
                .iter()
                .fold(f64::INFINITY, |least, f| least.min(f[k]));
            let high = fluxes
                .iter()
                .fold(f64::NEG_INFINITY, |most, f| most.max(f[k]));
            high - low
        };
        let velocity = |side: usize| {
            let wall = self.sides[side].as_ref().and_then(|s| s.wall);
            wall.map_or(0.0, |[_, velocity]| velocity)
        };
        // Walls at rest with each other take up as much energy as the work of the stress on them.
        let work = (velocity(WEST) * first[flux::SHEAR]).abs()
            + (velocity(EAST) * last[flux::SHEAR]).abs();
        let scale = largest(flux::SHEAR)
            .max(largest(flux::ENERGY))
            .max(if self.linear { 0.0 } else { work });
        let mut most = [flux::MASS, flux::SHEAR, flux::ENERGY]
            .into_iter()
            .map(spread)
            .fold(0.0, f64::max)
            / scale.max(floor);
        let momentum = largest(flux::MOMENTUM);
        if !self.linear && momentum > 0.0 {
            most = most.max(spread(flux::MOMENTUM) / momentum);
        }
        most
    }

    /// Mass, momentum and energy that all sides of a rectangle receive together, relative to the sum of their sizes; and the largest mass
    /// that passes a wall.
    fn imbalance(&self, x: &[f64], sums: &Sums, floor: f64) -> f64 {
        let (mut total, mut size) = ([0.0_f64; 4], [0.0_f64; 4]);
        let mut through = 0.0_f64;
        for side in 0..2 * self.dimensions {
            let exchange = self.exchange(x, sums, side);
            let (normal, along) = (1 + side / 2, 2 - side / 2);
            let sign = if side.is_multiple_of(2) { -1.0 } else { 1.0 };
            let pressure =
                exchange.iter().map(|e| e.pressure).sum::<f64>() / exchange.len().max(1) as f64;
            let tight = self.sides[side].as_ref().is_some_and(|s| s.tight);
            for (face, e) in exchange.iter().enumerate() {
                let width = self.widths[1 - side / 2][face];
                let mut add = |k: usize, value: f64, part: f64| {
                    total[k] += width * value;
                    size[k] += width * part.abs();
                };
                add(0, e.mass, e.mass);
                add(normal, sign * e.pressure, e.pressure - pressure);
                add(along, e.shear, e.shear);
                add(3, e.heat, e.heat);
                if tight {
                    through = through.max(e.mass.abs() * width);
                }
            }
        }
        let around: f64 = (0..2 * self.dimensions)
            .flat_map(|side| &self.widths[1 - side / 2])
            .sum();
        let exchanged = size[1].max(size[2]).max(size[3]).max(floor * around);
        let off = total
            .into_iter()
            .fold(through, |most, total| most.max(total.abs()));
        off / exchanged
    }

    /// In a wave between two streams, the strength of the downstream one less 1.
    fn downstream_excess(&self, x: &[f64]) -> Option<f64> {
        let free = self
            .sides
            .iter()
            .position(|s| s.as_ref().is_some_and(|s| s.free))?;
        Some(x[self.layout.faces_at() + self.layout.faces[free]] - 1.0)
    }

    fn moments(&self, x: &[f64], sums: &Sums) -> Vec<Moments> {
        let cells = self.layout.cells;
        (0..cells)
            .map(|cell| {
                let [density, ux, uy, temperature] = self.primitive(x, cell);
                let at = |k: usize| sums.cells[k * cells + cell];
                let trace = if self.linear {
                    1.5 * (density + temperature)
                } else {
                    1.5 * density * temperature
                };
                let [pxx, pxy, mut pyy] = [at(0), at(1), at(2)];
                if self.velocity_dimensions == 1 {
                    pyy = 0.5 * (trace - pxx);
                }
                Moments {
                    density,
                    velocity: [ux, uy],
                    temperature,
                    pressure: [pxx, pyy, pxy],
                    heat_flux: [at(3), at(4)],
                }
            })
            .collect()
    }

    fn exchange(&self, x: &[f64], sums: &Sums, side: usize) -> Vec<Exchange> {
        if self.sides[side].is_none() {
            return Vec::new();
        }
        let faces = self.layout.faces;
        let wall = self.sides[side].as_ref().and_then(|s| s.wall);
        // In the linearised equation the work is of second order.
        let speed = wall.map_or(0.0, |[_, speed]| if self.linear { 0.0 } else { speed });
        (faces[side]..faces[side + 1])
            .map(|face| {
                let left = &sums.faces[face * leaving::LEN..][..leaving::LEN];
                let mut came = [0.0; leaving::LEN];
                for (node, &[vx, vy, vz2, w]) in self.nodes.iter().enumerate() {
                    let (normal, tangential) = if side < 2 { (vx, vy) } else { (vy, vx) };
                    if (normal >= 0.0) != side.is_multiple_of(2) {
                        continue;
                    }
                    let f = self.incoming(x, side, face - faces[side], node);
                    let (square, first) = (vx * vx + vy * vy + vz2, w * f[0]);
                    let energy = square * first + w * f[1];
                    came[leaving::MASS] += normal.abs() * first;
                    came[leaving::NORMAL] += normal * normal * first;
                    came[leaving::TANGENTIAL] += normal.abs() * tangential * first;
                    came[leaving::ENERGY] += 0.5 * normal.abs() * energy;
                    came[leaving::DENSITY] += first;
                    came[leaving::DRIFT] += tangential * first;
                    came[leaving::SQUARE] += energy;
                }
                let net = |k: usize| left[k] - came[k];
                let both = |k: usize| left[k] + came[k];
                let density = both(leaving::DENSITY);
                let (velocity, temperature) = if self.linear {
                    let drift = both(leaving::DRIFT);
                    (drift, both(leaving::SQUARE) / 1.5 - density)
                } else {
                    let u = both(leaving::DRIFT) / density;
                    (u, (both(leaving::SQUARE) / density - u * u) / 1.5)
                };
                Exchange {
                    mass: net(leaving::MASS),
                    pressure: both(leaving::NORMAL),
                    shear: net(leaving::TANGENTIAL),
                    heat: net(leaving::ENERGY),
                    work: speed * net(leaving::TANGENTIAL),
                    density,
                    velocity,
                    temperature,
                }
            })
            .collect()
    }
}
