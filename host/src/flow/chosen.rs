//! Cells and far field that a case leaves out, chosen from its bodies and its stream.

use super::body::Body;
use super::case::Case;
use super::far::{enclosing, rounded, speed};
use crate::error::{Error, Result};

/// Choices for a case, by its dimensions.
struct Choices {
    /// Distance of the far field in lengths of the bodies, from speed ratios on. A slow flow feels its borders at any distance.
    far: [(f64, f64); 3],
    /// The same where reservoirs meet.
    at_rest: f64,
    /// Growth of the cells towards the far field.
    growth: f64,
    /// Cells across a body.
    across: f64,
    /// Cells across a channel.
    channel: f64,
}

const IN_A_PLANE: Choices = Choices {
    far: [(1.8, 4.0), (0.9, 10.0), (0.0, 40.0)],
    at_rest: 10.0,
    growth: 1.1,
    across: 20.0,
    channel: 30.0,
};

/// Space has a third axis to pay for, and a body's disturbance falls faster in it.
const IN_SPACE: Choices = Choices {
    far: [(1.8, 2.5), (0.9, 5.0), (0.0, 10.0)],
    at_rest: 5.0,
    growth: 1.2,
    across: 12.0,
    channel: 16.0,
};

/// The widest cells of a fast stream in lengths of the bodies.
const WIDEST: f64 = 0.3;
/// Core around the bodies, in their length.
const AROUND: f64 = 0.25;
/// Margin around a hollow body, in its length.
const MARGIN: f64 = 0.025;
/// Cells across all bodies, at most.
const FINEST: f64 = 100.0;

/// Fills in the ends of a domain that are infinite, with the core and the growth of its cells, and their width where there is none.
pub(in crate::flow) fn choose(case: &mut Case) -> Result<()> {
    let is_endless = |ends: &[f64; 2]| ends[0] == f64::NEG_INFINITY || ends[1] == f64::INFINITY;
    let endless: Vec<bool> = case.ends().iter().map(is_endless).collect();
    if !endless.contains(&true) && case.domain.h < f64::INFINITY {
        return Ok(());
    }
    // The gas is inside of hollow bodies.
    let is_hollow = case.bodies.iter().any(|body| body.hollow);
    let outer = case.bodies.iter().filter(|body| body.hollow || !is_hollow);
    let bounds = enclosing(outer.map(|body| case.extents(body)), case.ends().len());
    let lengths = bounds.iter().map(|[low, high]| high - low);
    // A body of a plane has no end along z.
    let long = lengths
        .filter(|long| *long < f64::INFINITY)
        .fold(f64::NEG_INFINITY, f64::max);
    let choices = match case.is_in_space() {
        true => &IN_SPACE,
        false => &IN_A_PLANE,
    };
    if endless.contains(&true) {
        choose_ends(case, choices, &bounds, long, is_hollow)?;
    }
    if case.domain.h == f64::INFINITY {
        choose_cells(case, choices, &bounds, &endless);
    }
    Ok(())
}

fn choose_cells(case: &mut Case, choices: &Choices, bounds: &[[f64; 2]], endless: &[bool]) {
    let ends = case.ends();
    let axes = 0..ends.len();
    let inside =
        |part: &[[f64; 2]], k: usize| part[k][1].min(ends[k][1]) - part[k][0].max(ends[k][0]);
    let long = axes
        .clone()
        .map(|k| inside(bounds, k))
        .filter(|long| long.is_finite())
        .fold(0.0, f64::max);
    let across = |part: &Vec<[f64; 2]>| {
        let widths = part.iter().map(|[low, high]| high - low);
        widths.fold(f64::INFINITY, f64::min)
    };
    let parts: Vec<Vec<[f64; 2]>> = match case.is_in_space() {
        true => case.bodies.iter().map(|body| case.extents(body)).collect(),
        false => case
            .bodies
            .iter()
            .flat_map(Body::parts)
            .map(|[low, high]| (0..2).map(|k| [low[k], high[k]]).collect())
            .collect(),
    };
    let parts = parts.iter().map(across).filter(|across| *across > 0.0);
    let body = parts.map(|across| (across / choices.across).max(long / FINEST));
    let sides = case.named_sides();
    let is_open = |k: usize| sides.get(k).is_some_and(|(_, side)| side.is_open());
    let is_passed = |k: usize| is_open(2 * k) && is_open(2 * k + 1);
    let walled = |k: &usize| !endless[*k] && !is_passed(*k);
    let channel = axes
        .clone()
        .filter(walled)
        .map(|k| (ends[k][1] - ends[k][0]) / choices.channel);
    let least = body.chain(channel).fold(f64::INFINITY, f64::min);
    let least = match least.is_finite() {
        true => least,
        false => {
            let widths = ends.iter().map(|[low, high]| high - low);
            widths.fold(f64::INFINITY, f64::min) / choices.channel
        }
    };
    case.domain.h = rounded(least);
}

