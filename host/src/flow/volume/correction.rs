//! The correction of flows round an axis, by the compressible equations of rings ([`crate::flow::correction::Equations`]).
//!
//! Linearised flows have them about gas at rest.

use super::face::{Border, Wall};
use super::gas::swept as after;
use super::gas::{
    Coefficients, equilibrium, internal_of, is_admissible, maxwellian, relaxed, state, unknowns,
    warmed,
};
use super::problem::Problem;
use super::sweep::Swept;
use super::unknowns::Unknowns;
use crate::bgk::rotation;
use crate::flow::correction::{
    Around, Equations, Meets, Net, OUTWARD, Outer, Place, State, exchange, grow, share,
};
use crate::flow::face;
use crate::flow::gas::Gas;

/// Gas at rest.
const REST: State = [1.0, 0.0, 0.0, 1.0, 1.0];

/// The correction.
pub(in crate::flow) struct Correction {
    equations: Equations,
}

/// The sweeps of the molecules and of the internal energy that they have.
pub(in crate::flow) type Sweeps<'a> = (&'a Swept, Option<&'a Swept>);

impl Correction {
    /// The correction of a problem; none in thin gas.
    pub(in crate::flow) fn of(problem: &Problem) -> Option<Self> {
        let share = share(problem.gas.delta)?;
        let space = &problem.space;
        let rings = space.rings.as_ref()?;
        let cells: Vec<usize> = (0..space.len()).filter(|&k| space.is_gas(k)).collect();
        let number = Net::numbers(&cells, space.len());
        let [nx, ny, _] = space.counts();
        let width = |cell: usize, axis: usize| {
            let edges = &space.edges[axis];
            let at = [cell % nx, cell / nx][axis];
            edges[at + 1] - edges[at]
        };
        let periodic =
            [0, 2].map(|side: usize| matches!(problem.borders[side], Border::Periodic(..)));
        let faces = Net::faces(
            [nx, ny],
            &cells,
            &number,
            periodic,
            |cell, axis| space.open[cell][2 * axis + 1],
            |cell, axis| space.centroid[cell][axis],
            width,
        );
        let of_cells = cells.iter();
        let net = Net {
            counts: [nx, ny],
            volume: of_cells.clone().map(|&k| space.volume[k]).collect(),
            width: of_cells
                .clone()
                .map(|&k| (width(k, 0) * width(k, 1)).sqrt())
                .collect(),
            faces,
            outer: outer(problem, &number),
            rings: of_cells
                .map(|&k| [rings.area[k], space.volume[k] / rings.area[k]])
                .collect(),
            periodic,
            closed: problem.is_closed(),
            cells,
        };
        Some(Self {
            equations: Equations::new(net, share),
        })
    }

    /// Corrects `next`, which sweeps made of `before`. Yields whether the mixing is to forget: an answer was dropped.
    pub(in crate::flow) fn apply(
        &mut self,
        problem: &Problem,
        before: &Unknowns,
        swept: Sweeps<'_>,
        next: &mut Unknowns,
    ) -> bool {
        let gas = &problem.gas;
        let cells = &self.equations.net.cells;
        let of = |of: &Unknowns| -> Vec<State> {
            cells.iter().map(|&cell| state_of(gas, of, cell)).collect()
        };
        let found = of(next);
        let states = match gas.linear {
            true => vec![REST; cells.len()],
            false => of(before),
        };
        let misfit = cells
            .iter()
            .zip(&found)
            .map(|(&cell, state)| misfit(problem, before, swept, cell, state));
        let misfit = misfit.collect();
        let Some(answer) = self.equations.answer(gas, &states, &found, misfit) else {
            return false;
        };
        let mut corrected = next.clone();
        let good = self.correct(problem, &states, &found, &answer, &mut corrected);
        if good {
            *next = corrected;
        }
        !good
    }

    /// Moves cells, walls and inflow by an answer; false if a state is then none of a gas.
    fn correct(
        &self,
        problem: &Problem,
        states: &[State],
        found: &[State],
        answer: &[State],
        next: &mut Unknowns,
    ) -> bool {
        let gas = &problem.gas;
        let moved = found.iter().zip(answer);
        for (&cell, (state, change)) in self.equations.net.cells.iter().zip(moved) {
            let [n, ux, ur, t, t_r] = std::array::from_fn(|c| state[c] + change[c]);
            let w = &mut next.cells[cell];
            w[..5].copy_from_slice(&unknowns(gas, [n, ux, ur, 0.0, t])[..5]);
            if let Some(e) = next.internal.get_mut(cell) {
                let density = if gas.linear { 1.0 } else { n };
                e[0] = 0.5 * gas.freedom() * density * t_r;
            }
            if !is_admissible(gas, w) || !(gas.linear || t_r > 0.0) {
                return false;
            }
        }
        self.equations
            .around(states, answer, &mut Moved { problem, next });
        true
    }
}

