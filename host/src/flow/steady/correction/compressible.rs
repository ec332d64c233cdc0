//! The correction of nonlinear flows in a plane, by the compressible equations ([`crate::flow::correction::Equations`]).

use super::change::{Correction, Moved};
use crate::bgk::rotation;
use crate::flow::correction::{Equations, Meets, Net, OUTWARD, Outer, Place, State, exchange};
use crate::flow::face::Border;
use crate::flow::gas::{Gas, InternalEnergy, UNKNOWNS};
use crate::flow::problem::Problem;
use crate::flow::steady::sweep::Swept;
use crate::flow::steady::unknowns::Unknowns;

/// The correction.
pub(super) struct Compressible {
    equations: Equations,
}

impl Compressible {
    /// The correction for a problem, of which a share is added.
    pub(super) fn new(problem: &Problem, share: f64) -> Self {
        let space = &problem.space;
        let cells: Vec<usize> = (0..space.len()).filter(|&k| space.is_gas(k)).collect();
        let number = Net::numbers(&cells, space.len());
        let counts = [space.nx(), space.ny()];
        let widths = |cell: usize| space.widths(cell % counts[0], cell / counts[0]);
        let periodic =
            [0, 2].map(|side: usize| matches!(problem.borders[side], Border::Periodic(_)));
        let faces = Net::faces(
            counts,
            &cells,
            &number,
            periodic,
            |cell, axis| space.open[cell][2 * axis + 1],
            |cell, axis| space.centroid[cell][axis],
            |cell, axis| widths(cell)[axis],
        );
        let net = Net {
            counts,
            volume: cells.iter().map(|&cell| space.volume[cell]).collect(),
            width: cells
                .iter()
                .map(|&cell| widths(cell).into_iter().product::<f64>().sqrt())
                .collect(),
            faces,
            outer: outer(problem, &number),
            rings: Vec::new(),
            periodic,
            closed: problem.is_closed(),
            cells,
        };
        Self {
            equations: Equations::new(net, share),
        }
    }

    /// The misfit of mass, momentum, energy and internal energy of each cell, over nu V.
    fn misfit(
        &self,
        (swept, internal): (&Swept, Option<&Swept>),
        gas: &Gas,
        found: &[State],
    ) -> Vec<State> {
        let cells = self.equations.net.cells.iter().zip(found);
        cells
            .map(|(&cell, state)| {
                let sums = &swept.cells[cell];
                let mut misfit = [sums[0], sums[1], sums[2], 0.5 * sums[3], 0.0];
                if let Some(internal) = internal {
                    let energy = 0.5 * internal.cells[cell][0];
                    misfit[3] += energy;
                    misfit[4] = energy + exchange(gas, state).0;
                }
                misfit
            })
            .collect()
    }

    /// Moves cells and walls by an answer; false if a state is then none of a gas.
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
            let [n, ux, uy, t, t_r] = std::array::from_fn(|c| state[c] + change[c]);
            let w = &mut next.cells[cell];
            w[..4].copy_from_slice(&gas.unknowns([n, ux, uy, t])[..4]);
            if let Some(internal) = &mut next.internal {
                internal.cells[cell][0] = 0.5 * gas.freedom() * n * t_r;
            }
            if !gas.is_admissible(w) || t_r.is_nan() || t_r <= 0.0 {
                return false;
            }
        }
        self.equations
            .around(states, answer, &mut Moved { problem, next });
        true
    }
}

/// Segments of walls and faces of sides.
fn outer(problem: &Problem, number: &[usize]) -> Vec<Outer> {
    let space = &problem.space;
    let segments = space.segments.iter().enumerate().map(|(s, segment)| Outer {
        place: Place::Body(s),
        cell: number[segment.cell],
        area: segment.length,
        outward: segment.normal.map(|part| -part),
        meets: Meets::Wall(problem.walls[s], problem.reflection[s].grip()),
    });
    let mut outer: Vec<Outer> = segments.collect();
    for (side, outward) in OUTWARD.into_iter().enumerate() {
        let beyond = space.border(side ^ 1);
        for (face, cell) in space.border(side).into_iter().enumerate() {
            let meets = match &problem.borders[side] {
                _ if !space.is_gas(cell) => continue,
                Border::Periodic(_) if !space.is_gas(beyond[face]) => continue,
                Border::Periodic(_) => Meets::Period(number[beyond[face]]),
                Border::Wall(wall) => Meets::Wall(wall.walls[face], wall.accommodation.grip()),
                Border::Mirror => Meets::Mirror,
                Border::Given(_) | Border::Outlet(_) | Border::Inflow(..) => Meets::Gas,
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

impl Correction for Compressible {
    fn apply(
        &mut self,
        problem: &Problem,
        before: &Unknowns,
        swept: (&Swept, Option<&Swept>),
        next: &mut Unknowns,
    ) -> bool {
        let gas = &problem.gas;
        let of = |of: &Unknowns| -> Vec<State> {
            let cells = self.equations.net.cells.iter();
            cells.map(|&cell| state_of(gas, of, cell)).collect()
        };
        let (states, found) = (of(before), of(next));
        let misfit = self.misfit(swept, gas, &found);
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
}

/// The state of a cell; the temperatures of single atoms are one.
fn state_of(gas: &Gas, of: &Unknowns, cell: usize) -> State {
    let w: &[f64; UNKNOWNS] = &of.cells[cell];
    let [n, ux, uy, t] = gas.primitive(w);
    let t_r = match (&gas.rotation, &of.internal) {
        (Some(rotation), Some(internal)) => {
            let e: &InternalEnergy = &internal.cells[cell];
            rotation::temperatures(rotation, false, w, e)[1]
        }
        _ => t,
    };
    [n, ux, uy, t, t_r]
}
