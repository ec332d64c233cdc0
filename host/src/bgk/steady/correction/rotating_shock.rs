//! The correction of a wave between two streams of molecules that rotate.
//!
//! To the equations of [`shock`](super::shock) come the change of T_r and that of the flux of internal energy, phi. The temperature there is T_t, and the fluxes of energy have both
//! parts. With the exchange `X = (d/4) n nu (T - T_r)/Z` and the flux J of internal energy
//!
//! ```text
//! cell:  mean phi = mean[(d/4)(u T_r n' + n T_r u' + n u T_r')] - (K_rt dT_t' + K_rr dT_r')/h + lag_r
//! cell:  dphi/h - mean(dX) = X - dJ/h
//! ends:  phi = (d/4) (T A_1 d + m T_r') + (d/4) T F'_1 rho'
//! ```
//!
//! m is the mass that leaves through an end. The bulk viscosity follows from `T_t - T_r`.

use super::super::plan::{EAST, INTERNAL, Plan, WEST};
use super::super::sums::{Swept, flux};
use super::line::{self, Elimination};
use super::rotating::RotatingCell;
use super::shock::{self, FLUXES, SHARED, ShockCorrection, at_face, cell_rows, stream};
use crate::bgk::Rotation;

/// Unknowns of a face: density, velocity, temperature of translation, the mass up to it, temperature of rotation, and the flux of internal energy.
const LOCAL: usize = 6;
/// The places of the last two.
const ROTATIONAL: usize = 4;
const INTERNAL_FLUX: usize = 5;

type Row = line::Row<LOCAL, SHARED>;

/// A row of single atoms with room for the unknowns of rotation.
fn widened(row: &shock::Row) -> Row {
    let wide = |values: &[f64]| std::array::from_fn(|k| values.get(k).copied().unwrap_or(0.0));
    Row {
        own: wide(&row.own),
        next: wide(&row.next),
        shared: row.shared,
        right: row.right,
    }
}

/// A wave of molecules that rotate.
struct Wave<'a> {
    correction: &'a ShockCorrection,
    plan: &'a Plan,
    rotation: &'a Rotation,
    swept: &'a Swept,
    x: &'a [f64],
    y: &'a [f64],
    cells: Vec<RotatingCell>,
}

