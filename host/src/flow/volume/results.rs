//! Findings from a solved flow in space.

use std::f64::consts::PI;

use super::gas::{MOMENTS, state};
use super::problem::Problem;
use super::space::across;
use super::steady::Steady;
use super::sweep::{SIDES, Swept};
use crate::bgk::rotation;
use crate::error::{Error, Result};
use crate::flow::case::Case;
use crate::flow::course::Ending;
use crate::flow::{
    FacetPoint, Fields, Findings, Flux, Loads, Side, SurfacePoint, negative, passage,
};

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
    let is_round = problem.space.rings.is_some();
    let taken = taken(steady, swept);
    let history = &steady.course.history;
    let mut findings = Findings {
        bodies: loads(case, problem, &taken),
        cells: (0..problem.space.len())
            .filter(|&k| problem.space.is_gas(k))
            .count(),
        nodes: problem.nodes.count,
        iterations: history.len(),
        change: history.last().copied().unwrap_or(f64::INFINITY),
        status: ending.name().to_owned(),
        warnings: problem
            .space
            .warnings
            .iter()
            .cloned()
            .chain(cold(steady))
            .collect(),
        fields: fields(steady),
        history: history.clone(),
        balance: none(is_round),
        ..Findings::default()
    };
    negative::judge(&mut findings, &case.gas);
    for (k, (name, side)) in case.named_sides().into_iter().enumerate().take(SIDES) {
        let mut parts = [none(is_round); 2];
        let [along, _] = across(k / 2);
        let edges = &problem.space.edges[along];
        let faces = problem.space.border(k).into_iter().zip(&swept.sides[k]);
        for (face, (cell, [out, inward])) in faces.enumerate() {
            let open = problem.space.open[cell][k];
            let place = face % (edges.len() - 1);
            let part = match side {
                Side::Split { at, .. } => {
                    usize::from(0.5 * (edges[place] + edges[place + 1]) >= *at)
                }
                _ => 0,
            };
            let net = std::array::from_fn(|c| open * (out[c] - inward[c]));
            add(&mut parts[part], all_round(is_round, net));
        }
        for part in &parts {
            add_flux(&mut findings.balance, part);
        }
        let [first, second] = parts;
        match side {
            Side::Mirror | Side::Axis => {}
            Side::Split { .. } => findings.sides.extend([
                (format!("{name}.left"), first),
                (format!("{name}.right"), second),
            ]),
            _ => findings.sides.push((name.to_owned(), first)),
        }
    }
    for part in &taken {
        let net = part.net.map(|net| part.at.area * net);
        add(&mut findings.balance, all_round(is_round, net));
    }
    let narrowest = |axis: usize| problem.space.narrowest(axis);
    findings.passages = passage::all(case, &narrowest, &findings);
    match &problem.space.rings {
        Some(rings) => {
            let walls = taken.iter().zip(&rings.lengths);
            findings.surface = walls
                .map(|(part, length)| in_plane(part, *length))
                .collect();
        }
        None => findings.facets = taken.into_iter().map(|part| part.at).collect(),
    }
    Ok(findings)
}

/// Moments of a whole revolution: those across the axis cancel each other.
fn all_round(is_round: bool, [mass, x, y, z, square]: [f64; MOMENTS]) -> [f64; MOMENTS] {
    match is_round {
        true => [mass, x, 0.0, 0.0, square],
        false => [mass, x, y, z, square],
    }
}

/// The wall of a ring in the plane of x and r.
fn in_plane(part: &Taken, length: f64) -> SurfacePoint {
    let FacetPoint {
        body,
        point: [x, r, _],
        normal: [nx, nr, _],
        pressure,
        shear,
        heat,
        ..
    } = part.at;
    SurfacePoint {
        body,
        point: [x, r],
        normal: [nx, nr],
        length,
        pressure,
        shear: nx * shear[1] - nr * shear[0],
        heat,
        slip: f64::NAN,
        jump: f64::NAN,
    }
}

/// The warning of gas that is colder than its velocities hold.
fn cold(steady: &Steady<'_>) -> Option<String> {
    let problem = steady.problem;
    let (gas, least) = (&problem.gas, problem.nodes.coldest);
    let cells = 0..problem.space.len();
    let temperature = |k: usize| state(gas, &steady.state.cells[k])[4];
    let is_cold = |k: &usize| !gas.linear && problem.space.is_gas(*k) && temperature(*k) < least;
    let cold: Vec<usize> = cells.filter(is_cold).collect();
    let share = cold.len() as f64 / problem.space.len() as f64;
    (!cold.is_empty()).then(|| {
        format!(
            "in {:.1}% of the cells the gas is colder than {least:.3}, the least that the velocities hold, and collisions warm it there; more velocities hold colder gas",
            100.0 * share
        )
    })
}

