//! The planes that maps show: that of a flow in a plane, or two through the bodies of a flow in space.

use super::results::Outcome;
use super::surface;
use crate::flow::Fields;

/// A plane of cells.
pub(super) struct Slice {
    /// Names of its axes.
    pub(super) names: [&'static str; 2],
    /// Where it is, for the title; empty of a flow in a plane.
    pub(super) place: String,
    /// Edges of the cells along its axes.
    pub(super) edges: [Vec<f64>; 2],
    /// Its cells among those of the fields, row by row along the first axis.
    cells: Vec<usize>,
    /// Walls as lines.
    pub(super) walls: Vec<Vec<(f64, f64)>>,
    axes: [usize; 2],
    /// Whether lines of equal mass flow exist: in a plane.
    pub(super) is_whole: bool,
}

impl Slice {
    /// The planes of a flow.
    pub(super) fn all(outcome: &Outcome) -> Vec<Self> {
        let fields = &outcome.found.fields;
        if !outcome.case.is_in_space() {
            return vec![Self {
                names: ["x", "y"],
                place: String::new(),
                edges: [fields.x.clone(), fields.y.clone()],
                cells: (0..fields.gas.len()).collect(),
                walls: surface::walls(&outcome.segments).collect(),
                axes: [0, 1],
                is_whole: true,
            }];
        }
        [2, 1]
            .into_iter()
            .map(|across| Self::through(outcome, across))
            .collect()
    }

    /// The plane across an axis through the middle of the bodies, or of the domain without any.
    fn through(outcome: &Outcome, across: usize) -> Self {
        let fields = &outcome.found.fields;
        let all = [&fields.x, &fields.y, &fields.z];
        let names = ["x", "y", "z"];
        let axes = if across == 2 { [0, 1] } else { [0, 2] };
        let edges = all[across];
        let ends = match edges[..] {
            [first, .., last] => [first, last],
            _ => [0.0, 1.0],
        };
        let corners = outcome.found.facets.iter().flat_map(|facet| &facet.corners);
        let reach = corners.fold([f64::INFINITY, f64::NEG_INFINITY], |[low, high], corner| {
            [low.min(corner[across]), high.max(corner[across])]
        });
        // Half of a body at a mirror is cut by the mirror.
        let is_half = |at: f64, end: f64| (at - end).abs() < 1e-9 * (ends[1] - ends[0]);
        let middle = match reach {
            [low, high] if low > high => 0.5 * (ends[0] + ends[1]),
            [low, _] if is_half(low, ends[0]) => ends[0],
            [_, high] if is_half(high, ends[1]) => ends[1],
            [low, high] => 0.5 * (low + high),
        };
        let layer = edges.partition_point(|edge| *edge <= middle);
        let layer = layer.clamp(1, edges.len().max(2) - 1) - 1;
        let place = 0.5 * (edges[layer] + edges[layer + 1]);
        let counts = all.map(|edges| edges.len().saturating_sub(1));
        let strides = [1, counts[0], counts[0] * counts[1]];
        let rows = 0..counts[axes[1]];
        let cells = rows.flat_map(|row| {
            let first = layer * strides[across] + row * strides[axes[1]];
            (0..counts[axes[0]]).map(move |column| first + column)
        });
        Self {
            names: axes.map(|axis| names[axis]),
            place: format!("{} = {place:.3}", names[across]),
            edges: axes.map(|axis| all[axis].clone()),
            cells: cells.collect(),
            walls: walls(outcome, across, axes, place),
            axes,
            is_whole: false,
        }
    }

    /// The values of its cells.
    pub(super) fn of(&self, values: &[f64]) -> Vec<f64> {
        self.cells.iter().map(|cell| values[*cell]).collect()
    }

