//! A case with its defaults filled in, once all that can be said of it without a grid is right.

use super::body::{Body, Shape};
use super::case::{Case, Domain, GasOf, HALF_TURN, Reservoir, Side, Solver, Stream, Velocities};
use super::chosen::choose;
use super::outline::{aerofoil, edges};
use super::rasters;
use super::volume::Surface;
use crate::bgk::Model;
use crate::error::{Error, Result};

/// Cells along an axis beyond which a grid is a slip of the pen.
const MOST_CELLS: f64 = 1e5;
/// Corners of a polygon up to which all pairs of edges are checked for crossings.
const MOST_PAIRS: usize = 2000;

impl Case {
    /// The case with a speed for each Mach number, a density for each pressure, names of bodies, and temperatures of walls.
    ///
    /// # Errors
    /// [`Error::Input`] with the key of the first value that is not right, and which would be. The solver
    /// checks the rest, which depends on the grid, such as a port within a body.
    pub fn resolve(&self) -> Result<Self> {
        let mut case = self.clone();
        let linear = case.gas.linear;
        case.check_gas()?;
        if case.is_round() && case.domain.y[0] == f64::NEG_INFINITY {
            case.domain.y[0] = 0.0;
        }
        choose(&mut case)?;
        // A period with nothing but itself along it may be one cell.
        let repeats = case.is_round() && matches!(case.sides.left, Side::Periodic { .. });
        check_domain(&case.domain, repeats)?;
        case.check_rotation()?;
        case.check_velocities()?;
        case.check_dimensions()?;
        let ends = [case.domain.x, case.domain.y];
        let sides = &mut case.sides;
        for (name, side, along) in [
            ("left", Some(&mut sides.left), ends[1]),
            ("right", Some(&mut sides.right), ends[1]),
            ("bottom", Some(&mut sides.bottom), ends[0]),
            ("top", Some(&mut sides.top), ends[0]),
            ("back", sides.back.as_mut(), ends[0]),
            ("front", sides.front.as_mut(), ends[0]),
        ] {
            if let Some(side) = side {
                resolve_side(side, &case.gas, along)
                    .map_err(|e| e.within(&format!("sides.{name}")))?;
            }
        }
        case.check_periods()?;
        case.check_inflow()?;
        if let Some(start) = &case.start {
            let start_of = |key: &str| format!("start.{key}");
            check_state(start_of("density"), start.density, linear)?;
            check_state(start_of("temperature"), start.temperature, linear)?;
            let mut velocity = start.velocity.0.iter();
            velocity.try_for_each(|u| finite(start_of("velocity"), *u))?;
        }
        case.resolve_bodies()?;
        check_solver(&case.solver)?;
        Ok(case)
    }

    fn check_gas(&self) -> Result<()> {
        let gas = &self.gas;
        if !(gas.delta.is_finite() && gas.delta > 0.0) {
            return Err(Error::invalid(
                "gas.delta",
                gas.delta,
                "a positive number; 1e-9 leaves out nearly all collisions",
            ));
        }
        if !(0.0..=2.0).contains(&gas.omega) {
            return Err(Error::invalid(
                "gas.omega",
                gas.omega,
                "an exponent of the viscosity from 0 to 2, such as 0.81 of argon",
            ));
        }
        if (gas.model == Model::Polyatomic) != gas.rotation.is_some() {
            return Err(Error::invalid(
                "gas.model",
                "rotation without its model, or the model without it",
                "model = \"polyatomic\" with the numbers of rotation",
            ));
        }
        if let Some(rotation) = &gas.rotation {
            rotation.check()?;
        }
        if !(gas.prandtl.is_finite() && gas.prandtl > 0.0) {
            return Err(Error::invalid(
                "gas.prandtl",
                gas.prandtl,
                "a positive Prandtl number, 2/3 for monatomic gases",
            ));
        }
        Ok(())
    }

    /// Kernels of reflection are those of single atoms.
    fn check_rotation(&self) -> Result<()> {
        if self.gas.rotation.is_none() {
            return Ok(());
        }
        let sides = self.named_sides().into_iter().filter_map(|(name, side)| {
            let accommodation = match side {
                Side::Wall { accommodation, .. } => accommodation,
                _ => return None,
            };
            Some((format!("sides.{name}.accommodation"), accommodation))
        });
        let bodies = self.bodies.iter().enumerate();
        let bodies = bodies.map(|(k, body)| {
            (
                format!("body {}: accommodation", k + 1),
                &body.accommodation,
            )
        });
        for (field, accommodation) in sides.chain(bodies) {
            if accommodation.kernel().is_some() {
                return Err(Error::invalid(
                    field,
                    "a scattering kernel, which is one of single atoms",
                    "a share between 0 and 1 for molecules that rotate",
                ));
            }
        }
        Ok(())
    }

