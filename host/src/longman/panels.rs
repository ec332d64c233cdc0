//! Areas in panels, and what is looked at besides the two sums of a rule: whether the samples can be those of what they are taken for.
//!
//! | what samples may miss | what is looked at |
//! |---|---|
//! | a step, a kink or a front, where the sums of Gauss and Kronrod agree by accident, or between the last node of a panel and the first of the next | the polynomial through the nodes of a panel, continued to the other side of its ends, against the value there |
//! | a change of sign through infinity | neighbouring values of opposite signs that are larger than those beyond them |
//! | roundoff of the values themselves | their bounds, where the integrand knows them |

use super::integrand::{Accuracy, Function};
use super::quadrature::{Estimate, Kronrod, has_pole, quadpack_error};

/// The roundoff of an integrand's values in an area.
pub(super) struct Rounding<'a> {
    weights: &'a [f64],
    panels: usize,
    thorough: bool,
    sum: f64,
}

impl<'a> Rounding<'a> {
    pub(super) fn new(kronrod: &'a Kronrod, panels: usize, accuracy: Accuracy) -> Self {
        Self {
            weights: &kronrod.rule.weights,
            panels,
            thorough: accuracy.thorough,
            sum: 0.0,
        }
    }

    /// The value of `f` at x, which is node number `node` of a panel and is multiplied by `factor`.
    pub(super) fn at(&mut self, f: &mut impl Function, node: usize, factor: f64, x: f64) -> f64 {
        let Some(weight) = node_weight(self.weights, node, self.thorough) else {
            return f.at(x);
        };
        let (value, error) = f.with_error(x);
        self.sum += weight * factor.abs() * error;
        value
    }

    /// Integral of the error over a range of this width.
    pub(super) fn of(&self, width: f64) -> f64 {
        0.5 * width / self.panels as f64 * self.sum
    }
}

/// The weight of a node in the sum of the roundoff; none where its roundoff is not asked for. The weights of a rule sum up to 2.
fn node_weight(weights: &[f64], node: usize, thorough: bool) -> Option<f64> {
    match (thorough, node == weights.len() / 2) {
        (true, _) => weights.get(node).copied(),
        (false, true) => Some(2.0),
        (false, false) => None,
    }
}

/// Where an integrand is evaluated for the sum over a range in panels.
#[derive(Clone, Copy, Debug)]
pub(super) enum Place {
    /// A node of a panel.
    Node {
        /// Number of the panel.
        panel: usize,
        /// Number of the node.
        node: usize,
    },
    /// Outside the range, as far as the nodes next to its ends are inside. Not a number is passed over.
    Beyond,
}

/// Kronrod sum over a range in equal panels; `f` is given the place, and the part of the range below it.
pub(super) fn kronrod_sum(
    kronrod: &Kronrod,
    (panels, width): (usize, f64),
    accuracy: Accuracy,
    mut f: impl FnMut(Place, f64) -> f64,
) -> Estimate {
    let (nodes, weights, gauss) = (&kronrod.rule.nodes, &kronrod.rule.weights, &kronrod.gauss);
    let count = panels as f64;
    let scale = 0.5 * width / count;
    let mut values = vec![0.0; nodes.len()];
    let mut previous = values.clone();
    let mut total = Estimate::default();
    let (mut steps, mut largest) = (0.0, 0.0_f64);
    let outside = 0.5 * kronrod.margin() / count;
    let amplification = kronrod.amplification();
    // By how much the values next to the ends of panels are not what their polynomials make them, roundoff apart.
    let step = |continued: f64, value: f64, largest: f64| {
        let noise = amplification * (accuracy.relative * largest + accuracy.absolute);
        let step = (continued - value).abs() - noise;
        // False for NaN.
        if step > 0.0 && step.is_finite() {
            step
        } else {
            0.0
        }
    };
    for panel in 0..panels {
        let (mut fine, mut coarse, mut magnitude) = (0.0, 0.0, 0.0);
        for (node, value) in values.iter_mut().enumerate() {
            let part = (panel as f64 + 0.5 * (1.0 + nodes[node])) / count;
            *value = f(Place::Node { panel, node }, part);
            fine += weights[node] * *value;
            coarse += gauss[node] * *value;
            magnitude += weights[node] * value.abs();
        }
        let mean = 0.5 * fine;
        let terms = values.iter().zip(weights);
        let deviation: f64 = terms.map(|(value, w)| w * (value - mean).abs()).sum();
        total.value += scale * fine;
        total.magnitude += scale * magnitude;
        let difference = quadpack_error(
            scale * coarse,
            scale * fine,
            scale * magnitude,
            scale * deviation,
        );
        total.error += difference;
        if has_pole(&values) {
            total.error += 10.0 * scale * magnitude;
        }
        let before = match (panel, previous.last()) {
            (1.., Some(last)) => {
                steps += step(kronrod.beyond(&previous), values[0], largest);
                *last
            }
            _ => f(Place::Beyond, -outside),
        };
        largest = values.iter().fold(largest, |m, value| m.max(value.abs()));
        steps += step(kronrod.before(&values), before, largest);
        std::mem::swap(&mut values, &mut previous);
    }
    let after = f(Place::Beyond, 1.0 + outside);
    steps += step(kronrod.beyond(&previous), after, largest);
    total.error += scale * kronrod.unseen(steps);
    total
}

