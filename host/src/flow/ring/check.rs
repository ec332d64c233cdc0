//! Refusals of a flow round an axis: a case that is not the same all round, or swirls.

use crate::error::{Error, Result};
use crate::flow::case::{Case, Side};
use crate::flow::space::Obstacle;

/// Points at which a body is compared with its mirror image in the axis.
const SAMPLES: usize = 64;
/// Difference of the distances there, over the size of the body.
const SAME: f64 = 1e-9;

impl Case {
    /// Refuses gas and bodies across the axis, and all that leads round it.
    ///
    /// # Errors
    /// The key, and what would do.
    pub(in crate::flow) fn check_round(&self) -> Result<()> {
        let domain = &self.domain;
        let [low, high] = domain.y;
        if low < 0.0 {
            return Err(Error::invalid(
                "domain.y",
                format!("[{low}, {high}]"),
                "distances from the axis, from 0 on",
            ));
        }
        match (low == 0.0, &self.sides.bottom) {
            (true, Side::Axis) => {}
            (true, _) => {
                return Err(Error::invalid(
                    "sides.bottom",
                    "given",
                    "no bottom: y = 0 is the axis",
                ));
            }
            (false, Side::Axis) => {
                return Err(Error::invalid(
                    "sides.bottom",
                    "none",
                    format!("a side at the least radius, y = {low}"),
                ));
            }
            (false, _) => {}
        }
        for (k, (name, side)) in self.named_sides().into_iter().enumerate() {
            check_side(side, k).map_err(|error| error.within(&format!("sides.{name}")))?;
        }
        if let Some(start) = &self.start {
            along_axis("start.velocity", start.velocity.0)?;
        }
        for (at, body) in self.bodies.iter().enumerate() {
            let within = format!("body {}", at + 1);
            if let Some(velocity) = body.velocity {
                along_axis(&format!("{within}: velocity"), velocity.0)?;
            }
            if body.rotation.is_some_and(|rate| rate != 0.0) {
                return Err(Error::invalid(
                    format!("{within}: rotation"),
                    body.rotation.unwrap_or(0.0),
                    "no rotation round an axis: swirl is not computed",
                ));
            }
        }
        Ok(())
    }

    /// Refuses a body that crosses the axis and is not its own mirror image in it; its raster is read.
    ///
    /// # Errors
    /// The place of the body.
    pub(in crate::flow) fn check_on_axis(&self, at: usize) -> Result<()> {
        let body = &self.bodies[at];
        let [[left, bottom], [right, top]] = body.bounds();
        if bottom >= 0.0 {
            return Ok(());
        }
        let obstacle = Obstacle::new(body);
        let size = (right - left).max(top - bottom);
        let differs = (0..SAMPLES * SAMPLES).any(|k| {
            let share = |k: usize| (k as f64 + 0.5) / SAMPLES as f64;
            let x = left + share(k % SAMPLES) * (right - left);
            let y = share(k / SAMPLES) * top.max(-bottom);
            let [above, below] = [y, -y].map(|y| obstacle.distance([x, y]));
            (above - below).abs() > SAME * size
        });
        match differs {
            true => Err(Error::invalid(
                format!("body {}: place", at + 1),
                format!("y = {bottom} to {top}, across the axis"),
                "a body at y >= 0, or one that is its own mirror image in the axis",
            )),
            false => Ok(()),
        }
    }
}

fn along_axis(key: &str, [x, y, z]: [f64; 3]) -> Result<()> {
    match y == 0.0 && z == 0.0 {
        true => Ok(()),
        false => Err(Error::invalid(
            key,
            format!("[{x}, {y}, {z}]"),
            "a velocity along the axis, [x, 0]",
        )),
    }
}

fn check_side(side: &Side, k: usize) -> Result<()> {
    match side {
        Side::Stream(stream) if stream.angle % 180.0 != 0.0 || stream.elevation != 0.0 => {
            Err(Error::invalid(
                "angle",
                stream.angle,
                "a stream along the axis: angle = 0 or 180",
            ))
        }
        Side::Periodic { .. } if k >= 2 => Err(Error::invalid(
            "kind",
            "periodic",
            "another kind: a flow round an axis repeats along x alone",
        )),
        Side::Wall { velocity, .. } if k < 2 && velocity.at(0.0, None) != 0.0 => {
            Err(Error::invalid(
                "velocity",
                velocity.at(0.0, None),
                "a wall at rest: one across the axis cannot move along itself",
            ))
        }
        _ => Ok(()),
    }
}