    fn check_velocities(&self) -> Result<()> {
        let wrong = |key: &str, value: &dyn ToString, expected: &str| {
            let field = format!("velocities.{key}");
            Err(Error::invalid(field, value.to_string(), expected))
        };
        match self.velocities {
            None => Ok(()),
            Some(Velocities::Polar { .. }) if self.is_whole() => wrong(
                "kind",
                &"polar",
                match self.is_round() {
                    true => "kind = \"axis\" or \"uniform\" round an axis",
                    false => {
                        "kind = \"uniform\" or \"gauss\" in space; polar velocities belong to a plane"
                    }
                },
            ),
            Some(Velocities::Gauss { .. }) if !self.is_in_space() => wrong(
                "kind",
                &"gauss",
                match self.is_round() {
                    true => "kind = \"axis\" or \"uniform\" round an axis",
                    false => {
                        "kind = \"polar\" or \"uniform\" in a plane; a domain with a z is in space"
                    }
                },
            ),
            Some(Velocities::Axis { .. }) if !self.is_round() => wrong(
                "kind",
                &"axis",
                "symmetry = \"axis\" in [domain], to which these velocities belong",
            ),
            Some(Velocities::Axis { angles, .. } | Velocities::Uniform { angles, .. })
                if self.is_round() && (angles % 2 != 0 || !(4..=256).contains(&angles)) =>
            {
                wrong(
                    "angles",
                    &angles,
                    "an even number of directions of a half turn, from 4 to 256",
                )
            }
            Some(Velocities::Uniform { angles, .. }) if !self.is_round() && angles != HALF_TURN => {
                wrong(
                    "angles",
                    &angles,
                    "no angles beside a step, or kind = \"polar\"",
                )
            }
            Some(Velocities::Axis {
                speeds,
                axial,
                temperature,
                ..
            }) => {
                if !(2..=128).contains(&speeds) {
                    return wrong("speeds", &speeds, "2 to 128 speeds");
                }
                if !(2..=64).contains(&axial) {
                    return wrong("axial", &axial, "2 to 64 points above zero along the axis");
                }
                positive("velocities.temperature", temperature)
            }
            Some(Velocities::Gauss {
                points,
                temperature,
            }) => {
                if !(2..=24).contains(&points) {
                    return wrong("points", &points, "2 to 24 points above zero along an axis");
                }
                positive("velocities.temperature", temperature)
            }
            Some(Velocities::Polar {
                angles,
                speeds,
                temperature,
                ..
            }) => {
                if angles % 4 != 0 || !(8..=4096).contains(&angles) {
                    return wrong("angles", &angles, "a multiple of 4 from 8 to 4096");
                }
                if !(1..=128).contains(&speeds) {
                    return wrong("speeds", &speeds, "1 to 128 speeds");
                }
                positive("velocities.temperature", temperature)
            }
            Some(Velocities::Uniform { step, reach, .. }) => {
                if self.gas.linear {
                    return wrong(
                        "kind",
                        &"uniform",
                        match self.is_in_space() {
                            _ if self.is_round() => "kind = \"axis\" for the linearised equation",
                            true => "kind = \"gauss\" for the linearised equation",
                            false => "kind = \"polar\" for the linearised equation",
                        },
                    );
                }
                if !(step > 0.0 && step <= 2.0) {
                    return wrong("step", &step, "a step from 0.1 to 2, such as 0.7");
                }
                if !(2.0..=10.0).contains(&reach) {
                    return wrong("reach", &reach, "a reach from 2 to 10, such as 3.4");
                }
                // A uniform grid has its mirror images for walls along its axes alone.
                let mirrors = |body: &Body| {
                    body.accommodation.kernel().is_none() && body.accommodation.diffuse() < 1.0
                };
                let loose =
                    |body: &&Body| mirrors(body) && !is_along_axes(&body.shape) && !self.is_whole();
                match self.bodies.iter().position(|body| loose(&body)) {
                    Some(at) => Err(Error::invalid(
                        format!("{}: accommodation", self.body_name(at)),
                        self.bodies[at].accommodation.diffuse(),
                        "accommodation = 1, or velocities of kind = \"polar\": uniform ones have no mirror images at this wall",
                    )),
                    None => Ok(()),
                }
            }
        }
    }

    fn check_periods(&self) -> Result<()> {
        let sides = self.named_sides();
        for (at, &(name, side)) in sides.iter().enumerate() {
            let (other, opposite) = sides[at ^ 1];
            let Side::Periodic {
                jump,
                jump_temperature,
                factor,
            } = side
            else {
                continue;
            };
            let Side::Periodic {
                jump: jump_there,
                jump_temperature: jump_temperature_there,
                factor: factor_there,
            } = opposite
            else {
                return Err(Error::invalid(
                    format!("sides.{name}"),
                    "periodic",
                    format!("kind = \"periodic\" of the {other} side too"),
                ));
            };
            for (key, here, there) in [
                ("jump", jump, jump_there),
                ("jump_temperature", jump_temperature, jump_temperature_there),
                ("factor", factor, factor_there),
            ] {
                let field = || format!("sides.{name}.{key}");
                finite(field(), *here)?;
                if here != there {
                    return Err(Error::invalid(
                        field(),
                        here,
                        format!("{there}, as the {other} side has"),
                    ));
                }
                if key != "factor" && *here != 0.0 && !self.gas.linear {
                    return Err(Error::invalid(
                        field(),
                        here,
                        "factor, or linear = true in [gas]",
                    ));
                }
            }
            let field = format!("sides.{name}.factor");
            if *factor != 1.0 && self.gas.linear {
                return Err(Error::invalid(
                    field,
                    factor,
                    "jump in linearised cases: the fall of the density",
                ));
            }
            if !(0.1..=10.0).contains(factor) {
                return Err(Error::invalid(
                    field,
                    factor,
                    "a ratio of densities from 0.1 to 10, such as 0.95",
                ));
            }
        }
        Ok(())
    }

