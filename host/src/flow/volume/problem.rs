//! From a case in space or round an axis to the problem that is solved: space, nodes, gas and faces.

use rayon::prelude::*;

use super::face::{Border, Emission, Emitter, Wall};
use super::gas::{MOMENTS, State, maxwellian};
use super::nodes::{self, Nodes};
use super::reflection::Partial;
use super::space::{self, Solid, Solids, Space};
use super::states::{number, reservoir_state, square, states, stream_state};
use super::sweep::SIDES;
use super::unknowns::Unknowns;
use crate::bgk::rotation;
use crate::error::{Error, Result};
use crate::flow::case::{Case, Side};
use crate::flow::gas::Gas;
use crate::flow::motion::{self, Motion};
use crate::flow::plane::plane_of;
use crate::flow::ring;
use crate::flow::space::{Obstacle, edges};
use crate::flow::turn::Turn;
use crate::flow::velocities::velocities_of;
use crate::flow::{Velocities, ports};

/// Speed ratio beyond which gas at rest at the stagnation temperature reaches less far than a Maxwellian.
const FAST: f64 = 3.0;

/// Reach of the stagnation state beyond that speed ratio, in the root of its temperature.
const STAGNATION_REACH: f64 = 2.7;

/// Least size of a body in widths of cells: lines of the grid that are nearer to each other become one.
const RESOLVED: f64 = 0.3;

/// Most velocities along an axis.
const MOST_VELOCITIES: f64 = 256.0;

/// Relative error of density or energy of a state on the nodes beyond which a case is refused, and beyond which it warns.
const WORST_NODES: f64 = 1e-2;
const POOR_NODES: f64 = 1e-3;

/// A case in the form that is solved.
pub(in crate::flow) struct Problem {
    pub(in crate::flow) gas: Gas,
    pub(in crate::flow) space: Space,
    pub(in crate::flow) nodes: Nodes,
    pub(in crate::flow) borders: [Border; SIDES],
    /// Walls of the facets.
    pub(in crate::flow) walls: Vec<Wall>,
    /// Emission of each facet, were its wall to mirror nothing.
    pub(in crate::flow) emission: Vec<Emission>,
    /// Walls of bodies that mirror a part.
    pub(in crate::flow) partial: Partial,
    /// Emission of walls and inflows at sides.
    pub(in crate::flow) side_emission: [Option<Emission>; SIDES],
    /// Centres of the bodies.
    pub(in crate::flow) centres: Vec<[f64; 3]>,
    pub(in crate::flow) start: State,
    /// The stream that coefficients refer to.
    pub(in crate::flow) stream: Option<State>,
}

