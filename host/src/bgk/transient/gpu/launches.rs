//! The kernel of a pass.

use rarefy_kernels::Real;
use rarefy_kernels::bgk::layout::FlowShape;
use rarefy_kernels::bgk::sweep_1d::{self, LINE_THREADS};
use rarefy_kernels::bgk::sweep_2d::{self, PlaneSweep};
use rarefy_kernels::bgk::{rotating_1d, rotating_2d};

use crate::error::Result;
use crate::machine::{Grid, Machine};

/// Arguments of the pass.
pub(super) struct Arguments<'a, M: Machine, T: Real> {
    pub(super) f: &'a M::Buffer<T>,
    pub(super) tables: &'a M::Buffer<T>,
    pub(super) axes: &'a M::Buffer<T>,
    pub(super) next: &'a mut M::Buffer<T>,
    pub(super) partial: &'a mut M::Buffer<T>,
    pub(super) shape: FlowShape,
    pub(super) groups: u32,
    /// 1 to process the last tiles first.
    pub(super) reversed: u32,
    /// Division of a plane's work among blocks.
    pub(super) sweep: Option<PlaneSweep>,
}

/// Launches the pass of a scheme, with slopes or not.
pub(super) fn pass<M: Machine, T: Real>(
    machine: &M,
    sloped: bool,
    blocks: u32,
    arguments: Arguments<'_, M, T>,
) -> Result<()> {
    let Arguments {
        f,
        tables,
        axes,
        next,
        partial,
        shape,
        groups,
        reversed,
        sweep,
    } = arguments;
    let (shakhov, rotates) = (shape.shakhov != 0, shape.rotates());
    if let Some(sweep) = sweep {
        let grid = Grid {
            blocks,
            threads: 32 * sweep.warps,
        };
        macro_rules! launch {
            ($wing:ident::$kernel:ident) => {
                Ok(machine.launch(
                    grid,
                    $wing::$kernel {
                        f,
                        tables,
                        axes,
                        next,
                        partial,
                        shape,
                        sweep,
                        reversed,
                    },
                )?)
            };
        }
        return match (sweep.narrow != 0, sloped, shakhov) {
            (true, false, _) if rotates => launch!(rotating_2d::plane_sweep_narrow_upwind_rotating),
            (true, true, _) if rotates => {
                launch!(rotating_2d::plane_sweep_narrow_van_leer_rotating)
            }
            (false, false, _) if rotates => launch!(rotating_2d::plane_sweep_upwind_rotating),
            (false, true, _) if rotates => launch!(rotating_2d::plane_sweep_van_leer_rotating),
            (true, false, _) => launch!(sweep_2d::plane_sweep_narrow_upwind),
            (true, true, _) => launch!(sweep_2d::plane_sweep_narrow_van_leer),
            (false, false, false) => launch!(sweep_2d::plane_sweep_upwind),
            (false, true, false) => launch!(sweep_2d::plane_sweep_van_leer),
            (false, false, true) => launch!(sweep_2d::plane_sweep_upwind_shakhov),
            (false, true, true) => launch!(sweep_2d::plane_sweep_van_leer_shakhov),
        };
    }
    macro_rules! launch {
        ($wing:ident::$kernel:ident) => {
            Ok(machine.launch(
                Grid {
                    blocks,
                    threads: LINE_THREADS,
                },
                $wing::$kernel {
                    f,
                    tables,
                    axes,
                    next,
                    partial,
                    shape,
                    groups,
                    reversed,
                },
            )?)
        };
    }
    match (sloped, shakhov) {
        (false, _) if rotates => launch!(rotating_1d::line_pass_upwind_rotating),
        (true, _) if rotates => launch!(rotating_1d::line_pass_van_leer_rotating),
        (false, false) => launch!(sweep_1d::line_pass_upwind),
        (true, false) => launch!(sweep_1d::line_pass_van_leer),
        (false, true) => launch!(sweep_1d::line_pass_upwind_shakhov),
        (true, true) => launch!(sweep_1d::line_pass_van_leer_shakhov),
    }
}
