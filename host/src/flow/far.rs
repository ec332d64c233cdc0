//! The far field: sides whose place is a choice, since the gas beyond them goes on.

use super::body::Body;
use super::case::{Case, Side};

/// Digits of a length or a step that a repeat or a search takes.
const DIGITS: i32 = 4;

/// A side that may be elsewhere.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(in crate::flow) struct Far {
    /// The side, in the order of their names.
    pub(in crate::flow) side: usize,
    /// The end of the bodies that it faces.
    pub(in crate::flow) from: f64,
}

/// The sides of a resolved case that may be elsewhere.
///
/// Gas is given or leaves there, no body crosses them, and they end at open sides, mirrors or periods. A reservoir between two mirrors or walls ends a channel, whose length is no choice.
pub(in crate::flow) fn far(case: &Case) -> Vec<Far> {
    if case.bodies.is_empty() || case.bodies.iter().any(|body| body.hollow) {
        return Vec::new();
    }
    let ends = case.ends();
    let bounds = enclosing(
        case.bodies.iter().map(|body| case.extents(body)),
        ends.len(),
    );
    let sides: Vec<&Side> = case
        .named_sides()
        .into_iter()
        .map(|(_, side)| side)
        .collect();
    (0..sides.len())
        .filter(|&k| {
            let beside = || (0..sides.len()).filter(move |other| other / 2 != k / 2);
            let bounded = beside().map(|k| sides[k]).all(|side| {
                side.is_open() || matches!(side, Side::Mirror | Side::Axis | Side::Periodic { .. })
            });
            let is_wide = is_stream(sides[k]) || beside().any(|k| sides[k].is_open());
            sides[k].is_open() && bounded && is_wide
        })
        .filter_map(|side| {
            let (axis, upper) = (side / 2, side % 2);
            let from = bounds[axis][upper];
            let reach = match upper {
                0 => from - ends[axis][0],
                _ => ends[axis][1] - from,
            };
            (reach > 2.0 * case.domain.h).then_some(Far { side, from })
        })
        .collect()
}

/// The least ranges along each of `axes` that enclose bodies.
pub(in crate::flow) fn enclosing(
    extents: impl Iterator<Item = Vec<[f64; 2]>>,
    axes: usize,
) -> Vec<[f64; 2]> {
    let mut all = vec![[f64::INFINITY, f64::NEG_INFINITY]; axes];
    for extent in extents {
        for ([low, high], own) in all.iter_mut().zip(extent) {
            (*low, *high) = (low.min(own[0]), high.max(own[1]));
        }
    }
    all
}

impl Case {
    /// Ends of a body along each axis of the case.
    pub(in crate::flow) fn extents(&self, body: &Body) -> Vec<[f64; 2]> {
        if self.is_in_space() {
            let [low, high] = body.bounds_in_space();
            (0..3).map(|k| [low[k], high[k]]).collect()
        } else {
            let [low, high] = body.bounds();
            (0..2).map(|k| [low[k], high[k]]).collect()
        }
    }
}

fn is_stream(side: &Side) -> bool {
    matches!(side, Side::Stream(stream) if stream.speed_ratio != Some(0.0))
}

/// Speed ratio of the first stream of a case, resolved or not; 0 without one.
pub(in crate::flow) fn speed(case: &Case) -> f64 {
    let streams = case
        .named_sides()
        .into_iter()
        .filter_map(|(_, side)| match side {
            Side::Stream(stream) => Some(
                stream
                    .speed_ratio
                    .or(stream.mach.map(|mach| case.gas.sound() * mach))
                    .unwrap_or(0.0),
            ),
            _ => None,
        });
    let speeds = streams.filter(|speed| *speed > 0.0);
    // The linearised equation has no speed: its streams are slow.
    let unit = if case.gas.linear { 1e-3 } else { 1.0 };
    unit * speeds.fold(0.0, f64::max)
}

/// Whether the stream of a case is faster than sound, so that it carries nothing back.
pub(in crate::flow) fn is_fast(case: &Case) -> bool {
    speed(case) > case.gas.sound()
}

/// Reach of the far field, in mean free paths about, from which a fast stream sweeps along all molecules that come from a body.
const DENSE: f64 = 3.0;

/// Whether the far field is many free paths away.
pub(in crate::flow) fn is_dense(case: &Case) -> bool {
    let ends = case.ends();
    let reach = far(case)
        .into_iter()
        .map(|far| (ends[far.side / 2][far.side % 2] - far.from).abs());
    case.gas.delta * reach.fold(f64::INFINITY, f64::min) >= DENSE
}

/// The case with its far field at `share` of the distance, on the nearest of `edges` along each axis where there are some.
pub(in crate::flow) fn moved(case: &Case, share: f64, edges: Option<&[&[f64]]>) -> Case {
    let mut case = case.clone();
    for Far { side, from } in far(&case) {
        let axis = side / 2;
        let domain = &mut case.domain;
        let ends = match axis {
            0 => &mut domain.x,
            1 => &mut domain.y,
            _ => domain.z.get_or_insert([0.0; 2]),
        };
        let end = &mut ends[side % 2];
        let to = from + share * (*end - from);
        let nearest = edges.and_then(|edges| {
            let near = |edge: &&f64| (**edge - to).abs();
            let inside = edges[axis].iter();
            inside.min_by(|a, b| near(a).total_cmp(&near(b))).copied()
        });
        *end = nearest.unwrap_or_else(|| rounded(to));
    }
    case
}

/// A number with few digits, for a case that is written.
pub(in crate::flow) fn rounded(value: f64) -> f64 {
    let place = DIGITS - 1 - value.abs().log10().floor() as i32;
    let scale = 10_f64.powi(place);
    (value * scale).round() / scale
}
