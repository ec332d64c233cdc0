//! Errors of the discretisation of a flow: the same flow on other cells, with other velocities, and with its far field elsewhere.
//!
//! | axis | count | a repeat has |
//! |---|---|---|
//! | `cells` | 64 is the case's | cells as many times as wide, by the same map from cells to places |
//! | `velocities` | directions of a quadrant or of a quarter turn, points of a half axis, or 64 for the case's step | fewer directions and speeds, or a wider step |
//! | `domain` | 64 is the case's | sides at a share of their distance from the bodies, on the same cells |
//!
//! Repeats of the last two are on the coarser cells, where the differences are about the same. Each starts from the flow on the nearest grid, so it takes fewer iterations than the run.

use std::cell::RefCell;
use std::rc::Rc;

use super::case::{Case, Side, Velocities};
use super::far::{self, rounded};
use super::findings::Findings;
use super::machine::Machine;
use super::nested::{self, Grid};
use super::plane::edges_of;
use super::problem;
use super::quantities;
use super::velocities::velocities_of;
use super::volume;
use crate::accuracy::{Axis, Errors, Quantity, Repeatable, SECONDS, Setting, Unwatched, Watch};
use crate::error::Result;

/// Count of the cells of a case, of its step of velocities, and of its far field.
const PARTS: usize = 64;
/// Iterations of a flow, about.
const ITERATIONS: f64 = 20.0;
/// Work on an unknown whose equilibrium is no linear function, over that of one that is.
const NONLINEAR: f64 = 2.0;
/// Most Gauss points of a half axis.
const MOST_POINTS: usize = 24;
/// Fewest speeds of polar velocities.
const FEWEST_SPEEDS: usize = 4;
/// Grids whose flows are kept as starts.
const MOST_KEPT: usize = 8;
/// Relative error that an iteration leaves, over its last change.
const LEFT: f64 = 3.0;
/// A repeat's tolerance over that of the run, and the largest one that it takes so.
const ROUGHER: f64 = 10.0;
const ROUGH: f64 = 1e-4;
/// Share of a search's accuracy at which its iterations end.
const ITERATED: f64 = 0.03;

/// A flow that can be solved on other grids.
pub struct Grids {
    case: Case,
    machine: Machine,
    /// Count of the velocities of the case.
    directions: usize,
    has_far: bool,
    searches: bool,
    kept: RefCell<Vec<(Vec<usize>, Rc<Grid>)>>,
}

impl std::fmt::Debug for Grids {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Grids")
            .field("case", &self.case)
            .finish_non_exhaustive()
    }
}

impl Grids {
    /// The grids of a case around its own.
    ///
    /// # Errors
    /// As [`Case::resolve`].
    pub fn new(case: &Case, machine: &Machine) -> Result<Self> {
        let case = case.resolve()?;
        let directions = match velocities_of(&case) {
            Velocities::Polar { angles, .. } => angles / 4,
            Velocities::Uniform { .. } => PARTS,
            Velocities::Gauss { points, .. } => points,
            Velocities::Axis { angles, .. } => angles / 2,
        };
        let has_far = !far::far(&case).is_empty();
        Ok(Self {
            case,
            machine: machine.clone(),
            directions,
            has_far,
            searches: false,
            kept: RefCell::default(),
        })
    }

    /// The same for a search, whose grids are finer and whose iterations end below the accuracy.
    ///
    /// Directions that a periodic case leaves out are those whose results differ less from those of fewer: equal parts, or denser ones towards the axes.
    ///
    /// # Errors
    /// As [`Grids::new`].
    pub fn to_search(mut self, accuracy: f64) -> Result<Self> {
        let sides = self.case.named_sides();
        let is_periodic = sides
            .iter()
            .any(|(_, side)| matches!(side, Side::Periodic { .. }));
        let chooses = self.case.velocities.is_none() && !self.case.is_whole();
        if chooses && self.case.gas.linear && is_periodic {
            let mut best = (f64::INFINITY, None);
            for graded in [false, true] {
                let mut case = self.case.clone();
                if let Velocities::Polar { graded: of, .. } =
                    case.velocities.insert(velocities_of(&self.case))
                {
                    *of = graded;
                }
                let differences = Self::new(&case, &self.machine)?.of_velocities()?;
                if differences < best.0 {
                    best = (differences, case.velocities);
                }
            }
            self.case.velocities = best.1;
        }
        let solver = &mut self.case.solver;
        solver.tolerance = solver.tolerance.min(ITERATED * accuracy);
        self.searches = true;
        Ok(self)
    }