    /// Velocities along its axes.
    pub(super) fn velocities(&self, fields: &Fields) -> [Vec<f64>; 2] {
        let all = [&fields.velocity_x, &fields.velocity_y, &fields.velocity_z];
        self.axes.map(|axis| self.of(all[axis]))
    }
}

/// Where walls cross a plane.
fn walls(outcome: &Outcome, across: usize, axes: [usize; 2], place: f64) -> Vec<Vec<(f64, f64)>> {
    let facets = outcome.found.facets.iter();
    let lines = facets.filter_map(|facet| {
        let corners = &facet.corners;
        let pairs = corners.iter().zip(corners.iter().cycle().skip(1));
        let points = pairs.filter_map(|(a, b)| {
            let (from, to) = (a[across] - place, b[across] - place);
            ((from > 0.0) != (to > 0.0)).then(|| {
                let share = from / (from - to);
                let at = |axis: usize| a[axis] + share * (b[axis] - a[axis]);
                (at(axes[0]), at(axes[1]))
            })
        });
        let points: Vec<(f64, f64)> = points.collect();
        (points.len() >= 2).then_some(points)
    });
    lines.collect()
}

/// Lines along the velocities in a slice, from points at its borders and within it.
pub(super) fn traced(slice: &Slice, fields: &Fields, lines: usize) -> Vec<Vec<(f64, f64)>> {
    let velocities = slice.velocities(fields);
    let gas = slice.of(&fields.gas);
    let nx = slice.edges[0].len().saturating_sub(1);
    let ends = |axis: usize| match slice.edges[axis][..] {
        [first, .., last] => [first, last],
        _ => [0.0, 0.0],
    };
    let (across, upwards) = (ends(0), ends(1));
    let cell = |edges: &[f64], at: f64| {
        let after = edges.partition_point(|edge| *edge <= at);
        (after > 0 && after < edges.len()).then(|| after - 1)
    };
    let direction = |(x, y): (f64, f64)| {
        let at = cell(&slice.edges[1], y)? * nx + cell(&slice.edges[0], x)?;
        let (u, v) = (velocities[0][at], velocities[1][at]);
        let speed = u.hypot(v);
        (gas[at] > 0.5 && speed > 0.0).then(|| (u / speed, v / speed))
    };
    let step = 2e-3 * (across[1] - across[0]).hypot(upwards[1] - upwards[0]);
    let trace = |seed: (f64, f64), sign: f64| {
        let mut points = vec![seed];
        let mut at = seed;
        for _ in 0..2000 {
            // The rule of the middle point.
            let Some((u, v)) = direction(at) else { break };
            let half = (at.0 + 0.5 * sign * step * u, at.1 + 0.5 * sign * step * v);
            let Some((u, v)) = direction(half) else { break };
            at = (at.0 + sign * step * u, at.1 + sign * step * v);
            points.push(at);
        }
        points
    };
    let seeds = (0..lines).map(|k| {
        let share = (k as f64 + 0.5) / lines as f64;
        let place = upwards[0] + share * (upwards[1] - upwards[0]);
        (across[0] + 1e-6 * (across[1] - across[0]), place)
    });
    let both = seeds.map(|seed| {
        let mut line = trace(seed, -1.0);
        line.reverse();
        line.extend(trace(seed, 1.0).into_iter().skip(1));
        line
    });
    both.filter(|line| line.len() > 2).collect()
}

/// The values that a few of the cells with gas are below or above: levels lie between them, for corners are far out.
pub(super) fn ends(gas: &[f64], values: &[f64]) -> Option<[f64; 2]> {
    let in_gas = values.iter().zip(gas);
    let in_gas = in_gas.filter(|(value, gas)| **gas > 0.5 && value.is_finite());
    let mut sorted: Vec<f64> = in_gas.map(|(value, _)| *value).collect();
    sorted.sort_by(f64::total_cmp);
    let few = sorted.len() / 200;
    let (low, high) = (sorted.get(few)?, sorted.get(sorted.len() - 1 - few)?);
    Some([*low, *high])
}