    /// A given flow needs another side through which gas passes.
    fn check_inflow(&self) -> Result<()> {
        let sides = self.named_sides();
        let inflow = sides.iter().find_map(|(name, side)| match side {
            Side::Inflow { mass_flow, .. } => Some((name, mass_flow)),
            _ => None,
        });
        match inflow {
            Some((name, flow)) if !sides.iter().any(|(_, side)| side.is_open()) => {
                Err(Error::invalid(
                    format!("sides.{name}.mass_flow"),
                    flow,
                    "another side through which this gas leaves: an outlet, reservoir, stream or vacuum",
                ))
            }
            _ => Ok(()),
        }
    }

    /// The name of a body in messages.
    fn body_name(&self, at: usize) -> String {
        format!("body {}", at + 1)
    }

    fn resolve_bodies(&mut self) -> Result<()> {
        let (linear, in_space) = (self.gas.linear, self.is_in_space());
        for at in 0..self.bodies.len() {
            let within = self.body_name(at);
            let grounds = rasters::Ground::new(self);
            let body = &mut self.bodies[at];
            rasters::prepare(&mut body.shape, &grounds).map_err(|e| e.within(&within))?;
            check_body(body, linear, in_space).map_err(|e| e.within(&within))?;
            body.temperature.get_or_insert(usual(linear).into());
            body.name.get_or_insert_with(|| within.clone());
            let name = body.name.clone();
            if self.bodies[..at].iter().any(|other| other.name == name) {
                return Err(Error::invalid(
                    format!("{within}: name"),
                    name.unwrap_or_default(),
                    "a name that no other body has",
                ));
            }
            self.check_place(at)?;
            if self.is_round() {
                self.check_on_axis(at)?;
            }
        }
        Ok(())
    }

    /// Refuses a body of which no part is in the domain.
    fn check_place(&self, at: usize) -> Result<()> {
        let body = &self.bodies[at];
        let bounds = self.extents(body);
        let ends = self.ends();
        let outside = bounds
            .iter()
            .zip(&ends)
            .any(|(body, domain)| body[1] <= domain[0] || body[0] >= domain[1]);
        if !outside {
            return Ok(());
        }
        let named = |ends: &[[f64; 2]]| {
            let axes = ["x", "y", "z"].into_iter().zip(ends);
            let parts = axes
                .map(|(name, [low, high])| format!("{name} = {} to {}", short(*low), short(*high)));
            parts.collect::<Vec<_>>().join(", ")
        };
        Err(Error::invalid(
            format!("{}: place", self.body_name(at)),
            named(&bounds),
            format!("a body of which a part is in the domain, {}", named(&ends)),
        ))
    }
}

/// The temperature or density of a reference state.
fn usual(linear: bool) -> f64 {
    if linear { 0.0 } else { 1.0 }
}

/// A number with few digits.
fn short(value: f64) -> f64 {
    format!("{value:.5e}").parse().unwrap_or(value)
}

fn finite(field: impl Into<String>, value: f64) -> Result<()> {
    match value.is_finite() {
        true => Ok(()),
        false => Err(Error::invalid(field, value, "a finite number")),
    }
}

fn positive(field: impl Into<String>, value: f64) -> Result<()> {
    match value.is_finite() && value > 0.0 {
        true => Ok(()),
        false => Err(Error::invalid(field, value, "a positive number")),
    }
}

/// A density, pressure or temperature: positive, or any perturbation.
fn check_state(field: impl Into<String>, value: f64, linear: bool) -> Result<()> {
    match linear {
        true => finite(field, value),
        false => positive(field, value),
    }
}