    /// The largest relative difference of a sought quantity from its value with fewer velocities, on coarser cells.
    fn of_velocities(&self) -> Result<f64> {
        let mut grid = self.grid();
        grid[0] = PARTS / 2;
        let all = self.repeat(&grid, &Unwatched)?.unwrap_or_default();
        grid[1] = self.directions * 7 / 10;
        let fewer = self.repeat(&grid, &Unwatched)?.unwrap_or_default();
        let pairs = all.iter().zip(&fewer).filter(|pair| pair.0.sought);
        let differences = pairs.map(|(a, b)| (a.value - b.value).abs() / a.scale);
        // No pair at all is no choice.
        Ok(differences.reduce(f64::max).unwrap_or(f64::INFINITY))
    }

    /// The case, resolved.
    pub fn case(&self) -> &Case {
        &self.case
    }

    /// Solves the case on its own grid, as [`solve`](super::solve) does.
    ///
    /// # Errors
    /// As [`solve`](super::solve).
    pub fn solve(&self, observe: &mut dyn FnMut(usize, f64) -> bool) -> Result<Findings> {
        let (found, grid) = nested::solve(&self.case, &self.machine, None, observe)?;
        self.keep(&self.grid(), grid);
        Ok(found)
    }

    /// The numbers of a flow that have errors, and the relative error that the iteration left.
    pub fn quantities(&self, found: &Findings) -> (Vec<Quantity>, f64) {
        (
            quantities::quantities(&self.case, found),
            (LEFT * found.change).max(quantities::imbalance(&self.case, found)),
        )
    }

    /// Errors of a solved flow, where the work of all repeats is at most `most`.
    ///
    /// # Errors
    /// Those of repeats that another grid would not have.
    pub fn errors(&self, found: &Findings, most: f64, watch: &dyn Watch) -> Result<Errors> {
        Errors::of_repeats(self, self.quantities(found), most, watch)
    }

    /// The case on another grid.
    pub fn on(&self, grid: &[usize]) -> Case {
        self.placed(grid, None)
    }

    /// The case on another grid, its far field on edges of present cells where there are some.
    fn placed(&self, grid: &[usize], edges: Option<&[&[f64]]>) -> Case {
        let mut case = self.case.clone();
        let count = |k: usize| grid.get(k).copied().unwrap_or(PARTS);
        if count(0) != PARTS {
            let domain = &mut case.domain;
            let h = rounded(domain.h * PARTS as f64 / count(0) as f64);
            let coarser = h / domain.h;
            domain.h = h;
            // Refinement keeps the map from cells to places.
            domain.growth = domain.growth.powf(coarser);
            domain.largest *= coarser;
        }
        if count(1) != self.directions {
            let share = count(1) as f64 / self.directions as f64;
            case.velocities = Some(match velocities_of(&case) {
                Velocities::Polar {
                    speeds,
                    temperature,
                    graded,
                    ..
                } => Velocities::Polar {
                    angles: 4 * count(1),
                    speeds: ((speeds as f64 * share).round() as usize)
                        .max(FEWEST_SPEEDS.min(speeds)),
                    temperature,
                    graded,
                },
                Velocities::Uniform {
                    step,
                    reach,
                    angles,
                } => Velocities::Uniform {
                    step: rounded(step / share),
                    reach,
                    angles: match case.is_round() {
                        true => even(angles as f64 * share),
                        false => angles,
                    },
                },
                Velocities::Axis {
                    speeds,
                    axial,
                    temperature,
                    ..
                } => Velocities::Axis {
                    angles: 2 * count(1),
                    speeds: ((speeds as f64 * share).round() as usize).max(2),
                    axial: ((axial as f64 * share).round() as usize).max(2),
                    temperature,
                },
                Velocities::Gauss { temperature, .. } => Velocities::Gauss {
                    points: count(1),
                    temperature,
                },
            });
        }
        if self.has_far && count(2) != PARTS {
            case = far::moved(&case, count(2) as f64 / PARTS as f64, edges);
        }
        case
    }

