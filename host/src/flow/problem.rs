//! From a case to the problem that is solved: space, nodes, gas and faces.

use super::accommodation::Accommodation;
use super::along::Along;
use super::case::{SIDES, sides_of};
use super::face::{Border, SideWall, Wall};
use super::gas::{Gas, Primitive};
use super::motion::{self, Motion};
use super::nodes::{self, Nodes};
use super::outline::sin_cos;
use super::plane::plane_of;
use super::ports;
use super::space::{Obstacle, Space};
use super::velocities::velocities_of;
use super::walls::Places;
use super::{Case, Reservoir, Side, Stream, Velocities};
use crate::error::{Error, Result};

/// Density of a vacuum, which nothing divides by.
const VACUUM: Primitive = [0.0, 0.0, 0.0, 1.0];

/// Speed ratio beyond which gas at rest at the stagnation temperature reaches less far than a Maxwellian.
const FAST: f64 = 3.0;

/// Reach of the stagnation state beyond that speed ratio, in the root of its temperature.
const STAGNATION_REACH: f64 = 2.7;

/// A case in the form that is solved.
pub(in crate::flow) struct Problem {
    pub(in crate::flow) gas: Gas,
    pub(in crate::flow) space: Space,
    pub(in crate::flow) nodes: Nodes,
    pub(in crate::flow) borders: [Border; 4],
    /// Walls of the segments.
    pub(in crate::flow) walls: Vec<Wall>,
    /// Diffuse share of each segment, and its place among those with less than 1.
    pub(in crate::flow) accommodation: Vec<(f64, Option<usize>)>,
    /// Reflection of each segment.
    pub(in crate::flow) reflection: Vec<Accommodation>,
    /// Density at the upper sides over that at the lower ones, of periodic nonlinear flows.
    pub(in crate::flow) falls: [f64; 2],
    /// Centres of the bodies.
    pub(in crate::flow) centres: Vec<[f64; 2]>,
    pub(in crate::flow) start: Primitive,
    /// The stream that coefficients refer to: density and velocity.
    pub(in crate::flow) stream: Option<(f64, [f64; 2])>,
}