/// A flux of nothing.
fn none(is_round: bool) -> Flux {
    Flux {
        momentum_z: (!is_round).then_some(0.0),
        ..Flux::default()
    }
}

/// Adds moments, of which the last is twice the energy.
fn add(flux: &mut Flux, [mass, x, y, z, square]: [f64; MOMENTS]) {
    flux.mass += mass;
    flux.momentum_x += x;
    flux.momentum_y += y;
    flux.momentum_z = flux.momentum_z.map(|sum| sum + z);
    flux.energy += 0.5 * square;
}

fn add_flux(flux: &mut Flux, part: &Flux) {
    let z = part.momentum_z.unwrap_or(0.0);
    let moments = [
        part.mass,
        part.momentum_x,
        part.momentum_y,
        z,
        2.0 * part.energy,
    ];
    add(flux, moments);
}

/// A facet with what it takes up.
struct Taken {
    at: FacetPoint,
    /// Arriving less emitted moments, a unit area.
    net: [f64; MOMENTS],
    /// Power of the shear on a wall that moves, a unit area.
    work: f64,
}

fn dot(a: [f64; 3], b: [f64; 3]) -> f64 {
    a[0] * b[0] + a[1] * b[1] + a[2] * b[2]
}

fn taken(steady: &Steady<'_>, swept: &Swept) -> Vec<Taken> {
    let problem = steady.problem;
    let facets = problem.space.facets.iter().enumerate();
    facets
        .map(|(s, facet)| {
            let emitted = problem.leaves(s, &steady.state);
            let net: [f64; MOMENTS] = std::array::from_fn(|c| swept.facets[s][c] - emitted[c]);
            let force = [net[1], net[2], net[3]];
            let normal = dot(force, facet.normal);
            // The linearised equation has no work: it is of second order.
            let work = match problem.gas.linear {
                true => 0.0,
                false => dot(problem.walls[s].velocity, force),
            };
            Taken {
                at: FacetPoint {
                    body: facet.body,
                    point: facet.point,
                    normal: facet.normal,
                    area: facet.area,
                    corners: facet.corners.clone(),
                    pressure: -normal,
                    shear: std::array::from_fn(|k| force[k] - normal * facet.normal[k]),
                    heat: 0.5 * net[4] - work,
                },
                net,
                work,
            }
        })
        .collect()
}

/// Loads of a body while they are summed.
#[derive(Clone, Copy, Default)]
struct Sums {
    force: [f64; 3],
    pressure: [f64; 3],
    moment: [f64; 3],
    heat: f64,
    work: f64,
    area: f64,
    /// Area seen along the stream.
    front: f64,
    /// Forces along the stream without collisions and by Newton's law, and heat without collisions.
    limits: [f64; 3],
}

fn loads(case: &Case, problem: &Problem, taken: &[Taken]) -> Vec<Loads> {
    let is_round = case.is_round();
    let mut sums = vec![Sums::default(); case.bodies.len()];
    let freedom = problem
        .gas
        .rotation
        .map_or(0.0, |rotation| rotation.freedom);
    let stream = problem.stream.map(|state| Stream::new(state, freedom));
    let walls = problem.walls.iter().zip(&problem.partial.share);
    for (part, (wall, share)) in taken.iter().zip(walls) {
        let FacetPoint {
            body,
            point,
            normal,
            area,
            ..
        } = part.at;
        let sums = &mut sums[body];
        let net = all_round(is_round, part.net);
        let force = [1, 2, 3].map(|c: usize| area * net[c]);
        let arm: [f64; 3] = std::array::from_fn(|k| point[k] - problem.centres[body][k]);
        for k in 0..3 {
            let (next, last) = ((k + 1) % 3, (k + 2) % 3);
            sums.force[k] += force[k];
            // All round, forces across the axis and moments cancel each other.
            if !is_round {
                sums.moment[k] += arm[next] * force[last] - arm[last] * force[next];
            }
            if k == 0 || !is_round {
                sums.pressure[k] -= area * part.at.pressure * normal[k];
            }
        }
        sums.heat += area * part.at.heat;
        sums.work += area * part.work;
        sums.area += area;
        if let Some(stream) = &stream {
            sums.front += area * (-dot(stream.direction, normal)).max(0.0);
            let limits = stream.limits(normal, wall.temperature, *share);
            (0..3).for_each(|k| sums.limits[k] += area * limits[k]);
        }
    }
    let bodies = case.bodies.iter().zip(sums);
    bodies
        .map(|(body, sums)| {
            let in_space = |value: f64| (!is_round).then_some(value);
            let mut loads = Loads {
                name: body.name.clone().unwrap_or_default(),
                force_x: sums.force[0],
                force_y: sums.force[1],
                force_z: in_space(sums.force[2]),
                pressure_x: sums.pressure[0],
                pressure_y: sums.pressure[1],
                pressure_z: in_space(sums.pressure[2]),
                moment: sums.moment[2],
                moment_x: in_space(sums.moment[0]),
                moment_y: in_space(sums.moment[1]),
                area: Some(sums.area),
                heat: sums.heat,
                work: sums.work,
                ..Loads::default()
            };
            if let Some(stream) = &stream {
                stream.add_coefficients(&mut loads, &sums);
                if is_round {
                    (loads.lift_coefficient, loads.side_coefficient) = (None, None);
                }
            }
            loads
        })
        .collect()
}