impl Problem {
    /// Builds the grid, `coarser` times as wide as the case says, and all that lies on it.
    ///
    /// # Errors
    /// Faults that only the grid shows: bodies that miss the domain, ports inside of bodies.
    pub(in crate::flow) fn new(case: &Case, coarser: f64) -> Result<Self> {
        let gas = Gas::new(&case.gas);
        let (mut space, centres) = match case.is_round() {
            true => round(case, coarser)?,
            false => in_space(case, coarser)?,
        };
        space.warnings.extend(check_sizes(case, &space)?);
        let nodes = nodes_of(case)?;
        space.warnings.extend(check_nodes(case, &gas, &nodes)?);
        let named = case.named_sides();
        let mut borders = [Border::Mirror; SIDES];
        for (k, (name, side)) in named.iter().enumerate() {
            borders[k] = border(side, k, gas.linear);
            check_border(&borders[k], k, name, &space, &nodes)?;
        }
        ports::check(case, &|k| {
            let border = space.border(k);
            border.iter().any(|&cell| space.open[cell][k] > 0.0)
        })?;
        let usual = if gas.linear { 0.0 } else { 1.0 };
        let mut motions = vec![Motion::default(); case.bodies.len()];
        let walls: Vec<Wall> = space
            .facets
            .iter()
            .map(|facet| {
                let body = &case.bodies[facet.body];
                let mut velocity = body.velocity.unwrap_or_default().0;
                if let Some(rate) = body.rotation {
                    let centre = centres[facet.body];
                    velocity[0] -= rate * (facet.point[1] - centre[1]);
                    velocity[1] += rate * (facet.point[0] - centre[0]);
                }
                motions[facet.body].add(facet.area, velocity, facet.normal);
                let through: f64 = (0..3).map(|k| velocity[k] * facet.normal[k]).sum();
                Wall {
                    temperature: number(body.temperature.as_ref(), usual),
                    velocity: std::array::from_fn(|k| velocity[k] - through * facet.normal[k]),
                }
            })
            .collect();
        space.warnings.extend(motion::warnings(case, &motions));
        let stream = named.iter().find_map(|(_, side)| match side {
            Side::Stream(stream) if !gas.linear => Some(stream_state(stream, false)),
            _ => None,
        });
        let start = match &case.start {
            Some(s) => {
                let [x, y, z] = s.velocity.0;
                [s.density, x, y, z, s.temperature]
            }
            None => start(&borders, gas.linear),
        };
        let emission = emissions(&gas, &nodes, &space, &walls);
        let shares = space.facets.iter();
        let shares = shares.map(|facet| case.bodies[facet.body].accommodation.diffuse());
        let partial = Partial::new(shares.collect(), &nodes);
        partial.check_memory(&nodes, case.solver.depth)?;
        let side_emission = std::array::from_fn(|k| match borders[k] {
            Border::Wall(wall, _) | Border::Inflow(_, wall) => {
                let mut inward = [0.0; 3];
                inward[k / 2] = if k % 2 == 0 { 1.0 } else { -1.0 };
                Some(Emitter::new(&gas, &nodes).emission(wall, inward))
            }
            _ => None,
        });
        Ok(Self {
            gas,
            space,
            nodes,
            borders,
            walls,
            emission,
            partial,
            side_emission,
            centres,
            start,
            stream: stream.filter(|s| s[1] != 0.0 || s[2] != 0.0 || s[3] != 0.0),
        })
    }

    /// Moments a unit area of all that leaves a facet: what its wall emits, and what it mirrors.
    pub(in crate::flow) fn leaves(&self, s: usize, state: &Unknowns) -> [f64; MOMENTS] {
        let (partial, gas) = (&self.partial, &self.gas);
        let mut leaves = self.emission[s].moments(state.facets[s]);
        let images = partial.images(&self.nodes, gas.linear);
        let (Some(images), Some(place)) = (images, partial.place_of(s)) else {
            return leaves;
        };
        let count = self.nodes.len();
        let facet = &self.space.facets[s];
        let moments = |of: &[f64]| images.moments(facet, &of[place * count..][..count]);
        let mut mirrored = moments(&state.images);
        if let Some(rotation) = &gas.rotation {
            let internal = moments(&state.internal_images);
            rotation::add_flux(rotation, gas.linear, &mut mirrored, &internal);
        }
        let share = partial.share[s];
        for (own, mirrored) in leaves.iter_mut().zip(mirrored) {
            *own = share * *own + (1.0 - share) * mirrored;
        }
        leaves
    }

    /// Whether no gas enters or leaves: the mass is that of the start.
    pub(in crate::flow) fn is_closed(&self) -> bool {
        self.borders.iter().enumerate().all(|(k, border)| {
            let shut = matches!(
                border,
                Border::Mirror | Border::Periodic(..) | Border::Wall(..)
            );
            let is_gas = |cell: usize| self.space.is_gas(cell);
            shut || !self.space.border(k).into_iter().any(is_gas)
        })
    }
}

/// Rings round an axis, and the centres of the bodies on it.
fn round(case: &Case, coarser: f64) -> Result<(Space, Vec<[f64; 3]>)> {
    let obstacles: Vec<Obstacle> = case.bodies.iter().map(Obstacle::new).collect();
    let centres = obstacles.iter().map(|body| [body.centre[0], 0.0, 0.0]);
    let centres = centres.collect();
    let plane = plane_of(case, obstacles, coarser)?;
    Ok((ring::space_of(plane), centres))
}