impl Problem {
    /// Builds the grid, `coarser` times as wide as the case says, and all that lies on it.
    ///
    /// # Errors
    /// Faults that only the grid shows: bodies that miss the domain, ports inside of bodies.
    pub(in crate::flow) fn new(case: &Case, coarser: f64) -> Result<Self> {
        let gas = Gas::new(&case.gas);
        let obstacles: Vec<Obstacle> = case.bodies.iter().map(Obstacle::new).collect();
        let centres: Vec<[f64; 2]> = obstacles.iter().map(|obstacle| obstacle.centre).collect();
        let mut space = plane_of(case, obstacles, coarser)?;
        let nodes = nodes_of(case, &gas)?;
        space.warnings.extend(check_nodes(case, &gas, &nodes)?);
        let sides = sides_of(case);
        let mut borders = Vec::with_capacity(4);
        for (k, side) in sides.into_iter().enumerate() {
            let border = border(side, k, &space, gas.linear);
            check_port(&border, k, &space)?;
            let mirrors = match border {
                Border::Mirror => true,
                Border::Wall(ref wall) => {
                    wall.accommodation.diffuse() < 1.0 && wall.accommodation.kernel().is_none()
                }
                _ => false,
            };
            if mirrors && !nodes.is_symmetric(k / 2) {
                return Err(Error::invalid(
                    format!("sides.{}", SIDES[k]),
                    "a side that mirrors",
                    "velocities that are symmetric about it: `velocities = { kind = \"polar\" }`, or a mirror along the stream",
                ));
            }
            borders.push(border);
        }
        let Ok(borders) = <[Border; 4]>::try_from(borders) else {
            return Err(Error::Numerical("a domain has four sides".to_owned()));
        };
        let usual = if gas.linear { 0.0 } else { 1.0 };
        let places = Places::new(case);
        let mut motions = vec![Motion::default(); case.bodies.len()];
        let walls = space
            .segments
            .iter()
            .map(|segment| {
                let body = &case.bodies[segment.body];
                // Only tables need the place on the outline.
                let value = |of: &Along| match of.varies() {
                    true => {
                        let (arc, girth) = places.of(segment.body, segment.point);
                        of.at(arc, girth)
                    }
                    false => of.at(0.0, None),
                };
                let along = [-segment.normal[1], segment.normal[0]];
                let mut velocity = body.velocity.unwrap_or_default().plane();
                if let Some(rate) = body.rotation {
                    let centre = centres[segment.body];
                    velocity[0] -= rate * (segment.point[1] - centre[1]);
                    velocity[1] += rate * (segment.point[0] - centre[0]);
                }
                motions[segment.body].add(segment.length, velocity, segment.normal);
                let mut speed = velocity[0] * along[0] + velocity[1] * along[1];
                if let Some(more) = &body.speed {
                    speed += value(more);
                }
                Wall {
                    temperature: body.temperature.as_ref().map_or(usual, value),
                    velocity: along.map(|part| speed * part),
                }
            })
            .collect();
        space.warnings.extend(motion::warnings(case, &motions));
        let mut loose = 0;
        let accommodation: Vec<(f64, Option<usize>)> = space
            .segments
            .iter()
            .map(|segment| {
                let alpha = case.bodies[segment.body].accommodation.diffuse();
                let place = (alpha < 1.0).then_some(loose);
                loose += usize::from(alpha < 1.0);
                (alpha, place)
            })
            .collect();
        for (segment, (alpha, place)) in space.segments.iter().zip(&accommodation) {
            let [nx, ny] = segment.normal.map(f64::abs);
            let along_axis =
                (ny < 1e-12 && nodes.is_symmetric(0)) || (nx < 1e-12 && nodes.is_symmetric(1));
            let is_mirror = case.bodies[segment.body].accommodation.kernel().is_none();
            if place.is_some() && is_mirror && !along_axis && nodes.rings.is_empty() {
                return Err(Error::invalid(
                    format!("body {}: accommodation", segment.body + 1),
                    *alpha,
                    "`velocities = { kind = \"polar\" }`, whose nodes have mirror images at any wall",
                ));
            }
        }
        let reflection = space.segments.iter();
        let reflection = reflection
            .map(|segment| case.bodies[segment.body].accommodation)
            .collect();
        ports::check(case, &|k| {
            let border = space.border(k);
            border.iter().any(|&cell| space.open[cell][k] > 0.0)
        })?;
        let stream = sides.iter().find_map(|side| match side {
            Side::Stream(stream) if !gas.linear => {
                let [n, ux, uy, _] = stream_state(stream, false);
                (ux != 0.0 || uy != 0.0).then_some((n, [ux, uy]))
            }
            _ => None,
        });
        let start = match &case.start {
            Some(s) => {
                let [ux, uy] = s.velocity.plane();
                [s.density, ux, uy, s.temperature]
            }
            None => start(&sides, gas.linear),
        };
        Ok(Self {
            gas,
            space,
            nodes,
            borders,
            walls,
            reflection,
            falls: [&case.sides.left, &case.sides.bottom].map(|side| match side {
                Side::Periodic { factor, .. } => *factor,
                _ => 1.0,
            }),
            accommodation,
            centres,
            start,
            stream,
        })
    }

    /// Segments with an accommodation of less than 1.
    pub(in crate::flow) fn loose(&self) -> Vec<usize> {
        let pairs = self.accommodation.iter().enumerate();
        pairs
            .filter(|(_, (_, place))| place.is_some())
            .map(|(s, _)| s)
            .collect()
    }

    /// Whether no gas enters or leaves: the mass is that of the start.
    pub(in crate::flow) fn is_closed(&self) -> bool {
        self.borders.iter().enumerate().all(|(k, border)| {
            let walled = !self
                .space
                .border(k)
                .iter()
                .any(|&cell| self.space.is_gas(cell));
            walled
                || matches!(
                    border,
                    Border::Mirror | Border::Periodic(_) | Border::Wall(..)
                )
        })
    }
}

/// The state of a resolved stream.
fn stream_state(stream: &Stream, linear: bool) -> Primitive {
    let usual = if linear { 0.0 } else { 1.0 };
    let speed = stream.speed_ratio.unwrap_or(0.0);
    let (sin, cos) = sin_cos(stream.angle);
    [
        stream.density.unwrap_or(usual),
        speed * cos,
        speed * sin,
        stream.temperature.unwrap_or(usual),
    ]
}

/// The state of a resolved reservoir.
fn reservoir_state(reservoir: &Reservoir, linear: bool) -> Primitive {
    let usual = if linear { 0.0 } else { 1.0 };
    let density = reservoir.density.unwrap_or(usual);
    [density, 0.0, 0.0, reservoir.temperature.unwrap_or(usual)]
}

