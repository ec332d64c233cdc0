//! One proof for many integrals of one form: of their tails, and that nothing hides between the nodes of their heads and areas.
//!
//! Parameters may be intervals: a bound on the remainder for all of them is one for each. Items are halved along the parameter, or the frequency, that
//! spreads most, until a part is proven as a whole or is a single item.

use rayon::prelude::*;

use super::function::Function;
use super::interval::Interval;
use super::limit::{Limit, limit};
use super::tail::{Reach, Wave};
use super::within::{Look, Places};
use crate::longman::expression::Program;
use crate::longman::oscillator::Oscillator;

/// Part of the tolerance that the remainder may have.
const SHARE: f64 = 0.1;

/// Part of the tolerance that one proof for many asks of what may hide beyond the areas, and within them.
const GOAL: f64 = 1e-3;

/// Items that a task of its own takes.
const PARALLEL: usize = 512;

/// Largest part for which one proof is tried.
const MOST: usize = 4096;

/// An integral of a batch.
#[derive(Clone, Debug)]
pub(in crate::longman) struct Item {
    /// Where it is in the batch.
    pub(in crate::longman) index: usize,
    pub(in crate::longman) omega: f64,
    pub(in crate::longman) tolerance: f64,
    /// Parameters in the order of the program.
    pub(in crate::longman) parameters: Vec<f64>,
}

impl Item {
    /// A parameter, or the frequency after the last of them.
    fn coordinate(&self, axis: usize) -> f64 {
        self.parameters.get(axis).copied().unwrap_or(self.omega)
    }
}

/// How kernels look at integrals.
#[derive(Clone, Copy, Debug)]
pub(in crate::longman) struct Rule<'a> {
    pub(in crate::longman) oscillator: Oscillator,
    /// Phases of the boundaries.
    pub(in crate::longman) zeros: &'a [f64],
    /// Largest distance between neighbouring nodes of a panel, in units of its width.
    pub(in crate::longman) gap: f64,
    /// Step of tanh-sinh in the head.
    pub(in crate::longman) step: f64,
    /// Panels of an area.
    pub(in crate::longman) panels: fn(usize) -> usize,
}

/// Indices of the items of which nothing larger than allowed hides, beyond their areas or within, and bounds on what may.
pub(in crate::longman) fn prove(
    program: &Program,
    rule: Rule<'_>,
    mut items: Vec<Item>,
) -> Vec<(usize, f64)> {
    part(program, rule, &mut items)
}

fn part(program: &Program, rule: Rule<'_>, items: &mut [Item]) -> Vec<(usize, f64)> {
    if items.is_empty() {
        return Vec::new();
    }
    if items.len() <= MOST
        && let Some(unseen) = unseen(program, rule, items)
    {
        let bound = |item: &Item| match unseen {
            // The same bound whichever items share the proof.
            Unseen::Goal => 2.0 * GOAL * item.tolerance,
            Unseen::Own(bound) => bound,
        };
        return items.iter().map(|item| (item.index, bound(item))).collect();
    }
    if items.len() == 1 {
        return Vec::new();
    }
    let axes = items[0].parameters.len() + 1;
    let spread = |axis: usize| {
        let ends = items
            .iter()
            .fold((f64::INFINITY, f64::NEG_INFINITY), |(low, high), item| {
                let x = item.coordinate(axis);
                (low.min(x), high.max(x))
            });
        let size = ends.0.abs().max(ends.1.abs());
        if size > 0.0 {
            (ends.1 - ends.0) / size
        } else {
            0.0
        }
    };
    let axis = (0..axes)
        .max_by(|a, b| spread(*a).total_cmp(&spread(*b)))
        .unwrap_or(0);
    let middle = items.len() / 2;
    items.select_nth_unstable_by(middle, |a, b| {
        a.coordinate(axis).total_cmp(&b.coordinate(axis))
    });
    let (low, high) = items.split_at_mut(middle);
    let halves = if low.len() > PARALLEL {
        rayon::join(|| part(program, rule, low), || part(program, rule, high))
    } else {
        (part(program, rule, low), part(program, rule, high))
    };
    let (mut all, more) = halves;
    all.par_extend(more);
    all
}

/// A bound on hidden features of an item.
enum Unseen {
    /// At most twice the goal.
    Goal,
    /// At most this, in the only item of a part.
    Own(f64),
}

