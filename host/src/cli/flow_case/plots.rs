//! Plots of a flow past bodies: maps with streamlines and walls, values on the walls, changes of the iterations.

use plotters::style::RGBColor;

use super::results::Outcome;
use super::slices::{Slice, ends, traced};
use super::view;
use crate::cli::contour::contour;
use crate::cli::plot::{COLOURS, Curve, Figure, Map, Panel, Stroke, round_levels};
use crate::flow::{Segment, Shape};

/// Streamlines of a map.
const STREAMLINES: usize = 24;
/// Curves of the plot of walls.
const MOST_CURVES: usize = 6;
/// Mach number from which on maps show it and not the speed.
const FAST: f64 = 0.2;

/// Ratio of densities from which on their map is logarithmic.
const WIDE: f64 = 50.0;

const LINES: RGBColor = RGBColor(20, 20, 20);

/// All plots by the names of their files.
pub(super) fn figures(outcome: &Outcome) -> Vec<(&'static str, Figure)> {
    let mut figures = vec![
        ("speed.png", speed(outcome)),
        ("density.png", density(outcome)),
        ("temperature.png", temperature(outcome)),
        ("residuals.png", residuals(outcome)),
    ];
    if outcome.case.gas.rotation.is_some() {
        figures.push(("rotation.png", rotation(outcome)));
    }
    if !outcome.segments.is_empty() {
        figures.push(("surface.png", walls(outcome)));
    }
    let views = [
        (
            "surface.png",
            view::figure(outcome, "Heat on the walls", "heat / ρ_0 v_0³", |f| {
                f.heat
            }),
        ),
        (
            "pressure.png",
            view::figure(
                outcome,
                "Pressure on the walls",
                "pressure / ρ_0 v_0²",
                |f| f.pressure,
            ),
        ),
    ];
    let views = views.into_iter();
    figures.extend(views.filter_map(|(name, figure)| figure.map(|figure| (name, figure))));
    figures
}

/// Centres of cells between edges.
fn centres(edges: &[f64]) -> Vec<f64> {
    edges
        .windows(2)
        .map(|ends| 0.5 * (ends[0] + ends[1]))
        .collect()
}

fn speed(outcome: &Outcome) -> Figure {
    let fields = &outcome.found.fields;
    let linear = outcome.case.gas.linear;
    let level = fields.velocity_x.iter().zip(&fields.velocity_y);
    let mut speeds: Vec<f64> = level.map(|(u, v)| u.hypot(*v)).collect();
    for (speed, w) in speeds.iter_mut().zip(&fields.velocity_z) {
        *speed = speed.hypot(*w);
    }
    let sound = outcome.case.gas.sound();
    let mach = |(speed, t): (&f64, &f64)| match *t > 0.0 {
        true => speed / (sound * t.sqrt()),
        false => 0.0,
    };
    let machs: Vec<f64> = speeds.iter().zip(&fields.temperature).map(mach).collect();
    let fast = !linear && machs.iter().any(|mach| *mach > FAST);
    match fast {
        true => map(outcome, "Mach number", "Mach number", machs, None),
        false => map(outcome, "Speed", "speed |u| / v_0", speeds, None),
    }
}

fn density(outcome: &Outcome) -> Figure {
    let mut values = outcome.found.fields.density.clone();
    if outcome.case.gas.linear {
        return map(outcome, "Density", "deviation of n", values, Some(0.0));
    }
    match ends(&outcome.found.fields.gas, &values) {
        Some([low, high]) if low > 0.0 && high > WIDE * low => {
            for value in &mut values {
                *value = value.max(f64::MIN_POSITIVE).log10();
            }
            map(outcome, "Density", "log_{10}(n / n_0)", values, None)
        }
        _ => map(outcome, "Density", "n / n_0", values, None),
    }
}

fn temperature(outcome: &Outcome) -> Figure {
    let values = outcome.found.fields.temperature.clone();
    match outcome.case.gas.linear {
        true => map(outcome, "Temperature", "deviation of T", values, Some(0.0)),
        false => map(outcome, "Temperature", "T / T_0", values, None),
    }
}

/// A map of a field with streamlines and walls; about a middle value it has a colour for each sign.
fn map(
    outcome: &Outcome,
    what: &str,
    legend: &str,
    values: Vec<f64>,
    middle: Option<f64>,
) -> Figure {
    let panels = Slice::all(outcome).into_iter().map(|slice| {
        let panel = panel(outcome, &slice, &values, middle);
        match slice.place.is_empty() {
            true => panel.legend(legend),
            false => panel.legend(format!("{legend}, {}", slice.place)),
        }
    });
    Figure {
        title: format!("{what}, {}", outcome.named()),
        panels: panels.collect(),
    }
}