fn border(side: &Side, k: usize, space: &Space, linear: bool) -> Border {
    let edges = if k < 2 { &space.y } else { &space.x };
    let all = |state: Primitive| Border::Given(vec![state; edges.len() - 1]);
    match side {
        Side::Stream(stream) => all(stream_state(stream, linear)),
        Side::Reservoir(reservoir) => all(reservoir_state(reservoir, linear)),
        Side::Split { at, left, right } => {
            let middles = edges.windows(2).map(|pair| 0.5 * (pair[0] + pair[1]));
            let states = middles.map(|x| {
                let reservoir = if x < *at { left } else { right };
                reservoir_state(reservoir, linear)
            });
            Border::Given(states.collect())
        }
        Side::Outlet { pressure } => Border::Outlet(*pressure),
        Side::Vacuum if linear => all([0.0; 4]),
        Side::Vacuum => all(VACUUM),
        Side::Mirror | Side::Axis => Border::Mirror,
        Side::Inflow {
            mass_flow,
            temperature,
        } => {
            let wall = Wall {
                temperature: temperature.unwrap_or(if linear { 0.0 } else { 1.0 }),
                velocity: [0.0; 2],
            };
            Border::Inflow(*mass_flow, wall)
        }
        Side::Periodic {
            jump,
            jump_temperature,
            ..
        } => Border::Periodic([jump - jump_temperature, 0.0, 0.0, *jump_temperature]),
        Side::Wall {
            temperature,
            velocity,
            accommodation,
        } => {
            let usual = if linear { 0.0 } else { 1.0 };
            let middles = edges.windows(2).map(|pair| 0.5 * (pair[0] + pair[1]));
            let walls = middles.map(|place| {
                let speed = velocity.at(place, None);
                Wall {
                    temperature: temperature.as_ref().map_or(usual, |t| t.at(place, None)),
                    velocity: match k < 2 {
                        true => [0.0, speed],
                        false => [speed, 0.0],
                    },
                }
            });
            Border::Wall(SideWall {
                walls: walls.collect(),
                accommodation: *accommodation,
            })
        }
    }
}

/// A port wholly inside of a body lets nothing in.
fn check_port(border: &Border, k: usize, space: &Space) -> Result<()> {
    let open = space
        .border(k)
        .iter()
        .any(|&cell| space.open[cell][k] > 0.0);
    let nothing = [VACUUM, [0.0; 4]];
    let lets_in = match border {
        Border::Given(states) => states.iter().any(|state| !nothing.contains(state)),
        Border::Inflow(..) | Border::Outlet(_) => true,
        _ => false,
    };
    match lets_in && !open {
        true => Err(Error::invalid(
            format!("sides.{}", SIDES[k]),
            "a port wholly inside of bodies",
            "a side with gas beside it, or `wall` or `vacuum` for one without",
        )),
        false => Ok(()),
    }
}

/// The state from which a case without one starts.
fn start(sides: &[&Side; 4], linear: bool) -> Primitive {
    if linear {
        return [0.0; 4];
    }
    let given = sides.iter().find_map(|side| match side {
        Side::Stream(stream) => Some(stream_state(stream, false)),
        Side::Reservoir(reservoir) => Some(reservoir_state(reservoir, false)),
        _ => None,
    });
    given.unwrap_or([1.0, 0.0, 0.0, 1.0])
}

/// The nodes of a case.
fn nodes_of(case: &Case, gas: &Gas) -> Result<Nodes> {
    let list = match velocities_of(case) {
        Velocities::Polar {
            angles,
            speeds,
            temperature,
            graded,
        } => nodes::polar(angles, speeds, temperature, graded, gas.linear)?,
        Velocities::Uniform { step, reach, .. } => uniform(case, step, reach),
        Velocities::Gauss { .. } | Velocities::Axis { .. } => {
            return Err(Error::Numerical(
                "velocities with three components belong to space".to_owned(),
            ));
        }
    };
    let periodic =
        [&case.sides.left, &case.sides.bottom].map(|side| matches!(side, Side::Periodic { .. }));
    Nodes::new(&list, |[vx, vy]| match periodic {
        [true, true] => vy.abs() > vx.abs(),
        [false, true] => true,
        _ => false,
    })
}

