//! Ports of a case that leave it without a steady flow.

use super::case::{Case, Side, Stream};
use super::outline::sin_cos;
use crate::error::{Error, Result};

/// Share of a stream's speed that may point into a side for roundoff.
const ALONG: f64 = 1e-9;

/// Refuses streams that enter a wall with no way out, and vacua that nothing feeds. `open` is whether gas is beside a side.
///
/// # Errors
/// The side, and what would do.
pub(super) fn check(case: &Case, open: &dyn Fn(usize) -> bool) -> Result<()> {
    let sides = case.named_sides();
    let leads_out = |side: &Side| {
        matches!(
            side,
            Side::Outlet { .. } | Side::Vacuum | Side::Reservoir(_) | Side::Split { .. }
        )
    };
    if (0..sides.len()).any(|k| leads_out(sides[k].1) && open(k)) {
        return match case.gas.linear {
            true => Ok(()),
            false => check_sources(&sides, open),
        };
    }
    for (k, (name, side)) in sides.iter().enumerate() {
        let Side::Stream(stream) = side else {
            continue;
        };
        for (other, (shut_name, shut)) in sides.iter().enumerate() {
            let is_shut = matches!(shut, Side::Wall { .. } | Side::Mirror);
            if is_shut && open(k) && open(other) && enters(stream, other) {
                let kind = if matches!(shut, Side::Mirror) {
                    "mirror"
                } else {
                    "wall"
                };
                let elevation = match stream.elevation {
                    0.0 => String::new(),
                    elevation => format!(" and an elevation of {elevation}"),
                };
                return Err(Error::invalid(
                    format!("sides.{name}"),
                    format!(
                        "a stream at an angle of {}{elevation} that enters the {kind} at the {shut_name}",
                        stream.angle
                    ),
                    format!(
                        "a stream along it, a stream at the {shut_name} too, or an outlet or a vacuum where the gas leaves"
                    ),
                ));
            }
        }
    }
    Ok(())
}

/// Whether a stream points out through a side.
fn enters(stream: &Stream, side: usize) -> bool {
    let (sin, cos) = sin_cos(stream.angle);
    let (up, level) = sin_cos(stream.elevation);
    let speed = stream.speed_ratio.unwrap_or(0.0);
    let along = [level * cos, level * sin, up][side / 2];
    let outward = if side.is_multiple_of(2) {
        -along
    } else {
        along
    };
    speed > 0.0 && outward > ALONG
}

/// A vacuum takes gas that some side must feed.
fn check_sources(sides: &[(&str, &Side)], open: &dyn Fn(usize) -> bool) -> Result<()> {
    let feeds = |side: &Side| {
        !matches!(side, Side::Vacuum) && (side.is_open() || matches!(side, Side::Inflow { .. }))
    };
    let at = |k: usize| sides[k].1;
    let fed = (0..sides.len()).any(|k| feeds(at(k)) && open(k));
    let vacuum = (0..sides.len()).find(|&k| matches!(at(k), Side::Vacuum) && open(k));
    match vacuum {
        Some(k) if !fed => Err(Error::invalid(
            format!("sides.{}", sides[k].0),
            "a vacuum that no side feeds",
            "a stream, a reservoir or an inflow at another side",
        )),
        _ => Ok(()),
    }
}

/// The factor on what enters through a side of a period along which the density falls by `fall`. `leaving` is the mass that leaves through the lower and the upper side.
///
/// The lower side takes what leaves the upper one over `fall`. The factor of the upper side, near `fall`, follows from the mass: as much passes one as the other.
pub(in crate::flow) fn factor([lower, upper]: [f64; 2], side: usize, fall: f64) -> f64 {
    if fall == 1.0 || side.is_multiple_of(2) {
        return 1.0 / fall;
    }
    let balanced = 1.0 - upper / lower * (1.0 / fall - 1.0);
    // Far from the steady flow the masses say nothing.
    match balanced.is_finite() {
        true => balanced.clamp(0.5 * fall.min(1.0), 2.0 * fall.max(1.0)),
        false => fall,
    }
}