fn panel(outcome: &Outcome, slice: &Slice, values: &[f64], middle: Option<f64>) -> Panel {
    let fields = &outcome.found.fields;
    let (mut values, gas) = (slice.of(values), slice.of(&fields.gas));
    let [x, y] = [0, 1].map(|axis: usize| centres(&slice.edges[axis]));
    // Two maps above each other have room for shorter scales.
    let bands = if slice.is_whole { 10.0 } else { 6.0 };
    let levels = round_levels(ends(&gas, &values).into_iter().flatten(), bands);
    spread(&mut values, &gas, x.len());
    let map = Map::on([&x, &y], values, levels).within(gas);
    let map = if middle.is_some() { map.signed() } else { map };
    let mut curves = match slice.is_whole {
        true => streamlines(outcome, &x, &y),
        false => named(traced(slice, fields, STREAMLINES)),
    };
    let walls = slice.walls.iter().cloned();
    curves.extend(walls.map(|points| Curve::new("", points, LINES).stroke(Stroke::Solid)));
    let reach = |edges: &[f64]| match edges {
        [first, .., last] => (*first, *last),
        _ => (0.0, 1.0),
    };
    let ranges = [0, 1].map(|axis: usize| reach(&slice.edges[axis]));
    Panel::new(slice.names[0], slice.names[1], curves).over_rectangle(map, ranges)
}

/// Thin lines, of which the first one has the name of all.
fn named(lines: Vec<Vec<(f64, f64)>>) -> Vec<Curve> {
    let curves = lines.into_iter();
    let mut curves: Vec<Curve> = curves
        .map(|points| Curve::new("", points, LINES).stroke(Stroke::Thin))
        .collect();
    if let Some(first) = curves.first_mut() {
        first.label = "streamlines".into();
    }
    curves
}

/// Continues a field from the gas into bodies, so that maps have no seam along walls.
fn spread(values: &mut [f64], gas: &[f64], nx: usize) {
    let mut filled: Vec<bool> = gas.iter().map(|gas| *gas > 0.0).collect();
    // Maps interpolate between neighbours; two rows behind a wall are enough.
    for _ in 0..2 {
        let mut next = Vec::new();
        for at in (0..values.len()).filter(|at| !filled[*at]) {
            let column = at % nx;
            let around = [
                (column > 0).then(|| at - 1),
                (column + 1 < nx).then(|| at + 1),
                at.checked_sub(nx),
                (at + nx < values.len()).then(|| at + nx),
            ];
            let around = around.into_iter().flatten().filter(|other| filled[*other]);
            let (sum, count) =
                around.fold((0.0, 0), |(sum, n), other| (sum + values[other], n + 1));
            if count > 0 {
                next.push((at, sum / f64::from(count)));
            }
        }
        for (at, value) in next {
            values[at] = value;
            filled[at] = true;
        }
    }
}

/// Lines of equal mass flow from the lower left corner.
fn streamlines(outcome: &Outcome, x: &[f64], y: &[f64]) -> Vec<Curve> {
    let fields = &outcome.found.fields;
    let stream = stream_function(outcome);
    let in_gas = stream
        .iter()
        .zip(&fields.gas)
        .filter(|(_, gas)| **gas > 0.5);
    let ends = in_gas.fold(
        (f64::INFINITY, f64::NEG_INFINITY),
        |(low, high), (value, _)| (low.min(*value), high.max(*value)),
    );
    let step = (ends.1 - ends.0) / STREAMLINES as f64;
    // Of a gas at rest roundoff alone would be drawn.
    if !(step.is_finite() && step > 1e-12) {
        return Vec::new();
    }
    let nx = x.len();
    let in_body = |point: &(f64, f64)| {
        let at = |edges: &[f64], place: f64| {
            let after = edges.partition_point(|edge| *edge <= place);
            after.saturating_sub(1).min(edges.len().saturating_sub(2))
        };
        fields.gas[at(&fields.y, point.1) * nx + at(&fields.x, point.0)] < 0.5
    };
    let mut lines = Vec::new();
    for k in 0..STREAMLINES {
        let level = ends.0 + (k as f64 + 0.5) * step;
        for mut points in contour(&stream, x, y, level) {
            for point in &mut points {
                if in_body(point) {
                    *point = (f64::NAN, f64::NAN);
                }
            }
            lines.push(points);
        }
    }
    named(lines)
}

