//! The faces of space before a step: what leaves through them, the emission of walls, and the ghosts of mirrors.

use rarefy_kernels::Real;
use rarefy_kernels::bgk::boundary::{
    self, FACE_CELL_THREADS, FACE_ROW_THREADS, FACE_SUM_THREADS, FACE_THREADS, Faces,
    cells_both_ways, chunks_along_x,
};
use rarefy_kernels::bgk::rotating;

use super::MachineEngine;
use super::shape::mirrors;
use crate::error::Result;
use crate::machine::{Grid, Machine};

impl<M: Machine, T: Real + Default> MachineEngine<M, T> {
    /// The outflow through the left and right faces in the coming step, and the emission of walls there.
    pub(super) fn sum_faces_along_x(&mut self, mask: u32) -> Result<()> {
        let (shape, faces) = (self.shape, Faces { mask, ..self.faces });
        let f = &self.f[self.now];
        // A warp for each cell of the left and right faces.
        let cells = Grid {
            blocks: (2 * shape.ny).div_ceil(FACE_CELL_THREADS / 32),
            threads: FACE_CELL_THREADS,
        };
        if mask & 0b0011 != 0 && self.share.wide_lanes() && shape.shakhov == 0 {
            self.machine.launch(
                cells,
                boundary::faces_along_x_by_sums {
                    partial: &self.partial,
                    axes: &self.axes,
                    emissions: &self.emissions,
                    tables: &mut self.tables,
                    face_sums: &mut self.face_sums,
                    shape,
                    faces,
                    parts: self.share.parts,
                },
            )?;
        } else if mask & 0b0011 != 0 {
            macro_rules! launch {
                ($wing:ident::$kernel:ident) => {
                    self.machine.launch(
                        Grid {
                            blocks: 2 * shape.ny * chunks_along_x(&shape),
                            threads: FACE_THREADS,
                        },
                        $wing::$kernel {
                            f,
                            axes: &self.axes,
                            tables: &self.tables,
                            partial: &mut self.face_partial,
                            shape,
                            faces,
                        },
                    )?
                };
            }
            match shape.rotates() {
                true => launch!(rotating::faces_along_x_rotating),
                false => launch!(boundary::faces_along_x),
            }
            self.machine.launch(
                cells,
                boundary::finish_faces_along_x {
                    partial: &self.face_partial,
                    emissions: &self.emissions,
                    tables: &mut self.tables,
                    face_sums: &mut self.face_sums,
                    shape,
                    faces,
                },
            )?;
        }
        Ok(())
    }

    /// The same of the bottom and top faces. Molecules that left and right walls emit leave through them too.
    pub(super) fn sum_faces_along_y(&mut self, mask: u32) -> Result<()> {
        let (shape, faces) = (self.shape, Faces { mask, ..self.faces });
        let f = &self.f[self.now];
        if mask & 0b1100 != 0 {
            let sloped = faces.sloped != 0;
            let blocks = shape.nx.div_ceil(cells_both_ways(sloped));
            macro_rules! launch {
                ($wing:ident::$kernel:ident) => {
                    self.machine.launch(
                        Grid {
                            blocks: blocks * 2 * faces.chunks,
                            threads: FACE_ROW_THREADS,
                        },
                        $wing::$kernel {
                            f,
                            axes: &self.axes,
                            tables: &self.tables,
                            partial: &mut self.face_partial,
                            shape,
                            faces,
                        },
                    )?
                };
            }
            match shape.rotates() {
                true => launch!(rotating::faces_along_y_rotating),
                false => launch!(boundary::faces_along_y),
            }
            self.machine.launch(
                Grid {
                    blocks: 2 * shape.nx.div_ceil(32),
                    threads: FACE_SUM_THREADS,
                },
                boundary::finish_faces_along_y {
                    partial: &self.face_partial,
                    emissions: &self.emissions,
                    tables: &mut self.tables,
                    face_sums: &mut self.face_sums,
                    shape,
                    faces,
                },
            )?;
        }
        Ok(())
    }

    /// Fills the ghosts from the outflow towards faces that mirror.
    pub(super) fn fill_ghosts(&mut self) -> Result<()> {
        let (shape, faces) = (self.shape, self.faces);
        let [left_and_right, bottom_and_top] = mirrors(&shape);
        let f = &mut self.f[self.now];
        let (axes, tables) = (&self.axes, &self.tables);
        if left_and_right != 0 && shape.ghost_columns > 0 {
            let nodes = shape.count_x * shape.count_y * shape.count_m;
            macro_rules! launch {
                ($wing:ident::$kernel:ident) => {
                    self.machine.launch(
                        Grid::per_item((2 * nodes * shape.ny) as usize, 128),
                        $wing::$kernel {
                            f,
                            axes,
                            tables,
                            shape,
                            faces: Faces {
                                mask: left_and_right,
                                ..faces
                            },
                        },
                    )?
                };
            }
            match shape.rotates() {
                true => launch!(rotating::ghosts_along_x_rotating),
                false => launch!(boundary::ghosts_along_x),
            }
        }
        if bottom_and_top != 0 && shape.ghost_rows > 0 {
            let tiles = shape.nx.div_ceil(cells_both_ways(faces.sloped != 0));
            macro_rules! launch {
                ($wing:ident::$kernel:ident) => {
                    self.machine.launch(
                        Grid {
                            blocks: tiles * 2 * faces.chunks,
                            threads: FACE_ROW_THREADS,
                        },
                        $wing::$kernel {
                            f,
                            axes,
                            tables,
                            shape,
                            faces: Faces {
                                mask: bottom_and_top,
                                ..faces
                            },
                        },
                    )?
                };
            }
            match shape.rotates() {
                true => launch!(rotating::ghosts_along_y_rotating),
                false => launch!(boundary::ghosts_along_y),
            }
        }
        Ok(())
    }

    /// The faces with a flux of interest.
    pub(super) fn open_faces(&self) -> u32 {
        (0..4)
            .filter(|&k| self.units[k].is_some())
            .map(|k| 1 << k)
            .sum()
    }
}