/// A box of space, and the centres of the bodies.
fn in_space(case: &Case, coarser: f64) -> Result<(Space, Vec<[f64; 3]>)> {
    let solids = solids_of(case);
    let centres = solids.solids.iter().map(|solid| solid.centre).collect();
    let mut lines: [Vec<f64>; 3] = Default::default();
    for solid in &solids.solids {
        for (all, more) in lines.iter_mut().zip(solid.lines()) {
            all.extend(more);
        }
    }
    let space = space::build(edges_of(case, coarser, &lines), &solids)?;
    Ok((space, centres))
}

/// The bodies, repeated along periodic axes.
fn solids_of(case: &Case) -> Solids {
    let named = case.named_sides();
    let mut shifts = vec![[0.0; 3]];
    for (axis, [low, high]) in case.ends().into_iter().enumerate() {
        let periodic = matches!(named.get(2 * axis), Some((_, Side::Periodic { .. })));
        if periodic {
            let along = |by: f64| {
                move |mut shift: [f64; 3]| {
                    shift[axis] += by;
                    shift
                }
            };
            let period = high - low;
            let before: Vec<[f64; 3]> = shifts.iter().copied().map(along(-period)).collect();
            let behind: Vec<[f64; 3]> = shifts.iter().copied().map(along(period)).collect();
            shifts.extend(before);
            shifts.extend(behind);
        }
    }
    Solids {
        solids: case.bodies.iter().map(Solid::new).collect(),
        shifts,
    }
}

fn emissions(gas: &Gas, nodes: &Nodes, space: &Space, walls: &[Wall]) -> Vec<Emission> {
    const MANY: usize = 64;
    let chunks = space.facets.par_chunks(MANY).zip(walls.par_chunks(MANY));
    let emissions = chunks.flat_map_iter(|(facets, walls)| {
        let mut emitter = Emitter::new(gas, nodes);
        let pairs = facets.iter().zip(walls);
        let each = pairs.map(|(facet, wall)| emitter.emission(*wall, facet.normal));
        each.collect::<Vec<_>>()
    });
    emissions.collect()
}

/// Edges of the cells, `coarser` times as wide as the case says, with edges on lines of bodies.
pub(in crate::flow) fn edges_of(case: &Case, coarser: f64, lines: &[Vec<f64>; 3]) -> [Vec<f64>; 3] {
    let domain = &case.domain;
    let (h, largest) = (domain.h * coarser, domain.largest * coarser);
    // Refinement keeps the map from cells to places.
    let growth = domain.growth.powf(coarser);
    let ends = [domain.x, domain.y, domain.z.unwrap_or_default()];
    let core = |k: usize| domain.core.as_ref().map_or(ends[k], |core| core[k]);
    [0, 1, 2].map(|k| edges(ends[k], core(k), h, growth, largest, &lines[k]))
}

fn border(side: &Side, k: usize, linear: bool) -> Border {
    let usual = if linear { 0.0 } else { 1.0 };
    match side {
        Side::Stream(stream) => Border::Given(stream_state(stream, linear)),
        Side::Reservoir(reservoir) => Border::Given(reservoir_state(reservoir, linear)),
        Side::Outlet { pressure } => Border::Outlet(*pressure),
        Side::Vacuum if linear => Border::Given([0.0; 5]),
        Side::Vacuum => Border::Given([0.0, 0.0, 0.0, 0.0, 1.0]),
        Side::Mirror | Side::Axis => Border::Mirror,
        Side::Periodic {
            jump,
            jump_temperature,
            factor,
        } => {
            let jump = [jump - jump_temperature, 0.0, 0.0, 0.0, *jump_temperature];
            Border::Periodic(jump, *factor)
        }
        Side::Inflow {
            mass_flow,
            temperature,
        } => {
            let wall = Wall {
                temperature: temperature.unwrap_or(usual),
                velocity: [0.0; 3],
            };
            Border::Inflow(*mass_flow, wall)
        }
        Side::Wall {
            temperature,
            velocity,
            accommodation,
        } => {
            let mut along = [0.0; 3];
            along[space::across(k / 2)[0]] = velocity.at(0.0, None);
            let wall = Wall {
                temperature: number(temperature.as_ref(), usual),
                velocity: along,
            };
            Border::Wall(wall, accommodation.diffuse())
        }
        Side::Split { at, left, right } => {
            Border::Split(*at, [left, right].map(|half| reservoir_state(half, linear)))
        }
    }
}

