//! Results of a run, from the sums of the cells and faces on the machine.

use rarefy_kernels::Real;
use rarefy_kernels::bgk::boundary::leaving;
use rarefy_kernels::bgk::equilibrium::{self, KEPT, Relaxing};
use rarefy_kernels::bgk::layout::{FlowShape, SUMS_SHAKHOV, row};

use super::MachineEngine;
use crate::bgk::transient::engine::FaceFlux;
use crate::bgk::transient::relaxation::{heat_flux, internal, state, stress, sums_of};
use crate::bgk::transient::rotating::Internal;
use crate::bgk::{Moments, Problem};
use crate::error::Result;
use crate::machine::Machine;

impl<M: Machine, T: Real + Default> MachineEngine<M, T> {
    pub(super) fn read_state(&self, buffer: &M::Buffer<f64>, rows: usize) -> Result<Vec<f64>> {
        let mut data = vec![0.0; rows * self.shape.plane() as usize];
        self.machine.read(buffer, &mut data)?;
        Ok(data)
    }

    /// The rows of a buffer of padded planes, without the padding.
    pub(super) fn compact(&self, padded: &[f64]) -> Vec<f64> {
        let (nx, pitch) = (self.shape.nx as usize, self.shape.pitch as usize);
        padded
            .chunks_exact(pitch)
            .flat_map(|row| &row[..nx])
            .copied()
            .collect()
    }

    pub(super) fn state_rows(&self) -> usize {
        sums_of(&self.problem) + KEPT as usize
    }

    /// The sums of each cell that a step leaves.
    pub(super) fn own_sums(&self) -> Result<Vec<f64>> {
        let rows = sums_of(&self.problem);
        let state = self.read_state(&self.state, self.state_rows())?;
        Ok(self.compact(&state[..rows * self.shape.plane() as usize]))
    }

    /// The internal energy of each cell; none of single atoms.
    pub(super) fn all_internal(&self) -> Result<Vec<Internal>> {
        if !self.shape.rotates() {
            return Ok(Vec::new());
        }
        let (sums, cells) = (self.own_sums()?, self.problem.space.cells());
        let of = |cell| internal(&state(&self.problem, &sums, cell), &sums, cells, cell);
        Ok((0..cells).map(of).collect())
    }

    /// All moments of each cell.
    pub(super) fn all_moments(&mut self) -> Result<Vec<Moments>> {
        // Molecules that rotate have all sums at each step.
        if self.shape.rotates() {
            return Ok(moments_of_sums(&self.problem, &self.own_sums()?));
        }
        // With Shakhov's sums of populations at rest, which the pass writes again unchanged.
        let (own, plane) = (self.shape, self.shape.plane() as usize);
        let wide = FlowShape { shakhov: 1, ..own };
        let rule = self.relaxing(0.0, 0, 0);
        self.equilibrium(rule)?;
        let rows = (SUMS_SHAKHOV + KEPT) as usize;
        let mut sums = self.machine.upload(&vec![0.0; rows * plane])?;
        if own.shakhov == 0 {
            // Heat terms of 0.
            let mut tables = vec![T::ZERO; own.rows() as usize * own.columns() as usize];
            self.machine.read(&self.tables, &mut tables)?;
            let columns = own.columns() as usize;
            tables[row::HEAT as usize * columns..row::X as usize * columns].fill(T::ZERO);
            self.machine.write(&mut self.tables, &tables)?;
        }
        self.refresh_all_ghosts()?;
        self.pass(true, wide)?;
        let parts = self.share_of(&wide).parts;
        let (grid, rule) = self.summed(Relaxing {
            conservative: 0,
            steps: 0,
            chunks: own.count_x * parts,
            parts,
            ..rule
        });
        self.machine.launch(
            grid,
            equilibrium::equilibrium_shakhov {
                partial: &self.partial,
                axes: &self.nodes_weights,
                state: &mut sums,
                tables: &mut self.tables,
                shape: wide,
                rule,
            },
        )?;
        let sums = self.read_state(&sums, rows)?;
        let sums = self.compact(&sums[..SUMS_SHAKHOV as usize * plane]);
        self.make_ready()?;
        Ok(moments_of_sums(&self.problem, &sums))
    }

    /// Flux through the four faces in the last step.
    pub(super) fn received(&mut self) -> Result<[FaceFlux; 4]> {
        let mut fluxes = [FaceFlux::default(); 4];
        if self.step == 0 {
            return Ok(fluxes);
        }
        let (nx, ny) = (self.shape.nx as usize, self.shape.ny as usize);
        let mut face_sums = vec![0.0; leaving::LEN as usize * 2 * (nx + ny)];
        self.machine.read(&self.face_sums, &mut face_sums)?;
        for (k, flux) in fluxes.iter_mut().enumerate() {
            let Some(unit) = self.units[k] else { continue };
            let (direction, side) = (k / 2, k % 2);
            let (first, length) = match direction {
                0 => (side * ny, ny),
                _ => (2 * ny + side * nx, nx),
            };
            let width = self.problem.space.step(direction);
            // The mean over all ranks, of which each counts the rows that it owns.
            let (counted, all) = match &self.ends {
                Some(ends) if direction == 0 => ends.rows(),
                _ => (0..length, length),
            };
            let scale = width / (self.plan.dt * all as f64);
            for entry in face_sums
                .chunks_exact(leaving::LEN as usize)
                .skip(first + counted.start)
                .take(counted.len())
            {
                let density = entry[leaving::DENSITY as usize];
                let out = &entry[leaving::CARRIED as usize..];
                *flux += FaceFlux {
                    mass: scale * (density * unit.mass - out[0]),
                    momentum: [
                        scale * (density * unit.momentum[0] - out[1]),
                        scale * (density * unit.momentum[1] - out[2]),
                    ],
                    energy: scale * (density * unit.energy - out[3]),
                };
            }
        }
        Ok(fluxes)
    }
}

/// All moments, from the sums of Shakhov's model.
fn moments_of_sums(problem: &Problem, sums: &[f64]) -> Vec<Moments> {
    let cells = problem.space.cells();
    let one_axis = problem.velocity.axes().len() == 1;
    (0..cells)
        .map(|cell| {
            let state = state(problem, sums, cell);
            let (density, temperature) = (state.density, state.temperature);
            let [ux, uy] = state.velocity;
            let heat_flux = heat_flux(&state, sums, cells, cell);
            let [xx, yy, xy] = stress(sums, cells, cell);
            let pxx = xx - density * ux * ux;
            let pyy = if one_axis {
                0.5 * (1.5 * density * temperature - pxx)
            } else {
                yy - density * uy * uy
            };
            Moments {
                density,
                velocity: [ux, uy],
                temperature,
                pressure: [pxx, pyy, xy - density * ux * uy],
                heat_flux,
            }
        })
        .collect()
}
