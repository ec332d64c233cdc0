//! The tables that all integrals of a launch share: nodes in phase, and weights that contain the oscillation.

use std::f64::consts::PI;

use rarefy_kernels::longman::driver::{BatchRule, HEAD_SUMS, PANEL_NODES, ROW_QUADS};
use rarefy_kernels::{Quad, Real};

use super::config::{BatchConfig, Oscillation};
use crate::longman::accelerate::{cvz_weights, euler_weights};
use crate::longman::quadrature::{Kronrod, Rule};
use crate::longman::special::bessel_j;
use crate::longman::zeros::bessel_zeros;

/// Panels of area k: an amplitude that is singular at the lower limit is felt in the first areas.
pub(in crate::longman) const fn panels(k: usize) -> usize {
    if k < 2 { 2 } else { 1 }
}

/// By how much the differences beyond a panel are multiplied, so that what a step makes of them covers its error, 0.34 of them: expressions with kinks are
/// left to the CPU, which covers those too.
const COVER: f64 = 0.4;

/// Step of tanh-sinh in the heads of tables, and the furthest node. The least one is 1e-275 of the width, and in single precision 1e-29, so that
/// it stays a number when it is divided by a frequency.
pub(in crate::longman) const fn head_steps(epsilon: f64) -> (f64, f64) {
    if epsilon < 1e-10 {
        (0.05, 6.0)
    } else {
        (0.125, 3.75)
    }
}

/// Arguments of a launch of the driver besides the integrals.
pub(super) struct Tables {
    pub(super) head: Vec<Quad<f64>>,
    pub(super) nodes: Vec<Quad<f64>>,
    pub(super) rows: Vec<Quad<f64>>,
    pub(super) rule: BatchRule,
}

/// The boundaries in phase, one more than there are areas, and the lower limit.
fn boundaries(oscillation: &Oscillation, areas: usize) -> (f64, Vec<f64>) {
    match oscillation {
        Oscillation::Cos => (0.0, (0..=areas).map(|k| (k as f64 + 0.5) * PI).collect()),
        Oscillation::Sin => (0.0, (1..=areas + 1).map(|k| k as f64 * PI).collect()),
        Oscillation::Bessel(nu) => (0.0, bessel_zeros(*nu, areas + 1)[..=areas].to_vec()),
        Oscillation::Boundaries { start, at } => (*start, at.clone()),
    }
}

/// The oscillation at a node of area k, or of the head (`None`), which lies `below` under the upper boundary and `above` over the lower one.
fn oscillation_at(
    oscillation: &Oscillation,
    area: Option<usize>,
    s: f64,
    above: f64,
    below: f64,
) -> f64 {
    match oscillation {
        Oscillation::Boundaries { .. } => 1.0,
        Oscillation::Bessel(nu) => bessel_j(*nu, s),
        Oscillation::Cos | Oscillation::Sin => match area {
            // Both are the sine of the distance from the nearest zero, which before the first area the sine has at 0 too.
            None if *oscillation == Oscillation::Sin => above.min(below).sin(),
            None => below.sin(),
            Some(k) => {
                let sine = above.min(below).sin();
                if k % 2 == 0 { -sine } else { sine }
            }
        },
    }
}

/// The nodes of area k in so many panels under a rule on (-1, 1), as `(s, half width of the panel times oscillation)`.
fn area_nodes(
    oscillation: &Oscillation,
    bounds: &[f64],
    k: usize,
    panels: usize,
    rule: &Rule,
) -> Vec<(f64, f64)> {
    let (from, width) = (bounds[k], bounds[k + 1] - bounds[k]);
    let half = 0.5 * width / panels as f64;
    let mut nodes = Vec::with_capacity(panels * rule.nodes.len());
    for panel in 0..panels {
        for node in &rule.nodes {
            let above = half * ((2 * panel + 1) as f64 + node);
            let below = half * ((2 * (panels - panel) - 1) as f64 - node);
            let s = from + above;
            let value = oscillation_at(oscillation, Some(k), s, above, below);
            nodes.push((s, half * value));
        }
    }
    nodes
}

/// Tanh-sinh on the head, in the order that kernels read it: every [`HEAD_SUMS`]th node from the least s on, then from the next one on.
fn head(oscillation: &Oscillation, start: f64, end: f64, epsilon: f64) -> Vec<Quad<f64>> {
    let width = end - start;
    if width <= 0.0 {
        return vec![Quad([end, 0.0, 0.0, 0.0]); HEAD_SUMS as usize];
    }
    // The left end may be singular; towards the right one the oscillation vanishes, or the integrand is smooth.
    let (step, furthest) = head_steps(epsilon);
    let (left, right) = ((furthest / step) as i32, (3.5 / step) as i32);
    let mut nodes = Vec::new();
    for j in -left..=right {
        let t = f64::from(j) * step;
        let u = PI * t.abs().sinh();
        let near = (-u).exp() / (1.0 + (-u).exp());
        let weight = step * PI * t.cosh() * near * (1.0 - near) * width;
        let (above, below) = if j < 0 {
            (near * width, (1.0 - near) * width)
        } else {
            ((1.0 - near) * width, near * width)
        };
        // Nearer to a lower limit other than 0 there is no number.
        let s = start + above;
        if s <= start {
            continue;
        }
        let weight = weight * oscillation_at(oscillation, None, s, above, below);
        nodes.push(Quad([s, weight, 0.0, 0.0]));
    }
    let Quad([middle, ..]) = nodes[nodes.len() / 2];
    let sums = HEAD_SUMS as usize;
    let each = nodes.len().div_ceil(sums);
    nodes.resize(each * sums, Quad([middle, 0.0, 0.0, 0.0]));
    (0..sums)
        .flat_map(|first| nodes.iter().skip(first).step_by(sums))
        .copied()
        .collect()
}