/// Refuses bodies that are lost between the lines of the grid, and warns of thin ones.
fn check_sizes(case: &Case, space: &Space) -> Result<Vec<String>> {
    let axes = space.edges.iter().take(case.ends().len());
    let widths = axes.flat_map(|edges| edges.windows(2));
    let least = widths.fold(f64::INFINITY, |least, pair| least.min(pair[1] - pair[0]));
    let mut thin = Vec::new();
    for (at, body) in case.bodies.iter().enumerate() {
        let extents = case.extents(body);
        let sizes = extents.iter().map(|[low, high]| high - low);
        let size = sizes.clone().fold(0.0, f64::max);
        let thickness = sizes.fold(f64::INFINITY, f64::min);
        let name = format!("body {}", at + 1);
        if size < RESOLVED * least {
            return Err(Error::invalid(
                format!("{name}: size"),
                format!("{size:.3e}"),
                format!("a body wider than its cells, which are {least:.3e} here"),
            ));
        }
        if thickness < RESOLVED * least {
            thin.push(format!(
                "{name} is {thickness:.2e} thick, less than {RESOLVED} of a cell, so that its area and loads may be off; cells of {:.2e} resolve it",
                2.0 * thickness
            ));
        }
    }
    Ok(thin)
}

/// Refuses a port wholly inside of a body, and a mirror that the nodes do not have.
fn check_border(border: &Border, k: usize, name: &str, space: &Space, nodes: &Nodes) -> Result<()> {
    // Vacuum, and gas at rest of the linearised equation.
    let nothing = [[0.0, 0.0, 0.0, 0.0, 1.0], [0.0; 5]];
    let lets_in = match border {
        Border::Given(state) => !nothing.contains(state),
        Border::Inflow(..) | Border::Outlet(_) | Border::Split(..) => true,
        _ => false,
    };
    let is_open = |cell: usize| space.open[cell][k] > 0.0;
    if lets_in && !space.border(k).into_iter().any(is_open) {
        return Err(Error::invalid(
            format!("sides.{name}"),
            "a port wholly inside of bodies",
            "a side with gas beside it, or `wall` or `vacuum` for one without",
        ));
    }
    let mirrors = match border {
        Border::Mirror => true,
        Border::Wall(_, share) => *share < 1.0,
        _ => false,
    };
    if mirrors && !nodes.is_symmetric(k / 2) {
        return Err(Error::invalid(
            format!("sides.{name}"),
            "a side that mirrors",
            "velocities that are symmetric about it: `velocities = { kind = \"gauss\" }`, or a stream along it",
        ));
    }
    Ok(())
}

/// The state from which a case without one starts: that of the first port.
fn start(borders: &[Border; SIDES], linear: bool) -> State {
    if linear {
        return [0.0; 5];
    }
    let given = borders.iter().find_map(|border| match border {
        Border::Given(state) if state[0] > 0.0 => Some(*state),
        Border::Split(_, states) => states.iter().find(|state| state[0] > 0.0).copied(),
        _ => None,
    });
    given.unwrap_or([1.0, 0.0, 0.0, 0.0, 1.0])
}

