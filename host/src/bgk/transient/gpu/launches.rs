//! Which kernel a pass is.

use rarefy_kernels::Real;
use rarefy_kernels::bgk::layout::FlowShape;
use rarefy_kernels::bgk::sweep_1d::{self, LINE_THREADS};
use rarefy_kernels::bgk::sweep_2d::{self, March};

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
    /// 1 where it takes up the last tiles first.
    pub(super) turned: u32,
    /// How blocks share the work of a plane.
    pub(super) march: Option<March>,
}

/// Launches the pass: `kind` is `[slopes, Shakhov]`.
pub(super) fn pass<M: Machine, T: Real>(
    machine: &M,
    kind: [bool; 2],
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
        turned,
        march,
    } = arguments;
    if let Some(march) = march {
        let grid = Grid {
            blocks,
            threads: 32 * march.warps,
        };
        macro_rules! launch {
            ($kernel:ident) => {
                Ok(machine.launch(
                    grid,
                    sweep_2d::$kernel {
                        f,
                        tables,
                        axes,
                        next,
                        partial,
                        shape,
                        march,
                        turned,
                    },
                )?)
            };
        }
        return match (march.narrow != 0, kind) {
            (true, [false, _]) => launch!(plane_march_narrow_upwind),
            (true, [true, _]) => launch!(plane_march_narrow_van_leer),
            (false, [false, false]) => launch!(plane_march_upwind),
            (false, [true, false]) => launch!(plane_march_van_leer),
            (false, [false, true]) => launch!(plane_march_upwind_shakhov),
            (false, [true, true]) => launch!(plane_march_van_leer_shakhov),
        };
    }
    macro_rules! launch {
        ($threads:ident, $wing:ident::$kernel:ident) => {
            Ok(machine.launch(
                Grid {
                    blocks,
                    threads: $threads,
                },
                $wing::$kernel {
                    f,
                    tables,
                    axes,
                    next,
                    partial,
                    shape,
                    groups,
                    turned,
                },
            )?)
        };
    }
    match kind {
        [false, false] => launch!(LINE_THREADS, sweep_1d::line_pass_upwind),
        [true, false] => launch!(LINE_THREADS, sweep_1d::line_pass_van_leer),
        [false, true] => launch!(LINE_THREADS, sweep_1d::line_pass_upwind_shakhov),
        [true, true] => launch!(LINE_THREADS, sweep_1d::line_pass_van_leer_shakhov),
    }
}