impl Wave<'_> {
    /// A quarter of the internal degrees of freedom: `d/4` times a temperature is a flux of internal energy over that of mass.
    fn quarter(&self) -> f64 {
        0.25 * self.rotation.freedom
    }

    /// Adds the convection of internal energy through a face to its coefficients, `share` times.
    fn convect(&self, coefficients: &mut [f64; LOCAL], face: usize, share: f64) {
        let [n, u, _] = at_face(self.plan, self.y, face);
        let t_r = self.rotational_at(face);
        let by = share * self.quarter();
        coefficients[0] += by * u * t_r;
        coefficients[1] += by * n * t_r;
        coefficients[ROTATIONAL] += by * n * u;
    }

    /// The temperature of rotation at a face: the mean of both cells.
    fn rotational_at(&self, face: usize) -> f64 {
        let cells = [face.saturating_sub(1), face.min(self.plan.nx - 1)];
        cells
            .map(|cell| 0.5 * self.cells[cell].rotational)
            .iter()
            .sum()
    }

    /// The rows of an end: those of single atoms, with the internal energy that leaves, and that of its flux.
    fn end(&self, side: usize, fluxes: [f64; flux::LEN], count: usize) -> Vec<Row> {
        let [n, _, t] = stream(self.plan, side);
        let by_mass = self.correction.outgoing(side, 0);
        let mut leaving = [0.0; LOCAL];
        for (to, by) in leaving.iter_mut().zip(by_mass) {
            *to = self.quarter() * t * by;
        }
        // Mass leaves in proportion to the density.
        leaving[ROTATIONAL] = self.quarter() * n * by_mass[0];
        let mut rows: Vec<Row> = (0..count)
            .map(|k| widened(&self.correction.leaving_row(side, k, fluxes)))
            .collect();
        if let Some(energy) = rows.get_mut(2) {
            for (to, by) in energy.own.iter_mut().zip(leaving) {
                *to -= by;
            }
            energy.right += fluxes[flux::INTERNAL];
        }
        let mut own = Row {
            own: leaving.map(|by| -by),
            ..Row::default()
        };
        own.own[INTERNAL_FLUX] = 1.0;
        if side == EAST {
            for (k, row) in rows.iter_mut().enumerate() {
                row.shared[3] = -self.correction.incoming(k);
            }
            own.shared[3] = -self.quarter() * t * self.correction.incoming(0);
        }
        rows.push(own);
        rows
    }

    /// The rows of a cell.
    fn cell(&self, cell: usize) -> [Row; 5] {
        let (plan, own) = (self.plan, &self.cells[cell]);
        let rows = cell_rows(plan, self.x, self.swept, self.y, cell);
        let [momentum, mut energy, mass] = rows.map(|row| widened(&row));
        let [mut carried, mut gain] = [Row::default(); 2];
        let h = plan.widths[0][cell];
        let [[tt, tr], [rt, rr]] = own.conductivity.map(|row| row.map(|part| part / h));
        let [n, _, _, t] = plan.primitive(self.y, cell);
        let gained = own.exchange * own.apart;
        let by_n = 2.0 * gained / n;
        let by_t = own.exchange + gained * (1.0 - plan.omega) / t;
        for (side, sign) in [(0, -1.0), (1, 1.0)] {
            let face = cell + side;
            let (of_energy, of_flux, of_gain) = match side {
                0 => (&mut energy.own, &mut carried.own, &mut gain.own),
                _ => (&mut energy.next, &mut carried.next, &mut gain.next),
            };
            self.convect(of_energy, face, 0.5);
            of_energy[2] -= sign * (tt + rt);
            of_energy[ROTATIONAL] -= sign * (tr + rr);
            self.convect(of_flux, face, -0.5);
            of_flux[2] += sign * rt;
            of_flux[ROTATIONAL] += sign * rr;
            of_flux[INTERNAL_FLUX] = 0.5;
            of_gain[0] = -0.5 * h * by_n;
            of_gain[2] = -0.5 * h * by_t;
            of_gain[ROTATIONAL] = 0.5 * h * own.exchange;
            of_gain[INTERNAL_FLUX] = sign;
        }
        let passed = [cell, cell + 1].map(|face| self.swept.fluxes[face][flux::INTERNAL]);
        energy.right -= 0.5 * (passed[0] + passed[1]) + own.lags[0][0] + own.lags[0][1];
        carried.right = own.lags[0][1];
        gain.right = h * gained - (passed[1] - passed[0]);
        [momentum, energy, mass, carried, gain]
    }

    fn solve(&self) -> Option<(Vec<[f64; LOCAL]>, [f64; SHARED])> {
        let plan = self.plan;
        let (cells, fluxes) = (plan.nx, &self.swept.fluxes);
        let mut line = Elimination::new(cells + 1);
        line.add(self.end(WEST, fluxes[0], FLUXES.len()));
        let mut mass = Row::default();
        mass.own[3] = 1.0;
        line.add([mass]);
        for face in 0..=cells {
            let [n, u, _] = at_face(plan, self.y, face);
            let mut row = Row::default();
            (row.own[0], row.own[1], row.shared[0]) = (u, n, -1.0);
            row.right = -fluxes[face][flux::MASS];
            line.add([row]);
            if face < cells {
                line.add(self.cell(face));
            } else {
                line.add(self.end(EAST, fluxes[cells], 2));
                mass.right = self.correction.missing(plan, self.y);
                line.add([mass]);
            }
            line.advance()?;
        }
        line.solve()
    }
}

/// Corrects the moments of a wave of molecules that rotate.
pub(super) fn apply(
    correction: &ShockCorrection,
    plan: &Plan,
    rotation: &Rotation,
    x: &[f64],
    swept: &Swept,
    y: &mut [f64],
) {
    let of = |cell: usize| {
        let [n, u, ..] = plan.primitive(y, cell);
        RotatingCell::new(plan, rotation, [x, y], &swept.fluxes, cell, [n, n * u])
    };
    let wave = Wave {
        correction,
        plan,
        rotation,
        swept,
        x,
        y,
        cells: (0..plan.nx).map(of).collect(),
    };
    let Some((faces, [.., strength])) = wave.solve() else {
        return;
    };
    let own = wave.cells;
    let cells = plan.layout.cells;
    for (cell, own) in own.iter().enumerate() {
        let mean = |k: usize| 0.5 * (faces[cell][k] + faces[cell + 1][k]);
        let slope = |k: usize| (faces[cell + 1][k] - faces[cell][k]) / plan.widths[0][cell];
        let heat = own.conducted([slope(2), slope(ROTATIONAL)]);
        y[4 * cells + cell] += heat[0];
        y[(INTERNAL + 1) * cells + cell] += heat[1];
        let n = y[cell] + mean(0);
        let t_r = own.rotational + mean(ROTATIONAL);
        y[INTERNAL * cells + cell] = plan.internal_energy(rotation, n, t_r);
        plan.add_primitive(y, cell, [mean(0), mean(1), 0.0, mean(2)]);
    }
    y[plan.layout.faces_at() + plan.layout.faces[EAST]] += strength;
}