/// The nodes of a case.
///
/// # Errors
/// Velocities of a plane.
pub(in crate::flow) fn nodes_of(case: &Case) -> Result<Nodes> {
    let linear = case.gas.linear;
    let axes = match velocities_of(case) {
        Velocities::Gauss {
            points,
            temperature,
        } => {
            let axis = nodes::gauss(points, temperature, linear)?;
            [axis.clone(), axis.clone(), axis]
        }
        Velocities::Uniform {
            step,
            reach,
            angles,
        } => {
            let (ends, width) = uniform(case, step, reach)?;
            if case.is_round() {
                let [low, high] = ends[1];
                let speeds = ring::spread(high.max(-low), width)?;
                let axis = nodes::uniform(ends[0], width);
                return Ok(ring::nodes_of(axis, &speeds, Turn::new(angles)?));
            }
            ends.map(|ends| nodes::uniform(ends, width))
        }
        Velocities::Axis {
            angles,
            speeds,
            axial,
            temperature,
        } => {
            let speeds = ring::gauss(speeds, temperature, linear)?;
            let axis = nodes::gauss(axial, temperature, linear)?;
            return Ok(ring::nodes_of(axis, &speeds, Turn::new(angles)?));
        }
        Velocities::Polar { .. } => {
            return Err(Error::Numerical(
                "polar velocities belong to a plane".to_owned(),
            ));
        }
    };
    Ok(Nodes::new(axes))
}

/// Refuses nodes that do not hold the states of a nonlinear case, and warns of those that hold them poorly.
fn check_nodes(case: &Case, gas: &Gas, nodes: &Nodes) -> Result<Option<String>> {
    if gas.linear {
        return Ok(None);
    }
    let mut poor = None;
    for (place, state) in states(case) {
        let (n, t) = (state[0], state[4]);
        if n == 0.0 {
            continue;
        }
        let [density, energy] = nodes.hold(&maxwellian(gas, state));
        let errors = [
            density / n - 1.0,
            energy / (n * (square(&state) + 1.5 * t)) - 1.0,
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

/// Ends of uniform axes around the states of a case and its stagnation state, and the width of their cells.
///
/// # Errors
/// More velocities along an axis than a computation can have.
fn uniform(case: &Case, step: f64, reach: f64) -> Result<([[f64; 2]; 3], f64)> {
    let mut states: Vec<State> = states(case).into_iter().map(|(_, state)| state).collect();
    if states.is_empty() {
        states.push([1.0, 0.0, 0.0, 0.0, 1.0]);
    }
    let most = |of: &dyn Fn(&State) -> f64| states.iter().map(of).fold(0.0, f64::max);
    let fastest = most(&square);
    let hottest = most(&|s| s[4] + 0.4 * square(s));
    let coldest = states.iter().map(|s| s[4]).fold(f64::INFINITY, f64::min);
    let far = match fastest > FAST * FAST {
        true => STAGNATION_REACH,
        false => reach,
    };
    let named = case.named_sides();
    let is_mirror = |k: usize| matches!(named.get(k), Some((_, Side::Mirror)));
    let width = step * coldest.sqrt();
    let ends = [0, 1, 2].map(|axis: usize| {
        let mut low = -far * hottest.sqrt();
        let mut high = -low;
        for s in &states {
            low = low.min(s[axis + 1] - reach * s[4].sqrt());
            high = high.max(s[axis + 1] + reach * s[4].sqrt());
        }
        // A mirror needs each velocity's image; without a component along an axis the states are symmetric.
        if is_mirror(2 * axis) || is_mirror(2 * axis + 1) {
            high = high.max(-low);
            low = -high;
        }
        [low, high]
    });
    for [low, high] in ends {
        let count = (high - low) / width;
        if count.is_nan() || count > MOST_VELOCITIES {
            return Err(Error::invalid(
                "velocities.step",
                step,
                format!(
                    "at most {MOST_VELOCITIES} velocities along an axis, not {count:.3e}: a larger step, or states less far apart in temperature and speed"
                ),
            ));
        }
    }
    Ok((ends, width))
}
