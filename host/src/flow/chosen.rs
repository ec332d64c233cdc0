//! Cells and far field that a case leaves out, chosen from its bodies and its stream.

use super::body::Body;
use super::case::{Case, Side};
use super::far::{rounded, speed};
use super::outline::enclosing;
use super::problem::{SIDES, sides_of};
use crate::error::{Error, Result};

/// Distance of the far field in lengths of the bodies, from speed ratios on. A slow flow feels its borders at any distance.
const FAR: [(f64, f64); 3] = [(1.8, 4.0), (0.9, 10.0), (0.0, 40.0)];
/// The same where reservoirs meet.
const AT_REST: f64 = 10.0;
/// Growth of the cells towards the far field, and the widest ones of a fast stream in lengths of the bodies.
const GROWTH: f64 = 1.1;
const WIDEST: f64 = 0.3;
/// Core around the bodies, in their length.
const AROUND: f64 = 0.25;
/// Margin around a hollow body, in its length.
const MARGIN: f64 = 0.025;
/// Cells across a body, and at most across all of them.
const ACROSS: f64 = 20.0;
const FINEST: f64 = 100.0;
/// Cells across a channel.
const CHANNEL: f64 = 30.0;

/// Fills in the ends of a domain that are infinite, with the core and the growth of its cells, and their width where there is none.
pub(in crate::flow) fn choose(case: &mut Case) -> Result<()> {
    let domain = &case.domain;
    let is_endless = |ends: [f64; 2]| ends[0] == f64::NEG_INFINITY || ends[1] == f64::INFINITY;
    let endless = [domain.x, domain.y].map(is_endless);
    if endless == [false; 2] && domain.h < f64::INFINITY {
        return Ok(());
    }
    let outlines: Vec<[[f64; 2]; 2]> = case.bodies.iter().flat_map(Body::parts).collect();
    // The gas is inside of hollow bodies.
    let is_hollow = case.bodies.iter().any(|body| body.hollow);
    let outer = case.bodies.iter().filter(|body| body.hollow || !is_hollow);
    let bounds = enclosing(outer.map(Body::bounds));
    let long = (bounds[1][0] - bounds[0][0]).max(bounds[1][1] - bounds[0][1]);
    if endless != [false; 2] {
        choose_ends(case, bounds, long, is_hollow)?;
    }
    let ends = [case.domain.x, case.domain.y];
    let given = |k: usize| !endless[k];
    if case.domain.h == f64::INFINITY {
        let inside = |part: &[[f64; 2]; 2], k: usize| {
            part[1][k].min(ends[k][1]) - part[0][k].max(ends[k][0])
        };
        let long = (0..2)
            .map(|k| inside(&bounds, k))
            .filter(|long| long.is_finite())
            .fold(0.0, f64::max);
        let across = |[low, high]: &[[f64; 2]; 2]| (high[0] - low[0]).min(high[1] - low[1]);
        let parts = outlines.iter().map(across).filter(|across| *across > 0.0);
        let body = parts.map(|across| (across / ACROSS).max(long / FINEST));
        let sides = sides_of(case);
        let walled = |k: usize| given(k) && !(sides[2 * k].is_open() && sides[2 * k + 1].is_open());
        let channel = (0..2)
            .filter(|&k| walled(k))
            .map(|k| (ends[k][1] - ends[k][0]) / CHANNEL);
        let least = body.chain(channel).fold(f64::INFINITY, f64::min);
        let least = match least.is_finite() {
            true => least,
            false => (ends[0][1] - ends[0][0]).min(ends[1][1] - ends[1][0]) / CHANNEL,
        };
        case.domain.h = rounded(least);
    }
    Ok(())
}

fn choose_ends(case: &mut Case, bounds: [[f64; 2]; 2], long: f64, is_hollow: bool) -> Result<()> {
    let open = sides_of(case).map(Side::is_open);
    let speed = speed(case);
    let reach = match (is_hollow, speed) {
        (true, _) => MARGIN,
        (false, 0.0) => AT_REST,
        (false, speed) => {
            let row = FAR.iter().find(|row| speed >= row.0);
            row.map_or(AT_REST, |row| row.1)
        }
    };
    let domain = &mut case.domain;
    for (axis, (key, ends)) in [("domain.x", &mut domain.x), ("domain.y", &mut domain.y)]
        .into_iter()
        .enumerate()
    {
        for upper in 0..2 {
            if ends[upper].is_finite() {
                continue;
            }
            let side = 2 * axis + upper;
            if !long.is_finite() || !(open[side] || is_hollow) {
                let why = match long.is_finite() {
                    true => format!(
                        "its end at the {} side, which is not that of a far field",
                        SIDES[side]
                    ),
                    false => "both ends, for there is no body to choose them by".to_owned(),
                };
                return Err(Error::invalid(key, "none", why));
            }
            let sign = if upper == 1 { 1.0 } else { -1.0 };
            let far = match is_hollow {
                true => bounds[upper][axis] + sign * reach * long,
                false => 0.5 * (bounds[0][axis] + bounds[1][axis]) + sign * reach * long,
            };
            ends[upper] = rounded(far);
        }
    }
    if domain.core.is_none() && !is_hollow {
        let ends = [domain.x, domain.y];
        domain.core = Some([0, 1].map(|k| {
            let around = AROUND * long;
            [
                rounded(bounds[0][k] - around).max(ends[k][0]),
                rounded(bounds[1][k] + around).min(ends[k][1]),
            ]
        }));
        if domain.growth == 1.0 {
            domain.growth = GROWTH;
        }
        if domain.largest == f64::INFINITY && speed >= FAR[0].0 {
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
        assert_eq!((fast.h, fast.growth, fast.largest), (0.05, GROWTH, 0.3));
        assert_eq!(fast.core, Some([[-0.75, 0.75]; 2]));
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
            ([0.0, 4.0], 0.1, Some([[-0.75, 0.75], [0.0, 0.75]]))
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
