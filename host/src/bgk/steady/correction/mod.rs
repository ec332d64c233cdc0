//! Corrections of a source iteration by the conservation laws.
//!
//! A sweep at fields `W` leaves a defect: the moments of `f - S[W]` do not vanish. Source iteration passes them on, mean free path by mean
//! free path. A correction solves the conservation laws for the remaining error at once, with Newton's and Fourier's law for its stress and
//! heat flux,
//!
//! ```text
//! div (rho u) = 0,   div P = 0,   div (q + P.u) = 0,    dP = dp I - mu (grad du + grad du^T - 2/3 div du I),    dq = -kappa grad dT
//! ```
//!
//! and adds it to the moments of f. Where the defect vanishes the correction does too, so the fixed point is that of the sweeps alone; the
//! closure only sets the rate. Transport coefficients of the models: `mu = T^omega / (2 nu_0)`, `kappa = 5 T^omega / (8 Pr nu_0)`.
//!
//! Molecules that rotate have a law of Fourier for two temperatures, and exchange energy with their rotation: [`rotating`], [`rotating_shock`], [`plane`].
//!
//! **Consistency.** A diamond cell's mean is that of its faces, in every moment. The correction is discretised alike: its unknowns are
//! at faces (on a rectangle at vertices), and a cell's correction is the mean of theirs. A cell-centred diffusion operator diverges where
//! cells are thicker than a few mean free paths.
//!
//! **Source.** W. Su and others, J. Comput. Phys. 407 (2020) 109245 (general synthetic iterative scheme); M. L. Adams and E. W. Larsen,
//! Prog. Nucl. Energy 40 (2002) 3 (diffusion synthetic acceleration, and why it must be consistent).

mod laws;
mod line;
mod plane;
mod plates;
mod rotating;
mod rotating_shock;
mod shock;

use self::plane::PlaneCorrection;
use self::plates::PlatesCorrection;
use self::shock::ShockCorrection;
use super::plan::{EAST, Hold, Plan, WEST};
use super::problem::{Closure, SteadyProblem};
use super::sums::Swept;
use crate::error::{Error, Result};

/// A correction for the boundaries of a problem.
pub(super) enum Correction {
    /// A line between walls or mirrors.
    Plates(PlatesCorrection),
    /// A wave between two streams.
    Shock(ShockCorrection),
    /// A rectangle between walls and mirrors.
    Plane(Box<PlaneCorrection>),
}

/// Optical thickness of a rectangle below which mixing alone converges in at most 40 iterations. The correction takes the time of a sweep of a CPU, and
/// of several of a GPU.
const THIN: f64 = 4.0;

/// Share of molecules that a wall mirrors from which on a rectangle is corrected however thin it is.
const MIRRORED: f64 = 0.5;

impl Correction {
    /// The correction of a problem, if there is one: none with upwind differences, whose numerical diffusion it does not know, and none for
    /// inflows into enclosures, periodic faces, and rectangles thinner than [`THIN`].
    ///
    /// # Errors
    /// An operator that cannot be factored.
    pub(super) fn new(plan: &Plan) -> Result<Option<Self>> {
        if plan.dimensions == 2 {
            if plan.thickness() < THIN && plan.mirrored_by_walls() < MIRRORED {
                return Ok(None);
            }
            let plane = PlaneCorrection::new(plan)?;
            return Ok(plane.map(|plane| Self::Plane(Box::new(plane))));
        }
        if !plan.diamond {
            return Ok(None);
        }
        let answers = |side: usize| {
            plan.sides[side].as_ref().is_some_and(|s| {
                s.wall.is_some() || s.returned.is_some_and(|(from, _)| from == side)
            })
        };
        Ok(match plan.hold {
            Hold::Position(mass) => Some(Self::Shock(ShockCorrection::new(plan, mass))),
            Hold::Mass(mass) if answers(WEST) && answers(EAST) => {
                Some(Self::Plates(PlatesCorrection::new(mass)))
            }
            _ => None,
        })
    }

    /// Bytes of main memory that the correction of a problem takes at most.
    pub(super) fn bytes(problem: &SteadyProblem, closure: Closure) -> u64 {
        if problem.dimensions == 1 || closure != Closure::Diamond {
            return 0;
        }
        let [nx, ny] = [0, 1].map(|d| problem.widths[d].len());
        let rotates = problem.gas.rotating().is_some();
        let [factors, working] = PlaneCorrection::bytes(nx, ny, rotates);
        factors.saturating_add(working)
    }

    /// Corrects `y`, the moments and boundary values that a sweep at `x` led to.
    ///
    /// Returns whether the correction is another function of its arguments from now on.
    pub(super) fn apply(
        &mut self,
        plan: &Plan,
        x: &[f64],
        swept: &Swept,
        y: &mut [f64],
        iteration: usize,
    ) -> Result<bool> {
        match self {
            Self::Plates(plates) => plates.apply(plan, x, swept, y),
            Self::Shock(shock) => match &plan.rotation {
                Some(rotation) => rotating_shock::apply(shock, plan, rotation, x, swept, y),
                None => shock.apply(plan, x, swept, y),
            },
            Self::Plane(plane) => return plane.apply(plan, x, swept, y, iteration),
        }
        Ok(false)
    }

    /// All that later corrections depend on beside the plan; nothing on a line.
    pub(super) fn kept(&self) -> Vec<f64> {
        let Self::Plane(plane) = self else {
            return Vec::new();
        };
        let (about, limited) = plane.kept();
        let mut kept = vec![f64::from(u8::from(limited))];
        kept.extend(about);
        kept
    }

    /// Takes up what [`Correction::kept`] gave; later corrections have the same bits.
    ///
    /// # Errors
    /// Values of another problem.
    pub(super) fn restore(&mut self, plan: &Plan, kept: &[f64]) -> Result<()> {
        match (self, kept.split_first()) {
            (Self::Plane(plane), Some((limited, about)))
                if about.is_empty() || about.len() == 4 * plan.layout.cells =>
            {
                plane.restore(plan, about, *limited != 0.0)
            }
            (Self::Plates(_) | Self::Shock(_), None) => Ok(()),
            _ => Err(Error::invalid(
                "checkpoint",
                "the correction of another problem",
                "that of this problem",
            )),
        }
    }
}