/// Checks the domain; along x it may be thinner than its cells where the flow `repeats`.
fn check_domain(domain: &Domain, repeats: bool) -> Result<()> {
    let mut least = f64::INFINITY;
    let ends: Vec<[f64; 2]> = [domain.x, domain.y].into_iter().chain(domain.z).collect();
    for (key, &[low, high]) in ["domain.x", "domain.y", "domain.z"].into_iter().zip(&ends) {
        if !(low.is_finite() && high.is_finite() && low < high) {
            return Err(Error::invalid(
                key,
                format!("[{low}, {high}]"),
                "its lower end before its upper one",
            ));
        }
        if !(repeats && key == "domain.x") {
            least = least.min(high - low);
        }
    }
    let h = domain.h;
    positive("domain.h", h)?;
    if h > least {
        return Err(Error::invalid(
            "domain.h",
            h,
            format!(
                "cells smaller than the domain, such as {}",
                short(least / 40.0)
            ),
        ));
    }
    if let Some(core) = &domain.core
        && core.len() != ends.len()
    {
        return Err(Error::invalid(
            "domain.core",
            format!("{} pairs of ends", core.len()),
            format!("{}: one along each axis", ends.len()),
        ));
    }
    for (axis, key) in ["x", "y", "z"].into_iter().enumerate().take(ends.len()) {
        let ends = ends[axis];
        let [low, high] = domain.core.as_ref().map_or(ends, |core| core[axis]);
        if !(low < high && low < ends[1] && high > ends[0]) {
            return Err(Error::invalid(
                "domain.core",
                format!("[{low}, {high}]"),
                format!("a range of {key} within [{}, {}]", ends[0], ends[1]),
            ));
        }
        let cells = (high.min(ends[1]) - low.max(ends[0])) / h;
        if cells > MOST_CELLS {
            return Err(Error::invalid(
                "domain.h",
                h,
                format!("at most {MOST_CELLS} cells along {key}, not {cells:.0}"),
            ));
        }
    }
    if !(1.0..=2.0).contains(&domain.growth) {
        return Err(Error::invalid(
            "domain.growth",
            domain.growth,
            "a ratio from 1 to 2, such as 1.1",
        ));
    }
    if domain.core.is_none() && domain.growth != 1.0 {
        return Err(Error::invalid(
            "domain.growth",
            domain.growth,
            "a core, outside of which cells grow: core = [[x, x], [y, y]], with [z, z] in space",
        ));
    }
    if domain.largest.is_nan() || domain.largest < h {
        return Err(Error::invalid(
            "domain.largest",
            domain.largest,
            format!("a width of at least h = {h}"),
        ));
    }
    Ok(())
}

fn resolve_side(side: &mut Side, gas: &GasOf, [low, high]: [f64; 2]) -> Result<()> {
    let linear = gas.linear;
    match side {
        Side::Stream(stream) => resolve_stream(stream, linear, gas.sound()),
        Side::Reservoir(reservoir) => resolve_reservoir(reservoir, linear),
        Side::Split { at, left, right } => {
            if !(*at > low && *at < high) {
                return Err(Error::invalid(
                    "at",
                    *at,
                    format!("a point between {low} and {high}, the ends of the side"),
                ));
            }
            resolve_reservoir(left, linear).map_err(|e| e.within("left"))?;
            resolve_reservoir(right, linear).map_err(|e| e.within("right"))
        }
        Side::Outlet { pressure } => check_state("pressure", *pressure, linear),
        Side::Wall {
            temperature,
            velocity,
            accommodation,
        } => {
            accommodation
                .check("a share above 0 and at most 1; kind = \"mirror\" accommodates nothing")?;
            let temperature = temperature.get_or_insert(usual(linear).into());
            temperature.check("temperature", |key, value| check_state(key, value, linear))?;
            velocity.check("velocity", |key, value| finite(key, value))
        }
        Side::Inflow {
            mass_flow,
            temperature,
        } => {
            finite("mass_flow", *mass_flow)?;
            let temperature = *temperature.get_or_insert(usual(linear));
            check_state("temperature", temperature, linear)
        }
        Side::Vacuum | Side::Mirror | Side::Axis | Side::Periodic { .. } => Ok(()),
    }
}

fn resolve_stream(stream: &mut Stream, linear: bool, sound: f64) -> Result<()> {
    let speed = match (stream.speed_ratio, stream.mach) {
        (Some(speed), None) => speed,
        (None, Some(mach)) => sound * mach,
        (None, None) => {
            return Err(Error::invalid(
                "speed_ratio",
                "none",
                "speed_ratio or mach; a gas at rest is a reservoir",
            ));
        }
        (Some(speed), Some(mach)) => {
            return Err(Error::invalid(
                "speed_ratio",
                format!("{speed} beside mach = {mach}"),
                "one of speed_ratio and mach",
            ));
        }
    };
    if speed == 0.0 && !linear {
        let key = if stream.mach.is_some() {
            "mach"
        } else {
            "speed_ratio"
        };
        return Err(Error::invalid(
            key,
            0,
            "a speed above 0, since a stream has a direction; gas at rest is a reservoir",
        ));
    }
    if !(speed.is_finite() && speed >= 0.0) {
        let (key, value) = match stream.mach {
            Some(mach) => ("mach", mach),
            None => ("speed_ratio", speed),
        };
        return Err(Error::invalid(
            key,
            value,
            "a speed of at least 0; its direction is the angle",
        ));
    }
    (stream.speed_ratio, stream.mach) = (Some(speed), None);
    finite("angle", stream.angle)?;
    if !(-90.0..=90.0).contains(&stream.elevation) {
        return Err(Error::invalid(
            "elevation",
            stream.elevation,
            "degrees out of the x-y plane, from -90 to 90",
        ));
    }
    check_state(
        "density",
        *stream.density.get_or_insert(usual(linear)),
        linear,
    )?;
    let temperature = stream.temperature.get_or_insert(usual(linear));
    check_state("temperature", *temperature, linear)
}