    fn keep(&self, at: &[usize], grid: Grid) {
        let mut kept = self.kept.borrow_mut();
        if kept.len() == MOST_KEPT {
            kept.remove(0);
        }
        kept.push((at.to_vec(), Rc::new(grid)));
    }

    /// The flow on the nearest grid that is solved.
    fn nearest(&self, to: &[usize]) -> Option<(Vec<usize>, Rc<Grid>)> {
        let apart = |at: &[usize]| -> f64 {
            let ratios = at.iter().zip(to).map(|(a, b)| *a as f64 / *b as f64);
            ratios.map(|ratio| ratio.ln().abs()).sum()
        };
        let kept = self.kept.borrow();
        let nearest = kept
            .iter()
            .min_by(|a, b| apart(&a.0).total_cmp(&apart(&b.0)));
        nearest.cloned()
    }

    /// Cells and velocities on a grid, about.
    fn size(&self, case: &Case) -> [f64; 2] {
        if case.is_whole() {
            let edges = match case.is_round() {
                true => edges_of(case, 1.0, &Default::default()).to_vec(),
                false => volume::edges_of(case, 1.0, &Default::default()).to_vec(),
            };
            let cells: usize = edges.iter().map(|edges| edges.len() - 1).product();
            let nodes = volume::nodes_of(case).map_or(0, |nodes| nodes.count);
            return [cells as f64, nodes as f64];
        }
        let [x, y] = edges_of(case, 1.0, &[Vec::new(), Vec::new()]);
        let cells = (x.len() - 1) * (y.len() - 1);
        let nodes = match velocities_of(case) {
            Velocities::Polar { angles, speeds, .. } => angles * speeds,
            Velocities::Uniform { step, reach, .. } => problem::uniform(case, step, reach).len(),
            Velocities::Gauss { .. } | Velocities::Axis { .. } => 0,
        };
        [cells as f64, nodes as f64]
    }
}

/// The even number next to another, at least 4.
fn even(count: f64) -> usize {
    (2 * (0.5 * count).round() as usize).max(4)
}

impl Repeatable for Grids {
    fn axes(&self) -> Vec<Axis> {
        // A finer repeat is made where no coarser one has a result, if it takes no long time.
        let finer = |k: usize| {
            let mut grid = self.grid();
            grid[k] *= 2;
            let affords = self.searches || self.work(&grid) < SECONDS;
            if affords { grid[k] } else { self.grid()[k] }
        };
        let most = |k: usize, most: usize| match self.searches {
            true => most,
            false => finer(k),
        };
        let velocities = match velocities_of(&self.case) {
            // Jumps of the gas from direction to direction leave errors of first order.
            Velocities::Polar { .. } => Axis {
                shares: vec![0.7],
                ..Axis::velocities(1.0, 2..=most(1, 1024), 1)
            },
            Velocities::Axis { .. } => Axis {
                shares: vec![0.7],
                ..Axis::velocities(2.0, 2..=most(1, 64), 1)
            },
            Velocities::Gauss { .. } => Axis {
                shares: vec![0.7],
                ..Axis::velocities(1.0, 2..=most(1, MOST_POINTS), 1)
            },
            // Much wider steps miss the gas.
            Velocities::Uniform { .. } => Axis {
                shares: vec![0.8],
                ..Axis::velocities(Axis::MIDPOINTS, 2..=most(1, 1024), 1)
            },
        };
        let mut axes = vec![
            Axis {
                sure: 0,
                least: 1.0,
                in_layers: 1.0,
                ..Axis::cells(2..=most(0, PARTS * PARTS))
            },
            Axis {
                sure: 4,
                ..velocities
            },
        ];
        if self.has_far {
            // A slow flow feels its borders far away, and two repeats show its order; a thin fast one feels them by the molecules that come back.
            let (order, shares) = match (far::is_fast(&self.case), far::is_dense(&self.case)) {
                (true, true) => (2.0, vec![0.5]),
                (true, false) => (1.0, vec![0.5]),
                (false, _) => (1.0, vec![0.5, 0.25]),
            };
            axes.push(Axis {
                shares,
                least: 0.25,
                sure: 0,
                on_coarser: true,
                ..Axis::new("domain", order, 4..=most(2, PARTS * PARTS))
            });
        }
        axes
    }