/// The stream that coefficients refer to.
struct Stream {
    density: f64,
    temperature: f64,
    speed: f64,
    direction: [f64; 3],
    /// Half of the internal degrees of freedom.
    internal: f64,
}

impl Stream {
    fn new([density, x, y, z, temperature]: super::gas::State, freedom: f64) -> Self {
        let speed = dot([x, y, z], [x, y, z]).sqrt();
        Self {
            density,
            temperature,
            speed,
            direction: [x / speed, y / speed, z / speed],
            internal: 0.5 * freedom,
        }
    }

    /// Forces along the stream on a wall of unit area without collisions and by Newton's law, and heat without collisions.
    ///
    /// Walls that emit a share of the molecules anew and mirror the rest, each as if alone in the stream (G. A. Bird, Molecular Gas Dynamics, 1994,
    /// section 7.3), s the speed towards the wall over sqrt(T): flux of molecules `n sqrt(T) (exp(-s^2) + sqrt(pi) s (1 + erf s))/(2 sqrt(pi))`.
    fn limits(&self, normal: [f64; 3], wall: f64, share: f64) -> [f64; 3] {
        let (n, t) = (self.density, self.temperature);
        let root = t.sqrt();
        let s = -self.speed / root * dot(self.direction, normal);
        let (exponential, error) = ((-s * s).exp(), 1.0 + libm::erf(s));
        let chi = exponential + PI.sqrt() * s * error;
        let flux = n * root / (2.0 * PI.sqrt()) * chi;
        // Normal stress of what arrives, and of what leaves at the wall's temperature.
        let arriving =
            n * t / (2.0 * PI.sqrt()) * (s * exponential + PI.sqrt() * (0.5 + s * s) * error);
        let leaving = flux * (PI * wall).sqrt() / 2.0;
        let along: [f64; 3] =
            std::array::from_fn(|k| self.speed * self.direction[k] + s * root * normal[k]);
        let facing = dot(self.direction, normal);
        let diffuse = -(arriving + leaving) * facing + flux * dot(along, self.direction);
        let drag = share * diffuse - (1.0 - share) * 2.0 * arriving * facing;
        // Energies rho0 v0^2: m v^2/2 of a molecule is v^2/2 here.
        let square = self.speed * self.speed;
        let energy =
            n * root * t / (4.0 * PI.sqrt()) * ((square / t + 2.5) * chi - 0.5 * exponential);
        let taken =
            energy + 0.5 * self.internal * t * flux - flux * (1.0 + 0.5 * self.internal) * wall;
        let towards = (s * root).max(0.0);
        let newton = -n * towards * towards * dot(self.direction, normal);
        [drag, newton, share * taken]
    }