/// A bound on what may hide in each of the items, if one proof serves all. Many items have the goal, for a part that is larger or smaller must not change an estimate.
fn unseen(program: &Program, rule: Rule<'_>, items: &[Item]) -> Option<Unseen> {
    let ends = |x: &dyn Fn(&Item) -> f64| {
        let low = items.iter().map(x).fold(f64::INFINITY, f64::min);
        let high = items.iter().map(x).fold(f64::NEG_INFINITY, f64::max);
        Interval::new(low, high)
    };
    let count = items[0].parameters.len();
    let parameters: Vec<Interval> = (0..count)
        .map(|axis| ends(&|item| item.coordinate(axis)))
        .collect();
    let omega = ends(&|item| item.omega);
    let tolerance = ends(&|item| item.tolerance);
    // Frequencies and tolerances far apart would ask the smallest of the largest.
    if !(omega.hi < 2.0 * omega.lo && (items.len() == 1 || tolerance.hi < 1e3 * tolerance.lo)) {
        return None;
    }
    let mut g = Function::new(program, &parameters)?;
    // The range begins before the last boundary of each, and the smallest frequency has the largest remainder.
    let last = rule.zeros.last()?;
    let from = last / omega.hi;
    let wave = Wave::new(rule.oscillator, omega.lo);
    let near = |reach: Option<Reach>| {
        let reach = reach.filter(|reach| reach.from <= from);
        reach.map(|reach| reach.remainder)
    };
    let beyond = |g: &mut Function<'_>, target: f64| {
        near(wave.reach(g, (from, target), false)).or_else(|| {
            // Slower than all powers: each has its own limit.
            let vanish = items.iter().all(|item| vanishes(program, rule, item));
            near(vanish.then(|| wave.reach(g, (from, target), true))?)
        })
    };
    let goal = GOAL * tolerance.lo;
    let is_alone = items.len() == 1;
    let beyond = match beyond(&mut g, goal) {
        None if is_alone => beyond(&mut g, SHARE * tolerance.lo)?,
        found => found?,
    };
    let places = Places {
        lower: 0.0,
        zeros: rule.zeros,
        omega,
        gap: rule.gap,
        step: rule.step,
        roundoff: f64::EPSILON,
        rise: Places::rise(rule.oscillator),
    };
    let within = Look::new(&mut g, places, (tolerance.lo, goal)).unseen(rule.panels)?;
    match beyond + within {
        hidden if hidden <= 2.0 * goal => Some(Unseen::Goal),
        hidden => is_alone.then_some(Unseen::Own(hidden)),
    }
}

fn vanishes(program: &Program, rule: Rule<'_>, item: &Item) -> bool {
    let own = match rule.oscillator {
        Oscillator::BesselJ(_) => 0.5,
        Oscillator::Cos | Oscillator::Sin => 0.0,
    };
    limit(program, &item.parameters, own) == Limit::Vanishes
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn items_with_a_feature_are_left_out() {
        let program = Program::parse("exp(-l*x)/(1+x)+h/((x-c)^2+1)").unwrap();
        let items: Vec<Item> = (0..3000)
            .map(|i| {
                let part = f64::from(i) / 3000.0;
                let height = if i % 100 == 7 { 1e-3 } else { 0.0 };
                Item {
                    index: i as usize,
                    omega: 1.0 + part,
                    tolerance: 1e-10,
                    parameters: program
                        .parameters()
                        .iter()
                        .map(|name| match name.as_str() {
                            "l" => 0.3 + 0.5 * part,
                            "h" => height,
                            _ => 400.0,
                        })
                        .collect(),
                }
            })
            .collect();
        let zeros = Oscillator::Cos.zeros_beyond(0.0, 33);
        let rule = Rule {
            oscillator: Oscillator::Cos,
            zeros: &zeros,
            gap: 0.11,
            step: 0.05,
            panels: |_| 1,
        };
        let proven = prove(&program, rule, items);
        assert!(proven.iter().all(|(_, unseen)| *unseen <= 1e-10));
        let mut proven: Vec<usize> = proven.into_iter().map(|(index, _)| index).collect();
        proven.sort_unstable();
        let expected: Vec<usize> = (0..3000).filter(|i| i % 100 != 7).collect();
        assert_eq!(proven, expected);
    }
}
