//! Refusals of keys of space in a plane, of keys of a plane in space, and of an axis where there is none.

use crate::error::{Error, Result};
use crate::flow::along::Along;
use crate::flow::case::{Case, Side};

impl Case {
    /// Refuses sides and directions out of the plane where the case has no z, and where it has one what belongs to a plane.
    ///
    /// # Errors
    /// The key, and what would do.
    pub(in crate::flow) fn check_dimensions(&self) -> Result<()> {
        if self.is_round() && self.is_in_space() {
            return Err(Error::invalid(
                "domain.symmetry",
                "\"axis\" beside z",
                "no z round an axis: x runs along it, y is the distance from it",
            ));
        }
        let no_axis = self.named_sides().into_iter().enumerate();
        let axis = no_axis
            .filter(|(k, _)| !(self.is_round() && *k == 2))
            .find(|(_, (_, side))| matches!(side, Side::Axis));
        if let Some((_, (name, _))) = axis {
            return Err(Error::invalid(
                format!("sides.{name}"),
                "none",
                "a side, such as { kind = \"mirror\" }; only y = 0 with symmetry = \"axis\" needs none",
            ));
        }
        match self.is_in_space() {
            true => self.check_space(),
            false => self.check_plane(),
        }?;
        match self.is_round() {
            true => self
                .check_full_velocities()
                .and_then(|()| self.check_round()),
            false => Ok(()),
        }
    }

    fn check_plane(&self) -> Result<()> {
        let sides = &self.sides;
        for (name, side) in [("back", &sides.back), ("front", &sides.front)] {
            if side.is_some() {
                return Err(Error::invalid(
                    format!("sides.{name}"),
                    "a side along z",
                    "z = [low, high] in [domain], which makes a flow in space",
                ));
            }
        }
        for (name, side) in self.named_sides() {
            if let Side::Stream(stream) = side
                && stream.elevation != 0.0
            {
                return Err(Error::invalid(
                    format!("sides.{name}.elevation"),
                    stream.elevation,
                    "z = [low, high] in [domain]: an elevation leads out of the plane",
                ));
            }
        }
        let of_bodies = self.bodies.iter().enumerate();
        let velocities = of_bodies
            .filter_map(|(at, body)| Some((format!("body {}: velocity", at + 1), body.velocity?)));
        let start = self
            .start
            .map(|start| ("start.velocity".to_owned(), start.velocity));
        for (key, velocity) in velocities.chain(start) {
            let [x, y, z] = velocity.0;
            if z != 0.0 {
                return Err(Error::invalid(
                    key,
                    format!("[{x}, {y}, {z}]"),
                    "two numbers in a plane; a domain with a z is in space",
                ));
            }
        }
        Ok(())
    }

    fn check_space(&self) -> Result<()> {
        let sides = &self.sides;
        for (name, side) in [("back", &sides.back), ("front", &sides.front)] {
            if side.is_none() {
                return Err(Error::invalid(
                    format!("sides.{name}"),
                    "none",
                    "a side at each end of z, such as { kind = \"mirror\" }",
                ));
            }
        }
        self.check_full_velocities()
    }

    /// Refuses walls with tables or scattering kernels.
    fn check_full_velocities(&self) -> Result<()> {
        for (name, side) in self.named_sides() {
            check_side(side).map_err(|error| error.within(&format!("sides.{name}")))?;
        }
        for (at, body) in self.bodies.iter().enumerate() {
            let refuse = |key: &str, value: String, expected: &str| {
                Err(Error::invalid(
                    format!("body {}: {key}", at + 1),
                    value,
                    expected,
                ))
            };
            let varies = body.temperature.as_ref().is_some_and(Along::varies);
            if varies {
                return refuse(
                    "temperature",
                    "a table".to_owned(),
                    "one number in space and round an axis",
                );
            }
            if body.speed.is_some() {
                return refuse(
                    "speed",
                    "given".to_owned(),
                    "velocity in space and round an axis, or rotation in space",
                );
            }
            if body.accommodation.kernel().is_some() {
                return refuse(
                    "accommodation",
                    "a scattering kernel".to_owned(),
                    "a number in space and round an axis",
                );
            }
        }
        Ok(())
    }
}

fn check_side(side: &Side) -> Result<()> {
    match side {
        Side::Wall {
            temperature,
            velocity,
            accommodation,
        } => {
            let table = temperature.as_ref().is_some_and(Along::varies) || velocity.varies();
            if table {
                return Err(Error::invalid(
                    "kind",
                    "a wall with a table",
                    "numbers in space and round an axis",
                ));
            }
            match accommodation.kernel() {
                Some(_) => Err(Error::invalid(
                    "accommodation",
                    "a scattering kernel",
                    "a number in space and round an axis",
                )),
                None => Ok(()),
            }
        }
        _ => Ok(()),
    }
}
