//! Sums over reflections, as many as there are.

use crate::bgk::quadrature::Rule;
use crate::error::Result;

/// Share of the molecules below which reflections are left out.
const FAINT: f64 = 1e-10;
/// Terms that are summed one by one; further ones are in groups of twice their number.
const SINGLE: usize = 16;
/// Points of the sum over a group.
const OF_GROUP: usize = 8;

/// Reflections after which a share of the molecules is left that does not count.
pub(super) fn last(mirrored: f64) -> f64 {
    (FAINT.ln() / mirrored.ln()).ceil()
}

/// Points and weights of a sum over integers of a function that is smooth in the logarithm, from `first` to `last` at least.
///
/// # Errors
/// Rules of too many nodes.
pub(super) fn integers(first: usize, last: usize) -> Result<Vec<[f64; 2]>> {
    let single = first..=last.min(SINGLE - 1);
    let mut found: Vec<[f64; 2]> = single.map(|n| [n as f64, 1.0]).collect();
    let mut start = SINGLE;
    while start <= last {
        let rule = Rule::of_integers(start, OF_GROUP)?;
        let middle = 0.5 * (3 * start - 1) as f64;
        let pairs = rule.nodes.iter().zip(&rule.weights);
        found.extend(pairs.map(|(n, weight)| [middle + n, *weight]));
        start *= 2;
    }
    Ok(found)
}