    fn grid(&self) -> Vec<usize> {
        let mut grid = vec![PARTS, self.directions];
        grid.extend(self.has_far.then_some(PARTS));
        grid
    }

    fn work(&self, grid: &[usize]) -> f64 {
        let case = self.on(grid);
        let [cells, nodes] = self.size(&case);
        let each = if case.gas.linear { 1.0 } else { NONLINEAR };
        2.0 * cells * nodes * ITERATIONS * each
    }

    fn tolerance(&self) -> f64 {
        LEFT * self.case.solver.tolerance
    }

    fn repeat(&self, grid: &[usize], watch: &dyn Watch) -> Result<Option<Vec<Quantity>>> {
        let nearest = self.nearest(grid);
        let edges = nearest
            .as_ref()
            .filter(|(at, _)| at[..] != *grid)
            .map(|(_, grid)| grid.edges());
        let inwards = grid.get(2).is_some_and(|count| *count < PARTS);
        let mut case = self.placed(grid, edges.as_deref().filter(|_| inwards));
        let start = nearest.as_ref().map(|(_, grid)| &**grid);
        let observe = &mut |_, _| !watch.is_stopped();
        let solver = &mut case.solver;
        if !self.searches {
            solver.tolerance = solver.tolerance.max(ROUGH.min(ROUGHER * solver.tolerance));
        }
        let (found, solved) = nested::solve(&case, &self.machine, start, observe)?;
        if !found.is_steady() {
            return Ok(None);
        }
        self.keep(grid, solved);
        Ok(Some(quantities::quantities(&case, &found)))
    }

    fn named(&self, grid: &[usize]) -> Vec<(&'static str, Setting)> {
        let case = self.on(grid);
        let mut named = vec![("h", Setting::Number(case.domain.h))];
        match velocities_of(&case) {
            Velocities::Polar { angles, speeds, .. } => named.extend([
                ("angles", Setting::Count(angles)),
                ("speeds", Setting::Count(speeds)),
            ]),
            Velocities::Uniform { step, angles, .. } => {
                named.push(("step", Setting::Number(step)));
                let angles = ("angles", Setting::Count(angles));
                named.extend(case.is_round().then_some(angles));
            }
            Velocities::Axis {
                angles,
                speeds,
                axial,
                ..
            } => named.extend([
                ("angles", Setting::Count(angles)),
                ("speeds", Setting::Count(speeds)),
                ("axial", Setting::Count(axial)),
            ]),
            Velocities::Gauss { points, .. } => named.push(("points", Setting::Count(points))),
        }
        if self.has_far {
            named.extend([
                ("x", Setting::Ends(case.domain.x)),
                ("y", Setting::Ends(case.domain.y)),
            ]);
            named.extend(case.domain.z.map(|z| ("z", Setting::Ends(z))));
        }
        named
    }

    fn remedy(&self, axis: &str, factor: f64) -> Option<String> {
        let places = ["cells", "velocities", "domain"];
        let at = places.iter().position(|name| *name == axis)?;
        let mut grid = self.grid();
        grid[at] = (grid[at] as f64 * factor).ceil() as usize;
        let keys: &[&str] = match at {
            0 => &["h"],
            1 => &["angles", "speeds", "axial", "step", "points"],
            _ => &["x", "y", "z"],
        };
        let settings = self.named(&grid).into_iter();
        let words: Vec<String> = settings
            .filter(|(key, _)| keys.contains(key))
            .map(|(key, setting)| format!("{key} = {setting}"))
            .collect();
        Some(words.join(", "))
    }
}

#[cfg(test)]
mod random;
#[cfg(test)]
mod tests;