/// The states that the gas of a case certainly has: those of sides and walls.
fn states(case: &Case) -> Vec<(String, Primitive)> {
    let usual = if case.gas.linear { 0.0 } else { 1.0 };
    let mut states = Vec::new();
    for (name, side) in SIDES.into_iter().zip(sides_of(case)) {
        let mut add = |part: &str, state| states.push((format!("sides.{name}{part}"), state));
        match side {
            Side::Stream(stream) => add("", stream_state(stream, false)),
            Side::Reservoir(reservoir) => add("", reservoir_state(reservoir, false)),
            Side::Split { left, right, .. } => {
                add(".left", reservoir_state(left, false));
                add(".right", reservoir_state(right, false));
            }
            Side::Wall {
                temperature,
                velocity,
                ..
            } => {
                let fastest = velocity.values().into_iter().map(f64::abs);
                let speed = fastest.fold(0.0, f64::max);
                for temperature in extremes(temperature.as_ref(), usual) {
                    add("", [1.0, speed, speed, temperature]);
                }
            }
            Side::Inflow { temperature, .. } => {
                add("", [1.0, 0.0, 0.0, temperature.unwrap_or(usual)]);
            }
            _ => {}
        }
    }
    for (k, body) in case.bodies.iter().enumerate() {
        let [ux, uy] = body.velocity.unwrap_or_default().plane();
        for temperature in extremes(body.temperature.as_ref(), usual) {
            states.push((format!("body {}", k + 1), [1.0, ux, uy, temperature]));
        }
    }
    states
}

/// The least and the greatest temperature of a wall.
fn extremes(temperature: Option<&Along>, usual: f64) -> Vec<f64> {
    let values = temperature.map_or(vec![usual], Along::values);
    let low = values.iter().copied().fold(f64::INFINITY, f64::min);
    let high = values.iter().copied().fold(f64::NEG_INFINITY, f64::max);
    if low == high {
        vec![low]
    } else {
        vec![low, high]
    }
}

/// Relative error of density or energy of a state on the nodes beyond which a case is refused, and beyond which it warns.
const WORST_NODES: f64 = 1e-2;
const POOR_NODES: f64 = 1e-3;

/// Refuses nodes that do not hold the states of a nonlinear case, and warns of those that hold them poorly.
fn check_nodes(case: &Case, gas: &Gas, nodes: &Nodes) -> Result<Option<String>> {
    if gas.linear {
        return Ok(None);
    }
    let mut poor = None;
    for (place, state) in states(case) {
        if state[0] == 0.0 {
            continue;
        }
        let [density, energy] = nodes.hold(&gas.maxwellian(state));
        let [n, ux, uy, t] = state;
        let errors = [
            density / n - 1.0,
            energy / (n * (ux * ux + uy * uy + 1.5 * t)) - 1.0,
        ];
        let error = errors.iter().fold(0.0_f64, |m, e| m.max(e.abs()));
        let (share, remedy) = (
            format!("a Maxwellian that is {:.1}% off", 100.0 * error),
            "more and wider velocities; without [velocities] they are chosen",
        );
        if error.is_nan() || error > WORST_NODES {
            return Err(Error::invalid(place, share, remedy));
        }
        if error > POOR_NODES && poor.is_none() {
            poor = Some(format!("{place}: the velocities hold {share}; {remedy}"));
        }
    }
    Ok(poor)
}

/// A uniform grid around the states of a case and its stagnation state.
pub(in crate::flow) fn uniform(case: &Case, step: f64, reach: f64) -> Vec<([f64; 2], f64)> {
    let mut states: Vec<Primitive> = states(case).into_iter().map(|(_, state)| state).collect();
    if states.is_empty() {
        states.push([1.0, 0.0, 0.0, 1.0]);
    }
    let square = |s: &Primitive| s[1] * s[1] + s[2] * s[2];
    let fastest = states.iter().map(square).fold(0.0, f64::max);
    let hottest = states
        .iter()
        .map(|s| s[3] + 0.4 * square(s))
        .fold(0.0, f64::max);
    let coldest = states.iter().map(|s| s[3]).fold(f64::INFINITY, f64::min);
    let far = if fastest > FAST * FAST {
        STAGNATION_REACH
    } else {
        reach
    };
    let mut low = [-far * hottest.sqrt(); 2];
    let mut high = [far * hottest.sqrt(); 2];
    for s in &states {
        for k in 0..2 {
            low[k] = low[k].min(s[k + 1] - reach * s[3].sqrt());
            high[k] = high[k].max(s[k + 1] + reach * s[3].sqrt());
        }
    }
    // A mirror across x needs each velocity's image.
    if matches!(case.sides.left, Side::Mirror) || matches!(case.sides.right, Side::Mirror) {
        let reach = high[0].max(-low[0]);
        (low[0], high[0]) = (-reach, reach);
    }
    nodes::uniform([low, high], step * coldest.sqrt())
}