fn resolve_reservoir(reservoir: &mut Reservoir, linear: bool) -> Result<()> {
    let temperature = *reservoir.temperature.get_or_insert(usual(linear));
    check_state("temperature", temperature, linear)?;
    if let Some(pressure) = reservoir.pressure {
        check_state("pressure", pressure, linear)?;
        if let Some(density) = reservoir.density {
            return Err(Error::invalid(
                "density",
                format!("{density} beside pressure = {pressure}"),
                "one of density and pressure",
            ));
        }
        let density = match linear {
            true => pressure - temperature,
            false => pressure / temperature,
        };
        (reservoir.density, reservoir.pressure) = (Some(density), None);
    }
    check_state(
        "density",
        *reservoir.density.get_or_insert(usual(linear)),
        linear,
    )
}

/// Whether all walls of a shape are along the axes.
fn is_along_axes(shape: &Shape) -> bool {
    match shape {
        Shape::Rectangle { angle, .. } | Shape::Box { angle, .. } => angle % 90.0 == 0.0,
        Shape::Polygon { points } => edges(points).all(|(a, b)| a[0] == b[0] || a[1] == b[1]),
        Shape::Outline(section) => section
            .curves
            .iter()
            .all(|points| edges(points).all(|(a, b)| a[0] == b[0] || a[1] == b[1])),
        Shape::Stl(stl) => stl.surface.as_ref().is_some_and(Surface::is_along_axes),
        Shape::Union { of } | Shape::Difference { of } => of.iter().all(is_along_axes),
        _ => false,
    }
}

/// Checks a body; `in_space` allows the shapes that a plane has not.
fn check_body(body: &Body, linear: bool, in_space: bool) -> Result<()> {
    if body
        .name
        .as_ref()
        .is_some_and(|name| name.trim().is_empty())
    {
        return Err(Error::invalid("name", "\"\"", "a name, or none"));
    }
    if !in_space {
        check_plane(&body.shape)?;
    }
    check_shape(&body.shape)?;
    if let Some(temperature) = &body.temperature {
        temperature.check("temperature", |key, value| check_state(key, value, linear))?;
    }
    if let Some(speed) = &body.speed {
        speed.check("speed", |key, value| finite(key, value))?;
    }
    let velocity = body.velocity.unwrap_or_default().0;
    velocity.iter().try_for_each(|u| finite("velocity", *u))?;
    finite("rotation", body.rotation.unwrap_or(0.0))?;
    body.accommodation.check("a share above 0 and up to 1")
}

/// Refuses shapes in space.
fn check_plane(shape: &Shape) -> Result<()> {
    let wrong = |name: &str| {
        let expected =
            "a shape of the plane, such as a circle; shapes in space need `z` in [domain]";
        Err(Error::invalid("shape", name, expected))
    };
    match shape {
        Shape::Sphere { .. } => wrong("sphere"),
        Shape::Box { .. } => wrong("box"),
        Shape::Cylinder { .. } => wrong("cylinder"),
        Shape::Cone { .. } => wrong("cone"),
        Shape::Stl(_) => wrong("stl"),
        Shape::Voxels(_) => wrong("voxels"),
        Shape::Union { of } | Shape::Difference { of } => {
            let mut parts = of.iter().enumerate();
            parts.try_for_each(|(k, part)| {
                check_plane(part).map_err(|e| e.within(&format!("part {}", k + 1)))
            })
        }
        _ => Ok(()),
    }
}

/// The axis of a cylinder or a cone.
fn check_ends(ends: &[[f64; 3]; 2]) -> Result<()> {
    ends.iter().flatten().try_for_each(|x| finite("ends", *x))?;
    match ends[0] == ends[1] {
        true => Err(Error::invalid(
            "ends",
            "the same point twice",
            "the middles of two ends, apart from each other",
        )),
        false => Ok(()),
    }
}

