//! The grid that has an accuracy.

use std::collections::HashMap;

use super::{Axis, Finding, Quantity, Repeat, share, verify};

/// The largest factor by which an axis is refined at once.
const MOST_FACTOR: f64 = 2.0;
/// The least.
const LEAST_FACTOR: f64 = 1.25;
/// Grids after which a search ends.
const MOST_GRIDS: usize = 64;

/// The end of a search for a grid.
#[derive(Clone, Debug, PartialEq)]
pub struct Reached {
    /// The grid: a count for each axis.
    pub grid: Vec<usize>,
    /// The quantities on it.
    pub findings: Vec<Finding>,
    /// The reason for an end before the accuracy.
    pub obstacle: Option<String>,
    /// Number of grids that were computed, repeats included.
    pub computed: usize,
}

/// Refines a grid until each sought quantity has a relative accuracy, from the grid `start` on.
///
/// The axes of the largest errors are refined, each by the factor that its order demands, at least 1.25 and at most 2. `solve` returns the quantities of a grid, or none where it has no
/// result; no grid is computed twice. `floor` is the relative error that roundoff and the iteration leave on every grid. `refusal` is the reason for which a grid may not be computed, such as its cost.
///
/// # Errors
/// The first error of `solve`.
pub fn reach<E>(
    axes: &[Axis],
    start: &[usize],
    accuracy: f64,
    floor: f64,
    refusal: &dyn Fn(&[usize]) -> Option<String>,
    solve: &mut Repeat<'_, E>,
) -> Result<Reached, E> {
    let mut known: HashMap<Vec<usize>, Option<Vec<Quantity>>> = HashMap::new();
    let mut solve = |grid: &[usize]| {
        if let Some(found) = known.get(grid) {
            return Ok((found.clone(), known.len()));
        }
        let found = solve(grid)?;
        known.insert(grid.to_vec(), found.clone());
        Ok((found, known.len()))
    };
    let mut grid = start.to_vec();
    let mut best: Option<Reached> = None;
    loop {
        let (base, mut computed) = solve(&grid)?;
        let mut findings = Vec::new();
        if let Some(base) = base {
            findings = verify(axes, &grid, base, floor, &mut |at: &[usize]| {
                let (found, count) = solve(at)?;
                computed = count;
                Ok(found)
            })?;
        }
        let factors = factors(axes, &findings, accuracy);
        let next: Vec<usize> = (axes.iter().zip(&grid).zip(&factors))
            .map(|((axis, count), factor)| match factor {
                Some(factor) => axis.fitted(factor * *count as f64).max(*count),
                None => *count,
            })
            .collect();
        let obstacle = if factors.iter().all(Option::is_none) {
            None
        } else if next == grid {
            let (axis, most) = limiting(axes, &grid, &factors);
            Some(format!("{axis}: at most {most} are possible"))
        } else if computed >= MOST_GRIDS {
            Some(format!("{computed} grids did not suffice"))
        } else if floor > accuracy {
            Some(format!("the iteration leaves {floor:.0e}"))
        } else {
            refusal(&next)
        };
        let ends = factors.iter().all(Option::is_none) || obstacle.is_some();
        let here = Reached {
            grid,
            findings,
            obstacle,
            computed,
        };
        if ends {
            return Ok(here.or_better(best));
        }
        grid = next;
        best = Some(here.or_better(best));
    }
}

impl Reached {
    /// This end, or on an obstacle the grid before it if only that has quantities.
    fn or_better(self, best: Option<Self>) -> Self {
        match best {
            Some(best) if self.findings.is_empty() && !best.findings.is_empty() => Self {
                obstacle: self.obstacle,
                computed: self.computed,
                ..best
            },
            _ => self,
        }
    }
}

/// The factor by which each axis is to be refined; none where nothing asks for it. A grid without a result is refined along all axes.
fn factors(axes: &[Axis], findings: &[Finding], accuracy: f64) -> Vec<Option<f64>> {
    if findings.is_empty() {
        return vec![Some(MOST_FACTOR); axes.len()];
    }
    let wanting = |finding: &&Finding| finding.misses(accuracy);
    let parts = axes.len() as f64;
    let needs: Vec<f64> = (0..axes.len())
        .map(|k| {
            let need = |finding: &Finding| {
                let (error, scale) = (finding.error.parts[k].1, finding.quantity.scale);
                share(error, scale) * parts / accuracy
            };
            findings
                .iter()
                .filter(wanting)
                .map(need)
                .fold(0.0, f64::max)
        })
        .collect();
    let largest = needs.iter().copied().fold(0.0, f64::max);
    (axes.iter().zip(needs))
        .map(|(axis, need)| {
            (need > 1.0 || (need > 0.0 && need == largest)).then(|| {
                let factor = (1.1 * need).powf(axis.order.recip());
                factor.clamp(LEAST_FACTOR, MOST_FACTOR)
            })
        })
        .collect()
}

/// The axis that is to be refined beyond its range, and the end of that.
fn limiting(axes: &[Axis], grid: &[usize], factors: &[Option<f64>]) -> (&'static str, usize) {
    let mut wanted = axes.iter().zip(grid).zip(factors);
    let found = wanted.find(|(_, factor)| factor.is_some());
    found.map_or(("the grid", 0), |((axis, count), _)| (axis.name, *count))
}
