//! The numbers of a flow that have errors, each with the size that its error compares with.

use serde::{Serialize, Serializer};

use super::case::{Case, Side};
use super::far;
use super::findings::{Findings, Flux, Loads};
use crate::accuracy::{Estimate, Finding, Quantity};

/// Share of the largest value of its kind below which a number is left aside: a symmetry makes it zero.
const ASIDE: f64 = 1e-3;
/// Share of the largest value of all kinds below which a number is zero.
const NOTHING: f64 = 1e-5;
/// Share of the whole force below which a component of it is small.
const SMALL: f64 = 1e-2;
/// Share of the whole force, or of its moment, to which an error compares where the lift or the moment is smaller.
const PART: f64 = 0.1;
/// Shear on a side that is not among the results of a flow, over the largest.
const LITTLE: f64 = 0.1;

/// Mean free paths across a cell, about, from which it does not resolve the layer between a body and a fast stream.
const THICK: f64 = 3.0;

/// A number by its place in the results: the list that has it, the place in that list, the key.
#[derive(Clone, Debug, PartialEq, Eq)]
enum Place {
    Body(usize, &'static str),
    Side(usize, &'static str),
    Passage(usize, &'static str),
    Whole(&'static str),
}

/// Quantities of a flow.
///
/// Errors of components compare with the whole force. Forces, coefficients, moments, heat and flows through the domain are sought, but those that are nothing beside others of their kind.
pub(in crate::flow) fn quantities(case: &Case, found: &Findings) -> Vec<Quantity> {
    listed(case, found).into_iter().map(|(_, q)| q).collect()
}

/// Errors by the keys of the numbers that they belong to.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct ErrorsByKey(pub Vec<(&'static str, Estimate)>);

impl Serialize for ErrorsByKey {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.collect_map(self.0.iter().map(|(key, error)| (*key, error)))
    }
}

/// Errors at the places of the results.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct ResultErrors {
    /// Of each body, by the keys of its loads.
    pub bodies: Vec<ErrorsByKey>,
    /// Of each side, by the keys of its flux.
    pub sides: Vec<ErrorsByKey>,
    /// Of each passage, by the keys of its numbers.
    pub passages: Vec<ErrorsByKey>,
    /// Of the flows through the domain.
    pub whole: ErrorsByKey,
}

impl ResultErrors {
    /// Errors of the quantities of a flow, in their order; none where they are not known.
    pub fn new(case: &Case, found: &Findings, findings: &[Finding]) -> Option<Self> {
        let listed = listed(case, found);
        if findings.len() != listed.len() {
            return None;
        }
        let mut errors = Self {
            bodies: vec![ErrorsByKey::default(); found.bodies.len()],
            sides: vec![ErrorsByKey::default(); found.sides.len()],
            passages: vec![ErrorsByKey::default(); found.passages.len()],
            whole: ErrorsByKey::default(),
        };
        for ((place, _), finding) in listed.into_iter().zip(findings) {
            let (errors, key) = match place {
                Place::Body(at, key) => (&mut errors.bodies[at], key),
                Place::Side(at, key) => (&mut errors.sides[at], key),
                Place::Passage(at, key) => (&mut errors.passages[at], key),
                Place::Whole(key) => (&mut errors.whole, key),
            };
            errors.0.push((key, finding.error.clone()));
        }
        Some(errors)
    }
}

/// The loads that are beside others in size.
struct Sizes {
    force: f64,
    moment: f64,
    heat: f64,
    /// Of all kinds.
    any: f64,
    /// Force along a wall on a side.
    shear: f64,
    momentum: f64,
    mass: f64,
    energy: f64,
}

impl Sizes {
    fn new(case: &Case, found: &Findings) -> Self {
        let most = |values: &mut dyn Iterator<Item = f64>| {
            values.map(f64::abs).fold(f64::MIN_POSITIVE, f64::max)
        };
        let bodies = || found.bodies.iter();
        let sides = || found.sides.iter().map(|side| &side.1);
        let shears = || found.sides.iter().filter_map(|side| shear(case, side));
        let mut sizes = Self {
            force: most(&mut bodies().map(force)),
            moment: most(&mut bodies().map(moment)),
            heat: most(&mut bodies().map(|body| body.heat)),
            shear: most(&mut shears().map(|shear| shear.1)),
            momentum: most(&mut sides().map(|side| {
                let level = side.momentum_x.hypot(side.momentum_y);
                level.hypot(side.momentum_z.unwrap_or(0.0))
            })),
            mass: found.mass_flow().max(f64::MIN_POSITIVE),
            energy: found.energy_flow().max(f64::MIN_POSITIVE),
            any: 0.0,
        };
        sizes.any = [
            sizes.force,
            sizes.moment,
            sizes.heat,
            sizes.shear,
            sizes.mass,
            sizes.energy,
        ]
        .into_iter()
        .fold(0.0, f64::max);
        sizes
    }
}

fn force(body: &Loads) -> f64 {
    let level = body.force_x.hypot(body.force_y);
    level.hypot(body.force_z.unwrap_or(0.0))
}

/// The largest moment.
fn moment(body: &Loads) -> f64 {
    let others = [body.moment_x, body.moment_y].into_iter().flatten();
    others.fold(body.moment.abs(), |most, moment| most.max(moment.abs()))
}

/// Force along a wall on a side, with its key.
fn shear(case: &Case, (name, flux): &(String, Flux)) -> Option<(&'static str, f64)> {
    let sides = case.named_sides();
    let at = sides.iter().position(|(side, _)| side == name)?;
    let Side::Wall { .. } = sides[at].1 else {
        return None;
    };
    // A wall moves along the first axis across its own.
    Some(match at < 2 {
        true => ("momentum_y", flux.momentum_y),
        false => ("momentum_x", flux.momentum_x),
    })
}

/// All numbers in one order, which is the same on all grids: the flows through the domain, the loads on the bodies, the sides, the passages.
fn listed(case: &Case, found: &Findings) -> Vec<(Place, Quantity)> {
    let sizes = Sizes::new(case, found);
    let mut all = Vec::new();
    let has_stream = has_stream(case);
    for (key, value) in [
        ("mass_flow", found.mass_flow()),
        ("energy_flow", found.energy_flow()),
    ] {
        let quantity = Quantity::new(key, value);
        let quantity = match has_stream || value.abs() < NOTHING * sizes.any {
            true => quantity
                .of_scale(value.abs().max(NOTHING * sizes.any))
                .aside(),
            false => quantity,
        };
        all.push((Place::Whole(key), quantity));
    }
    let is_single = found.bodies.len() == 1;
    for (at, body) in found.bodies.iter().enumerate() {
        let name = |key: &str| match is_single {
            true => key.to_owned(),
            false => format!("{} {key}", body.name),
        };
        for (key, quantity) in loads(case, at, body, &sizes) {
            let shown = match key {
                "drag_coefficient" => "C_D",
                "lift_coefficient" => "C_L",
                "side_coefficient" => "C_S",
                "heat_coefficient" => "C_H",
                other => other,
            };
            let name = name(shown);
            all.push((Place::Body(at, key), Quantity { name, ..quantity }));
        }
    }
    for (at, side) in found.sides.iter().enumerate() {
        let (name, flux) = side;
        let along = shear(case, side);
        for (key, value, size) in [
            ("mass", Some(flux.mass), sizes.mass),
            ("momentum_x", Some(flux.momentum_x), sizes.momentum),
            ("momentum_y", Some(flux.momentum_y), sizes.momentum),
            ("momentum_z", flux.momentum_z, sizes.momentum),
            ("energy", Some(flux.energy), sizes.energy),
        ] {
            let Some(value) = value else {
                continue;
            };
            let quantity = Quantity::new(format!("{name} {key}"), value);
            let is_shear = along.is_some_and(|along| along.0 == key)
                && value.abs() > LITTLE * sizes.shear
                && value.abs() > NOTHING * sizes.any;
            let quantity = match is_shear && !has_stream {
                true => quantity,
                false => quantity
                    .of_scale(value.abs().max(size).max(NOTHING * sizes.any))
                    .aside(),
            };
            all.push((Place::Side(at, key), quantity));
        }
    }
    for (at, passage) in found.passages.iter().enumerate() {
        // A coarse grid may have no opening.
        let is_period = passage.mobility.is_some();
        let transmission = (!is_period).then(|| passage.transmission.unwrap_or(0.0));
        for (key, value) in [
            ("flow", Some(passage.flow)),
            ("conductance", passage.conductance),
            ("transmission", transmission),
            ("mobility", passage.mobility),
            ("permeability", passage.permeability),
        ] {
            let Some(value) = value else {
                continue;
            };
            // A passage without a flow has the error of nothing beside the flows through the domain.
            let least = NOTHING * sizes.any * (value / passage.flow).abs();
            let scale = value.abs().max(if least.is_finite() { least } else { 0.0 });
            let scale = scale.max(f64::MIN_POSITIVE);
            let quantity = Quantity::new(format!("passage along {} {key}", passage.along), value);
            all.push((Place::Passage(at, key), quantity.of_scale(scale).aside()));
        }
    }
    all
}

/// Mass and energy that an iteration left unbalanced, over what passes through a domain without a stream, the larger of both.
///
/// In a large domain of dense gas they are the last to settle.
pub(in crate::flow) fn imbalance(case: &Case, found: &Findings) -> f64 {
    if has_stream(case) || case.gas.linear {
        return 0.0;
    }
    let least = NOTHING * Sizes::new(case, found).any;
    let pairs = [
        (found.balance.mass, found.mass_flow()),
        (found.balance.energy, found.energy_flow()),
    ];
    let shares = pairs.into_iter().filter(|(_, through)| *through > least);
    let shares = shares.map(|(left, through)| left.abs() / through);
    shares.fold(0.0, f64::max)
}

fn has_stream(case: &Case) -> bool {
    let mut sides = case.named_sides().into_iter();
    sides.any(|(_, side)| matches!(side, Side::Stream(stream) if stream.speed_ratio != Some(0.0)))
}

/// The loads on a body by their keys, without names.
fn loads(case: &Case, at: usize, body: &Loads, sizes: &Sizes) -> Vec<(&'static str, Quantity)> {
    let own = force(body);
    let is_pushed = own > ASIDE * sizes.force && own > NOTHING * sizes.any;
    let whole = match is_pushed {
        true => own,
        false => sizes.force.max(NOTHING * sizes.any),
    };
    let component = |value: f64, total: f64, sought: bool| {
        let quantity = Quantity::new("", value).of_scale(total);
        match sought && is_pushed && value.abs() > SMALL * total {
            true => quantity,
            false => quantity.aside(),
        }
    };
    // A mirror doubles what is along it, and takes the rest away.
    let mirrors = mirrors(case, at);
    let sought = body.drag_coefficient.is_none();
    let extents = case.bodies.get(at).map(|body| case.extents(body));
    let lever = extents.as_ref().map_or(1.0, |extents| {
        let squares = extents.iter().map(|[low, high]| (high - low).powi(2));
        let lever = 0.5
            * squares
                .filter(|square| square.is_finite())
                .sum::<f64>()
                .sqrt();
        if lever > 0.0 { lever } else { 1.0 }
    });
    let moment = Quantity::new("", body.moment);
    let is_whole = extents.is_some_and(|extents| {
        let mut pairs = extents.iter().zip(case.ends());
        pairs.all(|(body, ends)| body[0] >= ends[0] && body[1] <= ends[1])
    });
    let turns = is_whole
        && body.moment.abs() > PART * own * lever
        && body.moment.abs() > ASIDE * sizes.moment
        && body.moment.abs() > NOTHING * sizes.any;
    let moment = match turns {
        true => moment,
        false => moment
            .of_scale((PART * own * lever).max(sizes.moment))
            .aside(),
    };
    let is_heated =
        body.heat.abs() > 10.0 * ASIDE * sizes.heat && body.heat.abs() > ASIDE * sizes.any;
    let in_layers = has_thin_layers(case);
    let heat = |value: f64, unit: f64| {
        let quantity = Quantity::new("", value).in_layers(in_layers);
        match is_heated {
            true => quantity,
            false => quantity
                .of_scale(sizes.heat.max(ASIDE * sizes.any) * unit)
                .aside(),
        }
    };
    let mut all = vec![
        (
            "force_x",
            component(body.force_x, whole, sought && !mirrors[0]),
        ),
        (
            "force_y",
            component(body.force_y, whole, sought && !mirrors[1]),
        ),
        ("pressure_x", component(body.pressure_x, whole, false)),
        ("pressure_y", component(body.pressure_y, whole, false)),
        ("moment", moment),
        (
            "heat",
            match sought {
                true => heat(body.heat, 1.0),
                false => heat(body.heat, 1.0).aside(),
            },
        ),
        (
            "work",
            Quantity::new("", body.work)
                .of_scale(body.work.abs().max(NOTHING * sizes.any))
                .aside(),
        ),
    ];
    for (key, value) in [("force_z", body.force_z), ("pressure_z", body.pressure_z)] {
        let sought = sought && key == "force_z" && !mirrors[2];
        all.extend(value.map(|value| (key, component(value, whole, sought))));
    }
    for (key, value) in [("moment_x", body.moment_x), ("moment_y", body.moment_y)] {
        let scale = (PART * own * lever).max(sizes.moment);
        let quantity = |value: f64| Quantity::new("", value).of_scale(scale).aside();
        all.extend(value.map(|value| (key, quantity(value))));
    }
    if let [Some(drag), Some(heated)] = [body.drag_coefficient, body.heat_coefficient] {
        let lift = body.lift_coefficient.unwrap_or(0.0);
        let side = body.side_coefficient.unwrap_or(0.0);
        let unit = drag.hypot(lift).hypot(side) / own.max(f64::MIN_POSITIVE);
        let total = whole * unit;
        all.push(("drag_coefficient", component(drag, total, true)));
        let scale = |value: f64| value.abs().max(PART * total);
        if body.lift_coefficient.is_some() {
            let lifted = component(lift, total, !mirrors[0] && !mirrors[1]);
            all.push(("lift_coefficient", lifted.of_scale(scale(lift))));
        }
        if let Some(side) = body.side_coefficient {
            let pushed = component(side, total, !mirrors[2]);
            all.push(("side_coefficient", pushed.of_scale(scale(side))));
        }
        let unit = heated.abs() / body.heat.abs().max(f64::MIN_POSITIVE);
        all.push(("heat_coefficient", heat(heated, unit)));
    }
    all
}

/// Whether cells at a body do not resolve the layer between it and a fast stream, whose gas is denser there by about 1 + 2 S^2, as its pressure is.
fn has_thin_layers(case: &Case) -> bool {
    let pressure = 1.0 + 2.0 * far::speed(case).powi(2);
    far::is_fast(case) && case.gas.delta * case.domain.h * pressure > THICK
}

/// Whether a body reaches across a mirror along x, along y and along z.
fn mirrors(case: &Case, at: usize) -> [bool; 3] {
    let Some(body) = case.bodies.get(at) else {
        return [false; 3];
    };
    let (extents, ends, sides) = (case.extents(body), case.ends(), case.named_sides());
    std::array::from_fn(|k| {
        let is_mirror = |side: usize| matches!(sides[2 * k + side].1, Side::Mirror);
        let [body, ends] = match (extents.get(k), ends.get(k)) {
            (Some(body), Some(ends)) => [*body, *ends],
            _ => return false,
        };
        (body[0] < ends[0] && is_mirror(0)) || (body[1] > ends[1] && is_mirror(1))
    })
}