/// C(n, j) 2^-n, j = 0 ..= n.
fn binomials(n: usize) -> Vec<f64> {
    let mut binomial = 0.5_f64.powi(n as i32);
    (0..=n)
        .map(|j| {
            let this = binomial;
            binomial *= (n - j) as f64 / (j + 1) as f64;
            this
        })
        .collect()
}

/// The row of weights of every area, and the numbers of areas that candidates skip.
fn rows(bounds: &[f64], config: &BatchConfig, epsilon: f64) -> (Vec<Quad<f64>>, [u32; 4]) {
    use rarefy_kernels::longman::driver::row;
    let n = config.areas;
    let skips = [0, n / 4, n / 3, n / 2];
    let mut rows = vec![[0.0; 4 * ROW_QUADS as usize]; n];
    let mut fill = |column: usize, skip: usize, weights: &[f64]| {
        for (k, row) in rows.iter_mut().enumerate() {
            row[column] = match k.checked_sub(skip) {
                None => 1.0,
                Some(k) => weights.get(k).copied().unwrap_or(0.0),
            };
        }
    };
    for (m, &skip) in skips.iter().enumerate() {
        let left = n - skip;
        fill(row::VALUE + 2 * m, skip, &euler_weights(left));
        fill(row::VALUE + 2 * m + 1, skip, &cvz_weights(left));
        fill(row::FEWER + 2 * m, skip, &euler_weights(left - 2));
        fill(row::FEWER + 2 * m + 1, skip, &cvz_weights(left - 3));
        fill(row::BOUND + m, skip, &binomials(left - 1));
    }
    let euler = euler_weights(n);
    for (k, row) in rows.iter_mut().enumerate() {
        for (m, &skip) in skips.iter().enumerate() {
            if k < skip {
                row[row::BOUND + m] = 0.0;
            }
        }
        // Where the integrand contains its oscillation, a node's own roundoff is an error of its phase.
        let phase = match config.oscillation {
            Oscillation::Boundaries { .. } => {
                0.25 * epsilon * PI * bounds[k].abs() / (bounds[k + 1] - bounds[k])
            }
            _ => 0.0,
        };
        row[row::NOISE] = config.accuracy * epsilon + phase;
        row[row::MAGNITUDE] = euler[k];
        row[row::PANELS] = panels(k) as f64;
    }
    let quads = rows.iter().flat_map(|row| {
        row.chunks_exact(4)
            .map(|four| Quad([four[0], four[1], four[2], four[3]]))
    });
    (quads.collect(), skips.map(|skip| skip as u32))
}

impl Tables {
    /// The tables of a configuration, in the precision of `epsilon`. The configuration is checked.
    pub(super) fn new(config: &BatchConfig, epsilon: f64) -> Self {
        let (start, bounds) = boundaries(&config.oscillation, config.areas);
        let kronrod = Kronrod::new(7);
        // The nodes of the rule between their mirror images in both ends, where the polynomial through them is compared with the values.
        let outside = 1.0 + kronrod.margin();
        let between = |first: f64, inside: &[f64], last: f64| -> Vec<f64> {
            [&[first], inside, &[last]].concat()
        };
        let extended = Rule {
            nodes: between(-outside, &kronrod.rule.nodes, outside),
            weights: between(0.0, &kronrod.rule.weights, 0.0),
        };
        let (weights, gauss) = (&extended.weights, between(0.0, &kronrod.gauss, 0.0));
        let difference: Vec<f64> = kronrod.differences().map(|weight| COVER * weight).collect();
        let difference = between(-COVER, &difference, -COVER);
        let mut nodes = Vec::with_capacity(config.areas * PANEL_NODES as usize);
        for k in 0..config.areas {
            let area = area_nodes(&config.oscillation, &bounds, k, panels(k), &extended);
            for (j, (s, factor)) in area.into_iter().enumerate() {
                let j = j % PANEL_NODES as usize;
                nodes.push(Quad([
                    s,
                    factor * weights[j],
                    factor * gauss[j],
                    factor * difference[j],
                ]));
            }
        }
        let head = head(&config.oscillation, start, bounds[0], epsilon);
        let (rows, skips) = rows(&bounds, config, epsilon);
        let remainder = |skip: u32| {
            let n = config.areas as i32 - skip as i32;
            2.0 * (3.0 + 8f64.sqrt()).powi(-n)
        };
        let rule = BatchRule {
            absolute: config.absolute,
            relative: config.relative,
            accuracy: config.accuracy * epsilon,
            remainders: skips.map(remainder),
            last: bounds[config.areas],
            integrals: 0,
            areas: config.areas as u32,
            panels: (nodes.len() / PANEL_NODES as usize) as u32,
            head: head.len() as u32,
            alternating: (config.areas / 4).max(8) as u32,
            skips,
            bessel: u32::from(matches!(config.oscillation, Oscillation::Bessel(_))),
            looks: u32::from(!matches!(
                config.oscillation,
                Oscillation::Boundaries { .. }
            )),
            padding: 0,
        };
        Self {
            head,
            nodes,
            rows,
            rule,
        }
    }
}

/// A table in the precision of the kernels.
pub(super) fn rounded<T: Real>(table: &[Quad<f64>]) -> Vec<Quad<T>> {
    table
        .iter()
        .map(|Quad(four)| Quad(four.map(T::from_f64)))
        .collect()
}