fn check_shape(shape: &Shape) -> Result<()> {
    let centred = |centre: &[f64]| centre.iter().try_for_each(|x| finite("centre", *x));
    match shape {
        Shape::Circle { centre, radius } => {
            positive("radius", *radius)?;
            centred(centre)
        }
        Shape::Ellipse {
            centre,
            axes,
            angle,
        } => {
            axes.iter().try_for_each(|axis| positive("axes", *axis))?;
            finite("angle", *angle)?;
            centred(centre)
        }
        Shape::Rectangle {
            centre,
            size,
            angle,
        } => {
            size.iter().try_for_each(|side| positive("size", *side))?;
            finite("angle", *angle)?;
            centred(centre)
        }
        Shape::Polygon { points } => check_polygon(points),
        Shape::Naca {
            code,
            chord,
            centre,
            incidence,
        } => {
            if aerofoil(code).is_none() {
                return Err(Error::invalid(
                    "code",
                    format!("\"{code}\""),
                    "four digits: camber in per cent and its place in tenths, or 00, and the thickness in per cent, such as \"0012\" or \"2412\"",
                ));
            }
            positive("chord", *chord)?;
            finite("incidence", *incidence)?;
            centred(centre)
        }
        Shape::Circles { circles, more, .. } => {
            if circles.is_empty() && more.is_empty() {
                return Err(Error::invalid(
                    "circles",
                    "[]",
                    "at least one [x, y, radius], or a file of them",
                ));
            }
            circles
                .iter()
                .enumerate()
                .try_for_each(|(k, [x, y, radius])| {
                    let part = format!("circle {}", k + 1);
                    positive(format!("{part}: radius"), *radius)?;
                    centred(&[*x, *y])
                })
        }
        Shape::Mask(raster) | Shape::Distance(raster) => {
            positive("spacing", raster.spacing.unwrap_or(1.0))?;
            let mut origin = raster.origin.iter().flatten();
            origin.try_for_each(|x| finite("origin", *x))
        }
        Shape::Outline(section) => {
            positive("scale", section.scale)?;
            finite("z", section.z.unwrap_or(0.0))?;
            let mut origin = section.origin.iter();
            origin.try_for_each(|x| finite("origin", *x))
        }
        Shape::Union { of } | Shape::Difference { of } => {
            if of.len() < 2 {
                let count = of.len();
                return Err(Error::invalid(
                    "of",
                    format!("a list of {count}"),
                    "at least two shapes",
                ));
            }
            let mut parts = of.iter().enumerate();
            parts.try_for_each(|(k, part)| {
                check_shape(part).map_err(|e| e.within(&format!("part {}", k + 1)))
            })
        }
        _ => check_solid(shape),
    }
}

/// Checks a shape in space.
fn check_solid(shape: &Shape) -> Result<()> {
    let centred = |centre: &[f64]| centre.iter().try_for_each(|x| finite("centre", *x));
    match shape {
        Shape::Sphere { centre, radius } => {
            positive("radius", *radius)?;
            centred(centre)
        }
        Shape::Box {
            centre,
            size,
            angle,
        } => {
            size.iter().try_for_each(|side| positive("size", *side))?;
            finite("angle", *angle)?;
            centred(centre)
        }
        Shape::Cylinder { ends, radius } => {
            positive("radius", *radius)?;
            check_ends(ends)
        }
        Shape::Cone { ends, radii } => {
            let [a, b] = *radii;
            if !(a.is_finite() && b.is_finite() && a.min(b) >= 0.0 && a.max(b) > 0.0) {
                return Err(Error::invalid(
                    "radii",
                    format!("[{a}, {b}]"),
                    "two radii, of which one may be 0",
                ));
            }
            check_ends(ends)
        }
        Shape::Stl(stl) => {
            positive("scale", stl.scale)?;
            stl.origin.iter().try_for_each(|x| finite("origin", *x))
        }
        Shape::Voxels(voxels) => {
            positive("spacing", voxels.spacing.unwrap_or(1.0))?;
            let mut origin = voxels.origin.iter().flatten();
            origin.try_for_each(|x| finite("origin", *x))
        }
        _ => Ok(()),
    }
}

fn check_polygon(points: &[[f64; 2]]) -> Result<()> {
    points
        .iter()
        .flatten()
        .try_for_each(|x| finite("points", *x))?;
    let wrong = |value: String, expected: &str| Err(Error::invalid("points", value, expected));
    if points.len() < 3 {
        let count = points.len();
        return wrong(format!("{count} corners"), "at least three corners");
    }
    let area: f64 = edges(points).map(|(a, b)| a[0] * b[1] - a[1] * b[0]).sum();
    let long = edges(points).map(|(a, b)| (b[0] - a[0]).hypot(b[1] - a[1]));
    let [mut girth, mut least] = [0.0, f64::INFINITY];
    for long in long {
        girth += long;
        least = long.min(least);
    }
    if least == 0.0 {
        return wrong(
            "the same corner twice in a row".into(),
            "each corner once, the first one not repeated at the end",
        );
    }
    if area.abs() < 1e-12 * girth * girth {
        return wrong(
            "all corners on one line".into(),
            "a polygon that has an area",
        );
    }
    if let Some((a, b)) = crossing(points) {
        return wrong(
            format!("edges {} and {} cross", a + 1, b + 1),
            "corners in their order along the outline",
        );
    }
    Ok(())
}

/// Two edges of a polygon that cross.
fn crossing(points: &[[f64; 2]]) -> Option<(usize, usize)> {
    let count = points.len();
    if count > MOST_PAIRS {
        return None;
    }
    let side = |a: [f64; 2], b: [f64; 2], c: [f64; 2]| {
        (b[0] - a[0]) * (c[1] - a[1]) - (b[1] - a[1]) * (c[0] - a[0])
    };
    let edges: Vec<_> = edges(points).collect();
    for (i, &(a, b)) in edges.iter().enumerate() {
        for (j, &(c, d)) in edges.iter().enumerate().skip(i + 2) {
            // The first and the last edge share a corner.
            let apart = i > 0 || j + 1 < count;
            let cross = side(a, b, c) * side(a, b, d) < 0.0 && side(c, d, a) * side(c, d, b) < 0.0;
            if apart && cross {
                return Some((i, j));
            }
        }
    }
    None
}