/// Walls of bodies and faces of sides.
fn outer(problem: &Problem, number: &[usize]) -> Vec<Outer> {
    let (space, linear) = (&problem.space, problem.gas.linear);
    let facets = space.facets.iter().zip(&problem.walls).enumerate();
    let facets = facets.map(|(s, (facet, wall))| Outer {
        place: Place::Body(s),
        cell: number[facet.cell],
        area: facet.area,
        outward: [-facet.normal[0], -facet.normal[1]],
        meets: Meets::Wall(seen(wall, linear), problem.partial.share[s]),
    });
    let mut outer: Vec<Outer> = facets.collect();
    for (side, outward) in OUTWARD.into_iter().enumerate() {
        let beyond = space.border(side ^ 1);
        for (face, cell) in space.border(side).into_iter().enumerate() {
            let meets = match &problem.borders[side] {
                _ if !space.is_gas(cell) => continue,
                Border::Periodic(..) if !space.is_gas(beyond[face]) => continue,
                Border::Periodic(..) => Meets::Period(number[beyond[face]]),
                Border::Wall(wall, share) => Meets::Wall(seen(wall, linear), *share),
                Border::Mirror => Meets::Mirror,
                Border::Given(_) | Border::Split(..) | Border::Outlet(_) | Border::Inflow(..) => {
                    Meets::Gas
                }
            };
            outer.push(Outer {
                place: Place::Side(side, face),
                cell: number[cell],
                area: space.open[cell][side],
                outward,
                meets,
            });
        }
    }
    outer
}

/// The wall that the equations see: that of gas at rest for linearised flows.
fn seen(wall: &Wall, linear: bool) -> face::Wall {
    let [x, r, _] = wall.velocity;
    match linear {
        true => face::Wall {
            temperature: 1.0,
            velocity: [0.0; 2],
        },
        false => face::Wall {
            temperature: wall.temperature,
            velocity: [x, r],
        },
    }
}

/// The state of a cell; the temperatures of single atoms are one.
fn state_of(gas: &Gas, of: &Unknowns, cell: usize) -> State {
    let w = &of.cells[cell];
    let [n, ux, ur, _, t] = state(gas, w);
    let t_r = match (&gas.rotation, of.internal.get(cell)) {
        (Some(rotation), Some(e)) => rotation::temperatures(rotation, gas.linear, w, e)[1],
        _ => t,
    };
    [n, ux, ur, t, t_r]
}

/// The misfit of mass, momentum, energy and internal energy of a cell, over nu V.
fn misfit(
    problem: &Problem,
    before: &Unknowns,
    (swept, internal): Sweeps<'_>,
    cell: usize,
    found: &State,
) -> State {
    let (gas, coldest) = (&problem.gas, problem.nodes.coldest);
    let w = &before.cells[cell];
    let old = match before.internal.get(cell) {
        Some(e) => relaxed(gas, w, e, coldest).0.molecules,
        None => warmed(gas, w, coldest),
    };
    let new = after(gas, &old, &swept.cells[cell]);
    let [mass, x, r, _, energy] = std::array::from_fn(|c| new[c] - old[c]);
    let mut misfit = [mass, x, r, 0.5 * energy, 0.0];
    if let Some(internal) = internal {
        let mut energy = 0.5 * internal.cells[cell][0];
        if gas.linear {
            // The molecules carry that of the Maxwellian at rest too.
            energy += 0.25 * gas.freedom() * mass;
        }
        misfit[3] += energy;
        misfit[4] = energy + exchange(gas, found).0;
    }
    misfit
}

/// The unknowns that a correction moves.
struct Moved<'a> {
    problem: &'a Problem,
    next: &'a mut Unknowns,
}

impl Around for Moved<'_> {
    fn emit(&mut self, place: Place, more: f64) {
        let density = match place {
            Place::Body(s) => self.next.facets.get_mut(s),
            Place::Side(side, face) => self.next.sides[side].get_mut(face),
        };
        if let Some(density) = density {
            grow(density, more, self.problem.gas.linear);
        }
    }

    fn shift(&mut self, side: usize, face: usize, states: [State; 2]) {
        let (problem, gas) = (self.problem, &self.problem.gas);
        let both = states.map(|[n, ux, ur, t, t_r]| ([n, ux, ur, 0.0, t], t_r));
        let molecules = both.map(|(state, _)| maxwellian(gas, state));
        shift(problem, side, face, molecules, &mut self.next.lagged[side]);
        let energies = both.map(|(state, t_r)| internal_of(gas, state, t_r));
        let lagged = &mut self.next.internal_lagged[side];
        shift(problem, side, face, energies, lagged);
    }
}

/// Adds the difference of two Maxwellians to the inflow through a face.
fn shift(
    problem: &Problem,
    side: usize,
    face: usize,
    [old, new]: [Coefficients; 2],
    lagged: &mut [f64],
) {
    let (nodes, linear) = (&problem.nodes, problem.gas.linear);
    let count = nodes.len();
    if lagged.is_empty() {
        return;
    }
    for (m, value) in lagged[face * count..][..count].iter_mut().enumerate() {
        if (nodes.v[side / 2][m] > 0.0) == side.is_multiple_of(2) {
            let v = nodes.velocity(m);
            let more = equilibrium(linear, &new, v) - equilibrium(linear, &old, v);
            grow(value, more, linear);
        }
    }
}
