//! Errors from repeats on other grids.

use super::{Axis, Estimate, Finding, Quantity, Repeat};

/// Safety factor F of an estimate.
const SAFETY: f64 = 1.25;
/// Name of the part that the iteration and roundoff leave.
pub(super) const ITERATION: &str = "iteration";

/// The grids on which [`verify`] repeats a run, for a prediction of its cost.
pub fn repeats(axes: &[Axis], grid: &[usize]) -> Vec<Vec<usize>> {
    let mut grids = Vec::new();
    for (k, axis) in axes.iter().enumerate() {
        let mut at = grid.to_vec();
        let first = axes[0].coarser(grid[0]).first().copied();
        if let Some(coarser) = first.filter(|_| axis.on_coarser && !axes[0].is_small(grid[0])) {
            at[0] = coarser;
        }
        let coarser = axis.coarser(grid[k]);
        let counts = match axis.finer(grid[k]) {
            Some(finer) if axis.is_small(grid[k]) && axis.coarser_too => {
                [&[finer], &coarser[..]].concat()
            }
            Some(finer) if axis.is_small(grid[k]) => vec![finer],
            _ => coarser,
        };
        for count in counts {
            at[k] = count;
            grids.push(at.clone());
        }
    }
    grids
}

/// Repeats a run on other grids, and estimates the error of each quantity of `base`, its values on `grid`.
///
/// `repeat` returns the quantities on a grid, in the same order, or none where that grid has no result. `floor` is the relative error of the values on a grid, by roundoff and the end of an
/// iteration.
///
/// # Errors
/// The first error of `repeat`.
pub fn verify<E>(
    axes: &[Axis],
    grid: &[usize],
    base: Vec<Quantity>,
    floor: f64,
    repeat: &mut Repeat<'_, E>,
) -> Result<Vec<Finding>, E> {
    let mut parts: Vec<Vec<(&'static str, f64)>> = vec![Vec::new(); base.len()];
    let mut coarser: Option<(usize, Vec<Quantity>)> = None;
    for (k, axis) in axes.iter().enumerate() {
        let mut at = grid.to_vec();
        let background = coarser.as_ref().filter(|_| axis.on_coarser);
        let reference = match background {
            Some((count, values)) => {
                at[0] = *count;
                values
            }
            None => &base,
        };
        let mut ladder = Ladder::new(axis, grid[k]);
        let mut try_count = |count: usize, ladder: &mut Ladder| {
            at[k] = count;
            let found = repeat(&at)?;
            let known = found.is_some();
            ladder.repeats.extend(found.map(|values| (count, values)));
            Ok(known)
        };
        let finer = axis.finer(grid[k]);
        let small = axis.is_small(grid[k]);
        let mut done = false;
        if let Some(finer) = finer.filter(|_| small) {
            done = try_count(finer, &mut ladder)?;
        }
        if !done || axis.coarser_too {
            for count in axis.coarser(grid[k]) {
                done |= try_count(count, &mut ladder)?;
            }
        }
        if let Some(finer) = finer.filter(|_| !done && !small) {
            try_count(finer, &mut ladder)?;
        }
        for (quantity, parts) in parts.iter_mut().enumerate() {
            parts.push((axis.name, ladder.error(reference, quantity, floor)));
        }
        if k == 0 {
            let mut repeats = ladder.repeats.into_iter();
            coarser = repeats.find(|(count, _)| *count < grid[0]);
        }
    }
    Ok(base
        .into_iter()
        .zip(parts)
        .map(|(quantity, mut parts)| {
            if floor > 0.0 {
                parts.push((ITERATION, floor * quantity.scale));
            }
            let total = parts.iter().map(|part| part.1).sum();
            Finding {
                quantity,
                error: Estimate { total, parts },
            }
        })
        .collect())
}

/// Repeats along an axis.
struct Ladder<'a> {
    axis: &'a Axis,
    /// The count of the run.
    count: usize,
    /// Counts of the repeats and their quantities, the finest first.
    repeats: Vec<(usize, Vec<Quantity>)>,
}

impl<'a> Ladder<'a> {
    fn new(axis: &'a Axis, count: usize) -> Self {
        Self {
            axis,
            count,
            repeats: Vec::new(),
        }
    }

    /// The error of a quantity on the count of the run; infinite where no repeat has it.
    fn error(&self, reference: &[Quantity], quantity: usize, floor: f64) -> f64 {
        let known = |values: &[Quantity]| {
            let value = values.get(quantity).map(|quantity| quantity.value);
            value.filter(|value| value.is_finite())
        };
        let Some(own) = known(reference) else {
            return f64::INFINITY;
        };
        let noise = floor * reference[quantity].scale;
        let differences: Vec<(f64, f64)> = (self.repeats.iter())
            .filter_map(|(count, values)| {
                let ratio = self.count as f64 / *count as f64;
                Some((ratio, known(values)? - own))
            })
            .collect();
        let most = match reference[quantity].in_layers {
            true => self.axis.in_layers,
            false => self.axis.order,
        };
        let plain = differences
            .iter()
            .map(|(ratio, difference)| difference.abs() / (ratio.powf(most) - 1.0).abs());
        let error = match differences[..] {
            [] => f64::INFINITY,
            [first, second, ..] if are_monotone(&differences, noise) => {
                let order = observed(first, second).clamp(self.axis.least.min(most), most);
                first.1.abs() / (first.0.powf(order) - 1.0).abs()
            }
            _ => plain.fold(0.0, f64::max),
        };
        SAFETY * error
    }
}

/// Whether coarser values depart to one side, each further than the one before.
fn are_monotone(differences: &[(f64, f64)], noise: f64) -> bool {
    let mut pairs = differences.windows(2);
    pairs.all(|pair| is_monotone(pair[0], pair[1], noise))
}

/// Whether two coarser values, with their ratios of spacing, depart to one side, the coarser further, and by more than noise.
fn is_monotone(first: (f64, f64), second: (f64, f64), noise: f64) -> bool {
    let [near, far] = [first.1, second.1];
    first.0 > 1.0
        && second.0 > first.0
        && near.abs() > 10.0 * noise
        && near * far > 0.0
        && far.abs() > near.abs()
}

/// The order q of two coarser values: their differences are as `r1^q - 1` and `r2^q - 1`. By bisection, for the quotient grows with q.
fn observed(first: (f64, f64), second: (f64, f64)) -> f64 {
    let wanted = second.1 / first.1;
    let quotient = |q: f64| (second.0.powf(q) - 1.0) / (first.0.powf(q) - 1.0);
    let [mut low, mut high] = [1e-3, 64.0];
    for _ in 0..60 {
        let middle = 0.5 * (low + high);
        if quotient(middle) < wanted {
            low = middle;
        } else {
            high = middle;
        }
    }
    0.5 * (low + high)
}