fn check_solver(solver: &Solver) -> Result<()> {
    if !(solver.tolerance > 0.0 && solver.tolerance < 1.0) {
        return Err(Error::invalid(
            "solver.tolerance",
            solver.tolerance,
            "a number between 0 and 1, such as 1e-6",
        ));
    }
    if solver.depth > 100 {
        return Err(Error::invalid(
            "solver.depth",
            solver.depth,
            "0 to 100 earlier iterates, such as 10",
        ));
    }
    if solver.iterations == 0 {
        return Err(Error::invalid(
            "solver.iterations",
            0,
            "at least one iteration",
        ));
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use serde_json::{Value, json};

    use super::*;

    fn case() -> Value {
        json!({
            "gas": { "delta": 1 },
            "domain": { "x": [-2, 2], "y": [0, 2], "h": 0.1 },
            "sides": {
                "left": { "kind": "stream", "mach": 2 },
                "right": { "kind": "vacuum" },
                "bottom": { "kind": "mirror" },
                "top": { "kind": "reservoir", "pressure": 0.5, "temperature": 2 },
            },
            "body": [{ "shape": "circle", "radius": 0.5 }],
        })
    }

    fn resolved(value: Value) -> Result<Case> {
        let case: Case = serde_json::from_value(value).expect("a case");
        case.resolve()
    }

    #[test]
    fn defaults_are_filled_in_and_stay() {
        let full = resolved(case()).expect("a case");
        let Side::Stream(stream) = &full.sides.left else {
            panic!("{:?}", full.sides.left);
        };
        // Twice the speed of sound, sqrt(5/6) v0.
        let speed = stream.speed_ratio.expect("a speed");
        assert!((speed - 2.0 * (5.0f64 / 6.0).sqrt()).abs() < 1e-15);
        let Side::Reservoir(reservoir) = &full.sides.top else {
            panic!("{:?}", full.sides.top);
        };
        assert_eq!(reservoir.density, Some(0.25));
        assert_eq!(full.bodies[0].temperature, Some(1.0.into()));
        assert_eq!(full.bodies[0].name.as_deref(), Some("body 1"));
        assert_eq!(full.resolve().expect("a case"), full);
    }

    #[test]
    fn a_gas_in_si_units_has_its_rarefaction() {
        let mut value = case();
        value["gas"] =
            json!({ "gas": "argon", "pressure": 10, "temperature": 300, "length": 1e-3 });
        let full = resolved(value).expect("a case");
        // 1 mm over l0 = mu v0 / p0.
        assert!(
            (full.gas.delta - 1.237_8).abs() < 1e-3,
            "{}",
            full.gas.delta
        );
        assert_eq!(full.gas.omega, 0.81);
        let again = serde_json::to_value(full.gas).expect("a value");
        assert_eq!(
            serde_json::from_value::<super::super::GasOf>(again).expect("a gas"),
            full.gas
        );
    }

    #[test]
    fn shapes_in_space_are_refused_in_a_plane_and_where_they_are_nothing() {
        let body = |shape: Value| serde_json::from_value::<Body>(shape).expect("a body");
        let ball = json!({ "shape": "sphere", "radius": 1 });
        let cut =
            json!({ "shape": "difference", "of": [ball, { "shape": "circle", "radius": 1 }] });
        for (shape, line) in [
            (ball, "shape: sphere; expected a shape of the plane"),
            (cut, "part 1: shape: sphere; expected a shape of the plane"),
        ] {
            let body = body(shape);
            let error = check_body(&body, false, false).expect_err(line);
            assert!(error.to_string().starts_with(line), "{error}");
            assert!(check_body(&body, false, true).is_ok());
        }
        for (shape, line) in [
            (
                json!({ "shape": "sphere", "radius": 0 }),
                "radius: 0; expected a positive number",
            ),
            (
                json!({ "shape": "box", "size": [1, -1, 1] }),
                "size: -1; expected a positive number",
            ),
            (
                json!({ "shape": "cylinder", "ends": [[0, 1, 2], [0, 1, 2]], "radius": 1 }),
                "ends: the same point twice; expected the middles of two ends",
            ),
            (
                json!({ "shape": "cylinder", "ends": [[0, 1, 2], [0, 1, 3]], "radius": -1 }),
                "radius: -1; expected a positive number",
            ),
            (
                json!({ "shape": "cone", "ends": [[0, 1, 2], [0, 1, 3]], "radii": [0, 0] }),
                "radii: [0, 0]; expected two radii, of which one may be 0",
            ),
            (
                json!({ "shape": "stl", "file": "a.stl", "scale": 0 }),
                "scale: 0; expected a positive number",
            ),
            (
                json!({ "shape": "voxels", "file": "a.npy", "spacing": 0 }),
                "spacing: 0; expected a positive number",
            ),
        ] {
            let error = check_body(&body(shape), false, true).expect_err(line);
            assert!(error.to_string().starts_with(line), "{error}");
        }
    }

    #[test]
    fn values_that_are_not_right_are_refused_with_their_keys() {
        for (pointer, value, line) in [
            (
                "/gas/delta",
                json!(-1),
                "gas.delta: -1; expected a positive number",
            ),
            (
                "/domain/x",
                json!([2, -2]),
                "domain.x: [2, -2]; expected its lower end",
            ),
            (
                "/domain/h",
                json!(-0.1),
                "domain.h: -0.1; expected a positive number",
            ),
            (
                "/domain/h",
                json!(3),
                "domain.h: 3; expected cells smaller than the domain, such as 0.05",
            ),
            (
                "/domain/h",
                json!(1e-9),
                "domain.h: 0.000000001; expected at most 100000 cells along x",
            ),
            (
                "/sides/left",
                json!({ "kind": "stream" }),
                "sides.left: speed_ratio: none; expected speed_ratio or mach",
            ),
            (
                "/sides/left/mach",
                json!(-1),
                "sides.left: mach: -1; expected a speed of at least 0",
            ),
            (
                "/sides/left/temperature",
                json!(0),
                "sides.left: temperature: 0; expected a positive number",
            ),
            (
                "/sides/top/density",
                json!(1),
                "sides.top: density: 1 beside pressure = 0.5; expected one of",
            ),
            (
                "/sides/right",
                json!({ "kind": "periodic" }),
                "sides.right: periodic; expected kind = \"periodic\" of the left side too",
            ),
            (
                "/sides/right",
                json!({ "kind": "split", "at": 5, "left": {}, "right": {} }),
                "sides.right: at: 5; expected a point between 0 and 2",
            ),
            (
                "/sides/right",
                json!({ "kind": "periodic", "factor": 20 }),
                "sides.right: periodic; expected",
            ),
            (
                "/sides/right",
                json!({ "kind": "inflow", "mass_flow": 1, "temperature": -1 }),
                "sides.right: temperature: -1; expected a positive number",
            ),
            (
                "/sides/right",
                json!({ "kind": "wall", "temperature": [[0, 1], [0, 2]] }),
                "sides.right: temperature: a row at 0 after one at 0; expected rows",
            ),
            (
                "/sides/right",
                json!({ "kind": "wall", "temperature": [[0, 1], [1, 0]] }),
                "sides.right: temperature: 0; expected a positive number",
            ),
            (
                "/sides/right",
                json!({ "kind": "wall", "accommodation": { "tangential": 2.5, "normal": 1 } }),
                "sides.right: accommodation.tangential: 2.5; expected a number above 0 and below 2",
            ),
            (
                "/body/0/radius",
                json!(0),
                "body 1: radius: 0; expected a positive number",
            ),
            (
                "/body/0/centre",
                json!([5, 0]),
                "body 1: place: x = 4.5 to 5.5, y = -0.5 to 0.5; expected a body of which a part is in the domain",
            ),
            (
                "/body/0/accommodation",
                json!(1.5),
                "body 1: accommodation: 1.5; expected a share",
            ),
            (
                "/body/0",
                json!({ "shape": "polygon", "points": [[0, 0], [1, 1]] }),
                "body 1: points: 2 corners; expected at least three corners",
            ),
            (
                "/body/0",
                json!({ "shape": "polygon", "points": [[0, 0], [1, 1], [2, 2]] }),
                "body 1: points: all corners on one line",
            ),
            (
                "/body/0",
                json!({ "shape": "polygon", "points": [[0, 0], [1, 1], [1, 0], [0, 1.5]] }),
                "body 1: points: edges 1 and 3 cross",
            ),
            (
                "/body/0",
                json!({ "shape": "polygon", "points": [[0, 0], [1, 0], [1, 1], [0, 0]] }),
                "body 1: points: the same corner twice",
            ),
            (
                "/body/0",
                json!({ "shape": "naca", "code": "23012" }),
                "body 1: code: \"23012\"; expected four digits",
            ),
            (
                "/body/0",
                json!({ "shape": "circles", "circles": [[0, 0, -1]] }),
                "body 1: circle 1: radius: -1; expected",
            ),
            (
                "/velocities",
                json!({ "kind": "polar", "angles": 30 }),
                "velocities.angles: 30; expected a multiple of 4",
            ),
            (
                "/solver",
                json!({ "tolerance": 0 }),
                "solver.tolerance: 0; expected a number between 0 and 1",
            ),
            (
                "/start",
                json!({ "density": 0, "velocity": [0, 0], "temperature": 1 }),
                "start.density: 0; expected",
            ),
        ] {
            let mut case = case();
            for key in ["velocities", "solver", "start"] {
                if pointer == format!("/{key}") {
                    case[key] = Value::Null;
                }
            }
            for (of, key) in [
                ("/sides/left", "temperature"),
                ("/sides/top", "density"),
                ("/body/0", "centre"),
                ("/body/0", "accommodation"),
            ] {
                if pointer == format!("{of}/{key}") {
                    case.pointer_mut(of).expect("a place")[key] = Value::Null;
                }
            }
            *case.pointer_mut(pointer).expect("a place") = value;
            let error = resolved(case).expect_err(pointer).to_string();
            assert!(error.starts_with(line), "{pointer}: {error}");
        }
    }
}