fn choose_ends(
    case: &mut Case,
    choices: &Choices,
    bounds: &[[f64; 2]],
    long: f64,
    is_hollow: bool,
) -> Result<()> {
    let sides: Vec<(&str, bool)> = case
        .named_sides()
        .into_iter()
        .map(|(name, side)| (name, side.is_open()))
        .collect();
    let speed = speed(case);
    let reach = match (is_hollow, speed) {
        (true, _) => MARGIN,
        (false, 0.0) => choices.at_rest,
        (false, speed) => {
            let row = choices.far.iter().find(|row| speed >= row.0);
            row.map_or(choices.at_rest, |row| row.1)
        }
    };
    let domain = &mut case.domain;
    let axes = [
        ("domain.x", Some(&mut domain.x)),
        ("domain.y", Some(&mut domain.y)),
        ("domain.z", domain.z.as_mut()),
    ];
    for (axis, (key, ends)) in axes.into_iter().enumerate() {
        let Some(ends) = ends else {
            continue;
        };
        for upper in 0..2 {
            if ends[upper].is_finite() {
                continue;
            }
            let (name, is_open) = sides.get(2 * axis + upper).copied().unwrap_or(("", false));
            let end = bounds[axis][upper];
            if !(long.is_finite() && end.is_finite()) || !(is_open || is_hollow) {
                let why = match long.is_finite() && end.is_finite() {
                    true => format!("its end at the {name} side, which is not that of a far field"),
                    false => "both ends, for there is no body to choose them by".to_owned(),
                };
                return Err(Error::invalid(key, "none", why));
            }
            let sign = if upper == 1 { 1.0 } else { -1.0 };
            let far = match is_hollow {
                true => end + sign * reach * long,
                false => 0.5 * (bounds[axis][0] + bounds[axis][1]) + sign * reach * long,
            };
            ends[upper] = rounded(far);
        }
    }
    if case.domain.core.is_none() && !is_hollow {
        let around = AROUND * long;
        let core = case.ends().into_iter().zip(bounds).map(|(ends, body)| {
            let end = |near: f64| {
                if near.is_finite() {
                    rounded(near)
                } else {
                    near
                }
            };
            [
                end(body[0] - around).max(ends[0]),
                end(body[1] + around).min(ends[1]),
            ]
        });
        case.domain.core = Some(core.collect());
        let domain = &mut case.domain;
        if domain.growth == 1.0 {
            domain.growth = choices.growth;
        }
        if domain.largest == f64::INFINITY && speed >= choices.far[0].0 {
            domain.largest = rounded(WIDEST * long).max(domain.h.min(WIDEST * long));
        }
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn chosen(text: &str) -> Result<Case> {
        toml::from_str::<Case>(text).unwrap().resolve()
    }

    fn stream(domain: &str, speed: f64, bottom: &str) -> String {
        let side = format!("{{ kind = \"stream\", speed_ratio = {speed} }}");
        let bottom = if bottom.is_empty() { &side } else { bottom };
        format!(
            "gas = {{ delta = 1 }}
            {domain}
            [sides]
            left = {side}
            right = {side}
            bottom = {bottom}
            top = {side}
            [[body]]
            shape = \"circle\"
            radius = 0.5"
        )
    }

    #[test]
    fn far_fields_and_cells_follow_from_bodies_and_stream() {
        let fast = chosen(&stream("", 5.0, "")).unwrap().domain;
        assert_eq!([fast.x, fast.y], [[-4.0, 4.0]; 2]);
        assert_eq!((fast.h, fast.growth, fast.largest), (0.05, 1.1, 0.3));
        assert_eq!(fast.core, Some(vec![[-0.75, 0.75]; 2]));
        let slow = chosen(&stream("", 0.1, "")).unwrap().domain;
        assert_eq!(slow.x, [-40.0, 40.0]);
        // Given values stay.
        let half = stream(
            "domain = { y = [0, inf], h = 0.1 }",
            5.0,
            "{ kind = \"mirror\" }",
        );
        let half = chosen(&half).unwrap().domain;
        assert_eq!(
            (half.y, half.h, half.core),
            ([0.0, 4.0], 0.1, Some(vec![[-0.75, 0.75], [0.0, 0.75]]))
        );
        let mirror = stream("", 5.0, "{ kind = \"mirror\" }");
        let refused = chosen(&mirror).unwrap_err().to_string();
        assert_eq!(
            refused,
            "domain.y: none; expected its end at the bottom side, which is not that of a far field"
        );
        let empty = mirror.split("[[body]]").next().unwrap();
        let refused = chosen(empty).unwrap_err().to_string();
        assert!(refused.contains("there is no body"), "{refused}");
    }

    #[test]
    fn cells_suit_channels_and_hollow_bodies() {
        let sides = "left = { kind = \"wall\" }
            right = { kind = \"wall\" }
            bottom = { kind = \"wall\" }
            top = { kind = \"wall\", velocity = 1 }";
        let cavity = format!(
            "gas = {{ delta = 1, linear = true }}\ndomain = {{ x = [0, 1], y = [0, 1] }}\n[sides]\n{sides}"
        );
        assert_eq!(chosen(&cavity).unwrap().domain.h, 0.03333);
        let hollow = format!(
            "gas = {{ delta = 1, linear = true }}\n[sides]\n{sides}\n[[body]]\nshape = \"circle\"\nradius = 1\nhollow = true"
        );
        let domain = chosen(&hollow).unwrap().domain;
        assert_eq!(
            (domain.x, domain.h, domain.core),
            ([-1.05, 1.05], 0.1, None)
        );
    }
}