    fn add_coefficients(&self, loads: &mut Loads, sums: &Sums) {
        let pressure = 0.5 * self.density * self.speed * self.speed * sums.front;
        let [x, y, _] = self.direction;
        // Across the stream in the x-y plane; for a stream along z the y axis.
        let level = x.hypot(y);
        let lift = match level > 1e-9 {
            true => [-y / level, x / level, 0.0],
            false => [0.0, 1.0, 0.0],
        };
        let d = self.direction;
        let side: [f64; 3] = std::array::from_fn(|k| {
            let (next, last) = ((k + 1) % 3, (k + 2) % 3);
            d[next] * lift[last] - d[last] * lift[next]
        });
        let coefficient = |direction: [f64; 3]| Some(dot(sums.force, direction) / pressure);
        loads.frontal_area = Some(sums.front);
        loads.drag_coefficient = coefficient(d);
        loads.lift_coefficient = coefficient(lift);
        loads.side_coefficient = coefficient(side);
        loads.heat_coefficient = Some(sums.heat / (pressure * self.speed));
        loads.drag_free_molecular = Some(sums.limits[0] / pressure);
        loads.drag_newtonian = Some(sums.limits[1] / pressure);
        loads.heat_free_molecular = Some(sums.limits[2] / (pressure * self.speed));
    }
}

fn fields(steady: &Steady<'_>) -> Fields {
    let problem = steady.problem;
    let space = &problem.space;
    let [x, y, z] = space.edges.clone();
    let rings = space.rings.as_ref();
    let mut fields = Fields {
        x,
        y,
        z: if rings.is_some() { Vec::new() } else { z },
        ..Fields::default()
    };
    let counts = space.counts();
    for k in 0..space.len() {
        let place = [
            k % counts[0],
            k / counts[0] % counts[1],
            k / (counts[0] * counts[1]),
        ];
        let widths = [0, 1, 2]
            .map(|axis: usize| space.edges[axis][place[axis] + 1] - space.edges[axis][place[axis]]);
        fields.gas.push(match rings {
            Some(rings) => rings.area[k] / (2.0 * PI * widths[0] * widths[1]),
            None => space.volume[k] / widths.iter().product::<f64>(),
        });
        let w = &steady.state.cells[k];
        let [n, x, y, z, t] = match space.is_gas(k) {
            true => state(&problem.gas, w),
            false => [0.0; 5],
        };
        fields.density.push(n);
        fields.velocity_x.push(x);
        fields.velocity_y.push(y);
        if rings.is_none() {
            fields.velocity_z.push(z);
        }
        let in_space = |q: [f64; 3]| q.into_iter().take(if rings.is_none() { 3 } else { 2 });
        let rotates = problem.gas.rotation.zip(steady.state.internal.get(k));
        let mut heat = [w[5], w[6], w[7]];
        if let Some((rotation, e)) = rotates {
            let mut both = [0.0; 2];
            if space.is_gas(k) {
                both = rotation::temperatures(&rotation, problem.gas.linear, w, e);
            }
            fields.add_rotation(&rotation, both, in_space([e[1], e[2], e[3]]));
            (0..3).for_each(|axis| heat[axis] += e[1 + axis]);
        } else {
            fields.temperature.push(t);
        }
        let to = [&mut fields.heat_x, &mut fields.heat_y, &mut fields.heat_z];
        in_space(heat).zip(to).for_each(|(q, to)| to.push(q));
    }
    fields
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Drag and heat of a sphere without collisions, from the local formulas and in closed form.
    #[test]
    fn limits_of_a_sphere_are_exact() {
        for (s, wall) in [(0.5_f64, 1.0), (2.0, 1.0), (5.0, 3.0)] {
            let stream = Stream::new([1.0, s, 0.0, 0.0, 1.0], 0.0);
            let count = 4000;
            let (mut drag, mut newton) = (0.0, 0.0);
            for k in 0..count {
                // Rings of equal area on a sphere of frontal area 1.
                let x = -1.0 + (f64::from(k) + 0.5) * 2.0 / f64::from(count);
                let normal = [x, (1.0 - x * x).sqrt(), 0.0];
                let limits = stream.limits(normal, wall, 1.0);
                drag += 4.0 / f64::from(count) * limits[0];
                newton += 4.0 / f64::from(count) * limits[1];
            }
            let square = s * s;
            let exact = (2.0 * square + 1.0) / (PI.sqrt() * s.powi(3)) * (-square).exp()
                + (4.0 * square * square + 4.0 * square - 1.0) / (2.0 * square * square)
                    * libm::erf(s)
                + 2.0 * PI.sqrt() / (3.0 * s) * wall.sqrt();
            let drag = drag / (0.5 * square);
            assert!((drag / exact - 1.0).abs() < 1e-5, "{s}: {drag} {exact}");
            assert!((newton / (0.5 * square) - 1.0).abs() < 1e-5, "{newton}");
        }
    }
}
