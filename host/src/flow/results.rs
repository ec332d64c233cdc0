//! Findings from a solved flow.

use super::case::{SIDES, sides_of};
use super::course::Ending;
use super::findings::{Fields, Findings, Flux, Loads, SurfacePoint};
use super::gas::{self, MOMENTS};
use super::problem::Problem;
use super::steady::{Steady, Swept};
use super::{Case, Side, negative, passage};
use crate::bgk::rotation;
use crate::error::{Error, Result};
use crate::flow::face::Border;

/// All that a flow has, after its last sweep.
///
/// # Errors
/// A flow without a sweep.
pub(in crate::flow) fn findings(
    case: &Case,
    steady: &Steady<'_>,
    ending: Ending,
) -> Result<Findings> {
    let problem = steady.problem;
    let Some(swept) = &steady.swept else {
        return Err(Error::Numerical("the flow was not swept".to_owned()));
    };
    let surface = surface(steady, swept, case.output.surface);
    let mut findings = Findings {
        bodies: loads(case, problem, &surface),
        cells: (0..problem.space.len())
            .filter(|&k| problem.space.is_gas(k))
            .count(),
        nodes: problem.nodes.count,
        iterations: steady.course.history.len(),
        change: steady
            .course
            .history
            .last()
            .copied()
            .unwrap_or(f64::INFINITY),
        status: ending.name().to_owned(),
        warnings: problem.space.warnings.clone(),
        fields: fields(steady),
        history: steady.course.history.clone(),
        ..Findings::default()
    };
    negative::judge(&mut findings, &case.gas);
    let sides = sides_of(case);
    for k in 0..4 {
        let edges = if k < 2 {
            &problem.space.y
        } else {
            &problem.space.x
        };
        let mut parts = [Flux::default(); 2];
        for (face, cell) in problem.space.border(k).into_iter().enumerate() {
            let open = problem.space.open[cell][k];
            let [out, inward] = &swept.sides[k][face];
            let middle = 0.5 * (edges[face] + edges[face + 1]);
            let part = match sides[k] {
                Side::Split { at, .. } if middle >= *at => 1,
                _ => 0,
            };
            let net: [f64; MOMENTS] = std::array::from_fn(|c| open * (out[c] - inward[c]));
            add(&mut parts[part], net);
        }
        for part in &parts {
            findings.balance.mass += part.mass;
            findings.balance.momentum_x += part.momentum_x;
            findings.balance.momentum_y += part.momentum_y;
            findings.balance.energy += part.energy;
        }
        if matches!(problem.borders[k], Border::Mirror) {
            continue;
        }
        match sides[k] {
            Side::Split { .. } => {
                findings
                    .sides
                    .push((format!("{}.left", SIDES[k]), parts[0]));
                findings
                    .sides
                    .push((format!("{}.right", SIDES[k]), parts[1]));
            }
            _ => findings.sides.push((SIDES[k].to_owned(), parts[0])),
        }
    }
    for point in &surface {
        let [mass, momentum_x, momentum_y, energy] = point.net.map(|part| point.at.length * part);
        add(
            &mut findings.balance,
            [mass, momentum_x, momentum_y, energy],
        );
    }
    let narrowest = |axis: usize| passage::narrowest(problem, axis);
    findings.passages = passage::all(case, &narrowest, &findings);
    findings.surface = surface.into_iter().map(|point| point.at).collect();
    Ok(findings)
}

/// Adds moments, of which the last is twice the energy.
fn add(flux: &mut Flux, [mass, momentum_x, momentum_y, square]: [f64; MOMENTS]) {
    flux.mass += mass;
    flux.momentum_x += momentum_x;
    flux.momentum_y += momentum_y;
    flux.energy += 0.5 * square;
}

/// A segment with what it takes up.
struct Taken {
    at: SurfacePoint,
    /// Arriving less emitted moments, a unit length.
    net: [f64; MOMENTS],
    /// Power of the shear on a wall that moves, a unit length.
    work: f64,
}

fn surface(steady: &Steady<'_>, swept: &Swept, with_gas: bool) -> Vec<Taken> {
    let problem = steady.problem;
    let gas = if with_gas {
        steady.at_walls()
    } else {
        Vec::new()
    };
    (0..problem.space.segments.len())
        .map(|s| {
            let segment = &problem.space.segments[s];
            let mut emitted = steady.emission[s].moments(steady.state.segments[s]);
            if let (alpha, Some(place)) = problem.accommodation[s] {
                let image = mirrored(steady, segment.normal, place);
                for (emitted, image) in emitted.iter_mut().zip(image) {
                    *emitted = alpha * *emitted + (1.0 - alpha) * image;
                }
            }
            let net: [f64; MOMENTS] = std::array::from_fn(|c| swept.segments[s][c] - emitted[c]);
            let [nx, ny] = segment.normal;
            let (fx, fy) = (net[1], net[2]);
            let velocity = problem.walls[s].velocity;
            // The linearised equation has no work: it is of second order.
            let work = match problem.gas.linear {
                true => 0.0,
                false => velocity[0] * fx + velocity[1] * fy,
            };
            Taken {
                at: SurfacePoint {
                    body: segment.body,
                    point: segment.point,
                    normal: segment.normal,
                    length: segment.length,
                    pressure: -(fx * nx + fy * ny),
                    shear: fy * nx - fx * ny,
                    heat: 0.5 * net[3] - work,
                    slip: gas.get(s).map_or(f64::NAN, |gas| gas[0]),
                    jump: gas.get(s).map_or(f64::NAN, |gas| gas[1]),
                },
                net,
                work,
            }
        })
        .collect()
}

