//! Ports of a case that leave it without a steady flow.

use super::case::{Case, SIDES, Side, Stream, sides_of};
use super::outline::sin_cos;
use super::space::Space;
use crate::error::{Error, Result};

/// Share of a stream's speed that may point into a side for roundoff.
const ALONG: f64 = 1e-9;

/// Refuses streams that enter a wall with no way out, and vacua that nothing feeds.
///
/// # Errors
/// The side, and what would do.
pub(super) fn check(case: &Case, space: &Space) -> Result<()> {
    let sides = sides_of(case);
    let open = |k: usize| {
        let border = space.border(k);
        border.iter().any(|&cell| space.open[cell][k] > 0.0)
    };
    let leads_out = |side: &Side| {
        matches!(
            side,
            Side::Outlet { .. } | Side::Vacuum | Side::Reservoir(_) | Side::Split { .. }
        )
    };
    if (0..4).any(|k| leads_out(sides[k]) && open(k)) {
        return match case.gas.linear {
            true => Ok(()),
            false => check_sources(case, &open),
        };
    }
    for (k, side) in sides.into_iter().enumerate() {
        let Side::Stream(stream) = side else {
            continue;
        };
        for (other, (name, shut)) in SIDES.into_iter().zip(sides).enumerate() {
            let is_shut = matches!(shut, Side::Wall { .. } | Side::Mirror);
            if is_shut && open(k) && open(other) && enters(stream, other) {
                let kind = if matches!(shut, Side::Mirror) {
                    "mirror"
                } else {
                    "wall"
                };
                return Err(Error::invalid(
                    format!("sides.{}", SIDES[k]),
                    format!(
                        "a stream at an angle of {} that enters the {kind} at the {name}",
                        stream.angle
                    ),
                    format!(
                        "a stream along it, a stream at the {name} too, or an outlet or a vacuum where the gas leaves"
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
    let speed = stream.speed_ratio.unwrap_or(0.0);
    let outward = [-cos, cos, -sin, sin][side];
    speed > 0.0 && outward > ALONG
}

/// A vacuum takes gas that some side must feed.
fn check_sources(case: &Case, open: &dyn Fn(usize) -> bool) -> Result<()> {
    let sides = sides_of(case);
    let feeds = |side: &Side| {
        !matches!(side, Side::Vacuum) && (side.is_open() || matches!(side, Side::Inflow { .. }))
    };
    let fed = (0..4).any(|k| feeds(sides[k]) && open(k));
    let vacuum = (0..4).find(|&k| matches!(sides[k], Side::Vacuum) && open(k));
    match vacuum {
        Some(k) if !fed => Err(Error::invalid(
            format!("sides.{}", SIDES[k]),
            "a vacuum that no side feeds",
            "a stream, a reservoir or an inflow at another side",
        )),
        _ => Ok(()),
    }
}