/// The mass that flows between the lower left corner and the centre of each cell, round an axis a radian.
fn stream_function(outcome: &Outcome) -> Vec<f64> {
    let fields = &outcome.found.fields;
    let (nx, ny) = (
        fields.x.len().saturating_sub(1),
        fields.y.len().saturating_sub(1),
    );
    let linear = outcome.case.gas.linear;
    let flow = |at: usize, velocity: &[f64]| {
        let density = if linear { 1.0 } else { fields.density[at] };
        fields.gas[at] * density * velocity[at]
    };
    let is_round = outcome.case.is_round();
    // Round an axis the width of a ring counts by its radius.
    let part = |low: f64, high: f64| match is_round {
        true => 0.5 * (high * high - low * low),
        false => high - low,
    };
    let at_bottom = match (is_round, fields.y.first()) {
        (true, Some(radius)) => *radius,
        _ => 1.0,
    };
    let mut values = vec![0.0; nx * ny];
    let mut along = 0.0;
    for i in 0..nx {
        let dx = fields.x[i + 1] - fields.x[i];
        // The flow through the bottom up to the middle of this column.
        let through = if ny > 0 {
            at_bottom * dx * flow(i, &fields.velocity_y)
        } else {
            0.0
        };
        let mut below = along - 0.5 * through;
        along -= through;
        for j in 0..ny {
            let at = j * nx + i;
            let flux = part(fields.y[j], fields.y[j + 1]) * flow(at, &fields.velocity_x);
            values[at] = below + 0.5 * flux;
            below += flux;
        }
    }
    values
}

/// Pressure, shear and heat along the walls: over the angle of round bodies, else over the arc length.
fn walls(outcome: &Outcome) -> Figure {
    let shapes = outcome.case.bodies.iter().map(|body| &body.shape);
    let round = shapes
        .clone()
        .all(|shape| matches!(shape, Shape::Circle { .. } | Shape::Ellipse { .. }));
    let place = |segment: &Segment| if round { segment.angle } else { segment.arc };
    let across = match round {
        true => "angle about the centre in degrees",
        false => "arc length from the first point",
    };
    let same = |a: &Segment, b: &Segment| (a.raw.body, a.curve) == (b.raw.body, b.curve);
    let curves: Vec<&[Segment]> = outcome.segments.chunk_by(same).collect();
    let several = outcome.case.bodies.len() > 1 || curves.len() > 1;
    let panel = |value: usize, label: &str| {
        let curves = curves.iter().take(MOST_CURVES).enumerate();
        let curves = curves.map(|(k, segments)| {
            let mut points: Vec<(f64, f64)> = Vec::new();
            let mut last: Option<&Segment> = None;
            for segment in *segments {
                // A gap where the domain cuts the body.
                let apart = |last: &Segment| {
                    segment.arc - last.arc > 3.0 * (segment.raw.length + last.raw.length)
                };
                if last.is_some_and(apart) {
                    points.push((f64::NAN, f64::NAN));
                }
                points.push((place(segment), segment.mean[value]));
                last = Some(segment);
            }
            let name = segments
                .first()
                .and_then(|segment| outcome.case.bodies.get(segment.raw.body)?.name.clone());
            let name = name.filter(|_| several).unwrap_or_default();
            Curve::new(name, points, COLOURS[k % COLOURS.len()])
        });
        Panel::new(across, label, curves.collect())
    };
    let shown = match curves.len() > MOST_CURVES {
        true => format!(", {MOST_CURVES} of {} outlines", curves.len()),
        false => String::new(),
    };
    Figure {
        title: format!("Walls{shown}, {}", outcome.named()),
        panels: vec![
            panel(0, "pressure / ρ_0 v_0²"),
            panel(1, "shear / ρ_0 v_0²"),
            panel(2, "heat / ρ_0 v_0³"),
        ],
    }
}

/// By how much the molecules move hotter than they rotate.
fn rotation(outcome: &Outcome) -> Figure {
    let fields = &outcome.found.fields;
    let pairs = fields.temperature_translational.iter();
    let values = pairs.zip(&fields.temperature_rotational);
    let values = values.map(|(t, r)| t - r).collect();
    map(
        outcome,
        "Temperature of translation less that of rotation",
        "(T_t - T_r) / T_0",
        values,
        Some(0.0),
    )
}

fn residuals(outcome: &Outcome) -> Figure {
    let points = outcome.found.history.iter().enumerate();
    let points = points.map(|(k, change)| ((k + 1) as f64, *change));
    Figure {
        title: format!("Change of an iteration, {}", outcome.named()),
        panels: vec![
            Panel::new(
                "iteration",
                "change",
                vec![Curve::new("", points, COLOURS[0]).stroke(Stroke::Dotted)],
            )
            .semilogarithmic(),
        ],
    }
}