/// Bisections of an area at most, each of which halves what a step leaves, and those that may be in vain.
const BISECTIONS: usize = 64;
const VAIN: usize = 4;

/// Ends of 8 equal panels.
pub(super) const EIGHTHS: [f64; 9] = [0.0, 0.125, 0.25, 0.375, 0.5, 0.625, 0.75, 0.875, 1.0];

/// The same over a range that equal panels do not resolve: of panels with these `ends`, as parts of the range, the worst one is bisected until the error is within
/// `target`. So steps and kinks are found; poles are not, nor does noise become less. `f` is given the part of the range below, and whether a bound on the roundoff
/// of the value is asked for. The integral of those bounds is returned too.
pub(super) fn resolved(
    kronrod: &Kronrod,
    (ends, width): (&[f64], f64),
    accuracy: Accuracy,
    target: f64,
    mut f: impl FnMut(f64, bool) -> (f64, f64),
) -> (Estimate, f64) {
    let weights = &kronrod.rule.weights;
    let mut piece = |from: f64, part: f64| {
        let mut rounding = 0.0;
        let sum = kronrod_sum(kronrod, (1, part * width), accuracy, |place, below| {
            let weight = match place {
                Place::Node { node, .. } => node_weight(weights, node, accuracy.thorough),
                Place::Beyond => None,
            };
            let (value, error) = f(from + below * part, weight.is_some());
            rounding += weight.unwrap_or(0.0) * error;
            value
        });
        Piece {
            from,
            part,
            sum,
            rounding: 0.5 * part * width * rounding,
        }
    };
    let panels = ends.windows(2);
    let mut pieces: Vec<Piece> = panels
        .map(|ends| piece(ends[0], ends[1] - ends[0]))
        .collect();
    let mut vain = 0;
    for _ in 0..BISECTIONS {
        let total: f64 = pieces.iter().map(|piece| piece.sum.error).sum();
        let largest =
            |(i, a): (usize, f64), (j, b): (usize, f64)| if b > a { (j, b) } else { (i, a) };
        let errors = pieces.iter().map(|piece| piece.sum.error).enumerate();
        let Some((worst, error)) = errors.reduce(largest) else {
            break;
        };
        if total.is_nan() || total <= target || vain > VAIN {
            break;
        }
        let Piece { from, part, .. } = pieces.swap_remove(worst);
        let halves = [
            piece(from, 0.5 * part),
            piece(from + 0.5 * part, 0.5 * part),
        ];
        let left: f64 = halves.iter().map(|piece| piece.sum.error).sum();
        vain += usize::from(left > 0.75 * error);
        pieces.extend(halves);
    }
    in_all(pieces)
}

/// A part of a range, with its integral.
struct Piece {
    from: f64,
    part: f64,
    sum: Estimate,
    /// Integral of the bounds on the roundoff of the values.
    rounding: f64,
}

/// The sum of all pieces in the order of their beginnings, whatever was bisected first.
fn in_all(mut pieces: Vec<Piece>) -> (Estimate, f64) {
    pieces.sort_by(|a, b| a.from.total_cmp(&b.from));
    let sum = pieces
        .iter()
        .fold(Estimate::default(), |all, Piece { sum, .. }| Estimate {
            value: all.value + sum.value,
            error: all.error + sum.error,
            magnitude: all.magnitude + sum.magnitude,
        });
    (sum, pieces.iter().map(|piece| piece.rounding).sum())
}