/// Moments of what a segment mirrors.
fn mirrored(steady: &Steady<'_>, normal: [f64; 2], place: usize) -> [f64; MOMENTS] {
    let gas = &steady.problem.gas;
    let mut moments = image(steady, &steady.state.mirrored, normal, place);
    if let (Some(rotation), Some(internal)) = (&gas.rotation, &steady.state.internal) {
        let more = image(steady, &internal.mirrored, normal, place);
        rotation::add_flux(rotation, gas.linear, &mut moments, &more);
    }
    moments
}

/// Moments of one function that a segment mirrors.
fn image(steady: &Steady<'_>, mirrored: &[f64], normal: [f64; 2], place: usize) -> [f64; MOMENTS] {
    let nodes = &steady.problem.nodes;
    let count = nodes.len();
    let image = &mirrored[2 * place * count..][..2 * count];
    let mut moments = [0.0; MOMENTS];
    for m in 0..count {
        let v = [nodes.vx[m], nodes.vy[m]];
        let part = nodes.weight[m] * (v[0] * normal[0] + v[1] * normal[1]);
        if part > 0.0 {
            gas::add(
                &mut moments,
                gas::flux(v, part, [image[m], image[count + m]]),
            );
        }
    }
    moments
}

fn loads(case: &Case, problem: &Problem, surface: &[Taken]) -> Vec<Loads> {
    let mut all: Vec<Loads> = case
        .bodies
        .iter()
        .enumerate()
        .map(|(k, body)| Loads {
            name: body
                .name
                .clone()
                .unwrap_or_else(|| format!("body{}", k + 1)),
            ..Loads::default()
        })
        .collect();
    for taken in surface {
        let SurfacePoint {
            body,
            point,
            normal,
            length,
            pressure,
            ..
        } = taken.at;
        let load = &mut all[body];
        let [fx, fy] = [length * taken.net[1], length * taken.net[2]];
        let centre = problem.centres[body];
        load.force_x += fx;
        load.force_y += fy;
        load.pressure_x -= length * pressure * normal[0];
        load.pressure_y -= length * pressure * normal[1];
        load.moment += (point[0] - centre[0]) * fy - (point[1] - centre[1]) * fx;
        load.heat += length * taken.at.heat;
        load.work += length * taken.work;
    }
    if let Some((density, [ux, uy])) = problem.stream {
        let speed = ux.hypot(uy);
        let pressure = 0.5 * density * speed * speed;
        for load in &mut all {
            let (fx, fy) = (load.force_x, load.force_y);
            load.drag_coefficient = Some((fx * ux + fy * uy) / speed / pressure);
            load.lift_coefficient = Some((fy * ux - fx * uy) / speed / pressure);
            load.heat_coefficient = Some(load.heat / (pressure * speed));
        }
    }
    all
}

fn fields(steady: &Steady<'_>) -> Fields {
    let problem = steady.problem;
    let space = &problem.space;
    let mut fields = Fields {
        x: space.x.clone(),
        y: space.y.clone(),
        ..Fields::default()
    };
    for k in 0..space.len() {
        let [dx, dy] = space.widths(k % space.nx(), k / space.nx());
        fields.gas.push(space.volume[k] / (dx * dy));
        let w = &steady.state.cells[k];
        let [n, ux, uy, t] = match space.is_gas(k) {
            true => problem.gas.primitive(w),
            false => [0.0; 4],
        };
        fields.density.push(n);
        fields.velocity_x.push(ux);
        fields.velocity_y.push(uy);
        let mut heat = [w[4], w[5]];
        if let (Some(rotation), Some(internal)) = (&problem.gas.rotation, &steady.state.internal) {
            let e = &internal.cells[k];
            let both = match space.is_gas(k) {
                true => rotation::temperatures(rotation, problem.gas.linear, w, e),
                false => [0.0; 2],
            };
            fields.add_rotation(rotation, both, [e[1], e[2]].into_iter());
            heat = [heat[0] + e[1], heat[1] + e[2]];
        } else {
            fields.temperature.push(t);
        }
        fields.heat_x.push(heat[0]);
        fields.heat_y.push(heat[1]);
    }
    fields
}
